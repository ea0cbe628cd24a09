/* SPDX-License-Identifier: Apache-2.0
 *
 * Device code in two files, linked (nvcc -rdc=true): a kernel calls a function and uses variables of the other file; both
 * files have a private function of one name and an inline function that is the same. The other half is linked_part.cu.
 */
#include "gpu.h"
#include "linked_part.cuh"

static __device__ __noinline__ int own(int x)
{
	return x + 1;
}

__global__ void first(int *p)
{
	__shared__ int room[9000]; /* two kernels' would not fit into one block */
	const int i = (int)threadIdx.x;

	room[i * 281] = own(twice(i));
	__syncthreads();
	p[i] = room[i * 281] + thrice(1) + scale[1];
	atomicAdd(&launched, 1);
}

int main(void)
{
	int *p, host[32], lanes;

	CHECK(cudaMalloc(&p, sizeof host));
	first<<<1, 32>>>(p);
	second(p);
	CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyFromSymbol(&lanes, launched, sizeof lanes));
	/* p[i] = (2i + 1) + 3 + 100, then + (3i + 1000) + 32 */
	printf("%d %d, %d lanes\n", host[0], host[31], lanes);
	return host[0] != 1136 || host[31] != 1136 + 5 * 31 || lanes != 32;
}
