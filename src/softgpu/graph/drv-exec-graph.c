/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: the commands of a graph's nodes, child graphs included, as one list. A launch
 * runs them one after the other in an order that respects the edges, which is the same each time.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static uint32_t last_exec; /* guarded by drv_lock */

void graph_exec_ref(struct graph_exec *g)
{
	atomic_fetch_add(&g->refs, 1);
}

void graph_exec_unref(struct graph_exec *g)
{
	unsigned i;

	if (atomic_fetch_sub(&g->refs, 1) != 1)
		return;
	for (i = 0; i < g->nsteps; i++)
		op_release(&g->steps[i].op);
	free(g->steps);
	user_refs_drop(&g->users);
	if (g->graph && obj_alive(OBJ_GRAPH, g->graph) && g->graph->id == g->graph_id)
		atomic_fetch_sub(&g->graph->instances, 1);
	obj_free(OBJ_GRAPH_EXEC, g);
}

void graph_exec_run(struct graph_exec *g, struct graph_launch *launch, struct ctx *c,
	const struct op_origin *origin, uint64_t queued_ns)
{
	unsigned i;

	for (i = 0; i < g->nsteps; i++) {
		const struct graph_step *s = &g->steps[i];
		struct op_origin o = *origin;

		if (s->disabled)
			continue;
		if (s->op.kind == OP_KERNEL && !obj_alive(OBJ_FUNC, s->op.kernel.fn)) {
			int none = CUDA_SUCCESS;

			drv_say("graph: a kernel's module was unloaded before the graph ran");
			atomic_compare_exchange_strong(&c->sticky, &none, CUDA_ERROR_LAUNCH_FAILED);
			return;
		}
		if (s->op.kind == OP_EVENT_RECORD || s->op.kind == OP_EVENT_WAIT) {
			if (launch)
				graph_launch_step(launch, i);
			continue;
		}
		o.graph_id = g->id;
		o.node_id = s->node_id;
		op_run(&s->op, c, &o, queued_ns);
	}
}

static CUresult exec_resolve(CUgraphExec h, struct graph_exec **ret)
{
	if (!obj_alive(OBJ_GRAPH_EXEC, h) || ((struct graph_exec *)h)->destroyed)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct graph_exec *)h;
	return CUDA_SUCCESS;
}

static bool step_add(struct graph_exec *e, const struct node *n, uint64_t parent)
{
	struct graph_step *s;
	unsigned i;

	if (e->nsteps == e->room) {
		unsigned room = e->room ? 2 * e->room : 16;

		s = realloc(e->steps, room * sizeof(*s));
		if (!s)
			return false;
		e->steps = s;
		e->room = room;
	}
	s = &e->steps[e->nsteps];
	*s = (struct graph_step){.node_id = n->id,
		.node = (struct node *)n,
		.type = n->type,
		.ndeps = n->ndeps,
		.parent = parent};
	for (i = 0; i < n->ndeps; i++)
		s->shape += (n->deps[i]->order + 1) * 0x9e3779b97f4a7c15ull;
	if (!op_clone(&n->op, &s->op))
		return false;
	e->has_mem |= n->op.kind == OP_MEM_ALLOC || n->op.kind == OP_MEM_FREE;
	e->nsteps++;
	return true;
}

/* Child graphs become part of the list. */
static CUresult steps_add(struct graph_exec *e, struct graph *g, uint64_t parent, struct node **bad)
{
	struct node **sorted;
	CUresult r = graph_sorted(g, &sorted);
	unsigned i;

	if (r) {
		*bad = g->nnodes ? g->nodes[0] : NULL;
		return r;
	}
	for (i = 0; i < g->nnodes && r == CUDA_SUCCESS; i++) {
		if (sorted[i]->child)
			r = steps_add(e, sorted[i]->child, parent ? parent : sorted[i]->id, bad);
		else if (!step_add(e, sorted[i], parent))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	free(sorted);
	return r;
}

static CUresult instantiate(
	CUgraphExec *ret, CUgraph h, unsigned long long flags, CUgraphNode *error_node)
{
	struct graph_exec *e;
	struct node *bad = NULL;
	struct graph *g;
	CUresult r;

	REQUIRE(ret && !(flags & ~15ull));
	if (error_node)
		*error_node = NULL;
	TRY_CU(graph_resolve(h, &g));
	REQUIRE(!g->capturing);
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
		drv_say("graphs that are launched from the device are not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	e = obj_new(OBJ_GRAPH_EXEC);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->refs = 1;
	e->flags = flags;
	pthread_mutex_lock(&drv_lock);
	e->id = ++last_exec;
	e->graph_id = g->id;
	r = steps_add(e, g, 0, &bad);
	if (r == CUDA_SUCCESS && !user_refs_copy(g->users, &e->users))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS && e->has_mem) {
		if (g->instances)
			r = CUDA_ERROR_NOT_SUPPORTED;
		g->instances++;
		e->graph = g;
	}
	pthread_mutex_unlock(&drv_lock);
	if (r != CUDA_SUCCESS) {
		if (error_node)
			*error_node = (CUgraphNode)bad;
		graph_exec_unref(e);
		return r;
	}
	*ret = (CUgraphExec)e;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphInstantiateWithFlags, CUgraphExec *, phGraphExec, CUgraph, hGraph,
	unsigned long long, flags)
{
	return instantiate(phGraphExec, hGraph, flags, NULL);
}

static CUresult instantiate_logged(
	CUgraphExec *ret, CUgraph h, CUgraphNode *error_node, char *log, size_t log_size)
{
	if (log && log_size)
		log[0] = '\0';
	return instantiate(ret, h, 0, error_node);
}

DRV_DEFINE(5, cuGraphInstantiate, CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *,
	phErrorNode, char *, logBuffer, size_t, bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

DRV_DEFINE(5, cuGraphInstantiate_v2, CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *,
	phErrorNode, char *, logBuffer, size_t, bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

DRV_STREAM(3, cuGraphInstantiateWithParams, _ptsz, CUgraphExec *, phGraphExec, CUgraph, hGraph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *, instantiateParams)
{
	CUresult r;

	REQUIRE(instantiateParams);
	r = instantiate(
		phGraphExec, hGraph, instantiateParams->flags, &instantiateParams->hErrNode_out);
	instantiateParams->result_out =
		r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return r;
}

DRV_DEFINE(2, cuGraphExecGetFlags, CUgraphExec, hGraphExec, cuuint64_t *, flags)
{
	struct graph_exec *e;

	REQUIRE(flags);
	TRY_CU(exec_resolve(hGraphExec, &e));
	*flags = e->flags;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuGraphExecDestroy, CUgraphExec, hGraphExec)
{
	struct graph_exec *e;

	TRY_CU(exec_resolve(hGraphExec, &e));
	e->destroyed = true;
	graph_exec_unref(e);
	user_flush();
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuGraphUpload, _ptsz, CUgraphExec, hGraph, CUstream, hStream)
{
	struct graph_exec *e;
	struct stream *s;

	TRY_CU(exec_resolve(hGraph, &e));
	return stream_resolve(hStream, ptds, &s);
}

DRV_STREAM(2, cuGraphLaunch, _ptsz, CUgraphExec, hGraph, CUstream, hStream)
{
	struct op op = {.kind = OP_GRAPH};
	struct graph_exec *e;
	struct stream *s;

	TRY_CU(exec_resolve(hGraph, &e));
	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (s->capture && e->has_mem)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!s->capture) {
		TRY_CU(graph_mem_launch(e));
		TRY_CU(graph_launch_new(e, s->ctx, &op.launch));
	}
	op.graph = e;
	graph_exec_ref(e);
	return stream_submit(s, &op, NULL, false, true);
}

/* A launch into a capture becomes a child graph: its commands one after the other, as they would
 * run. */
struct graph *graph_of_exec(const struct graph_exec *e)
{
	struct graph *g = graph_new();
	struct node *last = NULL;
	unsigned i;

	for (i = 0; g && i < e->nsteps; i++) {
		const struct graph_step *s = &e->steps[i];
		struct op op;

		if (s->disabled)
			continue;
		if (!op_clone(&s->op, &op) ||
			node_add(g, s->type, &op, &last, last != NULL, &last) != CUDA_SUCCESS) {
			graph_delete(g);
			return NULL;
		}
	}
	if (g)
		g->is_child = true;
	return g;
}

/* --- changing executable graphs: launches that are under way keep what they had, so they are
 * waited for --- */

static void exec_wait(struct graph_exec *e)
{
	struct timespec nap = {0, 50000};

	while (e->refs > 1)
		nanosleep(&nap, NULL);
}

static struct graph_step *step_of(struct graph_exec *e, CUgraphNode h)
{
	struct node *n;
	unsigned i;

	if (node_resolve(h, &n) != CUDA_SUCCESS)
		return NULL;
	for (i = 0; i < e->nsteps; i++)
		if (e->steps[i].node_id == n->id ||
			(n->clone_of && e->steps[i].node_id == n->clone_of))
			return &e->steps[i];
	return NULL;
}

CUresult exec_step_replace(CUgraphExec h, CUgraphNode hnode, CUgraphNodeType type, struct op *op)
{
	struct graph_exec *e;
	struct graph_step *s;
	CUresult r = exec_resolve(h, &e);

	s = r == CUDA_SUCCESS ? step_of(e, hnode) : NULL;
	if (!s || s->type != type) {
		op_release(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	exec_wait(e);
	op_release(&s->op);
	s->op = *op;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeSetEnabled, CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int,
	isEnabled)
{
	struct graph_exec *e;
	struct graph_step *s;

	TRY_CU(exec_resolve(hGraphExec, &e));
	s = step_of(e, hNode);
	REQUIRE(s && s->type <= CU_GRAPH_NODE_TYPE_MEMSET);
	exec_wait(e);
	s->disabled = !isEnabled;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeGetEnabled, CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int *,
	isEnabled)
{
	struct graph_exec *e;
	struct graph_step *s;

	REQUIRE(isEnabled);
	TRY_CU(exec_resolve(hGraphExec, &e));
	s = step_of(e, hNode);
	REQUIRE(s && s->type <= CU_GRAPH_NODE_TYPE_MEMSET);
	*isEnabled = !s->disabled;
	return CUDA_SUCCESS;
}

/* The same shape is needed: node for node the same type and number of dependencies, in the order of
 * creation. */
static CUgraphExecUpdateResult step_differs(const struct graph_step *a, const struct graph_step *b)
{
	if (a->ndeps != b->ndeps || a->shape != b->shape)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (a->type != b->type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (a->op.kind == OP_KERNEL && a->op.kernel.fn->module->ctx != b->op.kernel.fn->module->ctx)
		return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
	if (a->op.kind == OP_FILL && (a->op.fill.height > 1) != (b->op.fill.height > 1))
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	if (a->op.kind == OP_COPY && (a->op.copy.c.dst_kind != b->op.copy.c.dst_kind ||
					     a->op.copy.c.src_kind != b->op.copy.c.src_kind))
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* A kernel whose module has gone cannot be looked at. */
static bool step_stale(const struct graph_step *s)
{
	return s->op.kind == OP_KERNEL && !obj_alive(OBJ_FUNC, s->op.kernel.fn);
}

static CUgraphExecUpdateResult compare_steps(const struct graph_step *old, unsigned nold,
	const struct graph_exec *fresh, CUgraphExecUpdateResultInfo *info)
{
	unsigned i;

	for (i = 0; i < fresh->nsteps && i < nold; i++) {
		CUgraphExecUpdateResult r = step_stale(&old[i])
						    ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
						    : step_differs(&old[i], &fresh->steps[i]);

		if (r == CU_GRAPH_EXEC_UPDATE_SUCCESS)
			continue;
		info->errorNode = (CUgraphNode)fresh->steps[i].node;
		if (obj_alive(OBJ_NODE, old[i].node) && old[i].node->id == old[i].node_id)
			info->errorFromNode = (CUgraphNode)old[i].node;
		return r;
	}
	if (fresh->nsteps > nold)
		info->errorNode = (CUgraphNode)fresh->steps[i].node;
	return fresh->nsteps == nold ? CU_GRAPH_EXEC_UPDATE_SUCCESS
				     : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
}

static CUgraphExecUpdateResult exec_update(
	struct graph_exec *e, struct graph *g, CUgraphExecUpdateResultInfo *info)
{
	struct graph_exec fresh = {.refs = 1};
	CUgraphExecUpdateResult r;
	struct node *bad;
	unsigned i;

	if (e->has_mem || graph_has_mem(g))
		return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	if (steps_add(&fresh, g, 0, &bad) != CUDA_SUCCESS)
		return CU_GRAPH_EXEC_UPDATE_ERROR;
	r = compare_steps(e->steps, e->nsteps, &fresh, info);
	if (r != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		for (i = 0; i < fresh.nsteps; i++)
			op_release(&fresh.steps[i].op);
		free(fresh.steps);
		return r;
	}
	for (i = 0; i < e->nsteps;
		i++) { /* nodes are still asked for by those of the first graph */
		op_release(&e->steps[i].op);
		e->steps[i].op = fresh.steps[i].op;
	}
	free(fresh.steps);
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec he, CUgraph hg, CUgraphExecUpdateResultInfo *info)
{
	struct graph_exec *e;
	struct graph *g;

	TRY_CU(exec_resolve(he, &e));
	TRY_CU(graph_resolve(hg, &g));
	exec_wait(e);
	pthread_mutex_lock(&drv_lock);
	info->result = exec_update(e, g, info);
	pthread_mutex_unlock(&drv_lock);
	return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
							    : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

DRV_DEFINE(3, cuGraphExecUpdate_v2, CUgraphExec, hGraphExec, CUgraph, hGraph,
	CUgraphExecUpdateResultInfo *, resultInfo)
{
	REQUIRE(resultInfo);
	*resultInfo = (CUgraphExecUpdateResultInfo){0};
	return update(hGraphExec, hGraph, resultInfo);
}

DRV_DEFINE(4, cuGraphExecUpdate, CUgraphExec, hGraphExec, CUgraph, hGraph, CUgraphNode *,
	hErrorNode_out, CUgraphExecUpdateResult *, updateResult_out)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUresult r;

	REQUIRE(updateResult_out);
	r = update(hGraphExec, hGraph, &info);
	*updateResult_out = info.result;
	if (hErrorNode_out)
		*hErrorNode_out = info.errorNode;
	return r;
}

/* The child graph's commands follow one another in the list. */
DRV_DEFINE(3, cuGraphExecChildGraphNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	CUgraph, childGraph)
{
	struct graph_exec *e, fresh = {.refs = 1};
	CUgraphExecUpdateResultInfo info;
	unsigned first, n, i;
	struct node *node, *bad;
	struct graph *g;
	CUresult r;

	TRY_CU(exec_resolve(hGraphExec, &e));
	TRY_CU(node_resolve(hNode, &node));
	TRY_CU(graph_resolve(childGraph, &g));
	REQUIRE(node->child);
	for (first = 0; first < e->nsteps && e->steps[first].parent != node->id; first++)
		;
	for (n = 0; first + n < e->nsteps && e->steps[first + n].parent == node->id; n++)
		;
	exec_wait(e);
	pthread_mutex_lock(&drv_lock);
	r = graph_has_mem(g) ? CUDA_ERROR_NOT_SUPPORTED : steps_add(&fresh, g, node->id, &bad);
	if (r == CUDA_SUCCESS &&
		compare_steps(e->steps + first, n, &fresh, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		r = CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < fresh.nsteps; i++) {
		struct op *op = r == CUDA_SUCCESS ? &e->steps[first + i].op : &fresh.steps[i].op;

		op_release(op);
		if (r == CUDA_SUCCESS)
			*op = fresh.steps[i].op;
	}
	free(fresh.steps);
	pthread_mutex_unlock(&drv_lock);
	return r;
}
