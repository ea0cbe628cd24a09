/* SPDX-License-Identifier: Apache-2.0
 *
 * Dot products as a tensor core makes them: see ptx-tensor.h. Zeros are surprising: they take part
 * in the search for the largest exponent with that of the smallest normal f32, so sums far below
 * that lose their last bits.
 */
#if !defined(__clang__) && defined(__OPTIMIZE__)
#ifdef __OPTIMIZE__	   /* -O0 stays -O0 */
#pragma GCC optimize("O3") /* vectorise the loops over lanes, also when CFLAGS say -O2 */
#endif
#endif
#include "softgpu/insns/ptx-tensor.h"

#include "softgpu/insns/ptx-cvt.h"

#include <pthread.h>
#include <stdlib.h>

#define ZERO_EXP (-126)
#define HALF_PLACES 10 /* the significands of 8-bit numbers are made as long as a half's */

static const struct ptx_tensor_model models[] = {
	{.name = "hopper",
		.block = 32,
		.bits = 25,
		.fp8_as_f16 = true,
		.fma_m8n8k4 = true,
		.wmma_tf32 = 4},
	{.name = "ada", .block = 16, .bits = 24, .fma_m8n8k4 = true, .wmma_tf32 = 4},
	{.name = "ampere", .block = 16, .bits = 24, .fma_m8n8k4 = true, .wmma_tf32 = 4},
	{.name = "turing", .block = 16, .bits = 24, .fma_m8n8k4 = true},
	{.name = "volta", .block = 8, .bits = 23},
};
static const struct ptx_tensor_model *model = &models[0];

/* --- numbers --- */
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

/* tf32 is what is left of 32 bits when the 13 lowest are not looked at. e4m3 has no infinity and
 * one NaN. */
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
	double v = n.class == TC_NAN   ? (double)NAN
		   : n.class == TC_INF ? (double)INFINITY
				       : ldexp(n.sig, n.exp - shape_of(type).places);

	return n.neg ? -v : v;
}

void ptx_tensor_set(const struct ptx_tensor_model *m, struct ptx_tensor_row *r, unsigned k,
	unsigned type, uint32_t bits)
{
	bool fp8 = type == T_e4m3 || type == T_e5m2;
	struct number n;

	if (fp8 && m->fp8_as_f16) { /* a small e4m3 is a normal half; a register's low pair goes to
				       the first block */
		k = (k & 2) * 8 + k / 4 * 2 + (k & 1);
		n = take_apart(
			T_f16, (uint32_t)ptx_from_double(T_f16, ptx_fp8_value(type, bits), 0));
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

/* --- sums --- */
static uint32_t canonical_nan(unsigned type)
{
	return type == T_f16 ? 0x7fff : 0x7fffffff;
}

static uint32_t infinity(unsigned type, bool neg)
{
	return type == T_f16 ? (neg ? 0xfc00 : 0x7c00) : neg ? 0xff800000 : 0x7f800000;
}

/* Infinities and NaNs among the operands decide everything. true: *ret is the sum. */
static bool special_sum(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b,
	unsigned from, unsigned to, struct number c, unsigned dtype, uint32_t *ret)
{
	bool plus = c.class == TC_INF && !c.neg, minus = c.class == TC_INF && c.neg,
	     nan = c.class == TC_NAN;

	for (unsigned k = from; k < to; k++) {
		unsigned x = a->class[k] & 3, y = b->class[k] & 3;
		bool neg = (a->class[k] ^ b->class[k]) & 0x80;
		if (x == TC_FINITE && y == TC_FINITE)
			continue;
		nan |= x == TC_NAN || y == TC_NAN || (x == TC_FINITE && !a->sig[k]) ||
		       (y == TC_FINITE && !b->sig[k]);
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
	int lead;

	if (dtype == T_f16)
		return (uint32_t)ptx_round(T_f16, neg, mag, exp, 0);
	if (!mag)
		return 0;
	lead = 63 - __builtin_clzll(mag);
	if (lead + exp > 127)
		return infinity(T_f32, neg);
	if (lead + exp >= -126) /* normal */
		return (neg ? 0x80000000u : 0) | (uint32_t)(lead + exp + 127) << 23 |
		       ((uint32_t)(lead > 23 ? mag >> (lead - 23) : mag << (23 - lead)) & 0x7fffff);
	return (uint32_t)ptx_round(T_f32, neg, mag, exp, F_RZ);
}

static bool all_minus_zero(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b,
	unsigned from, unsigned to, struct number c)
{
	for (unsigned k = from; k < to; k++)
		if (!((a->class[k] ^ b->class[k]) & 0x80) || (a->sig[k] && b->sig[k]))
			return false;
	return c.neg && !c.sig;
}

/* The sum of BLOCK products, cut off `bits` places below the largest exponent; *most: in, the least
 * that may be; out, that exponent. 16 products of 27 bits fit in 32. Compiled for any x86-64 and
 * for AVX2: the bits are the same. */
#define BLOCK 16
static inline __attribute__((always_inline)) int32_t add_products(const int32_t *as,
	const int32_t *ae, const int32_t *bs, const int32_t *be, unsigned up, int32_t *most)
{
	int32_t p[BLOCK], e[BLOCK], top = *most, sum = 0;

	for (unsigned k = 0; k < BLOCK; k++) {
		p[k] = as[k] * bs[k];
		e[k] = p[k] ? ae[k] + be[k] : ZERO_EXP;
		top = e[k] > top ? e[k] : top;
	}
	for (unsigned k = 0; k < BLOCK; k++) {
		uint32_t mag = (uint32_t)(p[k] < 0 ? -p[k] : p[k]) << up,
			 down = (uint32_t)(top - e[k]);
		int32_t t = (int32_t)(mag >> (down > 31 ? 31 : down));
		sum += p[k] < 0 ? -t : t;
	}
	*most = top;
	return sum;
}

static int32_t add_products_base(const int32_t *as, const int32_t *ae, const int32_t *bs,
	const int32_t *be, unsigned up, int32_t *most)
{
	return add_products(as, ae, bs, be, up, most);
}

static __attribute__((target("avx2"))) int32_t add_products_avx2(const int32_t *as,
	const int32_t *ae, const int32_t *bs, const int32_t *be, unsigned up, int32_t *most)
{
	return add_products(as, ae, bs, be, up, most);
}

static int32_t (*add_block)(const int32_t *, const int32_t *, const int32_t *, const int32_t *,
	unsigned, int32_t *) = add_products_base;

/* Elements from..to, with others behind them. */
static __attribute__((noinline)) int32_t sum_some(const struct ptx_tensor_row *a,
	const struct ptx_tensor_row *b, unsigned from, unsigned to, unsigned up, int32_t *most)
{
	int32_t part[4][BLOCK] = {{0}};

	for (unsigned n = 0; n < to - from; n++) {
		part[0][n] = a->sig[from + n];
		part[1][n] = a->exp[from + n];
		part[2][n] = b->sig[from + n];
		part[3][n] = b->exp[from + n];
	}
	return add_block(part[0], part[1], part[2], part[3], up, most);
}

/* Elements from..to are one block; what is behind the last, k, of a row is zero. */
static int32_t sum_products(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b,
	unsigned from, unsigned to, unsigned k, unsigned up, int32_t *most)
{
	if (to - from < BLOCK && to < k)
		return sum_some(a, b, from, to, up, most);
	return add_block(a->sig + from, a->exp + from, b->sig + from, b->exp + from, up, most);
}

static uint32_t block_sum(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a,
	const struct ptx_tensor_row *b, unsigned from, unsigned to, unsigned k, unsigned places,
	uint32_t cbits, unsigned ctype, unsigned dtype)
{
	struct number c = take_apart(ctype, cbits);
	int32_t most = c.sig ? c.exp : ZERO_EXP;
	int64_t sum;
	uint32_t r;

	if ((a->special || b->special || c.class != TC_FINITE) &&
		special_sum(a, b, from, to, c, dtype, &r))
		return r;
	sum = sum_products(a, b, from, to, k, m->bits - places, &most);
	if (c.sig) {
		int shift = most - c.exp > 63 ? 63 : most - c.exp;
		int64_t mag = (int64_t)(((uint64_t)c.sig << 32 >>
						(shape_of(ctype).places + 32 - m->bits)) >>
					shift);
		sum += c.neg ? -mag : mag;
	}
	if (!sum && m->minus_zero && all_minus_zero(a, b, from, to, c))
		return dtype == T_f16 ? 0x8000 : 0x80000000;
	return round_sum(sum, most - m->bits, dtype);
}

static uint32_t add_rounded(uint32_t c, uint32_t sum, unsigned dtype)
{
	if (dtype == T_f16)
		return (uint32_t)ptx_from_double(
			T_f16, ptx_to_double(T_f16, c) + ptx_to_double(T_f16, sum), 0);
	return ptx_f2u(ptx_canon(ptx_u2f(c) + ptx_u2f(sum)));
}

/* An H200 has no 8-bit products but wgmma's. The low pairs of all registers become halves and are
 * multiplied, then the high pairs on top of that; c is added in the end, by an ordinary addition.
 */
static uint32_t fp8_dot(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a,
	const struct ptx_tensor_row *b, uint32_t c, unsigned dtype)
{
	uint32_t sum = block_sum(m, a, b, 0, BLOCK, 2 * BLOCK, 2 * HALF_PLACES, 0, dtype, dtype);

	sum = block_sum(m, a, b, BLOCK, 2 * BLOCK, 2 * BLOCK, 2 * HALF_PLACES, sum, dtype, dtype);
	return add_rounded(c, sum, dtype);
}

static float element(const struct ptx_tensor_row *r, unsigned k)
{
	float v = (r->class[k] & 3) == TC_NAN ? (float)NAN
		  : (r->class[k] & 3) == TC_INF
			  ? (float)INFINITY
			  : ldexpf((float)abs(r->sig[k]), r->exp[k] - HALF_PLACES);

	return r->class[k] & 0x80 ? -v : v;
}

/* m8n8k4 in single precision: to an f32 the four products at once, to an f16 two and two. */
static uint32_t fma_dot(const struct ptx_tensor_row *a, const struct ptx_tensor_row *b, uint32_t c,
	unsigned ctype, unsigned dtype)
{
	float v = (float)ptx_to_double(ctype, c),
	      first = element(a, 0) * element(b, 0) + (dtype == T_f32 ? 0.0f : -0.0f), last;

	first = fmaf(element(a, 1), element(b, 1), first);
	if (dtype == T_f32) {
		first = fmaf(element(a, 2), element(b, 2), first);
		first = fmaf(element(a, 3), element(b, 3), first);
		return ptx_f2u(ptx_canon(v + first));
	}
	last = fmaf(element(a, 3), element(b, 3), element(a, 2) * element(b, 2));
	return (uint32_t)ptx_from_double(T_f16, (v + first) + last, 0);
}

uint32_t ptx_tensor_dot(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a,
	const struct ptx_tensor_row *b, unsigned k, unsigned type, bool wmma, uint32_t c,
	unsigned ctype, unsigned dtype)
{
	bool fp8 = type == T_e4m3 || type == T_e5m2;
	unsigned step = wmma && type == T_tf32 && m->wmma_tf32
				? m->wmma_tf32
				: m->block / (fp8		      ? 1
						     : type == T_tf32 ? 4
								      : 2);
	unsigned places = 2u * (fp8 ? HALF_PLACES : shape_of(type).places);

	if (fp8 && m->fp8_as_f16)
		return fp8_dot(m, a, b, c, dtype);
	if (type == T_f16 && k == 4 && m->fma_m8n8k4)
		return fma_dot(a, b, c, ctype, dtype);
	for (unsigned at = 0; at < k; at += step) {
		c = block_sum(
			m, a, b, at, at + step < k ? at + step : k, k, places, c, ctype, dtype);
		ctype = dtype;
	}
	return c;
}

/* --- the model --- */
static void choose_model(void)
{
	const char *name = getenv("TSDB_SOFT_TENSOR");

	if (__builtin_cpu_supports("avx2") && !getenv("TSDB_SOFT_NO_AVX2"))
		add_block = add_products_avx2;
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
