/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring, see explore.h. First every unordered pair is reversed alone, those that `races`
 * reports before the others. Then memory that is not allocated is poisoned. Then, if there are few
 * pairs, all ways of ordering them are tried; then streams are starved; then orders are random.
 */
#include "order/expand.h"
#include "engine/explore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "order/place.h"
#include "engine/exact.h"
#include "engine/analyse/explore-private.h"
#include "engine/replay-device.h"
#include "engine/trace-file.h"

#define COMPLETE_PAIRS 10 /* with at most this many pairs all their orders are tried */

/* Sharding is by the schedule's hash, so it does not depend on earlier results. */
static bool is_ours(const struct explorer *x, uint64_t h)
{
	return !x->o->shards || place_mix(h, 0x5bd1e995) % x->o->shards == x->o->shard - 1;
}

/* Executes a candidate that order_X() made, unless it failed (e), is NULL (the program does not
 * allow it) or is known. */
static struct err *candidate(struct explorer *x, struct err *e, uint64_t *entries, size_t n)
{
	bool other = false;
	uint64_t h;

	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	if (!entries)
		return NULL;
	h = explore_signature(x, entries, n); /* also places the entries */
	if (engine_cancelled(x->en))
		e = err_new(ERR_INTERRUPTED, "interrupted after %" PRIu64 " schedule%s",
			x->r->executed, x->r->executed == 1 ? "" : "s");
	else if (!explore_keeps_fixed(x) || !is_ours(x, h))
		;
	else if (!explore_is_new(x, h))
		x->r->alike++;
	else
		e = explore_differs(x, entries, n, &other);
	if (!e && other)
		return explore_found_order(x, entries, n);
	free(entries);
	return e;
}

static void show_progress(const struct explorer *x)
{
	const uint64_t most = x->o->budget ? x->o->budget : EXPLORE_BUDGET;

	/* with a limit of time nobody knows how many there will be */
	engine_progress(x->en, "schedules", x->r->executed, x->o->seconds > 0 ? 0 : most);
}

static struct err *flip_each(struct explorer *x)
{
	for (size_t i = 0; i < x->npairs && !explore_is_over(x); i++) {
		const struct order_pair p = x->pairs[i].p, round = {p.after, p.before};
		uint64_t *entries = NULL;
		size_t n = 0;
		/* order_flip() does not know what is fixed */
		struct err *e = x->nfixed ? explore_order_with(x, &round, 1, &entries, &n)
					  : order_flip(x->order, p.before, p.after, &entries, &n);

		if (!e && explore_is_known(x, &p, 1)) {
			free(entries);
			continue;
		}
		TRY(candidate(x, e, entries, n));
		show_progress(x);
	}
	return NULL;
}

static struct err *hold_each(struct explorer *x)
{
	for (size_t i = 0; i < x->nearly && !explore_is_over(x); i++)
		if (is_ours(x, place_mix(x->early[i].p.after, x->early[i].p.before)))
			TRY(explore_hold(x, &x->early[i]));
	return NULL;
}

static struct err *poison_each(struct explorer *x)
{
	for (size_t i = 0; i < x->npairs && !explore_is_over(x); i++) {
		const struct explore_pair *p = &x->pairs[i];

		if (p->lifetime && is_ours(x, place_mix(p->p.before, p->p.after)))
			TRY(explore_poison(x, p));
	}
	return NULL;
}

/* All ways of ordering the pairs. */
static struct err *flip_all(struct explorer *x)
{
	struct order_pair *want;
	struct err *e = NULL;

	if (x->npairs > COMPLETE_PAIRS || x->too_many)
		return NULL;
	want = xcalloc(x->npairs + 1, sizeof *want);
	x->r->went_through = !x->unknown && !x->r->left_early;
	for (uint32_t ways = 0; !e && ways < 1u << x->npairs; ways++) {
		uint64_t *entries = NULL;
		size_t n = 0;

		if (explore_is_over(x)) {
			x->r->went_through = false;
			break;
		}
		for (size_t i = 0; i < x->npairs; i++) {
			const struct order_pair p = x->pairs[i].p;

			want[i] = ways >> i & 1 ? (struct order_pair){p.after, p.before} : p;
		}
		e = explore_order_with(x, want, x->npairs, &entries, &n);
		e = candidate(x, e, entries, n);
	}
	free(want);
	return e;
}

static struct err *starve_each(struct explorer *x)
{
	for (uint32_t l = 0; l < order_lanes(x->order) && !explore_is_over(x); l++)
		for (unsigned first = 0; first < 2; first++) {
			uint64_t *seqs = NULL;
			size_t n = 0;

			if (order_stream_of(x->order, l) == SBT_NO_ID && !x->host.n)
				continue;
			struct err *e = order_prefer(
				x->order, order_stream_of(x->order, l), first, &seqs, &n);
			TRY(candidate(x, e, seqs, n));
		}
	return NULL;
}

static struct err *shuffle(struct explorer *x)
{
	unsigned nothing = 0;

	for (uint64_t i = 0; !x->r->went_through && x->npairs && !explore_is_over(x) &&
			     nothing < 1000 * (x->o->shards ? x->o->shards : 1);
		i++) {
		const uint64_t before = x->r->executed;
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_shuffle(x->order, x->o->seed + i, &seqs, &n);

		TRY(candidate(x, e, seqs, n));
		nothing = x->r->executed == before ? nothing + 1 : 0;
		show_progress(x);
	}
	return NULL;
}

static uint64_t identity(const struct explorer *x)
{
	const struct sbt_meta *m = sbt_reader_meta(x->en->trace.reader);
	uint64_t h = place_mix(place_mix(m->start_ns, m->pid), x->r->first);

	h = place_mix(place_mix(h, x->r->last), x->npairs);
	for (size_t i = 0; i < x->npairs; i++)
		h = place_mix(place_mix(h, x->pairs[i].p.before), x->pairs[i].p.after);
	return h;
}

static struct err *explore(struct explorer *x)
{
	struct order_options o;

	TRY(explore_look_through(x));
	TRY(exact_open(&x->exact, x->en, EXACT_SETS, x->r->first, x->r->last));
	TRY(host_changes_learn(&x->host, x->en->trace.reader, x->d, exact_source(x->exact),
		x->r->first, x->r->last, x->en->cancel));
	o = explore_graph_options(x);
	TRY(order_open(&x->order, x->en->trace.reader, &o));
	TRY(explore_find_pairs(x));
	x->r->id = identity(x);
	TRY(order_recorded(x->order, &x->recorded, &x->nrecorded));
	explore_know_entries(x);
	(void)explore_is_new(x, explore_signature(x, x->recorded, x->nrecorded));
	TRY(explore_first_run(x));
	TRY(hold_each(x));
	TRY(flip_each(x));
	TRY(poison_each(x));
	TRY(flip_all(x));
	TRY(starve_each(x));
	return shuffle(x);
}

static void explorer_free(struct explorer *x)
{
	device_ordered_free(&x->base);
	order_close(x->order);
	free(x->fixed);
	free(x->early);
	exact_free(x->exact);
	host_changes_free(&x->host);
	free(x->pairs);
	free(x->pair_slots);
	free(x->unstable);
	free(x->recorded);
	free(x->position);
	free(x->seen);
}

static struct err *jobs_of_replay(struct engine *en, const struct explore_options *o,
	const struct replay_device *rd, struct explore_result *ret)
{
	struct replay_choice c = {.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL};
	uint64_t first, last;

	while (sbt_reader_window(en->trace.reader, c.window, &first, &last) && first != rd->first)
		c.window++;
	return explore_jobs(en, o, &c, ret);
}

struct err *explore_run(
	struct engine *en, const struct explore_options *o, struct explore_result *ret)
{
	struct replay_device *rd;
	bool graphs;

	*ret = (struct explore_result){0};
	TRY(replay_device_need(en, "replay explore", &rd));
	if (rd->partial || rd->what_if)
		return err_cure(err_new(ERR_STATE, "this replay is not the recorded run"),
			"Use \"replay restart\" first");
	if (o->jobs > 1)
		return jobs_of_replay(en, o, rd, ret);
	TRY(expand_wanted(en->trace.reader, rd->first, rd->last, &graphs));
	return graphs ? explore_expanded(en, o, ret) : explore_plain(en, o, ret);
}

struct err *explore_plain(
	struct engine *en, const struct explore_options *o, struct explore_result *ret)
{
	struct explorer x = {.en = en, .o = o, .r = ret, .begin = explore_now()};
	struct replay_device *rd;
	struct err *e;

	*ret = (struct explore_result){0};
	TRY(replay_device_need(en, "replay explore", &rd));
	ret->trace = xstrdup(en->trace.path);
	ret->first = rd->first;
	ret->last = rd->last;
	ret->shards = o->shards ? o->shards : 1;
	ret->have = xcalloc(ret->shards, sizeof *ret->have);
	ret->have[o->shards ? o->shard - 1 : 0] = true;
	x.d = rd->d;
	e = explore(&x);
	if (e && e->code == ERR_INTERRUPTED && ret->executed) {
		err_free(e);
		e = NULL;
		ret->interrupted = true;
		ret->went_through = false;
		engine_go_on(en);
	}
	e = replay_device_back(en, e);
	engine_progress_end(en);
	ret->seconds = explore_now() - x.begin;
	explorer_free(&x);
	if (e)
		explore_free(ret);
	return e;
}

bool explore_is_complete(const struct explore_result *r)
{
	for (uint32_t i = 0; i < r->shards; i++)
		if (!r->have[i])
			return false;
	return r->went_through;
}

void explore_found_free(struct explore_found *f)
{
	free(f->flipped);
	free(f->as_recorded);
	free(f->places);
	free(f->seqs);
	free(f->path);
}

void explore_free(struct explore_result *r)
{
	for (size_t i = 0; i < r->nfound; i++)
		explore_found_free(&r->found[i]);
	free(r->found);
	free(r->have);
	free(r->trace);
	*r = (struct explore_result){0};
}
