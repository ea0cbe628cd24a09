/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's graphs, behind src/replayer/backend.h. Copies are HIP's own nodes here, since a graph runs
 * without the host between its nodes.
 */
#include "replayer/backend-hip/hip-driver.h"

#include <stdlib.h>

struct gpu_result hip_graph_create(struct gpu_graph **ret)
{
	hipGraph_t g = NULL;
	const hipError_t r = HIP.hipGraphCreate(&g, 0);

	*ret = (struct gpu_graph *)g;
	return hip_result(r, "hipGraphCreate");
}

struct gpu_result hip_graph_destroy(struct gpu_graph *g)
{
	return hip_result(HIP.hipGraphDestroy((hipGraph_t)g), "hipGraphDestroy");
}

/* --- nodes --- */

/* What every hipGraphAdd*Node() begins with. */
#define AT(at) (hipGraph_t)(at)->graph, (const hipGraphNode_t *)(at)->deps, (at)->ndeps

static struct gpu_result added(
	struct gpu_node **ret, hipGraphNode_t n, hipError_t r, const char *call)
{
	*ret = (struct gpu_node *)n;
	return hip_result(r, call);
}

struct gpu_result hip_graph_add_kernel(
	struct gpu_node **ret, const struct gpu_node_place *at, const struct gpu_launch *l)
{
	struct hip_args args;
	hipGraphNode_t n = NULL;
	const struct gpu_result refused = hip_args_of(&args, l);

	*ret = NULL;
	if (refused.status)
		return refused;
	const hipKernelNodeParams p = {.func = hip_function_of(l->kernel),
		.gridDim = {l->grid[0], l->grid[1], l->grid[2]},
		.blockDim = {l->block[0], l->block[1], l->block[2]},
		.sharedMemBytes = l->shared,
		.extra = args.extra};
	const hipError_t r = HIP.hipGraphAddKernelNode(&n, AT(at), &p);
	free(args.block);
	return added(ret, n, r, "hipGraphAddKernelNode");
}

static struct hipPitchedPtr side(const struct gpu_rows *s)
{
	return (struct hipPitchedPtr){.ptr = (void *)(uintptr_t)s->here,
		.pitch = s->rows.pitch,
		.xsize = s->rows.width,
		.ysize = s->rows.pitch ? s->rows.slice / s->rows.pitch : s->rows.height};
}

struct gpu_result hip_graph_add_copy(struct gpu_node **ret, const struct gpu_node_place *at,
	const struct gpu_rows *dst, const struct gpu_rows *src)
{
	const struct sbt_rows *rows = &dst->rows;
	hipGraphNode_t n = NULL;

	if (rows->height == 1 && rows->depth == 1) {
		const hipError_t r =
			HIP.hipGraphAddMemcpyNode1D(&n, AT(at), (void *)(uintptr_t)dst->here,
				(const void *)(uintptr_t)src->here, rows->width, hipMemcpyDefault);
		return added(ret, n, r, "hipGraphAddMemcpyNode1D");
	}
	const hipMemcpy3DParms p = {.srcPtr = side(src),
		.dstPtr = side(dst),
		.extent = {rows->width, rows->height, rows->depth},
		.kind = hipMemcpyDefault};
	return added(ret, n, HIP.hipGraphAddMemcpyNode(&n, AT(at), &p), "hipGraphAddMemcpyNode");
}

/* HIP 5.2 counts the rows of larger elements in bytes: they are none that a recording has. */
struct gpu_result hip_graph_add_fill(struct gpu_node **ret, const struct gpu_node_place *at,
	uint64_t dst, const struct sbt_rows *rows, unsigned elem, unsigned value)
{
	const hipMemsetParams p = {.dst = (void *)(uintptr_t)dst,
		.value = value,
		.elementSize = elem,
		.pitch = rows->pitch,
		.width = rows->width / elem,
		.height = rows->height};
	hipGraphNode_t n = NULL;

	*ret = NULL;
	if (elem > 1 && rows->height > 1)
		return hip_refused("a graph's fill of rows whose elements are larger than a byte");
	return added(ret, n, HIP.hipGraphAddMemsetNode(&n, AT(at), &p), "hipGraphAddMemsetNode");
}

struct gpu_result hip_graph_add_empty(struct gpu_node **ret, const struct gpu_node_place *at)
{
	hipGraphNode_t n = NULL;
	const hipError_t r = HIP.hipGraphAddEmptyNode(&n, AT(at));

	return added(ret, n, r, "hipGraphAddEmptyNode");
}

struct gpu_result hip_graph_add_child(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_graph *child)
{
	hipGraphNode_t n = NULL;
	const hipError_t r = HIP.hipGraphAddChildGraphNode(&n, AT(at), (hipGraph_t)child);

	return added(ret, n, r, "hipGraphAddChildGraphNode");
}

struct gpu_result hip_graph_add_record(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e)
{
	hipGraphNode_t n = NULL;
	const hipError_t r = HIP.hipGraphAddEventRecordNode(&n, AT(at), (hipEvent_t)e);

	return added(ret, n, r, "hipGraphAddEventRecordNode");
}

struct gpu_result hip_graph_add_wait(
	struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e)
{
	hipGraphNode_t n = NULL;
	const hipError_t r = HIP.hipGraphAddEventWaitNode(&n, AT(at), (hipEvent_t)e);

	return added(ret, n, r, "hipGraphAddEventWaitNode");
}

/* --- launches --- */

struct gpu_result hip_graph_instantiate(struct gpu_exec **ret, struct gpu_graph *g)
{
	hipGraphExec_t x = NULL;
	const hipError_t r = HIP.hipGraphInstantiate(&x, (hipGraph_t)g, NULL, NULL, 0);

	*ret = (struct gpu_exec *)x;
	return hip_result(r, "hipGraphInstantiate");
}

struct gpu_result hip_graph_launch(struct gpu_exec *g, struct gpu_stream *s)
{
	return hip_result(HIP.hipGraphLaunch((hipGraphExec_t)g, (hipStream_t)s), "hipGraphLaunch");
}

struct gpu_result hip_graph_exec_destroy(struct gpu_exec *g)
{
	return hip_result(HIP.hipGraphExecDestroy((hipGraphExec_t)g), "hipGraphExecDestroy");
}
