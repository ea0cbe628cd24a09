/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of the agent that help the calling one with reading and hashing much memory of the host,
 * while the program is held up for it.
 */
#ifndef CAPTURE_CREW_H
#define CAPTURE_CREW_H

#include "capture/core/agent.h"

/* What each of them has for itself, for copies of what it looks at. */
#define CREW_ROOM (512u << 10)
/* So much memory is worth waking them for. */
#define CREW_WORTH (1u << 20)

/* Does part i. May run in any of the threads, several parts at once; must not call the driver, nor
 * take a lock. */
typedef void crew_fn(void *arg, uint64_t i, uint8_t *room);

/* Does parts 0 to n - 1 in any order and waits for all. Returns false, with nothing done, if there
 * is one processor only, or another thread has the crew: the caller then does it by itself. */
bool crew_do(crew_fn *fn, void *arg, uint64_t n);
/* The debugger leaves and the agent is not live: ends the threads. */
void crew_stop(void);

#endif
