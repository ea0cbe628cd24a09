/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs of the software GPU: nodes and edges, copies of graphs, executable graphs ("CUDA Driver
 * API", Graph Management). What nodes hold is in test-softgpu-nodes.c.
 */
#include "softgpu-test.h"

#include <string.h>

/* a before b and c, both before d */
struct diamond {
	CUgraph g;
	CUgraphNode a, b, c, d;
};

static void diamond_begin(struct diamond *x)
{
	OK(cuGraphCreate(&x->g, 0));
	OK(cuGraphAddEmptyNode(&x->a, x->g, NULL, 0));
	OK(cuGraphAddEmptyNode(&x->b, x->g, &x->a, 1));
	OK(cuGraphAddEmptyNode(&x->c, x->g, &x->a, 1));
	OK(cuGraphAddEmptyNode(&x->d, x->g, (CUgraphNode[]){x->b, x->c}, 2));
}

/* The query convention: how many without an array; else what there is room for, and NULLs behind
 * the last. */
static void test_edges(void **state)
{
	CUresult (*const v1)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *) =
		entry("cuGraphGetEdges");
	CUgraphNode from[6], to[6];
	CUgraphEdgeData data[6];
	struct diamond x;
	size_t n = 77;

	diamond_begin(&x);
	OK(v1(x.g, NULL, NULL, &n));
	assert_int_equal(n, 4);
	memset(from, 0xff, sizeof from);
	memset(to, 0xff, sizeof to);
	n = 6;
	OK(v1(x.g, from, to, &n));
	assert_int_equal(n, 4);
	assert_memory_equal(from, ((CUgraphNode[]){x.a, x.a, x.b, x.c, NULL, NULL}), sizeof from);
	assert_memory_equal(to, ((CUgraphNode[]){x.b, x.c, x.d, x.d, NULL, NULL}), sizeof to);
	memset(from, 0xff, sizeof from);
	memset(to, 0xff, sizeof to);
	memset(data, 0xff, sizeof data);
	n = 2;
	OK(cuGraphGetEdges_v2(x.g, from, to, data, &n));
	assert_int_equal(n, 2);
	assert_ptr_equal(from[1], x.a);
	assert_ptr_equal(to[1], x.c);
	assert_int_equal(data[1].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
	assert_int_equal(data[2].type, 0xff);
	assert_ptr_equal(from[2], (CUgraphNode)-1);
	IS(v1(x.g, NULL, NULL, NULL), INVALID_VALUE);
	IS(v1(x.g, from, NULL, &n), INVALID_VALUE);
	IS(v1(x.g, NULL, to, &n), INVALID_VALUE);
	IS(v1((CUgraph)&x, from, to, &n), INVALID_VALUE);
	OK(cuGraphDestroy(x.g));
	IS(v1(x.g, from, to, &n), INVALID_VALUE);
}

static void check_nodes(const CUgraphNode *got, size_t n, CUgraphNode a, CUgraphNode b)
{
	assert_int_equal(n, 2);
	assert_ptr_equal(got[0], a);
	assert_ptr_equal(got[1], b);
	assert_null(got[2]);
	assert_ptr_equal(got[3], (CUgraphNode)-1);
}

static void test_neighbours(void **state)
{
	CUresult (*const deps1)(CUgraphNode, CUgraphNode *, size_t *) =
		entry("cuGraphNodeGetDependencies");
	CUresult (*const next1)(CUgraphNode, CUgraphNode *, size_t *) =
		entry("cuGraphNodeGetDependentNodes");
	CUgraphEdgeData data[3];
	CUgraphNode got[4];
	struct diamond x;
	size_t n = 3;

	diamond_begin(&x);
	memset(got, 0xff, sizeof got);
	OK(deps1(x.d, got, &n));
	check_nodes(got, n, x.b, x.c);
	memset(got, 0xff, sizeof got);
	memset(data, 0xff, sizeof data);
	n = 3;
	OK(cuGraphNodeGetDependencies_v2(x.d, got, data, &n));
	check_nodes(got, n, x.b, x.c);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(data[i].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
	memset(got, 0xff, sizeof got);
	n = 3;
	OK(next1(x.a, got, &n));
	check_nodes(got, n, x.b, x.c);
	memset(got, 0xff, sizeof got);
	memset(data, 0xff, sizeof data);
	n = 3;
	OK(cuGraphNodeGetDependentNodes_v2(x.a, got, data, &n));
	check_nodes(got, n, x.b, x.c);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(data[i].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
	OK(next1(x.a, NULL, &n));
	assert_int_equal(n, 2);
	OK(next1(x.d, NULL, &n));
	assert_int_equal(n, 0);
	OK(deps1(x.a, NULL, &n));
	assert_int_equal(n, 0);
	n = 1;
	OK(cuGraphGetRootNodes(x.g, got, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(got[0], x.a);
	OK(cuGraphGetRootNodes(x.g, NULL, &n));
	assert_int_equal(n, 1);
	OK(cuGraphGetNodes(x.g, NULL, &n));
	assert_int_equal(n, 4);
	IS(deps1(x.d, got, NULL), INVALID_VALUE);
	IS(next1(x.d, got, NULL), INVALID_VALUE);
	IS(deps1((CUgraphNode)x.g, got, &n), INVALID_VALUE);
	IS(next1((CUgraphNode)x.g, got, &n), INVALID_VALUE);
	IS(cuGraphGetNodes(x.g, got, NULL), INVALID_VALUE);
	IS(cuGraphGetRootNodes(x.g, got, NULL), INVALID_VALUE);
	OK(cuGraphDestroy(x.g));
}

static size_t edges_of(CUgraph g)
{
	size_t n = 77;

	OK(cuGraphGetEdges_v2(g, NULL, NULL, NULL, &n));
	return n;
}

static void test_changes(void **state)
{
	CUresult (*const add1)(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t) =
		entry("cuGraphAddDependencies");
	CUresult (*const remove1)(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t) =
		entry("cuGraphRemoveDependencies");
	struct diamond x, y;
	CUgraphNode none;

	diamond_begin(&x);
	diamond_begin(&y);
	OK(add1(x.g, (CUgraphNode[]){x.b}, (CUgraphNode[]){x.c}, 1));
	assert_int_equal(edges_of(x.g), 5);
	IS(add1(x.g, &x.b, &x.c, 1), INVALID_VALUE); /* there already */
	IS(add1(x.g, &x.a, &x.a, 1), INVALID_VALUE);
	IS(add1(x.g, &x.a, &y.d, 1), INVALID_VALUE); /* another graph's */
	IS(add1(x.g, &y.a, &x.d, 1), INVALID_VALUE);
	IS(add1(x.g, NULL, &x.d, 1), INVALID_VALUE);
	IS(add1(x.g, &x.a, NULL, 1), INVALID_VALUE);
	IS(add1(x.g, (CUgraphNode *)&x.g, &x.d, 1), INVALID_VALUE);
	IS(add1(x.g, &x.a, (CUgraphNode *)&x.g, 1), INVALID_VALUE);
	OK(add1(x.g, NULL, NULL, 0));
	assert_int_equal(edges_of(x.g), 5);
	OK(remove1(x.g, &x.b, &x.c, 1));
	assert_int_equal(edges_of(x.g), 4);
	IS(remove1(x.g, &x.b, &x.c, 1), INVALID_VALUE); /* gone already */
	IS(remove1(x.g, (CUgraphNode[]){x.a, x.b}, (CUgraphNode[]){x.b, x.c}, 2), INVALID_VALUE);
	assert_int_equal(edges_of(x.g), 4); /* all or nothing */
	OK(cuGraphRemoveDependencies_v2(
		x.g, (CUgraphNode[]){x.a, x.b}, (CUgraphNode[]){x.b, x.d}, NULL, 2));
	assert_int_equal(edges_of(x.g), 2);
	OK(cuGraphDestroyNode(x.c)); /* with its edges */
	assert_int_equal(edges_of(x.g), 0);
	IS(cuGraphDestroyNode(x.c), INVALID_VALUE);
	OK(cuGraphDestroy(x.g));
	IS(cuGraphDestroy(x.g), INVALID_VALUE);
	IS(cuGraphDestroyNode(x.a), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(&none, y.g, NULL, 1), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(&none, y.g, &x.a, 1), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(NULL, y.g, NULL, 0), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(&none, x.g, NULL, 0), INVALID_VALUE);
	IS(cuGraphCreate(&x.g, 1), INVALID_VALUE);
	IS(cuGraphCreate(NULL, 0), INVALID_VALUE);
	OK(cuGraphDestroy(y.g));
}

/* --- in which order nodes run: as the edges say, else by creation --- */

struct call {
	char digit, **at;
};

static void write_digit(void *p)
{
	const struct call *c = p;

	*(*c->at)++ = c->digit;
}

static void test_order(void **state)
{
	static const unsigned from[] = {3, 2, 3}, to[] = {0, 0, 1}; /* of nodes; "2" is free */
	char done[5] = "", *at = done;
	struct call calls[4] = {{'0', &at}, {'1', &at}, {'2', &at}, {'3', &at}};
	CUDA_HOST_NODE_PARAMS host = {.fn = write_digit};
	CUgraphNode node[4];
	CUgraphExec exec;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < 4; i++) {
		host.userData = &calls[i];
		OK(cuGraphAddHostNode(&node[i], g, NULL, 0, &host));
	}
	for (unsigned i = 0; i < 3; i++)
		OK(cuGraphAddDependencies(g, &node[from[i]], &node[to[i]], NULL, 1));
	OK(cuGraphInstantiate(&exec, g, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	assert_string_equal(done, "2301");
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
}

/* --- copies --- */

static void test_clone(void **state)
{
	CUgraphNode in_copy, child, in_child, got[2];
	CUgraph copy, of_child, of_copied_child;
	struct diamond x, inner;
	size_t n = 2;

	diamond_begin(&x);
	diamond_begin(&inner);
	OK(cuGraphAddChildGraphNode(&child, x.g, &x.d, 1, inner.g));
	OK(cuGraphClone(&copy, x.g));
	assert_int_equal(edges_of(copy), 5);
	OK(cuGraphNodeFindInClone(&in_copy, x.d, copy));
	assert_true(in_copy != x.d);
	OK(cuGraphNodeGetDependencies_v2(in_copy, got, NULL, &n));
	assert_int_equal(n, 2);
	OK(cuGraphNodeFindInClone(&in_copy, x.b, copy));
	assert_ptr_equal(got[0], in_copy);
	OK(cuGraphNodeFindInClone(&in_copy, x.c, copy));
	assert_ptr_equal(got[1], in_copy);
	OK(cuGraphNodeFindInClone(&in_copy, child, copy));
	OK(cuGraphChildGraphNodeGetGraph(child, &of_child));
	OK(cuGraphChildGraphNodeGetGraph(in_copy, &of_copied_child));
	assert_true(of_child != inner.g && of_copied_child != of_child);
	assert_int_equal(edges_of(of_copied_child), 4);
	OK(cuGraphNodeFindInClone(&in_child, inner.a, of_child));
	IS(cuGraphDestroy(of_child), INVALID_VALUE); /* the node's */
	IS(cuGraphDestroy(of_copied_child), INVALID_VALUE);
	IS(cuGraphChildGraphNodeGetGraph(x.a, &of_child), INVALID_VALUE);
	IS(cuGraphChildGraphNodeGetGraph(child, NULL), INVALID_VALUE);
	IS(cuGraphChildGraphNodeGetGraph((CUgraphNode)&n, &of_child), INVALID_VALUE);
	IS(cuGraphAddChildGraphNode(&child, x.g, NULL, 0, x.g), INVALID_VALUE);
	IS(cuGraphAddChildGraphNode(&child, x.g, NULL, 1, inner.g), INVALID_VALUE);
	IS(cuGraphAddChildGraphNode(&child, x.g, NULL, 0, (CUgraph)&n), INVALID_VALUE);
	IS(cuGraphNodeFindInClone(&in_copy, inner.a, copy), INVALID_VALUE);
	IS(cuGraphNodeFindInClone(NULL, x.a, copy), INVALID_VALUE);
	IS(cuGraphNodeFindInClone(&in_copy, x.a, (CUgraph)&n), INVALID_VALUE);
	IS(cuGraphNodeFindInClone(&in_copy, (CUgraphNode)&n, copy), INVALID_VALUE);
	IS(cuGraphClone(NULL, x.g), INVALID_VALUE);
	IS(cuGraphClone(&copy, (CUgraph)&n), INVALID_VALUE);
	OK(cuGraphDestroy(inner.g));
	OK(cuGraphDestroy(x.g));
	IS(cuGraphNodeGetType(in_child, &(CUgraphNodeType){0}), INVALID_VALUE);
	assert_int_equal(edges_of(of_copied_child), 4); /* the copy is a graph of its own */
	OK(cuGraphDestroy(copy));
}

/* --- executable graphs --- */

static void add_one(void *p)
{
	++*(int *)p;
}

/* Two nodes one after the other: a fill, and a host function that counts. */
struct counting {
	CUgraph g;
	CUgraphNode fill, host;
	CUdeviceptr m;
	int runs;
};

static void counting_begin(struct counting *x)
{
	CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 1, .height = 1, .value = 9};
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one, .userData = &x->runs};

	x->runs = 0;
	OK(cuMemAlloc(&x->m, 16));
	fill.dst = x->m;
	OK(cuGraphCreate(&x->g, 0));
	OK(cuGraphAddMemsetNode(&x->fill, x->g, NULL, 0, &fill, primary));
	OK(cuGraphAddHostNode(&x->host, x->g, &x->fill, 1, &host));
}

static void counting_end(struct counting *x)
{
	OK(cuGraphDestroy(x->g));
	OK(cuMemFree(x->m));
}

static unsigned word_after(CUgraphExec e, CUdeviceptr m)
{
	unsigned w = 0;

	OK(cuMemsetD32(m, 1, 1));
	OK(cuGraphLaunch(e, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&w, m, 4));
	return w;
}

static void test_instantiate(void **state)
{
	CUresult (*const v1)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t) =
		entry("cuGraphInstantiate");
	CUresult (*const v2)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t) =
		entry("cuGraphInstantiate_v2");
	CUDA_GRAPH_INSTANTIATE_PARAMS p = {
		.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH};
	CUgraphNode bad = (CUgraphNode)&p;
	char log[4] = "xyz";
	cuuint64_t flags = 77;
	struct counting x;
	CUgraphExec e;

	counting_begin(&x);
	OK(v1(&e, x.g, &bad, log, sizeof log));
	assert_null(bad);
	assert_string_equal(log, "");
	assert_int_equal(word_after(e, x.m), 9);
	OK(cuGraphExecDestroy(e));
	log[0] = 'x';
	OK(v2(&e, x.g, NULL, log, 0));
	assert_int_equal(log[0], 'x');
	assert_int_equal(word_after(e, x.m), 9);
	OK(cuGraphExecGetFlags(e, &flags));
	assert_int_equal(flags, 0);
	OK(cuGraphUpload(e, NULL));
	IS(cuGraphUpload(e, (CUstream)&x), INVALID_HANDLE);
	OK(cuGraphExecDestroy(e));
	IS(cuGraphUpload(e, NULL), INVALID_VALUE);
	IS(cuGraphLaunch(e, NULL), INVALID_VALUE);
	IS(cuGraphExecDestroy(e), INVALID_VALUE);
	IS(cuGraphExecGetFlags(e, &flags), INVALID_VALUE);
	p.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
	OK(cuGraphInstantiateWithParams(&e, x.g, &p));
	assert_int_equal(p.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	OK(cuGraphExecGetFlags(e, &flags));
	assert_int_equal(flags, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	IS(cuGraphExecGetFlags(e, NULL), INVALID_VALUE);
	IS(cuGraphLaunch(e, (CUstream)&x), INVALID_HANDLE);
	OK(cuGraphExecDestroy(e));
	/* a circle: the node is named */
	OK(cuGraphAddDependencies_v2(x.g, &x.host, &x.fill, NULL, 1));
	IS(cuGraphInstantiateWithParams(&e, x.g, &p), INVALID_VALUE);
	assert_int_equal(p.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
	assert_true(p.hErrNode_out == x.fill || p.hErrNode_out == x.host);
	IS(v1(&e, x.g, &bad, NULL, 0), INVALID_VALUE);
	assert_true(bad == x.fill || bad == x.host);
	IS(cuGraphInstantiateWithParams(&e, x.g, NULL), INVALID_VALUE);
	IS(cuGraphInstantiateWithFlags(&e, x.g, 16), INVALID_VALUE);
	IS(cuGraphInstantiateWithFlags(NULL, x.g, 0), INVALID_VALUE);
	IS(cuGraphInstantiateWithFlags(&e, (CUgraph)&x, 0), INVALID_VALUE);
	counting_end(&x);
}

static void test_enabled(void **state)
{
	struct counting x;
	CUgraphExec e;
	unsigned on = 7;

	counting_begin(&x);
	OK(cuGraphInstantiate(&e, x.g, 0));
	OK(cuGraphNodeGetEnabled(e, x.fill, &on));
	assert_int_equal(on, 1);
	OK(cuGraphNodeSetEnabled(e, x.fill, 0));
	OK(cuGraphNodeGetEnabled(e, x.fill, &on));
	assert_int_equal(on, 0);
	assert_int_equal(word_after(e, x.m), 1);
	OK(cuGraphNodeSetEnabled(e, x.fill, 1));
	assert_int_equal(word_after(e, x.m), 9);
	assert_int_equal(x.runs, 2);
	/* only kernels, copies and fills can be switched off */
	IS(cuGraphNodeSetEnabled(e, x.host, 0), INVALID_VALUE);
	IS(cuGraphNodeGetEnabled(e, x.host, &on), INVALID_VALUE);
	IS(cuGraphNodeGetEnabled(e, x.fill, NULL), INVALID_VALUE);
	IS(cuGraphNodeSetEnabled(e, (CUgraphNode)&x, 0), INVALID_VALUE);
	OK(cuGraphExecDestroy(e));
	IS(cuGraphNodeSetEnabled(e, x.fill, 0), INVALID_VALUE);
	IS(cuGraphNodeGetEnabled(e, x.fill, &on), INVALID_VALUE);
	counting_end(&x);
}

/* What an update may not change is what the programming guide lists. */
static void test_update(void **state)
{
	CUresult (*const v1)(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *) =
		entry("cuGraphExecUpdate");
	CUDA_MEMSET_NODE_PARAMS fill = {
		.elementSize = 4, .width = 1, .height = 1, .pitch = 4, .value = 5};
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
	CUgraphExecUpdateResultInfo info;
	CUgraphNode bad, more;
	struct counting x, y;
	CUgraphExec e;

	counting_begin(&x);
	counting_begin(&y);
	fill.dst = x.m;
	OK(cuGraphMemsetNodeSetParams(y.fill, &fill));
	OK(cuGraphInstantiate(&e, x.g, 0));
	bad = (CUgraphNode)&x;
	OK(v1(e, y.g, &bad, &result));
	assert_int_equal(result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	assert_null(bad);
	assert_int_equal(word_after(e, x.m), 5);
	assert_int_equal(x.runs, 0);
	assert_int_equal(y.runs, 1);
	OK(v1(e, x.g, NULL, &result));
	assert_int_equal(word_after(e, x.m), 9);
	fill.height = 2; /* from one dimension to two */
	OK(cuGraphMemsetNodeSetParams(y.fill, &fill));
	IS(v1(e, y.g, &bad, &result), GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	assert_ptr_equal(bad, y.fill);
	fill.height = 1;
	OK(cuGraphMemsetNodeSetParams(y.fill, &fill));
	OK(cuGraphAddEmptyNode(&more, y.g, &y.host, 1)); /* one more at the end */
	IS(cuGraphExecUpdate_v2(e, y.g, &info), GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_ptr_equal(info.errorNode, more);
	assert_null(info.errorFromNode);
	assert_int_equal(word_after(e, x.m), 9); /* it is as it was */
	IS(v1(e, y.g, &bad, NULL), INVALID_VALUE);
	IS(cuGraphExecUpdate_v2(e, y.g, NULL), INVALID_VALUE);
	IS(cuGraphExecUpdate_v2(e, (CUgraph)&x, &info), INVALID_VALUE);
	OK(cuGraphExecDestroy(e));
	IS(cuGraphExecUpdate_v2(e, y.g, &info), INVALID_VALUE);
	counting_end(&x);
	counting_end(&y);
}

/* A copy may not change between host and device. */
static void test_update_of_copies(void **state)
{
	unsigned word = 3;
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = &word,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = 4,
		.Height = 1,
		.Depth = 1};
	CUgraphExecUpdateResultInfo info;
	CUgraphNode a, b;
	CUgraphExec e;
	CUdeviceptr m;
	CUgraph g, h;

	OK(cuMemAlloc(&m, 8));
	copy.dstDevice = m;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&h, 0));
	OK(cuGraphAddMemcpyNode(&a, g, NULL, 0, &copy, primary));
	OK(cuGraphInstantiate(&e, g, 0));
	copy.dstDevice = m + 4;
	OK(cuGraphAddMemcpyNode(&b, h, NULL, 0, &copy, primary));
	OK(cuGraphExecUpdate(e, h, &info));
	assert_int_equal(word_after(e, m + 4), 3);
	copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	copy.srcDevice = m;
	OK(cuGraphMemcpyNodeSetParams(b, &copy));
	IS(cuGraphExecUpdate(e, h, &info), GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	assert_ptr_equal(info.errorNode, b);
	copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
	copy.srcHost = copy.dstHost = &word;
	OK(cuGraphMemcpyNodeSetParams(b, &copy));
	IS(cuGraphExecUpdate(e, h, &info), GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(h));
	OK(cuGraphDestroy(g));
	OK(cuMemFree(m));
}

/* The child graph's part of an executable graph, between two other nodes. */
static void test_child(void **state)
{
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one};
	CUgraphNode before, child, after, plain;
	int first = 0, last = 0;
	struct counting x, y;
	CUgraphExec e;
	CUgraph g;

	counting_begin(&x);
	counting_begin(&y);
	OK(cuGraphCreate(&g, 0));
	host.userData = &first;
	OK(cuGraphAddHostNode(&before, g, NULL, 0, &host));
	OK(cuGraphAddChildGraphNode(&child, g, &before, 1, x.g));
	host.userData = &last;
	OK(cuGraphAddHostNode(&after, g, &child, 1, &host));
	OK(cuGraphInstantiate(&e, g, 0));
	assert_int_equal(word_after(e, x.m), 9);
	OK(cuGraphExecChildGraphNodeSetParams(e, child, y.g));
	assert_int_equal(word_after(e, x.m), 1);
	assert_int_equal(word_after(e, y.m), 9);
	assert_int_equal(first, 3);
	assert_int_equal(last, 3);
	assert_int_equal(x.runs, 1);
	assert_int_equal(y.runs, 2);
	OK(cuGraphAddEmptyNode(&plain, y.g, NULL, 0)); /* another shape */
	IS(cuGraphExecChildGraphNodeSetParams(e, child, y.g), INVALID_VALUE);
	IS(cuGraphExecChildGraphNodeSetParams(e, before, x.g), INVALID_VALUE);
	IS(cuGraphExecChildGraphNodeSetParams(e, (CUgraphNode)&g, x.g), INVALID_VALUE);
	IS(cuGraphExecChildGraphNodeSetParams(e, child, (CUgraph)&g), INVALID_VALUE);
	assert_int_equal(word_after(e, y.m), 9);
	OK(cuGraphExecDestroy(e));
	IS(cuGraphExecChildGraphNodeSetParams(e, child, x.g), INVALID_VALUE);
	OK(cuGraphDestroy(g));
	counting_end(&x);
	counting_end(&y);
}

/* A launch into a capture is a child graph of it, without what is switched off. */
static void test_launch_in_capture(void **state)
{
	CUgraphNode node[2];
	CUgraphNodeType type;
	struct counting x;
	CUgraph g, child;
	CUgraphExec e, f;
	size_t n = 2;
	CUstream s;

	counting_begin(&x);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuGraphInstantiate(&e, x.g, 0));
	OK(cuGraphNodeSetEnabled(e, x.fill, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuGraphLaunch(e, s));
	OK(cuGraphNodeSetEnabled(e, x.fill, 1));
	OK(cuGraphLaunch(e, s));
	OK(cuStreamEndCapture(s, &g));
	assert_int_equal(x.runs, 0);
	OK(cuGraphGetNodes(g, node, &n));
	assert_int_equal(n, 2);
	assert_int_equal(edges_of(g), 1);
	OK(cuGraphNodeGetType(node[0], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphChildGraphNodeGetGraph(node[0], &child));
	OK(cuGraphGetNodes(child, NULL, &n));
	assert_int_equal(n, 1);
	IS(cuGraphDestroy(child), INVALID_VALUE);
	OK(cuGraphChildGraphNodeGetGraph(node[1], &child));
	OK(cuGraphGetNodes(child, NULL, &n));
	assert_int_equal(n, 2);
	assert_int_equal(edges_of(child), 1); /* one after the other */
	OK(cuGraphInstantiate(&f, g, 0));
	assert_int_equal(word_after(f, x.m), 9);
	assert_int_equal(x.runs, 2);
	OK(cuGraphExecDestroy(f));
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));
	OK(cuStreamDestroy(s));
	counting_end(&x);
}

/* "dependencies must be of the same graph": neither another graph's node nor a destroyed one. */
static void test_dependencies_of_others(void **state)
{
	CUgraphNode mine, others, gone, node;
	CUgraph g, h;
	size_t n = 9;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&h, 0));
	OK(cuGraphAddEmptyNode(&mine, g, NULL, 0));
	OK(cuGraphAddEmptyNode(&others, h, NULL, 0));
	OK(cuGraphAddEmptyNode(&gone, g, NULL, 0));
	OK(cuGraphDestroyNode(gone));
	IS(cuGraphAddEmptyNode(&node, g, &others, 1), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(&node, g, &gone, 1), INVALID_VALUE);
	IS(cuGraphAddEmptyNode(&node, g, (CUgraphNode[]){mine, others}, 2), INVALID_VALUE);
	OK(cuGraphGetNodes(g, NULL, &n));
	assert_int_equal(n, 1);
	OK(cuGraphAddEmptyNode(&node, g, &mine, 1));
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dependencies_of_others),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_clone),
		cmocka_unit_test(test_instantiate),
		cmocka_unit_test(test_enabled),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_update_of_copies),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_launch_in_capture),
	};

	return cmocka_run_group_tests_name("softgpu-graphs", tests, softgpu_start, softgpu_stop);
}
