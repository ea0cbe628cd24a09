/* SPDX-License-Identifier: Apache-2.0
 *
 * griddepcontrol, see ptx-depend.h. A launch runs when those in front have finished, so neither form does anything here for what is computed;
 * where launches overlap (overlap.h), an observer stops the warps at their wait.
 */
#include "softgpu/ptx-depend.h"

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

static bool is_object(const struct ptx_depends *d, uint64_t id)
{
	const unsigned n = d->nobjects < PTX_DEPEND_OBJECTS ? d->nobjects : PTX_DEPEND_OBJECTS;

	for (unsigned k = 0; k < n; k++)
		if (d->objects[k] == id)
			return true;
	return false;
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
		break;
	}
}

void ptx_depends_block_start(struct ptx_depends *d, struct ptx_block *b)
{
	b->depend = (struct ptx_depend){0};
	d->old |= ptx_target(b->warps[0].wk->l->fn->m) < 90;
	d->nobjects = 0; /* shared memory is another block's now */
	for (unsigned k = 0; k < b->nwarps; k++)
		b->warps[k].waited = 0;
}

void ptx_depends_block_end(struct ptx_depends *d, const struct ptx_block *b)
{
	d->trigger_waits |= b->depend.waited && !b->depend.hasty;
}
