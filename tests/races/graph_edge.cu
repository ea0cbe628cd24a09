/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: in a graph, consume does not depend on the node that fills what it reads.
 * The pair: the fill and consume, two nodes of one launch.
 */
RACE(graph_edge, "fill", "consume")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();
	cudaMemsetParams fill = {};
	cudaKernelNodeParams kernel = {};
	cudaGraphNode_t filled, consumed;
	void *args[] = {&sum, &data};
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	fill.dst = data;
	fill.value = 3;
	fill.elementSize = 4;
	fill.width = N;
	fill.height = 1;
	kernel.func = (void *)consume;
	kernel.gridDim = dim3(N / 128);
	kernel.blockDim = dim3(128);
	kernel.kernelParams = args;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemsetNode(&filled, graph, NULL, 0, &fill));
	CHECK(cudaGraphAddKernelNode(&consumed, graph, &filled, fixed, &kernel));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, a));
	CHECK(cudaStreamSynchronize(a));
	show(sum);
}
