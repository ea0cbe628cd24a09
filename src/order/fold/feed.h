/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives out a range of commands in the order in which a replay executes them: by seq, except work
 * behind a wait for a value that a later command writes (state/late-work.h). Such commands come
 * twice: as HELD where they were submitted, for the state alone; as LATE when the value is there,
 * for happens-before and accesses.
 *
 * The surprise: values are followed without memory. A stream's writes and fills are known, and
 * copies from the host whose bytes are in the trace; what another copy brought is what all wait
 * for, when nothing else can have. What a kernel wrote is not known, and ends the wait.
 */
#ifndef ORDER_FEED_H
#define ORDER_FEED_H

#include "order/order.h"

enum feed_how { FEED_USUAL, FEED_HELD, FEED_LATE };
struct feed;

/* Commands first..last. s: the state before each command; the caller applies the commands. fold:
 * gets a fold_doubt() for each wait that an unknown write may have ended. source (may be NULL):
 * says which kernels write to the words that are waited for. All three belong to the caller. */
struct err *feed_open(struct feed **ret, struct sbt_reader *trace, const struct state *s,
	struct fold *fold, const struct order_source *source, uint64_t first,
	uint64_t last) TS_CHECK;
void feed_close(struct feed *f);
/* *ret NULL: that was all. Valid until the next call. HELD: state_apply() alone. LATE: all but
 * state_apply(). */
struct err *feed_next(struct feed *f, const struct sbt_cmd **ret, enum feed_how *ret_how) TS_CHECK;
/* Whether there was a wait for a value so far. */
bool feed_waits(const struct feed *f);

#endif
