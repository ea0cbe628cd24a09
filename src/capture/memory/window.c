/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows; see window.h. The thread that first finds a difference between what the debugger wants
 * and the present state begins or ends the window, with the gate shut. Not while the program
 * captures a stream into a graph: waiting for the device is then forbidden, and the window begins
 * or ends at the first command after that.
 */
#include "capture/memory/window.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "capture/core/calls.h"
#include "capture/core/clock.h"
#include "capture/memory/contexts.h"
#include "capture/memory/deadline.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/memory/effect.h"
#include "capture/memory/freed.h"
#include "capture/memory/fresh.h"
#include "capture/core/gate.h"
#include "capture/objects/globals.h"
#include "capture/host/host.h"
#include "capture/objects/ids.h"
#include "capture/objects/known.h"
#include "capture/late/late.h"
#include "capture/objects/live.h"
#include "capture/pipeline/payload.h"
#include "capture/memory/room.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/shadow.h"
#include "capture/memory/window-memory.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"
#include "capture/memory/touched.h"

/* tenths of a second: how long for calls under way, and for each context's work */
#define PATIENCE 100

_Atomic uint32_t window_open;
_Atomic uint32_t window_refused;

static struct {
	uint64_t first;
	_Atomic uint32_t incomplete;
	_Atomic uint32_t over;	  /* the program exits */
	_Atomic uint32_t overrun; /* commands behind the window were let through: a stream was being
				     captured */
	_Atomic uint32_t missed;  /* it could not begin: a stream was being captured */
	bool no_end;		  /* the memory at the end is not known */
	struct spin noting;
	struct device_set set; /* only with the gate claimed */
	bool unsettled;	       /* existing objects are still being looked for */
	uint64_t last;	       /* of the window whose end has not been reported */
	/* For an armed window: the state when the device was prepared. */
	_Atomic uint64_t ready_bytes;
	_Atomic uint32_t ready_ctxs, ready_epoch, ready_globals;
	struct window_times times;
} window;

uint64_t window_first(void)
{
	return window.first;
}

void window_note(const char *sentence)
{
	struct tsdb_control *ctl = agent.control;
	spin_lock(&window.noting);
	if (!atomic_exchange(&window.incomplete, 1)) {
		strncpy(ctl->text2, sentence, sizeof(ctl->text2) - 1);
		ctl->text2[sizeof(ctl->text2) - 1] = '\0';
	}
	spin_unlock(&window.noting);
}

/* How long to wait for the device's work, in tenths of a second. Giving up at a window's end loses
 * what was recorded. */
static unsigned patience_begin(void)
{
	const unsigned ms = deadline_limit();
	return ms / 100 + (ms % 100 != 0);
}

static unsigned patience_end(void)
{
	return patience_begin() > PATIENCE ? patience_begin() : PATIENCE;
}

/* r: the result of device_idle() after that wait. */
static void not_idle_text(struct driver_result r, const char *when, unsigned tenths, char *text)
{
	const uint64_t seq = atomic_load(&calls_fault_seq);
	const size_t n = TSDB_TEXT_MAX;
	if (r.status == DRIVER_NOT_READY)
		snprintf(text, n,
			"work on the device did not end when the window %s, not within %u.%u s (set gpu-timeout)",
			when, tenths / 10, tenths % 10);
	else if (seq)
		snprintf(text, n,
			"the device has faulted (%s error %u, first reported by #%llu): its memory could not be read when the window %s",
			driver->api, atomic_load(&calls_fault), (unsigned long long)seq, when);
	else
		snprintf(text, n,
			"the device answered with %s error %u: its memory could not be read when the window %s",
			driver->api, r.code, when);
}

static void note_not_idle(struct driver_result r, const char *when, unsigned tenths)
{
	char text[TSDB_TEXT_MAX];
	not_idle_text(r, when, tenths, text);
	window_note(text);
}

/* The device has faulted, or its work does not end: the recorded window can be executed up to
 * there, and not be compared. */
static void end_is_missing(struct driver_result r)
{
	struct tsdb_control *ctl = agent.control;
	spin_lock(&window.noting);
	window.no_end = true;
	if (!atomic_load(&window.incomplete))
		not_idle_text(r, "ended", patience_end(), ctl->text2);
	spin_unlock(&window.noting);
}

static void tell(struct thread *t, uint64_t seq, bool ended)
{
	struct tsdb_msg_window *m = ring_reserve(&t->ring, sizeof(*m), true);
	if (!m)
		return;
	*m = (struct tsdb_msg_window){.head = {.size = sizeof(*m), .type = TSDB_MSG_WINDOW},
		.seq = seq,
		.ended = ended,
		.complete = !ended || atomic_load(&window.incomplete) ? 0
			    : window.no_end			      ? TSDB_WINDOW_NO_END
								      : 1};
	ring_commit(&t->ring, sizeof(*m));
}

/* --- what is wanted --- */

/* Whether a window is open, or would be opened by this command (NULL: none). */
static bool armed_wants(const struct call *c)
{
	struct tsdb_window *w = &agent.control->window;
	const uint32_t state = atomic_load(&w->state);
	if (w->kind == TSDB_WINDOW_NONE || state == TSDB_WINDOW_DONE)
		return false;
	if (state == TSDB_WINDOW_OPEN || !c)
		return state == TSDB_WINDOW_OPEN;
	if (w->kind == TSDB_WINDOW_SEQ)
		return atomic_load(&agent.control->next_seq) >= w->first &&
		       atomic_load(&agent.control->next_seq) <= w->last;
	return w->kind == TSDB_WINDOW_KERNEL && c->cmd.kind == SBT_LAUNCH && c->kernel &&
	       stop_window_matches(c->kernel);
}

static bool wanted(const struct call *c)
{
	struct tsdb_control *ctl = agent.control;
	if (atomic_load(&ctl->memory) == TSDB_MEMORY_NONE || atomic_load(&window.over))
		return false;
	return atomic_load_explicit(&ctl->capture_all, memory_order_relaxed) || armed_wants(c);
}

/* --- the beginning --- */

static bool within_limit(void)
{
	const uint64_t limit = atomic_load(&agent.control->memory_limit);
	const uint64_t bytes = atomic_load(&live_total);
	agent.control->memory_needed = bytes;
	return !limit || bytes <= limit;
}

/* Whether to record. Over the limit the user is asked; without an answer nothing is recorded. */
static bool is_allowed(struct thread *t)
{
	struct tsdb_control *ctl = agent.control;
	if (within_limit() || atomic_load(&ctl->memory) != TSDB_MEMORY_ALL)
		return true;
	atomic_store(&ctl->memory_answer, TSDB_ANSWER_NONE);
	stop_capture(t);
	if (atomic_load(&ctl->memory_answer) == TSDB_ANSWER_RECORD)
		return true;
	window_note("more memory is allocated than the limit allows to record");
	return false;
}

static void refuse(struct thread *t, const char *why)
{
	window_note(why);
	window.first = atomic_load(&agent.control->next_seq);
	tell(t, window.first, false);
	tell(t, window.first - 1, true);
	atomic_store(&window_refused, 1);
}

/* Forgets the sentences about the earlier window. */
static void clean(void)
{
	struct tsdb_control *ctl = agent.control;
	atomic_store(&window.incomplete, 0);
	atomic_store(&window.overrun, 0);
	window.no_end = false;
	ctl->text2[0] = '\0';
	atomic_store(&ctl->window_sent, 0);
}

/* Begins the window, with the gate shut. */
static void begin(struct thread *t, uint64_t seq)
{
	const struct tsdb_control *ctl = agent.control;
	clean();
	if (!is_allowed(t)) {
		refuse(t, "");
		return;
	}
	uint64_t at = monotonic_ns();
	if (!device_can() || (atomic_load(&calls_any) && !device_collect(&window.set))) {
		refuse(t, driver->cannot_record);
		return;
	}
	if (!gate_quiet(t, false, PATIENCE)) {
		refuse(t,
			"a GPU call of another thread did not end, so memory could not be recorded");
		return;
	}
	clock_lap(&at, &window.times.begin.gate);
	if (seq && atomic_load(&ctl->next_seq) != seq + 1)
		/* other threads have commands behind it: the window begins with the next command */
		return;
	/* Before the first command nothing runs, and a context that is just being made cannot be
	 * used. */
	const struct driver_result r = atomic_load(&calls_any)
					       ? device_idle(&window.set, patience_begin())
					       : driver->answer(DRIVER_OK);
	if (!driver_good(r)) {
		note_not_idle(r, "began", patience_begin());
		refuse(t, "");
		return;
	}
	clock_lap(&at, &window.times.begin.idle);
	if (window.unsettled)
		window_note(
			"memory and code that were there before tsdb was attached were still being looked for");
	if (live_incomplete())
		window_note(
			discover_watched()
				? "memory that was allocated before tsdb was attached is not all known"
				: "memory that was allocated before the capture began is not known");
	/* The window of a whole run also includes the records before the first command. */
	window.first = seq ? seq : atomic_load(&calls_any) ? atomic_load(&ctl->next_seq) : 1;
	tell(t, window.first, false);
	window.times.shadowed = window_memory_start(&window.set, window.first, &window.times);
	clock_lap(&at, &window.times.begin.work);
	atomic_store(&window.missed, 0);
	atomic_store(&window_open, 1);
}

/* --- the end --- */

/* Commands with a number behind what was armed wait for the window's end: none has reached the
 * driver. */
static uint64_t last_given(void)
{
	const uint64_t last = atomic_load(&agent.control->next_seq) - 1, armed = armed_last();
	const bool exact =
		armed && !atomic_load(&agent.control->capture_all) && !atomic_load(&window.overrun);
	return exact && armed < last ? armed : last;
}

void window_sent(void)
{
	if (atomic_load(&window_open) && !atomic_load(&window.incomplete))
		atomic_store(&agent.control->window_sent, window.first);
}

/* Called by the sending thread when everything else has been sent. */
static void tell_end(struct thread *t)
{
	window_memory_send();
	tell(t, window.last, true);
	window.times.sent = atomic_load(&shadow_sent);
	window.times.same = atomic_load(&shadow_same);
	window_times_write(&window.times, window.first, window.last);
}

/* Ends the window, with the gate shut. The sending thread does what takes long. */
static void end(struct thread *t, uint64_t last, bool at_stop, uint64_t t0)
{
	/* No device_load() here: compiling the hash kernels while the process exits hangs in the
	 * driver (580.159; 24 of 24 tries of one program). */
	uint64_t at = monotonic_ns();
	const bool quiet = gate_quiet(t, at_stop, PATIENCE);
	const bool collected = device_collect(&window.set);
	clock_lap(&at, &window.times.end.gate);
	window.last = last ? last : last_given();
	const struct driver_result r = quiet && collected ? device_idle(&window.set, patience_end())
							  : driver->answer(DRIVER_NOT_READY);
	clock_lap(&at, &window.times.end.idle);
	if (!driver_good(r)) {
		end_is_missing(r);
	} else {
		payload_poll(t, true);
		window_memory_end(t, &window.set, window.last, &window.times);
	}
	clock_lap(&at, &window.times.end.work);
	touched_end();
	host_over();
	atomic_store(&window_open, 0);
	window.times.end.all = at - t0;
	sender_end(tell_end);
}

/* --- getting ready --- */

/* Prepares what takes long and does not disturb the program: streams, hash kernels, room for the
 * copies. Called before the gate is shut. */
static void prepare(bool ahead)
{
	if (!atomic_load(&calls_any) || !device_can() || !device_collect(&window.set))
		return;
	for (unsigned i = 0; i < window.set.n; i++)
		if (device_enter(&window.set.ctx[i])) /* makes its stream */
			device_leave();
	device_load(&window.set);
	globals_find(&window.set);
	window_memory_touch(&window.set);
	if (atomic_load(&agent.control->memory) == TSDB_MEMORY_ALL && within_limit())
		room_reserve(&window.set, ahead);
}

static struct driver_result prepare_now(void *arg)
{
	prepare(false);
	return driver->answer(DRIVER_OK);
}

static struct driver_result prepare_for_later(void *arg)
{
	prepare(true);
	shadow_prepare();
	return driver->answer(DRIVER_OK);
}

/* Loading code and getting memory may wait for the device's work. Returns false if that does not
 * end. */
static bool prepare_in_time(struct driver_result (*how)(void *arg))
{
	struct driver_result r;
	return deadline_run(how, NULL, patience_begin() * 100, &r);
}

/* Called by the sending thread while a window is armed. */
static void prepare_ahead(struct thread *t)
{
	if (!gate_try_claim(t))
		return;
	atomic_store(&window.ready_bytes, atomic_load(&live_total));
	atomic_store(&window.ready_ctxs, atomic_load(&ids.next_ctx));
	atomic_store(&window.ready_epoch, atomic_load(&room_epoch));
	atomic_store(&window.ready_globals, globals_epoch());
	if (!atomic_load(&window_open) && !atomic_load(&window.over)) {
		gate_prepare();
		(void)prepare_in_time(prepare_for_later);
	}
	gate_release();
}

static void prepare_if_armed(void)
{
	struct tsdb_window *w = &agent.control->window;
	if (w->kind == TSDB_WINDOW_NONE || atomic_load(&w->state) != TSDB_WINDOW_ARMED ||
		!atomic_load(&calls_any) || atomic_load(&sender_jobs) ||
		atomic_load(&calls_captures) ||
		atomic_load(&agent.control->memory) == TSDB_MEMORY_NONE || late_is_finding())
		return;
	if (atomic_load(&live_total) > atomic_load(&window.ready_bytes) ||
		atomic_load(&ids.next_ctx) != atomic_load(&window.ready_ctxs) ||
		atomic_load(&room_epoch) != atomic_load(&window.ready_epoch) ||
		globals_epoch() != atomic_load(&window.ready_globals))
		sender_prepare(prepare_ahead);
}

/* With the gate shut: the device's work did not end, so nothing was prepared. */
static void give_up(struct thread *t)
{
	clean();
	note_not_idle(driver->answer(DRIVER_NOT_READY), "began", patience_begin());
	refuse(t, "");
}

/* The caller has claimed the gate. seq: the number of the command that the window begins with; 0:
 * the next one. An earlier window's memory must have been sent: the new copies use its room. */
static void begin_window(struct thread *t, uint64_t seq)
{
	uint64_t at = monotonic_ns();
	const uint64_t t0 = at;
	window.times = (struct window_times){.live = atomic_load(&live_total)};
	const unsigned mode = driver->relax();
	sender_wait(SENDER_START | SENDER_END, SENDER_FOR_EVER);
	clock_lap(&at, &window.times.begin.wait);
	known_begin(KNOWN_MEMORY);
	atomic_store(&shadow_sent, 0);
	atomic_store(&shadow_same, 0);
	window.unsettled = discover_watched() && !late_settle(t);
	const bool prepared = prepare_in_time(prepare_now);
	clock_lap(&at, &window.times.begin.prepare);
	gate_shut(t);
	if (prepared)
		begin(t, seq);
	else
		give_up(t);
	gate_open();
	if (prepared)
		sender_start(); /* else the room for copies may still be waiting for the device */
	driver->restrict_again(mode);
	atomic_store(&agent.control->pause_ns, window.times.begin.all = monotonic_ns() - t0);
}

static void end_window(struct thread *t, uint64_t last, bool at_stop)
{
	const uint64_t t0 = monotonic_ns();
	const unsigned mode = driver->relax();
	gate_shut(t);
	end(t, last, at_stop, t0);
	gate_open();
	driver->restrict_again(mode);
}

/* The window or the capture has ended, and had only commands that were captured into graphs. */
static void tell_missed(struct thread *t)
{
	if (!atomic_exchange(&window.missed, 0))
		return;
	sender_wait(SENDER_START | SENDER_END, SENDER_FOR_EVER);
	atomic_store(&window.incomplete, 0);
	refuse(t,
		"all its commands came while a stream was being captured into a graph, when memory cannot be looked at; let the window take in the "
		"graph's launch");
}

void window_end(struct thread *t, uint64_t last, bool at_stop)
{
	while (atomic_load(&window_open) && agent_live()) {
		if (!gate_claim(t))
			continue;
		if (atomic_load(&window_open))
			end_window(t, last, at_stop);
		gate_release();
	}
	if (agent_live())
		tell_missed(t);
}

void window_close(struct thread *t)
{
	if (atomic_load(&window_open) && atomic_load(&calls_captures))
		atomic_store(&window.overrun, 1);
	else
		window_end(t, 0, false);
}

void window_leave(struct thread *t)
{
	atomic_store(&window.over, 1);
	if (t)
		window_end(t, 0, false);
	sender_leave();
}

void window_settle(struct thread *t)
{
	const uint32_t was = atomic_load(&t->at);
	if (!(atomic_load(&sender_jobs) & SENDER_END))
		return;
	atomic_store(&t->at, was == THREAD_IN ? THREAD_STOPPING : was);
	sender_wait(SENDER_START | SENDER_END, SENDER_FOR_EVER);
	atomic_store(&t->at, was);
}

/* Returns false if another thread is about to do it, and this command still comes before. A window
 * opens with a certain command, which therefore waits for the window; `capture start` can begin
 * with any command. */
static bool change(struct call *c, bool to)
{
	sender_wait(SENDER_PREPARE, PATIENCE);
	if (!gate_try_claim(c->t)) {
		if (atomic_load(&agent.control->capture_all) || !to)
			return false;
		if (!gate_claim(c->t))
			return true;
	}
	if (wanted(c) == to && !!atomic_load(&window_open) != to && !atomic_load(&window_refused)) {
		if (to)
			begin_window(c->t, 0);
		else
			end_window(c->t, 0, false);
	}
	gate_release();
	return true;
}

static void begin_or_end(struct call *c)
{
	while (agent_live()) {
		const bool want = wanted(c);
		if (!want && atomic_load(&window_refused))
			atomic_store(&window_refused, 0);
		if (want == !!atomic_load(&window_open) || atomic_load(&window_refused))
			break;
		if (atomic_load(&calls_captures)) {
			if (want)
				atomic_store(&window.missed, 1);
			break;
		}
		if (!change(c, want))
			break;
	}
}

void window_before(struct call *c)
{
	begin_or_end(c);
	while (atomic_load(&window_open) && agent_live() && !host_turn(c)) {
		gate_leave(c->t, THREAD_OUT);
		host_await_turn();
		gate_enter(c->t);
		begin_or_end(c);
	}
	if (c->cmd.kind == SBT_CTX_DESTROY) {
		sender_wait(SENDER_PREPARE, PATIENCE);
		sender_wait(SENDER_START | SENDER_END, SENDER_FOR_EVER);
		room_release();
	} else if (c->cmd.kind == SBT_ALLOC &&
		   atomic_load_explicit(&room_held, memory_order_relaxed)) {
		room_make_way(c->cmd.u.alloc.size);
	} else {
		prepare_if_armed();
	}
}

void window_late(struct call *c)
{
	const struct tsdb_window *w = &agent.control->window;
	if (w->kind != TSDB_WINDOW_SEQ || atomic_load(&window_open) || !wanted(c))
		return;
	gate_enter(c->t);
	window_before(c);
}

void window_after_stop(struct call *c)
{
	const struct tsdb_control *ctl = agent.control;
	if (!atomic_load(&ctl->capture_all) || atomic_load(&ctl->memory) == TSDB_MEMORY_NONE ||
		atomic_load(&window_open) || atomic_load(&window_refused) ||
		atomic_load(&calls_captures) || call_stops_at_exit(c->row) || !gate_try_claim(c->t))
		return;
	if (!atomic_load(&window_open) && !atomic_load(&window.over))
		begin_window(c->t, c->cmd.seq);
	gate_release();
}

void window_numbered(struct call *c)
{
	if (!atomic_load(&window_open) || atomic_load(&agent.control->capture_all))
		return;
	const uint64_t last = armed_last();
	if (!last || c->cmd.seq <= last)
		return;
	if (atomic_load(&calls_captures))
		atomic_store(&window.overrun, 1); /* the device must not be waited for */
	else
		window_end(c->t, 0, false);
}

void window_enter(struct call *c)
{
	if (!atomic_load(&window_open))
		return;
	touched_enter(c, &window.set);
	host_enter(c);
	payload_enter(c);
	freed_enter(c);
	effect_enter(c);
}

void window_exit(struct call *c)
{
	if (!atomic_load(&window_open))
		return;
	payload_exit(c);
	fresh_alloc(c);
	touched_exit(c, &window.set);
}

void window_waited(struct thread *t)
{
	payload_poll(t, false);
}
