/* SPDX-License-Identifier: Apache-2.0
 *
 * What the panes show, see tui-panes.h: the structs that list, disassemble, info streams and info
 * commands print, round the place where the program or the replay is. Nothing here moves anything,
 * and the driver of a live program is not asked: its answer may take seconds.
 */
#include "shell/tui/tui-panes.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "engine/breakpoints.h"
#include "engine/live-look.h"
#include "replay/replay.h"
#include "shell/print/kernel-text.h"
#include "shell/source/source-place.h"
#include "shell/source/source-view.h"
#include "state/state.h"
#include "symbols/places.h"
#include "symbols/sources.h"
#include "sbt/kernel-name.h"

static struct tui_text begin_text(enum tui_pane pane)
{
	return (struct tui_text){.here = UINT_MAX, .title = xstrdup(tui_pane_names[pane])};
}

void tui_text_free(struct tui_text *t)
{
	buf_free(&t->text);
	free(t->title);
}

static void add_title(struct tui_text *t, const char *more)
{
	char *both = xasprintf("%s  %s", t->title, more);

	free(t->title);
	t->title = both;
}

/* A sentence in place of the text, and the cure. */
static void say(struct tui_text *t, struct err *e)
{
	buf_printf(
		&t->text, "%c%s.\n", toupper((unsigned char)*e->what), *e->what ? e->what + 1 : "");
	if (e->cure)
		buf_printf(&t->text, "%s.\n", e->cure);
	err_free(e);
}

/* The first of `rows` lines out of n around `at`, from 1, moved by *scroll as far as there are
 * lines. */
static unsigned first_line(unsigned at, unsigned n, unsigned rows, int *scroll)
{
	const int64_t last = n > rows ? (int64_t)n - rows + 1 : 1;
	int64_t plain = (int64_t)at - rows / 2, first;

	plain = plain < 1 ? 1 : plain > last ? last : plain;
	first = plain + *scroll;
	first = first < 1 ? 1 : first > last ? last : first;
	*scroll = (int)(first - plain);
	return (unsigned)first;
}

/* --- breakpoints beside the lines --- */

struct marked {
	const char *file;   /* of the source; NULL: lines are of the PTX */
	const char *kernel; /* mangled, of that PTX */
};

static bool is_at(const struct breakpoint *bp, const struct marked *m, unsigned line)
{
	char name[SOFT_NAME];

	if (!m->file)
		return bp->line == line && !bp->file &&
		       sbt_kernel_glob(bp->glob ? bp->glob : "*", m->kernel,
			       kernel_short_name(name, sizeof name, m->kernel));
	if (bp->line == line && bp->file)
		return symbols_same_file(m->file, bp->file);
	return bp->from && bp->from_line == line && symbols_same_file(m->file, bp->from);
}

/* As gdb does: B has been hit, b has not; + enabled, - disabled. An enabled one is shown first. */
static const char *mark_of(struct session *s, const struct marked *m, unsigned line)
{
	const struct breakpoint *bp;
	const char *mark = "  ";

	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)); i++) {
		if (!line || !is_at(bp, m, line))
			continue;
		if (bp->enabled)
			return bp->hits ? "B+" : "b+";
		mark = bp->hits ? "B-" : "b-";
	}
	return mark;
}

/* --- source --- */

/* The line to show: in a launch the next instruction's, else what `list` showed last, or the last
 * stop's; of a program that has not run, main's. *ret_here: the line to mark, 0: none. */
static bool source_place(
	struct session *s, struct source_found *own, struct source_place *ret, unsigned *ret_here)
{
	const struct soft_stop *k = kernel_stop(s);
	const bool stopped = source_current(s, ret);
	struct source_place listed;
	unsigned first, last;

	*ret_here = stopped ? ret->line : 0;
	if (k && k->source_line && *k->file &&
		!(stopped && ret->line == k->source_line && !strcmp(ret->file, k->file))) {
		*ret = (struct source_place){k->file, NULL, k->source_line};
		*ret_here = k->source_line;
		return true;
	}
	if (source_listed(s, &listed, &first, &last)) {
		if (!stopped || strcmp(listed.file, ret->file) != 0)
			*ret_here = 0;
		*ret = listed;
		ret->line = first + (last - first) / 2;
		return true;
	}
	if (stopped)
		return true;
	if (s->focus == FOCUS_REPLAY || !source_of_function(s, "main", own))
		return false;
	*ret = (struct source_place){own->file, own->folder, own->line};
	return true;
}

static void source_lines(struct session *s, const struct source_place *at, unsigned here,
	unsigned rows, int *scroll, struct tui_text *ret)
{
	const struct marked m = {.file = at->file};
	const struct source_text *t;
	struct err *e = sources_get(session_sources(s), at->file, at->folder, &t);
	unsigned first;

	add_title(ret, at->file);
	if (e) {
		say(ret, e);
		return;
	}
	first = first_line(at->line, t->nlines, rows, scroll);
	for (unsigned i = first; i - first < rows && i <= t->nlines; i++) {
		size_t n;
		const char *p = source_line(t, i, &n);

		if (i == here)
			ret->here = i - first;
		buf_printf(&ret->text, "%s%c%5u  ", mark_of(s, &m, i), i == here ? '>' : ' ', i);
		for (size_t k = 0; k < n; k++) /* a line of the pane is a line of the source */
			buf_byte(&ret->text, p[k] == '\n' ? ' ' : (uint8_t)p[k]);
		buf_byte(&ret->text, '\n');
	}
}

static void ptx(struct session *s, unsigned rows, int *scroll, struct tui_text *ret);

static void source(struct session *s, unsigned rows, int *scroll, struct tui_text *ret)
{
	const struct soft_stop *k = kernel_stop(s);
	struct source_found own = {0};
	struct source_place at;
	unsigned here;

	if (k && (!k->source_line || !*k->file)) {
		ptx(s, rows, scroll, ret); /* it does not say which line of the source it is */
		return;
	}
	if (source_place(s, &own, &at, &here))
		source_lines(s, &at, here, rows, scroll, ret);
	else
		buf_str(&ret->text, "No source: nothing has stopped yet.\n");
	source_found_free(&own);
}

/* --- PTX --- */

static void ptx_title(const struct soft_stop *k, struct tui_text *ret)
{
	char name[SOFT_NAME];
	char *more;

	kernel_short_name(name, sizeof name, k->function[0] ? k->function : k->kernel);
	more = xasprintf("%s  block (%u,%u,%u) thread (%u,%u,%u)", name, k->block[0], k->block[1],
		k->block[2], k->thread[0], k->thread[1], k->thread[2]);
	add_title(ret, more);
	free(more);
}

static void ptx_lines(struct session *s, const struct soft_line *l, size_t n,
	const struct marked *m, struct tui_text *ret)
{
	for (size_t i = 0; i < n; i++, l++) {
		if (l->here)
			ret->here = (unsigned)i;
		buf_printf(&ret->text, "%s%c%5u  ", mark_of(s, m, l->line), l->here ? '>' : ' ',
			l->line);
		buf_add(&ret->text, l->text, strcspn(l->text, "\n"));
		buf_byte(&ret->text, '\n');
	}
}

/* Asks for `rows` lines round the next instruction, moved by *scroll as far as there are lines. */
static struct err *ask_lines(
	struct session *s, unsigned rows, int *scroll, void **ret, size_t *ret_n)
{
	const struct soft_stop *k = kernel_stop(s);
	struct soft_ask q = {.what = SOFT_ASK_LINES};
	struct device *d;
	struct err *e;

	TRY(microscope_need(&s->engine, "the text screen", &d));
	for (int tries = 0;; tries++) {
		q.addr = first_line(k->line, UINT32_MAX, rows, scroll);
		q.size = q.addr + rows - 1;
		e = device_kernel_ask(d, &q, sizeof(struct soft_line), ret, ret_n);
		if (e || tries || *ret_n >= rows || *scroll <= 0)
			return e;
		free(*ret); /* beyond the end */
		*scroll = *scroll > (int)(rows - *ret_n) ? *scroll - (int)(rows - *ret_n) : 0;
	}
}

static void ptx(struct session *s, unsigned rows, int *scroll, struct tui_text *ret)
{
	const struct soft_stop *k = kernel_stop(s);
	struct marked m = {0};
	struct err *e;
	void *v = NULL;
	size_t n = 0;

	if (!k || !k->line) {
		buf_str(&ret->text,
			k ? "The warp has ended.\n"
			  : "No PTX: no launch is entered. Use \"enter\" in a replay.\n");
		return;
	}
	m.kernel = k->kernel;
	ptx_title(k, ret);
	e = ask_lines(s, rows, scroll, &v, &n);
	if (e)
		say(ret, e);
	else
		ptx_lines(s, v, n < rows ? n : rows, &m, ret);
	free(v);
}

/* --- streams and commands --- */

/* Removes lines from the front, as many as *scroll says and there are more than `rows`. */
static void cut_front(struct buf *b, unsigned rows, int *scroll)
{
	const char *text = buf_cstr(b), *p = text;
	unsigned n = 0, from;

	for (const char *q = text; (q = strchr(q, '\n')); q++)
		n++;
	from = *scroll > 0 ? (unsigned)*scroll : 0;
	if (n <= rows)
		from = 0;
	else if (from > n - rows)
		from = n - rows;
	*scroll = (int)from;
	for (unsigned i = 0; i < from; i++)
		p = strchr(p, '\n') + 1;
	b->len -= (size_t)(p - text);
	memmove(b->data, p, b->len);
}

static void streams_text(struct session *s, struct tui_text *ret)
{
	const struct live *l = &s->engine.live;
	const struct state *st, *reached;
	struct err *e = session_state(s, &st);

	if (e) {
		say(ret, e);
		return;
	}
	if (s->focus == FOCUS_LIVE && l->look && l->look->runs == l->runs &&
		(reached = live_device_state(&s->engine)))
		st = reached;
	state_print(&ret->text, st, STATE_VIEW_STREAMS, out_columns());
	if (ret->text.len && ret->text.data[ret->text.len - 1] != '\n')
		buf_byte(&ret->text, '\n');
}

unsigned tui_streams_lines(struct session *s)
{
	struct tui_text t = begin_text(TUI_STREAMS);
	unsigned n = 1;

	streams_text(s, &t);
	for (const char *p = buf_cstr(&t.text); (p = strchr(p, '\n')); p++)
		n++;
	tui_text_free(&t);
	return n;
}

/* Puts "> " before the line of the command at the position, two blanks before the others. */
static void mark_command(struct session *s, struct tui_text *ret)
{
	struct buf out = BUF_INIT;
	const struct sbt_cmd *c;
	char here[32] = "\n";
	unsigned row = 0;

	if (session_cmd(s, &c))
		snprintf(here, sizeof here, "#%" PRIu64 " ", c->seq);
	for (const char *p = buf_cstr(&ret->text); *p; row++) {
		const size_t n = strcspn(p, "\n");
		const bool is = !strncmp(p, here, strlen(here));

		if (is)
			ret->here = row;
		buf_printf(&out, "%s%.*s\n", is ? "> " : "  ", (int)n, p);
		p += n + (p[n] == '\n');
	}
	buf_free(&ret->text);
	ret->text = out;
}

static void commands_text(struct session *s, unsigned rows, int *scroll, struct tui_text *ret)
{
	const struct replay *r = s->focus == FOCUS_REPLAY ? s->engine.trace.replay : NULL;
	struct cmd_args a = {.rest = ""};
	char range[64], *words[] = {range};
	struct err *e;

	if (r) {
		const uint64_t n = sbt_reader_last_seq(s->engine.trace.reader), at = replay_seq(r);
		const unsigned first = first_line((unsigned)(at < INT_MAX ? at : INT_MAX),
			(unsigned)(n < INT_MAX ? n : INT_MAX), rows, scroll);

		snprintf(range, sizeof range, "%u-%u", first, first + rows - 1);
		a = (struct cmd_args){.rest = range, .argc = 1, .argv = words};
	}
	out_collect(s->out, &ret->text);
	e = cmd_info_commands(s, &a);
	out_collect(s->out, NULL);
	if (e) {
		say(ret, e);
		return;
	}
	if (!r) { /* the latest */
		int up = INT_MAX;

		cut_front(&ret->text, rows, &up);
		*scroll = 0;
	}
	mark_command(s, ret);
}

struct tui_text tui_pane_text(struct session *s, enum tui_pane pane, unsigned rows, int *scroll)
{
	struct tui_text t = begin_text(pane);

	switch (pane) {
	case TUI_SRC:
		source(s, rows, scroll, &t);
		break;
	case TUI_PTX:
		ptx(s, rows, scroll, &t);
		break;
	case TUI_STREAMS:
		streams_text(s, &t);
		cut_front(&t.text, rows, scroll);
		break;
	default:
		commands_text(s, rows, scroll, &t);
	}
	return t;
}
