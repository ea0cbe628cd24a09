/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic and comparisons as LLVM's intermediate code, bit for bit what ptx-alu.c, ptx-pred.c
 * and ptx-math.c do. What is not here is left to the interpreter's handler. LLVM folds constants as
 * if a NaN's bits did not matter, so every operation that can make a NaN says which one it is.
 */
#include "softgpu/jit/jit-value.h"

#include <string.h>

typedef LLVMValueRef V;
#define B e->b
/* --- integers --- */
/* The product of two 32-bit or 16-bit integers, twice as wide. */
static V wide_product(struct jit_emit *e, V x, V y)
{
	bool sgn = ptx_is_signed(e->i->type);

	if (kind_of(e->i->type) == K_I16) {
		x = LLVMBuildTrunc(B, x, e->v32i16, "");
		y = LLVMBuildTrunc(B, y, e->v32i16, "");
		x = sgn ? LLVMBuildSExt(B, x, e->v32i32, "") : LLVMBuildZExt(B, x, e->v32i32, "");
		y = sgn ? LLVMBuildSExt(B, y, e->v32i32, "") : LLVMBuildZExt(B, y, e->v32i32, "");
		return LLVMBuildMul(B, x, y, "");
	}
	return LLVMBuildMul(B, twice(e, x, sgn), twice(e, y, sgn), "");
}

static bool multiply(struct jit_emit *e, bool add)
{
	enum kind k = kind_of(e->i->type);
	unsigned w = k == K_I32 ? 8 : 4;
	V v;

	if (must(e, M_wide)) {
		if (k == K_I64)
			return false;
		v = wide_product(e, src32(e, 1), src32(e, 2));
		if (add)
			v = LLVMBuildAdd(B, v, jit_src(e, e->i->o[3], w), "");
		jit_set(e, e->i->o[0], w, v);
		return true;
	}
	if (must(e, M_hi)) {
		if (k != K_I32)
			return false;
		v = LLVMBuildLShr(B, wide_product(e, src32(e, 1), src32(e, 2)), c64(e, 32), "");
		v = LLVMBuildTrunc(B, v, e->v32i32, "");
	} else {
		v = LLVMBuildMul(B, src_int(e, k, 1), src_int(e, k, 2), "");
	}
	if (add)
		v = LLVMBuildAdd(B, v, src_int(e, k, 3), "");
	return set_int(e, k, v);
}

static bool min_max_int(struct jit_emit *e, enum kind k, bool max)
{
	bool sgn = ptx_is_signed(e->i->type);
	V x = src_int(e, k, 1), y = src_int(e, k, 2);

	if (k == K_I16)
		return false;
	return set_int(e, k,
		choose(e,
			cmp(e,
				max ? (sgn ? LLVMIntSGT : LLVMIntUGT)
				    : (sgn ? LLVMIntSLT : LLVMIntULT),
				x, y),
			x, y));
}

static bool shift(struct jit_emit *e, enum kind k, bool left)
{
	V x = src_int(e, k, 1), n = src32(e, 2), v, big;
	uint32_t bits = k == K_I64 ? 64 : 32;
	bool sgn = ptx_is_signed(e->i->type);

	if (k == K_I16)
		return false;
	big = cmp(e, LLVMIntUGT, n, c32(e, bits - 1));
	n = !left && sgn ? choose(e, big, c32(e, bits - 1), n)
			 : LLVMBuildAnd(B, n, c32(e, bits - 1), "");
	if (k == K_I64)
		n = twice(e, n, false);
	if (left)
		v = LLVMBuildShl(B, x, n, "");
	else
		v = sgn ? LLVMBuildAShr(B, x, n, "") : LLVMBuildLShr(B, x, n, "");
	if (left || !sgn)
		v = choose(e, big, LLVMConstNull(LLVMTypeOf(v)), v);
	return set_int(e, k, v);
}

static bool funnel(struct jit_emit *e)
{
	V a = src32(e, 1), b = src32(e, 2), n = src32(e, 3), v;
	bool left = must(e, M_l);

	v = call3(e, left ? "llvm.fshl" : "llvm.fshr", b, a, n);
	if (must(e, M_clamp))
		v = choose(e, cmp(e, LLVMIntUGT, n, c32(e, 31)), left ? a : b, v);
	return set32(e, v);
}

static bool lop3(struct jit_emit *e)
{
	V in[3], v = NULL;

	for (unsigned k = 0; k < 3; k++)
		in[k] = src32(e, k + 1);
	for (unsigned k = 0; k < 8; k++) {
		V term = NULL;
		if (!(e->i->imm >> k & 1))
			continue;
		for (unsigned j = 0; j < 3; j++) {
			V x = k >> (2 - j) & 1 ? in[j] : LLVMBuildNot(B, in[j], "");
			term = term ? LLVMBuildAnd(B, term, x, "") : x;
		}
		v = v ? LLVMBuildOr(B, v, term, "") : term;
	}
	return set32(e, v ? v : c32(e, 0));
}

/* --- single precision --- */
static V min_max_f32(struct jit_emit *e, V x, V y, bool max, bool nan)
{
	V xi = as_i32(e, x), yi = as_i32(e, y);
	V same = max ? LLVMBuildAnd(B, xi, yi, "") : LLVMBuildOr(B, xi, yi, "");
	LLVMRealPredicate p = max ? LLVMRealOGT : LLVMRealOLT;
	V r = choose(e, fcmp(e, p, x, y), xi, choose(e, fcmp(e, p, y, x), yi, same));

	r = choose(e, fcmp(e, LLVMRealUNO, x, x), yi, r);
	r = choose(e, fcmp(e, LLVMRealUNO, y, y), xi, r);
	r = canon(e, as_f32(e, r));
	return nan ? choose(e, fcmp(e, LLVMRealUNO, x, y), c32(e, 0x7fffffff), r) : r;
}

/* (float)f((double)x), as h_math_f32 does. */
static bool through_double(struct jit_emit *e, const char *op)
{
	V x = LLVMBuildFPExt(B, src_f32(e, 1), e->v32f64, ""),
	  one = LLVMConstBitCast(c64(e, 0x3ff0000000000000ull), e->v32f64);

	if (strcmp(op, "rcp"))
		x = call1(e, "llvm.sqrt", x);
	if (strcmp(op, "sqrt"))
		x = LLVMBuildFDiv(B, one, x, "");
	return set_f32(e, canon(e, LLVMBuildFPTrunc(B, x, e->v32f32, "")));
}

static bool divide_f32(struct jit_emit *e)
{
	V x = src_f32(e, 1), y = src_f32(e, 2), r, abs, huge;

	if (!must(e, M_rn) && !must(e, M_approx) && !must(e, M_full))
		return false;
	r = LLVMBuildFDiv(B, x, y, "");
	if (must(e, M_approx)) {
		abs = LLVMBuildAnd(B, as_i32(e, y), c32(e, 0x7fffffff), "");
		huge = LLVMBuildAnd(B, cmp(e, LLVMIntUGT, abs, c32(e, 0x7e800000)),
			cmp(e, LLVMIntULT, abs, c32(e, 0x7f800000)), "");
		r = choose(e, huge,
			LLVMBuildFMul(B, x,
				as_f32(e, LLVMBuildAnd(B, as_i32(e, y), c32(e, 0x80000000), "")),
				""),
			r);
	}
	return set_f32(e, canon(e, r));
}

static bool emit_f32(struct jit_emit *e, const char *op)
{
	bool nan = e->i->flags & F_NAN;
	V one = LLVMConstBitCast(c32(e, 0x3f800000), e->v32f32);

	if (e->i->flags & (F_ROUND | F_SAT))
		return false;
	if (!strcmp(op, "add"))
		return set_f32(e, canon(e, LLVMBuildFAdd(B, src_f32(e, 1), src_f32(e, 2), "")));
	if (!strcmp(op, "sub"))
		return set_f32(e, canon(e, LLVMBuildFSub(B, src_f32(e, 1), src_f32(e, 2), "")));
	if (!strcmp(op, "mul"))
		return set_f32(e, canon(e, LLVMBuildFMul(B, src_f32(e, 1), src_f32(e, 2), "")));
	if (!strcmp(op, "fma") || !strcmp(op, "mad"))
		return set_f32(e, canon(e, call3(e, "llvm.fma", src_f32(e, 1), src_f32(e, 2),
						   src_f32(e, 3))));
	if (!strcmp(op, "div"))
		return divide_f32(e);
	if (!strcmp(op, "min") || !strcmp(op, "max"))
		return e->i->o[3] == NO_REG &&
		       set_f32(e, min_max_f32(e, src_f32(e, 1), src_f32(e, 2), op[1] == 'a', nan));
	if (!strcmp(op, "abs"))
		return set32(e, canon(e, as_f32(e, LLVMBuildAnd(B, as_i32(e, src_f32(e, 1)),
							   c32(e, 0x7fffffff), ""))));
	if (!strcmp(op, "neg"))
		return set32(e, canon(e, as_f32(e, LLVMBuildXor(B, as_i32(e, src_f32(e, 1)),
							   c32(e, 0x80000000), ""))));
	if (must(e, M_approx) &&
		(!strcmp(op, "rcp") || !strcmp(op, "sqrt") || !strcmp(op, "rsqrt")))
		return through_double(e, op);
	if (!must(e, M_rn))
		return false;
	if (!strcmp(op, "rcp"))
		return set_f32(e, canon(e, LLVMBuildFDiv(B, one, src_f32(e, 1), "")));
	if (!strcmp(op, "sqrt"))
		return set_f32(e, canon(e, call1(e, "llvm.sqrt", src_f32(e, 1))));
	return false;
}

/* --- double precision --- */
/* The processor's own NaN, for what is invalid; 64-bit integers. */
static V own_nan(struct jit_emit *e, V r)
{
	return choose(e, fcmp(e, LLVMRealORD, r, r), as_i64(e, r), c64(e, 0xfff8000000000000ull));
}

static V nan1(struct jit_emit *e, V r, V x)
{
	return choose(e, fcmp(e, LLVMRealUNO, x, x),
		LLVMBuildOr(B, as_i64(e, x), c64(e, 1ull << 51), ""), r);
}

static V nan2(struct jit_emit *e, V r, V x, V y)
{
	return nan1(e, nan1(e, own_nan(e, r), x), y);
}

static V min_max_f64(struct jit_emit *e, V x, V y, bool max)
{
	V xi = as_i64(e, x), yi = as_i64(e, y);
	V same = max ? LLVMBuildAnd(B, xi, yi, "") : LLVMBuildOr(B, xi, yi, "");
	LLVMRealPredicate p = max ? LLVMRealOGT : LLVMRealOLT;
	V r = choose(e, fcmp(e, p, x, y), xi, choose(e, fcmp(e, p, y, x), yi, same));

	r = choose(e, fcmp(e, LLVMRealUNO, y, y), xi, r);
	return choose(e, fcmp(e, LLVMRealUNO, x, x), nan1(e, yi, y), r);
}

static bool emit_f64(struct jit_emit *e, const char *op)
{
	V x = as_f64(e, src64(e, 1)), y = NULL, z = NULL;

	if (e->i->flags & (F_ROUND | F_SAT | F_FTZ))
		return false;
	if (!strcmp(op, "abs"))
		return set64(e, nan1(e, LLVMBuildAnd(B, as_i64(e, x), c64(e, INT64_MAX), ""), x));
	if (!strcmp(op, "neg"))
		return set64(e, nan1(e, LLVMBuildXor(B, as_i64(e, x), c64(e, 1ull << 63), ""), x));
	if (!strcmp(op, "sqrt") && must(e, M_rn))
		return set64(e, nan1(e, own_nan(e, call1(e, "llvm.sqrt", x)), x));
	if (!strcmp(op, "rcp") && must(e, M_rn))
		return set64(e,
			nan1(e,
				own_nan(e, LLVMBuildFDiv(B,
						   LLVMConstBitCast(c64(e, 0x3ff0000000000000ull),
							   e->v32f64),
						   x, "")),
				x));
	if (strcmp(op, "add") && strcmp(op, "sub") && strcmp(op, "mul") && strcmp(op, "div") &&
		strcmp(op, "min") && strcmp(op, "max") && strcmp(op, "fma") && strcmp(op, "mad"))
		return false;
	y = as_f64(e, src64(e, 2));
	if (!strcmp(op, "add"))
		return set64(e, nan2(e, LLVMBuildFAdd(B, x, y, ""), x, y));
	if (!strcmp(op, "sub"))
		return set64(e, nan2(e, LLVMBuildFSub(B, x, y, ""), x, y));
	if (!strcmp(op, "mul"))
		return set64(e, nan2(e, LLVMBuildFMul(B, x, y, ""), x, y));
	if (!strcmp(op, "div"))
		return must(e, M_rn) && set64(e, nan2(e, LLVMBuildFDiv(B, x, y, ""), y, x));
	if (!strcmp(op, "min") || !strcmp(op, "max"))
		return set64(e, min_max_f64(e, x, y, op[1] == 'a'));
	z = as_f64(e, src64(e, 3));
	return set64(e, nan1(e, nan2(e, call3(e, "llvm.fma", x, y, z), x, z), y));
}

/* --- comparison and choice --- */
static const struct {
	const char *name;
	LLVMIntPredicate u, s;
	LLVMRealPredicate f;
} comparisons[] = {
	{"eq", LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},
	{"ne", LLVMIntNE, LLVMIntNE, LLVMRealONE},
	{"lt", LLVMIntULT, LLVMIntSLT, LLVMRealOLT},
	{"le", LLVMIntULE, LLVMIntSLE, LLVMRealOLE},
	{"gt", LLVMIntUGT, LLVMIntSGT, LLVMRealOGT},
	{"ge", LLVMIntUGE, LLVMIntSGE, LLVMRealOGE},
	{.name = "lo", .u = LLVMIntULT, .s = LLVMIntULT},
	{.name = "ls", .u = LLVMIntULE, .s = LLVMIntULE},
	{.name = "hi", .u = LLVMIntUGT, .s = LLVMIntUGT},
	{.name = "hs", .u = LLVMIntUGE, .s = LLVMIntUGE},
	{.name = "equ", .f = LLVMRealUEQ},
	{.name = "neu", .f = LLVMRealUNE},
	{.name = "ltu", .f = LLVMRealULT},
	{.name = "leu", .f = LLVMRealULE},
	{.name = "gtu", .f = LLVMRealUGT},
	{.name = "geu", .f = LLVMRealUGE},
	{.name = "num", .f = LLVMRealORD},
	{.name = "nan", .f = LLVMRealUNO},
};

static V compare(struct jit_emit *e, unsigned type)
{
	enum kind k = kind_of(type);
	V x, y;

	for (unsigned n = 0; n < sizeof(comparisons) / sizeof(comparisons[0]); n++) {
		if (!jit_mod(e->i, comparisons[n].name))
			continue;
		if (k == K_F32)
			return comparisons[n].f
				       ? fcmp(e, comparisons[n].f, src_f32(e, 1), src_f32(e, 2))
				       : NULL;
		if (k == K_F64)
			return comparisons[n].f ? fcmp(e, comparisons[n].f, as_f64(e, src64(e, 1)),
							  as_f64(e, src64(e, 2)))
						: NULL;
		if (!comparisons[n].u || k == K_NONE)
			return NULL;
		x = src_int(e, k, 1);
		y = src_int(e, k, 2);
		if (k == K_I16) {
			x = LLVMBuildTrunc(B, x, e->v32i16, "");
			y = LLVMBuildTrunc(B, y, e->v32i16, "");
		}
		return cmp(e, ptx_is_signed(type) ? comparisons[n].s : comparisons[n].u, x, y);
	}
	return NULL;
}

static V combine(struct jit_emit *e, V r, V c)
{
	switch (e->i->arg) {
	case 1:
		return LLVMBuildAnd(B, r, c, "");
	case 2:
		return LLVMBuildOr(B, r, c, "");
	case 3:
		return LLVMBuildXor(B, r, c, "");
	default:
		return r;
	}
}

static bool setp(struct jit_emit *e)
{
	V r = compare(e, e->i->type), c = NULL, p, q;

	if (!r)
		return false;
	r = LLVMBuildBitCast(B, r, e->i32, "");
	if (e->i->arg) {
		c = jit_src_pred(e, e->i->o[3]);
		if (e->i->flags & F_NEG_SRC)
			c = LLVMBuildNot(B, c, "");
	}
	p = combine(e, r, c);
	q = combine(e, LLVMBuildNot(B, r, ""), c);
	if (e->i->flags & F_PAIR)
		jit_set_pred(e, e->i->o[5], q);
	jit_set_pred(e, e->i->o[0], p);
	return true;
}

static bool selp(struct jit_emit *e, unsigned width)
{
	V p = jit_src_pred(e, e->i->o[3]), v;

	if (e->i->flags & F_NEG_SRC)
		p = LLVMBuildNot(B, p, "");
	v = choose(e, LLVMBuildBitCast(B, p, e->v32i1, ""), jit_src(e, e->i->o[1], width),
		jit_src(e, e->i->o[2], width));
	jit_set(e, e->i->o[0], width, v);
	return true;
}

static bool emit_pred(struct jit_emit *e, const char *op)
{
	V x = jit_src_pred(e, e->i->o[1]),
	  y = e->i->o[2] == NO_REG ? NULL : jit_src_pred(e, e->i->o[2]);

	if (e->i->flags & F_NEG_SRC)
		return false;
	if (!strcmp(op, "mov"))
		jit_set_pred(e, e->i->o[0], x);
	else if (!strcmp(op, "not"))
		jit_set_pred(e, e->i->o[0], LLVMBuildNot(B, x, ""));
	else if (!strcmp(op, "and"))
		jit_set_pred(e, e->i->o[0], LLVMBuildAnd(B, x, y, ""));
	else if (!strcmp(op, "or"))
		jit_set_pred(e, e->i->o[0], LLVMBuildOr(B, x, y, ""));
	else if (!strcmp(op, "xor"))
		jit_set_pred(e, e->i->o[0], LLVMBuildXor(B, x, y, ""));
	else
		return false;
	return true;
}

/* --- by name --- */
static bool emit_bits(struct jit_emit *e, const char *op, enum kind k)
{
	if (!strcmp(op, "and"))
		return set_int(e, k, LLVMBuildAnd(B, src_int(e, k, 1), src_int(e, k, 2), ""));
	if (!strcmp(op, "or"))
		return set_int(e, k, LLVMBuildOr(B, src_int(e, k, 1), src_int(e, k, 2), ""));
	if (!strcmp(op, "xor"))
		return set_int(e, k, LLVMBuildXor(B, src_int(e, k, 1), src_int(e, k, 2), ""));
	if (!strcmp(op, "not"))
		return set_int(e, k, LLVMBuildNot(B, src_int(e, k, 1), ""));
	if (!strcmp(op, "shl"))
		return shift(e, k, true);
	if (!strcmp(op, "shr"))
		return shift(e, k, false);
	if (!strcmp(op, "popc"))
		return k == K_I32 && set32(e, call1(e, "llvm.ctpop", src32(e, 1)));
	if (!strcmp(op, "brev"))
		return k == K_I32 && set32(e, call1(e, "llvm.bitreverse", src32(e, 1)));
	if (!strcmp(op, "shf"))
		return funnel(e);
	if (!strcmp(op, "lop3"))
		return lop3(e);
	return false;
}

static bool emit_int(struct jit_emit *e, const char *op, enum kind k)
{
	V zero = k == K_I64 ? c64(e, 0) : c32(e, 0), x;

	if (e->i->flags & (F_CC | F_CIN | F_SAT))
		return false;
	if (!strcmp(op, "add"))
		return set_int(e, k, LLVMBuildAdd(B, src_int(e, k, 1), src_int(e, k, 2), ""));
	if (!strcmp(op, "sub"))
		return set_int(e, k, LLVMBuildSub(B, src_int(e, k, 1), src_int(e, k, 2), ""));
	if (!strcmp(op, "mul"))
		return multiply(e, false);
	if (!strcmp(op, "mad"))
		return multiply(e, true);
	if (!strcmp(op, "neg"))
		return set_int(e, k, LLVMBuildSub(B, zero, src_int(e, k, 1), ""));
	if (!strcmp(op, "abs") && k != K_I16) {
		x = src_int(e, k, 1);
		return set_int(e, k,
			choose(e, cmp(e, LLVMIntSLT, x, zero), LLVMBuildSub(B, zero, x, ""), x));
	}
	if (!strcmp(op, "min") || !strcmp(op, "max"))
		return e->i->o[3] == NO_REG && !jit_mod(e->i, "relu") &&
		       min_max_int(e, k, op[1] == 'a');
	return emit_bits(e, op, k);
}

/* Every modifier is one of these: a new one makes the instruction the handler's. */
static bool known_name(const struct ptx_insn *i)
{
	static const char *const known[] = {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
		"b16", "b32", "b64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "pred", "rn",
		"rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "approx", "full", "lo", "hi",
		"wide", "NaN", "eq", "ne", "lt", "le", "gt", "ge", "ls", "hs", "equ", "neu", "ltu",
		"leu", "gtu", "geu", "num", "nan", "and", "or", "xor", "l", "r", "wrap", "clamp",
		"to", "global", "shared", "local", "const", "param"};

	for (const char *s = strchr(i->name, '.'); s; s = strchr(s + 1, '.')) {
		size_t n = strcspn(s + 1, "."), k = 0;
		while (k < sizeof(known) / sizeof(known[0]) &&
			(strlen(known[k]) != n || memcmp(known[k], s + 1, n)))
			k++;
		if (k == sizeof(known) / sizeof(known[0]))
			return false;
	}
	return true;
}

static bool known_pattern(const char *p)
{
	static const char *const known[] = {"da", "daa", "daaa", "Waa", "WaaX", "dax", "daax",
		"daaai", "paa?P", "daaP", "Ll", "dK", "ka", "daP"};

	for (unsigned k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (!strcmp(p, known[k]))
			return true;
	return false;
}

bool jit_emit_alu(struct jit_emit *e)
{
	const struct ptx_insn *i = e->i;
	const char *op = i->row->op;
	unsigned bits = ptx_type_bits[i->type];
	enum kind k = kind_of(i->type);

	if (!strcmp(op, "shfl"))
		return jit_shuffle(e);
	if (!known_name(i) || !known_pattern(i->row->pattern))
		return false;
	if (!strcmp(op, "setp"))
		return k != K_NONE && setp(e);
	if (!strcmp(op, "selp"))
		return selp(e, bits == 64 ? 8 : 4);
	if (!strcmp(op, "cvt"))
		return strcmp(i->row->pattern, "Ll") ? false : jit_cvt(e);
	if (!strcmp(op, "cvta"))
		return set64(e, LLVMBuildAdd(B, src64(e, 1), c64(e, (uint64_t)i->imm), ""));
	if (!strcmp(op, "mov") && i->type != T_pred)
		return jit_mov(e, bits);
	if (i->type == T_pred)
		return emit_pred(e, op);
	if (k == K_F32)
		return emit_f32(e, op);
	if (k == K_F64)
		return emit_f64(e, op);
	return k != K_NONE && emit_int(e, op, k);
}
