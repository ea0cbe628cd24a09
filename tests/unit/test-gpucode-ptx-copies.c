/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers that have a value by moves alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "gpucode/ptx-text.h"

static const char text[] =
	".func f()\n"
	"\tmov.u32 %r9, %r1;\n" /* 2: another function's */
	".entry k()\n"
	"\tmov.u32 %r2, 0;\n"
	"\tmov.u32 \t%r39, %r2;\n"
	"L: mov.u32 %r7, %r2;\n" /* behind a label: not seen, as nvcc writes none */
	"\t@%p1 mov.b32 %r4 , %r39 ;\n"
	"\tadd.s32 %r6, %r4, %r38;\n"
	"\tmov.u32 %r39, %r6;\n"
	"\tmov.u32 %r5, %tid.x;\n"
	"\tmov.u64 %rd1, table;\n"
	"\tmov.b64 {%r10, %r11}, %rd1;\n"
	"\tmov.u32 %r2, %r8; mov.u32 %r3, %r3;\n"
	"}\n"
	"\tmov.u32 %r6, %r12;\n"; /* 15: behind */

static void check(const char *reg, unsigned n, ...)
{
	struct ptx_copies c;
	va_list ap;

	assert_true(ptx_copies(text, 3, 14, reg, &c));
	assert_int_equal(c.n, n);
	assert_string_equal(c.reg[0], reg);
	va_start(ap, n);
	for (unsigned i = 0; i < n; i++) {
		const char *want = va_arg(ap, const char *);
		unsigned k = 0;

		while (k < c.n && strcmp(c.reg[k], want) != 0)
			k++;
		assert_int_not_equal(k, c.n);
	}
	va_end(ap);
}

static void follows_moves(void **state)
{
	(void)state;
	check("%r39", 5, "%r39", "%r2", "%r4", "%r6", "%r8");
	check("%r6", 5, "%r39", "%r2", "%r4", "%r6", "%r8");
	check("%r5", 1, "%r5"); /* a special register is none */
	check("%r38", 1, "%r38");
	check("%r1", 1, "%r1");
	check("%r3", 1, "%r3");
}

static void limits(void **state)
{
	static char many[64 * 80];
	struct ptx_copies c;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 63; i++)
		n += (size_t)sprintf(many + n, "mov.u32 %%r%d, %%r%d;\n", i + 1, i);
	assert_true(ptx_copies(many, 1, 99, "%r63", &c));
	assert_int_equal(c.n, 64);
	sprintf(many + n, "mov.u32 %%r64, %%r63;\n");
	assert_false(ptx_copies(many, 1, 99, "%r63", &c));
	assert_true(ptx_copies(many, 1, 63, "%r63", &c));
	assert_false(ptx_copies("", 1, 1, "%a_name_that_is_much_too_long", &c));
	assert_true(ptx_copies("mov.u32 %a_name_that_is_much_too_long, %r1;", 1, 1, "%r1", &c));
	assert_int_equal(c.n, 1);
	assert_true(ptx_copies("mov.u32 %r2, %r1", 1, 1, "%r1", &c)); /* cut off */
	assert_int_equal(c.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_moves), cmocka_unit_test(limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
