/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the engine's files: its parts, and the checkpoints of the state that make going back
 * quick.
 */
#ifndef REPLAY_PRIVATE_H
#define REPLAY_PRIVATE_H

#include "replay/replay.h"
#include "state/steps.h"

/* An explicit retirement (replay_next_stream): command seq was retired when the position was at,
 * the trace's command number index (state_totals.commands). */
struct mark {
	uint64_t at, index, seq;
};

/* A checkpoint of the state, with the first nmarks marks applied. */
struct point {
	uint64_t seq, index;
	unsigned nmarks;
	struct state *s;
};

#define POINTS_MAX 64
#define POINT_EVERY 4096	  /* commands, going forwards */
#define POINTS_BYTES (256u << 20) /* of memory for all of them */

/* In order of seq; points with equal seq in order of nmarks. */
struct points {
	struct point p[POINTS_MAX];
	unsigned n;
};

/* points.c */
/* Keeps a clone of s unless there is one like it. */
void points_add(struct points *t, const struct state *s, unsigned nmarks);
/* The latest with seq <= seq and nmarks <= nmarks; NULL when there is none. */
const struct point *points_find(const struct points *t, uint64_t seq, unsigned nmarks);
/* The latest with index <= index and nmarks <= nmarks. */
const struct point *points_find_index(const struct points *t, uint64_t index, unsigned nmarks);
/* Drops those with more than nmarks marks, and those after seq. */
void points_drop(struct points *t, uint64_t seq, unsigned nmarks);
void points_free(struct points *t);

struct replay {
	struct sbt_reader *trace;
	struct sbt_cursor *cursor;
	struct replay_executor ex;
	bool has_ex;
	uint64_t first, last; /* seqs within reach: the executor's window, or the trace's */
	bool window;	      /* it is the executor's */

	struct state *base;  /* before the first command: what the trace's first keyframe says when
				it begins in mid-run */
	uint64_t base_index; /* base's commands */
	struct state *s;
	uint64_t seq, index; /* s's, kept here for speed; seq is 0 at the beginning */
	/* the cursor's; NULL at the beginning, or if the trace lacks it */
	const struct sbt_cmd *cmd;
	bool astray; /* the cursor is not just behind seq */

	struct mark *marks; /* in the order they were made, so at rises */
	unsigned nmarks, marks_cap;
	struct points points;
	uint64_t next_point; /* index at which going forwards leaves one */
};

/* replay.c: moving without stop records, for run.c */
/* Puts the cursor right behind the position, if it is not there. */
struct err *replay_align(struct replay *r) TS_CHECK;
/* The command after the position, not yet applied; NULL at the end. */
struct err *replay_peek(struct replay *r, const struct sbt_cmd **ret) TS_CHECK;
/* Executes and applies what replay_peek() returned. */
struct err *replay_submit(struct replay *r, const struct sbt_cmd *c, bool wait) TS_CHECK;
/* Goes to the last command with a seq <= seq that is at most the trace's index-th, with the first
 * nmarks marks. The position changes only if that, and the executor's seek, succeeds. */
struct err *replay_jump(struct replay *r, uint64_t seq, uint64_t index, unsigned nmarks) TS_CHECK;
/* Number of the marks that were made before the position reached seq. */
unsigned replay_marks_before(const struct replay *r, uint64_t seq);
/* Called at the end of every move: returns e if there is one, else fills *ret. */
struct err *replay_stopped(
	struct replay *r, struct err *e, enum replay_why why, struct replay_stop *ret) TS_CHECK;

/* The same without moving the executor, which must go there by itself, or cannot. */
struct err *replay_jump_state(
	struct replay *r, uint64_t seq, uint64_t index, unsigned nmarks) TS_CHECK;
/* The same in two parts: a thread makes the state between start and end, while the executor goes
 * there. Before the end nothing of r may be used. take false: the executor did not get there, and r
 * stays where it was. */
struct replay_ahead;
struct replay_ahead *replay_ahead_start(struct replay *r, uint64_t seq);
struct err *replay_ahead_end(struct replay_ahead *a, bool take) TS_CHECK;
/* Notes an explicit retirement. */
void replay_mark(struct replay *r, uint64_t seq);
/* Makes the error that the trace, or the window, does not have seq. */
struct err *replay_not_held(const struct replay *r, uint64_t seq) TS_CHECK;
/* Returns NULL if seq is within reach and in the trace; 0 always is. */
struct err *replay_look_up(struct replay *r, uint64_t seq) TS_CHECK;
/* Makes the executor, which must have `run`, execute up to seq, which is ahead, without looking at
 * the commands in between. *why is set only when it was interrupted; the position is then where it
 * got to. */
struct err *replay_run_to(struct replay *r, uint64_t seq, enum replay_why *why) TS_CHECK;
/* Waits for the executor. */
struct err *replay_settle(struct replay *r) TS_CHECK;

/* run.c */
/* Breakpoints with what is known about kernels. */
struct matcher {
	struct sbt_reader *trace; /* for conditions about Python frames */
	const struct state *s;	  /* names and parameters come from here */
	const struct replay_breakpoint *bps;
	unsigned n;
	struct match_steps { /* of the graph looked at last; node.c */
		struct state_steps steps;
		uint32_t graph;
		uint64_t made, update;
		bool there;
	} graph;
	bool nodes;	/* some breakpoint is about nodes, too */
	uint8_t *known; /* per breakpoint and kernel: 0 not known, 1 no, 2 yes */
};
void matcher_init(struct matcher *m, struct sbt_reader *trace, const struct replay_breakpoint *bps,
	unsigned n);
void matcher_deinit(struct matcher *m);
/* The id of the first breakpoint that matches, or 0. */
int matcher_match(const struct matcher *m, const struct sbt_cmd *c);
/* The same for breakpoints that are about nodes, too; c is a step of a launch. */
int matcher_match_node(const struct matcher *m, const struct sbt_cmd *c);
/* nodes.c: the first (or last) step from first to last of a graph launch that matches; *ret_id 0:
 * none. s has the graph in its form at the launch. */
struct err *nodes_match(struct matcher *m, const struct state *s, const struct sbt_cmd *launch,
	uint32_t first, uint32_t last, bool backwards, uint32_t *ret_step, int *ret_id) TS_CHECK;
/* Whether a state must know c so that nodes_match() can be called for later launches. */
bool nodes_learn(const struct sbt_cmd *c);
/* The last match on a node of a launch with lo <= seq < hi; *ret_id 0: none. Like matcher_scan() it
 * moves the cursor: the caller says that it is astray. */
struct err *nodes_scan(struct replay *r, struct matcher *m, uint64_t lo, uint64_t hi,
	uint64_t *ret_seq, uint32_t *ret_step, int *ret_id) TS_CHECK;
/* The last command with lo <= seq < hi that matches; *ret_id is unchanged when there is none. */
struct err *matcher_scan(struct replay *r, const struct matcher *m, uint64_t lo, uint64_t hi,
	uint64_t *ret_seq, int *ret_id) TS_CHECK;

#endif
