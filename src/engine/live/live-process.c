/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program, see live-process.h: its life, its settings, and its start.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "engine/breakpoints.h"
#include "engine/live-capture.h"
#include "engine/live-follow.h"
#include "engine/live-look.h"
#include "engine/live/live-private.h"
#include "engine/names.h"
#include "engine/parts.h"
#include "engine/soft-settings.h"
#include "symbols/elf-facts.h"

/* --- life --- */

void live_init(struct engine *en)
{
	en->live.exit_code = -1;
	en->live.races_fd = -1;
	names_rank_of(0, &en->live.rank, &en->live.ranks);
}

struct err *live_leave(struct engine *en)
{
	return en->live.inf && inferior_attached(en->live.inf) ? live_detach(en) : live_kill(en);
}

void live_deinit(struct engine *en)
{
	struct live *l = &en->live;

	err_free(live_leave(en));
	follow_free(l->follow);
	l->follow = NULL;
	live_look_free(l->look);
	l->look = NULL;
	recorder_free(l->recorder);
	l->recorder = NULL;
	soft_races_end(en);
	for (unsigned i = 0; i < l->nenv; i++)
		free(l->env[i]);
	free(l->env);
	free(l->program);
	free(l->plan.path);
	free(l->plan.pattern);
	free(l->plan.glob);
	free(l->plan.made);
}

/* --- what is reported --- */

void live_tell(struct engine *en, const struct live_note *n)
{
	if (en->hooks.live_note)
		en->hooks.live_note(en->hooks.arg, en, n);
}

void live_tell_text(struct engine *en, enum live_note_kind kind, const char *text)
{
	live_tell(en, &(struct live_note){.kind = kind, .text = text});
}

void live_fail(struct engine *en, struct err *e)
{
	if (en->hooks.live_failed)
		en->hooks.live_failed(en->hooks.arg, en, e);
	else
		err_free(e);
}

void live_runs_on(struct engine *en)
{
	if (en->hooks.runs_on)
		en->hooks.runs_on(en->hooks.arg);
}

/* --- the program --- */

struct err *live_file(struct engine *en, const char *program, char *const *args)
{
	struct program_facts facts;
	struct err *e = program_facts(program, &facts);
	unsigned n = 0;

	if (e)
		return e;
	free(en->live.program);
	en->live.adopted = false;
	en->live.program = xstrdup(program);
	if (args) {
		while (args[n])
			n++;
		free(en->set.string[SET_ARGS]);
		en->set.string[SET_ARGS] = words_join(args, n);
	}
	return NULL;
}

void live_env(struct engine *en, const char *change)
{
	struct live *l = &en->live;
	size_t n = strcspn(change, "=");

	for (unsigned i = 0; i < l->nenv; i++) {
		if (strncmp(l->env[i], change, n) || (l->env[i][n] && l->env[i][n] != '='))
			continue;
		free(l->env[i]);
		l->env[i] = xstrdup(change);
		return;
	}
	l->env = xrealloc(l->env, (l->nenv + 2) * sizeof *l->env);
	l->env[l->nenv++] = xstrdup(change);
	l->env[l->nenv] = NULL;
}

/* --- the control block --- */

struct tsdb_control *live_control(struct engine *en)
{
	return en->live.inf ? inferior_control(en->live.inf) : NULL;
}

/* The order of settings.def's words. */
static void configure_memory(struct engine *en, struct tsdb_control *ctl, bool all)
{
	static const uint32_t memory[] = {TSDB_MEMORY_ALL, TSDB_MEMORY_TOUCHED, TSDB_MEMORY_NONE};

	atomic_store(&ctl->memory, memory[en->set.number[SET_MEMORY]]);
	atomic_store(&ctl->memory_limit, en->set.number[SET_MEMORY_LIMIT]);
	atomic_store(&ctl->gpu_timeout, en->set.number[SET_GPU_TIMEOUT] < UINT32_MAX
						? (uint32_t)en->set.number[SET_GPU_TIMEOUT]
						: UINT32_MAX);
	atomic_store(&ctl->outputs_full, en->set.number[SET_OUTPUTS] == 1);
	atomic_store(
		&ctl->capture_all, all && !en->live.plan.ending &&
					   memory[en->set.number[SET_MEMORY]] != TSDB_MEMORY_NONE);
}

static uint32_t errors_wanted(const struct engine *en)
{
	return en->live.recording ? TSDB_ERRORS_NONE : (uint32_t)en->set.number[SET_STOP_ON_ERROR];
}

/* Which stacks the agent takes: those of all launches if it stops at errors, since a stop at a
 * fault shows where the launch came from. */
static uint32_t stacks_wanted(const struct engine *en, bool all)
{
	if (!settings_on(&en->set, SET_STACKS) || en->live.plan.stacks_off)
		return TSDB_STACKS_NEVER;
	return all				       ? TSDB_STACKS_ALL
	       : errors_wanted(en) != TSDB_ERRORS_NONE ? TSDB_STACKS_LAUNCHES
						       : TSDB_STACKS_WINDOWS;
}

void live_configure(struct engine *en)
{
	struct tsdb_control *ctl = live_control(en);
	bool all = en->live.recorder && recorder_mode(en->live.recorder) == RECORDER_ALL;

	if (!ctl)
		return;
	atomic_store(&ctl->stack_depth, (uint32_t)en->set.number[SET_STACK_DEPTH]);
	atomic_store(&ctl->timestamps, settings_on(&en->set, SET_TIMESTAMPS));
	atomic_store(&ctl->on_full, (uint32_t)en->set.number[SET_ON_FULL]);
	atomic_store(&ctl->code, settings_on(&en->set, SET_CODE));
	memcpy(ctl->error_what, en->live.catch_what, sizeof(ctl->error_what));
	atomic_store(&ctl->error_code, en->live.catch_code);
	atomic_store(&ctl->stop_on_error, errors_wanted(en));
	atomic_store(&ctl->stacks, stacks_wanted(en, all));
	atomic_store(
		&ctl->window_stop, en->live.recording || settings_on(&en->set, SET_WINDOW_STOP));
	atomic_store(&ctl->trigger_stop, en->live.recording
						 ? en->live.plan.until_trigger
						 : settings_on(&en->set, SET_STOP_ON_TRIGGER));
	configure_memory(en, ctl, all);
	live_configure_keeper(en, ctl);
	atomic_store(&ctl->on, 1);
}

struct err *live_rearm(struct engine *en)
{
	struct tsdb_control *ctl = live_control(en);

	TRY(ctl ? breakpoints_arm(en->breaks, ctl) : NULL);
	return en->live.inf && (en->live.soft || en->live.soft_amd) ? kernel_prints_set(en) : NULL;
}

struct err *live_set_ignore(struct engine *en, struct breakpoint *bp)
{
	struct tsdb_control *ctl = live_control(en);
	uint64_t want = bp->ignore;

	if (!ctl)
		return NULL;
	breakpoints_collect(en->breaks, ctl); /* takes hits, and the old counts */
	bp->ignore = want;
	breakpoints_forget_slots(en->breaks);
	return breakpoints_arm(en->breaks, ctl);
}

/* --- launch --- */

/* argv for the program: a NULL-terminated list for words_free(). */
static struct err *make_argv(struct engine *en, char ***ret)
{
	char **words;
	unsigned n;

	TRY(words_split(en->set.string[SET_ARGS], &words, &n));
	words = xrealloc(words, (n + 2) * sizeof *words);
	memmove(words + 1, words, (n + 1) * sizeof *words);
	words[0] = xstrdup(en->live.program);
	words[n + 1] = NULL;
	*ret = words;
	return NULL;
}

static void new_recorder(struct engine *en, const char *line, const char *cwd)
{
	live_look_free(en->live.look);
	en->live.look = NULL;
	recorder_free(en->live.recorder);
	en->live.recorder = recorder_new(&(struct recorder_options){.program = line,
		.cwd = cwd,
		.pid = inferior_pid(en->live.inf),
		.rank = en->live.rank,
		.ranks = en->live.ranks,
		.soft = en->live.soft,
		.stacks = settings_on(&en->set, SET_STACKS) && !en->live.plan.stacks_off,
		.timestamps = settings_on(&en->set, SET_TIMESTAMPS),
		.sources = settings_on(&en->set, SET_SOURCES),
		.keep = !en->live.recording || en->live.plan.windows});
}

/* Says it if the program has messages inside kernels that it cannot show. */
static void tell_no_prints(struct engine *en)
{
	const struct breakpoint *bp;

	if (en->live.soft || en->live.soft_amd)
		return;
	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++)
		if (bp->enabled && breakpoint_is_in_kernel(bp) && en->hooks.note) {
			en->hooks.note(en->hooks.arg,
				"A dprintf inside a kernel needs the software GPU (\"run --gpu soft\"): this program shows none.");
			return;
		}
}

struct err *live_begin(struct engine *en, const char *line, const char *cwd)
{
	struct live *l = &en->live;

	l->tid = l->pid = inferior_pid(l->inf);
	l->at_cmd = l->agent_told = l->python_told = l->keep_told = false;
	l->exit_code = -1;
	l->exit_signal = 0;
	l->last_break = 0;
	l->frame = 0;
	for (int sig = 1; sig < LIVE_SIGNALS; sig++) {
		if (l->recording)
			inferior_handle_signal(l->inf, sig, false, true);
		else if (l->signals[sig])
			inferior_handle_signal(l->inf, sig, live_signal_stops(en, sig),
				live_signal_passes(en, sig));
	}
	new_recorder(en, line, cwd);
	breakpoints_reset(en->breaks);
	TRY(capture_arm(en));
	live_configure(en);
	tell_no_prints(en);
	return live_rearm(en);
}

static struct err *launch_program(struct engine *en, const struct redirect *r, char **argv)
{
	struct live *l = &en->live;
	char *agent = gpu_agent_path(), *own[SOFT_OWN];
	char *soft = l->soft ? gpu_soft_dir() : l->soft_amd ? gpu_soft_amd_dir() : NULL;
	char **env = soft_settings_env(en, own);
	struct launch_options o = {.argv = argv,
		.env_changes = env,
		.cwd = *en->set.string[SET_CWD] ? en->set.string[SET_CWD] : NULL,
		.in = r->in,
		.out = r->out,
		.err = r->err,
		.out_append = r->out_append,
		.err_append = r->err_append,
		.keep_aslr = !settings_on(&en->set, SET_NO_ASLR),
		.agent = agent,
		.softgpu = soft,
		.ring_bytes = (uint32_t)en->set.number[SET_RING_SIZE],
		.children = en->live.follow != NULL};
	struct err *e;

	if (!agent)
		e = err_cure(
			err_new(ERR_UNSUPPORTED,
				"libtsdb-agent.so is not installed: programs cannot be debugged"),
			"Build tsdb where the CUDA toolkit's headers are; traces can be viewed and replayed without");
	else
		e = inferior_launch(&l->inf, &o);
	if (e)
		l->inf = NULL;
	free(agent);
	free(soft);
	for (unsigned i = 0; i < SOFT_OWN; i++)
		free(own[i]);
	free(env);
	return e;
}

static void begin_follow(struct engine *en)
{
	follow_free(en->live.follow);
	en->live.follow = NULL;
	if (!settings_on(&en->set, SET_FOLLOW_CHILDREN))
		return;
	en->live.follow = follow_new(en);
	capture_children(en);
}

struct err *live_adopt(struct engine *en, struct inferior *inf, const char *program)
{
	en->live.inf = inf;
	return live_begin(en, program, en->set.string[SET_CWD]);
}

struct err *live_launch(struct engine *en, const struct redirect *r)
{
	struct live *l = &en->live;
	struct program_facts facts;
	char **argv;
	struct err *e;

	if (!l->program)
		return err_cure(err_new(ERR_STATE, "no program to run has been chosen"),
			"Use \"file PROGRAM\"");
	TRY(live_leave(en));
	TRY(program_facts(l->program, &facts));
	TRY(live_choose_gpu(en, l->program, &facts, &l->soft));
	TRY(capture_check(en));
	l->plan.told_overwrites = false;
	TRY(make_argv(en, &argv));
	live_runs_on(en);
	begin_follow(en);
	e = launch_program(en, r, argv);
	if (!e) {
		unsigned n = 0;
		char *line;

		while (argv[n])
			n++;
		line = words_join(argv, n);
		e = live_begin(en, line, en->set.string[SET_CWD]);
		free(line);
		if (e)
			err_free(live_kill(en));
	}
	words_free(argv);
	return e;
}
