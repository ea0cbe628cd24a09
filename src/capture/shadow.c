/* SPDX-License-Identifier: Apache-2.0
 *
 * Shadows; see shadow.h. The list of what was copied is made with the gate shut and then belongs to the thread tsdb-memory until
 * shadow.busy is 0 again. The thread runs with all signals blocked: the program's handlers never find themselves on it.
 */
#include "capture/shadow.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/calls.h"
#include "capture/driver.h"
#include "capture/extent.h"
#include "capture/live.h"
#include "capture/span.h"

#define LEAVE_FREE (256u << 20) /* bytes of a device that we never take */
#define ALIGN 512u
#define ENTRIES_MAX (1u << 20)

struct entry {
	struct piece piece;
	struct device_ctx *ctx; /* NULL: memory of the host */
	uint64_t at;		/* of the copy */
};

static struct {
	struct entry *entry;
	uint32_t n;
	struct device_set *set; /* the entries' */
	struct device_set own;	/* the thread's staging */
	_Atomic uint32_t busy;	/* 1: the thread has work */
	bool have_thread;
} shadow;

/* ---- room ------------------------------------------------------------------------------------------------------------- */

struct sum {
	uint32_t ctx;
	uint64_t bytes;
};

static bool add_up(void *arg, struct live *l)
{
	struct sum *s = arg;
	if (l->ctx == s->ctx && !live_is_host(l))
		s->bytes += (l->size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	return false;
}

static void make_room(struct device_ctx *d)
{
	size_t unused = 0, total = 0;
	struct sum s = { .ctx = d->id };
	d->shadow = 0;
	d->shadow_bytes = d->shadow_used = 0;
	live_each(add_up, &s);
	if (!s.bytes || !driver.cuMemGetInfo_v2 || !driver.cuMemAlloc_v2 || !driver.cuMemFree_v2 || !driver.cuMemcpyDtoDAsync_v2)
		return;
	if (OWN(driver.cuMemGetInfo_v2(&unused, &total)) || unused <= LEAVE_FREE)
		return;
	if (s.bytes > unused - LEAVE_FREE)
		s.bytes = unused - LEAVE_FREE;
	for (; s.bytes >= ALIGN; s.bytes /= 2)
		if (!OWN(driver.cuMemAlloc_v2(&d->shadow, s.bytes))) {
			d->shadow_bytes = s.bytes;
			return;
		}
	d->shadow = 0;
}

void shadow_room(struct device_set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (device_enter(&s->ctx[i])) {
			make_room(&s->ctx[i]);
			device_leave();
		}
}

/* ---- copies --------------------------------------------------------------------------------------------------------------- */

static struct entry *new_entry(const struct piece *p)
{
	if (!shadow.entry && !(shadow.entry = agent_map(ENTRIES_MAX * sizeof(struct entry))))
		return NULL;
	if (shadow.n == ENTRIES_MAX)
		return NULL;
	struct entry *e = &shadow.entry[shadow.n++];
	*e = (struct entry){ .piece = *p };
	return e;
}

/* Reads through staging, so that a ticket is taken when its bytes are at hand. */
static void send_device(struct device_ctx *d, uint64_t at, struct piece *p, uint8_t *staging)
{
	for (uint64_t done = 0; done < p->size;) {
		const size_t n = p->size - done < DEVICE_STAGING ? p->size - done : DEVICE_STAGING;
		if (!device_read(d, at + done, staging, n)) {
			span_note("memory of the device could not be read when the window began");
			memset(staging, 0, n);
		}
		if (!bulk_bytes(p, staging, n))
			return;
		done += n;
	}
}

void shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p)
{
	struct piece now = *p;
	const uint64_t need = (p->size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	if (need <= d->shadow_bytes - d->shadow_used) {
		const uint64_t to = d->shadow + d->shadow_used;
		struct entry *e = new_entry(p);
		if (e && !OWN(driver.cuMemcpyDtoDAsync_v2(to, p->addr, p->size, d->stream))) {
			e->ctx = d;
			e->at = to;
			d->shadow_used += need;
			return;
		}
		if (e)
			shadow.n--;
	}
	send_device(d, p->addr, &now, s->staging);
}

void shadow_host(const struct piece *p)
{
	struct piece now = *p;
	struct extent from = extent_plain(p->addr, p->size);
	void *copy = agent_map(p->size);
	struct entry *e = copy ? new_entry(p) : NULL;
	if (e && host_read(p->addr, copy, p->size)) {
		e->at = (uint64_t)(uintptr_t)copy;
		return;
	}
	if (e)
		shadow.n--;
	if (copy)
		agent_unmap(copy, p->size);
	if (!bulk_fill(&now, p->size, extent_read, &from))
		span_note("memory of the host that kernels can read could not be read");
}

void shadow_settle(struct device_set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->ctx[i].shadow_used && device_enter(&s->ctx[i])) {
			if (OWN(driver.cuStreamSynchronize(s->ctx[i].stream)))
				span_note("copying memory of the device failed when the window began");
			device_leave();
		}
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------ */

static void send_entry(struct entry *e, uint8_t *staging)
{
	if (e->ctx) {
		if (!device_enter(e->ctx))
			return;
		send_device(e->ctx, e->at, &e->piece, staging);
		device_leave();
	} else {
		bulk_bytes(&e->piece, (const void *)(uintptr_t)e->at, e->piece.size);
		agent_unmap((void *)(uintptr_t)e->at, e->piece.size);
	}
}

static void give_room_back(struct device_set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->ctx[i].shadow && device_enter(&s->ctx[i])) {
			(void)OWN(driver.cuMemFree_v2(s->ctx[i].shadow));
			s->ctx[i].shadow = 0;
			s->ctx[i].shadow_bytes = s->ctx[i].shadow_used = 0;
			device_leave();
		}
}

static void drain(uint8_t *staging)
{
	for (uint32_t i = 0; i < shadow.n && agent_live(); i++)
		send_entry(&shadow.entry[i], staging);
	shadow.n = 0;
	give_room_back(shadow.set);
}

static void futex(int op, uint32_t value)
{
	(void)syscall(SYS_futex, &shadow.busy, op, value, NULL, NULL, 0);
}

static void *run(void *arg)
{
	tls.inside = 1; /* nothing that it does is the program's */
	prctl(PR_SET_NAME, "tsdb-memory");
	while (agent_live()) {
		while (!atomic_load(&shadow.busy))
			futex(FUTEX_WAIT_PRIVATE, 0);
		drain(shadow.own.staging);
		atomic_store(&shadow.busy, 0);
		futex(FUTEX_WAKE_PRIVATE, 1 << 30);
	}
	return NULL;
}

static bool start_thread(void)
{
	pthread_t id;
	pthread_attr_t attr;
	sigset_t block, was;
	if (shadow.have_thread)
		return true;
	if (pthread_attr_init(&attr))
		return false;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&block);
	pthread_sigmask(SIG_SETMASK, &block, &was);
	shadow.have_thread = !pthread_create(&id, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
	return shadow.have_thread;
}

void shadow_drain(struct device_set *s)
{
	shadow.set = s;
	if (!shadow.n) {
		give_room_back(s);
		return;
	}
	shadow.own.n = 0;
	if (device_collect(&shadow.own) && start_thread()) {
		atomic_store(&shadow.busy, 1);
		futex(FUTEX_WAKE_PRIVATE, 1 << 30);
	} else {
		drain(s->staging);
	}
}

void shadow_wait(void)
{
	while (atomic_load(&shadow.busy) && agent_live())
		futex(FUTEX_WAIT_PRIVATE, 1);
}
