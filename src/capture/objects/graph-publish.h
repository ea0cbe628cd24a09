/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs as records, and as entries of the table of graph-table.h, whatever the driver:
 * it describes graphs by struct graph_reader. Graphs and nodes are handles of the driver.
 */
#ifndef CAPTURE_GRAPH_PUBLISH_H
#define CAPTURE_GRAPH_PUBLISH_H

#include "capture/core/calls.h"
#include "capture/objects/graph-table.h"

/* What a driver tells of graphs; driver->graphs. Those that may be NULL say so. */
struct graph_reader {
	/* *n nodes at most; to NULL: asks how many there are. */
	bool (*nodes)(uint64_t graph, uint64_t *to, size_t *n);
	/* What the node depends on, *n at most. edges: GRAPH_EDGE_BYTES for each. *ret_early: it
	 * may begin before one of them has finished. */
	bool (*deps)(uint64_t node, uint64_t *to, void *edges, size_t *n, bool *ret_early);
	enum sbt_node (*type)(uint64_t node);
	/* Fills n->cmd with what the node does, and n->kernel; kind 0: not known. Not asked of
	 * child graphs. */
	void (*payload)(struct call *n, uint64_t node, enum sbt_node type);
	/* The graph of a child graph's node; 0: not known. */
	uint64_t (*child)(uint64_t node);
	/* What a node is that no command kind describes, for sentences. */
	const char *(*other)(uint64_t node);
	/* Notes memory that the node allocates or frees (graph_table_memory()). May be NULL. */
	void (*memory)(struct thread *t, uint64_t node);
	/* c was captured as the node; the second node is a copy of the first; the node is being
	 * destroyed. May be NULL: for a driver that does not tell all about its nodes. */
	void (*captured)(const struct call *c, uint64_t node);
	void (*copied)(uint64_t from, uint64_t to);
	void (*gone)(uint64_t node);
};
#define GRAPH_EDGE_BYTES 8

/* Graph `to` is a copy of `from`: its nodes get the same origins. */
void graph_copy_origins(uint64_t from, uint64_t to);
/* The graph is being destroyed, and its nodes' handles may be used again. */
void graph_forget_origins(uint64_t graph);

/* The graph's id; it is introduced (GRAPH_CREATE) if it is not known. */
uint32_t graph_id(struct thread *t, uint64_t graph);
/* Records the graph's nodes, and its child graphs, under the id; they go into the thread's pending
 * table. Returns how many nodes the graph itself has. */
size_t graph_publish(struct call *c, uint64_t graph, uint32_t id);
/* Records the graph in its present form as a new graph; returns its id. */
uint32_t graph_snapshot(struct call *c, uint64_t child, unsigned depth);
void graph_child_payload(struct call *n, uint32_t id);
/* Packs n->cmd, at most TSDB_RECORD_MAX bytes; 0: too large, or nothing to pack. */
size_t graph_pack(struct call *n, uint8_t *payload);
/* Sends the node's record. */
void graph_send_node(struct call *c, struct graph_entry *e, const struct call *n,
	const uint8_t *payload, size_t size);

/* ---- payloads that are the same everywhere ---- */
void graph_host_payload(struct call *n, uint64_t fn, uint64_t data);
void graph_event_payload(struct call *n, uint64_t event, bool wait);

/* ---- handlers' parts that are the same everywhere ---- */
/* A graph is instantiated: its nodes are recorded; the command says so. */
void graph_instantiate(struct call *c, uint64_t graph, uint64_t flags);
/* exec: its handle; 0: the driver refused. */
void graph_instantiated(struct call *c, uint64_t exec);
/* The executable graph of a launch: one from before the agent came is introduced, and its launches
 * are recorded by their effect, since no driver describes its nodes. */
void graph_launched(struct call *c, uint64_t exec);

#endif
