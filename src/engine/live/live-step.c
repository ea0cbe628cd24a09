/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program runs, see live-process.h. Surprise: at a stop the rings are drained without
 * `final`: the stopped command itself is not published yet, and what other threads published after
 * it must wait for it, or the order of seq would break.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "engine/breakpoints.h"
#include "engine/last-stop.h"
#include "engine/live-capture.h"
#include "engine/live-follow.h"
#include "engine/live/live-private.h"
#include "engine/soft-settings.h"
#include "state/steps.h"
#include "sbt/kernel-name.h"
#include "sbt/cmd-pack.h"

enum {
	WAIT_BUSY_MS = 3, /* between drains while commands come */
	WAIT_IDLE_MS = 25,
	PAUSE_FIRST_US = 50,
	EXEC_TRIES = 10,
};

/* --- what the rings say --- */

/* Notes a sentence. text: TSDB_TEXT_MAX bytes that the inferior may have written. */
static void tell_sentence(struct engine *en, enum live_note_kind kind, const char *shared)
{
	char text[TSDB_TEXT_MAX];

	memcpy(text, shared, sizeof text);
	text[sizeof text - 1] = 0;
	live_tell_text(en, kind, *text ? text : NULL);
}

static void tell_agent(struct engine *en)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);
	struct live *l = &en->live;

	if (ctl && !l->agent_told && atomic_load(&ctl->agent_state) == TSDB_AGENT_REFUSED) {
		l->agent_told = true;
		tell_sentence(en, LIVE_NOTE_NO_AGENT, ctl->text);
	}
	if (ctl && !l->python_told && atomic_load(&ctl->python) == TSDB_PYTHON_REFUSED) {
		l->python_told = true;
		tell_sentence(en, LIVE_NOTE_NO_PYTHON, ctl->python_text);
	}
}

static void tell_drain(struct engine *en)
{
	const char *warning;

	while ((warning = drain_warning(en->live.inf)))
		live_tell_text(en, LIVE_NOTE_RINGS, warning);
}

static void tell_unreplayable(struct engine *en)
{
	struct recorder *r = en->live.recorder;
	const char *call;
	uint64_t n;
	bool fresh;

	for (unsigned i = 0; recorder_unreplayable(r, i, &call, &n, &fresh); i++) {
		if (fresh && recorder_mode(r) != RECORDER_OFF)
			live_tell_text(en, LIVE_NOTE_UNREPLAYABLE, call);
	}
}

/* Takes records from the rings. Returns true if there may be more. */
bool live_drain_some(struct engine *en, bool final, unsigned most)
{
	enum recorder_turn turn = RECORDER_MORE;
	struct err *e = recorder_drain(en->live.recorder, en->live.inf, final, most, &turn);

	if (!e)
		e = recorder_tick(en->live.recorder);
	if (e) {
		en->live.plan.failed = true;
		live_fail(en, e);
		live_configure(en); /* the agent can stop sending memory */
	}
	if (turn == RECORDER_EXEC) {
		capture_exec(en);
		recorder_exec(en->live.recorder);
	}
	tell_agent(en);
	live_tell_keeper(en, inferior_control(en->live.inf));
	tell_drain(en);
	tell_unreplayable(en);
	kernel_prints_take(en);
	capture_check_window(en);
	return turn != RECORDER_DONE;
}

bool live_drain(struct engine *en)
{
	return live_drain_some(en, false, LIVE_DRAIN_MOST);
}

/* --- waiting --- */

void live_pace_begin(struct engine *en)
{
	const uint64_t memory = recorder_memory_seen(en->live.recorder);

	en->live.pace = (struct live_pace){.seq = recorder_last_seq(en->live.recorder),
		.memory = memory,
		.memory_first = memory,
		.us = WAIT_IDLE_MS * 1000u};
}

void live_interrupt(struct engine *en)
{
	if (en->live.inf)
		inferior_interrupt(en->live.inf);
}

/* A recording passes signals on to the program that it started; an attached program is left
 * instead. */
static void pass_interrupt(struct engine *en)
{
	if (!engine_cancelled(en))
		return;
	engine_go_on(en);
	if (!en->live.recording || inferior_attached(en->live.inf))
		live_interrupt(en);
}

/* While memory is sent, slots fill within milliseconds, so the sleeps begin short. */
static unsigned next_pause(struct engine *en, bool more)
{
	struct live_pace *p = &en->live.pace;
	uint64_t seq = recorder_last_seq(en->live.recorder),
		 memory = recorder_memory_seen(en->live.recorder);
	bool busy = seq != p->seq, flowing = memory != p->memory;

	p->seq = seq;
	p->memory = memory;
	if (more || ((busy || flowing) && drain_pressure(en->live.inf) >= LIVE_PRESSURE_HIGH))
		return p->us = 0;
	if (en->live.follow && follow_pressure(en->live.follow) >= LIVE_PRESSURE_HIGH)
		return p->us = 0;
	if (flowing)
		return p->us = PAUSE_FIRST_US;
	if (p->us && p->us < WAIT_BUSY_MS * 1000u)
		return p->us *= 2;
	return p->us = busy ? WAIT_BUSY_MS * 1000u : WAIT_IDLE_MS * 1000u;
}

/* The one place that waits: for the rings and for the program, once and at most until `end`. */
static struct err *look(struct engine *en, int64_t end, struct inferior_event *ev)
{
	struct live *l = &en->live;
	bool more = live_drain(en);
	int64_t left;
	unsigned us;

	if (l->follow)
		more = follow_drain(l->follow) || more;
	if (l->plan.asking)
		engine_progress(en, "recording memory, MB",
			(l->pace.memory - l->pace.memory_first) / 1000000, 0);
	pass_interrupt(en);
	us = next_pause(en, more);
	left = end - (int64_t)monotonic_ms();
	if (left < us / 1000 + 1)
		us = left > 0 ? (unsigned)left * 1000u : 0;
	if (us && us < 1000)
		usleep(us);
	return l->follow ? follow_wait(l->follow, (int)us / 1000, ev)
			 : inferior_wait(l->inf, (int)us / 1000, ev);
}

/* --- stops --- */

/* Copies the command that the agent stopped at. */
static void take_stop_cmd(struct engine *en, const struct tsdb_stop *stop)
{
	struct live *l = &en->live;
	size_t n = stop->cmd_size;

	l->at_cmd = false;
	if (!n || n > sizeof l->cmd_data || n > sizeof stop->cmd)
		return;
	memcpy(l->cmd_data, stop->cmd, n);
	l->at_cmd = sbt_unpack(&l->cmd, l->cmd_data, n) != 0;
}

/* For a breakpoint on a kernel that a graph launch runs: which of its steps it is. */
static void find_node(struct engine *en, const struct breakpoint *bp, struct live_stop *ret)
{
	const struct state *st = recorder_state(en->live.recorder);
	const struct sbt_cmd *launch = &en->live.cmd;
	struct state_steps steps;
	struct state_kernel k;
	struct sbt_cmd c;

	if (!bp || !bp->glob || !en->live.at_cmd || launch->kind != SBT_GRAPH_LAUNCH)
		return;
	err_free(state_steps(&steps, st, (uint32_t)launch->u.graph_launch.exec));
	for (uint32_t i = 0; i < steps.n; i++) {
		const struct state_step *p = &steps.step[i];

		struct err *e = step_works(p) ? step_as_command(p, launch, &c) : NULL;
		const bool is_command = !e && step_works(p);

		err_free(e);
		if (!is_command || c.kind != SBT_LAUNCH ||
			!state_kernel_by_id(st, (uint32_t)c.u.launch.kernel, &k) ||
			!sbt_kernel_glob(bp->glob, k.name, k.short_name) ||
			(bp->expr.n && !sbt_expr_true(&bp->expr, &c, &k.params)))
			continue;
		ret->step = i + 1;
		ret->steps = steps.n;
		ret->node = p->node;
		break;
	}
	state_steps_free(&steps);
}

/* Takes the hit of one of the breakpoints here. */
static void take_hit(struct engine *en, const struct breakpoint *bp, struct live_stop *ret)
{
	const bool temporary = bp->temporary, first = ret->why != STOP_BREAKPOINT;
	const int id = bp->id;

	if (bp->from && en->hooks.made_from && !en->hooks.made_from(en->hooks.arg, bp))
		return;
	if (bp->message) {
		breakpoints_say(en->breaks, id, true, en->hooks.said_at, en->hooks.arg);
		return;
	}
	if (first)
		find_node(en, bp, ret);
	if (!(first ? breakpoints_hit : breakpoints_hit_also)(en->breaks, id, true))
		return;
	if (first) {
		ret->why = STOP_BREAKPOINT;
		ret->breakpoint = en->live.last_break = id;
		ret->temporary = temporary;
	} else if (ret->nothers < LIVE_HITS) {
		ret->others[ret->nothers++] = id;
	}
}

/* Handles a stop at breakpoints; returns false to go on. */
static bool on_break(struct engine *en, const struct tsdb_stop *stop, struct live_stop *ret)
{
	const struct breakpoint *last = NULL;

	breakpoints_collect(en->breaks, inferior_control(en->live.inf));
	for (uint64_t slots = stop->break_slots; slots; slots &= slots - 1) {
		const struct breakpoint *bp =
			breakpoints_in_slot(en->breaks, (unsigned)__builtin_ctzll(slots));

		if (bp && bp != last)
			take_hit(en, bp, ret);
		last = bp;
	}
	return ret->why == STOP_BREAKPOINT;
}

static bool on_agent_stop(struct engine *en, struct live_stop *ret)
{
	const struct tsdb_stop *stop = &inferior_control(en->live.inf)->stop;

	take_stop_cmd(en, stop);
	en->live.last_stop = stop->why;
	ret->seq = stop->seq;
	switch (stop->why) {
	case STOP_BREAKPOINT:
		if (on_break(en, stop, ret))
			return true;
		ret->why = stop->stepped ? STOP_STEP : STOP_NONE;
		return stop->stepped;
	case STOP_STEP:
		ret->why = STOP_STEP;
		return true;
	case STOP_FAILED_CALL:
		live_take_fault(en, &inferior_control(en->live.inf)->error, &ret->fault);
		ret->why = ret->fault.error.sticky ? STOP_FAULT : STOP_FAILED_CALL;
		return true;
	case STOP_ASKS:
		capture_answer(en);
		return false;
	case STOP_SERVED: /* of capture_stop(), which was interrupted */
		return false;
	case STOP_WINDOW_CLOSED:
		ret->why = STOP_WINDOW_CLOSED;
		ret->goes_on = recorder_in_window(en->live.recorder);
		if (!ret->goes_on)
			capture_finish(en);
		if (en->live.recording)
			ret->why = STOP_NONE;
		return ret->why != STOP_NONE;
	case STOP_TRIGGER:
		ret->why = STOP_TRIGGER;
		return true;
	default:
		ret->why = STOP_AGENT;
		return true;
	}
}

/* A stop by a signal, or because it was asked for. */
static bool on_other_stop(struct engine *en, const struct inferior_event *ev, struct live_stop *ret)
{
	struct live *l = &en->live;
	const bool asked = ev->kind == INFERIOR_STOP_INTERRUPT;

	if (l->recording && !(asked && inferior_attached(l->inf)))
		return false;
	ret->why = asked ? STOP_INTERRUPTED : STOP_SIGNAL;
	ret->signal = asked ? SIGINT : ev->signal;
	if (!l->recording)
		l->at_cmd = false;
	return true;
}

bool live_act(struct engine *en, const struct inferior_event *ev, struct live_stop *ret)
{
	struct live *l = &en->live;

	*ret = (struct live_stop){.why = STOP_NONE, .pid = inferior_pid(l->inf), .tid = ev->tid};
	switch (ev->kind) {
	case INFERIOR_NONE:
	case INFERIOR_FORKED:
		return false;
	case INFERIOR_EXECED:
		live_tell(
			en, &(struct live_note){.kind = LIVE_NOTE_OTHER_PROGRAM, .pid = ret->pid});
		return false;
	case INFERIOR_EXITED:
	case INFERIOR_SIGNALLED:
		live_end(en, ev, ret);
		return true;
	default:
		break;
	}
	l->tid = ev->tid;
	l->frame = 0;
	l->last_stop = STOP_NONE;
	l->fault_launch = l->fault_first = l->fault_last = 0;
	while (live_drain(en))
		;
	return ev->kind == INFERIOR_STOP_AGENT ? on_agent_stop(en, ret)
					       : on_other_stop(en, ev, ret);
}

static bool is_stop(const struct inferior_event *ev)
{
	return ev->kind == INFERIOR_STOP_AGENT || ev->kind == INFERIOR_STOP_SIGNAL ||
	       ev->kind == INFERIOR_STOP_INTERRUPT;
}

/* An agent that was loaded into a running program disappears when that executes another one: loads
 * it again. */
static struct err *attach_again(struct engine *en)
{
	char *pid = xasprintf("%d", inferior_pid(en->live.inf));
	struct err *e;

	err_free(live_detach(en));
	e = live_attach(en, pid, false);
	for (unsigned i = 0; e && e->code == ERR_INFERIOR && i < EXEC_TRIES;
		i++) { /* as wrappers do: one after the other */
		err_free(e);
		e = live_attach(en, pid, false);
	}
	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		e = err_cure(err_new(ERR_INFERIOR,
				     "process %s ended before tsdb had attached to its new program",
				     pid),
			"`attach --wait NAME` catches its next start");
	} else if (e) {
		e = err_wrap(e, "process %s goes on without tsdb", pid);
	}
	free(pid);
	return e;
}

/* --- running --- */

struct err *live_continue(struct engine *en)
{
	struct live *l = &en->live;

	if (!l->inf)
		return err_cure(err_new(ERR_STATE, "the program is not being run"), "Use \"run\"");
	if (l->doing != LIVE_STANDS)
		return err_new(ERR_STATE, "the program runs already");
	l->runs++;
	if (!l->recording && inferior_wake(l->inf))
		live_tell_text(en, LIVE_NOTE_WOKEN, NULL);
	live_runs_on(en);
	l->at_cmd = false;
	TRY(inferior_resume(l->inf, false));
	l->doing = LIVE_RUNNING;
	live_pace_begin(en);
	return NULL;
}

struct err *live_next(struct engine *en)
{
	struct tsdb_control *ctl = live_control(en);

	if (!ctl)
		return err_new(ERR_STATE,
			"the program runs without the agent: there are no GPU commands to stop at");
	atomic_store(&ctl->step_thread, 0);
	atomic_store(&ctl->step, 1);
	return live_continue(en);
}

/* Acts on an event while the agent ends a window; a stop that is not the agent's answer ends the
 * wait, too. */
static struct err *window_event(
	struct engine *en, const struct inferior_event *ev, struct live_stop *ret)
{
	struct live *l = &en->live;
	struct tsdb_control *ctl = inferior_control(l->inf);

	if (ev->kind == INFERIOR_STOP_AGENT && ctl->stop.why == STOP_SERVED) {
		*ret = (struct live_stop){
			.why = STOP_SERVED, .pid = inferior_pid(l->inf), .tid = l->tid};
		ctl->stop.why = l->window_why;
		while (live_drain(en))
			;
		return NULL;
	}
	if (!live_act(en, ev, ret) && is_stop(ev))
		return inferior_resume(l->inf, false);
	return NULL;
}

/* Acts on an event while the program runs, and lets it run on if that was no stop. */
static struct err *run_event(
	struct engine *en, const struct inferior_event *ev, struct live_stop *ret)
{
	struct live *l = &en->live;
	bool resume = is_stop(ev);

	if (live_act(en, ev, ret))
		return NULL;
	if (ev->kind == INFERIOR_EXECED && inferior_attached(l->inf) && !l->recording) {
		TRY(attach_again(en));
		l->doing = LIVE_RUNNING;
		resume = true;
	}
	live_runs_on(en);
	if (!resume)
		return NULL;
	l->at_cmd = false;
	return inferior_resume(l->inf, false);
}

static struct err *step(struct engine *en, int timeout_ms, struct live_stop *ret)
{
	int64_t end = timeout_ms < 0 ? INT64_MAX : (int64_t)monotonic_ms() + timeout_ms;
	struct inferior_event ev;

	do {
		TRY(look(en, end, &ev));
		if (ev.kind == INFERIOR_NONE)
			continue;
		if (en->live.doing == LIVE_ENDING_WINDOW)
			TRY(window_event(en, &ev, ret));
		else
			TRY(run_event(en, &ev, ret));
	} while (ret->why == STOP_NONE && (int64_t)monotonic_ms() < end);
	return NULL;
}

/* The program does not run any more: ends what was asked of it for this run. */
static void stands(struct engine *en, bool failed)
{
	struct live *l = &en->live;
	struct tsdb_control *ctl = live_control(en);

	if (ctl)
		atomic_store(&ctl->step, 0);
	if (l->doing == LIVE_ENDING_WINDOW) {
		l->plan.asking = false;
		engine_progress_end(en);
		if (!failed && (!l->inf || !recorder_in_window(l->recorder)))
			capture_finish(en);
	}
	l->doing = LIVE_STANDS;
}

struct err *live_step(struct engine *en, int timeout_ms, struct live_stop *ret)
{
	struct err *e;

	*ret = (struct live_stop){.why = STOP_NONE};
	if (en->live.doing == LIVE_STANDS)
		return err_new(ERR_STATE, "the program is not running");
	e = step(en, timeout_ms, ret);
	if (e || ret->why != STOP_NONE)
		stands(en, e != NULL);
	if (!e)
		stop_of_program(en, ret);
	return e;
}
