/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints graphs: what a node does, in one line, and which call made it.
 */
#ifndef SHELL_GRAPH_H
#define SHELL_GRAPH_H

#include "engine/graph-steps.h"
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

/* --- a replay inside a graph launch (graph-text.c) --- */

/* NULL: the replay is not inside a graph launch, or commands are not about it. */
const struct graph_place *graph_place(const struct session *s);
/* Prints where the replay is, after graph_go() and after moves within the launch. stop->why: a
 * breakpoint or watchpoint with its number, or a step; NULL: a step. */
void graph_tell(struct session *s, const struct replay_stop *stop, uint64_t seq, uint32_t step);
/* Appends "#214.3 count<<<...>>> stream 1" for the place, with the counts of steps. */
void graph_print_place(struct buf *out, const struct session *s, const struct graph_place *p);
/* Appends "#214.3 count<<<...>>> stream 1", or JSON. */
void graph_print_step(struct buf *out, const struct state *st, const struct sbt_cmd *launch,
	uint32_t number, const struct state_step *step, bool json);

#endif
