/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds within mapped memory. A replay maps large pieces where the program had many allocations.
 * Between these there was no memory, and an access there faulted in the recording. So tsdb-replayer
 * gives the allocations' bounds, and kernels may touch mapped memory only within them.
 */
#include "softgpu/machine/ptx-bounds.h"

#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

struct bounds {
	size_t n;
	struct soft_span s[]; /* sorted, none touches the next */
};
/* Replaced as a whole; an earlier one stays, as a kernel may be looking at it. */
static struct bounds *_Atomic bounds;

void ptx_bounds_set(const struct soft_span *s, size_t n)
{
	struct bounds *b = n ? malloc(sizeof(*b) + n * sizeof(*s)) : NULL;

	if (b) {
		b->n = n;
		memcpy(b->s, s, n * sizeof(*s));
	}
	bounds = b;
}

bool ptx_bounds_cut(uint64_t a, uint64_t *start, uint64_t *end)
{
	const struct bounds *b = bounds;

	if (!b)
		return true;
	const size_t i = FIRST_WHERE(b->n, k, b->s[k].addr > a);
	if (!i || a - b->s[i - 1].addr >= b->s[i - 1].size)
		return false;
	const uint64_t last = b->s[i - 1].addr + b->s[i - 1].size;
	*start = *start > b->s[i - 1].addr ? *start : b->s[i - 1].addr;
	*end = *end < last ? *end : last;
	return true;
}
