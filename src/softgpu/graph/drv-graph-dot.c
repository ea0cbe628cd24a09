/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as a picture's description, for the dot program: nodes with what they do, edges, child
 * graphs as clusters.
 */
#include "softgpu/graph/drv-graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(CUgraphNodeType t)
{
	static const char *const names[] = {
		[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
		[CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
		[CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
		[CU_GRAPH_NODE_TYPE_HOST] = "HOST",
		[CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
		[CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "WAIT_EVENT",
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
		[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
		[CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
		[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP",
	};

	return (unsigned)t < sizeof(names) / sizeof(names[0]) && names[t] ? names[t] : "NODE";
}

static void print_label(FILE *f, const struct node *n)
{
	const struct op *op = &n->op;

	fprintf(f, "%llu\\n%s", (unsigned long long)n->id, type_name(n->type));
	if (op->kind == OP_KERNEL && obj_alive(OBJ_FUNC, op->kernel.fn))
		fprintf(f, "\\n%s\\n<<<(%u,%u,%u), (%u,%u,%u), %zu>>>", op->kernel.fn->info.name,
			op->kernel.grid[0], op->kernel.grid[1], op->kernel.grid[2],
			op->kernel.block[0], op->kernel.block[1], op->kernel.block[2],
			op->kernel.shared);
	else if (op->kind == OP_COPY)
		fprintf(f, "\\n%#llx to %#llx\\n%zu x %zu x %zu bytes",
			(unsigned long long)op->copy.c.src, (unsigned long long)op->copy.c.dst,
			op->copy.c.width, op->copy.c.height, op->copy.c.depth);
	else if (op->kind == OP_FILL)
		fprintf(f, "\\n%#llx, %#x, %zu x %zu of %u bytes", (unsigned long long)op->fill.dst,
			op->fill.value, op->fill.width, op->fill.height, op->fill.elem);
	else if (op->kind == OP_MEM_ALLOC || op->kind == OP_MEM_FREE)
		fprintf(f, "\\n%#llx", (unsigned long long)graph_mem_address(op));
}

static void print_graph(FILE *f, const struct graph *g)
{
	unsigned i, k;

	for (i = 0; i < g->nnodes; i++) {
		const struct node *n = g->nodes[i];

		fprintf(f, "\tn%llu [label=\"", (unsigned long long)n->id);
		print_label(f, n);
		fputs("\"];\n", f);
		for (k = 0; k < n->ndeps; k++)
			fprintf(f, "\tn%llu -> n%llu;\n", (unsigned long long)n->deps[k]->id,
				(unsigned long long)n->id);
		if (n->child) {
			fprintf(f, "\tsubgraph cluster_%u {\n\tlabel=\"graph of node %llu\";\n",
				n->child->id, (unsigned long long)n->id);
			print_graph(f, n->child);
			fputs("\t}\n", f);
		}
	}
}

DRV_DEFINE(3, cuGraphDebugDotPrint, CUgraph, hGraph, const char *, path, unsigned int, flags)
{
	struct graph *g;
	bool bad;
	FILE *f;

	REQUIRE(path);
	TRY_CU(graph_resolve(hGraph, &g));
	f = fopen(path, "we");
	if (!f)
		return CUDA_ERROR_OPERATING_SYSTEM;
	pthread_mutex_lock(&drv_lock);
	fprintf(f, "digraph graph_%u {\n\tnode [shape=box];\n", g->id);
	print_graph(f, g);
	fputs("}\n", f);
	pthread_mutex_unlock(&drv_lock);
	bad = ferror(f);
	return fclose(f) || bad ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
