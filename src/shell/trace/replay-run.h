/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving a session's replay and saying where it stopped; used by `replay X` and, in a replay, by `continue` and `next`.
 */
#ifndef SHELL_REPLAY_RUN_H
#define SHELL_REPLAY_RUN_H

#include "shell/line/session.h"

/* Says where the replay is after a move. */
void replay_tell(struct session *s, const struct replay_stop *stop);

struct err *replay_run_to_break(struct session *s, bool backwards) TS_CHECK;
/* into: the nodes of a graph launch are steps, unless that is switched off. */
struct err *replay_run_steps(struct session *s, uint64_t n, bool backwards, bool into) TS_CHECK;

/* cmd-watch.c: what watchpoint id saw, before and after the command that the replay stands at. */
struct err *watch_tell(struct session *s, int id) TS_CHECK;

#endif
