/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the instruction being translated, for jit-alu.c and jit-move.c: operands as vectors of
 * a lane each, results into registers.
 */
#ifndef SOFTGPU_JIT_VALUE_H
#define SOFTGPU_JIT_VALUE_H

#include "softgpu/jit/jit-int.h"

typedef LLVMValueRef V;
#define B e->b

/* False: it is left to the interpreter's handler. */
bool jit_shuffle(struct jit_emit *e);
bool jit_mov(struct jit_emit *e, unsigned bits);
bool jit_cvt(struct jit_emit *e);

static inline V c32(struct jit_emit *e, uint32_t v)
{
	return jit_const(e, 32, v);
}

static inline V c64(struct jit_emit *e, uint64_t v)
{
	return jit_const(e, 64, v);
}

static inline V src32(struct jit_emit *e, unsigned k)
{
	return jit_src(e, e->i->o[k], 4);
}

static inline V src64(struct jit_emit *e, unsigned k)
{
	return jit_src(e, e->i->o[k], 8);
}

static inline V as_f32(struct jit_emit *e, V v)
{
	return LLVMBuildBitCast(B, v, e->v32f32, "");
}

static inline V as_f64(struct jit_emit *e, V v)
{
	return LLVMBuildBitCast(B, v, e->v32f64, "");
}

static inline V as_i32(struct jit_emit *e, V v)
{
	return LLVMBuildBitCast(B, v, e->v32i32, "");
}

static inline V as_i64(struct jit_emit *e, V v)
{
	return LLVMBuildBitCast(B, v, e->v32i64, "");
}

static inline V choose(struct jit_emit *e, V cond, V yes, V no)
{
	return LLVMBuildSelect(B, cond, yes, no, "");
}

static inline V cmp(struct jit_emit *e, LLVMIntPredicate p, V x, V y)
{
	return LLVMBuildICmp(B, p, x, y, "");
}

static inline V fcmp(struct jit_emit *e, LLVMRealPredicate p, V x, V y)
{
	return LLVMBuildFCmp(B, p, x, y, "");
}

static inline V call1(struct jit_emit *e, const char *name, V x)
{
	LLVMTypeRef t = LLVMTypeOf(x);

	return jit_intrinsic(e, name, &t, 1, &x, 1);
}

static inline V call3(struct jit_emit *e, const char *name, V x, V y, V z)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	V args[3] = {x, y, z};

	return jit_intrinsic(e, name, &t, 1, args, 3);
}

/* The number, or the one NaN of single precision; as 32-bit integers. */
static inline V canon(struct jit_emit *e, V f)
{
	return choose(e, fcmp(e, LLVMRealORD, f, f), as_i32(e, f), c32(e, 0x7fffffff));
}

/* Integers that hold floats: subnormals become zeros of their sign. */
static inline V flush(struct jit_emit *e, V u)
{
	V small = cmp(e, LLVMIntEQ, LLVMBuildAnd(B, u, c32(e, 0x7f800000), ""), c32(e, 0));

	return choose(e, small, LLVMBuildAnd(B, u, c32(e, 0x80000000), ""), u);
}

static inline V src_f32(struct jit_emit *e, unsigned k)
{
	V u = src32(e, k);

	return as_f32(e, e->i->flags & F_FTZ ? flush(e, u) : u);
}

/* i32 in, written to o[0], flushed when asked for. */
static inline bool set_f32(struct jit_emit *e, V u)
{
	jit_set(e, e->i->o[0], 4, e->i->flags & F_FTZ ? flush(e, u) : u);
	return true;
}

static inline bool set32(struct jit_emit *e, V v)
{
	jit_set(e, e->i->o[0], 4, v);
	return true;
}

static inline bool set64(struct jit_emit *e, V v)
{
	jit_set(e, e->i->o[0], 8, v);
	return true;
}

static inline bool must(const struct jit_emit *e, unsigned mod)
{
	return e->i->row->must >> mod & 1;
}

enum kind { K_NONE, K_I16, K_I32, K_I64, K_F32, K_F64 };

static inline enum kind kind_of(unsigned type)
{
	switch (type) {
	case T_u16:
	case T_s16:
	case T_b16:
		return K_I16;
	case T_u32:
	case T_s32:
	case T_b32:
		return K_I32;
	case T_u64:
	case T_s64:
	case T_b64:
		return K_I64;
	case T_f32:
		return K_F32;
	case T_f64:
		return K_F64;
	default:
		return K_NONE;
	}
}

static inline V src_int(struct jit_emit *e, enum kind k, unsigned op)
{
	return k == K_I64 ? src64(e, op) : src32(e, op);
}

static inline bool set_int(struct jit_emit *e, enum kind k, V v)
{
	if (k == K_I16)
		v = LLVMBuildAnd(B, v, c32(e, 0xffff), "");
	return k == K_I64 ? set64(e, v) : set32(e, v);
}

static inline V twice(struct jit_emit *e, V v, bool sgn)
{
	return sgn ? LLVMBuildSExt(B, v, e->v32i64, "") : LLVMBuildZExt(B, v, e->v32i64, "");
}

#endif
