/* SPDX-License-Identifier: Apache-2.0
 *
 * The session: life, command lines from their sources, one command after the other. See session.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/attach.h"
#include "engine/microscope.h"
#include "engine/names.h"
#include "engine/ranks.h"
#include "engine/breakpoints.h"
#include "shell/line/editor.h"
#include "shell/line/gdb-words.h"
#include "shell/line/input.h"
#include "shell/line/interrupt.h"
#include "shell/live/process.h"
#include "shell/commands/by-number.h"
#include "shell/print/kernel-text.h"
#include "shell/analyse/races.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "shell/line/session.h"
#include "shell/python/py-helper.h"
#include "shell/script/defined.h"
#include "shell/script/displays.h"
#include "shell/script/script.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"
#include "shell/source/source-view.h"
#include "shell/tui/tui.h"
#include "symbols/sources.h"
#include "symbols/symbols.h"
#include "base/words.h"

enum { SCRIPT_DEPTH_MAX = 64 };

/* --- life --- */

void session_init(struct session *s)
{
	memset(s, 0, sizeof *s);
	s->out = out_new();
	engine_init(&s->engine);
	settings_init(&s->set, &shell_settings);
	trace_hooks(s);
	process_hooks(s);
	s->vars = vars_new();
	s->defined = defined_new();
	out_on_screen(s->out, &tui_out_screen, s);
	BUG_ON(session_setting_changed(s, &s->set, SHELL_COLOR));
}

static void save_history(struct session *s)
{
	char *path = settings_on(&s->set, SHELL_HISTORY_SAVE) ? session_state_path("history", true)
							      : NULL;

	if (path) {
		struct err *e = editor_history_save(s->editor, path);

		if (e)
			out_error(s->out, e);
	}
	free(path);
}

void session_deinit(struct session *s)
{
	tui_end(s);
	if (s->editor)
		save_history(s);
	engine_deinit(&s->engine);
	settings_deinit(&s->set);
	editor_free(s->editor);
	symbols_free(s->symbols); /* types of its files are the variables' */
	vars_free(s->vars);
	defined_free(s->defined);
	displays_free(s->displays);
	checkpoints_free(s->checkpoints);
	sources_free(s->sources);
	source_view_free(s->source);
	races_deinit(s);
	python_free(s->python);
	free(s->last_line);
	out_free(s->out);
}

struct symbols *session_symbols(struct session *s)
{
	if (!s->symbols)
		s->symbols = symbols_new();
	return s->symbols;
}

/* The texts that the open trace has; a damaged one is named with the trace's damage. */
static void keep_sources(struct session *s)
{
	struct trace *t = &s->engine.trace;

	sources_forget_kept(s->sources);
	for (unsigned i = 0; i < sbt_reader_sources(t->reader); i++) {
		struct buf text = BUF_INIT;
		char *file;
		struct err *e = sbt_reader_source(t->reader, i, &file, &text);

		if (!e)
			sources_keep(s->sources, file, buf_cstr(&text), text.len);
		err_free(e);
		free(file);
		buf_free(&text);
	}
	t->sources_kept = true;
}

struct sources *session_sources(struct session *s)
{
	if (!s->sources)
		s->sources = sources_new();
	if (s->engine.trace.reader && !s->engine.trace.sources_kept)
		keep_sources(s);
	sources_use_kept(s->sources, s->focus == FOCUS_REPLAY && s->engine.trace.reader);
	return s->sources;
}

/* --- files --- */

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

static char *xdg_path(const char *variable, const char *fallback, const char *name)
{
	const char *dir = getenv(variable), *home = getenv("HOME");

	if (dir && *dir == '/')
		return xasprintf("%s/tsdb/%s", dir, name);
	if (!home || !*home)
		return NULL;
	return xasprintf("%s/%s/tsdb/%s", home, fallback, name);
}

char *session_config_path(const char *name)
{
	return xdg_path("XDG_CONFIG_HOME", ".config", name);
}

char *session_state_path(const char *name, bool make)
{
	char *path = xdg_path("XDG_STATE_HOME", ".local/state", name);

	if (path && make)
		make_folders(path);
	return path;
}

/* --- sources of lines --- */

void input_push(struct session *s, struct input *in)
{
	in->outer = s->input;
	s->input = in;
}

void input_pop(struct session *s, struct input *in)
{
	BUG_ON(s->input != in);
	s->input = in->outer;
}

/* Returns NULL at the end of input, or after Ctrl-C (*ret_interrupted). */
static char *read_terminal(struct session *s, const char *prompt, bool *ret_interrupted)
{
	char *line;

	out_flush(s->out);
	tui_refresh(s);
	line = editor_read(s->editor, prompt, ret_interrupted);
	if (!*ret_interrupted)
		return line;
	free(line);
	free(s->last_line);
	s->last_line = NULL;
	return NULL;
}

static char *read_stream(FILE *f)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	do {
		clearerr(f);
		errno = 0;
		n = getline(&line, &cap, f);
	} while (n < 0 && errno == EINTR && !interrupt_flag);
	if (n < 0) {
		free(line);
		return NULL;
	}
	if (n && line[n - 1] == '\n')
		line[n - 1] = 0;
	return line;
}

static char *read_lines(struct input *in)
{
	size_t n;
	char *line;

	if (!in->text)
		return NULL;
	n = strcspn(in->text, "\n");
	line = strndup(in->text, n);
	BUG_ON(!line);
	in->text = in->text[n] ? in->text + n + 1 : NULL;
	return line;
}

/* One line of the innermost source, as it is there. */
static char *read_one(struct session *s, const char *prompt)
{
	struct input *in = s->input;
	bool interrupted;

	in->line++;
	switch (in->kind) {
	case INPUT_TERMINAL:
		return read_terminal(s, prompt, &interrupted);
	case INPUT_STREAM:
	case INPUT_SCRIPT:
		out_flush(s->out);
		return read_stream(in->f);
	case INPUT_LINES:
		return read_lines(in);
	}
	return NULL;
}

/* A backslash at the end of a line joins the next to it. */
static char *join_lines(struct session *s, char *line)
{
	size_t n = line ? strlen(line) : 0;

	while (n && line[n - 1] == '\\' && s->input->kind != INPUT_LINES) {
		char *next = read_one(s, ""), *both;

		line[n - 1] = 0;
		both = xasprintf("%s%s", line, next ? next : "");
		free(line);
		line = both;
		n = next ? strlen(line) : 0;
		free(next);
	}
	return line;
}

char *session_read(struct session *s, const char *prompt)
{
	return s->input ? join_lines(s, read_one(s, prompt)) : NULL;
}

/* --- one command --- */

static struct err *check_needs(struct session *s, const struct command *c)
{
	unsigned f = c->flags;
	struct live *t = &s->engine.live;

	if ((f & CMD_NEEDS_REPLAY) && !s->engine.trace.replay && s->engine.trace.reader)
		TRY(engine_replay(&s->engine, NULL));
	if ((f & CMD_NEEDS_REPLAY) && !s->engine.trace.replay)
		return err_cure(err_new(ERR_STATE, "no replay is on"),
			"Use \"replay start\" for what was captured last, or \"replay start FILE\"");
	if ((f & CMD_NEEDS_TRACE) && !s->engine.trace.reader)
		return err_cure(err_new(ERR_STATE, "no trace is open"),
			"Use \"replay start FILE\", or start tsdb with the file");
	if ((f & (CMD_NEEDS_PROCESS | CMD_NEEDS_STOP)) && !t->inf)
		return err_cure(err_new(ERR_STATE, "the program is not being run"), "Use \"run\"");
	return NULL;
}

/* Removes /FMT from the front of the rest of the line. */
static struct err *take_options(
	const struct command *c, const char **rest, struct cmd_args *a, char *fmt, size_t n)
{
	bool joined = !strchr(" \t", (*rest)[-1]); /* "info/x" has a format, "cd /tmp" has none */

	if (**rest == '/' && (joined || (c->flags & CMD_FORMAT))) {
		size_t len = strcspn(*rest, " \t");

		if (!(c->flags & CMD_FORMAT))
			return err_cure(err_new(ERR_USAGE, "%s takes no /FORMAT", c->name),
				"See \"help %s\"", c->name);
		if (len > n)
			return err_new(ERR_USAGE, "the format %.*s... is too long", (int)n, *rest);
		memcpy(fmt, *rest + 1, len - 1);
		fmt[len - 1] = 0;
		*rest += len;
		*rest += strspn(*rest, " \t");
	}
	return NULL;
}

/* Whether the word --json is at p, the beginning of a word. */
static bool json_at(const char *p)
{
	return !strncmp(p, "--json", 6) && strchr(" \t", p[6]);
}

/* Removes the word --json from line, wherever it is outside quotation marks; returns whether it was
 * there. */
static bool take_json(char *line)
{
	char *to = line, quote = 0;
	bool found = false;

	for (const char *p = line; *p;) {
		const bool begins = p == line || strchr(" \t", p[-1]);

		if (!quote && begins && json_at(p)) {
			found = true;
			p += 6;
			p += strspn(p, " \t");
			continue;
		}
		if (quote)
			quote = *p == quote ? 0 : quote;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		if (*p == '\\' && p[1])
			*to++ = *p++;
		*to++ = *p++;
	}
	while (found && to > line && strchr(" \t", to[-1]))
		to--;
	*to = 0;
	return found;
}

/* Finds the command of a line. If the line has the word --json and the command takes it, *line has
 * it no more. */
static struct err *find_command(const struct session *s, char *line, const struct command **ret,
	struct cmd_args *a, const char **ret_rest)
{
	char *bare = xstrdup(line);
	const char *rest;

	a->json = take_json(bare);
	if (a->json) {
		struct err *e = defined_lookup(s, bare, ret, &rest);

		a->json = !e && (*ret)->flags & CMD_JSON;
		err_free(e);
	}
	if (a->json)
		strcpy(line, bare);
	free(bare);
	return defined_lookup(s, line, ret, ret_rest);
}

static struct err *refuse_json(const struct command *c, const struct cmd_args *a)
{
	for (unsigned i = 0; !(c->flags & CMD_JSON) && i < a->argc; i++) {
		if (!strcmp(a->argv[i], "--json"))
			return err_cure(err_new(ERR_USAGE, "%s takes no --json", c->name),
				"See \"help %s\"", c->name);
	}
	return NULL;
}

/* Refuses words for commands that take none: `kill 4711` does not mean the program that is being
 * debugged. */
static struct err *check_words(const struct command *c, const struct cmd_args *a)
{
	if (a->argc && (!*c->usage || !strcmp(c->usage, "[--json]")))
		return err_cure(err_new(ERR_USAGE, "%s takes no \"%s\"", c->name, a->argv[0]),
			"See \"help %s\"", c->name);
	return NULL;
}

/* Runs a command; if it only looks elsewhere, the launch under the microscope is then where it was.
 */
static struct err *run_and_return(struct session *s, const struct command *c, struct cmd_args *a)
{
	struct microscope_place place;
	const bool inside = (c->flags & CMD_RETURNS) && s->focus == FOCUS_REPLAY &&
			    microscope_keep(&s->engine, &place);
	struct err *e = c->run(s, a), *back;
	bool same = true;

	if (!inside || !s->engine.trace.replay || kernel_stop(s))
		return e;
	engine_go_on(&s->engine);
	back = microscope_return(&s->engine, &place, &same);
	if (!back && !same)
		out_str(s->out, "The launch under the microscope is at its beginning again.\n");
	if (e) {
		err_free(back);
		return e;
	}
	return back ? err_wrap(back, "the launch under the microscope was left") : NULL;
}

static struct err *run_command(struct session *s, const struct command *c, struct cmd_args *a)
{
	unsigned lines = (unsigned)s->set.number[SHELL_HEIGHT], columns;
	struct err *e;

	if ((c->flags & CMD_PAGED) && s->interactive && settings_on(&s->set, SHELL_PAGINATION)) {
		if (!lines)
			out_screen(&lines, &columns);
		if (tui_is_on(s))
			lines = tui_prompt_lines(s);
		out_page_begin(s->out, lines);
	}
	e = run_and_return(s, c, a);
	if (out_page_end(s->out))
		tui_resume(s, false);
	return e;
}

/* A line that begins with no command may begin with a word of gdb's, or a tool's name. */
static struct err *unknown(struct session *s, struct err *e, const char *line)
{
	char *name = xasprintf("%.*s", (int)strcspn(line, " \t"), line);
	const char *rest;
	const struct command *c;
	struct err *known = defined_lookup(s, name, &c, &rest), *gdb = gdb_word_error(line);

	if (gdb) {
		err_free(e);
		e = gdb;
	} else if (known && tool_find(name)) {
		err_free(e);
		e = err_cure(err_new(ERR_USAGE, "unknown command: %s", name),
			"It is used from the system's shell: `shell tsdb %s ...`, see \"help %s\"",
			name, name);
	}
	err_free(known);
	free(name);
	return e;
}

/* Runs a command with the hooks that the user has given it. */
static struct err *run_hooked(struct session *s, const struct command *c, struct cmd_args *a)
{
	struct err *e;

	TRY(defined_hook(s, "hook-", c->name));
	e = run_command(s, c, a);
	displays_after(s);
	TRY(e);
	return defined_hook(s, "hookpost-", c->name);
}

/* c is a copy of its row: the command may change the table. */
static struct err *execute_row(struct session *s, const struct command c, struct cmd_args *a)
{
	char **words = NULL;
	char fmt[32] = "";
	struct err *e;

	a->cmd = &c;
	a->fmt = fmt;
	TRY(take_options(&c, &a->rest, a, fmt, sizeof fmt));
	if (!(c.flags & CMD_RAW))
		TRY(words_split(a->rest, &words, &a->argc));
	a->argv = words;
	e = refuse_json(&c, a);
	if (!e)
		e = check_words(&c, a);
	if (!e)
		e = check_needs(s, &c);
	if (!e)
		e = run_hooked(s, &c, a);
	words_free(words);
	return e;
}

static struct err *execute_trimmed(struct session *s, char *line)
{
	struct cmd_args a = {0};
	const struct command *c;
	const char *rest;
	char *whole;
	struct err *e = find_command(s, line, &c, &a, &rest);

	if (e)
		return unknown(s, e, line);
	a.rest = rest;
	if (!c->stands_for)
		return execute_row(s, *c, &a);
	/* "px/x 1" and "px 1": a format stays joined to the name */
	whole = xasprintf(
		"%s%s%s", c->stands_for, *rest == '/' && !strchr(" \t", rest[-1]) ? "" : " ", rest);
	e = execute_trimmed(s, whole);
	free(whole);
	return e;
}

struct err *session_execute(struct session *s, const char *line)
{
	size_t n;
	char *copy;
	struct err *e;

	line += strspn(line, " \t\r");
	n = strlen(line);
	while (n && strchr(" \t\r\n", line[n - 1]))
		n--;
	if (!n || *line == '#')
		return NULL;
	copy = strndup(line, n);
	BUG_ON(!copy);
	e = execute_trimmed(s, copy);
	free(copy);
	return e;
}

/* Prints an error and counts it. */
static void tell_failed(struct session *s, struct err *e)
{
	out_error(s->out, e);
	s->failures++;
	s->script.placed = false;
}

static bool execute_and_tell(struct session *s, const char *line)
{
	struct err *e = session_execute(s, line);
	bool ok = !e;

	if (e && s->input && s->input->kind == INPUT_SCRIPT)
		e = script_place(s, s->input, e);
	if (e)
		tell_failed(s, e);
	out_flush(s->out);
	return ok;
}

bool session_command(struct session *s, const char *line)
{
	bool ok;
	char *body;

	s->script.interrupted = false;
	ok = execute_and_tell(s, line);
	/* Not recursive: `continue` at the end of a breakpoint's commands may repeat a million
	 * times. */
	while (!s->quitting && (body = breakpoints_take_pending(s->engine.breaks)) != NULL) {
		struct err *e = interrupt_flag ? NULL : script_run_stop(s, body);

		ok = ok && !e;
		if (e)
			tell_failed(s, e);
		out_flush(s->out);
		free(body);
	}
	return ok;
}

/* The line that an empty line repeats; otherwise remembers line for the next empty one. */
static const char *repeat_or_remember(struct session *s, const char *line)
{
	const struct command *c;
	const char *rest, *text = line + strspn(line, " \t");
	struct err *e;

	s->repeating = !*text;
	if (!*text)
		return s->last_line ? s->last_line : "";
	e = defined_lookup(s, text, &c, &rest);
	free(s->last_line);
	s->last_line = !e && (c->flags & CMD_REPEATS) ? xstrdup(text) : NULL;
	err_free(e);
	return line;
}

/* --- sources, whole --- */

/* Runs the lines of `in` to its end; with stop_at_error it ends at the first failed one. */
static bool run_input(struct session *s, struct input *in, bool stop_at_error)
{
	bool ok = true;
	char *line;

	input_push(s, in);
	while (!s->quitting && !out_closed(s->out) && (line = session_read(s, "")) != NULL) {
		if (s->script.verbose && in->kind == INPUT_SCRIPT)
			out_printf(s->out, "+%s\n", line);
		in->command = in->line;
		ok = session_command(s, line) && ok;
		free(line);
		if (!ok && stop_at_error)
			break;
		if (interrupt_take())
			break;
	}
	input_pop(s, in);
	return ok;
}

struct err *session_source(struct session *s, const char *path)
{
	struct input in = {.kind = INPUT_SCRIPT, .name = path};
	unsigned depth = 0;
	struct stat st;
	bool ok;

	for (struct input *i = s->input; i; i = i->outer)
		depth += i->kind == INPUT_SCRIPT;
	if (depth >= SCRIPT_DEPTH_MAX)
		return err_cure(err_new(ERR_LIMIT, "scripts are nested more than %d deep",
					SCRIPT_DEPTH_MAX),
			"Does %s source itself?", path);
	in.f = fopen(path, "re");
	if (!in.f || fstat(fileno(in.f), &st))
		return err_cure(
			err_sys(errno, "cannot read the script %s", path), "Check its name");
	if (S_ISDIR(st.st_mode)) {
		fclose(in.f);
		return err_new(ERR_USAGE, "%s is a folder, not a script", path);
	}
	ok = run_input(s, &in, true);
	fclose(in.f);
	if (ok)
		return NULL;
	s->failures--; /* the caller counts it again */
	return err_new(ERR_USAGE, "the script %s ended at line %u", path, in.command);
}

void session_lines(struct session *s, const char *text)
{
	struct input in = {.kind = INPUT_LINES, .text = text};

	run_input(s, &in, false);
}

static void loop_terminal(struct session *s)
{
	struct input in = {.kind = INPUT_TERMINAL};

	input_push(s, &in);
	while (!s->quitting) {
		char *prompt = xasprintf("%s%s", trace_mark(s), s->set.string[SHELL_PROMPT]), *line,
		     *run;
		bool interrupted;

		line = read_terminal(s, prompt, &interrupted);
		free(prompt);

		if (interrupted)
			continue;
		if (!line) { /* Ctrl-D */
			out_str(s->out, "quit\n");
			line = xstrdup("quit");
		}
		line = join_lines(s, line);
		if (line[strspn(line, " \t")])
			editor_remember(s->editor, line);
		run = xstrdup(repeat_or_remember(s, line));
		free(line);
		session_command(s, run);
		free(run);
		interrupt_take();
	}
	input_pop(s, &in);
}

void session_loop(struct session *s)
{
	struct input in = {.kind = INPUT_STREAM, .f = stdin};

	if (s->editor)
		loop_terminal(s);
	else
		run_input(s, &in, false);
}

bool session_can_ask(const struct session *s)
{
	return s->interactive && s->editor && settings_on(&s->set, SHELL_CONFIRM) && s->input &&
	       s->input->kind == INPUT_TERMINAL;
}

bool session_confirm(struct session *s, const char *fmt, ...)
{
	va_list ap;
	char *line, *question, first;
	bool interrupted;

	if (!session_can_ask(s))
		return true;
	va_start(ap, fmt);
	if (vasprintf(&question, fmt, ap) < 0)
		question = NULL;
	va_end(ap);
	BUG_ON(!question);
	do {
		char *prompt = xasprintf("%s (y or n) ", question);

		out_flush(s->out);
		line = editor_read(s->editor, prompt, &interrupted);
		first = line ? (char)(line[strspn(line, " \t")] | 32) : 'y';
		free(prompt);
		free(line);
		if (!interrupted && first != 'y' && first != 'n')
			out_str(s->out, "Please answer y or n.\n");
	} while (!interrupted && first != 'y' && first != 'n');
	free(question);
	return first == 'y' && !interrupted;
}

void session_sets(struct session *s, struct settings *ret[SESSION_SETS])
{
	ret[0] = &s->engine.set;
	ret[1] = &s->set;
}

static void set_color(struct session *s)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	bool automatic = isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));

	out_set_color(
		s->out, s->set.number[SHELL_COLOR] ? s->set.number[SHELL_COLOR] == 1 : automatic);
}

struct err *session_setting_changed(struct session *s, const struct settings *set, unsigned id)
{
	if (set == &s->engine.set)
		return engine_setting_changed(&s->engine, (enum setting)id);
	switch ((enum shell_setting)id) {
	case SHELL_COLOR:
		set_color(s);
		return NULL;
	case SHELL_LOGGING:
	case SHELL_LOG_FILE:
		return out_log(s->out,
			settings_on(&s->set, SHELL_LOGGING) ? s->set.string[SHELL_LOG_FILE] : NULL);
	default:
		return NULL;
	}
}
