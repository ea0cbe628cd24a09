/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector arithmetic in double precision: exact by IEEE 754 but for reciprocals and roots, which
 * the hardware only estimates: here they are right to 1 ulp.
 */
#include "softamd/insns/amd-insn.h"

#include <math.h>

static inline double invalid(double r, double a, double b, double c)
{
	return r != r && a == a && b == b && c == c ? as_double(DOUBLE_NAN) : r;
}

#define DOUBLE(name, third, expression)                                                            \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP                                                                          \
		{                                                                                  \
			double a = as_double(wide(x->a, l)), b = as_double(wide(x->b, l));         \
			double c = (third), r = (expression);                                      \
                                                                                                   \
			set_wide(x->d, l, double_bits(invalid(r, a, b, c)));                       \
		}                                                                                  \
	}
#define DOUBLE3(name, expression) DOUBLE(name, as_double(wide(x->c, l)), expression)
#define DOUBLE2(name, expression) DOUBLE(name, 0, expression)
#define DOUBLED(name, expression) DOUBLE(name, as_double(wide(x->w->v[x->o->i.dst], l)), expression)
#define DOUBLE1(name, expression)                                                                  \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP                                                                          \
		{                                                                                  \
			double a = as_double(wide(x->a, l)), r = (expression);                     \
                                                                                                   \
			set_wide(x->d, l, double_bits(invalid(r, a, 0, 0)));                       \
		}                                                                                  \
	}

DOUBLE2(add, a + b)
DOUBLE2(mul, a *b)
DOUBLE3(fma_, fma(a, b, c))
DOUBLED(fmac, fma(a, b, c))
DOUBLE1(trunc_, trunc(a))
DOUBLE1(ceil_, ceil(a))
DOUBLE1(floor_, floor(a))
DOUBLE1(rndne, rint(a))

static double fraction(double a)
{
	double r = a - floor(a);

	return r >= 1 ? 0x1.fffffffffffffp-1 : r;
}

DOUBLE1(fract, fraction(a))
DOUBLE1(rcp, 1.0 / a)
DOUBLE1(rsq, 1.0 / sqrt(a))
DOUBLE1(sqrt_, sqrt(a))

static bool is_nan(uint64_t v)
{
	return (v & INT64_MAX) > 0x7ff0000000000000ull;
}

static bool is_signalling(uint64_t v)
{
	return is_nan(v) && !(v & 0x8000000000000ull);
}

static int64_t rank(uint64_t v)
{
	return v >> 63 ? (int64_t)(0x8000000000000000ull - v) - 1 : (int64_t)v;
}

static uint64_t pick(uint64_t a, uint64_t b, bool ieee, bool larger)
{
	if (ieee && is_signalling(a))
		return a | 0x8000000000000ull;
	if (ieee && is_signalling(b))
		return b | 0x8000000000000ull;
	if (is_nan(a))
		return b;
	if (is_nan(b))
		return a;
	return (rank(a) < rank(b)) != larger ? a : b;
}

static void min_(struct amd_lanes *x)
{
	LANE_LOOP set_wide(x->d, l, pick(wide(x->a, l), wide(x->b, l), x->w->mode >> 9 & 1, false));
}

static void max_(struct amd_lanes *x)
{
	LANE_LOOP set_wide(x->d, l, pick(wide(x->a, l), wide(x->b, l), x->w->mode >> 9 & 1, true));
}

static double mantissa(double a)
{
	int e;

	return a == 0 || isinf(a) || a != a ? a : frexp(a, &e);
}

DOUBLE1(frexp_mant, mantissa(a))

static void frexp_exp(struct amd_lanes *x)
{
	LANE_LOOP
	{
		double a = as_double(wide(x->a, l));
		int e = 0;

		if (a == a && !isinf(a) && a != 0)
			frexp(a, &e);
		x->d[l] = (uint32_t)e;
	}
}

static void ldexp_(struct amd_lanes *x)
{
	LANE_LOOP
	{
		int32_t e = (int32_t)x->b[l];

		e = e < -3000 ? -3000 : e > 3000 ? 3000 : e;
		set_wide(x->d, l, double_bits(ldexp(as_double(wide(x->a, l)), e)));
	}
}

/* --- division, as in amd-float.c with twice the exponents --- */

static int exponent(double a)
{
	return (int)(double_bits(a) >> 52 & 2047);
}

static bool denormal(long double v)
{
	return fabsl(v) < 0x1p-1022L;
}

static double div_scale(double a, double b, double c, bool *scaled)
{
	*scaled = false;
	if (c == 0 || b == 0)
		return as_double(DOUBLE_NAN);
	if (exponent(c) - exponent(b) >= 768) {
		*scaled = true;
		return a == b ? ldexp(a, 128) : a;
	}
	if (exponent(b) == 0)
		return ldexp(a, 128);
	if (denormal(1.0L / b) && denormal((long double)c / b)) {
		*scaled = true;
		return a == b ? ldexp(a, 128) : a;
	}
	if (denormal(1.0L / b))
		return ldexp(a, -128);
	if (denormal((long double)c / b)) {
		*scaled = true;
		return a == c ? ldexp(a, 128) : a;
	}
	return exponent(c) <= 53 ? ldexp(a, 128) : a;
}

static void div_scales(struct amd_lanes *x)
{
	uint64_t out = 0;

	LANE_LOOP
	{
		bool scaled;

		set_wide(x->d, l,
			double_bits(div_scale(as_double(wide(x->a, l)), as_double(wide(x->b, l)),
				as_double(wide(x->c, l)), &scaled)));
		out |= (uint64_t)scaled << l;
	}
	x->mask = out;
}

static void div_fmas(struct amd_lanes *x)
{
	uint64_t vcc = amd_pair(x->w, GFX_VCC);

	LANE_LOOP
	{
		double c = as_double(wide(x->c, l));
		double r = fma(as_double(wide(x->a, l)), as_double(wide(x->b, l)), c);

		if (vcc >> l & 1)
			r = ldexp(r, exponent(c) > 1023 ? 128 : -128);
		set_wide(x->d, l, double_bits(r));
	}
}

static uint64_t div_fixup(uint64_t q, uint64_t d, uint64_t n)
{
	uint64_t sign = (d ^ n) & 0x8000000000000000ull;
	double denominator = as_double(d), numerator = as_double(n);

	if (is_nan(n))
		return n | 0x8000000000000ull;
	if (is_nan(d))
		return d | 0x8000000000000ull;
	if ((denominator == 0 && numerator == 0) || (isinf(denominator) && isinf(numerator)))
		return 0xfff8000000000000ull;
	if (denominator == 0 || isinf(numerator))
		return sign | 0x7ff0000000000000ull;
	if (isinf(denominator) || numerator == 0)
		return sign;
	if (exponent(numerator) - exponent(denominator) < -1075)
		return sign;
	return sign | (q & INT64_MAX);
}

static void div_fixups(struct amd_lanes *x)
{
	LANE_LOOP set_wide(x->d, l, div_fixup(wide(x->a, l), wide(x->b, l), wide(x->c, l)));
}

/* 53 bits of 2 / pi from bit S1 * 53 on, scaled ("MI200", V_TRIG_PREOP_F64). */
static double trig_preop(double a, unsigned segment)
{
	/* 2 / pi in binary, 1,152 bits after the point: 0x.A2F9836E 4E441529 ... */
	static const uint32_t two_over_pi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
		0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea,
		0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
		0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b,
		0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
		0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};
	unsigned shift = segment * 53;
	int e = exponent(a);
	uint64_t bits = 0;
	double r;

	if (e > 1077)
		shift += (unsigned)(e - 1077);
	for (unsigned k = 0; k < 53; k++) {
		unsigned at = shift + k;

		bits = bits << 1 | (at < 32 * 36 ? two_over_pi[at / 32] >> (31 - at % 32) & 1 : 0);
	}
	r = ldexp((double)bits, -53 - (int)shift);
	return e >= 1968 ? ldexp(r, 128) : r;
}

static void trig_preops(struct amd_lanes *x)
{
	LANE_LOOP set_wide(
		x->d, l, double_bits(trig_preop(as_double(wide(x->a, l)), x->b[l] & 31)));
}

#define D(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'd', .to = 'd'                                        \
		}                                                                                  \
	}
#define NEAR(name, fn, kind)                                                                       \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'd', .to = 'd', .approximate = AMD_APPROX_##kind + 1  \
		}                                                                                  \
	}
const struct amd_entry amd_double_entries[] = {D(v_add_f64, add), D(v_mul_f64, mul),
	D(v_fma_f64, fma_), D(v_fmac_f64, fmac), D(v_min_f64, min_), D(v_max_f64, max_),
	D(v_trunc_f64, trunc_), D(v_ceil_f64, ceil_), D(v_floor_f64, floor_), D(v_rndne_f64, rndne),
	D(v_fract_f64, fract), NEAR(v_rcp_f64, rcp, RCP), NEAR(v_rsq_f64, rsq, RSQ),
	NEAR(v_sqrt_f64, sqrt_, SQRT), D(v_frexp_mant_f64, frexp_mant),
	{GFX_v_frexp_exp_i32_f64, {.lanes = frexp_exp, .from = 'd', .to = 'i'}},
	D(v_ldexp_f64, ldexp_), D(v_div_scale_f64, div_scales), D(v_div_fmas_f64, div_fmas),
	D(v_div_fixup_f64, div_fixups), D(v_trig_preop_f64, trig_preops), END};
