/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's calls around memory and graphs: graph memory, user objects, updates that fail and
 * why, batches, advice about managed memory, linking, and several devices (TSDB_SOFT_DEVICES=3).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>

#include "locks-held.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <string.h>
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <unistd.h>

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)

/* p[i] += n for 32 threads */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<4>; .reg .b64 %d<3>;\n"
	"ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4;\n"
	"add.s64 %d0, %d0, %d1; ld.global.u32 %r2, [%d0]; add.u32 %r2, %r2, %r0; st.global.u32 [%d0], %r2; ret;\n}\n";

static CUcontext ctx;
static CUmodule module;
static CUfunction add;

static int setup(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&add, module, "add"));
	return 0;
}

static int teardown(void **state)
{
	OK(cuModuleUnload(module));
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static CUresult launch(CUdeviceptr p, uint32_t n, CUstream s)
{
	void *params[2] = {&p, &n};

	return cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

static CUgraphNode kernel_node(CUgraph g, CUdeviceptr p, uint32_t n, CUgraphNode after)
{
	void *params[2] = {&p, &n};
	CUDA_KERNEL_NODE_PARAMS k = {.func = add,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params};
	CUgraphNode ret;

	OK(cuGraphAddKernelNode(&ret, g, &after, after != NULL, &k));
	return ret;
}

/* --- graph memory --- */

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t n)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = n};
}

static void graph_memory(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(128), got;
	CUDA_MEMSET_NODE_PARAMS fill = {.value = 5, .elementSize = 4, .width = 32, .height = 1};
	CUgraphNode alloc, set, k, node;
	CUgraphExec e, e2;
	uint32_t back[32];
	CUdeviceptr out;
	cuuint64_t used;
	CUgraph g, g2;

	OK(cuMemAlloc(&out, 128));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	assert_true(p.dptr);
	OK(cuGraphMemAllocNodeGetParams(alloc, &got));
	assert_int_equal(got.dptr, p.dptr);
	assert_int_equal(got.bytesize, 128);
	fill.dst = p.dptr;
	OK(cuGraphAddMemsetNode(&set, g, &alloc, 1, &fill, ctx));
	k = kernel_node(g, p.dptr, 3, set);
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 128);
	IS(cuGraphClone(&g2, g), NOT_SUPPORTED);
	IS(cuGraphDestroyNode(k), NOT_SUPPORTED);
	OK(cuGraphCreate(&g2, 0));
	IS(cuGraphAddChildGraphNode(&node, g2, NULL, 0, g), NOT_SUPPORTED);
	OK(cuGraphDestroy(g2));
	IS(cuGraphAddMemFreeNode(&node, g, &k, 1, out), INVALID_VALUE); /* no graph's */

	/* not freed in the graph: the program owns it after a launch, and must free it before the
	 * next */
	OK(cuGraphInstantiate(&e, g, 0));
	IS(cuGraphInstantiate(&e2, g, 0), NOT_SUPPORTED);
	IS(cuMemFree(p.dptr), INVALID_VALUE); /* not allocated yet */
	OK(cuGraphLaunch(e, NULL));
	OK(cuMemcpyDtoH(back, p.dptr, 128));
	assert_int_equal(back[31], 8);
	IS(cuGraphLaunch(e, NULL), INVALID_VALUE);
	OK(cuMemFreeAsync(p.dptr, NULL));
	OK(cuGraphLaunch(e, NULL));
	OK(cuMemFree(p.dptr));
	IS(cuMemFree(p.dptr), INVALID_VALUE);
	OK(cuGraphLaunch(e, NULL));
	OK(cuGraphExecDestroy(e));
	OK(cuMemFree(p.dptr));
	OK(cuGraphInstantiate(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	OK(cuGraphLaunch(e, NULL));
	OK(cuGraphLaunch(e, NULL));
	OK(cuGraphExecDestroy(e));

	/* the memory outlives graph and executable while the program owns it */
	OK(cuGraphDestroy(g));
	OK(cuMemcpyDtoH(back, p.dptr, 128));
	assert_int_equal(back[0], 8);
	OK(cuMemFree(p.dptr));
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &used));
	assert_int_equal(used, 128);
	IS(cuMemcpyDtoH(back, p.dptr, 128), INVALID_VALUE);
	OK(cuMemFree(out));
}

/* Freed on a stream that waits for the host: the call returns, and what is before it still has the
 * memory. */
static void freed_behind_work(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(128);
	CUgraphNode alloc;
	CUdeviceptr gate, out;
	uint32_t back[32];
	CUgraphExec e;
	CUgraph g;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocManaged(&gate, 4, CU_MEM_ATTACH_GLOBAL));
	*(uint32_t *)gate = 0;
	OK(cuMemAlloc(&out, 128));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphLaunch(e, s));
	OK(cuStreamWaitValue32(s, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemsetD32Async(p.dptr, 77, 32, s));
	OK(cuMemcpyDtoDAsync(out, p.dptr, 128, s));
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));
	OK(cuMemFreeAsync(p.dptr, s));
	IS(cuMemFreeAsync(p.dptr, s), INVALID_VALUE);
	IS(cuStreamQuery(s), NOT_READY);
	__atomic_store_n((uint32_t *)gate, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, out, 128));
	assert_int_equal(back[13], 77);
	IS(cuMemcpyDtoH(back, p.dptr, 128), INVALID_VALUE); /* gone now */
	OK(cuMemFree(out));
	OK(cuMemFree(gate));
	OK(cuStreamDestroy(s));
}

/* A context ends before the graph that allocated in it: the graph must not free what others put
 * there later. */
static void context_before_graph(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(4096);
	CUdeviceptr again;
	CUgraphNode n;
	CUcontext c;
	uint32_t v;
	CUgraph g;

	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&n, g, NULL, 0, &p));
	OK(cuCtxDestroy(c));
	OK(cuMemAlloc(&again, 4096));
	assert_int_equal(again, p.dptr);
	OK(cuMemsetD32(again, 3, 1024));
	OK(cuGraphDestroy(g));
	OK(cuMemcpyDtoH(&v, again, 4));
	assert_int_equal(v, 3);
	OK(cuMemFree(again));
}

/* Nodes that use memory which has gone: an error of the launch, not a crash. */
static void freed_under_a_graph(void **state)
{
	CUDA_MEMSET_NODE_PARAMS fill = {.value = 5, .elementSize = 4, .width = 32, .height = 1};
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 32, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 128,
		.Height = 1,
		.Depth = 1};
	unsigned k;

	for (k = 0; k < 3; k++) {
		CUdeviceptr p, big;
		CUgraphNode n;
		CUgraphExec e;
		CUcontext c;
		CUgraph g;

		OK(cuCtxCreate(&c, NULL, 0, 0));
		OK(cuMemAlloc(&p, 128));
		OK(cuMemAlloc(&big, 1 << 20)); /* so that whole pages go */
		OK(cuArray3DCreate(&copy.dstArray, &d));
		OK(cuGraphCreate(&g, 0));
		fill.dst = big;
		copy.srcDevice = k == 1 ? big : p;
		if (k == 0)
			OK(cuGraphAddMemsetNode(&n, g, NULL, 0, &fill, c));
		else
			OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &copy, c));
		OK(cuGraphInstantiate(&e, g, 0));
		OK(cuGraphLaunch(e, NULL));
		OK(cuCtxSynchronize());
		OK(k == 2 ? cuArrayDestroy(copy.dstArray) : cuMemFree(big));
		OK(cuGraphLaunch(e, NULL));
		IS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
		OK(cuGraphExecDestroy(e));
		OK(cuGraphDestroy(g));
		OK(cuCtxDestroy(c));
	}
}

static void captured_memory(void **state)
{
	CUdeviceptr tmp, out, other;
	CUgraphNode nodes[8];
	CUgraphNodeType type;
	uint32_t back[32];
	size_t n = 8, i, allocs = 0, frees = 0;
	CUgraphExec e;
	CUgraph g;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&out, 128));
	OK(cuMemAllocAsync(&other, 64, s));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&tmp, 128, s));
	OK(cuMemsetD32Async(tmp, 40, 32, s));
	OK(launch(tmp, 2, s));
	OK(cuMemcpyDtoDAsync(out, tmp, 128, s));
	IS(cuMemFreeAsync(other, s), INVALID_VALUE); /* not the graph's */
	OK(cuMemFreeAsync(tmp, s));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphGetNodes(g, nodes, &n));
	assert_int_equal(n, 5);
	for (i = 0; i < n; i++) {
		OK(cuGraphNodeGetType(nodes[i], &type));
		allocs += type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
		frees += type == CU_GRAPH_NODE_TYPE_MEM_FREE;
	}
	assert_int_equal(allocs, 1);
	assert_int_equal(frees, 1);
	OK(cuGraphInstantiate(&e, g, 0));
	for (i = 0; i < 3; i++) {
		OK(cuMemsetD32Async(out, 0, 32, s));
		OK(cuGraphLaunch(e, s));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH(back, out, 128));
		assert_int_equal(back[7], 42);
	}
	IS(cuMemFree(tmp), INVALID_VALUE); /* the graph has freed it */
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));
	OK(cuMemFreeAsync(other, s));
	OK(cuStreamDestroy(s));
	OK(cuMemFree(out));
}

static void capture_to_graph(void **state)
{
	CUgraphNode first, all[4];
	CUgraph g, ended, other;
	uint32_t back[32];
	CUgraphExec e;
	CUdeviceptr p;
	CUstream s;
	size_t n = 4;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&p, 128));
	OK(cuMemsetD32Async(p, 0, 32, s));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&other, 0));
	first = kernel_node(g, p, 1, NULL);
	IS(cuStreamBeginCaptureToGraph(s, other, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED),
		INVALID_VALUE);
	OK(cuStreamBeginCaptureToGraph(s, g, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuStreamBeginCaptureToGraph(s, g, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED),
		INVALID_VALUE);
	OK(launch(p, 10, s));
	OK(launch(p, 100, s));
	OK(cuStreamEndCapture(s, &ended));
	assert_ptr_equal(ended, g);
	OK(cuGraphGetNodes(g, all, &n));
	assert_int_equal(n, 3);
	n = 1;
	OK(cuGraphNodeGetDependencies(all[1], all + 3, NULL, &n));
	assert_ptr_equal(all[3], first);
	/* an invalid capture leaves the graph to the program */
	OK(cuStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
	IS(cuStreamSynchronize(s), STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s, &ended), STREAM_CAPTURE_INVALIDATED);
	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphLaunch(e, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, p, 128));
	assert_int_equal(back[30], 111);
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(other));
	OK(cuStreamDestroy(s));
	OK(cuMemFree(p));
}

/* --- updates --- */

static void updates(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUDA_MEMSET_NODE_PARAMS fill = {.value = 5, .elementSize = 4, .width = 32, .height = 1};
	CUgraphNode a, b, c, x, y, z;
	CUgraph g, h, child;
	uint32_t back[32];
	CUgraphExec e;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, 128));
	OK(cuMemsetD32(p, 0, 32));
	OK(cuGraphCreate(&g, 0));
	a = kernel_node(g, p, 1, NULL);
	b = kernel_node(g, p, 10, a);
	c = kernel_node(g, p, 100, b);
	OK(cuGraphInstantiate(&e, g, 0));

	OK(cuGraphCreate(&h, 0));
	x = kernel_node(h, p, 2, NULL);
	y = kernel_node(h, p, 20, x);
	IS(cuGraphExecUpdate(e, h, &info), GRAPH_EXEC_UPDATE_FAILURE); /* a node too few */
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	z = kernel_node(h, p, 200, x);
	IS(cuGraphExecUpdate(e, h, &info), GRAPH_EXEC_UPDATE_FAILURE); /* another edge */
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_ptr_equal(info.errorNode, z);
	assert_ptr_equal(info.errorFromNode, c);
	OK(cuGraphDestroyNode(z));
	fill.dst = p;
	OK(cuGraphAddMemsetNode(&z, h, &y, 1, &fill, ctx));
	IS(cuGraphExecUpdate(e, h, &info), GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	assert_ptr_equal(info.errorNode, z);
	OK(cuGraphDestroyNode(z));
	kernel_node(h, p, 200, y);
	OK(cuGraphLaunch(e, NULL)); /* failures left it as it was */
	OK(cuMemcpyDtoH(back, p, 128));
	assert_int_equal(back[3], 111);
	OK(cuGraphExecUpdate(e, h, &info));
	OK(cuGraphLaunch(e, NULL));
	OK(cuMemcpyDtoH(back, p, 128));
	assert_int_equal(back[3], 333);
	OK(cuGraphExecDestroy(e));

	/* a child graph in place of another of the same shape */
	OK(cuGraphCreate(&child, 0));
	OK(cuGraphAddChildGraphNode(&x, child, NULL, 0, g));
	kernel_node(child, p, 1000, x);
	OK(cuGraphInstantiate(&e, child, 0));
	OK(cuGraphExecChildGraphNodeSetParams(e, x, h));
	OK(cuGraphLaunch(e, NULL));
	OK(cuMemcpyDtoH(back, p, 128));
	assert_int_equal(back[3], 333 + 222 + 1000);
	IS(cuGraphExecChildGraphNodeSetParams(e, x, child), INVALID_VALUE);
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(child));
	OK(cuGraphDestroy(h));
	OK(cuGraphDestroy(g));
	OK(cuMemFree(p));
}

static void dot(void **state)
{
	char path[] = "/tmp/tsdb-dot-XXXXXX", text[2000] = "";
	CUdeviceptr p;
	CUgraphNode n;
	CUgraph g;
	FILE *f;

	close(mkstemp(path));
	OK(cuMemAlloc(&p, 128));
	OK(cuGraphCreate(&g, 0));
	n = kernel_node(g, p, 1, NULL);
	kernel_node(g, p, 1, n);
	OK(cuGraphDebugDotPrint(g, path, 0));
	IS(cuGraphDebugDotPrint(g, "/nonexistent/x", 0), OPERATING_SYSTEM);
	f = fopen(path, "r");
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	unlink(path);
	assert_non_null(strstr(text, "digraph"));
	assert_non_null(strstr(text, "KERNEL\\nadd\\n<<<(1,1,1), (32,1,1), 0>>>"));
	assert_non_null(strstr(text, " -> "));
	OK(cuGraphDestroy(g));
	OK(cuMemFree(p));
}

/* --- user objects --- */

static int destroyed;

static void destroy(void *data)
{
	CUdeviceptr p;

	destroyed += *(int *)data;
	IS(cuMemAlloc(&p, 4), NOT_PERMITTED);
}

static void user_objects(void **state)
{
	int one = 1, ten = 10;
	CUuserObject a, b;
	CUgraph g, clone;
	CUgraphNode n;
	CUgraphExec e;

	destroyed = 0;
	IS(cuUserObjectCreate(&a, &one, destroy, 1, 0), INVALID_VALUE);
	IS(cuUserObjectCreate(&a, &one, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
		INVALID_VALUE);
	OK(cuUserObjectCreate(&a, &one, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuUserObjectCreate(&b, &ten, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuUserObjectRetain(a, 1));
	OK(cuUserObjectRelease(a, 2));
	IS(cuUserObjectRelease(a, 2), INVALID_VALUE);
	assert_int_equal(destroyed, 0);
	OK(cuUserObjectRelease(a, 1));
	assert_int_equal(destroyed, 1);
	IS(cuUserObjectRetain(a, 1), INVALID_VALUE);

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddEmptyNode(&n, g, NULL, 0));
	OK(cuGraphRetainUserObject(g, b, 1, CU_GRAPH_USER_OBJECT_MOVE));
	OK(cuGraphRetainUserObject(g, b, 3, 0));
	OK(cuGraphReleaseUserObject(g, b, 2));
	IS(cuGraphReleaseUserObject(g, b, 3), INVALID_VALUE);
	OK(cuGraphClone(&clone, g));
	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(clone));
	assert_int_equal(destroyed, 1);
	OK(cuGraphExecDestroy(e));
	assert_int_equal(destroyed, 11);
}

/* --- batches --- */

static void batches(void **state)
{
	CUstreamBatchMemOpParams ops[3] = {0};
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = {.count = 2, .paramArray = ops}, got;
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr m, dsts[2], srcs[2];
	size_t sizes[2] = {4, 8}, first = 0;
	uint32_t back[8];
	CUgraphNode n;
	CUgraphExec e;
	CUgraph g;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemAlloc(&m, 64));
	OK(cuMemsetD32(m, 0, 16));
	ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[0].writeValue.address = m;
	ops[0].writeValue.value = 7;
	ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	ops[1].waitValue.address = m;
	ops[1].waitValue.value = 7;
	ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	ops[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	ops[2].writeValue.address = m + 8;
	ops[2].writeValue.value64 = 0x500000006ull;
	OK(cuStreamBatchMemOp(s, 3, ops, 0));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, m, 16));
	assert_int_equal(back[0], 7);
	assert_int_equal(back[2], 6);
	assert_int_equal(back[3], 5);
	IS(cuStreamBatchMemOp(s, 256, ops, 0), INVALID_VALUE);
	ops[1].waitValue.address = m + 2;
	IS(cuStreamBatchMemOp(s, 3, ops, 0), INVALID_VALUE);
	ops[1].waitValue.address = m;
	ops[0].writeValue.value = 9;
	ops[1].waitValue.value = 9;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
	OK(cuGraphBatchMemOpNodeGetParams(n, &got));
	assert_int_equal(got.count, 2);
	assert_int_equal(got.paramArray[1].waitValue.value, 9);
	assert_int_equal(got.paramArray[1].operation, CU_STREAM_MEM_OP_WAIT_VALUE_32);
	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphLaunch(e, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, m, 4));
	assert_int_equal(back[0], 9);
	p.paramArray = ops + 2;
	p.count = 1;
	ops[2].writeValue.value64 = 1;
	OK(cuGraphExecBatchMemOpNodeSetParams(e, n, &p));
	OK(cuGraphLaunch(e, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, m, 16));
	assert_int_equal(back[2], 1);
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));

	dsts[0] = m + 32;
	dsts[1] = (CUdeviceptr)&back[4];
	srcs[0] = m;
	srcs[1] = m + 8;
	OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attr, &first, 1, s));
	OK(cuStreamSynchronize(s));
	assert_int_equal(back[4], 1);
	OK(cuMemcpyDtoH(back, m + 32, 4));
	assert_int_equal(back[0], 9);
	IS(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attr, &first, 1, NULL), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attr, &first, 3, s), INVALID_VALUE);
	OK(cuMemFree(m));
	OK(cuStreamDestroy(s));
}

/* --- managed memory --- */

static int asked(CUmem_range_attribute what, CUdeviceptr p, size_t n)
{
	int v;

	OK(cuMemRangeGetAttribute(&v, 4, what, p, n));
	return v;
}

static void managed(void **state)
{
	CUmemLocation dev1 = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
		      host = {.type = CU_MEM_LOCATION_TYPE_HOST},
		      none = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 3};
	CUdeviceptr p, d;
	int by[3];

	OK(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemAlloc(&d, 64));
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192), 0);
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192), -2);
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8192), -2);
	OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), 1);
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192), 0); /* not all of it */
	OK(cuMemAdvise(p + 64, 64, CU_MEM_ADVISE_UNSET_READ_MOSTLY, host));
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), 0);
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 128, 64), 1);
	OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev1));
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192), 1);
	OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, dev1));
	OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
	OK(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8192));
	assert_int_equal(by[0], 1);
	assert_int_equal(by[1], -1);
	assert_int_equal(by[2], -2);
	OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_UNSET_ACCESSED_BY, dev1));
	OK(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8192));
	assert_int_equal(by[0], -1);
	assert_int_equal(by[1], -2);
	OK(cuMemPrefetchAsync(p, 8192, host, 0, NULL));
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8192), -1);
	IS(cuMemPrefetchAsync(p, 8193, host, 0, NULL), INVALID_VALUE);
	IS(cuMemPrefetchAsync(p, 8192, none, 0, NULL), INVALID_DEVICE);
	IS(cuMemPrefetchAsync(d, 64, host, 0, NULL), INVALID_VALUE);
	IS(cuMemAdvise(p, 8192, (CUmem_advise)9, host), INVALID_VALUE);
	IS(cuMemRangeGetAttribute(by, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192),
		INVALID_VALUE);
	IS(cuMemRangeGetAttribute(by, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192),
		INVALID_VALUE);
	OK(cuMemFree(p));
	OK(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL)); /* the same addresses, unadvised */
	assert_int_equal(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192), -2);
	OK(cuMemFree(p));
	OK(cuMemFree(d));
}

/* --- several devices --- */

static void devices(void **state)
{
	CUcontext other, now;
	CUdeviceptr a, b, x;
	CUuuid u0, u1;
	size_t free0, free1, total;
	uint32_t back[32];
	int n, ordinal, can;
	char pci[16];
	CUdevice dev;
	CUmodule m;
	CUfunction f, was = add;
	CUevent e;
	CUstream s;

	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 3);
	IS(cuDeviceGet(&dev, 3), INVALID_DEVICE);
	OK(cuDeviceGetUuid(&u0, 0));
	OK(cuDeviceGetUuid(&u1, 1));
	assert_memory_not_equal(&u0, &u1, sizeof(u0));
	OK(cuDeviceGetPCIBusId(pci, sizeof(pci), 2));
	OK(cuDeviceGetByPCIBusId(&dev, pci));
	assert_int_equal(dev, 2);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	assert_int_equal(can, 1);
	OK(cuDeviceCanAccessPeer(&can, 1, 1));
	assert_int_equal(can, 0);

	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemAlloc(&a, 1 << 20));
	OK(cuMemsetD32(a, 1, 32));
	OK(cuDevicePrimaryCtxRetain(&other, 1));
	OK(cuCtxPushCurrent(other));
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(dev, 1);
	OK(cuMemAlloc(&b, 128));
	assert_true(b - a > 200ull << 30); /* its own range of addresses */
	OK(cuMemGetInfo(&free1, &total));
	assert_true(free1 > free0 - (1 << 20) + 4096); /* and its own memory */
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
	assert_int_equal(ordinal, 1);
	OK(cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_CONTEXT, b));
	assert_ptr_equal(now, other);
	OK(cuMemcpyPeer(b, other, a, ctx, 128));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "add"));
	add = f;
	OK(launch(b, 4, NULL));
	OK(cuMemcpyDtoH(back, b, 128));
	assert_int_equal(back[5], 5);

	/* the other's memory, once it is enabled */
	OK(cuCtxEnablePeerAccess(ctx, 0));
	IS(cuCtxEnablePeerAccess(ctx, 0), PEER_ACCESS_ALREADY_ENABLED);
	IS(cuCtxEnablePeerAccess(other, 0), INVALID_CONTEXT);
	OK(launch(a, 10, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(back, a, 128));
	assert_int_equal(back[5], 11);
	OK(cuCtxDisablePeerAccess(ctx));
	IS(cuCtxDisablePeerAccess(ctx), PEER_ACCESS_NOT_ENABLED);
	/* events order across devices */
	OK(cuEventCreate(&e, 0));
	OK(launch(b, 1, NULL));
	OK(cuEventRecord(e, NULL));
	OK(cuCtxPopCurrent(NULL));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitEvent(s, e, 0));
	OK(cuMemcpyPeerAsync(a, ctx, b, other, 128, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, a, 128));
	assert_int_equal(back[31], 6);
	OK(cuStreamDestroy(s));

	/* without: the launch faults, and only that context ends */
	OK(cuCtxPushCurrent(other));
	OK(launch(a, 1, NULL));
	IS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
	IS(cuMemAlloc(&x, 4), ILLEGAL_ADDRESS);
	OK(cuCtxPopCurrent(NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(back, a, 128));
	assert_int_equal(back[0], 6);
	OK(cuDevicePrimaryCtxReset(1));
	add = was;
	OK(cuMemFree(a));
}

static void pools_of_devices(void **state)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2}};
	CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAccess_flags flags;
	CUmemoryPool pool, p0;
	uint32_t back[32];
	CUdeviceptr p;
	int ordinal;

	OK(cuMemPoolCreate(&pool, &props));
	OK(cuDeviceGetDefaultMemPool(&p0, 0));
	IS(cuDeviceSetMemPool(0, pool), INVALID_VALUE);
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemAllocFromPoolAsync(&p, 128, pool, NULL));
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
	assert_int_equal(ordinal, 2);
	OK(cuMemsetD32(p, 3, 32));
	OK(launch(p, 1, NULL)); /* device 0 may */
	OK(cuMemcpyDtoH(back, p, 128));
	assert_int_equal(back[9], 4);
	OK(cuMemFreeAsync(p, NULL));
	OK(cuMemPoolDestroy(pool));
}

/* --- linking --- */

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
/* Both have a private `helper` and a private `secret`; the first uses the second's `twice` and
 * `shared_value`, declared extern; both have a weak `common`. */
static const char link_a[] = HEAD
	"// \"quote { in a comment\n.extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .global .b32 shared_value;\n"
	".global .b32 secret = 3;\n"
	".func (.param .b32 r) helper(.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r0, [x]; ld.global.b32 %r1, [secret]; add.u32 %r0, %r0, %r1;"
	" st.param.b32 [r], %r0; ret; }\n"
	".weak .func (.param .b32 r) common(.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r0, [x]; add.u32 %r0, %r0, 1000; st.param.b32 [r], %r0; ret; }\n"
	".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d0, [p]; mov.u32 %r0, 5;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), helper, (a); ld.param.b32 %r0, [b]; }\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), twice, (a); ld.param.b32 %r0, [b]; }\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), common, (a); ld.param.b32 %r0, [b]; }\n"
	"ld.global.b32 %r1, [shared_value]; add.u32 %r0, %r0, %r1; st.global.u32 [%d0], %r0; ret; }\n";
static const char link_b[] = HEAD
	".global .b32 secret = 100;\n.visible .global .b32 shared_value = 10000;\n"
	".weak .func (.param .b32 r) common(.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r0, [x]; add.u32 %r0, %r0, 1000; st.param.b32 [r], %r0; ret; }\n"
	".func (.param .b32 r) helper(.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r0, [x]; ld.global.b32 %r1, [secret]; add.u32 %r0, %r0, %r1;"
	" st.param.b32 [r], %r0; ret; }\n"
	".visible .func (.param .b32 r) twice(.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r0, [x]; add.u32 %r0, %r0, %r0;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), helper, (a); ld.param.b32 %r0, [b]; }\n st.param.b32 [r], %r0; ret; }\n";

static CUresult linked(const char *const *texts, unsigned n, char *log, CUmodule *m)
{
	CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[2] = {log, (void *)256}, *image;
	CUlinkState l;
	size_t size;
	CUresult r;

	OK(cuLinkCreate(2, options, values, &l));
	for (unsigned i = 0; i < n; i++)
		OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)texts[i], strlen(texts[i]) + 1,
			"text", 0, NULL, NULL));
	r = cuLinkComplete(l, &image, &size);
	if (r == CUDA_SUCCESS)
		OK(cuModuleLoadData(m, image));
	OK(cuLinkDestroy(l));
	IS(cuLinkDestroy(l), INVALID_HANDLE);
	return r;
}

static void linking(void **state)
{
	const char *both[2] = {link_a, link_b}, *swapped[2] = {link_b, link_a},
		   *twice[2] = {link_b, link_b}, *bad[1] = {HEAD ".visible .entry k( {"},
		   *junk[2] = {link_a, "\"unended /* { \\"};
	char log[256] = "";
	CUdeviceptr p;
	CUlinkState l;
	CUfunction f;
	CUmodule m;
	uint32_t v;

	OK(cuMemAlloc(&p, 4));
	for (unsigned i = 0; i < 2; i++) {
		void *params[1] = {&p};

		OK(linked(i ? swapped : both, 2, log, &m));
		OK(cuModuleGetFunction(&f, m, "k"));
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		OK(cuMemcpyDtoH(&v, p, 4));
		assert_int_equal(v, (5 + 3) * 2 + 100 + 1000 + 10000);
		OK(cuModuleUnload(m));
	}
	IS(linked(twice, 2, log, &m), INVALID_PTX);
	assert_non_null(strstr(log, "defined before"));
	IS(linked(bad, 1, log, &m), INVALID_PTX);
	assert_true(linked(junk, 2, log, &m) != CUDA_SUCCESS);
	OK(cuLinkCreate(0, NULL, NULL, &l));
	IS(cuLinkComplete(l, (void **)&m, NULL), INVALID_VALUE);
	IS(cuLinkAddData(
		   l, CU_JIT_INPUT_LIBRARY, (void *)link_a, sizeof(link_a), "x", 0, NULL, NULL),
		NOT_SUPPORTED);
	IS(cuLinkAddData(l, CU_JIT_INPUT_CUBIN, (void *)link_a, sizeof(link_a), "x", 0, NULL, NULL),
		NO_BINARY_FOR_GPU);
	IS(cuLinkAddData(l, CU_JIT_INPUT_FATBINARY,
		   (void *)"\x50\xed\x55\xba\1\0\x10\0\xff\xff\xff\xff\0\0\0\0", 16, "x", 0, NULL,
		   NULL),
		INVALID_IMAGE);
	IS(cuLinkAddFile(l, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL), FILE_NOT_FOUND);
	OK(cuLinkDestroy(l));
	OK(cuMemFree(p));
}

/* --- occupancy: what the toolkit's own calculator says --- */

static CUmodule with_registers(unsigned n, CUfunction *f)
{
	static char text[65536];
	size_t at = (size_t)sprintf(text,
		HEAD
		".visible .entry k(.param .u64 p)\n{ .reg .b32 %%r<%u>; .reg .b64 %%d<2>; .shared .b8 s[100]; ld.param.u64 %%d0, [p];\n",
		n + 2);
	CUmodule m;
	unsigned i;

	for (i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "ld.global.u32 %%r%u, [%%d0+%u];\n", i, 4 * i);
	at += (size_t)sprintf(text + at, "st.shared.u32 [s], %%r0;\n");
	for (i = 0; i < n; i++)
		at += (size_t)sprintf(
			text + at, "st.global.u32 [%%d0+%u], %%r%u;\n", 4 * i, n - 1 - i);
	sprintf(text + at, "ret; }\n");
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(f, m, "k"));
	return m;
}

static int figure(CUdevice_attribute a)
{
	int v;

	OK(cuDeviceGetAttribute(&v, a, 0));
	return v;
}

static void occupancy(void **state)
{
	cudaOccDeviceProp p = {0};
	cudaOccDeviceState st = {0};
	unsigned n, tried = 0;

	p.computeMajor = figure(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	p.computeMinor = figure(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	p.maxThreadsPerBlock = figure(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	p.maxThreadsPerMultiprocessor = figure(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	p.regsPerBlock = figure(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
	p.regsPerMultiprocessor = figure(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
	p.warpSize = 32;
	p.sharedMemPerBlock = (size_t)figure(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
	p.sharedMemPerMultiprocessor =
		(size_t)figure(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	p.sharedMemPerBlockOptin =
		(size_t)figure(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	p.reservedSharedMemPerBlock =
		(size_t)figure(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	p.numSms = figure(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	st.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
	for (n = 2; n < 240; n += 17) {
		cudaOccFuncAttributes a = {.partitionedGCConfig = PARTITIONED_GC_OFF,
			.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN};
		CUfunction f;
		CUmodule m = with_registers(n, &f);
		size_t dyn;
		int block, v, best, grid;

		OK(cuFuncSetAttribute(
			f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536 - 100));
		OK(cuFuncGetAttribute(&a.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
		OK(cuFuncGetAttribute(
			&a.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
		OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
		assert_int_equal(v, 100);
		assert_true(a.numRegs >= (int)n);
		a.sharedSizeBytes = 100;
		a.maxDynamicSharedSizeBytes = 65536 - 100;
		for (block = 1; block <= 1024; block += block < 70 ? 3 : 31)
			for (dyn = 0; dyn <= 65536 - 100; dyn += 2345, tried++) {
				cudaOccResult want;

				assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(
							 &want, &p, &a, &st, block, dyn),
					CUDA_OCC_SUCCESS);
				OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, block, dyn));
				if (v != want.activeBlocksPerMultiprocessor)
					fail_msg(
						"%d registers, %d threads, %zu bytes: %d blocks, should be %d",
						a.numRegs, block, dyn, v,
						want.activeBlocksPerMultiprocessor);
			}
		assert_int_equal(
			cudaOccMaxPotentialOccupancyBlockSize(&grid, &best, &p, &a, &st, NULL, 0),
			CUDA_OCC_SUCCESS);
		OK(cuOccupancyMaxPotentialBlockSize(&v, &block, f, NULL, 0, 0));
		assert_int_equal(block, best);
		assert_int_equal(v, grid);
		OK(cuModuleUnload(m));
	}
	assert_true(tried > 10000);
}

/* "CUDA Driver API", cuMemcpyBatchAsync: not in the legacy default stream; attributes are for the
 * copies from their index on, from 0 and upwards. */
static void test_copies_in_a_batch(void **state)
{
	CUmemcpyAttributes attrs[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
		{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY}},
			   odd = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID};
	size_t from[2] = {0, 1}, sizes[2] = {4, 4}, back[2] = {0, 0}, late[2] = {1, 1},
	       beyond[2] = {0, 2};
	CUdeviceptr d, dst[2], src[2];
	unsigned words[4] = {1, 2, 0, 0};
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&d, 16));
	OK(cuMemcpyHtoD(d, words, 16));
	for (unsigned i = 0; i < 2; i++) {
		dst[i] = d + 12 - 4 * i;
		src[i] = d + 4 * i;
	}
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, from, 2, NULL), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, back, 2, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, late, 2, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, beyond, 2, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, from, 0, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 0, attrs, from, 1, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 1, attrs, from, 2, s), INVALID_VALUE);
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, &odd, from, 1, s), INVALID_VALUE);
	OK(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, from, 2, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(words, d, 16));
	assert_int_equal(words[3], 1);
	assert_int_equal(words[2], 2);
	dst[1] = d + 14; /* over the end */
	IS(cuMemcpyBatchAsync(dst, src, sizes, 2, attrs, from, 1, s), INVALID_VALUE);
	OK(cuStreamSynchronize(s));
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
}

/* "CUDA Driver API", cuMemPrefetchBatchAsync, cuMemDiscardBatchAsync: managed memory alone, and
 * locations for the ranges from their index on, from 0 and upwards. */
static void test_managed_memory_in_a_batch(void **state)
{
	enum { N = 4 };
	CUmemLocation where[N];
	static const struct {
		size_t idx[N], n, count;
		bool good;
	} rows[] = {
		{{0}, 1, N, true},
		{{0}, 1, 1, true},
		{{0, 1, 2, 3}, 4, N, true},
		{{0, 3}, 2, N, true},
		{{0, 1, 3}, 3, N, true},
		{{0, 2, 3}, 3, N, true},
		{{0, 1, 1}, 3, N, false},
		{{0, 2, 1}, 3, N, false},
		{{0, 0}, 2, N, false},
		{{1}, 1, N, false},
		{{0, 4}, 2, N, false},
		{{0, 1}, 2, 1, false},
		{{0}, 0, N, false},
		{{0}, 1, 0, false},
	};
	CUdeviceptr at[N], plain;
	size_t sizes[N];
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&plain, 64));
	for (unsigned i = 0; i < N; i++) {
		OK(cuMemAllocManaged(&at[i], 4096, CU_MEM_ATTACH_GLOBAL));
		sizes[i] = 4096;
		where[i] = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE};
	}
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t idx[N];

		memcpy(idx, rows[i].idx, sizeof idx);
		for (unsigned both = 0; both < 2; both++) {
			const CUresult r =
				both ? cuMemDiscardAndPrefetchBatchAsync(at, sizes, rows[i].count,
					       where, idx, rows[i].n, 0, s)
				     : cuMemPrefetchBatchAsync(at, sizes, rows[i].count, where, idx,
					       rows[i].n, 0, s);

			if (r != (rows[i].good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
				fail_msg("row %u: %d", i, r);
		}
	}
	size_t idx[N] = {0, 1};

	where[1].id = 77; /* no such device */
	IS(cuMemPrefetchBatchAsync(at, sizes, N, where, idx, 2, 0, s), INVALID_DEVICE);
	where[1].type = CU_MEM_LOCATION_TYPE_HOST;
	OK(cuMemPrefetchBatchAsync(at, sizes, N, where, idx, 2, 0, s));
	where[1].type = CU_MEM_LOCATION_TYPE_INVALID;
	IS(cuMemPrefetchBatchAsync(at, sizes, N, where, idx, 2, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(at, sizes, N, where, idx, 1, 1, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(NULL, sizes, N, where, idx, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(at, NULL, N, where, idx, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(at, sizes, N, NULL, idx, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(at, sizes, N, where, NULL, 1, 0, s), INVALID_VALUE);
	OK(cuMemDiscardBatchAsync(at, sizes, N, 0, s));
	IS(cuMemDiscardBatchAsync(at, sizes, N, 1, s), INVALID_VALUE);
	sizes[3] = 0;
	IS(cuMemDiscardBatchAsync(at, sizes, N, 0, s), INVALID_VALUE);
	sizes[3] = (size_t)1 << 40; /* over the end */
	IS(cuMemDiscardBatchAsync(at, sizes, N, 0, s), INVALID_VALUE);
	sizes[3] = 64;
	OK(cuMemDiscardBatchAsync(at, sizes, N, 0, s));
	const CUdeviceptr managed = at[3];

	at[3] = plain; /* not managed */
	IS(cuMemDiscardBatchAsync(at, sizes, N, 0, s), INVALID_VALUE);
	OK(cuMemDiscardBatchAsync(at, sizes, 3, 0, s));
	at[3] = managed;
	for (unsigned i = 0; i < N; i++)
		OK(cuMemFree(at[i]));
	OK(cuMemFree(plain));
	OK(cuStreamDestroy(s));
}

static void test_wrong_links(void **state)
{
	static char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			     ".visible .global .u32 linked = 5;\n";
	static const struct {
		CUjitInputType type;
		CUresult want;
	} types[] = {{CU_JIT_INPUT_CUBIN, CUDA_ERROR_NO_BINARY_FOR_GPU},
		{CU_JIT_INPUT_OBJECT, CUDA_ERROR_NOT_SUPPORTED},
		{CU_JIT_INPUT_LIBRARY, CUDA_ERROR_NOT_SUPPORTED},
		{CU_JIT_INPUT_NVVM, CUDA_ERROR_NOT_SUPPORTED},
		{CU_JIT_NUM_INPUT_TYPES, CUDA_ERROR_INVALID_VALUE}};
	CUjit_option option = CU_JIT_LOG_VERBOSE;
	void *value = NULL, *image, *again;
	size_t size = 0, bytes;
	CUlinkState l;
	CUdeviceptr at;
	unsigned word = 0;
	CUmodule m;

	(void)state;
	IS(cuLinkCreate(0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLinkCreate(1, NULL, &value, &l), INVALID_VALUE);
	IS(cuLinkCreate(1, &option, NULL, &l), INVALID_VALUE);
	OK(cuLinkCreate(1, &option, &value, &l));
	IS(cuLinkAddData(l, CU_JIT_INPUT_PTX, NULL, 10, "x", 0, NULL, NULL), INVALID_VALUE);
	IS(cuLinkAddData(l, CU_JIT_INPUT_PTX, text, 0, "x", 0, NULL, NULL), INVALID_VALUE);
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		assert_int_equal(
			cuLinkAddData(l, types[i].type, text, sizeof(text), "x", 0, NULL, NULL),
			types[i].want);
	IS(cuLinkAddFile(l, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL), INVALID_VALUE);
	IS(cuLinkComplete(l, &image, &size), INVALID_VALUE); /* nothing was taken */
	/* a text need not end with a NUL, or has more behind it */
	OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, text, strlen(text), NULL, 0, NULL, NULL));
	IS(cuLinkComplete(l, NULL, &size), INVALID_VALUE);
	OK(cuLinkComplete(l, &image, &size));
	assert_true(size >= strlen(text) && !((char *)image)[strlen(image)]);
	OK(cuLinkComplete(l, &again, NULL));
	assert_ptr_equal(image, again);
	IS(cuLinkAddData(l, CU_JIT_INPUT_PTX, text, sizeof(text), "x", 0, NULL, NULL),
		INVALID_VALUE);
	OK(cuModuleLoadData(&m, image));
	OK(cuModuleGetGlobal(&at, &bytes, m, "linked"));
	OK(cuMemcpyDtoH(&word, at, 4));
	assert_int_equal(word, 5);
	OK(cuModuleUnload(m));
	OK(cuLinkDestroy(l));
	IS(cuLinkAddData(l, CU_JIT_INPUT_PTX, text, sizeof(text), "x", 0, NULL, NULL),
		INVALID_HANDLE);
}

/* Programs that look names up by themselves find those without a suffix, too. */
static void old_names(void **state)
{
	static const char *const names[] = {"cuArrayCreate", "cuDeviceTotalMem", "cuMemAlloc",
		"cuMemFree", "cuMemGetInfo", "cuMemcpy3DAsync", "cuMemcpyHtoD", "cuMemsetD2D32",
		"cuModuleGetGlobal", "cuTexRefSetAddress2D", "cuIpcOpenMemHandle", "cuLinkAddData",
		"cuLinkAddFile", "cuLinkCreate", "cuMemHostRegister"};
	static char page[8192];
	CUresult (*alloc)(unsigned *, unsigned);
	CUresult (*pin)(void *, size_t, unsigned);
	unsigned addr = 7;
	void *p;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!dlsym(RTLD_DEFAULT, names[i]))
			fail_msg("%s is not there", names[i]);
	*(void **)&alloc = dlsym(RTLD_DEFAULT, "cuMemAlloc");
	IS(alloc(&addr, 4), NOT_SUPPORTED);
	assert_int_equal(addr, 7);
	*(void **)&pin = dlsym(RTLD_DEFAULT, "cuMemHostRegister");
	OK(pin(page, sizeof(page), 0));
	OK(cuMemHostUnregister(page));
	/* cuGetProcAddress gives the newest one that the program's version has */
	OK(cuGetProcAddress("cuMemAlloc", &p, 13000, 0, NULL));
	assert_ptr_equal(p, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_in_a_batch),
		cmocka_unit_test(test_managed_memory_in_a_batch),
		cmocka_unit_test(graph_memory),
		cmocka_unit_test(context_before_graph),
		cmocka_unit_test(freed_behind_work),
		cmocka_unit_test(freed_under_a_graph),
		cmocka_unit_test(captured_memory),
		cmocka_unit_test(capture_to_graph),
		cmocka_unit_test(updates),
		cmocka_unit_test(dot),
		cmocka_unit_test(user_objects),
		cmocka_unit_test(batches),
		cmocka_unit_test(managed),
		cmocka_unit_test(old_names),
		cmocka_unit_test(devices),
		cmocka_unit_test(pools_of_devices),
		cmocka_unit_test(linking),
		cmocka_unit_test(test_wrong_links),
		cmocka_unit_test(occupancy),
	};

	setenv("TSDB_SOFT_DEVICES", "3", 1);
	return cmocka_run_group_tests(tests, setup, teardown);
}
