/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring, see explore.h. First every unordered pair is reversed alone, those that `races`
 * reports before the others, until half of the budget is spent. Then memory that is not allocated
 * is poisoned. Then, if there are few pairs, all ways of ordering them are tried; then streams are
 * starved; then orders are random; then the other pairs are reversed.
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
#define NOTHING_MAX 1000  /* orders by chance, one after the other, that are not new */

/* Pairs that are reversed alone. */
struct flips {
	size_t *order; /* heap */
	size_t next, places;
};

/* Executes an order of the course. Takes entries. */
static struct err *execute(struct explorer *x, uint64_t h, uint64_t *entries, size_t n)
{
	bool other = false;
	struct err *e = explore_differs(x, h, entries, n, &other);

	if (!e && other)
		e = explore_found_order(x, entries, n);
	else
		free(entries);
	TRY(e);
	x->r->executed++;
	return explore_tried(x);
}

/* Executes a candidate that order_X() made, unless it failed (e), is NULL (the program does not
 * allow it) or is known. */
static struct err *candidate(struct explorer *x, struct err *e, uint64_t *entries, size_t n)
{
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
	else if (!explore_keeps_fixed(x))
		;
	else if (!explore_add(&x->seen, h))
		x->r->alike += explore_is_ours(x, h);
	else if (explore_trial(x, h, 1))
		return execute(x, h, entries, n);
	free(entries);
	return e;
}

static void show_progress(const struct explorer *x)
{
	const uint64_t most = x->o->budget ? x->o->budget : EXPLORE_BUDGET;

	/* with a limit of time nobody knows how many there will be */
	engine_progress(x->en, "schedules", x->at, x->o->seconds > 0 ? 0 : most);
}

/* Reverses the pairs that are left, while fewer than `until` trials were made. */
static struct err *flip_each(struct explorer *x, struct flips *f, uint64_t until)
{
	for (; f->next < x->npairs && x->at < until && !explore_is_over(x); f->next++) {
		const struct order_pair p = x->pairs[f->order[f->next]].p,
					round = {p.after, p.before};
		uint64_t *entries = NULL;
		size_t n = 0;
		/* order_flip() does not know what is fixed */
		struct err *e = x->nfixed ? explore_order_with(x, &round, 1, &entries, &n)
					  : order_flip(x->order, p.before, p.after, &entries, &n);

		TRY(candidate(x, e, entries, n));
		show_progress(x);
	}
	return NULL;
}

static struct err *hold_each(struct explorer *x)
{
	for (size_t i = 0; i < x->nearly && !explore_is_over(x); i++) {
		const struct order_pair p = x->early[i].p;

		if (!explore_trial(x, place_mix(p.after, p.before), 2))
			continue;
		TRY(explore_hold(x, &x->early[i]));
		TRY(explore_tried(x));
	}
	return NULL;
}

static struct err *poison_each(struct explorer *x)
{
	for (size_t i = 0; i < x->npairs && !explore_is_over(x); i++) {
		const struct explore_pair *p = &x->pairs[i];

		if (!p->lifetime || !explore_trial(x, place_mix(p->p.before, p->p.after), 2))
			continue;
		TRY(explore_poison(x, p));
		TRY(explore_tried(x));
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

	for (uint64_t i = 0;
		!x->r->went_through && x->npairs && !explore_is_over(x) && nothing < NOTHING_MAX;
		i++) {
		const uint64_t before = x->at;
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_shuffle(x->order, x->o->seed + i, &seqs, &n);

		TRY(candidate(x, e, seqs, n));
		nothing = x->at == before ? nothing + 1 : 0;
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

static struct err *prepare(struct explorer *x)
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
	(void)explore_add(&x->seen, explore_signature(x, x->recorded, x->nrecorded));
	TRY(explore_first_run(x));
	return explore_resume(x);
}

/* How many trials there may be before other things than single pairs are tried. */
static uint64_t flips_until(const struct explorer *x, const struct flips *f)
{
	const uint64_t budget = x->o->budget ? x->o->budget : EXPLORE_BUDGET,
		       left = budget > x->at ? budget - x->at : 0;

	return x->at + (left / 2 > f->places ? left / 2 : f->places);
}

static struct err *course(struct explorer *x)
{
	struct flips f = {0};
	struct err *e = hold_each(x);

	f.order = explore_flip_order(x, &f.places);
	if (!e)
		e = flip_each(x, &f, flips_until(x, &f));
	if (!e)
		e = poison_each(x);
	if (!e)
		e = flip_all(x);
	if (!e)
		e = starve_each(x);
	if (!e)
		e = shuffle(x);
	if (!e)
		e = flip_each(x, &f, UINT64_MAX);
	free(f.order);
	return e;
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
	free(x->seen.slot);
	free(x->same.slot);
	free(x->other.slot);
}

unsigned explore_window_of(const struct engine *en, uint64_t begins)
{
	uint64_t first, last;
	unsigned i = 0;

	while (sbt_reader_window(en->trace.reader, i, &first, &last) && first != begins)
		i++;
	return i;
}

static struct err *jobs_of_replay(struct engine *en, const struct explore_options *o,
	const struct replay_device *rd, struct explore_result *ret)
{
	const struct replay_choice c = {.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL,
		.window = explore_window_of(en, rd->first)};

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

static uint8_t *own_shard(const struct explore_options *o, const struct explore_result *r)
{
	return &r->have[o->shards ? o->shard - 1 : 0];
}

static void begin_result(const struct explore_options *o, struct explore_result *r)
{
	r->shards = o->shards ? o->shards : 1;
	r->have = xcalloc(r->shards, sizeof *r->have);
	*own_shard(o, r) = EXPLORE_BEGUN;
	r->budget = o->seconds > 0 ? 0 : o->budget ? o->budget : EXPLORE_BUDGET;
	r->limit = o->seconds;
	r->seed = o->seed;
	r->most = o->most ? o->most : EXPLORE_MOST;
	r->strict = o->strict;
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
	ret->window = explore_window_of(en, rd->first) + 1;
	begin_result(o, ret);
	x.d = rd->d;
	x.saved = x.begin;
	e = prepare(&x);
	if (!e)
		e = course(&x);
	if (!e)
		*own_shard(o, ret) = EXPLORE_WHOLE;
	if (e && e->code == ERR_INTERRUPTED && (ret->executed || o->checkpoint)) {
		err_free(e);
		e = NULL;
		ret->interrupted = true;
		ret->went_through = false;
		engine_go_on(en);
	}
	e = replay_device_back(en, e);
	engine_progress_end(en);
	ret->seconds = explore_now() - x.begin + (o->from ? o->from->seconds : 0);
	explorer_free(&x);
	if (e)
		explore_free(ret);
	return e;
}

bool explore_is_complete(const struct explore_result *r)
{
	return r->went_through && explore_has_all(r);
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
	free(r->shown);
	free(r->have);
	free(r->trace);
	*r = (struct explore_result){0};
}
