// SPDX-License-Identifier: Apache-2.0
//
// The host writes what it had written before to memory that the device changed meanwhile: by a kernel, by a copy; in page-locked, registered and managed memory, of many
// pages and of some bytes. "direct": with a file open that lets another device write to the program's memory.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "gpu.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define BIG (1 << 20)

__global__ void add(int *sum, int v) { *sum += v; }
__global__ void add_all(int *out, const int *in, int n)
{
	for (int i = 0; i < n; i++)
		*out += in[i];
}

static int *out, *twos;

// Each round the host writes ones, a kernel adds them, the device writes twos.
static void by_copies(int *h, int n)
{
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < n; i++)
			h[i] = 1;
		add_all<<<1, 1>>>(out, h, n);
		CHECK(cudaMemcpy(h, twos, n * sizeof *h, cudaMemcpyDeviceToHost));
	}
	out++;
}

// Each round the host writes a zero, and a kernel adds to it. Nothing reads it in between.
static void by_kernels(int *h)
{
	for (int round = 0; round < 3; round++) {
		*h = 0;
		add<<<1, 1>>>(h, 5);
		CHECK(cudaDeviceSynchronize());
	}
	add_all<<<1, 1>>>(out++, h, 1);
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	int *pinned, *small, *managed, *results, n = BIG / 4, got[8] = {0};
	void *p = aligned_alloc(4096, BIG);
	if (argc > 1 && !strcmp(argv[1], "direct") && open(argv[0], O_RDONLY | O_DIRECT) < 0)
		return 2;
	CHECK(cudaMalloc(&results, sizeof got));
	CHECK(cudaMalloc(&twos, BIG));
	CHECK(cudaMemset(results, 0, sizeof got));
	CHECK(cudaMemset(twos, 2, BIG));
	CHECK(cudaMallocHost(&pinned, BIG));
	CHECK(cudaMallocHost(&small, 100));
	CHECK(cudaMallocManaged(&managed, 4096));
	CHECK(cudaHostRegister(p, BIG, cudaHostRegisterDefault));
	out = results;
	by_copies(pinned, n);
	by_copies((int *)p, n);
	by_copies(small, 25);
	by_kernels(managed);
	if (argc < 2)
		by_kernels(pinned + 1000);
	CHECK(cudaMemcpy(got, results, sizeof got, cudaMemcpyDeviceToHost));
	const int expected[] = {3 * n, 3 * n, 75, 5, argc < 2 ? 5 : 0};
	for (int i = 0; i < 5; i++)
		if (got[i] != expected[i])
			return printf("%d: %d instead of %d\n", i, got[i], expected[i]), 1;
	printf("fine\n");
	return 0;
}
