/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that came late (an attach): the work of the agent's own thread, besides waiting for the
 * debugger to leave. All functions but late_settle() and late_wake() are for that thread.
 */
#ifndef CAPTURE_LATE_H
#define CAPTURE_LATE_H

#include "capture/core/agent.h"

struct thread;

/* Steps of the searches for memory and code, so that a thread that waits sees whether they go on.
 */
extern _Atomic uint64_t late_steps;
static inline void late_step(void)
{
	atomic_fetch_add_explicit(&late_steps, 1, memory_order_relaxed);
}
/* For waiting for the searches; begins as zeros. */
struct late_patience {
	uint64_t steps;
	unsigned idle, all; /* ms */
};
/* Sleeps a millisecond. Returns false if the searches made no step for ten seconds, or take longer
 * than a minute: on a busy machine a second's work takes many. */
bool late_wait(struct late_patience *p);

/* Records the attach; called before the source is started, so from then on no call is missed. The
 * driver's library is loaded. */
void late_before(void);
/* Writes into control.busy what the device is doing, without waiting for it. */
void late_look(void);
/* The source has started: introduces contexts. */
void late_contexts(void);
/* Looks for memory, once; and, on request, for the code of modules that were loaded before. */
void late_work(void);
/* Called when the last window has ended and tsdb still listens: finds the code of kernels that were
 * first met at its end. */
void late_last(void);
/* The debugger leaves: forgets everything. */
void late_over(void);
/* Wakes the agent's thread: there is new work for it. */
void late_wake(void);
/* Whether memory is being looked for: memory that the agent allocates now would be taken for the
 * program's. */
bool late_is_finding(void);
/* Called when a window is about to open on this thread, with a context current. Waits until the
 * search has ended, while it goes on (late_wait()). Returns false if it has not ended. */
bool late_settle(struct thread *t);

#endif
