/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: each device's primary one, created ones, and each thread's stack of current contexts. A
 * context that a fault ended keeps its handle and answers with the fault's error until it is
 * destroyed or the primary context is reset.
 */
#include "softgpu/memory/array.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STACK_DEPTH 64

static struct ctx *primary[MEM_DEVICES];
static unsigned primary_flags[MEM_DEVICES];
static _Thread_local struct ctx *stack[STACK_DEPTH];
static _Thread_local unsigned depth; /* 0: no current context */

/* --- the current context
 * ---------------------------------------------------------------------------------------- */

struct ctx *ctx_peek(void)
{
	struct ctx *c = depth ? stack[depth - 1] : NULL;

	return obj_alive(OBJ_CTX, c) ? c : NULL;
}

CUcontext tsdb_soft_current(void)
{
	return (CUcontext)ctx_peek();
}

CUresult ctx_sticky(const struct ctx *c)
{
	return (CUresult)c->sticky;
}

CUresult ctx_current_any(struct ctx **ret)
{
	struct ctx *c = depth ? stack[depth - 1] : NULL;

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!obj_alive(OBJ_CTX, c))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret = c;
	return CUDA_SUCCESS;
}

CUresult ctx_current(struct ctx **ret)
{
	TRY_CU(ctx_current_any(ret));
	return ctx_sticky(*ret);
}

CUresult ctx_resolve(CUcontext h, struct ctx **ret)
{
	if (!h)
		return ctx_current_any(ret);
	if (!obj_alive(OBJ_CTX, h))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = (struct ctx *)h;
	return CUDA_SUCCESS;
}

static void set_top(struct ctx *c)
{
	if (!depth && c)
		depth = 1;
	if (depth)
		stack[depth - 1] = c;
	if (depth == 1 && !c)
		depth = 0;
}

uint32_t tsdb_soft_context_id(CUcontext h)
{
	return obj_alive(OBJ_CTX, h) ? ((struct ctx *)h)->uid : 0;
}

/* --- making and ending --- */

static const size_t default_limits[CTX_LIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128,
	[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0,
};

static void raise_ctx(struct ctx *c, enum soft_resource_kind kind)
{
	drv_raise(&(struct soft_resource){.kind = kind, .ctx = (CUcontext)c, .ctx_uid = c->uid});
}

static CUresult ctx_new(int dev, unsigned flags, unsigned api, bool is_primary, struct ctx **ret)
{
	struct ctx *c = obj_new(OBJ_CTX);

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->uid = drv_new_uid();
	c->dev = dev;
	c->flags = flags;
	c->api_version = api;
	c->primary = is_primary;
	memcpy(c->limits, default_limits, sizeof(c->limits));
	c->heap = ptx_heap_new(c->limits[CU_LIMIT_MALLOC_HEAP_SIZE], c->uid);
	c->legacy = stream_new(c, 0, 0);
	if (!c->legacy) {
		obj_free(OBJ_CTX, c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->legacy->legacy = true;
	*ret = c;
	return CUDA_SUCCESS;
}

/* Frees everything c owns. Work that runs is waited for first. */
static void ctx_delete(struct ctx *c)
{
	struct ptx_heap *heap = c->heap;
	uint32_t uid = c->uid;

	raise_ctx(c, SOFT_CONTEXT_DESTROY_STARTING);
	ctx_drain(c);
	pthread_mutex_lock(&drv_lock);
	events_delete_of(c);
	streams_delete_of(c);
	modules_delete_of(c);
	libraries_forget(c);
	pools_delete_of(c);
	graph_mems_delete_of(c);
	textures_delete_of(c);
	arrays_delete_of(c);
	obj_free(OBJ_CTX, c);
	pthread_mutex_unlock(&drv_lock);
	mem_free_owner(uid);
	ptx_heap_delete(heap);
}

static CUresult create(CUcontext *pctx, unsigned flags, unsigned api, CUdevice dev)
{
	struct ctx *c;

	REQUIRE(pctx && !(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
	TRY_CU(device_check(dev));
	if (depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&drv_lock);
	CUresult r = ctx_new(dev, flags, api, false, &c);
	pthread_mutex_unlock(&drv_lock);
	TRY_CU(r);
	stack[depth++] = c;
	*pctx = (CUcontext)c;
	raise_ctx(c, SOFT_CONTEXT_CREATED);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuCtxCreate, CUcontext *, pctx, unsigned int, flags, CUdevice, dev)
{
	return create(pctx, flags, 3010, dev);
}

DRV_DEFINE(3, cuCtxCreate_v2, CUcontext *, pctx, unsigned int, flags, CUdevice, dev)
{
	return create(pctx, flags, 3020, dev);
}

DRV_DEFINE(5, cuCtxCreate_v3, CUcontext *, pctx, CUexecAffinityParam *, paramsArray, int, numParams,
	unsigned int, flags, CUdevice, dev)
{
	if (numParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(pctx, flags, 3020, dev);
}

DRV_DEFINE(4, cuCtxCreate_v4, CUcontext *, pctx, CUctxCreateParams *, ctxCreateParams, unsigned int,
	flags, CUdevice, dev)
{
	if (ctxCreateParams &&
		(ctxCreateParams->numExecAffinityParams || ctxCreateParams->cigParams))
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(pctx, flags, 3020, dev);
}

static CUresult destroy(CUcontext h)
{
	struct ctx *c = (struct ctx *)h;

	if (!obj_alive(OBJ_CTX, c) || c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	ctx_delete(c);
	if (depth && stack[depth - 1] == c)
		depth--;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxDestroy, CUcontext, ctx)
{
	return destroy(ctx);
}

DRV_DEFINE(1, cuCtxDestroy_v2, CUcontext, ctx)
{
	return destroy(ctx);
}

/* --- the primary context --- */

DRV_DEFINE(2, cuDevicePrimaryCtxRetain, CUcontext *, pctx, CUdevice, dev)
{
	CUresult r = CUDA_SUCCESS;
	bool made = false;

	REQUIRE(pctx);
	TRY_CU(device_check(dev));
	pthread_mutex_lock(&drv_lock);
	if (!primary[dev]) {
		r = ctx_new(dev, primary_flags[dev], 3020, true, &primary[dev]);
		made = r == CUDA_SUCCESS;
	}
	if (primary[dev])
		primary[dev]->refs++;
	*pctx = (CUcontext)primary[dev];
	pthread_mutex_unlock(&drv_lock);
	if (made)
		raise_ctx(primary[dev], SOFT_CONTEXT_CREATED);
	return r;
}

static void primary_end(CUdevice dev)
{
	struct ctx *c;

	pthread_mutex_lock(&drv_lock);
	c = primary[dev];
	primary[dev] = NULL;
	pthread_mutex_unlock(&drv_lock);
	if (c)
		ctx_delete(c);
}

static CUresult primary_release(CUdevice dev)
{
	bool last;

	TRY_CU(device_check(dev));
	pthread_mutex_lock(&drv_lock);
	if (!primary[dev] || !primary[dev]->refs) {
		pthread_mutex_unlock(&drv_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	last = --primary[dev]->refs == 0;
	pthread_mutex_unlock(&drv_lock);
	if (last)
		primary_end(dev);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuDevicePrimaryCtxRelease, CUdevice, dev)
{
	return primary_release(dev);
}

DRV_DEFINE(1, cuDevicePrimaryCtxRelease_v2, CUdevice, dev)
{
	return primary_release(dev);
}

static CUresult primary_reset(CUdevice dev)
{
	TRY_CU(device_check(dev));
	primary_end(dev);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuDevicePrimaryCtxReset, CUdevice, dev)
{
	return primary_reset(dev);
}

DRV_DEFINE(1, cuDevicePrimaryCtxReset_v2, CUdevice, dev)
{
	return primary_reset(dev);
}

static CUresult primary_set_flags(CUdevice dev, unsigned flags)
{
	TRY_CU(device_check(dev));
	REQUIRE(!(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
	pthread_mutex_lock(&drv_lock);
	primary_flags[dev] = flags;
	if (primary[dev])
		primary[dev]->flags = flags;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuDevicePrimaryCtxSetFlags, CUdevice, dev, unsigned int, flags)
{
	return primary_set_flags(dev, flags);
}

DRV_DEFINE(2, cuDevicePrimaryCtxSetFlags_v2, CUdevice, dev, unsigned int, flags)
{
	return primary_set_flags(dev, flags);
}

DRV_DEFINE(3, cuDevicePrimaryCtxGetState, CUdevice, dev, unsigned int *, flags, int *, active)
{
	TRY_CU(device_check(dev));
	REQUIRE(flags && active);
	pthread_mutex_lock(&drv_lock);
	*flags = primary_flags[dev];
	*active = primary[dev] != NULL;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

/* --- current --- */

static CUresult push(CUcontext h)
{
	if (!obj_alive(OBJ_CTX, h))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = (struct ctx *)h;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *pctx)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (pctx)
		*pctx = (CUcontext)stack[depth];
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxPushCurrent, CUcontext, ctx)
{
	return push(ctx);
}

DRV_DEFINE(1, cuCtxPushCurrent_v2, CUcontext, ctx)
{
	return push(ctx);
}

DRV_DEFINE(1, cuCtxPopCurrent, CUcontext *, pctx)
{
	return pop(pctx);
}

DRV_DEFINE(1, cuCtxPopCurrent_v2, CUcontext *, pctx)
{
	return pop(pctx);
}

DRV_DEFINE(1, cuCtxSetCurrent, CUcontext, ctx)
{
	if (ctx && !obj_alive(OBJ_CTX, ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	set_top((struct ctx *)ctx);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxGetCurrent, CUcontext *, pctx)
{
	REQUIRE(pctx);
	*pctx = depth ? (CUcontext)stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}

/* --- questions --- */

static CUresult get_device(CUdevice *device, CUcontext h)
{
	struct ctx *c;

	REQUIRE(device);
	TRY_CU(ctx_resolve(h, &c));
	*device = c->dev;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxGetDevice, CUdevice *, device)
{
	return get_device(device, NULL);
}

DRV_DEFINE(2, cuCtxGetDevice_v2, CUdevice *, device, CUcontext, ctx)
{
	return get_device(device, ctx);
}

DRV_DEFINE(1, cuCtxGetFlags, unsigned int *, flags)
{
	struct ctx *c;

	REQUIRE(flags);
	TRY_CU(ctx_current_any(&c));
	*flags = c->flags;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxSetFlags, unsigned int, flags)
{
	struct ctx *c;

	REQUIRE(!(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
	TRY_CU(ctx_current(&c));
	c->flags = flags;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuCtxGetId, CUcontext, ctx, unsigned long long *, ctxId)
{
	struct ctx *c;

	REQUIRE(ctxId);
	TRY_CU(ctx_resolve(ctx, &c));
	*ctxId = c->uid;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuCtxGetApiVersion, CUcontext, ctx, unsigned int *, version)
{
	struct ctx *c;

	REQUIRE(version);
	TRY_CU(ctx_resolve(ctx, &c));
	*version = c->api_version;
	return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext h)
{
	struct ctx *c;

	TRY_CU(ctx_resolve(h, &c));
	TRY_CU(ctx_sticky(c));
	if (ctx_has_capture(c))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	ctx_drain(c);
	pool_trim_freed(c, NULL);
	raise_ctx(c, SOFT_CONTEXT_SYNCHRONIZED);
	return ctx_sticky(c);
}

DRV_DEFINE0(cuCtxSynchronize)
{
	return synchronize(NULL);
}

DRV_DEFINE(1, cuCtxSynchronize_v2, CUcontext, ctx)
{
	return synchronize(ctx);
}

static bool limit_known(CUlimit limit)
{
	return (unsigned)limit < CTX_LIMITS && (limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
}

/* What a thread's stack must stay under: "CUDA C++ Programming Guide", "Technical Specifications
 * per Compute Capability", local memory per thread. */
#define STACK_END ((size_t)512 << 10)
#define PRINTF_MAX ((size_t)2 << 30)
#define HEAP_MIN ((size_t)4 << 20)

/* What the device takes when value is asked for: "the driver is free to modify the requested
 * value" ("CUDA Driver API", cuCtxSetLimit). Bounds as an H200's driver has them
 * (docs/gpu-results.md). False if it takes nothing. */
static bool limit_taken(CUlimit limit, size_t *value)
{
	size_t heap_max = mem_total() / 8;

	switch (limit) {
	case CU_LIMIT_STACK_SIZE:
		return *value < STACK_END;
	case CU_LIMIT_PRINTF_FIFO_SIZE:
		if (*value > PRINTF_MAX)
			*value = PRINTF_MAX;
		return true;
	case CU_LIMIT_MALLOC_HEAP_SIZE:
		if (*value < HEAP_MIN)
			*value = HEAP_MIN;
		if (*value > heap_max)
			*value = heap_max;
		return true;
	default:
		return true;
	}
}

DRV_DEFINE(2, cuCtxSetLimit, CUlimit, limit, size_t, value)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!limit_known(limit))
		return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT
					    : CUDA_ERROR_INVALID_VALUE;
	if (!limit_taken(limit, &value))
		return CUDA_ERROR_INVALID_VALUE;
	/* not after a kernel has used the heap: "CUDA Driver API", cuCtxSetLimit */
	if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && c->heap && !ptx_heap_set_limit(c->heap, value))
		return CUDA_ERROR_INVALID_VALUE;
	c->limits[limit] = value;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuCtxGetLimit, size_t *, pvalue, CUlimit, limit)
{
	struct ctx *c;

	REQUIRE(pvalue);
	TRY_CU(ctx_current(&c));
	if (!limit_known(limit))
		return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT
					    : CUDA_ERROR_INVALID_VALUE;
	*pvalue = c->limits[limit];
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxGetCacheConfig, CUfunc_cache *, pconfig)
{
	struct ctx *c;

	REQUIRE(pconfig);
	TRY_CU(ctx_current(&c));
	*pconfig = c->cache;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxSetCacheConfig, CUfunc_cache, config)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	REQUIRE(config <= CU_FUNC_CACHE_PREFER_EQUAL);
	c->cache = config;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxGetSharedMemConfig, CUsharedconfig *, pConfig)
{
	struct ctx *c;

	REQUIRE(pConfig);
	TRY_CU(ctx_current(&c));
	*pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxSetSharedMemConfig, CUsharedconfig, config)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	REQUIRE(config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuCtxGetStreamPriorityRange, int *, leastPriority, int *, greatestPriority)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = -5;
	return CUDA_SUCCESS;
}

DRV_DEFINE0(cuCtxResetPersistingL2Cache)
{
	struct ctx *c;

	return ctx_current(&c);
}

DRV_DEFINE(2, cuCtxGetExecAffinity, CUexecAffinityParam *, pExecAffinity, CUexecAffinityType, type)
{
	struct ctx *c;

	REQUIRE(pExecAffinity);
	TRY_CU(ctx_current(&c));
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* Counts references of a created context, as before CUDA 4. */
DRV_DEFINE(2, cuCtxAttach, CUcontext *, pctx, unsigned int, flags)
{
	struct ctx *c;

	REQUIRE(pctx && !flags);
	TRY_CU(ctx_current(&c));
	c->attached++;
	*pctx = (CUcontext)c;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxDetach, CUcontext, ctx)
{
	struct ctx *c;

	TRY_CU(ctx_current_any(&c));
	if ((struct ctx *)ctx != c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (c->attached) {
		c->attached--;
		return CUDA_SUCCESS;
	}
	return destroy(ctx);
}

/* --- peers: kernels of a context may use the memory of another device once it is enabled; host and
 * managed memory, and copies, always work */

DRV_DEFINE(2, cuCtxEnablePeerAccess, CUcontext, peerContext, unsigned int, Flags)
{
	struct ctx *c, *peer;

	TRY_CU(ctx_current(&c));
	REQUIRE(!Flags);
	if (!obj_alive(OBJ_CTX, peerContext) || (struct ctx *)peerContext == c)
		return CUDA_ERROR_INVALID_CONTEXT;
	peer = (struct ctx *)peerContext;
	if (peer->dev == c->dev)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (c->peers >> peer->dev & 1)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	c->peers |= 1u << peer->dev;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuCtxDisablePeerAccess, CUcontext, peerContext)
{
	struct ctx *c, *peer;

	TRY_CU(ctx_current(&c));
	if (!obj_alive(OBJ_CTX, peerContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	peer = (struct ctx *)peerContext;
	if (!(c->peers >> peer->dev & 1))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	ctx_drain(c); /* what was launched before may still use it */
	c->peers &= ~(1u << peer->dev);
	return CUDA_SUCCESS;
}
