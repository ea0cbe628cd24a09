/* SPDX-License-Identifier: Apache-2.0
 *
 * The replay engine: a position in a trace, moved forwards and backwards. An engine may have an
 * executor: without one only the state machine is replayed (logical replay); with one the commands
 * run again on a device.
 *
 * A position is (seq, retirements): commands up to seq are submitted. Beyond what the host had
 * learned by then, replay_next_stream() retires heads of streams one by one, each at its own seq.
 * Going back undoes submissions and retirements, the newest first; replay_goto() forgets all
 * retirements. The state at a position does not depend on the way there.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "state/state.h"

struct replay;

/* Runs commands on something. Every member is required. The engine calls from one thread. Steps and
 * runs forwards call execute for every command before it is applied to the state, and wait for the
 * one they stop at; when execute fails the position stays before that command. Every other move
 * calls seek once, and happens only when that succeeds. */
struct replay_executor {
	void *arg;
	/* Submit c and, when wait is set, return when it has finished on the device. */
	struct err *(*execute)(void *arg, const struct sbt_cmd *c, bool wait);
	/* Bring the device to the state right after seq (checkpoint, or from the window's start).
	 */
	struct err *(*seek)(void *arg, uint64_t seq);
	/* Read device memory at the current point. */
	struct err *(*read)(void *arg, uint64_t addr, void *dst, size_t n);
	void (*close)(void *arg);

	/* All that follows may be absent (NULL, 0). */

	/* The window that can be executed: positions are first - 1 (the beginning, told as 0) to
	 * last. 0: the whole trace. */
	uint64_t first, last;
	/* Execute from the current point up to seq; with size > 0 stop after a command that changed
	 * [addr, addr + size): *hit. *ret_seq is the point reached, also when it fails with
	 * ERR_INTERRUPTED. Needed by replay_watch(); makes long ways quicker. */
	struct err *(*run)(
		void *arg, uint64_t to, uint64_t addr, uint64_t size, uint64_t *ret_seq, bool *hit);
	/* For the last hit: the command that changed the bytes, if it had been kept back until
	 * *ret_seq had run; 0: *ret_seq changed them. */
	uint64_t (*late)(void *arg);
	/* The wait for a value that keeps command seq back at the current point; 0: it has been
	 * executed. */
	struct err *(*kept)(void *arg, uint64_t seq, uint64_t *ret_wait);
	/* Wait for all that was submitted. */
	struct err *(*finish)(void *arg);
	/* The command that the last failed call was about, one of *ret_first..returned; 0: none.
	 * The engine then moves to before it, and assumes that the device is there, too. */
	uint64_t (*culprit)(void *arg, uint64_t *ret_first);
	/* Go to right behind a step of graph launch seq, 0: before its first; *ret_steps is the
	 * number of steps. While inside a graph launch the engine reports the position after it;
	 * until the next call other than read, memory is as it is after the step. */
	struct err *(*node)(void *arg, uint64_t seq, uint32_t step, uint32_t *ret_steps);
};

/* Whether to stop at a command; see replay_run. bp_id goes to replay_stop.breakpoint. */
struct replay_breakpoint {
	int id;	       /* > 0 */
	unsigned kind; /* 0: any kind */
	const char
		*glob; /* of the kernel's name, with kind SBT_MARK of the mark's text; NULL: any */
	struct sbt_expr cond; /* empty: always */
	bool nodes; /* also at kernel nodes of graph launches, right before them; only with a glob
		     */
	/* Whether to stop at a command that has this host stack; NULL: at any. */
	bool (*from)(void *arg, int id, uint32_t stack);
	void *from_arg;
};

/* Memory to watch; its id goes to replay_stop.breakpoint. */
struct replay_watchpoint {
	int id;		     /* > 0 */
	uint64_t addr, size; /* size > 0 */
};

enum replay_why {
	REPLAY_STEPPED,
	REPLAY_BREAKPOINT,
	REPLAY_END,
	REPLAY_BEGIN,
	REPLAY_INTERRUPTED,
	REPLAY_WATCHPOINT
};

struct replay_stop {
	enum replay_why why;
	int breakpoint;	   /* id, for REPLAY_BREAKPOINT and REPLAY_WATCHPOINT */
	uint64_t seq;	   /* position; 0 is before the first command */
	uint64_t node_seq; /* REPLAY_BREAKPOINT: on a step of graph launch node_seq, the node-th,
			      which comes next; 0: on a command */
	uint32_t node;
	uint64_t late; /* REPLAY_WATCHPOINT: the command that changed the bytes, when seq only let
			  it go; else 0 */
	uint64_t retired; /* seq of the command that replay_next_stream retired, else 0 */
};

/* The reader must outlive the engine. Positioned before the first command. */
struct err *replay_open(
	struct replay **ret, struct sbt_reader *trace, const struct replay_executor *ex) TS_CHECK;
void replay_close(struct replay *r);

uint64_t replay_seq(const struct replay *r);
const struct state *replay_state(const struct replay *r);
/* The command at the position (the last one submitted); NULL at the beginning. Valid until the next
 * move. */
const struct sbt_cmd *replay_cmd(const struct replay *r);

/* Moves n commands forwards. */
struct err *replay_step(struct replay *r, uint64_t n, struct replay_stop *ret) TS_CHECK;
/* Retires the head of one stream; submits commands only until the stream has one. It also stops at
 * a command of the stream that is finished as soon as it is submitted (a synchronous copy).
 * ERR_STATE when the head waits for another stream: the sentence names stream, event and seq.
 * ERR_NOT_FOUND when the stream has no more work. After an error the position is unchanged. */
struct err *replay_next_stream(struct replay *r, uint32_t stream, struct replay_stop *ret) TS_CHECK;
/* Undoes n moves; each is a retirement made at the position, or a command. */
struct err *replay_reverse_step(struct replay *r, uint64_t n, struct replay_stop *ret) TS_CHECK;
/* Goes to seq exactly, without explicit retirements; 0 is the beginning. ERR_NOT_FOUND when the
 * trace does not have seq: the sentence names the range. */
struct err *replay_goto(struct replay *r, uint64_t seq, struct replay_stop *ret) TS_CHECK;
/* Goes into graph launch seq, to right behind `step` of its steps (state/steps.h). The position is
 * then seq. With an executor, memory is as after that step until the next move; without one only
 * the position changes. ERR_USAGE when the launch has fewer steps. */
struct err *replay_node(struct replay *r, uint64_t seq, uint32_t step, uint32_t *ret_steps,
	struct replay_stop *ret) TS_CHECK;
/* Finds the first (or last) step in [first, last] of the graph launch at the position that a
 * breakpoint matches: *ret_id, 0: none. */
struct err *replay_match_nodes(struct replay *r, const struct replay_breakpoint *bps, unsigned n,
	uint32_t first, uint32_t last, bool backwards, uint32_t *ret_step, int *ret_id) TS_CHECK;

/* Runs to the next breakpoint, forwards or backwards, and stops right after submitting the command
 * that matched. Stops early when *interrupt becomes true (may be NULL). */
struct err *replay_run(struct replay *r, bool backwards, const struct replay_breakpoint *bps,
	unsigned n, volatile bool *interrupt, struct replay_stop *ret) TS_CHECK;

/* The ids of all breakpoints that match the command at the position, in their order, at most max;
 * returns how many. */
unsigned replay_matching(
	struct replay *r, const struct replay_breakpoint *bps, unsigned n, int *ret, unsigned max);

/* Runs to seq exactly, forwards only (ERR_USAGE when it is behind the position): commands in
 * between are executed without stops, and explicit retirements are kept. */
struct err *replay_until(struct replay *r, uint64_t seq, struct replay_stop *ret) TS_CHECK;
/* Retires everything that is submitted on the stream, and what that depends on. ERR_NOT_FOUND when
 * there is nothing to finish. */
struct err *replay_finish_stream(
	struct replay *r, uint32_t stream, struct replay_stop *ret) TS_CHECK;

/* Like replay_run(), but also stops right after a command changed bytes of a watched range:
 * forwards at the next one, backwards at the last one before the position. A command that writes
 * the same bytes again is no stop. Watching needs a device: ERR_STATE without an executor that can
 * run. */
struct err *replay_watch(struct replay *r, bool backwards, const struct replay_watchpoint *ws,
	unsigned nws, const struct replay_breakpoint *bps, unsigned nbps, volatile bool *interrupt,
	struct replay_stop *ret) TS_CHECK;

struct replay_writer {
	uint64_t seq;
	/* the command at which the bytes changed: seq, but for one that was kept back until then */
	uint64_t at;
	/* false: a launch with a pointer into the allocation, which may not have written */
	bool certain;
	/* the bytes were seen to change; false for a copy or fill that may have written the same
	 * bytes */
	bool changed;
};
/* Finds the last command up to the position that wrote to [addr, addr + size). Copies, fills and
 * stream memory writes are known exactly from their records. Launches and graph launches are found
 * on the device by what they changed (one that wrote the same bytes again is not seen), and without
 * a device by their pointers. The position stays. ERR_NOT_FOUND when none in reach wrote: the
 * sentence says since when. */
struct err *replay_who_wrote(struct replay *r, uint64_t addr, uint64_t size,
	volatile bool *interrupt, struct replay_writer *ret) TS_CHECK;
/* The same of the commands up to `upto` alone, not behind the position. The allocation is that of
 * the position: what was there before it is not looked at. */
struct err *replay_wrote_upto(struct replay *r, uint64_t upto, uint64_t addr, uint64_t size,
	volatile bool *interrupt, struct replay_writer *ret) TS_CHECK;
/* Whether c writes to [addr, addr + size) by its record: a copy, a fill or a stream memory write
 * that was executed. */
bool replay_writes(const struct sbt_cmd *c, uint64_t addr, uint64_t size);

#endif
