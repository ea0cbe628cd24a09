/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans of streams, see stream-time.h: the first part of the pass of trace-stats.h by itself.
 */
#include "state/stream-time.h"

#include <stdlib.h>
#include <string.h>
#include "state/stats/stats-parts.h"

struct stream_time {
	struct stats sums; /* nobody asks for them */
	struct stream_pass pass;
};

struct stream_time *stream_time_new(void)
{
	struct stream_time *t = xcalloc(1, sizeof *t);

	streams_init(&t->pass, &t->sums);
	return t;
}

void stream_time_free(struct stream_time *t)
{
	streams_free(&t->pass);
	stats_free(&t->sums);
	free(t);
}

unsigned stream_time_take(
	struct stream_time *t, const struct sbt_cmd *c, struct stream_span spans[STREAM_SPANS])
{
	struct stream_work k = {0};

	streams_see(&t->pass, c);
	if (!summary_counts(c) || !streams_work(&t->pass, c, true, &k))
		return 0;
	memcpy(spans, k.spans, k.nspans * sizeof *spans);
	return k.nspans;
}
