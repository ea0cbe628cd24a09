/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the ranks of a job, see set-stats.h.
 */
#include "state/set-stats.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "state/stats/set-outliers.h"

/* --- rows that several ranks have --- */

static int row_by_name(const void *x, const void *y)
{
	const struct set_row *a = x, *b = y;
	const int order = strcmp(a->name, b->name);

	return order ? order : (a->least_rank > b->least_rank) - (a->least_rank < b->least_rank);
}

static int row_by_time(const void *x, const void *y)
{
	const struct set_row *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return row_by_name(x, y);
}

/* Takes the names of from's rows. */
static void rows_take(struct set_rows *to, struct summary_rows *from, uint64_t rank)
{
	for (size_t i = 0; i < from->n; i++) {
		struct summary_row *r = &from->v[i];

		MAKE_ROOM(to->v, to->n, to->cap);
		to->v[to->n++] = (struct set_row){r->name, r->count, r->timed, r->time_ns, r->bytes,
			1, r->time_ns, rank, r->time_ns, rank};
		r->name = NULL;
	}
}

static void row_sum(struct set_row *a, const struct set_row *b)
{
	a->count += b->count;
	a->timed += b->timed;
	a->time_ns += b->time_ns;
	a->bytes += b->bytes;
}

/* Adds another row of the same rank. */
static void row_add_own(struct set_row *a, const struct set_row *b)
{
	row_sum(a, b);
	a->least_ns = a->most_ns = a->time_ns;
}

/* Adds a row of another rank. */
static void row_add(struct set_row *a, const struct set_row *b)
{
	if (b->timed && (!a->timed || b->least_ns < a->least_ns)) {
		a->least_ns = b->least_ns;
		a->least_rank = b->least_rank;
	}
	if (b->timed && (!a->timed || b->most_ns > a->most_ns)) {
		a->most_ns = b->most_ns;
		a->most_rank = b->most_rank;
	}
	row_sum(a, b);
	a->ranks += b->ranks;
}

/* Makes one row of those with the same name, of each rank or of all; rows are in order of both. */
static void merge(struct set_rows *rows, bool of_rank)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct set_row *last = n ? &rows->v[n - 1] : NULL, *row = &rows->v[i];

		if (!last || strcmp(last->name, row->name) ||
			(of_rank && last->least_rank != row->least_rank)) {
			rows->v[n++] = *row;
			continue;
		}
		if (of_rank)
			row_add_own(last, row);
		else
			row_add(last, row);
		free(row->name);
	}
	rows->n = n;
}

/* Rows are in order of name and rank. */
static void find_outliers(struct set_outliers *to, const struct set_rows *rows)
{
	for (size_t i = 0, n; i < rows->n; i += n) {
		for (n = 1; i + n < rows->n && !strcmp(rows->v[i].name, rows->v[i + n].name);)
			n++;
		set_outliers_find(to, &rows->v[i], n);
	}
	set_outliers_sort(to);
}

/* outliers: NULL: nobody asks for them. */
static void rows_merge(struct set_rows *rows, struct set_outliers *outliers)
{
	if (!rows->n)
		return;
	qsort(rows->v, rows->n, sizeof *rows->v, row_by_name);
	merge(rows, true);
	if (outliers)
		find_outliers(outliers, rows);
	merge(rows, false);
	qsort(rows->v, rows->n, sizeof *rows->v, row_by_time);
}

static void rows_free(struct set_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].name);
	free(rows->v);
}

/* --- ranks --- */

static void add_device(struct set_rank *r, const struct stats_device *d)
{
	if (d->allocated_most > r->allocated_most)
		r->allocated_most = d->allocated_most;
	if (!d->timed)
		return;
	r->span_ns += d->end_ns - d->begin_ns;
	r->busy_ns += d->busy_ns;
	r->kernel_ns += d->kernel_ns;
	r->copy_ns += d->copy_ns;
	r->overlap_ns += d->overlap_ns;
	r->idle_ns += d->idle_ns;
	r->late_ns += d->late_ns;
}

void set_stats_add(struct set_stats *x, uint64_t rank, struct stats *st,
	uint64_t (*time)(const void *clock, uint64_t ns), const void *clock)
{
	struct set_rank *r;

	MAKE_ROOM(x->r, x->n, x->cap);
	r = &x->r[x->n++];
	*r = (struct set_rank){.rank = rank};
	r->known = st->known;
	r->commands = st->commands;
	r->work = st->work;
	r->timed = st->timed;
	r->waits_ns = st->waits.sum;
	for (size_t i = 0; i < st->ndevices; i++)
		add_device(r, &st->devices[i]);
	x->commands += st->commands;
	x->work += st->work;
	x->timed += st->timed;
	rows_take(&x->kernels, &st->sums.kernels, rank);
	rows_take(&x->sites, &st->sums.sites, rank);
	rows_take(&x->ranges, &st->sums.ranges, rank);
	if (!st->commands)
		return;
	r->begin_ns = time(clock, st->begin_ns);
	r->end_ns = time(clock, st->end_ns);
	if (x->commands == st->commands || r->begin_ns < x->begin_ns) /* the first that has any */
		x->begin_ns = r->begin_ns;
	if (r->end_ns > x->end_ns)
		x->end_ns = r->end_ns;
}

void set_stats_end(struct set_stats *x)
{
	rows_merge(&x->kernels, &x->outliers);
	rows_merge(&x->sites, NULL);
	rows_merge(&x->ranges, NULL);
}

void set_stats_free(struct set_stats *x)
{
	free(x->r);
	rows_free(&x->kernels);
	rows_free(&x->sites);
	rows_free(&x->ranges);
	set_outliers_free(&x->outliers);
	*x = (struct set_stats){0};
}
