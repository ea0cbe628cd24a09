/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads of copies; see payload.h. An asynchronous copy to the host is over when an event of ours, recorded behind it, says so; that is
 * asked whenever the program has waited for something, which is when it may look at the bytes itself.
 */
#include "capture/payload.h"

#include <time.h>
#include "capture/bulk.h"
#include "capture/calls.h"
#include "capture/driver.h"
#include "capture/extent.h"
#include "capture/gate.h"
#include "capture/graph-nodes.h"
#include "capture/ids.h"
#include "capture/live.h"
#include "capture/sender.h"
#include "capture/span.h"
#include "capture/thread.h"

#define OUTPUTS_MAX 1024
#define DELIVERY_NS 20000
#define EXTENT_MAX (1ull << 42)

/* A copy to the host on its way. */
struct output {
	bool used;
	struct piece piece;
	struct sbt_rows extent;
	CUevent event;
	CUcontext ctx; /* the event's */
};

static struct {
	struct spin lock;
	struct output slot[OUTPUTS_MAX];
	_Atomic uint32_t n;	     /* used, or being delivered */
	_Atomic uint32_t delivering; /* taken out of the list by a thread that is looking at the bytes */
} outputs;

/* The host side of a copy: its source, or its destination. False: nothing, or a copy that the driver refuses. */
static bool host_side(struct sbt_rows *ret, const struct sbt_cmd_copy *k, bool source)
{
	return !sbt_rows_of_copy(ret, k, !source) && ret->width && sbt_rows_size(ret) < EXTENT_MAX;
}

static struct piece piece_of(const struct call *c, uint32_t role, const struct sbt_rows *e)
{
	return (struct piece){ .seq = c->cmd.seq, .addr = e->addr, .size = sbt_rows_size(e), .role = role, .owner = BULK_ANY,
		.module = SBT_NO_ID };
}

static void send_source(const struct call *c, const struct sbt_cmd_copy *k)
{
	if (k->dir != SBT_COPY_H2D && k->dir != SBT_COPY_H2H)
		return;
	struct sbt_rows e;
	if (!host_side(&e, k, true))
		return;
	struct piece p = piece_of(c, BULK_INPUT, &e);
	if (!bulk_fill(&p, p.size, extent_read, &e))
		span_note("the source of a copy to the device could not be read");
}

/* ---- graphs --------------------------------------------------------------------------------------------------------------- */

/* Pinned and managed memory is compared (host.c). */
static bool is_watched(uint64_t addr)
{
	struct live l;
	return live_host() && live_at(addr, &l) && live_is_host(&l);
}

void payload_enter(struct call *c)
{
	if (c->cmd.flags & SBT_F_GRAPH)
		return;
	if (c->cmd.kind == SBT_COPY)
		send_source(c, &c->cmd.u.copy);
	struct sbt_cmd_copy k;
	for (uint32_t i = 0; c->cmd.kind == SBT_GRAPH_LAUNCH && graph_host_copy((uint32_t)c->cmd.u.graph_launch.exec, &i, &k);)
		if (!is_watched(k.src))
			send_source(c, &k);
}

/* ---- copies to the host ------------------------------------------------------------------------------------------------- */

static void deliver(struct thread *t, struct piece *p, struct sbt_rows *e)
{
	struct sbt_hash hash;
	uint8_t *page;
	bool good;
	if (atomic_load(&agent.control->outputs_full)) {
		good = bulk_fill(p, p->size, extent_read, e);
	} else {
		page = thread_page(t);
		good = page && extent_hash(e, page, &hash) && sender_hash(p, hash);
	}
	if (!good)
		span_note("what a copy to the host delivered was gone before it could be looked at");
}

static bool arm(struct output *o, const struct call *c)
{
	const CUcontext ctx = (CUcontext)(uintptr_t)(c->ctx ? c->ctx->handle : 0);
	if (!driver.cuEventCreate || !driver.cuEventRecord || !driver.cuEventQuery || !ctx)
		return false;
	if (o->ctx != ctx && OWN(driver.cuEventCreate(&o->event, CU_EVENT_DISABLE_TIMING)))
		return false;
	o->ctx = ctx;
	return !OWN(driver.cuEventRecord(o->event, c->stream));
}

/* The oldest makes room. */
static struct output *slot_for(void)
{
	struct output *oldest = &outputs.slot[0];
	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		if (!outputs.slot[i].used)
			return &outputs.slot[i];
		if (outputs.slot[i].piece.seq < oldest->piece.seq)
			oldest = &outputs.slot[i];
	}
	span_note("more asynchronous copies to the host were under way than are kept: results of the oldest were not recorded");
	atomic_fetch_sub(&outputs.n, 1);
	oldest->used = false;
	return oldest;
}

static void remember(struct call *c, const struct sbt_rows *e)
{
	spin_lock(&outputs.lock);
	struct output *o = slot_for();
	o->piece = piece_of(c, BULK_OUTPUT, e);
	o->extent = *e;
	o->used = arm(o, c);
	const bool used = o->used;
	if (used)
		atomic_fetch_add(&outputs.n, 1);
	spin_unlock(&outputs.lock);
	if (!used)
		span_note("the end of an asynchronous copy to the host could not be told");
}

static void take_destination(struct call *c, const struct sbt_cmd_copy *k)
{
	if (k->dir != SBT_COPY_D2H)
		return;
	struct sbt_rows e;
	if (!host_side(&e, k, false))
		return;
	if (k->async) {
		remember(c, &e);
		return;
	}
	struct piece p = piece_of(c, BULK_OUTPUT, &e);
	deliver(c->t, &p, &e);
}

void payload_exit(struct call *c)
{
	if (c->cmd.result || c->cmd.flags & SBT_F_GRAPH)
		return;
	if (c->cmd.kind == SBT_COPY)
		take_destination(c, &c->cmd.u.copy);
	struct sbt_cmd_copy k;
	for (uint32_t i = 0; c->cmd.kind == SBT_GRAPH_LAUNCH && graph_host_copy((uint32_t)c->cmd.u.graph_launch.exec, &i, &k);)
		take_destination(c, &k);
}

/* One that has finished is taken out of the list. */
static bool take_finished(bool all, struct output *ret)
{
	bool found = false;
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX && !found; i++) {
		struct output *o = &outputs.slot[i];
		if (!o->used || (!all && OWN(driver.cuEventQuery(o->event)) == CUDA_ERROR_NOT_READY))
			continue;
		*ret = *o;
		o->used = false;
		atomic_fetch_add(&outputs.delivering, 1);
		found = true;
	}
	spin_unlock(&outputs.lock);
	return found;
}

void payload_drop_ctx(uint64_t handle)
{
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		struct output *o = &outputs.slot[i];
		if ((uint64_t)(uintptr_t)o->ctx != handle)
			continue;
		if (o->used) {
			span_note("a context went away before its copies to the host were known to have ended");
			atomic_fetch_sub(&outputs.n, 1);
		}
		o->used = false;
		o->ctx = NULL;
	}
	spin_unlock(&outputs.lock);
}

void payload_poll(struct thread *t, bool all)
{
	struct output o;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!atomic_load_explicit(&outputs.n, memory_order_relaxed))
		return;
	if (driver.cuThreadExchangeStreamCaptureMode)
		(void)OWN(driver.cuThreadExchangeStreamCaptureMode(&mode));
	while (take_finished(all, &o)) {
		deliver(t, &o.piece, &o.extent);
		atomic_fetch_sub(&outputs.n, 1);
		atomic_fetch_sub(&outputs.delivering, 1);
	}
	/* What another thread is looking at may be what this one waited for, and is about to free. */
	while (atomic_load(&outputs.delivering) && agent_live())
		nanosleep(&(struct timespec){ .tv_nsec = DELIVERY_NS }, NULL);
	if (driver.cuThreadExchangeStreamCaptureMode)
		(void)OWN(driver.cuThreadExchangeStreamCaptureMode(&mode));
}
