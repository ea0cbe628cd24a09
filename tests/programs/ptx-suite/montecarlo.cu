/* SPDX-License-Identifier: Apache-2.0
 *
 * Monte Carlo with a 64-bit linear congruential generator per thread: points inside the circle are counted exactly; 64-bit
 * products, high halves, divisions and remainders.
 */
#include "suite.h"

struct lcg {
	unsigned long long state;

	__host__ __device__ unsigned next()
	{
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		return (unsigned)(state >> 33);
	}
};

/* Two coordinates of 15 bits: the test needs no rounding. */
__host__ __device__ static bool inside(lcg *g)
{
	int x = (int)(g->next() & 32767), y = (int)(g->next() & 32767);

	return x * x + y * y < 32767 * 32767;
}

__host__ __device__ static long long mix(unsigned long long a, unsigned long long b)
{
	long long q = (long long)(a / (b | 1)), r = (long long)(a % (b | 1));
	long long s = (long long)a / ((int)(b % 1000) - 500 == 0 ? 7 : (int)(b % 1000) - 500);

#ifdef __CUDA_ARCH__
	unsigned long long high = __umul64hi(a, b);
#else
	unsigned long long high = (unsigned long long)((unsigned __int128)a * b >> 64);
#endif
	return q ^ r ^ s ^ (long long)high;
}

__global__ void count(unsigned long long *hits, long long *mixed, int trials)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	lcg g = {(unsigned long long)i + 1};
	unsigned mine = 0;

	for (int t = 0; t < trials; t++)
		mine += inside(&g);
	atomicAdd(hits, (unsigned long long)mine);
	mixed[i] = mix(g.state, (unsigned long long)g.next());
}

int main()
{
	const int threads = 512, trials = 100;
	std::vector<unsigned long long> want(1);
	std::vector<long long> want_mixed(threads);

	for (int i = 0; i < threads; i++) {
		lcg g = {(unsigned long long)i + 1};

		for (int t = 0; t < trials; t++)
			want[0] += inside(&g);
		unsigned long long state = g.state;
		want_mixed[i] = mix(state, (unsigned long long)g.next());
	}
	unsigned long long *hits = device_zeros<unsigned long long>(1);
	long long *mixed = device_zeros<long long>(threads);
	count<<<threads / 128, 128>>>(hits, mixed, trials);
	compare("montecarlo", to_host(hits, 1), want);
	compare("64-bit arithmetic", to_host(mixed, threads), want_mixed);
	return passed("montecarlo");
}
