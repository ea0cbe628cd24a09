/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: changes of executable graphs. The driver has no call that describes the nodes of an
 * executable graph, so changes are taken from the parameters of the calls that succeeded: first
 * comes the command, then records of the new nodes of the executable graph.
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/graph-nodes.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/cuda/launch-shape.h"
#include "capture/core/thread.h"

/* For a graph from before the agent came, or of unknown origin, launches are recorded by their
 * effect or not at all: there is nothing to update. */
static struct graph_table *begin(struct call *c, CUgraphExec exec)
{
	struct sbt_cmd_graph_update *u = &c->cmd.u.graph_update;
	const uint32_t id = ids_number(&ids.graphs, H(exec));
	struct graph_table *t = id == SBT_NO_ID ? NULL : graph_table(id);
	u->exec = id;
	u->graph = SBT_NO_ID;
	u->node = SBT_NO_ID;
	u->call = (struct sbt_blob){c->row->name, strlen(c->row->name)};
	if (!t)
		call_unreplayable(c, c->row->name);
	return t;
}

/* --- one node --- */

void enter_node_update(struct call *c) /* all: hGraphExec and hNode come first */
{
	const cuGraphExecKernelNodeSetParams_v2_params *p = c->params;
	struct graph_table *t = begin(c, p->hGraphExec);
	struct graph_entry *e = t ? graph_table_find(t, H(p->hNode)) : NULL;
	if (t && !e)
		call_unreplayable(c, c->row->name);
	else if (e)
		c->cmd.u.graph_update.node = e->number;
}

/* The node that changes, if the driver succeeded. */
static struct graph_entry *changed(struct call *c, struct graph_table **ret)
{
	const cuGraphExecKernelNodeSetParams_v2_params *p = c->params;
	*ret = NULL;
	if (c->cmd.result || c->cmd.kind != SBT_GRAPH_UPDATE)
		return NULL;
	*ret = graph_table((uint32_t)c->cmd.u.graph_update.exec);
	return *ret ? graph_table_find(*ret, H(p->hNode)) : NULL;
}

static void send(struct call *c, struct graph_table *t, struct graph_entry *e, struct call *n)
{
	uint8_t *bytes = agent_map(TSDB_RECORD_MAX);
	const size_t size = bytes ? graph_pack(n, bytes) : 0;
	if (n->kernel) {
		e->of = n->kernel;
		e->kernel = n->kernel->id;
	}
	if (!bytes || !graph_table_set(t, e, bytes, size)) {
		record_unreplayable(c->t, c->row->name);
		return;
	}
	graph_send_node(c, e, n, bytes, size);
	agent_unmap(bytes, TSDB_RECORD_MAX);
}

static const struct call_row node_row = {"graph node", CALL_HANDLED, CALL_ASYNC, 0, NULL, NULL};
#define NODE(c)                                                                                    \
	{                                                                                          \
		.row = &node_row, .t = (c)->t, .ctx = (c)->ctx                                     \
	}

static void kernel_update(struct call *c, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	struct sbt_cmd was;
	if (!e || !p)
		return;
	graph_kernel_payload(&n, p);
	if (e->size && sbt_unpack(&was, e->payload, e->size) && was.kind == SBT_LAUNCH)
		launch_keep_attributes(&n.cmd.u.launch, &was.u.launch);
	send(c, t, e, &n);
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
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	if (!e || !m)
		return;
	graph_copy_payload(&n, m);
	send(c, t, e, &n);
}

void exit_copy_update(struct call *c)
{
	copy_update(c, ((const cuGraphExecMemcpyNodeSetParams_params *)c->params)->copyParams);
}

static void fill_update(struct call *c, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	if (!e || !p)
		return;
	n.cmd.kind = SBT_FILL;
	graph_fill_payload(&n, p);
	send(c, t, e, &n);
}

void exit_fill_update(struct call *c)
{
	fill_update(c, ((const cuGraphExecMemsetNodeSetParams_params *)c->params)->memsetParams);
}

static void host_update(struct call *c, CUhostFn fn, void *data)
{
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	if (!e)
		return;
	graph_host_payload(&n, fn, data);
	send(c, t, e, &n);
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
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	if (!e)
		return;
	graph_event_payload(&n, event, wait);
	send(c, t, e, &n);
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
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	if (!e || e->disabled == !p->isEnabled)
		return;
	e->disabled = !p->isEnabled;
	graph_send_node(c, e, &n, e->payload, e->size);
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
	enter_node_update(c);
	if (c->cmd.kind == SBT_GRAPH_UPDATE)
		c->cmd.u.graph_update.graph = graph_id(c->t,
			((const cuGraphExecChildGraphNodeSetParams_params *)c->params)->childGraph);
}

/* The table has the previous child graph's nodes: a later change of one of them cannot be matched
 * any more. */
void exit_child_update(struct call *c)
{
	const cuGraphExecChildGraphNodeSetParams_params *p = c->params;
	struct graph_table *t;
	struct graph_entry *e = changed(c, &t);
	struct call n = NODE(c);
	struct sbt_cmd was;
	if (!e)
		return;
	const uint32_t old = e->size && sbt_unpack(&was, e->payload, e->size)
				     ? (uint32_t)was.u.graph_launch.exec
				     : SBT_NO_ID;
	const uint32_t id = graph_snapshot(&n, p->childGraph, 1);
	graph_drop_pending(c->t); /* the table keeps its own entries */
	for (uint32_t i = 0; i < t->n; i++)
		if (t->entry[i].graph == old)
			t->entry[i].graph = id;
	graph_child_payload(&n, id);
	send(c, t, e, &n);
	graph_end(c->t, old);
}

void enter_graph_update(struct call *c)
{
	const cuGraphExecUpdate_v2_params *p = c->params;
	if (begin(c, p->hGraphExec))
		c->cmd.u.graph_update.graph = graph_id(c->t, p->hGraph);
}

void exit_graph_update(struct call *c)
{
	const cuGraphExecUpdate_v2_params *p = c->params;
	const uint32_t exec = (uint32_t)c->cmd.u.graph_update.exec;
	if (c->cmd.result || c->cmd.kind != SBT_GRAPH_UPDATE)
		return;
	(void)graph_publish(c, p->hGraph, exec);
	graph_replace_table(c->t, exec);
}
