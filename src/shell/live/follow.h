/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes of the live program, followed: each that uses the GPU is recorded into a trace of its own (`record --children`, `set follow
 * children on`). Nothing stops them but what stops a recording; commands at the prompt are about the program that was started.
 */
#ifndef SHELL_FOLLOW_H
#define SHELL_FOLLOW_H

#include "shell/line/session.h"

struct follow;

/* For a program that was just launched. */
struct follow *follow_new(struct session *main);
/* Kills what is left of the children. */
void follow_free(struct follow *f);

/* As inferior_wait() of the program, and children live meanwhile. */
struct err *follow_wait(struct follow *f, int timeout_ms, struct inferior_event *ret) TS_CHECK;
/* Takes what the children's rings hold. True when there may be more. */
bool follow_drain(struct follow *f);
/* The highest drain_pressure() of a child. */
unsigned follow_pressure(const struct follow *f);
/* The program has ended: goes on until its children have, too. On Ctrl-C they are killed. */
struct err *follow_rest(struct follow *f) TS_CHECK;
void follow_kill(struct follow *f);
/* The program was let go of: so are its children, and their traces end. */
void follow_detach(struct follow *f);
/* The file of a capture by the process that the session is about: pattern expanded, as long as it has places; heap. */
char *follow_path(struct session *s, const char *pattern);
/* "4 processes, 2 of them used the GPU", a line each for those; on stderr for a recording. */
void follow_summary(const struct follow *f);
/* For `info inferiors`. */
void follow_print(struct session *s, bool json);

#endif
