/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into a launch and moves in it, see microscope.h. The surprise: the replay may be right
 * before a launch that breaks the device. The launch can be entered all the same: that is how to
 * see the reason.
 */
#include "engine/microscope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "engine/graph-steps.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "replay/replay.h"
#include "sbt/sbt.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"
#include "state/state.h"

enum { GAP_MAX = 64 }; /* numbers that are looked through for the command before a launch */

const struct soft_stop *microscope_stop_any(const struct engine *en)
{
	if (!en->trace.replay || !en->trace.device)
		return NULL;
	return device_kernel_stop(en->trace.device->d);
}

const struct soft_stop *microscope_stop(const struct engine *en)
{
	const struct soft_stop *t = microscope_stop_any(en);

	return t && t->state != SOFT_ENDED ? t : NULL;
}

/* Requires a replay on the software GPU. */
static struct err *need_soft(struct engine *en, const char *what, struct replay_device **ret)
{
	*ret = NULL;
	if (!en->trace.reader && !en->trace.replay)
		return err_cure(err_new(ERR_STATE, "%s is for a launch of a replay", what),
			"Use \"replay start FILE --on soft\"");
	if (en->trace.device && !en->trace.device->shows)
		return replay_device_lacks(en->trace.device, "instruction-level access needs");
	return replay_device_need(en, what, ret);
}

struct err *microscope_need(struct engine *en, const char *what, struct device **ret)
{
	struct replay_device *rd;

	*ret = NULL;
	TRY(need_soft(en, what, &rd));
	if (!microscope_stop_any(en))
		return err_cure(
			err_new(ERR_STATE,
				"%s is for the inside of a launch, and none is under the microscope",
				what),
			"Go to a launch with \"replay goto SEQ\", then use \"stepi\" or \"replay enter\"");
	*ret = rd->d;
	return NULL;
}

static struct err *read_cmd(struct trace *t, uint64_t seq)
{
	t->inside = NULL;
	if (!t->inside_cursor)
		TRY(sbt_cursor_open(&t->inside_cursor, t->reader));
	TRY(sbt_cursor_seek(t->inside_cursor, seq));
	return sbt_cursor_next(t->inside_cursor, &t->inside);
}

const struct sbt_cmd *microscope_cmd(struct engine *en)
{
	const struct soft_stop *stop = microscope_stop_any(en);
	struct trace *t = &en->trace;

	if (!stop)
		return NULL;
	if (!t->inside || t->inside->seq != stop->seq)
		err_free(read_cmd(t, stop->seq));
	return t->inside && t->inside->seq == stop->seq ? t->inside : NULL;
}

/* --- which launch --- */

/* The next work behind seq; 0: none nearby. */
static struct err *next_work(struct engine *en, uint64_t seq, uint64_t *ret, bool *ret_launch)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = 0;
	TRY(sbt_cursor_open(&cur, en->trace.reader));
	e = sbt_cursor_seek(cur, seq + 1);
	for (unsigned n = 0; !e && !*ret && n < 65536; n++) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c)
			break;
		const struct sbt_kind_desc *d = sbt_kind(c->kind);
		if (!d || d->cls != SBT_CLASS_WORK)
			continue;
		*ret = c->seq;
		*ret_launch = c->kind == SBT_LAUNCH && !c->result && !(c->flags & SBT_F_GRAPH);
	}
	sbt_cursor_close(cur);
	return e;
}

static struct err *find_launch(struct engine *en, const struct replay_device *rd, uint64_t *ret)
{
	const struct sbt_cmd *c = replay_cmd(en->trace.replay);
	const uint64_t culprit = device_culprit(rd->d, NULL);
	bool launch = false;

	TRY(next_work(en, replay_seq(en->trace.replay), ret, &launch));
	if (*ret && launch && culprit == *ret) /* it broke the device: the replay cannot be at it */
		return NULL;
	if (graph_place_of(en))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"the microscope goes into launches of their own, not into nodes of a graph"),
			"\"tsdb extract FILE --graph %" PRIu64
			" --kernel GLOB\" makes a program of one",
			graph_place_of(en)->seq);
	if (c && c->kind == SBT_LAUNCH) {
		*ret = c->seq;
		return NULL;
	}
	if (*ret && launch)
		return NULL;
	return err_cure(
		err_new(ERR_STATE,
			"the replay stands neither at a kernel launch nor right before one"),
		"Go to one with \"replay goto SEQ\"; \"view --kind launch\" lists them");
}

/* --- breakpoints --- */

/* Whether it is a message that comes by changed code. */
static bool is_coded(const struct engine *en, const struct breakpoint *bp)
{
	return breakpoint_is_in_kernel(bp) && kernel_prints_coded(en);
}

/* The breakpoints that concern this kernel. */
static struct soft_point *collect_points(struct engine *en, const char *mangled, unsigned *ret_n)
{
	struct soft_point *p = xcalloc(SOFT_POINTS_MAX + 1, sizeof *p);
	const struct breakpoint *bp;
	char name[256];

	*ret_n = 0;
	sbt_kernel_short_name(name, sizeof name, mangled);
	for (unsigned i = 0;
		(bp = breakpoints_nth(en->breaks, i)) != NULL && *ret_n < SOFT_POINTS_MAX; i++) {
		struct soft_point *q = &p[*ret_n];

		if (!bp->enabled || (!bp->size && !bp->line) || bp->watch == WATCH_NAN ||
			is_coded(en, bp))
			continue;
		q->id = (uint32_t)bp->id;
		if (bp->size) {
			q->kind = SOFT_WATCH + bp->watch;
			q->space = bp->space;
			q->addr = bp->addr;
			q->size = bp->size;
		} else {
			if (bp->glob && !sbt_kernel_glob(bp->glob, mangled, name))
				continue;
			q->kind = bp->file	  ? SOFT_AT_SOURCE
				  : bp->is_offset ? SOFT_AT_OFFSET
						  : SOFT_AT_LINE;
			q->line = bp->line;
			strncpy(q->file, bp->file ? bp->file : "", sizeof q->file - 1);
			/* that of a message is asked with the source's names, at the line */
			strncpy(q->condition, bp->cond && !bp->message ? bp->cond : "",
				sizeof q->condition - 1);
		}
		++*ret_n;
	}
	return p;
}

static struct err *send_points(struct engine *en, struct device *d, int id, unsigned *ret_line)
{
	unsigned n;
	struct soft_point *p = collect_points(en, device_kernel_stop(d)->kernel, &n);
	struct err *e = device_kernel_points(d, p, n);

	for (unsigned i = 0; !e && i < n; i++)
		if (p[i].id == (uint32_t)id)
			*ret_line = p[i].line;
	free(p);
	return e;
}

struct err *microscope_check_points(struct engine *en, int id, unsigned *ret_line)
{
	*ret_line = 0;
	return microscope_stop(en) ? send_points(en, en->trace.device->d, id, ret_line) : NULL;
}

/* --- moving --- */

/* If the launch has ended and the replay was before it, moves the replay to it. */
static struct err *settle(struct engine *en, const struct soft_stop *t)
{
	struct replay_stop stop;

	if (t->state == SOFT_ENDED)
		en->trace.looked_through = t->seq;
	if (t->changed == SOFT_CHANGED_KEPT)
		en->trace.device->what_if = true;
	if (t->state != SOFT_ENDED || t->why == SOFT_WHY_FAULT || t->changed == SOFT_CHANGED ||
		replay_seq(en->trace.replay) >= t->seq)
		return NULL;
	return replay_goto(en->trace.replay, t->seq, &stop);
}

/* To right before a launch, which may never end, or break the device. */
static struct err *go_before(struct engine *en, const struct replay_device *rd, uint64_t seq)
{
	struct replay_stop stop;

	if (seq < rd->first || seq > rd->last)
		return err_cure(err_new(ERR_NOT_FOUND, "#%" PRIu64 " is outside the window", seq),
			"The replay executes #%" PRIu64 " to #%" PRIu64, rd->first, rd->last);
	/* numbers may be missing where records were lost */
	for (uint64_t before = seq - 1; before >= rd->first && before + GAP_MAX > seq; before--) {
		struct err *e = replay_goto(en->trace.replay, before, &stop);

		if (!e || e->code != ERR_NOT_FOUND)
			return e;
		err_free(e);
	}
	return replay_goto(en->trace.replay, 0, &stop);
}

static struct err *enter(
	struct engine *en, struct replay_device *rd, uint64_t seq, const struct soft_stop **ret)
{
	if (!seq)
		TRY(find_launch(en, rd, &seq));
	else if (replay_seq(en->trace.replay) != seq && replay_seq(en->trace.replay) + 1 != seq)
		TRY(go_before(en, rd, seq));
	TRY(device_kernel(rd->d, seq, ret));
	return NULL;
}

/* Copies the stop, and moves the replay if that is the launch's end. */
static struct err *report(struct engine *en, const struct soft_stop *t, struct soft_stop *ret)
{
	*ret = *t;
	return settle(en, ret);
}

struct err *microscope_enter(struct engine *en, uint64_t seq, struct soft_stop *ret)
{
	const struct soft_stop *t;
	struct replay_device *rd;

	TRY(need_soft(en, "stepping instructions", &rd));
	TRY(enter(en, rd, seq, &t));
	return report(en, t, ret);
}

/* Whether the launch goes on behind a point that was reached by lanes. */
static bool passes(struct engine *en, int id, uint64_t lanes, bool back)
{
	struct breakpoint *bp = breakpoints_by_id(en->breaks, id);

	if (!bp || !bp->message)
		return !back && !breakpoints_hit(en->breaks, id, false);
	bp->said_lanes = lanes;
	if (en->hooks.says)
		en->hooks.says(en->hooks.arg, bp, lanes);
	if (!bp->said_lanes)
		return true;
	breakpoints_say(en->breaks, id, false, en->hooks.said_at, en->hooks.arg);
	return true;
}

/* Runs until a stop that has to be reported. */
static struct err *go(struct engine *en, struct device *d, enum soft_how how, uint64_t n,
	const struct soft_stop **ret)
{
	unsigned line;
	bool passed;

	TRY(send_points(en, d, 0, &line));
	do {
		TRY(device_kernel_go(d, how, n, ret));
		passed = ((*ret)->why == SOFT_WHY_POINT || (*ret)->why == SOFT_WHY_WATCH) &&
			 passes(en, (int)(*ret)->id, (*ret)->hit, how == SOFT_BACK_RUN);
		if (passed && how != SOFT_BACK_RUN)
			how = SOFT_ON;
	} while (passed);
	if (en->hooks.said_all)
		en->hooks.said_all(en->hooks.arg);
	engine_go_on(en);
	return NULL;
}

/* A warp of the focused block that runs; *ret is left if none does. */
static struct err *running_warp(struct device *d, uint32_t focused, struct soft_warp *ret)
{
	const struct soft_ask q = {.what = SOFT_ASK_WARPS};
	const struct soft_warp *w;
	bool found = false;
	void *v;
	size_t n;

	TRY(device_kernel_ask(d, &q, sizeof *w, &v, &n));
	w = v;
	for (size_t i = 0; i < n; i++) {
		if (w[i].state != SOFT_WARP_RUNS || (found && w[i].warp != focused))
			continue;
		*ret = w[i];
		found = true;
	}
	free(v);
	return NULL;
}

/* After an interruption: focuses a lane that executes. The others may have ended or wait. */
static struct err *show_busy(struct device *d, struct soft_stop *t)
{
	const struct soft_ask q = {.what = SOFT_ASK_LANES};
	struct soft_warp warp = {.warp = t->warp};
	const struct soft_stop *now;
	const struct soft_lane *lane;
	size_t n, i = 0;
	void *v;

	TRY(running_warp(d, t->warp, &warp));
	if (warp.warp != t->warp)
		TRY(device_kernel_focus(d, t->block, warp.first, &now));
	TRY(device_kernel_ask(d, &q, sizeof *lane, &v, &n));
	lane = v;
	while (i < n && lane[i].state != SOFT_LANE_ACTIVE)
		i++;
	struct err *e = i < n ? device_kernel_focus(d, t->block, lane[i].thread, &now) : NULL;
	if (!e && i < n) {
		*t = *now;
		t->why = SOFT_WHY_TIME;
	}
	free(v);
	return e;
}

struct err *microscope_go(struct engine *en, enum soft_how how, uint64_t n, struct soft_stop *ret)
{
	const bool back = how == SOFT_BACK_STEP || how == SOFT_BACK_RUN;
	const struct soft_stop *t = back ? microscope_stop_any(en) : microscope_stop(en);
	struct replay_device *rd;

	TRY(need_soft(en, "stepping instructions", &rd));
	en->live.runs++;
	if (!t)
		return err_cure(
			back ? err_new(ERR_STATE,
				       "no launch is under the microscope: there are no instructions to go back")
			     : err_new(ERR_STATE, "no launch is under the microscope"),
			"\"stepi\" goes into the launch that the replay is at");
	TRY(go(en, rd->d, how, n, &t));
	TRY(report(en, t, ret));
	return ret->why == SOFT_WHY_TIME ? show_busy(rd->d, ret) : NULL;
}

uint64_t microscope_to_look_through(const struct engine *en)
{
	const struct trace *t = &en->trace;
	const struct sbt_cmd *c = t->replay ? replay_cmd(t->replay) : NULL;
	const struct breakpoint *bp;
	struct state_kernel k;

	if (!t->device || !t->device->shows || graph_place_of(en) || !c || c->kind != SBT_LAUNCH ||
		c->result || (c->flags & SBT_F_GRAPH) || t->looked_through == c->seq ||
		!state_kernel_by_id(replay_state(t->replay), (uint32_t)c->u.launch.kernel, &k))
		return 0;
	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++)
		if (bp->enabled && bp->line && !is_coded(en, bp) &&
			sbt_kernel_glob(bp->glob, k.name, k.short_name))
			return c->seq;
	return 0;
}

struct err *microscope_run_to_point(
	struct engine *en, uint64_t seq, bool *ret_hit, struct soft_stop *ret)
{
	const struct soft_stop *t;
	struct replay_device *rd;

	*ret_hit = false;
	TRY(need_soft(en, "a breakpoint inside a kernel", &rd));
	TRY(enter(en, rd, seq, &t));
	if (t->state != SOFT_ENDED)
		TRY(go(en, rd->d, SOFT_RUN, 1, &t));
	*ret_hit = t->state != SOFT_ENDED;
	return report(en, t, ret);
}

/* --- leaving and coming back --- */

bool microscope_keep(const struct engine *en, struct microscope_place *ret)
{
	const struct soft_stop *t = microscope_stop(en);

	if (t)
		ret->stop = *t;
	return t != NULL;
}

static bool same_place(const struct soft_stop *a, const struct soft_stop *b)
{
	return a->total == b->total && a->warp == b->warp && a->line == b->line &&
	       a->step == b->step && !memcmp(a->block, b->block, sizeof a->block);
}

/* Ways that lead to a place: the launch as it is, with the block first that the user chose, with
 * its warp's turns before all others. */
enum way { WAY_PLAIN, WAY_BLOCK, WAY_WARP, WAYS };

static struct err *run_to(
	struct engine *en, const struct soft_stop *want, enum way way, bool *ret_same)
{
	struct device *d = en->trace.device->d;
	const struct soft_stop *t;

	*ret_same = false;
	TRY(enter(en, en->trace.device, want->seq, &t));
	if (way != WAY_PLAIN && t->state != SOFT_ENDED)
		TRY(device_kernel_focus(d, want->block, want->thread, &t));
	if (t->state != SOFT_ENDED && way != WAY_WARP && want->total)
		TRY(device_kernel_go(d, SOFT_TO, want->total, &t));
	if (t->state != SOFT_ENDED && way == WAY_WARP && want->step)
		TRY(device_kernel_go(d, SOFT_STEP, want->step, &t));
	if (t->state == SOFT_ENDED || t->total != want->total ||
		memcmp(t->block, want->block, sizeof t->block))
		return NULL;
	TRY(device_kernel_focus(d, want->block, want->thread, &t));
	*ret_same = same_place(t, want);
	return NULL;
}

struct err *microscope_return(struct engine *en, const struct microscope_place *p, bool *ret_same)
{
	const struct soft_stop *t;
	struct replay_device *rd;

	*ret_same = false;
	TRY(need_soft(en, "the launch under the microscope", &rd));
	if (p->stop.changed && en->hooks.note)
		en->hooks.note(
			en->hooks.arg, "The launch has begun again: what was set in it is undone.");
	for (int way = 0; way < WAYS && !*ret_same && !engine_cancelled(en); way++)
		TRY(run_to(en, &p->stop, (enum way)way, ret_same));
	return *ret_same ? NULL : enter(en, rd, p->stop.seq, &t);
}
