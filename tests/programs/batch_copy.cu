/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies by cuMemcpyBatchAsync, a call that no command kind describes, between kernels that use what it copies.
 */
#include "gpu.h"
#include <cuda.h>
#include <dlfcn.h>

#define WORDS (64 << 10)

__global__ void fill(unsigned *p, unsigned k)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i] = i * k + 1;
}

__global__ void add(unsigned *to, const unsigned *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	to[i] += p[i];
}

typedef CUresult batch_fn(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, CUstream);

int main(void)
{
	unsigned *a, *b, *sum, last;
	cudaStream_t s;
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&a, WORDS * 4));
	CHECK(cudaMalloc(&b, WORDS * 4));
	CHECK(cudaMalloc(&sum, WORDS * 4));
	CHECK(cudaMemset(b, 0, WORDS * 4));
	CHECK(cudaMemset(sum, 0, WORDS * 4));
	/* The newer form, without the place of a failure, has version 2 in the driver; either does. */
	batch_fn *batch = (batch_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyBatchAsync_v2");
	if (!batch) {
		printf("batch_copy: the driver has no such call\n");
		return 77;
	}
	fill<<<WORDS / 256, 256, 0, s>>>(a, 3);
	CUdeviceptr to = (CUdeviceptr)b + 65536, from = (CUdeviceptr)a;
	size_t size = 65536, which = 0;
	CUmemcpyAttributes how = {};
	how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	CUresult r = batch(&to, &from, &size, 1, &how, &which, 1, s);
	if (r) {
		printf("batch_copy: error %d\n", (int)r);
		return 1;
	}
	add<<<WORDS / 256, 256, 0, s>>>(sum, b);
	add<<<WORDS / 256, 256, 0, s>>>(sum, b);
	CHECK(cudaMemcpyAsync(&last, sum + 16384 + 5, 4, cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamSynchronize(s));
	printf("batch_copy: %u\n", last);
	return last != 2 * (5 * 3 + 1);
}
