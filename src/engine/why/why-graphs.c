/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of a queued graph launch: the device may be at one of them. The surprise: they are read
 * from the executable graph as it is now. If the program has changed it since the launch, they are
 * not what was launched, and nothing is reported.
 */
#include "engine/why/why-graphs.h"

const char *why_graph_steps(
	const struct state *s, const struct sbt_cmd *launch, struct state_steps *ret)
{
	struct state_graph g;
	struct err *e;

	*ret = (struct state_steps){0};
	if (!state_graph_by_id(s, (uint32_t)launch->u.graph_launch.exec, &g) || g.before ||
		!g.nodes || g.destroyed)
		return "the nodes of its graph are not known";
	if (g.last_update > launch->seq)
		return "its graph was changed after the launch";
	e = state_steps(ret, s, g.id);
	err_free(e);
	return e ? "the nodes of its graph are not known" : NULL;
}

enum why_step why_step_of(
	const struct state_step *step, const struct sbt_cmd *launch, struct sbt_cmd *ret)
{
	struct err *e;

	if (step->node.disabled || step->node.type == SBT_NODE_EMPTY)
		return WHY_STEP_NOTHING;
	e = step_as_command(step, launch, ret);
	err_free(e);
	return e ? WHY_STEP_UNKNOWN : WHY_STEP_COMMAND;
}

bool why_graph_host(
	const struct state *s, const struct sbt_cmd *launch, unsigned i, uint64_t *ret_fn)
{
	struct state_steps steps;
	struct sbt_cmd c;
	bool found = false;

	if (!why_graph_steps(s, launch, &steps))
		for (uint32_t k = 0; k < steps.n && !found; k++)
			if (why_step_of(&steps.step[k], launch, &c) == WHY_STEP_COMMAND &&
				c.kind == SBT_HOST_FUNC && !i--) {
				*ret_fn = c.u.host_func.fn;
				found = true;
			}
	state_steps_free(&steps);
	return found;
}
