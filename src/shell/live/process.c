/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program, see process.h. Surprise: at a stop the rings are drained without `final`: the
 * stopped command itself is not published yet, and what other threads published after it must wait
 * for it, or the order of seq would break.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/attach.h"
#include "symbols/elf-facts.h"
#include "engine/breakpoints.h"
#include "shell/print/graph.h"
#include "shell/record/capture.h"
#include "shell/print/fault.h"
#include "shell/live/follow.h"
#include "shell/live/gpu.h"
#include "shell/line/interrupt.h"
#include "shell/live/keeping.h"
#include "shell/live/process.h"
#include "shell/commands/races.h"
#include "engine/recorder.h"
#include "shell/print/stack-view.h"
#include "shell/print/vars.h"
#include "base/words.h"

enum {
	WAIT_BUSY_MS = 3, /* between drains while commands come */
	WAIT_IDLE_MS = 25,
	EXEC_TRIES = 10,
	DRAIN_MOST = 50000, /* commands a turn, so that a stop is seen soon */
	FINAL_MOST = 0,
	PAUSE_FIRST_US = 50,
	PRESSURE_HIGH = 250, /* per mille */
	LEAVE_MOST = 10000,  /* turns of a millisecond or more that the agent has to leave */
};

/* --- the program --- */

struct err *process_file(struct session *s, const char *program, char *const *args)
{
	struct program_facts facts;
	struct err *e = program_facts(program, &facts);
	unsigned n = 0;

	if (e)
		return e;
	free(s->target.program);
	s->target.adopted = false;
	s->target.program = xstrdup(program);
	if (args) {
		while (args[n])
			n++;
		free(s->engine.set.string[SET_ARGS]);
		s->engine.set.string[SET_ARGS] = words_join(args, n);
	}
	return NULL;
}

void process_env(struct session *s, const char *change)
{
	struct target *t = &s->target;
	size_t n = strcspn(change, "=");

	for (unsigned i = 0; i < t->nenv; i++) {
		if (strncmp(t->env[i], change, n) || (t->env[i][n] && t->env[i][n] != '='))
			continue;
		free(t->env[i]);
		t->env[i] = xstrdup(change);
		return;
	}
	t->env = xrealloc(t->env, (t->nenv + 2) * sizeof *t->env);
	t->env[t->nenv++] = xstrdup(change);
	t->env[t->nenv] = NULL;
}

struct tsdb_control *process_control(struct session *s)
{
	return s->target.inf ? inferior_control(s->target.inf) : NULL;
}

/* The order of settings.def's words. */
static void configure_memory(struct session *s, struct tsdb_control *ctl, bool all)
{
	static const uint32_t memory[] = {TSDB_MEMORY_ALL, TSDB_MEMORY_TOUCHED, TSDB_MEMORY_NONE};

	atomic_store(&ctl->memory, memory[s->engine.set.number[SET_MEMORY]]);
	atomic_store(&ctl->memory_limit, s->engine.set.number[SET_MEMORY_LIMIT]);
	atomic_store(&ctl->gpu_timeout, s->engine.set.number[SET_GPU_TIMEOUT] < UINT32_MAX
						? (uint32_t)s->engine.set.number[SET_GPU_TIMEOUT]
						: UINT32_MAX);
	atomic_store(&ctl->outputs_full, s->engine.set.number[SET_OUTPUTS] == 1);
	atomic_store(
		&ctl->span, all && !s->plan.ending &&
				    memory[s->engine.set.number[SET_MEMORY]] != TSDB_MEMORY_NONE);
}

static uint32_t errors_wanted(const struct session *s)
{
	return s->target.recording ? TSDB_ERRORS_NONE
				   : (uint32_t)s->engine.set.number[SET_STOP_ON_ERROR];
}

/* Which stacks the agent takes: those of all launches if it stops at errors, since a stop at a
 * fault shows where the launch came from. */
static uint32_t stacks_wanted(const struct session *s, bool all)
{
	if (!settings_on(&s->engine.set, SET_STACKS) || s->plan.stacks_off)
		return TSDB_STACKS_NEVER;
	return all				      ? TSDB_STACKS_ALL
	       : errors_wanted(s) != TSDB_ERRORS_NONE ? TSDB_STACKS_LAUNCHES
						      : TSDB_STACKS_WINDOWS;
}

void process_configure(struct session *s)
{
	struct tsdb_control *ctl = process_control(s);
	bool all = s->recorder && recorder_mode(s->recorder) == RECORDER_ALL;

	if (!ctl)
		return;
	atomic_store(&ctl->stack_depth, (uint32_t)s->engine.set.number[SET_STACK_DEPTH]);
	atomic_store(&ctl->timestamps, settings_on(&s->engine.set, SET_TIMESTAMPS));
	atomic_store(&ctl->on_full, (uint32_t)s->engine.set.number[SET_ON_FULL]);
	atomic_store(&ctl->code, settings_on(&s->engine.set, SET_CODE));
	memcpy(ctl->error_what, s->target.catch_what, sizeof(ctl->error_what));
	atomic_store(&ctl->error_code, s->target.catch_code);
	atomic_store(&ctl->stop_on_error, errors_wanted(s));
	atomic_store(&ctl->stacks, stacks_wanted(s, all));
	atomic_store(&ctl->window_stop, settings_on(&s->engine.set, SET_WINDOW_STOP));
	configure_memory(s, ctl, all);
	keeping_configure(s, ctl);
	atomic_store(&ctl->on, 1);
}

struct err *process_rearm(struct session *s)
{
	struct tsdb_control *ctl = process_control(s);

	return ctl ? breakpoints_arm(s->engine.breaks, ctl) : NULL;
}

struct err *process_set_ignore(struct session *s, struct breakpoint *bp)
{
	struct tsdb_control *ctl = process_control(s);
	uint64_t want = bp->ignore;

	if (!ctl)
		return NULL;
	breakpoints_collect(s->engine.breaks, ctl); /* takes hits, and the old counts */
	bp->ignore = want;
	breakpoints_forget_slots(s->engine.breaks);
	return breakpoints_arm(s->engine.breaks, ctl);
}

/* --- launch --- */

/* argv for the program: a NULL-terminated list for words_free(). */
static struct err *make_argv(struct session *s, char ***ret)
{
	char **words;
	unsigned n;

	TRY(words_split(s->engine.set.string[SET_ARGS], &words, &n));
	words = xrealloc(words, (n + 2) * sizeof *words);
	memmove(words + 1, words, (n + 1) * sizeof *words);
	words[0] = xstrdup(s->target.program);
	words[n + 1] = NULL;
	*ret = words;
	return NULL;
}

static void new_recorder(struct session *s, const char *line, const char *cwd)
{
	recorder_free(s->recorder);
	s->recorder = recorder_new(&(struct recorder_options){.program = line,
		.cwd = cwd,
		.pid = inferior_pid(s->target.inf),
		.rank = s->target.rank,
		.ranks = s->target.ranks,
		.soft = s->target.soft,
		.stacks = settings_on(&s->engine.set, SET_STACKS) && !s->plan.stacks_off,
		.timestamps = settings_on(&s->engine.set, SET_TIMESTAMPS),
		.keep = !s->target.recording});
}

/* A process exists and is stopped: makes it the session's program. */
static struct err *begin_process(struct session *s, const char *line, const char *cwd)
{
	struct target *t = &s->target;

	t->tid = t->pid = inferior_pid(t->inf);
	t->at_cmd = t->agent_told = t->python_told = t->keep_told = false;
	t->exit_code = -1;
	t->exit_signal = 0;
	t->last_break = 0;
	t->frame = 0;
	for (int sig = 1; sig < PROCESS_SIGNALS; sig++) {
		if (t->recording)
			inferior_handle_signal(t->inf, sig, false, true);
		else if (t->signals[sig] & SIGNAL_SET)
			inferior_handle_signal(t->inf, sig, process_signal_stops(s, sig),
				process_signal_passes(s, sig));
	}
	new_recorder(s, line, cwd);
	breakpoints_reset(s->engine.breaks);
	TRY(capture_arm(s));
	process_configure(s);
	TRY(process_rearm(s));
	s->focus = FOCUS_LIVE;
	return NULL;
}

struct err *process_take(
	struct session *s, struct inferior *inf, const char *line, const char *cwd, bool soft)
{
	struct err *e;

	s->target.inf = inf;
	s->target.soft = soft;
	s->target.runs++;
	e = begin_process(s, line, cwd);
	if (e)
		err_free(process_detach(s));
	else
		while (process_drain(s)) /* takes what the agent has found so far */
			;
	return e;
}

static struct err *launch_program(struct session *s, const struct redirect *r, char **argv)
{
	struct target *t = &s->target;
	char *agent = gpu_agent_path(), *soft = t->soft ? gpu_soft_dir() : NULL, *own[RACES_OWN];
	char **env = races_env(s, t->env, t->nenv, own);
	struct launch_options o = {.argv = argv,
		.env_changes = env,
		.cwd = *s->engine.set.string[SET_CWD] ? s->engine.set.string[SET_CWD] : NULL,
		.in = r->in,
		.out = r->out,
		.err = r->err,
		.out_append = r->out_append,
		.err_append = r->err_append,
		.keep_aslr = !settings_on(&s->engine.set, SET_NO_ASLR),
		.agent = agent,
		.softgpu = soft,
		.ring_bytes = (uint32_t)s->engine.set.number[SET_RING_SIZE],
		.children = s->follow != NULL};
	struct err *e;

	if (!agent)
		e = err_cure(
			err_new(ERR_UNSUPPORTED,
				"libtsdb-agent.so is not installed: programs cannot be debugged"),
			"Build tsdb where the CUDA toolkit's headers are; traces can be viewed and replayed without");
	else
		e = inferior_launch(&t->inf, &o);
	if (e)
		t->inf = NULL;
	free(agent);
	free(soft);
	for (unsigned i = 0; i < RACES_OWN; i++)
		free(own[i]);
	free(env);
	return e;
}

static void begin_follow(struct session *s)
{
	follow_free(s->follow);
	s->follow = NULL;
	if (!settings_on(&s->engine.set, SET_FOLLOW_CHILDREN))
		return;
	s->follow = follow_new(s);
	capture_children(s);
}

struct err *process_adopt(struct session *s, struct inferior *inf, const char *program)
{
	s->target.inf = inf;
	return begin_process(s, program, s->engine.set.string[SET_CWD]);
}

struct err *process_launch(struct session *s, const struct redirect *r)
{
	struct target *t = &s->target;
	struct program_facts facts;
	char **argv;
	struct err *e;

	if (!t->program)
		return err_cure(err_new(ERR_STATE, "no program to run has been chosen"),
			"Use \"file PROGRAM\"");
	TRY(t->inf && inferior_attached(t->inf) ? process_detach(s) : process_kill(s));
	TRY(program_facts(t->program, &facts));
	TRY(gpu_choose(s, t->program, &facts, &t->soft));
	TRY(capture_check(s));
	TRY(make_argv(s, &argv));
	out_flush(s->out);
	begin_follow(s);
	e = launch_program(s, r, argv);
	if (!e) {
		unsigned n = 0;
		char *line;

		while (argv[n])
			n++;
		line = words_join(argv, n);
		e = begin_process(s, line, s->engine.set.string[SET_CWD]);
		free(line);
		if (e)
			err_free(process_kill(s));
	}
	words_free(argv);
	return e;
}

/* --- what the rings say --- */

/* Prints a sentence. text: TSDB_TEXT_MAX bytes that the inferior may have written. */
static void tell_sentence(
	struct session *s, const char *shared, const char *before, const char *otherwise)
{
	char text[TSDB_TEXT_MAX];

	memcpy(text, shared, sizeof text);
	text[sizeof text - 1] = 0;
	out_warn(s->out, "%s%s", before, *text ? text : otherwise);
}

static void tell_agent(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);

	if (ctl && !s->target.agent_told && atomic_load(&ctl->agent_state) == TSDB_AGENT_REFUSED) {
		s->target.agent_told = true;
		tell_sentence(s, ctl->text,
			"no GPU commands are captured: ", "the agent could not start");
	}
	if (ctl && !s->target.python_told && atomic_load(&ctl->python) == TSDB_PYTHON_REFUSED) {
		s->target.python_told = true;
		tell_sentence(s, ctl->python_text, "", "host stacks do not show Python functions");
	}
}

static void tell_drain(struct session *s)
{
	const char *warning;

	while ((warning = drain_warning(s->target.inf)))
		out_warn(s->out, "%s", warning);
}

static void tell_unreplayable(struct session *s)
{
	const char *call;
	uint64_t n;
	bool fresh;

	for (unsigned i = 0; recorder_unreplayable(s->recorder, i, &call, &n, &fresh); i++) {
		if (fresh && recorder_mode(s->recorder) != RECORDER_OFF)
			out_warn(s->out, "not replayable: %s", call);
	}
}

/* Takes records from the rings. Returns true if there may be more. */
static bool drain(struct session *s, bool final, unsigned most)
{
	enum recorder_turn turn = RECORDER_MORE;
	struct err *e = recorder_drain(s->recorder, s->target.inf, final, most, &turn);

	if (!e)
		e = recorder_tick(s->recorder);
	if (e) {
		s->plan.failed = true;
		s->failures++;
		out_error(s->out, e);
		process_configure(s); /* the agent can stop sending memory */
	}
	if (turn == RECORDER_EXEC) {
		capture_exec(s);
		recorder_exec(s->recorder);
	}
	tell_agent(s);
	keeping_tell(s, inferior_control(s->target.inf));
	tell_drain(s);
	tell_unreplayable(s);
	capture_check_window(s);
	return turn != RECORDER_DONE;
}

/* --- waiting --- */

static void pass_interrupt(struct session *s)
{
	/* `record` passes signals on to the program that it started; an attached program is left
	 * instead. */
	if (interrupt_take() && (!s->target.recording || inferior_attached(s->target.inf)))
		inferior_interrupt(s->target.inf);
}

/* How long to sleep before the next look, in microseconds. While memory is sent, slots fill within
 * milliseconds, so the sleeps begin short. */
struct pace {
	uint64_t seq, memory;
	unsigned us;
};

static unsigned next_pause(struct session *s, struct pace *p, bool more)
{
	uint64_t seq = recorder_last_seq(s->recorder), memory = recorder_memory_seen(s->recorder);
	bool busy = seq != p->seq, flowing = memory != p->memory;

	p->seq = seq;
	p->memory = memory;
	if (more || ((busy || flowing) && drain_pressure(s->target.inf) >= PRESSURE_HIGH))
		return p->us = 0;
	if (s->follow && follow_pressure(s->follow) >= PRESSURE_HIGH)
		return p->us = 0;
	if (flowing)
		return p->us = PAUSE_FIRST_US;
	if (p->us && p->us < WAIT_BUSY_MS * 1000u)
		return p->us *= 2;
	return p->us = busy ? WAIT_BUSY_MS * 1000u : WAIT_IDLE_MS * 1000u;
}

/* The one place that waits: for the rings and for the program, until there is an event. */
static struct err *wait_event(struct session *s, struct inferior_event *ev)
{
	struct pace pace = {recorder_last_seq(s->recorder), recorder_memory_seen(s->recorder),
		WAIT_IDLE_MS * 1000u};
	uint64_t first = pace.memory;

	for (;;) {
		bool more = drain(s, false, DRAIN_MOST);
		unsigned us;

		if (s->follow)
			more = follow_drain(s->follow) || more;

		if (s->plan.asking)
			out_progress(
				s->out, "recording memory, MB", (pace.memory - first) / 1000000, 0);
		pass_interrupt(s);
		us = next_pause(s, &pace, more);
		if (us && us < 1000)
			usleep(us);
		if (s->follow)
			TRY(follow_wait(s->follow, (int)us / 1000, ev));
		else
			TRY(inferior_wait(s->target.inf, (int)us / 1000, ev));
		if (ev->kind != INFERIOR_NONE)
			return NULL;
	}
}

/* --- ends --- */

static void forget_process(struct session *s)
{
	inferior_free(s->target.inf);
	s->target.inf = NULL;
	s->target.at_cmd = false;
	s->target.tid = 0;
}

static void drain_all(struct session *s)
{
	unsigned turns = 0;

	while (drain(s, true, DRAIN_MOST) && turns++ < 1u << 20)
		out_progress(s->out, "writing the trace, commands", recorder_count(s->recorder), 0);
	out_progress_end(s->out);
	capture_finish(s);
}

static void on_end(struct session *s, const struct inferior_event *ev)
{
	struct target *t = &s->target;
	pid_t pid = inferior_pid(t->inf);

	breakpoints_collect(s->engine.breaks, inferior_control(t->inf));
	drain_all(s);
	races_tell_live(s);
	t->exit_code = ev->kind == INFERIOR_EXITED ? ev->status : -1;
	t->exit_signal = ev->kind == INFERIOR_SIGNALLED ? ev->signal : 0;
	if (t->exit_code >= 0)
		vars_set(s->vars, "_exitcode", t->exit_code);
	if (!t->recording) {
		if (t->exit_signal)
			out_style(s->out, STYLE_STOP, "[process %d killed by %s, %s]", pid,
				process_signal_name(t->exit_signal),
				process_signal_text(t->exit_signal));
		else if (t->exit_code)
			out_style(s->out, STYLE_STOP, "[process %d exited with code %d]", pid,
				t->exit_code);
		else
			out_style(s->out, STYLE_NOTE, "[process %d exited normally]", pid);
		out_str(s->out, "\n");
	}
	forget_process(s);
}

struct err *process_kill(struct session *s)
{
	struct err *e;

	if (s->follow)
		follow_kill(s->follow);
	if (!s->target.inf)
		return NULL;
	e = inferior_kill(s->target.inf);
	if (s->recorder)
		drain_all(s);
	forget_process(s);
	s->target.runs++;
	return e;
}

/* The agent ends its work and sends the rest; the program runs meanwhile. Returns false if the
 * program has ended. */
static struct err *await_leaving(struct session *s)
{
	struct inferior *inf = s->target.inf;
	struct inferior_event ev;

	TRY(inferior_leave(inf));
	for (unsigned turns = 0; !inferior_agent_left(inf) && turns < LEAVE_MOST && !interrupt_flag;
		turns++) {
		drain(s, false, DRAIN_MOST);
		TRY(inferior_wait(inf, 1, &ev));
		if (ev.kind == INFERIOR_EXITED || ev.kind == INFERIOR_SIGNALLED) {
			on_end(s, &ev);
			return NULL;
		}
		if (inferior_alive(inf) && !inferior_running(inf))
			TRY(inferior_resume(inf, false));
	}
	return NULL;
}

struct err *process_detach(struct session *s)
{
	struct target *t = &s->target;
	struct err *e;

	if (!t->inf)
		return NULL;
	t->at_cmd = false;
	breakpoints_collect(s->engine.breaks, inferior_control(t->inf));
	err_free(await_leaving(s));
	if (!t->inf)
		return NULL;
	e = inferior_detach(t->inf);
	if (s->follow)
		follow_detach(s->follow);
	drain_all(s);
	forget_process(s);
	t->runs++;
	return e;
}

/* --- stops --- */

/* Copies the command that the agent stopped at. */
static void take_stop_cmd(struct session *s, const struct tsdb_stop *stop)
{
	struct target *t = &s->target;
	size_t n = stop->cmd_size;

	t->at_cmd = false;
	if (!n || n > sizeof t->cmd_data || n > sizeof stop->cmd)
		return;
	memcpy(t->cmd_data, stop->cmd, n);
	t->at_cmd = sbt_unpack(&t->cmd, t->cmd_data, n) != 0;
}

static void tell_cmd(struct session *s, uint64_t seq)
{
	struct sbt_names names = state_names(recorder_state(s->recorder));
	struct buf b = BUF_INIT;

	if (s->target.at_cmd)
		sbt_print_cmd(&b, &s->target.cmd, &names);
	else
		buf_printf(&b, "#%llu", (unsigned long long)seq);
	out_style(s->out, STYLE_STOP, "%s", buf_cstr(&b));
	out_str(s->out, "\n");
	buf_free(&b);
}

/* Handles a stop at a breakpoint; returns false to go on. */
static bool on_break(struct session *s, const struct tsdb_stop *stop)
{
	struct breakpoint *bp;
	bool temporary;

	breakpoints_collect(s->engine.breaks, inferior_control(s->target.inf));
	bp = breakpoints_by_id(s->engine.breaks, stop->break_id);
	temporary = bp && bp->temporary;
	if (!breakpoints_hit(s->engine.breaks, stop->break_id, true))
		return false;
	s->target.last_break = stop->break_id;
	vars_set(s->vars, "bpnum_hit", stop->break_id);
	if (!breakpoints_silent(s->engine.breaks))
		out_printf(s->out, "%s %d, ", temporary ? "Temporary breakpoint" : "Breakpoint",
			stop->break_id);
	return true;
}

/* For a breakpoint on a kernel that a graph launch runs: says which of its nodes it is. */
static void tell_node(struct session *s, const struct breakpoint *bp, struct buf *b)
{
	const struct state *st = recorder_state(s->recorder);
	const struct sbt_cmd *launch = &s->target.cmd;
	struct state_steps steps;
	struct state_kernel k;
	struct sbt_cmd c;

	if (!bp || !bp->glob || !s->target.at_cmd || launch->kind != SBT_GRAPH_LAUNCH)
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
		buf_printf(b, "  its step %u of %u is ", i + 1, steps.n);
		graph_node_text(b, st, &p->node);
		buf_str(b, "; a replay stops right before it\n");
		break;
	}
	state_steps_free(&steps);
}

static bool on_agent_stop(struct session *s)
{
	const struct tsdb_stop *stop = &inferior_control(s->target.inf)->stop;
	struct buf node = BUF_INIT;

	take_stop_cmd(s, stop);
	s->target.last_stop = stop->why;
	switch (stop->why) {
	case TSDB_STOP_BREAK:
		tell_node(s, breakpoints_by_id(s->engine.breaks, stop->break_id), &node);
		if (!on_break(s, stop)) {
			buf_free(&node);
			return false;
		}
		break;
	case TSDB_STOP_STEP:
		break;
	case TSDB_STOP_ERROR:
		fault_tell(s, &inferior_control(s->target.inf)->error);
		break;
	case TSDB_STOP_CAPTURE:
		capture_answer(s);
		return false;
	case TSDB_STOP_SERVED: /* of `capture stop`, which was interrupted */
		return false;
	case TSDB_STOP_WINDOW_DONE:
		if (recorder_in_span(s->recorder))
			out_str(s->out,
				"A stream is being captured: the window is complete when that is over.\n");
		else
			capture_finish(s);
		out_str(s->out, "The capture window is closed, ");
		break;
	default:
		out_str(s->out, "Stopped by the agent, ");
		break;
	}
	vars_set(s->vars, "seq", (int64_t)stop->seq);
	if (stop->why != TSDB_STOP_BREAK || !breakpoints_silent(s->engine.breaks)) {
		tell_cmd(s, stop->seq);
		out_str(s->out, buf_cstr(&node));
	}
	buf_free(&node);
	return true;
}

static void on_signal_stop(struct session *s, int sig)
{
	s->target.at_cmd = false;
	out_style(s->out, STYLE_STOP, "Program received signal %s, %s.", process_signal_name(sig),
		process_signal_text(sig));
	out_str(s->out, "\n");
	stack_tell_top(s);
}

/* Acts on an event: returns true if the program is to stay stopped, or has ended. */
static bool act(struct session *s, const struct inferior_event *ev)
{
	struct target *t = &s->target;

	switch (ev->kind) {
	case INFERIOR_NONE:
	case INFERIOR_FORKED:
		return false;
	case INFERIOR_EXECED:
		if (!t->recording)
			out_style(s->out, STYLE_NOTE, "[process %d is executing another program]\n",
				inferior_pid(t->inf));
		if (inferior_attached(t->inf) && t->recording)
			out_warn(s->out,
				"the agent went with the old program: `tsdb record -p %d` records what the new one does",
				inferior_pid(t->inf));
		return false;
	case INFERIOR_EXITED:
	case INFERIOR_SIGNALLED:
		on_end(s, ev);
		return true;
	default:
		break;
	}
	t->tid = ev->tid;
	t->frame = 0;
	t->last_stop = TSDB_STOP_NONE;
	t->fault_launch = 0;
	while (drain(s, false, DRAIN_MOST))
		;
	races_tell_live(s);
	if (ev->kind == INFERIOR_STOP_AGENT)
		return on_agent_stop(s);
	if (t->recording)
		return ev->kind == INFERIOR_STOP_INTERRUPT && inferior_attached(t->inf);
	on_signal_stop(s, ev->kind == INFERIOR_STOP_INTERRUPT ? SIGINT : ev->signal);
	return true;
}

bool process_act(struct session *s, const struct inferior_event *ev)
{
	return act(s, ev);
}

bool process_drain(struct session *s)
{
	return drain(s, false, DRAIN_MOST);
}

static bool is_stop(const struct inferior_event *ev)
{
	return ev->kind == INFERIOR_STOP_AGENT || ev->kind == INFERIOR_STOP_SIGNAL ||
	       ev->kind == INFERIOR_STOP_INTERRUPT;
}

/* An agent that was loaded into a running program disappears when that executes another one: loads
 * it again. */
static struct err *attach_again(struct session *s)
{
	char *pid = xasprintf("%d", inferior_pid(s->target.inf));
	struct err *e;

	err_free(process_detach(s));
	e = process_attach(s, pid, false);
	for (unsigned i = 0; e && e->code == ERR_INFERIOR && i < EXEC_TRIES;
		i++) { /* as wrappers do: one after the other */
		err_free(e);
		e = process_attach(s, pid, false);
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

struct err *process_continue(struct session *s)
{
	struct inferior_event ev;
	bool resume = true;

	s->target.runs++;
	s->focus = FOCUS_LIVE;
	if (!s->target.recording && inferior_wake(s->target.inf))
		out_str(s->out, "[it was stopped: it gets SIGCONT]\n");
	for (;;) {
		out_flush(s->out);
		if (resume) {
			s->target.at_cmd = false;
			TRY(inferior_resume(s->target.inf, false));
		}
		TRY(wait_event(s, &ev));
		if (act(s, &ev))
			break;
		resume = is_stop(&ev);
		if (ev.kind == INFERIOR_EXECED && inferior_attached(s->target.inf) &&
			!s->target.recording) {
			TRY(attach_again(s));
			resume = true;
		}
	}
	return NULL;
}

struct err *process_end_span(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);
	uint32_t why = ctl->stop.why;
	struct inferior_event ev;

	out_flush(s->out);
	TRY(inferior_end_span(s->target.inf));
	for (;;) {
		TRY(wait_event(s, &ev));
		if (ev.kind == INFERIOR_STOP_AGENT && ctl->stop.why == TSDB_STOP_SERVED)
			break;
		if (act(s, &ev))
			return NULL;
		if (is_stop(&ev))
			TRY(inferior_resume(s->target.inf, false));
	}
	ctl->stop.why = why;
	while (drain(s, false, DRAIN_MOST))
		;
	return NULL;
}

struct err *process_next(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);
	struct err *e;

	if (!ctl)
		return err_new(ERR_STATE,
			"the program runs without the agent: there are no GPU commands to stop at");
	atomic_store(&ctl->step_thread, 0);
	atomic_store(&ctl->step, 1);
	e = process_continue(s);
	if (s->target.inf)
		atomic_store(&inferior_control(s->target.inf)->step, 0);
	return e;
}

void process_deinit(struct session *s)
{
	struct target *t = &s->target;

	err_free(t->inf && inferior_attached(t->inf) ? process_detach(s) : process_kill(s));
	follow_free(s->follow);
	s->follow = NULL;
	recorder_free(s->recorder);
	s->recorder = NULL;
	for (unsigned i = 0; i < t->nenv; i++)
		free(t->env[i]);
	free(t->env);
	free(t->program);
	free(t->path);
}
