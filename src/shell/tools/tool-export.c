/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb export: writes a trace in another program's format. The file is written beside its name and
 * renamed when it is whole, so that no reader ever sees half of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/words.h"
#include "engine/races-find.h"
#include "engine/ranks.h"
#include "export/export.h"
#include "shell/line/interrupt.h"
#include "shell/tools/export-pair.h"
#include "shell/tools/open-ui.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb export FORMAT FILE [RANGE | FILE] [-o FILE|-] [--stream N] [--rank N] [--weight gpu|count|bytes] [--races] [--open]"

enum { ALL_RANKS = -1 };

struct tool_export {
	struct export_ask ask;
	const char *file, *output; /* output NULL: none given */
	const char *other;	   /* the second run; NULL: there is one */
	struct sbt_reader *second; /* of it */
	struct export_pairs pairs;
	int64_t rank; /* ALL_RANKS: --rank was not given */
	bool ranged, want_races, open;
	struct export_race *races;
	struct ranks *set; /* NULL: the file is a trace */
	struct export_source *sources;
	unsigned nsources;
};

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *no_format(const char *word)
{
	struct buf names = BUF_INIT;
	struct err *e = err_new(ERR_USAGE, "there is no format \"%s\"", word);

	for (const struct export_format *f = export_formats; f->name; f++)
		buf_printf(&names, "%s%s", f == export_formats ? "" : ", ", f->name);
	e = err_cure(e, "Formats are %s", buf_cstr(&names));
	buf_free(&names);
	return e;
}

static struct err *take_value(struct tool_export *x, const char *name, const char *value)
{
	uint64_t n;

	if (!strcmp(name, "-o")) {
		x->output = value;
	} else if (!strcmp(name, "--stream")) {
		if (!word_u64(value, &n) || n >= SBT_NO_ID)
			return usage("\"%s\" is no stream", value);
		x->ask.stream = (uint32_t)n;
	} else if (!strcmp(name, "--rank")) {
		if (!word_u64(value, &n) || n > INT64_MAX)
			return usage("\"%s\" is no rank", value);
		x->rank = (int64_t)n;
	} else if (!export_weight_parse(value, &x->ask.weight)) {
		return usage("--weight takes gpu, count or bytes, not \"%s\"", value);
	} else if (!x->ask.format || !x->ask.format->weighted) {
		return err_cure(err_new(ERR_USAGE, "only a format with one weight takes --weight"),
			"folded, flamegraph and speedscope do; the others have all of them");
	}
	return NULL;
}

static struct err *take_word(struct tool_export *x, const char *w)
{
	if (!strcmp(w, "--races")) {
		x->want_races = true;
		return NULL;
	}
	if (!strcmp(w, "--open")) {
		x->open = true;
		return NULL;
	}
	if (*w == '-')
		return usage("export has no option %s", w);
	if (!x->ask.format) {
		x->ask.format = export_format(w);
		return x->ask.format ? NULL : no_format(w);
	}
	if (!x->file) {
		x->file = w;
		return NULL;
	}
	if (word_range(w, &x->ask.first, &x->ask.last))
		x->ranged = true;
	else if (!x->other && x->ask.format->races)
		x->other = w;
	else
		return usage("\"%s\" is no range of commands", w);
	return NULL;
}

/* What does not go with two runs. */
static struct err *can_compare(const struct tool_export *x)
{
	if (x->ranged || x->want_races || x->rank != ALL_RANKS || x->ask.stream != SBT_NO_ID)
		return usage("two runs are exported whole: no %s", x->ranged	   ? "range"
								   : x->want_races ? "--races"
								   : x->rank != ALL_RANKS
									   ? "--rank"
									   : "--stream");
	return x->output ? NULL : usage("an export of two runs needs -o FILE%s", "");
}

static struct err *can_draw_races(const struct tool_export *x)
{
	if (!x->ask.format->races)
		return err_cure(err_new(ERR_USAGE, "%s does not draw races", x->ask.format->name),
			"export perfetto does; tsdb races lists them");
	if (x->ask.stream != SBT_NO_ID)
		return err_new(ERR_USAGE,
			"a race is between streams: --races and --stream exclude each other");
	return NULL;
}

static struct err *can_open(const struct tool_export *x)
{
	if (strcmp(x->ask.format->name, "perfetto"))
		return err_new(ERR_USAGE, "--open is for perfetto; %s has no page to open it",
			x->ask.format->name);
	return x->output && !strcmp(x->output, "-")
		       ? usage("--open needs a file, not standard output%s", "")
		       : NULL;
}

static struct err *take_options(struct tool_export *x, int argc, char **argv)
{
	static const char *const valued[] = {"-o", "--stream", "--rank", "--weight", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		TRY(name ? take_value(x, name, value) : take_word(x, argv[i]));
	}
	if (!x->ask.format)
		return no_format("");
	if (x->want_races)
		TRY(can_draw_races(x));
	if (x->open)
		TRY(can_open(x));
	if (x->other)
		TRY(can_compare(x));
	return x->file ? NULL : usage("export needs a trace%s", "");
}

static bool cancelled(void *session, uint64_t done, uint64_t of)
{
	struct session *s = session;

	out_progress(s->out, "exporting", done, of);
	return interrupt_flag;
}

/* --- where it goes --- */

/* "run.sbt" as "run.pftrace", or "run.rank3.pftrace"; heap. */
static char *own_name(const struct tool_export *x, const char *rank)
{
	const char *base = file_name_of(x->file), *dot = strrchr(base, '.');

	return xasprintf("%.*s%s.%s", dot && dot != base ? (int)(dot - base) : (int)strlen(base),
		base, rank, x->ask.format->suffix);
}

/* The name that was given, with the rank in place of %r. NULL: it has no %r. */
static char *given_name(const char *output, uint64_t rank)
{
	const char *at = strstr(output, "%r");

	return at ? xasprintf("%.*s%" PRIu64 "%s", (int)(at - output), output, rank, at + 2) : NULL;
}

/* Whether the name is that of a ZIP file. */
static bool is_zip(const char *output)
{
	const size_t n = output ? strlen(output) : 0;

	return n > 4 && !strcmp(output + n - 4, ".zip");
}

/* Of the file with all sources, or with the one; heap. */
static struct err *output_name(
	const struct tool_export *x, const struct export_source *one, char **ret)
{
	char *part;

	if (!one) {
		*ret = x->output ? xstrdup(x->output) : own_name(x, "");
		if (!x->output && x->ask.archive) {
			part = *ret;
			*ret = xasprintf("%s.zip", part);
			free(part);
		}
		return NULL;
	}
	if (x->output) {
		*ret = given_name(x->output, one->rank);
		return *ret ? NULL
			    : err_cure(err_new(ERR_USAGE, "%s is written as a file for each rank",
					       x->ask.format->name),
				      "Give -o a name with %%r, or choose one with --rank");
	}
	part = xasprintf(".rank%" PRIu64, one->rank);
	*ret = own_name(x, part);
	free(part);
	return NULL;
}

/* Says what was written, on stderr: standard output may be the export. */
static void tell(const struct tool_export *x, const char *path, const struct export_result *r)
{
	fprintf(stderr,
		"%s: %" PRIu64 " commands as %s; of %" PRIu64 " launches %" PRIu64
		" have a stack and %" PRIu64 " a GPU time.\n",
		path, r->commands, x->ask.format->name, r->launches, r->stacks, r->timed);
	if (x->ask.archive)
		fprintf(stderr, "Each of %u ranks is a file in it.\n", x->nsources);
	if (r->not_kept)
		fprintf(stderr, "%" PRIu64 " %s in no sum: there are too many different ones.\n",
			r->not_kept, r->not_kept == 1 ? "command is" : "commands are");
	if (r->interrupted)
		fprintf(stderr, "Interrupted: what comes later is missing.\n");
}

struct written {
	struct tool_export *x;
	struct export_result *r;
};

static struct err *write_to(void *arg, FILE *to)
{
	const struct written *w = arg;

	return export_run(&w->x->ask, to, w->r);
}

/* Writes the sources that x->ask names. */
static struct err *write_one(
	struct session *s, struct tool_export *x, const char *path, struct export_result *r)
{
	struct err *e = strcmp(path, "-") ? file_put(path, write_to, &(struct written){x, r})
					  : export_run(&x->ask, stdout, r);

	out_progress_end(s->out);
	if (!e && fflush(stdout))
		e = err_sys(errno, "cannot write to standard output");
	if (!e)
		tell(x, path, r);
	return e;
}

static struct err *write_each(struct session *s, struct tool_export *x, struct export_result *r)
{
	struct err *e = NULL;
	char *path;

	for (unsigned i = 0; !e && !r->interrupted && i < x->nsources; i++) {
		x->ask.sources = &x->sources[i];
		x->ask.nsources = 1;
		e = output_name(x, &x->sources[i], &path);
		if (!e) {
			e = write_one(s, x, path, r);
			free(path);
		}
	}
	return e;
}

static struct err *write_all(struct session *s, struct tool_export *x, struct export_result *r)
{
	struct err *e;
	char *path;

	x->ask.sources = x->sources;
	x->ask.nsources = x->nsources;
	TRY(output_name(x, NULL, &path));
	e = write_one(s, x, path, r);
	if (!e && x->open && !r->interrupted)
		e = open_in_ui(path, &interrupt_flag);
	free(path);
	return e;
}

/* --- what is read --- */

static uint64_t set_time(const void *rank, uint64_t ns)
{
	return ranks_time(rank, ns);
}

static uint64_t own_time(const void *rank, uint64_t ns)
{
	return ranks_steady(rank, ns);
}

static struct err *open_rank(struct tool_export *x, const struct rank *rank)
{
	struct sbt_reader *r;

	TRY(ranks_open(rank, &r));
	x->sources[x->nsources++] = (struct export_source){r, rank->rank,
		x->ask.archive ? own_time : set_time, rank, rank->host, ranks_offset(rank)};
	return NULL;
}

/* Whether the set becomes a ZIP file: it has that name, or none was given. */
static struct err *want_archive(struct tool_export *x)
{
	if (!x->ask.format->archive || (x->output && !is_zip(x->output)))
		return NULL;
	x->ask.archive = x->set && x->rank == ALL_RANKS;
	return !x->output || x->ask.archive
		       ? NULL
		       : err_cure(err_new(ERR_USAGE,
					  "only a set of ranks is exported as a ZIP file, whole"),
				 "Give -o a name that does not end in .zip");
}

static struct err *open_set(struct tool_export *x)
{
	TRY(ranks_load(&x->set, x->file));
	if (x->ranged && x->rank == ALL_RANKS)
		return err_cure(
			err_new(ERR_USAGE, "a range is of one rank's commands, and %s is a set",
				x->file),
			"Choose a rank with --rank");
	x->ask.set = true;
	TRY(want_archive(x));
	x->sources = xcalloc(x->set->n, sizeof *x->sources);
	for (unsigned i = 0; i < x->set->n; i++)
		if (x->rank == ALL_RANKS || x->set->r[i].rank == (uint64_t)x->rank)
			TRY(open_rank(x, &x->set->r[i]));
	return x->nsources ? NULL
			   : err_new(ERR_NOT_FOUND, "%s has no rank %" PRId64, x->file, x->rank);
}

static struct err *open_input(struct session *s, struct tool_export *x)
{
	if (ranks_is(x->file))
		return open_set(x);
	if (x->rank != ALL_RANKS)
		return err_cure(err_new(ERR_USAGE, "%s is one rank's trace, not a set", x->file),
			"Leave --rank away, or make a set with \"tsdb merge\"");
	TRY(want_archive(x));
	TRY(trace_open(s, x->file));
	x->sources = xcalloc(1, sizeof *x->sources);
	x->sources[x->nsources++].r = s->engine.trace.reader;
	return NULL;
}

static void close_input(struct tool_export *x)
{
	for (unsigned i = 0; x->set && i < x->nsources; i++)
		sbt_reader_close(x->sources[i].r);
	ranks_free(x->set);
	if (x->second)
		sbt_reader_close(x->second);
	export_pairs_free(&x->pairs);
	free(x->sources);
}

/* --- races --- */

static void keep_races(struct tool_export *x, const struct order_races *found)
{
	x->races = xcalloc(found->n ? found->n : 1, sizeof *x->races);
	for (size_t i = 0; i < found->n; i++) {
		const struct order_race *r = &found->r[i];
		struct buf cure = BUF_INIT;

		if (r->tier == ORDER_POSSIBLE)
			continue;
		order_race_cure(&cure, r);
		x->races[x->ask.nraces++] = (struct export_race){r->a.seq, r->b.seq,
			xasprintf("%s: #%" PRIu64 " and #%" PRIu64 ". Cure: %s",
				order_tier_name(r->tier), r->a.seq, r->b.seq, buf_cstr(&cure))};
		buf_free(&cure);
	}
	x->ask.races = x->races;
}

static struct err *find_races(struct session *s, struct tool_export *x)
{
	const struct races_ask ask = {
		.first = x->ask.first, .last = x->ask.last == UINT64_MAX ? 0 : x->ask.last};
	struct order_races found = {0};
	char *note = NULL;
	struct err *e;

	if (x->set)
		return err_cure(err_new(ERR_USAGE, "races are found in one trace, and %s is a set",
					x->file),
			"Export one rank's own file with --races");
	e = races_find(&found, &note, &s->engine, &ask);
	if (!e) {
		keep_races(x, &found);
		fprintf(stderr, "%zu race%s drawn%s.%s%s\n", x->ask.nraces,
			x->ask.nraces == 1 ? " is" : "s are",
			found.more ? ", the first of them" : "", note && *note ? " " : "",
			note ? note : "");
	}
	order_races_free(&found);
	free(note);
	return e;
}

static void free_races(struct tool_export *x)
{
	for (size_t i = 0; i < x->ask.nraces; i++)
		free(x->races[i].what);
	free(x->races);
}

/* --- two runs --- */

static struct err *no_set(const char *path)
{
	if (!ranks_is(path))
		return NULL;
	return err_cure(err_new(ERR_USAGE, "%s is a set, and two runs are traces", path),
		"Export one rank's own file of each");
}

static struct err *need_times(const char *path, struct sbt_reader *r)
{
	return sbt_reader_meta(r)->timestamps
		       ? NULL
		       : err_cure(err_new(ERR_INCOMPLETE, "%s has no GPU times, which %s needs",
					  path, "an export of two runs"),
				 "Record it with tsdb record --timestamps");
}

static struct err *open_both(struct session *s, struct tool_export *x)
{
	struct sbt_reader *first;

	TRY(no_set(x->file));
	TRY(no_set(x->other));
	TRY(want_archive(x));
	TRY(trace_open(s, x->file));
	first = s->engine.trace.reader;
	TRY(sbt_reader_open(&x->second, x->other));
	TRY(need_times(x->file, first));
	TRY(need_times(x->other, x->second));
	TRY(export_pairs_find(&x->pairs, s, first, x->second));
	fprintf(stderr, "%zu commands are in both, %" PRIu64 " differ.\n", x->pairs.n,
		x->pairs.differences);
	x->ask.compared = true;
	x->ask.pairs = x->pairs.v;
	x->ask.npairs = x->pairs.n;
	x->sources = xcalloc(2, sizeof *x->sources);
	memcpy(x->sources, x->pairs.sources, sizeof x->pairs.sources);
	x->nsources = 2;
	return NULL;
}

static struct err *run(struct session *s, struct tool_export *x, struct export_result *r)
{
	TRY(x->other ? open_both(s, x) : open_input(s, x));
	x->ask.sources = x->sources;
	x->ask.nsources = x->nsources;
	TRY(export_check(&x->ask)); /* before the races, which take long */
	if (x->want_races)
		TRY(find_races(s, x));
	x->ask.symbols = session_symbols(s);
	x->ask.cancelled = cancelled;
	x->ask.arg = s;
	return x->set && x->rank == ALL_RANKS && x->ask.format->one_rank ? write_each(s, x, r)
									 : write_all(s, x, r);
}

int tool_export(struct session *s, int argc, char **argv)
{
	struct tool_export x = {
		.ask = {.last = UINT64_MAX, .stream = SBT_NO_ID}, .rank = ALL_RANKS};
	struct export_result r = {0};
	struct err *e = take_options(&x, argc, argv);

	if (!e)
		e = run(s, &x, &r);
	close_input(&x);
	free_races(&x);
	if (e)
		out_error(s->out, e);
	return e || r.interrupted;
}
