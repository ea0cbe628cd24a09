/* SPDX-License-Identifier: Apache-2.0
 *
 * What instruction handlers and the warp loop share. One worker runs one block at a time; its warps
 * take turns. A fault leaves by longjmp to the worker's block runner, so handlers return nothing.
 */
#ifndef SOFTGPU_PTX_EXEC_H
#define SOFTGPU_PTX_EXEC_H

#include "base/patience.h"
#include "softgpu/memory/mem.h"
#include "softgpu/ptx/ptx-int.h"

#include <math.h>
#include <string.h>

struct ptx_ent { /* one entry of the divergence stack */
	uint32_t pc, rpc, mask;
	enum { ENT_RUN, ENT_BARRIER, ENT_WSYNC, ENT_CLUSTER, ENT_SYNC } state;
	uint32_t bar, want; /* ENT_BARRIER: which; ENT_WSYNC, ENT_SYNC: the lanes it waits for */
	const struct ptx_insn *insn; /* the bar.red that waits */
};

struct ptx_frame {
	const struct ptx_function *fn;
	uint32_t base;	/* its entries begin here */
	uint32_t lbase; /* of its local memory */
	uint32_t mask;	/* lanes that made the call */
	size_t regs;	/* where its registers begin in regmem */
	const struct ptx_call *call;
};

enum ptx_warp_state { WARP_RUN, WARP_WAIT, WARP_DONE };

struct ptx_warp {
	uint8_t *frame; /* zero point of the current frame */
	struct ptx_block *blk;
	struct ptx_worker *wk;
	uint32_t cc; /* carry of add.cc and its like, a bit per lane */
	uint32_t live, all, id;
	enum ptx_warp_state state;
	uint64_t count;		    /* instructions so far */
	const struct ptx_insn *cur; /* with an observer: the instruction about to run */
	uint32_t curmask;	    /* and its lanes */
	uint64_t returns; /* with an observer: branches to a return so far, which lanes took at once
			   */
	struct ptx_ent *ents;
	unsigned nents, capents;
	struct ptx_frame *frames;
	unsigned nframes, capframes;
	uint8_t *regmem;
	size_t regcap;
	uint8_t *local; /* lane l's begins at l * lstride */
	size_t lstride, localcap;
	bool wake;
	bool cold; /* started light: neither stack nor special registers are there */
	uint32_t cl_arrived,
		cl_done;	 /* lanes that wait for the cluster's barrier; that may pass it */
	struct ptx_path *parked; /* lanes that go on by themselves */
	unsigned nparked;
	size_t capparked;
	uint32_t spun;		 /* turns cut short by an observer */
	struct ptx_async *async; /* NULL until there is something */
	uint64_t inited;	 /* launch whose constants the frame holds */
	uint32_t waited; /* while watched: lanes behind a griddepcontrol.wait (ptx-depend.h) */
	uint32_t published, saw; /* lanes that executed a fence behind it; that read a flag of a
				    lane that had waited */
};

struct ptx_barrier {
	uint32_t arrived, need; /* threads; need 0: all that live */
	uint32_t red;
	enum ptx_bar_kind kind;
};

/* While watched: what a block has done about the launches in front and behind (ptx-depend.h). */
struct ptx_depend {
	bool waited,
		hasty; /* hasty: a thread let the launches behind begin without having waited */
	uint32_t bars; /* barriers that a thread has arrived at which had waited */
};

struct ptx_cluster {
	struct ptx_block **blocks; /* by rank */
	unsigned n;
	uint32_t arrived; /* threads, at its barrier */
};

struct ptx_block {
	uint32_t ctaid[3];
	uint64_t index;
	uint8_t *shared;
	size_t shared_size, shared_cap;
	struct ptx_warp *warps;
	unsigned nwarps, capwarps;
	uint32_t live;
	struct ptx_barrier bar[16];
	struct ptx_cluster *cluster, own; /* own: when it is alone */
	struct ptx_block *self;
	struct ptx_depend depend;
	uint32_t rank;	 /* in its cluster */
	uint32_t looked; /* the last look (ptx-look.h) that it was part of */
};

struct ptx_cached {
	uint64_t start, end;
	bool ro;
};
#define PTX_NCACHE 8
/* Ranges that compiled code has found its addresses in; the second half are those that may be
 * written. */
struct ptx_jit_range {
	uint64_t start, len;
};
#define PTX_JIT_RANGES 64

struct ptx_worker {
	struct ptx_cached cache[PTX_NCACHE];
	unsigned next_cache;
	uint32_t frees; /* mem_frees() when the ranges were found */
	struct ptx_jit_range jit_range[PTX_JIT_RANGES];
	bool jit;   /* compiled code may be used */
	bool light; /* a warp may run this compiled code before it has a stack: */
	uint32_t (*first[2])(struct ptx_warp *w, uint8_t *frame, uint32_t mask,
		uint32_t rpc); /* code for all lanes, for some; or NULL */
	const struct ptx_launch *l;
	struct ptx_run *run;
	struct ptx_look_run *look;
	bool told_undefined; /* this worker has reported a result that is not defined, in this
				launch */
	const struct ptx_observer *observer; /* of the launch; NULL: none */
	bool watched;			     /* has an observer, or a random schedule */
	uint64_t random, turn; /* ptx-schedule.h; turn: steps left before the warp gives way,
				  UINT64_MAX: the schedule is fixed */
	uint64_t slice;	       /* backward branches and calls left before the warp gives way */
	uint64_t slices;       /* used up, for launches that limit them */
	uint64_t launch_id;    /* never used twice */
	size_t stack_limit;
	uint64_t start_ns;
	struct patience patience; /* with a launch that has a time limit */
	jmp_buf out,
		resume; /* resume: out of an instruction that has to wait, back to the warp loop */
	struct ptx_fault fault;
	uint64_t index;	       /* of the block that runs */
	struct ptx_work *tied; /* asynchronous work that completes on mbarriers */
	unsigned ntied;
	size_t captied;
	bool gave_way; /* the slice was given up */
	unsigned ways;
	char *print;
	size_t nprint, capprint;
	struct ptx_worker *next;
	struct ptx_block blk;
};

typedef uint32_t __attribute__((may_alias)) u32a;
typedef uint64_t __attribute__((may_alias)) u64a;
typedef int32_t __attribute__((may_alias)) s32a;
typedef int64_t __attribute__((may_alias)) s64a;
typedef float __attribute__((may_alias)) f32a;
typedef double __attribute__((may_alias)) f64a;

/* The lanes of operand k. */
#define REG(T, k) ((T *)__builtin_assume_aligned(w->frame + i->o[k], 128))
#define REG_AT(T, off) ((T *)__builtin_assume_aligned(w->frame + (off), 128))
#define PRED(k) (*(u32a *)(w->frame + i->o[k]))
#ifdef __clang__
#define PTX_VECTORISE
#else
#define PTX_VECTORISE _Pragma("GCC ivdep")
#endif
/* BODY for each active lane l; the first loop is the one to vectorise. */
#define LANES(...)                                                                                 \
	do {                                                                                       \
		if (mask == PTX_FULL) {                                                            \
			PTX_VECTORISE for (unsigned l = 0; l < PTX_LANES; l++)                     \
			{                                                                          \
				__VA_ARGS__                                                        \
			}                                                                          \
		} else {                                                                           \
			for (uint32_t left_ = mask; left_; left_ &= left_ - 1) {                   \
				unsigned l = (unsigned)__builtin_ctz(left_);                       \
				__VA_ARGS__                                                        \
			}                                                                          \
		}                                                                                  \
	} while (0)
/* The same without a vector version. */
#define EACH_LANE(l)                                                                               \
	for (uint32_t left_ = mask, l; left_ && (l = (uint32_t)__builtin_ctz(left_), 1);           \
		left_ &= left_ - 1)

static inline void ptx_set_pred(uint32_t *p, uint32_t mask, uint32_t v)
{
	*p = (*p & ~mask) | (v & mask);
}

static inline uint32_t ptx_f2u(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline float ptx_u2f(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint64_t ptx_d2u(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

static inline double ptx_u2d(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

/* The one NaN that single-precision results have: "PTX ISA 9.0", 5.2.3 and 9.7.3. */
static inline float ptx_canon(float f)
{
	return f == f ? f : ptx_u2f(0x7fffffffu);
}

/* r, or the operand that is a NaN, made quiet; the last one wins. */
static inline double ptx_nan1(double r, double x)
{
	return x != x ? ptx_u2d(ptx_d2u(x) | 1ull << 51) : r;
}

static inline double ptx_nan2(double r, double x, double y)
{
	return ptx_nan1(ptx_nan1(r, x), y);
}

static inline double ptx_nan3(double r, double x, double y, double z)
{
	return ptx_nan1(ptx_nan2(r, x, y), z);
}

static inline float ptx_flush(float f)
{
	uint32_t u = ptx_f2u(f);

	return u & 0x7f800000u ? f : ptx_u2f(u & 0x80000000u);
}

/* The warp waits for another: it gives way at its next backward branch. */
static inline void ptx_give_way(struct ptx_warp *w)
{
	w->wk->slice = 0;
	w->wk->gave_way = true;
}

/* The most bytes that alloca has taken in the current frame by one of these lanes, a multiple of 16
 * (ptx-stack.c). */
uint32_t ptx_alloca_top(const struct ptx_warp *w, uint32_t mask);

/* --- the heap of kernels (ptx-heap.c) */
/* Whether a is in the heap; then *ret is the piece around it, or empty when a is in none. */
bool ptx_heap_find(struct ptx_heap *h, uint64_t a, struct ptx_cached *ret);
uint64_t ptx_heap_malloc(struct ptx_warp *w, uint64_t bytes);
void ptx_heap_free(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a);

/* Reports an undefined result to the user; the launch goes on. what: which result, and the value
 * that it got. Once for each worker and launch: check wk->told_undefined first. */
void ptx_tell_undefined(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, const char *what);
_Noreturn void ptx_raise(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	enum ptx_fault_code code, uint64_t addr, unsigned size, const char *what);
/* threadIdx of a lane. */
void ptx_thread_of(const struct ptx_warp *w, unsigned lane, unsigned ret[3]);
/* The file, and in *ret_line the line, that an instruction of fn comes from, by its .loc; lives as
 * long as the module. NULL: not known. */
const char *ptx_source_of(
	const struct ptx_function *fn, const struct ptx_insn *i, unsigned *ret_line);
uint64_t ptx_clock(const struct ptx_warp *w, unsigned sreg);
/* Of the others; in the newest frame. */
uint64_t ptx_special_value(const struct ptx_warp *w, const struct ptx_special *s, unsigned lane);
/* n bytes at a generic address of one lane; raises a fault. */
void *ptx_generic(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a,
	unsigned n, bool store);
/* Returns what printf() does on the device: how many arguments it took; -1 without a format. "CUDA
 * C++ Programming Guide", 10.34. */
int ptx_printf(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t fmt, uint64_t args);
/* The text of a NUL-ended string at a generic address; cut at n - 1 bytes. */
void ptx_string(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a, char *buf,
	size_t n);

/* Prototypes of every handler and selector of the table, in both instruction sets. A row without a
 * selector has NULL there, which cannot be declared. */
typedef const char *ptx_select(struct ptx_dec *d);
#pragma push_macro("NULL")
#undef NULL
#define NULL sel_none
#define V(h) h##_base
#define ROW(op, t, t2, must, may, pat, handler, arg, sel) ROW_(handler, sel)
#define ROW_(handler, sel)                                                                         \
	ptx_handler handler;                                                                       \
	ptx_select sel;
#define CTRL(op, t, t2, must, may, pat, arg, sel) ptx_select sel;
#include "softgpu/ptx/ptx-insns.def"
#undef V
#define V(h) h##_avx2
#define ROW(op, t, t2, must, may, pat, handler, arg, sel) ROW_(handler, sel)
#define CTRL(op, t, t2, must, may, pat, arg, sel)
#include "softgpu/ptx/ptx-insns.def"
#undef V
#undef ROW_
#pragma pop_macro("NULL")

/* clang-format off */
#define PTX_QUICK_CVTS(X)                                                                           \
	X(h_cvt_64_u32) X(h_cvt_64_s32) X(h_cvt_32_64) X(h_cvt_32_u16) X(h_cvt_32_s16) X(h_cvt_32_u8) \
	X(h_cvt_32_s8) X(h_cvt_f32_s32) X(h_cvt_f32_u32) X(h_cvt_f64_s32) X(h_cvt_f64_u32)          \
	X(h_cvt_f64_f32) X(h_cvt_f32_f64) X(h_cvt_s32_f32_rzi)
/* clang-format on */
#define X(h) ptx_handler h##_base, h##_avx2;
PTX_QUICK_CVTS(X)
X(h_ld_32)
X(h_ld_64)
X(h_ld_param_32)
X(h_ld_param_64)
X(h_st_32)
X(h_st_64)
#undef X
ptx_rmw ptx_add_f32, ptx_add_f32_ftz;
ptx_rmw ptx_add_f16, ptx_add_bf16, ptx_add_f16x2, ptx_add_bf16x2, ptx_min_f16, ptx_min_bf16,
	ptx_min_f16x2, ptx_min_bf16x2, ptx_max_f16, ptx_max_bf16, ptx_max_f16x2, ptx_max_bf16x2;
/* The operation among mods on this type, or NULL. *order: what memory holds in the end depends on
 * the order. */
ptx_rmw *ptx_rmw_of(ptx_mods mods, unsigned type, bool *order);
/* The live range that holds an address, or NULL; remembers the last few. */
const struct ptx_cached *ptx_find_range(struct ptx_worker *wk, uint64_t a);

/* The state space of the memory operand, into d->i->space; why not, or NULL. */
const char *ptx_mem_space(struct ptx_dec *d);

#endif
