/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel takes objects from the device's own heap, one reads them, one gives them back.
 */
#include "gpu.h"

__global__ void make(int **p)
{
	p[threadIdx.x] = (int *)malloc(64);
	p[threadIdx.x][0] = (int)threadIdx.x;
}

__global__ void use(int *const *p, int *out)
{
	out[threadIdx.x] = p[threadIdx.x][0];
}

__global__ void drop(int **p)
{
	free(p[threadIdx.x]);
}

int main(void)
{
	int **p, *out, host[32];

	CHECK(cudaMalloc(&p, 32 * sizeof(int *)));
	CHECK(cudaMalloc(&out, sizeof host));
	make<<<1, 32>>>(p);
	use<<<1, 32>>>(p, out);
	drop<<<1, 32>>>(p);
	CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
	printf("device_heap: %d\n", host[31]);
	return host[31] != 31;
}
