/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: values worked out by hand, and the sentence for each kind of mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbt/expr.h"
#include "sbt/fields.h"

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
		{"arg3[1].u8", 0xff},
		{"arg1[2].u16", 0x4020},
		{"arg1[0].f32 == 2.5", 1},
		{"arg1[4]", 0}, /* past its end */
		{"arg1[32767].u64", 0},
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

/* ---- against C ---------------------------------------- */

static struct sbt_value result_of(const char *text, const void *bytes, size_t n)
{
	static const uint32_t words[] = {0, 8, 8, 8};
	const struct sbt_blob two = {words, sizeof words};
	struct sbt_cmd c = {.kind = SBT_LAUNCH};
	struct sbt_expr e;
	char why[300];

	if (!sbt_expr_compile(&e, 0, text, why, sizeof why))
		fail_msg("%s: %s", text, why);
	c.u.launch.args = (struct sbt_blob){bytes, n};
	return sbt_expr_eval(&e, &c, &two);
}

static void integer_is(
	const char *a, const char *op, const char *b, const uint64_t *v, uint64_t want, bool s)
{
	char text[64];

	snprintf(text, sizeof text, "arg0.%s %s arg1.%s", a, op, b);
	const struct sbt_value is = result_of(text, v, 16);
	if (is.type != (s ? SBT_V_SIGNED : SBT_V_UNSIGNED) || is.u != want)
		fail_msg("%s of %llx and %llx is %llx of type %d, not %llx of type %d", text,
			(unsigned long long)v[0], (unsigned long long)v[1],
			(unsigned long long)is.u, (int)is.type, (unsigned long long)want, s);
}

/* What C says of both, but where it says nothing: there the sum wraps round, nothing is divided by
 * 0, and a shift by too much leaves the sign. */
static void integers(const uint64_t *v)
{
	const uint64_t a = v[0], b = v[1];
	const int64_t x = (int64_t)a, y = (int64_t)b;

	for (unsigned how = 0; how < 4; how++) {
		const bool sa = how & 1, sb = how & 2, s = sa && sb;
		const char *const l = sa ? "s64" : "u64", *const r = sb ? "s64" : "u64";
		const bool traps = s && x == INT64_MIN && y == -1;

		integer_is(l, "+", r, v, a + b, s);
		integer_is(l, "-", r, v, a - b, s);
		integer_is(l, "*", r, v, a * b, s);
		integer_is(l, "/", r, v, !b ? 0 : traps ? a : s ? (uint64_t)(x / y) : a / b, s);
		integer_is(l, "%", r, v, !b || traps ? 0 : s ? (uint64_t)(x % y) : a % b, s);
		integer_is(l, "|", r, v, a | b, s);
		integer_is(l, "&", r, v, a & b, s);
		integer_is(l, "^", r, v, a ^ b, s);
		integer_is(l, "<<", r, v, b > 63 ? 0 : a << b, sa);
		integer_is(l, ">>", r, v,
			sa	 ? (uint64_t)(x >> (b > 63 ? 63 : b))
			: b > 63 ? 0
				 : a >> b,
			sa);
		integer_is(l, "==", r, v, a == b, true);
		integer_is(l, "!=", r, v, a != b, true);
		integer_is(l, "<", r, v, s ? x < y : a < b, true);
		integer_is(l, "<=", r, v, s ? x <= y : a <= b, true);
		integer_is(l, ">", r, v, s ? x > y : a > b, true);
		integer_is(l, ">=", r, v, s ? x >= y : a >= b, true);
		integer_is(l, "&&", r, v, a && b, true);
		integer_is(l, "||", r, v, a || b, true);
	}
}

static void test_integers_are_as_in_c(void **unused)
{
	static const uint64_t values[] = {0, 1, 2, 3, 62, 63, 64, 65, UINT64_MAX, UINT64_MAX - 6,
		INT64_MAX, (uint64_t)INT64_MIN, (uint64_t)INT64_MIN + 1};
	const size_t n = sizeof values / sizeof *values;

	(void)unused;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			integers((uint64_t[]){values[i], values[k]});
	for (size_t i = 0; i < n; i++) {
		const struct {
			const char *text;
			uint64_t want;
			bool is_signed;
		} rows[] = {{"-arg0.s64", -values[i], true}, {"-arg0.u64", -values[i], false},
			{"~arg0.s64", ~values[i], true}, {"~arg0.u64", ~values[i], false},
			{"!arg0.s64", !values[i], true}, {"!arg0.u64", !values[i], true},
			{"+arg0.u64", values[i], false}};

		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
			const struct sbt_value is = result_of(rows[k].text, &values[i], 8);

			assert_int_equal(is.u, rows[k].want);
			assert_int_equal(
				is.type, rows[k].is_signed ? SBT_V_SIGNED : SBT_V_UNSIGNED);
		}
	}
}

static void truth_is(const char *text, const void *v, bool want)
{
	const struct sbt_value is = result_of(text, v, 16);

	assert_int_equal(is.type, SBT_V_SIGNED);
	if (is.u != want)
		fail_msg("%s is not %d", text, want);
}

static void double_is(const char *text, const void *v, double want)
{
	const struct sbt_value is = result_of(text, v, 16);

	assert_int_equal(is.type, SBT_V_FLOAT);
	if (is.f != want)
		fail_msg("%s is %g, not %g", text, is.f, want);
}

/* Either operand makes it double, whatever the other one is. */
static void test_doubles_are_as_in_c(void **unused)
{
	static const double values[] = {0, 1, -1, 2.5, -2.5, 1e19, -1e19};
	static const int64_t numbers[] = {0, 1, -1, 2, INT64_MIN};

	(void)unused;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
			const double a = values[i], s = (double)numbers[k],
				     u = (double)(uint64_t)numbers[k];
			struct {
				double a;
				int64_t b;
			} v = {a, numbers[k]};

			double_is("arg0.f64 + arg1.s64", &v, a + s);
			double_is("arg0.f64 + arg1.u64", &v, a + u);
			double_is("arg1.s64 - arg0.f64", &v, s - a);
			double_is("arg1.u64 - arg0.f64", &v, u - a);
			double_is("arg0.f64 * arg1.s64", &v, a * s);
			double_is("arg0.f64 / arg1.s64", &v, s == 0 ? 0 : a / s);
			double_is("arg1.s64 / arg0.f64", &v, a == 0 ? 0 : s / a);
			double_is("-arg0.f64", &v, -a);
			truth_is("arg0.f64 == arg1.s64", &v, a == s);
			truth_is("arg0.f64 != arg1.s64", &v, a != s);
			truth_is("arg0.f64 < arg1.s64", &v, a < s);
			truth_is("arg0.f64 <= arg1.s64", &v, a <= s);
			truth_is("arg0.f64 > arg1.u64", &v, a > u);
			truth_is("arg1.u64 >= arg0.f64", &v, u >= a);
			truth_is("arg0.f64 && arg1.s64", &v, a != 0 && s != 0);
			truth_is("arg0.f64 || arg1.s64", &v, a != 0 || s != 0);
			truth_is("!arg0.f64", &v, a == 0);
		}
}

/* A floating value is cut towards 0 and clamped, also where only integers can be meant. */
static void test_doubles_as_integers(void **unused)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {{"2.9", 2}, {"-2.9", -2}, {"1e19", INT64_MAX}, {"-1e19", INT64_MIN},
		{"9223372036854775808.0", INT64_MAX}, {"-9223372036854775808.0", INT64_MIN},
		{"1e999 - 1e999", 0}, {"6.5 | 1", 7}, {"6.5 & 3", 2}, {"6.5 ^ 3", 5},
		{"5.5 << 1", 10}, {"5.5 >> 1", 2}, {"-5.5 >> 1", -3}, {"7.5 % 4", 3},
		{"-7.5 % 4", -3}, {"~1.5", -2}};
	const struct sbt_cmd c = launch();

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (value_of(0, rows[i].text, &c) != rows[i].value)
			fail_msg("%s", rows[i].text);
	assert_int_equal(result_of("~1.5", "", 0).type, SBT_V_SIGNED);
}

/* C's table of precedence: two operators in a row are as with the parentheses that it has. */
static void test_precedence_is_as_in_c(void **unused)
{
	static const struct {
		const char *text;
		int binds;
	} ops[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4}, {"&", 5}, {"==", 6}, {"!=", 6},
		{"<", 7}, {"<=", 7}, {">", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},
		{"*", 10}, {"/", 10}, {"%", 10}};
	static const int values[][3] = {
		{7, 2, 3}, {0, 1, 2}, {5, 5, 1}, {12, 3, 0}, {2, 9, 4}, {1, 0, 0}, {3, 6, 5}};
	const size_t n = sizeof ops / sizeof *ops;
	const struct sbt_cmd c = launch();
	char plain[64], meant[64];

	(void)unused;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
				const int *x = values[v];

				snprintf(plain, sizeof plain, "%d%s%d%s%d", x[0], ops[i].text, x[1],
					ops[k].text, x[2]);
				snprintf(meant, sizeof meant,
					ops[i].binds >= ops[k].binds ? "(%d %s %d) %s %d"
								     : "%d %s (%d %s %d)",
					x[0], ops[i].text, x[1], ops[k].text, x[2]);
				if (value_of(0, plain, &c) != value_of(0, meant, &c))
					fail_msg("%s is not %s", plain, meant);
			}
}

static void test_numbers(void **unused)
{
	static const struct {
		const char *text;
		struct sbt_value is;
	} rows[] = {{"0xFf", {SBT_V_SIGNED, 255, 0}}, {"0XaBcDeF", {SBT_V_SIGNED, 0xabcdef, 0}},
		{"0x09", {SBT_V_SIGNED, 9, 0}},
		{"0x7fffffffffffffff", {SBT_V_SIGNED, INT64_MAX, 0}},
		{"9223372036854775807", {SBT_V_SIGNED, INT64_MAX, 0}},
		{"9223372036854775808", {SBT_V_UNSIGNED, UINT64_C(1) << 63, 0}},
		{"18446744073709551615", {SBT_V_UNSIGNED, UINT64_MAX, 0}},
		{"1K", {SBT_V_SIGNED, 1024, 0}}, {"1M", {SBT_V_SIGNED, 1 << 20, 0}},
		{"1G", {SBT_V_SIGNED, 1 << 30, 0}}, {"0x10K", {SBT_V_SIGNED, 16384, 0}},
		{"17179869183G", {SBT_V_UNSIGNED, 17179869183u * (UINT64_C(1) << 30), 0}},
		{"0.5", {SBT_V_FLOAT, 0, 0.5}}, {".25", {SBT_V_FLOAT, 0, 0.25}},
		{"2.", {SBT_V_FLOAT, 0, 2}}, {"1.5f", {SBT_V_FLOAT, 0, 1.5}},
		{"2e3", {SBT_V_FLOAT, 0, 2000}}, {"2E-1", {SBT_V_FLOAT, 0, 0.2}}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sbt_value is = result_of(rows[i].text, "", 0);

		if (is.type != rows[i].is.type || is.u != rows[i].is.u || is.f != rows[i].is.f)
			fail_msg("%s", rows[i].text);
	}
}

/* Bytes of an argument as each view reads them: -2, and 8 more bytes. */
static void test_views_of_arguments(void **unused)
{
	static const uint8_t bytes[16] = {
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8};
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {{"arg0", UINT64_C(0x7ffffffffffffffe)},
		{"arg0.u64", UINT64_C(0x7ffffffffffffffe)},
		{"arg0.s64", UINT64_C(0x7ffffffffffffffe)}, {"arg0.u32", 0xfffffffe},
		{"arg0.s32", (uint64_t)-2}, {"arg0.u16", 0xfffe}, {"arg0.s16", (uint64_t)-2},
		{"arg0.u8", 0xfe}, {"arg0.s8", (uint64_t)-2}};
	static const uint32_t large[] = {0, 16, 8, 7};
	const struct sbt_blob params_ = {large, sizeof large};
	struct sbt_cmd c = {.kind = SBT_LAUNCH}, copy = {.kind = SBT_COPY};
	struct sbt_expr e;
	char why[300];

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sbt_value is = result_of(rows[i].text, bytes, sizeof bytes);

		if (is.u != rows[i].value)
			fail_msg("%s", rows[i].text);
		assert_int_equal(
			is.type, strstr(rows[i].text, ".s") ? SBT_V_SIGNED : SBT_V_UNSIGNED);
	}
	c.u.launch.args = (struct sbt_blob){bytes, sizeof bytes};
	/* of 16 bytes the first 8; 7 are too few for a double, enough for a float */
	assert_true(sbt_expr_compile(&e, 0, "arg0", why, sizeof why));
	assert_int_equal(sbt_expr_value(&e, &c, &params_), INT64_C(0x7ffffffffffffffe));
	assert_int_equal(sbt_expr_value(&e, &c, NULL), 0);
	assert_int_equal(sbt_expr_value(&e, &copy, &params_), 0);
	assert_true(sbt_expr_compile(&e, 0, "arg1", why, sizeof why));
	assert_int_equal(sbt_expr_value(&e, &c, &params_), INT64_C(0x07060504030201));
	assert_true(sbt_expr_compile(&e, 0, "arg1.f64", why, sizeof why));
	assert_true(sbt_expr_eval(&e, &c, &params_).f == 0);
	assert_true(sbt_expr_compile(&e, 0, "arg1.f32", why, sizeof why));
	assert_true(sbt_expr_eval(&e, &c, &params_).f != 0);
	c.u.launch.args.len = 15; /* it ends within them */
	assert_int_equal(sbt_expr_value(&e, &c, &params_), 0);
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
	/* for any kind, too; and where it stands elsewhere, if it can only be one */
	assert_int_equal(value_of(0, "dir == d2h", &c), 1);
	assert_int_equal(value_of(0, "kind != copy", &c), 0);
	assert_int_equal(value_of(0, "kind == alloc || kind == copy", &c), 1);
	assert_int_equal(value_of(0, "pinned == mem", &a), 1);
	/* every field of every kind has a name that can be asked for */
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++)
		for (const struct sbt_field *f = sbt_kind(kind)->fields; f->name; f++) {
			struct sbt_cmd any = {.kind = (uint16_t)kind};

			if (sbt_type_is_blob(f->type))
				continue;
			sbt_set(&any, f, 5);
			assert_int_equal(value_of(0, f->name, &any), 5);
			assert_int_equal(value_of(kind, f->name, &any), 5);
		}
	/* and every value of an enumeration has one, too */
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++)
		for (const struct sbt_field *f = sbt_kind(kind)->fields; f->name; f++)
			for (uint64_t v = 0; sbt_enum_name(f->type, v); v++) {
				struct sbt_cmd any = {.kind = (uint16_t)kind};
				char text[100];

				snprintf(text, sizeof text, "%s == %s", f->name,
					sbt_enum_name(f->type, v));
				sbt_set(&any, f, v);
				assert_int_equal(value_of(kind, text, &any), 1);
				sbt_set(&any, f, v + 1);
				assert_int_equal(value_of(kind, text, &any), 0);
			}
	assert_int_equal(value_of(0, "d2h", &a), SBT_COPY_D2H);
	assert_int_equal(value_of(0, "arg4095", &a), 0);
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
	refused(0, "arg4096", "no argument 4096");
	refused(0, "1.5.2", "after a number");
	refused(0, "1.5x", "after a number");
	refused(0, "12ab", "after a number");
	refused(0, "18446744073709551616", "64 bits");
	refused(0, "0x10000000000000000", "64 bits");
	refused(0, "18014398509481984K", "64 bits");
	/* names of 63 characters are looked up, of 64 are not */
	refused(0, "a23456789_123456789_123456789_123456789_123456789_123456789_123",
		"no command has a field");
	refused(0, "a23456789_123456789_123456789_123456789_123456789_123456789_1234",
		"as long as");
	refused(0, "grid_x,", "operator is expected");
	refused(0, "kind == nothing", "nothing");
	refused(0, "(1 2)", "missing ) before \"2");
	refused(0, "arg0[", "a number below");
	refused(0, "arg0[x]", "a number below");
	refused(0, "arg0[-1]", "a number below");
	refused(0, "arg0[32768]", "a number below");
	refused(0, "arg0[99999999999999999999].f32", "a number below");
	refused(0, "arg0[4", "a number below");
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
		{"pyfunc==\"launch\"", true, false},
		{"pyfunc!='launch'", false, true},
		{"pyfunc=~\"l*h\"", true, false},
		{"pyfunc!~\"l*h\"", false, true},
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
	refused(0, "arg0. == 1", "has no view \"\"");
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
	memset(&e, 0, sizeof e); /* more operations than there are: what lies behind them is none */
	e.n = SBT_EXPR_MAX + 1;
	e.text[0] = SBT_OP_PYTHON;
	assert_false(sbt_expr_asks_python(&e));
	e.ops[SBT_EXPR_MAX - 1].op = SBT_OP_PYTHON;
	assert_true(sbt_expr_asks_python(&e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_integers_are_as_in_c),
		cmocka_unit_test(test_doubles_are_as_in_c),
		cmocka_unit_test(test_doubles_as_integers),
		cmocka_unit_test(test_precedence_is_as_in_c),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_views_of_arguments),
		cmocka_unit_test(test_enumerations),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_scribbled_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
