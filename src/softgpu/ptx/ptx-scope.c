/* SPDX-License-Identifier: Apache-2.0
 *
 * What names stand for while PTX is parsed: scopes, labels still to come, and each function's
 * frame. The surprising thing: registers get room in the frame when they are first used, so `.reg
 * .b32 %r<100000>` costs nothing.
 */
#include "softgpu/ptx/ptx-parse.h"

#include <string.h>

/* Scopes inside one another. */
#define MAX_DEPTH 64

/* --- names and scopes --- */
static uint32_t hash_name(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t k = 0; k < n; k++)
		h = (h ^ (unsigned char)s[k]) * 16777619u;
	return h;
}

static struct ptx_sym *find_hashed(struct ptx_parse *p, const char *s, size_t n, uint32_t h)
{
	struct ptx_sym *y = p->bucket[h % 4096];

	for (; y; y = y->next)
		if (y->hash == h && y->len == n && !memcmp(y->name, s, n))
			return y;
	return NULL;
}

struct ptx_sym *ptx_lookup(struct ptx_parse *p, const char *s, size_t n)
{
	return find_hashed(p, s, n, hash_name(s, n));
}

struct ptx_sym *ptx_declare(struct ptx_parse *p, const char *s, size_t n, enum ptx_sym_kind kind)
{
	uint32_t h = hash_name(s, n);
	struct ptx_sym *y = find_hashed(p, s, n, h);

	if (y && y->depth == p->depth && (kind == SY_LABEL || y->kind != SY_FUNC))
		ptx_fail(p, p->lx.t.line, "'%.*s' is declared twice", (int)n, s);
	y = ptx_alloc(p->m, sizeof(*y));
	y->name = ptx_copy_name(p, s, n);
	y->len = (uint32_t)n;
	y->hash = h;
	y->depth = p->depth;
	y->kind = kind;
	y->next = p->bucket[h % 4096];
	p->bucket[h % 4096] = y;
	y->older = p->newest;
	p->newest = y;
	return y;
}

void ptx_enter_scope(struct ptx_parse *p)
{
	if (++p->depth > MAX_DEPTH)
		ptx_fail(p, p->lx.t.line, "more than %u scopes inside one another", MAX_DEPTH);
}

/* Branches that name a label of this scope are resolved; the others wait for the scope around it.
 */
void ptx_leave_scope(struct ptx_parse *p)
{
	unsigned kept = 0;

	for (unsigned k = 0; k < p->nfixes; k++) {
		struct ptx_fix f = p->fixes[k];
		struct ptx_sym *y = f.depth == p->depth ? ptx_lookup(p, f.name, f.len) : NULL;
		if (y && y->kind == SY_LABEL && y->depth == p->depth) {
			if (f.slot)
				*f.slot = y->pc;
			else
				p->fn->insns[f.insn].imm = y->pc;
			continue;
		}
		if (f.depth == p->depth) {
			if (p->depth == 1)
				ptx_fail(p, f.line, "label '%.*s' does not exist", (int)f.len,
					f.name);
			f.depth--;
		}
		p->fixes[kept++] = f;
	}
	p->nfixes = kept;
	while (p->newest && p->newest->depth == p->depth) {
		p->bucket[p->newest->hash % 4096] = p->newest->next;
		p->newest = p->newest->older;
	}
	p->depth--;
}

void ptx_fix(struct ptx_parse *p, uint32_t insn, uint32_t *slot, const char *name, size_t len,
	unsigned line)
{
	p->fixes = ptx_grow(p->m, p->fixes, p->nfixes, &p->capfixes, sizeof(*p->fixes));
	p->fixes[p->nfixes++] = (struct ptx_fix){insn, slot, name, (uint32_t)len, p->depth, line};
}

/* --- the frame --- */
static int32_t reg_room(struct ptx_parse *p, unsigned type)
{
	struct ptx_function *fn = p->fn;
	uint32_t bytes = ptx_type_bits[type] == 128 ? 512 : ptx_type_bits[type] == 64 ? 256 : 128;
	int32_t off;

	if (type == T_pred) {
		if (p->pred_next == p->pred_end) {
			p->pred_next = (int32_t)fn->reg_bytes;
			p->pred_end = p->pred_next + 128;
			fn->reg_bytes += 128;
		}
		off = p->pred_next;
		p->pred_next += 4;
	} else {
		off = (int32_t)fn->reg_bytes;
		fn->reg_bytes += bytes;
	}
	if (fn->reg_bytes > PTX_FRAME_LIMIT)
		ptx_fail(p, p->lx.t.line, "function %s uses too many registers", fn->name);
	return off;
}

static void name_reg(struct ptx_parse *p, const struct ptx_sym *y, uint32_t k)
{
	struct ptx_function *fn = p->fn;

	fn->names = ptx_grow(p->m, fn->names, fn->nnames, &fn->capnames, sizeof(*fn->names));
	fn->names[fn->nnames++] = (struct ptx_regname){.name = y->name,
		.number = y->kind == SY_RANGE ? k : UINT32_MAX,
		.pc = fn->ninsns ? fn->ninsns - 1 : 0,
		.off = y->off[k],
		.type = y->type};
}

int32_t ptx_hidden_reg(struct ptx_parse *p)
{
	return reg_room(p, T_b32);
}

static bool use_reg(struct ptx_parse *p, struct ptx_sym *y, uint32_t k, int32_t *off, uint8_t *type)
{
	if (y->off[k] == NO_REG) {
		y->off[k] = reg_room(p, y->type);
		name_reg(p, y, k);
	}
	*off = y->off[k];
	*type = y->type;
	return true;
}

bool ptx_reg(struct ptx_parse *p, const char *s, size_t n, int32_t *off, uint8_t *type)
{
	struct ptx_sym *y = ptx_lookup(p, s, n);
	size_t prefix = n;
	uint64_t v = 0;

	if (y)
		return y->kind == SY_REG && use_reg(p, y, 0, off, type);
	while (prefix > 1 && s[prefix - 1] >= '0' && s[prefix - 1] <= '9')
		prefix--;
	if (prefix == n || n - prefix > 8 || (s[prefix] == '0' && n - prefix > 1))
		return false;
	for (size_t k = prefix; k < n; k++)
		v = v * 10 + (uint64_t)(s[k] - '0');
	y = ptx_lookup(p, s, prefix);
	return y && y->kind == SY_RANGE && v < y->count && use_reg(p, y, (uint32_t)v, off, type);
}

int32_t ptx_const_slot(
	struct ptx_parse *p, unsigned width, uint64_t value, enum ptx_reloc reloc, void *sym)
{
	struct ptx_function *fn = p->fn;
	unsigned n = fn->nconsts;
	struct ptx_const *c;

	for (unsigned k = n > 64 ? n - 64 : 0; k < n; k++) {
		c = &fn->consts[k];
		if (c->width == width && c->value == value && c->reloc == reloc && c->sym == sym)
			return c->off;
	}
	fn->consts = ptx_grow(p->m, fn->consts, n, &fn->capconsts, sizeof(*fn->consts));
	fn->const_bytes += width == 8 ? 256 : 128;
	if (fn->const_bytes > PTX_FRAME_LIMIT)
		ptx_fail(p, p->lx.t.line, "function %s uses too many constants", fn->name);
	c = &fn->consts[fn->nconsts++];
	*c = (struct ptx_const){
		-(int32_t)fn->const_bytes, (uint8_t)width, (uint8_t)reloc, value, sym};
	return c->off;
}

int32_t ptx_special_slot(struct ptx_parse *p, unsigned sreg, unsigned width, uint64_t add)
{
	struct ptx_function *fn = p->fn;
	struct ptx_special *s;

	for (unsigned k = 0; k < fn->nspecials; k++) {
		s = &fn->specials[k];
		if (s->sreg == sreg && s->width == width && s->add == add)
			return s->off;
	}
	fn->specials = ptx_grow(
		p->m, fn->specials, fn->nspecials, &fn->capspecials, sizeof(*fn->specials));
	fn->const_bytes += width == 8 ? 256 : 128;
	if (fn->const_bytes > PTX_FRAME_LIMIT || fn->nspecials > 4096)
		ptx_fail(p, p->lx.t.line, "function %s uses too many constants", fn->name);
	s = &fn->specials[fn->nspecials++];
	*s = (struct ptx_special){-(int32_t)fn->const_bytes, (uint8_t)sreg, (uint8_t)width, add};
	return s->off;
}

struct ptx_insn *ptx_emit(struct ptx_parse *p)
{
	struct ptx_function *fn = p->fn;
	struct ptx_insn *i;

	fn->insns = ptx_grow(p->m, fn->insns, fn->ninsns, &fn->cap, sizeof(*fn->insns));
	i = &fn->insns[fn->ninsns++];
	memset(i, 0, sizeof(*i));
	i->pred = NO_REG;
	i->rpc = NO_PC;
	for (unsigned k = 0; k < 6; k++)
		i->o[k] = NO_REG;
	return i;
}
