/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules: linear extensions of the happens-before graph. A lane's head may go when its clock is
 * covered by what has gone on every other lane; which of the heads that may go does go is the
 * policy. The host's lane goes whenever it can: what it learns takes no time.
 */
#include <stdlib.h>
#include <string.h>
#include "order/kept.h"
#include "base/first-where.h"
#include "order/order.h"

struct runner {
	const struct order *o;
	struct order_item *items; /* all, in order of seq */
	size_t n;
	uint32_t lanes;
	uint32_t *done; /* by lane: items that have gone, those without an entry of their own
			   included */
	size_t **queue; /* by lane: indices of its items */
	size_t *queued, *head;
	uint64_t *out;
	size_t nout;
	uint64_t x;	    /* of the generator */
	uint64_t *priority; /* by lane */
};

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13; /* xorshift64, Marsaglia 2003 */
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void runner_free(struct runner *r)
{
	for (uint32_t l = 0; l < r->lanes; l++)
		free(r->queue[l]);
	free(r->items);
	free(r->done);
	free(r->queue);
	free(r->queued);
	free(r->head);
	free(r->priority);
}

static void runner_begin(struct runner *r, const struct order *o)
{
	*r = (struct runner){
		.o = o, .n = order_items(o), .lanes = order_lanes(o), .x = 88172645463325252ull};
	r->items = xcalloc(r->n + 1, sizeof *r->items);
	r->done = xcalloc(r->lanes + 1, sizeof *r->done);
	r->queue = xcalloc(r->lanes + 1, sizeof *r->queue);
	r->queued = xcalloc(r->lanes + 1, sizeof *r->queued);
	r->head = xcalloc(r->lanes + 1, sizeof *r->head);
	r->priority = xcalloc(r->lanes + 1, sizeof *r->priority);
	r->out = xcalloc(r->n + 1, sizeof *r->out);
	for (size_t i = 0; i < r->n; i++) {
		if (!order_item_at(o, i, &r->items[i]))
			BUG("an item less than there were");
		r->queued[r->items[i].lane]++;
	}
	for (uint32_t l = 0; l < r->lanes; l++) {
		r->queue[l] = xcalloc(r->queued[l] + 1, sizeof *r->queue[l]);
		r->queued[l] = 0;
	}
	for (size_t i = 0; i < r->n; i++)
		r->queue[r->items[i].lane][r->queued[r->items[i].lane]++] = i;
}

static const struct order_item *head_of(const struct runner *r, uint32_t lane)
{
	return r->head[lane] < r->queued[lane] ? &r->items[r->queue[lane][r->head[lane]]] : NULL;
}

/* What a lane counts besides its items, the host's learning by a synchronous copy, goes with the
 * command that made it. */
static bool covered(const struct runner *r, uint32_t lane, uint32_t index)
{
	const struct order_item *h = head_of(r, lane);

	return r->done[lane] >= index || !h || h->index > index;
}

static bool may_go(const struct runner *r, const struct order_item *it)
{
	for (uint32_t l = 0; l < r->lanes; l++)
		if (l != it->lane && !covered(r, l, clock_at(it->clock, l)))
			return false;
	return true;
}

/* Whether it is in orders: work, or a change of memory by the host. */
static bool is_entry(const struct runner *r, const struct order_item *it)
{
	return order_stream_of(r->o, it->lane) != SBT_NO_ID || it->seq & ORDER_HOST;
}

static void go(struct runner *r, uint32_t lane)
{
	const struct order_item *it = head_of(r, lane);

	r->head[lane]++;
	r->done[lane] = it->index;
	if (is_entry(r, it))
		r->out[r->nout++] = it->seq;
}

/* The lane with the lowest rank among those whose head may go and is allowed; UINT32_MAX: none. */
static uint32_t choose(const struct runner *r, const bool *allowed)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t l = 0; l < r->lanes; l++) {
		const struct order_item *it = head_of(r, l),
					*b = best == UINT32_MAX ? NULL : head_of(r, best);

		if (!it || (allowed && !allowed[it - r->items]) || !may_go(r, it))
			continue;
		if (!is_entry(r, it))
			return l;
		if (!b || r->priority[l] < r->priority[best] ||
			(r->priority[l] == r->priority[best] &&
				order_key(it->seq) < order_key(b->seq)))
			best = l;
	}
	return best;
}

static void run(struct runner *r, const bool *allowed)
{
	for (uint32_t l; (l = choose(r, allowed)) != UINT32_MAX;)
		go(r, l);
}

static struct err *finish(struct runner *r, uint64_t **ret, size_t *ret_n)
{
	*ret = r->out;
	*ret_n = r->nout;
	runner_free(r);
	return NULL;
}

struct err *order_recorded(const struct order *o, uint64_t **ret, size_t *ret_n)
{
	struct runner r;

	runner_begin(&r, o);
	run(&r, NULL);
	return finish(&r, ret, ret_n);
}

static uint64_t start_of(const struct order_start *starts, size_t n, uint64_t seq)
{
	const size_t at = kept_row_from(starts, n, sizeof *starts, seq);

	return at < n && starts[at].seq == seq ? starts[at].ns : 0;
}

struct err *order_started(const struct order *o, const struct order_start *starts, size_t n,
	uint64_t **ret, size_t *ret_n)
{
	struct runner r;
	uint32_t l = 0;

	runner_begin(&r, o);
	for (uint32_t i = 0; i < r.lanes; i++)
		r.priority[i] = head_of(&r, i) ? start_of(starts, n, head_of(&r, i)->seq) : 0;
	while ((l = choose(&r, NULL)) != UINT32_MAX) {
		go(&r, l);
		r.priority[l] = head_of(&r, l) ? start_of(starts, n, head_of(&r, l)->seq) : 0;
	}
	return finish(&r, ret, ret_n);
}

struct err *order_flip(const struct order *o, uint64_t a, uint64_t b, uint64_t **ret, size_t *ret_n)
{
	struct order_item x, y;
	struct runner r;
	bool *first;

	if (!order_item(o, a, &x) || !order_item(o, b, &y))
		return err_new(ERR_NOT_FOUND, "#%llu or #%llu is not in the graph",
			(unsigned long long)a, (unsigned long long)b);
	if (order_before(o, a, b))
		return err_new(ERR_NOT_FOUND, "#%llu always comes before #%llu",
			(unsigned long long)a, (unsigned long long)b);
	runner_begin(&r, o);
	first = xcalloc(r.n + 1, sizeof *first);
	for (size_t i = 0; i < r.n; i++)
		first[i] = order_key(r.items[i].seq) == order_key(b) ||
			   fold_before(r.items[i].lane, r.items[i].index, &y);
	run(&r, first);
	run(&r, NULL);
	free(first);
	return finish(&r, ret, ret_n);
}

/* Items that an item has to wait for besides. */
struct extra {
	size_t after, before; /* indices of items */
};

static int by_after(const void *a, const void *b)
{
	const struct extra *x = a, *y = b;

	return x->after < y->after ? -1 : x->after > y->after;
}

static size_t index_of(const struct runner *r, uint64_t seq)
{
	const size_t at = FIRST_WHERE(r->n, i, order_key(r->items[i].seq) >= order_key(seq));

	return at < r->n && order_key(r->items[at].seq) == order_key(seq) ? at : SIZE_MAX;
}

static bool waits(const struct runner *r, const struct extra *x, size_t n, size_t item)
{
	size_t at = FIRST_WHERE(n, i, x[i].after >= item);

	for (; at < n && x[at].after == item; at++)
		if (r->done[r->items[x[at].before].lane] < r->items[x[at].before].index)
			return true;
	return false;
}

/* What does not have to wait goes in order of seq; allowed[] follows what has gone. */
static void run_with(struct runner *r, const struct extra *x, size_t n)
{
	bool *allowed = xcalloc(r->n + 1, sizeof *allowed);
	uint32_t l;

	do {
		for (uint32_t i = 0; i < r->lanes; i++) {
			const struct order_item *it = head_of(r, i);

			if (it)
				allowed[it - r->items] = !waits(r, x, n, (size_t)(it - r->items));
		}
		l = choose(r, allowed);
		if (l != UINT32_MAX)
			go(r, l);
	} while (l != UINT32_MAX);
	free(allowed);
}

struct err *order_with(const struct order *o, const struct order_pair *pairs, size_t n,
	uint64_t **ret, size_t *ret_n)
{
	struct extra *x = xcalloc(n + 1, sizeof *x);
	struct runner r;
	size_t nx = 0;
	bool whole = true;

	runner_begin(&r, o);
	for (size_t i = 0; i < n; i++) {
		x[nx] = (struct extra){index_of(&r, pairs[i].after), index_of(&r, pairs[i].before)};
		nx += x[nx].after != SIZE_MAX && x[nx].before != SIZE_MAX;
	}
	qsort(x, nx, sizeof *x, by_after);
	run_with(&r, x, nx);
	free(x);
	for (uint32_t l = 0; l < r.lanes; l++)
		whole &= !head_of(&r, l);
	if (whole)
		return finish(&r, ret, ret_n);
	free(r.out);
	runner_free(&r);
	return err_new(ERR_NOT_FOUND, "the program does not allow that order");
}

struct err *order_prefer(
	const struct order *o, uint32_t stream, bool first, uint64_t **ret, size_t *ret_n)
{
	struct runner r;

	runner_begin(&r, o);
	for (uint32_t l = 0; l < r.lanes; l++)
		r.priority[l] = (order_stream_of(o, l) == stream) == first ? 0 : 1;
	run(&r, NULL);
	return finish(&r, ret, ret_n);
}

struct err *order_shuffle(const struct order *o, uint64_t seed, uint64_t **ret, size_t *ret_n)
{
	struct runner r;

	runner_begin(&r, o);
	r.x ^= (seed + 1) * 0x9e3779b97f4a7c15ull;
	r.x += !r.x;
	const unsigned change = 1u << seed % 5; /* of so many choices, one changes a stream's
						   priority: short windows and long ones */
	for (uint32_t l = 0; l < r.lanes; l++)
		r.priority[l] = draw(&r.x);
	for (uint32_t l; (l = choose(&r, NULL)) != UINT32_MAX;) {
		go(&r, l);
		if (draw(&r.x) % change == 0)
			r.priority[draw(&r.x) % r.lanes] = draw(&r.x);
	}
	return finish(&r, ret, ret_n);
}

bool order_is_legal(const struct order *o, const uint64_t *seqs, size_t n)
{
	struct runner r;
	size_t i = 0;
	bool ok = true;

	runner_begin(&r, o);
	for (uint32_t l = 0; ok; l = 0) {
		/* what the host learns first, as far as it can */
		while (l < r.lanes && !(head_of(&r, l) && !is_entry(&r, head_of(&r, l)) &&
					      may_go(&r, head_of(&r, l))))
			l++;
		if (l < r.lanes) {
			go(&r, l);
			continue;
		}
		if (i == n)
			break;
		for (l = 0; l < r.lanes && !(head_of(&r, l) && order_key(head_of(&r, l)->seq) ==
								       order_key(seqs[i]));
			l++)
			;
		ok = l < r.lanes && may_go(&r, head_of(&r, l));
		if (ok) {
			go(&r, l);
			i++;
		}
	}
	for (uint32_t l = 0; l < r.lanes; l++)
		ok &= !head_of(&r, l);
	free(r.out);
	runner_free(&r);
	return ok;
}
