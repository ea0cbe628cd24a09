/* SPDX-License-Identifier: Apache-2.0
 *
 * Layer normalisation of rows: mean and variance by Welford's method, merged over lanes by shuffles and over warps in
 * shared memory; rows in f32 and in halves read as pairs.
 */
#include "suite.h"
#include <cuda_fp16.h>

#define ROWS 24
#define COLS 384
#define THREADS 96

struct moments {
	float n, mean, m2;
};

__device__ static struct moments merge(struct moments a, struct moments b)
{
	float n = a.n + b.n, d = b.mean - a.mean;

	if (n == 0)
		return a;
	return {n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n};
}

__device__ static struct moments of_block(struct moments m)
{
	__shared__ struct moments of_warp[THREADS / 32];

	for (int step = 16; step; step /= 2) {
		struct moments o = {__shfl_xor_sync(~0u, m.n, step), __shfl_xor_sync(~0u, m.mean, step), __shfl_xor_sync(~0u, m.m2, step)};

		m = merge(m, o);
	}
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = m;
	__syncthreads();
	m = of_warp[0];
	for (int w = 1; w < THREADS / 32; w++)
		m = merge(m, of_warp[w]);
	return m;
}

__global__ void forwards(const float *x, const float *gain, const float *shift, float *y)
{
	struct moments m = {0, 0, 0};

	x += blockIdx.x * COLS;
	y += blockIdx.x * COLS;
	for (int i = threadIdx.x; i < COLS; i += THREADS)
		m = merge(m, {1, x[i], 0});
	m = of_block(m);
	float scale = rsqrtf(m.m2 / COLS + 1e-5f);
	for (int i = threadIdx.x; i < COLS; i += THREADS)
		y[i] = (x[i] - m.mean) * scale * gain[i] + shift[i];
}

__global__ void halves(const __half2 *x, __half2 *y)
{
	struct moments m = {0, 0, 0};

	x += blockIdx.x * COLS / 2;
	y += blockIdx.x * COLS / 2;
	for (int i = threadIdx.x; i < COLS / 2; i += THREADS) {
		float2 v = __half22float2(x[i]);

		m = merge(merge(m, {1, v.x, 0}), {1, v.y, 0});
	}
	m = of_block(m);
	float scale = rsqrtf(m.m2 / COLS + 1e-5f);
	for (int i = threadIdx.x; i < COLS / 2; i += THREADS) {
		float2 v = __half22float2(x[i]);

		y[i] = __floats2half2_rn((v.x - m.mean) * scale, (v.y - m.mean) * scale);
	}
}

int main()
{
	std::vector<float> x(ROWS * COLS), gain(COLS), shift(COLS), want(x.size()), got_halves, want_halves;
	std::vector<__half> h(x.size());
	unsigned seed = 9;

	for (float &v : x)
		v = next_random(&seed) % 1000 / 100.0f + 20;
	for (int i = 0; i < COLS; i++) {
		gain[i] = 1 + i % 7 / 8.0f;
		shift[i] = i % 5 - 2;
	}
	for (size_t i = 0; i < x.size(); i++)
		h[i] = __float2half(x[i]);
	for (int r = 0; r < ROWS; r++)
		for (int half = 0; half < 2; half++) {
			double mean = 0, var = 0;
			auto at = [&](int i) { return half ? (double)__half2float(h[r * COLS + i]) : (double)x[r * COLS + i]; };

			for (int i = 0; i < COLS; i++)
				mean += at(i) / COLS;
			for (int i = 0; i < COLS; i++)
				var += (at(i) - mean) * (at(i) - mean) / COLS;
			for (int i = 0; i < COLS; i++) {
				double y = (at(i) - mean) / std::sqrt(var + 1e-5);

				if (half)
					want_halves.push_back((float)y);
				else
					want[r * COLS + i] = (float)(y * gain[i] + shift[i]);
			}
		}
	float *y = device_zeros<float>(x.size());
	__half *z = device_zeros<__half>(x.size());
	forwards<<<ROWS, THREADS>>>(to_device(x), to_device(gain), to_device(shift), y);
	compare("layernorm", to_host(y, x.size()), want, 1e-4);
	halves<<<ROWS, THREADS>>>((__half2 *)to_device(h), (__half2 *)z);
	for (__half v : to_host(z, x.size()))
		got_halves.push_back(__half2float(v));
	compare("halves", got_halves, want_halves, 2e-3);
	return passed("layernorm");
}
