/* SPDX-License-Identifier: Apache-2.0
 *
 * A move of a replay: by steps, to a place, to the next of the engine's breakpoints, within graph
 * launches and within kernels. Every door (shell, library, editors, browser) moves by the one call
 * replay_move(), which makes the engine's newest stop; a program's moves are live_continue() and
 * live_next(), and live_step() makes theirs.
 */
#ifndef ENGINE_REPLAY_MOVES_H
#define ENGINE_REPLAY_MOVES_H

#include "engine/engine.h"
#include "engine/nan.h"
#include "replay/device-kernel.h"
#include "replay/replay.h"

enum { REPLAY_OTHERS = 8 };

/* How a command touches the bytes of a watchpoint for reads, or for reads and writes. */
struct watch_touch {
	uint64_t by;	     /* the command; another than the one stopped at: it was kept back */
	uint64_t addr, size; /* the first of the watched bytes that it touches, or may touch */
	bool reads, writes;
	bool sure; /* false: it may, and whether it does is known only on the software GPU */
	/* of a watchpoint for NaN: how many it wrote there, the first of them at addr; else 0 */
	uint64_t nans;
	enum replayer_as as;
	enum nan_typed typed; /* how that is known */
};

/* Where a move has ended. */
struct replay_move {
	struct replay_stop stop;
	int others[REPLAY_OTHERS]; /* further breakpoints that were hit at the command */
	unsigned nothers;
	bool in_graph; /* inside graph launch stop.seq, of which `step` steps are done */
	uint32_t step;
	bool in_launch; /* inside a kernel, or at its end: `launch`, and not `stop`, says where */
	struct soft_stop launch;
	/* at a watchpoint for reads, or reads and writes: how; by 0: it is none */
	struct watch_touch touch;
	/* with such watchpoints: commands on the way that may have touched their bytes unseen:
	 * kernels that follow pointers in memory, host functions */
	uint64_t passed;
};

enum move_how {
	/* n steps; each node of a graph launch is one, unless `set replay graph-nodes` is off */
	MOVE_STEPS,
	MOVE_COMMANDS, /* n commands; a graph launch is one */
	/* to the next breakpoint or watchpoint that counts (breakpoints_hit()), or the end */
	MOVE_ON,
	MOVE_LEAVE,  /* out of the graph launch: to its end, or backwards to before it */
	MOVE_GOTO,   /* to command seq; 0: the beginning */
	MOVE_UNTIL,  /* the same; it has to lie ahead */
	MOVE_NODE,   /* to right behind step `step` of graph launch seq; 0: before its first */
	MOVE_STREAM, /* finishes the command at the head of `stream` */
	MOVE_DRAIN,  /* finishes all that is submitted on `stream` */
	/* to before the first instruction of launch seq; 0: of the one at the position, or the next
	 */
	MOVE_ENTER,
	MOVE_INSIDE, /* in the launch under the microscope: n times `inside` */
	/* in it, to a line of the source behind the present one, in the same function or outside of
	 * it */
	MOVE_UNTIL_LINE,
	MOVE_FOCUS,   /* in it: chooses `thread` of `block`; another block begins it again */
	MOVE_NOWHERE, /* something else has moved the replay; the stop is where that left it */
};

struct move {
	enum move_how how;
	bool backwards; /* STEPS, COMMANDS, ON, LEAVE */
	uint64_t n, seq;
	uint32_t step, stream;
	enum soft_how inside;
	uint32_t block[3], thread[3];
};

/* The move's end, as the engine's newest stop, too (engine.stop; last-stop.h). That a device failed
 * on the way is an error and a stop. */
struct err *replay_move(struct engine *en, const struct move *m, struct replay_move *ret) TS_CHECK;

#endif
