/* SPDX-License-Identifier: Apache-2.0
 *
 * $ variables, see vars.h. They are replaced in the text before an expression is compiled, so
 * expressions know nothing of them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "shell/print/vars.h"

enum { VARS_MAX = 10000 };

struct var {
	char *name;
	int64_t value;
};

struct vars {
	struct var *v;
	unsigned n;
	int64_t *history;
	unsigned nhistory;
};

struct vars *vars_new(void)
{
	return xcalloc(1, sizeof(struct vars));
}

void vars_free(struct vars *v)
{
	for (unsigned i = 0; i < v->n; i++)
		free(v->v[i].name);
	free(v->v);
	free(v->history);
	free(v);
}

void vars_set(struct vars *v, const char *name, int64_t value)
{
	for (unsigned i = 0; i < v->n; i++) {
		if (!strcmp(v->v[i].name, name)) {
			v->v[i].value = value;
			return;
		}
	}
	if (v->n >= VARS_MAX)
		return;
	v->v = xrealloc(v->v, (v->n + 1) * sizeof *v->v);
	v->v[v->n++] = (struct var){xstrdup(name), value};
}

unsigned vars_remember(struct vars *v, int64_t value)
{
	if (v->nhistory % 64 == 0)
		v->history = xrealloc(v->history, (v->nhistory + 64) * sizeof *v->history);
	v->history[v->nhistory++] = value;
	return v->nhistory;
}

bool vars_get(const struct vars *v, const char *name, int64_t *ret)
{
	size_t digits = strspn(name, "0123456789");
	unsigned long back = 0, nth = 0;

	if (!*name || !strcmp(name, "$")) {
		back = *name ? 2 : 1;
	} else if (digits && !name[digits]) {
		nth = strtoul(name, NULL, 10);
		if (!nth || nth > v->nhistory)
			return false;
		*ret = v->history[nth - 1];
		return true;
	}
	if (back) {
		if (back > v->nhistory)
			return false;
		*ret = v->history[v->nhistory - back];
		return true;
	}
	for (unsigned i = 0; i < v->n; i++) {
		if (!strcmp(v->v[i].name, name)) {
			*ret = v->v[i].value;
			return true;
		}
	}
	return false;
}

/* The variable's name at p (after the dollar sign) into dst; returns its length. */
static size_t name_at(const char *p, char *dst, size_t n)
{
	size_t len = 0;

	if (*p == '$')
		len = 1;
	else
		while (isalnum((unsigned char)p[len]) || p[len] == '_')
			len++;
	if (len >= n)
		len = n - 1;
	memcpy(dst, p, len);
	dst[len] = 0;
	return len;
}

struct err *vars_expand(const struct vars *v, const char *text,
	bool (*is_field)(void *arg, const char *name), void *arg, char **ret)
{
	struct buf out = BUF_INIT;

	while (*text) {
		char name[64];
		int64_t value;
		size_t len;

		if (*text != '$') {
			buf_byte(&out, (uint8_t)*text++);
			continue;
		}
		text++;
		len = name_at(text, name, sizeof name);
		if (!strcmp(name, "cmd")) {
			text += 3;
			if (*text == '.')
				text++;
			else
				buf_str(&out, "cmd");
			continue;
		}
		if (vars_get(v, name, &value)) {
			if (value < 0) /* the grammar has a unary minus, so (-5) is fine */
				buf_printf(&out, "(-%llu)", -(unsigned long long)value);
			else
				buf_printf(&out, "%llu", (unsigned long long)value);
		} else if (is_field && is_field(arg, name)) {
			buf_str(&out, name);
		} else {
			buf_free(&out);
			return err_cure(err_new(ERR_NOT_FOUND, "there is no variable $%s", name),
				"Use \"set $%s = 1\" to make one", name);
		}
		text += len;
	}
	*ret = buf_steal(&out);
	return NULL;
}

void vars_print(const struct vars *v, struct buf *out)
{
	for (unsigned i = 0; i < v->nhistory; i++)
		buf_printf(out, "$%u = %lld\n", i + 1, (long long)v->history[i]);
	for (unsigned i = 0; i < v->n; i++)
		buf_printf(out, "$%s = %lld\n", v->v[i].name, (long long)v->v[i].value);
}
