/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay inside a graph launch. The replay's position is the launch all the time; the step within
 * it is kept here, and forgotten when the position moves.
 */
#ifndef ENGINE_GRAPH_PLACE_H
#define ENGINE_GRAPH_PLACE_H

#include "engine/engine.h"
#include "state/steps.h"

/* Where the replay is in graph launch seq, which is the engine's position. */
struct graph_place {
	uint64_t seq;
	uint32_t step;
	bool before; /* the stop is about the next step, else about the last one done */
	struct state_steps steps;
	bool has_cmd;
	struct sbt_cmd cmd; /* of the step that it is about */
};

/* Returns NULL if the replay is not inside a graph launch. */
const struct graph_place *graph_place_of(const struct engine *en);
/* Forgets the place, because the replay has moved elsewhere. */
void graph_forget(struct engine *en);
/* Moves the device back to the step if it was moved meanwhile; does nothing outside of graph
 * launches. */
struct err *graph_return(struct engine *en) TS_CHECK;

#endif
