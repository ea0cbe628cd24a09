/* SPDX-License-Identifier: Apache-2.0
 *
 * A block: its warps' turns, from the start to the end or a deadlock. Warps begin light where
 * compiled code can take them from their first instruction: they get a stack and special registers
 * only when they need them.
 */
#include "softgpu/jit/jit.h"
#include "softgpu/insns/ptx-async.h"
#include "softgpu/machine/ptx-barrier.h"
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/machine/ptx-look.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-path.h"
#include "softgpu/machine/ptx-run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t total_shared(const struct ptx_function *fn, size_t dynamic)
{
	const size_t n = (fn->module_shared + 127) / 128 * 128 + fn->shared_bytes;

	return (n + 127) / 128 * 128 + dynamic;
}

static void start_warp(struct ptx_worker *wk, struct ptx_block *blk, unsigned id, unsigned threads)
{
	const struct ptx_function *fn = wk->l->fn;
	struct ptx_warp *w = &blk->warps[id];
	unsigned n = threads - id * PTX_LANES;

	w->wk = wk;
	w->blk = blk;
	w->id = id;
	w->live = w->all = n >= PTX_LANES ? PTX_FULL : (1u << n) - 1;
	w->state = WARP_RUN;
	w->cc = 0;
	w->count = w->returns = 0;
	w->nents = w->nframes = 0;
	if (w->nparked)
		ptx_path_reset(w);
	w->spun = 0;
	w->cl_arrived = w->cl_done = 0;
	ptx_async_start(w);
	if (w->inited == wk->launch_id && wk->first[w->all != PTX_FULL]) {
		w->cold = true; /* its frame is as the block before has left it; nothing more until
				   it needs more */
		w->nframes = 1;
		w->frame = w->regmem + fn->const_bytes;
		return;
	}
	w->cold = false;
	ptx_reserve_local(w, wk->stack_limit);
	ptx_push_frame(w, fn, NULL, w->live, 0, 0);
	if (w->inited != wk->launch_id) {
		memcpy(w->frame - fn->const_bytes, fn->const_image, fn->const_bytes);
		ptx_fill_specials(w, fn, false);
		w->inited = wk->launch_id;
	} else {
		ptx_fill_specials(w, fn, true);
	}
	if (fn->needs_zero || ptx_is_observed(w))
		memset(w->frame, 0, fn->reg_bytes);
}

void ptx_begin(struct ptx_worker *wk)
{
	const struct ptx_function *fn = wk->l->fn;

	wk->frees = mem_frees();
	memset(wk->cache, 0, sizeof(wk->cache));
	memset(wk->jit_range, 0, sizeof(wk->jit_range));
	wk->jit = !wk->watched && ptx_jit_wanted();
	wk->light = wk->jit && !fn->needs_zero && !fn->stack_bytes && !fn->recursive;
	for (unsigned k = 0; k < fn->nspecials;
		k++) /* of what changes from block to block, compiled code knows one */
		wk->light &=
			!ptx_special_varies(&fn->specials[k]) ||
			(fn->specials[k].sreg >= SR_ctaid_x && fn->specials[k].sreg <= SR_ctaid_z);
	wk->slice = PTX_SLICE;
	wk->slices = 0;
	wk->nprint = 0;
	ptx_async_reset(wk);
	wk->stack_limit = fn->stack_bytes;
	if (fn->recursive)
		wk->stack_limit += PTX_STACK_LIMIT;
	memset(&wk->fault, 0, sizeof(wk->fault));
}

void ptx_block_start(struct ptx_worker *wk, struct ptx_block *blk, uint64_t index)
{
	const struct ptx_launch *l = wk->l;
	unsigned threads = l->block[0] * l->block[1] * l->block[2];
	size_t shared = total_shared(l->fn, l->dynamic_shared), cap = blk->capwarps;
	unsigned old = blk->capwarps;
	uint64_t cluster;

	if (wk->stack_limit > PTX_LOCAL_LIMIT) {
		memset(&wk->fault, 0, sizeof(wk->fault));
		wk->fault.code = PTX_STACK_OVERFLOW;
		wk->fault.kernel = l->fn->name;
		snprintf(wk->fault.text, sizeof(wk->fault.text),
			"tsdb softgpu: stack overflow: kernel %.100s needs %zu bytes of local memory per thread",
			l->fn->name, wk->stack_limit);
		longjmp(wk->out, 1);
	}
	blk->index = index;
	blk->ctaid[0] = (uint32_t)(index % l->grid[0]);
	blk->ctaid[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
	blk->ctaid[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
	blk->live = threads;
	blk->self = blk;
	blk->own = (struct ptx_cluster){.blocks = &blk->self, .n = 1};
	blk->cluster = &blk->own;
	blk->rank = 0;
	if (l->cluster[0])
		ptx_cluster_of(l, blk->ctaid, &cluster, &blk->rank);
	ptx_run_first(wk);
	blk->nwarps = (threads + PTX_LANES - 1) / PTX_LANES;
	memset(blk->bar, 0, sizeof(blk->bar));
	if (shared > blk->shared_cap) {
		free(blk->shared);
		blk->shared = aligned_alloc(128, (shared + 127) / 128 * 128);
		blk->shared_cap = blk->shared ? shared : 0;
		if (!blk->shared)
			ptx_out_of_memory(wk);
	}
	blk->shared_size = shared;
	if (shared)
		memset(blk->shared, l->schedule.residue, shared);
	blk->warps = ptx_more(wk, blk->warps, &cap, blk->nwarps, sizeof(*blk->warps));
	blk->capwarps = (unsigned)cap;
	if (blk->capwarps > old)
		memset(&blk->warps[old], 0, (blk->capwarps - old) * sizeof(*blk->warps));
	for (unsigned k = 0; k < blk->nwarps; k++)
		start_warp(wk, blk, k, threads);
	if (wk->observer)
		ptx_observed_block(wk, blk, false);
}

void ptx_block_deadlock(struct ptx_block *blk)
{
	for (unsigned k = 0;; k++) {
		struct ptx_warp *w = &blk->warps[k];
		if (w->state != WARP_WAIT)
			continue;
		struct ptx_ent *e = &w->ents[w->nents - 1];
		bool lanes = e->state == ENT_WSYNC || e->state == ENT_SYNC;
		const struct ptx_insn *i =
			&w->frames[w->nframes - 1]
				 .fn->insns[e->state == ENT_SYNC ? e->pc : e->pc - 1];
		ptx_raise(w, i, (unsigned)__builtin_ctz(e->mask), PTX_TIMEOUT, 0, 0,
			lanes ? "lanes of the member mask can never come here"
			      : "a barrier that not all threads can reach: deadlock");
	}
}

/* Nothing runs. Lanes that only wait to meet others that wait at a barrier may go on. */
static bool break_free(struct ptx_block *blk)
{
	bool any = false;

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		if (w->state == WARP_WAIT && ptx_path_break(w)) {
			w->state = WARP_RUN;
			any = true;
		}
	}
	return any;
}

bool ptx_block_run(struct ptx_worker *wk, struct ptx_block *blk, bool may_yield)
{
	for (unsigned turn = 1;; turn++) {
		bool ran = false, left = false;
		ptx_look_poll(wk, blk);
		if (turn % 256 == 0)
			ptx_check(wk, blk);
		for (unsigned k = 0; k < blk->nwarps; k++) {
			struct ptx_warp *w = &blk->warps[k];
			if (w->state == WARP_RUN) {
				ptx_run_warp(w);
				ran = true;
			}
			left |= w->state != WARP_DONE;
		}
		if (!left) {
			if (wk->observer)
				ptx_observed_block(wk, blk, true);
			return true;
		}
		ptx_barrier_check(blk);
		ptx_cluster_check(blk->cluster);
		if (!ran) {
			bool any = false;
			for (unsigned k = 0; k < blk->nwarps; k++)
				any |= blk->warps[k].state == WARP_RUN;
			if (!any && !break_free(blk) && !ptx_cluster_waits(blk))
				ptx_block_deadlock(blk);
		}
		if (may_yield)
			return false;
	}
}

bool ptx_block_turn(struct ptx_worker *wk, struct ptx_block *blk, unsigned from)
{
	bool left = false, can = false;

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[(from + k) % blk->nwarps];
		if (w->state == WARP_RUN) {
			ptx_run_warp(w);
			break;
		}
	}
	ptx_barrier_check(blk);
	ptx_cluster_check(blk->cluster);
	for (unsigned k = 0; k < blk->nwarps; k++) {
		can |= blk->warps[k].state == WARP_RUN;
		left |= blk->warps[k].state != WARP_DONE;
	}
	if (left && !can && !break_free(blk) && !ptx_cluster_waits(blk))
		ptx_block_deadlock(blk);
	if (!left && wk->observer)
		ptx_observed_block(wk, blk, true);
	return !left;
}

void ptx_block_free(struct ptx_block *blk)
{
	for (unsigned k = 0; k < blk->capwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		free(w->ents);
		free(w->frames);
		ptx_path_reset(w);
		free(w->parked);
		free(w->regmem);
		free(w->local);
		ptx_async_free(w);
	}
	free(blk->warps);
	free(blk->shared);
	memset(blk, 0, sizeof(*blk));
}
