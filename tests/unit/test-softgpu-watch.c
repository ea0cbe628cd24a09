/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver reports of the work that it runs, through the table of replayer/soft-watch.h: to
 * the byte for copies, fills, values and kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include "replayer/soft-debug.h"
#include "replayer/soft-watch.h"
#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

/* k: reads the word at p + 4 * tid, adds it to the one at q atomically, and writes p + 256 + 8 *
 * tid. race: each thread writes its number to p. */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<8>;\n"
	"ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; mov.u32 %r0, %tid.x;\n"
	"mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; ld.global.u32 %r1, [%d3];\n"
	"atom.global.add.u32 %r2, [%d1], %r1;\n"
	"mul.wide.u32 %d4, %r0, 8; add.s64 %d5, %d0, %d4; st.global.u32 [%d5+256], %r1;\nret;\n}\n"
	".visible .entry race(.param .u64 p)\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<8>;\n"
	"ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; st.global.u32 [%d0], %r0;\nret;\n}\n";

static const struct soft_watch *w;
static CUcontext primary;
static CUdeviceptr d; /* 4096 bytes */
static CUmodule module;
static CUfunction k, race;
static CUstream s;

static int start(void **state)
{
	const struct soft_watch *(*table)(void);

	(void)state;
	*(void **)&table = dlsym(RTLD_DEFAULT, SOFT_WATCH_SYMBOL);
	assert_non_null(table);
	w = table();
	assert_int_equal(w->version, SOFT_WATCH_VERSION);
	assert_int_equal(w->size, sizeof *w);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuMemAlloc(&d, 4096));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&k, module, "k"));
	OK(cuModuleGetFunction(&race, module, "race"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	OK(cuStreamDestroy(s));
	OK(cuModuleUnload(module));
	OK(cuMemFree(d));
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

/* n spans of size bytes each, from d + first on, a step apart. */
static void spans_are(const struct soft_access_set *set, enum soft_access how, uint64_t first,
	uint64_t step, size_t n, uint64_t size)
{
	assert_int_equal(set->n[how], n);
	assert_false(set->inexact >> how & 1);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(set->span[how][i].addr, d + first + i * step);
		assert_int_equal(set->span[how][i].size, size);
	}
}

static void nothing_else(const struct soft_access_set *set, unsigned hows)
{
	for (unsigned how = 0; how < SOFT_ACCESS_SETS; how++)
		if (!(hows >> how & 1))
			assert_int_equal(set->n[how], 0);
}

#define READ (1u << SOFT_ACCESS_READ)
#define WRITTEN (1u << SOFT_ACCESS_WRITTEN)
#define ATOMIC (1u << SOFT_ACCESS_ATOMIC)

static struct soft_access_set end(size_t max)
{
	struct soft_access_set set;

	OK(cuCtxSynchronize());
	assert_null(w->collected(max, &set));
	return set;
}

static void test_copies(void **state)
{
	const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d + 1024,
		.dstPitch = 32,
		.WidthInBytes = 16,
		.Height = 3};
	CUDA_MEMCPY3D slices = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d,
		.srcPitch = 32,
		.srcHeight = 4,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d + 2048,
		.dstPitch = 16,
		.dstHeight = 1,
		.WidthInBytes = 16,
		.Height = 1,
		.Depth = 2};
	unsigned char host[64] = {0};
	struct soft_access_set set;

	(void)state;
	w->collect();
	OK(cuMemcpy2D(&rows));
	set = end(100);
	spans_are(&set, SOFT_ACCESS_READ, 0, 64, 3, 16);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 1024, 32, 3, 16);
	nothing_else(&set, READ | WRITTEN);
	w->collect();
	OK(cuMemcpy3D(&slices));
	set = end(100);
	spans_are(&set, SOFT_ACCESS_READ, 0, 128, 2, 16);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 2048, 16, 1, 32); /* they touch */
	nothing_else(&set, READ | WRITTEN);
	w->collect();
	OK(cuMemcpyHtoD(d + 8, host, 64)); /* no kernel can reach the source */
	set = end(100);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 8, 0, 1, 64);
	nothing_else(&set, WRITTEN);
}

static void test_fills_and_values(void **state)
{
	struct soft_access_set set;

	(void)state;
	w->collect();
	OK(cuMemsetD2D32(d, 128, 7, 3, 2));
	OK(cuMemsetD8(d + 512, 1, 5));
	set = end(100);
	assert_int_equal(set.n[SOFT_ACCESS_WRITTEN], 3);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][1].addr, d + 128);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][1].size, 12);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][2].addr, d + 512);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][2].size, 5);
	nothing_else(&set, WRITTEN);
	w->collect();
	OK(cuStreamWriteValue32(s, d + 16, 3, 0));
	OK(cuStreamWaitValue32(s, d + 16, 3, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamWriteValue64(s, d + 64, 3, 0));
	set = end(100);
	assert_int_equal(set.n[SOFT_ACCESS_WRITTEN], 2);
	spans_are(&set, SOFT_ACCESS_READ, 16, 0, 1, 4);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][0].size, 4);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][1].addr, d + 64);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][1].size, 8);
}

static void run_k(unsigned threads)
{
	CUdeviceptr q = d + 2048;
	void *args[] = {&d, &q};

	OK(cuLaunchKernel(k, 1, 1, 1, threads, 1, 1, 0, s, args, NULL));
}

static void test_kernels(void **state)
{
	struct soft_access_set set;

	(void)state;
	w->collect();
	run_k(8);
	set = end(100);
	spans_are(&set, SOFT_ACCESS_READ, 0, 0, 1, 32);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 256, 8, 8, 4);
	spans_are(&set, SOFT_ACCESS_ATOMIC, 2048, 0, 1, 4);
	nothing_else(&set, READ | WRITTEN | ATOMIC);
	/* not more than it was asked for: those that it has hold all, and it says so */
	w->collect();
	run_k(8);
	set = end(3);
	assert_true(set.n[SOFT_ACCESS_WRITTEN] >= 1 && set.n[SOFT_ACCESS_WRITTEN] <= 3);
	assert_int_equal(set.inexact, WRITTEN);
	assert_int_equal(set.span[SOFT_ACCESS_WRITTEN][0].addr, d + 256);
	const struct soft_span *last =
		&set.span[SOFT_ACCESS_WRITTEN][set.n[SOFT_ACCESS_WRITTEN] - 1];
	assert_int_equal(last->addr + last->size, d + 256 + 7 * 8 + 4);
}

static void test_when_it_collects(void **state)
{
	struct soft_access_set set;

	(void)state;
	assert_non_null(w->collected(100, &set)); /* not begun */
	w->collect();
	set = end(100);
	nothing_else(&set, 0);
	assert_non_null(w->collected(100, &set)); /* it has ended */
	run_k(1);
	OK(cuCtxSynchronize());
	w->collect();
	OK(cuMemsetD8(d, 1, 1));
	OK(cuCtxSynchronize());
	w->collect(); /* a new set */
	OK(cuMemsetD8(d + 100, 1, 1));
	set = end(100);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 100, 0, 1, 1);
	nothing_else(&set, WRITTEN);
}

static void test_by_base(void **state)
{
	struct soft_addressing a;
	struct soft_access_set set;

	(void)state;
	w->addressing(k, &a);
	assert_true(a.known);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.source[1].offset, 8);
	assert_true(a.source[0].is_base && !a.source[0].shapes);
	assert_true(a.source[1].is_base && !a.source[1].shapes);
	w->collect();
	w->collect_by_base();
	run_k(2);
	set = end(100);
	nothing_else(&set, 0);
	assert_null(w->collected_by(0, 100, &set));
	spans_are(&set, SOFT_ACCESS_READ, 0, 0, 1, 8);
	spans_are(&set, SOFT_ACCESS_WRITTEN, 256, 8, 2, 4);
	nothing_else(&set, READ | WRITTEN);
	assert_null(w->collected_by(1, 100, &set));
	spans_are(&set, SOFT_ACCESS_ATOMIC, 2048, 0, 1, 4);
	nothing_else(&set, ATOMIC);
	assert_null(w->collected_by(SOFT_NO_BASE, 100, &set));
	nothing_else(&set, 0);
	assert_non_null(w->collected_by(SOFT_NO_BASE + 1, 100, &set));
	w->collect(); /* as a whole again */
	run_k(2);
	set = end(100);
	nothing_else(&set, READ | WRITTEN | ATOMIC);
	assert_int_equal(set.n[SOFT_ACCESS_WRITTEN], 2);
	w->addressing(NULL, &a);
	assert_false(a.known);
}

static void run_race(uint64_t number)
{
	void *args[] = {&d};

	w->label(number);
	OK(cuLaunchKernel(race, 1, 1, 1, 2, 1, 1, 0, s, args, NULL));
	OK(cuCtxSynchronize());
}

static void test_races(void **state)
{
	struct soft_race found[4];
	char why[80] = "?";
	size_t more = 9;

	(void)state;
	run_race(1); /* nobody looks */
	assert_int_equal(w->races(found, 4, &more), 0);
	assert_int_equal(more, 0);
	w->racecheck(1);
	run_race(2);
	run_race(3);
	w->racecheck(0);
	run_race(4);
	assert_int_equal(w->races(found, 1, &more), 1);
	assert_int_equal(more, 1);
	assert_int_equal(found[0].label, 2);
	assert_int_equal(found[0].addr, d);
	assert_int_equal(found[0].size, 4);
	assert_int_equal(found[0].shared, 0);
	assert_int_equal(found[0].tier, SOFT_RACE);
	assert_string_equal(found[0].kernel, "race");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(found[0].side[i].kind, SOFT_ACCESS_WRITTEN);
		assert_string_equal(found[0].side[i].insn, "st.global.u32");
		assert_string_equal(found[0].side[i].function, "race");
		assert_int_equal(found[0].side[i].source_line, 0);
	}
	assert_int_not_equal(found[0].side[0].thread[0], found[0].side[1].thread[0]);
	assert_int_equal(w->races(found, 4, NULL), 1);
	assert_int_equal(found[0].label, 3);
	assert_int_equal(w->races(found, 4, &more), 0);
	assert_int_equal(w->doubts(why, sizeof why), 0);
	assert_string_equal(why, "");
}

/* --- the order of blocks, and what shared memory holds --- */

static const char more[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	/* each block takes a ticket from p and puts it behind, at its own place */
	".visible .entry tickets(.param .u64 p)\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [p]; mov.u32 %r0, %ctaid.x; atom.global.add.u32 %r1, [%d0], 1;\n"
	"mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1+4], %r1;\nret;\n}\n"
	".visible .entry rest(.param .u64 p)\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<4>; .shared .align 4 .b8 s[64];\n"
	"ld.param.u64 %d0, [p]; ld.shared.u32 %r0, [s+60]; st.shared.u32 [s+60], 5;\n"
	"st.global.u32 [%d0], %r0;\nret;\n}\n"
	".visible .entry wide(.param .u64 p, .param .u32 n) .reqntid 4\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; st.global.u32 [%d0], %r0;\nret;\n}\n";
enum { BLOCKS = 200 };

static void tickets(CUfunction f, uint32_t ret[BLOCKS])
{
	bool seen[BLOCKS] = {false};
	void *args[] = {&d};

	OK(cuMemsetD32(d, 0, 1));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(f, BLOCKS, 1, 1, 1, 1, 1, 0, s, args, NULL));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(ret, d + 4, 4 * BLOCKS));
	for (unsigned b = 0; b < BLOCKS; b++) {
		assert_true(ret[b] < BLOCKS && !seen[ret[b]]);
		seen[ret[b]] = true;
	}
}

static void test_schedules(void **state)
{
	uint32_t fixed[BLOCKS], one[BLOCKS], again[BLOCKS], other[BLOCKS], word;
	void *args[] = {&d};
	CUfunction f, rest;
	CUmodule m;

	(void)state;
	OK(cuModuleLoadData(&m, more));
	OK(cuModuleGetFunction(&f, m, "tickets"));
	OK(cuModuleGetFunction(&rest, m, "rest"));
	w->schedule(SOFT_SCHEDULE_RANDOM, 1);
	tickets(f, one);
	tickets(f, again);
	assert_memory_equal(one, again, sizeof one);
	w->schedule(SOFT_SCHEDULE_RANDOM, 2);
	tickets(f, other);
	assert_memory_not_equal(one, other, sizeof one);
	w->schedule(SOFT_SCHEDULE_FIXED, 2);
	tickets(f, fixed);
	for (unsigned b = 0; b < BLOCKS; b++)
		assert_int_equal(fixed[b], b);
	for (unsigned i = 0; i < 3; i++) { /* a schedule leaves the residue alone */
		static const uint32_t bytes[] = {0xab, 1, 0};

		w->residue(bytes[i]);
		w->schedule(i ? SOFT_SCHEDULE_FIXED : SOFT_SCHEDULE_RANDOM, 3);
		OK(cuLaunchKernel(rest, 2, 1, 1, 1, 1, 1, 0, s, args, NULL));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH(&word, d, 4));
		assert_int_equal(word, 0x01010101u * bytes[i]);
	}
	w->schedule(SOFT_SCHEDULE_FIXED, 0);
	OK(cuModuleUnload(m));
}

/* --- the microscope's beginning (replayer/soft-debug.h) --- */

static const char *begin(const struct soft_debug *t, const struct soft_start *l)
{
	struct soft_session *session = NULL;
	struct soft_stop at;
	const char *why = t->start(l, &session, &at);

	if (why) {
		assert_null(session);
		return why;
	}
	assert_string_equal(at.kernel, "wide");
	if (!l->cooperative) { /* whose blocks run all at the same time */
		assert_int_equal(at.block[0], l->first_block % l->grid[0]);
		assert_int_equal(at.block[1], l->first_block / l->grid[0]);
	}
	const struct soft_go go = {.how = SOFT_FINISH};

	assert_null(t->go(session, &go, &at));
	assert_int_equal(at.state, SOFT_ENDED);
	t->end(session);
	return NULL;
}

static void test_the_microscope_begins(void **state)
{
	const struct soft_debug *(*table)(void), *t;
	struct {
		CUdeviceptr p;
		uint32_t n;
	} params = {d, 4711};
	const struct soft_start good = {.params = &params,
		.nparams = 12,
		.grid = {3, 2, 1},
		.block = {4, 1, 1},
		.first_block = 5};
	struct soft_start l;
	uint32_t word = 0;
	CUfunction f;
	CUmodule m;

	(void)state;
	*(void **)&table = dlsym(RTLD_DEFAULT, SOFT_DEBUG_SYMBOL);
	assert_non_null(table);
	t = table();
	assert_int_equal(t->version, SOFT_DEBUG_VERSION);
	assert_int_equal(t->size, sizeof *t);
	OK(cuModuleLoadData(&m, more));
	OK(cuModuleGetFunction(&f, m, "wide"));
	for (unsigned i = 0; i < 11; i++) {
		const char *why;

		l = good;
		l.function = f;
		if (i == 0)
			l.function = NULL;
		if (i == 1)
			l.function = &l;
		if (i == 2)
			l.grid[1] = 0;
		if (i == 3)
			l.block[0] = 5; /* not what .reqntid says */
		if (i == 4)
			l.shared = 1u << 30;
		if (i == 5)
			l.first_block = 6;
		if (i == 6)
			l.nparams = 11;
		if (i == 7)
			l.grid[0] = (1u << 27) + 1; /* times 2 */
		if (i == 8)
			l.cluster[0] = l.cluster[1] = l.cluster[2] =
				2; /* no such part of 3, 2, 1 */
		if (i == 9)
			l.cooperative = 1;
		if (i == 10)
			l.first_block = 0;
		why = begin(t, &l);
		if (i < 9 ? !why : why != NULL)
			fail_msg("row %u: %s", i, why ? why : "begins");
		if (i == 6)
			assert_string_equal(
				why, "kernel wide takes 12 bytes of parameters, 11 were given");
	}
	OK(cuMemcpyDtoH(&word, d, 4));
	assert_int_equal(word, 4711);
	OK(cuModuleUnload(m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_fills_and_values),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_when_it_collects),
		cmocka_unit_test(test_by_base),
		cmocka_unit_test(test_races),
		cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_the_microscope_begins),
	};

	return cmocka_run_group_tests_name("softgpu-watch", tests, start, stop);
}
