/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program's host side: a run of bytes, or rows with gaps, which count as zeros. It is read so that a wrong address is an
 * answer and not a crash in the agent.
 */
#ifndef CAPTURE_EXTENT_H
#define CAPTURE_EXTENT_H

#include "capture/agent.h"
#include "sbt/pagehash.h"

struct extent {
	uint64_t addr;
	uint64_t width, height, depth; /* bytes, rows, slices */
	uint64_t pitch, slice;
};

static inline struct extent extent_plain(uint64_t addr, uint64_t size)
{
	return (struct extent){ addr, size, 1, 1, size, size };
}
/* Bytes from the first to the last. */
uint64_t extent_size(const struct extent *e);
/* A bulk_fill_fn; arg: struct extent. */
bool extent_read(void *arg, uint64_t offset, void *dst, size_t n);
/* page: SBT_PAGE bytes to work in. */
bool extent_hash(struct extent *e, uint8_t *page, struct sbt_hash *ret);
/* Reads memory of this process. False: it is not there. */
bool host_read(uint64_t addr, void *dst, size_t n);

#endif
