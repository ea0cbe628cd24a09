/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that move: forwards, backwards, into a launch, to a place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

enum {
	SEARCHED_MAX = 20000, /* commands that `gotoTargets` looks at */
	TARGETS_MAX = 200,
};

/* Where a move begins, and how large a step is. */
struct here {
	bool in_kernel, in_graph, at_launch, by_instructions;
	json_int_t leave; /* the launch that it is at the very beginning of: going back leaves it;
			     else 0 */
};

static struct err *look_here(struct dap *d, const json_t *args, struct here *ret)
{
	const char *granularity, *kind;
	const char *reason = json_string_value(json_object_get(d->stop, "stop_reason"));
	const json_t *inside;
	json_t *when;

	TRY(dap_take_line(args, "granularity", &granularity));
	TRY(dap_ask(d, &when, "when --json"));
	kind = json_string_value(json_object_get(json_object_get(when, "command"), "kind"));
	inside = json_object_get(when, "in_kernel");
	*ret = (struct here){
		.in_kernel = json_is_object(inside),
		.in_graph = json_is_object(json_object_get(when, "in_graph")),
		.at_launch = kind && !strcmp(kind, "launch"),
		.by_instructions = granularity && !strcmp(granularity, "instruction"),
		.leave = inside && reason && !strcmp(reason, "kernel-begin")
				 ? json_integer_value(json_object_get(inside, "seq"))
				 : 0,
	};
	json_decref(when);
	return NULL;
}

static struct err *begin_move(struct dap *d, const char *command, const char *resume)
{
	dap_move_later(d, xstrdup(command), resume, "step");
	return NULL;
}

/* Out of a launch, and then backwards from it. */
static struct err *begin_before(struct dap *d, json_int_t launch, const char *command)
{
	dap_move_later(
		d, xasprintf("replay goto %lld\n%s", (long long)launch, command), command, "step");
	return NULL;
}

struct err *dap_on_continue(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	json_object_set_new(body, "allThreadsContinued", json_true());
	return begin_move(d, "continue", "continue");
}

struct err *dap_on_reverse_continue(struct dap *d, const json_t *args, json_t *body)
{
	struct here here;

	(void)body;
	TRY(dap_needs_replay(d, "going backwards"));
	TRY(look_here(d, args, &here));
	return here.leave ? begin_before(d, here.leave, "reverse-continue")
			  : begin_move(d, "reverse-continue", "reverse-continue");
}

/* One stream alone, if the client says so. */
static struct err *next_of_stream(
	struct dap *d, const json_t *args, const char *verb, bool *ret_done)
{
	bool single = false;
	json_int_t thread = 0;
	uint64_t stream;

	TRY(dap_take_bool(args, "singleThread", &single));
	TRY(dap_take_int(args, "threadId", &thread));
	*ret_done = single && dap_thread_is_stream(d, thread, &stream);
	if (!*ret_done)
		return NULL;
	dap_move_later(d, xasprintf("replay %s stream %" PRIu64, verb, stream), NULL, "step");
	d->move.thread = thread;
	return NULL;
}

struct err *dap_on_next(struct dap *d, const json_t *args, json_t *body)
{
	struct here here;
	bool done;

	(void)body;
	TRY(look_here(d, args, &here));
	if (here.in_kernel)
		return begin_move(d, here.by_instructions ? "nexti" : "next", NULL);
	TRY(next_of_stream(d, args, "next", &done));
	return done ? NULL : begin_move(d, "next", NULL);
}

struct err *dap_on_step_in(struct dap *d, const json_t *args, json_t *body)
{
	struct here here;

	(void)body;
	TRY(look_here(d, args, &here));
	if (here.in_kernel)
		return begin_move(d, here.by_instructions ? "stepi" : "step", NULL);
	if (d->replays && here.at_launch && !here.in_graph)
		return begin_move(d, "enter", NULL);
	return begin_move(d, "step", NULL);
}

struct err *dap_on_step_out(struct dap *d, const json_t *args, json_t *body)
{
	struct here here;
	bool done;

	(void)body;
	TRY(look_here(d, args, &here));
	if (here.in_kernel || here.in_graph)
		return begin_move(d, "finish", NULL);
	TRY(next_of_stream(d, args, "finish", &done));
	return done ? NULL : begin_move(d, "finish", NULL);
}

struct err *dap_on_step_back(struct dap *d, const json_t *args, json_t *body)
{
	struct here here;

	(void)body;
	TRY(dap_needs_replay(d, "going backwards"));
	TRY(look_here(d, args, &here));
	if (here.leave)
		return begin_before(d, here.leave, "reverse-next");
	return begin_move(d,
		here.in_kernel	? "reverse-stepi"
		: here.in_graph ? "reverse-step"
				: "reverse-next",
		NULL);
}

struct err *dap_on_reverse_finish(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	(void)body;
	TRY(dap_needs_replay(d, "going backwards"));
	TRY(begin_move(d, "reverse-finish", NULL));
	d->move.unasked = true;
	return NULL;
}

/* The listener stops what runs. In a short stop `pauses` stays set, and the move ends there. */
struct err *dap_on_pause(struct dap *d, const json_t *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->phase != DAP_RUNNING)
		atomic_store(&d->pauses, false);
	return NULL;
}

/* --- places --- */

static struct err *go_to(struct dap *d, const char *place)
{
	dap_move_later(d, xasprintf("replay goto %s", place), NULL, "goto");
	d->move.unasked = true;
	return NULL;
}

struct err *dap_on_goto(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t target;
	char place[32];

	(void)body;
	TRY(dap_needs_replay(d, "going to a place"));
	TRY(dap_need_int(args, "targetId", &target));
	snprintf(place, sizeof place, "%lld", (long long)target);
	return target > 0 ? go_to(d, place)
			  : err_new(ERR_USAGE, "there is no target %lld", (long long)target);
}

/* seq: a number; or place: what `replay goto` takes. */
struct err *dap_on_goto_place(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t seq = -1;
	const char *place;
	char number[32];

	(void)body;
	TRY(dap_needs_replay(d, "going to a place"));
	TRY(dap_take_int(args, "seq", &seq));
	TRY(dap_take_line(args, "place", &place));
	snprintf(number, sizeof number, "%lld", (long long)seq);
	if (!place && seq < 0)
		return err_new(ERR_USAGE, "\"tsdb/goto\" needs \"seq\" or \"place\"");
	return go_to(d, place ? place : number);
}

/* "1,0,0" as "(1,0,0)" behind the word; nothing if it is not there. */
static struct err *add_triple(struct buf *line, const char *word, const char *text)
{
	unsigned long long x, y, z;
	int n = 0;

	if (!text)
		return NULL;
	if (text[strspn(text, "0123456789,")] ||
		sscanf(text, "%10llu,%10llu,%10llu%n", &x, &y, &z, &n) != 3 || text[n])
		return err_new(ERR_USAGE, "\"%.40s\" is no %s: \"1,0,0\"", text, word);
	buf_printf(line, "%s (%llu,%llu,%llu) ", word, x, y, z);
	return NULL;
}

/* The block, or the thread, of the launch that the replay is inside of. One that has not begun
 * begins the launch again, with that block first. */
struct err *dap_on_focus(struct dap *d, const json_t *args, json_t *body)
{
	struct buf line = BUF_INIT;
	const char *block, *thread;
	struct err *e;

	(void)body;
	TRY(dap_needs_replay(d, "choosing a thread of a launch"));
	TRY(dap_take_line(args, "block", &block));
	TRY(dap_take_line(args, "thread", &thread));
	if (!block && !thread)
		return err_new(ERR_USAGE, "\"tsdb/focus\" needs \"block\" or \"thread\"");
	e = add_triple(&line, "block", block);
	if (!e)
		e = add_triple(&line, "thread", thread);
	if (!e) {
		dap_move_later(d, xstrdup(buf_cstr(&line)), NULL, "goto");
		d->move.unasked = true;
	}
	buf_free(&line);
	return e;
}

struct err *dap_on_schedule(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t number;
	bool step = false;

	(void)body;
	TRY(dap_needs_replay(d, "replaying a schedule"));
	TRY(dap_need_int(args, "number", &number));
	TRY(dap_take_bool(args, "step", &step));
	if (number < 1)
		return err_new(ERR_USAGE, "schedules are counted from 1");
	dap_move_later(d,
		xasprintf("replay schedule %lld%s", (long long)number, step ? " --step" : ""), NULL,
		"goto");
	d->move.unasked = true;
	return NULL;
}

/* --- places that a line of the source has --- */

/* Without "./" and "../" in front: recorded paths are often relative to a folder that is not known.
 */
static const char *bare_path(const char *path)
{
	for (;;) {
		const size_t n = !strncmp(path, "../", 3) ? 3 : !strncmp(path, "./", 2) ? 2 : 0;

		if (!n)
			return path;
		path += n;
	}
}

/* Whether one is the other, or its end. */
static bool same_file(const char *a, const char *b)
{
	const size_t na = strlen(a = bare_path(a)), nb = strlen(b = bare_path(b));
	const char *longer = na > nb ? a : b, *shorter = na > nb ? b : a;
	const size_t more = na > nb ? na - nb : nb - na;

	return !strcmp(longer + more, shorter) && (!more || longer[more - 1] == '/');
}

static bool made_at(const json_t *command, const char *file, json_int_t line)
{
	const json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(command, "frames"), i, frame)
	{
		const char *f = json_string_value(json_object_get(frame, "file"));

		if (f && same_file(f, file) &&
			json_integer_value(json_object_get(frame, "line")) == line)
			return true;
	}
	return false;
}

static void add_target(json_t *targets, const json_t *command, json_int_t line)
{
	const char *kernel = json_string_value(json_object_get(command, "kernel_name"));
	const char *kind = json_string_value(json_object_get(command, "kind"));
	const json_int_t seq = json_integer_value(json_object_get(command, "seq"));
	char *label = xasprintf("#%lld %s", (long long)seq, kernel ? kernel : kind);

	json_array_append_new(targets, json_pack("{s:I, s:o, s:I}", "id", seq, "label",
					       link_text(label, strlen(label)), "line", line));
	free(label);
}

static void tell_searched(struct dap *d)
{
	static const char text[] =
		"Of this trace only the last 20000 commands were looked at for that line.\n";

	link_output(d->link, "console", text, sizeof text - 1);
}

struct err *dap_on_goto_targets(struct dap *d, const json_t *args, json_t *body)
{
	json_t *targets = json_array(), *commands, *command;
	const char *path;
	json_int_t line;
	size_t i;

	json_object_set_new(body, "targets", targets);
	TRY(dap_needs_replay(d, "going to a place"));
	TRY(dap_need_int(args, "line", &line));
	TRY(dap_need_text(json_object_get(args, "source"), "path", &path));
	TRY(dap_ask(d, &commands, "view --json --stacks --last %d", SEARCHED_MAX));
	if (json_array_size(commands) == SEARCHED_MAX)
		tell_searched(d);
	json_array_foreach(commands, i, command)
	{
		if (made_at(command, path, line) && json_array_size(targets) < TARGETS_MAX)
			add_target(targets, command, line);
	}
	json_decref(commands);
	return NULL;
}
