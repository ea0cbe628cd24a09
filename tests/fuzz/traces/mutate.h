/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes to a trace that a hostile author would make: to what it says, checksums being right. The
 * same seed makes the same changes.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators") */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Below n, which is not 0. */
static inline uint64_t below(uint64_t *state, uint64_t n)
{
	return next_random(state) % n;
}

/* One change to a model: a field, a blob, a command, a piece of memory, code, a text, a window. */
void mutate_model(struct model *m, uint64_t *random);
/* One change to the bytes inside a chunk of the trace at path, which is unpacked, packed again and
 * gets the right sums. */
void mutate_file(const char *path, uint64_t *random);

#endif
