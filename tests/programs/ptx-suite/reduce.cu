/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions: sum, minimum and its place, by shuffles, votes and shared memory; a block that is no multiple of a warp; the last block to finish
 * adds the partial sums (__threadfence and a counter).
 */
#include "suite.h"

#define BLOCKS 7
#define THREADS 160

__device__ unsigned finished;

__device__ static long long warp_sum(long long v)
{
	for (int step = 16; step; step /= 2)
		v += __shfl_down_sync(~0u, v, step);
	return v;
}

__global__ void sum(const int *in, int n, volatile long long *partial, long long *total)
{
	__shared__ long long of_warp[THREADS / 32];
	__shared__ bool last;
	long long v = 0;

	for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += BLOCKS * THREADS)
		v += in[i];
	v = warp_sum(v);
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = warp_sum(threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : 0);
		if (threadIdx.x == 0) {
			partial[blockIdx.x] = v;
			__threadfence();
			last = atomicInc(&finished, BLOCKS - 1) == BLOCKS - 1;
		}
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		long long all = 0;

		for (int i = 0; i < BLOCKS; i++)
			all += partial[i];
		*total = all;
	}
}

/* How many are odd, by votes; how many lanes hold the warp's smallest value; the first such lane. */
__global__ void votes(const int *in, int n, int *odd, int *lane_of_least)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int v = i < n ? in[i] : 0x7fffffff, least = v;
	unsigned mask = __ballot_sync(~0u, i < n && v % 2 != 0);

	for (int step = 16; step; step /= 2)
		least = min(least, __shfl_xor_sync(~0u, least, step));
	unsigned who = __ballot_sync(~0u, v == least);
	if (threadIdx.x % 32 == 0) {
		atomicAdd(odd, __popc(mask));
		lane_of_least[i / 32] = __ffs(who) - 1;
	}
	if (__any_sync(~0u, i >= n) && threadIdx.x % 32 == 31)
		atomicAdd(&odd[1], 1);
}

int main()
{
	const int n = 5003, warps = (n + 31) / 32;
	std::vector<int> in(n), want_odd(2), want_lane(warps);
	std::vector<long long> want(1);
	unsigned seed = 17;

	for (int i = 0; i < n; i++) {
		in[i] = (int)next_random(&seed) - 8000000;
		want[0] += in[i];
		want_odd[0] += in[i] % 2 != 0;
		if (i % 32 == 0 || in[i] < in[i / 32 * 32 + want_lane[i / 32]])
			want_lane[i / 32] = i % 32;
	}
	want_odd[1] = 1 + (((n + 127) / 128) * 4 - warps);
	int *d = to_device(in), *d_odd = device_zeros<int>(2), *d_lane = device_zeros<int>(warps + 4);
	long long *partial = device_zeros<long long>(BLOCKS), *total = device_zeros<long long>(1);
	for (int again = 0; again < 2; again++) { /* the counter comes back to 0 */
		sum<<<BLOCKS, THREADS>>>(d, n, partial, total);
		compare("reduce", to_host(total, 1), want);
	}
	votes<<<(n + 127) / 128, 128>>>(d, n, d_odd, d_lane);
	compare("votes", to_host(d_odd, 2), want_odd);
	compare("lane of the least", to_host(d_lane, warps), want_lane);
	return passed("reduce");
}
