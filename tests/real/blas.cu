/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS: sgemm, a bfloat16 gemm through cublasGemmEx, a batched one, dot and scal, on two streams.
 */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <vector>
#include "real.h"

int main(int argc, char **argv)
{
	const int n = 256, batch = 4;
	std::vector<float> a(n * n), b(n * n), c(n * n);
	std::vector<__nv_bfloat16> h(n * n);
	float *da, *db, *dc, one = 1, zero = 0, dot;
	__nv_bfloat16 *dh;
	cudaStream_t s[2];
	cublasHandle_t blas;

	for (int i = 0; i < n * n; i++) {
		a[i] = float(i * 7 % 31) / 31 - 0.5f;
		b[i] = float(i * 5 % 29) / 29 - 0.5f;
		h[i] = __float2bfloat16(a[i]);
	}
	CHECK(cudaMalloc(&da, sizeof(float) * n * n));
	CHECK(cudaMalloc(&db, sizeof(float) * n * n));
	CHECK(cudaMalloc(&dc, sizeof(float) * n * n * batch));
	CHECK(cudaMalloc(&dh, sizeof *dh * n * n));
	CHECK(cudaMemcpy(da, a.data(), sizeof(float) * n * n, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b.data(), sizeof(float) * n * n, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(dh, h.data(), sizeof *dh * n * n, cudaMemcpyHostToDevice));
	for (auto &x : s)
		CHECK(cudaStreamCreate(&x));
	CHECK(cublasCreate(&blas));
	for (int k = 0; k < steps_of(argc, argv); k++) {
		step range(k);
		CHECK(cublasSetStream(blas, s[k % 2]));
		CHECK(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, da, n, db, n, &zero, dc, n));
		CHECK(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, dh, CUDA_R_16BF, n, dh, CUDA_R_16BF, n, &one,
			dc, CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
		CHECK(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, n, 0, db, n, 0, &zero, dc, n,
			(long long)n * n, batch));
		CHECK(cublasSdot(blas, n * n, dc, 1, da, 1, &dot));
		CHECK(cublasSscal(blas, n * n, &one, da, 1));
		CHECK(cudaMemcpyAsync(c.data(), dc, sizeof(float) * n * n, cudaMemcpyDeviceToHost, s[k % 2]));
		CHECK(cudaStreamSynchronize(s[k % 2]));
		printf("step %d dot %.6f sum %016llx\n", k, dot, (unsigned long long)checksum(c.data(), sizeof(float) * n * n));
	}
	CHECK(cublasDestroy(blas));
	return 0;
}
