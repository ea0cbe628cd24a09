/* SPDX-License-Identifier: Apache-2.0
 *
 * Rarer integer instructions: bit fields, packed 16-bit pairs, packing with saturation. One lane at
 * a time: none of them is hot.
 */
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"

/* fns d, mask, base, n: the nth set bit from base on; "PTX ISA 9.0", 9.7.1.17. The least n, which
 * has no magnitude, gives 0 on an H200. */
static uint32_t nth_set(uint32_t mask, uint32_t base, int32_t n)
{
	int64_t pos = base, left = n < 0 ? -(int64_t)n : n;

	if (n == INT32_MIN)
		return 0;
	if (!n)
		return base < 32 && mask >> base & 1 ? base : ~0u;
	for (; pos >= 0 && pos<32; pos += n> 0 ? 1 : -1)
		if (mask >> pos & 1 && !--left)
			return (uint32_t)pos;
	return ~0u;
}

void h_fns(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	REG(u32a, 0)[l] = nth_set(REG(u32a, 1)[l], REG(u32a, 2)[l], (int32_t)REG(u32a, 3)[l]);
}

/* arg: 1 when counts of 32 and more clamp; else they wrap. "PTX ISA 9.0", 9.7.1.20. */
void h_szext(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], b = REG(u32a, 2)[l], n = b & 31;
		if (i->arg && b >= 32) {
			REG(u32a, 0)[l] = a;
		} else {
			uint32_t above = ~0u << n;
			bool sign = n && i->type == T_s32 && a >> (n - 1) & 1;
			REG(u32a, 0)[l] = sign ? a | above : a & ~above;
		}
	}
}

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < 8; k++)
		if (table >> k & 1)
			r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
	return r;
}

/* lop3.or d|p, a, b, c, table, q: p = d != 0 or q; arg: 1 for and. */
void h_lop3_bool(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t q = i->flags & F_NEG_SRC ? ~PRED(4) : PRED(4), p = 0;

	EACH_LANE(l)
	{
		uint32_t r =
			lop3(REG(u32a, 1)[l], REG(u32a, 2)[l], REG(u32a, 3)[l], (unsigned)i->imm);
		if (i->o[0] != NO_REG)
			REG(u32a, 0)[l] = r;
		p |= (uint32_t)(r != 0) << l;
	}
	if (i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, i->arg ? p & q : p | q);
}

const char *sel_lop3_bool(struct ptx_dec *d)
{
	if (!(d->i->flags & F_PAIR))
		return "no predicate";
	return d->i->imm < 0 || d->i->imm > 255 ? "a table of more than 8 bits" : NULL;
}

void h_mad24_hi_sat(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		int64_t a = (int32_t)(REG(u32a, 1)[l] << 8) >> 8,
			b = (int32_t)(REG(u32a, 2)[l] << 8) >> 8;
		int64_t r = (int32_t)(a * b >> 16) + (int64_t)(int32_t)REG(u32a, 3)[l];
		REG(u32a, 0)
		[l] = (uint32_t)(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
	}
}

/* --- pairs of 16-bit integers --- */
enum { PAIR_ADD, PAIR_MIN, PAIR_MAX };
static uint16_t pair_op(const struct ptx_insn *i, uint32_t a, uint32_t b)
{
	int32_t x = i->type == T_s16x2 ? (int16_t)a : (int32_t)(uint16_t)a,
		y = i->type == T_s16x2 ? (int16_t)b : (int32_t)(uint16_t)b;
	int32_t r = i->arg == PAIR_ADD ? x + y : (x < y) == (i->arg == PAIR_MIN) ? x : y;

	return (uint16_t)(i->flags & F_RELU && r < 0 ? 0 : r);
}

void h_pair16(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], b = REG(u32a, 2)[l];
		REG(u32a, 0)[l] = pair_op(i, a, b) | (uint32_t)pair_op(i, a >> 16, b >> 16) << 16;
	}
}

/* min.relu.s32, max.relu.s32; arg: 1 for max. */
void h_minmax_relu(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		int32_t a = (int32_t)REG(u32a, 1)[l], b = (int32_t)REG(u32a, 2)[l],
			r = (a < b) != i->arg ? a : b;
		REG(u32a, 0)[l] = (uint32_t)(r < 0 ? 0 : r);
	}
}

/* --- cvt.pack --- */
static uint32_t saturate(int32_t v, unsigned bits, bool is_signed)
{
	int32_t least = is_signed ? -(1 << (bits - 1)) : 0, most = (1 << (bits - is_signed)) - 1;

	return (uint32_t)(v < least ? least : v > most ? most : v) & ((1u << bits) - 1);
}

/* d = c, pushed up by two elements, a, b. arg: bits of an element, negative when it is signed. "PTX
 * ISA 9.0", 9.7.9.22. */
void h_cvt_pack_sat(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	bool is_signed = (int32_t)i->arg < 0;
	unsigned bits = is_signed ? 0 - i->arg : i->arg;

	EACH_LANE(l)
	{
		uint32_t a = saturate((int32_t)REG(u32a, 1)[l], bits, is_signed),
			 b = saturate((int32_t)REG(u32a, 2)[l], bits, is_signed);
		uint32_t above = i->o[3] == NO_REG ? 0 : REG(u32a, 3)[l] << (2 * bits);
		REG(u32a, 0)[l] = above | a << bits | b;
	}
}
