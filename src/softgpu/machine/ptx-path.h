/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths: lanes of one warp that go on by themselves. The divergence stack makes lanes wait where
 * paths meet, which is fast, and wrong when the lanes that run wait for those that wait there: a
 * lock taken inside a warp, a flag, a shuffle whose other lanes come another way. Then the stack is
 * split into two complete ones with disjoint lanes, which run in turns and are joined again when
 * they reach the same place. "PTX ISA 9.0", 3.2 promises this progress for sm_70 and above.
 *
 * A warp has a current path (ents, frames) and parked ones; every lane that lives is in exactly
 * one.
 */
#ifndef SOFTGPU_PTX_PATH_H
#define SOFTGPU_PTX_PATH_H

#include "softgpu/machine/ptx-exec.h"

struct ptx_path {
	struct ptx_ent *ents;
	unsigned nents, capents;
	struct ptx_frame *frames;
	unsigned nframes, capframes;
};

enum ptx_path_next {
	PATH_READY,   /* the current path can run */
	PATH_BLOCKED, /* none can */
	PATH_ENDED,   /* all have ended */
};

/* Drops all but the current path, whose memory stays. */
void ptx_path_reset(struct ptx_warp *w);
/* Makes parked path k the current one and the other way round. */
void ptx_path_swap(struct ptx_warp *w, unsigned k);
/* Called when the current path cannot go on or has ended: joins paths at the same place and takes
 * the next one that can run. */
enum ptx_path_next ptx_path_next(struct ptx_warp *w);
/* Called when the top entry's lanes have run for long: gives a turn to the lanes that they may be
 * waiting for. */
void ptx_path_tired(struct ptx_warp *w);
/* Called when nothing in the block can run: lets lanes that only wait to meet blocked ones go on
 * alone. True when there are some. */
bool ptx_path_break(struct ptx_warp *w);
/* Where the registers of a new frame may begin: behind those of all paths. */
size_t ptx_path_regs(const struct ptx_warp *w, size_t at);
/* The lanes of mask, at a .sync instruction, wait for the other lanes of want: leaves the
 * instruction, which is begun anew later. */
_Noreturn void ptx_path_wait(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t want);

/* --- the divergence stack, ptx-run.c's --- */
bool ptx_settle(struct ptx_warp *w);
bool ptx_rotate(struct ptx_warp *w);
struct ptx_ent *ptx_part(struct ptx_warp *w, uint32_t m, uint32_t mask, uint32_t pc);

#endif
