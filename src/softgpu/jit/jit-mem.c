/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores. Two shapes are known, each half of the warp by itself: lanes side by side
 * (vector loads and stores) and lanes alike (one load, spread). Such an access is checked before it
 * is made: in one range that is known to live, and aligned. Everything else is the interpreter's
 * handler's, which knows every case and raises every fault. What is asked of the addresses depends
 * on the register alone, so LLVM takes it out of loops and shares it between accesses at other
 * displacements. Little code for each access: LLVM's time grows faster than its number.
 */
#include "softgpu/jit/jit-int.h"

#include <stddef.h>
#include <string.h>

typedef LLVMValueRef V;
#define B e->b

struct access {
	V reg; /* addresses without the displacement, <32 x i32> or <32 x i64> */
	int64_t disp;
	unsigned bytes; /* of a lane: size * vec */
	unsigned size, vec;
	bool store, wide; /* wide: 64-bit addresses */
	const struct ptx_vec *v;
	uint32_t slot;
	struct jit_info *info;
	LLVMBasicBlockRef slow, miss, join; /* miss: the slot's range is another */
	V base; /* added to addresses: shared memory's; NULL: in the slot's range */
};

static V k64(struct jit_emit *e, uint64_t v)
{
	return LLVMConstInt(e->i64, v, false);
}

static V add64(struct jit_emit *e, V x, uint64_t n)
{
	return n ? LLVMBuildAdd(B, x, k64(e, n), "") : x;
}

static V icmp(struct jit_emit *e, LLVMIntPredicate p, V x, V y)
{
	return LLVMBuildICmp(B, p, x, y, "");
}

static V both(struct jit_emit *e, V x, V y)
{
	return LLVMBuildAnd(B, x, y, "");
}

/* Lanes at, at + step, ... of a vector (or of two). */
static V pick(struct jit_emit *e, V v, V w, unsigned at, unsigned step, unsigned n)
{
	V index[4 * PTX_LANES];

	for (unsigned k = 0; k < n; k++)
		index[k] = LLVMConstInt(e->i32, at + k * step, false);
	return LLVMBuildShuffleVector(
		B, v, w ? w : LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(index, n), "");
}

static V half(struct jit_emit *e, V v, unsigned h)
{
	return pick(e, v, NULL, 16 * h, 1, 16);
}

static V lane(struct jit_emit *e, V v, unsigned l)
{
	return LLVMBuildExtractElement(B, v, LLVMConstInt(e->i32, l, false), "");
}

static V to64(struct jit_emit *e, V scalar)
{
	return LLVMTypeOf(scalar) == e->i64 ? scalar : LLVMBuildZExt(B, scalar, e->i64, "");
}

/* All bits of all lanes are zero. */
static V all_zero(struct jit_emit *e, V v)
{
	unsigned n = 16;

	v = LLVMBuildOr(B, half(e, v, 0), half(e, v, 1), "");
	if (LLVMGetElementType(LLVMTypeOf(v)) == e->i64) {
		v = LLVMBuildOr(B, pick(e, v, NULL, 0, 1, 8), pick(e, v, NULL, 8, 1, 8), "");
		n = 8;
	}
	v = icmp(e, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)));
	v = LLVMBuildBitCast(B, v, LLVMIntTypeInContext(e->c, n), "");
	return icmp(e, LLVMIntEQ, v, LLVMConstNull(LLVMTypeOf(v)));
}

/* 0, step, 2 step, ... counted anew after `period` lanes. */
static V ramp(struct jit_emit *e, bool wide, unsigned step, unsigned period)
{
	V l[PTX_LANES];

	for (unsigned k = 0; k < PTX_LANES; k++)
		l[k] = LLVMConstInt(wide ? e->i64 : e->i32, (uint64_t)(k % period) * step, false);
	return LLVMConstVector(l, PTX_LANES);
}

/* Each half's first lane, sixteen times. */
static V firsts(struct jit_emit *e, V v)
{
	V index[PTX_LANES];

	for (unsigned k = 0; k < PTX_LANES; k++)
		index[k] = LLVMConstInt(e->i32, k & 16, false);
	return LLVMBuildShuffleVector(
		B, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(index, PTX_LANES), "");
}

/* What all accesses through this register have in common, worked out once per block. */
static struct jit_info *info_of(struct jit_emit *e, const struct access *a, int32_t off)
{
	uint32_t version = off < 0 ? 0 : e->version[e->r->reg_at[off / 4] - 1];
	struct jit_info *n;
	V f, d;

	for (unsigned k = 0; k < e->ninfo; k++)
		if (e->info[k].off == off && e->info[k].version == version &&
			e->info[k].size == a->bytes)
			return &e->info[k];
	if (e->ninfo == JIT_NINFO)
		e->ninfo = 0;
	n = &e->info[e->ninfo++];
	*n = (struct jit_info){.off = off, .version = version, .size = a->bytes};
	n->first[0] = to64(e, lane(e, a->reg, 0));
	n->first[1] = to64(e, lane(e, a->reg, 16));
	f = firsts(e, a->reg);
	n->unif = all_zero(e, LLVMBuildXor(B, a->reg, f, ""));
	d = LLVMBuildXor(B, a->reg, LLVMBuildAdd(B, f, ramp(e, a->wide, a->bytes, 16), ""), "");
	n->contig = all_zero(e, d);
	return n;
}

/* --- checks --- */
/* [at, at + n) and [at2, at2 + n) lie within [0, size); n is small. */
static V within(struct jit_emit *e, V at, V at2, V n, V size)
{
	V ok = both(e, icmp(e, LLVMIntULT, at, size),
		icmp(e, LLVMIntUGE, LLVMBuildSub(B, size, at, ""), n));

	if (at2)
		ok = both(e, ok,
			both(e, icmp(e, LLVMIntULT, at2, size),
				icmp(e, LLVMIntUGE, LLVMBuildSub(B, size, at2, ""), n)));
	return ok;
}

static V is_aligned(struct jit_emit *e, const struct access *a, V x, V y)
{
	V bits = LLVMBuildOr(B, x, y, "");

	if (a->bytes == 1)
		return LLVMConstInt(e->i1, 1, false);
	return icmp(e, LLVMIntEQ, LLVMBuildAnd(B, bits, k64(e, a->bytes - 1), ""), k64(e, 0));
}

static V range_field(struct jit_emit *e, const struct access *a, size_t at)
{
	return jit_field(e, e->i64, e->wk,
		offsetof(struct ptx_worker, jit_range) + a->slot * sizeof(struct ptx_jit_range) +
			at);
}

/* The bytes [lo, lo + n) and [hi, hi + n) are allowed, and more holds: goes on in a new block if
 * so, else to the slow one. n: i64. */
static void check(struct jit_emit *e, const struct access *a, V lo, V hi, V n, V more)
{
	LLVMBasicBlockRef ok = jit_new_block(e, "ok");
	V size = e->shared_size;

	if (!a->base) {
		V start = range_field(e, a, offsetof(struct ptx_jit_range, start));
		size = range_field(e, a, offsetof(struct ptx_jit_range, len));
		lo = LLVMBuildSub(B, lo, start, "");
		hi = hi ? LLVMBuildSub(B, hi, start, "") : NULL;
	}
	jit_branch(e, both(e, within(e, lo, hi, n, size), more), ok, a->miss, true);
	LLVMPositionBuilderAtEnd(B, ok);
}

/* --- values --- */
/* What was loaded, <n x iSIZE>, into register k of the destination. */
static void put(struct jit_emit *e, const struct access *a, unsigned k, V v)
{
	unsigned slot = a->v->width[k] * 8;
	LLVMTypeRef t = slot == 64 ? e->v32i64 : e->v32i32;

	if (slot > a->size * 8)
		v = e->i->cls & 0x80 ? LLVMBuildSExt(B, v, t, "") : LLVMBuildZExt(B, v, t, "");
	jit_set(e, a->v->off[k], a->v->width[k], v);
}

static V value(struct jit_emit *e, const struct access *a, unsigned k)
{
	V v = jit_src(e, a->v->off[k], a->v->width[k]);

	if (a->v->width[k] > a->size)
		v = LLVMBuildTrunc(B, v,
			LLVMVectorType(LLVMIntTypeInContext(e->c, a->size * 8), PTX_LANES), "");
	return v;
}

static LLVMTypeRef elem(struct jit_emit *e, const struct access *a)
{
	return LLVMIntTypeInContext(e->c, a->size * 8);
}

static void load_contiguous(struct jit_emit *e, const struct access *a, V at0, V at1)
{
	LLVMTypeRef t = LLVMVectorType(elem(e, a), 16 * a->vec);
	V lo = jit_load(e, t, at0, a->bytes), hi = jit_load(e, t, at1, a->bytes);

	for (unsigned k = 0; k < a->vec; k++)
		if (a->v->off[k] != NO_REG)
			put(e, a, k, pick(e, lo, hi, k, a->vec, PTX_LANES));
}

static void load_alike(struct jit_emit *e, const struct access *a, V at0, V at1)
{
	for (unsigned k = 0; k < a->vec; k++) {
		V lo, hi;
		if (a->v->off[k] == NO_REG)
			continue;
		lo = jit_splat(e, jit_load(e, elem(e, a), add64(e, at0, k * a->size), a->size), 16);
		hi = jit_splat(e, jit_load(e, elem(e, a), add64(e, at1, k * a->size), a->size), 16);
		put(e, a, k, pick(e, lo, hi, 0, 1, PTX_LANES));
	}
}

/* n parts side by side, taken in turn: a0 b0 a1 b1 ... */
static V interleave(struct jit_emit *e, V *part, unsigned n, unsigned h)
{
	V index[4 * 16];

	if (n == 1)
		return half(e, part[0], h);
	if (n == 2) {
		for (unsigned k = 0; k < 32; k++)
			index[k] =
				LLVMConstInt(e->i32, 16 * h + k / 2 + (k % 2) * PTX_LANES, false);
		return LLVMBuildShuffleVector(B, part[0], part[1], LLVMConstVector(index, 32), "");
	}
	V low = pick(e, part[0], part[1], 0, 1, 64), high = pick(e, part[2], part[3], 0, 1, 64);
	for (unsigned k = 0; k < 64; k++)
		index[k] = LLVMConstInt(e->i32, 16 * h + k / 4 + (k % 4) * PTX_LANES, false);
	return LLVMBuildShuffleVector(B, low, high, LLVMConstVector(index, 64), "");
}

static void store_contiguous(struct jit_emit *e, const struct access *a, V at0, V at1)
{
	V part[4];

	for (unsigned k = 0; k < a->vec; k++)
		part[k] = value(e, a, k);
	jit_store(e, interleave(e, part, a->vec, 0), at0, a->bytes);
	jit_store(e, interleave(e, part, a->vec, 1), at1, a->bytes);
}

/* --- all lanes --- */
static V pointer_of(struct jit_emit *e, const struct access *a, V at)
{
	return a->base ? LLVMBuildAdd(B, a->base, at, "") : at;
}

static void full_access(struct jit_emit *e, const struct access *a)
{
	LLVMBasicBlockRef known = jit_new_block(e, "known"), contig, alike;
	V at0 = add64(e, a->info->first[0], (uint64_t)a->disp),
	  at1 = add64(e, a->info->first[1], (uint64_t)a->disp);
	V n = k64(e, 16 * a->bytes), is_known = a->info->contig, ok = is_aligned(e, a, at0, at1);

	if (!a->store) {
		is_known = LLVMBuildOr(B, a->info->contig, a->info->unif, "");
		n = LLVMBuildSelect(B, a->info->contig, n, k64(e, a->bytes), "");
	}
	jit_branch(e, is_known, known, a->slow, true);
	LLVMPositionBuilderAtEnd(B, known);
	check(e, a, at0, at1, n, ok);
	at0 = pointer_of(e, a, at0);
	at1 = pointer_of(e, a, at1);
	if (a->store) {
		store_contiguous(e, a, at0, at1);
		LLVMBuildBr(B, a->join);
		return;
	}
	contig = jit_new_block(e, "side");
	alike = jit_new_block(e, "alike");
	LLVMBuildCondBr(B, a->info->contig, contig, alike);
	LLVMPositionBuilderAtEnd(B, contig);
	load_contiguous(e, a, at0, at1);
	LLVMBuildBr(B, a->join);
	LLVMPositionBuilderAtEnd(B, alike);
	load_alike(e, a, at0, at1);
	LLVMBuildBr(B, a->join);
}

/* --- some lanes --- */
static void masked_contiguous(struct jit_emit *e, const struct access *a, V at0)
{
	LLVMTypeRef t = LLVMVectorType(elem(e, a), PTX_LANES),
		    types[2] = {t, LLVMPointerType(t, 0)};
	V p = LLVMBuildIntToPtr(B, pointer_of(e, a, at0), types[1], ""), args[4];

	if (a->store) {
		args[0] = value(e, a, 0);
		args[1] = p;
		args[2] = LLVMConstInt(e->i32, a->size, false);
		args[3] = e->mvec;
		jit_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
	} else {
		args[0] = p;
		args[1] = LLVMConstInt(e->i32, a->size, false);
		args[2] = e->mvec;
		args[3] = LLVMGetUndef(t);
		put(e, a, 0, jit_intrinsic(e, "llvm.masked.load", types, 2, args, 4));
	}
	LLVMBuildBr(B, a->join);
}

static void some_access(struct jit_emit *e, const struct access *a)
{
	LLVMTypeRef t = e->i32;
	V zero_is_poison = LLVMConstInt(e->i1, 1, false), args[2] = {e->m32, zero_is_poison}, first,
	  last, d, base, lo, hi;
	V splat = jit_splat(e, lane(e, a->reg, 0), PTX_LANES);
	LLVMBasicBlockRef contig = jit_new_block(e, "side");

	first = jit_intrinsic(e, "llvm.cttz", &t, 1, args, 2);
	last = LLVMBuildSub(B, LLVMConstInt(e->i32, 31, false),
		jit_intrinsic(e, "llvm.ctlz", &t, 1, args, 2), "");
	d = LLVMBuildXor(
		B, a->reg, LLVMBuildAdd(B, splat, ramp(e, a->wide, a->bytes, PTX_LANES), ""), "");
	d = LLVMBuildSelect(B, e->mvec, d, LLVMConstNull(LLVMTypeOf(d)), "");
	jit_branch(e, all_zero(e, d), contig, a->slow, true);
	LLVMPositionBuilderAtEnd(B, contig);
	/* in 64 bits what wrapped in 32 is out of range, as it must be */
	base = add64(e, to64(e, lane(e, a->reg, 0)), (uint64_t)a->disp);
	lo = LLVMBuildAdd(B, base, LLVMBuildMul(B, to64(e, first), k64(e, a->bytes), ""), "");
	hi = LLVMBuildAdd(B, base, LLVMBuildMul(B, to64(e, last), k64(e, a->bytes), ""), "");
	check(e, a, lo, hi, k64(e, a->bytes),
		both(e, is_aligned(e, a, base, base), icmp(e, LLVMIntULE, lo, hi)));
	masked_contiguous(e, a, base);
}

/* --- all of it --- */
static bool emit_param(struct jit_emit *e)
{
	const struct ptx_insn *i = e->i;
	bool w32 = i->h == e->host->param_32[0] || i->h == e->host->param_32[1];
	bool w64 = i->h == e->host->param_64[0] || i->h == e->host->param_64[1];

	if (!w32 && !w64)
		return false;
	jit_set(e, i->o[0], w64 ? 8 : 4,
		jit_splat(e, jit_field(e, w64 ? e->i64 : e->i32, e->params, (size_t)i->imm),
			PTX_LANES));
	return true;
}

static bool is_covered(const struct jit_emit *e, const struct ptx_insn *i)
{
	if (i->order || i->vec == 0 || i->vec == 3 || i->vec > 4 || i->size > 8 ||
		i->size * i->vec > 16)
		return false;
	if (!e->r->full && (i->vec > 1 || i->size < 4))
		return false;
	if (i->imm > 1 << 30 || i->imm < -(1 << 30))
		return false;
	return i->space == SP_SHARED || i->space == SP_GLOBAL || i->space == SP_GENERIC ||
	       i->space == SP_CONST;
}

/* The slot gets the range that the first lane's address is in, for the next time. */
static void refresh(struct jit_emit *e, const struct access *a)
{
	V args[3], fn, first;
	LLVMTypeRef t = e->i32;

	args[0] = e->m32 ? e->m32 : LLVMConstInt(e->i32, PTX_FULL, false);
	args[1] = LLVMConstInt(e->i1, 1, false);
	first = jit_intrinsic(e, "llvm.cttz", &t, 1, args, 2);
	args[0] = LLVMBuildIntToPtr(B, e->wk, e->p8, "");
	args[1] = LLVMConstInt(e->i32, a->slot, false);
	args[2] =
		add64(e, to64(e, LLVMBuildExtractElement(B, a->reg, first, "")), (uint64_t)a->disp);
	fn = LLVMConstIntToPtr(
		k64(e, (uint64_t)(uintptr_t)e->host->range), LLVMPointerType(e->range_t, 0));
	LLVMBuildCall2(B, e->range_t, fn, args, 3, "");
	LLVMBuildBr(B, a->slow);
}

/* Lanes whose guard is false do nothing; with some of them false, a region for full warps leaves it
 * to the handler. */
static void emit_guard(struct jit_emit *e, const struct access *a)
{
	const LLVMBasicBlockRef some = jit_new_block(e, "guarded"), go = jit_new_block(e, "go");

	LLVMBuildCondBr(
		B, icmp(e, LLVMIntNE, e->m32, LLVMConstInt(e->i32, 0, false)), some, a->join);
	LLVMPositionBuilderAtEnd(B, some);
	if (e->r->full) {
		jit_branch(e, icmp(e, LLVMIntEQ, e->m32, LLVMConstInt(e->i32, PTX_FULL, false)), go,
			a->slow, false);
		e->m32 = e->mvec = NULL;
	} else {
		LLVMBuildBr(B, go);
	}
	LLVMPositionBuilderAtEnd(B, go);
}

bool jit_emit_memory(struct jit_emit *e)
{
	const struct ptx_insn *i = e->i;
	bool load = !strcmp(i->row->op, "ld") || !strcmp(i->row->op, "ldu"),
	     store = !strcmp(i->row->op, "st");
	struct access a = {.disp = i->imm,
		.size = i->size,
		.vec = i->vec,
		.bytes = i->size * i->vec,
		.store = store,
		.wide = i->flags & F_A64,
		.v = i->u.vecs};
	V m32 = e->m32, mvec = e->mvec;
	int32_t off = i->o[load ? 1 : 0];

	if (!load && !store)
		return false;
	if (load && i->space == SP_PARAM)
		return emit_param(e);
	if (!is_covered(e, i))
		return false;
	a.slow = jit_new_block(e, "slow");
	a.join = jit_new_block(e, "done");
	a.base = i->space == SP_SHARED ? e->shared : NULL;
	a.miss = a.base ? a.slow : jit_new_block(e, "miss");
	a.slot = e->site++ % (PTX_JIT_RANGES / 2) + (store ? PTX_JIT_RANGES / 2 : 0);
	a.reg = jit_src(e, off, a.wide ? 8 : 4);
	if (e->r->full)
		a.info = info_of(e, &a, off);
	if (i->pred != NO_REG)
		emit_guard(e, &a);
	if (e->r->full)
		full_access(e, &a);
	else
		some_access(e, &a);
	e->m32 = m32;
	e->mvec = mvec;
	if (a.miss != a.slow) {
		LLVMPositionBuilderAtEnd(B, a.miss);
		refresh(e, &a);
	}
	LLVMPositionBuilderAtEnd(B, a.slow);
	jit_call_handler(e);
	LLVMBuildBr(B, a.join);
	LLVMPositionBuilderAtEnd(B, a.join);
	return true;
}
