/* SPDX-License-Identifier: Apache-2.0
 *
 * CUB's device-wide algorithms from the toolkit's CCCL headers: reductions, scans (decoupled look-back), radix sorts, histograms, selections,
 * reductions of segments, run lengths. CUB takes the tiles of the newest architecture that the PTX is for.
 */
#include "suite.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

#define N 3000

struct even {
	__host__ __device__ bool operator()(int v) const { return v % 2 == 0; }
};

/* CUB's calls come twice: once for the size of the work space, once to do it. */
#define CUB(call, ...)                                                                             \
	do {                                                                                       \
		void *space = nullptr;                                                             \
		size_t bytes = 0;                                                                  \
		CHECK(call(space, bytes, __VA_ARGS__));                                            \
		CHECK(cudaMalloc(&space, bytes));                                                  \
		CHECK(call(space, bytes, __VA_ARGS__));                                            \
		CHECK(cudaFree(space));                                                            \
	} while (0)

static void reductions(const std::vector<int> &in, const int *d)
{
	int *out = device_zeros<int>(1), *place = device_zeros<int>(1);

	CUB(cub::DeviceReduce::Sum, d, out, N);
	compare("Sum", to_host(out, 1), std::vector<int>{std::accumulate(in.begin(), in.end(), 0)});
	CUB(cub::DeviceReduce::Min, d, out, N);
	compare("Min", to_host(out, 1), std::vector<int>{*std::min_element(in.begin(), in.end())});
	CUB(cub::DeviceReduce::ArgMin, d, out, place, N);
	compare("ArgMin: value", to_host(out, 1), std::vector<int>{*std::min_element(in.begin(), in.end())});
	compare("ArgMin: place", to_host(place, 1), std::vector<int>{(int)(std::min_element(in.begin(), in.end()) - in.begin())});
}

static void scans(const std::vector<int> &in, const int *d)
{
	int *out = device_zeros<int>(N);
	std::vector<int> want(N);

	CUB(cub::DeviceScan::InclusiveSum, d, out, N);
	std::partial_sum(in.begin(), in.end(), want.begin());
	compare("InclusiveSum", to_host(out, N), want);
	CUB(cub::DeviceScan::ExclusiveSum, d, out, N);
	for (int i = N - 1; i > 0; i--)
		want[i] = want[i - 1];
	want[0] = 0;
	compare("ExclusiveSum", to_host(out, N), want);
}

static void selections(const std::vector<int> &in, const int *d)
{
	int *out = device_zeros<int>(N), *count = device_zeros<int>(1), *lengths = device_zeros<int>(N);
	std::vector<int> want, want_lengths;

	CUB(cub::DeviceSelect::If, d, out, count, N, even());
	std::copy_if(in.begin(), in.end(), std::back_inserter(want), even());
	compare("If: how many", to_host(count, 1), std::vector<int>{(int)want.size()});
	compare("If", to_host(out, N), want);

	std::vector<int> runs(N);
	for (int i = 0; i < N; i++)
		runs[i] = i * i / 40000;
	want.clear();
	for (int v : runs) {
		if (want.empty() || want.back() != v) {
			want.push_back(v);
			want_lengths.push_back(0);
		}
		want_lengths.back()++;
	}
	CUB(cub::DeviceRunLengthEncode::Encode, to_device(runs), out, lengths, count, N);
	compare("Encode: how many", to_host(count, 1), std::vector<int>{(int)want.size()});
	compare("Encode", to_host(out, N), want);
	compare("Encode: lengths", to_host(lengths, N), want_lengths);
}

static void histogram_and_segments(const std::vector<int> &in, const int *d)
{
	const int bins = 10, segments = 7;
	int *counts = device_zeros<int>(bins), *sums = device_zeros<int>(segments);
	std::vector<int> want(bins), begins(segments + 1), want_sums(segments);

	CUB(cub::DeviceHistogram::HistogramEven, d, counts, bins + 1, -500, 500, N);
	for (int v : in)
		want[(v + 500) / 100]++;
	compare("HistogramEven", to_host(counts, bins), want);

	for (int s = 0; s <= segments; s++)
		begins[s] = s * s * N / (segments * segments);
	for (int s = 0; s < segments; s++)
		want_sums[s] = std::accumulate(in.begin() + begins[s], in.begin() + begins[s + 1], 0);
	int *at = to_device(begins);
	CUB(cub::DeviceSegmentedReduce::Sum, d, sums, segments, at, at + 1);
	compare("SegmentedReduce", to_host(sums, segments), want_sums);
}

int main()
{
	std::vector<int> in(N);
	unsigned seed = 71;

	for (int i = 0; i < N; i++)
		in[i] = (int)(next_random(&seed) % 1000) - 500;
	int *d = to_device(in);
	reductions(in, d);
	scans(in, d);
	selections(in, d);
	histogram_and_segments(in, d);
	return passed("cub_device");
}
