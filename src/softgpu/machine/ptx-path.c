/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of a warp, see ptx-path.h. Registers are columns by lane, so two paths share a frame as
 * long as both are in that call; a frame that begins later lies behind those of all other paths.
 */
#include "softgpu/machine/ptx-path.h"
#include "softgpu/machine/ptx-run.h"

#include <stdlib.h>

void ptx_path_reset(struct ptx_warp *w)
{
	for (unsigned k = 0; k < w->nparked; k++) {
		free(w->parked[k].ents);
		free(w->parked[k].frames);
	}
	w->nparked = 0;
}

void ptx_path_swap(struct ptx_warp *w, unsigned k)
{
	struct ptx_path *p = &w->parked[k],
			old = {w->ents, w->nents, w->capents, w->frames, w->nframes, w->capframes};

	w->ents = p->ents;
	w->nents = p->nents;
	w->capents = p->capents;
	w->frames = p->frames;
	w->nframes = p->nframes;
	w->capframes = p->capframes;
	*p = old;
	ptx_enter_frame(w);
}

size_t ptx_path_regs(const struct ptx_warp *w, size_t at)
{
	for (unsigned k = 0; k < w->nparked; k++) {
		const struct ptx_frame *f = &w->parked[k].frames[w->parked[k].nframes - 1];
		size_t end = f->regs + f->fn->const_bytes + f->fn->reg_bytes;
		at = end > at ? end : at;
	}
	return at;
}

/* --- parting --- */
/* Entries without lanes go. */
static void keep_lanes(struct ptx_path *p, uint32_t mask)
{
	unsigned kept = 0, frame = 0;

	for (unsigned k = 0; k < p->nents; k++) {
		while (frame < p->nframes && p->frames[frame].base == k)
			p->frames[frame++].base = kept;
		p->ents[k].mask &= mask;
		if (p->ents[k].mask)
			p->ents[kept++] = p->ents[k];
	}
	while (frame < p->nframes)
		p->frames[frame++].base = kept;
	p->nents = kept;
	for (unsigned k = 0; k < p->nframes; k++)
		p->frames[k].mask &= mask;
}

/* The lanes of mask become a parked path of their own; false when there are no others. */
static bool split(struct ptx_warp *w, uint32_t mask)
{
	struct ptx_path now = {w->ents, w->nents, w->capents, w->frames, w->nframes, w->capframes},
			*p;
	uint32_t rest = 0;

	for (unsigned k = 0; k < w->nents; k++)
		rest |= w->ents[k].mask & ~mask;
	if (!rest)
		return false;
	w->parked = ptx_more(w->wk, w->parked, &w->capparked, w->nparked + 1, sizeof(*w->parked));
	p = &w->parked[w->nparked];
	*p = (struct ptx_path){malloc(w->nents * sizeof(*p->ents)), w->nents, w->nents,
		malloc(w->nframes * sizeof(*p->frames)), w->nframes, w->nframes};
	if (!p->ents || !p->frames) {
		free(p->ents);
		free(p->frames);
		ptx_out_of_memory(w->wk);
	}
	memcpy(p->ents, w->ents, w->nents * sizeof(*p->ents));
	memcpy(p->frames, w->frames, w->nframes * sizeof(*p->frames));
	w->nparked++;
	keep_lanes(p, mask);
	keep_lanes(&now, ~mask);
	w->nents = now.nents;
	return true;
}

/* --- joining --- */
static bool same_place(const struct ptx_path *a, const struct ptx_path *b)
{
	if (a->nents != b->nents || a->nframes != b->nframes)
		return false;
	for (unsigned k = 0; k < a->nframes; k++) {
		const struct ptx_frame *x = &a->frames[k], *y = &b->frames[k];
		if (x->fn != y->fn || x->base != y->base || x->lbase != y->lbase ||
			x->regs != y->regs || x->call != y->call)
			return false;
	}
	for (unsigned k = 0; k < a->nents; k++) {
		const struct ptx_ent *x = &a->ents[k], *y = &b->ents[k];
		if (x->pc != y->pc || x->rpc != y->rpc || x->state != y->state ||
			x->bar != y->bar || x->insn != y->insn)
			return false;
	}
	return true;
}

static void drop(struct ptx_warp *w, unsigned k)
{
	free(w->parked[k].ents);
	free(w->parked[k].frames);
	w->nparked--;
	memmove(&w->parked[k], &w->parked[k + 1], (w->nparked - k) * sizeof(*w->parked));
}

/* Joins parked path k to the current one, if both are at the same place. */
static bool join(struct ptx_warp *w, unsigned k)
{
	const struct ptx_path now = {w->ents, w->nents, w->capents, w->frames, w->nframes,
				      w->capframes},
			      *p = &w->parked[k];

	if (!w->nents || !same_place(&now, p))
		return false;
	for (unsigned n = 0; n < w->nents; n++) {
		w->ents[n].mask |= p->ents[n].mask;
		w->ents[n].want |= p->ents[n].want;
	}
	for (unsigned n = 0; n < w->nframes; n++)
		w->frames[n].mask |= p->frames[n].mask;
	drop(w, k);
	return true;
}

/* --- turns --- */
static bool ready(struct ptx_warp *w)
{
	struct ptx_ent *e;

	if (!ptx_settle(w))
		return false;
	e = &w->ents[w->nents - 1];
	if (e->state == ENT_SYNC && !(e->want & w->live & ~e->mask))
		e->state = ENT_RUN;
	return e->state == ENT_RUN || ptx_rotate(w);
}

/* The first parked path becomes the current one, which goes to the end unless it has ended. */
static void turn(struct ptx_warp *w)
{
	struct ptx_path last;

	ptx_path_swap(w, 0);
	last = w->parked[0];
	if (!last.nents) {
		drop(w, 0);
		return;
	}
	memmove(&w->parked[0], &w->parked[1], (w->nparked - 1) * sizeof(last));
	w->parked[w->nparked - 1] = last;
}

enum ptx_path_next ptx_path_next(struct ptx_warp *w)
{
	unsigned tries;

	for (unsigned k = 0; k < w->nparked;)
		k += join(w, k) ? 0 : 1;
	if (ready(w))
		return PATH_READY;
	for (tries = w->nparked; tries; tries--) {
		turn(w);
		for (unsigned k = 0; k < w->nparked;)
			k += join(w, k) ? 0 : 1;
		if (ready(w))
			return PATH_READY;
	}
	if (!w->nents && w->nparked)
		turn(w);
	return w->nents ? PATH_BLOCKED : PATH_ENDED;
}

void ptx_path_tired(struct ptx_warp *w)
{
	struct ptx_ent *e = w->nents ? &w->ents[w->nents - 1] : NULL;

	if (e && e->mask != w->live) {
		uint32_t alone = e->mask;
		if (split(w, alone)) { /* the others first; the tired ones are the last parked */
			ptx_path_next(w);
			return;
		}
		if (w->nparked) {
			turn(w);
			ptx_path_next(w);
		}
	}
}

bool ptx_path_break(struct ptx_warp *w)
{
	for (unsigned k = 0; k <= w->nparked; k++) {
		if (w->nents && split(w, w->ents[w->nents - 1].mask) &&
			ptx_path_next(w) == PATH_READY)
			return true;
		if (w->nparked)
			turn(w);
	}
	return false;
}

void ptx_path_wait(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t want)
{
	uint32_t pc = (uint32_t)(i - w->frames[w->nframes - 1].fn->insns);
	struct ptx_ent *e = ptx_part(w, mask, w->ents[w->nents - 1].mask, pc);

	e->pc = pc;
	e->state = ENT_SYNC;
	e->want = want;
	e->insn = NULL;
	split(w, mask);
	longjmp(w->wk->resume, 1);
}
