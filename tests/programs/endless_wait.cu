// SPDX-License-Identifier: Apache-2.0
//
// A kernel of which one lane waits until the host sets a flag, while the others have ended. A replay, where the host does nothing, never ends.
#include "gpu.h"
__global__ void first(int *v) { v[threadIdx.x] = threadIdx.x; }
__global__ void spin(volatile int *flag, int *v)
{
	if (threadIdx.x < 4)
		return;
	if (threadIdx.x == 5)
		while (!*flag)
			;
	v[threadIdx.x] = 7;
}
int main()
{
	int *flag, *v;
	cudaHostAlloc(&flag, 4, 0);
	*flag = 0;
	cudaMalloc(&v, 4096);
	first<<<1, 64>>>(v);
	spin<<<1, 64>>>(flag, v);
	usleep(300000);
	*(volatile int *)flag = 1;
	cudaDeviceSynchronize();
	first<<<1, 64>>>(v);
	cudaDeviceSynchronize();
	puts("done");
}
