/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a graph on one stream, and a kernel on another that uses what the graph's does.
 * The pair: produce and the launch of the graph.
 */
RACE(graph_and_stream, "produce", "graph_launch")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaGraphExec_t exec = two_graphs_of(b, data, sum);

	produce<<<GRID, 0, a>>>(data, 7);
	if (fixed)
		after(b, a);
	pause_a_moment();
	CHECK(cudaGraphLaunch(exec, b));
	show(sum);
}
