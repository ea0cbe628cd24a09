/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the command that reads, or reads or writes, watched bytes (`rwatch`, `awatch`) in the open
 * trace. On the software GPU by the access sets of what it executes; else by records: exact for
 * copies, fills and the like; a launch that was given a pointer into the allocation may touch it.
 */
#ifndef ENGINE_ACCESS_WATCH_H
#define ENGINE_ACCESS_WATCH_H

#include "engine/replay-moves.h"

struct access_stop {
	uint64_t at; /* the position right behind the access; 0: nothing was looked for */
	int ids[REPLAY_OTHERS + 1]; /* watchpoints that it concerns */
	unsigned nids;		    /* 0: nothing up to `at` touches their bytes */
	struct watch_touch touch;   /* of the first one */
	uint64_t passed;	    /* commands on the way that may have touched them, unseen */
};

/* Looks at the next *chunk commands from the replay's position, and makes *chunk larger for the
 * next call. The position and the device stay. ERR_INTERRUPTED after Ctrl-C. */
struct err *access_watch_look(
	struct engine *en, bool backwards, uint64_t *chunk, struct access_stop *ret) TS_CHECK;
/* The same for one command. */
struct err *access_watch_at(struct engine *en, uint64_t seq, struct access_stop *ret) TS_CHECK;

#endif
