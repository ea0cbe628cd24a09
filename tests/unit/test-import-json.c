/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON by tokens: what RFC 8259 allows, what profilers write all the same, and what is neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "import/core/json-pull.h"

static char path[] = "/tmp/test-import-json.XXXXXX";

static struct json_pull *open_text(const char *text, size_t n)
{
	struct json_pull *j;

	assert_null(file_write(path, text, n));
	assert_null(json_open(&j, path));
	return j;
}

/* All tokens as one text: {"k":s"t",...} as "{k:k t s ...". */
static struct err *all(const char *text, size_t n, struct buf *out)
{
	struct json_pull *j = open_text(text, n);
	enum json_token t = JSON_WORD;
	struct err *e = NULL;

	while (!e && t != JSON_END) {
		e = json_next(j, &t);
		if (e || t == JSON_END)
			break;
		buf_byte(out, (uint8_t) "?{}[]ksnw"[t]);
		if (t >= JSON_KEY)
			buf_printf(out, "(%s)", json_text(j));
	}
	json_close(j);
	return e;
}

static void reads(const char *text, const char *expected)
{
	struct buf out = BUF_INIT;
	struct err *e = all(text, strlen(text), &out);

	if (e)
		fail_msg("%s: %s", text, e->what);
	assert_string_equal(buf_cstr(&out), expected);
	buf_free(&out);
}

static void refuses(const char *text)
{
	struct buf out = BUF_INIT;
	struct err *e = all(text, strlen(text), &out);

	if (!e)
		fail_msg("%s is read as %s", text, buf_cstr(&out));
	assert_int_equal(e->code, ERR_BAD_TRACE);
	err_free(e);
	buf_free(&out);
}

static void test_reads(void **state)
{
	reads(" {} ", "{}");
	reads("[]", "[]");
	reads("\"\"", "s()");
	reads("-1.5e+3", "n(-1.5e+3)");
	reads("{\"a\":[1,true,null,{\"b\":\"c\"}],\"d\":-2}",
		"{k(a)[n(1)w(true)w(null){k(b)s(c)}]k(d)n(-2)}");
	reads("[NaN,-Infinity]", "[w(NaN)w(-Infinity)]");
	reads("\"\\\"\\\\\\/\\n\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
		"s(\"\\/\nA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80)");
	reads("\"\\ud83dx\\ude00\\ud83d\\u0041\\ud83d\\n\"",
		"s(\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n)");
	reads("\"raw\n\x01\xff\"", "s(raw\n\x01\xff)");
}

static void test_refuses(void **state)
{
	static const char *const bad[] = {"", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "{,}",
		"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "{\"a\" 1}", "]", "}", "[}", "{]",
		"[1 2]", "{} {}", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "truth",
		"tru", "+", "-", "e", "1 1", "1:1", "'a'"};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(bad[i]);
}

static void test_depth(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 3];
	struct buf out = BUF_INIT;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_null(all(text, 2 * JSON_DEPTH_MAX, &out));
	buf_free(&out);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	text[JSON_DEPTH_MAX + 1] = 0;
	refuses(text);
}

/* Skipping a value leaves the token behind it next; long texts are cut. */
static void test_skips(void **state)
{
	static const char head[] = "[{\"a\":[1,{\"b\":[]}]},";
	struct buf text = BUF_INIT;
	enum json_token t;
	struct json_pull *j;

	buf_str(&text, head);
	buf_byte(&text, '"');
	for (unsigned i = 0; i < 3 * JSON_TEXT_MAX; i++)
		buf_byte(&text, 'x');
	buf_str(&text, "\",7]");
	j = open_text((const char *)text.data, text.len);
	assert_null(json_next(j, &t));
	assert_null(json_next(j, &t));
	assert_int_equal(t, JSON_OBJECT);
	assert_null(json_skip(j, t));
	assert_null(json_next(j, &t));
	assert_int_equal(t, JSON_STRING);
	assert_int_equal(strlen(json_text(j)), JSON_TEXT_MAX);
	assert_null(json_skip(j, t));
	assert_null(json_next(j, &t));
	assert_int_equal(t, JSON_NUMBER);
	assert_string_equal(json_text(j), "7");
	assert_int_equal(json_read(j), text.len - 1);
	json_close(j);
	buf_free(&text);
}

static int make(void **state)
{
	const int fd = mkstemp(path);

	return fd < 0 ? 1 : close(fd);
}

static int drop(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads),
		cmocka_unit_test(test_refuses), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_skips)};

	return cmocka_run_group_tests(tests, make, drop);
}
