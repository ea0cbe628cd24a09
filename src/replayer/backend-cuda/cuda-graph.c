/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's graphs, behind src/replayer/backend.h.
 */
#include "replayer/backend-cuda/cuda-driver.h"

struct gpu_result cuda_graph_create(struct gpu_graph **ret)
{
	CUgraph g = NULL;
	const CUresult r = CU.cuGraphCreate(&g, 0);

	*ret = (struct gpu_graph *)g;
	return cuda_result(r, "cuGraphCreate");
}

struct gpu_result cuda_graph_destroy(struct gpu_graph *g)
{
	return cuda_result(CU.cuGraphDestroy((CUgraph)g), "cuGraphDestroy");
}

/* --- nodes --- */

/* What every cuGraphAdd*Node() begins with. */
#define AT(at) (CUgraph)(at)->graph, (const CUgraphNode *)(at)->deps, (at)->ndeps

static struct gpu_result added(struct gpu_node **ret, CUgraphNode n, CUresult r, const char *call)
{
	*ret = (struct gpu_node *)n;
	return cuda_result(r, call);
}

/* Sets the attributes that change what a node computes or whether it can run. */
static CUresult set_attributes(CUgraphNode n, const struct gpu_launch *l)
{
	CUlaunchAttributeValue v = {0};
	CUresult r = CUDA_SUCCESS;

	v.cooperative = 1;
	if (l->cooperative)
		r = CU.cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
	if (r || !l->cluster[0])
		return r;
	v = (CUlaunchAttributeValue){0};
	v.clusterDim.x = l->cluster[0];
	v.clusterDim.y = l->cluster[1];
	v.clusterDim.z = l->cluster[2];
	return CU.cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v);
}

struct gpu_result cuda_graph_add_kernel(
	struct gpu_node **ret, const struct gpu_node_place *at, const struct gpu_launch *l)
{
	CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)l->kernel,
		.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->shared};
	struct cuda_args args;
	CUgraphNode n = NULL;

	cuda_args_of(&args, l);
	p.extra = args.extra;
	const CUresult r = CU.cuGraphAddKernelNode_v2(&n, AT(at), &p);
	if (r)
		return added(ret, n, r, "cuGraphAddKernelNode");
	return added(ret, n, set_attributes(n, l), "cuGraphKernelNodeSetAttribute");
}

struct gpu_result cuda_graph_add_copy(struct gpu_node **ret, const struct gpu_node_place *at,
	const struct gpu_rows *dst, const struct gpu_rows *src)
{
	const CUDA_MEMCPY3D m = cuda_copy_of(dst, src);
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddMemcpyNode(&n, AT(at), &m, (CUcontext)at->context);

	return added(ret, n, r, "cuGraphAddMemcpyNode");
}

struct gpu_result cuda_graph_add_fill(struct gpu_node **ret, const struct gpu_node_place *at,
	uint64_t dst, const struct sbt_rows *rows, unsigned elem, unsigned value)
{
	const CUDA_MEMSET_NODE_PARAMS p = {.dst = dst,
		.value = value,
		.elementSize = elem,
		.pitch = rows->pitch,
		.width = rows->width / elem,
		.height = rows->height};
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddMemsetNode(&n, AT(at), &p, (CUcontext)at->context);

	return added(ret, n, r, "cuGraphAddMemsetNode");
}

struct gpu_result cuda_graph_add_empty(struct gpu_node **ret, const struct gpu_node_place *at)
{
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddEmptyNode(&n, AT(at));

	return added(ret, n, r, "cuGraphAddEmptyNode");
}

struct gpu_result cuda_graph_add_child(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_graph *child)
{
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddChildGraphNode(&n, AT(at), (CUgraph)child);

	return added(ret, n, r, "cuGraphAddChildGraphNode");
}

struct gpu_result cuda_graph_add_record(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e)
{
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddEventRecordNode(&n, AT(at), (CUevent)e);

	return added(ret, n, r, "cuGraphAddEventRecordNode");
}

struct gpu_result cuda_graph_add_wait(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e)
{
	CUgraphNode n = NULL;
	const CUresult r = CU.cuGraphAddEventWaitNode(&n, AT(at), (CUevent)e);

	return added(ret, n, r, "cuGraphAddEventWaitNode");
}

/* --- launches --- */

struct gpu_result cuda_graph_instantiate(struct gpu_exec **ret, struct gpu_graph *g)
{
	CUgraphExec x = NULL;
	const CUresult r = CU.cuGraphInstantiateWithFlags(&x, (CUgraph)g, 0);

	*ret = (struct gpu_exec *)x;
	return cuda_result(r, "cuGraphInstantiate");
}

struct gpu_result cuda_graph_launch(struct gpu_exec *g, struct gpu_stream *s)
{
	return cuda_result(CU.cuGraphLaunch((CUgraphExec)g, (CUstream)s), "cuGraphLaunch");
}

struct gpu_result cuda_graph_exec_destroy(struct gpu_exec *g)
{
	return cuda_result(CU.cuGraphExecDestroy((CUgraphExec)g), "cuGraphExecDestroy");
}
