/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that are alike: of the same kernel, with the same grid and parameters, where the
 * kernel's code shows that nothing else decides which bytes it touches. One of them is executed for
 * all. Parameters that are only added to, to make addresses, may differ: what was touched moves
 * with them.
 */
#ifndef ENGINE_EXACT_ALIKE_H
#define ENGINE_EXACT_ALIKE_H

#include "order/order.h"
#include "replay/device.h"

struct alike_launch {
	uint64_t seq, like; /* like: the launch that is executed for it; itself */
	size_t values; /* of its bases, in struct alike; SIZE_MAX: its kernel's addressing is not
			  known */
};
struct alike {
	struct alike_launch *l; /* in order of seq; heap */
	size_t n;
	uint64_t *values; /* SOFT_SOURCES for each launch whose addressing is known; heap */
	size_t nvalues;
};

/* Finds alike launches among those of o between commands first and last of the trace; d is on the
 * software GPU and knows how kernels compute addresses. */
struct err *alike_find(struct alike *ret, struct sbt_reader *trace, struct device *d,
	const struct order_suspects *o, uint64_t first, uint64_t last,
	volatile bool *cancel) TS_CHECK;
void alike_free(struct alike *a);
/* Lists all other work that touches memory, sorted: it need not be executed when only the n
 * launches in `wanted` are, whose addressing is known. Heap. */
struct err *alike_others(struct buf *ret, struct sbt_reader *trace, const uint64_t *wanted,
	size_t n, uint64_t first, uint64_t last) TS_CHECK;

#endif
