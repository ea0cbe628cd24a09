/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's other entry: a debugger that attaches makes a thread of the program call
 * tsdb_agent_attach(). That thread may be anywhere, so the function does as little as possible: it
 * maps the control block and starts the thread "tsdb-agent", which does the rest and stays until
 * the debugger leaves or dies. Calls of the driver and of the source may wait for the device,
 * perhaps for ever. A second thread, "tsdb-late", makes them, so that the first one can always
 * leave; if it leaves the second behind, that one cleans up when its call has ended.
 */
#include "capture/core/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/clock.h"
#include "capture/memory/contexts.h"
#include "capture/memory/deadline.h"
#include "capture/core/forget.h"
#include "capture/host/bypass.h"
#include "capture/late/device-look.h"
#include "capture/late/late.h"
#include "capture/memory/room.h"
#include "capture/pipeline/crew.h"
#include "capture/pipeline/sender.h"
#include "capture/core/mark.h"
#include "capture/core/source.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define OUT_MS 3000 /* for the program's threads to leave the agent */
#define OUT_AGAIN_MS 20
#define WORK_MS 1000	     /* for a call of tsdb-late's */
#define LOOK_NS 100000000    /* how soon a debugger's death is noticed */
#define LOOK_SOON_NS 5000000 /* how soon the end of cuInit() is noticed */
#define LOADS_US_NS 20000000 /* from the driver's first answer until cuInit() loads the agent */

static AGENT_KEPT _Atomic uint32_t busy; /* the thread runs */
/* the next control block, for the agent's thread to change to */
static AGENT_KEPT char left_for[128];
static AGENT_KEPT _Atomic uint32_t working;   /* tsdb-late runs */
static AGENT_KEPT _Atomic uint32_t work_over; /* it has to end */
/* a thread was still inside the agent when a debugger left */
static AGENT_KEPT _Atomic uint32_t stuck;

static void set_variable(const struct source *s, const void *path)
{
	setenv(s->variable, path, 0);
}

static bool is_initialised(void)
{
	return source_find() && (driver->is_open() || !driver->open()) && driver->is_started();
}

/* Makes a driver that is initialised later load the agent, so that nothing is missed. Done once in
 * the life of the process. */
static void announce(void)
{
	static AGENT_KEPT bool done;
	Dl_info info;
	if (done || !dladdr((void *)(uintptr_t)announce, &info) || !info.dli_fname)
		return;
	done = true;
	source_each(set_variable, info.dli_fname);
}

static void start_late(struct tsdb_control *c)
{
	late_before();
	late_look();
	atomic_store(&c->late, TSDB_LATE_SOURCE);
	agent_start();
	atomic_store(&c->late, TSDB_LATE_CONTEXTS);
	if (atomic_load(&c->agent_state) == TSDB_AGENT_UP)
		late_contexts();
}

/* Returns false if the driver is not there, or is being initialised right now, when CUPTI should
 * not be started beside it. Its cuInit() loads the agent if it has not read the environment yet;
 * otherwise the agent starts when cuInit() is done. */
static bool begin(struct tsdb_control *c)
{
	const uint64_t from = monotonic_ns();
	atomic_store(&c->agent_state, TSDB_AGENT_STARTING);
	atomic_store(&c->late, TSDB_LATE_LOOKS);
	/* The environment belongs to the program, so it is changed only if needed. */
	if (!is_initialised())
		announce();
	const bool started = is_initialised();
	if (started) {
		start_late(c);
	} else { /* unless cuInit() loads the agent just now */
		uint32_t starting = TSDB_AGENT_STARTING;
		atomic_compare_exchange_strong(&c->agent_state, &starting, TSDB_AGENT_WAITING);
	}
	atomic_store(&c->late, TSDB_LATE_UP);
	atomic_store(&c->start_ns, monotonic_ns() - from); /* tsdb waits for this */
	return started;
}

/* Whether the program has initialised the driver without the agent: the environment was changed too
 * late, or by the program. */
static bool was_passed_over(void)
{
	if (agent.started || !is_initialised())
		return false;
	nanosleep(&(struct timespec){.tv_nsec = LOADS_US_NS}, NULL);
	return !agent.started;
}

/* Opens the driver for "tsdb-look", and asks it a little by itself. */
static void only_look(struct tsdb_control *c)
{
	const uint64_t from = monotonic_ns();
	atomic_store(&c->agent_state, TSDB_AGENT_STARTING);
	atomic_store(&c->late, TSDB_LATE_LOOKS);
	if (is_initialised())
		late_look();
	atomic_store(&c->late, TSDB_LATE_UP);
	atomic_store(&c->start_ns, monotonic_ns() - from);
	uint32_t starting = TSDB_AGENT_STARTING;
	atomic_compare_exchange_strong(&c->agent_state, &starting, TSDB_AGENT_LOOKS);
}

static void attend(struct tsdb_control *c)
{
	const struct timespec most = {.tv_nsec = LOOK_NS}, soon = {.tv_nsec = LOOK_SOON_NS};
	bool started = begin(c);
	while (!atomic_load(&work_over)) {
		if (!started && was_passed_over())
			start_late(c);
		started |= atomic_load(&agent.started) != 0;
		late_work();
		(void)syscall(SYS_futex, &c->leave, FUTEX_WAIT, 0,
			!started && source_find() ? &soon : &most, NULL, 0);
	}
	if (!agent_live() && agent.source) /* the debugger did not wait for this */
		agent.source->stop();
}

/* Waits until all threads are out, and resets everything to its state when the library was loaded.
 * Returns false if a thread is inside, perhaps in a call of the driver that does not end. */
static bool clear_out(unsigned ms)
{
	if (!thread_shut_out(ms))
		return false;
	room_release();
	device_give_back();
	thread_leave_all();
	forget_all();
	thread_let_in();
	return true;
}

/* Whether a thread that was inside when the last debugger left is still there. With `busy`. */
static bool is_stuck(unsigned ms)
{
	struct tsdb_control *c = agent.control;
	if (!atomic_load(&stuck))
		return false;
	if (!clear_out(ms))
		return true;
	agent_unmap_control(c);
	atomic_store(&stuck, 0);
	return false;
}

/* Frees what was left behind, unless tsdb-late is in its call, or another thread does it. Both
 * threads try at their end, so the last one succeeds. */
static void clear_up(void)
{
	if (!atomic_load(&stuck) || atomic_load(&working) || atomic_exchange(&busy, 1))
		return;
	(void)is_stuck(OUT_MS);
	atomic_store(&busy, 0);
}

static void *work(void *arg)
{
	struct tsdb_control *c = arg;
	tls.inside = 1;
	prctl(PR_SET_NAME, "tsdb-late");
	if (c->look_only)
		only_look(c);
	else
		attend(c);
	atomic_fetch_sub(&thread_strangers, 1);
	atomic_store(&working, 0);
	clear_up();
	return NULL;
}

static bool start_work(struct tsdb_control *c)
{
	atomic_store(&work_over, 0);
	atomic_store(&working, 1);
	atomic_fetch_add(&thread_strangers, 1); /* it may not get a state */
	if (!thread_start_with(work, c))
		return true;
	atomic_fetch_sub(&thread_strangers, 1);
	atomic_store(&working, 0);
	agent_refuse("the program's process can start no more threads");
	return false;
}

/* Ends tsdb-late. Returns false if it is in a call that does not end. */
static bool end_work(struct tsdb_control *c)
{
	atomic_store(&work_over, 1);
	atomic_store(&c->leave, 1); /* if the debugger died: searches are given up */
	(void)syscall(SYS_futex, &c->leave, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
	for (unsigned i = 0; i < WORK_MS && atomic_load(&working); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return !atomic_load(&working);
}

static void await_end(struct tsdb_control *c)
{
	const struct timespec most = {.tv_nsec = LOOK_NS};
	while (!atomic_load(&c->leave) && !agent_debugger_gone(c))
		(void)syscall(SYS_futex, &c->leave, FUTEX_WAIT, 0, &most, NULL, 0);
}

/* Loading code may wait for the device. */
static struct driver_result find_last(void *arg)
{
	late_last();
	return driver->answer(DRIVER_OK);
}

/* Ends open windows while tsdb still listens. */
static void end_windows(void)
{
	struct driver_result r;
	window_leave(atomic_load(&window_open) ? thread_get() : NULL);
	(void)deadline_run(find_last, NULL, deadline_limit(), &r);
	if (agent.source)
		agent.source->flush(true);
}

/* Frees everything that tsdb-late does not use. */
static void leave_behind(struct tsdb_control *c)
{
	agent_retire();
	sender_stop();
	crew_stop();
	deadline_stop();
	device_look_stop();
	atomic_store(&stuck, 1);
	atomic_store(&c->agent_state, TSDB_AGENT_LEFT);
}

static void leave(struct tsdb_control *c, bool listened_to)
{
	if (!end_work(c)) {
		leave_behind(c);
		return;
	}
	if (listened_to && agent_live() && !c->look_only)
		end_windows();
	if (agent.source)
		agent.source->stop();
	agent_retire();
	late_over();
	sender_stop();
	crew_stop();
	deadline_stop();
	device_look_stop();
	atomic_store(&stuck, !clear_out(OUT_MS));
	atomic_store(&c->agent_state, TSDB_AGENT_LEFT);
	if (!atomic_load(&stuck))
		agent_unmap_control(c);
}

/* Whether the agent still serves a debugger that has left. */
static bool is_left(void)
{
	return agent_live() &&
	       (atomic_load(&agent.control->leave) || agent_debugger_gone(agent.control));
}

/* Returns false if the new block cannot be mapped, or a thread is stuck. */
static bool change_block(void)
{
	leave(agent.control, false);
	return !atomic_load(&stuck) && !agent_reopen(left_for);
}

static void *live(void *arg)
{
	tls.inside = 1;
	prctl(PR_SET_NAME, "tsdb-agent");
	if (is_left() && !change_block()) {
		atomic_store(&busy, 0);
		return NULL;
	}
	struct tsdb_control *c = agent.control;
	mark_doors();
	device_look_start();
	device_look_await();
	if (start_work(c))
		await_end(c);
	leave(c, !agent_debugger_gone(c));
	atomic_store(&busy, 0);
	clear_up();
	return NULL;
}

/* A child of fork() has the agent's memory, but not its threads, and is not debugged by the
 * parent's debugger. */
static void after_fork(void)
{
	const pid_t before = agent_owner;
	struct tsdb_control *c = agent.control;
	agent_owner = getpid();
	if (!before || before == agent_owner)
		return;
	agent_retire();
	thread_leave_all();
	forget_all();
	thread_let_in(); /* the thread that locked the list is not in the child */
	atomic_store(&thread_strangers, 0);
	if (c)
		agent_unmap_control(c);
	atomic_store(&stuck, 0);
	atomic_store(&busy, 0);
	atomic_store(&working, 0);
}

static int attach(const char *path)
{
	after_fork();
	if (atomic_exchange(&busy, 1))
		return -EBUSY;
	if (is_stuck(OUT_AGAIN_MS)) {
		atomic_store(&busy, 0);
		return -EBUSY;
	}
	if (is_left() && strlen(path) < sizeof(left_for))
		strcpy(left_for, path);
	bypass_forked(); /* children of before are not known */
	int err = is_left() ? 0 : agent_reopen(path);
	if (!err && (err = thread_start(live)))
		agent_retire();
	if (err)
		atomic_store(&busy, 0);
	return err;
}

/* Returns 0, or -errno: nothing will happen. The value is also in *result (may be NULL), for
 * callers that do not see registers. See "Attach" in wire.h. */
AGENT_PUBLIC int tsdb_agent_attach(const char *control_path, int *result);
int tsdb_agent_attach(const char *control_path, int *result)
{
	const int saved = errno;
	const int err = attach(control_path);
	if (result)
		*result = err;
	errno = saved;
	return err;
}
