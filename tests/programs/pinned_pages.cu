// SPDX-License-Identifier: Apache-2.0
//
// The host writes to page-locked memory between launches that read all of it: single pages, runs, what was there before, zeros, the end of the last page,
// which is no whole one. And between copies that read it as if it were the device's.
#include "gpu.h"
#include <vector>

#define PAGE 65536
#define WORDS (20 * PAGE / 4 + 25)

__global__ void add_all(unsigned long long *sum, const unsigned *p, int n)
{
	unsigned long long s = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s += (unsigned long long)p[i] * (i + 1);
	atomicAdd(sum, s);
}

static unsigned long long expected(const unsigned *p)
{
	unsigned long long s = 0;

	for (int i = 0; i < WORDS; i++)
		s += (unsigned long long)p[i] * (i + 1);
	return s;
}

static void fill(unsigned *p, int page, unsigned with)
{
	for (int i = 0; i < PAGE / 4; i++)
		p[page * (PAGE / 4) + i] = with + (with ? i : 0);
}

struct step {
	int first, last; // pages; -1: the last word
	unsigned with;
};

int main()
{
	static const struct step steps[] = {{0, 0, 1}, {7, 8, 2}, {0, 19, 3}, {7, 7, 2}, {0, 0, 1}, {3, 5, 0}, {-1, -1, 9}, {15, 16, 2}, {0, 19, 0}, {-1, -1, 4}, {19, 19, 3}};
	unsigned long long *sum, total = 0, got;
	unsigned *host, *small, copied;

	CHECK(cudaHostAlloc(&host, WORDS * sizeof *host, 0));
	CHECK(cudaMalloc(&sum, sizeof *sum));
	CHECK(cudaHostAlloc(&small, sizeof *small, 0)); // smaller than a page
	*small = 0;
	memset(host, 0, WORDS * sizeof *host);
	CHECK(cudaMemset(sum, 0, sizeof *sum));
	for (const struct step &s : steps) {
		for (int i = s.first; i >= 0 && i <= s.last; i++)
			fill(host, i, s.with);
		if (s.first < 0)
			host[WORDS - 1] = s.with;
		*small ^= 6; // and back
		add_all<<<1, 256>>>(sum, host, WORDS);
		add_all<<<1, 256>>>(sum, small, 1);
		CHECK(cudaDeviceSynchronize());
		total += expected(host) + *small;
		host[5 * PAGE / 4] ^= 77; // read by the copy only, as far as it knows
		CHECK(cudaMemcpy(&copied, host + 5 * PAGE / 4, sizeof copied, cudaMemcpyDeviceToHost));
		total += copied - host[5 * PAGE / 4];
	}
	CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
	puts(got == total ? "fine" : "wrong");
	return got != total;
}
