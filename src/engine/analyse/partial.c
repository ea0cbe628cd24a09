/* SPDX-License-Identifier: Apache-2.0
 *
 * Partial replay, see partial.h. Memory is compared with a whole replay up to the same command, not
 * with the recording: the recorded contents are known only at the window's end, which a part need
 * not reach.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/partial.h"
#include "base/words.h"
#include "sbt/fields.h"

static struct err *make_plan(struct engine *en, const struct replay_device *rd,
	const struct partial *p, struct plan *ret)
{
	struct sbt_reader *t = en->trace.reader;

	switch (p->kind) {
	case PARTIAL_STREAMS:
		return plan_stream(ret, t, rd->first, rd->last, p->streams, p->n, p->alone);
	case PARTIAL_RANGE:
		return plan_range(ret, t, rd->first, rd->last, p->a ? p->a : rd->first,
			p->b < rd->last ? p->b : rd->last);
	case PARTIAL_KERNEL:
		return plan_kernel(ret, t, rd->first, rd->last, p->kernel, p->nth);
	case PARTIAL_NONE:
		break;
	}
	BUG("partial kind %d", p->kind);
}

static bool is_theirs(const struct partial *p, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	const struct sbt_field *f = sbt_field(c->kind, "stream");

	if (!f || !d || d->cls != SBT_CLASS_WORK)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		if (sbt_get(c, f) == p->streams[i])
			return true;
	}
	return false;
}

/* Finds the place to compare at: the end of the part, or the last command of the streams, since the
 * program may free its memory behind it. */
static struct err *find_end(struct engine *en, const struct partial *p, struct partial_result *r)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	r->at = r->plan.to;
	if (p->kind != PARTIAL_STREAMS)
		return NULL;
	TRY(sbt_cursor_open(&cur, en->trace.reader));
	e = sbt_cursor_seek(cur, r->plan.first);
	while (!e && !(e = sbt_cursor_next(cur, &c)) && c && c->seq <= r->plan.to) {
		if (is_theirs(p, c))
			r->at = c->seq;
	}
	sbt_cursor_close(cur);
	return e;
}

/* --- running --- */

static struct err *go(struct engine *en, uint64_t seq)
{
	struct replay_stop stop;

	TRY(replay_goto(en->trace.replay, 0, &stop));
	TRY(replay_until(en->trace.replay, seq, &stop));
	return stop.why == REPLAY_INTERRUPTED
		       ? err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, stop.seq)
		       : NULL;
}

struct hashes {
	struct sbt_hash *h;
	unsigned n;
};

/* Hashes the allocations here that must be the same, in order, so that index i is the same one in
 * both runs. */
static struct err *take(
	struct engine *en, const struct replay_device *rd, const struct plan *p, struct hashes *ret)
{
	const struct state *st = replay_state(en->trace.replay);
	struct state_alloc al;

	*ret = (struct hashes){0};
	for (unsigned i = 0; state_alloc(st, i, &al); i++) {
		if (!plan_exact(p, al.addr, al.size))
			continue;
		ret->h = xrealloc(ret->h, (ret->n + 1) * sizeof *ret->h);
		TRY(device_hash(rd->d, al.addr, al.size, &ret->h[ret->n++]));
	}
	return NULL;
}

static void compare(struct engine *en, const struct hashes *whole, const struct hashes *part,
	struct partial_result *r)
{
	const struct state *st = replay_state(en->trace.replay);
	struct state_alloc al;
	unsigned k = 0;

	for (unsigned i = 0; state_alloc(st, i, &al); i++) {
		if (!plan_exact(&r->plan, al.addr, al.size)) {
			r->inexact++;
			continue;
		}
		if (k >= whole->n || k >= part->n)
			return;
		r->allocations++;
		if (!memcmp(&whole->h[k], &part->h[k], sizeof whole->h[k]))
			r->identical++;
		else if (!r->first_addr)
			r->first_addr = al.addr;
		k++;
	}
}

static struct err *run_both(struct engine *en, struct replay_device *rd, struct partial_result *r)
{
	struct hashes whole = {0}, part = {0};
	struct err *e;

	e = replay_device_restore(rd);
	if (!e)
		e = go(en, r->at);
	if (!e)
		e = take(en, rd, &r->plan, &whole);
	if (!e && r->plan.nskip) {
		e = device_skip(
			rd->d, r->plan.skip, (uint32_t)r->plan.nskip, r->plan.recorded_inputs);
		rd->partial = !e;
		if (!e)
			e = go(en, r->at);
	}
	if (!e)
		e = take(en, rd, &r->plan, &part);
	if (!e)
		compare(en, &whole, &part, r);
	free(whole.h);
	free(part.h);
	return e;
}

struct err *partial_run(struct engine *en, struct replay_device *rd, const struct partial *p,
	struct partial_result *ret)
{
	struct err *e;

	*ret = (struct partial_result){0};
	TRY(make_plan(en, rd, p, &ret->plan));
	e = find_end(en, p, ret);
	if (!e)
		e = run_both(en, rd, ret);
	if (e)
		partial_free(ret);
	return e;
}

void partial_free(struct partial_result *r)
{
	plan_free(&r->plan);
}

bool partial_ok(const struct partial_result *r)
{
	return r->identical == r->allocations;
}
