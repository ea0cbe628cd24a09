/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of a replay with the engine's breakpoints: they go into graph launches, which are one
 * command of the replay.
 */
#include "engine/trace/replay-walk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "engine/graph-steps.h"
#include "engine/microscope.h"
#include "engine/nan.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "engine/trace/access-watch.h"
#include "replay/values.h"
#include "sbt/sbt.h"

/* --- steps --- */

static bool is_launch(const struct sbt_cmd *c)
{
	return c->kind == SBT_GRAPH_LAUNCH && sbt_cmd_is_work(c);
}

/* Counts the commands behind the position before the next graph launch, at most `most`;
 * *ret_launch: that launch's seq, 0: none so near. */
static struct err *ahead(struct engine *en, uint64_t most, uint64_t *ret, uint64_t *ret_launch)
{
	const uint64_t last = en->trace.device ? en->trace.device->last : UINT64_MAX,
		       at = replay_seq(en->trace.replay);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = *ret_launch = 0;
	TRY(sbt_cursor_open(&cur, en->trace.reader));
	e = sbt_cursor_seek(cur, at ? at + 1 : en->trace.device ? en->trace.device->first : 0);
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
static struct err *behind(struct engine *en, uint64_t most, uint64_t *ret)
{
	const uint64_t at = replay_seq(en->trace.replay);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = 0;
	TRY(sbt_cursor_open(&cur, en->trace.reader));
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

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct walk {
	uint64_t n;		 /* steps left */
	struct replay_stop stop; /* of the last move of the replay */
	uint64_t seq;		 /* of the last step, when that was one of a launch; 0 */
	uint32_t step;
};

static struct err *walk_into(struct engine *en, struct walk *w, uint64_t seq, uint32_t step)
{
	TRY(graph_go(en, seq, step, false));
	w->seq = seq;
	w->step = step;
	return NULL;
}

static struct err *walk_forwards(struct engine *en, struct walk *w)
{
	const struct graph_place *p = graph_place_of(en);
	uint64_t plain, launch, n;
	uint32_t steps;

	if (p) {
		n = least(w->n, p->steps.n - p->step);
		w->n -= n;
		return walk_into(en, w, p->seq, (uint32_t)(p->step + n));
	}
	TRY(ahead(en, w->n, &plain, &launch));
	if (plain || !launch) {
		n = plain ? plain : 1;
		TRY(replay_step(en->trace.replay, n, &w->stop));
		w->seq = 0;
		w->n = w->stop.why == REPLAY_END ? 0 : w->n - n;
		return NULL;
	}
	TRY(graph_steps_of(en, launch, &steps));
	if (!steps) {
		w->n--;
		w->seq = 0;
		return replay_step(en->trace.replay, 1, &w->stop);
	}
	n = least(w->n, steps);
	w->n -= n;
	return walk_into(en, w, launch, (uint32_t)n);
}

static struct err *walk_back(struct engine *en, struct walk *w)
{
	const struct graph_place *p = graph_place_of(en);
	const struct sbt_cmd *c = replay_cmd(en->trace.replay);
	uint64_t n = 1, seq = p ? p->seq : c ? c->seq : 0;
	uint32_t at = p ? p->step : 0;

	if (!p && c && is_launch(c))
		TRY(graph_steps_of(en, seq, &at));
	if (at > 1) {
		n = least(w->n, at - 1);
		w->n -= n;
		return walk_into(en, w, seq, (uint32_t)(at - n));
	}
	if (!p && c && !is_launch(c))
		TRY(behind(en, w->n, &n));
	graph_forget(en);
	w->seq = 0;
	w->n -= n;
	TRY(replay_reverse_step(en->trace.replay, n, &w->stop));
	if (w->stop.why == REPLAY_BEGIN)
		w->n = 0;
	return NULL;
}

static struct err *steps_into(
	struct engine *en, uint64_t n, bool backwards, struct replay_move *ret)
{
	struct walk w = {
		.n = n, .stop = {.why = REPLAY_STEPPED, .seq = replay_seq(en->trace.replay)}};

	while (w.n && !engine_cancelled(en))
		TRY(backwards ? walk_back(en, &w) : walk_forwards(en, &w));
	*ret = (struct replay_move){.stop = w.stop};
	if (w.seq) {
		ret->in_graph = true;
		ret->stop = (struct replay_stop){.why = REPLAY_STEPPED, .seq = w.seq};
		ret->step = w.step;
	}
	return NULL;
}

struct err *replay_move_leave(struct engine *en, bool backwards, struct replay_stop *ret)
{
	en->live.runs++;
	graph_forget(en);
	return backwards ? replay_reverse_step(en->trace.replay, 1, ret)
			 : replay_goto(en->trace.replay, replay_seq(en->trace.replay), ret);
}

struct err *replay_move_steps(
	struct engine *en, uint64_t n, bool backwards, bool into, struct replay_move *ret)
{
	struct replay *r = en->trace.replay;

	*ret = (struct replay_move){.in_graph = false};
	kernel_prints_moved(en);
	en->live.runs++;
	if (into && settings_on(&en->set, SET_REPLAY_NODES))
		return steps_into(en, n, backwards, ret);
	if (graph_place_of(en)) { /* skips the rest of the launch, or, backwards, the steps done */
		if (n == 1)
			return replay_move_leave(en, backwards, &ret->stop);
		n -= !backwards;
		graph_forget(en);
		TRY(replay_goto(r, replay_seq(r), &ret->stop));
	}
	return backwards ? replay_reverse_step(r, n, &ret->stop) : replay_step(r, n, &ret->stop);
}

/* --- to the next stop --- */

/* no breakpoint of the table: stops at graph launches, to look into them while memory is watched */
#define GRAPH_LAUNCHES INT_MAX
/* the command up to which reads and writes of watched memory were looked for */
#define LOOKED_UP_TO (INT_MAX - 1)

/* Adds a stop at command seq, in front of others or behind them. */
static void add_place(
	struct replay_breakpoint **bps, unsigned *n, int id, uint64_t seq, bool in_front)
{
	struct replay_breakpoint b = {.id = id};
	const unsigned at = in_front ? 0 : *n;
	char cond[40], why[64];

	snprintf(cond, sizeof cond, "seq == %llu", (unsigned long long)seq);
	BUG_ON(!sbt_expr_compile(&b.cond, 0, cond, why, sizeof why));
	*bps = xrealloc(*bps, (*n + 1) * sizeof **bps);
	memmove(*bps + at + 1, *bps + at, (*n - at) * sizeof **bps);
	(*bps)[at] = b;
	++*n;
}

/* --- NaN --- */

/* A list is about the recorded run of one replay. */
static struct err *check_nan(struct engine *en)
{
	const struct replay_device *rd = en->trace.device;
	const struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++) {
		if (!bp->nan || !bp->enabled)
			continue;
		if (!rd || rd->number != bp->nan->device)
			return err_cure(
				err_new(ERR_STATE, "watchpoint %d looked for NaN in another replay",
					bp->id),
				"Use \"delete %d\", and \"watch --nan\" again", bp->id);
		if (rd->what_if || rd->partial)
			return err_cure(err_new(ERR_STATE,
						"the run was changed: watchpoint %d knows the "
						"recorded one",
						bp->id),
				"\"replay restart\" forgets the changes; \"disable %d\" lets the "
				"replay go on",
				bp->id);
	}
	return NULL;
}

/* Adds, in front of others, the next place of each watchpoint for NaN. */
static void add_nan(struct engine *en, bool backwards, struct replay_breakpoint **bps, unsigned *n)
{
	const struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++) {
		const struct nan_written *w =
			bp->nan && bp->enabled
				? nan_list_next(bp->nan, replay_seq(en->trace.replay), backwards)
				: NULL;

		if (w)
			add_place(bps, n, bp->id, w->at, true);
	}
}

/* The replay has stopped: if commands wrote NaN there, tells the move of it, as the reason or
 * beside another one. */
static void take_nan(struct engine *en, struct replay_move *m)
{
	const struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++) {
		const struct nan_written *w =
			bp->nan && bp->enabled && m->stop.seq
				? nan_list_next(bp->nan, m->stop.seq - 1, false)
				: NULL;

		if (!w || w->at != m->stop.seq)
			continue;
		if (m->stop.breakpoint == bp->id)
			m->stop.late = w->by != w->at ? w->by : 0;
		else if (m->nothers < REPLAY_OTHERS)
			m->others[m->nothers++] = bp->id;
		if (!m->touch.by)
			m->touch = (struct watch_touch){.by = w->by,
				.addr = w->first.addr,
				.size = value_types[w->first.as].bytes,
				.writes = true,
				.sure = bp->nan->exact,
				.nans = w->nans,
				.as = w->first.as,
				.typed = w->first.typed};
	}
}

/* The breakpoints that the replay looks for: without messages inside kernels that come by changed
 * code. */
static struct replay_breakpoint *rows_of(struct engine *en, bool nodes, unsigned *ret_n)
{
	struct replay_breakpoint *v = breakpoints_for_replay(en->breaks, nodes, ret_n);
	const bool coded = kernel_prints_coded(en);
	unsigned n = 0;

	for (unsigned i = 0; i < *ret_n; i++)
		if (!coded || !breakpoint_is_in_kernel(breakpoints_by_id(en->breaks, v[i].id)))
			v[n++] = v[i];
	*ret_n = n;
	return v;
}

/* One run, to the next stop of any kind, at look->at if not before. */
static struct err *run_to(
	struct engine *en, bool backwards, const struct access_stop *look, struct replay_stop *stop)
{
	struct replay_breakpoint *bps;
	struct replay_watchpoint *ws;
	unsigned nbps, nws;
	struct err *e;

	bps = rows_of(en, settings_on(&en->set, SET_REPLAY_NODES), &nbps);
	add_nan(en, backwards, &bps, &nbps);
	/* that a command touches the bytes is a reason that goes before others; else the way only
	 * ends there */
	if (look->at)
		add_place(&bps, &nbps, LOOKED_UP_TO, look->at, look->nids);
	breakpoints_replay_from(bps, nbps, en->breaks, en->hooks.recorded_from, en->hooks.arg);
	ws = breakpoints_watches(en->breaks, &nws);
	if (nws && en->trace.device &&
		settings_on(&en->set,
			/* its steps may change the bytes and change them back */
			SET_REPLAY_NODES)) {
		bps = xrealloc(bps, (nbps + 1) * sizeof *bps);
		bps[nbps++] =
			(struct replay_breakpoint){.id = GRAPH_LAUNCHES, .kind = SBT_GRAPH_LAUNCH};
	}
	if (nws && en->trace.device)
		e = replay_watch(en->trace.replay, backwards, ws, nws, bps, nbps, en->cancel, stop);
	else
		e = replay_run(en->trace.replay, backwards, bps, nbps, en->cancel, stop);
	free(bps);
	free(ws);
	return e;
}

/* The replay is at a command that touches bytes of watchpoints: tells the move of it, as the reason
 * or beside another one. */
static void take_access(struct replay_move *m, const struct access_stop *a)
{
	m->touch = a->touch;
	if (m->stop.breakpoint == LOOKED_UP_TO) {
		m->stop.why = REPLAY_WATCHPOINT;
		m->stop.breakpoint = a->ids[0];
		m->stop.late = a->touch.by != a->at ? a->touch.by : 0;
	}
	for (unsigned i = 0; i < a->nids; i++)
		if (a->ids[i] != m->stop.breakpoint && m->nothers < REPLAY_OTHERS)
			m->others[m->nothers++] = a->ids[i];
}

/* The same as run_to(), also to commands that touch the bytes of watchpoints. */
static struct err *run_once(struct engine *en, bool backwards, struct replay_move *m)
{
	struct replay_stop *stop = &m->stop;
	struct access_stop a = {0};
	uint64_t chunk = 32;

	m->nothers = 0;
	m->touch = (struct watch_touch){0};
	if (!breakpoints_watch_touches(en->breaks))
		return run_to(en, backwards, &a, stop);
	for (;;) {
		struct err *e = access_watch_look(en, backwards, &chunk, &a);

		if (e && e->code == ERR_INTERRUPTED) {
			err_free(e);
			*stop = (struct replay_stop){
				.why = REPLAY_INTERRUPTED, .seq = replay_seq(en->trace.replay)};
			return NULL;
		}
		TRY(e);
		TRY(run_to(en, backwards, &a, stop));
		m->passed += a.passed;
		if (stop->breakpoint != LOOKED_UP_TO || a.nids)
			break;
	}
	if (a.nids && stop->seq == a.at && !stop->node_seq)
		take_access(m, &a);
	return NULL;
}

/* Runs to the replay's next stop, and from there into the graph launch that it is about:
 * ret->in_graph, with ret->step steps done. */
static struct err *run_past_commands(struct engine *en, bool backwards, struct replay_move *m)
{
	struct replay_stop *stop = &m->stop;
	bool *ret_in_graph = &m->in_graph;
	uint32_t *ret_step = &m->step;
	const struct breakpoint *bp;
	const struct sbt_cmd *c;
	struct replay_stop in;
	uint64_t seq;

	*ret_in_graph = false;
	for (;;) {
		TRY(run_once(en, backwards, m));
		bp = breakpoints_by_id(en->breaks, stop->breakpoint);
		c = replay_cmd(en->trace.replay);
		seq = stop->node_seq;
		if (!seq &&
			((stop->why == REPLAY_WATCHPOINT && bp && !bp->watch) ||
				stop->breakpoint == GRAPH_LAUNCHES) &&
			c && c->kind == SBT_GRAPH_LAUNCH && settings_on(&en->set, SET_REPLAY_NODES))
			seq = c->seq;
		if (!seq)
			return NULL;
		TRY(graph_look_in(en, seq, backwards, &in, ret_step));
		*ret_in_graph = in.why != REPLAY_STEPPED;
		if (*ret_in_graph) {
			*stop = in;
			return NULL;
		}
		if (stop->breakpoint != GRAPH_LAUNCHES)
			return replay_goto(en->trace.replay, seq, &in);
	}
}

/* Whether the launch that the replay has reached has a breakpoint inside its kernel. Backwards,
 * too, the launch's first such stop is taken. */
static bool is_inside(struct engine *en, const struct replay_stop *stop)
{
	const struct breakpoint *bp = stop->why == REPLAY_BREAKPOINT
					      ? breakpoints_by_id(en->breaks, stop->breakpoint)
					      : NULL;

	return bp && bp->line && en->trace.device && en->trace.device->shows;
}

/* One run, to the next stop, in or behind the launch that the replay is inside. */
static struct err *run_on(struct engine *en, bool backwards, struct replay_move *ret)
{
	const struct graph_place *p = graph_place_of(en);
	const uint64_t launch = p && p->step < p->steps.n ? p->seq : 0;
	struct access_stop a = {0};

	TRY(graph_run(en, backwards, &ret->stop, &ret->step));
	ret->in_graph = ret->stop.why != REPLAY_STEPPED;
	if (ret->in_graph)
		return NULL;
	/* The rest of the launch may touch watched bytes: which step does is not known. */
	if (launch && breakpoints_watch_touches(en->breaks))
		TRY(access_watch_at(en, launch, &a));
	ret->passed += a.passed + (backwards && a.nids);
	if (a.nids && !backwards) {
		TRY(replay_goto(en->trace.replay, launch, &ret->stop));
		ret->stop.breakpoint = LOOKED_UP_TO;
		take_access(ret, &a);
		return NULL;
	}
	return run_past_commands(en, backwards, ret);
}

static bool is_stop(const struct replay_move *m)
{
	return m->stop.why == REPLAY_BREAKPOINT || m->stop.why == REPLAY_WATCHPOINT;
}

/* Takes the hits of the breakpoints at the command that the replay has reached, the first of which
 * the stop names. Returns false if all are to be ignored. */
static bool take_hits(struct engine *en, struct replay_move *m)
{
	unsigned n, nids = 1;
	int ids[2 * REPLAY_OTHERS + 1] = {m->stop.breakpoint};
	struct replay_breakpoint *bps;
	bool hit = false;

	for (unsigned i = 0; i < m->nothers; i++) /* watchpoints */
		ids[nids++] = m->others[i];
	m->nothers = 0;
	if (!m->in_graph) {
		bps = rows_of(en, false, &n);
		breakpoints_replay_from(bps, n, en->breaks, en->hooks.recorded_from, en->hooks.arg);
		nids += replay_matching(en->trace.replay, bps, n, ids + nids, REPLAY_OTHERS);
		free(bps);
	}
	for (unsigned i = 0; i < nids; i++) {
		const struct breakpoint *bp = breakpoints_by_id(en->breaks, ids[i]);

		if (i && (ids[i] == ids[0] || !bp || bp->line))
			continue;
		if (bp && bp->message) {
			breakpoints_say(
				en->breaks, ids[i], false, en->hooks.said_at, en->hooks.arg);
			continue;
		}
		if (!hit && breakpoints_hit(en->breaks, ids[i], false)) {
			hit = true;
			m->stop.breakpoint = ids[i];
			m->stop.why = bp && bp->size ? REPLAY_WATCHPOINT : REPLAY_BREAKPOINT;
		} else if (hit && m->nothers < REPLAY_OTHERS &&
			   breakpoints_hit_also(en->breaks, ids[i], false)) {
			m->others[m->nothers++] = ids[i];
		}
	}
	return hit;
}

/* Runs to a stop that counts, or to the end. A launch in whose kernel a breakpoint was not reached
 * is none. */
static struct err *run_to_stop(struct engine *en, bool backwards, struct replay_move *ret)
{
	for (;;) {
		const uint64_t passed = ret->passed;

		*ret = (struct replay_move){.passed = passed};
		TRY(run_on(en, backwards, ret));
		if (!is_stop(ret))
			return NULL;
		if (!ret->in_graph)
			take_nan(en, ret);
		if (!ret->in_graph && is_inside(en, &ret->stop)) {
			TRY(microscope_run_to_point(
				en, ret->stop.seq, &ret->in_launch, &ret->launch));
			if (ret->in_launch)
				return NULL;
		} else if (take_hits(en, ret)) {
			return NULL;
		}
	}
}

static struct err *run_move(struct engine *en, bool backwards, struct replay_move *ret)
{
	const uint64_t look_through = backwards ? 0 : microscope_to_look_through(en);

	*ret = (struct replay_move){.in_graph = false};
	en->live.runs++;
	if (look_through)
		TRY(microscope_run_to_point(en, look_through, &ret->in_launch, &ret->launch));
	if (!ret->in_launch)
		TRY(run_to_stop(en, backwards, ret));
	if (ret->in_launch)
		return NULL;
	engine_go_on(en);
	en->trace.last_break = is_stop(ret) ? ret->stop.breakpoint : 0;
	en->live.last_break = en->trace.last_break;
	return NULL;
}

struct err *replay_move_run(struct engine *en, bool backwards, struct replay_move *ret)
{
	const uint64_t from = replay_seq(en->trace.replay);

	TRY(check_nan(en));
	if (backwards)
		kernel_prints_moved(en);
	if (backwards || !kernel_prints_coded(en))
		return run_move(en, backwards, ret);
	TRY(kernel_prints_collect(en));
	TRY(run_move(en, backwards, ret));
	kernel_prints_tell(
		en, from, ret->in_launch ? ret->launch.seq - 1 : replay_seq(en->trace.replay));
	return NULL;
}
