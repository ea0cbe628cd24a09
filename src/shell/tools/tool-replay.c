/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb replay FILE`: executes the trace's windows on a device and compares with the recording,
 * without a prompt. Exit status 0 only when all that was recorded came out the same, 3 when
 * something differs, 1 when it could not be done.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/json-put.h"
#include "sbt/memory.h"
#include "engine/partial.h"
#include "engine/replay-order.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "shell/print/replay-print.h"
#include "shell/print/verdict-text.h"
#include "base/words.h"

struct tool_replay {
	struct session *s;
	struct tool_options tool;
	const char *file;
	struct partial partial;
	struct buf out;		/* the windows' JSON */
	bool started;		/* in the order in which the GPU started them */
	bool verified, faulted; /* faulted: as recorded */
	uint64_t recorded;	/* commands whose effects were taken from the recording */
	bool differs, bare;	/* something differs; a window has nothing to compare with */
	bool freed;		/* bare, because the program had freed its memory at the end */
	bool late;		/* bare, because its outputs could not be looked at in time */
	bool mixed; /* bare: kernels and the program itself wrote to the memory that it freed */
};

#define USAGE                                                                                                                                     \
	"Use: tsdb replay FILE [--verify] [--on auto|soft|real] [--window N] [--stream N[,M] [--alone] | --range A-B | --kernel GLOB [--nth K]] " \
	"[--order fixed|concurrent|started] [--touched] [--any-device] [--json]"

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

/* --- options --- */

/* Options without a value; true when w is one. */
static bool take_flag(struct tool_replay *t, const char *w)
{
	if (!strcmp(w, "--verify"))
		return true; /* this is always done */
	if (!strcmp(w, "--alone"))
		t->partial.alone = true;
	else if (!strcmp(w, "--touched"))
		t->tool.choice.touched = true;
	else
		return false;
	return true;
}

static struct err *take_value(struct tool_replay *t, const char *name, const char *value)
{
	if (!strcmp(name, "--nth"))
		return word_u64(value, &t->partial.nth) && t->partial.nth
			       ? NULL
			       : usage("\"%s\" is no count of launches, from 1", value);
	if (!strcmp(name, "--order")) {
		t->started = !strcmp(value, "started");
		return t->started ? NULL : replay_order_parse(value, &t->tool.choice.overlap);
	}
	if (t->partial.kind)
		return usage(
			"only one of --stream, --range and --kernel can be replayed, not also %s",
			value);
	if (!strcmp(name, "--stream"))
		return partial_streams(&t->partial, value);
	if (!strcmp(name, "--range"))
		return partial_range(&t->partial, value);
	t->partial.kind = PARTIAL_KERNEL;
	t->partial.kernel = value;
	return NULL;
}

static struct err *take_options(struct tool_replay *t, int argc, char **argv)
{
	static const char *const valued[] = {
		"--stream", "--range", "--kernel", "--nth", "--order", NULL};

	TRY(tool_options_take(&t->tool, USAGE, &argc, argv));
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value,
			   *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
			TRY(take_value(t, name, value));
		else if (take_flag(t, w))
			continue;
		else if (*w == '-' || t->file)
			return usage("replay has no option %s", w);
		else
			t->file = w;
	}
	if (!t->file)
		return usage("replay needs a trace%s", "");
	if (t->partial.alone && t->partial.kind != PARTIAL_STREAMS)
		return usage("--alone goes with --stream%s", "");
	if (t->started && t->partial.kind)
		return usage("--order started executes whole windows%s", "");
	if (t->partial.nth && t->partial.kind != PARTIAL_KERNEL)
		return usage("--nth goes with --kernel%s", "");
	t->partial.nth = t->partial.nth ? t->partial.nth : 1;
	return NULL;
}

/* --- telling --- */

/* What was not executed was not verified either: it is as recorded because it was copied from
 * there. */
static void tell_recorded(const struct device_info *info, struct buf *b)
{
	if (!info->recorded && !info->left_out)
		return;
	buf_printf(b, "%" PRIu64 " command%s executed", info->work, info->work == 1 ? "" : "s");
	if (info->recorded)
		buf_printf(b, ", what %" PRIu64 " more did is taken from the recording",
			info->recorded);
	if (info->left_out)
		buf_printf(b, ", %" PRIu64 " left out", info->left_out);
	buf_byte(b, '\n');
}

static void tell_window(struct tool_replay *t, const struct replay_device *rd,
	const struct device_verified *v, const struct verdict *why, double seconds)
{
	struct device_info info = device_info(rd->d);
	struct buf b = BUF_INIT;
	char size[32];

	if (t->tool.json) {
		replayed_json(t->s, &t->out, v, why, seconds);
		return;
	}
	buf_printf(&b, "#%" PRIu64 "-#%" PRIu64 " executed again on %s, %s of memory, in %.2f s\n",
		info.first, info.last, replay_device_name(rd),
		words_bytes(size, sizeof size, info.bytes), seconds);
	replay_device_notes(rd, "  ", &b);
	if (v->sums.pieces || v->sums.outputs || v->sums.freed)
		device_verified_print(&b, v);
	else
		buf_str(&b,
			"The program has no memory at the window's end: there is nothing to compare.");
	buf_byte(&b, '\n');
	tell_recorded(&info, &b);
	replay_device_fault(rd, &b);
	verdict_print(t->s, why, &b);
	out_str(t->s->out, buf_cstr(&b));
	buf_free(&b);
}

static void tell_partial(struct tool_replay *t, const struct replay_device *rd,
	const struct partial_result *r, double seconds)
{
	struct buf b = BUF_INIT;

	if (t->tool.json) {
		partial_json(&t->out, rd, r, seconds);
		return;
	}
	buf_printf(&b, "#%" PRIu64 "-#%" PRIu64 " in part, executed again on %s, in %.2f s\n",
		rd->first, r->at, replay_device_name(rd), seconds);
	replay_device_notes(rd, "  ", &b);
	partial_print(&b, r);
	out_str(t->s->out, buf_cstr(&b));
	buf_free(&b);
}

/* --- running --- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct err *run_part(struct tool_replay *t, double begin)
{
	struct replay_device *rd = t->s->engine.trace.device;
	struct partial_result r;

	TRY(partial_run(&t->s->engine, rd, &t->partial, &r));
	tell_partial(t, rd, &r, now() - begin);
	t->differs = t->differs || !partial_ok(&r);
	t->bare = t->bare || !r.allocations;
	partial_free(&r);
	return NULL;
}

static struct err *run_to_end(
	struct session *s, struct replay_device *rd, struct device_verified *ret)
{
	struct replay_stop stop;

	TRY(replay_until(s->engine.trace.replay, rd->last, &stop));
	if (stop.why == REPLAY_INTERRUPTED)
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, stop.seq);
	return device_verify(rd->d, ret);
}

/* The verdict of a replay with --order started: the search for a cause needs the usual order. */
static struct verdict not_asked(const struct device_verified *v)
{
	struct verdict why = {.node = SBT_NO_ID, .with_node = SBT_NO_ID};

	if (device_verified_ok(v))
		return why;
	why.kind = VERDICT_OPEN;
	why.reason = VERDICT_NOT_ASKED;
	return why;
}

/* Reports that the replay failed where the recording did. */
static void tell_as_recorded(
	struct tool_replay *t, const struct replay_device *rd, const struct err *e)
{
	const struct device_fault f = device_info(rd->d).fault;

	if (t->tool.json)
		faulted_json(&t->out, rd);
	else
		out_printf(t->s->out,
			"%s\nFailed as recorded: #%" PRIu64
			" told the program, CUDA error %u. Nothing can be compared after a fault.\n",
			e->what, f.told, f.code);
}

static struct err *run_window(struct tool_replay *t, unsigned i)
{
	struct device_verified v;
	struct replay_device *rd;
	struct verdict why;
	double begin = now();

	t->tool.choice.window = i;
	TRY(engine_replay(&t->s->engine, &t->tool.choice));
	rd = t->s->engine.trace.device;
	if (t->partial.kind)
		return run_part(t, begin);
	struct err *e = t->started ? replay_order_verify(&t->s->engine, NULL, &v)
				   : run_to_end(t->s, rd, &v);
	if (e && device_failed_as_recorded(rd->d)) {
		tell_as_recorded(t, rd, e);
		t->faulted = true;
		err_free(e);
		return NULL;
	}
	TRY(e);
	const double seconds = now() - begin;
	if (t->started)
		why = not_asked(&v);
	else
		verdict_find(&t->s->engine, &v, &why);
	tell_window(t, rd, &v, &why, seconds);
	verdict_free(&why);
	t->recorded += device_info(rd->d).recorded;
	const bool faulted = device_info(rd->d).fault.told; /* in the recording, but not here */
	t->differs = t->differs || !device_verified_ok(&v) || faulted;
	t->bare =
		t->bare || (!faulted && device_info(rd->d).bytes &&
				   v.sums.pieces == v.sums.unchecked + v.sums.own &&
				   v.sums.outputs == v.sums.outputs_unknown &&
				   v.sums.freed == v.sums.freed_unknown + v.sums.freed_own +
							   v.sums.freed_heap + v.sums.freed_mixed);
	t->mixed = t->mixed || (t->bare && v.sums.freed_mixed);
	t->freed = t->freed || (t->bare && !v.sums.pieces && !v.sums.outputs);
	t->late = t->late || (t->bare && v.sums.outputs);
	device_verified_free(&v);
	return NULL;
}

static struct err *run_windows(struct tool_replay *t)
{
	uint64_t first, last;
	unsigned i = t->tool.window ? (unsigned)t->tool.window - 1 : 0;

	do
		TRY(run_window(t, i++));
	while (!t->tool.window && !t->partial.kind &&
		sbt_reader_window(t->s->engine.trace.reader, i, &first, &last));
	return NULL;
}

static struct err *nothing_to_compare(const struct tool_replay *t)
{
	if (t->partial.kind)
		return err_new(ERR_INCOMPLETE,
			"there is no memory at the end of that part that could be compared");
	if (t->late)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"no memory could be compared, and no copy to the host was looked at in time: "
				"the commands ran, and nothing says whether they did the same"),
			"A window that ends before memory is freed can be compared (`capture stop`); `replay start` shows what the commands do");
	if (t->mixed)
		return err_new(ERR_INCOMPLETE,
			"both the program and its kernels wrote to the page-locked or managed memory that it freed, and nothing "
			"recorded says in which order: the commands ran, and nothing says whether they did the same");
	if (t->freed)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"the program freed all of its memory before the window's end and copied none of it to the host: "
				"the commands ran, and nothing says whether they did the same"),
			"A window that ends before the frees can be compared (`capture stop`); `replay start` shows what the commands do");
	return err_cure(
		err_new(ERR_INCOMPLETE, "nothing was recorded at the window's end to compare with"),
		"The recording was cut short; `replay start` still shows what the commands do");
}

static void put_windows(struct buf *out, const void *windows)
{
	const struct buf *b = windows;

	buf_add(out, b->data, b->len);
	buf_byte(out, ']');
}

JS_DEFINE(tool_replay_object, "replay", tool_replay, JS(TEXT, tool_replay, file),
	JS_BY("windows", tool_replay, out, put_windows, "[replayed / faulted / part]"),
	JS(BOOL, tool_replay, verified));

int tool_replay(struct session *s, int argc, char **argv)
{
	struct tool_replay t = {.s = s, .tool = tool_options_default(s)};
	struct err *e = take_options(&t, argc, argv);

	buf_byte(&t.out, '[');
	if (!e)
		e = trace_open(s, t.file);
	if (!e)
		e = run_windows(&t);
	if (!e && t.bare)
		e = nothing_to_compare(&t);
	if (t.tool.json && t.out.len > 1) {
		struct buf b = BUF_INIT;

		t.verified = !e && !t.differs;
		js_put(&b, &tool_replay_object, &t);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		buf_free(&b);
	} else if (!e && t.recorded && !t.differs && !t.faulted) {
		out_printf(s->out,
			"Verified. Not executed, taken from the recording: %" PRIu64
			" command%s.\n",
			t.recorded, t.recorded == 1 ? "" : "s");
	} else if (!e) {
		out_str(s->out, t.faulted && !t.differs ? ""
				: t.differs
					? "Not verified: the replay differs from the recording.\n"
					: "Verified.\n");
	}
	buf_free(&t.out);
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.differs ? REPLAY_STATUS_DIFFERS : 0;
}
