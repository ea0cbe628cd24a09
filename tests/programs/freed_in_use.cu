// SPDX-License-Identifier: Apache-2.0
//
// Frees memory in one stream while a kernel in another one writes to it: a mistake that a device may or may not notice. For the software GPU,
// which says it.
#include "gpu.h"

__global__ void writes(volatile int *p, volatile int *stop)
{
	stop[1] = 1;
	for (int k = 0; !*stop && k < 1000000000; k++)
		p[threadIdx.x] = k;
}

int main(void)
{
	cudaStream_t a, b;
	int *p, *stop;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaHostAlloc(&stop, 2 * sizeof *stop, cudaHostAllocMapped));
	stop[0] = stop[1] = 0;
	CHECK(cudaMallocAsync(&p, 1 << 20, b));
	CHECK(cudaStreamSynchronize(b));
	writes<<<1, 32, 0, a>>>(p, stop);
	while (!((volatile int *)stop)[1])
		usleep(1000);
	CHECK(cudaFreeAsync(p, b));
	CHECK(cudaStreamSynchronize(b));
	while (cudaStreamQuery(a) == cudaErrorNotReady)
		usleep(1000);
	puts(cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
