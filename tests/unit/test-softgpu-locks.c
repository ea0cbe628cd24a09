/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's calls about events, graphs and memory take each mutex before they release it, and
 * hold none when they return (locks-held.h counts).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>

#include "locks-held.h"

static void balanced(void)
{
	assert_int_equal(locks_mine.n, 0);
}

/* The call succeeds, and leaves every mutex as it was. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		assert_int_equal(call, CUDA_SUCCESS);                                              \
		balanced();                                                                        \
	} while (0)

/* The same, of a call that changes or reads what other threads may change: it takes one, too. */
#define LOCKS(call)                                                                                \
	do {                                                                                       \
		const unsigned before_ = locks_mine.taken;                                         \
                                                                                                   \
		OK(call);                                                                          \
		assert_true(locks_mine.taken > before_);                                           \
	} while (0)

static CUcontext primary;

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static void test_events(void **state)
{
	CUevent a, b;
	CUstream s, t;
	float ms;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	LOCKS(cuEventRecord(a, s));
	LOCKS(cuStreamWaitEvent(t, a, 0));
	LOCKS(cuStreamWaitEvent(s, a, 0)); /* in its own stream: nothing to wait for */
	LOCKS(cuEventRecord(b, t));
	LOCKS(cuEventSynchronize(b));
	LOCKS(cuEventQuery(b));
	LOCKS(cuEventElapsedTime(&ms, a, b));
	LOCKS(cuEventDestroy(a));
	LOCKS(cuEventDestroy(b));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

static void test_captured_events(void **state)
{
	CUevent fork, join, outside;
	CUstream s, t;
	CUgraph g;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, 0));
	OK(cuEventCreate(&join, 0));
	OK(cuEventCreate(&outside, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	LOCKS(cuEventRecord(fork, s));
	LOCKS(cuStreamWaitEvent(t, fork, 0));
	LOCKS(cuEventRecord(join, t));
	LOCKS(cuStreamWaitEvent(s, join, 0));
	LOCKS(cuEventRecordWithFlags(outside, s, CU_EVENT_RECORD_EXTERNAL));
	LOCKS(cuStreamWaitEvent(s, outside, CU_EVENT_WAIT_EXTERNAL));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphDestroy(g));
	LOCKS(cuEventDestroy(fork));
	LOCKS(cuEventDestroy(join));
	LOCKS(cuEventDestroy(outside));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

static void test_graphs(void **state)
{
	CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 1, .height = 1};
	CUgraphExecUpdateResultInfo info;
	CUgraphNode a, b, c;
	CUgraph g, clone;
	CUgraphExec e;
	CUdeviceptr m;

	OK(cuMemAlloc(&m, 16));
	fill.dst = m;
	LOCKS(cuGraphCreate(&g, 0));
	LOCKS(cuGraphAddMemsetNode(&a, g, NULL, 0, &fill, primary));
	LOCKS(cuGraphAddEmptyNode(&b, g, &a, 1));
	LOCKS(cuGraphMemsetNodeSetParams(a, &fill));
	LOCKS(cuGraphAddDependencies(g, NULL, NULL, NULL, 0));
	LOCKS(cuGraphRemoveDependencies(g, &a, &b, NULL, 1));
	LOCKS(cuGraphAddDependencies(g, &a, &b, NULL, 1));
	LOCKS(cuGraphClone(&clone, g));
	LOCKS(cuGraphAddChildGraphNode(&c, g, &b, 1, clone));
	LOCKS(cuGraphInstantiate(&e, g, 0));
	LOCKS(cuGraphExecUpdate(e, g, &info));
	LOCKS(cuGraphExecChildGraphNodeSetParams(e, c, clone));
	OK(cuGraphExecMemsetNodeSetParams(e, a, &fill, primary));
	LOCKS(cuGraphLaunch(e, NULL));
	LOCKS(cuCtxSynchronize());
	OK(cuGraphExecDestroy(e));
	LOCKS(cuGraphDestroyNode(b));
	LOCKS(cuGraphDestroy(clone));
	LOCKS(cuGraphDestroy(g));
	OK(cuMemFree(m));
}

static void test_memory(void **state)
{
	CUmem_range_attribute which = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
	CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
	CUmemoryPool pool;
	CUdeviceptr m;
	int v;

	LOCKS(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
	LOCKS(cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	LOCKS(cuMemRangeGetAttribute(&v, 4, which, m, 4096));
	LOCKS(cuMemFree(m));
	LOCKS(cuDeviceGetDefaultMemPool(&pool, 0));
	LOCKS(cuDeviceGetMemPool(&pool, 0));
	LOCKS(cuDeviceSetMemPool(0, pool));
	LOCKS(cuMemAllocAsync(&m, 64, NULL));
	LOCKS(cuMemFreeAsync(m, NULL));
	LOCKS(cuStreamSynchronize(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_captured_events),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("softgpu-locks", tests, start, stop);
}
