/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest whole program: two copies in, one launch, one copy out, checked.
 */
#include "check.h"

__global__ void vecadd(float *c, const float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main(void)
{
	const int n = 10000;
	const size_t bytes = n * sizeof(float);
	float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes);
	float *da, *db, *dc;

	for (int i = 0; i < n; i++) {
		a[i] = check_value(i);
		b[i] = check_value(i + n);
	}
	CHECK(cudaMalloc(&da, bytes));
	CHECK(cudaMalloc(&db, bytes));
	CHECK(cudaMalloc(&dc, bytes));
	CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
	vecadd<<<(n + 255) / 256, 256>>>(dc, da, db, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		if (c[i] != a[i] + b[i]) {
			printf("vecadd: WRONG at %d: %g, not %g\n", i, c[i], a[i] + b[i]);
			return 1;
		}
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));
	free(a);
	free(b);
	free(c);
	printf("vecadd: %d sums ok\n", n);
	return 0;
}
