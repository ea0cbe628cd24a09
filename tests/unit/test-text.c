/* SPDX-License-Identifier: Apache-2.0
 *
 * text.h: what passes, what is written out, worked out by hand from the Unicode tables that its
 * comment names; and random bytes, of which never one that steers a terminal may pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void is(const char *text, size_t n, unsigned flags, const char *want)
{
	struct buf b = BUF_INIT;

	text_safe(&b, text, n, flags);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void test_what_passes(void **unused)
{
	(void)unused;
	is("plain ~", 7, 0, "plain ~");
	is("gr\xc3\xb6\xc3\x9f"
	   "e \xe2\x82\xac \xf0\x9f\x98\x80",
		16, 0,
		"gr\xc3\xb6\xc3\x9f"
		"e \xe2\x82\xac \xf0\x9f\x98\x80");
	is("a\"b\\c", 5, 0, "a\"b\\c");
	is("a\nb\tc", 5, TEXT_LINES, "a\nb\tc");
	is("\xc2\xa0", 2, 0, "\xc2\xa0"); /* U+00A0, the first behind the C1 controls */
	is("", 0, 0, "");
}

static void test_what_is_written_out(void **unused)
{
	(void)unused;
	is("\033[31m", 5, TEXT_LINES, "\\x1b[31m");
	is("a\nb\tc\r", 6, 0, "a\\x0ab\\x09c\\x0d");
	is("\0", 1, 0, "\\x00");
	is("\x7f\xc2\x80\xc2\x9b\xc2\x9f", 7, 0, "\\x7f\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");
	is("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", 12, 0,
		"\\xe2\\x80\\xaa\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	is("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8", 11, 0,
		"\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xe2\\x80\\xa8");
	is("\x9b\xff", 2, 0, "\\x9b\\xff");
	is("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", 9, 0,
		"\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"); /* no UTF-8: overlong, surrogate,
								     too large */
	is("\xe2\x80", 2, 0, "\\xe2\\x80");
	is("a\"\\", 3, TEXT_QUOTE, "a\\\"\\\\");
}

static void test_random_bytes(void **unused)
{
	struct buf b = BUF_INIT, again = BUF_INIT;
	uint8_t text[64];

	(void)unused;
	srand(7);
	for (unsigned i = 0; i < 20000; i++) {
		const size_t n = (size_t)rand() % sizeof text;

		for (size_t k = 0; k < n; k++)
			text[k] = (uint8_t)rand();
		buf_clear(&b);
		buf_str(&b, "kept\033");
		buf_add(&b, text, n);
		text_safe_tail(&b, 5);
		assert_memory_equal(b.data, "kept\033", 5);
		for (size_t k = 5; k < b.len; k++)
			assert_true((b.data[k] >= 0x20 && b.data[k] != 0x7f) || b.data[k] == '\n' ||
				    b.data[k] == '\t');
		buf_clear(&again); /* what is safe stays as it is */
		buf_add(&again, b.data, b.len);
		text_safe_tail(&again, 5);
		assert_int_equal(again.len, b.len);
		assert_memory_equal(again.data, b.data, b.len);
	}
	buf_free(&b);
	buf_free(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_passes),
		cmocka_unit_test(test_what_is_written_out),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
