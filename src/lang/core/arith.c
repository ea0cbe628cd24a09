/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers: out of bytes and into bytes, conversions and operations as C11 6.3 and 6.5 define them
 * for x86-64 Linux (int has 4 bytes, long 8). Where C leaves the result open, the choice is gdb's:
 * signed numbers wrap, a shift by the width or more gives what is left when every bit is gone.
 */
#include <math.h>
#include <string.h>
#include "lang/core/core.h"

bool lang_is_integral(const struct lang_type *t)
{
	return t && (t->kind == LANG_BOOL || t->kind == LANG_CHAR || t->kind == LANG_INT ||
			    t->kind == LANG_ENUM);
}

bool lang_is_scalar(const struct lang_type *t)
{
	return lang_is_integral(t) || (t && (t->kind == LANG_FLOAT || t->kind == LANG_POINTER));
}

/* --- floating formats --- */

/* An IEEE 754 half (5 bits of exponent, 10 of fraction) as a double, exactly. */
static double from_half(uint16_t h)
{
	const int exponent = h >> 10 & 31;
	const double fraction = h & 1023;
	double v = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
		   : exponent	  ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return h >> 15 ? -v : v;
}

/* v rounded to nearest even with `bits` of fraction and exponents from min to max, as the bits of
 * that format without its sign. */
static uint16_t to_small(double v, int bits, int bias)
{
	const int max = 2 * bias + 1;
	int exponent;
	double scaled;

	if (isnan(v))
		return (uint16_t)(max << bits | 1 << (bits - 1));
	v = fabs(v);
	if (isinf(v))
		return (uint16_t)(max << bits);
	frexp(v, &exponent);
	exponent += bias - 1;
	if (exponent < 1)
		exponent = 1; /* a subnormal has the smallest exponent */
	scaled = nearbyint(ldexp(v, bits - (exponent - bias)));
	if (scaled >= ldexp(1, bits + 1)) {
		scaled /= 2;
		exponent++;
	}
	if (exponent >= max)
		return (uint16_t)(max << bits);
	if (scaled < ldexp(1, bits))
		return (uint16_t)scaled;
	return (uint16_t)((exponent << bits) + (int)(scaled - ldexp(1, bits)));
}

static double load_float(const struct lang_type *t, const uint8_t *bytes)
{
	uint32_t u32 = 0;
	float f32;
	double f64;
	long double f80;

	switch (t->size) {
	case 2:
		memcpy(&u32, bytes, 2);
		if (!t->is_brain)
			return from_half((uint16_t)u32);
		u32 <<= 16;
		memcpy(&f32, &u32, 4);
		return (double)f32;
	case 4:
		memcpy(&f32, bytes, 4);
		return (double)f32;
	case 8:
		memcpy(&f64, bytes, 8);
		return f64;
	default: /* x87's, padded to 16 bytes */
		memcpy(&f80, bytes, sizeof f80);
		return (double)f80;
	}
}

static void store_float(const struct lang_type *t, double v, uint8_t *dst)
{
	const uint16_t sign = signbit(v) ? 0x8000 : 0;
	float f32 = (float)v;
	long double f80 = (long double)v;
	uint16_t u16;

	switch (t->size) {
	case 2:
		u16 = sign | (t->is_brain ? to_small(v, 7, 127) : to_small(v, 10, 15));
		memcpy(dst, &u16, 2);
		break;
	case 4:
		memcpy(dst, &f32, 4);
		break;
	case 8:
		memcpy(dst, &v, 8);
		break;
	default:
		memset(dst, 0, (size_t)t->size);
		memcpy(dst, &f80, 10);
	}
}

/* --- bytes and numbers --- */

static uint64_t extend(uint64_t u, unsigned size, bool is_signed)
{
	const unsigned shift = 64 - 8 * size;

	if (size >= 8)
		return u;
	u <<= shift;
	return is_signed ? (uint64_t)((int64_t)u >> shift) : u >> shift;
}

bool lang_load(const struct lang_type *type, const uint8_t *bytes, struct lang_number *ret)
{
	const struct lang_type *t = lang_strip(type);

	if (!lang_is_scalar(t) || !bytes)
		return false;
	*ret = (struct lang_number){.type = t, .is_float = t->kind == LANG_FLOAT};
	if (ret->is_float) {
		if (t->size != 2 && t->size != 4 && t->size != 8 && t->size != 16)
			return false;
		ret->f = load_float(t, bytes);
		return true;
	}
	if (!t->size || t->size > 8)
		return false;
	memcpy(&ret->u, bytes, (size_t)t->size);
	ret->u = extend(ret->u, (unsigned)t->size, t->is_signed && t->kind != LANG_POINTER);
	return true;
}

/* The integer that v is when cut towards 0. What 64 bits do not hold becomes what x86-64's
 * conversion gives. */
static uint64_t cut(double v, bool is_signed)
{
	if (isnan(v))
		return 1ull << 63;
	if (!is_signed && v >= 0x1p63)
		return v < 0x1p64 ? (uint64_t)v : UINT64_MAX;
	return v >= -0x1p63 && v < 0x1p63 ? (uint64_t)(int64_t)v : 1ull << 63;
}

static double as_double(const struct lang_number *n)
{
	if (n->is_float)
		return n->f;
	return n->type->is_signed && n->type->kind != LANG_POINTER ? (double)(int64_t)n->u
								   : (double)n->u;
}

void lang_store(const struct lang_type *type, const struct lang_number *n, uint8_t *dst)
{
	const struct lang_type *t = lang_strip(type);
	uint64_t u;

	if (t->kind == LANG_FLOAT) {
		store_float(t, as_double(n), dst);
		return;
	}
	u = n->is_float ? cut(n->f, t->is_signed) : n->u;
	if (t->kind == LANG_BOOL)
		u = n->is_float ? n->f != 0 : n->u != 0;
	memset(dst, 0, (size_t)t->size);
	memcpy(dst, &u, t->size < 8 ? (size_t)t->size : 8);
}

/* --- operations --- */

static struct lang_number integer(const struct lang_type *t, uint64_t u)
{
	return (struct lang_number){.type = t, .u = extend(u, (unsigned)t->size, t->is_signed)};
}

static struct lang_number floating(const struct lang_type *t, double v)
{
	return (struct lang_number){
		.type = t, .is_float = true, .f = t->size == 4 ? (double)(float)v : v};
}

/* Integers smaller than int become int; what is no plain integer, one of its size. */
static struct lang_number promote(struct lang *l, const struct lang_number *n)
{
	struct lang_number r = *n;

	if (!n->is_float && n->type->size < 4)
		r.type = lang_int_type(l, 4, true);
	else if (!n->is_float && (n->type->kind != LANG_INT || n->type->letter))
		r.type = lang_int_type(l, n->type->size > 4 ? 8 : 4, n->type->is_signed);
	return r;
}

/* The type in which two integers are computed with (C11 6.3.1.8). */
static const struct lang_type *common_integer(
	struct lang *l, const struct lang_number *a, const struct lang_number *b)
{
	const struct lang_type *pa = promote(l, a).type, *pb = promote(l, b).type;

	if (pa->size != pb->size)
		pa = pa->size > pb->size ? pa : pb;
	else if (pa->is_signed)
		pa = pb;
	return lang_int_type(l, (unsigned)pa->size, pa->is_signed);
}

/* The larger floating type of the two operands; float at least, since there is no arithmetic in
 * halves. */
static const struct lang_type *common_floating(
	struct lang *l, const struct lang_number *a, const struct lang_number *b)
{
	const struct lang_type *t = a->is_float ? a->type : b->type;

	if (a->is_float && b->is_float && b->type->size > t->size)
		t = b->type;
	return t->size < 4   ? lang_base_type(l, "float")
	       : t->size > 8 ? lang_base_type(l, "double")
			     : t;
}

static struct err *by_zero(enum lang_op op)
{
	return err_new(ERR_USAGE, "%s",
		op == LANG_OP_MOD ? "the remainder of a division by zero" : "division by zero");
}

static bool is_comparison(enum lang_op op)
{
	return op >= LANG_OP_LT && op <= LANG_OP_NE;
}

static int compare_integers(const struct lang_type *t, uint64_t a, uint64_t b)
{
	if (t->is_signed)
		return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
	return a < b ? -1 : a > b;
}

/* order: negative, 0, positive, or 2 when one of the two is no number. */
static bool holds(enum lang_op op, int order)
{
	switch (op) {
	case LANG_OP_LT:
		return order < 0;
	case LANG_OP_LE:
		return order <= 0;
	case LANG_OP_GT:
		return order == 1;
	case LANG_OP_GE:
		return order == 0 || order == 1;
	case LANG_OP_EQ:
		return order == 0;
	default:
		return order != 0;
	}
}

static struct err *float_op(
	enum lang_op op, const struct lang_type *t, double a, double b, struct lang_number *ret)
{
	double v;

	switch (op) {
	case LANG_OP_ADD:
		v = a + b;
		break;
	case LANG_OP_SUB:
		v = a - b;
		break;
	case LANG_OP_MUL:
		v = a * b;
		break;
	case LANG_OP_DIV:
		v = a / b;
		break;
	default:
		return err_cure(err_new(ERR_USAGE, "\"%s\" takes integers, not floating point",
					lang_op_name(op)),
			"Cast: (int)x");
	}
	*ret = floating(t, v);
	return NULL;
}

static uint64_t divide(const struct lang_type *t, uint64_t a, uint64_t b, bool remainder)
{
	if (!t->is_signed)
		return remainder ? a % b : a / b;
	if ((int64_t)b == -1) /* the smallest number has no positive twin */
		return remainder ? 0 : -a;
	return (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shift(const struct lang_number *a, uint64_t by, bool left)
{
	const unsigned width = 8 * (unsigned)a->type->size;
	const bool negative = a->type->is_signed && (int64_t)a->u < 0;

	if (by >= width)
		return !left && negative ? UINT64_MAX : 0;
	if (left)
		return a->u << by;
	return a->type->is_signed ? (uint64_t)((int64_t)a->u >> by) : a->u >> by;
}

static struct err *integer_op(
	enum lang_op op, const struct lang_type *t, uint64_t a, uint64_t b, struct lang_number *ret)
{
	uint64_t v;

	switch (op) {
	case LANG_OP_ADD:
		v = a + b;
		break;
	case LANG_OP_SUB:
		v = a - b;
		break;
	case LANG_OP_MUL:
		v = a * b;
		break;
	case LANG_OP_DIV:
	case LANG_OP_MOD:
		if (!b)
			return by_zero(op);
		v = divide(t, a, b, op == LANG_OP_MOD);
		break;
	case LANG_OP_AND:
		v = a & b;
		break;
	case LANG_OP_OR:
		v = a | b;
		break;
	default:
		v = a ^ b;
	}
	*ret = integer(t, v);
	return NULL;
}

static struct err *unary_op(
	struct lang *l, enum lang_op op, const struct lang_number *a, struct lang_number *ret)
{
	struct lang_number p = promote(l, a);

	if (op == LANG_OP_NOT) {
		*ret = integer(lang_int_type(l, 4, true), a->is_float ? a->f == 0 : a->u == 0);
		return NULL;
	}
	if (p.is_float && op == LANG_OP_INVERT)
		return err_new(ERR_USAGE, "\"~\" takes integers, not floating point");
	if (p.is_float)
		*ret = floating(p.type, op == LANG_OP_NEGATE ? -p.f : p.f);
	else
		*ret = integer(p.type, op == LANG_OP_NEGATE   ? -p.u
				       : op == LANG_OP_INVERT ? ~p.u
							      : p.u);
	return NULL;
}

static struct err *shift_op(struct lang *l, enum lang_op op, const struct lang_number *a,
	const struct lang_number *b, struct lang_number *ret)
{
	struct lang_number p = promote(l, a);

	if (a->is_float || b->is_float)
		return err_cure(err_new(ERR_USAGE, "\"%s\" takes integers, not floating point",
					lang_op_name(op)),
			"Cast: (int)x");
	if (b->type->is_signed && (int64_t)b->u < 0)
		return err_new(ERR_USAGE, "a shift by %lld, a negative number", (long long)b->u);
	*ret = integer(p.type, shift(&p, b->u, op == LANG_OP_SHL));
	return NULL;
}

struct err *lang_arith(struct lang *l, enum lang_op op, const struct lang_number *a,
	const struct lang_number *b, struct lang_number *ret)
{
	const struct lang_type *t, *truth = lang_int_type(l, 4, true);

	if (!b)
		return unary_op(l, op, a, ret);
	if (op == LANG_OP_SHL || op == LANG_OP_SHR)
		return shift_op(l, op, a, b, ret);
	if (a->is_float || b->is_float) {
		double x, y;

		t = common_floating(l, a, b);
		x = floating(t, as_double(a)).f;
		y = floating(t, as_double(b)).f;
		if (!is_comparison(op))
			return float_op(op, t, x, y, ret);
		*ret = integer(truth, holds(op, isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y));
		return NULL;
	}
	t = common_integer(l, a, b);
	if (!is_comparison(op))
		return integer_op(op, t, extend(a->u, (unsigned)t->size, t->is_signed),
			extend(b->u, (unsigned)t->size, t->is_signed), ret);
	*ret = integer(
		truth, holds(op, compare_integers(t, extend(a->u, (unsigned)t->size, t->is_signed),
					 extend(b->u, (unsigned)t->size, t->is_signed))));
	return NULL;
}
