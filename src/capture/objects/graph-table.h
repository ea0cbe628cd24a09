/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent remembers of graphs: which command made a node, and the nodes of executable graphs, so that it can tell their changes. An
 * executable graph must not be launched and changed by two threads at once, so its table has no lock.
 */
#ifndef CAPTURE_GRAPH_TABLE_H
#define CAPTURE_GRAPH_TABLE_H

#include "capture/core/calls.h"

/* The command that made a node: a captured one, or a graph_add. */
struct graph_origin {
	uint64_t seq;
	uint32_t stack;
};
/* node: its handle. NULL: not known. */
const struct graph_origin *graph_origin(uint64_t node);
void graph_note_origin(uint64_t node, const struct sbt_cmd *c);
/* The node is going, and its handle may come again. */
void graph_forget_origin(uint64_t node);
/* c was captured into a graph, on its stream: the node that this made comes from it. */
void graph_note_captured(const struct call *c);

/* A node of an executable graph. */
struct graph_entry {
	uint64_t handle; /* of the node it was made from */
	uint32_t graph, number; /* as recorded */
	uint32_t kernel; /* id, or SBT_NO_ID */
	struct kernel *of; /* the same; NULL: none */
	enum sbt_node type;
	bool disabled;
	uint32_t stack;
	uint64_t origin;
	uint32_t *deps;
	uint32_t ndeps;
	uint8_t *payload; /* packed; room bytes are there for it */
	uint32_t size, room;
};
struct graph_table {
	struct graph_entry *entry;
	uint32_t n, nown; /* nown: of the graph itself, not of child graphs */
	uint32_t cap, hint; /* hint: changes mostly come in order */
	uint32_t ncopies; /* with a side in the host's memory */
	uint32_t nhost;	  /* functions of the host's */
	bool opaque; /* some node is not described */
	struct graph_arena *arena;
};

/* Appends to the thread's pending table; deps and payload are copied. own: of the graph that is being instantiated, not of a child. */
void graph_table_add(struct thread *t, const struct graph_entry *e, bool own, const uint8_t *payload, size_t size);
/* What a pending table is for has come to be, or not. */
void graph_keep_pending(struct thread *t, uint32_t exec);
void graph_drop_pending(struct thread *t);
/* In place of the executable graph's table; node handles stay what they were where the number of nodes is the same. */
void graph_replace_table(struct thread *t, uint32_t exec);
struct graph_table *graph_table(uint32_t exec); /* NULL: none */
/* A graph that graph_snapshot() made is used no more. */
void graph_end(struct thread *t, uint32_t id);
/* The executable graph is gone, and the graphs made for its child graphs. */
void graph_drop_table(struct thread *t, uint32_t exec);
struct graph_entry *graph_table_find(struct graph_table *t, uint64_t node);
/* False: there was no memory for it. */
bool graph_table_set(struct graph_table *t, struct graph_entry *e, const uint8_t *payload, size_t size);
/* The i-th copy between device and host of the executable graph's nodes; false: there are no more. */
bool graph_host_copy(uint32_t exec, uint32_t *i, struct sbt_cmd_copy *ret);
/* Whether it may call functions of the host's. */
bool graph_calls_host(uint32_t exec);

#endif
