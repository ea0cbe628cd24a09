/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream-ordered memory. An allocation gets its address at once. A free keeps the address in a list
 * until another allocation may have it: one of the same size on the same stream at once (stream
 * order makes that safe), any other after the program has waited for that stream. Both depend on
 * what the program did, never on timing, so addresses repeat from run to run.
 */
#include "softgpu/driver/drv.h"

#include <stdlib.h>
#include <string.h>

struct piece {
	struct piece *next;
	uint64_t addr;
	size_t size;
	struct pool *pool;
	struct ctx *ctx;
	int dev;
	bool freed;
	uint32_t stream_id; /* where it was freed */
};

/* All guarded by drv_lock. */
static struct piece *pieces;
static _Atomic unsigned npieces; /* read without the lock: is there any? */
static struct pool *default_pool[MEM_DEVICES], *device_pool[MEM_DEVICES];

static struct pool *pool_new(int dev)
{
	struct pool *p = obj_new(OBJ_POOL);

	if (p) {
		p->dev = dev;
		p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
	}
	return p;
}

static struct pool *get_default(int dev)
{
	if (!default_pool[dev]) {
		default_pool[dev] = pool_new(dev);
		if (default_pool[dev])
			default_pool[dev]->is_default = true;
	}
	return default_pool[dev];
}

static struct pool *get_current(int dev)
{
	return device_pool[dev] && obj_alive(OBJ_POOL, device_pool[dev]) ? device_pool[dev]
									 : get_default(dev);
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

		/* A waited-for legacy stream has waited for the blocking streams, not for the
		 * others: keep those. */
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

static struct piece *reuse(const struct stream *s, size_t size, int dev)
{
	struct piece *p;

	for (p = pieces; p; p = p->next)
		if (p->freed && p->stream_id == s->id && p->size == size && p->dev == dev)
			return p;
	return NULL;
}

static struct piece *piece_new(struct stream *s, size_t size, int dev)
{
	const struct mem_range *r = mem_alloc_on((unsigned)dev, MEM_DEVICE, size, 0, s->ctx->uid);
	struct piece *p;

	if (!r)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		mem_free(r->start);
		return NULL;
	}
	*p = (struct piece){
		.next = pieces, .addr = r->start, .size = size, .ctx = s->ctx, .dev = dev};
	pieces = p;
	npieces++;
	return p;
}

/* Becomes a node; the address is known at once. */
static CUresult capture_alloc(CUdeviceptr *dptr, size_t size, struct stream *s)
{
	uint64_t addr;
	struct op op;

	TRY_CU(graph_mem_alloc_op(s->ctx, size, &op));
	addr = graph_mem_address(&op);
	TRY_CU(stream_submit(s, &op, NULL, false, true));
	*dptr = addr;
	return CUDA_SUCCESS;
}

static CUresult alloc_async(
	CUdeviceptr *dptr, size_t size, struct pool *pool, CUstream h, bool ptds)
{
	struct stream *s;
	struct piece *p;
	int dev;

	REQUIRE(dptr && size);
	TRY_CU(stream_resolve(h, ptds, &s));
	if (s->capture)
		return capture_alloc(dptr, size, s);
	pthread_mutex_lock(&drv_lock);
	dev = pool ? pool->dev : get_current(s->ctx->dev)->dev;
	p = reuse(s, size, dev);
	if (!p)
		p = piece_new(s, size, dev);
	pthread_mutex_unlock(&drv_lock);
	if (!p) {
		ctx_drain(s->ctx);
		pool_trim_freed(s->ctx, NULL);
		pthread_mutex_lock(&drv_lock);
		p = piece_new(s, size, dev);
		pthread_mutex_unlock(&drv_lock);
	}
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&drv_lock);
	p->freed = false;
	p->pool = pool ? pool : get_current(s->ctx->dev);
	mem_allow(mem_find(p->addr), p->pool->access);
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

DRV_STREAM(4, cuMemAllocFromPoolAsync, _ptsz, CUdeviceptr *, dptr, size_t, bytesize, CUmemoryPool,
	pool, CUstream, hStream)
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
	*p = (struct piece){.next = pieces,
		.addr = addr,
		.size = r->end - r->start,
		.pool = get_default(r->dev),
		.dev = r->dev};
	p->pool->used += p->size;
	pieces = p;
	npieces++;
	return p;
}

DRV_STREAM(2, cuMemFreeAsync, _ptsz, CUdeviceptr, dptr, CUstream, hStream)
{
	CUresult of_graph;
	struct stream *s;
	struct piece *p;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (!dptr)
		return CUDA_SUCCESS;
	if (s->capture) {
		struct op op;

		TRY_CU(graph_mem_free_op(dptr, &op));
		return stream_submit(s, &op, NULL, false, true);
	}
	if (graph_mem_forget_async(dptr, s, &of_graph)) /* what a launch allocated */
		return of_graph;
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

/* --- pools --- */

static CUresult pool_default(int dev, CUmemoryPool *ret)
{
	pthread_mutex_lock(&drv_lock);
	*ret = (CUmemoryPool)get_default(dev);
	pthread_mutex_unlock(&drv_lock);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_current(int dev, CUmemoryPool *ret)
{
	pthread_mutex_lock(&drv_lock);
	*ret = (CUmemoryPool)get_current(dev);
	pthread_mutex_unlock(&drv_lock);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_set(int dev, CUmemoryPool pool)
{
	REQUIRE(obj_alive(OBJ_POOL, pool) && ((struct pool *)pool)->dev == dev);
	pthread_mutex_lock(&drv_lock);
	device_pool[dev] = (struct pool *)pool;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuDeviceGetDefaultMemPool, CUmemoryPool *, pool_out, CUdevice, dev)
{
	REQUIRE(pool_out);
	TRY_CU(device_check(dev));
	return pool_default(dev, pool_out);
}

DRV_DEFINE(2, cuDeviceGetMemPool, CUmemoryPool *, pool, CUdevice, dev)
{
	REQUIRE(pool);
	TRY_CU(device_check(dev));
	return pool_current(dev, pool);
}

DRV_DEFINE(2, cuDeviceSetMemPool, CUdevice, dev, CUmemoryPool, pool)
{
	TRY_CU(device_check(dev));
	return pool_set(dev, pool);
}

DRV_DEFINE(2, cuMemPoolCreate, CUmemoryPool *, pool, const CUmemPoolProps *, poolProps)
{
	struct pool *p;

	REQUIRE(pool && poolProps && poolProps->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
	if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
		poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
		drv_say("cuMemPoolCreate: only pools of device memory without shareable handles are supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	TRY_CU(device_check(poolProps->location.id));
	p = pool_new(poolProps->location.id);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
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
			x->pool = get_default(p->dev);
	if (device_pool[p->dev] == p)
		device_pool[p->dev] = NULL;
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
	struct pool *p = (struct pool *)pool;
	struct piece *x;
	size_t i;

	REQUIRE(obj_alive(OBJ_POOL, pool) && (map || !count));
	for (i = 0; i < count; i++) {
		REQUIRE(map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
		TRY_CU(device_check(map[i].location.id));
		/* its own device always has access */
		REQUIRE(map[i].location.id != p->dev ||
			map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	}
	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < count; i++) {
		uint32_t bit = 1u << map[i].location.id;

		p->access = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? p->access & ~bit
									  : p->access | bit;
	}
	for (x = pieces; x; x = x->next)
		if (x->pool == p && !x->freed)
			mem_allow(mem_find(x->addr), p->access);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuMemPoolGetAccess, CUmemAccess_flags *, flags, CUmemoryPool, memPool,
	CUmemLocation *, location)
{
	const struct pool *p = (struct pool *)memPool;

	REQUIRE(flags && location && obj_alive(OBJ_POOL, memPool) &&
		location->type == CU_MEM_LOCATION_TYPE_DEVICE);
	TRY_CU(device_check(location->id));
	*flags = location->id == p->dev || p->access >> location->id & 1
			 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

/* --- pools by place: only devices have any --- */

static CUresult pool_place(const CUmemLocation *l, CUmemAllocationType type)
{
	REQUIRE(l);
	if (l->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED) {
		drv_say("only pools of device memory are supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return device_check(l->id);
}

DRV_DEFINE(3, cuMemGetDefaultMemPool, CUmemoryPool *, pool_out, CUmemLocation *, location,
	CUmemAllocationType, type)
{
	REQUIRE(pool_out);
	TRY_CU(pool_place(location, type));
	return pool_default(location->id, pool_out);
}

DRV_DEFINE(3, cuMemGetMemPool, CUmemoryPool *, pool, CUmemLocation *, location, CUmemAllocationType,
	type)
{
	REQUIRE(pool);
	TRY_CU(pool_place(location, type));
	return pool_current(location->id, pool);
}

DRV_DEFINE(3, cuMemSetMemPool, CUmemLocation *, location, CUmemAllocationType, type, CUmemoryPool,
	pool)
{
	TRY_CU(pool_place(location, type));
	return pool_set(location->id, pool);
}
