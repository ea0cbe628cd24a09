// SPDX-License-Identifier: Apache-2.0
//
// Watching the devices' work, for a debugger (replayer/soft-watch.h) or by environment variables:
// access sets, races inside kernels, schedules. The same table and variables as the software NVIDIA
// GPU's, so that what asks it need not know which device it is. While nothing is switched on, a
// dispatch pays one look at a flag.
//
// There is nothing here of programmatic launches and textures: those members do nothing.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "softcore/access-set.h"
#include "softcore/race-list.h"
#include "softcore/watch-env.h"
#include "softamd/thunk/kfd-watch.h"

_Static_assert((int)SOFT_ACCESS_READ == (int)AMD_READ &&
		       (int)SOFT_ACCESS_WRITTEN == (int)AMD_WRITE &&
		       (int)SOFT_ACCESS_ATOMIC == (int)AMD_READ_WRITE,
	"one order of kinds");
_Static_assert((int)SOFT_RACE == (int)AMD_RACE &&
		       (int)SOFT_RACE_ATOMIC_READ == (int)AMD_RACE_ATOMIC_READ &&
		       (int)SOFT_RACE_SAME_VALUE == (int)AMD_RACE_SAME_VALUE,
	"one order of tiers");
_Static_assert(
	sizeof(struct soft_span) == sizeof(struct access_span) && SOFT_ACCESS_SETS == ACCESS_SETS,
	"spans are handed on as they are");

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct access_set *set;
	struct access_span *spans[SOFT_ACCESSES]; /* that the last collected() gave */
	bool random;
	uint64_t seed, label;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static bool collecting, checking; /* atomic */

static bool on(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void switch_to(bool *flag, bool v)
{
	__atomic_store_n(flag, v, __ATOMIC_RELEASE);
}

/* --- access sets --- */

static void forget_spans(void)
{
	for (unsigned k = 0; k < SOFT_ACCESSES; k++) {
		free(watch.spans[k]);
		watch.spans[k] = NULL;
	}
}

static void collect(void)
{
	pthread_mutex_lock(&watch.lock);
	forget_spans();
	if (watch.set)
		access_set_clear(watch.set);
	else
		watch.set = access_set_new(0);
	switch_to(&collecting, watch.set != NULL);
	pthread_mutex_unlock(&watch.lock);
}

static const char *take_spans(size_t max, struct soft_access_set *ret)
{
	bool inexact;

	for (unsigned k = 0; k < SOFT_ACCESSES; k++) {
		if (!access_set_spans(watch.set, k, max, &watch.spans[k], &ret->n[k], &inexact))
			return "no memory for an access set";
		ret->span[k] = (const struct soft_span *)watch.spans[k];
		ret->inexact |= (uint32_t)inexact << k;
	}
	return NULL;
}

static const char *collected(size_t max, struct soft_access_set *ret)
{
	const char *why;

	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&watch.lock);
	if (!watch.set || !on(&collecting)) {
		why = "no access set: there is no memory for it, or collecting was not begun";
	} else {
		switch_to(&collecting, false);
		why = take_spans(max, ret);
	}
	pthread_mutex_unlock(&watch.lock);
	return why;
}

void kfd_watch_access(uint64_t addr, uint64_t size, bool write)
{
	if (on(&collecting))
		access_set_add(watch.set, write ? AMD_WRITE : AMD_READ, addr, size);
}

/* Lanes come one after the other: what is side by side becomes one piece. */
static void flush(struct kfd_watched *w)
{
	if (w->size)
		access_set_add(watch.set, w->kind, w->addr, w->size);
	w->size = 0;
}

/* Whether what is read is the dispatch itself: its arguments, its packet. They are in memory on
 * this device, and are not what the program's memory holds. */
static bool is_of_dispatch(const struct kfd_watched *w, const struct amd_access *a)
{
	enum { AQL_PACKET = 64 };

	return a->kind == AMD_READ &&
	       (range_within(a->address, a->size, w->args, w->args_size) ||
		       range_within(a->address, a->size, w->packet, AQL_PACKET));
}

static void note_access(struct kfd_watched *w, const struct amd_access *a)
{
	if (a->space != AMD_MEMORY || is_of_dispatch(w, a))
		return;
	if (w->size && w->kind == a->kind && a->address >= w->addr &&
		a->address <= w->addr + w->size) {
		uint64_t end = a->address - w->addr + a->size;

		w->size = end > w->size ? end : w->size;
		return;
	}
	flush(w);
	w->kind = a->kind;
	w->addr = a->address;
	w->size = a->size;
}

/* Accesses by base are not told apart: what addresses are made of is not followed here. */
static void addressing(void *function, struct soft_addressing *ret)
{
	(void)function;
	memset(ret, 0, sizeof(*ret));
}

static void collect_by_base(void)
{
}

static const char *collected_by(uint32_t base, size_t max, struct soft_access_set *ret)
{
	(void)base, (void)max;
	memset(ret, 0, sizeof(*ret));
	return "the software AMD GPU keeps no access sets by base";
}

/* --- schedules --- */

static void set_schedule(uint32_t kind, uint64_t seed)
{
	pthread_mutex_lock(&watch.lock);
	watch.random = kind == SOFT_SCHEDULE_RANDOM;
	watch.seed = seed;
	pthread_mutex_unlock(&watch.lock);
}

/* --- races --- */

static void racecheck(uint32_t v)
{
	switch_to(&checking, v != 0);
}

static void label(uint64_t l)
{
	pthread_mutex_lock(&watch.lock);
	watch.label = l;
	pthread_mutex_unlock(&watch.lock);
}

/* A dispatch's code object, for the places of races. */
struct code {
	struct amd_image *image; /* NULL: not found */
	uint64_t bias;
};

static void fill_source(const struct code *c, struct soft_race_side *to, uint64_t pc)
{
	const struct amd_function *f = amd_image_function(c->image, pc - c->bias);
	const struct amd_line *l = amd_image_line(c->image, pc - c->bias);

	if (f)
		race_text(to->function, sizeof(to->function), f->name);
	if (!l || !l->line)
		return;
	to->source_line = l->line;
	race_text(to->file, sizeof(to->file), amd_image_file(c->image, l));
}

static void fill_side(const struct kfd_watched *w, const struct code *c, struct soft_race_side *to,
	const struct amd_race_side *from)
{
	to->kind = (uint32_t)from->kind;
	to->code = (uint32_t)(from->pc - w->entry);
	memcpy(to->block, from->group, sizeof(to->block));
	memcpy(to->thread, from->item, sizeof(to->thread));
	race_text(to->insn, sizeof(to->insn), from->insn);
	race_text(to->function, sizeof(to->function), w->kernel);
	if (c->image)
		fill_source(c, to, from->pc);
}

static void race_place(char *dst, size_t n, const struct soft_race_side *s)
{
	snprintf(dst, n, "workgroup (%u,%u,%u) work-item (%u,%u,%u)", s->block[0], s->block[1],
		s->block[2], s->thread[0], s->thread[1], s->thread[2]);
}

static void race_code(char *dst, size_t n, const struct soft_race_side *s)
{
	if (s->source_line)
		snprintf(dst, n, "%s:%u, code + 0x%x, %s", s->file, s->source_line, s->code,
			s->insn);
	else
		snprintf(dst, n, "code + 0x%x, %s", s->code, s->insn);
}

static const struct race_words words = {.say = kfd_say,
	.place = race_place,
	.code = race_code,
	.shared = "LDS",
	.global = "memory"};

/* What a dispatch's check found. */
static void take_races(const struct kfd_watched *w)
{
	const char *doubt = amd_races_doubt(w->races);
	struct amd_race found;
	struct code c = {NULL, 0};

	if (amd_races_get(w->races, 0, &found))
		c.image = kfd_image_of(w->descriptor, &c.bias);

	for (size_t k = 0; amd_races_get(w->races, k, &found); k++) {
		struct soft_race r = {.label = w->label,
			.count = found.count,
			.addr = found.addr,
			.size = found.size,
			.shared = found.lds,
			.tier = (uint32_t)found.tier};

		race_text(r.kernel, sizeof(r.kernel), w->kernel);
		fill_side(w, &c, &r.side[0], &found.side[0]);
		fill_side(w, &c, &r.side[1], &found.side[1]);
		race_list_add(&r);
	}
	amd_image_free(c.image);
	if (doubt)
		race_list_doubt(w->kernel, doubt);
}

/* --- the observer of a dispatch --- */

static bool on_step(void *arg, const struct amd_wave *wave, uint64_t pc)
{
	struct kfd_watched *w = arg;

	if (w->probing.b)
		amd_probing_step(&w->probing, wave, pc);
	return !w->races || w->race.step(w->race.arg, wave, pc);
}

static void on_access(void *arg, const struct amd_access *a)
{
	struct kfd_watched *w = arg;

	if (w->collects)
		note_access(w, a);
	if (w->races)
		w->race.access(w->race.arg, a);
}

static void on_sync(void *arg, const struct amd_wave *wave, enum amd_sync_kind kind)
{
	struct kfd_watched *w = arg;

	if (w->races)
		w->race.sync(w->race.arg, wave, kind);
}

static void on_barrier(void *arg, const struct amd_wave *wave, bool leaves)
{
	struct kfd_watched *w = arg;

	if (w->races)
		w->race.barrier(w->race.arg, wave, leaves);
}

static void on_group(void *arg, struct amd_group *g, const uint32_t id[3], bool ended)
{
	struct kfd_watched *w = arg;

	if (w->probing.b && ended)
		amd_probing_group_ended(&w->probing, g);
	if (w->races)
		w->race.group(w->race.arg, g, id, ended);
}

static void from_environment(void)
{
	struct watch_env e;

	watch_env_read(&e, &words);
	if (e.random) { /* a debugger may have set one before */
		watch.random = true;
		watch.seed = e.seed;
	}
	if (e.racecheck)
		switch_to(&checking, true);
}

static void begin_probes(struct kfd_watched *w, const struct amd_dispatch *d)
{
	uint64_t bias;
	struct amd_image *image = kfd_image_of(d->kernel_object, &bias);

	if (image) {
		kfd_kernel_name(d->kernel_object, w->kernel, sizeof(w->kernel));
		amd_probing_begin(&w->probing, w->probes.copy, w->probes.n, w->kernel, image,
			amd_entry_of(d), bias);
	}
	amd_image_free(image);
	probes_begin(&w->probes, w->probing.b);
}

static void begin_collecting(struct kfd_watched *w, const struct amd_dispatch *d)
{
	w->args = d->kernarg;
	w->args_size = amd_args_size_of(d);
	w->packet = d->packet;
}

void kfd_watch_begin(struct kfd_watched *w, struct amd_dispatch *d)
{
	pthread_once(&watch.once, from_environment);
	memset(w, 0, sizeof(*w));
	pthread_mutex_lock(&watch.lock);
	d->random = watch.random;
	d->seed = watch.seed;
	w->label = watch.label;
	pthread_mutex_unlock(&watch.lock);
	w->collects = on(&collecting);
	if (w->collects)
		begin_collecting(w, d);
	w->races = on(&checking) ? amd_races_new(d, 0) : NULL;
	if (probes_take(&w->probes))
		begin_probes(w, d);
	if (!w->collects && !w->races && !w->probing.b)
		return;
	w->both = (struct amd_observer){.arg = w,
		.step = w->races || w->probing.b ? on_step : NULL,
		.access = on_access,
		.sync = on_sync,
		.barrier = on_barrier,
		.group = on_group};
	d->observer = &w->both;
	if (!w->races)
		return;
	w->race = amd_races_observer(w->races);
	w->entry = amd_entry_of(d);
	w->descriptor = d->kernel_object;
	kfd_kernel_name(d->kernel_object, w->kernel, sizeof(w->kernel));
}

void kfd_watch_end(struct kfd_watched *w)
{
	probes_end(&w->probes);
	if (w->collects)
		flush(w);
	if (!w->races)
		return;
	take_races(w);
	amd_races_free(w->races);
}

/* --- the table --- */

static void no_residue(uint32_t byte)
{
	(void)byte; /* LDS begins as 0 */
}

static void no_hold(void)
{
}

static void no_bounds(const struct soft_span *s, size_t n)
{
	(void)s, (void)n;
}

static const char *no_texture(const struct soft_texture *t)
{
	(void)t;
	return "the software AMD GPU has no textures";
}

static void no_texture_gone(uint64_t handle)
{
	(void)handle;
}

KFD_PUBLIC const struct soft_watch *tsdb_soft_watch(void)
{
	static const struct soft_watch table = {.version = SOFT_WATCH_VERSION,
		.size = sizeof(table),
		.collect = collect,
		.collected = collected,
		.schedule = set_schedule,
		.racecheck = racecheck,
		.label = label,
		.races = race_list_take,
		.doubts = race_list_doubts,
		.residue = no_residue,
		.hold = no_hold,
		.bounds = no_bounds,
		.addressing = addressing,
		.collect_by_base = collect_by_base,
		.collected_by = collected_by,
		.texture = no_texture,
		.texture_gone = no_texture_gone,
		.probes = probes_set,
		.probe_result = probes_result};

	return &table;
}
