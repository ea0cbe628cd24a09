/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that allocates memory, works in it and frees it again: node types that no command describes.
 */
#include "gpu.h"

__global__ void add(int *n, const int *from)
{
	*n += *from;
}

int main(void)
{
	int *n = counter_new(), by = 7;
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t allocated, filled, counted, added, freed;
	cudaMemAllocNodeParams a = {};
	cudaMemsetParams f = {};
	cudaKernelNodeParams k = {};

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaGraphCreate(&graph, 0));
	a.poolProps.allocType = cudaMemAllocationTypePinned;
	a.poolProps.location.type = cudaMemLocationTypeDevice;
	a.bytesize = 4096;
	CHECK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &a));
	f.dst = a.dptr;
	f.elementSize = 4;
	f.width = 1;
	f.height = 1;
	CHECK(cudaGraphAddMemsetNode(&filled, graph, &allocated, 1, &f));
	void *args[] = {&a.dptr, &by}, *args2[] = {&n, &a.dptr};
	k.func = (void *)count;
	k.gridDim = dim3(1);
	k.blockDim = dim3(32);
	k.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&counted, graph, &filled, 1, &k));
	k.func = (void *)add;
	k.blockDim = dim3(1);
	k.kernelParams = args2;
	CHECK(cudaGraphAddKernelNode(&added, graph, &counted, 1, &k));
	CHECK(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, a.dptr));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, s));
	count<<<1, 1, 0, s>>>(n, 1);
	CHECK(cudaStreamSynchronize(s));
	printf("graph_memory: %d\n", counter_value(n));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(s));
	return 0;
}
