/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory of one trace is which of the other. First by use: an argument of a launch, or a side
 * of a copy, that is an address of an area in A and of another in B at the same offset is a vote
 * that they are the same; most votes win, of equal ones the earliest. What was used by nothing is
 * paired by kind, size and allocating place, in the order of allocation. Votes are of all commands
 * that both have, from the beginning of the traces on, so one call that passes another buffer does
 * not decide.
 */
#include <stdlib.h>
#include <string.h>
#include "numeric/core/numeric-private.h"

enum { VOTES_MOST = 16u << 20 };

struct vote {
	uint32_t a, b;
	uint64_t first; /* number of the first one */
	uint64_t n;
};
struct votes {
	struct vote *v;
	size_t n, cap;
	uint64_t given;
};

static void vote(struct votes *l, const struct numeric_side *a, const struct work *x,
	const struct numeric_side *b, const struct work *y)
{
	for (size_t i = 0, k = 0; i < x->nuses && k < y->nuses;) {
		const struct area_use *u = &a->uses[x->use + i], *w = &b->uses[y->use + k];

		if (u->slot == w->slot) {
			if (u->off == w->off && l->n < VOTES_MOST) {
				MAKE_ROOM(l->v, l->n, l->cap);
				l->v[l->n++] = (struct vote){u->area, w->area, l->given++, 1};
			}
			i++;
			k++;
		} else if ((x->kind == SBT_LAUNCH) == (u->slot < w->slot)) {
			i++; /* slots of launches go up, those of copies down */
		} else {
			k++;
		}
	}
}

static int by_pair(const void *pa, const void *pb)
{
	const struct vote *x = pa, *y = pb;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_votes(const void *pa, const void *pb)
{
	const struct vote *x = pa, *y = pb;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void count_votes(struct votes *l)
{
	size_t out = 0;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof *l->v, by_pair);
	for (size_t i = 1; i < l->n; i++) {
		if (l->v[i].a == l->v[out].a && l->v[i].b == l->v[out].b)
			l->v[out].n++;
		else
			l->v[++out] = l->v[i];
	}
	l->n = out + 1;
	qsort(l->v, l->n, sizeof *l->v, by_votes);
}

static void join(struct numeric_side *a, uint32_t i, struct numeric_side *b, uint32_t k)
{
	a->areas[i].twin = k;
	b->areas[k].twin = i;
}

static void by_use(
	struct numeric_side *a, struct numeric_side *b, const struct numeric_pair *pairs, size_t n)
{
	struct votes l = {0};

	for (size_t i = 0; i < n; i++) {
		const struct work *x = side_work(a, pairs[i].a), *y = side_work(b, pairs[i].b);

		if (x && y && x->kind == y->kind)
			vote(&l, a, x, b, y);
	}
	count_votes(&l);
	for (size_t i = 0; i < l.n; i++)
		if (a->areas[l.v[i].a].twin == NUMERIC_NONE &&
			b->areas[l.v[i].b].twin == NUMERIC_NONE)
			join(a, l.v[i].a, b, l.v[i].b);
	free(l.v);
}

/* How much two areas have to have in common: all, all but the place, all but the size. */
enum likeness { LIKE_ALL, LIKE_SIZE, LIKE_PLACE, LIKENESSES };

static bool are_alike(const struct area *x, const struct area *y, enum likeness how)
{
	if (x->mem != y->mem || (!x->name != !y->name))
		return false;
	if (x->name)
		return how == LIKE_ALL && !strcmp(x->name, y->name);
	if (x->device != y->device)
		return false;
	return (how == LIKE_PLACE || x->size == y->size) &&
	       (how == LIKE_SIZE || x->place == y->place);
}

/* Both go up in order of allocation. An area that finds none does not move `from`. */
static void by_likeness(struct numeric_side *a, struct numeric_side *b, enum likeness how)
{
	for (uint32_t i = 0; i < a->nareas; i++) {
		if (a->areas[i].twin != NUMERIC_NONE)
			continue;
		for (uint32_t k = 0; k < b->nareas; k++) {
			if (b->areas[k].twin != NUMERIC_NONE ||
				!are_alike(&a->areas[i], &b->areas[k], how))
				continue;
			join(a, i, b, k);
			break;
		}
	}
}

void areas_pair(
	struct numeric_side *a, struct numeric_side *b, const struct numeric_pair *pairs, size_t n)
{
	by_use(a, b, pairs, n);
	for (unsigned how = 0; how < LIKENESSES; how++)
		by_likeness(a, b, (enum likeness)how);
}
