/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program's notes and stops, see live-text.h. Those of a recording go to standard error,
 * to keep them out of the program's output.
 */
#include "shell/source/source-view.h"
#include "shell/analyse/why-stop.h"
#include "shell/live/live-text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/text.h"
#include "base/words.h"
#include "engine/breakpoints.h"
#include "shell/stops/break-place.h"
#include "shell/analyse/races.h"
#include "shell/live/fault.h"
#include "shell/print/graph.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "shell/script/displays.h"
#include "shell/values/vars.h"

#define LOST_IF_FAULT "copies of device memory will be lost if the device faults: "
#define KEEPER_ENDED "tsdb-keeper, the process that has them, "
#define KEEPER_CURE "; `set capture keep off` and `set capture keep on` start another"

/* --- signals --- */

const char *signal_name(int sig)
{
	static char real[16];
	static char name[24];
	const char *abbrev = sig > 0 && sig < LIVE_SIGNALS ? sigabbrev_np(sig) : NULL;

	if (abbrev) {
		snprintf(name, sizeof name, "SIG%s", abbrev);
		return name;
	}
	if (sig < SIGRTMIN || sig > SIGRTMAX)
		return NULL;
	snprintf(real, sizeof real, "SIG%d", sig);
	return real;
}

const char *signal_text(int sig)
{
	const char *text = sigdescr_np(sig);

	return text ? text : "real-time signal";
}

/* --- the keeper --- */

static void tell_keeper_end(struct session *s, int status)
{
	if (WIFSIGNALED(status))
		out_warn(s->out, LOST_IF_FAULT KEEPER_ENDED "was killed by %s" KEEPER_CURE,
			signal_name(WTERMSIG(status)));
	else
		out_warn(s->out, LOST_IF_FAULT KEEPER_ENDED "ended with status %d" KEEPER_CURE,
			WEXITSTATUS(status));
}

/* --- captures --- */

/* Prints "[captured #143-#1204 -> app.sbt, 1.1 MB, memory 8.0 GB in 1.2 GB]". */
static void tell_captured(
	struct session *s, bool recording, const struct recorder_capture *c, bool window)
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
	if (recording) {
		if (c->commands)
			text_print(out_notes(s->out), "%s\n", buf_cstr(&line));
	} else {
		out_style(s->out, STYLE_NOTE, "%s", buf_cstr(&line));
		out_str(s->out, "\n");
	}
	buf_free(&line);
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

/* --- attaching --- */

/* Prints that the agent waits for the device, what is not known until then, and what the device was
 * doing. */
static void tell_blocked(struct session *s, const struct attach_result *r)
{
	out_str(s->out,
		".\nThe GPU does not come to an end: CUPTI, which reports GPU calls, waits for the work that was there. Capture begins when that is over.\n");
	out_str(s->out,
		"Not known until then: contexts, streams, memory and kernels from before. `info threads` and `bt` show where the host waits.\n");
	for (const char *at = r->busy, *end; *at; at = end + (*end == '\n')) {
		end = at + strcspn(at, "\n");
		out_printf(s->out, "  %.*s\n", (int)(end - at), at);
	}
}

static void tell_attached(
	struct session *s, bool recording, pid_t pid, const struct attach_result *r)
{
	out_printf(s->out, "Attached to process %d (%s), %u thread%s; it was held up for %.1f ms",
		pid, r->name, r->threads, r->threads == 1 ? "" : "s", (double)r->pause_ns / 1e6);
	if (r->held)
		out_str(s->out,
			".\nThe agent of an earlier attach is still in a call of the GPU driver that does not return: the GPU does not come to an end. No GPU call is seen, and "
			"nothing is known of the GPU.\n`info threads` and `bt` show where the host waits. When the GPU's work has ended, `detach` and attach again.\n");
	else if (r->blocked)
		tell_blocked(s, r);
	else if (r->waiting)
		out_str(s->out, ".\nIt has not used the GPU yet: capture begins when it does.\n");
	else
		out_printf(s->out, ", and the agent was up %.1f ms later.\n",
			(double)r->start_ns / 1e6);
	if (r->stopped && recording)
		out_printf(s->out,
			"It was stopped (by SIGSTOP or Ctrl-Z), and is until `kill -CONT %d`.\n",
			(int)pid);
	else if (r->stopped)
		out_str(s->out,
			"It was stopped (by SIGSTOP or Ctrl-Z): `continue` wakes it, `detach` leaves it stopped.\n");
}

/* --- notes --- */

static void tell_other_program(struct session *s, const struct live *l, pid_t pid)
{
	if (!l->recording)
		out_style(s->out, STYLE_NOTE, "[process %d is executing another program]\n", pid);
	if (inferior_attached(l->inf) && l->recording)
		out_warn(s->out,
			"the agent went with the old program: `tsdb record -p %d` records what the new one does",
			pid);
}

/* The notes that are one sentence, with the note's text in it. */
static const struct {
	bool warning;
	const char *sentence, *otherwise;
} sentences[] = {
	[LIVE_NOTE_SOFT] = {true, "no NVIDIA driver here: using the software GPU%s", ""},
	[LIVE_NOTE_SOFT_AMD] = {true, "no AMD GPU here: using the software AMD GPU%s", ""},
	[LIVE_NOTE_NO_AGENT] = {true, "no GPU commands are captured: %s",
		"the agent could not start"},
	[LIVE_NOTE_NO_KEEPER] = {true, LOST_IF_FAULT "%s", ""},
	[LIVE_NOTE_NO_PYTHON] = {true, "%s", "host stacks do not show Python functions"},
	[LIVE_NOTE_RINGS] = {true, "%s", ""},
	[LIVE_NOTE_UNREPLAYABLE] = {true, "not replayable: %s", ""},
	[LIVE_NOTE_OVERWRITES] = {true, "overwriting the trace %s", ""},
	[LIVE_NOTE_CLOSES] = {true, "closing the open trace %s: it is captured anew", ""},
	[LIVE_NOTE_LACKS_MEMORY] = {true,
		"the capture cannot be run again on a device, some of its memory is missing: %s",
		"the program ended before all of it was recorded"},
	[LIVE_NOTE_LACKS_END] = {true,
		"the capture can be run again on a device, but there is nothing to compare "
		"the result with: %s",
		"the program died in the window"},
	[LIVE_NOTE_ENDS_LATER] = {false,
		"The capture ends at the program's next GPU command; its memory is recorded then.%s\n",
		""},
	[LIVE_NOTE_AWAITS] = {false, "Waiting for a process called %s (Ctrl-C ends that).\n", ""},
	[LIVE_NOTE_WOKEN] = {false, "[it was stopped: it gets SIGCONT]%s\n", ""},
};

static void tell_sentence(struct session *s, const struct live_note *n)
{
	const char *text = n->text ? n->text : sentences[n->kind].otherwise,
		   *sentence = sentences[n->kind].sentence, *at = strstr(sentence, "%s");
	char *line = xasprintf("%.*s%s%s", (int)(at - sentence), sentence, text, at + 2);

	if (sentences[n->kind].warning)
		out_warn(s->out, "%s", line);
	else
		out_str(s->out, line);
	free(line);
}

static void tell_end(struct session *s, const struct live_stop *stop)
{
	if (stop->why == STOP_EXITED)
		vars_set(s->vars, "_exitcode", stop->status);
	if (s->engine.live.recording)
		return;
	if (stop->why == STOP_KILLED)
		out_style(s->out, STYLE_STOP, "[process %d killed by %s, %s]", stop->pid,
			signal_name(stop->signal), signal_text(stop->signal));
	else if (stop->status)
		out_style(s->out, STYLE_STOP, "[process %d exited with code %d]", stop->pid,
			stop->status);
	else
		out_style(s->out, STYLE_NOTE, "[process %d exited normally]", stop->pid);
	out_str(s->out, "\n");
	break_tell_never_hit(s);
}

void live_note_tell(struct session *s, struct engine *en, const struct live_note *n)
{
	const bool recording = en->live.recording;

	switch (n->kind) {
	case LIVE_NOTE_CAPTURED:
		tell_captured(s, recording, n->captured, n->window);
		break;
	case LIVE_NOTE_LOST:
		tell_lost(s, n->losses);
		break;
	case LIVE_NOTE_OTHER_PROGRAM:
		tell_other_program(s, &en->live, n->pid);
		break;
	case LIVE_NOTE_ATTACHED:
		tell_attached(s, recording, n->pid, n->attached);
		break;
	case LIVE_NOTE_KEEPER_ENDED:
		tell_keeper_end(s, n->status);
		break;
	case LIVE_NOTE_ENDED:
		races_tell_live(s);
		if (en == &s->engine)
			tell_end(s, n->ended);
		break;
	default:
		tell_sentence(s, n);
		break;
	}
}

/* --- stops --- */

static void tell_cmd(struct session *s, uint64_t seq)
{
	struct live *l = &s->engine.live;
	struct sbt_names names =
		kernel_names(&(struct shown_names){s, recorder_state(l->recorder)});
	struct buf b = BUF_INIT;

	if (l->at_cmd)
		sbt_print_cmd(&b, &l->cmd, &names);
	else
		buf_printf(&b, "#%llu", (unsigned long long)seq);
	out_style(s->out, STYLE_STOP, "%s", buf_cstr(&b));
	out_str(s->out, "\n");
	buf_free(&b);
}

/* For a breakpoint on a kernel that a graph launch runs: prints which of its steps it is. */
static void tell_node(struct session *s, const struct live_stop *stop)
{
	struct buf b = BUF_INIT;

	if (!stop->step)
		return;
	buf_printf(&b, "  its step %u of %u is ", stop->step, stop->steps);
	graph_node_text(&b, recorder_state(s->engine.live.recorder), &stop->node);
	buf_str(&b, "; a replay stops right before it\n");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

static void tell_breakpoints(struct session *s, const struct live_stop *stop)
{
	out_printf(s->out, "%s %d, ", stop->temporary ? "Temporary breakpoint" : "Breakpoint",
		stop->breakpoint);
	for (unsigned i = 0; i < stop->nothers; i++)
		out_printf(s->out, "Breakpoint %d, ", stop->others[i]);
}

/* Prints what comes before the command of an agent's stop. */
static void tell_why(struct session *s, const struct live_stop *stop)
{
	switch (stop->why) {
	case STOP_BREAKPOINT:
		vars_set(s->vars, "bpnum_hit", stop->breakpoint);
		if (!breakpoints_silent(s->engine.breaks))
			tell_breakpoints(s, stop);
		break;
	case STOP_FAULT:
	case STOP_FAILED_CALL:
		fault_tell(s, &stop->fault);
		break;
	case STOP_WINDOW_CLOSED:
		if (stop->goes_on)
			out_str(s->out,
				"A stream is being captured: the window is complete when that is over.\n");
		out_str(s->out, "The capture window is closed, ");
		break;
	case STOP_TRIGGER:
		out_str(s->out, "The program's trigger, ");
		break;
	case STOP_AGENT:
		out_str(s->out, "Stopped by the agent, ");
		break;
	default:
		break;
	}
}

static void tell_signal(struct session *s, int sig)
{
	out_style(s->out, STYLE_STOP, "Program received signal %s, %s.", signal_name(sig),
		signal_text(sig));
	out_str(s->out, "\n");
	stack_tell_top(s);
	source_tell_live(s);
}

void live_stop_tell(struct session *s, const struct live_stop *stop)
{
	switch (stop->why) {
	case STOP_NONE:
	case STOP_SERVED:
		return;
	case STOP_EXITED:
	case STOP_KILLED:
		tell_end(s, stop);
		return;
	case STOP_SIGNAL:
	case STOP_INTERRUPTED:
		if (!s->engine.live.recording) {
			displays_stop(s, false);
			tell_signal(s, stop->signal);
		}
		s->script.interrupted |= stop->why == STOP_INTERRUPTED;
		if (stop->why == STOP_INTERRUPTED)
			why_at_interrupt(s);
		return;
	default:
		break;
	}
	vars_set(s->vars, "seq", (int64_t)stop->seq);
	displays_stop(s, stop->why == STOP_BREAKPOINT);
	tell_why(s, stop);
	if (stop->why == STOP_BREAKPOINT && breakpoints_silent(s->engine.breaks))
		return;
	if ((stop->why == STOP_FAULT || stop->why == STOP_FAILED_CALL) && !*stop->fault.error.call)
		return; /* the device says so itself: the stop is in its thread */
	tell_cmd(s, stop->seq);
	tell_node(s, stop);
	source_tell_live(s);
}
