/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes that are changed after they were made. "CUDA Driver API", Graph Management:
 * cuGraph*NodeSetParams changes the node in its graph; what was instantiated before stays as it
 * was, what is instantiated afterwards has the new parameters.
 */
#include "softgpu-test.h"

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry store(.param .u64 where, .param .u32 what)\n{\n"
	".reg .b32 %r; .reg .b64 %d;\n"
	"ld.param.u64 %d, [where]; ld.param.u32 %r, [what]; st.global.u32 [%d], %r; ret;\n}\n";

static CUdeviceptr memory; /* 16 bytes */
static CUmodule module;

/* One graph with one node: the executable made before the change, and the one made after it. */
struct pair {
	CUgraph g;
	CUgraphNode node;
	CUgraphExec before, after;
};

static int start(void **state)
{
	softgpu_start(state);
	OK(cuMemAlloc(&memory, 16));
	OK(cuModuleLoadData(&module, ptx));
	return 0;
}

static int stop(void **state)
{
	OK(cuModuleUnload(module));
	OK(cuMemFree(memory));
	return softgpu_stop(state);
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

static CUDA_KERNEL_NODE_PARAMS store(void **params)
{
	CUDA_KERNEL_NODE_PARAMS k = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params};

	OK(cuModuleGetFunction(&k.func, module, "store"));
	return k;
}

static void test_kernel(void **state)
{
	CUdeviceptr where = memory + 4;
	unsigned what = 5;
	void *params[] = {&where, &what};
	CUDA_KERNEL_NODE_PARAMS k, got;
	struct pair p;

	k = store(params);
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
}

/* The older form of the structure is the newer one's beginning. */
static void test_older_kernels(void **state)
{
	CUresult (*const add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
		const CUDA_KERNEL_NODE_PARAMS_v1 *) = entry("cuGraphAddKernelNode");
	CUresult (*const get)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *) =
		entry("cuGraphKernelNodeGetParams");
	CUresult (*const set)(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *) =
		entry("cuGraphKernelNodeSetParams");
	CUresult (*const set_exec)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *) =
		entry("cuGraphExecKernelNodeSetParams");
	CUdeviceptr where = memory;
	unsigned what = 5;
	void *params[] = {&where, &what};
	CUDA_KERNEL_NODE_PARAMS_v1 k = {.gridDimX = 1,
					   .gridDimY = 2,
					   .gridDimZ = 3,
					   .blockDimX = 4,
					   .blockDimY = 5,
					   .blockDimZ = 6,
					   .sharedMemBytes = 7,
					   .kernelParams = params},
				   got;
	struct pair p;

	OK(cuModuleGetFunction(&k.func, module, "store"));
	OK(cuGraphCreate(&p.g, 0));
	OK(add(&p.node, p.g, NULL, 0, &k));
	OK(get(p.node, &got));
	assert_ptr_equal(got.func, k.func);
	assert_int_equal(got.gridDimX, 1);
	assert_int_equal(got.gridDimY, 2);
	assert_int_equal(got.gridDimZ, 3);
	assert_int_equal(got.blockDimX, 4);
	assert_int_equal(got.blockDimY, 5);
	assert_int_equal(got.blockDimZ, 6);
	assert_int_equal(got.sharedMemBytes, 7);
	assert_int_equal(*(CUdeviceptr *)got.kernelParams[0], memory);
	assert_int_equal(*(unsigned *)got.kernelParams[1], 5);
	OK(cuGraphInstantiate(&p.before, p.g, 0));
	where = memory + 4;
	what = 6;
	OK(set(p.node, &k));
	OK(cuGraphInstantiate(&p.after, p.g, 0));
	run(p.before);
	assert_int_equal(word(0), 5);
	run(p.after);
	assert_int_equal(word(1), 6);
	where = memory + 8;
	what = 7;
	OK(set_exec(p.before, p.node, &k));
	run(p.before);
	assert_int_equal(word(0), 0);
	assert_int_equal(word(2), 7);
	IS(add(&p.node, p.g, NULL, 0, NULL), INVALID_VALUE);
	IS(get(p.node, NULL), INVALID_VALUE);
	IS(set(p.node, NULL), INVALID_VALUE);
	IS(set_exec(p.before, p.node, NULL), INVALID_VALUE);
	k.gridDimX = 0;
	IS(add(&p.node, p.g, NULL, 0, &k), INVALID_VALUE);
	IS(set(p.node, &k), INVALID_VALUE);
	pair_end(&p);
}

/* --- any node --- */

static CUgraphNodeParams any_of(CUgraphNodeType type)
{
	static const unsigned source[] = {31, 32};
	static CUdeviceptr where;
	static unsigned what = 33;
	static void *params[] = {&where, &what};
	CUgraphNodeParams any = {.type = type};

	where = memory;
	if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
		const CUDA_KERNEL_NODE_PARAMS k = store(params);

		any.kernel.func = k.func;
		any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
		any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
		any.kernel.kernelParams = params;
	} else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
		any.memcpy.copyParams = copy_of(source, 0, 2);
	} else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
		any.memset.dst = memory;
		any.memset.elementSize = 4;
		any.memset.width = 3;
		any.memset.height = 1;
		any.memset.value = 34;
	}
	return any;
}

static const struct {
	CUgraphNodeType type;
	unsigned words[4]; /* what the memory becomes */
} any_rows[] = {{CU_GRAPH_NODE_TYPE_KERNEL, {33}}, {CU_GRAPH_NODE_TYPE_MEMCPY, {31, 32}},
	{CU_GRAPH_NODE_TYPE_MEMSET, {34, 34, 34}}, {CU_GRAPH_NODE_TYPE_EMPTY, {0}}};

static void words_are(const unsigned *want)
{
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(word(i), want[i]);
}

static void test_any_add(void **state)
{
	CUresult (*const v1)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
		CUgraphNodeParams *) = entry("cuGraphAddNode");
	const CUgraphEdgeData full = {0}, wrong = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};

	for (size_t i = 0; i < COUNT_OF(any_rows); i++) {
		CUgraphNodeParams any = any_of(any_rows[i].type);
		CUgraphNodeType type = (CUgraphNodeType)77;
		CUgraphNode second;
		struct pair p;
		size_t n = 0;

		OK(cuGraphCreate(&p.g, 0));
		OK(v1(&p.node, p.g, NULL, 0, &any));
		OK(cuGraphNodeGetType(p.node, &type));
		assert_int_equal(type, any_rows[i].type);
		OK(cuGraphInstantiate(&p.before, p.g, 0));
		run(p.before);
		words_are(any_rows[i].words);
		OK(cuGraphAddNode_v2(&second, p.g, &p.node, &full, 1, &any));
		OK(cuGraphNodeGetDependencies(second, NULL, NULL, &n));
		assert_int_equal(n, 1);
		IS(cuGraphAddNode_v2(&second, p.g, &p.node, &wrong, 1, &any), INVALID_VALUE);
		IS(cuGraphAddNode_v2(&second, p.g, (CUgraphNode *)&p.g, &full, 1, &any),
			INVALID_VALUE);
		OK(cuGraphInstantiate(&p.after, p.g, 0));
		run(p.after);
		words_are(any_rows[i].words);
		IS(v1(&second, p.g, NULL, 1, &any), INVALID_VALUE);
		IS(v1(NULL, p.g, NULL, 0, &any), INVALID_VALUE);
		IS(v1(&second, p.g, NULL, 0, NULL), INVALID_VALUE);
		IS(cuGraphNodeGetType(p.node, NULL), INVALID_VALUE);
		pair_end(&p);
	}
}

/* In an executable graph any node is changed to another of its type. */
static void test_any_exec(void **state)
{
	CUgraphNodeParams any, other = any_of(CU_GRAPH_NODE_TYPE_EMPTY);
	struct pair p;

	for (size_t i = 0; i < 3; i++) {
		OK(cuGraphCreate(&p.g, 0));
		any = any_of(any_rows[i].type);
		if (any_rows[i].type == CU_GRAPH_NODE_TYPE_KERNEL)
			*(CUdeviceptr *)any.kernel.kernelParams[0] = memory + 12;
		else if (any_rows[i].type == CU_GRAPH_NODE_TYPE_MEMCPY)
			any.memcpy.copyParams.dstDevice = memory + 8;
		else
			any.memset.value = 35;
		OK(cuGraphAddNode(&p.node, p.g, NULL, NULL, 0, &any));
		OK(cuGraphInstantiate(&p.before, p.g, 0));
		OK(cuGraphInstantiate(&p.after, p.g, 0));
		any = any_of(any_rows[i].type);
		IS(cuGraphExecNodeSetParams(p.before, p.node, &other), INVALID_VALUE);
		IS(cuGraphExecNodeSetParams(p.before, p.node, NULL), INVALID_VALUE);
		IS(cuGraphExecNodeSetParams(p.before, (CUgraphNode)&p, &any), INVALID_VALUE);
		OK(cuGraphExecNodeSetParams(p.before, p.node, &any));
		run(p.before);
		words_are(any_rows[i].words);
		run(p.after);
		assert_true(word(0) != any_rows[i].words[0]);
		OK(cuGraphNodeSetParams(p.node, &any)); /* and in the graph itself */
		OK(cuGraphExecDestroy(p.after));
		OK(cuGraphInstantiate(&p.after, p.g, 0));
		run(p.after);
		words_are(any_rows[i].words);
		IS(cuGraphNodeSetParams(p.node, &other), INVALID_VALUE);
		IS(cuGraphNodeSetParams(p.node, NULL), INVALID_VALUE);
		pair_end(&p);
	}
}

/* The same by the calls of each type. */
static void test_exec(void **state)
{
	CUgraphNodeParams k = any_of(CU_GRAPH_NODE_TYPE_KERNEL),
			  c = any_of(CU_GRAPH_NODE_TYPE_MEMCPY),
			  f = any_of(CU_GRAPH_NODE_TYPE_MEMSET);
	const CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = memory, .elementSize = 4, .width = 1, .height = 1, .value = 36};
	static const unsigned other[] = {37};
	const CUDA_MEMCPY3D copy = copy_of(other, 1, 1);
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one};
	CUgraphNode fill_node, copy_node, host_node, kernel_node;
	CUdeviceptr where = memory + 8;
	unsigned what = 38;
	void *params[] = {&where, &what};
	const CUDA_KERNEL_NODE_PARAMS kernel = store(params);
	int a = 0, b = 0;
	CUgraphExec e;
	CUgraph g;

	host.userData = &a;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddNode(&fill_node, g, NULL, NULL, 0, &f));
	OK(cuGraphAddNode(&copy_node, g, &fill_node, NULL, 1, &c));
	OK(cuGraphAddNode(&kernel_node, g, &copy_node, NULL, 1, &k));
	OK(cuGraphAddHostNode(&host_node, g, &kernel_node, 1, &host));
	OK(cuGraphInstantiate(&e, g, 0));
	run(e);
	words_are((unsigned[]){33, 32, 34, 0});
	OK(cuGraphExecMemsetNodeSetParams(e, fill_node, &fill, primary));
	OK(cuGraphExecMemcpyNodeSetParams(e, copy_node, &copy, primary));
	OK(cuGraphExecKernelNodeSetParams(e, kernel_node, &kernel));
	what = 99; /* was copied */
	host.userData = &b;
	OK(cuGraphExecHostNodeSetParams(e, host_node, &host));
	run(e);
	words_are((unsigned[]){36, 37, 38, 0});
	assert_int_equal(a, 1);
	assert_int_equal(b, 1);
	/* each takes nodes of its type */
	IS(cuGraphExecMemsetNodeSetParams(e, copy_node, &fill, primary), INVALID_VALUE);
	IS(cuGraphExecMemcpyNodeSetParams(e, fill_node, &copy, primary), INVALID_VALUE);
	IS(cuGraphExecKernelNodeSetParams(e, fill_node, &kernel), INVALID_VALUE);
	IS(cuGraphExecHostNodeSetParams(e, fill_node, &host), INVALID_VALUE);
	IS(cuGraphExecMemsetNodeSetParams(e, fill_node, NULL, primary), INVALID_VALUE);
	IS(cuGraphExecMemcpyNodeSetParams(e, copy_node, NULL, primary), INVALID_VALUE);
	IS(cuGraphExecKernelNodeSetParams(e, kernel_node, NULL), INVALID_VALUE);
	IS(cuGraphExecHostNodeSetParams(e, host_node, NULL), INVALID_VALUE);
	run(e);
	words_are((unsigned[]){36, 37, 38, 0});
	OK(cuGraphExecDestroy(e));
	IS(cuGraphExecMemsetNodeSetParams(e, fill_node, &fill, primary), INVALID_VALUE);
	OK(cuGraphDestroy(g));
}

/* --- wrong arguments --- */

static void test_wrong(void **state)
{
	CUgraphNodeParams k = any_of(CU_GRAPH_NODE_TYPE_KERNEL),
			  odd = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUDA_MEMSET_NODE_PARAMS fill = {.dst = memory, .elementSize = 3, .width = 1, .height = 1};
	CUDA_MEMCPY3D copy = copy_of((unsigned[]){1}, 0, 1);
	CUDA_HOST_NODE_PARAMS host = {0};
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUgraphNode n, none;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddNode(&n, g, NULL, NULL, 0, &k));
	IS(cuGraphAddNode(&none, g, NULL, NULL, 0, &odd), NOT_SUPPORTED);
	IS(cuGraphAddMemsetNode(&none, g, NULL, 0, &fill, primary), INVALID_VALUE);
	fill.elementSize = 4;
	fill.width = 0;
	IS(cuGraphAddMemsetNode(&none, g, NULL, 0, &fill, primary), INVALID_VALUE);
	fill.width = 1;
	fill.height = 0;
	IS(cuGraphAddMemsetNode(&none, g, NULL, 0, &fill, primary), INVALID_VALUE);
	fill.height = 1;
	fill.dst = memory + 2; /* not aligned */
	IS(cuGraphAddMemsetNode(&none, g, NULL, 0, &fill, primary), INVALID_VALUE);
	IS(cuGraphAddMemsetNode(&none, g, NULL, 0, NULL, primary), INVALID_VALUE);
	IS(cuGraphAddMemcpyNode(&none, g, NULL, 0, NULL, primary), INVALID_VALUE);
	copy.dstMemoryType = (CUmemorytype)9;
	IS(cuGraphAddMemcpyNode(&none, g, NULL, 0, &copy, primary), INVALID_VALUE);
	IS(cuGraphAddHostNode(&none, g, NULL, 0, &host), INVALID_VALUE); /* no function */
	IS(cuGraphAddHostNode(&none, g, NULL, 0, NULL), INVALID_VALUE);
	IS(cuGraphMemsetNodeGetParams(n, &fill), INVALID_VALUE); /* of another type */
	IS(cuGraphMemcpyNodeGetParams(n, &copy), INVALID_VALUE);
	IS(cuGraphHostNodeGetParams(n, &host), INVALID_VALUE);
	IS(cuGraphKernelNodeGetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphMemsetNodeGetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphMemcpyNodeGetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphHostNodeGetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphKernelNodeGetParams((CUgraphNode)&n, &kernel), INVALID_VALUE);
	OK(cuGraphDestroy(g));
	IS(cuGraphKernelNodeGetParams(n, &kernel), INVALID_VALUE);
}

/* --- attributes of kernel nodes --- */

static void test_attributes(void **state)
{
	const CUkernelNodeAttrID cooperative = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
				 cluster = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	CUgraphNodeParams k = any_of(CU_GRAPH_NODE_TYPE_KERNEL),
			  f = any_of(CU_GRAPH_NODE_TYPE_MEMSET);
	CUkernelNodeAttrValue v = {0};
	CUgraphNode a, b, c;
	CUgraph g;

	k.kernel.gridDimX = 8;
	k.kernel.gridDimY = 4;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddNode(&a, g, NULL, NULL, 0, &k));
	OK(cuGraphAddNode(&b, g, NULL, NULL, 0, &k));
	OK(cuGraphAddNode(&c, g, NULL, NULL, 0, &f));
	v.cooperative = 1;
	OK(cuGraphKernelNodeGetAttribute(a, cooperative, &v));
	assert_int_equal(v.cooperative, 0);
	v.cooperative = 2;
	OK(cuGraphKernelNodeSetAttribute(a, cooperative, &v));
	OK(cuGraphKernelNodeGetAttribute(a, cooperative, &v));
	assert_int_equal(v.cooperative, 1);
	v = (CUkernelNodeAttrValue){.clusterDim = {4, 2, 1}};
	OK(cuGraphKernelNodeSetAttribute(a, cluster, &v));
	v.clusterDim.x = 3; /* does not divide the grid */
	IS(cuGraphKernelNodeSetAttribute(a, cluster, &v), INVALID_CLUSTER_SIZE);
	OK(cuGraphKernelNodeCopyAttributes(b, a));
	OK(cuGraphKernelNodeGetAttribute(b, cooperative, &v));
	assert_int_equal(v.cooperative, 1);
	v.clusterDim.x = 77;
	OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	IS(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v),
		NOT_SUPPORTED);
	IS(cuGraphKernelNodeSetAttribute(c, cooperative, &v), INVALID_VALUE);
	IS(cuGraphKernelNodeGetAttribute(c, cooperative, &v), INVALID_VALUE);
	IS(cuGraphKernelNodeCopyAttributes(c, a), INVALID_VALUE);
	IS(cuGraphKernelNodeCopyAttributes(a, c), INVALID_VALUE);
	IS(cuGraphKernelNodeSetAttribute(a, cooperative, NULL), INVALID_VALUE);
	IS(cuGraphKernelNodeGetAttribute(a, cooperative, NULL), INVALID_VALUE);
	OK(cuGraphDestroy(g));
}

static void test_cluster_attribute(void **state)
{
	CUgraphNodeParams k = any_of(CU_GRAPH_NODE_TYPE_KERNEL);
	CUkernelNodeAttrValue v = {.clusterDim = {4, 2, 1}};
	CUgraphNode a, b;
	CUgraph g;

	k.kernel.gridDimX = 8;
	k.kernel.gridDimY = 4;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddNode(&a, g, NULL, NULL, 0, &k));
	OK(cuGraphAddNode(&b, g, NULL, NULL, 0, &k));
	OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
	OK(cuGraphKernelNodeCopyAttributes(b, a));
	OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
	assert_int_equal(v.clusterDim.x, 4);
	assert_int_equal(v.clusterDim.y, 2);
	assert_int_equal(v.clusterDim.z, 1);
	OK(cuGraphDestroy(g));
}

/* --- copies that were captured: a structure that says the same --- */

static void test_captured_copies(void **state)
{
	const CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 4, .Height = 3, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = memory,
		.srcPitch = 4,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstXInBytes = 1,
		.dstY = 1,
		.WidthInBytes = 2,
		.Height = 2};
	unsigned char bytes[16];
	CUgraphNode node[3];
	CUDA_MEMCPY3D got;
	size_t n = 3;
	CUstream s;
	CUarray a;
	CUgraph g;

	OK(cuArrayCreate(&a, &d));
	in.dstArray = a;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemcpyDtoHAsync(bytes, memory + 4, 8, s));
	OK(cuMemcpy2DAsync(&in, s));
	in.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	in.srcArray = a;
	in.srcXInBytes = 1;
	in.srcY = 1;
	in.dstMemoryType = CU_MEMORYTYPE_HOST;
	in.dstHost = bytes;
	in.dstPitch = 5;
	in.dstXInBytes = in.dstY = 0;
	OK(cuMemcpy2DAsync(&in, s));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphGetNodes(g, node, &n));
	assert_int_equal(n, 3);

	OK(cuGraphMemcpyNodeGetParams(node[0], &got));
	assert_int_equal(got.srcMemoryType, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(got.srcDevice, memory + 4);
	assert_null(got.srcHost);
	assert_int_equal(got.dstMemoryType, CU_MEMORYTYPE_HOST);
	assert_ptr_equal(got.dstHost, bytes);
	assert_int_equal(got.dstDevice, 0);
	assert_int_equal(got.WidthInBytes, 8);
	assert_int_equal(got.Height, 1);
	assert_int_equal(got.Depth, 1);

	OK(cuGraphMemcpyNodeGetParams(node[1], &got));
	assert_int_equal(got.srcMemoryType, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(got.srcDevice, memory);
	assert_int_equal(got.srcPitch, 4);
	assert_int_equal(got.srcHeight, 2);
	assert_int_equal(got.dstMemoryType, CU_MEMORYTYPE_ARRAY);
	assert_ptr_equal(got.dstArray, a);
	assert_int_equal(got.dstXInBytes, 1);
	assert_int_equal(got.dstY, 1);
	assert_int_equal(got.dstZ, 0);
	assert_int_equal(got.dstDevice, 0);
	assert_int_equal(got.WidthInBytes, 2);
	assert_int_equal(got.Height, 2);

	OK(cuGraphMemcpyNodeGetParams(node[2], &got));
	assert_int_equal(got.srcMemoryType, CU_MEMORYTYPE_ARRAY);
	assert_ptr_equal(got.srcArray, a);
	assert_int_equal(got.srcXInBytes, 1);
	assert_int_equal(got.srcY, 1);
	assert_int_equal(got.srcDevice, 0);
	assert_int_equal(got.dstMemoryType, CU_MEMORYTYPE_HOST);
	assert_ptr_equal(got.dstHost, bytes);
	assert_int_equal(got.dstPitch, 5);
	assert_int_equal(got.dstHeight, 2);
	OK(cuGraphDestroy(g));
	OK(cuStreamDestroy(s));
	OK(cuArrayDestroy(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_any_fill),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_older_kernels),
		cmocka_unit_test(test_any_add),
		cmocka_unit_test(test_any_exec),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_cluster_attribute),
		cmocka_unit_test(test_captured_copies),
	};

	return cmocka_run_group_tests_name("softgpu-nodes", tests, start, stop);
}
