/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of executable graphs, whatever the driver. No driver describes the nodes of an executable
 * graph, so a change is taken from the parameters of a call that succeeded: first comes the command
 * (GRAPH_UPDATE), then records of the new nodes.
 *
 * One node: graph_change_enter() when the call begins; when it has ended, graph_change_node(), then
 * what the node does now goes into x.n, and graph_change_send().
 */
#ifndef CAPTURE_GRAPH_CHANGE_H
#define CAPTURE_GRAPH_CHANGE_H

#include "capture/objects/graph-publish.h"

struct graph_change {
	struct graph_table *t;
	struct graph_entry *e;
	struct call n;
};

/* For a graph from before the agent came, or of unknown origin, launches are recorded by their
 * effect or not at all: there is nothing to update. */
void graph_change_enter(struct call *c, uint64_t exec, uint64_t node);
/* The node that changes; false: the driver refused, or it is not known. */
bool graph_change_node(struct call *c, uint64_t node, struct graph_change *ret);
/* What the node did before; false: not known. */
bool graph_change_was(const struct graph_change *x, struct sbt_cmd *ret);
void graph_change_send(struct call *c, struct graph_change *x);

/* A child graph's node gets another graph. */
void graph_change_child_enter(struct call *c, uint64_t exec, uint64_t node, uint64_t child);
void graph_change_child(struct call *c, uint64_t node, uint64_t child);

/* The whole executable graph becomes like a graph. */
void graph_change_all_enter(struct call *c, uint64_t exec, uint64_t graph);
void graph_change_all(struct call *c, uint64_t graph);

#endif
