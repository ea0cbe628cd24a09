/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs, as the driver describes them: makes records, and entries of the table of
 * objects/graph-table.h.
 */
#ifndef CAPTURE_GRAPH_NODES_H
#define CAPTURE_GRAPH_NODES_H

#include <cuda.h>
#include "capture/core/calls.h"
#include "capture/objects/graph-table.h"

/* Graph `to` is a copy of `from`: its nodes get the same origins. */
void graph_copy_origins(CUgraph from, CUgraph to);
/* The graph is being destroyed, and its nodes' handles may be used again. */
void graph_forget_origins(CUgraph graph);

uint32_t graph_id(struct thread *t, CUgraph handle); /* call-graph.c */
enum sbt_node graph_node_type(CUgraphNode node);
/* Records the graph's nodes, and its child graphs, under the id; they go into the thread's pending
 * table. Returns how many nodes the graph itself has. */
size_t graph_publish(struct call *c, CUgraph graph, uint32_t id);
/* Records the graph in its present form as a new graph; returns its id. */
uint32_t graph_snapshot(struct call *c, CUgraph child, unsigned depth);
/* Fills n->cmd with what a node does; kind 0: not known. */
void graph_kernel_payload(struct call *n, const CUDA_KERNEL_NODE_PARAMS *p);
void graph_copy_payload(struct call *n, const CUDA_MEMCPY3D *m);
void graph_fill_payload(struct call *n, const CUDA_MEMSET_NODE_PARAMS *p);
void graph_host_payload(struct call *n, CUhostFn fn, void *data);
void graph_event_payload(struct call *n, CUevent event, bool wait);
void graph_child_payload(struct call *n, uint32_t id);
/* Packs n->cmd, at most TSDB_RECORD_MAX bytes; 0: too large, or nothing to pack. */
size_t graph_pack(struct call *n, uint8_t *payload);
/* Sends the node's record. */
void graph_send_node(struct call *c, struct graph_entry *e, const struct call *n,
	const uint8_t *payload, size_t size);

#endif
