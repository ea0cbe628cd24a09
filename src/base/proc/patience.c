/* SPDX-License-Identifier: Apache-2.0
 *
 * See patience.h. A window is a second, or a quarter of a short limit: long enough for the
 * scheduler of a crowded machine to come round to a thread that has work to do, so that such a
 * process is not taken for one that sleeps.
 */
#include "base/patience.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* A short file of /proc that takes no lock. */
static bool read_task(const struct patience *p, const char *name, char *text, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)(p->pid ? p->pid : getpid()),
		(int)p->tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The time in which the thread ran, and in which it was ready and had no processor, ns. The kernel
 * adds the second up when the thread gets one (Documentation/scheduler/sched-stats.rst). */
static bool read_times(const struct patience *p, uint64_t *ret_ran, uint64_t *ret_waited)
{
	char text[128];

	return read_task(p, "schedstat", text, sizeof text) &&
	       sscanf(text, "%" SCNu64 " %" SCNu64, ret_ran, ret_waited) == 2;
}

/* Whether it is ready or runs, in proc_pid_stat(5)'s third field. */
static bool is_ready(const struct patience *p)
{
	char text[128];
	const char *end = read_task(p, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;

	return end && end[1] == ' ' && end[2] == 'R';
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

uint64_t patience_charge_thread(uint64_t wall, uint64_t waited, uint64_t longest)
{
	const uint64_t most = wall < longest ? wall : longest;

	return waited < most ? most - waited : 0;
}

void patience_thread(struct patience *p, pid_t tid)
{
	struct patience now = *p;

	now.tid = tid;
	now.wall_ns = read_clock(CLOCK_MONOTONIC);
	if (read_times(&now, &now.cpu_ns, &now.waited_ns))
		*p = now;
}

/* A thread that is ready and was given no processor has not been charged with its waiting yet. */
static uint64_t charge_thread(struct patience *p, uint64_t wall, uint64_t longest)
{
	const struct patience was = *p;

	(void)read_times(p, &p->cpu_ns, &p->waited_ns); /* it has ended: all time counts */
	if (p->cpu_ns == was.cpu_ns && p->waited_ns == was.waited_ns && is_ready(p))
		return 0;
	return patience_charge_thread(wall, p->waited_ns - was.waited_ns, longest);
}

static uint64_t charge(struct patience *p, uint64_t wall, uint64_t longest)
{
	const uint64_t was = p->cpu_ns;

	if (p->tid)
		return charge_thread(p, wall, longest);
	p->cpu_ns = cpu_of(p->pid);
	return patience_charge(wall, p->cpu_ns > was ? p->cpu_ns - was : 0, longest);
}

bool patience_over(struct patience *p)
{
	const uint64_t window = p->limit_ns / 4 < WINDOW_NS ? p->limit_ns / 4 : WINDOW_NS;
	const uint64_t wall = read_clock(CLOCK_MONOTONIC) - p->wall_ns;

	if (wall >= window) {
		p->spent_ns += charge(p, wall, 2 * window);
		p->wall_ns += wall;
	}
	return p->spent_ns >= p->limit_ns;
}
