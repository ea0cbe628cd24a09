/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching a launch from inside: every instruction, memory access, barrier and fence, as it
 * happens. A launch with an observer (struct ptx_launch) runs on one worker, by the interpreter, so
 * callbacks of a launch never run side by side; those of two launches may. A launch without one
 * pays one predictable branch per instruction and per access.
 *
 * An instruction that touches memory calls ptx_observe() with the checked pointers of its lanes
 * before the first byte is moved; all such instructions have to. One that orders memory calls
 * ptx_observe_sync().
 */
#ifndef SOFTGPU_PTX_OBSERVE_H
#define SOFTGPU_PTX_OBSERVE_H

#include "softgpu/machine/ptx-exec.h"

/* Bytes of one lane's access at most. */
#define PTX_OBSERVE_BYTES 32u

enum ptx_access_kind {
	PTX_READ,
	PTX_WRITE,
	PTX_ATOMIC /* read, changed and written in one step */
};

/* One instruction's access in one state space, by the lanes of mask. An instruction with generic
 * addresses in several spaces makes several. */
struct ptx_access {
	struct ptx_warp *warp; /* ->blk is its block, ->wk->l the launch */
	const struct ptx_insn *insn;
	enum ptx_access_kind kind;
	enum ptx_space space; /* SP_GLOBAL (constant memory too), SP_SHARED, SP_LOCAL, SP_PARAM */
	uint32_t mask;
	unsigned size; /* bytes of each lane */
	/* By lane. GLOBAL: the device address. SHARED: offset in the block's shared memory; LOCAL:
	 * in the lane's; PARAM: in the parameters. */
	uint64_t addr[PTX_LANES];
	const uint64_t
		*pointer; /* by lane: where the bytes are in this process, before the access */
	/* By lane: the bytes that a PTX_WRITE is about to write; NULL: not known before (and for
	 * reads and atomics). */
	const uint8_t (*value)[PTX_OBSERVE_BYTES];
};

enum ptx_sync_kind {
	PTX_SYNC_ARRIVE,    /* lanes arrived at barrier id of their block */
	PTX_SYNC_LEAVE,	    /* lanes that had waited at barrier id go on: all have arrived */
	PTX_SYNC_RESET,	    /* barrier id is done: the next arrival begins a new round */
	PTX_SYNC_WARP,	    /* bar.warp.sync: the lanes of mask (of several paths) have met */
	PTX_SYNC_FENCE,	    /* membar, fence: insn->order has scope and kind */
	PTX_SYNC_RELEASE,   /* lanes publish what they did through the object at id (an mbarrier's
			       arrive, a cluster barrier's) */
	PTX_SYNC_ACQUIRE,   /* lanes have seen that the object at id was completed */
	PTX_SYNC_GRID_WAIT, /* lanes have waited for the launch in front: griddepcontrol.wait */
	PTX_SYNC_GRID_TRIGGER, /* lanes let those behind begin: griddepcontrol.launch_dependents */
};
/* The heap as such an object: free() publishes, malloc() sees it, since memory is used again. */
#define PTX_SYNC_HEAP 1u
struct ptx_sync {
	struct ptx_warp *warp;
	const struct ptx_insn *insn; /* NULL: WARP, and LEAVE and RESET of a barrier that another
				      * thread's exit completed */
	enum ptx_sync_kind kind;
	uint32_t mask;
	uint64_t id; /* number of a barrier; address of an object */
};

enum ptx_step {
	PTX_STEP_ON,
	PTX_STEP_YIELD /* not yet: other warps first; comes again for the same instruction */
};

/* Every callback may be NULL. It may raise a fault (ptx_raise) in access and step. */
struct ptx_observer {
	void *arg;
	/* Before the instruction w->cur, at index pc of its function (w->frames[w->nframes -
	 * 1].fn), which the lanes of w->curmask execute: the active lanes (top entry's mask) but
	 * those that a guard holds back; it may be 0. Registers and memory are as they are before
	 * it. May block. */
	enum ptx_step (*step)(void *arg, struct ptx_warp *w, uint32_t pc);
	void (*access)(void *arg, const struct ptx_access *a);
	void (*sync)(void *arg, const struct ptx_sync *s);
	/* A block's warps are ready to begin; it has ended (not called for a block that a fault
	 * ended). */
	void (*block_start)(void *arg, struct ptx_block *b);
	void (*block_end)(void *arg, struct ptx_block *b);
	const struct ptx_observer *next; /* another one, asked after this */
	/* A lane of w is about to end the launch with fault f at instruction i; not called for
	 * PTX_CANCELLED. May block. */
	void (*fault)(void *arg, struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
		const struct ptx_fault *f);
};

/* The lanes of mask access size bytes each at pointer[lane], resolved and checked; the memory is
 * not touched yet. value: as in struct ptx_access, or NULL. */
void ptx_observed(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask,
	const uint64_t *pointer, unsigned size, enum ptx_access_kind kind,
	const uint8_t (*value)[PTX_OBSERVE_BYTES]);
void ptx_observed_sync(struct ptx_warp *w, const struct ptx_insn *i, enum ptx_sync_kind kind,
	uint32_t mask, uint64_t id);
enum ptx_step ptx_observed_step(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t pc);
/* The same for lanes that return in the middle of a branch: observers cannot put it off. */
void ptx_observed_return(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t pc);
void ptx_observed_fault(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane);
void ptx_observed_block(struct ptx_worker *wk, struct ptx_block *b, bool end);

/* Whether the slow path is needed: the launch is observed, or its schedule is random. */
static inline bool ptx_is_observed(const struct ptx_warp *w)
{
	return __builtin_expect(w->wk->watched, 0);
}

static inline void ptx_observe(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask,
	const uint64_t *pointer, unsigned size, enum ptx_access_kind kind)
{
	if (ptx_is_observed(w))
		ptx_observed(w, i, mask, pointer, size, kind, NULL);
}

/* One lane, n bytes at a pointer in this process: reads of printf and the like; n has no limit. */
static inline void ptx_observe_lane(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	const void *p, unsigned n, enum ptx_access_kind kind)
{
	if (ptx_is_observed(w)) {
		uint64_t pointer[PTX_LANES];

		pointer[lane] = (uint64_t)(uintptr_t)p;
		ptx_observed(w, i, 1u << lane, pointer, n, kind, NULL);
	}
}

static inline void ptx_observe_sync(struct ptx_warp *w, const struct ptx_insn *i,
	enum ptx_sync_kind kind, uint32_t mask, uint64_t id)
{
	if (ptx_is_observed(w))
		ptx_observed_sync(w, i, kind, mask, id);
}

/* n bytes (a power of two up to 32) at an address that is a multiple of n, in one access that no
 * other thread sees half of; 32 bytes are two accesses of 16, as lanes' elements are at most that
 * wide. Loads and stores of 16 aligned bytes are single on every processor with AVX (Intel SDM
 * volume 3A, 10.1.1; AMD64 APM volume 2, 7.3.2). */
static inline void ptx_whole_copy(void *dst, const void *src, unsigned n)
{
	typedef long long pair __attribute__((vector_size(16), may_alias));
	typedef uint64_t word __attribute__((may_alias));
	typedef uint32_t half __attribute__((may_alias));
	typedef uint16_t quarter __attribute__((may_alias));

	/* a lane's local memory need not be aligned; no other lane reads it */
	if (((uintptr_t)dst | (uintptr_t)src) & (n < 16 ? n - 1 : 15)) {
		memcpy(dst, src, n);
		return;
	}
	if (n == 1)
		*(volatile char *)dst = *(const volatile char *)src;
	else if (n == 2)
		*(volatile quarter *)dst = *(const volatile quarter *)src;
	else if (n == 4)
		*(volatile half *)dst = *(const volatile half *)src;
	else if (n == 8)
		*(volatile word *)dst = *(const volatile word *)src;
	else
		for (unsigned k = 0; k < n / 16; k++)
			((volatile pair *)dst)[k] = ((const volatile pair *)src)[k];
}

#endif
