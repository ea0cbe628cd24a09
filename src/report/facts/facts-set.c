/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ranks of a set have in common, and which of them is unlike the others.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "report/facts/fact-list.h"

static void put_whole(struct fact_maker *m, const struct set_stats *x)
{
	fact_add(m, FACT_RUN,
		"%u rank%s: %" PRIu64 " launches, copies and fills; %.3f ms on the set's clock.",
		x->n, FACT_S(x->n), x->work, fact_ms(x->end_ns - x->begin_ns));
	fact_value(m, "ranks", x->n);
	fact_value(m, "work", x->work);
	fact_value(m, "length_ns", x->end_ns - x->begin_ns);
}

static void put_rank(struct fact_maker *m, const struct set_stats *x, const struct set_rank *r)
{
	if (set_rank_used(r))
		fact_add(m, FACT_TIME,
			"Rank %" PRIu64
			", from %.3f to %.3f ms: its devices were busy for %.3f ms (%.1f %%), kernels %.3f, copies %.3f, both at once %.3f; idle for %.3f, %.3f of them because the host was late; the host waited for %.3f.",
			r->rank, fact_ms(r->begin_ns - x->begin_ns),
			fact_ms(r->end_ns - x->begin_ns), fact_ms(r->busy_ns),
			fact_share(r->busy_ns, r->span_ns), fact_ms(r->kernel_ns),
			fact_ms(r->copy_ns), fact_ms(r->overlap_ns), fact_ms(r->idle_ns),
			fact_ms(r->late_ns), fact_ms(r->waits_ns));
	else
		fact_add(m, FACT_TIME,
			"Rank %" PRIu64
			": how busy its devices were is not known; the host waited for %.3f ms.",
			r->rank, fact_ms(r->waits_ns));
	fact_value(m, "rank", r->rank);
	fact_value(m, "busy_ns", r->busy_ns);
	fact_value(m, "idle_ns", r->idle_ns);
	fact_value(m, "late_ns", r->late_ns);
	fact_value(m, "waits_ns", r->waits_ns);
}

/* The last rank to end keeps the others waiting, if they meet. */
static void put_last(struct fact_maker *m, const struct set_stats *x)
{
	const struct set_rank *last = NULL, *first = NULL;

	for (unsigned i = 0; i < x->n; i++) {
		const struct set_rank *r = &x->r[i];

		if (!r->commands)
			continue;
		last = !last || r->end_ns > last->end_ns ? r : last;
		first = !first || r->end_ns < first->end_ns ? r : first;
	}
	if (!last || last == first)
		return;
	fact_add(m, FACT_TIME,
		"Rank %" PRIu64 " was the last to end, %.3f ms behind rank %" PRIu64
		", which was the first.",
		last->rank, fact_ms(last->end_ns - first->end_ns), first->rank);
	fact_value(m, "last_rank", last->rank);
	fact_value(m, "first_rank", first->rank);
	fact_value(m, "behind_ns", last->end_ns - first->end_ns);
}

static void put_row(struct fact_maker *m, const struct set_row *k, unsigned ranks)
{
	char *spread = NULL;

	if (k->ranks > 1 && k->timed)
		spread = xasprintf("; the least %.3f ms on rank %" PRIu64
				   ", the most %.3f ms on rank %" PRIu64,
			fact_ms(k->least_ns), k->least_rank, fact_ms(k->most_ns), k->most_rank);
	fact_add(m, FACT_WORK, "%s: %" PRIu64 " time%s on %" PRIu64 " of %u rank%s, %.3f ms%s.",
		k->name, k->count, FACT_S(k->count), k->ranks, ranks, FACT_S(ranks),
		fact_ms(k->time_ns), spread ? spread : "");
	fact_value(m, "count", k->count);
	fact_value(m, "ranks", k->ranks);
	fact_value(m, "gpu_ns", k->time_ns);
	fact_value(m, "least_ns", k->least_ns);
	fact_value(m, "most_ns", k->most_ns);
	free(spread);
}

static void put_rows(
	struct fact_maker *m, const struct set_rows *rows, unsigned ranks, const char *what)
{
	for (size_t i = 0; i < rows->n && i < FACTS_TOP; i++)
		put_row(m, &rows->v[i], ranks);
	if (rows->n > FACTS_TOP)
		fact_add(m, FACT_WORK, "%zu more %s: tsdb stats --top 0.", rows->n - FACTS_TOP,
			what);
}

void facts_of_set(struct facts *ret, const struct set_stats *x)
{
	struct fact_maker m = {ret, NULL};

	*ret = (struct facts){0};
	put_whole(&m, x);
	for (unsigned i = 0; i < x->n; i++)
		put_rank(&m, x, &x->r[i]);
	put_last(&m, x);
	put_rows(&m, &x->kernels, x->n, "of kernels, copies and fills");
	put_rows(&m, &x->ranges, x->n, "of NVTX ranges");
	facts_sort(ret);
}
