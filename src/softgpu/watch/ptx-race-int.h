/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the race check share: memory (ptx-race.c) and order (ptx-race-order.c).
 */
#ifndef SOFTGPU_PTX_RACE_INT_H
#define SOFTGPU_PTX_RACE_INT_H

#include "softcore/vclock.h"
#include "softgpu/watch/ptx-race.h"

#define RACE_PAGE 4096u
#define RACE_MORE 7u
#define RACE_PAIRS 256u
#define RACE_SEEN 1024u

/* Lanes of a warp that accessed a word by one instruction at one time. */
struct race_mark {
	uint32_t warp;	/* in the grid */
	uint32_t lanes; /* 0: none */
	uint32_t clock;
	uint32_t insn; /* its number, and: */
};
#define RACE_INSN ((1u << 20) - 1)
#define RACE_STRONG (1u << 20)
#define RACE_WIDE (1u << 21) /* strong towards other blocks as well */
#define RACE_WRITE (1u << 22)
#define RACE_ATOMIC (1u << 23)
#define RACE_SAME (1u << 24) /* a write that changed nothing */

struct race_cell {
	struct race_mark write, read; /* read: atomics too */
	uint32_t more, split;	      /* further reads; one cell per byte: indices from 1 */
};
struct race_more {
	unsigned n;
	struct race_mark m[RACE_MORE];
};
struct race_page {
	struct race_cell cell[RACE_PAGE / 4];
};
struct race_slot_page {
	uint64_t key; /* 0: free */
	struct race_page *page;
};
struct race_insn {
	const struct ptx_insn *insn;
	const struct ptx_function *fn;
};
struct race_seen {
	const struct ptx_insn *insn;
	uint32_t number;
};
struct race_found {
	uint32_t a, b; /* instructions */
	struct ptx_race race;
};

/* What happened before a thread, and what it has published. Index 0: for its block, 1: for all
 * blocks. */
struct race_thread {
	struct vclock *now;		/* what happened before it */
	const struct vclock_entry *own; /* of its block, in it; NULL: it knows all */
	struct vclock *release[2];	/* what its strong writes publish: all up to its last fence;
					   NULL: nothing */
	struct vclock *acquire[2]; /* what its strong reads saw and no fence made its own yet; NULL:
				      nothing */
	struct vclock *seen[2];	   /* the newest that went into acquire */
	uint32_t clock;		   /* its own time, from 1 */
};
struct race_barrier { /* also of a warp */
	struct vclock_builder now, release[2];
	struct vclock *made[3]; /* the clocks that leaving threads take; NULL: none has left yet */
	unsigned n;		/* arrived */
	bool has_release[2], is_full;
	uint32_t floor;
};
struct race_block {
	const struct ptx_block *blk;
	struct race_block *next;
	uint64_t index;
	struct race_thread *threads;
	struct race_barrier bar[16];
	struct race_cell *shared;
	size_t nshared;
};
/* The releases that were published through a location's value. */
struct race_place {
	uint64_t key;	/* 0: free */
	uint64_t block; /* whose release[0] it is */
	struct vclock *release[2];
};

struct ptx_races {
	const struct ptx_launch *l;
	unsigned nthreads, nwarps; /* of a block */
	size_t limit, used;
	const char *doubt;
	struct race_block *blocks, *last_block;
	struct race_place *places;
	size_t nplaces, capplaces;
	struct race_slot_page *pages;
	size_t npages, slots;
	uint64_t last_key;
	struct race_page *last_page;
	uint64_t memory_start, memory_end; /* a live range, checked last */
	struct race_more *more;
	uint32_t nmore, capmore;
	struct race_cell (*split)[4];
	uint32_t nsplit, capsplit;
	struct race_insn *insns;
	uint32_t ninsns, capinsns, random;
	struct race_seen seen[RACE_SEEN];
	struct race_found found[RACE_PAIRS];
	size_t nfound;
};

void race_doubt(struct ptx_races *c, const char *why);
/* Whether n more bytes may be used. */
bool race_take(struct ptx_races *c, size_t n);

/* --- ptx-race-order.c --- */
struct race_block *race_block_of(struct ptx_races *c, const struct ptx_block *blk);
/* Whether an address is device memory that a program allocated: not, for one, another block's
 * shared memory. */
bool race_is_memory(struct ptx_races *c, uint64_t addr);
/* Whether what thread `thread` of block did up to clock happened before what t, of b, does now. */
bool race_covers(const struct race_thread *t, const struct race_block *b, uint64_t block,
	uint32_t thread, uint32_t clock);
/* Lane l of the strong access a, by t: what it publishes and sees. */
void race_strong(struct ptx_races *c, struct race_block *b, struct race_thread *t, uint32_t number,
	const struct ptx_access *a, unsigned l);
void race_sync(void *arg, const struct ptx_sync *s);
void race_block_start(void *arg, struct ptx_block *blk);
void race_block_end(void *arg, struct ptx_block *blk);
void race_order_free(struct ptx_races *c);

#endif
