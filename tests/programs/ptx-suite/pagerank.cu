/* SPDX-License-Identifier: Apache-2.0
 *
 * PageRank on a random graph, pulled along incoming edges (a warp for each page), until it changes little; and k-means, whose sums are
 * integers, so that their order does not matter. The host decides when to stop.
 */
#include "suite.h"

#define PAGES 300
#define EDGES 2400
#define POINTS 1024
#define MEANS 5

__global__ void pull(const int *begin, const int *from, const int *out_degree, const float *old, float *rank, unsigned long long *change)
{
	int page = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float sum = 0;

	if (page >= PAGES)
		return;
	for (int e = begin[page] + lane; e < begin[page + 1]; e += 32)
		sum += old[from[e]] / out_degree[from[e]];
	for (int step = 16; step; step /= 2)
		sum += __shfl_xor_sync(~0u, sum, step);
	if (lane == 0) {
		rank[page] = 0.15f / PAGES + 0.85f * sum;
		atomicAdd(change, (unsigned long long)(fabsf(rank[page] - old[page]) * 1e12f));
	}
}

static void pagerank()
{
	std::vector<int> degree(PAGES), begin(PAGES + 1), from(EDGES);
	std::vector<std::vector<int>> incoming(PAGES);
	std::vector<float> rank(PAGES, 1.0f / PAGES), want(PAGES);
	std::vector<double> r(PAGES, 1.0 / PAGES);
	unsigned seed = 60;

	for (int e = 0; e < EDGES; e++) {
		int a = e < PAGES ? e : next_random(&seed) % PAGES, b = next_random(&seed) % PAGES;

		degree[a]++;
		incoming[b * b / PAGES].push_back(a);
	}
	for (int p = 0, e = 0; p < PAGES; p++) {
		for (int a : incoming[p])
			from[e++] = a;
		begin[p + 1] = e;
	}
	float *old = to_device(rank), *now = device_zeros<float>(PAGES);
	int *d_begin = to_device(begin), *d_from = to_device(from), *d_degree = to_device(degree), rounds = 0;
	auto *change = device_zeros<unsigned long long>(1);
	for (; rounds < 40; rounds++) {
		CHECK(cudaMemset(change, 0, sizeof(*change)));
		pull<<<(PAGES + 3) / 4, 128>>>(d_begin, d_from, d_degree, old, now, change);
		std::swap(old, now);
		if (to_host(change, 1)[0] < 1000000)
			break;
	}
	for (int k = 0; k <= rounds; k++) {
		std::vector<double> next(PAGES, 0.15 / PAGES);

		for (int p = 0; p < PAGES; p++)
			for (int a : incoming[p])
				next[p] += 0.85 * r[a] / degree[a];
		r = next;
	}
	std::vector<float> got = to_host(old, PAGES);
	for (int p = 0; p < PAGES; p++) {
		want[p] = (float)(r[p] * PAGES);
		got[p] *= PAGES;
	}
	compare("pagerank", got, want, 1e-4);
	if (rounds < 3 || rounds == 40) {
		fprintf(stderr, "pagerank: %d rounds\n", rounds);
		exit(1);
	}
}

__global__ void assign(const int2 *points, const int2 *means, int *sums, int *mine)
{
	__shared__ int of_block[MEANS * 3];
	int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0, least = 0x7fffffff;

	if (threadIdx.x < MEANS * 3)
		of_block[threadIdx.x] = 0;
	__syncthreads();
	for (int m = 0; m < MEANS; m++) {
		int dx = points[i].x - means[m].x, dy = points[i].y - means[m].y, d = dx * dx + dy * dy;

		if (d < least) {
			least = d;
			best = m;
		}
	}
	mine[i] = best;
	atomicAdd(&of_block[best * 3], points[i].x);
	atomicAdd(&of_block[best * 3 + 1], points[i].y);
	atomicAdd(&of_block[best * 3 + 2], 1);
	__syncthreads();
	if (threadIdx.x < MEANS * 3)
		atomicAdd(&sums[threadIdx.x], of_block[threadIdx.x]);
}

__global__ void move(int2 *means, const int *sums)
{
	int m = threadIdx.x, n = sums[m * 3 + 2];

	if (n)
		means[m] = make_int2(sums[m * 3] / n, sums[m * 3 + 1] / n);
}

static void kmeans()
{
	std::vector<int2> points(POINTS), means(MEANS);
	std::vector<int> mine(POINTS);
	unsigned seed = 61;

	for (int2 &p : points) {
		int c = next_random(&seed) % MEANS;

		p.x = c * 700 + next_random(&seed) % 900;
		p.y = c * c * 200 + next_random(&seed) % 900;
	}
	for (int m = 0; m < MEANS; m++)
		means[m] = points[m];
	int2 *d = to_device(points), *e = to_device(means);
	int *sums = device_zeros<int>(MEANS * 3), *d_mine = device_zeros<int>(POINTS);
	for (int round = 0; round < 6; round++) {
		std::vector<int> sum(MEANS * 3);

		CHECK(cudaMemset(sums, 0, MEANS * 3 * sizeof(int)));
		assign<<<POINTS / 128, 128>>>(d, e, sums, d_mine);
		move<<<1, MEANS>>>(e, sums);
		for (int i = 0; i < POINTS; i++) {
			int least = 0x7fffffff;

			for (int m = 0; m < MEANS; m++) {
				int dx = points[i].x - means[m].x, dy = points[i].y - means[m].y, r = dx * dx + dy * dy;

				mine[i] = r < least ? m : mine[i];
				least = r < least ? r : least;
			}
			sum[mine[i] * 3] += points[i].x;
			sum[mine[i] * 3 + 1] += points[i].y;
			sum[mine[i] * 3 + 2]++;
		}
		for (int m = 0; m < MEANS; m++)
			if (sum[m * 3 + 2])
				means[m] = make_int2(sum[m * 3] / sum[m * 3 + 2], sum[m * 3 + 1] / sum[m * 3 + 2]);
	}
	compare("k-means", to_host(d_mine, POINTS), mine);
}

int main()
{
	pagerank();
	kmeans();
	return passed("pagerank");
}
