/* SPDX-License-Identifier: Apache-2.0
 *
 * Host call stacks as the user sees them: of a stopped thread, or the recorded one of a command.
 */
#ifndef SHELL_STACK_H
#define SHELL_STACK_H

#include "symbols/host-stack.h"
#include "shell/line/session.h"

/* The stack that commands refer to (by focus); ERR_STATE or ERR_INCOMPLETE with the cure if there
 * is none. */
struct err *stack_get(struct session *s, enum stack_only only, struct stack *ret) TS_CHECK;
/* The stack of thread tid of the live program. */
struct err *stack_of_thread(struct session *s, pid_t tid, struct stack *ret) TS_CHECK;
/* The stack with this id in r. */
struct err *stack_recorded(
	struct session *s, struct sbt_reader *r, uint32_t id, struct stack *ret) TS_CHECK;
/* The stack of a command of the live program; empty if the recorder no longer has it. */
void stack_kept(struct session *s, uint32_t id, struct stack *ret);

/* Appends "#0 0x... in main () at app.cu:12" without newline. */
void stack_print_frame(struct buf *out, const struct stack *st, unsigned i);
/* Appends the innermost frames for a report, one line each behind indent, at most `most` (2 or
 * more). For a Python program: the innermost frame, then Python functions, since libraries' frames
 * alone say little about the program. */
void stack_print_brief(struct buf *out, const struct stack *st, const char *indent, unsigned most);
/* Appends "main () at app.cu:12". */
void stack_print_place(struct buf *out, const struct stack *st, unsigned i);
/* Frame i as JSON. */
void stack_json_frame(struct buf *out, const struct stack *st, unsigned i);
/* A struct stack as an array of frames, for JS_BY(.., stack_json, "[frame]"). */
void stack_json(struct buf *out, const void *stack);
/* The innermost frame of the stopped thread on the screen; nothing when it cannot be unwound. */
void stack_tell_top(struct session *s);

/* Says once for the open trace that a file of the program is there, and is another build than the
 * one that was recorded. One that is not there is named when its frames are first shown. */
void stack_tell_other_build(struct session *s);

#endif
