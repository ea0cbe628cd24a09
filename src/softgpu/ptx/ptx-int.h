/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the PTX machine share: types, modifiers, decoded instructions, functions,
 * modules. A register is an array of 32 lanes in its function's frame, 4 or 8 bytes a lane (a
 * predicate is 32 bits). Constants and special registers are laid out as lanes too, below the
 * frame's zero point, so that every source operand is just a byte offset.
 */
#ifndef SOFTGPU_PTX_INT_H
#define SOFTGPU_PTX_INT_H

#include "softgpu/ptx/ptx.h"

#include <setjmp.h>

#define PTX_LANES 32
#define PTX_FULL 0xffffffffu

/* X(name, bits) */
/* clang-format off */
#define PTX_TYPES(X)                                                                                \
	X(u8, 8) X(u16, 16) X(u32, 32) X(u64, 64) X(s8, 8) X(s16, 16) X(s32, 32) X(s64, 64)         \
	X(b8, 8) X(b16, 16) X(b32, 32) X(b64, 64) X(b128, 128) X(f16, 16) X(f16x2, 32)              \
	X(bf16, 16) X(bf16x2, 32) X(f32, 32) X(f64, 64) X(pred, 1)                                   \
	/* of operands only, never of registers: */                                                 \
	X(tf32, 32) X(e4m3, 8) X(e5m2, 8) X(e4m3x2, 16) X(e5m2x2, 16) X(u4, 4) X(s4, 4) X(b1, 1) \
	X(u16x2, 32) X(s16x2, 32)
/* clang-format on */

enum ptx_type {
	T_none,
#define X(n, b) T_##n,
	PTX_TYPES(X)
#undef X
		T_COUNT
};
_Static_assert(T_COUNT <= 32, "types fit in the sets of a row");
extern const uint8_t ptx_type_bits[T_COUNT];
extern const char *const ptx_type_name[T_COUNT];
#define TB(t) (1u << T_##t)
#define TB_REST 1u /* as a row's second types: more types follow, which its select looks at */
static inline unsigned ptx_type_bytes(unsigned t)
{
	return (ptx_type_bits[t] + 7u) / 8;
}

static inline bool ptx_is_signed(unsigned t)
{
	return t >= T_s8 && t <= T_s64;
}

static inline bool ptx_is_float(unsigned t)
{
	return t >= T_f16 && t <= T_f64;
}

/* Every modifier that is not a type and that some row takes. Any other makes the instruction "not
 * implemented". */
/* clang-format off */
#define PTX_MODS(X)                                                                                 \
	X(rn) X(rz) X(rm) X(rp) X(rna) X(rni) X(rzi) X(rmi) X(rpi) X(ftz) X(sat) X(satfinite)       \
	X(approx) X(full) X(lo) X(hi) X(wide) X(cc) X(uni) X(sync) X(aligned) X(relu) X(xorsign)    \
	X(abs) X(NaN) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(ls) X(hs) X(equ) X(neu) X(ltu) X(leu)   \
	X(gtu) X(geu) X(num) X(nan) X(and) X(or) X(xor) X(popc) X(add) X(min) X(max) X(exch)        \
	X(cas) X(inc) X(dec) X(global) X(shared) X(local) X(const) X(param) X(ca) X(cg) X(cs)       \
	X(lu) X(cv) X(wb) X(wt) X(nc) X(volatile) X(relaxed) X(acquire) X(release) X(acq_rel)       \
	X(weak) X(cta) X(gpu) X(sys) X(cluster) X(sc) X(v2) X(v4) X(up) X(down) X(bfly) X(idx)      \
	X(all) X(any) X(ballot) X(l) X(r) X(wrap) X(clamp) X(f4e) X(b4e) X(rc8) X(ecl) X(ecr)       \
	X(rc16) X(to) X(red) X(arrive) X(warp) X(shiftamt) X(finite) X(infinite) X(number)          \
	X(notanumber) X(normal) X(subnormal) X(gl) X(noftz) X(hint) X(shr7) X(shr15) X(po) X(v8) X(mmio) X(cache_hint)        \
	X(shcluster) X(txbytes) X(multicast)
/* clang-format on */

enum ptx_mod {
#define X(n) M_##n,
	PTX_MODS(X)
#undef X
		M_COUNT
};
_Static_assert(M_COUNT <= 128, "modifiers fit in 128 bits");
typedef unsigned __int128 ptx_mods;
#define MB(m) ((ptx_mods)1 << M_##m)

struct ptx_warp;
struct ptx_insn;
struct ptx_dec;
typedef void ptx_handler(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask);
/* One bit per lane where the comparison holds; a and b are lane arrays. */
typedef uint32_t ptx_cmp(const void *a, const void *b);
/* One lane of an atomic: returns the old value. */
typedef uint64_t ptx_rmw(void *p, uint64_t b, uint64_t c);
/* One lane of a function of f32 or f64, without rounding of its own. */
typedef double ptx_math(double x);

#define NO_REG INT32_MIN
#define NO_PC UINT32_MAX

enum {			     /* ptx_insn.flags */
	F_NEG_PRED = 1 << 0, /* @!p */
	F_CTRL = 1 << 1,     /* the warp loop handles it: ptx_insn.arg is an enum ptx_ctrl */
	F_FTZ = 1 << 2,
	F_SAT = 1 << 3,
	F_RZ = 1 << 4,
	F_RM = 1 << 5,
	F_RP = 1 << 6,
	F_INT = 1 << 7, /* cvt: to an integral value, .rni and its like */
	F_RNA = 1 << 8,
	F_NEG_SRC = 1 << 9, /* !p as a source */
	F_CC = 1 << 10,	    /* writes the carry */
	F_CIN = 1 << 11,    /* reads the carry */
	F_A64 = 1 << 12,    /* the address register is 64 bits wide */
	F_D64 = 1 << 13,    /* cvt: the destination register is 64 bits wide */
	F_S64 = 1 << 14,
	F_USED = 1 << 16, /* an atomic whose result is wanted */
	F_NAN = 1 << 17,
	F_HI = 1 << 18,
	F_PAIR = 1 << 19, /* p|q */
	F_RELU = 1 << 20,
	F_SATFINITE = 1 << 21,
};
#define F_ROUND (F_RZ | F_RM | F_RP | F_RNA)

/* What an instruction says about the order of memory accesses: a scope (0: none) and bits. "PTX
 * ISA 9.0", 8. */
enum ptx_order {
	ORDER_CTA = 1,
	ORDER_CLUSTER = 2,
	ORDER_GPU = 3,
	ORDER_SYS = 4,
	ORDER_SCOPE = 7,
	ORDER_STRONG = 8,   /* relaxed or stronger; volatile */
	ORDER_ACQUIRE = 16, /* ld.acquire, atom.acquire, .acq_rel; fences */
	ORDER_RELEASE = 32,
	ORDER_FENCE = 64,
};

enum ptx_ctrl {
	C_BRA,
	C_BRX,
	C_CALL,
	C_RET,
	C_EXIT,
	C_BAR,
	C_WSYNC,
	C_TRAP,
	C_REFUSED,
	C_CLUSTER_WAIT
};
enum ptx_bar_kind { BAR_SYNC, BAR_ARRIVE, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };
enum ptx_builtin { PB_NONE, PB_VPRINTF, PB_ASSERTFAIL, PB_MALLOC, PB_FREE, PB_REFUSED };

/* The parameters of one call: byte offsets into the local memory of the caller's and the callee's
 * frames. */
struct ptx_xfer {
	uint32_t caller, callee, bytes;
};
struct ptx_call {
	struct ptx_function *fn; /* NULL: indirect */
	unsigned nargs, nrets;
	struct ptx_xfer *args, *rets;
	int32_t target; /* register with the address, indirect */
};

struct ptx_vec {	/* registers of a vector operand */
	int32_t off[8]; /* NO_REG: the sink _ */
	uint8_t width[8];
};

/* A memory operand of an instruction that has several of them. */
struct ptx_at {
	int32_t off;
	bool used;
	bool wide;     /* the register has 64 bits */
	uint8_t space; /* enum ptx_space */
	int64_t disp;
	ptx_rmw *rmw;	    /* the first one's, of reductions */
	struct ptx_vec vec; /* the first one's, of st.async: what is stored */
};
#define PTX_MAX_ATS 3
/* Fragments of the matrix instructions, in the order of the operands. */
struct ptx_frag {
	uint8_t n, width; /* registers, bytes of a lane */
	int32_t off[8];
	uint16_t step; /* from an element of a register to the next, in a matrix that lies row by
			  row */
	const uint16_t *at; /* by lane and register: where the first one is */
};
struct ptx_mma {
	uint8_t nfrag, m, n;
	uint16_t k;
	uint8_t type[4]; /* as written; an mma's are d, a, b, c */
	uint8_t matrix;	 /* wmma: 'a', 'b', 'c' or 'd'; mma: 0 */
	bool acol, bcol; /* stored by columns */
	struct ptx_frag f[4];
};

/* An atomic on a vector. */
struct ptx_vecatom {
	struct ptx_vec d, s;
	ptx_rmw *rmw;
};

/* A texture instruction: the data registers (first, so that ptx_insn.u.vecs is them), the texture,
 * coordinates and what follows. */
struct ptx_tex {
	struct ptx_vec data;
	int32_t object;	  /* register of 64 bits */
	int32_t coord[4]; /* as they are written */
	uint8_t ncoord;
	uint8_t geom, level, bound, component, query, op;
	int32_t regs[5]; /* all that is read, for liveness */
	uint8_t nregs;
};

struct ptx_video; /* ptx-video.c's */

struct ptx_table {
	unsigned n;
	uint32_t *pc;
};

struct ptx_insn {
	ptx_handler *h;
	int32_t o[6]; /* operands in the order they are written: byte offsets into the frame */
	int32_t pred; /* NO_REG: always */
	uint32_t flags;
	uint32_t line; /* of the PTX text */
	int64_t imm;   /* memory displacement, branch target, immediate table, ... */
	uint32_t arg;  /* the handler's */
	uint32_t rpc;  /* branches: where the lanes meet again */
	uint8_t type, type2, size, vec, space, cls;
	uint8_t order; /* enum ptx_order */
	union {
		ptx_cmp *cmp;
		ptx_rmw *rmw;
		ptx_math *math;
		struct ptx_call *call;
		struct ptx_vec *vecs;
		struct ptx_vecatom *vecatom;
		struct ptx_at *ats; /* PTX_MAX_ATS */
		struct ptx_mma *mma;
		struct ptx_video *video;
		struct ptx_tex *tex;
		struct ptx_table *table;
		const char *text;
	} u;
	const char *name;	   /* "ld.global.u32" */
	const struct ptx_row *row; /* NULL: calls and refused ones */
};

/* One row of ptx-insns.def: one form of an instruction. */
struct ptx_row {
	const char *op;
	uint32_t types, types2; /* sets of enum ptx_type; 0: has none */
	ptx_mods must, may;
	const char *pattern; /* ptx-operand.c says what the letters mean */
	ptx_handler *h;
	uint32_t arg;
	const char *(*select)(struct ptx_dec *d); /* finishes decoding; returns why not, or NULL */
};
extern const struct ptx_row ptx_rows_base[], ptx_rows_avx2[];
extern const unsigned ptx_nrows;

/* Special registers. Those before SR_VOLATILE stay as they are while a warp lives. X(name, PTX
 * name, bits) */
/* clang-format off */
#define PTX_SREGS(X)                                                                                \
	X(tid_x, "%tid.x", 32) X(tid_y, "%tid.y", 32) X(tid_z, "%tid.z", 32)                        \
	X(ntid_x, "%ntid.x", 32) X(ntid_y, "%ntid.y", 32) X(ntid_z, "%ntid.z", 32)                  \
	X(ctaid_x, "%ctaid.x", 32) X(ctaid_y, "%ctaid.y", 32) X(ctaid_z, "%ctaid.z", 32)            \
	X(nctaid_x, "%nctaid.x", 32) X(nctaid_y, "%nctaid.y", 32) X(nctaid_z, "%nctaid.z", 32)      \
	X(laneid, "%laneid", 32) X(warpid, "%warpid", 32) X(nwarpid, "%nwarpid", 32)                \
	X(smid, "%smid", 32) X(nsmid, "%nsmid", 32) X(gridid, "%gridid", 64)                        \
	X(lanemask_eq, "%lanemask_eq", 32) X(lanemask_le, "%lanemask_le", 32)                       \
	X(lanemask_lt, "%lanemask_lt", 32) X(lanemask_ge, "%lanemask_ge", 32)                       \
	X(lanemask_gt, "%lanemask_gt", 32) X(dynamic_smem_size, "%dynamic_smem_size", 32)           \
	X(total_smem_size, "%total_smem_size", 32) X(aggr_smem_size, "%aggr_smem_size", 32)         \
	X(envreg1, "%envreg1", 32) X(envreg2, "%envreg2", 32)                                       \
	X(clusterid_x, "%clusterid.x", 32) X(clusterid_y, "%clusterid.y", 32) X(clusterid_z, "%clusterid.z", 32) \
	X(nclusterid_x, "%nclusterid.x", 32) X(nclusterid_y, "%nclusterid.y", 32) X(nclusterid_z, "%nclusterid.z", 32) \
	X(cluster_ctaid_x, "%cluster_ctaid.x", 32) X(cluster_ctaid_y, "%cluster_ctaid.y", 32)       \
	X(cluster_ctaid_z, "%cluster_ctaid.z", 32) X(cluster_nctaid_x, "%cluster_nctaid.x", 32)     \
	X(cluster_nctaid_y, "%cluster_nctaid.y", 32) X(cluster_nctaid_z, "%cluster_nctaid.z", 32)   \
	X(cluster_ctarank, "%cluster_ctarank", 32) X(cluster_nctarank, "%cluster_nctarank", 32)     \
	X(is_explicit_cluster, "%is_explicit_cluster", 1) X(zero, "%envreg0", 32)                   \
	X(unknown, "", 0) X(WARP_SZ, "WARP_SZ", 32) X(dyn_shared, "", 64) X(local_sym, "", 64)                        \
	X(VOLATILE, "", 0) X(clock, "%clock", 32) X(clock_hi, "%clock_hi", 32)                      \
	X(clock64, "%clock64", 64) X(globaltimer, "%globaltimer", 64)                               \
	X(globaltimer_lo, "%globaltimer_lo", 32) X(globaltimer_hi, "%globaltimer_hi", 32)
/* clang-format on */
enum ptx_sreg {
#define X(n, s, b) SR_##n,
	PTX_SREGS(X)
#undef X
		SR_COUNT
};
struct ptx_sreg_row {
	const char *name;
	uint8_t bits; /* 0: none that PTX names */
};
extern const struct ptx_sreg_row ptx_sregs[SR_COUNT]; /* ptx-operand.c */
int ptx_sreg_find(const char *name, size_t n);	      /* enum ptx_sreg; -1: none */

enum ptx_reloc { RL_NONE, RL_VAR, RL_FUNC };
struct ptx_const { /* a splatted constant of the frame */
	int32_t off;
	uint8_t width; /* bytes per lane; 0: a predicate */
	uint8_t reloc; /* enum ptx_reloc */
	uint64_t value;
	void *sym;
};

struct ptx_special { /* filled when a frame is entered */
	int32_t off;
	uint8_t sreg, width;
	uint64_t add; /* local_sym, dyn_shared: plus this */
};

struct ptx_formal { /* a parameter or result of a function */
	size_t size, align;
	uint32_t off; /* in the frame's local memory (.func), in the parameter block (.entry) */
};

struct ptx_proto {
	unsigned nparams, nrets;
	struct ptx_formal *params, *rets;
};

/* Names of the PTX text: for the microscope (micro-*.c), never for running a launch. */
struct ptx_regname {
	const char *name; /* "%r" with its number, or "%SPL" */
	uint32_t number;  /* UINT32_MAX: the name is whole */
	uint32_t pc;	  /* where it is first used: an inner scope may have the same name again */
	int32_t off;
	uint8_t type;
};
struct ptx_loc { /* .loc: instructions from pc on come from this line */
	uint32_t pc, file, line;
};
struct ptx_file { /* .file */
	uint32_t number;
	const char *name;
};

struct ptx_function {
	struct ptx_module *m;
	struct ptx_jit_entry *jit; /* compiled code by pc; NULL until it is needed */
	const char *name;	   /* mangled */
	struct ptx_proto sig;
	bool is_entry, has_body;
	unsigned index;
	int builtin; /* enum ptx_builtin */
	struct ptx_insn *insns;
	uint32_t ninsns, cap;
	uint32_t const_bytes, reg_bytes; /* below and above the frame's zero point */
	struct ptx_const *consts;
	unsigned nconsts, capconsts;
	struct ptx_special *specials;
	unsigned nspecials, capspecials;
	uint8_t *const_image; /* const_bytes; filled by ptx_link() */
	size_t local_bytes;   /* of this frame */
	size_t stack_bytes;   /* of this and the deepest callees; recursive: of this */
	size_t shared_bytes, param_bytes;
	bool ordered, recursive, has_indirect, needs_zero, reg_params;
	size_t module_shared; /* a kernel's: bytes of .shared variables outside of its body,
				 ptx-shared.c */
	unsigned visited;     /* ptx-shared.c's */
	unsigned regs;
	unsigned max_threads, req[3], cluster[3];
	bool explicit_cluster;
	int32_t alloca_reg; /* 32 bits a lane: bytes taken by alloca behind the frame's local
			       memory; NO_REG: never used */
	struct ptx_param *params;
	struct ptx_function *alias; /* .alias: the function that this is another name of, or NULL */
	struct ptx_function **callees;
	unsigned ncallees, capcallees;
	uint8_t mark;
	struct ptx_regname *names;
	unsigned nnames, capnames;
	struct ptx_loc *locs;
	unsigned nlocs, caplocs;
	struct ptx_variable **vars; /* of its body, and a .func's parameters: .local and .shared; an
				       .entry's parameters */
	unsigned nvars, capvars;
};

struct ptx_init { /* one initialiser: bytes or an address at an offset */
	size_t off;
	uint8_t size;
	uint8_t reloc;
	bool generic;
	uint64_t value;
	void *sym;
};
enum ptx_space {
	SP_GENERIC,
	SP_GLOBAL,
	SP_SHARED,
	SP_LOCAL,
	SP_CONST,
	SP_PARAM,
	SP_SHCLUSTER /* any block's of the cluster */
};

struct ptx_variable {
	const char *name;
	size_t size, align;
	uint8_t space; /* enum ptx_space */
	bool is_extern, visible, dynamic, in_kernel;
	bool open;	 /* declared x[] without initial values */
	unsigned number; /* ptx-shared.c's */
	uint64_t addr;	 /* bound address; offset for shared, local and parameters */
	struct ptx_init *inits;
	size_t ninits, capinits;
};

struct ptx_module {
	unsigned version, target;
	uint64_t id; /* never used twice */
	struct ptx_function **funcs;
	unsigned nfuncs, capfuncs;
	struct ptx_function **kernels;
	unsigned nkernels, capkernels;
	struct ptx_variable **pub; /* .global and .const */
	unsigned npub, cappub;
	size_t shared_bytes;	      /* .shared variables that are not in a kernel's body */
	struct ptx_variable **shared; /* those */
	unsigned nshared, capshared;
	struct ptx_file *files;
	unsigned nfiles, capfiles;
	/* everything allocated while loading */
	void **blocks;
	size_t nblocks, capblocks, total, limit;
	jmp_buf *nomem;
};

/* Module-owned memory, zeroed, 16-byte aligned. Longjmps to m->nomem when there is none or the
 * module is absurdly large. */
void *ptx_alloc(struct ptx_module *m, size_t n);
/* Room for one more element of size elem; *cap is updated. */
void *ptx_grow(struct ptx_module *m, void *p, unsigned n, unsigned *cap, size_t elem);

/* Generic addresses of the windows, outside what a process can map. Offsets are 32 bits. */
#define PTX_WIN_SHARED 0x4000000100000000ull
#define PTX_WIN_LOCAL 0x4000000200000000ull
#define PTX_WIN_PARAM 0x4000000300000000ull
#define PTX_WIN_CODE 0x4000000400000000ull /* functions, by index */
/* In the window of shared memory: above these bits, one more than the rank of the block in its
 * cluster; 0: one's own. */
#define PTX_RANK_SHIFT 24
#define PTX_WIN(a) ((a)&0xffffffff00000000ull)

#define PTX_FRAME_LIMIT (4u << 20) /* bytes of registers per warp and function */
/* bytes of local memory per thread when functions are recursive */
#define PTX_STACK_LIMIT (64u << 10)
#define PTX_LOCAL_LIMIT (512u << 10)
#define PTX_DEPTH_LIMIT 4096

/* Whether the value lies within its variable. */
bool ptx_init_fits(const struct ptx_variable *v, const struct ptx_init *i);
/* Calls fn for every register and constant that the instruction reads or writes, its guard first.
 * width: bytes of a lane, 0: as the instruction says. */
typedef void ptx_visit(void *arg, int32_t off, unsigned width, bool def);
void ptx_visit_operands(const struct ptx_insn *i, ptx_visit *fn, void *arg);
void ptx_cfg(struct ptx_function *fn); /* meeting points of branches, liveness */

#endif
