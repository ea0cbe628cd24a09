/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks about a kernel before it launches it, as libraries do that want more shared memory: the question is what makes the driver
 * load the code.
 */
#include "gpu.h"

int main(void)
{
	cudaFuncAttributes a;
	CHECK(cudaFuncGetAttributes(&a, (const void *)count));
	CHECK(cudaFuncSetAttribute((const void *)count, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
	int *n = counter_new();
	count<<<1, 32>>>(n, 1);
	printf("asks_first: %d\n", counter_value(n));
	return 0;
}
