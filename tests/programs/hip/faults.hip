// SPDX-License-Identifier: Apache-2.0
//
// Kernels that a device cannot finish, one for each word: "endless", "lds" (a read behind the
// workgroup's LDS), "unknown" (a word that is no instruction), "trap".
#include "hip_check.h"

__global__ void endless(volatile int *flag)
{
	while (!*flag)
		;
}

__global__ void beyond_lds(int *out, int at)
{
	__shared__ int part[64];

	part[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = part[threadIdx.x + at];
}

__global__ void unknown()
{
	asm volatile(".long 0xf0000000");
}

__global__ void trap()
{
	if (threadIdx.x == 3)
		__builtin_trap();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int *d;

	HIP(hipMalloc(&d, 4096));
	HIP(hipMemset(d, 0, 4096));
	HIP(hipDeviceSynchronize());
	printf("launching\n");
	fflush(stdout);
	if (!strcmp(what, "endless"))
		endless<<<1, 64>>>(d);
	else if (!strcmp(what, "lds"))
		beyond_lds<<<2, 64>>>(d, 10);
	else if (!strcmp(what, "unknown"))
		unknown<<<1, 64>>>();
	else
		trap<<<1, 64>>>();
	HIP(hipDeviceSynchronize());
	printf("the end\n");
}
