/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the nodes of a graph launch that is not the same every time. They are executed one by one,
 * in an order that the graph allows, each several times from the same memory. When none of them
 * differs, the cause is a missing order between nodes.
 */
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-watchdog.h"

/* Makes memory what the copy has. */
static struct err *put_back(struct rp *rp, struct checking *k, struct gpu_stream *s)
{
	TRY(check_find_changes(rp, k, s));
	return check_move_list(rp, k, COPY_TO_MEMORY, s);
}

/* Whether each node can be executed by itself. */
static bool all_are_known(const struct state_steps *steps, const struct sbt_cmd *launch)
{
	struct sbt_cmd c;
	bool good = true;

	for (uint32_t i = 0; i < steps->n && good; i++) {
		struct err *e = step_works(&steps->step[i])
					? step_as_command(&steps->step[i], launch, &c)
					: NULL;

		good = !e;
		err_free(e);
	}
	return good && steps->n;
}

static struct err *one_step(struct rp *rp, struct checking *k, const struct state_step *step,
	const struct sbt_cmd *launch, struct gpu_stream *s, struct replayer_check_done *sum)
{
	struct sbt_cmd c;
	bool differs;

	if (!step_works(step))
		return NULL;
	watchdog_on(rp, launch->seq);
	TRY(step_as_command(step, launch, &c));
	TRY(check_same(rp, k, &c, s, sum, &differs));
	TRY(check_find_changes(rp, k, s));
	return check_take_over(rp, k, launch->seq - 1);
}

/* Whether the graph was looked into before; notes that it has been now. */
static bool was_looked_at(struct checking *k, uint32_t exec)
{
	for (size_t at = 0; at < k->graphs.len; at += sizeof exec)
		if (!memcmp(k->graphs.data + at, &exec, sizeof exec))
			return true;
	buf_add(&k->graphs, &exec, sizeof exec);
	return false;
}

struct err *check_steps(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct gpu_stream *s, size_t first, struct replayer_check_done *sum)
{
	const struct rgraph *g = objects_graph(rp, c->u.graph_launch.exec);
	struct state_steps steps;
	struct err *e = NULL;

	if (!g || was_looked_at(k, g->id))
		return NULL;
	TRY(graph_steps(rp, g, c->seq, &steps));
	if (all_are_known(&steps, c)) {
		for (size_t i = first; i < k->nrows; i++)
			k->rows[i].nodes = steps.n;
		e = put_back(rp, k, s);
		if (!e)
			e = execute_before(rp, c);
		for (k->step = 1; !e && k->step <= steps.n; k->step++)
			e = one_step(rp, k, &steps.step[k->step - 1], c, s, sum);
		k->step = 0;
		if (!e)
			e = execute_after(rp, c);
		if (!e)
			e = check_find_changes(rp, k, s);
	}
	state_steps_free(&steps);
	return e;
}
