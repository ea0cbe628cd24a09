/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions whose lanes are independent arithmetic: one loop over lanes each, for the compiler
 * to vectorise. This file is compiled twice, for any x86-64 and (ptx-alu-avx2.c) for those with
 * AVX2 and FMA; both give the same bits. Integer division by zero gives what the hardware gives:
 * all ones, as quotient and as remainder.
 */
#if !defined(__clang__) && defined(__OPTIMIZE__)
#ifdef __OPTIMIZE__	   /* -O0 stays -O0 */
#pragma GCC optimize("O3") /* vectorise the loops over lanes, also when CFLAGS say -O2 */
#endif
#endif
#include "softgpu/machine/ptx-exec.h"

#ifdef PTX_ALU_AVX2
#define V(h) h##_avx2
#else
#define V(h) h##_base
#endif

/* Not laid out by clang-format: tables of expressions, which it takes for declarations. */
/* clang-format off */
#define HANDLER(name) void V(h_##name)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
/* S: how a register lane is stored; C: the type computed in. */
#define OP1(name, S, C, EXPR)                                                                       \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1);                                                             \
		LANES({                                                                             \
			C x = (C)a[l];                                                              \
			d[l] = (S)(EXPR);                                                           \
		});                                                                                 \
	}
#define OP2(name, S, C, EXPR)                                                                       \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		LANES({                                                                             \
			C x = (C)a[l], y = (C)b[l];                                                 \
			d[l] = (S)(EXPR);                                                           \
		});                                                                                 \
	}
#define OP3(name, S, C, EXPR)                                                                       \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2), *c = REG(S, 3);                             \
		LANES({                                                                             \
			C x = (C)a[l], y = (C)b[l], z = (C)c[l];                                    \
			d[l] = (S)(EXPR);                                                           \
		});                                                                                 \
	}

/* --- integers --- */
OP2(add_32, u32a, uint32_t, x + y)
OP2(sub_32, u32a, uint32_t, x - y)
OP2(mul_32, u32a, uint32_t, x * y)
OP2(and_32, u32a, uint32_t, x & y)
OP2(or_32, u32a, uint32_t, x | y)
OP2(xor_32, u32a, uint32_t, x ^ y)
OP1(not_32, u32a, uint32_t, ~x)
OP1(cnot_32, u32a, uint32_t, x ? 0u : 1u)
OP1(neg_32, u32a, uint32_t, 0u - x)
OP1(abs_32, u32a, int32_t, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
OP3(mad_32, u32a, uint32_t, x * y + z)
OP2(min_u32, u32a, uint32_t, x < y ? x : y)
OP2(max_u32, u32a, uint32_t, x > y ? x : y)
OP2(min_s32, u32a, int32_t, x < y ? x : y)
OP2(max_s32, u32a, int32_t, x > y ? x : y)
OP2(mulhi_u32, u32a, uint32_t, ((uint64_t)x * y) >> 32)
OP2(mulhi_s32, u32a, int32_t, (uint64_t)((int64_t)x * y) >> 32)
OP3(madhi_u32, u32a, uint32_t, (uint32_t)(((uint64_t)x * y) >> 32) + z)
OP3(madhi_s32, u32a, int32_t, (uint32_t)((uint64_t)((int64_t)x * y) >> 32) + (uint32_t)z)
OP2(shl_32, u32a, uint32_t, y > 31 ? 0u : x << (y & 31))
OP2(shr_u32, u32a, uint32_t, y > 31 ? 0u : x >> (y & 31))
HANDLER(shr_s32)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2);

	LANES({
		uint32_t y = b[l] > 31 ? 31 : b[l];
		d[l] = (uint32_t)((int32_t)a[l] >> y);
	});
}
OP3(sad_u32, u32a, uint32_t, z + (x < y ? y - x : x - y))
OP3(sad_s32, u32a, int32_t, (uint32_t)z + (x < y ? (uint32_t)y - (uint32_t)x : (uint32_t)x - (uint32_t)y))
OP2(div_u32, u32a, uint32_t, y ? x / y : 0xffffffffu)
OP2(rem_u32, u32a, uint32_t, y ? x % y : 0xffffffffu)
OP2(div_s32, u32a, int32_t, y ? (uint32_t)((int64_t)x / y) : 0xffffffffu)
OP2(rem_s32, u32a, int32_t, y ? (uint32_t)((int64_t)x % y) : 0xffffffffu)
OP1(popc_32, u32a, uint32_t, (uint32_t)__builtin_popcount(x))
OP1(clz_32, u32a, uint32_t, x ? (uint32_t)__builtin_clz(x) : 32u)

static inline uint32_t brev32(uint32_t x)
{
	x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
	x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
	return __builtin_bswap32(x);
}
OP1(brev_32, u32a, uint32_t, brev32(x))

static inline int32_t sat_s32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
OP2(add_sat_s32, u32a, int32_t, sat_s32((int64_t)x + y))
OP2(sub_sat_s32, u32a, int32_t, sat_s32((int64_t)x - y))
OP3(madhi_sat_s32, u32a, int32_t, sat_s32((((int64_t)x * y) >> 32) + z))

OP2(add_64, u64a, uint64_t, x + y)
OP2(sub_64, u64a, uint64_t, x - y)
OP2(mul_64, u64a, uint64_t, x * y)
OP2(and_64, u64a, uint64_t, x & y)
OP2(or_64, u64a, uint64_t, x | y)
OP2(xor_64, u64a, uint64_t, x ^ y)
OP1(not_64, u64a, uint64_t, ~x)
OP1(cnot_64, u64a, uint64_t, x ? 0u : 1u)
OP1(neg_64, u64a, uint64_t, 0u - x)
OP1(abs_64, u64a, int64_t, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)
OP3(mad_64, u64a, uint64_t, x * y + z)
OP2(min_u64, u64a, uint64_t, x < y ? x : y)
OP2(max_u64, u64a, uint64_t, x > y ? x : y)
OP2(min_s64, u64a, int64_t, x < y ? x : y)
OP2(max_s64, u64a, int64_t, x > y ? x : y)
OP2(mulhi_u64, u64a, uint64_t, (unsigned __int128)x * y >> 64)
OP2(mulhi_s64, u64a, int64_t, (unsigned __int128)((__int128)x * y) >> 64)
OP3(madhi_u64, u64a, uint64_t, (uint64_t)((unsigned __int128)x * y >> 64) + z)
OP3(madhi_s64, u64a, int64_t, (uint64_t)((unsigned __int128)((__int128)x * y) >> 64) + (uint64_t)z)
OP3(sad_u64, u64a, uint64_t, z + (x < y ? y - x : x - y))
OP3(sad_s64, u64a, int64_t, (uint64_t)z + (x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y))
OP2(div_u64, u64a, uint64_t, y ? x / y : UINT64_MAX)
OP2(rem_u64, u64a, uint64_t, y ? x % y : UINT64_MAX)
OP2(div_s64, u64a, int64_t, y == -1 ? 0 - (uint64_t)x : y ? (uint64_t)(x / y) : UINT64_MAX)
OP2(rem_s64, u64a, int64_t, y == -1 ? 0 : y ? (uint64_t)(x % y) : UINT64_MAX)

/* The shift count is always 32 bits. */
#define SHIFT64(name, C, EXPR)                                                                      \
	HANDLER(name)                                                                               \
	{                                                                                           \
		u64a *d = REG(u64a, 0);                                                             \
		const u64a *a = REG(u64a, 1);                                                       \
		const u32a *b = REG(u32a, 2);                                                       \
		LANES({                                                                             \
			C x = (C)a[l];                                                              \
			uint64_t y = b[l];                                                          \
			d[l] = (uint64_t)(EXPR);                                                    \
		});                                                                                 \
	}
SHIFT64(shl_64, uint64_t, y > 63 ? 0 : x << (y & 63))
SHIFT64(shr_u64, uint64_t, y > 63 ? 0 : x >> (y & 63))
SHIFT64(shr_s64, int64_t, x >> (y > 63 ? 63 : y))

/* 64 bits in, 32 out. */
#define NARROW1(name, C, EXPR)                                                                      \
	HANDLER(name)                                                                               \
	{                                                                                           \
		u32a *d = REG(u32a, 0);                                                             \
		const u64a *a = REG(u64a, 1);                                                       \
		LANES({                                                                             \
			C x = (C)a[l];                                                              \
			d[l] = (uint32_t)(EXPR);                                                    \
		});                                                                                 \
	}
NARROW1(popc_64, uint64_t, __builtin_popcountll(x))
NARROW1(clz_64, uint64_t, x ? __builtin_clzll(x) : 64)
OP1(brev_64, u64a, uint64_t, (uint64_t)brev32((uint32_t)x) << 32 | brev32((uint32_t)(x >> 32)))

static inline uint32_t bfind(uint64_t x, bool shiftamt, unsigned bits)
{
	uint32_t n = x ? 63u - (uint32_t)__builtin_clzll(x) : 0xffffffffu;

	return shiftamt && n != 0xffffffffu ? bits - 1 - n : n;
}
OP1(bfind_u32, u32a, uint32_t, bfind(x, i->arg, 32))
OP1(bfind_s32, u32a, int32_t, bfind((uint32_t)(x < 0 ? ~x : x), i->arg, 32))
NARROW1(bfind_u64, uint64_t, bfind(x, i->arg, 64))
NARROW1(bfind_s64, int64_t, bfind((uint64_t)(x < 0 ? ~x : x), i->arg, 64))

/* "PTX ISA 9.0", 9.7.1.21: bits past the end are the sign. Position and length are 8 bits; what the 64-bit form does with more (seen on
 * an H200) is to take them as they are. */
static inline uint64_t bfe(uint64_t x, uint32_t pos, uint32_t len, unsigned bits, bool is_signed)
{
	uint64_t sign, r, last;

	pos = bits == 32 ? pos & 0xff : pos;
	len = bits == 32 ? len & 0xff : len;
	if (!len)
		return 0;
	last = (uint64_t)pos + len - 1;
	sign = is_signed ? x >> (last < bits - 1 ? last : bits - 1) & 1 : 0;
	r = pos < bits ? x >> pos : 0;
	if (pos >= bits)
		return sign ? ~0ull : 0;
	unsigned have = bits - pos < len ? bits - pos : len;
	if (have < 64) {
		r &= (1ull << have) - 1;
		if (sign)
			r |= ~0ull << have;
	}
	return r;
}

static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, unsigned bits)
{
	uint64_t field;

	pos = bits == 32 ? pos & 0xff : pos;
	len = bits == 32 ? len & 0xff : len;
	if (!len || pos >= bits)
		return b;
	if (len > bits - pos)
		len = bits - pos;
	field = (len < 64 ? (1ull << len) - 1 : ~0ull) << pos;
	return (b & ~field) | (a << pos & field);
}
#define BFE(name, S, bits, sgn)                                                                     \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1);                                                             \
		const u32a *b = REG(u32a, 2), *c = REG(u32a, 3);                                    \
		LANES({ d[l] = (S)bfe(a[l], b[l], c[l], bits, sgn); });                             \
	}
BFE(bfe_u32, u32a, 32, false)
BFE(bfe_s32, u32a, 32, true)
BFE(bfe_u64, u64a, 64, false)
BFE(bfe_s64, u64a, 64, true)
#define BFI(name, S, bits)                                                                          \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		const u32a *c = REG(u32a, 3), *e = REG(u32a, 4);                                    \
		LANES({ d[l] = (S)bfi(a[l], b[l], c[l], e[l], bits); });                            \
	}
BFI(bfi_32, u32a, 32)
BFI(bfi_64, u64a, 64)
OP2(bmsk_clamp, u32a, uint32_t, (uint32_t)bfi(0xffffffffu, 0, x > 255 ? 255 : x, y > 255 ? 255 : y, 32))
OP2(bmsk_wrap, u32a, uint32_t, (uint32_t)bfi(0xffffffffu, 0, x & 31, y & 31, 32))

/* 16 bits live in the low half of a 32-bit lane; the high half is zero or whatever. */
#define OP1H(name, C, EXPR) OP1(name, u32a, C, (uint16_t)(EXPR))
#define OP2H(name, C, EXPR) OP2(name, u32a, C, (uint16_t)(EXPR))
#define OP3H(name, C, EXPR) OP3(name, u32a, C, (uint16_t)(EXPR))
OP2H(add_16, uint16_t, x + y)
OP2H(sub_16, uint16_t, x - y)
OP2H(mul_16, uint16_t, (uint32_t)x * y)
OP2H(and_16, uint16_t, x & y)
OP2H(or_16, uint16_t, x | y)
OP2H(xor_16, uint16_t, x ^ y)
OP1H(not_16, uint16_t, ~x)
OP1H(cnot_16, uint16_t, x ? 0 : 1)
OP1H(neg_16, uint16_t, 0 - x)
OP1H(abs_16, int16_t, x < 0 ? -x : x)
OP3H(mad_16, uint16_t, (uint32_t)x * y + z)
OP2H(min_u16, uint16_t, x < y ? x : y)
OP2H(max_u16, uint16_t, x > y ? x : y)
OP2H(min_s16, int16_t, x < y ? x : y)
OP2H(max_s16, int16_t, x > y ? x : y)
OP2H(mulhi_u16, uint16_t, ((uint32_t)x * y) >> 16)
OP2H(mulhi_s16, int16_t, ((int32_t)x * y) >> 16)
OP3H(madhi_u16, uint16_t, (((uint32_t)x * y) >> 16) + z)
OP3H(madhi_s16, int16_t, (((int32_t)x * y) >> 16) + z)
OP3H(sad_u16, uint16_t, z + (x < y ? y - x : x - y))
OP3H(sad_s16, int16_t, z + (x < y ? y - x : x - y))
OP2H(div_u16, uint16_t, y ? x / y : 0xffff)
OP2H(rem_u16, uint16_t, y ? x % y : 0xffff)
OP2H(div_s16, int16_t, y ? x / y : -1)
OP2H(rem_s16, int16_t, y ? x % y : -1)
OP2(shl_16, u32a, uint32_t, y > 15 ? 0 : (uint16_t)(x << (y & 15)))
OP2(shr_u16, u32a, uint32_t, y > 15 ? 0 : (uint16_t)x >> (y & 15))
OP2(shr_s16, u32a, uint32_t, (uint16_t)((int16_t)x >> (y > 15 ? 15 : y)))

/* Products twice as wide. */
#define WIDE(name, S, C, D, DC)                                                                     \
	HANDLER(mulw_##name)                                                                        \
	{                                                                                           \
		D *d = REG(D, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		LANES({ d[l] = (D)((DC)(C)a[l] * (DC)(C)b[l]); });                                  \
	}                                                                                           \
	HANDLER(madw_##name)                                                                        \
	{                                                                                           \
		D *d = REG(D, 0);                                                                   \
		const D *c = REG(D, 3);                                                             \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		LANES({ d[l] = (D)((DC)(C)a[l] * (DC)(C)b[l]) + c[l]; });                           \
	}
WIDE(u16, u32a, uint16_t, u32a, uint32_t)
WIDE(s16, u32a, int16_t, u32a, int32_t)
WIDE(u32, u32a, uint32_t, u64a, uint64_t)
WIDE(s32, u32a, int32_t, u64a, int64_t)
/* 24-bit products: "PTX ISA 9.0", 9.7.1.5. */
#define S24(v) ((int64_t)((int32_t)((uint32_t)(v) << 8) >> 8))
#define U24(v) ((uint64_t)((v)&0xffffffu))
OP2(mul24lo_u32, u32a, uint32_t, U24(x) * U24(y))
OP2(mul24lo_s32, u32a, uint32_t, S24(x) * S24(y))
OP2(mul24hi_u32, u32a, uint32_t, (U24(x) * U24(y)) >> 16)
OP2(mul24hi_s32, u32a, uint32_t, (S24(x) * S24(y)) >> 16)
OP3(mad24lo_u32, u32a, uint32_t, (uint32_t)(U24(x) * U24(y)) + z)
OP3(mad24lo_s32, u32a, uint32_t, (uint32_t)(S24(x) * S24(y)) + z)
OP3(mad24hi_u32, u32a, uint32_t, (uint32_t)((U24(x) * U24(y)) >> 16) + z)
OP3(mad24hi_s32, u32a, uint32_t, (uint32_t)((S24(x) * S24(y)) >> 16) + z)

/* --- bits and bytes --- */
HANDLER(lop3)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);
	uint32_t t[8];

	for (unsigned k = 0; k < 8; k++)
		t[k] = i->imm >> k & 1 ? 0xffffffffu : 0;
	LANES({
		uint32_t x = a[l];
		uint32_t y = b[l];
		uint32_t z = c[l];
		uint32_t hi = (y & ((z & t[7]) | (~z & t[6]))) | (~y & ((z & t[5]) | (~z & t[4])));
		uint32_t lo = (y & ((z & t[3]) | (~z & t[2]))) | (~y & ((z & t[1]) | (~z & t[0])));
		d[l] = (x & hi) | (~x & lo);
	});
}
#define FUNNEL(name, EXPR)                                                                          \
	HANDLER(name)                                                                               \
	{                                                                                           \
		u32a *d = REG(u32a, 0);                                                             \
		const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);                 \
		LANES({                                                                             \
			uint64_t v = (uint64_t)b[l] << 32 | a[l];                                   \
			uint32_t n = c[l];                                                          \
			d[l] = (uint32_t)(EXPR);                                                    \
		});                                                                                 \
	}
FUNNEL(shf_l_wrap, (v << (n & 31)) >> 32)
FUNNEL(shf_l_clamp, n > 31 ? v : (v << (n & 31)) >> 32)
FUNNEL(shf_r_wrap, v >> (n & 31))
FUNNEL(shf_r_clamp, n > 31 ? v >> 32 : v >> (n & 31))

/* arg: bit 0: a signed, bit 1: b signed. */
HANDLER(dp4a)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);
	bool sa = i->arg & 1, sb = i->arg & 2;

	LANES({
		uint32_t r = c[l];
		for (unsigned k = 0; k < 32; k += 8) {
			int32_t x = sa ? (int8_t)(a[l] >> k) : (int32_t)(uint8_t)(a[l] >> k);
			int32_t y = sb ? (int8_t)(b[l] >> k) : (int32_t)(uint8_t)(b[l] >> k);
			r += (uint32_t)(x * y);
		}
		d[l] = r;
	});
}
/* arg: bits of a part, negative to add the parts' differences to c ("PTX ISA", SIMD video instructions, vabsdiff4). */
HANDLER(vabsdiff)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);
	bool sum = (int)i->arg < 0;
	unsigned bits = (unsigned)(sum ? -(int)i->arg : (int)i->arg);
	uint32_t part = (1u << bits) - 1;

	LANES({
		uint32_t r = sum ? c[l] : 0;
		for (unsigned k = 0; k < 32; k += bits) {
			uint32_t x = a[l] >> k & part, y = b[l] >> k & part, n = x > y ? x - y : y - x;
			r = sum ? r + n : r | n << k;
		}
		d[l] = r;
	});
}
HANDLER(dp2a)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);
	bool sa = i->arg & 1, sb = i->arg & 2;
	unsigned hi = i->flags & F_HI ? 16 : 0;

	LANES({
		uint32_t r = c[l];
		for (unsigned k = 0; k < 2; k++) {
			int32_t x = sa ? (int16_t)(a[l] >> 16 * k) : (int32_t)(uint16_t)(a[l] >> 16 * k);
			int32_t y = sb ? (int8_t)(b[l] >> (hi + 8 * k)) : (int32_t)(uint8_t)(b[l] >> (hi + 8 * k));
			r += (uint32_t)x * (uint32_t)y;
		}
		d[l] = r;
	});
}

/* --- moves --- */
OP1(mov_32, u32a, uint32_t, x)
OP1(mov_64, u64a, uint64_t, x)
#define SELP(name, S)                                                                               \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		uint32_t p = PRED(3);                                                               \
		if (i->flags & F_NEG_SRC)                                                           \
			p = ~p;                                                                     \
		LANES({ d[l] = p >> l & 1 ? a[l] : b[l]; });                                        \
	}
SELP(selp_32, u32a)
SELP(selp_64, u64a)
#define SLCT(name, S, T, EXPR)                                                                      \
	HANDLER(name)                                                                               \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		const T *c = REG(T, 3);                                                             \
		LANES({ d[l] = (EXPR) ? a[l] : b[l]; });                                            \
	}
SLCT(slct_32_s32, u32a, s32a, c[l] >= 0)
SLCT(slct_64_s32, u64a, s32a, c[l] >= 0)
/* -0 and, with .ftz, negative subnormals count as positive; NaN selects b: "PTX ISA 9.0", 9.7.6.4 */
#define FLUSHED(v) (i->flags & F_FTZ ? ptx_flush(v) : (v))
SLCT(slct_32_f32, u32a, f32a, FLUSHED(c[l]) >= 0)
SLCT(slct_64_f32, u64a, f32a, FLUSHED(c[l]) >= 0)

/* --- single precision, nearest even --- */
#define F1(name, EXPR)                                                                              \
	OP1(name, f32a, float, EXPR)                                                                \
	HANDLER(name##_ftz)                                                                         \
	{                                                                                           \
		f32a *d = REG(f32a, 0);                                                             \
		const f32a *a = REG(f32a, 1);                                                       \
		LANES({                                                                             \
			float x = ptx_flush(a[l]);                                                  \
			d[l] = ptx_flush(EXPR);                                                     \
		});                                                                                 \
	}
#define F2(name, EXPR)                                                                              \
	OP2(name, f32a, float, EXPR)                                                                \
	HANDLER(name##_ftz)                                                                         \
	{                                                                                           \
		f32a *d = REG(f32a, 0);                                                             \
		const f32a *a = REG(f32a, 1), *b = REG(f32a, 2);                                    \
		LANES({                                                                             \
			float x = ptx_flush(a[l]), y = ptx_flush(b[l]);                             \
			d[l] = ptx_flush(EXPR);                                                     \
		});                                                                                 \
	}
#define F3(name, EXPR)                                                                              \
	OP3(name, f32a, float, EXPR)                                                                \
	HANDLER(name##_ftz)                                                                         \
	{                                                                                           \
		f32a *d = REG(f32a, 0);                                                             \
		const f32a *a = REG(f32a, 1), *b = REG(f32a, 2), *c = REG(f32a, 3);                 \
		LANES({                                                                             \
			float x = ptx_flush(a[l]), y = ptx_flush(b[l]), z = ptx_flush(c[l]);        \
			d[l] = ptx_flush(EXPR);                                                     \
		});                                                                                 \
	}
/* The smaller of two; -0 is smaller than +0, a number wins against NaN. */
static inline float min_f32(float x, float y)
{
	float r = x < y ? x : y < x ? y : ptx_u2f(ptx_f2u(x) | ptx_f2u(y));

	r = x != x ? y : r;
	r = y != y ? x : r;
	return ptx_canon(r);
}

static inline float max_f32(float x, float y)
{
	float r = x > y ? x : y > x ? y : ptx_u2f(ptx_f2u(x) & ptx_f2u(y));

	r = x != x ? y : r;
	r = y != y ? x : r;
	return ptx_canon(r);
}
F2(add_f32, ptx_canon(x + y))
F2(sub_f32, ptx_canon(x - y))
F2(mul_f32, ptx_canon(x * y))
F3(fma_f32, ptx_canon(__builtin_fmaf(x, y, z)))
F2(div_f32, ptx_canon(x / y))
F1(rcp_f32, ptx_canon(1.0f / x))
F1(sqrt_f32, ptx_canon(__builtin_sqrtf(x)))
F2(min_f32, min_f32(x, y))
F2(max_f32, max_f32(x, y))
F2(minnan_f32, x != x || y != y ? ptx_u2f(0x7fffffffu) : min_f32(x, y))
F2(maxnan_f32, x != x || y != y ? ptx_u2f(0x7fffffffu) : max_f32(x, y))
OP1(abs_f32, f32a, float, ptx_canon(__builtin_fabsf(x)))
OP1(neg_f32, f32a, float, ptx_canon(-x))
HANDLER(abs_f32_ftz)
{
	f32a *d = REG(f32a, 0);
	const f32a *a = REG(f32a, 1);

	LANES({ d[l] = ptx_canon(__builtin_fabsf(ptx_flush(a[l]))); });
}
HANDLER(neg_f32_ftz)
{
	f32a *d = REG(f32a, 0);
	const f32a *a = REG(f32a, 1);

	LANES({ d[l] = ptx_canon(-ptx_flush(a[l])); });
}
OP2(copysign_f32, u32a, uint32_t, (x & 0x80000000u) | (y & 0x7fffffffu))

/* --- double precision, nearest even --- */
/* A NaN among the operands is the result, made quiet. Of several, which one was seen on an H200: the second, then the third, then the
 * first; of a division the first. */
OP2(add_f64, f64a, double, ptx_nan2(x + y, x, y))
OP2(sub_f64, f64a, double, ptx_nan2(x - y, x, y))
OP2(mul_f64, f64a, double, ptx_nan2(x * y, x, y))
OP3(fma_f64, f64a, double, ptx_nan3(__builtin_fma(x, y, z), x, z, y))
OP2(div_f64, f64a, double, ptx_nan2(x / y, y, x))
OP1(rcp_f64, f64a, double, 1.0 / x)
OP1(sqrt_f64, f64a, double, __builtin_sqrt(x))
OP1(abs_f64, f64a, double, ptx_nan1(__builtin_fabs(x), x))
OP1(neg_f64, f64a, double, ptx_nan1(-x, x))
OP2(copysign_f64, u64a, uint64_t, (x & 1ull << 63) | (y & ~(1ull << 63)))
static inline double min_f64(double x, double y)
{
	double r = x < y ? x : y < x ? y : ptx_u2d(ptx_d2u(x) | ptx_d2u(y));

	r = y != y ? x : r;
	return x != x ? ptx_nan1(y, y) : r;
}

static inline double max_f64(double x, double y)
{
	double r = x > y ? x : y > x ? y : ptx_u2d(ptx_d2u(x) & ptx_d2u(y));

	r = y != y ? x : r;
	return x != x ? ptx_nan1(y, y) : r;
}
OP2(min_f64, f64a, double, min_f64(x, y))
OP2(max_f64, f64a, double, max_f64(x, y))

/* --- conversions worth a loop of their own --- */
#define CVT(name, D, S, C, EXPR)                                                                    \
	HANDLER(name)                                                                               \
	{                                                                                           \
		D *d = REG(D, 0);                                                                   \
		const S *a = REG(S, 1);                                                             \
		LANES({                                                                             \
			C x = (C)a[l];                                                              \
			d[l] = (D)(EXPR);                                                           \
		});                                                                                 \
	}
CVT(cvt_64_u32, u64a, u32a, uint32_t, x)
CVT(cvt_64_s32, u64a, u32a, int32_t, (int64_t)x)
CVT(cvt_32_64, u32a, u64a, uint64_t, x)
CVT(cvt_32_u16, u32a, u32a, uint16_t, x)
CVT(cvt_32_s16, u32a, u32a, int16_t, (int32_t)x)
CVT(cvt_32_u8, u32a, u32a, uint8_t, x)
CVT(cvt_32_s8, u32a, u32a, int8_t, (int32_t)x)
CVT(cvt_f32_s32, f32a, u32a, int32_t, x)
CVT(cvt_f32_u32, f32a, u32a, uint32_t, (float)x)
CVT(cvt_f64_s32, f64a, u32a, int32_t, x)
CVT(cvt_f64_u32, f64a, u32a, uint32_t, x)
CVT(cvt_f64_f32, f64a, f32a, float, x)
CVT(cvt_f32_f64, f32a, f64a, double, (float)x) /* a NaN keeps sign and payload */
CVT(cvt_s32_f32_rzi, s32a, f32a, float, x != x ? 0 : x >= 2147483648.0f ? INT32_MAX : x <= -2147483648.0f ? INT32_MIN : (int32_t)x)

/* --- extended-precision arithmetic: the carry is a bit per lane --- */
#define CARRY(name, S, T2)                                                                          \
	HANDLER(addc_##name)                                                                        \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		uint32_t cc = 0;                                                                    \
		EACH_LANE(l)                                                                        \
		{                                                                                   \
			T2 r = (T2)a[l] + b[l] + (i->arg ? w->cc >> l & 1 : 0);                     \
			d[l] = (S)r;                                                                \
			cc |= (uint32_t)(r >> (8 * sizeof(S))) << l;                                \
		}                                                                                   \
		if (i->flags & F_CC)                                                                \
			ptx_set_pred(&w->cc, mask, cc);                                             \
	}                                                                                           \
	HANDLER(subc_##name)                                                                        \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2);                                             \
		uint32_t cc = 0;                                                                    \
		EACH_LANE(l)                                                                        \
		{                                                                                   \
			T2 r = (T2)a[l] - b[l] - (i->arg ? w->cc >> l & 1 : 0);                     \
			d[l] = (S)r;                                                                \
			cc |= (uint32_t)(r >> (8 * sizeof(S)) & 1) << l;                            \
		}                                                                                   \
		if (i->flags & F_CC)                                                                \
			ptx_set_pred(&w->cc, mask, cc);                                             \
	}
CARRY(32, u32a, uint64_t)
CARRY(64, u64a, unsigned __int128)
/* arg: bit 0: adds the carry in; bit 1: the signed high half. */
#define MADC(name, S, U2, I, I2)                                                                    \
	HANDLER(madc_##name)                                                                        \
	{                                                                                           \
		S *d = REG(S, 0);                                                                   \
		const S *a = REG(S, 1), *b = REG(S, 2), *c = REG(S, 3);                             \
		uint32_t cc = 0;                                                                    \
		EACH_LANE(l)                                                                        \
		{                                                                                   \
			U2 p = i->arg & 2 ? (U2)((I2)(I)a[l] * (I)b[l]) : (U2)a[l] * b[l];          \
			S half = (S)(i->flags & F_HI ? p >> (8 * sizeof(S)) : p);                   \
			U2 r = (U2)half + c[l] + (i->arg & 1 ? w->cc >> l & 1 : 0);                 \
			d[l] = (S)r;                                                                \
			cc |= (uint32_t)(r >> (8 * sizeof(S)) & 1) << l;                            \
		}                                                                                   \
		if (i->flags & F_CC)                                                                \
			ptx_set_pred(&w->cc, mask, cc);                                             \
	}
MADC(32, u32a, uint64_t, int32_t, int64_t)
MADC(64, u64a, unsigned __int128, int64_t, __int128)
