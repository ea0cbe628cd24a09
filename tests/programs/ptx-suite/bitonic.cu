/* SPDX-License-Identifier: Apache-2.0
 *
 * Bitonic sort of 2048 keys with their values: small strides in shared memory, large ones in global memory.
 */
#include "suite.h"
#include <algorithm>

#define BLOCK 128

__device__ static void order(unsigned &ka, int &va, unsigned &kb, int &vb, bool up)
{
	if ((ka > kb) == up) {
		unsigned k = ka;
		int v = va;

		ka = kb;
		va = vb;
		kb = k;
		vb = v;
	}
}

__global__ void step(unsigned *keys, int *values, int stride, int size)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int a = 2 * i - (i & (stride - 1)), b = a + stride;

	order(keys[a], values[a], keys[b], values[b], (a & size) == 0);
}

__global__ void steps_shared(unsigned *keys, int *values, int size)
{
	__shared__ unsigned k[2 * BLOCK];
	__shared__ int v[2 * BLOCK];
	int base = blockIdx.x * 2 * BLOCK, t = threadIdx.x;

	for (int i = t; i < 2 * BLOCK; i += BLOCK) {
		k[i] = keys[base + i];
		v[i] = values[base + i];
	}
	for (int stride = min(size / 2, BLOCK); stride > 0; stride /= 2) {
		int a = 2 * t - (t & (stride - 1)), b = a + stride;

		__syncthreads();
		order(k[a], v[a], k[b], v[b], ((base + a) & size) == 0);
	}
	__syncthreads();
	for (int i = t; i < 2 * BLOCK; i += BLOCK) {
		keys[base + i] = k[i];
		values[base + i] = v[i];
	}
}

int main()
{
	const int n = 2048;
	std::vector<unsigned> keys(n), want(n);
	std::vector<int> values(n);
	unsigned seed = 11;

	for (int i = 0; i < n; i++) {
		want[i] = keys[i] = next_random(&seed) * 2048 + (unsigned)i; /* all different */
		values[i] = i;
	}
	unsigned *d_keys = to_device(keys);
	int *d_values = to_device(values);
	for (int size = 2; size <= n; size *= 2) {
		for (int stride = size / 2; stride > BLOCK; stride /= 2)
			step<<<n / 2 / BLOCK, BLOCK>>>(d_keys, d_values, stride, size);
		steps_shared<<<n / 2 / BLOCK, BLOCK>>>(d_keys, d_values, size);
	}
	std::sort(want.begin(), want.end());
	std::vector<unsigned> sorted = to_host(d_keys, n);
	compare("bitonic", sorted, want);
	std::vector<int> moved = to_host(d_values, n);
	for (int i = 0; i < n; i++) {
		if (keys[moved[i]] != sorted[i]) {
			fprintf(stderr, "bitonic: value %d went to the wrong key\n", i);
			return 1;
		}
	}
	return passed("bitonic");
}
