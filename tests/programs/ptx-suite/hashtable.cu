/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table with open addressing: keys go in by compare and swap, their counts by atomic addition; a look-up; and a list for each bucket
 * with an atomic exchange of its head. What lies where depends on the order, what is found does not.
 */
#include "suite.h"
#include <map>

#define SLOTS 2048
#define N 3000
#define EMPTY 0xffffffffu

__host__ __device__ static unsigned hash(unsigned k)
{
	k ^= k >> 16;
	k *= 0x7feb352du;
	k ^= k >> 15;
	k *= 0x846ca68bu;
	return k ^ k >> 16;
}

__global__ void insert(unsigned *keys, int *counts, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	for (unsigned slot = hash(in[i]) % SLOTS;; slot = (slot + 1) % SLOTS) {
		unsigned was = atomicCAS(&keys[slot], EMPTY, in[i]);

		if (was == EMPTY || was == in[i]) {
			atomicAdd(&counts[slot], 1);
			return;
		}
	}
}

__global__ void find(const unsigned *keys, const int *counts, const unsigned *in, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	unsigned slot = hash(in[i]) % SLOTS;
	while (keys[slot] != in[i] && keys[slot] != EMPTY)
		slot = (slot + 1) % SLOTS;
	out[i] = keys[slot] == EMPTY ? 0 : counts[slot];
}

__global__ void chain(int *heads, int *next, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		next[i] = atomicExch(&heads[hash(in[i]) % 64], i);
}

__global__ void lengths(const int *heads, const int *next, int *out)
{
	int n = 0;

	for (int i = heads[threadIdx.x]; i >= 0; i = next[i])
		n++;
	out[threadIdx.x] = n;
}

int main()
{
	std::vector<unsigned> in(N), asked(1000), empty(SLOTS, EMPTY);
	std::vector<int> want(1000), buckets(64), no_heads(64, -1);
	std::map<unsigned, int> counts;
	unsigned seed = 90;

	for (unsigned &k : in) {
		k = next_random(&seed) % 1500 * 7;
		counts[k]++;
		buckets[hash(k) % 64]++;
	}
	for (int i = 0; i < 1000; i++) {
		asked[i] = i * 11;
		want[i] = counts.count(asked[i]) ? counts[asked[i]] : 0;
	}
	unsigned *d = to_device(in), *keys = to_device(empty);
	int *d_counts = device_zeros<int>(SLOTS), *out = device_zeros<int>(1000), *heads = to_device(no_heads), *next = device_zeros<int>(N);
	insert<<<(N + 127) / 128, 128>>>(keys, d_counts, d, N);
	find<<<8, 128>>>(keys, d_counts, to_device(asked), out, 1000);
	compare("hashtable", to_host(out, 1000), want);
	chain<<<(N + 127) / 128, 128>>>(heads, next, d, N);
	lengths<<<1, 64>>>(heads, next, out);
	compare("chains", to_host(out, 64), buckets);
	return passed("hashtable");
}
