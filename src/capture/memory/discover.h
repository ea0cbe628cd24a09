/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that was allocated before the agent came (an attach). It is found by asking the driver
 * about addresses: the process's whole address space once, in a coarse grid, and the addresses in
 * the program's commands. A found allocation is introduced with an ALLOC record marked
 * SBT_F_SYNTHETIC, and is then in live.c's table like any other.
 *
 * Later allocations and frees are known from their calls. While a call is under way the two must
 * not be confused: the driver may already have an allocation whose ALLOC is not recorded yet, or
 * still have one whose FREE is. So an allocation is taken from the driver only when no call that
 * allocates is under way, and never at an address that was freed since.
 */
#ifndef CAPTURE_DISCOVER_H
#define CAPTURE_DISCOVER_H

#include "capture/core/agent.h"

struct call;
struct thread;

/* Whether there may be objects that no call reported: the agent came late. */
extern _Atomic uint32_t discover_on;
static inline bool discover_watched(void)
{
	return __builtin_expect(atomic_load_explicit(&discover_on, memory_order_relaxed), 0);
}

/* The result of a search of the address space. */
struct discover_sums {
	uint64_t allocations, bytes; /* introduced */
	uint64_t probed, step; /* bytes of address space searched; distance between questions */
	uint64_t took_ns;
	/* found, but not introduced, because calls that allocate were under way all the time */
	uint64_t missed;
};

void discover_begin(void);
/* Ends the search and forgets everything. */
void discover_end(void);
/* Searches the whole address space. Called by the agent's own thread, in no call, with a context
 * current. Returns false if it was given up, since the debugger leaves: then nothing is known of
 * what was not met. */
bool discover_all(struct thread *t, struct discover_sums *ret);
/* Makes the search fast, because a thread waits for it; it may then slow the program down. */
void discover_hurry(void);
/* Whether the search is done, and missed nothing. */
bool discover_is_complete(void);
/* Called in a call of the program whose parameters were read, before it gets its number: looks for
 * what its operands point to. */
void discover_enter(struct call *c);
/* Called when an ALLOC or FREE has ended. */
void discover_exit(const struct call *c);
/* The allocation at addr is not the program's, but a module's variable: removes it. Returns false
 * if it had not been found. */
bool discover_withdraw(struct thread *t, uint64_t addr, uint64_t size);

/* Asks again about all found allocations, and removes those that no longer exist. With a context
 * current. */
void discover_verify(struct thread *t);

#endif
