/* SPDX-License-Identifier: Apache-2.0
 *
 * What PTX does not have is refused before a kernel runs, and its nearest neighbours run: the parts
 * of registers that video instructions name (PTX ISA 9.0, "Video Instructions", "SIMD Video
 * Instructions"), and the types and modifiers of many opcodes.
 */
#include "ptx-test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Whether a kernel with this instruction runs. */
static bool runs(const char *insn)
{
	char text[1024], log[512];
	void *out = device(256);
	struct ptx_module *m;
	struct ptx_fault f;
	int result;

	snprintf(text, sizeof text,
		HEAD
		".global .align 16 .b32 gv[8]; .const .align 16 .b32 cv[8];\n"
		".visible .entry k(.param .u64 out) {\n .reg .b16 %%h<8>; .reg .b32 %%r<12>;\n"
		".reg .b64 %%d<8>; .reg .f32 %%f<8>; .reg .f64 %%g<8>; .reg .pred %%p<4>;\n"
		"mov.u32 %%r0, 1; mov.u32 %%r1, 2; mov.u32 %%r2, 3; mov.u32 %%r9, 0;\n"
		"mov.u16 %%h0, 1; mov.u16 %%h1, 2; mov.u64 %%d1, 1; mov.u64 %%d2, 2;\n"
		"mov.f32 %%f0, 0f3f800000; mov.f32 %%f1, 0f40000000; mov.f32 %%f2, 0f40400000;\n"
		"mov.f64 %%g0, 0d3ff0000000000000; mov.f64 %%g1, 0d4000000000000000;\n"
		"ld.param.u64 %%d0, [out];\n%s\nret; }\n",
		insn);
	m = ptx_load(text, strlen(text), log, sizeof log);
	if (!m)
		return false;
	assert_int_equal(ptx_link(m, place_var, NULL, log, sizeof log), PTX_LINKED);
	result = launch_of(m, "k", 1, 32, &out, &f);
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

/* --- variables --- */
/* An address in brackets that is a variable's is one of the variable's state space: accesses of
 * another space are refused, but for generic ones of global and constant memory, and for those of a
 * cluster's shared memory of one's own. */
static void spaces_of_variables(void **state)
{
	static const char *const spaces[] = {"global", "const", "shared", "local", "param"};
	static const struct {
		const char *insn;
		const char *ok; /* of these variables: g c s l p */
	} rows[] = {
		{"ld.u32 %r9, [@];", "gc"},
		{"ld.global.u32 %r9, [@];", "g"},
		{"ld.const.u32 %r9, [@];", "c"},
		{"ld.shared.u32 %r9, [@];", "s"},
		{"ld.shared::cluster.u32 %r9, [@];", "s"},
		{"ld.local.u32 %r9, [@];", "l"},
		{"ld.param.u32 %r9, [@];", "pl"}, /* a function's .param variables are local ones */
		{"ld.volatile.global.v2.u32 {%r9, %r10}, [@];", "g"},
		{"st.global.u32 [@], %r0;", "g"},
		{"st.shared.u32 [@], %r0;", "s"},
		{"st.local.v2.u32 [@], {%r0, %r1};", "l"},
		{"atom.global.add.u32 %r9, [@], 1;", "g"},
		{"atom.shared.add.u32 %r9, [@], 1;", "s"},
		{"red.global.add.u32 [@], 1;", "g"},
		{"red.shared.or.b32 [@], 1;", "s"},
		{"red.global.v2.f32.add [@], {%f0, %f1};", "g"},
		{"atom.global.exch.b128 %q0, [@], %q1;", "g"},
		{"cp.async.ca.shared.global [@], [%d0], 4; cp.async.wait_all;", "s"},
		{"cp.async.ca.shared.global [sv], [@], 4; cp.async.wait_all;", "gc"},
		{"mbarrier.init.shared.b64 [@], 32;", "s"},
		{"st.bulk.shared::cta [@], 16, 0;", "s"},
	};
	char text[1024];

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (unsigned s = 0; s < 5; s++) {
			const char letter = spaces[s][0], *at = strchr(rows[k].insn, '@');
			const bool want = strchr(rows[k].ok, letter) != NULL;

			snprintf(text, sizeof text,
				".reg .b128 %%q<3>; .shared .align 16 .b32 sv[8]; .local .align 16 .b32 lv[8]; %.*s%s%s",
				(int)(at - rows[k].insn), rows[k].insn,
				letter == 'g'	? "gv"
				: letter == 'c' ? "cv"
				: letter == 's' ? "sv"
				: letter == 'l' ? "lv"
						: "out",
				at + 1);
			if (runs(text) != want)
				fail_msg("%s of .%s %s", rows[k].insn, spaces[s],
					want ? "is refused" : "runs");
		}
}

/* --- functions that are not there --- */
/* malloc(), free(), vprintf() and __assertfail() are known by name and parameters; a function that
 * is declared and defined nowhere, or with other ones, is not called. */
static void functions_of_the_system(void **state)
{
	static const struct {
		const char *declared, *call;
		bool known;
	} rows[] = {
		{".extern .func free(.param .b64 a);", "call free, (x);", true},
		{".extern .func release(.param .b64 a);", "call release, (x);"},
		{".extern .func free(.param .b32 a);", "call free, (z);"},
		{".extern .func free(.param .b64 a, .param .b64 b);", "call free, (x, x);"},
		{".extern .func (.param .b64 r) free(.param .b64 a);", "call (y), free, (x);"},
		{".extern .func (.param .b64 r) malloc(.param .b64 a);", "call (y), malloc, (x);",
			true},
		{".extern .func (.param .b64 r) mallok(.param .b64 a);", "call (y), mallok, (x);"},
		{".extern .func (.param .b32 r) malloc(.param .b64 a);", "call (w), malloc, (x);"},
		{".extern .func (.param .b64 r) malloc(.param .b32 a);", "call (y), malloc, (z);"},
		{".extern .func malloc(.param .b64 a);", "call malloc, (x);"},
		{".extern .func (.param .b32 r) vprintf(.param .b64 a);",
			"call (w), vprintf, (x);"},
		{".extern .func vprintf(.param .b64 a, .param .b64 b);", "call vprintf, (x, x);"},
		{".extern .func __assertfail(.param .b64 a);", "call __assertfail, (x);"},
	};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		char text[1024], log[512];
		struct ptx_module *m;
		struct ptx_fault f;
		int result;

		snprintf(text, sizeof text,
			HEAD
			"%s\n.visible .entry k() { .reg .b32 %%r<4>; .param .b64 x; .param .b64 y; .param .b32 z; .param .b32 w; st.param.b64 [x], 0; st.param.b32 [z], 0; %s ret; }\n",
			rows[k].declared, rows[k].call);
		m = ptx_load(text, strlen(text), log, sizeof log);
		if (!m)
			fail_msg("%s: %s", rows[k].declared, log);
		assert_int_equal(ptx_link(m, place_var, NULL, log, sizeof log), PTX_LINKED);
		result = launch_of(m, "k", 1, 32, NULL, &f);
		if (result != (rows[k].known ? PTX_OK : PTX_ILLEGAL_INSTRUCTION))
			fail_msg("%s: %s", rows[k].declared, f.text);
		ptx_free(m);
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

/* Types and modifiers of an opcode: PTX ISA 9.0, the opcode's own section. What only a stricter
 * reader would refuse is not here: a rounding that PTX 1.4 had by default, signs where bits are
 * meant. */
static void types_and_modifiers(void **state)
{
	static const struct {
		const char *insn, *good, *bad; /* @ is what follows the opcode */
	} rows[] = {
		{"add@ %r9, %r0, %r1;", ".u32 .s32 .sat.s32", ".sat.u32 .rn.s32 .ftz.s32 .u8"},
		{"add@ %f7, %f0, %f1;", ".f32 .rn.f32 .rz.ftz.sat.f32 .rm.f32",
			".rni.f32 .approx.f32"},
		{"add@ %g7, %g0, %g1;", ".f64 .rn.f64 .rp.f64", ".ftz.f64 .sat.f64"},
		{"mul@ %r9, %r0, %r1;", ".lo.s32 .hi.u32", ".s32 .wide.s32 .lo.b32 .rn.s32"},
		{"mul@ %d7, %d1, %d2;", ".lo.u64 .hi.s64", ".wide.u64 .u64"},
		{"mad@ %r9, %r0, %r1, %r2;", ".lo.s32 .hi.u32 .hi.sat.s32",
			".s32 .lo.sat.s32 .hi.sat.u32 .wide.s32"},
		{"fma@ %f7, %f0, %f1, %f2;", ".rn.f32 .rz.ftz.f32 .rn.sat.f32", ".approx.f32"},
		{"fma@ %g7, %g0, %g1, %g0;", ".rn.f64 .rm.f64", ".rn.ftz.f64 .rn.sat.f64"},
		{"div@ %f7, %f0, %f1;", ".rn.f32 .full.f32 .approx.ftz.f32", ".f32 .rn.approx.f32"},
		{"div@ %g7, %g0, %g1;", ".rn.f64", ".approx.f64 .full.f64"},
		{"rcp@ %f7, %f0;", ".approx.f32 .rn.f32 .rz.ftz.f32", ".full.f32"},
		{"sqrt@ %f7, %f0;", ".approx.f32 .rn.f32", ".full.f32"},
		{"sqrt@ %g7, %g0;", ".rn.f64", ".approx.f64"},
		{"sin@ %f7, %f0;", ".approx.f32 .approx.ftz.f32", ".f32 .rn.f32"},
		{"ex2@ %f7, %f0;", ".approx.f32 .approx.ftz.f32", ".f32 .rn.f32"},
		{"min@ %r9, %r0, %r1;", ".u32 .s32", ".b32 .NaN.s32 .ftz.u32"},
		{"min@ %g7, %g0, %g1;", ".f64", ".NaN.f64 .ftz.f64"},
		{"and@ %r9, %r0, %r1;", ".b32", ".u32 .s32 .f32"},
		{"shl@ %r9, %r0, %r1;", ".b32", ".u32 .s32"},
		{"shr@ %r9, %r0, %r1;", ".b32 .u32 .s32", ".f32 .wrap.u32"},
		{"shf@ %r9, %r0, %r1, %r2;", ".l.wrap.b32 .r.clamp.b32",
			".l.b32 .wrap.b32 .l.wrap.u32"},
		{"prmt@ %r9, %r0, %r1, %r2;", ".b32 .b32.f4e .b32.rc8 .b32.ecr", ".u32 .b32.f4"},
		{"bfe@ %r9, %r0, %r1, %r2;", ".u32 .s32", ".b32"},
		{"popc@ %r9, %r0;", ".b32", ".u32 .s32"},
		{"clz@ %r9, %r0;", ".b32", ".u32"},
		{"bfind@ %r9, %r0;", ".u32 .s32 .shiftamt.u32", ".b32"},
		{"neg@ %r9, %r0;", ".s32", ".b32"},
		{"abs@ %r9, %r0;", ".s32", ".u32"},
		{"rem@ %r9, %r0, %r1;", ".s32 .u32", ".b32 .f32"},
		{"sad@ %r9, %r0, %r1, %r2;", ".u32 .s32", ".b32"},
		{"mul24@ %r9, %r0, %r1;", ".lo.u32 .hi.s32", ".u32 .wide.u32 .lo.u64"},
		{"setp@ %p0, %r0, %r1;", ".lt.u32 .lo.u32 .eq.b32 .ge.s32",
			".lt.b32 .lo.s32 .nan.u32 .u32 .ltu.s32"},
		{"setp@ %p0, %f0, %f1;", ".lt.f32 .ltu.ftz.f32 .nan.f32 .num.f32",
			".lo.f32 .hs.f32"},
		{"set@ %r9, %f0, %f1;", ".lt.u32.f32 .geu.s32.f32", ".lt.b32.f32 .lt.u64.f32"},
		{"cvt@ %f7, %r0;", ".rn.f32.s32 .rz.f32.u32", ".f32.s32 .rni.f32.s32"},
		{"cvt@ %r9, %f0;", ".rzi.s32.f32 .rni.u32.f32", ".s32.f32 .rn.s32.f32"},
		{"cvt@ %f7, %g0;", ".rn.f32.f64 .rz.f32.f64", ".f32.f64 .rni.f32.f64"},
		{"cvt@ %g7, %f0;", ".f64.f32", ".rn.f64.f32 .sat.rn.f64.f32"},
		{"atom.global@ %r9, [%d0], %r1;",
			".add.u32 .add.s32 .inc.u32 .exch.b32 .and.b32 .min.s32",
			".add.b32 .inc.s32 .and.u32 .exch.u32 .sub.u32 .u32"},
		{"atom.global@ %r9, [%d0], %r1, %r2;", ".cas.b32", ".cas.u32 .add.u32 .exch.b32"},
		{"vote.sync@ %r9, %p0, -1;", ".ballot.b32", ".all.b32 .b32"},
		{"vote.sync@ %p1, %p0, -1;", ".all.pred .any.pred .uni.pred", ".ballot.pred .pred"},
		{"shfl.sync@ %r9, %r0, 1, 31, -1;", ".bfly.b32 .up.b32 .down.b32 .idx.b32",
			".b32 .bfly.b64"},
		{"slct@ %r9, %r0, %r1, %r2;", ".u32.s32 .b32.s32", ".u32.u32 .u32.b32"},
		{"testp@ %p0, %f0;", ".finite.f32 .normal.f32", ".f32 .finite.s32"},
		{"copysign@ %f7, %f0, %f1;", ".f32", ".b32 .s32"},
		{"dp4a@ %r9, %r0, %r1, %r2;", ".u32.u32 .s32.u32", ".u32 .b32.b32"},
		{"bfi@ %r9, %r0, %r1, 1, 2;", ".b32", ".u32"},
		{"ld.global@ {%r3, %r4}, [%d0];", ".v2.u32 .v2.b32",
			".v4.u32 .u32 .v3.u32 .v2.pred"},
		{"st.global@ [%d0], {%r0, %r1, %r2, %r9};", ".v4.u32", ".v2.u32 .u32 .v8.u32"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_selectors(rows[i].insn, rows[i].good, rows[i].bad);
}

/* PTX ISA 9.0, 9.7.9.21: between integers nothing is rounded; an integer of a floating-point number
 * needs .rni and the like; what may lose bits of a fraction needs .rn and the like; in one format
 * .rni makes integral values. */
static void conversions(void **state)
{
	static const struct {
		const char *name, *reg; /* and a register, without its number */
		unsigned bits;
		bool real;
	} types[] = {
		{"u8", "%h", 8, false},
		{"s8", "%h", 8, false},
		{"u16", "%h", 16, false},
		{"s32", "%r", 32, false},
		{"u64", "%d", 64, false},
		{"f16", "%h", 16, true},
		{"f32", "%f", 32, true},
		{"f64", "%g", 64, true},
	};
	const unsigned n = sizeof types / sizeof *types;

	for (unsigned k = 0; k < n * n; k++) {
		const unsigned to = k / n, from = k % n;
		const bool both = types[to].real && types[from].real,
			   plain = both ? types[to].bits >= types[from].bits
					: !types[to].real && !types[from].real,
			   round = types[to].real && !plain,
			   integral = both ? to == from : types[from].real;
		char insn[64], good[64] = "", bad[64] = "";

		snprintf(insn, sizeof insn, "cvt@.%s.%s %s1, %s2;", types[to].name,
			types[from].name, types[to].reg, types[from].reg);
		strcat(round ? good : bad, " .rn");
		strcat(integral ? good : bad, " .rni .rzi .rmi .rpi");
		strcat(bad, " .rn.rni .approx .lo");
		assert_selectors(insn, good + (good[0] == ' '), bad + 1);
		snprintf(insn, sizeof insn, "cvt.%s.%s %s1, %s2;", types[to].name, types[from].name,
			types[to].reg, types[from].reg);
		if (runs(insn) != plain)
			fail_msg("%s %s", insn, plain ? "is refused" : "runs");
	}
}

/* PTX ISA 9.0, 9.7.14.4.2: matrices of less than 8 bits are row by column. */
static void layouts(void **state)
{
	assert_selectors(
		"wmma.mma.sync.aligned@.m8n8k32.s32.s4.s4.s32 {%r0, %r1}, {%r2}, {%r3}, {%r4, %r5};",
		".row.col", ".row.row .col.col .col.row");
	assert_selectors(
		"wmma.mma.sync.aligned@.m16n16k16.s32.s8.s8.s32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, "
		"{%r8, %r9}, {%r8, %r9}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};",
		".row.col .row.row .col.col .col.row", ".row");
}

/* What a shfl.sync reads of a lane that takes no part is undefined (PTX ISA 9.0, shfl.sync): it is
 * 0, and the launch says so, if anybody wants the value. */
static void undefined_lanes(void **state)
{
	static const struct {
		const char *insn;
		const char *says; /* "": nothing */
	} rows[] = {
		{"@%p0 shfl.sync.idx.b32 %r9, %r2, 20, 31, 0xffff;",
			"reads lane 20, which takes no part; it got 0"},
		{"@%p0 shfl.sync.idx.b32 _|%p2, %r2, 20, 31, 0xffff;", ""},
		{"@%p0 shfl.sync.idx.b32 %r9, %r2, 15, 31, 0xffff;", ""},
		{"shfl.sync.idx.b32 %r9, %r2, 20, 31, -1;", ""},
	};

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ptx_fault f = {0};
		uint32_t *out = device(128);
		char text[1024];
		struct ptx_module *m;

		snprintf(text, sizeof text,
			HEAD
			".visible .entry k(.param .u64 out) {\n .reg .b32 %%r<12>; .reg .b64 %%d<4>;\n"
			".reg .pred %%p<4>; ld.param.u64 %%d0, [out]; mov.u32 %%r0, %%laneid;\n"
			"setp.lt.u32 %%p0, %%r0, 16; add.u32 %%r2, %%r0, 100; mov.u32 %%r9, 7;\n%s\n"
			"mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d1, %%d1, %%d0;\n"
			"st.global.u32 [%%d1], %%r9; ret; }\n",
			rows[i].insn);
		m = load(text);
		assert_int_equal(launch_of(m, "k", 1, 32, &out, &f), PTX_OK);
		ptx_free(m);
		if (rows[i].says[0] ? !strstr(f.undefined, rows[i].says) : f.undefined[0] != 0)
			fail_msg("%s: \"%s\"", rows[i].insn, f.undefined);
		if (i == 0)
			assert_int_equal(out[3], 0);
		if (i == 2)
			assert_int_equal(out[3], 115);
		assert_int_equal(out[20], i == 3 ? 120 : 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_register),
		cmocka_unit_test(spaces_of_variables),
		cmocka_unit_test(functions_of_the_system),
		cmocka_unit_test(picks),
		cmocka_unit_test(masks),
		cmocka_unit_test(types_and_modifiers),
		cmocka_unit_test(conversions),
		cmocka_unit_test(layouts),
		cmocka_unit_test(undefined_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
