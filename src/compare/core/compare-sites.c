/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU time by the place in the program that work comes from and by its name, with what only one
 * trace has.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "compare/core/side.h"

struct site {
	struct compare_site is;
	uint64_t key;
	struct pair_sum pairs;
};
struct sites {
	struct site *v;
	size_t n, cap;
	uint32_t *slots; /* number of a site, plus 1 */
	size_t nslots;	 /* a power of two, more than twice n */
	const struct compare_ask *ask;
};

static void put_slot(struct sites *s, uint32_t site)
{
	size_t at = s->v[site].key & (s->nslots - 1);

	while (s->slots[at])
		at = (at + 1) & (s->nslots - 1);
	s->slots[at] = site + 1;
}

static void grow(struct sites *s)
{
	if (2 * s->n + 2 < s->nslots)
		return;
	free(s->slots);
	s->nslots = s->nslots ? 2 * s->nslots : 64;
	s->slots = xcalloc(s->nslots, sizeof *s->slots);
	for (size_t i = 0; i < s->n; i++)
		put_slot(s, (uint32_t)i);
}

static struct site *site_of(struct sites *s, const struct side *of, const struct entry *e, bool b)
{
	const uint64_t place = s->ask->place ? s->ask->place(s->ask->arg, b, e->stack) : 0;
	const uint64_t key = of->names[e->name].hash ^ place * UINT64_C(0x9e3779b97f4a7c15);
	size_t at;

	grow(s);
	for (at = key & (s->nslots - 1); s->slots[at]; at = (at + 1) & (s->nslots - 1))
		if (s->v[s->slots[at] - 1].key == key)
			return &s->v[s->slots[at] - 1];
	MAKE_ROOM(s->v, s->n, s->cap);
	s->v[s->n] = (struct site){.key = key, .is.name = xstrdup(of->names[e->name].text)};
	put_slot(s, (uint32_t)s->n);
	return &s->v[s->n++];
}

static void add(struct sites *s, const struct side *of, const struct entry *e, bool b)
{
	struct compare_site *x = &site_of(s, of, e, b)->is;

	if (b) {
		if (!x->b_count++) {
			x->first_b = e->seq;
			x->stack_b = e->stack;
		}
		x->b_ns = sat_add(x->b_ns, e->gpu_ns);
	} else {
		if (!x->a_count++) {
			x->first_a = e->seq;
			x->stack_a = e->stack;
		}
		x->a_ns = sat_add(x->a_ns, e->gpu_ns);
	}
}

/* A pair of one site in both; a matched command may be called from elsewhere in B. */
static void add_pair(struct sites *s, const struct side *a, const struct entry *e,
	const struct side *b, const struct entry *o)
{
	const size_t at = (size_t)(site_of(s, a, e, false) - s->v); /* the next one may move them */

	if (site_of(s, b, o, true)->key == s->v[at].key)
		pair_add(&s->v[at].pairs, e, o);
}

/* All of it is matched, and its mean change may be noise. */
static bool is_noise(const struct site *s)
{
	return s->pairs.n == s->is.a_count && s->pairs.n == s->is.b_count &&
	       pair_is_noise(&s->pairs, s->is.a_ns, s->is.b_ns);
}

static uint64_t change_of(const struct compare_site *s)
{
	return pair_change(s->a_ns, s->b_ns);
}

static int by_change(const void *x, const void *y)
{
	const struct compare_site *a = x, *b = y;

	if (change_of(a) != change_of(b))
		return change_of(a) < change_of(b) ? 1 : -1;
	if (a->first_a != b->first_a)
		return a->first_a < b->first_a ? -1 : 1;
	return (a->first_b > b->first_b) - (a->first_b < b->first_b);
}

static void give(struct compare *ret, const struct sites *s)
{
	ret->sites = xcalloc(s->n + 1, sizeof *ret->sites);
	ret->nsites = s->n;
	for (size_t i = 0; i < s->n; i++) {
		ret->sites[i] = s->v[i].is;
		ret->sites[i].noise = is_noise(&s->v[i]);
	}
	if (s->n)
		qsort(ret->sites, s->n, sizeof *ret->sites, by_change);
}

void compare_sites(struct compare *ret, const struct side *a, const struct side *b,
	const struct compare_ask *ask)
{
	struct sites s = {.ask = ask};

	if (!ret->timed)
		return;
	for (uint32_t i = 0; i < a->n; i++)
		if (side_is_timed(&a->e[i]))
			add(&s, a, &a->e[i], false);
	for (uint32_t i = 0; i < b->n; i++)
		if (side_is_timed(&b->e[i]))
			add(&s, b, &b->e[i], true);
	for (uint32_t i = 0; i < a->n; i++)
		if (a->e[i].other != SIDE_NONE && side_is_timed(&a->e[i]) &&
			side_is_timed(&b->e[a->e[i].other]))
			add_pair(&s, a, &a->e[i], b, &b->e[a->e[i].other]);
	give(ret, &s);
	free(s.v);
	free(s.slots);
}
