/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that are unlike the others in one row, see set-stats.h. Measured by the median and the
 * median of the distances to it: one rank that is far off moves neither.
 */
#include <stdlib.h>
#include "base/buf.h"
#include "base/checked.h"
#include "state/stats/set-outliers.h"

#define RANKS_LEAST 8	  /* of fewer no rank stands out */
#define SPREADS 8	  /* distance, in median distances */
#define SHARE_LEAST 5	  /* and in a part of the median: a fifth */
#define OUTLIERS_MAX 1000 /* kept */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof *v, by_number);
	return v[n / 2];
}

/* What is usual among the n values. */
struct usual {
	uint64_t middle, spread;
};

static struct usual usual_of(uint64_t *v, size_t n)
{
	struct usual u = {.middle = median(v, n)};

	for (size_t i = 0; i < n; i++)
		v[i] = distance(v[i], u.middle);
	u.spread = median(v, n);
	return u;
}

static bool is_far(const struct usual *u, uint64_t value)
{
	const uint64_t d = distance(value, u->middle);

	return d > sat_mul(u->spread, SPREADS) && d > u->middle / SHARE_LEAST;
}

static void add(struct set_outliers *to, const struct set_row *row, const struct usual *time,
	const struct usual *count)
{
	if (to->n == OUTLIERS_MAX)
		return;
	MAKE_ROOM(to->v, to->n, to->cap);
	to->v[to->n++] = (struct set_outlier){.name = xstrdup(row->name),
		.rank = row->least_rank,
		.time_ns = row->time_ns,
		.usual_ns = time->middle,
		.count = row->count,
		.usual_count = count->middle};
}

void set_outliers_find(struct set_outliers *to, const struct set_row *rows, size_t n)
{
	uint64_t *v;
	struct usual time, count;

	if (n < RANKS_LEAST)
		return;
	v = xcalloc(n, sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = rows[i].time_ns;
	time = usual_of(v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = rows[i].count;
	count = usual_of(v, n);
	free(v);
	for (size_t i = 0; i < n; i++)
		if (is_far(&time, rows[i].time_ns) ||
			(!count.spread && rows[i].count != count.middle))
			add(to, &rows[i], &time, &count);
}

static int by_distance(const void *a, const void *b)
{
	const struct set_outlier *x = a, *y = b;
	const uint64_t dx = distance(x->time_ns, x->usual_ns),
		       dy = distance(y->time_ns, y->usual_ns);

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

void set_outliers_sort(struct set_outliers *o)
{
	if (o->n)
		qsort(o->v, o->n, sizeof *o->v, by_distance);
}

void set_outliers_free(struct set_outliers *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->v[i].name);
	free(o->v);
}
