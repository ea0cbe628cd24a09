/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps synchronous copies from pageable memory, to tell races with them from others. The call
 * returns when the source has been read into a staging buffer; "the DMA to final destination may
 * not have completed" (CUDA driver API, "API synchronization behavior"). Measured on an H200: a
 * kernel on another stream right behind a copy of 1 MiB found its last word stale in 4,995 of 5,000
 * trials; behind up to 64 KiB never in 40,000, since the driver sends those bytes along at once.
 */
#ifndef ORDER_STAGED_H
#define ORDER_STAGED_H

#include "order/order.h"

#define STAGED_SMALL_MAX (64u << 10) /* bytes */

/* Zeroes: none. */
struct staged {
	struct staged_copy {
		uint64_t seq;
		uint32_t lane, index; /* the host's moment at which the call returned */
		bool small;
	} * c; /* in order of seq */
	size_t n, cap;
};

bool staged_is_small(const struct sbt_cmd_copy *c);
/* c was just folded. */
void staged_note(struct staged *s, struct fold *f, const struct state *st, const struct sbt_cmd *c);
/* Whether command seq is such a copy, whose call had returned before the item was submitted. */
enum order_staged staged_is(const struct staged *s, uint64_t seq, const struct order_item *later);
void staged_free(struct staged *s);

#endif
