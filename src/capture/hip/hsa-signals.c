/* SPDX-License-Identifier: Apache-2.0
 *
 * See hsa-signals.h. ROCclr has a handler called on a thread of the HSA runtime when the signal of
 * a batch of commands falls below 1. With a tool, the handler first loads the signals of all
 * commands of the batch, and that goes wrong in two ways:
 *
 * - Its pointers do not keep these signals alive. The program's thread, which knows that the work
 * is done, may destroy them with their queue before. So a signal is destroyed only when no handler
 *   runs, or is about to.
 * - The signal of a command that calls the host is kept at 1 while the host is called, so that its
 *   queue waits; the handler is asked for below 2. It then takes its own signal for work that is
 * not done, asks to be called below 1, and nobody is left to bring that about. So in its own
 * handler such a signal is loaded without what is kept.
 *
 * The runtime's thread gets a name, too, by which tsdb knows it: at a stop, what waits for the
 * device needs it (attach/ptrace/stops.c).
 *
 * What is wrapped is on the way of the program's own calls: no memory is allocated.
 */
#include "capture/hip/hsa-signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#include <hsa/hsa_ext_amd.h>

#include "base/monotonic.h"

/* The HSA runtime's tables (hsa_api_trace.h, which is C++): a version, then functions, to which
 * later versions only append. */
enum {
	CORE_SIGNAL_DESTROY = 38,
	CORE_SIGNAL_LOAD_RELAXED = 39,
	AMD_SIGNAL_ASYNC_HANDLER = 7,
	AMD_ASYNC_FUNCTION = 8
};
struct version {
	uint32_t major, bytes, step, reserved;
};
struct functions {
	struct version version;
	void *at[];
};
struct tables {
	struct version version;
	struct functions *core, *amd;
};

static struct {
	hsa_status_t (*destroy)(hsa_signal_t s);
	hsa_signal_value_t (*load)(hsa_signal_t s);
	hsa_status_t (*handler)(hsa_signal_t s, hsa_signal_condition_t cond, hsa_signal_value_t v,
		hsa_amd_signal_handler fn, void *arg);
	hsa_status_t (*run)(void (*fn)(void *arg), void *arg);
} real;

/* A handler that is to be called. FADES: its signal was destroyed before; the runtime forgets such
 * ones, or calls them a last time, so that its place is never used again. */
enum { FREE, TAKEN, WAITS, RUNS, FADES };
struct watch {
	_Atomic int state;
	atomic_bool waited_long; /* destroyers have waited for it in vain */
	hsa_signal_t signal;
	hsa_signal_value_t below;
	hsa_amd_signal_handler fn;
	void *arg;
	/* Kept at that much above what it would be: of a command that calls the host. */
	hsa_signal_t kept;
	hsa_signal_value_t more;
};
enum { WATCHES = 4096, PATIENCE_MS = 2000 };
static struct watch watches[WATCHES];
static _Atomic unsigned highest; /* that was ever taken, plus 1 */
static __thread struct watch *inside;

/* Held while signals of watches are loaded, and while one is destroyed. */
static pthread_mutex_t graves = PTHREAD_MUTEX_INITIALIZER;

static struct watch *take(void)
{
	for (unsigned i = 0; i < WATCHES; i++) {
		int expected = FREE;
		unsigned was = atomic_load(&highest);

		if (!atomic_compare_exchange_strong(&watches[i].state, &expected, TAKEN))
			continue;
		while (was <= i && !atomic_compare_exchange_weak(&highest, &was, i + 1))
			;
		return &watches[i];
	}
	return NULL;
}

static bool on_signal(hsa_signal_value_t value, void *arg)
{
	struct watch *w = arg, *const outer = inside;
	bool again;

	atomic_store(&w->state, RUNS);
	inside = w;
	again = w->fn(value, w->arg);
	inside = outer;
	atomic_store(&w->state, again ? WAITS : FREE);
	return again;
}

static atomic_bool named;

static void name_thread(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "tsdb-hsa");
	atomic_store(&named, true);
}

/* The thread is there from the first handler on. It is waited for: the program may stop next. */
static void find_thread(void)
{
	static atomic_bool asked;

	if (atomic_exchange(&asked, true) || real.run(name_thread, NULL) != HSA_STATUS_SUCCESS)
		return;
	for (unsigned ms = 0; ms < PATIENCE_MS && !atomic_load(&named); ms++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static hsa_status_t watch_signal(hsa_signal_t s, hsa_signal_condition_t cond, hsa_signal_value_t v,
	hsa_amd_signal_handler fn, void *arg)
{
	struct watch *w = cond == HSA_SIGNAL_CONDITION_LT ? take() : NULL;
	hsa_status_t status;

	find_thread();
	if (!w)
		return real.handler(s, cond, v, fn, arg);
	w->kept = s;
	w->more = v - 1;
	if (inside && inside->arg == arg) { /* it asks to be called again */
		w->kept = inside->kept;
		w->more = inside->more;
		v += s.handle == w->kept.handle ? w->more : 0;
	}
	w->signal = s;
	w->below = v;
	w->fn = fn;
	w->arg = arg;
	atomic_store(&w->waited_long, false);
	atomic_store(&w->state, WAITS);
	status = real.handler(s, cond, v, on_signal, w);
	if (status != HSA_STATUS_SUCCESS)
		atomic_store(&w->state, FREE);
	return status;
}

static hsa_signal_value_t load(hsa_signal_t s)
{
	const hsa_signal_value_t v = real.load(s);

	return inside && inside->kept.handle == s.handle ? v - inside->more : v;
}

/* --- the end of a signal --- */

/* Whether the handler runs, or is about to. */
static bool is_busy(const struct watch *w, hsa_signal_t dying)
{
	switch (atomic_load(&w->state)) {
	case TAKEN:
	case RUNS:
		return true;
	case WAITS:
		return w->signal.handle == dying.handle || real.load(w->signal) < w->below;
	default:
		return false;
	}
}

/* One that is busy, and has not been waited for in vain. */
static struct watch *busy_one(hsa_signal_t dying)
{
	const unsigned n = atomic_load(&highest);
	struct watch *found = NULL;

	pthread_mutex_lock(&graves);
	for (unsigned i = 0; i < n && !found; i++)
		if (!atomic_load(&watches[i].waited_long) && is_busy(&watches[i], dying))
			found = &watches[i];
	pthread_mutex_unlock(&graves);
	return found;
}

static void wait_for_handlers(hsa_signal_t dying)
{
	const uint64_t end = monotonic_ns() + PATIENCE_MS * 1000000ull;
	struct watch *w;

	while ((w = busy_one(dying))) {
		if (monotonic_ns() > end)
			atomic_store(&w->waited_long, true);
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
}

static hsa_status_t destroy(hsa_signal_t s)
{
	const unsigned n = atomic_load(&highest);
	hsa_status_t status;

	if (!inside)
		wait_for_handlers(s);
	pthread_mutex_lock(&graves);
	for (unsigned i = 0; i < n; i++) {
		int expected = WAITS;

		if (watches[i].signal.handle == s.handle)
			(void)atomic_compare_exchange_strong(&watches[i].state, &expected, FADES);
	}
	status = real.destroy(s);
	pthread_mutex_unlock(&graves);
	return status;
}

/* --- start --- */

static bool reaches(const struct functions *f, unsigned slot)
{
	return f && f->version.major == 1 &&
	       f->version.bytes >= sizeof(*f) + (slot + 1) * sizeof(void *);
}

void hsa_signals_wrap(void *table)
{
	const struct tables *t = table;

	if (!t || t->version.major != 1 || t->version.bytes < sizeof(*t) || real.load ||
		!reaches(t->core, CORE_SIGNAL_LOAD_RELAXED) || !reaches(t->amd, AMD_ASYNC_FUNCTION))
		return;
	real.destroy = (__typeof__(real.destroy))t->core->at[CORE_SIGNAL_DESTROY];
	real.load = (__typeof__(real.load))t->core->at[CORE_SIGNAL_LOAD_RELAXED];
	real.handler = (__typeof__(real.handler))t->amd->at[AMD_SIGNAL_ASYNC_HANDLER];
	real.run = (__typeof__(real.run))t->amd->at[AMD_ASYNC_FUNCTION];
	t->amd->at[AMD_SIGNAL_ASYNC_HANDLER] = (void *)(uintptr_t)watch_signal;
	t->core->at[CORE_SIGNAL_LOAD_RELAXED] = (void *)(uintptr_t)load;
	t->core->at[CORE_SIGNAL_DESTROY] = (void *)(uintptr_t)destroy;
}
