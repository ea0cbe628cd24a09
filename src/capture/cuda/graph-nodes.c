/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs and their nodes as CUDA's driver tells them: driver->graphs (objects/graph-publish.h).
 */
#include "capture/cuda/graph-nodes.h"

#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/kernel.h"
#include "capture/cuda/launch-shape.h"
#include "capture/core/thread.h"

#define G(handle) ((CUgraph)(uintptr_t)(handle))
#define N(handle) ((CUgraphNode)(uintptr_t)(handle))
_Static_assert(sizeof(CUgraphNode) == sizeof(uint64_t), "lists of nodes are lists of numbers");
_Static_assert(sizeof(CUgraphEdgeData) == GRAPH_EDGE_BYTES, "room for an edge");

static bool nodes(uint64_t graph, uint64_t *to, size_t *n)
{
	return cuda.cuGraphGetNodes &&
	       !OWN(cuda.cuGraphGetNodes(G(graph), (CUgraphNode *)(void *)to, n));
}

static bool begins_early(const CUgraphEdgeData *edges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
			return true;
	return false;
}

static bool deps(uint64_t node, uint64_t *to, void *edges, size_t *n, bool *ret_early)
{
	CUgraphNode *const list = (CUgraphNode *)(void *)to;
	const size_t room = *n;
	if (cuda.cuGraphNodeGetDependencies_v2) {
		if (OWN(cuda.cuGraphNodeGetDependencies_v2(N(node), list, edges, n)))
			return false;
		*ret_early = begins_early(edges, *n < room ? *n : room);
		return true;
	}
	return cuda.graph_node_get_dependencies_v1 &&
	       !OWN(cuda.graph_node_get_dependencies_v1(N(node), list, n));
}

/* ---- what they do ---- */

void graph_kernel_payload(struct call *n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct sbt_cmd_launch *l = &n->cmd.u.launch;
	n->cmd.kind = 0;
	n->kernel = kernel_get(n->t, n->ctx, p->func ? H(p->func) : H(p->kern));
	if (!n->kernel)
		return;
	n->cmd.kind = SBT_LAUNCH;
	l->stream = SBT_NO_ID;
	l->kernel = n->kernel->id;
	LAUNCH_SHAPE(l, p);
	const int64_t bytes =
		launch_gather(n->kernel, p->kernelParams, p->extra, n->t->args, sizeof(n->t->args));
	if (bytes >= 0)
		l->args = (struct sbt_blob){n->t->args, (uint64_t)bytes};
}

static void kernel_attributes(struct call *n, CUgraphNode node)
{
	static const CUlaunchAttributeID known[] = {
		CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	if (!cuda.cuGraphKernelNodeGetAttribute || n->cmd.kind != SBT_LAUNCH)
		return;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		CUlaunchAttributeValue v = {0};
		if (!OWN(cuda.cuGraphKernelNodeGetAttribute(node, known[i], &v)))
			launch_attribute(&n->cmd.u.launch, known[i], &v);
	}
}

static void kernel_payload(struct call *n, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};
	n->cmd.kind = 0;
	if (!cuda.cuGraphKernelNodeGetParams_v2 ||
		OWN(cuda.cuGraphKernelNodeGetParams_v2(node, &p)))
		return;
	graph_kernel_payload(n, &p);
	kernel_attributes(n, node);
}

void graph_copy_payload(struct call *n, const CUDA_MEMCPY3D *m)
{
	n->cmd.kind = SBT_COPY;
	call_copy_3d(n, m);
	if (n->cmd.kind == SBT_COPY) {
		n->cmd.u.copy.stream = SBT_NO_ID;
		n->cmd.u.copy.async = 1;
	}
}

static void copy_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMCPY3D m = {0};
	if (cuda.cuGraphMemcpyNodeGetParams && !OWN(cuda.cuGraphMemcpyNodeGetParams(node, &m)))
		graph_copy_payload(n, &m);
}

void graph_fill_payload(struct call *n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct sbt_cmd_fill *f = &n->cmd.u.fill;
	n->cmd.kind = SBT_FILL;
	f->stream = SBT_NO_ID;
	f->dst = p->dst;
	f->value = p->value;
	f->elem = p->elementSize;
	f->size = p->width * p->height * p->elementSize;
	f->async = 1;
	if (p->height > 1) {
		f->width = p->width;
		f->height = p->height;
		f->dst_pitch = p->pitch;
	}
}

static void fill_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};
	if (cuda.cuGraphMemsetNodeGetParams && !OWN(cuda.cuGraphMemsetNodeGetParams(node, &p)))
		graph_fill_payload(n, &p);
}

static void host_payload(struct call *n, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS p = {0};
	if (cuda.cuGraphHostNodeGetParams && !OWN(cuda.cuGraphHostNodeGetParams(node, &p)))
		graph_host_payload(n, H(p.fn), H(p.userData));
}

static void event_payload(struct call *n, CUgraphNode node, bool wait)
{
	CUevent event = NULL;
	if (wait ? cuda.cuGraphEventWaitNodeGetEvent &&
				!OWN(cuda.cuGraphEventWaitNodeGetEvent(node, &event))
		 : cuda.cuGraphEventRecordNodeGetEvent &&
				!OWN(cuda.cuGraphEventRecordNodeGetEvent(node, &event)))
		graph_event_payload(n, H(event), wait);
}

static void payload(struct call *n, uint64_t handle, enum sbt_node type)
{
	const CUgraphNode node = N(handle);
	switch (type) {
	case SBT_NODE_KERNEL:
		kernel_payload(n, node);
		break;
	case SBT_NODE_COPY:
		copy_payload(n, node);
		break;
	case SBT_NODE_FILL:
		fill_payload(n, node);
		break;
	case SBT_NODE_HOST:
		host_payload(n, node);
		break;
	case SBT_NODE_WAIT_EVENT:
		event_payload(n, node, true);
		break;
	case SBT_NODE_EVENT_RECORD:
		event_payload(n, node, false);
		break;
	default:
		break;
	}
}

static uint64_t child(uint64_t node)
{
	CUgraph g = NULL;
	return cuda.cuGraphChildGraphNodeGetGraph &&
			       !OWN(cuda.cuGraphChildGraphNodeGetGraph(N(node), &g))
		       ? H(g)
		       : 0;
}

enum sbt_node graph_node_type(CUgraphNode node)
{
	static const uint8_t types[] = {[CU_GRAPH_NODE_TYPE_KERNEL] = SBT_NODE_KERNEL,
		[CU_GRAPH_NODE_TYPE_MEMCPY] = SBT_NODE_COPY,
		[CU_GRAPH_NODE_TYPE_MEMSET] = SBT_NODE_FILL,
		[CU_GRAPH_NODE_TYPE_HOST] = SBT_NODE_HOST,
		[CU_GRAPH_NODE_TYPE_GRAPH] = SBT_NODE_GRAPH,
		[CU_GRAPH_NODE_TYPE_EMPTY] = SBT_NODE_EMPTY,
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = SBT_NODE_WAIT_EVENT,
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = SBT_NODE_EVENT_RECORD};
	CUgraphNodeType type;
	if (!cuda.cuGraphNodeGetType || OWN(cuda.cuGraphNodeGetType(node, &type)) ||
		(size_t)type >= sizeof(types))
		return SBT_NODE_OTHER;
	return types[type];
}

static enum sbt_node type(uint64_t node)
{
	return graph_node_type(N(node));
}

/* The driver's name for types that no command kind describes: for the sentence about them. */
static const char *other(uint64_t node)
{
	CUgraphNodeType type = (CUgraphNodeType)-1;
	if (cuda.cuGraphNodeGetType)
		(void)OWN(cuda.cuGraphNodeGetType(N(node), &type));
	switch ((int)type) {
	case 8:
	case 9:
		return "a graph node that signals or waits for an external semaphore";
	case 10:
	case 11:
		return "a graph node that allocates or frees memory";
	case 12:
		return "a graph node of stream memory operations";
	case 13:
		return "a conditional graph node";
	default:
		return "a graph node of a type that no command kind describes";
	}
}

static void memory(struct thread *t, uint64_t handle)
{
	const CUgraphNode node = N(handle);
	CUgraphNodeType type = (CUgraphNodeType)-1;
	CUDA_MEM_ALLOC_NODE_PARAMS a = {0};
	CUdeviceptr freed = 0;
	if (cuda.cuGraphNodeGetType)
		(void)OWN(cuda.cuGraphNodeGetType(node, &type));
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && cuda.cuGraphMemAllocNodeGetParams &&
		!OWN(cuda.cuGraphMemAllocNodeGetParams(node, &a)) && a.dptr && a.bytesize)
		graph_table_memory(t, a.dptr, a.bytesize);
	else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && cuda.cuGraphMemFreeNodeGetParams &&
		 !OWN(cuda.cuGraphMemFreeNodeGetParams(node, &freed)) && freed)
		graph_table_memory(t, freed, 0);
}

const struct graph_reader graph_reader_cuda = {.nodes = nodes,
	.deps = deps,
	.type = type,
	.payload = payload,
	.child = child,
	.other = other,
	.memory = memory};
