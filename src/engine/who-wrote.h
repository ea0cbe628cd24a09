/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the command, or the step of a graph launch, that wrote to memory last.
 */
#ifndef ENGINE_WHO_WROTE_H
#define ENGINE_WHO_WROTE_H

#include "engine/engine.h"
#include "replay/replay.h"

struct who_wrote {
	struct replay_writer writer;
	uint32_t step; /* of graph launch writer.seq; 0: the command as a whole */
};

/* The last writer up to the replay's position, see replay_who_wrote(). The position stays. */
struct err *who_wrote(
	struct engine *en, uint64_t addr, uint64_t size, struct who_wrote *ret) TS_CHECK;

/* The last `most` writers up to the replay's position, the newest first; heap, *ret_n of them, at
 * least one. The position stays. ERR_UNSUPPORTED inside a graph launch. */
struct err *who_wrote_last(struct engine *en, uint64_t addr, uint64_t size, unsigned most,
	struct who_wrote **ret, unsigned *ret_n) TS_CHECK;

#endif
