/* SPDX-License-Identifier: Apache-2.0
 *
 * Three kernels, one of them nondeterministic: fill (the same every time), sum (float atomics: the order of the additions decides the last
 * bits; launched as often as the first argument says), scale (deterministic, but it reads the sum).
 */
#include "gpu.h"

__global__ void fill(float *x, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = 1.0f / (1 + i % 977) * (i % 3 ? 1.0f : 1e4f);
}

__global__ void sum(float *to, const float *x, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(to, x[i]);
}

__global__ void scale(float *y, const float *s, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = *s * i;
}

int main(int argc, char **argv)
{
	const int n = 1 << 14, times = argc > 1 ? atoi(argv[1]) : 1;
	float *x, *y, *s;

	CHECK(cudaMalloc(&x, n * sizeof *x));
	CHECK(cudaMalloc(&y, n * sizeof *y));
	CHECK(cudaMalloc(&s, sizeof *s));
	CHECK(cudaMemset(s, 0, sizeof *s));
	fill<<<n / 256, 256>>>(x, n);
	for (int i = 0; i < times; i++)
		sum<<<n / 256, 256>>>(s, x, n);
	scale<<<n / 256, 256>>>(y, s, n);
	CHECK(cudaDeviceSynchronize());
	printf("sums: done\n");
	return 0;
}
