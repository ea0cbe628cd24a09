/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct why, for the files of this drawer.
 */
#ifndef ENGINE_WHY_WHY_PRIVATE_H
#define ENGINE_WHY_WHY_PRIVATE_H

#include "base/buf.h"
#include "engine/why.h"

struct why_node_in {
	struct why_node is;
	uint32_t first, last; /* of its edges */
	uint32_t left;	      /* why_judge(): edges whose nodes have not been shown to go on */
	bool goes_on;
};

struct why_edge_in {
	struct why_edge is;
	uint32_t next; /* of the same node */
};

struct why {
	struct why_node_in *node;
	struct why_edge_in *edge;
	char **note;
	uint32_t nnodes, nodes_cap, nedges, edges_cap;
	unsigned nnotes, notes_cap;
	char *cure;
	struct why_progress progress;
};

/* --- why-words.c --- */
/* "wait_flag<<<1,32>>>" */
void why_put_launch(
	struct buf *b, const char *kernel, const uint64_t grid[3], const uint64_t block[3]);
/* "4 bytes at 0x302000000 (now 0)" */
void why_put_bytes(struct buf *b, unsigned bytes, uint64_t addr, uint64_t now);
/* "all 32 lanes at ", "1 lane at "; all: of the kernel. */
void why_put_lanes(struct buf *b, bool all, uint64_t lanes);

#endif
