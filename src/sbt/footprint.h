/* SPDX-License-Identifier: Apache-2.0
 *
 * The footprint of a command: what it does, and which bytes its record says that it touches.
 * Checking, replay, races and recording all use these functions, so no two formulas can disagree.
 * Pure: no allocation, no I/O, no libc but string.h; it is also compiled into the agent.
 *
 * For drivers a pitch, a height or a slice of 0 means "without gaps". Only this file turns such a 0
 * into a number: a copy's descriptor and its extent are both made from struct sbt_rows.
 */
#ifndef SBT_FOOTPRINT_H
#define SBT_FOOTPRINT_H

#include "sbt/cmd.h"

/* depth slices of height rows of width bytes. As the functions below make it: all of width, height
 * and depth are 0, or none is; rows do not overlap; pitch is at least width; slice is a multiple of
 * pitch and at least pitch * height; the last byte has an address. */
struct sbt_rows {
	uint64_t addr;
	uint64_t width, height, depth;
	uint64_t pitch, slice; /* bytes from row to row, from slice to slice */
};

/* size bytes in a row. */
static inline struct sbt_rows sbt_rows_flat(uint64_t addr, uint64_t size)
{
	return (struct sbt_rows){addr, size, size != 0, size != 0, size, size};
}

/* Bytes from the first byte of the first row to the last byte of the last one; 0: no bytes. */
uint64_t sbt_rows_size(const struct sbt_rows *r);
/* Whether a byte of a row is among the n at addr. Bytes between rows are not. */
bool sbt_rows_meet(const struct sbt_rows *r, uint64_t addr, uint64_t n);

/* The rows of a copy's destination or source, and those of a fill. Returns NULL, or why they are
 * impossible, as the end of a sentence that begins with "its rows"; the record is damaged or forged
 * then, and *ret has no bytes. */
const char *sbt_rows_of_copy(struct sbt_rows *ret, const struct sbt_cmd_copy *u, bool dst);
const char *sbt_rows_of_fill(struct sbt_rows *ret, const struct sbt_cmd_fill *u);

/* One side of a copy as CUDA_MEMCPY2D and CUDA_MEMCPY3D describe it. */
struct sbt_side {
	uint64_t base;
	uint64_t x, y, z;	/* bytes, rows, slices into it */
	uint64_t pitch, height; /* 0: x and the copy's width, y and the copy's height: just as large
				   as is touched */
};
/* What 0 means was measured: tests/programs/pitches.cu, NVIDIA driver 580.159 on an H200. */
/* The address where that side begins, its pitch and its slice, as sbt_cmd_copy has them. width and
 * height: the copy's. Overflow wraps; the driver refuses such copies. */
void sbt_side_rows(const struct sbt_side *s, uint64_t width, uint64_t height, uint64_t *addr,
	uint64_t *pitch, uint64_t *slice);

/* Bytes that a record says are touched. */
struct sbt_touch {
	enum sbt_does how; /* one of SBT_READS, SBT_WRITES, SBT_UPDATES, SBT_ALLOCATES, SBT_FREES */
	bool host_side;	   /* may be memory of the program that no call allocated */
	struct sbt_rows rows; /* of SBT_FREES: one byte, in the allocation that ends */
};

struct sbt_footprint {
	unsigned does; /* enum sbt_does; with SBT_DOES_UNKNOWN the touches are not all */
	bool in_graph; /* of a graph's node */
	unsigned n;
	struct sbt_touch touch[2];
};

/* What c does. For a graph launch that is the launch itself, without its nodes: see
 * sbt_footprint_each(). A call that failed, or was captured into a graph, does nothing. */
void sbt_footprint(struct sbt_footprint *ret, const struct sbt_cmd *c);
/* What c does when it runs: for a call that was captured into a graph, what its node will do. */
void sbt_footprint_when_run(struct sbt_footprint *ret, const struct sbt_cmd *c);

/* A node of a graph, from the caller's table of graphs. */
struct sbt_footprint_node {
	enum sbt_node type; /* SBT_NODE_EMPTY of a node that launches leave out */
	struct sbt_blob payload;
};

struct sbt_footprint_walk {
	/* Node i of a graph; false: there is none. NULL: the caller has no table, and a graph
	 * launch may touch everything. */
	bool (*node)(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret);
	/* Called once for a command that is not a graph launch, else for each node that does
	 * something, in child graphs too. c: the node's command, or the launch when the node has
	 * none or is not known. */
	void (*found)(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f);
	void *arg;
};
/* Reports what c touches, node by node for a graph launch. The footprint has SBT_DOES_UNKNOWN for a
 * graph without nodes, for graphs nested without end, and for a node that cannot be read. */
void sbt_footprint_each(const struct sbt_cmd *c, const struct sbt_footprint_walk *w);

#endif
