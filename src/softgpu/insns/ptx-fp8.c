/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions to and from the formats of tensor cores: pairs of 8-bit floating-point numbers, tf32,
 * and halves with .satfinite. The surprising thing: e4m3 has no infinity, its largest number is 448
 * and all ones after the sign is its NaN.
 */
#include "softgpu/insns/ptx-cvt.h"

#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/insns/ptx-tensor.h"

struct narrow {
	unsigned places;
	int min_exp;
	double most;
	uint32_t nan, sign;
};

static struct narrow narrow_of(unsigned type)
{
	switch (type) {
	case T_e4m3x2:
		return (struct narrow){3, -6, 448, 0x7f, 0x80};
	case T_e5m2x2:
		return (struct narrow){2, -14, 57344, 0x7f, 0x80};
	default: /* tf32 */
		return (struct narrow){10, -126, 0x1.ffcp127, 0x7fffe000, 0x80000000};
	}
}

/* The magnitude rounded to the format's places; ties to even, or away from zero, or cut off. */
static double round_to(double v, const struct narrow *f, unsigned mode)
{
	int e;
	double m = fabs(v), unit;

	if (m == 0)
		return v;
	frexp(m, &e);
	unit = ldexp(1, (e - 1 < f->min_exp ? f->min_exp : e - 1) - (int)f->places);
	return copysign(ptx_integral(m / unit, mode) * unit, v);
}

/* The bits of a value that the format has exactly. */
static uint32_t pack_exact(unsigned type, double v, const struct narrow *f)
{
	int e;
	double m = fabs(v);
	uint32_t sign = signbit(v) ? f->sign : 0, bits;

	if (type == T_tf32)
		return ptx_f2u((float)v);
	if (m == 0)
		return sign;
	frexp(m, &e);
	e = e - 1 < f->min_exp ? f->min_exp : e - 1;
	bits = (uint32_t)ldexp(m, (int)f->places - e); /* with the leading one when normal */
	return sign | (bits + ((uint32_t)(e - f->min_exp) << f->places));
}

static uint32_t to_narrow(unsigned type, double v, unsigned flags)
{
	struct narrow f = narrow_of(type);
	bool saturates = type != T_tf32 || flags & F_SATFINITE;
	double r;

	if (isnan(v))
		return f.nan;
	if (flags & F_RELU && v <= 0)
		v = 0;
	r = isinf(v) ? v : round_to(v, &f, flags & F_ROUND);
	if (fabs(r) > f.most && saturates)
		r = copysign(f.most, r);
	return pack_exact(type, r, &f);
}

/* cvt.rn.satfinite.e4m3x2.f32 d, a, b: a is the high byte. */
void h_cvt_fp8_f32(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint32_t hi = to_narrow(i->type, REG(f32a, 1)[l], i->flags),
			 lo = to_narrow(i->type, REG(f32a, 2)[l], i->flags);
		REG(u32a, 0)[l] = hi << 8 | lo;
	}
}

void h_cvt_fp8_f16(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l];
		uint32_t hi = to_narrow(i->type, ptx_to_double(T_f16, a >> 16), i->flags);
		uint32_t lo = to_narrow(i->type, ptx_to_double(T_f16, a & 0xffff), i->flags);
		REG(u32a, 0)[l] = hi << 8 | lo;
	}
}

void h_cvt_f16_fp8(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	unsigned from = i->type2 == T_e4m3x2 ? T_e4m3 : T_e5m2;

	EACH_LANE(l)
	{
		uint32_t a = REG(u32a, 1)[l], r = 0;
		for (unsigned k = 0; k < 2; k++) {
			double v = ptx_fp8_value(from, a >> 8 * k & 0xff);
			if (i->flags & F_RELU && v <= 0)
				v = 0;
			r |= (uint32_t)ptx_from_double(T_f16, v, 0) << 16 * k;
		}
		REG(u32a, 0)[l] = r;
	}
}

/* .rna as the assembler has it on sm_90: numbers go up by half a place, 13 bits are cut off, NaNs
 * keep the rest of theirs; .satfinite takes a place off what is then an infinity or a NaN. */
static uint32_t tf32_away(uint32_t x, bool satfinite)
{
	bool finite = (x & 0x7f800000) != 0x7f800000;

	x = (finite ? x + 0x1000 : x) & 0xffffe000;
	return satfinite && (x & 0x7f800000) == 0x7f800000 ? x - 0x2000 : x;
}

void h_cvt_tf32(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	REG(u32a, 0)
	[l] = i->flags & F_RNA ? tf32_away(REG(u32a, 1)[l], i->flags & F_SATFINITE)
			       : to_narrow(T_tf32, REG(f32a, 1)[l], i->flags);
}
