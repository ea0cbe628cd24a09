/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that hold themselves: the right body is found in PTX, and nothing else of it changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/ptx-hold.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define F ".visible .entry f(\n\t.param .u64 p // of f { \n)\n.maxntid 128 /* ; { */\n{"
#define BODY "\n\tret;\n}\n"

static char *held(const char *text, const char *kernel)
{
	struct buf out = BUF_INIT;

	if (ptx_hold(&out, text, strlen(text), kernel))
		return (char *)out.data;
	assert_int_equal(out.len, 0);
	return NULL;
}

/* The text is before and after, with what holds it in between, once. */
static void is_held(const char *before, const char *after, const char *kernel)
{
	struct buf text = BUF_INIT;
	char *got, *at;

	buf_printf(&text, "%s%s", before, after);
	got = held(buf_cstr(&text), kernel);
	assert_non_null(got);
	at = strstr(got, "griddepcontrol.launch_dependents;");
	assert_non_null(at);
	assert_null(strstr(at + 1, "griddepcontrol"));
	assert_memory_equal(got, before, strlen(before));
	assert_true(at > got + strlen(before));
	assert_string_equal(got + strlen(got) - strlen(after), after);
	free(got);
	buf_free(&text);
}

static void test_the_body_is_found(void **unused)
{
	(void)unused;
	is_held(HEAD F, BODY, "f");
	is_held(HEAD ".entry ff(.param .u64 p) {" BODY ".entry f2(){" BODY F,
		BODY ".entry g(){" BODY, "f");
	is_held(HEAD "// .entry f() { \n/* .entry f() {\n */" F, BODY, "f");
	is_held(HEAD ".entry f(.param .u64 p);\n" F, BODY, "f"); /* declared first */
	is_held(HEAD ".func f2(){" BODY ".weak .entry\n\t_Z1fPi (){", BODY, "_Z1fPi");
}

static void test_what_is_no_kernel_is_refused(void **unused)
{
	static const char *const texts[] = {
		"",
		"f",
		".entry",
		".entry ",
		".entry f",
		HEAD ".entry f(.param .u64 p)",
		HEAD ".entry f();\n",
		HEAD ".entry ff(){" BODY,
		HEAD ".func f(){" BODY,
		HEAD "// .entry f(){" BODY,
		HEAD "/* .entry f(){" BODY,
		".entry f( // {",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_null(held(texts[i], "f"));
}

#define TRIGGER "griddepcontrol.launch_dependents;\n\t"

static void triggers(const char *text, const char *want)
{
	struct buf out = BUF_INIT;

	assert_int_equal(ptx_trigger_last(&out, text, strlen(text), "f"), want != NULL);
	if (want)
		assert_string_equal((const char *)out.data, want);
	buf_free(&out);
}

static void test_every_return_triggers_first(void **unused)
{
	(void)unused;
	triggers(HEAD F "\n\tret;\n}\n", HEAD F "\n\t" TRIGGER "ret;\n}\n");
	triggers(HEAD F "\n\t@%p1 ret;\n$L0:\n\texit;\n}\n",
		HEAD F "\n\t@%p1 " TRIGGER "@%p1 ret;\n$L0:\n\t" TRIGGER "exit;\n}\n");
	triggers(HEAD F "{ bra $ret; /* ret; */ }\n$ret: // exit;\n\tret.uni;}"
			".func g() { ret; }",
		HEAD F "{ bra $ret; /* ret; */ }\n$ret: // exit;\n\t" TRIGGER "ret.uni;}"
		       ".func g() { ret; }");
	triggers(HEAD F "\n\tret;\n} .entry g() { griddepcontrol.launch_dependents; ret; }",
		NULL); /* it may call what triggers */
	triggers(HEAD F "\n\ttrap;\n}\n", NULL);
	triggers(HEAD ".entry g() { ret; }", NULL);
	triggers(HEAD F " ret", NULL);
	triggers("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_body_is_found),
		cmocka_unit_test(test_what_is_no_kernel_is_refused),
		cmocka_unit_test(test_every_return_triggers_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
