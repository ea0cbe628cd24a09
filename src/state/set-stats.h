/* SPDX-License-Identifier: Apache-2.0
 *
 * What the time of a job's ranks was spent on: a rank's figures beside the others', and what is the
 * same in several ranks together. Rows of different ranks are the same when they have the same
 * name, so a caller names them before, as it shows them.
 */
#ifndef STATE_SET_STATS_H
#define STATE_SET_STATS_H

#include "state/trace-stats.h"

/* A kernel, a call site or an NVTX range. */
struct set_row {
	char *name; /* heap */
	uint64_t count, timed, time_ns, bytes;
	uint64_t ranks; /* that have it */
	/* Of the ranks that have it with GPU times: the least and the most time. */
	uint64_t least_ns, least_rank, most_ns, most_rank;
};
struct set_rows {
	struct set_row *v; /* the most time first */
	size_t n, cap;
};
struct set_rank {
	uint64_t rank;
	uint64_t begin_ns, end_ns; /* of all that was seen, on the set's clock */
	uint64_t commands, work, timed;
	/* Of all its devices, if known.times and known.order: */
	struct stats_known known;
	uint64_t span_ns, busy_ns, kernel_ns, copy_ns, overlap_ns, idle_ns, late_ns;
	uint64_t waits_ns;	 /* the host waited */
	uint64_t allocated_most; /* bytes, the largest of its devices */
};
/* A rank that is unlike the others in a kernel: it takes another time by more than a fifth and by
 * more than eight times what ranks usually differ by; or it launches it more or less often, where
 * nearly all ranks launch it as often. Of fewer than eight ranks none is. */
struct set_outlier {
	char *name;					      /* heap */
	uint64_t rank, time_ns, usual_ns, count, usual_count; /* usual: the median */
};
struct set_outliers {
	struct set_outlier *v; /* the farthest in time first; at most a thousand */
	size_t n, cap;
};

struct set_stats {
	struct set_rank *r; /* as they were added */
	unsigned n, cap;
	uint64_t begin_ns, end_ns; /* of all, on the set's clock; 0: there is no command */
	uint64_t commands, work, timed;
	struct set_rows kernels, sites, ranges;
	struct set_outliers outliers;
};

/* Adds a rank; the names of st's sums are the set's then. time: from its clock to the set's. */
void set_stats_add(struct set_stats *x, uint64_t rank, struct stats *st,
	uint64_t (*time)(const void *clock, uint64_t ns), const void *clock);
/* After the last one: makes one row of those with the same name, and sorts. */
void set_stats_end(struct set_stats *x);
void set_stats_free(struct set_stats *x);
/* Whether how busy its devices were is known. */
static inline bool set_rank_used(const struct set_rank *r)
{
	return r->known.times && r->known.order;
}

#endif
