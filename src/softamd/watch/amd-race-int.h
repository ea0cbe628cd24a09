/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the race check share: memory (amd-race.c) and order (amd-race-order.c).
 */
#ifndef SOFTAMD_AMD_RACE_INT_H
#define SOFTAMD_AMD_RACE_INT_H

#include "softamd/watch/amd-race.h"
#include "softcore/vclock.h"

#define RACE_PAGE 4096u
#define RACE_PAIRS 256u
#define RACE_READERS 2u

/* An access to a word, by a lane. */
struct amd_mark {
	uint32_t wave; /* in the grid, plus 1; 0: none */
	uint32_t clock;
	uint32_t insn;	 /* its number, and: */
	uint32_t when;	 /* which instruction, of all that were executed */
	uint8_t lane[4]; /* of each byte */
};
#define RACE_INSN ((1u << 20) - 1)
#define RACE_BYTES(n) (((n) >> 20) & 15) /* of the word */
#define RACE_BYTES_AT 20
#define RACE_STRONG (1u << 24)
#define RACE_WRITE (1u << 25)
#define RACE_ATOMIC (1u << 26)
#define RACE_SAME (1u << 27) /* a write that changed nothing */

struct amd_cell {
	struct amd_mark write, atomic, read[RACE_READERS];
};
struct amd_cells {
	struct amd_cell cell[RACE_PAGE / 4];
};
struct amd_cells_slot {
	uint64_t key; /* 0: free */
	struct amd_cells *page;
};

struct amd_race_wave {
	struct vclock *now;	/* what happened before it */
	struct vclock *pending; /* what it has seen, and no invalidation made its own yet */
	uint32_t clock;		/* from 1; grows at each wait for memory */
	uint32_t moved;		/* instructions with accesses since then */
};
struct amd_race_group {
	uint64_t number;
	struct amd_race_wave *waves;
	struct vclock_builder barrier;
	struct vclock *made; /* the clock that leaving waves take */
	uint32_t arrived;
	struct amd_cell *lds;
	uint32_t lds_words;
};
/* What was published through a place's value. */
struct amd_race_place {
	uint64_t key; /* 0: free */
	struct vclock *known;
};

struct amd_race_insn {
	uint64_t pc;
	const char *name;
};

struct amd_races {
	const struct amd_dispatch *d;
	uint32_t groups[3];
	uint64_t ngroups;
	uint32_t nwaves; /* of a full workgroup */
	size_t limit, used;
	const char *doubt;
	struct amd_race_group **group; /* by number */
	struct amd_race_place *places;
	size_t nplaces, capplaces;
	struct amd_cells_slot *pages;
	size_t npages, slots;
	uint64_t last_key;
	struct amd_cells *last_page;
	struct amd_race_insn *insns;
	uint32_t ninsns, capinsns, last_insn;
	uint32_t instant, random;
	/* The last access, which is checked when it has been done: whether a write changed anything
	 * is not known before. */
	struct amd_access kept;
	bool has_kept;
	uint8_t before[16];
	struct {
		uint32_t a, b; /* instructions */
		struct amd_race race;
	} found[RACE_PAIRS];
	size_t nfound;
};

void amd_race_doubt(struct amd_races *c, const char *why);
bool amd_race_take(struct amd_races *c, size_t n);
/* Checks the access that is kept back. */
void amd_race_flush(struct amd_races *c);

/* --- amd-race-order.c --- */
/* NULL: no memory. */
struct amd_race_group *amd_race_group_of(struct amd_races *c, uint64_t number);
uint64_t amd_race_number(const struct amd_races *c, const uint32_t id[3]);
/* Whether what wave `wave` (in the grid) did at clock happened before what w does now. */
bool amd_race_covers(
	const struct amd_races *c, const struct amd_race_wave *w, uint32_t wave, uint32_t clock);
/* An atomic or a load with glc: what it publishes and sees. writer: the word's last write. */
void amd_race_strong(struct amd_races *c, struct amd_race_group *g, struct amd_race_wave *w,
	const struct amd_access *a, const struct amd_mark *writer);
void amd_race_sync(void *arg, const struct amd_wave *w, enum amd_sync_kind kind);
void amd_race_barrier(void *arg, const struct amd_wave *w, bool leaves);
void amd_race_group_event(void *arg, struct amd_group *g, const uint32_t id[3], bool ended);
void amd_race_order_free(struct amd_races *c);

#endif
