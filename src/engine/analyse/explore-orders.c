/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders while exploring: tells them apart by the pairs that they reverse, executes them, and
 * compares them with the recorded one.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/first-where.h"
#include "base/monotonic.h"
#include "order/place.h"
#include "engine/analyse/explore-private.h"

#define STEADY 2 /* times that the recorded order is executed again at first */

double explore_now(void)
{
	return (double)monotonic_ns() / 1e9;
}

/* --- telling them apart --- */

static int by_key(const void *a, const void *b)
{
	const struct explore_position *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Lists the entries, which are the same in all orders. A trace may have any numbers of commands, so
 * they are no indices. */
void explore_know_entries(struct explorer *x)
{
	x->position = xcalloc(x->nrecorded + 1, sizeof *x->position);
	for (size_t i = 0; i < x->nrecorded; i++)
		x->position[i].key = order_key(x->recorded[i]);
	qsort(x->position, x->nrecorded, sizeof *x->position, by_key);
}

/* The position of an entry; NULL: it is in no order. */
static struct explore_position *position(const struct explorer *x, uint64_t entry)
{
	const uint64_t key = order_key(entry);
	const size_t at = FIRST_WHERE(x->nrecorded, i, x->position[i].key >= key);

	return at < x->nrecorded && x->position[at].key == key ? &x->position[at] : NULL;
}

static void place(struct explorer *x, const uint64_t *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct explore_position *p = position(x, entries[i]);

		if (p)
			p->at = i;
	}
}

bool explore_is_flipped(const struct explorer *x, const struct order_pair *p)
{
	const struct explore_position *before = position(x, p->before),
				      *after = position(x, p->after);

	return (before ? before->at : 0) > (after ? after->at : 0);
}

bool explore_keeps_fixed(const struct explorer *x)
{
	for (size_t i = 0; i < x->nfixed; i++)
		if (explore_is_flipped(x, &x->fixed[i]))
			return false;
	return true;
}

uint64_t explore_signature(struct explorer *x, const uint64_t *entries, size_t n)
{
	uint64_t h = 1;

	place(x, entries, n);
	for (size_t i = 0; i < x->npairs; i++)
		h = place_mix(h, explore_is_flipped(x, &x->pairs[i].p) ? 2 * i + 1 : 0);
	return h ? h : 1;
}

static size_t slot_of(const struct explore_set *s, uint64_t h)
{
	size_t i = h & (s->slots - 1);

	while (s->slot[i] && s->slot[i] != h)
		i = (i + 1) & (s->slots - 1);
	return i;
}

bool explore_has(const struct explore_set *s, uint64_t h)
{
	return s->n && s->slot[slot_of(s, h)];
}

static void grow(struct explore_set *s)
{
	const struct explore_set old = *s;

	s->slots = old.slots ? 2 * old.slots : 256;
	s->slot = xcalloc(s->slots, sizeof *s->slot);
	for (size_t i = 0; i < old.slots; i++)
		if (old.slot[i])
			s->slot[slot_of(s, old.slot[i])] = old.slot[i];
	free(old.slot);
}

bool explore_add(struct explore_set *s, uint64_t h)
{
	if (2 * (s->n + 1) > s->slots)
		grow(s);
	const size_t i = slot_of(s, h);

	if (s->slot[i])
		return false;
	s->slot[i] = h;
	s->n++;
	return true;
}

static void forget(struct explore_set *s)
{
	free(s->slot);
	*s = (struct explore_set){0};
}

struct err *explore_order_with(
	struct explorer *x, const struct order_pair *want, size_t n, uint64_t **ret, size_t *ret_n)
{
	struct order_pair *all = xcalloc(n + x->nfixed + 1, sizeof *all);
	struct err *e;

	*ret = NULL;
	*ret_n = 0;
	memcpy(all, want, n * sizeof *all);
	if (x->nfixed)
		memcpy(all + n, x->fixed, x->nfixed * sizeof *all);
	e = order_with(x->order, all, n + x->nfixed, ret, ret_n);
	free(all);
	if (!e || e->code != ERR_NOT_FOUND)
		return e;
	err_free(e);
	return NULL;
}

/* --- executing and comparing --- */

struct err *explore_execute(
	struct explorer *x, const uint64_t *entries, size_t n, struct device_ordered *ret)
{
	const struct device_order o = {.entries = entries,
		.n = n,
		.flags = x->host.known ? REPLAYER_ORDER_LIVE : 0,
		.changes = x->host.c,
		.nchanges = x->host.n};

	return device_order(x->d, &o, ret);
}

size_t explore_first_place(
	const struct explorer *x, const struct device_ordered *a, const struct device_ordered *b)
{
	for (uint64_t i = 0; i < a->sums.n && i < b->sums.n && i < x->base.sums.n; i++)
		if (!x->unstable[i] && memcmp(&a->places[i], &b->places[i], sizeof *a->places))
			return (size_t)i;
	return SIZE_MAX;
}

bool explore_is_other(
	const struct explorer *x, const struct device_ordered *a, const struct device_ordered *b)
{
	return explore_first_place(x, a, b) != SIZE_MAX || a->sums.n != b->sums.n ||
	       (!x->outputs_unstable && (a->sums.outputs != b->sums.outputs ||
						a->sums.output_sum != b->sums.output_sum));
}

struct err *explore_differs(
	struct explorer *x, uint64_t h, const uint64_t *entries, size_t n, bool *ret)
{
	struct device_ordered o;

	*ret = explore_has(&x->other, h);
	if (*ret || explore_has(&x->same, h))
		return NULL;
	TRY(explore_execute(x, entries, n, &o));
	*ret = explore_is_other(x, &o, &x->base);
	(void)explore_add(*ret ? &x->other : &x->same, h);
	device_ordered_free(&o);
	return NULL;
}

/* Executes the recorded order again. Places that differ now differ without another order, such as a
 * sum made by atomics, and prove nothing. */
struct err *explore_steady(struct explorer *x)
{
	const uint64_t unstable = x->r->unstable;
	struct device_ordered o;
	size_t i;

	TRY(explore_execute(x, x->recorded, x->nrecorded, &o));
	while ((i = explore_first_place(x, &o, &x->base)) != SIZE_MAX) {
		x->unstable[i] = true;
		x->r->unstable++;
	}
	if (explore_is_other(x, &o, &x->base) && !x->outputs_unstable) {
		x->outputs_unstable = true;
		x->r->unstable++;
	}
	if (x->r->unstable != unstable)
		forget(&x->other); /* what differed there alone proved nothing */
	device_ordered_free(&o);
	return NULL;
}

struct err *explore_first_run(struct explorer *x)
{
	TRY(explore_execute(x, x->recorded, x->nrecorded, &x->base));
	x->unstable = xcalloc(x->base.sums.n + 1, sizeof *x->unstable);
	for (unsigned i = 0; i < STEADY; i++)
		TRY(explore_steady(x));
	return NULL;
}
