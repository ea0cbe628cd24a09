/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds races inside a launch: two threads touch the same byte of global or shared memory, at least
 * one writes, and nothing orders them. Order comes from the program alone, never from the order in
 * which warps happened to run: barriers, bar.warp.sync among its lanes, a fence and then a strong
 * write or atomic that another thread's strong read or atomic and then fence sees ("PTX ISA 9.0",
 * 8.7 to 8.10), mbarriers. Lanes of a warp are threads as any others.
 *
 * Left out on the side of silence: a pending acquire counts at a barrier as well as at a fence; an
 * exited thread has arrived at all barriers; of more than eight unordered readers of a word eight
 * are remembered. Two strong accesses (volatile, relaxed, atomic) do not race.
 */
#ifndef SOFTGPU_PTX_RACE_H
#define SOFTGPU_PTX_RACE_H

#include "softgpu/watch/ptx-observe.h"

enum ptx_race_tier {
	PTX_RACE,
	PTX_RACE_ATOMIC_READ, /* a plain read and an atomic: wrong, unless a compare-and-swap checks
				 what was read */
	PTX_RACE_SAME_VALUE,  /* the write leaves the bytes as they are */
};
struct ptx_race_side {
	enum ptx_access_kind kind;
	unsigned block[3], thread[3];
	const struct ptx_insn *insn;
	const struct ptx_function *fn; /* that the instruction is in */
	const char *file;	       /* NULL: the text has no .loc there */
	unsigned source_line;
};
struct ptx_race {
	enum ptx_race_tier tier;
	bool shared;
	uint64_t addr, count; /* of the first time; times */
	unsigned size;
	struct ptx_race_side side[2]; /* the earlier access, the later one */
};

struct ptx_races;
/* For one launch; l stays the caller's. limit: bytes of memory that may be used; 0: 1 GiB. NULL: no
 * memory. */
struct ptx_races *ptx_races_new(const struct ptx_launch *l, size_t limit);
void ptx_races_free(struct ptx_races *c);
struct ptx_observer ptx_races_observer(struct ptx_races *c);
/* The i-th pair found; strings live as long as the module. */
bool ptx_races_get(const struct ptx_races *c, size_t i, struct ptx_race *ret);
/* Why the launch was not checked whole; NULL: it was. */
const char *ptx_races_doubt(const struct ptx_races *c);

#endif
