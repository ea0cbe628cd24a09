/* SPDX-License-Identifier: Apache-2.0
 *
 * Several runs a side. p against tables of Mann and Whitney's test and against all permutations
 * counted one by one; verdicts on planted times; a thousand twins that are noise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "compare/runs.h"

static uint64_t next(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *x >> 33;
}

static bool is_near(double x, double y)
{
	return fabs(x - y) < 1e-9;
}

/* --- p --- */

/* Twice how far the sum of midranks of the chosen is from its mean; counts values, knows no ranks.
 */
static int64_t off_mean(const uint64_t *v, unsigned n, unsigned chosen)
{
	int64_t d = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; chosen >> i & 1 && k < n; k++)
			if (!(chosen >> k & 1))
				d += (v[i] > v[k]) - (v[i] < v[k]);
	return d;
}

static double p_by_hand(const uint64_t *v, unsigned n, unsigned na)
{
	const int64_t own = off_mean(v, n, (1u << na) - 1);
	double all = 0, low = 0, high = 0;

	for (unsigned m = 0; m < 1u << n; m++) {
		if ((unsigned)__builtin_popcount(m) != na)
			continue;
		all++;
		low += off_mean(v, n, m) <= own;
		high += off_mean(v, n, m) >= own;
	}
	return fmin(1, 2 * fmin(low, high) / all);
}

static void exact(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t x = seed, v[10];
		const unsigned na = 1 + (unsigned)(next(&x) % 5), nb = 1 + (unsigned)(next(&x) % 5);
		const uint64_t values = 2 + next(&x) % 20; /* few: ties */

		for (unsigned i = 0; i < na + nb; i++)
			v[i] = next(&x) % values;
		assert_true(is_near(runs_p(v, na, v + na, nb), p_by_hand(v, na + nb, na)));
	}
}

/* The least U that is no difference at 5 %, two-sided: Mann and Whitney's table. */
static void table(void **state)
{
	static const struct {
		unsigned n, m, critical; /* U up to this is a difference */
	} of[] = {{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {10, 10, 23},
		{12, 12, 37}, {20, 20, 127}, {5, 8, 6}, {3, 5, 0}};
	(void)state;

	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (unsigned u = of[i].critical; u <= of[i].critical + 1; u++) {
			uint64_t a[20], b[20];
			unsigned left = u;

			/* b: 100, 200 ...; a above k of b gives k to U */
			for (unsigned k = 0; k < of[i].m; k++)
				b[k] = 100 * (k + 1);
			for (unsigned k = 0; k < of[i].n; k++) {
				const unsigned over = left < of[i].m ? left : of[i].m;

				a[k] = 100 * over + 1 + k;
				left -= over;
			}
			assert_int_equal(left, 0);
			assert_int_equal(
				runs_p(a, of[i].n, b, of[i].m) <= 0.05, u == of[i].critical);
		}
}

/* Beyond RUNS_EXACT_MOST the normal distribution: near the exact one at the border. */
static void normal(void **state)
{
	uint64_t x = 7, a[40], b[40];

	(void)state;
	for (unsigned t = 0; t < 50; t++) {
		for (unsigned i = 0; i < 21; i++) {
			a[i] = next(&x) % 1000;
			b[i] = next(&x) % 1000 + 10 * t;
		}
		const double p = runs_p(a, 20, b, 20), q = runs_p(a, 20, b, 21);

		assert_true(fabs(runs_p(b, 21, a, 20) - q) < 1e-12);
		a[20] = a[0];
		assert_true(q >= 0 && q <= 1 && fabs(p - q) < 0.25);
	}
	for (unsigned i = 0; i < 40; i++)
		a[i] = b[i] = 5;
	assert_true(is_near(runs_p(a, 40, b, 40), 1));
	assert_true(is_near(runs_p(a, 3, b, 3), 1));
}

/* --- rows --- */

static void add(struct runs *r, enum runs_by by, const char *name, bool b, unsigned run,
	uint64_t count, uint64_t ns)
{
	runs_add(r, &(struct runs_sample){by, name, name, b, run, count, ns});
}

static const struct runs_row *row_of(const struct runs *r, enum runs_by by, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].by == by && !strcmp(r->row[i].name, name))
			return &r->row[i];
	fail();
	return NULL;
}

static void planted(void **state)
{
	static const uint64_t slow_a[5] = {100, 103, 101, 99, 102},
			      slow_b[5] = {110, 112, 109, 111, 113},
			      noise_a[5] = {50, 70, 60, 55, 65}, noise_b[5] = {58, 66, 52, 71, 61};
	struct runs r;

	(void)state;
	runs_begin(&r, 5, 5);
	for (unsigned i = 0; i < 5; i++) {
		add(&r, RUNS_KERNEL, "slow", false, i, 4, slow_a[i]);
		add(&r, RUNS_KERNEL, "slow", true, i, 4, slow_b[i]);
		add(&r, RUNS_KERNEL, "noise", false, i, i, noise_a[i]);
		add(&r, RUNS_KERNEL, "noise", true, i, 2, noise_b[i] / 2);
		add(&r, RUNS_KERNEL, "noise", true, i, 2, noise_b[i] - noise_b[i] / 2);
		add(&r, RUNS_RANGE, "slow", false, i, 1, slow_b[i]);
		add(&r, RUNS_RANGE, "slow", true, i, 1, slow_a[i]);
	}
	add(&r, RUNS_SITE, "once", true, 3, 1, 7);
	runs_judge(&r);
	assert_int_equal(r.n, 4);
	assert_true(runs_decide(&r) && is_near(r.least_p, 2 / 252.0));
	const struct runs_row *slow = row_of(&r, RUNS_KERNEL, "slow"),
			      *noise = row_of(&r, RUNS_KERNEL, "noise");

	assert_int_equal(slow->verdict, RUNS_SLOWER);
	assert_true(is_near(slow->p, 2 / 252.0));
	assert_true(slow->a.median_ns == 101 && slow->b.median_ns == 111);
	assert_int_equal(slow->a.low_ns, 99);
	assert_int_equal(slow->b.high_ns, 113);
	assert_true(slow->a.count == 4 && !slow->a.count_varies);
	assert_int_equal(noise->verdict, RUNS_NOISE);
	assert_true(noise->b.median_ns == 61 && noise->b.count == 4 && !noise->b.count_varies);
	assert_true(noise->a.count == 2 && noise->a.count_varies);
	assert_int_equal(row_of(&r, RUNS_RANGE, "slow")->verdict, RUNS_FASTER);
	assert_int_equal(row_of(&r, RUNS_SITE, "once")->verdict, RUNS_NOISE);
	assert_true(row_of(&r, RUNS_SITE, "once")->b.high_ns == 7 &&
		    row_of(&r, RUNS_SITE, "once")->b.low_ns == 0);
	assert_int_equal(r.by_verdict[RUNS_KERNEL][RUNS_SLOWER], 1);
	assert_ptr_equal(&r.row[0], slow); /* the largest change first */
	runs_free(&r);
}

/* However far apart they are: three runs a side cannot tell, and one row of many may not. */
static void too_few(void **state)
{
	struct runs r;

	(void)state;
	assert_int_equal(runs_fewest(1), 4);
	assert_int_equal(runs_fewest(7), 6); /* 2 / 252 > 0.05 / 7 > 2 / 924 */
	runs_begin(&r, 3, 3);
	for (unsigned i = 0; i < 3; i++) {
		add(&r, RUNS_KERNEL, "k", false, i, 1, 100 + i);
		add(&r, RUNS_KERNEL, "k", true, i, 1, 900000 + i);
	}
	runs_judge(&r);
	assert_false(runs_decide(&r));
	assert_true(is_near(r.least_p, 0.1));
	assert_int_equal(r.row[0].verdict, RUNS_NOT_KNOWN);
	runs_free(&r);
	/* four a side can give p = 2/70: enough for one row, and for all of ten that agree, not for
	 * one of ten */
	for (unsigned agree = 1; agree <= 10; agree += 9) {
		runs_begin(&r, 4, 4);
		for (unsigned i = 0; i < 4; i++)
			for (unsigned k = 0; k < 10; k++) {
				const char name[2] = {(char)('a' + k), 0};

				add(&r, RUNS_KERNEL, name, false, i, 1, 100 + i);
				add(&r, RUNS_KERNEL, name, true, i, 1,
					k < agree ? 200 + i : 100 + i);
			}
		runs_judge(&r);
		assert_int_equal(row_of(&r, RUNS_KERNEL, "a")->verdict,
			agree == 10 ? RUNS_SLOWER : RUNS_NOT_KNOWN);
		assert_int_equal(row_of(&r, RUNS_KERNEL, "j")->verdict,
			agree == 10 ? RUNS_SLOWER : RUNS_NOISE);
		runs_free(&r);
	}
}

/* A time with a long tail, as those of kernels: the sum of a floor and a few rare delays. */
static uint64_t noisy(uint64_t *x)
{
	return 1000 + next(x) % 50 + next(x) % 50 + (next(x) % 10 ? 0 : next(x) % 2000);
}

/* Twins are accused in at most 5 % of all cases, however many rows they have; a kernel that is 20 %
 * slower is found in most. */
static void twins(void **state)
{
	enum { CASES = 1000, ROWS = 20 };
	unsigned accused = 0, found = 0;
	uint64_t x = 42;

	(void)state;
	for (unsigned c = 0; c < 2 * CASES; c++) {
		const unsigned n = 6 + (unsigned)(next(&x) % 6);
		struct runs r;

		runs_begin(&r, n, n);
		for (unsigned i = 0; i < 2 * n; i++)
			for (unsigned k = 0; k < ROWS; k++) {
				const char name[2] = {(char)('a' + k), 0};
				const bool slow = c >= CASES && i >= n && !k;

				add(&r, RUNS_KERNEL, name, i >= n, i % n, 1,
					noisy(&x) * (slow ? 6 : 5));
			}
		runs_judge(&r);
		if (c < CASES)
			accused += r.by_verdict[RUNS_KERNEL][RUNS_SLOWER] +
					   r.by_verdict[RUNS_KERNEL][RUNS_FASTER] >
				   0;
		else
			found += row_of(&r, RUNS_KERNEL, "a")->verdict == RUNS_SLOWER;
		runs_free(&r);
	}
	print_message("# %u of %u twins accused, %u of %u found\n", accused, CASES, found, CASES);
	assert_true(
		accused <= 70); /* 50 are expected at most; 70 is three standard deviations more */
	assert_true(found > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(exact), cmocka_unit_test(table),
		cmocka_unit_test(normal), cmocka_unit_test(planted), cmocka_unit_test(too_few),
		cmocka_unit_test(twins)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
