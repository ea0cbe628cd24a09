/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of the software GPU: that they repeat from run to run, and that a later process can put
 * memory at the addresses of an earlier one, which is what executing a trace again needs. Run with
 * an argument it is the earlier process: it prints its addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)
#define G ((size_t)2 << 20)
#define BASE 0x302000000ull
#define PINNED_BASE 0x200000000000ull

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			  ".global .align 4 .b8 table[4096];\n"
			  /* p[i] = p[i] * 3 + q[i] */
			  ".visible .entry mad(.param .u64 p, .param .u64 q)\n{\n"
			  ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
			  "ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n"
			  "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
			  "mad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd3, %r4, 4;\n"
			  "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
			  "ld.global.u32 %r5, [%rd4];\nld.global.u32 %r6, [%rd5];\n"
			  "mad.lo.s32 %r7, %r5, 3, %r6;\nst.global.u32 [%rd4], %r7;\nret;\n}\n";

static const CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAccessDesc rw = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
	.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const char *self;
static CUcontext ctx;

/* --- the earlier process --- */

enum { A_SMALL, A_BIG, A_ASYNC, A_AGAIN, A_PINNED, A_PINNED2, A_MANAGED, A_COUNT };

#define TRY(call)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_) {                                                                          \
			fprintf(stderr, "%s: %d\n", #call, (int)r_);                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void earlier(void)
{
	CUdeviceptr a[A_COUNT], gone;
	CUmodule m;
	CUstream s;
	void *p;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&ctx, 0));
	TRY(cuCtxSetCurrent(ctx));
	TRY(cuModuleLoadData(&m, ptx));
	TRY(cuStreamCreate(&s, 0));
	TRY(cuMemAlloc(&a[A_SMALL], 1000));
	TRY(cuMemAlloc(&gone, 3 * G));
	TRY(cuMemAlloc(&a[A_BIG], 5 * G + 4));
	TRY(cuMemFree(gone));
	TRY(cuMemAllocAsync(&a[A_ASYNC], 4096, s));
	TRY(cuMemAlloc(&a[A_AGAIN], G));
	TRY(cuMemHostAlloc(&p, 5000, 0));
	a[A_PINNED] = (CUdeviceptr)p;
	TRY(cuMemAllocHost(&p, 1 << 20));
	a[A_PINNED2] = (CUdeviceptr)p;
	TRY(cuMemAllocManaged(&a[A_MANAGED], 100, CU_MEM_ATTACH_GLOBAL));
	for (int i = 0; i < A_COUNT; i++)
		printf("%llx\n", a[i]);
}

static void addresses(unsigned long long ret[A_COUNT])
{
	char line[512];
	FILE *f;

	snprintf(line, sizeof(line), "'%s' earlier", self);
	f = popen(line, "r");
	assert_non_null(f);
	for (int i = 0; i < A_COUNT; i++)
		assert_int_equal(fscanf(f, "%llx", &ret[i]), 1);
	assert_int_equal(pclose(f), 0);
}

/* --- tests --- */

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

/* First fit in steps of 512 bytes, 256 of them nothing: 1000 take 1536. */
static void test_same_addresses(void **state)
{
	unsigned long long a[A_COUNT], b[A_COUNT];

	addresses(a);
	addresses(b);
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(a[A_SMALL], BASE);
	assert_int_equal(a[A_BIG], BASE + 1536 + 3 * G + 512);
	assert_int_equal(a[A_ASYNC], BASE + 1536); /* where the freed one was */
	assert_int_equal(a[A_AGAIN], BASE + 1536 + 4096 + 512);
	assert_int_equal(a[A_PINNED], PINNED_BASE); /* 2 pages and one of nothing */
	assert_int_equal(a[A_PINNED2], PINNED_BASE + 0x3000);
	assert_int_equal(a[A_MANAGED], PINNED_BASE + 0x3000 + (1 << 20) + 0x1000);
}

static CUdeviceptr place(uint64_t from, uint64_t to)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr va;

	OK(cuMemAddressReserve(&va, to - from, 0, from, 0));
	assert_int_equal(va, from);
	OK(cuMemCreate(&h, to - from, &prop, 0));
	OK(cuMemMap(va, to - from, 0, h, 0));
	OK(cuMemRelease(h));
	OK(cuMemSetAccess(va, to - from, &rw, 1));
	return va;
}

static void unplace(CUdeviceptr va, size_t size)
{
	OK(cuMemUnmap(va, size));
	OK(cuMemAddressFree(va, size));
}

/* Each 2 MiB of the earlier process's allocations is put back where it was; its pinned memory too.
 */
static void test_replay(void **state)
{
	unsigned long long a[A_COUNT], low, high;
	unsigned n = 5 * G / 4 / 256, in[256], out[256];
	CUdeviceptr other;
	CUmodule m;
	CUfunction f;
	void *params[2], *host, *own;

	addresses(a);
	OK(cuModuleLoadData(&m, ptx)); /* its variables are out of the way */
	OK(cuModuleGetFunction(&f, m, "mad"));
	low = a[A_SMALL] / G * G;
	high = (a[A_BIG] + 5 * G + 4 + G - 1) / G * G;
	place(low, low + G);
	place(low + G, high);
	place(a[A_SMALL] + (1ull << 35),
		a[A_SMALL] + (1ull << 35) + G);	       /* of a device with more memory */
	OK(cuMemAddressReserve(&other, G, 0, low, 0)); /* taken: elsewhere */
	assert_true(other >= high);
	OK(cuMemAddressFree(other, G));
	host = mmap((void *)a[A_PINNED2], 1 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_int_equal((uint64_t)host, a[A_PINNED2]);
	OK(cuMemHostRegister(host, 1 << 20, 0));
	OK(cuMemHostAlloc(&own, 2 << 20, 0)); /* steps over it */
	assert_true(
		(char *)own >= (char *)host + (1 << 20) || (char *)own + (2 << 20) <= (char *)host);

	/* p spans the two mappings: p[i] = 7 * 3 + 5; the last block's q is pinned memory with q[i]
	 * = i */
	OK(cuMemsetD32(a[A_SMALL], 7, (high - low) / 4));
	OK(cuMemsetD32(a[A_SMALL] + (1ull << 35), 5, G / 4));
	for (int i = 0; i < 256; i++)
		((unsigned *)host)[i] = in[i] = (unsigned)i;
	other = a[A_SMALL] + G - 512;
	params[0] = &other;
	params[1] = &(CUdeviceptr){a[A_SMALL] + (1ull << 35)};
	OK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, 0, params, NULL));
	OK(cuMemcpyDtoH(out, other, sizeof(out)));
	for (int i = 0; i < 256; i++)
		assert_int_equal(out[i], 26);
	other = a[A_BIG] + (n - 1) * 1024ull;
	params[1] = &(CUdeviceptr){a[A_PINNED2]};
	OK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, 0, params, NULL));
	OK(cuMemcpyDtoH(out, other, sizeof(out)));
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(out[i], 21 + i);
	OK(cuMemcpyHtoD(a[A_SMALL] + G - 100, in, sizeof(in))); /* across */
	OK(cuMemcpyDtoD(a[A_SMALL] + 2 * G, a[A_SMALL] + G - 100, sizeof(in)));
	OK(cuMemcpyDtoH(out, a[A_SMALL] + 2 * G, sizeof(out)));
	assert_memory_equal(in, out, sizeof(in));

	OK(cuMemHostUnregister(host));
	munmap(host, 1 << 20);
	OK(cuMemFreeHost(own));
	unplace(low, G);
	unplace(low + G, high - low - G);
	unplace(a[A_SMALL] + (1ull << 35), G);
	OK(cuModuleUnload(m));
	OK(cuMemAlloc(&other, 1000)); /* as if nothing had been */
	assert_int_equal(other, BASE);
	OK(cuMemFree(other));
}

/* One memory at two addresses; and more handles than a process may have files. */
static void test_shared_pages(void **state)
{
	struct rlimit files = {64, 64}, before;
	CUmemGenericAllocationHandle h, many[200], again;
	CUdeviceptr va;
	unsigned word;
	size_t free0, free1, total;

	OK(cuMemGetInfo(&free0, &total));
	getrlimit(RLIMIT_NOFILE, &before);
	files.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	OK(cuMemAddressReserve(&va, 200 * G, 0, 0, 0));
	OK(cuMemCreate(&h, G, &prop, 0));
	OK(cuMemMap(va, G, 0, h, 0));
	OK(cuMemMap(va + G, G, 0, h, 0));
	OK(cuMemSetAccess(va, 2 * G, &rw, 1));
	OK(cuMemcpyDtoH(&word, va + 8, 4));
	assert_int_equal(word, 0);
	word = 0x1234;
	OK(cuMemcpyHtoD(va + 8, &word, 4));
	OK(cuMemcpyDtoH(&word, va + G + 8, 4));
	assert_int_equal(word, 0x1234);
	OK(cuMemRetainAllocationHandle(&again, (void *)(va + G + 99)));
	assert_true(again == h);
	OK(cuMemRelease(h));
	OK(cuMemUnmap(va, 2 * G));
	OK(cuMemMap(va + 2 * G, G, 0, again, 0));
	OK(cuMemRelease(again));
	OK(cuMemSetAccess(va + 2 * G, G, &rw, 1));
	OK(cuMemcpyDtoH(&word, va + 2 * G + 8, 4));
	assert_int_equal(word, 0x1234);
	OK(cuMemUnmap(va + 2 * G, G));
	for (int i = 0; i < 200; i++) {
		OK(cuMemCreate(&many[i], G, &prop, 0));
		OK(cuMemMap(va + i * G, G, 0, many[i], 0));
		OK(cuMemRelease(many[i]));
	}
	OK(cuMemSetAccess(va, 200 * G, &rw, 1));
	OK(cuMemGetInfo(&free1, &total));
	assert_int_equal(free0 - free1, 200 * G);
	OK(cuMemsetD8(va, 3, 200 * G));
	OK(cuMemUnmap(va, 200 * G));
	OK(cuMemAddressFree(va, 200 * G));
	OK(cuMemGetInfo(&free1, &total));
	assert_int_equal(free0, free1);
	IS(cuMemCreate(&h, (total + 2 * G) / G * G, &prop, 0), OUT_OF_MEMORY);
	OK(cuMemAddressReserve(
		&va, (total + 2 * G) / G * G, 0, 0, 0)); /* addresses alone cost nothing */
	OK(cuMemAddressFree(va, (total + 2 * G) / G * G));
	setrlimit(RLIMIT_NOFILE, &before);
}

/* What an H200 answers (driver 580.159), call by call. */
static void test_answers(void **state)
{
	CUmemAccessDesc access = rw;
	CUmemAllocationProp bad = prop;
	CUmemGenericAllocationHandle h, k;
	unsigned long long flags;
	CUdeviceptr va, x, start;
	size_t size;

	IS(cuMemAddressReserve(&x, G + 4096, 0, 0, 0), INVALID_VALUE);
	IS(cuMemAddressReserve(&x, 0, 0, 0, 0), INVALID_VALUE);
	IS(cuMemAddressReserve(&x, G, 3, 0, 0), INVALID_VALUE);
	IS(cuMemAddressReserve(&x, G, 0, 0, 1), INVALID_VALUE);
	OK(cuMemAddressReserve(&va, 8 * G, 4096, 0, 0));
	IS(cuMemAddressReserve(&x, G, 0, va + 64 * G + 4096, 0), INVALID_VALUE);
	IS(cuMemAddressFree(va, G), INVALID_VALUE);
	IS(cuMemCreate(&h, G + 4096, &prop, 0), INVALID_VALUE);
	IS(cuMemCreate(&h, 0, &prop, 0), INVALID_VALUE);
	IS(cuMemCreate(&h, 1ull << 45, &prop, 0), OUT_OF_MEMORY);
	bad.location.id = 9;
	IS(cuMemCreate(&h, G, &bad, 0), INVALID_DEVICE);
	bad = prop;
	bad.type = 0;
	IS(cuMemCreate(&h, G, &bad, 0), INVALID_VALUE);
	bad = prop;
	bad.location.type = 9;
	IS(cuMemCreate(&h, G, &bad, 0), INVALID_VALUE);
	OK(cuMemCreate(&h, 2 * G, &prop, 0));
	OK(cuMemCreate(&k, G, &prop, 0));
	OK(cuMemMap(va, 2 * G, 0, h, 0));
	IS(cuMemMap(va, G, 0, k, 0), INVALID_VALUE);
	IS(cuMemMap(va + 2 * G, 2 * G, 0, k, 0), NOT_SUPPORTED);
	IS(cuMemMap(va + 2 * G + 4096, G, 0, k, 0), INVALID_VALUE);
	IS(cuMemMap(va + 3 * G, G, G, h, 0), NOT_SUPPORTED);
	IS(cuMemMap(va + 4 * G, G, 0, h, 0), NOT_SUPPORTED);
	IS(cuMemMap(va + 64 * G, G, 0, k, 0), INVALID_VALUE);
	OK(cuMemMap(va + 2 * G, G, 0, k, 0));
	OK(cuMemMap(va + 5 * G, G, 0, k, 0));
	IS(cuMemsetD8(va, 1, 9), INVALID_VALUE);
	IS(cuMemSetAccess(va, G, &rw, 1), INVALID_VALUE);
	IS(cuMemSetAccess(va, 8 * G, &rw, 1), INVALID_VALUE);
	IS(cuMemSetAccess(va + 6 * G, G, &rw, 1), INVALID_VALUE);
	IS(cuMemSetAccess(va, 3 * G, &rw, 0), INVALID_VALUE);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	OK(cuMemSetAccess(va, 2 * G, &access, 1));
	OK(cuMemGetAccess(&flags, &prop.location, va));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	IS(cuMemsetD8(va, 1, 9), INVALID_VALUE);
	IS(cuMemcpyHtoD(va, &size, 8), INVALID_VALUE);
	OK(cuMemcpyDtoH(&size, va, 8));
	OK(cuMemSetAccess(va, 3 * G, &rw, 1));
	IS(cuMemGetAccess(&flags, &prop.location, va + 7 * G), INVALID_VALUE);
	OK(cuMemsetD8(va, 1, 3 * G));
	IS(cuMemsetD8(va, 1, 3 * G + 1), INVALID_VALUE);
	OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, va + 2 * G + 5));
	OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, va + 2 * G + 5));
	assert_int_equal(start, va);
	assert_int_equal(size, 8 * G);
	IS(cuMemFree(va), INVALID_VALUE);
	IS(cuMemAddressFree(va, 8 * G), INVALID_VALUE);
	IS(cuMemRetainAllocationHandle(&k, (void *)(va + 7 * G)), INVALID_VALUE);
	IS(cuMemUnmap(va, G), INVALID_VALUE);
	IS(cuMemUnmap(va + G, G), INVALID_VALUE);
	OK(cuMemUnmap(va, 8 * G)); /* with gaps */
	OK(cuMemUnmap(va + 6 * G, G));
	OK(cuMemRelease(h));
	OK(cuMemRelease(k));
	OK(cuMemAddressFree(va, 8 * G));
	IS(cuMemAddressFree(va, 8 * G), INVALID_VALUE);
}

/* Last: the fault ends the context. */
static void test_fault(void **state)
{
	CUmemAccessDesc access = rw;
	CUmemGenericAllocationHandle h;
	unsigned long long flags;
	CUdeviceptr va, q;
	void *params[2] = {&va, &q};
	CUcontext own;
	CUmodule m;
	CUfunction f;

	OK(cuMemAddressReserve(&va, G, 0, 0, 0));
	OK(cuMemCreate(&h, G, &prop, 0));
	OK(cuMemMap(va, G, 0, h, 0));
	OK(cuMemGetAccess(&flags, &prop.location, va + 5));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemSetAccess(va, G, &rw, 1));
	OK(cuMemGetAccess(&flags, &prop.location, va + 5));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	for (int step = 0; step < 3; step++) { /* allowed, allowed no more, not there */
		OK(cuCtxCreate(&own, NULL, 0, 0));
		OK(cuMemAlloc(&q, 1024));
		OK(cuModuleLoadData(&m, ptx));
		OK(cuModuleGetFunction(&f, m, "mad"));
		OK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, 0, params, NULL));
		if (!step)
			OK(cuCtxSynchronize());
		else
			IS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
		OK(cuCtxDestroy(own));
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
		if (!step)
			OK(cuMemSetAccess(va, G, &access, 1));
		else if (step == 1)
			OK(cuMemUnmap(va, G));
	}
	OK(cuMemRelease(h));
	OK(cuMemAddressFree(va, G));
	OK(cuCtxSetCurrent(ctx));
}

/* ---- memory of two processes ---- */

/* Another process: expects 0x11223344 in memory that it imports, writes 0x55667788 behind it, and
 * ends with a context that has faulted. */
static void importer(int fd)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr va, bad = 64;
	void *params[2] = {&bad, &bad};
	uint32_t w = 0;
	CUmodule m;
	CUfunction f;

	TRY(cuInit(0));
	TRY(cuCtxCreate(&ctx, NULL, 0, 0));
	TRY(cuMemImportFromShareableHandle(
		&h, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	TRY(cuMemAddressReserve(&va, G, 0, 0, 0));
	TRY(cuMemMap(va, G, 0, h, 0));
	TRY(cuMemSetAccess(va, G, &rw, 1));
	TRY(cuMemcpyDtoH(&w, va, 4));
	if (w != 0x11223344)
		exit(2);
	w = 0x55667788;
	TRY(cuMemcpyHtoD(va + 4, &w, 4));
	TRY(cuModuleLoadData(&m, ptx));
	TRY(cuModuleGetFunction(&f, m, "mad"));
	TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, params, NULL));
	if (cuCtxSynchronize() != CUDA_ERROR_ILLEGAL_ADDRESS ||
		cuMemcpyDtoH(&w, va, 4) != CUDA_ERROR_ILLEGAL_ADDRESS)
		exit(3);
}

static int run_importer(int fd)
{
	char number[16];
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		dup2(fd, 99); /* without O_CLOEXEC */
		snprintf(number, sizeof(number), "%d", 99);
		execl("/proc/self/exe", self, "import", number, (char *)NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_memory_of_two_processes(void **state)
{
	CUmemAllocationProp exported = prop;
	CUmemGenericAllocationHandle h;
	uint32_t w = 0x11223344;
	CUdeviceptr va;
	int fd = -1;

	OK(cuMemCreate(&h, G, &prop, 0));
	IS(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		INVALID_VALUE);
	OK(cuMemRelease(h));
	IS(cuMemImportFromShareableHandle(
		   &h, (void *)(uintptr_t)1000, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
		INVALID_VALUE);
	exported.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	OK(cuMemCreate(&h, G, &exported, 0));
	OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemAddressReserve(&va, G, 0, 0, 0));
	OK(cuMemMap(va, G, 0, h, 0));
	OK(cuMemSetAccess(va, G, &rw, 1));
	OK(cuMemcpyHtoD(va, &w, 4));
	assert_int_equal(run_importer(fd), 0);
	OK(cuMemcpyDtoH(&w, va, 4));
	assert_int_equal(w, 0x11223344);
	OK(cuMemcpyDtoH(&w, va + 4, 4));
	assert_int_equal(w, 0x55667788);
	close(fd);
	OK(cuMemUnmap(va, G));
	OK(cuMemRelease(h));
	OK(cuMemAddressFree(va, G));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__ /* its shadow is where device memory belongs */
		cmocka_unit_test(test_same_addresses),
		cmocka_unit_test(test_replay),
#endif
		cmocka_unit_test(test_shared_pages),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_memory_of_two_processes),
	};

	self = argv[0];
	if (argc > 2) {
		importer(atoi(argv[2]));
		return 0;
	}
	if (argc > 1) {
		earlier();
		return 0;
	}
#ifdef __SANITIZE_ADDRESS__
	(void)test_same_addresses;
	(void)test_replay;
#endif
	return cmocka_run_group_tests(tests, start, stop);
}
