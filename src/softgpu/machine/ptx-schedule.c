/* SPDX-License-Identifier: Apache-2.0
 *
 * Random schedules, see ptx-schedule.h. Turns are of very different length: many short ones, so
 * that accesses of two warps interleave, and some so long that one warp runs far ahead of the
 * others, which is what shows a missing barrier.
 */
#include "softgpu/machine/ptx-schedule.h"

/* "splitmix64" of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t k = 0; k < n; k++)
		h = (h ^ b[k]) * 0x100000001b3ull;
	return h;
}

void ptx_schedule_begin(struct ptx_worker *wk)
{
	const struct ptx_launch *l = wk->l;
	uint64_t h = 0xcbf29ce484222325ull;

	h = mix(h, &l->schedule.seed, sizeof(l->schedule.seed));
	h = mix(h, l->fn->name, strlen(l->fn->name));
	h = mix(h, l->grid, sizeof(l->grid));
	h = mix(h, l->block, sizeof(l->block));
	wk->random = h;
}

uint32_t ptx_schedule_pick(struct ptx_worker *wk, uint32_t n)
{
	return (uint32_t)((next(&wk->random) >> 32) * n >> 32);
}

uint64_t ptx_schedule_turn(struct ptx_worker *wk)
{
	static const uint32_t longest[] = {8, 64, 512, 20000};

	return 1 + ptx_schedule_pick(wk, longest[ptx_schedule_pick(wk, 4)]);
}

bool ptx_schedule_parts(struct ptx_worker *wk)
{
	return wk->l->schedule.random && !wk->turn && !ptx_schedule_pick(wk, 16);
}

void ptx_schedule_lanes(
	struct ptx_worker *wk, uint32_t mask, uint8_t order[PTX_LANES], unsigned *ret_n)
{
	unsigned n = 0;

	EACH_LANE(l)
	{
		unsigned at = wk->l->schedule.random ? ptx_schedule_pick(wk, n + 1) : n;
		order[n] = order[at];
		order[at] = (uint8_t)l;
		n++;
	}
	*ret_n = n;
}
