/* SPDX-License-Identifier: Apache-2.0
 *
 * replay explore, replay schedule, and `tsdb explore FILE`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"
#include "shell/print/explore-text.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "base/words.h"

#define USAGE                                                                                      \
	"[--budget N|TIME] [--seed S] [--most N] [--jobs N | --shard I/N] [--no-save] [--strict]"

const char cmd_replay_explore_help[] =
	"Executes the window's work in other orders: each respects everything that the program\n"
	"orders (streams, events, the default stream, what the host waited for), and nothing more.\n"
	"First every pair of commands that touch the same bytes without an order is turned round,\n"
	"what `races` names before the others; so is what the host wrote into page-locked memory.\n"
	"Memory that a stream-ordered free gives back, or an allocation has yet to give, is filled\n"
	"with 0xff there when somebody may use it (the schedule has that as a fill). A launch\n"
	"that programmatic dependent launches may overtake is held while they go on. Then,\n"
	"when there are few pairs, all ways of ordering them; then streams are starved; then chance\n"
	"(--seed). An order that gives another result is proof of a missing wait: it is brought\n"
	"down to the fewest pairs and saved as TRACE.schedule-N.sbt, a trace that gives that\n"
	"result every time. --budget: so many schedules (200), or a time such as 30s. --jobs N: by\n"
	"N processes at once. --shard I/N: the I-th of N parts alone; with --json its result can be\n"
	"saved, and `tsdb explore merge A.json B.json` puts results together. --strict: copies of\n"
	"at most 64 KiB from pageable memory may arrive late, too (see races).\n"
	"With --batch the exit status is 3 when another result was found.\n"
	"Example: replay explore --budget 1000 --jobs 4\n";

static struct err *bad(const char *what)
{
	return err_cure(
		err_new(ERR_USAGE, "\"%s\" does not say how to explore", what), "Use: " USAGE);
}

static struct err *take_budget(struct explore_options *o, const char *w)
{
	uint64_t ns;

	if (word_u64(w, &o->budget) && o->budget)
		return NULL;
	if (!word_duration(w, &ns) || !ns)
		return bad(w);
	o->seconds = (double)ns / 1e9;
	o->budget = UINT64_MAX;
	return NULL;
}

static struct err *take_shard(struct explore_options *o, const char *w)
{
	unsigned i, n;
	char end;

	if (sscanf(w, "%u/%u%c", &i, &n, &end) != 2 || !i || i > n)
		return bad(w);
	o->shard = i;
	o->shards = n;
	return NULL;
}

static struct err *take_jobs(struct explore_options *o, const char *w)
{
	uint64_t n;

	if (!word_u64(w, &n) || !n)
		return bad(w);
	if (n > EXPLORE_JOBS_MAX)
		return err_new(
			ERR_USAGE, "%s processes are too many: %d at most", w, EXPLORE_JOBS_MAX);
	o->jobs = (uint32_t)n;
	return NULL;
}

static void tell(struct session *s, const struct explore_result *r, bool json)
{
	struct buf out = BUF_INIT;

	if (json)
		explore_json(r, &out);
	else
		explore_print(s, r, &out);
	out_str(s->out, buf_cstr(&out));
	buf_free(&out);
}

static struct err *parse(
	struct explore_options *o, int argc, char *const *argv, const char **ret_file)
{
	*o = (struct explore_options){.program = "/proc/self/exe", .read = explore_read};
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(w, "--strict"))
			o->strict = true;
		else if (!strcmp(w, "--no-save"))
			o->no_save = true;
		else if (!strcmp(w, "--budget") && value)
			TRY(take_budget(o, argv[++i]));
		else if (!strcmp(w, "--shard") && value)
			TRY(take_shard(o, argv[++i]));
		else if (!strcmp(w, "--jobs") && value)
			TRY(take_jobs(o, argv[++i]));
		else if (!strcmp(w, "--seed") && value && word_u64(value, &o->seed))
			i++;
		else if (!strcmp(w, "--most") && value && word_u64(value, &o->most))
			i++;
		else if (!strcmp(w, "--save") && value)
			o->save = argv[++i];
		else if (ret_file && !*ret_file && w[0] != '-')
			*ret_file = w;
		else
			return bad(w);
	}
	return o->jobs && o->shards
		       ? err_new(ERR_USAGE, "--jobs makes shards of its own: not with --shard")
		       : NULL;
}

/* What was found is shown already; that it may not be all is an error all the same. */
static struct err *check_ended(const struct explore_result *r)
{
	return !r->interrupted ? NULL
			       : err_new(ERR_INTERRUPTED,
					 "exploring was interrupted after %" PRIu64
					 " schedules: there may be more to find than is shown",
					 r->executed);
}

struct err *cmd_replay_explore(struct session *s, const struct cmd_args *a)
{
	struct explore_options o;
	struct explore_result r;
	struct err *e;

	TRY(parse(&o, (int)a->argc, a->argv, NULL));
	s->focus = FOCUS_REPLAY;
	if (o.jobs > 1)
		out_flush(s->out);
	TRY(explore_run(&s->engine, &o, &r));
	tell(s, &r, a->json);
	if (r.nfound && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	e = check_ended(&r);
	explore_free(&r);
	return e;
}

/* --- schedules that were found --- */

const char cmd_replay_schedule_help[] =
	"Replays a schedule that `replay explore` found and saved, by its number: executes it and\n"
	"says whether its result came out again. With --step the schedule's trace is opened in the\n"
	"place of this one, at its beginning: `replay step`, `watch` and all the rest work in it.\n"
	"Example: replay schedule 1 --step\n";

/* "2", or "3-2" of shard 3. */
static struct err *schedule_path(struct session *s, const char *id, char **ret)
{
	unsigned shard = 0, number = 0;
	int end = 0;

	if (strspn(id, "0123456789-") == strlen(id) &&
		sscanf(id, "%u-%u%n", &shard, &number, &end) < 2) {
		number = shard;
		shard = 0;
		end = strchr(id, '-') ? 0 : (int)strlen(id);
	}
	if (!number || end != (int)strlen(id))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no schedule's number", id),
			"Use: replay schedule N [--step]");
	*ret = explore_schedule_name(s->engine.trace.path, shard, number);
	if (trace_is(*ret))
		return NULL;
	struct err *e = err_cure(err_new(ERR_NOT_FOUND, "there is no %s", *ret),
		"\"replay explore\" finds schedules and saves them");
	free(*ret);
	return e;
}

static struct err *execute_schedule(struct session *s, const struct replay_choice *c)
{
	struct device_verified v;
	struct replay_stop stop;
	struct buf b = BUF_INIT;

	TRY(engine_replay(&s->engine, c));
	TRY(replay_until(s->engine.trace.replay, s->engine.trace.device->last, &stop));
	TRY(device_verify(s->engine.trace.device->d, &v));
	device_verified_print(&b, &v);
	out_printf(s->out, "%s\n%s\n", buf_cstr(&b),
		device_verified_ok(&v) ? "The schedule gave its result again."
				       : "The schedule gave yet another result.");
	if (!device_verified_ok(&v) && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	device_verified_free(&v);
	buf_free(&b);
	return NULL;
}

struct err *cmd_replay_schedule(struct session *s, const struct cmd_args *a)
{
	struct replay_choice c = replay_choice_default(&s->engine);
	const bool step = a->argc == 2 && !strcmp(a->argv[1], "--step");
	struct replay_device *rd;
	char *path = NULL;
	struct err *e;

	if (a->argc < 1 || (a->argc > 1 && !step))
		return err_cure(
			err_new(ERR_USAGE, "which schedule?"), "Use: replay schedule N [--step]");
	TRY(replay_device_need(&s->engine, "a schedule", &rd));
	TRY(schedule_path(s, a->argv[0], &path));
	c.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL;
	c.strict = true;
	e = trace_open(s, path);
	if (!e)
		out_printf(
			s->out, "Now in %s; the trace it came from is opened by its name.\n", path);
	if (!e)
		e = step ? engine_replay(&s->engine, &c) : execute_schedule(s, &c);
	free(path);
	return e;
}

/* --- tsdb explore FILE --- */

struct tool_explore {
	struct session *s;
	struct explore_options o;
	struct tool_options tool;
	const char *file;
	bool found;
};

static struct err *take_options(struct tool_explore *t, int argc, char **argv)
{
	static const char usage[] =
		"Use: tsdb explore FILE " USAGE
		" [--window N] [--on auto|soft|real] [--any-device] [--json], or tsdb explore merge FILE.json...";

	TRY(tool_options_take(&t->tool, usage, &argc, argv));
	TRY(parse(&t->o, argc, argv, &t->file));
	return t->file ? NULL : err_cure(err_new(ERR_USAGE, "no trace was named"), "%s", usage);
}

static struct err *explore_window(struct tool_explore *t, unsigned i)
{
	struct explore_result r;
	struct err *e;

	t->tool.choice.window = i;
	if (t->o.jobs > 1) {
		TRY(replay_device_check(&t->s->engine, &t->tool.choice));
		out_flush(t->s->out);
		TRY(explore_jobs(&t->s->engine, &t->o, &t->tool.choice, &r));
	} else {
		TRY(engine_replay(&t->s->engine, &t->tool.choice));
		TRY(explore_run(&t->s->engine, &t->o, &r));
	}
	tell(t->s, &r, t->tool.json);
	t->found |= r.nfound != 0;
	e = check_ended(&r);
	explore_free(&r);
	return e;
}

static struct err *explore_file(struct tool_explore *t)
{
	uint64_t first, last;
	unsigned i = t->tool.window ? (unsigned)t->tool.window - 1 : 0;

	TRY(trace_open(t->s, t->file));
	do
		TRY(explore_window(t, i++));
	while (!t->tool.window && sbt_reader_window(t->s->engine.trace.reader, i, &first, &last));
	return NULL;
}

/* --- tsdb explore merge FILE... --- */

struct tool_merge {
	struct session *s;
	struct explore_result *r; /* a window each; heap */
	size_t n;
	bool json;
};

static struct err *merge_line(struct tool_merge *t, const char *line, size_t n, const char *name)
{
	struct explore_result one;
	struct err *e = NULL;

	TRY(explore_read(line, n, name, &one));
	for (size_t i = 0; i < t->n; i++)
		if (t->r[i].first == one.first && t->r[i].last == one.last) {
			e = explore_merge(&t->r[i], &one);
			explore_free(&one);
			return e ? err_wrap(e, "%s", name) : NULL;
		}
	t->r = xrealloc(t->r, (t->n + 1) * sizeof *t->r);
	t->r[t->n++] = one;
	return NULL;
}

static struct err *merge_file(struct tool_merge *t, const char *name)
{
	FILE *f = fopen(name, "re");
	char *line = NULL;
	size_t cap = 0, lines = 0;
	ssize_t n;
	struct err *e = f ? NULL : err_sys(errno, "cannot read %s", name);

	while (!e && (n = getline(&line, &cap, f)) > 0) {
		lines++;
		if (strspn(line, " \t\r\n") < (size_t)n)
			e = merge_line(t, line, (size_t)n, name);
	}
	if (!e && !lines)
		e = err_new(ERR_USAGE, "%s is empty", name);
	free(line);
	if (f)
		fclose(f);
	return e;
}

/* Prints commands in full if the trace is available. */
static void tell_merged(struct tool_merge *t)
{
	const char *trace = t->n ? t->r[0].trace : NULL;

	if (!t->json && trace && trace_is(trace)) {
		const bool quiet = t->s->quiet;

		t->s->quiet = true;
		err_free(trace_open(t->s, trace));
		t->s->quiet = quiet;
	}
	for (size_t i = 0; i < t->n; i++)
		tell(t->s, &t->r[i], t->json);
}

static int merge(struct session *s, int argc, char **argv)
{
	struct tool_merge t = {.s = s};
	struct err *e = NULL;
	unsigned files = 0;
	bool found = false;

	for (int i = 0; !e && i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			t.json = true;
		else if (++files)
			e = merge_file(&t, argv[i]);
	}
	if (!e && !files)
		e = err_cure(err_new(ERR_USAGE, "no results were named"),
			"Use: tsdb explore merge FILE.json... [--json]");
	if (!e)
		tell_merged(&t);
	for (size_t i = 0; i < t.n; i++) {
		found |= t.r[i].nfound != 0;
		explore_free(&t.r[i]);
	}
	free(t.r);
	if (e)
		out_error(s->out, e);
	return e ? 1 : found ? REPLAY_STATUS_DIFFERS : 0;
}

int tool_explore(struct session *s, int argc, char **argv)
{
	struct tool_explore t = {.s = s, .tool = tool_options_default(s)};
	struct err *e;

	if (argc && !strcmp(argv[0], "merge"))
		return merge(s, argc - 1, argv + 1);
	e = take_options(&t, argc, argv);
	if (!e)
		e = explore_file(&t);
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.found ? REPLAY_STATUS_DIFFERS : 0;
}
