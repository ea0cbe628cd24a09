/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures, see live-capture.h. One request is one capture and one file: app.sbt, then app.1.sbt,
 * app.2.sbt within the engine's life.
 */
#include "engine/live-capture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "engine/live-follow.h"
#include "engine/live/live-private.h"
#include "engine/names.h"

/* The requested name, or the default one; it may be a pattern. */
static char *wanted_path(struct engine *en)
{
	const char *set = en->set.string[SET_OUTPUT],
		   *program = en->live.program ? en->live.program : "tsdb";

	if (en->live.plan.path)
		return xstrdup(en->live.plan.path);
	return *set ? xstrdup(set) : xasprintf("%s.sbt", file_name_of(program));
}

void capture_children(struct engine *en)
{
	free(en->live.plan.pattern);
	en->live.plan.pattern = wanted_path(en);
}

char *capture_path(struct engine *en)
{
	char *wanted = wanted_path(en), *path = follow_path(en, wanted), *with;
	bool own = en->live.plan.path;

	free(wanted);
	if (own || !en->live.plan.nmade)
		return path;
	with = names_numbered(path, en->live.plan.nmade);
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
static uint64_t capture_from(const struct engine *en)
{
	const struct tsdb_control *ctl =
		en->live.inf && en->live.recorder ? inferior_control(en->live.inf) : NULL;

	if (!ctl || en->live.plan.mode != RECORDER_ALL || !inferior_alive(en->live.inf) ||
		inferior_running(en->live.inf))
		return 0;
	return en->live.at_cmd ? en->live.cmd.seq : atomic_load(&ctl->next_seq);
}

/* Arms the recorder: before a launch a trial one, then the engine's. */
static struct err *arm_recorder(
	struct engine *en, struct recorder *r, const char *path, uint64_t from)
{
	return recorder_arm(r, en->live.plan.mode, path, from);
}

struct err *capture_check(struct engine *en)
{
	struct recorder *trial;
	struct stat st;
	char *path;
	struct err *e;

	if (en->live.plan.mode == RECORDER_OFF)
		return NULL;
	path = capture_path(en);
	trial = recorder_new(&(struct recorder_options){.program = ""});
	e = arm_recorder(en, trial, path, 0);
	recorder_free(trial);
	if (!e && !en->live.plan.told_overwrites && !stat(path, &st) && S_ISREG(st.st_mode) &&
		st.st_size) {
		live_tell_text(en, LIVE_NOTE_OVERWRITES, path);
		en->live.plan.told_overwrites = true;
	}
	free(path);
	return e;
}

static void arm_window(struct engine *en)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);
	struct tsdb_window *w;

	if (!ctl)
		return;
	w = &ctl->window;
	w->kind = TSDB_WINDOW_NONE;
	memset(w->glob, 0, sizeof w->glob);
	if (en->live.plan.glob)
		strncpy(w->glob, en->live.plan.glob, sizeof w->glob - 1);
	w->first = en->live.plan.first;
	w->last = en->live.plan.last;
	w->count = en->live.plan.count;
	atomic_store(&w->seen, 0);
	atomic_store(&w->opened_seq, 0);
	atomic_store(&w->closed_seq, 0);
	atomic_store(&w->known_seq, 0);
	atomic_store(&w->state, TSDB_WINDOW_ARMED);
	atomic_thread_fence(memory_order_release);
	if (en->live.plan.mode == RECORDER_WINDOW)
		w->kind = en->live.plan.window_kind;
}

/* Tells the agent that another trace begins: it may have sent pages of memory for the one
 * before. */
static void tell_agent_of_trace(struct engine *en)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);

	if (!ctl)
		return;
	atomic_fetch_add(&ctl->pages_file, 1);
	if (!recorder_has_earlier(en->live.recorder))
		atomic_fetch_add(&ctl->pages_epoch, 1);
}

struct err *capture_arm(struct engine *en)
{
	char *path;
	struct err *e;

	if (!en->live.inf)
		return NULL;
	arm_window(en);
	if (en->live.plan.mode == RECORDER_OFF)
		return NULL;
	path = capture_path(en);
	if (same_file(path, en->trace.path)) {
		live_tell_text(en, LIVE_NOTE_CLOSES, path);
		engine_close(en);
	}
	e = arm_recorder(en, en->live.recorder, path, capture_from(en));
	tell_agent_of_trace(en);
	free(path);
	return e;
}

void capture_forget(struct engine *en)
{
	free(en->live.plan.path);
	free(en->live.plan.glob);
	en->live.plan.path = en->live.plan.glob = NULL;
	en->live.plan.mode = RECORDER_OFF;
	en->live.plan.ending = en->live.plan.declined = false;
	if (en->live.inf && inferior_alive(en->live.inf) && inferior_control(en->live.inf))
		inferior_control(en->live.inf)->window.kind = TSDB_WINDOW_NONE;
}

/* Notes why a part of the capture cannot be executed again, or its result not be compared. */
static void tell_lacks(struct engine *en, bool all)
{
	struct tsdb_control *ctl = live_control(en);
	char text[TSDB_TEXT_MAX] = "";

	if (ctl)
		memcpy(text, ctl->text2, sizeof text);
	text[sizeof text - 1] = 0;
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ')
			*p = ' ';
	}
	live_tell_text(en, all ? LIVE_NOTE_LACKS_MEMORY : LIVE_NOTE_LACKS_END, *text ? text : NULL);
}

static void tell_captured(struct engine *en, const struct recorder_capture *c, bool window)
{
	live_tell(en,
		&(struct live_note){.kind = LIVE_NOTE_CAPTURED, .window = window, .captured = c});
	if (c->commands && (c->memory_lacks || c->memory_no_end) && !en->live.plan.declined)
		tell_lacks(en, c->memory_lacks);
}

static void tell_lost(struct engine *en, const struct drain_losses *l)
{
	if (l->full || l->no_ring || l->damaged || l->otherwise)
		live_tell(en, &(struct live_note){.kind = LIVE_NOTE_LOST, .losses = l});
}

/* The last command of the capture: where the window closed (a window of seqs may close at a later
 * call), where the window ended, or the last one there is. */
static uint64_t last_of(struct engine *en, bool window)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);
	uint64_t last = en->live.plan.ending ? recorder_window_last(en->live.recorder) : UINT64_MAX,
		 closed;

	if (!window || !ctl)
		return last;
	closed = atomic_load(&ctl->window.closed_seq);
	if (atomic_load_explicit(&ctl->window.state, memory_order_acquire) == TSDB_WINDOW_DONE &&
		closed < last)
		last = closed;
	if (en->live.plan.window_kind == TSDB_WINDOW_SEQ && en->live.plan.last < last)
		last = en->live.plan.last;
	/* A stream was being captured when the window closed: it went on, with its memory, until
	 * that ended. */
	if (recorder_window_ended(en->live.recorder) > last)
		last = recorder_window_ended(en->live.recorder);
	return last;
}

/* The last record that may describe code of the window. */
static uint64_t known_of(struct engine *en, bool window)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);

	return window && ctl ? atomic_load(&ctl->window.known_seq) : 0;
}

/* The program's next window is captured, too. */
static void arm_next(struct engine *en)
{
	struct err *e;

	if (!en->live.plan.windows || !en->live.inf || !inferior_alive(en->live.inf))
		return;
	en->live.plan.mode = RECORDER_WINDOW;
	en->live.plan.window_kind = TSDB_WINDOW_PROGRAM;
	e = capture_arm(en);
	if (!e)
		return;
	en->live.plan.failed = true;
	capture_forget(en);
	live_fail(en, e);
}

void capture_finish(struct engine *en)
{
	struct recorder_capture c;
	enum recorder_mode mode;
	struct drain_losses losses = {0};
	uint64_t lost;
	struct err *e;

	if (!en->live.recorder || (mode = recorder_mode(en->live.recorder)) == RECORDER_OFF) {
		if (en->live.plan.failed)
			capture_forget(en);
		return;
	}
	lost = en->live.inf ? drain_lost(en->live.inf, &losses) : 0;
	if (live_control(en))
		recorder_window_sent(
			en->live.recorder, atomic_load(&live_control(en)->window_sent));
	e = en->live.inf ? recorder_close(en->live.recorder, en->live.inf,
				   last_of(en, mode == RECORDER_WINDOW),
				   known_of(en, mode == RECORDER_WINDOW))
			 : NULL;
	if (e)
		memset(&c, 0, sizeof c);
	else
		e = recorder_end(en->live.recorder, lost,
			en->live.recording && !en->live.plan.made && !en->live.plan.pattern &&
				!en->live.plan.windows,
			&c);
	if (e) {
		en->live.plan.failed = true;
		live_fail(en, e);
	} else {
		tell_captured(en, &c, mode == RECORDER_WINDOW);
	}
	tell_lost(en, &losses);
	if (c.commands) {
		free(en->live.plan.made);
		en->live.plan.made = xstrdup(c.path);
		en->live.plan.nmade += !en->live.plan.path;
	}
	capture_forget(en);
	arm_next(en);
	live_configure(en);
}

void capture_check_window(struct engine *en)
{
	struct tsdb_control *ctl = en->live.inf ? inferior_control(en->live.inf) : NULL;
	uint64_t known;

	if (recorder_in_window(en->live.recorder))
		return; /* its end has not come yet */
	if (en->live.plan.ending && en->live.plan.in_window && !en->live.plan.asking) {
		capture_finish(en);
		return;
	}
	if (!ctl || recorder_mode(en->live.recorder) != RECORDER_WINDOW ||
		atomic_load_explicit(&ctl->window.state, memory_order_acquire) != TSDB_WINDOW_DONE)
		return;
	known = atomic_load(&ctl->window.known_seq);
	if (known && recorder_last_seq(en->live.recorder) >= known)
		capture_finish(en);
}

/* --- plans --- */

struct err *capture_begin(struct engine *en, enum recorder_mode mode)
{
	struct capture_plan *plan = &en->live.plan;
	struct recorder_capture c;

	if (en->live.recorder && recorder_capture(en->live.recorder, &c)) {
		if (c.commands)
			return err_cure(err_new(ERR_STATE, "a capture to %s is going on", c.path),
				"Use \"capture stop\" first");
		TRY(recorder_end(en->live.recorder, 0, false, &c));
	}
	capture_forget(en);
	plan->window_kind = TSDB_WINDOW_NONE;
	plan->first = plan->last = plan->count = 0;
	plan->mode = mode;
	return NULL;
}

struct err *capture_arm_plan(struct engine *en)
{
	struct err *e;

	en->live.plan.told_overwrites = false;
	e = capture_check(en);

	if (!e)
		e = capture_arm(en);
	if (e)
		capture_forget(en);
	else
		live_configure(en);
	return e;
}

/* --- memory --- */

/* Whether the agent can serve requests at this stop. */
static bool at_agent(const struct engine *en)
{
	return en->live.last_stop != STOP_NONE && en->live.at_cmd;
}

struct err *capture_stop(struct engine *en)
{
	struct tsdb_control *ctl = en->live.inf && inferior_alive(en->live.inf)
					   ? inferior_control(en->live.inf)
					   : NULL;

	en->live.plan.in_window = recorder_in_window(en->live.recorder);
	if (!ctl || !en->live.plan.in_window) {
		capture_finish(en);
		return NULL;
	}
	en->live.plan.ending = true;
	ctl->window.kind = TSDB_WINDOW_NONE;
	live_configure(en); /* no more windows */
	recorder_await_end(en->live.recorder);
	if (!at_agent(en)) {
		live_tell_text(en, LIVE_NOTE_ENDS_LATER, NULL);
		return NULL;
	}
	live_runs_on(en);
	en->live.window_why = ctl->stop.why;
	TRY(inferior_end_window(en->live.inf));
	en->live.plan.asking = true;
	en->live.doing = LIVE_ENDING_WINDOW;
	live_pace_begin(en);
	return NULL;
}

void capture_answer(struct engine *en)
{
	struct tsdb_control *ctl = inferior_control(en->live.inf);
	bool record = en->hooks.memory_limit &&
		      en->hooks.memory_limit(en->hooks.arg, en, ctl->memory_needed);

	atomic_store(&ctl->memory_answer, record ? TSDB_ANSWER_RECORD : TSDB_ANSWER_WITHOUT);
	en->live.plan.declined = !record;
	en->live.plan.no_memory = en->live.plan.no_memory || !record;
}

void capture_exec(struct engine *en)
{
	struct recorder_capture c;
	struct err *e;
	char *path;

	if (!recorder_capture(en->live.recorder, &c) || !c.commands)
		return;
	path = recorder_mode(en->live.recorder) == RECORDER_ALL
		       ? names_numbered(c.path, ++en->live.plan.nexec)
		       : NULL;
	capture_finish(en);
	if (!path)
		return;
	en->live.plan.mode = RECORDER_ALL;
	en->live.plan.path = path;
	/* from 0: the new program may have run for a while */
	e = arm_recorder(en, en->live.recorder, path, 0);
	if (e) {
		en->live.plan.failed = true;
		live_fail(en, e);
	}
	live_configure(en);
}
