/* SPDX-License-Identifier: Apache-2.0
 *
 * See mem-held.h.
 */
#include "softgpu/memory/mem-held.h"

#include <stdlib.h>

static struct {
	struct extent *x;
	size_t n, room;
} held;

bool held_add(struct extent x)
{
	if (held.n == held.room) {
		const size_t room = held.room ? 2 * held.room : 16;
		struct extent *more = realloc(held.x, room * sizeof(*more));

		if (!more)
			return false;
		held.x = more;
		held.room = room;
	}
	held.x[held.n++] = x;
	return true;
}

bool held_take(struct extent *ret)
{
	if (!held.n)
		return false;
	*ret = held.x[--held.n];
	return true;
}

bool held_any(void)
{
	return held.n;
}

bool held_has(uint64_t addr)
{
	for (size_t i = 0; i < held.n; i++)
		if (addr >= held.x[i].start && addr < held.x[i].end)
			return true;
	return false;
}
