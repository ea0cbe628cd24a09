/* SPDX-License-Identifier: Apache-2.0
 *
 * The window that `capture window` asks for: which commands carry SBT_F_WINDOW, and when it opens
 * and closes. Its memory is for memory/window.h.
 */
#ifndef CAPTURE_ARMED_H
#define CAPTURE_ARMED_H

#include "capture/core/agent.h"

struct call;
struct thread;

static inline bool armed_watched(void)
{
	const struct tsdb_window *w = &agent.control->window;
	return w->kind != TSDB_WINDOW_NONE &&
	       atomic_load_explicit(&w->state, memory_order_relaxed) != TSDB_WINDOW_DONE;
}
/* Whether the window is open: what is recorded now lies in it. */
bool armed_is_open(void);
/* Whether a mark that is made now is in a window that ranges open and close. */
bool armed_takes_marks(void);
/* The command has its seq: opens the window, flags the command, closes the window, as needed. */
void armed_enter(struct call *c);
/* The last number of the window once it is known; 0 before, and without a window. */
uint64_t armed_last(void);
/* Called by the thread that closed the window, when it is in no call any more: waits, some seconds
 * at most, until code that an agent which came late looks for has been found. */
void armed_settle(void);
/* The thread is about to push, or has popped, a range. window: it is the program's window. */
void armed_push(struct thread *t, const char *name, bool window);
void armed_pop(struct thread *t);

#endif
