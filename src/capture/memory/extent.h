/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program's host side: a run of bytes, or rows with gaps, which count as zeros. It is read so that a wrong address is an
 * answer and not a crash in the agent.
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
/* Reads memory of this process. False: it is not there. */
bool host_read(uint64_t addr, void *dst, size_t n);

#endif
