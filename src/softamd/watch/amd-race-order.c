/* SPDX-License-Identifier: Apache-2.0
 *
 * The race check's order: what each wave knows of the others, by barriers, atomics, loads with glc
 * and invalidations of the cache.
 */
#include "softamd/watch/amd-race-int.h"

#include <stdlib.h>
#include <string.h>

#include "softamd/machine/amd-machine.h"

#define PLACES_MAX (1u << 20)

uint64_t amd_race_number(const struct amd_races *c, const uint32_t id[3])
{
	return id[0] + (uint64_t)c->groups[0] * (id[1] + (uint64_t)c->groups[1] * id[2]);
}

static struct amd_race_group *group_new(struct amd_races *c, uint64_t number)
{
	struct amd_race_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->number = number;
	g->waves = calloc(c->nwaves, sizeof(*g->waves));
	if (!g->waves) {
		free(g);
		return NULL;
	}
	for (uint32_t k = 0; k < c->nwaves; k++) {
		g->waves[k].now = vclock_new(number, 0);
		g->waves[k].clock = 1;
	}
	vclock_builder_begin(&g->barrier, c->nwaves);
	return g;
}

struct amd_race_group *amd_race_group_of(struct amd_races *c, uint64_t number)
{
	size_t room = sizeof(struct amd_race_group) +
		      c->nwaves * (sizeof(struct amd_race_wave) + sizeof(struct vclock) +
					  sizeof(struct vclock_entry));

	if (!c->group || number >= c->ngroups)
		return NULL;
	if (!c->group[number] && amd_race_take(c, room))
		c->group[number] = group_new(c, number);
	if (!c->group[number])
		amd_race_doubt(c, "no memory");
	return c->group[number];
}

bool amd_race_covers(
	const struct amd_races *c, const struct amd_race_wave *w, uint32_t wave, uint32_t clock)
{
	return vclock_covers(w->now, wave / c->nwaves, wave % c->nwaves, clock);
}

/* --- places --- */

static struct amd_race_place *place_in(struct amd_race_place *t, size_t cap, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20) & (cap - 1);

	while (t[at].key && t[at].key != key)
		at = (at + 1) & (cap - 1);
	return &t[at];
}

static bool more_places(struct amd_races *c)
{
	size_t cap = c->capplaces ? 2 * c->capplaces : 64;
	struct amd_race_place *t = cap > PLACES_MAX ? NULL : calloc(cap, sizeof(*t));

	if (!t) {
		amd_race_doubt(c, "more atomics' places than the check has room for");
		return false;
	}
	for (size_t k = 0; k < c->capplaces; k++)
		if (c->places[k].key)
			*place_in(t, cap, c->places[k].key) = c->places[k];
	free(c->places);
	c->places = t;
	c->capplaces = cap;
	return true;
}

/* Of memory by its address; of a workgroup's LDS, by an address that no memory has. */
static struct amd_race_place *place_of(
	struct amd_races *c, const struct amd_race_group *g, const struct amd_access *a)
{
	uint64_t key =
		(a->space == AMD_LDS ? 1ull << 63 | g->number << 17 | a->address : a->address) + 1;
	struct amd_race_place *p;

	if (2 * (c->nplaces + 1) > c->capplaces && !more_places(c))
		return NULL;
	p = place_in(c->places, c->capplaces, key);
	if (!p->key) {
		p->key = key;
		p->known = vclock_new(g->number, 0);
		c->nplaces++;
	}
	return p;
}

/* --- what waves learn --- */

static void learn(const struct amd_races *c, struct vclock **knows, struct vclock *of)
{
	if (!of)
		return;
	*knows = *knows ? vclock_join(*knows, of, c->nwaves) : vclock_ref(of);
}

/* What a wave of a group publishes: all that it knows, and its own up to clock. */
static struct vclock *release_of(const struct amd_races *c, const struct amd_race_group *g,
	const struct amd_race_wave *w, uint32_t clock)
{
	return vclock_with(w->now, c->nwaves, g->number, (uint32_t)(w - g->waves), clock);
}

static void publish(const struct amd_races *c, struct amd_race_place *p, struct vclock *release)
{
	if (!release)
		return;
	learn(c, &p->known, release);
	vclock_unref(release);
}

/* LDS is within the workgroup and in order: all at once. */
static void strong_lds(struct amd_races *c, struct amd_race_group *g, struct amd_race_wave *w,
	struct amd_race_place *p)
{
	learn(c, &w->now, p->known);
	publish(c, p, release_of(c, g, w, w->clock));
	w->clock++;
}

/* Whoever wrote the value with a store may have published by it what it did before its last wait.
 */
static void see_writer(struct amd_races *c, struct amd_race_wave *w, const struct amd_mark *m)
{
	struct amd_race_group *g;
	struct vclock *release;

	if (!m->wave || !c->group || m->clock < 2)
		return;
	g = c->group[(m->wave - 1) / c->nwaves];
	if (!g)
		return;
	release = release_of(c, g, &g->waves[(m->wave - 1) % c->nwaves], m->clock - 1);
	learn(c, &w->pending, release);
	vclock_unref(release);
}

void amd_race_strong(struct amd_races *c, struct amd_race_group *g, struct amd_race_wave *w,
	const struct amd_access *a, const struct amd_mark *writer)
{
	bool atomic = a->kind == AMD_READ_WRITE;
	struct amd_race_place *p = place_of(c, g, a);

	if (!p)
		return;
	if (a->space == AMD_LDS) {
		strong_lds(c, g, w, p);
		return;
	}
	if (a->coherent) { /* of an atomic: it has a result */
		learn(c, &w->pending, p->known);
		see_writer(c, w, writer);
	}
	if (atomic && w->clock > 1)
		publish(c, p, release_of(c, g, w, w->clock - 1));
}

/* --- the observer --- */

static struct amd_race_group *place_of_wave(
	struct amd_races *c, const struct amd_wave *w, struct amd_race_wave **ret)
{
	uint32_t id[3], index;
	struct amd_race_group *g;

	amd_race_flush(c);
	amd_wave_place(w, id, &index);
	g = amd_race_group_of(c, amd_race_number(c, id));
	*ret = g ? &g->waves[index] : NULL;
	return g;
}

void amd_race_sync(void *arg, const struct amd_wave *wave, enum amd_sync_kind kind)
{
	struct amd_races *c = arg;
	struct amd_race_wave *w;

	if (!place_of_wave(c, wave, &w))
		return;
	if (kind == AMD_SYNC_WAIT && w->moved) {
		w->clock++;
		w->moved = 0;
	}
	if (kind == AMD_SYNC_INVALIDATE && w->pending) {
		learn(c, &w->now, w->pending);
		vclock_unref(w->pending);
		w->pending = NULL;
	}
}

static void arrive(struct amd_race_group *g, struct amd_race_wave *w)
{
	vclock_builder_add(&g->barrier, w->now);
	if (w->pending)
		vclock_builder_add(&g->barrier, w->pending);
	vclock_unref(w->pending);
	w->pending = NULL;
	vclock_builder_point(&g->barrier, g->number, (uint32_t)(w - g->waves), w->clock);
	g->arrived++;
}

/* A wave that has ended has done all that it did. */
static void add_ended(struct amd_race_group *g, const struct amd_group *of)
{
	for (uint32_t k = 0; k < of->nwaves; k++)
		if (of->waves[k].state == AMD_ENDED)
			vclock_builder_point(&g->barrier, g->number, k, g->waves[k].clock);
}

void amd_race_barrier(void *arg, const struct amd_wave *wave, bool leaves)
{
	struct amd_races *c = arg;
	struct amd_race_wave *w;
	struct amd_race_group *g = place_of_wave(c, wave, &w);

	if (!g)
		return;
	if (!leaves) {
		arrive(g, w);
		return;
	}
	if (!g->made) {
		add_ended(g, wave->group);
		g->made = vclock_builder_end(&g->barrier);
	}
	vclock_unref(w->now);
	w->now = vclock_ref(g->made);
	w->clock++;
	w->moved = 0;
	if (--g->arrived)
		return;
	vclock_unref(g->made);
	g->made = NULL;
	vclock_builder_begin(&g->barrier, c->nwaves);
}

/* The clocks stay: a later workgroup may see what this one wrote. */
void amd_race_group_event(void *arg, struct amd_group *unused, const uint32_t id[3], bool ended)
{
	struct amd_races *c = arg;
	struct amd_race_group *g;

	(void)unused;
	amd_race_flush(c);
	g = ended && c->group ? c->group[amd_race_number(c, id)] : NULL;
	if (!g)
		return;
	free(g->lds);
	c->used -= g->lds_words * sizeof(*g->lds);
	g->lds = NULL;
	g->lds_words = 0;
}

static void group_free(struct amd_races *c, struct amd_race_group *g)
{
	if (!g)
		return;
	for (uint32_t k = 0; k < c->nwaves; k++) {
		vclock_unref(g->waves[k].now);
		vclock_unref(g->waves[k].pending);
	}
	vclock_unref(g->made);
	vclock_unref(vclock_builder_end(&g->barrier));
	free(g->waves);
	free(g->lds);
	free(g);
}

void amd_race_order_free(struct amd_races *c)
{
	for (uint64_t k = 0; c->group && k < c->ngroups; k++)
		group_free(c, c->group[k]);
	free(c->group);
	for (size_t k = 0; k < c->capplaces; k++)
		vclock_unref(c->places[k].known);
	free(c->places);
}
