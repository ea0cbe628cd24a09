/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-addressing.h. Every register gets a value that holds for all its definitions, whatever
 * their order: a loop over the instructions until no value grows. An instruction that is not in the
 * list of those understood ends it. The surprise: values that are stored do not matter, so a
 * kernel's data may come from anywhere.
 */
#include "softgpu/watch/ptx-addressing.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_MAX 200u

enum { ROOT_NONE = -1, ROOT_OPEN = -2 /* no definition was looked at yet */ };

/* root plus something made of the sources of by; or, without a root, made of those. */
struct value {
	uint64_t by; /* a bit for each source */
	int8_t root;
	bool memory; /* it may depend on what memory holds, or on time */
};

struct finder {
	struct ptx_addressing *out;
	const struct ptx_function *fn;
	struct value *reg; /* by byte offset / 4 */
	uint64_t shapes;   /* sources that decide which bytes are touched */
	bool grew;
};

_Static_assert(PTX_SOURCES_MAX <= 64, "sources fit in a set");

static void refuse(struct finder *f, const char *why)
{
	if (!f->out->why)
		f->out->why = why;
}

/* ---- values
 * ---------------------------------------------------------------------------------------------------
 */

static uint64_t bit(int root)
{
	return root >= 0 ? 1ull << root : 0;
}

/* A value made of both in some way that is not analysed. */
static struct value mix(struct value a, struct value b)
{
	return (struct value){
		a.by | b.by | bit(a.root) | bit(b.root), ROOT_NONE, a.memory || b.memory};
}

static struct value sum(struct value a, struct value b)
{
	if (a.root == ROOT_OPEN || b.root == ROOT_OPEN)
		return (struct value){
			a.by | b.by | bit(a.root) | bit(b.root), ROOT_OPEN, a.memory || b.memory};
	if (a.root >= 0 && b.root >= 0)
		return mix(a, b);
	return (struct value){a.by | b.by, a.root >= 0 ? a.root : b.root, a.memory || b.memory};
}

static struct value difference(struct value a, struct value b)
{
	b.by |= bit(b.root);
	b.root = ROOT_NONE;
	return sum(a, b);
}

/* Registers that the hardware, or the time, decides. */
static bool is_arbitrary(unsigned sreg)
{
	return sreg > SR_VOLATILE || sreg == SR_smid || sreg == SR_nsmid || sreg == SR_warpid ||
	       sreg == SR_nwarpid || sreg == SR_gridid || sreg == SR_unknown;
}

static struct value value_at(const struct finder *f, int32_t off)
{
	struct value v = {0, ROOT_NONE, false};

	if (off == NO_REG)
		return v;
	if (off >= 0)
		return f->reg[off / 4];
	for (unsigned k = 0; k < f->fn->nspecials; k++)
		if (f->fn->specials[k].off == off)
			v.memory = is_arbitrary(f->fn->specials[k].sreg);
	return v;
}

/* The register may also have the value v. */
static void join(struct finder *f, int32_t off, struct value v)
{
	struct value *r, now;

	if (off < 0)
		return;
	r = &f->reg[off / 4];
	now = (struct value){r->by | v.by, v.root, r->memory || v.memory};
	if (r->root != ROOT_OPEN && v.root != r->root) {
		now.root = v.root == ROOT_OPEN ? r->root : ROOT_NONE;
		now.by |= v.root == ROOT_OPEN ? 0 : bit(r->root) | bit(v.root);
	}
	f->grew |= now.by != r->by || now.root != r->root || now.memory != r->memory;
	*r = now;
}

/* The value decides which bytes are touched. */
static void decides(struct finder *f, struct value v)
{
	if (v.memory)
		refuse(f, "what it touches may depend on what memory holds");
	f->shapes |= v.by | bit(v.root);
}

/* ---- operands
 * --------------------------------------------------------------------------------------------------
 */

struct walk {
	struct finder *f;
	struct value v;
	bool defs;
};

static void add_use(void *arg, int32_t off, unsigned width, bool def)
{
	struct walk *w = arg;

	if (!def)
		w->v = mix(w->v, value_at(w->f, off));
}

static void set_def(void *arg, int32_t off, unsigned width, bool def)
{
	struct walk *w = arg;

	if (def)
		join(w->f, off, w->v);
}

static void set_all(struct finder *f, const struct ptx_insn *i, struct value v)
{
	struct walk w = {.f = f, .v = v};

	ptx_visit_operands(i, set_def, &w);
}

/* Of all that it reads, its guard among them. */
static struct value all_uses(struct finder *f, const struct ptx_insn *i)
{
	struct walk w = {.f = f, .v = {0, ROOT_NONE, false}};

	ptx_visit_operands(i, add_use, &w);
	return w.v;
}

/* The place of its memory operand among i->o; -1: it has none. */
static int memory_slot(const struct ptx_insn *i)
{
	int slot = 0;

	for (const char *c = i->row->pattern; *c; c++) {
		if (*c == '?' || *c == 'j')
			continue;
		if (*c == 'm')
			return slot;
		slot++;
	}
	return -1;
}

/* ---- parameters
 * -------------------------------------------------------------------------------------------------
 */

static bool constant_at(const struct ptx_function *fn, int32_t off, uint64_t *ret)
{
	for (unsigned k = 0; k < fn->nconsts; k++)
		if (fn->consts[k].off == off && fn->consts[k].reloc == RL_NONE) {
			*ret = fn->consts[k].value;
			return true;
		}
	return false;
}

/* Where in the parameters it loads from; false: not known. */
static bool param_offset(const struct ptx_function *fn, const struct ptx_insn *i, uint64_t *ret)
{
	const bool whole = i->vec == 1 && i->cls == i->size &&
			   i->u.vecs->width[0] == i->size; /* sel_mem() has put it in imm then */
	uint64_t base = 0;

	if (i->o[1] >= 0 || (!whole && !constant_at(fn, i->o[1], &base)))
		return false;
	*ret = base + (uint64_t)i->imm;
	return true;
}

/* Sources that lie in each other are no bases. */
static int source_of(struct finder *f, uint64_t offset, uint64_t size)
{
	struct ptx_addressing *o = f->out;
	bool meets = false;

	for (unsigned k = 0; k < o->n; k++) {
		if (o->source[k].offset == offset && o->source[k].size == size)
			return (int)k;
		if (offset < o->source[k].offset + o->source[k].size &&
			o->source[k].offset < offset + size) {
			f->shapes |= bit((int)k);
			meets = true;
		}
	}
	if (o->n == PTX_SOURCES_MAX || offset + size > f->fn->param_bytes)
		return ROOT_NONE;
	o->source[o->n] = (struct ptx_source){.offset = (uint32_t)offset, .size = (uint32_t)size};
	if (meets)
		f->shapes |= bit((int)o->n);
	return (int)o->n++;
}

static void load_parameter(struct finder *f, const struct ptx_insn *i, struct value guard)
{
	struct value v = {0, ROOT_NONE, false};
	uint64_t offset;
	int source;

	if (!param_offset(f->fn, i, &offset)) {
		v.memory = true;
	} else if ((source = source_of(f, offset, (uint64_t)i->size * i->vec)) >= 0) {
		v.root = (int8_t)(i->size == 8 && i->vec == 1 ? source : ROOT_NONE);
		v.by = v.root >= 0 ? 0 : bit(source);
	}
	v.by |= guard.by | bit(guard.root);
	v.memory |= guard.memory;
	set_all(f, i, v);
}

/* ---- instructions
 * --------------------------------------------------------------------------------------------------
 */

/* pc: of i. */
static void do_memory(struct finder *f, const struct ptx_insn *i, uint32_t pc)
{
	const struct value guard = value_at(f, i->pred), unknown = {0, ROOT_NONE, true};
	const int slot = memory_slot(i);
	struct value at;

	if (slot < 0) {
		refuse(f, "it touches memory in a way that is not looked into");
		return;
	}
	if (i->space == SP_PARAM) {
		load_parameter(f, i, guard);
		return;
	}
	at = value_at(f, i->o[slot]);
	decides(f, guard);
	f->out->base[pc] = 0;
	if (at.root >= 0 && (i->space == SP_GLOBAL || i->space == SP_GENERIC)) {
		f->out->base[pc] = (uint8_t)(at.root + 1);
		f->out->source[at.root].is_base = true;
		at.root = ROOT_NONE;
	}
	decides(f, at);
	set_all(f, i, unknown);
}

/* Barriers, branches and exits: they decide which lanes execute what. bar.red gives a value made of
 * other threads' values. */
static void do_control(struct finder *f, const struct ptx_insn *i)
{
	const struct value v = all_uses(f, i);

	if (strchr(i->row->pattern, 'P')) {
		decides(f, value_at(f, i->pred));
		set_all(f, i, (struct value){v.by, ROOT_NONE, v.memory});
		return;
	}
	decides(f, v);
}

static struct value computed(struct finder *f, const struct ptx_insn *i)
{
	const char *op = i->row->op;
	const bool wide = ptx_type_bits[i->type] == 64 && !ptx_is_float(i->type);

	if (i->row->pattern[0] != 'W' && !wide)
		return all_uses(f, i);
	if ((!strcmp(op, "mov") && !strcmp(i->row->pattern, "da")) || !strcmp(op, "cvta"))
		return value_at(f, i->o[1]);
	if (!strcmp(op, "add"))
		return sum(value_at(f, i->o[1]), value_at(f, i->o[2]));
	if (!strcmp(op, "sub"))
		return difference(value_at(f, i->o[1]), value_at(f, i->o[2]));
	if (!strcmp(op, "mad") && (i->row->pattern[0] == 'W' || i->row->must & MB(lo)))
		return sum(mix(value_at(f, i->o[1]), value_at(f, i->o[2])), value_at(f, i->o[3]));
	return all_uses(f, i);
}

static void do_compute(struct finder *f, const struct ptx_insn *i)
{
	const struct value guard = value_at(f, i->pred);
	struct value v = computed(f, i);

	v.by |= guard.by | bit(guard.root);
	v.memory |= guard.memory;
	set_all(f, i, v);
}

static bool is_among(const char *op, const char *const *list, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (!strcmp(op, list[k]))
			return true;
	return false;
}
#define IS_AMONG(op, list) is_among(op, list, sizeof(list) / sizeof *(list))

/* Everything here only computes, for its lane or its warp, and from its operands alone. */
static const char *const computes[] = {"add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div",
	"rem", "abs", "neg", "min", "max", "popc", "clz", "bfind", "brev", "bfe", "bfi", "sad",
	"dp4a", "dp2a", "prmt", "lop3", "and", "or", "xor", "not", "cnot", "shl", "shr", "shf",
	"setp", "set", "selp", "slct", "mov", "cvt", "cvta", "isspacep", "rcp", "sqrt", "rsqrt",
	"sin", "cos", "lg2", "ex2", "tanh", "copysign", "testp", "shfl", "vote", "match", "redux",
	"szext", "bmsk"};
static const char *const touches[] = {"ld", "ldu", "st", "atom", "red"};
static const char *const steers[] = {"bra", "ret", "exit", "trap", "bar", "barrier"};
static const char *const harmless[] = {"membar", "fence", "prefetch", "prefetchu", "nanosleep"};

static void look_at(struct finder *f, uint32_t pc)
{
	const struct ptx_insn *i = &f->fn->insns[pc];
	const char *op = i->row ? i->row->op : "";

	if (!i->row && i->flags & F_CTRL && i->arg == C_RET) /* behind the last one of the text */
		decides(f, value_at(f, i->pred));
	else if (i->flags & (F_CC | F_CIN) || !i->row)
		refuse(f, "it has an instruction that is not looked into");
	else if (IS_AMONG(op, touches))
		do_memory(f, i, pc);
	else if (IS_AMONG(op, steers))
		do_control(f, i);
	else if (IS_AMONG(op, computes) || !strncmp(op, "mma.sync.", 9))
		do_compute(f, i);
	else if (!IS_AMONG(op, harmless))
		refuse(f, "it has an instruction that is not looked into");
}

/* ---- all of it
 * --------------------------------------------------------------------------------------------------------
 */

static void open_def(void *arg, int32_t off, unsigned width, bool def)
{
	struct finder *f = arg;

	if (def && off >= 0)
		f->reg[off / 4].root = ROOT_OPEN;
}

static void find(struct finder *f)
{
	unsigned pass = 0;

	for (size_t k = 0; k <= f->fn->reg_bytes / 4; k++)
		f->reg[k].root = ROOT_NONE; /* never written: zero */
	for (uint32_t pc = 0; pc < f->fn->ninsns; pc++)
		ptx_visit_operands(&f->fn->insns[pc], open_def, f);
	do {
		const uint64_t shapes = f->shapes;

		f->grew = false;
		for (uint32_t pc = 0; pc < f->fn->ninsns && !f->out->why; pc++)
			look_at(f, pc);
		f->grew |= shapes != f->shapes;
	} while (f->grew && !f->out->why && ++pass < PASSES_MAX);
	if (pass == PASSES_MAX)
		refuse(f, "its addresses are too entangled");
	for (size_t k = 0; k <= f->fn->reg_bytes / 4; k++)
		if (f->reg[k].root == ROOT_OPEN)
			refuse(f, "its addresses go round in a circle");
}

void ptx_addressing_find(struct ptx_addressing *ret, const struct ptx_function *entry)
{
	struct finder f = {.out = ret, .fn = entry};

	*ret = (struct ptx_addressing){0};
	ret->base = calloc(entry->ninsns + 1, 1);
	f.reg = calloc(entry->reg_bytes / 4 + 1, sizeof *f.reg);
	if (!ret->base || !f.reg || !entry->has_body)
		ret->why = "there is no memory, or no code";
	else
		find(&f);
	for (unsigned k = 0; k < ret->n; k++)
		ret->source[k].shapes = f.shapes >> k & 1;
	free(f.reg);
	if (ret->why)
		ptx_addressing_free(ret);
}

void ptx_addressing_free(struct ptx_addressing *a)
{
	free(a->base);
	a->base = NULL;
}
