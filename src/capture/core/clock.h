/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of day for every command, for the price of reading the processor's time stamp counter.
 */
#ifndef CAPTURE_CLOCK_H
#define CAPTURE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A thread's own view of the clock, zeroed at first: no thread waits for another. */
struct clock {
	uint64_t tsc, ns;  /* one moment, read together */
	uint64_t rate;	   /* nanoseconds a tick, times 2^32; 0: not known yet */
	uint64_t last;	   /* what was answered last */
};

/* CLOCK_REALTIME in nanoseconds, never less than this thread's last answer by its own doing; at most about a
 * microsecond off the system's clock. Where the counter is not steady it is clock_gettime(). */
uint64_t clock_ns(struct clock *c);

/* CLOCK_MONOTONIC in nanoseconds: for how long something took. */
static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Adds the time since *at, which becomes now. */
static inline void clock_lap(uint64_t *at, uint64_t *sum)
{
	const uint64_t now = clock_monotonic_ns();
	*sum += now - *at;
	*at = now;
}

#endif
