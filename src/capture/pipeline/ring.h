/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of a ring (wire.h). The data is mapped twice in a row, so a record is always contiguous.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdbool.h>
#include <stdint.h>
#include "capture/wire.h"

struct ring {
	struct tsdb_ring *shared; /* NULL: the thread found no slot, everything is lost */
	uint8_t *data;		  /* 2 * bytes */
	uint32_t bytes;
	uint64_t head; /* what shared->head holds; we are the only writer */
	uint64_t tail; /* last seen */
};

/* Takes a free slot and maps it. 0 or -errno; on failure the ring may be used and loses everything. */
int ring_open(struct ring *r);
void ring_close(struct ring *r);
/* The ring's memory is nobody's any more. */
void ring_unmap(struct ring *r);
/*
 * Room for n bytes (a multiple of 8, at most TSDB_RECORD_MAX), or NULL: lost; the caller counts what was a command. When the ring is full waits as
 * control.on_full says; must: waits even under DROP, for records without which later ones mean nothing (definitions).
 * Every reserve that succeeds is followed by its commit, with no driver call in between.
 */
void *ring_reserve(struct ring *r, uint32_t n, bool must);
void ring_commit(struct ring *r, uint32_t n);

#endif
