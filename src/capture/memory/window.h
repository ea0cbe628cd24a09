/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows: sequences of commands recorded with memory, so that they can be executed again. There is
 * one while control.capture_all or what is armed (core/armed.h) asks for it and control.memory is
 * not NONE. It begins before a command and ends after one, with the gate shut (gate.h).
 */
#ifndef CAPTURE_WINDOW_H
#define CAPTURE_WINDOW_H

#include "capture/core/agent.h"
#include "capture/core/armed.h"
#include "sbt/cmd.h"

struct call;
struct thread;

extern _Atomic uint32_t window_open;
extern _Atomic uint32_t sender_jobs; /* sender.h */
extern _Atomic uint64_t room_held;   /* room.h */
/* a window could not begin; not tried again until none is wanted */
extern _Atomic uint32_t window_refused;

/* Whether there is anything to do about windows. */
static inline bool window_watched(void)
{
	const struct tsdb_control *c = agent.control;
	return atomic_load_explicit(&window_open, memory_order_relaxed) ||
	       atomic_load_explicit(&window_refused, memory_order_relaxed) ||
	       atomic_load_explicit(&sender_jobs, memory_order_relaxed) ||
	       atomic_load_explicit(&room_held, memory_order_relaxed) ||
	       (atomic_load_explicit(&c->memory, memory_order_relaxed) != TSDB_MEMORY_NONE &&
		       (atomic_load_explicit(&c->capture_all, memory_order_relaxed) ||
			       armed_watched()));
}
/* Not 0 if more than launches' arguments must be looked at: memory of the host that kernels read
 * (live.c), memory not yet touched (touched.c). */
extern _Atomic uint32_t live_hosts, touched_left;
/* Whether a launch needs nothing: in the middle of a window that `capture start` opened. */
static inline bool window_passes(uint16_t kind)
{
	const struct tsdb_control *c = agent.control;
	return kind == SBT_LAUNCH && atomic_load_explicit(&window_open, memory_order_relaxed) &&
	       atomic_load_explicit(&c->capture_all, memory_order_relaxed) &&
	       atomic_load_explicit(&c->memory, memory_order_relaxed) &&
	       !(atomic_load_explicit(&live_hosts, memory_order_relaxed) |
		       atomic_load_explicit(&touched_left, memory_order_relaxed));
}
/* Called when the thread is about to give its command a number: begins or ends the window. */
void window_before(struct call *c);
/* The same for a command that the driver has done already, and whose allocation, if it made one, is
 * not in live.h yet. A window armed by numbers may contain only this command. */
void window_late(struct call *c);
/* Called after the user's stop at this command, if any, and before the command reaches the driver:
 * `capture start` at that stop includes the command. */
void window_after_stop(struct call *c);
/* Called when the command has its number. If that is behind what was armed, the window ends before
 * the command reaches the driver, or before live.h gets the allocation that the driver has made. */
void window_numbered(struct call *c);
/* Called after a breakpoint stop at this command, if any, before the driver runs it. */
void window_enter(struct call *c);
/* Called when the driver has done the command. */
void window_exit(struct call *c);
/* Called when the thread has waited for work on the device, or has learnt that it has ended. */
void window_waited(struct thread *t);
/* Ends the open window, if any: what was armed has closed, the program exits, or the debugger asks.
 * last: the window's last command. */
void window_end(struct thread *t, uint64_t last, bool at_stop);
/* What was armed has closed: ends the window now; during stream captures with the next command
 * after them, because until then the device must not be waited for. */
void window_close(struct thread *t);
/* The program exits: ends the window, if t is not NULL, and waits until everything is sent. What
 * libraries' destructors do later is in no window. */
void window_leave(struct thread *t);
/* The thread is about to stop, with all others: waits for the end of a window that is under way. */
void window_settle(struct thread *t);
/* How long a window's begin and end held the program up, in ns. */
struct window_times {
	struct {
		uint64_t wait;	  /* begin: until an earlier window's memory was sent */
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
void window_times_write(const struct window_times *s, uint64_t first, uint64_t last);
/* Called by the sending thread when all memory from the window's beginning has been sent. */
void window_sent(void);
/* Notes in one sentence that some of the window could not be recorded; the first sentence is kept.
 * Any thread. */
void window_note(const char *sentence);
/* The first command of the open window. */
uint64_t window_first(void);

#endif
