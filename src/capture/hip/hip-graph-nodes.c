// SPDX-License-Identifier: Apache-2.0
//
// Graphs and their nodes as HIP tells them: driver->graphs (objects/graph-publish.h). The
// surprising thing: HIP 5.2 has no call that says what a node copies if it was made by
// hipGraphAddMemcpyNode1D or the symbols' forms, or captured from a flat copy, and
// hipGraphMemcpyNodeGetParams() of such a node reads another one's layout. So the calls that make
// and change them are remembered.
#include <string.h>

#include "capture/core/thread.h"
#include "capture/hip/driver-hip.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-version.h"
#include "capture/objects/graph-publish.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/objects/map.h"

#define G(handle) ((hipGraph_t)(uintptr_t)(handle))
#define N(handle) ((hipGraphNode_t)(uintptr_t)(handle))
_Static_assert(sizeof(hipGraphNode_t) == sizeof(uint64_t), "lists of nodes are lists of numbers");

static bool nodes(uint64_t graph, uint64_t *to, size_t *n)
{
	return graph && hip.hipGraphGetNodes &&
	       !OWN(hip.hipGraphGetNodes(G(graph), (hipGraphNode_t *)(void *)to, n));
}

static bool deps(uint64_t node, uint64_t *to, void *edges, size_t *n, bool *ret_early)
{
	(void)edges;
	*ret_early = false;
	return hip.hipGraphNodeGetDependencies &&
	       !OWN(hip.hipGraphNodeGetDependencies(N(node), (hipGraphNode_t *)(void *)to, n));
}

/* As HIP 5.2 numbers them, which has a type of its own for flat copies; the others call these
 * Memcpy. Types that it does not have are hipGraphNodeTypeCount. */
static hipGraphNodeType as_numbered(unsigned t, const struct hip_version *v)
{
	const unsigned n = t - v->first_node;

	if (n <= hipGraphNodeTypeEventRecord - hipGraphNodeTypeKernel)
		return (hipGraphNodeType)(n + hipGraphNodeTypeKernel);
	if (t - v->from_symbol < 2)
		return t == v->from_symbol ? hipGraphNodeTypeMemcpyFromSymbol
					   : hipGraphNodeTypeMemcpyToSymbol;
	return v->first_node && t == hipGraphNodeTypeMemcpy1D ? hipGraphNodeTypeMemcpy1D
							      : hipGraphNodeTypeCount;
}

static hipGraphNodeType hip_type(uint64_t node)
{
	const struct hip_version *v = hip_version();
	hipGraphNodeType t = hipGraphNodeTypeCount;

	if (!v || !hip.hipGraphNodeGetType || OWN(hip.hipGraphNodeGetType(N(node), &t)))
		return hipGraphNodeTypeCount;
	return as_numbered((unsigned)t, v);
}

static enum sbt_node type(uint64_t node)
{
	static const uint8_t types[] = {[hipGraphNodeTypeKernel] = SBT_NODE_KERNEL,
		[hipGraphNodeTypeMemcpy] = SBT_NODE_COPY,
		[hipGraphNodeTypeMemcpy1D] = SBT_NODE_COPY,
		[hipGraphNodeTypeMemcpyFromSymbol] = SBT_NODE_COPY,
		[hipGraphNodeTypeMemcpyToSymbol] = SBT_NODE_COPY,
		[hipGraphNodeTypeMemset] = SBT_NODE_FILL,
		[hipGraphNodeTypeHost] = SBT_NODE_HOST,
		[hipGraphNodeTypeGraph] = SBT_NODE_GRAPH,
		[hipGraphNodeTypeEmpty] = SBT_NODE_EMPTY,
		[hipGraphNodeTypeWaitEvent] = SBT_NODE_WAIT_EVENT,
		[hipGraphNodeTypeEventRecord] = SBT_NODE_EVENT_RECORD};
	const hipGraphNodeType t = hip_type(node);

	return (size_t)t < sizeof(types) && t > 0 ? types[t] : SBT_NODE_OTHER;
}

static uint64_t child(uint64_t node)
{
	hipGraph_t g = NULL;

	return hip.hipGraphChildGraphNodeGetGraph &&
			       !OWN(hip.hipGraphChildGraphNodeGetGraph(N(node), &g))
		       ? H(g)
		       : 0;
}

static const char *other(uint64_t node)
{
	(void)node;
	return "a graph node of a type that no command kind describes";
}

/* --- flat copies --- */

static struct map copies; /* node -> struct sbt_cmd_copy *, which stays for the next such node */

void hip_node_note_copy(uint64_t node, const struct sbt_cmd *cmd)
{
	struct sbt_cmd_copy *k = (struct sbt_cmd_copy *)(uintptr_t)map_get(&copies, node);

	if (cmd->kind != SBT_COPY) {
		hip_node_gone(node);
		return;
	}
	if (!k)
		k = ids_keep(sizeof(*k));
	if (!k)
		return;
	*k = cmd->u.copy;
	k->stream = SBT_NO_ID;
	k->async = 1;
	(void)map_put(&copies, node, H(k));
}

void hip_node_gone(uint64_t node)
{
	(void)map_remove(&copies, node);
}

static void captured(const struct call *c, uint64_t node)
{
	hip_node_note_copy(node, &c->cmd);
}

static void copied(uint64_t from, uint64_t to)
{
	const struct sbt_cmd_copy *k =
		(const struct sbt_cmd_copy *)(uintptr_t)map_get(&copies, from);
	struct sbt_cmd cmd = {.kind = k ? SBT_COPY : SBT_UNREPLAYABLE};

	if (k)
		cmd.u.copy = *k;
	hip_node_note_copy(to, &cmd);
	if (type(from) == SBT_NODE_GRAPH)
		graph_copy_origins(child(from), child(to));
}

static void gone(uint64_t node)
{
	hip_node_gone(node);
	if (type(node) == SBT_NODE_GRAPH)
		graph_forget_origins(child(node));
}

static void copy_payload(struct call *n, uint64_t node)
{
	const struct sbt_cmd_copy *k =
		(const struct sbt_cmd_copy *)(uintptr_t)map_get(&copies, node);
	hipMemcpy3DParms p;

	if (k) {
		n->cmd.kind = SBT_COPY;
		n->cmd.u.copy = *k;
	} else if (hip_type(node) == hipGraphNodeTypeMemcpy) {
		/* Of a flat one newer versions answer zeros. */
		memset(&p, 0, sizeof(p));
		if (hip.hipGraphMemcpyNodeGetParams &&
			!OWN(hip.hipGraphMemcpyNodeGetParams(N(node), &p)) && p.extent.width)
			hip_node_copy_3d(n, &p);
		else
			call_unreplayable(n, "a graph's copy that HIP does not describe");
	} else {
		call_unreplayable(n, "a graph's copy that was made before tsdb came");
	}
}

/* --- the others --- */

/* The function is a kernel's stub in the host's code, or a hipFunction_t, whose name HIP reads. */
void hip_node_kernel(struct call *n, const hipKernelNodeParams *p)
{
	struct sbt_cmd_launch *l = &n->cmd.u.launch;
	const char *const symbol = n->t->call.symbol;

	n->cmd.kind = 0;
	if (hip_module_of(H(p->func)) && hip.hipKernelNameRef)
		n->t->call.symbol = OWN(hip.hipKernelNameRef((hipFunction_t)p->func));
	n->kernel = kernel_get(n->t, n->ctx, H(p->func));
	n->t->call.symbol = symbol;
	if (!n->kernel)
		return;
	n->cmd.kind = SBT_LAUNCH;
	l->stream = SBT_NO_ID;
	l->kernel = n->kernel->id;
	l->grid_x = p->gridDim.x;
	l->grid_y = p->gridDim.y;
	l->grid_z = p->gridDim.z;
	l->block_x = p->blockDim.x;
	l->block_y = p->blockDim.y;
	l->block_z = p->blockDim.z;
	l->shared = p->sharedMemBytes;
	const int64_t bytes =
		hip_gather(n->kernel, p->kernelParams, p->extra, n->t->args, sizeof(n->t->args));
	if (bytes >= 0)
		l->args = (struct sbt_blob){n->t->args, (uint64_t)bytes};
}

/* HIP 5.2 counts a row of larger elements in bytes where it fills several rows. */
void hip_node_fill(struct call *n, const hipMemsetParams *p)
{
	struct sbt_cmd_fill *f = &n->cmd.u.fill;

	if (p->height > 1 && p->elementSize > 1) {
		call_unreplayable(
			n, "a graph's fill of rows whose elements are larger than a byte");
		return;
	}
	n->cmd.kind = SBT_FILL;
	f->stream = SBT_NO_ID;
	f->async = 1;
	f->dst = H(p->dst);
	f->elem = p->elementSize;
	f->value = p->value & (UINT32_MAX >> (p->elementSize < 4 ? 32 - 8 * p->elementSize : 0));
	f->size = p->width * p->height * p->elementSize;
	if (p->height > 1) {
		f->width = p->width;
		f->height = p->height;
		f->dst_pitch = p->pitch;
	}
}

static void event_payload(struct call *n, uint64_t node, bool wait)
{
	hipEvent_t e = NULL;

	if (wait ? hip.hipGraphEventWaitNodeGetEvent &&
				!OWN(hip.hipGraphEventWaitNodeGetEvent(N(node), &e))
		 : hip.hipGraphEventRecordNodeGetEvent &&
				!OWN(hip.hipGraphEventRecordNodeGetEvent(N(node), &e)))
		graph_event_payload(n, H(e), wait);
}

/* Fills p by one of HIP's functions: what(node, &p). */
#define ASKED(function, p) (hip.function && !OWN(hip.function(N(node), &(p))))

static void payload(struct call *n, uint64_t node, enum sbt_node type)
{
	hipKernelNodeParams kernel;
	hipMemsetParams fill;
	hipHostNodeParams host;

	switch (type) {
	case SBT_NODE_KERNEL:
		if (ASKED(hipGraphKernelNodeGetParams, kernel))
			hip_node_kernel(n, &kernel);
		break;
	case SBT_NODE_COPY:
		copy_payload(n, node);
		break;
	case SBT_NODE_FILL:
		if (ASKED(hipGraphMemsetNodeGetParams, fill))
			hip_node_fill(n, &fill);
		break;
	case SBT_NODE_HOST:
		if (ASKED(hipGraphHostNodeGetParams, host))
			graph_host_payload(n, H(host.fn), H(host.userData));
		break;
	case SBT_NODE_WAIT_EVENT:
	case SBT_NODE_EVENT_RECORD:
		event_payload(n, node, type == SBT_NODE_WAIT_EVENT);
		break;
	default:
		break;
	}
}

const struct graph_reader graph_reader_hip = {.nodes = nodes,
	.deps = deps,
	.type = type,
	.payload = payload,
	.child = child,
	.other = other,
	.captured = captured,
	.copied = copied,
	.gone = gone};

bool hip_stream_captured(uint64_t s, uint64_t *ret_node)
{
	hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
	const hipGraphNode_t *last = NULL;
	size_t n = 0;

	if (!hip.hipStreamGetCaptureInfo_v2 ||
		OWN(hip.hipStreamGetCaptureInfo_v2(S(s), &status, NULL, NULL, &last, &n)) ||
		status != hipStreamCaptureStatusActive || n != 1 || !last)
		return false;
	*ret_node = H(*last);
	return true;
}
