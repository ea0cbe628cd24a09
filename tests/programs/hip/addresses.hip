// SPDX-License-Identifier: Apache-2.0
//
// Prints the addresses of device and host memory: the same in every run.
#include "hip_check.h"

int main()
{
	void *p[8], *pinned;
	hipStream_t s;

	HIP(hipStreamCreate(&s));
	for (int i = 0; i < 8; i++)
		HIP(hipMalloc(&p[i], (size_t)1000 << (2 * i)));
	HIP(hipHostMalloc(&pinned, 5000, 0));
	HIP(hipFree(p[2]));
	HIP(hipMalloc(&p[2], 777));
	HIP(hipStreamSynchronize(s));
	for (int i = 0; i < 8; i++)
		printf("%p ", p[i]);
	printf("%p\n", pinned);
}
