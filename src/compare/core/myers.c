/* SPDX-License-Identifier: Apache-2.0
 *
 * The middle of a shortest way from one sequence to the other is found from both ends at once, then
 * each half is done in the same way. When the ends have not met after LIMIT steps, the half way
 * that got furthest is taken as it is.
 */
#include "compare/core/myers.h"

#include <stdlib.h>
#include "base/buf.h"

enum { LIMIT = 2048 };

struct walk {
	const uint64_t *a, *b;
	int32_t *fore,
		*back; /* by diagonal: the furthest place in a that was reached from an end */
	void (*pair)(void *arg, size_t i, size_t k);
	void *arg;
	uint64_t left; /* comparisons that may be made */
	bool whole;
};
/* a[a0..a1) and b[b0..b1). */
struct box {
	int32_t a0, a1, b0, b1;
};
struct point {
	int32_t x, y;
};

/* One side of the search: diagonals lo to hi have been reached. */
struct front {
	int32_t *v;
	int32_t lo, hi;
};

/* Widens a front by one step; none is what no place is better than. */
static void widen(struct front *f, const struct box *r, int32_t none)
{
	if (f->lo > r->a0 - r->b1)
		f->v[--f->lo - 1] = none;
	else
		f->lo++;
	if (f->hi < r->a1 - r->b0)
		f->v[++f->hi + 1] = none;
	else
		f->hi--;
}

static void spend(struct walk *w, uint64_t comparisons)
{
	w->left -= comparisons < w->left ? comparisons + 1 : w->left;
}

/* A step forwards. True: the fronts have met at *ret. */
static bool go_on(struct walk *w, struct front *f, const struct front *other, const struct box *r,
	bool meets, struct point *ret)
{
	widen(f, r, -1);
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		const int32_t low = f->v[d - 1], high = f->v[d + 1];
		const int32_t from = low < high ? high : low + 1;
		int32_t x = from, y = x - d;

		while (x < r->a1 && y < r->b1 && w->a[x] == w->b[y]) {
			x++;
			y++;
		}
		spend(w, (uint64_t)(x - from));
		f->v[d] = x;
		if (meets && other->lo <= d && d <= other->hi && other->v[d] <= x) {
			*ret = (struct point){x, y};
			return true;
		}
	}
	return false;
}

/* The same from the end backwards. */
static bool go_back(struct walk *w, struct front *f, const struct front *other, const struct box *r,
	bool meets, struct point *ret)
{
	widen(f, r, INT32_MAX);
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		const int32_t low = f->v[d - 1], high = f->v[d + 1];
		const int32_t from = low < high ? low : high - 1;
		int32_t x = from, y = x - d;

		while (r->a0 < x && r->b0 < y && w->a[x - 1] == w->b[y - 1]) {
			x--;
			y--;
		}
		spend(w, (uint64_t)(from - x));
		f->v[d] = x;
		if (meets && other->lo <= d && d <= other->hi && x <= other->v[d]) {
			*ret = (struct point){x, y};
			return true;
		}
	}
	return false;
}

/* The place that the forward front got furthest to. */
static struct point furthest(const struct front *f, const struct box *r)
{
	struct point best = {r->a0, r->b0};

	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		int32_t x = f->v[d] < r->a1 ? f->v[d] : r->a1, y = x - d;

		if (y > r->b1) {
			y = r->b1;
			x = y + d;
		}
		if (x >= r->a0 && y >= r->b0 && x + y > best.x + best.y)
			best = (struct point){x, y};
	}
	return best;
}

/* A point through which the way goes. */
static struct point middle(struct walk *w, const struct box *r)
{
	const int32_t from = r->a0 - r->b0, to = r->a1 - r->b1;
	const bool odd = (from - to) & 1;
	struct front f = {w->fore, from, from}, b = {w->back, to, to};
	struct point p;

	f.v[from] = r->a0;
	b.v[to] = r->a1;
	for (unsigned step = 0; step < LIMIT && (w->left || !step); step++) {
		if (go_on(w, &f, &b, r, odd, &p) || go_back(w, &b, &f, r, !odd, &p))
			return p;
	}
	w->whole = false;
	return furthest(&f, r);
}

static void trim(struct walk *w, struct box *r)
{
	while (r->a0 < r->a1 && r->b0 < r->b1 && w->a[r->a0] == w->b[r->b0])
		w->pair(w->arg, (size_t)r->a0++, (size_t)r->b0++);
	while (r->a0 < r->a1 && r->b0 < r->b1 && w->a[r->a1 - 1] == w->b[r->b1 - 1])
		w->pair(w->arg, (size_t)--r->a1, (size_t)--r->b1);
}

static void solve(struct walk *w, struct box r)
{
	for (;;) {
		struct box left, right;
		struct point p;

		trim(w, &r);
		if (r.a0 == r.a1 || r.b0 == r.b1)
			return;
		p = middle(w, &r);
		left = (struct box){r.a0, p.x, r.b0, p.y};
		right = (struct box){p.x, r.a1, p.y, r.b1};
		if ((left.a0 == left.a1 && left.b0 == left.b1) ||
			(right.a0 == right.a1 && right.b0 == right.b1))
			return; /* nothing in common */
		if (left.a1 - left.a0 + left.b1 - left.b0 <
			right.a1 - right.a0 + right.b1 - right.b0) {
			solve(w, left);
			r = right;
		} else {
			solve(w, right);
			r = left;
		}
	}
}

bool myers(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t most,
	void (*pair)(void *arg, size_t i, size_t k), void *arg)
{
	struct walk w = {.a = a, .b = b, .pair = pair, .arg = arg, .left = most, .whole = true};
	struct box all = {0, (int32_t)n, 0, (int32_t)m};
	int32_t *fore, *back;

	trim(&w, &all);
	if (all.a0 == all.a1 || all.b0 == all.b1)
		return true;
	/* diagonals from -m - 1 to n + 1 */
	fore = xmalloc((n + m + 3) * sizeof *fore);
	back = xmalloc((n + m + 3) * sizeof *back);
	w.fore = fore + m + 1;
	w.back = back + m + 1;
	solve(&w, all);
	free(fore);
	free(back);
	return w.whole;
}
