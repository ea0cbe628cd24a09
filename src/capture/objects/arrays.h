/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays, whose memory has no address: each is given one, from SBT_ARRAYS_BASE on (cmd.h), so
 * that it is memory to everything else. An address is given again only to an array of the same
 * size.
 */
#ifndef CAPTURE_ARRAYS_H
#define CAPTURE_ARRAYS_H

#include "capture/core/agent.h"
#include "sbt/cmd.h"

/* Never freed. Of a destroyed one the handle is 0. */
struct array {
	_Atomic uint64_t handle;
	uint64_t addr;
	uint64_t row, rows, slices; /* bytes a row; rows a slice; at least 1 */
	uint64_t format, channels, width, height, depth, flags; /* as they were asked for */
	uint32_t ctx;						/* id */
	_Atomic(struct array *) next;
};

static inline uint64_t array_bytes(const struct array *a)
{
	return a->row * a->rows * a->slices;
}

/* The array that was just created, of this shape. NULL: no memory, no address left, or a size that
 * no array has. */
const struct array *arrays_new(
	uint64_t handle, uint32_t ctx, const struct sbt_cmd_alloc *shape, unsigned channel_bytes);
/* NULL: it is not known. */
const struct array *arrays_by_handle(uint64_t handle);
/* The live one that has the byte at addr. NULL: there is none. */
const struct array *arrays_at(uint64_t addr);
/* It was destroyed; from here on its address may be given away. */
void arrays_gone(uint64_t handle);
void arrays_drop_ctx(uint32_t ctx);
void arrays_forget(void);

/* A part of a range of an array's bytes that a copy of the driver can have: whole rows of one
 * slice, whole slices, or a part of a row. */
struct array_box {
	uint64_t x, y, z;	       /* x in bytes */
	uint64_t width, height, depth; /* width in bytes */
};
/* The first such part of the n bytes from offset on, which are in the array; returns its bytes. */
uint64_t array_box(const struct array *a, uint64_t offset, uint64_t n, struct array_box *ret);

#endif
