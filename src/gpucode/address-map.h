/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from address ranges of the recording to where they lie now, and the translation of memory
 * by it. A word that lies in such a range is taken for an address: the ranges are a module's
 * variables and functions, and other numbers do not look like these.
 */
#ifndef REPLAY_ADDRESS_MAP_H
#define REPLAY_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_range {
	uint64_t from, size, to; /* bytes; neither wraps */
};
struct address_map {
	struct address_range *r; /* rising, apart, after address_map_end() */
	size_t n, cap;
	uint64_t lo, span; /* all of them lie in it; span 0: there are none */
};

/* Adds a range. One that is empty, that wraps, or that has not moved is left out. */
void address_map_add(struct address_map *m, uint64_t from, uint64_t size, uint64_t to);
/* Call it after the last address_map_add(); from then on threads may share the map. Of ranges that
 * overlap, the one that begins first stays, and of several that begin there the longest. */
void address_map_end(struct address_map *m);
void address_map_free(struct address_map *m);
bool address_map_find(const struct address_map *m, uint64_t addr, uint64_t *ret);
/* Whether some word of p[0, n) may lie in a range; false is certain. */
bool address_map_any(const struct address_map *m, uint64_t addr, const void *p, size_t n);
/* Translates the 8-byte words of p[0, n), a copy of the memory at addr, that lie at multiples of 8
 * there. Returns how many changed. */
size_t address_map_words(const struct address_map *m, uint64_t addr, void *p, size_t n);

/* One observation: a function that is at `here` now was at `there`. */
struct address_pair {
	uint64_t here, there;
};
/* Removes pairs that contradict others: a program may have overwritten the address that the loader
 * put there. Each `here` keeps the `there` that most pairs say, and the other way round; at a tie
 * none is kept. Returns how many pairs are left. */
size_t address_pairs_agree(struct address_pair *p, size_t n);

#endif
