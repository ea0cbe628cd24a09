/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs by chance: nodes that mix a few cells, with the edges that their reads and writes need and no others, added in an order that is not
 * theirs, some in child graphs. Arguments: seed, number of nodes. Whatever order the edges allow, the result is the same.
 */
#include "gpu.h"

#define CELLS 6
#define NODES_MAX 200

__global__ void mix(int *to, const int *from, int by)
{
	*to = *to * 31 + *from + by;
}

static unsigned state;

static unsigned chance(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 10) % n;
}

struct plan {
	int to, from, by, kind; /* kind: 0 kernel, 1 fill, 2 copy, 3 kernel in a child graph, 4 empty */
	bool after[NODES_MAX];
};

static int *cells;
static struct plan plan[NODES_MAX];

static void add_kernel(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *deps, size_t n, struct plan *p)
{
	int *to = cells + p->to, *from = cells + p->from;
	void *args[] = {&to, &from, &p->by};
	cudaKernelNodeParams k = {};

	k.func = (void *)mix;
	k.gridDim = dim3(1);
	k.blockDim = dim3(1);
	k.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(node, g, deps, n, &k));
}

static void add(cudaGraphNode_t *node, cudaGraph_t g, struct plan *p)
{
	cudaMemsetParams f = {};
	cudaGraph_t child;
	cudaGraphNode_t inner[2];

	switch (p->kind) {
	case 0:
		add_kernel(node, g, NULL, 0, p);
		break;
	case 1:
		f.dst = cells + p->to;
		f.value = (unsigned)p->by;
		f.elementSize = 4;
		f.width = 1;
		f.height = 1;
		CHECK(cudaGraphAddMemsetNode(node, g, NULL, 0, &f));
		break;
	case 2:
		CHECK(cudaGraphAddMemcpyNode1D(node, g, NULL, 0, cells + p->to, cells + p->from, sizeof(int), cudaMemcpyDeviceToDevice));
		break;
	case 3:
		CHECK(cudaGraphCreate(&child, 0));
		add_kernel(&inner[0], child, NULL, 0, p);
		add_kernel(&inner[1], child, &inner[0], 1, p);
		CHECK(cudaGraphAddChildGraphNode(node, g, NULL, 0, child));
		CHECK(cudaGraphDestroy(child));
		break;
	default:
		CHECK(cudaGraphAddEmptyNode(node, g, NULL, 0));
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 2 ? atoi(argv[2]) : 40;
	cudaGraphNode_t node[NODES_MAX];
	int order[NODES_MAX], seen[CELLS];
	cudaGraphExec_t exec;
	cudaGraph_t g;
	cudaStream_t s;

	state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	CHECK(cudaMalloc(&cells, CELLS * sizeof(int)));
	CHECK(cudaMemset(cells, 1, CELLS * sizeof(int)));
	CHECK(cudaStreamCreate(&s));
	for (int i = 0; i < n; i++) {
		struct plan *p = &plan[i];

		*p = {};
		p->kind = (int)chance(9);
		p->kind = p->kind > 4 ? 0 : p->kind;
		p->to = (int)chance(CELLS);
		p->from = (p->to + 1 + (int)chance(CELLS - 1)) % CELLS;
		p->by = (int)chance(1000);
		for (int j = 0; j < i; j++) {
			const bool both = plan[j].kind != 4 && p->kind != 4;

			p->after[j] = (both && (plan[j].to == p->to || plan[j].to == p->from || plan[j].from == p->to)) || chance(40) == 0;
		}
	}
	for (int i = 0; i < n; i++) { /* shuffled */
		const int k = (int)chance((unsigned)i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	CHECK(cudaGraphCreate(&g, 0));
	for (int i = 0; i < n; i++)
		add(&node[order[i]], g, &plan[order[i]]);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (plan[i].after[j])
#if CUDART_VERSION >= 13000
				CHECK(cudaGraphAddDependencies(g, &node[j], &node[i], NULL, 1));
#else
				CHECK(cudaGraphAddDependencies(g, &node[j], &node[i], 1));
#endif
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 2; i++)
		CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaMemcpy(seen, cells, sizeof seen, cudaMemcpyDeviceToHost));
	for (int i = 0; i < CELLS; i++)
		printf("%d%c", seen[i], i + 1 < CELLS ? ' ' : '\n');
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(g));
	return 0;
}
