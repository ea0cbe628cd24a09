/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture into a graph, launched three times.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t nodes = 0;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemsetAsync(n, 0, sizeof(int), s));
	for (int i = 0; i < 4; i++)
		count<<<1, 32, 0, s>>>(n, 1);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	printf("graphs: %d nodes, counted %d\n", (int)nodes, counter_value(n));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(s));
	return 0;
}
