/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of a ring (wire.h). The data is mapped twice in a row, so a record is always
 * contiguous.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "capture/wire.h"

struct ring {
	struct tsdb_ring *shared; /* NULL: the thread found no slot, so all its records are lost */
	uint8_t *data;		  /* 2 * bytes */
	uint32_t bytes;
	uint64_t head; /* the value of shared->head; this thread is its only writer */
	uint64_t tail; /* last value seen */
};

/* Takes a free slot and maps it. Returns 0 or -errno; after a failure the ring can be used, but
 * loses everything. */
int ring_open(struct ring *r);
void ring_close(struct ring *r);
/* Unmaps the ring's memory. */
void ring_unmap(struct ring *r);
/* ring_reserve() when the tail that was seen last leaves no room. */
void *ring_reserve_full(struct ring *r, uint32_t n, bool must);
/* Reserves n bytes (a multiple of 8, at most TSDB_RECORD_MAX). NULL: the record is lost; the caller
 * counts lost commands. When the ring is full, it waits as control.on_full says. must: wait even
 * under DROP, for records that later ones need (definitions). Every successful reserve is followed
 * by its commit, without a driver call in between. */
static inline void *ring_reserve(struct ring *r, uint32_t n, bool must)
{
	if (__builtin_expect(
		    r->shared && n <= TSDB_RECORD_MAX && r->bytes - (r->head - r->tail) >= n, 1))
		return r->data + (r->head & (r->bytes - 1));
	return ring_reserve_full(r, n, must);
}
static inline void ring_commit(struct ring *r, uint32_t n)
{
	r->head += n;
	atomic_store_explicit(&r->shared->head, r->head, memory_order_release);
}

#endif
