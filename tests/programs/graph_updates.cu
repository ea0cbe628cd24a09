/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that are changed between launches, in every way that needs no new instantiation; built by calls, with a child graph and a copy to
 * the host, and captured over two streams. A change of the graph itself must not be seen by what was made from it.
 */
#include "gpu.h"

__global__ void twice(int *n)
{
	*n *= 2;
}

static int *n, *m;
static int seen[2];
static cudaStream_t s, side;

static cudaKernelNodeParams kernel(void *fn, void **args)
{
	cudaKernelNodeParams p = {};

	p.func = fn;
	p.gridDim = dim3(1);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	return p;
}

static cudaMemsetParams fill(int value)
{
	cudaMemsetParams p = {};

	p.dst = n;
	p.value = (unsigned)value;
	p.elementSize = 4;
	p.width = 1;
	p.height = 1;
	return p;
}

static cudaGraph_t child(int by)
{
	void *args[] = {&n, &by};
	cudaKernelNodeParams p = kernel((void *)count, args);
	cudaGraphNode_t node;
	cudaGraph_t g;

	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphAddKernelNode(&node, g, NULL, 0, &p));
	return g;
}

struct built {
	cudaGraph_t graph, inner;
	cudaGraphNode_t filled, counted, nested, doubled, copied;
};

/* n = value, + 32 * by, + 32 * nested, * 2, to the host. */
static struct built build(int value, int by, int nested)
{
	struct built b;
	cudaMemsetParams f = fill(value);
	void *args[] = {&n, &by}, *one[] = {&n};
	cudaKernelNodeParams p = kernel((void *)count, args), q = kernel((void *)twice, one);

	q.blockDim = dim3(1);
	b.inner = child(nested);
	CHECK(cudaGraphCreate(&b.graph, 0));
	CHECK(cudaGraphAddMemsetNode(&b.filled, b.graph, NULL, 0, &f));
	CHECK(cudaGraphAddKernelNode(&b.counted, b.graph, &b.filled, 1, &p));
	CHECK(cudaGraphAddChildGraphNode(&b.nested, b.graph, &b.counted, 1, b.inner));
	CHECK(cudaGraphAddKernelNode(&b.doubled, b.graph, &b.nested, 1, &q));
	CHECK(cudaGraphAddMemcpyNode1D(&b.copied, b.graph, &b.doubled, 1, &seen[0], n, sizeof(int), cudaMemcpyDeviceToHost));
	return b;
}

static void launch(cudaGraphExec_t exec, const char *what)
{
	seen[0] = seen[1] = -1;
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	printf("%s: %d %d\n", what, seen[0], seen[1]);
}

static void changes(void)
{
	struct built b = build(1, 1, 2), other = build(7, 3, 1);
	cudaGraphExec_t exec;
	cudaGraphExecUpdateResultInfo info;
	int by = 5;
	void *args[] = {&n, &by};
	cudaKernelNodeParams p = kernel((void *)count, args);
	cudaMemsetParams f = fill(100);
	cudaGraph_t inner = child(9);

	CHECK(cudaGraphInstantiate(&exec, b.graph, 0));
	launch(exec, "as made");
	CHECK(cudaGraphKernelNodeSetParams(b.counted, &p)); /* of the graph: not of what was made from it */
	launch(exec, "the graph changed");
	CHECK(cudaGraphExecKernelNodeSetParams(exec, b.counted, &p));
	launch(exec, "kernel changed");
	CHECK(cudaGraphExecMemsetNodeSetParams(exec, b.filled, &f));
	launch(exec, "fill changed");
	CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, b.copied, &seen[1], n, sizeof(int), cudaMemcpyDeviceToHost));
	launch(exec, "copy changed");
	CHECK(cudaGraphNodeSetEnabled(exec, b.doubled, 0));
	launch(exec, "doubling disabled");
	CHECK(cudaGraphExecChildGraphNodeSetParams(exec, b.nested, inner));
	launch(exec, "child changed");
	CHECK(cudaGraphNodeSetEnabled(exec, b.doubled, 1));
	launch(exec, "doubling enabled");
	CHECK(cudaGraphExecUpdate(exec, other.graph, &info));
	launch(exec, "all changed");
	if (cudaGraphExecUpdate(exec, inner, &info) == cudaSuccess)
		printf("an update that must fail did not\n");
	(void)cudaGetLastError();
	launch(exec, "nothing changed");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(b.graph));
	CHECK(cudaGraphDestroy(b.inner));
	CHECK(cudaGraphDestroy(other.graph));
	CHECK(cudaGraphDestroy(other.inner));
	CHECK(cudaGraphDestroy(inner));
}

/* Work forked to a second stream and joined again: two branches. */
static void forked(void)
{
	cudaEvent_t fork, join;
	cudaGraphExec_t exec;
	cudaGraph_t g;

	CHECK(cudaEventCreate(&fork));
	CHECK(cudaEventCreate(&join));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemsetAsync(n, 0, sizeof(int), s));
	CHECK(cudaEventRecord(fork, s));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	count<<<1, 32, 0, s>>>(n, 1);
	CHECK(cudaMemsetAsync(m, 0, sizeof(int), side));
	count<<<2, 32, 0, side>>>(m, 2);
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(s, join, 0));
	CHECK(cudaMemcpyAsync(&seen[0], n, sizeof(int), cudaMemcpyDeviceToHost, s));
	CHECK(cudaMemcpyAsync(&seen[1], m, sizeof(int), cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	launch(exec, "two streams");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(g));
	CHECK(cudaEventDestroy(fork));
	CHECK(cudaEventDestroy(join));
}

int main(void)
{
	n = counter_new();
	m = counter_new();
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamCreate(&side));
	changes();
	forked();
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaStreamDestroy(side));
	return 0;
}
