/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb record, view, info, doctor; see tools.h. Surprise: `record` ends as the program did, by the
 * same signal if it was killed by one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "attach/attach.h"
#include "base/words.h"
#include "shell/live/gpu.h"
#include "shell/live/follow-text.h"
#include "shell/line/interrupt.h"
#include "engine/live-capture.h"
#include "engine/names.h"
#include "shell/live/process.h"
#include "shell/live/live-text.h"
#include "shell/trace/ranks-view.h"
#include "engine/recorder.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/tools/until-fail.h"
#include "shell/trace/trace.h"

static int fail(struct session *s, struct err *e)
{
	out_error(s->out, e);
	return 1;
}

struct err *tool_set_gpu(struct session *s, const char *value)
{
	struct err *e = settings_assign(&s->engine.set, SET_GPU, value);

	if (!e)
		return NULL;
	err_free(e);
	return err_cure(err_new(ERR_USAGE, "--gpu %s is no device", value),
		"It is auto, soft, real or soft-amd");
}

void tool_no_sandbox(struct session *s)
{
	s->engine.set.number[SET_REPLAY_SANDBOX] = 0;
}

void tool_take_no_sandbox(struct session *s, char **words)
{
	char **to = words;

	for (; *words; words++) {
		if (strcmp(*words, TOOL_NO_SANDBOX))
			*to++ = *words;
		else
			tool_no_sandbox(s);
	}
	*to = NULL;
}

/* --- record --- */

static struct err *record_usage(const char *why, const char *word)
{
	return err_cure(err_new(ERR_USAGE, why, word),
		"Usage: tsdb record [-o FILE] [--gpu auto|soft|real|soft-amd] [--memory all|touched|none] [--memory-limit SIZE] "
		"[--outputs hash|full] [--no-stacks] [--sources] [--timestamps] [--windows | --until-trigger] [--children] [--until-fail [--runs N]] [--] PROGRAM ARGS | -p PID|NAME");
}

/* Options of record that are settings: "--memory touched", "--memory=touched". */
static const struct {
	const char *name;
	enum setting id;
} record_settings[] = {{"--gpu", SET_GPU}, {"--memory", SET_MEMORY},
	{"--memory-limit", SET_MEMORY_LIMIT}, {"--outputs", SET_OUTPUTS}};

/* The value of option `name` at argv[*i]; NULL: it is another option. *ret_missing: it is this
 * option, without a value. */
static const char *option_value(const char *name, int argc, char **argv, int *i, bool *ret_missing)
{
	const char *const names[] = {name, NULL};
	const char *value = NULL;

	*ret_missing = tool_option_valued(names, argc, argv, i, &value) && !value;
	return value;
}

/* --until-fail, --runs N. */
struct repeat {
	bool until_fail;
	uint64_t runs; /* 0: not said */
};
#define RUNS 100

static struct err *repeat_option(struct repeat *r, int argc, char **argv, int *i, bool *ret_any)
{
	bool missing = false;
	const char *value;

	*ret_any = !strcmp(argv[*i], "--until-fail");
	r->until_fail |= *ret_any;
	if (*ret_any)
		return NULL;
	value = option_value("--runs", argc, argv, i, &missing);
	*ret_any = value || missing;
	if (!value || (word_u64(value, &r->runs) && r->runs))
		return missing ? record_usage("%s needs a value", "--runs") : NULL;
	return record_usage("\"%s\" is no number of runs", value);
}

static struct err *check_repeat(struct session *s, const struct repeat *r, const char *attach)
{
	const struct capture_plan *plan = &s->engine.live.plan;

	if (r->runs && !r->until_fail)
		return record_usage("%s goes with --until-fail", "--runs");
	if (r->until_fail && (attach || plan->windows || plan->until_trigger ||
				     settings_on(&s->engine.set, SET_FOLLOW_CHILDREN)))
		return record_usage("%s records whole runs of one program: not with -p, "
				    "--children, --windows or --until-trigger",
			"--until-fail");
	return NULL;
}

/* Takes one option; *i is its last word. */
static struct err *record_option(struct session *s, int argc, char **argv, int *i)
{
	const char *w = argv[*i], *value;
	bool missing = false;

	if (!strcmp(w, "--no-stacks")) {
		s->engine.live.plan.stacks_off = true;
		return NULL;
	}
	if (!strcmp(w, "--timestamps")) {
		s->engine.set.number[SET_TIMESTAMPS] = 1;
		return NULL;
	}
	if (!strcmp(w, "--sources")) {
		s->engine.set.number[SET_SOURCES] = 1;
		return NULL;
	}
	if (!strcmp(w, "--windows")) {
		s->engine.live.plan.windows = true;
		return NULL;
	}
	if (!strcmp(w, "--until-trigger")) {
		s->engine.live.plan.until_trigger = true;
		return NULL;
	}
	if (!strcmp(w, "--children")) {
		s->engine.set.number[SET_FOLLOW_CHILDREN] = 1;
		return NULL;
	}
	value = option_value("-o", argc, argv, i, &missing);
	if (value) {
		TRY(names_check(value));
		free(s->engine.live.plan.path);
		s->engine.live.plan.path = xstrdup(value);
		return NULL;
	}
	for (size_t k = 0; !missing && k < sizeof record_settings / sizeof *record_settings; k++) {
		value = option_value(record_settings[k].name, argc, argv, i, &missing);
		if (value)
			return record_settings[k].id == SET_GPU
				       ? tool_set_gpu(s, value)
				       : settings_assign(
						 &s->engine.set, record_settings[k].id, value);
	}
	return record_usage(missing ? "%s needs a value" : "record has no option %s", w);
}

/* What the program itself says is recorded: its windows, or all up to its trigger. */
static struct err *check_own(struct session *s)
{
	struct capture_plan *plan = &s->engine.live.plan;

	if (!plan->windows && !plan->until_trigger)
		return NULL;
	if (plan->windows && plan->until_trigger)
		return record_usage("%s and --until-trigger exclude each other", "--windows");
	if (settings_on(&s->engine.set, SET_FOLLOW_CHILDREN))
		return err_cure(err_new(ERR_UNSUPPORTED,
					"windows and triggers of children are not followed"),
			"Leave out --children, or record whole runs");
	plan->mode = plan->windows ? RECORDER_WINDOW : RECORDER_ALL;
	plan->window_kind = plan->windows ? TSDB_WINDOW_PROGRAM : TSDB_WINDOW_NONE;
	if (!plan->windows || !plan->path)
		return NULL;
	/* as the name that further traces are numbered after */
	TRY(settings_assign(&s->engine.set, SET_OUTPUT, plan->path));
	free(plan->path);
	plan->path = NULL;
	return NULL;
}

/* *ret_attach: the process to attach to instead of a program, or NULL. */
static struct err *record_options(struct session *s, int argc, char **argv, int *ret_program,
	const char **ret_attach, struct repeat *repeat)
{
	bool missing = false, any;
	int i = 0;

	*ret_attach = NULL;

	for (; i < argc && *argv[i] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!*ret_attach && (*ret_attach = option_value("-p", argc, argv, &i, &missing)))
			continue;
		TRY(repeat_option(repeat, argc, argv, &i, &any));
		if (!any)
			TRY(record_option(s, argc, argv, &i));
	}
	if (*ret_attach && settings_on(&s->engine.set, SET_FOLLOW_CHILDREN))
		return err_cure(err_new(ERR_UNSUPPORTED,
					"children of a process that runs already are not followed"),
			"Start the program with tsdb: tsdb record --children PROGRAM ARGS");
	if (*ret_attach && i < argc)
		return record_usage("a process that runs takes no arguments (%s)", argv[i]);
	if (i >= argc && !*ret_attach)
		return record_usage("record needs a program%s", "");
	*ret_program = i;
	return check_repeat(s, repeat, *ret_attach);
}

void tool_die_by(int sig)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

/* The trace ends here; the program goes on. */
static struct err *end_at_trigger(struct session *s)
{
	s->engine.live.plan.until_trigger = false;
	TRY(capture_stop(&s->engine));
	if (s->engine.live.doing == LIVE_ENDING_WINDOW)
		TRY(process_await(s));
	live_configure(&s->engine);
	return NULL;
}

static struct err *record_run(struct session *s)
{
	struct redirect none = {0};

	TRY(process_launch(s, &none));
	interrupt_forward(inferior_pid(s->engine.live.inf));
	while (s->engine.live.inf) {
		TRY(process_continue(s));
		if (s->engine.live.inf && s->engine.live.plan.until_trigger)
			TRY(end_at_trigger(s));
	}
	if (!s->engine.live.follow)
		return NULL;
	interrupt_all();
	TRY(follow_await(s));
	follow_summary(s);
	return NULL;
}

/* Records a running process until it ends, or until Ctrl-C or SIGTERM ends the recording. */
static struct err *record_attached(struct session *s, const char *who)
{
	s->engine.live.recording = true;
	TRY(process_attach(s, who, false));
	interrupt_all();
	out_printf(s->out, "Recording until Ctrl-C, or until it ends.\n");
	TRY(process_continue(s));
	return live_detach(&s->engine);
}

static int tool_record(struct session *s, int argc, char **argv)
{
	struct repeat repeat = {0};
	const char *attach;
	struct err *e;
	int program = 0, status;

	s->engine.live.plan.mode = RECORDER_ALL;
	e = record_options(s, argc, argv, &program, &attach, &repeat);
	if (!e)
		e = check_own(s);
	if (!e && attach) {
		e = record_attached(s, attach);
		if (e)
			return fail(s, e);
		return s->engine.live.plan.failed ? 1 : s->engine.live.plan.no_memory;
	}
	if (!e) {
		s->engine.live.recording = true;
		e = live_file(&s->engine, argv[program], argv + program + 1);
	}
	if (!e && repeat.until_fail) {
		e = until_fail(s, repeat.runs ? repeat.runs : RUNS, record_run, &status);
		return e ? fail(s, e) : status;
	}
	if (!e)
		e = record_run(s);
	interrupt_forward(0);
	if (e)
		return fail(s, e);
	if (s->engine.live.plan.windows && !s->engine.live.plan.nmade)
		out_warn(s->out,
			"the program opened no window with GPU commands: there is no trace");
	else if (!recorder_count(s->engine.live.recorder) && !s->engine.live.follow &&
		 !s->engine.live.plan.failed)
		out_warn(s->out, "the program made no GPU commands: there is nothing in the trace");
	if (s->engine.live.exit_signal)
		out_warn(s->out,
			"the program was killed by %s, %s, after %llu GPU commands; the trace ends there",
			signal_name(s->engine.live.exit_signal),
			signal_text(s->engine.live.exit_signal),
			(unsigned long long)recorder_count(s->engine.live.recorder));
	if (s->engine.live.plan.failed)
		return 1;
	if (s->engine.live.exit_signal) {
		out_flush(s->out);
		tool_die_by(s->engine.live.exit_signal);
	}
	return s->engine.live.exit_code ? s->engine.live.exit_code : s->engine.live.plan.no_memory;
}

/* --- view, info --- */

static int view_set(struct session *s, const char *file, const struct view_filter *f)
{
	struct ranks *set;
	struct err *e = ranks_load(&set, file);

	if (e)
		return fail(s, e);
	e = ranks_view(s, set, f);
	ranks_free(set);
	return e ? fail(s, e) : 0;
}

static int info_set(struct session *s, const char *file, bool json)
{
	struct ranks *set;
	struct err *e = ranks_load(&set, file);

	if (e)
		return fail(s, e);
	e = ranks_info(s, set, json);
	ranks_free(set);
	return e ? fail(s, e) : 0;
}

static int tool_view(struct session *s, int argc, char **argv)
{
	struct sbt_reader *r;
	struct view_filter f;
	const char *file;
	struct err *e = view_options(&f, (unsigned)argc, argv, &file);
	bool damaged;

	if (!e && !file)
		e = err_cure(err_new(ERR_USAGE, "view needs a trace"),
			"Usage: tsdb view FILE [RANGE] [--stream N] [--kernel GLOB] [--kind KIND] [--nvtx GLOB] [--last N] [--count] [--stacks] [--rank N] [--json] [if EXPR]");
	if (!e && ranks_is(file))
		return view_set(s, file, &f);
	if (!e && f.rank != VIEW_NO_RANK)
		e = err_cure(err_new(ERR_USAGE, "%s is one rank's trace, not a set", file),
			"Leave --rank away, or make a set with \"tsdb merge\"");
	if (!e)
		e = sbt_reader_open(&r, file);
	if (e)
		return fail(s, e);
	if (isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)) {
		unsigned lines, columns;

		out_screen(&lines, &columns);
		out_page_begin(s->out, lines);
	}
	e = view_commands(s, r, &f);
	out_page_end(s->out);
	if (!f.json)
		trace_tell_attached(s->out, r);
	damaged = trace_tell_damage(s->out, file, r);
	sbt_reader_close(r);
	return e ? fail(s, e) : damaged;
}

static int tool_info(struct session *s, int argc, char **argv)
{
	struct trace_clocks found;
	struct sbt_reader *r;
	struct buf b = BUF_INIT;
	const char *file = NULL;
	bool json = false, clocks = false, damaged;
	struct err *e = NULL;

	for (int i = 0; !e && i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--clocks"))
			clocks = true;
		else if (*argv[i] == '-' || file)
			e = err_cure(err_new(ERR_USAGE, "info has no option %s", argv[i]),
				"Usage: tsdb info FILE [--clocks] [--json]");
		else
			file = argv[i];
	}
	if (!e && !file)
		e = err_cure(err_new(ERR_USAGE, "info needs a trace"),
			"Usage: tsdb info FILE [--clocks] [--json]");
	if (!e && ranks_is(file))
		return info_set(s, file, json);
	if (!e)
		e = sbt_reader_open(&r, file);
	if (e)
		return fail(s, e);
	if (clocks)
		e = device_clocks(&s->engine, r, found.clock, &found.n);
	if (json)
		trace_summary_json(&b, file, r, clocks && !e ? &found : NULL);
	else
		trace_summary(&b, file, r);
	if (clocks && !json && !e)
		trace_clocks_print(&b, &found);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	damaged = trace_tell_damage(s->out, file, r);
	sbt_reader_close(r);
	return e ? fail(s, e) : damaged;
}

/* --- the others --- */

static int tool_doctor(struct session *s, int argc, char **argv)
{
	const bool json = argc && !strcmp(argv[0], "--json");

	if (argc > json)
		return fail(s, err_cure(err_new(ERR_USAGE, "doctor takes no \"%s\"", argv[json]),
				       "Use \"tsdb doctor\""));
	return !gpu_doctor(s, json);
}

/* In the order of "tsdb --help". */
const struct tool tools[] = {
	{"record", tool_record,
		"[-o FILE] [--memory all|touched|none] [--memory-limit SIZE] [--outputs hash|full] "
		"[--no-stacks] [--sources] [--timestamps] [--windows | --until-trigger] [--children] "
		"[--until-fail [--runs N]] [--] PROGRAM ARGS... | -p PID|NAME",
		"record a whole run, or what a running process does from now on",
		"tsdb record -o run.sbt ./app --steps 3\n"
		"tsdb record -p train.py\n"
		"tsdb record --children -o 'run.%h.%r.sbt' torchrun train.py\n"
		"tsdb record --until-fail --runs 1000 ./flaky\n"},
	{"observe", tool_observe,
		"[-o FILE] [--json] [--interval TIME] [--for TIME] [--top N] [--runtime] "
		"[--no-stacks] [--ring SIZE] [--quiet] "
		"PID | --all | --list | --bpftrace[=LIBRARY] | [--] PROGRAM ARGS...",
		"what a running process does with the GPU, without stopping it",
		"tsdb observe 4711\n"
		"tsdb observe --for 10s -o app.sbt ./app\n"
		"tsdb observe --all\n"},
	{"view", tool_view,
		"FILE [RANGE] [--stream N] [--kernel GLOB] [--kind KIND] [--nvtx GLOB] [--last N] "
		"[--count] [--stacks] [--rank N] [--json] [if EXPR]",
		"list the commands of a trace, or of a set of them",
		"tsdb view app.sbt 100-200 --stacks\n"
		"tsdb view app.sbt --kernel 'matmul*'\n"
		"tsdb view app.sbt --last 20 if 'grid_x > 64 && stream == 2'\n"},
	{"merge", tool_merge,
		"-o FILE [--match GLOB] [--as-is] TRACE TRACE... | "
		"FILE.json... [-o FILE] [--found-ok] [--json]",
		"a job's traces as one set, on one clock; explore's shards as one",
		"tsdb merge -o all.sbt run.*.sbt\n"
		"tsdb merge s*.json\n"},
	{"info", tool_info, "FILE [--clocks] [--json]", "say what a trace holds",
		"tsdb info app.sbt\n"},
	{"summary", tool_summary,
		"FILE [RANGE] [--by kernel|site|range] [--sort time|count|bytes] [--json]",
		"what a trace's work comes to, by kernel, call site and NVTX range",
		"tsdb summary app.sbt --sort time\n"},
	{"stats", tool_stats, "FILE [RANGE] [--rank N] [--critical-path] [--top N] [--json]",
		"where a trace's time went: devices, streams, queues, the host",
		"tsdb stats app.sbt\n"
		"tsdb stats app.sbt --critical-path\n"},
	{"diff", tool_diff,
		"A B, or A1 A2 ... --vs B1 B2 ..., or --control A1 A2 ... "
		"[--time] [--why] [--numeric [--on auto|soft|real] [--as TYPE] [--matters]] "
		"[--folded [--weight gpu|count|bytes]] "
		"[--step A:N B:N [--step-by range|range:NAME|graph|wait]] "
		"[--range-a RANGE] [--range-b RANGE] [--rank N] [--assert EXPR] [--top N] [--json]",
		"where two traces differ, the first difference first",
		"tsdb diff before.sbt after.sbt --time\n"
		"tsdb diff a1.sbt a2.sbt a3.sbt a4.sbt --vs b1.sbt b2.sbt b3.sbt b4.sbt\n"
		"tsdb diff before.sbts after.sbts --rank 3 --why\n"
		"tsdb diff before.sbt after.sbt --numeric\n"
		"tsdb diff before.sbt after.sbt --matters --assert 'matters == 0'\n"
		"tsdb diff a.sbt b.sbt --why\n"
		"tsdb diff a.sbt b.sbt --step A:3 B:7\n"
		"tsdb diff a.sbt b.sbt --folded | flamegraph.pl > diff.svg\n"
		"tsdb diff a.sbt b.sbt --assert 'time < 1.05 && structure == same'\n"},
	{"report", tool_report,
		"FILE [FILE] [RANGE] [--rank N] [-o FILE|-] [--md] [--json] [--explain] "
		"[--exact | --no-exact | --no-races] [--check FILE] [--no-sandbox]",
		"a trace as one HTML page, or what analyses found in it",
		"tsdb report app.sbt -o app.html\n"
		"tsdb report app.sbt --explain\n"
		"tsdb report before.sbt after.sbt -o both.html\n",
		true},
	{"replay", tool_replay,
		"FILE [--verify] [--on auto|soft|real] [--window N] [--stream N[,M] [--alone] | "
		"--range A-B | --kernel GLOB [--nth K]] "
		"[--order fixed|concurrent|started] [--touched] [--any-device] [--no-sandbox] "
		"[--json]",
		"execute the commands of a trace again and compare",
		"tsdb replay app.sbt\n"
		"tsdb replay app.sbt --on soft --range 100-120\n",
		true},
	{"check", tool_check,
		"FILE [N] [A-B] [--kernel GLOB] [--as TYPE] [--perturb] [--thorough] [--budget "
		"TIME] [--window N] [--on auto|soft|real] [--any-device] [--no-sandbox] [--json]",
		"which launches are not deterministic", "tsdb check app.sbt --perturb\n", true},
	{"nan", tool_nan,
		"FILE [SEQ] [--inf] [--as f32|f64|f16|bf16] [--by-changes] [--window N] "
		"[--on auto|soft|real] [--any-device] [--no-sandbox] [--json]",
		"where a NaN was born: launch, element, and the way from there",
		"tsdb nan app.sbt\ntsdb nan app.sbt --inf --as bf16\n", true},
	{"races", tool_races,
		"FILE [A-B] [--possible] [--exact | --no-exact | --budget TIME] [--strict] "
		"[--threads-apart] [--no-sandbox] [--json]",
		"commands that nothing orders and that touch the same bytes",
		"tsdb races app.sbt\n", true},
	{"explore", tool_explore,
		"FILE [--budget N|TIME] [--seed S] [--most N] [--jobs N | --shard K/N|auto] "
		"[-o FILE [--resume] [--checkpoint TIME]] [--found-ok] [--no-save] "
		"[--strict] [--window N] [--on auto|soft|real] [--any-device] "
		"[--no-sandbox] [--json]",
		"other orders that the program allows, and what comes of them",
		"tsdb explore app.sbt --budget 30s\n"
		"tsdb explore app.sbt --shard auto -o s%k.json --resume\n",
		true},
	{"extract", tool_extract,
		"FILE --kernel GLOB [--nth K] [--graph SEQ] -o DIR [--all] [--window N] "
		"[--no-sandbox] [--on auto|soft|real]",
		"write one launch as a C program that stands alone",
		"tsdb extract app.sbt --kernel scale --nth 3 -o scale3\n", true},
	{"export", tool_export,
		"FORMAT FILE [RANGE | FILE] [-o FILE|-] [--stream N] [--rank N] "
		"[--weight gpu|count|bytes] [--races] [--open]",
		"a trace as perfetto, kineto, pprof, flamegraph, csv and others",
		"tsdb export perfetto app.sbt\n"
		"tsdb export perfetto before.sbt after.sbt -o both.pftrace\n"
		"tsdb export perfetto all.sbt -o all.pftrace.zip\n"
		"tsdb export flamegraph app.sbt --weight count -o app.svg\n"},
	{"import", tool_import,
		"FILE [-o FILE] [--as kineto|nsys|xray] [--pid N] [--graph-nodes] [--map FILE]",
		"a trace from a profile of PyTorch, Nsight Systems or XRay",
		"tsdb import profile.json.gz -o profile.sbt\n"
		"tsdb import report.sqlite\n"},
	{"core", tool_core, "FILE [--json]", "where the lanes of a GPU core dump's kernels are",
		"tsdb core core_1732377600_node1_4711.nvcudmp\n"},
	{"demo", tool_demo, "race", "find a missing wait in an example, step by step",
		"tsdb demo race\n"},
	{"why", tool_why,
		"PID|NAME|--ranks GLOB [--match GLOB] [--progress] [--inside [--yes]] [--json]",
		"say what a running program, or a job that is recorded, waits for",
		"tsdb why 4711\ntsdb why --ranks 'run.*.sbt'\n", .settings = true},
	{"studio", tool_studio,
		"FILE [--port N] [--on auto|soft|soft-amd|real|none] [--window N] [--any-device] [--any-user]",
		"a trace with its replay in a browser, on this machine alone",
		"tsdb studio app.sbt\n"},
	{"dap", tool_dap, "", "debug from an editor, by the Debug Adapter Protocol", "tsdb dap\n"},
	{"doctor", tool_doctor, "[--json]", "say what this machine can do", "tsdb doctor\n"},
	{NULL, NULL, NULL, NULL, NULL},
};

#define HELP_COLUMNS 80
#define HELP_INDENT 14

/* Breaks lines between words, but not within brackets that fit on a line. */
void tool_usage(const struct tool *t, struct buf *out)
{
	size_t column = out->len;
	const char *p = t->usage;

	buf_printf(out, "  tsdb %s", t->name);
	column = out->len - column;
	while (*p) {
		size_t n = 0;

		for (unsigned depth = 0; p[n] && (p[n] != ' ' || depth); n++)
			depth += (p[n] == '[') - (p[n] == ']');
		if (n > HELP_COLUMNS - HELP_INDENT)
			n = strcspn(p, " ");
		if (column + 1 + n > HELP_COLUMNS) {
			buf_printf(out, "\n%*s", HELP_INDENT - 1, "");
			column = HELP_INDENT - 1;
		}
		buf_printf(out, " %.*s", (int)n, p);
		column += 1 + n;
		p += n + (p[n] == ' ');
	}
	buf_printf(out, "\n      %s\n", t->doc);
	for (p = t->examples; *p; p += strcspn(p, "\n") + 1)
		buf_printf(out, "  %-11s%.*s\n",
			p > t->examples		  ? ""
			: p[strcspn(p, "\n") + 1] ? "Examples:"
						  : "Example:",
			(int)strcspn(p, "\n"), p);
}

const struct tool *tool_find(const char *name)
{
	for (const struct tool *t = tools; t->name; t++) {
		if (!strcmp(t->name, name))
			return t;
	}
	return NULL;
}
