/* SPDX-License-Identifier: Apache-2.0
 *
 * CUB's radix sort from the toolkit's CCCL headers, as it is for one tile and as it is for many ("onesweep": blocks look back at the counts
 * of those before them): unsigned keys, signed ones downwards, floating-point keys with values.
 */
#include "suite.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

template <typename F> static void with_space(F f)
{
	void *space = nullptr;
	size_t bytes = 0;

	CHECK(f(space, bytes));
	CHECK(cudaMalloc(&space, bytes));
	CHECK(f(space, bytes));
	CHECK(cudaFree(space));
}

static void keys(int n)
{
	std::vector<unsigned> in(n), want;
	unsigned seed = 5, *out = device_zeros<unsigned>(n);

	for (unsigned &v : in)
		v = next_random(&seed) ^ next_random(&seed) << 16;
	unsigned *d = to_device(in);
	with_space([&](void *space, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(space, bytes, d, out, n); });
	want = in;
	std::sort(want.begin(), want.end());
	compare("SortKeys", to_host(out, n), want);

	std::vector<int> down(in.begin(), in.end());
	int *e = to_device(down), *sorted = device_zeros<int>(n);
	with_space([&](void *space, size_t &bytes) { return cub::DeviceRadixSort::SortKeysDescending(space, bytes, e, sorted, n); });
	std::sort(down.begin(), down.end(), [](int a, int b) { return a > b; });
	compare("SortKeysDescending", to_host(sorted, n), down);
}

/* Stable: equal keys keep their order. */
static void pairs(int n)
{
	std::vector<float> in(n), want_keys(n);
	std::vector<int> order(n);
	float *keys_out = device_zeros<float>(n);
	int *values_out = device_zeros<int>(n);
	unsigned seed = 6;

	for (float &v : in)
		v = ((int)(next_random(&seed) % 200) - 100) / 8.0f;
	std::iota(order.begin(), order.end(), 0);
	float *d = to_device(in);
	int *values = to_device(order);
	with_space([&](void *space, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(space, bytes, d, keys_out, values, values_out, n);
	});
	std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return in[a] < in[b]; });
	for (int i = 0; i < n; i++)
		want_keys[i] = in[order[i]];
	compare("SortPairs: keys", to_host(keys_out, n), want_keys);
	compare("SortPairs: values", to_host(values_out, n), order);
}

int main()
{
	keys(1500);
	keys(12000);
	pairs(1500);
	pairs(9000);
	return passed("cub_sort");
}
