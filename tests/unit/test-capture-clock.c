/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's clock against the system's: every answer lies between two of the system's, give or
 * take what its rate may be off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <time.h>
#include "capture/core/clock.h"

static uint64_t system_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void is_the_time_of_day(void **state)
{
	const uint64_t slack = 20000,
		       end = system_ns() +
			     300000000u; /* a rate learnt in 1 ms, 100 ppm off, for 20 ms: 2 us */
	struct clock c = {0};
	uint64_t before, now, last = 0;

	while ((before = system_ns()) < end) {
		now = clock_ns(&c);
		assert_in_range(now, before - slack, system_ns() + slack);
		assert_true(now >= last);
		last = now;
	}
}

/* A thread that slept for longer than a moment is good for asks again. */
static void after_a_sleep(void **state)
{
	struct clock c = {0};
	uint64_t before;

	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 20000; k++)
			(void)clock_ns(&c);
		nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
		before = system_ns();
		assert_in_range(clock_ns(&c), before - 20000, system_ns() + 20000);
	}
}

/* The day's time was set back by an hour: believed, once the clock asks again. */
static void set_back(void **state)
{
	struct clock c = {0};
	uint64_t before;

	(void)clock_ns(&c);
	c.ns += 3600000000000u;
	c.last = c.ns;
	c.rate = 0;
	before = system_ns();
	assert_in_range(clock_ns(&c), before - 20000, system_ns() + 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_time_of_day),
		cmocka_unit_test(after_a_sleep),
		cmocka_unit_test(set_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
