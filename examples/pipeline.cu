/* SPDX-License-Identifier: Apache-2.0
 *
 * Two streams with events: stream "load" copies a chunk in and scales it, stream "work" waits for that chunk's event and
 * adds it up; a second event tells "load" when a buffer may be filled again.
 */
#include "check.h"

#define CHUNKS 8
#define N 4096

__global__ void scale(float *v, float by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] *= by;
}

__global__ void accumulate(float *sum, const float *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] += v[i];
}

int main(void)
{
	const size_t bytes = N * sizeof(float);
	float *host, *result, *buffer[2], *sum;
	cudaStream_t load, work;
	cudaEvent_t loaded[2], done[2];

	CHECK(cudaMallocHost(&host, CHUNKS * bytes));
	CHECK(cudaMallocHost(&result, bytes));
	for (int i = 0; i < CHUNKS * N; i++)
		host[i] = check_value(i);
	CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&sum, bytes));
	for (int b = 0; b < 2; b++) {
		CHECK(cudaMalloc(&buffer[b], bytes));
		CHECK(cudaEventCreateWithFlags(&loaded[b], cudaEventDisableTiming));
		CHECK(cudaEventCreateWithFlags(&done[b], cudaEventDisableTiming));
	}
	CHECK(cudaMemsetAsync(sum, 0, bytes, work));
	for (int c = 0; c < CHUNKS; c++) {
		int b = c % 2;

		if (c >= 2)
			CHECK(cudaStreamWaitEvent(load, done[b], 0));
		CHECK(cudaMemcpyAsync(buffer[b], host + c * N, bytes, cudaMemcpyHostToDevice, load));
		scale<<<N / 256, 256, 0, load>>>(buffer[b], 2.0f, N);
		CHECK(cudaEventRecord(loaded[b], load));
		CHECK(cudaStreamWaitEvent(work, loaded[b], 0));
		accumulate<<<N / 128, 128, 0, work>>>(sum, buffer[b], N);
		CHECK(cudaEventRecord(done[b], work));
	}
	CHECK(cudaMemcpyAsync(result, sum, bytes, cudaMemcpyDeviceToHost, work));
	CHECK(cudaStreamSynchronize(work));
	for (int i = 0; i < N; i++) {
		float want = 0;
		for (int c = 0; c < CHUNKS; c++)
			want += 2.0f * host[c * N + i];
		if (result[i] != want) {
			printf("pipeline: WRONG at %d: %g, not %g\n", i, result[i], want);
			return 1;
		}
	}
	for (int b = 0; b < 2; b++) {
		CHECK(cudaEventDestroy(loaded[b]));
		CHECK(cudaEventDestroy(done[b]));
		CHECK(cudaFree(buffer[b]));
	}
	CHECK(cudaFree(sum));
	CHECK(cudaStreamDestroy(load));
	CHECK(cudaStreamDestroy(work));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFreeHost(result));
	printf("pipeline: %d chunks ok\n", CHUNKS);
	return 0;
}
