/* SPDX-License-Identifier: Apache-2.0
 *
 * Cooperative groups: tiles of 8 lanes, coalesced groups, and a grid-wide barrier of a cooperative launch.
 */
#include "suite.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define BLOCKS 4
#define THREADS 64

__global__ void tiles(const int *in, int *sums, int *positives)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
	int i = blockIdx.x * THREADS + threadIdx.x, v = in[i];
	int sum = v;

	for (int step = 4; step; step /= 2)
		sum += tile.shfl_down(sum, step);
	if (tile.thread_rank() == 0)
		sums[i / 8] = sum;
	if (v > 0) {
		cg::coalesced_group active = cg::coalesced_threads();

		if (active.thread_rank() == 0)
			atomicAdd(positives, (int)active.size());
	}
}

/* Each block adds its neighbour's number of the round before. */
__global__ void rounds(int *a, int *b, int n)
{
	cg::grid_group grid = cg::this_grid();
	int me = blockIdx.x, next = (me + 1) % gridDim.x;

	for (int r = 0; r < n; r++) {
		if (threadIdx.x == 0)
			b[me] = a[me] + a[next];
		grid.sync();
		int *swap = a;

		a = b;
		b = swap;
	}
}

int main()
{
	const int n = BLOCKS * THREADS;
	int count = 5;
	std::vector<int> in(n), want(n / 8), want_positive(1), numbers(BLOCKS);
	unsigned seed = 23;

	for (int i = 0; i < n; i++) {
		in[i] = (int)(next_random(&seed) % 100) - 50;
		want[i / 8] += in[i];
		want_positive[0] += in[i] > 0;
	}
	int *d = to_device(in), *sums = device_zeros<int>(n / 8), *positives = device_zeros<int>(1);
	tiles<<<BLOCKS, THREADS>>>(d, sums, positives);
	compare("groups", to_host(sums, n / 8), want);
	compare("positives", to_host(positives, 1), want_positive);

	for (int i = 0; i < BLOCKS; i++)
		numbers[i] = i * i + 1;
	int *a = to_device(numbers), *b = device_zeros<int>(BLOCKS);
	void *args[] = {&a, &b, &count};
	CHECK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(BLOCKS), dim3(32), args, 0, 0));
	for (int r = 0; r < count; r++) {
		std::vector<int> old = numbers;

		for (int i = 0; i < BLOCKS; i++)
			numbers[i] = old[i] + old[(i + 1) % BLOCKS];
	}
	compare("rounds", to_host(count % 2 ? b : a, BLOCKS), numbers);
	return passed("groups");
}
