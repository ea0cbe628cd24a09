/* SPDX-License-Identifier: Apache-2.0
 *
 * See patience.h. A window is a second, or a quarter of a short limit: long enough for the
 * scheduler of a crowded machine to come round to a thread that has work to do, so that such a
 * process is not taken for one that sleeps.
 */
#include "base/patience.h"

#include <time.h>

#define WINDOW_NS 1000000000u
#define WORKS 50 /* a process with a 50th of the time works */
#define LEAST 10 /* of its time a tenth counts at least */

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	return clock_gettime(id, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processor time of the process, ns; 0 when it has ended. */
static uint64_t cpu_of(pid_t pid)
{
	clockid_t id = CLOCK_PROCESS_CPUTIME_ID;

	return pid && clock_getcpuclockid(pid, &id) ? 0 : read_clock(id);
}

void patience_begin(struct patience *p, pid_t pid, uint64_t limit_ns)
{
	*p = (struct patience){.pid = pid,
		.limit_ns = limit_ns,
		.wall_ns = read_clock(CLOCK_MONOTONIC),
		.cpu_ns = cpu_of(pid)};
}

uint64_t patience_charge(uint64_t wall, uint64_t cpu, uint64_t longest)
{
	const uint64_t most = wall < longest ? wall : longest;

	if (cpu < wall / WORKS)
		return most;
	if (cpu < most / LEAST)
		return most / LEAST;
	return cpu < most ? cpu : most;
}

bool patience_over(struct patience *p)
{
	const uint64_t window = p->limit_ns / 4 < WINDOW_NS ? p->limit_ns / 4 : WINDOW_NS;
	const uint64_t wall = read_clock(CLOCK_MONOTONIC) - p->wall_ns;

	if (wall >= window) {
		const uint64_t cpu = cpu_of(p->pid);

		p->spent_ns +=
			patience_charge(wall, cpu > p->cpu_ns ? cpu - p->cpu_ns : 0, 2 * window);
		p->wall_ns += wall;
		p->cpu_ns = cpu;
	}
	return p->spent_ns >= p->limit_ns;
}
