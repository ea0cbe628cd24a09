/* SPDX-License-Identifier: Apache-2.0
 *
 * Inclusive prefix sum in three launches: scan of blocks, scan of the blocks' sums, add.
 */
#include "suite.h"

#define BLOCK 256

__global__ void scan_blocks(const int *in, int *out, int *sums, int n)
{
	__shared__ int tile[2][BLOCK];
	int i = blockIdx.x * BLOCK + threadIdx.x, from = 0;

	tile[0][threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (int step = 1; step < BLOCK; step *= 2) {
		int v = tile[from][threadIdx.x];

		if (threadIdx.x >= step)
			v += tile[from][threadIdx.x - step];
		tile[1 - from][threadIdx.x] = v;
		from = 1 - from;
		__syncthreads();
	}
	if (i < n)
		out[i] = tile[from][threadIdx.x];
	if (threadIdx.x == BLOCK - 1 && sums)
		sums[blockIdx.x] = tile[from][threadIdx.x];
}

__global__ void add_sums(int *out, const int *sums, int n)
{
	int i = blockIdx.x * BLOCK + threadIdx.x;

	if (blockIdx.x > 0 && i < n)
		out[i] += sums[blockIdx.x - 1];
}

int main()
{
	const int n = 20011, blocks = (n + BLOCK - 1) / BLOCK;
	std::vector<int> in(n), want(n);
	unsigned seed = 1;
	int sum = 0;

	static_assert((20011 + BLOCK - 1) / BLOCK <= BLOCK, "one block scans the sums");
	for (int i = 0; i < n; i++) {
		in[i] = (int)(next_random(&seed) % 201) - 100;
		want[i] = sum += in[i];
	}
	int *d_in = to_device(in), *d_out = device_zeros<int>(n), *d_sums = device_zeros<int>(blocks);
	scan_blocks<<<blocks, BLOCK>>>(d_in, d_out, d_sums, n);
	scan_blocks<<<1, BLOCK>>>(d_sums, d_sums, nullptr, blocks);
	add_sums<<<blocks, BLOCK>>>(d_out, d_sums, n);
	compare("scan", to_host(d_out, n), want);
	return passed("scan");
}
