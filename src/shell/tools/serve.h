/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb --serve FD: a session whose user is a program, through libtracesmith (door/door.h).
 */
#ifndef SHELL_SERVE_H
#define SHELL_SERVE_H

#include "shell/line/session.h"

/* Answers questions from the socket fd until the program closes it. failed: why what the command
 * line names cannot be opened, which is then the only answer; taken. Returns the exit status. */
int serve(struct session *s, int fd, struct err *failed);

#endif
