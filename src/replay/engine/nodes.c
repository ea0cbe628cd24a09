/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine inside graph launches: going to a step of one, and breakpoints on kernels in them.
 * Which nodes a graph has is known from the state at its launch alone, so looking for a match folds
 * what concerns graphs on the way.
 */
#include <inttypes.h>
#include "replay/engine/replay-private.h"

/* --- going there --- */

static struct err *find_launch(struct replay *r, uint64_t seq)
{
	const struct sbt_cmd *c;

	TRY(replay_look_up(r, seq));
	TRY(sbt_cursor_seek(r->cursor, seq));
	TRY(sbt_cursor_next(r->cursor, &c));
	if (!seq || !c || c->seq != seq || c->kind != SBT_GRAPH_LAUNCH || !sbt_cmd_is_work(c))
		return err_cure(
			err_new(ERR_NOT_FOUND,
				"#%" PRIu64 " is no launch of a graph, so it has no steps", seq),
			"\"view --kind graph_launch\" lists them");
	return NULL;
}

static struct err *enough_steps(uint64_t seq, uint32_t step, uint32_t steps)
{
	if (step <= steps)
		return NULL;
	return err_cure(err_new(ERR_USAGE, "#%" PRIu64 " has %" PRIu32 " step%s, not %" PRIu32, seq,
				steps, steps == 1 ? "" : "s", step),
		"\"info graph\" at the launch lists them");
}

/* Counts the launch's steps from the present state if it is the launch's, else from a state made
 * for this. */
static struct err *count_steps(struct replay *r, uint64_t seq, uint32_t *ret)
{
	const struct sbt_cmd *c;
	struct state_steps steps;
	struct state *own = NULL;
	uint32_t graph;
	struct err *e;

	TRY(sbt_cursor_seek(r->cursor, seq));
	TRY(sbt_cursor_next(r->cursor, &c));
	graph = (uint32_t)c->u.graph_launch.exec;
	if (r->seq != seq)
		TRY(state_at(&own, r->trace, seq - 1));
	e = state_steps(&steps, own ? own : r->s, graph);
	*ret = steps.n;
	state_steps_free(&steps);
	state_free(own);
	return e;
}

static struct err *go_to_node(struct replay *r, uint64_t seq, uint32_t step, uint32_t *ret_steps)
{
	uint32_t n;

	r->astray = true;
	r->cmd = NULL;
	TRY(find_launch(r, seq));
	TRY(count_steps(r, seq, ret_steps));
	TRY(enough_steps(seq, step, *ret_steps));
	if (r->has_ex && r->ex.node) {
		TRY(r->ex.node(r->ex.arg, seq, step, &n));
		if (n != *ret_steps)
			return err_new(ERR_INFERIOR,
				"the device counts %" PRIu32 " steps of #%" PRIu64
				", the trace has %" PRIu32,
				n, seq, *ret_steps);
	}
	return r->seq == seq ? NULL
			     : replay_jump_state(r, seq, UINT64_MAX, replay_marks_before(r, seq));
}

struct err *replay_node(
	struct replay *r, uint64_t seq, uint32_t step, uint32_t *ret_steps, struct replay_stop *ret)
{
	*ret_steps = 0;
	return replay_stopped(r, go_to_node(r, seq, step, ret_steps), REPLAY_STEPPED, ret);
}

/* --- breakpoints --- */

/* The graph's steps, those of the last call if it has not changed. */
static struct err *take_steps(struct matcher *m, const struct state *s, uint32_t graph)
{
	struct match_steps *k = &m->graph;
	struct state_graph g;
	struct err *e;

	if (!state_graph_by_id(s, graph, &g))
		g = (struct state_graph){.id = graph};
	if (k->there && k->graph == graph && k->made == g.made && k->update == g.last_update)
		return NULL;
	state_steps_free(&k->steps);
	e = state_steps(&k->steps, s, graph);
	k->there = !e;
	k->graph = graph;
	k->made = g.made;
	k->update = g.last_update;
	/* An impossible graph has no nodes to stop at; launching it reports the error. */
	err_free(e);
	return NULL;
}

struct err *nodes_match(struct matcher *m, const struct state *s, const struct sbt_cmd *launch,
	uint32_t first, uint32_t last, bool backwards, uint32_t *ret_step, int *ret_id)
{
	const struct state *before = m->s;
	struct sbt_cmd c;

	*ret_id = 0;
	if (!m->nodes || launch->kind != SBT_GRAPH_LAUNCH || !sbt_cmd_is_work(launch))
		return NULL;
	TRY(take_steps(m, s, (uint32_t)launch->u.graph_launch.exec));
	if (last > m->graph.steps.n)
		last = m->graph.steps.n;
	m->s = s;
	for (uint32_t i = first; i <= last && i; i++) {
		const uint32_t k = backwards ? last - (i - first) : i;
		const struct state_step *step = &m->graph.steps.step[k - 1];
		struct err *e;

		if (step->node.type != SBT_NODE_KERNEL || !step_works(step))
			continue;
		e = step_as_command(step, launch, &c);
		*ret_id = e ? 0 : matcher_match_node(m, &c);
		err_free(e);
		*ret_step = k;
		if (*ret_id)
			break;
	}
	m->s = before;
	return NULL;
}

bool nodes_learn(const struct sbt_cmd *c)
{
	switch (c->kind) {
	case SBT_KERNEL_DEF:
	case SBT_CAPTURE_END:
	case SBT_GRAPH_CREATE:
	case SBT_GRAPH_NODE:
	case SBT_GRAPH_INSTANTIATE:
	case SBT_GRAPH_UPDATE:
		return !c->result;
	default:
		return false;
	}
}

struct err *nodes_scan(struct replay *r, struct matcher *m, uint64_t lo, uint64_t hi,
	uint64_t *ret_seq, uint32_t *ret_step, int *ret_id)
{
	const struct sbt_cmd *c;
	struct state *s;
	uint32_t step;
	struct err *e;
	int id;

	*ret_id = 0;
	if (!m->nodes || lo >= hi)
		return NULL;
	TRY(state_at(&s, r->trace, lo - 1));
	e = sbt_cursor_seek(r->cursor, lo);
	while (!e) {
		e = sbt_cursor_next(r->cursor, &c);
		if (e || !c || c->seq >= hi)
			break;
		if (nodes_learn(c))
			e = state_apply(s, c);
		if (!e)
			e = nodes_match(m, s, c, 1, UINT32_MAX, true, &step, &id);
		if (!e && id) {
			*ret_id = id;
			*ret_seq = c->seq;
			*ret_step = step;
		}
	}
	state_free(s);
	return e;
}

struct err *replay_match_nodes(struct replay *r, const struct replay_breakpoint *bps, unsigned n,
	uint32_t first, uint32_t last, bool backwards, uint32_t *ret_step, int *ret_id)
{
	struct replay_stop stop;
	struct matcher m;
	struct err *e;

	*ret_id = 0;
	*ret_step = 0;
	TRY(replay_align(r));
	matcher_init(&m, r->trace, bps, n);
	e = r->cmd ? nodes_match(&m, r->s, r->cmd, first, last, backwards, ret_step, ret_id) : NULL;
	matcher_deinit(&m);
	return replay_stopped(r, e, REPLAY_STEPPED, &stop);
}
