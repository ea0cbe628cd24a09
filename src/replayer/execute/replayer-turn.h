/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a replay's commands run on the device: one after the other, or as streams
 * overlap.
 */
#ifndef REPLAYER_TURN_H
#define REPLAYER_TURN_H

#include "replayer/execute/replayer-rp.h"

/* Makes c, about to be submitted to its stream, wait for everything before it. Its device's context
 * is current. */
struct err *turn_of(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Makes what is next submitted to stream, of the current device, wait for everything submitted
 * before, even where streams overlap. */
struct err *turn_take(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
/* Whether commands run one after the other only because a replay has an order. */
static inline bool turn_is_fixed(const struct rp *rp)
{
	return !rp->turn.overlap && !rp->turn.ordered;
}
/* Called before the stream is destroyed, perhaps with work in it. */
struct err *turn_before_destroy(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
/* Notes that nothing is in flight. */
void turn_over(struct rp *rp);
/* Lets streams overlap from now on, or not. */
struct err *turn_overlap(struct rp *rp, bool overlap) TS_CHECK;

#endif
