// SPDX-License-Identifier: Apache-2.0
//
// printf on the device.
#include "hip_check.h"

__global__ void hello(int n)
{
	if (threadIdx.x < n)
		printf("item %d of %s, half %.1f\n", (int)threadIdx.x, "three", threadIdx.x / 2.0);
}

int main()
{
	hello<<<1, 64>>>(3);
	HIP(hipGetLastError());
	HIP(hipDeviceSynchronize());
	printf("done\n");
}
