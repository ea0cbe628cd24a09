/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of PTX instructions: reading them, and matching them to the pattern of a row of
 * ptx-insns.def.
 */
/* clang-format off */
/* A pattern has one letter per operand:
 *
 *   d D   destination of the first, second type
 *   a A   source of the first, second type
 *   W X   destination, source twice as wide as the first type
 *   w x z 16-bit, 32-bit, 64-bit source
 *   y     32-bit destination
 *   L     destination at least as wide as the first type
 *   l     source at least as wide as the second type
 *   r     like d, or the sink _
 *   q     like d, and |p may follow
 *   Y     32-bit destination or the sink; |p may follow
 *   p P   predicate destination, p|q or _; predicate source, !p
 *   v k   vector destination: of loads; unpacking
 *   V K   vector source: of stores; packing
 *   e F   vector destination (or _), source of an atomic
 *   g G   destination, source fragment of a matrix
 *   o O   destination, source of a video instruction
 *   m M   memory; one of several memory operands
 *   E     what st.async stores: a register, or a vector for .v2 and .v4
 *   i j   immediate integer; the same, without a slot
 *   B T   label; table of labels
 *   u U t h  texture instructions: destinations, sources, texture and coordinates, level or
 *         gradients (ptx-tex.c)
 *   ?     the next operand may be missing
 */
/* clang-format on */
#include "softgpu/ptx/ptx-dec.h"

#include <stdio.h>
#include <string.h>

/* --- operands --- */
const struct ptx_sreg_row ptx_sregs[SR_COUNT] = {
#define X(n, s, b) [SR_##n] = {s, b},
	PTX_SREGS(X)
#undef X
};

int ptx_sreg_find(const char *name, size_t n)
{
	for (unsigned k = 0; k < SR_COUNT; k++)
		if (ptx_sregs[k].bits && strlen(ptx_sregs[k].name) == n && n &&
			!memcmp(ptx_sregs[k].name, name, n))
			return (int)k;
	return -1;
}

/* Special registers that the software GPU does not have: an instruction that reads one is refused,
 * not the module. */
static bool known_sreg(const char *s, size_t n)
{
	static const char *const prefixes[] = {
		"%tid", "%ntid", "%ctaid", "%nctaid", "%cluster", "%nclusterid", "%pm"};

	for (unsigned k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
		if (n >= strlen(prefixes[k]) && !memcmp(s, prefixes[k], strlen(prefixes[k])))
			return true;
	return false;
}

/* Special registers that are zero here: the environment's that the driver does not set, where the
 * system's shared memory lies (there is none), the graph that runs (graphs are not launched from
 * kernels). */
static bool zero_sreg(const char *s, size_t n)
{
	static const char *const prefixes[] = {
		"%envreg", "%reserved_smem_offset", "%current_graph_exec"};

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
		if (p->lx.t.kind == TK_DOT && p->lx.t.glued) {
			o->sel = p->lx.t.s;
			o->nsel = (uint32_t)p->lx.t.n;
			ptx_next(p);
		}
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
	sr = ptx_sreg_find(o->name, o->len);
	if (sr < 0 && zero_sreg(o->name, o->len))
		sr = SR_zero;
	if (sr < 0 && known_sreg(o->name, o->len))
		sr = SR_unknown;
	o->kind = sr >= 0 ? O_SREG : O_NAME;
	o->sreg = (uint8_t)(sr >= 0 ? sr : 0);
	o->sym = y;
}

static void parse_list(struct ptx_parse *p, struct ptx_opnd *o, char close)
{
	struct ptx_opnd e[64];

	while (!ptx_punct(p, close)) {
		if (o->nelem == 64)
			ptx_fail(p, p->lx.t.line, "too many operands");
		e[o->nelem++] = ptx_operand(p, 1);
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

/* [texture, {x, y}] */
static void parse_coordinates(struct ptx_parse *p, struct ptx_opnd *o)
{
	o->at = true;
	ptx_expect(p, '{');
	parse_list(p, o, '}');
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
	if (b.nsel)
		ptx_fail(p, p->lx.t.line, "a part of a register in an address");
	*o = (struct ptx_opnd){.kind = O_MEM,
		.base = (uint8_t)b.kind,
		.off = b.off,
		.type = b.type,
		.sym = b.sym,
		.name = b.name,
		.len = b.len,
		.disp = o->disp};
	o->disp = (int64_t)((uint64_t)o->disp + (uint64_t)parse_disp(p));
	if (ptx_accept(p, ','))
		parse_coordinates(p, o);
	ptx_expect(p, ']');
}

struct ptx_opnd ptx_operand(struct ptx_parse *p, unsigned depth)
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
	o.not = ptx_accept(p, '!');
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
		ptx_fail(p, p->lx.t.line, "'%.*s' is not an operand",
			(int)(p->lx.t.n < 60 ? p->lx.t.n : 60), p->lx.t.s);
	}
	return o;
}

/* --- matching an operand to a letter; each returns why not, or NULL --- */
static unsigned slot_width(unsigned type)
{
	return type == T_pred ? 0 : ptx_type_bits[type] == 64 ? 8 : 4;
}

static const char *match_reg(const struct ptx_opnd *o, unsigned bits, bool loose, int32_t *ret)
{
	if (o->kind != O_REG)
		return "an operand that is not a register";
	if (o->nsel)
		return "a part of a register";
	if (o->type == T_pred || bits == 1) {
		if (o->type != T_pred || bits != 1)
			return "predicate and number mixed up";
	} else if (loose ? ptx_type_bits[o->type] < bits || (o->type == T_b128 && bits != 128)
			 : ptx_type_bits[o->type] != bits) {
		return "a register of the wrong width";
	}
	*ret = o->off;
	return NULL;
}

static const char *match_number(
	struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret)
{
	uint64_t v = o->value;
	unsigned bits = ptx_type_bits[type];
	double f64;
	float f32;

	if (bits > 64)
		return "a number of 128 bits";
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

static const char *var_slot(
	struct ptx_dec *d, struct ptx_variable *v, int64_t disp, unsigned width, int32_t *ret)
{
	if (width == 4 && (v->space == SP_GLOBAL || v->space == SP_CONST))
		return "a 64-bit address in 32 bits";
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

static const char *match_source(
	struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret)
{
	unsigned bits = ptx_type_bits[type];

	if (o->not &&type != T_pred)
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
		if (bits > 64)
			return "a special register of the wrong width";
		if (o->sreg == SR_unknown)
			return "a special register that is not implemented";
		if ((type == T_pred) != (ptx_sregs[o->sreg].bits == 1) ||
			(ptx_sregs[o->sreg].bits == 64 && bits != 64 && o->sreg != SR_gridid))
			return "a special register of the wrong width";
		*ret = ptx_special_slot(d->p, o->sreg, slot_width(type), 0);
		return o->sreg > SR_VOLATILE && strcmp(d->row->op, "mov") ? "a clock outside of mov"
									  : NULL;
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
		ptx_fail(d->p, d->i->line, "'%.*s' is not declared",
			(int)(o->len < 60 ? o->len : 60), o->name);
	default:
		return "an operand of another kind";
	}
}

static const char *match_mem(struct ptx_dec *d, const struct ptx_opnd *o, int32_t *ret)
{
	if (o->kind != O_MEM)
		return "an operand that is not an address";
	if (o->at)
		return "coordinates";
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
		ptx_fail(d->p, d->i->line, "'%.*s' is not declared",
			(int)(o->len < 60 ? o->len : 60), o->name);
	default:
		return "an address of another kind";
	}
}

/* One of several: all of them in u.ats, its place among them being how many came before. */
static const char *match_at(struct ptx_dec *d, const struct ptx_opnd *o, int32_t *ret)
{
	uint32_t flags = d->i->flags;
	int64_t imm = d->i->imm;
	struct ptx_at *at;
	const char *why;

	if (!d->i->u.ats)
		d->i->u.ats = ptx_alloc(d->p->m, PTX_MAX_ATS * sizeof(*at));
	for (at = d->i->u.ats; at < d->i->u.ats + PTX_MAX_ATS && at->used; at++)
		;
	if (at == d->i->u.ats + PTX_MAX_ATS)
		return "more memory operands than are possible";
	why = match_mem(d, o, ret);
	if (why)
		return why;
	at->off = *ret;
	at->used = true;
	at->disp = d->i->imm;
	at->wide = d->i->flags & F_A64;
	d->i->imm = imm;
	d->i->flags = flags;
	return NULL;
}

/* Vectors: of loads and stores (elements as wide as the type or wider), and of mov (their widths
 * add up to it). */
static const char *match_vec(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	bool dest = letter == 'v' || letter == 'k', pack = letter == 'k' || letter == 'K';
	struct ptx_vec *v = ptx_alloc(d->p->m, sizeof(*v));
	unsigned n = o->kind == O_VEC ? o->nelem : 1, bits = ptx_type_bits[d->i->type],
		 type = d->i->type;
	const char *why = NULL;

	if (pack) {
		if (o->kind != O_VEC || (n != 2 && n != 4))
			return "an operand that is not a vector of 2 or 4";
		bits /= n;
		type = bits == 64 ? T_b64 : bits == 32 ? T_b32 : bits == 16 ? T_b16 : T_none;
		if (!type)
			return "vector elements of this width";
	} else {
		unsigned want = d->mods & MB(v8)   ? 8
				: d->mods & MB(v4) ? 4
				: d->mods & MB(v2) ? 2
						   : 1;
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

static const char *match_vecatom(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	struct ptx_vecatom *a =
		letter == 'F' && d->i->u.vecatom ? d->i->u.vecatom : ptx_alloc(d->p->m, sizeof(*a));
	const char *why = NULL;

	if (o->kind == O_SINK && letter == 'e') {
		for (unsigned k = 0; k < 8; k++)
			a->d.off[k] = NO_REG;
	} else {
		why = match_vec(d, o, letter == 'e' ? 'v' : 'V');
		if (!why)
			*(letter == 'e' ? &a->d : &a->s) = *d->i->u.vecs;
	}
	d->i->u.vecatom = a;
	return why;
}

/* What an asynchronous store stores; its memory operands came before. */
static const char *match_stored(struct ptx_dec *d, const struct ptx_opnd *o)
{
	struct ptx_at *ats = d->i->u.ats;
	const char *why = match_vec(d, o, 'V');

	if (!why)
		ats[0].vec = *d->i->u.vecs;
	d->i->u.ats = ats;
	return why;
}

/* A fragment: registers in braces, all 32 or all 64 bits wide. */
static const char *match_frag(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	bool wide = d->ntypes && d->types[d->ntypes - 1] == T_f64;
	struct ptx_mma *m = d->i->u.mma;
	const char *why = NULL;
	struct ptx_frag *f;

	if (o->kind != O_VEC || !o->nelem || o->nelem > 8)
		return "an operand that is not a vector";
	if (!m)
		m = d->i->u.mma = ptx_alloc(d->p->m, sizeof(*m));
	f = &m->f[m->nfrag++];
	f->n = (uint8_t)o->nelem;
	f->width = wide ? 8 : 4;
	for (unsigned k = 0; k < f->n && !why; k++) {
		const struct ptx_opnd *e = &o->elem[k];
		bool real = e->kind == O_F32 || e->kind == O_F64;
		if (e->kind == O_NAME)
			ptx_fail(d->p, d->i->line, "'%.*s' is not declared",
				(int)(e->len < 60 ? e->len : 60), e->name);
		if (letter == 'g')
			why = match_reg(e, wide ? 64 : 32, false, &f->off[k]);
		else
			why = match_source(d, e,
				wide   ? real ? T_f64 : T_b64
				: real ? T_f32
				       : T_b32,
				&f->off[k]);
	}
	return why;
}

static const char *match_label(struct ptx_dec *d, const struct ptx_opnd *o, char letter)
{
	if (o->kind != O_NAME)
		return "a target that is not a label";
	if (letter == 'B') {
		ptx_fix(d->p, (uint32_t)(d->i - d->p->fn->insns), NULL, o->name, o->len,
			d->i->line);
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

/* An operand of a video instruction, with its selectors. */
static const char *match_video(struct ptx_dec *d, char c, const struct ptx_opnd *o, int32_t *ret)
{
	struct ptx_opnd plain = *o;
	const char *why;

	plain.nsel = 0;
	if (c == 'O')
		plain.minus &= o->kind != O_REG;
	why = c == 'o' ? match_reg(&plain, 32, false, ret) : match_source(d, &plain, T_u32, ret);
	return why ? why : ptx_video_operand(d, o);
}

/* A register that may be wider than its type. */
static const char *match_loose(struct ptx_dec *d, char c, const struct ptx_opnd *o, int32_t *ret)
{
	const unsigned type = c == 'L' ? d->i->type : d->i->type2;
	const char *why;

	if (c == 'l' && o->kind != O_REG) {
		if (slot_width(type) == 8)
			d->i->flags |= F_S64;
		return match_source(d, o, type, ret);
	}
	why = match_reg(o, ptx_type_bits[type], true, ret);
	if (!why && slot_width(o->type) == 8)
		d->i->flags |= c == 'L' ? F_D64 : F_S64;
	return why;
}

/* Of the letters that stand for one register or number. */
static unsigned type_of_letter(const struct ptx_dec *d, char c)
{
	switch (c) {
	case 'D':
	case 'A':
		return d->i->type2;
	case 'W':
	case 'X':
		return wider(d->i->type);
	case 'w':
		return T_u16;
	case 'x':
	case 'y':
	case 'Y':
		return T_u32;
	case 'z':
		return T_u64;
	default:
		return d->i->type;
	}
}

/* Operands with rules of their own. */
static const char *match_several(struct ptx_dec *d, char c, const struct ptx_opnd *o, int32_t *ret)
{
	if (strchr("oO", c))
		return match_video(d, c, o, ret);
	if (strchr("lL", c))
		return match_loose(d, c, o, ret);
	if (strchr("gG", c))
		return match_frag(d, o, c);
	if (strchr("BT", c))
		return match_label(d, o, c);
	if (strchr("uUth", c))
		return ptx_tex_match(d, o, c, ret);
	return match_vec(d, o, c);
}

static const char *match_one(struct ptx_dec *d, char c, const struct ptx_opnd *o, int32_t *ret)
{
	struct ptx_insn *i = d->i;

	if (o->kind == O_NAME && !strchr("BT", c))
		ptx_fail(d->p, i->line, "'%.*s' is not declared", (int)(o->len < 60 ? o->len : 60),
			o->name);
	if (o->kind == O_SINK && strchr("rqpY", c))
		return NULL;
	if (c == 'r')
		i->flags |= F_USED;
	switch (c) {
	case 'r':
	case 'q':
	case 'd':
	case 'D':
	case 'W':
	case 'y':
	case 'Y':
		return match_reg(o, ptx_type_bits[type_of_letter(d, c)], false, ret);
	case 'a':
	case 'A':
	case 'X':
	case 'w':
	case 'x':
	case 'z':
		return match_source(d, o, type_of_letter(d, c), ret);
	case 'p':
		return match_reg(o, 1, false, ret);
	case 'P':
		if (o->not )
			i->flags |= F_NEG_SRC;
		return match_source(d, o, T_pred, ret);
	case 'm':
		return match_mem(d, o, ret);
	case 'M':
		return match_at(d, o, ret);
	case 'e':
	case 'F':
		return match_vecatom(d, o, c);
	case 'E':
		return match_stored(d, o);
	case 'i':
	case 'j':
		i->imm = (int64_t)o->value;
		return o->kind == O_INT ? NULL : "an operand that is not a number";
	default:
		return match_several(d, c, o, ret);
	}
}

const char *ptx_match_source(
	struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret)
{
	if (o->kind == O_NAME)
		ptx_fail(d->p, d->i->line, "'%.*s' is not declared",
			(int)(o->len < 60 ? o->len : 60), o->name);
	return match_source(d, o, type, ret);
}

const char *ptx_match_reg(const struct ptx_opnd *o, unsigned bits, bool loose, int32_t *ret)
{
	return match_reg(o, bits, loose, ret);
}

const char *ptx_match(struct ptx_dec *d)
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
		slot += *c != 'j';
		if (d->ops[k].pair) {
			if (!strchr("pqyY", *c) || k + 1 == d->nops)
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
