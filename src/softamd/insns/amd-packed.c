/* SPDX-License-Identifier: Apache-2.0
 *
 * VOP3P: two halves, or two singles, at once; dot products; mixed precision ("AMD Instinct MI200
 * ISA", 12.12).
 */
#include "softamd/insns/amd-insn.h"

#include <math.h>

/* A packed source's halves by op_sel and op_sel_hi. An inline constant has no high half. */
static uint16_t half_of(
	const struct amd_lanes *x, unsigned k, const uint32_t *p, unsigned l, bool high)
{
	unsigned sel = high ? x->o->i.opsel_hi : x->o->i.opsel;

	return (uint16_t)(sel >> k & 1 ? p[l] >> 16 : p[l]);
}

static void check_constants(const struct amd_lanes *x)
{
	for (unsigned k = 0; k < x->o->row->nsrc; k++)
		if (x->o->i.src[k] >= GFX_FLOATS && x->o->i.src[k] <= 248 &&
			(x->o->i.opsel | x->o->i.opsel_hi) >> k & 1)
			amd_refuse(x->w, x->o, "takes the high half of a constant");
}

static uint16_t float_half(
	const struct amd_lanes *x, unsigned k, const uint32_t *p, unsigned l, bool high)
{
	unsigned neg = high ? x->o->i.neg_hi : x->o->i.neg;

	return (uint16_t)(half_of(x, k, p, l, high) ^ (neg >> k & 1 ? 0x8000 : 0));
}

/* A lane's two results, each from the halves a, b, c. */
#define PACKED(name, type, get, expression)                                                        \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		check_constants(x);                                                                \
		LANE_LOOP                                                                          \
		{                                                                                  \
			uint32_t r = 0;                                                            \
                                                                                                   \
			for (unsigned h = 0; h < 2; h++) {                                         \
				type a = (type)get(x, 0, x->a, l, h),                              \
				     b = (type)get(x, 1, x->b, l, h);                              \
				type c = (type)get(x, 2, x->c, l, h);                              \
				bool clamp = x->o->i.clamp;                                        \
                                                                                                   \
				(void)c;                                                           \
				(void)clamp;                                                       \
				r |= (uint32_t)(uint16_t)(expression) << 16 * h;                   \
			}                                                                          \
			x->d[l] = r;                                                               \
		}                                                                                  \
	}
static int limit(int v, int low, int high, bool clamp)
{
	return !clamp ? v : v < low ? low : v > high ? high : v;
}

#define SI(name, expression)                                                                       \
	PACKED(name, int16_t, half_of, limit((expression), -32768, 32767, clamp))
#define UI(name, expression) PACKED(name, uint16_t, half_of, limit((expression), 0, 65535, clamp))
/* a product of two 16 bit numbers without sign does not fit into an int */
PACKED(mad_u16, uint16_t, half_of,
	clamp && (uint64_t)a * b + c > 65535 ? 65535 : (uint32_t)a * b + c)
PACKED(mul_lo_u16, uint16_t, half_of, (uint32_t)a *b)
SI(mad_i16, a *b + c)
SI(add_i16, a + b)
SI(sub_i16, a - b)
UI(add_u16, a + b)
UI(sub_u16, a - b)
PACKED(lshlrev, uint16_t, half_of, (uint32_t)b << (a & 15))
PACKED(lshrrev, uint16_t, half_of, b >> (a & 15))
PACKED(ashrrev, int16_t, half_of, b >> (a & 15))
PACKED(max_i16, int16_t, half_of, a > b ? a : b)
PACKED(min_i16, int16_t, half_of, a < b ? a : b)
PACKED(max_u16, uint16_t, half_of, a > b ? a : b)
PACKED(min_u16, uint16_t, half_of, a < b ? a : b)

static bool is_nan(uint16_t v)
{
	return (v & 0x7fff) > 0x7c00;
}

static uint16_t finish(uint16_t r, bool clamp, bool dx10)
{
	if (!clamp)
		return r;
	if (is_nan(r))
		return dx10 ? 0 : r;
	return r & 0x8000 ? 0 : r > 0x3c00 ? 0x3c00 : r;
}

static uint16_t sound(uint16_t r, uint16_t a, uint16_t b, uint16_t c)
{
	return is_nan(r) && !is_nan(a) && !is_nan(b) && !is_nan(c) ? 0x7e00 : r;
}

static double value(uint16_t h)
{
	return (double)amd_half_to_float(h);
}

static int rank(uint16_t v)
{
	return v & 0x8000 ? -(int)(v & 0x7fff) - 1 : (int)v;
}

static uint16_t pick(uint16_t a, uint16_t b, bool larger)
{
	if (is_nan(a) && !(a & 0x200))
		return a | 0x200;
	if (is_nan(b) && !(b & 0x200))
		return b | 0x200;
	if (is_nan(a))
		return b;
	if (is_nan(b))
		return a;
	return (rank(a) < rank(b)) != larger ? a : b;
}

#define FLOATS(name, expression)                                                                   \
	PACKED(name, uint16_t, float_half, finish(expression, clamp, x->w->mode >> 8 & 1))
FLOATS(fma_f16, sound(amd_half_fma(a, b, c), a, b, c))
FLOATS(add_f16, sound(amd_double_to_half(value(a) + value(b)), a, b, 0))
FLOATS(mul_f16, sound(amd_double_to_half(value(a) * value(b)), a, b, 0))
FLOATS(min_f16, pick(a, b, false))
FLOATS(max_f16, pick(a, b, true))

/* --- two singles (gfx90a): the registers of a pair --- */

/* A constant is one word: what the high half of one would be, no document says. */
static bool is_constant(const struct amd_lanes *x, unsigned k)
{
	return x->o->i.src[k] >= GFX_CONST_0 && x->o->i.src[k] < GFX_VGPR;
}

/* A source of one result in 64 lanes, and what its sign is changed by. */
struct single {
	const uint32_t *p;
	uint32_t sign;
	uint32_t constant[AMD_LANES];
};

static void single_of(
	const struct amd_lanes *x, unsigned k, const uint32_t *p, bool high, struct single *ret)
{
	const struct gfx_insn *i = &x->o->i;
	unsigned sel = high ? i->opsel_hi : i->opsel, neg = high ? i->neg_hi : i->neg;

	ret->sign = neg >> k & 1 ? 0x80000000 : 0;
	ret->p = p + (sel >> k & 1 ? AMD_LANES : 0);
	if (!is_constant(x, k))
		return;
	ret->p = ret->constant;
	for (unsigned l = 0; l < AMD_LANES; l++)
		ret->constant[l] = (uint32_t)amd_scalar(x->w, x->o, i->src[k], '1');
}

static float clamp_single(float r, const struct amd_lanes *x)
{
	return r != r ? (x->w->mode >> 8 & 1 ? 0 : r) : r > 1 ? 1 : r > 0 ? r : 0;
}

static void clamp_singles(struct amd_lanes *x)
{
	for (unsigned l = 0; x->o->i.clamp && l < 2 * AMD_LANES; l++)
		x->d[l] = float_bits(clamp_single(as_float(x->d[l]), x));
}

static void check_singles(const struct amd_lanes *x)
{
	unsigned selects = x->o->i.opsel | x->o->i.opsel_hi;

	for (unsigned k = 0; k < x->o->row->nsrc; k++)
		if (is_constant(x, k) && x->o->i.src[k] != GFX_CONST_0 && selects >> k & 1)
			amd_refuse(x->w, x->o, "selects the high half of a constant");
	if (x->w->mode & 3 || (x->w->mode >> 4 & 3) != 3)
		amd_refuse(x->w, x->o, "in a mode that rounds otherwise or flushes denormals");
}

#define SINGLES(name, third, expression)                                                           \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		struct single p, q, t;                                                             \
                                                                                                   \
		check_singles(x);                                                                  \
		for (unsigned h = 0; h < 2; h++) {                                                 \
			uint32_t *restrict d = x->d + h * AMD_LANES;                               \
                                                                                                   \
			single_of(x, 0, x->a, h, &p);                                              \
			single_of(x, 1, x->b, h, &q);                                              \
			if (third)                                                                 \
				single_of(x, 2, x->c, h, &t);                                      \
			const uint32_t *pp = p.p, *pq = q.p, *pt = (third) ? t.p : pq;             \
			const uint32_t sp = p.sign, sq = q.sign, st = (third) ? t.sign : sq;       \
                                                                                                   \
			for (unsigned l = 0; l < AMD_LANES;                                        \
				l++) { /* the compiler makes vectors */                            \
				const float a = as_float(pp[l] ^ sp), b = as_float(pq[l] ^ sq);    \
				const float c = as_float(pt[l] ^ st), r = (expression);            \
				const uint32_t made = 0u - (uint32_t)((r != r) & (a == a) &        \
								      (b == b) & (c == c));        \
                                                                                                   \
				d[l] = (made & FLOAT_NAN) | (~made & float_bits(r));               \
			}                                                                          \
		}                                                                                  \
		clamp_singles(x);                                                                  \
	}
SINGLES(fma_f32, true, fmaf(a, b, c))
SINGLES(mul_f32, false, a *b)
SINGLES(add_f32, false, a + b)

/* op_sel chooses source 0's register for the low result, and source 1's for the high one. */
static void mov_b32(struct amd_lanes *x)
{
	for (unsigned k = 0; k < 2; k++)
		if (is_constant(x, k) && x->o->i.src[k] != GFX_CONST_0)
			amd_refuse(
				x->w, x->o, "has a constant where a pair of registers is expected");
	if (x->o->i.neg | x->o->i.neg_hi || x->o->i.clamp)
		amd_refuse(x->w, x->o, "has modifiers");
	LANE_LOOP
	{
		x->d[l] = x->a[(x->o->i.opsel & 1 ? AMD_LANES : 0) + l];
		x->d[AMD_LANES + l] = x->b[(x->o->i.opsel >> 1 & 1 ? AMD_LANES : 0) + l];
	}
}

/* --- mixed: each source is a single, or one half of a register --- */

static float mixed(const struct amd_lanes *x, unsigned k, const uint32_t *p, unsigned l)
{
	const struct gfx_insn *i = &x->o->i;
	float v = i->opsel_hi >> k & 1
			  ? amd_half_to_float((uint16_t)(i->opsel >> k & 1 ? p[l] >> 16 : p[l]))
			  : as_float(p[l]);

	if (i->neg_hi >> k & 1)
		v = fabsf(v);
	return i->neg >> k & 1 ? -v : v;
}

static float mix(const struct amd_lanes *x, unsigned l)
{
	float a = mixed(x, 0, x->a, l), b = mixed(x, 1, x->b, l), c = mixed(x, 2, x->c, l);
	float r = fmaf(a, b, c);

	if (r != r && a == a && b == b && c == c)
		r = as_float(FLOAT_NAN);
	if (x->o->i.clamp)
		r = r != r ? 0 : r > 1 ? 1 : r > 0 ? r : 0;
	return r;
}

static void check_mix(const struct amd_lanes *x)
{
	for (unsigned k = 0; k < 3; k++)
		if (x->o->i.src[k] >= GFX_FLOATS && x->o->i.src[k] <= 248 &&
			x->o->i.opsel_hi >> k & 1)
			amd_refuse(x->w, x->o, "takes a constant as a half");
}

static void mix_f32(struct amd_lanes *x)
{
	check_mix(x);
	LANE_LOOP x->d[l] = float_bits(mix(x, l));
}

static void mixlo_f16(struct amd_lanes *x)
{
	const uint32_t *old = x->w->v[x->o->i.dst];

	check_mix(x);
	LANE_LOOP x->d[l] = (old[l] & 0xffff0000) | amd_float_to_half(mix(x, l));
}

static void mixhi_f16(struct amd_lanes *x)
{
	const uint32_t *old = x->w->v[x->o->i.dst];

	check_mix(x);
	LANE_LOOP x->d[l] = (old[l] & 0xffff) | (uint32_t)amd_float_to_half(mix(x, l)) << 16;
}

/* --- dot products of integers: exact; with clamp the sum stops at the ends --- */

static int64_t element(uint32_t v, unsigned k, unsigned bits, bool sign)
{
	uint32_t e = v >> bits * k << (32 - bits);

	return sign ? (int64_t)((int32_t)e >> (32 - bits)) : (int64_t)(e >> (32 - bits));
}

static void dot(struct amd_lanes *x, unsigned bits, bool sign, const uint32_t *add)
{
	if (x->o->i.opsel ||
		(x->o->row->enc == GFX_VOP3P && (x->o->i.opsel_hi & 3) != 3 && bits == 16))
		amd_refuse(x->w, x->o, "op_sel of a dot product");
	LANE_LOOP
	{
		int64_t sum = sign ? (int32_t)add[l] : (int64_t)add[l];

		for (unsigned k = 0; k < 32 / bits; k++)
			sum += element(x->a[l], k, bits, sign) * element(x->b[l], k, bits, sign);
		if (x->o->i.clamp && sign)
			sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
		else if (x->o->i.clamp)
			sum = sum > UINT32_MAX ? UINT32_MAX : sum;
		x->d[l] = (uint32_t)sum;
	}
}

#define DOT(name, bits, sign, add)                                                                 \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		dot(x, bits, sign, add);                                                           \
	}
DOT(dot2_i32, 16, true, x->c)
DOT(dot2_u32, 16, false, x->c)
DOT(dot4_i32, 8, true, x->c)
DOT(dot4_u32, 8, false, x->c)
DOT(dot8_i32, 4, true, x->c)
DOT(dot8_u32, 4, false, x->c)
DOT(dot2c_i32, 16, true, x->w->v[x->o->i.dst])
DOT(dot4c_i32, 8, true, x->w->v[x->o->i.dst])
DOT(dot8c_i32, 4, true, x->w->v[x->o->i.dst])

#define P(name, fn)                                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = 'i', .to = 'i', .clamps = true                        \
		}                                                                                  \
	}
const struct amd_entry amd_packed_entries[] = {P(v_pk_mad_i16, mad_i16), P(v_pk_mad_u16, mad_u16),
	P(v_pk_mul_lo_u16, mul_lo_u16), P(v_pk_add_i16, add_i16), P(v_pk_sub_i16, sub_i16),
	P(v_pk_add_u16, add_u16), P(v_pk_sub_u16, sub_u16), P(v_pk_lshlrev_b16, lshlrev),
	P(v_pk_lshrrev_b16, lshrrev), P(v_pk_ashrrev_i16, ashrrev), P(v_pk_max_i16, max_i16),
	P(v_pk_min_i16, min_i16), P(v_pk_max_u16, max_u16), P(v_pk_min_u16, min_u16),
	P(v_pk_fma_f16, fma_f16), P(v_pk_add_f16, add_f16), P(v_pk_mul_f16, mul_f16),
	P(v_pk_min_f16, min_f16), P(v_pk_max_f16, max_f16), P(v_pk_fma_f32, fma_f32),
	P(v_pk_mul_f32, mul_f32), P(v_pk_add_f32, add_f32), P(v_pk_mov_b32, mov_b32),
	P(v_fma_mix_f32, mix_f32), P(v_fma_mixlo_f16, mixlo_f16), P(v_fma_mixhi_f16, mixhi_f16),
	P(v_dot2_i32_i16, dot2_i32), P(v_dot2_u32_u16, dot2_u32), P(v_dot4_i32_i8, dot4_i32),
	P(v_dot4_u32_u8, dot4_u32), P(v_dot8_i32_i4, dot8_i32), P(v_dot8_u32_u4, dot8_u32),
	P(v_dot2c_i32_i16, dot2c_i32), P(v_dot4c_i32_i8, dot4c_i32), P(v_dot8c_i32_i4, dot8c_i32),
	END};
