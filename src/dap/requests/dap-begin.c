/* SPDX-License-Identifier: Apache-2.0
 *
 * Beginning and end of a session: a program, one that runs already, or a trace.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

enum { ARGUMENTS_MAX = 230 };

/* What `launch` and `attach` ask for. The texts are the request's. */
struct begin {
	const char *program, *trace, *cwd, *on, *record;
	const json_t *args, *env, *commands;
	json_int_t window;
	bool stop, any_device;
};

/* --- initialize --- */

struct err *dap_on_initialize(struct dap *d, const json_t *args, json_t *body)
{
	const char *format;
	bool lines = true, columns = true;
	json_t *capabilities;

	TRY(dap_take_line(args, "pathFormat", &format));
	if (format && strcmp(format, "path") != 0)
		return err_new(ERR_UNSUPPORTED, "paths have to be paths, not \"%.40s\"", format);
	TRY(dap_take_bool(args, "linesStartAt1", &lines));
	TRY(dap_take_bool(args, "columnsStartAt1", &columns));
	if (!lines || !columns)
		return err_new(ERR_UNSUPPORTED, "lines and columns have to begin with 1");
	TRY(dap_take_bool(args, "supportsProgressReporting", &d->shows_progress));
	TRY(dap_take_bool(args, "supportsMemoryEvent", &d->shows_memory));
	TRY(dap_take_bool(args, "supportsInvalidatedEvent", &d->shows_invalidated));
	capabilities = dap_capabilities(false);
	json_object_update(body, capabilities);
	json_decref(capabilities);
	d->phase = DAP_READY;
	return NULL;
}

/* --- arguments --- */

static struct err *take_record(const json_t *args, struct begin *b)
{
	const json_t *v = json_object_get(args, "record");

	if (json_is_true(v))
		b->record = "";
	else if (json_is_string(v))
		return dap_take_line(args, "record", &b->record);
	else if (v && !json_is_false(v) && !json_is_null(v))
		return err_new(ERR_USAGE,
			"the argument \"record\" is neither true, nor false, nor the name of a trace");
	return NULL;
}

static struct err *all_texts(const json_t *list, const char *name)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (!json_is_string(v))
			return err_new(ERR_USAGE, "the argument \"%s\" is no list of texts", name);
	}
	return NULL;
}

static struct err *take_env(const json_t *args, struct begin *b)
{
	const char *name;
	json_t *v;

	b->env = json_object_get(args, "env");
	if (!b->env || json_is_null(b->env))
		return NULL;
	if (!json_is_object(b->env))
		return err_new(ERR_USAGE, "the argument \"env\" is no object");
	json_object_foreach((json_t *)(uintptr_t)b->env, name, v)
	{
		if (!*name || strpbrk(name, "=\r\n") || (!json_is_null(v) && !json_is_string(v)) ||
			(json_is_string(v) && strpbrk(json_string_value(v), "\r\n")))
			return err_new(ERR_USAGE,
				"the argument \"env\" has something that is no variable of one line");
	}
	return NULL;
}

static struct err *check_device(const char *on)
{
	static const char *const devices[] = {"auto", "soft", "soft-amd", "real", "none"};

	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		if (!on || !strcmp(on, devices[i]))
			return NULL;
	}
	return err_cure(err_new(ERR_USAGE, "\"%.40s\" is no device", on),
		"\"on\" is auto, soft, soft-amd, real or none");
}

static struct err *take_begin(struct dap *d, const json_t *args, struct begin *b)
{
	*b = (struct begin){.window = -1};
	d->then_replay = false;
	TRY(dap_take_line(args, "program", &b->program));
	TRY(dap_take_line(args, "trace", &b->trace));
	TRY(dap_take_line(args, "cwd", &b->cwd));
	TRY(dap_take_line(args, "on", &b->on));
	TRY(check_device(b->on));
	TRY(dap_take_list(args, "args", &b->args));
	TRY(all_texts(b->args, "args"));
	TRY(dap_take_list(args, "commands", &b->commands));
	TRY(all_texts(b->commands, "commands"));
	TRY(take_env(args, b));
	TRY(take_record(args, b));
	TRY(dap_take_int(args, "window", &b->window));
	TRY(dap_take_bool(args, "anyDevice", &b->any_device));
	TRY(dap_take_bool(args, "replay", &d->then_replay));
	if (json_array_size(b->args) > ARGUMENTS_MAX)
		return err_new(ERR_LIMIT, "a program has more than %d arguments", ARGUMENTS_MAX);
	if (d->then_replay && !b->record)
		return err_cure(err_new(ERR_USAGE, "what is not recorded cannot be replayed"),
			"Add \"record\": true");
	b->stop = b->trace != NULL;
	return dap_take_bool(args, "stopOnEntry", &b->stop);
}

/* --- opening --- */

/* The session's words are the client's own: it could start any program itself. */
static struct err *open_session(struct dap *d, const char *const *words)
{
	struct ts_session_options o = TS_SESSION_DEFAULTS;

	o.tsdb = d->tsdb;
	TRY(dap_session_error(library_session_open(&d->session, words, &o)));
	library_session_progress(d->session, dap_on_work, d);
	return NULL;
}

static void begin_replaying(struct dap *d)
{
	d->replays = true;
	link_event(d->link, "capabilities",
		json_pack("{s:o}", "capabilities", dap_capabilities(true)));
}

static struct err *start_replay(struct dap *d, const struct begin *b)
{
	struct buf line = BUF_INIT;
	struct err *e;

	buf_printf(&line, "replay start --on %s", b->on ? b->on : "auto");
	if (b->window >= 0)
		buf_printf(&line, " --window %lld", (long long)b->window);
	if (b->any_device)
		buf_str(&line, " --any-device");
	e = dap_line(d, NULL, "%s", buf_cstr(&line));
	buf_free(&line);
	if (e)
		return e;
	begin_replaying(d);
	return NULL;
}

static struct err *open_trace(struct dap *d, const struct begin *b)
{
	const char *words[] = {b->trace, NULL};
	const size_t n = strlen(b->trace);
	char *path = NULL;
	struct err *e;

	if (*b->trace == '-' || n < 5 || strcmp(b->trace + n - 4, ".sbt") != 0)
		return err_cure(err_new(ERR_USAGE, "\"%.200s\" is no trace", b->trace),
			"The name of a trace ends in .sbt");
	if (b->cwd && *b->trace != '/')
		words[0] = path = xasprintf("%s/%s", b->cwd, b->trace);
	d->mode = DAP_REPLAY;
	e = open_session(d, words);
	d->trace = path ? path : xstrdup(b->trace);
	return e ? e : start_replay(d, b);
}

/* Where a whole run is recorded. */
static char *record_path(const struct begin *b)
{
	const char *slash = strrchr(b->program, '/');

	if (*b->record)
		return xstrdup(b->record);
	return xasprintf("%s.sbt", slash ? slash + 1 : b->program);
}

static struct err *set_env(struct dap *d, const struct begin *b)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)b->env, name, v)
	{
		if (json_is_null(v))
			TRY(dap_line(d, NULL, "unset env %s", name));
		else
			TRY(dap_line(d, NULL, "set env %s=%s", name, json_string_value(v)));
	}
	return NULL;
}

static struct err *open_program(struct dap *d, const struct begin *b)
{
	const char *words[ARGUMENTS_MAX + 8];
	const json_t *v;
	unsigned n = 0;
	struct buf line = BUF_INIT;
	size_t i;

	if (b->on) {
		words[n++] = "--gpu";
		words[n++] = b->on;
	}
	if (b->cwd) {
		words[n++] = "--cd";
		words[n++] = b->cwd;
	}
	words[n++] = "--args";
	words[n++] = b->program;
	json_array_foreach(b->args, i, v) words[n++] = json_string_value(v);
	words[n] = NULL;
	TRY(open_session(d, words));
	TRY(set_env(d, b));
	if (b->record) {
		struct err *e;

		d->mode = DAP_RECORD;
		d->trace = record_path(b);
		buf_str(&line, "capture start ");
		dap_quote(&line, d->trace);
		e = dap_line(d, NULL, "%s", buf_cstr(&line));
		buf_free(&line);
		TRY(e);
	}
	d->terminates = true;
	d->begin = xstrdup(b->stop ? "start" : "run");
	return NULL;
}

static struct err *run_commands(struct dap *d, const json_t *commands)
{
	const json_t *v;
	size_t i;

	json_array_foreach(commands, i, v) TRY(dap_line(d, NULL, "%s", json_string_value(v)));
	return NULL;
}

static void tell_initialized(struct dap *d)
{
	link_event(d->link, "initialized", NULL);
}

static struct err *began(struct dap *d, const struct begin *b, struct err *e)
{
	if (!e)
		e = run_commands(d, b->commands);
	if (e) {
		dap_end_session(d);
		d->replays = d->then_replay = d->terminates = false;
		free(d->begin);
		free(d->trace);
		d->begin = d->trace = NULL;
		return e;
	}
	d->stopped_now = false;
	d->phase = DAP_SET_UP;
	d->then = tell_initialized;
	return NULL;
}

struct err *dap_on_launch(struct dap *d, const json_t *args, json_t *body)
{
	struct begin b;

	(void)body;
	TRY(take_begin(d, args, &b));
	if (!b.program == !b.trace)
		return err_new(ERR_USAGE, "%s",
			b.program ? "\"program\" and \"trace\" exclude each other"
				  : "\"launch\" needs \"program\", or \"trace\"");
	if (b.trace) {
		struct err *e;

		if (b.record)
			return err_new(ERR_USAGE, "a trace is recorded already");
		e = open_trace(d, &b);
		if (!e && !b.stop)
			d->begin = xstrdup("continue");
		return began(d, &b, e);
	}
	return began(d, &b, open_program(d, &b));
}

struct err *dap_on_attach(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *pid = json_object_get(args, "pid");
	const char *words[] = {"-p", NULL, NULL}, *name;
	char number[32];
	struct begin b;

	(void)body;
	TRY(take_begin(d, args, &b));
	TRY(dap_take_line(args, "name", &name));
	if (json_is_integer(pid) && json_integer_value(pid) > 0)
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(pid));
	else if (json_is_string(pid) && isdigit((unsigned char)*json_string_value(pid)))
		snprintf(number, sizeof number, "%.20s", json_string_value(pid));
	else if (pid || !name || *name == '-' || !*name)
		return err_new(ERR_USAGE, "\"attach\" needs \"pid\", a number, or \"name\"");
	words[1] = pid ? number : name;
	if (b.program || b.trace || b.record)
		return err_new(ERR_USAGE, "\"attach\" takes neither a program nor a trace");
	d->mode = DAP_ATTACH;
	if (!b.stop)
		d->begin = xstrdup("continue");
	return began(d, &b, open_session(d, words));
}

/* --- going --- */

static void tell_entry(struct dap *d)
{
	d->phase = DAP_STOPPED;
	dap_tell_stop(d, "entry", 0, NULL);
}

struct err *dap_on_configuration_done(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->begin)
		dap_move_later(d, d->begin, "continue", "entry");
	else
		d->then = tell_entry;
	d->begin = NULL;
	return NULL;
}

struct err *dap_on_restart(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->mode == DAP_ATTACH)
		return err_new(ERR_UNSUPPORTED, "a process that was attached to is not restarted");
	if (d->replays)
		dap_move_later(d, xstrdup("replay restart"), NULL, "entry");
	else
		dap_move_later(d, xstrdup("run"), "continue", "entry");
	return NULL;
}

static struct err *replay_from_end(struct dap *d)
{
	struct buf line = BUF_INIT;
	struct err *e;

	buf_str(&line, "replay start ");
	dap_quote(&line, d->trace);
	e = dap_line(d, NULL, "%s", buf_cstr(&line));
	buf_free(&line);
	TRY(e);
	begin_replaying(d);
	return dap_line(d, NULL, "replay goto end");
}

void dap_replay_recorded(struct dap *d)
{
	struct err *e = replay_from_end(d);

	d->then_replay = false;
	if (e) {
		link_output(d->link, "important", e->what, strlen(e->what));
		err_free(e);
		return;
	}
	d->phase = DAP_STOPPED;
	dap_tell_stop(d, "entry", 0, "The end of the recorded run, which is replayed from now on");
}

/* --- leaving --- */

/* What becomes of the program; errors are not the client's any more. */
static void leave_program(struct dap *d, bool terminate)
{
	if (d->session && !d->replays)
		err_free(dap_line(d, NULL, terminate ? "kill" : "detach"));
	dap_end_session(d);
}

struct err *dap_on_disconnect(struct dap *d, const json_t *args, json_t *body)
{
	bool terminate = d->terminates;

	(void)body;
	atomic_store(&d->ends, false);
	d->leaves = true;
	TRY(dap_take_bool(args, "terminateDebuggee", &terminate));
	leave_program(d, terminate);
	return NULL;
}

static void tell_terminated(struct dap *d)
{
	link_flush_program(d->link);
	link_event(d->link, "terminated", NULL);
}

struct err *dap_on_terminate(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	(void)body;
	atomic_store(&d->ends, false);
	leave_program(d, true);
	d->phase = DAP_ENDED;
	d->then = tell_terminated;
	return NULL;
}

/* The listener has answered it, see core/dap-main.c; this is here for the table. */
struct err *dap_on_cancel(struct dap *d, const json_t *args, json_t *body)
{
	(void)d;
	(void)args;
	(void)body;
	return NULL;
}
