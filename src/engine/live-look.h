/* SPDX-License-Identifier: Apache-2.0
 *
 * What the device has really reached, asked at a stop of the live program: by queries of streams
 * and events with a deadline, by times that the device has reported, and by looking into the
 * software GPU. The live state knows only what the program could know.
 */
#ifndef ENGINE_LIVE_LOOK_H
#define ENGINE_LIVE_LOOK_H

#include "attach/attach.h"
#include "state/state.h"

struct engine;

struct live_look {
	uint64_t runs; /* of the stop (live.runs) */
	bool inside;   /* the software GPU was to be looked into, if there is one */
	bool answered; /* the driver did */
	bool two;      /* there was a second look */
	unsigned apart_ms;
	uint64_t taken_ns;	  /* CLOCK_MONOTONIC, of the last look */
	struct tsdb_look look[2]; /* the newer one is look[two] */
	struct state *state;	  /* a copy of the live state, as far as the device is */
	char *unanswered; /* what the driver did not answer; NULL: it answered, or was not asked */
};

/* Looks at the device of the program, which is stopped; the first time at each stop, and again if
 * `twice` was not asked for before: two looks, `set look-apart` apart. Waits for the driver for 2 s
 * at most. Belongs to the engine, until the program goes on. NULL: there is no agent that could
 * look. */
const struct live_look *live_look(struct engine *en, bool twice);
/* The same of another process that is stopped, of which nothing was recorded: two looks, under the
 * same settings. The caller's. */
struct live_look *live_look_at(const struct engine *en, struct inferior *inf);
void live_look_free(struct live_look *l);
/* The state to show: at a stop that is not at a command, as far as the device is; else NULL. */
const struct state *live_device_state(struct engine *en);

#endif
