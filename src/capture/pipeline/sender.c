/* SPDX-License-Identifier: Apache-2.0
 *
 * The sending thread; see sender.h.
 */
#include "capture/pipeline/sender.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/driver.h"
#include "capture/memory/room.h"
#include "capture/memory/shadow.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"
#include "capture/core/armed.h"

#define HASHES_MAX (1u << 20)

struct hash_entry {
	struct piece piece;
	struct sbt_hash hash;
};

_Atomic uint32_t sender_jobs;
static struct {
	struct spin lock; /* of hash, n, sent */
	struct hash_entry *hash;
	uint32_t n, sent;
	void (*prepare)(struct thread *t);
	void (*tell)(struct thread *t);
	struct spin starting;
	bool have_thread;
	_Atomic uint32_t leaving;
} sender;

static void futex(int op, uint32_t value, const struct timespec *most)
{
	(void)syscall(SYS_futex, &sender_jobs, op, value, most, NULL, 0);
}

/* --- hashes that wait --- */

/* Called with sender.lock. */
static bool have_table(void)
{
	if (!sender.hash)
		sender.hash = agent_map(HASHES_MAX * sizeof(*sender.hash));
	return sender.hash;
}

void sender_touch(uint64_t hashes)
{
	spin_lock(&sender.lock);
	const bool good = have_table();
	spin_unlock(&sender.lock);
	if (good)
		agent_touch(sender.hash,
			(hashes < HASHES_MAX ? hashes : HASHES_MAX) * sizeof(*sender.hash));
}

static bool put_by(const struct piece *p, struct sbt_hash hash, bool always)
{
	bool good = false;
	spin_lock(&sender.lock);
	if (always || atomic_load(&sender_jobs) & (SENDER_START | SENDER_END)) {
		if (have_table() && sender.n < HASHES_MAX) {
			sender.hash[sender.n++] = (struct hash_entry){*p, hash};
			good = true;
		}
	}
	spin_unlock(&sender.lock);
	return good;
}

bool sender_hash(const struct piece *p, struct sbt_hash hash)
{
	struct piece now = *p;
	return put_by(p, hash, false) || bulk_hash(&now, hash);
}

bool sender_end_hash(const struct piece *p, struct sbt_hash hash)
{
	struct piece now = *p;
	return put_by(p, hash, true) || bulk_hash(&now, hash);
}

static bool take_hash(struct hash_entry *ret)
{
	spin_lock(&sender.lock);
	const bool any = sender.sent < sender.n;
	if (any)
		*ret = sender.hash[sender.sent++];
	else
		sender.n = sender.sent = 0;
	spin_unlock(&sender.lock);
	return any;
}

/* Sends the waiting hashes; the job ends with the last of them, so no hash is added to a job that
 * has ended. */
static void send_hashes(uint32_t job)
{
	struct hash_entry e;
	for (;;) {
		while (agent_live() && take_hash(&e))
			(void)bulk_hash(&e.piece, e.hash);
		spin_lock(&sender.lock);
		const bool empty = sender.sent == sender.n || !agent_live();
		if (empty)
			atomic_fetch_and(&sender_jobs, ~job);
		spin_unlock(&sender.lock);
		if (empty)
			return;
	}
}

/* --- the thread --- */

static void do_end(struct thread *t)
{
	struct hash_entry e;
	while (agent_live() && take_hash(&e))
		(void)bulk_hash(&e.piece, e.hash);
	if (t)
		sender.tell(t);
	send_hashes(SENDER_END);
}

static void do_job(struct thread *t, uint32_t jobs)
{
	if (jobs & SENDER_PREPARE) {
		if (t)
			sender.prepare(t);
		atomic_fetch_and(&sender_jobs, ~(uint32_t)SENDER_PREPARE);
	} else if (jobs & SENDER_START) {
		shadow_send();
		if (agent_live())
			window_sent();
		send_hashes(SENDER_START);
	} else if (jobs & SENDER_END) {
		do_end(t);
	}
	futex(FUTEX_WAKE_PRIVATE, 1 << 30, NULL);
}

/* Frees room within a second when the window it was reserved for is not armed any more. */
static void rest(void)
{
	const struct timespec second = {.tv_sec = 1};
	const bool held = atomic_load(&room_held) != 0;
	futex(FUTEX_WAIT_PRIVATE, 0, held ? &second : NULL);
	if (held && !armed_watched() && !atomic_load(&window_open) && !atomic_load(&sender_jobs) &&
		!atomic_load(&sender.leaving))
		room_release();
}

static void *run(void *arg)
{
	tls.inside = 1; /* its calls are not the program's */
	prctl(PR_SET_NAME, "tsdb-memory");
	(void)driver->relax();
	struct thread *t = agent_live() ? thread_get_quiet() : NULL;
	if (t)
		atomic_fetch_sub(&thread_strangers, 1); /* from here on its state shows it */
	while (agent_live()) {
		const uint32_t jobs = atomic_load(&sender_jobs);
		if (jobs)
			do_job(t, jobs);
		else
			rest();
	}
	if (!t)
		atomic_fetch_sub(&thread_strangers, 1);
	return NULL;
}

static bool start_thread(void)
{
	spin_lock(&sender.starting);
	if (!sender.have_thread) {
		atomic_fetch_add(&thread_strangers, 1);
		sender.have_thread = !thread_start(run);
		if (!sender.have_thread)
			atomic_fetch_sub(&thread_strangers, 1);
	}
	spin_unlock(&sender.starting);
	return sender.have_thread;
}

static void ask(uint32_t job)
{
	atomic_fetch_or(&sender_jobs, job);
	if (start_thread())
		futex(FUTEX_WAKE_PRIVATE, 1 << 30, NULL);
	else
		do_job(tls.thread, job);
}

/* --- asking --- */

void sender_prepare(void (*fn)(struct thread *t))
{
	uint32_t none = 0;
	if (atomic_load(&sender.leaving) || !start_thread())
		return;
	/* The first caller sets it; all ask for the same function. */
	sender.prepare = fn;
	if (atomic_compare_exchange_strong(&sender_jobs, &none, SENDER_PREPARE))
		futex(FUTEX_WAKE_PRIVATE, 1 << 30, NULL);
}

void sender_start(void)
{
	ask(SENDER_START);
}

void sender_end(void (*tell)(struct thread *t))
{
	sender.tell = tell;
	ask(SENDER_END);
}

void sender_wait(uint32_t jobs, unsigned tenths)
{
	/* Limited, so that a lost wake-up does little harm. */
	const struct timespec tenth = {.tv_nsec = 100000000};
	uint32_t now;
	for (unsigned i = 0; (now = atomic_load(&sender_jobs)) & jobs && agent_live() &&
			     (i < tenths || tenths == SENDER_FOR_EVER);
		i++)
		futex(FUTEX_WAIT_PRIVATE, now, &tenth);
}

void sender_leave(void)
{
	atomic_store(&sender.leaving, 1);
	sender_wait(SENDER_PREPARE, 20);
	if (!(atomic_load(&sender_jobs) & SENDER_PREPARE))
		sender_wait(SENDER_START | SENDER_END, SENDER_FOR_EVER);
}

void sender_stop(void)
{
	atomic_fetch_or(&sender_jobs, SENDER_STOP); /* a thread that is about to sleep sees this */
	futex(FUTEX_WAKE_PRIVATE, 1 << 30, NULL);
}
