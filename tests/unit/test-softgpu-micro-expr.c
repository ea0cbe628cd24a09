/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope's expressions of numbers alone, against C: 64-bit signed integers and doubles.
 * What C leaves open wraps round, gives 0 when divided by 0, and leaves the sign when shifted too
 * far.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "softgpu/micro/micro.h"

static struct lane_value value_of(const char *text)
{
	struct lane_expr x;
	char why[100];

	if (micro_compile(&x, NULL, 0, text, why, sizeof why))
		fail_msg("%s: %s", text, why);
	return micro_eval(&x, NULL, 0, 0);
}

static void integer_is(const char *text, int64_t want)
{
	const struct lane_value v = value_of(text);

	if (v.is_float || v.i != want)
		fail_msg("%s is %" PRId64 ", not %" PRId64, text, v.i, want);
}

static void double_is(const char *text, double want)
{
	const struct lane_value v = value_of(text);

	if (!v.is_float || v.f != want)
		fail_msg("%s is %g, not %g", text, v.f, want);
}

static void two_are(int64_t a, const char *op, int64_t b, int64_t want)
{
	char text[80];

	/* the lowest number has no digits of its own */
	snprintf(text, sizeof text, "(%" PRId64 " - 1) %s (%" PRId64 " - 1)", a + 1, op, b + 1);
	integer_is(text, want);
}

static void test_integers_are_as_in_c(void **unused)
{
	static const int64_t values[] = {
		0, 1, 2, 3, 63, 64, 65, -1, -2, -7, INT64_MIN, INT64_MIN + 1, INT64_MAX - 1};
	const size_t n = sizeof values / sizeof *values;

	(void)unused;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			const int64_t a = values[i], b = values[k];
			const uint64_t x = (uint64_t)a, y = (uint64_t)b;

			two_are(a, "+", b, (int64_t)(x + y));
			two_are(a, "-", b, (int64_t)(x - y));
			two_are(a, "*", b, (int64_t)(x * y));
			two_are(a, "/", b, !b ? 0 : b == -1 ? (int64_t)(0 - x) : a / b);
			two_are(a, "%", b, !b || b == -1 ? 0 : a % b);
			two_are(a, "<<", b, y > 63 ? 0 : (int64_t)(x << b));
			two_are(a, ">>", b, y > 63 ? (a < 0 ? -1 : 0) : a >> b);
			two_are(a, "<", b, a < b);
			two_are(a, "<=", b, a <= b);
			two_are(a, ">", b, a > b);
			two_are(a, ">=", b, a >= b);
			two_are(a, "==", b, a == b);
			two_are(a, "!=", b, a != b);
			two_are(a, "&", b, a & b);
			two_are(a, "^", b, a ^ b);
			two_are(a, "|", b, a | b);
			two_are(a, "&&", b, a && b);
			two_are(a, "||", b, a || b);
		}
	integer_is("-5", -5);
	integer_is("~5", -6);
	integer_is("!5", 0);
	integer_is("!0", 1);
	integer_is("- - 5", 5);
	integer_is("!!7", 1);
	integer_is("0x1f", 31);
	integer_is("017", 15);
	integer_is("\t 1 ", 1);
	integer_is("18446744073709551615", -1);
}

static void test_doubles_are_as_in_c(void **unused)
{
	static const double values[] = {0, 1, 1.5, 2.5, 1e30};
	char text[80];

	(void)unused;
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 5; k++) {
			static const char ops[][3] = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"};
			const double a = values[i], b = values[k];
			const bool want[] = {
				a<b, a <= b, a> b, a >= b, a == b, a != b, a && b, a || b};

			for (size_t o = 0; o < 8; o++) {
				snprintf(text, sizeof text, "%.1f %s %.1f", a, ops[o], b);
				integer_is(text, want[o]);
			}
			snprintf(text, sizeof text, "%.1f + %.1f", a, b);
			double_is(text, a + b);
			snprintf(text, sizeof text, "%.1f - %.1f", a, b);
			double_is(text, a - b);
			snprintf(text, sizeof text, "%.1f * %.1f", a, b);
			double_is(text, a * b);
			if (b != 0) {
				snprintf(text, sizeof text, "%.1f / %.1f", a, b);
				double_is(text, a / b);
			}
		}
	double_is("1 / 2.0", 0.5); /* one of them is enough */
	double_is("1.5 + 1", 2.5);
	double_is("-1.5", -1.5);
	double_is(".5", 0.5);
	double_is("1e3", 1000);
	assert_true(isinf(value_of("1.0 / 0").f));
	integer_is("!0.5", 0);
	integer_is("!0.0", 1);
	integer_is("~1.5", -2); /* of what are no numbers for it, the integer part */
	integer_is("7.5 % 4", 3);
	integer_is("5.9 & 4", 4);
	integer_is("5.9 | 8", 13);
	integer_is("5.9 ^ 1", 4);
	integer_is("2.5 << 1", 4);
	integer_is("9.9 >> 1", 4);
	integer_is("1e30 | 1", 1); /* it has none */
}

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
	char plain[64], meant[64];

	(void)unused;
	for (size_t i = 0; i < 18; i++)
		for (size_t k = 0; k < 18; k++)
			for (size_t v = 0; v < 7; v++) {
				const int *x = values[v];

				snprintf(plain, sizeof plain, "%d%s%d %s%d", x[0], ops[i].text,
					x[1], ops[k].text, x[2]);
				snprintf(meant, sizeof meant,
					ops[i].binds >= ops[k].binds ? "(%d %s %d) %s %d"
								     : "%d %s (%d %s %d)",
					x[0], ops[i].text, x[1], ops[k].text, x[2]);
				integer_is(plain, value_of(meant).i);
			}
}

static void refused(const char *text, const char *says)
{
	struct lane_expr x;
	char why[100] = "";

	if (!micro_compile(&x, NULL, 0, text, why, sizeof why))
		fail_msg("\"%s\" was taken", text);
	if (!strstr(why, says))
		fail_msg("\"%s\": \"%s\" does not say \"%s\"", text, why, says);
}

static void test_mistakes(void **unused)
{
	char text[400];

	(void)unused;
	refused("", "ends too soon");
	refused("1 +", "ends too soon");
	refused("(1", "not closed");
	refused("1)", "too much");
	refused("1 2", "too much");
	refused("12ab", "is no number");
	refused("1_", "is no number");
	refused("?", "neither a register nor a number");
	refused("%r1", "no register %r1");
	refused("tile", "no variable tile");
	memset(text, '(', 65);
	strcpy(text + 65, "1");
	refused(text, "too many brackets");
	/* 64 numbers and operators, and one more */
	strcpy(text, "1");
	for (unsigned i = 0; i < 31; i++)
		strcat(text, "+1");
	integer_is(text, 32);
	strcat(text, "+1");
	refused(text, "too long");
	for (unsigned i = 0; i < 60; i++)
		memcpy(text + i, "(", 2);
	strcat(text, "7");
	for (unsigned i = 0; i < 60; i++)
		strcat(text, ")");
	integer_is(text, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers_are_as_in_c),
		cmocka_unit_test(test_doubles_are_as_in_c),
		cmocka_unit_test(test_precedence_is_as_in_c), cmocka_unit_test(test_mistakes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
