/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture of three channels and a filter of 5 x 5: tiles with a halo in shared memory, the filter in constant memory, and the same filter
 * as rows and then columns.
 */
#include "suite.h"
#include <algorithm>

#define W 50
#define H 38
#define CHANNELS 3
#define TILE 16
#define R 2

__constant__ float filter[2 * R + 1];

__host__ __device__ static int clamped(int v, int end)
{
	return v < 0 ? 0 : v >= end ? end - 1 : v;
}

__global__ void square(const float *in, float *out)
{
	__shared__ float t[TILE + 2 * R][TILE + 2 * R];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

	in += blockIdx.z * W * H;
	out += blockIdx.z * W * H;
	for (int j = threadIdx.y; j < TILE + 2 * R; j += TILE)
		for (int i = threadIdx.x; i < TILE + 2 * R; i += TILE)
			t[j][i] = in[clamped(blockIdx.y * TILE + j - R, H) * W + clamped(blockIdx.x * TILE + i - R, W)];
	__syncthreads();
	if (x >= W || y >= H)
		return;
	float sum = 0;
	for (int j = 0; j <= 2 * R; j++)
		for (int i = 0; i <= 2 * R; i++)
			sum += filter[j] * filter[i] * t[threadIdx.y + j][threadIdx.x + i];
	out[y * W + x] = sum;
}

/* One direction. */
template <bool ROWS> __global__ void line(const float *in, float *out)
{
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	float sum = 0;

	if (x >= W || y >= H)
		return;
	in += blockIdx.z * W * H;
#pragma unroll
	for (int i = -R; i <= R; i++)
		sum += filter[i + R] * (ROWS ? in[y * W + clamped(x + i, W)] : in[clamped(y + i, H) * W + x]);
	out[blockIdx.z * W * H + y * W + x] = sum;
}

int main()
{
	const int n = W * H * CHANNELS;
	const float f[2 * R + 1] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};
	std::vector<float> in(n), want(n);
	unsigned seed = 40;

	/* Bytes times 256ths: every sum is exact. */
	for (float &v : in)
		v = next_random(&seed) % 256;
	for (int c = 0; c < CHANNELS; c++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++)
				for (int j = -R; j <= R; j++)
					for (int i = -R; i <= R; i++)
						want[(c * H + y) * W + x] += f[j + R] * f[i + R] *
							in[(c * H + clamped(y + j, H)) * W + clamped(x + i, W)];
	float *d = to_device(in), *e = device_zeros<float>(n), *t = device_zeros<float>(n);
	dim3 grid((W + TILE - 1) / TILE, (H + TILE - 1) / TILE, CHANNELS), block(TILE, TILE);
	CHECK(cudaMemcpyToSymbol(filter, f, sizeof(f)));
	square<<<grid, block>>>(d, e);
	compare("square", to_host(e, n), want);
	line<true><<<grid, block>>>(d, t);
	line<false><<<grid, block>>>(t, e);
	compare("lines", to_host(e, n), want);
	return passed("convolution");
}
