/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's thread, late; see late.h.
 */
#include "capture/late/late.h"

#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/calls.h"
#include "capture/core/clock.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/objects/ids.h"
#include "capture/objects/live.h"
#include "capture/core/thread.h"

#define DEVICES_MAX 64
#define STREAMS_TOLD 16
#define IDLE_MS 10000
#define ALL_MS 60000
/* for calls that were under way when the source started: they are not seen */
#define GRACE_NS 20000000

static struct {
	_Atomic uint32_t finding; /* memory has not been looked for */
} late;

_Atomic uint64_t late_steps;

static void tell(
	struct thread *t, enum sbt_attach what, const struct discover_sums *sums, uint64_t contexts)
{
	struct sbt_cmd cmd = {.kind = SBT_ATTACH};
	struct sbt_cmd_attach *a = &cmd.u.attach;
	a->what = what;
	a->contexts = contexts;
	if (sums) {
		a->allocations = sums->allocations;
		a->bytes = sums->bytes;
		a->probed = sums->probed;
		a->step = sums->step;
		a->missed = sums->missed;
		a->took = sums->took_ns;
	}
	a->module = SBT_NO_ID;
	record_in(t, &cmd, SBT_F_SYNTHETIC, SBT_NO_ID);
}

void late_before(void)
{
	if (driver->open() || !driver->is_started())
		return; /* there is nothing to find */
	atomic_store(&late.finding, 1);
	discover_begin();
	live_doubt();
	/* The commands that follow are not the program's first ones. */
	atomic_store(&calls_any, 1);
	struct thread *t = thread_get();
	if (!t)
		return;
	thread_announce(t);
	/* now: objects that are met once the source has started come after it */
	tell(t, SBT_ATTACH_BEGINS, NULL, 0);
}

/* Introduces the primary contexts; others are introduced when a call names them, or memory that
 * they own. */
static void find_contexts(struct thread *t)
{
	int n = 0;
	if (!driver->can(DRIVER_CAN_FIND) || !driver_good(driver->device_count(&n)))
		return;
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		const uint64_t ctx = driver->context_hold(i);
		if (!ctx)
			continue;
		if (driver_good(driver->context_enter(ctx))) {
			(void)ids_introduce_ctx(t, ctx);
			driver->context_leave();
		}
		driver->context_let_go(i);
	}
}

static bool enter_any(void *arg, uint64_t key, uint64_t value)
{
	return driver_good(driver->context_enter(key)) && (*(bool *)arg = true);
}

/* Finds memory. Questions about addresses need a context: without a primary one they wait for the
 * first that a call names. */
static void find_memory(struct thread *t)
{
	struct discover_sums sums;
	bool entered = false;
	map_each(&ids.ctxs, enter_any, &entered);
	if (!entered)
		return;
	nanosleep(&(struct timespec){.tv_nsec = GRACE_NS}, NULL);
	const uint64_t from = monotonic_ns();
	if (!discover_all(t, &sums)) {
		driver->context_leave();
		return;
	}
	discover_verify(t);
	sums.took_ns = monotonic_ns() - from;
	driver->context_leave();
	tell(t, SBT_ATTACH_FOUND, &sums, atomic_load(&ids.next_ctx));
	if (discover_is_complete())
		live_complete();
	atomic_store(&late.finding, 0);
}

/* Adds a line to control.busy; returns false if it is full. */
static bool add_line(size_t *at, const char *text)
{
	char *to = agent.control->busy;
	const size_t n = strlen(text);
	if (n + 2 > TSDB_BUSY_MAX - *at)
		return false;
	memcpy(to + *at, text, n);
	to[*at + n] = '\n';
	to[ *at += n + 1] = '\0';
	return true;
}

/* The driver does not list streams: of each primary context it asks about the default stream. */
static void look_at_contexts(size_t *at)
{
	int n = 0;
	if (!driver->can(DRIVER_CAN_FIND | DRIVER_CAN_READ) ||
		!driver_good(driver->device_count(&n)))
		return;
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		char text[96];
		const uint64_t ctx = driver->context_hold(i);
		if (!ctx)
			continue;
		if (driver_good(driver->context_enter(ctx))) {
			const struct driver_result r = driver->stream_query(STREAM_LEGACY);
			if (r.status == DRIVER_NOT_READY)
				snprintf(text, sizeof(text),
					"device %d: the default stream has work", i);
			else if (!driver_good(r))
				snprintf(text, sizeof(text), "device %d: %s error %u", i,
					driver->api, r.code);
			else
				snprintf(text, sizeof(text),
					"device %d: the default stream has no work; other streams are not known yet",
					i);
			(void)add_line(at, text);
			driver->context_leave();
		}
		driver->context_let_go(i);
	}
}

void late_look(void)
{
	int (*const soft_busy)(unsigned i, char *text, unsigned size) =
		(int (*)(unsigned, char *, unsigned))(uintptr_t)driver->symbol("tsdb_soft_busy");
	char text[512];
	size_t at = 0;
	if (!driver->is_started())
		return;
	for (unsigned i = 0; soft_busy && i < STREAMS_TOLD &&
			     soft_busy(i, text, sizeof(text)) == 1 && add_line(&at, text);
		i++)
		;
	if (!soft_busy)
		look_at_contexts(&at);
}

void late_contexts(void)
{
	struct thread *t = atomic_load(&late.finding) ? thread_get() : NULL;
	if (t)
		find_contexts(t);
}

void late_work(void)
{
	struct thread *t = discover_watched() ? thread_get() : NULL;
	if (!t)
		return;
	if (atomic_load(&late.finding))
		find_memory(t);
	driver->old_code_find(t);
}

void late_last(void)
{
	struct thread *t = discover_watched() ? thread_get() : NULL;
	if (t)
		driver->old_code_find(t);
}

void late_over(void)
{
	discover_end();
	driver->old_code_forget();
	atomic_store(&late.finding, 0);
}

void late_wake(void)
{
	(void)syscall(SYS_futex, &agent.control->leave, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

bool late_wait(struct late_patience *p)
{
	const uint64_t steps = atomic_load_explicit(&late_steps, memory_order_relaxed);
	p->idle = steps == p->steps ? p->idle + 1 : 0;
	p->steps = steps;
	if (p->idle > IDLE_MS || ++p->all > ALL_MS)
		return false;
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return true;
}

bool late_is_finding(void)
{
	return atomic_load_explicit(&late.finding, memory_order_relaxed) != 0;
}

bool late_settle(struct thread *t)
{
	struct late_patience patience = {0};
	while (agent_live() && discover_watched() &&
		(atomic_load(&late.finding) || driver->old_code_waiting())) {
		discover_hurry();
		if (!late_wait(&patience))
			break;
	}
	discover_verify(t);
	return !discover_watched() || (!atomic_load(&late.finding) && !driver->old_code_waiting());
}
