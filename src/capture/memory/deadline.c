/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls with a deadline; see deadline.h. There is one thread and one call at a time. The caller
 * counts its own turns, so on a busy machine it counts slowly.
 */
#include "capture/memory/deadline.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/agent.h"
#include "capture/core/thread.h"

#define DEFAULT_MS 5000u
#define TURN_NS 100000
#define TURNS 10u /* of a millisecond */

enum { FREE, CLAIMED, ASKED, RUNS, DONE, ABANDONED };

static struct {
	struct spin starting;
	pid_t thread_of; /* the process that has the thread; a child of fork() does not have it */
	_Atomic uint32_t state; /* a futex word */
	struct driver_result (*fn)(void *arg);
	void *arg;
	struct driver_result result;
} door;
static __thread bool is_door;

static void wake(void)
{
	(void)syscall(SYS_futex, &door.state, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static void change(uint32_t to)
{
	atomic_store(&door.state, to);
	wake();
}

static void do_call(void)
{
	uint32_t asked = ASKED, runs = RUNS;
	if (!atomic_compare_exchange_strong(&door.state, &asked, RUNS))
		return; /* the caller gave up before it began */
	door.result = door.fn(door.arg);
	if (atomic_compare_exchange_strong(&door.state, &runs, DONE))
		wake();
	else
		change(FREE); /* the caller does not wait for the result any more */
}

static void *run(void *arg)
{
	const struct timespec second = {.tv_sec = 1};
	tls.inside = 1; /* its calls are not the program's */
	is_door = true;
	prctl(PR_SET_NAME, "tsdb-device");
	(void)driver->relax();
	while (agent_live()) {
		const uint32_t state = atomic_load(&door.state);
		if (state == ASKED)
			do_call();
		else
			(void)syscall(SYS_futex, &door.state, FUTEX_WAIT_PRIVATE, state, &second,
				NULL, 0);
	}
	atomic_fetch_sub(&thread_strangers, 1);
	return NULL;
}

static bool start(void)
{
	spin_lock(&door.starting);
	bool good = door.thread_of == getpid();
	if (!good) {
		atomic_store(&door.state, FREE);
		atomic_fetch_add(&thread_strangers, 1);
		good = !thread_start(run);
		if (good)
			door.thread_of = getpid();
		else
			atomic_fetch_sub(&thread_strangers, 1);
	}
	spin_unlock(&door.starting);
	return good;
}

/* Sleeps while the door is in that state, for a turn at most. Returns false if the turns are used
 * up. */
static bool take_turn(unsigned *turns, uint32_t state)
{
	const struct timespec turn = {.tv_nsec = TURN_NS};
	if (!*turns || !agent_live())
		return false;
	--*turns;
	(void)syscall(SYS_futex, &door.state, FUTEX_WAIT_PRIVATE, state, &turn, NULL, 0);
	return true;
}

static bool claim(unsigned *turns)
{
	uint32_t is_free = FREE;
	while (!atomic_compare_exchange_strong(&door.state, &is_free, CLAIMED)) {
		if (!take_turn(turns, is_free))
			return false;
		is_free = FREE;
	}
	return true;
}

unsigned deadline_limit(void)
{
	const uint32_t ms = atomic_load(&agent.control->gpu_timeout);
	return ms ? ms : DEFAULT_MS;
}

/* The turns are used up, or the call has ended: then it returns false. */
static bool gave_up(void)
{
	uint32_t asked = ASKED, runs = RUNS;
	if (atomic_compare_exchange_strong(&door.state, &asked, CLAIMED)) {
		change(FREE); /* it did not begin */
		return true;
	}
	return atomic_compare_exchange_strong(&door.state, &runs, ABANDONED);
}

bool deadline_run(
	struct driver_result (*fn)(void *arg), void *arg, unsigned ms, struct driver_result *ret)
{
	unsigned turns = ms > UINT32_MAX / TURNS ? UINT32_MAX : ms * TURNS;
	uint32_t state;
	if (is_door || !start()) {
		*ret = fn(arg);
		return true;
	}
	if (!claim(&turns))
		return false;
	door.fn = fn;
	door.arg = arg;
	change(ASKED);
	while ((state = atomic_load(&door.state)) != DONE && take_turn(&turns, state))
		;
	if (gave_up())
		return false;
	*ret = door.result;
	change(FREE);
	return true;
}

void deadline_stop(void)
{
	wake();
}
