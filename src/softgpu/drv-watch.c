/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching the work of this process, for a debugger (replay/soft-watch.h) or by environment variables: access sets, schedules, races.
 * Whatever is switched on here slows launches down; while nothing is, a launch pays one look at a flag.
 */
#include "softgpu/driver.h"
#include "softgpu/ptx-access.h"
#include "softgpu/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct ptx_accesses *set;
	struct ptx_span *spans[PTX_ACCESS_KINDS]; /* that the last collected() gave */
	struct ptx_schedule schedule;
	uint64_t label;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Atomic bool collecting;

_Static_assert((int)SOFT_ACCESS_READ == (int)PTX_READ && (int)SOFT_ACCESS_WRITTEN == (int)PTX_WRITE &&
	(int)SOFT_ACCESS_ATOMIC == (int)PTX_ATOMIC && SOFT_ACCESSES == PTX_ACCESS_KINDS, "one order of kinds");
_Static_assert(sizeof(struct soft_span) == sizeof(struct ptx_span), "spans are handed on as they are");

/* --- access sets --------------------------------------------------------------------------------------------- */

static void forget_spans(void)
{
	for (unsigned k = 0; k < PTX_ACCESS_KINDS; k++) {
		free(watch.spans[k]);
		watch.spans[k] = NULL;
	}
}

static void collect(void)
{
	pthread_mutex_lock(&watch.lock);
	forget_spans();
	if (!watch.set)
		watch.set = ptx_accesses_new(0);
	else
		ptx_accesses_clear(watch.set);
	atomic_store(&collecting, watch.set != NULL);
	pthread_mutex_unlock(&watch.lock);
}

static const char *collected(size_t max, struct soft_access_set *ret)
{
	const char *why = NULL;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	forget_spans();
	if (!watch.set || !atomic_exchange(&collecting, false))
		why = "no access set: there is no memory for it, or collecting was not begun";
	for (unsigned k = 0; k < PTX_ACCESS_KINDS && !why; k++) {
		bool inexact;
		if (!ptx_accesses_spans(watch.set, (enum ptx_access_kind)k, max, &watch.spans[k], &ret->n[k], &inexact))
			why = "no memory for an access set";
		ret->span[k] = (const struct soft_span *)watch.spans[k];
		ret->inexact |= (uint32_t)inexact << k;
	}
	pthread_mutex_unlock(&watch.lock);
	return why;
}

/* Host memory that a kernel could not reach is nobody's business. */
static void add(enum ptx_access_kind kind, uint64_t addr, uint64_t size)
{
	if (size && mem_find(addr))
		ptx_accesses_add(watch.set, kind, addr, size);
}

void watch_copy(const struct copy *c)
{
	if (!atomic_load_explicit(&collecting, memory_order_relaxed))
		return;
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++) {
			add(PTX_READ, c->src + z * c->src_slice + y * c->src_pitch, c->width);
			add(PTX_WRITE, c->dst + z * c->dst_slice + y * c->dst_pitch, c->width);
		}
}

void watch_fill(const struct fill *f)
{
	if (!atomic_load_explicit(&collecting, memory_order_relaxed))
		return;
	for (size_t y = 0; y < f->height; y++)
		add(PTX_WRITE, f->dst + y * f->pitch, (uint64_t)f->width * f->elem);
}

void watch_value(uint64_t addr, unsigned bytes, bool write)
{
	if (atomic_load_explicit(&collecting, memory_order_relaxed))
		add(write ? PTX_WRITE : PTX_READ, addr, bytes);
}

/* --- schedules ----------------------------------------------------------------------------------------------- */

static void set_schedule(uint32_t kind, uint64_t seed)
{
	pthread_mutex_lock(&watch.lock);
	watch.schedule = (struct ptx_schedule){.random = kind == SOFT_SCHEDULE_RANDOM, .seed = seed};
	pthread_mutex_unlock(&watch.lock);
}

/* --- races --------------------------------------------------------------------------------------------------- */

static void racecheck(uint32_t on)
{
}

static void label(uint64_t l)
{
	pthread_mutex_lock(&watch.lock);
	watch.label = l;
	pthread_mutex_unlock(&watch.lock);
}

static size_t races(struct soft_race *dst, size_t n, size_t *more)
{
	if (more)
		*more = 0;
	return 0;
}

static uint64_t doubts(char *dst, size_t n)
{
	if (n)
		*dst = '\0';
	return 0;
}

/* --- launches ------------------------------------------------------------------------------------------------ */

/* TSDB_SOFT_SCHEDULE: "fixed", "random:SEED". */
static void from_environment(void)
{
	const char *s = getenv("TSDB_SOFT_SCHEDULE");
	char *end;

	if (s && !strncmp(s, "random:", 7) && s[7] >= '0' && s[7] <= '9') {
		watch.schedule.seed = strtoull(s + 7, &end, 0);
		watch.schedule.random = !*end;
	}
	if (s && *s && !watch.schedule.random && strcmp(s, "fixed"))
		drv_say("TSDB_SOFT_SCHEDULE is \"%.40s\", neither \"fixed\" nor \"random:SEED\"", s);
}

void watch_begin(struct watched *w, struct ptx_launch *l)
{
	pthread_once(&watch.once, from_environment);
	*w = (struct watched){0};
	pthread_mutex_lock(&watch.lock);
	l->schedule = watch.schedule;
	pthread_mutex_unlock(&watch.lock);
	if (atomic_load_explicit(&collecting, memory_order_relaxed)) {
		w->access = ptx_accesses_observer(watch.set);
		w->access.next = l->observer;
		l->observer = &w->access;
	}
}

void watch_end(struct watched *w)
{
}

const struct soft_watch *tsdb_soft_watch(void)
{
	static const struct soft_watch table = {
		.version = SOFT_WATCH_VERSION,
		.size = sizeof(table),
		.collect = collect,
		.collected = collected,
		.schedule = set_schedule,
		.racecheck = racecheck,
		.label = label,
		.races = races,
		.doubts = doubts,
	};

	return &table;
}
