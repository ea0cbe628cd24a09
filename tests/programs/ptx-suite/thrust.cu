/* SPDX-License-Identifier: Apache-2.0
 *
 * Thrust from the toolkit's CCCL headers: vectors, transform, reduce, scan, sort with an order of one's own (merge sort), sort by key (radix
 * sort), unique, counting iterators. Not thrust::unique in place: there CCCL 3.0 lets a later block overwrite what an earlier one has read with
 * nothing but a relaxed flag between them, and the race check tells it (cub::DeviceSelect has an acquire and a release there).
 */
#include "suite.h"
#include <algorithm>
#include <numeric>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#define N 2500

struct square {
	__host__ __device__ long long operator()(int v) const { return (long long)v * v; }
};

/* By the last digit, then downwards. */
struct odd_order {
	__host__ __device__ bool operator()(int a, int b) const { return a % 10 != b % 10 ? a % 10 < b % 10 : a > b; }
};

template <typename T> static std::vector<T> host(const thrust::device_vector<T> &v)
{
	std::vector<T> h(v.size());

	thrust::copy(v.begin(), v.end(), h.begin());
	return h;
}

int main()
{
	std::vector<int> in(N), want(N);
	std::vector<long long> squares(N);
	unsigned seed = 44;

	for (int &v : in)
		v = (int)(next_random(&seed) % 5000);
	thrust::device_vector<int> d(in.begin(), in.end()), e(N);
	thrust::device_vector<long long> s(N);

	thrust::transform(d.begin(), d.end(), s.begin(), square());
	std::transform(in.begin(), in.end(), squares.begin(), square());
	compare("transform", host(s), squares);
	long long total = thrust::transform_reduce(d.begin(), d.end(), square(), 0LL, thrust::plus<long long>());
	compare("transform_reduce", std::vector<long long>{total},
		std::vector<long long>{std::accumulate(squares.begin(), squares.end(), 0LL)});
	int of_counting = thrust::reduce(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(N));
	compare("reduce", std::vector<int>{of_counting}, std::vector<int>{N * (N - 1) / 2});
	thrust::exclusive_scan(d.begin(), d.end(), e.begin(), 7);
	for (int i = 0, sum = 7; i < N; sum += in[i], i++)
		want[i] = sum;
	compare("exclusive_scan", host(e), want);

	e = d;
	thrust::sort(e.begin(), e.end(), odd_order());
	want = in;
	std::sort(want.begin(), want.end(), odd_order());
	compare("sort by an order", host(e), want);

	thrust::device_vector<int> places(N);
	thrust::sequence(places.begin(), places.end());
	e = d;
	thrust::stable_sort_by_key(e.begin(), e.end(), places.begin());
	std::iota(want.begin(), want.end(), 0);
	std::stable_sort(want.begin(), want.end(), [&](int a, int b) { return in[a] < in[b]; });
	compare("sort_by_key", host(places), want);
	thrust::device_vector<int> once(N);
	once.resize(thrust::unique_copy(e.begin(), e.end(), once.begin()) - once.begin());
	want = in;
	std::sort(want.begin(), want.end());
	want.erase(std::unique(want.begin(), want.end()), want.end());
	compare("unique: how many", std::vector<size_t>{once.size()}, std::vector<size_t>{want.size()});
	compare("unique", host(once), want);
	return passed("thrust");
}
