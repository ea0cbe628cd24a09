/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that races on purpose, on four streams: kernels, copies from pinned memory and between buffers, managed memory, graphs whose branches
 * write the same words, memory that is allocated in stream order. Each kernel is deterministic; what the program computes depends on the order
 * of the commands alone, and no two runs need agree. A replay has one order, so each of its positions has one memory.
 */
#include "gpu.h"

#define N 8192

/* Does not commute with another factor or summand; slow enough to meet other streams' kernels. */
__global__ void affine(unsigned *x, unsigned times, unsigned plus, int rounds)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = 0; r < rounds; r++)
		x[i] = x[i] * times + plus;
}

__global__ void add(unsigned *x, const unsigned *y)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	x[i] += y[i];
}

__device__ unsigned table[N];

__global__ void through_table(unsigned *x, int store)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (store)
		table[i] = x[i];
	else
		x[i] ^= table[(i + 1) % N];
}

#define GRID N / 256, 256, 0

/* One root, two branches that race with each other. */
static cudaGraphExec_t branches(cudaStream_t s, cudaStream_t side, unsigned *x)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaEvent_t fork, join;

	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	affine<<<GRID, s>>>(x, 5, 1, 1);
	CHECK(cudaEventRecord(fork, s));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	affine<<<GRID, side>>>(x, 7, 3, 4);
	affine<<<GRID, s>>>(x, 11, 5, 4);
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(s, join, 0));
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

int main(void)
{
	unsigned *x, *y, *managed, *pinned, *fresh;
	cudaStream_t s[3];
	cudaGraphExec_t exec;

	for (int i = 0; i < 3; i++)
		CHECK(cudaStreamCreateWithFlags(&s[i], i == 2 ? cudaStreamDefault : cudaStreamNonBlocking));
	CHECK(cudaMalloc(&x, N * sizeof *x));
	CHECK(cudaMalloc(&y, N * sizeof *y));
	CHECK(cudaMallocManaged(&managed, N * sizeof *managed));
	CHECK(cudaMallocHost(&pinned, N * sizeof *pinned));
	for (int i = 0; i < N; i++)
		managed[i] = pinned[i] = (unsigned)i;
	CHECK(cudaMemset(x, 1, N * sizeof *x));
	CHECK(cudaMemset(y, 2, N * sizeof *y));
	exec = branches(s[0], s[1], x);
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < 4; round++) {
		affine<<<GRID, s[0]>>>(x, 3, (unsigned)round, 8);
		affine<<<GRID, s[1]>>>(x, 13, 7, 8);
		CHECK(cudaMemcpyAsync(y, pinned, N * sizeof *y, cudaMemcpyHostToDevice, s[2]));
		add<<<GRID, s[1]>>>(managed, y);
		through_table<<<GRID, s[0]>>>(x, 1);
		through_table<<<GRID, s[1]>>>(managed, 0);
		CHECK(cudaGraphLaunch(exec, s[0]));
		CHECK(cudaMemcpyAsync(y, x, N / 2 * sizeof *y, cudaMemcpyDeviceToDevice, s[1]));
		CHECK(cudaMallocAsync(&fresh, N * sizeof *fresh, s[1]));
		CHECK(cudaMemsetAsync(fresh, round, N * sizeof *fresh, s[1]));
		add<<<GRID, s[1]>>>(fresh, x);
		add<<<GRID, s[2]>>>(x, managed);
		CHECK(cudaFreeAsync(fresh, s[1]));
		CHECK(cudaMemcpyAsync(pinned, x, N * sizeof *x, cudaMemcpyDeviceToHost, s[0]));
		affine<<<GRID>>>(y, 3, 1, 1);
		if (round % 2)
			CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaDeviceSynchronize());
	printf("mixed_races: done\n");
	return 0;
}
