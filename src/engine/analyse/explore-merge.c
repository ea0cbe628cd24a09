/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of shards put together; see explore.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/explore.h"

static bool same_places(const struct explore_found *a, const struct explore_found *b)
{
	if (a->nflipped != b->nflipped)
		return false;
	for (size_t i = 0; i < a->nflipped; i++)
		if (a->places[i] != b->places[i])
			return false;
	return true;
}

static struct explore_found *known(struct explore_result *r, const struct explore_found *f)
{
	for (size_t i = 0; i < r->nfound; i++)
		if (same_places(&r->found[i], f))
			return &r->found[i];
	return NULL;
}

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
	for (uint32_t i = 0; i < r->shards; i++)
		if (r->have[i] && from->have[i])
			return err_new(ERR_USAGE, "shard %" PRIu32 " of %" PRIu32 " is there twice",
				i + 1, r->shards);
	return NULL;
}

struct err *explore_merge(struct explore_result *r, struct explore_result *from)
{
	TRY(may_merge(r, from));
	for (uint32_t i = 0; i < r->shards; i++)
		r->have[i] |= from->have[i];
	r->executed += from->executed;
	r->alike += from->alike;
	r->went_through &= from->went_through;
	r->interrupted |= from->interrupted;
	r->left_early |= from->left_early;
	r->unstable = r->unstable > from->unstable ? r->unstable : from->unstable;
	r->seconds = r->seconds > from->seconds ? r->seconds : from->seconds;
	r->found = xrealloc(r->found, (r->nfound + from->nfound + 1) * sizeof *r->found);
	for (size_t i = 0; i < from->nfound; i++) {
		struct explore_found *f = &from->found[i], *same = known(r, f);

		if (same) {
			same->again = same->again > f->again ? same->again : f->again;
			explore_found_free(f);
		} else {
			r->found[r->nfound++] = *f;
		}
	}
	from->nfound = 0;
	return NULL;
}
