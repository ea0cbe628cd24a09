/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: nodes, edges, and executable graphs. A launch runs the nodes one after the other in an order that respects the edges, which
 * is the same each time. What nodes hold is in drv-node.c, stream capture in drv-capture.c.
 */
#include "softgpu/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t last_graph, last_exec;
static uint64_t last_node;

/* --- nodes and edges ---------------------------------------------------------------------------------------------- */

bool node_list_add(struct node ***list, unsigned *n, struct node *x)
{
	struct node **more;
	unsigned i;

	for (i = 0; i < *n; i++)
		if ((*list)[i] == x)
			return true;
	more = realloc(*list, (*n + 1) * sizeof(struct node *));
	if (!more)
		return false;
	more[(*n)++] = x;
	*list = more;
	return true;
}

static void node_list_remove(struct node **list, unsigned *n, const struct node *x)
{
	unsigned i, k = 0;

	for (i = 0; i < *n; i++)
		if (list[i] != x)
			list[k++] = list[i];
	*n = k;
}

CUresult node_resolve(CUgraphNode h, struct node **ret)
{
	if (!obj_alive(OBJ_NODE, h))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct node *)h;
	return CUDA_SUCCESS;
}

CUresult graph_resolve(CUgraph h, struct graph **ret)
{
	if (!obj_alive(OBJ_GRAPH, h))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct graph *)h;
	return CUDA_SUCCESS;
}

struct graph *graph_new(void)
{
	struct graph *g = obj_new(OBJ_GRAPH);

	if (g)
		g->id = ++last_graph;
	return g;
}

static void node_delete(struct node *n)
{
	op_release(&n->op);
	free(n->param_ptrs);
	free(n->deps);
	if (n->child)
		graph_delete(n->child);
	obj_free(OBJ_NODE, n);
}

void graph_delete(struct graph *g)
{
	unsigned i;

	for (i = 0; i < g->nnodes; i++)
		node_delete(g->nodes[i]);
	free(g->nodes);
	obj_free(OBJ_GRAPH, g);
}

CUresult node_add(struct graph *g, CUgraphNodeType type, struct op *op, struct node *const *deps, size_t ndeps, struct node **ret)
{
	struct node *n = obj_new(OBJ_NODE);
	size_t i;

	if (!n) {
		op_release(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->graph = g;
	n->id = ++last_node;
	n->type = type;
	n->op = *op;
	for (i = 0; i < ndeps; i++)
		if (!node_list_add(&n->deps, &n->ndeps, deps[i]))
			goto nomem;
	if (!node_list_add(&g->nodes, &g->nnodes, n))
		goto nomem;
	*ret = n;
	return CUDA_SUCCESS;
nomem:
	node_delete(n);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

struct node **graph_sorted(struct graph *g)
{
	struct node **ret = malloc((g->nnodes + 1) * sizeof(struct node *));
	unsigned n = 0, i, k, before;

	if (!ret)
		return NULL;
	for (i = 0; i < g->nnodes; i++)
		g->nodes[i]->order = 0;
	do {
		before = n;
		for (i = 0; i < g->nnodes; i++) {
			struct node *x = g->nodes[i];

			for (k = 0; k < x->ndeps && x->deps[k]->order; k++)
				;
			if (!x->order && k == x->ndeps) {
				ret[n++] = x;
				x->order = n;
			}
		}
	} while (n < g->nnodes && n > before);
	if (n == g->nnodes)
		return ret;
	free(ret);
	return NULL;
}

/* --- graphs -------------------------------------------------------------------------------------------------------------- */

DRV_DEFINE(2, cuGraphCreate, CUgraph *, phGraph, unsigned int, flags)
{
	struct graph *g;

	REQUIRE(phGraph && !flags);
	pthread_mutex_lock(&drv_lock);
	g = graph_new();
	pthread_mutex_unlock(&drv_lock);
	*phGraph = (CUgraph)g;
	return g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRV_DEFINE(1, cuGraphDestroy, CUgraph, hGraph)
{
	struct graph *g;

	TRY_CU(graph_resolve(hGraph, &g));
	if (g->capturing || g->is_child)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&drv_lock);
	graph_delete(g);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

static struct node *clone_with_id(const struct graph *g, uint64_t id)
{
	unsigned i;

	for (i = 0; i < g->nnodes; i++)
		if (g->nodes[i]->clone_of == id)
			return g->nodes[i];
	return NULL;
}

static struct graph *graph_clone(struct graph *g)
{
	struct graph *ret = graph_new();
	unsigned i, k;

	if (!ret)
		return NULL;
	ret->clone_of = g->id;
	for (i = 0; i < g->nnodes; i++) {
		struct node *from = g->nodes[i], *to;
		struct op op;

		if (!op_clone(&from->op, &op) || node_add(ret, from->type, &op, NULL, 0, &to) != CUDA_SUCCESS)
			goto nomem;
		to->clone_of = from->id;
		to->copy = from->copy;
		if (from->child) {
			to->child = graph_clone(from->child);
			if (!to->child)
				goto nomem;
			to->child->is_child = true;
		}
	}
	for (i = 0; i < g->nnodes; i++)
		for (k = 0; k < g->nodes[i]->ndeps; k++)
			if (!node_list_add(&ret->nodes[i]->deps, &ret->nodes[i]->ndeps,
					   clone_with_id(ret, g->nodes[i]->deps[k]->id)))
				goto nomem;
	return ret;
nomem:
	graph_delete(ret);
	return NULL;
}

DRV_DEFINE(2, cuGraphClone, CUgraph *, phGraphClone, CUgraph, originalGraph)
{
	struct graph *g;

	REQUIRE(phGraphClone);
	TRY_CU(graph_resolve(originalGraph, &g));
	pthread_mutex_lock(&drv_lock);
	*phGraphClone = (CUgraph)graph_clone(g);
	pthread_mutex_unlock(&drv_lock);
	return *phGraphClone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRV_DEFINE(3, cuGraphNodeFindInClone, CUgraphNode *, phNode, CUgraphNode, hOriginalNode, CUgraph, hClonedGraph)
{
	struct graph *g;
	struct node *n;

	REQUIRE(phNode);
	TRY_CU(graph_resolve(hClonedGraph, &g));
	TRY_CU(node_resolve(hOriginalNode, &n));
	*phNode = (CUgraphNode)clone_with_id(g, n->id);
	return *phNode ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRV_DEFINE(1, cuGraphDestroyNode, CUgraphNode, hNode)
{
	struct graph *g;
	struct node *n;
	unsigned i;

	TRY_CU(node_resolve(hNode, &n));
	if (n->graph->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&drv_lock);
	g = n->graph;
	node_list_remove(g->nodes, &g->nnodes, n);
	for (i = 0; i < g->nnodes; i++)
		node_list_remove(g->nodes[i]->deps, &g->nodes[i]->ndeps, n);
	node_delete(n);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

/* --- looking at graphs ------------------------------------------------------------------------------------------------------ */

/* The query convention: without an array the count, else at most *n entries and, where there are fewer, NULLs after them. */
static void give_nodes(struct node *const *list, size_t have, CUgraphNode *out, size_t *n)
{
	size_t i;

	for (i = 0; out && i < *n; i++)
		out[i] = i < have ? (CUgraphNode)list[i] : NULL;
	if (!out || *n > have)
		*n = have;
}

DRV_DEFINE(3, cuGraphGetNodes, CUgraph, hGraph, CUgraphNode *, nodes, size_t *, numNodes)
{
	struct graph *g;

	REQUIRE(numNodes);
	TRY_CU(graph_resolve(hGraph, &g));
	give_nodes(g->nodes, g->nnodes, nodes, numNodes);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphGetRootNodes, CUgraph, hGraph, CUgraphNode *, rootNodes, size_t *, numRootNodes)
{
	struct node **roots = NULL;
	unsigned n = 0, i;
	struct graph *g;

	REQUIRE(numRootNodes);
	TRY_CU(graph_resolve(hGraph, &g));
	for (i = 0; i < g->nnodes; i++)
		if (!g->nodes[i]->ndeps && !node_list_add(&roots, &n, g->nodes[i])) {
			free(roots);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	give_nodes(roots, n, rootNodes, numRootNodes);
	free(roots);
	return CUDA_SUCCESS;
}

static CUresult get_edges(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *n)
{
	struct graph *g;
	size_t have = 0;
	unsigned i, k;

	REQUIRE(n && !from == !to);
	TRY_CU(graph_resolve(h, &g));
	for (i = 0; i < g->nnodes; i++)
		for (k = 0; k < g->nodes[i]->ndeps; k++, have++) {
			if (!from || have >= *n)
				continue;
			from[have] = (CUgraphNode)g->nodes[i]->deps[k];
			to[have] = (CUgraphNode)g->nodes[i];
			if (data)
				data[have] = (CUgraphEdgeData){0};
		}
	for (i = (unsigned)have; from && i < *n; i++)
		from[i] = to[i] = NULL;
	if (!from || *n > have)
		*n = have;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuGraphGetEdges, CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to, size_t *, numEdges)
{
	return get_edges(hGraph, from, to, NULL, numEdges);
}

DRV_DEFINE(5, cuGraphGetEdges_v2, CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to, CUgraphEdgeData *, edgeData,
	   size_t *, numEdges)
{
	return get_edges(hGraph, from, to, edgeData, numEdges);
}

static CUresult get_dependencies(CUgraphNode h, CUgraphNode *out, CUgraphEdgeData *data, size_t *n)
{
	struct node *x;

	REQUIRE(n);
	TRY_CU(node_resolve(h, &x));
	if (data && out)
		memset(data, 0, *n * sizeof(*data));
	give_nodes(x->deps, x->ndeps, out, n);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeGetDependencies, CUgraphNode, hNode, CUgraphNode *, dependencies, size_t *, numDependencies)
{
	return get_dependencies(hNode, dependencies, NULL, numDependencies);
}

DRV_DEFINE(4, cuGraphNodeGetDependencies_v2, CUgraphNode, hNode, CUgraphNode *, dependencies, CUgraphEdgeData *, edgeData,
	   size_t *, numDependencies)
{
	return get_dependencies(hNode, dependencies, edgeData, numDependencies);
}

static bool depends_on(const struct node *x, const struct node *on)
{
	unsigned i;

	for (i = 0; i < x->ndeps; i++)
		if (x->deps[i] == on)
			return true;
	return false;
}

static CUresult get_dependents(CUgraphNode h, CUgraphNode *out, CUgraphEdgeData *data, size_t *n)
{
	struct node *x, **list = NULL;
	unsigned have = 0, i;

	REQUIRE(n);
	TRY_CU(node_resolve(h, &x));
	for (i = 0; i < x->graph->nnodes; i++)
		if (depends_on(x->graph->nodes[i], x) && !node_list_add(&list, &have, x->graph->nodes[i])) {
			free(list);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	if (data && out)
		memset(data, 0, *n * sizeof(*data));
	give_nodes(list, have, out, n);
	free(list);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeGetDependentNodes, CUgraphNode, hNode, CUgraphNode *, dependentNodes, size_t *, numDependentNodes)
{
	return get_dependents(hNode, dependentNodes, NULL, numDependentNodes);
}

DRV_DEFINE(4, cuGraphNodeGetDependentNodes_v2, CUgraphNode, hNode, CUgraphNode *, dependentNodes, CUgraphEdgeData *, edgeData,
	   size_t *, numDependentNodes)
{
	return get_dependents(hNode, dependentNodes, edgeData, numDependentNodes);
}

DRV_DEFINE(2, cuGraphNodeGetType, CUgraphNode, hNode, CUgraphNodeType *, type)
{
	struct node *n;

	REQUIRE(type);
	TRY_CU(node_resolve(hNode, &n));
	*type = n->type;
	return CUDA_SUCCESS;
}

static CUresult check_edges(const struct graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	size_t i;

	REQUIRE((from && to) || !n);
	for (i = 0; i < n; i++)
		REQUIRE(obj_alive(OBJ_NODE, from[i]) && obj_alive(OBJ_NODE, to[i]) && ((struct node *)from[i])->graph == g &&
			((struct node *)to[i])->graph == g && from[i] != to[i]);
	return CUDA_SUCCESS;
}

static CUresult add_edges(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	CUresult r = CUDA_SUCCESS;
	struct graph *g;
	size_t i;

	TRY_CU(graph_resolve(h, &g));
	TRY_CU(check_edges(g, from, to, n));
	for (i = 0; i < n; i++)
		REQUIRE(!depends_on((struct node *)to[i], (struct node *)from[i])); /* an edge may exist once */
	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n && r == CUDA_SUCCESS; i++) {
		struct node *t = (struct node *)to[i];

		if (!node_list_add(&t->deps, &t->ndeps, (struct node *)from[i]))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(4, cuGraphAddDependencies, CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, size_t, numDependencies)
{
	return add_edges(hGraph, from, to, numDependencies);
}

DRV_DEFINE(5, cuGraphAddDependencies_v2, CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to,
	   const CUgraphEdgeData *, edgeData, size_t, numDependencies)
{
	return add_edges(hGraph, from, to, numDependencies);
}

static CUresult remove_edges(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	struct graph *g;
	size_t i;

	TRY_CU(graph_resolve(h, &g));
	TRY_CU(check_edges(g, from, to, n));
	for (i = 0; i < n; i++)
		REQUIRE(depends_on((struct node *)to[i], (struct node *)from[i]));
	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n; i++)
		node_list_remove(((struct node *)to[i])->deps, &((struct node *)to[i])->ndeps, (struct node *)from[i]);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuGraphRemoveDependencies, CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, size_t,
	   numDependencies)
{
	return remove_edges(hGraph, from, to, numDependencies);
}

DRV_DEFINE(5, cuGraphRemoveDependencies_v2, CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to,
	   const CUgraphEdgeData *, edgeData, size_t, numDependencies)
{
	return remove_edges(hGraph, from, to, numDependencies);
}

/* --- executable graphs -------------------------------------------------------------------------------------------------------- */

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
	obj_free(OBJ_GRAPH_EXEC, g);
}

void graph_exec_run(struct graph_exec *g, struct ctx *c, const struct op_origin *origin, uint64_t queued_ns)
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

static bool step_add(struct graph_exec *e, const struct node *n)
{
	struct graph_step *s;

	if (e->nsteps == e->room) {
		unsigned room = e->room ? 2 * e->room : 16;

		s = realloc(e->steps, room * sizeof(*s));
		if (!s)
			return false;
		e->steps = s;
		e->room = room;
	}
	s = &e->steps[e->nsteps];
	*s = (struct graph_step){.node_id = n->id, .type = n->type, .ndeps = n->ndeps};
	if (!op_clone(&n->op, &s->op))
		return false;
	e->nsteps++;
	return true;
}

/* Child graphs become part of the list. */
static CUresult steps_add(struct graph_exec *e, struct graph *g, struct node **bad)
{
	struct node **sorted = graph_sorted(g);
	CUresult r = CUDA_SUCCESS;
	unsigned i;

	if (!sorted) {
		*bad = g->nnodes ? g->nodes[0] : NULL;
		return CUDA_ERROR_INVALID_VALUE; /* a cycle */
	}
	for (i = 0; i < g->nnodes && r == CUDA_SUCCESS; i++) {
		if (sorted[i]->child)
			r = steps_add(e, sorted[i]->child, bad);
		else if (!step_add(e, sorted[i]))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	free(sorted);
	return r;
}

static CUresult instantiate(CUgraphExec *ret, CUgraph h, unsigned long long flags, CUgraphNode *error_node)
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
	r = steps_add(e, g, &bad);
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

DRV_DEFINE(3, cuGraphInstantiateWithFlags, CUgraphExec *, phGraphExec, CUgraph, hGraph, unsigned long long, flags)
{
	return instantiate(phGraphExec, hGraph, flags, NULL);
}

static CUresult instantiate_logged(CUgraphExec *ret, CUgraph h, CUgraphNode *error_node, char *log, size_t log_size)
{
	if (log && log_size)
		log[0] = '\0';
	return instantiate(ret, h, 0, error_node);
}

DRV_DEFINE(5, cuGraphInstantiate, CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *, phErrorNode, char *, logBuffer,
	   size_t, bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

DRV_DEFINE(5, cuGraphInstantiate_v2, CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *, phErrorNode, char *, logBuffer,
	   size_t, bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

DRV_STREAM(3, cuGraphInstantiateWithParams, _ptsz, CUgraphExec *, phGraphExec, CUgraph, hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *,
	   instantiateParams)
{
	CUresult r;

	REQUIRE(instantiateParams);
	r = instantiate(phGraphExec, hGraph, instantiateParams->flags, &instantiateParams->hErrNode_out);
	instantiateParams->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
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
	op.graph = e;
	graph_exec_ref(e);
	return stream_submit(s, &op, NULL, false, true);
}

/* --- changing executable graphs: launches that are under way keep what they had, so they are waited for ----------------------------- */

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
		if (e->steps[i].node_id == n->id || (n->clone_of && e->steps[i].node_id == n->clone_of))
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

DRV_DEFINE(3, cuGraphNodeSetEnabled, CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int, isEnabled)
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

DRV_DEFINE(3, cuGraphNodeGetEnabled, CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int *, isEnabled)
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

/* The same shape is needed: node for node the same type and number of dependencies, in the order of creation. */
static CUgraphExecUpdateResult exec_update(struct graph_exec *e, struct graph *g)
{
	struct graph_exec fresh = {.refs = 1};
	struct node *bad;
	unsigned i;

	if (steps_add(&fresh, g, &bad) != CUDA_SUCCESS)
		return CU_GRAPH_EXEC_UPDATE_ERROR;
	for (i = 0; i < fresh.nsteps && fresh.nsteps == e->nsteps; i++)
		if (fresh.steps[i].type != e->steps[i].type || fresh.steps[i].ndeps != e->steps[i].ndeps)
			break;
	if (fresh.nsteps != e->nsteps || i < fresh.nsteps) {
		for (i = 0; i < fresh.nsteps; i++)
			op_release(&fresh.steps[i].op);
		free(fresh.steps);
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	}
	for (i = 0; i < e->nsteps; i++) { /* nodes are still asked for by those of the first graph */
		op_release(&e->steps[i].op);
		e->steps[i].op = fresh.steps[i].op;
	}
	free(fresh.steps);
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec he, CUgraph hg, CUgraphExecUpdateResult *result)
{
	struct graph_exec *e;
	struct graph *g;

	TRY_CU(exec_resolve(he, &e));
	TRY_CU(graph_resolve(hg, &g));
	exec_wait(e);
	pthread_mutex_lock(&drv_lock);
	*result = exec_update(e, g);
	pthread_mutex_unlock(&drv_lock);
	return *result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

DRV_DEFINE(3, cuGraphExecUpdate_v2, CUgraphExec, hGraphExec, CUgraph, hGraph, CUgraphExecUpdateResultInfo *, resultInfo)
{
	REQUIRE(resultInfo);
	*resultInfo = (CUgraphExecUpdateResultInfo){0};
	return update(hGraphExec, hGraph, &resultInfo->result);
}

DRV_DEFINE(4, cuGraphExecUpdate, CUgraphExec, hGraphExec, CUgraph, hGraph, CUgraphNode *, hErrorNode_out,
	   CUgraphExecUpdateResult *, updateResult_out)
{
	REQUIRE(updateResult_out);
	if (hErrorNode_out)
		*hErrorNode_out = NULL;
	return update(hGraphExec, hGraph, updateResult_out);
}

/* --- for tools -------------------------------------------------------------------------------------------------------------------- */

uint64_t tsdb_soft_graph_id(const void *handle)
{
	if (obj_alive(OBJ_NODE, handle))
		return ((const struct node *)handle)->id;
	if (obj_alive(OBJ_GRAPH, handle))
		return ((const struct graph *)handle)->id;
	if (obj_alive(OBJ_GRAPH_EXEC, handle))
		return ((const struct graph_exec *)handle)->id;
	return 0;
}

struct graph *graph_clone_child(struct graph *g)
{
	struct graph *ret = graph_clone(g);

	if (ret)
		ret->is_child = true;
	return ret;
}
