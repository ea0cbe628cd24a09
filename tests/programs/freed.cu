// SPDX-License-Identifier: Apache-2.0
//
// Leaves nothing behind and copies nothing to the host: `freed CASE`. Memory goes one by one, in a stream, with its context, or is memory
// of the host that a kernel filled; in `both` the program and a kernel write to it at the same time.
#include "gpu.h"
#include <string.h>

#define N 5000

__global__ void fill(int *p, int n, int by)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		p[i] = i * by + 1;
}

__global__ void add_all(int *p, int n, int times)
{
	for (int i = 0; i < times; i++)
		atomicAdd_system(&p[threadIdx.x % n], 1);
}

static int *filled(int by)
{
	int *p;

	CHECK(cudaMalloc(&p, N * sizeof(int)));
	fill<<<1, 128>>>(p, N, by);
	return p;
}

static void one_by_one(void)
{
	int *a = filled(3), *b = filled(5);

	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
}

static void in_a_stream(void)
{
	cudaStream_t s;
	int *p;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMallocAsync(&p, N * sizeof(int), s));
	fill<<<1, 128, 0, s>>>(p, N, 7);
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaFreeAsync(p, s));
	CHECK(cudaStreamDestroy(s));
}

static void with_its_context(void)
{
	(void)filled(9);
	(void)filled(11);
	CHECK(cudaDeviceReset());
}

static void of_the_host(void)
{
	int *p, *m;

	CHECK(cudaHostAlloc(&p, N * sizeof(int), cudaHostAllocMapped));
	CHECK(cudaMallocManaged(&m, N * sizeof(int)));
	memset(p, 0, N * sizeof(int));
	fill<<<1, 128>>>(p, N, 13);
	fill<<<1, 128>>>(m, N, 15);
	CHECK(cudaDeviceSynchronize());
	if (p[2] != 27 || m[2] != 31)
		exit(2);
	CHECK(cudaFreeHost(p));
	CHECK(cudaFree(m));
}

__global__ void take(int **p)
{
	*p = (int *)malloc(sizeof(int));
	**p = 5;
}

__global__ void give_back(int **p, int *n)
{
	*n = **p;
	free(*p);
}

static void heap(void)
{
	int **p, *n, host;

	CHECK(cudaMalloc(&n, sizeof(int)));
	CHECK(cudaMalloc(&p, sizeof *p));
	take<<<1, 1>>>(p);
	give_back<<<1, 1>>>(p, n);
	CHECK(cudaMemcpy(&host, n, sizeof host, cudaMemcpyDeviceToHost));
	if (host != 5)
		exit(2);
	CHECK(cudaFree(p));
}

static void both(void)
{
	int *m;

	CHECK(cudaMallocManaged(&m, 64 * sizeof(int)));
	memset(m, 0, 64 * sizeof(int));
	add_all<<<1, 64>>>(m, 64, 100);
	for (int i = 0; i < 64; i++)
		__atomic_fetch_add(&m[i], 1, __ATOMIC_RELAXED);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 64; i++)
		if (m[i] != 101)
			exit(2);
	CHECK(cudaFree(m));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "one";

	if (!strcmp(what, "one"))
		one_by_one();
	else if (!strcmp(what, "stream"))
		in_a_stream();
	else if (!strcmp(what, "context"))
		with_its_context();
	else if (!strcmp(what, "host"))
		of_the_host();
	else if (!strcmp(what, "heap"))
		heap();
	else
		both();
	puts("done");
	return 0;
}
