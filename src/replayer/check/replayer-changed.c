/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what each launch changes, byte by byte: the pages whose hashes change are compared with the
 * copy on the host. A byte that was overwritten with its old value is not seen; callers that need
 * it ask the software GPU.
 */
#include <stdlib.h>
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"

#define CHANGED_FULL (4u << 20) /* of a reply */
#define PIECE (1u << 20)

struct changed_spans {
	struct soft_span *s;
	size_t n, cap, max;
	bool merged; /* the smallest gaps were closed */
};

static void put_changed(struct changed_spans *l, uint64_t addr)
{
	if (l->n && l->s[l->n - 1].addr + l->s[l->n - 1].size == addr) {
		l->s[l->n - 1].size++;
		return;
	}
	MAKE_ROOM(l->s, l->n, l->cap);
	l->s[l->n++] = (struct soft_span){addr, 1};
}

/* Leaves at most max spans: closes the smallest gaps, then larger ones. */
static void limit_spans(struct changed_spans *l)
{
	for (uint64_t gap = 1; l->n > l->max; gap *= 4) {
		size_t to = 0;

		for (size_t i = 1; i < l->n; i++)
			if (l->s[i].addr - (l->s[to].addr + l->s[to].size) <= gap)
				l->s[to].size = l->s[i].addr + l->s[i].size - l->s[to].addr;
			else
				l->s[++to] = l->s[i];
		l->n = to + 1;
		l->merged = true;
	}
}

static struct err *compare_pages(
	struct rp *rp, const struct checking *k, const struct pages *l, struct changed_spans *out)
{
	uint8_t *was = xmalloc(2 * PIECE), *is = was + PIECE;
	const uint64_t from = l->first * SBT_PAGE, all = check_list_bytes(l);
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < all; at += PIECE) {
		const size_t n = all - at < PIECE ? (size_t)(all - at) : PIECE;

		e = rp_gpu(rp, rp->gpu->copy_to_host(
				       was, k->before + l->area->at + from + at, n, rp->own));
		if (!e)
			e = rp_gpu(rp,
				rp->gpu->copy_to_host(is, l->area->here + from + at, n, rp->own));
		if (!e)
			e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
		for (size_t i = 0; !e && i < n; i++)
			if (was[i] != is[i])
				put_changed(out, l->area->recorded + from + at + i);
	}
	free(was);
	return e;
}

static struct err *changed_by(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct changed_spans *out)
{
	out->n = 0;
	out->merged = false;
	TRY(check_refresh(rp, k));
	TRY(execute(rp, c));
	rp->position = c->seq;
	TRY(execute_finish(rp));
	TRY(check_find_changes(rp, k, rp->own));
	for (size_t i = 0; i < k->nlist; i++)
		TRY(compare_pages(rp, k, &k->list[i], out));
	limit_spans(out);
	return check_take_over(rp, k, c->seq);
}

static struct err *next_changed(
	struct rp *rp, uint64_t to, struct changed_spans *spans, struct buf *out, uint64_t *n)
{
	const struct replayer_check all = {.from = rp->first};
	const struct sbt_cmd *c;
	bool work, late = false;

	TRY(execute_fetch_next(rp, to, &c));
	if (c)
		TRY(late_comes(rp, c, &late));
	/* the changes of a kept-back command stay unknown */
	if (!c || late || !check_wants(rp, &all, c, NULL, 0)) {
		rp->cursor_seq = UINT64_MAX;
		return execute_step(rp, to, &work);
	}
	const uint64_t seq = c->seq;
	TRY(changed_by(rp, rp->checking, c, spans));
	const struct replayer_access_set head = {.seq = seq,
		.n[SOFT_ACCESS_WRITTEN] = (uint32_t)spans->n,
		.inexact = spans->merged ? 1u << SOFT_ACCESS_WRITTEN : 0};
	buf_add(out, &head, sizeof head);
	buf_add(out, spans->s, spans->n * sizeof *spans->s);
	++*n;
	if (!late_count(rp->late))
		return NULL;
	rp->checking->position = UINT64_MAX; /* the commands executed now change more memory */
	return late_go(rp);
}

struct err *check_changed(struct rp *rp, const struct replayer_accesses *a, struct buf *out)
{
	struct changed_spans spans = {.max = a->max && a->max < 65536 ? a->max : 65536};
	const uint64_t to = a->to < rp->last ? a->to : rp->last;
	struct slice slice = {CHECK_LONG_NS};
	struct replayer_accessed head = {0};
	struct err *e = NULL;

	TRY(devices_one_only(rp, "comparing memory before and after each launch"));
	if (!rp->has_hash)
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"this device's driver does not load the kernels that compare memory");
	if (!rp->checking)
		TRY(check_open(rp));
	if (rp->checking->position != UINT64_MAX && rp->checking->position > rp->position)
		rp->checking->position = UINT64_MAX;
	TRY(check_room_for_runs(rp, rp->checking, 1));
	buf_add(out, &head, sizeof head);
	while (!e && rp->position < to && out->len < CHANGED_FULL && slice_goes_on(&slice))
		e = next_changed(rp, to, &spans, out, &head.n);
	free(spans.s);
	TRY(e);
	head.seq = rp->position;
	memcpy(out->data, &head, sizeof head);
	return NULL;
}
