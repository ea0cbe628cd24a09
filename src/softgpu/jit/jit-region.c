/* SPDX-License-Identifier: Apache-2.0
 *
 * Which instructions a region takes in, and which registers have to be in the frame where it ends.
 * Registers are found by the operand letters of ptx-insns.def; a function with a letter that is not
 * known here is compiled around such instructions, and all its registers count as live.
 */
#include "softgpu/jit/jit-int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t ptx_type_bits[T_COUNT] = {/* the plugin's own copy */
#define X(n, b) [T_##n] = b,
	PTX_TYPES(X)
#undef X
};

static void *get(struct jit_region *r, size_t n)
{
	void *p =
		r->nmemory < sizeof(r->memory) / sizeof(r->memory[0]) ? calloc(n ? n : 1, 1) : NULL;

	if (p)
		r->memory[r->nmemory++] = p;
	return p;
}

void jit_region_free(struct jit_region *r)
{
	while (r->nmemory)
		free(r->memory[--r->nmemory]);
}

/* --- operands --- */
static unsigned slot_width(unsigned type)
{
	return type == T_pred ? 0 : ptx_type_bits[type] == 64 ? 8 : 4;
}

static unsigned wider_width(unsigned type)
{
	return ptx_type_bits[type] == 16 ? 4 : 8;
}

/* The bytes a lane of an operand with this letter has in the frame. */
static unsigned letter_width(const struct ptx_insn *i, char c)
{
	switch (c) {
	case 'd':
	case 'a':
	case 'r':
	case 'q':
		return slot_width(i->type);
	case 'D':
	case 'A':
		return slot_width(i->type2);
	case 'W':
	case 'X':
		return wider_width(i->type);
	case 'x':
	case 'y':
		return 4;
	case 'z':
		return 8;
	case 'L':
		return i->flags & F_D64 ? 8 : 4;
	case 'l':
		return i->flags & F_S64 ? 8 : 4;
	case 'm':
		return i->flags & F_A64 ? 8 : 4;
	default: /* p P */
		return 0;
	}
}

static void no_visit(void *arg, int32_t off, unsigned width, bool def)
{
}

bool jit_leaves(const struct jit_region *r, const struct ptx_insn *i)
{
	if (i->flags & F_CTRL)
		return i->arg != C_BRA;
	/* lanes that wait for lanes on another path: their registers have to be in the frame */
	if (jit_mod(i, "sync") && (!r->full || i->pred != NO_REG))
		return true;
	return !jit_operands(i, no_visit, NULL);
}

bool jit_operands(const struct ptx_insn *i, jit_visit *fn, void *arg)
{
	bool vectors = false;
	unsigned slot = 0;

	if (i->pred != NO_REG)
		fn(arg, i->pred, 0, false);
	if (i->flags & F_CTRL && i->arg == C_CALL && !i->u.call->fn)
		fn(arg, i->u.call->target, 8, false);
	if (!i->row)
		return true;
	for (const char *c = i->row->pattern; *c; c++) {
		if (*c == '?')
			continue;
		if (strchr("vVkK", *c)) {
			if (vectors || i->vec > 4)
				return false;
			vectors = true;
			for (unsigned k = 0; k < i->vec; k++)
				if (i->u.vecs->off[k] != NO_REG)
					fn(arg, i->u.vecs->off[k], i->u.vecs->width[k],
						*c == 'v' || *c == 'k');
		} else if (!strchr("daDArqWXxyzLlmpPiBT", *c)) {
			return false;
		} else if (slot >= 6) {
			return false;
		} else if (!strchr("iBT", *c) && i->o[slot] != NO_REG) {
			fn(arg, i->o[slot], letter_width(i, *c), strchr("dDWrLpqy", *c) != NULL);
		}
		slot++;
	}
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		fn(arg, i->o[5], 0, true);
	return true;
}

/* --- registers --- */
struct walk {
	struct jit_region *r;
	struct jit_block *b;
	bool defs, guarded, bad;
};

static void number_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct walk *w = arg;
	struct jit_region *r = w->r;
	uint32_t *at;

	if (off < 0)
		return;
	if (off % 4 || (uint32_t)off >= r->fn->reg_bytes) {
		w->bad = true;
		return;
	}
	at = &r->reg_at[off / 4];
	if (!*at) {
		r->off[r->nregs] = off;
		r->width[r->nregs] = (uint8_t)width;
		*at = ++r->nregs;
	}
	w->bad |= r->width[*at - 1] != width;
}

static bool number_registers(struct jit_region *r)
{
	const struct ptx_function *fn = r->fn;
	size_t max = fn->reg_bytes / 4 + 1;
	struct walk w = {.r = r};

	r->reg_at = get(r, max * sizeof(*r->reg_at));
	r->off = get(r, max * sizeof(*r->off));
	r->width = get(r, max);
	if (!r->reg_at || !r->off || !r->width)
		return false;
	for (uint32_t k = 0; k < fn->ninsns; k++)
		if (!jit_operands(&fn->insns[k], number_visit, &w))
			r->all_live = true;
	r->words = r->nregs / 64 + 1;
	return !w.bad;
}

/* --- blocks --- */
static bool mark_leaders(struct jit_region *r, uint8_t *leader)
{
	const struct ptx_function *fn = r->fn;

	leader[0] = leader[r->entry] = 1;
	for (uint32_t k = 0; k < fn->ninsns; k++) {
		const struct ptx_insn *i = &fn->insns[k];
		if (!(i->flags & F_CTRL) && !jit_leaves(r, i))
			continue;
		leader[k + 1] |= i->flags & F_CTRL && i->arg == C_BRA
					 ? 1
					 : 3; /* lanes may wait behind a barrier or a call */
		if (!(i->flags & F_CTRL))
			continue;
		if (i->arg == C_BRA)
			leader[i->imm] |= 1;
		if (i->arg == C_BRX)
			for (unsigned t = 0; t < i->u.table->n; t++)
				leader[i->u.table->pc[t]] |= 1;
		if ((i->arg == C_BRA || i->arg == C_BRX) && i->rpc != NO_PC)
			leader[i->rpc] |= 2; /* lanes meet here */
	}
	return true;
}

static bool find_blocks(struct jit_region *r)
{
	const struct ptx_function *fn = r->fn;
	uint8_t *leader = get(r, fn->ninsns + 2);
	uint32_t n = 0;

	r->block_of = get(r, (fn->ninsns + 1) * sizeof(*r->block_of));
	if (!leader || !r->block_of || !mark_leaders(r, leader))
		return false;
	for (uint32_t k = 0; k < fn->ninsns; k++)
		n += leader[k] != 0;
	r->blocks = get(r, n * sizeof(*r->blocks));
	if (!r->blocks)
		return false;
	for (uint32_t k = 0; k < fn->ninsns; k++) {
		if (leader[k])
			r->blocks[r->nblocks++] =
				(struct jit_block){.first = k, .meeting = (leader[k] & 2) != 0};
		r->blocks[r->nblocks - 1].end = k + 1;
		r->block_of[k] = r->nblocks - 1;
	}
	return true;
}

static void find_edges(struct jit_region *r)
{
	for (uint32_t k = 0; k < r->nblocks; k++) {
		struct jit_block *b = &r->blocks[k];
		const struct ptx_insn *last = &r->fn->insns[b->end - 1];
		bool ctrl = last->flags & F_CTRL,
		     ends = ctrl && last->pred == NO_REG &&
			    (last->arg == C_BRA || last->arg == C_BRX || last->arg == C_RET ||
				    last->arg == C_EXIT || last->arg == C_TRAP);

		if (!ends && k + 1 < r->nblocks)
			b->succ[b->nsucc++] = k + 1;
		if (ctrl && last->arg == C_BRA)
			b->succ[b->nsucc++] = r->block_of[last->imm];
		if (ctrl && last->arg == C_BRX) /* more successors than there is room for */
			r->all_live = true;
	}
}

/* --- liveness --- */
static void summary_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct walk *w = arg;
	uint32_t k;

	if (off < 0 || def != w->defs)
		return;
	k = w->r->reg_at[off / 4] - 1;
	if (!def) {
		JIT_ADD(w->b->use, k);
	} else if (!w->guarded) {
		JIT_ADD(w->b->def, k);
		JIT_DEL(w->b->use, k);
	}
}

static void summarise(struct jit_region *r, struct jit_block *b)
{
	struct walk w = {.r = r, .b = b};

	for (uint32_t k = b->end; k-- > b->first;) {
		const struct ptx_insn *i = &r->fn->insns[k];
		w.guarded = i->pred != NO_REG;
		w.defs = true;
		jit_operands(i, summary_visit, &w);
		w.defs = false;
		jit_operands(i, summary_visit, &w);
	}
}

static bool liveness(struct jit_region *r)
{
	uint64_t *sets = get(r, (size_t)r->nblocks * r->words * 4 * 8);
	bool changed = true;

	if (!sets)
		return false;
	for (uint32_t k = 0; k < r->nblocks; k++) {
		struct jit_block *b = &r->blocks[k];
		b->live = sets + (size_t)k * 4 * r->words;
		b->set = b->live + r->words;
		b->use = b->set + r->words;
		b->def = b->use + r->words;
		summarise(r, b);
	}
	for (unsigned pass = 0; changed && !r->all_live; pass++) {
		changed = false;
		for (uint32_t k = r->nblocks; k-- > 0;) {
			struct jit_block *b = &r->blocks[k];
			for (uint32_t w = 0; w < r->words; w++) {
				uint64_t out = 0, in;
				for (uint32_t s = 0; s < b->nsucc; s++)
					out |= r->blocks[b->succ[s]].live[w];
				in = b->use[w] | (out & ~b->def[w]);
				changed |= in != b->live[w];
				b->live[w] = in;
			}
		}
		r->all_live |= pass == 100;
	}
	for (uint32_t k = 0; k < r->nblocks && r->all_live; k++)
		memset(r->blocks[k].live, 0xff, r->words * 8);
	return true;
}

/* --- the region --- */
/* Blocks in the order they are met, until there are enough instructions. */
static bool grow(struct jit_region *r)
{
	uint32_t *queue = get(r, (r->nblocks + 1) * sizeof(*queue)), first = 0, n = 0;

	if (!queue)
		return false;
	queue[n++] = r->block_of[r->entry];
	r->blocks[queue[0]].in = true;
	r->ninsns = r->blocks[queue[0]].end - r->blocks[queue[0]].first;
	while (first < n) {
		struct jit_block *b = &r->blocks[queue[first++]];
		const struct ptx_insn *last = &r->fn->insns[b->end - 1];
		if (jit_leaves(r, last) && (last->pred == NO_REG || !(last->flags & F_CTRL)))
			continue;
		for (uint32_t s = 0; s < b->nsucc; s++) {
			struct jit_block *t = &r->blocks[b->succ[s]];
			if (t->in || r->ninsns + (t->end - t->first) > r->max)
				continue;
			t->in = true;
			r->ninsns += t->end - t->first;
			queue[n++] = b->succ[s];
		}
	}
	return true;
}

static void set_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct walk *w = arg;
	uint32_t k;

	if (off < 0)
		return;
	k = w->r->reg_at[off / 4] - 1;
	JIT_ADD(w->r->touched, k);
	if (def)
		JIT_ADD(w->b->def, k); /* from now on: may write */
}

/* What may have been written on the way to each block. */
static bool find_written(struct jit_region *r)
{
	bool changed = true;

	r->touched = get(r, r->words * 8);
	if (!r->touched)
		return false;
	for (uint32_t k = 0; k < r->nblocks; k++) {
		struct jit_block *b = &r->blocks[k];
		struct walk w = {.r = r, .b = b};
		memset(b->def, 0, r->words * 8);
		for (uint32_t p = b->first; b->in && p < b->end; p++)
			if (!jit_leaves(r, &r->fn->insns[p]))
				jit_operands(&r->fn->insns[p], set_visit, &w);
	}
	while (changed) {
		changed = false;
		for (uint32_t k = 0; k < r->nblocks; k++) {
			struct jit_block *b = &r->blocks[k];
			for (uint32_t s = 0; b->in && s < b->nsucc; s++)
				for (uint32_t w = 0; w < r->words; w++) {
					struct jit_block *t = &r->blocks[b->succ[s]];
					uint64_t now = t->set[w] | b->set[w] | b->def[w];
					changed |= now != t->set[w];
					t->set[w] = now;
				}
		}
	}
	return true;
}

bool jit_region_choose(struct jit_region *r, const struct ptx_function *fn, uint32_t pc, bool full,
	unsigned max, char *buf, size_t n)
{
	*r = (struct jit_region){.fn = fn, .entry = pc, .full = full, .max = max};
	if (fn->ninsns > 50000 || fn->reg_bytes > 1 << 20) {
		snprintf(buf, n, "a function too long");
		return false;
	}
	if (jit_leaves(r, &fn->insns[pc])) {
		snprintf(buf, n, "nothing to compile here");
		return false;
	}
	if (!number_registers(r)) {
		snprintf(buf, n, "a register of two widths");
		return false;
	}
	if (!find_blocks(r))
		goto nomem;
	find_edges(r);
	if ((size_t)r->nblocks * r->words > 4u << 20) {
		snprintf(buf, n, "a function too long");
		return false;
	}
	if (liveness(r) && grow(r) && find_written(r))
		return true;
nomem:
	snprintf(buf, n, "no memory");
	return false;
}
