/* SPDX-License-Identifier: Apache-2.0
 *
 * The barrier of a cooperative grid lives in memory of the driver's, whose address kernels find in
 * %envreg1 and %envreg2 (the toolkit's "cooperative_groups/details/driver_abi.h": struct
 * grid_workspace). It is no device memory: where a program's own allocations come to lie must not
 * depend on when a launch runs.
 */
#include "softgpu/driver/drv.h"

#define SLOTS 64

struct workspace {
	uint32_t size, barrier;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	uint64_t taken; /* one bit for each slot */
	bool registered;
	struct workspace slots[SLOTS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

uint64_t workspace_get(void)
{
	unsigned i;

	pthread_mutex_lock(&all.lock);
	if (!all.registered)
		all.registered = mem_register(all.slots, sizeof(all.slots), 0) != NULL;
	while (all.taken == UINT64_MAX)
		pthread_cond_wait(&all.freed, &all.lock);
	i = (unsigned)__builtin_ctzll(~all.taken);
	all.taken |= 1ull << i;
	all.slots[i] = (struct workspace){.size = sizeof(struct workspace)};
	pthread_mutex_unlock(&all.lock);
	return all.registered ? (uint64_t)&all.slots[i] : 0;
}

void workspace_put(uint64_t addr)
{
	if (!addr)
		return;
	pthread_mutex_lock(&all.lock);
	all.taken &= ~(1ull << ((struct workspace *)addr - all.slots));
	pthread_cond_signal(&all.freed);
	pthread_mutex_unlock(&all.lock);
}
