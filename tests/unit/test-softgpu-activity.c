/* SPDX-License-Identifier: Apache-2.0
 *
 * libcupti.so.13 of the software GPU: records of activity field by field, the buffers that they
 * come in, and what the calls that only ask and set refuse ("CUPTI documentation", Activity API).
 */
#include "softgpu-test.h"
#include "thread-signals.h"

#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CUPTI_OK(call) assert_int_equal(call, CUPTI_SUCCESS)
#define CUPTI_IS(call, code) assert_int_equal(call, CUPTI_ERROR_##code)

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry k(.param .u64 p) {\n.reg .b64 %d<2>;\n"
			  ".shared .align 4 .b8 s[48]; .local .align 4 .b8 l[64];\n"
			  "ld.param.u64 %d0, [p]; st.local.u64 [l], %d0; st.shared.u64 [s], %d0;\n"
			  "st.global.u64 [%d0], %d0;\nret;\n}\n";

/* --- buffers --- */

enum { SIZE = 4096, BUFFERS = 64 };
static uint64_t buffers[BUFFERS][SIZE / 8];
static size_t size = SIZE, max;
static bool none_left;
static unsigned given;
static _Atomic unsigned back;
static size_t valid[BUFFERS];
static CUpti_ActivityKernel10 kernels[64];
static CUpti_ActivityMemcpy6 copies[64];
static CUpti_ActivityMemset4 fills[64];
static CUpti_ActivityAPI apis[64];
static unsigned nkernels, ncopies, nfills, napis;

static void give(uint8_t **buffer, size_t *ret_size, size_t *ret_max)
{
	*buffer = none_left ? NULL : (uint8_t *)buffers[given++ % BUFFERS];
	*ret_size = none_left ? 0 : size;
	*ret_max = max;
}

static void take(CUcontext c, uint32_t stream, uint8_t *buffer, size_t n, size_t used)
{
	CUpti_Activity *r = NULL;

	assert_int_equal(n, size);
	assert_true(used <= n);
	while (cuptiActivityGetNextRecord(buffer, used, &r) == CUPTI_SUCCESS)
		switch (r->kind) {
		case CUPTI_ACTIVITY_KIND_KERNEL:
		case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
			kernels[nkernels++ % 64] = *(CUpti_ActivityKernel10 *)r;
			break;
		case CUPTI_ACTIVITY_KIND_MEMCPY:
			copies[ncopies++ % 64] = *(CUpti_ActivityMemcpy6 *)r;
			break;
		case CUPTI_ACTIVITY_KIND_MEMSET:
			fills[nfills++ % 64] = *(CUpti_ActivityMemset4 *)r;
			break;
		case CUPTI_ACTIVITY_KIND_DRIVER:
			apis[napis++ % 64] = *(CUpti_ActivityAPI *)r;
			break;
		default:
			fail_msg("record of kind %d", r->kind);
		}
	valid[back++ % BUFFERS] = used;
}

static void all_back(void)
{
	OK(cuCtxSynchronize());
	CUPTI_OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

static void afresh(void)
{
	all_back();
	nkernels = ncopies = nfills = napis = 0;
	back = given = 0;
}

static CUmodule module;
static CUfunction k;
static CUdeviceptr d;
static CUstream s;
static uint32_t uid, sid, sid0;

static int start(void **state)
{
	softgpu_start(state);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&k, module, "k"));
	OK(cuMemAlloc(&d, 4096));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CUPTI_OK(cuptiGetContextId(primary, &uid));
	CUPTI_OK(cuptiGetStreamId(primary, s, &sid));
	CUPTI_OK(cuptiGetStreamId(primary, NULL, &sid0));
	CUPTI_OK(cuptiActivityRegisterCallbacks(give, take));
	return 0;
}

static int stop(void **state)
{
	CUPTI_OK(cuptiFinalize());
	OK(cuStreamDestroy(s));
	OK(cuMemFree(d));
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

static void enable(CUpti_ActivityKind kind, bool on)
{
	CUPTI_OK(on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind));
}

static void launch(void)
{
	void *args[] = {&d};

	OK(cuLaunchKernel(k, 2, 3, 4, 5, 6, 7, 100, s, args, NULL));
}

/* --- kernels --- */

static void kernel_is(const CUpti_ActivityKernel10 *r, CUpti_ActivityKind kind, uint64_t t0,
	uint64_t t1, bool queued)
{
	int regs, local, shared;

	OK(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, k));
	OK(cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k));
	OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k));
	assert_int_equal(shared, 48);
	assert_int_equal(r->kind, kind);
	assert_string_equal(r->name, "k");
	assert_true(t0 <= r->start && r->start < r->end && r->end <= t1);
	assert_int_equal(r->completed, r->end);
	assert_int_equal(r->contextId, uid);
	assert_int_equal(r->streamId, sid);
	assert_int_equal(r->deviceId, 0);
	assert_int_equal(r->gridX * 100 + r->gridY * 10 + r->gridZ, 234);
	assert_int_equal(r->blockX * 100 + r->blockY * 10 + r->blockZ, 567);
	assert_int_equal(r->registersPerThread, regs);
	assert_int_equal(r->staticSharedMemory, 48);
	assert_int_equal(r->dynamicSharedMemory, 100);
	assert_int_equal(r->sharedMemoryExecuted, 148);
	assert_int_equal(r->localMemoryPerThread, local);
	assert_int_equal(r->graphId, 0);
	assert_int_equal(r->graphNodeId, 0);
	assert_int_equal(r->channelType, CUPTI_CHANNEL_TYPE_COMPUTE);
	if (queued)
		assert_true(
			t0 <= r->queued && r->queued <= r->submitted && r->submitted <= r->start);
	else
		assert_true(r->queued == CUPTI_TIMESTAMP_UNKNOWN &&
			    r->submitted == CUPTI_TIMESTAMP_UNKNOWN);
}

static void test_kernels(void **state)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
	uint64_t t0, t1;

	for (unsigned i = 0; i < 4; i++) {
		const CUpti_ActivityKind kind = kinds[i & 1];

		afresh();
		CUPTI_OK(cuptiActivityEnableLatencyTimestamps(i >> 1));
		enable(kind, true);
		enable(CUPTI_ACTIVITY_KIND_DRIVER, true);
		CUPTI_OK(cuptiGetTimestamp(&t0));
		launch();
		launch();
		OK(cuMemsetD8(d, 0, 8)); /* no record: nobody asked */
		OK(cuMemcpyDtoD(d, d + 8, 8));
		OK(cuCtxSynchronize());
		CUPTI_OK(cuptiGetTimestamp(&t1));
		enable(kind, false);
		enable(CUPTI_ACTIVITY_KIND_DRIVER, false);
		launch();
		all_back();
		assert_int_equal(nkernels, 2);
		assert_int_equal(nfills + ncopies, 0);
		assert_int_equal(napis, 5);
		for (unsigned j = 0; j < 2; j++) {
			kernel_is(&kernels[j], kind, t0, t1, i >> 1);
			assert_int_equal(kernels[j].correlationId, apis[j].correlationId);
			assert_int_equal(apis[j].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
		}
		assert_int_equal(kernels[1].gridId, kernels[0].gridId + 1);
		assert_true(kernels[0].end <= kernels[1].start);
		assert_ptr_equal(kernels[0].name, kernels[1].name);
	}
	CUPTI_OK(cuptiActivityEnableLatencyTimestamps(0));
	/* both: they are concurrent ones, once */
	afresh();
	enable(kinds[0], true);
	enable(kinds[1], true);
	launch();
	all_back();
	enable(kinds[0], false);
	enable(kinds[1], false);
	assert_int_equal(nkernels, 1);
	assert_int_equal(kernels[0].kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

/* --- copies and fills --- */

static void test_copies_and_fills(void **state)
{
	static char pageable[2][64];
	void *pinned;
	CUdeviceptr managed;
	uint64_t t0, t1;
	const struct {
		CUdeviceptr dst, src;
		uint8_t kind, dst_kind, src_kind;
	} rows[] = {
#define KIND(name) CUPTI_ACTIVITY_MEMCPY_KIND_##name
#define MEMORY(name) CUPTI_ACTIVITY_MEMORY_KIND_##name
		{d, (CUdeviceptr)pageable, KIND(HTOD), MEMORY(DEVICE), MEMORY(PAGEABLE)},
		{(CUdeviceptr)pageable, d, KIND(DTOH), MEMORY(PAGEABLE), MEMORY(DEVICE)},
		{d, d + 64, KIND(DTOD), MEMORY(DEVICE), MEMORY(DEVICE)},
		{(CUdeviceptr)pageable[0], (CUdeviceptr)pageable[1], KIND(HTOH), MEMORY(PAGEABLE),
			MEMORY(PAGEABLE)},
		{d, 1, KIND(HTOD), MEMORY(DEVICE), MEMORY(PINNED)},
		{1, d, KIND(DTOH), MEMORY(PINNED), MEMORY(DEVICE)},
		{1, (CUdeviceptr)pageable, KIND(HTOH), MEMORY(PINNED), MEMORY(PAGEABLE)},
		{2, d, KIND(DTOD), MEMORY(MANAGED), MEMORY(DEVICE)},
		{(CUdeviceptr)pageable, 2, KIND(DTOH), MEMORY(PAGEABLE), MEMORY(MANAGED)},
	};
	const unsigned n = COUNT_OF(rows);

	OK(cuMemHostAlloc(&pinned, 64, 0));
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	afresh();
	enable(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	CUPTI_OK(cuptiGetTimestamp(&t0));
	for (unsigned i = 0; i < 2 * n; i++) {
		const CUdeviceptr at[3] = {0, (CUdeviceptr)pinned, managed};
		CUdeviceptr dst = rows[i / 2].dst, src = rows[i / 2].src;

		dst = dst < 3 ? at[dst] : dst;
		src = src < 3 ? at[src] : src;
		OK(i & 1 ? cuMemcpyAsync(dst, src, 20 + i, s) : cuMemcpy(dst, src, 20 + i));
		OK(cuCtxSynchronize()); /* of device to device the host does not wait */
	}
	OK(cuMemsetD8(d, 0x17, 9));
	OK(cuCtxSynchronize());
	OK(cuMemsetD16Async(d, 0x1234, 5, s));
	OK(cuMemsetD2D32Async(d, 64, 0x12345678, 3, 2, s));
	OK(cuCtxSynchronize());
	OK(cuMemsetD8((CUdeviceptr)pinned, 1, 2));
	launch(); /* no record */
	OK(cuCtxSynchronize());
	CUPTI_OK(cuptiGetTimestamp(&t1));
	enable(CUPTI_ACTIVITY_KIND_MEMCPY, false);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
	all_back();
	assert_int_equal(nkernels + napis, 0);
	assert_int_equal(ncopies, 2 * n);
	for (unsigned i = 0; i < 2 * n; i++) {
		const CUpti_ActivityMemcpy6 *r = &copies[i];

		assert_int_equal(r->copyKind, rows[i / 2].kind);
		assert_int_equal(r->srcKind, rows[i / 2].src_kind);
		assert_int_equal(r->dstKind, rows[i / 2].dst_kind);
		assert_int_equal(r->bytes, 20 + i);
		assert_int_equal(r->flags, i & 1 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0);
		assert_int_equal(r->streamId, i & 1 ? sid : sid0);
		assert_int_equal(r->contextId, uid);
		assert_int_equal(r->copyCount, 1);
		assert_int_equal(r->graphId, 0);
		assert_int_equal(r->graphNodeId, 0);
		assert_int_equal(r->channelType, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
		assert_true(t0 <= r->start && r->start < r->end && r->end <= t1);
		if (i)
			assert_true(copies[i - 1].correlationId < r->correlationId);
	}
	assert_int_equal(nfills, 4);
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t values[] = {0x17, 0x1234, 0x12345678, 1},
				      bytes[] = {9, 10, 24, 2};
		const CUpti_ActivityMemset4 *r = &fills[i];

		assert_int_equal(r->value, values[i]);
		assert_int_equal(r->bytes, bytes[i]);
		assert_int_equal(r->memoryKind, i < 3 ? MEMORY(DEVICE) : MEMORY(PINNED));
		assert_int_equal(r->contextId, uid);
		assert_int_equal(r->flags, i == 1 || i == 2 ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0);
		assert_int_equal(r->streamId, i == 1 || i == 2 ? sid : sid0);
		assert_int_equal(r->graphId, 0);
		assert_int_equal(r->channelType, CUPTI_CHANNEL_TYPE_COMPUTE);
		assert_true(t0 <= r->start && r->start < r->end && r->end <= t1);
	}
	OK(cuMemFree(managed));
	OK(cuMemFreeHost(pinned));
}

/* --- graphs --- */

static void test_graphs(void **state)
{
	const CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = d, .value = 3, .elementSize = 1, .width = 16, .height = 1};
	void *args[] = {&d};
	const CUDA_KERNEL_NODE_PARAMS kernel = {.func = k,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = args};
	CUgraphNode a, b;
	CUgraphExec exec;
	CUgraph graph;
	uint64_t id[2];
	uint32_t gid, eid, n = 99;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &fill, primary));
	OK(cuGraphAddKernelNode(&b, graph, &a, 1, &kernel));
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiate(&exec, graph, 0));
	CUPTI_OK(cuptiGetGraphNodeId(a, &id[0]));
	CUPTI_OK(cuptiGetGraphNodeId(b, &id[1]));
	CUPTI_OK(cuptiGetGraphId(graph, &gid));
	CUPTI_OK(cuptiGetGraphExecId(exec, &eid));
	assert_true(id[0] && id[1] && id[0] != id[1] && gid && eid);
	CUPTI_IS(cuptiGetGraphNodeId(a, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetGraphId(graph, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetGraphExecId(exec, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetGraphNodeId((CUgraphNode)&n, &id[0]), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetGraphId((CUgraph)&n, &n), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetGraphExecId(NULL, &n), INVALID_PARAMETER);
	assert_int_equal(n, 99);
	CUPTI_OK(cuptiGetGraphNodeId(a, &id[0]));
	afresh();
	enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	OK(cuGraphLaunch(exec, s));
	OK(cuCtxSynchronize());
	enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
	all_back();
	assert_int_equal(nfills, 1);
	assert_int_equal(nkernels, 1);
	assert_int_equal(fills[0].graphId, eid);
	assert_int_equal(kernels[0].graphId, eid);
	assert_int_equal(fills[0].graphNodeId, id[0]);
	assert_int_equal(kernels[0].graphNodeId, id[1]);
	assert_int_equal(fills[0].correlationId, kernels[0].correlationId);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* --- API calls --- */

static void test_calls(void **state)
{
	uint64_t t0, t1;
	CUdevice dev;
	int n;

	afresh();
	enable(CUPTI_ACTIVITY_KIND_DRIVER, true);
	CUPTI_OK(cuptiGetTimestamp(&t0));
	OK(cuCtxGetDevice(&dev));
	IS(cuMemFree(12345), INVALID_VALUE);
	CUPTI_OK(cuptiGetTimestamp(&t1));
	/* calls that are switched off one by one */
	CUPTI_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice, 0));
	OK(cuCtxGetDevice(&dev));
	OK(cuDriverGetVersion(&n));
	CUPTI_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice, 1));
	OK(cuCtxGetDevice(&dev));
	enable(CUPTI_ACTIVITY_KIND_DRIVER, false);
	OK(cuCtxGetDevice(&dev));
	all_back();
	assert_int_equal(napis, 4);
	assert_int_equal(apis[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice);
	assert_int_equal(apis[1].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
	assert_int_equal(apis[2].cbid, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
	assert_int_equal(apis[3].cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(apis[i].kind, CUPTI_ACTIVITY_KIND_DRIVER);
		assert_int_equal(apis[i].returnValue, i == 1 ? CUDA_ERROR_INVALID_VALUE : 0);
		assert_int_equal(apis[i].processId, getpid());
		assert_int_equal(apis[i].threadId, syscall(SYS_gettid));
		assert_true(t0 <= apis[i].start && apis[i].start <= apis[i].end);
		if (i < 2)
			assert_true(apis[i].end <= t1);
		if (i)
			assert_true(apis[i - 1].correlationId < apis[i].correlationId);
	}
	/* enabled by name while the kind is not: that call alone */
	afresh();
	CUPTI_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice, 1));
	OK(cuCtxGetDevice(&dev));
	OK(cuDriverGetVersion(&n));
	enable(CUPTI_ACTIVITY_KIND_DRIVER, false);
	all_back();
	assert_int_equal(napis, 1);
	CUPTI_IS(cuptiActivityEnableDriverApi(0, 1), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityEnableDriverApi(1024, 1), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityEnableRuntimeApi(0, 1), INVALID_PARAMETER);
	CUPTI_OK(cuptiActivityEnableRuntimeApi(1, 0));
	for (unsigned i = 1; i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
		CUPTI_OK(cuptiActivityEnableDriverApi(i, 0));
	for (unsigned i = 1; i < 1024; i++) { /* all again */
		enable(CUPTI_ACTIVITY_KIND_DRIVER, true);
		CUPTI_OK(cuptiActivityEnableDriverApi(i, 1));
		enable(CUPTI_ACTIVITY_KIND_DRIVER, false);
	}
}

/* --- what buffers hold --- */

static void fill(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		OK(cuMemsetD8Async(d, 0, 1, s));
	OK(cuCtxSynchronize());
}

static void test_buffers(void **state)
{
	const size_t n = sizeof(CUpti_ActivityMemset4);
	size_t lost = 77;

	CUPTI_IS(cuptiActivityRegisterCallbacks(NULL, take), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityRegisterCallbacks(give, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetNumDroppedRecords(NULL, 0, NULL), INVALID_PARAMETER);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	/* just three records fit, or one less */
	for (unsigned less = 0; less < 2; less++) {
		afresh();
		size = 3 * n - less;
		fill(6);
		assert_int_equal(back, less ? 2 : 1);
		all_back();
		assert_int_equal(nfills, 6);
		assert_int_equal(back, less ? 3 : 2);
		for (unsigned i = 0; i < back; i++)
			assert_int_equal(valid[i], (3 - less) * n);
	}
	/* as many as the program says */
	afresh();
	size = SIZE;
	max = 2;
	fill(5);
	assert_int_equal(back, 2);
	CUPTI_OK(cuptiActivityFlush(NULL, 0, 0)); /* what has records comes back */
	assert_int_equal(back, 3);
	assert_int_equal(valid[2], n);
	CUPTI_OK(cuptiActivityFlushAll(0));
	CUPTI_OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)); /* there is none */
	assert_int_equal(back, 3);
	assert_int_equal(nfills, 5);
	max = 0;
	/* no buffer: records are dropped, and counted once */
	afresh();
	CUPTI_OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &lost));
	none_left = true;
	fill(7);
	CUPTI_OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &lost));
	assert_int_equal(lost, 7);
	none_left = false;
	fill(1);
	CUPTI_OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &lost));
	assert_int_equal(lost, 0);
	all_back();
	assert_int_equal(nfills, 1);
	/* one that holds no record at all */
	afresh();
	size = 8;
	fill(2);
	size = SIZE;
	CUPTI_OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &lost));
	assert_int_equal(lost, 2);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
	size = 8; /* that buffer is still there: forced, it comes back empty */
	CUPTI_OK(cuptiActivityFlushAll(0));
	assert_int_equal(back, 1);
	all_back();
	assert_int_equal(back, 2);
	assert_int_equal(valid[1], 0);
	size = SIZE;
}

static void test_next_record(void **state)
{
	uint64_t memory[64] = {0};
	uint8_t *b = (uint8_t *)memory;
	CUpti_Activity *first = (CUpti_Activity *)b, *second, *r = NULL;
	const size_t n = sizeof(CUpti_ActivityMemset4), api = sizeof(CUpti_ActivityAPI);

	second = (CUpti_Activity *)(b + n);
	first->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	second->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
	CUPTI_IS(cuptiActivityGetNextRecord(NULL, n, &r), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetNextRecord(b, n, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetNextRecord(b, 0, &r), MAX_LIMIT_REACHED);
	CUPTI_IS(cuptiActivityGetNextRecord(b, n - 1, &r), MAX_LIMIT_REACHED);
	assert_null(r);
	CUPTI_OK(cuptiActivityGetNextRecord(b, n + api, &r));
	assert_ptr_equal(r, first);
	CUPTI_IS(cuptiActivityGetNextRecord(b, n, &r), MAX_LIMIT_REACHED);
	CUPTI_IS(cuptiActivityGetNextRecord(b, n + api - 1, &r), MAX_LIMIT_REACHED);
	CUPTI_OK(cuptiActivityGetNextRecord(b, n + api, &r));
	assert_ptr_equal(r, second);
	CUPTI_IS(cuptiActivityGetNextRecord(b, n + api, &r), MAX_LIMIT_REACHED);
	CUPTI_IS(cuptiActivityGetNextRecord(b + n + api + 8, 64, &r), MAX_LIMIT_REACHED);
	second->kind = CUPTI_ACTIVITY_KIND_PC_SAMPLING; /* none of ours */
	r = second;
	CUPTI_IS(cuptiActivityGetNextRecord(b, sizeof memory, &r), INVALID_KIND);
	r = first;
	CUPTI_IS(cuptiActivityGetNextRecord(b, sizeof memory, &r), INVALID_KIND);
	assert_ptr_equal(r, first);
}

/* Buffers come back every period, by themselves. */
static void test_period(void **state)
{
	afresh();
	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	CUPTI_OK(cuptiActivityFlushPeriod(20));
	CUPTI_OK(cuptiActivityFlushPeriod(10));
	for (unsigned round = 1; round < 4; round++) {
		fill(1);
		for (unsigned i = 0; i < 2000 && back < round; i++)
			usleep(5000);
		assert_int_equal(back, round);
	}
	assert_int_equal(nfills, 3);
	assert_true(threads_without_signals() >= 1);
	CUPTI_OK(cuptiActivityFlushPeriod(0));
	usleep(50000); /* the thread ends; a record stays */
	fill(1);
	usleep(100000);
	assert_int_equal(back, 3);
	CUPTI_OK(cuptiActivityFlushPeriod(3600000));
	usleep(50000);
	assert_int_equal(back, 3);
	CUPTI_OK(cuptiActivityFlushPeriod(0));
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
}

/* A forked child begins without what its parent enabled. */
static void test_fork(void **state)
{
	CUpti_SubscriberHandle h;
	size_t lost;
	int status;
	pid_t pid;

	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	fill(1);
	given = back = 0;
	pid = fork();
	if (!pid) {
		CUdevice dev;

		alarm(20);
		cuCtxGetDevice(&dev);
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		_exit(back || cuptiActivityFlushPeriod(0) ||
			cuptiActivityGetNumDroppedRecords(NULL, 0, &lost) ||
			cuptiUnsubscribe((CUpti_SubscriberHandle)&h) !=
				CUPTI_ERROR_INVALID_PARAMETER);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
	all_back();
	assert_int_equal(back, 1);
}

/* --- questions --- */

static uint64_t own_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - 5000000000000u;
}

static void test_questions(void **state)
{
	static const CUpti_ActivityKind refused[] = {CUPTI_ACTIVITY_KIND_INVALID,
		CUPTI_ACTIVITY_KIND_COUNT, (CUpti_ActivityKind)(CUPTI_ACTIVITY_KIND_COUNT + 1)};
	CUpti_DeviceVirtualizationMode mode = 99;
	CUpti_ActivityThreadIdType type;
	CUpti_DomainTable table;
	const char *text;
	size_t n, value;
	uint32_t id;
	int yes;

	for (unsigned i = 0; i < 3; i++) {
		CUPTI_IS(cuptiActivityEnable(refused[i]), INVALID_KIND);
		CUPTI_IS(cuptiActivityDisable(refused[i]), INVALID_KIND);
		CUPTI_IS(cuptiActivityEnableAndDump(refused[i]), INVALID_KIND);
	}
	CUPTI_IS(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_MARKER), NOT_SUPPORTED);
	CUPTI_OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MARKER));
	CUPTI_OK(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_MEMSET));
	afresh();
	fill(1);
	all_back();
	assert_int_equal(nfills, 1);
	CUPTI_OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	CUPTI_IS(cuptiActivityEnableContext(primary, CUPTI_ACTIVITY_KIND_MEMSET), NOT_SUPPORTED);
	CUPTI_IS(cuptiActivityDisableContext(primary, CUPTI_ACTIVITY_KIND_MEMSET), NOT_SUPPORTED);

	CUPTI_IS(cuptiGetTimestamp(NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetVersion(NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetContextId(primary, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetContextId(NULL, &id), INVALID_CONTEXT);
	CUPTI_IS(cuptiGetStreamId(primary, s, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetStreamId((CUcontext)&id, s, &id), INVALID_CONTEXT);
	CUPTI_OK(cuptiGetStreamId(NULL, s, &id)); /* the current context */
	assert_int_equal(id, sid);
	CUPTI_OK(cuptiGetStreamIdEx(primary, NULL, 0, &id));
	assert_int_equal(id, sid0);
	CUPTI_OK(cuptiGetStreamIdEx(primary, NULL, 1, &id));
	assert_int_not_equal(id, sid0);
	CUPTI_IS(cuptiGetDeviceId(primary, NULL), INVALID_PARAMETER);
	id = 9;
	CUPTI_OK(cuptiGetDeviceId(NULL, &id));
	assert_int_equal(id, 0);
	OK(cuCtxSetCurrent(NULL));
	CUPTI_IS(cuptiGetDeviceId(NULL, &id), INVALID_CONTEXT);
	OK(cuCtxSetCurrent(primary));

	CUPTI_IS(cuptiComputeCapabilitySupported(7, 5, NULL), INVALID_PARAMETER);
	for (int major = 6; major < 9; major++)
		for (int minor = 4; minor < 7; minor++) {
			CUPTI_OK(cuptiComputeCapabilitySupported(major, minor, &yes));
			assert_int_equal(yes, major == 7 && minor == 5);
		}
	CUPTI_IS(cuptiDeviceSupported(0, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiDeviceSupported(77, &yes), INVALID_DEVICE);
	yes = 0;
	CUPTI_OK(cuptiDeviceSupported(0, &yes));
	assert_int_equal(yes, 1);
	CUPTI_IS(cuptiDeviceVirtualizationMode(0, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiDeviceVirtualizationMode(77, &mode), INVALID_DEVICE);
	CUPTI_OK(cuptiDeviceVirtualizationMode(0, &mode));
	assert_int_equal(mode, CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE);
	CUPTI_IS(cuptiGetThreadIdType(NULL), INVALID_PARAMETER);
	CUPTI_OK(cuptiGetThreadIdType(&type));
	assert_int_equal(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
	CUPTI_IS(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE), INVALID_PARAMETER);
	CUPTI_OK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	CUPTI_OK(cuptiGetThreadIdType(&type));
	assert_int_equal(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);

	/* an attribute that was set is what is got, in as many bytes */
	n = 4;
	value = 0xffffffff12345678;
	CUPTI_IS(cuptiActivitySetAttribute(1, NULL, &value), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivitySetAttribute(1, &n, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivitySetAttribute(16, &n, &value), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetAttribute(1, NULL, &value), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetAttribute(1, &n, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiActivityGetAttribute(16, &n, &value), INVALID_PARAMETER);
	CUPTI_OK(cuptiActivitySetAttribute(1, &n, &value));
	n = 9;
	CUPTI_IS(cuptiActivitySetAttribute(1, &n, &value), INVALID_PARAMETER);
	value = 1;
	CUPTI_OK(cuptiActivityGetAttribute(1, &n, &value));
	assert_int_equal(n, 8);
	assert_int_equal(value, 0x12345678);
	CUPTI_OK(cuptiActivityGetAttribute(15, &n, &value));
	assert_int_equal(value, 0);

	CUPTI_IS(cuptiSupportedDomains(NULL, &table), INVALID_PARAMETER);
	CUPTI_IS(cuptiSupportedDomains(&n, NULL), INVALID_PARAMETER);
	CUPTI_OK(cuptiSupportedDomains(&n, &table));
	assert_int_equal(n, 4);
	assert_int_equal(table[3], CUPTI_CB_DOMAIN_SYNCHRONIZE);
	CUPTI_OK(cuptiGetCallbackName(
		CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &text));
	assert_string_equal(text, "MODULE_UNLOAD_STARTING");
	CUPTI_IS(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 0, &text), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE,
			 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, NULL),
		INVALID_PARAMETER);
	CUPTI_IS(cuptiGetCallbackName(CUPTI_CB_DOMAIN_NVTX, 1, &text), INVALID_PARAMETER);
	CUPTI_OK(cuptiGetErrorMessage(CUPTI_SUCCESS, &text));
	assert_string_equal(text, "no error");
	CUPTI_OK(cuptiGetErrorMessage(CUPTI_ERROR_UNKNOWN, &text));
	assert_true(strlen(text) > 10);
	CUPTI_IS(cuptiGetErrorMessage(CUPTI_SUCCESS, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetErrorMessage((CUptiResult)12345, &text), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetResultString(CUPTI_SUCCESS, NULL), INVALID_PARAMETER);
	CUPTI_OK(cuptiGetResultString(CUPTI_SUCCESS, &text));
	assert_string_equal(text, "CUPTI_SUCCESS");
}

/* The program's own clock, 5000 s behind ours, is what all times are by. */
static void test_a_clock_of_ones_own(void **state)
{
	uint64_t t0, t1;

	CUPTI_IS(cuptiActivityRegisterTimestampCallback(NULL), INVALID_PARAMETER);
	CUPTI_OK(cuptiActivityRegisterTimestampCallback(own_clock));
	t0 = own_clock();
	CUPTI_OK(cuptiGetTimestamp(&t1));
	assert_true(t0 <= t1 && t1 <= own_clock());
	afresh();
	enable(CUPTI_ACTIVITY_KIND_MEMSET, true);
	enable(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	enable(CUPTI_ACTIVITY_KIND_DRIVER, true);
	OK(cuMemsetD8Async(d, 0, 1, s));
	OK(cuMemcpyDtoDAsync(d + 8, d, 4, s));
	OK(cuStreamSynchronize(s));
	t1 = own_clock() + 1000000; /* the two clocks are not read at once */
	t0 -= 1000000;
	enable(CUPTI_ACTIVITY_KIND_MEMSET, false);
	enable(CUPTI_ACTIVITY_KIND_MEMCPY, false);
	enable(CUPTI_ACTIVITY_KIND_DRIVER, false);
	all_back();
	assert_int_equal(nfills, 1);
	assert_int_equal(ncopies, 1);
	assert_true(t0 <= fills[0].start && fills[0].start <= fills[0].end && fills[0].end <= t1);
	assert_true(
		t0 <= copies[0].start && copies[0].start <= copies[0].end && copies[0].end <= t1);
	assert_true(t0 <= apis[0].start && apis[0].start <= apis[0].end && apis[0].end <= t1);
}

/* --- callbacks --- */

struct event {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId id;
	void *context, *stream;
	uint32_t module;
	size_t size;
};
static struct event events[16];
static unsigned nevents;

static void event(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *p)
{
	struct event *e = &events[nevents++ % 16];

	*e = (struct event){.domain = domain, .id = id};
	if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) {
		const CUpti_SynchronizeData *q = p;

		e->context = q->context;
		e->stream = q->stream;
	} else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		const CUpti_ResourceData *q = p;
		const CUpti_ModuleResourceData *m = q->resourceDescriptor;

		e->context = q->context;
		e->module = m->moduleId;
		e->size = m->cubinSize;
	}
}

static void test_callbacks(void **state)
{
	char name[40] = "";
	CUpti_SubscriberParams p = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "the first",
		.oldSubscriberName = name,
		.oldSubscriberSize = sizeof name};
	CUpti_SubscriberHandle h, other;
	CUmodule m[2];
	uint32_t on = 9;

	CUPTI_IS(cuptiSubscribe(NULL, event, NULL), INVALID_PARAMETER);
	CUPTI_IS(cuptiSubscribe(&h, NULL, NULL), INVALID_PARAMETER);
	CUPTI_OK(cuptiSubscribe_v2(&h, event, NULL, &p));
	p.subscriberName = "the second";
	CUPTI_IS(cuptiSubscribe_v2(&other, event, NULL, &p), MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_string_equal(name, "the first");
	CUPTI_OK(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_SYNCHRONIZE));
	CUPTI_OK(cuptiEnableCallback(
		1, h, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED));
	CUPTI_OK(cuptiEnableCallback(
		1, h, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING));
	nevents = 0;
	OK(cuModuleLoadData(&m[0], ptx));
	OK(cuModuleLoadData(&m[1], ptx));
	OK(cuModuleUnload(m[0]));
	OK(cuModuleUnload(m[1]));
	OK(cuStreamSynchronize(s));
	OK(cuCtxSynchronize());
	assert_int_equal(nevents, 6);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(events[i].domain, CUPTI_CB_DOMAIN_RESOURCE);
		assert_int_equal(events[i].id, i < 2 ? CUPTI_CBID_RESOURCE_MODULE_LOADED
						     : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
		assert_ptr_equal(events[i].context, primary);
		assert_true(events[i].size >= strlen(ptx));
		assert_int_equal(events[i].module, events[i & 1].module);
	}
	assert_int_not_equal(events[0].module, events[1].module);
	assert_int_equal(events[4].domain, CUPTI_CB_DOMAIN_SYNCHRONIZE);
	assert_int_equal(events[4].id, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
	assert_ptr_equal(events[4].stream, s);
	assert_ptr_equal(events[4].context, primary);
	assert_int_equal(events[5].id, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);

	CUPTI_IS(cuptiGetCallbackState(NULL, h, CUPTI_CB_DOMAIN_RESOURCE, 1), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetCallbackState(&on, NULL, CUPTI_CB_DOMAIN_RESOURCE, 1), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetCallbackState(&on, h, CUPTI_CB_DOMAIN_INVALID, 1), INVALID_PARAMETER);
	CUPTI_IS(cuptiGetCallbackState(&on, h, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE),
		INVALID_PARAMETER);
	CUPTI_IS(cuptiEnableCallback(1, h, CUPTI_CB_DOMAIN_RESOURCE, 0), INVALID_PARAMETER);
	CUPTI_IS(cuptiEnableAllDomains(1, NULL), INVALID_PARAMETER);
	for (unsigned i = 2; i-- > 0;) {
		CUPTI_OK(cuptiEnableAllDomains(i, h));
		for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++) {
			CUPTI_OK(cuptiGetCallbackState(&on, h, (CUpti_CallbackDomain)domain, 1));
			assert_int_equal(on, i);
			CUPTI_OK(cuptiGetCallbackState(&on, h, (CUpti_CallbackDomain)domain, 0));
			assert_int_equal(on, 0);
		}
	}
	nevents = 0;
	OK(cuStreamSynchronize(s));
	assert_int_equal(nevents, 0);
	CUPTI_OK(cuptiUnsubscribe(h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_copies_and_fills),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_next_record),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_a_clock_of_ones_own),
	};

	return cmocka_run_group_tests_name("softgpu-activity", tests, start, stop);
}
