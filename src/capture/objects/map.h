/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from handles to numbers: reads take no lock, writes take one (struct spin). Memory
 * comes from mmap; a table that was outgrown is kept, because a reader may still be in it.
 */
#ifndef CAPTURE_MAP_H
#define CAPTURE_MAP_H

#include "capture/core/agent.h"

struct map_slot {
	_Atomic uint64_t key, value; /* key 0: empty, and has always been; value 0: removed */
};
struct map_table {
	uint64_t mask, used; /* used: slots with a key */
	struct map_slot slot[];
};
/* All zero is an empty map. */
struct map {
	_Atomic(struct map_table *) table;
	struct spin lock;
};

/* The value of key, or 0. */
uint64_t map_get(struct map *m, uint64_t key);
/* Sets the value of key (not 0) to value (not 0). -ENOMEM when the map cannot grow. */
int map_put(struct map *m, uint64_t key, uint64_t value);
/* Removes key; returns its value, or 0. */
uint64_t map_remove(struct map *m, uint64_t key);
/* Calls fn for each entry, without a lock, until it returns true. Entries that change meanwhile may
 * be missed. */
void map_each(struct map *m, bool (*fn)(void *arg, uint64_t key, uint64_t value), void *arg);
/* Calls fn for each entry; removes those for which it returns true. */
void map_sweep(struct map *m, bool (*fn)(void *arg, uint64_t key, uint64_t value), void *arg);

#endif
