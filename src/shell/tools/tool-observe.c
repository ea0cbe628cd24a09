/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb observe`: the live table of a process that runs, without stopping it. On a terminal it is
 * redrawn; otherwise a line comes every interval, or a JSON object with --json. Surprise: with a
 * program to start everything goes to standard error, because standard output is the program's.
 */
#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attach/attach.h"
#include "symbols/elf-facts.h"
#include "observe/observe.h"
#include "shell/live/gpu.h"
#include "shell/line/interrupt.h"
#include "engine/recorder.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "base/words.h"
#include "base/text.h"

enum { TURN_MS = 20 };
#define SECOND_NS 1000000000u

struct tool_observe {
	struct session *s;
	struct observe_options o;
	struct observe *observe;
	struct observe_look look;
	uint64_t interval_ns, limit_ns; /* limit 0: none */
	bool json, quiet, interval_given, screen, list, script;
	const char *library; /* for the script; NULL: none named */
	char *soft;	     /* folder */
};

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word),
		"Usage: tsdb observe [-o FILE] [--json] [--interval TIME] [--for TIME] [--top N] [--runtime] [--no-stacks] "
		"[--ring SIZE] [--quiet] PID | --all | [--] PROGRAM ARGS, or tsdb observe --list, or tsdb observe --bpftrace[=LIBRARY]");
}

/* --- options --- */

static bool take_flag(struct tool_observe *t, const char *w)
{
	if (!strcmp(w, "--json"))
		t->json = true;
	else if (!strcmp(w, "--all"))
		t->o.all = true;
	else if (!strcmp(w, "--runtime"))
		t->o.runtime = true;
	else if (!strcmp(w, "--no-stacks"))
		t->o.no_stacks = true;
	else if (!strcmp(w, "--list"))
		t->list = true;
	else if (!strcmp(w, "--quiet") || !strcmp(w, "-q"))
		t->quiet = true;
	else
		return false;
	return true;
}

static struct err *take_ring(struct tool_observe *t, const char *value)
{
	uint64_t n, size = 65536;

	if (!word_size(value, &n) || n < size || n > 1u << 30)
		return usage("\"%s\" is no size of a ring: 64K to 1G", value);
	while (size < n)
		size *= 2;
	t->o.ring_bytes = (uint32_t)size;
	return NULL;
}

static struct err *take_value(struct tool_observe *t, const char *name, const char *value)
{
	uint64_t n;

	if (!strcmp(name, "-o")) {
		t->o.output = value;
		return NULL;
	}
	if (!strcmp(name, "--gpu"))
		return tool_set_gpu(t->s, value);
	if (!strcmp(name, "--ring"))
		return take_ring(t, value);
	if (!strcmp(name, "--top")) {
		if (!word_u64(value, &n) || !n || n > 10000)
			return usage("\"%s\" is no number of lines", value);
		t->look.top = (unsigned)n;
		return NULL;
	}
	if (!word_duration(value, &n) || n < SECOND_NS / 100)
		return usage("\"%s\" is no time of 10 ms or more; write 2s, or 500ms", value);
	if (!strcmp(name, "--for"))
		t->limit_ns = n;
	else {
		t->interval_ns = n;
		t->interval_given = true;
	}
	return NULL;
}

static struct err *take_option(struct tool_observe *t, int argc, char **argv, int *i)
{
	static const char *const valued[] = {
		"-o", "--interval", "--for", "--top", "--ring", "--gpu", NULL};
	const char *w = argv[*i], *name, *value;

	if (take_flag(t, w))
		return NULL;
	if (!strncmp(w, "--bpftrace", 10) && (!w[10] || w[10] == '=')) {
		t->script = true;
		t->library = w[10] ? w + 11 : NULL;
		return NULL;
	}
	name = tool_option_valued(valued, argc, argv, i, &value);
	if (!name)
		return usage("observe has no option %s", w);
	if (!value)
		return usage("%s needs a value", w);
	return take_value(t, name, value);
}

static bool is_number(const char *w)
{
	return *w && strspn(w, "0123456789") == strlen(w);
}

static struct err *take_options(struct tool_observe *t, int argc, char **argv)
{
	bool program = false;
	uint64_t pid;
	int i = 0;

	for (; i < argc && *argv[i] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			program = true;
			i++;
			break;
		}
		TRY(take_option(t, argc, argv, &i));
	}
	if (i < argc && t->o.all)
		return usage("--all takes no process or program: %s", argv[i]);
	if (i >= argc)
		return t->o.all || t->list || t->script
			       ? NULL
			       : usage("observe needs the number of a process, a program, or --all%s",
					 "");
	if (program || !is_number(argv[i])) {
		t->o.argv = argv + i;
		return NULL;
	}
	if (!word_u64(argv[i], &pid) || !pid || pid > INT32_MAX)
		return usage("%s is no number of a process", argv[i]);
	t->o.pid = (pid_t)pid;
	for (i++; i < argc; i++) { /* options may follow a number */
		if (*argv[i] != '-')
			return usage(
				"one process at a time, or --all: %s is one too many", argv[i]);
		TRY(take_option(t, argc, argv, &i));
	}
	return NULL;
}

/* Chooses the driver that the program gets, like live_choose_gpu(). */
static struct err *choose_gpu(struct tool_observe *t)
{
	struct program_facts facts;
	bool soft;

	if (t->o.all) {
		t->o.softgpu = t->soft = gpu_soft_dir();
		return NULL;
	}
	if (!t->o.argv)
		return NULL;
	TRY(program_facts(t->o.argv[0], &facts));
	TRY(live_choose_gpu(&t->s->engine, t->o.argv[0], &facts, &soft));
	if (soft)
		t->o.softgpu = t->soft = gpu_soft_dir();
	return NULL;
}

/* --- showing --- */

static void put(struct tool_observe *t, struct buf *b)
{
	if (t->o.argv) {
		text_print(stderr, "%s", buf_cstr(b));
	} else {
		out_str(t->s->out, buf_cstr(b));
		out_flush(t->s->out);
	}
	buf_clear(b);
}

static void show_notes(struct tool_observe *t)
{
	struct buf b = BUF_INIT;
	char *text, *line, *rest;

	observe_notes(t->observe, &b);
	text = rest = buf_steal(&b);
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			out_warn(t->s->out, "%s", line);
	}
	free(text);
}

/* Redraws the screen from the top left corner; erases what is left of longer lines. */
static void show_screen(struct tool_observe *t)
{
	struct buf table = BUF_INIT, b = BUF_INIT;
	unsigned rows, line = 0;
	char *text, *rest;

	out_screen(&rows, &t->look.columns);
	t->look.rows = rows;
	observe_table(t->observe, &t->look, &table);
	text = rest = buf_steal(&table);
	buf_str(&b, "\033[H");
	for (char *l; (l = strsep(&rest, "\n")) && ++line < rows;)
		buf_printf(&b, "%s\033[K\n", l);
	buf_str(&b, "\033[J");
	put(t, &b);
	free(text);
	buf_free(&b);
}

static void show(struct tool_observe *t)
{
	struct buf b = BUF_INIT;

	observe_rates(t->observe);
	if (t->screen) {
		show_screen(t);
		return;
	}
	show_notes(t);
	if (t->json)
		observe_json(t->observe, &t->look, &b);
	else
		observe_lines(t->observe, &b);
	put(t, &b);
	buf_free(&b);
}

static void show_end(struct tool_observe *t)
{
	struct buf b = BUF_INIT;

	t->look.final = true;
	t->look.rows = 0;
	if (t->screen) {
		buf_str(&b, "\033[H\033[J");
		put(t, &b);
	}
	show_notes(t);
	if (t->json) {
		observe_json(t->observe, &t->look, &b);
	} else {
		observe_about(t->observe, &b);
		observe_table(t->observe, &t->look, &b);
	}
	put(t, &b);
	buf_free(&b);
}

/* --- running --- */

static void on_term(int sig)
{
	interrupt_flag = true;
}

/* Called between two turns. Returns false when the observation is over or the user ends it. */
static bool goes_on(struct tool_observe *t, uint64_t now, uint64_t start, uint64_t *ret_until)
{
	if (observe_finished(t->observe) || (t->limit_ns && now - start >= t->limit_ns) ||
		out_closed(t->s->out))
		return false;
	if (interrupt_take()) {
		/* a program that tsdb started got the Ctrl-C, too: what it still does is
		 * observed */
		*ret_until = t->o.argv && !*ret_until ? now + 2 * (uint64_t)SECOND_NS : now;
	}
	return !*ret_until || now < *ret_until;
}

static struct err *watch(struct tool_observe *t)
{
	uint64_t start = recorder_clock_ns(CLOCK_MONOTONIC), shown = start, now = start, until = 0;
	bool live = !t->quiet && (!t->o.argv || t->interval_given);

	while (goes_on(t, now, start, &until)) {
		TRY(observe_turn(t->observe, TURN_MS));
		now = recorder_clock_ns(CLOCK_MONOTONIC);
		if (!live || now - shown < t->interval_ns)
			continue;
		shown = now;
		show(t);
	}
	return observe_end(t->observe);
}

static struct err *observe(struct tool_observe *t)
{
	struct sigaction sa = {.sa_handler = on_term};

	if (t->o.output && !t->o.all && !strchr(t->o.output, '%'))
		TRY(recorder_check_path(t->o.output));
	TRY(choose_gpu(t));
	TRY(observe_open(&t->observe, &t->o));
	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	t->screen = !t->json && !t->quiet && !t->o.argv && isatty(STDOUT_FILENO);
	if (t->screen)
		out_str(t->s->out, "\033[H\033[2J");
	return watch(t);
}

/* The exit status: that of the started program, if it has ended. */
static int ended(struct tool_observe *t)
{
	int status;

	if (!t->o.argv)
		return 0;
	if (!observe_status(t->observe, &status)) {
		out_warn(t->s->out, "%s goes on, as process %d", t->o.argv[0],
			(int)observe_pid(t->observe));
		return 0;
	}
	if (WIFSIGNALED(status)) {
		out_flush(t->s->out);
		tool_die_by(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}

/* Lists the entry points that are probed if a library has them. */
static int list(struct session *s)
{
	const char *name;

	for (unsigned i = 0; (name = observe_entry_point(i)); i++)
		out_printf(s->out, "%s\n", name);
	return 0;
}

/* Prints the probes as a script for bpftrace: those of the machine's driver, or else of the
 * software GPU's. */
static struct err *script(struct tool_observe *t)
{
	struct buf b = BUF_INIT;
	struct err *e;
	char *library;

	t->soft = gpu_soft_dir();
	library = t->library ? xstrdup(t->library) : observe_usual_driver(t->soft);
	e = library ? observe_script(library, &b)
		    : err_cure(err_new(ERR_NOT_FOUND, "this machine has no driver of a GPU"),
			      "Name its library: --bpftrace=LIBRARY");
	if (!e)
		out_str(t->s->out, buf_cstr(&b));
	buf_free(&b);
	free(library);
	return e;
}

int tool_observe(struct session *s, int argc, char **argv)
{
	struct tool_observe t = {.s = s, .interval_ns = SECOND_NS};
	struct err *e = take_options(&t, argc, argv);
	int status = 1;

	if (!e && t.list)
		return list(s);
	if (!e && t.script) {
		e = script(&t);
		free(t.soft);
		if (e)
			out_error(s->out, e);
		return e != NULL;
	}
	if (!e)
		e = observe(&t);
	if (t.observe)
		show_end(&t);
	if (e)
		out_error(s->out, e);
	else
		status = ended(&t);
	observe_free(t.observe);
	free(t.soft);
	return status;
}
