/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites a window without graph launches: each launch is replaced by its steps (state/steps.h) as
 * ordinary commands, on streams of their own where the graph has branches, with an event where a
 * step waits for one on another stream. Code that understands streams and events then needs to know
 * nothing about graphs.
 */
#ifndef ORDER_EXPAND_H
#define ORDER_EXPAND_H

#include "sbt/sbt.h"

#define EXPAND_LANES_MAX 64 /* streams of a launch; one that needs more stays a launch */

struct expanded {
	uint64_t first, last; /* of the new window; first is as it was */
	uint64_t *seq;	      /* by new number - first: the command that it is, or is of */
	uint32_t *step; /* likewise: the step of that launch, from 1; 0: none, a command as it was
			   or one that orders */
	size_t n;
	uint64_t nlost; /* steps behind programmatic edges that are ordered behind all of the step
			   in front now */
};

/* Whether other orders of the window's commands need this: graphs that change between launches, or
 * a launch of a graph with branches or programmatic edges, where all launches together have no more
 * steps than order_conflicts() looks at. */
struct err *expand_wanted(
	struct sbt_reader *trace, uint64_t first, uint64_t last, bool *ret) TS_CHECK;
/* The window first..last, expanded, as a trace of its own at path, whose only window it is. */
struct err *expand_write(struct sbt_reader *trace, uint64_t first, uint64_t last, const char *path,
	struct expanded *ret) TS_CHECK;
void expanded_free(struct expanded *x);

#endif
