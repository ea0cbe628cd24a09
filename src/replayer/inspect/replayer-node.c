/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes inside a graph launch: its nodes are executed one by one, as commands on the launch's
 * stream, each finished before the next begins. The position stays before the launch and memory
 * counts as stale, so the next request restores it. After the last node memory is what the whole
 * launch leaves, and the position is behind it.
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-into.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"

void node_leave(struct rp *rp)
{
	state_steps_free(&rp->in_graph.steps);
	rp->in_graph.seq = 0;
	rp->in_graph.done = 0;
}

/* Goes to before the first node. */
static struct err *begin(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret)
{
	static const struct into_kind graph_launch = {
		SBT_GRAPH_LAUNCH, "graph launch", ", so it has no steps here"};

	TRY(into_seek(rp, seq, &graph_launch, ret));
	const struct rgraph *g = objects_graph(rp, (*ret)->u.graph_launch.exec);
	if (!g)
		return rp_fail(rp, REPLAYER_E_TRACE, seq,
			"#%llu launches a graph that the trace does not have",
			(unsigned long long)seq);
	TRY(graph_steps(rp, g, seq, &rp->in_graph.steps));
	rp->in_graph.seq = seq;
	rp->in_graph.done = 0;
	return into_begin(rp, *ret);
}

static struct err *step(struct rp *rp, const struct sbt_cmd *launch)
{
	const struct state_step *at = &rp->in_graph.steps.step[rp->in_graph.done];
	struct sbt_cmd c;

	if (step_works(at)) {
		TRY(step_as_command(at, launch, &c));
		TRY(execute_node(rp, &c));
		TRY(execute_finish(rp));
	}
	rp->in_graph.done++;
	return NULL;
}

/* All nodes are done. */
static struct err *end(struct rp *rp, const struct sbt_cmd *launch)
{
	const uint64_t seq = launch->seq;

	TRY(execute_after(rp, launch));
	TRY(execute_finish(rp));
	into_behind(rp, seq);
	node_leave(rp);
	return NULL;
}

static struct err *go(struct rp *rp, uint64_t seq, uint32_t to, uint32_t *ret_steps)
{
	const struct sbt_cmd *launch;

	if (rp->in_graph.seq != seq || rp->in_graph.done > to) {
		node_leave(rp);
		TRY(begin(rp, seq, &launch));
	} else {
		TRY(execute_fetch(rp, seq, &launch));
		rp->current = seq;
	}
	*ret_steps = rp->in_graph.steps.n;
	while (rp->in_graph.done < to && rp->in_graph.done < rp->in_graph.steps.n) {
		watchdog_on(rp, seq);
		TRY(step(rp, launch));
	}
	TRY(execute_finish(rp));
	return to >= *ret_steps && to ? end(rp, launch) : NULL;
}

struct err *node_go(struct rp *rp, uint64_t seq, uint32_t to, uint32_t *ret_steps)
{
	TRY(window_holds(rp, seq));
	struct err *e = go(rp, seq, to, ret_steps);

	if (!e)
		return NULL;
	if (!rp->fail_seq)
		rp->fail_seq = rp->fail_first = seq;
	rp->stale = true;
	node_leave(rp);
	return e;
}
