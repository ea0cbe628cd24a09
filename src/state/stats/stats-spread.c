/* SPDX-License-Identifier: Apache-2.0
 *
 * Spreads of durations in constant memory: a histogram whose rows are 1/32 of a power of two wide.
 */
#include "base/checked.h"
#include "state/stats/stats-parts.h"

/* Below SPREAD_STEPS each value has a row of its own; from there on each power of two has
 * SPREAD_STEPS of them. */
static unsigned row_of(uint64_t ns)
{
	unsigned high, row;

	if (ns < SPREAD_STEPS)
		return (unsigned)ns;
	high = 63u - (unsigned)__builtin_clzll(ns);
	row = (high - 4) * SPREAD_STEPS + (unsigned)((ns >> (high - 5)) & (SPREAD_STEPS - 1));
	return row < SPREAD_ROWS ? row : SPREAD_ROWS - 1;
}

/* The largest value of a row. */
static uint64_t row_end(unsigned row)
{
	const unsigned high = row / SPREAD_STEPS + 4;

	if (row < SPREAD_STEPS)
		return row;
	return (UINT64_C(1) << high) + ((uint64_t)(row % SPREAD_STEPS + 1) << (high - 5)) - 1;
}

void spread_add(struct spread *s, uint64_t ns)
{
	struct stats_spread *is = &s->is;

	is->least = !is->n || ns < is->least ? ns : is->least;
	is->most = ns > is->most ? ns : is->most;
	is->sum = sat_add(is->sum, ns);
	is->n++;
	s->rows[row_of(ns)]++;
}

/* A value that `parts` of 100 of all do not exceed. */
static uint64_t quantile(const struct spread *s, unsigned parts)
{
	const uint64_t rank = s->is.n / 100 * parts + (s->is.n % 100 * parts + 99) / 100;
	uint64_t seen = 0;

	for (unsigned row = 0; row < SPREAD_ROWS; row++) {
		seen += s->rows[row];
		if (seen >= rank) {
			const uint64_t v = row_end(row);

			return v > s->is.most ? s->is.most : v;
		}
	}
	return s->is.most;
}

struct stats_spread spread_of(const struct spread *s)
{
	struct stats_spread is = s->is;

	if (is.n) {
		is.half = quantile(s, 50);
		is.p90 = quantile(s, 90);
		is.p99 = quantile(s, 99);
	}
	return is;
}
