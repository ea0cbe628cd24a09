/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the library: what is in a JSON document, by path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "library/ts-session.h"

static ts_answer *answer(const char *text)
{
	ts_answer *a;

	assert_int_equal(library_answer(&a, strdup(text), strdup("note\n")), TS_OK);
	return a;
}

static void number_is(const char *text, const char *path, uint64_t want)
{
	ts_answer *a = answer(text);
	uint64_t n = ~want;

	assert_int_equal(ts_answer_number(a, path, &n), TS_OK);
	assert_true(n == want);
	ts_answer_free(a);
}

static void no_number(const char *text, const char *path, int why)
{
	ts_answer *a = answer(text);
	uint64_t n = 7;

	assert_int_equal(ts_answer_number(a, path, &n), why);
	assert_true(n == 7);
	ts_answer_free(a);
}

static void string_is(const char *text, const char *path, const char *want)
{
	ts_answer *a = answer(text);
	const char *s = NULL;

	assert_int_equal(ts_answer_string(a, path, &s), TS_OK);
	assert_string_equal(s, want);
	ts_answer_free(a);
}

static void numbers_of_64_bits(void **state)
{
	number_is("9223372036854775807", "", INT64_MAX);
	number_is("9223372036854775808", "", (uint64_t)INT64_MAX + 1);
	number_is("18446744073709551615", "", UINT64_MAX);
	number_is("{\"a\":[1, 18446744073709551614 ,3]}", "a[1]", UINT64_MAX - 1);
	number_is("{\"a\":[1,18446744073709551614,3]}", "a[2]", 3);
	number_is("\"0xffffffffffffffff\"", "", UINT64_MAX);
	number_is("true", "", 1);
	number_is("[false]", "[0]", 0);
	no_number("18446744073709551616", "", TS_USAGE);
	no_number("\"0x10000000000000000\"", "", TS_USAGE);
	no_number("-1", "", TS_USAGE);
	no_number("-9223372036854775809", "", TS_USAGE);
	no_number("1.5", "", TS_USAGE);
	no_number("1e3", "", TS_USAGE);
	no_number("\"12\"", "", TS_USAGE);
	no_number("\"0x\"", "", TS_USAGE);
	no_number("\"0x-1\"", "", TS_USAGE);
	no_number("\"0x12 \"", "", TS_USAGE);
	no_number("null", "", TS_NOT_FOUND);
	no_number("[]", "", TS_USAGE);
}

static void what_looks_like_a_wide_number(void **state)
{
	ts_answer *a = answer("[18446744073709551615, {\"\":\"x\"}, \"18446744073709551615\"]");
	const char *s;
	uint64_t n;
	double real;

	assert_int_equal(ts_answer_count(a, "", &n), TS_OK);
	assert_int_equal(n, 3);
	assert_int_equal(ts_answer_count(a, "[0]", &n), TS_USAGE);
	assert_int_equal(ts_answer_string(a, "[0]", &s), TS_USAGE);
	assert_int_equal(ts_answer_real(a, "[0]", &real), TS_OK);
	assert_true(real == 18446744073709551616.0);
	assert_int_equal(ts_answer_count(a, "[1]", &n), TS_OK);
	assert_int_equal(ts_answer_string(a, "[2]", &s), TS_OK);
	assert_string_equal(s, "18446744073709551615");
	assert_int_equal(ts_answer_real(a, "[2]", &real), TS_USAGE);
	ts_answer_free(a);
}

static void texts(void **state)
{
	string_is("{\"a\":\"x\"}", "a", "x");
	string_is("{\"a\":{\"b\":[\"q\\\"\\\\\\/\\n\\t\"]}}", "a.b[0]", "q\"\\/\n\t");
	string_is("\"\\u00e9\\u20ac\\ud83d\\ude00\"", "", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	string_is("\"a\\u0000b\"", "",
		"a\xef\xbf\xbd"
		"b");
	string_is("\"\\\\u0000\"", "", "\\u0000");
	string_is("{\"a\\\"b\":\"1\",\"18446744073709551615\":\"2\"}", "18446744073709551615", "2");
	string_is("\"a 99999999999999999999 {\"", "", "a 99999999999999999999 {");
	string_is("\"\"", "", "");
}

static void paths(void **state)
{
	const char *const absent[] = {"b", "a[2]", "a[18446744073709551615]",
		"a[18446744073709551616]", "a[-1]", "a[ 1]", "a[1", "a[]", "a.b", "[0]", ".", "a..",
		"a[0][0]", "c", "a[0].", "A"};
	ts_answer *a = answer("{\"a\":[1,2],\"c\":null}");
	uint64_t n;

	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		assert_int_equal(ts_answer_number(a, absent[i], &n), TS_NOT_FOUND);
	assert_int_equal(ts_answer_count(a, "", &n), TS_OK);
	assert_int_equal(n, 2);
	assert_int_equal(ts_answer_count(a, "a", &n), TS_OK);
	assert_int_equal(n, 2);
	assert_int_equal(ts_answer_number(a, ".a[1]", &n), TS_OK);
	assert_int_equal(n, 2);
	ts_answer_free(a);
}

static void what_is_no_json(void **state)
{
	static const char *const bad[] = {"", "Breakpoint 1", "{\"a\":1", "[1,]", "[1 2]", "01",
		"00000000000000000000000000000001", "+99999999999999999999", "1 2", "{}{}",
		"\"\\ud800\"", "\"a", "\"a\\", "nul", "[\"a\" \"b\"]", "{a:1}", "\"\xff\""};
	uint64_t n;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ts_answer *a = answer(bad[i]);

		assert_false(library_is_json(a));
		assert_int_equal(ts_answer_number(a, "", &n), TS_USAGE);
		assert_string_equal(ts_answer_text(a), bad[i]);
		assert_string_equal(ts_answer_notes(a), "note\n");
		ts_answer_free(a);
	}
}

static void deep(void **state)
{
	enum { DEPTH = 1000000 };
	char *text = malloc(DEPTH + 1);
	ts_answer *a;

	memset(text, '[', DEPTH);
	text[DEPTH] = 0;
	a = answer(text);
	assert_false(library_is_json(a));
	ts_answer_free(a);
	free(text);
}

static void nothing(void **state)
{
	ts_answer *a = answer("[1]");
	const char *s;
	uint64_t n;
	double real;

	assert_int_equal(ts_answer_number(a, "[0]", NULL), TS_USAGE);
	assert_int_equal(ts_answer_count(a, "", NULL), TS_USAGE);
	assert_int_equal(ts_answer_real(a, "[0]", NULL), TS_USAGE);
	assert_int_equal(ts_answer_string(a, "[0]", NULL), TS_USAGE);
	assert_int_equal(ts_answer_number(a, NULL, &n), TS_USAGE);
	assert_int_equal(ts_answer_number(NULL, "", &n), TS_USAGE);
	assert_int_equal(ts_answer_count(NULL, "", &n), TS_USAGE);
	assert_int_equal(ts_answer_real(NULL, "", &real), TS_USAGE);
	assert_int_equal(ts_answer_string(NULL, "", &s), TS_USAGE);
	assert_string_equal(ts_answer_text(NULL), "");
	ts_answer_free(a);
	ts_answer_free(NULL);
	assert_int_equal(library_answer(&a, NULL, strdup("")), TS_LIMIT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_64_bits),
		cmocka_unit_test(what_looks_like_a_wide_number),
		cmocka_unit_test(texts),
		cmocka_unit_test(paths),
		cmocka_unit_test(what_is_no_json),
		cmocka_unit_test(deep),
		cmocka_unit_test(nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
