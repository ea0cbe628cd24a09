/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: two graphs that share memory are launched on two streams, and the second does not wait.
 * The pair: the two launches.
 */
static cudaGraphExec_t two_graphs_of(cudaStream_t s, int *data, int *sum)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	if (sum)
		consume<<<GRID, 0, s>>>(sum, data);
	else
		produce<<<GRID, 0, s>>>(data, 7);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

RACE(two_graphs, "graph_launch", "graph_launch")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaGraphExec_t first = two_graphs_of(a, data, NULL), second = two_graphs_of(b, data, sum);

	CHECK(cudaGraphLaunch(first, a));
	if (fixed)
		after(b, a);
	pause_a_moment();
	CHECK(cudaGraphLaunch(second, b));
	show(sum);
}
