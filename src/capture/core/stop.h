/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops: breakpoints, steps, the end of a capture window; and what the agent does for the debugger
 * at a stop.
 */
#ifndef CAPTURE_STOP_H
#define CAPTURE_STOP_H

#include "capture/core/agent.h"

struct call;
struct kernel;
struct thread;

static inline bool stop_watched(void)
{
	const struct tsdb_control *c = agent.control;
	return atomic_load_explicit(&c->breaks, memory_order_relaxed) ||
	       atomic_load_explicit(&c->step, memory_order_relaxed);
}
/* Stops the process if this is a call to stop at. at_exit: the driver has done it. Calls whose
 * record is complete only then (those with an exit function) stop there, the others before the
 * driver does them. */
void stop_at(struct call *c, bool at_exit);
void stop_window_done(struct thread *t);
/* The program's trigger, which is recorded. */
void stop_trigger(struct call *c);
/* Asks the user whether to record so much memory (STOP_ASKS). Returns when there is an
 * answer, or when no debugger is there. */
void stop_capture(struct thread *t);
/* Whether the capture window's glob matches the kernel. */
bool stop_window_matches(struct kernel *k);
/* Address of the trap instruction, for control.stop_pc. */
uint64_t stop_trap_address(void);

/* The call has failed, and its record was written. sticky: the context is unusable from now on. */
void stop_error(struct call *c, bool sticky);
/* Has a software GPU report its first fault here, if its runtime would end the program instead of
 * giving calls an error: the stop is then in the device's thread, without a command. */
void stop_watch_device(void);

#endif
