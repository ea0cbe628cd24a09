/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's schedule and race check: passes `set softgpu ...` on to the replay's device
 * and to the program, and prints the races found.
 */
#ifndef SHELL_RACES_H
#define SHELL_RACES_H

#include "replay/protocol.h"
#include "shell/line/session.h"

/* Makes a request from `set softgpu schedule` and `racecheck`. ERR_USAGE: the schedule is
 * invalid. */
struct err *races_settings(const struct session *s, struct replayer_soft *ret) TS_CHECK;
/* Applies them to the replay's device if it is a software GPU. An invalid schedule is replaced by
 * the default, with an error. */
struct err *races_apply(struct session *s) TS_CHECK;
/* Prints the races that the replay found since the last call, except those already printed in this
 * replay. */
void races_tell(struct session *s);
/* The same for the live program, from the file that it writes. */
void races_tell_live(struct session *s);
/* The program's environment with the softgpu settings added, for a run on the software GPU: a heap
 * array of strings that belong to env or to ret_own (RACES_OWN of them, each NULL or to be freed
 * with the array). */
#define RACES_OWN 5
char **races_env(struct session *s, char *const *env, unsigned n, char **ret_own);
/* Another run or replay begins: races may be printed again. */
void races_forget(struct session *s);
/* Called at the session's end. */
void races_deinit(struct session *s);

#endif
