/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiled matrix product through shared memory, three times over: C = A B, D = C B, E = D B.
 *   matmul [N]     N x N matrices, a multiple of 16, default 64
 */
#include "check.h"

#define TILE 16

__global__ void matmul(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		ta[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum = fmaf(ta[threadIdx.y][k], tb[k][threadIdx.x], sum);
		__syncthreads();
	}
	c[row * n + col] = sum;
}

static void reference(float *c, const float *a, const float *b, int n)
{
	for (int row = 0; row < n; row++)
		for (int col = 0; col < n; col++) {
			float sum = 0;
			for (int k = 0; k < n; k++)
				sum = fmaf(a[row * n + k], b[k * n + col], sum);
			c[row * n + col] = sum;
		}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 64;
	const size_t bytes = (size_t)n * n * sizeof(float);

	if (n < TILE || n % TILE || n > 4096) {
		fprintf(stderr, "usage: matmul [N], N a multiple of %d up to 4096\n", TILE);
		return 1;
	}
	float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *want = (float *)malloc(bytes), *got = (float *)malloc(bytes);
	float *da, *db, *dc;
	dim3 grid(n / TILE, n / TILE), block(TILE, TILE);

	for (int i = 0; i < n * n; i++) {
		a[i] = check_value(i);
		b[i] = check_value(i + 777);
	}
	CHECK(cudaMalloc(&da, bytes));
	CHECK(cudaMalloc(&db, bytes));
	CHECK(cudaMalloc(&dc, bytes));
	CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
	for (int round = 0; round < 3; round++) {
		matmul<<<grid, block>>>(dc, da, db, n);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(da, dc, bytes, cudaMemcpyDeviceToDevice));
	}
	CHECK(cudaMemcpy(got, da, bytes, cudaMemcpyDeviceToHost));
	for (int round = 0; round < 3; round++) {
		reference(want, a, b, n);
		float *t = a;
		a = want;
		want = t;
	}
	for (int i = 0; i < n * n; i++)
		if (got[i] != a[i]) {
			printf("matmul: WRONG at %d,%d: %g, not %g\n", i / n, i % n, got[i], a[i]);
			return 1;
		}
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));
	free(a);
	free(b);
	free(want);
	free(got);
	printf("matmul: %d x %d ok\n", n, n);
	return 0;
}
