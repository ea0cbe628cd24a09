/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay inside graph launches, see graph-steps.h. The replay's position is the launch all the
 * time; it can only make the device go to a step. The step within the launch is kept in
 * trace.graph, and forgotten when the replay moves.
 */
#include "engine/graph-steps.h"

#include <stdlib.h>
#include "engine/breakpoints.h"
#include "engine/replay-device.h"
#include "engine/trace-file.h"
#include "replay/device-node.h"

/* Sets the command that the place is about. */
static void choose_cmd(struct graph_place *p, const struct sbt_cmd *launch)
{
	const uint32_t about = p->before ? p->step + 1 : p->step;
	const struct state_step *step =
		about && about <= p->steps.n ? &p->steps.step[about - 1] : NULL;
	struct err *e;

	p->has_cmd = false;
	if (!step || !launch || !step->node.payload.len)
		return;
	e = step_as_command(step, launch, &p->cmd);
	p->has_cmd = !e;
	err_free(e);
	p->cmd.flags |= SBT_F_GRAPH; /* not a launch of its own */
	if (step->node.stack)
		p->cmd.stack = step->node.stack;
}

struct err *graph_go(struct engine *en, uint64_t seq, uint32_t step, bool before)
{
	struct graph_place *p;
	struct replay_stop stop;
	uint32_t steps;
	struct err *e;

	graph_forget(en);
	TRY(replay_node(en->trace.replay, seq, step, &steps, &stop));
	if (step >= steps && step)
		return NULL;
	p = xcalloc(1, sizeof *p);
	p->seq = seq;
	p->step = step;
	p->before = before;
	en->trace.graph = p;
	const struct sbt_cmd *launch = replay_cmd(en->trace.replay);
	e = launch ? state_steps(&p->steps, replay_state(en->trace.replay),
			     (uint32_t)launch->u.graph_launch.exec)
		   : NULL;
	choose_cmd(p, launch);
	if (e)
		graph_forget(en);
	return e;
}

struct err *graph_launched(
	struct engine *en, uint64_t seq, struct state **ret, struct sbt_cmd *ret_cmd)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;

	*ret = NULL;
	TRY(trace_cmd(en->trace.reader, seq, &cur, &c));
	*ret_cmd = *c;
	if (c->kind != SBT_GRAPH_LAUNCH) /* its blobs go with the cursor */
		*ret_cmd = (struct sbt_cmd){.kind = c->kind, .seq = c->seq};
	sbt_cursor_close(cur);
	return state_at(ret, en->trace.reader, seq - 1);
}

/* Whether the launch's nodes can be executed one by one. Nodes that no command describes are
 * executed only as part of the whole launch, if at all. */
static bool can_step(const struct engine *en, const struct state_steps *steps)
{
	for (uint32_t i = 0; en->trace.device && i < steps->n; i++)
		if (steps->step[i].node.type == SBT_NODE_OTHER)
			return false;
	return true;
}

struct err *graph_steps_of(struct engine *en, uint64_t seq, uint32_t *ret)
{
	const struct sbt_cmd *c = replay_cmd(en->trace.replay);
	struct state *own = NULL;
	struct state_steps steps;
	struct sbt_cmd launch;
	struct err *e;

	*ret = 0;
	if (c && c->seq == seq) {
		launch = *c;
	} else {
		TRY(graph_launched(en, seq, &own, &launch));
	}
	e = state_steps(&steps, own ? own : replay_state(en->trace.replay),
		(uint32_t)launch.u.graph_launch.exec);
	*ret = can_step(en, &steps) ? steps.n : 0;
	state_steps_free(&steps);
	state_free(own);
	return e;
}

/* --- stops within a launch --- */

static struct err *hash_at(struct engine *en, uint64_t seq, uint32_t step,
	const struct replay_watchpoint *w, unsigned n, struct sbt_hash *ret)
{
	struct replay_device *rd;
	uint32_t steps;

	TRY(replay_device_need(en, "looking for changes inside a graph launch", &rd));
	TRY(device_node(rd->d, seq, step, &steps));
	for (unsigned i = 0; i < n; i++)
		TRY(device_hash(rd->d, w[i].addr, w[i].size, &ret[i]));
	return NULL;
}

/* Finds the first (or last) of steps first..last of launch seq that changes watched bytes:
 * *ret_step, 0: none. Moves the device. */
static struct err *find_change(struct engine *en, uint64_t seq, uint32_t first, uint32_t last,
	const struct replay_watchpoint *w, unsigned n, bool backwards, uint32_t *ret_step,
	int *ret_id)
{
	struct sbt_hash *before = xcalloc(n + 1, sizeof *before),
			*after = xcalloc(n + 1, sizeof *after);
	struct err *e = NULL;

	*ret_step = 0;
	if (n && first && first <= last)
		e = hash_at(en, seq, first - 1, w, n, before);
	for (uint32_t k = first; !e && n && k && k <= last && (backwards || !*ret_step); k++) {
		e = engine_cancelled(en) ? err_new(ERR_INTERRUPTED, "interrupted")
					 : hash_at(en, seq, k, w, n, after);
		for (unsigned i = 0; !e && i < n; i++) {
			if (sbt_hash_equal(before[i], after[i]))
				continue;
			*ret_step = k;
			*ret_id = w[i].id;
			before[i] = after[i];
		}
	}
	free(before);
	free(after);
	return e;
}

struct err *graph_last_change(struct engine *en, uint64_t seq, uint64_t addr, uint64_t size,
	uint32_t limit, uint32_t *ret)
{
	const struct replay_watchpoint w = {.id = 1, .addr = addr, .size = size};
	uint32_t steps;
	int id;

	TRY(graph_steps_of(en, seq, &steps));
	return find_change(en, seq, 1, limit < steps ? limit : steps, &w, 1, true, ret, &id);
}

struct span {
	uint32_t first, last; /* steps, from 1 */
};

/* Finds a stop in the launch at the replay's position: breakpoints before the steps of `stops`,
 * changes by those of `changes`. *hit_step 0: none. */
static struct err *look_in(struct engine *en, uint64_t seq, struct span stops, struct span changes,
	bool backwards, uint32_t *hit_step, struct replay_stop *ret)
{
	struct replay_breakpoint *bps;
	struct replay_watchpoint *ws;
	unsigned nbps, nws;
	uint32_t change = 0;
	int id = 0, change_id = 0;
	struct err *e;

	bps = breakpoints_for_replay(en->breaks, settings_on(&en->set, SET_REPLAY_NODES), &nbps);
	ws = breakpoints_watches(en->breaks, &nws);
	e = replay_match_nodes(
		en->trace.replay, bps, nbps, stops.first, stops.last, backwards, hit_step, &id);
	if (!id)
		*hit_step = 0;
	if (!e && nws && en->trace.device)
		e = find_change(en, seq, changes.first, changes.last, ws, nws, backwards, &change,
			&change_id);
	/* A breakpoint at step k stops after step k - 1. */
	if (change && (!*hit_step || (backwards ? change >= *hit_step : change < *hit_step))) {
		*ret = (struct replay_stop){
			.why = REPLAY_WATCHPOINT, .breakpoint = change_id, .seq = seq};
		*hit_step = change;
	} else if (*hit_step) {
		*ret = (struct replay_stop){.why = REPLAY_BREAKPOINT,
			.breakpoint = id,
			.seq = seq,
			.node_seq = seq,
			.node = *hit_step};
	}
	free(bps);
	free(ws);
	return e;
}

static struct err *stop_in(struct engine *en, uint64_t seq, uint32_t step,
	const struct replay_stop *stop, uint32_t *ret_step)
{
	const bool before = stop->why == REPLAY_BREAKPOINT;

	*ret_step = before ? step - 1 : step;
	return graph_go(en, seq, *ret_step, before);
}

struct err *graph_run(
	struct engine *en, bool backwards, struct replay_stop *ret, uint32_t *ret_step)
{
	const struct graph_place *p = graph_place_of(en);
	struct span stops, changes;
	uint64_t seq;
	uint32_t hit;

	*ret = (struct replay_stop){.why = REPLAY_STEPPED};
	if (!p)
		return NULL;
	seq = p->seq;
	stops = backwards ? (struct span){1, p->step}
			  : (struct span){p->step + 1 + p->before, p->steps.n};
	changes = backwards ? (struct span){1, p->step ? p->step - 1 : 0}
			    : (struct span){p->step + 1, p->steps.n};
	TRY(look_in(en, seq, stops, changes, backwards, &hit, ret));
	if (hit)
		return stop_in(en, seq, hit, ret, ret_step);
	graph_forget(en);
	return NULL;
}

struct err *graph_look_in(struct engine *en, uint64_t seq, bool backwards, struct replay_stop *ret,
	uint32_t *ret_step)
{
	uint32_t steps, hit;

	*ret = (struct replay_stop){.why = REPLAY_STEPPED};
	TRY(graph_steps_of(en, seq, &steps));
	if (!steps) /* it is one step */
		return NULL;
	TRY(graph_go(en, seq, 0, false));
	TRY(look_in(
		en, seq, (struct span){1, steps}, (struct span){1, steps}, backwards, &hit, ret));
	if (hit)
		return stop_in(en, seq, hit, ret, ret_step);
	graph_forget(en);
	return NULL;
}
