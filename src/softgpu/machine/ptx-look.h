/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at the kernels in flight (capture/soft-look.h). A worker that finds that a look is wanted
 * runs each warp of its block for a while by the interpreter, under an observer, and reports what
 * it saw. What the warps do is what they would have done anyway.
 */
#ifndef SOFTGPU_PTX_LOOK_H
#define SOFTGPU_PTX_LOOK_H

#include <stdatomic.h>
#include "capture/soft-look.h"
#include "softgpu/machine/ptx-exec.h"

/* A launch under way; it lives as long as ptx_run(). */
struct ptx_look_run {
	struct ptx_look_run *next;
	const struct ptx_launch *l;
	uint64_t nblocks;
	const atomic_uint_fast64_t *begun; /* units handed out */
	unsigned unit;			   /* blocks of one */
	bool all;			   /* all blocks run at the same time */
	uint64_t since_ns;
	_Atomic unsigned workers; /* that have a block */
	/* of the present look */
	uint32_t round;
	struct soft_look_kernel seen;
};

/* The number of the present look; 0: there is none. */
extern _Atomic uint32_t ptx_look_now;

void ptx_look_run_begin(struct ptx_look_run *r);
void ptx_look_run_end(struct ptx_look_run *r);
void ptx_look_at(struct ptx_worker *wk, struct ptx_block *blk, uint32_t round);
/* Fills in kernel, nkernels and cut; takes `ms` at most. */
void ptx_look(struct soft_look *ret, unsigned ms);

/* Called where the block's warps are between turns. */
static inline void ptx_look_poll(struct ptx_worker *wk, struct ptx_block *blk)
{
	const uint32_t now = atomic_load_explicit(&ptx_look_now, memory_order_relaxed);

	if (__builtin_expect(now && now != blk->looked, 0))
		ptx_look_at(wk, blk, now);
}

#endif
