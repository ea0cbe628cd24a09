/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: changes of executable graphs (objects/graph-change.h).
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/graph-nodes.h"
#include "capture/objects/graph-change.h"
#include "capture/cuda/launch-shape.h"
#include "capture/core/thread.h"

/* --- one node --- */

/* All of these: hGraphExec and hNode come first. */
#define EXEC_AND_NODE(c) ((const cuGraphExecKernelNodeSetParams_v2_params *)(c)->params)

void enter_node_update(struct call *c)
{
	graph_change_enter(c, H(EXEC_AND_NODE(c)->hGraphExec), H(EXEC_AND_NODE(c)->hNode));
}

static bool changed(struct call *c, struct graph_change *ret)
{
	return graph_change_node(c, H(EXEC_AND_NODE(c)->hNode), ret);
}

static void kernel_update(struct call *c, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct graph_change x;
	struct sbt_cmd was;
	if (!p || !changed(c, &x))
		return;
	graph_kernel_payload(&x.n, p);
	if (graph_change_was(&x, &was) && was.kind == SBT_LAUNCH)
		launch_keep_attributes(&x.n.cmd.u.launch, &was.u.launch);
	graph_change_send(c, &x);
}

void exit_kernel_update(struct call *c)
{
	kernel_update(c, ((const cuGraphExecKernelNodeSetParams_v2_params *)c->params)->nodeParams);
}

void exit_kernel_update_v1(struct call *c)
{
	const CUDA_KERNEL_NODE_PARAMS_v1 *v1 =
		((const cuGraphExecKernelNodeSetParams_params *)c->params)->nodeParams;
	const CUDA_KERNEL_NODE_PARAMS none = {0},
				      p = v1 ? (CUDA_KERNEL_NODE_PARAMS){LAUNCH_NODE_PARAMS(v1)}
					     : none;
	kernel_update(c, v1 ? &p : NULL);
}

static void copy_update(struct call *c, const CUDA_MEMCPY3D *m)
{
	struct graph_change x;
	if (!m || !changed(c, &x))
		return;
	graph_copy_payload(&x.n, m);
	graph_change_send(c, &x);
}

void exit_copy_update(struct call *c)
{
	copy_update(c, ((const cuGraphExecMemcpyNodeSetParams_params *)c->params)->copyParams);
}

static void fill_update(struct call *c, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct graph_change x;
	if (!p || !changed(c, &x))
		return;
	graph_fill_payload(&x.n, p);
	graph_change_send(c, &x);
}

void exit_fill_update(struct call *c)
{
	fill_update(c, ((const cuGraphExecMemsetNodeSetParams_params *)c->params)->memsetParams);
}

static void host_update(struct call *c, CUhostFn fn, void *data)
{
	struct graph_change x;
	if (!changed(c, &x))
		return;
	graph_host_payload(&x.n, H(fn), H(data));
	graph_change_send(c, &x);
}

void exit_host_update(struct call *c)
{
	const CUDA_HOST_NODE_PARAMS *p =
		((const cuGraphExecHostNodeSetParams_params *)c->params)->nodeParams;
	if (p)
		host_update(c, p->fn, p->userData);
}

static void event_update(struct call *c, CUevent event, bool wait)
{
	struct graph_change x;
	if (!changed(c, &x))
		return;
	graph_event_payload(&x.n, H(event), wait);
	graph_change_send(c, &x);
}

void exit_record_update(struct call *c)
{
	event_update(
		c, ((const cuGraphExecEventRecordNodeSetEvent_params *)c->params)->event, false);
}

void exit_wait_update(struct call *c)
{
	event_update(c, ((const cuGraphExecEventWaitNodeSetEvent_params *)c->params)->event, true);
}

void exit_enabled_update(struct call *c)
{
	const cuGraphNodeSetEnabled_params *p = c->params;
	struct graph_change x;
	if (!changed(c, &x) || x.e->disabled == !p->isEnabled)
		return;
	x.e->disabled = !p->isEnabled;
	graph_send_node(c, x.e, &x.n, x.e->payload, x.e->size);
}

/* --- nodes of any type --- */

void enter_any_update(struct call *c)
{
	const CUgraphNodeParams *p =
		((const cuGraphExecNodeSetParams_params *)c->params)->nodeParams;
	enter_node_update(c);
	switch (p ? p->type : CU_GRAPH_NODE_TYPE_KERNEL) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		break;
	default:
		call_unreplayable(c, c->row->name);
	}
}

void exit_any_update(struct call *c)
{
	const CUgraphNodeParams *p =
		((const cuGraphExecNodeSetParams_params *)c->params)->nodeParams;
	switch (p ? p->type : CU_GRAPH_NODE_TYPE_EMPTY) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		const CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;
		const CUDA_KERNEL_NODE_PARAMS v2 = {
			LAUNCH_NODE_PARAMS(k), .kern = k->kern, .ctx = k->ctx};
		kernel_update(c, &v2);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		copy_update(c, &p->memcpy.copyParams);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		const CUDA_MEMSET_NODE_PARAMS v1 = {.dst = p->memset.dst,
			.pitch = p->memset.pitch,
			.value = p->memset.value,
			.elementSize = p->memset.elementSize,
			.width = p->memset.width,
			.height = p->memset.height};
		fill_update(c, &v1);
		break;
	}
	case CU_GRAPH_NODE_TYPE_HOST:
		host_update(c, p->host.fn, p->host.userData);
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		event_update(c, p->eventWait.event, true);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		event_update(c, p->eventRecord.event, false);
		break;
	default:
		break;
	}
}

/* --- a child graph, a whole graph --- */

void enter_child_update(struct call *c)
{
	const cuGraphExecChildGraphNodeSetParams_params *p = c->params;
	graph_change_child_enter(c, H(p->hGraphExec), H(p->hNode), H(p->childGraph));
}

void exit_child_update(struct call *c)
{
	const cuGraphExecChildGraphNodeSetParams_params *p = c->params;
	graph_change_child(c, H(p->hNode), H(p->childGraph));
}

void enter_graph_update(struct call *c)
{
	const cuGraphExecUpdate_v2_params *p = c->params;
	graph_change_all_enter(c, H(p->hGraphExec), H(p->hGraph));
}

void exit_graph_update(struct call *c)
{
	graph_change_all(c, H(((const cuGraphExecUpdate_v2_params *)c->params)->hGraph));
}
