/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks, ranges, windows and triggers of the program: through NVTX, or tracesmith/mark.h.
 */
#ifndef CAPTURE_MARK_H
#define CAPTURE_MARK_H

#include <stdbool.h>

/* mark_kind of a recorded mark; a window is recorded as a range. */
enum mark_kind { MARK_POINT, MARK_PUSH, MARK_POP, MARK_TRIGGER };

/* Records it, and stops or opens and closes windows where the debugger wants that. window: the
 * range that begins is the program's window. text may be NULL. Returns whether a debugger that
 * records is there. Any thread, not within the agent. */
bool mark_say(enum mark_kind kind, const char *text, bool window);

/* Tells every module of the process that includes tracesmith/mark.h where the agent is. Called by
 * the agent's own thread of a debugger that attaches: modules that asked before found nobody. */
void mark_doors(void);

#endif
