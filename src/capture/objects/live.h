/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocations that are alive, as the calls told. An allocation enters when its call has ended and leaves when its free has
 * got its number, so with the gate shut (gate.h) the table is what the device has.
 */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include "capture/core/agent.h"
#include "sbt/cmd.h"

struct call;

struct live {
	uint64_t addr, size; /* addr 0: a free slot */
	uint32_t mem;	     /* enum sbt_mem */
	bool before;	     /* found, and not told of by a call */
	uint32_t ctx;	     /* id, or SBT_NO_ID */
	uint32_t next;	     /* of the free slots: index + 1 */
	uint32_t pins;	     /* walks that have a pointer to it */
	_Atomic uint32_t over;	    /* freed; some walk may still have a pointer to it */
	_Atomic uint32_t untouched; /* TSDB_MEMORY_TOUCHED: not recorded yet */
	_Atomic uint32_t mapped;    /* the driver has said so; never of memory that is mapped by hand, which changes */
	/* Memory of the host: a hash for each page as last recorded, while it is watched (host.c); of a single page the one here. */
	uint64_t *seen, only;
	bool watched;
};

/* A successful ALLOC is over; a FREE has got its number; a FREE is over. */
void live_alloc(const struct call *c);
void live_free(struct call *c);
void live_free_over(const struct call *c);
/* An allocation that was there before the agent came. False: it is known. */
bool live_take_over(const struct live *what);
/* The next one that was found, from slot *i on, as a copy; false when there is none. Any time. */
bool live_next_before(uint32_t *i, struct live *ret);
/* It turned out to be none; true when there was one of this size at most. */
bool live_give_up(uint64_t addr, uint64_t size);
/* Nothing has been missed so far: what there was before has been found, or there was nothing. */
void live_complete(void);
/* There may be allocations that nobody told us of. */
void live_doubt(void);
/* A context is gone, or everything that was known. */
void live_drop_ctx(uint32_t ctx);
void live_forget(void);
/* Calls fn for each, until it returns true. Any time: what fn is given stays what it is until fn returns, but the program may free the allocation
 * meanwhile, unless the gate is shut. So fn reads memory of the host by host_read() and asks live_is_over() before it believes what it got. No lock is held. */
void live_each(bool (*fn)(void *arg, struct live *l), void *arg);
/* The same for the allocation that has addr in it, if there is one. Walks the table. */
void live_visit(uint64_t addr, void (*fn)(void *arg, struct live *l), void *arg);
/* What it is, as a copy. False: there is none. */
bool live_at(uint64_t addr, struct live *ret);
/* How many are memory of the host that kernels may read; how many of those are managed. */
uint32_t live_host(void);
uint32_t live_managed(void);
/* What copies of a context's device memory take, each rounded up to LIVE_ALIGN bytes. Any time. */
#define LIVE_ALIGN 512u
uint64_t live_device_bytes(uint32_t ctx);
/* All live memory, host and device: bytes. */
extern _Atomic uint64_t live_total;
/* Whether allocations may exist that nobody told us of. */
bool live_incomplete(void);

/* Its free has got its number. False: what was read of it before this question was there. */
static inline bool live_is_over(const struct live *l)
{
	return atomic_load(&l->over);
}

static inline bool live_is_host(const struct live *l)
{
	return l->mem == SBT_MEM_PINNED || l->mem == SBT_MEM_REGISTERED || l->mem == SBT_MEM_MANAGED;
}

#endif
