/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs, as CUDA's driver describes them.
 */
#ifndef CAPTURE_GRAPH_NODES_H
#define CAPTURE_GRAPH_NODES_H

#include <cuda.h>
#include "capture/objects/graph-publish.h"

extern const struct graph_reader graph_reader_cuda;

enum sbt_node graph_node_type(CUgraphNode node);
/* Fills n->cmd with what a node does; kind 0: not known. */
void graph_kernel_payload(struct call *n, const CUDA_KERNEL_NODE_PARAMS *p);
void graph_copy_payload(struct call *n, const CUDA_MEMCPY3D *m);
void graph_fill_payload(struct call *n, const CUDA_MEMSET_NODE_PARAMS *p);

#endif
