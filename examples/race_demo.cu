/* SPDX-License-Identifier: Apache-2.0
 *
 * A missing wait: stream "consumer" reads what stream "producer" writes and forgets to wait for it. Whether the result is wrong depends
 * on the schedule. `race_demo fixed` waits. What the host does in between (prepare) makes it right nearly always, as in real programs.
 */
#include "check.h"
#include <string.h>
#include <unistd.h>

#define N 1024

__global__ void produce(float *out, float value, int n, int work)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = value;

	for (int k = 0; k < work; k++)
		x = x * 1.0f + 0.0f;
	if (i < n)
		out[i] = x;
}

__global__ void consume(float *sum, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] += in[i];
}

/* What a host does between two launches. */
static void prepare(void)
{
	usleep(5000);
}

int main(int argc, char **argv)
{
	const bool fixed = argc > 1 && !strcmp(argv[1], "fixed");
	const int rounds = 10;
	float *data, *sum, host[N];
	cudaStream_t producer, consumer;
	cudaEvent_t ready, taken;
	int wrong = 0;

	CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&taken, cudaEventDisableTiming));
	CHECK(cudaMalloc(&data, sizeof(host)));
	CHECK(cudaMalloc(&sum, sizeof(host)));
	CHECK(cudaMemset(data, 0, sizeof(host)));
	CHECK(cudaMemset(sum, 0, sizeof(host)));
	CHECK(cudaDeviceSynchronize());
	for (int r = 0; r < rounds; r++) {
		produce<<<N / 256, 256, 0, producer>>>(data, (float)(r + 1), N, 20);
		CHECK(cudaEventRecord(ready, producer));
		prepare();
		if (fixed) /* the bug: without this, consume may read the round before */
			CHECK(cudaStreamWaitEvent(consumer, ready, 0));
		consume<<<N / 256, 256, 0, consumer>>>(sum, data, N);
		CHECK(cudaEventRecord(taken, consumer));
		CHECK(cudaStreamWaitEvent(producer, taken, 0));
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, sum, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		wrong += host[i] != rounds * (rounds + 1) / 2;
	if (wrong)
		printf("race_demo: WRONG: %d of %d sums\n", wrong, N);
	else
		printf("race_demo: ok\n");
	return wrong != 0;
}
