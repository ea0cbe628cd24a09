/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks over the threads of a grid, for the race check: how much of every other thread
 * happened before one thread. They are small because knowledge comes in blocks: after a barrier one
 * number is enough for a whole block, and threads that know the same share one clock. A clock never
 * changes; a builder makes new ones. One launch, one thread.
 */
#ifndef SOFTGPU_PTX_CLOCK_H
#define SOFTGPU_PTX_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct ptx_times { /* of a block's threads */
	uint32_t refs, v[];
};
struct ptx_entry { /* of one block: thread t's time is the largest of floor, vec->v[t], and xclock
		      if t is xthread */
	uint64_t block;
	uint32_t floor, xthread, xclock;
	struct ptx_times *vec; /* or NULL */
};
/* Blocks that one clock knows of at most; beyond, it counts as knowing all (ptx_vc.all): races may
 * be missed, but none is wrongly reported. */
#define PTX_VC_BLOCKS 8192u
struct ptx_vc {
	uint32_t refs, n;
	bool all;
	struct ptx_entry e[]; /* by block */
};

/* Knows floor of block's threads and nothing else. NULL: no memory, as everywhere here; a NULL
 * clock knows all. */
struct ptx_vc *ptx_vc_new(uint64_t block, uint32_t floor);
struct ptx_vc *ptx_vc_ref(struct ptx_vc *c);
void ptx_vc_unref(struct ptx_vc *c);
const struct ptx_entry *ptx_vc_entry(const struct ptx_vc *c, uint64_t block);
bool ptx_vc_covers(const struct ptx_vc *c, uint64_t block, uint32_t thread, uint32_t clock);
/* c, and that thread at clock. */
struct ptx_vc *ptx_vc_with(
	const struct ptx_vc *c, unsigned nthreads, uint64_t block, uint32_t thread, uint32_t clock);
/* All that a or b know. Takes over the caller's reference to a. */
struct ptx_vc *ptx_vc_join(struct ptx_vc *a, struct ptx_vc *b, unsigned nthreads);

static inline uint32_t ptx_entry_at(const struct ptx_entry *e, uint32_t thread)
{
	uint32_t v = e->floor;

	if (e->vec && e->vec->v[thread] > v)
		v = e->vec->v[thread];
	return e->xthread == thread && e->xclock > v ? e->xclock : v;
}

struct ptx_built {
	uint64_t block;
	uint32_t floor;
	struct ptx_times *vec,
		*merged; /* vec: the builder's own; merged: the one that was merged last */
};
struct ptx_builder {
	struct ptx_built *e; /* by block */
	unsigned n, cap, nthreads;
	bool all;
};
void ptx_builder_begin(struct ptx_builder *b, unsigned nthreads);
void ptx_builder_add(struct ptx_builder *b, const struct ptx_vc *c);
void ptx_builder_point(struct ptx_builder *b, uint64_t block, uint32_t thread, uint32_t clock);
/* All of block's threads at floor at least, and no more is known of each. */
void ptx_builder_floor(struct ptx_builder *b, uint64_t block, uint32_t floor);
/* The clock; b is empty then. */
struct ptx_vc *ptx_builder_end(struct ptx_builder *b);

#endif
