/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 of the software GPU through its public interface, without kernels (those are in
 * test-softgpu-launch.c): what each call does and what it answers to wrong arguments. All
 * expectations are worked out by hand or taken from the driver API's manual.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)

static CUcontext primary;

static void nap_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* Holds a stream until the gate opens. */
struct gate {
	_Atomic bool open, reached;
};

static void gate_wait(void *p)
{
	struct gate *g = p;

	g->reached = true;
	while (!g->open)
		nap_ms(1);
}

/* --- starting --- */

static int start(void **state)
{
	CUcontext none = (CUcontext)1;
	int n;

	IS(cuDeviceGetCount(&n), NOT_INITIALIZED);
	IS(cuCtxGetCurrent(&none), NOT_INITIALIZED);
	IS(cuInit(1), INVALID_VALUE);
	OK(cuInit(0));
	OK(cuInit(0));
	OK(cuCtxGetCurrent(&none));
	assert_null(none);
	IS(cuCtxGetDevice(&n), INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	IS(cuDevicePrimaryCtxRelease(0), INVALID_CONTEXT);
	return 0;
}

static void test_device(void **state)
{
	char name[64], small[4], bus[16];
	CUuuid uuid;
	size_t total;
	CUdevice dev = 7;
	int n;

	OK(cuDriverGetVersion(&n));
	assert_int_equal(n, 13000);
	IS(cuDriverGetVersion(NULL), INVALID_VALUE);
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 1);
	OK(cuDeviceGet(&dev, 0));
	assert_int_equal(dev, 0);
	IS(cuDeviceGet(&dev, 1), INVALID_DEVICE);
	IS(cuDeviceGet(&dev, -1), INVALID_DEVICE);
	IS(cuDeviceGet(NULL, 0), INVALID_VALUE);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	assert_string_equal(name, "TraceSmith software GPU");
	OK(cuDeviceGetName(small, sizeof(small), 0));
	assert_string_equal(small, "Tra");
	OK(cuDeviceGetName(small, 1, 0));
	assert_string_equal(small, "");
	IS(cuDeviceGetName(small, 0, 0), INVALID_VALUE);
	OK(cuDeviceTotalMem(&total, 0));
	assert_true(total >= 1 << 20);
	OK(cuDeviceGetUuid_v2(&uuid, 0));
	OK(cuDeviceGetPCIBusId(bus, sizeof(bus), 0));
	OK(cuDeviceGetByPCIBusId(&dev, bus));
	OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	assert_int_equal(n, 32);
	OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_true(n >= 1);
	IS(cuDeviceGetAttribute(&n, (CUdevice_attribute)0, 0), INVALID_VALUE);
	IS(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MAX, 0), INVALID_VALUE);
	IS(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1), INVALID_DEVICE);
	OK(cuDeviceCanAccessPeer(&n, 0, 0));
	assert_int_equal(n, 0);
}

/* "CUDA Driver API", cuDeviceGetByPCIBusId: [domain]:[bus]:[device].[function],
 * [domain]:[bus]:[device], [bus]:[device].[function]. */
static void test_pci_ids(void **state)
{
	static const char *const its[] = {"0000:00:00.0", "0:0:0.0", "0000:00:00", "00:00.0"},
				 *const anothers[] = {"0000:00:00.1", "0000:00:01.0",
					 "0001:00:00.0", "0000:7f:00.0", "00:00.1", "00:01.0",
					 "7f:00.0"},
				 *const none[] = {"", "0000", "GPU 0", "00:"};
	char bus[13];
	CUdevice dev;

	OK(cuDeviceGetPCIBusId(bus, 13, 0));
	assert_string_equal(bus, "0000:00:00.0");
	IS(cuDeviceGetPCIBusId(bus, 12, 0), INVALID_VALUE);
	for (size_t i = 0; i < sizeof its / sizeof *its; i++) {
		dev = 7;
		OK(cuDeviceGetByPCIBusId(&dev, its[i]));
		assert_int_equal(dev, 0);
	}
	for (size_t i = 0; i < sizeof anothers / sizeof *anothers; i++)
		IS(cuDeviceGetByPCIBusId(&dev, anothers[i]), INVALID_DEVICE);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		IS(cuDeviceGetByPCIBusId(&dev, none[i]), INVALID_VALUE);
}

static void test_errors(void **state)
{
	const char *s = "x";

	OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &s));
	assert_string_equal(s, "CUDA_ERROR_ILLEGAL_ADDRESS");
	OK(cuGetErrorString(CUDA_SUCCESS, &s));
	assert_string_equal(s, "no error");
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s));
	assert_string_equal(s, "out of memory");
	IS(cuGetErrorName((CUresult)12345, &s), INVALID_VALUE);
	assert_null(s);
}

static void test_contexts(void **state)
{
	CUcontext again, a, b, c;
	unsigned flags;
	unsigned long long id, id2;
	CUdevice dev;
	size_t n;
	int active, lo, hi;

	OK(cuDevicePrimaryCtxRetain(&again, 0));
	assert_ptr_equal(again, primary);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	IS(cuCtxDestroy(primary), INVALID_CONTEXT);

	OK(cuCtxCreate(&a, NULL, CU_CTX_SCHED_YIELD, 0));
	OK(cuCtxGetCurrent(&c));
	assert_ptr_equal(c, a);
	OK(cuCtxGetFlags(&flags));
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	OK(cuCtxGetDevice(&dev));
	OK(cuCtxGetId(a, &id));
	OK(cuCtxGetId(primary, &id2));
	assert_true(id != id2);
	OK(cuCtxPushCurrent(primary));
	OK(cuCtxPopCurrent(&b));
	assert_ptr_equal(b, primary);
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	OK(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE));
	assert_int_equal(n, 4096);
	IS(cuCtxGetLimit(&n, CU_LIMIT_MAX), INVALID_VALUE);
	OK(cuCtxGetStreamPriorityRange(&lo, &hi));
	assert_true(hi < lo);
	OK(cuCtxDestroy(a));
	IS(cuCtxDestroy(a), INVALID_CONTEXT);
	IS(cuCtxPushCurrent(a), INVALID_CONTEXT);
	OK(cuCtxGetCurrent(&c));
	assert_ptr_equal(c, primary);
	IS(cuCtxSetCurrent((CUcontext)&a), INVALID_CONTEXT);
	IS(cuCtxCreate(&a, NULL, 0, 3), INVALID_DEVICE);
	IS(cuCtxCreate(NULL, NULL, 0, 0), INVALID_VALUE);
}

/* --- memory --- */

static void test_alloc(void **state)
{
	size_t free0, free1, total, size, pitch;
	CUdeviceptr a, b, base;

	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemAlloc(&a, 1000));
	OK(cuMemAlloc(&b, 1));
	assert_int_equal(a % 256, 0);
	assert_int_equal(b % 256, 0);
	assert_true(b >= a + 1000 || b + 1 <= a);
	OK(cuMemGetInfo(&free1, &total));
	assert_true(free1 < free0);
	OK(cuMemGetAddressRange(&base, &size, a + 999));
	assert_int_equal(base, a);
	assert_int_equal(size, 1000);
	IS(cuMemGetAddressRange(&base, &size, a + 1000), NOT_FOUND);
	IS(cuMemAlloc(&base, 0), INVALID_VALUE);
	IS(cuMemAlloc(NULL, 1), INVALID_VALUE);
	IS(cuMemAlloc(&base, SIZE_MAX), OUT_OF_MEMORY);
	IS(cuMemAlloc(&base, total + 1), OUT_OF_MEMORY);
	IS(cuMemFree(a + 256), INVALID_VALUE);
	OK(cuMemFree(0));
	OK(cuMemFree(a));
	IS(cuMemFree(a), INVALID_VALUE);
	OK(cuMemFree(b));
	OK(cuMemGetInfo(&free1, &total));
	assert_int_equal(free1, free0);
	OK(cuMemAllocPitch(&a, &pitch, 100, 3, 4));
	assert_int_equal(pitch % 512, 0);
	OK(cuMemGetAddressRange(NULL, &size, a));
	assert_int_equal(size, 3 * pitch);
	OK(cuMemFree(a));
	IS(cuMemAllocPitch(&a, &pitch, 100, 3, 5), INVALID_VALUE);
}

static void test_copies(void **state)
{
	unsigned char h[64], back[64];
	CUdeviceptr d, e;
	unsigned i;

	for (i = 0; i < 64; i++)
		h[i] = (unsigned char)(i * 3 + 1);
	OK(cuMemAlloc(&d, 64));
	OK(cuMemAlloc(&e, 64));
	OK(cuMemcpyHtoD(d, h, 64));
	OK(cuMemcpyDtoD(e + 8, d, 56));
	OK(cuMemsetD8(e, 0xee, 8));
	OK(cuMemcpyDtoH(back, e, 64));
	for (i = 0; i < 64; i++)
		assert_int_equal(back[i], i < 8 ? 0xee : (i - 8) * 3 + 1);
	memset(back, 0, 64);
	OK(cuMemcpy((CUdeviceptr)back, d, 64));
	assert_memory_equal(back, h, 64);
	OK(cuMemcpyHtoD(d, h, 0));
	IS(cuMemcpyHtoD(d + 1, h, 64), INVALID_VALUE);
	IS(cuMemcpyDtoH(back, d + 60, 5), INVALID_VALUE);
	IS(cuMemcpyDtoD(d, e + 63, 2), INVALID_VALUE);
	IS(cuMemcpyHtoD(0, h, 1), INVALID_VALUE);
	IS(cuMemcpyHtoD((CUdeviceptr)h, h, 1), INVALID_VALUE);
	IS(cuMemcpyDtoHAsync(back, d, 64, (CUstream)back), INVALID_HANDLE);
	OK(cuMemFree(d));
	OK(cuMemFree(e));
	IS(cuMemcpyDtoH(back, d, 1), INVALID_VALUE);
}

static void test_fills(void **state)
{
	unsigned short s[8];
	unsigned w[8], i;
	unsigned char rows[4][16];
	CUdeviceptr d;

	OK(cuMemAlloc(&d, 64));
	OK(cuMemsetD32(d, 0x01020304, 8));
	OK(cuMemsetD16(d + 4, 0xabcd, 2));
	OK(cuMemcpyDtoH(w, d, 32));
	assert_int_equal(w[0], 0x01020304);
	assert_int_equal(w[1], 0xabcdabcd);
	assert_int_equal(w[7], 0x01020304);
	OK(cuMemsetD16Async(d, 7, 8, NULL));
	OK(cuMemcpyDtoH(s, d, 16));
	for (i = 0; i < 8; i++)
		assert_int_equal(s[i], 7);
	OK(cuMemsetD8(d, 0, 64));
	OK(cuMemsetD2D8(d + 2, 16, 9, 3, 4)); /* columns 2 to 4 of four rows of 16 */
	OK(cuMemcpyDtoH(rows, d, 64));
	for (i = 0; i < 64; i++)
		assert_int_equal(rows[i / 16][i % 16], i % 16 >= 2 && i % 16 < 5 ? 9 : 0);
	IS(cuMemsetD8(d, 0, 65), INVALID_VALUE);
	IS(cuMemsetD32(d + 1, 0, 1), INVALID_VALUE);
	IS(cuMemsetD32(d, 0, SIZE_MAX), INVALID_VALUE);
	IS(cuMemsetD2D8(d, 16, 0, 16, 5), INVALID_VALUE);
	IS(cuMemsetD2D32(d, 8, 0, 3, 2), INVALID_VALUE); /* rows overlap */
	OK(cuMemFree(d));
}

static void test_copies_2d_3d(void **state)
{
	unsigned char src[6][10], dst[2][3][4];
	CUDA_MEMCPY2D two = {.WidthInBytes = 4, .Height = 3};
	CUDA_MEMCPY3D three = {.WidthInBytes = 2, .Height = 2, .Depth = 2};
	CUdeviceptr d;
	unsigned i, j, k;

	for (i = 0; i < 60; i++)
		src[i / 10][i % 10] = (unsigned char)i;
	OK(cuMemAlloc(&d, 24));
	OK(cuMemsetD8(d, 0xff, 24));
	two.srcMemoryType = CU_MEMORYTYPE_HOST;
	two.srcHost = src;
	two.srcPitch = 10;
	two.srcXInBytes = 5;
	two.srcY = 2;
	two.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	two.dstDevice = d;
	two.dstPitch = 4;
	OK(cuMemcpy2D(&two)); /* rows 2 to 4, columns 5 to 8 */
	OK(cuMemcpyDtoH(dst, d, 24));
	for (i = 0; i < 3; i++)
		for (j = 0; j < 4; j++)
			assert_int_equal(dst[0][i][j], (i + 2) * 10 + j + 5);
	for (i = 0; i < 12; i++)
		assert_int_equal(dst[1][i / 4][i % 4], 0xff);
	two.dstY = 4; /* three rows from row 4 would end behind the 24 bytes */
	IS(cuMemcpy2D(&two), INVALID_VALUE);
	two.dstY = 0;
	two.dstPitch = 3;
	IS(cuMemcpy2D(&two), INVALID_VALUE);
	IS(cuMemcpy2D(NULL), INVALID_VALUE);

	for (i = 0; i < 24; i++)
		((unsigned char *)dst)[i] = (unsigned char)(100 + i);
	OK(cuMemcpyHtoD(d, dst, 24)); /* 2 slices of 3 rows of 4 */
	memset(src, 0, sizeof(src));
	three.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	three.srcDevice = d;
	three.srcPitch = 4;
	three.srcHeight = 3;
	three.srcXInBytes = 1;
	three.srcY = 1;
	three.dstMemoryType = CU_MEMORYTYPE_HOST;
	three.dstHost = src;
	three.dstPitch = 10;
	three.dstHeight = 3;
	OK(cuMemcpy3D(&three));
	for (k = 0; k < 2; k++)
		for (i = 0; i < 2; i++)
			for (j = 0; j < 2; j++)
				assert_int_equal(
					src[k * 3 + i][j], 100 + k * 12 + (i + 1) * 4 + j + 1);
	assert_int_equal(src[0][2], 0);
	assert_int_equal(src[2][0], 0);
	three.Depth = 3;
	IS(cuMemcpy3D(&three), INVALID_VALUE);
	OK(cuMemFree(d));
}

static void test_host_memory(void **state)
{
	static char mine[8192] __attribute__((aligned(4096)));
	CUdeviceptr dev;
	unsigned flags;
	CUmemorytype type;
	void *p;

	OK(cuMemHostAlloc(&p, 100, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuMemHostGetDevicePointer(&dev, p, 0));
	assert_int_equal(dev, (uint64_t)p);
	OK(cuMemHostGetFlags(&flags, p));
	assert_int_equal(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuMemsetD8((CUdeviceptr)p, 5, 100));
	OK(cuCtxSynchronize());
	assert_int_equal(((char *)p)[99], 5);
	IS(cuMemFree((CUdeviceptr)p), INVALID_VALUE);
	OK(cuMemFreeHost(p));
	IS(cuMemFreeHost(p), INVALID_VALUE);
	IS(cuMemHostAlloc(&p, 100, 0x80), INVALID_VALUE);
	IS(cuMemHostAlloc(&p, 0, 0), INVALID_VALUE);

	OK(cuMemHostRegister(mine, sizeof(mine), 0));
	IS(cuMemHostRegister(mine + 4096, 4096, 0), HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemsetD8((CUdeviceptr)mine + 4096, 3, 4096));
	OK(cuCtxSynchronize());
	assert_int_equal(mine[8191], 3);
	OK(cuMemHostUnregister(mine));
	IS(cuMemHostUnregister(mine), HOST_MEMORY_NOT_REGISTERED);

	OK(cuMemAllocManaged(&dev, 64, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemsetD8(dev, 8, 64));
	OK(cuCtxSynchronize());
	assert_int_equal(((char *)dev)[63], 8);
	OK(cuMemFree(dev));
	IS(cuMemAllocManaged(&dev, 64, 0), INVALID_VALUE);
}

static void test_pointer_attributes(void **state)
{
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned type = 9, managed = 9;
	CUdeviceptr d, base = 9;
	size_t size = 9;
	int ordinal = 9;
	void *data[] = {&type, &base, &size, &ordinal};
	CUcontext ctx;

	OK(cuMemAlloc(&d, 300));
	OK(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, d));
	assert_ptr_equal(ctx, primary);
	OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d));
	assert_int_equal(managed, 0);
	IS(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_HOST_POINTER, d), INVALID_VALUE);
	IS(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)&d),
		INVALID_VALUE);
	OK(cuPointerGetAttributes(4, which, data, d + 299));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(base, d);
	assert_int_equal(size, 300);
	assert_int_equal(ordinal, 0);
	OK(cuPointerGetAttributes(4, which, data, (CUdeviceptr)&d)); /* not ours: zeros */
	assert_int_equal(type, 0);
	assert_int_equal(base, 0);
	assert_int_equal(size, 0);
	assert_int_equal(ordinal, -2);
	OK(cuMemFree(d));
}

static void test_pool(void **state)
{
	CUdeviceptr a, b, c;
	cuuint64_t used, high;
	CUmemoryPool pool, of;
	CUstream s, t;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&a, 512, s));
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	assert_ptr_equal(of, pool);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 512);
	OK(cuMemFreeAsync(a, s));
	IS(cuMemFreeAsync(a, s), INVALID_VALUE);
	OK(cuMemAllocAsync(&b, 512, t)); /* another stream: not ordered after the free */
	assert_true(b != a);
	OK(cuMemAllocAsync(&c, 512, s)); /* the same stream: the same memory */
	assert_int_equal(c, a);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
	assert_int_equal(high, 1024);
	used = 1; /* it can only be reset, to what is used now */
	IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used), INVALID_VALUE);
	OK(cuMemFreeAsync(c, s));
	OK(cuMemFree(b));
	IS(cuMemFree(b), INVALID_VALUE);
	OK(cuStreamSynchronize(s));
	IS(cuMemsetD8(a, 0, 1), INVALID_VALUE); /* given back by now */
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
	assert_int_equal(high, 0);
	IS(cuMemPoolDestroy(pool), INVALID_VALUE);
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

/* "CUDA Driver API", cuMemFreeAsync: also what cuMemAlloc() allocated; the address is the
 * allocation's own, and of device memory. */
static void test_free_of_plain_memory_in_stream_order(void **state)
{
	CUdeviceptr plain;
	void *host;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&plain, 512));
	OK(cuMemAllocHost(&host, 64));
	IS(cuMemFreeAsync(plain + 4, s), INVALID_VALUE);
	IS(cuMemFreeAsync((CUdeviceptr)(uintptr_t)host, s), INVALID_VALUE);
	IS(cuMemFreeAsync(plain + (UINT64_C(1) << 40), s), INVALID_VALUE);
	OK(cuMemsetD8(plain, 1, 512)); /* it is still there */
	OK(cuCtxSynchronize());	       /* the free is not ordered behind the fill */
	OK(cuMemFreeAsync(plain, s));
	OK(cuStreamSynchronize(s));
	IS(cuMemsetD8(plain, 1, 1), INVALID_VALUE);
	IS(cuMemFreeAsync(plain, s), INVALID_VALUE);
	OK(cuMemFreeAsync(0, s));
	OK(cuMemFreeHost(host));
	OK(cuStreamDestroy(s));
}

/* Addresses and memory apart: two pieces side by side, moved elsewhere with their contents. */
static void test_virtual_memory(void **state)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemAccessDesc rw = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle a, b;
	CUdeviceptr va, again, other, plain;
	unsigned word, h[2] = {7, 8};
	size_t g, base_size;

	OK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(g, 2 << 20);
	OK(cuMemAddressReserve(&va, 4 * g, 0, 0, 0));
	assert_int_equal(va % g, 0);
	OK(cuMemAlloc(&plain, 100));
	assert_true(plain < va || plain >= va + 4 * g);
	OK(cuMemFree(plain));
	OK(cuMemAddressReserve(&other, 4 * g, 0, va, 0)); /* taken: elsewhere */
	assert_true(other >= va + 4 * g || other + 4 * g <= va);
	OK(cuMemAddressFree(va, 4 * g));
	OK(cuMemAddressReserve(&again, 4 * g, 0, va, 0)); /* free: exactly there */
	assert_int_equal(again, va);
	IS(cuMemAddressReserve(&again, g + 1, 0, 0, 0), INVALID_VALUE);
	OK(cuMemCreate(&a, g, &prop, 0));
	OK(cuMemCreate(&b, g, &prop, 0));
	IS(cuMemCreate(&b, g + 4096, &prop, 0), INVALID_VALUE);
	OK(cuMemMap(va, g, 0, a, 0));
	IS(cuMemMap(va, g, 0, b, 0), INVALID_VALUE);
	IS(cuMemMap((other > va ? other : va) + 4 * g, g, 0, b, 0),
		INVALID_VALUE); /* not reserved */
	OK(cuMemMap(va + g, g, 0, b, 0));
	IS(cuMemsetD32(va, 1, 1), INVALID_VALUE); /* no access yet */
	OK(cuMemSetAccess(va, 2 * g, &rw, 1));
	OK(cuMemsetD32(va, 1, 2 * g / 4)); /* over both */
	IS(cuMemsetD32(va + 4, 1, 2 * g / 4), INVALID_VALUE);
	OK(cuMemcpyHtoD(va + g - 4, h, 8));
	OK(cuMemGetAddressRange(&again, &base_size, va + g + 5));
	assert_int_equal(again, va + g);
	assert_int_equal(base_size, g);
	IS(cuMemFree(va), INVALID_VALUE);
	IS(cuMemAddressFree(va, 4 * g), INVALID_VALUE); /* still mapped */
	OK(cuMemUnmap(va, 2 * g));
	IS(cuMemcpyDtoH(&word, va, 4), INVALID_VALUE);
	OK(cuMemMap(other + 2 * g, g, 0, b, 0));
	OK(cuMemRelease(b)); /* the mapping keeps it */
	IS(cuMemMap(va, g, 0, b, 0), INVALID_VALUE);
	OK(cuMemSetAccess(other + 2 * g, g, &rw, 1));
	OK(cuMemcpyDtoH(&word, other + 2 * g, 4));
	assert_int_equal(word, 8);
	OK(cuMemUnmap(other + 2 * g, g));
	OK(cuMemRelease(a));
	IS(cuMemRelease(a), INVALID_VALUE);
	OK(cuMemAddressFree(va, 4 * g));
	OK(cuMemAddressFree(other, 4 * g));
}

/* --- streams and events --- */

static void test_stream_calls(void **state)
{
	unsigned long long id, id0;
	CUcontext ctx;
	unsigned flags;
	int priority;
	CUstream s;

	IS(cuStreamCreate(&s, 2), INVALID_VALUE);
	IS(cuStreamCreate(NULL, 0), INVALID_VALUE);
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -100));
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, -5); /* clamped */
	OK(cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetCtx(s, &ctx));
	assert_ptr_equal(ctx, primary);
	OK(cuStreamGetId(s, &id));
	OK(cuStreamGetId(NULL, &id0));
	assert_true(id != id0);
	OK(cuStreamQuery(s));
	OK(cuStreamDestroy(s));
	IS(cuStreamDestroy(s), INVALID_HANDLE);
	IS(cuStreamSynchronize(s), INVALID_HANDLE);
	IS(cuStreamDestroy(NULL), INVALID_HANDLE);
	IS(cuStreamDestroy(CU_STREAM_LEGACY), INVALID_HANDLE);
}

static void add_one(void *p)
{
	++*(int *)p;
}

/* A held blocking stream holds the legacy stream, which holds other blocking streams; non-blocking
 * ones run on. */
static void test_legacy_barrier(void **state)
{
	struct gate gate = {0};
	int legacy = 0, blocking = 0, independent = 0;
	CUstream a, b, n;

	OK(cuStreamCreate(&a, 0));
	OK(cuStreamCreate(&b, 0));
	OK(cuStreamCreate(&n, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(a, gate_wait, &gate));
	OK(cuLaunchHostFunc(NULL, add_one, &legacy));
	OK(cuLaunchHostFunc(b, add_one, &blocking));
	OK(cuLaunchHostFunc(n, add_one, &independent));
	OK(cuStreamSynchronize(n));
	assert_int_equal(independent, 1);
	nap_ms(20);
	assert_int_equal(legacy, 0);
	assert_int_equal(blocking, 0);
	IS(cuStreamQuery(a), NOT_READY);
	IS(cuStreamQuery(b), NOT_READY);
	IS(cuStreamQuery(NULL), NOT_READY);
	OK(cuStreamQuery(n));
	gate.open = true;
	OK(cuStreamSynchronize(b));
	assert_int_equal(legacy, 1);
	assert_int_equal(blocking, 1);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuStreamDestroy(n));
}

static void test_events(void **state)
{
	struct gate gate = {0};
	CUevent a, b, quiet, never;
	CUstream s, t;
	int done = 0;
	float ms;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
	OK(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&never, 0));
	IS(cuEventCreate(&never, 0x100), INVALID_VALUE);
	OK(cuEventQuery(never));
	OK(cuEventSynchronize(never));
	OK(cuEventRecord(a, s));
	OK(cuLaunchHostFunc(s, gate_wait, &gate));
	OK(cuEventRecord(b, s));
	OK(cuStreamWaitEvent(t, b, 0));
	OK(cuLaunchHostFunc(t, add_one, &done));
	OK(cuEventSynchronize(a));
	OK(cuEventQuery(a));
	IS(cuEventQuery(b), NOT_READY);
	IS(cuEventElapsedTime(&ms, a, b), NOT_READY);
	nap_ms(30);
	assert_int_equal(done, 0);
	OK(cuEventRecord(b, t)); /* recorded anew: t still waits for the record it asked for */
	gate.open = true;
	OK(cuEventSynchronize(b));
	assert_int_equal(done, 1);
	OK(cuEventElapsedTime(&ms, a, b));
	assert_true(ms >= 30 && ms < 30000);
	OK(cuEventRecord(quiet, s));
	OK(cuEventSynchronize(quiet));
	IS(cuEventElapsedTime(&ms, a, quiet), INVALID_HANDLE);
	IS(cuEventElapsedTime(&ms, a, never), INVALID_HANDLE);
	OK(cuEventDestroy(a));
	IS(cuEventDestroy(a), INVALID_HANDLE);
	IS(cuEventRecord(a, s), INVALID_HANDLE);
	OK(cuEventDestroy(b));
	OK(cuEventDestroy(quiet));
	OK(cuEventDestroy(never));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

static void test_values(void **state)
{
	unsigned *flag;
	CUdeviceptr d;
	int done = 0;
	CUstream s, t;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocManaged(&d, 16, CU_MEM_ATTACH_GLOBAL));
	flag = (unsigned *)d;
	flag[0] = flag[1] = 0;
	OK(cuStreamWaitValue32(s, d, 5, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuLaunchHostFunc(s, add_one, &done));
	OK(cuStreamWriteValue32(t, d + 4, 77, 0));
	OK(cuStreamSynchronize(t));
	assert_int_equal(flag[1], 77);
	nap_ms(10);
	assert_int_equal(done, 0);
	OK(cuStreamWriteValue32(t, d, 6, 0));
	OK(cuStreamSynchronize(s));
	assert_int_equal(done, 1);
	OK(cuStreamWriteValue64(t, d + 8, 0x100000002ull, 0));
	OK(cuStreamWaitValue64(t, d + 8, 0x100000002ull, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamSynchronize(t));
	IS(cuStreamWriteValue32(t, d + 2, 0, 0), INVALID_VALUE);
	IS(cuStreamWriteValue32(t, (CUdeviceptr)&done, 0, 0), INVALID_VALUE);
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

static CUresult inside[2];

static void call_cuda(void *unused)
{
	CUdeviceptr d;

	inside[0] = cuMemAlloc(&d, 1);
	inside[1] = cuCtxSynchronize();
}

static void callback(CUstream s, CUresult status, void *data)
{
	*(CUresult *)data = status;
}

static void test_host_functions(void **state)
{
	CUresult status = CUDA_ERROR_UNKNOWN;

	OK(cuLaunchHostFunc(NULL, call_cuda, NULL));
	OK(cuStreamAddCallback(NULL, callback, &status, 0));
	OK(cuStreamSynchronize(NULL));
	assert_int_equal(inside[0], CUDA_ERROR_NOT_PERMITTED);
	assert_int_equal(inside[1], CUDA_ERROR_NOT_PERMITTED);
	assert_int_equal(status, CUDA_SUCCESS);
	IS(cuLaunchHostFunc(NULL, NULL, NULL), INVALID_VALUE);
	IS(cuStreamAddCallback(NULL, callback, NULL, 1), INVALID_VALUE);
}

/* An asynchronous copy from pageable memory has read it when the call returns. */
static void test_staging(void **state)
{
	struct gate gate = {0};
	CUdeviceptr d;
	CUstream s;
	int h = 11, *pinned, back;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&d, 8));
	OK(cuMemHostAlloc((void **)&pinned, 4, 0));
	*pinned = 21;
	OK(cuLaunchHostFunc(s, gate_wait, &gate));
	OK(cuMemcpyHtoDAsync(d, &h, 4, s));
	OK(cuMemcpyHtoDAsync(d + 4, pinned, 4, s));
	h = 12;
	*pinned = 22; /* read when the stream gets there */
	gate.open = true;
	OK(cuMemcpyDtoHAsync(&back, d, 4, s)); /* pageable: done when it returns */
	assert_int_equal(back, 11);
	OK(cuMemcpyDtoHAsync(&back, d + 4, 4, s));
	assert_int_equal(back, 22);
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
}

static void *other_thread(void *unused)
{
	struct gate gate = {.open = true};
	unsigned long long mine;
	CUdeviceptr d;

	/* No context here yet. */
	if (cuMemAlloc(&d, 1) != CUDA_ERROR_INVALID_CONTEXT ||
		cuCtxSetCurrent(primary) != CUDA_SUCCESS)
		return (void *)0;
	if (cuLaunchHostFunc(CU_STREAM_PER_THREAD, gate_wait, &gate) ||
		cuStreamSynchronize(CU_STREAM_PER_THREAD))
		return (void *)0;
	return (void *)(cuStreamGetId(CU_STREAM_PER_THREAD, &mine) ? 0 : mine);
}

static void test_per_thread_stream(void **state)
{
	unsigned long long mine, again, legacy;
	pthread_t t;
	void *theirs;

	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
	OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
	assert_int_equal(mine, again);
	assert_true(mine != legacy);
	pthread_create(&t, NULL, other_thread, NULL);
	pthread_join(t, &theirs);
	assert_non_null(theirs);
	assert_true((unsigned long long)theirs != mine);
	IS(cuStreamDestroy(CU_STREAM_PER_THREAD), INVALID_HANDLE);
}

/* --- graphs --- */

static void test_capture(void **state)
{
	size_t n = 0, edges = 0;
	CUstreamCaptureStatus status;
	CUgraphNode nodes[8], from[8], to[8];
	CUgraphNodeType type;
	CUgraphExec exec;
	int *h, runs = 0;
	CUevent fork, join;
	CUdeviceptr d;
	CUstream s, t;
	CUgraph g;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, 0));
	OK(cuEventCreate(&join, 0));
	OK(cuMemAlloc(&d, 8));
	OK(cuMemHostAlloc((void **)&h, 8, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	IS(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), ILLEGAL_STATE);
	OK(cuMemsetD32Async(d, 3, 1, s));
	OK(cuEventRecord(fork, s));
	OK(cuStreamWaitEvent(t, fork, 0));
	OK(cuStreamIsCapturing(t, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cuMemsetD32Async(d + 4, 4, 1, t));
	OK(cuEventRecord(join, t));
	OK(cuLaunchHostFunc(s, add_one, &runs));
	OK(cuStreamWaitEvent(s, join, 0));
	OK(cuMemcpyDtoHAsync(h, d, 8, s));
	OK(cuStreamEndCapture(s, &g));
	OK(cuStreamIsCapturing(t, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	assert_int_equal(runs, 0); /* nothing has run yet */
	OK(cuGraphGetNodes(g, NULL, &n));
	assert_int_equal(n, 4);
	OK(cuGraphGetNodes(g, nodes, &n));
	OK(cuGraphNodeGetType(nodes[0], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMSET);
	OK(cuGraphNodeGetType(nodes[2], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_HOST);
	OK(cuGraphNodeGetType(nodes[3], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMCPY);
	/* fill -> fill, fill -> host, host -> copy, second fill -> copy */
	OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
	assert_int_equal(edges, 4);
	OK(cuGraphGetEdges(g, from, to, NULL, &edges));
	assert_ptr_equal(from[0], nodes[0]);
	assert_ptr_equal(to[0], nodes[1]);
	OK(cuGraphInstantiate(&exec, g, 0));
	OK(cuGraphDestroy(g));
	IS(cuGraphDestroy(g), INVALID_VALUE);
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	assert_int_equal(h[0], 3);
	assert_int_equal(h[1], 4);
	OK(cuGraphLaunch(exec, t));
	OK(cuGraphExecDestroy(exec)); /* the launch that is under way still runs */
	OK(cuStreamSynchronize(t));
	assert_int_equal(runs, 2);
	IS(cuGraphLaunch(exec, s), INVALID_VALUE);
	OK(cuEventDestroy(fork));
	OK(cuEventDestroy(join));
	OK(cuMemFree(d));
	OK(cuMemFreeHost(h));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

static void test_capture_errors(void **state)
{
	CUstream s, t;
	CUevent e;
	CUgraph g;
	int x = 0;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	IS(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s, &g), ILLEGAL_STATE);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuStreamSynchronize(s), STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_INVALIDATED);
	assert_null(g);
	/* work of another stream that never comes back */
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, s));
	OK(cuStreamWaitEvent(t, e, 0));
	OK(cuLaunchHostFunc(t, add_one, &x));
	IS(cuStreamEndCapture(t, &g), STREAM_CAPTURE_UNMATCHED);
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, s));
	IS(cuEventQuery(e), CAPTURED_EVENT);
	OK(cuStreamWaitEvent(t, e, 0));
	OK(cuLaunchHostFunc(t, add_one, &x));
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_UNJOINED);
	assert_int_equal(x, 0);
	/* waiting in a capture for something outside */
	OK(cuEventRecord(e, t));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuStreamWaitEvent(s, e, 0), STREAM_CAPTURE_ISOLATION);
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_INVALIDATED);
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

/* A stream that took part may go before the capture ends; its work counts as joined or not like
 * that of any other. */
static void test_capture_destroyed_stream(void **state)
{
	CUstream s, t;
	CUevent e;
	CUgraph g;
	CUgraphExec exec;
	int x = 0;

	for (int joined = 1; joined >= 0; joined--) {
		OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&e, 0));
		OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		OK(cuEventRecord(e, s));
		OK(cuStreamWaitEvent(t, e, 0));
		OK(cuLaunchHostFunc(t, add_one, &x));
		OK(cuEventRecord(e, t));
		if (joined)
			OK(cuStreamWaitEvent(s, e, 0));
		OK(cuStreamDestroy(t));
		OK(cuEventDestroy(e));
		if (joined) {
			OK(cuStreamEndCapture(s, &g));
			OK(cuGraphInstantiateWithFlags(&exec, g, 0));
			OK(cuGraphLaunch(exec, s));
			OK(cuStreamSynchronize(s));
			OK(cuGraphExecDestroy(exec));
			OK(cuGraphDestroy(g));
		} else {
			IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_UNJOINED);
		}
		assert_int_equal(x, 1);
		OK(cuStreamDestroy(s));
	}
}

static void test_graph_by_hand(void **state)
{
	CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 2, .height = 1, .value = 9}, got;
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one};
	CUgraphNode a, b, c, root;
	CUgraph g, copy;
	CUgraphExec exec;
	CUdeviceptr d;
	unsigned h[2];
	size_t n = 1;
	int runs = 0;

	OK(cuMemAlloc(&d, 8));
	fill.dst = d;
	host.userData = &runs;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemsetNode(&a, g, NULL, 0, &fill, primary));
	OK(cuGraphAddHostNode(&b, g, &a, 1, &host));
	OK(cuGraphAddEmptyNode(&c, g, &b, 1));
	OK(cuGraphAddDependencies(g, &a, &c, NULL, 1));
	IS(cuGraphAddDependencies(g, &a, &c, NULL, 1), INVALID_VALUE);
	OK(cuGraphGetRootNodes(g, &root, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(root, a);
	OK(cuGraphMemsetNodeGetParams(a, &got));
	assert_int_equal(got.value, 9);
	assert_int_equal(got.width, 2);
	OK(cuGraphClone(&copy, g));
	OK(cuGraphInstantiate(&exec, g, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemcpyDtoH(h, d, 8));
	assert_int_equal(h[1], 9);
	assert_int_equal(runs, 1);
	fill.value = 10;
	OK(cuGraphExecMemsetNodeSetParams(exec, a, &fill, primary));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemcpyDtoH(h, d, 8));
	assert_int_equal(h[0], 10);
	OK(cuGraphNodeSetEnabled(exec, a, 0));
	OK(cuMemsetD32(d, 1, 2));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemcpyDtoH(h, d, 8));
	assert_int_equal(h[0], 1);
	assert_int_equal(runs, 3);
	OK(cuGraphAddDependencies(g, &c, &a, NULL, 1)); /* now a circle */
	OK(cuGraphExecDestroy(exec));
	IS(cuGraphInstantiate(&exec, g, 0), INVALID_VALUE);
	OK(cuGraphDestroy(g));
	OK(cuGraphInstantiate(&exec, copy, 0)); /* the copy has no circle */
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(copy));
	OK(cuMemFree(d));
}

static CUgraphEdgeData edge(unsigned char type, unsigned char port)
{
	return (CUgraphEdgeData){.type = type, .from_port = port};
}

/* Programmatic edges are kept, by a clone as well, are between kernels alone, and are what a
 * captured launch that may begin early gets. */
static void test_programmatic_edges(void **state)
{
	static const char ptx[] =
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
	const CUgraphEdgeData early = edge(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
				      CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC),
			      order = edge(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
				      CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER),
			      bad[] = {edge(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, 0), edge(0, 1),
				      edge(7, 0)};
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = 1};
	CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUlaunchConfig config = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = &attr,
		.numAttrs = 1};
	CUgraphNode a, b, c, from[4], to[4];
	CUgraphEdgeData data[4];
	CUgraph g, copy;
	size_t n = 4;
	CUmodule m;
	CUstream s;

	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&kernel.func, m, "k"));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddKernelNode(&a, g, NULL, 0, &kernel));
	OK(cuGraphAddKernelNode(&b, g, NULL, 0, &kernel));
	OK(cuGraphAddEmptyNode(&c, g, NULL, 0));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		IS(cuGraphAddDependencies(g, &a, &b, &bad[i], 1), INVALID_VALUE);
	IS(cuGraphAddDependencies(g, &a, &c, &early, 1), INVALID_VALUE);
	OK(cuGraphAddDependencies(g, &a, &b, &order, 1));
	OK(cuGraphRemoveDependencies(g, &a, &b, &order, 1));
	OK(cuGraphAddDependencies(g, &a, &b, &early, 1));
	OK(cuGraphClone(&copy, g));
	OK(cuGraphGetEdges(copy, from, to, data, &n));
	assert_int_equal(n, 1);
	assert_memory_equal(&data[0], &early, sizeof early);
	n = 4;
	OK(cuGraphNodeGetDependencies(b, from, data, &n));
	assert_int_equal(n, 1);
	assert_memory_equal(&data[0], &early, sizeof early);
	OK(cuGraphDestroy(copy));
	OK(cuGraphDestroy(g));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	config.hStream = s;
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	config.numAttrs = 0;
	OK(cuLaunchKernelEx(&config, kernel.func, NULL, NULL));
	OK(cuLaunchKernelEx(&config, kernel.func, NULL, NULL));
	config.numAttrs = 1;
	OK(cuLaunchKernelEx(&config, kernel.func, NULL, NULL));
	OK(cuStreamEndCapture(s, &g));
	n = 4;
	OK(cuGraphGetEdges(g, from, to, data, &n));
	assert_int_equal(n, 2);
	assert_int_equal(data[0].type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
	assert_memory_equal(&data[1], &early, sizeof early);
	OK(cuGraphDestroy(g));
	OK(cuStreamDestroy(s));
	OK(cuModuleUnload(m));
}

/* Events that launch attributes record are recorded, at the latest when the launch has ended. */
static void test_events_by_attribute(void **state)
{
	static const char ptx[] =
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
	CUlaunchAttribute attrs[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT},
		{.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}};
	CUlaunchConfig config = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = attrs,
		.numAttrs = 2};
	struct gate gate = {0};
	CUevent e, f;
	CUfunction k;
	CUmodule m;
	CUstream s;

	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&k, m, "k"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
	config.hStream = s;
	IS(cuLaunchKernelEx(&config, k, NULL, NULL), INVALID_VALUE);
	attrs[0].value.programmaticEvent.event = e;
	attrs[1].value.launchCompletionEvent.event = f;
	OK(cuLaunchHostFunc(s, gate_wait, &gate));
	OK(cuLaunchKernelEx(&config, k, NULL, NULL));
	IS(cuEventQuery(e), NOT_READY);
	IS(cuEventQuery(f), NOT_READY);
	gate.open = true;
	OK(cuEventSynchronize(e));
	OK(cuEventSynchronize(f));
	OK(cuEventDestroy(e));
	OK(cuStreamSynchronize(s));
	IS(cuLaunchKernelEx(&config, k, NULL, NULL), INVALID_HANDLE);
	OK(cuEventDestroy(f));
	OK(cuStreamDestroy(s));
	OK(cuModuleUnload(m));
}

/* A graph that records an event in its middle, and one that waits for it in its own: seen from
 * outside while the first still runs. */
static void test_graph_events(void **state)
{
	CUDA_HOST_NODE_PARAMS host = {.fn = add_one};
	CUgraphNode n[4], node;
	struct gate before = {0}, after = {0};
	CUgraphNodeType type;
	CUevent e, got, other;
	CUgraph g, w, captured;
	CUgraphExec exec, waits;
	CUstream s, t;
	int done = 0, runs = 0;
	size_t count = 1;
	float ms;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&other, 0));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddHostNode(
		&n[0], g, NULL, 0, &(CUDA_HOST_NODE_PARAMS){.fn = gate_wait, .userData = &before}));
	OK(cuGraphAddEventRecordNode(&n[1], g, &n[0], 1, e));
	OK(cuGraphAddHostNode(
		&n[2], g, &n[1], 1, &(CUDA_HOST_NODE_PARAMS){.fn = gate_wait, .userData = &after}));
	OK(cuGraphNodeGetType(n[1], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	OK(cuGraphEventRecordNodeGetEvent(n[1], &got));
	assert_ptr_equal(got, e);
	IS(cuGraphEventWaitNodeGetEvent(n[1], &got), INVALID_VALUE);
	IS(cuGraphAddEventRecordNode(&n[3], g, NULL, 0, (CUevent)&done), INVALID_VALUE);
	OK(cuGraphCreate(&w, 0));
	host.userData = &runs;
	OK(cuGraphAddEventWaitNode(&n[3], w, NULL, 0, other));
	OK(cuGraphEventWaitNodeSetEvent(n[3], e));
	OK(cuGraphAddHostNode(&node, w, &n[3], 1, &host));
	OK(cuGraphInstantiate(&exec, g, 0));
	OK(cuGraphInstantiate(&waits, w, 0));

	OK(cuGraphLaunch(waits, t)); /* e was never recorded: nothing to wait for */
	OK(cuStreamSynchronize(t));
	assert_int_equal(runs, 1);
	OK(cuGraphLaunch(exec, s));
	IS(cuEventQuery(e), NOT_READY);
	OK(cuGraphLaunch(waits, t));
	OK(cuStreamWaitEvent(t, e, 0));
	OK(cuLaunchHostFunc(t, add_one, &done));
	nap_ms(20);
	assert_int_equal(runs, 1);
	assert_int_equal(done, 0);
	before.open = true;
	OK(cuStreamSynchronize(t)); /* the graph in s has not ended */
	assert_int_equal(runs, 2);
	assert_int_equal(done, 1);
	OK(cuEventQuery(e));
	OK(cuEventSynchronize(e));
	IS(cuStreamQuery(s), NOT_READY);
	OK(cuEventRecord(other, t));
	OK(cuEventSynchronize(other));
	OK(cuEventElapsedTime(&ms, e, other));
	assert_true(ms >= 0);
	after.open = true;
	OK(cuStreamSynchronize(s));

	OK(cuGraphExecEventRecordNodeSetEvent(exec, n[1], other)); /* from now on the other one */
	IS(cuGraphExecEventWaitNodeSetEvent(exec, n[1], other), INVALID_VALUE);
	before.open = false;
	OK(cuGraphLaunch(exec, s));
	IS(cuEventQuery(other), NOT_READY);
	OK(cuEventQuery(e));
	before.open = true;
	OK(cuEventSynchronize(other));
	OK(cuStreamSynchronize(s));

	/* In a capture the flag makes such nodes, outside it means nothing. */
	IS(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL), INVALID_VALUE);
	IS(cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL), INVALID_VALUE);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	OK(cuEventRecordWithFlags(other, s, CU_EVENT_RECORD_EXTERNAL));
	OK(cuStreamEndCapture(s, &captured));
	OK(cuGraphGetRootNodes(captured, &node, &count));
	OK(cuGraphNodeGetType(node, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	count = 2;
	OK(cuGraphGetNodes(captured, n, &count));
	assert_int_equal(count, 2);
	OK(cuGraphEventRecordNodeGetEvent(n[1], &got));
	assert_ptr_equal(got, other);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiate(&exec, captured, 0));
	OK(cuGraphLaunch(exec, s));
	OK(cuEventSynchronize(other));

	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(waits));
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(w));
	OK(cuGraphDestroy(captured));
	OK(cuEventDestroy(e));
	OK(cuEventDestroy(other));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

/* A launch into a capture is a child graph of the captured one. */
static void test_graph_in_capture(void **state)
{
	int first = 0, second = 0;
	CUgraph inner, outer, child;
	CUgraphExec exec, both;
	CUgraphNode nodes[3];
	CUgraphNodeType type;
	size_t n = 3;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchHostFunc(s, add_one, &first));
	OK(cuLaunchHostFunc(s, add_one, &first));
	OK(cuStreamEndCapture(s, &inner));
	OK(cuGraphInstantiate(&exec, inner, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchHostFunc(s, add_one, &second));
	OK(cuGraphLaunch(exec, s));
	OK(cuLaunchHostFunc(s, add_one, &second));
	OK(cuStreamEndCapture(s, &outer));
	OK(cuGraphExecDestroy(exec)); /* the capture has what it needs */
	OK(cuGraphDestroy(inner));
	OK(cuGraphGetNodes(outer, nodes, &n));
	assert_int_equal(n, 3);
	OK(cuGraphNodeGetType(nodes[1], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphChildGraphNodeGetGraph(nodes[1], &child));
	OK(cuGraphGetNodes(child, NULL, &n));
	assert_int_equal(n, 2);
	OK(cuGraphInstantiate(&both, outer, 0));
	OK(cuGraphLaunch(both, s));
	OK(cuGraphLaunch(both, s));
	OK(cuStreamSynchronize(s));
	assert_int_equal(first, 4);
	assert_int_equal(second, 4);
	OK(cuGraphExecDestroy(both));
	OK(cuGraphDestroy(outer));
	OK(cuStreamDestroy(s));
}

/* --- odds and ends --- */

static void test_bad_images(void **state)
{
	static const char garbage[64] = {1, 2, 3, 4}, elf[64] = "\x7f"
								"ELF";
	CUlibrary lib;
	CUmodule m;

	IS(cuModuleLoadData(&m, garbage), INVALID_IMAGE);
	IS(cuModuleLoadData(&m, elf), NO_BINARY_FOR_GPU);
	IS(cuModuleLoadData(&m, NULL), INVALID_VALUE);
	IS(cuModuleLoadData(NULL, garbage), INVALID_VALUE);
	IS(cuModuleLoadData(&m, ".version 9.0\n.target sm_75\n.address_size 64\nthis is not PTX\n"),
		INVALID_PTX);
	/* PTX ISA, .reqnctapercluster: as many blocks as the device has for a cluster, 16 */
	for (size_t i = 0; i < 6; i++) {
		static const char *const sizes[] = {
			"4, 2, 2", "16", "2, 8", "4, 2, 3", "17", "1, 0, 1"};
		char ptx[300];

		snprintf(ptx, sizeof ptx,
			".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n"
			".explicitcluster\n.reqnctapercluster %s\n{\nret;\n}\n",
			sizes[i]);
		assert_int_equal(cuModuleLoadData(&m, ptx) == CUDA_SUCCESS, i < 3);
		if (i < 3)
			OK(cuModuleUnload(m));
	}
	IS(cuModuleLoad(&m, "/does/not/exist"), FILE_NOT_FOUND);
	IS(cuModuleUnload((CUmodule)garbage), INVALID_HANDLE);
	IS(cuLibraryLoadData(&lib, garbage, NULL, NULL, 0, NULL, NULL, 0), INVALID_IMAGE);
	IS(cuLibraryUnload((CUlibrary)garbage), INVALID_HANDLE);
}

static void test_proc_address(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *fn, *same;

	OK(cuGetProcAddress("cuMemAlloc", &fn, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
	assert_ptr_equal(fn, cuMemAlloc);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	OK(cuGetProcAddress("cuLaunchKernel", &fn, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	assert_ptr_equal(fn, cuLaunchKernel);
	OK(cuGetProcAddress("cuLaunchKernel", &same, 13000,
		CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	assert_ptr_not_equal(fn, same);
	OK(cuGetProcAddress("cuNoSuchCall", &fn, 13000, 0, &status));
	assert_null(fn);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	IS(cuGetProcAddress("cuNoSuchCall", &fn, 13000, 0, NULL), NOT_FOUND);
	OK(cuGetProcAddress("cuMemAllocHost", &fn, 2000, 0, &status));
	assert_null(fn);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	OK(cuGetProcAddress("cuCtxGetDevice", &fn, 12000, 0, NULL));
	OK(cuGetProcAddress("cuCtxGetDevice", &same, 13000, 0, NULL));
	assert_ptr_not_equal(fn, same);
	IS(cuGetProcAddress(NULL, &fn, 13000, 0, NULL), INVALID_VALUE);
}

static void test_refused(void **state)
{
	CUmulticastObjectProp prop = {.numDevices = 1, .size = 1 << 21};
	CUmemGenericAllocationHandle h;

	IS(cuMulticastCreate(&h, &prop), NOT_SUPPORTED);
}

static int child_status(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_fork(void **state)
{
	CUdeviceptr d;
	pid_t pid = fork();
	int n;

	if (!pid) {
		alarm(20);
		_exit(cuMemAlloc(&d, 4) == CUDA_ERROR_NOT_INITIALIZED &&
					cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
					cuDriverGetVersion(&n) == CUDA_SUCCESS
				? 0
				: 1);
	}
	assert_int_equal(child_status(pid), 0);
	OK(cuMemAlloc(&d, 4));
	OK(cuMemFree(d));
}

/* Runs this program again with SOFTGPU_CHILD set to what main() below knows. */
static int run_again(const char *what, const char *visible)
{
	pid_t pid = fork();

	if (!pid) {
		setenv("SOFTGPU_CHILD", what, 1);
		setenv("ASAN_OPTIONS", "detect_leaks=0",
			1); /* it ends with a context, as programs do */
		if (visible)
			setenv("CUDA_VISIBLE_DEVICES", visible, 1);
		execl("/proc/self/exe", "again", (char *)NULL);
		_exit(127);
	}
	return child_status(pid);
}

static void test_exit_with_work(void **state)
{
	assert_int_equal(run_again("pending", NULL), 3);
}

static void test_visible_devices(void **state)
{
	assert_int_equal(run_again("init", ""), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(run_again("init", "-1"), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(run_again("init", "1"), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(run_again("init", "0"), CUDA_SUCCESS);
	assert_int_equal(run_again("init", "0,1"), CUDA_SUCCESS);
}

/* What cuDeviceGetUuid() says, as it is written: 8-4-4-4-12 digits behind "GPU-". */
static void uuid_text(const CUuuid *u, unsigned physical, char *to)
{
	const unsigned char *b = (const unsigned char *)u->bytes;

	sprintf(to, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		b[13], b[14], (b[15] + physical) & 0xff);
}

/* "CUDA environment variables": numbers or UUIDs, in the program's order; the list ends at the
 * first entry that names no device; a prefix must name one; none at all if one is named twice. The
 * child's status has a digit to the base of 4 for each of three devices, one more than its number.
 */
static void test_order_of_devices(void **state)
{
	char second[64], wrong[80], both[128], common[16], upper[64], first[16];
	const struct {
		const char *visible;
		int want;
	} rows[] = {{"0,1,2", 1 * 16 + 2 * 4 + 3}, {"2,0", 3 * 4 + 1}, {"1,-1,2", 2}, {"1,3,2", 2},
		{"0,0", 0}, {"0,1,0", 0}, {" 1, 2", 2 * 4 + 3}, {"1x", 0}, {"2,", 3}, {"", 0},
		{second, 2}, {wrong, 0}, {both, 3 * 4 + 2}, {common, 0}, {upper, 2}, {"GPU-", 0}};
	CUuuid u;

	OK(cuDeviceGetUuid(&u, 0));
	uuid_text(&u, 1, second);
	snprintf(wrong, sizeof wrong, "%s0", second);
	snprintf(both, sizeof both, "2,%s", second);
	snprintf(common, sizeof common, "%.13s", second); /* "GPU-" and 9: all three begin so */
	for (size_t i = 0; i <= strlen(second); i++)
		upper[i] = (char)toupper((unsigned char)second[i]);
	snprintf(first, sizeof first, "%u", (unsigned char)u.bytes[15]);
	setenv("SOFTGPU_UUID", first, 1);
	setenv("TSDB_SOFT_DEVICES", "3", 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const int got = run_again("order", rows[i].visible);

		if (got != rows[i].want)
			fail_msg("\"%s\": %d, not %d", rows[i].visible, got, rows[i].want);
	}
	unsetenv("TSDB_SOFT_DEVICES");
}

static int child_order(void)
{
	const int first = atoi(getenv("SOFTGPU_UUID"));
	int n = 0, status = 0;

	if (cuInit(0) == CUDA_ERROR_NO_DEVICE)
		return 0;
	OK(cuDeviceGetCount(&n));
	for (int k = 0; k < n; k++) {
		CUuuid u;

		OK(cuDeviceGetUuid(&u, k));
		status = 4 * status + (unsigned char)u.bytes[15] - first + 1;
	}
	return status;
}

/* --- what streams do, for a program that hangs (driver/soft.h) --- */

static void test_busy(void **state)
{
	int (*const busy)(unsigned, char *, unsigned) = (int (*)(unsigned, char *, unsigned))(
		uintptr_t)dlsym(RTLD_DEFAULT, "tsdb_soft_busy");
	struct gate gate = {0};
	char text[160], want[160];
	int done = 0;
	CUstream s;

	OK(cuCtxSynchronize());
	assert_int_equal(busy(0, text, sizeof text), 0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, gate_wait, &gate));
	OK(cuLaunchHostFunc(s, add_one, &done));
	OK(cuLaunchHostFunc(s, add_one, &done));
	for (int k = 0; k < 1000; k++) { /* until it has begun */
		assert_int_equal(busy(0, text, sizeof text), 1);
		if (!strstr(text, "about to begin"))
			break;
		nap_ms(1);
	}
	snprintf(want, sizeof want, "stream %p: a host function; behind it 2 more", (void *)s);
	assert_string_equal(text, want);
	assert_int_equal(busy(1, text, sizeof text), 0);
	OK(cuLaunchHostFunc(NULL, gate_wait, &gate));
	assert_int_equal(busy(1, text, sizeof text), 1);
	assert_int_equal(busy(2, text, sizeof text), 0);
	for (unsigned k = 0, seen = 0; k < 2; k++) {
		assert_int_equal(busy(k, text, sizeof text), 1);
		if (strstr(text, " (default): "))
			seen |= 1;
		else
			assert_non_null(strstr(text, "behind it 2 more"));
		assert_int_equal(k && !seen, 0);
	}
	gate.open = true;
	OK(cuCtxSynchronize());
	assert_int_equal(done, 2);
	assert_int_equal(busy(0, text, sizeof text), 0);
	OK(cuStreamDestroy(s));
}

/* exit() while a stream waits for a value that never comes. */
static int child_pending(void)
{
	CUdeviceptr d;

	alarm(20);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&primary, 0) || cuCtxSetCurrent(primary) ||
		cuMemAlloc(&d, 4) || cuMemsetD32(d, 0, 1) ||
		cuStreamWaitValue32(NULL, d, 1, CU_STREAM_WAIT_VALUE_EQ) ||
		cuMemsetD32Async(d, 2, 1, NULL))
		return 1;
	exit(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_pci_ids),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_copies_2d_3d),
		cmocka_unit_test(test_host_memory),
		cmocka_unit_test(test_pointer_attributes),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_free_of_plain_memory_in_stream_order),
		cmocka_unit_test(test_virtual_memory),
		cmocka_unit_test(test_stream_calls),
		cmocka_unit_test(test_legacy_barrier),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_host_functions),
		cmocka_unit_test(test_staging),
		cmocka_unit_test(test_per_thread_stream),
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_capture_errors),
		cmocka_unit_test(test_capture_destroyed_stream),
		cmocka_unit_test(test_graph_by_hand),
		cmocka_unit_test(test_graph_events),
		cmocka_unit_test(test_programmatic_edges),
		cmocka_unit_test(test_events_by_attribute),
		cmocka_unit_test(test_graph_in_capture),
		cmocka_unit_test(test_bad_images),
		cmocka_unit_test(test_proc_address),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_exit_with_work),
		cmocka_unit_test(test_visible_devices),
		cmocka_unit_test(test_order_of_devices),
		cmocka_unit_test(test_busy),
	};
	const char *child = getenv("SOFTGPU_CHILD");

	if (child && !strcmp(child, "order"))
		return child_order();
	if (child)
		return !strcmp(child, "init") ? (int)cuInit(0) : child_pending();
	return cmocka_run_group_tests_name("softgpu-driver", tests, start, stop);
}
