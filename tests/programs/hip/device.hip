// SPDX-License-Identifier: Apache-2.0
//
// What the runtime says of the device.
#include "hip_check.h"

int main()
{
	int n = 0, runtime = 0;
	hipDeviceProp_t p;

	HIP(hipGetDeviceCount(&n));
	HIP(hipRuntimeGetVersion(&runtime));
	for (int i = 0; i < n; i++) {
		HIP(hipGetDeviceProperties(&p, i));
		printf("device %d: %s, %s, waves of %d, %d compute units, %zu MiB\n", i, p.name, p.gcnArchName,
		       p.warpSize, p.multiProcessorCount, p.totalGlobalMem >> 20);
	}
	printf("%d devices\n", n);
}
