/* SPDX-License-Identifier: Apache-2.0
 *
 * Access sets, exact to the byte, and schedules by seed: what must change with the seed changes,
 * and comes again with it; what must not, does not.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-access.h"

/* %r0 is the thread's index in its block, %r31 in the grid, %d0 the parameter. */
#define KERNEL(body)                                                                                     \
	PTX_HEAD                                                                                         \
	".visible .entry k(.param .u64 out) {\n"                                                         \
	".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<8>;\n"     \
	".shared .align 16 .b32 s[256];\n"                                                               \
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r30, %ctaid.x; mov.u32 %r29, %ntid.x;\n" \
	"mad.lo.u32 %r31, %r30, %r29, %r0; mul.wide.u32 %d1, %r31, 4; add.u64 %d1, %d0, %d1;\n" body     \
	"\nret; }\n"

static void launch(const char *text, unsigned grid, unsigned block, void *out,
	const struct ptx_observer *o, int64_t seed)
{
	struct ptx_module *m = load(text);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {grid, 1, 1},
		.block = {block, 1, 1},
		.params = &out,
		.observer = o,
		.early = true,
		.schedule = {.random = seed >= 0, .seed = (uint64_t)seed}};
	struct ptx_fault f;

	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	ptx_free(m);
}

/* --- access sets --- */
static void expect(struct ptx_accesses *a, unsigned kind, size_t max, bool inexact, uint64_t base,
	unsigned n, const uint64_t (*want)[2])
{
	struct access_span *s;
	size_t got;
	bool more;

	assert_true(ptx_accesses_spans(a, kind, max, &s, &got, &more));
	assert_int_equal(got, n);
	assert_int_equal(more, inexact);
	for (unsigned k = 0; k < n; k++) {
		assert_int_equal(s[k].addr, base + want[k][0]);
		assert_int_equal(s[k].size, want[k][1]);
	}
	free(s);
}

static void sets(void **state)
{
	struct ptx_accesses *a = ptx_accesses_new(0);
	uint64_t base = 0x70000000fff0; /* near the end of a region */

	ptx_accesses_add(a, PTX_READ, base, 40);
	ptx_accesses_add(a, PTX_READ, base + 100, 1);
	ptx_accesses_add(a, PTX_READ, base + 101, 3);
	ptx_accesses_add(a, PTX_READ, base + 40, 2);
	ptx_accesses_add(a, PTX_READ, base + 200000, 70000);
	expect(a, PTX_READ, 100, false, base, 3,
		(const uint64_t[][2]){{0, 42}, {100, 4}, {200000, 70000}});
	expect(a, PTX_WRITE, 100, false, base, 0, NULL);
	expect(a, PTX_READ, 2, true, base, 2, (const uint64_t[][2]){{0, 104}, {200000, 70000}});
	expect(a, PTX_READ, 1, true, base, 1, (const uint64_t[][2]){{0, 270000}});
	ptx_accesses_clear(a);
	/* equal gaps: the first ones are closed */
	for (unsigned k = 0; k < 100; k++)
		ptx_accesses_add(a, PTX_WRITE, base + 8 * k, 4);
	expect(a, PTX_WRITE, 3, true, base, 3, (const uint64_t[][2]){{0, 780}, {784, 4}, {792, 4}});
	ptx_accesses_free(a);
}

static void limit_of_a_set(void **state)
{
	struct ptx_accesses *a = ptx_accesses_new(8192); /* the bits of one region */

	ptx_accesses_add(a, PTX_WRITE, 0x10000, 4);
	ptx_accesses_add(a, PTX_WRITE, 0x30004, 4);
	expect(a, PTX_WRITE, 100, true, 0, 2,
		(const uint64_t[][2]){{0x10000, 4}, {0x30000, 0x10000}});
	ptx_accesses_free(a);
}

static void set_of_a_launch(void **state)
{
	struct ptx_accesses *a = ptx_accesses_new(0);
	struct ptx_observer o = ptx_accesses_observer(a);
	uint64_t out = (uint64_t)(uintptr_t)device(65536);

	/* 70 threads read 4 bytes each from 0, write a byte of every 16 from 1024 on, count at
	 * 8000; shared memory does not count */
	launch(KERNEL("setp.gt.u32 %p0, %r31, 69; @%p0 ret; ld.global.u32 %r1, [%d1]; mul.wide.u32 %d2, %r31, 16; add.u64 %d2, %d0, %d2;\n"
		      "st.global.u8 [%d2+1024], %r1; atom.global.add.u32 %r2, [%d0+8000], 1; st.shared.u32 [s], %r1;\n"
		      "st.global.u8 [%d0+9000], 0;"),
		2, 64, (void *)(uintptr_t)out, &o, -1);
	expect(a, PTX_READ, 100, false, out, 1, (const uint64_t[][2]){{0, 280}});
	expect(a, PTX_ATOMIC, 100, false, out, 1, (const uint64_t[][2]){{8000, 4}});
	uint64_t want[71][2];
	for (unsigned k = 0; k < 70; k++) {
		want[k][0] = 1024 + 16 * k;
		want[k][1] = 1;
	}
	want[70][0] = 9000; /* written with what was there */
	want[70][1] = 1;
	expect(a, PTX_WRITE, 100, false, out, 71, (const uint64_t(*)[2])want);
	expect(a, PTX_WRITE, 2, true, out, 2,
		(const uint64_t[][2]){{1024, 69 * 16 + 1}, {9000, 1}});
	ptx_accesses_free(a);
}

/* --- programmatic dependent launches --- */
#define FLAGS(w, t, tw)                                                                            \
	(struct ptx_depends)                                                                       \
	{                                                                                          \
		.waits = (w), .triggers = (t), .trigger_waits = (tw)                               \
	}

/* What n bytes at out a launch reads without having waited, and what it does about the launches in
 * front and behind. Code for sm_90, unless want says old. */
static void depends(const char *of, unsigned n, struct ptx_depends want)
{
	static const char old[] = ".target sm_75", now[] = ".target sm_90";
	char *text = strdup(of), *at = strstr(text, old);
	struct ptx_accesses *a = ptx_accesses_new(0);
	struct ptx_observer o = ptx_accesses_observer(a);
	uint64_t out = (uint64_t)(uintptr_t)device(65536);

	assert_non_null(at);
	memcpy(at, want.old ? old : now, sizeof(now) - 1);
	launch(text, 2, 64, (void *)(uintptr_t)out, &o, -1);
	const struct ptx_depends *got = ptx_accesses_depends(a);
	assert_int_equal(got->waits, want.waits);
	assert_int_equal(got->triggers, want.triggers);
	assert_int_equal(got->trigger_waits, want.trigger_waits);
	assert_int_equal(got->old, want.old);
	expect(a, PTX_READ, 100, false, out, 1, (const uint64_t[][2]){{0, 512}});
	expect(a, PTX_ACCESS_KINDS + PTX_READ, 100, false, out, n != 0,
		(const uint64_t[][2]){{0, n}});
	ptx_accesses_free(a);
	free(text);
}

#define LOAD "ld.global.u32 %r1, [%d1];\n"
#define WAIT "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define FIRST_THREAD "setp.eq.u32 %p0, %r0, 0;\n"

static void who_has_waited(void **state)
{
	depends(KERNEL(LOAD), 512, FLAGS(false, false, false));
	depends(KERNEL(LOAD WAIT), 512, FLAGS(true, false, true));
	depends(KERNEL(WAIT LOAD), 0, FLAGS(true, false, true));
	/* of 2 x 64 threads the first 64, and one; a barrier puts all behind that one */
	depends(KERNEL("setp.eq.u32 %p0, %r30, 1; @%p0 " WAIT LOAD), 256, FLAGS(true, false, true));
	depends(KERNEL(FIRST_THREAD "@%p0 " WAIT "bar.sync 0;\n" LOAD), 0,
		FLAGS(true, false, true));
	depends(KERNEL("and.b32 %r2, %r0, 31; setp.eq.u32 %p0, %r2, 0; @%p0 " WAIT
		       "bar.warp.sync 0xffffffff;\n" LOAD),
		0, FLAGS(true, false, true));
	depends(KERNEL(WAIT TRIGGER LOAD), 0, FLAGS(true, true, true));
	depends(KERNEL(TRIGGER WAIT LOAD), 0, FLAGS(true, true, false));
	depends(KERNEL(LOAD TRIGGER), 512, FLAGS(false, true, false));
}

/* Block 0 reads, waits and sets a flag; block 1 looks at the flag and reads. n bytes are read by
 * threads that are behind no wait. */
#define FLAG(set, look, n)                                                                         \
	depends(KERNEL("setp.ne.u32 %p0, %r30, 0; @%p0 bra OTHER;\n" LOAD WAIT set                 \
		       " bra END;\nOTHER: " look LOAD "END:"),                                     \
		n, FLAGS(true, false, true))

static void flags(void **state)
{
	FLAG("red.release.gpu.global.add.u32 [%d0+60000], 1;",
		"atom.acquire.gpu.global.add.u32 %r2, [%d0+60000], 0;", 256);
	FLAG("fence.acq_rel.gpu; st.volatile.global.u32 [%d0+60000], %r0;",
		"atom.global.add.u32 %r2, [%d0+60000], 0; fence.acq_rel.gpu;", 256);
	FLAG("red.global.add.u32 [%d0+60000], 1;",
		"atom.acquire.gpu.global.add.u32 %r2, [%d0+60000], 0;", 512);
	FLAG("red.release.gpu.global.add.u32 [%d0+60000], 1;",
		"atom.global.add.u32 %r2, [%d0+60000], 0;", 512);
	FLAG("red.release.gpu.global.add.u32 [%d0+60000], 1;",
		"atom.acquire.gpu.global.add.u32 %r2, [%d0+60004], 0;", 512);
	FLAG("st.global.u32 [%d0+60000], %r0; fence.acq_rel.gpu;",
		"atom.acquire.gpu.global.add.u32 %r2, [%d0+60000], 0;", 512);
}

/* Code for a GPU that has no griddepcontrol says nothing about what its source does on one that has
 * it. */
static void old_code(void **state)
{
	depends(KERNEL(LOAD), 512, (struct ptx_depends){.old = true});
}

/* --- schedules --- */
/* Sums values of very different size by float atomics: the result depends on the order. */
#define SUM                                                                                                                                        \
	KERNEL("cvt.rn.f32.u32 %f1, %r31; mul.f32 %f2, %f1, 0f3F9E0652; ex2.approx.f32 %f3, %f1; rem.u32 %r1, %r31, 7; setp.eq.u32 %p0, %r1, 0;\n" \
	       "selp.f32 %f4, 0f4B800000, %f2, %p0; red.global.add.f32 [%d0], %f4;")

static uint32_t sum(int64_t seed)
{
	uint32_t *out = device(4096);

	launch(SUM, 8, 64, out, NULL, seed);
	return out[0];
}

static unsigned different(uint32_t (*f)(int64_t), unsigned n)
{
	uint32_t seen[64];
	unsigned kinds = 0;

	for (unsigned k = 0; k < n; k++) {
		unsigned at = 0;
		seen[kinds] = f(k);
		while (seen[at] != seen[kinds])
			at++;
		kinds += at == kinds;
	}
	return kinds;
}

static void float_atomics(void **state)
{
	assert_int_equal(sum(-1), sum(-1));
	assert_int_equal(sum(7), sum(7));
	assert_true(different(sum, 20) >= 4);
}

/* One warp: only the order of its lanes can matter. */
static uint32_t last_lane(int64_t seed)
{
	uint32_t *out = device(4096);

	launch(KERNEL("atom.global.exch.b32 %r1, [%d0], %r0; st.global.u32 [%d0+4], %r0;"), 1, 32,
		out, NULL, seed);
	return out[0] * 100 + out[1];
}

static void lanes(void **state)
{
	assert_int_equal(last_lane(-1), 3131);
	assert_int_equal(last_lane(5), last_lane(5));
	assert_true(different(last_lane, 20) >= 10);
}

/* A missing barrier: thread t reads what its neighbour in the next warp writes. */
static uint32_t missing_barrier(int64_t seed)
{
	uint32_t *out = device(4096), h = 0;

	launch(KERNEL("mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0; add.u32 %r4, %r0, 32; and.b32 %r4, %r4, 127;\n"
		      "shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5;"),
		1, 128, out, NULL, seed);
	for (unsigned k = 0; k < 128; k++)
		h = h * 31 + out[k];
	return h;
}

/* The same with the barrier, and an order of blocks that must not matter. */
static uint32_t with_barrier(int64_t seed)
{
	uint32_t *out = device(65536), h = 0;

	launch(KERNEL("mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r31; bar.sync 0; add.u32 %r4, %r0, 32; and.b32 %r4, %r4, 127;\n"
		      "shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5; atom.global.add.u32 %r6, [%d0+60000], %r5;"),
		100, 128, out, NULL, seed);
	for (unsigned k = 0; k < 12800; k++)
		h = h * 31 + out[k];
	return h + out[15000];
}

static void barriers(void **state)
{
	assert_int_equal(missing_barrier(3), missing_barrier(3));
	assert_true(different(missing_barrier, 20) >= 4);
	assert_int_equal(different(with_barrier, 12), 1);
	assert_int_equal(with_barrier(-1), with_barrier(3));
}

/* Who comes first of 40 blocks: the fixed order says 0. */
static uint32_t first_block(int64_t seed)
{
	uint32_t *out = device(4096);

	launch(KERNEL("add.u32 %r1, %r30, 1; atom.global.cas.b32 %r2, [%d0], 0, %r1;"), 40, 32, out,
		NULL, seed);
	return out[0];
}

static void blocks(void **state)
{
	assert_int_equal(first_block(-1), 1);
	assert_true(different(first_block, 20) >= 5);
}

/* Each block waits for the one before it: in order they end one after the other; a random order
 * must let the earlier ones in. */
static void blocks_that_wait(void **state)
{
	for (unsigned seed = 0; seed < 3; seed++) {
		uint32_t *out = device(4096);

		launch(KERNEL("setp.ne.u32 %p0, %r0, 0; @%p0 bra END; W: ld.volatile.global.u32 %r1, [%d0]; setp.ne.u32 %p1, %r1, %r30; @%p1 bra W;\n"
			      "add.u32 %r1, %r1, 1; st.volatile.global.u32 [%d0], %r1; END:"),
			60, 32, out, NULL, seed);
		assert_int_equal(out[0], 60);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),
		cmocka_unit_test(limit_of_a_set),
		cmocka_unit_test(set_of_a_launch),
		cmocka_unit_test(who_has_waited),
		cmocka_unit_test(flags),
		cmocka_unit_test(old_code),
		cmocka_unit_test(float_atomics),
		cmocka_unit_test(lanes),
		cmocka_unit_test(barriers),
		cmocka_unit_test(blocks),
		cmocka_unit_test(blocks_that_wait),
	};

	setenv("TSDB_SOFT_WORKERS", "4", 1);
	setenv("TSDB_SOFT_TIMEOUT", "60", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
