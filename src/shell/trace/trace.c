/* SPDX-License-Identifier: Apache-2.0
 *
 * The open trace, see trace.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/json-put.h"
#include "shell/values/kernel-args.h"
#include "shell/analyse/races.h"
#include "shell/print/check-print.h"
#include "engine/breakpoints.h"
#include "shell/trace/ranks-view.h"
#include "shell/print/stack-view.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "sbt/vendor.h"
#include "shell/trace/trace.h"
#include "shell/stops/break-place.h"
#include "shell/script/kernel-said.h"
#include "shell/line/interrupt.h"
#include "shell/live/trust.h"
#include "base/text.h"
#include "base/words.h"

/* --- open, close --- */

bool trace_tell_damage(struct out *o, const char *path, const struct sbt_reader *r)
{
	const char *p = sbt_reader_damage(r);

	if (!p)
		return false;
	while (*p) {
		int n = (int)strcspn(p, "\n");

		if (n)
			out_warn(o, "%s: %.*s", path, n, p);
		p += n;
		p += *p == '\n';
	}
	return true;
}

struct err *trace_open(struct session *s, const char *path)
{
	if (ranks_is(path))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s is a set of traces: its ranks are replayed and looked at one at a time, each by its own trace",
				path),
			"\"tsdb info %s\" lists them; \"tsdb %s\" opens it, \"rank N\" chooses",
			path, path);
	TRY(engine_open(&s->engine, path));
	ranks_leave(&s->engine, path);
	s->focus = FOCUS_REPLAY;
	trace_tell_damage(s->out, path, s->engine.trace.reader);
	stack_tell_other_build(s);
	return NULL;
}

struct err *ranks_begin(struct session *s, const char *path)
{
	struct ranks *set;
	struct err *e;

	TRY(ranks_load(&set, path));
	e = trace_open(s, set->r[0].file);
	if (e) {
		ranks_free(set);
		return e;
	}
	ranks_free(s->engine.ranks);
	s->engine.ranks = set;
	s->engine.rank = set->r[0].rank;
	return NULL;
}

const char *trace_mark(const struct session *s)
{
	const struct replay_device *rd = s->focus == FOCUS_REPLAY ? s->engine.trace.device : NULL;

	return !rd ? "" : rd->what_if ? "(what-if) " : rd->partial ? "(partial) " : "";
}

/* ---- what the engine's hooks do -----------------------------------------------------------------
 */

/* Shown only on a terminal, and only after a second; out_progress() checks that. */
static void show_progress(void *arg, const struct engine_progress *p)
{
	struct session *s = arg;

	if (!p->what)
		out_progress_end(s->out);
	else if (!p->moving || !s->batch)
		out_progress(s->out, p->what, p->done, p->total);
}

static void show_note(void *arg, const char *text)
{
	struct session *s = arg;

	out_printf(s->out, "%s\n", text);
}

/* Prints kernels' output on standard error: standard output may be a list that another program
 * reads. */
static void show_said(void *arg, const char *text, size_t n)
{
	struct session *s = arg;
	struct buf safe = BUF_INIT;

	out_flush(s->out);
	text_safe(&safe, text, n, TEXT_LINES);
	fwrite(safe.data, 1, safe.len, out_notes(s->out));
	buf_free(&safe);
}

static void tell_trust(void *arg, bool no_sandbox)
{
	trust_tell(arg, no_sandbox);
}

static struct err *replay_opened(void *arg)
{
	struct session *s = arg;

	s->focus = FOCUS_REPLAY;
	races_forget(s);
	kernel_args_renew_conditions(s);
	return soft_settings_apply(&s->engine);
}

void trace_hooks(struct session *s)
{
	s->engine.cancel = &interrupt_flag;
	s->engine.hooks = (struct engine_hooks){.arg = s,
		.progress = show_progress,
		.note = show_note,
		.said = show_said,
		.executes = tell_trust,
		.recorded_from = break_recorded_from,
		.said_at = break_say,
		.printed = kernel_printed,
		.says = kernel_says,
		.said_all = kernel_said_all,
		.replay_opened = replay_opened};
}

/* --- what it holds --- */

static void row(struct buf *out, const char *name, const char *text)
{
	if (text && *text)
		buf_printf(out, "%-12s%s\n", name, text);
}

static void print_unreplayable(struct buf *out, const struct sbt_reader *r)
{
	const char *call;
	uint64_t n;

	for (unsigned i = 0; sbt_reader_unreplayable(r, i, &call, &n); i++)
		buf_printf(out, "not replayable: %s, %" PRIu64 " call%s\n", call, n,
			n == 1 ? "" : "s");
}

/* Appends the windows that can be executed again. */
static void print_windows(struct buf *out, struct sbt_reader *r)
{
	uint64_t first, last, pages, bytes;
	char size[32];
	unsigned n;

	for (n = 0; sbt_reader_window(r, n, &first, &last); n++)
		buf_printf(out, "%s#%" PRIu64 "-#%" PRIu64, n ? ", " : "replayable  ", first, last);
	if (!n)
		return;
	sbt_reader_memory_figures(r, &pages, &bytes);
	buf_printf(out, " on a device, with memory in %s\n", words_bytes(size, sizeof size, bytes));
}

/* The attach of the recording and what was found then, from the last keyframe, or from the whole
 * trace if it has none. to_end: includes the commands behind that keyframe. Free *ret_state.
 * Returns false if there was no attach, or the state cannot be made. */
static bool attached(
	struct sbt_reader *r, bool to_end, struct state_totals *ret, struct state **ret_state)
{
	const uint64_t last = sbt_reader_last_seq(r);
	struct err *e = state_keyframe(ret_state, r, last);

	*ret = (struct state_totals){0};
	if (!e)
		state_totals(*ret_state, ret);
	if (!e && (!ret->seq || (to_end && ret->attach_seq)) && sbt_reader_count(r)) {
		state_free(*ret_state);
		e = state_at(ret_state, r, last);
		if (!e)
			state_totals(*ret_state, ret);
	}
	if (e)
		*ret_state = NULL;
	err_free(e);
	return ret->attach_seq != 0;
}

static void print_attached(struct buf *out, struct sbt_reader *r)
{
	struct state_totals t;
	struct state *st;

	if (attached(r, true, &t, &st)) {
		buf_printf(out,
			"%-12sat #%" PRIu64 ", to a running process: %" PRIu64
			" allocations were found; commands before are not known\n",
			"attached", t.attach_seq, t.found_allocations);
		if (t.last_unknown)
			buf_printf(out, "%-12s%" PRIu64 " thing%s%s: %s\n", "not known", t.unknown,
				t.unknown == 1 ? "" : "s", t.unknown > 1 ? ", the last" : "",
				t.last_unknown);
	}
	state_free(st);
}

void trace_tell_attached(struct out *o, struct sbt_reader *r)
{
	struct state_totals t;
	struct state *st;

	if (attached(r, false, &t, &st))
		out_warn(o,
			"recorded by attaching to a running process, at #%" PRIu64
			": commands before are not known",
			t.attach_seq);
	state_free(st);
}

void trace_summary(struct buf *out, const char *path, struct sbt_reader *r)
{
	const struct sbt_meta *m = sbt_reader_meta(r);
	uint64_t n = sbt_reader_count(r), lost = sbt_reader_lost(r);
	time_t start = (time_t)(m->start_ns / 1000000000u);
	char size[32], when[64] = "";
	struct tm tm;

	if (m->start_ns && localtime_r(&start, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &tm);
	row(out, "trace", path);
	buf_printf(out, "%-12s%" PRIu64, "commands", n);
	if (n)
		buf_printf(out, ", #%" PRIu64 "-#%" PRIu64, sbt_reader_first_seq(r),
			sbt_reader_last_seq(r));
	buf_printf(out, ", %s\n", words_bytes(size, sizeof size, sbt_reader_size(r)));
	row(out, "program", m->program);
	row(out, "in", m->cwd);
	row(out, "recorded", when);
	row(out, "on", m->host);
	row(out, "device", m->gpu && *m->gpu ? m->gpu : m->soft ? "software GPU" : NULL);
	row(out, "target", m->target);
	if (sbt_meta_is_hip(m))
		buf_printf(out, "%-12s%u.%u.%u%s\n", "HIP", m->driver_version / 10000000,
			m->driver_version / 100000 % 100, m->driver_version % 100000,
			m->soft ? " (software AMD GPU)" : "");
	else if (m->driver_version)
		buf_printf(out, "%-12s%u.%u%s\n", "CUDA", m->driver_version / 1000,
			m->driver_version % 1000 / 10, m->soft ? " (software GPU)" : "");
	if (m->rank && m->ranks)
		buf_printf(out, "%-12s%" PRIu64 " of %" PRIu64 "\n", "rank", m->rank - 1,
			m->ranks - 1);
	else if (m->rank)
		buf_printf(out, "%-12s%" PRIu64 "\n", "rank", m->rank - 1);
	row(out, "by tsdb", m->tsdb);
	if (m->observed)
		row(out, "observed",
			"from outside: no memory contents, no code; its commands cannot be executed again");
	buf_printf(out, "%-12shost stacks %s, GPU times %s", "with", m->stacks ? "yes" : "no",
		m->timestamps ? "yes" : "no");
	if (sbt_reader_sources(r))
		buf_printf(out, ", the text of %u source file%s", sbt_reader_sources(r),
			sbt_reader_sources(r) == 1 ? "" : "s");
	buf_byte(out, '\n');
	print_attached(out, r);
	if (lost)
		buf_printf(out, "%-12s%" PRIu64 " command%s (`record` said why)\n", "lost", lost,
			lost == 1 ? "" : "s");
	print_windows(out, r);
	print_unreplayable(out, r);
}

struct unreplayable {
	const char *call;
	uint64_t calls;
};
JS_DEFINE(unreplayable_object, "unreplayable", unreplayable, JS(TEXT, unreplayable, call),
	JS(UINT, unreplayable, calls));

struct window {
	uint64_t first_seq, last_seq;
};
JS_DEFINE(window_object, "window", window, JS(UINT, window, first_seq, last_seq));

struct summary {
	const char *file, *damage;
	uint64_t size, commands, first_seq, last_seq, lost;
	struct sbt_meta m;
	struct state_totals t;
	struct sbt_reader *r;
	const struct trace_clocks *clocks;
	uint64_t sources;
};

static void put_calls(struct buf *out, const void *reader)
{
	const struct sbt_reader *r = *(struct sbt_reader *const *)reader;
	struct unreplayable u;

	buf_byte(out, '[');
	for (unsigned i = 0; sbt_reader_unreplayable(r, i, &u.call, &u.calls); i++)
		js_add(out, &unreplayable_object, &u);
	buf_byte(out, ']');
}

static void put_windows(struct buf *out, const void *reader)
{
	struct sbt_reader *r = *(struct sbt_reader *const *)reader;
	struct window w;

	buf_byte(out, '[');
	for (unsigned i = 0; sbt_reader_window(r, i, &w.first_seq, &w.last_seq); i++)
		js_add(out, &window_object, &w);
	buf_byte(out, ']');
}

static void put_clocks(struct buf *out, const void *member)
{
	trace_clocks_put(out, *(const struct trace_clocks *const *)member);
}

JS_DEFINE(summary_object, "trace", summary, JS(TEXT, summary, file),
	JS(UINT, summary, size, commands, first_seq, last_seq, lost),
	JS_IN(TEXT, summary, m, program, cwd, host, gpu, vendor, target, tsdb),
	JS_IN(UINT, summary, m, start_ns, pid, driver_version),
	JS_IN(BOOL, summary, m, soft, stacks, timestamps), JS_IN(ID, summary, m, rank, ranks),
	JS(UINT, summary, sources), JS_IN(BOOL, summary, m, observed),
	JS_AS("attached_at", SEQ, summary, t.attach_seq),
	JS_IN(UINT, summary, t, found_allocations, unknown), JS(TEXT, summary, damage),
	JS_BY("unreplayable", summary, r, put_calls, "[unreplayable]"),
	JS_BY("windows", summary, r, put_windows, "[window]"),
	JS_MAYBE_BY("clocks", summary, clocks, put_clocks, "[clock]"));

void trace_summary_json(
	struct buf *out, const char *path, struct sbt_reader *r, const struct trace_clocks *clocks)
{
	struct summary x = {path, NULL, sbt_reader_size(r), sbt_reader_count(r),
		sbt_reader_first_seq(r), sbt_reader_last_seq(r), sbt_reader_lost(r),
		*sbt_reader_meta(r), {0}, r, clocks, sbt_reader_sources(r)};
	struct state *st;

	x.m.rank--; /* they are one more than that; 0: not known */
	x.m.ranks--;
	if (!attached(r, true, &x.t, &st))
		x.t = (struct state_totals){0};
	x.damage = sbt_reader_damage(r); /* reading the commands may have found more */
	js_put(out, &summary_object, &x);
	buf_byte(out, '\n');
	state_free(st);
}
