/* SPDX-License-Identifier: Apache-2.0
 *
 * The time since some moment in the past, CLOCK_MONOTONIC: for how long something takes and for
 * deadlines. It never goes back. Any thread.
 */
#ifndef TS_MONOTONIC_H
#define TS_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ms(void)
{
	return monotonic_ns() / 1000000;
}

#endif
