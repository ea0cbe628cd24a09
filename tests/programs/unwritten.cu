/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of memory that nothing has written, for `check --perturb`: `unwritten global|shared|both|none`. In `none` the same kernels get what they
 * read written first, and one of them copies fresh memory's neighbour and writes zeros into fresh memory: nothing is wrong with that.
 */
#include "gpu.h"

__global__ void fill(int *x, int from, int to)
{
	for (int i = from + threadIdx.x; i < to; i += blockDim.x)
		x[i] = i % 3 ? 0 : i;
}

/* Only the last one matters. */
__global__ void last(int *to, const int *x, int n)
{
	if (!threadIdx.x)
		*to = x[n - 1] > 1000 ? 1 : 2;
}

__global__ void rotate(int *to, int n, int writes)
{
	__shared__ int s[64];

	if (threadIdx.x < writes)
		s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	to[threadIdx.x] = s[(threadIdx.x + 1) % n];
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	const bool global = !strcmp(what, "global") || !strcmp(what, "both"), shared = !strcmp(what, "shared") || !strcmp(what, "both");
	const int n = 50001;
	int *x, *y, *z;

	CHECK(cudaMalloc((void **)&z, 64 * sizeof *z));
	CHECK(cudaMalloc((void **)&x, n * sizeof *x));
	CHECK(cudaMallocAsync((void **)&y, 1024, 0));
	fill<<<1, 128>>>(x, 0, global ? n - 3 : n);
	last<<<1, 32>>>(y, x, n);
	rotate<<<1, 64>>>(z, 64, shared ? 60 : 64);
	CHECK(cudaDeviceSynchronize());
	printf("unwritten: done\n");
	return 0;
}
