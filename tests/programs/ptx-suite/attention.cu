/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention by tiles with a running maximum and sum, as FlashAttention does it: in f32, and in halves with products by wmma. Causal mask.
 */
#include "suite.h"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

#define LENGTH 64
#define DIM 32
#define TILE 16

/* A block does TILE queries; a thread one query and DIM / 8 columns of the output, so 8 threads share a query. */
__global__ void in_floats(const float *q, const float *k, const float *v, float *out)
{
	__shared__ float ks[TILE][DIM + 1], vs[TILE][DIM], score[TILE][TILE + 1];
	int row = threadIdx.x / 8, part = threadIdx.x % 8, query = blockIdx.x * TILE + row;
	float most = -INFINITY, sum = 0, acc[DIM / 8] = {};

	for (int first = 0; first <= blockIdx.x * TILE; first += TILE) {
		for (int i = threadIdx.x; i < TILE * DIM; i += blockDim.x) {
			ks[i / DIM][i % DIM] = k[first * DIM + i];
			vs[i / DIM][i % DIM] = v[first * DIM + i];
		}
		__syncthreads();
		float tile_most = most;
		for (int c = part; c < TILE; c += 8) {
			float s = 0;

			for (int d = 0; d < DIM; d++)
				s += q[query * DIM + d] * ks[c][d];
			score[row][c] = first + c <= query ? s * 0.17677669f : -INFINITY;
			tile_most = fmaxf(tile_most, score[row][c]);
		}
		for (int step = 4; step; step /= 2)
			tile_most = fmaxf(tile_most, __shfl_xor_sync(~0u, tile_most, step, 8));
		__syncwarp();
		float shrink = __expf(most - tile_most);
		sum *= shrink;
		for (int d = 0; d < DIM / 8; d++)
			acc[d] *= shrink;
		for (int c = 0; c < TILE; c++) {
			float p = __expf(score[row][c] - tile_most);

			sum += p;
			for (int d = 0; d < DIM / 8; d++)
				acc[d] += p * vs[c][part * (DIM / 8) + d];
		}
		most = tile_most;
		__syncthreads();
	}
	for (int d = 0; d < DIM / 8; d++)
		out[query * DIM + part * (DIM / 8) + d] = acc[d] / sum;
}

/* A warp does TILE queries. */
__global__ void in_halves(const __half *q, const __half *k, const __half *v, float *out)
{
	__shared__ float score[TILE][TILE], o[TILE][DIM], most[TILE], sum[TILE];
	__shared__ __half p[TILE][TILE];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> w;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
	int lane = threadIdx.x, query = blockIdx.x * TILE;

	for (int i = lane; i < TILE * DIM; i += 32)
		o[i / DIM][i % DIM] = 0;
	if (lane < TILE) {
		most[lane] = -INFINITY;
		sum[lane] = 0;
	}
	for (int first = 0; first <= query; first += TILE) {
		wmma::fill_fragment(c, 0.0f);
		for (int d = 0; d < DIM; d += 16) {
			wmma::load_matrix_sync(a, q + query * DIM + d, DIM);
			wmma::load_matrix_sync(b, k + first * DIM + d, DIM);
			wmma::mma_sync(c, a, b, c);
		}
		wmma::store_matrix_sync(&score[0][0], c, TILE, wmma::mem_row_major);
		__syncwarp();
		if (lane < TILE) {
			float m = most[lane];

			for (int i = 0; i < TILE; i++)
				if (first + i <= query + lane)
					m = fmaxf(m, score[lane][i] * 0.17677669f);
			float shrink = expf(most[lane] - m);
			sum[lane] *= shrink;
			for (int i = 0; i < TILE; i++) {
				p[lane][i] = __float2half(first + i <= query + lane ? expf(score[lane][i] * 0.17677669f - m) : 0);
				sum[lane] += __half2float(p[lane][i]);
			}
			for (int d = 0; d < DIM; d++)
				o[lane][d] *= shrink;
			most[lane] = m;
		}
		__syncwarp();
		wmma::load_matrix_sync(a, &p[0][0], TILE);
		for (int d = 0; d < DIM; d += 16) {
			wmma::load_matrix_sync(c, &o[0][d], DIM, wmma::mem_row_major);
			wmma::load_matrix_sync(w, v + first * DIM + d, DIM);
			wmma::mma_sync(c, a, w, c);
			wmma::store_matrix_sync(&o[0][d], c, DIM, wmma::mem_row_major);
		}
		__syncwarp();
	}
	for (int i = lane; i < TILE * DIM; i += 32)
		out[query * DIM + i] = o[i / DIM][i % DIM] / sum[i / DIM];
}

static std::vector<float> reference(const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v)
{
	std::vector<float> out(LENGTH * DIM);

	for (int r = 0; r < LENGTH; r++) {
		std::vector<double> p(r + 1);
		double sum = 0;

		for (int c = 0; c <= r; c++) {
			for (int d = 0; d < DIM; d++)
				p[c] += (double)q[r * DIM + d] * k[c * DIM + d];
			p[c] = std::exp(p[c] / std::sqrt((double)DIM));
			sum += p[c];
		}
		for (int d = 0; d < DIM; d++) {
			double o = 0;

			for (int c = 0; c <= r; c++)
				o += p[c] * v[c * DIM + d];
			out[r * DIM + d] = (float)(o / sum);
		}
	}
	return out;
}

int main()
{
	std::vector<float> m[3];
	std::vector<__half> h[3];
	unsigned seed = 17;
	float *out = device_zeros<float>(LENGTH * DIM);

	/* Eighths, so that halves hold them exactly. */
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < LENGTH * DIM; j++) {
			m[i].push_back((int)(next_random(&seed) % 32) / 8.0f - 2);
			h[i].push_back(__float2half(m[i].back()));
		}
	std::vector<float> want = reference(m[0], m[1], m[2]);
	in_floats<<<LENGTH / TILE, TILE * 8>>>(to_device(m[0]), to_device(m[1]), to_device(m[2]), out);
	compare("floats", to_host(out, LENGTH * DIM), want, 1e-4);
	in_halves<<<LENGTH / TILE, 32>>>(to_device(h[0]), to_device(h[1]), to_device(h[2]), out);
	compare("halves", to_host(out, LENGTH * DIM), want, 3e-3);
	return passed("attention");
}
