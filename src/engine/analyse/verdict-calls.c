/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that a replay leaves out or does differently, as causes of a difference: those that no
 * command kind describes, host functions, and waits for a value that no command writes.
 */
#include "engine/analyse/verdict-private.h"

#include <inttypes.h>
#include <stdlib.h>

struct err *verdict_each_command(
	const struct search *x, void (*each)(void *arg, const struct sbt_cmd *c), void *arg)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
	struct err *e = sbt_cursor_seek(cursor, x->rd->first);
	while (!e && !(e = sbt_cursor_next(cursor, &c)) && c && c->seq <= x->rd->last)
		if (!c->result && !(c->flags & SBT_F_GRAPH))
			each(arg, c);
	sbt_cursor_close(cursor);
	return e;
}

/* Whether a host function can matter: it can only have changed memory that the host shares with the
 * device. */
static bool host_function_matters(const struct search *x, uint64_t seq)
{
	struct order_doubt *d = xcalloc(x->nshared + 1, sizeof *d);

	for (size_t i = 0; i < x->nshared; i++)
		d[i] = (struct order_doubt){seq, x->shared[i].addr, x->shared[i].end};
	const bool ret = x->nshared && verdict_first(x, d, 1, x->nshared) != SIZE_MAX;
	free(d);
	return ret;
}

#define FUNCTIONS_MAX 256u /* looked at one by one; all further ones may matter */

static bool is_left_out(const struct sbt_cmd *c, struct buf *name)
{
	if (c->result || (c->kind != SBT_UNREPLAYABLE && c->kind != SBT_HOST_FUNC))
		return false;
	buf_clear(name);
	if (c->kind == SBT_HOST_FUNC)
		buf_str(name, "a host function");
	else
		buf_printf(name, "%.*s", (int)c->u.unreplayable.call.len,
			(const char *)c->u.unreplayable.call.p);
	return true;
}

struct err *verdict_ask_left_out(struct search *x)
{
	const uint64_t last = x->output.kind ? x->output.seq : x->rd->last,
		       newest = order_flow_newest(x->flow, last);
	struct buf name = BUF_INIT;
	unsigned functions = 0;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
	e = sbt_cursor_seek(cursor, x->rd->first);
	while (!e && !verdict_answered(x) && !(e = sbt_cursor_next(cursor, &c)) && c &&
		c->seq <= newest) {
		if (!is_left_out(c, &name) || !order_flow_is_behind(x->flow, last, c->seq) ||
			(c->kind == SBT_HOST_FUNC && ++functions <= FUNCTIONS_MAX &&
				!host_function_matters(x, c->seq)))
			continue;
		verdict_answer(x, VERDICT_NOT_EXECUTED, c->seq, 0);
		buf_printf(&x->ret->text,
			"Why: a call that is not executed again: #%" PRIu64
			" %s. What it did beyond the memory that was recorded with it is missing here.\n",
			c->seq, buf_cstr(&name));
	}
	sbt_cursor_close(cursor);
	buf_free(&name);
	return e;
}

/* --- waits for values --- */

struct wait {
	uint64_t seq, addr, stream;
};

static void take_wait(void *arg, const struct sbt_cmd *c)
{
	struct wait *w = arg;

	if (c->seq == w->seq && c->kind == SBT_BATCH)
		*w = (struct wait){
			.seq = c->seq, .addr = c->u.batch.addr, .stream = c->u.batch.stream};
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

/* Checks whether the commands behind the wait on its stream reach the difference. */
static struct err *ask_wait(struct search *x, const struct wait *w)
{
	struct behind b = {.wait = w};
	struct err *e = verdict_each_command(x, take_behind, &b);

	if (!e && b.n && verdict_first(x, b.d, 1, b.n) != SIZE_MAX) {
		verdict_answer(x, VERDICT_NOT_EXECUTED, w->seq, 0);
		buf_printf(&x->ret->text,
			"Why: a wait that a replay does not keep: #%" PRIu64
			" waits for a value at 0x%" PRIx64
			", and nothing that a replay executes wrote it"
			" there.\n    What is behind the wait came when the program knew that the "
			"wait was over.\n",
			w->seq, w->addr);
		verdict_print_cmd(x, "    ", w->seq);
	}
	free(b.d);
	return e;
}

struct err *verdict_ask_values(struct search *x)
{
	struct wait w = {.seq = x->v->sums.forced, .stream = SBT_NO_ID};

	if (!w.seq)
		return NULL;
	TRY(verdict_each_command(x, take_wait, &w));
	return ask_wait(x, &w);
}
