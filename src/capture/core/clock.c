/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock, see clock.h. clock_gettime() waits for all earlier loads (its counter read is fenced),
 * which costs more than the reading itself. So it is called every 20 ms, which also gives the
 * counter's rate, and in between only the counter is read.
 */
#include "capture/core/clock.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

#define ASK_AGAIN_NS 20000000u
#define TOGETHER_TICKS 10000u

/* Intel SDM vol. 3, 18.17.1: CPUID.80000007H:EDX[8], the counter runs at a constant rate in all
 * power states. */
static bool is_steady(void)
{
	static _Atomic int known; /* 1 no, 2 yes */
	int k = atomic_load_explicit(&known, memory_order_relaxed);
	unsigned a, b, c, d;

	if (!k) {
		k = __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8 ? 2 : 1;
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 2;
}

static uint64_t system_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Remembers a new moment, and the rate since the previous one if plausible (the time of day may
 * have been set). */
static uint64_t ask(struct clock *c)
{
	const uint64_t tsc = __rdtsc(), ns = system_ns();
	const uint64_t ticks = tsc - c->tsc, passed = ns - c->ns;

	if (__rdtsc() - tsc > TOGETHER_TICKS)
		return ns; /* interrupted in between: the moment is not remembered */

	/* Between 1 ms and 4 s, at 0.25 to 10 ticks a nanosecond; a longer time would overflow
	 * below. */
	if (c->tsc && passed >= 1000000u && passed < 4000000000u && ticks / 10 < passed &&
		ticks > passed / 4)
		c->rate = (passed << 32) / ticks;
	else if (passed >= 4000000000u)
		c->rate = 0;
	if (passed >= 1000000u) {
		c->tsc = tsc;
		c->ns = ns;
	}
	return ns;
}

uint64_t clock_ns(struct clock *c)
{
	const uint64_t ticks = __rdtsc() - c->tsc;
	uint64_t ns;

	if (__builtin_expect(c->rate && ticks < 1u << 28, 1)) {
		ns = c->ns + (ticks * c->rate >> 32);
		if (__builtin_expect(ns - c->ns < ASK_AGAIN_NS, 1))
			goto out;
	}
	if (!is_steady())
		return system_ns();
	ns = ask(c);
out:
	if (ns < c->last && c->last - ns < 1000000u)
		/* the counter ran a little fast; a clock that was set back is accepted */
		return c->last;
	c->last = ns;
	return ns;
}
