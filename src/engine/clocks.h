/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing clocks together: of hosts, by kernels that meet (collectives), and of devices against their host, by what has to come before what. Pure
 * arithmetic on nanoseconds.
 */
#ifndef ENGINE_CLOCKS_H
#define ENGINE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* One meeting, as two clocks saw it: on none of the two sides may it end before the other side's has started. */
struct clock_match {
	uint64_t ref_start, ref_end; /* on the reference */
	uint64_t start, end;	     /* on the other clock */
};

/* From the other clock to the reference: t + offset + drift * (t - at). */
struct clock_fit {
	unsigned n;	   /* matches it was made of */
	uint64_t at;	   /* on the other clock */
	int64_t offset;	   /* ns */
	double drift;	   /* ns a ns: 1e-6 is 1 ppm; 0 when they span too little time to say */
	double error;	   /* ns: half of the matches' ends are nearer to the line than this */
	bool possible;	   /* no match contradicts it: nowhere would a side end before the other started, by more than the error */
};
/* The line through the differences of the ends: the median slope and the median difference, so that stragglers do not count. n 0: nothing is
 * known, offset 0. */
void clocks_fit(const struct clock_match *m, unsigned n, struct clock_fit *ret);
uint64_t clocks_apply(const struct clock_fit *f, uint64_t t);

/* What has to be added to a device's times lies between low and high: nothing runs before it is asked for, nor after somebody has waited for it. */
struct clock_bounds {
	int64_t low, high;     /* ns; INT64_MIN, INT64_MAX: not bounded */
	uint64_t first, last;  /* host times of the first and the last that was said */
	int64_t half_low[2], half_high[2]; /* of the first and the second half, around `middle` */
	uint64_t middle;
};
/* middle: a host time that halves what is to come, for the drift. */
void clocks_bounds_init(struct clock_bounds *b, uint64_t middle);
void clocks_asked(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_start_ns);
void clocks_waited(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_end_ns);
/* Host times are as good as that: between two readings of the clock they are made of the processor's counter, and a reading counts when it took 10,000 ticks at most
 * (capture/core/clock.c), which is 5 us at 2 GHz; the counter's rate is as good again. */
#define CLOCKS_READ_NS 10000
enum clocks_distance { CLOCKS_SAME, CLOCKS_BEHIND, CLOCKS_BEFORE, CLOCKS_UNSTEADY };
/* What the bounds prove about the device's clock: that it is not the host's, and on which side, or nothing (SAME: no bound excludes 0 by more than CLOCKS_READ_NS).
 * UNSTEADY: they contradict each other by more than both could be wrong. */
enum clocks_distance clocks_distance(const struct clock_bounds *b);
/* How fast the device's clock may go away from the host's, ns a ns, between *ret_least and *ret_most. False: too little is known. */
bool clocks_bounds_drift(const struct clock_bounds *b, double *ret_least, double *ret_most);

#endif
