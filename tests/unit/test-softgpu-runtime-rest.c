/* SPDX-License-Identifier: Apache-2.0
 *
 * What else the runtime forwards: captures, user objects, memory of graphs, pools, streams,
 * memory's attributes, occupancy, libraries, entry points. What a call changed is asked back by
 * another call, and a wrong argument has the error of "CUDA Runtime API".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locks-held.h"

/* Calls that the headers mark as deprecated must work, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, cudaSuccess)
#define IS(call, code) assert_int_equal(call, cudaError##code)

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 8 .b8 v[24] = {3, 4};\n"
	".visible .entry put(.param .u64 p) { ret; }\n.visible .entry other(.param .u64 p) { ret; }\n";
static cudaLibrary_t library;
static cudaKernel_t put;
static cudaStream_t stream;

static int start(void **state)
{
	OK(cudaSetDevice(0));
	OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryGetKernel(&put, library, "put"));
	OK(cudaStreamCreate(&stream));
	return 0;
}

static int stop(void **state)
{
	OK(cudaStreamDestroy(stream));
	OK(cudaLibraryUnload(library));
	return 0;
}

/* --- captures --- */
static void test_captures(void **state)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	const cudaGraphNode_t *front;
	cudaGraphNode_t first, nodes[4];
	unsigned long long id = 0;
	cudaGraph_t g, got, done;
	void *memory;
	size_t n = 9;

	OK(cudaMalloc(&memory, 64));
	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddEmptyNode(&first, g, NULL, 0));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL));
	assert_int_equal(status, cudaStreamCaptureStatusNone);
	OK(cudaStreamBeginCaptureToGraph(
		stream, g, &first, NULL, 1, cudaStreamCaptureModeThreadLocal));
	OK(cudaStreamGetCaptureInfo(stream, &status, &id, &got, &front, NULL, &n));
	assert_int_equal(status, cudaStreamCaptureStatusActive);
	assert_true(id != 0 && got == g && n == 1 && front[0] == first);
	OK(cudaMemsetAsync(memory, 1, 64, stream));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &front, NULL, &n));
	assert_true(n == 1 && front[0] != first);
	OK(cudaStreamUpdateCaptureDependencies(
		stream, &first, NULL, 1, cudaStreamAddCaptureDependencies));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &front, NULL, &n));
	assert_int_equal(n, 2);
	OK(cudaStreamUpdateCaptureDependencies(
		stream, &first, NULL, 1, cudaStreamSetCaptureDependencies));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &front, NULL, &n));
	assert_true(n == 1 && front[0] == first);
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, cudaStreamCaptureModeGlobal);
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, cudaStreamCaptureModeRelaxed);
	OK(cudaStreamEndCapture(stream, &done));
	assert_ptr_equal(done, g);
	n = 4;
	OK(cudaGraphGetNodes(g, nodes, &n));
	assert_int_equal(n, 2);
	IS(cudaThreadExchangeStreamCaptureMode(NULL), InvalidValue);
	IS(cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, cudaStreamCaptureModeGlobal),
		InvalidValue);
	OK(cudaGraphDestroy(g));
	OK(cudaFree(memory));
	(void)cudaGetLastError();
}

/* --- user objects, upload, flags, pictures --- */
static void count_up(void *arg)
{
	++*(int *)arg;
}

static void test_what_graphs_hold(void **state)
{
	cudaUserObject_t object;
	cudaGraphNode_t node;
	cudaGraphExec_t e;
	cudaGraph_t g;
	int gone = 0;
	unsigned long long flags = 77;
	cudaGraphInstantiateParams p = {
		.flags = cudaGraphInstantiateFlagUpload, .uploadStream = stream};
	char path[] = "/tmp/tsdb-dot-XXXXXX", text[64] = "";
	const int fd = mkstemp(path);

	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddEmptyNode(&node, g, NULL, 0));
	OK(cudaUserObjectCreate(&object, &gone, count_up, 1, cudaUserObjectNoDestructorSync));
	OK(cudaUserObjectRetain(object, 2));
	OK(cudaGraphRetainUserObject(g, object, 1, 0));
	OK(cudaUserObjectRelease(object, 3));
	assert_int_equal(gone, 0); /* the graph holds it */
	OK(cudaGraphReleaseUserObject(g, object, 1));
	for (unsigned k = 0; k < 2000 && !gone; k++)
		usleep(1000);
	assert_int_equal(gone, 1);
	OK(cudaGraphInstantiateWithParams(&e, g, &p));
	assert_int_equal(p.result_out, cudaGraphInstantiateSuccess);
	assert_ptr_equal(p.uploadStream, stream);
	OK(cudaGraphExecGetFlags(e, &flags));
	assert_int_equal(flags, cudaGraphInstantiateFlagUpload);
	OK(cudaGraphUpload(e, stream));
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphInstantiateWithFlags(&e, g, cudaGraphInstantiateFlagUseNodePriority));
	OK(cudaGraphExecGetFlags(e, &flags));
	assert_int_equal(flags, cudaGraphInstantiateFlagUseNodePriority);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDebugDotPrint(g, path, 0));
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 8);
	assert_non_null(strstr(text, "digraph"));
	IS(cudaGraphInstantiateWithParams(&e, g, NULL), InvalidValue);
	IS(cudaGraphExecGetFlags(NULL, &flags), InvalidValue);
	IS(cudaGraphDebugDotPrint(g, NULL, 0), InvalidValue);
	IS(cudaUserObjectCreate(NULL, &gone, count_up, 1, cudaUserObjectNoDestructorSync),
		InvalidValue);
	close(fd);
	unlink(path);
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

/* --- memory that graphs allocate --- */
static uint64_t graph_memory(enum cudaGraphMemAttributeType what)
{
	uint64_t v = ~0ull;

	OK(cudaDeviceGetGraphMemAttribute(0, what, &v));
	return v;
}

static void test_memory_of_graphs(void **state)
{
	struct cudaMemAllocNodeParams p = {.poolProps = {.allocType = cudaMemAllocationTypePinned,
						   .location = {.type = cudaMemLocationTypeDevice}},
					      .bytesize = 1000},
				      asked;
	cudaGraphNode_t alloc, release;
	cudaGraphExec_t e;
	cudaGraph_t g;
	void *freed = NULL;
	uint64_t zero = 0;

	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	assert_non_null(p.dptr);
	OK(cudaGraphAddMemFreeNode(&release, g, &alloc, 1, p.dptr));
	OK(cudaGraphMemAllocNodeGetParams(alloc, &asked));
	assert_true(asked.dptr == p.dptr && asked.bytesize == 1000);
	OK(cudaGraphMemFreeNodeGetParams(release, &freed));
	assert_ptr_equal(freed, p.dptr);
	OK(cudaGraphInstantiateWithFlags(&e, g, 0));
	OK(cudaGraphLaunch(e, stream));
	OK(cudaStreamSynchronize(stream));
	/* "currently associated with graphs": as long as there is the graph */
	assert_int_equal(graph_memory(cudaGraphMemAttrUsedMemCurrent), 1000);
	assert_int_equal(graph_memory(cudaGraphMemAttrUsedMemHigh), 1000);
	IS(cudaGraphMemAllocNodeGetParams(release, &asked), InvalidValue);
	IS(cudaGraphMemFreeNodeGetParams(alloc, &freed), InvalidValue);
	IS(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, NULL), InvalidValue);
	IS(cudaDeviceGraphMemTrim(99), InvalidDevice);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	assert_int_equal(graph_memory(cudaGraphMemAttrUsedMemCurrent), 0);
	assert_int_equal(graph_memory(cudaGraphMemAttrUsedMemHigh), 1000);
	OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
	assert_int_equal(graph_memory(cudaGraphMemAttrUsedMemHigh), 0);
	OK(cudaDeviceGraphMemTrim(0));
	assert_int_equal(graph_memory(cudaGraphMemAttrReservedMemCurrent), 0);
	(void)cudaGetLastError();
}

/* --- pools --- */
static void test_pools(void **state)
{
	const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
		.location = {.type = cudaMemLocationTypeDevice}};
	struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
	struct cudaMemAccessDesc desc = {
		.location = here, .flags = cudaMemAccessFlagsProtReadWrite};
	enum cudaMemAccessFlags access = cudaMemAccessFlagsProtNone;
	cudaMemPool_t mine, first, got;
	uint64_t keep = 12345678, v = 0;
	void *memory;

	OK(cudaMemPoolCreate(&mine, &props));
	OK(cudaMemPoolSetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &keep));
	OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &v));
	assert_int_equal(v, keep);
	OK(cudaMemPoolGetAccess(&access, mine, &here));
	assert_int_equal(access, cudaMemAccessFlagsProtReadWrite);
	OK(cudaMemPoolSetAccess(mine, &desc, 1));
	OK(cudaDeviceGetMemPool(&first, 0));
	assert_ptr_not_equal(first, mine);
	OK(cudaDeviceSetMemPool(0, mine));
	OK(cudaDeviceGetMemPool(&got, 0));
	assert_ptr_equal(got, mine);
	OK(cudaMallocAsync(&memory, 4096, stream));
	OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrUsedMemCurrent, &v));
	assert_true(v >= 4096);
	OK(cudaFreeAsync(memory, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemPoolTrimTo(mine, 0));
	OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrReservedMemCurrent, &v));
	assert_int_equal(v, 0);
	OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, first));
	OK(cudaMemGetMemPool(&got, &here, cudaMemAllocationTypePinned));
	assert_ptr_equal(got, first);
	OK(cudaMemGetDefaultMemPool(&got, &here, cudaMemAllocationTypePinned));
	assert_ptr_equal(got, first);
	OK(cudaMemPoolDestroy(mine));
	IS(cudaMemPoolCreate(NULL, &props), InvalidValue);
	IS(cudaMemPoolCreate(&mine, NULL), InvalidValue);
	IS(cudaDeviceGetMemPool(NULL, 0), InvalidValue);
	IS(cudaDeviceGetMemPool(&got, 99), InvalidDevice);
	IS(cudaDeviceSetMemPool(0, NULL), InvalidValue);
	(void)cudaGetLastError();
}

/* --- streams --- */
static void test_streams(void **state)
{
	cudaStreamAttrValue v = {.syncPolicy = cudaSyncPolicyYield}, got = {0};
	unsigned long long a = 0, b = 0;
	cudaStream_t other;
	int device = 9;

	OK(cudaStreamCreate(&other));
	OK(cudaStreamGetId(stream, &a));
	OK(cudaStreamGetId(other, &b));
	assert_true(a != b);
	OK(cudaStreamGetDevice(stream, &device));
	assert_int_equal(device, 0);
	OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &v));
	OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &got));
	assert_int_equal(got.syncPolicy, cudaSyncPolicyYield);
	OK(cudaStreamCopyAttributes(other, stream));
	memset(&got, 0, sizeof(got));
	OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &got));
	assert_int_equal(got.syncPolicy, cudaSyncPolicyYield);
	IS(cudaStreamGetDevice(stream, NULL), InvalidValue);
	IS(cudaStreamGetId(stream, NULL), InvalidValue);
	OK(cudaStreamDestroy(other));
	(void)cudaGetLastError();
}

/* --- memory's attributes --- */
static void test_managed_memory(void **state)
{
	struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
	unsigned flags = 77;
	void *managed, *pinned;
	int read_mostly = -1, home = -9;
	void *data[] = {&read_mostly, &home};
	size_t sizes[] = {4, 4}, size = 4096, first = 0;
	enum cudaMemRangeAttribute what[] = {
		cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation};

	OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocPortable));
	OK(cudaHostGetFlags(&flags, pinned));
	assert_int_equal(flags, cudaHostAllocMapped | cudaHostAllocPortable);
	OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
	OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, here));
	OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, here));
	OK(cudaMemRangeGetAttribute(
		&read_mostly, 4, cudaMemRangeAttributeReadMostly, managed, 4096));
	assert_int_equal(read_mostly, 1);
	read_mostly = -1;
	OK(cudaMemRangeGetAttributes(data, sizes, what, 2, managed, 4096));
	assert_true(read_mostly == 1 && home == 0);
	OK(cudaMemAdvise(managed, 4096, cudaMemAdviseUnsetReadMostly, here));
	OK(cudaMemRangeGetAttribute(
		&read_mostly, 4, cudaMemRangeAttributeReadMostly, managed, 4096));
	assert_int_equal(read_mostly, 0);
	OK(cudaMemPrefetchBatchAsync(&managed, &size, 1, &here, &first, 1, 0, stream));
	OK(cudaMemDiscardBatchAsync(&managed, &size, 1, 0, stream));
	OK(cudaMemDiscardAndPrefetchBatchAsync(&managed, &size, 1, &here, &first, 1, 0, stream));
	OK(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachHost));
	OK(cudaStreamSynchronize(stream));
	IS(cudaMemPrefetchBatchAsync(&managed, &size, 0, &here, &first, 1, 0, stream),
		InvalidValue);
	IS(cudaMemDiscardBatchAsync(NULL, &size, 1, 0, stream), InvalidValue);
	IS(cudaMemRangeGetAttribute(NULL, 4, cudaMemRangeAttributeReadMostly, managed, 4096),
		InvalidValue);
	IS(cudaHostGetFlags(NULL, pinned), InvalidValue);
	IS(cudaHostGetFlags(&flags, managed), InvalidValue);
	OK(cudaFree(managed));
	OK(cudaFreeHost(pinned));
	(void)cudaGetLastError();
}

/* --- functions --- */
static void test_functions(void **state)
{
	cudaLaunchConfig_t config = {.gridDim = {4, 1, 1}, .blockDim = {64, 1, 1}};
	cudaLaunchAttribute cluster = {
		.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {2, 1, 1}}};
	struct cudaFuncAttributes a;
	cudaKernel_t found[3] = {0};
	size_t bytes = 0, size = 0;
	void *address = NULL, *f = NULL;
	int n = -1;
	uint8_t back[2];

	OK(cudaKernelSetAttributeForDevice(
		put, cudaFuncAttributeMaxDynamicSharedMemorySize, 20000, 0));
	OK(cudaFuncGetAttributes(&a, (const void *)put));
	assert_int_equal(a.maxDynamicSharedSizeBytes, 20000);
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, (const void *)put, 2, 64));
	assert_true(bytes > 0 && bytes < 200 << 10);
	size = bytes;
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, (const void *)put, 4, 64));
	assert_true(bytes < size);
	config.attrs = &cluster;
	config.numAttrs = 1;
	OK(cudaOccupancyMaxActiveClusters(&n, (const void *)put, &config));
	assert_true(n > 0);
	n = -1;
	OK(cudaOccupancyMaxPotentialClusterSize(&n, (const void *)put, &config));
	assert_int_equal(n, 8); /* portable */
	OK(cudaLibraryGetGlobal(&address, &bytes, library, "v"));
	assert_int_equal(bytes, 24);
	OK(cudaMemcpy(back, address, 2, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, "\x3\x4", 2);
	OK(cudaLibraryEnumerateKernels(found, 3, library));
	assert_true(found[0] && found[1] && !found[2] && found[0] != found[1]);
	assert_true(found[0] == put || found[1] == put);
	OK(cudaFuncGetAttributes(&a, (const void *)(found[0] == put ? found[1] : found[0])));
	OK(cudaGetDriverEntryPoint("cuMemAlloc", &f, cudaEnableDefault, NULL));
	assert_non_null(f);
	OK(cudaFuncSetSharedMemConfig((const void *)put, cudaSharedMemBankSizeFourByte));
	IS(cudaOccupancyMaxActiveClusters(NULL, (const void *)put, &config), InvalidValue);
	IS(cudaOccupancyMaxActiveClusters(&n, (const void *)put, NULL), InvalidValue);
	IS(cudaOccupancyMaxPotentialClusterSize(NULL, (const void *)put, &config), InvalidValue);
	IS(cudaOccupancyMaxPotentialClusterSize(&n, (const void *)put, NULL), InvalidValue);
	config.dynamicSmemBytes = 1ull << 32;
	IS(cudaOccupancyMaxActiveClusters(&n, (const void *)put, &config), InvalidValue);
	IS(cudaOccupancyMaxPotentialClusterSize(&n, (const void *)put, &config), InvalidValue);
	IS(cudaLibraryEnumerateKernels(NULL, 3, library), InvalidValue);
	IS(cudaLibraryGetGlobal(&address, &bytes, library, "w"), SymbolNotFound);
	IS(cudaKernelSetAttributeForDevice(
		   NULL, cudaFuncAttributeMaxDynamicSharedMemorySize, 20000, 0),
		InvalidResourceHandle);
	IS(cudaFuncSetSharedMemConfig(&n, cudaSharedMemBankSizeFourByte), InvalidResourceHandle);
	(void)cudaGetLastError();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures),
		cmocka_unit_test(test_what_graphs_hold),
		cmocka_unit_test(test_memory_of_graphs),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_managed_memory),
		cmocka_unit_test(test_functions),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
