/* SPDX-License-Identifier: Apache-2.0
 *
 * The warp loop (ptx-run.c) and the turns of a block's warps (ptx-block.c), as the worker pool uses
 * them.
 */
#ifndef SOFTGPU_PTX_RUN_H
#define SOFTGPU_PTX_RUN_H

#include "softgpu/machine/ptx-exec.h"

/* One worker's launch: wk->l, launch_id, start_ns and run are set. */
void ptx_begin(struct ptx_worker *wk);
/* Makes blk ready to run block number index of the grid. Raises by longjmp to wk->out. */
void ptx_block_start(struct ptx_worker *wk, struct ptx_block *blk, uint64_t index);
/* Runs until the block has ended (true) or, when may_yield, for one turn of every warp. */
bool ptx_block_run(struct ptx_worker *wk, struct ptx_block *blk, bool may_yield);
/* A turn of one warp: the first that can run from number from on. True: the block has ended. */
bool ptx_block_turn(struct ptx_worker *wk, struct ptx_block *blk, unsigned from);
/* Raises when the launch is cancelled or its time is over. */
void ptx_check(struct ptx_worker *wk, struct ptx_block *blk);
/* Raises a fault because none of the block's warps can go on; it names where one of them waits. */
_Noreturn void ptx_block_deadlock(struct ptx_block *blk);
void ptx_block_free(struct ptx_block *blk);
/* True when the launch is to stop, for *code. Called now and then. */
bool ptx_should_stop(struct ptx_worker *wk, enum ptx_fault_code *code);

/* --- the loop (ptx-run.c), for blocks (ptx-block.c) --- */
#define PTX_SLICE 20000 /* backward branches and calls */
/* Runs the warp until it waits, ends or its slice is used up. */
void ptx_run_warp(struct ptx_warp *w);
/* Finds compiled code for a warp's very beginning, as far as there is any when a block begins. */
void ptx_run_first(struct ptx_worker *wk);
/* A new frame of fn for the lanes of mask, with a stack of its own; call: NULL for the kernel. */
void ptx_push_frame(struct ptx_warp *w, const struct ptx_function *fn, const struct ptx_call *call,
	uint32_t mask, size_t regs, uint32_t lbase);

/* --- frames (ptx-frame.c); without memory they end the launch --- */
_Noreturn void ptx_out_of_memory(struct ptx_worker *wk);
/* Returns p, grown to have room for `want` elements; *cap: how many there is room for. */
void *ptx_more(struct ptx_worker *wk, void *p, size_t *cap, size_t want, size_t elem);
/* Room for n bytes of registers from `at` on. The memory may move: ptx_enter_frame() after it. */
void ptx_reserve_regs(struct ptx_warp *w, size_t at, size_t n);
/* Local memory of per_lane bytes for each lane; what was there is lost. */
void ptx_reserve_local(struct ptx_warp *w, size_t per_lane);
/* Whether the special register differs between the blocks of a launch. */
bool ptx_special_varies(const struct ptx_special *s);
/* Writes the special registers that fn uses into their slots; block_only: only those that differ
 * from block to block. */
void ptx_fill_specials(struct ptx_warp *w, const struct ptx_function *fn, bool block_only);

static inline void ptx_enter_frame(struct ptx_warp *w)
{
	struct ptx_frame *f = &w->frames[w->nframes - 1];

	w->frame = w->regmem + f->regs + f->fn->const_bytes;
}

#endif
