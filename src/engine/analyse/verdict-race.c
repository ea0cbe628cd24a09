/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a race makes a replay differ from its recording: the race must reach the difference, and
 * the order with its two commands reversed must give the recorded outcome.
 */
#include "engine/analyse/verdict-private.h"

#include <stdlib.h>
#include "engine/replay-order.h"

#define DOUBTS 3 /* for each race: the bytes that both touch, and all that either writes */

/* The first race that can be a cause. A copy that was not waited for changes nothing on the device,
 * so it is none. */
static const struct order_race *first_race(const struct search *x, const struct order_races *races)
{
	struct order_doubt *d = xcalloc(races->n * DOUBTS + 1, sizeof *d);
	const struct order_race **of = xcalloc(races->n + 1, sizeof *of);
	size_t n = 0;

	for (size_t i = 0; i < races->n; i++) {
		const struct order_race *r = &races->r[i];
		struct order_doubt *to = &d[n * DOUBTS];

		if (r->unread != ORDER_NO_COPY)
			continue;
		to[0] = (struct order_doubt){
			order_flow_is_behind(x->flow, r->a.seq, r->b.seq) ? r->a.seq : r->b.seq,
			r->addr, r->addr + r->size};
		to[1] = (struct order_doubt){.seq = r->a.seq};
		to[2] = (struct order_doubt){.seq = r->b.seq};
		of[n++] = r;
	}
	const size_t first = verdict_first(x, d, n, DOUBTS);
	const struct order_race *ret = first == SIZE_MAX ? NULL : of[first];
	free(of);
	free(d);
	return ret;
}

static void say_race(const struct search *x, const struct order_race *r, enum verdict_proof proof)
{
	const bool nodes = r->a.node != SBT_NO_ID;
	struct verdict *v = x->ret;

	verdict_answer(x, VERDICT_RACE, nodes ? VERDICT_RACING_NODES : VERDICT_RACING_COMMANDS,
		r->a.seq, r->b.seq);
	if (nodes) {
		v->node = r->a.node;
		v->with_node = r->b.node;
	}
	v->addr = r->addr;
	v->size = r->size;
	v->tier = r->tier;
	v->race = *r;
	v->proof = proof;
	v->overlap = device_info(x->rd->d).overlap;
}

/* ---- the recorded outcome in another order is the proof ---- */

/* Whether the window gives the recorded outcome in that order. Only Ctrl-C is an error: an order
 * that cannot be tried proves nothing. */
static struct err *try_order(struct search *x, const struct order_pair *turned, bool *ret)
{
	struct device_verified v = {0};
	struct err *e = replay_device_back(x->en, replay_order_verify(x->en, turned, &v));

	*ret = !e && device_verified_ok(&v);
	device_verified_free(&v);
	if (!e || e->code == ERR_INTERRUPTED)
		return e;
	err_free(e);
	return NULL;
}

static struct err *prove(struct search *x, const struct order_race *r, enum verdict_proof *ret)
{
	const struct order_pair turned = {.before = r->b.seq, .after = r->a.seq};
	bool same = false;

	*ret = VERDICT_UNPROVED;
	if (r->a.stream == SBT_NO_ID || r->b.stream == SBT_NO_ID)
		return NULL;
	if (r->a.seq != r->b.seq && r->a.node == SBT_NO_ID) {
		TRY(try_order(x, &turned, &same));
		*ret = same ? VERDICT_TURNED : VERDICT_UNPROVED;
	}
	if (same || !replay_order_has_times(x->en))
		return NULL;
	TRY(try_order(x, NULL, &same));
	*ret = same ? VERDICT_STARTED : VERDICT_UNPROVED;
	return NULL;
}

struct err *verdict_ask_races(struct search *x)
{
	const struct order_options o = {.first = x->rd->first,
		.last = x->rd->last,
		.source = exact_source(x->exact),
		.interrupt = x->en->cancel};
	const struct order_race *found = NULL;
	struct order_races races = {0};
	struct err *e = order_races(&races, x->en->trace.reader, &o);

	if (!e)
		found = first_race(x, &races);
	if (found) {
		enum verdict_proof proof;

		e = prove(x, found, &proof);
		if (!e)
			say_race(x, found, proof);
	}
	order_races_free(&races);
	return verdict_not_asked(x, VERDICT_ASK_RACES, e);
}
