/* SPDX-License-Identifier: Apache-2.0
 *
 * Dot products as a tensor core makes them: see ptx-tensor.h. Zeros are surprising: they take part in the search for the largest exponent
 * with that of the smallest normal f32, so sums far below that lose their last bits.
 */
#if !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3")
#endif
#include "softgpu/ptx-tensor.h"

#include "softgpu/ptx-cvt.h"

#include <pthread.h>
#include <stdlib.h>

#define ZERO_EXP (-126)
#define HALF_PLACES 10 /* the significands of 8-bit numbers are made as long as a half's */

static const struct ptx_tensor_model models[] = {
	{.name = "hopper", .block = 32, .bits = 25, .fp8_as_f16 = true},
	{.name = "ada", .block = 16, .bits = 24},
	{.name = "ampere", .block = 16, .bits = 24},
	{.name = "turing", .block = 16, .bits = 24},
	{.name = "volta", .block = 8, .bits = 23},
};
static const struct ptx_tensor_model *model = &models[0];

static void choose_model(void)
{
	const char *name = getenv("TSDB_SOFT_TENSOR");

	for (unsigned k = 0; name && k < sizeof(models) / sizeof(models[0]); k++)
		if (!strcmp(models[k].name, name))
			model = &models[k];
}

const struct ptx_tensor_model *ptx_tensor_model(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_model);
	return model;
}

/* --- numbers ----------------------------------------------------------------------------------------- */
struct shape {
	uint8_t exp_bits, places;
	int16_t min_exp; /* of a normal number */
};

static struct shape shape_of(unsigned type)
{
	switch (type) {
	case T_f16:
		return (struct shape){5, 10, -14};
	case T_bf16:
		return (struct shape){8, 7, -126};
	case T_e5m2:
		return (struct shape){5, 2, -14};
	case T_e4m3:
		return (struct shape){4, 3, -6};
	case T_tf32:
		return (struct shape){8, 10, -126};
	default:
		return (struct shape){8, 23, -126};
	}
}

struct number {
	bool neg;
	uint32_t sig;
	int exp;
	uint8_t class;
};

/* tf32 is what is left of 32 bits when the 13 lowest are not looked at. e4m3 has no infinity and one NaN. */
static struct number take_apart(unsigned type, uint32_t bits)
{
	struct shape s = shape_of(type);
	struct number r = {.class = TC_FINITE};
	uint32_t emax = (1u << s.exp_bits) - 1, e, frac;

	if (type == T_tf32)
		bits >>= 13;
	frac = bits & ((1u << s.places) - 1);
	e = bits >> s.places & emax;
	r.neg = bits >> (s.places + s.exp_bits) & 1;
	if (type == T_e4m3 ? e == emax && frac == 7 : e == emax) {
		r.class = frac ? TC_NAN : TC_INF;
		return r;
	}
	r.sig = e ? frac | 1u << s.places : frac;
	r.exp = e ? s.min_exp + (int)e - 1 : s.min_exp;
	return r;
}

double ptx_fp8_value(unsigned type, unsigned bits)
{
	struct number n = take_apart(type, bits & 0xff);
	double v = n.class == TC_NAN ? (double)NAN : n.class == TC_INF ? (double)INFINITY : ldexp(n.sig, n.exp - shape_of(type).places);

	return n.neg ? -v : v;
}

void ptx_tensor_set(const struct ptx_tensor_model *m, struct ptx_tensor_row *r, unsigned k, unsigned type, uint32_t bits)
{
	bool fp8 = type == T_e4m3 || type == T_e5m2;
	struct number n;

	if (fp8 && m->fp8_as_f16) { /* a small e4m3 is a normal half */
		n = take_apart(T_f16, (uint32_t)ptx_from_double(T_f16, ptx_fp8_value(type, bits), 0));
	} else {
		n = take_apart(type, bits);
		if (fp8)
			n.sig <<= HALF_PLACES - shape_of(type).places;
	}
	r->sig[k] = n.neg ? -(int32_t)n.sig : (int32_t)n.sig;
	r->exp[k] = n.exp;
	r->class[k] = (uint8_t)(n.class | (n.neg ? 0x80 : 0));
	r->special |= n.class != TC_FINITE;
}

/* --- sums -------------------------------------------------------------------------------------------- */
static uint32_t canonical_nan(unsigned type)
{
	return type == T_f16 ? 0x7fff : 0x7fffffff;
}

static uint32_t infinity(unsigned type, bool neg)
{
	return type == T_f16 ? (neg ? 0xfc00 : 0x7c00) : neg ? 0xff800000 : 0x7f800000;
}

/* Infinities and NaNs among the operands decide everything. true: *ret is the sum. */
static bool special_sum(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b, unsigned from, unsigned to, struct number c,
	unsigned dtype, uint32_t *ret)
{
	bool plus = c.class == TC_INF && !c.neg, minus = c.class == TC_INF && c.neg, nan = c.class == TC_NAN;

	for (unsigned k = from; k < to; k++) {
		unsigned x = a->class[k] & 3, y = b->class[k] & 3;
		bool neg = (a->class[k] ^ b->class[k]) & 0x80;
		if (x == TC_FINITE && y == TC_FINITE)
			continue;
		nan |= x == TC_NAN || y == TC_NAN || (x == TC_FINITE && !a->sig[k]) || (y == TC_FINITE && !b->sig[k]);
		plus |= !neg;
		minus |= neg;
	}
	if (!nan && !plus && !minus)
		return false;
	*ret = nan || (plus && minus) ? canonical_nan(dtype) : infinity(dtype, minus);
	return true;
}

/* sum * 2^exp as an f32, cut off, or as the nearest f16. Too large is infinity. */
static uint32_t round_sum(int64_t sum, int exp, unsigned dtype)
{
	bool neg = sum < 0;
	uint64_t mag = neg ? 0 - (uint64_t)sum : (uint64_t)sum;

	if (dtype == T_f16)
		return (uint32_t)ptx_round(T_f16, neg, mag, exp, 0);
	if (mag && 63 - __builtin_clzll(mag) + exp > 127)
		return infinity(T_f32, neg);
	return (uint32_t)ptx_round(T_f32, neg, mag, exp, F_RZ);
}

static bool all_minus_zero(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b, unsigned from, unsigned to, struct number c)
{
	for (unsigned k = from; k < to; k++)
		if (!((a->class[k] ^ b->class[k]) & 0x80) || (a->sig[k] && b->sig[k]))
			return false;
	return c.neg && !c.sig;
}

static uint32_t block_sum(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a, const struct ptx_tensor_row *b, unsigned from,
	unsigned to, unsigned places, uint32_t cbits, unsigned ctype, unsigned dtype)
{
	struct number c = take_apart(ctype, cbits);
	unsigned cplaces = shape_of(ctype).places;
	int32_t exp[PTX_TENSOR_MAX_K];
	int64_t sig[PTX_TENSOR_MAX_K], sum = 0;
	int most = c.sig ? c.exp : ZERO_EXP;
	uint32_t r;

	if ((a->special || b->special || c.class != TC_FINITE) && special_sum(a, b, from, to, c, dtype, &r))
		return r;
	for (unsigned k = from; k < to; k++) {
		sig[k] = (int64_t)a->sig[k] * b->sig[k] * (1ll << (m->bits - places));
		exp[k] = sig[k] ? a->exp[k] + b->exp[k] : ZERO_EXP;
		most = exp[k] > most ? exp[k] : most;
	}
	for (unsigned k = from; k < to; k++) {
		int shift = most - exp[k] > 63 ? 63 : most - exp[k];
		uint64_t mag = (uint64_t)(sig[k] < 0 ? -sig[k] : sig[k]) >> shift;
		sum += sig[k] < 0 ? -(int64_t)mag : (int64_t)mag;
	}
	if (c.sig) {
		int shift = most - c.exp > 63 ? 63 : most - c.exp;
		int64_t mag = (int64_t)(((uint64_t)c.sig << 32 >> (cplaces + 32 - m->bits)) >> shift);
		sum += c.neg ? -mag : mag;
	}
	if (!sum && m->minus_zero && all_minus_zero(a, b, from, to, c))
		return dtype == T_f16 ? 0x8000 : 0x80000000;
	return round_sum(sum, most - m->bits, dtype);
}

uint32_t ptx_tensor_dot(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a, const struct ptx_tensor_row *b, unsigned k,
	unsigned type, uint32_t c, unsigned ctype, unsigned dtype)
{
	bool fp8 = type == T_e4m3 || type == T_e5m2;
	unsigned bytes = fp8 && !m->fp8_as_f16 ? 1 : type == T_tf32 ? 4 : 2, step = m->block / bytes;
	unsigned places = 2u * (fp8 ? HALF_PLACES : shape_of(type).places);

	for (unsigned at = 0; at < k; at += step) {
		c = block_sum(m, a, b, at, at + step < k ? at + step : k, places, c, ctype, dtype);
		ctype = dtype;
	}
	return c;
}
