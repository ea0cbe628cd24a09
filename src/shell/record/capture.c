/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures, see capture.h. One request is one capture and one file: app.sbt, then app.1.sbt,
 * app.2.sbt within a session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/attach.h"
#include "shell/record/capture.h"
#include "shell/live/follow.h"
#include "engine/names.h"
#include "shell/live/process.h"
#include "engine/recorder.h"
#include "shell/trace/trace.h"
#include "base/file.h"
#include "base/words.h"
#include "base/text.h"

/* The requested name, or the default one; it may be a pattern. */
static char *wanted_path(struct session *s)
{
	const char *set = s->engine.set.string[SET_OUTPUT],
		   *program = s->target.program ? s->target.program : "tsdb";

	if (s->plan.path)
		return xstrdup(s->plan.path);
	return *set ? xstrdup(set) : xasprintf("%s.sbt", file_name_of(program));
}

void capture_children(struct session *s)
{
	free(s->plan.pattern);
	s->plan.pattern = wanted_path(s);
}

char *capture_path(struct session *s)
{
	char *wanted = wanted_path(s), *path = follow_path(s, wanted), *with;
	bool own = s->plan.path;

	free(wanted);
	if (own || !s->plan.nmade)
		return path;
	with = names_numbered(path, s->plan.nmade);
	free(path);
	return with;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return a && b && !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* The first command of a capture that begins now: the one that the program is stopped at. Other
 * threads may still be in earlier calls. */
static uint64_t capture_from(const struct session *s)
{
	const struct tsdb_control *ctl =
		s->target.inf && s->recorder ? inferior_control(s->target.inf) : NULL;

	if (!ctl || s->plan.mode != RECORDER_ALL || !inferior_alive(s->target.inf) ||
		inferior_running(s->target.inf))
		return 0;
	return s->target.at_cmd ? s->target.cmd.seq : atomic_load(&ctl->next_seq);
}

/* Arms the recorder: before a launch a trial one, then the session's. */
static struct err *arm_recorder(
	struct session *s, struct recorder *r, const char *path, uint64_t from)
{
	return recorder_arm(r, (enum recorder_mode)s->plan.mode, path, from);
}

struct err *capture_check(struct session *s)
{
	struct recorder *trial;
	struct stat st;
	char *path;
	struct err *e;

	if (s->plan.mode == RECORDER_OFF)
		return NULL;
	path = capture_path(s);
	trial = recorder_new(&(struct recorder_options){.program = ""});
	e = arm_recorder(s, trial, path, 0);
	recorder_free(trial);
	if (!e && s->target.recording && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size)
		out_warn(s->out, "overwriting the trace %s", path);
	free(path);
	return e;
}

static void arm_window(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);
	struct tsdb_window *w;

	if (!ctl)
		return;
	w = &ctl->window;
	w->kind = TSDB_WINDOW_NONE;
	memset(w->glob, 0, sizeof w->glob);
	if (s->plan.glob)
		strncpy(w->glob, s->plan.glob, sizeof w->glob - 1);
	w->first = s->plan.first;
	w->last = s->plan.last;
	w->count = s->plan.count;
	atomic_store(&w->seen, 0);
	atomic_store(&w->opened_seq, 0);
	atomic_store(&w->closed_seq, 0);
	atomic_store(&w->known_seq, 0);
	atomic_store(&w->state, TSDB_WINDOW_ARMED);
	atomic_thread_fence(memory_order_release);
	if (s->plan.mode == RECORDER_WINDOW)
		w->kind = s->plan.window_kind;
}

/* Tells the agent that another trace begins: it may have sent pages of memory for the one
 * before. */
static void tell_agent_of_trace(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);

	if (!ctl)
		return;
	atomic_fetch_add(&ctl->pages_file, 1);
	if (!recorder_has_earlier(s->recorder))
		atomic_fetch_add(&ctl->pages_epoch, 1);
}

struct err *capture_arm(struct session *s)
{
	char *path;
	struct err *e;

	if (!s->target.inf)
		return NULL;
	arm_window(s);
	if (s->plan.mode == RECORDER_OFF)
		return NULL;
	path = capture_path(s);
	if (same_file(path, s->engine.trace.path)) {
		out_warn(s->out, "closing the open trace %s: it is captured anew", path);
		trace_close(s);
		s->focus = FOCUS_LIVE;
	}
	e = arm_recorder(s, s->recorder, path, capture_from(s));
	tell_agent_of_trace(s);
	free(path);
	return e;
}

void capture_forget(struct session *s)
{
	free(s->plan.path);
	free(s->plan.glob);
	s->plan.path = s->plan.glob = NULL;
	s->plan.mode = RECORDER_OFF;
	s->plan.ending = s->plan.declined = false;
	if (s->target.inf && inferior_alive(s->target.inf) && inferior_control(s->target.inf))
		inferior_control(s->target.inf)->window.kind = TSDB_WINDOW_NONE;
}

/* Prints "[captured #143-#1204 -> app.sbt, 1.1 MB, memory 8.0 GB in 1.2 GB]"; for `record` on
 * stderr, to keep it out of the program's output. */
static void tell_captured(struct session *s, const struct recorder_capture *c, bool window)
{
	char size[32], memory[32], stored[32];
	struct buf line = BUF_INIT;

	if (c->commands) {
		buf_printf(&line, "[captured #%llu-#%llu -> %s, %s", (unsigned long long)c->first,
			(unsigned long long)c->last, c->path,
			words_bytes(size, sizeof size, c->bytes - c->memory_stored));
		if (c->memory)
			buf_printf(&line, ", memory %s in %s",
				words_bytes(memory, sizeof memory, c->memory),
				words_bytes(stored, sizeof stored, c->memory_stored));
		buf_byte(&line, ']');
	} else if (window) {
		buf_str(&line, "[nothing was captured: the window never opened]");
	} else {
		buf_str(&line, "[nothing was captured: there were no GPU commands]");
	}
	if (s->target.recording) {
		if (c->commands)
			text_print(stderr, "%s\n", buf_cstr(&line));
	} else {
		out_style(s->out, STYLE_NOTE, "%s", buf_cstr(&line));
		out_str(s->out, "\n");
	}
	buf_free(&line);
}

/* Prints why a part of the capture cannot be executed again. */
static void tell_lacks(struct session *s, bool all)
{
	struct tsdb_control *ctl = s->target.inf ? inferior_control(s->target.inf) : NULL;
	char text[TSDB_TEXT_MAX] = "";

	if (ctl)
		memcpy(text, ctl->text2, sizeof text);
	text[sizeof text - 1] = 0;
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ')
			*p = ' ';
	}
	if (!all) {
		out_warn(s->out,
			"the capture can be run again on a device, but there is nothing to compare "
			"the result with: %s",
			*text ? text : "the program died in the window");
		return;
	}
	out_warn(s->out,
		"the capture cannot be run again on a device, some of its memory is missing: %s",
		*text ? text : "the program ended before all of it was recorded");
}

static void tell_lost(struct session *s, const struct drain_losses *l)
{
	if (l->full)
		out_warn(s->out,
			"%llu commands were lost: a ring buffer was full; use \"set capture on-full wait\", or a larger "
			"\"set capture ring-size\"",
			(unsigned long long)l->full);
	if (l->no_ring)
		out_warn(s->out,
			"%llu commands of %llu threads were lost: a thread needs one of %u ring buffers, and two of the process' memory mappings "
			"for it; raise the limit (`sysctl vm.max_map_count`), or use the GPU from fewer threads at once",
			(unsigned long long)l->no_ring, (unsigned long long)l->threads,
			TSDB_RING_COUNT);
	if (l->damaged)
		out_warn(s->out,
			"%llu commands were lost: the program overwrote memory that it shares with tsdb",
			(unsigned long long)l->damaged);
	if (l->otherwise)
		out_warn(s->out,
			"%llu commands were lost: a signal handler made them while its thread was in another GPU call, or they were larger "
			"than %u KiB",
			(unsigned long long)l->otherwise, TSDB_RECORD_MAX >> 10);
}

/* The last command of the capture: where the window closed (a window of seqs may close at a later
 * call), where the span ended, or the last one there is. */
static uint64_t last_of(struct session *s, bool window)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);
	uint64_t last = s->plan.ending ? recorder_span_last(s->recorder) : UINT64_MAX, closed;

	if (!window || !ctl)
		return last;
	closed = atomic_load(&ctl->window.closed_seq);
	if (atomic_load_explicit(&ctl->window.state, memory_order_acquire) == TSDB_WINDOW_DONE &&
		closed < last)
		last = closed;
	if (s->plan.window_kind == TSDB_WINDOW_SEQ && s->plan.last < last)
		last = s->plan.last;
	/* A stream was being captured when the window closed: span and window went on until that
	 * ended. */
	if (recorder_span_ended(s->recorder) > last)
		last = recorder_span_ended(s->recorder);
	return last;
}

/* The last record that may describe code of the window. */
static uint64_t known_of(struct session *s, bool window)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);

	return window && ctl ? atomic_load(&ctl->window.known_seq) : 0;
}

void capture_finish(struct session *s)
{
	struct recorder_capture c;
	enum recorder_mode mode;
	struct drain_losses losses = {0};
	uint64_t lost;
	struct err *e;

	if (!s->recorder || (mode = recorder_mode(s->recorder)) == RECORDER_OFF) {
		if (s->plan.failed)
			capture_forget(s);
		return;
	}
	lost = s->target.inf ? drain_lost(s->target.inf, &losses) : 0;
	if (process_control(s))
		recorder_span_sent(s->recorder, atomic_load(&process_control(s)->span_sent));
	e = s->target.inf ? recorder_close(s->recorder, s->target.inf,
				    last_of(s, mode == RECORDER_WINDOW),
				    known_of(s, mode == RECORDER_WINDOW))
			  : NULL;
	if (e)
		memset(&c, 0, sizeof c);
	else
		e = recorder_end(s->recorder, lost,
			s->target.recording && !s->plan.made && !s->plan.pattern, &c);
	if (e) {
		s->plan.failed = true;
		s->failures++;
		out_error(s->out, e);
	} else {
		tell_captured(s, &c, mode == RECORDER_WINDOW);
		if (c.commands && (c.memory_lacks || c.memory_no_end) && !s->plan.declined)
			tell_lacks(s, c.memory_lacks);
	}
	tell_lost(s, &losses);
	if (c.commands) {
		free(s->plan.made);
		s->plan.made = xstrdup(c.path);
		s->plan.nmade += !s->plan.path;
	}
	capture_forget(s);
	process_configure(s);
}

void capture_check_window(struct session *s)
{
	struct tsdb_control *ctl = s->target.inf ? inferior_control(s->target.inf) : NULL;
	uint64_t known;

	if (recorder_in_span(s->recorder))
		return; /* its end has not come yet */
	if (s->plan.ending && s->plan.in_span && !s->plan.asking) {
		capture_finish(s);
		return;
	}
	if (!ctl || recorder_mode(s->recorder) != RECORDER_WINDOW ||
		atomic_load_explicit(&ctl->window.state, memory_order_acquire) != TSDB_WINDOW_DONE)
		return;
	known = atomic_load(&ctl->window.known_seq);
	if (known && recorder_last_seq(s->recorder) >= known)
		capture_finish(s);
}

/* --- memory --- */

/* Whether the agent can serve requests at this stop. */
static bool at_agent(const struct session *s)
{
	return s->target.last_stop != TSDB_STOP_NONE && s->target.at_cmd;
}

struct err *capture_stop(struct session *s)
{
	struct tsdb_control *ctl = s->target.inf && inferior_alive(s->target.inf)
					   ? inferior_control(s->target.inf)
					   : NULL;
	struct err *e;

	s->plan.in_span = recorder_in_span(s->recorder);
	if (!ctl || !s->plan.in_span) {
		capture_finish(s);
		return NULL;
	}
	s->plan.ending = true;
	ctl->window.kind = TSDB_WINDOW_NONE;
	process_configure(s); /* no more spans */
	recorder_await_end(s->recorder);
	if (!at_agent(s)) {
		out_str(s->out,
			"The capture ends at the program's next GPU command; its memory is recorded then.\n");
		return NULL;
	}
	s->plan.asking = true;
	e = process_end_span(s);
	s->plan.asking = false;
	out_progress_end(s->out);
	if (e)
		return e;
	if (!recorder_in_span(s->recorder) || !s->target.inf)
		capture_finish(s);
	return NULL;
}

/* Prints a value for `set capture memory-limit` that would be enough. */
static void print_limit(char *dst, size_t n, uint64_t bytes)
{
	uint64_t mib = (bytes + (1u << 20) - 1) >> 20;

	if (mib < 1024)
		snprintf(dst, n, "%lluM", (unsigned long long)(mib ? mib : 1));
	else
		snprintf(dst, n, "%lluG", (unsigned long long)((mib + 1023) / 1024));
}

void capture_answer(struct session *s)
{
	struct tsdb_control *ctl = inferior_control(s->target.inf);
	char needed[32], limit[32], enough[32];
	uint64_t bytes = ctl->memory_needed;
	bool record;

	words_bytes(needed, sizeof needed, bytes);
	words_bytes(limit, sizeof limit, s->engine.set.number[SET_MEMORY_LIMIT]);
	print_limit(enough, sizeof enough, bytes);
	if (session_can_ask(s))
		record = session_confirm(s,
			"This window would record %s of memory, more than the limit of %s. Record it anyway?",
			needed, limit);
	else
		record = s->interactive; /* `set confirm off` */
	atomic_store(&ctl->memory_answer, record ? TSDB_ANSWER_RECORD : TSDB_ANSWER_WITHOUT);
	s->plan.declined = !record;
	if (record || session_can_ask(s))
		return;
	s->plan.no_memory = true;
	s->failures++;
	if (s->target.recording)
		out_error(s->out,
			err_cure(
				err_new(ERR_LIMIT,
					"the recording would hold %s of memory, more than the limit of %s; it goes on without memory",
					needed, limit),
				"Use \"--memory-limit %s\" or \"--memory touched\"", enough));
	else
		out_error(s->out,
			err_cure(
				err_new(ERR_LIMIT,
					"this window would record %s of memory, more than the limit of %s; it is captured without memory",
					needed, limit),
				"Use \"set capture memory-limit %s\" or \"set capture memory touched\"",
				enough));
}

void capture_exec(struct session *s)
{
	struct recorder_capture c;
	struct err *e;
	char *path;

	if (!recorder_capture(s->recorder, &c) || !c.commands)
		return;
	path = recorder_mode(s->recorder) == RECORDER_ALL ? names_numbered(c.path, ++s->plan.nexec)
							  : NULL;
	capture_finish(s);
	if (!path)
		return;
	s->plan.mode = RECORDER_ALL;
	s->plan.path = path;
	/* from 0: the new program may have run for a while */
	e = arm_recorder(s, s->recorder, path, 0);
	if (e) {
		s->plan.failed = true;
		out_error(s->out, e);
	}
	process_configure(s);
}
