/* SPDX-License-Identifier: Apache-2.0
 *
 * What a breakpoint's place means, decided by what there is: a kernel, a line of a kernel's source,
 * a function or a line of the host. breakpoints_add() takes the words that this finds.
 */
#ifndef SHELL_BREAK_PLACE_H
#define SHELL_BREAK_PLACE_H

#include "shell/line/session.h"

struct breakpoint;

struct break_place {
	char *spec;   /* for breakpoints_add(); heap */
	char *note;   /* a sentence about the choice; heap, NULL: none */
	bool pending; /* nothing that is known so far has this place */
};
/* Decides what the text behind `break` means, or, with message, behind `dprintf`. In a replay
 * everything is known: a place that no command has is refused. */
struct err *break_place(
	struct session *s, const char *text, bool message, struct break_place *ret) TS_CHECK;
void break_place_free(struct break_place *p);
/* Calls add for the readable name of each kernel that is known: of the trace, or of the program and
 * what it has loaded. */
struct err *break_each_kernel(
	struct session *s, void (*add)(void *arg, const char *name), void *arg) TS_CHECK;
/* Prints which breakpoints had a place that the program, which has ended, never reached. */
void break_tell_never_hit(struct session *s);
/* The engine's hook: shows the message of a breakpoint that was reached (cmd-break.c). */
void break_say(void *session, struct breakpoint *bp);
/* The engine's hooks: whether a command was made where a breakpoint says. */
bool break_made_from(void *session, const struct breakpoint *bp);
bool break_recorded_from(void *session, int id, uint32_t stack);

#endif
