/* SPDX-License-Identifier: Apache-2.0
 *
 * ORDER: executes the window's work in another order, one command after the other, from the
 * window's start. The result is reported as hashes of memory; memory can be read until the next
 * request.
 *
 * The surprise: events are neither recorded nor waited for. The caller's order already contains
 * what they say; of streams only one thing remains: the next command of a stream need not be waited
 * for.
 */
#include <stdlib.h>
#include <string.h>
#include "order/kept.h"
#include "replayer/execute/replayer-order.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"

/* The window's commands, with random access. */
struct window_kept {
	struct kept_window window;
	struct kept_flags {
		bool ordered;	     /* in the order that was asked for */
		bool host_ordered;   /* the same: the host's changes before it */
		bool reads_live;     /* order_reads_live() */
		uint64_t addr, size; /* order_owns() */
	} * flags;		     /* one for each */
};

void order_free(struct rp *rp)
{
	if (!rp->kept)
		return;
	kept_free(&rp->kept->window);
	free(rp->kept->flags);
	free(rp->kept);
	rp->kept = NULL;
}

static struct err *see_what_reads(struct rp *rp, struct state *s)
{
	struct window_kept *k = rp->kept;
	struct sbt_cmd c;

	for (size_t i = 0; i < k->window.n; i++) {
		TRY(kept_get(&k->window, i, &c));
		k->flags[i].reads_live = order_reads_live(s, &c);
		order_owns(s, &c, &k->flags[i].addr, &k->flags[i].size);
		TRY(state_apply(s, &c));
	}
	return NULL;
}

static struct err *keep_all(struct rp *rp)
{
	struct window_kept *k = rp->kept = xcalloc(1, sizeof *rp->kept);
	struct state *s = NULL;
	struct err *e;

	rp->cursor_seq = UINT64_MAX;
	e = kept_read(&k->window, rp->cursor, rp->first, rp->last);
	if (e && e->code == ERR_LIMIT) {
		err_free(e);
		return rp_fail(rp, REPLAYER_E_REFUSED, 0,
			"the window has more than %u commands: too many for other orders",
			KEPT_MAX);
	}
	TRY(e);
	k->flags = xcalloc(k->window.n + 1, sizeof *k->flags);
	TRY(state_at(&s, rp->trace, rp->first - 1));
	e = see_what_reads(rp, s);
	state_free(s);
	return e;
}

/* Executes the commands that make objects, in their order, up to seq. It leaves out those
 * that destroy objects: an earlier command may run later here. The host made its changes of memory
 * when it submitted later commands, whichever command they were noted with. */
static struct err *prepare(struct order_running *o, uint64_t seq)
{
	struct window_kept *k = o->rp->kept;
	struct sbt_cmd c;

	for (; o->next < k->window.n && k->window.c[o->next].seq < seq; o->next++) {
		const struct kept_cmd *x = &k->window.c[o->next];

		if (x->seq > o->rp->host_done && !order_is_live(o)) {
			TRY(contents_apply(o->rp, x->seq, SBT_MEMORY_HOST, NULL));
			o->rp->host_done = x->seq;
		}
		if (x->is_work || k->flags[o->next].ordered)
			continue;
		TRY(kept_get(&k->window, o->next, &c));
		switch (c.kind) {
		case SBT_STREAM_DESTROY:
		case SBT_EVENT_DESTROY:
		case SBT_GRAPH_DESTROY:
		case SBT_SYNC:
		case SBT_SYNC_END:
		case SBT_QUERY:
			continue;
		default:
			TRY(execute(o->rp, &c));
		}
	}
	return NULL;
}

static bool only_orders(const struct sbt_cmd *c)
{
	return c->kind == SBT_EVENT_RECORD || c->kind == SBT_STREAM_WAIT ||
	       (c->kind == SBT_BATCH && c->u.batch.is_wait);
}

/* Fills the command's memory with poison: it is not allocated at this time. */
static struct err *poison(struct rp *rp, const struct kept_flags *f)
{
	uint64_t here;

	if (!f->size || place_find(rp, f->addr, f->size, &here) != PLACE_DEVICE)
		return NULL;
	TRY(execute_finish(rp));
	GPU(rp, fill, here, 1, ORDER_POISON_BYTE, f->size, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *run_one(struct order_running *o, uint64_t entry)
{
	struct rp *rp = o->rp;
	const uint64_t seq = order_seq(entry);
	const size_t i = kept_find(&rp->kept->window, seq);
	struct sbt_cmd c;

	TRY(kept_get(&rp->kept->window, i, &c));
	if (only_orders(&c)) /* the host's change comes with the next prepare() */
		return NULL;
	if (!rp->kept->window.c[i].is_work) { /* an allocation or a free in stream order */
		TRY(execute_finish(rp));
		TRY(execute(rp, &c));
		return entry & ORDER_POISON ? poison(rp, &rp->kept->flags[i]) : NULL;
	}
	if (o->stream != sbt_cmd_stream(&c))
		TRY(execute_finish(rp));
	o->stream = sbt_cmd_stream(&c);
	TRY(order_save(o, &c));
	if (entry & ORDER_POISON && c.kind == SBT_LAUNCH)
		c.u.launch.launch_attrs |= UINT64_C(1) << SBT_ATTR_HELD;
	rp->live_host = order_is_live(o) && rp->kept->flags[i].reads_live;
	struct err *e = execute(rp, &c);
	rp->live_host = false;
	return e || c.kind != SBT_HOST_FUNC ? e : order_host_function(o, seq);
}

/* Runs the kept commands whose values are there now. */
static struct err *run_late(struct order_running *o)
{
	struct sbt_cmd c;
	bool any = true;

	while (any) {
		TRY(late_take(o->rp, &c, &any));
		if (any)
			TRY(run_one(o, c.seq));
	}
	return NULL;
}

/* Executes one entry. A command never begins before the value that its stream waits for is
 * there. */
static struct err *one(struct order_running *o, uint64_t entry)
{
	struct rp *rp = o->rp;
	const uint64_t seq = order_seq(entry);
	const size_t i = kept_find(&rp->kept->window, seq);
	struct sbt_cmd c;
	bool late;

	BUG_ON(i == SIZE_MAX);
	if (entry & ORDER_HOST) {
		TRY(order_host(o, seq, rp->kept->flags[i].reads_live));
		return run_late(o);
	}
	TRY(prepare(o, seq));
	TRY(kept_get(&rp->kept->window, i, &c));
	TRY(late_comes(rp, &c, &late));
	if (late) {
		late_keep(rp, &c);
		return NULL;
	}
	TRY(run_one(o, entry));
	return run_late(o);
}

/* Sums up memory and outputs at the end; *ret_same: the device's memory is as recorded. */
static struct err *sum_up(
	struct rp *rp, struct replayer_ordered *ret, struct buf *places, bool *ret_same)
{
	const size_t most = (REPLAYER_MESSAGE_MAX / 2) / sizeof(struct replayer_place);

	*ret_same = true;
	for (size_t i = 0; i < rp->contents.nend; i++) {
		const struct sbt_memory *m = &rp->contents.end[i];
		struct replayer_place p = {.addr = m->addr, .size = m->size};
		uint64_t here;

		const enum place_where where = place_find(rp, m->addr, m->size, &here);

		if (where == PLACE_NOWHERE || ret->n >= most)
			continue;
		TRY(contents_hash(rp, m->addr, m->size, &p.hash));
		*ret_same &= where != PLACE_DEVICE || sbt_hash_equal(p.hash, m->hash);
		buf_add(places, &p, sizeof p);
		ret->n++;
	}
	for (size_t i = 0; i < rp->contents.nverdicts; i++) {
		if (rp->contents.verdicts[i].unknown)
			continue;
		ret->outputs++;
		ret->outputs_same += rp->contents.verdicts[i].same;
		ret->output_sum = (ret->output_sum ^ (i * 2 + rp->contents.verdicts[i].same)) *
				  0x9e3779b97f4a7c15ull;
	}
	return NULL;
}

static uint64_t entry_at(const struct order_running *o, size_t i)
{
	uint64_t entry;

	memcpy(&entry, o->entries + i * sizeof entry, sizeof entry);
	return entry;
}

/* Checks, before anything is executed, that every entry exists, that none comes twice, and that all
 * work is there. */
static struct err *check_order(struct order_running *o)
{
	struct window_kept *k = o->rp->kept;

	for (size_t i = 0; i < k->window.n; i++)
		k->flags[i].ordered = k->flags[i].host_ordered = false;
	for (size_t i = 0; i < o->n; i++) {
		const uint64_t entry = entry_at(o, i), seq = order_seq(entry);
		const size_t at = kept_find(&k->window, seq);
		bool *ordered = at == SIZE_MAX	     ? NULL
				: entry & ORDER_HOST ? &k->flags[at].host_ordered
						     : &k->flags[at].ordered;

		if (!ordered || *ordered)
			return rp_fail(o->rp, REPLAYER_E_REFUSED, seq,
				"#%llu is not in the window, or is in the order twice",
				(unsigned long long)seq);
		*ordered = true;
	}
	for (size_t i = 0; i < k->window.n; i++)
		if (k->window.c[i].is_work && !k->flags[i].ordered)
			return rp_fail(o->rp, REPLAYER_E_REFUSED, k->window.c[i].seq,
				"#%llu is missing in the order",
				(unsigned long long)k->window.c[i].seq);
	return NULL;
}

static struct err *execute_all(struct order_running *o)
{
	for (size_t i = 0; i < o->n; i++)
		TRY(one(o, entry_at(o, i)));
	TRY(prepare(o, UINT64_MAX));
	late_give_up(o->rp->late);
	TRY(run_late(o));
	return execute_finish(o->rp);
}

static struct err *run(struct order_running *o)
{
	struct rp *rp = o->rp;
	struct err *e;

	if (!rp->kept && (e = keep_all(rp))) {
		order_free(rp);
		return e;
	}
	TRY(check_order(o));
	rp->stale = true;
	TRY(checkpoint_seek(rp, rp->first - 1));
	rp->stale = true; /* memory is no base for any position, whatever the result */
	rp->host_done = order_is_live(o) ? UINT64_MAX : 0;
	rp->turn.ordered = true;
	e = execute_all(o);
	rp->turn.ordered = false;
	rp->host_done = 0;
	rp->position = rp->current = rp->last;
	execute_finished(rp, rp->last);
	return e;
}

struct err *order_run(
	struct rp *rp, const struct replayer_order *q, const void *tail, size_t n, struct buf *out)
{
	struct order_running o = {.rp = rp,
		.flags = q->flags,
		.entries = tail,
		.n = q->n,
		.nchanges = q->nchanges,
		.stream = SBT_NO_ID};
	struct replayer_ordered sum = {0};
	struct buf places = BUF_INIT;
	struct err *e;

	if (n / sizeof(uint64_t) < q->n ||
		n - q->n * sizeof(uint64_t) != (uint64_t)q->nchanges * sizeof(struct order_change))
		return err_new(ERR_STATE,
			"an order of %u commands and %u changes came with %zu bytes", q->n,
			q->nchanges, n);
	o.changes = o.entries + q->n * sizeof(uint64_t);
	e = run(&o);
	if (!e)
		e = sum_up(rp, &sum, &places, &o.ends_same);
	if (!e) {
		order_doubt(&o);
		sum.seq = rp->last;
		sum.changes = o.learned.len / sizeof(struct order_change);
		buf_add(out, &sum, sizeof sum);
		buf_add(out, places.data, places.len);
		buf_add(out, o.learned.data, o.learned.len);
	}
	buf_free(&places);
	order_learned_free(&o);
	return e;
}
