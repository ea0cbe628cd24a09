/* SPDX-License-Identifier: Apache-2.0
 *
 * Cooperative groups' collectives: reduce and scans over tiles of warps, labelled and binary partitions, coalesced threads; a tile larger
 * than a warp; a whole sum in one cooperative launch with grid.sync().
 */
#include "suite.h"
#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
#define BLOCKS 4
#define THREADS 128
#define N (BLOCKS * THREADS)

struct outputs {
	int sum8[N / 8], most[N / 32], inclusive[N], exclusive[N], by_label[N], positives[N / 32], large[N / 64];
};

__global__ void collectives(const int *in, struct outputs *out)
{
	cg::thread_block block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	auto eight = cg::tiled_partition<8>(warp);
	int i = block.group_index().x * THREADS + block.thread_rank(), v = in[i];

	int sum8 = cg::reduce(eight, v, cg::plus<int>());
	if (eight.thread_rank() == 0)
		out->sum8[i / 8] = sum8;
	out->inclusive[i] = cg::inclusive_scan(warp, v);
	out->exclusive[i] = cg::exclusive_scan(cg::tiled_partition<16>(block), v, cg::plus<int>());
	int most = cg::reduce(warp, v, cg::greater<int>());
	if (warp.thread_rank() == 0)
		out->most[i / 32] = most;

	auto alike = cg::labeled_partition(warp, v & 3);
	out->by_label[i] = cg::reduce(alike, v, cg::plus<int>());
	if (v > 0) {
		cg::coalesced_group active = cg::coalesced_threads();
		int n = cg::reduce(active, 1, cg::plus<int>());

		/* Which lanes are together is nowhere promised. */
		if (active.thread_rank() == 0)
			atomicAdd(&out->positives[i / 32], n);
	}
}

/* The toolkit's header lets a lane read what other warps wrote when another lane has seen that they did and told it by a shuffle, which orders
 * no memory: the race check says so, rightly by the letter of PTX; lanes in step make it harmless. */
__global__ void large_tiles(const int *in, struct outputs *out)
{
	__shared__ cg::block_tile_memory<THREADS> space;
	cg::thread_block block = cg::this_thread_block(space);
	auto large = cg::tiled_partition<64>(block);
	int i = block.group_index().x * THREADS + block.thread_rank(), sum = cg::reduce(large, in[i], cg::plus<int>());

	if (large.thread_rank() == 0)
		out->large[i / 64] = sum;
}

/* Sums of blocks, then one block adds them. */
__global__ void whole(const int *in, int n, long long *partial, long long *total)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	__shared__ long long of_warp[THREADS / 32];
	long long v = 0;

	for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size())
		v += in[i];
	v = cg::reduce(warp, v, cg::plus<long long>());
	if (warp.thread_rank() == 0)
		of_warp[warp.meta_group_rank()] = v;
	block.sync();
	if (block.thread_rank() == 0) {
		partial[blockIdx.x] = 0;
		for (int w = 0; w < THREADS / 32; w++)
			partial[blockIdx.x] += of_warp[w];
	}
	grid.sync();
	if (grid.thread_rank() < 32 && grid.block_rank() == 0) {
		v = warp.thread_rank() < grid.num_blocks() ? partial[warp.thread_rank()] : 0;
		cg::reduce_store_async(warp, total, v, cg::plus<long long>());
	}
}

static void want_outputs(const std::vector<int> &in, struct outputs *w)
{
	for (int i = 0; i < N; i++) {
		int warp = i / 32 * 32;

		w->sum8[i / 8] += in[i];
		w->large[i / 64] += in[i];
		w->most[i / 32] = i % 32 ? std::max(w->most[i / 32], in[i]) : in[i];
		w->inclusive[i] = in[i] + (i % 32 ? w->inclusive[i - 1] : 0);
		w->exclusive[i] = i % 16 ? w->exclusive[i - 1] + in[i - 1] : 0;
		w->positives[i / 32] += in[i] > 0;
		for (int k = warp; k < warp + 32; k++)
			w->by_label[i] += (in[k] & 3) == (in[i] & 3) ? in[k] : 0;
	}
}

int main()
{
	std::vector<int> in(N);
	std::vector<long long> sum(1);
	std::vector<struct outputs> want(1), got;
	unsigned seed = 51;
	int n = N;

	for (int &v : in) {
		v = (int)(next_random(&seed) % 1000) - 400;
		sum[0] += v;
	}
	want_outputs(in, &want[0]);
	int *d = to_device(in);
	struct outputs *out = device_zeros<struct outputs>(1);
	collectives<<<BLOCKS, THREADS>>>(d, out);
	large_tiles<<<BLOCKS, THREADS>>>(d, out);
	got = to_host(out, 1);
#define SAME(field)                                                                                                                                \
	compare(#field, std::vector<int>(std::begin(got[0].field), std::end(got[0].field)),                                                            \
		std::vector<int>(std::begin(want[0].field), std::end(want[0].field)))
	SAME(sum8);
	SAME(most);
	SAME(inclusive);
	SAME(exclusive);
	SAME(by_label);
	SAME(positives);
	SAME(large);

	long long *partial = device_zeros<long long>(BLOCKS), *total = device_zeros<long long>(1);
	void *args[] = {&d, &n, &partial, &total};
	CHECK(cudaLaunchCooperativeKernel((const void *)whole, dim3(BLOCKS), dim3(THREADS), args, 0, 0));
	compare("whole", to_host(total, 1), sum);
	return passed("groups_reduce");
}
