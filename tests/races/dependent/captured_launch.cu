/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a launch that may begin early goes into a graph, where it gets a programmatic edge, and never waits.
 * The pair: two nodes of one launch.
 */
RACE(captured_launch, "produce_late", "consume_at_once")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? consume_when_done : consume_at_once, sum, data);
	CHECK(cudaStreamEndCapture(a, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, a));
	CHECK(cudaStreamSynchronize(a));
	show(sum);
}
