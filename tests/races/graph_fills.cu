/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a graph fills every second element's neighbour too: its rows are one element too wide for a
 * kernel on another stream that reads the others. Right: the rows end where they should. The same
 * pointers and the same kernel both times; only bytes tell them apart.
 * The pair: the kernel and the launch of the graph.
 */
static __global__ void read_odd(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i | 1];
}

RACE(graph_fills, "read_odd", "graph_launch")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *out = device();
	cudaMemsetParams rows = {};
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	rows.dst = data;
	rows.pitch = 2 * sizeof(int);
	rows.elementSize = 1;
	rows.width = fixed ? sizeof(int) : sizeof(int) + 1;
	rows.height = N / 2;
	rows.value = 7;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &rows));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	read_odd<<<GRID, 0, a>>>(out, data);
	pause_a_moment();
	CHECK(cudaGraphLaunch(exec, b));
	show(out);
}
