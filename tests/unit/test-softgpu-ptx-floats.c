/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic, comparisons and conversions of single and double precision by their definitions: the
 * host's IEEE arithmetic in each direction of rounding, and around it what the PTX ISA says about
 * subnormals, saturation and NaNs (9.7.3, 9.7.6, 9.7.9.21; docs/softgpu.md has what an H200 does
 * where the ISA leaves it open).
 */
#include "ptx-forms.h"

#include <fenv.h>
#include <math.h>

/* --- bits and values --- */
static float f32_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint32_t bits32(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static double f64_of(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

static uint64_t bits64(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

static bool nan32(uint32_t u)
{
	return (u & 0x7fffffff) > 0x7f800000;
}

static bool nan64(uint64_t u)
{
	return (u & INT64_MAX) > 0x7ff0000000000000;
}

static uint32_t flushed(uint32_t u, bool ftz)
{
	return ftz && !(u & 0x7f800000) ? u & 0x80000000 : u;
}

static uint64_t quiet(uint64_t u)
{
	return u | 1ull << 51;
}

/* --- the host's arithmetic --- */
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};
enum op { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, NEG, ABS, MIN, MAX, MINNAN, MAXNAN, COPYSIGN };

#define HOST(name, T, fma_, sqrt_)                                                                 \
	static T name(unsigned op, T a, T b, T c, int mode)                                        \
	{                                                                                          \
		volatile T x = a, y = b, z = c, r = 0, one = 1;                                    \
		fesetround(mode);                                                                  \
		switch (op) {                                                                      \
		case ADD:                                                                          \
			r = x + y;                                                                 \
			break;                                                                     \
		case SUB:                                                                          \
			r = x - y;                                                                 \
			break;                                                                     \
		case MUL:                                                                          \
			r = x * y;                                                                 \
			break;                                                                     \
		case FMA:                                                                          \
			r = fma_(x, y, z);                                                         \
			break;                                                                     \
		case DIV:                                                                          \
			r = x / y;                                                                 \
			break;                                                                     \
		case RCP:                                                                          \
			r = one / x;                                                               \
			break;                                                                     \
		default:                                                                           \
			r = sqrt_(x);                                                              \
		}                                                                                  \
		fesetround(FE_TONEAREST);                                                          \
		return r;                                                                          \
	}
HOST(host32, float, fmaf, sqrtf)
HOST(host64, double, fma, sqrt)

/* --- single precision --- */
static uint64_t rounded32(const struct form *f, const struct operands *o)
{
	float in[3], r;
	uint32_t u;

	for (unsigned k = 0; k < 3; k++)
		in[k] = f32_of(flushed(o->r[k], f->ftz));
	r = host32(f->op, in[0], in[1], in[2], modes[f->how]);
	u = bits32(r);
	if (f->sat)
		return nan32(u) || r <= 0 ? 0 : r >= 1 ? 0x3f800000 : flushed(u, f->ftz);
	return nan32(u) ? 0x7fffffff : flushed(u, f->ftz);
}

/* -0 is less than +0. */
static bool less32(uint32_t x, uint32_t y)
{
	return f32_of(x) < f32_of(y) || (f32_of(x) == f32_of(y) && x >> 31 > y >> 31);
}

static uint64_t signs32(const struct form *f, const struct operands *o)
{
	const uint32_t x = flushed(o->r[0], f->ftz), y = flushed(o->r[1], f->ftz);
	const bool max = f->op == MAX || f->op == MAXNAN;

	switch (f->op) {
	case NEG:
		return nan32(x) ? 0x7fffffff : x ^ 0x80000000;
	case ABS:
		return nan32(x) ? 0x7fffffff : x & 0x7fffffff;
	case COPYSIGN: /* the first operand's sign */
		return (x & 0x80000000) | (y & 0x7fffffff);
	default:
		if (nan32(x) && nan32(y))
			return 0x7fffffff;
		if (nan32(x) || nan32(y))
			return f->op == MINNAN || f->op == MAXNAN ? 0x7fffffff : nan32(x) ? y : x;
		return less32(x, y) == max ? y : x;
	}
}

/* Approximations are the nearest number here; div.approx of a huge divisor is 0. */
static uint64_t divided(const struct form *f, const struct operands *o)
{
	const uint32_t y = flushed(o->r[1], f->ftz), sign = (o->r[0] ^ o->r[1]) & 0x80000000,
		       x = flushed(o->r[0], f->ftz);
	const bool huge = (y & 0x7fffffff) > 0x7e800000 && (y & 0x7fffffff) < 0x7f800000;
	uint32_t u = bits32(f32_of(x) / f32_of(y));

	if (f->op && huge) /* not of infinity: that times 0 is no number */
		u = (x & 0x7fffffff) >= 0x7f800000 ? 0x7fffffff : sign;
	return nan32(u) ? 0x7fffffff : flushed(u, f->ftz);
}

static double m_rcp(double x)
{
	return 1 / x;
}

static double m_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static const struct {
	const char *name;
	double (*of)(double x);
	bool compiled, ftz;
} approximate[] = {{"rcp", m_rcp, true, true}, {"sqrt", sqrt, true, true},
	{"rsqrt", m_rsqrt, true, true}, {"sin", sin, false, true}, {"cos", cos, false, true},
	{"ex2", exp2, false, true}, {"lg2", log2, false, true}, {"tanh", tanh, false, false}};

static uint64_t approximated(const struct form *f, const struct operands *o)
{
	const float x = f32_of(flushed(o->r[0], f->ftz));
	const uint32_t u = bits32((float)approximate[f->op].of((double)x));

	return nan32(u) ? 0x7fffffff : flushed(u, f->ftz);
}

static const struct {
	const char *name;
	enum op op;
	unsigned sources;
	bool sat, directed; /* there are such forms */
} operations[] = {
	{"add", ADD, 2, true, true},
	{"sub", SUB, 2, true, true},
	{"mul", MUL, 2, true, true},
	{"fma", FMA, 3, true, true},
	{"mad", FMA, 3, true, true},
	{"div", DIV, 2, false, true},
	{"rcp", RCP, 1, false, true},
	{"sqrt", SQRT, 1, false, true},
	{"neg", NEG, 1, false, false},
	{"abs", ABS, 1, false, false},
	{"min", MIN, 2, false, false},
	{"max", MAX, 2, false, false},
	{"min.NaN", MINNAN, 2, false, false},
	{"max.NaN", MAXNAN, 2, false, false},
};

static void add_single(size_t n, unsigned how, bool ftz, bool sat)
{
	static const char *const sources[] = {"%f0", "%f0, %f1", "%f0, %f1, %f2"};
	struct form *f = next_form('f', !how && !sat, operations[n].directed ? rounded32 : signs32,
		operations[n].op, 0);
	const char *dot = strchr(operations[n].name, '.');
	const size_t len = dot ? (size_t)(dot - operations[n].name) : strlen(operations[n].name);

	f->how = how;
	f->ftz = ftz;
	f->sat = sat;
	INSN(f, "%.*s%s%s%s%s.f32 %%f9, %s;", (int)len, operations[n].name,
		operations[n].directed ? roundings[how] : "", ftz ? ".ftz" : "", dot ? dot : "",
		sat ? ".sat" : "", sources[operations[n].sources - 1]);
}

static void add_singles(void)
{
	for (size_t n = 0; n < COUNT_OF(operations); n++)
		for (unsigned how = 0; how < (operations[n].directed ? 4 : 1); how++)
			for (unsigned more = 0; more < (operations[n].sat ? 4 : 2); more++)
				add_single(n, how, more & 1, more & 2);
	for (unsigned k = 0; k < 4; k++) {
		struct form *f = next_form('f', true, divided, k & 1, 0);
		f->ftz = k & 2;
		INSN(f, "div.%s%s.f32 %%f9, %%f0, %%f1;", k & 1 ? "approx" : "full",
			k & 2 ? ".ftz" : "");
	}
	for (unsigned k = 0; k < COUNT_OF(approximate); k++)
		for (unsigned ftz = 0; ftz <= approximate[k].ftz; ftz++) {
			struct form *f =
				next_form('f', approximate[k].compiled, approximated, k, 0);
			f->ftz = ftz;
			INSN(f, "%s.approx%s.f32 %%f9, %%f0;", approximate[k].name,
				ftz ? ".ftz" : "");
		}
	INSN(next_form('f', false, signs32, COPYSIGN, 0), "copysign.f32 %%f9, %%f0, %%f1;");
}

/* --- double precision --- */
/* The NaN that a result is: an operand's, made quiet, in this order; or the one of an invalid
 * operation. */
static uint64_t nan_of(const uint64_t *in, const char *order)
{
	for (; *order; order++)
		if (nan64(in[*order - '0']))
			return quiet(in[*order - '0']);
	return 0xfff8000000000000;
}

static uint64_t rounded64(const struct form *f, const struct operands *o)
{
	static const char *const orders[] = {"10", "10", "10", "120", "01", "0", "0"};
	const double r =
		host64(f->op, f64_of(o->d[0]), f64_of(o->d[1]), f64_of(o->d[2]), modes[f->how]);

	return nan64(bits64(r)) ? nan_of(o->d, orders[f->op]) : bits64(r);
}

static uint64_t signs64(const struct form *f, const struct operands *o)
{
	const uint64_t x = o->d[0], y = o->d[1];
	const bool max = f->op == MAX,
		   less = f64_of(x) < f64_of(y) || (f64_of(x) == f64_of(y) && x >> 63 > y >> 63);

	switch (f->op) {
	case NEG:
		return nan64(x) ? quiet(x) : x ^ 1ull << 63;
	case ABS:
		return nan64(x) ? quiet(x) : x & INT64_MAX;
	case COPYSIGN:
		return (x & 1ull << 63) | (y & INT64_MAX);
	default:
		if (nan64(x))
			return nan64(y) ? quiet(y) : y;
		return nan64(y) || less != max ? x : y;
	}
}

/* Of the high word, cut off: PTX ISA 9.7.3.14 and 9.7.3.17; 0 as ".op". */
static uint64_t coarse(const struct form *f, const struct operands *o)
{
	const uint64_t u = o->d[0] & 0xffffffff00000000, x = u << 1 >> 53 ? u : u & 1ull << 63;
	const double r = f->op ? 1 / sqrt(f64_of(x)) : 1 / f64_of(x);

	if (nan64(bits64(r)))
		return 0x7fffffff00000000;
	return bits64(r) << 1 >> 53 ? bits64(r) & 0xffffffff00000000 : bits64(r) & 1ull << 63;
}

static uint64_t inverse_root(const struct form *f, const struct operands *o)
{
	const uint64_t u = o->d[0];

	if (nan64(u))
		return quiet(u);
	if (u << 1 == 0)
		return 0x7ff0000000000000 | u;
	return u >> 63 ? 0xfff8000000000000 : bits64((double)(1 / sqrtl((long double)f64_of(u))));
}

static void add_doubles(void)
{
	static const char *const sources[] = {"%g0", "%g0, %g1", "%g0, %g1, %g2"};

	for (size_t n = 0; n < COUNT_OF(operations); n++) {
		const bool directed = operations[n].directed;

		if (operations[n].op == MINNAN || operations[n].op == MAXNAN)
			continue;
		for (unsigned how = 0; how < (directed ? 4 : 1); how++) {
			struct form *f = next_form(
				'g', !how, directed ? rounded64 : signs64, operations[n].op, 0);
			f->how = how;
			INSN(f, "%s%s.f64 %%g9, %s;", operations[n].name,
				directed ? roundings[how] : "", sources[operations[n].sources - 1]);
		}
	}
	INSN(next_form('g', false, signs64, COPYSIGN, 0), "copysign.f64 %%g9, %%g0, %%g1;");
	INSN(next_form('g', false, coarse, 0, 0), "rcp.approx.ftz.f64 %%g9, %%g0;");
	INSN(next_form('g', false, coarse, 1, 0), "rsqrt.approx.ftz.f64 %%g9, %%g0;");
	INSN(next_form('g', false, inverse_root, 0, 0), "rsqrt.approx.f64 %%g9, %%g0;");
}

/* --- comparisons --- */
static const char *const comparisons[] = {
	"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static bool compare(const struct form *f, const struct operands *o)
{
	const double x = f->type == 64 ? f64_of(o->d[0]) : (double)f32_of(flushed(o->r[0], f->ftz)),
		     y = f->type == 64 ? f64_of(o->d[1]) : (double)f32_of(flushed(o->r[1], f->ftz));
	const bool none = isnan(x) || isnan(y);
	const bool of[] = {x == y, x < y || x > y, x<y, x <= y, x> y, x >= y};

	if (f->op >= 12)
		return f->op == 13 ? none : !none;
	return of[f->op % 6] || (f->op >= 6 && none);
}

static uint64_t compared(const struct form *f, const struct operands *o)
{
	const bool r = compare(f, o), p = o->p[1];

	return f->how == 1 ? r && p : f->how == 2 ? r || p : f->how == 3 ? r != p : r;
}

static uint64_t one_if(const struct form *f, const struct operands *o)
{
	return compare(f, o) ? f->how : 0;
}

static uint64_t chosen(const struct form *f, const struct operands *o)
{
	return f32_of(flushed(o->r[2], f->ftz)) >= 0 ? o->r[0] : o->r[1];
}

static void add_comparisons(void)
{
	static const char *const hows[] = {"", ".and", ".or", ".xor"};

	for (unsigned cmp = 0; cmp < COUNT_OF(comparisons); cmp++)
		for (unsigned kind = 0; kind < 3; kind++) {
			const char reg = kind ? 'f' : 'g';
			const char *type = kind == 2 ? ".ftz.f32" : kind ? ".f32" : ".f64";
			struct form *f = next_form('p', true, compared, cmp, kind ? 32 : 64);

			f->how = (cmp + kind) % 4;
			f->ftz = kind == 2;
			INSN(f, "setp.%s%s%s %%p9, %%%c0, %%%c1%s;", comparisons[cmp], hows[f->how],
				type, reg, reg, f->how ? ", %p1" : "");
			f = next_form(cmp & 1 ? 'f' : 'r', false, one_if, cmp, kind ? 32 : 64);
			f->how = cmp & 1 ? 0x3f800000 : 0xffffffff;
			f->ftz = kind == 2;
			INSN(f, "set.%s%s.%s.f%u %%%c9, %%%c0, %%%c1;", comparisons[cmp],
				f->ftz ? ".ftz" : "", cmp & 1 ? "f32" : "s32", kind ? 32 : 64,
				cmp & 1 ? 'f' : 'r', reg, reg);
		}
	for (unsigned ftz = 0; ftz < 2; ftz++) {
		struct form *f = next_form('r', false, chosen, 0, 0);
		f->ftz = ftz;
		INSN(f, "slct%s.b32.f32 %%r9, %%r0, %%r1, %%f2;", ftz ? ".ftz" : "");
	}
}

/* --- conversions --- */
static const struct whole {
	const char *name;
	unsigned bits;
	bool sign;
	char reg;
} wholes[] = {{"u8", 8, false, 'r'}, {"s8", 8, true, 'r'}, {"u16", 16, false, 'h'},
	{"s16", 16, true, 'h'}, {"u32", 32, false, 'r'}, {"s32", 32, true, 'r'},
	{"u64", 64, false, 'd'}, {"s64", 64, true, 'd'}};

/* Exact in a long double. */
static long double whole_of(const struct whole *t, const struct operands *o)
{
	uint64_t v = t->reg == 'd' ? o->d[0] : o->r[0];

	if (t->bits < 64)
		v &= (1ull << t->bits) - 1;
	if (t->sign && v >> (t->bits - 1))
		return -(long double)(t->bits < 64 ? (1ull << t->bits) - v : -v);
	return (long double)v;
}

static uint64_t from_whole(const struct form *f, const struct operands *o)
{
	volatile long double v = whole_of(&wholes[f->from], o);
	volatile double d;
	volatile float s;

	fesetround(modes[f->how]);
	d = (double)v;
	s = (float)v;
	fesetround(FE_TONEAREST);
	return f->type == 64 ? bits64(d) : bits32(s);
}

static double integral(double v, unsigned how)
{
	return how == 1 ? trunc(v) : how == 2 ? floor(v) : how == 3 ? ceil(v) : nearbyint(v);
}

/* What does not fit is the nearest that does. NaN is 0, or the top bit alone where either is 64
 * bits wide. */
static uint64_t to_whole(const struct form *f, const struct operands *o)
{
	const struct whole *t = &wholes[f->type];
	const double x = f->from == 64 ? f64_of(o->d[0]) : (double)f32_of(flushed(o->r[0], f->ftz));
	const long double most = t->sign ? ldexpl(1, (int)t->bits - 1) : ldexpl(1, (int)t->bits),
			  v = integral(x, f->how);
	const uint64_t all = t->bits < 64 ? (1ull << t->bits) - 1 : ~0ull,
		       top = 1ull << (t->bits - 1);
	uint64_t u;

	if (isnan(x))
		u = f->from == 64 || t->bits == 64 ? top : 0;
	else if (v >= most)
		u = t->sign ? top - 1 : all;
	else if (v <= (t->sign ? -most : 0))
		u = t->sign ? top : 0;
	else
		u = v < 0 ? -(uint64_t)-v : (uint64_t)v;
	u &= all;
	if (t->sign && u & top) /* a wider register gets the sign */
		u |= t->reg == 'd' ? 0 : t->reg == 'h' ? 0xffff & ~all : 0xffffffff & ~all;
	return u;
}

static uint64_t to_integral(const struct form *f, const struct operands *o)
{
	if (f->type == 64)
		return nan64(o->d[0]) ? quiet(o->d[0]) : bits64(integral(f64_of(o->d[0]), f->how));
	const uint32_t x = flushed(o->r[0], f->ftz);
	return nan32(x) ? 0x7fffffff : bits32((float)integral((double)f32_of(x), f->how));
}

/* Between the two: a NaN keeps its sign and the upper bits. */
static uint64_t narrowed(const struct form *f, const struct operands *o)
{
	volatile double d = f64_of(o->d[0]);
	volatile float s;
	uint32_t u;

	if (nan64(o->d[0]))
		return f->sat ? 0
			      : (uint32_t)(o->d[0] >> 32 & 0x80000000) | 0x7fc00000 |
					(uint32_t)(o->d[0] >> 29 & 0x3fffff);
	fesetround(modes[f->how]);
	s = (float)d;
	fesetround(FE_TONEAREST);
	u = bits32(s);
	if (f->sat)
		return d <= 0 ? 0 : d >= 1 ? 0x3f800000 : flushed(u, f->ftz);
	return flushed(u, f->ftz);
}

static uint64_t widened(const struct form *f, const struct operands *o)
{
	const uint32_t u = flushed(o->r[0], f->ftz);

	if (nan32(u) && f->ftz)
		return 0x7fffffffe0000000;
	if (nan32(u))
		return (uint64_t)(u & 0x80000000) << 32 | 0x7ff8000000000000 |
		       (uint64_t)(u & 0x3fffff) << 29;
	return bits64((double)f32_of(u));
}

static void add_whole(unsigned t, unsigned bits, unsigned how)
{
	static const char *const ints[] = {".rni", ".rzi", ".rmi", ".rpi"};
	const char reg = bits == 64 ? 'g' : 'f';
	struct form *f = next_form(reg, !how, from_whole, 0, bits);

	f->from = t;
	f->how = how;
	INSN(f, "cvt%s.f%u.%s %%%c9, %%%c0;", roundings[how], bits, wholes[t].name, reg,
		wholes[t].reg);
	for (unsigned ftz = 0; ftz < (bits == 64 ? 1u : 2u); ftz++) {
		f = next_form(wholes[t].reg, bits == 32 && wholes[t].bits == 32, to_whole, 0, t);
		f->from = bits;
		f->how = how;
		f->ftz = ftz;
		INSN(f, "cvt%s%s.%s.f%u %%%c9, %%%c0;", ints[how], ftz ? ".ftz" : "",
			wholes[t].name, bits, wholes[t].reg, reg);
	}
	if (t)
		return;
	for (unsigned ftz = 0; ftz < (bits == 64 ? 1u : 2u); ftz++) {
		f = next_form(reg, bits == 32, to_integral, 0, bits);
		f->how = how;
		f->ftz = ftz;
		INSN(f, "cvt%s%s.f%u.f%u %%%c9, %%%c0;", ints[how], ftz ? ".ftz" : "", bits, bits,
			reg, reg);
	}
}

static void add_conversions(void)
{
	for (unsigned t = 0; t < COUNT_OF(wholes); t++)
		for (unsigned how = 0; how < 4; how++) {
			add_whole(t, 32, how);
			add_whole(t, 64, how);
		}
	for (unsigned how = 0; how < 4; how++)
		for (unsigned more = 0; more < 4; more++) {
			struct form *f = next_form('f', !how && !more, narrowed, 0, 0);
			f->how = how;
			f->ftz = more & 1;
			f->sat = more & 2;
			INSN(f, "cvt%s%s%s.f32.f64 %%f9, %%g0;", roundings[how],
				more & 1 ? ".ftz" : "", more & 2 ? ".sat" : "");
		}
	for (unsigned ftz = 0; ftz < 2; ftz++) {
		struct form *f = next_form('g', !ftz, widened, 0, 0);
		f->ftz = ftz;
		INSN(f, "cvt%s.f64.f32 %%g9, %%f0;", ftz ? ".ftz" : "");
	}
}

static int make_forms(void **state)
{
	add_singles();
	add_doubles();
	add_comparisons();
	add_conversions();
	place_operands();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(check_forms)};

	counted_environment();
	return cmocka_run_group_tests(tests, make_forms, NULL);
}
