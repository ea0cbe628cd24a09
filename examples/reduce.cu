/* SPDX-License-Identifier: Apache-2.0
 *
 * A sum by warp shuffles, shared memory and one atomic a block, a histogram by shared atomics, a maximum.
 * Integers only: the results do not depend on the order of the atomics.
 */
#include "check.h"

__global__ void sum_kernel(unsigned long long *sum, const int *v, int n)
{
	__shared__ int warp_sums[32];
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int x = i < n ? v[i] : 0;

	for (int d = 16; d; d /= 2)
		x += __shfl_down_sync(0xffffffffu, x, d);
	if (lane == 0)
		warp_sums[warp] = x;
	__syncthreads();
	if (warp == 0) {
		x = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
		for (int d = 16; d; d /= 2)
			x += __shfl_down_sync(0xffffffffu, x, d);
		if (lane == 0)
			atomicAdd(sum, (unsigned long long)x);
	}
}

__global__ void histogram(unsigned *bins, const int *v, int n)
{
	__shared__ unsigned local[64];

	if (threadIdx.x < 64)
		local[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[v[i] & 63], 1u);
	__syncthreads();
	if (threadIdx.x < 64)
		atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void max_kernel(int *max, const int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicMax(max, v[i]);
}

int main(void)
{
	const int n = 50000;
	int *v = (int *)malloc(n * sizeof(int)), *dv, *dmax, max = -1, want_max = -1;
	unsigned long long *dsum, sum, want_sum = 0;
	unsigned bins[64], want_bins[64] = {0}, *dbins;

	for (int i = 0; i < n; i++) {
		v[i] = (int)(check_value(i) * 1000) + 500;
		want_sum += v[i];
		want_bins[v[i] & 63]++;
		want_max = v[i] > want_max ? v[i] : want_max;
	}
	CHECK(cudaMalloc(&dv, n * sizeof(int)));
	CHECK(cudaMalloc(&dsum, sizeof(sum)));
	CHECK(cudaMalloc(&dbins, sizeof(bins)));
	CHECK(cudaMalloc(&dmax, sizeof(max)));
	CHECK(cudaMemcpy(dv, v, n * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(dsum, 0, sizeof(sum)));
	CHECK(cudaMemset(dbins, 0, sizeof(bins)));
	CHECK(cudaMemset(dmax, 0xff, sizeof(max)));
	sum_kernel<<<(n + 255) / 256, 256>>>(dsum, dv, n);
	histogram<<<8, 128>>>(dbins, dv, n);
	max_kernel<<<(n + 127) / 128, 128>>>(dmax, dv, n);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&sum, dsum, sizeof(sum), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(bins, dbins, sizeof(bins), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(&max, dmax, sizeof(max), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		if (bins[i] != want_bins[i]) {
			printf("reduce: WRONG bin %d: %u, not %u\n", i, bins[i], want_bins[i]);
			return 1;
		}
	if (sum != want_sum || max != want_max) {
		printf("reduce: WRONG: sum %llu, not %llu; max %d, not %d\n", sum, want_sum, max, want_max);
		return 1;
	}
	CHECK(cudaFree(dv));
	CHECK(cudaFree(dsum));
	CHECK(cudaFree(dbins));
	CHECK(cudaFree(dmax));
	free(v);
	printf("reduce: sum %llu, max %d ok\n", sum, max);
	return 0;
}
