/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports what exploring found: reduces it to the fewest pairs that have to be reversed, checks it
 * once more, and saves it as a trace.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/analyse/explore-private.h"
#include "engine/trace-file.h"

#define COMPARED_MAX (64u << 20)

/* --- the fewest pairs --- */

/* Whether the pair's sequence matters. A free alone leaves memory as it is, so it matters only when
 * its memory is poisoned. */
static bool matters(const struct explore_pair *p)
{
	return !p->lifetime || p->is_birth;
}

/* The pairs that entries reverses and that matter. */
static struct order_pair *flipped_in(
	struct explorer *x, const uint64_t *entries, size_t n, size_t *ret_n)
{
	struct order_pair *p = xcalloc(x->npairs + 1, sizeof *p);

	(void)explore_signature(x, entries, n);
	*ret_n = 0;
	for (size_t i = 0; i < x->npairs; i++)
		if (matters(&x->pairs[i]) && explore_is_flipped(x, &x->pairs[i].p))
			p[(*ret_n)++] = x->pairs[i].p;
	return p;
}

/* Whether reversing only these pairs, as far as the program allows, gives another result; then
 * *entries is replaced. */
static struct err *try_flips(struct explorer *x, const struct order_pair *flips, size_t n,
	uint64_t **entries, size_t *nentries, bool *ret)
{
	struct order_pair *want = xcalloc(x->npairs + 1, sizeof *want);
	uint64_t *mine = NULL;
	size_t nmine = 0, nwant = 0;
	struct err *e;

	*ret = false;
	for (size_t i = 0; i < x->npairs; i++) {
		const struct order_pair p = x->pairs[i].p;

		if (!matters(&x->pairs[i]))
			continue;
		want[nwant] = p;
		for (size_t k = 0; k < n; k++)
			if (flips[k].before == p.before && flips[k].after == p.after)
				want[nwant] = (struct order_pair){p.after, p.before};
		nwant++;
	}
	e = explore_order_with(x, want, nwant, &mine, &nmine);
	free(want);
	if (!e && mine) {
		e = explore_differs(x, explore_signature(x, mine, nmine), mine, nmine, ret);
	}
	if (e || !*ret) {
		free(mine);
		return e;
	}
	free(*entries);
	*entries = mine;
	*nentries = nmine;
	return NULL;
}

/* Tries one pair alone; if none is enough, leaves out pairs one after the other while the result
 * stays different. */
static struct err *minimise(struct explorer *x, uint64_t **entries, size_t *nentries,
	struct order_pair **ret, size_t *ret_n)
{
	size_t n;
	struct order_pair *p = flipped_in(x, *entries, *nentries, &n);
	bool other = false;
	struct err *e = NULL;

	for (size_t i = 0; !e && !other && n > 1 && i < n && i < 64; i++) {
		e = try_flips(x, &p[i], 1, entries, nentries, &other);
		if (!e && other) {
			p[0] = p[i];
			n = 1;
		}
	}
	for (size_t i = 0; !e && n > 1 && i < n && n <= 64;) {
		const struct order_pair out = p[i];

		memmove(&p[i], &p[i + 1], (n - i - 1) * sizeof *p);
		e = try_flips(x, p, n - 1, entries, nentries, &other);
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

/* --- telling --- */

static struct err *read_place(struct explorer *x, uint64_t addr, uint64_t size, struct buf *b)
{
	const size_t n = size < COMPARED_MAX ? (size_t)size : COMPARED_MAX;

	buf_clear(b);
	TRY(device_read(x->d, addr, buf_room(b, n), n));
	b->len = n;
	return NULL;
}

static void compare(struct explore_found *f, const struct buf *is, const struct buf *was)
{
	f->at = f->place;
	for (size_t i = 0; i < is->len; i++) {
		if (is->data[i] == was->data[i])
			continue;
		if (!f->bytes++) {
			const size_t from = i & ~(size_t)3,
				     n = is->len - from < 8 ? is->len - from : 8;

			f->at = f->place + from;
			memcpy(f->is, is->data + from, n);
			memcpy(f->was, was->data + from, n);
		}
	}
}

/* Finds the first byte that differs from the result of the order `good`. Memory still has the
 * result of f's order: is_o. */
static struct err *find_place(struct explorer *x, struct explore_found *f,
	const struct device_ordered *is_o, const struct device_ordered *was_o, const uint64_t *good,
	size_t ngood)
{
	const size_t first = explore_first_place(x, is_o, was_o);
	struct buf is = BUF_INIT, was = BUF_INIT;
	struct device_ordered again;
	struct err *e;

	if (first == SIZE_MAX)
		return NULL;
	f->place = is_o->places[first].addr;
	f->place_size = is_o->places[first].size;
	e = read_place(x, f->place, f->place_size, &is);
	if (!e)
		e = explore_execute(x, good, ngood, &again);
	if (!e) {
		device_ordered_free(&again);
		e = read_place(x, f->place, f->place_size, &was);
	}
	if (!e)
		compare(f, &is, &was);
	buf_free(&is);
	buf_free(&was);
	return e;
}

/* Hashes what is in memory, so that another replay can compare; the caller frees *ret. */
static struct err *take_ends(
	struct explorer *x, const struct device_ordered *o, struct order_end **ret)
{
	*ret = xcalloc(o->sums.n + 1, sizeof **ret);
	for (uint64_t i = 0; i < o->sums.n && !x->o->no_save; i++) {
		(*ret)[i] =
			(struct order_end){.addr = o->places[i].addr, .size = o->places[i].size};
		TRY(device_hash_recorded(
			x->d, o->places[i].addr, o->places[i].size, &(*ret)[i].hash));
	}
	return NULL;
}

static struct err *save(
	struct explorer *x, struct explore_found *f, const struct order_end *ends, size_t nends)
{
	const struct order_schedule plan = {.first = x->r->first,
		.last = x->r->last,
		.seqs = f->seqs,
		.n = f->nseqs,
		.ends = ends,
		.nends = nends,
		.live = x->host.known,
		.changes = x->host.c,
		.nchanges = x->host.n};

	f->path = explore_schedule_name(
		x->o->save ? x->o->save : x->en->trace.path, x->o->shard, x->r->nfound + 1);
	return order_rewrite(x->en->trace.reader, &plan, f->path, NULL, NULL);
}

bool explore_is_known(const struct explorer *x, const struct explore_found *f)
{
	if (!x->o->shards)
		return explore_leaves_out(x->r, f);
	for (size_t i = 0; i < x->r->nfound; i++)
		if (explore_is_same(&x->r->found[i], f))
			return true;
	return false;
}

static void drop(struct explore_found *f)
{
	explore_found_free(f);
	*f = (struct explore_found){0};
}

static void keep(struct explorer *x, struct explore_found *f)
{
	for (size_t i = 0; f->nflipped == 1 && i < x->npairs; i++)
		f->again += x->pairs[i].place == f->places[0];
	for (size_t i = 0; f->held && i < x->nearly; i++)
		f->again += x->early[i].place == f->places[0];
	f->again -= f->again > 0; /* not itself */
	f->number = x->at;
	x->r->found = xrealloc(x->r->found, (x->r->nfound + 1) * sizeof *f);
	x->r->found[x->r->nfound++] = *f;
}

/* Checks a finding once more: the recorded order must give its result again, and this order another
 * one. */
static struct err *tell(struct explorer *x, struct explore_found *f)
{
	struct device_ordered o = {0};
	struct order_end *ends = NULL;
	struct err *e;

	TRY(explore_steady(x));
	e = explore_execute(x, f->seqs, f->nseqs, &o);
	if (!e && !explore_is_other(x, &o, &x->base))
		drop(f);
	if (!e && f->seqs)
		e = take_ends(x, &o, &ends);
	if (!e && f->seqs)
		e = find_place(x, f, &o, &x->base, x->recorded, x->nrecorded);
	if (!e && f->seqs && !x->o->no_save)
		e = save(x, f, ends, o.sums.n);
	free(ends);
	device_ordered_free(&o);
	return e;
}

static void name_places(const struct explorer *x, struct explore_found *f)
{
	f->flipped = xcalloc(f->nflipped + 1, sizeof *f->flipped);
	f->places = xcalloc(f->nflipped + 1, sizeof *f->places);
	for (size_t i = 0; i < f->nflipped; i++) {
		f->flipped[i] =
			(struct order_pair){f->as_recorded[i].after, f->as_recorded[i].before};
		f->places[i] = explore_place(x, &f->as_recorded[i]);
	}
}

struct err *explore_found_order(struct explorer *x, uint64_t *entries, size_t n)
{
	struct explore_found f = {.seqs = entries, .nseqs = n};
	struct err *e = minimise(x, &f.seqs, &f.nseqs, &f.as_recorded, &f.nflipped);

	name_places(x, &f);
	if (!e && !explore_is_known(x, &f))
		e = tell(x, &f);
	else if (!e)
		drop(&f);
	if (e || !f.seqs) {
		drop(&f);
		return e;
	}
	keep(x, &f);
	return NULL;
}

/* ---- memory that is not allocated
 * ------------------------------------------------------------------------------------------ */

/* Makes an order of the pair with the lifetime's memory poisoned; *ret NULL: not allowed. */
static struct err *poisoned(struct explorer *x, struct order_pair want, uint64_t lifetime,
	uint64_t **ret, size_t *ret_n)
{
	TRY(explore_order_with(x, &want, 1, ret, ret_n));
	for (size_t i = 0; i < *ret_n; i++)
		if ((*ret)[i] == lifetime)
			(*ret)[i] |= ORDER_POISON;
	return NULL;
}

struct trial {
	struct order_pair good, bad;
	/* NULL: the program does not allow it. Then the recorded order, without poison, is compared
	 * with */
	uint64_t *good_order;
	size_t ngood;
	struct device_ordered good_result;
};

static struct err *compare_trial(struct explorer *x, struct trial *t, struct explore_found *f)
{
	const uint64_t *good = t->good_order ? t->good_order : x->recorded;
	const size_t ngood = t->good_order ? t->ngood : x->nrecorded;
	struct device_ordered bad = {0};
	struct order_end *ends = NULL;
	struct err *e = explore_execute(x, good, ngood, &t->good_result);

	if (!e)
		e = explore_execute(x, f->seqs, f->nseqs, &bad);
	x->r->executed += e ? 0 : 2;
	if (!e && (!explore_is_other(x, &bad, &t->good_result) || explore_is_known(x, f)))
		drop(f);
	if (!e && f->seqs)
		e = take_ends(x, &bad, &ends);
	if (!e && f->seqs)
		e = find_place(x, f, &bad, &t->good_result, good, ngood);
	if (!e && f->seqs && !x->o->no_save)
		e = save(x, f, ends, bad.sums.n);
	free(ends);
	device_ordered_free(&bad);
	device_ordered_free(&t->good_result);
	return e;
}

/* --- launches that overlap --- */

static void *copy_of(const void *p, size_t n)
{
	void *r = xmalloc(n);

	memcpy(r, p, n);
	return r;
}

struct err *explore_hold(struct explorer *x, const struct explore_pair *p)
{
	struct trial t = {.good = p->p};
	struct explore_found f = {.held = p->p.before, .nflipped = 1};
	struct err *e;

	f.nseqs = x->nrecorded;
	f.seqs = copy_of(x->recorded, x->nrecorded * sizeof *f.seqs);
	for (size_t i = 0; i < f.nseqs; i++)
		f.seqs[i] |= f.seqs[i] == p->p.before ? ORDER_POISON : 0;
	f.as_recorded = copy_of(&p->p, sizeof *f.as_recorded);
	f.flipped = xcalloc(1, sizeof *f.flipped);
	*f.flipped = (struct order_pair){p->p.after, p->p.before};
	f.places = copy_of(&p->place, sizeof *f.places);
	e = compare_trial(x, &t, &f);
	if (!e && f.seqs)
		keep(x, &f);
	else
		drop(&f);
	return e;
}

struct err *explore_poison(struct explorer *x, const struct explore_pair *p)
{
	const uint64_t user = p->p.before == p->lifetime ? p->p.after : p->p.before;
	struct trial t = {.good = {user, p->lifetime}, .bad = {p->lifetime, user}};
	struct explore_found f = {.poison = p->lifetime, .nflipped = 1};
	struct err *e;

	if (p->is_birth) {
		t.good = (struct order_pair){p->lifetime, user};
		t.bad = (struct order_pair){user, p->lifetime};
	}
	e = poisoned(x, t.bad, p->lifetime, &f.seqs, &f.nseqs);
	if (!e && f.seqs)
		e = poisoned(x, t.good, p->lifetime, &t.good_order, &t.ngood);
	if (!e && f.seqs) {
		f.as_recorded = xcalloc(1, sizeof *f.as_recorded);
		f.flipped = xcalloc(1, sizeof *f.flipped);
		f.places = xcalloc(1, sizeof *f.places);
		f.always = !t.good_order;
		*f.as_recorded = f.always ? t.bad : t.good;
		*f.flipped = t.bad;
		*f.places = p->place;
		e = compare_trial(x, &t, &f);
	}
	if (!e && f.seqs)
		keep(x, &f);
	else
		drop(&f);
	free(t.good_order);
	return e;
}
