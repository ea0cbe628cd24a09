/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose time is the GPU's: LAUNCHES kernels in turn over STREAMS streams, each of BLOCKS blocks that do ITERATIONS dependent
 * multiplications; between the streams an event every 64 launches, and before every 100th launch MIB of new data from pageable memory.
 * What bench-replay records and executes again.
 *   bench-load [STREAMS [LAUNCHES [ITERATIONS [BLOCKS [MIB]]]]]      default 1 1000 1000 64 0
 */
#include "../examples/check.h"

#define THREADS 128
#define MOST 16

__global__ void load(unsigned *v, int iterations)
{
	unsigned x = v[blockIdx.x * THREADS + threadIdx.x];

	for (int i = 0; i < iterations; i++)
		x = x * 1664525u + 1013904223u;
	v[blockIdx.x * THREADS + threadIdx.x] = x;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1, launches = argc > 2 ? atoi(argv[2]) : 1000,
		iterations = argc > 3 ? atoi(argv[3]) : 1000, blocks = argc > 4 ? atoi(argv[4]) : 64,
		mib = argc > 5 ? atoi(argv[5]) : 0;
	const size_t words = ((size_t)(mib > 0 ? mib : 0) << 20) / 4;
	unsigned *data = (unsigned *)malloc(words * 4 + 4), *batch = NULL, x = 1;
	cudaStream_t stream[MOST];
	cudaEvent_t event;
	unsigned *v[MOST];

	if (!data || n < 1 || n > MOST || launches < 1 || iterations < 0 || blocks < 1)
		return 2;
	for (size_t i = 0; i < words; i++) /* does not compress */
		data[i] = x = x * 1664525u + 1013904223u ^ x >> 13;
	if (words)
		CHECK(cudaMalloc(&batch, words * 4));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (int i = 0; i < n; i++) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&v[i], blocks * THREADS * sizeof(unsigned)));
		CHECK(cudaMemset(v[i], i + 1, blocks * THREADS * sizeof(unsigned)));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < launches; i++) {
		if (words && i % 100 == 0) {
			for (size_t k = 0; k < words; k += 16384) /* a word of each page: none is as it was */
				data[k] += i + 1;
			CHECK(cudaMemcpyAsync(batch, data, words * 4, cudaMemcpyHostToDevice, stream[i % n]));
		}
		load<<<blocks, THREADS, 0, stream[i % n]>>>(v[i % n], iterations);
		if (n > 1 && i % 64 == 63) {
			CHECK(cudaEventRecord(event, stream[i % n]));
			CHECK(cudaStreamWaitEvent(stream[(i + 1) % n], event, 0));
		}
	}
	CHECK(cudaDeviceSynchronize());
	printf("bench-load: %d launches\n", launches);
	return 0;
}
