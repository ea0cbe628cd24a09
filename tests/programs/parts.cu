/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that need more than device memory: globals of the module, by name and by pointer, pinned and managed memory, pointers within
 * structures, a cooperative launch.
 */
#include "gpu.h"

#define N 1024

__constant__ float weights[4];
__device__ float bias[2];
__device__ unsigned arrived, launches;

struct rows {
	const float *in; /* device memory */
	int n;
	struct {
		float *out;	    /* device memory */
		const float *scale; /* pinned memory */
	} to;
};

__global__ void weigh(struct rows r, const float *bias_by_pointer, float *sums)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < r.n) {
		r.to.out[i] = r.in[i] * weights[i % 4] * r.to.scale[i] + bias_by_pointer[i % 2] + bias[0];
		sums[i] += r.to.out[i];
	}
	if (i == 0)
		launches++;
}

/* All blocks meet, which only a cooperative launch promises. */
__global__ void meet(float *sums, unsigned blocks)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(&arrived, 1u);
		while (atomicAdd(&arrived, 0u) < blocks)
			;
	}
	__syncthreads();
	sums[i] = sums[i] * 2 + (float)gridDim.x;
}

int main(void)
{
	const float w[4] = {1, 2, 3, 4}, b[2] = {0.5f, 0.25f};
	unsigned blocks = 4;
	float *in, *out, *scale, *sums;
	void *by_pointer;

	CHECK(cudaMalloc(&in, N * sizeof *in));
	CHECK(cudaMalloc(&out, N * sizeof *out));
	CHECK(cudaHostAlloc(&scale, N * sizeof *scale, cudaHostAllocMapped));
	CHECK(cudaMallocManaged(&sums, N * sizeof *sums));
	for (int i = 0; i < N; i++) {
		scale[i] = (float)(i % 7);
		sums[i] = 1;
	}
	CHECK(cudaMemset(in, 0x3f, N * sizeof *in));
	CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
	CHECK(cudaMemcpyToSymbol(bias, b, sizeof b));
	CHECK(cudaGetSymbolAddress(&by_pointer, bias));
	struct rows r = {in, N, {out, scale}};
	weigh<<<N / 256, 256>>>(r, (const float *)by_pointer, sums);
	CHECK(cudaDeviceSynchronize());
	void *args[] = {&sums, &blocks};
	CHECK(cudaLaunchCooperativeKernel((const void *)meet, dim3(blocks), dim3(N / blocks), args, 0, 0));
	CHECK(cudaDeviceSynchronize());
	printf("parts: %g\n", sums[5]);
	return 0;
}
