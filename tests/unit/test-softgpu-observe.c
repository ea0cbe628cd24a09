/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching a launch: every access with its lanes, addresses, kind and values, barriers, fences,
 * steps that make a warp give way.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-observe.h"

#define KERNEL(body)                                                                                       \
	PTX_HEAD                                                                                           \
	".visible .entry k(.param .u64 out) {\n"                                                           \
	".reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<10>;\n"                        \
	".shared .align 16 .b32 s[64];\n"                                                                  \
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d0, %d2;\n" \
	"mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;\n" body "\nret; }\n"

struct seen {
	char name[40];
	enum ptx_access_kind kind;
	enum ptx_space space;
	uint32_t mask;
	unsigned size, warp;
	uint64_t addr[PTX_LANES];
	bool has_value;
	uint8_t value[PTX_LANES][PTX_OBSERVE_BYTES];
};
static struct seen seen[1024];
static unsigned nseen, nsyncs, nsteps, nblocks[2], yields;
static struct ptx_sync syncs[256];
static uint8_t order[256];

static void on_access(void *arg, const struct ptx_access *a)
{
	struct seen *s = &seen[nseen++];

	assert_true(nseen < 1024);
	snprintf(s->name, sizeof(s->name), "%s", a->insn->name);
	s->kind = a->kind;
	s->space = a->space;
	s->mask = a->mask;
	s->size = a->size;
	s->warp = a->warp->id;
	memcpy(s->addr, a->addr, sizeof(s->addr));
	s->has_value = a->value != NULL;
	if (a->value)
		memcpy(s->value, a->value, sizeof(s->value));
}

static void on_sync(void *arg, const struct ptx_sync *s)
{
	order[nsyncs] = s->insn ? s->insn->order : 0;
	syncs[nsyncs++] = *s;
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	nsteps++;
	assert_ptr_equal(w->cur, &w->frames[w->nframes - 1].fn->insns[pc]);
	if (yields && w->id == 0) {
		yields--;
		return PTX_STEP_YIELD;
	}
	return PTX_STEP_ON;
}

static void on_start(void *arg, struct ptx_block *b)
{
	nblocks[0]++;
}

static void on_end(void *arg, struct ptx_block *b)
{
	nblocks[1]++;
}

static const struct ptx_observer second = {.access = NULL};
static const struct ptx_observer observer = {
	NULL, on_step, on_access, on_sync, on_start, on_end, &second};

static uint64_t watch(const char *text, unsigned grid, unsigned block)
{
	struct ptx_module *m = load(text);
	void *out = device(4096);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {grid, 1, 1},
		.block = {block, 1, 1},
		.params = &out,
		.observer = &observer};
	struct ptx_fault f;

	nseen = nsyncs = nsteps = nblocks[0] = nblocks[1] = 0;
	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	ptx_free(m);
	return (uint64_t)(uintptr_t)out;
}

static void loads_and_stores(void **state)
{
	uint64_t out = watch(
		KERNEL("st.global.u32 [%d1+128], %r0; ld.global.v2.u32 {%r3, %r4}, [%d0+8];\n"
		       "setp.lt.u32 %p0, %r0, 3; @%p0 st.shared.u8 [%r1+1], %r0; @!%p0 ld.shared.u16 %h1, [%r1];"),
		1, 32);

	assert_int_equal(nseen, 4); /* the parameter is not memory */
	assert_string_equal(seen[0].name, "st.global.u32");
	assert_int_equal(seen[0].kind, PTX_WRITE);
	assert_int_equal(seen[0].space, SP_GLOBAL);
	assert_int_equal(seen[0].mask, PTX_FULL);
	assert_int_equal(seen[0].size, 4);
	for (unsigned l = 0; l < 32; l++) {
		assert_int_equal(seen[0].addr[l], out + 128 + 4 * l);
		assert_int_equal(seen[0].value[l][0], l);
	}
	assert_int_equal(seen[1].kind, PTX_READ);
	assert_int_equal(seen[1].size, 8);
	assert_int_equal(seen[1].addr[5], out + 8);
	assert_int_equal(seen[2].space, SP_SHARED);
	assert_int_equal(seen[2].mask, 7);
	assert_int_equal(seen[2].size, 1);
	assert_int_equal(seen[2].addr[2], 9);
	assert_int_equal(seen[2].value[2][0], 2);
	assert_int_equal(seen[3].kind, PTX_READ);
	assert_int_equal(seen[3].mask, PTX_FULL & ~7u);
}

/* What instructions that move several elements tell, in all: bytes of each kind in each space, all
 * within the array or `out`. */
static void sums(void **state)
{
	static const struct {
		const char *insn;
		unsigned global_read, global_written, shared_read, shared_written;
	} rows[] = {
		{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r10];", 0, 0, 8 * 16, 0},
		{"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r3, %r4}, [%r10];", 0, 0,
			16 * 16, 0},
		{"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r10], {%r3, %r4};", 0, 0, 0, 16 * 16},
		{"cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.wait_all;", 32 * 4, 0, 0,
			32 * 4},
		{"cp.async.ca.shared.global [%r1], [%d1], 4, 2; cp.async.wait_all;", 32 * 2, 0, 0,
			32 * 4},
		{"ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d0];", 32 * 16, 0, 0, 0},
		{"st.global.v2.u64 [%d0], {%d1, %d2};", 0, 32 * 16, 0, 0},
		{"red.shared.add.u32 [%r1], 1;", 0, 0, 0, 32 * 4},
		{"prefetch.global.L2 [%d0];", 0, 0, 0, 0},
		{"ld.global.nc.v2.f64 {%g1, %g2}, [%d0];", 32 * 16, 0, 0, 0},
		{"ld.global.v2.b8 {%h1, %h2}, [%d0];", 32 * 2, 0, 0, 0},
		{"ld.global.b128 %q1, [%d0]; st.global.b128 [%d0+16], %q1;", 32 * 16, 32 * 16, 0,
			0},
		{"ldu.global.u64 %d5, [%d0];", 32 * 8, 0, 0, 0},
		{"atom.global.cas.b64 %d5, [%d0], %d1, %d2;", 0, 32 * 8, 0, 0},
		{"atom.global.exch.b128 %q1, [%d0], %q2;", 0, 32 * 16, 0, 0},
		{"atom.global.v2.f32.add {%f1, %f2}, [%d0], {%f1, %f2};", 0, 32 * 8, 0, 0},
		{"red.global.v4.f32.add [%d0], {%f1, %f2, %f1, %f2};", 0, 32 * 16, 0, 0},
		{"red.shared.add.noftz.f16 [s], %h1;", 0, 0, 0, 32 * 2},
		/* fragments: eight registers of each lane */
		{"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%d0], 16;",
			32 * 32, 0, 0, 0},
		{"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d0], {%f20, %f21, %f22, %f23, %f24, %f25, %f26, %f27}, 16;",
			0, 32 * 32, 0, 0},
		/* an mbarrier is 64 bits, whatever is done with it */
		{"mbarrier.init.shared.b64 [s], 32;", 0, 0, 0, 32 * 8},
		{"mbarrier.init.shared.b64 [s], 32; mbarrier.arrive.shared.b64 %d5, [s]; mbarrier.test_wait.shared.b64 %p0, [s], %d5; @!%p1 mbarrier.inval.shared.b64 [s];",
			0, 0, 0, 3 * 32 * 8 + 8},
		{"mbarrier.init.shared.b64 [s], 32; mbarrier.expect_tx.relaxed.cta.shared.b64 [s], 8; mbarrier.complete_tx.relaxed.cta.shared.b64 [s], 8;",
			0, 0, 0, 3 * 32 * 8},
		/* by one lane */
		{"@%p1 bra END; mbarrier.init.shared.b64 [s+248], 1; mbarrier.arrive.expect_tx.shared.b64 %d5, [s+248], 128; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d0], 128, [s+248]; mbarrier.test_wait.shared.b64 %p0, [s+248], %d5;",
			128, 0, 0, 128 + 3 * 8},
		{"@%p1 bra END; cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
			0, 64, 64, 0},
		{"@%p1 bra END; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [s], 48; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
			0, 48, 48, 0},
		{"@%p1 bra END; cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 64;", 0, 64,
			64, 0},
		{"@%p1 bra END; mov.u64 %d6, 64; st.bulk.shared::cta [s], %d6, 0;", 0, 0, 0, 64},
		{"@%p1 bra END; mov.u64 %d6, 0; st.bulk.shared::cta [s], %d6, 0;", 0, 0, 0, 0},
		{"@%p1 bra END; mbarrier.init.shared.b64 [s+248], 1; mbarrier.arrive.expect_tx.shared.b64 %d5, [s+248], 16; mov.u32 %r20, s; mov.u32 %r21, s+248; st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%r20], {%d1, %d2}, [%r21]; mbarrier.test_wait.shared.b64 %p0, [s+248], %d5;",
			0, 0, 0, 16 + 3 * 8},
		{"@%p1 bra END; cp.async.cg.shared.global [s], [%d0], 16; cp.async.ca.shared.global [s+16], [%d0], 8, 0; cp.async.wait_all;",
			16, 0, 0, 24},
		{"@%p1 bra END; cp.async.ca.shared.global [s], [%d0], 8; cp.async.commit_group; cp.async.wait_group 1;",
			0, 0, 0, 0},
		{"@%p1 bra END; cp.async.ca.shared.global [s], [%d0], 8; cp.async.commit_group; cp.async.ca.shared.global [s+8], [%d0], 4; cp.async.commit_group; cp.async.wait_group 1;",
			8, 0, 0, 8},
	};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		unsigned bytes[2][2] = {{0}}; /* shared; written */
		char text[4096];
		uint64_t out;

		snprintf(text, sizeof text, "%s",
			KERNEL(".reg .f32 %f<32>; .reg .f64 %g<4>; .reg .b128 %q<4>; setp.ne.u32 %p1, %r0, 0;\n"
			       "mov.u32 %r10, s; and.b32 %r11, %r0, 15; shl.b32 %r11, %r11, 4; add.u32 %r10, %r10, %r11;\n"));
		snprintf(strstr(text, "\nret;"), 2000, "%s\nEND: ret; }\n", rows[k].insn);
		out = watch(text, 1, 32);
		for (unsigned n = 0; n < nseen; n++)
			for (unsigned l = 0; l < 32; l++) {
				const struct seen *a = &seen[n];
				const bool shared = a->space == SP_SHARED;

				if (!(a->mask >> l & 1))
					continue;
				bytes[shared][a->kind != PTX_READ] += a->size;
				assert_true(shared ? a->addr[l] + a->size <= 256
						   : a->addr[l] >= out &&
							     a->addr[l] + a->size <= out + 4096);
			}
		if (bytes[0][0] != rows[k].global_read || bytes[0][1] != rows[k].global_written ||
			bytes[1][0] != rows[k].shared_read || bytes[1][1] != rows[k].shared_written)
			fail_msg("%s: %u %u %u %u", rows[k].insn, bytes[0][0], bytes[0][1],
				bytes[1][0], bytes[1][1]);
	}
}

static void wide_and_generic(void **state)
{
	/* even lanes write shared memory, odd ones global memory, by one instruction; 16 bytes a
	 * lane */
	uint64_t out = watch(
		KERNEL("and.b32 %r5, %r0, 1; setp.eq.u32 %p0, %r5, 0; shl.b32 %r6, %r0, 3; cvt.u64.u32 %d3, %r6;\n"
		       "mov.u64 %d4, s; cvta.shared.u64 %d4, %d4; selp.b64 %d5, %d4, %d0, %p0; add.u64 %d5, %d5, %d3;\n"
		       "and.b64 %d5, %d5, -16; setp.lt.u32 %p1, %r0, 24; mov.u64 %d6, 77; @%p1 st.v2.u64 [%d5], {%d3, %d6};"),
		1, 32);

	assert_int_equal(nseen, 2);
	assert_int_equal(seen[0].space, SP_GLOBAL);
	assert_int_equal(seen[0].mask, 0x00aaaaaa);
	assert_int_equal(seen[0].size, 16);
	assert_int_equal(seen[0].addr[3], out + 16);
	assert_int_equal(seen[0].value[3][0], 24);
	assert_int_equal(seen[0].value[3][8], 77);
	assert_int_equal(seen[1].space, SP_SHARED);
	assert_int_equal(seen[1].mask, 0x00555555);
	assert_int_equal(seen[1].addr[4], 32);
}

static void atomics_fences_orders(void **state)
{
	uint64_t out = watch(
		KERNEL("atom.global.add.u32 %r5, [%d0], 1; red.shared.max.u32 [%r1], %r0; membar.gl; fence.acq_rel.cta;\n"
		       "ld.acquire.sys.u32 %r6, [%d0]; st.volatile.shared.u32 [%r1], %r0; atom.release.gpu.global.exch.b32 %r7, [%d0+4], 1;"),
		1, 32);

	assert_int_equal(nseen, 5);
	assert_int_equal(seen[0].kind, PTX_ATOMIC);
	assert_int_equal(seen[0].addr[31], out);
	assert_int_equal(seen[1].kind, PTX_ATOMIC);
	assert_int_equal(seen[1].space, SP_SHARED);
	assert_int_equal(nsyncs, 2);
	assert_int_equal(syncs[0].kind, PTX_SYNC_FENCE);
	assert_int_equal(
		order[0], ORDER_FENCE | ORDER_STRONG | ORDER_ACQUIRE | ORDER_RELEASE | ORDER_GPU);
	assert_int_equal(
		order[1], ORDER_FENCE | ORDER_STRONG | ORDER_ACQUIRE | ORDER_RELEASE | ORDER_CTA);
}

static void barriers(void **state)
{
	watch(KERNEL("bar.sync 1; setp.lt.u32 %p0, %r0, 5; @%p0 bra A; bar.warp.sync -1; bra B; A: bar.warp.sync -1; B: mov.u32 %r3, 0;"),
		2, 40);

	/* for each block: two warps arrive, leave, the barrier is done; each warp meets */
	assert_int_equal(nblocks[0], 2);
	assert_int_equal(nblocks[1], 2);
	assert_int_equal(nsyncs, 2 * 7);
	for (unsigned b = 0; b < 14; b += 7) {
		assert_int_equal(syncs[b].kind, PTX_SYNC_ARRIVE);
		assert_int_equal(syncs[b].id, 1);
		assert_int_equal(syncs[b].mask, PTX_FULL);
		assert_int_equal(syncs[b + 1].kind, PTX_SYNC_ARRIVE);
		assert_int_equal(syncs[b + 1].mask, 0xff);
		assert_int_equal(syncs[b + 2].kind, PTX_SYNC_LEAVE);
		assert_int_equal(syncs[b + 3].kind, PTX_SYNC_LEAVE);
		assert_int_equal(syncs[b + 3].mask, 0xff);
		assert_int_equal(syncs[b + 4].kind, PTX_SYNC_RESET);
		assert_int_equal(syncs[b + 5].kind, PTX_SYNC_WARP);
		assert_int_equal(syncs[b + 5].mask, PTX_FULL);
		assert_int_equal(syncs[b + 6].mask, 0xff);
	}
}

static void giving_way(void **state)
{
	/* warp 0 gives way 1,000 times at its first instruction: warp 1 writes first */
	yields = 1000;
	watch(KERNEL("st.global.u32 [%d1], %r0;"), 1, 64);
	assert_int_equal(yields, 0);
	assert_int_equal(nseen, 2);
	assert_int_equal(seen[0].warp, 1);
	assert_int_equal(seen[1].warp, 0);
	assert_int_equal(nsteps, 1000 + 2 * 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_and_stores),
		cmocka_unit_test(sums),
		cmocka_unit_test(wide_and_generic),
		cmocka_unit_test(atomics_fences_orders),
		cmocka_unit_test(barriers),
		cmocka_unit_test(giving_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
