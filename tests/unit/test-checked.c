/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked arithmetic against the same questions asked in 128 bits, at every pair and quadruple of
 * awkward numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"

typedef unsigned __int128 wide;

static const uint64_t awkward[] = {0, 1, 2, 3, 7, 8, 4095, 4096, UINT32_MAX,
	(uint64_t)UINT32_MAX + 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 4096,
	UINT64_MAX - 1, UINT64_MAX};
#define N (sizeof awkward / sizeof *awkward)

static uint64_t capped(wide v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static void test_pairs(void **unused)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++) {
			const uint64_t a = awkward[i], b = awkward[j];
			uint64_t r;

			assert_int_equal(ckd_add(&r, a, b), (wide)a + b > UINT64_MAX);
			assert_true(r == a + b);
			assert_int_equal(ckd_mul(&r, a, b), (wide)a * b > UINT64_MAX);
			assert_true(r == a * b);
			assert_int_equal(ckd_sub(&r, a, b), a < b);
			assert_true(sat_add(a, b) == capped((wide)a + b));
			assert_true(sat_mul(a, b) == capped((wide)a * b));
		}
}

/* The result's type counts, too: an id is 32 bits, and its record has 64. */
static void test_narrow(void **unused)
{
	uint32_t id;

	assert_false(ckd_add(&id, (uint64_t)UINT32_MAX, 0u));
	assert_true(ckd_add(&id, (uint64_t)UINT32_MAX + 1, 0u));
}

static void test_ranges(void **unused)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			for (size_t k = 0; k < N; k++)
				for (size_t l = 0; l < N; l++) {
					const wide a = awkward[i], n = awkward[j],
						   base = awkward[k], size = awkward[l];
					const wide from = a > base ? a : base,
						   to = a + n < base + size ? a + n : base + size;

					assert_int_equal(range_within((uint64_t)a, (uint64_t)n,
								 (uint64_t)base, (uint64_t)size),
						a >= base && a + n <= base + size);
					assert_int_equal(ranges_meet((uint64_t)a, (uint64_t)n,
								 (uint64_t)base, (uint64_t)size),
						from < to);
				}
}

static void test_round_up(void **unused)
{
	uint64_t r;

	assert_false(round_up_to(&r, 0, 8));
	assert_true(r == 0);
	assert_false(round_up_to(&r, 9, 8));
	assert_true(r == 16);
	assert_false(round_up_to(&r, 10, 5));
	assert_true(r == 10);
	assert_false(round_up_to(&r, UINT64_MAX, 5)); /* 2^64 - 1 is 5 * 3689348814741910323 */
	assert_true(r == UINT64_MAX);
	assert_true(round_up_to(&r, UINT64_MAX, 8));
	assert_true(round_up_to(&r, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_round_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
