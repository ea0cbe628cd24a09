/* SPDX-License-Identifier: Apache-2.0
 *
 * Three ways to memory: stream-ordered (cudaMallocAsync) on two streams, managed memory that the host writes, and a
 * range that grows by cuMemMap, as expandable segments do.
 */
#include <cuda.h>
#include <vector>
#include "real.h"

__global__ void add(float *to, const float *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = to[i] * 0.5f + from[i];
}

static void pooled(int k, std::vector<float> &host, cudaStream_t s[2], cudaEvent_t done)
{
	const int n = (int)host.size();
	float *a, *b;

	CHECK(cudaMallocAsync(&a, sizeof *a * n, s[0]));
	CHECK(cudaMallocAsync(&b, sizeof *b * n, s[0]));
	CHECK(cudaMemcpyAsync(a, host.data(), sizeof *a * n, cudaMemcpyHostToDevice, s[0]));
	CHECK(cudaMemsetAsync(b, k & 1, sizeof *b * n, s[0]));
	CHECK(cudaEventRecord(done, s[0]));
	CHECK(cudaStreamWaitEvent(s[1], done, 0));
	add<<<(n + 255) / 256, 256, 0, s[1]>>>(b, a, n);
	CHECK(cudaMemcpyAsync(host.data(), b, sizeof *b * n, cudaMemcpyDeviceToHost, s[1]));
	CHECK(cudaFreeAsync(a, s[1]));
	CHECK(cudaFreeAsync(b, s[1]));
	CHECK(cudaStreamSynchronize(s[1]));
}

struct segment {
	CUdeviceptr base;
	size_t size, granularity;
};

static void grow(struct segment *g)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle handle;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	if (!g->base) {
		CHECK(cuMemGetAllocationGranularity(&g->granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
		CHECK(cuMemAddressReserve(&g->base, 64 * g->granularity, 0, 0, 0));
	}
	CHECK(cuMemCreate(&handle, g->granularity, &prop, 0));
	CHECK(cuMemMap(g->base + g->size, g->granularity, 0, handle, 0));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CHECK(cuMemSetAccess(g->base + g->size, g->granularity, &access, 1));
	CHECK(cuMemRelease(handle));
	CHECK(cuMemsetD8(g->base + g->size, 0, g->granularity));
	g->size += g->granularity;
}

int main(int argc, char **argv)
{
	const int n = 1 << 16;
	std::vector<float> host(n, 1.0f), back(n);
	struct segment g = {};
	cudaStream_t s[2];
	cudaEvent_t done;
	float *managed;

	CHECK(cudaFree(nullptr));
	for (auto &x : s)
		CHECK(cudaStreamCreate(&x));
	CHECK(cudaEventCreate(&done));
	CHECK(cudaMallocManaged(&managed, sizeof *managed * n));
	for (int k = 0; k < steps_of(argc, argv); k++) {
		step range(k);
		pooled(k, host, s, done);
		for (int i = 0; i < n; i++)
			managed[i] = float((i + k) % 13);
		grow(&g);
		add<<<(n + 255) / 256, 256>>>(managed, (float *)g.base, n);
		add<<<(n + 255) / 256, 256>>>((float *)(g.base + g.size - sizeof(float) * n), managed, n);
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaMemcpy(back.data(), (void *)(g.base + g.size - sizeof(float) * n), sizeof(float) * n, cudaMemcpyDeviceToHost));
		printf("step %d pool %016llx managed %.3f mapped %016llx\n", k, (unsigned long long)checksum(host.data(), sizeof(float) * n),
			managed[k], (unsigned long long)checksum(back.data(), sizeof(float) * n));
	}
	return 0;
}
