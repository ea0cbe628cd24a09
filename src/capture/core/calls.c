/* SPDX-License-Identifier: Apache-2.0
 *
 * A call's way through the agent; see calls.h. The order matters: the command's seq is taken at
 * entry, after the records of the objects that it introduces, and the record is published at exit
 * (with the result). Syncs are published at entry, because a wait must be visible while it lasts.
 * Calls that return addresses are numbered at exit, see calls.h.
 */
#include "capture/core/calls.h"

#include <string.h>
#include "capture/core/clock.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/memory/effect.h"
#include "capture/memory/graph-memory.h"
#include "capture/memory/ipc.h"
#include "capture/core/gate.h"
#include "capture/objects/graph-table.h"
#include "capture/host/host.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/objects/live.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/window.h"
#include "capture/stacks/stack.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"
#include "capture/core/armed.h"
#include "sbt/cmd-pack.h"

_Atomic int32_t calls_captures;
_Atomic uint32_t calls_any;
_Atomic uint64_t calls_fault_seq;
_Atomic uint32_t calls_fault;

/* --- publishing --- */

/* See "Order" in wire.h. */
static uint64_t take_seq(struct thread *t)
{
	struct tsdb_control *ctl = agent.control;
	if (t->ring.shared)
		atomic_store_explicit(&t->ring.shared->inflight,
			atomic_load_explicit(&ctl->next_seq, memory_order_relaxed),
			memory_order_release);
	return atomic_fetch_add_explicit(&ctl->next_seq, 1, memory_order_acq_rel);
}

static void set_idle(struct thread *t)
{
	if (t->ring.shared)
		atomic_store_explicit(&t->ring.shared->inflight, TSDB_IDLE, memory_order_release);
}

/* Counts it once, under its cause. */
static void count_lost(struct thread *t, size_t size)
{
	if (!t->ring.shared)
		atomic_fetch_add_explicit(&agent.control->lost_no_ring, 1, memory_order_relaxed);
	else if (size > TSDB_RECORD_MAX)
		agent_count_lost();
	else
		t->ring.shared->lost++;
}

static void publish(struct thread *t, const struct sbt_cmd *cmd)
{
	const size_t size = sbt_pack_size(cmd);
	void *to = ring_reserve(
		&t->ring, size > TSDB_RECORD_MAX ? TSDB_RECORD_MAX + 8 : (uint32_t)size, false);
	if (!to) {
		count_lost(t, size);
		return;
	}
	sbt_pack(to, cmd);
	ring_commit(&t->ring, (uint32_t)size);
}

/* For an agent that came late: whether the object existed before, because no call made it. */
static bool was_before(const struct sbt_cmd *cmd)
{
	switch (cmd->kind) {
	case SBT_CTX_CREATE:
	case SBT_EVENT_CREATE:
	case SBT_MODULE_LOAD:
	case SBT_ALLOC:
	case SBT_GRAPH_CREATE:
	case SBT_GRAPH_INSTANTIATE:
		return true;
	case SBT_STREAM_CREATE:
		return !cmd->u.stream_create.per_thread;
	default:
		return false;
	}
}

static void fill(struct thread *t, struct sbt_cmd *cmd, uint16_t flags, uint32_t ctx)
{
	cmd->flags |= flags;
	if (discover_watched() && flags & SBT_F_SYNTHETIC && was_before(cmd))
		cmd->flags |= SBT_F_BEFORE;
	cmd->thread = t->number;
	cmd->ctx = ctx;
	cmd->host_ns = clock_ns(&t->clock);
}

void record_in(struct thread *t, struct sbt_cmd *cmd, uint16_t flags, uint32_t ctx)
{
	fill(t, cmd, flags, ctx);
	if (t->in_flight) {
		/* The call in progress has an earlier seq, which stays the lower bound. */
		cmd->seq = atomic_fetch_add_explicit(
			&agent.control->next_seq, 1, memory_order_acq_rel);
		publish(t, cmd);
		return;
	}
	cmd->seq = take_seq(t);
	publish(t, cmd);
	set_idle(t);
}

static uint32_t present_ctx(const struct thread *t)
{
	return t->busy ? t->call.cmd.ctx : t->ctx && t->ctx_handle ? t->ctx->id : SBT_NO_ID;
}

void record_now(struct thread *t, struct sbt_cmd *cmd, uint16_t flags)
{
	record_in(t, cmd, flags, present_ctx(t));
}

void record_with_stop(struct call *c)
{
	struct thread *t = c->t;
	if (t->in_flight) { /* within a call of the driver, which has its stop */
		record_now(t, &c->cmd, 0);
		return;
	}
	fill(t, &c->cmd, 0, present_ctx(t));
	t->in_flight = true;
	c->cmd.seq = take_seq(t);
	if (stop_watched())
		stop_at(c, false);
	publish(t, &c->cmd);
	t->in_flight = false;
	set_idle(t);
}

void record_unreplayable(struct thread *t, const char *what)
{
	struct sbt_cmd cmd = {.kind = SBT_UNREPLAYABLE};
	cmd.u.unreplayable.call = (struct sbt_blob){what, strlen(what)};
	record_now(t, &cmd, SBT_F_SYNTHETIC);
}

bool call_is_step(const struct sbt_cmd *cmd)
{
	return !(cmd->flags & SBT_F_SYNTHETIC) && !(sbt_kind_does(cmd->kind) & SBT_PASSED);
}

/* --- for handlers --- */

uint32_t call_ctx_id(const struct call *c)
{
	return c->ctx ? c->ctx->id : SBT_NO_ID;
}

uint32_t call_device(const struct call *c)
{
	return c->ctx ? (uint32_t)c->ctx->device : 0;
}

uint32_t call_stream(struct call *c, uint64_t handle)
{
	const bool ptsz = c->row->flags & CALL_PTSZ;
	c->stream = !handle && ptsz ? STREAM_PER_THREAD : handle;
	c->has_stream = true;
	if (c->stream == STREAM_PER_THREAD)
		c->cmd.flags |= SBT_F_PTDS;
	const struct object *o = thread_stream(c->t, handle);
	return o && handle > STREAM_PER_THREAD ? o->id : ids_stream(c->t, c->ctx, handle, ptsz);
}

void call_unreplayable(struct call *c, const char *what)
{
	memset(&c->cmd.u, 0, sizeof(c->cmd.u));
	c->cmd.kind = SBT_UNREPLAYABLE;
	c->cmd.u.unreplayable.call = (struct sbt_blob){what, strlen(what)};
}

void call_counted(struct call *c)
{
	call_unreplayable(c, c->row->name ? c->row->name : (const char *)(uintptr_t)c->note);
}

/* --- entry --- */

/* Capture was off for a while: the handles may refer to other objects now. */
static _Atomic uint32_t was_off;

static bool switched_on(struct tsdb_control *ctl)
{
	if (__builtin_expect(!atomic_load_explicit(&ctl->on, memory_order_relaxed), 0)) {
		atomic_store_explicit(&was_off, 1, memory_order_relaxed);
		return false;
	}
	if (__builtin_expect(atomic_load_explicit(&was_off, memory_order_relaxed), 0) &&
		atomic_exchange(&was_off, 0))
		ids_forget();
	return true;
}

/* Whether it may change memory, or which memory is allocated. */
static bool may_change(const struct call *c)
{
	if (__builtin_expect(c->cmd.kind == SBT_LAUNCH, 1))
		return true;
	if (c->cmd.kind == SBT_UNREPLAYABLE)
		return !(c->row->flags & CALL_HANDLES);
	return sbt_kind_does(c->cmd.kind) & SBT_CHANGES;
}

/* Work given to a stream that is capturing becomes a graph node. */
static void flag_capturing(struct call *c)
{
	bool capturing = false;
	if (!c->has_stream || !(sbt_kind_does(c->cmd.kind) & SBT_QUEUED) ||
		c->row->flags & CALL_UNCAPTURED)
		return;
	if (driver_good(driver->stream_capturing(c->stream, &capturing)) && capturing)
		c->cmd.flags |= SBT_F_GRAPH;
}

static void take_stack(struct call *c, const void *frame)
{
	struct tsdb_control *ctl = agent.control;
	const uint32_t when = atomic_load_explicit(&ctl->stacks, memory_order_relaxed);
	const bool launch = c->cmd.kind == SBT_LAUNCH || c->cmd.kind == SBT_GRAPH_LAUNCH;
	if (when == TSDB_STACKS_ALL || (when == TSDB_STACKS_LAUNCHES && launch) ||
		(when != TSDB_STACKS_NEVER && c->cmd.flags & SBT_F_WINDOW))
		c->cmd.stack = stack_take(c->t, frame,
			atomic_load_explicit(&ctl->stack_depth, memory_order_relaxed),
			c->kernel ? c->kernel->id : 0);
}

/* Compilers take `rep stos` for an initialiser of this size, which is slower than the C library. */
static void clear(struct call *c)
{
	size_t n = sizeof(*c);
	__asm__("" : "+r"(n));
	memset(c, 0, n);
}

static struct call *prepare(struct thread *t, const struct call_site *s)
{
	struct call *c = &t->call;
	clear(c);
	c->row = s->row;
	c->t = t;
	c->params = s->params;
	c->symbol = s->symbol;
	c->note = (uint64_t)(uintptr_t)s->name;
	c->cmd.kind = s->row->kind;
	c->cmd.thread = t->number;
	c->cmd.corr = s->corr;
	t->loaded_hash = 0;
	c->ctx = thread_ctx(t, s->ctx);
	if (__builtin_expect(!c->ctx, 0))
		c->ctx = ids_ctx(t, s->ctx);
	c->cmd.ctx = call_ctx_id(c);
	return c;
}

/* Waits while the gate is shut, and begins or ends the window. The call has not reached the
 * driver. */
static inline void pass_gate(struct call *c)
{
	gate_enter(c->t);
	if (__builtin_expect(window_watched(), 0) && !window_passes(c->cmd.kind))
		window_before(c);
}

/* The command gets its number, its stack, and the user's stop. */
static void number(struct call *c, const void *frame)
{
	struct thread *t = c->t;
	const bool late =
		c->row->flags & (CALL_LATE | CALL_AFTER); /* the driver has done it already */
	if (__builtin_expect(atomic_load_explicit(&calls_captures, memory_order_relaxed), 0))
		flag_capturing(c);
	if (!late)
		pass_gate(c);
	else if (__builtin_expect(window_watched(), 0))
		window_late(c);
	if (__builtin_expect(!atomic_load_explicit(&calls_any, memory_order_relaxed), 0))
		atomic_store(&calls_any, 1);
	c->cmd.host_ns = clock_ns(&t->clock);
	t->in_flight = true;
	c->cmd.seq = take_seq(t);
	if (may_change(c))
		atomic_store_explicit(&t->work_seq, c->cmd.seq, memory_order_relaxed);
	if (__builtin_expect(armed_watched(), 0))
		armed_enter(c);
	if (__builtin_expect(window_watched(), 0) && !(c->row->flags & CALL_LATE))
		window_numbered(c);
	take_stack(c, frame);
	if (__builtin_expect(stop_watched(), 0)) {
		stop_at(c, false);
		if (!late && window_watched())
			window_after_stop(c);
	}
	if (c->cmd.kind == SBT_FREE)
		live_free(c);
	if (__builtin_expect(ipc_watched(), 0) && !late)
		ipc_before(c);
	if (__builtin_expect(window_watched(), 0) && !late &&
		(!window_passes(c->cmd.kind) || (c->kernel && c->kernel->collective)))
		window_enter(c);
	if (__builtin_expect(c->turn, 0))
		host_turn_over(c);
}

void calls_enter(const struct call_site *s)
{
	struct tsdb_control *ctl = agent.control;
	*s->link = 0;
	if (!switched_on(ctl))
		return;
	struct thread *t = thread_get();
	if (!t)
		return;
	/* Deeper in the stack than the present call: made by the driver itself. Otherwise that call
	 * was left by longjmp(). */
	if (t->busy && (uintptr_t)s->frame < t->busy_frame)
		return;
	if (__builtin_expect(t->busy, 0))
		agent_count_lost();
	t->busy = t->in_flight = false;
	if (__builtin_expect(!t->announced, 0))
		thread_announce(t);
	struct call *c = prepare(t, s);
	t->busy_frame = (uintptr_t)s->frame;
	t->busy_link = (uint64_t)s->corr << 32 | 0x7d5b;
	*s->link = t->busy_link;
	t->busy = true;
	if (s->row->enter)
		s->row->enter(c);
	else
		call_counted(c);
	if (discover_watched())
		discover_enter(c);
	if (!c->skip && s->row->flags & CALL_AFTER)
		pass_gate(c);
	else if (!c->skip && !(s->row->flags & CALL_LATE))
		number(c, s->frame);
	if (s->row->flags & CALL_FIRST && !c->skip) {
		publish(t, &c->cmd);
		t->in_flight = false;
		set_idle(t);
		gate_leave(t, THREAD_SYNCING);
	}
}

/* --- exit --- */

static void end_sync(struct thread *t, struct call *c, uint32_t result)
{
	struct sbt_cmd cmd = {.kind = SBT_SYNC_END, .result = result};
	cmd.u.sync_end.begin = c->cmd.seq;
	cmd.flags = c->cmd.flags & SBT_F_WINDOW;
	record_now(t, &cmd, 0);
}

/* Whether the result is one after which the context answers nothing else. */
static bool note_fault(const struct call *c)
{
	uint64_t none = 0;
	if (!driver->result_is_fault(c->cmd.result))
		return false;
	if (atomic_compare_exchange_strong(&calls_fault_seq, &none, c->cmd.seq))
		atomic_store(&calls_fault, c->cmd.result);
	return true;
}

/* The driver has answered: completes the command and publishes it. Returns whether it has a number.
 */
static bool answered(struct thread *t, struct call *c, const void *frame)
{
	const bool late = c->row->flags & (CALL_LATE | CALL_AFTER);
	bool numbered = !c->skip && !late;
	if (c->row->exit)
		c->row->exit(c);
	if (!c->skip && late) {
		number(c, frame);
		numbered = true;
	}
	if (__builtin_expect(c->cmd.flags & SBT_F_GRAPH, 0) && !c->cmd.result && c->has_stream &&
		(sbt_kind_does(c->cmd.kind) & SBT_QUEUED))
		graph_note_captured(c);
	if (!c->skip && numbered)
		publish(t, &c->cmd);
	if (c->cmd.kind == SBT_ALLOC)
		live_alloc(c);
	else if (c->cmd.kind == SBT_FREE)
		live_free_over(c);
	if (discover_watched())
		discover_exit(c);
	if (t->in_flight) {
		t->in_flight = false;
		set_idle(t);
	}
	return numbered;
}

void calls_exit(uint64_t *link, uint32_t result, const void *frame)
{
	struct thread *t = tls.thread;
	if (!t || !t->busy || *link != t->busy_link)
		return;
	struct call *c = &t->call;
	bool numbered = !c->skip && !(c->row->flags & (CALL_LATE | CALL_AFTER));
	c->cmd.result = result;
	if (!(c->row->flags & CALL_FIRST))
		numbered = answered(t, c, frame);
	else if (numbered)
		end_sync(t, c, result);
	t->busy = false;
	const bool failed = __builtin_expect(result, 0) && numbered && !c->skip;
	const bool sticky = failed && note_fault(c);
	if (__builtin_expect(ipc_watched(), 0) && !result &&
		(c->row->flags & CALL_FIRST || c->cmd.kind == SBT_QUERY ||
			(c->cmd.kind == SBT_COPY && !(c->row->flags & CALL_ASYNC))))
		ipc_waited();
	if (__builtin_expect(c->effect, 0))
		effect_exit(c);
	if (__builtin_expect(c->opaque, 0))
		graph_memory_launched(c);
	if (__builtin_expect(
		    c->window_closed || (window_watched() && c->cmd.kind != SBT_LAUNCH), 0)) {
		if (c->row->flags & CALL_FIRST || (c->cmd.kind == SBT_QUERY && !result))
			window_waited(t);
		else if (numbered && !c->skip)
			window_exit(c);
		if (c->window_closed)
			window_close(t);
	}
	gate_leave(t, THREAD_OUT);
	/* The program may abort now: sends what remains of the window first. */
	if (__builtin_expect(sticky, 0))
		sender_wait(SENDER_START, SENDER_FOR_EVER);
	if (__builtin_expect(c->window_closed, 0))
		armed_settle();
	if (failed && atomic_load_explicit(&agent.control->stop_on_error, memory_order_relaxed))
		stop_error(c, sticky);
	else if (__builtin_expect(stop_watched() || c->window_closed, 0) && numbered && !c->skip)
		stop_at(c, true);
}
