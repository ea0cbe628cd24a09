/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel works in pinned memory, which the host reads in place and frees: nothing is copied, and nothing is left at the end.
 */
#include "gpu.h"

int main(void)
{
	int *n;

	CHECK(cudaHostAlloc(&n, 4096, cudaHostAllocMapped));
	*n = 0;
	count<<<1, 32>>>(n, 1);
	CHECK(cudaDeviceSynchronize());
	printf("pinned_freed: %d\n", *n);
	CHECK(cudaFreeHost(n));
	return 0;
}
