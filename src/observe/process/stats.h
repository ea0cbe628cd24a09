/* SPDX-License-Identifier: Apache-2.0
 *
 * What the live table shows of one process, counted from its commands: totals, figures for each
 * kernel and each place in the program, and the same per second since the last turn. Does no I/O.
 */
#ifndef OBSERVE_STATS_H
#define OBSERVE_STATS_H

#include "observe/decode/handles.h"
#include "sbt/sbt.h"

struct observe_sums {
	uint64_t calls; /* everything below, and what has no column */
	uint64_t launches, graph_launches, fills, allocs, frees, syncs;
	uint64_t copies, copy_bytes;
	uint64_t dir[SBT_COPY_ANY + 1], dir_bytes[SBT_COPY_ANY + 1];
	uint64_t alloc_bytes, wait_ns;
};

struct observe_kernel {
	char *name;		   /* short */
	uint64_t launches, before; /* before the last turn */
	double rate;		   /* per second, between the last two turns */
	uint64_t handle;	   /* 0: its name is known */
};

struct observe_site {
	uint32_t stack;
	uint64_t calls, before;
	double rate;
};

struct observe_stats {
	struct observe_sums sums, before, rate; /* rate: per second; wait_ns: nanoseconds waited per
						   second, over all threads */
	uint64_t live, live_bytes, live_peak;	/* allocations not freed, of those that were seen */
	struct observe_kernel *kernels;		/* by id */
	unsigned nkernels;
	struct observe_site *sites;
	unsigned nsites;
	struct handles site_of; /* stack -> index + 1 */
	struct handles sizes;	/* address -> bytes */
	struct handles waits;	/* seq of a sync -> when it began */
	uint64_t turned_ns;
};

void observe_stats_init(struct observe_stats *s, uint64_t now_ns);
void observe_stats_free(struct observe_stats *s);
void observe_stats_take(struct observe_stats *s, const struct sbt_cmd *c);
/* Computes the rates since the last turn. now_ns: any clock that only goes forward. */
void observe_stats_turn(struct observe_stats *s, uint64_t now_ns);

#endif
