/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiled matrix product with shared memory given at launch, each thread making four results; odd sizes; also the launch through
 * cudaLaunchKernel with an array of pointers.
 */
#include "suite.h"

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
	extern __shared__ float tiles[];
	float *ta = tiles, *tb = tiles + TILE * TILE;
	int x = blockIdx.x * TILE + threadIdx.x, y0 = blockIdx.y * TILE + threadIdx.y * 4;
	float sum[4] = {0, 0, 0, 0};

	for (int first = 0; first < k; first += TILE) {
		for (int r = 0; r < 4; r++) {
			int ly = threadIdx.y * 4 + r;

			ta[ly * TILE + threadIdx.x] =
				y0 + r < m && first + threadIdx.x < k ? a[(y0 + r) * k + first + threadIdx.x] : 0;
			tb[ly * TILE + threadIdx.x] = first + ly < k && x < n ? b[(first + ly) * n + x] : 0;
		}
		__syncthreads();
		for (int i = 0; i < TILE; i++) {
			for (int r = 0; r < 4; r++)
				sum[r] += ta[(threadIdx.y * 4 + r) * TILE + i] * tb[i * TILE + threadIdx.x];
		}
		__syncthreads();
	}
	for (int r = 0; r < 4; r++) {
		if (y0 + r < m && x < n)
			c[(y0 + r) * n + x] = sum[r];
	}
}

int main()
{
	int m = 45, n = 37, k = 50;
	std::vector<float> a(m * k), b(k * n), want(m * n);
	unsigned seed = 19;

	for (float &v : a)
		v = (float)(next_random(&seed) % 64) / 8;
	for (float &v : b)
		v = (float)(next_random(&seed) % 64) / 8 - 4;
	for (int y = 0; y < m; y++) {
		for (int x = 0; x < n; x++) {
			for (int i = 0; i < k; i++)
				want[y * n + x] += a[y * k + i] * b[i * n + x]; /* exact: few bits */
		}
	}
	float *d_a = to_device(a), *d_b = to_device(b), *d_c = device_zeros<float>(m * n);
	dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), block(TILE, TILE / 4);
	size_t shared = 2 * TILE * TILE * sizeof(float);
	matmul<<<grid, block, shared>>>(d_a, d_b, d_c, m, n, k);
	compare("matmul", to_host(d_c, m * n), want);
	CHECK(cudaMemset(d_c, 0xff, m * n * sizeof(float)));
	void *args[] = {&d_a, &d_b, &d_c, &m, &n, &k};
	CHECK(cudaLaunchKernel((const void *)matmul, grid, block, args, shared, 0));
	compare("matmul by cudaLaunchKernel", to_host(d_c, m * n), want);
	return passed("matmul");
}
