/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: allocation, what an address is, and the calls about managed memory. Freeing waits for the
 * work that was submitted, as the vendor's driver does. Stream-ordered allocation is in drv-pool.c.
 */
#include "softgpu/driver/drv.h"

#include <stdlib.h>
#include <string.h>

#define PITCH 512u

/* --- what an address is --- */

static bool closed(const struct mem_range *r, bool write)
{
	return write && r->kind == MEM_MAPPED && r->read_only;
}

static const struct mem_range *covers(uint64_t addr, size_t n, bool write)
{
	const struct mem_range *r = mem_find(addr), *last = r && closed(r, write) ? NULL : r;

	/* Memory that was mapped side by side is one. */
	while (last && n > last->end - addr) {
		uint64_t end = last->end;

		last = last->kind == MEM_MAPPED ? mem_find(end) : NULL;
		if (last && (last->start != end || last->kind != MEM_MAPPED || closed(last, write)))
			last = NULL;
	}
	return last ? r : NULL;
}

const struct mem_range *mem_covers(uint64_t addr, size_t n)
{
	return covers(addr, n, false);
}

const struct mem_range *mem_covers_writable(uint64_t addr, size_t n)
{
	return covers(addr, n, true);
}

enum soft_mem_kind mem_soft_kind(const struct mem_range *r)
{
	if (!r)
		return SOFT_MEM_PAGEABLE;
	switch (r->kind) {
	case MEM_PINNED:
	case MEM_REGISTERED:
		return SOFT_MEM_PINNED;
	case MEM_MANAGED:
		return SOFT_MEM_MANAGED;
	default:
		return SOFT_MEM_DEVICE;
	}
}

static struct ctx *ctx_with_uid(uint32_t uid)
{
	struct ctx *c;

	pthread_mutex_lock(&drv_lock);
	for (c = obj_next(OBJ_CTX, NULL); c && c->uid != uid; c = obj_next(OBJ_CTX, c))
		;
	pthread_mutex_unlock(&drv_lock);
	return c;
}

static bool on_host(const struct mem_range *r)
{
	return r->kind == MEM_PINNED || r->kind == MEM_REGISTERED;
}

/* --- device memory --- */

static CUresult alloc(enum mem_kind kind, size_t size, uint32_t flags, uint64_t *ret)
{
	const struct mem_range *r;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	TRY_CU(capture_check_unsafe());
	r = mem_alloc_on((unsigned)c->dev, kind, size, 0, c->uid);
	if (!r) { /* what cuMemFreeAsync gave back may help */
		ctx_drain(c);
		pool_trim_freed(c, NULL);
		r = mem_alloc_on((unsigned)c->dev, kind, size, 0, c->uid);
	}
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mem_set_flags(r, flags, false);
	*ret = r->start;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemAlloc_v2, CUdeviceptr *, dptr, size_t, bytesize)
{
	uint64_t addr;

	REQUIRE(dptr);
	TRY_CU(alloc(MEM_DEVICE, bytesize, 0, &addr));
	*dptr = addr;
	return CUDA_SUCCESS;
}

DRV_DEFINE(5, cuMemAllocPitch_v2, CUdeviceptr *, dptr, size_t *, pPitch, size_t, WidthInBytes,
	size_t, Height, unsigned int, ElementSizeBytes)
{
	uint64_t addr;
	size_t pitch;

	REQUIRE(dptr && pPitch && WidthInBytes && Height && WidthInBytes <= SIZE_MAX / 2);
	REQUIRE(ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
	pitch = (WidthInBytes + PITCH - 1) & ~(size_t)(PITCH - 1);
	if (Height > SIZE_MAX / pitch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	TRY_CU(alloc(MEM_DEVICE, pitch * Height, 0, &addr));
	*dptr = addr;
	*pPitch = pitch;
	return CUDA_SUCCESS;
}

/* After all work has run. */
static CUresult free_range(const struct mem_range *r)
{
	uint64_t start = r->start;

	ctx_drain_all();
	if (r->kind == MEM_MANAGED)
		managed_forget(start, r->end);
	return mem_free(start) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRV_DEFINE(1, cuMemFree_v2, CUdeviceptr, dptr)
{
	const struct mem_range *r = mem_find(dptr);
	CUresult of_graph;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!dptr)
		return CUDA_SUCCESS;
	REQUIRE(r && r->start == dptr && (r->kind == MEM_DEVICE || r->kind == MEM_MANAGED));
	TRY_CU(capture_check_unsafe());
	if (pool_forget(dptr, c))
		return CUDA_SUCCESS;
	if (graph_mem_forget(dptr, c, &of_graph))
		return of_graph;
	TRY_CU(free_range(r));
	return ctx_sticky(c);
}

DRV_DEFINE(2, cuMemGetInfo_v2, size_t *, free, size_t *, total)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (free)
		*free = mem_total() - mem_used((unsigned)c->dev);
	if (total)
		*total = mem_total();
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuMemGetAddressRange_v2, CUdeviceptr *, pbase, size_t *, psize, CUdeviceptr, dptr)
{
	const struct mem_range *r = mem_find(dptr);
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!r)
		return CUDA_ERROR_NOT_FOUND;
	if (pbase)
		*pbase = r->start;
	if (psize)
		*psize = r->end - r->start;
	return CUDA_SUCCESS;
}

/* --- host memory --- */

static CUresult host_alloc(void **pp, size_t size, unsigned flags)
{
	uint64_t addr;

	REQUIRE(pp && !(flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
					    CU_MEMHOSTALLOC_WRITECOMBINED)));
	/* Under unified addressing pinned memory is always mapped and portable. */
	TRY_CU(alloc(MEM_PINNED, size, flags | CU_MEMHOSTALLOC_DEVICEMAP, &addr));
	*pp = (void *)addr;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemAllocHost_v2, void **, pp, size_t, bytesize)
{
	return host_alloc(pp, bytesize, 0);
}

DRV_DEFINE(3, cuMemHostAlloc, void **, pp, size_t, bytesize, unsigned int, Flags)
{
	return host_alloc(pp, bytesize, Flags);
}

DRV_DEFINE(1, cuMemFreeHost, void *, p)
{
	const struct mem_range *r = mem_find((uint64_t)p);
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!p)
		return CUDA_SUCCESS;
	REQUIRE(r && r->start == (uint64_t)p && r->kind == MEM_PINNED);
	return free_range(r);
}

DRV_DEFINE(3, cuMemHostRegister_v2, void *, p, size_t, bytesize, unsigned int, Flags)
{
	const struct mem_range *r;
	struct ctx *c;

	REQUIRE(p && bytesize && !(Flags & ~15u));
	TRY_CU(ctx_current(&c));
	if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = mem_find((uint64_t)p);
	if (r && !on_host(r))
		return CUDA_ERROR_INVALID_VALUE;
	r = mem_register(p, bytesize, c->uid);
	if (!r)
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	mem_set_flags(
		r, Flags | CU_MEMHOSTALLOC_DEVICEMAP, (Flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuMemHostUnregister, void *, p)
{
	const struct mem_range *r = mem_find((uint64_t)p);
	struct ctx *c;

	REQUIRE(p);
	TRY_CU(ctx_current(&c));
	if (!r || r->start != (uint64_t)p || r->kind != MEM_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	return free_range(r);
}

DRV_DEFINE(3, cuMemHostGetDevicePointer_v2, CUdeviceptr *, pdptr, void *, p, unsigned int, Flags)
{
	const struct mem_range *r = mem_find((uint64_t)p);
	struct ctx *c;

	REQUIRE(pdptr && !Flags);
	TRY_CU(ctx_current(&c));
	REQUIRE(r && on_host(r));
	*pdptr = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemHostGetFlags, unsigned int *, pFlags, void *, p)
{
	const struct mem_range *r = mem_find((uint64_t)p);

	REQUIRE(pFlags && r && on_host(r));
	*pFlags = r->flags & ~DRV_MEM_SYNC;
	return CUDA_SUCCESS;
}

/* --- managed memory: the same memory for both sides --- */

DRV_DEFINE(3, cuMemAllocManaged, CUdeviceptr *, dptr, size_t, bytesize, unsigned int, flags)
{
	uint64_t addr;

	REQUIRE(dptr && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
	TRY_CU(alloc(MEM_MANAGED, bytesize, flags, &addr));
	*dptr = addr;
	return CUDA_SUCCESS;
}

/* Of mapped memory all that was reserved; memory of another process was not reserved by a call. */
static struct vmm_span reserved_around(const struct mem_range *r, CUdeviceptr ptr)
{
	struct vmm_span s = r->kind == MEM_MAPPED ? vmm_reservation(ptr) : (struct vmm_span){0, 0};

	return s.size ? s : (struct vmm_span){r->start, r->end - r->start};
}

/* --- pointer attributes --- */

/* Stores the attribute. r is NULL for an address that the driver does not know. */
static CUresult attribute_of(
	const struct mem_range *r, CUdeviceptr ptr, CUpointer_attribute which, void *data)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)ctx_with_uid(r->ctx);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = on_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (r->kind == MEM_DEVICE || r->kind == MEM_MODULE || r->kind == MEM_MAPPED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned *)data = (r->flags & DRV_MEM_SYNC) != 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = mem_range_id(r);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = r->kind == MEM_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = r->dev;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = reserved_around(r, ptr).start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = r->start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = reserved_around(r, ptr).size;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = r->end - r->start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = pool_of(r->start);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

DRV_DEFINE(3, cuPointerGetAttribute, void *, data, CUpointer_attribute, attribute, CUdeviceptr, ptr)
{
	const struct mem_range *r = mem_find(ptr);
	struct ctx *c;

	REQUIRE(data);
	TRY_CU(ctx_current(&c));
	if (r)
		return attribute_of(r, ptr, attribute, data);
	if (attribute == CU_POINTER_ATTRIBUTE_MAPPED) {
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Bytes that an attribute's value takes. */
static size_t attribute_size(CUpointer_attribute a)
{
	switch (a) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	default:
		return 8;
	}
}

/* The plural form answers for any pointer: zeros (and device ordinal -2) for one that is not ours.
 */
DRV_DEFINE(4, cuPointerGetAttributes, unsigned int, numAttributes, CUpointer_attribute *,
	attributes, void **, data, CUdeviceptr, ptr)
{
	const struct mem_range *r = mem_find(ptr);
	struct ctx *c;
	unsigned i;

	REQUIRE(numAttributes && attributes && data);
	TRY_CU(ctx_current(&c));
	for (i = 0; i < numAttributes; i++) {
		CUpointer_attribute a = attributes[i];

		REQUIRE(data[i] && a >= CU_POINTER_ATTRIBUTE_CONTEXT &&
			a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE);
		if (r && attribute_of(r, ptr, a, data[i]) == CUDA_SUCCESS)
			continue;
		memset(data[i], 0, attribute_size(a));
		if (!r && a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2;
		if (!r && a == CU_POINTER_ATTRIBUTE_HOST_POINTER)
			*(CUdeviceptr *)data[i] = ptr;
	}
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuPointerSetAttribute, const void *, value, CUpointer_attribute, attribute,
	CUdeviceptr, ptr)
{
	const struct mem_range *r = mem_find(ptr);
	struct ctx *c;

	REQUIRE(value);
	TRY_CU(ctx_current(&c));
	REQUIRE(attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && r); /* the only one to be set */
	mem_set_flags(r,
		*(const unsigned *)value ? r->flags | DRV_MEM_SYNC : r->flags & ~DRV_MEM_SYNC,
		r->read_only);
	return CUDA_SUCCESS;
}

/* CUDA 4's, as cuMemHostRegister_v2 is. */
DRV_DEFINE(3, cuMemHostRegister, void *, p, size_t, bytesize, unsigned int, Flags)
{
	return cuMemHostRegister_v2(p, bytesize, Flags);
}
