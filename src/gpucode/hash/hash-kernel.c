/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of kernels.ptx: tables to the device, one launch, results back. Ranges of any
 * sizes share a launch: the kernel deals out pages, not ranges. The surprise: no copy touches the
 * caller's memory. Tables and results go through one buffer of this file.
 */
#include "gpucode/hash-kernel.h"
#include "gpucode/hash-host.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 256u
#define GROUP_MAX 8u
#define BLOCKS_PER_SM 8u /* what fits is 4 on most devices; more evens out the end */
#define ROW_BYTES (sizeof(struct hash_kernel_row) + sizeof(struct sbt_hash))
#define ROWS_MAX (HASH_KERNEL_SCRATCH / ROW_BYTES)

#define TRY_CU(expr)                                                                               \
	do {                                                                                       \
		CUresult try_r_ = (expr);                                                          \
		if (try_r_ != CUDA_SUCCESS)                                                        \
			return try_r_;                                                             \
	} while (0)

/* struct row of kernels.cu */
struct hash_kernel_row {
	uint64_t addr, size, page;
};

/* A short table goes with the launch: sending it ahead takes as long as a launch does. struct few
 * of kernels.cu; 4,096 bytes of parameters at most. */
#define FEW 160u
struct few {
	struct hash_kernel_row row[FEW];
};

/* Text, NUL-terminated as cuModuleLoadData() wants it. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"tsdb_kernels_ptx:\n"
	".incbin \"src/gpucode/hash/kernels.ptx\"\n"
	".byte 0\n"
	".previous\n");
extern const char tsdb_kernels_ptx[] __attribute__((visibility("hidden")));

#ifdef HASH_KERNEL_FATBIN
/* Machine code for several architectures. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"tsdb_kernels_fatbin:\n"
	".incbin \"src/gpucode/hash/kernels.fatbin\"\n"
	".previous\n");
extern const char tsdb_kernels_fatbin[] __attribute__((visibility("hidden")));
#endif

static CUresult is_software(const struct hash_kernel_driver *d, CUdevice dev, bool *ret)
{
	char name[64] = "";

	TRY_CU(d->cuDeviceGetName(name, sizeof(name), dev));
	*ret = !strcmp(name, "TraceSmith software GPU");
	return CUDA_SUCCESS;
}

/* The driver takes the machine code that fits the device; for one that is too new, and where it
 * does not know the container, there is the text, which it compiles. */
static CUresult load_module(struct hash_kernel *h)
{
#ifdef HASH_KERNEL_FATBIN
	if (!h->software &&
		h->driver->cuModuleLoadData(&h->module, tsdb_kernels_fatbin) == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	h->module = NULL;
#endif
	return h->driver->cuModuleLoadData(&h->module, tsdb_kernels_ptx);
}

static CUresult load(struct hash_kernel *h)
{
	const struct hash_kernel_driver *d = h->driver;

	TRY_CU(load_module(h));
	TRY_CU(d->cuModuleGetFunction(&h->hash, h->module, "tsdb_hash"));
	TRY_CU(d->cuModuleGetFunction(&h->changed, h->module, "tsdb_changed"));
	TRY_CU(d->cuModuleGetFunction(&h->gather, h->module, "tsdb_gather"));
	TRY_CU(d->cuModuleGetFunction(&h->replace, h->module, "tsdb_replace"));
	TRY_CU(d->cuModuleGetFunction(&h->settle, h->module, "tsdb_settle"));
	if (h->scratch)
		return CUDA_SUCCESS;
	TRY_CU(d->cuMemAlloc_v2(&h->scratch, HASH_KERNEL_SCRATCH));
	h->owns_scratch = true;
	return CUDA_SUCCESS;
}

CUresult hash_kernel_open(struct hash_kernel *h, const struct hash_kernel_driver *d,
	CUdeviceptr scratch, unsigned flags)
{
	bool software = false;
	CUdevice dev;
	CUresult r;
	int sms = 1;

	memset(h, 0, sizeof(*h));
	h->driver = d;
	h->scratch = scratch;
	TRY_CU(d->cuCtxGetDevice(&dev));
	TRY_CU(is_software(d, dev, &software));
	h->software = software;
	h->on_host = software && !(flags & HASH_KERNEL_ON_DEVICE);
	if (h->on_host)
		return CUDA_SUCCESS;
	TRY_CU(d->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
	h->blocks = (unsigned)sms * BLOCKS_PER_SM;
	h->pinned = d->cuMemHostAlloc(&h->table, HASH_KERNEL_SCRATCH, 0) == CUDA_SUCCESS;
	if (!h->pinned)
		h->table = malloc(HASH_KERNEL_SCRATCH);
	r = h->table ? load(h) : CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS)
		hash_kernel_close(h);
	return r;
}

void hash_kernel_close(struct hash_kernel *h)
{
	if (h->owns_scratch)
		h->driver->cuMemFree_v2(h->scratch);
	if (h->module)
		h->driver->cuModuleUnload(h->module);
	if (h->pinned)
		h->driver->cuMemFreeHost(h->table);
	else
		free(h->table);
	memset(h, 0, sizeof(*h));
}

void hash_kernel_forget(struct hash_kernel *h)
{
	if (!h->pinned)
		free(h->table);
	memset(h, 0, sizeof(*h));
}

static uint64_t pages_of(uint64_t size)
{
	return size / SBT_PAGE + (size % SBT_PAGE != 0);
}

/* --- the software GPU --- */

/* Whether all of it is memory of the device: ranges that lie side by side count as one. */
static CUresult check_on_host(const struct hash_kernel *h, uint64_t addr, uint64_t size)
{
	const uint64_t end = addr + size;

	if (end < addr)
		return CUDA_ERROR_INVALID_VALUE;
	while (addr < end) {
		CUdeviceptr start;
		size_t n;

		TRY_CU(h->driver->cuPointerGetAttribute(
			&start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, addr));
		TRY_CU(h->driver->cuPointerGetAttribute(
			&n, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, addr));
		if (start + n <= addr)
			return CUDA_ERROR_INVALID_VALUE;
		addr = start + n;
	}
	return CUDA_SUCCESS;
}

static CUresult ranges_on_host(struct hash_kernel *h, const struct hash_kernel_range *ranges,
	size_t n, struct sbt_hash *out, CUstream s)
{
	TRY_CU(h->driver->cuStreamSynchronize(s));
	for (size_t i = 0; i < n; i++) {
		TRY_CU(check_on_host(h, ranges[i].addr, ranges[i].size));
		out[i] = sbt_range_hash((const void *)(uintptr_t)ranges[i].addr, ranges[i].size);
	}
	return CUDA_SUCCESS;
}

static CUresult pages_on_host(
	struct hash_kernel *h, struct hash_kernel_range r, struct sbt_hash *pages, CUstream s)
{
	TRY_CU(h->driver->cuStreamSynchronize(s));
	TRY_CU(check_on_host(h, r.addr, r.size));
	hash_host_pages(r, pages);
	return CUDA_SUCCESS;
}

static CUresult changed_on_host(struct hash_kernel *h, CUdeviceptr before, CUdeviceptr now,
	size_t n, CUdeviceptr changed, CUstream s)
{
	TRY_CU(h->driver->cuStreamSynchronize(s));
	TRY_CU(check_on_host(h, before, n * sizeof(struct sbt_hash)));
	TRY_CU(check_on_host(h, now, n * sizeof(struct sbt_hash)));
	TRY_CU(check_on_host(h, changed, n));
	hash_host_changed(before, now, n, changed);
	return CUDA_SUCCESS;
}

static CUresult replace_on_host(struct hash_kernel *h, CUdeviceptr at, uint64_t bytes,
	CUdeviceptr like, uint64_t from, uint64_t to, CUstream s)
{
	TRY_CU(h->driver->cuStreamSynchronize(s));
	TRY_CU(check_on_host(h, at, bytes));
	if (like)
		TRY_CU(check_on_host(h, like, bytes));
	hash_host_replace(at, bytes, like, from, to);
	return CUDA_SUCCESS;
}

static CUresult gather_on_host(struct hash_kernel *h, const struct hash_kernel_range *r,
	uint32_t nranges, uint64_t first, uint32_t n, CUdeviceptr packed, CUstream s)
{
	uint64_t page = 0; /* the range's first */

	TRY_CU(h->driver->cuStreamSynchronize(s));
	for (uint32_t i = 0; i < nranges; page += pages_of(r[i++].size)) {
		const uint64_t from = page < first ? first - page : 0;

		for (uint64_t k = from; k < pages_of(r[i].size) && page + k < first + n; k++) {
			const uint64_t left = r[i].size - k * SBT_PAGE,
				       bytes = left < SBT_PAGE ? left : SBT_PAGE;
			const CUdeviceptr to = packed + (page + k - first) * SBT_PAGE;

			TRY_CU(check_on_host(h, r[i].addr + k * SBT_PAGE, bytes));
			TRY_CU(check_on_host(h, to, bytes));
			memmove((void *)(uintptr_t)to,
				(const void *)(uintptr_t)(r[i].addr + k * SBT_PAGE), bytes);
		}
	}
	return CUDA_SUCCESS;
}

static bool is_memory(void *arg, uint64_t addr, uint64_t n)
{
	return check_on_host(arg, addr, n) == CUDA_SUCCESS;
}

static CUresult settle_on_host(struct hash_kernel *h, const struct hash_kernel_settle *s,
	const struct hash_kernel_rows *rows, unsigned todo, CUstream stream)
{
	TRY_CU(h->driver->cuStreamSynchronize(stream));
	return hash_host_settle(s, rows, todo, is_memory, h) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

/* --- launches --- */

static CUresult launch(
	struct hash_kernel *h, CUfunction f, uint64_t blocks, void **params, CUstream s)
{
	const unsigned n = blocks < h->blocks ? (unsigned)blocks : h->blocks;

	return h->driver->cuLaunchKernel(f, n, 1, 1, THREADS, 1, 1, 0, s, params, NULL);
}

CUresult hash_kernel_wait(struct hash_kernel *h, CUstream stream)
{
	h->used = 0;
	return h->driver->cuStreamSynchronize(stream);
}

static bool has_room(const struct hash_kernel *h, size_t bytes)
{
	return bytes <= HASH_KERNEL_SCRATCH - h->used;
}

/* The next bytes of the table, and of the scratch memory. */
static void *take_room(struct hash_kernel *h, size_t bytes, CUdeviceptr *ret)
{
	const size_t at = h->used;

	h->used = (at + bytes + 15) & ~(size_t)15;
	if (h->used > HASH_KERNEL_SCRATCH)
		h->used = HASH_KERNEL_SCRATCH;
	*ret = h->scratch + at;
	return (char *)h->table + at;
}

/* The number of pages. */
static uint64_t fill_rows(
	struct hash_kernel_row *rows, const struct hash_kernel_range *ranges, uint32_t n)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < n; i++) {
		rows[i] = (struct hash_kernel_row){ranges[i].addr, ranges[i].size, total};
		total += pages_of(ranges[i].size);
	}
	return total;
}

/* A block's pages in a row: few where there are few, so that blocks have equal shares. */
static uint32_t group_of(const struct hash_kernel *h, uint64_t pages)
{
	const uint64_t group = pages / h->blocks / GROUP_MAX;

	return group < 1 ? 1 : group < GROUP_MAX ? (uint32_t)group : GROUP_MAX;
}

/* Rows at the front of the room, hashes behind. */
CUresult hash_kernel_ranges_begin(struct hash_kernel *h, const struct hash_kernel_range *ranges,
	uint32_t n, struct sbt_hash *out, CUstream s, struct hash_kernel_begun *ret)
{
	const struct hash_kernel_driver *d = h->driver;
	CUdeviceptr table, sums, none = 0;
	struct hash_kernel_row *rows;
	uint32_t group;
	uint64_t total;

	*ret = (struct hash_kernel_begun){.out = out, .ranges = ranges, .n = n};
	if (h->on_host)
		return ranges_on_host(h, ranges, n, out, s);
	if (!has_room(h, n * ROW_BYTES))
		return CUDA_ERROR_OUT_OF_MEMORY;
	rows = take_room(h, n * ROW_BYTES, &table);
	sums = table + n * sizeof(*rows);
	total = fill_rows(rows, ranges, n);
	group = group_of(h, total);
	void *params[] = {&table, &n, &total, &none, &sums, &group};
	struct sbt_hash *results = memset(rows + n, 0, n * sizeof(*results));

	ret->from = results;
	if (!total)
		return CUDA_SUCCESS;
	TRY_CU(d->cuMemcpyHtoDAsync_v2(
		table, rows, n * ROW_BYTES, s)); /* the sums begin as zeros */
	TRY_CU(launch(h, h->hash, (total + group - 1) / group, params, s));
	return d->cuMemcpyDtoHAsync_v2(results, sums, n * sizeof(*results), s);
}

void hash_kernel_ranges_end(const struct hash_kernel_begun *b)
{
	for (uint32_t i = 0; b->from && i < b->n; i++) {
		b->out[i] = b->from[i];
		if (b->ranges) /* else pages */
			sbt_range_hash_end(&b->out[i], b->ranges[i].size);
	}
}

CUresult hash_kernel_ranges(struct hash_kernel *h, const struct hash_kernel_range *ranges, size_t n,
	struct sbt_hash *out, CUstream stream)
{
	struct hash_kernel_begun b;

	if (h->used)
		TRY_CU(hash_kernel_wait(h, stream));
	for (size_t i = 0; i < n; i += ROWS_MAX) {
		TRY_CU(hash_kernel_ranges_begin(h, ranges + i,
			(uint32_t)(n - i < ROWS_MAX ? n - i : ROWS_MAX), out + i, stream, &b));
		TRY_CU(hash_kernel_wait(h, stream));
		hash_kernel_ranges_end(&b);
	}
	return CUDA_SUCCESS;
}

/* Page hashes of one range to device memory; the row becomes the scratch memory's first. */
static CUresult pages_part(struct hash_kernel *h, struct hash_kernel_row *row,
	struct hash_kernel_range range, CUdeviceptr pages, CUstream s)
{
	CUdeviceptr table = h->scratch, none = 0;
	uint64_t total = pages_of(range.size);
	uint32_t n = 1, group;
	void *params[] = {&table, &n, &total, &pages, &none, &group};

	if (!total)
		return CUDA_SUCCESS;
	*row = (struct hash_kernel_row){range.addr, range.size, 0};
	group = group_of(h, total);
	TRY_CU(h->driver->cuMemcpyHtoDAsync_v2(table, row, sizeof(*row), s));
	return launch(h, h->hash, (total + group - 1) / group, params, s);
}

CUresult hash_kernel_pages_device(
	struct hash_kernel *h, struct hash_kernel_range range, CUdeviceptr pages, CUstream stream)
{
	struct hash_kernel_row row; /* the driver takes it before the call returns */

	if (!h->on_host)
		return pages_part(h, &row, range, pages, stream);
	TRY_CU(check_on_host(h, pages, pages_of(range.size) * sizeof(struct sbt_hash)));
	return pages_on_host(h, range, (void *)(uintptr_t)pages, stream);
}

CUresult hash_kernel_pages_begin(struct hash_kernel *h, struct hash_kernel_range range,
	struct sbt_hash *pages, CUstream stream, struct hash_kernel_begun *ret)
{
	const size_t half = HASH_KERNEL_SCRATCH / 2;
	const uint64_t n = pages_of(range.size);
	void *results = (char *)h->table + half;

	*ret = (struct hash_kernel_begun){.out = pages};
	if (n > HASH_KERNEL_PAGES)
		return CUDA_ERROR_INVALID_VALUE;
	if (h->on_host)
		return pages_on_host(h, range, pages, stream);
	if (!n)
		return CUDA_SUCCESS;
	ret->from = results;
	ret->n = (uint32_t)n;
	TRY_CU(pages_part(h, h->table, range, h->scratch + half, stream));
	return h->driver->cuMemcpyDtoHAsync_v2(
		results, h->scratch + half, n * sizeof(*pages), stream);
}

CUresult hash_kernel_pages(struct hash_kernel *h, struct hash_kernel_range range,
	struct sbt_hash *pages, CUstream stream)
{
	const uint64_t most = HASH_KERNEL_PAGES * SBT_PAGE;
	struct hash_kernel_begun b;

	while (range.size) {
		const uint64_t size = range.size < most ? range.size : most;

		TRY_CU(hash_kernel_pages_begin(
			h, (struct hash_kernel_range){range.addr, size}, pages, stream, &b));
		TRY_CU(hash_kernel_wait(h, stream));
		hash_kernel_ranges_end(&b);
		range.addr += size;
		range.size -= size;
		pages += pages_of(size);
	}
	return CUDA_SUCCESS;
}

CUresult hash_kernel_changed(struct hash_kernel *h, CUdeviceptr before, CUdeviceptr now, size_t n,
	CUdeviceptr changed, CUstream stream)
{
	uint64_t total = n;
	void *params[] = {&before, &now, &total, &changed};

	if (!n)
		return CUDA_SUCCESS;
	if (h->on_host)
		return changed_on_host(h, before, now, n, changed, stream);
	return launch(h, h->changed, (total + THREADS - 1) / THREADS, params, stream);
}

CUresult hash_kernel_gather_begin(struct hash_kernel *h, const struct hash_kernel_range *ranges,
	uint32_t nranges, uint64_t first, uint32_t n, CUdeviceptr packed, CUstream stream)
{
	CUdeviceptr table = 0; /* 0: the few */
	struct few few;
	void *params[] = {&table, &nranges, &first, &packed, &few};

	if (h->on_host)
		return gather_on_host(h, ranges, nranges, first, n, packed, stream);
	if (!n)
		return CUDA_SUCCESS;
	if (nranges <= FEW) {
		(void)fill_rows(few.row, ranges, nranges);
	} else {
		if (!has_room(h, nranges * sizeof(struct hash_kernel_row)))
			TRY_CU(hash_kernel_wait(h, stream));
		if (!has_room(h, nranges * sizeof(struct hash_kernel_row)))
			return CUDA_ERROR_INVALID_VALUE;
		struct hash_kernel_row *rows = take_room(h, nranges * sizeof(*rows), &table);
		(void)fill_rows(rows, ranges, nranges);
		TRY_CU(h->driver->cuMemcpyHtoDAsync_v2(
			table, rows, nranges * sizeof(*rows), stream));
	}
	/* A block for each page: what is done first takes the next. */
	return h->driver->cuLaunchKernel(
		h->gather, n, 1, 1, THREADS, 1, 1, 0, stream, params, NULL);
}

CUresult hash_kernel_warm(struct hash_kernel *h, CUstream stream)
{
	const CUdeviceptr here = h->scratch + HASH_KERNEL_SCRATCH / 2, there = here + SBT_PAGE;
	const struct hash_kernel_range range = {here, 16};
	struct sbt_hash unused;

	if (h->on_host)
		return CUDA_SUCCESS;
	TRY_CU(hash_kernel_gather_begin(h, &range, 1, 0, 1, there, stream));
	return hash_kernel_ranges(h, &range, 1, &unused, stream);
}

CUresult hash_kernel_replace(struct hash_kernel *h, CUdeviceptr at, uint64_t bytes,
	CUdeviceptr like, uint64_t from, uint64_t to, CUstream stream)
{
	void *params[] = {&at, &bytes, &like, &from, &to};

	if (!bytes)
		return CUDA_SUCCESS;
	if (h->on_host)
		return replace_on_host(h, at, bytes, like, from, to, stream);
	return launch(h, h->replace, (bytes / 8 + THREADS) / THREADS, params, stream);
}

CUresult hash_kernel_settle(struct hash_kernel *h, const struct hash_kernel_settle *s,
	const struct hash_kernel_rows *rows, unsigned todo, CUstream stream)
{
	CUdeviceptr table = s->table, copied = s->copied, first = s->first, mark = s->mark,
		    took = s->took;
	struct hash_kernel_rows r = *rows;
	uint32_t what = todo;
	void *params[] = {&table, &copied, &first, &mark, &what, &took, &r};

	if (!rows->total)
		return CUDA_SUCCESS;
	if (h->on_host)
		return settle_on_host(h, s, rows, todo, stream);
	return launch(h, h->settle, rows->total, params, stream);
}
