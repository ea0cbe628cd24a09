/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic, bits, comparisons, choices and moves of whole numbers of every width, by one
 * definition for all of them: the operands' values in 128 bits, the result cut to its width (PTX
 * ISA 9.7.1, 9.7.6 to 9.7.8). What is divided by zero is all ones, as an H200 gives it.
 */
#include "ptx-forms.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

static const struct type {
	const char *name;
	unsigned bits;
	bool sign;
	char reg;
} types[] = {{"u16", 16, false, 'h'}, {"s16", 16, true, 'h'}, {"u32", 32, false, 'r'},
	{"s32", 32, true, 'r'}, {"u64", 64, false, 'd'}, {"s64", 64, true, 'd'},
	{"b16", 16, false, 'h'}, {"b32", 32, false, 'r'}, {"b64", 64, false, 'd'},
	{"u8", 8, false, 'r'}, {"s8", 8, true, 'r'}};
enum { U16, S16, U32, S32, U64, S64, B16, B32, B64, U8, S8 };

static uint64_t cut(u128 v, unsigned bits)
{
	return (uint64_t)v & (bits < 64 ? (1ull << bits) - 1 : ~0ull);
}

static i128 value(unsigned type, const struct operands *o, unsigned k)
{
	const struct type *t = &types[type];
	const uint64_t v = cut(t->reg == 'd' ? o->d[k] : o->r[k], t->bits);

	return t->sign && v >> (t->bits - 1) & 1 ? (i128)v - ((i128)1 << t->bits) : (i128)v;
}

/* --- arithmetic --- */
enum op {
	ADD,
	SUB,
	MUL_LO,
	MUL_HI,
	MUL_WIDE,
	MAD_LO,
	MAD_HI,
	MAD_WIDE,
	MIN,
	MAX,
	DIV,
	REM,
	SAD,
	NEG,
	ABS,
	AND,
	OR,
	XOR,
	NOT,
	CNOT,
	SHL,
	SHR,
	POPC,
	CLZ,
	BREV,
};

static uint64_t reversed(uint64_t v, unsigned bits)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < bits; k++)
		r |= (v >> k & 1) << (bits - 1 - k);
	return r;
}

static uint64_t leading(uint64_t v, unsigned bits)
{
	unsigned n = 0;

	while (n < bits && !(v >> (bits - 1 - n) & 1))
		n++;
	return n;
}

static i128 shifted(unsigned op, i128 x, uint32_t n, const struct type *t)
{
	if (op == SHL)
		return n >= t->bits ? 0 : (i128)((u128)x << n);
	return n >= t->bits ? (x < 0 ? -1 : 0) : x >> n;
}

static i128 bits_of(unsigned op, i128 x, i128 y, const struct operands *o, const struct type *t)
{
	switch (op) {
	case AND:
		return x & y;
	case OR:
		return x | y;
	case XOR:
		return x ^ y;
	case NOT:
		return ~x;
	case CNOT:
		return x == 0;
	case POPC:
		return __builtin_popcountll((uint64_t)x);
	case CLZ:
		return leading((uint64_t)x, t->bits);
	case BREV:
		return reversed((uint64_t)x, t->bits);
	default:
		return shifted(op, x, o->r[1], t);
	}
}

static uint64_t arithmetic(const struct form *f, const struct operands *o)
{
	const struct type *t = &types[f->type];
	const i128 x = value(f->type, o, 0), y = value(f->type, o, 1), z = value(f->type, o, 2);
	const u128 product = (u128)x * (u128)y;
	const u128 high = t->sign ? (u128)((i128)product >> t->bits) : product >> t->bits;

	switch (f->op) {
	case ADD:
		return cut((u128)(x + y), t->bits);
	case SUB:
		return cut((u128)(x - y), t->bits);
	case MUL_LO:
		return cut(product, t->bits);
	case MUL_HI:
		return cut(high, t->bits);
	case MUL_WIDE:
		return cut(product, 2 * t->bits);
	case MAD_LO:
		return cut(product + (u128)z, t->bits);
	case MAD_HI:
		return cut(high + (u128)z, t->bits);
	case MAD_WIDE: /* the third is as wide as the result */
		return cut(product + (t->bits == 32 ? o->d[2] : o->r[2]), 2 * t->bits);
	case MIN:
		return cut((u128)(x < y ? x : y), t->bits);
	case MAX:
		return cut((u128)(x > y ? x : y), t->bits);
	case DIV:
		return cut(y ? (u128)(x / y) : ~(u128)0, t->bits);
	case REM:
		return cut(y ? (u128)(x % y) : ~(u128)0, t->bits);
	case SAD:
		return cut((u128)(z + (x < y ? y - x : x - y)), t->bits);
	case NEG:
		return cut((u128)-x, t->bits);
	case ABS:
		return cut((u128)(x < 0 ? -x : x), t->bits);
	default:
		return cut((u128)bits_of(f->op, x, y, o, t), t->bits);
	}
}

static const struct {
	const char *name;
	enum op op;
	unsigned sources;
	unsigned on, compiled; /* sets of types */
} operations[] = {
#define B(t) (1u << (t))
#define ALL (B(U16) | B(S16) | B(U32) | B(S32) | B(U64) | B(S64))
#define WORDS (B(U32) | B(S32))
#define LONGS (B(U64) | B(S64))
#define SIGNED (B(S16) | B(S32) | B(S64))
#define PLAIN (B(B16) | B(B32) | B(B64))
	{"add", ADD, 2, ALL, ALL},
	{"sub", SUB, 2, ALL, ALL},
	{"mul.lo", MUL_LO, 2, ALL, ALL},
	{"mul.hi", MUL_HI, 2, ALL, WORDS},
	{"mul.wide", MUL_WIDE, 2, ALL & ~LONGS, ALL},
	{"mad.lo", MAD_LO, 3, ALL, ALL},
	{"mad.hi", MAD_HI, 3, ALL, WORDS},
	{"mad.wide", MAD_WIDE, 3, ALL & ~LONGS, ALL},
	{"min", MIN, 2, ALL, WORDS | LONGS},
	{"max", MAX, 2, ALL, WORDS | LONGS},
	{"div", DIV, 2, ALL, 0},
	{"rem", REM, 2, ALL, 0},
	{"sad", SAD, 3, ALL, 0},
	{"neg", NEG, 1, SIGNED, SIGNED},
	{"abs", ABS, 1, SIGNED, B(S32) | B(S64)},
	{"and", AND, 2, PLAIN, PLAIN},
	{"or", OR, 2, PLAIN, PLAIN},
	{"xor", XOR, 2, PLAIN, PLAIN},
	{"not", NOT, 1, PLAIN, PLAIN},
	{"cnot", CNOT, 1, PLAIN, 0},
	{"shl", SHL, 2, PLAIN, B(B32) | B(B64)},
	{"shr", SHR, 2, ALL | PLAIN, WORDS | LONGS | B(B32) | B(B64)},
	{"popc", POPC, 1, B(B32) | B(B64), B(B32)},
	{"clz", CLZ, 1, B(B32) | B(B64), 0},
	{"brev", BREV, 1, B(B32) | B(B64), B(B32)},
};

static void add_operation(size_t n, unsigned type)
{
	const char reg = types[type].reg;
	const bool wide = operations[n].op == MUL_WIDE || operations[n].op == MAD_WIDE,
		   count = operations[n].op == POPC || operations[n].op == CLZ,
		   shift = operations[n].op == SHL || operations[n].op == SHR;
	const char to = wide ? (reg == 'h' ? 'r' : 'd') : count ? 'r' : reg;
	struct form *f =
		next_form(to, operations[n].compiled & B(type), arithmetic, operations[n].op, type);
	char second[8] = "", third[8] = "";

	if (operations[n].sources > 1)
		snprintf(second, sizeof(second), ", %%%c1", shift ? 'r' : reg);
	if (operations[n].sources > 2)
		snprintf(third, sizeof(third), ", %%%c2", wide ? to : reg);
	INSN(f, "%s.%s %%%c9, %%%c0%s%s;", operations[n].name, types[type].name, to, reg, second,
		third);
}

/* --- comparisons: with a predicate, both results --- */
static const char *const comparisons[] = {
	"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};

static bool compare(const struct form *f, const struct operands *o)
{
	const i128 x = value(f->type, o, 0), y = value(f->type, o, 1);
	const bool of[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};

	return of[f->op < 6 ? f->op : f->op - 4];
}

static bool combined(unsigned how, bool r, bool p)
{
	return how == 1 ? r && p : how == 2 ? r || p : how == 3 ? r != p : r;
}

static uint64_t compared(const struct form *f, const struct operands *o)
{
	const bool r = compare(f, o);

	return combined(f->how, f->ftz ? !r : r, o->p[0] != f->sat);
}

static uint64_t all_ones(const struct form *f, const struct operands *o)
{
	return combined(f->how, compare(f, o), o->p[0]) ? 0xffffffff : 0;
}

/* ftz: the second result; sat: the predicate is negated. */
static void add_comparison(unsigned cmp, unsigned type, unsigned how, bool second, bool negated)
{
	static const char *const hows[] = {"", ".and", ".or", ".xor"};
	struct form *f = next_form('p', true, compared, cmp, type);

	f->how = how;
	f->ftz = second;
	f->sat = negated;
	INSN(f, "setp.%s%s.%s %s, %%%c0, %%%c1%s%s;", comparisons[cmp], hows[how], types[type].name,
		second ? "%p8|%p9" : "%p9", types[type].reg, types[type].reg,
		how ? negated ? ", !%p0" : ", %p0" : "", "");
	if (second || negated || types[type].bits == 16)
		return;
	f = next_form('r', false, all_ones, cmp, type);
	f->how = how;
	INSN(f, "set.%s%s.u32.%s %%r9, %%%c0, %%%c1%s;", comparisons[cmp], hows[how],
		types[type].name, types[type].reg, types[type].reg, how ? ", %p0" : "");
}

static void add_comparisons(void)
{
	for (unsigned type = U16; type <= B64; type++)
		for (unsigned cmp = 0; cmp < COUNT_OF(comparisons); cmp++)
			if (cmp < (type >= B16 ? 2u : types[type].sign ? 6u : 10u))
				add_comparison(cmp, type, 0, false, false);
	for (unsigned how = 0; how < 4; how++)
		for (unsigned k = 0; k < 4; k++)
			add_comparison(k + 1, k & 1 ? S64 : U16, how, k & 1, how && k & 2);
}

/* --- conversions between whole numbers --- */
static uint64_t converted(const struct form *f, const struct operands *o)
{
	const struct type *t = &types[f->type];
	const i128 most = ((i128)1 << (t->bits - (t->sign ? 1 : 0))) - 1,
		   least = t->sign ? -most - 1 : 0;
	i128 v = value(f->from, o, 0);
	const unsigned wide = t->reg == 'd' ? 64 : t->reg == 'h' ? 16 : 32;

	if (f->sat)
		v = v < least ? least : v > most ? most : v;
	v = (i128)cut((u128)v, t->bits);
	if (t->sign && v > most) /* a wider register gets the sign */
		v -= (i128)1 << t->bits;
	return cut((u128)v, wide);
}

static void add_conversions(void)
{
	static const unsigned both[] = {U8, S8, U16, S16, U32, S32, U64, S64};

	for (unsigned to = 0; to < 8; to++)
		for (unsigned from = 0; from < 8; from++)
			for (unsigned sat = 0; sat < 2; sat++) {
				const struct type *t = &types[both[to]], *u = &types[both[from]];
				struct form *f = next_form(t->reg, !sat, converted, 0, both[to]);

				f->from = both[from];
				f->sat = sat;
				INSN(f, "cvt%s.%s.%s %%%c9, %%%c0;", sat ? ".sat" : "", t->name,
					u->name, t->reg, u->reg);
			}
}

/* --- choices, predicates, moves --- */
#define IS(name, ...)                                                                              \
	static uint64_t name(const struct form *f, const struct operands *o)                       \
	{                                                                                          \
		const uint16_t h[] = {(uint16_t)o->r[0], (uint16_t)o->r[1], (uint16_t)o->r[2]};    \
		const bool *p = o->p;                                                              \
		(void)h, (void)p;                                                                  \
		return __VA_ARGS__;                                                                \
	}
IS(sel16, p[0] ? h[0] : h[1])
IS(sel32, p[0] ? o->r[0] : o->r[1])
IS(sel64, p[0] ? o->d[0] : o->d[1])
IS(sel32_not, p[0] ? o->r[1] : o->r[0])
IS(slct32, (int32_t)o->r[2] >= 0 ? o->r[0] : o->r[1])
IS(slct16, (int32_t)o->r[2] >= 0 ? h[0] : h[1])
IS(slct64, (int32_t)o->r[2] >= 0 ? o->d[0] : o->d[1])
IS(p_and, p[0] && p[1])
IS(p_or, p[0] || p[1])
IS(p_xor, p[0] != p[1])
IS(p_not, !p[0])
IS(p_mov, p[0])
IS(first16, h[0])
IS(first32, o->r[0])
IS(first64, o->d[0])
IS(pack32, (uint32_t)h[0] | (uint32_t)h[1] << 16)
IS(pack64, o->r[0] | (uint64_t)o->r[1] << 32)
IS(pack4, h[0] | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 32 | (uint64_t)h[0] << 48)
IS(low32, (uint32_t)o->d[0])
IS(high32, o->d[0] >> 32)
IS(low16, h[0])
IS(high16, o->r[0] >> 16)
IS(third16, (uint16_t)(o->d[0] >> 32))
IS(fourth16, o->d[0] >> 48)

static uint64_t funnel(const struct operands *o, bool left, bool wrap)
{
	const u128 both = (u128)o->r[1] << 32 | o->r[0];
	const unsigned n = wrap ? o->r[2] & 31 : o->r[2] > 32 ? 32 : o->r[2];

	return (uint32_t)(left ? both << n >> 32 : both >> n);
}
IS(shf_l_wrap, funnel(o, true, true))
IS(shf_l_clamp, funnel(o, true, false))
IS(shf_r_wrap, funnel(o, false, true))
IS(shf_r_clamp, funnel(o, false, false))
IS(lop_1e, o->r[0] ^ (o->r[1] | o->r[2]))
IS(lop_e8, (o->r[0] & o->r[1]) | (o->r[0] & o->r[2]) | (o->r[1] & o->r[2]))
IS(lop_ca, (o->r[0] & o->r[1]) | (~o->r[0] & o->r[2]))
IS(lop_none, 0 * o->r[0])

static const struct {
	const char *insn;
	char kind;
	bool compiled;
	uint64_t (*is)(const struct form *f, const struct operands *o);
} others[] = {
	{"shf.l.wrap.b32 %r9, %r0, %r1, %r2;", 'r', true, shf_l_wrap},
	{"shf.l.clamp.b32 %r9, %r0, %r1, %r2;", 'r', true, shf_l_clamp},
	{"shf.r.wrap.b32 %r9, %r0, %r1, %r2;", 'r', true, shf_r_wrap},
	{"shf.r.clamp.b32 %r9, %r0, %r1, %r2;", 'r', true, shf_r_clamp},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0x1e;", 'r', true, lop_1e},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0xe8;", 'r', true, lop_e8},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0xca;", 'r', true, lop_ca},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0;", 'r', true, lop_none},
	{"selp.b16 %h9, %h0, %h1, %p0;", 'h', true, sel16},
	{"selp.u32 %r9, %r0, %r1, %p0;", 'r', true, sel32},
	{"selp.f32 %f9, %f0, %f1, %p0;", 'f', true, sel32},
	{"selp.b32 %r9, %r0, %r1, !%p0;", 'r', true, sel32_not},
	{"selp.s64 %d9, %d0, %d1, %p0;", 'd', true, sel64},
	{"selp.f64 %g9, %g0, %g1, %p0;", 'g', true, sel64},
	{"slct.u32.s32 %r9, %r0, %r1, %r2;", 'r', false, slct32},
	{"slct.b16.s32 %h9, %h0, %h1, %r2;", 'h', false, slct16},
	{"slct.b64.s32 %d9, %d0, %d1, %r2;", 'd', false, slct64},
	{"and.pred %p9, %p0, %p1;", 'p', true, p_and},
	{"or.pred %p9, %p0, %p1;", 'p', true, p_or},
	{"xor.pred %p9, %p0, %p1;", 'p', true, p_xor},
	{"not.pred %p9, %p0;", 'p', true, p_not},
	{"mov.pred %p9, %p0;", 'p', true, p_mov},
	{"mov.u16 %h9, %h0;", 'h', true, first16},
	{"mov.s32 %r9, %r0;", 'r', true, first32},
	{"mov.f32 %f9, %f0;", 'f', true, first32},
	{"mov.b64 %d9, %d0;", 'd', true, first64},
	{"mov.f64 %g9, %g0;", 'g', true, first64},
	{"mov.b32 %r9, {%h0, %h1};", 'r', true, pack32},
	{"mov.b64 %d9, {%r0, %r1};", 'd', true, pack64},
	{"mov.b64 %d9, {%h0, %h1, %h2, %h0};", 'd', true, pack4},
	{"mov.b64 {%r9, %r8}, %d0;", 'r', true, low32},
	{"mov.b64 {%r8, %r9}, %d0;", 'r', true, high32},
	{"mov.b64 {_, %r9}, %d0;", 'r', true, high32},
	{"mov.b32 {%h9, %h8}, %r0;", 'h', true, low16},
	{"mov.b32 {%h8, %h9}, %r0;", 'h', true, high16},
	{"mov.b64 {%h8, %h7, %h9, %h6}, %d0;", 'h', true, third16},
	{"mov.b64 {%h8, %h7, %h6, %h9}, %d0;", 'h', true, fourth16},
};

static void add_others(void)
{
	for (size_t k = 0; k < COUNT_OF(others); k++)
		INSN(next_form(others[k].kind, others[k].compiled, others[k].is, 0, 0), "%s",
			others[k].insn);
}

static int make_forms(void **state)
{
	for (size_t n = 0; n < COUNT_OF(operations); n++)
		for (unsigned type = U16; type <= B64; type++)
			if (operations[n].on & B(type))
				add_operation(n, type);
	add_comparisons();
	add_conversions();
	add_others();
	place_operands();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(check_forms)};

	counted_environment();
	return cmocka_run_group_tests(tests, make_forms, NULL);
}
