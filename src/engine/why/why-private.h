/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct why, for the files of this drawer.
 */
#ifndef ENGINE_WHY_WHY_PRIVATE_H
#define ENGINE_WHY_WHY_PRIVATE_H

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

#endif
