/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints graphs: what a node does, in one line, and which call made it.
 */
#ifndef SHELL_GRAPH_H
#define SHELL_GRAPH_H

#include "engine/graph-place.h"
#include "shell/line/session.h"
#include "replay/replay.h"
#include "state/steps.h"

/* Appends "count<<<(1,1,1), (32,1,1)>>>", "fill 4 bytes ...", "host function 0x...", without
 * newline. */
void graph_node_text(struct buf *out, const struct state *st, const struct state_node *n);
/* Appends the command that made the node, and the innermost frame of the program at that time, if r
 * (may be NULL) has it: "#6 main () at graphs.cu:17". */
void graph_node_origin(struct buf *out, struct session *s, struct sbt_reader *r,
	const struct state *now, const struct state_node *n);

/* --- graph-steps.c: a replay inside a graph launch --- */

/* NULL: the replay is not inside a graph launch. */
const struct graph_place *graph_place(const struct session *s);
/* Goes to right behind a step of graph launch seq; 0: before its first. Prints nothing. After the
 * last step the replay is at the launch. */
struct err *graph_go(struct session *s, uint64_t seq, uint32_t step, bool before) TS_CHECK;
/* Prints where the replay is, after graph_go() and after moves within the launch. stop->why: a
 * breakpoint or watchpoint with its number, or a step. */
void graph_tell(struct session *s, const struct replay_stop *stop, uint64_t seq, uint32_t step);
/* Appends "#214.3 count<<<...>>> stream 1" for the place, with the counts of steps. */
void graph_print_place(struct buf *out, const struct session *s, const struct graph_place *p);

/* The state right before command seq, and the command (with blobs cleared); the caller frees the
 * state. */
struct err *graph_launched(
	struct session *s, uint64_t seq, struct state **ret, struct sbt_cmd *ret_cmd) TS_CHECK;
/* Appends "#214.3 count<<<...>>> stream 1", or JSON. */
void graph_print_step(struct buf *out, const struct state *st, const struct sbt_cmd *launch,
	uint32_t number, const struct state_step *step, bool json);

/* Moves N steps, into graph launches, forwards or back. */
struct err *graph_run_steps(struct session *s, uint64_t n, bool backwards) TS_CHECK;
/* Leaves the launch, to its end or to before it; *ret_done false: the replay is not inside a
 * launch. */
struct err *graph_finish(struct session *s, bool backwards, bool *ret_done) TS_CHECK;
/* Goes to the next stop within the launch that the replay is inside; *ret_step steps are then done,
 * and ret->why is REPLAY_BREAKPOINT or REPLAY_WATCHPOINT. REPLAY_STEPPED: there is no such stop, or
 * no launch; the place is then forgotten, and the engine can go on from the launch in either
 * direction. */
struct err *graph_run(
	struct session *s, bool backwards, struct replay_stop *ret, uint32_t *ret_step) TS_CHECK;
/* The same for a whole launch that something stopped at. */
struct err *graph_look_in(struct session *s, uint64_t seq, bool backwards, struct replay_stop *ret,
	uint32_t *ret_step) TS_CHECK;
/* The last step of launch seq that changed bytes of the range; 0: no single step did. Moves the
 * device. */
struct err *graph_last_change(struct session *s, uint64_t seq, uint64_t addr, uint64_t size,
	uint32_t limit, uint32_t *ret) TS_CHECK;

#endif
