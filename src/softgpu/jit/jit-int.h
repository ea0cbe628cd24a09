/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the compiler plugin. A region is chosen (jit-region.c), made into LLVM's intermediate code
 * (jit-emit.c, jit-alu.c, jit-mem.c) and compiled (jit-llvm.c). A PTX register is a vector of 32
 * lanes; a predicate is 32 bits.
 */
#ifndef SOFTGPU_JIT_INT_H
#define SOFTGPU_JIT_INT_H

#include "softgpu/jit/jit.h"

#include <llvm-c/Core.h>

/* --- which instructions (jit-region.c) --- */
struct jit_block {
	uint32_t first, end; /* instructions [first, end) */
	uint32_t nsucc, succ[2];
	bool in;	     /* the region's */
	bool meeting;	     /* some branch's lanes meet here */
	uint64_t *live;	     /* registers that are live at its beginning */
	uint64_t *set;	     /* the region's: may have been written when it begins */
	uint64_t *use, *def; /* read before written; written. After choosing: def: may be written */
};

struct jit_region {
	const struct ptx_function *fn;
	uint32_t entry; /* pc */
	bool full;
	unsigned max; /* instructions */
	uint32_t nblocks, *block_of;
	struct jit_block *blocks;
	uint32_t nregs, words;
	uint32_t *reg_at;  /* by frame offset / 4: number + 1 of the register there */
	int32_t *off;	   /* by number */
	uint8_t *width;	   /* 4 or 8 bytes a lane, 0: a predicate */
	uint64_t *touched; /* used or written in the region */
	uint32_t ninsns;   /* in the region */
	bool all_live;	   /* nothing is known about liveness */
	void *memory[64];
	unsigned nmemory;
};

/* False: cannot be compiled; why in buf. jit_region_free() in either case. */
bool jit_region_choose(struct jit_region *r, const struct ptx_function *fn, uint32_t pc, bool full,
	unsigned max, char *buf, size_t n);
void jit_region_free(struct jit_region *r);
typedef void jit_visit(void *arg, int32_t off, unsigned width, bool def);
/* Calls fn for every register operand; false when the instruction has operands of a kind that is
 * not known here. Constants and special registers (off < 0) too. */
bool jit_operands(const struct ptx_insn *i, jit_visit *fn, void *arg);
/* The instruction is one that the warp loop has to do, or whose operands are not known, or that may
 * have to wait; branches are not. */
bool jit_leaves(const struct jit_region *r, const struct ptx_insn *i);

#define JIT_HAS(set, k) ((set)[(k) / 64] >> ((k) % 64) & 1)
#define JIT_ADD(set, k) ((set)[(k) / 64] |= 1ull << ((k) % 64))
#define JIT_DEL(set, k) ((set)[(k) / 64] &= ~(1ull << ((k) % 64)))

/* --- emitting (jit-emit.c) --- */
#define JIT_NINFO 32
struct jit_info { /* what is known about an address register's lanes, in this block */
	int32_t off;
	uint32_t version;
	unsigned size;
	LLVMValueRef contig, unif, first[2];
};

struct jit_emit {
	const struct jit_region *r;
	const struct ptx_jit_host *host;
	LLVMContextRef c;
	LLVMModuleRef m;
	LLVMBuilderRef b;
	LLVMValueRef fn, warp, frame, mask, rpc, wk, shared, shared_size, local, lstride, params,
		launch, blk;
	LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, p8, v32i1, v32i8, v32i16, v32i32, v32i64,
		v32f32, v32f64, v16i32, handler_t, range_t, code_t;
	LLVMValueRef *slot; /* allocas, by register number */
	uint32_t *version;
	LLVMBasicBlockRef *bb; /* by block */
	LLVMMetadataRef unlikely;
	unsigned unlikely_kind;
	const struct ptx_insn *i; /* the one being emitted */
	LLVMValueRef m32;	  /* its lanes, i32; NULL: all 32 */
	LLVMValueRef mvec;	  /* the same as <32 x i1>; NULL: all */
	unsigned pending;	  /* instructions not counted yet */
	unsigned site;		  /* memory accesses so far */
	struct jit_info info[JIT_NINFO];
	unsigned ninfo;
};

/* The function of a region, in e->m; its name in name. */
void jit_emit_region(struct jit_emit *e, const char *name);
/* Operands of e->i. Sources: o[k] as <32 x iN>, or as floats. */
LLVMValueRef jit_src(struct jit_emit *e, int32_t off, unsigned width);
LLVMValueRef jit_src_pred(struct jit_emit *e, int32_t off);
/* Writes the active lanes; v may be of a float type. */
void jit_set(struct jit_emit *e, int32_t off, unsigned width, LLVMValueRef v);
void jit_set_pred(struct jit_emit *e, int32_t off, LLVMValueRef i32);
/* The interpreter's handler does e->i for the lanes of e->m32, which are not none. */
void jit_call_handler(struct jit_emit *e);
LLVMValueRef jit_splat(struct jit_emit *e, LLVMValueRef scalar, unsigned n);
LLVMValueRef jit_const(struct jit_emit *e, unsigned bits, uint64_t v); /* <32 x iN> */
LLVMValueRef jit_intrinsic(struct jit_emit *e, const char *name, LLVMTypeRef *types,
	unsigned ntypes, LLVMValueRef *args, unsigned nargs);
LLVMValueRef jit_load(struct jit_emit *e, LLVMTypeRef t, LLVMValueRef addr64, unsigned align);
void jit_store(struct jit_emit *e, LLVMValueRef v, LLVMValueRef addr64, unsigned align);
LLVMValueRef jit_field(struct jit_emit *e, LLVMTypeRef t, LLVMValueRef base64, size_t at);
LLVMBasicBlockRef jit_new_block(struct jit_emit *e, const char *name);
void jit_branch(struct jit_emit *e, LLVMValueRef cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no,
	bool rarely_no);
/* i->name has this modifier. */
bool jit_mod(const struct ptx_insn *i, const char *mod);

/* True: e->i has been emitted. False: nothing has, the handler has to do it. */
bool jit_emit_alu(struct jit_emit *e);
bool jit_emit_memory(struct jit_emit *e);

#endif
