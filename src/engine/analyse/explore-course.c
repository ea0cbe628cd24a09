/* SPDX-License-Identifier: Apache-2.0
 *
 * The course of an exploration: which trials there are, which of them this process executes, and
 * where it goes on after an earlier process. Nothing here asks what a trial gave, except when
 * enough was found: a shard counts then what no other shard's findings can replace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/analyse/explore-private.h"
#include "order/place.h"

bool explore_is_ours(const struct explorer *x, uint64_t key)
{
	return !x->o->shards || place_mix(key, 0x5bd1e995) % x->o->shards == x->o->shard - 1;
}

bool explore_trial(struct explorer *x, uint64_t key, uint64_t cost)
{
	x->at += cost;
	if (explore_is_ours(x, key) && (!x->o->from || x->at > x->o->from->at))
		return true;
	x->r->at = x->at;
	return false;
}

struct err *explore_tried(struct explorer *x)
{
	const double now = explore_now();

	x->r->at = x->at;
	if (!x->o->checkpoint || now - x->saved < x->o->every)
		return NULL;
	x->saved = now;
	x->r->seconds = now - x->begin + (x->o->from ? x->o->from->seconds : 0);
	return x->o->checkpoint(x->o->checkpoint_arg, x->r);
}

/* Findings that end the course. The kinds that another shard's finding may replace, by poison and
 * by holding, do not count for a shard. */
static uint64_t found_enough(const struct explorer *x)
{
	uint64_t n = 0;

	for (size_t i = 0; i < x->r->nfound; i++)
		n += !x->o->shards || (!x->r->found[i].poison && !x->r->found[i].held);
	return n;
}

bool explore_is_over(const struct explorer *x)
{
	const struct explore_options *o = x->o;

	return x->at >= (o->budget ? o->budget : EXPLORE_BUDGET) ||
	       found_enough(x) >= (o->most ? o->most : EXPLORE_MOST) ||
	       (o->seconds > 0 && explore_now() - x->begin > o->seconds);
}

/* --- after an earlier process --- */

static bool is_same_course(const struct explore_result *a, const struct explore_result *b)
{
	return a->id == b->id && a->shards == b->shards && a->pairs == b->pairs &&
	       a->budget == b->budget && a->seed == b->seed && a->most == b->most &&
	       a->strict == b->strict && a->limit == b->limit &&
	       !memcmp(a->have, b->have, a->shards * sizeof *a->have);
}

struct err *explore_resume(struct explorer *x)
{
	const struct explore_result *from = x->o->from;
	struct explore_result *r = x->r;

	if (!from)
		return NULL;
	if (!is_same_course(from, r))
		return err_cure(err_new(ERR_USAGE, "what was done before is of another recording, "
						   "window or shard, or of other options"),
			"Name another file, or leave --resume away");
	r->executed = from->executed;
	r->found = xcalloc(from->nfound + 1, sizeof *r->found);
	for (size_t i = 0; i < from->nfound; i++)
		r->found[r->nfound++] = explore_found_copy(&from->found[i]);
	r->nshown = from->nshown;
	r->shown = xcalloc(from->nshown + 1, sizeof *r->shown);
	for (size_t i = 0; i < from->nshown; i++)
		r->shown[i] = from->shown[i];
	return NULL;
}

/* --- pairs that are reversed alone --- */

struct flip {
	uint64_t place, nth; /* nth: of the pairs with that place */
	size_t i;
};

static int by_place(const void *a, const void *b)
{
	const struct flip *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static int by_nth(const void *a, const void *b)
{
	const struct flip *x = a, *y = b;

	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

size_t *explore_flip_order(const struct explorer *x, size_t *ret_places)
{
	struct flip *f = xcalloc(x->npairs + 1, sizeof *f);
	size_t *order = xcalloc(x->npairs + 1, sizeof *order);

	*ret_places = 0;
	for (size_t i = 0; i < x->npairs; i++)
		f[i] = (struct flip){.place = x->pairs[i].place, .i = i};
	qsort(f, x->npairs, sizeof *f, by_place);
	for (size_t i = 0; i < x->npairs; i++) {
		f[i].nth = i && f[i].place == f[i - 1].place ? f[i - 1].nth + 1 : 0;
		*ret_places += !f[i].nth;
	}
	qsort(f, x->npairs, sizeof *f, by_nth);
	for (size_t i = 0; i < x->npairs; i++)
		order[i] = f[i].i;
	free(f);
	return order;
}
