/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector arithmetic in single precision. Addition, multiplication, fma, minimum, maximum, rounding
 * to integers and scaling are exact by IEEE 754; reciprocals, roots, exponentials, logarithms, sine
 * and cosine are computed in double precision and rounded once: right to 1 ulp, not the hardware's
 * bits.
 */
#include "softamd/insns/amd-insn.h"

#include <math.h>

/* A result that is NaN without a NaN among its sources is the positive quiet one. */
static inline float invalid(float r, float a, float b, float c)
{
	/* without branches, so that the compiler makes vectors of it */
	const uint32_t made = 0u - (uint32_t)((r != r) & (a == a) & (b == b) & (c == c));

	return as_float((made & FLOAT_NAN) | (~made & float_bits(r)));
}

/* Expressions over a lane's floats a, b, c. */
/* Pointers of their own: what is stored through d could else be what x says. */
#define FLOAT_LOOP(first, second, third, expression)                                               \
	const uint32_t *pa = first, *pb = second, *pc = third;                                     \
	uint32_t *restrict d = x->d;                                                               \
                                                                                                   \
	LANE_LOOP                                                                                  \
	{                                                                                          \
		const float a = as_float(pa[l]), b = as_float(pb[l]), c = as_float(pc[l]);         \
		const float r = (expression);                                                      \
                                                                                                   \
		(void)b, (void)c;                                                                  \
		d[l] = float_bits(invalid(r, a, b, c));                                            \
	}
#define FLOAT3(name, expression)                                                                   \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		FLOAT_LOOP(x->a, x->b, x->c, expression)                                           \
	}
#define FLOAT2(name, expression)                                                                   \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		FLOAT_LOOP(x->a, x->b, x->b, expression)                                           \
	}
#define FLOAT1(name, expression)                                                                   \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		FLOAT_LOOP(x->a, x->a, x->a, expression)                                           \
	}
/* The destination is a source, too. */
#define FLOATD(name, expression)                                                                   \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		FLOAT_LOOP(x->a, x->b, x->w->v[x->o->i.dst], expression)                           \
	}

FLOAT2(add, a + b)
FLOAT2(sub, a - b)
FLOAT2(subrev, b - a)
FLOAT2(mul, a *b)
/* 0 times anything is 0. */
FLOAT2(mul_legacy, a == 0 || b == 0 ? 0.0f : a * b)
FLOAT3(fma_, fmaf(a, b, c))
FLOATD(fmac, fmaf(a, b, c))
/* Multiplied, rounded, added, without denormals ("MI200": MAD does not support them). */
static inline float no_denormal(float v)
{
	uint32_t bits = float_bits(v);

	return bits & 0x7f800000 ? v : as_float(bits & 0x80000000);
}

FLOAT3(mad, no_denormal(a *b) + c)
FLOATD(mac, no_denormal(a *b) + no_denormal(c))
FLOAT3(mad_legacy, a == 0 || b == 0 ? c : no_denormal(a * b) + c)

/* --- minimum and maximum ("MI200", V_MIN_F32): a NaN gives the other; a signalling one is made
 * quiet and is the result, with IEEE mode. -0 is below +0. --- */

static inline bool is_nan(uint32_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

static inline bool is_signalling(uint32_t v)
{
	return is_nan(v) && !(v & 0x400000);
}

/* In the order of numbers, as signed integers. */
static inline int32_t rank(uint32_t v)
{
	return v >> 31 ? (int32_t)(0x80000000u - v) - 1 : (int32_t)v;
}

static inline uint32_t minimum(uint32_t a, uint32_t b, bool ieee)
{
	if (ieee && is_signalling(a))
		return a | 0x400000;
	if (ieee && is_signalling(b))
		return b | 0x400000;
	if (is_nan(a))
		return b;
	if (is_nan(b))
		return a;
	return rank(a) < rank(b) ? a : b;
}

static inline uint32_t maximum(uint32_t a, uint32_t b, bool ieee)
{
	if (ieee && is_signalling(a))
		return a | 0x400000;
	if (ieee && is_signalling(b))
		return b | 0x400000;
	if (is_nan(a))
		return b;
	if (is_nan(b))
		return a;
	return rank(a) >= rank(b) ? a : b;
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
PICK(min_, minimum(a, b, ieee))
PICK(max_, maximum(a, b, ieee))
PICK(min3, minimum(minimum(a, b, ieee), c, ieee))
PICK(max3, maximum(maximum(a, b, ieee), c, ieee))

/* The middle one; with a NaN the smallest of the three ("MI200", V_MED3_F32). */
static uint32_t middle(uint32_t a, uint32_t b, uint32_t c, bool ieee)
{
	if (is_nan(a) || is_nan(b) || is_nan(c))
		return minimum(minimum(a, b, ieee), c, ieee);
	return maximum(minimum(a, b, ieee), minimum(maximum(a, b, ieee), c, ieee), ieee);
}

PICK(med3, middle(a, b, c, ieee))

/* --- to integers and parts --- */

FLOAT1(trunc_, truncf(a))
FLOAT1(ceil_, ceilf(a))
FLOAT1(floor_, floorf(a))
FLOAT1(rndne, rintf(a))

/* a - floor(a), below 1 ("MI200", V_FRACT_F32). */
static float fraction(float a)
{
	float r = a - floorf(a);

	return r >= 1 ? 0x1.fffffep-1f : r;
}

FLOAT1(fract, fraction(a))

static float mantissa(float a)
{
	int e;

	return a == 0 || isinf(a) || a != a ? a : frexpf(a, &e);
}

FLOAT1(frexp_mant, mantissa(a))

static void frexp_exp(struct amd_lanes *x)
{
	LANE_LOOP
	{
		float a = as_float(x->a[l]);
		int e = 0;

		if (a == a && !isinf(a) && a != 0)
			frexpf(a, &e);
		x->d[l] = (uint32_t)e;
	}
}

static void ldexp_(struct amd_lanes *x)
{
	LANE_LOOP
	{
		int32_t e = (int32_t)x->b[l];

		e = e < -400 ? -400 : e > 400 ? 400 : e;
		x->d[l] = float_bits(ldexpf(as_float(x->a[l]), e));
	}
}

/* --- approximations --- */

FLOAT1(rcp, (float)(1.0 / (double)a))
FLOAT1(sqrt_, sqrtf(a))
FLOAT1(rsq, (float)(1.0 / sqrt((double)a)))
FLOAT1(exp2_, (float)exp2((double)a))
FLOAT1(log2_, (float)log2((double)a))

/* The source is in turns of the circle; only its fraction counts, and beyond 256 turns nothing. */
static double turns(float a)
{
	return (double)a - floor((double)a);
}

FLOAT1(sin_, fabsf(a) > 256 ? (isinf(a) ? as_float(FLOAT_NAN) : 0.0f)
			    : (float)sin(turns(a) * 6.283185307179586476925))
FLOAT1(cos_, fabsf(a) > 256 ? (isinf(a) ? as_float(FLOAT_NAN) : 1.0f)
			    : (float)cos(turns(a) * 6.283185307179586476925))

/* --- division: v_div_scale, v_div_fmas, v_div_fixup ("MI200", 12.11) --- */

static int exponent(float a)
{
	return (int)(float_bits(a) >> 23 & 255);
}

/* S0 is the one to scale: the denominator S1 or the numerator S2. */
static float div_scale(float a, float b, float c, bool *scaled)
{
	*scaled = false;
	if (c == 0 || b == 0)
		return as_float(FLOAT_NAN);
	if (exponent(c) - exponent(b) >= 96) { /* the quotient would be large */
		*scaled = true;
		return a == b ? ldexpf(a, 64) : a;
	}
	if (exponent(b) == 0) /* a denormal denominator */
		return ldexpf(a, 64);
	if (fabs(1.0 / (double)b) < 0x1p-126 && fabs((double)c / (double)b) < 0x1p-126) {
		*scaled = true;
		return a == b ? ldexpf(a, 64) : a;
	}
	if (fabs(1.0 / (double)b) < 0x1p-126)
		return ldexpf(a, -64);
	if (fabs((double)c / (double)b) < 0x1p-126) {
		*scaled = true;
		return a == c ? ldexpf(a, 64) : a;
	}
	if (exponent(c) <= 23) /* a tiny numerator */
		return ldexpf(a, 64);
	return a;
}

static void div_scales(struct amd_lanes *x)
{
	uint64_t out = 0;

	LANE_LOOP
	{
		bool scaled;

		x->d[l] = float_bits(div_scale(
			as_float(x->a[l]), as_float(x->b[l]), as_float(x->c[l]), &scaled));
		out |= (uint64_t)scaled << l;
	}
	x->mask = out;
}

/* fma, scaled back by 2^64 where VCC says that something was scaled. */
static void div_fmas(struct amd_lanes *x)
{
	uint64_t vcc = amd_pair(x->w, GFX_VCC);

	LANE_LOOP
	{
		float a = as_float(x->a[l]), b = as_float(x->b[l]), c = as_float(x->c[l]);
		double scale = exponent(c) > 127 ? 0x1p64 : 0x1p-64;

		x->d[l] = float_bits(vcc >> l & 1 ? (float)(fma(a, b, c) * scale) : fmaf(a, b, c));
	}
}

/* The quotient S0 of S2 / S1, with the special cases put right. */
static float div_fixup(uint32_t q, uint32_t d, uint32_t n)
{
	uint32_t sign = (d ^ n) & 0x80000000;
	float denominator = as_float(d), numerator = as_float(n);

	if (is_nan(n))
		return as_float(n | 0x400000);
	if (is_nan(d))
		return as_float(d | 0x400000);
	if ((denominator == 0 && numerator == 0) || (isinf(denominator) && isinf(numerator)))
		return as_float(0xffc00000);
	if (denominator == 0 || isinf(numerator))
		return as_float(sign | 0x7f800000);
	if (isinf(denominator) || numerator == 0)
		return as_float(sign);
	if (exponent(numerator) - exponent(denominator) < -150)
		return as_float(sign | 1) * 0.5f; /* below the smallest denormal: rounds to zero */
	if (exponent(denominator) == 255)
		return as_float(sign | 0x7f800000);
	return as_float(sign | (q & 0x7fffffff));
}

static void div_fixups(struct amd_lanes *x)
{
	LANE_LOOP x->d[l] = float_bits(div_fixup(x->a[l], x->b[l], x->c[l]));
}

/* --- legacy and cube instructions are graphics': not here --- */

#define F(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'f', .to = 'f'                                        \
		}                                                                                  \
	}
#define NEAR(name, fn, kind)                                                                       \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'f', .to = 'f', .approximate = AMD_APPROX_##kind + 1  \
		}                                                                                  \
	}
#define OLD(name, fn)                                                                              \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'f', .to = 'f', .flushes = true                       \
		}                                                                                  \
	}
const struct amd_entry amd_float_entries[] = {F(v_add_f32, add), F(v_sub_f32, sub),
	F(v_subrev_f32, subrev), F(v_mul_f32, mul), F(v_mul_legacy_f32, mul_legacy),
	F(v_mul_legacy_f32_also, mul_legacy), F(v_fma_f32, fma_), F(v_fmamk_f32, fma_),
	F(v_fmaak_f32, fma_), F(v_fmac_f32, fmac), OLD(v_mad_f32, mad), OLD(v_mac_f32, mac),
	OLD(v_madmk_f32, mad), OLD(v_madak_f32, mad), OLD(v_mad_legacy_f32, mad_legacy),
	F(v_min_f32, min_), F(v_max_f32, max_), F(v_min3_f32, min3), F(v_max3_f32, max3),
	F(v_med3_f32, med3), F(v_trunc_f32, trunc_), F(v_ceil_f32, ceil_), F(v_floor_f32, floor_),
	F(v_rndne_f32, rndne), F(v_fract_f32, fract), F(v_frexp_mant_f32, frexp_mant),
	{GFX_v_frexp_exp_i32_f32, {.lanes = frexp_exp, .from = 'f', .to = 'i'}},
	F(v_ldexp_f32, ldexp_), NEAR(v_rcp_f32, rcp, RCP), NEAR(v_rcp_iflag_f32, rcp, RCP),
	NEAR(v_sqrt_f32, sqrt_, SQRT), NEAR(v_rsq_f32, rsq, RSQ), NEAR(v_exp_f32, exp2_, EXP),
	NEAR(v_exp_legacy_f32, exp2_, EXP), NEAR(v_log_f32, log2_, LOG),
	NEAR(v_log_legacy_f32, log2_, LOG), NEAR(v_sin_f32, sin_, SIN), NEAR(v_cos_f32, cos_, COS),
	F(v_div_scale_f32, div_scales), F(v_div_fmas_f32, div_fmas), F(v_div_fixup_f32, div_fixups),
	END};
