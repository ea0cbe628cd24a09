/* SPDX-License-Identifier: Apache-2.0
 *
 * The warp loop and the block scheduler, for the worker pool.
 */
#ifndef SOFTGPU_PTX_RUN_H
#define SOFTGPU_PTX_RUN_H

#include "softgpu/ptx-exec.h"

/* One worker's launch: wk->l, launch_id, start_ns and run are set. */
void ptx_begin(struct ptx_worker *wk);
/* Makes blk ready to run block number index of the grid. Raises by longjmp to wk->out. */
void ptx_block_start(struct ptx_worker *wk, struct ptx_block *blk, uint64_t index);
/* Runs until the block has ended (true) or, when may_yield, for one turn of every warp. */
bool ptx_block_run(struct ptx_worker *wk, struct ptx_block *blk, bool may_yield);
/* Raises when the launch is cancelled or its time is over. */
void ptx_check(struct ptx_worker *wk, struct ptx_block *blk);
void ptx_block_free(struct ptx_block *blk);
/* True when the launch is to stop. Asked now and then. */
bool ptx_should_stop(struct ptx_worker *wk, enum ptx_fault_code *code);

#endif
