/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block's threads (bar, barrier) and of a warp's lanes (bar.warp.sync): which threads
 * have arrived, and which go on. The entries of a warp's stack wait, not warps: lanes of one warp
 * may wait at two barriers.
 */
#include "softgpu/machine/ptx-barrier.h"

#include <string.h>
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-path.h"
#include "softgpu/machine/ptx-run.h"

void ptx_barrier_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	unsigned first = (unsigned)__builtin_ctz(mask), kind = i->cls, red = kind >= BAR_RED_POPC;
	bool has_b = red ? !i->vec : i->o[1] != NO_REG;
	uint32_t id = REG(u32a, red ? 1 : 0)[first],
		 need = has_b ? REG(u32a, red ? 2 : 1)[first] : 0, v;
	struct ptx_ent *e = &w->ents[w->nents - 1];
	struct ptx_barrier *b;

	if (id > 15)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0, "a barrier above 15");
	if (has_b && (!need || need % PTX_LANES))
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"a barrier for a number of threads that is not a multiple of 32");
	b = &w->blk->bar[id];
	if (!b->arrived) {
		b->kind = (enum ptx_bar_kind)kind;
		b->red = kind == BAR_RED_AND;
		b->need = need;
	}
	if (need != b->need)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"two numbers of threads for one barrier");
	/* with a count, a warp counts whole, however many of its threads live */
	b->arrived += need && mask == w->live ? PTX_LANES : (uint32_t)__builtin_popcount(mask);
	if (red) {
		int32_t slot = i->o[i->vec ? 2 : 3];
		v = *(u32a *)(w->frame + slot);
		v = (i->flags & F_NEG_SRC ? ~v : v) & mask;
		if (kind == BAR_RED_POPC)
			b->red += (uint32_t)__builtin_popcount(v);
		else if (kind == BAR_RED_AND)
			b->red &= v == mask;
		else
			b->red |= v != 0;
	}
	ptx_observe_sync(w, i, PTX_SYNC_ARRIVE, mask, id);
	e->pc = next;
	if (kind != BAR_ARRIVE) {
		e->state = ENT_BARRIER;
		e->bar = id;
		e->insn = red ? i : NULL;
	}
}

/* The result of bar.red, in the frame of the entry that waited, n-th of the stack. */
static void give_result(struct ptx_warp *w, unsigned n, uint32_t red)
{
	const struct ptx_insn *i = w->ents[n].insn;
	uint32_t mask = w->ents[n].mask;
	unsigned k = w->nframes - 1;

	while (w->frames[k].base > n)
		k--;
	w->frame = w->regmem + w->frames[k].regs + w->frames[k].fn->const_bytes;
	if (i->cls == BAR_RED_POPC) {
		EACH_LANE(l) REG(u32a, 0)[l] = red;
	} else {
		ptx_set_pred(&PRED(0), mask, red ? PTX_FULL : 0);
	}
	ptx_enter_frame(w);
}

static bool release_entry(struct ptx_warp *w, unsigned n, unsigned id, uint32_t red)
{
	struct ptx_ent *e = &w->ents[n];

	if (e->state != ENT_BARRIER || e->bar != id)
		return false;
	ptx_observe_sync(w, e->insn, PTX_SYNC_LEAVE, e->mask, id);
	if (e->insn)
		give_result(w, n, red);
	e->state = ENT_RUN;
	e->insn = NULL;
	return true;
}

static void release(struct ptx_block *blk, unsigned id)
{
	struct ptx_barrier *b = &blk->bar[id];

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		for (unsigned n = 0; w->state != WARP_DONE && n < w->nents; n++)
			w->wake |= release_entry(w, n, id, b->red);
		for (unsigned p = 0; w->state != WARP_DONE && p < w->nparked; p++) {
			ptx_path_swap(w, p);
			for (unsigned n = 0; n < w->nents; n++)
				w->wake |= release_entry(w, n, id, b->red);
			ptx_path_swap(w, p);
		}
		if (w->wake)
			w->state = WARP_RUN;
		w->wake = false;
	}
	ptx_observe_sync(&blk->warps[0], NULL, PTX_SYNC_RESET, 0, id);
	memset(b, 0, sizeof(*b));
}

void ptx_barrier_check(struct ptx_block *blk)
{
	for (unsigned k = 0; k < 16; k++) {
		struct ptx_barrier *b = &blk->bar[k];
		if (b->arrived && (b->need ? b->arrived >= b->need : b->arrived >= blk->live))
			release(blk, k);
	}
}

/* The lanes of the entries that wait at a bar.warp.sync among these. */
static uint32_t wsync_lanes(const struct ptx_ent *ents, unsigned n)
{
	uint32_t mask = 0;

	for (unsigned k = 0; k < n; k++)
		if (ents[k].state == ENT_WSYNC)
			mask |= ents[k].mask;
	return mask;
}

/* Releases the entries whose lanes are all here. told: lanes that were already reported to
 * observers. */
static void wsync_release(
	struct ptx_warp *w, struct ptx_ent *ents, unsigned n, uint32_t here, uint32_t *told)
{
	for (unsigned k = 0; k < n; k++) {
		uint32_t want = ents[k].want & w->live;
		if (ents[k].state != ENT_WSYNC || want & ~here)
			continue;
		ents[k].state = ENT_RUN;
		if (want & ~*told)
			ptx_observe_sync(w, NULL, PTX_SYNC_WARP, want, 0);
		*told |= want;
	}
}

void ptx_wsync_check(struct ptx_warp *w)
{
	uint32_t here = wsync_lanes(w->ents, w->nents), told = 0;

	for (unsigned k = 0; k < w->nparked; k++)
		here |= wsync_lanes(w->parked[k].ents, w->parked[k].nents);
	if (!here)
		return;
	wsync_release(w, w->ents, w->nents, here, &told);
	for (unsigned k = 0; k < w->nparked; k++)
		wsync_release(w, w->parked[k].ents, w->parked[k].nents, here, &told);
}

bool ptx_wsync(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t want = 0;

	EACH_LANE(l) want |= REG(u32a, 0)[l];
	if (mask & ~want)
		ptx_raise(w, i, (unsigned)__builtin_ctz(mask & ~want), PTX_ILLEGAL_INSTRUCTION, 0,
			0, "the lane is not in its own member mask");
	e->pc = next;
	e->state = ENT_WSYNC;
	e->want = want;
	ptx_wsync_check(w);
	return e->state == ENT_RUN;
}
