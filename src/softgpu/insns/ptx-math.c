/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point off the fast path: directed rounding and saturation (in the processor's rounding
 * mode, one lane at a time) and the approximate functions, computed in double and rounded once, so
 * better than the hardware's but not its bits.
 */
#include "softgpu/insns/ptx-cvt.h"
#include "softgpu/ptx/ptx-dec.h"

#include <fenv.h>

/* Keeps a value where the compiler cannot move its computation across the change of rounding mode.
 */
#define PIN(v) __asm__ volatile("" : "+x"(v))

enum slow_op { S_ADD, S_SUB, S_MUL, S_FMA, S_DIV, S_RCP, S_SQRT };

static float op_f32(unsigned op, float x, float y, float z)
{
	float r = 0;

	PIN(x);
	PIN(y);
	PIN(z);
	switch (op) {
	case S_ADD:
		r = x + y;
		break;
	case S_SUB:
		r = x - y;
		break;
	case S_MUL:
		r = x * y;
		break;
	case S_FMA:
		r = fmaf(x, y, z);
		break;
	case S_DIV:
		r = x / y;
		break;
	case S_RCP:
		r = 1.0f / x;
		break;
	case S_SQRT:
		r = sqrtf(x);
		break;
	}
	PIN(r);
	return r;
}

static double op_f64(unsigned op, double x, double y, double z)
{
	double r = 0;

	PIN(x);
	PIN(y);
	PIN(z);
	switch (op) {
	case S_ADD:
		r = x + y;
		break;
	case S_SUB:
		r = x - y;
		break;
	case S_MUL:
		r = x * y;
		break;
	case S_FMA:
		r = fma(x, y, z);
		break;
	case S_DIV:
		r = x / y;
		break;
	case S_RCP:
		r = 1.0 / x;
		break;
	case S_SQRT:
		r = sqrt(x);
		break;
	}
	PIN(r);
	return r;
}

static int host_mode(uint32_t flags)
{
	return flags & F_RZ   ? FE_TOWARDZERO
	       : flags & F_RM ? FE_DOWNWARD
	       : flags & F_RP ? FE_UPWARD
			      : FE_TONEAREST;
}

void h_slow_f32(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const f32a *a = REG(f32a, 1), *b = i->o[2] == NO_REG ? a : REG(f32a, 2),
		   *c = i->o[3] == NO_REG ? a : REG(f32a, 3);
	f32a *d = REG(f32a, 0);
	bool ftz = i->flags & F_FTZ;
	int old = fegetround();

	fesetround(host_mode(i->flags));
	EACH_LANE(l)
	{
		float r = ftz ? ptx_flush(op_f32(
					i->arg, ptx_flush(a[l]), ptx_flush(b[l]), ptx_flush(c[l])))
			      : op_f32(i->arg, a[l], b[l], c[l]);
		if (i->flags & F_SAT)
			r = r > 1 ? 1 : r > 0 ? r : 0;
		d[l] = ptx_canon(r);
	}
	fesetround(old);
}

void h_slow_f64(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const f64a *a = REG(f64a, 1), *b = i->o[2] == NO_REG ? a : REG(f64a, 2),
		   *c = i->o[3] == NO_REG ? a : REG(f64a, 3);
	f64a *d = REG(f64a, 0);
	int old = fegetround();

	fesetround(host_mode(i->flags));
	EACH_LANE(l)
	{
		double r = op_f64(i->arg, a[l], b[l], c[l]);
		if (i->arg == S_DIV)
			d[l] = ptx_nan2(r, b[l], a[l]);
		else if (i->arg == S_FMA)
			d[l] = ptx_nan3(r, a[l], c[l], b[l]);
		else
			d[l] = ptx_nan2(r, a[l], b[l]);
	}
	fesetround(old);
}

/* --- approximations --- */
static double m_rcp(double x)
{
	return 1 / x;
}

static double m_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double m_lg2(double x)
{
	return log2(x);
}

enum { MATH_RCP, MATH_SQRT, MATH_RSQRT, MATH_SIN, MATH_COS, MATH_EX2, MATH_LG2, MATH_TANH };
const char *sel_math(struct ptx_dec *d)
{
	static ptx_math *const fns[] = {m_rcp, sqrt, m_rsqrt, sin, cos, exp2, m_lg2, tanh};

	d->i->u.math = fns[d->row->arg];
	return NULL;
}

void h_math_f32(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	f32a *d = REG(f32a, 0);
	const f32a *a = REG(f32a, 1);
	bool ftz = i->flags & F_FTZ;

	EACH_LANE(l)
	{
		float r = ptx_canon((float)i->u.math((double)(ftz ? ptx_flush(a[l]) : a[l])));
		d[l] = ftz ? ptx_flush(r) : r;
	}
}

/* rcp and rsqrt of doubles with .ftz are coarse on the hardware: the high word of the operand gives
 * the high word of the result, cut off, and the low one is zero. "PTX ISA 9.0", 9.7.3.14 and 17,
 * and an H200. */
void h_math_f64(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	f64a *d = REG(f64a, 0);
	const f64a *a = REG(f64a, 1);

	EACH_LANE(l)
	{
		double x = ptx_u2d(ptx_d2u(a[l]) & 0xffffffff00000000ull), r;
		if (fabs(x) < 0x1p-1022)
			x = copysign(0, x);
		r = i->u.math(x);
		if (isnan(r))
			r = ptx_u2d(0x7fffffff00000000ull);
		if (fabs(r) < 0x1p-1022)
			r = copysign(0, r);
		d[l] = ptx_u2d(ptx_d2u(r) & 0xffffffff00000000ull);
	}
}

/* Without .ftz it is the nearest double: one step of Newton, with the error of the first guess
 * exact, and one rounding. */
static double rsqrt(double x)
{
	double y = 1 / sqrt(x), t, e;

	if (!(x > 0) || isinf(x))
		return y;
	t = x * y;
	e = fma(-t, y, 1) - fma(x, y, -t) * y;
	return fma(y, e * fma(0.375, e, 0.5), y);
}

void h_rsqrt_f64(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	f64a *d = REG(f64a, 0);
	const f64a *a = REG(f64a, 1);

	EACH_LANE(l) d[l] = ptx_nan1(rsqrt(a[l]), a[l]);
}

/* div.approx and div.full: at most 2 ulp on the hardware; here the nearest. div.approx multiplies
 * by the reciprocal, which is zero for a huge divisor: "PTX ISA 9.0", 9.7.3.8. */
void h_div_approx(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	f32a *d = REG(f32a, 0);
	const f32a *a = REG(f32a, 1), *b = REG(f32a, 2);
	bool ftz = i->flags & F_FTZ;

	EACH_LANE(l)
	{
		float x = ftz ? ptx_flush(a[l]) : a[l], y = ftz ? ptx_flush(b[l]) : b[l];
		float r = x / y;
		if (i->arg && fabsf(y) > 0x1p126f && isfinite(y))
			r = x * copysignf(0, y);
		r = ptx_canon(r);
		d[l] = ftz ? ptx_flush(r) : r;
	}
}

/* --- bytes --- */
static uint32_t prmt(uint64_t bytes, uint32_t sel)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < 4; k++) {
		uint32_t s = sel >> 4 * k & 0xf, b = (uint32_t)(bytes >> 8 * (s & 7)) & 0xff;
		if (s & 8)
			b = b & 0x80 ? 0xff : 0;
		r |= b << 8 * k;
	}
	return r;
}

/* The selector of prmt's named modes: "PTX ISA 9.0", 9.7.9.7. */
static uint32_t prmt_mode(unsigned mode, uint32_t c)
{
	static const uint16_t table[6][4] = {
		{0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
		{0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
		{0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
		{0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
		{0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
		{0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
	};

	return mode ? table[mode - 1][c & 3] : c;
}

const char *sel_prmt(struct ptx_dec *d)
{
	static const uint8_t mods[] = {M_f4e, M_b4e, M_rc8, M_ecl, M_ecr, M_rc16};

	for (unsigned k = 0; k < 6; k++)
		if (d->mods >> mods[k] & 1) {
			if (d->i->arg)
				return "two modes";
			d->i->arg = k + 1;
		}
	return NULL;
}

void h_prmt(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u32a *d = REG(u32a, 0);
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3);

	EACH_LANE(l) d[l] = prmt((uint64_t)b[l] << 32 | a[l], prmt_mode(i->arg, c[l]));
}

const char *sel_lop3(struct ptx_dec *d)
{
	return d->i->imm < 0 || d->i->imm > 255 ? "a table of more than 8 bits" : NULL;
}

/* bar.red without a number of threads: its predicate is the third operand. */
const char *sel_bar(struct ptx_dec *d)
{
	d->i->vec = 1;
	return NULL;
}
