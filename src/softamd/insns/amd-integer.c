/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector arithmetic on integers and bits ("AMD Instinct MI200 ISA", 12.7 to 12.10).
 */
#include "softamd/insns/amd-insn.h"

/* One result of 32 bits: a, b and c are a lane's sources. */
#define LANE(name, expression)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP                                                                          \
		{                                                                                  \
			uint32_t a = x->a[l], b = x->b[l], c = x->c[l];                            \
                                                                                                   \
			(void)a;                                                                   \
			(void)b;                                                                   \
			(void)c;                                                                   \
			x->d[l] = (uint32_t)(expression);                                          \
		}                                                                                  \
	}
#define S(v) ((int32_t)(v))
#define H(v) ((uint16_t)(v))
#define SH(v) ((int16_t)(v))

/* With clamp the result stops at the type's ends. */
#define CLAMPED(name, plain, wide_type, wide, low, high)                                           \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		bool clamp = x->o->i.clamp;                                                        \
                                                                                                   \
		LANE_LOOP                                                                          \
		{                                                                                  \
			uint32_t a = x->a[l], b = x->b[l], c = x->c[l];                            \
			wide_type v = (wide);                                                      \
                                                                                                   \
			(void)c;                                                                   \
			x->d[l] = clamp ? (uint32_t)(v < (low)	  ? (low)                          \
						     : v > (high) ? (high)                         \
								  : v)                             \
					: (uint32_t)(plain);                                       \
		}                                                                                  \
	}
#define U32(name, plain, wide) CLAMPED(name, plain, int64_t, wide, (int64_t)0, (int64_t)UINT32_MAX)
#define I32(name, plain, wide)                                                                     \
	CLAMPED(name, plain, int64_t, wide, (int64_t)INT32_MIN, (int64_t)INT32_MAX)
#define U16(name, plain, wide) CLAMPED(name, H(plain), int64_t, wide, (int64_t)0, (int64_t)0xffff)
#define I16(name, plain, wide)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		bool clamp = x->o->i.clamp;                                                        \
                                                                                                   \
		LANE_LOOP                                                                          \
		{                                                                                  \
			int32_t a = SH(x->a[l]), b = SH(x->b[l]), c = SH(x->c[l]), v = (wide);     \
                                                                                                   \
			(void)c;                                                                   \
			if (clamp)                                                                 \
				v = v < -32768 ? -32768 : v > 32767 ? 32767 : v;                   \
			x->d[l] = H(v);                                                            \
		}                                                                                  \
	}

U32(add_u32, a + b, (int64_t)a + b)
U32(sub_u32, a - b, (int64_t)a - b)
U32(subrev_u32, b - a, (int64_t)b - a)
I32(add_i32, a + b, (int64_t)S(a) + S(b))
I32(sub_i32, a - b, (int64_t)S(a) - S(b))
U16(add_u16, a + b, (int64_t)H(a) + H(b))
U16(sub_u16, a - b, (int64_t)H(a) - H(b))
U16(subrev_u16, b - a, (int64_t)H(b) - H(a))
U16(mad_u16, a *b + c, (int64_t)H(a) * H(b) + H(c))
I16(add_i16, 0, a + b)
I16(sub_i16, 0, a - b)
I16(mad_i16, 0, a *b + c)
LANE(mul_lo_u16, H(H(a) * H(b)))
LANE(mul_lo_u32, a *b)
LANE(mul_hi_u32, (uint64_t)a *b >> 32)
LANE(mul_hi_i32, (uint64_t)((int64_t)S(a) * S(b)) >> 32)

/* 24 bits: the rest of the sources does not count. */
#define U24(v) ((v)&0xffffffu)
#define I24(v) ((int32_t)((v) << 8) >> 8)
I32(mul_i24, (uint32_t)I24(a) * (uint32_t)I24(b), (int64_t)I24(a) * I24(b))
U32(mul_u24, U24(a) * U24(b), (int64_t)((uint64_t)U24(a) * U24(b)))
LANE(mul_hi_i24, (uint64_t)((int64_t)I24(a) * I24(b)) >> 32)
LANE(mul_hi_u24, (uint64_t)U24(a) * U24(b) >> 32)
I32(mad_i24, (uint32_t)I24(a) * (uint32_t)I24(b) + c, (int64_t)I24(a) * I24(b) + S(c))
U32(mad_u24, U24(a) * U24(b) + c, (int64_t)((uint64_t)U24(a) * U24(b)) + c)
U32(mad_u32_u16, (uint32_t)H(a) * H(b) + c, (int64_t)((uint64_t)H(a) * H(b)) + c)
I32(mad_i32_i16, (uint32_t)(SH(a) * SH(b)) + c, (int64_t)SH(a) * SH(b) + S(c))

static uint32_t reversed(uint32_t v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}

LANE(min_i32, S(a) < S(b) ? a : b)
LANE(max_i32, S(a) > S(b) ? a : b)
LANE(min_u32, a < b ? a : b)
LANE(max_u32, a > b ? a : b)
LANE(min_i16, H(SH(a) < SH(b) ? a : b))
LANE(max_i16, H(SH(a) > SH(b) ? a : b))
LANE(min_u16, H(a) < H(b) ? H(a) : H(b))
LANE(max_u16, H(a) > H(b) ? H(a) : H(b))
#define MIN(p, q) ((p) < (q) ? (p) : (q))
#define MAX(p, q) ((p) > (q) ? (p) : (q))
#define MED(p, q, r) MAX(MIN(p, q), MIN(MAX(p, q), r))
LANE(min3_i32, MIN(MIN(S(a), S(b)), S(c)))
LANE(max3_i32, MAX(MAX(S(a), S(b)), S(c)))
LANE(med3_i32, MED(S(a), S(b), S(c)))
LANE(min3_u32, MIN(MIN(a, b), c))
LANE(max3_u32, MAX(MAX(a, b), c))
LANE(med3_u32, MED(a, b, c))
LANE(min3_i16, H(MIN(MIN(SH(a), SH(b)), SH(c))))
LANE(max3_i16, H(MAX(MAX(SH(a), SH(b)), SH(c))))
LANE(med3_i16, H(MED(SH(a), SH(b), SH(c))))
LANE(min3_u16, MIN(MIN(H(a), H(b)), H(c)))
LANE(max3_u16, MAX(MAX(H(a), H(b)), H(c)))
LANE(med3_u16, MED(H(a), H(b), H(c)))

LANE(and, a &b)
LANE(or, a | b)
LANE(xor, a ^ b)
LANE(xnor, ~(a ^ b))
LANE(not, ~a)
LANE(and_or, (a & b) | c)
LANE(or3, a | b | c)
LANE(lshl_or, (a << (b & 31)) | c)
LANE(lshl_add, (a << (b & 31)) + c)
LANE(add_lshl, (a + b) << (c & 31))
U32(add3, a + b + c, (int64_t)a + b + c)
LANE(xad, (a ^ b) + c)
LANE(bfi, (a & b) | (~a & c))
LANE(lshlrev, b << (a & 31))
LANE(lshrrev, b >> (a & 31))
LANE(ashrrev, S(b) >> (a & 31))
LANE(lshlrev16, H(H(b) << (a & 15)))
LANE(lshrrev16, H(b) >> (a & 15))
LANE(ashrrev16, H(SH(b) >> (a & 15)))
LANE(bfm, ((1u << (a & 31)) - 1) << (b & 31))
LANE(bcnt, (uint32_t)__builtin_popcount(a) + b)
LANE(bfrev, reversed(a))
LANE(ffbh_u32, a ? (uint32_t)__builtin_clz(a) : ~0u)
LANE(ffbl, a ? (uint32_t)__builtin_ctz(a) : ~0u)
LANE(ffbh_i32, a == 0 || a == ~0u ? ~0u : (uint32_t)__builtin_clrsb(S(a)) + 1)

static uint32_t field(uint32_t v, unsigned offset, unsigned width)
{
	return width ? v >> offset & ((1u << width) - 1) : 0;
}

static uint32_t signed_field(uint32_t v, unsigned offset, unsigned width)
{
	uint32_t f = (uint32_t)(S(v) >> offset);

	return width ? (uint32_t)(S(f << (32 - width)) >> (32 - width)) : 0;
}

LANE(bfe_u32, field(a, b & 31, c & 31))
LANE(bfe_i32, signed_field(a, b & 31, c & 31))
LANE(alignbit, (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))
LANE(alignbyte, (uint32_t)(((uint64_t)a << 32 | b) >> 8 * (c & 3)))

/* Byte `select` of the eight of a:b, a sign, 0 or 255 ("MI200", V_PERM_B32). */
static uint32_t perm_byte(uint64_t bytes, unsigned select)
{
	if (select >= 13)
		return 0xff;
	if (select == 12)
		return 0;
	if (select >= 8)
		return bytes >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
	return bytes >> 8 * select & 0xff;
}

static void perm(struct amd_lanes *x)
{
	LANE_LOOP
	{
		uint64_t bytes = (uint64_t)x->a[l] << 32 | x->b[l];
		uint32_t r = 0;

		for (unsigned k = 0; k < 4; k++)
			r |= perm_byte(bytes, x->c[l] >> 8 * k & 0xff) << 8 * k;
		x->d[l] = r;
	}
}

static uint32_t byte_of(uint32_t v, unsigned k)
{
	return v >> 8 * k & 0xff;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t sad_bytes(uint32_t a, uint32_t b, bool masked)
{
	uint32_t sum = 0;

	for (unsigned k = 0; k < 4; k++)
		if (!masked || byte_of(b, k))
			sum += distance(byte_of(a, k), byte_of(b, k));
	return sum;
}

U32(sad_u8, sad_bytes(a, b, false) + c, (int64_t)sad_bytes(a, b, false) + c)
U32(sad_hi_u8, (sad_bytes(a, b, false) << 16) + c, (int64_t)(sad_bytes(a, b, false) << 16) + c)
U32(msad_u8, sad_bytes(a, b, true) + c, (int64_t)sad_bytes(a, b, true) + c)
U32(sad_u16, distance(H(a), H(b)) + distance(a >> 16, b >> 16) + c,
	(int64_t)distance(H(a), H(b)) + distance(a >> 16, b >> 16) + c)
U32(sad_u32, distance(a, b) + c, (int64_t)distance(a, b) + c)
LANE(lerp_u8, ((byte_of(a, 0) + byte_of(b, 0) + (c & 1)) >> 1) |
		      ((byte_of(a, 1) + byte_of(b, 1) + (c >> 8 & 1)) >> 1) << 8 |
		      ((byte_of(a, 2) + byte_of(b, 2) + (c >> 16 & 1)) >> 1) << 16 |
		      ((byte_of(a, 3) + byte_of(b, 3) + (c >> 24 & 1)) >> 1) << 24)

/* --- carries --- */

#define CARRY(name, result, carry)                                                                 \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		uint64_t out = 0;                                                                  \
                                                                                                   \
		LANE_LOOP                                                                          \
		{                                                                                  \
			uint64_t a = x->a[l], b = x->b[l], in = x->carry_in >> l & 1;              \
			bool over = (carry);                                                       \
			uint32_t r = (uint32_t)(result);                                           \
                                                                                                   \
			(void)in;                                                                  \
			out |= (uint64_t)over << l;                                                \
			x->d[l] = x->o->i.clamp && over ? CLAMP_TO : r;                            \
		}                                                                                  \
		x->mask = out;                                                                     \
	}
#define CLAMP_TO ~0u
CARRY(add_co, a + b, (a + b) >> 32)
CARRY(addc_co, a + b + in, (a + b + in) >> 32)
#undef CLAMP_TO
#define CLAMP_TO 0
CARRY(sub_co, a - b, b > a)
CARRY(subrev_co, b - a, a > b)
CARRY(subb_co, a - b - in, b + in > a)
CARRY(subbrev_co, b - a - in, a + in > b)

static void mad_u64_u32(struct amd_lanes *x)
{
	uint64_t out = 0;

	LANE_LOOP
	{
		uint64_t product = (uint64_t)x->a[l] * x->b[l], sum = product + wide(x->c, l);

		out |= (uint64_t)(sum < product) << l;
		set_wide(x->d, l, sum);
	}
	x->mask = out;
}

static void mad_i64_i32(struct amd_lanes *x)
{
	uint64_t out = 0;

	LANE_LOOP
	{
		int64_t product = (int64_t)S(x->a[l]) * S(x->b[l]), sum;

		out |= (uint64_t)__builtin_add_overflow(product, (int64_t)wide(x->c, l), &sum) << l;
		set_wide(x->d, l, (uint64_t)sum);
	}
	x->mask = out;
}

/* --- 64 bits --- */

#define WIDE(name, expression)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP set_wide(x->d, l, (expression));                                         \
	}
WIDE(lshlrev64, wide(x->b, l) << (x->a[l] & 63))
WIDE(mov64, wide(x->a, l))
WIDE(lshl_add64, (wide(x->a, l) << (x->b[l] & 7)) + wide(x->c, l))
WIDE(lshrrev64, wide(x->b, l) >> (x->a[l] & 63))
WIDE(ashrrev64, (uint64_t)((int64_t)wide(x->b, l) >> (x->a[l] & 63)))

static void cndmask(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = x->carry_in >> l & 1 ? x->b[l] : x->a[l];
}

LANE(mov, a)
LANE(sat_pk_u8, (S(SH(a)) < 0	      ? 0
			: SH(a) > 255 ? 255
				      : H(a)) |
			(S(a) >> 16 < 0		   ? 0u
				: S(a) >> 16 > 255 ? 255u
						   : a >> 16)
				<< 8)

#define I(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'i', .to = 'i'                                        \
		}                                                                                  \
	}
#define C(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'i', .to = 'i', .clamps = true                        \
		}                                                                                  \
	}
/* of 16 bits, with op_sel: the register's other half stays */
#define K(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'i', .to = 'i', .clamps = true, .keeps = true         \
		}                                                                                  \
	}
const struct amd_entry amd_integer_entries[] = {C(v_add_u32, add_u32), C(v_sub_u32, sub_u32),
	C(v_subrev_u32, subrev_u32), C(v_add_i32, add_i32), C(v_sub_i32, sub_i32),
	C(v_add_u16, add_u16), C(v_sub_u16, sub_u16), C(v_subrev_u16, subrev_u16),
	K(v_mad_u16, mad_u16), K(v_mad_i16, mad_i16), C(v_mad_legacy_u16, mad_u16),
	C(v_mad_legacy_i16, mad_i16), K(v_add_i16, add_i16), K(v_sub_i16, sub_i16),
	I(v_mul_lo_u16, mul_lo_u16), I(v_mul_lo_u32, mul_lo_u32), I(v_mul_hi_u32, mul_hi_u32),
	I(v_mul_hi_i32, mul_hi_i32), C(v_mul_i32_i24, mul_i24), C(v_mul_u32_u24, mul_u24),
	I(v_mul_hi_i32_i24, mul_hi_i24), I(v_mul_hi_u32_u24, mul_hi_u24), C(v_mad_i32_i24, mad_i24),
	C(v_mad_u32_u24, mad_u24), C(v_mad_u32_u16, mad_u32_u16), C(v_mad_i32_i16, mad_i32_i16),
	I(v_min_i32, min_i32), I(v_max_i32, max_i32), I(v_min_u32, min_u32), I(v_max_u32, max_u32),
	I(v_min_i16, min_i16), I(v_max_i16, max_i16), I(v_min_u16, min_u16), I(v_max_u16, max_u16),
	I(v_min3_i32, min3_i32), I(v_max3_i32, max3_i32), I(v_med3_i32, med3_i32),
	I(v_min3_u32, min3_u32), I(v_max3_u32, max3_u32), I(v_med3_u32, med3_u32),
	K(v_min3_i16, min3_i16), K(v_max3_i16, max3_i16), K(v_med3_i16, med3_i16),
	K(v_min3_u16, min3_u16), K(v_max3_u16, max3_u16), K(v_med3_u16, med3_u16),
	I(v_and_b32, and), I(v_or_b32, or), I(v_xor_b32, xor), I(v_xnor_b32, xnor),
	I(v_not_b32, not ), I(v_and_or_b32, and_or), I(v_or3_b32, or3), I(v_lshl_or_b32, lshl_or),
	I(v_lshl_add_u32, lshl_add), I(v_add_lshl_u32, add_lshl), I(v_add3_u32, add3),
	I(v_xad_u32, xad), I(v_bfi_b32, bfi), I(v_lshlrev_b32, lshlrev), I(v_lshrrev_b32, lshrrev),
	I(v_ashrrev_i32, ashrrev), I(v_lshlrev_b16, lshlrev16), I(v_lshrrev_b16, lshrrev16),
	I(v_ashrrev_i16, ashrrev16), I(v_bfm_b32, bfm), I(v_bcnt_u32_b32, bcnt),
	I(v_bfrev_b32, bfrev), I(v_ffbh_u32, ffbh_u32), I(v_ffbl_b32, ffbl),
	I(v_ffbh_i32, ffbh_i32), I(v_bfe_u32, bfe_u32), I(v_bfe_i32, bfe_i32),
	I(v_alignbit_b32, alignbit), I(v_alignbyte_b32, alignbyte), I(v_perm_b32, perm),
	C(v_sad_u8, sad_u8), C(v_sad_hi_u8, sad_hi_u8), C(v_msad_u8, msad_u8),
	C(v_sad_u16, sad_u16), C(v_sad_u32, sad_u32), I(v_lerp_u8, lerp_u8),
	C(v_add_co_u32, add_co), C(v_addc_co_u32, addc_co), C(v_sub_co_u32, sub_co),
	C(v_subrev_co_u32, subrev_co), C(v_subb_co_u32, subb_co), C(v_subbrev_co_u32, subbrev_co),
	I(v_mad_u64_u32, mad_u64_u32), I(v_mad_i64_i32, mad_i64_i32), I(v_lshlrev_b64, lshlrev64),
	I(v_mov_b64, mov64), I(v_lshl_add_u64, lshl_add64), I(v_lshrrev_b64, lshrrev64),
	I(v_ashrrev_i64, ashrrev64),
	{GFX_v_cndmask_b32, {.lanes = cndmask, .from = 'm', .to = 'i'}}, I(v_mov_b32, mov),
	I(v_sat_pk_u8_i16, sat_pk_u8), END};
