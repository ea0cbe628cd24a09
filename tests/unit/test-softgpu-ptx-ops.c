/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole families of PTX instructions: each directed rounding, each class of floating-point number,
 * each atomic operation on integers in each space, each special register, each reduction of a warp.
 * What they must give is the PTX ISA's own definition, in C.
 */
#include <math.h>
#include "ptx-rows.h"

/* --- directed roundings: the exact result lies between two numbers --- */

#define TINY 0x30800000u	    /* 2^-30 */
#define DTINY 0x3c30000000000000ull /* 2^-60 */
#define NEXT (ONE + 1)		    /* 1 + 2^-23; its square is 1 + 2^-22 + 2^-46 */
#define DNEXT (DONE + 1)	    /* 1 + 2^-52 */
#define MINUS 0x80000000u
#define DMINUS 0x8000000000000000ull
#define BELOW (ONE - 1)
#define DBELOW (DONE - 1)

static const struct row rounded[] = {
	{"add.rm.f32 %f9, %f0, %f1;", 'f', ONE, TINY, 0, ONE},
	{"add.rp.f32 %f9, %f0, %f1;", 'f', ONE, TINY, 0, NEXT},
	{"add.rz.f32 %f9, %f0, %f1;", 'f', MINUS | ONE, MINUS | TINY, 0, MINUS | ONE},
	{"add.rm.f32 %f9, %f0, %f1;", 'f', MINUS | ONE, MINUS | TINY, 0, MINUS | NEXT},
	{"sub.rm.f32 %f9, %f0, %f1;", 'f', ONE, TINY, 0, BELOW},
	{"sub.rp.f32 %f9, %f0, %f1;", 'f', ONE, TINY, 0, ONE},
	{"sub.rz.f32 %f9, %f0, %f1;", 'f', ONE, TINY, 0, BELOW},
	{"mul.rm.f32 %f9, %f0, %f1;", 'f', NEXT, NEXT, 0, ONE + 2},
	{"mul.rp.f32 %f9, %f0, %f1;", 'f', NEXT, NEXT, 0, ONE + 3},
	{"mul.rz.f32 %f9, %f0, %f1;", 'f', NEXT, MINUS | NEXT, 0, MINUS | (ONE + 2)},
	{"mul.rm.f32 %f9, %f0, %f1;", 'f', NEXT, MINUS | NEXT, 0, MINUS | (ONE + 3)},
	{"rcp.rn.f32 %f9, %f0;", 'f', THREE, 0, 0, 0x3eaaaaab},
	{"rcp.rz.f32 %f9, %f0;", 'f', THREE, 0, 0, 0x3eaaaaaa},
	{"rcp.rp.f32 %f9, %f0;", 'f', THREE, 0, 0, 0x3eaaaaab},
	{"rcp.rm.f32 %f9, %f0;", 'f', MINUS | THREE, 0, 0, MINUS | 0x3eaaaaab},
	{"div.rm.f32 %f9, %f0, %f1;", 'f', ONE, THREE, 0, 0x3eaaaaaa},
	{"sqrt.rm.f32 %f9, %f0;", 'f', TWO, 0, 0, 0x3fb504f3},
	{"sqrt.rz.f32 %f9, %f0;", 'f', TWO, 0, 0, 0x3fb504f3},
	{"fma.rm.f32 %f9, %f0, %f1, %f2;", 'f', ONE, ONE, MINUS | TINY, BELOW},
	{"fma.rp.f32 %f9, %f0, %f1, %f2;", 'f', ONE, ONE, MINUS | TINY, ONE},
	{"add.rm.f64 %g9, %g0, %g1;", 'g', DONE, DTINY, 0, DONE},
	{"add.rp.f64 %g9, %g0, %g1;", 'g', DONE, DTINY, 0, DNEXT},
	{"add.rz.f64 %g9, %g0, %g1;", 'g', DMINUS | DONE, DMINUS | DTINY, 0, DMINUS | DONE},
	{"sub.rm.f64 %g9, %g0, %g1;", 'g', DONE, DTINY, 0, DBELOW},
	{"sub.rp.f64 %g9, %g0, %g1;", 'g', DONE, DTINY, 0, DONE},
	{"sub.rz.f64 %g9, %g0, %g1;", 'g', DONE, DTINY, 0, DBELOW},
	{"mul.rm.f64 %g9, %g0, %g1;", 'g', DNEXT, DNEXT, 0, DONE + 2},
	{"mul.rp.f64 %g9, %g0, %g1;", 'g', DNEXT, DNEXT, 0, DONE + 3},
	{"mul.rz.f64 %g9, %g0, %g1;", 'g', DNEXT, DMINUS | DNEXT, 0, DMINUS | (DONE + 2)},
	{"rcp.rn.f64 %g9, %g0;", 'g', DTHREE, 0, 0, 0x3fd5555555555555},
	{"rcp.rp.f64 %g9, %g0;", 'g', DTHREE, 0, 0, 0x3fd5555555555556},
	{"rcp.rm.f64 %g9, %g0;", 'g', DTHREE, 0, 0, 0x3fd5555555555555},
	{"rcp.rm.f64 %g9, %g0;", 'g', DMINUS | DTHREE, 0, 0, DMINUS | 0x3fd5555555555556},
	{"div.rm.f64 %g9, %g0, %g1;", 'g', DONE, DTHREE, 0, 0x3fd5555555555555},
	{"div.rz.f64 %g9, %g0, %g1;", 'g', DONE, DTHREE, 0, 0x3fd5555555555555},
	{"sqrt.rm.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3ff6a09e667f3bcc},
	{"sqrt.rp.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3ff6a09e667f3bcd},
	{"fma.rm.f64 %g9, %g0, %g1, %g2;", 'g', DONE, DONE, DMINUS | DTINY, DBELOW},
	{"fma.rp.f64 %g9, %g0, %g1, %g2;", 'g', DONE, DONE, DTINY, DNEXT},
	/* an exact result is the same in every rounding */
	{"add.rm.f32 %f9, %f0, %f1;", 'f', ONE, ONE, 0, TWO},
	{"sub.rp.f64 %g9, %g0, %g1;", 'g', DTHREE, DONE, 0, DTWO},
	{"mul.rz.f64 %g9, %g0, %g1;", 'g', DTWO, DONE, 0, DTWO},
	/* PTX ISA, rsqrt: the table of special values */
	{"rsqrt.approx.f64 %g9, %g0;", 'g', 0x4010000000000000 /* 4 */, 0, 0, 0x3fe0000000000000},
	{"rsqrt.approx.f64 %g9, %g0;", 'g', 0, 0, 0, 0x7ff0000000000000},
	{"rsqrt.approx.f64 %g9, %g0;", 'g', DMINUS, 0, 0, 0xfff0000000000000},
	{"rsqrt.approx.f64 %g9, %g0;", 'g', 0x7ff0000000000000, 0, 0, 0},
};

TEST(rounded)

/* --- testp: PTX ISA, 9.7.3.1 --- */

static const struct {
	const char *name;
	bool is[6]; /* of zero, the least, the largest subnormal, one, infinity, no number */
} classes[] = {
	{"finite", {true, true, true, true, false, false}},
	{"infinite", {false, false, false, false, true, false}},
	{"number", {true, true, true, true, true, false}},
	{"notanumber", {false, false, false, false, false, true}},
	{"normal", {true, false, false, true, false, false}}, /* zeros count as normal */
	{"subnormal", {false, true, true, false, false, false}},
};

static void test_classes(void **state)
{
	static const uint32_t f32[] = {0, 1, 0x7fffff, ONE, INF, 0x7fc00000};
	static const uint64_t f64[] = {
		0, 1, 0xfffffffffffff, DONE, 0x7ff0000000000000, 0x7ff8000000000000};
	char insn[64];

	for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
		for (unsigned i = 0; i < 12; i++) {
			const bool minus = i >= 6;
			struct row r = {insn, 'p', f32[i % 6] | (minus ? MINUS : 0), 0, 0,
				classes[c].is[i % 6]};

			snprintf(insn, sizeof insn, "testp.%s.f32 %%p9, %%f0;", classes[c].name);
			check(&r, 1);
			r.a = f64[i % 6] | (minus ? DMINUS : 0);
			snprintf(insn, sizeof insn, "testp.%s.f64 %%p9, %%g0;", classes[c].name);
			check(&r, 1);
		}
}

/* --- atomics on integers: what is there before, the operands, what is there afterwards --- */

static const struct {
	const char *op;
	unsigned bits;
	uint64_t old, b, c, want;
} atomics[] = {
	{"and.b32", 32, 0xff00ff, 0xf0f0f0, 0, 0xf000f0},
	{"or.b32", 32, 0xff00ff, 0xf0f0f0, 0, 0xfff0ff},
	{"xor.b32", 32, 0xff00ff, 0xf0f0f0, 0, 0x0ff00f},
	{"exch.b32", 32, 5, 7, 0, 7},
	{"cas.b32", 32, 5, 5, 9, 9},
	{"cas.b32", 32, 5, 6, 9, 5},
	{"add.u32", 32, 0xffffffff, 2, 0, 1},
	{"add.s32", 32, 5, 0xfffffffe, 0, 3},
	{"inc.u32", 32, 5, 7, 0, 6},
	{"inc.u32", 32, 7, 7, 0, 0},
	{"inc.u32", 32, 8, 7, 0, 0},
	{"dec.u32", 32, 5, 7, 0, 4},
	{"dec.u32", 32, 0, 7, 0, 7},
	{"dec.u32", 32, 7, 7, 0, 6},
	{"dec.u32", 32, 8, 7, 0, 7},
	{"min.u32", 32, 5, 0xffffffff, 0, 5},
	{"min.u32", 32, 5, 4, 0, 4},
	{"max.u32", 32, 5, 0xffffffff, 0, 0xffffffff},
	{"max.u32", 32, 5, 4, 0, 5},
	{"min.s32", 32, 5, 0xffffffff, 0, 0xffffffff},
	{"min.s32", 32, 0xfffffffe, 0xffffffff, 0, 0xfffffffe},
	{"max.s32", 32, 5, 0xffffffff, 0, 5},
	{"max.s32", 32, 0xfffffffe, 0xffffffff, 0, 0xffffffff},
	{"and.b64", 64, 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0xf000f000f0},
	{"or.b64", 64, 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0xfff0fff0ff},
	{"xor.b64", 64, 0xff00ff00ff, 0xf0f0f0f0f0, 0, 0x0ff00ff00f},
	{"exch.b64", 64, 5, 0x700000007, 0, 0x700000007},
	{"cas.b64", 64, 0x500000005, 0x500000005, 9, 9},
	{"cas.b64", 64, 0x500000005, 5, 9, 0x500000005},
	{"add.u64", 64, 0xffffffff, 1, 0, 0x100000000},
	{"min.u64", 64, 5, UINT64_MAX, 0, 5},
	{"max.u64", 64, 5, UINT64_MAX, 0, UINT64_MAX},
	{"min.s64", 64, 5, UINT64_MAX, 0, UINT64_MAX},
	{"max.s64", 64, 5, UINT64_MAX, 0, 5},
	{"cas.b16", 16, 5, 5, 9, 9},
	{"cas.b16", 16, 5, 6, 9, 5},
};

static void atomic_in(const char *space, const char *op, unsigned bits, const uint64_t in[3],
	uint64_t want, bool red)
{
	const char x = bits == 64 ? 'd' : bits == 32 ? 'r' : 'h';
	const bool cas = !strncmp(op, "cas", 3), shared = !strcmp(space, ".shared");
	char text[1500], c[16] = "";
	uint64_t *m = device(32);
	struct ptx_module *module;

	if (cas)
		snprintf(c, sizeof c, ", %%%c2", x);
	m[0] = in[0];
	m[2] = in[1];
	m[3] = in[2];
	snprintf(text, sizeof text,
		PTX_HEAD
		".visible .entry k(.param .u64 p) {\n"
		".reg .b64 %%d<6>; .reg .b32 %%r<4>; .reg .b16 %%h<4>; .shared .align 8 .b64 s;\n"
		"ld.param.u64 %%d5, [p]; mov.u64 %%d4, %s; ld.global.b64 %%d3, [%%d5]; st%s.b64 [%%d4], %%d3;\n"
		"ld.global.b%u %%%c1, [%%d5+16]; ld.global.b%u %%%c2, [%%d5+24];\n"
		"%s%s.%s %s%.*s[%%d4], %%%c1%s;\n"
		"ld%s.b64 %%d3, [%%d4]; st.global.b64 [%%d5], %%d3; %s ret; }\n",
		shared ? "s" : "%d5", shared ? ".shared" : "", bits, x, bits, x,
		red ? "red" : "atom", space, op, red ? "" : "%", red ? 0 : 4,
		bits == 64   ? "d0, "
		: bits == 32 ? "r0, "
			     : "h0, ",
		x, c, shared ? ".shared" : "",
		red	     ? ""
		: bits == 64 ? "st.global.b64 [%d5+8], %d0;"
		: bits == 32 ? "st.global.b32 [%d5+8], %r0;"
			     : "st.global.b16 [%d5+8], %h0;");
	module = load(text);
	run(module, "k", 1, 1, &m);
	ptx_free(module);
	if (m[0] != want || (!red && m[1] != in[0]))
		fail_msg("%s%s.%s: %#llx, and it was %#llx", red ? "red" : "atom", space, op,
			(unsigned long long)m[0], (unsigned long long)m[1]);
}

static void test_atomics(void **state)
{
	for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++) {
		const uint64_t in[] = {atomics[i].old, atomics[i].b, atomics[i].c};
		const char *op = atomics[i].op;
		const bool red = strncmp(op, "cas", 3) != 0 && strncmp(op, "exch", 4) != 0;

		atomic_in(".global", op, atomics[i].bits, in, atomics[i].want, false);
		atomic_in(".shared", op, atomics[i].bits, in, atomics[i].want, false);
		atomic_in("", op, atomics[i].bits, in, atomics[i].want, false);
		if (red)
			atomic_in(".global", op, atomics[i].bits, in, atomics[i].want, true);
	}
}

/* --- special registers --- */

/* Two blocks of 80 threads: three warps, of which the last has 16 lanes. */
#define BLOCKS 2
#define THREADS 80

static uint32_t special_of(unsigned k, uint32_t block, uint32_t thread)
{
	const uint32_t lane = thread % 32;
	const uint32_t values[] = {thread, 0, 0, THREADS, 1, 1, block, 0, 0, BLOCKS, 1, 1, lane,
		thread / 32, 3, 1u << lane, (1u << lane) - 1, (2u << lane) - 1, ~((1u << lane) - 1),
		~((2u << lane) - 1), 32};

	return values[k];
}

static const char *const special_names[] = {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y",
	"%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z",
	"%laneid", "%warpid", "%nwarpid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le",
	"%lanemask_ge", "%lanemask_gt", "WARP_SZ"};

static void test_special_registers(void **state)
{
	for (unsigned k = 0; k < sizeof special_names / sizeof *special_names; k++) {
		char text[1000];
		const uint32_t *out;

		snprintf(text, sizeof text,
			PTX_HEAD
			".visible .entry k(.param .u64 p) {\n"
			".reg .b64 %%d<3>; .reg .b32 %%r<6>;\n"
			"ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ctaid.x;\n"
			"mad.lo.u32 %%r2, %%r1, %u, %%r0; mul.wide.u32 %%d1, %%r2, 4; add.u64 %%d0, %%d0, %%d1;\n"
			"mov.u32 %%r3, %s; st.global.u32 [%%d0], %%r3; ret; }\n",
			THREADS, special_names[k]);
		out = run_text(text, BLOCKS, THREADS, 4 * BLOCKS * THREADS);
		for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
			if (out[i] != special_of(k, i / THREADS, i % THREADS))
				fail_msg("%s of thread %u is %#x", special_names[k], i, out[i]);
	}
}

/* Clocks go on, and a half is a half of the whole. */
static void test_clocks(void **state)
{
	const uint64_t *o = run_text(PTX_HEAD
		".visible .entry k(.param .u64 p) {\n.reg .b64 %d<6>; .reg .b32 %r<6>;\n"
		"ld.param.u64 %d0, [p]; mov.u64 %d1, %clock64; mov.u32 %r1, %clock_hi; mov.u64 %d2, %globaltimer;\n"
		"mov.u32 %r2, %globaltimer_hi; mov.u32 %r3, %globaltimer_lo; mov.u64 %d3, %clock64;\n"
		"st.global.u64 [%d0], %d1; st.global.u64 [%d0+8], %d3; st.global.u64 [%d0+16], %d2;\n"
		"st.global.u32 [%d0+24], %r1; st.global.u32 [%d0+28], %r2; st.global.u32 [%d0+32], %r3; ret; }\n",
		1, 1, 64);

	assert_true(o[1] > o[0]);
	assert_int_equal((uint32_t)o[3], o[0] >> 32);
	assert_true((uint32_t)(o[3] >> 32) - (uint32_t)(o[2] >> 32) <= 1);
}

/* --- reductions of a warp: redux.sync --- */

static uint32_t redux(unsigned op, uint32_t mask)
{
	static const uint32_t first[] = {
		0, 0xffffffff, 0, 0xffffffff, 0, 0, 0x7fffffff, 0x80000000};
	uint32_t r = first[op];

	for (uint32_t lane = 0; lane < 32; lane++) {
		const uint32_t v = lane * 0x9e3779b1u ^ 0x80000000;

		if (!(mask >> lane & 1))
			continue;
		switch (op) {
		case 0:
			r += v;
			break;
		case 1:
			r = v < r ? v : r;
			break;
		case 2:
			r = v > r ? v : r;
			break;
		case 3:
			r &= v | 0xf0000001;
			break;
		case 4:
			r |= v;
			break;
		case 5:
			r ^= v;
			break;
		case 6:
			r = (int32_t)v < (int32_t)r ? v : r;
			break;
		default:
			r = (int32_t)v > (int32_t)r ? v : r;
		}
	}
	return r;
}

static void test_redux(void **state)
{
	static const char *const ops[] = {"add.u32", "min.u32", "max.u32", "and.b32", "or.b32",
		"xor.b32", "min.s32", "max.s32"};
	char text[1500];

	for (unsigned op = 0; op < 8; op++) {
		const uint32_t *out;

		/* the lanes with an even number, and the others */
		snprintf(text, sizeof text,
			".version 8.0\n.target sm_80\n.address_size 64\n"
			".visible .entry k(.param .u64 p) {\n"
			".reg .b64 %%d<3>; .reg .b32 %%r<6>; .reg .pred %%p;\n"
			"ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d0, %%d0, %%d1;\n"
			"mul.lo.u32 %%r1, %%r0, 0x9e3779b1; xor.b32 %%r1, %%r1, 0x80000000; %s\n"
			"and.b32 %%r2, %%r0, 1; setp.eq.u32 %%p, %%r2, 0; @%%p bra EVEN;\n"
			"redux.sync.%s %%r3, %%r1, 0xaaaaaaaa; bra END;\n"
			"EVEN: redux.sync.%s %%r3, %%r1, 0x55555555;\n"
			"END: st.global.u32 [%%d0], %%r3; ret; }\n",
			op == 3 ? "or.b32 %r1, %r1, 0xf0000001;" : "", ops[op], ops[op]);
		out = run_text(text, 1, 32, 128);
		for (unsigned lane = 0; lane < 32; lane++)
			if (out[lane] != redux(op, lane % 2 ? 0xaaaaaaaa : 0x55555555))
				fail_msg(
					"redux.sync.%s: lane %u has %#x", ops[op], lane, out[lane]);
	}
}

/* --- memory that no instruction has written is the same in every launch --- */

static void test_local_memory_is_fresh(void **state)
{
	static const char text[] = PTX_HEAD
		".visible .entry k(.param .u64 p) {\n"
		".reg .b64 %d<3>; .reg .b32 %r<6>; .local .align 4 .b8 l[16];\n"
		"ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;\n"
		"ld.local.u32 %r1, [l+8]; st.global.u32 [%d0], %r1; mov.u32 %r2, 77; st.local.u32 [l+8], %r2; ret; }\n";
	struct ptx_module *m = load(text);
	uint32_t *out = device(4 * 64);

	for (unsigned launch = 0; launch < 3; launch++) {
		run(m, "k", 1, 64, &out);
		for (unsigned i = 0; i < 64; i++)
			assert_int_equal(out[i], 0);
	}
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounded),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_special_registers),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_redux),
		cmocka_unit_test(test_local_memory_is_fresh),
	};

#ifdef NO_AVX2
	setenv("TSDB_SOFT_NO_AVX2", "1", 1);
#endif
	return cmocka_run_group_tests_name("softgpu ptx ops", tests, NULL, NULL);
}
