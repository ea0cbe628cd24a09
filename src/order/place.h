/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes of what is the same in the program though it is passed many times: a place is a call with its stream, kernel and host stack.
 */
#ifndef ORDER_PLACE_H
#define ORDER_PLACE_H

#include "order/order.h"

static inline uint64_t place_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Without a stack or a kernel, calls are told apart by their number. */
static inline uint64_t place_hash(const struct order_party *p)
{
	const uint64_t h = place_mix(place_mix(place_mix(p->stream, p->kernel), p->kind), p->stack);

	return p->stack || p->kernel != SBT_NO_ID ? h : place_mix(h, p->seq);
}

#endif
