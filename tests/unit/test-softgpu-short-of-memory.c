/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the driver while the program is short of memory: each allocation in a call fails in
 * turn, and the call answers CUDA_ERROR_OUT_OF_MEMORY, takes no lock with it, and succeeds when
 * there is memory again. The allocations are this thread's alone.
 */
#include "softgpu-test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations until one fails; -1: none does. */
static _Thread_local int left = -1;
static _Thread_local bool failed;

static bool fails(void)
{
	if (left < 0 || left-- > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

#if !defined(__SANITIZE_ADDRESS__)
#define CAN_FAIL true
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}
#else
#define CAN_FAIL false
#endif

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .b8 v[20];\n"
	".visible .entry k(.param .u32 n, .param .u64 p) { .reg .b32 %r<3>; mov.u32 %r0, 1; ret; }\n";

static CUmodule module;
static CUfunction function;
static CUdeviceptr memory;
static CUstream stream;
static CUgraph graph, built; /* built: with nodes */
static CUgraphExec executable;
static CUevent event;
static CUarray array;

/* --- the calls: each undoes what it did when it succeeded --- */
static CUresult a_stream(void)
{
	CUstream s;
	CUresult r = cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);

	return r ? r : cuStreamDestroy(s);
}

static CUresult an_event(void)
{
	CUevent e;
	CUresult r = cuEventCreate(&e, 0);

	return r ? r : cuEventDestroy(e);
}

static CUresult a_record(void)
{
	return cuEventRecord(event, stream);
}

static CUresult a_wait(void)
{
	return cuStreamWaitEvent(stream, event, 0);
}

static CUresult a_module(void)
{
	CUmodule m;
	CUresult r = cuModuleLoadData(&m, ptx);

	return r ? r : cuModuleUnload(m);
}

static CUresult a_library(void)
{
	CUlibrary l;
	CUresult r = cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0);

	return r ? r : cuLibraryUnload(l);
}

static CUresult a_link(void)
{
	CUlinkState l;
	void *image;
	size_t n;
	CUresult r = cuLinkCreate(0, NULL, NULL, &l);

	if (r)
		return r;
	r = cuLinkAddData(
		l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, sizeof(ptx), "a", 0, NULL, NULL);
	if (!r)
		r = cuLinkComplete(l, &image, &n);
	OK(cuLinkDestroy(l));
	return r;
}

static CUresult a_context(void)
{
	CUcontext c;
	CUresult r = cuCtxCreate(&c, NULL, 0, 0);

	return r ? r : cuCtxDestroy(c);
}

static CUresult an_allocation(void)
{
	CUdeviceptr p;
	CUresult r = cuMemAlloc(&p, 1000);

	return r ? r : cuMemFree(p);
}

static CUresult an_ordered_allocation(void)
{
	CUdeviceptr p;
	CUresult r = cuMemAllocAsync(&p, 1000, stream);

	if (r)
		return r;
	left = -1;
	OK(cuStreamSynchronize(stream));
	return cuMemFree(p);
}

static CUresult a_pool(void)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool p;
	CUresult r = cuMemPoolCreate(&p, &props);

	return r ? r : cuMemPoolDestroy(p);
}

static CUresult an_array(void)
{
	const CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUarray a;
	CUresult r = cuArrayCreate(&a, &d);

	return r ? r : cuArrayDestroy(a);
}

static CUresult a_texture(void)
{
	const CUDA_RESOURCE_DESC d = {
		.resType = CU_RESOURCE_TYPE_ARRAY, .res = {.array = {.hArray = array}}};
	const CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_POINT};
	CUtexObject o;
	CUresult r = cuTexObjectCreate(&o, &d, &t, NULL);

	return r ? r : cuTexObjectDestroy(o);
}

static CUresult a_launch(void)
{
	uint32_t n = 1;
	void *args[] = {&n, &memory};

	return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

static CUresult a_copy(void)
{
	static char host[64];

	return cuMemcpyHtoDAsync(memory, host, 64, stream);
}

static CUresult a_fill(void)
{
	return cuMemsetD32Async(memory, 1, 4, stream);
}

static void nothing(void *arg)
{
}

static CUresult a_function(void)
{
	return cuLaunchHostFunc(stream, nothing, NULL);
}

static CUresult a_write(void)
{
	CUstreamBatchMemOpParams p = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
					      .address = memory,
					      .value = 5}};

	return cuStreamBatchMemOp(stream, 1, &p, 0);
}

static CUresult a_graph(void)
{
	CUgraph g;
	CUresult r = cuGraphCreate(&g, 0);

	return r ? r : cuGraphDestroy(g);
}

static CUresult made(CUresult r, CUgraphNode n)
{
	return r ? r : cuGraphDestroyNode(n);
}

static CUresult an_empty_node(void)
{
	CUgraphNode n = NULL;
	CUresult r = cuGraphAddEmptyNode(&n, graph, NULL, 0);

	return made(r, n);
}

static CUresult a_kernel_node(void)
{
	uint32_t v = 1;
	void *args[] = {&v, &memory};
	const CUDA_KERNEL_NODE_PARAMS p = {.func = function,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = args};
	CUgraphNode n = NULL;
	CUresult r = cuGraphAddKernelNode(&n, graph, NULL, 0, &p);

	return made(r, n);
}

static CUresult a_child(void)
{
	CUgraphNode n = NULL;
	CUresult r = cuGraphAddChildGraphNode(&n, graph, NULL, 0, built);

	return made(r, n);
}

static CUresult an_allocating_node(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
						.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = 100};
	CUgraph g;
	CUgraphNode n = NULL;
	CUresult r = cuGraphCreate(&g, 0);

	if (r)
		return r;
	r = cuGraphAddMemAllocNode(&n, g, NULL, 0, &p);
	OK(cuGraphDestroy(g));
	return r;
}

static CUresult a_clone(void)
{
	CUgraph g;
	CUresult r = cuGraphClone(&g, built);

	return r ? r : cuGraphDestroy(g);
}

static CUresult an_executable(void)
{
	CUgraphExec e;
	CUresult r = cuGraphInstantiate(&e, built, 0);

	return r ? r : cuGraphExecDestroy(e);
}

static CUresult a_graph_launch(void)
{
	return cuGraphLaunch(executable, stream);
}

static CUresult an_update(void)
{
	CUgraphExecUpdateResultInfo info;

	return cuGraphExecUpdate(executable, built, &info);
}

static CUresult a_capture(void)
{
	CUgraph g = NULL;
	CUresult r = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), end;

	if (r)
		return r;
	r = cuMemsetD32Async(memory, 1, 4, stream);
	if (!r)
		r = cuEventRecord(event, stream);
	if (!r)
		r = a_launch();
	end = cuStreamEndCapture(stream, &g);
	if (g)
		OK(cuGraphDestroy(g));
	return r ? r : end;
}

static CUresult an_object(void)
{
	CUuserObject o;
	CUresult r = cuUserObjectCreate(&o, NULL, nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);

	if (r)
		return r;
	left = -1;
	return cuUserObjectRelease(o, 1);
}

static CUresult pages(void)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const size_t n = 2 << 20;
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;
	CUresult r = cuMemAddressReserve(&p, n, 0, 0, 0);

	if (r)
		return r;
	r = cuMemCreate(&h, n, &prop, 0);
	if (!r) {
		r = cuMemMap(p, n, 0, h, 0);
		if (!r)
			OK(cuMemUnmap(p, n));
		OK(cuMemRelease(h));
	}
	OK(cuMemAddressFree(p, n));
	return r;
}

/* --- each of their allocations fails in turn --- */
static const struct {
	const char *name;
	CUresult (*call)(void);
} calls[] = {
	{"cuStreamCreate", a_stream},
	{"cuEventCreate", an_event},
	{"cuEventRecord", a_record},
	{"cuStreamWaitEvent", a_wait},
	{"cuModuleLoadData", a_module},
	{"cuLibraryLoadData", a_library},
	{"cuLinkCreate", a_link},
	{"cuCtxCreate", a_context},
	{"cuMemAlloc", an_allocation},
	{"cuMemAllocAsync", an_ordered_allocation},
	{"cuMemPoolCreate", a_pool},
	{"cuArrayCreate", an_array},
	{"cuTexObjectCreate", a_texture},
	{"cuLaunchKernel", a_launch},
	{"cuMemcpyHtoDAsync", a_copy},
	{"cuMemsetD32Async", a_fill},
	{"cuLaunchHostFunc", a_function},
	{"cuStreamBatchMemOp", a_write},
	{"cuGraphCreate", a_graph},
	{"cuGraphAddEmptyNode", an_empty_node},
	{"cuGraphAddKernelNode", a_kernel_node},
	{"cuGraphAddChildGraphNode", a_child},
	{"cuGraphAddMemAllocNode", an_allocating_node},
	{"cuGraphClone", a_clone},
	{"cuGraphInstantiate", an_executable},
	{"cuGraphLaunch", a_graph_launch},
	{"cuGraphExecUpdate", an_update},
	{"cuStreamBeginCapture", a_capture},
	{"cuUserObjectCreate", an_object},
	{"cuMemMap", pages},
};

static void one_call(size_t k)
{
	for (int n = 0;; n++) {
		CUresult r;

		failed = false;
		left = n;
		r = calls[k].call();
		left = -1;
		OK(cuStreamSynchronize(stream));
		if (!failed) {
			if (r)
				fail_msg("%s: %d", calls[k].name, r);
			return;
		}
		if (r && r != CUDA_ERROR_OUT_OF_MEMORY &&
			!(calls[k].call == an_update &&
				r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)) /* for any reason */
			fail_msg("%s: %d when allocation %d fails", calls[k].name, r, n);
		r = calls[k].call();
		if (r)
			fail_msg("%s: %d after allocation %d failed", calls[k].name, r, n);
		assert_true(n < 2000);
	}
}

static void test_short_of_memory(void **state)
{
	if (!CAN_FAIL)
		skip();
	for (size_t k = 0; k < COUNT_OF(calls); k++)
		one_call(k);
}

static int start(void **state)
{
	const CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	const CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 4, .height = 1};
	CUDA_MEMSET_NODE_PARAMS p = fill;
	CUgraphNode a, b;

	softgpu_start(state);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&function, module, "k"));
	OK(cuMemAlloc(&memory, 4096));
	OK(cuStreamCreate(&stream, 0));
	OK(cuEventCreate(&event, 0));
	OK(cuArrayCreate(&array, &d));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&built, 0));
	p.dst = memory;
	OK(cuGraphAddMemsetNode(&a, built, NULL, 0, &p, primary));
	OK(cuGraphAddEmptyNode(&b, built, &a, 1));
	OK(cuGraphInstantiate(&executable, built, 0));
	return 0;
}

static int stop(void **state)
{
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(built));
	OK(cuGraphDestroy(graph));
	OK(cuArrayDestroy(array));
	OK(cuEventDestroy(event));
	OK(cuStreamDestroy(stream));
	OK(cuMemFree(memory));
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_of_memory)};

	return cmocka_run_group_tests(tests, start, stop);
}
