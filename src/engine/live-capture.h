/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures of the live program: turns the plan (live.plan) into the control block's window and the
 * recorder's settings.
 */
#ifndef ENGINE_LIVE_CAPTURE_H
#define ENGINE_LIVE_CAPTURE_H

#include "engine/engine.h"

/* Begins a new plan; it replaces one that has captured nothing so far. ERR_STATE: a capture is
 * going on. The caller fills in the rest of live.plan, then calls capture_arm_plan(). */
struct err *capture_begin(struct engine *en, enum recorder_mode mode) TS_CHECK;
/* Arms the plan now if there is a program; a plan that cannot be armed is forgotten. */
struct err *capture_arm_plan(struct engine *en) TS_CHECK;
/* Ends the capture, but first gets the memory of the captured commands. live.doing is
 * LIVE_ENDING_WINDOW afterwards if the caller has to take steps (live_step()) until it has been
 * recorded. If the program is not stopped at a GPU command, the capture ends at the next one. */
struct err *capture_stop(struct engine *en) TS_CHECK;
/* Forgets the plan and disarms the window. */
void capture_forget(struct engine *en);
/* The file of the next capture; a heap string. */
char *capture_path(struct engine *en);

/* --- for the rest of the live program --- */

/* Checks before a launch that the plan's file can be written. */
struct err *capture_check(struct engine *en) TS_CHECK;
/* Puts the plan into the recorder and the control block; does nothing without a process. */
struct err *capture_arm(struct engine *en) TS_CHECK;
/* Called after every drain: ends the capture when its window is over and all its data has come. */
void capture_check_window(struct engine *en);
/* Ends the present capture, notes what was captured, and forgets the plan. Does nothing without a
 * capture. */
void capture_finish(struct engine *en);
/* Answers the agent, which asks whether to record more memory than the limit: asks the hook
 * memory_limit. */
void capture_answer(struct engine *en);
/* The program executed another one: ends the trace; a capture of everything goes on in a new
 * one. */
void capture_exec(struct engine *en);
/* Remembers the pattern for the names of the children's traces. */
void capture_children(struct engine *en);

#endif
