/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay inside a graph launch. The replay's position is the launch all the while; where in the
 * launch it is, the engine keeps here, and forgets as soon as the position moves.
 */
#ifndef ENGINE_GRAPH_PLACE_H
#define ENGINE_GRAPH_PLACE_H

#include "engine/engine.h"
#include "state/steps.h"

/* Where the replay is in graph launch seq, which is the engine's position: so many steps are done.
 */
struct graph_place {
	uint64_t seq;
	uint32_t step;
	bool before; /* it stopped because of the next step, and is about that one; else about the
			last one done */
	struct state_steps steps;
	bool has_cmd;
	struct sbt_cmd cmd; /* of the step that it is about */
};

/* NULL: the replay is in none. */
const struct graph_place *graph_place_of(const struct engine *en);
/* The replay has moved otherwise. */
void graph_forget(struct engine *en);
/* Takes the device back to the step, when it was elsewhere meanwhile; does nothing outside of
 * launches. */
struct err *graph_return(struct engine *en) TS_CHECK;

#endif
