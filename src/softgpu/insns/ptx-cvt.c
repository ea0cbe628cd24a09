/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions that need care: every rounding mode, saturation, flushing. Rounding is done on
 * integers, so it does not depend on the processor's mode. The common conversions have loops of
 * their own in ptx-alu.c.
 */
#include "softgpu/insns/ptx-cvt.h"

#include "softgpu/ptx/ptx-dec.h"

/* --- formats --- */
struct format {
	unsigned bits, fraction, bias;
};

static struct format format_of(unsigned type)
{
	switch (type) {
	case T_f64:
		return (struct format){64, 52, 1023};
	case T_f32:
		return (struct format){32, 23, 127};
	case T_bf16:
		return (struct format){16, 7, 127};
	default:
		return (struct format){16, 10, 15};
	}
}

/* Does the magnitude go up, given the bit below the last, whether anything is below that, and the
 * last bit itself? */
static bool rounds_up(unsigned mode, bool neg, bool half, bool rest, bool odd)
{
	if (mode & F_RZ)
		return false;
	if (mode & F_RM)
		return neg && (half || rest);
	if (mode & F_RP)
		return !neg && (half || rest);
	if (mode & F_RNA)
		return half;
	return half && (rest || odd);
}

/* The bits of (-1)^neg * mant * 2^exp, rounded to a type. Overflow is infinity, or the largest
 * number when the mode says so. */
uint64_t ptx_round(unsigned type, bool neg, uint64_t mant, int exp, unsigned mode)
{
	struct format f = format_of(type);
	uint64_t sign = (uint64_t)neg << (f.bits - 1),
		 inf = ((1ull << (f.bits - 1 - f.fraction)) - 1) << f.fraction, r;
	int lead, e, shift;

	if (!mant)
		return sign;
	lead = 63 - __builtin_clzll(mant);
	e = lead + exp; /* the value is 1.xxx * 2^e */
	if (e < 1 - (int)f.bias)
		e = 1 - (int)f.bias;	   /* subnormal */
	shift = e - (int)f.fraction - exp; /* bits of mant to drop */
	if (shift <= 0) {
		r = mant << -shift; /* by no more than the fraction is wide */
	} else if (shift > 64) {
		r = rounds_up(mode, neg, false, true, false);
	} else {
		uint64_t kept = shift == 64 ? 0 : mant >> shift;
		bool half = mant >> (shift - 1) & 1;
		bool rest = shift > 1 && (mant & ((1ull << (shift - 1)) - 1));
		r = kept + rounds_up(mode, neg, half, rest, kept & 1);
	}
	/* a carry out of the fraction moves on into the exponent by itself */
	r += (uint64_t)(e + (int)f.bias - 1) << f.fraction;
	if (r >= inf) {
		bool stays = mode & F_RZ || (mode & F_RM && !neg) || (mode & F_RP && neg);
		r = stays ? inf - 1 : inf;
	}
	return sign | r;
}

uint64_t ptx_from_double(unsigned type, double v, unsigned mode)
{
	struct format f = format_of(type);
	uint64_t u = ptx_d2u(v), frac = u & ((1ull << 52) - 1);
	int e = (int)(u >> 52 & 0x7ff);
	bool neg = u >> 63;

	if (e == 0x7ff && frac) /* the canonical NaN */
		return type == T_f64 ? 0x7fffffffffffffffull : (1ull << (f.bits - 1)) - 1;
	if (e == 0x7ff)
		return (uint64_t)neg << (f.bits - 1) | ((1ull << (f.bits - 1 - f.fraction)) - 1)
							       << f.fraction;
	return ptx_round(type, neg, e ? frac | 1ull << 52 : frac, (e ? e : 1) - 1075, mode);
}

/* Exact: every narrower format fits in a double. */
double ptx_to_double(unsigned type, uint64_t bits)
{
	struct format f;
	uint64_t frac;
	unsigned e, emax;
	double v;

	if (type == T_f64)
		return ptx_u2d(bits);
	if (type == T_f32)
		return ptx_u2f((uint32_t)bits);
	f = format_of(type);
	emax = (1u << (f.bits - 1 - f.fraction)) - 1;
	frac = bits & ((1ull << f.fraction) - 1);
	e = (unsigned)(bits >> f.fraction) & emax;
	if (e == emax)
		v = frac ? (double)NAN : (double)INFINITY;
	else
		v = ldexp((double)(e ? frac | 1ull << f.fraction : frac),
			(int)(e ? e : 1) - (int)f.bias - (int)f.fraction);
	return bits >> (f.bits - 1) & 1 ? -v : v;
}

/* To an integral value, in the mode of the flags; the sign of zero stays. */
double ptx_integral(double v, unsigned mode)
{
	double r = mode & F_RZ	  ? trunc(v)
		   : mode & F_RM  ? floor(v)
		   : mode & F_RP  ? ceil(v)
		   : mode & F_RNA ? round(v)
				  : v;

	if (!(mode & F_ROUND)) { /* nearest even, whatever the processor's mode */
		r = fabs(v) < 0x1p52 ? copysign((fabs(v) + 0x1p52) - 0x1p52, v) : v;
	}
	return r;
}

/* --- cvt --- */
struct value {
	bool is_float;
	bool neg; /* integers: sign and magnitude */
	uint64_t mag;
	double f;
};

static struct value read_value(unsigned type, uint64_t bits, bool ftz)
{
	struct value v = {.is_float = ptx_is_float(type)};
	unsigned n = ptx_type_bits[type];

	if (v.is_float) {
		if (type == T_f32 && ftz)
			bits = ptx_f2u(ptx_flush(ptx_u2f((uint32_t)bits)));
		v.f = ptx_to_double(type, bits);
		return v;
	}
	if (n < 64)
		bits &= (1ull << n) - 1;
	if (ptx_is_signed(type) && bits >> (n - 1) & 1) {
		v.neg = true;
		v.mag = (0 - bits) & (n < 64 ? (1ull << n) - 1 : ~0ull);
	} else {
		v.mag = bits;
	}
	return v;
}

static uint64_t clamp_to(unsigned type, bool neg, uint64_t mag)
{
	unsigned n = ptx_type_bits[type];
	uint64_t top = ptx_is_signed(type) ? (1ull << (n - 1)) - 1
		       : n < 64		   ? (1ull << n) - 1
					   : ~0ull;

	if (!neg)
		return mag > top ? top : mag;
	if (!ptx_is_signed(type))
		return 0;
	return 0 - (mag > top + 1 ? top + 1 : mag);
}

/* NaN becomes 0; for 64-bit integers and from doubles the hardware gives the top bit alone. */
static uint64_t float_to_int(unsigned type, unsigned from, double f, unsigned flags)
{
	double r;

	if (isnan(f))
		return ptx_type_bits[type] == 64 || from == T_f64
			       ? 1ull << (ptx_type_bits[type] - 1)
			       : 0;
	r = fabs(ptx_integral(f, flags & F_ROUND));
	return clamp_to(type, signbit(f), r >= 0x1p64 ? UINT64_MAX : (uint64_t)r);
}

static uint64_t to_float(unsigned type, struct value v, unsigned flags)
{
	uint64_t r;

	if (!v.is_float)
		return ptx_round(type, v.neg, v.mag, 0, flags & F_ROUND);
	if (flags & F_INT)
		v.f = ptx_integral(v.f, flags & F_ROUND);
	if (flags & F_SAT)
		v.f = v.f > 1 ? 1 : v.f > 0 ? v.f : 0; /* NaN and -0 give +0 */
	if (flags & F_RELU && v.f <= 0)
		v.f = 0;
	r = ptx_from_double(type, v.f, flags & F_ROUND);
	if (flags & F_SATFINITE && (r & 0x7fff) == (type == T_f16 ? 0x7c00 : 0x7f80))
		r--; /* the largest number */
	if (type == T_f32 && flags & F_FTZ)
		r = ptx_f2u(ptx_flush(ptx_u2f((uint32_t)r)));
	return r;
}

/* Conversions from and to doubles, and from bf16, keep a NaN's sign and payload; the others give
 * the canonical one. Seen on an H200. */
static bool keeps_nan(unsigned to, unsigned from, unsigned flags)
{
	return ptx_is_float(to) && !(flags & (F_SAT | F_RELU)) &&
	       (to == T_f64 || from == T_f64 || (from == T_bf16 && to == T_f32));
}

static uint64_t convert_nan(unsigned to, unsigned from, uint64_t bits)
{
	struct format f = format_of(from), t = format_of(to);
	uint64_t sign = bits >> (f.bits - 1) & 1, frac = bits & ((1ull << f.fraction) - 1);
	uint64_t inf = ((1ull << (t.bits - 1 - t.fraction)) - 1) << t.fraction;

	frac = t.fraction >= f.fraction ? frac << (t.fraction - f.fraction)
					: frac >> (f.fraction - t.fraction);
	if (from != T_bf16 || to == T_f64) /* bf16 to f32 is a shift of the bits */
		frac |= 1ull << (t.fraction - 1);
	return sign << (t.bits - 1) | inf | frac;
}

static uint64_t convert(unsigned to, unsigned from, uint64_t bits, unsigned flags)
{
	struct value v = read_value(from, bits, flags & F_FTZ);
	unsigned n = ptx_type_bits[to];
	uint64_t r;

	if (v.is_float && isnan(v.f) && keeps_nan(to, from, flags))
		return convert_nan(to, from, flags & F_FTZ && from == T_f32 ? 0x7fffffff : bits);
	if (ptx_is_float(to))
		return to_float(to, v, flags);
	if (v.is_float)
		r = float_to_int(to, from, v.f, flags);
	else if (flags & F_SAT)
		r = clamp_to(to, v.neg, v.mag);
	else
		r = v.neg ? 0 - v.mag : v.mag;
	/* a wider register gets the sign, or zeros */
	if (n < 64 && ptx_is_signed(to))
		r = (uint64_t)((int64_t)(r << (64 - n)) >> (64 - n));
	else if (n < 64)
		r &= (1ull << n) - 1;
	return r;
}

void h_cvt(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint64_t in = i->flags & F_S64 ? REG(u64a, 1)[l] : REG(u32a, 1)[l];
		uint64_t r = convert(i->type, i->type2, in, i->flags);
		if (i->flags & F_D64)
			REG(u64a, 0)[l] = r;
		else
			REG(u32a, 0)[l] = (uint32_t)r;
	}
}

/* cvt.rn.f16x2.f32 d, a, b: a is the high half. */
void h_cvt_pack(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	unsigned half = i->type == T_f16x2 ? T_f16 : T_bf16;

	EACH_LANE(l)
	{
		uint32_t hi = (uint32_t)convert(half, T_f32, REG(u32a, 1)[l], i->flags);
		uint32_t lo = (uint32_t)convert(half, T_f32, REG(u32a, 2)[l], i->flags);
		REG(u32a, 0)[l] = hi << 16 | lo;
	}
}

static const struct {
	uint8_t to, from, to_wide, from_wide;
	uint32_t flags; /* rounding */
	ptx_handler *base, *avx2;
} quick[] = {
#define Q(to, from, tw, fw, flags, h) {T_##to, T_##from, tw, fw, flags, h##_base, h##_avx2},
	Q(u64, u32, 1, 0, 0, h_cvt_64_u32) Q(s64, u32, 1, 0, 0, h_cvt_64_u32) Q(
		s64, s32, 1, 0, 0, h_cvt_64_s32) Q(u64, s32, 1, 0, 0, h_cvt_64_s32) Q(u32, u64, 0,
		1, 0, h_cvt_32_64) Q(s32, s64, 0, 1, 0, h_cvt_32_64) Q(u32, s64, 0, 1, 0,
		h_cvt_32_64) Q(s32, u64, 0, 1, 0, h_cvt_32_64) Q(u32, u16, 0, 0, 0, h_cvt_32_u16)
		Q(s32, u16, 0, 0, 0, h_cvt_32_u16) Q(u32, s16, 0, 0, 0, h_cvt_32_s16) Q(
			s32, s16, 0, 0, 0, h_cvt_32_s16) Q(u16, u32, 0, 0, 0, h_cvt_32_u16) Q(s16,
			s32, 0, 0, 0, h_cvt_32_s16) Q(u32, u8, 0, 0, 0, h_cvt_32_u8) Q(s32, s8, 0,
			0, 0, h_cvt_32_s8) Q(u16, u8, 0, 0, 0, h_cvt_32_u8) Q(f32, s32, 0, 0, 0,
			h_cvt_f32_s32) Q(f32, u32, 0, 0, 0, h_cvt_f32_u32) Q(f64, s32, 1, 0, 0,
			h_cvt_f64_s32) Q(f64, u32, 1, 0, 0, h_cvt_f64_u32)
			Q(f64, f32, 1, 0, 0, h_cvt_f64_f32) Q(f32, f64, 0, 1, 0, h_cvt_f32_f64)
				Q(s32, f32, 0, 0, F_RZ, h_cvt_s32_f32_rzi)};

static const char *check_cvt(const struct ptx_dec *d, unsigned to, unsigned from)
{
	bool fto = ptx_is_float(to), ffrom = ptx_is_float(from);
	ptx_mods round = d->mods & (MB(rn) | MB(rz) | MB(rm) | MB(rp) | MB(rna));
	ptx_mods integral = d->mods & (MB(rni) | MB(rzi) | MB(rmi) | MB(rpi));
	bool narrows = fto && ffrom && ptx_type_bits[to] < ptx_type_bits[from],
	     bf16 = to == T_bf16 || from == T_bf16;
	unsigned other = to == T_bf16 ? from : to;

	if (to >= T_pred || from >= T_pred || to == T_f16x2 || to == T_bf16x2 || from == T_f16x2 ||
		from == T_bf16x2)
		return "a conversion of these types";
	if (bf16 && ptx_type_bits[other] == 8)
		return "this conversion of bf16";
	if (!fto && !ffrom && (round || integral))
		return "rounding between integers";
	if (!fto && ffrom && !integral)
		return "no rounding to an integer";
	if ((fto && !ffrom && (!round || integral)) || (narrows && !round))
		return "no rounding";
	if (fto && ffrom && !narrows && round && (!bf16 || to == from))
		return "rounding where nothing is rounded";
	if (fto && ffrom && to != from && integral)
		return "an integral value of another format";
	if (d->mods & MB(ftz) && to != T_f32 && from != T_f32)
		return ".ftz on this type";
	if (d->mods & (MB(relu) | MB(satfinite)) &&
		((to != T_f16 && to != T_bf16) || from != T_f32))
		return d->mods & MB(relu) ? ".relu on this type" : ".satfinite on this type";
	if (d->mods & MB(rna))
		return ".rna";
	return NULL;
}

const char *sel_cvt(struct ptx_dec *d)
{
	struct ptx_insn *i = d->i;
	const char *why = check_cvt(d, i->type, i->type2);

	if (why)
		return why;
	if (ptx_is_float(i->type2) && !ptx_is_float(i->type))
		i->flags &= ~(uint32_t)F_SAT; /* always saturates */
	if (i->flags & (F_SAT | F_FTZ | F_RELU | F_SATFINITE))
		return NULL;
	for (unsigned k = 0; k < sizeof(quick) / sizeof(quick[0]); k++)
		if (quick[k].to == i->type && quick[k].from == i->type2 &&
			quick[k].to_wide == !!(i->flags & F_D64) &&
			quick[k].from_wide == !!(i->flags & F_S64) &&
			quick[k].flags == (i->flags & F_ROUND)) {
			i->h = d->row->arg ? quick[k].avx2 : quick[k].base;
			break;
		}
	return NULL;
}

const char *sel_half(struct ptx_dec *d)
{
	if (d->mods & MB(relu) && d->mods & MB(sat))
		return ".relu with .sat";
	return NULL;
}
