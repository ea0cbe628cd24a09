/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace's time was spent on: what each stream and device did and waited for, what ran at the
 * same time, how deep queues were, and what the host did while a device had nothing to run. One
 * pass; memory grows with the number of streams, kernels, host stacks and live allocations, not
 * with that of commands. Figures are of recorded times; none is estimated. What cannot be known
 * (struct stats_known) is left 0.
 */
#ifndef STATE_TRACE_STATS_H
#define STATE_TRACE_STATS_H

#include "state/summary.h"

/* A stream's time, which these five add up to:
 * busy: a launch, copy or fill of it ran.
 * event: it had work that waited for another stream: for an event, or for the legacy default
 *   stream's barrier.
 * host: between its first and its last work, it had none, or its next was a host function or a wait
 *   for a value.
 * starting: it had work that waited for nothing that the trace shows, and had not begun.
 * empty: before its first work was submitted, and after its last one had ended. */
struct stats_stream {
	uint32_t id, device;
	uint64_t work, timed; /* launches, copies and fills; those with GPU times */
	uint64_t busy_ns, event_ns, host_ns, starting_ns, empty_ns;
	uint64_t depth_most; /* commands submitted and not ended */
	double depth_mean;   /* over time, from its first to its last */
};

enum { STATS_BUCKETS = 64 };
/* A device's time from its first work to its last: busy and idle add up to it. */
struct stats_device {
	uint32_t device;
	char *name; /* heap; NULL: not known */
	uint64_t work, timed;
	uint64_t begin_ns, end_ns; /* of its first and last work */
	uint64_t busy_ns;	   /* something ran */
	uint64_t kernel_ns, copy_ns;
	uint64_t overlap_ns;	/* kernels and copies at the same time */
	uint64_t concurrent_ns; /* two kernels or more at the same time */
	uint64_t idle_ns;	/* nothing ran; of it: */
	uint64_t late_ns;	/* up to the submission of what ran next: the host was late */
	uint64_t starting_ns;	/* from then on */
	uint64_t gaps;
	uint64_t depth_most;
	double depth_mean;
	uint64_t allocated_most, allocated_most_seq, allocated_end; /* bytes; 0 seq: none */
	uint32_t allocated_stack;
	uint64_t busy[STATS_BUCKETS]; /* in each of stats.buckets parts of stats.bucket_ns */
};

/* Nanoseconds. Quantiles are those of a histogram whose steps are 1/32 of a value, rounded up: so
 * many do not exceed it. */
struct stats_spread {
	uint64_t n, sum, least, most, half, p90, p99;
};

struct stats_copies {
	uint64_t dir; /* enum sbt_copy; a value above SBT_COPY_ANY: of fills */
	uint64_t count, timed, bytes, timed_bytes, time_ns;
	uint64_t fastest_seq;
	double fastest; /* bytes a second */
};

/* Idle time of devices that the host let pass on its way to a call with this stack, in the thread
 * that submitted what ran next. */
struct stats_blame {
	uint32_t stack; /* 0: none was recorded */
	uint64_t idle_ns;
	uint64_t waits_ns; /* of it, while the host waited for the device */
	uint64_t calls, first_seq;
};

/* Which figures there are. */
struct stats_known {
	bool times; /* some work has GPU times */
	bool order; /* work came in an order in which one pass can add it up; if not, devices,
		     * depths, blame and utilisation are left out */
};

struct stats {
	struct stats_known known;
	uint64_t first_seq, last_seq, commands;
	uint64_t begin_ns, end_ns; /* of all that was seen */
	uint64_t work, timed;
	uint64_t impossible;	       /* ended before they began: taken as without times */
	uint64_t early, early_most_ns; /* began before they were submitted: clocks differ */
	uint64_t late;		       /* work that came too late for the pass: !known.order */
	struct stats_stream *streams;
	struct stats_device *devices;
	struct stats_copies *copies; /* with fills last */
	struct stats_blame *blame;   /* the largest first */
	size_t nstreams, ndevices, ncopies, nblame;
	uint64_t blame_lost_ns;	     /* late_ns of devices that is in no row */
	struct stats_spread latency; /* of launches on a stream that had nothing else to do */
	struct stats_spread queued;  /* of all launches, from the call to the beginning */
	struct stats_spread waits;   /* of the host; needs no GPU times */
	uint64_t bucket_ns, buckets_begin_ns;
	unsigned buckets;
	struct summary sums;
};

struct stats_ask {
	uint64_t first, last;					  /* seq */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of); /* as in summary_ask */
	void *arg;
};
/* ERR_INTERRUPTED if it was cancelled; *ret is empty after an error. */
struct err *stats_make(
	struct stats *ret, struct sbt_reader *r, const struct stats_ask *ask) TS_CHECK;
void stats_free(struct stats *s);

#endif
