/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fault says: one line with the kernel, the thread, the line of the PTX text and the access.
 */
#include "softgpu/machine/ptx-bounds.h"
#include "base/first-where.h"
#include "softgpu/watch/ptx-observe.h"

#include <stdio.h>

void ptx_thread_of(const struct ptx_warp *w, unsigned lane, unsigned ret[3])
{
	const unsigned *b = w->wk->l->block;
	unsigned t = w->id * PTX_LANES + lane;

	ret[0] = t % b[0];
	ret[1] = t / b[0] % b[1];
	ret[2] = t / b[0] / b[1];
}

/* "; the nearest allocation is 0x...+1024", looking further and further away. */
static void describe_near(const struct ptx_warp *w, uint64_t a, char *buf, size_t n)
{
	const struct mem_range *own = mem_find(a);

	buf[0] = 0;
	if (!own && mem_was_freed(a)) {
		snprintf(buf, n, "; the program freed this memory while the kernel ran");
		return;
	}
	if (own && own->devices && w->wk->l->devices && !(own->devices & w->wk->l->devices)) {
		snprintf(buf, n,
			"; this is memory of device %u, to which peer access is not enabled",
			own->dev);
		return;
	}
	for (uint64_t d = 1; d <= 1ull << 32; d *= 2)
		for (int side = 0; side < 2; side++) {
			const uint64_t at = side ? a + d : a - d;
			const struct mem_range *r = mem_find(at);
			uint64_t start = r ? r->start : 0, end = r ? r->end : 0;

			if (r && (r->kind != MEM_MAPPED || ptx_bounds_cut(at, &start, &end))) {
				snprintf(buf, n, "; the nearest allocation is %#llx+%llu",
					(unsigned long long)start,
					(unsigned long long)(end - start));
				return;
			}
		}
}

const char *ptx_source_of(
	const struct ptx_function *fn, const struct ptx_insn *i, unsigned *ret_line)
{
	const uint32_t pc = (uint32_t)(i - fn->insns);
	const unsigned at = FIRST_WHERE(
		fn->nlocs, k, fn->locs[k].pc > pc); /* behind the last .loc at or before pc */

	for (unsigned k = 0; at && k < fn->m->nfiles; k++)
		if (fn->m->files[k].number == fn->locs[at - 1].file) {
			*ret_line = fn->locs[at - 1].line;
			return fn->m->files[k].name;
		}
	return NULL;
}

/* Of the innermost function that the instruction is in. */
static void fill_source(struct ptx_fault *f, const struct ptx_warp *w, const struct ptx_insn *i)
{
	for (unsigned k = w->nframes; k-- > 0;) {
		const struct ptx_function *fn = w->frames[k].fn;

		if ((uintptr_t)i < (uintptr_t)fn->insns ||
			(uintptr_t)i >= (uintptr_t)(fn->insns + fn->ninsns))
			continue;
		f->file = ptx_source_of(fn, i, &f->source_line);
		return;
	}
}

static const char *const code_names[] = {"ok", "illegal address", "misaligned address",
	"illegal instruction", "assertion failed", "trap", "timeout", "stack overflow",
	"cancelled"};

_Noreturn void ptx_raise(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	enum ptx_fault_code code, uint64_t addr, unsigned size, const char *what)
{
	struct ptx_fault *f = &w->wk->fault;
	char near[80] = "", where[64] = "";

	memset(f, 0, sizeof(*f));
	f->code = code;
	f->kernel = w->frames[0].fn->name;
	for (unsigned k = 0; k < 3; k++)
		f->block[k] = w->blk->ctaid[k];
	ptx_thread_of(w, lane, f->thread);
	f->line = i->line;
	fill_source(f, w, i);
	f->addr = addr;
	f->size = size;
	if (code == PTX_ILLEGAL_ADDRESS && PTX_WIN(addr) < PTX_WIN_SHARED &&
		i->space != SP_SHARED && i->space != SP_LOCAL)
		describe_near(w, addr, near, sizeof(near));
	if (code == PTX_ILLEGAL_ADDRESS || code == PTX_MISALIGNED_ADDRESS)
		snprintf(where, sizeof(where), " %s %#llx, %u bytes",
			i->row && (!strcmp(i->row->op, "ld") || !strcmp(i->row->op, "ldu")) ? "from"
											    : "to",
			(unsigned long long)addr, size);
	snprintf(f->text, sizeof(f->text),
		"tsdb softgpu: %s: kernel %.60s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %.40s%s%s%.80s%s",
		code_names[code], f->kernel, f->block[0], f->block[1], f->block[2], f->thread[0],
		f->thread[1], f->thread[2], f->line, i->name, where, what ? ": " : "",
		what ? what : "", near);
	if (code == PTX_ASSERT)
		snprintf(f->text, sizeof(f->text), "%.255s", what);
	if (ptx_is_observed(w) && code != PTX_CANCELLED)
		ptx_observed_fault(w, i, lane);
	longjmp(w->wk->out, 1);
}
