/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures: turns the user's plan (session.plan) into the control block's window and the recorder's
 * settings.
 */
#ifndef SHELL_CAPTURE_H
#define SHELL_CAPTURE_H

#include "shell/line/session.h"

/* Checks before a launch that the plan's file can be written. */
struct err *capture_check(struct session *s) TS_CHECK;
/* Puts the plan into the recorder and the control block; does nothing without a process. */
struct err *capture_arm(struct session *s) TS_CHECK;
/* Called after every drain: ends the capture when its window is over and all its data has come. */
void capture_check_window(struct session *s);
/* Ends the present capture, reports what was captured, and forgets the plan. Does nothing without a
 * capture. */
void capture_finish(struct session *s);
/* `capture stop`: like capture_finish(), but first gets the memory of the captured commands. If the
 * program is not stopped in a GPU command, it runs to the next one. */
struct err *capture_stop(struct session *s) TS_CHECK;
/* Answers the agent, which asks whether to record more memory than the limit. */
void capture_answer(struct session *s);
/* The program executed another one: ends the trace; a capture of everything goes on in a new
 * one. */
void capture_exec(struct session *s);
/* Forgets the plan and disarms the window. */
void capture_forget(struct session *s);
/* The file of the next capture; a heap string. */
char *capture_path(struct session *s);
/* Remembers the pattern for the names of the children's traces. */
void capture_children(struct session *s);

#endif
