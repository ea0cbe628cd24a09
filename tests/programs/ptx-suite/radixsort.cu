/* SPDX-License-Identifier: Apache-2.0
 *
 * Radix sort by hand, 4 bits a pass: a histogram for each block, one scan of all counts (digit before block), a stable scatter with ranks
 * from warp votes.
 */
#include "suite.h"
#include <algorithm>

#define THREADS 128
#define DIGITS 16

__global__ void count(const unsigned *in, int n, int shift, int *counts)
{
	__shared__ int mine[DIGITS];
	int i = blockIdx.x * THREADS + threadIdx.x;

	if (threadIdx.x < DIGITS)
		mine[threadIdx.x] = 0;
	__syncthreads();
	if (i < n)
		atomicAdd(&mine[in[i] >> shift & (DIGITS - 1)], 1);
	__syncthreads();
	if (threadIdx.x < DIGITS)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}

/* Exclusive, in place, by one block. */
__global__ void scan(int *counts, int n)
{
	__shared__ int sums[THREADS];
	int each = (n + THREADS - 1) / THREADS, begin = threadIdx.x * each, sum = 0;

	for (int i = begin; i < min(begin + each, n); i++)
		sum += counts[i];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int step = 1; step < THREADS; step *= 2) {
		int add = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;

		__syncthreads();
		sums[threadIdx.x] += add;
		__syncthreads();
	}
	sum = threadIdx.x ? sums[threadIdx.x - 1] : 0;
	for (int i = begin; i < min(begin + each, n); i++) {
		int here = counts[i];

		counts[i] = sum;
		sum += here;
	}
}

__global__ void scatter(const unsigned *in, unsigned *out, int n, int shift, const int *places)
{
	__shared__ int of_warp[THREADS / 32][DIGITS];
	int i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	unsigned key = i < n ? in[i] : 0, digit = i < n ? key >> shift & (DIGITS - 1) : DIGITS, same = ~0u;

	for (int bit = 0; bit < 5; bit++) {
		unsigned vote = __ballot_sync(~0u, digit >> bit & 1);

		same &= digit >> bit & 1 ? vote : ~vote;
	}
	int rank = __popc(same & ((1u << lane) - 1));
	for (int k = threadIdx.x; k < THREADS / 32 * DIGITS; k += THREADS)
		(&of_warp[0][0])[k] = 0;
	__syncthreads();
	if (rank == 0 && digit < DIGITS)
		of_warp[warp][digit] = __popc(same);
	__syncthreads();
	if (i < n) {
		int place = places[digit * gridDim.x + blockIdx.x] + rank;

		for (int w = 0; w < warp; w++)
			place += of_warp[w][digit];
		out[place] = key;
	}
}

int main()
{
	const int n = 3000, blocks = (n + THREADS - 1) / THREADS;
	std::vector<unsigned> in(n), want;
	unsigned seed = 12;

	for (unsigned &v : in)
		v = next_random(&seed) % 60000;
	unsigned *a = to_device(in), *b = device_zeros<unsigned>(n);
	int *counts = device_zeros<int>(blocks * DIGITS);
	for (int shift = 0; shift < 16; shift += 4) {
		count<<<blocks, THREADS>>>(a, n, shift, counts);
		scan<<<1, THREADS>>>(counts, blocks * DIGITS);
		scatter<<<blocks, THREADS>>>(a, b, n, shift, counts);
		std::swap(a, b);
	}
	want = in;
	std::sort(want.begin(), want.end());
	compare("radixsort", to_host(a, n), want);
	return passed("radixsort");
}
