/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends the process when a command never finishes. The thread that called the driver cannot be
 * interrupted, so a second thread charges each wait against a limit (patience.h), tells tsdb, and
 * ends the process. It never calls the driver. A long queue of short commands must not look like a
 * hang, so a mark (an event) goes behind every few commands, and a wait for everything waits for
 * one mark after the other. The number of commands between marks adapts to how long they take: the
 * host is never far ahead of the device, so checkpoints on the way are taken in time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/patience.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-fail.h"

#define OPEN_NS 60000000000u /* a driver that starts, and code that it compiles */

static void tell(struct watchdog *w)
{
	const unsigned long long seq = atomic_load(&w->seq), after = atomic_load(&w->first);
	const unsigned long long first = after && after < seq ? after : seq;
	struct {
		struct replayer_head head;
		struct replayer_error error;
		char text[200];
	} m = {.error = {.code = REPLAYER_E_TIMEOUT, .seq = seq, .first = first}};
	int n;

	if (first < seq)
		n = snprintf(m.text, sizeof m.text,
			"one of #%llu to #%llu has not finished within %llu s", first, seq,
			(unsigned long long)(w->limit_ns / 1000000000u));
	else if (seq)
		n = snprintf(m.text, sizeof m.text, "#%llu has not finished within %llu s", seq,
			(unsigned long long)(w->limit_ns / 1000000000u));
	else
		n = snprintf(m.text, sizeof m.text, "the GPU driver has not answered within %llu s",
			(unsigned long long)(w->limit_ns / 1000000000u));
	m.head = (struct replayer_head){
		.type = REPLAYER_ERROR, .size = (uint32_t)(sizeof m.error + (size_t)n)};
	if (write(w->fd, &m, sizeof m.head + m.head.size) < 0)
		_exit(4);
	_exit(3);
}

static void *watch(void *arg)
{
	struct watchdog *w = arg;
	struct patience patience = {0};
	uint64_t seen = 0;

	for (;;) {
		const struct timespec nap = {.tv_nsec = 100000000};
		const uint64_t turn = atomic_load(&w->turn);
		int nobody = 0;

		if (turn != seen) {
			seen = turn;
			patience_begin(&patience, 0, w->limit_ns);
		}
		if (turn && patience_over(&patience) &&
			atomic_compare_exchange_strong(&w->owner, &nobody, 1)) {
			if (atomic_load(&w->turn) == turn)
				tell(w);
			atomic_store(&w->owner, 0);
		}
		nanosleep(&nap, NULL);
	}
	return NULL;
}

struct err *watchdog_start(struct rp *rp)
{
	const char *limit = getenv("TSDB_REPLAYER_TIMEOUT"),
		   *pretend = getenv("TSDB_REPLAYER_MARK_NS");
	char *end = NULL;
	double seconds = limit ? strtod(limit, &end) : 60;
	pthread_t thread;

	if (limit && (end == limit || *end || !(seconds > 0 && seconds < 1e9)))
		return err_new(ERR_USAGE,
			"TSDB_REPLAYER_TIMEOUT is \"%s\", not a number of seconds", limit);
	rp->marks.clock_ns = rp->marks.pretend_ns = pretend ? strtoul(pretend, NULL, 10) : 0;
	rp->watchdog.command_ns = (uint64_t)(seconds * 1e9);
	atomic_store(&rp->watchdog.limit_ns,
		rp->watchdog.command_ns > OPEN_NS ? rp->watchdog.command_ns : OPEN_NS);
	const int r = pthread_create(&thread, NULL, watch, &rp->watchdog);
	if (r)
		return err_sys(r, "cannot start the watchdog");
	pthread_detach(thread);
	return NULL;
}

void watchdog_on(struct rp *rp, uint64_t seq)
{
	atomic_store_explicit(&rp->watchdog.seq, seq, memory_order_relaxed);
	atomic_store_explicit(&rp->watchdog.turn, ++rp->watchdog.turns, memory_order_release);
}

void watchdog_opened(struct rp *rp)
{
	atomic_store(&rp->watchdog.limit_ns, rp->watchdog.command_ns);
}

void watchdog_off(struct rp *rp)
{
	atomic_store(&rp->watchdog.turn, 0);
}

void watchdog_claim(struct rp *rp)
{
	int nobody = 0;

	watchdog_off(rp);
	while (!atomic_compare_exchange_weak(&rp->watchdog.owner, &nobody, 2))
		nobody = 0;
}

/* --- marks --- */

/* commands between two marks: more of them when they took less than this, ... */
#define BATCH_SHORT_NS 2000000u
#define BATCH_LONG_NS 10000000u /* ... fewer when they took more than this */

uint64_t marks_clock(const struct rp *rp)
{
	return rp->marks.pretend_ns ? rp->marks.clock_ns : now_ns();
}

static void adapt(struct rp *rp)
{
	struct marks *m = &rp->marks;
	const uint64_t now = marks_clock(rp), took = now - m->passed_ns;
	const bool known = m->passed_ns;

	m->passed_ns = now;
	if (!known)
		return;
	if (took > BATCH_LONG_NS)
		m->every = m->every > 2 ? m->every / 2 : 1;
	else if (took < BATCH_SHORT_NS && m->every < MARK_EVERY_MAX)
		m->every *= 2;
}

static struct err *wait_oldest(struct rp *rp)
{
	struct marks *m = &rp->marks;
	const unsigned at = (m->head + MARKS - m->n) % MARKS;

	watchdog_on(rp, m->seq[at]);
	m->n--;
	GPU(rp, event_finish, m->event[at]);
	m->clock_ns += m->pretend_ns;
	adapt(rp);
	return NULL;
}

struct err *marks_note(struct rp *rp, uint64_t seq, struct gpu_stream *stream)
{
	struct marks *m = &rp->marks;

	if (!m->every)
		m->every = 1;
	if (++m->since < m->every)
		return NULL;
	m->since = 0;
	if (m->n == (m->every == 1 ? 1 : MARKS)) /* if commands are long, one runs and one waits */
		TRY(wait_oldest(rp));
	TRY(devices_event(rp, &m->event[m->head], &m->dev[m->head]));
	GPU(rp, event_record, m->event[m->head], stream);
	m->seq[m->head] = seq;
	m->head = (m->head + 1) % MARKS;
	m->n++;
	return NULL;
}

struct err *marks_wait(struct rp *rp)
{
	while (rp->marks.n)
		TRY(wait_oldest(rp));
	rp->marks.passed_ns = 0;
	watchdog_on(rp, rp->current);
	return NULL;
}
