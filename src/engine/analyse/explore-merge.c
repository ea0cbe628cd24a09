/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of shards put together; see explore.h. A shard keeps every finding that is the first of
 * its kind and places there; which of them one process would have kept follows from their numbers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/explore.h"
#include "order/place.h"

#define CLASS_SEED UINT64_C(0x9ae16a3b2f90404f)

/* --- which findings are kept --- */

static bool same_places(const struct explore_found *a, const struct explore_found *b)
{
	if (a->nflipped != b->nflipped)
		return false;
	for (size_t i = 0; i < a->nflipped; i++)
		if (a->places[i] != b->places[i])
			return false;
	return true;
}

bool explore_is_same(const struct explore_found *a, const struct explore_found *b)
{
	return same_places(a, b) && !a->held == !b->held && !a->poison == !b->poison;
}

/* Whether g shows the use of memory that f poisons: by a use after the next owner wrote there, or
 * by the pair itself without poison. */
static bool shows_use(const struct explore_found *g, const struct explore_found *f)
{
	const struct order_pair p = f->as_recorded[0];
	const uint64_t user = p.before == f->poison ? p.after : p.before;

	for (size_t k = 0; k < g->nflipped; k++) {
		const struct order_pair q = g->as_recorded[k];

		if ((q.before == user && q.after >= f->poison) ||
			(q.after == user && q.before >= f->poison))
			return true;
	}
	return false;
}

uint64_t explore_class(const struct explore_found *f)
{
	/* not from small numbers: place_mix() of 1 and 2 is that of 2 and 1 */
	uint64_t h = place_mix(CLASS_SEED, f->held ? 1 : f->poison ? 2 : 3);

	h = place_mix(h, f->nflipped);

	for (size_t i = 0; i < f->nflipped; i++)
		h = place_mix(h, f->places[i]);
	return h;
}

/* Whether a finding of r has the same cause. */
static bool is_shown(const struct explore_result *r, const struct explore_found *f)
{
	for (size_t i = 0; i < r->nfound; i++) {
		const struct explore_found *g = &r->found[i];

		if (same_places(g, f) || (f->held && g->held == f->held) ||
			(f->poison && f->nflipped && shows_use(g, f)))
			return true;
	}
	return false;
}

bool explore_leaves_out(struct explore_result *r, const struct explore_found *f)
{
	const uint64_t class = explore_class(f);

	for (size_t i = 0; i < r->nshown; i++)
		if (r->shown[i] == class)
			return true;
	if (!is_shown(r, f))
		return false;
	r->shown = xrealloc(r->shown, (r->nshown + 1) * sizeof *r->shown);
	r->shown[r->nshown++] = class;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct explore_found *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void explore_finish(struct explore_result *r)
{
	const size_t n = r->nfound;

	if (n)
		qsort(r->found, n, sizeof *r->found, by_number);
	r->nfound = 0;
	for (size_t i = 0; i < n; i++) {
		if (r->nfound < r->most && !is_shown(r, &r->found[i]))
			r->found[r->nfound++] = r->found[i];
		else
			explore_found_free(&r->found[i]);
	}
}

/* --- merging --- */

static struct err *may_merge(const struct explore_result *r, const struct explore_result *from)
{
	if (r->id != from->id || r->first != from->first || r->last != from->last ||
		r->pairs != from->pairs)
		return err_new(ERR_USAGE,
			"results of #%" PRIu64 "-#%" PRIu64 " and of #%" PRIu64 "-#%" PRIu64
			" are of different recordings or windows",
			r->first, r->last, from->first, from->last);
	if (r->shards != from->shards)
		return err_new(ERR_USAGE,
			"one result is a part of %" PRIu32 ", another of %" PRIu32, r->shards,
			from->shards);
	if (r->budget != from->budget || r->seed != from->seed || r->most != from->most ||
		r->strict != from->strict || r->limit != from->limit)
		return err_cure(
			err_new(ERR_USAGE, "the shards were executed with different options"),
			"--budget, --seed, --most and --strict have to be the same for all");
	for (uint32_t i = 0; i < r->shards; i++)
		if (r->have[i] && from->have[i])
			return err_new(ERR_USAGE, "shard %" PRIu32 " of %" PRIu32 " is there twice",
				i + 1, r->shards);
	return NULL;
}

/* The finding of the same kind and places; NULL: none. */
static struct explore_found *same_in(struct explore_result *r, const struct explore_found *f)
{
	for (size_t i = 0; i < r->nfound; i++)
		if (explore_is_same(&r->found[i], f))
			return &r->found[i];
	return NULL;
}

/* Keeps the one that was found first in the course. */
static void add_found(struct explore_result *r, struct explore_found *f)
{
	struct explore_found *same = same_in(r, f);

	if (!same) {
		r->found[r->nfound++] = *f;
		return;
	}
	if (f->number < same->number) {
		const struct explore_found was = *same;

		*same = *f;
		*f = was;
	}
	explore_found_free(f);
}

struct err *explore_merge(struct explore_result *r, struct explore_result *from)
{
	TRY(may_merge(r, from));
	for (uint32_t i = 0; i < r->shards; i++)
		r->have[i] |= from->have[i];
	r->executed += from->executed;
	r->alike += from->alike;
	r->at = r->at > from->at ? r->at : from->at;
	r->went_through &= from->went_through;
	r->interrupted |= from->interrupted;
	r->left_early |= from->left_early;
	r->unstable = r->unstable > from->unstable ? r->unstable : from->unstable;
	r->seconds = r->seconds > from->seconds ? r->seconds : from->seconds;
	r->found = xrealloc(r->found, (r->nfound + from->nfound + 1) * sizeof *r->found);
	for (size_t i = 0; i < from->nfound; i++)
		add_found(r, &from->found[i]);
	from->nfound = 0;
	return NULL;
}

bool explore_has_all(const struct explore_result *r)
{
	for (uint32_t i = 0; i < r->shards; i++)
		if (r->have[i] != EXPLORE_WHOLE)
			return false;
	return true;
}

static void *copy_of(const void *p, size_t n, size_t size)
{
	void *r = xcalloc(n + 1, size);

	if (n)
		memcpy(r, p, n * size);
	return r;
}

struct explore_found explore_found_copy(const struct explore_found *f)
{
	struct explore_found r = *f;

	r.flipped = copy_of(f->flipped, f->nflipped, sizeof *f->flipped);
	r.as_recorded = copy_of(f->as_recorded, f->nflipped, sizeof *f->as_recorded);
	r.places = copy_of(f->places, f->nflipped, sizeof *f->places);
	r.seqs = copy_of(f->seqs, f->nseqs, sizeof *f->seqs);
	r.path = f->path ? xstrdup(f->path) : NULL;
	return r;
}
