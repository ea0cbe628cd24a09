/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the work that both traces have took in each: by name, with what single pairs differ by.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "compare/core/side.h"

struct sum {
	struct compare_time t;
	struct pair_sum pairs;
};

bool side_is_timed(const struct entry *e)
{
	return e->gpu_ns != UINT64_MAX && !side_waits(e);
}

void pair_add(struct pair_sum *s, const struct entry *a, const struct entry *b)
{
	const double change = (double)b->gpu_ns - (double)a->gpu_ns;

	s->n++;
	s->squares += change * change;
}

bool pair_is_noise(const struct pair_sum *s, uint64_t a_ns, uint64_t b_ns)
{
	const double n = (double)s->n, mean = ((double)b_ns - (double)a_ns) / n;
	const double variance = n > 1 ? (s->squares - n * mean * mean) / (n - 1) : 0;

	return s->n < 2 || fabs(mean) < 2 * sqrt((variance > 0 ? variance : 0) / n);
}

static void add_pair(struct sum *s, const struct entry *a, const struct entry *b)
{
	if (!s->t.count++) {
		s->t.first_a = a->seq;
		s->t.first_b = b->seq;
		s->t.stack = a->stack;
	}
	s->t.a_ns = sat_add(s->t.a_ns, a->gpu_ns);
	s->t.b_ns = sat_add(s->t.b_ns, b->gpu_ns);
	pair_add(&s->pairs, a, b);
}

static uint64_t change_of(const struct compare_time *t)
{
	return pair_change(t->a_ns, t->b_ns);
}

static int by_change(const void *x, const void *y)
{
	const struct compare_time *a = x, *b = y;

	if (change_of(a) != change_of(b))
		return change_of(a) < change_of(b) ? 1 : -1;
	return (a->first_a > b->first_a) - (a->first_a < b->first_a);
}

static void give(struct compare *ret, const struct side *a, const struct sum *sums)
{
	ret->times = xcalloc(a->nnames + 1, sizeof *ret->times);
	for (uint32_t i = 0; i < a->nnames; i++) {
		if (!sums[i].t.count)
			continue;
		ret->times[ret->ntimes] = sums[i].t;
		ret->times[ret->ntimes].name = xstrdup(a->names[i].text);
		ret->times[ret->ntimes++].noise =
			pair_is_noise(&sums[i].pairs, sums[i].t.a_ns, sums[i].t.b_ns);
	}
	if (ret->ntimes)
		qsort(ret->times, ret->ntimes, sizeof *ret->times, by_change);
}

static uint64_t only(const struct side *s)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->e[i].other == SIDE_NONE && side_is_timed(&s->e[i]))
			ns = sat_add(ns, s->e[i].gpu_ns);
	return ns;
}

void compare_times(struct compare *ret, const struct side *a, const struct side *b)
{
	struct sum *sums;

	ret->a_span_ns = a->end_ns - a->begin_ns;
	ret->b_span_ns = b->end_ns - b->begin_ns;
	ret->timed = a->timed && b->timed;
	if (!ret->timed)
		return;
	sums = xcalloc(a->nnames + 1, sizeof *sums);
	for (uint32_t i = 0; i < a->n; i++) {
		const struct entry *e = &a->e[i], *o;

		if (e->other == SIDE_NONE)
			continue;
		o = &b->e[e->other];
		if (!side_is_timed(e) || !side_is_timed(o))
			continue;
		add_pair(&sums[e->name], e, o);
		ret->a_matched_ns = sat_add(ret->a_matched_ns, e->gpu_ns);
		ret->b_matched_ns = sat_add(ret->b_matched_ns, o->gpu_ns);
	}
	ret->a_only_ns = only(a);
	ret->b_only_ns = only(b);
	give(ret, a, sums);
	free(sums);
}
