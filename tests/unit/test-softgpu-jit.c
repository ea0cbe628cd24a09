/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels against the interpreter: random programs (arithmetic of every kind, guards,
 * branches and loops that part the lanes, memory in every shape), faults, limits and clocks have to
 * come out alike, to the bit. Skipped where the compiler was not built.
 */
#include "ptx-test.h"

#include "softgpu/jit/jit.h"

#include <unistd.h>

#define THREADS 80 /* a block: two and a half warps */
#define BLOCKS 3
#define NREGS 8
#define WORDS 64     /* of input and output per thread */
#define CLOCK_AT 240 /* the clock of the warp at the end, behind the registers */

/* Capitals are destinations, small letters sources: R 32 bits, D 64, H 16, F single, G double, P
 * predicates; x a shift count or position. */
static const char *const forms[] = {
	"add.u32 R, r, r",
	"sub.s32 R, r, r",
	"mul.lo.s32 R, r, r",
	"mul.hi.u32 R, r, r",
	"mul.hi.s32 R, r, r",
	"mad.lo.u32 R, r, r, r",
	"mul.wide.s32 D, r, r",
	"mul.wide.u32 D, r, r",
	"mad.wide.s32 D, r, r, d",
	"mul.wide.u16 R, h, h",
	"mul.wide.s16 R, h, h",
	"min.s32 R, r, r",
	"min.u32 R, r, r",
	"max.s32 R, r, r",
	"max.u32 R, r, r",
	"abs.s32 R, r",
	"neg.s32 R, r",
	"div.s32 R, r, r",
	"rem.u32 R, r, r",
	"and.b32 R, r, r",
	"or.b32 R, r, r",
	"xor.b32 R, r, r",
	"not.b32 R, r",
	"cnot.b32 R, r",
	"shl.b32 R, r, x",
	"shr.u32 R, r, x",
	"shr.s32 R, r, x",
	"shf.l.wrap.b32 R, r, r, x",
	"shf.r.clamp.b32 R, r, r, x",
	"shf.l.clamp.b32 R, r, r, x",
	"shf.r.wrap.b32 R, r, r, x",
	"lop3.b32 R, r, r, r, 0x1e",
	"lop3.b32 R, r, r, r, 0xe8",
	"popc.b32 R, r",
	"clz.b32 R, r",
	"brev.b32 R, r",
	"bfe.u32 R, r, x, x",
	"bfi.b32 R, r, r, x, x",
	"prmt.b32 R, r, r, x",
	"sad.s32 R, r, r, r",
	"add.cc.u32 R, r, r",
	"addc.u32 R, r, r",
	"add.sat.s32 R, r, r",
	"dp4a.s32.s32 R, r, r, r",
	"add.u64 D, d, d",
	"sub.s64 D, d, d",
	"mul.lo.u64 D, d, d",
	"mad.lo.s64 D, d, d, d",
	"min.s64 D, d, d",
	"max.u64 D, d, d",
	"and.b64 D, d, d",
	"xor.b64 D, d, d",
	"not.b64 D, d",
	"shl.b64 D, d, x",
	"shr.u64 D, d, x",
	"shr.s64 D, d, x",
	"neg.s64 D, d",
	"popc.b64 R, d",
	"add.u16 H, h, h",
	"sub.s16 H, h, h",
	"mul.lo.u16 H, h, h",
	"and.b16 H, h, h",
	"not.b16 H, h",
	"min.s16 H, h, h",
	"shl.b16 H, h, x",
	"neg.s16 H, h",
	"add.f32 F, f, f",
	"sub.f32 F, f, f",
	"mul.f32 F, f, f",
	"fma.rn.f32 F, f, f, f",
	"add.ftz.f32 F, f, f",
	"mul.ftz.f32 F, f, f",
	"fma.rn.ftz.f32 F, f, f, f",
	"div.rn.f32 F, f, f",
	"div.approx.f32 F, f, f",
	"div.full.ftz.f32 F, f, f",
	"rcp.rn.f32 F, f",
	"rcp.approx.ftz.f32 F, f",
	"sqrt.rn.f32 F, f",
	"sqrt.approx.f32 F, f",
	"rsqrt.approx.f32 F, f",
	"ex2.approx.f32 F, f",
	"min.f32 F, f, f",
	"max.f32 F, f, f",
	"min.NaN.f32 F, f, f",
	"max.ftz.f32 F, f, f",
	"abs.f32 F, f",
	"neg.ftz.f32 F, f",
	"add.rz.f32 F, f, f",
	"mul.sat.f32 F, f, f",
	"copysign.f32 F, f, f",
	"add.f64 G, g, g",
	"sub.f64 G, g, g",
	"mul.f64 G, g, g",
	"fma.rn.f64 G, g, g, g",
	"div.rn.f64 G, g, g",
	"rcp.rn.f64 G, g",
	"sqrt.rn.f64 G, g",
	"min.f64 G, g, g",
	"max.f64 G, g, g",
	"abs.f64 G, g",
	"neg.f64 G, g",
	"add.rm.f64 G, g, g",
	"setp.lt.s32 P, r, r",
	"setp.hs.u32 P, r, r",
	"setp.ne.b32 P, r, r",
	"setp.lt.f32 P, f, f",
	"setp.neu.f32 P, f, f",
	"setp.ne.ftz.f32 P, f, f",
	"setp.num.f64 P, g, g",
	"setp.geu.f64 P, g, g",
	"setp.gt.s64 P, d, d",
	"setp.le.u16 P, h, h",
	"setp.lt.s16 P, h, h",
	"setp.eq.and.b32 P, r, r, p",
	"setp.gt.or.f32 P, f, f, !p",
	"setp.lt.xor.s32 P|P, r, r, p",
	"and.pred P, p, p",
	"or.pred P, p, p",
	"xor.pred P, p, p",
	"not.pred P, p",
	"mov.pred P, p",
	"selp.b32 R, r, r, p",
	"selp.b64 D, d, d, p",
	"selp.f32 F, f, f, p",
	"selp.b16 H, h, h, p",
	"slct.f32.s32 F, f, f, r",
	"set.lt.u32.f32 R, f, f",
	"mov.b32 R, r",
	"mov.b64 D, d",
	"mov.b32 R, f",
	"mov.b64 D, {r1, r2}",
	"mov.b64 {R1, R2}, D3",
	"mov.b32 R, {h1, h2}",
	"mov.b32 {H1, H2}, R3",
	"mov.b64 D, {h1, h2, h3, h4}",
	"mov.b64 {H1, H2, H3, H4}, D3",
	"cvt.u64.u32 D, r",
	"cvt.s64.s32 D, r",
	"cvt.u32.u64 R, d",
	"cvt.s32.s8 R, r",
	"cvt.u32.u16 R, h",
	"cvt.s32.s16 R, h",
	"cvt.u16.u32 H, r",
	"cvt.s16.s8 H, h",
	"cvt.u64.u8 D, h",
	"cvt.s64.s16 D, h",
	"cvt.s8.s32 R, r",
	"cvt.u16.u64 H, d",
	"cvt.rn.f32.u8 F, h",
	"cvt.rn.f64.s16 G, h",
	"cvt.sat.u8.s32 R, r",
	"cvt.rn.f32.s32 F, r",
	"cvt.rn.f32.u32 F, r",
	"cvt.rn.f32.s64 F, d",
	"cvt.rz.f32.u32 F, r",
	"cvt.rn.f64.s32 G, r",
	"cvt.rn.f64.u64 G, d",
	"cvt.f64.f32 G, f",
	"cvt.rn.f32.f64 F, g",
	"cvt.rzi.s32.f32 R, f",
	"cvt.rni.s32.f32 R, f",
	"cvt.rpi.ftz.u32.f32 R, f",
	"cvt.rmi.u32.f32 R, f",
	"cvt.rzi.s64.f32 D, f",
	"cvt.rzi.s32.f64 R, g",
	"cvt.rni.f32.f32 F, f",
	"cvt.rpi.ftz.f32.f32 F, f",
	"cvt.rn.f16.f32 H, f",
	"cvt.f32.f16 F, h",
	"cvt.sat.f32.f32 F, f",
	"add.f16 H, h, h",
	"fma.rn.f16x2 R, r, r, r",
	"shfl.sync.bfly.b32 R, r, 5, 31, -1",
	"shfl.sync.down.b32 R|P, r, 3, 0x0f1f, -1",
	"shfl.sync.up.b32 R|P, r, 2, 0, -1",
	"shfl.sync.idx.b32 R, r, 7, 0x181f, -1",
	"shfl.sync.idx.b32 R, r, x, 31, -1",
	"shfl.sync.down.b32 R|P, f, 9, 31, -1",
	"vote.sync.ballot.b32 R, p, -1",
	"activemask.b32 R",
	"mov.u32 R, %tid.x",
	"mov.u32 R, %laneid",
	"mov.u32 R, %lanemask_eq",
	"mov.u32 R, %lanemask_lt",
	"mov.u32 R, %lanemask_le",
	"mov.u32 R, %lanemask_gt",
	"mov.u32 R, %lanemask_ge",
	"mov.u32 R, %ctaid.x",
	"mov.u32 R, %ctaid.y",
	"mov.u32 R, %ntid.x",
	"mov.u32 R, %ntid.y",
	"mov.u32 R, %nctaid.x",
	"mov.u32 R, %warpid",
	"mov.u32 R, %nwarpid",
	"cvta.to.global.u64 D, d",
	"cvta.shared.u64 D, d",
	"mov.u64 D, %clock64",
};
#define NFORMS (sizeof(forms) / sizeof(forms[0]))

static unsigned seed;
static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 9) % n;
}

static uint32_t edge32(void)
{
	static const uint32_t edge[] = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32,
		0x7f800000, 0xff800000, 0x7fc00001, 0xffa00005, 0x00000001, 0x807fffff, 0x3f800000,
		0x4f000000, 0xcf000000, 0x4f800000, 0x7e800001, 0x7c007e01};

	if (rnd(3) == 0)
		return edge[rnd(sizeof(edge) / sizeof(edge[0]))];
	if (rnd(2) == 0) {
		float f = ((float)rnd(20000) - 10000) / (float)(1 + rnd(300));
		uint32_t u;
		memcpy(&u, &f, 4);
		return u;
	}
	return rnd(65536) << 16 | rnd(65536);
}

static uint64_t edge64(void)
{
	static const uint64_t edge[] = {0, 1, ~0ull, 1ull << 63, INT64_MAX, 0x7ff0000000000000ull,
		0xfff0000000000000ull, 0x7ff8000000000001ull, 0xfff4000000000003ull, 1ull << 51,
		0x3ff0000000000000ull, 0x41dfffffffc00000ull, 0x800fffffffffffffull};

	if (rnd(3) == 0)
		return edge[rnd(sizeof(edge) / sizeof(edge[0]))];
	if (rnd(2) == 0) {
		double d = ((double)rnd(20000) - 10000) / (1 + rnd(300));
		uint64_t u;
		memcpy(&u, &d, 8);
		return u;
	}
	return (uint64_t)edge32() << 32 | edge32();
}

struct text {
	char s[1 << 17];
	size_t at;
	unsigned labels;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

static void operand(struct text *t, char c)
{
	static const char names[] = "rdhfgp";
	char low = (char)(c | 0x20);
	unsigned k = rnd(NREGS);

	if (low == 'x') {
		if (rnd(2))
			OUT("%u", rnd(70));
		else
			OUT("%%r%u", k);
	} else if (c == low && c != 'p' && c != 'h' && rnd(6) == 0) {
		if (c == 'r')
			OUT("%d", (int)edge32());
		else if (c == 'd')
			OUT("%lld", (long long)edge64());
		else if (c == 'f')
			OUT("0f%08x", edge32());
		else
			OUT("0d%016llx", (unsigned long long)edge64());
	} else {
		OUT("%%%c%u", names[strchr(names, low) - names], k);
	}
}

/* Letters that stand alone are operands, or are followed by a digit (which keeps an instruction's
 * several apart). */
static void fill(struct text *t, const char *form)
{
	const char *s = strchr(form, ' ');

	if (rnd(8) == 0)
		OUT("@%s%%p%u ", rnd(2) ? "!" : "", rnd(NREGS));
	OUT("%.*s", (int)(s ? s - form : (long)strlen(form)), form);
	for (char before = ' '; s && *s; before = *s++) {
		bool alone = strchr(" {|!", before) && strchr("RDHFGPrdhfgpx", *s) &&
			     (!s[1] || strchr(", }|1234", s[1]));
		if (alone && s[1] >= '1' && s[1] <= '4') {
			if (strchr("RH", *s)) /* two destinations must differ */
				OUT("%%%c%u", *s | 0x20, (unsigned)(s[1] - '1') * 2 + rnd(2));
			else
				operand(t, (char)(*s | 0x20) == 'd' ? 'D'
					   : *s == 'r'		    ? 'R'
					   : *s == 'h'		    ? 'h'
								    : *s);
			s++;
		} else if (alone) {
			operand(t, *s);
		} else {
			OUT("%c", *s);
		}
	}
	OUT(";\n");
}

/* An address in %a0 (shared) or %b0 (global), and an access there. Every block has its own 4 KiB of
 * either. */
static void memory_access(struct text *t)
{
	static const char *const types[] = {"u32", "f32", "u8", "s8", "u16", "s16", "b64", "f64",
		"v2.u32", "v4.f32", "v2.u64", "v2.u8", "v4.u8", "v2.s16", "v4.u16"};
	static const uint8_t sizes[] = {4, 4, 1, 1, 2, 2, 8, 8, 8, 16, 16, 2, 4, 4, 8};
	unsigned what = rnd(sizeof sizes), bytes = sizes[what], shape = rnd(6);
	bool shared = rnd(2), store = rnd(2);
	const char *base = shared ? "%a0" : "%b0", *space = shared   ? "shared"
							    : rnd(3) ? "global"
								     : "";
	char guard[16] = "", vec[64];
	unsigned k = rnd(4), disp = rnd(4) * 16;

	if (rnd(6) == 0)
		snprintf(guard, sizeof(guard), "@%%p%u ", rnd(NREGS));
	/* side by side, alike, alike by halves, side by side by halves, reversed, any */
	OUT("mov.u32 %%i0, %%laneid;\n");
	if (shape == 1)
		OUT("mov.u32 %%i0, %u;\n", rnd(64));
	else if (shape == 2)
		OUT("shr.u32 %%i0, %%i0, 4; mul.lo.u32 %%i0, %%i0, %u;\n", rnd(30));
	else if (shape == 3)
		OUT("and.b32 %%i0, %%i0, 15; add.u32 %%i0, %%i0, %u;\n", rnd(30));
	else if (shape == 4)
		OUT("sub.u32 %%i0, 31, %%i0;\n");
	else if (shape == 5)
		OUT("and.b32 %%i0, %%r%u, 127;\n", rnd(NREGS));
	OUT("mul.lo.u32 %%i0, %%i0, %u;\n", bytes);
	if (shared)
		OUT("add.u32 %%a0, %%a1, %%i0;\n");
	else
		OUT("cvt.u64.u32 %%b0, %%i0; add.u64 %%b0, %%b0, %%b1;\n");
	switch (what) {
	case 8:
		snprintf(vec, sizeof(vec), "{%%r%u, %%r%u}", k, k + 1);
		break;
	case 9:
		snprintf(vec, sizeof(vec), "{%%f%u, %%f%u, %%f%u, %%f%u}", k, k + 1, k + 2, k + 3);
		break;
	case 10:
		snprintf(vec, sizeof(vec), "{%%d%u, %%d%u}", k, k + 1);
		break;
	case 11:
	case 13:
		snprintf(vec, sizeof(vec), "{%%h%u, %%h%u}", k, k + 1);
		break;
	case 12:
	case 14:
		snprintf(vec, sizeof(vec), "{%%h%u, %%h%u, %%h%u, %%h%u}", k, k + 1, k + 2, k + 3);
		break;
	default:
		snprintf(vec, sizeof(vec), "%%%c%u",
			what == 1		 ? 'f'
			: what == 4 || what == 5 ? 'h'
			: what == 6		 ? 'd'
			: what == 7		 ? 'g'
						 : 'r',
			k);
	}
	OUT("%s%s%s%s.%s", guard, store ? "st" : "ld", *space ? "." : "", space, types[what]);
	if (store)
		OUT(" [%s+%u], %s;\n", base, disp, vec);
	else
		OUT(" %s, [%s+%u];\n", vec, base, disp);
}

/* Each round begins with other forms, so that ROUNDS rounds have all of them. */
#define ROUNDS 8
#define SHARE (NFORMS / ROUNDS + 1)
static unsigned form_at;

static const char *next_form(void)
{
	_Static_assert(NFORMS % 97 != 0, "the step meets every form");
	return forms[form_at++ * 97 % NFORMS];
}

static void statements(struct text *t, unsigned n, unsigned depth)
{
	for (; n; n--) {
		unsigned what = rnd(20), a = t->labels++, b = t->labels++;
		if (what < 3) {
			memory_access(t);
		} else if (what == 3 && depth) {
			OUT("@%s%%p%u bra L%u;\n", rnd(2) ? "!" : "", rnd(NREGS), a);
			statements(t, 1 + rnd(4), depth - 1);
			OUT("bra L%u;\nL%u:\n", b, a);
			statements(t, rnd(4), depth - 1);
			OUT("L%u:\n", b);
		} else if (what == 4 &&
			   depth) { /* a loop, the same number of turns for all or not */
			if (rnd(2))
				OUT("mov.u32 %%n%u, %u;\n", depth, 1 + rnd(5));
			else
				OUT("and.b32 %%n%u, %%r%u, 3;\n", depth, rnd(NREGS));
			OUT("L%u:\n", a);
			statements(t, 1 + rnd(5), depth - 1);
			OUT("sub.s32 %%n%u, %%n%u, 1; setp.gt.s32 %%q, %%n%u, 0; @%%q bra L%u;\n",
				depth, depth, depth, a);
		} else if (what == 5 && depth == 3 && rnd(2)) {
			OUT("bar.sync 0;\n");
		} else {
			fill(t, next_form());
		}
	}
}

static void io(struct text *t, bool store)
{
	unsigned at = 0;

	for (const char *c = "rfdgh"; *c; c++)
		for (unsigned k = 0; k < NREGS; k++) {
			unsigned bytes = *c == 'd' || *c == 'g' ? 8 : 4;
			const char *type = *c == 'd' || *c == 'g' ? "b64"
					   : *c == 'h'		  ? "b16"
								  : "b32";
			at = (at + bytes - 1) / bytes * bytes;
			if (store)
				OUT("st.global.%s [%%io+%u], %%%c%u;\n", type, at, *c, k);
			else
				OUT("ld.global.%s %%%c%u, [%%io+%u];\n", type, *c, k, at);
			at += bytes;
		}
	for (unsigned k = 0; k < NREGS; k++) {
		if (store)
			OUT("selp.u32 %%i0, 1, 0, %%p%u; st.global.u8 [%%io+%u], %%i0;\n", k,
				at + k);
		else
			OUT("ld.global.u8 %%i0, [%%io+%u]; and.b32 %%i0, %%i0, 1; setp.ne.u32 %%p%u, %%i0, 0;\n",
				at + k, k);
	}
}

static void write_program(struct text *t, unsigned round)
{
	form_at = round * SHARE;
	t->at = t->labels = 0;
	OUT("%s", PTX_HEAD);
	OUT(".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 mem) {\n"
	    ".reg .b32 %%r<8>, %%n<4>, %%i<4>, %%a<2>; .reg .b64 %%d<8>, %%b<2>, %%io; .reg .f32 %%f<8>; .reg .f64 %%g<8>; .reg .b16 %%h<8>;\n"
	    ".reg .pred %%p<8>, %%q; .shared .align 16 .b8 s[4096];\n"
	    "mov.u32 %%a1, s; mov.u32 %%i0, %%ctaid.x; mov.u32 %%i1, %%tid.x; ld.param.u64 %%b1, [mem]; mad.wide.u32 %%b1, %%i0, 4096, %%b1;\n"
	    "mad.lo.u32 %%i1, %%i0, %d, %%i1; ld.param.u64 %%io, [in]; mad.wide.u32 %%io, %%i1, %d, %%io;\n",
		THREADS, WORDS * 4);
	io(t, false);
	statements(t, 12 + rnd(25), 3);
	while (form_at < (round + 1) * SHARE)
		fill(t, next_form());
	OUT("mov.u64 %%b0, %%clock64; mov.u32 %%i0, %%ctaid.x; mov.u32 %%i1, %%tid.x; mad.lo.u32 %%i1, %%i0, %d, %%i1; ld.param.u64 %%io, [out]; mad.wide.u32 %%io, %%i1, %d, %%io;\n",
		THREADS, WORDS * 4);
	io(t, true);
	OUT("st.global.u64 [%%io+%d], %%b0; ret; }\n", CLOCK_AT);
	assert_true(t->at < sizeof(t->s));
}

/* Whether there is a compiler; without one the tests say nothing. */
static bool have_compiler(void)
{
	struct ptx_jit_stats stats;

	ptx_jit_stats(&stats);
	if (!stats.why[0])
		return true;
	print_message("no compiler: %s\n", stats.why);
	return false;
}

static void same_as_interpreted(void **state)
{
	static struct text t;
	const size_t n = BLOCKS * THREADS * WORDS * 4;
	uint8_t *in = device(n), *out[2] = {device(n), device(n)},
		*mem[2] = {device(BLOCKS * 4096), device(BLOCKS * 4096)};
	const char *rounds = getenv("JIT_TEST_ROUNDS"), *first = getenv("JIT_TEST_FIRST");

	for (unsigned round = first ? (unsigned)atoi(first) : 0,
		      end = round + (rounds ? (unsigned)atoi(rounds) : ROUNDS);
		round < end; round++) {
		struct ptx_fault f[2];
		enum ptx_fault_code code[2];
		seed = round * 7919 + 1;
		write_program(&t, round);
		for (size_t k = 0; k < n; k += 8) {
			uint64_t v = rnd(2) ? edge64() : (uint64_t)edge32() << 32 | edge32();
			memcpy(in + k, &v, 8);
		}
		for (unsigned k = 0; k < 2; k++) {
			struct ptx_module *m = load(t.s);
			const void *params[3] = {in, out[k], mem[k]};
			for (unsigned j = 0; j < BLOCKS * 4096; j++)
				mem[k][j] = (uint8_t)(j * 37);
			memset(out[k], 0, n);
			ptx_jit_set(k ? PTX_JIT_FORCE : PTX_JIT_OFF);
			/* twice: the second time warps begin with compiled code */
			code[k] = launch_of(m, "k", BLOCKS, THREADS, params, &f[k]);
			ptx_free(m);
		}
		if (code[0] != code[1] || strcmp(f[0].text, f[1].text))
			fail_msg("program %u: %s, not %s", round, f[1].text, f[0].text);
		for (size_t k = 0; k < n; k++)
			if (out[0][k] != out[1][k]) {
				if (getenv("JIT_TEST_TEXT"))
					print_message("%s\n", t.s);
				fail_msg("program %u, thread %zu, byte %zu: %#x, not %#x", round,
					k / (WORDS * 4), k % (WORDS * 4), out[1][k], out[0][k]);
			}
		assert_memory_equal(mem[0], mem[1], BLOCKS * 4096);
		if (!have_compiler())
			return;
	}
}

/* --- faults --- */
#define KERNEL(body)                                                                                                             \
	PTX_HEAD                                                                                                                 \
	".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>; .shared .align 16 .b8 s[256];\n" \
	"ld.param.u64 %d1, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s;\n" body " ret; }"

static void same_faults(void **state)
{
	static const char *const bodies[] = {
		KERNEL("mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r0; ld.global.u32 %r2, [%d2+128];"), /* the range's end */
		KERNEL("mul.wide.u32 %d2, %r0, 5; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r0;"), /* misaligned */
		KERNEL("mad.lo.u32 %r2, %r0, 8, %r1; st.shared.u32 [%r2+8], %r0;"),  /* past shared
											memory */
		KERNEL("mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2+-4], %r0;"), /* before it */
		KERNEL("mov.u64 %d2, 16; ld.global.u32 %r3, [%d2];"), /* nothing there */
		KERNEL("setp.eq.u32 %p0, %r0, 17; @%p0 add.u64 %d1, %d1, 4096; st.global.u32 [%d1], %r0;"),
		KERNEL("setp.gt.u32 %p0, %r0, 20; @%p0 st.global.u32 [%d1+4096], %r0;"),
		KERNEL("setp.gt.u32 %p0, %r0, 20; @!%p0 bra L; mul.wide.u32 %d2, %r0, 400; add.u64 %d2, %d1, %d2; ld.global.v2.u32 {%r3, %r4}, [%d2]; L:"),
		KERNEL("ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1+248];"),
		KERNEL("setp.eq.u32 %p0, %r0, 9; @%p0 trap;"),
		KERNEL("L: add.u32 %r2, %r2, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra L; bra L;"),
	};
	uint8_t *mem = device(256);

	for (unsigned k = 0; k < sizeof(bodies) / sizeof(bodies[0]); k++) {
		struct ptx_fault f[2];
		for (unsigned how = 0; how < 2; how++) {
			struct ptx_module *m = load(bodies[k]);
			struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
				.grid = {1, 1, 1},
				.block = {64, 1, 1},
				.params = &mem,
				.max_slices = 3};
			ptx_jit_set(how ? PTX_JIT_FORCE : PTX_JIT_OFF);
			assert_int_not_equal(ptx_run(&l, &f[how]), PTX_OK);
			ptx_free(m);
		}
		assert_string_equal(f[0].text, f[1].text);
	}
}

/* A warp's clock and its turns do not tell whether it is compiled. */
static void same_clocks(void **state)
{
	static const char text[] = KERNEL(
		"mov.u32 %r2, 0; and.b32 %r5, %r0, 7;\n"
		"L: add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 50000; @%p0 bra L;\n"
		"M: sub.s32 %r5, %r5, 1; setp.gt.s32 %p0, %r5, 0; @%p0 bra M;\n"
		"mov.u64 %d3, %clock64; mul.wide.u32 %d2, %r0, 8; add.u64 %d2, %d1, %d2; st.global.u64 [%d2], %d3;");
	uint64_t *out[2] = {device(512), device(512)};

	for (unsigned how = 0; how < 2; how++) {
		struct ptx_module *m = load(text);
		ptx_jit_set(how ? PTX_JIT_FORCE : PTX_JIT_OFF);
		run(m, "k", 1, 64, &out[how]);
		ptx_free(m);
	}
	/* two turns at least: 50,000 branches, 20,000 a slice */
	assert_true(out[0][0] > 4 * 150000);
	assert_memory_equal(out[0], out[1], 512);
}

/* A kernel that is hot is compiled while it runs, and its results do not change. */
static void becomes_hot(void **state)
{
	static const char text[] = KERNEL(
		"mov.u32 %r2, 0; mov.u32 %r3, %r0;\n"
		"L: mad.lo.u32 %r3, %r3, 1664525, 1013904223; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 200000; @%p0 bra L;\n"
		"mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r3;");
	struct ptx_jit_stats before, after;
	struct ptx_module *m = load(text);
	uint32_t *out = device(256);

	ptx_jit_set(PTX_JIT_ON);
	ptx_jit_stats(&before);
	for (unsigned round = 0; round < 3; round++) {
		memset(out, 0, 256);
		run(m, "k", 1, 64, &out);
		for (uint32_t t = 0; t < 64; t++) {
			uint32_t x = t;
			for (unsigned k = 0; k < 200000; k++)
				x = x * 1664525u + 1013904223u;
			assert_int_equal(out[t], x);
		}
		ptx_jit_drain();
	}
	ptx_jit_stats(&after);
	if (have_compiler())
		assert_true(after.regions > before.regions);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_interpreted),
		cmocka_unit_test(same_faults),
		cmocka_unit_test(same_clocks),
		cmocka_unit_test(becomes_hot),
	};

	if (!getenv("TSDB_SOFT_JIT_PLUGIN") && !access("softgpu/tsdb-softgpu-jit.so", R_OK))
		setenv("TSDB_SOFT_JIT_PLUGIN", "softgpu/tsdb-softgpu-jit.so", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
