/* SPDX-License-Identifier: Apache-2.0
 *
 * The look into the software GPU: which warps are proven to loop, what they read, and where streams
 * are. Each kernel ends when the flag is set, or never would; those that only look like a loop for
 * ever must not be taken for one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "softgpu/driver/soft.h"
#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

/* All take the flag's address, and end once it is not 0. spin: reads it. counts: counts in a
 * register, too. adds: counts in memory; what it reads back goes nowhere. asks_clock: compares the
 * clock. toggles: writes 1 and 0 to the word behind. same: writes what is there. waits: thread 0
 * spins, the others wait at a barrier. tries: atom.cas of the word behind, which is 1. */
#define HEAD(name)                                                                                 \
	".visible .entry " name                                                                    \
	"(.param .u64 flag)\n{\n.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;\n"             \
	"ld.param.u64 %d0, [flag]; cvta.to.global.u64 %d0, %d0; mov.u32 %r7, 0;\nagain: "
#define TAIL "ld.volatile.global.u32 %r1, [%d0]; setp.eq.s32 %p1, %r1, 0; @%p1 bra again; ret;\n}\n"
static const char ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n" HEAD("spin") TAIL HEAD(
	"counts") "add.u32 %r7, %r7, 1;\n" TAIL
	HEAD("adds") "atom.global.add.u32 %r2, [%d0+4], 1; mov.u32 %r2, 0;\n" TAIL HEAD(
		"asks_clock") "mov.u64 %d1, %clock64; setp.gt.u64 %p2, %d1, 0xffffffffffff; @%p2 bra end;\n"
			      "ld.volatile.global.u32 %r1, [%d0]; setp.eq.s32 %p1, %r1, 0; @%p1 bra again;\nend: ret;\n}\n" HEAD(
				      "toggles") "mov.u32 %r2, 1; st.volatile.global.u32 [%d0+4], %r2; mov.u32 %r2, 0; st.volatile.global.u32 [%d0+4], %r2;\n" TAIL
				      HEAD("same") "st.volatile.global.u32 [%d0+8], %r7;\n" TAIL HEAD(
					      "tries") "atom.global.cas.b32 %r2, [%d0+12], 0, 1;\n" TAIL
						       ".visible .entry waits(.param .u64 flag)\n{\n.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;\n"
						       "ld.param.u64 %d0, [flag]; cvta.to.global.u64 %d0, %d0; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra meet;\n"
						       "again: ld.volatile.global.u32 %r1, [%d0]; setp.eq.s32 %p1, %r1, 0; @%p1 bra again;\n"
						       "meet: bar.sync 0; ret;\n}\n";

static CUmodule module;
static CUstream stream, other;
static CUdeviceptr flag;
static struct soft_look look;

static int start(void **state)
{
	CUcontext c;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuCtxSetCurrent(c));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&flag, 16));
	(void)state;
	return 0;
}

static void set(unsigned word, uint32_t v)
{
	__atomic_store_n((uint32_t *)(uintptr_t)flag + word, v, __ATOMIC_SEQ_CST);
}

static void launch(CUstream s, const char *name, unsigned blocks, unsigned threads)
{
	void *args[] = {&flag};
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, args, NULL));
}

#define LOOKS 1000u /* of 60 ms: on a busy machine it takes its time */

static void nap(void)
{
	nanosleep(&(struct timespec){0, 60000000}, NULL);
}

/* Launches it, looks when it has run for a while, ends it. */
static const struct soft_look_kernel *see(const char *name, unsigned blocks, unsigned threads)
{
	for (unsigned w = 0; w < 4; w++)
		set(w, w == 3);
	look = (struct soft_look){0};
	launch(stream, name, blocks, threads);
	for (unsigned i = 0; i < LOOKS && !(look.known && look.nkernels); i++) {
		nap();
		tsdb_soft_look(&look, 20);
	}
	nap();
	tsdb_soft_look(&look, 5000);
	set(0, 1);
	OK(cuStreamSynchronize(stream));
	assert_int_equal(look.known, 1);
	assert_int_equal(look.nkernels, 1);
	assert_string_equal(look.kernel[0].name, name);
	assert_int_equal(look.kernel[0].blocks, blocks);
	return &look.kernel[0];
}

static void a_loop(void **state)
{
	const struct soft_look_kernel *k = see("spin", 1, 64);

	assert_int_equal(k->whole, 1);
	assert_int_equal(k->resident, 1);
	assert_int_equal(k->looping, 2);
	assert_int_equal(k->waiting + k->moving, 0);
	assert_int_equal(k->nreads, 1);
	assert_int_equal(k->read[0].addr, flag);
	assert_int_equal(k->read[0].bytes, 4);
	assert_int_equal(k->read[0].value, 0);
	assert_int_equal(k->read[0].lanes, 64);
	assert_int_equal(k->nplaces, 1);
	assert_int_equal(k->place[0].lanes, 64);
	(void)state;
}

static void what_goes_on(void **state)
{
	static const char *const names[] = {"counts", "adds", "asks_clock", "toggles"};

	for (unsigned i = 0; i < 4; i++) {
		const struct soft_look_kernel *k = see(names[i], 1, 32);

		assert_int_equal(k->looping, 0);
		assert_int_equal(k->moving, 1);
		assert_int_equal(k->unknown, 0);
		assert_in_range(k->steps, 5, 300000); /* that it was followed for: a turn of the
							 loop at least */
	}
	(void)state;
}

/* Writes that change nothing are no progress. */
static void writes_of_the_same(void **state)
{
	const struct soft_look_kernel *k = see("same", 1, 32);

	assert_int_equal(k->looping, 1);
	assert_int_equal(k->nreads, 1);
	k = see("tries", 1, 32);
	assert_int_equal(k->looping, 1);
	assert_int_equal(k->nreads, 2); /* the word that it tries to change, and the flag */
	assert_int_equal(k->read[0].addr, flag + 12);
	assert_int_equal(k->read[0].value, 1);
	(void)state;
}

static void at_a_barrier(void **state)
{
	const struct soft_look_kernel *k = see("waits", 1, 96);
	uint32_t lanes = 0;

	assert_int_equal(k->looping, 1);
	assert_int_equal(k->waiting, 2);
	assert_int_equal(k->moving, 0);
	assert_int_equal(k->whole, 1);
	for (unsigned i = 0; i < k->nplaces; i++)
		lanes += k->place[i].lanes;
	assert_int_equal(lanes, 96);
	assert_int_equal(k->read[0].lanes, 1);
	(void)state;
}

/* More blocks than workers: those that run are looked at, the others have not begun. */
static void many_blocks(void **state)
{
	const struct soft_look_kernel *k = see("spin", 1000, 512);

	assert_int_equal(k->whole, 1);
	assert_in_range(k->resident, 1, 256);
	assert_int_equal(k->begun, k->resident);
	assert_int_equal(k->looping, 16 * k->resident);
	(void)state;
}

static const struct soft_look_stream *stream_of(CUstream s)
{
	for (unsigned i = 0; i < look.nstreams; i++)
		if (look.stream[i].handle == (uint64_t)(uintptr_t)s)
			return &look.stream[i];
	fail();
	return NULL;
}

/* Looks until the stream is at a command of that kind. */
static const struct soft_look_stream *look_for(CUstream s, uint32_t kind)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		nap();
		tsdb_soft_look(&look, 20);
		if (stream_of(s)->corr && stream_of(s)->kind == kind)
			break;
	}
	assert_int_equal(stream_of(s)->kind, kind);
	return stream_of(s);
}

static void CUDA_CB host_waits(void *arg)
{
	while (!__atomic_load_n((uint32_t *)(uintptr_t)flag, __ATOMIC_SEQ_CST))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	(void)arg;
}

static void streams(void **state)
{
	const struct soft_look_stream *s;
	CUevent e;

	for (unsigned w = 0; w < 4; w++)
		set(w, 0);
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamWaitValue32(stream, flag, 7, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuEventRecord(e, stream));
	OK(cuStreamWaitEvent(other, e, 0));
	launch(other, "spin", 1, 1);
	s = look_for(stream, SOFT_LOOK_VALUE);
	assert_int_equal(s->addr, flag);
	assert_int_equal(s->value, 7);
	assert_int_equal(s->bytes, 4);
	assert_int_equal(s->waits, 0);
	assert_int_equal(s->submitted - s->done, 2);
	assert_true(stream_of(other)->waits);
	assert_int_equal(stream_of(other)->behind, (uint64_t)(uintptr_t)stream);
	set(0, 7);
	OK(cuCtxSynchronize());
	tsdb_soft_look(&look, 20);
	assert_int_equal(look.nkernels, 0);
	assert_int_equal(stream_of(stream)->corr, 0);
	assert_int_equal(stream_of(stream)->done, stream_of(stream)->submitted);
	set(0, 0);
	OK(cuLaunchHostFunc(stream, host_waits, NULL));
	assert_int_not_equal(look_for(stream, SOFT_LOOK_HOST)->os_tid, 0);
	set(0, 1);
	OK(cuCtxSynchronize());
	OK(cuEventDestroy(e));
	(void)state;
}

/* A look changes nothing: the kernel computes what it would have. */
static void results_stay(void **state)
{
	uint32_t *w = (uint32_t *)(uintptr_t)flag;

	for (unsigned k = 0; k < 4; k++)
		set(k, 0);
	launch(stream, "adds", 1, 32);
	for (unsigned k = 0; k < 5; k++)
		tsdb_soft_look(&look, 20);
	set(0, 1);
	OK(cuStreamSynchronize(stream));
	assert_int_equal(w[1] % 32, 0);
	assert_int_not_equal(w[1], 0);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop),
		cmocka_unit_test(what_goes_on),
		cmocka_unit_test(writes_of_the_same),
		cmocka_unit_test(at_a_barrier),
		cmocka_unit_test(many_blocks),
		cmocka_unit_test(streams),
		cmocka_unit_test(results_stay),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, NULL);
}
