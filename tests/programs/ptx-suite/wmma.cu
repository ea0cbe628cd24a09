/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products with nvcuda::wmma: halves added in f32 through tiles in shared memory, and bytes added in integers. The numbers are such
 * that every sum is exact, so the results are too.
 */
#include "suite.h"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

#define M 64
#define N 64
#define K 96

/* A block of four warps does 32 x 32. */
__global__ void halves(const __half *a, const __half *b, float *c)
{
	__shared__ __align__(32) __half as[32][16 + 8], bs[16][32 + 8];
	int warp = threadIdx.x / 32, row = blockIdx.y * 32, col = blockIdx.x * 32;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.5f);
	for (int k = 0; k < K; k += 16) {
		for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
			as[i / 16][i % 16] = a[(row + i / 16) * K + k + i % 16];
			bs[i / 32][i % 32] = b[(k + i / 32) * N + col + i % 32];
		}
		__syncthreads();
		wmma::load_matrix_sync(fa, &as[warp / 2 * 16][0], 24);
		wmma::load_matrix_sync(fb, &bs[0][warp % 2 * 16], 40);
		wmma::mma_sync(fc, fa, fb, fc);
		__syncthreads();
	}
	for (int i = 0; i < fc.num_elements; i++)
		fc.x[i] *= 2;
	wmma::store_matrix_sync(c + (row + warp / 2 * 16) * N + col + warp % 2 * 16, fc, N, wmma::mem_row_major);
}

__global__ void bytes(const signed char *a, const signed char *b, int *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;

	wmma::fill_fragment(fc, 0);
	for (int k = 0; k < K; k += 16) {
		wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * K + k, K);
		wmma::load_matrix_sync(fb, b + blockIdx.x * 16 * K + k, K);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + blockIdx.y * 16 * N + blockIdx.x * 16, fc, N, wmma::mem_row_major);
}

int main()
{
	std::vector<__half> a, b;
	std::vector<signed char> p(M * K), q(N * K);
	std::vector<float> want(M * N, 1);
	std::vector<int> want_bytes(M * N);
	unsigned seed = 2;

	for (int i = 0; i < M * K; i++)
		a.push_back(__float2half((int)(next_random(&seed) % 64) / 8.0f - 4));
	for (int i = 0; i < K * N; i++)
		b.push_back(__float2half((int)(next_random(&seed) % 64) / 8.0f - 4));
	for (signed char &v : p)
		v = (signed char)next_random(&seed);
	for (signed char &v : q)
		v = (signed char)next_random(&seed);
	for (int r = 0; r < M; r++)
		for (int c = 0; c < N; c++)
			for (int k = 0; k < K; k++) {
				want[r * N + c] += 2 * __half2float(a[r * K + k]) * __half2float(b[k * N + c]);
				want_bytes[r * N + c] += p[r * K + k] * q[c * K + k];
			}
	float *f = device_zeros<float>(M * N);
	int *i = device_zeros<int>(M * N);
	halves<<<dim3(N / 32, M / 32), 128>>>(to_device(a), to_device(b), f);
	compare("halves", to_host(f, M * N), want);
	bytes<<<dim3(N / 16, M / 16), 32>>>(to_device(p), to_device(q), i);
	compare("bytes", to_host(i, M * N), want_bytes);
	return passed("wmma");
}
