// SPDX-License-Identifier: Apache-2.0
//
// Fills of bytes, shorts, words and rows, and copies on the device: the runtime's own kernels.
#include "hip_check.h"

int main()
{
	enum { N = 10000 };
	static unsigned char back[N], want[N];
	unsigned char *a, *b;

	HIP(hipMalloc(&a, N));
	HIP(hipMalloc(&b, N));
	HIP(hipMemset(a, 0x11, N));
	HIP(hipMemset(a + 3, 0x22, 1001));
	HIP(hipMemsetD16((hipDeviceptr_t)(a + 2000), 0x3344, 77));
	HIP(hipMemsetD32((hipDeviceptr_t)(a + 4000), 0x55667788, 99));
	HIP(hipMemset2D(a + 6000, 100, 0x99, 30, 10));
	HIP(hipMemset(b, 0, N));
	HIP(hipMemcpy(b + 1, a, N - 1, hipMemcpyDeviceToDevice));
	HIP(hipMemcpy(back, b, N, hipMemcpyDeviceToHost));
	memset(want, 0x11, N);
	memset(want + 3, 0x22, 1001);
	for (int i = 0; i < 77; i++)
		memcpy(want + 2000 + 2 * i, "\x44\x33", 2);
	for (int i = 0; i < 99; i++)
		memcpy(want + 4000 + 4 * i, "\x88\x77\x66\x55", 4);
	for (int y = 0; y < 10; y++)
		memset(want + 6000 + 100 * y, 0x99, 30);
	memmove(want + 1, want, N - 1);
	want[0] = 0;
	SAME(!memcmp(back, want, N), "the bytes");
	printf("fills are right\n");
}
