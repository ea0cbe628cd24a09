// SPDX-License-Identifier: Apache-2.0
//
// Kernels with races inside, and their sound twins: "barrier", "groups", "fence", "lanes", "byte", "flag", each
// with "wrong" or "right" behind it.
#include "hip_check.h"

#define N 256

// The waves of a workgroup hand on by LDS.
template <bool RIGHT> __global__ void barrier(int *out)
{
	__shared__ int part[N];

	part[threadIdx.x] = threadIdx.x * 3;
	if (RIGHT)
		__syncthreads();
	out[blockIdx.x * N + threadIdx.x] = part[N - 1 - threadIdx.x];
}

// Workgroups add to one place.
template <bool RIGHT> __global__ void groups(int *sum)
{
	if (threadIdx.x)
		return;
	if (RIGHT)
		atomicAdd(sum, 5);
	else
		*sum += 5;
}

// The last workgroup to finish adds what all have left (the CUDA guide's threadFenceReduction).
template <bool RIGHT> __global__ void fence(int *part, unsigned *count, int *total)
{
	__shared__ bool last;

	if (threadIdx.x == 0) {
		part[blockIdx.x] = blockIdx.x + 1;
		if (RIGHT)
			__threadfence();
		last = atomicAdd(count, 1) == gridDim.x - 1;
		if (RIGHT)
			__threadfence();
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		int sum = 0;

		for (unsigned b = 0; b < gridDim.x; b++)
			sum += part[b];
		*total = sum;
	}
}

// Lanes of one wave write a place by one instruction.
template <bool RIGHT> __global__ void lanes(int *out)
{
	out[RIGHT ? threadIdx.x : threadIdx.x / 2] = threadIdx.x;
}

// Bytes side by side are not one place.
template <bool RIGHT> __global__ void byte(unsigned char *out)
{
	out[RIGHT ? blockIdx.x * N + threadIdx.x : threadIdx.x] = blockIdx.x + 1;
}

// A workgroup waits for another one's flag.
template <bool RIGHT> __global__ void flag(int *data, int *ready, int *out)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		*data = 42;
		if (RIGHT)
			__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
		else
			*ready = 1;
	} else if (RIGHT) {
		while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE))
			;
		*out = *data;
	} else {
		*out = *data;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool right = argc > 2 && !strcmp(argv[2], "right");
	int *d;

	HIP(hipMalloc(&d, 1 << 16));
	HIP(hipMemset(d, 0, 1 << 16));
#define RUN(name, blocks, ...)                                                                     \
	if (!strcmp(what, #name) && right)                                                         \
		name<true><<<blocks, N>>>(__VA_ARGS__);                                            \
	else if (!strcmp(what, #name))                                                             \
		name<false><<<blocks, N>>>(__VA_ARGS__);
	RUN(barrier, 3, d)
	RUN(groups, 3, d)
	RUN(fence, 4, d, (unsigned *)d + 100, d + 200)
	RUN(lanes, 1, d)
	RUN(byte, 3, (unsigned char *)d)
	RUN(flag, 2, d, d + 100, d + 200)
	HIP(hipDeviceSynchronize());
	printf("done\n");
}
