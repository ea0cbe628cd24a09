/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that make GPU calls; see thread.h. A thread's end is seen by the destructor of a
 * thread-specific value. Destructors of the program that run later and make GPU calls get a new
 * state, and their end is seen in the next round of destructors.
 */
#include "capture/core/thread.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/driver.h"
#include "capture/core/gate.h"
#include "capture/stacks/stack.h"

static AGENT_KEPT pthread_key_t key;
static AGENT_KEPT bool have_key;
AGENT_KEPT _Atomic uint32_t thread_strangers;

static AGENT_KEPT struct {
	struct spin lock;
	struct thread *first;
} all;

static uint64_t work_gone; /* the last work_seq of threads that have ended; with the list locked */

/* With the list locked, so that it is before or after a debugger's leaving. */
static void end_of(struct thread *t)
{
	if (agent_live())
		ring_close(&t->ring);
	else if (t->ring.shared)
		ring_unmap(&t->ring);
	if (t->memo)
		stack_forget(t);
	if (t->page)
		agent_unmap(t->page, SBT_PAGE);
	if (atomic_load(&t->work_seq) > work_gone)
		work_gone = atomic_load(&t->work_seq);
	for (struct thread **at = &all.first; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
}

static void join(struct thread *t)
{
	spin_lock(&all.lock);
	t->next = all.first;
	all.first = t;
	spin_unlock(&all.lock);
}

bool thread_any_in(const struct thread *self, bool stopping_too)
{
	bool found = false;
	spin_lock(&all.lock);
	for (const struct thread *t = all.first; t && !found; t = t->next) {
		const uint32_t at = atomic_load_explicit(&t->at, memory_order_acquire);
		found = t != self && (at == THREAD_IN || (at == THREAD_STOPPING && !stopping_too));
	}
	spin_unlock(&all.lock);
	return found;
}

uint64_t thread_others_work(const struct thread *self)
{
	uint64_t last;
	spin_lock(&all.lock);
	last = work_gone;
	for (const struct thread *t = all.first; t; t = t->next) {
		const uint64_t seq = atomic_load_explicit(&t->work_seq, memory_order_relaxed);
		if (t != self && seq > last)
			last = seq;
	}
	spin_unlock(&all.lock);
	return last;
}

uint8_t *thread_page(struct thread *t)
{
	if (!t->page)
		t->page = agent_map(SBT_PAGE);
	return t->page;
}

static void thread_end(void *p)
{
	struct thread *t = p;
	tls.inside++;
	tls.thread = NULL;
	if (agent_owner == getpid()) { /* in a forked child the state belongs to no thread */
		spin_lock(&all.lock);
		if (!t->left)
			end_of(t);
		spin_unlock(&all.lock);
		agent_unmap_kept(t, sizeof(*t));
	}
	tls.inside--;
}

void thread_init(void)
{
	have_key = !pthread_key_create(&key, thread_end);
}

/* Finds the stack's bounds. Frame pointers are only followed within them. */
static void find_stack(struct thread *t)
{
	pthread_attr_t attr;
	void *low;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size)) {
		t->stack_low = (uintptr_t)low;
		t->stack_high = t->stack_low + size;
	}
	pthread_attr_destroy(&attr);
}

static struct thread *set_up_in(struct thread *t, bool numbered)
{
	t->tls = &tls;
	t->os_tid = (uint32_t)gettid();
	t->number = numbered ? atomic_fetch_add(&agent.control->next_thread, 1) : 0;
	/* Without a ring the thread runs on, and its records are counted as lost. */
	if (!ring_open(&t->ring)) {
		t->ring.shared->os_tid = t->os_tid;
		t->ring.shared->thread = t->number;
	}
	find_stack(t);
	join(t);
	tls.thread = t;
	if (have_key)
		pthread_setspecific(key, t);
	return t;
}

static struct thread *set_up(bool numbered)
{
	struct thread *t = tls.thread;
	atomic_fetch_add(&thread_strangers, 1);
	if (!agent_live()) { /* its debugger leaves, or has left */
		atomic_fetch_sub(&thread_strangers, 1);
		return NULL;
	}
	if (t)
		memset(t, 0, sizeof(*t)); /* it is of an earlier debugger's time */
	else
		t = agent_map_kept(sizeof(*t));
	if (t)
		set_up_in(t, numbered);
	else
		agent_count_lost();
	atomic_fetch_sub(&thread_strangers, 1);
	return t;
}

/* --- leaving --- */

/* With the list locked. */
static bool somebody_inside(void)
{
	bool found = atomic_load(&thread_strangers) != 0;
	for (const struct thread *t = all.first; t && !found; t = t->next)
		found = t->tls != &tls && *(volatile const uint32_t *)&t->tls->inside;
	return found;
}

bool thread_shut_out(unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		/* A thread that enters notes that and then checks whether the agent is live. So it
		 * sees that it is not, or it is seen here after this barrier. */
		gate_barrier();
		spin_lock(&all.lock);
		if (!somebody_inside())
			return true;
		spin_unlock(&all.lock);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

void thread_let_in(void)
{
	spin_unlock(&all.lock);
}

void thread_leave_all(void)
{
	struct thread *t;
	while ((t = all.first)) {
		all.first = t->next;
		if (t->ring.shared)
			ring_unmap(&t->ring);
		t->busy = t->in_flight = false;
		t->memo = NULL; /* these are freed with all memory */
		t->page = NULL;
		t->left = true;
	}
}

struct thread *thread_get_first(void)
{
	struct thread *t = tls.thread;
	if (__builtin_expect(t && t->left, 0))
		return set_up(true);
	if (t && !t->number)
		t->number = t->ring.shared ? (t->ring.shared->thread = atomic_fetch_add(
						      &agent.control->next_thread, 1))
					   : atomic_fetch_add(&agent.control->next_thread, 1);
	return t ? t : set_up(true);
}

struct thread *thread_get_quiet(void)
{
	return tls.thread && !tls.thread->left ? tls.thread : set_up(false);
}

static void announce_device(struct thread *t, int ordinal, uint32_t version)
{
	struct driver_device facts;
	struct sbt_cmd cmd = {.kind = SBT_DEVICE};
	struct sbt_cmd_device *d = &cmd.u.device;
	driver->device_facts(ordinal, &facts);
	d->device = (uint64_t)ordinal;
	d->device_name = (struct sbt_blob){facts.name, strnlen(facts.name, sizeof(facts.name))};
	d->sm_major = facts.major;
	d->sm_minor = facts.minor;
	d->sm_count = facts.units;
	d->total_mem = facts.memory;
	d->driver_version = version;
	d->soft = driver->is_soft();
	d->device_target =
		(struct sbt_blob){facts.target, strnlen(facts.target, sizeof(facts.target))};
	record_now(t, &cmd, SBT_F_SYNTHETIC);
}

static void announce_devices(struct thread *t)
{
	int n = 0;
	if (!driver_good(driver->device_count(&n)))
		return;
	const uint32_t version = driver->version();
	for (int i = 0; i < n; i++)
		announce_device(t, i, version);
}

void thread_announce(struct thread *t)
{
	static bool devices_out;
	char name[17] = "";
	struct sbt_cmd cmd = {.kind = SBT_THREAD};
	t->announced = true;
	spin_lock(&ids.first_sight);
	if (!devices_out && driver->is_open()) {
		devices_out = true;
		announce_devices(t);
	}
	spin_unlock(&ids.first_sight);
	prctl(PR_GET_NAME, name);
	cmd.u.thread.os_tid = t->os_tid;
	cmd.u.thread.thread_name = (struct sbt_blob){name, strnlen(name, sizeof(name))};
	record_now(t, &cmd, SBT_F_SYNTHETIC);
}

int thread_start(void *(*run)(void *arg))
{
	return thread_start_with(run, NULL);
}

int thread_start_with(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t every, old;
	int err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	err = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}
