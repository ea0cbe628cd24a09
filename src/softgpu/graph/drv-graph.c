/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: nodes and edges. What nodes hold is in drv-node.c, executable graphs in drv-exec-graph.c,
 * stream capture in drv-capture.c.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdlib.h>
#include <string.h>

static uint32_t last_graph;
static uint64_t last_node;

/* --- nodes and edges --- */

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

/* Driver API, CUgraphDependencyType: programmatic edges are between kernel nodes, from one of the
 * two ports that stand for a moment before the end. */
bool edge_is_valid(const struct node *from, CUgraphNodeType to, const CUgraphEdgeData *data)
{
	if (!data || data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
		return !data || (!data->from_port && !data->to_port);
	return data->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
	       from->type == CU_GRAPH_NODE_TYPE_KERNEL && to == CU_GRAPH_NODE_TYPE_KERNEL &&
	       (data->from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
		       data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) &&
	       !data->to_port;
}

bool edge_set(struct node *to, struct node *from, const CUgraphEdgeData *data)
{
	const unsigned k = data && data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;

	return !data || data->type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
	       node_list_add(&to->early[k], &to->nearly[k], from);
}

static CUgraphEdgeData edge_of(const struct node *to, const struct node *from)
{
	static const unsigned char ports[] = {
		CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER};

	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < to->nearly[k]; i++)
			if (to->early[k][i] == from)
				return (CUgraphEdgeData){.from_port = ports[k],
					.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
	return (CUgraphEdgeData){0};
}

static void edge_remove(struct node *to, const struct node *from)
{
	node_list_remove(to->deps, &to->ndeps, from);
	for (unsigned k = 0; k < 2; k++)
		node_list_remove(to->early[k], &to->nearly[k], from);
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
	free(n->early[0]);
	free(n->early[1]);
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
	user_refs_drop(&g->users);
	obj_free(OBJ_GRAPH, g);
}

CUresult node_add(struct graph *g, CUgraphNodeType type, struct op *op, struct node *const *deps,
	size_t ndeps, struct node **ret)
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

CUresult graph_sorted(struct graph *g, struct node ***ret)
{
	struct node **list = malloc((g->nnodes + 1) * sizeof(struct node *));
	unsigned n = 0, i, k, before;

	if (!list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 0; i < g->nnodes; i++)
		g->nodes[i]->order = 0;
	do {
		before = n;
		for (i = 0; i < g->nnodes; i++) {
			struct node *x = g->nodes[i];

			for (k = 0; k < x->ndeps && x->deps[k]->order; k++)
				;
			if (!x->order && k == x->ndeps) {
				list[n++] = x;
				x->order = n;
			}
		}
	} while (n < g->nnodes && n > before);
	if (n == g->nnodes) {
		*ret = list;
		return CUDA_SUCCESS;
	}
	free(list);
	return CUDA_ERROR_INVALID_VALUE;
}

/* --- graphs --- */

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
	user_flush();
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
	if (!user_refs_copy(g->users, &ret->users))
		goto nomem;
	for (i = 0; i < g->nnodes; i++) {
		struct node *from = g->nodes[i], *to;
		struct op op;

		if (!op_clone(&from->op, &op) ||
			node_add(ret, from->type, &op, NULL, 0, &to) != CUDA_SUCCESS)
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
		for (k = 0; k < g->nodes[i]->ndeps; k++) {
			const CUgraphEdgeData data = edge_of(g->nodes[i], g->nodes[i]->deps[k]);
			struct node *dep = clone_with_id(ret, g->nodes[i]->deps[k]->id);

			if (!node_list_add(&ret->nodes[i]->deps, &ret->nodes[i]->ndeps, dep) ||
				!edge_set(ret->nodes[i], dep, &data))
				goto nomem;
		}
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
	if (graph_has_mem(g))
		return CUDA_ERROR_NOT_SUPPORTED; /* as the programming guide says of graphs with
						    memory nodes */
	pthread_mutex_lock(&drv_lock);
	*phGraphClone = (CUgraph)graph_clone(g);
	pthread_mutex_unlock(&drv_lock);
	return *phGraphClone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRV_DEFINE(3, cuGraphNodeFindInClone, CUgraphNode *, phNode, CUgraphNode, hOriginalNode, CUgraph,
	hClonedGraph)
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
	if (graph_has_mem(n->graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&drv_lock);
	g = n->graph;
	node_list_remove(g->nodes, &g->nnodes, n);
	for (i = 0; i < g->nnodes; i++)
		edge_remove(g->nodes[i], n);
	node_delete(n);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

/* --- looking at graphs --- */

/* The query convention: without an array the count, else at most *n entries and, where there are
 * fewer, NULLs after them. */
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

DRV_DEFINE(
	3, cuGraphGetRootNodes, CUgraph, hGraph, CUgraphNode *, rootNodes, size_t *, numRootNodes)
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

static CUresult get_edges(
	CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *n)
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
				data[have] = edge_of(g->nodes[i], g->nodes[i]->deps[k]);
		}
	for (i = (unsigned)have; from && i < *n; i++)
		from[i] = to[i] = NULL;
	if (!from || *n > have)
		*n = have;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuGraphGetEdges, CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to, size_t *,
	numEdges)
{
	return get_edges(hGraph, from, to, NULL, numEdges);
}

DRV_DEFINE(5, cuGraphGetEdges_v2, CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to,
	CUgraphEdgeData *, edgeData, size_t *, numEdges)
{
	return get_edges(hGraph, from, to, edgeData, numEdges);
}

static CUresult get_dependencies(CUgraphNode h, CUgraphNode *out, CUgraphEdgeData *data, size_t *n)
{
	struct node *x;

	REQUIRE(n);
	TRY_CU(node_resolve(h, &x));
	for (size_t i = 0; data && out && i < *n; i++)
		data[i] = i < x->ndeps ? edge_of(x, x->deps[i]) : (CUgraphEdgeData){0};
	give_nodes(x->deps, x->ndeps, out, n);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeGetDependencies, CUgraphNode, hNode, CUgraphNode *, dependencies, size_t *,
	numDependencies)
{
	return get_dependencies(hNode, dependencies, NULL, numDependencies);
}

DRV_DEFINE(4, cuGraphNodeGetDependencies_v2, CUgraphNode, hNode, CUgraphNode *, dependencies,
	CUgraphEdgeData *, edgeData, size_t *, numDependencies)
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
		if (depends_on(x->graph->nodes[i], x) &&
			!node_list_add(&list, &have, x->graph->nodes[i])) {
			free(list);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	for (size_t k = 0; data && out && k < *n; k++)
		data[k] = k < have ? edge_of(list[k], x) : (CUgraphEdgeData){0};
	give_nodes(list, have, out, n);
	free(list);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphNodeGetDependentNodes, CUgraphNode, hNode, CUgraphNode *, dependentNodes,
	size_t *, numDependentNodes)
{
	return get_dependents(hNode, dependentNodes, NULL, numDependentNodes);
}

DRV_DEFINE(4, cuGraphNodeGetDependentNodes_v2, CUgraphNode, hNode, CUgraphNode *, dependentNodes,
	CUgraphEdgeData *, edgeData, size_t *, numDependentNodes)
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

static CUresult check_edges(
	const struct graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	size_t i;

	REQUIRE((from && to) || !n);
	for (i = 0; i < n; i++)
		REQUIRE(obj_alive(OBJ_NODE, from[i]) && obj_alive(OBJ_NODE, to[i]) &&
			((struct node *)from[i])->graph == g &&
			((struct node *)to[i])->graph == g && from[i] != to[i]);
	return CUDA_SUCCESS;
}

static CUresult add_edges(CUgraph h, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t n)
{
	CUresult r = CUDA_SUCCESS;
	struct graph *g;
	size_t i;

	TRY_CU(graph_resolve(h, &g));
	TRY_CU(check_edges(g, from, to, n));
	for (i = 0; i < n; i++)
		REQUIRE(!depends_on((struct node *)to[i],
				(struct node *)from[i]) && /* an edge may exist once */
			edge_is_valid((struct node *)from[i], ((struct node *)to[i])->type,
				data ? &data[i] : NULL));
	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n && r == CUDA_SUCCESS; i++) {
		struct node *t = (struct node *)to[i];

		if (!node_list_add(&t->deps, &t->ndeps, (struct node *)from[i]) ||
			!edge_set(t, (struct node *)from[i], data ? &data[i] : NULL))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(4, cuGraphAddDependencies, CUgraph, hGraph, const CUgraphNode *, from,
	const CUgraphNode *, to, size_t, numDependencies)
{
	return add_edges(hGraph, from, to, NULL, numDependencies);
}

DRV_DEFINE(5, cuGraphAddDependencies_v2, CUgraph, hGraph, const CUgraphNode *, from,
	const CUgraphNode *, to, const CUgraphEdgeData *, edgeData, size_t, numDependencies)
{
	return add_edges(hGraph, from, to, edgeData, numDependencies);
}

static CUresult remove_edges(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	struct graph *g;
	size_t i;

	TRY_CU(graph_resolve(h, &g));
	TRY_CU(check_edges(g, from, to, n));
	if (n && graph_has_mem(g))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (i = 0; i < n; i++)
		REQUIRE(depends_on((struct node *)to[i], (struct node *)from[i]));
	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n; i++)
		edge_remove((struct node *)to[i], (struct node *)from[i]);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuGraphRemoveDependencies, CUgraph, hGraph, const CUgraphNode *, from,
	const CUgraphNode *, to, size_t, numDependencies)
{
	return remove_edges(hGraph, from, to, numDependencies);
}

DRV_DEFINE(5, cuGraphRemoveDependencies_v2, CUgraph, hGraph, const CUgraphNode *, from,
	const CUgraphNode *, to, const CUgraphEdgeData *, edgeData, size_t, numDependencies)
{
	return remove_edges(hGraph, from, to, numDependencies);
}

/* --- for tools --- */

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
