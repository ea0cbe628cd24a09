/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that allocates memory, works in it and frees it again: node types that no command describes. With `kept` it does not free it: a
 * kernel reads it behind the launch, and it is freed by the program, by another graph, and by a free in a stream.
 */
#include "gpu.h"

__global__ void add(int *n, const int *from)
{
	*n += *from;
}

int main(int argc, char **argv)
{
	const bool kept = argc > 1;
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
	if (!kept)
		CHECK(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, a.dptr));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(cudaGraphLaunch(exec, s));
		if (!kept)
			continue;
		add<<<1, 1, 0, s>>>(n, (int *)a.dptr);
		CHECK(cudaStreamSynchronize(s));
		if (i == 0) {
			CHECK(cudaFree(a.dptr));
		} else if (i == 1) {
			CHECK(cudaFreeAsync(a.dptr, s));
		} else {
			cudaGraph_t last;
			cudaGraphExec_t frees;

			CHECK(cudaGraphCreate(&last, 0));
			CHECK(cudaGraphAddMemFreeNode(&freed, last, NULL, 0, a.dptr));
			CHECK(cudaGraphInstantiate(&frees, last, 0));
			CHECK(cudaGraphLaunch(frees, s));
			CHECK(cudaStreamSynchronize(s));
			CHECK(cudaGraphExecDestroy(frees));
			CHECK(cudaGraphDestroy(last));
		}
	}
	count<<<1, 1, 0, s>>>(n, 1);
	CHECK(cudaStreamSynchronize(s));
	printf("graph_memory: %d\n", counter_value(n));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(s));
	return 0;
}
