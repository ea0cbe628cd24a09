/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as the user sees them: what a node does, in a line, and where it came from.
 */
#ifndef SHELL_GRAPH_H
#define SHELL_GRAPH_H

#include "shell/session.h"
#include "state/steps.h"

/* "count<<<(1,1,1), (32,1,1)>>>", "fill 4 bytes ...", "host function 0x...": without newline. */
void graph_node_text(struct buf *out, const struct state *st, const struct state_node *n);
/* The command that made the node, and the innermost frame of the program then, where r (may be NULL) has it: "#6 main () at graphs.cu:17". */
void graph_node_origin(struct buf *out, struct session *s, struct sbt_reader *r, const struct state_node *n);

#endif
