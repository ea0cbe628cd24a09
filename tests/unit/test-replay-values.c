/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits as numbers: values by hand from the formats (IEEE 754; bfloat16 is the upper half of a
 * float32).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "replay/values.h"

static void numbers(void **state)
{
	static const struct {
		enum replayer_as as;
		uint64_t bits;
		double want;
	} rows[] = {
		{REPLAYER_AS_F32, 0x3f800000, 1},
		{REPLAYER_AS_F32, 0xc0490fdb, -3.1415927410125732},
		{REPLAYER_AS_F32, 0x80000000, 0},
		{REPLAYER_AS_F64, 0x3ff8000000000000, 1.5},
		{REPLAYER_AS_F64, 0xfff0000000000000, -INFINITY},
		{REPLAYER_AS_F16, 0x3c00, 1},
		{REPLAYER_AS_F16, 0x7bff, 65504},
		{REPLAYER_AS_F16, 0x0001, 0x1p-24},
		{REPLAYER_AS_F16, 0x0400, 0x1p-14},
		{REPLAYER_AS_F16, 0xfc00, -INFINITY},
		{REPLAYER_AS_BF16, 0x3f80, 1},
		{REPLAYER_AS_BF16, 0xc049, -3.140625},
		{REPLAYER_AS_BF16, 0x7f80, INFINITY},
		{REPLAYER_AS_BF16, 0x0001, 0x1p-133},
		{REPLAYER_AS_BF16, 0x0080, 0x1p-126},
		{REPLAYER_AS_BF16, 0x7f7f, 0x1.fep127},
		{REPLAYER_AS_F16, 0x03ff, 0x3ffp-24},
		{REPLAYER_AS_F16, 0x7c00, INFINITY},
		{REPLAYER_AS_I32, 0xffffffff, -1},
		{REPLAYER_AS_I32, 0x7fffffff, 2147483647},
		{REPLAYER_AS_I8, 0x80, -128},
		{REPLAYER_AS_I64, UINT64_MAX, -1},
		{REPLAYER_AS_I8, 0x7f, 127},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (value_of(rows[i].bits, rows[i].as) != rows[i].want) /* NOLINT: exact */
			fail_msg("row %zu: %.17g, not %.17g", i, value_of(rows[i].bits, rows[i].as),
				rows[i].want);
	assert_true(signbit(value_of(0x8000, REPLAYER_AS_F16)));
	assert_false(signbit(value_of(0, REPLAYER_AS_BF16)));
	assert_true(isnan(value_of(0x7fc00000, REPLAYER_AS_F32)));
	assert_true(isnan(value_of(0x7e00, REPLAYER_AS_F16)));
	assert_true(isnan(value_of(0xff81, REPLAYER_AS_BF16)));
	/* what a double does not hold */
	assert_true(value_signed(0x7fffffffffffffff, REPLAYER_AS_I64) == INT64_MAX);
}

/* By the types' names: bits, and whether it is a floating type. What nobody named is taken by the
 * four bytes. */
static void what_each_type_is(void **state)
{
	static const struct value_type rows[] = {{"auto", 4, true}, {"f32", 4, true},
		{"f64", 8, true}, {"f16", 2, true}, {"bf16", 2, true}, {"i32", 4, false},
		{"i64", 8, false}, {"i8", 1, false}};

	(void)state;
	assert_int_equal(REPLAYER_AS_END, sizeof rows / sizeof *rows);
	for (unsigned i = 0; i < REPLAYER_AS_END; i++) {
		assert_string_equal(value_types[i].name, rows[i].name);
		assert_int_equal(value_types[i].bytes, rows[i].bytes);
		assert_int_equal(value_types[i].is_float, rows[i].is_float);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(what_each_type_is)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
