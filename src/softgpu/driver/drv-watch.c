/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching the work of this process, for a debugger (replayer/soft-watch.h) or by environment
 * variables: access sets, schedules, races. Whatever is switched on here slows launches down; while
 * nothing is, a launch pays one look at a flag.
 */
#include "softcore/race-list.h"
#include "softcore/watch-env.h"
#include "softgpu/memory/array.h"
#include "softgpu/machine/ptx-bounds.h"
#include "softgpu/driver/drv.h"
#include "softgpu/streams/overlap.h"
#include "softcore/probe-area.h"
#include "softgpu/watch/ptx-access.h"
#include "softgpu/driver/watch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct ptx_accesses *set;
	struct access_span *spans[PTX_ACCESS_SETS];	/* that the last collected() gave */
	struct ptx_accesses *by_base[SOFT_SOURCES + 1]; /* NULL: nothing yet */
	bool no_room;					/* for one of those */
	struct ptx_schedule schedule;
	uint64_t label;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Atomic bool collecting, by_base, checking;

_Static_assert((int)SOFT_ACCESS_READ == (int)PTX_READ &&
		       (int)SOFT_ACCESS_WRITTEN == (int)PTX_WRITE &&
		       (int)SOFT_ACCESS_ATOMIC == (int)PTX_ATOMIC &&
		       SOFT_ACCESSES == PTX_ACCESS_KINDS && SOFT_ACCESS_SETS == PTX_ACCESS_SETS,
	"one order of kinds");
_Static_assert((unsigned)SOFT_SOURCES == PTX_SOURCES_MAX, "sources are handed on as they are");
_Static_assert(
	sizeof(struct soft_span) == sizeof(struct access_span), "spans are handed on as they are");

/* --- access sets --- */

static void forget_spans(void)
{
	for (unsigned k = 0; k < PTX_ACCESS_SETS; k++) {
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
	atomic_store(&by_base, false);
	atomic_store(&collecting, watch.set != NULL);
	pthread_mutex_unlock(&watch.lock);
}

static uint32_t depends(const struct ptx_depends *d)
{
	return (d->waits ? SOFT_WAITS : 0) | (d->triggers ? SOFT_TRIGGERS : 0) |
	       (d->trigger_waits ? SOFT_TRIGGER_WAITS : 0) | (d->old ? SOFT_OLD : 0);
}

static const char *take_spans(struct ptx_accesses *set, size_t max, struct soft_access_set *ret)
{
	bool inexact;

	forget_spans();
	for (unsigned k = 0; k < PTX_ACCESS_SETS; k++) {
		if (!ptx_accesses_spans(set, k, max, &watch.spans[k], &ret->n[k], &inexact))
			return "no memory for an access set";
		ret->span[k] = (const struct soft_span *)watch.spans[k];
		ret->inexact |= (uint32_t)inexact << k;
	}
	ret->depends = depends(ptx_accesses_depends(set));
	return NULL;
}

static const char *collected(size_t max, struct soft_access_set *ret)
{
	const char *why;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	if (!watch.set || !atomic_exchange(&collecting, false))
		why = "no access set: there is no memory for it, or collecting was not begun";
	else
		why = take_spans(watch.set, max, ret);
	pthread_mutex_unlock(&watch.lock);
	return why;
}

/* --- access sets by base
 * --------------------------------------------------------------------------------------- */

static void addressing(void *function, struct soft_addressing *ret)
{
	struct ptx_addressing a;
	struct func *f;
	struct ctx *c;

	memset(ret, 0, sizeof(*ret));
	if (ctx_current(&c) || func_resolve(function, c, &f))
		return;
	ptx_addressing_find(&a, f->fn);
	ret->known = !a.why;
	ret->n = a.n;
	for (unsigned k = 0; k < a.n; k++)
		ret->source[k] = (struct soft_source){a.source[k].offset, a.source[k].size,
			a.source[k].shapes, a.source[k].is_base};
	ptx_addressing_free(&a);
}

static void collect_by_base(void)
{
	pthread_mutex_lock(&watch.lock);
	for (unsigned k = 0; k <= SOFT_SOURCES; k++)
		if (watch.by_base[k])
			ptx_accesses_clear(watch.by_base[k]);
	watch.no_room = false;
	atomic_store(&by_base, true);
	pthread_mutex_unlock(&watch.lock);
}

static const char *collected_by(uint32_t base, size_t max, struct soft_access_set *ret)
{
	const char *why = NULL;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	if (watch.no_room || base > SOFT_SOURCES)
		why = "no memory for an access set";
	else if (watch.by_base[base])
		why = take_spans(watch.by_base[base], max, ret);
	pthread_mutex_unlock(&watch.lock);
	return why;
}

/* NULL: there is no memory, which collected_by() tells. */
static struct ptx_accesses *set_of_base(unsigned base)
{
	struct ptx_accesses *ret;

	pthread_mutex_lock(&watch.lock);
	if (!watch.by_base[base])
		watch.by_base[base] = ptx_accesses_new(0);
	ret = watch.by_base[base];
	watch.no_room |= !ret;
	pthread_mutex_unlock(&watch.lock);
	return ret;
}

static void on_access(void *arg, const struct ptx_access *x)
{
	const struct watched *w = arg;
	const struct ptx_function *fn = x->warp->wk->l->fn;
	const uint8_t base = w->addressing.base ? w->addressing.base[x->insn - fn->insns] : 0;
	struct ptx_accesses *set = set_of_base(base ? base - 1u : SOFT_NO_BASE);
	struct ptx_observer o;

	if (!set)
		return;
	o = ptx_accesses_observer(set);
	o.access(o.arg, x);
}

/* Notes an access, unless it is to host memory that no kernel can reach. */
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

/* --- schedules --- */

static void set_schedule(uint32_t kind, uint64_t seed)
{
	pthread_mutex_lock(&watch.lock);
	watch.schedule = (struct ptx_schedule){.random = kind == SOFT_SCHEDULE_RANDOM,
		.seed = seed,
		.residue = watch.schedule.residue};
	pthread_mutex_unlock(&watch.lock);
}

static void residue(uint32_t byte)
{
	pthread_mutex_lock(&watch.lock);
	watch.schedule.residue = (uint8_t)byte;
	pthread_mutex_unlock(&watch.lock);
}

/* --- races --- */

static void racecheck(uint32_t on)
{
	atomic_store(&checking, on != 0);
}

static void label(uint64_t l)
{
	pthread_mutex_lock(&watch.lock);
	watch.label = l;
	pthread_mutex_unlock(&watch.lock);
}

static void fill_side(struct soft_race_side *to, const struct ptx_race_side *from)
{
	to->kind = (uint32_t)from->kind;
	to->line = from->insn->line;
	to->source_line = from->file ? from->source_line : 0;
	for (unsigned k = 0; k < 3; k++) {
		to->block[k] = from->block[k];
		to->thread[k] = from->thread[k];
	}
	race_text(to->insn, sizeof(to->insn), from->insn->name);
	race_text(to->function, sizeof(to->function), from->fn->name);
	race_text(to->file, sizeof(to->file), from->file);
}

static void race_place(char *dst, size_t n, const struct soft_race_side *s)
{
	snprintf(dst, n, "block (%u,%u,%u) thread (%u,%u,%u)", s->block[0], s->block[1],
		s->block[2], s->thread[0], s->thread[1], s->thread[2]);
}

static void race_code(char *dst, size_t n, const struct soft_race_side *s)
{
	char at[200] = "";

	if (s->source_line)
		snprintf(at, sizeof(at), ", %.150s:%u", s->file, s->source_line);
	snprintf(dst, n, "PTX line %u, %s%s", s->line, s->insn, at);
}

static const struct race_words words = {.say = drv_say,
	.place = race_place,
	.code = race_code,
	.shared = "shared memory",
	.global = "global memory"};

/* What a launch's check found. */
static void take_races(const struct watched *w)
{
	const char *doubt = ptx_races_doubt(w->races);
	struct ptx_race found;

	for (size_t k = 0; ptx_races_get(w->races, k, &found); k++) {
		struct soft_race r = {.label = w->label,
			.count = found.count,
			.addr = found.addr,
			.size = found.size,
			.shared = found.shared,
			.tier = (uint32_t)found.tier};

		race_text(r.kernel, sizeof(r.kernel), w->kernel);
		fill_side(&r.side[0], &found.side[0]);
		fill_side(&r.side[1], &found.side[1]);
		race_list_add(&r);
	}
	if (doubt)
		race_list_doubt(w->kernel, doubt);
}

/* --- launches --- */

static void from_environment(void)
{
	struct watch_env e;

	watch_env_read(&e, &words);
	if (e.random) { /* a debugger may have set one before */
		watch.schedule.random = true;
		watch.schedule.seed = e.seed;
	}
	if (e.racecheck)
		atomic_store(&checking, true);
}

void watch_begin(struct watched *w, struct ptx_launch *l)
{
	pthread_once(&watch.once, from_environment);
	*w = (struct watched){0};
	pthread_mutex_lock(&watch.lock);
	l->schedule = watch.schedule;
	w->label = watch.label;
	pthread_mutex_unlock(&watch.lock);
	if (atomic_load_explicit(&collecting, memory_order_relaxed)) {
		w->access = ptx_accesses_observer(watch.set);
		if (atomic_load(&by_base)) {
			ptx_addressing_find(&w->addressing, l->fn);
			w->by_base = (struct ptx_observer){
				.arg = w, .access = on_access, .next = l->observer};
			l->observer = &w->by_base;
			w->access.access = NULL; /* this observer then only follows waits */
		}
		w->access.next = l->observer;
		l->observer = &w->access;
	}
	if (atomic_load_explicit(&checking, memory_order_relaxed) &&
		(w->races = ptx_races_new(l, 0))) {
		w->race = ptx_races_observer(w->races);
		w->race.next = l->observer;
		l->observer = &w->race;
		w->kernel = l->fn->name;
	}
}

void watch_end(struct watched *w)
{
	ptx_addressing_free(&w->addressing);
	if (!w->races)
		return;
	take_races(w);
	ptx_races_free(w->races);
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
		.races = race_list_take,
		.doubts = race_list_doubts,
		.residue = residue,
		.hold = overlap_hold,
		.bounds = ptx_bounds_set,
		.addressing = addressing,
		.collect_by_base = collect_by_base,
		.collected_by = collected_by,
		.texture = textures_put,
		.texture_gone = textures_take,
		.probes = probes_set,
		.probe_result = probes_result,
	};

	return &table;
}
