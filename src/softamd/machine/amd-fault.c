/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults: filled where they happen, then the worker leaves its loop.
 */
#include <stdarg.h>
#include <stdio.h>

#include "softamd/machine/amd-machine.h"

static void fill(
	struct amd_worker *wk, enum amd_fault_kind kind, const struct amd_wave *w, int lane)
{
	struct amd_fault *f = &wk->fault;

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->lane = lane;
	if (!w)
		return;
	f->pc = wk->at;
	f->entry = wk->l->entry;
	f->wave = w->index;
	memcpy(f->workgroup, w->group->id, sizeof(f->workgroup));
}

/* Leaves the worker's loop, once an observer has seen why. */
static _Noreturn void leave(struct amd_worker *wk, const struct amd_wave *w)
{
	const struct amd_observer *o = w ? w->group->observer : NULL;

	if (o && o->fault && wk->fault.kind != AMD_FAULT_CANCELLED &&
		wk->fault.kind != AMD_FAULT_STOPPED)
		o->fault(o->arg, w, &wk->fault);
	longjmp(wk->out, 1);
}

_Noreturn void amd_raise(struct amd_worker *wk, enum amd_fault_kind kind, const struct amd_wave *w,
	int lane, const char *format, ...)
{
	va_list ap;

	fill(wk, kind, w, lane);
	va_start(ap, format);
	vsnprintf(wk->fault.text, sizeof(wk->fault.text), format, ap);
	va_end(ap);
	leave(wk, w);
}

_Noreturn void amd_bad_address(
	struct amd_wave *w, unsigned lane, uint64_t address, unsigned size, bool write)
{
	struct amd_worker *wk = w->group->worker;

	fill(wk, AMD_FAULT_MEMORY, w, (int)lane);
	wk->fault.address = address;
	wk->fault.size = size;
	wk->fault.write = write;
	snprintf(wk->fault.text, sizeof(wk->fault.text),
		"%s of %u bytes at 0x%llx, which is not memory of this device",
		write ? "write" : "read", size, (unsigned long long)address);
	leave(wk, w);
}

_Noreturn void amd_refuse(struct amd_wave *w, const struct amd_op *o, const char *why)
{
	struct amd_worker *wk = w->group->worker;
	char text[160] = "?";

	if (o->row)
		gfx_text(wk->l->target, &o->i, text, sizeof(text));
	if (o->row && o->i.size == 8)
		amd_raise(wk, AMD_FAULT_REFUSED, w, -1, "%s (0x%08x 0x%08x): %s", text, o->word[0],
			o->word[1], why);
	if (o->row)
		amd_raise(wk, AMD_FAULT_REFUSED, w, -1, "%s (0x%08x): %s", text, o->word[0], why);
	amd_raise(wk, AMD_FAULT_REFUSED, w, -1, "word 0x%08x 0x%08x: %s", o->word[0], o->word[1],
		why);
}
