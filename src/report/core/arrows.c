/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrows between lanes, see arrows.h. A stream that waits for nothing new keeps the clock that it
 * has (vector-clock.h), so most commands cost one comparison.
 */
#include "report/core/arrows.h"

#include <stdlib.h>

enum { WAITS_MAX = 64 };

struct arrows {
	const struct order *o;
	struct pack p;
	uint64_t last_seq;
	const struct clock **clocks; /* by lane: of its last item */
	uint32_t nlanes;
	struct order_item wait[WAITS_MAX];
	unsigned nwaits;
};

static bool is_host(const struct arrows *a, uint32_t lane)
{
	return order_stream_of(a->o, lane) == SBT_NO_ID;
}

/* Whether one of the waits implies the k-th: it comes after that one. */
static bool implied(const struct arrows *a, unsigned k)
{
	for (unsigned i = 0; i < a->nwaits; i++) {
		if (i != k && clock_at(a->wait[i].clock, a->wait[k].lane) >= a->wait[k].index)
			return true;
	}
	return false;
}

/* Collects the last item of each other lane that the item comes after, and its lane's last item
 * did not. */
static void find_waits(struct arrows *a, const struct order_item *x)
{
	const struct clock *was = a->clocks[x->lane];

	a->nwaits = 0;
	for (uint32_t lane = 0; lane < a->nlanes && a->nwaits < WAITS_MAX; lane++) {
		const uint32_t at = clock_at(x->clock, lane);
		uint64_t seq;

		if (lane == x->lane || at <= clock_at(was, lane))
			continue;
		seq = order_seq_on(a->o, lane, at);
		if (seq && order_item(a->o, seq, &a->wait[a->nwaits]) &&
			a->wait[a->nwaits].lane == lane)
			a->nwaits++;
	}
}

static void put(struct arrows *a, const struct order_item *from, const struct order_item *to)
{
	if (from->seq >= to->seq)
		return;
	pack_u64(&a->p, to->seq - a->last_seq);
	pack_u64(&a->p, to->seq - from->seq);
	pack_u64(&a->p, is_host(a, to->lane)	 ? ARROW_LEARNED
			: is_host(a, from->lane) ? ARROW_HOST
						 : ARROW_STREAM);
	a->last_seq = to->seq;
}

struct err *arrows_write(const struct order *o, FILE *f, unsigned trace)
{
	struct arrows a = {.o = o, .nlanes = order_lanes(o)};
	struct order_item x;
	struct err *e;

	a.clocks = xcalloc((size_t)a.nlanes + 1, sizeof *a.clocks);
	for (size_t i = 0; order_item_at(o, i, &x); i++) {
		if (x.lane >= a.nlanes || x.clock == a.clocks[x.lane])
			continue;
		find_waits(&a, &x);
		for (unsigned k = 0; k < a.nwaits; k++) {
			if (!implied(&a, k))
				put(&a, &a.wait[k], &x);
		}
		a.clocks[x.lane] = x.clock;
	}
	e = pack_end(&a.p, f, trace, "arrows");
	free(a.clocks);
	return e;
}
