/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns what an instruction has (pointers of this process) into what observers get (spaces and
 * addresses in them).
 */
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-cluster.h"

static bool inside(uint64_t p, const void *base, uint64_t size)
{
	return p - (uint64_t)(uintptr_t)base < size;
}

/* The space that a lane's pointer is in, and its address there. */
static enum ptx_space space_of(const struct ptx_warp *w, unsigned lane, uint64_t p, uint64_t *ret)
{
	const uint8_t *local = w->local + lane * w->lstride;

	*ret = p;
	if (w->blk->shared_size && inside(p, w->blk->shared, w->blk->shared_size)) {
		*ret = p - (uint64_t)(uintptr_t)w->blk->shared;
		return SP_SHARED;
	}
	if (w->lstride && inside(p, local, w->lstride)) {
		*ret = p - (uint64_t)(uintptr_t)local;
		return SP_LOCAL;
	}
	if (w->wk->l->params && inside(p, w->wk->l->params, w->frames[0].fn->param_bytes)) {
		*ret = p - (uint64_t)(uintptr_t)w->wk->l->params;
		return SP_PARAM;
	}
	return ptx_cluster_has(w->blk->cluster, p) ? SP_SHCLUSTER : SP_GLOBAL;
}

void ptx_observed(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask,
	const uint64_t *pointer, unsigned size, enum ptx_access_kind kind,
	const uint8_t (*value)[PTX_OBSERVE_BYTES])
{
	struct ptx_access a = {.warp = w,
		.insn = i,
		.kind = kind,
		.size = size,
		.pointer = pointer,
		.value = value};
	uint32_t in[SP_SHCLUSTER + 1] = {0}; /* SP_SHCLUSTER, other blocks' shared memory, is not
					      * reported */

	EACH_LANE(l) in[space_of(w, l, pointer[l], &a.addr[l])] |= 1u << l;
	for (unsigned space = SP_GLOBAL; space <= SP_PARAM; space++) {
		a.space = (enum ptx_space)space;
		a.mask = in[space];
		for (const struct ptx_observer *o = w->wk->observer; o && a.mask; o = o->next)
			if (o->access)
				o->access(o->arg, &a);
	}
}

void ptx_observed_sync(struct ptx_warp *w, const struct ptx_insn *i, enum ptx_sync_kind kind,
	uint32_t mask, uint64_t id)
{
	const struct ptx_sync s = {w, i, kind, mask, id};

	for (const struct ptx_observer *o = w->wk->observer; o; o = o->next)
		if (o->sync)
			o->sync(o->arg, &s);
}

/* All are asked; one that wants the warp to give way is enough. */
enum ptx_step ptx_observed_step(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t pc)
{
	enum ptx_step ret = PTX_STEP_ON;

	if (!w->wk->turn) /* the runner sets it for the next warp */
		return PTX_STEP_YIELD;
	w->wk->turn -= w->wk->turn != UINT64_MAX;
	w->cur = i;
	w->curmask = mask;
	for (const struct ptx_observer *o = w->wk->observer; o; o = o->next)
		if (o->step && o->step(o->arg, w, pc) == PTX_STEP_YIELD)
			ret = PTX_STEP_YIELD;
	return ret;
}

void ptx_observed_return(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t pc)
{
	w->cur = i;
	w->curmask = mask;
	for (const struct ptx_observer *o = w->wk->observer; o; o = o->next)
		if (o->step)
			(void)o->step(o->arg, w, pc);
}

void ptx_observed_fault(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane)
{
	for (const struct ptx_observer *o = w->wk->observer; o; o = o->next)
		if (o->fault)
			o->fault(o->arg, w, i, lane, &w->wk->fault);
}

void ptx_observed_block(struct ptx_worker *wk, struct ptx_block *b, bool end)
{
	for (const struct ptx_observer *o = wk->observer; o; o = o->next)
		if (end ? o->block_end != NULL : o->block_start != NULL)
			(end ? o->block_end : o->block_start)(o->arg, b);
}
