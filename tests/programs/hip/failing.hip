// SPDX-License-Identifier: Apache-2.0
//
// Calls that fail, and what HIP says of them afterwards.
#include "hip_check.h"

int main()
{
	void *p = NULL;
	hipError_t e = hipMalloc(&p, (size_t)1 << 50);

	printf("hipMalloc: %s, then %s", hipGetErrorName(e), hipGetErrorName(hipGetLastError()));
	printf(", then %s\n", hipGetErrorName(hipGetLastError()));
	e = hipSetDevice(99);
	printf("hipSetDevice: %s, then %s\n", hipGetErrorName(e), hipGetErrorName(hipPeekAtLastError()));
	e = hipMemcpy(NULL, &e, sizeof(e), hipMemcpyHostToDevice);
	printf("hipMemcpy: %s, then %s\n", hipGetErrorName(e), hipGetErrorName(hipGetLastError()));
	HIP(hipMalloc(&p, 4096));
	printf("hipMalloc: then %s\n", hipGetErrorName(hipGetLastError()));
	HIP(hipFree(p));
}
