/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of PTX instructions: each form with the value that it must give, and those that are
 * refused with the reason (PTX ISA 9.0, "Instruction Operands", "Constants", and the sections of
 * the opcodes).
 */
#include "ptx-test.h"

/* r0 10, r1 3, d1 1000000007, h0 7, h1 8, f0 1.5, g0 2.5, p0 true, p1 false; r9, d9 99. */
#define BEGIN                                                                                      \
	".version 8.0\n.target sm_80\n.address_size 64\n"                                          \
	".global .align 8 .b8 bytes[16] = {1,2,3,4,5,6,7,8,9,10,11,12,253,254,255,16};\n"          \
	".const .align 4 .u32 con[2] = {70, 71};\n"                                                \
	".func dev() { ret; }\n"                                                                   \
	".visible .entry k(.param .u64 out, .param .align 8 .b8 par[16]) {\n"                      \
	".reg .b16 %h<10>; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .f32 %f<10>;\n"                \
	".reg .f64 %g<10>; .reg .pred %p<10>; .reg .b8 %c<4>; .reg .b128 %q<4>;\n"                 \
	".shared .align 8 .b8 sh[32]; .local .align 8 .b8 lo[32];\n"                               \
	"mov.u32 %r0, 10; mov.u32 %r1, 3; ld.param.u64 %d0, [out]; mov.u64 %d1, 1000000007;\n"     \
	"mov.u16 %h0, 7; mov.u16 %h1, 8; mov.f32 %f0, 0f3FC00000;\n"                               \
	"mov.f64 %g0, 0d4004000000000000; setp.gt.u32 %p0, %r0, %r1;\n"                            \
	"setp.lt.u32 %p1, %r0, %r1; mov.u64 %d5, bytes; add.u64 %d6, %d5, 8;\n"                    \
	"st.shared.u32 [sh+4], 111; st.local.u32 [lo+8], 222; mov.u32 %r9, 99; mov.u64 %d9, 99;\n"
#define END "\nst.global.u32 [%d0], %r9; st.global.u64 [%d0+8], %d9; ret; }\n"

/* Why the instruction is refused, before it runs; NULL: it ran, and out has r9 and d9. */
static const char *refusal(const char *insn, uint64_t out[2])
{
	static uint64_t *memory;
	static char text[4096], why[1024];
	struct ptx_module *m;
	struct ptx_fault f;
	struct {
		void *out;
		uint32_t par[4];
	} params = {NULL, {31, 32, 33, 34}};

	memory = memory ? memory : device(64);
	params.out = memory;
	snprintf(text, sizeof text, "%s%s%s", BEGIN, insn, END);
	m = ptx_load(text, strlen(text), why, sizeof why);
	if (!m)
		return why;
	assert_int_equal(ptx_link(m, place_var, NULL, why, sizeof why), PTX_LINKED);
	switch (launch_of(m, "k", 1, 1, &params, &f)) {
	case PTX_OK:
		memcpy(out, memory, 16);
		ptx_free(m);
		return NULL;
	case PTX_ILLEGAL_INSTRUCTION:
		ptx_free(m);
		snprintf(why, sizeof why, "%s", f.text);
		return why;
	default:
		fail_msg("%s: %s", insn, f.text);
	}
	return NULL;
}

static const struct {
	const char *insn;
	uint64_t want; /* of r9; of d9 if that is no longer 99 */
} values[] = {
	/* numbers */
	{"mov.u32 %r9, 0x1F;", 31},
	{"mov.u32 %r9, 0X1fU;", 31},
	{"mov.u32 %r9, 017;", 15},
	{"mov.u32 %r9, 0b101;", 5},
	{"mov.u32 %r9, 0;", 0},
	{"mov.u32 %r9, -1;", 0xffffffff},
	{"mov.u32 %r9, 4294967295U;", 0xffffffff},
	{"mov.u64 %d9, -1;", UINT64_MAX},
	{"mov.u64 %d9, 0xfedcba9876543210;", 0xfedcba9876543210},
	{"mov.u64 %d9, 18446744073709551615U;", UINT64_MAX},
	{"mov.u16 %h9, -2; cvt.u32.u16 %r9, %h9;", 65534},
	{"mov.u16 %h9, 65535; cvt.s32.s16 %r9, %h9;", 0xffffffff},
	{"add.u32 %r9, %r0, -3;", 7},
	{"add.u32 %r9, 5, %r1;", 8},
	{"sub.s64 %d9, -5, -7;", 2},
	{"max.s16 %h9, -5, -7; cvt.s32.s16 %r9, %h9;", (uint32_t)-5},
	{"max.u16 %h9, 5, -7; cvt.u32.u16 %r9, %h9;", 65529},
	{"min.s16 %h9, 32767, -32768; cvt.s32.s16 %r9, %h9;", (uint32_t)-32768},
	{"shr.s16 %h9, -8, 1; cvt.s32.s16 %r9, %h9;", (uint32_t)-4},
	{"shr.u16 %h9, -8, 1; cvt.u32.u16 %r9, %h9;", 32764},
	{"cvt.u32.u8 %r9, 300;", 44},
	{"cvt.s32.s8 %r9, 200;", (uint32_t)-56},
	/* floats */
	{"mov.b32 %r9, 0f3FC00000;", 0x3fc00000},
	{"add.f32 %f9, 1.5, 0.0; mov.b32 %r9, %f9;", 0x3fc00000},
	{"add.f32 %f9, %f0, -1.0; mov.b32 %r9, %f9;", 0x3f000000},
	{"mov.f32 %f9, -0f3FC00000; mov.b32 %r9, %f9;", 0xbfc00000},
	{"mov.f32 %f9, 0d3FF8000000000000; mov.b32 %r9, %f9;", 0x3fc00000},
	{"mov.f64 %g9, 0f3FC00000; mov.b64 %d9, %g9;", 0x3ff8000000000000},
	{"mov.f64 %g9, -0d3FF8000000000000; mov.b64 %d9, %g9;", 0xbff8000000000000},
	{"mov.f64 %g9, 2.5e-1; mov.b64 %d9, %g9;", 0x3fd0000000000000},
	{"mul.f64 %g9, %g0, 2.0; mov.b64 %d9, %g9;", 0x4014000000000000},
	{"mov.f32 %f9, 0f7F800000; mov.b32 %r9, %f9;", 0x7f800000},
	/* predicates and guards */
	{"selp.u32 %r9, 1, 2, %p0;", 1},
	{"selp.u32 %r9, 1, 2, %p1;", 2},
	{"@%p0 mov.u32 %r9, 5;", 5},
	{"@!%p0 mov.u32 %r9, 5;", 99},
	{"@%p1 mov.u32 %r9, 5;", 99},
	{"@!%p1 mov.u32 %r9, 5;", 5},
	{"setp.gt.and.u32 %p9, %r0, %r1, %p0; selp.u32 %r9, 1, 0, %p9;", 1},
	{"setp.gt.and.u32 %p9, %r0, %r1, !%p0; selp.u32 %r9, 1, 0, %p9;", 0},
	{"setp.lt.or.u32 %p9, %r0, %r1, !%p1; selp.u32 %r9, 1, 0, %p9;", 1},
	{"setp.gt.xor.u32 %p9, %r0, %r1, %p0; selp.u32 %r9, 1, 0, %p9;", 0},
	{"setp.lt.u32 %p9|%p8, %r0, %r1; selp.u32 %r9, 1, 0, %p8;", 1},
	{"setp.lt.u32 %p9|%p8, %r0, %r1; selp.u32 %r9, 1, 0, %p9;", 0},
	{"setp.lt.u32 _|%p8, %r0, %r1; selp.u32 %r9, 1, 0, %p8;", 1},
	{"setp.lt.u32 %p9|_, %r0, %r1; selp.u32 %r9, 1, 0, %p9;", 0},
	{"not.pred %p9, %p0; selp.u32 %r9, 1, 0, %p9;", 0},
	{"mov.pred %p9, 1; selp.u32 %r9, 1, 0, %p9;", 1},
	{"mov.pred %p9, %p1; selp.u32 %r9, 1, 0, %p9;", 0},
	/* addresses */
	{"ld.global.u32 %r9, [bytes];", 0x04030201},
	{"ld.global.u32 %r9, [bytes+4];", 0x08070605},
	{"ld.global.u32 %r9, [%d5];", 0x04030201},
	{"ld.global.u32 %r9, [%d5+4];", 0x08070605},
	{"ld.global.u32 %r9, [%d6+-4];", 0x08070605},
	{"ld.global.u32 %r9, [%d6+0x0];", 0x0c0b0a09},
	{"ld.u32 %r9, [%d6];", 0x0c0b0a09},
	{"ld.shared.u32 %r9, [sh+4];", 111},
	{"ld.local.u32 %r9, [lo+8];", 222},
	{"mov.u32 %r3, sh; ld.shared.u32 %r9, [%r3+4];", 111},
	{"mov.u32 %r3, sh+4; ld.shared.u32 %r9, [%r3];", 111},
	{"mov.u64 %d3, sh; ld.shared.u32 %r9, [%d3+4];", 111},
	{"mov.u32 %r3, lo; ld.local.u32 %r9, [%r3+8];", 222},
	{"mov.u64 %d3, lo+4; ld.local.u32 %r9, [%d3+4];", 222},
	{"mov.u64 %d3, bytes+4; ld.global.u32 %r9, [%d3];", 0x08070605},
	{"cvta.shared.u64 %d3, sh; ld.u32 %r9, [%d3+4];", 111},
	{"cvta.local.u64 %d3, lo; ld.u32 %r9, [%d3+8];", 222},
	{"cvta.global.u64 %d3, bytes; ld.u32 %r9, [%d3+8];", 0x0c0b0a09},
	{"ld.const.u32 %r9, [con+4];", 71},
	{"mov.u64 %d3, con; ld.const.u32 %r9, [%d3];", 70},
	{"ld.param.u32 %r9, [par+4];", 32},
	{"ld.param.u64 %d9, [par+8];", 34ull << 32 | 33},
	{"mov.u64 %d3, par; ld.param.u32 %r9, [%d3+12];", 34},
	{"sub.u64 %d9, %d6, %d5;", 8},
	{"mov.u64 %d3, dev; setp.ne.u64 %p9, %d3, 0; selp.u32 %r9, 1, 0, %p9;", 1},
	/* loads into wider registers */
	{"ld.global.u8 %r9, [bytes+3];", 4},
	{"ld.global.s8 %r9, [bytes+12];", (uint32_t)-3},
	{"ld.global.u8 %r9, [bytes+12];", 253},
	{"ld.global.s16 %d9, [bytes+12];", (uint64_t)-259},
	{"ld.global.u16 %d9, [bytes+12];", 0xfefd},
	{"ld.global.u8 %h9, [bytes+15]; cvt.u32.u16 %r9, %h9;", 16},
	{"ld.global.b32 %d9, [bytes];", 0x04030201},
	/* vectors */
	{"ld.global.v2.u32 {%r8, %r9}, [bytes];", 0x08070605},
	{"ld.global.v2.u32 {%r9, _}, [bytes];", 0x04030201},
	{"ld.global.v2.u32 {_, %r9}, [bytes+8];", 0x10fffefd},
	{"ld.global.v4.u8 {%r2, %r3, %r4, %r9}, [bytes];", 4},
	{"ld.global.v4.s8 {%r9, %r3, %r4, %r5}, [bytes+12];", (uint32_t)-3},
	{"ld.global.v2.u64 {%d8, %d9}, [bytes];", 0x10fffefd0c0b0a09},
	{"ld.global.v4.u32 {%r2, %r3, %r9, %r4}, [bytes];", 0x0c0b0a09},
	{"st.shared.v2.u32 [sh+8], {%r0, 5}; ld.shared.u64 %d9, [sh+8];", 5ull << 32 | 10},
	{"st.shared.v4.u16 [sh+8], {%h0, %h1, 9, -1}; ld.shared.u64 %d9, [sh+8];",
		0xffff000900080007},
	{"st.shared.v2.f32 [sh+8], {%f0, 0f40000000}; ld.shared.u64 %d9, [sh+8];",
		0x400000003fc00000},
	{"mov.b64 %d9, {%r0, %r1};", 3ull << 32 | 10},
	{"mov.b64 %d9, {%r0, 5};", 5ull << 32 | 10},
	{"mov.b32 %r9, {%h0, %h1};", 8 << 16 | 7},
	{"mov.b64 %d9, {%h0, %h1, %h0, %h1};", 0x0008000700080007},
	{"mov.b64 {%r9, %r8}, %d1;", 1000000007},
	{"mov.b64 {%r8, %r9}, %d5; ld.global.u32 %r9, [%d5];", 0x04030201},
	{"mov.b64 {_, %r9}, 0x500000003;", 5},
	{"mov.b64 {%r9, _}, 0x500000003;", 3},
	{"mov.b32 {%h9, %h8}, 0x00050003; cvt.u32.u16 %r9, %h8;", 5},
	{"mov.b32 {%h9, %h8}, 0x00050003; cvt.u32.u16 %r9, %h9;", 3},
	{"mov.b64 {%h5, %h6, %h7, %h8}, 0x0004000300020001; cvt.u32.u16 %r9, %h7;", 3},
	{"mov.b128 %q0, {%d1, %d9}; mov.b128 {%d9, _}, %q0;", 1000000007},
	/* special registers */
	{"mov.u32 %r9, %ntid.x;", 1},
	{"mov.u32 %r9, %tid.y;", 0},
	{"mov.u16 %h9, %ntid.x; cvt.u32.u16 %r9, %h9;", 1},
	{"mov.u32 %r9, WARP_SZ;", 32},
	{"mov.u32 %r9, %lanemask_eq;", 1},
	{"add.u32 %r9, %nctaid.x, 4;", 5},
	{"mov.u64 %d9, %clock64; setp.ge.u64 %p9, %d9, 0; selp.u64 %d9, 1, 0, %p9;", 1},
};

static void values_of_operands(void **state)
{
	for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
		uint64_t got[2] = {0};
		const char *why = refusal(values[k].insn, got);
		const uint64_t value = got[1] != 99 ? got[1] : (uint32_t)got[0];

		if (why)
			fail_msg("%s: %s", values[k].insn, why);
		if (value != values[k].want)
			fail_msg("%s gives %#llx, not %#llx", values[k].insn,
				(unsigned long long)value, (unsigned long long)values[k].want);
	}
}

static const struct {
	const char *insn, *says;
} refused[] = {
	{"mov.u32 %r9, bytes;", "a 64-bit address in 32 bits"},
	{"mov.u32 %r9, con;", "a 64-bit address in 32 bits"},
	{"mov.u16 %h9, sh;", ""},
	{"mov.u16 %h9, dev;", ""},
	{"mov.u32 %r9, dev;", ""},
	{"mov.u32 %r9, nix;", "'nix' is not declared"},
	{"add.u32 %r9, nix, 1;", "'nix' is not declared"},
	{"ld.global.u32 %r9, [nix];", "'nix' is not declared"},
	{"st.global.v2.u32 [%d0], {%r0, nix};", "'nix' is not declared"},
	{"mov.b64 {%r9, nix}, %d1;", ""},
	{"ld.global.u32 %r9, [%h0];", "an address register of the wrong width"},
	{"ld.global.u32 %r9, [%p0];", "an address register of the wrong width"},
	{"ld.global.u32 %r9, %d5;", "an operand that is not an address"},
	{"ld.global.u32 %r9, [dev];", "an address of another kind"},
	{"ld.global.u32 %r9, [%tid.x];", "an address of another kind"},
	{"ld.global.u32 %r9, [];", "not an address"},
	{"ld.global.u32 %r9, [%d5+];", "a number should follow"},
	{"ld.global.u32 %r9, [%d5+%d5];", ""},
	{"ld.global.u32 %r9, [%d5.b0];", "a part of a register"},
	{"ld.global.u32 %r9, [%d5, {%r0}];", "coordinates"},
	{"ld.global.u32 %r9, [%d5;", ""},
	{"add.u32 %r9, %r0, %d1;", "a register of the wrong width"},
	{"add.u32 %r9, %r0, %h0;", "a register of the wrong width"},
	{"add.u64 %d9, %d1, %r0;", "a register of the wrong width"},
	{"add.u32 %d9, %r0, %r1;", "a register of the wrong width"},
	{"add.u32 %r9, %r0, %p0;", "predicate and number mixed up"},
	{"selp.u32 %r9, 1, 2, %r0;", "predicate and number mixed up"},
	{"mov.pred %p9, %r0;", "predicate and number mixed up"},
	{"@%r0 mov.u32 %r9, 1;", ""},
	{"@nix mov.u32 %r9, 1;", ""},
	{"mov.u32 %r9, -%r0;", "- before a register"},
	{"mov.u32 %r9, !%r0;", "! before a number"},
	{"mov.u32 %r9, !1;", "! before a number"},
	{"add.u32 5, %r0, %r1;", ""},
	{"add.u32 sh, %r0, %r1;", ""},
	{"add.u32 _, %r0, %r1;", ""},
	{"add.u32 %r9.b0, %r0, %r1;", "a part of a register"},
	{"add.u32 %r9, %r0, %r1.b0;", "a part of a register"},
	{"add.u32 %r9, %r0, _;", "an operand of another kind"},
	{"add.u32 %r9, %r0, {%r1};", "an operand of another kind"},
	{"add.u32 %r9, %r0, [%d5];", "an operand of another kind"},
	{"add.u32 %r9, %r0, (%r1);", "an operand of another kind"},
	{"add.u32 %r9, %r0, *;", "not an operand"},
	{"add.f32 %f9, %f0, 1;", "an integer constant for a floating-point type"},
	{"add.f64 %g9, %g0, 1;", "an integer constant for a floating-point type"},
	{"mov.u16 %h9, 1.5;", "a floating-point constant for this type"},
	{"mov.u32 %r9, %clock64;", "a special register of the wrong width"},
	{"mov.u32 %r9, %nosuch.x;", ""},
	{"mov.pred %p9, %tid.x;", "a special register of the wrong width"},
	{"add.u32 %r9, %r0, %clock;", "a clock outside of mov"},
	{"ld.global.v2.u32 {%r9}, [bytes];", "a vector of another length"},
	{"ld.global.v2.u32 {%r7, %r8, %r9}, [bytes];", "a vector of another length"},
	{"ld.global.v2.u32 %r9, [bytes];", "a vector of another length"},
	{"ld.global.u32 {%r9}, [bytes];", "a vector of another length"},
	{"ld.global.v4.u32 {%r8, %r9}, [bytes];", "a vector of another length"},
	{"ld.global.v2.u32 {%r9, 5}, [bytes];", "a destination that is not a register"},
	{"ld.global.v2.u32 {%r9, %h0}, [bytes];", "a register of the wrong width"},
	{"ld.global.v2.u32 {%r9, %p0}, [bytes];", "predicate and number mixed up"},
	{"ld.global.u64 %r9, [bytes];", "a register of the wrong width"},
	{"ld.global.u32 _, [bytes];", "a destination that is not a register"},
	{"st.global.v2.u32 [%d0], {%r0, _};", "an operand of another kind"},
	{"st.global.u64 [%d0], %r0;", "a register of the wrong width"},
	{"mov.b32 %r9, {%h0, %h1, %h0};", "an operand that is not a vector of 2 or 4"},
	{"mov.b32 %r9, {%h0};", "an operand that is not a vector of 2 or 4"},
	{"mov.b32 %r9, {%r0, %r1};", ""},
	{"mov.b64 %d9, {%h0, %h1};", ""},
	{"mov.b64 {%r9, 5}, %d1;", "a destination that is not a register"},
	{"mov.b64 {%h9, %h8}, %d1;", "a register of the wrong width"},
};

static void refusals(void **state)
{
	for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
		uint64_t got[2];
		const char *why = refusal(refused[k].insn, got);

		if (!why)
			fail_msg("%s: runs", refused[k].insn);
		if (!strstr(why, refused[k].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", refused[k].insn, why,
				refused[k].says);
	}
}

/* 64 in a list, 256 in an instruction: one more is too many. */
static void lists_have_ends(void **state)
{
	char insn[1024];

	for (unsigned n = 8; n < 70; n += 28) { /* 8, 36, 64 */
		uint64_t got[2];
		const char *why;

		for (unsigned more = 0; more < 2; more++) {
			strcpy(insn, "add.u32 %r9, %r0, {");
			for (unsigned k = 0; k < n + more; k++)
				strcat(insn, k ? ",1" : "1");
			strcat(insn, "};");
			why = refusal(insn, got);
			assert_non_null(why);
			if (!strstr(why, n + more > 64 ? "too many operands"
						       : "an operand of another kind"))
				fail_msg("%u: %s", n + more, why);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_operands),
		cmocka_unit_test(refusals),
		cmocka_unit_test(lists_have_ends),
	};

	return cmocka_run_group_tests_name("softgpu-ptx-operands", tests, NULL, NULL);
}
