/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a trace's time went: info stats, info critical-path, tsdb stats.
 */
#include <string.h>
#include "base/words.h"
#include "shell/figures/critical-text.h"
#include "shell/figures/stats-set.h"
#include "shell/figures/stats-text.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE "Use: tsdb stats FILE [RANGE] [--rank N] [--critical-path] [--top N] [--json]"
enum { TOP = 10 };
#define ALL_RANKS UINT64_MAX

const char cmd_info_stats_help[] =
	"Shows where the open trace's time went: how busy each device was and what it waited for,\n"
	"what each stream did, copies and their bandwidth, launch latency, the most memory in use,\n"
	"the largest kernels, call sites and NVTX ranges. RANGE is 100-200, 100- or 143.\n"
	"  --top N   rows of each table, 10 if not given; 0: all\n"
	"A stream's time is what its work took (Busy), waits for other streams (Event), the host's\n"
	"turn (Host: between its first and last work nothing was submitted, or a host function or a\n"
	"wait for a value was next), what was submitted and waited for nothing that the trace shows\n"
	"(Starting), and the time before its first and after its last work (Empty). Queue is the\n"
	"most commands that were submitted and not ended.\n"
	"The idle time of a device up to the submission of what ran next is the host's: it is shown\n"
	"by the calls that the submitting thread made meanwhile; the host ran towards such a call,\n"
	"or (In waits) waited in it for the device.\n"
	"Times are recorded by `set capture timestamps on`; what needs them is named without.\n"
	"Examples: info stats\n"
	"          info stats 100-200 --top 3\n";

const char cmd_info_critical_path_help[] =
	"Shows the critical path of the open trace: the chain of kernels, copies and the host's own\n"
	"time, each of which waited for the one before, that leads to what ended last. Only what is\n"
	"on it can make the run shorter. RANGE is 100-200, 100- or 143.\n"
	"  --top N   rows of each table, 10 if not given; 0: all\n"
	"Gain is how much shorter the run would be if all of that kernel, or all of the host's way\n"
	"to that place, took no time: less than its share where something else ends nearly as late.\n"
	"Slack is how much longer something beside the path could be before it is on it. Both are\n"
	"of a model in which everything else takes as long as it did.\n"
	"What waits for what is what the program ordered (`order why`), and the recorded times.\n"
	"Examples: info critical-path\n"
	"          info critical-path 100-200 --top 3\n";

struct stats_words {
	struct stats_ask ask;
	uint64_t top;
	const char *file; /* of the tool */
	uint64_t rank;	  /* of a set, for the tool */
	bool json, path;  /* path: the critical path is asked for */
};

static bool cancelled(void *session, uint64_t done, uint64_t of)
{
	struct session *s = session;

	out_progress(s->out, "reading", done, of);
	return interrupt_flag;
}

static struct err *take_number(struct stats_words *w, const char *name, const char *value)
{
	const bool top = !strcmp(name, "--top");

	if (value && word_u64(value, top ? &w->top : &w->rank) && (top || w->rank != ALL_RANKS))
		return NULL;
	return err_cure(err_new(ERR_USAGE, top ? "--top needs a number of rows"
					       : "--rank needs a rank's number"),
		USAGE);
}

static struct err *take_words(struct stats_words *w, int argc, char *const *argv, bool tool)
{
	static const char *const of_tool[] = {"--top", "--rank", NULL};
	const char *const *valued = tool ? of_tool : (const char *const[]){"--top", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name) {
			TRY(take_number(w, name, value));
			continue;
		}
		if (!strcmp(argv[i], "--json"))
			w->json = true;
		else if (tool && !strcmp(argv[i], "--critical-path"))
			w->path = true;
		else if (tool && !w->file && *argv[i] != '-')
			w->file = argv[i];
		else if (!word_range(argv[i], &w->ask.first, &w->ask.last))
			return err_cure(
				err_new(ERR_USAGE, "\"%s\" is no range of commands", argv[i]),
				"Ranges are like 100-200; the options are --top and --json");
	}
	return NULL;
}

static struct err *show_path(struct session *s, const struct stats_words *w)
{
	const struct order_options o = {.first = w->ask.first,
		.last = w->ask.last == UINT64_MAX ? 0 : w->ask.last,
		.interrupt = &interrupt_flag};
	struct sbt_reader *r = s->engine.trace.reader;
	struct critical_path p;
	struct err *e;

	TRY(critical_path(&p, r, &o));
	e = critical_print(s, r, &p, w->top, w->json);
	critical_path_free(&p);
	return e;
}

static struct err *show(struct session *s, struct stats_words *w)
{
	struct sbt_reader *r = s->engine.trace.reader;
	struct stats st;
	struct err *e;

	w->ask.cancelled = cancelled;
	w->ask.arg = s;
	e = stats_make(&st, r, &w->ask);
	out_progress_end(s->out);
	if (e)
		return e;
	if (w->json)
		stats_json(s, r, &st, w->top);
	else
		stats_print(s, r, &st, w->top);
	stats_free(&st);
	return NULL;
}

struct err *cmd_info_stats(struct session *s, const struct cmd_args *a)
{
	struct stats_words w = {.ask.last = UINT64_MAX, .top = TOP, .json = a->json};

	TRY(take_words(&w, (int)a->argc, a->argv, false));
	return show(s, &w);
}

struct err *cmd_info_critical_path(struct session *s, const struct cmd_args *a)
{
	struct stats_words w = {.ask.last = UINT64_MAX, .top = TOP, .json = a->json};

	TRY(take_words(&w, (int)a->argc, a->argv, false));
	return show_path(s, &w);
}

/* --- sets --- */

static struct err *can_show_all(const struct stats_words *w)
{
	const bool ranged = w->ask.first || w->ask.last != UINT64_MAX;
	struct err *e;

	if (!w->path && !ranged)
		return NULL;
	e = w->path ? err_new(ERR_USAGE, "a critical path is one rank's, and %s is a set", w->file)
		    : err_new(ERR_USAGE, "a range is of one rank's commands, and %s is a set",
			      w->file);
	return err_cure(e, "Choose a rank with --rank");
}

static struct err *show_all(struct session *s, const struct stats_words *w, const struct ranks *set)
{
	const struct set_ask ask = {w->json, w->top, cancelled, s};
	struct set_view all;
	struct err *e;

	TRY(can_show_all(w));
	e = set_view_make(&all, s, set, &ask);
	out_progress_end(s->out);
	if (e)
		return e;
	if (w->json)
		set_view_json(s, &all);
	else
		set_view_print(s, &all, w->top);
	set_view_free(&all);
	return NULL;
}

static struct err *show_trace(struct session *s, struct stats_words *w)
{
	TRY(trace_open(s, w->file));
	return w->path ? show_path(s, w) : show(s, w);
}

static struct err *show_set(struct session *s, struct stats_words *w)
{
	struct ranks *set;
	struct err *e;

	TRY(ranks_load(&set, w->file));
	if (w->rank == ALL_RANKS) {
		e = show_all(s, w, set);
	} else {
		e = ranks_choose(set, w->rank, &w->file);
		e = e ? e : show_trace(s, w);
	}
	ranks_free(set);
	return e;
}

static struct err *show_file(struct session *s, struct stats_words *w)
{
	if (ranks_is(w->file))
		return show_set(s, w);
	if (w->rank != ALL_RANKS)
		return err_cure(err_new(ERR_USAGE, "%s is one rank's trace, not a set", w->file),
			"Leave --rank away, or make a set with \"tsdb merge\"");
	return show_trace(s, w);
}

int tool_stats(struct session *s, int argc, char **argv)
{
	struct stats_words w = {.ask.last = UINT64_MAX, .top = TOP, .rank = ALL_RANKS};
	struct err *e = take_words(&w, argc, argv, true);

	if (!e && !w.file)
		e = err_cure(err_new(ERR_USAGE, "stats needs a trace"), USAGE);
	if (!e)
		e = show_file(s, &w);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
