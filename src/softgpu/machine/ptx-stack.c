/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a function takes from its thread's stack while it runs: alloca, stacksave,
 * stackrestore. "PTX ISA 9.0", 9.7.15. It lies behind the frame's variables; how much each lane has
 * taken is kept in a register without a name, so it is free again when the function returns.
 */
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"

const char *sel_alloca(struct ptx_dec *d)
{
	struct ptx_function *fn = d->p->fn;
	uint64_t align = (uint64_t)d->i->imm;

	if (align & (align - 1) || align > 1 << 12)
		return "an alignment that is not a small power of two";
	if (fn->alloca_reg == NO_REG)
		fn->alloca_reg = ptx_hidden_reg(d->p);
	fn->recursive = true; /* how much stack it needs is not known */
	return NULL;
}

static uint32_t *taken(const struct ptx_warp *w)
{
	return (uint32_t *)(w->frame + w->frames[w->nframes - 1].fn->alloca_reg);
}

static uint32_t base(const struct ptx_warp *w)
{
	const struct ptx_frame *f = &w->frames[w->nframes - 1];

	return f->lbase + (uint32_t)f->fn->local_bytes;
}

uint32_t ptx_alloca_top(const struct ptx_warp *w, uint32_t mask)
{
	uint32_t top = 0;

	if (w->frames[w->nframes - 1].fn->alloca_reg == NO_REG)
		return 0;
	EACH_LANE(l) top = taken(w)[l] > top ? taken(w)[l] : top;
	return (top + 15) & ~15u;
}

/* alloca d, bytes [, alignment] */
void h_alloca(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t align = i->imm ? (uint32_t)i->imm : 8;

	EACH_LANE(l)
	{
		uint64_t n = i->size == 8 ? REG(u64a, 1)[l] : REG(u32a, 1)[l];
		uint64_t at =
			((uint64_t)base(w) + taken(w)[l] + align - 1) & ~(uint64_t)(align - 1);
		if (n > w->lstride || at + n > w->lstride)
			ptx_raise(w, i, l, PTX_STACK_OVERFLOW, 0, 0, "alloca");
		taken(w)[l] = (uint32_t)(at + n - base(w));
		memset(w->local + l * w->lstride + at, 0, n);
		if (i->size == 8)
			REG(u64a, 0)[l] = at;
		else
			REG(u32a, 0)[l] = (uint32_t)at;
	}
}

void h_stacksave(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		if (i->size == 8)
			REG(u64a, 0)[l] = base(w) + taken(w)[l];
		else
			REG(u32a, 0)[l] = base(w) + taken(w)[l];
	}
}

void h_stackrestore(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint64_t to = (i->size == 8 ? REG(u64a, 0)[l] : REG(u32a, 0)[l]) - base(w);
		if (to > taken(w)[l])
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"what is restored is not what stacksave gave");
		taken(w)[l] = (uint32_t)to;
	}
}
