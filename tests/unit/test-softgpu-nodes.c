/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes that are changed after they were made. "CUDA Driver API", Graph Management:
 * cuGraph*NodeSetParams changes the node in its graph; what was instantiated before stays as it
 * was, what is instantiated afterwards has the new parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <stdbool.h>

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry store(.param .u64 where, .param .u32 what)\n{\n"
	".reg .b32 %r; .reg .b64 %d;\n"
	"ld.param.u64 %d, [where]; ld.param.u32 %r, [what]; st.global.u32 [%d], %r; ret;\n}\n";

static CUcontext primary;
static CUdeviceptr memory; /* 16 bytes */

/* One graph with one node: the executable made before the change, and the one made after it. */
struct pair {
	CUgraph g;
	CUgraphNode node;
	CUgraphExec before, after;
};

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuMemAlloc(&memory, 16));
	return 0;
}

static int stop(void **state)
{
	OK(cuMemFree(memory));
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static void pair_end(struct pair *p)
{
	OK(cuGraphExecDestroy(p->before));
	OK(cuGraphExecDestroy(p->after));
	OK(cuGraphDestroy(p->g));
}

static unsigned word(unsigned i)
{
	unsigned w[4];

	OK(cuMemcpyDtoH(w, memory, sizeof w));
	return w[i];
}

/* Runs it on memory that is all zeros. */
static void run(CUgraphExec exec)
{
	OK(cuMemsetD32(memory, 0, 4));
	OK(cuCtxSynchronize());
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
}

/* --- fills --- */

static void check_fills(struct pair *p)
{
	CUDA_MEMSET_NODE_PARAMS got;

	OK(cuGraphMemsetNodeGetParams(p->node, &got));
	assert_int_equal(got.dst, memory + 4);
	assert_int_equal(got.value, 8);
	assert_int_equal(got.width, 2);
	OK(cuGraphInstantiate(&p->after, p->g, 0));
	run(p->before);
	assert_int_equal(word(0), 7);
	assert_int_equal(word(1), 0);
	run(p->after);
	assert_int_equal(word(0), 0);
	assert_int_equal(word(1), 8);
	assert_int_equal(word(2), 8);
	assert_int_equal(word(3), 0);
	pair_end(p);
}

static void fill_pair(struct pair *p)
{
	const CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = memory, .elementSize = 4, .width = 1, .height = 1, .value = 7};

	OK(cuGraphCreate(&p->g, 0));
	OK(cuGraphAddMemsetNode(&p->node, p->g, NULL, 0, &fill, primary));
	OK(cuGraphInstantiate(&p->before, p->g, 0));
}

static void test_fill(void **state)
{
	const CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = memory + 4, .elementSize = 4, .width = 2, .height = 1, .value = 8};
	struct pair p;

	fill_pair(&p);
	OK(cuGraphMemsetNodeSetParams(p.node, &fill));
	check_fills(&p);
}

static void test_any_fill(void **state)
{
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	struct pair p;

	any.memset.dst = memory + 4;
	any.memset.elementSize = 4;
	any.memset.width = 2;
	any.memset.height = 1;
	any.memset.value = 8;
	fill_pair(&p);
	OK(cuGraphNodeSetParams(p.node, &any));
	check_fills(&p);
}

/* --- copies --- */

static CUDA_MEMCPY3D copy_of(const unsigned *from, unsigned to, unsigned words)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = memory + 4 * to,
		.WidthInBytes = 4 * words,
		.Height = 1,
		.Depth = 1};
}

static void test_copy(void **state)
{
	static const unsigned first[] = {11, 12}, second[] = {21, 22};
	CUDA_MEMCPY3D copy = copy_of(first, 0, 1), got;
	struct pair p;

	OK(cuGraphCreate(&p.g, 0));
	OK(cuGraphAddMemcpyNode(&p.node, p.g, NULL, 0, &copy, primary));
	OK(cuGraphInstantiate(&p.before, p.g, 0));
	copy = copy_of(second, 2, 2);
	OK(cuGraphMemcpyNodeSetParams(p.node, &copy));
	OK(cuGraphMemcpyNodeGetParams(p.node, &got));
	assert_ptr_equal(got.srcHost, second);
	assert_int_equal(got.dstDevice, memory + 8);
	assert_int_equal(got.WidthInBytes, 8);
	OK(cuGraphInstantiate(&p.after, p.g, 0));
	run(p.before);
	assert_int_equal(word(0), 11);
	assert_int_equal(word(2), 0);
	run(p.after);
	assert_int_equal(word(0), 0);
	assert_int_equal(word(2), 21);
	assert_int_equal(word(3), 22);
	pair_end(&p);
}

/* --- host functions --- */

static void add_one(void *p)
{
	++*(int *)p;
}

static void add_ten(void *p)
{
	*(int *)p += 10;
}

static void test_host(void **state)
{
	int a = 0, b = 0;
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one, .userData = &a}, got;
	struct pair p;

	OK(cuGraphCreate(&p.g, 0));
	OK(cuGraphAddHostNode(&p.node, p.g, NULL, 0, &host));
	OK(cuGraphInstantiate(&p.before, p.g, 0));
	host = (CUDA_HOST_NODE_PARAMS){.fn = add_ten, .userData = &b};
	OK(cuGraphHostNodeSetParams(p.node, &host));
	OK(cuGraphHostNodeGetParams(p.node, &got));
	assert_ptr_equal(got.fn, add_ten);
	assert_ptr_equal(got.userData, &b);
	OK(cuGraphInstantiate(&p.after, p.g, 0));
	run(p.before);
	assert_int_equal(a, 1);
	assert_int_equal(b, 0);
	run(p.after);
	assert_int_equal(a, 1);
	assert_int_equal(b, 10);
	pair_end(&p);
}

/* --- kernels --- */

static CUDA_KERNEL_NODE_PARAMS store(CUmodule m, void **params)
{
	CUDA_KERNEL_NODE_PARAMS k = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params};

	OK(cuModuleGetFunction(&k.func, m, "store"));
	return k;
}

static void test_kernel(void **state)
{
	CUdeviceptr where = memory + 4;
	unsigned what = 5;
	void *params[] = {&where, &what};
	CUDA_KERNEL_NODE_PARAMS k, got;
	struct pair p;
	CUmodule m;

	OK(cuModuleLoadData(&m, ptx));
	k = store(m, params);
	OK(cuGraphCreate(&p.g, 0));
	OK(cuGraphAddKernelNode(&p.node, p.g, NULL, 0, &k));
	OK(cuGraphInstantiate(&p.before, p.g, 0));
	OK(cuGraphKernelNodeGetParams(p.node, &got));
	assert_int_equal(*(unsigned *)got.kernelParams[1], 5);
	where = memory + 8;
	what = 6;
	k.blockDimX = 3;
	OK(cuGraphKernelNodeSetParams(p.node, &k));
	what = 99; /* the arguments were copied when they were set */
	OK(cuGraphKernelNodeGetParams(p.node, &got));
	assert_int_equal(got.blockDimX, 3);
	assert_int_equal(*(CUdeviceptr *)got.kernelParams[0], memory + 8);
	assert_int_equal(*(unsigned *)got.kernelParams[1], 6);
	OK(cuGraphInstantiate(&p.after, p.g, 0));
	run(p.before);
	assert_int_equal(word(1), 5);
	assert_int_equal(word(2), 0);
	run(p.after);
	assert_int_equal(word(1), 0);
	assert_int_equal(word(2), 6);
	pair_end(&p);
	OK(cuModuleUnload(m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_any_fill),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests_name("softgpu-nodes", tests, start, stop);
}
