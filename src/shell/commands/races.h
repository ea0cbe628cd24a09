/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's schedule and race check: what `set softgpu ...` says, told to the device of a replay and to the program, and the races that
 * come back.
 */
#ifndef SHELL_RACES_H
#define SHELL_RACES_H

#include "replay/protocol.h"
#include "shell/line/session.h"

/* `set softgpu schedule` and `racecheck` as a request. ERR_USAGE: the schedule is none. */
struct err *races_settings(const struct session *s, struct replayer_soft *ret) TS_CHECK;
/* Tells the replay's device, when it is a software GPU. A schedule that is none becomes the default, with an error. */
struct err *races_apply(struct session *s) TS_CHECK;
/* Prints the races that the replay found since the last call and that were not told yet in this replay. */
void races_tell(struct session *s);
/* The same for the live program, from the file that it writes. */
void races_tell_live(struct session *s);
/* The program's environment with the softgpu settings in it, for a run on the software GPU: a heap array over the strings of env and of ret_own
 * (RACES_OWN of them, NULL or to be freed with it). */
#define RACES_OWN 5
char **races_env(struct session *s, char *const *env, unsigned n, char **ret_own);
/* Another run or replay begins: what was told is told again. */
void races_forget(struct session *s);
/* At the session's end. */
void races_deinit(struct session *s);

#endif
