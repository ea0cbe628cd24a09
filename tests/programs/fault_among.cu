/* SPDX-License-Identifier: Apache-2.0
 *
 * Three launches of one kernel, of which the second writes where no memory is. With an argument they are a graph's nodes.
 */
#include "gpu.h"

__global__ void put(int *v, long at)
{
	v[at] = 1;
}

static __attribute__((noinline)) void send(cudaStream_t s, int *v, long at)
{
	put<<<1, 1, 0, s>>>(v, at);
}

int main(int argc, char **argv)
{
	const bool graph = argc > 1 && *argv[1];
	int *v = counter_new();
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&s));
	if (graph)
		CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	send(s, v, 0);
	send(s, v, 1L << 40);
	send(s, v, 0);
	if (graph) {
		CHECK(cudaStreamEndCapture(s, &g));
		CHECK(cudaGraphInstantiate(&exec, g, 0));
		(void)cudaGraphLaunch(exec, s);
	}
	printf("fault_among: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
