/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches whose result depends on memory that nobody wrote since it was allocated: found by the software GPU's access sets, proven by other
 * contents.
 */
#ifndef ENGINE_UNWRITTEN_H
#define ENGINE_UNWRITTEN_H

#include "engine/engine.h"

#define UNWRITTEN_RANGES 64 /* kept of a launch */

/* A kernel, and its first launch that does so. */
struct unwritten {
	uint64_t seq;
	uint32_t kernel;
	uint64_t count;		     /* launches of the kernel that do */
	uint64_t bytes;		     /* read, never written */
	uint64_t alloc, alloc_seq;   /* of the first of them */
	struct unwritten_range {
		uint64_t addr, size;
	} read[UNWRITTEN_RANGES], wrote[UNWRITTEN_RANGES];
	unsigned nread, nwrote;
};

struct unwritten_rows {
	struct unwritten *row; /* heap, in order of seq */
	size_t n;
};

/* Of launches first..last on the replay's software GPU, which executes the whole window up to last.
 * Only allocations made in the window count. The device is left somewhere: replay_device_back().
 * Kernels: n ids, NULL all. */
struct err *unwritten_find(struct engine *en, uint64_t first, uint64_t last,
	const uint32_t *kernels, size_t n, struct unwritten_rows *ret) TS_CHECK;

#endif
