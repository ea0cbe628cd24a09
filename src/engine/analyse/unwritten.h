/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches whose result depends on memory that was not written since its allocation. They are found
 * by the software GPU's access sets, and proven by executing them with other contents.
 */
#ifndef ENGINE_UNWRITTEN_H
#define ENGINE_UNWRITTEN_H

#include "engine/engine.h"

#define UNWRITTEN_RANGES 64 /* kept for each launch */

/* A kernel, and its first launch that depends on unwritten memory. */
struct unwritten {
	uint64_t seq;
	uint32_t kernel;
	uint64_t count;		   /* how many of the kernel's launches do */
	uint64_t bytes;		   /* read without having been written */
	uint64_t alloc, alloc_seq; /* allocation of the first of them */
	struct unwritten_range {
		uint64_t addr, size;
	} read[UNWRITTEN_RANGES], wrote[UNWRITTEN_RANGES];
	unsigned nread, nwrote;
};

struct unwritten_rows {
	struct unwritten *row; /* heap, in order of seq */
	size_t n;
};

/* Searches launches first..last on the replay's software GPU, which executes the whole window up to
 * last. Only allocations made in the window count. The device's position changes: call
 * replay_device_back(). kernels: n ids; NULL: all. */
struct err *unwritten_find(struct engine *en, uint64_t first, uint64_t last,
	const uint32_t *kernels, size_t n, struct unwritten_rows *ret) TS_CHECK;

#endif
