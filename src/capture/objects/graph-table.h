/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent remembers of graphs: which command made a node, and the nodes of executable
 * graphs, so that it can record their changes. CUDA forbids two threads to launch and change an
 * executable graph at the same time, so its table has no lock.
 */
#ifndef CAPTURE_GRAPH_TABLE_H
#define CAPTURE_GRAPH_TABLE_H

#include "capture/core/calls.h"

/* The command that made a node: a captured one, or a graph_add. */
struct graph_origin {
	uint64_t seq;
	uint32_t stack;
};
/* The origin of the node with this handle. NULL: not known. */
const struct graph_origin *graph_origin(uint64_t node);
void graph_note_origin(uint64_t node, const struct sbt_cmd *c);
/* The node is being destroyed, and its handle may be used again. */
void graph_forget_origin(uint64_t node);
/* c was captured into a graph, on its stream: records c as the origin of the node that this
 * made. */
void graph_note_captured(const struct call *c);

/* A node of an executable graph. */
struct graph_entry {
	uint64_t handle;	/* of the node it was made from */
	uint32_t graph, number; /* as recorded */
	uint32_t kernel;	/* id, or SBT_NO_ID */
	struct kernel *of;	/* the same; NULL: none */
	enum sbt_node type;
	bool disabled;
	uint32_t stack;
	uint64_t origin;
	uint32_t *deps;
	uint32_t ndeps;
	uint8_t *payload; /* packed; room bytes are there for it */
	uint32_t size, room;
};
/* A node that allocates memory, or frees it. */
struct graph_memory {
	uint64_t addr, size; /* size 0: it frees */
	struct graph_memory *next;
};
struct graph_table {
	struct graph_memory *memory; /* the last node first; NULL: none */
	struct graph_entry *entry;
	uint32_t n, nown;   /* nown: of the graph itself, not of child graphs */
	uint32_t cap, hint; /* hint: where to search first; changes mostly come in order */
	uint32_t ncopies;   /* that have a side in the host's memory */
	uint32_t nhost;	    /* host functions */
	bool opaque;	    /* some node cannot be described */
	struct graph_arena *arena;
};

/* Appends to the thread's pending table; deps and payload are copied. own: the node is in the graph
 * that is being instantiated, not in a child graph. */
void graph_table_add(struct thread *t, const struct graph_entry *e, bool own,
	const uint8_t *payload, size_t size);
/* The same for what a node allocates or frees (size 0), beside its entry. */
void graph_table_memory(struct thread *t, uint64_t addr, uint64_t size);
/* The executable graph of the pending table was made: keeps the table; or it was not: drops it. */
void graph_keep_pending(struct thread *t, uint32_t exec);
void graph_drop_pending(struct thread *t);
/* Replaces the executable graph's table; node handles stay as they were if the number of nodes is
 * the same. */
void graph_replace_table(struct thread *t, uint32_t exec);
struct graph_table *graph_table(uint32_t exec); /* NULL: none */
/* A graph that graph_snapshot() made is not used any more. */
void graph_end(struct thread *t, uint32_t id);
/* The executable graph was destroyed: drops its table and the graphs made for its child graphs. */
void graph_drop_table(struct thread *t, uint32_t exec);
struct graph_entry *graph_table_find(struct graph_table *t, uint64_t node);
/* Returns false if there was no memory for it. */
bool graph_table_set(
	struct graph_table *t, struct graph_entry *e, const uint8_t *payload, size_t size);
/* The i-th copy between device and host of the executable graph's nodes; returns false at the
 * end. */
bool graph_host_copy(uint32_t exec, uint32_t *i, struct sbt_cmd_copy *ret);
/* Whether it may call host functions. */
bool graph_calls_host(uint32_t exec);

#endif
