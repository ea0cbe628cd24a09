/* SPDX-License-Identifier: Apache-2.0
 *
 * The other half of linked.cu.
 */
#include <cuda_runtime.h>
#include "linked_part.cuh"

__device__ int launched;
__constant__ int scale[4] = {1, 100, 3, 4};

static __device__ __noinline__ int own(int x)
{
	return x + 1000;
}

__device__ int twice(int x)
{
	return 2 * x;
}

__global__ void adds(int *p)
{
	__shared__ int room[9000];

	room[8999 - threadIdx.x] = own(thrice((int)threadIdx.x));
	__syncthreads();
	p[threadIdx.x] += room[8999 - threadIdx.x] + launched;
}

void second(int *p)
{
	adds<<<1, 32>>>(p);
}
