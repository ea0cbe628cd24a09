/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of trace-stats.h: streams, each by itself (stats-streams.c); what happens on all of
 * them at the same time (stats-sweep.c); spreads of durations (stats-spread.c).
 */
#ifndef STATE_STATS_PARTS_H
#define STATE_STATS_PARTS_H

#include "base/id-table.h"
#include "state/stream-time.h"
#include "state/trace-stats.h"

/* --- spreads --- */

enum { SPREAD_STEPS = 32, SPREAD_ROWS = SPREAD_STEPS * 60 };
struct spread {
	struct stats_spread is; /* but for the quantiles */
	uint64_t rows[SPREAD_ROWS];
};
void spread_add(struct spread *s, uint64_t ns);
struct stats_spread spread_of(const struct spread *s);

/* --- streams --- */

/* What a launch, copy or fill did in its stream. */
struct stream_work {
	uint32_t stream, device; /* numbers of rows of streams and devices */
	uint64_t submitted, start, end;
	bool was_empty; /* the stream had nothing else to do when it was submitted */
	struct stream_span spans[STREAM_SPANS];
	unsigned nspans;
};
struct stream_pass {
	struct stats *st;
	struct id_table lanes, contexts, events, devices;
};
void streams_init(struct stream_pass *p, struct stats *st);
void streams_free(struct stream_pass *p);
/* Learns of objects, events and waits. */
void streams_see(struct stream_pass *p, const struct sbt_cmd *c);
/* Takes in c, a launch, copy or fill. counted: it is within the range that is asked for. False: it
 * has no GPU times, or its ids are beyond what is kept. */
bool streams_work(
	struct stream_pass *p, const struct sbt_cmd *c, bool counted, struct stream_work *ret);
/* The time of the trace is known: what is left is empty. */
void streams_end(struct stream_pass *p);
/* The row of a device, made if it is new; NULL: there are too many. */
struct stats_device *streams_device(struct stream_pass *p, uint64_t device);

/* --- the sweep --- */

struct sweep;
struct sweep *sweep_new(struct stats *st);
/* A call of the host that is no work: the end of what ran before it in its thread. waits: the
 * thread waited for the device until then. */
void sweep_call(struct sweep *w, const struct sbt_cmd *c, uint32_t stack, bool waits);
void sweep_work(struct sweep *w, const struct sbt_cmd *c, const struct stream_work *k);
/* Goes through what is left, gives the figures, and frees w. */
void sweep_end(struct sweep *w);

#endif
