/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor's state: a wave's registers, a workgroup with its LDS and scratch, a worker that
 * runs workgroups, decoded instructions. Private to the room.
 */
#ifndef SOFTAMD_AMD_MACHINE_H
#define SOFTAMD_AMD_MACHINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gpucode/gfx-decode.h"
#include "softamd/machine/amd-observe.h"
#include "softamd/machine/amd-run.h"

#define AMD_LANES 64
/* Scratch lies at this address, in each wave the same; no process has memory there. A wave's lanes
 * are interleaved dword by dword, as the hardware does: lane l's byte o is at
 * (o / 4 * 64 + l) * 4 + o % 4. */
#define AMD_SCRATCH_VA 0x800000000000ull
#define AMD_EXTENTS 8
#define AMD_RESIDENT_MAX 1024 /* workgroups of one worker that have begun and not ended */
/* Raised by a workgroup that ends because another one has a fault: never reported. */
#define AMD_FAULT_STOPPED ((enum amd_fault_kind)100)

struct amd_board;
struct amd_wave;
struct amd_op;
struct amd_lanes;
typedef void (*amd_wave_fn)(struct amd_wave *w, const struct amd_op *o);
typedef void (*amd_lanes_fn)(struct amd_lanes *x);

/* What executes a row. Exactly one of wave and lanes is set, or the row is refused. */
struct amd_handler {
	amd_wave_fn wave; /* all of the instruction */
	amd_lanes_fn
		lanes; /* sources to result for 64 lanes; modifiers and EXEC are done around it */
	char from,
		to;  /* types for modifiers: 'h', 'f', 'd'; 'i': none. of sources, of the result */
	bool clamps; /* an integer instruction that does clamp by itself */
	uint8_t approximate; /* enum amd_approximate + 1 */
	bool flushes;	     /* denormals are zero whatever the mode says (v_mad_f32) */
	bool keeps;	     /* a result of 16 bits; the register's other half stays */
};
const struct amd_handler *amd_handler(unsigned id);

/* An instruction, decoded for execution. */
struct amd_op {
	struct gfx_insn i;
	const struct gfx_row *row;
	const struct amd_handler *h; /* NULL: unknown word, or refused */
	amd_wave_fn fn;		     /* NULL: why says what is refused */
	uint64_t pc;
	bool plain; /* lanes: no modifiers, SDWA or DPP */
	bool there; /* decoded */
	const char *why;
	uint32_t word[2];
};

/* Operands of 64 lanes. A pair of registers is 128 words: the low ones, then the high ones. */
struct amd_lanes {
	struct amd_wave *w;
	const struct amd_op *o;
	const uint32_t *a, *b, *c; /* sources, modified; 64 words for each register */
	uint32_t *d;		   /* room for the result: not a register */
	uint64_t exec, carry_in;
	uint64_t mask; /* result of comparisons and of carries, for all lanes */
};

enum amd_wave_state { AMD_RUNS, AMD_AT_BARRIER, AMD_ENDED };

struct amd_wave {
	uint32_t v[256][AMD_LANES];
	uint32_t acc[256][AMD_LANES];
	uint32_t s[128]; /* by operand number: VCC, M0 and EXEC are there, too */
	uint64_t pc;
	uint32_t mode;
	bool scc;
	bool indexing;	/* vector registers' numbers grow by M0: s_set_gpr_idx_on */
	bool turn_over; /* leave the loop: barrier, end, sleep */
	bool slept;
	enum amd_wave_state state;
	uint32_t index; /* in the workgroup */
	uint64_t steps;
	struct amd_group *group;
	uint8_t *scratch;
	uint32_t lane_mask[AMD_LANES]; /* all ones for lanes of mask_of */
	uint64_t mask_of;
	uint32_t temp[4][2 * AMD_LANES];
	struct amd_board *board; /* of loads that are not waited for; NULL: not looked at */
};

struct amd_group {
	struct amd_worker *worker;
	const struct amd_observer *observer; /* may be NULL */
	uint32_t id[3];
	uint32_t nwaves, items, room; /* room: waves that there is memory for */
	struct amd_wave *waves;
	uint8_t *lds;
	uint8_t *scratch;
	uint64_t steps, grace; /* grace: executed since a workgroup behind it has a fault */
	uint64_t number;       /* in the grid */
	bool running;
};

#define AMD_PAGE_WORDS 1024
struct amd_code_page {
	struct amd_code_page *next;
	uint64_t base;
	struct amd_op ops[AMD_PAGE_WORDS];
};
#define AMD_CODE_BUCKETS 64

/* What a dispatch's workers share. */
struct amd_launch {
	const struct amd_dispatch *d;
	unsigned target;
	uint64_t entry;
	uint32_t rsrc1, rsrc2, rsrc3;
	uint16_t properties;
	uint32_t lds_bytes, private_bytes, args_bytes;
	uint32_t vgprs, accs; /* registers of a wave that begin as 0 */
	uint32_t groups[3];
	uint64_t ngroups;
	uint32_t grid[3], size[3]; /* work-items of the grid, of a workgroup */
	bool in_order;
	uint64_t stride,
		shift;	      /* of d->order: the k-th to begin is k * stride + shift, of ngroups */
	uint64_t next_group;  /* atomic */
	bool stop;	      /* atomic: a worker has a fault */
	uint64_t first_fault; /* atomic: number of its workgroup */
	struct amd_fault fault;
	uint64_t approximate, instructions; /* atomic */
};

/* Whether a workgroup is not to go on, since one before it has a fault. */
static inline bool amd_is_stopped(const struct amd_launch *l, uint64_t number)
{
	return __atomic_load_n(&l->stop, __ATOMIC_ACQUIRE) &&
	       number > __atomic_load_n(&l->first_fault, __ATOMIC_RELAXED);
}

struct amd_worker {
	struct amd_launch *l;
	struct amd_extent extents[AMD_EXTENTS];
	unsigned nextents;
	uint64_t changes;
	struct amd_code_page *pages[AMD_CODE_BUCKETS];
	struct amd_code_page *last_page;
	uint64_t approximate;
	uint64_t clock;
	jmp_buf out;
	struct amd_fault fault;
	uint64_t random; /* the schedule by seed is here */
	struct amd_wave *current;
	const struct amd_op *op; /* that current executes */
	uint64_t at;		 /* the instruction that runs */
	bool atomic;		 /* it reads, changes and writes */
	struct amd_group *spare; /* one that has ended: its memory serves the next */
};

/* --- faults (amd-fault.c): end the workgroup's worker --- */
_Noreturn void amd_raise(struct amd_worker *wk, enum amd_fault_kind kind, const struct amd_wave *w,
	int lane, const char *format, ...) __attribute__((format(printf, 5, 6)));
_Noreturn void amd_bad_address(
	struct amd_wave *w, unsigned lane, uint64_t address, unsigned size, bool write);
/* The instruction is not supported as it is here. */
_Noreturn void amd_refuse(struct amd_wave *w, const struct amd_op *o, const char *why);

/* --- memory (amd-memory.c) --- */
/* size bytes at an address of the process, for a lane; raises if that is not memory. */
uint8_t *amd_global(struct amd_wave *w, unsigned lane, uint64_t address, unsigned size, bool write);
uint8_t *amd_lds(struct amd_wave *w, unsigned lane, uint64_t offset, unsigned size, bool write);
/* A lane's private byte `offset`; at most to the end of its dword. */
uint8_t *amd_private(struct amd_wave *w, unsigned lane, uint64_t offset, unsigned size, bool write);

/* --- observers (amd-observe.c): a dispatch has one --- */
/* bytes: where they are in this process; before anything is moved. */
void amd_observed(struct amd_wave *w, unsigned lane, enum amd_space space, uint64_t address,
	const uint8_t *bytes, unsigned size, bool write);
void amd_observed_sync(struct amd_wave *w, enum amd_sync_kind kind);

/* --- missing waits (amd-waits.c): when the dispatch asks for it --- */
void amd_waits_begin(struct amd_wave *w);
/* Before o is executed; raises AMD_FAULT_WAIT. */
void amd_waits_check(struct amd_wave *w, const struct amd_op *o);

/* --- code (amd-code.c) --- */
const struct amd_op *amd_fetch(struct amd_worker *wk, struct amd_wave *w);
void amd_code_free(struct amd_worker *wk);
/* Whether the kernel's workgroups have to run one after the other to give the same bits. */
bool amd_needs_order(struct amd_worker *wk);

/* --- lanes (amd-lanes.c) --- */
void amd_run_lanes(struct amd_wave *w, const struct amd_op *o);
bool amd_is_plain(const struct amd_op *o);

/* --- workgroups (amd-group.c) --- */
struct amd_group *amd_group_new(struct amd_worker *wk, uint64_t number);
void amd_group_free(struct amd_group *g);
/* The group has ended: its memory is kept for the next one. */
void amd_group_done(struct amd_group *g);
/* Runs each wave for a turn. True: the workgroup has ended. */
bool amd_group_turn(struct amd_group *g);

/* The next number of a schedule by seed (Steele and others, "SplitMix", 2014). */
static inline uint32_t amd_random(struct amd_worker *wk)
{
	uint64_t z = wk->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(z >> 32);
}

static inline uint64_t amd_pair(const struct amd_wave *w, unsigned code)
{
	return w->s[code] | (uint64_t)w->s[code + 1] << 32;
}

static inline void amd_set_pair(struct amd_wave *w, unsigned code, uint64_t v)
{
	w->s[code] = (uint32_t)v;
	w->s[code + 1] = (uint32_t)(v >> 32);
}

static inline uint64_t amd_exec(const struct amd_wave *w)
{
	return amd_pair(w, GFX_EXEC);
}

/* A scalar source of 32 or 64 bits (amd-scalar.c). kind: the row's letter. */
uint64_t amd_scalar(const struct amd_wave *w, const struct amd_op *o, unsigned code, char kind);

static inline bool amd_is_observed(const struct amd_wave *w)
{
	return __builtin_expect(w->group->observer != NULL, 0);
}

/* EXEC as 64 words of all ones or none. */
static inline const uint32_t *amd_lane_mask(struct amd_wave *w, uint64_t exec)
{
	if (exec != w->mask_of) {
		for (unsigned l = 0; l < AMD_LANES; l++)
			w->lane_mask[l] = exec >> l & 1 ? ~0u : 0;
		w->mask_of = exec;
	}
	return w->lane_mask;
}

#define AMD_EACH_LANE(l, exec)                                                                     \
	for (uint64_t left_ = (exec), l; left_ && ((l = (uint64_t)__builtin_ctzll(left_)), 1);     \
		left_ &= left_ - 1)

#endif
