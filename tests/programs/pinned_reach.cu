// SPDX-License-Identifier: Apache-2.0
//
// The host writes to page-locked memory before launches that come to it in many ways: by a parameter, within a structure, by the end of the buffer, by a
// distance from memory of the device, by two halves, by pointers in memory and in a variable, by the address that the device has for it.
#include "gpu.h"

#define WORDS (1 << 18)

typedef unsigned long long u64;
struct both {
	const unsigned *device, *host;
	int n;
};
__device__ const unsigned *variable;

__global__ void by_parameter(u64 *sum, const unsigned *p, int i) { *sum = *sum * 3 + p[i]; }
__global__ void by_structure(u64 *sum, both b, int i) { *sum = *sum * 3 + b.host[i]; }
__global__ void by_end(u64 *sum, const unsigned *end, int i) { *sum = *sum * 3 + end[i - WORDS]; }
__global__ void by_distance(u64 *sum, long long distance, int i) { *sum = *sum * 3 + *(const unsigned *)((const char *)sum + distance + 4ll * i); }
__global__ void by_halves(u64 *sum, unsigned low, unsigned high, int i) { *sum = *sum * 3 + ((const unsigned *)((u64)high << 32 | low))[i]; }
__global__ void by_memory(u64 *sum, const unsigned *const *where, int i) { *sum = *sum * 3 + where[1][i]; }
__global__ void by_variable(u64 *sum, int i) { *sum = *sum * 3 + variable[i]; }
__global__ void not_at_all(u64 *sum, u64 n, int i) { sum[n] = sum[n] * 3 + i; }

static unsigned *host;
static u64 expected;

// What the host writes, and what the launch behind it adds.
static int next(int round)
{
	const int i = (int)((round * 7919u) % WORDS);
	host[i] = round * 2654435761u + 1;
	expected = expected * 3 + host[i];
	return i;
}

static void read_by_all(u64 *sum)
{
	const unsigned *pointers[2] = {NULL, host}, **where;
	unsigned *alias;
	CHECK(cudaMalloc(&where, sizeof pointers));
	CHECK(cudaMemcpy(where, pointers, sizeof pointers, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyToSymbol(variable, &host, sizeof host));
	CHECK(cudaHostGetDevicePointer((void **)&alias, host, 0));
	const both b = {(const unsigned *)sum, host, 5};
	for (int round = 0; round < 40; round++) {
		const int k = round * 16;
		by_parameter<<<1, 1>>>(sum, host, next(k));
		CHECK(cudaDeviceSynchronize());
		by_structure<<<1, 1>>>(sum, b, next(k + 1));
		CHECK(cudaDeviceSynchronize());
		by_end<<<1, 1>>>(sum, host + WORDS, next(k + 2));
		CHECK(cudaDeviceSynchronize());
		by_distance<<<1, 1>>>(sum, (char *)host - (char *)sum, next(k + 3));
		CHECK(cudaDeviceSynchronize());
		by_halves<<<1, 1>>>(sum, (unsigned)(u64)host, (unsigned)((u64)host >> 32), next(k + 4));
		CHECK(cudaDeviceSynchronize());
		by_memory<<<1, 1>>>(sum, where, next(k + 5));
		CHECK(cudaDeviceSynchronize());
		by_variable<<<1, 1>>>(sum, next(k + 6));
		CHECK(cudaDeviceSynchronize());
		by_parameter<<<1, 1>>>(sum, alias, next(k + 7));
		CHECK(cudaDeviceSynchronize());
		not_at_all<<<1, 1>>>(sum, 1, round);
	}
}

int main(void)
{
	u64 *sum, got;
	CHECK(cudaHostAlloc(&host, WORDS * sizeof *host, cudaHostAllocMapped));
	CHECK(cudaMalloc(&sum, 2 * sizeof *sum));
	CHECK(cudaMemset(sum, 0, 2 * sizeof *sum));
	memset(host, 0, WORDS * sizeof *host);
	read_by_all(sum);
	CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
	puts(got == expected ? "fine" : "wrong");
	return got != expected;
}
