/* SPDX-License-Identifier: Apache-2.0
 *
 * Free places of a range of addresses against a row of flags, one for each unit; and bounds within
 * what is mapped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "softgpu/machine/ptx-bounds.h"
#include "softgpu/memory/mem-extents.h"

#define UNITS 160
#define BASE UINT64_C(0x1003) /* no multiple of any alignment */
#define MOST 24

static bool is_free[UNITS];
static struct extent extents[MOST + 1];
static struct region region;
static uint64_t dice;

static unsigned below(unsigned n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(dice >> 33) % n;
}

static bool fits(uint64_t start, uint64_t size, uint64_t align)
{
	if (start % align || start < BASE || start + size > BASE + UNITS)
		return false;
	for (uint64_t i = start; i < start + size; i++)
		if (!is_free[i - BASE])
			return false;
	return true;
}

static void set(uint64_t start, uint64_t size, bool to)
{
	memset(is_free + (start - BASE), to, size);
}

/* The table says what the flags say: sorted, apart from one another, and nothing else. */
static void assert_same(void)
{
	unsigned at = 0, n = 0;

	while (at < UNITS) {
		unsigned end;

		while (at < UNITS && !is_free[at])
			at++;
		if (at == UNITS)
			break;
		for (end = at; end < UNITS && is_free[end]; end++)
			;
		assert_true(n < region.n);
		assert_int_equal(extents[n].start, BASE + at);
		assert_int_equal(extents[n].end, BASE + end);
		n++;
		at = end;
	}
	assert_int_equal(region.n, n);
}

/* Whether taking it would need one row more than there are. */
static bool is_too_many(uint64_t start, uint64_t size)
{
	const uint64_t at = start - BASE;

	return region.n == MOST && at && is_free[at - 1] && at + size < UNITS && is_free[at + size];
}

/* The lowest place within each free part, of the lowest part that has one. */
static uint64_t lowest(uint64_t size, uint64_t align)
{
	for (uint64_t s = BASE; s < BASE + UNITS; s++)
		if (fits(s, size, align))
			return s;
	return 0;
}

static uint64_t highest(uint64_t size, uint64_t align)
{
	for (uint64_t s = BASE + UNITS; s-- > BASE;)
		if (fits(s, size, align))
			return s;
	return 0;
}

static void take(void)
{
	const uint64_t size = 1 + below(12), align = UINT64_C(1) << below(5);
	const bool high = below(2);
	const uint64_t want = high ? highest(size, align) : lowest(size, align);
	const bool too_many = want && is_too_many(want, size);
	struct extent x = {0};
	const bool got = high ? extent_take_high(&region, size, align, &x)
			      : extent_take(&region, size, align, &x);

	assert_int_equal(got, want && !too_many);
	if (!got)
		return;
	assert_int_equal(x.start, want);
	assert_int_equal(x.end, want + size);
	set(want, size, false);
}

static void take_at(void)
{
	const uint64_t start = BASE + below(UNITS), size = 1 + below(12);
	const bool may = fits(start, size, 1) && !is_too_many(start, size);

	assert_int_equal(extent_take_at(&region, start, size), may);
	if (may)
		set(start, size, false);
}

/* Gives back some of what is taken. */
static void give(void)
{
	uint64_t start = BASE + below(UNITS), size = 0, lo, hi;
	const uint64_t most = 1 + below(12);
	struct extent x;

	while (size < most && start + size < BASE + UNITS && !is_free[start + size - BASE])
		size++;
	if (!size || region.n == MOST)
		return;
	set(start, size, true);
	x = extent_give(&region, (struct extent){start, start + size});
	for (lo = start; lo > BASE && is_free[lo - 1 - BASE];)
		lo--;
	for (hi = start + size; hi < BASE + UNITS && is_free[hi - BASE];)
		hi++;
	assert_int_equal(x.start, lo);
	assert_int_equal(x.end, hi);
}

static void test_places_are_as_the_flags_say(void **unused)
{
	(void)unused;
	for (dice = 1; dice < 200; dice++) {
		const uint64_t seed = dice;

		region = (struct region){.extents = extents, .most = MOST};
		memset(extents, 0, sizeof extents);
		memset(is_free, 0, sizeof is_free);
		extent_give(&region, (struct extent){BASE, BASE + UNITS});
		set(BASE, UNITS, true);
		for (unsigned i = 0; i < 300; i++) {
			switch (below(4)) {
			case 0:
				take();
				break;
			case 1:
				take_at();
				break;
			default:
				give();
			}
			assert_same();
		}
		dice = seed;
	}
}

/* A full table refuses what would make one place two, and nothing else. */
static void test_a_full_table(void **unused)
{
	struct extent x;

	(void)unused;
	region = (struct region){.extents = extents, .most = 2};
	extent_give(&region, (struct extent){0x100, 0x200});
	assert_true(extent_take_at(&region, 0x140, 0x10));
	assert_int_equal(region.n, 2);
	assert_false(extent_take_at(&region, 0x110, 0x10));
	assert_false(extent_take_at(&region, 0x160, 0x10));
	assert_true(extent_take_at(&region, 0x100, 0x10));
	assert_true(extent_take_at(&region, 0x1f0, 0x10));
	assert_true(extent_take(&region, 0x30, 0x10, &x));
	assert_int_equal(x.start, 0x110);
	assert_int_equal(region.n, 1);
	assert_false(extent_take_at(&region, 0x1f0, 0x10));
	assert_false(extent_take_at(&region, 0x1e0, 0x20));
	assert_true(extent_take_at(&region, 0x150, 0xa0));
	assert_int_equal(region.n, 0);
	assert_false(extent_take(&region, 1, 1, &x));
	assert_false(extent_take_high(&region, 1, 1, &x));
	/* at the end of all addresses nothing wraps round */
	extent_give(&region, (struct extent){UINT64_MAX - 0xf, UINT64_MAX});
	assert_false(extent_take(&region, 8, 0x100, &x));
}

/* Bounds within memory that is mapped as one piece: 0x1000 to 0x2000. */
static void test_bounds_cut_what_is_mapped(void **unused)
{
	static const struct soft_span spans[] = {{0x1100, 0x40}, {0x1180, 0x80}, {0x1f00, 0x200}};
	static const struct {
		uint64_t a, start, end;
		bool is;
	} rows[] = {{0x1000, 0, 0, false}, {0x10ff, 0, 0, false}, {0x1100, 0x1100, 0x1140, true},
		{0x113f, 0x1100, 0x1140, true}, {0x1140, 0, 0, false}, {0x117f, 0, 0, false},
		{0x1180, 0x1180, 0x1200, true}, {0x11ff, 0x1180, 0x1200, true},
		{0x1200, 0, 0, false}, {0x1eff, 0, 0, false},
		{0x1fff, 0x1f00, 0x2000, true}}; /* it ends where the mapping does */

	(void)unused;
	ptx_bounds_set(spans, 3);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t start = 0x1000, end = 0x2000;

		assert_int_equal(ptx_bounds_cut(rows[i].a, &start, &end), rows[i].is);
		if (rows[i].is) {
			assert_int_equal(start, rows[i].start);
			assert_int_equal(end, rows[i].end);
		}
	}
	uint64_t start = 0x1190, end = 0x11a0; /* less is mapped than the bounds hold */
	assert_true(ptx_bounds_cut(0x1198, &start, &end));
	assert_int_equal(start, 0x1190);
	assert_int_equal(end, 0x11a0);
	ptx_bounds_set(NULL, 0);
	assert_true(ptx_bounds_cut(0x1000, &start, &end));
	assert_int_equal(start, 0x1190);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_places_are_as_the_flags_say),
		cmocka_unit_test(test_a_full_table),
		cmocka_unit_test(test_bounds_cut_what_is_mapped)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
