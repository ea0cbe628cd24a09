/* SPDX-License-Identifier: Apache-2.0
 *
 * Histogram of bytes: atomics in shared memory, then in global memory; and the largest value by atomicMax and compare-and-swap.
 */
#include "suite.h"

__global__ void histogram(const unsigned char *in, int n, unsigned *bins)
{
	__shared__ unsigned local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

/* out[0]: largest, by the instruction; out[1]: the same by compare-and-swap; out[2]: exclusive or of all */
__global__ void extremes(const unsigned char *in, int n, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	atomicMax(&out[0], (unsigned)in[i]);
	unsigned seen = out[1];
	while (seen < in[i]) {
		unsigned was = atomicCAS(&out[1], seen, (unsigned)in[i]);

		if (was == seen)
			break;
		seen = was;
	}
	atomicXor(&out[2], (unsigned)in[i]);
}

int main()
{
	const int n = 30000;
	std::vector<unsigned char> in(n);
	std::vector<unsigned> bins(256), ext(3);
	unsigned seed = 7;

	for (int i = 0; i < n; i++) {
		in[i] = (unsigned char)(next_random(&seed) % 251);
		bins[in[i]]++;
		if (in[i] > ext[0])
			ext[0] = ext[1] = in[i];
		ext[2] ^= in[i];
	}
	unsigned char *d = to_device(in);
	unsigned *d_bins = device_zeros<unsigned>(256), *d_ext = device_zeros<unsigned>(3);
	histogram<<<8, 128>>>(d, n, d_bins);
	extremes<<<(n + 255) / 256, 256>>>(d, n, d_ext);
	compare("histogram", to_host(d_bins, 256), bins);
	compare("extremes", to_host(d_ext, 3), ext);
	return passed("histogram");
}
