/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of several runs, see runs.h.
 */
#include "compare/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"

struct sample {
	enum runs_by by;
	char *key, *name;
	bool b;
	unsigned run;
	uint64_t count, ns;
	size_t number; /* in order of runs_add() */
};
struct runs_samples {
	struct sample *v;
	size_t n, cap;
};

const char *runs_by_name(enum runs_by by)
{
	static const char *const names[RUNS_BYS] = {"whole", "kernel", "call_site", "range"};

	return (unsigned)by < RUNS_BYS ? names[by] : "?";
}

const char *runs_verdict_name(enum runs_verdict v)
{
	static const char *const names[RUNS_VERDICTS] = {"not known", "noise", "slower", "faster"};

	return (unsigned)v < RUNS_VERDICTS ? names[v] : "?";
}

/* 2 / C(na + nb, na): all of one side on one side of the other. */
static double least_p(unsigned na, unsigned nb)
{
	double p = 2;

	for (unsigned i = 1; i <= na; i++)
		p *= (double)i / (nb + i);
	return fmin(1, p);
}

unsigned runs_fewest(size_t rows)
{
	unsigned n = 1;

	while (least_p(n, n) > RUNS_ALPHA / (double)rows)
		n++;
	return n;
}

void runs_begin(struct runs *ret, unsigned na, unsigned nb)
{
	BUG_ON(!na || !nb || na > RUNS_MOST || nb > RUNS_MOST);
	*ret = (struct runs){.na = na,
		.nb = nb,
		.least_p = least_p(na, nb),
		.samples = xcalloc(1, sizeof *ret->samples)};
}

void runs_add(struct runs *r, const struct runs_sample *s)
{
	struct runs_samples *all = r->samples;

	BUG_ON(s->run >= (s->b ? r->nb : r->na));
	MAKE_ROOM(all->v, all->n, all->cap);
	all->v[all->n] = (struct sample){.by = s->by,
		.key = xstrdup(s->key),
		.name = xstrdup(s->name),
		.b = s->b,
		.run = s->run,
		.count = s->count,
		.ns = s->ns,
		.number = all->n};
	all->n++;
}

/* --- rows --- */

static int by_key(const void *px, const void *py)
{
	const struct sample *x = px, *y = py;
	const int c = x->by != y->by ? (x->by < y->by ? -1 : 1) : strcmp(x->key, y->key);

	if (c || x->b != y->b)
		return c ? c : x->b - y->b;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_number(const void *px, const void *py)
{
	const uint64_t x = *(const uint64_t *)px, y = *(const uint64_t *)py;

	return x < y ? -1 : x > y;
}

static double middle(const uint64_t *v, unsigned n)
{
	return n % 2 ? (double)v[n / 2] : ((double)v[n / 2 - 1] + (double)v[n / 2]) / 2;
}

static void sum_up(struct runs_side *s, const uint64_t *counts, unsigned n)
{
	uint64_t *v = xmalloc(n * sizeof *v);

	memcpy(v, s->ns, n * sizeof *v);
	qsort(v, n, sizeof *v, by_number);
	s->median_ns = middle(v, n);
	s->low_ns = v[0];
	s->high_ns = v[n - 1];
	memcpy(v, counts, n * sizeof *v);
	qsort(v, n, sizeof *v, by_number);
	s->count = v[n / 2];
	s->count_varies = v[0] != v[n - 1];
	free(v);
}

/* A row of n samples with one key. */
static void make_row(struct runs *r, const struct sample *s, size_t n)
{
	struct runs_row *row = &r->row[r->n++];
	uint64_t *ca = xcalloc(r->na, sizeof *ca), *cb = xcalloc(r->nb, sizeof *cb);

	*row = (struct runs_row){.by = s->by,
		.name = xstrdup(s->name),
		.a.ns = xcalloc(r->na, sizeof *row->a.ns),
		.b.ns = xcalloc(r->nb, sizeof *row->b.ns)};
	for (size_t i = 0; i < n; i++) {
		uint64_t *ns = (s[i].b ? row->b.ns : row->a.ns) + s[i].run,
			 *count = (s[i].b ? cb : ca) + s[i].run;

		*ns = sat_add(*ns, s[i].ns);
		*count = sat_add(*count, s[i].count);
	}
	sum_up(&row->a, ca, r->na);
	sum_up(&row->b, cb, r->nb);
	row->p = runs_p(row->a.ns, r->na, row->b.ns, r->nb);
	free(ca);
	free(cb);
}

static void make_rows(struct runs *r)
{
	const struct runs_samples *s = r->samples;

	if (s->n)
		qsort(s->v, s->n, sizeof *s->v, by_key);
	r->row = xcalloc(s->n + 1, sizeof *r->row);
	for (size_t i = 0, end; i < s->n; i = end) {
		for (end = i; end < s->n && s->v[end].by == s->v[i].by &&
			      !strcmp(s->v[end].key, s->v[i].key);)
			end++;
		make_row(r, &s->v[i], end - i);
	}
}

/* --- verdicts --- */

static int by_p(const void *px, const void *py)
{
	const double x = *(const double *)px, y = *(const double *)py;

	return x < y ? -1 : x > y;
}

/* The largest p of n rows that is called a difference; negative: none is. */
static double bound(const struct runs_row *rows, size_t n)
{
	double *p = xmalloc((n + 1) * sizeof *p), ret = -1;

	for (size_t i = 0; i < n; i++)
		p[i] = rows[i].p;
	if (n)
		qsort(p, n, sizeof *p, by_p);
	for (size_t i = 0; i < n; i++)
		if (p[i] <= RUNS_ALPHA * (double)(i + 1) / (double)n)
			ret = p[i];
	free(p);
	return ret;
}

/* How many of all pairs of a run of each have B above A, less those the other way round. */
static int64_t above(const struct runs *r, const struct runs_row *row)
{
	int64_t n = 0;

	for (unsigned i = 0; i < r->na; i++)
		for (unsigned k = 0; k < r->nb; k++)
			n += (row->b.ns[k] > row->a.ns[i]) - (row->b.ns[k] < row->a.ns[i]);
	return n;
}

static enum runs_verdict judge(const struct runs *r, const struct runs_row *row, double most)
{
	if (r->least_p > RUNS_ALPHA)
		return RUNS_NOT_KNOWN;
	if (row->p > RUNS_ALPHA)
		return RUNS_NOISE;
	if (row->p > most)
		return RUNS_NOT_KNOWN;
	return above(r, row) > 0 ? RUNS_SLOWER : RUNS_FASTER;
}

static double change_of(const struct runs_row *row)
{
	return fabs(row->b.median_ns - row->a.median_ns);
}

static int by_change(const void *px, const void *py)
{
	const struct runs_row *x = px, *y = py;

	if (change_of(x) != change_of(y))
		return change_of(x) < change_of(y) ? 1 : -1;
	return strcmp(x->name, y->name);
}

void runs_judge(struct runs *r)
{
	make_rows(r);
	for (size_t i = 0, end; i < r->n; i = end) {
		for (end = i; end < r->n && r->row[end].by == r->row[i].by;)
			end++;
		const double most = bound(&r->row[i], end - i);

		for (size_t k = i; k < end; k++) {
			r->row[k].verdict = judge(r, &r->row[k], most);
			r->by_verdict[r->row[k].by][r->row[k].verdict]++;
		}
		qsort(&r->row[i], end - i, sizeof *r->row, by_change);
	}
}

bool runs_decide(const struct runs *r)
{
	return r->least_p <= RUNS_ALPHA;
}

const struct runs_row *runs_whole(const struct runs *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].by == RUNS_WHOLE && !strcmp(r->row[i].name, name))
			return &r->row[i];
	return NULL;
}

void runs_free(struct runs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->row[i].name);
		free(r->row[i].a.ns);
		free(r->row[i].b.ns);
	}
	free(r->row);
	for (size_t i = 0; r->samples && i < r->samples->n; i++) {
		free(r->samples->v[i].key);
		free(r->samples->v[i].name);
	}
	if (r->samples)
		free(r->samples->v);
	free(r->samples);
	*r = (struct runs){.na = 0};
}
