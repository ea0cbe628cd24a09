/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching the work of this process, for a debugger (replayer/soft-watch.h) or by environment
 * variables: access sets, schedules, races. Whatever is switched on here slows launches down; while
 * nothing is, a launch pays one look at a flag.
 */
#include "softgpu/driver/array.h"
#include "softgpu/machine/ptx-bounds.h"
#include "softgpu/driver/drv.h"
#include "softgpu/driver/overlap.h"
#include "softgpu/micro/launch-probes.h"
#include "softgpu/watch/ptx-access.h"
#include "softgpu/driver/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct ptx_accesses *set;
	struct access_span *spans[PTX_ACCESS_SETS];	/* that the last collected() gave */
	struct ptx_accesses *by_base[SOFT_SOURCES + 1]; /* NULL: nothing yet */
	bool no_room;					/* for one of those */
	struct ptx_schedule schedule;
	uint64_t label;
	struct soft_race *races;
	size_t nraces, capraces;
	uint64_t ndoubts;
	char doubt[200];
	bool loud;  /* races go to the standard error, or: */
	char *file; /* are appended there, as records */
	struct told {
		uint32_t line[2], tier;
		char kernel[SOFT_RACE_NAME];
	} told[256];
	size_t ntold;
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

#define RACES_KEPT 4096u

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

static void text(char *dst, size_t n, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len >= n)
		len = n - 1;
	memset(dst, 0, n);
	memcpy(dst, s ? s : "", len);
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
	text(to->insn, sizeof(to->insn), from->insn->name);
	text(to->function, sizeof(to->function), from->fn->name);
	text(to->file, sizeof(to->file), from->file);
}

static size_t races(struct soft_race *dst, size_t n, size_t *more)
{
	pthread_mutex_lock(&watch.lock);
	if (n > watch.nraces)
		n = watch.nraces;
	if (n) {
		memcpy(dst, watch.races, n * sizeof(*dst));
		memmove(watch.races, watch.races + n, (watch.nraces - n) * sizeof(*dst));
	}
	watch.nraces -= n;
	if (more)
		*more = watch.nraces;
	pthread_mutex_unlock(&watch.lock);
	return n;
}

static uint64_t doubts(char *dst, size_t n)
{
	uint64_t ret;

	pthread_mutex_lock(&watch.lock);
	ret = watch.ndoubts;
	if (n)
		text(dst, n, watch.doubt);
	watch.ndoubts = 0;
	watch.doubt[0] = '\0';
	pthread_mutex_unlock(&watch.lock);
	return ret;
}

/* One line for each side, as a person reads it on the standard error. */
static void say_race(const struct soft_race *r)
{
	static const char *const verbs[] = {"reads", "writes", "changes atomically"};
	char sides[2][420];

	for (unsigned k = 0; k < 2; k++) {
		const struct soft_race_side *s = &r->side[k];
		char at[200] = "";
		if (s->source_line)
			snprintf(at, sizeof(at), ", %.150s:%u", s->file, s->source_line);
		snprintf(sides[k], sizeof(sides[k]),
			"block (%u,%u,%u) thread (%u,%u,%u) %s it: PTX line %u, %s%s", s->block[0],
			s->block[1], s->block[2], s->thread[0], s->thread[1], s->thread[2],
			verbs[s->kind % 3], s->line, s->insn, at);
	}
	drv_say("race%s in %.100s: %u byte%s of %s memory at %#llx, unordered, %llu time%s\n    %s\n    %s",
		r->tier == SOFT_RACE_SAME_VALUE	   ? " (same value)"
		: r->tier == SOFT_RACE_ATOMIC_READ ? " (plain read of an atomic)"
						   : "",
		r->kernel, r->size, r->size == 1 ? "" : "s", r->shared ? "shared" : "global",
		(unsigned long long)r->addr, (unsigned long long)r->count, r->count == 1 ? "" : "s",
		sides[0], sides[1]);
}

/* For a debugger that runs this program. */
static void write_race(const struct soft_race *r)
{
	int fd = open(watch.file, O_WRONLY | O_APPEND | O_CLOEXEC), old = errno;

	if (fd < 0 || write(fd, r, sizeof(*r)) != (ssize_t)sizeof(*r))
		errno = old;
	if (fd >= 0)
		close(fd);
}

/* While the program runs, each pair of a kernel is reported once, however many launches have it. */
static bool is_told(const struct soft_race *r)
{
	for (size_t k = 0; k < watch.ntold; k++) {
		const struct told *t = &watch.told[k];
		if (t->line[0] == r->side[0].line && t->line[1] == r->side[1].line &&
			t->tier == r->tier && !strcmp(t->kernel, r->kernel))
			return true;
	}
	if (watch.ntold == sizeof(watch.told) / sizeof(watch.told[0]))
		return true;
	watch.told[watch.ntold] = (struct told){{r->side[0].line, r->side[1].line}, r->tier, ""};
	text(watch.told[watch.ntold++].kernel, SOFT_RACE_NAME, r->kernel);
	return false;
}

static void keep_race(const struct soft_race *r)
{
	if (watch.nraces == watch.capraces) {
		size_t cap = watch.capraces ? 2 * watch.capraces : 16;
		struct soft_race *p =
			cap > RACES_KEPT ? NULL : realloc(watch.races, cap * sizeof(*p));
		if (!p) {
			watch.ndoubts++;
			text(watch.doubt, sizeof(watch.doubt),
				"more races were found than are kept");
			return;
		}
		watch.races = p;
		watch.capraces = cap;
	}
	watch.races[watch.nraces++] = *r;
}

/* What a launch's check found. */
static void take_races(struct watched *w)
{
	const char *doubt = ptx_races_doubt(w->races);
	struct ptx_race found;
	struct soft_race r;

	pthread_mutex_lock(&watch.lock);
	for (size_t k = 0; ptx_races_get(w->races, k, &found); k++) {
		memset(&r, 0, sizeof(r));
		r.label = w->label;
		r.count = found.count;
		r.addr = found.addr;
		r.size = found.size;
		r.shared = found.shared;
		r.tier = (uint32_t)found.tier;
		text(r.kernel, sizeof(r.kernel), w->kernel);
		fill_side(&r.side[0], &found.side[0]);
		fill_side(&r.side[1], &found.side[1]);
		if (!watch.loud)
			keep_race(&r);
		else if (!is_told(&r))
			watch.file ? write_race(&r) : say_race(&r);
	}
	if (doubt && watch.loud && !watch.file && !watch.ndoubts)
		drv_say("the check for races was not complete in %.100s: %s", w->kernel, doubt);
	if (doubt) {
		watch.ndoubts++;
		snprintf(watch.doubt, sizeof(watch.doubt), "%.80s: %s", w->kernel, doubt);
	}
	pthread_mutex_unlock(&watch.lock);
}

/* --- launches --- */

/* TSDB_SOFT_SCHEDULE: "fixed", "random:SEED". TSDB_SOFT_RACECHECK: 1: look for races and say what
 * is found on stderr; a path: append it there (struct soft_race). */
static void from_environment(void)
{
	const char *s = getenv("TSDB_SOFT_SCHEDULE"), *r = getenv("TSDB_SOFT_RACECHECK");
	char *end;

	if (r && *r && strcmp(r, "0")) {
		watch.loud = true;
		watch.file = *r == '/' ? strdup(r) : NULL;
		atomic_store(&checking, true);
	}
	if (s && !strncmp(s, "random:", 7) && s[7] >= '0' && s[7] <= '9') {
		watch.schedule.seed = strtoull(s + 7, &end, 0);
		watch.schedule.random = !*end;
	}
	if (s && *s && !watch.schedule.random && strcmp(s, "fixed"))
		drv_say("TSDB_SOFT_SCHEDULE is \"%.40s\", neither \"fixed\" nor \"random:SEED\"",
			s);
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
		.races = races,
		.doubts = doubts,
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
