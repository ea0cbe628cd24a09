/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: created ones, each context's legacy default stream, and each thread's own default stream
 * (made at first use, ended with its thread). What a stream executes is in drv-exec.c.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>

#define FIRST_STREAM_ID 7 /* what the vendor's tools show for the default stream */
#define GREATEST_PRIORITY (-5)

/* --- objects --- */

struct stream *stream_new(struct ctx *c, unsigned flags, int priority)
{
	static _Atomic uint32_t next_id = FIRST_STREAM_ID;
	struct stream *s = obj_new(OBJ_STREAM);

	if (!s)
		return NULL;
	s->ctx = c;
	s->id = atomic_fetch_add(&next_id, 1);
	s->flags = flags;
	s->priority = priority;
	s->tl = timeline_new(c);
	if (!s->tl) {
		obj_free(OBJ_STREAM, s);
		return NULL;
	}
	return s;
}

void stream_delete(struct stream *s)
{
	capture_stream_gone(s);
	timeline_close(s->tl);
	s->tl = NULL;
	obj_free(OBJ_STREAM, s);
}

void streams_delete_of(struct ctx *c)
{
	struct stream *s;

	for (s = obj_next(OBJ_STREAM, NULL); s; s = obj_next(OBJ_STREAM, s))
		if (s->ctx == c)
			stream_delete(s);
}

/* --- the thread's own default stream --- */

struct own_stream {
	struct own_stream *next;
	struct stream *stream;
	uint32_t stream_id, ctx_uid;
};
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static bool own_alive(const struct own_stream *o)
{
	return obj_alive(OBJ_STREAM, o->stream) && o->stream->id == o->stream_id;
}

static void own_end(void *list)
{
	struct own_stream *o = list, *next;

	if (!drv_ready)
		return;
	pthread_mutex_lock(&drv_lock);
	for (; o; o = next) {
		next = o->next;
		if (own_alive(o))
			stream_delete(o->stream);
		free(o);
	}
	pthread_mutex_unlock(&drv_lock);
}

static void own_key_make(void)
{
	pthread_key_create(&own_key, own_end);
}

static struct stream *own_stream(struct ctx *c)
{
	struct own_stream *o;

	pthread_once(&own_once, own_key_make);
	for (o = pthread_getspecific(own_key); o; o = o->next)
		if (o->ctx_uid == c->uid && own_alive(o))
			return o->stream;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	pthread_mutex_lock(&drv_lock);
	o->stream = stream_new(c, 0, 0);
	pthread_mutex_unlock(&drv_lock);
	if (!o->stream) {
		free(o);
		return NULL;
	}
	o->stream->per_thread = true;
	o->stream_id = o->stream->id;
	o->ctx_uid = c->uid;
	o->next = pthread_getspecific(own_key);
	pthread_setspecific(own_key, o);
	return o->stream;
}

CUresult stream_resolve(CUstream h, bool ptds, struct stream **ret)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if ((!h && ptds) || h == CU_STREAM_PER_THREAD) {
		*ret = own_stream(c);
		return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!h || h == CU_STREAM_LEGACY) {
		*ret = c->legacy;
		return CUDA_SUCCESS;
	}
	if (!obj_alive(OBJ_STREAM, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct stream *)h;
	/* A stream of another context may be used; work runs in the stream's. */
	return ctx_sticky((*ret)->ctx);
}

uint32_t tsdb_soft_stream_id(CUcontext h, CUstream stream, bool per_thread)
{
	struct ctx *c = h ? (struct ctx *)h : ctx_peek();

	if (stream > CU_STREAM_PER_THREAD)
		return obj_alive(OBJ_STREAM, stream) ? ((struct stream *)stream)->id : 0;
	if (!obj_alive(OBJ_CTX, c))
		return 0;
	if (stream == CU_STREAM_PER_THREAD || (!stream && per_thread)) {
		struct stream *s = own_stream(c);

		return s ? s->id : 0;
	}
	return c->legacy->id;
}

/* --- waiting --- */

bool stream_idle(struct stream *s)
{
	struct stream *o;
	struct point p;
	bool ret = true;

	pthread_mutex_lock(&drv_lock);
	for (o = obj_next(OBJ_STREAM, NULL); o && ret; o = obj_next(OBJ_STREAM, o)) {
		if (o != s &&
			!(s->legacy && o->ctx == s->ctx && !(o->flags & CU_STREAM_NON_BLOCKING)))
			continue;
		p = timeline_now(o->tl);
		ret = point_reached(&p);
		point_release(&p);
	}
	pthread_mutex_unlock(&drv_lock);
	return ret;
}

CUresult stream_wait(struct stream *s)
{
	struct op nop = {.kind = OP_NOP};
	struct ctx *c = s->ctx;
	struct point p;

	if (s->capture) {
		capture_invalidate(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (s->legacy) {
		TRY_CU(stream_submit(s, &nop, NULL, true, false));
	} else {
		p = timeline_now(s->tl);
		point_wait(&p);
		point_release(&p);
	}
	pool_trim_freed(c, s);
	drv_raise(&(struct soft_resource){.kind = SOFT_STREAM_SYNCHRONIZED,
		.ctx = (CUcontext)c,
		.ctx_uid = c->uid,
		.stream = s->legacy ? NULL : (CUstream)s});
	return ctx_sticky(c);
}

/* --- calls --- */

static CUresult create(CUstream *ph, unsigned flags, int priority)
{
	struct stream *s;
	struct ctx *c;

	REQUIRE(ph && !(flags & ~CU_STREAM_NON_BLOCKING));
	TRY_CU(ctx_current(&c));
	if (priority > 0)
		priority = 0;
	if (priority < GREATEST_PRIORITY)
		priority = GREATEST_PRIORITY;
	pthread_mutex_lock(&drv_lock);
	s = stream_new(c, flags, priority);
	pthread_mutex_unlock(&drv_lock);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ph = (CUstream)s;
	drv_raise(&(struct soft_resource){.kind = SOFT_STREAM_CREATED,
		.ctx = (CUcontext)c,
		.ctx_uid = c->uid,
		.stream = *ph});
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuStreamCreate, CUstream *, phStream, unsigned int, Flags)
{
	return create(phStream, Flags, 0);
}

DRV_DEFINE(3, cuStreamCreateWithPriority, CUstream *, phStream, unsigned int, flags, int, priority)
{
	return create(phStream, flags, priority);
}

static CUresult destroy(CUstream h)
{
	struct stream *s = (struct stream *)h;
	struct ctx *c;

	TRY_CU(ctx_current_any(&c));
	if (h <= CU_STREAM_PER_THREAD || !obj_alive(OBJ_STREAM, h) || s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	drv_raise(&(struct soft_resource){.kind = SOFT_STREAM_DESTROY_STARTING,
		.ctx = (CUcontext)s->ctx,
		.ctx_uid = s->ctx->uid,
		.stream = h});
	pthread_mutex_lock(&drv_lock);
	if (obj_alive(OBJ_STREAM, s))
		stream_delete(s);
	pthread_mutex_unlock(&drv_lock);
	return ctx_sticky(c);
}

DRV_DEFINE(1, cuStreamDestroy, CUstream, hStream)
{
	return destroy(hStream);
}

DRV_DEFINE(1, cuStreamDestroy_v2, CUstream, hStream)
{
	return destroy(hStream);
}

DRV_STREAM(1, cuStreamSynchronize, _ptsz, CUstream, hStream)
{
	struct stream *s;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	return stream_wait(s);
}

DRV_STREAM(1, cuStreamQuery, _ptsz, CUstream, hStream)
{
	struct stream *s;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (s->capture) {
		capture_invalidate(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (!stream_idle(s))
		return CUDA_ERROR_NOT_READY;
	return ctx_sticky(s->ctx);
}

DRV_STREAM(2, cuStreamGetPriority, _ptsz, CUstream, hStream, int *, priority)
{
	struct stream *s;

	REQUIRE(priority);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*priority = s->priority;
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuStreamGetFlags, _ptsz, CUstream, hStream, unsigned int *, flags)
{
	struct stream *s;

	REQUIRE(flags);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*flags = s->flags;
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuStreamGetId, _ptsz, CUstream, hStream, unsigned long long *, streamId)
{
	struct stream *s;

	REQUIRE(streamId);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*streamId = s->id;
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuStreamGetCtx, _ptsz, CUstream, hStream, CUcontext *, pctx)
{
	struct stream *s;

	REQUIRE(pctx);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*pctx = (CUcontext)s->ctx;
	return CUDA_SUCCESS;
}

DRV_STREAM(
	3, cuStreamGetCtx_v2, _ptsz, CUstream, hStream, CUcontext *, pCtx, CUgreenCtx *, pGreenCtx)
{
	struct stream *s;

	REQUIRE(pCtx);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*pCtx = (CUcontext)s->ctx;
	if (pGreenCtx)
		*pGreenCtx = NULL;
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuStreamGetDevice, _ptsz, CUstream, hStream, CUdevice *, device)
{
	struct stream *s;

	REQUIRE(device);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*device = s->ctx->dev;
	return CUDA_SUCCESS;
}

DRV_STREAM(2, cuStreamCopyAttributes, _ptsz, CUstream, dst, CUstream, src)
{
	struct stream *a, *b;

	TRY_CU(stream_resolve(dst, ptds, &a));
	TRY_CU(stream_resolve(src, ptds, &b));
	a->sync_policy = b->sync_policy;
	return CUDA_SUCCESS;
}

DRV_STREAM(3, cuStreamGetAttribute, _ptsz, CUstream, hStream, CUstreamAttrID, attr,
	CUstreamAttrValue *, value_out)
{
	struct stream *s;

	REQUIRE(value_out);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		value_out->syncPolicy = s->sync_policy ? (CUsynchronizationPolicy)s->sync_policy
						       : CU_SYNC_POLICY_AUTO;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value_out->priority = s->priority;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

DRV_STREAM(3, cuStreamSetAttribute, _ptsz, CUstream, hStream, CUstreamAttrID, attr,
	const CUstreamAttrValue *, value)
{
	struct stream *s;

	REQUIRE(value);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		s->sync_policy = (int)value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* a hint about the cache */
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* Managed memory is one memory here, whatever it is attached to. */
DRV_STREAM(4, cuStreamAttachMemAsync, _ptsz, CUstream, hStream, CUdeviceptr, dptr, size_t, length,
	unsigned int, flags)
{
	const struct mem_range *r = mem_find(dptr);
	struct stream *s;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	REQUIRE(r && r->kind == MEM_MANAGED && flags <= 4);
	REQUIRE(!length || length == r->end - r->start);
	return CUDA_SUCCESS;
}

/* --- memory operations --- */

CUresult value_op_check(enum op_kind kind, CUdeviceptr addr, uint64_t value, unsigned bytes,
	unsigned flags, struct op *ret)
{
	*ret = (struct op){.kind = kind, .value = {addr, value, bytes, flags}};
	REQUIRE(!(addr % bytes) && (kind == OP_WAIT_VALUE ? mem_covers(addr, bytes)
							  : mem_covers_writable(addr, bytes)));
	REQUIRE(kind == OP_WAIT_VALUE
			? (flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH)) == 0
			: (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) == 0);
	return CUDA_SUCCESS;
}

static CUresult value_op(CUstream h, bool ptds, enum op_kind kind, CUdeviceptr addr, uint64_t value,
	unsigned bytes, unsigned flags)
{
	struct stream *s;
	struct op op;

	TRY_CU(stream_resolve(h, ptds, &s));
	TRY_CU(value_op_check(kind, addr, value, bytes, flags, &op));
	return stream_submit(s, &op, NULL, false, true);
}

DRV_STREAM(4, cuStreamWaitValue32_v2, _ptsz, CUstream, stream, CUdeviceptr, addr, cuuint32_t, value,
	unsigned int, flags)
{
	return value_op(stream, ptds, OP_WAIT_VALUE, addr, value, 4, flags);
}

DRV_STREAM(4, cuStreamWaitValue64_v2, _ptsz, CUstream, stream, CUdeviceptr, addr, cuuint64_t, value,
	unsigned int, flags)
{
	return value_op(stream, ptds, OP_WAIT_VALUE, addr, value, 8, flags);
}

DRV_STREAM(4, cuStreamWriteValue32_v2, _ptsz, CUstream, stream, CUdeviceptr, addr, cuuint32_t,
	value, unsigned int, flags)
{
	return value_op(stream, ptds, OP_WRITE_VALUE, addr, value, 4, flags);
}

DRV_STREAM(4, cuStreamWriteValue64_v2, _ptsz, CUstream, stream, CUdeviceptr, addr, cuuint64_t,
	value, unsigned int, flags)
{
	return value_op(stream, ptds, OP_WRITE_VALUE, addr, value, 8, flags);
}
