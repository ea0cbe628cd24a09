/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring producer. The surprising thing: the second mapping comes from mremap() with old size 0,
 * which duplicates a shared mapping (mremap(2)), so the user's process need not keep a file
 * descriptor open.
 */
#include "capture/pipeline/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/agent.h"

#define WAIT_FIRST_NS 20000
#define WAIT_LONGEST_NS 1000000
#define SLOT_TRIES                                                                                 \
	200 /* times WAIT_LONGEST_NS: how long a thread waits for tsdb to free a slot              \
	     */

/* Maps a slot's data twice in a row. */
static void *map_twice(const uint8_t *once, uint32_t bytes)
{
	uint8_t *p = mmap(NULL, 2 * (size_t)bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < 2; i++) {
		uint8_t *to = p + (size_t)bytes * i;
		if (mremap((void *)(uintptr_t)once, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
			MAP_FAILED) {
			munmap(p, 2 * (size_t)bytes);
			return NULL;
		}
	}
	return p;
}

static void raise_to(_Atomic uint32_t *most, uint32_t to)
{
	uint32_t was = atomic_load(most);
	while (was < to && !atomic_compare_exchange_weak(most, &was, to))
		;
}

static int claim(struct tsdb_control *c, uint32_t *ret)
{
	for (uint32_t i = 0; i < TSDB_RING_COUNT; i++) {
		uint32_t slot_free = TSDB_RING_FREE;
		if (atomic_load_explicit(&c->ring[i].state, memory_order_relaxed) ==
				TSDB_RING_FREE &&
			atomic_compare_exchange_strong(
				&c->ring[i].state, &slot_free, TSDB_RING_USED)) {
			raise_to(&c->rings, i + 1);
			*ret = i;
			return 0;
		}
	}
	return -EAGAIN;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

int ring_open(struct ring *r)
{
	struct tsdb_control *c = agent.control;
	uint32_t i;
	int err;
	*r = (struct ring){0};
	for (int tries = 0; (err = claim(c, &i)) && tries < SLOT_TRIES; tries++) {
		if (atomic_load(&c->on_full) != TSDB_FULL_WAIT ||
			agent_debugger_gone(agent.control))
			break;
		pause_ns(WAIT_LONGEST_NS);
	}
	if (err) {
		atomic_fetch_add(&c->no_ring, 1);
		return err;
	}
	struct tsdb_ring *s = &c->ring[i];
	atomic_store_explicit(&s->inflight, TSDB_IDLE, memory_order_release);
	r->bytes = tsdb_ring_bytes(c->ring_bytes, i);
	r->data = map_twice((const uint8_t *)c + tsdb_ring_offset(c->ring_bytes, i), r->bytes);
	if (!r->data) {
		atomic_store(&s->state, TSDB_RING_FREE);
		atomic_fetch_add(&c->no_ring, 1);
		return -ENOMEM;
	}
	r->head = atomic_load_explicit(&s->head, memory_order_acquire);
	r->tail = atomic_load_explicit(&s->tail, memory_order_acquire);
	s->lost = s->stalls = 0;
	r->shared = s;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r->shared)
		return;
	atomic_store_explicit(&r->shared->inflight, TSDB_IDLE, memory_order_release);
	atomic_store_explicit(&r->shared->state, TSDB_RING_CLOSED, memory_order_release);
	munmap(r->data, 2 * (size_t)r->bytes);
	*r = (struct ring){0};
}

void ring_unmap(struct ring *r)
{
	munmap(r->data, 2 * (size_t)r->bytes);
	*r = (struct ring){0};
}

static bool has_room(struct ring *r, uint32_t n)
{
	if (r->bytes - (r->head - r->tail) >= n)
		return true;
	/* Pairs with the consumer's release of tail: its reads are done before we write there
	 * again. */
	r->tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
	/* A tail beyond the head is a broken consumer: treat as full. */
	return r->tail <= r->head && r->bytes - (r->head - r->tail) >= n;
}

/* Waits for room. Returns false if waiting is useless. */
static bool wait_for_room(struct ring *r, uint32_t n, bool must)
{
	long ns = WAIT_FIRST_NS;
	unsigned sleeps = 0;
	r->shared->stalls++;
	while (!has_room(r, n)) {
		if (!must && atomic_load_explicit(&agent.control->on_full, memory_order_relaxed) !=
				     TSDB_FULL_WAIT)
			return false;
		if (!agent_live())
			return false;
		if (++sleeps % 16 == 0 && agent_debugger_gone(agent.control)) {
			agent_retire();
			return false;
		}
		pause_ns(ns);
		ns = ns * 2 > WAIT_LONGEST_NS ? WAIT_LONGEST_NS : ns * 2;
	}
	return true;
}

void *ring_reserve_full(struct ring *r, uint32_t n, bool must)
{
	if (!r->shared || n > TSDB_RECORD_MAX)
		return NULL;
	if (!has_room(r, n)) {
		bool wait = must || atomic_load_explicit(&agent.control->on_full,
					    memory_order_relaxed) == TSDB_FULL_WAIT;
		if (!wait || !wait_for_room(r, n, must))
			return NULL;
	}
	return r->data + (r->head & (r->bytes - 1));
}
