/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures: from what the user asked for (session.plan) to the control block's window and the recorder.
 */
#ifndef SHELL_CAPTURE_H
#define SHELL_CAPTURE_H

#include "shell/line/session.h"

/* Before a launch: whether the plan's file can be written. */
struct err *capture_check(struct session *s) TS_CHECK;
/* Puts the plan into the recorder and the control block; nothing happens without a process. */
struct err *capture_arm(struct session *s) TS_CHECK;
/* After every drain: ends the capture when its window is over and all of it has arrived. */
void capture_check_window(struct session *s);
/* Ends the capture that is on, says what was captured, and forgets the plan. Nothing happens without one. */
void capture_finish(struct session *s);
/* `capture stop`: as capture_finish(), once the memory of the captured commands is there. Where the program is stopped in no GPU command that is at its
 * next one. */
struct err *capture_stop(struct session *s) TS_CHECK;
/* The agent asks whether to record more memory than the limit: answers it. */
void capture_answer(struct session *s);
/* The program executes another one: what was captured so far is one trace, a capture of everything goes on in the next one. */
void capture_exec(struct session *s);
/* Forgets the plan and disarms the window. */
void capture_forget(struct session *s);
/* The file that the next capture goes to; a heap string. */
char *capture_path(struct session *s);
/* Remembers what the traces of the program's children are to be called. */
void capture_children(struct session *s);

#endif
