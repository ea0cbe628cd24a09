/* SPDX-License-Identifier: Apache-2.0
 *
 * A slow kernel, then others behind it in its stream: each adds one to the count of those that have
 * ended, at its end.
 */
#include "hip_check.h"

__global__ void slow(unsigned *count, unsigned turns)
{
	unsigned v = turns;

	while (turns--)
		v = v * 1664525 + 1013904223;
	if (!threadIdx.x)
		*count += v == 12345 ? 2 : 1; /* no turns give that */
}

int main()
{
	unsigned *d, n = 0;
	hipStream_t s;

	HIP(hipStreamCreate(&s));
	HIP(hipMalloc(&d, 4));
	HIP(hipMemset(d, 0, 4));
	HIP(hipDeviceSynchronize());
	slow<<<1, 64, 0, s>>>(d, 100000);
	slow<<<1, 64, 0, s>>>(d, 10);
	slow<<<1, 64, 0, s>>>(d, 20);
	HIP(hipStreamSynchronize(s));
	HIP(hipMemcpy(&n, d, 4, hipMemcpyDeviceToHost));
	printf(n == 3 ? "right\n" : "wrong: %u\n", n);
}
