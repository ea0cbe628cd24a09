/* SPDX-License-Identifier: Apache-2.0
 *
 * What came with compute capabilities 8.0 and 9.0, compiled for 9.0: pipelines of asynchronous copies, barriers in shared memory, bulk copies, clusters with distributed
 * shared memory, atomics on halves and vectors.
 */
#include "suite.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
#define THREADS 128
#define STEPS 9

/* Two stages: a block sums its tiles while the next one is on its way. */
__global__ void pipelined(const float4 *in, float4 *out, int steps)
{
	__shared__ float4 tile[2][THREADS];
	auto pipe = cuda::make_pipeline();
	float4 sum = make_float4(0, 0, 0, 0);
	int t = threadIdx.x;

	for (int fetch = 0, use = 0; use < steps; use++) {
		for (; fetch < steps && fetch < use + 2; fetch++) {
			pipe.producer_acquire();
			cuda::memcpy_async(&tile[fetch % 2][t], &in[fetch * THREADS + t], cuda::aligned_size_t<16>(16), pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		float4 v = tile[use % 2][t];

		sum.x += v.x;
		sum.y += v.y;
		sum.z += v.z;
		sum.w += v.w;
		pipe.consumer_release();
	}
	out[t] = sum;
}

/* Half of the warps produce through a barrier of the block, the others consume. */
__global__ void produce_and_consume(const int *in, int *out, int rounds)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
	__shared__ int buffer[THREADS / 2];
	int t = threadIdx.x % (THREADS / 2);
	bool producer = threadIdx.x >= THREADS / 2;

	if (threadIdx.x == 0) {
		init(&full, THREADS);
		init(&empty, THREADS);
	}
	__syncthreads();
	int sum = 0;

	for (int r = 0; r < rounds; r++) {
		if (producer) {
			buffer[t] = in[r * (THREADS / 2) + t];
			(void)full.arrive();
			empty.arrive_and_wait();
		} else {
			full.arrive_and_wait();
			sum += buffer[(t + r) % (THREADS / 2)];
			(void)empty.arrive();
		}
		__syncwarp();
	}
	if (!producer)
		out[t] = sum;
}

__global__ void group_copy(const int *in, int *out)
{
	extern __shared__ int dynamic[];
	auto block = cg::this_thread_block();

	cg::memcpy_async(block, dynamic, in + blockIdx.x * THREADS, sizeof(int) * THREADS);
	cg::wait(block);
	out[blockIdx.x * THREADS + threadIdx.x] = dynamic[THREADS - 1 - threadIdx.x];
}

/* A bulk copy in, a bulk copy and a bulk reduction out. */
__global__ void bulk(const int *in, int *out, int *sums)
{
	__shared__ alignas(16) int data[THREADS];
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	cuda::barrier<cuda::thread_scope_block>::arrival_token token;

	if (threadIdx.x == 0) {
		init(&bar, blockDim.x);
		cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		cuda::device::memcpy_async_tx(data, in + blockIdx.x * THREADS, cuda::aligned_size_t<16>(sizeof(data)), bar);
		token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(data));
	} else {
		token = bar.arrive();
	}
	bar.wait(std::move(token));
	data[threadIdx.x] += (int)threadIdx.x;
	cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
	__syncthreads();
	if (threadIdx.x == 0) {
		cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * THREADS, data, sizeof(data));
		cuda::ptx::cp_reduce_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, cuda::ptx::op_add, sums, data, sizeof(data));
		cuda::ptx::cp_async_bulk_commit_group();
		cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());
	}
}

/* A histogram whose bins are spread over the shared memory of a cluster's blocks. */
__global__ void spread(const unsigned *in, unsigned n, unsigned *bins, unsigned per_block)
{
	extern __shared__ unsigned own[];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned rank = cluster.block_rank(), size = cluster.num_blocks(), first = blockIdx.x / size * size;

	for (unsigned k = threadIdx.x; k < per_block; k += blockDim.x)
		own[k] = 0;
	cluster.sync();
	for (unsigned k = rank * blockDim.x + threadIdx.x; k < n; k += size * blockDim.x) {
		unsigned bin = in[first / size * n + k] % (per_block * size);

		atomicAdd(cluster.map_shared_rank(own, bin / per_block) + bin % per_block, 1);
	}
	cluster.sync();
	for (unsigned k = threadIdx.x; k < per_block; k += blockDim.x)
		bins[(blockIdx.x / size * size + rank) * per_block + k] = own[k];
}

__global__ void __cluster_dims__(2, 2, 1) shape(int *out)
{
	cg::cluster_group c = cg::this_cluster();
	dim3 b = c.block_index(), n = c.dim_blocks();

	out[blockIdx.y * gridDim.x + blockIdx.x] = (int)(c.block_rank() * 1000 + b.x * 100 + b.y * 10 + n.x * n.y);
}

__global__ void atomics(__half *h, __nv_bfloat162 *b, float4 *f, float *f2)
{
	float t = (float)(threadIdx.x % 4);

	atomicAdd(h, __float2half(t));
	atomicAdd(b, __floats2bfloat162_rn(1, t));
	atomicAdd(f, make_float4(t, 1, 2 * t, -1));
	atomicAdd((float2 *)f2, make_float2(0.5f, t));
}

static void check_copies()
{
	std::vector<float> in(STEPS * THREADS * 4), want(THREADS * 4);
	std::vector<int> ints(1024), out(THREADS / 2), reversed(1024), bulks(1024), sums(THREADS);
	unsigned seed = 5;

	for (size_t i = 0; i < in.size(); i++) {
		in[i] = (float)(next_random(&seed) % 1000);
		want[i % want.size()] += in[i];
	}
	float *d = to_device(in), *o = device_zeros<float>(want.size());
	pipelined<<<1, THREADS>>>((float4 *)d, (float4 *)o, STEPS);
	compare("pipelined", to_host(o, want.size()), want);

	for (size_t i = 0; i < ints.size(); i++)
		ints[i] = (int)(next_random(&seed) % 10000);
	int rounds = 16, half = THREADS / 2;
	for (int r = 0; r < rounds; r++)
		for (int t = 0; t < half; t++)
			out[t] += ints[r * half + (t + r) % half];
	int *i = to_device(ints), *p = device_zeros<int>(1024);
	produce_and_consume<<<1, THREADS>>>(i, p, rounds);
	compare("produced", to_host(p, half), out);

	for (int k = 0; k < 1024; k++) {
		reversed[k] = ints[k / THREADS * THREADS + THREADS - 1 - k % THREADS];
		bulks[k] = ints[k] + k % THREADS;
		sums[k % THREADS] += bulks[k];
	}
	group_copy<<<1024 / THREADS, THREADS, THREADS * sizeof(int)>>>(i, p);
	compare("group copy", to_host(p, 1024), reversed);
	int *s = device_zeros<int>(THREADS);
	bulk<<<1024 / THREADS, THREADS>>>(i, p, s);
	compare("bulk copy", to_host(p, 1024), bulks);
	compare("bulk reduction", to_host(s, THREADS), sums);
}

static void check_clusters()
{
	const unsigned clusters = 3, size = 4, per_block = 64, n = 5000;
	std::vector<unsigned> in(clusters * n), want(clusters * size * per_block);
	std::vector<int> shapes(6 * 4);
	unsigned seed = 11;

	for (unsigned k = 0; k < in.size(); k++) {
		in[k] = next_random(&seed);
		want[k / n * size * per_block + in[k] % (per_block * size)]++;
	}
	unsigned *d = to_device(in), *o = device_zeros<unsigned>(want.size());
	cudaLaunchAttribute attr = {};
	cudaLaunchConfig_t config = {};
	int active = 0;

	attr.id = cudaLaunchAttributeClusterDimension;
	attr.val.clusterDim.x = size;
	attr.val.clusterDim.y = attr.val.clusterDim.z = 1;
	config.gridDim = dim3(clusters * size);
	config.blockDim = dim3(THREADS);
	config.dynamicSmemBytes = per_block * sizeof(unsigned);
	config.attrs = &attr;
	config.numAttrs = 1;
	CHECK(cudaOccupancyMaxActiveClusters(&active, spread, &config));
	if (active < 1) {
		printf("no cluster fits\n");
		exit(1);
	}
	CHECK(cudaLaunchKernelEx(&config, spread, (const unsigned *)d, n, o, per_block));
	compare("histogram of clusters", to_host(o, want.size()), want);

	for (int y = 0; y < 4; y++)
		for (int x = 0; x < 6; x++)
			shapes[y * 6 + x] = (x % 2 + y % 2 * 2) * 1000 + x % 2 * 100 + y % 2 * 10 + 4;
	int *sd = device_zeros<int>(24);
	shape<<<dim3(6, 4), 32>>>(sd);
	compare("shape", to_host(sd, 24), shapes);
	config.gridDim = dim3(clusters * size + 1);
	if (cudaLaunchKernelEx(&config, spread, (const unsigned *)d, n, o, per_block) == cudaSuccess) {
		printf("a grid that its clusters do not divide was launched\n");
		exit(1);
	}
	cudaGetLastError();
}

static void check_atomics()
{
	unsigned char *m = device_zeros<unsigned char>(64);

	atomics<<<2, 128>>>((__half *)m, (__nv_bfloat162 *)(m + 4), (float4 *)(m + 16), (float *)(m + 32));
	std::vector<unsigned char> raw = to_host(m, 64);
	__half h;
	__nv_bfloat162 b;
	std::vector<float> got(6), want = {384, 256, 768, -256, 128, 384};

	memcpy(&h, &raw[0], 2);
	memcpy(&b, &raw[4], 4);
	memcpy(got.data(), &raw[16], 24);
	compare("vectors", got, want);
	compare("halves", std::vector<float>{__half2float(h), __bfloat162float(b.x)}, std::vector<float>{384, 256});
}

int main()
{
	check_copies();
	check_clusters();
	check_atomics();
	return passed("async");
}
