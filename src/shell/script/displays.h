/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shown at each stop: the expressions of `display`, and the user's command hook-stop.
 */
#ifndef SHELL_DISPLAYS_H
#define SHELL_DISPLAYS_H

#include "shell/line/session.h"

struct displays;
struct display {
	unsigned id;
	bool enabled;
	char *fmt; /* "x", "4fw"; "": none */
	char *expr;
};

void displays_free(struct displays *d);
/* Adds one. Both texts are copied. */
const struct display *displays_add(struct session *s, const char *fmt, const char *expr);
/* The i-th; NULL behind the last. */
struct display *displays_nth(struct session *s, unsigned i);
void displays_delete(struct session *s, unsigned id);

/* Shows one, as at a stop. An expression with a name that is not there is an error only if `must`;
 * what else cannot be shown is said in its place. */
struct err *display_show(struct session *s, const struct display *d, bool must) TS_CHECK;
/* Shows all that are enabled. */
void displays_show(struct session *s);

/* A stop, at a breakpoint or otherwise, is about to be shown: runs hook-stop. displays_after()
 * follows when the command has ended. Returns false if the breakpoint's commands begin with
 * `silent`: nothing is to be shown. */
bool displays_stop(struct session *s, bool at_breakpoint);
/* Shows the displays and runs hookpost-stop if there was a stop. */
void displays_after(struct session *s);

#endif
