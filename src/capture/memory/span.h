/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans: stretches of commands recorded with memory, so that they can be executed again. A span is what control.span or an open capture
 * window asks for while control.memory is not NONE. It begins before a command and ends after one, with the gate shut (gate.h).
 */
#ifndef CAPTURE_SPAN_H
#define CAPTURE_SPAN_H

#include "capture/core/agent.h"
#include "capture/core/window.h"
#include "sbt/cmd.h"

struct call;
struct thread;

extern _Atomic uint32_t span_open;
extern _Atomic uint32_t sender_jobs;  /* sender.h */
extern _Atomic uint64_t room_held;    /* room.h */
extern _Atomic uint32_t span_refused; /* could not begin; not tried again until it is no longer wanted */

/* Whether there is anything to do about spans. */
static inline bool span_watched(void)
{
	const struct tsdb_control *c = agent.control;
	return atomic_load_explicit(&span_open, memory_order_relaxed) || atomic_load_explicit(&span_refused, memory_order_relaxed) ||
	       atomic_load_explicit(&sender_jobs, memory_order_relaxed) || atomic_load_explicit(&room_held, memory_order_relaxed) ||
	       (atomic_load_explicit(&c->memory, memory_order_relaxed) != TSDB_MEMORY_NONE &&
		       (atomic_load_explicit(&c->span, memory_order_relaxed) || window_watched()));
}
/* More than launches' arguments must be looked at: memory of the host that kernels read (live.c), memory not yet touched (touched.c). */
extern _Atomic uint32_t live_hosts, touched_left;
/* In the middle of a span that `capture start` opened a launch needs nothing. */
static inline bool span_passes(uint16_t kind)
{
	const struct tsdb_control *c = agent.control;
	return kind == SBT_LAUNCH && atomic_load_explicit(&span_open, memory_order_relaxed) &&
	       atomic_load_explicit(&c->span, memory_order_relaxed) && atomic_load_explicit(&c->memory, memory_order_relaxed) &&
	       !(atomic_load_explicit(&live_hosts, memory_order_relaxed) | atomic_load_explicit(&touched_left, memory_order_relaxed));
}
/* The thread is about to give its command a number: begins or ends the span. */
void span_before(struct call *c);
/* The same for a command that the driver has done already, and whose allocation, if it made one, live.h does not have yet: a window by numbers may
 * hold nothing else. */
void span_late(struct call *c);
/* The user has had his stop, before the driver gets the command: `capture start` there takes it in. */
void span_after_stop(struct call *c);
/* The command has its number: when that is behind the window, the span ends before the driver gets the command, or before live.h gets the
 * allocation that the driver has made. */
void span_numbered(struct call *c);
/* The user has had his stop. */
void span_enter(struct call *c);
/* The driver is done with it. */
void span_exit(struct call *c);
/* The thread waited for something on the device, or learnt that it is over. */
void span_waited(struct thread *t);
/* Ends the span, if one is open: the capture window closed, the program ends, or the debugger asks. last: its last command. */
void span_end(struct thread *t, uint64_t last, bool at_stop);
/* The window closed: ends the span now, or with the next command after the stream captures that are going on: until then the device must not be
 * waited for. */
void span_close(struct thread *t);
/* The program leaves: ends the span, if t is not NULL, and waits until all is sent; what libraries' destructors do after this is in none. */
void span_leave(struct thread *t);
/* The thread is about to stop, and all others with it: waits for the end of a span that is on its way. */
void span_settle(struct thread *t);
/* What a span's begin and end held the program up for, in ns. */
struct span_times {
	struct {
		uint64_t wait;	  /* begin: for an earlier span's memory to be sent */
		uint64_t prepare; /* begin: what was not made ready before */
		uint64_t gate;	  /* until no other thread was in a call of the driver */
		uint64_t idle;	  /* until the devices had done all their work */
		uint64_t work;	  /* begin: copying; end: hashing; of that: */
		/* Going through allocations; launching what copies or hashes them; begin: memory of the host; globals; the rest is waiting. */
		uint64_t memory, go, host, globals;
		uint64_t all;
	} begin, end;
	uint64_t live, shadowed; /* bytes: of memory, copied on the device */
	uint64_t sent, same;	 /* bytes of the beginning: sent; that tsdb had */
};
/* Appends a line to the file that TSDB_AGENT_TIMES names, if it does. */
void span_times_write(const struct span_times *s, uint64_t first, uint64_t last);
/* The sending thread's: all memory that the span began with has been sent. */
void span_sent(void);
/* Something of the span could not be recorded: one sentence, the first one is kept. Any thread. */
void span_note(const char *sentence);
/* The first command of the open span. */
uint64_t span_first(void);

#endif
