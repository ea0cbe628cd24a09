// SPDX-License-Identifier: Apache-2.0
//
// A small computation, and variants of it, each with one difference: what tsdb diff --numeric has to find, or must not
// call one. Usage: numbers [VARIANT]
#include "gpu.h"
#include <cuda_fp16.h>
#include <math.h>

enum { N = 256 };

static const char *variant;
static float *in, *weights, *mid, *sums, *out;
static float **table; // of pointers, in device memory
static double *wide;
static __half *halves;
static long long *times;
static float host_in[N], host_weights[N];
static cudaStream_t s, other;
static cudaEvent_t ready;

__device__ float offset = 0.5f;

static bool is(const char *name)
{
	return variant && !strcmp(variant, name);
}

// A float with ten bits behind the point, as TF32 has them.
__device__ float rounded(float x)
{
	return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
}

__global__ void product(float *c, const float *a, const float *b)
{
	c[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
}

__global__ void product_tf32(float *c, const float *a, const float *b)
{
	c[threadIdx.x] = rounded(a[threadIdx.x]) * rounded(b[threadIdx.x]);
}

// Each thread sums every blockDim.x-th element, thread 0 those sums: another block is another order.
__global__ void reduce(float *sum, const float *a)
{
	__shared__ float part[N];
	float x = 0;

	for (int i = threadIdx.x; i < N; i += blockDim.x)
		x += a[i];
	part[threadIdx.x] = x;
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int i = 1; i < blockDim.x; i++)
		x += part[i];
	*sum = x;
}

// The order of the sum is that in which threads come.
__global__ void reduce_atomic(float *sum, const float *a)
{
	if (!threadIdx.x)
		*sum = 0;
	__syncthreads();
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		atomicAdd(sum, a[i]);
}

// The rows have become longer, and what is behind the last element is summed, too.
__global__ void reduce_padded(float *sum, const float *a)
{
	float x = 0;

	for (int i = 0; i < N + 8 && !threadIdx.x; i++)
		x += a[i];
	if (!threadIdx.x)
		*sum = x;
}

__global__ void divide(float *c, const float *a, const float *sum)
{
	c[threadIdx.x] = a[threadIdx.x] / *sum;
}

__global__ void shift(float *c, float by)
{
	c[threadIdx.x] += by + offset;
}

__global__ void divide_shift(float *c, const float *a, const float *sum, float by)
{
	c[threadIdx.x] = a[threadIdx.x] / *sum + (by + offset);
}

__global__ void noise(float *c, unsigned seed)
{
	c[threadIdx.x] += (float)((threadIdx.x * 1664525u + seed * 22695477u) >> 16) * 1e-9f;
}

// The logistic map: two starts next to each other are far apart after some thirty steps.
__global__ void chaos(float *c, const float *a)
{
	float x = a[threadIdx.x] / 4;

	for (int i = 0; i < 60; i++)
		x = 3.99f * x * (1 - x);
	c[threadIdx.x] = x;
}

// The same by another order of operations.
__global__ void chaos_other(float *c, const float *a)
{
	float x = a[threadIdx.x] / 4;

	for (int i = 0; i < 60; i++)
		x = 3.99f * (x - x * x);
	c[threadIdx.x] = x;
}

// Reads through pointers that lie in memory.
__global__ void gather(double *c, float *const *from)
{
	c[threadIdx.x] = (double)from[0][threadIdx.x] + (double)from[1][threadIdx.x];
}

__global__ void narrow(__half *c, const double *a)
{
	c[threadIdx.x] = __double2half(a[threadIdx.x]);
}

__global__ void stamp(long long *t)
{
#ifdef __HIP__
	t[threadIdx.x] = clock64();
#else
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t[threadIdx.x]));
#endif
}

__global__ void since(float *c, const long long *t)
{
	c[threadIdx.x] = (float)(t[threadIdx.x] & 1023);
}

static void allocate(void)
{
	void *p;

	if (is("ids"))
		CHECK(cudaMalloc(&p, 3 << 20));
	if (is("order")) { // the same sizes from the same place, the other way round
		CHECK(cudaMalloc(&out, sizeof host_in));
		CHECK(cudaMalloc(&mid, sizeof host_in));
		CHECK(cudaMalloc(&weights, sizeof host_in));
		CHECK(cudaMalloc(&in, sizeof host_in));
	} else {
		CHECK(cudaMalloc(&in, sizeof host_in));
		CHECK(cudaMalloc(&weights, sizeof host_in));
		CHECK(cudaMalloc(&mid, sizeof host_in + (is("padded") ? 32 : 0)));
		CHECK(cudaMalloc(&out, sizeof host_in + (is("padding") ? 4096 : 0)));
	}
	CHECK(cudaMalloc(&sums, sizeof *sums));
	CHECK(cudaMalloc(&table, 2 * sizeof *table));
	CHECK(cudaMalloc(&wide, N * sizeof *wide));
	CHECK(cudaMalloc(&halves, N * sizeof *halves));
	CHECK(cudaMalloc(&times, N * sizeof *times));
}

static void upload(void)
{
	float *const pointers[] = {mid, is("pointer") ? in : out};

	for (int i = 0; i < N; i++) {
		host_in[i] = 1 + (float)(i * 37 % 101) / 64 + (float)i / 4096 / 7;
		host_weights[i] = 2 - (float)(i * 53 % 97) / 128;
	}
	if (is("data")) // one ULP
		host_weights[77] = nextafterf(host_weights[77], 3);
	CHECK(cudaMemcpy(in, host_in, sizeof host_in, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(weights, host_weights, sizeof host_in, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(table, pointers, sizeof pointers, cudaMemcpyHostToDevice));
	CHECK(cudaMemset(out, is("fill") ? 1 : 0, sizeof host_in));
	if (is("padded"))
		CHECK(cudaMemset(mid + N, 1, 32));
	CHECK(cudaMemset(times, 0, N * sizeof *times));
	if (is("global")) {
		const float f = 0.75f;

		CHECK(cudaMemcpyToSymbol(offset, &f, sizeof f));
	}
}

static void finish(void)
{
	const float by = is("nan") ? NAN : 0.25f;

	if (is("fused")) {
		divide_shift<<<1, N, 0, s>>>(out, mid, sums, by);
		return;
	}
	divide<<<1, N, 0, s>>>(out, mid, sums);
	if (!is("removed"))
		shift<<<1, N, 0, s>>>(out, by);
	if (is("extra"))
		shift<<<1, N, 0, s>>>(out, by);
	if (is("extra-copy"))
		CHECK(cudaMemcpyAsync(out, in, 16, cudaMemcpyDeviceToDevice, s));
}

static void compute(void)
{
	if (is("tf32") || is("chaos-tf32"))
		product_tf32<<<1, N, 0, s>>>(mid, in, weights);
	else if (is("swapped")) // the product is the same, what it reads is not
		product<<<1, N, 0, s>>>(mid, weights, in);
	else if (is("twice"))
		product<<<1, N, 0, s>>>(mid, in, in);
	else
		product<<<1, N, 0, s>>>(mid, in, weights);
	if (is("chaos") || is("chaos-tf32"))
		chaos<<<1, N, 0, s>>>(mid, in);
	if (is("chaos-other"))
		chaos_other<<<1, N, 0, s>>>(mid, in);
	CHECK(cudaEventRecord(ready, s));
	if (!is("no-wait"))
		CHECK(cudaStreamWaitEvent(other, ready, 0));
	if (is("atomics"))
		reduce_atomic<<<1, 128, 0, other>>>(sums, mid);
	else if (is("padded"))
		reduce_padded<<<1, 128, 0, other>>>(sums, mid);
	else
		reduce<<<1, is("split") ? 32 : 128, 0, is("stream") ? s : other>>>(sums, mid);
	CHECK(cudaStreamSynchronize(other));
	finish();
	noise<<<1, N, 0, s>>>(out, is("seed") ? 8 : 7);
	gather<<<1, N, 0, s>>>(wide, table);
	narrow<<<1, N, 0, s>>>(halves, wide);
	if (is("clock")) {
		stamp<<<1, N, 0, s>>>(times);
		since<<<1, N, 0, s>>>(mid, times);
	}
}

int main(int argc, char **argv)
{
	variant = argc > 1 ? argv[1] : NULL;
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
	other_layout();
	allocate();
	upload();
	compute();
	CHECK(cudaMemcpyAsync(host_in, out, sizeof host_in, cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamSynchronize(s));
	return 0;
}
