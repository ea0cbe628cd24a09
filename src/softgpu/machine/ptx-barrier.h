/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block's threads and of a warp's lanes; ptx-barrier.c says how they work.
 */
#ifndef SOFTGPU_PTX_BARRIER_H
#define SOFTGPU_PTX_BARRIER_H

#include "softgpu/machine/ptx-exec.h"

/* bar and its kin: the lanes of mask, the top entry's, have arrived. They wait unless they only
 * arrive, and go on at next. */
void ptx_barrier_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next);
/* Releases the lanes that wait at barriers that are complete. */
void ptx_barrier_check(struct ptx_block *blk);
/* bar.warp.sync: lanes on other paths come to one of their own. True when all are there. */
bool ptx_wsync(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next);
/* Releases the lanes whose missing lanes have come, or have ended. */
void ptx_wsync_check(struct ptx_warp *w);

#endif
