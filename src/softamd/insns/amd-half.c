/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector arithmetic in half precision. A sum or product of two halves is exact in double; it is
 * rounded once. fma is rounded through a double with a sticky last bit.
 */
#include "softamd/insns/amd-insn.h"

#include <math.h>

float amd_half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;

	if (e == 31)
		return as_float(sign | 0x7f800000 | m << 13);
	if (e)
		return as_float(sign | (e + 112) << 23 | m << 13);
	return as_float(sign | float_bits((float)m * 0x1p-24f));
}

/* The magnitude m * 2^e (m has its top bit at 63) as a half without sign; nearest even or to zero.
 */
static uint16_t rounded(uint64_t m, int e, bool sticky, bool to_zero)
{
	int exponent = e + 63, drop; /* value is in [2^exponent, 2^(exponent+1)) */
	uint64_t kept, rest, half;
	uint16_t h;

	if (exponent > 15)
		return to_zero ? 0x7bff : 0x7c00;
	drop = exponent >= -14 ? 53 : 53 + (-14 - exponent);
	if (drop > 64)
		return 0;
	kept = drop == 64 ? 0 : m >> drop;
	rest = drop == 64 ? m : m & ((1ull << drop) - 1);
	half = 1ull << (drop - 1);
	if (exponent >= -14)
		h = (uint16_t)((uint64_t)(exponent + 14) * 1024 + kept);
	else
		h = (uint16_t)kept;
	if (!to_zero && (rest > half || (rest == half && (sticky || kept & 1))))
		h++;
	return h;
}

/* A double, which may have lost something below its last bit (sticky), as a half. */
static uint16_t to_half(double d, bool sticky, bool to_zero)
{
	uint64_t bits = double_bits(d), m = bits & 0xfffffffffffffull;
	uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
	int e = (int)(bits >> 52 & 2047);

	if (e == 2047)
		return (uint16_t)(sign | (m ? 0x7e00 | (m >> 42) : 0x7c00));
	if (e == 0)
		return sign; /* a denormal double is far below any half */
	m = (m | 1ull << 52) << 11;
	return (uint16_t)(sign | rounded(m, e - 1023 - 63, sticky, to_zero));
}

uint16_t amd_double_to_half(double d)
{
	return to_half(d, false, false);
}

uint16_t amd_float_to_half(float f)
{
	return to_half((double)f, false, false);
}

uint16_t amd_float_to_half_rtz(float f)
{
	return to_half((double)f, false, true);
}

uint16_t amd_half_fma(uint16_t a, uint16_t b, uint16_t c)
{
	double p = (double)amd_half_to_float(a) * (double)amd_half_to_float(b);
	double q = (double)amd_half_to_float(c), s = p + q, back, error;
	uint64_t bits;

	if (s != s || isinf(s) || s == 0)
		return to_half(s, false, false);
	/* what the sum lost (two-sum): round to odd, so that the second rounding is right */
	back = s - p;
	error = (p - (s - back)) + (q - back);
	bits = double_bits(s);
	if (error != 0 && !(bits & 1))
		bits = (error > 0) == (s > 0) ? bits | 1 : bits - 1;
	return to_half(as_double(bits), error != 0, false);
}

static inline double half(uint32_t v)
{
	return (double)amd_half_to_float((uint16_t)v);
}

static inline bool is_nan(uint32_t v)
{
	return (v & 0x7fff) > 0x7c00;
}

/* The result r of halves a, b: NaN of an invalid operation is the positive one. */
static inline uint32_t result(double r, double a, double b)
{
	return r != r && a == a && b == b ? 0x7e00u : amd_double_to_half(r);
}

#define HALF2(name, expression)                                                                    \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP                                                                          \
		{                                                                                  \
			double a = half(x->a[l]), b = half(x->b[l]);                               \
                                                                                                   \
			x->d[l] = result((expression), a, b);                                      \
		}                                                                                  \
	}
#define HALF1(name, expression)                                                                    \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP                                                                          \
		{                                                                                  \
			double a = half(x->a[l]);                                                  \
                                                                                                   \
			x->d[l] = result((expression), a, 0);                                      \
		}                                                                                  \
	}
HALF2(add, a + b)
HALF2(sub, a - b)
HALF2(subrev, b - a)
HALF2(mul, a *b)
HALF1(trunc_, trunc(a))
HALF1(ceil_, ceil(a))
HALF1(floor_, floor(a))
HALF1(rndne, rint(a))
HALF1(rcp, 1 / a)
HALF1(sqrt_, sqrt(a))
HALF1(rsq, 1 / sqrt(a))
HALF1(exp2_, exp2(a))
HALF1(log2_, log2(a))

static double fraction(double a)
{
	double r = a - floor(a);

	return r > 0x1.ffcp-1 ? 0x1.ffcp-1 : r;
}

HALF1(fract, fraction(a))
HALF1(sin_, fabs(a) > 256 ? (isinf(a) ? NAN : 0.0) : sin((a - floor(a)) * 6.283185307179586476925))
HALF1(cos_, fabs(a) > 256 ? (isinf(a) ? NAN : 1.0) : cos((a - floor(a)) * 6.283185307179586476925))

static uint16_t fma_of(uint32_t a, uint32_t b, uint32_t c)
{
	uint16_t r = amd_half_fma((uint16_t)a, (uint16_t)b, (uint16_t)c);

	return is_nan(r) && !is_nan(a) && !is_nan(b) && !is_nan(c) ? 0x7e00 : r;
}

static void fma_(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = fma_of(x->a[l], x->b[l], x->c[l]);
}

/* Multiplied, rounded, added, rounded. */
static uint16_t mad_of(uint32_t a, uint32_t b, uint32_t c)
{
	uint16_t p = (uint16_t)result(half(a) * half(b), half(a), half(b));

	return (uint16_t)result(half(p) + half(c), half(p), half(c));
}

static void mad(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = mad_of(x->a[l], x->b[l], x->c[l]);
}

static void mac(struct amd_lanes *x)
{
	const uint32_t *old = x->w->v[x->o->i.dst];

	LANE_LOOP x->d[l] = mad_of(x->a[l], x->b[l], old[l] & 0xffff);
}

/* --- minimum and maximum, as in amd-float.c --- */

static int rank(uint32_t v)
{
	return v & 0x8000 ? -(int)(v & 0x7fff) - 1 : (int)(v & 0x7fff);
}

static uint32_t pick(uint32_t a, uint32_t b, bool ieee, bool larger)
{
	a &= 0xffff;
	b &= 0xffff;
	if (ieee && is_nan(a) && !(a & 0x200))
		return a | 0x200;
	if (ieee && is_nan(b) && !(b & 0x200))
		return b | 0x200;
	if (is_nan(a))
		return b;
	if (is_nan(b))
		return a;
	return (rank(a) < rank(b)) != larger ? a : b;
}

#define PICK(name, expression)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		bool ieee = x->w->mode >> 9 & 1;                                                   \
                                                                                                   \
		LANE_LOOP                                                                          \
		{                                                                                  \
			uint32_t a = x->a[l], b = x->b[l], c = x->c[l];                            \
                                                                                                   \
			(void)c;                                                                   \
			x->d[l] = (expression);                                                    \
		}                                                                                  \
	}
PICK(min_, pick(a, b, ieee, false))
PICK(max_, pick(a, b, ieee, true))
PICK(min3, pick(pick(a, b, ieee, false), c, ieee, false))
PICK(max3, pick(pick(a, b, ieee, true), c, ieee, true))

static uint32_t middle(uint32_t a, uint32_t b, uint32_t c, bool ieee)
{
	if (is_nan(a) || is_nan(b) || is_nan(c))
		return pick(pick(a, b, ieee, false), c, ieee, false);
	return pick(
		pick(a, b, ieee, false), pick(pick(a, b, ieee, true), c, ieee, false), ieee, true);
}

PICK(med3, middle(a, b, c, ieee))

static void ldexp_(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = amd_double_to_half(ldexp(half(x->a[l]), (int16_t)x->b[l]));
}

static double mantissa(double a)
{
	int e;

	return a == 0 || isinf(a) || a != a ? a : frexp(a, &e);
}

HALF1(frexp_mant, mantissa(a))

static void frexp_exp(struct amd_lanes *x)
{
	LANE_LOOP
	{
		double a = half(x->a[l]);
		int e = 0;

		if (a == a && !isinf(a) && a != 0)
			frexp(a, &e);
		x->d[l] = (uint16_t)e;
	}
}

/* The quotient S0 of S2 / S1, with the special cases put right. */
static uint32_t div_fixup(uint32_t q, uint32_t d, uint32_t n)
{
	uint32_t sign = (d ^ n) & 0x8000;
	double denominator = half(d), numerator = half(n);

	if (is_nan(n))
		return (n & 0xffff) | 0x200;
	if (is_nan(d))
		return (d & 0xffff) | 0x200;
	if ((denominator == 0 && numerator == 0) || (isinf(denominator) && isinf(numerator)))
		return 0xfe00;
	if (denominator == 0 || isinf(numerator))
		return sign | 0x7c00;
	if (isinf(denominator) || numerator == 0)
		return sign;
	return sign | (q & 0x7fff);
}

static void div_fixups(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = div_fixup(x->a[l], x->b[l], x->c[l]);
}

/* Two halves in one register, as they are. */
static void pack(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = (x->a[l] & 0xffff) | x->b[l] << 16;
}

#define H(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'h', .to = 'h'                                        \
		}                                                                                  \
	}
#define K(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'h', .to = 'h', .keeps = true                         \
		}                                                                                  \
	}
#define NEAR(name, fn, kind)                                                                       \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'h', .to = 'h', .approximate = AMD_APPROX_##kind + 1  \
		}                                                                                  \
	}
const struct amd_entry amd_half_entries[] = {
	{GFX_v_pack_b32_f16, {.lanes = pack, .from = 'h', .to = 'i'}}, H(v_add_f16, add),
	H(v_sub_f16, sub), H(v_subrev_f16, subrev), H(v_mul_f16, mul), K(v_mac_f16, mac),
	K(v_madmk_f16, mad), K(v_madak_f16, mad), K(v_fma_f16, fma_), K(v_mad_f16, mad),
	H(v_fma_legacy_f16, fma_), H(v_mad_legacy_f16, mad), H(v_min_f16, min_), H(v_max_f16, max_),
	K(v_min3_f16, min3), K(v_max3_f16, max3), K(v_med3_f16, med3), H(v_trunc_f16, trunc_),
	H(v_ceil_f16, ceil_), H(v_floor_f16, floor_), H(v_rndne_f16, rndne), H(v_fract_f16, fract),
	H(v_ldexp_f16, ldexp_), H(v_frexp_mant_f16, frexp_mant),
	{GFX_v_frexp_exp_i16_f16, {.lanes = frexp_exp, .from = 'h', .to = 'i'}},
	NEAR(v_rcp_f16, rcp, RCP), NEAR(v_sqrt_f16, sqrt_, SQRT), NEAR(v_rsq_f16, rsq, RSQ),
	NEAR(v_exp_f16, exp2_, EXP), NEAR(v_log_f16, log2_, LOG), NEAR(v_sin_f16, sin_, SIN),
	NEAR(v_cos_f16, cos_, COS), K(v_div_fixup_f16, div_fixups),
	H(v_div_fixup_legacy_f16, div_fixups), END};
