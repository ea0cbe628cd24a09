/* SPDX-License-Identifier: Apache-2.0
 *
 * ORDER: the window's work in another order, one command after the other, from the window's start. What it leaves in memory is told by hashes;
 * memory can be read afterwards, until something else is asked for.
 *
 * The surprise: events are neither recorded nor waited for. The caller's order has all that they say; what is left of a stream is that the
 * next command on it need not be waited for.
 */
#include <stdlib.h>
#include <string.h>
#include "replay/replayer-int.h"

#define COMMANDS_MAX 4000000u

/* The window's commands, so that any of them can be had at once. */
struct kept {
	uint64_t seq;
	size_t at; /* of the packed command */
	bool is_work, ordered; /* ordered: in the order that was asked for */
};
struct window_kept {
	struct kept *c;
	size_t n, cap;
	struct buf packed;
};

void order_free(struct rp *rp)
{
	if (!rp->kept)
		return;
	free(rp->kept->c);
	buf_free(&rp->kept->packed);
	free(rp->kept);
	rp->kept = NULL;
}

static void keep(struct window_kept *k, const struct sbt_cmd *c)
{
	const size_t size = sbt_pack_size(c), at = (k->packed.len + 7) & ~(size_t)7;

	MAKE_ROOM(k->c, k->n, k->cap);
	k->c[k->n++] = (struct kept){.seq = c->seq, .at = at,
		.is_work = sbt_cmd_is_work(c)};
	(void)buf_room(&k->packed, size + 8);
	memset(k->packed.data + k->packed.len, 0, at - k->packed.len);
	sbt_pack(k->packed.data + at, c);
	k->packed.len = at + size;
}

static struct err *keep_all(struct rp *rp)
{
	const struct sbt_cmd *c;

	rp->kept = xcalloc(1, sizeof *rp->kept);
	TRY(sbt_cursor_seek(rp->cursor, rp->first));
	rp->cursor_seq = UINT64_MAX;
	for (;;) {
		TRY(sbt_cursor_next(rp->cursor, &c));
		if (!c || c->seq > rp->last)
			return NULL;
		if (rp->kept->n >= COMMANDS_MAX)
			return rp_fail(rp, REPLAYER_E_REFUSED, 0, "the window has more than %u commands: too many for other orders", COMMANDS_MAX);
		keep(rp->kept, c);
	}
}

static struct kept *find(struct window_kept *k, uint64_t seq)
{
	size_t lo = 0, hi = k->n;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (k->c[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < k->n && k->c[lo].seq == seq ? &k->c[lo] : NULL;
}

static struct err *unpack(struct rp *rp, const struct kept *x, struct sbt_cmd *ret)
{
	if (sbt_unpack(ret, rp->kept->packed.data + x->at, rp->kept->packed.len - x->at))
		return NULL;
	return rp_fail(rp, REPLAYER_E_TRACE, x->seq, "#%llu cannot be packed", (unsigned long long)x->seq);
}

/* What makes objects, in its order, up to seq. What ends them waits for the end of all: a command before it may come later now. What the host
 * changed in memory it had changed when it submitted what came after, whichever command the change was noted with. */
static struct err *prepare(struct rp *rp, size_t *next, uint64_t seq)
{
	struct window_kept *k = rp->kept;
	struct sbt_cmd c;

	for (; *next < k->n && k->c[*next].seq < seq; (*next)++) {
		if (k->c[*next].seq > rp->host_done) {
			TRY(contents_apply(rp, k->c[*next].seq, SBT_MEMORY_HOST, NULL));
			rp->host_done = k->c[*next].seq;
		}
		if (k->c[*next].is_work || k->c[*next].ordered)
			continue;
		TRY(unpack(rp, &k->c[*next], &c));
		switch (c.kind) {
		case SBT_STREAM_DESTROY: case SBT_EVENT_DESTROY: case SBT_GRAPH_DESTROY: case SBT_SYNC: case SBT_SYNC_END: case SBT_QUERY:
			continue;
		default:
			TRY(execute(rp, &c));
		}
	}
	return NULL;
}

static bool only_orders(const struct sbt_cmd *c)
{
	return c->kind == SBT_EVENT_RECORD || c->kind == SBT_STREAM_WAIT || (c->kind == SBT_BATCH && c->u.batch.is_wait);
}

static struct err *one(struct rp *rp, uint64_t seq, size_t *next, uint32_t *stream)
{
	struct kept *x = find(rp->kept, seq);
	struct sbt_cmd c;

	if (!x)
		BUG("an order that was checked");
	TRY(prepare(rp, next, seq));
	TRY(unpack(rp, x, &c));
	if (only_orders(&c)) /* the host's change comes with the next prepare() */
		return NULL;
	if (!x->is_work) { /* an allocation or a free in stream order */
		TRY(execute_finish(rp));
		return execute(rp, &c);
	}
	if (*stream != sbt_cmd_stream(&c))
		TRY(execute_finish(rp));
	*stream = sbt_cmd_stream(&c);
	return execute(rp, &c);
}

/* What memory and outputs are in the end. */
static struct err *sum_up(struct rp *rp, struct replayer_ordered *ret, struct buf *places)
{
	const size_t most = (REPLAYER_MESSAGE_MAX / 2) / sizeof(struct replayer_place);

	for (size_t i = 0; i < rp->contents.nend; i++) {
		const struct sbt_memory *m = &rp->contents.end[i];
		struct replayer_place p = {.addr = m->addr, .size = m->size};
		uint64_t here;

		if (place_find(rp, m->addr, m->size, &here) == PLACE_NOWHERE || ret->n >= most)
			continue;
		TRY(contents_hash(rp, m->addr, m->size, &p.hash));
		buf_add(places, &p, sizeof p);
		ret->n++;
	}
	for (size_t i = 0; i < rp->contents.nverdicts; i++) {
		ret->outputs++;
		ret->outputs_same += rp->contents.verdicts[i].same;
		ret->output_sum = (ret->output_sum ^ (i * 2 + rp->contents.verdicts[i].same)) * 0x9e3779b97f4a7c15ull;
	}
	return NULL;
}

static uint64_t seq_at(const void *seqs, size_t i)
{
	uint64_t seq;

	memcpy(&seq, (const uint8_t *)seqs + i * sizeof seq, sizeof seq);
	return seq;
}

/* Everything asked for is there, once, and so is all work: less would be another program. Looked at before anything is executed. */
static struct err *check_order(struct rp *rp, const void *seqs, size_t n)
{
	struct window_kept *k = rp->kept;

	for (size_t i = 0; i < k->n; i++)
		k->c[i].ordered = false;
	for (size_t i = 0; i < n; i++) {
		struct kept *x = find(k, seq_at(seqs, i));

		if (!x || x->ordered)
			return rp_fail(rp, REPLAYER_E_REFUSED, seq_at(seqs, i), "#%llu is not in the window, or is in the order twice",
				(unsigned long long)seq_at(seqs, i));
		x->ordered = true;
	}
	for (size_t i = 0; i < k->n; i++)
		if (k->c[i].is_work && !k->c[i].ordered)
			return rp_fail(rp, REPLAYER_E_REFUSED, k->c[i].seq, "#%llu is missing in the order", (unsigned long long)k->c[i].seq);
	return NULL;
}

static struct err *execute_all(struct rp *rp, const void *seqs, size_t n)
{
	uint32_t stream = SBT_NO_ID;
	size_t next = 0;

	for (size_t i = 0; i < n; i++)
		TRY(one(rp, seq_at(seqs, i), &next, &stream));
	TRY(prepare(rp, &next, UINT64_MAX));
	return execute_finish(rp);
}

struct err *order_run(struct rp *rp, const struct replayer_order *q, const void *seqs, size_t n, struct buf *out)
{
	struct replayer_ordered sum = {0};
	struct buf places = BUF_INIT;
	struct err *e;

	if (n / sizeof(uint64_t) != q->n || n % sizeof(uint64_t))
		return err_new(ERR_STATE, "an order of %u commands came with %zu bytes", q->n, n);
	if (!rp->kept && (e = keep_all(rp))) {
		order_free(rp);
		return e;
	}
	TRY(check_order(rp, seqs, q->n));
	rp->stale = true;
	TRY(checkpoint_seek(rp, rp->first - 1));
	rp->stale = true; /* whatever comes of it, it is no way to any position */
	e = execute_all(rp, seqs, q->n);
	rp->host_done = 0;
	rp->position = rp->current = rp->last;
	execute_finished(rp, rp->last);
	if (!e)
		e = sum_up(rp, &sum, &places);
	if (!e) {
		sum.seq = rp->last;
		buf_add(out, &sum, sizeof sum);
		buf_add(out, places.data, places.len);
	}
	buf_free(&places);
	return e;
}
