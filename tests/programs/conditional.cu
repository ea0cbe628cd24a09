/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph with two conditional nodes: one whose body runs as its handle says from the start, and one whose body runs until a kernel inside
 * it says stop. Prints what they counted, or that the driver has no such nodes.
 */
#include "gpu.h"

__global__ void until(int *n, int stop, cudaGraphConditionalHandle going)
{
	if (++*n >= stop)
		cudaGraphSetConditional(going, 0);
}

/* Adds to g, behind `after`, a node of that type; *body is the graph it may run. */
static cudaGraphNode_t conditional(cudaGraph_t g, cudaGraphNode_t after, cudaGraphConditionalNodeType type, cudaGraphConditionalHandle h, cudaGraph_t *body)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = 1;
	CHECK(cudaGraphAddNode(&node, g, &after, NULL, 1, &p));
	*body = p.conditional.phGraph_out[0];
	return node;
}

static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t *after, void *fn, void **args)
{
	cudaKernelNodeParams p = {};
	cudaGraphNode_t node;

	p.func = fn;
	p.gridDim = p.blockDim = dim3(1);
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, g, after, after ? 1 : 0, &p));
	return node;
}

int main(void)
{
	int *once = counter_new(), *often = counter_new(), one = 1, hundred = 100, ten = 10;
	cudaGraphConditionalHandle from_start, going;
	cudaGraph_t g, body, loop;
	cudaGraphExec_t exec;
	cudaStream_t s;

	CHECK(cudaGraphCreate(&g, 0));
	cudaError_t e = cudaGraphConditionalHandleCreate(&from_start, g, 1, cudaGraphCondAssignDefault);
	if (e != cudaSuccess) {
		printf("no conditional nodes: %s\n", cudaGetErrorName(e));
		return 0;
	}
	CHECK(cudaGraphConditionalHandleCreate(&going, g, 1, cudaGraphCondAssignDefault));
	void *count_once[] = {&once, &one}, *count_body[] = {&once, &hundred}, *loop_args[] = {&often, &ten, &going};
	cudaGraphNode_t first = kernel(g, NULL, (void *)count, count_once);
	cudaGraphNode_t taken = conditional(g, first, cudaGraphCondTypeIf, from_start, &body);
	kernel(body, NULL, (void *)count, count_body);
	conditional(g, taken, cudaGraphCondTypeWhile, going, &loop);
	kernel(loop, NULL, (void *)until, loop_args);
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 2; i++) {
		CHECK(cudaMemsetAsync(often, 0, sizeof(int), s));
		CHECK(cudaGraphLaunch(exec, s));
		CHECK(cudaStreamSynchronize(s));
	}
	printf("once %d often %d\n", counter_value(once), counter_value(often));
	return 0;
}
