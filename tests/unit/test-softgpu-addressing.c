/* SPDX-License-Identifier: Apache-2.0
 *
 * How kernels make their addresses: what is told of parameters, and what ends in "not known".
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-addressing.h"

#define KERNEL(body)                                                                                               \
	PTX_HEAD                                                                                                   \
	".const .u32 table[4];\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .f32 x) {\n" \
	".reg .b32 %r<32>; .reg .b64 %d<32>; .reg .f32 %f<8>; .reg .pred %p<8>;\n.shared .align 4 .b32 s[64];\n"   \
	"ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; ld.param.u32 %r0, [n]; ld.param.f32 %f0, [x];\n"            \
	"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n" body "\nret; }\n"

enum { P, Q, COUNT, X }; /* in the order of the loads */

static struct ptx_addressing a;

/* Of the kernel with that body. */
static void look(const char *text)
{
	struct ptx_module *m = load(text);

	ptx_addressing_find(&a, ptx_kernel_by_name(m, "k"));
	ptx_free(m);
}
#define LOOK(body) look(KERNEL(body))

static void expect_unknown(const char *text, const char *why)
{
	look(text);
	assert_non_null(a.why);
	assert_string_equal(a.why, why);
	assert_null(a.base);
}
#define UNKNOWN(body)                                                                              \
	expect_unknown(KERNEL(body), "what it touches may depend on what memory holds")
#define NOT_LOOKED_INTO "it has an instruction that is not looked into"

static void expect_known(const char *text)
{
	look(text);
	if (a.why)
		fail_msg("%s", a.why);
	assert_int_equal(a.n, 4);
	assert_int_equal(a.source[P].offset, 0);
	assert_int_equal(a.source[P].size, 8);
	assert_int_equal(a.source[Q].offset, 8);
	assert_int_equal(a.source[COUNT].offset, 16);
	assert_int_equal(a.source[COUNT].size, 4);
	assert_int_equal(a.source[X].offset, 20);
}
#define KNOWN(body) expect_known(KERNEL(body))

static bool is_pure_base(unsigned k)
{
	return a.source[k].is_base && !a.source[k].shapes;
}

static void test_bases(void **state)
{
	(void)state;
	/* q[tid] = p[tid] * x: both are bases, x is data, n is never used. */
	KNOWN("cvta.to.global.u64 %d3, %d0; add.s64 %d4, %d3, %d2; ld.global.f32 %f1, [%d4+16]; mul.f32 %f1, %f1, %f0;"
	      "cvta.to.global.u64 %d5, %d1; add.s64 %d6, %d2, %d5; st.global.f32 [%d6], %f1;");
	assert_true(is_pure_base(P) && is_pure_base(Q));
	assert_false(a.source[COUNT].shapes || a.source[X].shapes || a.source[X].is_base);
	ptx_addressing_free(&a);
	/* mad.lo and mad.wide keep the base that is added; n is a factor: it shapes. */
	KNOWN("mad.wide.u32 %d3, %r1, %r0, %d0; ld.global.u32 %r2, [%d3]; mad.lo.s64 %d4, %d2, 8, %d1; st.global.u32 [%d4], %r2;");
	assert_true(is_pure_base(P) && is_pure_base(Q) && a.source[COUNT].shapes);
	ptx_addressing_free(&a);
	/* What is taken from a base shapes, the base does not. */
	KNOWN("cvt.u64.u32 %d3, %r0; sub.s64 %d4, %d0, %d3; st.global.u32 [%d4], 1;");
	assert_true(is_pure_base(P) && a.source[COUNT].shapes);
	ptx_addressing_free(&a);
	KNOWN("sub.s64 %d3, %d1, %d0; st.global.u32 [%d3], 1;");
	assert_true(a.source[P].shapes && !a.source[P].is_base);
	ptx_addressing_free(&a);
	/* A pointer that goes up in a loop that n ends. */
	KNOWN("mov.u64 %d3, %d0; mov.u32 %r2, 0; l: st.global.u32 [%d3], %r2; add.s64 %d3, %d3, 128; add.s32 %r2, %r2, 1;"
	      "setp.lt.u32 %p0, %r2, %r0; @%p0 bra l;");
	assert_true(is_pure_base(P) && a.source[COUNT].shapes);
	assert_false(a.source[Q].is_base || a.source[Q].shapes);
	ptx_addressing_free(&a);
}

/* Values of bases in any other use shape. */
static void test_shapes(void **state)
{
	static const char *const uses[] = {
		KERNEL("setp.eq.u64 %p0, %d0, 0; @%p0 bra l; st.global.u32 [%d0], 1; l:"), /* asked
											      whether
											      it is
											      null
											    */
		KERNEL("setp.ne.u32 %p0, %r0, 0; selp.b64 %d3, %d0, %d1, %p0; st.global.u32 [%d3], 1;"), /* one of two */
		KERNEL("sub.s64 %d3, %d1, %d0; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;"), /* a difference */
		KERNEL("add.s64 %d3, %d0, %d0; st.global.u32 [%d3], 1;"),
		KERNEL("shl.b64 %d3, %d0, 1; st.global.u32 [%d3], 1;"),
		KERNEL("and.b64 %d3, %d0, -256; st.global.u32 [%d3], 1;"),
		KERNEL("cvt.u32.u64 %r2, %d0; cvt.u64.u32 %d3, %r2; st.global.u32 [%d3], 1;"),
		KERNEL("mov.u64 %d3, %d0; @%p1 mov.u64 %d3, %d1; st.global.u32 [%d3], 1;"), /* either
											     */
		KERNEL("setp.gt.u64 %p0, %d0, %d1; @%p0 st.global.u32 [%d1], 1;"),
		KERNEL("ld.param.u32 %r5, [p+4]; st.shared.u32 [s], %r5; st.global.u32 [%d0], 1;"), /* looked at in halves */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof uses / sizeof *uses; i++) {
		look(uses[i]);
		if (a.why)
			fail_msg("%u: %s", i, a.why);
		if (is_pure_base(P))
			fail_msg("%u: its value decides more than where it begins", i);
		ptx_addressing_free(&a);
	}
}

/* What the hardware, or the time, decides; a launch's shape and a thread's place are none of it. */
static const struct {
	const char *name;
	unsigned bits;
	bool unknown;
} arbitrary[] = {
	{"%clock", 32, true},
	{"%clock_hi", 32, true},
	{"%clock64", 64, true},
	{"%globaltimer", 64, true},
	{"%globaltimer_lo", 32, true},
	{"%smid", 32, true},
	{"%nsmid", 32, true},
	{"%warpid", 32, true},
	{"%nwarpid", 32, true},
	{"%gridid", 64, true},
	{"%tid.x", 32, false},
	{"%ntid.z", 32, false},
	{"%ctaid.y", 32, false},
	{"%nctaid.x", 32, false},
	{"%laneid", 32, false},
	{"%lanemask_lt", 32, false},
	{"%clusterid.x", 32, false},
	{"%cluster_ctarank", 32, false},
};

static void test_memory(void **state)
{
	(void)state;
	UNKNOWN("ld.global.u64 %d3, [%d0]; st.global.u32 [%d3], 1;"); /* a pointer from memory */
	UNKNOWN("ld.global.u32 %r2, [%d0]; mul.wide.u32 %d3, %r2, 4; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;"); /* an index */
	UNKNOWN("ld.global.u32 %r2, [%d0]; setp.eq.u32 %p0, %r2, 0; @%p0 st.global.u32 [%d1], 1;"); /* a predicate */
	UNKNOWN("ld.global.u32 %r2, [%d0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra l; st.global.u32 [%d1], 1; l:"); /* a branch */
	UNKNOWN("ld.global.u32 %r2, [%d0]; setp.eq.u32 %p0, %r2, 0; @%p0 exit; st.global.u32 [%d1], 1;");
	UNKNOWN("ld.global.u32 %r2, [%d0]; setp.eq.u32 %p0, %r2, 0; mov.u64 %d3, %d0; @%p0 mov.u64 %d3, %d1; st.global.u32 [%d3], 1;");
	UNKNOWN("atom.global.add.u32 %r2, [%d0], 1; mul.wide.u32 %d3, %r2, 4; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;");
	UNKNOWN("ld.const.u32 %r2, [table]; mul.wide.u32 %d3, %r2, 4; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;"); /* copied to at any time */
	UNKNOWN("ld.shared.u32 %r2, [s]; mul.wide.u32 %d3, %r2, 4; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;");
	UNKNOWN("ld.global.u32 %r2, [%d0]; st.shared.u32 [%r2], 1; st.global.u32 [%d1], 1;"); /* out
												 of
												 bounds
												 it
												 would
												 end
												 the
												 launch
											       */
	UNKNOWN("ld.global.u32 %r2, [%d0]; shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; mul.wide.u32 %d3, %r3, 4; add.s64 %d3, %d3, %d1; st.global.u32 [%d3], 1;");
	/* Through a circle of registers. */
	UNKNOWN("mov.u32 %r3, 0; l: mov.u32 %r4, %r3; ld.global.u32 %r3, [%d0]; add.s32 %r5, %r4, 1; setp.lt.u32 %p0, %r5, 9; @%p0 bra l;");
	/* Time, and where the hardware put the block. */
	for (unsigned i = 0; i < sizeof(arbitrary) / sizeof(arbitrary[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "%s", KERNEL("~"));
		snprintf(strchr(text, '~'), 400,
			arbitrary[i].bits == 32
				? "mov.u32 %%r5, %s; cvt.u64.u32 %%d3, %%r5; add.s64 %%d3, %%d3, %%d1; st.global.u32 [%%d3], 1;\nret; }\n"
				: "mov.u64 %%d3, %s; add.s64 %%d3, %%d3, %%d1; st.global.u32 [%%d3], 1;\nret; }\n",
			arbitrary[i].name);
		if (arbitrary[i].unknown)
			expect_unknown(text, "what it touches may depend on what memory holds");
		else
			expect_known(text);
		ptx_addressing_free(&a);
	}
	/* What is not looked into. */
	expect_unknown(KERNEL("activemask.b32 %r2; st.global.u32 [%d0], 1;"), NOT_LOOKED_INTO);
	expect_unknown(
		KERNEL("add.cc.u32 %r2, %r0, 1; addc.u32 %r3, %r0, 0; st.global.u32 [%d0], %r2;"),
		NOT_LOOKED_INTO);
	expect_unknown(PTX_HEAD
		".func f(.param .u64 a) { ret; }\n.visible .entry k(.param .u64 p) { .reg .b64 %d<4>; ld.param.u64 %d0, [p];\n"
		"{ .param .b64 x; st.param.b64 [x], %d0; call.uni f, (x); } st.global.u32 [%d0], 1; ret; }\n",
		NOT_LOOKED_INTO);
}

/* What is stored is looked at by nobody. */
static void test_data_may_come_from_memory(void **state)
{
	(void)state;
	KNOWN("ld.global.u32 %r2, [%d0]; mul.lo.u32 %r3, %r2, %r2; setp.eq.u32 %p0, %r3, 7; selp.b32 %r4, %r2, %r3, %p0; st.global.u32 [%d1], %r4;");
	assert_true(is_pure_base(P) && is_pure_base(Q));
	ptx_addressing_free(&a);
	KNOWN("ld.global.u32 %r2, [%d0]; red.global.add.u32 [%d1], %r2; bar.sync 0; st.shared.u32 [s+4], %r2;");
	assert_true(is_pure_base(P) && is_pure_base(Q));
	ptx_addressing_free(&a);
}

/* By instruction: the base of its address. */
static void test_base_of_instructions(void **state)
{
	struct ptx_module *m = load(KERNEL(
		"ld.global.u32 %r2, [%d1]; st.global.u32 [%d0], %r2; st.shared.u32 [s], %r2;"));
	const struct ptx_function *k = ptx_kernel_by_name(m, "k");
	unsigned loads = 0, stores = 0;

	(void)state;
	ptx_addressing_find(&a, k);
	assert_null(a.why);
	for (uint32_t pc = 0; pc < k->ninsns; pc++) {
		if (!strcmp(k->insns[pc].name, "ld.global.u32"))
			loads += a.base[pc] == Q + 1;
		else if (!strcmp(k->insns[pc].name, "st.global.u32"))
			stores += a.base[pc] == P + 1;
		else
			assert_int_equal(a.base[pc], 0);
	}
	assert_int_equal(loads, 1);
	assert_int_equal(stores, 1);
	ptx_addressing_free(&a);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bases),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_data_may_come_from_memory),
		cmocka_unit_test(test_base_of_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
