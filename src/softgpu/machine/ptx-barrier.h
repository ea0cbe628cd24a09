/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers, see ptx-barrier.c.
 */
#ifndef SOFTGPU_PTX_BARRIER_H
#define SOFTGPU_PTX_BARRIER_H

#include "softgpu/machine/ptx-exec.h"

/* bar and its kin: the lanes of mask, the top entry's, have arrived. They wait unless they only arrive, and go on at next. */
void ptx_barrier_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next);
/* Lets go on who waits at a barrier that is complete. */
void ptx_barrier_check(struct ptx_block *blk);
/* bar.warp.sync: lanes on other paths come to one of their own. True when all are there. */
bool ptx_wsync(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next);
/* Lets go on who waited for lanes that are there now, or have ended. */
void ptx_wsync_check(struct ptx_warp *w);

#endif
