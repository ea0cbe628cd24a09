/* SPDX-License-Identifier: Apache-2.0
 *
 * $ variables, see vars.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/buf.h"
#include "shell/values/vars.h"
#include "sbt/fields.h"

enum { VARS_MAX = 10000 };

struct var {
	char *name;
	struct lang_value value;
};

struct vars {
	struct lang *lang;
	const struct lang_type *fields[SBT_T_ENUM_NODE + 1]; /* NULL until it is asked for */
	struct var *v;
	unsigned n, cap;
	struct lang_value *history;
	unsigned nhistory, history_cap;
};

struct vars *vars_new(void)
{
	struct vars *v = xcalloc(1, sizeof *v);

	v->lang = lang_new();
	return v;
}

void vars_free(struct vars *v)
{
	for (unsigned i = 0; i < v->n; i++) {
		free(v->v[i].name);
		lang_value_free(&v->v[i].value);
	}
	for (unsigned i = 0; i < v->nhistory; i++)
		lang_value_free(&v->history[i]);
	free(v->v);
	free(v->history);
	lang_free(v->lang);
	free(v);
}

struct lang *vars_lang(struct vars *v)
{
	return v->lang;
}

/* --- types of fields --- */

/* An enumeration over names, as a number of 8 bytes. */
static const struct lang_type *enum_type(struct lang *l, enum sbt_type of)
{
	static const char *const names[] = {"copy", "memory", "wait", "capture_mode", "node"};
	struct lang_type *t = lang_alloc(l, sizeof *t);
	struct lang_enumerator *e;
	unsigned n = 0;

	while (sbt_enum_name(of, n))
		n++;
	e = lang_alloc(l, n * sizeof *e);
	for (unsigned i = 0; i < n; i++)
		e[i] = (struct lang_enumerator){sbt_enum_name(of, i), i};
	*t = (struct lang_type){.kind = LANG_ENUM,
		.name = names[of - SBT_T_ENUM_COPY],
		.prefix = "enum",
		.size = 8,
		.enumerators = e,
		.nenumerators = n};
	return t;
}

/* A number of an object, or "none". */
static const struct lang_type *id_type(struct lang *l)
{
	static const struct lang_enumerator none = {"none", SBT_NO_ID};
	struct lang_type *t = lang_alloc(l, sizeof *t);

	*t = (struct lang_type){.kind = LANG_ENUM,
		.name = "id",
		.size = 8,
		.enumerators = &none,
		.nenumerators = 1};
	return t;
}

static const struct lang_type *hex_type(struct lang *l)
{
	struct lang_type *t = lang_alloc(l, sizeof *t);

	*t = *lang_base_type(l, "unsigned long");
	t->letter = 'x';
	return t;
}

const struct lang_type *vars_field_type(struct vars *v, enum sbt_type t)
{
	if (v->fields[t])
		return v->fields[t];
	switch (t) {
	case SBT_T_ADDR:
	case SBT_T_HEX:
		v->fields[t] = hex_type(v->lang);
		break;
	case SBT_T_INT:
		v->fields[t] = lang_base_type(v->lang, "long");
		break;
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		v->fields[t] = id_type(v->lang);
		break;
	default:
		v->fields[t] = t >= SBT_T_ENUM_COPY ? enum_type(v->lang, t)
						    : lang_base_type(v->lang, "unsigned long");
	}
	return v->fields[t];
}

/* --- variables --- */

void vars_put(struct vars *v, const char *name, const struct lang_value *value)
{
	struct lang_value copy = lang_value_copy(value);

	free(copy.variable);
	copy.variable = NULL;
	for (unsigned i = 0; i < v->n; i++) {
		if (!strcmp(v->v[i].name, name)) {
			lang_value_free(&v->v[i].value);
			v->v[i].value = copy;
			return;
		}
	}
	if (v->n >= VARS_MAX) {
		lang_value_free(&copy);
		return;
	}
	MAKE_ROOM(v->v, v->n, v->cap);
	v->v[v->n++] = (struct var){xstrdup(name), copy};
}

void vars_set(struct vars *v, const char *name, int64_t value)
{
	struct lang_value i = lang_from_int(lang_int_type(v->lang, 8, true), value);

	vars_put(v, name, &i);
	lang_value_free(&i);
}

void vars_set_status(struct vars *v, int status)
{
	static const struct lang_value nothing;
	const bool exited = WIFEXITED(status);

	vars_put(v, exited ? "_shell_exitsignal" : "_shell_exitcode", &nothing);
	vars_set(v, exited ? "_shell_exitcode" : "_shell_exitsignal",
		exited ? WEXITSTATUS(status) : WTERMSIG(status));
}

unsigned vars_remember(struct vars *v, const struct lang_value *value)
{
	struct lang_value copy = lang_value_copy(value);

	free(copy.variable);
	copy.variable = NULL;
	MAKE_ROOM(v->history, v->nhistory, v->history_cap);
	v->history[v->nhistory++] = copy;
	return v->nhistory;
}

/* "3", "", "$" or "$3" as a place in the history, from 0; false when name is none of these. What
 * lies before the first is UINT_MAX. */
static bool history_place(const struct vars *v, const char *name, unsigned *ret)
{
	const bool back = !*name || *name == '$';
	const char *digits = name + (*name == '$');
	unsigned long n = *digits ? strtoul(digits, NULL, 10) : *name == '$' ? 1 : 0;

	if (digits[strspn(digits, "0123456789")])
		return false;
	if (back)
		*ret = n < v->nhistory ? v->nhistory - 1 - (unsigned)n : UINT32_MAX;
	else
		*ret = n && n <= v->nhistory ? (unsigned)n - 1 : UINT32_MAX;
	return true;
}

bool vars_find(const struct vars *v, const char *name, struct lang_value *ret)
{
	unsigned i;

	if (history_place(v, name, &i)) {
		if (i >= v->nhistory)
			return false;
		*ret = lang_value_copy(&v->history[i]);
		return true;
	}
	for (i = 0; i < v->n; i++) {
		if (!strcmp(v->v[i].name, name)) {
			*ret = lang_value_copy(&v->v[i].value);
			ret->variable = xstrdup(name);
			return true;
		}
	}
	return false;
}

bool vars_get(const struct vars *v, const char *name, int64_t *ret)
{
	struct lang_value found;
	struct err *e;

	if (!vars_find(v, name, &found))
		return false;
	e = lang_to_int(NULL, &found, ret);
	lang_value_free(&found);
	err_free(e);
	return !e;
}

void vars_each(const struct vars *v,
	void (*each)(void *arg, const char *name, const struct lang_value *value), void *arg)
{
	for (unsigned i = 0; i < v->nhistory; i++) {
		char name[16];

		snprintf(name, sizeof name, "%u", i + 1);
		each(arg, name, &v->history[i]);
	}
	for (unsigned i = 0; i < v->n; i++)
		each(arg, v->v[i].name, &v->v[i].value);
}
