/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay inside graph launches: where it is, a step to go to, the next stop in a launch. The
 * replay's position is the launch all the time; the step within it is kept here, and forgotten when
 * the position moves.
 */
#ifndef ENGINE_GRAPH_STEPS_H
#define ENGINE_GRAPH_STEPS_H

#include "engine/engine.h"
#include "replay/replay.h"
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

/* Goes to right behind a step of graph launch seq; 0: before its first. before: the stop is about
 * the next step. After the last step the replay is at the launch. */
struct err *graph_go(struct engine *en, uint64_t seq, uint32_t step, bool before) TS_CHECK;
/* The state right before command seq, and the command (with blobs cleared); the caller frees the
 * state. */
struct err *graph_launched(
	struct engine *en, uint64_t seq, struct state **ret, struct sbt_cmd *ret_cmd) TS_CHECK;
/* How many steps `step` makes in the launch; 0: the launch is one step. */
struct err *graph_steps_of(struct engine *en, uint64_t seq, uint32_t *ret) TS_CHECK;
/* Goes to the next stop within the launch that the replay is inside; *ret_step steps are then done,
 * and ret->why is REPLAY_BREAKPOINT or REPLAY_WATCHPOINT. REPLAY_STEPPED: there is no such stop, or
 * no launch; the place is then forgotten, and the replay can go on from the launch in either
 * direction. */
struct err *graph_run(
	struct engine *en, bool backwards, struct replay_stop *ret, uint32_t *ret_step) TS_CHECK;
/* The same for a whole launch that something stopped at. */
struct err *graph_look_in(struct engine *en, uint64_t seq, bool backwards, struct replay_stop *ret,
	uint32_t *ret_step) TS_CHECK;
/* The last step of launch seq that changed bytes of the range; 0: no single step did. Moves the
 * device. */
struct err *graph_last_change(struct engine *en, uint64_t seq, uint64_t addr, uint64_t size,
	uint32_t limit, uint32_t *ret) TS_CHECK;

#endif
