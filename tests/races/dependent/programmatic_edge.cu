/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a graph has a programmatic edge between two kernels, and one role of the later one reads before it waits.
 * The pair: two nodes of one launch.
 */
static __global__ void half_reads_ahead(int *sum, const int *in)
{
	if (threadIdx.x >= 64)
		wait_for_front();
	sum[self()] = in[self()];
}

static cudaGraphNode_t kernel_node(cudaGraph_t graph, void *kernel, void **args)
{
	cudaKernelNodeParams k = {};
	cudaGraphNode_t node;

	k.func = kernel;
	k.gridDim = dim3(N / 128);
	k.blockDim = dim3(128);
	k.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &k));
	return node;
}

RACE(programmatic_edge, "produce_late", "half_reads_ahead")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device(), v = 7;
	void *first[] = {&data, &v}, *second[] = {&sum, &data};
	cudaGraphEdgeData edge = {};
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	edge.from_port = fixed ? cudaGraphKernelNodePortDefault : cudaGraphKernelNodePortProgrammatic;
	edge.type = fixed ? cudaGraphDependencyTypeDefault : cudaGraphDependencyTypeProgrammatic;
	CHECK(cudaGraphCreate(&graph, 0));
	cudaGraphNode_t from = kernel_node(graph, (void *)produce_late, first), to = kernel_node(graph, (void *)half_reads_ahead, second);
	CHECK(cudaGraphAddDependencies(graph, &from, &to, &edge, 1));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, a));
	CHECK(cudaStreamSynchronize(a));
	show(sum);
}
