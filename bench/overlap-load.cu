/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches on several streams that do not depend on each other, for bench-replay-order.py:
 *   overlap-load STREAMS LAUNCHES BLOCKS ROUNDS     LAUNCHES of each stream, in turn; BLOCKS of 256 threads, ROUNDS of work in each
 */
#include "../examples/check.h"
#include <stdlib.h>

__global__ void work(unsigned *x, int rounds)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = x[i];

	for (int r = 0; r < rounds; r++)
		v = v * 1664525u + 1013904223u;
	x[i] = v;
}

int main(int argc, char **argv)
{
	const int streams = argc > 1 ? atoi(argv[1]) : 4, launches = argc > 2 ? atoi(argv[2]) : 100, blocks = argc > 3 ? atoi(argv[3]) : 1;
	const int rounds = argc > 4 ? atoi(argv[4]) : 1000;
	cudaStream_t s[64];
	unsigned *x[64];

	if (streams < 1 || streams > 64 || launches < 1 || blocks < 1)
		return 2;
	for (int i = 0; i < streams; i++) {
		CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&x[i], (size_t)blocks * 256 * sizeof *x[i]));
		CHECK(cudaMemset(x[i], i, (size_t)blocks * 256 * sizeof *x[i]));
	}
	CHECK(cudaDeviceSynchronize());
	for (int k = 0; k < launches; k++)
		for (int i = 0; i < streams; i++)
			work<<<blocks, 256, 0, s[i]>>>(x[i], rounds);
	CHECK(cudaDeviceSynchronize());
	return 0;
}
