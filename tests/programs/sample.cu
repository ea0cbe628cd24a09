/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of the Python module's sample (tests/e2e/cases/pysample.py): from some command on nothing but launches of matmul, on the
 * two streams in turn, so that #35 and #41 are launches, #41 on stream 2.
 */
#include "gpu.h"

__global__ void matmul(float *out, const float *in, float lr)
{
	out[threadIdx.x] = in[threadIdx.x] * lr + out[threadIdx.x] + 1;
}

int main(void)
{
	float *a, *b;
	cudaStream_t s[2];

	CHECK(cudaStreamCreate(&s[0]));
	CHECK(cudaStreamCreate(&s[1]));
	CHECK(cudaMalloc(&a, 64 * sizeof *a));
	CHECK(cudaMalloc(&b, 64 * sizeof *b));
	CHECK(cudaMemset(a, 0, 64 * sizeof *a));
	CHECK(cudaMemset(b, 0, 64 * sizeof *b));
	for (int i = 0; i < 40; i++)
		matmul<<<1, 64, 0, s[i % 2]>>>(i % 2 ? a : b, a, 0.5f + i);
	CHECK(cudaDeviceSynchronize());
	return 0;
}
