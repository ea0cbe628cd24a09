/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is freed and allocated again at the same address, with another size and on another stream, while three streams and a
 * graph work: what a position's memory is depends on when one looks.
 */
#include "../../examples/check.h"

#define N 2048

__global__ void mix(unsigned *to, const unsigned *from, unsigned by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = to[i] * 31 + (from ? from[i] : i) + by;
}

static void launch(unsigned *to, const unsigned *from, unsigned by, int n, cudaStream_t s)
{
	mix<<<(n + 127) / 128, 128, 0, s>>>(to, from, by, n);
}

int main(void)
{
	unsigned *keep, *once, *again, *host, sum = 0;
	cudaStream_t free_running, blocking;
	cudaEvent_t done;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	int same = 0;

	CHECK(cudaMalloc(&keep, N * 4));
	CHECK(cudaMemset(keep, 0, N * 4));
	CHECK(cudaMallocHost(&host, N * 4));
	CHECK(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking));
	CHECK(cudaStreamCreate(&blocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
	launch(keep, NULL, 5, N, blocking);
	launch(keep, keep, 6, N, blocking);
	CHECK(cudaStreamEndCapture(blocking, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned round = 0; round < 4; round++) {
		CHECK(cudaMalloc(&once, N * 4));
		CHECK(cudaMemsetAsync(once, (int)round, N * 4, free_running));
		launch(once, NULL, round, N, free_running);
		CHECK(cudaEventRecord(done, free_running));
		CHECK(cudaStreamWaitEvent(blocking, done, 0));
		launch(keep, once, round, N, blocking);
		CHECK(cudaGraphLaunch(exec, blocking));
		launch(keep, NULL, 77, N, 0); /* the legacy default stream: after what the blocking one has */
		CHECK(cudaMemcpyAsync(host, keep, N * 4, cudaMemcpyDeviceToHost, blocking));
		CHECK(cudaStreamSynchronize(blocking));
		sum = sum * 7 + host[round];
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaFree(once));
		CHECK(cudaMalloc(&again, N * 2)); /* half as much, where it was */
		same += again == once;
		CHECK(cudaMemsetAsync(again, 0x11, N * 2, free_running));
		host[0] = round; /* the program writes to pinned memory that a kernel reads */
		launch(again, host, 3, N / 2, free_running);
		launch(keep, again, 1, N / 2, free_running);
		CHECK(cudaStreamSynchronize(free_running));
		CHECK(cudaFree(again));
	}
	CHECK(cudaMemcpy(host, keep, N * 4, cudaMemcpyDeviceToHost));
	printf("reuse: %s, %08x\n", same ? "some memory came again" : "no memory came again", sum * 31 + host[N - 1]);
	return 0;
}
