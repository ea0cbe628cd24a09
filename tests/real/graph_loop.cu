/* SPDX-License-Identifier: Apache-2.0
 *
 * A captured graph over two streams launched in a loop, as a training step is, its parameters updated once half way.
 */
#include <vector>
#include "real.h"

__global__ void scale(float *a, int n, float by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] = a[i] * by + 1;
}

__global__ void mix(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] = 0.5f * (a[i] + b[i]);
}

static cudaGraph_t captured(cudaStream_t s[2], cudaEvent_t e[2], float *a, float *b, int n, float by)
{
	const int blocks = (n + 255) / 256;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeThreadLocal));
	CHECK(cudaEventRecord(e[0], s[0]));
	CHECK(cudaStreamWaitEvent(s[1], e[0], 0));
	scale<<<blocks, 256, 0, s[0]>>>(a, n, by);
	scale<<<blocks, 256, 0, s[1]>>>(b, n, by / 2);
	CHECK(cudaEventRecord(e[1], s[1]));
	CHECK(cudaStreamWaitEvent(s[0], e[1], 0));
	mix<<<blocks, 256, 0, s[0]>>>(a, b, n);
	CHECK(cudaStreamEndCapture(s[0], &graph));
	return graph;
}

int main(int argc, char **argv)
{
	const int n = 1 << 14, steps = steps_of(argc, argv);
	std::vector<float> host(n);
	cudaStream_t s[2];
	cudaEvent_t e[2];
	cudaGraphExec_t exec;
	float *a, *b;

	CHECK(cudaMalloc(&a, sizeof *a * n));
	CHECK(cudaMalloc(&b, sizeof *b * n));
	CHECK(cudaMemset(a, 0, sizeof *a * n));
	CHECK(cudaMemset(b, 0, sizeof *b * n));
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamCreate(&s[i]));
		CHECK(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming));
	}
	cudaGraph_t graph = captured(s, e, a, b, n, 0.75f);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int k = 0; k < steps; k++) {
		step range(k);
		if (k == steps / 2 && steps > 3) {
			cudaGraphExecUpdateResultInfo info;
			cudaGraph_t other = captured(s, e, a, b, n, 0.5f);
			CHECK(cudaGraphExecUpdate(exec, other, &info));
			CHECK(cudaGraphDestroy(other));
		}
		for (int i = 0; i < 20; i++)
			CHECK(cudaGraphLaunch(exec, s[0]));
		CHECK(cudaMemcpyAsync(host.data(), a, sizeof *a * n, cudaMemcpyDeviceToHost, s[0]));
		CHECK(cudaStreamSynchronize(s[0]));
		printf("step %d sum %016llx\n", k, (unsigned long long)checksum(host.data(), sizeof *a * n));
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	return 0;
}
