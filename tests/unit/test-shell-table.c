/* SPDX-License-Identifier: Apache-2.0
 *
 * The command table: every command has usage, doc, help and an entry in the manual; names and short
 * forms do not clash; what the user may type finds what gdb's users expect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/buf.h"
#include "shell/line/gdb-words.h"
#include "shell/line/shell-settings.h"
#include "shell/line/command.h"
#include "engine/settings.h"

static void every_row_is_complete(void **state)
{
	for (unsigned i = 0; i < commands_count; i++) {
		const struct command *c = &commands[i];
		size_t n = strlen(c->doc);

		if (!isupper((unsigned char)c->doc[0]) || n < 5 || c->doc[n - 1] == '.')
			fail_msg("%s: the doc is \"%s\"", c->name, c->doc);
		if (c->flags & CMD_PREFIX)
			continue;
		if (strlen(c->help) < 20 || c->help[strlen(c->help) - 1] != '\n')
			fail_msg("%s has no long help", c->name);
		if ((c->flags & CMD_JSON) != 0 && !strstr(c->usage, "--json"))
			fail_msg("%s takes --json, but its usage does not say so", c->name);
		if (!(c->flags & CMD_JSON) && strstr(c->usage, "--json"))
			fail_msg("%s does not take --json, but its usage says so", c->name);
		if (*c->usage && !strstr(c->help, "\nExample"))
			fail_msg("%s takes words, but its help has no example on a line of its own",
				c->name);
	}
}

/* The part of name above its last word. */
static void parent_of(const char *name, char *dst, size_t n)
{
	const char *space = strrchr(name, ' ');

	snprintf(dst, n, "%.*s", space ? (int)(space - name) + 1 : 0, name);
}

static void names_do_not_clash(void **state)
{
	for (unsigned i = 0; i < commands_count; i++) {
		char parent[64], words[256], *save = NULL;

		parent_of(commands[i].name, parent, sizeof parent);
		if (*parent) { /* its group is there */
			char group[64];
			bool found = false;

			snprintf(group, sizeof group, "%.*s", (int)strlen(parent) - 1, parent);
			for (unsigned k = 0; k < commands_count; k++)
				found = found || (!strcmp(commands[k].name, group) &&
							 (commands[k].flags & CMD_PREFIX));
			if (!found)
				fail_msg("%s has no group \"%s\"", commands[i].name, group);
		}
		snprintf(words, sizeof words, "%s %s", commands[i].name + strlen(parent),
			commands[i].aliases);
		for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
			char *line = xasprintf("%s%s", parent, w);
			const struct command *c;
			const char *rest;
			struct err *e = lookup_command(commands, commands_count, line, &c, &rest);

			if (e)
				fail_msg("%s: %s", line, e->what);
			if (c != &commands[i])
				fail_msg(
					"\"%s\" finds %s, not %s", line, c->name, commands[i].name);
			free(line);
		}
	}
}

/* text as mdoc writes it */
static char *escaped(const char *text)
{
	struct buf b = BUF_INIT;

	for (; *text; text++) {
		if (*text == '-')
			buf_str(&b, "\\-");
		else if (*text == '\\')
			buf_str(&b, "\\e");
		else
			buf_byte(&b, (uint8_t)*text);
	}
	return buf_steal(&b);
}

static char *read_manual(void)
{
	const char *src = getenv("TSDB_SRC");
	char *path = xasprintf("%s/man/tsdb.1", src ? src : ".");
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		fail_msg("cannot read %s (set TSDB_SRC)", path);
	free(path);
	while ((n = fread(buf_room(&b, 65536), 1, 65536, f)) > 0)
		b.len += n;
	fclose(f);
	return buf_steal(&b);
}

static void manual_has_settings(const char *manual, const struct setting_list *list)
{
	for (unsigned i = 0; i < list->n; i++) {
		char *name = escaped(list->desc[i].name),
		     *entry = xasprintf("\n.It Ic \"%s\"\n", name);

		if (!strstr(manual, entry))
			fail_msg("man/tsdb.1 lacks the setting%s", entry);
		free(entry);
		free(name);
	}
}

static void manual_has_every_command(void **state)
{
	char *manual = read_manual();

	for (unsigned i = 0; i < commands_count; i++) {
		const struct command *c = &commands[i];
		char *name = escaped(c->name), *usage = escaped(c->usage), *entry;

		if (!(c->flags & CMD_PREFIX)) {
			entry = *usage ? xasprintf("\n.It Ic %s Ar \"%s\"\n", name, usage)
				       : xasprintf("\n.It Ic %s\n", name);
			if (!strstr(manual, entry))
				fail_msg("man/tsdb.1 lacks the entry%s", entry);
			free(entry);
		}
		free(name);
		free(usage);
	}
	manual_has_settings(manual, &engine_settings);
	manual_has_settings(manual, &shell_settings);
	free(manual);
}

static void finds(const char *line, const char *name, const char *want_rest)
{
	const struct command *c;
	const char *rest;
	struct err *e = lookup_command(commands, commands_count, line, &c, &rest);

	if (e)
		fail_msg("%s: %s", line, e->what);
	assert_string_equal(c->name, name);
	assert_string_equal(rest, want_rest);
}

static void what_people_type(void **state)
{
	finds("b kernel x", "break", "kernel x");
	finds("br copy", "break", "copy");
	finds("r 64 < in", "run", "64 < in");
	finds("c", "continue", "");
	finds("n 3", "next", "3");
	finds("s", "step", "");
	finds("i b", "info breakpoints", "");
	finds("info alloc", "info allocations", "");
	finds("inf str --json", "info streams", "--json");
	finds("q", "quit", "");
	finds("p/x 1", "print", "/x 1");
	finds("x/8fw arg0", "x", "/8fw arg0");
	finds("h break", "help", "break");
	finds("bt full", "backtrace", "full");
	finds("tb launch", "tbreak", "launch");
	finds("d 1", "delete", "1");
	finds("dis 1", "disable", "1");
	finds("k", "kill", "");
	finds("f 1", "frame", "1");
	finds("t apply all bt", "thread", "apply all bt");
	finds("!ls -l", "shell", "ls -l");
	finds("rep reverse-s", "replay reverse-step", "");
	finds("rep rc", "replay reverse-continue", "");
	finds("stat sh all", "state show", "all");
	finds("info", "info", "");
	finds("cond 1 x", "condition", "1 x");
	finds("unset env A", "unset", "env A");
}

static void refused(const char *line, const char *text)
{
	const struct command *c;
	const char *rest;
	struct err *e = lookup_command(commands, commands_count, line, &c, &rest);

	if (!e)
		fail_msg("\"%s\" found %s", line, c->name);
	if (!strstr(e->what, text) && !(e->cure && strstr(e->cure, text)))
		fail_msg("\"%s. %s\" does not say \"%s\"", e->what, e->cure ? e->cure : "", text);
	err_free(e);
}

static void what_is_refused(void **state)
{
	refused("re",
		"ambiguous command: re, could be: reverse-next, reverse-step, reverse-continue, restart, reverse-stepi, replay");
	refused("frobnicate", "unknown command: frobnicate");
	refused("braek copy", "Did you mean \"break\"?");
	refused("info frob", "unknown command: info frob");
	refused("info frob", "\"help info\" lists what there is");
	refused("frobnicate", "\"help\" lists what there is");
	refused("info s", "ambiguous command: info s");
	refused("%", "unknown command");
	refused("replay strat", "Did you mean \"replay start\"?");
}

/* Of one or two letters nothing can be guessed; of three or four, one may be wrong. */
static void short_words_are_not_guessed(void **state)
{
	static const char *const words[] = {"y", "if", "end"};
	const struct command *c;
	const char *rest;

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		struct err *e = lookup_command(commands, commands_count, words[i], &c, &rest);

		assert_non_null(e);
		assert_null(strstr(e->cure, "Did you mean"));
		err_free(e);
	}
	refused("siew", "Did you mean \"view\"?");
}

/* The answer to a word of gdb is for words that are no commands. */
static void words_of_gdb_are_not_here(void **state)
{
	const struct command *c;
	const char *rest;

	for (const struct gdb_word *w = gdb_words; w->word; w++) {
		struct err *e = lookup_command(commands, commands_count, w->word, &c, &rest);

		if (!e)
			fail_msg("%s is the command %s", w->word, c->name);
		err_free(e);
		assert_ptr_equal(gdb_word_here(w->word), w->here);
	}
	assert_null(gdb_word_here("frobnicate"));
}

static void distances(void **state)
{
	assert_int_equal(lookup_distance("break", "break"), 0);
	assert_int_equal(lookup_distance("braek", "break"), 1);
	assert_int_equal(lookup_distance("brk", "break"), 2);
	assert_int_equal(lookup_distance("", "abc"), 3);
	assert_int_equal(lookup_distance("kitten", "sitting"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(names_do_not_clash),
		cmocka_unit_test(manual_has_every_command),
		cmocka_unit_test(what_people_type),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(short_words_are_not_guessed),
		cmocka_unit_test(words_of_gdb_are_not_here),
		cmocka_unit_test(distances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
