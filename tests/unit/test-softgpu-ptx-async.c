/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies and mbarriers: what has landed when, and what is a fault. Every expectation
 * is worked out by hand from "PTX ISA 9.0".
 */
#include "ptx-test.h"

#define HEAD90 ".version 8.6\n.target sm_90\n.address_size 64\n"
/* A kernel k(out, in): %r0 thread index, %d0 out, %d2 in, %d1 &out[thread], %d3 &in[thread], s:
 * 4096 bytes of shared memory, bar: two mbarriers. */
#define KERNEL(body)                                                                                                            \
	HEAD90 ".visible .entry k(.param .u64 out, .param .u64 in) {\n"                                                         \
	       ".reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<8>;\n"                     \
	       ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar[2];\n"                                                \
	       "ld.param.u64 %d0, [out]; ld.param.u64 %d2, [in]; mov.u32 %r0, %tid.x; mul.wide.u32 %d4, %r0, 4;\n"              \
	       "add.u64 %d1, %d0, %d4; add.u64 %d3, %d2, %d4; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; mov.u32 %r3, bar;\n" \
	       "setp.eq.u32 %p0, %r0, 0;\n" body "\nret; }\n"

struct io {
	uint32_t *out, *in;
};

static enum ptx_fault_code run_io(
	const char *text, unsigned block, struct io *io, struct ptx_fault *f)
{
	struct ptx_module *m = load(text);
	enum ptx_fault_code code;

	io->out = device(4096);
	io->in = device(4096);
	for (unsigned k = 0; k < 1024; k++)
		io->in[k] = 1000 + k;
	code = launch_of(m, "k", 1, block, io, f);
	ptx_free(m);
	return code;
}

static struct io good(const char *text, unsigned block)
{
	struct ptx_fault f;
	struct io io;

	if (run_io(text, block, &io, &f))
		fail_msg("%s", f.text);
	return io;
}

static void refused(const char *text, const char *part)
{
	struct ptx_fault f;
	struct io io;

	assert_int_equal(run_io(text, 32, &io, &f), PTX_ILLEGAL_INSTRUCTION);
	if (!strstr(f.text, part))
		fail_msg("'%s' is not in '%s'", part, f.text);
}

/* --- cp.async --- */
static void copies_land_at_the_wait(void **state)
{
	/* out[t] before the wait, out[32 + t] after it */
	struct io io = good(
		KERNEL("mov.u32 %r4, 7; st.shared.u32 [%r2], %r4; cp.async.ca.shared.global [%r2], [%d3], 4;\n"
		       "cp.async.commit_group; ld.shared.u32 %r5, [%r2]; st.global.u32 [%d1], %r5;\n"
		       "cp.async.wait_group 0; ld.shared.u32 %r5, [%r2]; st.global.u32 [%d1+128], %r5;"),
		32);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(io.out[t], 7);
		assert_int_equal(io.out[32 + t], 1000 + t);
	}
}

static void groups_end_in_order(void **state)
{
	/* three groups of one copy each; the newest one may be outstanding, then none */
	struct io io = good(
		KERNEL("mul.lo.u32 %r6, %r0, 12; add.u32 %r6, %r6, %r1; mul.wide.u32 %d5, %r0, 12; add.u64 %d5, %d5, %d2;\n"
		       "cp.async.ca.shared.global [%r6], [%d5], 4; cp.async.commit_group;\n"
		       "cp.async.ca.shared.global [%r6+4], [%d5+4], 4; cp.async.commit_group;\n"
		       "cp.async.ca.shared.global [%r6+8], [%d5+8], 4; cp.async.commit_group;\n"
		       "cp.async.wait_group 1; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r6+4]; ld.shared.u32 %r9, [%r6+8];\n"
		       "st.global.u32 [%d1], %r7; st.global.u32 [%d1+128], %r8; st.global.u32 [%d1+256], %r9;\n"
		       "cp.async.wait_group 0; ld.shared.u32 %r9, [%r6+8]; st.global.u32 [%d1+384], %r9;"),
		32);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(io.out[t], 1000 + 3 * t);
		assert_int_equal(io.out[32 + t], 1001 + 3 * t);
		assert_int_equal(io.out[64 + t], 0);
		assert_int_equal(io.out[96 + t], 1002 + 3 * t);
	}
}

static void what_was_not_committed_is_not_waited_for(void **state)
{
	struct io io = good(
		KERNEL("cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.wait_group 0; ld.shared.u32 %r5, [%r2];\n"
		       "st.global.u32 [%d1], %r5; cp.async.wait_all; ld.shared.u32 %r5, [%r2]; st.global.u32 [%d1+128], %r5;"),
		32);

	assert_int_equal(io.out[3], 0);
	assert_int_equal(io.out[32 + 3], 1003);
}

static void zero_fill(void **state)
{
	/* 16 bytes of which src-size are read, of thread t: 4 * t (0 to 12); then ignore-src for
	 * odd threads */
	struct io io = good(
		KERNEL("mul.lo.u32 %r6, %r0, 16; add.u32 %r6, %r6, %r1; mul.wide.u32 %d5, %r0, 16; add.u64 %d5, %d5, %d2;\n"
		       "mov.u32 %r7, 0xffffffff; st.shared.v4.u32 [%r6], {%r7, %r7, %r7, %r7}; mul.lo.u32 %r8, %r0, 4;\n"
		       "cp.async.cg.shared.global.L2::128B [%r6], [%d5], 16, %r8; cp.async.wait_all;\n"
		       "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6]; mul.wide.u32 %d6, %r0, 16; add.u64 %d6, %d6, %d0;\n"
		       "st.global.v4.u32 [%d6], {%r10, %r11, %r12, %r13}; and.b32 %r9, %r0, 1; setp.ne.u32 %p1, %r9, 0;\n"
		       "cp.async.ca.shared::cta.global [%r6], [%d5], 8, %p1; cp.async.wait_all; ld.shared.u32 %r9, [%r6]; st.global.u32 [%d1+256], %r9;"),
		4);

	for (unsigned t = 0; t < 4; t++) {
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(io.out[4 * t + k], k < t ? 1000 + 4 * t + k : 0);
		assert_int_equal(io.out[64 + t], t % 2 ? 0 : 1000 + 4 * t);
	}
}

static void wrong_copies(void **state)
{
	struct ptx_fault f;
	struct io io;

	refused(KERNEL("cp.async.cg.shared.global [%r2], [%d3], 8;"), "a copy of this size");
	refused(KERNEL("mov.u32 %r4, 5; cp.async.ca.shared.global [%r2], [%d3], 4, %r4;"),
		"src-size is more than cp-size");
	assert_int_equal(run_io(KERNEL("cp.async.ca.shared.global [%r2+2], [%d3], 4;"), 1, &io, &f),
		PTX_MISALIGNED_ADDRESS);
	assert_int_equal(
		run_io(KERNEL("cp.async.ca.shared.global [%r2], [%d3+8192], 4;"), 1, &io, &f),
		PTX_ILLEGAL_ADDRESS);
	assert_int_equal(
		run_io(KERNEL("cp.async.ca.shared.global [%r2+8192], [%d3], 4;"), 1, &io, &f),
		PTX_ILLEGAL_ADDRESS);
}

/* --- mbarriers --- */
static void phases(void **state)
{
	/* 32 arrivals a phase; the lanes' states are those of phase 0, and the parity says the same
	 */
	struct io io = good(
		KERNEL("@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0;\n"
		       "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r4, 1, 0, %p1;\n" /* the phase before the first is over */
		       "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r5, 1, 0, %p1;\n"
		       "setp.lt.u32 %p2, %r0, 31; mov.u64 %d7, 0;\n"
		       "@%p2 mbarrier.arrive.shared.b64 %d7, [bar]; mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0; selp.u32 %r6, 1, 0, %p1;\n"
		       "@!%p2 mbarrier.arrive.release.cta.shared::cta.b64 %d7, [bar], 1; mbarrier.test_wait.shared.b64 %p1, [bar], %d7; selp.u32 %r7, 1, 0, %p1;\n"
		       "mbarrier.pending_count.b64 %r8, %d7; mad.lo.u32 %r4, %r5, 2, %r4; mad.lo.u32 %r4, %r6, 4, %r4; mad.lo.u32 %r4, %r7, 8, %r4;\n"
		       "st.global.u32 [%d1], %r4; st.global.u32 [%d1+128], %r8;"),
		32);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(io.out[t], 1 + 8);
		assert_int_equal(io.out[32 + t], 32 - t); /* lane t was the t-th to arrive */
	}
}

static void waiting_for_another_warp(void **state)
{
	/* warp 1 publishes, warp 0 waits in a loop, twice: two phases */
	struct io io = good(
		KERNEL("@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra PRODUCE;\n"
		       "mov.u32 %r4, 0; mov.u32 %r9, 0;\n"
		       "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r4, 1000; @!%p2 bra WAIT;\n"
		       "ld.shared.u32 %r5, [%r2]; mad.lo.u32 %r9, %r9, 1000, %r5; bar.sync 1; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 2; @%p3 bra WAIT;\n"
		       "st.global.u32 [%d1], %r9; bra END;\n"
		       "PRODUCE: mov.u32 %r4, 5; sub.u32 %r6, %r2, 128;\n"
		       "AGAIN: st.shared.u32 [%r6], %r4; mbarrier.arrive.shared.b64 _, [bar]; bar.sync 1; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 7; @%p3 bra AGAIN;\n"
		       "END:"),
		64);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(io.out[t], 5006);
}

static void dropping(void **state)
{
	/* of 4 expected, one leaves: the next phase needs 3 */
	struct io io = good(
		KERNEL("@!%p0 bra END; mbarrier.init.shared.b64 [bar], 4;\n"
		       "mbarrier.arrive_drop.shared.b64 %d5, [bar]; mbarrier.arrive.shared.b64 _, [bar], 3;\n"
		       "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 1, 0, %p1;\n"
		       "mbarrier.arrive.noComplete.shared.b64 %d6, [bar], 2; mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r5, 1, 0, %p1;\n"
		       "mbarrier.arrive.shared.b64 %d7, [bar]; mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r6, 1, 0, %p1;\n"
		       "mbarrier.pending_count.b64 %r7, %d6; st.global.v4.u32 [%d0], {%r4, %r5, %r6, %r7}; mbarrier.inval.shared.b64 [bar];\nEND:"),
		32);

	assert_int_equal(io.out[0], 1);
	assert_int_equal(io.out[1], 0);
	assert_int_equal(io.out[2], 1);
	assert_int_equal(io.out[3], 3);
}

static void wrong_barriers(void **state)
{
	refused(KERNEL("mbarrier.arrive.shared.b64 _, [bar];"), "not initialised");
	refused(KERNEL("mbarrier.init.shared.b64 [bar], 0;"), "for this number of arrivals");
	refused(KERNEL("@%p0 mbarrier.init.shared.b64 [bar], 2; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; mbarrier.arrive.shared.b64 _, [bar];"),
		"more arrivals");
	refused(KERNEL("@%p0 mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.noComplete.shared.b64 %d5, [bar], 1;"),
		".noComplete");
	refused(KERNEL("mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];"),
		"not initialised");
}

static void copies_that_arrive(void **state)
{
	/* .noinc arrivals are expected ones: 32; the others bring their own. The reader's wait
	 * makes the data land. */
	struct io io = good(
		KERNEL("@%p0 mbarrier.init.shared.b64 [bar], 32; @%p0 mbarrier.init.shared.b64 [bar+8], 1; bar.sync 0;\n"
		       "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
		       "ld.shared.u32 %r4, [%r2]; st.global.u32 [%d1], %r4;\n"
		       "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W; ld.shared.u32 %r4, [%r2]; st.global.u32 [%d1+128], %r4;\n"
		       "cp.async.ca.shared.global [%r2], [%d3+256], 4; cp.async.mbarrier.arrive.shared.b64 [bar+8];\n"
		       "@%p0 mbarrier.arrive.shared.b64 _, [bar+8];\n"
		       "V: mbarrier.test_wait.parity.shared.b64 %p1, [bar+8], 0; @!%p1 bra V; ld.shared.u32 %r4, [%r2]; st.global.u32 [%d1+256], %r4;"),
		32);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(io.out[t], 0);
		assert_int_equal(io.out[32 + t], 1000 + t);
		assert_int_equal(io.out[64 + t], 1064 + t);
	}
}

/* --- bulk copies --- */
static void bulk_in_and_out(void **state)
{
	struct io io = good(
		KERNEL("@%p0 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;\n"
		       "@!%p0 bra W; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
		       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d2], 64, [%r3];\n"
		       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+64], [%d2+64], 64, [bar];\n"
		       "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W; ld.shared.u32 %r4, [%r2]; add.u32 %r4, %r4, 1; st.shared.u32 [%r2], %r4;\n"
		       "fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra END;\n"
		       "cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 128; cp.async.bulk.commit_group; ld.global.u32 %r5, [%d0]; st.global.u32 [%d0+512], %r5;\n"
		       "cp.async.bulk.wait_group.read 0; ld.global.u32 %r5, [%d0]; st.global.u32 [%d0+516], %r5;\n"
		       "cp.async.bulk.global.shared::cta.bulk_group [%d0+256], [s+16], 16;\n"
		       "END:"),
		32);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(io.out[t], 1001 + t);
	assert_int_equal(io.out[128], 0);
	assert_int_equal(io.out[129], 1001);
	for (unsigned k = 0; k < 4;
		k++) /* what nobody waits for is there when the kernel has ended */
		assert_int_equal(io.out[64 + k], 1005 + k);
}

static void bulk_reductions(void **state)
{
	struct io io = good(
		KERNEL("add.u32 %r4, %r0, 5; st.shared.u32 [%r2], %r4; st.global.u32 [%d1], %r0; st.global.u32 [%d1+256], 8;\n"
		       "cvt.rn.f32.u32 %f0, %r0; st.shared.f32 [%r2+512], %f0; mov.f32 %f1, 0f3f000000; st.global.f32 [%d1+512], %f1; bar.sync 0; @!%p0 bra END;\n"
		       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [s], 128;\n"
		       "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%d0+256], [s], 128;\n"
		       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d0+512], [s+512], 128;\n"
		       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nEND:"),
		32);
	float f;

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(io.out[t], 2 * t + 5);
		assert_int_equal(io.out[64 + t], t + 5 < 8 ? t + 5 : 8);
		memcpy(&f, &io.out[128 + t], 4);
		assert_true(f == (float)t + 0.5f);
	}
}

static void stores_that_arrive(void **state)
{
	/* thread 0 stores 4, 8 and 16 bytes, and adds 3 */
	struct io io = good(
		KERNEL("@!%p0 bra END; mbarrier.init.shared.b64 [bar], 1; st.shared.u32 [s+64], 100; mbarrier.arrive.expect_tx.shared.b64 %d7, [bar], 32;\n"
		       "mov.u32 %r4, 11; mov.u32 %r5, 12; mov.u32 %r6, 13; mov.u32 %r7, 14; mov.u64 %d5, 0x500000006; mov.u32 %r9, s; mov.u32 %r10, bar;\n"
		       "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], %r4, [%r10];\n"
		       "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r9+8], %d5, [%r10];\n"
		       "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r9+16], {%r4, %r5, %r6, %r7}, [%r10];\n"
		       "mov.u32 %r8, 3; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9+64], %r8, [%r10];\n"
		       "ld.shared.u32 %r11, [s]; mbarrier.test_wait.shared.b64 %p1, [bar], %d7; selp.u32 %r12, 1, 0, %p1;\n"
		       "ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [s]; ld.shared.v4.u32 {%r17, %r18, %r19, %r20}, [s+16]; ld.shared.u32 %r21, [s+64];\n"
		       "st.global.v4.u32 [%d0], {%r11, %r12, %r13, %r14}; st.global.v4.u32 [%d0+16], {%r15, %r16, %r17, %r18};\n"
		       "st.global.v4.u32 [%d0+32], {%r19, %r20, %r21, %r21};\nEND:"),
		32);
	static const uint32_t want[] = {0, 1, 11, 0, 6, 5, 11, 12, 13, 14, 103};

	for (unsigned k = 0; k < sizeof(want) / 4; k++)
		assert_int_equal(io.out[k], want[k]);
}

/* Words 2 to 5 of shared memory become zero, by an address of shared memory and by a generic one;
 * of 0 bytes nothing does. "PTX ISA 8.6", st.bulk. */
static void bulk_zeros(void **state)
{
	struct io io = good(
		KERNEL("add.u32 %r4, %r0, 1; st.shared.u32 [%r2], %r4; bar.sync 0; @!%p0 bra W;\n"
		       "mov.u64 %d5, 8; st.bulk.weak.shared::cta [s+8], %d5, 0; cvt.u64.u32 %d6, %r1; cvta.shared.u64 %d6, %d6;\n"
		       "st.bulk [%d6+16], 8, 0; st.bulk.shared [s+32], 0, 0;\n"
		       "W: bar.sync 0; ld.shared.u32 %r5, [%r2]; st.global.u32 [%d1], %r5;"),
		32);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(io.out[t], t >= 2 && t <= 5 ? 0 : t + 1);
}

static void refused_by_name(void **state)
{
	refused(KERNEL("st.bulk.shared::cta [s], 12, 0;"), "no multiple of 8");
	refused(KERNEL("st.bulk.shared::cta [s], 16777224, 0;"), "above 16777216");
	refused(KERNEL("st.bulk.shared::cta [s], 8, 1;"), "an initial value other than 0");
	refused(KERNEL("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d2, {%r4, %r5}], [%r3];"),
		"cp.async.bulk.tensor.2d");
	refused(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 24;"),
		"not a multiple of 16");
	refused(KERNEL("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%d0], [s], 16;"),
		"without .noftz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_land_at_the_wait),
		cmocka_unit_test(groups_end_in_order),
		cmocka_unit_test(what_was_not_committed_is_not_waited_for),
		cmocka_unit_test(zero_fill),
		cmocka_unit_test(wrong_copies),
		cmocka_unit_test(phases),
		cmocka_unit_test(waiting_for_another_warp),
		cmocka_unit_test(dropping),
		cmocka_unit_test(wrong_barriers),
		cmocka_unit_test(copies_that_arrive),
		cmocka_unit_test(bulk_in_and_out),
		cmocka_unit_test(bulk_reductions),
		cmocka_unit_test(stores_that_arrive),
		cmocka_unit_test(bulk_zeros),
		cmocka_unit_test(refused_by_name),
	};

	return cmocka_run_group_tests_name("softgpu ptx async", tests, NULL, NULL);
}
