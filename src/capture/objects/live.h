/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocations that are alive, known from the program's calls. An allocation enters the table
 * when its call has ended and leaves when its free has its number, so with the gate shut (gate.h)
 * the table is what the device has.
 */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include "capture/core/agent.h"
#include "capture/host/written.h"
#include "sbt/cmd.h"

struct call;

struct live {
	uint64_t addr, size;	    /* addr 0: a free slot */
	uint32_t mem;		    /* enum sbt_mem */
	bool before;		    /* found by the agent, not seen in a call */
	uint32_t ctx;		    /* id, or SBT_NO_ID */
	uint64_t seq;		    /* of the call that allocated it; 0: not seen in a call */
	uint32_t next;		    /* of the free slots: index + 1 */
	uint32_t pins;		    /* walks that point to it */
	_Atomic uint32_t over;	    /* freed; a walk may still point to it */
	_Atomic uint32_t untouched; /* TSDB_MEMORY_TOUCHED: not recorded yet */
	/* the driver said that it is mapped; not set for memory mapped by hand, which changes */
	_Atomic uint32_t mapped;
	/* For memory of the host: a hash of each page as last recorded, while it is watched
	 * (host.c); for a single page in `only`. */
	uint64_t *seen, only;
	bool watched;
	/* Whether Linux notes which pages the program writes; that was tried in vain. */
	enum written noted;
	bool not_noted;
};

/* Called when a successful ALLOC has ended; when a FREE has its number; when a FREE has ended. */
void live_alloc(const struct call *c);
void live_free(struct call *c);
void live_free_over(const struct call *c);
/* Adds an allocation from before the agent came. Returns false if it is known. */
bool live_take_over(const struct live *what);
/* Copies the next found one, from slot *i on; returns false at the end. May be called at any
 * time. */
bool live_next_before(uint32_t *i, struct live *ret);
/* Removes a found one that is no allocation; returns true if there was one of at most this size. */
bool live_give_up(uint64_t addr, uint64_t size);
/* Notes that nothing has been missed so far: all earlier allocations have been found, or there were
 * none. */
void live_complete(void);
/* Notes that there may be allocations that no call reported. */
void live_doubt(void);
/* Forgets a context's allocations, or all of them. */
void live_drop_ctx(uint32_t ctx);
void live_forget(void);
/* Calls fn for each, until it returns true; at any time and without a lock. The struct stays
 * unchanged until fn returns, but the program may free the allocation meanwhile, unless the gate is
 * shut. So fn reads memory of the host by host_read(), and calls live_is_over() before it trusts
 * the result. */
void live_each(bool (*fn)(void *arg, struct live *l), void *arg);
/* The same for each allocation that has one of size bytes at addr. Walks the table. */
void live_visit(uint64_t addr, uint64_t size, void (*fn)(void *arg, struct live *l), void *arg);
/* Copies the allocation that contains addr. Returns false if there is none. */
bool live_at(uint64_t addr, struct live *ret);
/* How many are host memory that kernels may read; how many of those are managed. */
uint32_t live_host(void);
uint32_t live_managed(void);
/* How many bytes copies of a context's device memory take, each rounded up to LIVE_ALIGN. May be
 * called at any time. */
#define LIVE_ALIGN 512u
uint64_t live_device_bytes(uint32_t ctx);
/* Bytes of all live memory, host and device. */
extern _Atomic uint64_t live_total;
/* Whether there may be allocations that no call reported. */
bool live_incomplete(void);

/* Whether its free has its number. If not, everything read from it before this call was valid. */
static inline bool live_is_over(const struct live *l)
{
	return atomic_load(&l->over);
}

static inline bool live_is_host(const struct live *l)
{
	return l->mem == SBT_MEM_PINNED || l->mem == SBT_MEM_REGISTERED ||
	       l->mem == SBT_MEM_MANAGED;
}

#endif
