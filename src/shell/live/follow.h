/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows child processes of the live program: each that uses the GPU is recorded into a trace of
 * its own (`record --children`, `set follow children on`). They stop only where a recording would;
 * commands at the prompt are about the program that was started.
 */
#ifndef SHELL_FOLLOW_H
#define SHELL_FOLLOW_H

#include "shell/line/session.h"

struct follow;

/* Called for a program that was just launched. */
struct follow *follow_new(struct session *main);
/* Kills the remaining children. */
void follow_free(struct follow *f);

/* Like inferior_wait() for the program; handles the children's events meanwhile. */
struct err *follow_wait(struct follow *f, int timeout_ms, struct inferior_event *ret) TS_CHECK;
/* Takes records from the children's rings. Returns true if there may be more. */
bool follow_drain(struct follow *f);
/* The highest drain_pressure() of a child. */
unsigned follow_pressure(const struct follow *f);
/* Called when the program has ended: runs until its children have ended, too. Ctrl-C kills them. */
struct err *follow_rest(struct follow *f) TS_CHECK;
void follow_kill(struct follow *f);
/* Called when the program was let go of: lets go of its children, too, and ends their traces. */
void follow_detach(struct follow *f);
/* The file for a capture of the session's process: the expanded pattern; heap. */
char *follow_path(struct session *s, const char *pattern);
/* Prints "4 processes, 2 of them used the GPU", and a line for each of those; on stderr for a
 * recording. */
void follow_summary(const struct follow *f);
/* Prints them for `info inferiors`. */
void follow_print(struct session *s, bool json);

#endif
