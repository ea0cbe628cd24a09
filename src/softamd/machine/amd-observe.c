/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls observers, and answers their questions about a wave.
 */
#include "softamd/machine/amd-observe.h"

#include "softamd/machine/amd-machine.h"

void amd_observed(struct amd_wave *w, unsigned lane, enum amd_space space, uint64_t address,
	const uint8_t *bytes, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;
	const struct amd_observer *o = wk->l->d->observer;
	bool vector = wk->op->row->enc >= GFX_FLAT;
	struct amd_access a = {.wave = w,
		.pc = wk->at,
		.kind = !write	     ? AMD_READ
			: wk->atomic ? AMD_READ_WRITE
				     : AMD_WRITE,
		.space = space,
		.lane = lane,
		.address = address,
		.bytes = bytes,
		.size = size,
		.coherent = space == AMD_MEMORY && vector && (wk->op->i.glc || wk->op->i.scc) &&
			    (!write || wk->atomic),
		.insn = wk->op->row->name};

	if (o->access)
		o->access(o->arg, &a);
}

void amd_observed_sync(struct amd_wave *w, enum amd_sync_kind kind)
{
	const struct amd_observer *o = w->group->observer;

	if (o->sync)
		o->sync(o->arg, w, kind);
}

void amd_wave_place(const struct amd_wave *w, uint32_t group[3], uint32_t *index)
{
	memcpy(group, w->group->id, sizeof(w->group->id));
	*index = w->index;
}

uint64_t amd_wave_exec(const struct amd_wave *w)
{
	return amd_exec(w);
}
