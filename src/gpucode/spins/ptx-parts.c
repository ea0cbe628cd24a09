/* SPDX-License-Identifier: Apache-2.0
 *
 * Strongly connected components, by Tarjan's algorithm with a stack of its own: a graph made from
 * hostile text may be one path of a million nodes.
 */
#include "gpucode/spins/ptx-flow.h"

#include <stdlib.h>
#include "base/buf.h"

struct walk {
	uint32_t *first, *to;	     /* edges by node */
	uint32_t *number, *low, *at; /* 0: not visited; the next edge */
	uint32_t *stack, *path;
	bool *on;
	uint32_t nstack, npath, count;
	struct flow_parts *out;
};

static void sort_edges(struct walk *w, uint32_t nodes, const struct flow_edge *edge, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w->first[edge[i].from + 1]++;
	for (uint32_t i = 0; i < nodes; i++)
		w->first[i + 1] += w->first[i];
	for (uint32_t i = 0; i < nodes; i++)
		w->at[i] = w->first[i];
	for (size_t i = 0; i < n; i++)
		w->to[w->at[edge[i].from]++] = edge[i].to;
	for (uint32_t i = 0; i < nodes; i++)
		w->at[i] = w->first[i];
}

static void enter(struct walk *w, uint32_t node)
{
	w->number[node] = w->low[node] = ++w->count;
	w->stack[w->nstack++] = w->path[w->npath++] = node;
	w->on[node] = true;
}

static void lower(struct walk *w, uint32_t node, uint32_t to)
{
	if (to < w->low[node])
		w->low[node] = to;
}

/* The node's edges are done. */
static void leave(struct walk *w, uint32_t node)
{
	uint32_t member, size = 0;

	w->npath--;
	if (w->npath)
		lower(w, w->path[w->npath - 1], w->low[node]);
	if (w->low[node] != w->number[node])
		return;
	do {
		member = w->stack[--w->nstack];
		w->on[member] = false;
		w->out->part[member] = w->out->n;
		size++;
	} while (member != node);
	w->out->cyclic[w->out->n++] = size > 1;
}

static void visit(struct walk *w, uint32_t root)
{
	enter(w, root);
	while (w->npath) {
		const uint32_t node = w->path[w->npath - 1];

		if (w->at[node] == w->first[node + 1]) {
			leave(w, node);
			continue;
		}
		const uint32_t to = w->to[w->at[node]++];

		if (!w->number[to])
			enter(w, to);
		else if (w->on[to])
			lower(w, node, w->number[to]);
	}
}

void flow_parts(struct flow_parts *ret, uint32_t nodes, const struct flow_edge *edge, size_t n)
{
	struct walk w = {.out = ret};

	*ret = (struct flow_parts){.part = xcalloc(nodes + 1, sizeof(*ret->part)),
		.cyclic = xcalloc(nodes + 1, sizeof(*ret->cyclic))};
	w.first = xcalloc((size_t)nodes + 2, sizeof(*w.first));
	w.to = xcalloc(n + 1, sizeof(*w.to));
	w.number = xcalloc(5 * ((size_t)nodes + 1), sizeof(*w.number));
	w.low = w.number + nodes + 1;
	w.at = w.low + nodes + 1;
	w.stack = w.at + nodes + 1;
	w.path = w.stack + nodes + 1;
	w.on = xcalloc((size_t)nodes + 1, sizeof(*w.on));
	sort_edges(&w, nodes, edge, n);
	for (uint32_t i = 0; i < nodes; i++)
		if (!w.number[i])
			visit(&w, i);
	for (size_t i = 0; i < n; i++)
		if (edge[i].from == edge[i].to)
			ret->cyclic[ret->part[edge[i].from]] = true;
	free(w.first);
	free(w.to);
	free(w.number);
	free(w.on);
}

void flow_parts_free(struct flow_parts *p)
{
	free(p->part);
	free(p->cyclic);
	*p = (struct flow_parts){0};
}
