/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of one warp that wait for one another: locks, flags, shuffles that two paths come to; and
 * blocks of a cluster that do.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-observe.h"

#define HEAD90 ".version 8.6\n.target sm_90\n.address_size 64\n"
#define REGS                                                                                       \
	".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<8>;\n"
#define KERNEL(extra, body)                                                                                      \
	HEAD90 extra                                                                                             \
		".visible .entry k(.param .u64 out) {\n" REGS                                                    \
		"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r30, %ctaid.x; mov.u32 %r29, %ntid.x;\n" \
		"mad.lo.u32 %r31, %r30, %r29, %r0; mul.wide.u32 %d1, %r31, 4; add.u64 %d1, %d0, %d1;\n" body     \
		"\nret; }\n"

/* --- spinning --- */
static void lock_inside_a_warp(void **state)
{
	/* out[0] is the lock, out[1] counts without an atomic, out[2] is the sum of thread numbers
	 */
	uint32_t *o = run_text(
		KERNEL("",
			"SPIN: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra SPIN;\n"
			"ld.volatile.global.u32 %r2, [%d0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d0+4], %r2;\n"
			"ld.volatile.global.u32 %r2, [%d0+8]; add.u32 %r2, %r2, %r31; st.volatile.global.u32 [%d0+8], %r2;\n"
			"membar.gl; atom.global.exch.b32 %r3, [%d0], 0; bar.sync 0; activemask.b32 %r4; add.u64 %d1, %d1, 64; st.global.u32 [%d1], %r4;"),
		2, 64, 1024);

	assert_int_equal(o[0], 0);
	assert_int_equal(o[1], 128);
	assert_int_equal(o[2], 127 * 128 / 2);
	for (unsigned t = 0; t < 128; t++)
		assert_int_equal(o[16 + t], 0xffffffff); /* together again behind the barrier */
}

/* Whatever the order of warps and however short their turns. */
static void locks_in_any_order(void **state)
{
	struct ptx_module *m = load(KERNEL("",
		"SPIN: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra SPIN;\n"
		"ld.volatile.global.u32 %r2, [%d0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d0+4], %r2; membar.gl; atom.global.exch.b32 %r3, [%d0], 0;\n"
		"bar.sync 0; setp.lt.u32 %p1, %r0, 8; @%p1 bra S; setp.lt.u32 %p2, %r0, 16; @%p2 bra END; S: vote.sync.ballot.b32 %r4, 1, 0xffff00ff;\n"
		"red.global.add.u32 [%d0+8], %r4;\nEND:"));

	for (unsigned seed = 1; seed <= 6; seed++) {
		uint32_t *o = device(64);
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.grid = {2, 1, 1},
			.block = {32, 1, 1},
			.params = &o};
		struct ptx_fault f;
		l.schedule.random = true;
		l.schedule.seed = seed;
		if (ptx_run(&l, &f))
			fail_msg("seed %u: %s", seed, f.text);
		assert_int_equal(o[1], 64);
		assert_int_equal(o[2], 48 * 0xffff00ffu);
	}
	ptx_free(m);
}

static void a_flag_of_another_lane(void **state)
{
	/* either side may come first: both lanes 0 and 31 set what the others wait for, one after
	 * the other */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 31; @%p0 bra FIRST; @%p1 bra SECOND;\n"
			"W: ld.volatile.global.u32 %r1, [%d0+512]; setp.ne.u32 %p2, %r1, 2; @%p2 bra W; bra END;\n"
			"FIRST: st.volatile.global.u32 [%d0+512], 1; bra END;\n"
			"SECOND: ld.volatile.global.u32 %r1, [%d0+512]; setp.ne.u32 %p2, %r1, 1; @%p2 bra SECOND; st.volatile.global.u32 [%d0+512], 2;\n"
			"END: add.u32 %r1, %r1, 10; st.global.u32 [%d1], %r1;"),
		1, 32, 1024);

	for (unsigned t = 1; t < 31; t++)
		assert_int_equal(o[t], 12);
	assert_int_equal(o[31], 11);
}

static void lock_in_a_function(void **state)
{
	/* take() spins; the owner then calls bump(), whose frame must not lie on the spinners', and
	 * which has an array of its own */
	uint32_t *o = run_text(
		KERNEL(".func take(.param .b64 lock) { " REGS
		       " ld.param.u64 %d0, [lock]; mov.u32 %r7, 70;\n"
		       "S: atom.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra S; ret; }\n"
		       ".func (.param .b32 res) bump(.param .b64 at, .param .b32 by) { " REGS
		       " .local .b32 a[4]; ld.param.u64 %d0, [at]; ld.param.u32 %r1, [by];\n"
		       "mov.u32 %r20, 5; mov.u32 %r21, 6; st.local.u32 [a+4], %r1; ld.volatile.u32 %r2, [%d0]; ld.local.u32 %r3, [a+4]; add.u32 %r2, %r2, %r3;\n"
		       "st.volatile.u32 [%d0], %r2; st.param.b32 [res], %r2; ret; }\n",
			".param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b32 r;\n"
			"st.param.b64 [p0], %d0; call.uni take, (p0); add.u64 %d2, %d0, 4; st.param.b64 [p1], %d2; add.u32 %r1, %r0, 1; st.param.b32 [p2], %r1;\n"
			"call.uni (r), bump, (p1, p2); ld.param.b32 %r2, [r]; membar.gl; atom.global.exch.b32 %r3, [%d0], 0; st.global.u32 [%d1+64], %r2;"),
		1, 32, 512);
	unsigned total = 0, seen[600] = {0};

	assert_int_equal(o[1], 32 * 33 / 2);
	for (unsigned t = 0; t < 32; t++) {
		assert_in_range(o[16 + t], 1, 528);
		assert_int_equal(seen[o[16 + t]]++, 0); /* each saw another total */
		total += t + 1;
	}
	assert_int_equal(total, 528);
}

static void behind_the_tired_some_wait_and_some_can_go(void **state)
{
	/* lanes 8-15 wait at a barrier first, then lanes 0-7 spin for what 16-31 set. When the
	 * spinners are tired, those at the barrier are on top of those that can go. */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.ge.u32 %p0, %r0, 16; setp.lt.u32 %p1, %r0, 8; @%p0 bra SET; @%p1 bra SPIN; bar.sync 1; ld.volatile.global.u32 %r1, [%d0+512]; bra END;\n"
			"SPIN: ld.volatile.global.u32 %r1, [%d0+512]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN; bar.sync 1; add.u32 %r1, %r1, 10; bra END;\n"
			"SET: mov.u32 %r1, 7; st.volatile.global.u32 [%d0+512], %r1; mov.u32 %r1, 20; bar.sync 1;\n"
			"END: st.global.u32 [%d1], %r1;"),
		1, 32, 1024);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], t < 8 ? 17 : t < 16 ? 7 : 20);
}

/* --- meeting at an instruction --- */
static void a_shuffle_that_two_paths_come_to(void **state)
{
	/* lanes 0-7 jump to S, 8-15 leave, 16-31 fall through to S: S does not post-dominate the
	 * first branch */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.lt.u32 %p0, %r0, 8; setp.lt.u32 %p1, %r0, 16; mov.u32 %r1, 0; @%p0 bra S; mov.u32 %r1, 100; @%p1 bra END;\n"
			"add.u32 %r1, %r1, 1;\n"
			"S: add.u32 %r1, %r1, %r0; shfl.sync.bfly.b32 %r1, %r1, 16, 31, 0xffff00ff; vote.sync.ballot.b32 %r2, 1, 0xffff00ff; add.u32 %r1, %r1, 1000;\n"
			"setp.eq.u32 %p3, %r2, 0xffff00ff; @!%p3 mov.u32 %r1, 9;\n"
			"END: st.global.u32 [%d1], %r1;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++) {
		/* lane 24 + k looks at lane 8 + k, which is not a member: what it gets is not
		 * defined, so it is not looked at */
		if (t >= 24)
			continue;
		assert_int_equal(o[t], t < 8 ? 1000 + 101 + t + 16 : t < 16 ? 100 : 1000 + t - 16);
	}
}

static void lanes_that_never_come(void **state)
{
	struct ptx_module *m = load(KERNEL("",
		"setp.lt.u32 %p0, %r0, 8; @!%p0 bra B; vote.sync.ballot.b32 %r1, 1, 0xffffffff; bra E;\n"
		"B: bar.sync 1; E:"));
	void *out = device(256);
	struct ptx_fault f;

	assert_int_equal(launch_of(m, "k", 1, 32, &out, &f), PTX_TIMEOUT);
	assert_non_null(strstr(f.text, "can never come here"));
	assert_non_null(strstr(f.text, "vote.sync.ballot"));
	ptx_free(m);
	/* but those that have ended are not waited for */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.ge.u32 %p0, %r0, 8; @%p0 exit; vote.sync.ballot.b32 %r1, 1, 0xffffffff; st.global.u32 [%d1], %r1;"),
		1, 32, 128);
	assert_int_equal(o[0], 0xff);
}

static void warp_barrier_and_an_exit(void **state)
{
	/* lane 0 waits for all; the others exit from a path of their own */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.eq.u32 %p0, %r0, 0; @%p0 bra A; add.u32 %r1, %r0, 1; st.global.u32 [%d1], %r1; exit;\n"
			"A: bar.warp.sync 0xffffffff; ld.global.u32 %r1, [%d1+124]; st.global.u32 [%d1], %r1;"),
		1, 32, 128);

	assert_int_equal(o[0], 32);
	assert_int_equal(o[31], 32);
}

static void elections(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"setp.lt.u32 %p0, %r0, 5; mov.u32 %r1, 77; @%p0 bra S; elect.sync %r1|%p1, 0xffffffe0; selp.u32 %r2, 100, 0, %p1;\n"
			"add.u32 %r1, %r1, %r2; S: st.global.u32 [%d1], %r1; cvt.rn.f32.u32 %f0, %r0; sub.f32 %f0, 0f40A00000, %f0;\n"
			"redux.sync.min.f32 %f1, %f0, 0xffffffff; redux.sync.max.abs.f32 %f2, %f0, 0xffffffff; setp.eq.u32 %p2, %r0, 3; @%p2 mov.f32 %f0, 0f7fc00000;\n"
			"redux.sync.min.f32 %f3, %f0, 0xffffffff; redux.sync.max.NaN.f32 %f4, %f0, 0xffffffff;\n"
			"@%p2 st.global.v4.f32 [%d0+128], {%f1, %f2, %f3, %f4};"),
		1, 32, 256);
	static const uint32_t want[] = {0xc1d00000 /* -26 */, 0x41d00000, 0xc1d00000, 0x7fffffff};

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], t < 5 ? 77 : t == 5 ? 105 : 5);
	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(o[32 + k], want[k]);
}

/* --- clusters --- */
static enum ptx_fault_code run_cluster(const char *text, unsigned grid, unsigned cluster,
	unsigned block, void *out, struct ptx_fault *f)
{
	struct ptx_module *m = load(text);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {grid, 1, 1},
		.block = {block, 1, 1},
		.cluster = {cluster, 1, 1},
		.params = &out};
	enum ptx_fault_code code = ptx_run(&l, f);

	ptx_free(m);
	return code;
}

static void the_barrier_waits_for_the_last_thread(void **state)
{
	/* all threads but the last one of the second block arrive at once; that one first takes its
	 * time, then writes */
	uint32_t *o = device(1024);
	struct ptx_fault f;

	for (unsigned threads = 1; threads <= 40; threads += 13) {
		o[200] = 0;
		o[201] = threads - 1;
		if (run_cluster(
			    KERNEL("",
				    "ld.global.u32 %r1, [%d0+804]; setp.ne.u32 %p0, %r0, %r1; setp.eq.u32 %p1, %r30, 0; or.pred %p0, %p0, %p1; @%p0 bra GO; mov.u32 %r2, 0;\n"
				    "L: add.u32 %r2, %r2, 1; nanosleep.u32 5; setp.lt.u32 %p2, %r2, 60; @%p2 bra L; mov.u32 %r3, 9; st.volatile.global.u32 [%d0+800], %r3;\n"
				    "GO: barrier.cluster.arrive; barrier.cluster.wait; ld.volatile.global.u32 %r4, [%d0+800]; st.global.u32 [%d1], %r4;"),
			    2, 2, threads, o, &f))
			fail_msg("%u threads: %s", threads, f.text);
		for (unsigned t = 0; t < 2 * threads; t++)
			assert_int_equal(o[t], 9);
	}
}

static void shared_memory_of_others(void **state)
{
	/* each block puts 100 * its number + thread into its memory; all read the next block's, by
	 * 32-bit and by generic addresses, and add to it */
	uint32_t *o = device(4096);
	struct ptx_fault f;

	if (run_cluster(
		    KERNEL("",
			    ".shared .align 4 .b32 s[32]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1; mad.lo.u32 %r2, %r30, 100, %r0; st.shared.u32 [%r1], %r2;\n"
			    "mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, %cluster_nctarank; add.u32 %r5, %r3, 1; rem.u32 %r5, %r5, %r4;\n"
			    "mapa.shared::cluster.u32 %r6, %r1, %r5; cvt.u64.u32 %d2, %r1; cvta.shared.u64 %d2, %d2; mapa.u64 %d3, %d2, %r5;\n"
			    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ld.shared::cluster.u32 %r7, [%r6]; ld.u32 %r8, [%d3];\n"
			    "getctarank.shared::cluster.u32 %r9, %r6; getctarank.u64 %r10, %d2; isspacep.shared::cta %p0, %d3; isspacep.shared::cluster %p1, %d3; isspacep.shared::cta %p2, %d2;\n"
			    "selp.u32 %r11, 1, 0, %p0; selp.u32 %r12, 2, 0, %p1; selp.u32 %r13, 4, 0, %p2; add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r13;\n"
			    "barrier.cluster.arrive; barrier.cluster.wait; atom.shared::cluster.add.u32 %r14, [%r6], 1000; red.add.u32 [%d3], 5; barrier.cluster.arrive; barrier.cluster.wait;\n"
			    "ld.shared.u32 %r15, [%r1]; sub.u32 %r8, %r8, %r7; mov.pred %p4, %is_explicit_cluster; selp.u32 %r16, 1, 0, %p4; mov.u32 %r17, %clusterid.x; mov.u32 %r18, %nclusterid.x;\n"
			    "mul.wide.u32 %d4, %r31, 32; add.u64 %d4, %d4, %d0; st.global.v4.u32 [%d4], {%r7, %r8, %r9, %r10}; mad.lo.u32 %r16, %r17, 10, %r16; mad.lo.u32 %r16, %r18, 100, %r16;\n"
			    "st.global.v4.u32 [%d4+16], {%r11, %r14, %r15, %r16};"),
		    6, 3, 16, o, &f))
		fail_msg("%s", f.text);
	for (unsigned b = 0; b < 6; b++)
		for (unsigned t = 0; t < 16; t++) {
			const uint32_t *v = &o[(b * 16 + t) * 8];
			unsigned next = b / 3 * 3 + (b % 3 + 1) % 3;
			assert_int_equal(v[0], 100 * next + t);
			assert_int_equal(v[1], 0);
			assert_int_equal(v[2], next % 3);
			assert_int_equal(v[3], b % 3);
			assert_int_equal(v[4], 6);
			assert_int_equal(v[5], 100 * next + t);
			assert_int_equal(v[6], 100 * b + t + 1005);
			assert_int_equal(v[7], 200 + b / 3 * 10 + 1);
		}
}

/* An access to another block's memory is not one to an address of the process, which an observer
 * could take for global memory. */
static void global_only(void *arg, const struct ptx_access *a)
{
	if (a->space == SP_GLOBAL)
		for (uint32_t m = a->mask; m; m &= m - 1)
			assert_non_null(mem_find(a->addr[__builtin_ctz(m)]));
	*(unsigned *)arg += a->space == SP_SHARED;
}

static void observed_clusters(void **state)
{
	unsigned shared = 0;
	struct ptx_observer ob = {.arg = &shared, .access = global_only};
	/* subnormals are kept in shared memory, another block's too */
	struct ptx_module *m = load(KERNEL("",
		".shared .align 4 .b32 s[32]; mov.u32 %r1, s; mov.u32 %r2, 3; st.shared.u32 [%r1], %r2; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;\n"
		"mapa.shared::cluster.u32 %r4, %r1, %r3; barrier.cluster.arrive; barrier.cluster.wait; mov.b32 %f1, 5; red.shared::cluster.add.f32 [%r4], %f1;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r5, [%r1]; st.global.u32 [%d1], %r5;"));
	uint32_t *out = device(64);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {2, 1, 1},
		.block = {1, 1, 1},
		.cluster = {2, 1, 1},
		.params = &out,
		.observer = &ob};
	struct ptx_fault f;

	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	assert_int_equal(out[0], 8);
	assert_int_equal(out[1], 8);
	assert_int_equal(shared, 4); /* a store and a load of each block to its own */
	ptx_free(m);
}

static void copies_to_other_blocks(void **state)
{
	/* the first block sends to all by multicast; each block's own mbarrier tells it */
	uint32_t *o = device(4096);
	struct ptx_fault f;

	for (unsigned k = 0; k < 8; k++)
		o[512 + k] = 40 + k;
	if (run_cluster(
		    KERNEL("",
			    ".shared .align 16 .b32 s[8]; .shared .align 8 .b64 bar; setp.ne.u32 %p0, %r0, 0; mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r3, %cluster_ctarank;\n"
			    "@%p0 bra GO; mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;\n"
			    "GO: barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p1, %r3, 0; or.pred %p1, %p0, %p1; @%p1 bra WAIT; add.u64 %d2, %d0, 2048; mov.b16 %h1, 7;\n"
			    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d2], 32, [%r2], %h1;\n"
			    "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra WAIT; mad.lo.u32 %r4, %r0, 4, %r1; ld.shared.u32 %r5, [%r4];\n"
			    "add.u32 %r5, %r5, %r3; st.global.u32 [%d1], %r5; barrier.cluster.arrive; barrier.cluster.wait;"),
		    3, 3, 8, o, &f))
		fail_msg("%s", f.text);
	for (unsigned b = 0; b < 3; b++)
		for (unsigned t = 0; t < 8; t++)
			assert_int_equal(o[b * 8 + t], 40 + t + b);
}

static void wrong_clusters(void **state)
{
	static const struct {
		const char *text, *part;
		enum ptx_fault_code code;
	} wrong[] = {
		{KERNEL("", "barrier.cluster.wait;"), "without an arrival",
			PTX_ILLEGAL_INSTRUCTION},
		{KERNEL("", "barrier.cluster.arrive; barrier.cluster.arrive;"), "second arrival",
			PTX_ILLEGAL_INSTRUCTION},
		{KERNEL("",
			 ".shared .b32 s; mov.u32 %r1, s; mapa.shared::cluster.u32 %r2, %r1, 2;"),
			"a rank that no block", PTX_ILLEGAL_INSTRUCTION},
		{KERNEL("", "mov.u32 %r2, 0x5000000; ld.shared::cluster.u32 %r3, [%r2];"),
			"no such block", PTX_ILLEGAL_ADDRESS},
		{KERNEL("",
			 ".shared .b32 s; mov.u32 %r1, s; mov.u32 %r2, 0; setp.eq.u32 %p0, %r30, 0; @%p0 bra END; mapa.shared::cluster.u32 %r1, %r1, %r2;\n"
			 "mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1; nanosleep.u32 5; setp.lt.u32 %p1, %r5, 50; @%p1 bra L; st.shared::cluster.u32 [%r1], %r2;\nEND:"),
			"a block that has ended", PTX_ILLEGAL_ADDRESS},
		{KERNEL("",
			 "setp.eq.u32 %p0, %r30, 0; @%p0 bra B; barrier.cluster.arrive; barrier.cluster.wait; B: bar.sync 0, 64;"),
			"deadlock", PTX_TIMEOUT},
	};

	for (unsigned k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		struct ptx_fault f;
		assert_int_equal(
			run_cluster(wrong[k].text, 2, 2, 32, device(256), &f), wrong[k].code);
		if (!strstr(f.text, wrong[k].part))
			fail_msg("'%s' is not in '%s'", wrong[k].part, f.text);
	}
}

/* --- the heap --- */
#define HEAP_DECLS                                                                                 \
	".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n"
static enum ptx_fault_code run_heap(
	const char *text, struct ptx_heap *heap, void *out, struct ptx_fault *f)
{
	struct ptx_module *m = load(text);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {4, 1, 1},
		.heap = heap,
		.params = &out};
	enum ptx_fault_code code = ptx_run(&l, f);

	ptx_free(m);
	return code;
}

static void heap(void **state)
{
	struct ptx_heap *h = ptx_heap_new(1 << 16, 77);
	uint64_t *o = device(256);
	struct ptx_fault f;

	assert_true(ptx_heap_set_limit(h, 1 << 12));
	/* 40 bytes each; the first and the last are written; then one of 4096 bytes, which is too
	 * much */
	if (run_heap(
		    KERNEL(HEAP_DECLS,
			    ".param .b64 n; .param .b64 r; st.param.b64 [n], 40; call.uni (r), malloc, (n); ld.param.b64 %d2, [r];\n"
			    "st.u32 [%d2], %r0; st.u32 [%d2+36], %r0; st.param.b64 [n], 4096; call.uni (r), malloc, (n); ld.param.b64 %d3, [r];\n"
			    "mul.wide.u32 %d4, %r0, 16; add.u64 %d4, %d4, %d0; st.global.v2.u64 [%d4], {%d2, %d3};"),
		    h, o, &f))
		fail_msg("%s", f.text);
	for (unsigned t = 0; t < 4; t++) {
		assert_int_equal(o[2 * t] % 16, 0);
		assert_int_equal(*(uint32_t *)(uintptr_t)o[2 * t], t);
		assert_int_equal(o[2 * t + 1], 0);
		for (unsigned k = 0; k < t; k++)
			assert_true(o[2 * t] >= o[2 * k] + 40 || o[2 * k] >= o[2 * t] + 40);
	}
	assert_false(ptx_heap_set_limit(h, 1 << 20)); /* in use */
	/* one byte behind a piece; then what was freed; then free() twice; all pieces free: the
	 * whole is one again */
	assert_int_equal(
		run_heap(KERNEL("", "ld.global.u64 %d2, [%d0]; ld.u8 %h1, [%d2+40];"), h, o, &f),
		PTX_ILLEGAL_ADDRESS);
	if (run_heap(
		    KERNEL(HEAP_DECLS,
			    ".param .b64 n; .param .b64 r; mul.wide.u32 %d4, %r0, 16; add.u64 %d4, %d4, %d0; ld.global.u64 %d2, [%d4];\n"
			    "st.param.b64 [n], %d2; call.uni free, (n); setp.ne.u32 %p0, %r0, 0; @%p0 bra END; st.param.b64 [n], 4096; call.uni (r), malloc, (n);\n"
			    "ld.param.b64 %d3, [r]; st.global.u64 [%d0+64], %d3; st.param.b64 [n], %d3; call.uni free, (n); st.param.b64 [n], 0; call.uni free, (n);\nEND:"),
		    h, o, &f))
		fail_msg("%s", f.text);
	assert_int_not_equal(o[8], 0);
	assert_int_equal(
		run_heap(KERNEL("", "ld.global.u64 %d2, [%d0]; ld.u8 %h1, [%d2];"), h, o, &f),
		PTX_ILLEGAL_ADDRESS);
	assert_int_equal(
		run_heap(
			KERNEL(HEAP_DECLS,
				".param .b64 n; ld.global.u64 %d2, [%d0]; st.param.b64 [n], %d2; call.uni free, (n);"),
			h, o, &f),
		PTX_ILLEGAL_ADDRESS);
	assert_non_null(strstr(f.text, "free()"));
	mem_free_owner(77);
	ptx_heap_delete(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_inside_a_warp),
		cmocka_unit_test(locks_in_any_order),
		cmocka_unit_test(a_flag_of_another_lane),
		cmocka_unit_test(lock_in_a_function),
		cmocka_unit_test(behind_the_tired_some_wait_and_some_can_go),
		cmocka_unit_test(a_shuffle_that_two_paths_come_to),
		cmocka_unit_test(lanes_that_never_come),
		cmocka_unit_test(warp_barrier_and_an_exit),
		cmocka_unit_test(elections),
		cmocka_unit_test(the_barrier_waits_for_the_last_thread),
		cmocka_unit_test(shared_memory_of_others),
		cmocka_unit_test(observed_clusters),
		cmocka_unit_test(copies_to_other_blocks),
		cmocka_unit_test(wrong_clusters),
		cmocka_unit_test(heap),
	};

	setenv("TSDB_SOFT_TIMEOUT", "20", 1);
	return cmocka_run_group_tests_name("softgpu ptx paths", tests, NULL, NULL);
}
