/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph launched node by node. Kernels see arrays of the device's, which copies do not reach
 * (replayer-arrays.c): each kernel of such a graph is brought what the copies before it wrote.
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"

static bool is_of_arrays(const struct rp *rp, const struct sbt_cmd *c)
{
	struct sbt_rows dst, src;

	return c->kind == SBT_COPY && !sbt_rows_of_copy(&dst, &c->u.copy, true) &&
	       !sbt_rows_of_copy(&src, &c->u.copy, false) &&
	       (textures_have(rp, &dst) || textures_have(rp, &src));
}

static struct err *any_of_arrays(
	struct rp *rp, const struct state_steps *steps, const struct sbt_cmd *launch, bool *ret)
{
	struct sbt_cmd c;

	for (uint32_t i = 0; i < steps->n && !*ret; i++) {
		if (!step_works(&steps->step[i]))
			continue;
		TRY(step_as_command(&steps->step[i], launch, &c));
		*ret = is_of_arrays(rp, &c);
	}
	return NULL;
}

static struct err *all_nodes(
	struct rp *rp, const struct state_steps *steps, const struct sbt_cmd *launch)
{
	struct sbt_cmd c;

	for (uint32_t i = 0; i < steps->n; i++) {
		if (!step_works(&steps->step[i]))
			continue;
		watchdog_on(rp, launch->seq);
		TRY(step_as_command(&steps->step[i], launch, &c));
		TRY(execute_node(rp, &c));
	}
	return NULL;
}

struct err *graph_by_nodes(
	struct rp *rp, const struct rgraph *g, const struct sbt_cmd *c, bool *ret)
{
	struct state_steps steps;

	*ret = false;
	if (!textures_are_copies(&rp->objects.textures) && !rp->counting.n)
		return NULL;
	TRY(graph_steps(rp, g, c->seq, &steps));
	*ret = rp->counting.n != 0; /* each launch is looked at */
	struct err *e = any_of_arrays(rp, &steps, c, ret);
	if (!e && *ret)
		e = all_nodes(rp, &steps, c);
	state_steps_free(&steps);
	return e;
}
