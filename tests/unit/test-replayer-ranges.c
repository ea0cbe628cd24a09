/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that are placed, and which checkpoint goes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "replayer/memory/replayer-ranges.h"

#define MIB ((uint64_t)1 << 20)

static void rounds_and_joins(void **state)
{
	struct ranges s = {0};

	/* 100 bytes and 2 GiB as a GPU places them, 32 MiB apart at most; then one far away. */
	ranges_add(&s, 0x302000000 + 40 * MIB, 100);
	ranges_add(&s, 0x302000000, 512);
	ranges_add(&s, 0x7f0000000000 + 3, 1);
	ranges_add(&s, 0x302000000 + 70 * MIB, 2048 * MIB);
	ranges_add(&s, 0x302000000 + 512, 0); /* nothing */
	ranges_add(&s, UINT64_MAX - 5, 10);   /* wraps */
	assert_int_equal(s.n, 4);
	ranges_merge(&s, 32 * MIB, 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.r[0].addr, 0x302000000);
	assert_int_equal(s.r[0].size, 2144 * MIB); /* 70 + 2048 = 2118, up to a multiple of 32 */
	assert_int_equal(s.r[1].addr, 0x7f0000000000);
	assert_int_equal(s.r[1].size, 32 * MIB);
	assert_int_equal(ranges_bytes(&s), 2176 * MIB);
	ranges_free(&s);
	assert_int_equal(s.n, 0);
}

static void joins_across_small_gaps_only(void **state)
{
	struct ranges s = {0};

	ranges_add(&s, 1000, 100);
	ranges_add(&s, 1164, 36); /* 64 behind the first */
	ranges_add(&s, 1265, 10); /* 65 behind the second */
	ranges_add(&s, 1010, 20); /* within the first */
	ranges_merge(&s, 1, 64);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.r[0].addr, 1000);
	assert_int_equal(s.r[0].size, 200);
	assert_int_equal(s.r[1].addr, 1265);
	assert_int_equal(s.r[1].size, 10);
	ranges_free(&s);
}

static void rounds_at_the_end_of_the_address_space(void **state)
{
	struct ranges s = {0};

	ranges_add(&s, UINT64_MAX - 9, 9);
	ranges_merge(&s, 4096, 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.r[0].addr, UINT64_MAX - 4095);
	assert_true(s.r[0].size >= 4095 && s.r[0].size <= 4096);
	ranges_free(&s);
}

static void finds(void **state)
{
	struct ranges s = {0};

	assert_null(ranges_find(&s, 5, 1));
	ranges_add(&s, 100, 50);
	ranges_add(&s, 200, 50);
	ranges_merge(&s, 1, 0);
	assert_ptr_equal(ranges_find(&s, 100, 50), &s.r[0]);
	assert_ptr_equal(ranges_find(&s, 149, 1), &s.r[0]);
	assert_ptr_equal(ranges_find(&s, 210, 40), &s.r[1]);
	assert_null(ranges_find(&s, 149, 2));
	assert_null(ranges_find(&s, 99, 1));
	assert_null(ranges_find(&s, 150, 1));
	assert_null(ranges_find(&s, 240, UINT64_MAX));
	ranges_free(&s);
}

/* With the position at 1000: 100-200-300 is far away and dense, so one of those two goes, and of
 * them the farther one. */
static void gives_up_what_is_far_and_dense(void **state)
{
	const uint64_t at[] = {0, 100, 200, 300, 800, 900, 1000};

	assert_int_equal(thin_choose(at, 7, 1000), 1);
}

static void keeps_the_start_and_the_nearest(void **state)
{
	const uint64_t at[] = {0, 999, 1000};

	assert_int_equal(thin_choose(at, 3, 1000), 1);
	assert_int_equal(thin_choose(at, 3, 999), 2);
	assert_int_equal(thin_choose(at, 3, 0), 2);
}

/* Taking one at every position with room for 12: the distances from the last position must grow
 * like powers of two. */
static void leaves_exponential_gaps(void **state)
{
	uint64_t at[13] = {0};
	size_t n = 1;

	for (uint64_t seq = 1; seq <= 4096; seq++) {
		if (n == 12) {
			const size_t victim = thin_choose(at, n, seq);

			assert_true(victim > 0);
			for (size_t i = victim; i + 1 < n; i++)
				at[i] = at[i + 1];
			n--;
		}
		at[n++] = seq;
	}
	assert_int_equal(at[0], 0);
	assert_int_equal(at[n - 1], 4096);
	/* Wherever one goes back to, what has to be executed again is at most the distance gone
	 * back, times a factor. */
	for (uint64_t back = 1; back <= 4096; back++) {
		size_t i = n;

		while (at[i - 1] > 4096 - back)
			i--;
		assert_true(4096 - back - at[i - 1] <= 2 * back + 8);
	}
}

/* Pinned memory counts too: 256 copies of 3 GiB of it have no room. */
static void checkpoints_fit_host_and_device(void **state)
{
	assert_int_equal(thin_fit(10, 100, 0, 0, false, 256), 10);
	assert_int_equal(thin_fit(10, 109, 7, 35, false, 256), 5);
	assert_int_equal(thin_fit(10, 30, 7, 700, false, 256), 3);
	assert_int_equal(thin_fit(MIB, 2048 * MIB, 3072 * MIB, 6000 * MIB, false, 256), 1);
	assert_int_equal(thin_fit(MIB, 2048 * MIB, 3072 * MIB, 6000 * MIB, true, 256), 0);
	assert_int_equal(thin_fit(MIB, 2048 * MIB, 3 * MIB, 0, true, 256), 256); /* 512 fit */
	assert_int_equal(thin_fit(0, 0, 0, 0, false, 256), 256); /* nothing to copy */
	assert_int_equal(thin_fit(UINT64_MAX, 100, UINT64_MAX, 100, true, 256), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_and_joins),
		cmocka_unit_test(checkpoints_fit_host_and_device),
		cmocka_unit_test(joins_across_small_gaps_only),
		cmocka_unit_test(rounds_at_the_end_of_the_address_space),
		cmocka_unit_test(finds),
		cmocka_unit_test(gives_up_what_is_far_and_dense),
		cmocka_unit_test(keeps_the_start_and_the_nearest),
		cmocka_unit_test(leaves_exponential_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
