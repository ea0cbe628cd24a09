/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands are that have no counterpart: first those that are elsewhere (moved,
 * reordered), then the same ones with another shape, then others called from the same place; the
 * rest is gone or new. What belongs together by one of these rules is no longer looked at by the
 * next.
 */
#include <stdlib.h>
#include "base/buf.h"
#include "compare/core/myers.h"
#include "compare/core/side.h"

enum { NEAR = 256, LOOK_MOST = 1024, COMPARISONS = 1 << 24 };

/* An entry without a counterpart. */
struct lone {
	uint32_t i;    /* in its lane */
	uint32_t at;   /* in A's lane: of B, behind how many of A's it comes */
	uint32_t pair; /* the lone of the other side, plus 1; 0: none */
	uint32_t both; /* in A's lane, plus 1: the last one in front that both have; 0: none */
	enum compare_what what;
};
struct lones {
	struct lone *v;
	uint32_t n, cap;
};
struct sorter {
	struct compare *ret;
	const struct alignment *al;
	const struct compare_ask *ask;
	const struct lane_pair *l;
	struct lones a, b;
	size_t cap;
};

static struct entry *in_a(const struct sorter *s, uint32_t i)
{
	return &s->al->a->e[s->l->a[i]];
}

static struct entry *in_b(const struct sorter *s, uint32_t k)
{
	return &s->al->b->e[s->l->b[k]];
}

/* --- finding them --- */

static void add_lone(struct lones *l, uint32_t i, uint32_t at, uint32_t both)
{
	MAKE_ROOM(l->v, l->n, l->cap);
	l->v[l->n++] = (struct lone){.i = i, .at = at, .both = both};
}

/* Entries of both lanes go up together. */
static void find_lones(struct sorter *s)
{
	uint32_t i = 0, k = 0, both = 0;

	while (i < s->l->na || k < s->l->nb) {
		if (i < s->l->na && in_a(s, i)->other == SIDE_NONE) {
			add_lone(&s->a, i, i, both);
			i++;
		} else if (k < s->l->nb && in_b(s, k)->other == SIDE_NONE) {
			add_lone(&s->b, k, i, both);
			k++;
		} else {
			both = ++i;
			k++;
		}
	}
}

static void pair_up(struct sorter *s, uint32_t x, uint32_t y, enum compare_what what)
{
	s->a.v[x].pair = y + 1;
	s->b.v[y].pair = x + 1;
	s->a.v[x].what = s->b.v[y].what = what;
}

/* --- the same command elsewhere --- */

static void find_elsewhere(struct sorter *s)
{
	uint32_t begin = 0;

	for (uint32_t x = 0; x < s->a.n; x++) {
		const struct entry *e = in_a(s, s->a.v[x].i);
		const uint32_t at = s->a.v[x].at;

		while (begin < s->b.n && s->b.v[begin].at + NEAR < at)
			begin++;
		for (uint32_t y = begin; y < s->b.n && y - begin < LOOK_MOST; y++) {
			const struct entry *o = in_b(s, s->b.v[y].i);

			if (s->b.v[y].at > at + NEAR)
				break;
			if (s->b.v[y].pair || o->key != e->key)
				continue;
			pair_up(s, x, y,
				align_same_stream(s->al, e->stream, o->stream) ? COMPARE_REORDERED
									       : COMPARE_MOVED);
			break;
		}
	}
}

/* --- within one gap --- */

/* Lones of a gap that are not paired yet, with what they are compared by. */
struct gap {
	struct sorter *s;
	uint32_t *x, *y; /* numbers of lones */
	uint64_t *kx, *ky;
	uint32_t nx, ny;
	enum compare_what what;
};

static void pair_in_gap(void *arg, size_t i, size_t k)
{
	struct gap *g = arg;
	const struct entry *e = in_a(g->s, g->s->a.v[g->x[i]].i);

	if (g->kx[i]) /* 0: it is compared by nothing */
		pair_up(g->s, g->x[i], g->y[k], side_waits(e) ? COMPARE_WAIT_OTHER : g->what);
}

static uint64_t place_of(const struct sorter *s, const struct entry *e, bool b)
{
	const unsigned kind = e->kind == SBT_GRAPH_LAUNCH ? SBT_LAUNCH : e->kind;
	uint64_t place = 1; /* without stacks the order alone decides */

	if (e->stack)
		place = s->ask->place ? s->ask->place(s->ask->arg, b, e->stack) : 0;
	return place && !side_waits(e) ? place ^ (uint64_t)kind << 56 : 0;
}

static uint64_t gap_key(const struct gap *g, const struct entry *e, bool b)
{
	return g->what == COMPARE_RESHAPED ? (UINT64_C(1) << 32) + e->weak : place_of(g->s, e, b);
}

static void fill_gap(struct gap *g, uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1)
{
	const struct sorter *s = g->s;

	g->nx = g->ny = 0;
	for (uint32_t x = x0; x < x1; x++) {
		if (s->a.v[x].pair)
			continue;
		g->kx[g->nx] = gap_key(g, in_a(s, s->a.v[x].i), false);
		g->x[g->nx++] = x;
	}
	for (uint32_t y = y0; y < y1; y++) {
		if (s->b.v[y].pair)
			continue;
		g->ky[g->ny] = gap_key(g, in_b(s, s->b.v[y].i), true);
		g->y[g->ny++] = y;
	}
}

static void sort_gap(struct sorter *s, uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1)
{
	static const enum compare_what rules[] = {COMPARE_RESHAPED, COMPARE_REPLACED};
	struct gap g = {.s = s};

	if (x0 == x1 || y0 == y1)
		return;
	g.x = xmalloc((x1 - x0) * sizeof *g.x);
	g.y = xmalloc((y1 - y0) * sizeof *g.y);
	g.kx = xmalloc((x1 - x0) * sizeof *g.kx);
	g.ky = xmalloc((y1 - y0) * sizeof *g.ky);
	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
		g.what = rules[i];
		fill_gap(&g, x0, x1, y0, y1);
		myers(g.kx, g.nx, g.ky, g.ny, COMPARISONS, pair_in_gap, &g);
	}
	free(g.x);
	free(g.y);
	free(g.kx);
	free(g.ky);
}

/* Goes through gaps: lones of both sides between two commands that both have. */
static void sort_gaps(struct sorter *s)
{
	uint32_t x = 0, y = 0;

	while (x < s->a.n || y < s->b.n) {
		const uint32_t x0 = x, y0 = y;
		uint32_t at = x < s->a.n ? s->a.v[x].at : UINT32_MAX;

		if (y < s->b.n && s->b.v[y].at < at)
			at = s->b.v[y].at;
		/* A's come first, so B's of the same gap lie behind the last of them */
		while (x < s->a.n && s->a.v[x].at == at + (x - x0))
			x++;
		while (y < s->b.n && s->b.v[y].at == at + (x - x0))
			y++;
		sort_gap(s, x0, x, y0, y);
	}
}

/* Names a run of unpaired ones next to each other: waits are a kind of their own where there is
 * nothing else. */
static void name_runs(struct lones *l, const uint32_t *lane, const struct entry *e,
	enum compare_what what, enum compare_what of_waits)
{
	for (uint32_t x = 0, n; x < l->n; x += n) {
		bool waits = true;

		for (n = 0; x + n < l->n && !l->v[x + n].pair && l->v[x + n].i == l->v[x].i + n;
			n++)
			waits = waits && side_waits(&e[lane[l->v[x + n].i]]);
		for (uint32_t i = 0; i < n; i++)
			l->v[x + i].what = waits ? of_waits : what;
		n = n ? n : 1;
	}
}

static void name_rest(struct sorter *s)
{
	name_runs(&s->a, s->l->a, s->al->a->e, COMPARE_REMOVED, COMPARE_WAIT_GONE);
	name_runs(&s->b, s->l->b, s->al->b->e, COMPARE_INSERTED, COMPARE_WAIT_ADDED);
}

/* --- differences --- */

static struct compare_side side_of(const struct entry *e)
{
	return (struct compare_side){.first = e->seq,
		.last = e->seq,
		.count = 1,
		.stream = e->stream,
		.stack = e->stack};
}

/* Says of a difference what both have in front of it. both: as in struct lone. */
static void set_before(
	const struct sorter *s, struct compare_difference *d, uint32_t in_a_lane, uint32_t of_b)
{
	if (in_a_lane)
		d->a.before = in_a(s, in_a_lane - 1)->seq;
	if (of_b)
		d->b.before = s->al->b->e[in_a(s, of_b - 1)->other].seq;
}

static struct compare_difference *add_difference(struct sorter *s, enum compare_what what)
{
	struct compare *c = s->ret;

	MAKE_ROOM(c->d, c->n, s->cap);
	c->d[c->n] = (struct compare_difference){
		.what = what, .a = {.stream = SBT_NO_ID}, .b = {.stream = SBT_NO_ID}};
	return &c->d[c->n++];
}

/* A lone, and those right behind it that are the same kind of difference. Returns how many. */
static uint32_t add_run(struct sorter *s, uint32_t from, bool b)
{
	const struct lones *l = b ? &s->b : &s->a;
	struct compare_difference *d = add_difference(s, l->v[from].what);
	const struct entry *e = b ? s->al->b->e : s->al->a->e;
	const uint32_t *lane = b ? s->l->b : s->l->a;
	struct compare_side *side = b ? &d->b : &d->a;
	uint32_t n = 1;

	*side = side_of(&e[lane[l->v[from].i]]);
	set_before(s, d, l->v[from].both, l->v[from].both);
	while (from + n < l->n && l->v[from + n].what == d->what && !l->v[from + n].pair &&
		l->v[from + n].i == l->v[from].i + n) {
		side->last = e[lane[l->v[from + n].i]].seq;
		side->count++;
		n++;
	}
	return n;
}

static void add_pair(struct sorter *s, const struct lone *x)
{
	struct compare_difference *d = add_difference(s, x->what);
	const struct lone *y = &s->b.v[x->pair - 1];

	d->a = side_of(in_a(s, x->i));
	d->b = side_of(in_b(s, y->i));
	set_before(s, d, x->both, y->both);
}

/* Where a run that only B has comes: right behind what is in front of it in B. */
static uint64_t order_of_run(const struct sorter *s, uint32_t y)
{
	const struct lone *l = &s->b.v[y], *front = y ? l - 1 : NULL;

	if (front && front->i + 1 == l->i && front->pair &&
		(front->what == COMPARE_RESHAPED || front->what == COMPARE_REPLACED))
		return 2 * in_a(s, s->a.v[front->pair - 1].i)->seq + 1;
	return l->both ? 2 * in_a(s, l->both - 1)->seq + 1 : 1;
}

static void add_lones(struct sorter *s)
{
	for (uint32_t x = 0; x < s->a.n;) {
		s->ret->by_what[s->a.v[x].what]++;
		if (s->a.v[x].pair) {
			add_pair(s, &s->a.v[x++]);
			continue;
		}
		const uint32_t n = add_run(s, x, false);

		s->ret->by_what[s->a.v[x].what] += n - 1;
		x += n;
	}
	for (uint32_t y = 0; y < s->b.n;) {
		if (s->b.v[y].pair) {
			y++;
			continue;
		}
		const uint32_t n = add_run(s, y, true);

		s->ret->d[s->ret->n - 1].order = order_of_run(s, y);
		s->ret->by_what[s->b.v[y].what] += n;
		y += n;
	}
}

/* --- what waits are for --- */

/* Whether two waits that belong together are for points that do not. */
static bool waits_differ(const struct sorter *s, const struct entry *e, const struct entry *o)
{
	if (!side_waits(e) || (e->ref == SIDE_NONE && o->ref == SIDE_NONE))
		return false;
	if (e->ref == SIDE_NONE || o->ref == SIDE_NONE)
		return true;
	/* a record that is itself a difference is reported as one */
	if (s->al->a->e[e->ref].other == SIDE_NONE || s->al->b->e[o->ref].other == SIDE_NONE)
		return false;
	return s->al->a->e[e->ref].other != o->ref;
}

static void check_waits(struct sorter *s)
{
	uint32_t both = 0, now = 0;

	for (uint32_t i = 0; i < s->l->na; i++, both = now) {
		const struct entry *e = in_a(s, i);
		const struct entry *o = e->other == SIDE_NONE ? NULL : &s->al->b->e[e->other];
		struct compare_difference *d;

		now = o ? i + 1 : both;
		if (!o || !waits_differ(s, e, o))
			continue;
		d = add_difference(s, COMPARE_WAIT_OTHER);
		d->a = side_of(e);
		d->b = side_of(o);
		set_before(s, d, both, both);
		s->ret->by_what[COMPARE_WAIT_OTHER]++;
	}
}

/* --- all --- */

/* Where in the program it is, by A's numbers: what only B has is right behind what is in front. */
static uint64_t place_in_a(const struct compare_difference *d)
{
	return d->a.count ? 2 * d->a.first : d->order;
}

static int by_place(const void *x, const void *y)
{
	const struct compare_difference *a = x, *b = y;
	const uint64_t m = place_in_a(a), n = place_in_a(b);

	if (m != n)
		return m < n ? -1 : 1;
	return (a->b.first > b->b.first) - (a->b.first < b->b.first);
}

void classify(struct compare *ret, struct alignment *al, const struct compare_ask *ask)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < al->nlanes; i++) {
		struct sorter s = {
			.ret = ret, .al = al, .ask = ask, .l = &al->lanes[i], .cap = cap};

		find_lones(&s);
		find_elsewhere(&s);
		sort_gaps(&s);
		name_rest(&s);
		add_lones(&s);
		check_waits(&s);
		cap = s.cap;
		free(s.a.v);
		free(s.b.v);
	}
	if (ret->n)
		qsort(ret->d, ret->n, sizeof *ret->d, by_place);
	if (ret->n > COMPARE_MAX) {
		ret->more = ret->n - COMPARE_MAX;
		ret->n = COMPARE_MAX;
	}
}
