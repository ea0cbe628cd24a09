/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that are elsewhere now: a map from ranges to where they went, and memory's words translated by it. A word that lies in such a
 * range is taken for an address: the ranges are a module's variables and functions, and no number that means something else is like them.
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

/* A range that is empty, wraps or stays where it is is left out. */
void address_map_add(struct address_map *m, uint64_t from, uint64_t size, uint64_t to);
/* After the last address_map_add(); of ranges that overlap, the one that begins first stays, of those the longest. Then threads may share the map. */
void address_map_end(struct address_map *m);
void address_map_free(struct address_map *m);
bool address_map_find(const struct address_map *m, uint64_t addr, uint64_t *ret);
/* Whether a word of them may be in a range: false is certain. */
bool address_map_any(const struct address_map *m, uint64_t addr, const void *p, size_t n);
/* Translates the 8-byte words of p[0, n), which is memory at addr: those at multiples of 8. How many changed. */
size_t address_map_words(const struct address_map *m, uint64_t addr, void *p, size_t n);

/* What one place says: a function that is at `here` was at `there`. */
struct address_pair {
	uint64_t here, there;
};
/* A program may have put another function's address where the loader had put this one's, so some pairs may be wrong. Each here keeps the
 * there that most say, each there the here that most say; where as many say one thing as another, none is kept. How many are left. */
size_t address_pairs_agree(struct address_pair *p, size_t n);

#endif
