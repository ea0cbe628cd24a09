/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes places of the program. A place is a call with its stream, kernel and host stack; a program
 * passes it many times.
 */
#ifndef ORDER_PLACE_H
#define ORDER_PLACE_H

#include "order/order.h"

static inline uint64_t place_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Calls without a stack and a kernel differ by their seq. */
static inline uint64_t place_hash(const struct order_party *p)
{
	const uint64_t h = place_mix(place_mix(place_mix(p->stream, p->kernel), p->kind), p->stack);

	return p->stack || p->kernel != SBT_NO_ID ? h : place_mix(h, p->seq);
}

#endif
