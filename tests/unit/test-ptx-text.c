/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX as text: whose body a kernel's is, and that nothing outside the text is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/ptx-text.h"

static struct ptx_text text_of(const char *s)
{
	return (struct ptx_text){s, s + strlen(s)};
}

static void expect_body(const char *text, const char *kernel, const char *want)
{
	struct ptx_text body;
	const bool found = ptx_body(text_of(text), kernel, &body);

	assert_int_equal(found, want != NULL);
	if (want) {
		assert_int_equal(body.end - body.p, strlen(want));
		assert_memory_equal(body.p, want, strlen(want));
	}
}

static void bodies(void **state)
{
	static const char two[] =
		".visible .entry aa(.param .u64 p)\n{ ret; }\n.entry a\n(\n)\n.maxntid 1\n{ { x; } y; }\n";

	expect_body(two, "aa", " ret; ");
	expect_body(two, "a", " { x; } y; ");
	expect_body(two, "b", NULL);
	expect_body(two, "p", NULL);
	expect_body(".func a() { ret; }", "a", NULL);
	expect_body(".entry a(); .entry a() { x; }", "a", " x; ");
	expect_body(".entry a();", "a", NULL);
	expect_body(".entry a() { x;", "a", " x;");
}

static void comments(void **state)
{
	expect_body("// .entry a() { no; }\n.entry a() { x; }", "a", " x; ");
	expect_body("/* .entry a() { no; } */ .entry /* b */ a() /* { */ { x; // }\n}", "a",
		" x; // }\n");
	expect_body("/* .entry a() { no; }", "a", NULL);
	expect_body("/ /* */ .entry a() { x; /* } */ }", "a", " x; /* } */ ");
}

static void words(void **state)
{
	const char *text = "ld.volatile.global::x %r1";
	const struct ptx_text w = ptx_word(text, text + strlen(text));

	assert_int_equal(w.end - w.p, strlen("ld.volatile.global::x"));
	assert_true(ptx_begins(w, "ld"));
	assert_false(ptx_begins(w, "l"));
	assert_true(ptx_begins(text_of("ld"), "ld"));
	assert_false(ptx_begins(text_of("ldu.x"), "ld"));
	assert_true(ptx_has(w, ".volatile"));
	assert_false(ptx_has(w, "%r1"));
	assert_true(ptx_has_name(text_of("call free, (p);"), "free"));
	assert_true(ptx_has_name(text_of("free"), "free"));
	assert_false(ptx_has_name(text_of("freed %free"), "free"));
}

/* Cut off anywhere, in memory that ends there (the sanitizers watch). */
static void cut_off(void **state)
{
	static const char whole[] =
		"/* c */ .entry a(.param .b8 x[4]) // d\n{ call free; /* e */ }";

	for (size_t n = 0; n < sizeof whole; n++) {
		char *copy = malloc(n ? n : 1);
		const struct ptx_text t = {copy, copy + n};
		struct ptx_text body;

		memcpy(copy, whole, n);
		if (ptx_body(t, "a", &body))
			assert_true(body.p >= copy && body.p <= body.end && body.end <= t.end);
		(void)ptx_has_name(t, "free");
		(void)ptx_word(ptx_skip(t.p, t.end), t.end);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies),
		cmocka_unit_test(comments),
		cmocka_unit_test(words),
		cmocka_unit_test(cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
