/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program on the host: a run of bytes, or rows with gaps, which count as zeros.
 * Reading a wrong address returns an error and does not crash the agent.
 */
#ifndef CAPTURE_EXTENT_H
#define CAPTURE_EXTENT_H

#include "capture/core/agent.h"
#include "sbt/footprint.h"
#include "sbt/pagehash.h"

/* A bulk_fill_fn; arg: struct sbt_rows. */
bool extent_read(void *arg, uint64_t offset, void *dst, size_t n);
/* page: SBT_PAGE bytes to work in. */
bool extent_hash(struct sbt_rows *e, uint8_t *page, struct sbt_hash *ret);
/* Reads memory of this process. Returns false if it is not mapped. */
bool host_read(uint64_t addr, void *dst, size_t n);

#endif
