// SPDX-License-Identifier: Apache-2.0
//
// Hashes of memory, computed on the device: the formula of src/sbt/pagehash.h. A block of 256 threads takes a page, thread = lane, its
// 8 keys and 2 sums stay in registers; 8 loads of 16 bytes are in flight per thread. `make replay-ptx` turns this into kernels.ptx, which is
// checked in; hash-kernel.c is the host's side.
#include <stdint.h>

typedef unsigned long long u64;
typedef unsigned int u32;

#define P 0x9e3779b97f4a7c15ull
#define Q 0xc2b2ae3d27d4eb4full
#define LANES 256
#define TURNS 16
#define PAGE 65536u
#ifndef BATCH
#define BATCH 8 // loads in flight; divides TURNS
#endif
#ifndef RESIDENT
#define RESIDENT 4 // blocks on a multiprocessor at least: the limit on registers
#endif
#ifndef LOAD
#define LOAD(p) __ldcs(p) // each byte is used once
#endif

// enum hash_kernel_todo, HASH_KERNEL_ROWS of hash-kernel.h
#define NOTE 1
#define COMPARE 2
#define EXPECT 4
#define RESTORE 8
#define COMMIT 16
#define ROWS 64

// struct hash_kernel_row of hash-kernel.c
struct row {
	u64 addr, size;
	u64 page; // index of its first page among those of all rows
};

// struct few of hash-kernel.c
#define FEW 160
struct few {
	struct row row[FEW];
};

static __device__ __forceinline__ u64 mix(u64 z)
{
	z ^= z >> 30;
	z *= 0xbf58476d1ce4e5b9ull;
	z ^= z >> 27;
	z *= 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static __device__ __forceinline__ u64 wide(u32 a, u32 b)
{
	return (u64)a * b;
}

static __device__ __forceinline__ void turn(u64 acc[2], uint4 w, const u32 k[8])
{
	acc[0] = acc[0] * P + wide(w.x + k[0], w.y + k[1]) + wide(w.z + k[2], w.w + k[3]);
	acc[1] = acc[1] * P + wide(w.x + k[4], w.y + k[5]) + wide(w.z + k[6], w.w + k[7]);
}

static __device__ __forceinline__ void whole_page(u64 acc[2], const uint4 *p, const u32 k[8])
{
#pragma unroll
	for (int t = 0; t < TURNS; t += BATCH) {
		uint4 w[BATCH];
#pragma unroll
		for (int j = 0; j < BATCH; j++)
			w[j] = LOAD(p + (t + j) * LANES);
#pragma unroll
		for (int j = 0; j < BATCH; j++)
			turn(acc, w[j], k);
	}
}

// The cell at p, of which n bytes exist: nothing past them is read.
static __device__ uint4 cell(const unsigned char *p, u64 n)
{
	u32 w[4] = {0, 0, 0, 0};

	if (n >= 16 && !((u64)p & 15))
		return *(const uint4 *)p;
	if (n >= 16 && !((u64)p & 3)) {
		const u32 *q = (const u32 *)p;
		return make_uint4(q[0], q[1], q[2], q[3]);
	}
#pragma unroll
	for (int j = 0; j < 16; j++)
		if ((u64)j < n)
			w[j / 4] |= (u32)p[j] << j % 4 * 8;
	return make_uint4(w[0], w[1], w[2], w[3]);
}

// The last page of a range, or one that is not aligned.
static __device__ __forceinline__ void odd_page(u64 acc[2], const unsigned char *p, u64 n, const u32 k[8])
{
#pragma unroll 1
	for (u32 at = threadIdx.x * 16; at < PAGE; at += LANES * 16)
		turn(acc, at < n ? cell(p + at, n - at) : make_uint4(0, 0, 0, 0), k);
}

static __device__ __forceinline__ u64 add_from(u64 v, int lane)
{
	return v + __shfl_xor_sync(0xffffffff, v, lane);
}

// Sums over the block; the result is in threads 0 (first half) and 8 (second half). part is one of two, in turns.
static __device__ __forceinline__ u64 sum(u64 a, u64 b, u64 part[2][LANES / 32])
{
	const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	u64 v = (lane & 16 ? b : a) + __shfl_xor_sync(0xffffffff, lane & 16 ? a : b, 16);

	v = add_from(v, 8);
	v = add_from(v, 4);
	v = add_from(v, 2);
	v = add_from(v, 1);
	if (!(lane & 15))
		part[lane / 16][warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = part[lane / 8 & 1][lane & 7];
		v = add_from(v, 4);
		v = add_from(v, 2);
		v = add_from(v, 1);
	}
	return v;
}

static __device__ u32 row_of(const struct row *table, u32 n, u64 page)
{
	u32 lo = 0, hi = n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (table[mid].page <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

// group: pages in a row for one block. pages: 2 words for each page, or 0. ranges: 2 words for each row, to which the pages' terms are added, or 0.
extern "C" __global__ void __launch_bounds__(LANES, RESIDENT) tsdb_hash(const struct row *table, u32 n, u64 total, u64 *pages, u64 *ranges,
	u32 group)
{
	__shared__ u64 part[2][2][LANES / 32];
	const u32 lane = threadIdx.x;
	const bool sums = !(lane & ~8u); // threads 0 and 8
	u64 first = 0, last = 0, addr = 0, size = 0, range = 0;
	u32 k[8], r = 0, turns = 0;

#pragma unroll
	for (int j = 0; j < 8; j++)
		k[j] = (u32)mix(1 + (u64)lane * 8 + j);
	for (u64 g = (u64)blockIdx.x * group; g < total; g += (u64)gridDim.x * group) {
		const u64 end = total - g < group ? total : g + group;

		for (u64 p = g; p < end; p++) {
			if (p < first || p >= last) {
				if (ranges && sums && range)
					atomicAdd(ranges + 2 * r + lane / 8, range);
				r = row_of(table, n, p);
				addr = table[r].addr;
				size = table[r].size;
				first = table[r].page;
				last = first + (size + PAGE - 1) / PAGE;
				range = 0;
			}
			const u64 at = (p - first) * PAGE;
			u64 acc[2] = {0, 0};

			if (size - at >= PAGE && !(addr & 15))
				whole_page(acc, (const uint4 *)(addr + at) + lane, k);
			else
				odd_page(acc, (const unsigned char *)(addr + at), size - at < PAGE ? size - at : PAGE, k);
			u64 v = sum(mix(acc[0] + (lane + 1) * Q), mix(acc[1] + (lane + 1) * Q), part[turns++ & 1]);
			if (sums) {
				if (pages)
					pages[2 * p + lane / 8] = v;
				range += mix(v + (p - first + 1) * P);
			}
		}
	}
	if (ranges && sums && range)
		atomicAdd(ranges + 2 * r + lane / 8, range);
}

// changed[p] = 1 for each page whose two hashes differ, else 0.
extern "C" __global__ void __launch_bounds__(LANES) tsdb_changed(const u64 *before, const u64 *now, u64 total, unsigned char *changed)
{
	for (u64 p = blockIdx.x * (u64)LANES + threadIdx.x; p < total; p += (u64)gridDim.x * LANES)
		changed[p] = before[2 * p] != now[2 * p] || before[2 * p + 1] != now[2 * p + 1];
}

// Aligned words of 8 bytes that are `from` become `to`; so do the last 4 to 7 bytes when all of them are from's. With like != 0, single bytes: those
// that are from's where like's are to's.
extern "C" __global__ void __launch_bounds__(LANES) tsdb_replace(unsigned char *p, u64 bytes, const unsigned char *like, u64 from, u64 to)
{
	for (u64 i = 8 * (blockIdx.x * (u64)LANES + threadIdx.x); i < bytes; i += 8 * (u64)gridDim.x * LANES) {
		const u32 n = bytes - i < 8 ? (u32)(bytes - i) : 8;
		u32 same = 0;

		for (u32 j = 0; j < n; j++)
			same += p[i + j] == (unsigned char)(from >> 8 * j);
		for (u32 j = 0; j < n; j++)
			if (like ? p[i + j] == (unsigned char)(from >> 8 * j) && like[i + j] == (unsigned char)(to >> 8 * j) : same == n && n >= 4)
				p[i + j] = (unsigned char)(to >> 8 * j);
	}
}

static __device__ __forceinline__ void copy_page(u64 dst, u64 src, u32 size)
{
	const u32 cells = (dst | src) & 15 ? 0 : size / 16;

	if (size == PAGE && cells) {
		uint4 w[BATCH];
#pragma unroll 1
		for (u32 at = threadIdx.x; at < PAGE / 16; at += BATCH * LANES) {
#pragma unroll
			for (int j = 0; j < BATCH; j++)
				w[j] = ((const uint4 *)src)[at + j * LANES];
#pragma unroll
			for (int j = 0; j < BATCH; j++)
				((uint4 *)dst)[at + j * LANES] = w[j];
		}
		return;
	}
	for (u32 at = threadIdx.x; at < cells; at += LANES)
		((uint4 *)dst)[at] = ((const uint4 *)src)[at];
	for (u32 at = 16 * cells + threadIdx.x; at < size; at += LANES)
		((unsigned char *)dst)[at] = ((const unsigned char *)src)[at];
}

// A page for each block, from first on, to packed + blockIdx.x * 65536. table: or 0, then it is few.
extern "C" __global__ void __launch_bounds__(LANES) tsdb_gather(const struct row *table, u32 n, u64 first, u64 packed, const __grid_constant__ struct few few)
{
	const u64 p = first + blockIdx.x;
	const struct row *r = table ? table : few.row;

	r += row_of(r, n, p);
	const u64 at = (p - r->page) * PAGE, left = r->size - at;

	copy_page(packed + (u64)blockIdx.x * PAGE, r->addr + at, left < PAGE ? (u32)left : PAGE);
}

// struct hash_kernel_page and struct hash_kernel_rows of hash-kernel.h
struct page {
	u64 mem, copy;
	u32 size, pad;
};
struct rows {
	u32 n, total;
	struct {
		u32 first, before;
	} row[ROWS];
};

static __device__ __forceinline__ u64 global_ns()
{
	u64 t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}

// took: the earliest start of a block, blocks that have ended, the sum of all launches' times. The last block to end adds this launch's.
static __device__ void add_time(u64 *took)
{
	__threadfence();
	if (atomicAdd((unsigned long long *)took + 1, 1ull) + 1 < gridDim.x)
		return;
	took[2] += global_ns() - atomicExch((unsigned long long *)took, ~0ull);
	took[1] = 0;
}

// Pages of `table` named by `rows`: hashed, and compared with `copied`, the hashes of the copies, and `first`. todo: NOTE keeps the hash in `first`; COMPARE
// and EXPECT count a page whose hash is not that in `first` or `copied` in mark[0], and one of them + 1 in mark[1]. A page that differs from its copy is
// put back by RESTORE; by COMMIT the copy becomes like it.
extern "C" __global__ void __launch_bounds__(LANES, RESIDENT) tsdb_settle(const struct page *table, u64 *copied, u64 *first, u32 *mark, u32 todo,
	u64 *took, const __grid_constant__ struct rows rows)
{
	__shared__ u64 part[2][2][LANES / 32];
	__shared__ u64 hash[2];
	__shared__ u32 changed;
	const u32 lane = threadIdx.x;
	u32 k[8], turns = 0;

	if (took && !lane)
		atomicMin((unsigned long long *)took, global_ns());
#pragma unroll
	for (int j = 0; j < 8; j++)
		k[j] = (u32)mix(1 + (u64)lane * 8 + j);
	for (u32 i = blockIdx.x; i < rows.total; i += gridDim.x) {
		u32 r = 0;
		u64 acc[2] = {0, 0};

		while (r + 1 < rows.n && rows.row[r + 1].before <= i)
			r++;
		const u32 p = rows.row[r].first + (i - rows.row[r].before);
		const struct page x = table[p];

		if (x.size == PAGE && !(x.mem & 15))
			whole_page(acc, (const uint4 *)x.mem + lane, k);
		else
			odd_page(acc, (const unsigned char *)x.mem, x.size, k);
		const u64 v = sum(mix(acc[0] + (lane + 1) * Q), mix(acc[1] + (lane + 1) * Q), part[turns++ & 1]);
		if (!(lane & ~8u))
			hash[lane / 8] = v;
		__syncthreads();
		if (!lane) {
			const bool other = hash[0] != copied[2 * (u64)p] || hash[1] != copied[2 * (u64)p + 1];
			const bool differs = todo & COMPARE && (hash[0] != first[2 * (u64)p] || hash[1] != first[2 * (u64)p + 1]);

			if (differs || (todo & EXPECT && other)) {
				atomicAdd(mark, 1u);
				mark[1] = p + 1;
			}
			if (todo & NOTE) {
				first[2 * (u64)p] = hash[0];
				first[2 * (u64)p + 1] = hash[1];
			}
			if (todo & COMMIT && other) {
				copied[2 * (u64)p] = hash[0];
				copied[2 * (u64)p + 1] = hash[1];
			}
			changed = other && todo & (RESTORE | COMMIT);
		}
		__syncthreads();
		if (changed)
			copy_page(todo & RESTORE ? x.mem : x.copy, todo & RESTORE ? x.copy : x.mem, x.size);
	}
	if (took) {
		__syncthreads();
		if (!lane)
			add_time(took);
	}
}

// For the benchmark: reading alone. out gets a word that depends on all of it.
extern "C" __global__ void __launch_bounds__(LANES, RESIDENT) tsdb_read(const uint4 *p, u64 cells, u64 *out)
{
	u32 x = 0;

	for (u64 c = (u64)blockIdx.x * PAGE / 16; c < cells; c += (u64)gridDim.x * PAGE / 16) {
#pragma unroll
		for (int t = 0; t < TURNS; t += BATCH) {
			uint4 w[BATCH];
#pragma unroll
			for (int j = 0; j < BATCH; j++)
				w[j] = LOAD(p + c + (t + j) * LANES + threadIdx.x);
#pragma unroll
			for (int j = 0; j < BATCH; j++)
				x ^= w[j].x ^ w[j].y ^ w[j].z ^ w[j].w;
		}
	}
	if (x == 0x12345678)
		atomicAdd(out, x);
}
