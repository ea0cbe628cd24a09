/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: values worked out by hand, and the sentence for each kind of mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sbt/expr.h"

/* (int 5, float 2.5 at 4, double -1.0 at 8, i16 -3 at 16, and one that lies past the end) */
static const uint32_t pairs[] = {0, 4, 4, 4, 8, 8, 16, 2, 100, 4};
static const struct sbt_blob params = {pairs, sizeof pairs};
static const uint8_t args[18] = {
	5, 0, 0, 0, 0, 0, 0x20, 0x40, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf, 0xfd, 0xff};

static struct sbt_cmd launch(void)
{
	struct sbt_cmd c = {.seq = 9, .kind = SBT_LAUNCH, .thread = 2, .result = 700};

	c.u.launch.stream = 3;
	c.u.launch.grid_x = 64;
	c.u.launch.block_x = 256;
	c.u.launch.args = (struct sbt_blob){args, sizeof args};
	return c;
}

static int64_t value_of(unsigned kind, const char *text, const struct sbt_cmd *c)
{
	char why[300] = "";
	struct sbt_expr e;

	if (!sbt_expr_compile(&e, kind, text, why, sizeof why))
		fail_msg("%s: %s", text, why);
	assert_int_equal(
		sbt_expr_true(&e, c, &params), sbt_expr_eval(&e, c, &params).type == SBT_V_FLOAT
						       ? sbt_expr_eval(&e, c, &params).f != 0
						       : sbt_expr_value(&e, c, &params) != 0);
	return sbt_expr_value(&e, c, &params);
}

static void test_values(void **unused)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{"1", 1},
		{"0x10", 16},
		{"4K", 4096},
		{"2M + 1G", (2 << 20) + (1 << 30)},
		{"1 + 2 * 3", 7},
		{"(1 + 2) * 3", 9},
		{"10 - 3 - 2", 5},
		{"7 / 2", 3},
		{"-7 / 2", -3},
		{"-7 % 3", -1},
		{"7 / 0", 0},
		{"7 % 0", 0},
		{"1 << 4 | 1", 17},
		{"6 & 3 == 3", 0}, /* == binds more than &, as in C: 6 & 1 */
		{"1 || 0 && 0", 1},
		{"!5", 0},
		{"!!5", 1},
		{"~0", -1},
		{"-1 < 0", 1},
		{"1 << 64", 0},
		{"-8 >> 1", -4},
		{"0xffffffffffffffff > 1", 1}, /* unsigned */
		{"-1 < grid_x", 0},	       /* as in C: an unsigned operand makes it unsigned */
		{"7 / 2.0 == 3.5", 1},
		{"0.1 + 0.2 > 0.3", 1},
		{"1e3", 1000},
		{"grid_x", 64},
		{"block_x > 128 && stream == 3", 1},
		{"seq", 9},
		{"thread * 10 + result", 720},
		{"size", 0}, /* a launch has none */
		{"kind == launch", 1},
		{"kind == copy", 0},
		{"arg0", 5},
		{"arg1.f32 == 2.5", 1},
		{"arg2.f64 == -1.0", 1},
		{"arg3", 0xfffd},
		{"arg3.s16", -3},
		{"arg3.u8", 0xfd},
		{"arg4", 0}, /* past the buffer */
		{"arg5", 0}, /* past the list */
		{"arg0.f64", 0},
		{" ( arg0 == 5 ) ", 1},
	};
	struct sbt_cmd c = launch();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t v = value_of(0, cases[i].text, &c);

		if (v != cases[i].value)
			fail_msg("%s is %lld, not %lld", cases[i].text, (long long)v,
				(long long)cases[i].value);
	}
}

static void test_enumerations(void **unused)
{
	struct sbt_cmd c = {.kind = SBT_COPY}, s = {.kind = SBT_SYNC}, a = {.kind = SBT_ALLOC};

	c.u.copy.dir = SBT_COPY_D2H;
	c.u.copy.size = 5000;
	assert_int_equal(value_of(SBT_COPY, "dir == d2h && size >= 4K", &c), 1);
	assert_int_equal(value_of(SBT_COPY, "dir != d2h", &c), 0);
	s.u.sync.scope = SBT_SYNC_STREAM;
	s.u.sync.stream = 7;
	assert_int_equal(
		value_of(SBT_SYNC, "scope == stream", &s), 1); /* the scope, not stream 7 */
	assert_int_equal(value_of(SBT_SYNC, "stream == 7", &s), 1);
	a.u.alloc.mem = SBT_MEM_PINNED;
	assert_int_equal(value_of(SBT_ALLOC, "mem == pinned", &a), 1);
}

static void refused(unsigned kind, const char *text, const char *says)
{
	char why[600] = "";
	struct sbt_expr e;

	if (sbt_expr_compile(&e, kind, text, why, sizeof why))
		fail_msg("\"%s\" was taken", text);
	if (!strstr(why, says))
		fail_msg("\"%s\": \"%s\" does not say \"%s\"", text, why, says);
	assert_int_equal(e.n, 0);
}

static void test_mistakes(void **unused)
{
	char deep[400];

	refused(0, "", "empty");
	refused(0, "  ", "empty");
	refused(0, "1 +", "ends where a value is expected");
	refused(0, "stream = 2", "write ==");
	refused(0, "(1", "missing )");
	refused(0, "1 2", "operator is expected");
	refused(0, "frobs > 1", "no command has a field \"frobs\"");
	refused(SBT_LAUNCH, "dst == 1",
		"launch has no field \"dst\"; it has stream, kernel, grid_x");
	refused(SBT_LAUNCH, "args == 1", "arg0, arg1");
	refused(SBT_COPY, "arg0 == 1", "only a launch has arguments");
	refused(0, "arg0.f16", "no view \"f16\"");
	refused(0, "0x", "no hexadecimal digits");
	refused(0, "99999999999999999999", "64 bits");
	refused(0, "17179869184G", "64 bits");
	refused(0, "4T", "suffixes");
	refused(0, "$", "a value is expected");
	refused(999, "1", "no command kind");
	memset(deep, '(', sizeof deep - 1);
	deep[sizeof deep - 1] = 0;
	refused(0, deep, "nested too deeply");
	for (unsigned i = 0; i < 99; i++)
		memcpy(deep + 4 * i, "1+1+", 4);
	strcpy(deep + 396, "1");
	refused(0, deep, "too long");
}

/* --- Python frames --- */

/* launch at 42 called by Net.forward in /app/lib/train.py, called by main.<locals>.<lambda>; or
 * nothing. */
static uint64_t answer(void *arg, enum sbt_python what, const char *text, bool glob)
{
	static const char *const functions[] = {"launch", "Net.forward", "main.<locals>.<lambda>"};

	if (what == SBT_PY_LINE)
		return 42;
	if (what == SBT_PY_FILE)
		return sbt_python_is(what, text, glob, "/app/lib/train.py");
	for (unsigned i = 0; i < (what == SBT_PY_STACK ? 3 : 1); i++)
		if (sbt_python_is(what, text, glob, functions[i]))
			return 1;
	return 0;
}

static void test_python(void **unused)
{
	static const struct {
		const char *text;
		bool with, without; /* with these frames, without any */
	} cases[] = {
		{"pyfunc == \"launch\"", true, false},
		{"pyfunc != \"launch\"", false, true},
		{"pyfunc == 'laun'", false, false},
		{"pyfunc =~ \"l*h\"", true, false},
		{"pyfunc !~ \"l*h\"", false, true},
		{"pyfunc == \"forward\"", false, false},
		{"pystack == \"forward\"", true, false},
		{"pystack == \"Net.forward\"", true, false},
		{"pystack == \"et.forward\"", false, false},
		{"pystack == \".forward\"", false, false},
		{"pystack == \"<lambda>\"", true, false},
		{"pystack =~ \"[A-Z]et.f?rward\"", true, false},
		{"pystack != \"backward\"", true, true},
		{"pyfile == \"train.py\"", true, false},
		{"pyfile == \"lib/train.py\" && pyline == 42", true, false},
		{"pyfile == \"rain.py\"", false, false},
		{"pyfile =~ \"/app/*\" && grid_x == 64", true, false},
		{"pyline > 41 && pyline < 43", true, false},
		{"!(pyfunc == \"launch\") || pyline == 0", false, true},
		{"pyfunc == \"la\\unch\"", true,
			false}, /* a backslash takes what follows as it is */
		{"pystack == \"\"", false, false},
	};
	const struct sbt_python_view view = {.answer = answer};
	const struct sbt_cmd c = launch();
	struct sbt_expr e;
	char why[300], text[400];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!sbt_expr_compile(&e, SBT_LAUNCH, cases[i].text, why, sizeof why))
			fail_msg("%s: %s", cases[i].text, why);
		assert_true(sbt_expr_asks_python(&e));
		if (sbt_expr_true_in(&e, &c, &params, &view) != cases[i].with ||
			sbt_expr_true(&e, &c, &params) != cases[i].without)
			fail_msg("%s is not as it should be", cases[i].text);
	}
	assert_true(sbt_expr_compile(&e, 0, "grid_x", why, sizeof why));
	assert_false(sbt_expr_asks_python(&e));
	refused(0, "pyfunc", "pyfunc is a text");
	refused(0, "pyfunc > \"a\"", "pyfunc is a text");
	refused(0, "pyfunc == forward", "a text in \"\" is expected at \"forward\"");
	refused(0, "pyfunc == \"forward", "lacks its closing \"");
	refused(0, "\"forward\" == pyfunc", "only stand behind pyfunc");
	refused(0, "grid_x == \"a\"", "only stand behind pyfunc");
	memset(text, 'x', sizeof text);
	memcpy(text, "pyfunc == \"", 11);
	memcpy(text + 11 + 256, "\"", 2); /* 256 and the NUL: one too many */
	refused(0, text, "too long");
	memcpy(text + 11 + 255, "\"", 2);
	assert_true(sbt_expr_compile(&e, 0, text, why, sizeof why));
	assert_int_equal(strlen(e.text), 255);
}

/* A program out of scribbled memory: evaluation comes back, whatever is in it. */
static void test_scribbled_programs(void **unused)
{
	const struct sbt_python_view view = {.answer = answer};
	struct sbt_cmd c = launch();
	struct sbt_expr e;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 20000; i++) {
		for (size_t k = 0; k < sizeof e; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			((uint8_t *)&e)[k] = (uint8_t)(seed >> 56);
		}
		for (unsigned k = 0; k < SBT_EXPR_MAX; k++)
			e.ops[k].op %= 27;
		(void)sbt_expr_value(&e, &c, &params);
		(void)sbt_expr_true_in(&e, &c, &params, &view);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_enumerations),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_scribbled_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
