/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU's driver says of memory, and what can be set: pools, managed memory, any
 * pointer, arrays; libraries' and graphs' memory ("CUDA Driver API", Memory Management, Stream
 * Ordered Memory Allocator, Unified Addressing, Library Management).
 */
#include "softgpu-test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int start(void **state)
{
	setenv("TSDB_SOFT_DEVICES", "2", 1);
	return softgpu_start(state);
}

static const CUmemLocation on_device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
			   on_host = {.type = CU_MEM_LOCATION_TYPE_HOST},
			   nowhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2};

/* --- pools --- */

static CUmemoryPool new_pool(int dev)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev}};
	CUmemoryPool p;

	OK(cuMemPoolCreate(&p, &props));
	return p;
}

static void test_pool_attributes(void **state)
{
	static const CUmemPool_attribute flags[] = {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
	CUmemoryPool p = new_pool(0);
	cuuint64_t n = 7;
	CUdeviceptr m;
	int v;

	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		v = 7;
		OK(cuMemPoolGetAttribute(p, flags[i], &v));
		assert_int_equal(v, 1);
		v = i == 1;
		OK(cuMemPoolSetAttribute(p, flags[i], &v));
	}
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		OK(cuMemPoolGetAttribute(p, flags[i], &v));
		assert_int_equal(v, i == 1);
	}
	OK(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &n));
	assert_int_equal(n, 0);
	n = 1ull << 40;
	OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &n));
	n = 0;
	OK(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &n));
	assert_true(n == 1ull << 40);
	OK(cuMemAllocFromPoolAsync(&m, 1024, p, NULL));
	OK(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &n));
	assert_int_equal(n, 1024);
	OK(cuMemFreeAsync(m, NULL));
	OK(cuStreamSynchronize(NULL));
	OK(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &n));
	assert_int_equal(n, 1024);
	IS(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &n), INVALID_VALUE);
	n = 0;
	OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &n));
	OK(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &n));
	assert_int_equal(n, 0);
	IS(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &n), INVALID_VALUE);
	IS(cuMemPoolSetAttribute(p, (CUmemPool_attribute)99, &n), INVALID_VALUE);
	IS(cuMemPoolGetAttribute(p, (CUmemPool_attribute)99, &n), INVALID_VALUE);
	IS(cuMemPoolSetAttribute(p, flags[0], NULL), INVALID_VALUE);
	IS(cuMemPoolGetAttribute(p, flags[0], NULL), INVALID_VALUE);
	OK(cuMemPoolTrimTo(p, 0));
	OK(cuMemPoolDestroy(p));
	IS(cuMemPoolTrimTo(p, 0), INVALID_VALUE);
	IS(cuMemPoolDestroy(p), INVALID_VALUE);
	IS(cuMemPoolSetAttribute(p, flags[0], &v), INVALID_VALUE);
	IS(cuMemPoolGetAttribute(p, flags[0], &v), INVALID_VALUE);
	IS(cuMemAllocFromPoolAsync(&m, 64, p, NULL), INVALID_VALUE);
}

/* A device's pool: the default one, until another is set, and again when that is destroyed. */
static void test_current_pool(void **state)
{
	const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
	CUmemLocation here = on_device, host = on_host, none = nowhere;
	CUmemoryPool p = new_pool(1), other = new_pool(0), def, now, x;

	OK(cuDeviceGetDefaultMemPool(&def, 1));
	OK(cuDeviceGetMemPool(&now, 1));
	assert_ptr_equal(now, def);
	OK(cuMemGetDefaultMemPool(&now, &here, pinned));
	assert_ptr_equal(now, def);
	OK(cuDeviceSetMemPool(1, p));
	OK(cuDeviceGetMemPool(&now, 1));
	assert_ptr_equal(now, p);
	OK(cuMemSetMemPool(&here, pinned, def));
	OK(cuMemGetMemPool(&now, &here, pinned));
	assert_ptr_equal(now, def);
	OK(cuMemSetMemPool(&here, pinned, p));
	OK(cuDeviceGetDefaultMemPool(&now, 1));
	assert_ptr_equal(now, def);
	IS(cuDeviceSetMemPool(1, other), INVALID_VALUE); /* another device's */
	OK(cuMemPoolDestroy(p));
	OK(cuDeviceGetMemPool(&now, 1));
	assert_ptr_equal(now, def);
	IS(cuDeviceSetMemPool(1, p), INVALID_VALUE);
	OK(cuMemPoolDestroy(other));
	IS(cuMemPoolDestroy(def), INVALID_VALUE);
	IS(cuMemGetMemPool(&x, &host, pinned), NOT_SUPPORTED);
	IS(cuMemGetDefaultMemPool(&x, &here, (CUmemAllocationType)2), NOT_SUPPORTED);
	IS(cuMemSetMemPool(&none, pinned, def), INVALID_DEVICE);
	IS(cuMemGetMemPool(&x, NULL, pinned), INVALID_VALUE);
	IS(cuMemGetMemPool(NULL, &here, pinned), INVALID_VALUE);
	IS(cuMemGetDefaultMemPool(NULL, &here, pinned), INVALID_VALUE);
	IS(cuDeviceGetMemPool(NULL, 0), INVALID_VALUE);
	IS(cuDeviceGetMemPool(&x, 2), INVALID_DEVICE);
	IS(cuDeviceGetDefaultMemPool(NULL, 0), INVALID_VALUE);
	IS(cuDeviceGetDefaultMemPool(&x, 2), INVALID_DEVICE);
	IS(cuDeviceSetMemPool(2, def), INVALID_DEVICE);
}

static void test_pool_refusals(void **state)
{
	CUmemPoolProps props = {.location = on_device};
	CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemLocation host = on_host, none = nowhere;
	CUmemoryPool p = new_pool(0), x;
	CUmemAccess_flags flags;

	IS(cuMemPoolCreate(&x, &props), INVALID_VALUE); /* no type */
	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	IS(cuMemPoolCreate(&x, &props), NOT_SUPPORTED);
	props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	props.location = on_host;
	IS(cuMemPoolCreate(&x, &props), NOT_SUPPORTED);
	props.location = nowhere;
	IS(cuMemPoolCreate(&x, &props), INVALID_DEVICE);
	IS(cuMemPoolCreate(NULL, &props), INVALID_VALUE);
	IS(cuMemPoolCreate(&x, NULL), INVALID_VALUE);
	/* its own device has access, always */
	IS(cuMemPoolSetAccess(p, &desc, 1), INVALID_VALUE);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	OK(cuMemPoolSetAccess(p, &desc, 1));
	OK(cuMemPoolSetAccess(p, NULL, 0));
	desc.location = nowhere;
	IS(cuMemPoolSetAccess(p, &desc, 1), INVALID_DEVICE);
	desc.location = on_host;
	IS(cuMemPoolSetAccess(p, &desc, 1), INVALID_VALUE);
	IS(cuMemPoolSetAccess(p, NULL, 1), INVALID_VALUE);
	desc.location = on_device;
	OK(cuMemPoolSetAccess(p, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, p, &desc.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	OK(cuMemPoolSetAccess(p, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, p, &desc.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	IS(cuMemPoolGetAccess(&flags, p, &host), INVALID_VALUE);
	IS(cuMemPoolGetAccess(&flags, p, &none), INVALID_DEVICE);
	IS(cuMemPoolGetAccess(NULL, p, &host), INVALID_VALUE);
	IS(cuMemPoolGetAccess(&flags, p, NULL), INVALID_VALUE);
	OK(cuMemPoolDestroy(p));
}

/* --- managed memory --- */

static int asked(CUdeviceptr p, size_t n, CUmem_range_attribute a)
{
	int v = 77;

	OK(cuMemRangeGetAttribute(&v, 4, a, p, n));
	return v;
}

static void test_advice(void **state)
{
	CUresult (*const old_advise)(CUdeviceptr, size_t, CUmem_advise, CUdevice) =
		entry("cuMemAdvise");
	CUresult (*const old_prefetch)(CUdeviceptr, size_t, CUdevice, CUstream) =
		entry("cuMemPrefetchAsync");
	CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
		CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID};
	int type = 77, id = 77, by[2];
	void *data[] = {&type, &id};
	size_t sizes[] = {4, 4};
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_INVALID);
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_INVALID);
	OK(old_advise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), -1);
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_HOST);
	OK(old_advise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1));
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 1);
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(asked(p, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 1);
	assert_int_equal(asked(p, 4097, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 0);
	OK(old_prefetch(p, 8192, 1, NULL));
	assert_int_equal(asked(p + 4, 8, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 1);
	assert_int_equal(asked(p, 8192, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
		CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(asked(p, 8192, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID), 1);
	OK(cuMemRangeGetAttributes(data, sizes, which, 2, p, 8));
	assert_int_equal(type, CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(id, 1);
	sizes[1] = 8;
	IS(cuMemRangeGetAttributes(data, sizes, which, 2, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttributes(data, sizes, which, 0, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttributes(NULL, sizes, which, 1, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttributes(data, NULL, which, 1, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttributes(data, sizes, NULL, 1, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttribute(NULL, 4, which[0], p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttribute(&id, 4, (CUmem_range_attribute)99, p, 8), INVALID_VALUE);
	IS(cuMemRangeGetAttribute(&id, 4, which[0], p, 0), INVALID_VALUE);
	IS(old_advise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 2), INVALID_DEVICE);
	OK(old_advise(p, 4096, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 2)); /* no matter */
	IS(old_prefetch(p, 8192, 1, (CUstream)&p), INVALID_HANDLE);
	/* who accesses it: once for a device, however often it was said, or taken back */
	OK(old_advise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
	OK(old_advise(p, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
	OK(cuMemRangeGetAttribute(by, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8));
	assert_int_equal(by[0], 1);
	assert_int_equal(by[1], -2);
	OK(old_advise(p + 4096, 4096, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
	OK(old_advise(p + 4096, 64, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 1));
	OK(cuMemRangeGetAttribute(by, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8192));
	assert_int_equal(by[0], -2);
	OK(cuMemRangeGetAttribute(by, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
	assert_int_equal(by[0], 1);
	OK(cuMemFree(p));
}

/* A program may advise in every step. */
static void test_advice_again_and_again(void **state)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL));
	for (unsigned i = 0; i < 70000; i++)
		OK(cuMemAdvise(p, 8192,
			i % 2 ? CU_MEM_ADVISE_UNSET_ACCESSED_BY : CU_MEM_ADVISE_SET_ACCESSED_BY,
			on_device));
	OK(cuMemFree(p));
}

/* --- any pointer --- */

enum { IS_DEVICE, IS_PINNED, IS_MANAGED, KINDS };

static const struct {
	CUpointer_attribute a;
	size_t bytes;
	uint64_t value[KINDS];
} of_pointer[] = {
	{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4,
		{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE}},
	{CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 4, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_IS_MANAGED, 4, {0, 0, 1}},
	{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 4, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 4, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 4, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 8, {0, 0, 0}},
	{CU_POINTER_ATTRIBUTE_RANGE_SIZE, 8, {100, 100, 100}},
	{CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 8, {100, 100, 100}},
	{CU_POINTER_ATTRIBUTE_MAPPED, 4, {1, 1, 1}},
	{CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 4,
		{CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE,
			CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE,
			CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE}},
	{CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 8, {0, 0, 0}},
};

/* Both calls; the second also for a pointer that CUDA does not know. */
static uint64_t attribute(CUpointer_attribute a, CUdeviceptr p, size_t bytes)
{
	uint64_t one = UINT64_MAX, many = UINT64_MAX;
	void *data = &many;

	OK(cuPointerGetAttribute(&one, a, p));
	OK(cuPointerGetAttributes(1, &a, &data, p));
	assert_true(one == many);
	if (bytes == 4)
		assert_true(one >> 32 == 0xffffffff); /* nothing was written behind it */
	return bytes == 4 ? (uint32_t)one : one;
}

static void test_pointers(void **state)
{
	CUdeviceptr p[KINDS];
	uint64_t id[KINDS];
	void *host;

	OK(cuMemAlloc(&p[IS_DEVICE], 100));
	OK(cuMemAllocHost(&host, 100));
	p[IS_PINNED] = (CUdeviceptr)host;
	OK(cuMemAllocManaged(&p[IS_MANAGED], 100, CU_MEM_ATTACH_GLOBAL));
	for (unsigned k = 0; k < KINDS; k++) {
		const CUdeviceptr at = p[k] + 99;

		for (size_t i = 0; i < COUNT_OF(of_pointer); i++)
			assert_true(attribute(of_pointer[i].a, at, of_pointer[i].bytes) ==
				    of_pointer[i].value[k]);
		assert_true(attribute(CU_POINTER_ATTRIBUTE_CONTEXT, at, 8) == (uint64_t)primary);
		assert_true(attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at, 8) == at);
		assert_true(attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at, 8) == p[k]);
		assert_true(attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at, 8) == p[k]);
		if (k != IS_DEVICE)
			assert_true(attribute(CU_POINTER_ATTRIBUTE_HOST_POINTER, at, 8) == at);
		id[k] = attribute(CU_POINTER_ATTRIBUTE_BUFFER_ID, at, 8);
		assert_true(attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, at, 8) == id[k]);
	}
	assert_true(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
	OK(cuMemFree(p[IS_DEVICE]));
	OK(cuMemFreeHost(host));
	OK(cuMemFree(p[IS_MANAGED]));
}

/* One that CUDA does not know: "CUDA Driver API", cuPointerGetAttributes. */
static void test_unknown_pointers(void **state)
{
	uint64_t v = UINT64_MAX;
	void *data = &v, *none = NULL;
	CUdeviceptr p = (CUdeviceptr)&v, d;
	CUpointer_attribute a = CU_POINTER_ATTRIBUTE_MAPPED;

	OK(cuPointerGetAttribute(&v, a, p));
	assert_int_equal((uint32_t)v, 0);
	IS(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), INVALID_VALUE);
	a = CU_POINTER_ATTRIBUTE_HOST_POINTER;
	OK(cuPointerGetAttributes(1, &a, &data, p));
	assert_true(v == p);
	a = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
	OK(cuPointerGetAttributes(1, &a, &data, p));
	assert_int_equal((int)v, -2);
	for (size_t i = 0; i < COUNT_OF(of_pointer); i++) {
		v = UINT64_MAX;
		a = of_pointer[i].a;
		if (a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			continue;
		OK(cuPointerGetAttributes(1, &a, &data, p));
		assert_true(v == (of_pointer[i].bytes == 4 ? 0xffffffff00000000 : 0));
	}
	IS(cuPointerGetAttributes(0, &a, &data, p), INVALID_VALUE);
	IS(cuPointerGetAttributes(1, NULL, &data, p), INVALID_VALUE);
	IS(cuPointerGetAttributes(1, &a, NULL, p), INVALID_VALUE);
	IS(cuPointerGetAttributes(1, &a, &none, p), INVALID_VALUE);
	a = (CUpointer_attribute)0;
	IS(cuPointerGetAttributes(1, &a, &data, p), INVALID_VALUE);
	a = (CUpointer_attribute)99;
	IS(cuPointerGetAttributes(1, &a, &data, p), INVALID_VALUE);
	IS(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MAPPED, p), INVALID_VALUE);
	OK(cuMemAlloc(&d, 8));
	IS(cuPointerGetAttribute(&v, (CUpointer_attribute)99, d), INVALID_VALUE);
	IS(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_P2P_TOKENS, d), NOT_SUPPORTED);
	OK(cuMemFree(d));
}

static void linger(void *done)
{
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	*(_Atomic bool *)done = true;
}

/* Synchronous calls about memory that is marked wait, whatever memory it is. */
static void test_sync_memops(void **state)
{
	static _Atomic bool done;
	CUdeviceptr a, b;
	unsigned on = 2;

	OK(cuMemAlloc(&a, 16));
	OK(cuMemAlloc(&b, 16));
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
	assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a, 4), 1);
	assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b, 4), 0);
	OK(cuLaunchHostFunc(NULL, linger, (void *)&done));
	OK(cuMemsetD8(a, 1, 16));
	assert_true(done);
	for (unsigned to = 0; to < 2; to++) { /* from it, and to it */
		done = false;
		OK(cuLaunchHostFunc(NULL, linger, (void *)&done));
		OK(cuMemcpyDtoD(to ? a : b, to ? b : a, 16));
		assert_true(done);
	}
	on = 0;
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
	assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a, 4), 0);
	IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, a), INVALID_VALUE);
	IS(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), INVALID_VALUE);
	OK(cuMemFree(a));
	IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), INVALID_VALUE);
	OK(cuMemFree(b));
}

/* --- arrays --- */

static void test_arrays(void **state)
{
	const CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 4, .Height = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 2};
	CUresult (*const htoa)(CUarray, size_t, const void *, size_t, CUstream) =
		entry("cuMemcpyHtoAAsync_v2_ptsz");
	CUresult (*const atoh)(void *, CUarray, size_t, size_t, CUstream) =
		entry("cuMemcpyAtoHAsync_v2_ptsz");
	CUDA_ARRAY_MEMORY_REQUIREMENTS req;
	CUDA_ARRAY3D_DESCRIPTOR got3;
	CUDA_ARRAY_DESCRIPTOR got;
	unsigned char in[32], out[32] = {0};
	CUarray a, b;
	CUstream s;

	for (unsigned i = 0; i < 32; i++)
		in[i] = (unsigned char)(i + 1);
	OK(cuArrayCreate(&a, &d));
	OK(cuArrayCreate(&b, &d));
	OK(cuArrayGetDescriptor(&got, a));
	assert_memory_equal(&got, &d, sizeof d);
	OK(cuArray3DGetDescriptor(&got3, a));
	assert_int_equal(got3.Width, 4);
	assert_int_equal(got3.Height, 2);
	assert_int_equal(got3.Depth, 0);
	assert_int_equal(got3.NumChannels, 2);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyHtoAAsync(a, 0, in, 32, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyAtoA(b, 8, a, 4, 16));
	OK(cuCtxSynchronize());
	OK(cuMemcpyAtoHAsync(out, b, 8, 16, s));
	OK(cuStreamSynchronize(s));
	assert_memory_equal(out, in + 4, 16);
	OK(htoa(a, 2, in, 2, NULL)); /* and in the thread's own stream */
	OK(atoh(out, a, 0, 6, NULL));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_memory_equal(out, ((unsigned char[]){1, 2, 1, 2, 5, 6}), 6);
	IS(cuMemcpyHtoA(a, 1, in, 32), INVALID_VALUE);
	IS(cuMemcpyHtoA(a, 33, in, 0), INVALID_VALUE);
	IS(cuMemcpyAtoH(out, a, 32, 1), INVALID_VALUE);
	IS(cuMemcpyAtoA(a, 0, b, 17, 16), INVALID_VALUE);
	IS(cuMemcpyAtoA(a, 17, b, 0, 16), INVALID_VALUE);
	OK(cuMemcpyHtoA(a, 32, in, 0));
	IS(cuArrayGetMemoryRequirements(&req, a, 0), INVALID_VALUE); /* not of this kind */
	IS(cuArrayGetMemoryRequirements(&req, a, 2), INVALID_DEVICE);
	IS(cuArrayGetMemoryRequirements(NULL, a, 0), INVALID_VALUE);
	IS(cuArrayCreate(&a, NULL), INVALID_VALUE);
	IS(cuArrayCreate(NULL, &d), INVALID_VALUE);
	IS(cuArrayGetDescriptor(NULL, a), INVALID_VALUE);
	IS(cuArray3DGetDescriptor(NULL, a), INVALID_VALUE);
	OK(cuArrayDestroy(a));
	IS(cuArrayDestroy(a), INVALID_HANDLE);
	IS(cuMemcpyAtoH(out, a, 0, 1), INVALID_HANDLE);
	OK(cuArrayDestroy(b));
	OK(cuStreamDestroy(s));
}

/* "CUDA Driver API", cuArray3DCreate, table of sizes: what may be made, and what just not. */
#define LAYERED CUDA_ARRAY3D_LAYERED
#define CUBE CUDA_ARRAY3D_CUBEMAP
#define GATHER CUDA_ARRAY3D_TEXTURE_GATHER
static const struct {
	size_t width, height, depth;
	unsigned flags;
	bool is_valid;
} array_sizes[] = {
	{131072, 0, 0, 0, true},
	{131073, 0, 0, 0, false},
	{0, 0, 0, 0, false},
	{0, 4, 0, 0, false},
	{131072, 1, 0, 0, true},
	{131073, 1, 0, 0, false},
	{1, 65536, 0, 0, true},
	{1, 65537, 0, 0, false},
	{16384, 1, 1, 0, true},
	{16385, 1, 1, 0, false},
	{1, 16384, 1, 0, true},
	{1, 16385, 1, 0, false},
	{1, 1, 16384, 0, true},
	{1, 1, 16385, 0, false},
	{4, 0, 4, 0, false},
	{32768, 0, 2, LAYERED, true},
	{32769, 0, 2, LAYERED, false},
	{1, 32768, 2, LAYERED, true},
	{1, 32769, 2, LAYERED, false},
	{1, 1, 2048, LAYERED, true},
	{1, 1, 2049, LAYERED, false},
	{4, 4, 0, LAYERED, false},
	{4, 4, 6, CUBE, true},
	{4, 4, 5, CUBE, false},
	{4, 4, 12, CUBE, false},
	{4, 5, 6, CUBE, false},
	{4, 4, 12, CUBE | LAYERED, true},
	{4, 4, 13, CUBE | LAYERED, false},
	{4, 4, 0, GATHER, true},
	{4, 0, 0, GATHER, false},
	{4, 4, 4, GATHER, false},
};

static void test_array_sizes(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUarray a;

	for (size_t i = 0; i < COUNT_OF(array_sizes); i++) {
		CUresult r;

		d.Width = array_sizes[i].width;
		d.Height = array_sizes[i].height;
		d.Depth = array_sizes[i].depth;
		d.Flags = array_sizes[i].flags;
		r = cuArray3DCreate(&a, &d);
		assert_int_equal(
			r, array_sizes[i].is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
		if (r == CUDA_SUCCESS)
			OK(cuArrayDestroy(a));
	}
	d = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 3};
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.NumChannels = 1;
	d.Format = (CUarray_format)0x4f; /* none */
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.Format = CU_AD_FORMAT_NV12;
	IS(cuArray3DCreate(&a, &d), NOT_SUPPORTED);
	d.Format = CU_AD_FORMAT_BC1_UNORM;
	IS(cuArray3DCreate(&a, &d), NOT_SUPPORTED);
	d.Format = CU_AD_FORMAT_HALF;
	d.Flags = CUDA_ARRAY3D_SPARSE;
	IS(cuArray3DCreate(&a, &d), NOT_SUPPORTED);
}

/* --- libraries --- */

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .global .align 4 .u32 word = 7;\n"
			  ".visible .entry k(.param .u64 p, .param .u16 q)\n{\nret;\n}\n";

static void test_libraries(void **state)
{
	const CUfunction_attribute dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	char path[64] = "/tmp/tsdb-library-XXXXXX";
	size_t offset = 77, size = 77;
	unsigned word = 0, count = 0;
	CUdeviceptr p, q;
	CUlibrary lib;
	CUfunction f;
	CUkernel k;
	FILE *file;
	int v, fd = mkstemp(path);

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_true(fputs(ptx, file) >= 0);
	fclose(file);
	OK(cuLibraryLoadFromFile(&lib, path, NULL, NULL, 0, NULL, NULL, 0));
	unlink(path);
	OK(cuLibraryGetKernelCount(&count, lib));
	assert_int_equal(count, 1);
	OK(cuLibraryGetKernel(&k, lib, "k"));
	OK(cuLibraryGetManaged(&p, &size, lib, "word"));
	assert_int_equal(size, 4);
	OK(cuLibraryGetGlobal(&q, NULL, lib, "word"));
	assert_true(p == q);
	OK(cuMemcpyDtoH(&word, p, 4));
	assert_int_equal(word, 7);
	OK(cuKernelSetAttribute(dynamic, 60000, k, 0));
	OK(cuKernelGetAttribute(&v, dynamic, k, 0));
	assert_int_equal(v, 60000);
	OK(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_EQUAL, 0));
	OK(cuKernelGetParamInfo(k, 1, &offset, &size));
	assert_int_equal(offset, 8);
	assert_int_equal(size, 2);
	OK(cuKernelGetParamInfo(k, 0, &offset, NULL));
	assert_int_equal(offset, 0);
	IS(cuKernelGetParamInfo(k, 2, &offset, &size), INVALID_VALUE);
	IS(cuKernelGetParamInfo(k, 0, NULL, &size), INVALID_VALUE);
	IS(cuKernelSetCacheConfig(k, (CUfunc_cache)4, 0), INVALID_VALUE);
	IS(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, 2), INVALID_DEVICE);
	IS(cuKernelSetCacheConfig((CUkernel)lib, CU_FUNC_CACHE_PREFER_L1, 0), INVALID_HANDLE);
	IS(cuKernelSetAttribute(dynamic, 70000, k, 0), INVALID_VALUE);
	IS(cuKernelSetAttribute(dynamic, 0, k, 2), INVALID_DEVICE);
	IS(cuKernelGetAttribute(&v, dynamic, k, 2), INVALID_DEVICE);
	IS(cuKernelGetAttribute(NULL, dynamic, k, 0), INVALID_VALUE);
	IS(cuKernelSetAttribute(dynamic, 0, (CUkernel)lib, 0), INVALID_HANDLE);
	IS(cuLibraryGetManaged(&p, &size, lib, "none"), NOT_FOUND);
	IS(cuLibraryGetManaged(NULL, NULL, lib, "word"), INVALID_VALUE);
	IS(cuLibraryGetManaged(&p, &size, lib, NULL), INVALID_VALUE);
	IS(cuLibraryGetKernel(&k, lib, "none"), NOT_FOUND);
	OK(cuKernelGetFunction(&f, k));
	OK(cuLibraryUnload(lib));
	IS(cuKernelGetFunction(&f, k), INVALID_HANDLE);
	IS(cuLibraryUnload(lib), INVALID_HANDLE);
	IS(cuLibraryLoadFromFile(&lib, path, NULL, NULL, 0, NULL, NULL, 0), FILE_NOT_FOUND);
	IS(cuLibraryLoadFromFile(&lib, NULL, NULL, NULL, 0, NULL, NULL, 0), INVALID_VALUE);
	IS(cuLibraryLoadFromFile(NULL, path, NULL, NULL, 0, NULL, NULL, 0), INVALID_VALUE);
	IS(cuLibraryLoadFromFile(&lib, path, NULL, NULL, 1, NULL, NULL, 0), INVALID_VALUE);
}

/* A library has a module in each context that asks for one. It outlives them, the first as well as
 * the later ones. */
static void test_library_outlives_contexts(void **state)
{
	CUcontext c[3], now;
	CUdeviceptr p, q;
	CUlibrary lib;
	CUmodule m[3], again;
	unsigned word;

	OK(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	for (unsigned i = 0; i < 3; i++) {
		OK(cuCtxCreate_v4(&c[i], NULL, 0, i == 2));
		OK(cuLibraryGetModule(&m[i], lib));
		OK(cuCtxPopCurrent(&now));
	}
	assert_true(m[0] != m[1] && m[1] != m[2] && m[0] != m[2]);
	OK(cuCtxDestroy(c[0]));
	OK(cuCtxDestroy(c[1]));
	OK(cuCtxPushCurrent(c[2]));
	OK(cuLibraryGetModule(&again, lib));
	assert_ptr_equal(again, m[2]); /* of those that are left */
	OK(cuLibraryGetGlobal(&q, NULL, lib, "word"));
	OK(cuCtxPopCurrent(&now));
	OK(cuLibraryGetGlobal(&p, NULL, lib, "word")); /* a new one, here */
	assert_true(p != q);
	OK(cuMemcpyDtoH(&word, p, 4));
	assert_int_equal(word, 7);
	OK(cuCtxDestroy(c[2]));
	OK(cuLibraryGetGlobal(&q, NULL, lib, "word"));
	assert_true(p == q);
	OK(cuLibraryUnload(lib));
}

/* --- memory of graphs --- */

static void test_graph_memory(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = 4096};
	CUgraphNode made, freed;
	CUdeviceptr p = 0;
	cuuint64_t n = 0;
	CUgraphExec e;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&made, g, NULL, 0, &alloc));
	OK(cuGraphAddMemFreeNode(&freed, g, &made, 1, alloc.dptr));
	OK(cuGraphMemFreeNodeGetParams(freed, &p));
	assert_true(p == alloc.dptr);
	IS(cuGraphMemFreeNodeGetParams(made, &p), INVALID_VALUE);
	IS(cuGraphMemFreeNodeGetParams(freed, NULL), INVALID_VALUE);
	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphLaunch(e, NULL));
	OK(cuCtxSynchronize());
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n));
	assert_true(n >= 4096);
	IS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n), INVALID_VALUE);
	n = 0;
	IS(cuDeviceSetGraphMemAttribute(2, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n), INVALID_DEVICE);
	IS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &n), INVALID_VALUE);
	IS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL), INVALID_VALUE);
	OK(cuDeviceGraphMemTrim(0));
	IS(cuDeviceGraphMemTrim(2), INVALID_DEVICE);
	OK(cuGraphExecDestroy(e));
	OK(cuGraphDestroy(g));
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n));
	assert_true(n >= 4096);
	n = 0;
	OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n));
	n = 7;
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &n));
	assert_int_equal(n, 0); /* what is used now */
}

/* --- batches --- */

static void test_managed_batches(void **state)
{
	CUmemLocation locs[2] = {on_device, on_host}, none = nowhere;
	size_t sizes[2] = {64, 32}, idxs[2] = {0, 1}, later[2] = {1, 1}, same[2] = {0, 0},
	       beyond[2] = {0, 2};
	CUdeviceptr p[2], device_memory;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemAllocManaged(&p[0], 64, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemAlloc(&device_memory, 64));
	p[1] = p[0] + 32;
	OK(cuMemPrefetchBatchAsync(p, sizes, 2, locs, idxs, 2, 0, s));
	OK(cuMemDiscardBatchAsync(p, sizes, 2, 0, s));
	OK(cuMemDiscardAndPrefetchBatchAsync(p, sizes, 2, locs, idxs, 1, 0, s));
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, locs, later, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, locs, same, 2, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, locs, beyond, 2, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 1, locs, idxs, 2, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, locs, idxs, 0, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, NULL, idxs, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, locs, NULL, 1, 0, s), INVALID_VALUE);
	IS(cuMemPrefetchBatchAsync(p, sizes, 2, &none, idxs, 1, 0, s), INVALID_DEVICE);
	IS(cuMemDiscardAndPrefetchBatchAsync(p, sizes, 2, &none, idxs, 1, 0, s), INVALID_DEVICE);
	IS(cuMemDiscardBatchAsync(p, sizes, 2, 1, s), INVALID_VALUE);
	IS(cuMemDiscardBatchAsync(p, sizes, 0, 0, s), INVALID_VALUE);
	IS(cuMemDiscardBatchAsync(NULL, sizes, 2, 0, s), INVALID_VALUE);
	IS(cuMemDiscardBatchAsync(p, NULL, 2, 0, s), INVALID_VALUE);
	IS(cuMemDiscardBatchAsync(p, sizes, 2, 0, (CUstream)&s), INVALID_HANDLE);
	sizes[1] = 33; /* over the end; nothing; not managed */
	IS(cuMemDiscardBatchAsync(p, sizes, 2, 0, s), INVALID_VALUE);
	sizes[1] = 0;
	IS(cuMemDiscardBatchAsync(p, sizes, 2, 0, s), INVALID_VALUE);
	sizes[1] = 4;
	p[1] = device_memory;
	IS(cuMemDiscardBatchAsync(p, sizes, 2, 0, s), INVALID_VALUE);
	OK(cuMemFree(p[0]));
	OK(cuMemFree(device_memory));
	OK(cuStreamDestroy(s));
}

/* The older form says which of the copies was wrong. */
static void test_failing_copy(void **state)
{
	CUresult (*const v1)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
		size_t *, size_t, size_t *, CUstream) = entry("cuMemcpyBatchAsync");
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[2] = {4, 4}, first = 0, fail = 77;
	CUdeviceptr m, dst[2], src[2];
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemAlloc(&m, 16));
	dst[0] = m;
	dst[1] = m + 14;
	src[0] = src[1] = m + 4;
	IS(v1(dst, src, sizes, 2, &attr, &first, 1, &fail, s), INVALID_VALUE);
	assert_int_equal(fail, 1);
	IS(v1(dst, src, sizes, 2, &attr, &first, 1, NULL, s), INVALID_VALUE);
	dst[1] = m + 12;
	OK(v1(dst, src, sizes, 2, &attr, &first, 1, &fail, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemFree(m));
	OK(cuStreamDestroy(s));
}

static CUdeviceptr at_word;

static CUDA_BATCH_MEM_OP_NODE_PARAMS a_batch(CUstreamBatchMemOpParams *op, unsigned value)
{
	memset(op, 0, 2 * sizeof *op);
	op[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	op[0].writeValue.address = at_word;
	op[0].writeValue.value = value;
	op[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
	op[1].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
	return (CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = 2, .paramArray = op};
}

static unsigned word_after(CUgraph g)
{
	unsigned word = 0;
	CUgraphExec e;

	OK(cuGraphInstantiate(&e, g, 0));
	OK(cuGraphLaunch(e, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&word, at_word, 4));
	OK(cuGraphExecDestroy(e));
	return word;
}

static void test_batch_nodes(void **state)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS p, got;
	CUstreamBatchMemOpParams op[2];
	CUgraphNode n, empty;
	CUgraph g;

	OK(cuMemAlloc(&at_word, 16));
	p = a_batch(op, 7);
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
	OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
	assert_int_equal(word_after(g), 7);
	p = a_batch(op, 8);
	OK(cuGraphBatchMemOpNodeSetParams(n, &p));
	assert_int_equal(word_after(g), 8);
	OK(cuGraphBatchMemOpNodeGetParams(n, &got));
	assert_int_equal(got.count, 2);
	assert_int_equal(got.flags, 0);
	assert_int_equal(got.paramArray[0].operation, CU_STREAM_MEM_OP_WRITE_VALUE_32);
	assert_int_equal(got.paramArray[0].writeValue.address, at_word);
	assert_int_equal(got.paramArray[0].writeValue.value, 8);
	assert_int_equal(got.paramArray[1].operation, CU_STREAM_MEM_OP_BARRIER);
	IS(cuGraphBatchMemOpNodeGetParams(empty, &got), INVALID_VALUE);
	IS(cuGraphBatchMemOpNodeGetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphBatchMemOpNodeSetParams(empty, &p), INVALID_VALUE);
	IS(cuGraphBatchMemOpNodeSetParams(n, NULL), INVALID_VALUE);
	IS(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, NULL), INVALID_VALUE);
	p.flags = 1;
	IS(cuGraphBatchMemOpNodeSetParams(n, &p), INVALID_VALUE);
	p = a_batch(op, 9);
	p.count = 0;
	IS(cuGraphBatchMemOpNodeSetParams(n, &p), INVALID_VALUE);
	p.count = 2;
	op[1].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU + 1;
	IS(cuGraphBatchMemOpNodeSetParams(n, &p), INVALID_VALUE);
	op[1].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
	IS(cuGraphBatchMemOpNodeSetParams(n, &p), NOT_SUPPORTED);
	op[1].operation = (CUstreamBatchMemOpType)99;
	IS(cuGraphBatchMemOpNodeSetParams(n, &p), INVALID_VALUE);
	assert_int_equal(word_after(g), 8);
	OK(cuGraphDestroy(g));
	OK(cuMemFree(at_word));
}

static void test_small_questions(void **state)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}},
			    got;
	CUmemGenericAllocationHandle h;
	CUmoduleLoadingMode mode;

	OK(cuModuleGetLoadingMode(&mode));
	assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
	IS(cuModuleGetLoadingMode(NULL), INVALID_VALUE);
	OK(cuMemCreate(&h, 2 << 20, &prop, 0));
	OK(cuMemGetAllocationPropertiesFromHandle(&got, h));
	assert_int_equal(got.type, CU_MEM_ALLOCATION_TYPE_PINNED);
	assert_int_equal(got.location.id, 1);
	IS(cuMemGetAllocationPropertiesFromHandle(NULL, h), INVALID_VALUE);
	OK(cuMemRelease(h));
	IS(cuMemGetAllocationPropertiesFromHandle(&got, h), INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_attributes),
		cmocka_unit_test(test_current_pool),
		cmocka_unit_test(test_pool_refusals),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_advice_again_and_again),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_unknown_pointers),
		cmocka_unit_test(test_sync_memops),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_array_sizes),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_library_outlives_contexts),
		cmocka_unit_test(test_graph_memory),
		cmocka_unit_test(test_managed_batches),
		cmocka_unit_test(test_failing_copy),
		cmocka_unit_test(test_batch_nodes),
		cmocka_unit_test(test_small_questions),
	};

	return cmocka_run_group_tests_name("softgpu-memory", tests, start, softgpu_stop);
}
