/* SPDX-License-Identifier: Apache-2.0
 *
 * A window's memory; see window-memory.h. Only the thread that has the gate runs this, so a walk's
 * state can be static.
 */
#include "capture/memory/window-memory.h"

#include "capture/pipeline/bulk.h"
#include "capture/core/clock.h"
#include "capture/core/driver.h"
#include "capture/host/extent.h"
#include "capture/objects/globals.h"
#include "capture/host/host.h"
#include "capture/memory/ipc.h"
#include "capture/objects/live.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/shadow.h"
#include "capture/memory/window-cells.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"
#include "capture/memory/touched.h"

#define BATCH 4096u
#define BEGUN 4u

/* Ranges of one context that are hashed when a window ends: for some the hashing has begun, others
 * are only listed. */
struct ending {
	struct thread *t;
	struct device_ctx *now; /* entered; NULL: none */
	unsigned n, begun;	/* ranges; those of them that have begun */
	unsigned launches;
	struct hash_kernel_begun launch[BEGUN];
	struct piece piece[BATCH];
	struct hash_kernel_range range[BATCH];
	struct sbt_hash hash[BATCH];
};

static struct {
	struct device_set *set;
	uint64_t seq;
	struct ending *ending; /* kept */
} now;

/* Whether kernels may read it: they fault where it is not mapped, while a copy returns an error. */
static bool is_readable(struct device_ctx *d, struct live *l)
{
	if (l->mem == SBT_MEM_ARRAY)
		return false; /* kernels know no address of it */
	if (l->mem != SBT_MEM_VMM) {
		if (!atomic_load(&l->mapped))
			atomic_store(&l->mapped, device_is_mapped(l->addr, l->size));
		return atomic_load(&l->mapped);
	}
	if (!device_enter(d))
		return false;
	const bool may = device_may_read(l->addr, l->size);
	device_leave();
	return may;
}

/* --- the beginning --- */

static struct piece piece_of(const struct live *l, uint32_t role)
{
	return (struct piece){.seq = now.seq,
		.addr = l->addr,
		.size = l->size,
		.role = role,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
}

static struct piece piece_of_global(const struct piece *global, uint32_t role)
{
	struct piece p = *global;
	p.seq = now.seq;
	p.role = role;
	return p;
}

static bool start_of(void *arg, struct live *l)
{
	const struct piece p = piece_of(l, BULK_START);
	if (live_is_host(l))
		return false;
	atomic_store(&l->untouched, 0);
	struct device_ctx *d = device_find(now.set, l->ctx);
	if (d)
		shadow_device(now.set, d, &p, is_readable(d, l));
	else
		window_note("memory whose context is not known was not recorded");
	return false;
}

static bool start_of_host(void *arg, struct live *l)
{
	const struct piece p = piece_of(l, BULK_START);
	if (!live_is_host(l))
		return false;
	atomic_store(&l->untouched, 0);
	host_begin(l, shadow_host(&p));
	return false;
}

static void start_of_global(void *arg, struct device_ctx *d, const struct piece *global)
{
	const struct piece p = piece_of_global(global, BULK_START);
	if (global->cells)
		cells_at_start(global);
	shadow_device(now.set, d, &p, true);
}

uint64_t window_memory_start(struct device_set *s, uint64_t seq, struct window_times *times)
{
	uint64_t at = monotonic_ns();
	now.set = s;
	now.seq = seq;
	ipc_window();
	const bool touched = atomic_load(&agent.control->memory) == TSDB_MEMORY_TOUCHED;
	if (touched)
		touched_begin(s);
	else
		live_each(start_of, NULL);
	clock_lap(&at, &times->begin.memory);
	shadow_go();
	clock_lap(&at, &times->begin.go);
	if (!touched)
		live_each(start_of_host, NULL);
	clock_lap(&at, &times->begin.host);
	globals_find(s);
	cells_begin();
	globals_each(s, start_of_global, NULL);
	clock_lap(&at, &times->begin.globals);
	return shadow_settle(s);
}

/* --- the end --- */

static void not_looked_at(void)
{
	window_note("memory could not be looked at when the window ended");
}

static void hash_one(struct ending *e, const struct piece *p)
{
	struct sbt_hash hash;
	if (e->now && device_hash(now.set, e->now, p->addr, p->size, true, &hash))
		sender_end_hash(p, hash);
	else
		not_looked_at();
}

/* Waits for what has begun, which stays in the list; ranges that a launch could not hash are hashed
 * one by one. */
static void arrive(struct ending *e)
{
	const unsigned begun = device_wait(e->now) ? e->begun : 0;
	for (unsigned i = 0; begun && i < e->launches; i++)
		driver->hash_end(&e->launch[i]);
	for (unsigned i = begun; i < e->n; i++)
		hash_one(e, &e->piece[i]);
	e->n = begun;
	e->begun = e->launches = 0;
}

static void finish(struct ending *e)
{
	arrive(e);
	for (unsigned i = 0; i < e->n; i++)
		sender_end_hash(&e->piece[i], e->hash[i]);
	e->n = 0;
}

/* Begins to hash the listed ranges. */
static void go(struct ending *e)
{
	const unsigned n = e->n - e->begun;
	if (!n)
		return;
	if (e->launches < BEGUN && device_hash_begin(e->now, e->range + e->begun, n,
					   e->hash + e->begun, &e->launch[e->launches])) {
		e->begun = e->n;
		e->launches++;
	} else {
		finish(e);
	}
}

/* Finishes the context: afterwards nothing of it is listed or has begun. */
static void flush(struct ending *e)
{
	go(e);
	finish(e);
}

static void change_ctx(struct ending *e, struct device_ctx *to)
{
	if (to == e->now)
		return;
	if (e->now) {
		flush(e);
		device_leave();
	}
	e->now = to && device_enter(to) ? to : NULL;
}

static void end_of_device(
	struct ending *e, struct device_ctx *d, const struct piece *p, bool mapped)
{
	change_ctx(e, d);
	if (!e->now || !mapped) {
		if (e->now)
			flush(e); /* the stream and the staging are shared */
		hash_one(e, p);
		return;
	}
	e->piece[e->n] = *p;
	e->range[e->n++] = (struct hash_kernel_range){p->addr, p->size};
	if (e->n == BATCH)
		flush(e);
}

static void end_of_host(struct ending *e, struct live *l, const struct piece *p)
{
	struct sbt_rows x = sbt_rows_flat(l->addr, l->size);
	uint8_t *page = thread_page(e->t);
	struct sbt_hash hash;
	if (page && extent_hash(&x, page, &hash))
		sender_end_hash(p, hash);
	else
		not_looked_at();
	host_end(l);
}

static bool end_of(void *arg, struct live *l)
{
	const struct piece p = piece_of(l, BULK_END);
	/* TSDB_MEMORY_TOUCHED: no command named it, and its beginning is not known. */
	if (atomic_exchange(&l->untouched, 0))
		return false;
	if (live_is_host(l)) {
		end_of_host(arg, l, &p);
		return false;
	}
	struct device_ctx *d = device_find(now.set, l->ctx);
	end_of_device(arg, d, &p, d && is_readable(d, l));
	return false;
}

static void end_of_global(void *arg, struct device_ctx *d, const struct piece *global)
{
	const struct piece p = piece_of_global(global, BULK_END);
	struct ending *e = arg;
	if (global->cells) {
		change_ctx(e, d);
		if (e->now && cells_at_end(d, &p))
			return;
	}
	end_of_device(e, d, &p, true);
}

static struct ending *ending(void)
{
	if (!now.ending)
		now.ending = agent_map(sizeof(*now.ending));
	return now.ending;
}

void window_memory_end(
	struct thread *t, struct device_set *s, uint64_t seq, struct window_times *times)
{
	uint64_t at = monotonic_ns();
	struct ending *e = ending();
	now.set = s;
	now.seq = seq;
	if (!e) {
		not_looked_at();
		return;
	}
	e->t = t;
	e->now = NULL;
	e->n = e->begun = e->launches = 0;
	live_each(end_of, e);
	clock_lap(&at, &times->end.memory);
	if (e->now)
		go(e);
	clock_lap(&at, &times->end.go);
	globals_find(s);
	globals_each(s, end_of_global, e);
	clock_lap(&at, &times->end.globals);
	if (e->now) {
		go(e);
		arrive(e); /* window_memory_send() does the rest */
		device_leave();
	}
}

void window_memory_send(void)
{
	struct ending *e = now.ending;
	for (unsigned i = 0; e && i < e->n && agent_live(); i++)
		(void)bulk_hash(&e->piece[i], e->hash[i]);
	if (e)
		e->n = 0;
	cells_send();
}

/* --- getting ready --- */

struct ahead {
	uint64_t pieces, host_bytes;
};

/* The gate need not be shut: an answer about an allocation that is freed meanwhile is also true for
 * the one that replaces it. */
static bool ask_ahead(void *arg, struct live *l)
{
	struct ahead *a = arg;
	struct device_ctx *d = live_is_host(l) ? NULL : device_find(now.set, l->ctx);
	if (d)
		(void)is_readable(d, l);
	if (live_is_host(l) && l->size <= SBT_PAGE)
		a->host_bytes += l->size + 64;
	a->pieces++;
	return false;
}

/* Tables that were never used cause a page fault for every 4 kB, which takes longer than filling
 * them. */
void window_memory_touch(struct device_set *s)
{
	struct ahead a = {0};
	now.set = s;
	live_each(ask_ahead, &a);
	for (unsigned i = 0; i < s->n; i++)
		a.pieces += s->ctx[i].globals / SBT_PAGE;
	shadow_touch(a.pieces, a.host_bytes);
	sender_touch(a.pieces);
	if (ending())
		agent_touch(now.ending, sizeof(*now.ending));
}
