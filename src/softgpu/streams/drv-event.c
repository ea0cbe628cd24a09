/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a record is a mark in a stream; the event remembers the point right after the last one.
 * Waiting streams wait for that point as it was when they asked, so recording the event again later
 * does not move them.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>

#define KNOWN_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

DRV_DEFINE(2, cuEventCreate, CUevent *, phEvent, unsigned int, Flags)
{
	struct event *e;
	struct ctx *c;

	REQUIRE(phEvent && !(Flags & ~(unsigned)KNOWN_FLAGS));
	REQUIRE(!(Flags & CU_EVENT_INTERPROCESS) || (Flags & CU_EVENT_DISABLE_TIMING));
	TRY_CU(ctx_current(&c));
	e = obj_new(OBJ_EVENT);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = c;
	e->flags = Flags;
	*phEvent = (CUevent)e;
	return CUDA_SUCCESS;
}

static void event_clear(struct event *e)
{
	point_release(&e->at);
	mark_unref(e->mark);
	free(e->deps);
	e->mark = NULL;
	e->deps = NULL;
	e->ndeps = 0;
	e->capture = NULL;
}

static void event_delete(struct event *e)
{
	event_clear(e);
	obj_free(OBJ_EVENT, e);
}

void events_delete_of(struct ctx *c)
{
	struct event *e;

	for (e = obj_next(OBJ_EVENT, NULL); e; e = obj_next(OBJ_EVENT, e))
		if (e->ctx == c)
			event_delete(e);
}

static CUresult event_resolve(CUevent h, struct event **ret)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!obj_alive(OBJ_EVENT, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct event *)h;
	return ctx_sticky((*ret)->ctx);
}

static CUresult destroy(CUevent h)
{
	if (!obj_alive(OBJ_EVENT, h))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&drv_lock);
	event_delete((struct event *)h);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuEventDestroy, CUevent, hEvent)
{
	return destroy(hEvent);
}

DRV_DEFINE(1, cuEventDestroy_v2, CUevent, hEvent)
{
	return destroy(hEvent);
}

/* --- recording --- */

/* In a capture the event refers to the stream's last nodes. Caller holds drv_lock. */
static CUresult record_captured(struct event *e, struct stream *s)
{
	struct capture_stream *cs = capture_stream_of(s);

	if (!cs)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	event_clear(e);
	e->deps = malloc((cs->ndeps + 1) * sizeof(*e->deps));
	if (!e->deps)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (e->ndeps = 0; e->ndeps < cs->ndeps; e->ndeps++)
		e->deps[e->ndeps] = cs->deps[e->ndeps];
	e->capture = s->capture;
	e->capture_id = s->capture->id;
	e->recorded = true;
	return CUDA_SUCCESS;
}

void event_set(struct event *e, struct mark *m, const struct point *at)
{
	event_clear(e);
	mark_ref(m);
	e->mark = m;
	point_copy(&e->at, at);
	e->recorded = true;
}

CUresult event_record(struct event *e, struct stream *s)
{
	struct op op = {.kind = OP_MARK};
	struct mark *m;
	CUresult r;

	pthread_mutex_lock(&drv_lock);
	if (s->capture) {
		r = record_captured(e, s);
		pthread_mutex_unlock(&drv_lock);
		return r;
	}
	pthread_mutex_unlock(&drv_lock);
	m = mark_new();
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mark_ref(m);
	op.mark = m;
	r = stream_submit(s, &op, NULL, false, true);
	if (r != CUDA_SUCCESS) {
		mark_unref(m);
		return r;
	}
	pthread_mutex_lock(&drv_lock);
	event_clear(e);
	e->mark = m;
	e->at = timeline_now(s->tl);
	e->recorded = true;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

static CUresult external(enum op_kind kind, struct event *e, struct stream *s)
{
	struct op op = {.kind = kind, .event = e};
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&drv_lock);
	if (s->capture)
		r = capture_add(s, &op);
	pthread_mutex_unlock(&drv_lock);
	return r;
}

static CUresult record(CUevent h, CUstream hs, bool ptds, unsigned flags)
{
	struct stream *s;
	struct event *e;

	REQUIRE(!(flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL));
	TRY_CU(event_resolve(h, &e));
	TRY_CU(stream_resolve(hs, ptds, &s));
	if (s->ctx != e->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags) /* "CUDA Driver API", cuEventRecordWithFlags: only in a capture, where it becomes
		      a node */
		return external(OP_EVENT_RECORD, e, s);
	return event_record(e, s);
}

DRV_STREAM(2, cuEventRecord, _ptsz, CUevent, hEvent, CUstream, hStream)
{
	return record(hEvent, hStream, ptds, 0);
}

DRV_STREAM(
	3, cuEventRecordWithFlags, _ptsz, CUevent, hEvent, CUstream, hStream, unsigned int, flags)
{
	return record(hEvent, hStream, ptds, flags);
}

/* --- asking --- */

/* An event recorded in a capture has no place in time until the graph runs. Caller holds drv_lock.
 */
static CUresult not_captured(const struct event *e)
{
	return e->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

DRV_DEFINE(1, cuEventQuery, CUevent, hEvent)
{
	struct event *e;
	CUresult r;

	TRY_CU(event_resolve(hEvent, &e));
	pthread_mutex_lock(&drv_lock); /* recording it again frees the mark */
	r = not_captured(e);
	if (r == CUDA_SUCCESS && e->mark &&
		!atomic_load_explicit(&e->mark->done, memory_order_acquire))
		r = CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&drv_lock);
	return r != CUDA_SUCCESS ? r : ctx_sticky(e->ctx);
}

DRV_DEFINE(1, cuEventSynchronize, CUevent, hEvent)
{
	struct event *e;
	struct point p;
	CUresult r;

	TRY_CU(event_resolve(hEvent, &e));
	pthread_mutex_lock(&drv_lock);
	r = not_captured(e);
	if (r == CUDA_SUCCESS)
		point_copy(&p, &e->at);
	pthread_mutex_unlock(&drv_lock);
	TRY_CU(r);
	point_wait(&p);
	point_release(&p);
	return ctx_sticky(e->ctx);
}

/* Caller holds drv_lock. */
static CUresult between(float *ms, const struct event *a, const struct event *b)
{
	TRY_CU(not_captured(a));
	TRY_CU(not_captured(b));
	if (((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) || !a->mark || !b->mark)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!a->mark->done || !b->mark->done)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)((int64_t)b->mark->ns - (int64_t)a->mark->ns) / 1e6);
	return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent hs, CUevent he)
{
	struct event *a, *b;
	CUresult r;

	REQUIRE(ms);
	TRY_CU(event_resolve(hs, &a));
	TRY_CU(event_resolve(he, &b));
	pthread_mutex_lock(&drv_lock);
	r = between(ms, a, b);
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(3, cuEventElapsedTime, float *, pMilliseconds, CUevent, hStart, CUevent, hEnd)
{
	return elapsed(pMilliseconds, hStart, hEnd);
}

DRV_DEFINE(3, cuEventElapsedTime_v2, float *, pMilliseconds, CUevent, hStart, CUevent, hEnd)
{
	return elapsed(pMilliseconds, hStart, hEnd);
}

/* --- waiting streams --- */

DRV_STREAM(3, cuStreamWaitEvent, _ptsz, CUstream, hStream, CUevent, hEvent, unsigned int, Flags)
{
	struct op op = {.kind = OP_NOP};
	struct point p = {0};
	struct stream *s;
	struct event *e;
	CUresult r;

	REQUIRE(!(Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL));
	TRY_CU(stream_resolve(hStream, ptds, &s));
	TRY_CU(event_resolve(hEvent, &e));
	if (Flags)
		return external(OP_EVENT_WAIT, e, s);
	pthread_mutex_lock(&drv_lock);
	if (e->capture || s->capture) {
		r = capture_wait(s, e);
		pthread_mutex_unlock(&drv_lock);
		return r;
	}
	point_copy(&p, &e->at);
	pthread_mutex_unlock(&drv_lock);
	if (!p.tl || p.tl == s->tl) { /* never recorded, or in this stream: nothing to wait for */
		point_release(&p);
		return CUDA_SUCCESS;
	}
	r = stream_submit(s, &op, &p, false, true);
	point_release(&p);
	return r;
}
