/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds work that may have been writing to page-locked memory while the recording read it. The
 * bytes recorded then say nothing about the host: they may be those before the work, those after
 * it, or a mixture.
 */
#ifndef ORDER_IN_FLIGHT_H
#define ORDER_IN_FLIGHT_H

#include "order/order.h"

/* One look: the recording has what [addr, end) held before command seq. */
struct order_look {
	uint64_t seq, addr, end;
};
#define IN_FLIGHT_MAX 65536u /* ranges */

/* Appends a struct order_change to ret for each range of page-locked memory that work `by` writes,
 * when `by` may not have finished, or, with by > seq, may have begun, at a look at seq that
 * overlaps the range; in order of seq. looks: sorted by seq. Of o: first, last, source and
 * interrupt. ERR_LIMIT beyond IN_FLIGHT_MAX of them. */
struct err *order_in_flight(struct buf *ret, struct sbt_reader *trace,
	const struct order_options *o, const struct order_look *looks, size_t n) TS_CHECK;

#endif
