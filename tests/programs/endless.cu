/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that never ends by itself: prints how many devices there are, launches, waits, and says what the wait answered.
 */
#include <cstdio>
#include <cuda_runtime.h>

__global__ void endless(volatile int *p)
{
	while (!*p)
		;
}

int main()
{
	int n = 0, *p;
	cudaError_t e;

	cudaGetDeviceCount(&n);
	printf("%d devices\n", n);
	fflush(stdout);
	if (cudaMalloc(&p, 4) || cudaMemset(p, 0, 4))
		return 1;
	endless<<<1, 32>>>(p);
	e = cudaDeviceSynchronize();
	printf("%d: %s\n", (int)e, cudaGetErrorString(e));
	return 0;
}
