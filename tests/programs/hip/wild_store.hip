// SPDX-License-Identifier: Apache-2.0
//
// Lane 5 stores far behind the end of its memory: the runtime ends the program.
#include "hip_check.h"

__global__ void wild(unsigned *v, size_t far)
{
	v[threadIdx.x + (threadIdx.x == 5 ? far : 0)] = 1;
}

int main()
{
	unsigned *d;

	HIP(hipMalloc(&d, 64 << 20));
	printf("launching\n");
	fflush(stdout);
	wild<<<1, 64>>>(d, (size_t)(64 << 20) / 4 + 100);
	HIP(hipDeviceSynchronize());
	printf("not reached\n");
}
