/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a set went: its ranks one after the other, and what is the same in several
 * together.
 */
#ifndef SHELL_STATS_SET_H
#define SHELL_STATS_SET_H

#include "engine/ranks.h"
#include "shell/line/session.h"
#include "state/trace-stats.h"

struct set_rank;
/* A kernel, a place or an NVTX range in several ranks. */
struct set_row {
	char *name; /* heap, as it is shown */
	uint64_t count, timed, time_ns, bytes;
	uint64_t ranks; /* that have it */
	/* Of one rank, of those that have it with GPU times: the least and the most time. */
	uint64_t least_ns, least_rank, most_ns, most_rank;
};
struct set_rows {
	struct set_row *v; /* the most time first */
	size_t n, cap;
};
/* Times are on the set's clock. */
struct set_stats {
	const struct ranks *set;
	struct set_rank *r;
	unsigned n;
	uint64_t begin_ns, end_ns;
	uint64_t commands, work, timed;
	struct set_rows kernels, sites, ranges;
};
/* A rank's part of it. */
struct set_rank {
	const struct rank *is;
	uint64_t begin_ns, end_ns; /* of its commands and work */
	uint64_t commands, work, timed;
	/* Of all its devices, if known.times and known.order: */
	struct stats_known known;
	uint64_t span_ns, busy_ns, kernel_ns, copy_ns, overlap_ns, idle_ns, late_ns;
	uint64_t waits_ns;	 /* the host waited */
	uint64_t allocated_most; /* bytes, the largest of its devices */
	struct buf stats;	 /* the object `stats`, if it was asked for */
};

struct set_ask {
	bool json;    /* with each rank's own figures */
	uint64_t top; /* rows of a rank's tables in JSON */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
struct err *set_stats_make(struct set_stats *ret, struct session *s, const struct ranks *set,
	const struct set_ask *ask) TS_CHECK;
void set_stats_free(struct set_stats *x);
void set_stats_print(struct session *s, const struct set_stats *x, uint64_t top);
void set_stats_json(struct session *s, struct set_stats *x);

#endif
