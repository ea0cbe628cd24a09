/* SPDX-License-Identifier: Apache-2.0
 *
 * The one call that moves a replay, and makes the stop that it ends at. The surprise: leaving a
 * graph launch has to be forgotten before the stop is made, since the stop says where in it the
 * replay is.
 */
#include "engine/replay-moves.h"

#include <string.h>
#include "engine/graph-steps.h"
#include "engine/last-stop.h"
#include "engine/microscope.h"
#include "engine/replay-device.h"
#include "engine/trace/replay-walk.h"

/* Past the turns of a loop. */
static struct err *until_line(struct engine *en, struct soft_stop *ret)
{
	const struct soft_stop *now = microscope_stop(en);
	struct soft_stop from;

	if (!now)
		return microscope_go(en, SOFT_LINE, 1, ret); /* which says why not */
	from = *now;
	do {
		TRY(microscope_go(en, SOFT_LINE, 1, ret));
	} while (ret->why == SOFT_WHY_STEP && ret->state == SOFT_STOPPED && ret->source_line &&
		 !engine_cancelled(en) && !strcmp(ret->function, from.function) &&
		 ret->depth == from.depth &&
		 (strcmp(ret->file, from.file) != 0 || ret->source_line <= from.source_line));
	return NULL;
}

static struct err *focus(struct engine *en, const struct move *m, struct soft_stop *ret)
{
	const struct soft_stop *t;
	struct device *d;

	TRY(microscope_need(en, "choosing a thread", &d));
	TRY(device_kernel_focus(d, m->block, m->thread, &t));
	*ret = *t;
	return NULL;
}

static struct err *move_inside(struct engine *en, const struct move *m, struct replay_move *ret)
{
	ret->in_launch = true;
	switch (m->how) {
	case MOVE_ENTER:
		return microscope_enter(en, m->seq, &ret->launch);
	case MOVE_UNTIL_LINE:
		return until_line(en, &ret->launch);
	case MOVE_FOCUS:
		return focus(en, m, &ret->launch);
	default:
		return microscope_go(en, m->inside, m->n, &ret->launch);
	}
}

static struct err *to_node(struct engine *en, const struct move *m, struct replay_move *ret)
{
	TRY(graph_go(en, m->seq, m->step, false));
	ret->in_graph = true;
	ret->step = m->step;
	ret->stop = (struct replay_stop){.why = REPLAY_STEPPED, .seq = m->seq};
	return NULL;
}

static struct err *go(struct engine *en, const struct move *m, struct replay_move *ret)
{
	struct replay *r = en->trace.replay;

	*ret = (struct replay_move){0};
	switch (m->how) {
	case MOVE_STEPS:
	case MOVE_COMMANDS:
		return replay_move_steps(en, m->n, m->backwards, m->how == MOVE_STEPS, ret);
	case MOVE_ON:
		return replay_move_run(en, m->backwards, ret);
	case MOVE_LEAVE:
		return replay_move_leave(en, m->backwards, &ret->stop);
	case MOVE_GOTO:
		return replay_goto(r, m->seq, &ret->stop);
	case MOVE_UNTIL:
		return replay_until(r, m->seq, &ret->stop);
	case MOVE_NODE:
		return to_node(en, m, ret);
	case MOVE_STREAM:
		return replay_next_stream(r, m->stream, &ret->stop);
	case MOVE_DRAIN:
		return replay_finish_stream(r, m->stream, &ret->stop);
	case MOVE_NOWHERE:
		ret->stop = (struct replay_stop){.why = REPLAY_STEPPED, .seq = replay_seq(r)};
		return NULL;
	default:
		return move_inside(en, m, ret);
	}
}

/* If the device has failed, that is a stop, too. */
static struct err *failed(struct engine *en, struct err *e)
{
	const struct replay_device *rd = en->trace.device;
	const uint64_t culprit = rd ? device_culprit(rd->d, NULL) : 0;

	if (e->code == ERR_INFERIOR && culprit)
		stop_of_device(en, culprit, e->what);
	return e;
}

struct err *replay_move(struct engine *en, const struct move *m, struct replay_move *ret)
{
	struct err *e;

	if (en->trace.device)
		en->trace.device->moves = true;
	e = go(en, m, ret);
	if (en->trace.device)
		en->trace.device->moves = false;
	if (e)
		return failed(en, e);
	if (ret->in_launch) {
		stop_of_kernel(en, &ret->launch);
		return NULL;
	}
	en->trace.looked_through = 0;
	if (ret->in_graph) {
		stop_of_step(en, &ret->stop, ret->stop.seq, ret->step);
	} else {
		graph_forget(en);
		stop_of_replay(en, &ret->stop, ret->others, ret->nothers);
	}
	if (ret->touch.by)
		stop_add_touch(en, &ret->touch);
	return NULL;
}
