/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that run the program: run, start, continue, next, finish, kill, file, handle, info
 * signals, info program.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "attach/attach.h"
#include "engine/breakpoints.h"
#include "shell/print/graph.h"
#include "shell/print/kernel-text.h"
#include "shell/live/follow-text.h"
#include "shell/live/process.h"
#include "shell/live/stop-json.h"
#include "shell/live/live-text.h"
#include "shell/trace/ranks-view.h"
#include "engine/recorder.h"
#include "shell/trace/replay-run.h"
#include "shell/trace/trace.h"
#include "base/words.h"

/* --- run, start --- */

const char cmd_run_help[] =
	"Starts the program that was given on the command line or with `file`. Arguments\n"
	"replace those of `set args`; < > >> 2> 2>> redirect its input and output, as in a\n"
	"shell (quotes work, wildcards and variables do not). A program that runs already\n"
	"is killed first. Breakpoints and a capture that was asked for are armed.\n"
	"Example: run 64 > out.txt\n";
const char cmd_start_help[] =
	"Like `run`, but the program stops at its first GPU command, as if each command\n"
	"had a temporary breakpoint.\n"
	"Examples: start\n"
	"          start --steps 3 > out.txt\n";

struct redirection {
	const char *token;
	size_t field;
	bool append;
};

static const struct redirection redirections[] = {
	{"<", offsetof(struct redirect, in), false},
	{"2>>", offsetof(struct redirect, err), true},
	{"2>", offsetof(struct redirect, err), false},
	{">>", offsetof(struct redirect, out), true},
	{">", offsetof(struct redirect, out), false},
};

/* Takes "> file" or ">file" at words[*i] out of the arguments; *ret: there was one. */
static struct err *take_redirection(
	char **words, unsigned n, unsigned *i, struct redirect *r, bool *ret)
{
	for (size_t k = 0; k < sizeof redirections / sizeof *redirections; k++) {
		const struct redirection *d = &redirections[k];
		const char *w = words[*i], *target = w + strlen(d->token);

		if (strncmp(w, d->token, strlen(d->token)))
			continue;
		*ret = true;
		if (!*target) {
			if (*i + 1 >= n)
				return err_cure(
					err_new(ERR_USAGE, "a file name is missing after %s",
						d->token),
					"For example: run > out.txt");
			target = words[++*i];
		}
		*(const char **)((char *)r + d->field) = target;
		if (d->field == offsetof(struct redirect, out))
			r->out_append = d->append;
		else if (d->field == offsetof(struct redirect, err))
			r->err_append = d->append;
		return NULL;
	}
	*ret = false;
	return NULL;
}

/* Takes the line after `run`: redirections go into r; arguments, if there are any, into `set
 * args`. */
static struct err *take_line(struct session *s, char **words, unsigned n, struct redirect *r)
{
	char **args = xcalloc(n + 1, sizeof *args);
	unsigned nargs = 0;
	struct err *e = NULL;

	for (unsigned i = 0; !e && i < n; i++) {
		bool was;

		e = take_redirection(words, n, &i, r, &was);
		if (!e && !was)
			args[nargs++] = words[i];
	}
	if (!e && nargs) {
		free(s->engine.set.string[SET_ARGS]);
		s->engine.set.string[SET_ARGS] = words_join(args, nargs);
	}
	free(args);
	return e;
}

static struct err *launch(struct session *s, const struct cmd_args *a)
{
	struct redirect r = {0};
	char **words;
	unsigned n;
	struct err *e;

	if (s->engine.live.inf &&
		!session_confirm(
			s, "The program is being run already. Start it from the beginning?"))
		return err_new(ERR_STATE, "the program was not started again");
	TRY(words_split(a->rest, &words, &n));
	e = take_line(s, words, n, &r);
	if (!e)
		e = process_launch(s, &r);
	words_free(words);
	return e;
}

struct err *cmd_run(struct session *s, const struct cmd_args *a)
{
	TRY(launch(s, a));
	return process_continue(s);
}

struct err *cmd_start(struct session *s, const struct cmd_args *a)
{
	TRY(launch(s, a));
	return process_next(s);
}

/* --- continue, next, finish --- */

static struct err *not_running(struct session *s)
{
	return err_cure(err_new(ERR_STATE, "the program is not being run"),
		s->engine.trace.reader ? "Use \"run\", or \"replay start\" for the trace"
				       : "Use \"run\"");
}

const char cmd_continue_help[] =
	"Goes on until a breakpoint, a signal, the end of a capture window or the end of\n"
	"the program. With N, passes the breakpoint it is at N-1 times. In a replay:\n"
	"replays to the next breakpoint; inside a launch (`help replay enter`): to the next\n"
	"breakpoint or watchpoint there, or the launch's end.\n"
	"Examples: continue\n"
	"          continue 10\n";

struct err *cmd_continue(struct session *s, const struct cmd_args *a)
{
	struct breakpoint *bp;
	uint64_t n;

	TRY(cmd_count(a, &n));
	if (kernel_stop(s))
		return kernel_go(s, SOFT_RUN, 0);
	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay)
		return replay_run_to_break(s, false);
	if (!s->engine.live.inf)
		return not_running(s);
	bp = n > 1 ? breakpoints_by_id(s->engine.breaks, s->engine.live.last_break) : NULL;
	if (bp) {
		bp->ignore = n - 1;
		out_printf(s->out, "Will ignore the next %" PRIu64 " hit%s of breakpoint %d.\n",
			n - 1, n == 2 ? "" : "s", bp->id);
		TRY(live_set_ignore(&s->engine, bp));
	}
	return process_continue(s);
}

const char cmd_next_help[] =
	"Goes on to the next GPU command of any thread and stops before the driver does it.\n"
	"With N, does so N times, unless something else stops the program. In a replay:\n"
	"the same as `replay next`: a graph launch as a whole; inside a launch (`help replay enter`): on to the next line\n"
	"of the source, of the focused warp.\n"
	"Examples: next\n"
	"          next 10\n";

const char cmd_step_help[] =
	"The same as `next`; but in a replay the same as `replay step`, which goes into graph\n"
	"launches, from node to node: from the command before a launch. Where the replay stands\n"
	"at a launch (`break graph_launch`), its nodes are behind: `replay goto SEQ.0` goes to\n"
	"before the first.\n"
	"Examples: step\n"
	"          step 3\n";

struct err *cmd_step(struct session *s, const struct cmd_args *a)
{
	return cmd_next(s, a);
}

struct err *cmd_next(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	if (kernel_stop(s))
		return kernel_go(s, SOFT_LINE, n);
	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay)
		return replay_run_steps(s, n, false, a->cmd->run == cmd_step);
	if (!s->engine.live.inf)
		return not_running(s);
	for (; n; n--) {
		TRY(process_next(s));
		if (!s->engine.live.inf || !s->engine.live.at_cmd ||
			s->engine.live.last_stop != STOP_STEP)
			break;
	}
	return NULL;
}

const char cmd_finish_help[] =
	"Waits until everything that is pending on the current command's stream (or on\n"
	"stream N) has finished on the device. The program itself stays stopped. It works\n"
	"at a stop at a GPU command; `set gpu-timeout` says how long to wait. Inside a launch\n"
	"of a replay (`help replay enter`), or between the nodes of a graph launch: runs it to\n"
	"its end. Elsewhere in a replay: finishes what is submitted, as `replay finish` does.\n"
	"Examples: finish\n"
	"          finish stream 2\n";

static struct err *finish_stream(struct session *s, const struct cmd_args *a, uint32_t *ret)
{
	uint64_t v;

	if (a->argc) {
		const char *w = a->argv[a->argc - 1];

		if (a->argc > 2 ||
			(a->argc == 2 && strncmp("stream", a->argv[0], strlen(a->argv[0]))) ||
			!word_u64(w, &v) || v > UINT32_MAX)
			return err_cure(
				err_new(ERR_USAGE, "\"finish %s\" names no stream", a->rest),
				"Use \"finish stream 2\"");
		*ret = (uint32_t)v;
		return NULL;
	}
	*ret = s->engine.live.at_cmd ? sbt_cmd_stream(&s->engine.live.cmd) : SBT_NO_ID;
	if (*ret == SBT_NO_ID)
		return err_cure(
			err_new(ERR_STATE, "the program is not stopped at a command of a stream"),
			"Use \"finish stream N\"");
	return NULL;
}

/* In a replay: the stream of the command that it is at, or the one that is named. */
static struct err *finish_in_replay(struct session *s, const struct cmd_args *a)
{
	const struct sbt_cmd *c;
	uint32_t stream;

	if (a->argc)
		return cmd_replay_finish(s, a);
	stream = session_cmd(s, &c) ? sbt_cmd_stream(c) : SBT_NO_ID;
	if (stream == SBT_NO_ID)
		return err_cure(err_new(ERR_STATE, "the replay is not at a command of a stream"),
			"Use \"finish stream N\"");
	return replay_go(s, &(struct move){.how = MOVE_DRAIN, .stream = stream});
}

struct err *cmd_finish(struct session *s, const struct cmd_args *a)
{
	struct state *st;
	struct state_stream str;
	uint32_t stream;

	if (!a->argc && kernel_stop(s))
		return kernel_go(s, SOFT_FINISH, 0);
	if (!a->argc && graph_place(s))
		return replay_go(s, &(struct move){.how = MOVE_LEAVE});
	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay)
		return finish_in_replay(s, a);
	if (!s->engine.live.inf)
		return not_running(s);
	TRY(finish_stream(s, a, &stream));
	st = recorder_state(s->engine.live.recorder);
	if (!state_stream_by_id(st, stream, &str))
		return err_cure(err_new(ERR_NOT_FOUND, "there is no stream %u", stream),
			"\"info streams\" lists them");
	TRY(inferior_gpu_sync(
		s->engine.live.inf, stream, (int)s->engine.set.number[SET_GPU_TIMEOUT]));
	if (str.last_submitted)
		state_retire(st, str.last_submitted);
	if (str.pending)
		out_printf(s->out,
			"Stream %u has finished: %" PRIu64 " command%s, the last one is #%" PRIu64
			".\n",
			stream, str.pending, str.pending == 1 ? "" : "s", str.last_submitted);
	else
		out_printf(s->out, "Stream %u had nothing pending.\n", stream);
	return NULL;
}

/* --- kill, file --- */

const char cmd_kill_help[] =
	"Kills the program. A capture that is on ends; its trace is complete up to here.\n";

struct err *cmd_kill(struct session *s, const struct cmd_args *a)
{
	int pid = inferior_pid(s->engine.live.inf);

	if (!session_confirm(s, "Kill the program being debugged?"))
		return NULL;
	TRY(live_kill(&s->engine));
	out_printf(s->out, "[process %d killed]\n", pid);
	return NULL;
}

const char cmd_file_help[] =
	"Chooses the program that `run` starts; it is searched in PATH when its name has no\n"
	"slash. A trace (.sbt) is opened instead. Without a name, says which one it is.\n"
	"Examples: file ./app\n"
	"          file app.sbt\n";

struct err *cmd_file(struct session *s, const struct cmd_args *a)
{
	if (a->argc > 1)
		return err_cure(err_new(ERR_USAGE, "file takes one name"),
			"Give arguments with \"set args\" or to \"run\"");
	if (a->argc && ranks_is(a->argv[0]))
		return ranks_begin(s, a->argv[0]);
	if (a->argc && trace_is(a->argv[0]))
		return trace_open(s, a->argv[0]);
	if (a->argc)
		return live_file(&s->engine, a->argv[0], NULL);
	out_printf(s->out, "%s\n",
		s->engine.live.program ? s->engine.live.program : "No program has been chosen.");
	return NULL;
}

/* --- signals --- */

const char cmd_handle_help[] =
	"Says what happens when the program gets a signal: stop or nostop, pass it on or\n"
	"nopass. As in gdb noprint is nostop, too; print goes with stop only: nothing is\n"
	"printed of a signal that does not stop the program. Signals go by name (SIGUSR1,\n"
	"USR1) or number; `all` is all but those that a debugger uses. `info signals` shows\n"
	"the table.\n"
	"Example: handle SIGUSR1 nostop pass\n";

static int signal_number(const char *word)
{
	uint64_t v;

	if (word_u64(word, &v))
		return v > 0 && v < LIVE_SIGNALS ? (int)v : 0;
	for (int sig = 1; sig < LIVE_SIGNALS; sig++) {
		const char *name = signal_name(sig);

		if (name && (!strcasecmp(name, word) || !strcasecmp(name + 3, word)))
			return sig;
	}
	return 0;
}

/* What the words ask for; -1: nothing about it. */
struct handling {
	int stop, pass, print;
	unsigned signals;
};

static bool is_action(struct handling *h, const char *w)
{
	static const struct {
		const char *word;
		struct handling is;
	} words[] = {
		{"stop", {1, -1, -1, 0}},
		{"nostop", {0, -1, -1, 0}},
		{"pass", {-1, 1, -1, 0}},
		{"nopass", {-1, 0, -1, 0}},
		{"print", {-1, -1, 1, 0}},
		{"noprint", {0, -1, 0, 0}},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const struct handling *is = &words[i].is;

		if (strcmp(w, words[i].word) != 0)
			continue;
		h->stop = is->stop < 0 ? h->stop : is->stop;
		h->pass = is->pass < 0 ? h->pass : is->pass;
		h->print = is->print < 0 ? h->print : is->print;
		return true;
	}
	return false;
}

/* Refuses printing for a signal that does not stop the program. */
static struct err *check_print(
	const struct session *s, const struct handling *h, const struct cmd_args *a)
{
	bool stops = h->stop != 0;

	for (unsigned i = 0; i < a->argc && h->stop < 0; i++) {
		const int sig = signal_number(a->argv[i]);

		stops = stops &&
			(sig ? live_signal_stops(&s->engine, sig) : strcmp(a->argv[i], "all") != 0);
	}
	if (h->print != 1 || stops)
		return NULL;
	return err_cure(
		err_new(ERR_UNSUPPORTED, "a signal that does not stop the program is not printed"),
		"Say \"stop\", or leave \"print\" away");
}

static void handle_one(struct session *s, int sig, int stop, int pass)
{
	live_set_signal(&s->engine, sig, stop < 0 ? live_signal_stops(&s->engine, sig) : stop,
		pass < 0 ? live_signal_passes(&s->engine, sig) : pass);
}

struct err *cmd_handle(struct session *s, const struct cmd_args *a)
{
	struct handling h = {-1, -1, -1, 0};

	for (unsigned i = 0; i < a->argc; i++) {
		const char *w = a->argv[i];

		if (is_action(&h, w))
			continue;
		if (strcmp(w, "all") && !signal_number(w))
			return err_cure(err_new(ERR_USAGE, "there is no signal \"%s\"", w),
				"\"info signals\" lists them");
		h.signals++;
	}
	if (!h.signals || (h.stop < 0 && h.pass < 0 && h.print < 0))
		return err_cure(err_new(ERR_USAGE, "handle needs a signal and what to do"),
			"For example: handle SIGUSR1 nostop pass");
	TRY(check_print(s, &h, a));
	for (unsigned i = 0; i < a->argc; i++) {
		int sig = signal_number(a->argv[i]);

		if (sig)
			handle_one(s, sig, h.stop, h.pass);
		for (int k = 1; !strcmp(a->argv[i], "all") && k < 32; k++) {
			if (k != 5 && k != 2 && k != 9 && k != 19)
				handle_one(s, k, h.stop, h.pass);
		}
	}
	return NULL;
}

const char cmd_info_signals_help[] =
	"Shows for each signal, or for SIGNAL, whether it stops the program and whether the program gets it.\n"
	"Example: info signals SIGUSR1\n";

struct signal {
	const char *signal;
	int number;
	bool stop, pass;
};
JS_DEFINE(signal_object, "signal", signal, JS(TEXT, signal, signal), JS(INT, signal, number),
	JS(BOOL, signal, stop, pass));

struct err *cmd_info_signals(struct session *s, const struct cmd_args *a)
{
	int only = a->argc ? signal_number(a->argv[0]) : 0;
	struct buf b = BUF_INIT;

	if (a->argc > 1 || (a->argc && !only))
		return err_cure(err_new(ERR_USAGE, "there is no signal \"%s\"", a->rest),
			"\"info signals\" lists them");
	if (a->json)
		buf_byte(&b, '[');
	else
		out_style(s->out, STYLE_HEADER, "%-12s %-5s %-5s %s\n", "Signal", "Stop", "Pass",
			"Description");
	for (int sig = 1; sig < LIVE_SIGNALS; sig++) {
		const char *name = signal_name(sig);
		bool stop = live_signal_stops(&s->engine, sig),
		     pass = live_signal_passes(&s->engine, sig);

		if (!name || (only && sig != only))
			continue;
		if (a->json)
			js_add(&b, &signal_object, &(struct signal){name, sig, stop, pass});
		else
			out_printf(s->out, "%-12s %-5s %-5s %s\n", name, stop ? "Yes" : "No",
				pass ? "Yes" : "No", signal_text(sig));
	}
	if (a->json)
		out_printf(s->out, "%s]\n", buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

const char cmd_info_inferiors_help[] =
	"Lists the program's process and, with `set follow children on`, each child process that has used\n"
	"the GPU: what it runs, the trace it is recorded into, and how many commands that has. A\n"
	"child is recorded while a capture of everything is on (`capture start` before `run`); breakpoints do\n"
	"not stop it, and while the program is stopped at the prompt it runs on until a buffer is full.\n"
	"Example: info inferiors\n";

struct err *cmd_info_inferiors(struct session *s, const struct cmd_args *a)
{
	if (a->argc)
		return err_cure(err_new(ERR_USAGE, "info inferiors takes no \"%s\"", a->argv[0]),
			"Use \"info inferiors\"");
	follow_print(s, a->json);
	return NULL;
}

const char cmd_info_program_help[] = "Shows the program, its process and what it is doing.\n"
				     "Example: info program\n";

static const char *status_word(const struct live *t)
{
	if (t->inf)
		return t->at_cmd ? "stopped at a GPU command" : "stopped";
	return t->exit_signal ? "killed" : t->exit_code >= 0 ? "exited" : "not being run";
}

/* Which GPU the process uses; NULL: none yet. The driver of an attached process reports it when it
 * starts. */
static const char *gpu_word(struct session *s, bool *ret_soft)
{
	const struct live *t = &s->engine.live;
	const struct tsdb_control *c = t->inf ? inferior_control(t->inf) : NULL;
	struct state_device d;

	*ret_soft = t->soft;
	if (t->inf && inferior_attached(t->inf)) {
		if (c && atomic_load(&c->agent_state) == TSDB_AGENT_WAITING)
			return NULL;
		if (s->engine.live.recorder &&
			state_device(recorder_state(s->engine.live.recorder), 0, &d))
			*ret_soft = d.soft;
	}
	return *ret_soft ? "software GPU" : "machine's GPU";
}

struct program {
	const char *program, *args, *status;
	int pid, exit_code, exit_signal;
	bool soft;
	const struct stop *stop;
};
JS_DEFINE(program_object, "program", program, JS(TEXT, program, program, args),
	JS(INT, program, pid), JS(TEXT, program, status), JS(INT, program, exit_code, exit_signal),
	JS(BOOL, program, soft), JS_BY("last_stop", program, stop, stop_json_at, "stop or null"));

struct err *cmd_info_program(struct session *s, const struct cmd_args *a)
{
	const struct live *t = &s->engine.live;
	bool soft;
	const char *gpu = gpu_word(s, &soft);
	int pid = t->inf ? inferior_pid(t->inf) : 0;
	struct buf b = BUF_INIT;

	if (a->json) {
		js_put(&b, &program_object,
			&(struct program){t->program, s->engine.set.string[SET_ARGS],
				status_word(t), pid, t->exit_code, t->exit_signal, soft,
				&s->engine.stop});
		buf_byte(&b, '\n');
	} else if (!t->program) {
		buf_str(&b, "No program has been chosen.\n");
	} else {
		buf_printf(&b, "%s %s\n", t->program, s->engine.set.string[SET_ARGS]);
		if (pid && gpu)
			buf_printf(&b, "process %d, %s, on the %s\n", pid, status_word(t), gpu);
		else if (pid)
			buf_printf(&b, "process %d, %s, has not used the GPU yet\n", pid,
				status_word(t));
		else
			buf_printf(&b, "%s\n", status_word(t));
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}
