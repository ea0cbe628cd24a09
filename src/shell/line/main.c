/* SPDX-License-Identifier: Apache-2.0
 *
 * The program tsdb: its command line. A first word that is the name of a tool (record, view,
 * replay, races, ...: tools.c) is that tool; write ./record for a program of that name.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/words.h"
#include "shell/line/command.h"
#include "shell/line/editor.h"
#include "shell/line/interrupt.h"
#include "shell/live/process.h"
#include "shell/trace/ranks-view.h"
#include "shell/line/session.h"
#include "shell/tools/serve.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "shell/tui/tui.h"
#include "shell/tui/tui-screen.h"

struct step {
	bool file; /* -x: a script; else -ex: a command */
	const char *text;
};

struct options {
	bool no_init, help, version, tui;
	bool json; /* --json before the tool's name */
	const char *cd;
	const char *attach; /* -p */
	struct step *steps;
	unsigned nsteps;
	char **rest;	   /* the program or trace, and its arguments; NULL: none */
	const char *serve; /* --serve: the socket's number */
	bool rest_args;	   /* --args: the words behind the program are its arguments */
};

static const char usage_head[] =
	"tsdb, a debugger for GPU command streams.\n"
	"\n"
	"  tsdb [OPTIONS] [PROGRAM ARGS...]     debug a program\n"
	"  tsdb [OPTIONS] -p PID|NAME           attach to a process that runs\n"
	"  tsdb [OPTIONS] FILE.sbt              open a trace\n"
	"  tsdb TOOL --help                     what one of these is used like:\n";
static const char usage_options[] =
	"\n"
	"  --gpu auto|soft|real   software GPU, the machine's, or whichever is there\n"
	"  --gpu soft-amd         the software AMD GPU, for HIP programs\n"
	"  -ex COMMAND            run a command (any number, in order with -x)\n"
	"  -p, --pid PID|NAME     attach to a process that runs\n"
	"  -x FILE                run the commands of a file\n"
	"  --no-sandbox           execute traces with all your rights\n"
	"  --batch                leave after those; exit status 1 when one failed\n"
	"  --args                 the words after PROGRAM are its arguments, options too\n"
	"  --cd DIR               change to DIR first\n"
	"  --tui                  with the text screen (help tui)\n"
	"  -q, --quiet            no greeting\n"
	"  --no-init, -n          do not read ~/.config/tsdb/init\n"
	"  --json                 the TOOL's list or verdict as JSON; or behind its name\n"
	"  --version, --help\n"
	"\n"
	"In tsdb, type \"help\".\n";

static struct err *usage(const char *what, const char *word)
{
	return err_cure(err_new(ERR_USAGE, "%s %s", what, word), "See \"tsdb --help\"");
}

static void add_step(struct options *o, bool file, const char *text)
{
	o->steps = xrealloc(o->steps, (o->nsteps + 1) * sizeof *o->steps);
	o->steps[o->nsteps++] = (struct step){file, text};
}

/* --- options --- */

/* Options without a value; true when w is one. */
static bool take_flag(struct session *s, struct options *o, const char *w)
{
	if (!strcmp(w, "--batch") || !strcmp(w, "-batch"))
		s->batch = s->quiet = true;
	else if (!strcmp(w, "-q") || !strcmp(w, "--quiet") || !strcmp(w, "-quiet") ||
		 !strcmp(w, "--silent"))
		s->quiet = true;
	else if (!strcmp(w, "--no-init") || !strcmp(w, "-n") || !strcmp(w, "-nx") ||
		 !strcmp(w, "--nx"))
		o->no_init = true;
	else if (!strcmp(w, "--tui") || !strcmp(w, "-tui"))
		o->tui = true;
	else if (!strcmp(w, "--help") || !strcmp(w, "-h"))
		o->help = true;
	else if (!strcmp(w, "--json"))
		o->json = true;
	else if (!strcmp(w, "--version") || !strcmp(w, "-v"))
		o->version = true;
	else if (!strcmp(w, TOOL_NO_SANDBOX))
		tool_no_sandbox(s);
	else if (!strcmp(w, "--args") || !strcmp(w, "-args"))
		o->rest_args = true;
	else
		return false;
	return true;
}

/* Options with a value, in the next word or after "=". */
static struct err *take_valued(struct session *s, struct options *o, char **argv, int argc, int *i)
{
	static const char *const names[] = {"--gpu", "-ex", "--ex", "--eval-command", "-x",
		"--command", "--cd", "-cd", "-p", "--pid", "--serve"};
	const char *w = argv[*i], *value = NULL, *name = NULL;

	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const size_t n = strcspn(w, names[k][1] == '-' ? "=" : "");

		if (tool_option_is(names[k], w, n)) {
			name = names[k];
			value = w[n] ? w + n + 1 : NULL;
		}
	}
	if (!name)
		return usage("there is no option", w);
	if (!value && *i + 1 >= argc)
		return usage("a value is missing after", w);
	if (!value)
		value = argv[++*i];
	if (!strcmp(name, "--gpu"))
		return tool_set_gpu(s, value);
	if (!strcmp(name, "--serve"))
		o->serve = value;
	else if (strstr(name, "cd"))
		o->cd = value;
	else if (!strcmp(name, "-p") || !strcmp(name, "--pid"))
		o->attach = value;
	else
		add_step(o, !strcmp(name, "-x") || !strcmp(name, "--command"), value);
	return NULL;
}

static bool looks_like_trace(const char *name)
{
	size_t n = strlen(name);

	return trace_is(name) || ranks_is(name) || (n > 4 && !strcmp(name + n - 4, ".sbt"));
}

/* Words behind a trace are options, too: a trace takes no arguments. */
static struct err *take_options_behind(
	struct session *s, struct options *o, int argc, char **argv, int i)
{
	for (; i < argc; i++) {
		if (*argv[i] != '-')
			return usage("a trace takes no arguments:", argv[i]);
		if (!take_flag(s, o, argv[i]))
			TRY(take_valued(s, o, argv, argc, &i));
	}
	return NULL;
}

static struct err *take_options(struct session *s, struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			o->rest = argv + i + 1;
			break;
		}
		if (*argv[i] != '-' || !argv[i][1]) {
			o->rest = argv + i;
			if (!o->rest_args && looks_like_trace(argv[i]))
				return take_options_behind(s, o, argc, argv, i + 1);
			break;
		}
		if (!take_flag(s, o, argv[i]))
			TRY(take_valued(s, o, argv, argc, &i));
	}
	if (o->rest && !*o->rest)
		o->rest = NULL;
	return NULL;
}

/* --- the session --- */

/* The program to debug. A word that is nearly a tool's name, and no program, is answered with that.
 */
static struct err *tool_or_program(struct session *s, const struct options *o)
{
	const char *word = o->rest[0], *nearest = NULL;
	struct err *e = live_file(&s->engine, word, o->rest + 1);
	unsigned best = 3;

	if (!e || o->rest_args || strchr(word, '/'))
		return e;
	for (const struct tool *t = tools; t->name; t++) {
		const unsigned d = lookup_distance(word, t->name);

		if (d < best && d < strlen(t->name) / 2 + 1) {
			best = d;
			nearest = t->name;
		}
	}
	if (!nearest)
		return e;
	err_free(e);
	return err_cure(err_new(ERR_USAGE, "there is no tool or program %s", word),
		"Did you mean `tsdb %s`?", nearest);
}

static struct err *open_subject(struct session *s, const struct options *o)
{
	struct buf b = BUF_INIT;

	if (!o->rest)
		return NULL;
	if (o->attach)
		return usage("the process that -p names has its program already:", o->rest[0]);
	if (o->rest_args || !looks_like_trace(o->rest[0]))
		return tool_or_program(s, o);
	if (ranks_is(o->rest[0]))
		return ranks_begin(s, o->rest[0]);
	TRY(trace_open(s, o->rest[0]));
	if (!s->quiet) {
		trace_summary(&b, o->rest[0], s->engine.trace.reader);
		out_str(s->out, buf_cstr(&b));
		buf_free(&b);
	}
	return NULL;
}

static void start_editor(struct session *s)
{
	char *path;
	struct err *e;

	s->interactive = !s->batch && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!s->interactive)
		return;
	tui_screen_modes();
	s->editor = editor_new((unsigned)s->set.number[SHELL_HISTORY_SIZE], session_complete, s);
	if (s->editor)
		editor_set_screen(s->editor, &tui_editor_screen);
	path = s->editor && settings_on(&s->set, SHELL_HISTORY_SAVE)
		       ? session_state_path("history", false)
		       : NULL;
	e = path ? editor_history_load(s->editor, path) : NULL;
	if (e)
		out_error(s->out, e);
	free(path);
}

static void read_init(struct session *s, const struct options *o)
{
	char *path = o->no_init ? NULL : session_config_path("init");
	struct err *e;

	if (path && !access(path, R_OK)) {
		e = session_source(s, path);
		if (e) {
			out_error(s->out, e);
			s->failures++;
		}
	}
	free(path);
}

static void run_steps(struct session *s, const struct options *o)
{
	for (unsigned i = 0; i < o->nsteps && !s->quitting; i++) {
		struct err *e;

		if (!o->steps[i].file) {
			session_lines(s, o->steps[i].text);
			continue;
		}
		e = session_source(s, o->steps[i].text);
		if (e) {
			out_error(s->out, e);
			s->failures++;
		}
	}
}

/* A session for a program: without the user's settings, and without a terminal. */
static int serve_session(struct session *s, const struct options *o)
{
	struct err *e = NULL;
	uint64_t fd;

	if (!word_u64(o->serve, &fd) || fd <= STDERR_FILENO || fd > INT_MAX ||
		fcntl((int)fd, F_SETFD, FD_CLOEXEC)) {
		out_error(s->out, usage("no socket is", o->serve));
		return 1;
	}
	s->quiet = true;
	out_set_color(s->out, false);
	if (o->cd && chdir(o->cd))
		e = err_sys(errno, "cannot change to %s", o->cd);
	if (!e)
		e = open_subject(s, o);
	if (!e && o->attach)
		e = process_attach(s, o->attach, false);
	return serve(s, (int)fd, e);
}

static int run_session(struct session *s, const struct options *o)
{
	struct err *e = NULL;

	if (o->cd && chdir(o->cd))
		e = err_sys(errno, "cannot change to %s", o->cd);
	if (!e)
		e = open_subject(s, o);
	if (e) {
		out_error(s->out, e);
		return 1;
	}
	start_editor(s);
	if (s->interactive && !s->quiet)
		out_printf(s->out, "tsdb %s. Type \"help\" for help.\n", PACKAGE_VERSION);
	read_init(s, o);
	if (o->attach)
		e = process_attach(s, o->attach, false);
	if (e) {
		out_error(s->out, e);
		return 1;
	}
	e = o->tui ? tui_enable(s) : NULL;
	if (e) {
		out_error(s->out, e);
		return 1;
	}
	run_steps(s, o);
	if (!s->batch && !s->quitting)
		session_loop(s);
	if (s->quit_status)
		return s->quit_status;
	return (s->batch || !s->interactive) && s->failures ? 1 : 0;
}

/* The tool that the command line names; options such as --gpu may come before its name. */
static const struct tool *asked_tool(const struct options *o)
{
	return o->rest && !o->rest_args ? tool_find(o->rest[0]) : NULL;
}

/* Runs the tool with the n words behind its name, and --json if it came before; first what -ex and
 * -x say, settings for example. */
static int run_tool(struct session *s, const struct tool *t, const struct options *o, int n)
{
	char **words = xcalloc((size_t)n + 2, sizeof *words), json[] = "--json";
	int status;

	memcpy(words, o->rest + 1, (size_t)n * sizeof *words);
	if (o->json)
		words[n++] = json;
	if (t->settings)
		read_init(s, o);
	run_steps(s, o);
	status = s->failures ? 1 : s->quitting ? s->quit_status : t->run(s, n, words);
	free(words);
	return status;
}

static void print_tool_usage(struct session *s, const struct tool *t)
{
	struct buf b = BUF_INIT;

	tool_usage(t, &b);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

static void print_usage(struct session *s)
{
	out_str(s->out, usage_head);
	for (const struct tool *t = tools; t->name; t++)
		out_printf(s->out, "    %-9s %s\n", t->name, t->doc);
	out_str(s->out, usage_options);
}

static int run(struct session *s, int argc, char **argv, struct options *o)
{
	const struct tool *tool;
	struct err *e = take_options(s, o, argc, argv);
	int n = 0;

	if (e) {
		out_error(s->out, e);
		return 1;
	}
	if (o->help || o->version) {
		if (o->help)
			print_usage(s);
		else
			out_printf(s->out, "tsdb %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (o->serve)
		return serve_session(s, o);
	tool = asked_tool(o);
	if (!tool && o->rest && !o->rest_args && !strcmp(o->rest[0], "help") && !o->rest[1]) {
		print_usage(s);
		return 0;
	}
	if (o->json && !(tool && strstr(tool->usage, "--json"))) {
		out_error(s->out, usage("no --json is taken by", tool ? tool->name : "a session"));
		return 1;
	}
	if (!tool)
		return run_session(s, o);
	if (tool->executes)
		tool_take_no_sandbox(s, o->rest);
	while (o->rest[n])
		n++;
	if (n == 2 && (!strcmp(o->rest[1], "--help") || !strcmp(o->rest[1], "-h"))) {
		print_tool_usage(s, tool);
		out_str(s->out, "More: man tsdb.\n");
		return 0;
	}
	return run_tool(s, tool, o, n - 1);
}

/* Lost output is a failure, whatever the result. If the reader has gone, no sentence is printed,
 * and the status is that of programs that die of SIGPIPE. */
static int output_status(struct session *s, int status)
{
	out_page_end(s->out);
	if (!out_failed(s->out))
		return status;
	if (out_failed(s->out) == EPIPE)
		return 128 + SIGPIPE;
	out_error(s->out, err_cure(err_sys(out_failed(s->out), "cannot write to standard output"),
				  "What was printed is not whole"));
	return 1;
}

int main(int argc, char **argv)
{
	struct session *s = xcalloc(1, sizeof *s);
	struct options o = {0};
	int status;

	setlocale(LC_CTYPE, ""); /* for the line editor */
	interrupt_install();
	session_init(s);
	status = output_status(s, run(s, argc, argv, &o));
	session_deinit(s);
	free(o.steps);
	free(s);
	return status;
}
