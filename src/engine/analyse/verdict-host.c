/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the host and the device share, as the cause of a difference. The surprise: that such
 * memory exists proves nothing. The host is certainly the cause only of a copy whose source on the
 * device is as recorded. Where a kernel or an asynchronous copy reads memory that the host may
 * write at any time, the cause stays open.
 */
#include "engine/analyse/verdict-private.h"

#include <stdlib.h>

static bool is_hosts(enum sbt_mem mem)
{
	return mem == SBT_MEM_PINNED || mem == SBT_MEM_REGISTERED || mem == SBT_MEM_MANAGED;
}

/* --- what is shared --- */

static void add_shared(struct search *x, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < x->nshared; i++)
		if (x->shared[i].addr == addr && x->shared[i].end == addr + size)
			return;
	MAKE_ROOM(x->shared, x->nshared, x->cap_shared);
	x->shared[x->nshared++] = (struct order_range){addr, addr + size};
}

static void take_alloc(void *arg, const struct sbt_cmd *c)
{
	struct search *x = arg;

	if (c->kind == SBT_ALLOC && is_hosts((enum sbt_mem)c->u.alloc.mem))
		add_shared(x, c->u.alloc.addr, c->u.alloc.size);
}

struct err *verdict_list_shared(struct search *x)
{
	struct state *s;
	struct state_alloc a;

	TRY(state_at(&s, x->en->trace.reader, x->rd->first - 1));
	for (unsigned i = 0; state_alloc(s, i, &a); i++)
		if (is_hosts(a.mem))
			add_shared(x, a.addr, a.size);
	state_free(s);
	return verdict_each_command(x, take_alloc, x);
}

/* --- asking --- */

/* Whether the device still holds at the end what the copy read, and that is as recorded. */
static bool source_is_right(const struct search *x)
{
	for (size_t i = 0; i < x->ndiffering; i++) {
		const struct order_range *t = &x->differing[i];
		bool covered = false;

		const uint64_t writer = order_flow_writer(x->flow, UINT64_MAX, t->addr, t->end);

		if (writer && order_flow_is_behind(x->flow, writer, x->output.seq))
			return false;
		for (size_t k = 0; k < x->v->npieces && !covered; k++) {
			const struct replayer_piece *p = &x->v->pieces[k];

			covered = p->checked == REPLAYER_CHECKED && p->same && p->addr <= t->addr &&
				  p->addr + p->size >= t->end;
		}
		if (!covered)
			return false;
	}
	return x->ndiffering;
}

/* Whether the program had not waited for the copy when its bytes were looked at, or the copy went
 * to memory that the host may write to at any time. */
static bool host_has_destination(const struct search *x)
{
	const struct sbt_cmd_copy *u = &x->output.u.copy;
	struct state_alloc a;

	return x->output.kind == SBT_COPY &&
	       (u->async || (state_alloc_at(x->end, u->dst, &a) && is_hosts(a.mem)));
}

/* Asks whether the host is certainly the cause: the copy cannot have delivered other bytes. */
struct err *verdict_ask_host_surely(struct search *x)
{
	if (!host_has_destination(x) || !source_is_right(x))
		return NULL;
	verdict_answer(x, VERDICT_HOST, VERDICT_HOST_CHANGED_COPY, x->output.seq, 0);
	x->ret->addr = x->output.u.copy.dst;
	return NULL;
}

struct readers {
	const struct search *x;
	const struct order_range *of;
	struct order_doubt *d; /* heap */
	size_t n, cap;
};

static bool touches(const struct search *x, uint64_t seq, const struct order_range *r)
{
	struct order_access a;

	for (size_t i = 0; order_flow_access(x->flow, seq, i, &a); i++)
		if (a.addr < r->end && r->addr < a.end)
			return true;
	return false;
}

static void take_reader(void *arg, const struct sbt_cmd *c)
{
	struct readers *r = arg;

	if ((c->kind != SBT_LAUNCH && c->kind != SBT_GRAPH_LAUNCH &&
		    (c->kind != SBT_COPY || !c->u.copy.async)) ||
		!touches(r->x, c->seq, r->of))
		return;
	MAKE_ROOM(r->d, r->n, r->cap);
	r->d[r->n++] = (struct order_doubt){.seq = c->seq};
}

/* The first command that uses the range while the host runs on, and that reaches the difference;
 * *ret_by 0: none. */
static struct err *reached(const struct search *x, const struct order_range *of, uint64_t *ret_by)
{
	struct readers r = {.x = x, .of = of};
	struct err *e = verdict_each_command(x, take_reader, &r);
	const size_t first = e ? SIZE_MAX : verdict_first(x, r.d, r.n, 1);

	*ret_by = first == SIZE_MAX ? 0 : r.d[first].seq;
	free(r.d);
	return e;
}

/* The recording has what the host wrote right before a synchronous copy. Other work may find bytes
 * there that no record has. */
struct err *verdict_ask_host(struct search *x)
{
	for (size_t i = 0; i < x->nshared; i++) {
		const struct order_range *a = &x->shared[i];
		uint64_t by;

		TRY(reached(x, a, &by));
		if (!by)
			continue;
		verdict_answer(x, VERDICT_OPEN, VERDICT_HOST_MAY_WRITE, by, 0);
		x->ret->addr = a->addr;
		x->ret->size = a->end - a->addr;
		return NULL;
	}
	return NULL;
}
