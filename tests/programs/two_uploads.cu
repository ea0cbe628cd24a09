/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of two devices is sent large arrays from pageable memory in turn, on a stream of its own, and adds them up: 3 MiB and 12 bytes at a
 * time, so that what reads the payloads at replay begins new buffers in the middle. Arguments: rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <vector>
#include "gpu.h"

#define N ((3u << 20) / 4 + 3)

__global__ void add(const unsigned *in, unsigned *sum)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		sum[i] += in[i];
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	unsigned *in[2], *sum[2], want = 0, have;
	cudaStream_t stream[2];
	int n = 0;

	CHECK(cudaGetDeviceCount(&n));
	if (n < 2) {
		printf("two_uploads: one device only\n");
		return 77;
	}
	for (int d = 0; d < 2; d++) {
		CHECK(cudaSetDevice(d));
		CHECK(cudaMalloc(&in[d], N * sizeof(unsigned)));
		CHECK(cudaMalloc(&sum[d], N * sizeof(unsigned)));
		CHECK(cudaMemset(sum[d], 0, N * sizeof(unsigned)));
		CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
		CHECK(cudaDeviceSynchronize());
	}
	std::vector<unsigned> from(N);
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < N; i++)
			from[i] = i * 2654435761u ^ r;
		want += from[N - 1];
		for (int d = 0; d < 2; d++) {
			CHECK(cudaSetDevice(d));
			CHECK(cudaMemcpyAsync(in[d], from.data(), N * sizeof(unsigned), cudaMemcpyHostToDevice, stream[d]));
			add<<<(N + 255) / 256, 256, 0, stream[d]>>>(in[d], sum[d]);
			CHECK(cudaStreamSynchronize(stream[d]));
		}
	}
	for (int d = 0; d < 2; d++) {
		CHECK(cudaSetDevice(d));
		CHECK(cudaMemcpy(&have, sum[d] + N - 1, sizeof have, cudaMemcpyDeviceToHost));
		if (have != want) {
			printf("device %d: %u, not %u\n", d, have, want);
			return 1;
		}
	}
	printf("ok\n");
	return 0;
}
