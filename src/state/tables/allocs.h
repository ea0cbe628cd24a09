/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of live allocations, sorted by address: a directory of leaves of up to ALLOC_LEAF rows.
 * Clones share a leaf until one of them writes, so cloning a state with a million allocations
 * copies the directory only.
 */
#ifndef STATE_ALLOCS_H
#define STATE_ALLOCS_H

#include "state/tables/vec.h"

#define ALLOC_LEAF 64

struct alloc {
	uint64_t addr, size, writer; /* the members that a launch uses, side by side */
	uint64_t pitch, seq;
	uint32_t device, ctx, stack;
	uint8_t mem;
	bool certain, before;
};

struct alloc_leaf {
	size_t refs;
	uint32_t n;
	uint64_t
		key[ALLOC_LEAF]; /* addr of each, apart, so that a search touches few cache lines */
	struct alloc a[ALLOC_LEAF];
};

struct alloc_dir {
	uint64_t first; /* key[0] of the leaf; a smaller address may only go into the first leaf */
	struct alloc_leaf *leaf;
};

/* Where an address was last found: leaf and row. It may be out of date; look-ups check it. */
struct alloc_hint {
	uint32_t leaf, row;
};

#define ALLOC_HINTS 8192

struct allocs {
	struct vec dir; /* of struct alloc_dir, never shared */
	size_t n;
	struct alloc_hint *hints; /* ALLOC_HINTS by hash of the address; NULL before the first
				     look-up; a clone begins without */
	/* where the last allocs_get() was: index of the leaf and number of the rows before it */
	size_t at_leaf, at_base;
};

void allocs_free(struct allocs *t);
/* After a struct copy: makes dst's own directory. */
void allocs_share(struct allocs *dst);
/* The one that holds addr, or NULL. */
const struct alloc *allocs_find(const struct allocs *t, uint64_t addr);
/* The same, for writing anything but addr and size. */
struct alloc *allocs_own(struct allocs *t, uint64_t addr);
/* Command seq may have written any of them. */
void allocs_doubt(struct allocs *t, uint64_t seq);
/* The first that begins at or after addr, or NULL. */
const struct alloc *allocs_next(const struct allocs *t, uint64_t addr);
/* a->size > 0 and a->addr + a->size does not wrap; must not overlap another one. */
void allocs_insert(struct allocs *t, const struct alloc *a);
/* Removes the one that begins at addr; false when there is none. */
bool allocs_remove(struct allocs *t, uint64_t addr);
/* The i-th in order of address; quick when i follows the last one asked for. */
const struct alloc *allocs_get(struct allocs *t, size_t i);
size_t allocs_bytes(const struct allocs *t);

#endif
