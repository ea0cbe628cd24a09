/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that a replay leaves out or does otherwise, as causes of a difference: those that no command kind describes, host functions, and waits for a
 * value that is written by a later command.
 */
#include "shell/verdict-private.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_left_out(const struct sbt_cmd *c, struct buf *name)
{
	if (c->kind != SBT_UNREPLAYABLE && c->kind != SBT_HOST_FUNC)
		return false;
	buf_clear(name);
	if (c->kind == SBT_HOST_FUNC)
		buf_str(name, "a host function");
	else
		buf_printf(name, "%.*s", (int)c->u.unreplayable.call.len, (const char *)c->u.unreplayable.call.p);
	return true;
}

struct err *verdict_ask_left_out(struct search *x)
{
	const uint64_t last = x->output.kind ? x->output.seq : x->rd->last;
	struct buf name = BUF_INIT;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->s->trace.reader));
	e = sbt_cursor_seek(cursor, x->rd->first);
	while (!e && !verdict_answered(x) && !(e = sbt_cursor_next(cursor, &c)) && c && c->seq < last) {
		if (!is_left_out(c, &name))
			continue;
		verdict_answer(x, VERDICT_NOT_EXECUTED, c->seq, 0);
		buf_printf(&x->ret->text, "Why: a call that is not executed again: #%" PRIu64 " %s. What it did beyond the memory that was recorded with it is missing here.\n",
			c->seq, buf_cstr(&name));
	}
	sbt_cursor_close(cursor);
	buf_free(&name);
	return e;
}

/* ---- waits for values ------------------------------------------------------------------------------------------------------ */

struct wait {
	uint64_t seq, addr, stream, by; /* by: the first command behind it that writes there; 0: none so far */
	bool early; /* one before it does */
};
struct waits {
	struct wait *w;
	size_t n, cap;
	uint64_t *written; /* addresses */
	size_t nwritten, cap_written;
};

static bool is_written(const struct waits *x, uint64_t addr)
{
	for (size_t i = 0; i < x->nwritten; i++)
		if (x->written[i] == addr)
			return true;
	return false;
}

static void note_value(struct waits *x, const struct sbt_cmd *c)
{
	const struct sbt_cmd_batch *u = &c->u.batch;

	if (u->is_wait) {
		MAKE_ROOM(x->w, x->n, x->cap);
		x->w[x->n++] = (struct wait){.seq = c->seq, .addr = u->addr, .stream = u->stream, .early = is_written(x, u->addr)};
		return;
	}
	for (size_t i = 0; i < x->n; i++)
		if (x->w[i].addr == u->addr && !x->w[i].by)
			x->w[i].by = c->seq;
	if (is_written(x, u->addr))
		return;
	MAKE_ROOM(x->written, x->nwritten, x->cap_written);
	x->written[x->nwritten++] = u->addr;
}

#define VALUES_MAX 4096u /* waits, and addresses that are written; what comes behind is not looked at */

/* Calls each() for the window's commands that were executed. */
static struct err *each_command(const struct search *x, void (*each)(void *arg, const struct sbt_cmd *c), void *arg)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	TRY(sbt_cursor_open(&cursor, x->s->trace.reader));
	struct err *e = sbt_cursor_seek(cursor, x->rd->first);
	while (!e && !(e = sbt_cursor_next(cursor, &c)) && c && c->seq <= x->rd->last)
		if (!c->result && !(c->flags & SBT_F_GRAPH))
			each(arg, c);
	sbt_cursor_close(cursor);
	return e;
}

static void take_value(void *arg, const struct sbt_cmd *c)
{
	struct waits *x = arg;

	if (c->kind == SBT_BATCH && x->n < VALUES_MAX && x->nwritten < VALUES_MAX)
		note_value(x, c);
}

struct behind {
	const struct wait *wait;
	struct order_doubt *d;
	size_t n, cap;
};

static void take_behind(void *arg, const struct sbt_cmd *c)
{
	struct behind *b = arg;

	if (c->seq <= b->wait->seq || sbt_cmd_stream(c) != b->wait->stream)
		return;
	MAKE_ROOM(b->d, b->n, b->cap);
	b->d[b->n++] = (struct order_doubt){.seq = c->seq};
}

/* Whether what is on the stream behind it reaches the difference. */
static struct err *ask_wait(struct search *x, const struct wait *w)
{
	struct behind b = {.wait = w};
	struct err *e = each_command(x, take_behind, &b);

	if (!e && b.n && verdict_first(x, b.d, 1, b.n) != SIZE_MAX) {
		verdict_answer(x, VERDICT_NOT_EXECUTED, w->seq, w->by);
		buf_printf(&x->ret->text, "Why: a wait that a replay does not keep: #%" PRIu64 " waits for a value at 0x%" PRIx64 ", which #%" PRIu64 " writes, and that was submitted"
			" later.\n    Commands are executed in the order of submission, so what is behind the wait came before what it waits for.\n", w->seq, w->addr, w->by);
		verdict_print_cmd(x, "    ", w->seq);
		verdict_print_cmd(x, "    ", w->by);
	}
	free(b.d);
	return e;
}

struct err *verdict_ask_values(struct search *x)
{
	struct waits w = {0};
	struct err *e = each_command(x, take_value, &w);

	for (size_t i = 0; !e && !verdict_answered(x) && i < w.n; i++)
		if (w.w[i].by && !w.w[i].early)
			e = ask_wait(x, &w.w[i]);
	free(w.w);
	free(w.written);
	return e;
}
