/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that count their executions in page-locked memory, which nobody puts back between two executions from the same memory: so what is
 * different, and when, is known beforehand, on every device.
 *   counted each     one stores the count: every execution is another one
 *   counted once     one stores whether the count is 3: one execution is another one
 *   counted beyond   one stores, always the same, to an allocation that it was given no pointer to
 *   counted astray   one stores the count there
 *   counted apart    one counts, the next one stores the count
 *   counted many     ten store the count to 512 pages
 *   counted WHAT graph   the same as nodes of a graph, behind the first and before the last, or `twice`: launched twice
 */
#include <string.h>
#include "gpu.h"

#define N (1 << 18)

__global__ void fill(int *x, int v)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		x[i] = x[i] * 3 + v;
}

__global__ void each(int *x, int *count)
{
	x[5] = atomicAdd_system(count, 1);
}

__global__ void once(int *x, int *count)
{
	x[5] = atomicAdd_system(count, 1) == 3;
}

__global__ void beyond(int *x, long distance)
{
	x[distance] = 7;
}

__global__ void astray(int *x, long distance, int *count)
{
	x[distance] = atomicAdd_system(count, 1);
}

__global__ void many(int *x, int *count)
{
	x[threadIdx.x << 14] = atomicAdd_system(count, 1);
}

__global__ void count_on(int *count)
{
	atomicAdd_system(count, 1);
}

__global__ void store(int *x, const int *count)
{
	x[5] = *(const volatile int *)count;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "each";
	const bool graph = argc > 2;
	cudaGraphExec_t exec;
	cudaGraph_t g;
	cudaStream_t s;
	int *a, *b, *count, *pages = NULL;

	CHECK(cudaMalloc(&a, N * sizeof *a));
	CHECK(cudaMalloc(&b, N * sizeof *b));
	if (!strcmp(what, "many"))
		CHECK(cudaMalloc(&pages, 512 << 16));
	CHECK(cudaMallocHost(&count, sizeof *count));
	*count = 0;
	CHECK(cudaMemset(a, 1, N * sizeof *a));
	CHECK(cudaMemset(b, 2, N * sizeof *b));
	for (int i = 0; i < 3; i++)
		fill<<<N / 256, 256>>>(i % 2 ? b : a, i);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamCreate(&s));
	if (graph) {
		CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		fill<<<N / 256, 256, 0, s>>>(a, 5);
	}
	if (!strcmp(what, "each"))
		each<<<1, 1, 0, s>>>(a, count);
	else if (!strcmp(what, "once"))
		once<<<1, 1, 0, s>>>(a, count);
	else if (!strcmp(what, "beyond"))
		beyond<<<1, 1, 0, s>>>(a, b - a);
	else if (!strcmp(what, "many"))
		for (int i = 0; i < 10; i++)
			many<<<1, 512, 0, s>>>(pages, count);
	else if (!strcmp(what, "apart"))
		count_on<<<1, 1, 0, s>>>(count), store<<<1, 1, 0, s>>>(a, count);
	else
		astray<<<1, 1, 0, s>>>(a, b - a, count);
	if (graph) {
		fill<<<N / 256, 256, 0, s>>>(a, 6);
		CHECK(cudaStreamEndCapture(s, &g));
		CHECK(cudaGraphInstantiate(&exec, g, 0));
		for (int i = 0; i < (strcmp(argv[2], "twice") ? 1 : 2); i++)
			CHECK(cudaGraphLaunch(exec, s));
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpyAsync(b, a, 1000, cudaMemcpyDeviceToDevice));
	for (int i = 0; i < 3; i++)
		fill<<<N / 256, 256>>>(i % 2 ? b : a, i);
	CHECK(cudaDeviceSynchronize());
	return 0;
}
