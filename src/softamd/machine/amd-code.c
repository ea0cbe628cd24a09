/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions by address, decoded when they are first reached. Code is read through the device's
 * extents; a page of it belongs to one worker and one dispatch.
 */
#include "softamd/machine/amd-machine.h"

#include <stdlib.h>

static struct amd_code_page *page_at(struct amd_worker *wk, uint64_t base)
{
	struct amd_code_page **bucket = &wk->pages[base / (4 * AMD_PAGE_WORDS) % AMD_CODE_BUCKETS];
	struct amd_code_page *p;

	for (p = *bucket; p; p = p->next)
		if (p->base == base)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->base = base;
	p->next = *bucket;
	*bucket = p;
	return p;
}

void amd_code_free(struct amd_worker *wk)
{
	for (unsigned k = 0; k < AMD_CODE_BUCKETS; k++)
		while (wk->pages[k]) {
			struct amd_code_page *p = wk->pages[k];

			wk->pages[k] = p->next;
			free(p);
		}
	wk->last_page = NULL;
}

/* Up to two words of code; how many there are. */
static size_t read_words(struct amd_worker *wk, uint64_t pc, uint32_t words[2])
{
	const struct amd_memory *m = wk->l->d->memory;
	struct amd_extent e;
	size_t n;

	if (!m->find(m->arg, pc, &e) || pc < e.start || pc >= e.end || e.end - pc < 4)
		return 0;
	n = e.end - pc >= 8 ? 2 : 1;
	memcpy(words, (const void *)(uintptr_t)pc, 4 * n);
	return n;
}

/* Scalar registers as vector sources are fine; what the machine has no idea of is refused. */
static const char *why_refused(const struct amd_op *o, unsigned target)
{
	const struct gfx_row *r = o->row;

	if (!o->h || (!o->h->wave && !o->h->lanes))
		return strstr(r->name, "mfma")
			       ? "where its matrices lie in the lanes is in no document here"
			       : "is not executed";
	if (o->i.odd)
		return "has bits set that the instruction ignores";
	if (o->i.clamp && o->h->lanes && o->h->to == 'i' && !o->h->clamps && r->enc != GFX_VOPC)
		return "clamp is not executed here";
	for (unsigned k = 0; k < 2; k++)
		if (o->i.src[k] == GFX_LITERAL && r->src[k] == '2' && o->i.literal >> 31 &&
			o->h->from != 'd')
			return "extends a literal whose top bit is set to 64 bits";
	if (o->i.scc && !(target & GFX_FROM_90A))
		return "scc";
	return NULL;
}

static void decode(struct amd_worker *wk, struct amd_op *o, uint64_t pc)
{
	uint32_t words[2] = {0, 0};
	size_t n = read_words(wk, pc, words);

	o->pc = pc;
	o->there = true;
	memcpy(o->word, words, sizeof(words));
	if (n == 0) {
		o->why = "not memory";
		return;
	}
	if (!gfx_decode(wk->l->target, words, n, &o->i)) {
		o->why = "unknown to this target";
		return;
	}
	o->row = gfx_row((enum gfx_id)o->i.id);
	o->h = amd_handler(o->i.id);
	o->why = why_refused(o, wk->l->target);
	if (o->why)
		return;
	o->plain = o->h->lanes && amd_is_plain(o);
	o->fn = o->h->wave ? o->h->wave : amd_run_lanes;
}

static struct amd_op *op_at(struct amd_worker *wk, uint64_t pc)
{
	uint64_t base = pc & ~(4ull * AMD_PAGE_WORDS - 1);
	struct amd_code_page *p = wk->last_page;
	struct amd_op *o;

	if (!p || p->base != base) {
		p = page_at(wk, base);
		if (!p)
			return NULL;
		wk->last_page = p;
	}
	o = &p->ops[(pc - base) / 4];
	if (!o->there)
		decode(wk, o, pc);
	return o;
}

const struct amd_op *amd_fetch(struct amd_worker *wk, struct amd_wave *w)
{
	const struct amd_op *o;

	if (w->pc & 3)
		amd_raise(wk, AMD_FAULT_FETCH, w, -1,
			"the program counter 0x%llx is not a multiple of 4",
			(unsigned long long)w->pc);
	o = op_at(wk, w->pc);
	if (!o)
		amd_raise(wk, AMD_FAULT_NO_MEMORY, w, -1, "no memory for decoded code");
	if (!o->fn) {
		if (!o->row && strcmp(o->why, "not memory") == 0)
			amd_raise(wk, AMD_FAULT_FETCH, w, -1,
				"the program counter left the code: 0x%llx",
				(unsigned long long)w->pc);
		amd_refuse(w, o, o->why);
	}
	return o;
}

/* --- order --- */

#define ORDER_MAX 65536 /* instructions looked at; more: in order */

static bool is_branch(const struct gfx_insn *i)
{
	return i->id == GFX_s_branch ||
	       (i->id >= GFX_s_cbranch_scc0 && i->id <= GFX_s_cbranch_execnz);
}

/* Atomics whose result or memory depends on which comes first, and loads that see how far another
 * workgroup is, as atomic and volatile ones do: glc without slc, see gpucode/code-traits.h. */
static bool order_matters(const struct amd_op *o)
{
	const struct gfx_row *r = o->row;

	if (!r)
		return false;
	if (o->i.id == GFX_s_swappc_b64 || o->i.id == GFX_s_setpc_b64 || o->i.id == GFX_s_call_b64)
		return true;
	if (r->enc != GFX_FLAT && r->enc != GFX_GLOBAL && r->enc != GFX_MUBUF)
		return r->enc == GFX_SMEM && strstr(r->name, "atomic");
	if (!strstr(r->name, "atomic"))
		return (o->i.glc || o->i.scc) && !o->i.slc && strstr(r->name, "load");
	return o->i.glc || strstr(r->name, "swap") || strstr(r->name, "add_f") ||
	       strstr(r->name, "pk_add") || strstr(r->name, "_inc") || strstr(r->name, "_dec");
}

struct todo {
	uint64_t *pc;
	size_t n, cap;
};

static bool push(struct todo *t, uint64_t pc)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		uint64_t *more = realloc(t->pc, cap * sizeof(*more));

		if (!more)
			return false;
		t->pc = more;
		t->cap = cap;
	}
	t->pc[t->n++] = pc;
	return true;
}

/* Follows one path until it ends or meets what was seen. False: order is needed, or unknown. */
static bool follow(struct amd_worker *wk, struct todo *t, uint64_t pc, unsigned *left,
	uint8_t *seen, uint64_t low, uint64_t high)
{
	for (;;) {
		struct amd_op *o;

		if (pc < low || pc >= high || !*left)
			return false;
		if (seen[(pc - low) / 32] >> (pc / 4 % 8) & 1)
			return true;
		seen[(pc - low) / 32] |= (uint8_t)(1u << (pc / 4 % 8));
		--*left;
		o = op_at(wk, pc);
		if (!o || order_matters(o))
			return false;
		if (!o->fn || o->i.id == GFX_s_endpgm)
			return true; /* ends there, one way or the other */
		pc += o->i.size;
		if (!is_branch(&o->i))
			continue;
		if (!push(t, pc + (uint64_t)((int64_t)o->i.imm * 4)))
			return false;
		if (o->i.id == GFX_s_branch)
			return true;
	}
}

bool amd_needs_order(struct amd_worker *wk)
{
	uint64_t low = wk->l->entry & ~31ull, high = low + 4 * ORDER_MAX;
	struct todo t = {0};
	unsigned left = ORDER_MAX;
	uint8_t *seen = calloc(1, 4 * ORDER_MAX / 32 + 1);
	bool free_order = seen && push(&t, wk->l->entry);

	while (free_order && t.n)
		free_order = follow(wk, &t, t.pc[--t.n], &left, seen, low, high);
	free(seen);
	free(t.pc);
	return !free_order;
}
