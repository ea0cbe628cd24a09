// SPDX-License-Identifier: Apache-2.0
//
// A kernel with parameters of many types, a template, and a kernel whose parameter is called as a field of launches is.
#include "gpu.h"

struct params {
	int radius;
	float w[2];
	const float *table;
	short small : 4;
};
typedef float real;

__global__ void adam(float *__restrict__ grad, const real *m, // moments (both)
	float lr, struct params p, unsigned long long n, bool flag, signed char c)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = c;

	for (int k = 0; k < p.radius; k++)
		sum += m[i] * p.w[k & 1];
	if (i < n && flag)
		grad[i] += sum * lr;
}

template <typename T> __global__ void fill(T *dst, T value, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		dst[i] = value;
}

#define HIDDEN int hidden
__global__ void macro(float *out, HIDDEN, double grid_x)
{
	out[0] = hidden + (float)grid_x;
}

int main()
{
	float *g, *m, h;
	params p = {3, {1, 2}, nullptr, -1};
	int n = 4096;

	CHECK(cudaMalloc(&g, n * sizeof *g));
	CHECK(cudaMalloc(&m, n * sizeof *m));
	fill<float><<<4, 256>>>(g, 1.5f, 1024);
	fill<float><<<4, 256>>>(m, 2.f, 1000);
	for (int i = 0; i < 4; i++) {
		p.radius = i;
		adam<<<4, 256>>>(g, m, 0.25f * i, p, 1000, true, -2);
	}
	macro<<<1, 1>>>(m, 7, 0.5);
	CHECK(cudaMemcpy(&h, g, sizeof h, cudaMemcpyDeviceToHost));
	printf("arguments: %g\n", h);
	return 0;
}
