/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a trace's time went, as text and as JSON.
 */
#ifndef SHELL_STATS_TEXT_H
#define SHELL_STATS_TEXT_H

#include "shell/line/session.h"
#include "state/trace-stats.h"

/* Prints st, of the trace r, and takes its sums apart: names and order of rows change. top: rows of
 * a table; 0: all. */
void stats_print(struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top);
/* The same as one JSON object, on a line of its own; appended to a buffer. */
void stats_json(struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top);
void stats_put(
	struct buf *out, struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top);

/* Why figures are not known: !known.times; !known.order. */
extern const char stats_no_times[], stats_no_order[];

#endif
