/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of core/driver.h for CUDA's driver: memory.
 */
#include "capture/cuda/driver-cuda.h"

#include "capture/objects/arrays.h"

#define S(handle) ((CUstream)(uintptr_t)(handle))

/* Copies n bytes of an array to memory of the host (to.dstHost) or of the device (to.dstDevice). */
static struct driver_result copy_of_array(
	CUDA_MEMCPY3D to, const struct array *a, uint64_t offset, size_t n, uint64_t s)
{
	struct driver_result r = {DRIVER_OK, 0};
	for (uint64_t done = 0, part; done < n && driver_good(r); done += part) {
		struct array_box b;
		CUDA_MEMCPY3D m = to;
		part = array_box(a, offset + done, n - done, &b);
		m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		m.srcArray = (CUarray)(uintptr_t)atomic_load(&a->handle);
		m.srcXInBytes = b.x;
		m.srcY = b.y;
		m.srcZ = b.z;
		m.dstHost = to.dstHost ? (char *)to.dstHost + done : NULL;
		m.dstDevice = to.dstDevice ? to.dstDevice + done : 0;
		m.dstPitch = m.WidthInBytes = b.width;
		m.dstHeight = m.Height = b.height;
		m.Depth = b.depth;
		r = CUDA_ASK(cuMemcpy3DAsync_v2, &m, S(s));
	}
	return r;
}

/* The live array that has all n bytes at addr. */
static const struct array *array_of(uint64_t addr, size_t n)
{
	const struct array *a = sbt_is_array(addr) ? arrays_at(addr) : NULL;
	return a && n <= array_bytes(a) - (addr - a->addr) ? a : NULL;
}

struct driver_result cuda_copy_to_host(void *dst, uint64_t src, size_t n, uint64_t s)
{
	const struct array *a = array_of(src, n);
	if (a)
		return copy_of_array(
			(CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = dst}, a,
			src - a->addr, n, s);
	return CUDA_ASK(cuMemcpyDtoHAsync_v2, dst, src, n, S(s));
}

struct driver_result cuda_copy_on_device(uint64_t dst, uint64_t src, size_t n, uint64_t s)
{
	const struct array *a = array_of(src, n);
	if (a)
		return copy_of_array(
			(CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst}, a,
			src - a->addr, n, s);
	return CUDA_ASK(cuMemcpyDtoDAsync_v2, dst, src, n, S(s));
}

struct driver_result cuda_host_pin(void *p, size_t n)
{
	return CUDA_ASK(cuMemHostRegister_v2, p, n, CU_MEMHOSTREGISTER_PORTABLE);
}

struct driver_result cuda_host_unpin(void *p)
{
	return CUDA_ASK(cuMemHostUnregister, p);
}

struct driver_result cuda_mem_unused(uint64_t *ret)
{
	size_t unused = 0, total = 0;
	const struct driver_result r = CUDA_ASK(cuMemGetInfo_v2, &unused, &total);
	*ret = unused;
	return r;
}

struct driver_result cuda_mem_alloc(uint64_t *ret, size_t n)
{
	CUdeviceptr p = 0;
	const struct driver_result r = CUDA_ASK(cuMemAlloc_v2, &p, n);
	*ret = p;
	return r;
}

struct driver_result cuda_mem_free(uint64_t addr)
{
	return CUDA_ASK(cuMemFree_v2, addr);
}

/* ---- what lies where ---- */

static bool attribute(void *ret, CUpointer_attribute a, uint64_t addr)
{
	return driver_good(CUDA_ASK(cuPointerGetAttribute, ret, a, addr));
}

struct driver_result cuda_mem_range(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size)
{
	CUdeviceptr start = 0;
	size_t size = 0;
	struct driver_result r = CUDA_ASK(
		cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, addr);
	if (driver_good(r))
		r = CUDA_ASK(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, addr);
	*ret_start = start;
	*ret_size = size;
	return r;
}

bool cuda_mem_access(uint64_t addr)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
	unsigned long long flags = 0;
	CUdevice dev;
	if (!driver_good(CUDA_ASK(cuCtxGetDevice, &dev)))
		return false;
	here.id = dev;
	return driver_good(CUDA_ASK(cuMemGetAccess, &flags, &here, addr)) && flags;
}

static bool is_mapping(uint64_t addr)
{
	CUmemGenericAllocationHandle h;
	if (!cuda.cuMemRelease ||
		!driver_good(CUDA_ASK(cuMemRetainAllocationHandle, &h, (void *)(uintptr_t)addr)))
		return false;
	(void)OWN(cuda.cuMemRelease(h));
	return true;
}

/* Finds memory that was mapped piece by piece into one reservation: each piece is an allocation. */
static bool find_mapping(struct driver_memory *f, uint64_t addr)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	unsigned mapped = 1;
	if (attribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, addr) && !mapped)
		return false;
	if (!attribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, addr) ||
		!attribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, addr) || !base || !size)
		return false;
	f->addr = base;
	f->size = size;
	f->mem = SBT_MEM_VMM;
	return true;
}

/* Finds the kind of memory. A pool's memory is mapped, too, but not piece by piece: so pools come
 * first. */
static bool find_kind(struct driver_memory *f, uint64_t addr, unsigned type)
{
	unsigned managed = 0;
	CUmemoryPool pool = NULL;
	if (attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, addr) && managed)
		f->mem = SBT_MEM_MANAGED;
	else if (type == CU_MEMORYTYPE_HOST)
		f->mem = SBT_MEM_PINNED; /* or registered: the driver does not say */
	else if (attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, addr) && pool)
		f->mem = SBT_MEM_ASYNC;
	else if (is_mapping(addr))
		return find_mapping(f, addr);
	else
		f->mem = SBT_MEM_DEVICE;
	return true;
}

bool cuda_mem_at(uint64_t addr, struct driver_memory *f)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	unsigned type = 0;
	int device = 0;
	CUcontext ctx = NULL;
	if (!attribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, addr) || !base)
		return false;
	if (!attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addr) ||
		(type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE) ||
		!attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, addr) || !size ||
		addr - base >= size)
		return false;
	*f = (struct driver_memory){.addr = base, .size = size};
	if (!find_kind(f, addr, type))
		return false;
	if (attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, addr) && device >= 0)
		f->device = (uint32_t)device;
	if (attribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, addr))
		f->ctx = H(ctx);
	return true;
}
