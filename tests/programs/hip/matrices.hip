// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices by tiles in LDS, of small whole numbers: exact in any order.
#include "hip_check.h"

enum { N = 96, TILE = 16 };

__global__ void product(float *c, const float *a, const float *b)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
	float sum = 0;

	for (int t = 0; t < N; t += TILE) {
		ta[y][x] = a[row * N + t + x];
		tb[y][x] = b[(t + y) * N + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += ta[y][k] * tb[k][x];
		__syncthreads();
	}
	c[row * N + col] = sum;
}

int main()
{
	static float a[N * N], b[N * N], c[N * N];
	float *da, *db, *dc;

	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(i % 7);
		b[i] = (float)(i % 11 - 5);
	}
	HIP(hipMalloc(&da, sizeof(a)));
	HIP(hipMalloc(&db, sizeof(b)));
	HIP(hipMalloc(&dc, sizeof(c)));
	HIP(hipMemcpy(da, a, sizeof(a), hipMemcpyHostToDevice));
	HIP(hipMemcpy(db, b, sizeof(b), hipMemcpyHostToDevice));
	product<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(dc, da, db);
	HIP(hipGetLastError());
	HIP(hipMemcpy(c, dc, sizeof(c), hipMemcpyDeviceToHost));
	for (int y = 0; y < N; y++)
		for (int x = 0; x < N; x++) {
			float want = 0;

			for (int k = 0; k < N; k++)
				want += a[y * N + k] * b[k * N + x];
			SAME(c[y * N + x] == want, "an element");
		}
	printf("the product is right\n");
}
