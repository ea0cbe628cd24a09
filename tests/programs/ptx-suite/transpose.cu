/* SPDX-License-Identifier: Apache-2.0
 *
 * Transpose through a padded tile of shared memory; the matrices are pitched, filled and read with 2D copies.
 */
#include "suite.h"

#define TILE 32

__global__ void transpose(const float *in, size_t in_pitch, float *out, size_t out_pitch, int w, int h)
{
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

	for (int j = 0; j < TILE; j += blockDim.y) {
		if (x < w && y + j < h)
			tile[threadIdx.y + j][threadIdx.x] =
				*(const float *)((const char *)in + (y + j) * in_pitch + x * sizeof(float));
	}
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	for (int j = 0; j < TILE; j += blockDim.y) {
		if (x < h && y + j < w)
			*(float *)((char *)out + (y + j) * out_pitch + x * sizeof(float)) =
				tile[threadIdx.x][threadIdx.y + j];
	}
}

int main()
{
	const int w = 133, h = 70;
	std::vector<float> in(w * h), want(w * h), got(w * h);
	size_t in_pitch, out_pitch;
	float *d_in, *d_out;

	for (int y = 0; y < h; y++) {
		for (int x = 0; x < w; x++)
			in[y * w + x] = want[x * h + y] = (float)(y * 1000 + x);
	}
	CHECK(cudaMallocPitch(&d_in, &in_pitch, w * sizeof(float), h));
	CHECK(cudaMallocPitch(&d_out, &out_pitch, h * sizeof(float), w));
	CHECK(cudaMemcpy2D(d_in, in_pitch, in.data(), w * sizeof(float), w * sizeof(float), h,
		cudaMemcpyHostToDevice));
	transpose<<<dim3((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), dim3(TILE, 8)>>>(
		d_in, in_pitch, d_out, out_pitch, w, h);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy2D(got.data(), h * sizeof(float), d_out, out_pitch, h * sizeof(float), w,
		cudaMemcpyDeviceToHost));
	compare("transpose", got, want);
	return passed("transpose");
}
