/* SPDX-License-Identifier: Apache-2.0
 *
 * CHECK without waiting for each launch. Everything is submitted in the order of the commands, one
 * after the other whatever their streams were. Behind each execution a launch of the hash kernel
 * hashes the pages that the launch can reach, compares them with what its first execution left
 * there, and puts back those that changed; after the last execution the copy gets their contents.
 * The host looks at the marks once for a whole group.
 *
 * The surprise: what a launch can reach is an assumption. So memory must equal the copy before the
 * next command may write there, and all of it must at the end of each group. If it does not, the
 * group's launches are checked again one by one, with all memory compared after each execution.
 */
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"
#include "replayer/execute/replayer-turn.h"

#define GROUP_NS 150000000u

static struct err *settle_dirty(struct rp *rp, struct checking *k)
{
	struct hash_kernel_rows rows;

	if (!k->batch.dirty.all && !k->batch.dirty.n)
		return NULL;
	reach_rows(&k->batch.dirty, k, &rows);
	k->batch.dirty = (struct reach){0};
	return check_settle(rp, k, &rows, HASH_KERNEL_COMMIT, 0, rp->turn.last);
}

static struct err *runs_of(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	const struct hash_kernel_rows *rows)
{
	struct batch *b = &k->batch;
	const unsigned runs = k->how->runs;

	for (unsigned r = 0; r < runs; r++) {
		const unsigned compare = r ? HASH_KERNEL_COMPARE : HASH_KERNEL_NOTE,
			       after = r + 1 < runs ? HASH_KERNEL_RESTORE : HASH_KERNEL_COMMIT;

		TRY(execute(rp, c));
		TRY(check_settle(rp, k, rows, compare | after, b->n, rp->turn.last));
	}
	b->seq[b->n++] = c->seq;
	return NULL;
}

/* Finds unexpected changes before c writes over them. */
static struct err *ready_for(struct rp *rp, struct checking *k, const struct hash_kernel_rows *rows)
{
	TRY(settle_dirty(rp, k));
	if (!k->batch.partial || !memcmp(rows, &k->batch.settled, sizeof *rows))
		return NULL;
	return check_settle(
		rp, k, rows, HASH_KERNEL_EXPECT | HASH_KERNEL_COMMIT, CHECK_GROUP, rp->turn.last);
}

/* Executes kept commands once; they count as work that may write anywhere. */
static struct err *go_late(struct rp *rp, struct checking *k)
{
	struct reach all = {.all = true};
	struct hash_kernel_rows rows;

	reach_rows(&all, k, &rows);
	TRY(ready_for(rp, k, &rows));
	k->batch.dirty = all;
	k->batch.settled.n = 0;
	return late_go(rp);
}

static struct err *command(struct rp *rp, struct checking *k, const struct sbt_cmd *c, bool wanted)
{
	const bool works = !c->result && !(c->flags & SBT_F_GRAPH);
	struct batch *b = &k->batch;
	struct reach reach = {0};
	struct hash_kernel_rows rows;
	struct gpu_stream *s;

	if (sbt_cmd_stream(c) != SBT_NO_ID) {
		TRY(objects_stream(rp, sbt_cmd_stream(c), &s));
		TRY(turn_take(rp, s));
	} else if (c->kind == SBT_STREAM_DESTROY) {
		TRY(turn_take(rp, rp->own)); /* it may be the last launch's stream */
	}
	if (works)
		TRY(reach_command(rp, k, c, &reach));
	reach_rows(&reach, k, &rows);
	if (rows.n)
		TRY(ready_for(rp, k, &rows));
	if (wanted) {
		b->partial |= !reach.all;
		TRY(runs_of(rp, k, c, &rows));
		b->settled = rows;
	} else {
		b->partial |= c->kind == SBT_LAUNCH && works && !reach.all;
		b->dirty = rows.n ? reach : b->dirty;
		b->settled.n = rows.n ? 0 : b->settled.n;
		TRY(execute(rp, c));
	}
	rp->position = c->seq;
	if (late_count(rp->late))
		TRY(go_late(rp, k));
	return checkpoint_tick(rp);
}

static struct err *submit_group(struct rp *rp, struct checking *k, const struct replayer_check *q,
	const uint32_t *kernels, size_t n, struct replayer_check_done *sum)
{
	struct slice slice = {GROUP_NS};
	const struct sbt_cmd *c;
	bool work;

	/* What is kept back is compared when it comes, by itself. */
	while (rp->position < q->to && k->batch.n < k->batch.most && !late_count(rp->late) &&
		slice_goes_on(&slice)) {
		TRY(execute_fetch_next(rp, q->to, &c));
		if (!c) {
			rp->cursor_seq = UINT64_MAX;
			return execute_step(rp, q->to, &work);
		}
		bool heap, late, wanted = check_wants(rp, q, c, kernels, n);
		TRY(heap_uses(rp, c, &heap));
		TRY(late_comes(rp, c, &late));
		sum->heap += wanted && heap && !late;
		sum->late += wanted && late;
		TRY(command(rp, k, c, wanted && !heap && !late));
	}
	return NULL;
}

static struct err *end_group(struct rp *rp, struct checking *k)
{
	const struct hash_kernel_rows all = {.n = 1, .total = (uint32_t)k->npages};
	struct batch *b = &k->batch;

	TRY(settle_dirty(rp, k));
	if (b->partial)
		TRY(check_settle(rp, k, &all, HASH_KERNEL_EXPECT | HASH_KERNEL_COMMIT, CHECK_GROUP,
			rp->turn.last));
	GPU(rp, copy_to_host, b->marks, k->on.mark, sizeof b->marks, rp->turn.last);
	TRY(execute_finish(rp));
	k->position = rp->position;
	return NULL;
}

/* Launch number i of the group once more, by itself. */
static struct err *look_closer(struct rp *rp, struct checking *k, const struct replayer_check *q,
	unsigned i, struct replayer_check_done *sum)
{
	const uint64_t seq = k->batch.seq[i];
	const size_t rows = k->nrows;
	const struct sbt_cmd *c;

	TRY(checkpoint_seek(rp, seq - 1));
	TRY(execute_fetch_next(rp, q->to, &c));
	if (!c || c->seq != seq)
		return rp_fail(rp, REPLAYER_E_TRACE, seq, "#%llu is not there a second time",
			(unsigned long long)seq);
	TRY(check_one(rp, k, c, sum));
	if (k->batch.marks[i][0] && k->nrows == rows)
		check_seen_once(k, seq, k->batch.marks[i][1] - 1);
	return NULL;
}

static struct err *took(struct rp *rp, const struct checking *k)
{
	uint64_t ns;

	GPU(rp, copy_to_host, &ns, k->took + 2 * sizeof ns, sizeof ns, rp->own);
	GPU(rp, stream_finish, rp->own);
	rp->figures.settle_ns += ns;
	return NULL;
}

static struct err *begin_group(struct rp *rp, struct checking *k)
{
	static const uint64_t none[3] = {UINT64_MAX, 0, 0};
	struct batch *b = &k->batch;

	TRY(check_refresh(rp, k));
	k->position = UINT64_MAX; /* until all of it went well */
	b->n = 0;
	b->partial = false;
	b->dirty = (struct reach){0};
	b->settled.n = 0;
	TRY(turn_take(rp, rp->own));
	k->on.took = k->how->timed ? k->took : 0;
	if (k->on.took)
		GPU(rp, copy_to_device, k->took, none, sizeof none, rp->own);
	GPU(rp, fill, k->on.mark, 1, 0, sizeof b->marks, rp->own);
	return NULL;
}

/* Chooses the next group's size. Submitting does not show how long launches take, and a reply is
 * due within part of a second, for budgets and Ctrl-C. */
static void choose_size(struct batch *b, uint64_t took_ns)
{
	if (took_ns < GROUP_NS)
		b->most = b->most * 4 < CHECK_GROUP ? b->most * 4 : CHECK_GROUP;
	else if (took_ns > 2 * (uint64_t)GROUP_NS)
		b->most = b->most > 4 ? b->most / 4 : 1;
}

struct err *batch_run(struct rp *rp, struct checking *k, const struct replayer_check *q,
	const uint32_t *kernels, size_t n, struct replayer_check_done *sum)
{
	struct batch *b = &k->batch;
	const uint64_t began = now_ns();

	b->most = b->most ? b->most : 1;
	TRY(begin_group(rp, k));
	TRY(submit_group(rp, k, q, kernels, n, sum));
	TRY(end_group(rp, k));
	choose_size(b, now_ns() - began);
	if (k->on.took)
		TRY(took(rp, k));
	const uint64_t end = rp->position;
	const bool stray = b->marks[CHECK_GROUP][0];
	b->distrust |= stray;
	sum->outside += stray;
	for (unsigned i = 0; i < b->n; i++)
		if (stray || b->marks[i][0])
			TRY(look_closer(rp, k, q, i, sum));
		else
			sum->checked++;
	return checkpoint_seek(rp, end);
}
