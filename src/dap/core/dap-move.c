/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves: a command of the shell that runs behind the answer, and the event that says where it
 * ended. Meanwhile a request may make it stop shortly: the client sees nothing of that.
 */
#include <stdlib.h>
#include <string.h>
#include "base/monotonic.h"
#include "dap/core/dap-private.h"

void dap_move_later(struct dap *d, char *command, const char *resume, const char *reason)
{
	free(d->move.command);
	d->move = (struct dap_move){.command = command, .resume = resume, .reason = reason};
}

static const char *stop_word(const struct dap *d)
{
	const char *word = json_string_value(json_object_get(d->stop, "stop_reason"));

	return word ? word : "";
}

/* --- running --- */

/* Whether what ended with e was stopped for requests that wait, and nothing else. */
static bool short_stop(struct dap *d, const struct err *e)
{
	const bool interrupted = e ? e->code == ERR_INTERRUPTED
				   : d->stopped_now && !strcmp(stop_word(d), "interrupted");

	return interrupted && atomic_load(&d->breaks) && !atomic_load(&d->pauses) &&
	       !atomic_load(&d->ends);
}

/* Runs the move up to where it ends; *ret_text: what was printed last, heap or NULL. */
static struct err *run(struct dap *d, const struct dap_move *m, char **ret_text)
{
	const char *command = m->command;
	struct err *e;

	for (;;) {
		*ret_text = NULL;
		d->stopped_now = false;
		atomic_store(&d->breaks, false);
		e = dap_line(d, ret_text, "%s", command);
		if (!short_stop(d, e))
			return e;
		err_free(e);
		free(*ret_text);
		*ret_text = NULL;
		d->stopped_now = false;
		dap_answer_waiting(d);
		if (atomic_load(&d->pauses)) /* it came meanwhile: this is the stop */
			d->stopped_now = true;
		if (d->leaves || d->stopped_now)
			return NULL;
		command = m->resume;
	}
}

void dap_move_now(struct dap *d)
{
	const struct dap_move m = d->move;
	char *text;
	struct err *e;

	d->move = (struct dap_move){0};
	d->phase = DAP_RUNNING;
	if (m.unasked)
		dap_tell_continued(d);
	dap_forget(d);
	d->move_ms = monotonic_ms();
	d->move_title = atomic_load(&d->progress_title);
	atomic_store(&d->may_break, m.resume != NULL);
	atomic_store(&d->moves, true);
	e = run(d, &m, &text);
	atomic_store(&d->moves, false);
	dap_end_progress(d);
	atomic_store(&d->may_break, false);
	atomic_store(&d->pauses, false);
	d->phase = DAP_STOPPED;
	if (e) {
		char *said = dap_sentence(e);

		link_output(d->link, "important", said, strlen(said));
		link_output(d->link, "important", "\n", 1);
		free(said);
	}
	if (e && !d->leaves)
		dap_check_session(d);
	if (!d->leaves && d->phase != DAP_ENDED)
		dap_tell_stop(d, m.reason, m.thread, e ? e->what : text);
	err_free(e);
	free(text);
	free(m.command);
}

/* --- telling --- */

/* What the protocol calls it when a stop of the shell's kind of breakpoint is reached. */
static const char *point_reason(const struct dap *d)
{
	static const char *const words[] = {
		[DAP_SOURCE_POINT] = "breakpoint",
		[DAP_FUNCTION_POINT] = "function breakpoint",
		[DAP_DATA_POINT] = "data breakpoint",
		[DAP_CODE_POINT] = "instruction breakpoint",
		[DAP_EXCEPTION_POINT] = "exception",
		[DAP_POINT_KINDS] = "breakpoint",
	};
	const json_t *ids = json_object_get(d->stop, "breakpoint_list");

	return words[dap_points_kind(d, json_integer_value(json_array_get(ids, 0)))];
}

static const char *reason_of(const struct dap *d, const char *asked)
{
	static const char *const words[][2] = {{"interrupted", "pause"}, {"fault", "exception"},
		{"failed-call", "exception"}, {"signal", "exception"}, {"begin", "begin"},
		{"end", "end"}, {"trigger", "pause"}, {"watchpoint", "data breakpoint"}};
	const char *word = stop_word(d);

	if (!d->stopped_now)
		return asked;
	if (!strcmp(word, "breakpoint"))
		return point_reason(d);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!strcmp(word, words[i][0]))
			return words[i][1];
	}
	return asked;
}

/* The first line of a text, without its end; NULL if it is empty. */
static json_t *first_line(const char *text)
{
	const size_t n = text ? strcspn(text, "\n") : 0;

	return n ? link_text(text, n) : NULL;
}

/* As the system's shell has it: 128 + the signal that ended the program. */
static json_int_t exit_code(struct dap *d)
{
	json_int_t code = json_integer_value(json_object_get(d->stop, "exit_code"));
	json_t *program = NULL;

	if (!strcmp(stop_word(d), "killed")) {
		err_free(dap_ask(d, &program, "info program --json"));
		code = 128 + json_integer_value(json_object_get(program, "exit_signal"));
		json_decref(program);
	}
	return code;
}

static void tell_ended(struct dap *d)
{
	link_event(d->link, "exited", json_pack("{s:I}", "exitCode", exit_code(d)));
	d->phase = DAP_ENDED;
	if (d->then_replay)
		dap_replay_recorded(d);
	if (d->phase == DAP_ENDED)
		link_event(d->link, "terminated", NULL);
}

static bool has_ended(const struct dap *d)
{
	return d->stopped_now && !json_is_true(json_object_get(d->stop, "in_replay")) &&
	       (!strcmp(stop_word(d), "exited") || !strcmp(stop_word(d), "killed"));
}

/* For the extension's views; other clients ignore it. */
static void tell_position(struct dap *d)
{
	json_t *when = NULL, *body;
	struct err *e = dap_ask(d, &when, "when --json");

	err_free(e);
	body = json_pack("{s:o?}", "position", when);
	json_object_set(body, "stop", d->stop ? d->stop : json_null());
	link_event(d->link, "tsdb/position", body);
}

void dap_tell_continued(struct dap *d)
{
	link_event(d->link, "continued",
		json_pack("{s:I, s:b}", "threadId", dap_stop_thread(d), "allThreadsContinued", 1));
}

void dap_tell_stop(struct dap *d, const char *reason, json_int_t thread, const char *text)
{
	const json_t *ids = json_object_get(d->stop, "breakpoint_list");
	json_t *body, *said;

	link_flush_program(d->link);
	if (text && *text)
		link_output(d->link, "console", text, strlen(text));
	if (has_ended(d)) {
		tell_ended(d);
		return;
	}
	if (d->stopped_now)
		dap_points_reached(d, ids);
	dap_forget(d);
	if (!thread || d->stopped_now)
		thread = dap_stop_thread(d);
	body = json_pack("{s:s, s:I, s:b}", "reason", reason_of(d, reason), "threadId", thread,
		"allThreadsStopped", 1);
	said = first_line(text);
	if (said) /* no description: editors show it in place of the thread's name */
		json_object_set_new(body, "text", said);
	if (d->stopped_now && json_array_size(ids))
		json_object_set_new(body, "hitBreakpointIds", json_deep_copy(ids));
	link_event(d->link, "stopped", body);
	tell_position(d);
	d->stopped_now = false;
}
