/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as JSON has them: those at which their length changes, and many of each length, compared
 * with what printf() writes.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json-put.h"

/* Neither the byte before nor those behind are touched. */
static void is_as_printed(uint64_t v)
{
	uint8_t room[1 + JS_DIGITS + 1];
	char want[JS_DIGITS + 1];
	struct buf b = BUF_INIT;
	uint8_t *end;

	snprintf(want, sizeof want, "%" PRIu64, v);
	memset(room, '#', sizeof room);
	end = js_digits(room + 1, v);
	assert_int_equal(end - room - 1, strlen(want));
	assert_memory_equal(room + 1, want, strlen(want));
	assert_int_equal(room[0], '#');
	for (; end < room + sizeof room; end++)
		assert_int_equal(*end, '#');
	buf_str(&b, "x");
	js_u64(&b, v);
	assert_string_equal(buf_cstr(&b) + 1, want);
	buf_free(&b);
}

static void test_lengths(void **state)
{
	(void)state;
	for (uint64_t ten = 1;; ten *= 10) {
		for (uint64_t d = 1; d < 10 && ten <= UINT64_MAX / 10; d++)
			is_as_printed(d * ten);
		is_as_printed(ten - 1);
		is_as_printed(ten);
		is_as_printed(ten + 1);
		if (ten > UINT64_MAX / 10)
			break;
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		is_as_printed((UINT64_C(1) << bit) - 1);
		is_as_printed(UINT64_C(1) << bit);
	}
	is_as_printed(UINT64_MAX);
}

static void test_many(void **state)
{
	uint64_t x = 88172645463325252;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		x ^= x << 13; /* xorshift64, Marsaglia 2003 */
		x ^= x >> 7;
		x ^= x << 17;
		is_as_printed(x >> i % 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
