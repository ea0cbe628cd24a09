/* SPDX-License-Identifier: Apache-2.0
 *
 * Aligns clocks: those of hosts by kernels that meet (collectives), those of devices with their
 * host's by the order of events. Only arithmetic on nanoseconds.
 */
#ifndef ENGINE_CLOCKS_H
#define ENGINE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* One meeting, as two clocks saw it: neither side may end before the other has started. */
struct clock_match {
	uint64_t ref_start, ref_end; /* on the reference */
	uint64_t start, end;	     /* on the other clock */
};

/* Converts the other clock to the reference: t + offset + drift * (t - at). */
struct clock_fit {
	unsigned n;	/* number of matches it was computed from */
	uint64_t at;	/* on the other clock */
	int64_t offset; /* ns */
	double drift;	/* ns per ns: 1e-6 is 1 ppm; 0 if the matches span too little time */
	double error;	/* ns: half of the matches' ends are nearer to the line than this */
	/* no match contradicts it: no side ends before the other started by more than the error */
	bool possible;
};
/* Fits a line to the differences of the ends: the median slope and the median difference, so
 * outliers do not matter. With n 0 nothing is known, and the offset is 0. */
void clocks_fit(const struct clock_match *m, unsigned n, struct clock_fit *ret);
uint64_t clocks_apply(const struct clock_fit *f, uint64_t t);

/* The correction of a device's times lies between low and high: no work runs before it is
 * submitted, and none after the host has waited for it. */
struct clock_bounds {
	int64_t low, high;		   /* ns; INT64_MIN, INT64_MAX: not bounded */
	uint64_t first, last;		   /* host times of the first and the last bound */
	int64_t half_low[2], half_high[2]; /* of the first and the second half, around `middle` */
	uint64_t middle;
};
/* middle: a host time that halves the expected range, for the drift. */
void clocks_bounds_init(struct clock_bounds *b, uint64_t middle);
void clocks_asked(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_start_ns);
void clocks_waited(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_end_ns);
/* The accuracy of host times. Between two readings of the clock they are computed from the
 * processor's counter; a reading is accepted if it took at most 10,000 ticks
 * (capture/core/clock.c), which is 5 us at 2 GHz, and the counter's rate has the same accuracy. */
#define CLOCKS_READ_NS 10000
enum clocks_distance { CLOCKS_SAME, CLOCKS_BEHIND, CLOCKS_BEFORE, CLOCKS_UNSTEADY };
/* What the bounds prove about the device's clock: whether it differs from the host's, and to which
 * side, or nothing (SAME: no bound excludes 0 by more than CLOCKS_READ_NS). UNSTEADY: the bounds
 * contradict each other by more than the accuracy of both. */
enum clocks_distance clocks_distance(const struct clock_bounds *b);
/* The least and the most drift of the device's clock against the host's, ns per ns. Returns false
 * if too little is known. */
bool clocks_bounds_drift(const struct clock_bounds *b, double *ret_least, double *ret_most);

#endif
