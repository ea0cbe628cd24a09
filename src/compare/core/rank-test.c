/* SPDX-License-Identifier: Apache-2.0
 *
 * Mann and Whitney's test. Values that are equal share the mean of their ranks; ranks are doubled,
 * so that they stay integers. The exact distribution counts, for each sum, the ways to choose so
 * many of all ranks (Streitberg and Röhmel, "Exact distributions for permutation and rank tests",
 * 1986).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "compare/runs.h"

struct ranked {
	uint64_t value;
	unsigned twice; /* the rank, doubled */
	bool a;
};

static int by_value(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return a->value < b->value ? -1 : a->value > b->value;
}

/* Ranks all n; returns the sum of t^3 - t over groups of t equal values. */
static double rank_all(struct ranked *v, unsigned n)
{
	double ties = 0;

	qsort(v, n, sizeof *v, by_value);
	for (unsigned i = 0, end; i < n; i = end) {
		for (end = i; end < n && v[end].value == v[i].value; end++)
			;
		const double t = end - i;

		ties += t * t * t - t;
		for (unsigned k = i; k < end; k++)
			v[k].twice = i + end + 1; /* ranks i + 1 to end */
	}
	return ties;
}

/* Of all ways to choose k of the n ranks, the parts whose sums are at most and at least `sum`. */
static void tails(const struct ranked *v, unsigned n, unsigned k, unsigned sum, double *ret_low,
	double *ret_high)
{
	const size_t width = (size_t)n * (n + 1) + 1;
	double *ways = xcalloc((k + 1) * width, sizeof *ways), all = 0;

	ways[0] = 1;
	for (unsigned i = 0; i < n; i++)
		for (unsigned c = i + 1 < k ? i + 1 : k; c; c--)
			for (size_t s = width; s-- > v[i].twice;)
				ways[c * width + s] += ways[(c - 1) * width + s - v[i].twice];
	*ret_low = *ret_high = 0;
	for (size_t s = 0; s < width; s++) {
		const double w = ways[k * width + s];

		all += w;
		*ret_low += s <= sum ? w : 0;
		*ret_high += s >= sum ? w : 0;
	}
	*ret_low /= all;
	*ret_high /= all;
	free(ways);
}

/* By the normal distribution, with the correction for continuity. */
static double normal_p(double sum, double na, double nb, double ties)
{
	const double n = na + nb;
	const double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
	const double off = fabs(sum - na * (n + 1) / 2) - 0.5;

	return variance <= 0 || off <= 0 ? 1 : erfc(off / sqrt(variance) / sqrt(2));
}

double runs_p(const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
	const unsigned n = na + nb;
	struct ranked *v = xcalloc(n + 1, sizeof *v);
	unsigned sum = 0;
	double ties, low, high, p;

	for (unsigned i = 0; i < n; i++)
		v[i] = (struct ranked){.value = i < na ? a[i] : b[i - na], .a = i < na};
	ties = rank_all(v, n);
	for (unsigned i = 0; i < n; i++)
		sum += v[i].a ? v[i].twice : 0;
	if (n > RUNS_EXACT_MOST) {
		p = normal_p(sum / 2.0, na, nb, ties);
	} else {
		tails(v, n, na, sum, &low, &high);
		p = fmin(1, 2 * fmin(low, high));
	}
	free(v);
	return p;
}
