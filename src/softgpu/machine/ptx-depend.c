/* SPDX-License-Identifier: Apache-2.0
 *
 * griddepcontrol, see ptx-depend.h. A launch runs when those in front have finished, so neither
 * form does anything here for what is computed; where launches overlap (overlap.h), an observer
 * stops the warps at their wait.
 */
#include "softgpu/machine/ptx-depend.h"

void h_griddepcontrol(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	ptx_observe_sync(w, i, i->arg ? PTX_SYNC_GRID_WAIT : PTX_SYNC_GRID_TRIGGER, mask, 0);
}

bool ptx_is_grid_wait(const struct ptx_insn *i)
{
	return i->h == h_griddepcontrol && i->arg;
}

bool ptx_is_grid_trigger(const struct ptx_insn *i)
{
	return i->h == h_griddepcontrol && !i->arg;
}

static bool is_among(const uint64_t *list, unsigned n, uint64_t id)
{
	for (unsigned k = 0; k < n && k < PTX_DEPEND_OBJECTS; k++)
		if (list[k] == id)
			return true;
	return false;
}

static bool is_object(const struct ptx_depends *d, uint64_t id)
{
	return is_among(d->objects, d->nobjects, id);
}

static void publish(struct ptx_depends *d, uint64_t addr)
{
	if (!is_among(d->flags, d->nflags, addr))
		d->flags[d->nflags++ % PTX_DEPEND_OBJECTS] = addr;
}

static void see(struct ptx_warp *w, uint32_t lane, bool acquires)
{
	if (acquires)
		w->waited |= lane;
	else
		w->saw |= lane;
}

void ptx_depends_access(struct ptx_depends *d, const struct ptx_access *x)
{
	const unsigned order = x->insn->order;
	struct ptx_warp *w = x->warp;

	if (!d->waits || (x->kind != PTX_ATOMIC && !(order & ORDER_STRONG)))
		return;
	for (unsigned l = 0; l < PTX_LANES; l++) {
		const uint32_t lane = x->mask & 1u << l;

		if (lane && x->kind != PTX_WRITE && !(w->waited & lane) &&
			is_among(d->flags, d->nflags, x->addr[l]))
			see(w, lane, order & ORDER_ACQUIRE);
		else if (lane && x->kind != PTX_READ && w->waited & lane &&
			 (order & ORDER_RELEASE || w->published & lane))
			publish(d, x->addr[l]);
	}
}

static void fence(struct ptx_warp *w, unsigned order, uint32_t mask)
{
	w->waited |= order & ORDER_ACQUIRE ? w->saw & mask : 0;
	w->published |= order & ORDER_RELEASE ? w->waited & mask : 0;
}

void ptx_depends_sync(struct ptx_depends *d, const struct ptx_sync *s)
{
	struct ptx_warp *w = s->warp;
	struct ptx_depend *b = &w->blk->depend;
	const bool waited = w->waited & s->mask;

	switch (s->kind) {
	case PTX_SYNC_GRID_WAIT:
		w->waited |= s->mask;
		b->waited = d->waits = true;
		break;
	case PTX_SYNC_GRID_TRIGGER:
		d->triggers = true;
		b->hasty |= (s->mask & ~w->waited) != 0;
		break;
	case PTX_SYNC_ARRIVE:
		b->bars |= (uint32_t)waited << s->id % 16;
		break;
	case PTX_SYNC_LEAVE:
		w->waited |= b->bars >> s->id % 16 & 1 ? s->mask : 0;
		break;
	case PTX_SYNC_RESET:
		b->bars &= ~(1u << s->id % 16);
		break;
	case PTX_SYNC_WARP:
		w->waited |= waited ? s->mask : 0;
		break;
	case PTX_SYNC_RELEASE:
		if (waited && !is_object(d, s->id))
			d->objects[d->nobjects++ % PTX_DEPEND_OBJECTS] = s->id;
		break;
	case PTX_SYNC_ACQUIRE:
		w->waited |= is_object(d, s->id) ? s->mask : 0;
		break;
	case PTX_SYNC_FENCE:
		fence(w, s->insn->order, s->mask);
		break;
	}
}

void ptx_depends_block_start(struct ptx_depends *d, struct ptx_block *b)
{
	b->depend = (struct ptx_depend){0};
	d->old |= ptx_target(b->warps[0].wk->l->fn->m) < 90;
	d->nobjects = 0; /* shared memory is another block's now */
	for (unsigned k = 0; k < b->nwarps; k++)
		b->warps[k].waited = b->warps[k].published = b->warps[k].saw = 0;
}

void ptx_depends_block_end(struct ptx_depends *d, const struct ptx_block *b)
{
	d->trigger_waits |= b->depend.waited && !b->depend.hasty;
}
