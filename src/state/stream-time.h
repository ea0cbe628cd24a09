/* SPDX-License-Identifier: Apache-2.0
 *
 * What each stream did, piece by piece: between the end of its last work and the end of the next,
 * it had nothing to do, waited for another stream, was about to begin, or ran. The same division is
 * added up in trace-stats.h. Commands are given in the order of their seqs; memory grows with the
 * number of streams, contexts and events.
 */
#ifndef STATE_STREAM_TIME_H
#define STATE_STREAM_TIME_H

#include "sbt/sbt.h"

enum stream_doing {
	STREAM_IDLE,	 /* it had none, or its next was a host function or a wait for a value */
	STREAM_WAITS,	 /* for another stream: an event, or the legacy default stream's barrier */
	STREAM_STARTING, /* it had work that waited for nothing that the trace shows */
	STREAM_RUNNING,
	STREAM_DOINGS
};
struct stream_span {
	enum stream_doing what;
	uint64_t from, to; /* ns since 1970, from < to */
};
enum { STREAM_SPANS = 5 };

struct stream_time;
struct stream_time *stream_time_new(void);
void stream_time_free(struct stream_time *t);
/* Takes in a command. If it is a launch, a copy or a fill with GPU times, gives what its stream did
 * from the end of its last work (the submission of its first) to the end of this one, one after the
 * other; returns how many spans that is, 0 otherwise. */
unsigned stream_time_take(
	struct stream_time *t, const struct sbt_cmd *c, struct stream_span spans[STREAM_SPANS]);

#endif
