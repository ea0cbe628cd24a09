/* SPDX-License-Identifier: Apache-2.0
 *
 * The free places of a range of addresses, private to mem.c, under whose lock all of this is
 * called.
 */
#ifndef SOFTGPU_MEM_EXTENTS_H
#define SOFTGPU_MEM_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

/* A free part of a region, sorted by address, never touching its neighbour. */
struct extent {
	uint64_t start, end;
};

struct region {
	struct extent *extents;
	uint32_t n, most;
	uint64_t base, end;
};

/* Each takes size bytes at a multiple of align, a power of two; false: there is no such place, or
 * the table is full. */
/* First fit by address: the lowest place that holds them. */
bool extent_take(struct region *r, uint64_t size, uint64_t align, struct extent *ret);
/* The highest place. */
bool extent_take_high(struct region *r, uint64_t size, uint64_t align, struct extent *ret);
/* This place, if it is free. */
bool extent_take_at(struct region *r, uint64_t start, uint64_t size);
/* Gives x back, joined with its neighbours; returns the joined extent. */
struct extent extent_give(struct region *r, struct extent x);

#endif
