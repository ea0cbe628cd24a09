/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps 8 MiB that no two pages of are alike, and changes one word of it at every launch.
 */
#include "gpu.h"

#define WORDS (2 << 20)

__global__ void fill(unsigned *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i] = i * 2654435761u ^ i >> 7;
}

__global__ void touch(unsigned *p, int k)
{
	p[k * 1000 + threadIdx.x] += k;
}

int main(void)
{
	unsigned *p, last;
	CHECK(cudaMalloc(&p, WORDS * sizeof(*p)));
	fill<<<WORDS / 256, 256>>>(p);
	for (int k = 0; k < 20; k++)
		touch<<<1, 1>>>(p, k);
	CHECK(cudaMemcpy(&last, p + 19000, sizeof(last), cudaMemcpyDeviceToHost));
	printf("keeps: %u\n", last);
	return last != (19000 * 2654435761u ^ 19000 >> 7) + 19;
}
