/* SPDX-License-Identifier: Apache-2.0
 *
 * One thing said to the runtime and asked of the driver: what a node was given must come back by
 * both, edges too; entry points of both kinds of default stream; a context's arrays end with it.
 */
#include "softgpu-test.h"

#include <cuda_runtime_api.h>
#include <string.h>

#define RT(call) assert_int_equal(call, cudaSuccess)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry k(.param .u32 n) { ret; }\n"
			  ".visible .entry l(.param .u32 n) { ret; }\n";

static cudaLibrary_t library;
static cudaKernel_t kernels[2];

static int start(void **state)
{
	softgpu_start(state);
	RT(cudaSetDevice(0));
	RT(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	RT(cudaLibraryGetKernel(&kernels[0], library, "k"));
	RT(cudaLibraryGetKernel(&kernels[1], library, "l"));
	return 0;
}

static int stop(void **state)
{
	RT(cudaLibraryUnload(library));
	return softgpu_stop(state);
}

/* --- nodes --- */

static struct cudaGraphNodeParams kernel_node(cudaKernel_t k, unsigned first, void **args)
{
	return (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeKernel,
		.kernel = {.func = (void *)k,
			.gridDim = {first, first + 1, first + 2},
			.blockDim = {first + 3, first + 4, first + 5},
			.sharedMemBytes = 16 * first,
			.kernelParams = args}};
}

static void is_kernel(cudaGraphNode_t node, unsigned which, unsigned first, unsigned value)
{
	CUDA_KERNEL_NODE_PARAMS d;
	struct cudaKernelNodeParams r;

	OK(cuGraphKernelNodeGetParams(node, &d));
	assert_ptr_equal(d.kern, kernels[which]);
	assert_int_equal(d.gridDimX, first);
	assert_int_equal(d.gridDimY, first + 1);
	assert_int_equal(d.gridDimZ, first + 2);
	assert_int_equal(d.blockDimX, first + 3);
	assert_int_equal(d.blockDimY, first + 4);
	assert_int_equal(d.blockDimZ, first + 5);
	assert_int_equal(d.sharedMemBytes, 16 * first);
	assert_int_equal(*(unsigned *)d.kernelParams[0], value);
	RT(cudaGraphKernelNodeGetParams(node, &r));
	assert_int_equal(r.gridDim.x * 10000 + r.gridDim.y * 100 + r.gridDim.z,
		first * 10000 + (first + 1) * 100 + first + 2);
	assert_int_equal(r.blockDim.x * 10000 + r.blockDim.y * 100 + r.blockDim.z,
		(first + 3) * 10000 + (first + 4) * 100 + first + 5);
	assert_int_equal(r.sharedMemBytes, 16 * first);
	assert_int_equal(*(unsigned *)r.kernelParams[0], value);
}

static void test_kernels(void **state)
{
	unsigned value = 41;
	void *args[] = {&value};
	struct cudaGraphNodeParams p = kernel_node(kernels[0], 2, args);
	struct cudaKernelNodeParams k;
	cudaGraphNode_t a, b;
	cudaGraph_t g;

	RT(cudaGraphCreate(&g, 0));
	RT(cudaGraphAddNode(&a, g, NULL, NULL, 0, &p));
	value = 7;
	is_kernel(a, 0, 2, 41);
	k = (struct cudaKernelNodeParams){.func = (void *)kernels[1],
		.gridDim = {3, 4, 5},
		.blockDim = {6, 7, 8},
		.sharedMemBytes = 48,
		.kernelParams = args};
	RT(cudaGraphAddKernelNode(&b, g, &a, 1, &k));
	is_kernel(b, 1, 3, 7);
	value = 8;
	RT(cudaGraphKernelNodeSetParams(a, &k));
	is_kernel(a, 1, 3, 8);
	p = kernel_node(kernels[0], 1, args);
	value = 9;
	RT(cudaGraphNodeSetParams(b, &p));
	is_kernel(b, 0, 1, 9);
	is_kernel(a, 1, 3, 8);
	RT(cudaGraphDestroy(g));
}

static void test_fills(void **state)
{
	struct cudaMemsetParams p = {.elementSize = 2,
					.value = 0x1234,
					.width = 5,
					.height = 3,
					.pitch = 64},
				r;
	CUDA_MEMSET_NODE_PARAMS d;
	cudaGraphNode_t n;
	cudaGraph_t g;
	void *memory;

	RT(cudaMalloc(&memory, 512));
	RT(cudaGraphCreate(&g, 0));
	p.dst = memory;
	RT(cudaGraphAddMemsetNode(&n, g, NULL, 0, &p));
	for (unsigned k = 0; k < 2; k++) {
		OK(cuGraphMemsetNodeGetParams(n, &d));
		assert_int_equal(d.dst, (CUdeviceptr)p.dst);
		assert_int_equal(d.elementSize, p.elementSize);
		assert_int_equal(d.value, p.value);
		assert_int_equal(d.width, p.width);
		assert_int_equal(d.height, p.height);
		assert_int_equal(d.pitch, p.pitch);
		RT(cudaGraphMemsetNodeGetParams(n, &r));
		assert_memory_equal(&r.dst, &p.dst, sizeof r.dst);
		assert_int_equal(r.width * 100 + r.height * 10 + r.elementSize,
			p.width * 100 + p.height * 10 + p.elementSize);
		p = (struct cudaMemsetParams){.dst = (char *)memory + 8,
			.elementSize = 4,
			.value = 77,
			.width = 6,
			.height = 2,
			.pitch = 32};
		if (!k)
			RT(cudaGraphMemsetNodeSetParams(n, &p));
	}
	RT(cudaGraphDestroy(g));
	RT(cudaFree(memory));
}

/* Every edge is made, with its own data, in the order of the list. */
static void test_edges(void **state)
{
	unsigned value = 1;
	void *args[] = {&value};
	struct cudaGraphNodeParams p = kernel_node(kernels[0], 1, args);
	const cudaGraphEdgeData early = {.type = cudaGraphDependencyTypeProgrammatic,
		.from_port = cudaGraphKernelNodePortProgrammatic};
	const cudaGraphEdgeData data[2] = {early, early}, bad[2] = {early, {.type = 9}};
	cudaGraphNode_t before[2], n;
	CUgraphNode from[3];
	CUgraphEdgeData got[3];
	size_t count = 3;
	cudaGraph_t g;

	RT(cudaGraphCreate(&g, 0));
	RT(cudaGraphAddNode(&before[0], g, NULL, NULL, 0, &p));
	RT(cudaGraphAddNode(&before[1], g, NULL, NULL, 0, &p));
	RT(cudaGraphAddNode(&n, g, before, data, 2, &p));
	OK(cuGraphNodeGetDependencies(n, from, got, &count));
	assert_int_equal(count, 2);
	for (unsigned k = 0; k < 2; k++) {
		assert_ptr_equal(from[k], before[k]);
		assert_memory_equal(&got[k], &data[k], sizeof got[k]);
	}
	assert_int_equal(cudaGraphAddNode(&n, g, before, bad, 2, &p), cudaErrorInvalidValue);
	OK(cuGraphGetNodes(g, NULL, &count));
	assert_int_equal(count, 3);
	RT(cudaGraphDestroy(g));
}

/* --- the rest --- */

/* By default each form of the call gives entry points of its own default stream. */
static void test_entry_points(void **state)
{
	cudaError_t (*const per_thread)(const char *, void **, unsigned, unsigned long long,
		enum cudaDriverEntryPointQueryResult *) =
		entry("cudaGetDriverEntryPointByVersion_ptsz");
	void *plain, *mine, *named;

	RT(cudaGetDriverEntryPointByVersion(
		"cuLaunchKernel", &plain, 13000, cudaEnableDefault, NULL));
	RT(per_thread("cuLaunchKernel", &mine, 13000, cudaEnableDefault, NULL));
	assert_ptr_not_equal(plain, mine);
	RT(cudaGetDriverEntryPointByVersion(
		"cuLaunchKernel", &named, 13000, cudaEnableLegacyStream, NULL));
	assert_ptr_equal(named, plain);
	RT(cudaGetDriverEntryPointByVersion(
		"cuLaunchKernel", &named, 13000, cudaEnablePerThreadDefaultStream, NULL));
	assert_ptr_equal(named, mine);
	RT(per_thread("cuLaunchKernel", &named, 13000, cudaEnableLegacyStream, NULL));
	assert_ptr_equal(named, plain);
}

static void test_managed(void **state)
{
	void *p = &p;

	assert_int_equal(cudaMallocManaged(NULL, 4, cudaMemAttachGlobal), cudaErrorInvalidValue);
	RT(cudaMallocManaged(&p, 0, cudaMemAttachGlobal));
	assert_null(p);
	RT(cudaMallocManaged(&p, 4, cudaMemAttachGlobal));
	assert_non_null(p);
	*(int *)p = 5;
	RT(cudaFree(p));
}

/* A context's arrays end with it, those of others do not. */
static void test_arrays_of_a_context(void **state)
{
	const CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 8, .Height = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUDA_ARRAY_DESCRIPTOR got = {0};
	CUarray mine, others;
	CUcontext c;

	OK(cuArrayCreate(&mine, &d));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuArrayCreate(&others, &d));
	OK(cuCtxDestroy(c));
	OK(cuCtxSetCurrent(primary));
	OK(cuArrayGetDescriptor(&got, mine));
	assert_int_equal(got.Width * 10 + got.Height, 82);
	IS(cuArrayGetDescriptor(&got, others), INVALID_HANDLE);
	OK(cuArrayDestroy(mine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_entry_points),
		cmocka_unit_test(test_managed),
		cmocka_unit_test(test_arrays_of_a_context),
	};

	return cmocka_run_group_tests_name("softgpu-both-ways", tests, start, stop);
}
