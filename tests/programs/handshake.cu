/* SPDX-License-Identifier: Apache-2.0
 *
 * Two kernels on two streams that need each other: the first spins until the second, which is submitted later, sets a flag. Executed one after
 * the other the first never ends.
 */
#include "gpu.h"

__global__ void wait_for(volatile int *flag, int *got)
{
	while (!*flag)
		;
	*got = 42;
}

__global__ void give(volatile int *flag)
{
	*flag = 1;
}

int main(void)
{
	int *flag = counter_new(), *got = counter_new();
	cudaStream_t s[2];

	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
	/* Loaded now: a kernel that is loaded at its first launch waits for the device, and so for the kernel that spins. */
	cudaFuncAttributes a;
	CHECK(cudaFuncGetAttributes(&a, wait_for));
	CHECK(cudaFuncGetAttributes(&a, give));
	CHECK(cudaDeviceSynchronize());
	wait_for<<<1, 1, 0, s[0]>>>(flag, got);
	give<<<1, 1, 0, s[1]>>>(flag);
	CHECK(cudaDeviceSynchronize());
	printf("handshake: %d\n", counter_value(got));
	return 0;
}
