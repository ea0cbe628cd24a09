/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture commands. They fill the engine's plan; a plan made before `run` is armed at the launch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "attach/attach.h"
#include "engine/breakpoints.h"
#include "engine/live-capture.h"
#include "shell/live/process.h"
#include "engine/recorder.h"
#include "base/words.h"

const char cmd_capture_start_help[] =
	"Captures every GPU command with its host call stack into a trace, from now on (or\n"
	"from the start of the next `run`) to `capture stop` or the end of the program. The\n"
	"file is FILE, or that of `set capture output`, or the program's name with .sbt.\n"
	"Example: capture start run.sbt\n";

struct err *cmd_capture_start(struct session *s, const struct cmd_args *a)
{
	char *path;

	if (a->argc > 1)
		return err_cure(err_new(ERR_USAGE, "capture start takes one file"),
			"Put quotes around a name with blanks");
	TRY(capture_begin(&s->engine, RECORDER_ALL));
	if (a->argc)
		s->engine.live.plan.path = xstrdup(a->argv[0]);
	TRY(capture_arm_plan(&s->engine));
	path = capture_path(&s->engine);
	out_printf(s->out, "Capturing every command to %s%s.\n", path,
		s->engine.live.inf ? "" : " from the start of the next run");
	free(path);
	return NULL;
}

const char cmd_capture_stop_help[] =
	"Ends the capture that is on and closes its trace; `replay start` opens it. A window\n"
	"that has not opened yet is forgotten. With `set capture memory` the memory of the\n"
	"captured commands is recorded first; where the program is not stopped at a GPU\n"
	"command, that is at its next one.\n";

struct err *cmd_capture_stop(struct session *s, const struct cmd_args *a)
{
	struct recorder_capture c;

	if (s->engine.live.recorder && recorder_capture(s->engine.live.recorder, &c)) {
		TRY(capture_stop(&s->engine));
		return s->engine.live.doing == LIVE_ENDING_WINDOW ? process_await(s) : NULL;
	}
	if (s->engine.live.plan.mode == RECORDER_OFF)
		return err_cure(err_new(ERR_STATE, "no capture is on"),
			"Use \"capture start\" or \"capture window\"");
	capture_forget(&s->engine);
	out_str(s->out, "The next run is not captured.\n");
	return NULL;
}

/* --- windows --- */

const char cmd_capture_window_help[] =
	"Captures a part of the run:\n"
	"  kernel GLOB [count N]  from the next launch of a matching kernel until N of them\n"
	"                         were launched (1 without count)\n"
	"  seq A-B                the commands #A to #B\n"
	"  nvtx NAME, mark NAME   while a thread is inside the range called NAME, of NVTX or\n"
	"                         of tracesmith/mark.h\n"
	"  program [NAME]         the program's own next window (tracesmith_window_begin(),\n"
	"                         tracesmith.window()), or that called NAME\n"
	"The trace begins with the state of the GPU at that point, and the contents of its memory\n"
	"(`set capture memory`). The program stops when the window closes (`set capture\n"
	"window-stop`).\n"
	"Example: capture window kernel matmul count 100\n";

static struct err *window_usage(const char *why)
{
	return err_cure(err_new(ERR_USAGE, "%s", why),
		"Use \"capture window kernel GLOB [count N]\", \"capture window seq A-B\", \"capture window mark NAME\" or \"capture window program\"");
}

static struct err *window_kernel(struct session *s, unsigned n, char *const *w)
{
	uint64_t count = 1;

	if (n != 1 && !(n == 3 && !strcmp(w[1], "count")))
		return window_usage("the window is not clear");
	if (n == 3 && (!word_u64(w[2], &count) || !count))
		return window_usage("count needs a number from 1 on");
	s->engine.live.plan.window_kind = TSDB_WINDOW_KERNEL;
	s->engine.live.plan.count = count;
	return NULL;
}

static struct err *parse_window(struct session *s, unsigned n, char *const *w)
{
	if (n == 1 && !strcmp(w[0], "program")) {
		s->engine.live.plan.window_kind = TSDB_WINDOW_PROGRAM;
		return NULL;
	}
	if (n < 2)
		return window_usage("a window needs to know where it begins");
	if (strlen(w[1]) >= TSDB_GLOB_MAX)
		return err_new(ERR_LIMIT, "a window's pattern has at most %u characters",
			TSDB_GLOB_MAX - 1);
	if (!strcmp(w[0], "kernel")) {
		TRY(window_kernel(s, n - 1, w + 1));
	} else if (!strcmp(w[0], "seq")) {
		if (n != 2 ||
			!word_range(w[1], &s->engine.live.plan.first, &s->engine.live.plan.last))
			return window_usage("seq needs a range such as 100-200");
		s->engine.live.plan.window_kind = TSDB_WINDOW_SEQ;
		return NULL;
	} else if ((!strcmp(w[0], "nvtx") || !strcmp(w[0], "mark")) && n == 2) {
		s->engine.live.plan.window_kind = TSDB_WINDOW_NVTX;
	} else if (!strcmp(w[0], "program") && n == 2) {
		s->engine.live.plan.window_kind = TSDB_WINDOW_PROGRAM;
	} else {
		return window_usage("there is no such window");
	}
	s->engine.live.plan.glob = xstrdup(w[1]);
	return NULL;
}

struct err *cmd_capture_window(struct session *s, const struct cmd_args *a)
{
	struct err *e;
	char *path;

	TRY(capture_begin(&s->engine, RECORDER_WINDOW));
	e = parse_window(s, a->argc, a->argv);
	if (e)
		capture_forget(&s->engine);
	else
		e = capture_arm_plan(&s->engine);
	if (e)
		return e;
	path = capture_path(&s->engine);
	out_printf(s->out, "Capture window: %s -> %s\n", a->rest, path);
	free(path);
	return NULL;
}

/* --- status --- */

const char cmd_capture_status_help[] =
	"Shows the capture that is on or armed, and the file of the newest finished one.\n"
	"Example: capture status\n";

struct capture {
	const char *mode, *made;
	bool on;
	struct recorder_capture c;
};
JS_DEFINE(capture_object, "capture", capture, JS(TEXT, capture, mode), JS(BOOL, capture, on),
	JS_AS("first_seq", UINT, capture, c.first), JS_AS("last_seq", UINT, capture, c.last),
	JS_IN(UINT, capture, c, commands), JS_AS("size", UINT, capture, c.bytes),
	JS_AS("file", TEXT, capture, c.path), JS(TEXT, capture, made));

struct err *cmd_capture_status(struct session *s, const struct cmd_args *a)
{
	static const char *const words[] = {
		[RECORDER_OFF] = "off", [RECORDER_ALL] = "all", [RECORDER_WINDOW] = "window"};
	struct recorder_capture c = {0};
	bool on = s->engine.live.recorder && recorder_capture(s->engine.live.recorder, &c);
	struct buf b = BUF_INIT;
	char size[32];

	if (a->json) {
		js_put(&b, &capture_object,
			&(struct capture){words[s->engine.live.plan.mode], s->engine.live.plan.made,
				on && c.commands, c});
		buf_byte(&b, '\n');
	} else {
		if (s->engine.live.plan.mode == RECORDER_OFF)
			buf_str(&b, "No capture is on.\n");
		else if (!c.commands)
			buf_printf(&b, "Armed (%s); no command has been captured yet.\n",
				words[s->engine.live.plan.mode]);
		else
			buf_printf(&b,
				"Capturing to %s: #%" PRIu64 "-#%" PRIu64 ", %" PRIu64
				" commands, %s.\n",
				c.path, c.first, c.last, c.commands,
				words_bytes(size, sizeof size, c.bytes));
		if (s->engine.live.plan.made)
			buf_printf(&b, "The newest trace is %s.\n", s->engine.live.plan.made);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}
