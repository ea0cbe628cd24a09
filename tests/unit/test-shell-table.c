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
#include "shell/tools/tools.h"

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

/* What has no --json, and why. Every other command lists or judges, and has it. */
static const struct {
	const char *why, *names;
} no_json[] = {
	{"moves: `when --json` and `bt --json` say where it stopped",
		"run, start, continue, next, step, finish, goto, until, enter, restart, advance, "
		"reverse-next, reverse-step, reverse-continue, reverse-finish, stepi, nexti, reverse-stepi, "
		"replay start, replay stop, replay step, replay next, replay finish, replay until, "
		"replay restart, replay continue, replay reverse-step, replay reverse-continue, "
		"replay goto, replay enter, replay schedule, replay stream, replay range, "
		"replay kernel"},
	{"changes something that another command lists",
		"kill, file, attach, detach, handle, checkpoint, restore, break, tbreak, rbreak, dprintf, probe, unprobe, undisplay, catch, watch, rwatch, awatch, delete, disable, "
		"enable, condition, ignore, commands, define, document, alias, dont-repeat, capture start, capture stop, capture window, "
		"set, unset, cd, directory"},
	{"selects: `info threads`, `info blocks` and `info ranks` say what there is",
		"thread, block, rank"},
	{"draws on the terminal", "tui, layout, focus, winheight, refresh"},
	{"writes a file", "dump, save breakpoints, order graph"},
	{"prints what it is given, or what others print",
		"echo, printf, output, display, source, python, shell, pipe, with, if, else, while, end, loop_break, "
		"loop_continue, pwd, help, quit"},
	/* `output` is `print` without its number. `apropos --json` lists what `help` does. */
	{"the comparison that it ends with is that of `replay verify --json`", "replay swap"},
};

static const char *why_no_json(const char *name)
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < sizeof no_json / sizeof *no_json; i++) {
		for (const char *p = no_json[i].names; (p = strstr(p, name)) != NULL; p += n) {
			if ((p == no_json[i].names || p[-1] == ' ') && (!p[n] || p[n] == ',') &&
				(p == no_json[i].names || p[-2] == ','))
				return no_json[i].why;
		}
	}
	return NULL;
}

static void lists_and_verdicts_take_json(void **state)
{
	for (unsigned i = 0; i < commands_count; i++) {
		const struct command *c = &commands[i];
		const char *why = why_no_json(c->name);

		if (c->flags & CMD_PREFIX)
			continue;
		if (!why && !(c->flags & CMD_JSON))
			fail_msg("%s takes no --json, and no_json[] has no reason why", c->name);
		if (why && c->flags & CMD_JSON)
			fail_msg("%s takes --json, but no_json[] says: %s", c->name, why);
	}
}

/* The tools that list or judge. */
static void tools_take_json(void **state)
{
	static const char no[] = " record extract export import demo dap studio ";

	for (const struct tool *t = tools; t->name; t++) {
		char *word = xasprintf(" %s ", t->name);

		if (!strstr(t->usage, "[--json]") != (strstr(no, word) != NULL))
			fail_msg("tsdb %s: lists and verdicts take --json, others do not", t->name);
		free(word);
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
		"ambiguous command: re, could be: reverse-next, reverse-step, reverse-continue, restart, reverse-finish, reverse-stepi, replay, restore");
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
	static const char *const words[] = {"y", "zz", "og"};
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
		e = gdb_word_error(w->word);
		assert_string_equal(e->cure, w->here);
		err_free(e);
	}
	for (const char *const *w = gdb_absent; *w; w++) {
		struct err *e = lookup_command(commands, commands_count, *w, &c, &rest);

		if (!e)
			fail_msg("%s is the command %s", *w, c->name);
		err_free(e);
		e = gdb_word_error(*w);
		assert_non_null(strstr(e->what, "no counterpart"));
		err_free(e);
	}
	assert_null(gdb_word_error("frobnicate"));
	assert_null(gdb_word_error("infoproc"));
	assert_null(gdb_word_error("pythonic"));
	assert_null(gdb_word_error(""));
}

/* What the error is about is the first word that is no command. */
static void answers_to_words_of_gdb(void **state)
{
	static const struct {
		const char *line, *cure;
	} rows[] = {
		{"python-interactive", "shell python3"},
		{"info   proc mappings", "info program"},
		{"search foo", "pager"},
		{"tcatch load", "catch"},
	};

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err *e = gdb_word_error(rows[i].line);

		assert_non_null(e);
		assert_non_null(strstr(e->cure, rows[i].cure));
		err_free(e);
	}
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
		cmocka_unit_test(lists_and_verdicts_take_json),
		cmocka_unit_test(tools_take_json),
		cmocka_unit_test(names_do_not_clash),
		cmocka_unit_test(manual_has_every_command),
		cmocka_unit_test(what_people_type),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(short_words_are_not_guessed),
		cmocka_unit_test(words_of_gdb_are_not_here),
		cmocka_unit_test(answers_to_words_of_gdb),
		cmocka_unit_test(distances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
