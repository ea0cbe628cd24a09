/* SPDX-License-Identifier: Apache-2.0
 *
 * Displays, see displays.h. As in gdb, a display whose names are not there at a stop (a variable of
 * another function, a field of another kind of command) is passed over without a word.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "shell/script/defined.h"
#include "shell/script/displays.h"
#include "shell/values/memory-view.h"
#include "shell/values/value.h"

struct displays {
	struct display *v;
	unsigned n, cap, last;
};

void displays_free(struct displays *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->n; i++) {
		free(d->v[i].fmt);
		free(d->v[i].expr);
	}
	free(d->v);
	free(d);
}

const struct display *displays_add(struct session *s, const char *fmt, const char *expr)
{
	struct displays *d = s->displays;

	if (!d)
		d = s->displays = xcalloc(1, sizeof *d);
	MAKE_ROOM(d->v, d->n, d->cap);
	d->v[d->n] = (struct display){++d->last, true, xstrdup(fmt), xstrdup(expr)};
	return &d->v[d->n++];
}

struct display *displays_nth(struct session *s, unsigned i)
{
	return s->displays && i < s->displays->n ? &s->displays->v[i] : NULL;
}

void displays_delete(struct session *s, unsigned id)
{
	struct displays *d = s->displays;

	for (unsigned i = 0; d && i < d->n; i++) {
		if (d->v[i].id != id)
			continue;
		free(d->v[i].fmt);
		free(d->v[i].expr);
		memmove(&d->v[i], &d->v[i + 1], (d->n - i - 1) * sizeof *d->v);
		d->n--;
		return;
	}
}

/* --- showing --- */

/* Whether x shows it, not print. */
static bool is_memory(const struct display *d)
{
	return d->fmt[strcspn(d->fmt, "bhwgsi")] != 0;
}

static struct err *value_text(struct session *s, const struct display *d, struct buf *out)
{
	const size_t digits = strspn(d->fmt, "0123456789");
	struct lang_value v;
	struct err *e;

	TRY(value_eval(s, d->expr, &v));
	e = value_show(s, &v, d->fmt[digits], out);
	lang_value_free(&v);
	return e;
}

static struct err *show_value(struct session *s, const struct display *d, bool must)
{
	struct buf b = BUF_INIT;
	struct err *e = value_text(s, d, &b);
	const bool absent = e && (e->code == ERR_NOT_FOUND || e->code == ERR_STATE);

	if (e && (must || absent)) {
		buf_free(&b);
		if (must)
			return e;
		err_free(e);
		return NULL;
	}
	out_printf(s->out, "%u: %s%s%s%s = ", d->id, *d->fmt ? "/" : "", d->fmt, *d->fmt ? " " : "",
		d->expr);
	if (e)
		out_printf(s->out, "<error: %s>\n", e->what);
	else
		out_printf(s->out, "%s\n", buf_cstr(&b));
	err_free(e);
	buf_free(&b);
	return NULL;
}

static struct err *show_memory(struct session *s, const struct display *d, bool must)
{
	struct lang_value v;
	struct err *e = value_eval(s, d->expr, &v);

	if (!e)
		lang_value_free(&v);
	if (e && must)
		return e;
	if (e && (e->code == ERR_NOT_FOUND || e->code == ERR_STATE)) {
		err_free(e);
		return NULL;
	}
	err_free(e);
	out_printf(s->out, "%u: x/%s %s\n", d->id, d->fmt, d->expr);
	e = memory_examine(s, d->fmt, d->expr, false);
	if (e && !must) {
		out_printf(s->out, "<error: %s>\n", e->what);
		err_free(e);
		e = NULL;
	}
	return e;
}

struct err *display_show(struct session *s, const struct display *d, bool must)
{
	return is_memory(d) ? show_memory(s, d, must) : show_value(s, d, must);
}

void displays_show(struct session *s)
{
	const struct display *d;

	for (unsigned i = 0; (d = displays_nth(s, i)) != NULL; i++)
		if (d->enabled)
			err_free(display_show(s, d, false));
}

/* --- stops --- */

static void run_hook(struct session *s, const char *prefix)
{
	const bool placed = s->script.placed;
	struct err *e = defined_hook(s, prefix, "stop");

	if (e)
		out_error(s->out, e);
	s->script.placed = placed;
}

bool displays_stop(struct session *s, bool at_breakpoint)
{
	const bool shown = !at_breakpoint || !breakpoints_silent(s->engine.breaks);

	run_hook(s, "hook-");
	s->script.stopped = shown;
	return shown;
}

void displays_after(struct session *s)
{
	if (!s->script.stopped)
		return;
	s->script.stopped = false;
	displays_show(s);
	run_hook(s, "hookpost-");
}
