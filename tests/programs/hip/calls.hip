// SPDX-License-Identifier: Apache-2.0
//
// Functions that are called, not inlined, and lanes that part.
#include "hip_check.h"

__device__ __attribute__((noinline)) int square(int x)
{
	return x * x + 1;
}

__device__ __attribute__((noinline)) int outer(int x)
{
	int y = square(x + 1);

	if (x % 2)
		y = y + square(y);
	return y;
}

__global__ void work(int *v, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n)
		v[i] = outer(i);
}

int main()
{
	enum { N = 100 };
	int *d, v[N];

	HIP(hipMalloc(&d, sizeof(v)));
	HIP(hipMemset(d, 0, sizeof(v)));
	work<<<2, 64>>>(d, N);
	HIP(hipGetLastError());
	HIP(hipMemcpy(v, d, sizeof(v), hipMemcpyDeviceToHost));
	for (int i = 0; i < N; i++) {
		int y = (i + 1) * (i + 1) + 1;

		SAME(v[i] == (i % 2 ? y + y * y + 1 : y), "a value");
	}
	printf("calls are right\n");
}
