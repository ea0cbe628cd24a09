/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing. A key stays in its slot when its value is removed: handles
 * are heap addresses that the driver reuses, so the slot is soon taken by the same key again.
 */
#include "capture/objects/map.h"

#include <errno.h>

#define MAP_FIRST_SLOTS 1024

static uint64_t mix(uint64_t k)
{
	k *= 0x9e3779b97f4a7c15u;
	return k ^ k >> 32;
}

static size_t table_bytes(uint64_t slots)
{
	return sizeof(struct map_table) + slots * sizeof(struct map_slot);
}

/* The slot of key, or the empty slot where it would go. A table always has an empty slot. */
static struct map_slot *find(struct map_table *t, uint64_t key)
{
	for (uint64_t i = mix(key);; i++) {
		struct map_slot *s = &t->slot[i & t->mask];
		/* Pairs with the release in put(): a thread that sees the key sees the value. */
		uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);
		if (k == key || !k)
			return s;
	}
}

static void put(struct map_table *t, uint64_t key, uint64_t value)
{
	struct map_slot *s = find(t, key);
	atomic_store_explicit(&s->value, value, memory_order_release);
	if (!atomic_load_explicit(&s->key, memory_order_relaxed)) {
		t->used++;
		atomic_store_explicit(&s->key, key, memory_order_release);
	}
}

/* Makes the first table, or one twice as large with the living entries only. */
static struct map_table *grow(struct map *m, struct map_table *old)
{
	uint64_t live = 0;
	for (uint64_t i = 0; old && i <= old->mask; i++)
		live += !!atomic_load_explicit(&old->slot[i].value, memory_order_relaxed);
	uint64_t slots = MAP_FIRST_SLOTS;
	while (slots < live * 4)
		slots *= 2;
	struct map_table *t = agent_map(table_bytes(slots));
	if (!t)
		return NULL;
	t->mask = slots - 1;
	for (uint64_t i = 0; old && i <= old->mask; i++) {
		uint64_t value = atomic_load_explicit(&old->slot[i].value, memory_order_relaxed);
		if (value)
			put(t, atomic_load_explicit(&old->slot[i].key, memory_order_relaxed),
				value);
	}
	atomic_store_explicit(&m->table, t, memory_order_release);
	return t;
}

uint64_t map_get(struct map *m, uint64_t key)
{
	struct map_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
	if (!t || !key)
		return 0;
	struct map_slot *s = find(t, key);
	return atomic_load_explicit(&s->key, memory_order_relaxed) == key
		       ? atomic_load_explicit(&s->value, memory_order_acquire)
		       : 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	int err = 0;
	spin_lock(&m->lock);
	struct map_table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
	if (!t || (t->used + 1) * 10 > (t->mask + 1) * 7)
		t = grow(m, t);
	if (t)
		put(t, key, value);
	else
		err = -ENOMEM;
	spin_unlock(&m->lock);
	return err;
}

uint64_t map_remove(struct map *m, uint64_t key)
{
	uint64_t value = 0;
	spin_lock(&m->lock);
	struct map_table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
	if (t && key) {
		struct map_slot *s = find(t, key);
		value = atomic_exchange_explicit(&s->value, 0, memory_order_acq_rel);
	}
	spin_unlock(&m->lock);
	return value;
}

void map_each(struct map *m, bool (*fn)(void *arg, uint64_t key, uint64_t value), void *arg)
{
	struct map_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
	for (uint64_t i = 0; t && i <= t->mask; i++) {
		const uint64_t key = atomic_load_explicit(&t->slot[i].key, memory_order_acquire);
		const uint64_t value =
			atomic_load_explicit(&t->slot[i].value, memory_order_acquire);
		if (key && value && fn(arg, key, value))
			return;
	}
}

void map_sweep(struct map *m, bool (*fn)(void *arg, uint64_t key, uint64_t value), void *arg)
{
	spin_lock(&m->lock);
	struct map_table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
	for (uint64_t i = 0; t && i <= t->mask; i++) {
		struct map_slot *s = &t->slot[i];
		uint64_t value = atomic_load_explicit(&s->value, memory_order_relaxed);
		if (value && fn(arg, atomic_load_explicit(&s->key, memory_order_relaxed), value))
			atomic_store_explicit(&s->value, 0, memory_order_release);
	}
	spin_unlock(&m->lock);
}
