/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes made on a device are those made on the host. The kernels run on the software GPU's
 * interpreter (HASH_KERNEL_ON_DEVICE), then all of it once more by the host's short cut; naive() is
 * written from the formula in pagehash.h and shares nothing with pagehash.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpucode/hash-kernel.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static struct hash_kernel_driver driver;
static struct hash_kernel kernel;
static CUcontext ctx;

/* --- the formula, word by word --- */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint32_t word(const uint8_t *p, size_t n, size_t at)
{
	uint32_t w = 0;

	for (size_t j = 0; j < 4; j++)
		if (at + j < n)
			w |= (uint32_t)p[at + j] << 8 * j;
	return w;
}

static struct sbt_hash naive_page(const uint8_t *p, size_t n)
{
	struct sbt_hash r = {{0, 0}};

	for (uint64_t h = 0; h < 2; h++)
		for (uint64_t l = 0; l < 256; l++) {
			uint64_t acc = 0;

			for (size_t t = 0; t < 16; t++) {
				uint32_t x[4];

				for (unsigned j = 0; j < 4; j++)
					x[j] = word(p, n, (t * 256 + l) * 16 + j * 4) +
					       (uint32_t)mix(1 + l * 8 + h * 4 + j);
				acc = acc * 0x9e3779b97f4a7c15ull + (uint64_t)x[0] * x[1] +
				      (uint64_t)x[2] * x[3];
			}
			r.half[h] += mix(acc + (l + 1) * 0xc2b2ae3d27d4eb4full);
		}
	return r;
}

static struct sbt_hash naive(const uint8_t *p, size_t n)
{
	struct sbt_hash r = {{mix(n), mix(n)}};

	for (uint64_t i = 0; i * 65536 < n; i++) {
		struct sbt_hash page =
			naive_page(p + i * 65536, n - i * 65536 < 65536 ? n - i * 65536 : 65536);

		for (unsigned h = 0; h < 2; h++)
			r.half[h] += mix(page.half[h] + (i + 1) * 0x9e3779b97f4a7c15ull);
	}
	return r;
}

static void same(struct sbt_hash a, struct sbt_hash b)
{
	assert_true(a.half[0] == b.half[0]);
	assert_true(a.half[1] == b.half[1]);
}

/* --- tests --- */

static void *look_up(void *lib, const char *name)
{
	return dlsym(lib, name);
}

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	assert_true(hash_kernel_driver_fill(&driver, look_up, RTLD_DEFAULT));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static int open_device(void **state)
{
	OK(hash_kernel_open(&kernel, &driver, 0, HASH_KERNEL_ON_DEVICE));
	assert_false(kernel.on_host);
	return 0;
}

static int open_host(void **state)
{
	OK(hash_kernel_open(&kernel, &driver, 0, 0));
	assert_true(kernel.on_host);
	return 0;
}

static int close_it(void **state)
{
	size_t free, total;

	hash_kernel_close(&kernel);
	OK(cuMemGetInfo(&free, &total));
	assert_int_equal(free, total);
	return 0;
}

static uint8_t *random_bytes(size_t n)
{
	uint8_t *p = malloc(n);
	uint64_t x = 88172645463325252ull;

	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)x;
	}
	return p;
}

/* Every size at the exact end of an allocation (one byte too many faults), aligned and not, all in
 * one launch. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 4095, 4096, 65520, 65535, 65536, 65537, 0,
		131072, (1 << 20) + 3, 5};
	enum { N = sizeof(sizes) / sizeof(sizes[0]), SHIFTS = 4 };
	static const unsigned shifts[SHIFTS] = {0, 4, 1, 15};
	struct hash_kernel_range ranges[N * SHIFTS];
	struct sbt_hash out[N * SHIFTS];
	CUdeviceptr memory[N * SHIFTS];
	uint8_t *bytes = random_bytes((1 << 20) + 32);
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < SHIFTS; k++, n++) {
			OK(cuMemAlloc(&memory[n], sizes[i] + shifts[k] + !(sizes[i] + shifts[k])));
			ranges[n] = (struct hash_kernel_range){memory[n] + shifts[k], sizes[i]};
			if (sizes[i])
				OK(cuMemcpyHtoD(ranges[n].addr, bytes + k, sizes[i]));
		}
	OK(hash_kernel_ranges(&kernel, ranges, n, out, NULL));
	n = 0;
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < SHIFTS; k++, n++) {
			same(out[n], naive(bytes + k, sizes[i]));
			same(out[n], sbt_range_hash(bytes + k, sizes[i]));
			OK(cuMemFree(memory[n]));
		}
	OK(hash_kernel_ranges(&kernel, NULL, 0, NULL, NULL));
	free(bytes);
}

/* Of nothing: both halves are mix(0) = 0. Of one page of zeros: worked out from the formula. */
static void test_zeros(void **state)
{
	struct hash_kernel_range range;
	struct sbt_hash out;
	CUdeviceptr p;
	uint8_t *zeros = calloc(1, 65536);

	OK(cuMemAlloc(&p, 65536));
	OK(cuMemsetD8(p, 0, 65536));
	range = (struct hash_kernel_range){p, 0};
	OK(hash_kernel_ranges(&kernel, &range, 1, &out, NULL));
	same(out, (struct sbt_hash){{0, 0}});
	range.size = 65536;
	OK(hash_kernel_ranges(&kernel, &range, 1, &out, NULL));
	same(out, naive(zeros, 65536));
	OK(cuMemFree(p));
	free(zeros);
}

/* In stream order; pages to the host and to the device; which pages changed; gathering them. */
static void test_pages(void **state)
{
	const size_t n = 5 * 65536 + 100;
	uint8_t *bytes = random_bytes(n), *back = malloc(n), changed[6];
	struct sbt_hash pages[6];
	struct hash_kernel_range parts[3];
	CUdeviceptr p, before, now, flags, packed;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&p, n));
	OK(cuMemAlloc(&before, sizeof(pages)));
	OK(cuMemAlloc(&now, sizeof(pages)));
	OK(cuMemAlloc(&flags, 6));
	OK(cuMemAlloc(&packed, 4 * 65536));
	OK(cuMemcpyHtoDAsync(p, bytes, n, s));
	OK(hash_kernel_pages(&kernel, (struct hash_kernel_range){p, n}, pages, s));
	for (size_t i = 0; i < 6; i++)
		same(pages[i], naive_page(bytes + i * 65536, i < 5 ? 65536 : 100));
	OK(hash_kernel_pages_device(&kernel, (struct hash_kernel_range){p, n}, before, s));
	bytes[65536] ^= 1; /* the first of page 1, the last of 4, the last of all */
	bytes[5 * 65536 - 1] ^= 128;
	bytes[n - 1] ^= 64;
	OK(cuMemcpyHtoDAsync(p, bytes, n, s));
	OK(hash_kernel_pages_device(&kernel, (struct hash_kernel_range){p, n}, now, s));
	OK(hash_kernel_changed(&kernel, before, now, 6, flags, s));
	OK(cuMemcpyDtoHAsync(changed, flags, 6, s));
	OK(cuStreamSynchronize(s));
	assert_memory_equal(changed, ((uint8_t[]){0, 1, 0, 0, 1, 1}), 6);

	/* Pages 1 to 4 of the parts' six: the second of two whole ones, one of 100 bytes, a whole
	 * one, and the first of the last part. */
	parts[0] = (struct hash_kernel_range){p + 3 * 65536, 2 * 65536};
	parts[1] = (struct hash_kernel_range){p + 5 * 65536, 100};
	parts[2] = (struct hash_kernel_range){p, 2 * 65536 + 16};
	OK(cuMemsetD8Async(packed, 0x5a, 4 * 65536, s));
	OK(hash_kernel_gather_begin(&kernel, parts, 3, 1, 4, packed, s));
	OK(hash_kernel_wait(&kernel, s));
	OK(cuMemcpyDtoH(back, packed, 4 * 65536));
	assert_memory_equal(back, bytes + 4 * 65536, 65536 + 100);
	for (unsigned i = 65536 + 100; i < 2 * 65536; i++)
		assert_int_equal(back[i], 0x5a);
	assert_memory_equal(back + 2 * 65536, bytes, 2 * 65536);

	OK(cuMemFree(p));
	OK(cuMemFree(before));
	OK(cuMemFree(now));
	OK(cuMemFree(flags));
	OK(cuMemFree(packed));
	OK(cuStreamDestroy(s));
	free(bytes);
	free(back);
}

/* More than one launch holds; each range's hash is its own. */
static void test_many(void **state)
{
	enum { N = 27000, STEP = 16 };
	struct hash_kernel_range *ranges = calloc(N, sizeof(*ranges));
	struct sbt_hash *out = calloc(N, sizeof(*out));
	uint8_t *bytes = random_bytes(N * STEP);
	CUdeviceptr p;

	OK(cuMemAlloc(&p, N * STEP));
	OK(cuMemcpyHtoD(p, bytes, N * STEP));
	/* the interpreter takes a page's time for each: most are empty */
	for (unsigned i = 0; i < N; i++)
		ranges[i] = (struct hash_kernel_range){p + i * STEP, i % 500 ? 0 : 16};
	OK(hash_kernel_ranges(&kernel, ranges, N, out, NULL));
	for (unsigned i = 0; i < N; i++)
		if (i % 500)
			same(out[i], (struct sbt_hash){{0, 0}});
		else
			same(out[i], sbt_range_hash(bytes + i * STEP, 16));
	OK(cuMemFree(p));
	free(bytes);
	free(ranges);
	free(out);
}

/* Several on their way at once, each in its own part of the table; too many are told. */
static void test_begun(void **state)
{
	enum { N = 3 };
	static struct hash_kernel_range full[20000];
	static struct sbt_hash unused[20000];
	uint8_t *bytes = random_bytes(300000), back[100];
	struct hash_kernel_range ranges[N][2];
	struct hash_kernel_begun begun[N], more;
	struct hash_kernel_range piece;
	struct sbt_hash out[N][2];
	CUdeviceptr p, packed;

	OK(cuMemAlloc(&p, 300000));
	OK(cuMemAlloc(&packed, 65536));
	OK(cuMemcpyHtoD(p, bytes, 300000));
	for (unsigned i = 0; i < N; i++) {
		ranges[i][0] = (struct hash_kernel_range){p + 16 * i, 1000 + i};
		ranges[i][1] = (struct hash_kernel_range){p + 65536 * i, 65536 + i};
		OK(hash_kernel_ranges_begin(&kernel, ranges[i], 2, out[i], NULL, &begun[i]));
	}
	piece = (struct hash_kernel_range){p + 200, 100};
	OK(hash_kernel_gather_begin(&kernel, &piece, 1, 0, 1, packed, NULL));
	if (!kernel.on_host) {
		OK(hash_kernel_ranges_begin(&kernel, full, 20000, unused, NULL, &more));
		assert_int_equal(
			hash_kernel_ranges_begin(&kernel, full, 20000, unused, NULL, &more),
			CUDA_ERROR_OUT_OF_MEMORY);
	}
	OK(hash_kernel_wait(&kernel, NULL));
	for (unsigned i = N; i-- > 0;) {
		hash_kernel_ranges_end(&begun[i]);
		same(out[i][0], sbt_range_hash(bytes + 16 * i, 1000 + i));
		same(out[i][1], sbt_range_hash(bytes + 65536 * i, 65536 + i));
	}
	OK(cuMemcpyDtoH(back, packed, 100));
	assert_memory_equal(back, bytes + 200, 100);
	OK(hash_kernel_ranges_begin(
		&kernel, full, 20000, unused, NULL, &more)); /* there is room again */
	OK(hash_kernel_wait(&kernel, NULL));
	OK(cuMemFree(p));
	OK(cuMemFree(packed));
	free(bytes);
}

/* A table that is too long to go with the launch; from the middle of it. */
static void test_gather_many(void **state)
{
	enum { N = 200, FIRST = 150, PAGES = 40 };
	struct hash_kernel_range ranges[N];
	uint8_t *bytes = random_bytes(N * 48), back[48];
	CUdeviceptr p, packed;

	OK(cuMemAlloc(&p, N * 48));
	OK(cuMemAlloc(&packed, PAGES * 65536));
	OK(cuMemcpyHtoD(p, bytes, N * 48));
	for (unsigned i = 0; i < N; i++)
		ranges[i] = (struct hash_kernel_range){p + 48 * i, 1 + i % 48};
	OK(hash_kernel_gather_begin(&kernel, ranges, N, FIRST, PAGES, packed, NULL));
	OK(hash_kernel_wait(&kernel, NULL));
	for (unsigned i = 0; i < PAGES; i++) {
		const size_t n = ranges[FIRST + i].size;

		OK(cuMemcpyDtoH(back, packed + i * 65536, n));
		assert_memory_equal(back, bytes + 48 * (FIRST + i), n);
	}
	OK(cuMemFree(p));
	OK(cuMemFree(packed));
	free(bytes);
}

/* The short cut looks before it reads; and it is quick: 64 MiB in less than a second anywhere. */
static void test_short_cut(void **state)
{
	struct hash_kernel_range range;
	struct timespec a, b;
	struct sbt_hash out;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, 64 << 20));
	range = (struct hash_kernel_range){p, (64 << 20) + 1};
	assert_int_equal(
		hash_kernel_ranges(&kernel, &range, 1, &out, NULL), CUDA_ERROR_INVALID_VALUE);
	range = (struct hash_kernel_range){16, 1};
	assert_int_equal(
		hash_kernel_ranges(&kernel, &range, 1, &out, NULL), CUDA_ERROR_INVALID_VALUE);
	range = (struct hash_kernel_range){p, UINT64_MAX};
	assert_int_equal(
		hash_kernel_ranges(&kernel, &range, 1, &out, NULL), CUDA_ERROR_INVALID_VALUE);
	range = (struct hash_kernel_range){p, 64 << 20};
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	OK(hash_kernel_ranges(&kernel, &range, 1, &out, NULL));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	assert_true(b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < 2);
	OK(cuMemFree(p));
}

/* Scratch memory of the caller's is used and stays. */
static void test_scratch(void **state)
{
	struct hash_kernel own;
	struct hash_kernel_range range;
	struct sbt_hash out;
	CUdeviceptr scratch;
	uint8_t *bytes = random_bytes(1000);

	OK(cuMemAlloc(&scratch, HASH_KERNEL_SCRATCH + 1000));
	OK(hash_kernel_open(&own, &driver, scratch, HASH_KERNEL_ON_DEVICE));
	range = (struct hash_kernel_range){scratch + HASH_KERNEL_SCRATCH, 1000};
	OK(cuMemcpyHtoD(range.addr, bytes, 1000));
	OK(hash_kernel_ranges(&own, &range, 1, &out, NULL));
	same(out, naive(bytes, 1000));
	hash_kernel_close(&own);
	OK(cuMemFree(scratch));
	free(bytes);
}

#define ON_DEVICE(f)                                                                               \
	{                                                                                          \
		"on the device: " #f, f, open_device, close_it, NULL                               \
	}
#define ON_HOST(f)                                                                                 \
	{                                                                                          \
		"on the host: " #f, f, open_host, close_it, NULL                                   \
	}

/* Five pages in two areas, the last one short and not aligned; rows name three of them. */
static void test_settle(void **state)
{
	enum { PAGES = 5, LAST = 1001 };
	struct hash_kernel_page table[PAGES];
	uint8_t *bytes = random_bytes(PAGES * SBT_PAGE), *now = malloc(PAGES * SBT_PAGE);
	struct hash_kernel_rows rows = {.n = 2, .total = 3, .row = {{0, 0}, {3, 1}}}; /* 0, 3, 4 */
	struct sbt_hash sums[PAGES];
	struct hash_kernel_settle s;
	uint64_t took[3] = {UINT64_MAX, 0, 0};
	uint32_t mark[2] = {0, 0};
	CUdeviceptr mem, copy;

	assert_non_null(now);
	OK(cuMemAlloc(&mem, PAGES * SBT_PAGE + 3));
	OK(cuMemAlloc(&copy, PAGES * SBT_PAGE));
	OK(cuMemAlloc((CUdeviceptr *)&s.table, sizeof table));
	OK(cuMemAlloc((CUdeviceptr *)&s.copied, sizeof sums));
	OK(cuMemAlloc((CUdeviceptr *)&s.first, sizeof sums));
	OK(cuMemAlloc((CUdeviceptr *)&s.mark, sizeof mark));
	OK(cuMemAlloc((CUdeviceptr *)&s.took, sizeof took));
	for (unsigned i = 0; i < PAGES; i++) {
		table[i] = (struct hash_kernel_page){mem + i * SBT_PAGE + (i == 4 ? 3 : 0),
			copy + i * SBT_PAGE, i == 4 ? LAST : SBT_PAGE, 0};
		OK(cuMemcpyHtoD(table[i].mem, bytes + i * SBT_PAGE, table[i].size));
		OK(cuMemcpyHtoD(table[i].copy, bytes + i * SBT_PAGE, table[i].size));
		sums[i] = sbt_page_hash(bytes + i * SBT_PAGE, table[i].size);
	}
	OK(cuMemcpyHtoD(s.table, table, sizeof table));
	OK(cuMemcpyHtoD(s.copied, sums, sizeof sums));
	OK(cuMemcpyHtoD(s.mark, mark, sizeof mark));
	OK(cuMemcpyHtoD(s.took, took, sizeof took));

	/* Nothing has changed: nothing is marked. */
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_EXPECT | HASH_KERNEL_NOTE, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(mark, s.mark, sizeof mark));
	assert_int_equal(mark[0], 0);
	/* Pages 1 and 4 change. 1 is in no row; 4 is put back, and what it was is noted. */
	OK(cuMemsetD8(table[1].mem + 5, 0x11, 3));
	OK(cuMemsetD8(
		table[4].mem + LAST - 1, (unsigned char)(bytes[4 * SBT_PAGE + LAST - 1] + 1), 1));
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_NOTE | HASH_KERNEL_RESTORE, NULL));
	OK(cuMemcpyDtoH(now, table[4].mem, LAST));
	assert_memory_equal(now, bytes + 4 * SBT_PAGE, LAST);
	OK(cuMemcpyDtoH(now, table[1].mem, SBT_PAGE));
	assert_memory_not_equal(now, bytes + SBT_PAGE, SBT_PAGE);
	/* The same change again is as noted; committed, it is the copy's. */
	OK(cuMemsetD8(
		table[4].mem + LAST - 1, (unsigned char)(bytes[4 * SBT_PAGE + LAST - 1] + 1), 1));
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_COMPARE | HASH_KERNEL_COMMIT, NULL));
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_EXPECT, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(mark, s.mark, sizeof mark));
	assert_int_equal(mark[0], 0);
	OK(cuMemcpyDtoH(now, table[4].copy, LAST));
	assert_int_equal(now[LAST - 1], (uint8_t)(bytes[4 * SBT_PAGE + LAST - 1] + 1));
	OK(cuMemcpyDtoH(sums, s.copied, sizeof sums));
	same(sums[4], sbt_page_hash(now, LAST));
	/* Another one is marked, and so is what lies in no row once it is asked for. */
	OK(cuMemsetD8(table[3].mem, (unsigned char)(bytes[3 * SBT_PAGE] + 1), 1));
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_COMPARE, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(mark, s.mark, sizeof mark));
	assert_int_equal(mark[0], 1);
	assert_int_equal(mark[1], 4);
	rows = (struct hash_kernel_rows){.n = 1, .total = PAGES, .row = {{0, 0}}};
	OK(hash_kernel_settle(&kernel, &s, &rows, HASH_KERNEL_EXPECT | HASH_KERNEL_COMMIT, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(mark, s.mark, sizeof mark));
	assert_int_equal(mark[0], 3); /* and pages 1 and 3 */
	OK(cuMemcpyDtoH(took, s.took, sizeof took));
	assert_true(took[2] > 0);
	assert_true(took[0] == UINT64_MAX);
	assert_int_equal(took[1], 0);

	OK(cuMemFree(mem));
	OK(cuMemFree(copy));
	OK(cuMemFree(s.table));
	OK(cuMemFree(s.copied));
	OK(cuMemFree(s.first));
	OK(cuMemFree(s.mark));
	OK(cuMemFree(s.took));
	free(bytes);
	free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DEVICE(test_sizes),
		ON_DEVICE(test_zeros),
		ON_DEVICE(test_pages),
		ON_DEVICE(test_many),
		ON_DEVICE(test_begun),
		ON_DEVICE(test_gather_many),
		ON_HOST(test_sizes),
		ON_HOST(test_zeros),
		ON_HOST(test_pages),
		ON_HOST(test_many),
		ON_HOST(test_begun),
		ON_HOST(test_gather_many),
		ON_DEVICE(test_settle),
		ON_HOST(test_settle),
		ON_HOST(test_short_cut),
		cmocka_unit_test(test_scratch),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
