/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of memory contents: known answers (from a program that knows the formula of pagehash.h
 * and nothing of pagehash.c), and a second implementation written straight from the formula, lane
 * by lane.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbt/pagehash.h"

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t naive_half(const uint8_t page[SBT_PAGE], uint64_t h)
{
	uint64_t sum = 0;

	for (uint64_t l = 0; l < 256; l++) {
		uint64_t acc = 0;

		for (uint64_t turn = 0; turn < 16; turn++) {
			uint64_t c = turn * 256 + l, x[4];

			for (uint64_t j = 0; j < 4; j++) {
				const uint8_t *p = page + c * 16 + j * 4;
				uint64_t w = p[0] | p[1] << 8 | p[2] << 16 | (uint64_t)p[3] << 24;

				x[j] = (w + mix(1 + l * 8 + h * 4 + j)) & 0xffffffff;
			}
			acc = acc * 0x9e3779b97f4a7c15ull + x[0] * x[1] + x[2] * x[3];
		}
		sum += mix(acc + (l + 1) * 0xc2b2ae3d27d4eb4full);
	}
	return sum;
}

static struct sbt_hash naive_page(const uint8_t *p, size_t n)
{
	static uint8_t page[SBT_PAGE];

	memset(page, 0, sizeof page);
	memcpy(page, p, n);
	return (struct sbt_hash){{naive_half(page, 0), naive_half(page, 1)}};
}

static void assert_hash(struct sbt_hash got, uint64_t half0, uint64_t half1)
{
	assert_int_equal(got.half[0], half0);
	assert_int_equal(got.half[1], half1);
}

static uint8_t *ramp(size_t n)
{
	uint8_t *p = malloc(n);

	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + (i >> 8));
	return p;
}

static void test_known_answers(void **state)
{
	size_t n = 2 * SBT_PAGE + 1001;
	uint8_t *r = ramp(n), *ff = malloc(SBT_PAGE), *zeros = calloc(SBT_PAGE, 1);

	(void)state;
	memset(ff, 0xff, SBT_PAGE);
	assert_hash(sbt_page_hash("", 0), 0xf8e1762d41734225ull, 0x7602f9f6f365bfe0ull);
	assert_hash(sbt_page_hash(zeros, SBT_PAGE), 0xf8e1762d41734225ull, 0x7602f9f6f365bfe0ull);
	assert_hash(sbt_page_hash("abc", 3), 0x1c8269a31e432836ull, 0x447ba1ee03d21b0dull);
	assert_hash(sbt_page_hash(ff, SBT_PAGE), 0x6410d4ce484491a9ull, 0x4696f896f13142fdull);
	assert_hash(sbt_page_hash(r, SBT_PAGE), 0xc093b82041fe83d9ull, 0xcb5e3261009cdb54ull);
	assert_hash(sbt_page_hash(r, 4097), 0xb45359d381d6bb50ull, 0x4454bec2871f97c1ull);
	assert_hash(sbt_range_hash(r, n), 0xb1ab88f0dfd567b6ull, 0xad106c83bfde2536ull);
	assert_hash(sbt_range_hash("abc", 3), 0x20d944a4f3d5d243ull, 0x3a22e0c83dbb9ff0ull);
	assert_hash(sbt_range_hash("", 0), 0, 0); /* mix(0) is 0 */
	free(r);
	free(ff);
	free(zeros);
}

/* Lengths around the borders of cells and turns, from addresses that are not aligned; all ways of
 * computing. */
static void test_against_the_formula(void **state)
{
	static const size_t lengths[] = {1, 15, 16, 17, 31, 63, 64, 65, 4080, 4095, 4096, 4097,
		8191, 40000, 61440, 65535, 65536};
	uint8_t *p = malloc(SBT_PAGE + 64);

	(void)state;
	srand(1);
	for (size_t i = 0; i < SBT_PAGE + 64; i++)
		p[i] = (uint8_t)(rand() >> 8);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		for (size_t shift = 0; shift < 3; shift++) {
			const uint8_t *at = p + shift * 13;
			struct sbt_hash want = naive_page(at, lengths[i]), by;

			assert_hash(sbt_page_hash(at, lengths[i]), want.half[0], want.half[1]);
			for (unsigned way = 0; way < 4; way++)
				if (sbt_page_hash_by(way, at, lengths[i], &by))
					assert_hash(by, want.half[0], want.half[1]);
			assert_true(sbt_page_hash_by(0, at, 1, &by));
			assert_false(sbt_page_hash_by(3, at, 1, &by));
		}
	free(p);
}

/* Any one bit changes both halves, and so does swapping two cells of a lane, two lanes, two words.
 */
static void test_changes(void **state)
{
	uint8_t *p = ramp(SBT_PAGE);
	struct sbt_hash was = sbt_page_hash(p, SBT_PAGE), now;

	(void)state;
	for (unsigned bit = 0; bit < SBT_PAGE * 8; bit += 977) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		now = sbt_page_hash(p, SBT_PAGE);
		assert_int_not_equal(now.half[0], was.half[0]);
		assert_int_not_equal(now.half[1], was.half[1]);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned distance = 4; distance < SBT_PAGE; distance *= 2) {
		uint8_t a[4];

		memset(p, 0, SBT_PAGE);
		memcpy(p, "\1\2\3\4", 4);
		was = sbt_page_hash(p, SBT_PAGE);
		memcpy(a, p, 4);
		memcpy(p, p + distance, 4);
		memcpy(p + distance, a, 4);
		assert_false(sbt_hash_equal(was, sbt_page_hash(p, SBT_PAGE)));
	}
	free(p);
}

static void test_ranges(void **state)
{
	size_t n = 3 * SBT_PAGE + 77;
	uint8_t *p = ramp(n);
	struct sbt_hash whole, any = {{0, 0}};
	static const uint64_t order[] = {2, 0, 3, 1};

	(void)state;
	p[5] = 99; /* else the pages are equal */
	whole = sbt_range_hash(p, n);
	for (unsigned i = 0; i < 4; i++)
		sbt_range_hash_add(&any, order[i],
			sbt_page_hash(p + order[i] * SBT_PAGE, n - order[i] * SBT_PAGE));
	sbt_range_hash_end(&any, n);
	assert_hash(any, whole.half[0], whole.half[1]);
	/* two pages in another order; the same bytes with zeros behind */
	assert_false(sbt_hash_equal(
		sbt_range_hash(p, 2 * SBT_PAGE), sbt_range_hash(p + SBT_PAGE, 2 * SBT_PAGE)));
	assert_false(sbt_hash_equal(sbt_range_hash("a", 1), sbt_range_hash("a\0", 2)));
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_against_the_formula),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests_name("sbt-pagehash", tests, NULL, NULL);
}
