/* SPDX-License-Identifier: Apache-2.0
 *
 * What hashing memory on the device costs, beside reading and copying it: rates and their ratios
 * from one run. bench-hash [MiB [CODE]] MiB defaults to 4096, or 16 on the software GPU (whose
 * interpreter is measured then too); CODE is a PTX or cubin file with other kernels to measure.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpucode/hash-kernel.h"

#define RUNS 10
#define MIB ((size_t)1 << 20)

/* What bench-hash calls beyond hash-kernel's own. */
#define FUNCTIONS(FN)                                                                              \
	FN(cuInit)                                                                                 \
	FN(cuDevicePrimaryCtxRetain)                                                               \
	FN(cuCtxSetCurrent)                                                                        \
	FN(cuEventCreate)                                                                          \
	FN(cuEventRecord)                                                                          \
	FN(cuEventSynchronize)                                                                     \
	FN(cuEventElapsedTime)                                                                     \
	FN(cuMemcpyDtoDAsync_v2)                                                                   \
	FN(cuMemcpyHtoD_v2)                                                                        \
	FN(cuMemcpyDtoH_v2)

static struct {
#define FIELD(name) __typeof__(&name) name;
	FUNCTIONS(FIELD)
} cu;
static struct hash_kernel_driver driver;
static struct hash_kernel kernel;
static CUfunction reader;
static CUevent start, end;
static CUdeviceptr from, to;
static size_t bytes;

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "bench-hash: %s: error %d\n", what, (int)r);
	exit(1);
}
#define CHECK(call) check(call, #call)

static void *look_up(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		fprintf(stderr, "bench-hash: %s: not in libcuda.so.1\n", name);
	return p;
}

static void load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "bench-hash: %s\n", dlerror());
		exit(77);
	}
	if (!hash_kernel_driver_fill(&driver, look_up, lib))
		exit(1);
#define LOAD(name)                                                                                 \
	cu.name = (__typeof__(cu.name))(uintptr_t)look_up(lib, #name);                             \
	if (!cu.name)                                                                              \
		exit(1);
	FUNCTIONS(LOAD)
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *p = calloc(1, 4 * MIB);

	if (!f || !p || !fread(p, 1, 4 * MIB - 1, f)) {
		fprintf(stderr, "bench-hash: cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	return p;
}

static void other_code(const char *path)
{
	CUmodule m;

	CHECK(driver.cuModuleLoadData(&m, slurp(path)));
	CHECK(driver.cuModuleGetFunction(&kernel.hash, m, "tsdb_hash"));
	kernel.module = m;
}

/* --- what is measured --- */

static void run_read(void)
{
	CUdeviceptr out = to;
	uint64_t cells = bytes / 16;
	void *params[] = {&from, &cells, &out};

	CHECK(driver.cuLaunchKernel(reader, kernel.blocks, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
}

static void run_copy(void)
{
	CHECK(cu.cuMemcpyDtoDAsync_v2(to, from, bytes, NULL));
}

static void run_pages(void)
{
	CHECK(hash_kernel_pages_device(&kernel, (struct hash_kernel_range){from, bytes}, to, NULL));
}

static void run_range(void)
{
	struct hash_kernel_range range = {from, bytes};
	struct sbt_hash hash;

	CHECK(hash_kernel_ranges(&kernel, &range, 1, &hash, NULL));
}

/* 1 MiB and a bit each: nothing ends with a page. */
static void run_ranges(void)
{
	size_t n = bytes / (MIB + 256);
	struct hash_kernel_range *ranges = calloc(n, sizeof(*ranges));
	struct sbt_hash *hash = calloc(n, sizeof(*hash));

	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct hash_kernel_range){from + i * (MIB + 256), MIB + 256};
	CHECK(hash_kernel_ranges(&kernel, ranges, n, hash, NULL));
	free(ranges);
	free(hash);
}

/* --- a window's memory: WINDOW_MIB in 40 allocations, and 1,070 globals of 1 kB (a training step
 * of PyTorch) --- */

#define ALLOCATIONS 40
#define GLOBALS 1070
static struct hash_kernel_range window[ALLOCATIONS + GLOBALS];
static size_t window_bytes, window_pages;
static CUdeviceptr packed;

static void list_window(void)
{
	CUdeviceptr at = from;

	window_bytes = bytes / 4 < 300 * MIB ? bytes / 4 : 300 * MIB;
	for (unsigned i = 0; i < ALLOCATIONS + GLOBALS; i++) {
		const size_t size = i < ALLOCATIONS ? window_bytes / ALLOCATIONS / 512 * 512 : 1024;

		window[i] = (struct hash_kernel_range){at, size};
		at += size;
		window_pages += (size + SBT_PAGE - 1) / SBT_PAGE;
	}
	CHECK(driver.cuMemAlloc_v2(&packed, window_pages * SBT_PAGE));
}

static void run_gather(void)
{
	CHECK(hash_kernel_gather_begin(
		&kernel, window, ALLOCATIONS + GLOBALS, 0, (uint32_t)window_pages, packed, NULL));
	CHECK(hash_kernel_wait(&kernel, NULL));
}

static void run_window(void)
{
	struct sbt_hash hash[ALLOCATIONS + GLOBALS];

	CHECK(hash_kernel_ranges(&kernel, window, ALLOCATIONS + GLOBALS, hash, NULL));
}

static void run_window_copy(void)
{
	CHECK(cu.cuMemcpyDtoDAsync_v2(to, from, window_bytes, NULL));
	CHECK(driver.cuStreamSynchronize(NULL));
}

/* Milliseconds by the host's clock, waiting included: the best of RUNS. */
static double took(void (*run)(void))
{
	struct timespec a, b;
	double ms, best = 1e30;

	run();
	for (int i = 0; i < RUNS; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		run();
		clock_gettime(CLOCK_MONOTONIC, &b);
		ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
		if (ms < best)
			best = ms;
	}
	return best;
}

static void print_window(void)
{
	double copy, gather, hash;

	list_window();
	copy = took(run_window_copy);
	gather = took(run_gather);
	hash = took(run_window);
	printf("a window of %zu MiB in %d allocations and %d globals, by the host's clock: one copy %.3f ms, gathered %.3f ms, ratio %.2f, hashed %.3f ms, ratio %.2f\n",
		window_bytes / MIB, ALLOCATIONS, GLOBALS, copy, gather, gather / copy, hash,
		hash / copy);
}

/* Bytes a second; the best of RUNS. */
static double rate(void (*run)(void))
{
	float ms, best = 1e30f;

	run();
	for (int i = 0; i < RUNS; i++) {
		CHECK(cu.cuEventRecord(start, NULL));
		run();
		CHECK(cu.cuEventRecord(end, NULL));
		CHECK(cu.cuEventSynchronize(end));
		CHECK(cu.cuEventElapsedTime(&ms, start, end));
		if (ms < best)
			best = ms;
	}
	return (double)bytes / best * 1e3;
}

static void fill(void)
{
	size_t n = bytes < 64 * MIB ? bytes : 64 * MIB;
	uint64_t *p = malloc(n), x = 1;

	if (!p)
		exit(1);
	for (size_t i = 0; i < n / 8; i++)
		p[i] = x = x * 6364136223846793005ull + 1442695040888963407ull;
	for (size_t at = 0; at < bytes; at += n)
		CHECK(cu.cuMemcpyHtoD_v2(from + at, p, bytes - at < n ? bytes - at : n));
	free(p);
}

/* The first 64 MiB against the host. */
static int wrong(void)
{
	size_t n = bytes < 64 * MIB ? bytes : 64 * MIB;
	struct hash_kernel_range range[3] = {{from, n}, {from + 4, n / 2 + 1}, {from + 3, 100001}};
	struct sbt_hash hash[3];
	uint8_t *p = malloc(n);
	int bad = 0;

	if (!p)
		exit(1);
	CHECK(cu.cuMemcpyDtoH_v2(p, from, n));
	CHECK(hash_kernel_ranges(&kernel, range, 3, hash, NULL));
	for (int i = 0; i < 3; i++)
		bad += !sbt_hash_equal(
			hash[i], sbt_range_hash(p + (range[i].addr - from), range[i].size));
	free(p);
	printf("hashes of the device and of the host: %s\n", bad ? "DIFFERENT" : "the same");
	return bad;
}

static void open_all(int argc, char **argv)
{
	char name[128];
	CUcontext ctx;
	int software;

	load_driver();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cu.cuCtxSetCurrent(ctx));
	CHECK(driver.cuDeviceGetName(name, sizeof(name), 0));
	software = strstr(name, "software") != NULL;
	bytes = (argc > 1 ? strtoul(argv[1], NULL, 0) : software ? 16 : 4096) * MIB;
	if (!bytes)
		exit(2);
	printf("device: %s; %zu MiB, best of %d\n", name, bytes / MIB, RUNS);
	CHECK(hash_kernel_open(&kernel, &driver, 0, HASH_KERNEL_ON_DEVICE));
	CHECK(driver.cuModuleGetFunction(&reader, kernel.module, "tsdb_read"));
	if (argc > 2)
		other_code(argv[2]);
	CHECK(cu.cuEventCreate(&start, 0));
	CHECK(cu.cuEventCreate(&end, 0));
	CHECK(driver.cuMemAlloc_v2(&from, bytes));
	CHECK(driver.cuMemAlloc_v2(&to, bytes));
	fill();
}

int main(int argc, char **argv)
{
	double read, pages, range, ranges, copy;

	open_all(argc, argv);
	read = rate(run_read);
	printf("read:                   %9.1f GB/s\n", read / 1e9);
	pages = rate(run_pages);
	printf("hash, by page:          %9.1f GB/s, %.2f of reading\n", pages / 1e9, pages / read);
	range = rate(run_range);
	printf("hash, one range:        %9.1f GB/s, %.2f of reading\n", range / 1e9, range / read);
	ranges = rate(run_ranges);
	printf("hash, ranges of 1 MiB:  %9.1f GB/s, %.2f of reading\n", ranges / 1e9,
		ranges / read);
	copy = rate(run_copy);
	printf("copy on the device:     %9.1f GB/s of payload, %.2f of reading\n", copy / 1e9,
		copy / read);
	print_window();
	return wrong() != 0;
}
