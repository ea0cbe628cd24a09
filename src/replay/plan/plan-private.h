/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind plan.h: plan-scan.c reads a window into items, which say what memory
 * each piece of work touches and what it waits for; plan.c chooses the items to execute.
 */
#ifndef REPLAY_PLAN_PRIVATE_H
#define REPLAY_PLAN_PRIVATE_H

#include "replay/plan.h"

enum plan_how { PLAN_READS = 1, PLAN_WRITES = 2 };

/* Memory that a command may touch. Key 0 is all memory outside known allocations: globals, and
 * memory whose allocation was not seen. */
struct plan_touch {
	uint32_t key; /* of an allocation, as long as it lives */
	uint32_t how;
	uint64_t addr, end;
};

/* Work on a stream. */
struct plan_item {
	uint64_t seq;
	uint16_t kind;
	bool leavable;	      /* launches, copies, ...: not event records and waits */
	bool everything;      /* what it touches cannot be known */
	bool waits_all;	      /* for all that was submitted before */
	bool recorded;	      /* what it brings is in the trace: a payload or an effect */
	uint32_t stream;      /* index into scan.streams */
	uint32_t wait_stream; /* an event wait: index, UINT32_MAX none */
	uint64_t wait_seq;
	size_t touch; /* index of the first */
	uint32_t ntouches;
};

struct plan_lane {
	uint32_t id, ctx;
	bool blocking, is_default, known;
	uint64_t needed; /* everything on it up to this seq */
};

struct plan_scan {
	struct plan_item *items;
	size_t n, cap;
	struct plan_touch *touches;
	size_t ntouches, cap_touches;
	struct plan_lane *lanes; /* in order of first sight */
	uint32_t nlanes, cap_lanes;
	/* allocations by the seq that made them */
	uint64_t *alloc_seqs; /* slots of a hash table; 0 free */
	uint32_t *alloc_keys;
	size_t slots, nallocs;
	/* from the recorded memory, sorted */
	uint64_t *recorded;
	size_t nrecorded, cap_recorded;
	uint32_t *modules; /* that have globals */
	size_t nmodules, cap_modules;
	bool unlisted_globals; /* a global of no known module */
	struct state *s;
};

/* Reads commands first..last. What the host knew to be finished when it called command upto goes
 * into the lanes' needed. */
struct err *plan_scan(struct plan_scan *ret, struct sbt_reader *trace, uint64_t first,
	uint64_t last, uint64_t upto) TS_CHECK;
void plan_scan_free(struct plan_scan *s);
/* Index of the lane of stream id; UINT32_MAX when it has none. */
uint32_t plan_scan_lane(const struct plan_scan *s, uint32_t id);

#endif
