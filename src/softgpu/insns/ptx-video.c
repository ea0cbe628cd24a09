/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions: arithmetic on bytes, half-words and words picked out of registers, one at a
 * time or two or four side by side, then saturated, and merged into or added to a third operand.
 * "PTX ISA 9.0", 9.7.18. No GPU since Kepler has most of them; the assembler writes them out, and
 * not always as that text says. Where the two differ, this is the assembler's (CUDA 13.0, sm_90),
 * seen on an H200.
 */
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"

#include <ctype.h>

enum video_op { V_ADD, V_SUB, V_AVRG, V_ABSDIFF, V_MIN, V_MAX, V_SHL, V_SHR, V_MAD, V_SET };
enum { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };
enum { OF_D, OF_A, OF_B, OF_C };

struct ptx_video {
	char sel[4][8]; /* as written behind the register, or "" */
	uint8_t nsel;
	bool minus[4];
	uint8_t op, parts; /* 1, 2 or 4 at a time */
	bool sign[3];	   /* of d, a, b */
	bool sat, wrap, po;
	uint8_t second, scale, cmp;
	uint8_t pick[2][4]; /* of a and b: which part of {b, a} element k is */
	uint8_t mask;	    /* elements of d that are results */
};

typedef __int128 wide;

static wide clamp(wide v, unsigned bits, bool sign)
{
	wide most = ((wide)1 << (sign ? bits - 1 : bits)) - 1, least = sign ? -most - 1 : 0;

	return v < least ? least : v > most ? most : v;
}

static int64_t extend(uint64_t v, unsigned bits, bool sign)
{
	v &= bits == 64 ? ~0ull : (1ull << bits) - 1;
	return sign && v >> (bits - 1) & 1 ? (int64_t)(v | ~0ull << bits) : (int64_t)v;
}

static bool compare(unsigned cmp, int64_t a, int64_t b)
{
	switch (cmp) {
	case M_eq:
		return a == b;
	case M_ne:
		return a != b;
	case M_lt:
		return a < b;
	case M_le:
		return a <= b;
	case M_gt:
		return a > b;
	default:
		return a >= b;
	}
}

static wide compute(const struct ptx_video *v, int64_t a, int64_t b)
{
	wide sum = (wide)a + b;

	switch (v->op) {
	case V_ADD:
		return sum;
	case V_SUB:
		return (wide)a - b;
	case V_AVRG:
		return (sum >= 0 ? sum + 1 : sum) >> 1;
	case V_ABSDIFF:
		return a > b ? (wide)a - b : (wide)b - a;
	case V_MIN:
		return a < b ? a : b;
	case V_MAX:
		return a > b ? a : b;
	case V_SHL: /* 34 bits of it are kept */
		return extend((uint64_t)a << (v->wrap ? b & 31 : b > 32 ? 32 : b), 34, true);
	case V_SHR:
		return (wide)a >> (v->wrap ? b & 31 : b > 32 ? 32 : b);
	default:
		return compare(v->cmp, a, b);
	}
}

/* --- one at a time --- */
/* "b2": 8 bits from bit 16 on; nothing: all 32. */
static void part_of(const char *sel, unsigned *bits, unsigned *shift)
{
	*bits = sel[0] == 'b' ? 8 : sel[0] == 'h' ? 16 : 32;
	*shift = sel[0] ? (unsigned)(sel[1] - '0') * *bits : 0;
}

static int64_t pick_part(const struct ptx_video *v, unsigned which, uint32_t word)
{
	unsigned bits, shift;

	part_of(v->sel[which], &bits, &shift);
	return extend(word >> shift, bits, v->sign[which]);
}

/* Whole registers and c are signed, whatever their types; a sum that is not signed is shifted as
 * one of 64 bits. */
static uint32_t multiply_add(const struct ptx_video *v, int64_t a, int64_t b, uint32_t c)
{
	bool negate = v->minus[OF_A] != v->minus[OF_B],
	     sign = v->sign[OF_A] || v->sign[OF_B] || negate || v->minus[OF_C];
	int64_t add = (int32_t)c, sum;

	a = v->sel[OF_A][0] ? a : (int32_t)a;
	b = v->sel[OF_B][0] ? b : (int32_t)b;
	sum = (negate && !v->po ? -(a * b) : a * b) +
	      (v->minus[OF_C] && !negate && !v->po ? -add : add) + v->po;
	if (v->scale)
		sum = sign ? sum >> v->scale : (int64_t)((uint64_t)sum >> v->scale);
	return (uint32_t)(v->sat ? clamp(sum, 32, sign) : sum);
}

/* To a whole register. Of add, sub and absdiff the low 32 bits are known, and whether it is
 * negative: .sat to an unsigned word makes 0 of that, and nothing is too large. Without .sat a
 * second operation finds the sign there: above INT32_MAX an unsigned word is larger than any. */
static wide to_word(const struct ptx_video *v, wide r)
{
	if (v->op > V_ABSDIFF || v->op == V_AVRG)
		return v->sat ? clamp(r, 32, v->sign[OF_D]) : r;
	if (v->sat)
		return v->sign[OF_D] ? clamp(r, 32, true) : r < 0 ? 0 : (uint32_t)r;
	if (v->op == V_ABSDIFF)
		return r;
	return v->sign[OF_D] ? (int32_t)(uint32_t)r : (wide)(uint64_t)(int32_t)(uint32_t)r;
}

/* To a part of one: .sat takes what is negative for too large; shifts saturate to 32 bits, whatever
 * the part. */
static wide to_part(const struct ptx_video *v, wide r, unsigned bits)
{
	wide most = ((wide)1 << (v->sign[OF_D] ? bits - 1 : bits)) - 1;

	if (!v->sat)
		return r;
	if (v->op == V_SHL || v->op == V_SHR)
		return clamp(r, 32, v->sign[OF_D]);
	return r < 0 || r > most ? most : r;
}

static uint32_t scalar(const struct ptx_video *v, uint32_t wa, uint32_t wb, uint32_t wc)
{
	int64_t a = pick_part(v, OF_A, wa), b = pick_part(v, OF_B, wb),
		c = extend(wc, 32, v->sign[OF_D]);
	unsigned bits, shift;
	uint32_t part;
	wide r;

	if (v->op == V_MAD)
		return multiply_add(v, a, b, wc);
	part_of(v->sel[OF_D], &bits, &shift);
	r = compute(v, a, b);
	r = bits == 32 ? to_word(v, r) : to_part(v, r, bits);
	if (v->second == SECOND_ADD)
		r += c;
	else if (v->second)
		r = (r < c) == (v->second == SECOND_MIN) ? r : c;
	if (bits == 32)
		return (uint32_t)r;
	part = ((1u << bits) - 1) << shift;
	return (wc & ~part) | ((uint32_t)r << (bits == 8 ? shift : 0) &
				      part); /* .h1 takes the result's high half */
}

/* --- side by side --- */
static uint32_t side_by_side(const struct ptx_video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t both = (uint64_t)b << 32 | a;
	unsigned bits = 32u / v->parts;
	uint32_t one = (1u << bits) - 1, d = c;

	for (unsigned k = 0; k < v->parts; k++) {
		int64_t x = extend(both >> v->pick[0][k] * bits, bits, v->sign[OF_A]),
			y = extend(both >> v->pick[1][k] * bits, bits, v->sign[OF_B]);
		wide r = compute(v, x, y);
		if (!(v->mask >> k & 1))
			continue;
		if (v->sat)
			r = clamp(r, bits, v->sign[OF_D]);
		if (v->second)
			d += (uint32_t)r;
		else
			d = (d & ~(one << k * bits)) | ((uint32_t)r & one) << k * bits;
	}
	return d;
}

void h_video(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_video *v = i->u.video;

	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], b = REG(u32a, 2)[l],
			 c = i->o[3] == NO_REG ? 0 : REG(u32a, 3)[l];
		REG(u32a, 0)[l] = v->parts == 1 ? scalar(v, a, b, c) : side_by_side(v, a, b, c);
	}
}

/* --- decoding --- */
/* Keeps the selector that follows a register; why it cannot, or NULL. */
const char *ptx_video_operand(struct ptx_dec *d, const struct ptx_opnd *o)
{
	struct ptx_video *v = d->i->u.video;

	if (!v)
		v = d->i->u.video = ptx_alloc(d->p->m, sizeof(*v));
	if (o->nsel >= sizeof(v->sel[0]))
		return "this part of a register";
	if (o->nsel)
		memcpy(v->sel[v->nsel], o->sel, o->nsel);
	v->minus[v->nsel++] = o->minus && o->kind == O_REG;
	return NULL;
}

static const struct {
	const char *name;
	enum video_op op;
} ops[] = {{"vadd", V_ADD}, {"vsub", V_SUB}, {"vavrg", V_AVRG}, {"vabsdiff", V_ABSDIFF},
	{"vmin", V_MIN}, {"vmax", V_MAX}, {"vshl", V_SHL}, {"vshr", V_SHR}, {"vmad", V_MAD},
	{"vset", V_SET}};

static void read_op(const char *op, struct ptx_video *v)
{
	size_t n = strlen(op);

	v->parts = isdigit((unsigned char)op[n - 1]) ? (uint8_t)(op[n - 1] - '0') : 1;
	n -= v->parts > 1;
	for (unsigned k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (strlen(ops[k].name) == n && !memcmp(ops[k].name, op, n))
			v->op = (uint8_t)ops[k].op;
}

static const char *read_types(const struct ptx_dec *d, struct ptx_video *v)
{
	bool set = v->op == V_SET;

	if (d->ntypes != (set ? 2 : 3))
		return "another number of types";
	for (unsigned k = 0; k < d->ntypes; k++) {
		if (d->types[k] != T_u32 && d->types[k] != T_s32)
			return "these types";
		v->sign[k + set] = d->types[k] == T_s32;
	}
	if ((v->op == V_SHL || v->op == V_SHR) && v->sign[OF_B])
		return "a signed number of bits";
	return NULL;
}

static const char *read_modifiers(const struct ptx_dec *d, struct ptx_video *v)
{
	static const uint8_t cmps[] = {M_eq, M_ne, M_lt, M_le, M_gt, M_ge};
	ptx_mods second = d->mods & (MB(add) | MB(min) | MB(max));
	unsigned found = 0;

	v->sat = (d->mods & MB(sat)) != 0;
	v->wrap = (d->mods & MB(wrap)) != 0;
	v->po = (d->mods & MB(po)) != 0;
	v->scale = d->mods & MB(shr7) ? 7 : d->mods & MB(shr15) ? 15 : 0;
	v->second = second == MB(add)	? SECOND_ADD
		    : second == MB(min) ? SECOND_MIN
		    : second		? SECOND_MAX
					: SECOND_NONE;
	for (unsigned k = 0; k < sizeof(cmps); k++)
		if (d->mods >> cmps[k] & 1) {
			v->cmp = cmps[k];
			found++;
		}
	if (second & (second - 1) || (d->mods & MB(shr7) && d->mods & MB(shr15)) ||
		found != (v->op == V_SET))
		return "these modifiers";
	if ((v->op == V_SHL || v->op == V_SHR) && !(d->mods & MB(wrap)) == !(d->mods & MB(clamp)))
		return "neither .clamp nor .wrap";
	if (v->parts > 1 && v->sat && v->second)
		return ".sat with .add";
	return NULL;
}

static const char *check_scalar(const struct ptx_dec *d, const struct ptx_video *v)
{
	bool has_c = d->i->o[3] != NO_REG;

	for (unsigned k = OF_D; k <= OF_C; k++) {
		const char *s = v->sel[k];
		bool fits = !s[0] || (strlen(s) == 2 &&
					     ((s[0] == 'b' && s[1] >= '0' && s[1] <= '3') ||
						     (s[0] == 'h' && s[1] >= '0' && s[1] <= '1')));
		if (!fits || (k == OF_C && s[0]))
			return "this part of a register";
		if (v->minus[k] && (v->op != V_MAD || v->po))
			return "- before a register";
	}
	if (v->op == V_MAD)
		return v->sel[OF_D][0] ? "this part of a register"
		       : v->minus[OF_C] && v->minus[OF_A] != v->minus[OF_B] ? "two minus signs"
									    : NULL;
	if (has_c != (v->second || v->sel[OF_D][0]) || (v->second && v->sel[OF_D][0]))
		return "this use of the third operand";
	return NULL;
}

/* "h31": element 1 is half-word 3, element 0 half-word 1, of those of a (from 0) and b. */
static bool read_picks(const struct ptx_video *v, const char *sel, uint8_t first, uint8_t *ret)
{
	for (unsigned k = 0; k < v->parts; k++)
		ret[k] = (uint8_t)(first + k);
	if (!sel[0])
		return true;
	if (sel[0] != (v->parts == 2 ? 'h' : 'b') || strlen(sel) != 1u + v->parts)
		return false;
	for (unsigned k = 0; k < v->parts; k++) {
		char c = sel[v->parts - k];
		if (c < '0' || c >= '0' + 2 * v->parts)
			return false;
		ret[k] = (uint8_t)(c - '0');
	}
	return true;
}

/* "b310": falling numbers of the elements that are written. */
static bool read_mask(struct ptx_video *v)
{
	const char *s = v->sel[OF_D];
	char last = (char)('0' + v->parts);

	v->mask = (uint8_t)((1u << v->parts) - 1);
	if (!s[0])
		return true;
	if (s[0] != (v->parts == 2 ? 'h' : 'b') || !s[1])
		return false;
	for (v->mask = 0; *++s; last = *s) {
		if (*s < '0' || *s >= last)
			return false;
		v->mask = (uint8_t)(v->mask | 1u << (*s - '0'));
	}
	return true;
}

const char *sel_video(struct ptx_dec *d)
{
	struct ptx_video *v = d->i->u.video;
	const char *why;

	read_op(d->row->op, v);
	why = read_types(d, v);
	if (!why)
		why = read_modifiers(d, v);
	if (why)
		return why;
	if (v->parts == 1)
		return check_scalar(d, v);
	if (v->minus[OF_A] || v->minus[OF_B] || v->minus[OF_C])
		return "- before a register";
	if (!read_picks(v, v->sel[OF_A], 0, v->pick[0]) ||
		!read_picks(v, v->sel[OF_B], v->parts, v->pick[1]) || !read_mask(v) ||
		v->sel[OF_C][0])
		return "these parts of a register";
	return NULL;
}
