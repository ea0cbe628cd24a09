/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of the live program: it has ended, it is killed, or tsdb lets go of it.
 */
#include <stdlib.h>
#include "engine/breakpoints.h"
#include "engine/live-capture.h"
#include "engine/live-follow.h"
#include "engine/live/live-private.h"

enum { LEAVE_MOST = 10000 }; /* turns of a millisecond or more that the agent has to leave */

static void forget_process(struct engine *en)
{
	inferior_free(en->live.inf);
	en->live.inf = NULL;
	en->live.at_cmd = false;
	en->live.tid = 0;
	if (en->live.plan.asking)
		engine_progress_end(en);
	en->live.plan.asking = false;
	en->live.doing = LIVE_STANDS;
}

static void drain_all(struct engine *en)
{
	unsigned turns = 0;

	while (live_drain_some(en, true, LIVE_DRAIN_MOST) && turns++ < 1u << 20)
		engine_progress(
			en, "writing the trace, commands", recorder_count(en->live.recorder), 0);
	engine_progress_end(en);
	capture_finish(en);
}

void live_end(struct engine *en, const struct inferior_event *ev, struct live_stop *ret)
{
	struct live *l = &en->live;

	*ret = (struct live_stop){.pid = inferior_pid(l->inf)};
	breakpoints_collect(en->breaks, inferior_control(l->inf));
	drain_all(en);
	if (ev->kind == INFERIOR_EXITED) {
		ret->why = STOP_EXITED;
		ret->status = ev->status;
	} else {
		ret->why = STOP_KILLED;
		ret->signal = ev->signal;
	}
	l->exit_code = ret->why == STOP_EXITED ? ev->status : -1;
	l->exit_signal = ret->signal;
	forget_process(en);
}

struct err *live_kill(struct engine *en)
{
	struct err *e;

	if (en->live.follow)
		follow_kill(en->live.follow);
	if (!en->live.inf)
		return NULL;
	e = inferior_kill(en->live.inf);
	if (en->live.recorder)
		drain_all(en);
	forget_process(en);
	en->live.runs++;
	return e;
}

/* The agent ends its work and sends the rest; the program runs meanwhile. live.inf is NULL
 * afterwards if it has ended. */
static struct err *await_leaving(struct engine *en)
{
	struct inferior *inf = en->live.inf;
	struct inferior_event ev;
	struct live_stop stop;

	TRY(inferior_leave(inf));
	for (unsigned turns = 0;
		!inferior_agent_left(inf) && turns < LEAVE_MOST && !engine_cancelled(en); turns++) {
		live_drain(en);
		TRY(inferior_wait(inf, 1, &ev));
		if (ev.kind == INFERIOR_EXITED || ev.kind == INFERIOR_SIGNALLED) {
			live_end(en, &ev, &stop);
			live_tell(en, &(struct live_note){.kind = LIVE_NOTE_ENDED, .ended = &stop});
			return NULL;
		}
		if (inferior_alive(inf) && !inferior_running(inf))
			TRY(inferior_resume(inf, false));
	}
	return NULL;
}

struct err *live_detach(struct engine *en)
{
	struct live *l = &en->live;
	struct err *e;

	if (!l->inf)
		return NULL;
	l->at_cmd = false;
	breakpoints_collect(en->breaks, inferior_control(l->inf));
	err_free(await_leaving(en));
	if (!l->inf)
		return NULL;
	e = inferior_detach(l->inf);
	if (en->live.follow)
		follow_detach(en->live.follow);
	drain_all(en);
	forget_process(en);
	l->runs++;
	return e;
}
