/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans; see span.h. Beginning and ending is done by whichever thread first finds that what the debugger wants and what there is differ,
 * with the gate shut. Not while the program captures a stream into a graph: then waiting for the device is forbidden, and
 * the span begins or ends at the first command after that.
 */
#include "capture/span.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "capture/bulk.h"
#include "capture/calls.h"
#include "capture/device.h"
#include "capture/driver.h"
#include "capture/extent.h"
#include "capture/fresh.h"
#include "capture/gate.h"
#include "capture/globals.h"
#include "capture/host.h"
#include "capture/ids.h"
#include "capture/live.h"
#include "capture/payload.h"
#include "capture/shadow.h"
#include "capture/stop.h"
#include "capture/thread.h"
#include "capture/touched.h"

#define PATIENCE 100 /* tenths of a second: how long for calls under way, and for each context's work */

_Atomic uint32_t span_open;
_Atomic uint32_t span_refused;

static struct {
	uint64_t first;
	_Atomic uint32_t incomplete;
	_Atomic uint32_t over;	  /* the program leaves */
	_Atomic uint32_t overrun; /* commands behind the window were let through: a stream was being captured */
	struct spin noting;
	struct device_set set; /* only with the gate shut */
} span;

uint64_t span_first(void)
{
	return span.first;
}

void span_note(const char *sentence)
{
	struct tsdb_control *ctl = agent.control;
	spin_lock(&span.noting);
	if (!atomic_exchange(&span.incomplete, 1)) {
		strncpy(ctl->text2, sentence, sizeof(ctl->text2) - 1);
		ctl->text2[sizeof(ctl->text2) - 1] = '\0';
	}
	spin_unlock(&span.noting);
}

/* r: of device_idle(). */
static void note_not_idle(CUresult r, const char *when)
{
	const uint64_t seq = atomic_load(&calls_fault_seq);
	char text[TSDB_TEXT_MAX];
	if (r == CUDA_ERROR_NOT_READY)
		snprintf(text, sizeof(text), "work on the device did not end when the window %s", when);
	else if (seq)
		snprintf(text, sizeof(text),
			"the device has faulted (CUDA error %u, first told by #%llu): its memory could not be read when the window %s",
			atomic_load(&calls_fault), (unsigned long long)seq, when);
	else
		snprintf(text, sizeof(text), "the device answered with CUDA error %u: its memory could not be read when the window %s",
			(unsigned)r, when);
	span_note(text);
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void tell(struct thread *t, uint64_t seq, bool ended)
{
	struct tsdb_msg_window *m = ring_reserve(&t->ring, sizeof(*m), true);
	if (!m)
		return;
	*m = (struct tsdb_msg_window){ .head = { .size = sizeof(*m), .type = TSDB_MSG_WINDOW }, .seq = seq, .ended = ended,
		.complete = ended && !atomic_load(&span.incomplete) };
	ring_commit(&t->ring, sizeof(*m));
}

/* ---- what is wanted ------------------------------------------------------------------------------------------------------ */

/* Whether a window is open, or would be opened by this command (NULL: none). */
static bool window_wants(const struct call *c)
{
	struct tsdb_window *w = &agent.control->window;
	const uint32_t state = atomic_load(&w->state);
	if (w->kind == TSDB_WINDOW_NONE || state == TSDB_WINDOW_DONE)
		return false;
	if (state == TSDB_WINDOW_OPEN || !c)
		return state == TSDB_WINDOW_OPEN;
	if (w->kind == TSDB_WINDOW_SEQ)
		return atomic_load(&agent.control->next_seq) >= w->first && atomic_load(&agent.control->next_seq) <= w->last;
	return w->kind == TSDB_WINDOW_KERNEL && c->cmd.kind == SBT_LAUNCH && c->kernel && stop_window_matches(c->kernel);
}

static bool wanted(const struct call *c)
{
	struct tsdb_control *ctl = agent.control;
	if (atomic_load(&ctl->memory) == TSDB_MEMORY_NONE || atomic_load(&span.over))
		return false;
	return atomic_load_explicit(&ctl->span, memory_order_relaxed) || window_wants(c);
}

/* ---- the beginning --------------------------------------------------------------------------------------------------------- */

static bool count_bytes(void *arg, struct live *l)
{
	*(uint64_t *)arg += l->size;
	return false;
}

static bool within_limit(void)
{
	const uint64_t limit = atomic_load(&agent.control->memory_limit);
	uint64_t bytes = 0;
	live_each(count_bytes, &bytes);
	agent.control->memory_needed = bytes;
	return !limit || bytes <= limit;
}

/* Over the limit the user is asked; with nobody to ask, or without an answer, nothing is recorded. */
static bool is_allowed(struct thread *t)
{
	struct tsdb_control *ctl = agent.control;
	if (within_limit() || atomic_load(&ctl->memory) != TSDB_MEMORY_ALL)
		return true;
	atomic_store(&ctl->memory_answer, TSDB_ANSWER_NONE);
	stop_capture(t);
	if (atomic_load(&ctl->memory_answer) == TSDB_ANSWER_RECORD)
		return true;
	span_note("more memory is allocated than the limit allows to record");
	return false;
}

static bool start_of(void *arg, struct live *l)
{
	const struct piece p = { .seq = span.first, .addr = l->addr, .size = l->size, .role = BULK_START, .owner = BULK_ALLOCATION,
		.module = SBT_NO_ID };
	struct device_ctx **now = arg;
	atomic_store(&l->untouched, 0);
	if (live_is_host(l)) {
		shadow_host(&p);
		host_begin(l);
		return false;
	}
	struct device_ctx *d = device_find(&span.set, l->ctx);
	if (d != *now) {
		if (*now)
			device_leave();
		*now = d && device_enter(d) ? d : NULL;
	}
	if (*now)
		shadow_device(&span.set, d, &p);
	else
		span_note("memory whose context is not known was not recorded");
	return false;
}

static void record_start(void)
{
	struct device_ctx *now = NULL;
	if (atomic_load(&agent.control->memory) == TSDB_MEMORY_TOUCHED) {
		touched_begin();
		globals_start(&span.set, span.first);
		return;
	}
	live_each(start_of, &now);
	if (now)
		device_leave();
	globals_start(&span.set, span.first);
	shadow_settle(&span.set);
}

static void refuse(struct thread *t, const char *why)
{
	span_note(why);
	span.first = atomic_load(&agent.control->next_seq);
	tell(t, span.first, false);
	tell(t, span.first - 1, true);
	atomic_store(&span_refused, 1);
}

/* With the gate shut. */
static void begin(struct thread *t)
{
	struct tsdb_control *ctl = agent.control;
	atomic_store(&span.incomplete, 0);
	atomic_store(&span.overrun, 0);
	ctl->text2[0] = '\0';
	if (!is_allowed(t)) {
		refuse(t, "");
		return;
	}
	const uint64_t t0 = monotonic_ns();
	if (!device_can() || (atomic_load(&calls_any) && !device_collect(&span.set))) {
		refuse(t, "the driver in this process lacks functions that recording memory needs");
		return;
	}
	if (!gate_quiet(t, false, PATIENCE)) {
		refuse(t, "a GPU call of another thread did not end, so memory could not be recorded");
		return;
	}
	/* Before the first command nothing runs, and a context that is just being made cannot be asked or entered. */
	const CUresult r = atomic_load(&calls_any) ? device_idle(&span.set, PATIENCE) : CUDA_SUCCESS;
	if (r) {
		note_not_idle(r, "began");
		refuse(t, "");
		return;
	}
	if (live_incomplete())
		span_note("memory that was allocated before the capture began is not known");
	/* A whole run's span takes in the records that come before the first command, too. */
	span.first = atomic_load(&calls_any) ? atomic_load(&ctl->next_seq) : 1;
	tell(t, span.first, false);
	record_start();
	atomic_store(&span_open, 1);
	atomic_store(&ctl->pause_ns, monotonic_ns() - t0);
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------- */

struct ending {
	struct thread *t;
	uint64_t last;
	struct device_ctx *now;
};

static bool end_of(void *arg, struct live *l)
{
	struct ending *e = arg;
	struct sbt_hash hash;
	struct piece p = { .seq = e->last, .addr = l->addr, .size = l->size, .role = BULK_END, .owner = BULK_ALLOCATION,
		.module = SBT_NO_ID };
	bool good;
	/* TSDB_MEMORY_TOUCHED: no command named it, and its beginning is not known. */
	if (atomic_exchange(&l->untouched, 0))
		return false;
	if (live_is_host(l)) {
		struct extent x = extent_plain(l->addr, l->size);
		uint8_t *page = thread_page(e->t);
		good = page && extent_hash(&x, page, &hash);
		host_end(l);
	} else {
		struct device_ctx *d = device_find(&span.set, l->ctx);
		if (d != e->now) {
			if (e->now)
				device_leave();
			e->now = d && device_enter(d) ? d : NULL;
		}
		good = e->now && device_hash(&span.set, d, l->addr, l->size, l->mem == SBT_MEM_VMM, &hash);
	}
	if (!good)
		span_note("memory could not be looked at when the window ended");
	else
		bulk_hash(&p, hash);
	return false;
}

/* Commands that have a number behind the window wait for the span's end: the driver has none of them. */
static uint64_t last_given(void)
{
	const uint64_t last = atomic_load(&agent.control->next_seq) - 1, window = window_last();
	const bool exact = window && !atomic_load(&agent.control->span) && !atomic_load(&span.overrun);
	return exact && window < last ? window : last;
}

/* With the gate shut. */
static void end(struct thread *t, uint64_t last, bool at_stop)
{
	/* No device_load() here: compiling the hash kernels while the process exits hangs in the driver (580.159; 24 of 24 tries of one program). */
	struct ending e = { .t = t };
	const bool quiet = gate_quiet(t, at_stop, PATIENCE);
	const bool collected = device_collect(&span.set);
	e.last = last ? last : last_given();
	shadow_wait();
	const CUresult r = quiet && collected ? device_idle(&span.set, PATIENCE) : CUDA_ERROR_NOT_READY;
	if (r) {
		note_not_idle(r, "ended");
	} else {
		payload_poll(t, true);
		live_each(end_of, &e);
		if (e.now)
			device_leave();
		globals_end(&span.set, e.last);
	}
	touched_end();
	atomic_store(&span_open, 0);
	tell(t, e.last, true);
}

/* ---- a command ------------------------------------------------------------------------------------------------------------- */

/* What takes long and disturbs nobody: room for the copies, kernels to hash with. Before the gate is shut. */
static void prepare(void)
{
	if (!atomic_load(&calls_any) || !device_can() || !device_collect(&span.set))
		return;
	device_load(&span.set);
	if (atomic_load(&agent.control->memory) == TSDB_MEMORY_ALL && within_limit())
		shadow_room(&span.set);
}

/* Another thread's stream capture in global mode must not forbid our calls. */
static void exchange_mode(CUstreamCaptureMode *mode)
{
	if (driver.cuThreadExchangeStreamCaptureMode)
		(void)OWN(driver.cuThreadExchangeStreamCaptureMode(mode));
}

/* The caller has claimed the gate. */
static void begin_span(struct thread *t)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	exchange_mode(&mode);
	prepare();
	gate_shut(t);
	begin(t);
	gate_open();
	shadow_drain(&span.set);
	exchange_mode(&mode);
}

static void end_span(struct thread *t, uint64_t last, bool at_stop)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	exchange_mode(&mode);
	gate_shut(t);
	end(t, last, at_stop);
	gate_open();
	exchange_mode(&mode);
}

void span_end(struct thread *t, uint64_t last, bool at_stop)
{
	while (atomic_load(&span_open) && agent_live()) {
		if (!gate_claim(t))
			continue;
		if (atomic_load(&span_open))
			end_span(t, last, at_stop);
		gate_release();
	}
}

void span_leave(struct thread *t)
{
	atomic_store(&span.over, 1);
	span_end(t, 0, false);
}

/* False: another thread is about to do it, and this command is still before. A window opens with a certain command, which
 * therefore waits for the span; `capture start` means any. */
static bool change(struct call *c, bool to)
{
	if (!gate_try_claim(c->t)) {
		if (atomic_load(&agent.control->span) || !to)
			return false;
		if (!gate_claim(c->t))
			return true;
	}
	if (wanted(c) == to && !!atomic_load(&span_open) != to && !atomic_load(&span_refused)) {
		if (to)
			begin_span(c->t);
		else
			end_span(c->t, 0, false);
	}
	gate_release();
	return true;
}

void span_before(struct call *c)
{
	while (agent_live()) {
		const bool want = wanted(c);
		if (!want && atomic_load(&span_refused))
			atomic_store(&span_refused, 0);
		if (want == !!atomic_load(&span_open) || atomic_load(&span_refused) || atomic_load(&calls_captures))
			break;
		if (!change(c, want))
			break;
	}
	if (c->cmd.kind == SBT_CTX_DESTROY)
		shadow_wait();
}

void span_numbered(struct call *c)
{
	if (!atomic_load(&span_open) || atomic_load(&agent.control->span))
		return;
	const uint64_t last = window_last();
	if (!last || c->cmd.seq <= last)
		return;
	if (atomic_load(&calls_captures))
		atomic_store(&span.overrun, 1); /* the device must not be waited for */
	else
		span_end(c->t, 0, false);
}

void span_enter(struct call *c)
{
	if (!atomic_load(&span_open))
		return;
	touched_enter(c, &span.set);
	host_enter(c);
	payload_enter(c);
}

void span_exit(struct call *c)
{
	if (!atomic_load(&span_open))
		return;
	payload_exit(c);
	fresh_alloc(c);
}

void span_waited(struct thread *t)
{
	payload_poll(t, false);
}
