/* SPDX-License-Identifier: Apache-2.0
 *
 * A sum over 32 lanes of which the last steps are done by 8: without an argument they read lanes 16 to 23, which take no part; with "fixed" they read
 * only one another. Prints the sum of lane 0.
 */
#include "gpu.h"

__global__ void sum8(int *out, int step, int width)
{
	int v = (int)threadIdx.x + 1;

	if (threadIdx.x < 8) {
		for (int s = step; s; s /= 2)
			v += __shfl_down_sync(0xff, v, s, width);
	}
	if (threadIdx.x == 0)
		*out = v;
}

int main(int argc, char **argv)
{
	int *out, v;

	(void)argv;
	CHECK(cudaMalloc(&out, 4));
	for (int k = 0; k < 2; k++)
		sum8<<<1, 32>>>(out, argc > 1 ? 4 : 16, argc > 1 ? 8 : 32);
	CHECK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
	printf("%d\n", v);
	return 0;
}
