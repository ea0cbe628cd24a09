/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs, as the driver tells them, as records and for the table of objects/graph-table.h.
 */
#ifndef CAPTURE_GRAPH_NODES_H
#define CAPTURE_GRAPH_NODES_H

#include <cuda.h>
#include "capture/core/calls.h"
#include "capture/objects/graph-table.h"

/* to is a copy of from: its nodes come from where those of from do. */
void graph_copy_origins(CUgraph from, CUgraph to);
/* The graph is going, and its nodes' handles may come again. */
void graph_forget_origins(CUgraph graph);

uint32_t graph_id(struct thread *t, CUgraph handle); /* call-graph.c */
enum sbt_node graph_node_type(CUgraphNode node);
/* Records of the graph's nodes under the id, and of its child graphs; the thread's pending table has them. Returns how many it has itself. */
size_t graph_publish(struct call *c, CUgraph graph, uint32_t id);
/* The graph as it is now, as a graph of its own: its id. */
uint32_t graph_snapshot(struct call *c, CUgraph child, unsigned depth);
/* What a node does, into n->cmd; kind 0: cannot be told. */
void graph_kernel_payload(struct call *n, const CUDA_KERNEL_NODE_PARAMS *p);
void graph_copy_payload(struct call *n, const CUDA_MEMCPY3D *m);
void graph_fill_payload(struct call *n, const CUDA_MEMSET_NODE_PARAMS *p);
void graph_host_payload(struct call *n, CUhostFn fn, void *data);
void graph_event_payload(struct call *n, CUevent event, bool wait);
void graph_child_payload(struct call *n, uint32_t id);
/* n->cmd as bytes, at most TSDB_RECORD_MAX; 0: too large, or nothing. */
size_t graph_pack(struct call *n, uint8_t *payload);
/* The node as a record. */
void graph_send_node(struct call *c, struct graph_entry *e, const struct call *n, const uint8_t *payload, size_t size);

#endif
