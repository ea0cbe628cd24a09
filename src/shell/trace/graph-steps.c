/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay inside graph launches. The engine's position is the launch all the time; it can only
 * make the device go to a step. The session's step within the launch is kept here, and forgotten
 * when the engine moves.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/device-node.h"
#include "replay/replay.h"
#include "engine/breakpoints.h"
#include "shell/print/graph.h"
#include "shell/line/interrupt.h"
#include "engine/replay-device.h"
#include "shell/trace/replay-run.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"

const struct graph_place *graph_place(const struct session *s)
{
	return s->focus == FOCUS_REPLAY ? graph_place_of(&s->engine) : NULL;
}

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

struct err *graph_go(struct session *s, uint64_t seq, uint32_t step, bool before)
{
	struct graph_place *p;
	struct replay_stop stop;
	uint32_t steps;
	struct err *e;

	graph_forget(&s->engine);
	s->focus = FOCUS_REPLAY;
	TRY(replay_node(s->engine.trace.replay, seq, step, &steps, &stop));
	if (step >= steps && step)
		return NULL;
	p = xcalloc(1, sizeof *p);
	p->seq = seq;
	p->step = step;
	p->before = before;
	s->engine.trace.graph = p;
	const struct sbt_cmd *launch = replay_cmd(s->engine.trace.replay);
	e = launch ? state_steps(&p->steps, replay_state(s->engine.trace.replay),
			     (uint32_t)launch->u.graph_launch.exec)
		   : NULL;
	choose_cmd(p, launch);
	if (e)
		graph_forget(&s->engine);
	return e;
}

/* --- saying where it is --- */

void graph_print_step(struct buf *out, const struct state *st, const struct sbt_cmd *launch,
	uint32_t number, const struct state_step *step, bool json)
{
	const struct sbt_names names = state_names(st);
	struct buf b = BUF_INIT;
	struct sbt_cmd c;
	const char *text;
	struct err *e = step_works(step) ? step_as_command(step, launch, &c) : NULL;
	const bool works = !e && step_works(step);

	err_free(e);
	if (json) {
		if (works)
			sbt_json_cmd(out, &c, &names);
		else
			buf_str(out, "null");
		return;
	}
	buf_printf(out, "#%" PRIu64 ".%" PRIu32 " ", launch->seq, number);
	if (works) {
		c.flags = 0;
		sbt_print_cmd(&b, &c, &names);
		text = buf_cstr(&b);
		buf_str(out, text + strcspn(text, " ") + 1);
	} else {
		graph_node_text(out, st, &step->node);
	}
	buf_free(&b);
}

static void print_step(
	struct buf *out, const struct session *s, uint32_t number, const struct state_step *step)
{
	if (replay_cmd(s->engine.trace.replay))
		graph_print_step(out, replay_state(s->engine.trace.replay),
			replay_cmd(s->engine.trace.replay), number, step, false);
}

struct err *graph_launched(
	struct session *s, uint64_t seq, struct state **ret, struct sbt_cmd *ret_cmd)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;

	*ret = NULL;
	TRY(trace_cmd(s->engine.trace.reader, seq, &cur, &c));
	*ret_cmd = *c;
	if (c->kind != SBT_GRAPH_LAUNCH) /* its blobs go with the cursor */
		*ret_cmd = (struct sbt_cmd){.kind = c->kind, .seq = c->seq};
	sbt_cursor_close(cur);
	return state_at(ret, s->engine.trace.reader, seq - 1);
}

void graph_print_place(struct buf *out, const struct session *s, const struct graph_place *p)
{
	const uint32_t about = p->before ? p->step + 1 : p->step;

	if (!about) {
		buf_printf(out, "#%" PRIu64 ".0 before the first of %" PRIu32 " step%s of ", p->seq,
			p->steps.n, p->steps.n == 1 ? "" : "s");
		struct buf b = BUF_INIT;
		const struct sbt_names names = state_names(replay_state(s->engine.trace.replay));

		sbt_print_cmd(&b, replay_cmd(s->engine.trace.replay), &names);
		buf_str(out, buf_cstr(&b) + strcspn(buf_cstr(&b), " ") + 1);
		buf_free(&b);
		return;
	}
	if (p->before)
		buf_str(out, "before ");
	print_step(out, s, about, &p->steps.step[about - 1]);
	buf_printf(out, " (step %" PRIu32 " of %" PRIu32 ")", about, p->steps.n);
}

void graph_tell(struct session *s, const struct replay_stop *stop, uint64_t seq, uint32_t step)
{
	const struct graph_place *p = graph_place(s);
	struct buf b = BUF_INIT;

	vars_set(s->vars, "seq", (int64_t)seq);
	vars_set(s->vars, "step", step);
	s->engine.trace.looked_through = 0;
	if (stop && stop->why == REPLAY_BREAKPOINT)
		out_printf(s->out, "Breakpoint %d, ", stop->breakpoint);
	if (stop && stop->why == REPLAY_WATCHPOINT)
		out_printf(s->out, "Watchpoint %d, ", stop->breakpoint);
	if (p) {
		graph_print_place(&b, s, p);
	} else { /* the last step */
		struct state_steps steps;
		const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
		struct err *e = c ? state_steps(&steps, replay_state(s->engine.trace.replay),
					    (uint32_t)c->u.graph_launch.exec)
				  : NULL;

		if (c && !e && step && step <= steps.n) {
			print_step(&b, s, step, &steps.step[step - 1]);
			buf_printf(
				&b, " (step %" PRIu32 " of %" PRIu32 ", the last)", step, steps.n);
		}
		if (c && !e)
			state_steps_free(&steps);
		err_free(e);
	}
	out_style(s->out, STYLE_STOP, "%s", buf_cstr(&b));
	out_str(s->out, "\n");
	buf_free(&b);
}

/* --- stepping --- */

static bool is_launch(const struct sbt_cmd *c)
{
	return c->kind == SBT_GRAPH_LAUNCH && sbt_cmd_is_work(c);
}

/* Counts the commands behind the position before the next graph launch, at most `most`;
 * *ret_launch: that launch's seq, 0: none so near. */
static struct err *ahead(struct session *s, uint64_t most, uint64_t *ret, uint64_t *ret_launch)
{
	const uint64_t last = s->engine.trace.device ? s->engine.trace.device->last : UINT64_MAX,
		       at = replay_seq(s->engine.trace.replay);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = *ret_launch = 0;
	TRY(sbt_cursor_open(&cur, s->engine.trace.reader));
	e = sbt_cursor_seek(cur, at			  ? at + 1
				 : s->engine.trace.device ? s->engine.trace.device->first
							  : 0);
	while (!e && *ret < most) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c || c->seq > last)
			break;
		if (is_launch(c)) {
			*ret_launch = c->seq;
			break;
		}
		++*ret;
	}
	sbt_cursor_close(cur);
	return e;
}

/* The same backwards; the position itself is not a graph launch. */
static struct err *behind(struct session *s, uint64_t most, uint64_t *ret)
{
	const uint64_t at = replay_seq(s->engine.trace.replay);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = 0;
	TRY(sbt_cursor_open(&cur, s->engine.trace.reader));
	e = sbt_cursor_seek(cur, at > most ? at - most : 0);
	while (!e) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c || c->seq > at)
			break;
		*ret = is_launch(c) ? 0 : *ret + 1;
	}
	sbt_cursor_close(cur);
	if (!*ret || *ret > most)
		*ret = 1;
	return e;
}

/* Whether the launch's nodes can be executed one by one. Nodes that no command describes are
 * executed only as part of the whole launch, if at all. */
static bool can_step(const struct session *s, const struct state_steps *steps)
{
	for (uint32_t i = 0; s->engine.trace.device && i < steps->n; i++)
		if (steps->step[i].node.type == SBT_NODE_OTHER)
			return false;
	return true;
}

/* How many steps `step` makes in the launch; 0: the launch is one step. */
static struct err *steps_of(struct session *s, uint64_t seq, uint32_t *ret)
{
	const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
	struct state *own = NULL;
	struct state_steps steps;
	struct sbt_cmd launch;
	struct err *e;

	*ret = 0;
	if (c && c->seq == seq) {
		launch = *c;
	} else {
		TRY(graph_launched(s, seq, &own, &launch));
	}
	e = state_steps(&steps, own ? own : replay_state(s->engine.trace.replay),
		(uint32_t)launch.u.graph_launch.exec);
	*ret = can_step(s, &steps) ? steps.n : 0;
	state_steps_free(&steps);
	state_free(own);
	return e;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct walk {
	uint64_t n;		 /* steps left */
	struct replay_stop stop; /* of the last move of the engine */
	uint64_t seq;		 /* of the last step, when that was one of a launch; 0 */
	uint32_t step;
};

static struct err *walk_into(struct session *s, struct walk *w, uint64_t seq, uint32_t step)
{
	TRY(graph_go(s, seq, step, false));
	w->seq = seq;
	w->step = step;
	return NULL;
}

static struct err *walk_forwards(struct session *s, struct walk *w)
{
	const struct graph_place *p = graph_place(s);
	uint64_t plain, launch, n;
	uint32_t steps;

	if (p) {
		n = least(w->n, p->steps.n - p->step);
		w->n -= n;
		return walk_into(s, w, p->seq, (uint32_t)(p->step + n));
	}
	TRY(ahead(s, w->n, &plain, &launch));
	if (plain || !launch) {
		n = plain ? plain : 1;
		TRY(replay_step(s->engine.trace.replay, n, &w->stop));
		w->seq = 0;
		w->n = w->stop.why == REPLAY_END ? 0 : w->n - n;
		return NULL;
	}
	TRY(steps_of(s, launch, &steps));
	if (!steps) {
		w->n--;
		w->seq = 0;
		return replay_step(s->engine.trace.replay, 1, &w->stop);
	}
	n = least(w->n, steps);
	w->n -= n;
	return walk_into(s, w, launch, (uint32_t)n);
}

static struct err *walk_back(struct session *s, struct walk *w)
{
	const struct graph_place *p = graph_place(s);
	const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
	uint64_t n = 1, seq = p ? p->seq : c ? c->seq : 0;
	uint32_t at = p ? p->step : 0;

	if (!p && c && is_launch(c))
		TRY(steps_of(s, seq, &at));
	if (at > 1) {
		n = least(w->n, at - 1);
		w->n -= n;
		return walk_into(s, w, seq, (uint32_t)(at - n));
	}
	if (!p && c && !is_launch(c))
		TRY(behind(s, w->n, &n));
	graph_forget(&s->engine);
	w->seq = 0;
	w->n -= n;
	TRY(replay_reverse_step(s->engine.trace.replay, n, &w->stop));
	if (w->stop.why == REPLAY_BEGIN)
		w->n = 0;
	return NULL;
}

struct err *graph_run_steps(struct session *s, uint64_t n, bool backwards)
{
	struct walk w = {
		.n = n, .stop = {.why = REPLAY_STEPPED, .seq = replay_seq(s->engine.trace.replay)}};

	while (w.n && !interrupt_flag)
		TRY(backwards ? walk_back(s, &w) : walk_forwards(s, &w));
	if (w.seq)
		graph_tell(s, NULL, w.seq, w.step);
	else
		replay_tell(s, &w.stop);
	return NULL;
}

struct err *graph_finish(struct session *s, bool backwards, bool *ret_done)
{
	const struct graph_place *p = graph_place(s);
	struct replay_stop stop;

	*ret_done = p != NULL;
	if (!p)
		return NULL;
	s->engine.live.runs++;
	graph_forget(&s->engine);
	if (backwards)
		TRY(replay_reverse_step(s->engine.trace.replay, 1, &stop));
	else
		TRY(replay_goto(s->engine.trace.replay, replay_seq(s->engine.trace.replay), &stop));
	replay_tell(s, &stop);
	return NULL;
}

/* --- stops within a launch --- */

static struct err *hash_at(struct session *s, uint64_t seq, uint32_t step,
	const struct replay_watchpoint *w, unsigned n, struct sbt_hash *ret)
{
	struct replay_device *rd;
	uint32_t steps;

	TRY(replay_device_need(&s->engine, "looking for changes inside a graph launch", &rd));
	TRY(device_node(rd->d, seq, step, &steps));
	for (unsigned i = 0; i < n; i++)
		TRY(device_hash(rd->d, w[i].addr, w[i].size, &ret[i]));
	return NULL;
}

/* Finds the first (or last) of steps first..last of launch seq that changes watched bytes:
 * *ret_step, 0: none. Moves the device. */
static struct err *find_change(struct session *s, uint64_t seq, uint32_t first, uint32_t last,
	const struct replay_watchpoint *w, unsigned n, bool backwards, uint32_t *ret_step,
	int *ret_id)
{
	struct sbt_hash *before = xcalloc(n + 1, sizeof *before),
			*after = xcalloc(n + 1, sizeof *after);
	struct err *e = NULL;

	*ret_step = 0;
	if (n && first && first <= last)
		e = hash_at(s, seq, first - 1, w, n, before);
	for (uint32_t k = first; !e && n && k && k <= last && (backwards || !*ret_step); k++) {
		e = interrupt_flag ? err_new(ERR_INTERRUPTED, "interrupted")
				   : hash_at(s, seq, k, w, n, after);
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

struct err *graph_last_change(struct session *s, uint64_t seq, uint64_t addr, uint64_t size,
	uint32_t limit, uint32_t *ret)
{
	const struct replay_watchpoint w = {.id = 1, .addr = addr, .size = size};
	uint32_t steps;
	int id;

	TRY(steps_of(s, seq, &steps));
	return find_change(s, seq, 1, limit < steps ? limit : steps, &w, 1, true, ret, &id);
}

struct span {
	uint32_t first, last; /* steps, from 1 */
};

/* Finds a stop in the launch at the replay's position: breakpoints before the steps of `stops`,
 * changes by those of `changes`. *hit_step 0: none. */
static struct err *look_in(struct session *s, uint64_t seq, struct span stops, struct span changes,
	bool backwards, uint32_t *hit_step, struct replay_stop *ret)
{
	struct replay_breakpoint *bps;
	struct replay_watchpoint *ws;
	unsigned nbps, nws;
	uint32_t change = 0;
	int id = 0, change_id = 0;
	struct err *e;

	bps = breakpoints_for_replay(
		s->engine.breaks, settings_on(&s->engine.set, SET_REPLAY_NODES), &nbps);
	ws = breakpoints_watches(s->engine.breaks, &nws);
	e = replay_match_nodes(s->engine.trace.replay, bps, nbps, stops.first, stops.last,
		backwards, hit_step, &id);
	if (!id)
		*hit_step = 0;
	if (!e && nws && s->engine.trace.device)
		e = find_change(s, seq, changes.first, changes.last, ws, nws, backwards, &change,
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

static struct err *stop_in(struct session *s, uint64_t seq, uint32_t step,
	const struct replay_stop *stop, uint32_t *ret_step)
{
	const bool before = stop->why == REPLAY_BREAKPOINT;

	*ret_step = before ? step - 1 : step;
	return graph_go(s, seq, *ret_step, before);
}

struct err *graph_run(
	struct session *s, bool backwards, struct replay_stop *ret, uint32_t *ret_step)
{
	const struct graph_place *p = graph_place(s);
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
	TRY(look_in(s, seq, stops, changes, backwards, &hit, ret));
	if (hit)
		return stop_in(s, seq, hit, ret, ret_step);
	graph_forget(&s->engine);
	return NULL;
}

struct err *graph_look_in(struct session *s, uint64_t seq, bool backwards, struct replay_stop *ret,
	uint32_t *ret_step)
{
	uint32_t steps, hit;

	*ret = (struct replay_stop){.why = REPLAY_STEPPED};
	TRY(steps_of(s, seq, &steps));
	if (!steps) /* it is one step */
		return NULL;
	TRY(graph_go(s, seq, 0, false));
	TRY(look_in(
		s, seq, (struct span){1, steps}, (struct span){1, steps}, backwards, &hit, ret));
	if (hit)
		return stop_in(s, seq, hit, ret, ret_step);
	graph_forget(&s->engine);
	return NULL;
}
