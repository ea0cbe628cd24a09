/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaying: replay start, stop, step, next stream, finish stream, until, continue, reverse-step,
 * reverse-continue, goto, status; when. What only a device can do is in cmd-device.c, watching
 * memory in cmd-watch.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "replay/replay.h"
#include "engine/breakpoints.h"
#include "shell/source/source-view.h"
#include "shell/print/shown-names.h"
#include "shell/print/graph.h"
#include "shell/line/interrupt.h"
#include "shell/print/kernel-text.h"
#include "shell/script/displays.h"
#include "shell/live/process.h"
#include "shell/stops/mark-place.h"
#include "shell/analyse/races.h"
#include "engine/recorder.h"
#include "engine/replay-device.h"
#include "engine/replay-moves.h"
#include "shell/tools/tool-options.h"
#include "shell/trace/replay-run.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"
#include "base/words.h"

const char cmd_group_help[] = "";

struct err *cmd_group(struct session *s, const struct cmd_args *a)
{
	return err_cure(err_new(ERR_USAGE, "%s needs a subcommand", a->cmd->name),
		"\"help %s\" lists them", a->cmd->name);
}

/* --- where it is --- */

static void print_cmd(struct session *s, const struct sbt_cmd *c, struct buf *b, bool json)
{
	struct sbt_names names =
		kernel_names(&(struct shown_names){s, replay_state(s->engine.trace.replay)});

	if (json)
		sbt_json_cmd(b, c, &names);
	else
		sbt_print_cmd(b, c, &names);
}

/* Prints a note if the command at the replay's position has not run, because it is kept back. */
static void tell_kept(struct session *s, uint64_t seq)
{
	struct replay_device *rd = s->engine.trace.device;
	uint64_t wait = 0;

	if (!rd || !seq)
		return;
	err_free(device_kept(rd->d, seq, &wait, NULL));
	if (wait)
		out_printf(s->out, "  " REPLAYER_KEPT_BACK "\n", (unsigned long long)seq,
			(unsigned long long)wait);
}

/* Prints the kept-back command that changed what is watched, when the stop's command only released
 * it. */
static void tell_late(struct session *s, uint64_t seq, int id)
{
	const struct breakpoint *bp = breakpoints_by_id(s->engine.breaks, id);
	struct buf b = BUF_INIT;
	uint32_t stack;
	struct err *e =
		seq ? shown_cmd(&(struct shown_names){s, replay_state(s->engine.trace.replay)},
			      s->engine.trace.reader, seq, false, &b, &stack)
		    : NULL;

	if (seq && !e)
		out_printf(s->out, "  %s %s, which was kept back until then\n",
			bp && bp->watch ? "by" : "changed by", buf_cstr(&b));
	err_free(e);
	buf_free(&b);
}

static void tell_numbers(
	struct session *s, const struct replay_stop *stop, const int *others, unsigned nothers)
{
	if (stop->why == REPLAY_BREAKPOINT || stop->why == REPLAY_WATCHPOINT)
		out_printf(s->out, "%s %d, ",
			stop->why == REPLAY_BREAKPOINT ? "Breakpoint" : "Watchpoint",
			stop->breakpoint);
	for (unsigned i = 0; i < nothers; i++) {
		const struct breakpoint *bp = breakpoints_by_id(s->engine.breaks, others[i]);

		out_printf(
			s->out, "%s %d, ", bp && bp->size ? "Watchpoint" : "Breakpoint", others[i]);
	}
	if (stop->why == REPLAY_INTERRUPTED)
		out_str(s->out, "Interrupted at ");
}

/* Prints where the replay is after a move. */
static void tell_stop(struct session *s, const struct replay_move *m)
{
	const struct replay_stop *stop = &m->stop;
	const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
	const char *whole = s->engine.trace.device ? "window" : "trace";
	struct buf b = BUF_INIT;

	vars_set(s->vars, "seq", (int64_t)stop->seq);
	vars_set(s->vars, "step", 0);
	s->script.interrupted |= stop->why == REPLAY_INTERRUPTED;
	if (!displays_stop(s, stop->why == REPLAY_BREAKPOINT || stop->why == REPLAY_WATCHPOINT))
		return;
	tell_numbers(s, stop, m->others, m->nothers);
	if (stop->retired)
		out_printf(s->out, "#%" PRIu64 " has finished; at ", stop->retired);
	if (c) {
		print_cmd(s, c, &b, false);
		out_style(s->out, STYLE_STOP, "%s", buf_cstr(&b));
		out_str(s->out, "\n");
	} else {
		out_printf(s->out, "The beginning of the %s, before its first command.\n", whole);
	}
	tell_late(s, stop->late, stop->breakpoint);
	tell_kept(s, c ? c->seq : 0);
	if (c)
		source_tell_recorded(s, c);
	if (stop->why == REPLAY_END)
		out_printf(s->out, "The end of the %s.\n", whole);
	buf_free(&b);
	races_tell(s);
}

/* --- moving --- */

/* At a watchpoint, what it saw. */
static struct err *tell_watch(struct session *s, const struct replay_move *m)
{
	if (m->in_launch || breakpoints_silent(s->engine.breaks))
		return NULL;
	if (m->touch.by)
		watch_tell_touch(s, &m->touch);
	watch_tell_passed(s, m->passed);
	return m->stop.why == REPLAY_WATCHPOINT ? watch_tell(s, m->stop.breakpoint) : NULL;
}

struct err *replay_go(struct session *s, const struct move *how)
{
	struct replay_move m;

	s->focus = FOCUS_REPLAY;
	TRY(replay_move(&s->engine, how, &m));
	if (m.in_launch)
		kernel_tell(s, &m.launch);
	else if (m.in_graph)
		graph_tell(s, &m.stop, m.stop.seq, m.step);
	else
		tell_stop(s, &m);
	return how->how == MOVE_ON ? tell_watch(s, &m) : NULL;
}

struct err *replay_run_to_break(struct session *s, bool backwards)
{
	return replay_go(s, &(struct move){.how = MOVE_ON, .backwards = backwards});
}

struct err *replay_run_steps(struct session *s, uint64_t n, bool backwards, bool into)
{
	return replay_go(s,
		&(struct move){
			.how = into ? MOVE_STEPS : MOVE_COMMANDS, .n = n, .backwards = backwards});
}

/* --- commands --- */

const char cmd_replay_start_help[] =
	"Opens FILE (without one: the open trace, or the newest capture of this session) and\n"
	"starts a replay before its first command. From then on `bt`, `info`, `print`, `state\n"
	"show`, `next` and `continue` are about the replay, until `replay stop` or `run`.\n"
	"When the trace holds memory and its device is here, the commands of a capture window\n"
	"run again on it, in a process of their own, and `x` shows memory at every point;\n"
	"else the state of the GPU alone is replayed, and that is said.\n"
	"  --on soft      the software GPU of the vendor whose program it was\n"
	"  --on real      the machine's GPU\n"
	"  --on none      no device: the state alone, and all of the trace\n"
	"  --window N     the trace's Nth window, not its first\n"
	"  --touched      place only the memory that the commands name, where the device has too little for all\n"
	"  --any-device   also on another GPU than the one it was recorded on\n"
	"  --no-sandbox   execute the trace outside the sandbox, with all your rights\n"
	"`set replay device` chooses for all. Commands are executed one after the other, in the\n"
	"order in which they were submitted, so that a position has the same bytes however it is\n"
	"reached; `set replay order concurrent` lets streams overlap.\n"
	"Example: replay start app.sbt --on soft\n";

struct start {
	struct replay_choice choice;
	const char *file; /* NULL: none given */
};

static struct err *start_options(const struct cmd_args *a, struct start *ret)
{
	uint64_t window;

	for (unsigned i = 0; i < a->argc; i++) {
		const char *w = a->argv[i];
		const bool on = tool_option_is("--on", w, strlen(w));
		const bool valued = on || !strcmp(w, "--window");

		if (valued && i + 1 == a->argc)
			return err_cure(err_new(ERR_USAGE, "%s needs a value", w),
				"See \"help replay start\"");
		if (on) {
			TRY(replay_on_parse(a->argv[++i], &ret->choice.on));
		} else if (!strcmp(w, "--window")) {
			if (!word_u64(a->argv[++i], &window) || !window || window > UINT32_MAX)
				return err_cure(
					err_new(ERR_USAGE, "\"%s\" is no window", a->argv[i]),
					"They are numbered from 1");
			ret->choice.window = (unsigned)window - 1;
		} else if (!strcmp(w, "--touched")) {
			ret->choice.touched = true;
		} else if (!strcmp(w, "--any-device")) {
			ret->choice.any_device = true;
		} else if (!strcmp(w, "--no-sandbox")) {
			ret->choice.no_sandbox = true;
		} else if (*w == '-' || ret->file) {
			return err_cure(
				err_new(ERR_USAGE,
					*w == '-' ? "replay start has no option %s"
						  : "replay start takes one file, not also %s",
					w),
				"Put quotes around a name with blanks; see \"help replay start\"");
		} else {
			ret->file = w;
		}
	}
	return NULL;
}

static void tell_start(struct session *s)
{
	const struct replay_device *rd = s->engine.trace.device;
	struct buf b = BUF_INIT;
	char size[32];

	buf_printf(&b, "Replaying %s: %" PRIu64 " commands, #%" PRIu64 "-#%" PRIu64 ".\n",
		s->engine.trace.path, sbt_reader_count(s->engine.trace.reader),
		sbt_reader_first_seq(s->engine.trace.reader),
		sbt_reader_last_seq(s->engine.trace.reader));
	if (rd) {
		buf_printf(&b, "On %s: window #%" PRIu64 "-#%" PRIu64 ", %s of memory.\n",
			replay_device_name(rd), rd->first, rd->last,
			words_bytes(size, sizeof size, device_info(rd->d).bytes));
		replay_device_notes(rd, "  ", &b);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

struct err *cmd_replay_start(struct session *s, const struct cmd_args *a)
{
	const char *made = s->engine.live.plan.made;
	struct start o = {.choice = replay_choice_default(&s->engine)};
	struct recorder_capture c;

	TRY(start_options(a, &o));
	if (s->engine.live.recorder && recorder_capture(s->engine.live.recorder, &c) &&
		c.commands && !o.file)
		return err_cure(err_new(ERR_STATE, "the capture to %s is still going on", c.path),
			"Use \"capture stop\" first");
	if (o.file)
		TRY(trace_open(s, o.file));
	else if (made && (!s->engine.trace.path || strcmp(s->engine.trace.path, made)))
		TRY(trace_open(s, made));
	else if (!s->engine.trace.reader)
		return err_cure(err_new(ERR_STATE, "there is no trace to replay"),
			"Use \"replay start FILE\", or \"capture start\" and \"run\"");
	TRY(engine_replay(&s->engine, &o.choice));
	tell_start(s);
	return NULL;
}

const char cmd_replay_stop_help[] =
	"Ends the replay and the process that executed it. The trace stays open; commands are\n"
	"about the live program again, if there is one.\n";

struct err *cmd_replay_stop(struct session *s, const struct cmd_args *a)
{
	engine_replay_end(&s->engine);
	if (s->engine.live.recorder)
		s->focus = FOCUS_LIVE;
	return NULL;
}

const char cmd_replay_step_help[] =
	"Submits the next N commands of the trace (1 without N) and shows the last of them. The\n"
	"nodes of a graph launch are steps of their own, #214.1 and so on, in an order that its\n"
	"edges allow; `replay next` takes the launch as one, `replay finish` goes to its end, and\n"
	"`set replay graph-nodes off` has `step` take it as one, too.\n"
	"Examples: replay step\n"
	"          replay step 3\n";

struct err *cmd_replay_step(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return replay_run_steps(s, n, false, true);
}

const char cmd_replay_next_help[] =
	"Submits the next command, a graph launch as a whole. With a stream:\n"
	"Finishes the command at the head of stream N, submitting commands only until there\n"
	"is one. When that command waits for another stream, says for what. So one stream can\n"
	"be moved while the others stand still.\n"
	"Example: replay next stream 2\n";

struct err *cmd_replay_next(struct session *s, const struct cmd_args *a)
{
	uint64_t v;

	if (!a->argc)
		return replay_run_steps(s, 1, false, false);
	if (a->argc > 2 || (a->argc == 2 && strncmp("stream", a->argv[0], strlen(a->argv[0]))) ||
		!word_u64(a->argv[a->argc - 1], &v) || v > UINT32_MAX)
		return err_cure(err_new(ERR_USAGE, "\"replay next %s\" names no stream", a->rest),
			"Use \"replay next stream 2\"");
	return replay_go(s, &(struct move){.how = MOVE_STREAM, .stream = (uint32_t)v});
}

const char cmd_replay_finish_help[] =
	"Finishes all that is submitted on stream N, and what that waits for on others; submits\n"
	"nothing. Without a stream, inside a graph launch: goes to the launch's end.\n"
	"Example: replay finish stream 2\n";

struct err *cmd_replay_finish(struct session *s, const struct cmd_args *a)
{
	uint64_t v;

	if (!a->argc && graph_place(s))
		return replay_go(s, &(struct move){.how = MOVE_LEAVE});
	if (!a->argc || a->argc > 2 ||
		(a->argc == 2 && strncmp("stream", a->argv[0], strlen(a->argv[0]))) ||
		!word_u64(a->argv[a->argc - 1], &v) || v > UINT32_MAX)
		return err_cure(err_new(ERR_USAGE, "replay finish needs a stream"),
			"Use \"replay finish stream 2\"");
	return replay_go(s, &(struct move){.how = MOVE_DRAIN, .stream = (uint32_t)v});
}

const char cmd_replay_until_help[] =
	"Replays forwards to the command with number SEQ, without stopping at breakpoints; SEQ.STEP\n"
	"is a step of a graph launch.\n"
	"Example: replay until 143\n";

static struct err *go_to_step(struct session *s, uint64_t seq, uint32_t step)
{
	return replay_go(s, &(struct move){.how = MOVE_NODE, .seq = seq, .step = step});
}

static struct err *until_step(struct session *s, uint64_t seq, uint32_t step)
{
	const struct graph_place *p = graph_place(s);
	const uint64_t at = replay_seq(s->engine.trace.replay);

	if (seq < at || (seq == at && (!p || step < p->step)))
		return err_cure(
			err_new(ERR_USAGE, "#%" PRIu64 ".%" PRIu32 " lies behind the replay", seq,
				step),
			"\"replay goto\" goes there");
	return go_to_step(s, seq, step);
}

bool replay_is_position(const char *word)
{
	uint32_t step;
	uint64_t seq;

	return (strchr(word, '.') && step_position(word, &seq, &step)) || word_u64(word, &seq);
}

struct err *cmd_replay_until(struct session *s, const struct cmd_args *a)
{
	uint32_t step;
	uint64_t seq;

	if (a->argc == 1 && strchr(a->argv[0], '.') && step_position(a->argv[0], &seq, &step))
		return until_step(s, seq, step);
	if (a->argc != 1 || !word_u64(a->argv[0], &seq))
		return err_cure(err_new(ERR_USAGE, "replay until needs a command's number"),
			"Use \"replay until 143\"");
	return replay_go(s, &(struct move){.how = MOVE_UNTIL, .seq = seq});
}

const char cmd_replay_continue_help[] =
	"Goes on to the next command that a breakpoint matches, or to the end of the trace.\n"
	"A stop is right after the command was submitted; at a kernel of a graph launch (`break\n"
	"kernel GLOB`) it is right before that node.\n";

struct err *cmd_replay_continue(struct session *s, const struct cmd_args *a)
{
	if (kernel_stop(s))
		return kernel_go(s, SOFT_RUN, 0);
	return replay_run_to_break(s, false);
}

const char cmd_replay_reverse_step_help[] =
	"Goes back: undoes the newest `replay next stream`, else takes back N commands (1\n"
	"without N), the nodes of a graph launch one by one; `reverse-next` takes it as one.\n"
	"Example: replay reverse-step 3\n";

struct err *cmd_replay_reverse_step(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return replay_run_steps(s, n, true, true);
}

const char cmd_replay_reverse_next_help[] =
	"Takes back N commands (1 without N), a graph launch as one.\n"
	"Example: reverse-next 3\n";

struct err *cmd_replay_reverse_next(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return replay_run_steps(s, n, true, false);
}

const char cmd_replay_reverse_continue_help[] =
	"Goes back to the previous command that a breakpoint matches, or to the beginning.\n";

struct err *cmd_replay_reverse_continue(struct session *s, const struct cmd_args *a)
{
	if (kernel_stop_any(s))
		return kernel_go(s, SOFT_BACK_RUN, 0);
	return replay_run_to_break(s, true);
}

const char cmd_replay_goto_help[] =
	"Goes to the command with number SEQ, forwards or backwards; `begin` (or 0) is before\n"
	"the first command, `end` the last one. On a device, within the window. Inside a graph\n"
	"launch, 214.3 is right behind the third of its steps (`info graph`), 214.0 before them.\n"
	"mark NAME, nvtx NAME: the first mark, or beginning of a range, of that name (*, ?), or the Kth.\n"
	"Examples: replay goto 143\n"
	"          goto nvtx step* nth 3\n";

struct err *cmd_replay_goto(struct session *s, const struct cmd_args *a)
{
	const struct sbt_reader *r = s->engine.trace.reader;
	uint32_t step = UINT32_MAX;
	uint64_t seq;

	if (a->argc == 1 && !strcmp(a->argv[0], "begin"))
		seq = 0;
	else if (a->argc == 1 && !strcmp(a->argv[0], "end"))
		seq = s->engine.trace.device ? s->engine.trace.device->last
					     : sbt_reader_last_seq(r);
	else if (a->argc == 1 && strchr(a->argv[0], '.') && step_position(a->argv[0], &seq, &step))
		return go_to_step(s, seq, step);
	else if (a->argc > 1 && (!strcmp(a->argv[0], "nvtx") || !strcmp(a->argv[0], "mark")))
		TRY(mark_place(s, a->rest + strlen(a->argv[0]), &seq));
	else if (a->argc != 1 || !word_u64(a->argv[0], &seq))
		return err_cure(err_new(ERR_USAGE, "replay goto needs a command's number"),
			"Use \"replay goto 143\", or begin, or end");
	return replay_go(s, &(struct move){.how = MOVE_GOTO, .seq = seq});
}

/* --- when --- */

const char cmd_when_help[] =
	"Shows the command that the replay is at and how far that is in the trace; for a\n"
	"live program, the command it stopped at. (what-if) when the run on the device was\n"
	"changed by `set memory`, `set arg` or `replay swap`.\n"
	"Example: when\n";

JS_DEFINE(place_object, "graph_position", graph_place, JS(UINT, graph_place, step),
	JS_AS("steps", UINT, graph_place, steps.n), JS(BOOL, graph_place, before));
JS_DEFINE(inside_object, "kernel_position", soft_stop, JS(UINT, soft_stop, seq),
	JS_AS("code_line", UINT, soft_stop, line));

struct position {
	uint64_t seq, last_seq;
	bool on_device, soft, what_if, partial;
	const char *file;
	const struct graph_place *place; /* NULL: in no graph launch */
	const struct soft_stop *inside;	 /* NULL: not under the microscope */
	struct sbt_cmd_ref cmd;
};
JS_DEFINE(position_object, "position", position, JS(UINT, position, seq, last_seq),
	JS(BOOL, position, on_device, soft, what_if, partial), JS(TEXT, position, file),
	JS_OF("in_graph", POINTER, position, place, place_object),
	JS_OF("in_kernel", POINTER, position, inside, inside_object),
	JS_BY("command", position, cmd, sbt_json_ref, "command or null"));

static struct err *when_replay(struct session *s, bool json)
{
	const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
	uint64_t seq = replay_seq(s->engine.trace.replay),
		 last = sbt_reader_last_seq(s->engine.trace.reader);
	const struct replay_device *rd = s->engine.trace.device;
	const struct graph_place *place = graph_place(s);
	struct buf b = BUF_INIT;

	if (json) {
		const struct sbt_names names = state_names(replay_state(s->engine.trace.replay));

		js_put(&b, &position_object,
			&(struct position){seq, last, rd, rd && rd->soft, rd && rd->what_if,
				rd && rd->partial, s->engine.trace.path, place, kernel_stop(s),
				{c, &names}});
		buf_byte(&b, '\n');
	} else if (place) {
		graph_print_place(&b, s, place);
		buf_printf(&b,
			"\nIn #%" PRIu64 " of #%" PRIu64 "-#%" PRIu64 " in %s, after %" PRIu32
			" of its %" PRIu32 " steps\n",
			seq, sbt_reader_first_seq(s->engine.trace.reader), last,
			s->engine.trace.path, place->step, place->steps.n);
	} else if (c) {
		print_cmd(s, c, &b, false);
		buf_printf(&b, "\n#%" PRIu64 " of #%" PRIu64 "-#%" PRIu64 " in %s\n", seq,
			sbt_reader_first_seq(s->engine.trace.reader), last, s->engine.trace.path);
	} else {
		buf_printf(&b, "At the beginning of %s, before #%" PRIu64 "\n",
			s->engine.trace.path,
			rd ? rd->first : sbt_reader_first_seq(s->engine.trace.reader));
	}
	if (!json && kernel_stop(s)) {
		const struct soft_stop *t = kernel_stop(s);
		char line[KERNEL_LINE_ROOM];

		buf_printf(&b,
			"Inside #%" PRIu64
			", block (%u,%u,%u), thread (%u,%u,%u), %s%s, after %" PRIu64
			" instructions of its %s\n",
			t->seq, t->block[0], t->block[1], t->block[2], t->thread[0], t->thread[1],
			t->thread[2], t->unit == SOFT_CODE ? "code at " : "PTX line ",
			kernel_line(line, t->unit, t->line), t->step,
			t->unit == SOFT_CODE ? "wave" : "warp");
	}
	if (!json && rd) {
		buf_printf(&b, "On %s, window #%" PRIu64 "-#%" PRIu64, replay_device_name(rd),
			rd->first, rd->last);
		buf_str(&b, rd->what_if ? "; not as recorded (what-if)" : "");
		buf_str(&b, rd->partial ? "; commands are left out (partial)\n" : "\n");
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

struct err *cmd_when(struct session *s, const struct cmd_args *a)
{
	const struct sbt_cmd *c;
	struct buf b = BUF_INIT;
	struct shown_names of;
	struct sbt_names names;

	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay)
		return when_replay(s, a->json);
	if (!session_cmd(s, &c))
		return err_cure(
			err_new(ERR_STATE,
				"the program is not stopped at a GPU command, and no replay is on"),
			"Use \"break\" and \"run\", or \"replay start\"");
	of = (struct shown_names){s, recorder_state(s->engine.live.recorder)};
	names = a->json ? state_names(of.st) : kernel_names(&of);
	if (a->json)
		sbt_json_cmd(&b, c, &names);
	else
		sbt_print_cmd(&b, c, &names);
	out_printf(s->out, "%s\n", buf_cstr(&b));
	buf_free(&b);
	return NULL;
}
