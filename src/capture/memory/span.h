/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans: sequences of commands recorded with memory, so that they can be executed again. There is a
 * span while control.span or an open capture window asks for one and control.memory is not NONE. It
 * begins before a command and ends after one, with the gate shut (gate.h).
 */
#ifndef CAPTURE_SPAN_H
#define CAPTURE_SPAN_H

#include "capture/core/agent.h"
#include "capture/core/window.h"
#include "sbt/cmd.h"

struct call;
struct thread;

extern _Atomic uint32_t span_open;
extern _Atomic uint32_t sender_jobs; /* sender.h */
extern _Atomic uint64_t room_held;   /* room.h */
/* a span could not begin; not tried again until none is wanted */
extern _Atomic uint32_t span_refused;

/* Whether there is anything to do about spans. */
static inline bool span_watched(void)
{
	const struct tsdb_control *c = agent.control;
	return atomic_load_explicit(&span_open, memory_order_relaxed) ||
	       atomic_load_explicit(&span_refused, memory_order_relaxed) ||
	       atomic_load_explicit(&sender_jobs, memory_order_relaxed) ||
	       atomic_load_explicit(&room_held, memory_order_relaxed) ||
	       (atomic_load_explicit(&c->memory, memory_order_relaxed) != TSDB_MEMORY_NONE &&
		       (atomic_load_explicit(&c->span, memory_order_relaxed) || window_watched()));
}
/* Not 0 if more than launches' arguments must be looked at: memory of the host that kernels read
 * (live.c), memory not yet touched (touched.c). */
extern _Atomic uint32_t live_hosts, touched_left;
/* Whether a launch needs nothing: in the middle of a span that `capture start` opened. */
static inline bool span_passes(uint16_t kind)
{
	const struct tsdb_control *c = agent.control;
	return kind == SBT_LAUNCH && atomic_load_explicit(&span_open, memory_order_relaxed) &&
	       atomic_load_explicit(&c->span, memory_order_relaxed) &&
	       atomic_load_explicit(&c->memory, memory_order_relaxed) &&
	       !(atomic_load_explicit(&live_hosts, memory_order_relaxed) |
		       atomic_load_explicit(&touched_left, memory_order_relaxed));
}
/* Called when the thread is about to give its command a number: begins or ends the span. */
void span_before(struct call *c);
/* The same for a command that the driver has done already, and whose allocation, if it made one, is
 * not in live.h yet. A window by numbers may contain only this command. */
void span_late(struct call *c);
/* Called after the user's stop at this command, if any, and before the command reaches the driver:
 * `capture start` at that stop includes the command. */
void span_after_stop(struct call *c);
/* Called when the command has its number. If that is behind the window, the span ends before the
 * command reaches the driver, or before live.h gets the allocation that the driver has made. */
void span_numbered(struct call *c);
/* Called after a breakpoint stop at this command, if any, before the driver runs it. */
void span_enter(struct call *c);
/* Called when the driver has done the command. */
void span_exit(struct call *c);
/* Called when the thread has waited for work on the device, or has learnt that it has ended. */
void span_waited(struct thread *t);
/* Ends the open span, if any: the capture window closed, the program exits, or the debugger asks.
 * last: the span's last command. */
void span_end(struct thread *t, uint64_t last, bool at_stop);
/* The window closed: ends the span now; during stream captures with the next command after them,
 * because until then the device must not be waited for. */
void span_close(struct thread *t);
/* The program exits: ends the span, if t is not NULL, and waits until everything is sent. What
 * libraries' destructors do later is in no span. */
void span_leave(struct thread *t);
/* The thread is about to stop, with all others: waits for the end of a span that is under way. */
void span_settle(struct thread *t);
/* How long a span's begin and end held the program up, in ns. */
struct span_times {
	struct {
		uint64_t wait;	  /* begin: until an earlier span's memory was sent */
		uint64_t prepare; /* begin: preparing what was not ready before */
		uint64_t gate;	  /* until no other thread was in a call of the driver */
		uint64_t idle;	  /* until the devices had done all their work */
		uint64_t work;	  /* begin: copying; end: hashing; of that: */
		/* Going through allocations; launching the copies or hashes; begin: memory of the
		 * host; globals. The rest is waiting. */
		uint64_t memory, go, host, globals;
		uint64_t all;
	} begin, end;
	uint64_t live, shadowed; /* bytes: of memory, copied on the device */
	uint64_t sent, same;	 /* bytes of the beginning: sent; not sent, because tsdb had them */
};
/* Appends a line to the file that TSDB_AGENT_TIMES names, if it is set. */
void span_times_write(const struct span_times *s, uint64_t first, uint64_t last);
/* Called by the sending thread when all memory from the span's beginning has been sent. */
void span_sent(void);
/* Notes in one sentence that some of the span could not be recorded; the first sentence is kept.
 * Any thread. */
void span_note(const char *sentence);
/* The first command of the open span. */
uint64_t span_first(void);

#endif
