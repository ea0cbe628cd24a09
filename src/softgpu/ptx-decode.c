/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX decoder: operands, modifiers, and the search for the row of ptx-insns.def that takes them. What no row takes becomes an
 * instruction that stops the launch that reaches it. A row's pattern has one letter per operand:
 *
 *   d D   destination of the first, second type         a A   source of the first, second type
 *   W     destination twice as wide as the first type   X     source twice as wide
 *   r     like d, or the sink _                         x z   32-bit, 64-bit source
 *   y     32-bit destination
 *   L     destination at least as wide                  l     source at least as wide as the second type
 *   p     predicate destination, p|q or _               P     predicate source, !p
 *   v k   vector destination: of loads; unpacking       V K   vector source: of stores; packing
 *   m     memory                                        i     immediate integer
 *   B T   label; table of labels                        ?     the next operand may be missing
 *   q     like d, and |p may follow
 */
#include "softgpu/ptx-dec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the table, by opcode ---------------------------------------------------------------------------- */
static const struct ptx_row *rows;
static struct {
	const char *op;
	unsigned first, n;
} ops_index[512];
static unsigned nops_index;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void build_index(void)
{
	rows = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? ptx_rows_avx2 : ptx_rows_base;
	if (getenv("TSDB_SOFT_NO_AVX2"))
		rows = ptx_rows_base;
	for (unsigned k = 0; k < ptx_nrows; k++) {
		if (!nops_index || strcmp(ops_index[nops_index - 1].op, rows[k].op)) {
			ops_index[nops_index].op = rows[k].op;
			ops_index[nops_index].first = k;
			ops_index[nops_index++].n = 0;
		}
		ops_index[nops_index - 1].n++;
	}
	qsort(ops_index, nops_index, sizeof(ops_index[0]), by_name);
}

static const struct ptx_row *rows_of(const char *s, size_t n, unsigned *count)
{
	unsigned lo = 0, hi = nops_index;

	pthread_once(&once, build_index);
	hi = nops_index;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		int c = strncmp(ops_index[mid].op, s, n);
		if (!c && ops_index[mid].op[n])
			c = 1;
		if (!c) {
			*count = ops_index[mid].n;
			return &rows[ops_index[mid].first];
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*count = 0;
	return NULL;
}

/* --- operands ---------------------------------------------------------------------------------------- */
static const struct {
	const char *name;
	uint8_t bits;
} sregs[SR_COUNT] = {
#define X(n, s, b) [SR_##n] = {s, b},
	PTX_SREGS(X)
#undef X
};

static int find_sreg(const char *s, size_t n)
{
	for (unsigned k = 0; k < SR_COUNT; k++)
		if (sregs[k].bits && strlen(sregs[k].name) == n && n && !memcmp(sregs[k].name, s, n))
			return (int)k;
	return -1;
}

/* Special registers that exist and that nobody here keeps: their instructions are refused, not the module. */
static bool known_sreg(const char *s, size_t n)
{
	static const char *const prefixes[] = {"%envreg", "%pm", "%cluster", "%nclusterid", "%is_explicit_cluster", "%reserved_smem",
		"%current_graph_exec", "%tid", "%ntid", "%ctaid", "%nctaid"};

	for (unsigned k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
		if (n >= strlen(prefixes[k]) && !memcmp(s, prefixes[k], strlen(prefixes[k])))
			return true;
	return false;
}

static int64_t parse_disp(struct ptx_parse *p)
{
	bool minus = false;
	uint64_t v;

	if (ptx_accept(p, '-'))
		minus = true;
	else if (!ptx_accept(p, '+'))
		return 0;
	if (ptx_accept(p, '-')) /* nvcc writes [%rd1+-4] */
		minus = !minus;
	if (p->lx.t.kind != TK_INT)
		ptx_fail(p, p->lx.t.line, "a number should follow");
	v = p->lx.t.value;
	ptx_next(p);
	return (int64_t)(minus ? 0 - v : v);
}

static void parse_name(struct ptx_parse *p, struct ptx_opnd *o)
{
	struct ptx_token t = p->lx.t;
	struct ptx_sym *y;
	int sr;

	ptx_next(p);
	o->name = t.s;
	o->len = (uint32_t)t.n;
	if (t.n == 1 && t.s[0] == '_') {
		o->kind = O_SINK;
		return;
	}
	if (ptx_reg(p, t.s, t.n, &o->off, &o->type)) {
		o->kind = O_REG;
		return;
	}
	y = ptx_lookup(p, t.s, t.n);
	if (y && (y->kind == SY_VAR || y->kind == SY_FUNC)) {
		o->kind = y->kind == SY_VAR ? O_VAR : O_FUNC;
		o->sym = y;
		return;
	}
	if (t.s[0] == '%' && p->lx.t.kind == TK_DOT && p->lx.t.glued) { /* %tid.x */
		o->len = (uint32_t)(p->lx.t.s + p->lx.t.n - t.s);
		ptx_next(p);
	}
	sr = find_sreg(o->name, o->len);
	if (sr < 0 && known_sreg(o->name, o->len))
		sr = SR_unknown;
	o->kind = sr >= 0 ? O_SREG : O_NAME;
	o->sreg = (uint8_t)(sr >= 0 ? sr : 0);
	o->sym = y;
}

static struct ptx_opnd parse_operand(struct ptx_parse *p, unsigned depth);

static void parse_list(struct ptx_parse *p, struct ptx_opnd *o, char close)
{
	struct ptx_opnd e[64];

	while (!ptx_punct(p, close)) {
		if (o->nelem == 64)
			ptx_fail(p, p->lx.t.line, "too many operands");
		e[o->nelem++] = parse_operand(p, 1);
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, close);
	if (p->nelems + o->nelem > 256)
		ptx_fail(p, p->lx.t.line, "too many operands");
	o->elem = &p->elems[p->nelems];
	memcpy(o->elem, e, o->nelem * sizeof(e[0]));
	p->nelems += o->nelem;
}

static void parse_memory(struct ptx_parse *p, struct ptx_opnd *o)
{
	struct ptx_opnd b = {0};

	if (p->lx.t.kind == TK_INT) {
		b.kind = O_INT;
		o->disp = (int64_t)p->lx.t.value;
		ptx_next(p);
	} else if (p->lx.t.kind == TK_IDENT) {
		parse_name(p, &b);
	} else {
		ptx_fail(p, p->lx.t.line, "not an address");
	}
	*o = (struct ptx_opnd){.kind = O_MEM, .base = (uint8_t)b.kind, .off = b.off, .type = b.type, .sym = b.sym,
		.name = b.name, .len = b.len, .disp = o->disp};
	o->disp = (int64_t)((uint64_t)o->disp + (uint64_t)parse_disp(p));
	ptx_expect(p, ']');
}

static struct ptx_opnd parse_operand(struct ptx_parse *p, unsigned depth)
{
	struct ptx_opnd o = {0};

	if (!depth && ptx_accept(p, '{')) {
		o.kind = O_VEC;
		parse_list(p, &o, '}');
		return o;
	}
	if (!depth && ptx_accept(p, '(')) {
		o.kind = O_LIST;
		parse_list(p, &o, ')');
		return o;
	}
	if (ptx_accept(p, '[')) {
		o.kind = O_MEM;
		parse_memory(p, &o);
		return o;
	}
	o.not= ptx_accept(p, '!');
	o.minus = ptx_accept(p, '-');
	o.value = p->lx.t.value;
	switch (p->lx.t.kind) {
	case TK_INT:
		o.kind = O_INT;
		if (o.minus)
			o.value = 0 - o.value;
		ptx_next(p);
		break;
	case TK_F32:
		o.kind = O_F32;
		o.value ^= o.minus ? 0x80000000u : 0;
		ptx_next(p);
		break;
	case TK_F64:
		o.kind = O_F64;
		o.value ^= o.minus ? 1ull << 63 : 0;
		ptx_next(p);
		break;
	case TK_IDENT:
		parse_name(p, &o);
		if (o.kind == O_VAR)
			o.disp = parse_disp(p);
		break;
	default:
		ptx_fail(p, p->lx.t.line, "'%.*s' is not an operand", (int)(p->lx.t.n < 60 ? p->lx.t.n : 60), p->lx.t.s);
	}
	return o;
}

/* --- matching an operand to a letter; each returns why not, or NULL ----------------------------------- */
static unsigned slot_width(unsigned type)
{
	return type == T_pred ? 0 : ptx_type_bits[type] == 64 ? 8 : 4;
}

static const char *match_reg(const struct ptx_opnd *o, unsigned bits, bool loose, int32_t *ret)
{
	if (o->kind != O_REG)
		return "an operand that is not a register";
	if (o->type == T_pred || bits == 1) {
		if (o->type != T_pred || bits != 1)
			return "predicate and number mixed up";
	} else if (loose ? ptx_type_bits[o->type] < bits : ptx_type_bits[o->type] != bits) {
		return "a register of the wrong width";
	}
	*ret = o->off;
	return NULL;
}

static const char *match_number(struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret)
{
	uint64_t v = o->value;
	unsigned bits = ptx_type_bits[type];
	double f64;
	float f32;

	if (o->kind == O_F32 || o->kind == O_F64) {
		uint32_t b = (uint32_t)v;
		if (o->kind == O_F32) {
			memcpy(&f32, &b, 4);
			f64 = f32;
		} else {
			memcpy(&f64, &v, 8);
			f32 = (float)f64;
			memcpy(&b, &f32, 4);
		}
		if (bits == 64)
			memcpy(&v, &f64, 8);
		else if (bits == 32 && type != T_f16x2 && type != T_bf16x2)
			v = b;
		else
			return "a floating-point constant for this type";
	} else if (type == T_f32 || type == T_f64) {
		return "an integer constant for a floating-point type";
	} else if (type == T_pred) {
		v = !!v;
	} else if (bits < 64) {
		v &= (1ull << bits) - 1;
		if (ptx_is_signed(type) && bits < 32 && v >> (bits - 1))
			v |= 0xffffffffu & ~((1ull << bits) - 1);
	}
	*ret = ptx_const_slot(d->p, slot_width(type), v, RL_NONE, NULL);
	return NULL;
}

static void note_shared(struct ptx_dec *d, const struct ptx_variable *v)
{
	if (v->space == SP_SHARED && !v->in_kernel && !v->dynamic)
		d->p->fn->uses_module_shared = true;
}

static const char *var_slot(struct ptx_dec *d, struct ptx_variable *v, int64_t disp, unsigned width, int32_t *ret)
{
	if (width == 4 && (v->space == SP_GLOBAL || v->space == SP_CONST))
		return "a 64-bit address in 32 bits";
	note_shared(d, v);
	if (v->space == SP_LOCAL)
		*ret = ptx_special_slot(d->p, SR_local_sym, width, v->addr + (uint64_t)disp);
	else if (v->space == SP_SHARED && v->dynamic)
		*ret = ptx_special_slot(d->p, SR_dyn_shared, width, (uint64_t)disp);
	else if (v->space == SP_PARAM)
		*ret = ptx_const_slot(d->p, width, v->addr + (uint64_t)disp, RL_NONE, NULL);
	else
		*ret = ptx_const_slot(d->p, width, (uint64_t)disp, RL_VAR, v);
	return NULL;
}

static const char *match_source(struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret)
{
	unsigned bits = ptx_type_bits[type];

	if (o->not&&type != T_pred)
		return "! before a number";
	switch (o->kind) {
	case O_REG:
		if (o->minus)
			return "- before a register";
		return match_reg(o, bits, false, ret);
	case O_INT:
	case O_F32:
	case O_F64:
		return match_number(d, o, type, ret);
	case O_SREG:
		if (o->sreg == SR_unknown)
			return "a special register that is not implemented";
		if (type == T_pred || (sregs[o->sreg].bits == 64 && bits != 64 && o->sreg != SR_gridid))
			return "a special register of the wrong width";
		*ret = ptx_special_slot(d->p, o->sreg, slot_width(type), 0);
		return o->sreg > SR_VOLATILE && strcmp(d->row->op, "mov") ? "a clock outside of mov" : NULL;
	case O_VAR:
		if (bits != 64 && bits != 32)
			return "an address in a narrow type";
		return var_slot(d, o->sym->var, o->disp, bits / 8, ret);
	case O_FUNC:
		if (bits != 64)
			return "an address in a narrow type";
		*ret = ptx_const_slot(d->p, 8, 0, RL_FUNC, o->sym->fn);
		d->p->fn->has_indirect = true;
		return NULL;
	case O_NAME:
		ptx_fail(d->p, d->i->line, "'%.*s' is not declared", (int)(o->len < 60 ? o->len : 60), o->name);
	default:
		return "an operand of another kind";
	}
}

static const char *match_mem(struct ptx_dec *d, const struct ptx_opnd *o, int32_t *ret)
{
	if (o->kind != O_MEM)
		return "an operand that is not an address";
	d->i->imm = o->disp;
	d->i->flags |= F_A64;
	switch (o->base) {
	case O_REG:
		if (ptx_type_bits[o->type] != 64 && ptx_type_bits[o->type] != 32)
			return "an address register of the wrong width";
		if (ptx_type_bits[o->type] == 32)
			d->i->flags &= ~(uint32_t)F_A64;
		*ret = o->off;
		return NULL;
	case O_INT:
		*ret = ptx_const_slot(d->p, 8, 0, RL_NONE, NULL);
		return NULL;
	case O_VAR:
		return var_slot(d, o->sym->var, 0, 8, ret);
	case O_NAME:
		ptx_fail(d->p, d->i->line, "'%.*s' is not declared", (int)(o->len < 60 ? o->len : 60), o->name);
	default:
		return "an address of another kind";
	}
}

/* Vectors: of loads and stores (elements as wide as the type or wider), and of mov (their widths add up to it). */
static const char *match_vec(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	bool dest = letter == 'v' || letter == 'k', pack = letter == 'k' || letter == 'K';
	struct ptx_vec *v = ptx_alloc(d->p->m, sizeof(*v));
	unsigned n = o->kind == O_VEC ? o->nelem : 1, bits = ptx_type_bits[d->i->type], type = d->i->type;
	const char *why = NULL;

	if (pack) {
		if (o->kind != O_VEC || (n != 2 && n != 4))
			return "an operand that is not a vector of 2 or 4";
		bits /= n;
		type = bits == 32 ? T_b32 : bits == 16 ? T_b16 : T_none;
		if (!type)
			return "vector elements of this width";
	} else {
		unsigned want = d->mods & MB(v4) ? 4 : d->mods & MB(v2) ? 2 : 1;
		if (n != want || (want > 1) != (o->kind == O_VEC))
			return "a vector of another length";
	}
	for (unsigned k = 0; k < n && !why; k++) {
		const struct ptx_opnd *e = o->kind == O_VEC ? &o->elem[k] : o;
		v->off[k] = NO_REG;
		v->width[k] = (uint8_t)slot_width(type);
		if (e->kind == O_SINK && dest && o->kind == O_VEC)
			continue;
		if (e->kind == O_REG) {
			why = match_reg(e, bits, !pack, &v->off[k]);
			v->width[k] = (uint8_t)slot_width(e->type);
		} else if (dest) {
			why = "a destination that is not a register";
			if (e->kind == O_NAME)
				match_source(d, e, type, &v->off[k]);
		} else {
			why = match_source(d, e, type, &v->off[k]);
		}
	}
	d->i->vec = (uint8_t)n;
	d->i->u.vecs = v;
	return why;
}

static const char *match_label(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	if (o->kind != O_NAME)
		return "a target that is not a label";
	if (letter == 'B') {
		ptx_fix(d->p, (uint32_t)(d->i - d->p->fn->insns), NULL, o->name, o->len, d->i->line);
		return NULL;
	}
	if (!o->sym || o->sym->kind != SY_LABEL || !o->sym->table)
		return "a list of targets that is not declared before";
	d->i->u.table = o->sym->table;
	return NULL;
}

static unsigned wider(unsigned type)
{
	switch (type) {
	case T_u16:
		return T_u32;
	case T_s16:
		return T_s32;
	case T_u32:
		return T_u64;
	default:
		return T_s64;
	}
}

static const char *match_one(struct ptx_dec *d, char c, const struct ptx_opnd *o, int32_t *ret)
{
	struct ptx_insn *i = d->i;
	unsigned t = i->type, t2 = i->type2;
	const char *why;

	if (o->kind == O_NAME && !strchr("BT", c))
		ptx_fail(d->p, i->line, "'%.*s' is not declared", (int)(o->len < 60 ? o->len : 60), o->name);
	switch (c) {
	case 'r':
		if (o->kind == O_SINK)
			return NULL;
		i->flags |= F_USED;
		return match_reg(o, ptx_type_bits[t], false, ret);
	case 'q':
		if (o->kind == O_SINK)
			return NULL;
		return match_reg(o, ptx_type_bits[t], false, ret);
	case 'd':
		return match_reg(o, ptx_type_bits[t], false, ret);
	case 'D':
		return match_reg(o, ptx_type_bits[t2], false, ret);
	case 'W':
		return match_reg(o, ptx_type_bits[wider(t)], false, ret);
	case 'L':
		why = match_reg(o, ptx_type_bits[t], true, ret);
		if (!why && slot_width(o->type) == 8)
			i->flags |= F_D64;
		return why;
	case 'l':
		if (o->kind == O_REG) {
			why = match_reg(o, ptx_type_bits[t2], true, ret);
			if (!why && slot_width(o->type) == 8)
				i->flags |= F_S64;
			return why;
		}
		if (slot_width(t2) == 8)
			i->flags |= F_S64;
		return match_source(d, o, t2, ret);
	case 'a':
		return match_source(d, o, t, ret);
	case 'A':
		return match_source(d, o, t2, ret);
	case 'X':
		return match_source(d, o, wider(t), ret);
	case 'x':
		return match_source(d, o, T_u32, ret);
	case 'y':
		return match_reg(o, 32, false, ret);
	case 'z':
		return match_source(d, o, T_u64, ret);
	case 'p':
		return o->kind == O_SINK ? NULL : match_reg(o, 1, false, ret);
	case 'P':
		if (o->not)
			i->flags |= F_NEG_SRC;
		return match_source(d, o, T_pred, ret);
	case 'm':
		return match_mem(d, o, ret);
	case 'i':
		i->imm = (int64_t)o->value;
		return o->kind == O_INT ? NULL : "an operand that is not a number";
	case 'B':
	case 'T':
		return match_label(d, o, c);
	default:
		return match_vec(d, o, c);
	}
}

static const char *match_pattern(struct ptx_dec *d)
{
	unsigned k = 0, slot = 0;
	bool optional = false;
	const char *why;

	for (const char *c = d->row->pattern; *c; c++) {
		if (*c == '?') {
			optional = true;
			continue;
		}
		if (k == d->nops) {
			if (!optional)
				return "an operand missing";
			slot++;
			continue;
		}
		why = match_one(d, *c, &d->ops[k], &d->i->o[slot]);
		if (why)
			return why;
		slot++;
		if (d->ops[k].pair) {
			if (!strchr("pqy", *c) || k + 1 == d->nops)
				return "| here";
			d->i->flags |= F_PAIR;
			k++;
			why = match_one(d, 'p', &d->ops[k], &d->i->o[5]);
			if (why)
				return why;
		}
		k++;
	}
	return k == d->nops ? NULL : "one operand too many";
}

/* --- one instruction --------------------------------------------------------------------------------- */
static uint32_t flags_of(ptx_mods m)
{
	uint32_t f = 0;

	f |= m & MB(ftz) ? F_FTZ : 0;
	f |= m & MB(sat) ? F_SAT : 0;
	f |= m & (MB(rz) | MB(rzi)) ? F_RZ : 0;
	f |= m & (MB(rm) | MB(rmi)) ? F_RM : 0;
	f |= m & (MB(rp) | MB(rpi)) ? F_RP : 0;
	f |= m & MB(rna) ? F_RNA : 0;
	f |= m & (MB(rni) | MB(rzi) | MB(rmi) | MB(rpi)) ? F_INT : 0;
	f |= m & MB(cc) ? F_CC : 0;
	f |= m & MB(hi) ? F_HI : 0;
	f |= m & MB(NaN) ? F_NAN : 0;
	f |= m & MB(relu) ? F_RELU : 0;
	return f;
}

static bool at_most_one(ptx_mods m)
{
	return !(m & (m - 1));
}

static void reset_insn(struct ptx_dec *d)
{
	struct ptx_insn *i = d->i;
	struct ptx_insn keep = *i;

	memset(i, 0, sizeof(*i));
	i->pred = keep.pred;
	i->flags = keep.flags & F_NEG_PRED;
	i->line = keep.line;
	i->name = keep.name;
	i->rpc = NO_PC;
	for (unsigned k = 0; k < 6; k++)
		i->o[k] = NO_REG;
	i->type = d->types[0];
	i->type2 = d->types[1];
}

static void refuse(struct ptx_dec *d, const char *why)
{
	char *text;
	size_t n = strlen(why) + 1;

	reset_insn(d);
	text = ptx_alloc(d->p->m, n);
	memcpy(text, why, n);
	d->i->flags |= F_CTRL;
	d->i->arg = C_REFUSED;
	d->i->u.text = text;
}

static bool row_takes(const struct ptx_dec *d, const struct ptx_row *r)
{
	unsigned want = (r->types != 0) + (r->types2 != 0), have = d->ntypes;

	/* SIMD video instructions name the types of all three operands; rows take those that agree */
	if (have == 3 && d->types[0] == d->types[1] && d->types[1] == d->types[2] && !strncmp(r->op, "vabsdiff", 8))
		have = 1;
	if (have != want || (d->mods & r->must) != r->must || d->mods & ~(r->must | r->may))
		return false;
	if (want && !(r->types >> d->types[0] & 1))
		return false;
	return want < 2 || r->types2 >> d->types[1] & 1;
}

static void choose_row(struct ptx_dec *d, const struct ptx_row *r, unsigned n, const char *unknown)
{
	const char *why = unknown ? unknown : "this form is not implemented", *got;
	unsigned nfixes = d->p->nfixes;

	if (!at_most_one(d->mods & (MB(rn) | MB(rz) | MB(rm) | MB(rp) | MB(rna) | MB(rni) | MB(rzi) | MB(rmi) | MB(rpi))))
		n = 0;
	for (; n && !unknown; n--, r++) {
		if (!row_takes(d, r))
			continue;
		reset_insn(d);
		d->row = r;
		d->i->h = r->h;
		d->i->row = r;
		d->i->arg = r->h ? r->arg : r->arg & 0xff;
		d->i->cls = (uint8_t)(r->h ? 0 : r->arg >> 8);
		d->i->size = (uint8_t)ptx_type_bytes(d->i->type);
		d->i->flags |= flags_of(d->mods) | (r->h ? 0 : F_CTRL);
		d->p->nfixes = nfixes;
		got = match_pattern(d);
		if (!got && r->select)
			got = r->select(d);
		if (!got)
			return;
		why = got;
	}
	d->p->nfixes = nfixes;
	refuse(d, why);
}

static const char *const mod_names[M_COUNT] = {
#define X(n) [M_##n] = #n,
	PTX_MODS(X)
#undef X
};

/* One .suffix of the opcode; false when no row knows it. */
static bool take_suffix(struct ptx_dec *d, const struct ptx_token *t)
{
	static const struct {
		const char *name;
		unsigned mod;
	} others[] = {{"shared::cta", M_shared}, {"param::entry", M_param}, {"param::func", M_param}, {"L1", M_hint}, {"L2", M_hint}};

	for (unsigned k = 1; k < T_COUNT; k++)
		if (ptx_tok_is(t, TK_DOT, ptx_type_name[k])) {
			if (d->ntypes == 4)
				return false;
			d->types[d->ntypes++] = (uint8_t)k;
			return true;
		}
	for (unsigned k = 0; k < M_COUNT; k++)
		if (ptx_tok_is(t, TK_DOT, mod_names[k])) {
			d->mods |= (ptx_mods)1 << k;
			return true;
		}
	for (unsigned k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (ptx_tok_is(t, TK_DOT, others[k].name)) {
			d->mods |= (ptx_mods)1 << others[k].mod;
			return true;
		}
	if (t->n > 4 && t->s[0] == 'L' && (t->s[1] == '1' || t->s[1] == '2') && t->s[2] == ':' &&
		!ptx_tok_is(t, TK_DOT, "L2::cache_hint")) {
		d->mods |= MB(hint);
		return true;
	}
	return false;
}

static const char *instruction_name(struct ptx_parse *p, const char *s, size_t n)
{
	char buf[80];
	uint32_t h = 5381;
	size_t k = 0;
	const char **slot;
	char *copy;

	for (; n && k + 1 < sizeof(buf); n--, s++) {
		if (*s <= ' ')
			continue;
		buf[k++] = *s;
		h = h * 33 + (unsigned char)*s;
	}
	buf[k] = 0;
	slot = &p->names[h % 1024];
	if (*slot && !strcmp(*slot, buf))
		return *slot;
	copy = ptx_alloc(p->m, k + 1);
	memcpy(copy, buf, k + 1);
	*slot = copy;
	return copy;
}

/* --- calls ------------------------------------------------------------------------------------------- */
static const char *call_xfers(struct ptx_dec *d, const struct ptx_opnd *list, unsigned n, const struct ptx_formal *f,
	struct ptx_xfer **ret)
{
	struct ptx_xfer *x = *ret = ptx_alloc(d->p->m, (n + 1) * sizeof(*x));

	for (unsigned k = 0; k < n; k++) {
		const struct ptx_opnd *o = &list[k];
		if (o->kind == O_NAME)
			ptx_fail(d->p, d->i->line, "'%.*s' is not declared", (int)(o->len < 60 ? o->len : 60), o->name);
		if (o->kind != O_VAR || o->sym->var->space != SP_LOCAL || o->disp)
			return "an argument that is not a .param variable";
		if (o->sym->var->size != f[k].size)
			return "an argument whose size is not the parameter's";
		x[k] = (struct ptx_xfer){(uint32_t)o->sym->var->addr, f[k].off, (uint32_t)f[k].size};
	}
	return NULL;
}

/* [ (results), ] callee [, (arguments)] [, prototype] */
static const char *decode_call(struct ptx_dec *d)
{
	const struct ptx_opnd *o = d->ops, *end = d->ops + d->nops, *rets = NULL, *args = NULL, *callee;
	struct ptx_call *c = ptx_alloc(d->p->m, sizeof(*c));
	struct ptx_function *fn = d->p->fn;
	const struct ptx_proto *sig;
	const char *why;

	if (d->mods & ~MB(uni))
		return "this form is not implemented";
	if (o < end && o->kind == O_LIST)
		rets = o++;
	if (o == end)
		return "no callee";
	callee = o++;
	if (o < end && o->kind == O_LIST)
		args = o++;
	if (callee->kind == O_NAME)
		ptx_fail(d->p, d->i->line, "function '%.*s' is not declared", (int)(callee->len < 60 ? callee->len : 60),
			callee->name);
	if (callee->kind == O_FUNC && o == end) {
		c->fn = callee->sym->fn;
		sig = &c->fn->sig;
		if (c->fn->is_entry || c->fn->reg_params)
			return "a call of this kind of function";
		fn->callees = ptx_grow(d->p->m, fn->callees, fn->ncallees, &fn->capcallees, sizeof(*fn->callees));
		fn->callees[fn->ncallees++] = c->fn;
	} else if (callee->kind == O_REG && ptx_type_bits[callee->type] == 64 && o + 1 == end && o->sym &&
		o->sym->kind == SY_PROTO) {
		c->target = callee->off;
		sig = o->sym->proto;
		fn->has_indirect = true;
	} else {
		return "this form of call is not implemented";
	}
	c->nrets = rets ? rets->nelem : 0;
	c->nargs = args ? args->nelem : 0;
	if (c->nrets != sig->nrets || c->nargs != sig->nparams)
		return "a call with another number of arguments than its function has";
	why = call_xfers(d, rets ? rets->elem : NULL, c->nrets, sig->rets, &c->rets);
	if (!why)
		why = call_xfers(d, args ? args->elem : NULL, c->nargs, sig->params, &c->args);
	if (why)
		return why;
	reset_insn(d);
	d->i->flags |= F_CTRL;
	d->i->arg = C_CALL;
	d->i->u.call = c;
	return NULL;
}

/* @p, @!p */
static void parse_guard(struct ptx_parse *p, struct ptx_insn *i)
{
	uint8_t type;

	if (!ptx_accept(p, '@'))
		return;
	if (ptx_accept(p, '!'))
		i->flags |= F_NEG_PRED;
	if (p->lx.t.kind != TK_IDENT || !ptx_reg(p, p->lx.t.s, p->lx.t.n, &i->pred, &type) || type != T_pred)
		ptx_fail(p, p->lx.t.line, "'%.*s' is not a predicate", (int)(p->lx.t.n < 60 ? p->lx.t.n : 60), p->lx.t.s);
	ptx_next(p);
}

static void parse_operands(struct ptx_dec *d)
{
	struct ptx_parse *p = d->p;

	p->nelems = 0;
	while (!ptx_punct(p, ';') && !ptx_punct(p, '}') && p->lx.t.kind != TK_EOF) {
		if (d->nops == PTX_MAX_OPNDS)
			ptx_fail(p, p->lx.t.line, "too many operands");
		d->ops[d->nops] = parse_operand(p, 0);
		d->nops++;
		if (ptx_punct(p, '|')) {
			d->ops[d->nops - 1].pair = true;
			ptx_next(p);
		} else if (!ptx_accept(p, ',')) {
			break;
		}
	}
}

static void skip_braces(struct ptx_parse *p)
{
	while (!ptx_punct(p, '}') && !ptx_punct(p, ';') && p->lx.t.kind != TK_EOF)
		ptx_next(p);
	ptx_expect(p, '}');
}

void ptx_decode(struct ptx_parse *p)
{
	struct ptx_opnd ops[PTX_MAX_OPNDS];
	struct ptx_dec d = {.p = p, .ops = ops};
	const char *unknown = NULL, *last;
	const struct ptx_row *r;
	struct ptx_token op;
	unsigned n;

	d.i = ptx_emit(p);
	parse_guard(p, d.i);
	op = p->lx.t;
	if (op.kind != TK_IDENT)
		ptx_fail(p, op.line, "'%.*s' is not an instruction", (int)(op.n < 60 ? op.n : 60), op.s);
	d.i->line = op.line;
	last = op.s + op.n;
	ptx_next(p);
	for (; p->lx.t.kind == TK_DOT; ptx_next(p)) {
		if (!take_suffix(&d, &p->lx.t))
			unknown = "a modifier that is not implemented";
		last = p->lx.t.s + p->lx.t.n;
	}
	d.i->name = instruction_name(p, op.s, (size_t)(last - op.s));
	r = rows_of(op.s, op.n, &n);
	if (r || ptx_tok_is(&op, TK_IDENT, "call"))
		parse_operands(&d);
	else /* whatever its operands look like */
		while (!ptx_punct(p, ';') && !ptx_punct(p, '}') && p->lx.t.kind != TK_EOF)
			ptx_accept(p, '{') ? skip_braces(p) : ptx_next(p);
	if (!ptx_punct(p, ';'))
		ptx_fail(p, p->lx.t.line, "';' should end %s", d.i->name);
	if (ptx_tok_is(&op, TK_IDENT, "call")) {
		const char *why = unknown ? unknown : decode_call(&d);
		if (why)
			refuse(&d, why);
	} else {
		choose_row(&d, r, n, r ? unknown : "the instruction is not implemented");
	}
	ptx_next(p);
}
