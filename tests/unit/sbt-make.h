/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up commands for tests of room sbt: seeded, so that a failure can be seen again.
 */
#ifndef SBT_MAKE_H
#define SBT_MAKE_H

#include <stdlib.h>

#include "sbt/sbt.h"
#include "sbt/fields.h"

static inline uint64_t make_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1du;
}

/* Small numbers mostly, sometimes any, sometimes the largest. */
static inline uint64_t make_value(uint64_t *seed)
{
	uint64_t r = make_random(seed);

	switch (r % 8) {
	case 0:
		return make_random(seed);
	case 1:
		return UINT64_MAX;
	case 2:
		return SBT_NO_ID;
	default:
		return (r >> 8) % 5;
	}
}

/* Random fields for c->kind; blobs point into heap, which must hold 4 * 4096 bytes. */
static inline void make_fields(struct sbt_cmd *c, uint64_t *seed, char *heap)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	for (const struct sbt_field *f = d->fields; f->name; f++) {
		struct sbt_blob b = {heap, make_random(seed) % 100};

		if (!sbt_type_is_blob(f->type)) {
			sbt_set(c, f, make_value(seed));
			continue;
		}
		if (make_random(seed) % 16 == 0)
			b.len = make_random(seed) % 4096;
		for (uint64_t i = 0; i < b.len; i++)
			heap[i] = (char)(make_random(seed) % 3 ? 0 : make_random(seed));
		heap += b.len;
		if (!b.len)
			b.p = NULL;
		*(struct sbt_blob *)(void *)((char *)c + f->offset) = b;
	}
}

static inline void make_cmd(
	struct sbt_cmd *c, uint64_t seq, unsigned kind, uint64_t *seed, char *heap)
{
	*c = (struct sbt_cmd){.seq = seq, .kind = (uint16_t)kind};
	c->flags = (uint16_t)(make_random(seed) % 16);
	c->thread = (uint32_t)(1 + make_random(seed) % 3);
	c->ctx = (uint32_t)make_value(seed);
	c->stack = (uint32_t)(make_random(seed) % 50);
	c->result = make_random(seed) % 10 ? 0 : (uint32_t)make_random(seed);
	c->corr = make_random(seed) % 4 ? (uint32_t)seq * 2 : (uint32_t)make_value(seed);
	c->host_ns = 1700000000000000000u + seq * 3500 + make_random(seed) % 4000;
	make_fields(c, seed, heap);
}

#endif
