/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of day for every command, at the cost of reading the processor's time stamp counter.
 */
#ifndef CAPTURE_CLOCK_H
#define CAPTURE_CLOCK_H

#include <stdint.h>
#include "base/monotonic.h"

/* One thread's view of the clock, zeroed at first. Each thread has one, so threads do not wait for
 * each other. */
struct clock {
	uint64_t tsc, ns; /* one moment, read together */
	uint64_t rate;	  /* nanoseconds a tick, times 2^32; 0: not known yet */
	uint64_t last;	  /* the last answer */
};

/* CLOCK_REALTIME in nanoseconds. It never goes back by its own error, and is at most about a
 * microsecond off the system's clock. If the counter is not steady it is clock_gettime(). */
uint64_t clock_ns(struct clock *c);

/* Adds the time since *at, and sets *at to now. */
static inline void clock_lap(uint64_t *at, uint64_t *sum)
{
	const uint64_t now = monotonic_ns();
	*sum += now - *at;
	*at = now;
}

#endif
