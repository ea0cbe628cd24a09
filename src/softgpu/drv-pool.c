/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream-ordered memory. An allocation gets its address at once. A free keeps the address in a list until it may be given to
 * somebody else: to an allocation of the same size on the same stream at once (stream order makes that safe), to anybody after
 * the program has waited for that stream. Both depend on what the program did, never on timing, so addresses repeat from run to run.
 */
#include "softgpu/driver.h"

#include <stdlib.h>
#include <string.h>

struct piece {
	struct piece *next;
	uint64_t addr;
	size_t size;
	struct pool *pool;
	struct ctx *ctx;
	bool freed;
	uint32_t stream_id; /* where it was freed */
};

/* All guarded by drv_lock. */
static struct piece *pieces;
static _Atomic unsigned npieces; /* read without the lock: is there any? */
static struct pool *default_pool, *device_pool;

static struct pool *get_default(void)
{
	if (!default_pool) {
		default_pool = obj_new(OBJ_POOL);
		if (default_pool) {
			default_pool->is_default = true;
			default_pool->reuse[0] = default_pool->reuse[1] = default_pool->reuse[2] = 1;
		}
	}
	return default_pool;
}

static struct pool *get_current(void)
{
	return device_pool && obj_alive(OBJ_POOL, device_pool) ? device_pool : get_default();
}

static void piece_release(struct piece **at)
{
	struct piece *p = *at;

	*at = p->next;
	mem_free(p->addr);
	free(p);
	npieces--;
}

void pool_trim_freed(struct ctx *c, struct stream *s)
{
	struct piece **at = &pieces;

	if (!npieces)
		return;
	pthread_mutex_lock(&drv_lock);
	while (*at) {
		struct piece *p = *at;

		/* A waited-for legacy stream has waited for the blocking streams, not for the others: keep those. */
		if (p->freed && p->ctx == c && (!s || p->stream_id == s->id))
			piece_release(at);
		else
			at = &p->next;
	}
	pthread_mutex_unlock(&drv_lock);
}

void pools_delete_of(struct ctx *c)
{
	struct piece **at = &pieces;

	while (*at) {
		if ((*at)->ctx == c)
			piece_release(at);
		else
			at = &(*at)->next;
	}
}

static struct piece *piece_at(uint64_t addr)
{
	struct piece *p;

	for (p = pieces; p && p->addr != addr; p = p->next)
		;
	return p;
}

CUmemoryPool pool_of(uint64_t addr)
{
	struct piece *p;

	if (!npieces)
		return NULL;
	pthread_mutex_lock(&drv_lock);
	p = piece_at(addr);
	pthread_mutex_unlock(&drv_lock);
	return p ? (CUmemoryPool)p->pool : NULL;
}

bool pool_forget(uint64_t addr, struct ctx *c)
{
	struct piece **at = &pieces;

	if (!npieces)
		return false;
	ctx_drain(c);
	pthread_mutex_lock(&drv_lock);
	while (*at && (*at)->addr != addr)
		at = &(*at)->next;
	if (*at) {
		(*at)->pool->used -= (*at)->size;
		piece_release(at);
		pthread_mutex_unlock(&drv_lock);
		return true;
	}
	pthread_mutex_unlock(&drv_lock);
	return false;
}

static struct piece *reuse(const struct stream *s, size_t size)
{
	struct piece *p;

	for (p = pieces; p; p = p->next)
		if (p->freed && p->stream_id == s->id && p->size == size)
			return p;
	return NULL;
}

static struct piece *piece_new(struct stream *s, size_t size)
{
	const struct mem_range *r = mem_alloc(MEM_DEVICE, size, 0, s->ctx->uid);
	struct piece *p;

	if (!r)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		mem_free(r->start);
		return NULL;
	}
	*p = (struct piece){.next = pieces, .addr = r->start, .size = size, .ctx = s->ctx};
	pieces = p;
	npieces++;
	return p;
}

static CUresult alloc_async(CUdeviceptr *dptr, size_t size, struct pool *pool, CUstream h, bool ptds)
{
	struct stream *s;
	struct piece *p;

	REQUIRE(dptr && size);
	TRY_CU(stream_resolve(h, ptds, &s));
	if (s->capture) {
		capture_invalidate(s);
		drv_say("cuMemAllocAsync inside a stream capture is not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	pthread_mutex_lock(&drv_lock);
	p = reuse(s, size);
	if (!p)
		p = piece_new(s, size);
	pthread_mutex_unlock(&drv_lock);
	if (!p) {
		ctx_drain(s->ctx);
		pool_trim_freed(s->ctx, NULL);
		pthread_mutex_lock(&drv_lock);
		p = piece_new(s, size);
		pthread_mutex_unlock(&drv_lock);
	}
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&drv_lock);
	p->freed = false;
	p->pool = pool ? pool : get_current();
	p->pool->used += size;
	if (p->pool->used > p->pool->used_high)
		p->pool->used_high = p->pool->used;
	*dptr = p->addr;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_STREAM(3, cuMemAllocAsync, _ptsz, CUdeviceptr *, dptr, size_t, bytesize, CUstream, hStream)
{
	return alloc_async(dptr, bytesize, NULL, hStream, ptds);
}

DRV_STREAM(4, cuMemAllocFromPoolAsync, _ptsz, CUdeviceptr *, dptr, size_t, bytesize, CUmemoryPool, pool, CUstream, hStream)
{
	REQUIRE(obj_alive(OBJ_POOL, pool));
	return alloc_async(dptr, bytesize, (struct pool *)pool, hStream, ptds);
}

/* A plain allocation may be freed in stream order too. Caller holds drv_lock. */
static struct piece *adopt(CUdeviceptr addr)
{
	const struct mem_range *r = mem_find(addr);
	struct piece *p;

	if (!r || r->start != addr || r->kind != MEM_DEVICE)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct piece){.next = pieces, .addr = addr, .size = r->end - r->start, .pool = get_default()};
	p->pool->used += p->size;
	pieces = p;
	npieces++;
	return p;
}

DRV_STREAM(2, cuMemFreeAsync, _ptsz, CUdeviceptr, dptr, CUstream, hStream)
{
	struct stream *s;
	struct piece *p;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (!dptr)
		return CUDA_SUCCESS;
	if (s->capture) {
		capture_invalidate(s);
		drv_say("cuMemFreeAsync inside a stream capture is not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	pthread_mutex_lock(&drv_lock);
	p = piece_at(dptr);
	if (!p)
		p = adopt(dptr);
	if (!p || p->freed) {
		pthread_mutex_unlock(&drv_lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	p->freed = true;
	p->ctx = s->ctx;
	p->stream_id = s->id;
	p->pool->used -= p->size;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

/* --- pools ---------------------------------------------------------------------------------------------------------- */

static CUresult pool_default(CUmemoryPool *ret)
{
	pthread_mutex_lock(&drv_lock);
	*ret = (CUmemoryPool)get_default();
	pthread_mutex_unlock(&drv_lock);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRV_DEFINE(2, cuDeviceGetDefaultMemPool, CUmemoryPool *, pool_out, CUdevice, dev)
{
	REQUIRE(pool_out);
	TRY_CU(device_check(dev));
	return pool_default(pool_out);
}

DRV_DEFINE(2, cuDeviceGetMemPool, CUmemoryPool *, pool, CUdevice, dev)
{
	REQUIRE(pool);
	TRY_CU(device_check(dev));
	pthread_mutex_lock(&drv_lock);
	*pool = (CUmemoryPool)get_current();
	pthread_mutex_unlock(&drv_lock);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRV_DEFINE(2, cuDeviceSetMemPool, CUdevice, dev, CUmemoryPool, pool)
{
	TRY_CU(device_check(dev));
	REQUIRE(obj_alive(OBJ_POOL, pool));
	pthread_mutex_lock(&drv_lock);
	device_pool = (struct pool *)pool;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemPoolCreate, CUmemoryPool *, pool, const CUmemPoolProps *, poolProps)
{
	struct pool *p;

	REQUIRE(pool && poolProps && poolProps->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
	if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE || poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
		drv_say("cuMemPoolCreate: only pools of device memory without shareable handles are supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	TRY_CU(device_check(poolProps->location.id));
	p = obj_new(OBJ_POOL);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
	*pool = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuMemPoolDestroy, CUmemoryPool, pool)
{
	struct pool *p = (struct pool *)pool;
	struct piece *x;

	REQUIRE(obj_alive(OBJ_POOL, p) && !p->is_default);
	pthread_mutex_lock(&drv_lock);
	for (x = pieces; x; x = x->next) /* what is still allocated lives on */
		if (x->pool == p)
			x->pool = get_default();
	if (device_pool == p)
		device_pool = NULL;
	obj_free(OBJ_POOL, p);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemPoolTrimTo, CUmemoryPool, pool, size_t, minBytesToKeep)
{
	REQUIRE(obj_alive(OBJ_POOL, pool));
	return CUDA_SUCCESS; /* nothing is kept beyond the next synchronisation */
}

DRV_DEFINE(3, cuMemPoolSetAttribute, CUmemoryPool, pool, CUmemPool_attribute, attr, void *, value)
{
	struct pool *p = (struct pool *)pool;

	REQUIRE(value && obj_alive(OBJ_POOL, p));
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->release_threshold = *(cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		REQUIRE(*(cuuint64_t *)value == 0);
		p->used_high = p->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

DRV_DEFINE(3, cuMemPoolGetAttribute, CUmemoryPool, pool, CUmemPool_attribute, attr, void *, value)
{
	struct pool *p = (struct pool *)pool;

	REQUIRE(value && obj_alive(OBJ_POOL, p));
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = p->release_threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

DRV_DEFINE(3, cuMemPoolSetAccess, CUmemoryPool, pool, const CUmemAccessDesc *, map, size_t, count)
{
	size_t i;

	REQUIRE(obj_alive(OBJ_POOL, pool) && (map || !count));
	for (i = 0; i < count; i++)
		if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			TRY_CU(device_check(map[i].location.id));
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuMemPoolGetAccess, CUmemAccess_flags *, flags, CUmemoryPool, memPool, CUmemLocation *, location)
{
	REQUIRE(flags && location && obj_alive(OBJ_POOL, memPool));
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}
