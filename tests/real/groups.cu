/* SPDX-License-Identifier: Apache-2.0
 *
 * A cooperative launch whose blocks synchronise as one grid, and (compute capability 9) a launch in clusters that read each other's
 * shared memory.
 */
#include <cooperative_groups.h>
#include <vector>
#include "real.h"

namespace cg = cooperative_groups;

/* Every round each element becomes the sum of its neighbours, modulo a prime. */
__global__ void rounds(unsigned *a, unsigned *b, int n, int times)
{
	cg::grid_group grid = cg::this_grid();

	for (int t = 0; t < times; t++) {
		for (int i = grid.thread_rank(); i < n; i += grid.size())
			b[i] = (a[i] + a[(i + 1) % n] + a[(i + n - 1) % n]) % 65521u;
		grid.sync();
		unsigned *was = a;
		a = b;
		b = was;
	}
}

/* Each block gives its sum to the block of the same cluster that comes next. */
__global__ void pass_on(const unsigned *in, unsigned *out)
{
#if __CUDA_ARCH__ >= 900
	cg::cluster_group cluster = cg::this_cluster();
	__shared__ unsigned mine, given;

	if (threadIdx.x == 0)
		mine = 0;
	__syncthreads();
	atomicAdd(&mine, in[blockIdx.x * blockDim.x + threadIdx.x]);
	cluster.sync();
	if (threadIdx.x == 0)
		*cluster.map_shared_rank(&given, (cluster.block_rank() + 1) % cluster.num_blocks()) = mine;
	cluster.sync();
	if (threadIdx.x == 0)
		out[blockIdx.x] = given;
#else
	(void)in, (void)out;
#endif
}

int main(int argc, char **argv)
{
	const int n = 1 << 14, block = 128;
	std::vector<unsigned> host(n), sums(n / block);
	unsigned *a, *b, *out;
	int size = n, times = 8, major;
	void *args[] = {&a, &b, &size, &times};

	for (int i = 0; i < n; i++)
		host[i] = i * 17 % 1009;
	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	CHECK(cudaMalloc(&a, sizeof *a * n));
	CHECK(cudaMalloc(&b, sizeof *b * n));
	CHECK(cudaMalloc(&out, sizeof *out * n / block));
	CHECK(cudaMemset(out, 0, sizeof *out * n / block));
	CHECK(cudaMemcpy(a, host.data(), sizeof *a * n, cudaMemcpyHostToDevice));
	for (int k = 0; k < steps_of(argc, argv); k++) {
		step range(k);
		CHECK(cudaLaunchCooperativeKernel((void *)rounds, dim3(16), dim3(block), args, 0, nullptr));
		if (major >= 9) {
			cudaLaunchConfig_t config = {};
			cudaLaunchAttribute attr = {};
			attr.id = cudaLaunchAttributeClusterDimension;
			attr.val.clusterDim = {4, 1, 1};
			config.gridDim = dim3(n / block);
			config.blockDim = dim3(block);
			config.attrs = &attr;
			config.numAttrs = 1;
			CHECK(cudaLaunchKernelEx(&config, pass_on, (const unsigned *)a, out));
		}
		CHECK(cudaMemcpy(host.data(), a, sizeof *a * n, cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(sums.data(), out, sizeof *out * n / block, cudaMemcpyDeviceToHost));
		printf("step %d sum %016llx clusters %s\n", k, (unsigned long long)checksum(host.data(), sizeof *a * n),
			major < 9 ? "not here" : sums[1] ? "ok" : "WRONG");
	}
	return 0;
}
