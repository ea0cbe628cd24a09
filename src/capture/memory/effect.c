/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded effects; see effect.h. The gate is shut for looking, before and after, but not while the
 * driver has the command: a collective operation may wait for what another thread is yet to launch.
 * Commands that came in between are noted: their changes cannot be told apart.
 */
#include "capture/memory/effect.h"

#include <string.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/memory/contexts.h"
#include "capture/core/driver.h"
#include "capture/core/gate.h"
#include "capture/objects/globals.h"
#include "capture/objects/kernel.h"
#include "capture/objects/live.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define PATIENCE 10 /* tenths of a second */
#define RANGES_MAX 65536u

struct range {
	uint64_t addr, size;
	uint32_t ctx;
	bool doubtful, known, is_global;
	struct sbt_hash *pages; /* before */
};

/* One command at a time; it belongs to the owner. */
static struct {
	_Atomic uint32_t owner; /* os_tid; 0: free */
	struct device_set set;
	struct range *range;
	uint32_t n;
	struct device_ctx *now; /* entered */
	uint64_t seq;
	bool changed;
} effect;

bool effect_of_kernel(const struct kernel *k)
{
	return strstr(k->name, "ncclDevKernel") || strstr(k->name, "ncclKernel");
}

static bool concerns(const struct call *c)
{
	if (c->cmd.flags & SBT_F_GRAPH || atomic_load(&calls_captures))
		return false;
	return c->opaque ||
	       (c->cmd.kind == SBT_UNREPLAYABLE && !(c->row->flags & (CALL_LATE | CALL_HANDLES))) ||
	       (c->cmd.kind == SBT_LAUNCH && c->kernel && c->kernel->collective);
}

static uint64_t pages_of(uint64_t size)
{
	return (size + SBT_PAGE - 1) / SBT_PAGE;
}

static bool enter_ctx(uint32_t id)
{
	struct device_ctx *d = device_find(&effect.set, id);
	if (d == effect.now)
		return d;
	if (effect.now)
		device_leave();
	effect.now = d && device_enter(d) ? d : NULL;
	return effect.now;
}

static void leave_ctx(void)
{
	if (effect.now)
		device_leave();
	effect.now = NULL;
}

/* Hashes by the kernels, or through staging if the memory may not be mapped: that returns an error
 * instead of a fault. */
static bool hash_pages(const struct range *r, struct sbt_hash *ret)
{
	if (!enter_ctx(r->ctx))
		return false;
	if (!r->doubtful &&
		device_hash_pages(effect.now, (struct hash_kernel_range){r->addr, r->size}, ret))
		return true;
	for (uint64_t at = 0; at < r->size; at += DEVICE_STAGING) {
		const size_t n = r->size - at < DEVICE_STAGING ? r->size - at : DEVICE_STAGING;
		if (!device_read(effect.now, r->addr + at, effect.set.staging, n))
			return false;
		for (size_t i = 0; i < n; i += SBT_PAGE)
			ret[(at + i) / SBT_PAGE] = sbt_page_hash(
				effect.set.staging + i, n - i < SBT_PAGE ? n - i : SBT_PAGE);
	}
	return true;
}

/* --- before --- */

static bool add(const struct range *what)
{
	if (effect.n == RANGES_MAX) {
		window_note(
			"there are too many allocations to tell what a call that cannot be repeated did to them");
		return true;
	}
	struct range *r = &effect.range[effect.n];
	*r = *what;
	r->pages = agent_map(pages_of(r->size) * sizeof(*r->pages));
	if (!r->pages) {
		window_note(
			"there was no memory for telling what a call that cannot be repeated did");
		return true;
	}
	effect.n++;
	r->known = hash_pages(r, r->pages);
	if (!r->known && effect.now && effect.now->stuck)
		window_note(
			"work on the device did not end before a call that cannot be repeated: what it did to memory is not known");
	return false;
}

static bool look_before(void *arg, struct live *l)
{
	/* Memory of the host: its changes are found before the next launch (host.c). */
	return live_is_host(l)
		       ? false
		       : add(&(struct range){.addr = l->addr,
				 .size = l->size,
				 .ctx = l->ctx,
				 .doubtful = l->mem == SBT_MEM_VMM || l->mem == SBT_MEM_ARRAY});
}

static void look_before_global(void *arg, struct device_ctx *d, const struct piece *p)
{
	(void)arg;
	(void)add(
		&(struct range){.addr = p->addr, .size = p->size, .ctx = d->id, .is_global = true});
}

static void drop_all(void)
{
	for (uint32_t i = 0; i < effect.n; i++)
		agent_unmap(effect.range[i].pages,
			pages_of(effect.range[i].size) * sizeof(*effect.range[i].pages));
	effect.n = 0;
}

/* --- after --- */

static void send_run(const struct range *r, uint64_t from, uint64_t to)
{
	const uint64_t begin = from * SBT_PAGE,
		       end = to * SBT_PAGE < r->size ? to * SBT_PAGE : r->size;
	struct piece p = {.seq = effect.seq,
		.addr = r->addr + begin,
		.size = end - begin,
		.role = BULK_EFFECT,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	effect.changed = true;
	for (uint64_t at = begin; at < end; at += DEVICE_STAGING) {
		const size_t n = end - at < DEVICE_STAGING ? end - at : DEVICE_STAGING;
		if (!device_read(effect.now, r->addr + at, effect.set.staging, n)) {
			window_note(
				"what a call that cannot be repeated did to memory could not be read");
			memset(effect.set.staging, 0, n);
		}
		if (!bulk_bytes(&p, effect.set.staging, n))
			return;
	}
}

static void compare(const struct range *r)
{
	const uint64_t n = pages_of(r->size);
	struct sbt_hash *now = agent_map(n * sizeof(*now));
	const bool good = now && hash_pages(r, now);
	if (good != r->known) /* mapped or unmapped meanwhile */
		window_note("what a call that cannot be repeated did to memory could not be read");
	for (uint64_t i = 0, to; good && r->known && i < n; i = to) {
		to = i + 1;
		if (sbt_hash_equal(r->pages[i], now[i]))
			continue;
		while (to < n && !sbt_hash_equal(r->pages[to], now[to]))
			to++;
		send_run(r, i, to);
	}
	if (now)
		agent_unmap(now, n * sizeof(*now));
}

static bool is_alive(const struct range *r)
{
	struct live l;
	return r->is_global || (live_at(r->addr, &l) && l.addr == r->addr && l.size == r->size);
}

static void compare_all(void)
{
	for (uint32_t i = 0; i < effect.n; i++)
		if (is_alive(&effect.range[i]))
			compare(&effect.range[i]);
	leave_ctx();
}

/* Sends an empty effect: a launch without one would be executed again. */
static void send_nothing(void)
{
	struct piece p = {.seq = effect.seq,
		.addr = effect.n ? effect.range[0].addr : 0,
		.role = BULK_EFFECT,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	(void)bulk_bytes(&p, "", 0);
}

/* --- the command --- */

/* With the gate shut: whether nothing is under way. */
static bool all_quiet(struct thread *t)
{
	return gate_quiet(t, false, PATIENCE) && device_collect(&effect.set) &&
	       driver_good(device_idle(&effect.set, PATIENCE));
}

static bool shut(struct call *c)
{
	if (!gate_try_claim(c->t))
		return false;
	gate_shut(c->t);
	if (all_quiet(c->t))
		return true;
	gate_open();
	gate_release();
	return false;
}

static void open_again(void)
{
	leave_ctx();
	gate_open();
	gate_release();
}

void effect_enter(struct call *c)
{
	uint32_t nobody = 0;
	if (!concerns(c))
		return;
	if (!atomic_compare_exchange_strong(&effect.owner, &nobody, c->t->os_tid)) {
		window_note(
			"two threads made calls that cannot be repeated: what they did to memory cannot be told apart");
		return;
	}
	const unsigned mode = driver->relax();
	if (!effect.range)
		effect.range = agent_map(RANGES_MAX * sizeof(*effect.range));
	if (effect.range && shut(c)) {
		device_load(&effect.set);
		effect.seq = c->cmd.seq;
		effect.changed = false;
		live_each(look_before, NULL);
		leave_ctx();
		if (c->opaque) { /* collective kernels have none of the program's */
			globals_find(&effect.set);
			globals_each(&effect.set, look_before_global, NULL);
		}
		open_again();
		c->effect = true;
	} else {
		window_note(
			"work on the device did not end before a call that cannot be repeated: what it did to memory is not known");
		atomic_store(&effect.owner, 0);
	}
	driver->restrict_again(mode);
}

void effect_exit(struct call *c)
{
	if (!c->effect)
		return;
	c->effect = false;
	const unsigned mode = driver->relax();
	if (!atomic_load(&window_open) || c->cmd.result) {
		/* It failed, or the window is over. */
	} else if (shut(c)) {
		if (thread_others_work(c->t) > effect.seq)
			window_note(
				"other threads' commands came together with a call that cannot be repeated: what each did to memory cannot be told apart");
		compare_all();
		if (!effect.changed && c->cmd.kind != SBT_UNREPLAYABLE)
			send_nothing();
		open_again();
	} else {
		window_note(
			"a call that cannot be repeated did not end: what it did to memory is not known");
	}
	drop_all();
	driver->restrict_again(mode);
	atomic_store(&effect.owner, 0);
}
