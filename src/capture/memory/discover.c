/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory from before the agent came; see discover.h. The address space is searched in granules of 2
 * MiB, the vendor's allocation granularity (FACTS: allocation granularity), which it divides for
 * small allocations. One bit for each granule says that it needs no more questions, so a known
 * pointer costs a launch only the test of a bit.
 */
#include "capture/memory/discover.h"

#include <string.h>
#include <time.h>
#include "capture/stacks/areas.h"
#include "capture/core/calls.h"
#include "capture/core/clock.h"
#include "capture/core/driver.h"
#include "capture/late/late.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/objects/live.h"
#include "capture/core/thread.h"
#include "sbt/footprint.h"

#define GRANULE (1ull << 21)
#define TOP (1ull << 47)	       /* user addresses end there */
#define BITS_BYTES (TOP / GRANULE / 8) /* 8 MiB, touched as far as used */
#define GRAIN 512ull		       /* allocations begin at multiples of it */
#define QUESTIONS (4ull << 20)	       /* in a run over everything: some 150 ns each */
#define NOTHING_BITS 12
#define FOUND_MAX 65536u
#define BURST 512u /* questions in a row, while no thread waits for the answers */
/* granules given up, because calls that allocate are under way all the time */
#define MISSED_MAX 64
/* tries of 100 us: until no allocating call is under way */
#define PATIENCE 200
#define RANGE_MAX (1ull << 38) /* bytes of a copy or fill: more than a device has */

_Atomic uint32_t discover_on;
static struct {
	_Atomic uint64_t *asked; /* bits: no more questions */
	/* bits: asked only at the steps of the search of everything, and nothing was there */
	_Atomic uint64_t *coarse;
	struct map freed;	      /* address -> 1: freed since the agent came, or being freed */
	_Atomic uint64_t begun, over; /* calls that allocate */
	_Atomic uint32_t hurry;
	/* words that are no addresses of old memory */
	_Atomic uint64_t nothing[1u << NOTHING_BITS];
	_Atomic uint32_t complete, swept; /* swept: complete, or some places were given up */
	struct spin looking;		  /* of found */
	struct driver_memory *found;	  /* FOUND_MAX */
	/* introduced so far, by the search and by commands that named them; under looking */
	uint64_t allocations, bytes;
} discover;

/* --- granules --- */

static bool is_set(_Atomic uint64_t *bits, uint64_t addr)
{
	const uint64_t g = addr / GRANULE;
	return atomic_load_explicit(&bits[g / 64], memory_order_relaxed) >> (g % 64) & 1;
}

static void set(_Atomic uint64_t *bits, uint64_t addr)
{
	const uint64_t g = addr / GRANULE;
	atomic_fetch_or_explicit(&bits[g / 64], 1ull << (g % 64), memory_order_relaxed);
}

static bool was_asked(uint64_t addr)
{
	return is_set(discover.asked, addr);
}

static void set_asked(uint64_t addr)
{
	set(discover.asked, addr);
}

/* --- taking over --- */

static bool of_device(void *arg, uint64_t key, uint64_t value)
{
	struct object **o = arg;
	struct object *now = (struct object *)(uintptr_t)value;
	if (now->device != (*o)->device || (now->id > (*o)->id && now->primary <= (*o)->primary))
		return false;
	*o = now;
	return now->primary;
}

/* The context that owns it; the device's primary one for memory that belongs to no context. */
static uint32_t owner_of(struct thread *t, const struct driver_memory *f)
{
	struct object *o = ids_object(&ids.ctxs, f->ctx);
	if (!o && f->ctx && driver_good(driver->context_enter(f->ctx))) {
		o = ids_introduce_ctx(t, f->ctx);
		driver->context_leave();
	}
	if (o)
		return o->id;
	struct object of = {.id = SBT_NO_ID, .device = (int32_t)f->device}, *best = &of;
	map_each(&ids.ctxs, of_device, &best);
	return best->id;
}

/* Introduces an allocation; returns true if it is new. Called under ids.first_sight, which a FREE
 * takes before it gets its number (freeing()), so the record comes before that. */
static bool take_over(struct thread *t, const struct driver_memory *f)
{
	const uint32_t ctx = owner_of(t, f);
	struct sbt_cmd cmd = {.kind = SBT_ALLOC};
	bool mine = false;
	cmd.u.alloc = (struct sbt_cmd_alloc){.addr = f->addr,
		.size = f->size,
		.mem = f->mem,
		.device = f->device,
		.stream = SBT_NO_ID};
	spin_lock(&ids.first_sight);
	if (!map_get(&discover.freed, f->addr) &&
		live_take_over(&(struct live){
			.addr = f->addr, .size = f->size, .mem = f->mem, .ctx = ctx})) {
		mine = true;
		(void)map_put(&ids.memory, f->addr, f->mem + 1ull);
		record_in(t, &cmd, SBT_F_SYNTHETIC, ctx);
	}
	spin_unlock(&ids.first_sight);
	return mine;
}

/* Whether no call that allocates was under way at any time since begun was `since`. */
static bool nothing_allocated(uint64_t since)
{
	return atomic_load(&discover.over) == since && atomic_load(&discover.begun) == since;
}

/* Waits until no call that allocates is under way, at least for a moment. */
static bool settle(unsigned patience)
{
	for (unsigned i = 0; i < patience && agent_live(); i++) {
		if (atomic_load(&discover.over) == atomic_load(&discover.begun))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return false;
}

/* --- one granule --- */

/* Puts all that the driver has in [from, from + GRANULE) into discover.found. first: the first
 * address that it knows there. */
static uint32_t look_through(uint64_t first, uint64_t end, uint32_t n)
{
	for (uint64_t at = first; at < end && n < FOUND_MAX;) {
		struct driver_memory *f = &discover.found[n];
		if (driver->mem_at(at, f)) {
			const uint64_t next = (f->addr + f->size + GRAIN - 1) & ~(GRAIN - 1);
			at = next > at ? next : at + GRAIN;
			n++;
		} else {
			at += GRAIN;
		}
	}
	return n;
}

/* Asks about the granule of addr, grain by grain, and introduces what is there. Returns false if
 * that is not possible now. */
static bool look_at(struct thread *t, uint64_t addr, unsigned patience)
{
	const uint64_t from = addr & ~(GRANULE - 1);
	bool good = false;
	spin_lock(&discover.looking);
	for (unsigned tries = 0; tries < 8 && !good; tries++) {
		if (!settle(patience))
			break;
		const uint64_t since = atomic_load(&discover.begun);
		const uint32_t n = look_through(from, from + GRANULE, 0);
		good = nothing_allocated(since);
		for (uint32_t i = 0; i < n && good; i++)
			if (take_over(t, &discover.found[i])) {
				discover.allocations++;
				discover.bytes += discover.found[i].size;
			}
	}
	if (good)
		set_asked(addr);
	spin_unlock(&discover.looking);
	return good;
}

/* --- everything --- */

struct sweep {
	struct thread *t;
	struct discover_sums *sums;
	uint64_t total;
	uint64_t burst, burst_ns; /* questions; since when */
};

static bool measure(void *arg, const struct area *a)
{
	((struct sweep *)arg)->total += a->end - a->start;
	return false;
}

/* After a hit searches the whole granule, and that of the allocation's last byte; those in between
 * are the allocation's. */
static uint64_t hit(struct sweep *s, const struct driver_memory *f, uint64_t at)
{
	const uint64_t last = f->addr + f->size - 1, first = f->addr & ~(GRANULE - 1);
	if (!was_asked(at) && !look_at(s->t, at, PATIENCE))
		s->sums->missed++;
	for (uint64_t g = first + GRANULE; g + GRANULE <= last && g < TOP; g += GRANULE)
		set_asked(g);
	if (last < TOP && !was_asked(last) && !look_at(s->t, last, PATIENCE))
		s->sums->missed++;
	return last + 1;
}

/* Questions take the driver's locks, for which the program's launches would wait. So they are asked
 * a third of the time. */
static void pause_sometimes(struct sweep *s)
{
	late_step();
	if (++s->burst % BURST || atomic_load_explicit(&discover.hurry, memory_order_relaxed))
		return;
	const uint64_t now = monotonic_ns(), ns = 2 * (now - s->burst_ns);
	nanosleep(&(struct timespec){.tv_nsec = ns < 10000000 ? (long)ns : 10000000}, NULL);
	s->burst_ns = monotonic_ns();
}

void discover_hurry(void)
{
	atomic_store(&discover.hurry, 1);
}

/* A window that is about to open has been asked for before the debugger wanted to leave. */
static bool is_wanted(void)
{
	return agent_wanted() ||
	       (agent_live() && atomic_load_explicit(&discover.hurry, memory_order_relaxed));
}

static bool sweep_area(void *arg, const struct area *a)
{
	struct sweep *s = arg;
	const uint64_t step = s->sums->step, end = a->end < TOP ? a->end : TOP;
	for (uint64_t at = a->start; at < end && is_wanted() && s->sums->missed < MISSED_MAX;) {
		struct driver_memory f;
		if (was_asked(at)) {
			at = (at & ~(GRANULE - 1)) + GRANULE;
			continue;
		}
		const uint64_t past = driver->mem_at(at, &f) ? hit(s, &f, at) : 0;
		pause_sometimes(s);
		const uint64_t next = (at + step) & ~(step - 1);
		at = past > next ? past : next;
	}
	/* Memory between two steps is found when a command names it. Elsewhere there can be none:
	 * memory that is mapped later is not old. */
	for (uint64_t g = a->start & ~(GRANULE - 1);
		g < end && (s->sums->step > GRAIN || s->sums->missed); g += GRANULE)
		if (!was_asked(g))
			set(discover.coarse, g);
	return !is_wanted() || s->sums->missed >= MISSED_MAX;
}

bool discover_all(struct thread *t, struct discover_sums *ret)
{
	struct sweep s = {.t = t, .sums = ret, .burst_ns = monotonic_ns()};
	*ret = (struct discover_sums){.step = GRAIN};
	if (!discover_watched() || !discover.found)
		return true;
	areas_each(measure, &s);
	while (ret->step < GRANULE && s.total / ret->step > QUESTIONS)
		ret->step *= 2;
	ret->probed = s.total;
	areas_each(sweep_area, &s);
	if (!is_wanted())
		return false;
	spin_lock(&discover.looking);
	ret->allocations = discover.allocations;
	ret->bytes = discover.bytes;
	spin_unlock(&discover.looking);
	atomic_store(&discover.swept, 1);
	if (!ret->missed)
		atomic_store(&discover.complete, 1);
	return true;
}

bool discover_is_complete(void)
{
	return atomic_load_explicit(&discover.complete, memory_order_relaxed) != 0;
}

/* --- what is met --- */

/* Asking costs a launch 0.15 us for each word of its arguments that could be a pointer, and some
 * have hundreds. So after the search only the places between its steps are asked about, each once
 * and completely. */
static void met_late(struct thread *t, uint64_t word)
{
	const uint64_t g = word / GRANULE, bit = 1ull << (g % 64);
	if (word >= TOP || !is_set(discover.coarse, word))
		return;
	if (look_at(t, word, 1))
		atomic_fetch_and_explicit(&discover.coarse[g / 64], ~bit, memory_order_relaxed);
}

/* Before the search is done: most words are no pointers, and the same words come again. Old memory
 * does not appear later, so the answer stays true. */
static _Atomic uint64_t *nothing_at(uint64_t word)
{
	return &discover.nothing[(word * 0x9e3779b97f4a7c15ull) >> (64 - NOTHING_BITS)];
}

/* Returns false if the driver has nothing there. */
static bool met(struct thread *t, uint64_t word)
{
	struct driver_memory f;
	if (word < GRANULE || word >= TOP)
		return false;
	if (atomic_load_explicit(&discover.swept, memory_order_relaxed)) {
		met_late(t, word);
		return true;
	}
	if (atomic_load_explicit(nothing_at(word), memory_order_relaxed) == word)
		return false;
	if (was_asked(word))
		return true;
	if (!driver->mem_at(word, &f)) {
		atomic_store_explicit(nothing_at(word), word, memory_order_relaxed);
		return false;
	}
	if (!look_at(t, word, 1))
		return true; /* the next command that names it tries again */
	for (uint64_t at = word & ~(GRANULE - 1); at < f.addr + f.size && at < TOP; at += GRANULE)
		if (!was_asked(at) && !look_at(t, at, 1))
			return true;
	return true;
}

/* A range may go on in memory that was mapped behind the first. */
static void met_rows(struct thread *t, const struct sbt_rows *r)
{
	const uint64_t size = sbt_rows_size(r),
		       end = r->addr + (size < RANGE_MAX ? size : RANGE_MAX);
	bool more = met(t, r->addr);
	for (uint64_t at = (r->addr | (GRANULE - 1)) + 1; more && at < end && at < TOP;
		at += GRANULE)
		more = met(t, at);
}

/* Some kernels have hundreds of words: after the search, each costs the test of a bit. */
static void met_args(struct call *c)
{
	const struct sbt_blob *args = &c->cmd.u.launch.args;
	const bool swept = atomic_load_explicit(&discover.swept, memory_order_relaxed);
	for (uint64_t i = 0; i + 8 <= args->len; i += 8) {
		uint64_t word;
		memcpy(&word, (const uint8_t *)args->p + i, 8);
		if (!swept)
			(void)met(c->t, word);
		else if (word < TOP && __builtin_expect(is_set(discover.coarse, word), 0))
			met_late(c->t, word);
	}
}

/* Called when a FREE is about to get its number: the allocation cannot be introduced after this. */
static void freeing(struct call *c)
{
	(void)met(c->t, c->cmd.u.free.addr);
	spin_lock(&ids.first_sight);
	(void)map_put(&discover.freed, c->cmd.u.free.addr, 1);
	spin_unlock(&ids.first_sight);
	const uint64_t mem = map_get(&ids.memory, c->cmd.u.free.addr);
	if (mem) { /* found just now, after the handler had looked */
		c->cmd.u.free.mem = mem - 1;
		c->note = map_remove(&ids.memory, c->cmd.u.free.addr);
	}
}

void discover_enter(struct call *c)
{
	struct sbt_footprint f;
	sbt_footprint_when_run(&f, &c->cmd);
	if (f.does & SBT_RUNS_KERNEL)
		met_args(c);
	for (unsigned i = 0; i < f.n; i++)
		if (f.touch[i].how & (SBT_READS | SBT_WRITES | SBT_UPDATES))
			met_rows(c->t, &f.touch[i].rows);
	if (f.does & SBT_FREES && !c->skip)
		freeing(c);
	if (f.does & SBT_ALLOCATES)
		atomic_fetch_add(&discover.begun, 1);
}

void discover_exit(const struct call *c)
{
	if (c->cmd.kind == SBT_ALLOC) {
		if (!c->cmd.result)
			map_remove(&discover.freed, c->cmd.u.alloc.addr);
		/* A call that was under way when the agent came was not counted at its beginning,
		 * and is not seen here. */
		atomic_fetch_add(&discover.over, 1);
	} else if (c->cmd.kind == SBT_FREE && c->cmd.result) {
		map_remove(&discover.freed, c->cmd.u.free.addr);
	}
}

bool discover_withdraw(struct thread *t, uint64_t addr, uint64_t size)
{
	struct sbt_cmd cmd = {.kind = SBT_FREE};
	if (!discover_watched())
		return false;
	spin_lock(&ids.first_sight);
	const bool was_found = live_give_up(addr, size);
	if (was_found) {
		const uint64_t mem = map_remove(&ids.memory, addr);
		cmd.u.free = (struct sbt_cmd_free){
			.addr = addr, .mem = mem ? mem - 1 : SBT_MEM_DEVICE, .stream = SBT_NO_ID};
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	(void)map_put(&discover.freed, addr, 1); /* even if it has not been found yet */
	spin_unlock(&ids.first_sight);
	return was_found;
}

/* Finds allocations whose free was under way when the agent came, and so was not seen: the driver
 * had them when it was asked, and has them no more. */
void discover_verify(struct thread *t)
{
	struct live l;
	struct driver_memory f;
	uint64_t start, size;
	for (uint32_t i = 0; discover_watched() && live_next_before(&i, &l) && agent_live();) {
		const struct driver_result r = driver->mem_range(l.addr, &start, &size);
		if (!driver_good(r) && r.status != DRIVER_NOT_VALID)
			return; /* the context is broken, or none is current */
		if (!driver_good(r) ||
			(driver->mem_at(l.addr, &f) && (f.addr != l.addr || f.size != l.size)))
			(void)discover_withdraw(t, l.addr, l.size);
	}
}

/* --- beginning and end --- */

static bool any(void *arg, uint64_t key, uint64_t value)
{
	return true;
}

void discover_begin(void)
{
	if (!discover.asked)
		discover.asked = agent_map(BITS_BYTES);
	if (!discover.coarse)
		discover.coarse = agent_map(BITS_BYTES);
	if (!discover.found)
		discover.found = agent_map(FOUND_MAX * sizeof(*discover.found));
	atomic_store(&discover.over, atomic_load(&discover.begun));
	discover.allocations = discover.bytes = 0;
	if (discover.asked && discover.coarse && discover.found)
		atomic_store(&discover_on, 1);
}

void discover_end(void)
{
	/* A thread may still be in met(): the memory is emptied and kept. */
	atomic_store(&discover_on, 0);
	atomic_store(&discover.complete, 0);
	atomic_store(&discover.swept, 0);
	map_sweep(&discover.freed, any, NULL);
	if (discover.asked)
		agent_empty(discover.asked, BITS_BYTES);
	if (discover.coarse)
		agent_empty(discover.coarse, BITS_BYTES);
	if (discover.found)
		agent_empty(discover.found, FOUND_MAX * sizeof(*discover.found));
}
