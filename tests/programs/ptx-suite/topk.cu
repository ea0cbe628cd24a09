/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest 32 of each row, kept sorted over a warp's lanes and merged by shuffles; and a merge sort: warps sort 32 numbers, then sorted
 * runs are merged, each thread finding by binary search where its element goes.
 */
#include "suite.h"
#include <algorithm>
#include <climits>
#include <functional>

#define ROWS 12
#define COLS 500

/* Sorted downwards over the lanes. */
__device__ static int warp_sort(int v)
{
	int lane = threadIdx.x % 32;

	for (int size = 2; size <= 32; size *= 2)
		for (int step = size / 2; step; step /= 2) {
			int other = __shfl_xor_sync(~0u, v, step);
			bool larger = ((lane & step) == 0) == ((lane & size) == 0);

			v = larger ? max(v, other) : min(v, other);
		}
	return v;
}

/* Both sorted downwards: the larger half of both, sorted downwards. */
__device__ static int warp_merge(int a, int b)
{
	int v = max(a, __shfl_sync(~0u, b, 31 - threadIdx.x % 32));

	for (int step = 16; step; step /= 2) {
		int other = __shfl_xor_sync(~0u, v, step);

		v = (threadIdx.x & step) == 0 ? max(v, other) : min(v, other);
	}
	return v;
}

__global__ void topk(const int *in, int *out)
{
	int row = threadIdx.y + blockIdx.x * blockDim.y, best = -1;

	for (int first = 0; first < COLS; first += 32) {
		int col = first + threadIdx.x, v = col < COLS ? in[row * COLS + col] : -1;

		/* Most rounds bring nothing new. */
		if (__any_sync(~0u, v > __shfl_sync(~0u, best, 31)))
			best = warp_merge(best, warp_sort(v));
	}
	out[row * 32 + threadIdx.x] = best;
}

__global__ void sort_runs(int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int sorted = warp_sort(i < n ? v[i] : INT_MIN);

	if (i < n)
		v[i] = sorted;
}

/* Of equal ones, the left run's come first. */
__global__ void merge(const int *in, int *out, int n, int run)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	bool left = i / run % 2 == 0;
	int other = left ? (i / run + 1) * run : (i / run - 1) * run, low = min(other, n), high = min(other + run, n), v = in[i];
	while (low < high) {
		int mid = (low + high) / 2;

		if (left ? in[mid] > v : in[mid] >= v)
			low = mid + 1;
		else
			high = mid;
	}
	out[left ? i + low - min(other, n) : low + i % run] = v;
}

int main()
{
	const int n = 2111;
	std::vector<int> in(ROWS * COLS), want(ROWS * 32), v(n);
	unsigned seed = 70;

	for (int &x : in)
		x = next_random(&seed) % 100000;
	for (int r = 0; r < ROWS; r++) {
		std::vector<int> row(in.begin() + r * COLS, in.begin() + (r + 1) * COLS);

		std::sort(row.begin(), row.end(), std::greater<int>());
		std::copy_n(row.begin(), 32, want.begin() + r * 32);
	}
	int *out = device_zeros<int>(ROWS * 32);
	topk<<<ROWS / 4, dim3(32, 4)>>>(to_device(in), out);
	compare("topk", to_host(out, ROWS * 32), want);

	for (int &x : v)
		x = (int)(next_random(&seed) % 3000) - 1500;
	int *a = to_device(v), *b = device_zeros<int>(n);
	sort_runs<<<(n + 127) / 128, 128>>>(a, n);
	for (int run = 32; run < n; run *= 2) {
		merge<<<(n + 127) / 128, 128>>>(a, b, n, run);
		std::swap(a, b);
	}
	std::sort(v.begin(), v.end(), std::greater<int>());
	compare("merge sort", to_host(a, n), v);
	return passed("topk");
}
