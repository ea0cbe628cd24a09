/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads and their stacks. In a replay the threads are the streams, and the host threads behind
 * them; a stack is the command, the GPU's frames inside a launch, and the host stack that was
 * recorded with it. Of a live program they are its host threads.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dap/core/dap-private.h"

/* --- threads --- */

bool dap_thread_is_stream(const struct dap *d, json_int_t thread, uint64_t *ret_stream)
{
	*ret_stream = (uint64_t)thread - 1;
	return d->replays && thread > 0 && thread < DAP_HOST_THREADS;
}

static void add_thread(json_t *threads, json_int_t id, char *name)
{
	json_array_append_new(
		threads, json_pack("{s:I, s:o}", "id", id, "name", link_text(name, strlen(name))));
	free(name);
}

static json_int_t number(const json_t *of, const char *name)
{
	return json_integer_value(json_object_get(of, name));
}

static const char *text(const json_t *of, const char *name)
{
	const char *s = json_string_value(json_object_get(of, name));

	return s ? s : "";
}

static void add_streams(const json_t *streams, json_t *threads)
{
	const json_t *s;
	size_t i;

	json_array_foreach(streams, i, s)
	{
		const json_t *head = json_object_get(s, "head");
		char at[40] = "";

		if (json_is_integer(head))
			snprintf(at, sizeof at, " #%lld", (long long)json_integer_value(head));
		if (json_is_true(json_object_get(s, "destroyed")))
			continue;
		add_thread(threads, number(s, "id") + 1,
			xasprintf("stream %lld %s%s", (long long)number(s, "id"), text(s, "status"),
				at));
	}
}

static void add_host_threads(const struct dap *d, const json_t *hosts, json_t *threads)
{
	const json_t *h;
	size_t i;

	json_array_foreach(hosts, i, h)
	{
		const json_int_t id =
			d->replays ? DAP_HOST_THREADS + number(h, "thread") : number(h, "number");

		add_thread(threads, id,
			xasprintf("%s %s (%lld)", d->replays ? "host thread" : "thread",
				text(h, "name"), (long long)number(h, "tid")));
	}
}

struct err *dap_on_threads(struct dap *d, const json_t *args, json_t *body)
{
	json_t *threads = json_array(), *list;

	(void)args;
	json_object_set_new(body, "threads", threads);
	if (d->phase == DAP_ENDED)
		return NULL;
	if (d->replays) {
		TRY(dap_ask(d, &list, "info streams --json"));
		add_streams(list, threads);
		json_decref(list);
	}
	if (d->replays || d->phase != DAP_SET_UP || d->mode == DAP_ATTACH) {
		TRY(dap_ask(d, &list, "info threads --json"));
		add_host_threads(d, list, threads);
		json_decref(list);
	}
	if (!json_array_size(threads))
		add_thread(threads, d->replays ? DAP_HOST_THREADS : 1,
			xstrdup("before the beginning"));
	return NULL;
}

/* The host thread of a live program that has this number in the kernel. */
static json_int_t host_thread(struct dap *d, json_int_t tid)
{
	json_int_t found = 1;
	const json_t *h;
	json_t *list;
	size_t i;
	struct err *e = dap_ask(d, &list, "info threads --json");

	if (e) {
		err_free(e);
		return found;
	}
	json_array_foreach(list, i, h)
	{
		if (tid ? number(h, "tid") == tid : json_is_true(json_object_get(h, "selected")))
			found = number(h, "number");
	}
	json_decref(list);
	return found;
}

json_int_t dap_stop_thread(struct dap *d)
{
	const json_t *stream, *command;
	json_int_t thread;
	json_t *when;
	struct err *e;

	if (!d->replays)
		return host_thread(d, number(d->stop, "tid"));
	e = dap_ask(d, &when, "when --json");
	if (e) {
		err_free(e);
		return DAP_HOST_THREADS;
	}
	command = json_object_get(when, "command");
	stream = json_object_get(command, "stream");
	thread = json_is_integer(stream) ? json_integer_value(stream) + 1
					 : DAP_HOST_THREADS + number(command, "thread");
	json_decref(when);
	return thread;
}

/* --- sources --- */

/* Where the shell finds a file that is not where the path says: relative to the folder in which it
 * was compiled, or in one that `directory` names. A heap string; NULL: nowhere. */
static char *find_source(struct dap *d, const char *file)
{
	const char *found;
	json_t *source = NULL;
	char *path = NULL;
	struct err *e = NULL;

	if (strpbrk(file, " \t\r\n\"'"))
		return NULL;
	e = dap_line(d, NULL, "list %s:1,1", file);
	if (!e)
		e = dap_ask(d, &source, "info source --json");
	found = json_string_value(json_object_get(source, "text_file"));
	if (!e && found && json_is_false(json_object_get(source, "of_trace")))
		path = realpath(found, NULL);
	json_decref(source);
	err_free(e);
	return path;
}

/* The file's place here as JSON text, null: it has none. It is looked for once. */
static const json_t *place_of_source(struct dap *d, const char *file)
{
	json_t *known;
	char *path;

	if (!d->sources)
		d->sources = json_object();
	known = json_object_get(d->sources, file);
	if (known)
		return known;
	path = *file == '/' ? realpath(file, NULL) : NULL;
	if (!path && d->session)
		path = find_source(d, file);
	known = path ? link_text(path, strlen(path)) : json_null();
	free(path);
	json_object_set_new(d->sources, file, known);
	return known;
}

json_t *dap_source(struct dap *d, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	const char *name = slash ? slash + 1 : file;
	const json_t *path;
	json_t *s;

	if (!file || !*file)
		return NULL;
	s = json_pack("{s:o}", "name", link_text(name, strlen(name)));
	path = place_of_source(d, file);
	if (json_is_string(path)) {
		json_object_set(s, "path", (json_t *)(uintptr_t)path);
		return s;
	}
	/* It is not here: the trace may hold its text, which `source` asks for by this path. */
	json_object_set_new(s, "path", link_text(file, strlen(file)));
	json_object_set_new(s, "presentationHint", json_string("deemphasize"));
	return s;
}

/* --- frames --- */

struct err *dap_frame_of(struct dap *d, json_int_t id, const struct dap_frame **ret)
{
	const json_int_t i = id - d->frames_base;

	if (i < 0 || (uint64_t)i >= d->nframes)
		return err_cure(err_new(ERR_USAGE, "there is no frame %lld", (long long)id),
			"Frames are of one stop; ask for the stack again");
	*ret = &d->frames[i];
	return NULL;
}

static json_int_t keep_frame(struct dap *d, const struct dap_frame *f)
{
	MAKE_ROOM(d->frames, d->nframes, d->frames_cap);
	d->frames[d->nframes] = *f;
	json_incref(f->command);
	return d->frames_base + (json_int_t)d->nframes++;
}

void dap_forget(struct dap *d)
{
	for (size_t i = 0; i < d->nframes; i++)
		json_decref(d->frames[i].command);
	d->frames_base += (json_int_t)d->nframes;
	d->nframes = 0;
	dap_refs_forget(d);
}

/* A stack that is being made: frames of which the first `skip` are not wanted. */
struct stack_rows {
	struct dap *d;
	json_t *list;
	json_int_t skip, most, total;
};

static void put_frame(struct stack_rows *s, const struct dap_frame *f, json_t *row)
{
	if (s->total++ < s->skip || (json_int_t)json_array_size(s->list) >= s->most) {
		json_decref(row);
		return;
	}
	json_object_set_new(row, "id", json_integer(keep_frame(s->d, f)));
	json_array_append_new(s->list, row);
}

static json_t *frame_row(struct dap *d, const char *name, const char *file, json_int_t line)
{
	json_t *row = json_pack("{s:o, s:I, s:i}", "name", link_text(name, strlen(name)), "line",
		line, "column", line ? 1 : 0);
	json_t *source = dap_source(d, file);

	if (source)
		json_object_set_new(row, "source", source);
	return row;
}

/* The command itself: as it is listed, and where its kernel begins. */
static void put_command(struct stack_rows *s, struct dap_frame f)
{
	const json_int_t seq = number(f.command, "seq");
	const char *kernel = text(f.command, "kernel_name");
	json_t *lines = NULL, *row;
	char *said = NULL;
	struct err *e = NULL;

	if (s->total < s->skip || s->most < 1) { /* it is not wanted */
		put_frame(s, &f, json_object());
		return;
	}
	if (s->d->replays)
		e = dap_line(s->d, &said, "view %lld-%lld", (long long)seq, (long long)seq);
	if (e || !said || !*said) {
		free(said);
		said = xasprintf("#%lld %s %s", (long long)seq, text(f.command, "kind"), kernel);
	}
	err_free(e);
	said[strcspn(said, "\n")] = 0;
	if (*kernel)
		err_free(dap_ask(s->d, &lines, "info line %s --json", kernel));
	f.is_command = true;
	row = frame_row(s->d, said, text(json_array_get(lines, 0), "file"),
		number(json_array_get(lines, 0), "line"));
	json_object_set_new(row, "presentationHint", json_string("label"));
	put_frame(s, &f, row);
	json_decref(lines);
	free(said);
}

static void put_host_frames(struct stack_rows *s, const json_t *frames, struct dap_frame f)
{
	const json_t *h;
	size_t i;

	json_array_foreach(frames, i, h)
	{
		const char *name = text(h, "function");
		json_t *row;

		f.level = (unsigned)number(h, "frame");
		f.on_gpu = json_is_true(json_object_get(h, "on_gpu"));
		row = frame_row(
			s->d, *name ? name : text(h, "pc"), text(h, "file"), number(h, "line"));
		if (f.on_gpu)
			json_object_set(
				row, "instructionPointerReference", json_object_get(h, "pc"));
		put_frame(s, &f, row);
	}
}

/* --- what a thread's stack is of --- */

/* A stack that was not recorded, or cannot be had, is empty: the command is there all the same. */
static void put_current(struct stack_rows *s, json_t *command, json_int_t thread)
{
	struct dap_frame f = {.thread = thread, .current = true, .command = command};
	json_t *frames = NULL;
	struct err *e = dap_ask(s->d, &frames, "backtrace --json");
	const bool inside = json_is_true(json_object_get(json_array_get(frames, 0), "on_gpu"));

	if (json_is_object(command) && !inside)
		put_command(s, f);
	put_host_frames(s, frames, f);
	json_decref(frames);
	err_free(e);
}

/* The command that stream or host thread `what` has reached at this position. */
static struct err *command_of(
	struct dap *d, json_t **ret, const char *what, uint64_t n, json_int_t at)
{
	json_t *list;
	struct err *e;

	*ret = NULL;
	if (at < 1)
		return NULL;
	e = dap_ask(d, &list, "view 1-%lld --json --stacks --last 1 if %s == %" PRIu64,
		(long long)at, what, n);
	if (!e && json_is_object(list))
		*ret = json_incref(list);
	if (!e)
		json_decref(list);
	return e;
}

/* A stream is at its head, or behind what it has finished last. */
static struct err *head_of(struct dap *d, json_t **ret, uint64_t stream, json_int_t at)
{
	json_t *state, *head;
	struct err *e;

	*ret = NULL;
	TRY(dap_ask(d, &state, "state show stream %" PRIu64 " --json", stream));
	head = json_object_get(state, "head");
	e = json_is_integer(head) ? dap_ask(d, ret, "view %lld-%lld --json --stacks",
					    (long long)json_integer_value(head),
					    (long long)json_integer_value(head))
				  : command_of(d, ret, "stream", stream, at);
	json_decref(state);
	return e;
}

static struct err *put_thread(struct stack_rows *s, json_int_t thread, json_int_t at)
{
	struct dap_frame f = {.thread = thread};
	uint64_t stream;

	if (dap_thread_is_stream(s->d, thread, &stream))
		TRY(head_of(s->d, &f.command, stream, at));
	else
		TRY(command_of(
			s->d, &f.command, "thread", (uint64_t)(thread - DAP_HOST_THREADS), at));
	if (json_is_object(f.command)) {
		put_command(s, f);
		put_host_frames(s, json_object_get(f.command, "frames"), f);
	}
	json_decref(f.command);
	return NULL;
}

static struct err *put_replayed(struct stack_rows *s, json_int_t thread)
{
	json_t *when;
	struct err *e;

	if (thread == dap_stop_thread(s->d)) {
		TRY(dap_ask(s->d, &when, "when --json"));
		put_current(s, json_object_get(when, "command"), thread);
		json_decref(when);
		return NULL;
	}
	TRY(dap_ask(s->d, &when, "when --json"));
	e = put_thread(s, thread, number(when, "seq"));
	json_decref(when);
	return e;
}

/* The thread becomes the shell's selected one: variables of its frames are asked for next. */
static struct err *put_live(struct stack_rows *s, json_int_t thread)
{
	const bool first = thread == host_thread(s->d, number(s->d->stop, "tid"));
	json_t *when = NULL;

	TRY(dap_line(s->d, NULL, "thread %lld", (long long)thread));
	if (first)
		err_free(dap_ask(s->d, &when, "info command --json"));
	put_current(s, when, thread);
	json_decref(when);
	return NULL;
}

struct err *dap_on_stack_trace(struct dap *d, const json_t *args, json_t *body)
{
	struct stack_rows s = {.d = d, .list = json_array(), .most = 0};
	json_int_t thread;
	struct err *e;

	json_object_set_new(body, "stackFrames", s.list);
	TRY(dap_need_int(args, "threadId", &thread));
	TRY(dap_take_int(args, "startFrame", &s.skip));
	TRY(dap_take_int(args, "levels", &s.most));
	if (thread < 1 || s.skip < 0 || s.most < 0)
		return err_new(ERR_USAGE, "there is no such thread, or no such frame");
	if (!s.most)
		s.most = 10000;
	e = d->replays ? put_replayed(&s, thread) : put_live(&s, thread);
	json_object_set_new(body, "totalFrames", json_integer(s.total));
	return e;
}
