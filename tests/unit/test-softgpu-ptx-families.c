/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer instructions against their definitions in the PTX ISA (9.7.1 to 9.7.8), written down in C
 * once more, bit by bit where the ISA does: each form with every triple of edge operands, one in
 * each thread.
 */
#include "ptx-test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const uint64_t edges[] = {0, 1, 2, 5, 0x1f, 0x20, 0x21, 0x7f8081ff, 0x80000000, 0x7fffffff,
	0xffffffff, 0x0001fffe8000ull, 0x8000000000000000ull, 0x7fffffffffffffffull, ~0ull};
#define NEDGES COUNT_OF(edges)
#define THREADS (NEDGES * NEDGES * NEDGES)

typedef uint64_t definition(uint64_t a, uint64_t b, uint64_t c);
#define DEF(name, ...)                                                                             \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                   \
	{                                                                                          \
		(void)a, (void)b, (void)c;                                                         \
		__VA_ARGS__                                                                        \
	}

#define UA ((uint32_t)a)
#define UB ((uint32_t)b)
#define UC ((uint32_t)c)
#define SA ((int32_t)a)
#define SB ((int32_t)b)
#define SC ((int32_t)c)

static int64_t clamped(__int128 v, __int128 least, __int128 most)
{
	return (int64_t)(v < least ? least : v > most ? most : v);
}

/* --- bit fields, 9.7.1.18 to 9.7.1.24 --- */

/* Position and length are 8 bits; the forms of 64 bits take all 32, as an H200 does. */
static uint64_t extract(uint64_t v, uint64_t pos, uint64_t len, unsigned bits, bool sign)
{
	const uint64_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
	const uint64_t fill = sign && len ? v >> top & 1 : 0;
	uint64_t r = 0;

	for (unsigned k = 0; k < bits; k++)
		r |= (k < len && pos + k < bits ? v >> (pos + k) & 1 : fill) << k;
	return r;
}

static uint64_t insert(uint64_t v, uint64_t into, uint64_t pos, uint64_t len, unsigned bits)
{
	for (unsigned k = 0; k < len && pos + k < bits; k++)
		into = (into & ~(1ull << (pos + k))) | (v >> k & 1) << (pos + k);
	return into;
}

static uint64_t highest(uint64_t v, unsigned bits, bool sign, bool amount)
{
	if (sign && v >> (bits - 1) & 1)
		v = ~v;
	for (unsigned k = bits; k-- > 0;)
		if (v >> k & 1)
			return amount ? bits - 1 - k : k;
	return 0xffffffff;
}

DEF(bfe_u32, return extract(UA, b & 255, c & 255, 32, false);)
DEF(bfe_s32, return extract(UA, b & 255, c & 255, 32, true);)
DEF(bfe_u64, return extract(a, UB, UC, 64, false);)
DEF(bfe_s64, return extract(a, UB, UC, 64, true);)
DEF(bfi_5, return insert(UA, UB, c & 255, 5, 32);)
DEF(bfi_32, return insert(UA, UB, c & 255, 32, 32);)
DEF(bfi_255, return insert(UA, UB, c & 255, 255, 32);)
DEF(bfi_40, return insert(a, b, UC, 40, 64);)
DEF(bfi_at_7, return insert(UA, UB, 7, c & 255, 32);)
DEF(bfind_u32, return highest(UA, 32, false, false);)
DEF(bfind_s32, return highest(UA, 32, true, false);)
DEF(bfind_amount, return highest(UA, 32, true, true);)
DEF(bfind_u64, return highest(a, 64, false, false);)
DEF(bfind_s64, return highest(a, 64, true, false);)
DEF(bfind_amount_64, return highest(a, 64, false, true);)
DEF(popc, return (unsigned)__builtin_popcount(UA);)
DEF(popc_64, return (unsigned)__builtin_popcountll(a);)
DEF(clz, uint64_t n = 0; while (n < 32 && !(UA >> (31 - n) & 1)) n++; return n;)
DEF(clz_64, uint64_t n = 0; while (n < 64 && !(a >> (63 - n) & 1)) n++; return n;)
DEF(brev, uint64_t r = 0; for (unsigned k = 0; k < 32; k++) r |= (a >> k & 1) << (31 - k);
	return r;)
DEF(brev_64, uint64_t r = 0; for (unsigned k = 0; k < 64; k++) r |= (a >> k & 1) << (63 - k);
	return r;)

/* 9.7.1.24: bmsk */
static uint64_t mask_of(uint64_t at, uint64_t width)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < 32; k++)
		r |= (uint64_t)(k >= at && k < at + width) << k;
	return r;
}
DEF(bmsk_clamp, return mask_of(UA, UB);)
DEF(bmsk_wrap, return mask_of(a & 31, b & 31);)

/* szext: the low N bits of a, extended */
DEF(szext_clamp_u, return UB >= 32 ? UA : UA & (uint32_t)((1ull << UB) - 1);)
DEF(szext_wrap_u, return UA & ((1u << (b & 31)) - 1);)
DEF(szext_clamp_s, return UB >= 32 ? UA : UB ? extract(UA, 0, UB, 32, true) : 0;)
DEF(szext_wrap_s, return b & 31 ? extract(UA, 0, b & 31, 32, true) : 0;)

/* --- shifts, 9.7.8 --- */
DEF(shl_16, return UB > 15 ? 0 : (uint16_t)(UA << UB);)
DEF(shl_32, return UB > 31 ? 0 : (uint32_t)(UA << UB);)
DEF(shl_64, return UB > 63 ? 0 : a << UB;)
DEF(shr_u16, return UB > 15 ? 0 : (uint16_t)a >> UB;)
DEF(shr_s16, return (uint16_t)((int16_t)a >> (UB > 15 ? 15 : UB));)
DEF(shr_u32, return UB > 31 ? 0 : UA >> UB;)
DEF(shr_s32, return (uint32_t)(SA >> (UB > 31 ? 31 : UB));)
DEF(shr_u64, return UB > 63 ? 0 : a >> UB;)
DEF(shr_s64, return (uint64_t)((int64_t)a >> (UB > 63 ? 63 : UB));)

static uint64_t funnel(uint32_t a, uint32_t b, unsigned n, bool left)
{
	const uint64_t both = (uint64_t)b << 32 | a;

	return (uint32_t)(left ? both >> (32 - n) : both >> n);
}
DEF(shf_l_wrap, return funnel(UA, UB, c & 31, true);)
DEF(shf_r_wrap, return funnel(UA, UB, c & 31, false);)
DEF(shf_l_clamp, return funnel(UA, UB, UC > 32 ? 32 : UC, true);)
DEF(shf_r_clamp, return funnel(UA, UB, UC > 32 ? 32 : UC, false);)

/* --- sums and products, 9.7.1, and with carry, 9.7.2 --- */
DEF(add_sat, return (uint32_t)clamped((__int128)SA + SB, INT32_MIN, INT32_MAX);)
DEF(sub_sat, return (uint32_t)clamped((__int128)SA - SB, INT32_MIN, INT32_MAX);)
DEF(mul_hi_u32, return (uint32_t)((uint64_t)UA * UB >> 32);)
DEF(mul_hi_s32, return (uint32_t)((uint64_t)((int64_t)SA * SB) >> 32);)
DEF(mul_hi_u64, return (uint64_t)((unsigned __int128)a * b >> 64);)
DEF(mul_hi_s64, return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);)
DEF(mul_hi_u16, return (uint16_t)((uint32_t)(uint16_t)a * (uint16_t)b >> 16);)
DEF(mul_hi_s16, return (uint16_t)((int32_t)(int16_t)a * (int16_t)b >> 16);)
DEF(mul_wide_u16, return (uint32_t)(uint16_t)a * (uint16_t)b;)
DEF(mul_wide_s16, return (uint32_t)((int32_t)(int16_t)a * (int16_t)b);)
DEF(mad_hi_s32, return (uint32_t)(mul_hi_s32(a, b, c) + UC);)
DEF(mad_hi_sat,
	return (uint32_t)clamped((__int128)((int64_t)SA * SB >> 32) + SC, INT32_MIN, INT32_MAX);)
DEF(mad_wide_s16, return (uint32_t)((uint32_t)((int32_t)(int16_t)a * (int16_t)b) + UC);)
DEF(mad_wide_s32, return (uint64_t)((int64_t)SA * SB) + c;)
DEF(mul24_lo, return (uint32_t)((a & 0xffffff) * (b & 0xffffff));)
DEF(mul24_hi, return (uint32_t)((a & 0xffffff) * (b & 0xffffff) >> 16);)
#define S24(x) ((int64_t)((uint64_t)(x) << 40) >> 40)
DEF(mul24_lo_s, return (uint32_t)(S24(a) * S24(b));)
DEF(mul24_hi_s, return (uint32_t)(S24(a) * S24(b) >> 16);)
DEF(mad24_lo, return (uint32_t)((a & 0xffffff) * (b & 0xffffff) + UC);)
DEF(sad_u16, return (uint16_t)(c + (uint64_t)llabs((long)(uint16_t)a - (uint16_t)b));)
DEF(sad_s16, return (uint16_t)(c + (uint64_t)llabs((long)(int16_t)a - (int16_t)b));)
DEF(sad_u32, return (uint32_t)(c + (uint64_t)llabs((long)UA - (long)UB));)
DEF(sad_s32, return (uint32_t)(c + (uint64_t)llabs((long)SA - (long)SB));)
DEF(sad_u64, return c + (a > b ? a - b : b - a);)
DEF(sad_s64, return c + ((int64_t)a > (int64_t)b ? a - b : b - a);)
DEF(add_carry, return (uint32_t)(UC + (((uint64_t)UA + UB) >> 32));)
DEF(sub_borrow, return (uint32_t)(UC - (UA < UB));)
DEF(add_carry_64, return c + (a + b < a);)
DEF(sub_borrow_64, return c - (a < b);)
DEF(mad_carry, return (uint32_t)(((uint64_t)(uint32_t)(UA * UB) + UC) >> 32);)
DEF(abs_16, return (uint16_t)((int16_t)a < 0 ? -a : a);)
DEF(abs_64, return (int64_t)a < 0 ? -a : a;)
DEF(neg_16, return (uint16_t)-a;)
DEF(cnot_32, return UA == 0;)
DEF(cnot_64, return a == 0;)

/* --- 9.7.1.23: dp4a, dp2a; 9.7.8.6: lop3; 9.7.9.7: prmt --- */
static uint64_t dot(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb)
{
	for (unsigned k = 0; k < 32; k += 8) {
		const uint32_t x = a >> k & 255, y = b >> k & 255;

		c += (uint32_t)((sa ? (int8_t)x : (int)x) * (sb ? (int8_t)y : (int)y));
	}
	return c;
}
static uint64_t dot2(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, unsigned from)
{
	for (unsigned k = 0; k < 2; k++) {
		const uint32_t x = a >> 16 * k & 0xffff, y = b >> 8 * (k + from) & 255;

		c += (uint32_t)((sa ? (int16_t)x : (int)x) * (sb ? (int8_t)y : (int)y));
	}
	return c;
}
DEF(dp4a_uu, return dot(UA, UB, UC, false, false);)
DEF(dp4a_us, return dot(UA, UB, UC, false, true);)
DEF(dp4a_su, return dot(UA, UB, UC, true, false);)
DEF(dp4a_ss, return dot(UA, UB, UC, true, true);)
DEF(dp2a_lo_us, return dot2(UA, UB, UC, false, true, 0);)
DEF(dp2a_hi_su, return dot2(UA, UB, UC, true, false, 2);)
DEF(dp2a_hi_uu, return dot2(UA, UB, UC, false, false, 2);)

static uint64_t look_up(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < 32; k++)
		r |= (table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k;
	return r;
}

static uint64_t bytes_of(uint32_t a, uint32_t b, const char *four)
{
	const uint64_t both = (uint64_t)b << 32 | a;
	uint32_t r = 0;

	for (unsigned k = 0; k < 4; k++)
		r = r << 8 | (both >> 8 * (unsigned)(four[k] - '0') & 255);
	return r;
}
static uint64_t permute(uint32_t a, uint32_t b, uint32_t sel)
{
	const uint64_t both = (uint64_t)b << 32 | a;
	uint32_t r = 0;

	for (unsigned k = 0; k < 4; k++) {
		const unsigned s = sel >> 4 * k & 15;
		uint32_t v = both >> 8 * (s & 7) & 255;

		if (s & 8)
			v = v & 0x80 ? 255 : 0;
		r |= v << 8 * k;
	}
	return r;
}
#define PERMUTED(name, ...)                                                                        \
	DEF(name, static const char *const rows[] = {__VA_ARGS__};                                 \
		return bytes_of(UA, UB, rows[c & 3]);)
DEF(prmt, return permute(UA, UB, UC);)
PERMUTED(prmt_f4e, "3210", "4321", "5432", "6543")
PERMUTED(prmt_b4e, "5670", "6701", "7012", "0123")
PERMUTED(prmt_rc8, "0000", "1111", "2222", "3333")
PERMUTED(prmt_ecl, "3210", "3211", "3222", "3333")
PERMUTED(prmt_ecr, "0000", "1110", "2210", "3210")
PERMUTED(prmt_rc16, "1010", "3232", "1010", "3232")

/* --- conversions, 9.7.9.21: integers, with and without .sat --- */
DEF(cvt_u8_s32, return (uint8_t)a;)
DEF(cvt_s8_u64, return (uint32_t)(int8_t)a;)
DEF(sat_u8_s32, return (uint64_t)clamped(SA, 0, 255);)
DEF(sat_s8_s64, return (uint32_t)clamped((int64_t)a, -128, 127);)
DEF(sat_s16_u32, return (uint16_t)clamped(UA, 0, 32767);)
DEF(sat_u32_s64, return (uint32_t)clamped((int64_t)a, 0, UINT32_MAX);)
DEF(sat_s32_u64, return (uint32_t)clamped((__int128)a, 0, INT32_MAX);)
DEF(sat_u64_s32, return (uint64_t)clamped(SA, 0, INT32_MAX);)
DEF(sat_s64_u64, return (uint64_t)clamped((__int128)a, 0, INT64_MAX);)

/* --- comparisons, 9.7.6 --- */
DEF(set_lt_s16, return (int16_t)a < (int16_t)b;)
DEF(set_ls_u16, return (uint16_t)a <= (uint16_t)b;)
DEF(set_ge_s64, return (int64_t)a >= (int64_t)b;)
DEF(set_hi_u64, return a > b;)
DEF(set_lo_and, return UA < UB && UC == 0;)
DEF(set_ne_or, return UA != UB || UC == 0;)
DEF(set_gt_xor, return (SA > SB) != (UC == 0);)
DEF(set_not_q, return !(SA > SB) != (UC == 0);)
DEF(slct, return SC >= 0 ? UA : UB;)
DEF(slct_64, return SC >= 0 ? a : b;)
DEF(max3_s, return (uint32_t)(SA > SB ? (SA > SC ? SA : SC) : SB > SC ? SB : SC);)

/* --- packed and video --- */
#define HALVES2(op)                                                                                \
	uint32_t r = 0;                                                                            \
	for (unsigned k = 0; k < 32; k += 16) {                                                    \
		const int32_t x = (int16_t)(a >> k), y = (int16_t)(b >> k);                        \
		const int32_t ux = (uint16_t)(a >> k), uy = (uint16_t)(b >> k);                    \
		(void)x, (void)y, (void)ux, (void)uy;                                              \
		r |= (uint32_t)((op)&0xffff) << k;                                                 \
	}                                                                                          \
	return r;
DEF(add_u16x2, HALVES2(ux + uy))
DEF(min_s16x2, HALVES2(x < y ? x : y))
DEF(max_u16x2, HALVES2(ux > uy ? ux : uy))
DEF(min_relu, HALVES2(x < y ? (x < 0 ? 0 : x) : y < 0 ? 0 : y))
DEF(max_relu_32, return (uint32_t)(SA > SB ? (SA < 0 ? 0 : SA) : SB < 0 ? 0 : SB);)

static const struct family {
	const char *insn; /* its result is in register 9 of the kind */
	char kind;
	definition *is;
} families[] = {
	{"bfe.u32 %r9, %r0, %r1, %r2;", 'r', bfe_u32},
	{"bfe.s32 %r9, %r0, %r1, %r2;", 'r', bfe_s32},
	{"bfe.u64 %d9, %d0, %r1, %r2;", 'd', bfe_u64},
	{"bfe.s64 %d9, %d0, %r1, %r2;", 'd', bfe_s64},
	{"bfi.b32 %r9, %r0, %r1, %r2, 5;", 'r', bfi_5},
	{"bfi.b32 %r9, %r0, %r1, %r2, 32;", 'r', bfi_32},
	{"bfi.b32 %r9, %r0, %r1, %r2, 255;", 'r', bfi_255},
	{"bfi.b32 %r9, %r0, %r1, 7, %r2;", 'r', bfi_at_7},
	{"bfi.b64 %d9, %d0, %d1, %r2, 40;", 'd', bfi_40},
	{"bfind.u32 %r9, %r0;", 'r', bfind_u32},
	{"bfind.s32 %r9, %r0;", 'r', bfind_s32},
	{"bfind.shiftamt.s32 %r9, %r0;", 'r', bfind_amount},
	{"bfind.u64 %r9, %d0;", 'r', bfind_u64},
	{"bfind.s64 %r9, %d0;", 'r', bfind_s64},
	{"bfind.shiftamt.u64 %r9, %d0;", 'r', bfind_amount_64},
	{"popc.b32 %r9, %r0;", 'r', popc},
	{"popc.b64 %r9, %d0;", 'r', popc_64},
	{"clz.b32 %r9, %r0;", 'r', clz},
	{"clz.b64 %r9, %d0;", 'r', clz_64},
	{"brev.b32 %r9, %r0;", 'r', brev},
	{"brev.b64 %d9, %d0;", 'd', brev_64},
	{"bmsk.clamp.b32 %r9, %r0, %r1;", 'r', bmsk_clamp},
	{"bmsk.wrap.b32 %r9, %r0, %r1;", 'r', bmsk_wrap},
	{"szext.clamp.u32 %r9, %r0, %r1;", 'r', szext_clamp_u},
	{"szext.wrap.u32 %r9, %r0, %r1;", 'r', szext_wrap_u},
	{"szext.clamp.s32 %r9, %r0, %r1;", 'r', szext_clamp_s},
	{"szext.wrap.s32 %r9, %r0, %r1;", 'r', szext_wrap_s},
	{"shl.b16 %h9, %h0, %r1;", 'h', shl_16},
	{"shl.b32 %r9, %r0, %r1;", 'r', shl_32},
	{"shl.b64 %d9, %d0, %r1;", 'd', shl_64},
	{"shr.u16 %h9, %h0, %r1;", 'h', shr_u16},
	{"shr.s16 %h9, %h0, %r1;", 'h', shr_s16},
	{"shr.u32 %r9, %r0, %r1;", 'r', shr_u32},
	{"shr.s32 %r9, %r0, %r1;", 'r', shr_s32},
	{"shr.u64 %d9, %d0, %r1;", 'd', shr_u64},
	{"shr.s64 %d9, %d0, %r1;", 'd', shr_s64},
	{"shf.l.wrap.b32 %r9, %r0, %r1, %r2;", 'r', shf_l_wrap},
	{"shf.r.wrap.b32 %r9, %r0, %r1, %r2;", 'r', shf_r_wrap},
	{"shf.l.clamp.b32 %r9, %r0, %r1, %r2;", 'r', shf_l_clamp},
	{"shf.r.clamp.b32 %r9, %r0, %r1, %r2;", 'r', shf_r_clamp},
	{"add.sat.s32 %r9, %r0, %r1;", 'r', add_sat},
	{"sub.sat.s32 %r9, %r0, %r1;", 'r', sub_sat},
	{"mul.hi.u32 %r9, %r0, %r1;", 'r', mul_hi_u32},
	{"mul.hi.s32 %r9, %r0, %r1;", 'r', mul_hi_s32},
	{"mul.hi.u64 %d9, %d0, %d1;", 'd', mul_hi_u64},
	{"mul.hi.s64 %d9, %d0, %d1;", 'd', mul_hi_s64},
	{"mul.hi.u16 %h9, %h0, %h1;", 'h', mul_hi_u16},
	{"mul.hi.s16 %h9, %h0, %h1;", 'h', mul_hi_s16},
	{"mul.wide.u16 %r9, %h0, %h1;", 'r', mul_wide_u16},
	{"mul.wide.s16 %r9, %h0, %h1;", 'r', mul_wide_s16},
	{"mad.hi.s32 %r9, %r0, %r1, %r2;", 'r', mad_hi_s32},
	{"mad.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', mad_hi_sat},
	{"mad.wide.s16 %r9, %h0, %h1, %r2;", 'r', mad_wide_s16},
	{"mad.wide.s32 %d9, %r0, %r1, %d2;", 'd', mad_wide_s32},
	{"mul24.lo.u32 %r9, %r0, %r1;", 'r', mul24_lo},
	{"mul24.hi.u32 %r9, %r0, %r1;", 'r', mul24_hi},
	{"mul24.lo.s32 %r9, %r0, %r1;", 'r', mul24_lo_s},
	{"mul24.hi.s32 %r9, %r0, %r1;", 'r', mul24_hi_s},
	{"mad24.lo.u32 %r9, %r0, %r1, %r2;", 'r', mad24_lo},
	{"sad.u16 %h9, %h0, %h1, %h2;", 'h', sad_u16},
	{"sad.s16 %h9, %h0, %h1, %h2;", 'h', sad_s16},
	{"sad.u32 %r9, %r0, %r1, %r2;", 'r', sad_u32},
	{"sad.s32 %r9, %r0, %r1, %r2;", 'r', sad_s32},
	{"sad.u64 %d9, %d0, %d1, %d2;", 'd', sad_u64},
	{"sad.s64 %d9, %d0, %d1, %d2;", 'd', sad_s64},
	{"add.cc.u32 %r8, %r0, %r1; addc.u32 %r9, %r2, 0;", 'r', add_carry},
	{"sub.cc.u32 %r8, %r0, %r1; subc.u32 %r9, %r2, 0;", 'r', sub_borrow},
	{"add.cc.u64 %d8, %d0, %d1; addc.u64 %d9, %d2, 0;", 'd', add_carry_64},
	{"sub.cc.u64 %d8, %d0, %d1; subc.u64 %d9, %d2, 0;", 'd', sub_borrow_64},
	{"mad.lo.cc.u32 %r8, %r0, %r1, %r2; addc.u32 %r9, 0, 0;", 'r', mad_carry},
	{"abs.s16 %h9, %h0;", 'h', abs_16},
	{"abs.s64 %d9, %d0;", 'd', abs_64},
	{"neg.s16 %h9, %h0;", 'h', neg_16},
	{"cnot.b32 %r9, %r0;", 'r', cnot_32},
	{"cnot.b64 %d9, %d0;", 'd', cnot_64},
	{"dp4a.u32.u32 %r9, %r0, %r1, %r2;", 'r', dp4a_uu},
	{"dp4a.u32.s32 %r9, %r0, %r1, %r2;", 'r', dp4a_us},
	{"dp4a.s32.u32 %r9, %r0, %r1, %r2;", 'r', dp4a_su},
	{"dp4a.s32.s32 %r9, %r0, %r1, %r2;", 'r', dp4a_ss},
	{"dp2a.lo.u32.s32 %r9, %r0, %r1, %r2;", 'r', dp2a_lo_us},
	{"dp2a.hi.s32.u32 %r9, %r0, %r1, %r2;", 'r', dp2a_hi_su},
	{"dp2a.hi.u32.u32 %r9, %r0, %r1, %r2;", 'r', dp2a_hi_uu},
	{"prmt.b32 %r9, %r0, %r1, %r2;", 'r', prmt},
	{"prmt.b32.f4e %r9, %r0, %r1, %r2;", 'r', prmt_f4e},
	{"prmt.b32.b4e %r9, %r0, %r1, %r2;", 'r', prmt_b4e},
	{"prmt.b32.rc8 %r9, %r0, %r1, %r2;", 'r', prmt_rc8},
	{"prmt.b32.ecl %r9, %r0, %r1, %r2;", 'r', prmt_ecl},
	{"prmt.b32.ecr %r9, %r0, %r1, %r2;", 'r', prmt_ecr},
	{"prmt.b32.rc16 %r9, %r0, %r1, %r2;", 'r', prmt_rc16},
	{"cvt.u8.s32 %r9, %r0;", 'r', cvt_u8_s32},
	{"cvt.s8.u64 %r9, %d0;", 'r', cvt_s8_u64},
	{"cvt.sat.u8.s32 %r9, %r0;", 'r', sat_u8_s32},
	{"cvt.sat.s8.s64 %r9, %d0;", 'r', sat_s8_s64},
	{"cvt.sat.s16.u32 %h9, %r0;", 'h', sat_s16_u32},
	{"cvt.sat.u32.s64 %r9, %d0;", 'r', sat_u32_s64},
	{"cvt.sat.s32.u64 %r9, %d0;", 'r', sat_s32_u64},
	{"cvt.sat.u64.s32 %d9, %r0;", 'd', sat_u64_s32},
	{"cvt.sat.s64.u64 %d9, %d0;", 'd', sat_s64_u64},
	{"setp.lt.s16 %p9, %h0, %h1;", 'p', set_lt_s16},
	{"setp.ls.u16 %p9, %h0, %h1;", 'p', set_ls_u16},
	{"setp.ge.s64 %p9, %d0, %d1;", 'p', set_ge_s64},
	{"setp.hi.u64 %p9, %d0, %d1;", 'p', set_hi_u64},
	{"setp.eq.u32 %p8, %r2, 0; setp.lo.and.u32 %p9, %r0, %r1, %p8;", 'p', set_lo_and},
	{"setp.ne.u32 %p8, %r2, 0; setp.ne.or.b32 %p9, %r0, %r1, !%p8;", 'p', set_ne_or},
	{"setp.eq.u32 %p8, %r2, 0; setp.gt.xor.s32 %p9, %r0, %r1, %p8;", 'p', set_gt_xor},
	{"setp.eq.u32 %p8, %r2, 0; setp.gt.xor.s32 %p7|%p9, %r0, %r1, %p8;", 'p', set_not_q},
	{"slct.u32.s32 %r9, %r0, %r1, %r2;", 'r', slct},
	{"slct.b64.s32 %d9, %d0, %d1, %r2;", 'd', slct_64},
	{"max.s32 %r9, %r0, %r1; max.s32 %r9, %r9, %r2;", 'r', max3_s},
	{"add.u16x2 %r9, %r0, %r1;", 'r', add_u16x2},
	{"min.s16x2 %r9, %r0, %r1;", 'r', min_s16x2},
	{"max.u16x2 %r9, %r0, %r1;", 'r', max_u16x2},
	{"min.relu.s16x2 %r9, %r0, %r1;", 'r', min_relu},
	{"max.relu.s32 %r9, %r0, %r1;", 'r', max_relu_32},
};

static uint64_t *in, *out;

static void fill_operands(void)
{
	in = device(THREADS * 24);
	out = device(THREADS * 8);
	for (size_t t = 0; t < THREADS; t++) {
		in[3 * t] = edges[t % NEDGES];
		in[3 * t + 1] = edges[t / NEDGES % NEDGES];
		in[3 * t + 2] = edges[t / NEDGES / NEDGES];
	}
}

static void run_form(const char *insn, char kind)
{
	static const char *const stores[] = {
		"cvt.u64.u32 %d9, %r9;", "", "cvt.u64.u16 %d9, %h9;", "selp.u64 %d9, 1, 0, %p9;"};
	struct {
		void *out, *in;
		uint32_t n;
	} params = {out, in, THREADS};
	struct ptx_module *m;
	char text[3000];

	snprintf(text, sizeof text,
		".version 8.6\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u32 n) {\n"
		".reg .b16 %%h<10>; .reg .b32 %%r<14>; .reg .b64 %%d<14>; .reg .pred %%p<11>;\n"
		"mov.u32 %%r10, %%tid.x; mov.u32 %%r11, %%ctaid.x; mov.u32 %%r12, %%ntid.x; mad.lo.u32 %%r10, %%r11, %%r12, %%r10;\n"
		"ld.param.u32 %%r13, [n]; setp.ge.u32 %%p10, %%r10, %%r13; @%%p10 ret;\n"
		"ld.param.u64 %%d10, [o]; ld.param.u64 %%d11, [i]; mul.wide.u32 %%d12, %%r10, 8; add.u64 %%d10, %%d10, %%d12; mul.wide.u32 %%d12, %%r10, 24; add.u64 %%d11, %%d11, %%d12;\n"
		"ld.global.b64 %%d0, [%%d11]; ld.global.b64 %%d1, [%%d11+8]; ld.global.b64 %%d2, [%%d11+16];\n"
		"cvt.u32.u64 %%r0, %%d0; cvt.u32.u64 %%r1, %%d1; cvt.u32.u64 %%r2, %%d2; cvt.u16.u64 %%h0, %%d0; cvt.u16.u64 %%h1, %%d1; cvt.u16.u64 %%h2, %%d2;\n"
		"%s\n%s\nst.global.b64 [%%d10], %%d9; ret; }\n",
		insn, stores[strchr("rdhp", kind) - "rdhp"]);
	m = load(text);
	run(m, "k", (THREADS + 255) / 256, 256, &params);
	ptx_free(m);
}

static void wrong(const char *insn, size_t t, uint64_t want)
{
	fail_msg("%s with %#llx %#llx %#llx: %#llx, not %#llx", insn, (unsigned long long)in[3 * t],
		(unsigned long long)in[3 * t + 1], (unsigned long long)in[3 * t + 2],
		(unsigned long long)out[t], (unsigned long long)want);
}

static void test_families(void **state)
{
	for (size_t k = 0; k < COUNT_OF(families); k++) {
		const struct family *f = &families[k];

		run_form(f->insn, f->kind);
		for (size_t t = 0; t < THREADS; t++) {
			const uint64_t want = f->is(in[3 * t], in[3 * t + 1], in[3 * t + 2]);

			if (out[t] != want)
				wrong(f->insn, t, want);
		}
	}
}

/* Each of its 256 tables: bit by bit. */
static void test_lop3(void **state)
{
	for (unsigned table = 0; table < 256; table = table < 8 ? table + 1 : 2 * table - 1) {
		char insn[100];

		for (unsigned pred = 0; pred < 2; pred++) {
			snprintf(insn, sizeof insn,
				pred ? "setp.ne.u32 %%p8, 0, 0; lop3.or.b32 %%r9|%%p9, %%r0, %%r1, %%r2, %u, %%p8;"
				     : "lop3.b32 %%r9, %%r0, %%r1, %%r2, %u;",
				table);
			run_form(insn, 'r');
			for (size_t t = 0; t < THREADS; t++) {
				const uint64_t want = look_up((uint32_t)in[3 * t],
					(uint32_t)in[3 * t + 1], (uint32_t)in[3 * t + 2], table);

				if (out[t] != want)
					wrong(insn, t, want);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_lop3),
	};

#ifdef NO_AVX2
	setenv("TSDB_SOFT_NO_AVX2", "1", 1);
#endif
	fill_operands();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
