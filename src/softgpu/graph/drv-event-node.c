/* SPDX-License-Identifier: Apache-2.0
 *
 * Events inside graphs: nodes that record one or wait for one. Each launch of a graph gives its
 * events a new place in time, which the rest of the program can wait for at once: a gate, a
 * timeline without a thread whose only step is that the node was reached. A launch that never runs
 * opens its gates when it is dropped, so no wait lasts for ever.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "base/monotonic.h"

/* One for each step of the executable graph; empty for those without an event. */
struct graph_place {
	struct mark *mark; /* recording; a reference */
	struct point gate; /* recording: what opens. Waiting: what is waited for */
	bool record, opened;
};

struct graph_launch {
	unsigned n;
	struct graph_place places[];
};

static bool has_event(const struct graph_step *s)
{
	return (s->op.kind == OP_EVENT_RECORD || s->op.kind == OP_EVENT_WAIT) &&
	       obj_alive(OBJ_EVENT, s->op.event);
}

static bool place_record(struct graph_place *p, struct ctx *c)
{
	p->mark = mark_new();
	p->gate = (struct point){timeline_new(c), 1};
	p->record = true;
	return p->mark && p->gate.tl;
}

CUresult graph_launch_new(struct graph_exec *e, struct ctx *c, struct graph_launch **ret)
{
	struct graph_launch *l;
	unsigned i, events = 0;

	*ret = NULL;
	for (i = 0; i < e->nsteps; i++)
		events += has_event(&e->steps[i]);
	if (!events)
		return CUDA_SUCCESS;
	l = calloc(1, sizeof(*l) + e->nsteps * sizeof(*l->places));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->n = e->nsteps;
	for (i = 0; i < e->nsteps; i++)
		if (has_event(&e->steps[i]) && e->steps[i].op.kind == OP_EVENT_RECORD &&
			!place_record(&l->places[i], c)) {
			graph_launch_free(l);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	pthread_mutex_lock(&drv_lock);
	/* First what is waited for: a record of the same launch is ordered by edges. */
	for (i = 0; i < e->nsteps; i++)
		if (has_event(&e->steps[i]) && e->steps[i].op.kind == OP_EVENT_WAIT)
			point_copy(&l->places[i].gate, &e->steps[i].op.event->at);
	for (i = 0; i < e->nsteps; i++)
		if (l->places[i].record)
			event_set(e->steps[i].op.event, l->places[i].mark, &l->places[i].gate);
	pthread_mutex_unlock(&drv_lock);
	*ret = l;
	return CUDA_SUCCESS;
}

void graph_launch_step(struct graph_launch *l, unsigned i)
{
	struct graph_place *p = &l->places[i];

	if (!p->record) {
		point_wait(&p->gate);
		return;
	}
	p->mark->ns = monotonic_ns();
	atomic_store_explicit(&p->mark->done, true, memory_order_release);
	p->opened = true;
	timeline_step(p->gate.tl);
}

void graph_launch_free(struct graph_launch *l)
{
	unsigned i;

	if (!l)
		return;
	for (i = 0; i < l->n; i++) {
		struct graph_place *p = &l->places[i];

		if (p->record && p->mark && p->gate.tl && !p->opened)
			graph_launch_step(l, i);
		mark_unref(p->mark);
		point_release(&p->gate);
	}
	free(l);
}

/* --- the calls --- */

CUresult event_op(enum op_kind kind, CUevent h, struct op *ret)
{
	REQUIRE(obj_alive(OBJ_EVENT, h));
	*ret = (struct op){.kind = kind, .event = (struct event *)h};
	return CUDA_SUCCESS;
}

DRV_DEFINE(5, cuGraphAddEventRecordNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, CUevent, event)
{
	struct op op;

	TRY_CU(event_op(OP_EVENT_RECORD, event, &op));
	return graph_add_node(phGraphNode, hGraph, dependencies, numDependencies,
		CU_GRAPH_NODE_TYPE_EVENT_RECORD, &op);
}

DRV_DEFINE(5, cuGraphAddEventWaitNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, CUevent, event)
{
	struct op op;

	TRY_CU(event_op(OP_EVENT_WAIT, event, &op));
	return graph_add_node(phGraphNode, hGraph, dependencies, numDependencies,
		CU_GRAPH_NODE_TYPE_WAIT_EVENT, &op);
}

static CUresult get_event(CUgraphNode h, CUgraphNodeType type, CUevent *ret)
{
	struct node *n;

	REQUIRE(ret);
	TRY_CU(node_resolve(h, &n));
	REQUIRE(n->type == type);
	*ret = (CUevent)n->op.event;
	return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode h, CUgraphNodeType type, CUevent event)
{
	struct node *n;

	TRY_CU(node_resolve(h, &n));
	REQUIRE(n->type == type && obj_alive(OBJ_EVENT, event));
	n->op.event = (struct event *)event;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphEventRecordNodeGetEvent, CUgraphNode, hNode, CUevent *, event_out)
{
	return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

DRV_DEFINE(2, cuGraphEventWaitNodeGetEvent, CUgraphNode, hNode, CUevent *, event_out)
{
	return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

DRV_DEFINE(2, cuGraphEventRecordNodeSetEvent, CUgraphNode, hNode, CUevent, event)
{
	return set_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

DRV_DEFINE(2, cuGraphEventWaitNodeSetEvent, CUgraphNode, hNode, CUevent, event)
{
	return set_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

DRV_DEFINE(3, cuGraphExecEventRecordNodeSetEvent, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	CUevent, event)
{
	struct op op;

	TRY_CU(event_op(OP_EVENT_RECORD, event, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &op);
}

DRV_DEFINE(3, cuGraphExecEventWaitNodeSetEvent, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	CUevent, event)
{
	struct op op;

	TRY_CU(event_op(OP_EVENT_WAIT, event, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &op);
}
