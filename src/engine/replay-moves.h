/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves a replay by steps, or to the next of the engine's breakpoints, also within graph launches.
 */
#ifndef ENGINE_REPLAY_MOVES_H
#define ENGINE_REPLAY_MOVES_H

#include "engine/engine.h"
#include "replay/device-kernel.h"
#include "replay/replay.h"

enum { REPLAY_OTHERS = 8 };

/* Where a move has ended. */
struct replay_move {
	struct replay_stop stop;
	int others[REPLAY_OTHERS]; /* further breakpoints that were hit at the command */
	unsigned nothers;
	bool in_graph; /* inside graph launch stop.seq, of which `step` steps are done */
	uint32_t step;
	bool in_launch; /* at a breakpoint inside a kernel: `launch`, and not `stop`, says where */
	struct soft_stop launch;
};

/* n steps. into: each node of a graph launch is a step, unless `set replay graph-nodes` is off. */
struct err *replay_move_steps(
	struct engine *en, uint64_t n, bool backwards, bool into, struct replay_move *ret) TS_CHECK;
/* Leaves the graph launch that the replay is inside, to its end or to before it. */
struct err *replay_move_leave(struct engine *en, bool backwards, struct replay_stop *ret) TS_CHECK;
/* To the next breakpoint or watchpoint that counts (breakpoints_hit()), or the end. */
struct err *replay_move_run(struct engine *en, bool backwards, struct replay_move *ret) TS_CHECK;

#endif
