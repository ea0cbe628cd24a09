/* SPDX-License-Identifier: Apache-2.0
 *
 * What the device has finished, see device-look.h. The surprise: a handle is asked about only if
 * the agent knows it as alive. The program's threads stand still, so it stays alive meanwhile.
 */
#include "capture/late/device-look.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/checked.h"
#include "capture/core/agent.h"
#include "capture/core/driver.h"
#include "capture/core/gate.h"
#include "capture/core/thread.h"
#include "capture/host/extent.h"
#include "capture/objects/ids.h"

/* some seconds; more where nothing gets a processor */
#define AWAIT_TURNS 10000u
/* Samples of an allocation, evenly apart: they travel beside kernels that run. */
#define SAMPLES 16u
#define SAMPLE_BYTES 4096u

static AGENT_KEPT _Atomic pid_t thread_of; /* the process that has the thread */

static void futex(struct tsdb_control *c, int op, uint32_t value)
{
	(void)syscall(SYS_futex, &c->look.asked, op, value, NULL, NULL, 0);
}

static struct driver_result in_range(uint64_t addr, uint64_t n)
{
	uint64_t begin, bytes;
	const struct driver_result r = driver->mem_range(addr, &begin, &bytes);

	return driver_good(r) && !range_within(addr, n, begin, bytes)
		       ? driver->answer(DRIVER_NOT_VALID)
		       : r;
}

/* A copy on a stream of its own goes through beside a kernel that spins. */
static struct driver_result copy(uint64_t addr, void *to, size_t n)
{
	uint64_t s;
	struct driver_result r = in_range(addr, n);

	if (!driver_good(r) || !driver_good(r = driver->stream_create(&s)))
		return r;
	r = driver->copy_to_host(to, addr, n, s);
	if (driver_good(r))
		r = driver->stream_finish(s);
	(void)driver->stream_destroy(s);
	return r;
}

static uint64_t add_words(uint64_t h, const uint64_t *w, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

static struct driver_result sum_samples(uint64_t addr, uint64_t size, uint64_t s, uint64_t *ret)
{
	static uint64_t sample[SAMPLE_BYTES / 8]; /* of the one thread that looks */
	const uint64_t step = size / SAMPLES > SAMPLE_BYTES ? size / SAMPLES & ~7ull : SAMPLE_BYTES;
	struct driver_result r = driver->answer(DRIVER_OK);
	uint64_t h = size;

	for (uint64_t at = 0, i = 0; i < SAMPLES && at < size && driver_good(r); i++, at += step) {
		const uint64_t n = size - at < SAMPLE_BYTES ? (size - at) & ~7ull : SAMPLE_BYTES;

		if (!n || !driver_good(r = driver->copy_to_host(sample, addr + at, n, s)) ||
			!driver_good(r = driver->stream_finish(s)))
			break;
		h = add_words(h, sample, n);
	}
	*ret = h;
	return r;
}

static struct driver_result sum(uint64_t addr, uint64_t size, uint64_t *ret)
{
	uint64_t s;
	struct driver_result r = in_range(addr, size);

	if (!driver_good(r) || !driver_good(r = driver->stream_create(&s)))
		return r;
	r = sum_samples(addr, size, s, ret);
	(void)driver->stream_destroy(s);
	return r;
}

static struct driver_result read_bytes(struct tsdb_question *q)
{
	uint64_t value = 0;
	struct driver_result r;

	if (q->kind == TSDB_ASK_DEVICE_SUM)
		return sum(q->handle, q->value, &q->value);
	if (!q->id || q->id > sizeof(value))
		return driver->answer(DRIVER_NOT_VALID);
	if (q->kind == TSDB_ASK_DEVICE_BYTES)
		r = copy(q->handle, &value, q->id);
	else
		r = driver->answer(
			host_read(q->handle, &value, q->id) ? DRIVER_OK : DRIVER_NOT_VALID);
	q->value = value;
	return r;
}

static struct driver_result ask(struct tsdb_question *q, bool *ret_asked)
{
	struct driver_result r = driver->answer(DRIVER_OK);
	bool capturing = false;

	*ret_asked = false;
	if (q->kind == TSDB_ASK_EVENT && ids_number(&ids.events, q->handle) != SBT_NO_ID) {
		*ret_asked = true;
		return driver->event_query(q->handle);
	}
	if (q->kind == TSDB_ASK_DEVICE_BYTES || q->kind == TSDB_ASK_HOST_BYTES ||
		q->kind == TSDB_ASK_DEVICE_SUM) {
		*ret_asked = true;
		return read_bytes(q);
	}
	if (q->kind != TSDB_ASK_STREAM ||
		(q->handle != STREAM_LEGACY && !ids_object(&ids.streams, q->handle)))
		return r;
	if (q->handle != STREAM_LEGACY &&
		(!driver_good(driver->stream_capturing(q->handle, &capturing)) || capturing))
		return r; /* a query would end the capture */
	*ret_asked = true;
	return driver->stream_query(q->handle);
}

static void answer(struct tsdb_question *q)
{
	struct driver_result r;
	bool asked;

	q->answer = TSDB_ANSWER_NOT_ASKED;
	if (!ids_object(&ids.ctxs, q->ctx) || !driver_good(driver->context_enter(q->ctx)))
		return;
	r = ask(q, &asked);
	driver->context_leave();
	q->code = r.code;
	if (asked)
		q->answer = r.status == DRIVER_OK	   ? TSDB_ANSWER_DONE
			    : r.status == DRIVER_NOT_READY ? TSDB_ANSWER_NOT_DONE
							   : TSDB_ANSWER_FAILED;
}

static void look(struct tsdb_look *l)
{
	soft_look_fn *const soft =
		(soft_look_fn *)(uintptr_t)(driver->is_open() ? driver->symbol("tsdb_soft_look")
							      : NULL);

	l->is_soft = soft && l->soft_ms;
	if (l->is_soft)
		soft(&l->soft, l->soft_ms);
	if (!driver->is_open() || !driver->is_started() || !driver->can(DRIVER_CAN_READ))
		return;
	(void)driver->relax();
	for (uint32_t i = 0; i < l->nquestions && i < TSDB_LOOK_QUESTIONS; i++) {
		atomic_store(&l->at, i);
		answer(&l->question[i]);
	}
}

static void *run(void *arg)
{
	struct tsdb_control *c = arg;

	tls.inside = 1; /* its calls are not the program's */
	prctl(PR_SET_NAME, "tsdb-look");
	atomic_store(&c->look.there, 1); /* tsdb knows by the name which threads to let run */
	if (!c->look_only)
		gate_prepare(); /* nobody waits for it here: it takes the kernel some 10 ms */
	while (agent_live()) {
		const uint32_t asked = atomic_load(&c->look.asked);

		if (asked == atomic_load(&c->look.answered)) {
			if (agent_live())
				futex(c, FUTEX_WAIT, asked);
			continue;
		}
		look(&c->look);
		atomic_store(&c->look.answered, asked);
	}
	atomic_store(&thread_of, 0);
	atomic_fetch_sub(&thread_strangers, 1);
	return NULL;
}

void device_look_start(void)
{
	struct tsdb_control *c = agent.control;
	pid_t before = atomic_load(&thread_of);
	const pid_t own = getpid();

	if (!c || before == own || !atomic_compare_exchange_strong(&thread_of, &before, own))
		return;
	atomic_store(&c->look.answered, atomic_load(&c->look.asked));
	atomic_fetch_add(&thread_strangers, 1);
	if (!thread_start_with(run, c))
		return;
	atomic_fetch_sub(&thread_strangers, 1);
	atomic_store(&thread_of, 0);
}

void device_look_await(void)
{
	const struct timespec a_while = {.tv_nsec = 200000};
	const struct tsdb_control *c = agent.control;

	for (unsigned i = 0; c && i < AWAIT_TURNS && atomic_load(&thread_of) == getpid() &&
			     !atomic_load(&c->look.there);
		i++)
		nanosleep(&a_while, NULL);
}

void device_look_stop(void)
{
	struct tsdb_control *c = agent.control;

	if (!c)
		return;
	atomic_store(&c->look.there, 0);
	atomic_fetch_add(&c->look.asked, 1);
	futex(c, FUTEX_WAKE, 1);
}
