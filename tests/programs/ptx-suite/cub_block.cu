/* SPDX-License-Identifier: Apache-2.0
 *
 * CUB's algorithms inside kernels: reductions, scans and sorts of a block and of a warp, loads and stores that transpose, exchange.
 */
#include "suite.h"
#include <algorithm>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#define THREADS 128
#define EACH 4
#define TILE (THREADS * EACH)

__global__ void of_blocks(const int *in, int *sums, int *scanned, unsigned *sorted)
{
	typedef cub::BlockLoad<int, THREADS, EACH, cub::BLOCK_LOAD_TRANSPOSE> load;
	typedef cub::BlockReduce<int, THREADS> reduce;
	typedef cub::BlockScan<int, THREADS> scan;
	typedef cub::BlockRadixSort<unsigned, THREADS, EACH> sort;
	typedef cub::BlockStore<int, THREADS, EACH, cub::BLOCK_STORE_WARP_TRANSPOSE> store;
	__shared__ union {
		typename load::TempStorage load;
		typename reduce::TempStorage reduce;
		typename scan::TempStorage scan;
		typename sort::TempStorage sort;
		typename store::TempStorage store;
	} space;
	int v[EACH], prefix[EACH];
	unsigned keys[EACH];

	load(space.load).Load(in + blockIdx.x * TILE, v);
	__syncthreads();
	int sum = reduce(space.reduce).Sum(v);
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
	__syncthreads();
	scan(space.scan).InclusiveSum(v, prefix);
	__syncthreads();
	store(space.store).Store(scanned + blockIdx.x * TILE, prefix);
	__syncthreads();
	for (int i = 0; i < EACH; i++)
		keys[i] = (unsigned)v[i];
	sort(space.sort).Sort(keys);
	for (int i = 0; i < EACH; i++)
		sorted[blockIdx.x * TILE + threadIdx.x * EACH + i] = keys[i];
}

struct larger {
	__device__ double operator()(double a, double b) const { return a > b ? a : b; }
};

__global__ void of_warps(const int *in, double *most, int *scanned)
{
	__shared__ typename cub::WarpReduce<double, 16>::TempStorage reduce[THREADS / 16];
	__shared__ typename cub::WarpScan<int>::TempStorage scan[THREADS / 32];
	int i = blockIdx.x * THREADS + threadIdx.x, out;
	double m = cub::WarpReduce<double, 16>(reduce[threadIdx.x / 16]).Reduce((double)in[i], larger());

	if (threadIdx.x % 16 == 0)
		most[i / 16] = m;
	cub::WarpScan<int>(scan[threadIdx.x / 32]).ExclusiveSum(in[i], out);
	scanned[i] = out;
}

int main()
{
	const int blocks = 3, n = blocks * TILE;
	std::vector<int> in(n), sums(blocks), scanned(n), of_warp(n);
	std::vector<unsigned> sorted(n);
	std::vector<double> most(n / 16, -1e9);
	unsigned seed = 8;

	for (int &v : in)
		v = (int)(next_random(&seed) % 2000) - 1000;
	for (int i = 0; i < n; i++) {
		sums[i / TILE] += in[i];
		scanned[i] = sums[i / TILE];
		sorted[i] = (unsigned)in[i];
		most[i / 16] = std::max(most[i / 16], (double)in[i]);
		of_warp[i] = i % 32 ? of_warp[i - 1] + in[i - 1] : 0;
	}
	for (int b = 0; b < blocks; b++)
		std::sort(sorted.begin() + b * TILE, sorted.begin() + (b + 1) * TILE);

	int *d = to_device(in), *d_sums = device_zeros<int>(blocks), *d_scanned = device_zeros<int>(n);
	unsigned *d_sorted = device_zeros<unsigned>(n);
	double *d_most = device_zeros<double>(n / 16);
	of_blocks<<<blocks, THREADS>>>(d, d_sums, d_scanned, d_sorted);
	compare("BlockReduce", to_host(d_sums, blocks), sums);
	compare("BlockScan", to_host(d_scanned, n), scanned);
	compare("BlockRadixSort", to_host(d_sorted, n), sorted);
	of_warps<<<n / THREADS, THREADS>>>(d, d_most, d_scanned);
	compare("WarpReduce", to_host(d_most, n / 16), most);
	compare("WarpScan", to_host(d_scanned, n), of_warp);
	return passed("cub_block");
}
