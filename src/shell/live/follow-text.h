/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a program whose children are followed (engine/live-follow.h).
 */
#ifndef SHELL_FOLLOW_TEXT_H
#define SHELL_FOLLOW_TEXT_H

#include "shell/line/session.h"

/* Called when the program has ended: waits until its children have ended, too. Ctrl-C kills them.
 */
struct err *follow_await(struct session *s) TS_CHECK;
/* Prints "4 processes, 2 of them used the GPU", and a line for each of those, on standard error. */
void follow_summary(struct session *s);
/* Prints them for `info inferiors`. */
void follow_print(struct session *s, bool json);

#endif
