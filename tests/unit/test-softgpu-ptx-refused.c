/* SPDX-License-Identifier: Apache-2.0
 *
 * What PTX does not have is refused before a kernel runs, and its nearest neighbours run: the parts
 * of registers that video instructions name (PTX ISA 9.0, 9.7.17 "Video Instructions", 9.7.18 "SIMD
 * Video Instructions").
 */
#include "ptx-test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Whether a kernel with this instruction runs. */
static bool runs(const char *insn)
{
	char text[1024];
	void *out = device(256);
	struct ptx_module *m;
	struct ptx_fault f;
	int result;

	snprintf(text, sizeof text,
		HEAD
		".visible .entry k(.param .u64 out) {\n .reg .b32 %%r<12>; .reg .b64 %%d<4>;\n"
		"mov.u32 %%r0, 1; mov.u32 %%r1, 2; mov.u32 %%r2, 3; mov.u32 %%r9, 0;\n%s\nret; }\n",
		insn);
	m = load(text);
	result = launch_of(m, "k", 1, 1, &out, &f);
	ptx_free(m);
	if (result)
		assert_int_equal(result, PTX_ILLEGAL_INSTRUCTION);
	return !result;
}

/* In `insn` % is put in place of a selector; which of them there are. */
static void assert_selectors(const char *insn, const char *good, const char *bad)
{
	for (unsigned k = 0; k < 2; k++) {
		char list[256], line[256], *save, *word;

		snprintf(list, sizeof list, "%s", k ? bad : good);
		for (word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
			const char *at = strchr(insn, '@');

			snprintf(line, sizeof line, "%.*s%s%s", (int)(at - insn), insn, word,
				at + 1);
			if (runs(line) != !k)
				fail_msg("%s %s", line, k ? "runs" : "is refused");
		}
	}
}

/* .h0, .h1 and .b0 to .b3. */
static void parts_of_a_register(void **state)
{
	assert_selectors("vadd.u32.u32.u32 %r9, %r0@, %r1;", ".b0 .b1 .b2 .b3 .h0 .h1",
		".b4 .h2 .b .h .b00 .x0 .h9");
	assert_selectors("vadd.u32.u32.u32 %r9, %r0, %r1@;", ".b0 .b3 .h0 .h1", ".b4 .b9 .h2 .h3");
}

/* Two half-words of four: those of a are 0 and 1, those of b 2 and 3. Four bytes of eight. */
static void picks(void **state)
{
	assert_selectors("vadd2.u32.u32.u32 %r9, %r0@, %r1, %r2;", ".h00 .h10 .h33 .h02 .h31",
		".h04 .h40 .h44 .h0 .h012 .b01 .h");
	assert_selectors(
		"vadd2.u32.u32.u32 %r9, %r0, %r1@, %r2;", ".h32 .h00 .h30", ".h34 .h43 .h3 .b32");
	assert_selectors("vadd4.u32.u32.u32 %r9, %r0@, %r1, %r2;", ".b3210 .b7777 .b0000 .b0746",
		".b8210 .b3218 .b321 .b32100 .h3210 .b9999");
	assert_selectors(
		"vadd4.u32.u32.u32 %r9, %r0, %r1@, %r2;", ".b7654 .b0123", ".b7658 .b8654");
}

/* Which elements are written: .h0, .h1, .h10; .b0 to .b3210, the greater number first, each once.
 */
static void masks(void **state)
{
	assert_selectors("vadd2.u32.u32.u32 %r9@, %r0, %r1, %r2;", ".h0 .h1 .h10",
		".h01 .h11 .h2 .h .h20 .b0");
	assert_selectors("vadd4.u32.u32.u32 %r9@, %r0, %r1, %r2;",
		".b0 .b3 .b10 .b31 .b320 .b3210 .b21", ".b4 .b01 .b33 .b3211 .b .h0 .b43210");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_register),
		cmocka_unit_test(picks),
		cmocka_unit_test(masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
