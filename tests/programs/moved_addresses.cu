/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of a module's variables where a kernel finds them: in another variable, in allocated memory, in a structure that is its
 * parameter, and in what it writes itself; also where a variable ends.
 * Payloads lie on the host where a pointer would not, alone and as rows. A module that is gone when they are used was where a replay puts these.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>
#include "gpu.h"

#define TEXT(x) #x
#define DRIVER(name, ...) CHECK((cudaError_t)((decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), TEXT(name)))(__VA_ARGS__))

static const char gone[] = R"(
.version 7.0
.target sm_75
.address_size 64
.global .align 8 .b8 space[4194304];
)";

struct list {
	int weight;
	const int *numbers; /* a variable's */
};

__device__ int numbers[4] = {1, 10, 100, 1000};
__device__ int *second = numbers + 1;
__device__ __align__(8) int three[3];

struct range {
	const int *from, *to;
};

/* A loop from one to the other would never end when only one of them is where the variable is now. */
__global__ void length(long *sum, range by_value, const range *in_memory)
{
	*sum += by_value.to - by_value.from + in_memory->to - in_memory->from;
}

__global__ void follow(int *n, list by_value, const list *in_memory, int **written)
{
	*n = *n * by_value.weight + *second + by_value.numbers[2] + in_memory->weight * *in_memory->numbers;
	written[*n & 7] = second + *n % 3;
	numbers[0]++;
}

__global__ void touch(int **rows)
{
	if (rows[threadIdx.x])
		++*rows[threadIdx.x];
}

int main()
{
	CUmodule before;
	CUdeviceptr space;
	int **written, **rows, *back[8], *n = counter_new();
	char odd[8 * 20 + 4];
	CUdeviceptr dangling[128], *kept;
	list l = {3, NULL}, *in_memory;
	range r, *range_in_memory;
	long *sum;

	DRIVER(cuModuleLoadData, &before, gone);
	DRIVER(cuModuleGetGlobal, &space, nullptr, before, "space");
	CHECK(cudaGetSymbolAddress((void **)&l.numbers, numbers));
	for (int i = 0; i < 128; i++) /* its last kilobyte */
		dangling[i] = space + 4194304 - 8 * (i + 1);
	CHECK(cudaMalloc(&kept, sizeof dangling));
	CHECK(cudaMemcpy(kept, dangling, sizeof dangling, cudaMemcpyHostToDevice));
	CHECK(cudaMalloc(&in_memory, sizeof l));
	CHECK(cudaMemcpy(in_memory, &l, sizeof l, cudaMemcpyHostToDevice));
	CHECK(cudaMalloc(&written, sizeof back));
	CHECK(cudaMemset(written, 0, sizeof back));
	CHECK(cudaMalloc(&rows, sizeof back));
	CHECK(cudaGetSymbolAddress((void **)&r.from, three));
	r.to = r.from + 3;
	CHECK(cudaMalloc(&range_in_memory, sizeof r));
	CHECK(cudaMemcpy(range_in_memory, &r, sizeof r, cudaMemcpyHostToDevice));
	CHECK(cudaMalloc(&sum, sizeof *sum));
	CHECK(cudaMemset(sum, 0, sizeof *sum));
	follow<<<1, 1>>>(n, l, in_memory, written);
	CHECK(cudaDeviceSynchronize());
	DRIVER(cuModuleUnload, before);
	for (int i = 0; i < 4; i++) {
		follow<<<1, 1>>>(n, l, in_memory, written);
		length<<<1, 1>>>(sum, r, range_in_memory);
		memcpy(odd + 4, &l, sizeof l);
		CHECK(cudaMemcpy(in_memory, odd + 4, sizeof l, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(odd + 4, written, sizeof back, cudaMemcpyDeviceToHost));
		memcpy(back, odd + 4, sizeof back);
		for (int k = 0; k < 8; k++)
			memcpy(odd + 20 * k, &back[k], sizeof back[k]);
		CHECK(cudaMemcpy2D(rows, 8, odd, 20, 8, 8, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy2D(odd, 20, rows, 8, 8, 8, cudaMemcpyDeviceToHost));
		DRIVER(cuStreamWriteValue64, nullptr, (CUdeviceptr)(rows + 2), (cuuint64_t)(l.numbers + 3), 0);
		touch<<<1, 8>>>(rows);
	}
	CHECK(cudaMemcpy(dangling, kept, sizeof dangling, cudaMemcpyDeviceToHost));
	int pointers = 0;
	for (int *p : back)
		pointers += p >= l.numbers + 1 && p < l.numbers + 4;
	printf("%d %d\n", counter_value(n), pointers);
	return 0;
}
