/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic and comparisons on f16, bf16 and packed pairs of them: exact in double precision, then
 * rounded once. min and max with .xorsign are here for f32 too.
 */
#include "softgpu/insns/ptx-cvt.h"

#include "softgpu/ptx/ptx-dec.h"

enum {
	HALF_ADD,
	HALF_SUB,
	HALF_MUL,
	HALF_FMA,
	HALF_NEG,
	HALF_ABS,
	HALF_MIN,
	HALF_MAX,
	HALF_EX2,
	HALF_TANH
};

static bool is_pair(unsigned type)
{
	return type == T_f16x2 || type == T_bf16x2;
}

static unsigned element_of(unsigned type)
{
	return type == T_f16x2 ? T_f16 : type == T_bf16x2 ? T_bf16 : type;
}

/* A product of two halves is exact in a double; the sum of it and a third may not be. Rounding to
 * odd keeps the second rounding right. */
static double add_odd(double x, double y)
{
	double s = x + y, bb = s - x, err = (x - (s - bb)) + (y - bb);
	uint64_t u;

	if (err != 0 && isfinite(s) && !(ptx_d2u(s) & 1)) {
		u = ptx_d2u(s);
		u += (err > 0) == (s > 0) ? 1 : -1ull;
		return ptx_u2d(u);
	}
	return s;
}

static uint32_t sign_of(unsigned type)
{
	return type == T_f32 ? 0x80000000 : 0x8000;
}

static uint32_t nan_of(unsigned type)
{
	return sign_of(type) - 1;
}

/* Subnormals become zeros of their sign. */
static uint32_t flush(unsigned type, uint32_t bits, unsigned flags)
{
	uint32_t exponent = type == T_f16 ? 0x7c00 : type == T_bf16 ? 0x7f80 : 0x7f800000;

	return !(flags & F_FTZ) || bits & exponent ? bits : bits & sign_of(type);
}

/* A number wins against NaN, -0 is below +0. With .xorsign the magnitudes are compared: "PTX
 * ISA 9.0", 9.7.3.12. */
static uint32_t min_max(
	unsigned type, bool max, uint32_t a, uint32_t b, unsigned flags, bool xorsign)
{
	uint32_t sign = (a ^ b) & sign_of(type), r;
	double x, y;

	if (xorsign) {
		a &= ~sign_of(type);
		b &= ~sign_of(type);
	}
	x = ptx_to_double(type, a);
	y = ptx_to_double(type, b);
	if ((isnan(x) && isnan(y)) || (flags & F_NAN && (isnan(x) || isnan(y))))
		return nan_of(type);
	if (isnan(x))
		r = b;
	else if (isnan(y))
		r = a;
	else if (x == y)
		r = signbit(x) == max ? b : a;
	else
		r = (x < y) == max ? b : a;
	return xorsign ? (r & ~sign_of(type)) | sign : r;
}

static double compute(unsigned op, double x, double y, double z)
{
	switch (op) {
	case HALF_ADD:
		return add_odd(x, y);
	case HALF_SUB:
		return add_odd(x, -y);
	case HALF_MUL:
		return x * y;
	case HALF_FMA:
		return add_odd(x * y, z);
	case HALF_EX2:
		return exp2(x);
	default:
		return tanh(x);
	}
}

static uint32_t half_op(const struct ptx_insn *i, unsigned type, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t all = type == T_f32 ? ~0u : 0xffff;
	double r;

	a = flush(type, a & all, i->flags);
	b = flush(type, b & all, i->flags);
	c = flush(type, c & all, i->flags);
	switch (i->arg) {
	case HALF_NEG:
		return isnan(ptx_to_double(type, a)) ? nan_of(type) : a ^ sign_of(type);
	case HALF_ABS:
		return isnan(ptx_to_double(type, a)) ? nan_of(type) : a & ~sign_of(type);
	case HALF_MIN:
	case HALF_MAX:
		return min_max(type, i->arg == HALF_MAX, a, b, i->flags, i->cls);
	}
	r = compute(i->arg, ptx_to_double(type, a), ptx_to_double(type, b), ptx_to_double(type, c));
	if (i->flags & F_SAT)
		r = r > 1 ? 1 : r > 0 ? r : 0;
	if (i->flags & F_RELU && r <= 0)
		r = 0;
	return flush(type, (uint32_t)ptx_from_double(type, r, i->flags & F_ROUND), i->flags);
}

void h_half(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	unsigned type = element_of(i->type);

	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], b = i->o[2] == NO_REG ? 0 : REG(u32a, 2)[l];
		uint32_t c = i->o[3] == NO_REG ? 0 : REG(u32a, 3)[l];
		uint32_t r = half_op(i, type, a, b, c);
		if (is_pair(i->type))
			r |= half_op(i, type, a >> 16, b >> 16, c >> 16) << 16;
		REG(u32a, 0)[l] = r;
	}
}

/* min.xorsign.abs: one is not there without the other. */
const char *sel_xorsign(struct ptx_dec *d)
{
	d->i->cls = 1;
	return NULL;
}

/* --- comparisons --- */
enum { HALF_NO_BOOL, HALF_AND, HALF_OR, HALF_XOR };
/* arg: the comparison; cls: how its outcome and the predicate are combined. */
const char *sel_half_cmp(struct ptx_dec *d)
{
	static const uint8_t mods[] = {M_eq, M_ne, M_lt, M_le, M_gt, M_ge, M_equ, M_neu, M_ltu,
		M_leu, M_gtu, M_geu, M_num, M_nan};
	ptx_mods boolean = d->mods & (MB(and) | MB(or) | MB(xor));
	unsigned found = 0;

	for (unsigned k = 0; k < sizeof(mods); k++)
		if (d->mods >> mods[k] & 1) {
			d->i->arg = k;
			found++;
		}
	if (found != 1 || d->mods & (MB(lo) | MB(ls) | MB(hi) | MB(hs)))
		return "this comparison";
	if (!boolean != (d->i->o[3] == NO_REG) || boolean & (boolean - 1))
		return "this combination of predicates";
	if (d->i->flags & F_PAIR && !is_pair(d->i->type))
		return "a second predicate";
	if (d->i->type2 && is_pair(d->i->type) && d->i->type != d->i->type2)
		return "a pair of another type";
	d->i->cls = boolean == MB(and)	 ? HALF_AND
		    : boolean == MB(or)	 ? HALF_OR
		    : boolean == MB(xor) ? HALF_XOR
					 : HALF_NO_BOOL;
	return NULL;
}

static bool half_compare(unsigned op, double x, double y)
{
	bool un = isnan(x) || isnan(y);

	switch (op % 6) {
	case 0:
		return op >= 12 ? !un : op >= 6 ? un || x == y : x == y;
	case 1:
		return op >= 12 ? un : op >= 6 ? x != y : x != y && !un;
	case 2:
		return op >= 6 ? !(x >= y) : x < y;
	case 3:
		return op >= 6 ? !(x > y) : x <= y;
	case 4:
		return op >= 6 ? !(x <= y) : x > y;
	default:
		return op >= 6 ? !(x < y) : x >= y;
	}
}

static uint32_t combine(unsigned how, uint32_t r, uint32_t c)
{
	return how == HALF_AND ? r & c : how == HALF_OR ? r | c : how == HALF_XOR ? r ^ c : r;
}

/* A bit per lane where the comparison, combined with the predicate, holds: of the low halves, and
 * of the high ones. */
static void compare(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, unsigned types,
	uint32_t *low, uint32_t *high)
{
	unsigned type = element_of(types);
	uint32_t p = 0, q = 0, c = 0;

	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], b = REG(u32a, 2)[l];
		uint32_t al = flush(type, a & 0xffff, i->flags),
			 bl = flush(type, b & 0xffff, i->flags);
		uint32_t ah = flush(type, a >> 16, i->flags), bh = flush(type, b >> 16, i->flags);
		p |= (uint32_t)half_compare(
			     i->arg, ptx_to_double(type, al), ptx_to_double(type, bl))
		     << l;
		if (is_pair(types))
			q |= (uint32_t)half_compare(
				     i->arg, ptx_to_double(type, ah), ptx_to_double(type, bh))
			     << l;
	}
	if (i->cls)
		c = i->flags & F_NEG_SRC ? ~PRED(3) : PRED(3);
	*low = combine(i->cls, p, c);
	*high = combine(i->cls, q, c);
}

/* setp.CMP.f16 p, a, b, and setp.CMP.f16x2 p|q, a, b: p of the low halves, q of the high ones. */
void h_half_setp(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t p, q;

	compare(w, i, mask, i->type, &p, &q);
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, q);
	if (i->o[0] != NO_REG)
		ptx_set_pred(&PRED(0), mask, p);
}

/* What true is in a result: of a pair, in each half. */
static uint32_t truth(unsigned type, bool pair)
{
	switch (element_of(type)) {
	case T_f16:
		return 0x3c00;
	case T_bf16:
		return 0x3f80;
	default:
		return pair || ptx_type_bits[type] == 16 ? 0xffff : 0xffffffff;
	}
}

/* set.CMP.type.f16 d, a, b: "PTX ISA 9.0", 9.7.7.1. */
void h_half_set(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t p, q, one = truth(i->type, is_pair(i->type2));

	compare(w, i, mask, i->type2, &p, &q);
	EACH_LANE(l)
	REG(u32a, 0)
	[l] = (p >> l & 1 ? one : 0) | (is_pair(i->type2) && q >> l & 1 ? one << 16 : 0);
}
