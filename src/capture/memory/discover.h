/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that was allocated before the agent came (an attach): found by asking the driver about addresses, all of the process's address space
 * once, a coarse grid of it, and whatever the program's commands name. A found allocation is introduced with an ALLOC record marked
 * SBT_F_SYNTHETIC, and stands in live.c's table like any other from then on.
 *
 * What was allocated or freed since is known by its calls. The two must not be mixed up while a call is under way: the driver may already have an
 * allocation whose ALLOC is not recorded yet, or still have one whose FREE is. So an allocation is only taken over from the driver
 * when no call that allocates is on its way, and never at an address that was freed since.
 */
#ifndef CAPTURE_DISCOVER_H
#define CAPTURE_DISCOVER_H

#include "capture/core/agent.h"

struct call;
struct thread;

/* Whether there may be what nobody told us of: the agent came late. */
extern _Atomic uint32_t discover_on;
static inline bool discover_watched(void)
{
	return __builtin_expect(atomic_load_explicit(&discover_on, memory_order_relaxed), 0);
}

/* What a run over the address space found and asked. */
struct discover_sums {
	uint64_t allocations, bytes;	/* introduced */
	uint64_t probed, step;		/* bytes of address space looked at, and how far questions were apart */
	uint64_t took_ns;
	uint64_t missed;		/* found, but calls that allocate were under way all the time */
};

void discover_begin(void);
/* Nothing is looked for any more, and nothing is known. */
void discover_end(void);
/* The agent's own thread, in no call, with a context current: asks about all of the address space. */
void discover_all(struct thread *t, struct discover_sums *ret);
/* Somebody waits for it: it need not be gentle to the program any more. */
void discover_hurry(void);
/* Whether that has been done, and nothing was missed. */
bool discover_is_complete(void);
/* A call of the program with its parameters read, before it gets its number: what its operands point to. */
void discover_enter(struct call *c);
/* It is over: of kind ALLOC or FREE. */
void discover_exit(const struct call *c);
/* The allocation at addr is none of the program's: a module's variable. Takes it back. False: it had not been found. */
bool discover_withdraw(struct thread *t, uint64_t addr, uint64_t size);

/* Asks about all that was found once more, and takes back what is gone. With a context current. */
void discover_verify(struct thread *t);

#endif
