/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch that writes past the end of its allocation: the device reports an illegal address.
 */
#include "gpu.h"

__global__ void stray(int *v, long far_away)
{
	v[far_away + threadIdx.x] = 1;
}

int main(void)
{
	int *n = counter_new();

	stray<<<1, 32>>>(n, 1L << 40);
	printf("bad_address: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
