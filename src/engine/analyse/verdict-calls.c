/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that a replay leaves out or does differently, as causes of a difference: those that no
 * command kind describes, host functions, and waits for a value that no command writes.
 */
#include "engine/analyse/verdict-private.h"

#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"

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

#define CALLS_MAX 256u /* looked at one by one; all further ones may matter */

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

/* --- what a call of no kind can have touched --- */

/* The agent compares all memory that it knows before such a call and behind it, and the trace has
 * what changed. Other memory is what the window neither began with nor allocated, and what another
 * process shares. */
struct reach {
	struct order_range *known; /* heap; in order of address, may overlap */
	size_t nknown, cap_known;
	uint64_t *kernels; /* heap; launches that run kernels */
	size_t nkernels, cap_kernels;
};

static void add_known(struct reach *r, uint64_t addr, uint64_t size)
{
	MAKE_ROOM(r->known, r->nknown, r->cap_known);
	r->known[r->nknown++] = (struct order_range){addr, addr + size};
}

static struct err *take_piece(void *arg, const struct sbt_memory *m)
{
	if (m->role == SBT_MEMORY_START)
		add_known(arg, m->addr, m->size);
	return NULL;
}

static void take_command(void *arg, const struct sbt_cmd *c)
{
	struct reach *r = arg;

	if (c->kind == SBT_ALLOC && c->u.alloc.mem != SBT_MEM_IPC)
		add_known(r, c->u.alloc.addr, c->u.alloc.size);
	if (!(sbt_kind_does(c->kind) & SBT_RUNS_KERNEL) && c->kind != SBT_GRAPH_LAUNCH)
		return;
	MAKE_ROOM(r->kernels, r->nkernels, r->cap_kernels);
	r->kernels[r->nkernels++] = c->seq;
}

static int by_address(const void *pa, const void *pb)
{
	const struct order_range *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static struct err *find_reach(const struct search *x, struct reach *r)
{
	TRY(sbt_reader_memory(x->en->trace.reader, x->rd->first, x->rd->first, take_piece, r));
	TRY(verdict_each_command(x, take_command, r));
	if (r->nknown)
		qsort(r->known, r->nknown, sizeof *r->known, by_address);
	return NULL;
}

/* Whether something that differs is written by no command: then anything may have. */
static bool has_no_writer(const struct search *x)
{
	for (size_t i = 0; i < x->ndiffering; i++)
		if (!order_flow_writer(x->flow, x->seq, x->differing[i].addr, x->differing[i].end))
			return true;
	return false;
}

/* Whether the call makes or changes graphs: launches behind it may then run others. */
static bool is_about_graphs(const struct sbt_cmd *c, const char *name)
{
	return c->flags & SBT_F_GRAPH || strcasestr(name, "graph");
}

static bool call_matters(
	const struct search *x, const struct reach *r, const struct sbt_cmd *c, const char *name)
{
	struct order_doubt *d;
	uint64_t end = 0;
	size_t n = 0;

	if (has_no_writer(x))
		return true;
	d = xcalloc(r->nknown + 1 + r->nkernels, sizeof *d);
	for (size_t i = 0; i < r->nknown; i++) {
		if (r->known[i].addr > end)
			d[n++] = (struct order_doubt){c->seq, end, r->known[i].addr};
		end = r->known[i].end > end ? r->known[i].end : end;
	}
	d[n++] = (struct order_doubt){c->seq, end, UINT64_MAX};
	for (size_t i = 0; i < r->nkernels && is_about_graphs(c, name); i++)
		if (order_flow_is_behind(x->flow, r->kernels[i], c->seq))
			d[n++] = (struct order_doubt){.seq = r->kernels[i]};
	const bool ret = verdict_first(x, d, 1, n) != SIZE_MAX;
	free(d);
	return ret;
}

/* --- calls that are left out --- */

static bool matters(
	const struct search *x, const struct reach *r, const struct sbt_cmd *c, const char *name)
{
	return c->kind == SBT_HOST_FUNC ? host_function_matters(x, c->seq)
					: call_matters(x, r, c, name);
}

static void say_left_out(const struct search *x, uint64_t seq, const char *name)
{
	verdict_answer(x, VERDICT_NOT_EXECUTED, VERDICT_LEFT_OUT, seq, 0);
	x->ret->call = xstrdup(name);
}

static struct err *ask_calls(struct search *x, const struct reach *r, struct buf *name)
{
	const uint64_t last = x->output.kind ? x->output.seq : x->rd->last,
		       newest = order_flow_newest(x->flow, last);
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c = NULL;
	unsigned looked = 0;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
	e = sbt_cursor_seek(cursor, x->rd->first);
	while (!e && !verdict_answered(x) && !(e = sbt_cursor_next(cursor, &c)) && c &&
		c->seq <= newest)
		if (is_left_out(c, name) && order_flow_is_behind(x->flow, last, c->seq) &&
			(++looked > CALLS_MAX || matters(x, r, c, buf_cstr(name))))
			say_left_out(x, c->seq, buf_cstr(name));
	sbt_cursor_close(cursor);
	return e;
}

struct err *verdict_ask_left_out(struct search *x)
{
	struct buf name = BUF_INIT;
	struct reach r = {0};
	struct err *e = find_reach(x, &r);

	if (!e)
		e = ask_calls(x, &r, &name);
	free(r.known);
	free(r.kernels);
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
		verdict_answer(x, VERDICT_NOT_EXECUTED, VERDICT_VALUE_NOT_WRITTEN, w->seq, 0);
		x->ret->addr = w->addr;
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
