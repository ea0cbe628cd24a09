/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks over the threads of a grid, for the race check: how much of every other thread
 * happened before one thread. They are small because knowledge comes in blocks: after a barrier one
 * number is enough for a whole block, and threads that know the same share one clock. A clock never
 * changes; a builder makes new ones. One launch, one thread.
 */
#ifndef SOFTCORE_VCLOCK_H
#define SOFTCORE_VCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct vclock_times { /* of a block's threads */
	uint32_t refs, v[];
};
struct vclock_entry { /* of one block: thread t's time is the largest of floor, vec->v[t], and
		      xclock if t is xthread */
	uint64_t block;
	uint32_t floor, xthread, xclock;
	struct vclock_times *vec; /* or NULL */
};
/* Blocks that one clock knows of at most; beyond, it counts as knowing all (vclock.all): races may
 * be missed, but none is wrongly reported. */
#define VCLOCK_BLOCKS 8192u
struct vclock {
	uint32_t refs, n;
	bool all;
	struct vclock_entry e[]; /* by block */
};

/* Knows floor of block's threads and nothing else. NULL: no memory, as everywhere here; a NULL
 * clock knows all. */
struct vclock *vclock_new(uint64_t block, uint32_t floor);
struct vclock *vclock_ref(struct vclock *c);
void vclock_unref(struct vclock *c);
const struct vclock_entry *vclock_entry(const struct vclock *c, uint64_t block);
bool vclock_covers(const struct vclock *c, uint64_t block, uint32_t thread, uint32_t clock);
/* c, and that thread at clock. */
struct vclock *vclock_with(
	const struct vclock *c, unsigned nthreads, uint64_t block, uint32_t thread, uint32_t clock);
/* All that a or b know. Takes over the caller's reference to a. */
struct vclock *vclock_join(struct vclock *a, struct vclock *b, unsigned nthreads);

static inline uint32_t vclock_entry_at(const struct vclock_entry *e, uint32_t thread)
{
	uint32_t v = e->floor;

	if (e->vec && e->vec->v[thread] > v)
		v = e->vec->v[thread];
	return e->xthread == thread && e->xclock > v ? e->xclock : v;
}

struct vclock_built {
	uint64_t block;
	uint32_t floor;
	struct vclock_times *vec,
		*merged; /* vec: the builder's own; merged: the one that was merged last */
};
struct vclock_builder {
	struct vclock_built *e; /* by block */
	unsigned n, cap, nthreads;
	bool all;
};
void vclock_builder_begin(struct vclock_builder *b, unsigned nthreads);
void vclock_builder_add(struct vclock_builder *b, const struct vclock *c);
void vclock_builder_point(
	struct vclock_builder *b, uint64_t block, uint32_t thread, uint32_t clock);
/* All of block's threads at floor at least, and no more is known of each. */
void vclock_builder_floor(struct vclock_builder *b, uint64_t block, uint32_t floor);
/* The clock; b is empty then. */
struct vclock *vclock_builder_end(struct vclock_builder *b);

#endif
