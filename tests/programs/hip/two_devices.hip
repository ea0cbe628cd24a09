// SPDX-License-Identifier: Apache-2.0
//
// The same kernel on each device, on memory of its own, and a copy from one to the other.
#include "hip_check.h"

__global__ void mark(unsigned *v, unsigned with)
{
	v[threadIdx.x] = threadIdx.x * 10 + with;
}

int main()
{
	unsigned *d[2], back[64];
	int n = 0;

	HIP(hipGetDeviceCount(&n));
	printf("%d devices\n", n);
	if (n < 2)
		return 0;
	for (int i = 0; i < 2; i++) {
		HIP(hipSetDevice(i));
		HIP(hipMalloc(&d[i], sizeof(back)));
		mark<<<1, 64>>>(d[i], i + 1);
		HIP(hipGetLastError());
		HIP(hipDeviceSynchronize());
		HIP(hipMemcpy(back, d[i], sizeof(back), hipMemcpyDeviceToHost));
		for (unsigned k = 0; k < 64; k++)
			SAME(back[k] == k * 10 + i + 1, "a word");
	}
	HIP(hipMemcpyPeer(d[0], 0, d[1], 1, sizeof(back)));
	HIP(hipMemcpy(back, d[0], sizeof(back), hipMemcpyDeviceToHost));
	for (unsigned k = 0; k < 64; k++)
		SAME(back[k] == k * 10 + 2, "a word of the other device");
	printf("two devices are right\n");
}
