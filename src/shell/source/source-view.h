/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the program's source on the screen: at stops, and the place that `list` goes on from.
 */
#ifndef SHELL_SOURCE_VIEW_H
#define SHELL_SOURCE_VIEW_H

#include "shell/line/session.h"
#include "symbols/host-stack.h"
#include "symbols/sources.h"

/* A line of a file as the compiler has it. */
struct source_place {
	const char *file, *folder; /* folder: what file is relative to; NULL: not known */
	unsigned line;
};

struct source_view;
struct source_view *source_view_new(void);
void source_view_free(struct source_view *v); /* NULL is fine */

/* Makes the place the one that `list` shows. Texts are copied. */
void source_set(struct session *s, const struct source_place *at);
/* The same, and prints "15\tkernel<<<...>>>();" if the text can be read and `set print source-line`
 * is on. Returns whether it printed. */
bool source_tell(struct session *s, const struct source_place *at);
/* The place of the last stop or frame; false: there was none. Owned by the session. */
bool source_current(const struct session *s, struct source_place *ret);

/* The frame of the user's own code that made a command: the innermost with a line that is no stub
 * of the compiler's. kernel: short name of the launched kernel, whose stub may have its own lines;
 * NULL: it is no launch. False: no frame has a line. */
bool source_of_stack(const struct stack *st, const char *kernel, struct source_place *ret);
/* The frame of the live program's thread whose line a stop shows, among all native frames; false:
 * none has one. */
bool source_live_frame(struct session *s, unsigned *ret);
/* The line that made the command that the live program stopped at, or the thread's innermost line.
 */
void source_tell_live(struct session *s);
/* The line that made a command of the open trace. */
void source_tell_recorded(struct session *s, const struct sbt_cmd *c);
/* The line of the launch under the microscope. Returns whether it printed. */
bool source_tell_kernel(struct session *s, const char *file, unsigned line);

/* Lines first to last of a text, "=>" before line `here` (0: none) where `list` marks it. */
struct err *source_print(struct session *s, const struct source_place *at, unsigned first,
	unsigned last, bool json) TS_CHECK;
/* What was listed last; false: nothing since the last stop. */
bool source_listed(
	const struct session *s, struct source_place *ret, unsigned *ret_first, unsigned *ret_last);

/* `set substitute-path`, `unset substitute-path`, `show directories` and the like; *ret_done false:
 * it is none of these. */
struct err *source_setting(
	struct session *s, const char *verb, const char *rest, bool json, bool *ret_done) TS_CHECK;

#endif
