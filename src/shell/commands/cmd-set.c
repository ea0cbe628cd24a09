/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: set, show, unset. `set $x = EXPR` makes a variable, `set env NAME=VALUE` changes the
 * program's environment.
 */
#include "config.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shell/source/source-view.h"
#include "shell/live/process.h"
#include "shell/values/value-text.h"
#include "shell/script/defined.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"
#include "shell/print/what-if.h"

/* Whether text begins with the word name, abbreviated to at least `least` letters; *ret_rest is
 * what follows. */
static bool begins_with(const char *text, const char *name, size_t least, const char **ret_rest)
{
	size_t n = strcspn(text, " \t=");

	if (n < least || n > strlen(name) || strncmp(text, name, n))
		return false;
	*ret_rest = text + n + strspn(text + n, " \t");
	return true;
}

/* `set $n = 5`, `set var p.x = 5`: evaluates, and shows nothing. */
static struct err *set_variable(struct session *s, const char *text)
{
	struct lang_value v;

	if (!strchr(text, '=') && !strstr(text, "++") && !strstr(text, "--"))
		return err_cure(err_new(ERR_USAGE, "\"=\" is missing"), "For example: set $n = 5");
	TRY(value_eval(s, text, &v));
	lang_value_free(&v);
	return NULL;
}

/* "NAME=VALUE", "NAME = VALUE" or "NAME VALUE". */
static struct err *set_env(struct session *s, const char *text)
{
	size_t n = strcspn(text, " \t=");
	const char *value = text + n;
	char *change;

	if (!n)
		return err_cure(err_new(ERR_USAGE, "set env needs a name"),
			"For example: set env CUDA_LAUNCH_BLOCKING=1");
	value += strspn(value, " \t");
	if (*value == '=') {
		value++;
		value += strspn(value, " \t");
	}
	change = xasprintf("%.*s=%s", (int)n, text, value);
	live_env(&s->engine, change);
	free(change);
	return NULL;
}

const char cmd_set_help[] =
	"Changes a setting; `show` lists them. Also:\n"
	"  set env NAME=VALUE   a variable of the program's environment, from the next run on\n"
	"  set args WORDS       what `run` gives the program\n"
	"  set $n = EXPR        a variable of tsdb\n"
	"  set var EXPR = EXPR  a variable of the stopped program that is in host memory; inside a\n"
	"                       launch one of the kernel's, or a register: what follows sees it,\n"
	"                       until the replay goes back before the launch\n"
	"In a replay on a device, to see what would have been (until `replay restart`):\n"
	"  set memory ADDRESS TYPE VALUE...   memory at the present point; types as in `print`;\n"
	"  set {TYPE}ADDRESS = VALUE...       the same\n"
	"  set arg N VALUE      argument N of the launch the replay is at, which is executed\n"
	"                       again with it\n"
	"Example: set capture timestamps on\n";

struct err *cmd_set(struct session *s, const struct cmd_args *a)
{
	struct settings *sets[SESSION_SETS];
	struct setting_found found;
	const char *rest;

	bool done;

	TRY(source_setting(s, "set", a->rest, false, &done));
	if (done)
		return NULL;
	if (*a->rest == '$')
		return set_variable(s, a->rest);
	if (begins_with(a->rest, "variable", 3, &rest) && *rest)
		return set_variable(s, rest);
	if (*a->rest == '{')
		return what_if_cast(s, a->rest);
	if (begins_with(a->rest, "memory", 3, &rest))
		return what_if_memory(s, rest);
	if (s->focus == FOCUS_REPLAY && begins_with(a->rest, "argument", 3, &rest) &&
		isdigit((unsigned char)*rest))
		return what_if_arg(s, rest);
	if (begins_with(a->rest, "environment", 3, &rest))
		return set_env(s, rest);
	if (!*a->rest)
		return err_cure(err_new(ERR_USAGE, "set needs a setting"), "\"show\" lists them");
	session_sets(s, sets);
	TRY(settings_find(sets, SESSION_SETS, a->rest, &found));
	if (!found.set)
		return err_cure(
			err_new(ERR_USAGE, "set %s is the beginning of several settings", a->rest),
			"\"show %s\" lists them", a->rest);
	TRY(settings_assign(found.set, found.id, found.rest));
	return session_setting_changed(s, found.set, found.id);
}

/* --- show --- */

/* A variable of the program's environment. */
struct env_row {
	const char *name, *shown; /* shown NULL: not set */
	bool changed;		  /* by `set env` or `unset env` */
};
JS_DEFINE(env_object, "env", env_row, JS(TEXT, env_row, name, shown), JS(BOOL, env_row, changed));

static void env_text(struct buf *out, const void *row)
{
	const struct env_row *v = row;

	if (v->shown)
		buf_printf(out, "%s=%s\n", v->name, v->shown);
	else
		buf_printf(out, "%s (%s)\n", v->name, v->changed ? "unset" : "not set");
}

/* Shows one variable as the program will see it. */
static void show_env_one(struct session *s, const char *name, bool json)
{
	struct env_row row = {name, getenv(name), false};
	const size_t n = strlen(name);

	for (unsigned i = 0; i < s->engine.live.nenv && !row.changed; i++) {
		const char *entry = s->engine.live.env[i];

		if (strncmp(entry, name, n) || (entry[n] && entry[n] != '='))
			continue;
		row.changed = true;
		row.shown = entry[n] ? entry + n + 1 : NULL;
	}
	listing_one(s, json, &env_object, env_text, &row);
}

static void show_env(struct session *s, bool json)
{
	struct listing l = listing_begin(s, json, &env_object, NULL, env_text);

	for (unsigned i = 0; i < s->engine.live.nenv; i++) {
		char *name = xstrdup(s->engine.live.env[i]), *value = strchr(name, '=');

		if (value)
			*value++ = 0;
		listing_add(&l, &(struct env_row){name, value, true});
		free(name);
	}
	listing_end(&l, "The program gets tsdb's own environment.\n");
}

struct setting_row {
	const char *name, *shown, *doc;
};
JS_DEFINE(setting_object, "setting", setting_row, JS(TEXT, setting_row, name, shown, doc));

static void setting_text(struct buf *out, const void *row)
{
	const struct setting_row *r = row;

	buf_printf(out, "%-24s %s\n", r->name, r->shown);
}

/* The same in a sentence. */
static void setting_sentence(struct buf *out, const void *row)
{
	const struct setting_row *r = row;

	buf_printf(out, "%s: %s is %s.\n", r->doc, r->name, *r->shown ? r->shown : "empty");
}

static struct setting_row setting_row(const struct settings *set, unsigned id, struct buf *b)
{
	settings_value(set, id, b);
	return (struct setting_row){set->list->desc[id].name, buf_cstr(b), set->list->desc[id].doc};
}

/* Shows the settings whose names begin with text. */
static void show_group(struct session *s, const char *text, bool json)
{
	struct listing l = listing_begin(s, json, &setting_object, NULL, setting_text);
	struct settings *sets[SESSION_SETS];
	size_t n = strlen(text);

	session_sets(s, sets);
	while (n && strchr(" \t", text[n - 1]))
		n--;
	for (unsigned k = 0; k < SESSION_SETS; k++) {
		for (unsigned i = 0; i < sets[k]->list->n; i++) {
			struct buf b = BUF_INIT;
			const struct setting_row row = setting_row(sets[k], i, &b);

			if (!strncmp(row.name, text, n))
				listing_add(&l, &row);
			buf_free(&b);
		}
	}
	listing_end(&l, NULL);
}

const char cmd_show_help[] =
	"Shows a setting with what it means, all that begin with a word, or all. `show version`\n"
	"says which tsdb this is, `show user [NAME]` the lines of commands that you have defined,\n"
	"`show env` the changes to the program's environment, `show\n"
	"env NAME` one variable as the program will see it, `show\n"
	"values` what print has shown and the variables.\n"
	"Examples: show capture memory\n"
	"          show env LD_LIBRARY_PATH\n";

struct values_shown {
	struct session *s;
	struct listing l;
};

static void show_variable(void *arg, const char *name, const struct lang_value *value)
{
	struct values_shown *shown = arg;
	char *dollar = xasprintf("$%s", name);
	struct buf b = BUF_INIT;

	err_free(value_show(shown->s, value, 0, &b));
	shown_value_add(&shown->l, shown_value_of(dollar, value, buf_cstr(&b)));
	buf_free(&b);
	free(dollar);
}

static void show_values(struct session *s, bool json)
{
	struct values_shown shown = {
		s, listing_begin(s, json, &shown_value_object, NULL, shown_value_text)};

	vars_each(s->vars, show_variable, &shown);
	listing_end(&shown.l, "No values.\n");
}

struct version {
	const char *tsdb;
	char trace_format[16];
};
JS_DEFINE(version_object, "version", version, JS(TEXT, version, tsdb),
	JS(CHARS, version, trace_format));

static void version_text(struct buf *out, const void *version)
{
	const struct version *v = version;

	buf_printf(out,
		"tsdb %s (TraceSmith), a debugger for GPU command streams; trace format %s\n",
		v->tsdb, v->trace_format);
}

static void show_version(struct session *s, bool json)
{
	struct version v = {.tsdb = PACKAGE_VERSION};

	snprintf(v.trace_format, sizeof v.trace_format, "%d.%d", SBT_VERSION_MAJOR,
		SBT_VERSION_MINOR);
	listing_one(s, json, &version_object, version_text, &v);
}

static struct err *show_settings(struct session *s, const char *text, bool json)
{
	struct settings *sets[SESSION_SETS];
	struct setting_found found;
	struct setting_row row;
	struct buf b = BUF_INIT;

	session_sets(s, sets);
	TRY(settings_find(sets, SESSION_SETS, text, &found));
	if (!found.set) {
		show_group(s, text, json);
		return NULL;
	}
	row = setting_row(found.set, found.id, &b);
	listing_one(s, json, &setting_object, setting_sentence, &row);
	buf_free(&b);
	return NULL;
}

struct definition {
	const char *name, *script, *stands_for, *document;
	struct session *s;
};
JS_DEFINE(definition_object, "definition", definition,
	JS(TEXT, definition, name, script, stands_for, document));

static void definition_text(struct buf *out, const void *row)
{
	const struct definition *d = row;

	if (!d->script) {
		buf_printf(out, "alias %s = %s\n", d->name, d->stands_for);
		return;
	}
	buf_printf(out, "User command \"%s\":\n", d->name);
	script_print(d->s, d->script, 2, out);
	buf_byte(out, '\n');
}

/* The lines of a command that the user has defined, or of all. */
static struct err *show_user(struct session *s, const char *name, bool json)
{
	struct listing l = listing_begin(s, json, &definition_object, NULL, definition_text);
	unsigned n;
	const struct command *all = defined_table(s, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct script_block *body = defined_body(s, all[i].name);

		if (all[i].group != GROUP_USER || (*name && strcmp(name, all[i].name) != 0))
			continue;
		listing_add(&l, &(struct definition){all[i].name, body ? body->text : NULL,
					all[i].stands_for, defined_text(s, all[i].name), s});
	}
	if (!l.n && *name) {
		buf_free(&l.b);
		return err_cure(err_new(ERR_NOT_FOUND, "no command `%s` is defined", name),
			"\"show user\" shows those that are");
	}
	listing_end(&l, "No commands are defined.\n");
	return NULL;
}

struct err *cmd_show(struct session *s, const struct cmd_args *a)
{
	const char *rest;

	bool done;

	TRY(source_setting(s, "show", a->rest, a->json, &done));
	if (done)
		return NULL;
	if (!strcmp(a->rest, "version"))
		show_version(s, a->json);
	else if (*a->rest && begins_with(a->rest, "environment", 3, &rest) && *rest)
		show_env_one(s, rest, a->json);
	else if (*a->rest && begins_with(a->rest, "environment", 3, &rest))
		show_env(s, a->json);
	else if (*a->rest && begins_with(a->rest, "user", 3, &rest))
		return show_user(s, rest, a->json);
	else if (!strcmp(a->rest, "values") || !strcmp(a->rest, "convenience"))
		show_values(s, a->json);
	else if (!*a->rest)
		show_group(s, "", a->json);
	else
		return show_settings(s, a->rest, a->json);
	return NULL;
}

const char cmd_unset_help[] =
	"Takes a variable out of the program's environment, from the next run on; `unset\n"
	"substitute-path [FROM]` ends what `set substitute-path` does.\n"
	"Example: unset env DISPLAY\n";

struct err *cmd_unset(struct session *s, const struct cmd_args *a)
{
	const char *rest;
	size_t n;

	bool done;

	TRY(source_setting(s, "unset", a->rest, false, &done));
	if (done)
		return NULL;
	if (!begins_with(a->rest, "environment", 3, &rest) || !*rest)
		return err_cure(err_new(ERR_USAGE, "unset needs \"env\" and a name"),
			"For example: unset env DISPLAY");
	n = strcspn(rest, " \t=");
	if (rest[n])
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no name of a variable", rest),
			"For example: unset env DISPLAY");
	live_env(&s->engine, rest);
	return NULL;
}
