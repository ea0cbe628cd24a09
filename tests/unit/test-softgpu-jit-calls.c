/* SPDX-License-Identifier: Apache-2.0
 *
 * What compiled code leaves to the interpreter's handlers, which give the same bits more slowly, so
 * that no comparison of results notices: each form here is compiled, or is not, as docs/softgpu.md
 * and the comments of jit-*.c promise. Every handler is replaced by one that counts its calls.
 */
#include "ptx-test.h"

#include "softgpu/jit/jit.h"

#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct ptx_function *watched;
static struct {
	ptx_handler *real;
	unsigned calls;
} handlers[1024];

static void counted(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	handlers[i - watched->insns].calls++;
	handlers[i - watched->insns].real(w, i, mask);
}

/* Loads of parameters are told by their handlers, which stay. */
static struct ptx_module *load_counted(const char *text)
{
	struct ptx_module *m = load(text);

	watched = ptx_kernel_by_name(m, "k");
	assert_true(watched->ninsns <= COUNT_OF(handlers));
	for (uint32_t k = 0; k < watched->ninsns; k++) {
		struct ptx_insn *i = &watched->insns[k];

		handlers[k].calls = 0;
		handlers[k].real = i->h;
		if (!(i->flags & F_CTRL) && i->space != SP_PARAM)
			i->h = counted;
	}
	return m;
}

/* The calls for the instructions of a line. */
static unsigned calls_of(unsigned line)
{
	unsigned n = 0, found = 0;

	for (uint32_t k = 0; k < watched->ninsns; k++)
		if (watched->insns[k].line == line) {
			n += handlers[k].calls;
			found++;
		}
	assert_int_not_equal(found, 0);
	return n;
}

static bool have_compiler(void)
{
	struct ptx_jit_stats stats;

	ptx_jit_stats(&stats);
	return !stats.why[0];
}

struct text {
	char s[1 << 16];
	size_t at;
	unsigned line;
};

static void put(struct text *t, const char *s)
{
	assert_true(t->at + strlen(s) < sizeof t->s);
	for (; *s; s++) {
		t->line += *s == '\n';
		t->s[t->at++] = *s;
	}
	t->s[t->at] = 0;
}

#define REGISTERS                                                                                  \
	".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>, %b<4>; .reg .f32 %f<8>;"               \
	".reg .f64 %g<8>; .reg .pred %p<8>; .reg .b32 %n<2>, %a<16>; .reg .b64 %c<16>;\n"

/* Each register is read from memory, so that nothing is constant. */
static void put_loads(struct text *t)
{
	char s[200];

	for (unsigned k = 0; k < 8; k++) {
		snprintf(s, sizeof s,
			"ld.global.b16 %%h%u, [%%b0]; ld.global.b32 %%r%u, [%%b0]; ld.global.b64 %%d%u, [%%b0]; "
			"ld.global.f32 %%f%u, [%%b0]; ld.global.f64 %%g%u, [%%b0]; setp.eq.u32 %%p%u, %%r%u, 0;\n",
			k, k, k, k, k, k, k);
		put(t, s);
	}
}

static void start(struct text *t)
{
	*t = (struct text){.line = 1};
	put(t, PTX_HEAD ".visible .entry k(.param .u64 p) {\n" REGISTERS
			"ld.param.u64 %b0, [p];\n");
}

/* --- arithmetic, comparisons, moves --- */

static const char *const compiled[] = {
	"add.u32 %r1, %r2, %r3",
	"add.s64 %d1, %d2, %d3",
	"add.u16 %h1, %h2, %h3",
	"sub.s32 %r1, %r2, %r3",
	"mul.lo.s32 %r1, %r2, %r3",
	"mul.lo.u64 %d1, %d2, %d3",
	"mul.lo.u16 %h1, %h2, %h3",
	"mul.hi.u32 %r1, %r2, %r3",
	"mul.hi.s32 %r1, %r2, %r3",
	"mul.wide.u32 %d1, %r2, %r3",
	"mul.wide.s16 %r1, %h2, %h3",
	"mad.lo.s32 %r1, %r2, %r3, %r4",
	"mad.wide.s32 %d1, %r2, %r3, %d4",
	"min.s32 %r1, %r2, %r3",
	"max.u32 %r1, %r2, %r3",
	"min.s64 %d1, %d2, %d3",
	"max.u64 %d1, %d2, %d3",
	"neg.s32 %r1, %r2",
	"neg.s64 %d1, %d2",
	"neg.s16 %h1, %h2",
	"abs.s32 %r1, %r2",
	"abs.s64 %d1, %d2",
	"and.b32 %r1, %r2, %r3",
	"or.b64 %d1, %d2, %d3",
	"xor.b16 %h1, %h2, %h3",
	"not.b32 %r1, %r2",
	"not.b64 %d1, %d2",
	"shl.b32 %r1, %r2, %r3",
	"shl.b64 %d1, %d2, %r3",
	"shr.u32 %r1, %r2, %r3",
	"shr.s32 %r1, %r2, 40",
	"shr.s64 %d1, %d2, %r3",
	"shf.l.wrap.b32 %r1, %r2, %r3, %r4",
	"shf.r.clamp.b32 %r1, %r2, %r3, %r4",
	"lop3.b32 %r1, %r2, %r3, %r4, 0x96",
	"popc.b32 %r1, %r2",
	"brev.b32 %r1, %r2",
	"add.f32 %f1, %f2, %f3",
	"sub.ftz.f32 %f1, %f2, %f3",
	"mul.rn.f32 %f1, %f2, %f3",
	"fma.rn.f32 %f1, %f2, %f3, %f4",
	"mad.rn.f32 %f1, %f2, %f3, %f4",
	"div.rn.f32 %f1, %f2, %f3",
	"div.approx.f32 %f1, %f2, %f3",
	"div.full.f32 %f1, %f2, %f3",
	"rcp.rn.f32 %f1, %f2",
	"rcp.approx.f32 %f1, %f2",
	"sqrt.rn.f32 %f1, %f2",
	"sqrt.approx.ftz.f32 %f1, %f2",
	"rsqrt.approx.f32 %f1, %f2",
	"min.f32 %f1, %f2, %f3",
	"max.NaN.f32 %f1, %f2, %f3",
	"abs.f32 %f1, %f2",
	"neg.f32 %f1, %f2",
	"add.f64 %g1, %g2, %g3",
	"sub.f64 %g1, %g2, %g3",
	"mul.f64 %g1, %g2, %g3",
	"fma.rn.f64 %g1, %g2, %g3, %g4",
	"div.rn.f64 %g1, %g2, %g3",
	"rcp.rn.f64 %g1, %g2",
	"sqrt.rn.f64 %g1, %g2",
	"min.f64 %g1, %g2, %g3",
	"max.f64 %g1, %g2, %g3",
	"abs.f64 %g1, %g2",
	"neg.f64 %g1, %g2",
	"setp.eq.u32 %p1, %r2, %r3",
	"setp.hs.u32 %p1, %r2, %r3",
	"setp.lt.s64 %p1, %d2, %d3",
	"setp.gt.s16 %p1, %h2, %h3",
	"setp.neu.f32 %p1, %f2, %f3",
	"setp.nan.f64 %p1, %g2, %g3",
	"setp.lt.and.s32 %p1|%p2, %r2, %r3, !%p3",
	"selp.b32 %r1, %r2, %r3, %p1",
	"selp.b64 %d1, %d2, %d3, !%p1",
	"selp.b16 %h1, %h2, %h3, %p1",
	"mov.pred %p1, %p2",
	"not.pred %p1, %p2",
	"and.pred %p1, %p2, %p3",
	"or.pred %p1, %p2, %p3",
	"xor.pred %p1, %p2, %p3",
	"mov.b32 %r1, %f2",
	"mov.u16 %h1, %h2",
	"mov.b64 %d1, %g2",
	"mov.u32 %r1, %laneid",
	"mov.u32 %r1, %lanemask_ge",
	"mov.b64 %d1, {%r2, %r3}",
	"mov.b64 {%r1, %r2}, %d3",
	"mov.b32 %r1, {%h2, %h3}",
	"mov.b32 {%h1, %h2}, %r3",
	"mov.b64 %d1, {%h2, %h3, %h4, %h5}",
	"mov.b64 {%h1, %h2, %h3, %h4}, %d3",
	"cvt.u64.u32 %d1, %r2",
	"cvt.s32.s64 %r1, %d2",
	"cvt.u8.u32 %r1, %r2",
	"cvt.s16.s32 %h1, %r2",
	"cvt.s64.s8 %d1, %h2",
	"cvt.rn.f32.s32 %f1, %r2",
	"cvt.rn.f32.u64 %f1, %d2",
	"cvt.rn.f64.u32 %g1, %r2",
	"cvt.rn.f32.u8 %f1, %h2",
	"cvt.rzi.s32.f32 %r1, %f2",
	"cvt.rpi.ftz.u32.f32 %r1, %f2",
	"cvt.f64.f32 %g1, %f2",
	"cvt.rn.f32.f64 %f1, %g2",
	"cvt.rmi.f32.f32 %f1, %f2",
	"cvta.to.global.u64 %d1, %d2",
	"cvta.shared.u64 %d1, %d2",
	"@%p1 add.u32 %r1, %r2, %r3",
	"@!%p1 mov.b64 {%r1, %r2}, %d3",
};

/* These are compiled where all 32 lanes are there. */
static const char *const of_all_lanes[] = {
	"shfl.sync.bfly.b32 %r1, %r2, 5, 31, -1",
	"shfl.sync.down.b32 %r1|%p1, %r2, 3, 31, -1",
	"shfl.sync.up.b32 %r1|%p1, %r2, 2, 0, -1",
	"shfl.sync.idx.b32 %f1, %f2, 0, 31, -1",
};

/* The handlers' own: forms beside those that are compiled. */
static const char *const handled[] = {
	"add.rz.f32 %f1, %f2, %f3",
	"add.sat.f32 %f1, %f2, %f3",
	"add.sat.s32 %r1, %r2, %r3",
	"add.cc.u32 %r1, %r2, %r3",
	"addc.u32 %r1, %r2, %r3",
	"mul.hi.u64 %d1, %d2, %d3",
	"mul.hi.u16 %h1, %h2, %h3",
	"min.s16 %h1, %h2, %h3",
	"abs.s16 %h1, %h2",
	"shl.b16 %h1, %h2, %r3",
	"popc.b64 %r1, %d2",
	"brev.b64 %d1, %d2",
	"clz.b32 %r1, %r2",
	"div.rz.f32 %f1, %f2, %f3",
	"div.s32 %r1, %r2, %r3",
	"rcp.rm.f64 %g1, %g2",
	"add.rp.f64 %g1, %g2, %g3",
	"min.f16 %h1, %h2, %h3",
	"add.f16 %h1, %h2, %h3",
	"cvt.sat.u8.s32 %r1, %r2",
	"cvt.rz.f32.u32 %f1, %r2",
	"cvt.rzi.s64.f32 %d1, %f2",
	"cvt.rzi.s32.f64 %r1, %g2",
	"cvt.rn.f16.f32 %h1, %f2",
	"mov.u64 %d1, %clock64",
	"shfl.sync.idx.b32 %r1, %r2, %r3, 31, -1",
	"prmt.b32 %r1, %r2, %r3, %r4",
};

static unsigned put_forms(struct text *t, const char *const *forms, size_t n)
{
	const unsigned first = t->line;

	for (size_t k = 0; k < n; k++) {
		put(t, forms[k]);
		put(t, ";\n");
	}
	return first;
}

static void expect(const char *const *forms, size_t n, unsigned first, unsigned want)
{
	for (unsigned k = 0; k < n; k++)
		if (calls_of(first + k) != want)
			fail_msg("%s: the handler was called %u times, not %u", forms[k],
				calls_of(first + k), want);
}

static void test_forms(void **state)
{
	static struct text t;
	unsigned lines[3];
	void *mem = device(256);

	for (unsigned threads = 32; threads; threads = threads == 32 ? 20 : 0) {
		struct ptx_module *m;

		start(&t);
		put_loads(&t);
		lines[0] = put_forms(&t, compiled, COUNT_OF(compiled));
		lines[1] = put_forms(&t, handled, COUNT_OF(handled));
		lines[2] = put_forms(&t, of_all_lanes, COUNT_OF(of_all_lanes));
		put(&t, "ret; }\n");
		m = load_counted(t.s);
		run(m, "k", 1, threads, &mem);
		if (have_compiler()) {
			expect(compiled, COUNT_OF(compiled), lines[0], 0);
			expect(handled, COUNT_OF(handled), lines[1], 1);
			expect(of_all_lanes, COUNT_OF(of_all_lanes), lines[2], threads != 32);
		}
		ptx_free(m);
	}
}

/* --- memory: shapes of addresses, by kind of access --- */

enum shape { SIDE, HALVES_SIDE, ALIKE, HALVES_ALIKE, MIXED, REVERSED, NSHAPES };

static const struct {
	const char *type, *reg;
	unsigned bytes;
	bool simple; /* one element of 4 or 8 bytes: compiled for some lanes, too */
} kinds[] = {
	{"u8", "%h1", 1, false},
	{"u32", "%r1", 4, true},
	{"f64", "%g1", 8, true},
	{"v2.u8", "{%h1, %h2}", 2, false},
	{"v2.u32", "{%r1, %r2}", 8, false},
	{"v4.f32", "{%f1, %f2, %f3, %f4}", 16, false},
	{"v4.u16", "{%h1, %h2, %h3, %h4}", 8, false},
};

/* %n0: which element of the lane */
static const char *const elements[NSHAPES] = {
	"mov.u32 %n0, %laneid;",
	"mov.u32 %n0, %laneid; and.b32 %n1, %n0, 16; add.u32 %n0, %n0, %n1;",
	"mov.u32 %n0, 3;",
	"mov.u32 %n0, %laneid; shr.u32 %n0, %n0, 4; mul.lo.u32 %n0, %n0, 5;",
	"mov.u32 %n0, %laneid; min.u32 %n0, %n0, 16;",
	"mov.u32 %n0, %laneid; sub.u32 %n0, 31, %n0;",
};

#define TURNS 6

struct memory_case {
	enum shape shape;
	bool shared, store;
	const char *guard; /* a predicate, and whether it is true for all lanes */
	bool all;
};

/* The kernel of a case; the line of the first access. */
static unsigned put_accesses(struct text *t, const struct memory_case *c)
{
	char s[300];
	unsigned first;

	start(t);
	put(t, ".shared .align 16 .b8 s[1024];\n");
	put(t, elements[c->shape]);
	put(t, "mov.u32 %r7, %laneid; setp.lt.u32 %p7, %r7, 32; setp.lt.u32 %p6, %r7, 9; setp.gt.u32 %p5, %r7, 32;\n");
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		snprintf(s, sizeof s,
			"mul.lo.u32 %%a%u, %%n0, %u; cvt.u64.u32 %%c%u, %%a%u; add.u64 %%c%u, %%c%u, %%b0; "
			"mov.u32 %%r6, s; add.u32 %%a%u, %%a%u, %%r6;\n",
			k, kinds[k].bytes, k, k, k, k, k, k);
		put(t, s);
	}
	put(t, "mov.u32 %n0, 0;\nL:\n");
	first = t->line;
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		char at[20];

		snprintf(at, sizeof at, "[%%%c%u]", c->shared ? 'a' : 'c', k);
		snprintf(s, sizeof s, "%s %s.%s.%s %s, %s;\n", c->guard, c->store ? "st" : "ld",
			c->shared ? "shared" : "global", kinds[k].type,
			c->store ? at : kinds[k].reg, c->store ? kinds[k].reg : at);
		put(t, s);
	}
	snprintf(s, sizeof s,
		"add.u32 %%n0, %%n0, 1; setp.lt.u32 %%p4, %%n0, %u; @%%p4 bra L;\nret; }\n", TURNS);
	put(t, s);
	return first;
}

/* How often the handler is called in TURNS turns: each time, never, or once, where the range that
 * an access is in is looked for. */
static unsigned want(const struct memory_case *c, unsigned kind, unsigned threads)
{
	const unsigned once = c->shared ? 0 : 1;

	if (threads == 32 && c->all)
		return c->shape == SIDE || c->shape == HALVES_SIDE		      ? once
		       : !c->store && (c->shape == ALIKE || c->shape == HALVES_ALIKE) ? once
										      : TURNS;
	if (threads == 32)
		return TURNS;
	return kinds[kind].simple && c->shape == SIDE ? once : TURNS;
}

static void try_memory(const struct memory_case *c, unsigned threads)
{
	static struct text t;
	const unsigned first = put_accesses(&t, c);
	void *mem = device(1024);
	struct ptx_module *m = load_counted(t.s);

	run(m, "k", 1, threads, &mem);
	for (unsigned k = 0; have_compiler() && k < COUNT_OF(kinds); k++) {
		const unsigned n = calls_of(first + k), w = want(c, k, threads);

		if (n != w)
			fail_msg("%u threads, shape %d, %s %s %s %s: %u calls, not %u", threads,
				c->shape, c->guard, c->shared ? "shared" : "global",
				c->store ? "st" : "ld", kinds[k].type, n, w);
	}
	ptx_free(m);
}

static void test_memory(void **state)
{
	for (unsigned k = 0; k < NSHAPES * 4; k++) {
		const struct memory_case c = {k / 4, k & 1, k & 2, "", true};

		try_memory(&c, 32);
		if (c.shape == SIDE || c.shape == ALIKE)
			try_memory(&c, 20);
	}
}

/* A guard that is true for all lanes, for some, for none. */
static void test_guards(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		try_memory(&(struct memory_case){SIDE, k & 1, k & 2, "@%p7", true}, 32);
		try_memory(&(struct memory_case){SIDE, k & 1, k & 2, "@%p6", false}, 32);
		try_memory(&(struct memory_case){SIDE, k & 1, k & 2, "@!%p5", true}, 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_guards),
	};

	if (!getenv("TSDB_SOFT_JIT_PLUGIN") && !access("softgpu/tsdb-softgpu-jit.so", R_OK))
		setenv("TSDB_SOFT_JIT_PLUGIN", "softgpu/tsdb-softgpu-jit.so", 1);
	ptx_jit_set(PTX_JIT_FORCE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
