/* SPDX-License-Identifier: Apache-2.0
 *
 * The crew; see crew.h. The caller works, too, so a helper that the system does not run delays
 * nothing: a job is over when all parts were taken and nobody has one in hand. The surprise: a
 * helper counts itself as inside before it looks whether there is a job, and the caller takes the
 * job away before it looks whether any is inside; so no helper can begin with a job that is over.
 */
#include "capture/pipeline/crew.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "capture/core/driver.h"
#include "capture/core/thread.h"

#define HELPERS_MOST 7u
#define HUGE_PAGE (2u << 20)

struct job {
	crew_fn *fn;
	void *arg;
	uint64_t n;
	_Atomic uint64_t next;
};

static struct {
	_Atomic uint32_t taken; /* a job is under way, or about to be */
	_Atomic uint32_t calls; /* the futex: jobs so far, and calls to leave */
	_Atomic(struct job *) job;
	_Atomic uint32_t inside;	 /* helpers that may have the job in hand */
	_Atomic uint32_t helpers;	 /* those there are: a set of numbers from 1 on */
	_Atomic pid_t owner;		 /* in a forked child there are none; 0: not set yet */
	uint8_t *room[HELPERS_MOST + 1]; /* 0: the caller's */
} crew;

static void futex(int op, uint32_t value)
{
	(void)syscall(SYS_futex, &crew.calls, op, value, NULL, NULL, 0);
}

/* Room i, in one huge page if possible: the kernel looks up each page of it when it copies there
 * (extent.c). NULL: there is no memory. */
static uint8_t *room_of(uintptr_t i)
{
	if (!crew.room[i] && (crew.room[i] = agent_map(2 * HUGE_PAGE))) {
		crew.room[i] += -(uintptr_t)crew.room[i] % HUGE_PAGE;
		(void)madvise(crew.room[i], HUGE_PAGE, MADV_HUGEPAGE);
	}
	return crew.room[i];
}

static void work(struct job *j, uint8_t *room)
{
	for (uint64_t i; room && (i = atomic_fetch_add(&j->next, 1)) < j->n;)
		j->fn(j->arg, i, room);
}

/* --- helpers --- */

static void help(uint8_t *room)
{
	bool stranger;
	if (!thread_come_in(&stranger))
		return;
	atomic_fetch_add(&crew.inside, 1);
	struct job *j = atomic_load(&crew.job);
	if (j)
		work(j, room);
	atomic_fetch_sub(&crew.inside, 1);
	thread_go_out(stranger);
}

static void *run(void *arg)
{
	const uintptr_t number = (uintptr_t)arg;
	uint8_t *room = crew.room[number];
	uint32_t seen = 0;
	tls.inside = 1; /* its calls are not the program's */
	prctl(PR_SET_NAME, "tsdb-crew");
	while (agent_live()) {
		const uint32_t now = atomic_load(&crew.calls);
		if (now == seen)
			futex(FUTEX_WAIT_PRIVATE, now);
		else
			help(room);
		seen = now;
	}
	atomic_fetch_and(&crew.helpers, ~(1u << number));
	return NULL;
}

/* How many helpers there should be: a processor for each, and one for the caller. */
static unsigned wanted(uint64_t parts)
{
	cpu_set_t set;
	const int cpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	const uint64_t most = parts < HELPERS_MOST + 1 ? parts : HELPERS_MOST + 1;
	return cpus < 2 || most < 2 ? 0 : (unsigned)((uint64_t)cpus < most ? cpus : (int)most) - 1;
}

static bool have_helpers(uint64_t parts)
{
	const unsigned want = wanted(parts);
	if (atomic_load(&crew.owner) != getpid()) {
		atomic_store(&crew.helpers, 0);
		atomic_store(&crew.inside, 0);
		atomic_store(&crew.job, NULL);
		atomic_store(&crew.owner, getpid());
	}
	for (uintptr_t i = 1; i <= want; i++) {
		if (atomic_load(&crew.helpers) >> i & 1 || !room_of(i))
			continue;
		atomic_fetch_or(&crew.helpers, 1u << i);
		if (thread_start_with(run, (void *)i))
			atomic_fetch_and(&crew.helpers, ~(1u << i));
	}
	return want && atomic_load(&crew.helpers);
}

/* --- asking --- */

static void go(struct job *j, uint8_t *room)
{
	atomic_store(&crew.job, j);
	atomic_fetch_add(&crew.calls, 1);
	futex(FUTEX_WAKE_PRIVATE, HELPERS_MOST);
	work(j, room);
	atomic_store(&crew.job, NULL);
	for (unsigned tries = 0; atomic_load(&crew.inside); tries++)
		if (tries < 1000)
			__builtin_ia32_pause();
		else
			(void)sched_yield();
}

bool crew_do(crew_fn *fn, void *arg, uint64_t n)
{
	struct job j = {.fn = fn, .arg = arg, .n = n};
	const pid_t owner = atomic_load(&crew.owner);
	/* A child of a process that was in a job has its mark, and nobody who takes it away. */
	if (atomic_exchange(&crew.taken, 1) && (!owner || owner == getpid()))
		return false;
	uint8_t *room = room_of(0);
	const bool good = agent_live() && room && have_helpers(n);
	if (good)
		go(&j, room);
	atomic_store(&crew.taken, 0);
	return good;
}

void crew_stop(void)
{
	atomic_fetch_add(&crew.calls, 1);
	futex(FUTEX_WAKE_PRIVATE, HELPERS_MOST);
}
