/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds races inside a dispatch: two work-items touch the same byte of memory or LDS, at least one
 * writes, and nothing orders them. What orders is what the machine code says:
 *
 * - Instructions of one wave are ordered, since its lanes execute in step; lanes that write the
 * same byte by one instruction are not.
 * - s_barrier orders a workgroup's waves.
 * - Atomics, and loads with glc, are how code synchronises beyond that. What a wave did before its
 *   last s_waitcnt vmcnt(0) is published by an atomic or a store of it; the wave that sees the
 * value by an atomic with a result, or a load with glc, knows that from its next invalidation of
 * the cache (buffer_wbinvl1) or barrier on ("User Guide for AMDGPU Backend", Memory Model gfx90a).
 *
 * Left out on the side of silence: a plain store looks like an atomic one, so a store and a load
 * with glc or an atomic are no race; of a word's readers two are remembered, and one writer; a wave
 * that has ended has arrived at all barriers; atomics on LDS order at once.
 */
#ifndef SOFTAMD_AMD_RACE_H
#define SOFTAMD_AMD_RACE_H

#include <stddef.h>

#include "softamd/machine/amd-observe.h"
#include "softamd/machine/amd-run.h"

enum amd_race_tier {
	AMD_RACE,
	AMD_RACE_ATOMIC_READ, /* a plain read and an atomic */
	AMD_RACE_SAME_VALUE,  /* the write leaves the bytes as they are */
};

struct amd_race_side {
	enum amd_access_kind kind;
	uint32_t group[3], item[3]; /* workgroup; work-item in it */
	uint64_t pc;
	const char *insn; /* static */
};

struct amd_race {
	enum amd_race_tier tier;
	bool lds;
	uint64_t addr, count; /* of the first time; times */
	unsigned size;
	struct amd_race_side side[2]; /* the earlier access, the later one */
};

struct amd_races;
/* For one dispatch; d stays the caller's. limit: bytes of memory that may be used; 0: 1 GiB. NULL:
 * no memory. */
struct amd_races *amd_races_new(const struct amd_dispatch *d, size_t limit);
void amd_races_free(struct amd_races *c);
struct amd_observer amd_races_observer(struct amd_races *c);
/* The i-th pair of instructions found. To be called when the dispatch is over. */
bool amd_races_get(const struct amd_races *c, size_t i, struct amd_race *ret);
/* Why the dispatch was not checked whole; NULL: it was. */
const char *amd_races_doubt(const struct amd_races *c);

#endif
