/* SPDX-License-Identifier: Apache-2.0
 *
 * From addresses to bytes: the process's memory by the device's extents, LDS, scratch.
 */
#include "softamd/machine/amd-machine.h"

static inline bool holds(const struct amd_extent *e, uint64_t address, unsigned size, bool write)
{
	return address >= e->start && address < e->end && size <= e->end - address &&
	       (e->write || !write);
}

static void forget(struct amd_worker *wk)
{
	const uint64_t *changes = wk->l->d->memory->changes;

	if (!changes)
		return;
	if (__atomic_load_n(changes, __ATOMIC_ACQUIRE) != wk->changes) {
		wk->changes = __atomic_load_n(changes, __ATOMIC_ACQUIRE);
		wk->nextents = 0;
	}
}

static uint8_t *look_up(
	struct amd_wave *w, unsigned lane, uint64_t address, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;
	const struct amd_memory *m = wk->l->d->memory;
	struct amd_extent e;

	for (unsigned k = 1; k < wk->nextents; k++)
		if (holds(&wk->extents[k], address, size, write)) {
			e = wk->extents[k];
			wk->extents[k] = wk->extents[0];
			wk->extents[0] = e;
			return (uint8_t *)(uintptr_t)address; /* NOLINT */
		}
	if (!m->find(m->arg, address, &e) || !holds(&e, address, size, write))
		amd_bad_address(w, lane, address, size, write);
	if (wk->nextents < AMD_EXTENTS)
		wk->nextents++;
	memmove(wk->extents + 1, wk->extents, (wk->nextents - 1) * sizeof(e));
	wk->extents[0] = e;
	return (uint8_t *)(uintptr_t)address;
}

uint8_t *amd_global(struct amd_wave *w, unsigned lane, uint64_t address, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;
	uint8_t *p = (uint8_t *)(uintptr_t)address;

	forget(wk);
	if (!wk->nextents || !holds(&wk->extents[0], address, size, write))
		p = look_up(w, lane, address, size, write);
	if (amd_is_observed(w))
		amd_observed(w, lane, AMD_MEMORY, address, p, size, write);
	return p;
}

uint8_t *amd_lds(struct amd_wave *w, unsigned lane, uint64_t offset, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;

	if (offset + size > wk->l->lds_bytes || offset + size < offset)
		amd_raise(wk, AMD_FAULT_BOUNDS, w, (int)lane,
			"%s of %u bytes at LDS offset 0x%llx; the workgroup has %u bytes",
			write ? "write" : "read", size, (unsigned long long)offset,
			wk->l->lds_bytes);
	if (amd_is_observed(w))
		amd_observed(w, lane, AMD_LDS, offset, w->group->lds + offset, size, write);
	return w->group->lds + offset;
}

uint8_t *amd_private(struct amd_wave *w, unsigned lane, uint64_t offset, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;
	uint8_t *p;

	if (offset + size > wk->l->private_bytes || offset + size < offset)
		amd_raise(wk, AMD_FAULT_BOUNDS, w, (int)lane,
			"%s of %u bytes at private offset 0x%llx; a lane has %u bytes",
			write ? "write" : "read", size, (unsigned long long)offset,
			wk->l->private_bytes);
	p = w->scratch + (offset / 4 * AMD_LANES + lane) * 4 + offset % 4;
	if (amd_is_observed(w))
		amd_observed(w, lane, AMD_PRIVATE, offset, p, size, write);
	return p;
}
