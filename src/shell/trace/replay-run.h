/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves a session's replay and reports where it stopped; used by `replay X` and, in a replay, by
 * `continue` and `next`.
 */
#ifndef SHELL_REPLAY_RUN_H
#define SHELL_REPLAY_RUN_H

#include "engine/replay-moves.h"
#include "shell/line/session.h"

/* Moves the replay, and prints where it is then. */
struct err *replay_go(struct session *s, const struct move *how) TS_CHECK;

struct err *replay_run_to_break(struct session *s, bool backwards) TS_CHECK;
/* into: each node of a graph launch is a step, unless `set replay nodes` is off. */
struct err *replay_run_steps(struct session *s, uint64_t n, bool backwards, bool into) TS_CHECK;

/* Whether a word is a command's number, or SEQ.STEP. */
bool replay_is_position(const char *word);

/* cmd-watch.c: prints what watchpoint id saw, before and after the command at the replay's
 * position. */
struct err *watch_tell(struct session *s, int id) TS_CHECK;
/* Prints what the command at the position does to the bytes of a watchpoint for reads or for both.
 */
void watch_tell_touch(struct session *s, const struct watch_touch *t);
/* Prints that n commands may have touched the bytes unseen; nothing for 0. */
void watch_tell_passed(struct session *s, uint64_t n);

#endif
