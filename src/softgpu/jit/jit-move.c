/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves, conversions and shuffles as LLVM's intermediate code, bit for bit what ptx-cvt.c and the
 * interpreter's shuffle do. The lanes that a shuffle reads from are worked out here when its
 * operands are constants, even those that reach it through a register.
 */
#include "softgpu/jit/jit-value.h"

#include <string.h>

/* --- moves and conversions --- */
static bool is_clock(const struct jit_emit *e)
{
	const struct ptx_function *fn = e->r->fn;

	for (unsigned k = 0; k < fn->nspecials; k++)
		if (fn->specials[k].off == e->i->o[1] && fn->specials[k].sreg > SR_VOLATILE)
			return true;
	return false;
}

static bool pack(struct jit_emit *e)
{
	const struct ptx_vec *v = e->i->u.vecs;
	unsigned bits = e->i->size * 8u / e->i->vec, w = e->i->size == 8 ? 8 : 4;
	V r = NULL;

	for (unsigned k = 0; k < e->i->vec; k++) {
		V x = jit_src(e, v->off[k], v->width[k]);
		if (w == 8 && v->width[k] == 4)
			x = twice(e, x, false);
		else if (w == 4 && v->width[k] == 8)
			return false;
		x = LLVMBuildAnd(B, x,
			w == 8 ? c64(e, (1ull << bits) - 1)
			       : c32(e, (uint32_t)((1ull << bits) - 1)),
			"");
		x = LLVMBuildShl(B, x, w == 8 ? c64(e, k * bits) : c32(e, k * bits), "");
		r = r ? LLVMBuildOr(B, r, x, "") : x;
	}
	jit_set(e, e->i->o[0], w, r);
	return true;
}

static bool unpack(struct jit_emit *e)
{
	const struct ptx_vec *v = e->i->u.vecs;
	unsigned bits = e->i->size * 8u / e->i->vec;
	V in = jit_src(e, e->i->o[1], e->i->size == 8 ? 8 : 4), x;

	for (unsigned k = 0; k < e->i->vec; k++)
		if (v->off[k] != NO_REG && v->width[k] != 4)
			return false;
	for (unsigned k = 0; k < e->i->vec; k++) {
		if (v->off[k] == NO_REG)
			continue;
		if (e->i->size == 8)
			x = LLVMBuildTrunc(
				B, LLVMBuildLShr(B, in, c64(e, k * bits), ""), e->v32i32, "");
		else
			x = LLVMBuildLShr(B, in, c32(e, k * bits), "");
		if (bits < 32)
			x = LLVMBuildAnd(B, x, c32(e, (1u << bits) - 1), "");
		jit_set(e, v->off[k], 4, x);
	}
	return true;
}

static LLVMTypeRef lanes_of(struct jit_emit *e, unsigned bits)
{
	return LLVMVectorType(LLVMIntTypeInContext(e->c, bits), PTX_LANES);
}

/* v's low bits of a type, made as wide as wanted. */
static V resize(struct jit_emit *e, V v, unsigned from_bits, bool sgn, unsigned to_bits)
{
	unsigned have = LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(v)));
	LLVMTypeRef narrow = lanes_of(e, from_bits), wide = lanes_of(e, to_bits);

	if (have > from_bits)
		v = LLVMBuildTrunc(B, v, narrow, "");
	if (to_bits < from_bits)
		return LLVMBuildTrunc(B, v, wide, "");
	if (to_bits == from_bits)
		return v;
	return sgn ? LLVMBuildSExt(B, v, wide, "") : LLVMBuildZExt(B, v, wide, "");
}

static bool cvt_int(struct jit_emit *e, V v)
{
	unsigned from = e->i->type2, to = e->i->type, n = ptx_type_bits[to],
		 slot = e->i->flags & F_D64 ? 64 : 32;

	v = resize(e, v, ptx_type_bits[from], ptx_is_signed(from), 64);
	v = resize(e, v, n, ptx_is_signed(to), slot);
	jit_set(e, e->i->o[0], slot / 8, v);
	return true;
}

static bool cvt_to_float(struct jit_emit *e, V v)
{
	bool sgn = ptx_is_signed(e->i->type2), wide = e->i->type == T_f64;
	unsigned bits = ptx_type_bits[e->i->type2];

	if (e->i->flags & (F_ROUND | F_SAT | F_FTZ))
		return false;
	v = resize(e, v, bits, sgn, bits < 32 ? 32 : bits);
	v = sgn ? LLVMBuildSIToFP(B, v, wide ? e->v32f64 : e->v32f32, "")
		: LLVMBuildUIToFP(B, v, wide ? e->v32f64 : e->v32f32, "");
	jit_set(e, e->i->o[0], wide ? 8 : 4, v);
	return true;
}

static V integral(struct jit_emit *e, V x)
{
	uint32_t f = e->i->flags;

	return call1(e,
		f & F_RZ   ? "llvm.trunc"
		: f & F_RM ? "llvm.floor"
		: f & F_RP ? "llvm.ceil"
			   : "llvm.rint",
		x);
}

/* f32 to 32-bit integers: NaN gives 0, what does not fit the nearest that does. */
static bool cvt_f32_to_int(struct jit_emit *e)
{
	bool sgn = e->i->type == T_s32;
	V x = integral(e, src_f32(e, 1)),
	  top = LLVMConstBitCast(c32(e, sgn ? 0x4f000000 : 0x4f800000), e->v32f32), low, r;

	low = LLVMConstBitCast(c32(e, sgn ? 0xcf000000 : 0), e->v32f32);
	if (sgn)
		r = LLVMBuildFPToSI(B, x, e->v32i32, "");
	else
		r = LLVMBuildFPToUI(B, x, e->v32i32, "");
	r = choose(e, fcmp(e, LLVMRealOGE, x, top), c32(e, sgn ? INT32_MAX : UINT32_MAX), r);
	r = choose(e, fcmp(e, LLVMRealOLE, x, low), c32(e, sgn ? 0x80000000 : 0), r);
	return set32(e, choose(e, fcmp(e, LLVMRealUNO, x, x), c32(e, 0), r));
}

bool jit_cvt(struct jit_emit *e)
{
	const struct ptx_insn *i = e->i;
	unsigned from = i->type2, to = i->type;
	bool fi = !ptx_is_float(from), ti = !ptx_is_float(to);
	V v = jit_src(e, i->o[1], i->flags & F_S64 ? 8 : 4);

	if (i->flags & (F_SAT | F_RELU | F_RNA) || (from == T_f32 && i->flags & F_S64) ||
		(to == T_f32 && i->flags & F_D64))
		return false;
	if (fi && ti)
		return cvt_int(e, v);
	if (fi && (to == T_f32 || to == T_f64))
		return cvt_to_float(e, v);
	if (from == T_f32 && (to == T_s32 || to == T_u32) && !(i->flags & (F_D64 | F_S64)))
		return cvt_f32_to_int(e);
	if (from == T_f32 && to == T_f64 && !(i->flags & (F_FTZ | F_INT | F_ROUND)))
		return set64(e, LLVMBuildFPExt(B, as_f32(e, v), e->v32f64, ""));
	if (from == T_f64 && to == T_f32 && !(i->flags & (F_FTZ | F_INT | F_ROUND)))
		return set32(e, LLVMBuildFPTrunc(B, as_f64(e, v), e->v32f32, ""));
	if (from == T_f32 && to == T_f32 && i->flags & F_INT)
		return set_f32(e, canon(e, integral(e, src_f32(e, 1))));
	return false;
}

bool jit_mov(struct jit_emit *e, unsigned bits)
{
	const struct ptx_insn *i = e->i;

	if (!strcmp(i->row->pattern, "dK"))
		return pack(e);
	if (!strcmp(i->row->pattern, "ka"))
		return unpack(e);
	if (strcmp(i->row->pattern, "da") || is_clock(e))
		return false;
	jit_set(e, i->o[0], bits == 64 ? 8 : 4, jit_src(e, i->o[1], bits == 64 ? 8 : 4));
	return true;
}

/* --- across the warp --- */
struct find_def {
	int32_t off;
	unsigned n; /* of definitions so far */
	bool here;
};

static void def_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct find_def *f = arg;

	if (def && off == f->off) {
		f->n++;
		f->here = true;
	}
}

/* A register that is written once, by a mov of a constant, is one: nvcc keeps a shuffle's numbers
 * so. Where no register can be read before it is written, that mov comes before every use. */
static int32_t behind_mov(const struct jit_emit *e, int32_t off)
{
	const struct ptx_function *fn = e->r->fn;
	const struct ptx_insn *mov = NULL;
	struct find_def f = {.off = off};

	if (fn->needs_zero || e->r->all_live)
		return NO_REG;
	for (uint32_t k = 0; k < fn->ninsns && f.n < 2; k++) {
		f.here = false;
		jit_operands(&fn->insns[k], def_visit, &f);
		if (f.here)
			mov = &fn->insns[k];
	}
	if (f.n != 1 || mov->pred != NO_REG || !mov->row || strcmp(mov->row->op, "mov") ||
		strcmp(mov->row->pattern, "da"))
		return NO_REG;
	return mov->o[1];
}

static bool is_const(const struct jit_emit *e, int32_t off, uint32_t *ret)
{
	const struct ptx_function *fn = e->r->fn;

	if (off >= 0)
		off = behind_mov(e, off);
	if (off == NO_REG)
		return false;
	for (unsigned k = 0; off < 0 && k < fn->nconsts; k++)
		if (fn->consts[k].off == off && fn->consts[k].width == 4) {
			memcpy(ret, fn->const_image + fn->const_bytes + off, 4);
			return true;
		}
	return false;
}

/* shfl.sync by all lanes, from lanes that are known: one permutation. The lanes are h_shfl's. */
bool jit_shuffle(struct jit_emit *e)
{
	uint32_t b, c, members, ok = 0;
	V lane[PTX_LANES];

	if (!e->r->full || e->i->pred != NO_REG || e->i->type == T_none ||
		strcmp(e->i->row->pattern, "qaxxx") || !is_const(e, e->i->o[2], &b) ||
		!is_const(e, e->i->o[3], &c) || !is_const(e, e->i->o[4], &members) ||
		members != PTX_FULL)
		return false;
	for (int l = 0; l < PTX_LANES; l++) {
		int bval = (int)(b & 31), cval = (int)(c & 31), seg = (int)(c >> 8 & 31),
		    max = (l & seg) | (cval & ~seg), j;
		bool up = jit_mod(e->i, "up");
		j = up			    ? l - bval
		    : jit_mod(e->i, "down") ? l + bval
		    : jit_mod(e->i, "bfly") ? l ^ bval
					    : (l & seg) | (bval & ~seg);
		if (up ? j >= max : j <= max)
			ok |= 1u << l;
		else
			j = l;
		lane[l] = LLVMConstInt(e->i32, (unsigned)j & 31, false);
	}
	V a = src32(e, 1);
	if (e->i->o[0] != NO_REG)
		set32(e, LLVMBuildShuffleVector(B, a, LLVMGetUndef(e->v32i32),
				 LLVMConstVector(lane, PTX_LANES), ""));
	if (e->i->flags & F_PAIR)
		jit_set_pred(e, e->i->o[5], LLVMConstInt(e->i32, ok, false));
	return true;
}
