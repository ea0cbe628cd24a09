/* SPDX-License-Identifier: Apache-2.0
 *
 * A region as LLVM's intermediate code. Registers are variables that LLVM makes into values; they
 * are loaded from the frame where the region begins and stored where it ends, if they are live
 * there. What is not known here is done by the interpreter's own handler, called from the compiled
 * code with its registers in the frame: that is how every instruction works from the start, and how
 * every fault is the interpreter's.
 */
#include "softgpu/jit/jit-int.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- small things --- */
LLVMBasicBlockRef jit_new_block(struct jit_emit *e, const char *name)
{
	return LLVMAppendBasicBlockInContext(e->c, e->fn, name);
}

void jit_branch(struct jit_emit *e, LLVMValueRef cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no,
	bool rarely_no)
{
	LLVMValueRef br = LLVMBuildCondBr(e->b, cond, yes, no);

	if (rarely_no)
		LLVMSetMetadata(br, e->unlikely_kind, LLVMMetadataAsValue(e->c, e->unlikely));
}

LLVMValueRef jit_splat(struct jit_emit *e, LLVMValueRef scalar, unsigned n)
{
	LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(scalar), n);
	LLVMValueRef v = LLVMBuildInsertElement(
		e->b, LLVMGetUndef(t), scalar, LLVMConstInt(e->i32, 0, false), "");

	return LLVMBuildShuffleVector(
		e->b, v, LLVMGetUndef(t), LLVMConstNull(LLVMVectorType(e->i32, n)), "");
}

LLVMValueRef jit_const(struct jit_emit *e, unsigned bits, uint64_t v)
{
	LLVMValueRef lane[PTX_LANES],
		one = LLVMConstInt(LLVMIntTypeInContext(e->c, bits), v, false);

	for (unsigned l = 0; l < PTX_LANES; l++)
		lane[l] = one;
	return LLVMConstVector(lane, PTX_LANES);
}

LLVMValueRef jit_intrinsic(struct jit_emit *e, const char *name, LLVMTypeRef *types,
	unsigned ntypes, LLVMValueRef *args, unsigned nargs)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->m, id, types, ntypes);

	return LLVMBuildCall2(
		e->b, LLVMIntrinsicGetType(e->c, id, types, ntypes), f, args, nargs, "");
}

static LLVMValueRef pointer(struct jit_emit *e, LLVMTypeRef t, LLVMValueRef addr64)
{
	return LLVMBuildIntToPtr(e->b, addr64, LLVMPointerType(t, 0), "");
}

LLVMValueRef jit_load(struct jit_emit *e, LLVMTypeRef t, LLVMValueRef addr64, unsigned align)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, t, pointer(e, t, addr64), "");

	LLVMSetAlignment(v, align);
	return v;
}

void jit_store(struct jit_emit *e, LLVMValueRef v, LLVMValueRef addr64, unsigned align)
{
	LLVMValueRef s = LLVMBuildStore(e->b, v, pointer(e, LLVMTypeOf(v), addr64));

	LLVMSetAlignment(s, align);
}

LLVMValueRef jit_field(struct jit_emit *e, LLVMTypeRef t, LLVMValueRef base64, size_t at)
{
	return jit_load(e, t, LLVMBuildAdd(e->b, base64, LLVMConstInt(e->i64, at, false), ""), 4);
}

bool jit_mod(const struct ptx_insn *i, const char *mod)
{
	size_t n = strlen(mod);

	for (const char *s = strchr(i->name, '.'); s; s = strchr(s + 1, '.'))
		if (!strncmp(s + 1, mod, n) && (!s[1 + n] || s[1 + n] == '.'))
			return true;
	return false;
}

static LLVMTypeRef slot_type(struct jit_emit *e, unsigned width)
{
	return width == 8 ? e->v32i64 : width == 4 ? e->v32i32 : e->i32;
}

/* --- registers --- */
static uint32_t number_of(const struct jit_emit *e, int32_t off)
{
	return e->r->reg_at[off / 4] - 1;
}

static LLVMValueRef frame_at(struct jit_emit *e, int32_t off)
{
	return LLVMBuildAdd(e->b, e->frame, LLVMConstInt(e->i64, (uint64_t)(int64_t)off, true), "");
}

static LLVMValueRef load_slot(struct jit_emit *e, int32_t off, unsigned width)
{
	return jit_load(e, slot_type(e, width), frame_at(e, off), width ? 128 : 4);
}

static LLVMValueRef lane_consts(struct jit_emit *e, unsigned width, unsigned sreg)
{
	LLVMValueRef lane[PTX_LANES];

	for (unsigned l = 0; l < PTX_LANES; l++) {
		uint32_t v = l;
		switch (sreg) {
		case SR_lanemask_eq:
			v = 1u << l;
			break;
		case SR_lanemask_le:
			v = (2u << l) - 1;
			break;
		case SR_lanemask_lt:
			v = (1u << l) - 1;
			break;
		case SR_lanemask_ge:
			v = ~((1u << l) - 1);
			break;
		case SR_lanemask_gt:
			v = ~((2u << l) - 1);
			break;
		default:
			break;
		}
		lane[l] = LLVMConstInt(width == 8 ? e->i64 : e->i32, v, false);
	}
	return LLVMConstVector(lane, PTX_LANES);
}

/* Those that depend on the lane or that are not known here are read from the frame. */
static LLVMValueRef special(struct jit_emit *e, const struct ptx_special *s)
{
	LLVMTypeRef t = s->width == 8 ? e->i64 : e->i32;

	switch (s->sreg) {
	case SR_laneid:
	case SR_lanemask_eq:
	case SR_lanemask_le:
	case SR_lanemask_lt:
	case SR_lanemask_ge:
	case SR_lanemask_gt:
		return lane_consts(e, s->width, s->sreg);
	case SR_ntid_x:
	case SR_ntid_y:
	case SR_ntid_z:
	case SR_nctaid_x:
	case SR_nctaid_y:
	case SR_nctaid_z:
	case SR_warpid:
	case SR_nwarpid:
		return jit_splat(e, jit_load(e, t, frame_at(e, s->off), 4), PTX_LANES);
	case SR_ctaid_x:
	case SR_ctaid_y:
	case SR_ctaid_z: {
		LLVMValueRef v = jit_field(e, e->i32, e->blk,
			offsetof(struct ptx_block, ctaid) + 4 * (size_t)(s->sreg - SR_ctaid_x));
		return jit_splat(
			e, s->width == 8 ? LLVMBuildZExt(e->b, v, e->i64, "") : v, PTX_LANES);
	}
	default:
		return load_slot(e, s->off, s->width);
	}
}

static LLVMValueRef below_zero(struct jit_emit *e, int32_t off, unsigned width)
{
	const struct ptx_function *fn = e->r->fn;
	uint64_t v = 0;

	for (unsigned k = 0; k < fn->nconsts; k++)
		if (fn->consts[k].off == off && fn->consts[k].width == width) {
			memcpy(&v, fn->const_image + fn->const_bytes + off, width ? width : 4);
			return width ? jit_const(e, width * 8, v) : LLVMConstInt(e->i32, v, false);
		}
	for (unsigned k = 0; k < fn->nspecials; k++)
		if (fn->specials[k].off == off && fn->specials[k].width == width)
			return special(e, &fn->specials[k]);
	return load_slot(e, off, width);
}

LLVMValueRef jit_src(struct jit_emit *e, int32_t off, unsigned width)
{
	if (off < 0)
		return below_zero(e, off, width);
	return LLVMBuildLoad2(e->b, slot_type(e, width), e->slot[number_of(e, off)], "");
}

LLVMValueRef jit_src_pred(struct jit_emit *e, int32_t off)
{
	return jit_src(e, off, 0);
}

void jit_set(struct jit_emit *e, int32_t off, unsigned width, LLVMValueRef v)
{
	uint32_t k;

	if (off == NO_REG)
		return;
	k = number_of(e, off);
	v = LLVMBuildBitCast(e->b, v, slot_type(e, width), "");
	if (e->mvec)
		v = LLVMBuildSelect(e->b, e->mvec, v, jit_src(e, off, width), "");
	LLVMBuildStore(e->b, v, e->slot[k]);
	e->version[k]++;
}

void jit_set_pred(struct jit_emit *e, int32_t off, LLVMValueRef v)
{
	uint32_t k;

	if (off == NO_REG)
		return;
	k = number_of(e, off);
	if (e->m32)
		v = LLVMBuildOr(e->b,
			LLVMBuildAnd(
				e->b, jit_src_pred(e, off), LLVMBuildNot(e->b, e->m32, ""), ""),
			LLVMBuildAnd(e->b, v, e->m32, ""), "");
	LLVMBuildStore(e->b, v, e->slot[k]);
	e->version[k]++;
}

static void to_frame(struct jit_emit *e, uint32_t k)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, slot_type(e, e->r->width[k]), e->slot[k], "");

	jit_store(e, v, frame_at(e, e->r->off[k]), e->r->width[k] ? 128 : 4);
}

/* --- counting --- */
static void count(struct jit_emit *e, int64_t n)
{
	LLVMValueRef at;

	if (!n)
		return;
	at = LLVMBuildAdd(
		e->b, e->warp, LLVMConstInt(e->i64, offsetof(struct ptx_warp, count), false), "");
	jit_store(e,
		LLVMBuildAdd(e->b, jit_load(e, e->i64, at, 8),
			LLVMConstInt(e->i64, (uint64_t)n, true), ""),
		at, 8);
}

static void count_pending(struct jit_emit *e)
{
	count(e, e->pending);
	e->pending = 0;
}

/* --- calling the interpreter --- */
static void spill_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct jit_emit *e = arg;

	if (off >= 0 && !(def && !e->m32)) /* all lanes of a destination will be written */
		to_frame(e, number_of(e, off));
}

static void reload_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct jit_emit *e = arg;

	if (off < 0 || !def)
		return;
	LLVMBuildStore(e->b, load_slot(e, off, width), e->slot[number_of(e, off)]);
	e->version[number_of(e, off)]++;
}

/* The count is right before a handler is called; afterwards whatever it has made of it counts. */
void jit_call_handler(struct jit_emit *e)
{
	LLVMValueRef args[3], fn;

	jit_operands(e->i, spill_visit, e);
	count(e, e->pending);
	fn = LLVMConstIntToPtr(LLVMConstInt(e->i64, (uint64_t)(uintptr_t)e->i->h, false),
		LLVMPointerType(e->handler_t, 0));
	args[0] = LLVMBuildIntToPtr(e->b, e->warp, e->p8, "");
	args[1] = LLVMConstIntToPtr(LLVMConstInt(e->i64, (uint64_t)(uintptr_t)e->i, false), e->p8);
	args[2] = e->m32 ? e->m32 : LLVMConstInt(e->i32, PTX_FULL, false);
	LLVMBuildCall2(e->b, e->handler_t, fn, args, 3, "");
	count(e, -(int64_t)e->pending);
	jit_operands(e->i, reload_visit, e);
}

static void by_handler(struct jit_emit *e)
{
	LLVMBasicBlockRef yes, no;

	if (e->i->pred == NO_REG) {
		jit_call_handler(e);
		return;
	}
	yes = jit_new_block(e, "some");
	no = jit_new_block(e, "none");
	LLVMBuildCondBr(e->b,
		LLVMBuildICmp(e->b, LLVMIntNE, e->m32, LLVMConstInt(e->i32, 0, false), ""), yes,
		no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	jit_call_handler(e);
	LLVMBuildBr(e->b, no);
	LLVMPositionBuilderAtEnd(e->b, no);
}

/* --- where it ends --- */
struct leave {
	struct jit_emit *e;
	uint64_t *live;
};

static void live_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct leave *x = arg;

	if (off >= 0 && (!def || x->e->r->all_live))
		JIT_ADD(x->live, number_of(x->e, off));
}

/* Stores what has been written on the way (set, more) and is live, and returns pc. */
static void leave(struct jit_emit *e, const uint64_t *live, const uint64_t *set,
	const uint64_t *more, uint32_t pc)
{
	for (uint32_t k = 0; k < e->r->nregs; k++)
		if (JIT_HAS(live, k) && (JIT_HAS(set, k) || (more && JIT_HAS(more, k))))
			to_frame(e, k);
	LLVMBuildRet(e->b, LLVMConstInt(e->i32, pc, false));
}

/* Before the last instruction of a block. */
static void leave_before_last(struct jit_emit *e, const struct jit_block *b)
{
	const struct ptx_insn *last = &e->r->fn->insns[b->end - 1];
	uint64_t *live = calloc(e->r->words, 8);
	struct leave x = {e, live};

	if (!live)
		abort();
	for (unsigned s = 0; s < b->nsucc; s++)
		for (uint32_t w = 0; w < e->r->words; w++)
			live[w] |= e->r->blocks[b->succ[s]].live[w];
	jit_operands(last, live_visit, &x);
	if (e->r->all_live)
		memset(live, 0xff, e->r->words * 8);
	leave(e, live, b->set, b->def, b->end - 1);
	free(live);
}

/* The way to a block: itself, or the region's end. */
static LLVMBasicBlockRef way_to(struct jit_emit *e, const struct jit_block *b, uint32_t to)
{
	const struct jit_block *t = &e->r->blocks[to];
	LLVMBasicBlockRef at, here;

	if (t->in)
		return e->bb[to];
	here = LLVMGetInsertBlock(e->b);
	at = jit_new_block(e, "out");
	LLVMPositionBuilderAtEnd(e->b, at);
	leave(e, t->live, b->set, b->def, t->first | PTX_JIT_AGAIN);
	LLVMPositionBuilderAtEnd(e->b, here);
	return at;
}

/* A taken branch, which was counted already: backward ones use up the slice. */
static LLVMBasicBlockRef taken(struct jit_emit *e, const struct jit_block *b, uint32_t pc,
	uint32_t target, LLVMBasicBlockRef out)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), at, go;
	LLVMValueRef slice, where;

	if (target > pc)
		return way_to(e, b, e->r->block_of[target]);
	at = jit_new_block(e, "back");
	go = jit_new_block(e, "again");
	LLVMPositionBuilderAtEnd(e->b, at);
	where = LLVMBuildAdd(
		e->b, e->wk, LLVMConstInt(e->i64, offsetof(struct ptx_worker, slice), false), "");
	slice = jit_load(e, e->i64, where, 8);
	jit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, slice, LLVMConstInt(e->i64, 0, false), ""), go,
		out, true);
	LLVMPositionBuilderAtEnd(e->b, go);
	jit_store(e, LLVMBuildSub(e->b, slice, LLVMConstInt(e->i64, 1, false), ""), where, 8);
	LLVMBuildBr(e->b, way_to(e, b, e->r->block_of[target]));
	LLVMPositionBuilderAtEnd(e->b, here);
	return at;
}

/* --- instructions --- */
static void set_mask(struct jit_emit *e, const struct ptx_insn *i)
{
	LLVMValueRef p;

	e->i = i;
	e->m32 = e->r->full ? NULL : e->mask;
	if (i->pred != NO_REG) {
		p = jit_src_pred(e, i->pred);
		if (i->flags & F_NEG_PRED)
			p = LLVMBuildNot(e->b, p, "");
		e->m32 = e->m32 ? LLVMBuildAnd(e->b, p, e->mask, "") : p;
	}
	e->mvec = e->m32 && !(i->flags & F_CTRL) ? LLVMBuildBitCast(e->b, e->m32, e->v32i1, "")
						 : NULL;
}

/* Emits a block's last instruction, a control instruction. It was counted already; a path that
 * stops before it takes that back. */
static void emit_control(struct jit_emit *e, const struct jit_block *b, const struct ptx_insn *i)
{
	uint32_t pc = b->end - 1;
	LLVMBasicBlockRef out = jit_new_block(e, "stay"), more, next = NULL;
	LLVMValueRef zero = LLVMConstInt(e->i32, 0, false);

	set_mask(e, i);
	e->pending++;
	count_pending(e);
	if (i->pred != NO_REG) /* the next instruction, when no lane does this one */
		next = way_to(e, b, e->r->block_of[b->end]);
	if (jit_leaves(e->r, i)) {
		if (i->pred == NO_REG || !(i->flags & F_CTRL))
			LLVMBuildBr(e->b, out);
		else
			LLVMBuildCondBr(
				e->b, LLVMBuildICmp(e->b, LLVMIntEQ, e->m32, zero, ""), next, out);
	} else if (i->pred == NO_REG) {
		LLVMBuildBr(e->b, taken(e, b, pc, (uint32_t)i->imm, out));
	} else {
		LLVMBasicBlockRef some = jit_new_block(e, "some");
		LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, e->m32, zero, ""), next, some);
		LLVMPositionBuilderAtEnd(e->b, some);
		more = taken(e, b, pc, (uint32_t)i->imm, out);
		jit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, e->m32, e->mask, ""), more, out, true);
	}
	LLVMPositionBuilderAtEnd(e->b, out);
	count(e, -1);
	leave_before_last(e, b);
}

static void emit_block(struct jit_emit *e, uint32_t n)
{
	const struct jit_block *b = &e->r->blocks[n];
	const struct ptx_insn *insns = e->r->fn->insns;

	LLVMPositionBuilderAtEnd(e->b, e->bb[n]);
	e->pending = 0;
	e->ninfo = 0;
	if (b->meeting && b->first != e->r->entry) {
		LLVMBasicBlockRef on = jit_new_block(e, "on"), out = jit_new_block(e, "met");
		jit_branch(e,
			LLVMBuildICmp(
				e->b, LLVMIntNE, e->rpc, LLVMConstInt(e->i32, b->first, false), ""),
			on, out, false);
		LLVMPositionBuilderAtEnd(e->b, out);
		leave(e, b->live, b->set, NULL, b->first);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	for (uint32_t pc = b->first; pc < b->end; pc++) {
		const struct ptx_insn *i = &insns[pc];
		if (i->flags & F_CTRL || jit_leaves(e->r, i)) {
			emit_control(e, b, i);
			return;
		}
		set_mask(e, i);
		e->pending++;
		if (!jit_emit_alu(e) && !jit_emit_memory(e))
			by_handler(e);
	}
	count_pending(e);
	LLVMBuildBr(e->b, way_to(e, b, n + 1));
}

/* --- the function --- */
static void set_types(struct jit_emit *e)
{
	LLVMTypeRef args[4];

	e->i1 = LLVMInt1TypeInContext(e->c);
	e->i8 = LLVMInt8TypeInContext(e->c);
	e->i16 = LLVMInt16TypeInContext(e->c);
	e->i32 = LLVMInt32TypeInContext(e->c);
	e->i64 = LLVMInt64TypeInContext(e->c);
	e->f32 = LLVMFloatTypeInContext(e->c);
	e->f64 = LLVMDoubleTypeInContext(e->c);
	e->p8 = LLVMPointerType(e->i8, 0);
	e->v32i1 = LLVMVectorType(e->i1, PTX_LANES);
	e->v32i8 = LLVMVectorType(e->i8, PTX_LANES);
	e->v32i16 = LLVMVectorType(e->i16, PTX_LANES);
	e->v32i32 = LLVMVectorType(e->i32, PTX_LANES);
	e->v32i64 = LLVMVectorType(e->i64, PTX_LANES);
	e->v32f32 = LLVMVectorType(e->f32, PTX_LANES);
	e->v32f64 = LLVMVectorType(e->f64, PTX_LANES);
	e->v16i32 = LLVMVectorType(e->i32, 16);
	args[0] = args[1] = e->p8;
	args[2] = args[3] = e->i32;
	e->handler_t = LLVMFunctionType(LLVMVoidTypeInContext(e->c), args, 3, false);
	e->code_t = LLVMFunctionType(e->i32, args, 4, false);
	args[1] = e->i32;
	args[2] = e->i64;
	e->range_t = LLVMFunctionType(e->i8, args, 3, false);
}

static void attribute(struct jit_emit *e, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(e->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(
			e->c, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

static void emit_prologue(struct jit_emit *e)
{
	e->warp = LLVMBuildPtrToInt(e->b, LLVMGetParam(e->fn, 0), e->i64, "warp");
	e->frame = LLVMBuildPtrToInt(e->b, LLVMGetParam(e->fn, 1), e->i64, "frame");
	e->mask = e->r->full ? LLVMConstInt(e->i32, PTX_FULL, false) : LLVMGetParam(e->fn, 2);
	e->rpc = LLVMGetParam(e->fn, 3);
	e->wk = jit_field(e, e->i64, e->warp, offsetof(struct ptx_warp, wk));
	e->blk = jit_field(e, e->i64, e->warp, offsetof(struct ptx_warp, blk));
	e->local = jit_field(e, e->i64, e->warp, offsetof(struct ptx_warp, local));
	e->lstride = jit_field(e, e->i64, e->warp, offsetof(struct ptx_warp, lstride));
	e->shared = jit_field(e, e->i64, e->blk, offsetof(struct ptx_block, shared));
	e->shared_size = jit_field(e, e->i64, e->blk, offsetof(struct ptx_block, shared_size));
	e->launch = jit_field(e, e->i64, e->wk, offsetof(struct ptx_worker, l));
	e->params = jit_field(e, e->i64, e->launch, offsetof(struct ptx_launch, params));
	for (uint32_t k = 0; k < e->r->nregs; k++) {
		LLVMTypeRef t = slot_type(e, e->r->width[k]);
		if (!JIT_HAS(e->r->touched, k))
			continue;
		e->slot[k] = LLVMBuildAlloca(e->b, t, "");
		LLVMBuildStore(e->b, load_slot(e, e->r->off[k], e->r->width[k]), e->slot[k]);
	}
}

void jit_emit_region(struct jit_emit *e, const char *name)
{
	const struct jit_region *r = e->r;
	LLVMValueRef weights[2];
	LLVMMetadataRef md[3];
	LLVMBasicBlockRef start;

	set_types(e);
	e->unlikely_kind = LLVMGetMDKindIDInContext(e->c, "prof", 4);
	weights[0] = LLVMConstInt(e->i32, 2000, false);
	weights[1] = LLVMConstInt(e->i32, 1, false);
	md[0] = LLVMMDStringInContext2(e->c, "branch_weights", 14);
	md[1] = LLVMValueAsMetadata(weights[0]);
	md[2] = LLVMValueAsMetadata(weights[1]);
	e->unlikely = LLVMMDNodeInContext2(e->c, md, 3);
	e->slot = calloc(r->nregs + 1, sizeof(*e->slot));
	e->version = calloc(r->nregs + 1, sizeof(*e->version));
	e->bb = calloc(r->nblocks, sizeof(*e->bb));
	if (!e->slot || !e->version || !e->bb)
		abort();
	e->fn = LLVMAddFunction(e->m, name, e->code_t);
	attribute(e, "prefer-vector-width", "512");
	attribute(e, "min-legal-vector-width", "512");
	start = jit_new_block(e, "start");
	for (uint32_t k = 0; k < r->nblocks; k++)
		if (r->blocks[k].in)
			e->bb[k] = jit_new_block(e, "b");
	LLVMPositionBuilderAtEnd(e->b, start);
	emit_prologue(e);
	LLVMBuildBr(e->b, e->bb[r->block_of[r->entry]]);
	for (uint32_t k = 0; k < r->nblocks; k++)
		if (r->blocks[k].in)
			emit_block(e, k);
	free(e->slot);
	free(e->version);
	free(e->bb);
}
