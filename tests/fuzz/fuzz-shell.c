/* SPDX-License-Identifier: Apache-2.0
 *
 * The shell's parsers over any line: words, numbers, command lookup, settings, variables,
 * breakpoints. What split into words joins into a line that splits into the same words.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "engine/breakpoints.h"
#include "shell/line/shell-settings.h"
#include "shell/live/breakpoints-text.h"
#include "shell/line/command.h"
#include "engine/settings.h"
#include "shell/values/vars.h"
#include "base/words.h"

static struct err *nothing(struct session *s, const struct cmd_args *a)
{
	return NULL;
}

/* A small table with groups, short forms and clashing prefixes. */
static const struct command table[] = {
	{"break", "b br", nothing, CMD_RAW, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
	{"info", "i", nothing, CMD_PREFIX, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
	{"info streams", "", nothing, 0, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
	{"info signals", "", nothing, 0, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
	{"shell", "!", nothing, CMD_RAW, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
	{"show", "", nothing, CMD_RAW, COMPLETE_NONE, GROUP_SUPPORT, "", "", ""},
};

static void fuzz_words(const char *line)
{
	char **w, **again, *joined;
	unsigned n, m;
	struct err *e = words_split(line, &w, &n);

	if (e) {
		err_free(e);
		return;
	}
	joined = words_join(w, n);
	e = words_split(joined, &again, &m);
	if (e || m != n)
		abort();
	for (unsigned i = 0; i < n; i++) {
		uint64_t a, b;
		bool on;

		if (strcmp(w[i], again[i]))
			abort();
		word_u64(w[i], &a);
		word_size(w[i], &a);
		word_duration(w[i], &a);
		word_bool(w[i], &on);
		if (word_range(w[i], &a, &b) && a > b)
			abort();
	}
	words_free(w);
	words_free(again);
	free(joined);
}

static void fuzz_lookup(const char *line)
{
	const struct command *c;
	const char *rest;
	struct err *e = lookup_command(table, sizeof table / sizeof *table, line, &c, &rest);

	if (!e && (rest < line || rest > line + strlen(line)))
		abort();
	err_free(e);
}

static void fuzz_setting(const char *line)
{
	struct settings engine, shell, *const sets[] = {&engine, &shell};
	struct setting_found found;
	struct buf b = BUF_INIT;
	struct err *e;

	settings_init(&engine, &engine_settings);
	settings_init(&shell, &shell_settings);
	e = settings_find(sets, 2, line, &found);
	if (!e && found.set) {
		e = settings_assign(found.set, found.id, found.rest);
		settings_value(found.set, found.id, &b);
	}
	err_free(e);
	buf_free(&b);
	settings_deinit(&engine);
	settings_deinit(&shell);
}

static void fuzz_breakpoint(const char *line)
{
	struct breakpoints *b = breakpoints_new();
	struct breakpoint *bp;
	struct buf text = BUF_INIT;
	struct err *e = breakpoints_add(b, line, false, &bp);

	if (!e) {
		unsigned n;

		free(breakpoints_for_replay(b, true, &n));
		breakpoints_print(b, &text);
		breakpoints_json(b, &text);
	}
	err_free(e);
	buf_free(&text);
	breakpoints_free(b);
}

/* 4 KiB of memory at 0, full of small numbers. */
static struct err *read_memory(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	(void)arg;
	if (space || addr > 4096 || n > 4096 - addr)
		return err_new(ERR_NOT_FOUND, "nothing is there");
	for (size_t i = 0; i < n; i++)
		((unsigned char *)dst)[i] = (unsigned char)((addr + i) % 7);
	return NULL;
}

static struct err *find_name(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct vars *v = arg;

	*ret_found = true;
	if (*name == '$')
		*ret_found = vars_find(v, name + 1, ret);
	else if (*name == 'a')
		*ret = lang_at(
			lang_array_of(vars_lang(v), lang_base_type(vars_lang(v), "int"), 100), 0,
			64);
	else if (*name == 'c')
		*ret = lang_at(
			lang_pointer_to(vars_lang(v), lang_base_type(vars_lang(v), "char")), 0, 8);
	else
		*ret_found = false;
	return NULL;
}

static struct err *assign(void *arg, const char *name, const struct lang_value *value)
{
	vars_put(arg, name, value);
	return NULL;
}

static void fuzz_expression(const char *line)
{
	static const char letters[] = "\0xduotcfazs";
	struct vars *v = vars_new();
	const struct lang_scope scope = {
		.arg = v, .name = find_name, .read = read_memory, .assign = assign};
	const struct lang_format f = {.letter = letters[strlen(line) % (sizeof letters - 1)],
		.elements = strlen(line) % 40};
	const struct lang_type *t = NULL;
	struct lang_value value;
	struct buf b = BUF_INIT;
	struct err *e = lang_type_of(vars_lang(v), &scope, line, &t);

	if (!e)
		lang_type_layout(&b, t);
	err_free(e);
	vars_set(v, "n", 5);
	e = lang_eval(vars_lang(v), &scope, line, &value);
	if (!e)
		e = lang_show(vars_lang(v), &scope, &f, &value, &b);
	if (!e && (!value.type || value.type->size <= 4096))
		vars_remember(v, &value);
	err_free(e);
	lang_value_free(&value);
	buf_free(&b);
	vars_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line;

	if (n > 4096)
		return 0;
	line = strndup((const char *)data, n);
	if (!line)
		return 0;
	fuzz_words(line);
	fuzz_lookup(line);
	fuzz_setting(line);
	fuzz_breakpoint(line);
	fuzz_expression(line);
	free(line);
	return 0;
}
