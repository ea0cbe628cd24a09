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

/* How a command touches the bytes of a watchpoint for reads, or for reads and writes. */
struct watch_touch {
	uint64_t by;	     /* the command; another than the one stopped at: it was kept back */
	uint64_t addr, size; /* the first of the watched bytes that it touches, or may touch */
	bool reads, writes;
	bool sure; /* false: it may, and whether it does is known only on the software GPU */
};

/* Where a move has ended. */
struct replay_move {
	struct replay_stop stop;
	int others[REPLAY_OTHERS]; /* further breakpoints that were hit at the command */
	unsigned nothers;
	bool in_graph; /* inside graph launch stop.seq, of which `step` steps are done */
	uint32_t step;
	bool in_launch; /* at a breakpoint inside a kernel: `launch`, and not `stop`, says where */
	struct soft_stop launch;
	/* at a watchpoint for reads, or reads and writes: how; by 0: it is none */
	struct watch_touch touch;
	/* with such watchpoints: commands on the way that may have touched their bytes unseen:
	 * kernels that follow pointers in memory, host functions */
	uint64_t passed;
};

/* n steps. into: each node of a graph launch is a step, unless `set replay graph-nodes` is off. */
struct err *replay_move_steps(
	struct engine *en, uint64_t n, bool backwards, bool into, struct replay_move *ret) TS_CHECK;
/* Leaves the graph launch that the replay is inside, to its end or to before it. */
struct err *replay_move_leave(struct engine *en, bool backwards, struct replay_stop *ret) TS_CHECK;
/* The error of a move, or NULL, which it returns. If the device has failed, that is a stop, too. */
struct err *replay_move_ended(struct engine *en, struct err *e) TS_CHECK;
/* To the next breakpoint or watchpoint that counts (breakpoints_hit()), or the end. */
struct err *replay_move_run(struct engine *en, bool backwards, struct replay_move *ret) TS_CHECK;

#endif
