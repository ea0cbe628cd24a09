/* SPDX-License-Identifier: Apache-2.0
 *
 * A range of commands in the order in which a replay executes them: by seq, but for what stands
 * behind a wait for a value that a later command writes (state/late-work.h). Such commands come twice:
 * HELD, where they were submitted, which is for the state alone; LATE, when the value is there, for
 * happens-before and what they touch.
 *
 * The surprise: values are followed without memory. A stream's writes and fills are known; what a
 * copy or a kernel wrote is not, and ends the wait.
 */
#ifndef ORDER_FEED_H
#define ORDER_FEED_H

#include "order/order.h"

enum feed_how { FEED_USUAL, FEED_HELD, FEED_LATE };
struct feed;

/* Commands first..last. s: the state, which the caller keeps; fold: is told of waits of which
 * nobody knows who ended them. Both stay the caller's, as does the source (may be NULL), which is
 * asked for kernels that write what is waited for. */
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
