/* SPDX-License-Identifier: Apache-2.0
 *
 * Races inside kernels, each with a twin that has none: kernel_races NAME [fixed]; without arguments, the names. It prints a
 * hash of what the kernel wrote, which a race may change.
 */
#include "gpu.h"

#define N 256
#define BLOCKS 8

template <bool FIXED> __global__ void reduction(const int *in, int *out)
{
	__shared__ int s[N];
	int t = threadIdx.x;

	s[t] = in[blockIdx.x * N + t];
	__syncthreads();
	for (int k = N / 2; k; k /= 2) {
		if (t < k)
			s[t] += s[t + k];
		if (FIXED)
			__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

template <bool FIXED> __global__ void warp_swap(const int *in, int *out)
{
	__shared__ int s[N];
	int t = threadIdx.x;

	s[t] = in[blockIdx.x * N + t];
	if (FIXED)
		__syncwarp();
	out[blockIdx.x * N + t] = s[t ^ 1];
}

__device__ volatile int flag;
__device__ int message;

/* Block 0 sends, block 1 receives. */
template <bool FIXED> __global__ void flagged(const int *in, int *out)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		message = in[7];
		if (FIXED)
			__threadfence();
		flag = 1;
	} else if (blockIdx.x == 1) {
		while (!flag)
			;
		__threadfence();
		out[0] = message;
	}
}

template <bool FIXED> __global__ void increment(const int *in, int *out)
{
	if (FIXED)
		atomicAdd(&out[in[threadIdx.x] & 1], 1);
	else
		out[in[threadIdx.x] & 1]++;
}

/* Each block smooths its part; the racy one writes one element of the next. */
template <bool FIXED> __global__ void overlap(const int *in, int *out)
{
	int i = blockIdx.x * N + threadIdx.x;

	out[i] = in[i];
	if (threadIdx.x == N - 1 && blockIdx.x + 1 < gridDim.x)
		out[FIXED ? i : i + 1] = -1;
}

__device__ unsigned tickets;

/* The last block to finish sums what all have written. */
template <bool FIXED> __global__ void last_block(const int *in, int *out)
{
	__shared__ bool last;

	if (threadIdx.x == 0) {
		out[1 + blockIdx.x] = in[blockIdx.x];
		if (FIXED)
			__threadfence();
		last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		__threadfence();
		for (unsigned k = 0; k < gridDim.x; k++)
			out[0] += out[1 + k];
	}
}

/* No race: the sum depends on the order of the additions, in the racy one. */
template <bool FIXED> __global__ void float_sum(const int *in, int *out)
{
	float x = in[threadIdx.x] % 7 ? in[threadIdx.x] * 1.2345f : 16777216.0f;

	if (FIXED)
		atomicAdd(&out[0], in[threadIdx.x]);
	else
		atomicAdd((float *)&out[0], x);
}

typedef void kernel(const int *, int *);
static const struct {
	const char *name;
	kernel *k[2];
} kernels[] = {
#define BOTH(name) {#name, {name<false>, name<true>}}
	BOTH(reduction), BOTH(warp_swap), BOTH(flagged), BOTH(increment), BOTH(overlap), BOTH(last_block), BOTH(float_sum),
};

int main(int argc, char **argv)
{
	static int in[BLOCKS * N], out[BLOCKS * N];
	int *din, *dout;
	bool fixed = argc > 2 && !strcmp(argv[2], "fixed");
	unsigned h = 0;

	for (int k = 0; k < BLOCKS * N; k++)
		in[k] = k * 37 % 1001;
	for (auto &k : kernels) {
		if (argc < 2)
			puts(k.name);
		if (argc < 2 || strcmp(k.name, argv[1]))
			continue;
		CHECK(cudaMalloc(&din, sizeof(in)));
		CHECK(cudaMalloc(&dout, sizeof(out)));
		CHECK(cudaMemset(dout, 0, sizeof(out)));
		CHECK(cudaMemcpy(din, in, sizeof(in), cudaMemcpyHostToDevice));
		k.k[fixed]<<<BLOCKS, N>>>(din, dout);
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost));
		for (int v : out)
			h = h * 31 + v;
		printf("%s %08x\n", argv[1], h);
		return 0;
	}
	return argc >= 2;
}
