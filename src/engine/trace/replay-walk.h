/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the drawer: parts of replay_move() (replay-moves.h), which alone calls them. They make
 * no stop.
 */
#ifndef ENGINE_TRACE_REPLAY_WALK_H
#define ENGINE_TRACE_REPLAY_WALK_H

#include "engine/replay-moves.h"

/* n steps. into: each node of a graph launch is a step, unless `set replay graph-nodes` is off. */
struct err *replay_move_steps(
	struct engine *en, uint64_t n, bool backwards, bool into, struct replay_move *ret) TS_CHECK;
/* Leaves the graph launch that the replay is inside, to its end or to before it. */
struct err *replay_move_leave(struct engine *en, bool backwards, struct replay_stop *ret) TS_CHECK;
/* To the next breakpoint or watchpoint that counts (breakpoints_hit()), or the end. */
struct err *replay_move_run(struct engine *en, bool backwards, struct replay_move *ret) TS_CHECK;

#endif
