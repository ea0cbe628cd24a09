/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: set, show, unset. `set $x = EXPR` makes a variable, `set env NAME=VALUE` changes the
 * program's environment.
 */
#include "config.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "shell/live/process.h"
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

static void show_one(struct session *s, const struct settings *set, unsigned id)
{
	struct buf b = BUF_INIT;

	settings_value(set, id, &b);
	out_printf(s->out, "%-24s %s\n", set->list->desc[id].name, buf_cstr(&b));
	buf_free(&b);
}

const char cmd_set_help[] =
	"Changes a setting; `show` lists them. Also:\n"
	"  set env NAME=VALUE   a variable of the program's environment, from the next run on\n"
	"  set args WORDS       what `run` gives the program\n"
	"  set $n = EXPR        a variable of tsdb\n"
	"  set var EXPR = EXPR  a variable of the stopped program that is in host memory\n"
	"In a replay on a device, to see what would have been (until `replay restart`):\n"
	"  set memory ADDRESS TYPE VALUE...   memory at the present point; types as in `print`;\n"
	"  set {TYPE}ADDRESS = VALUE...       the same\n"
	"  set arg N VALUE      argument N of the launch the replay stands at, which is executed\n"
	"                       again with it\n"
	"Example: set capture timestamps on\n";

struct err *cmd_set(struct session *s, const struct cmd_args *a)
{
	struct settings *sets[SESSION_SETS];
	struct setting_found found;
	const char *rest;

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

/* Prints one variable as the program will see it. */
static void show_env_one(struct session *s, const char *name)
{
	size_t n = strlen(name);
	const char *inherited = getenv(name);

	for (unsigned i = 0; i < s->engine.live.nenv; i++) {
		const char *entry = s->engine.live.env[i];

		if (strncmp(entry, name, n) || (entry[n] && entry[n] != '='))
			continue;
		out_printf(s->out, entry[n] ? "%s\n" : "%s (unset)\n", entry);
		return;
	}
	if (inherited)
		out_printf(s->out, "%s=%s\n", name, inherited);
	else
		out_printf(s->out, "%s (not set)\n", name);
}

static void show_env(struct session *s)
{
	for (unsigned i = 0; i < s->engine.live.nenv; i++)
		out_printf(s->out, strchr(s->engine.live.env[i], '=') ? "%s\n" : "%s (unset)\n",
			s->engine.live.env[i]);
	if (!s->engine.live.nenv)
		out_str(s->out, "The program gets tsdb's own environment.\n");
}

static void show_group(struct session *s, const char *text)
{
	struct settings *sets[SESSION_SETS];
	size_t n = strlen(text);

	session_sets(s, sets);
	while (n && strchr(" \t", text[n - 1]))
		n--;
	for (unsigned k = 0; k < SESSION_SETS; k++) {
		for (unsigned i = 0; i < sets[k]->list->n; i++) {
			if (!strncmp(sets[k]->list->desc[i].name, text, n))
				show_one(s, sets[k], i);
		}
	}
}

const char cmd_show_help[] =
	"Shows a setting with what it means, all that begin with a word, or all. `show version`\n"
	"says which tsdb this is, `show env` the changes to the program's environment, `show\n"
	"env NAME` one variable as the program will see it, `show\n"
	"values` what print has shown and the variables.\n"
	"Examples: show capture memory\n"
	"          show env LD_LIBRARY_PATH\n";

struct values_shown {
	struct session *s;
	struct buf *out;
};

static void show_variable(void *arg, const char *name, const struct lang_value *value)
{
	struct values_shown *shown = arg;

	buf_printf(shown->out, "$%s = ", name);
	err_free(value_show(shown->s, value, 0, shown->out));
	buf_byte(shown->out, '\n');
}

struct err *cmd_show(struct session *s, const struct cmd_args *a)
{
	struct settings *sets[SESSION_SETS];
	const struct setting_desc *d;
	struct setting_found found;
	struct buf b = BUF_INIT;
	const char *rest;

	if (!strcmp(a->rest, "version")) {
		out_printf(s->out,
			"tsdb %s (TraceSmith), a debugger for GPU command streams; trace format %d.%d\n",
			PACKAGE_VERSION, SBT_VERSION_MAJOR, SBT_VERSION_MINOR);
		return NULL;
	}
	if (*a->rest && begins_with(a->rest, "environment", 3, &rest)) {
		if (*rest)
			show_env_one(s, rest);
		else
			show_env(s);
		return NULL;
	}
	if (!strcmp(a->rest, "values") || !strcmp(a->rest, "convenience")) {
		struct values_shown shown = {s, &b};

		vars_each(s->vars, show_variable, &shown);
		out_str(s->out, b.len ? buf_cstr(&b) : "No values.\n");
		buf_free(&b);
		return NULL;
	}
	if (!*a->rest) {
		show_group(s, "");
		return NULL;
	}
	session_sets(s, sets);
	TRY(settings_find(sets, SESSION_SETS, a->rest, &found));
	if (!found.set) {
		show_group(s, a->rest);
		return NULL;
	}
	settings_value(found.set, found.id, &b);
	d = &found.set->list->desc[found.id];
	out_printf(s->out, "%s: %s is %s.\n", d->doc, d->name, b.len ? buf_cstr(&b) : "empty");
	buf_free(&b);
	return NULL;
}

const char cmd_unset_help[] =
	"Takes a variable out of the program's environment, from the next run on.\n"
	"Example: unset env DISPLAY\n";

struct err *cmd_unset(struct session *s, const struct cmd_args *a)
{
	const char *rest;
	size_t n;

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
