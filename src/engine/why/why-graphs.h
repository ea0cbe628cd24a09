/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of graph launches that are queued, as commands. Private to the drawer.
 */
#ifndef ENGINE_WHY_GRAPHS_H
#define ENGINE_WHY_GRAPHS_H

#include "state/steps.h"

/* The launch's steps; the caller frees *ret, in any case, before s changes. Returns why they are
 * not known, a sentence about "it" without its full stop; NULL: they are. */
const char *why_graph_steps(
	const struct state *s, const struct sbt_cmd *launch, struct state_steps *ret);

enum why_step { WHY_STEP_NOTHING, WHY_STEP_COMMAND, WHY_STEP_UNKNOWN };
/* What the step does; a command is in *ret, with the seq of the launch. */
enum why_step why_step_of(
	const struct state_step *step, const struct sbt_cmd *launch, struct sbt_cmd *ret);
/* The id of the step's node in the answer. */
static inline uint64_t why_step_id(const struct state_step *step)
{
	return 1ull << 63 | (uint64_t)step->graph << 32 | step->node.node;
}
/* The i-th host function of the launch's graph; false: there are no more, or it is not known. */
bool why_graph_host(
	const struct state *s, const struct sbt_cmd *launch, unsigned i, uint64_t *ret_fn);

#endif
