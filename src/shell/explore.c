/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring, see explore.h. First every unordered pair is turned round alone; then, while there are few pairs, all ways of ordering them;
 * then streams are starved; then chance. What differs is brought down to the fewest pairs that have to be turned round.
 */
#include "shell/explore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "shell/exact.h"
#include "shell/interrupt.h"
#include "shell/replay-device.h"
#include "shell/trace.h"
#include "state/state.h"

#define PAIRS_MAX 4096u /* looked at; more are left to chance */
#define COMPLETE_PAIRS 10 /* so few that all their orders are tried */
#define COMPARED_MAX (64u << 20)
#define STEADY 2 /* times that the recorded order is executed again at first */

struct explorer {
	struct session *s;
	const struct explore_options *o;
	struct explore_result *r;
	struct device *d;
	struct order *order;
	struct order_pair *fixed; /* a free, and the allocation that got its memory: always in this order */
	size_t nfixed, cap_fixed;
	struct order_pair *pairs; /* as recorded: before was called first */
	uint64_t *places;	  /* the same: a hash of the two places in the program */
	size_t npairs, cap_pairs;
	bool too_many, unknown; /* pairs; memory that nobody saw */
	struct device_ordered base;
	bool *unstable;		  /* by place of base: not compared */
	bool outputs_unstable;
	uint64_t *recorded;
	size_t nrecorded;
	uint64_t *position; /* by seq - first: in the schedule at hand */
	uint64_t *seen;	    /* signatures of what was executed, a hash table; 0: free */
	size_t slots, nseen;
	double begin;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t place_of(const struct order_party *p)
{
	uint64_t h = mix(p->stream, p->kernel);

	h = mix(mix(h, p->kind), p->stack);
	return p->stack || p->kernel != SBT_NO_ID ? h : mix(h, p->seq);
}

static void add_pair(void *arg, const struct order_party *a, const struct order_party *b)
{
	struct explorer *x = arg;

	if (a->stream == SBT_NO_ID || b->stream == SBT_NO_ID || a->how == ORDER_DEATH || a->seq >= b->seq)
		return;
	/* Of one command with another there may be several conflicts, one after the other. */
	for (size_t i = x->npairs; i-- && x->npairs - i < 16;)
		if (x->pairs[i].before == a->seq && x->pairs[i].after == b->seq)
			return;
	if (x->npairs == PAIRS_MAX) {
		x->too_many = true;
		return;
	}
	if (x->npairs == x->cap_pairs) {
		x->cap_pairs = x->cap_pairs ? 2 * x->cap_pairs : 64;
		x->pairs = xrealloc(x->pairs, x->cap_pairs * sizeof *x->pairs);
		x->places = xrealloc(x->places, x->cap_pairs * sizeof *x->places);
	}
	x->places[x->npairs] = mix(place_of(a), place_of(b));
	x->pairs[x->npairs++] = (struct order_pair){a->seq, b->seq};
}

/* Every pair, where there are not too many commands for that; else those that show every place in the program. */
static struct err *find_pairs(struct explorer *x)
{
	struct order_options o = {.first = x->r->first, .last = x->r->last, .each = add_pair, .each_arg = x,
		.interrupt = &interrupt_flag};
	struct order_races races;
	struct exact *exact;
	struct err *e;

	TRY(exact_open(&exact, x->s, EXACT_AUTO, x->r->first, x->r->last));
	o.source = exact_source(exact);
	e = order_conflicts(x->order, x->s->trace.reader, &o, &x->unknown);
	if (e && e->code == ERR_LIMIT) {
		err_free(e);
		x->npairs = 0;
		x->too_many = true;
		e = order_races(&races, x->s->trace.reader, &o);
		if (!e)
			order_races_free(&races);
	}
	exact_free(exact);
	x->r->pairs = x->npairs;
	return e;
}

/* ---- what every order has to keep ------------------------------------------------------------------------------------------ */

struct freed {
	uint64_t seq, addr, end;
};
#define FREED_MAX 1024u /* remembered, the newest */

static void keep_order(struct explorer *x, uint64_t before, uint64_t after)
{
	if (x->nfixed == x->cap_fixed) {
		x->cap_fixed = x->cap_fixed ? 2 * x->cap_fixed : 16;
		x->fixed = xrealloc(x->fixed, x->cap_fixed * sizeof *x->fixed);
	}
	x->fixed[x->nfixed++] = (struct order_pair){before, after};
}

/* A stream-ordered allocation gets memory of an earlier one only when that is free (CUDA programming guide, "Stream Ordered Memory Allocator").
 * What a call did that no command kind describes, on which stream and to which memory, is not known. */
static struct err *look_at(struct explorer *x, const struct state *st, const struct sbt_cmd *c, struct freed *freed, size_t *n)
{
	struct state_alloc a;

	if (c->kind == SBT_UNREPLAYABLE)
		return err_cure(err_new(ERR_UNSUPPORTED, "other orders cannot be had: #%" PRIu64 " %.*s is a call that no command kind describes", c->seq,
			(int)c->u.unreplayable.call.len, (const char *)c->u.unreplayable.call.p), "Capture a window without it");
	if (c->kind == SBT_FREE && c->u.free.stream < SBT_NO_ID && state_alloc_at(st, c->u.free.addr, &a))
		freed[(*n)++ % FREED_MAX] = (struct freed){c->seq, a.addr, a.addr + a.size};
	for (size_t i = 0; c->kind == SBT_ALLOC && c->u.alloc.stream < SBT_NO_ID && i < *n && i < FREED_MAX; i++)
		if (freed[i].addr < c->u.alloc.addr + c->u.alloc.size && c->u.alloc.addr < freed[i].end)
			keep_order(x, freed[i].seq, c->seq);
	return NULL;
}

static struct err *look_through(struct explorer *x)
{
	struct freed *freed = xcalloc(FREED_MAX, sizeof *freed);
	struct sbt_cursor *cursor = NULL;
	struct state *st = NULL;
	const struct sbt_cmd *c = NULL;
	size_t n = 0;
	struct err *e = state_at(&st, x->s->trace.reader, x->r->first - 1);

	if (!e)
		e = sbt_cursor_open(&cursor, x->s->trace.reader);
	if (!e)
		e = sbt_cursor_seek(cursor, x->r->first);
	while (!e && !(e = sbt_cursor_next(cursor, &c)) && c && c->seq <= x->r->last) {
		if (!c->result && !(c->flags & SBT_F_GRAPH))
			e = look_at(x, st, c, freed, &n);
		if (!e)
			e = state_apply(st, c);
	}
	if (cursor)
		sbt_cursor_close(cursor);
	state_free(st);
	free(freed);
	return e;
}

/* ---- schedules ---------------------------------------------------------------------------------------------------------------- */

static void place(struct explorer *x, const uint64_t *seqs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x->position[seqs[i] - x->r->first] = i;
}

static bool is_flipped(const struct explorer *x, const struct order_pair *p)
{
	return x->position[p->before - x->r->first] > x->position[p->after - x->r->first];
}

static bool keeps_fixed(const struct explorer *x)
{
	for (size_t i = 0; i < x->nfixed; i++)
		if (is_flipped(x, &x->fixed[i]))
			return false;
	return true;
}

/* Which pairs a schedule turns round: schedules alike in that are alike. */
static uint64_t signature(struct explorer *x, const uint64_t *seqs, size_t n)
{
	uint64_t h = 1;

	place(x, seqs, n);
	for (size_t i = 0; i < x->npairs; i++)
		h = mix(h, is_flipped(x, &x->pairs[i]) ? 2 * i + 1 : 0);
	return h ? h : 1;
}

static bool is_new(struct explorer *x, uint64_t h)
{
	size_t i;

	if (2 * (x->nseen + 1) > x->slots) {
		uint64_t *old = x->seen;
		const size_t n = x->slots;

		x->slots = n ? 2 * n : 256;
		x->seen = xcalloc(x->slots, sizeof *x->seen);
		x->nseen = 0;
		for (i = 0; i < n; i++)
			if (old[i])
				(void)is_new(x, old[i]);
		free(old);
	}
	for (i = h & (x->slots - 1); x->seen[i]; i = (i + 1) & (x->slots - 1))
		if (x->seen[i] == h)
			return false;
	x->seen[i] = h;
	x->nseen++;
	return true;
}

static bool is_over(const struct explorer *x)
{
	return x->r->executed >= (x->o->budget ? x->o->budget : EXPLORE_BUDGET) || x->r->nfound >= (x->o->most ? x->o->most : EXPLORE_MOST) ||
	       (x->o->seconds > 0 && now() - x->begin > x->o->seconds);
}

/* Index of the first place that is different, of those that are compared; SIZE_MAX: none. */
static size_t first_place(const struct explorer *x, const struct device_ordered *o)
{
	for (uint64_t i = 0; i < o->sums.n && i < x->base.sums.n; i++)
		if (!x->unstable[i] && memcmp(&o->places[i], &x->base.places[i], sizeof *o->places))
			return (size_t)i;
	return SIZE_MAX;
}

static bool is_other(const struct explorer *x, const struct device_ordered *o)
{
	return first_place(x, o) != SIZE_MAX || o->sums.n != x->base.sums.n ||
	       (!x->outputs_unstable && (o->sums.outputs != x->base.sums.outputs || o->sums.output_sum != x->base.sums.output_sum));
}

/* Executes it; whether the result is another one. */
static struct err *differs(struct explorer *x, const uint64_t *seqs, size_t n, bool *ret)
{
	struct device_ordered o;

	TRY(device_order(x->d, seqs, n, &o));
	x->r->executed++;
	*ret = is_other(x, &o);
	device_ordered_free(&o);
	return NULL;
}

/* The recorded order again: what is different now is so without another order, a sum made by atomics say, and proves nothing. */
static struct err *steady(struct explorer *x)
{
	struct device_ordered o;
	size_t i;

	TRY(device_order(x->d, x->recorded, x->nrecorded, &o));
	while ((i = first_place(x, &o)) != SIZE_MAX) {
		x->unstable[i] = true;
		x->r->unstable++;
	}
	if (is_other(x, &o) && !x->outputs_unstable) {
		x->outputs_unstable = true;
		x->r->unstable++;
	}
	device_ordered_free(&o);
	return NULL;
}

static struct err *first_run(struct explorer *x)
{
	TRY(device_order(x->d, x->recorded, x->nrecorded, &x->base));
	x->unstable = xcalloc(x->base.sums.n + 1, sizeof *x->unstable);
	for (unsigned i = 0; i < STEADY; i++)
		TRY(steady(x));
	return NULL;
}

/* ---- what was found ------------------------------------------------------------------------------------------------------------- */

/* The pairs that seqs turns round. */
static struct order_pair *flipped_in(struct explorer *x, const uint64_t *seqs, size_t n, size_t *ret_n)
{
	struct order_pair *p = xcalloc(x->npairs + 1, sizeof *p);

	place(x, seqs, n);
	*ret_n = 0;
	for (size_t i = 0; i < x->npairs; i++)
		if (is_flipped(x, &x->pairs[i]))
			p[(*ret_n)++] = x->pairs[i];
	return p;
}

/* Whether turning round these and no others, as far as the program allows, gives another result; then *seqs is replaced. */
static struct err *try_flips(struct explorer *x, const struct order_pair *flips, size_t n, uint64_t **seqs, size_t *nseqs, bool *ret)
{
	struct order_pair *want = xcalloc(x->npairs + x->nfixed + 1, sizeof *want);
	uint64_t *mine = NULL;
	size_t nmine = 0;
	struct err *e;

	*ret = false;
	for (size_t i = 0; i < x->npairs; i++) {
		want[i] = x->pairs[i];
		for (size_t k = 0; k < n; k++)
			if (flips[k].before == x->pairs[i].before && flips[k].after == x->pairs[i].after)
				want[i] = (struct order_pair){x->pairs[i].after, x->pairs[i].before};
	}
	if (x->nfixed)
		memcpy(want + x->npairs, x->fixed, x->nfixed * sizeof *want);
	e = order_with(x->order, want, x->npairs + x->nfixed, &mine, &nmine);
	free(want);
	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		return NULL;
	}
	if (!e) {
		const bool fresh = is_new(x, signature(x, mine, nmine));

		e = differs(x, mine, nmine, ret);
		x->r->executed -= !e && !fresh; /* each counts once */
	}
	if (e || !*ret) {
		free(mine);
		return e;
	}
	free(*seqs);
	*seqs = mine;
	*nseqs = nmine;
	return NULL;
}

/* One pair alone, if one is enough; else one after the other is left out while the result stays another one. */
static struct err *minimise(struct explorer *x, uint64_t **seqs, size_t *nseqs, struct order_pair **ret, size_t *ret_n)
{
	size_t n;
	struct order_pair *p = flipped_in(x, *seqs, *nseqs, &n);
	bool other = false;
	struct err *e = NULL;

	for (size_t i = 0; !e && !other && n > 1 && i < n && i < 64; i++) {
		e = try_flips(x, &p[i], 1, seqs, nseqs, &other);
		if (!e && other) {
			p[0] = p[i];
			n = 1;
		}
	}
	for (size_t i = 0; !e && n > 1 && i < n && n <= 64;) {
		const struct order_pair out = p[i];

		memmove(&p[i], &p[i + 1], (n - i - 1) * sizeof *p);
		e = try_flips(x, p, n - 1, seqs, nseqs, &other);
		if (other) {
			n--;
			continue;
		}
		memmove(&p[i + 1], &p[i], (n - i - 1) * sizeof *p);
		p[i++] = out;
	}
	*ret = p;
	*ret_n = n;
	return e;
}

static struct err *read_place(struct explorer *x, uint64_t addr, uint64_t size, struct buf *b)
{
	const size_t n = size < COMPARED_MAX ? (size_t)size : COMPARED_MAX;

	buf_clear(b);
	TRY(device_read(x->d, addr, buf_room(b, n), n));
	b->len = n;
	return NULL;
}

/* The first byte that is another one after the recorded order. */
static struct err *find_place(struct explorer *x, struct explore_found *f, const struct device_ordered *o)
{
	struct buf is = BUF_INIT, was = BUF_INIT;
	struct device_ordered again;
	struct err *e = NULL;

	const size_t first = first_place(x, o);

	if (first == SIZE_MAX)
		return NULL;
	f->place = o->places[first].addr;
	f->place_size = o->places[first].size;
	e = read_place(x, f->place, f->place_size, &is);
	if (!e)
		e = device_order(x->d, x->recorded, x->nrecorded, &again);
	if (!e) {
		device_ordered_free(&again);
		e = read_place(x, f->place, f->place_size, &was);
	}
	f->at = f->place;
	for (size_t i = 0; !e && i < is.len; i++) {
		if (is.data[i] == was.data[i])
			continue;
		if (!f->bytes++) {
			const size_t from = i & ~(size_t)3, n = is.len - from < 8 ? is.len - from : 8;

			f->at = f->place + from;
			memcpy(f->is, is.data + from, n);
			memcpy(f->was, was.data + from, n);
		}
	}
	buf_free(&is);
	buf_free(&was);
	return e;
}

static struct err *save(struct explorer *x, struct explore_found *f, const struct device_ordered *o)
{
	struct order_end *ends = xcalloc(o->sums.n + 1, sizeof *ends);
	struct err *e;

	for (uint64_t i = 0; i < o->sums.n; i++)
		ends[i] = (struct order_end){o->places[i].addr, o->places[i].size, o->places[i].hash};
	f->path = explore_schedule_name(x->o->save ? x->o->save : x->s->trace.path, x->o->shard, x->r->nfound + 1);
	e = order_rewrite(x->s->trace.reader, x->r->first, x->r->last, f->seqs, f->nseqs, ends, o->sums.n, f->path, NULL, NULL);
	free(ends);
	return e;
}

static uint64_t place_of_pair(const struct explorer *x, const struct order_pair *p)
{
	for (size_t i = 0; i < x->npairs; i++)
		if (x->pairs[i].before == p->before && x->pairs[i].after == p->after)
			return x->places[i];
	return 0;
}

/* Whether the same places, passed another time, were found already; then that is counted. */
static bool is_known(const struct explorer *x, const struct order_pair *p, size_t n)
{
	for (size_t i = 0; i < x->r->nfound; i++) {
		struct explore_found *f = &x->r->found[i];
		bool same = f->nflipped == n;

		for (size_t k = 0; same && k < n; k++)
			same = place_of_pair(x, &f->as_recorded[k]) == place_of_pair(x, &p[k]);
		f->again += same;
		if (same)
			return true;
	}
	return false;
}

static void drop(struct explore_found *f)
{
	explore_found_free(f);
	*f = (struct explore_found){0};
}

/* What is left of a finding is looked at: the recorded order has to give its result again, and this one another. */
static struct err *tell(struct explorer *x, struct explore_found *f)
{
	struct device_ordered o = {0};
	struct err *e;

	f->flipped = xcalloc(f->nflipped + 1, sizeof *f->flipped);
	f->places = xcalloc(f->nflipped + 1, sizeof *f->places);
	for (size_t i = 0; i < f->nflipped; i++) {
		f->flipped[i] = (struct order_pair){f->as_recorded[i].after, f->as_recorded[i].before};
		f->places[i] = place_of_pair(x, &f->as_recorded[i]);
	}
	TRY(steady(x));
	e = device_order(x->d, f->seqs, f->nseqs, &o);
	if (!e && !is_other(x, &o))
		drop(f);
	else if (!e)
		e = find_place(x, f, &o);
	if (!e && f->seqs && !x->o->no_save)
		e = save(x, f, &o);
	device_ordered_free(&o);
	return e;
}

/* seqs gives another result. It belongs to us. */
static struct err *found(struct explorer *x, uint64_t *seqs, size_t n)
{
	struct explore_found f = {.seqs = seqs, .nseqs = n};
	struct err *e = minimise(x, &f.seqs, &f.nseqs, &f.as_recorded, &f.nflipped);

	if (!e && !is_known(x, f.as_recorded, f.nflipped))
		e = tell(x, &f);
	else if (!e)
		drop(&f);
	if (e || !f.seqs) {
		drop(&f);
		return e;
	}
	x->r->found = xrealloc(x->r->found, (x->r->nfound + 1) * sizeof f);
	x->r->found[x->r->nfound++] = f;
	return NULL;
}

/* ---- candidates ------------------------------------------------------------------------------------------------------------------- */

/* Whose a schedule is does not depend on what a shard has found so far, only on the schedule. */
static bool is_ours(const struct explorer *x, uint64_t h)
{
	return !x->o->shards || mix(h, 0x5bd1e995) % x->o->shards == x->o->shard - 1;
}

/* A candidate that order_X() made, or e: none. */
static struct err *candidate(struct explorer *x, struct err *e, uint64_t *seqs, size_t n)
{
	bool other = false;
	uint64_t h;

	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	h = signature(x, seqs, n); /* places them, too */
	if (interrupt_flag)
		e = err_new(ERR_INTERRUPTED, "interrupted after %" PRIu64 " schedules", x->r->executed);
	else if (!keeps_fixed(x) || !is_ours(x, h))
		;
	else if (!is_new(x, h))
		x->r->alike++;
	else
		e = differs(x, seqs, n, &other);
	if (!e && other)
		return found(x, seqs, n);
	free(seqs);
	return e;
}

static struct err *flip_each(struct explorer *x)
{
	for (size_t i = 0; i < x->npairs && !is_over(x); i++) {
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_flip(x->order, x->pairs[i].before, x->pairs[i].after, &seqs, &n);

		if (!e && is_known(x, &x->pairs[i], 1)) {
			free(seqs);
			continue;
		}
		TRY(candidate(x, e, seqs, n));
		out_progress(x->s->out, "schedules", x->r->executed, x->o->budget ? x->o->budget : EXPLORE_BUDGET);
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
	want = xcalloc(x->npairs + x->nfixed + 1, sizeof *want);
	if (x->nfixed)
		memcpy(want + x->npairs, x->fixed, x->nfixed * sizeof *want);
	x->r->went_through = !x->unknown;
	for (uint32_t ways = 0; !e && ways < 1u << x->npairs; ways++) {
		uint64_t *seqs = NULL;
		size_t n = 0;

		if (is_over(x)) {
			x->r->went_through = false;
			break;
		}
		for (size_t i = 0; i < x->npairs; i++)
			want[i] = ways >> i & 1 ? (struct order_pair){x->pairs[i].after, x->pairs[i].before} : x->pairs[i];
		e = order_with(x->order, want, x->npairs + x->nfixed, &seqs, &n);
		e = candidate(x, e, seqs, n);
	}
	free(want);
	return e;
}

static struct err *starve_each(struct explorer *x)
{
	for (uint32_t l = 0; l < order_lanes(x->order) && !is_over(x); l++)
		for (unsigned first = 0; first < 2; first++) {
			uint64_t *seqs = NULL;
			size_t n = 0;

			if (order_stream_of(x->order, l) == SBT_NO_ID)
				continue;
			struct err *e = order_prefer(x->order, order_stream_of(x->order, l), first, &seqs, &n);
			TRY(candidate(x, e, seqs, n));
		}
	return NULL;
}

static struct err *shuffle(struct explorer *x)
{
	unsigned nothing = 0;

	for (uint64_t i = 0; !x->r->went_through && x->npairs && !is_over(x) && nothing < 1000 * (x->o->shards ? x->o->shards : 1); i++) {
		const uint64_t before = x->r->executed;
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_shuffle(x->order, x->o->seed + i, &seqs, &n);

		TRY(candidate(x, e, seqs, n));
		nothing = x->r->executed == before ? nothing + 1 : 0;
		out_progress(x->s->out, "schedules", x->r->executed, x->o->budget ? x->o->budget : EXPLORE_BUDGET);
	}
	return NULL;
}

static uint64_t identity(const struct explorer *x)
{
	const struct sbt_meta *m = sbt_reader_meta(x->s->trace.reader);
	uint64_t h = mix(mix(m->start_ns, m->pid), x->r->first);

	h = mix(mix(h, x->r->last), x->npairs);
	for (size_t i = 0; i < x->npairs; i++)
		h = mix(mix(h, x->pairs[i].before), x->pairs[i].after);
	return h;
}

static struct err *explore(struct explorer *x)
{
	const struct order_options o = {.first = x->r->first, .last = x->r->last, .interrupt = &interrupt_flag};

	TRY(look_through(x));
	TRY(order_open(&x->order, x->s->trace.reader, &o));
	TRY(find_pairs(x));
	x->r->id = identity(x);
	TRY(order_recorded(x->order, &x->recorded, &x->nrecorded));
	x->position = xcalloc(x->r->last - x->r->first + 2, sizeof *x->position);
	(void)is_new(x, signature(x, x->recorded, x->nrecorded));
	TRY(first_run(x));
	TRY(flip_each(x));
	TRY(flip_all(x));
	TRY(starve_each(x));
	return shuffle(x);
}

static void explorer_free(struct explorer *x)
{
	device_ordered_free(&x->base);
	order_close(x->order);
	free(x->fixed);
	free(x->pairs);
	free(x->places);
	free(x->unstable);
	free(x->recorded);
	free(x->position);
	free(x->seen);
}

static struct err *jobs_of_session(struct session *s, const struct explore_options *o, const struct replay_device *rd, struct explore_result *ret)
{
	struct replay_choice c = {.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL};
	uint64_t first, last;

	while (sbt_reader_window(s->trace.reader, c.window, &first, &last) && first != rd->first)
		c.window++;
	return explore_jobs(s, o, &c, ret);
}

struct err *explore_run(struct session *s, const struct explore_options *o, struct explore_result *ret)
{
	struct explorer x = {.s = s, .o = o, .r = ret, .begin = now()};
	struct replay_device *rd;
	struct err *e;

	*ret = (struct explore_result){0};
	TRY(replay_device_need(s, "replay explore", &rd));
	if (rd->partial || rd->what_if)
		return err_cure(err_new(ERR_STATE, "this replay is not the recorded run"), "Use \"replay restart\" first");
	if (o->jobs > 1)
		return jobs_of_session(s, o, rd, ret);
	ret->trace = xstrdup(s->trace.path);
	ret->first = rd->first;
	ret->last = rd->last;
	ret->shards = o->shards ? o->shards : 1;
	ret->have = xcalloc(ret->shards, sizeof *ret->have);
	ret->have[o->shards ? o->shard - 1 : 0] = true;
	x.d = rd->d;
	e = replay_device_back(s, explore(&x));
	out_progress_end(s->out);
	ret->seconds = now() - x.begin;
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
