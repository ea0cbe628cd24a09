/* SPDX-License-Identifier: Apache-2.0
 *
 * What a warp's functions work with: frames of registers, local memory, and the values of special
 * registers.
 */
#include "softgpu/machine/ptx-run.h"
#include "softgpu/machine/ptx-cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- memory --- */
void ptx_out_of_memory(struct ptx_worker *wk)
{
	memset(&wk->fault, 0, sizeof(wk->fault));
	wk->fault.code = PTX_STACK_OVERFLOW;
	wk->fault.kernel = wk->l->fn->name;
	snprintf(wk->fault.text, sizeof(wk->fault.text),
		"tsdb softgpu: kernel %.100s: the host has no memory for its warps",
		wk->l->fn->name);
	longjmp(wk->out, 1);
}

void *ptx_more(struct ptx_worker *wk, void *p, size_t *cap, size_t want, size_t elem)
{
	size_t n = *cap ? *cap : 8;

	if (want <= *cap)
		return p;
	while (n < want)
		n *= 2;
	p = realloc(p, n * elem);
	if (!p)
		ptx_out_of_memory(wk);
	*cap = n;
	return p;
}

/* --- frames --- */
uint64_t ptx_clock(const struct ptx_warp *w, unsigned sreg)
{
	uint64_t cycles = 1000 + 4 * w->count;
	uint64_t hz = w->wk->l->clock_hz ? w->wk->l->clock_hz : 1000000000;
	uint64_t ns = w->wk->start_ns + (uint64_t)((double)cycles * 1e9 / (double)hz);

	switch (sreg) {
	case SR_clock_hi:
		return cycles >> 32;
	case SR_globaltimer:
	case SR_globaltimer_lo:
		return ns;
	case SR_globaltimer_hi:
		return ns >> 32;
	default:
		return cycles;
	}
}

uint64_t ptx_special_value(const struct ptx_warp *w, const struct ptx_special *s, unsigned lane)
{
	const struct ptx_launch *l = w->wk->l;
	const struct ptx_block *b = w->blk;
	unsigned t[3];

	switch (s->sreg) {
	case SR_tid_x:
	case SR_tid_y:
	case SR_tid_z:
		ptx_thread_of(w, lane, t);
		return t[s->sreg - SR_tid_x];
	case SR_ntid_x:
	case SR_ntid_y:
	case SR_ntid_z:
		return l->block[s->sreg - SR_ntid_x];
	case SR_ctaid_x:
	case SR_ctaid_y:
	case SR_ctaid_z:
		return b->ctaid[s->sreg - SR_ctaid_x];
	case SR_nctaid_x:
	case SR_nctaid_y:
	case SR_nctaid_z:
		return l->grid[s->sreg - SR_nctaid_x];
	case SR_laneid:
		return lane;
	case SR_warpid:
		return w->id;
	case SR_nwarpid:
		return b->nwarps;
	case SR_smid: /* a block's, so it does not depend on the worker */
		return b->index % 16;
	case SR_nsmid:
		return 16;
	case SR_lanemask_eq:
		return 1u << lane;
	case SR_lanemask_le:
		return (2u << lane) - 1;
	case SR_lanemask_lt:
		return (1u << lane) - 1;
	case SR_lanemask_ge:
		return ~((1u << lane) - 1);
	case SR_lanemask_gt:
		return ~((2u << lane) - 1);
	case SR_dynamic_smem_size:
		return l->dynamic_shared;
	case SR_total_smem_size:
	case SR_aggr_smem_size:
		return b->shared_size;
	case SR_envreg1:
		return l->grid_workspace >> 32;
	case SR_envreg2:
		return l->grid_workspace;
	case SR_clusterid_x ... SR_is_explicit_cluster:
		return ptx_cluster_special(w, s->sreg);
	case SR_WARP_SZ:
		return PTX_LANES;
	case SR_dyn_shared:
		return b->shared_size - l->dynamic_shared + s->add;
	case SR_local_sym:
		return w->frames[w->nframes - 1].lbase + s->add;
	default:
		return 0;
	}
}

bool ptx_special_varies(const struct ptx_special *s)
{
	return (s->sreg >= SR_ctaid_x && s->sreg <= SR_ctaid_z) || s->sreg == SR_smid ||
	       (s->sreg >= SR_clusterid_x && s->sreg <= SR_cluster_nctarank);
}

static bool differs_by_lane(unsigned sreg)
{
	return sreg <= SR_tid_z || sreg == SR_laneid ||
	       (sreg >= SR_lanemask_eq && sreg <= SR_lanemask_gt);
}

static void fill_special(struct ptx_warp *w, const struct ptx_special *s)
{
	bool differs = differs_by_lane(s->sreg);
	uint64_t v = ptx_special_value(w, s, 0);

	for (unsigned l = 0; l < PTX_LANES; l++) {
		if (differs)
			v = ptx_special_value(w, s, l);
		if (s->width == 8)
			REG_AT(u64a, s->off)[l] = v;
		else
			REG_AT(u32a, s->off)[l] = (uint32_t)v;
	}
}

void ptx_fill_specials(struct ptx_warp *w, const struct ptx_function *fn, bool block_only)
{
	for (unsigned k = 0; k < fn->nspecials; k++) {
		const struct ptx_special *s = &fn->specials[k];
		if (block_only && !ptx_special_varies(s))
			continue;
		if (!s->width) /* a predicate */
			*REG_AT(u32a, s->off) = ptx_special_value(w, s, 0) ? PTX_FULL : 0;
		else
			fill_special(w, s);
	}
}

/* Room for n bytes of registers from `at` on; the frame pointer is set anew, as the memory may
 * move. */
void ptx_reserve_regs(struct ptx_warp *w, size_t at, size_t n)
{
	uint8_t *p;
	size_t cap = w->regcap ? w->regcap : 4096;

	if (at + n <= w->regcap)
		return;
	while (cap < at + n)
		cap *= 2;
	p = aligned_alloc(128, cap);
	if (!p)
		ptx_out_of_memory(w->wk);
	if (w->regmem)
		memcpy(p, w->regmem, w->regcap);
	free(w->regmem);
	w->regmem = p;
	w->regcap = cap;
}

void ptx_reserve_local(struct ptx_warp *w, size_t per_lane)
{
	size_t stride = (per_lane + 15) & ~(size_t)15;

	w->lstride = stride;
	if (stride * PTX_LANES > w->localcap) {
		free(w->local);
		w->localcap = stride * PTX_LANES;
		w->local = malloc(w->localcap);
		if (!w->local) {
			w->localcap = 0;
			ptx_out_of_memory(w->wk);
		}
	}
}
