/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb report: a trace as one HTML file, or its facts as Markdown, JSON or numbered evidence. The
 * analyses of the engine and of the rooms below run here one after the other; what one of them
 * cannot say becomes a fact, not a failure.
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
#include "report/report.h"
#include "shell/figures/check-read.h"
#include "shell/figures/diff-text.h"
#include "shell/figures/report-sums.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"
#include "shell/print/shown-names.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb report FILE [FILE] [RANGE] [--rank N] [-o FILE|-] [--md] [--json] [--explain] [--exact | --no-exact | --no-races] [--check FILE] [--no-sandbox]"
#define ALL_RANKS UINT64_MAX

struct tool_report {
	struct session *s;
	const char *file, *other, *output, *check; /* but file, NULL: none given */
	uint64_t first, last;			   /* of file */
	uint64_t rank;				   /* of a set */
	struct ranks *set;			   /* NULL: traces are shown */
	enum report_as { AS_HTML, AS_MARKDOWN, AS_JSON, AS_EVIDENCE } as;
	enum exact_want exact;
	bool no_races;
	struct fact_check checked;
	struct diff_trace a, b; /* with a second trace: both, as they are compared */
	struct report_pairs pairs;
	size_t cap_pairs;
};

static const struct {
	const char *option, *suffix;
	void (*print)(struct buf *out, const struct facts *f, const char *path);
} forms[] = {
	[AS_HTML] = {"--html", "html", NULL},
	[AS_MARKDOWN] = {"--md", "md", facts_markdown},
	[AS_JSON] = {"--json", "json", facts_json},
	[AS_EVIDENCE] = {"--explain", "txt", facts_explain},
};

/* --- words --- */

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *take_word(struct tool_report *x, const char *w)
{
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!strcmp(w, forms[i].option)) {
			x->as = (enum report_as)i;
			return NULL;
		}
	}
	if (!strcmp(w, "--exact"))
		x->exact = EXACT_MUST;
	else if (!strcmp(w, "--no-exact"))
		x->exact = EXACT_NEVER;
	else if (!strcmp(w, "--no-races"))
		x->no_races = true;
	else if (*w == '-')
		return usage("report has no option %s", w);
	else if (!x->file)
		x->file = w;
	else if (word_range(w, &x->first, &x->last))
		return NULL;
	else if (!x->other && access(w, F_OK) == 0)
		x->other = w;
	else
		return usage("\"%s\" is no range of commands, and no other trace", w);
	return NULL;
}

static struct err *take_words(struct tool_report *x, int argc, char **argv)
{
	static const char *const valued[] = {"-o", "--check", "--rank", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name && !strcmp(name, "--check"))
			x->check = value;
		else if (name && !strcmp(name, "--rank") &&
			 (!word_u64(value, &x->rank) || x->rank == ALL_RANKS))
			return usage("\"%s\" is no rank", value);
		else if (name && !strcmp(name, "--rank"))
			continue;
		else if (name)
			x->output = value;
		else
			TRY(take_word(x, argv[i]));
	}
	return x->file ? NULL : usage("report needs a trace%s", "");
}

static bool cancelled(void *arg, uint64_t done, uint64_t of)
{
	struct tool_report *x = arg;

	out_progress(x->s->out, "reading", done, of);
	return interrupt_flag;
}

/* --- one trace --- */

/* What is found out about a trace. It is opened as the session's while that is done, and as a
 * reader of its own for the page. */
struct about {
	struct tool_report *x;
	const char *path;
	uint64_t first, last;
	struct sbt_reader *r;
	const struct rank *rank; /* of a set that is shown; NULL: of none */
	struct sbt_reader *own;	 /* of a rank, for the page */
	struct facts facts;
	struct summary_rows kernels;	  /* their mangled names, for call sites */
	struct report_sums_work *summing; /* NULL: not begun, or over */
	struct report_sums sums;
	struct order_races races;
	char *races_note, *not_races; /* heap; not_*: why not */
	const struct state *end;
	const struct compare *changes; /* to the other trace; NULL: there is none */
};

static const char *kernel_name(void *arg, const char *mangled)
{
	struct about *a = arg;

	return kernel_shown_name(a->x->s, mangled);
}

static char *place_of(void *arg, uint32_t stack)
{
	struct about *a = arg;

	return sums_site(a->x->s, a->r, stack, &a->kernels);
}

/* Takes an error that only means that something is not known: its sentence in *ret. What the user
 * stopped stays an error. */
static struct err *not_known(struct err *e, char **ret)
{
	if (!e || e->code == ERR_INTERRUPTED)
		return e;
	*ret = xstrdup(e->what);
	err_free(e);
	return NULL;
}

static void know_kernels(struct about *a, const struct state *end)
{
	struct state_kernel k;
	unsigned n = 0;

	while (state_kernel(end, n, &k))
		n++;
	a->kernels.v = xcalloc(n + 1, sizeof *a->kernels.v);
	for (unsigned i = 0; state_kernel(end, i, &k); i++)
		a->kernels.v[a->kernels.n++].name = xstrdup(k.name);
}

static struct err *find_races(struct about *a)
{
	const struct tool_report *x = a->x;
	const struct races_ask ask = {
		.want = x->exact, .first = x->first, .last = x->last == UINT64_MAX ? 0 : x->last};
	struct err *e;

	if (x->no_races) {
		a->not_races = xstrdup("they were not looked for (--no-races)");
		return NULL;
	}
	e = races_find(&a->races, &a->races_note, &x->s->engine, &ask);
	return x->exact == EXACT_MUST ? e : not_known(e, &a->not_races);
}

/* Waits for what is added up, and makes the facts. The trace is still open as the session's. counts
 * may be NULL. */
static struct err *make_facts(void *about, const struct fact_counts *counts)
{
	struct about *a = about;
	struct report_sums_work *w = a->summing;
	struct stats *stats = &a->sums.stats;
	struct facts_from from = {.r = a->r,
		.end = a->end,
		.first = a->first,
		.last = a->last,
		.counts = counts,
		.stats = stats,
		.races = a->not_races ? NULL : &a->races,
		.not_races = a->not_races,
		.races_note = a->races_note,
		.check = a->x->check && a->path == a->x->file ? &a->x->checked : NULL,
		.changes = a->changes,
		.other = a->x->other,
		.path = a->path,
		.kernel = kernel_name,
		.place = place_of,
		.arg = a};

	if (!w)
		return NULL;
	a->summing = NULL;
	TRY(report_sums_end(w, &a->sums));
	summary_sort(&stats->sums.kernels, stats->known.times ? SUMMARY_BY_TIME : SUMMARY_BY_COUNT);
	if (a->sums.no_path)
		from.not_critical = a->sums.no_path->what;
	else
		from.critical = &a->sums.critical;
	return facts_make(&a->facts, &from);
}

static void about_free(struct about *a)
{
	if (a->summing) {
		report_sums_stop(a->summing);
		err_free(report_sums_end(a->summing, &a->sums));
	}
	facts_free(&a->facts);
	if (a->own)
		sbt_reader_close(a->own);
	summary_rows_free(&a->kernels);
	report_sums_free(&a->sums);
	order_races_free(&a->races);
	free(a->races_note);
	free(a->not_races);
}

/* Opens the trace as the session's, and begins to find out what there is to know. */
static struct err *about_begin(struct about *a)
{
	const uint64_t last = a->last;

	TRY(trace_open(a->x->s, a->path));
	a->r = a->x->s->engine.trace.reader;
	TRY(report_sums_begin(&a->summing, a->path, a->first,
		last < sbt_reader_last_seq(a->r) ? last : sbt_reader_last_seq(a->r),
		&interrupt_flag));
	TRY(engine_end_state(&a->x->s->engine, &a->end));
	know_kernels(a, a->end);
	if (a->x->check && a->path == a->x->file)
		TRY(check_read(a->x->check, sbt_reader_first_seq(a->r), sbt_reader_last_seq(a->r),
			&a->x->checked));
	return find_races(a);
}

static struct err *facts_of(struct about *a)
{
	TRY(about_begin(a));
	return make_facts(a, NULL);
}

/* --- two traces --- */

static uint64_t place_alike(void *arg, bool b, uint32_t stack)
{
	struct tool_report *x = arg;

	return diff_trace_place(x->s, b ? &x->b : &x->a, stack);
}

static void keep_pair(void *arg, uint64_t a, uint64_t b)
{
	struct tool_report *x = arg;
	struct report_pairs *p = &x->pairs;
	size_t cap = x->cap_pairs;

	MAKE_ROOM(p->a, p->n, x->cap_pairs);
	MAKE_ROOM(p->b, p->n, cap);
	p->a[p->n] = a;
	p->b[p->n++] = b;
}

static struct err *compare_both(struct tool_report *x, struct compare *ret)
{
	struct compare_ask ask = {.place = place_alike,
		.pair = keep_pair,
		.cancelled = cancelled,
		.arg = x,
		.range_a = {x->first, x->last},
		.range_b = {0, UINT64_MAX}};

	x->a.path = x->file;
	x->b.path = x->other;
	TRY(diff_trace_open(&x->a));
	TRY(diff_trace_open(&x->b));
	ask.a = x->a.r;
	ask.b = x->b.r;
	return compare_run(ret, &ask);
}

/* --- sets --- */

static uint64_t set_time(const void *rank, uint64_t ns)
{
	return ranks_time(rank, ns);
}

/* What is written: of each trace; of two, what changed; of a set, what its ranks have in common. */
struct found {
	struct about *of;
	unsigned n;
	struct compare changes;
	struct set_stats ranks;
	struct facts together;
};

static struct err *can_show_set(const struct tool_report *x)
{
	struct err *e = NULL;

	if (x->other)
		return err_cure(err_new(ERR_USAGE, "%s is a set, and two traces are compared",
					ranks_is(x->file) ? x->file : x->other),
			"Name one trace of each run");
	if (x->rank != ALL_RANKS)
		return NULL;
	if (x->first || x->last != UINT64_MAX)
		e = err_new(
			ERR_USAGE, "a range is of one rank's commands, and %s is a set", x->file);
	else if (x->check)
		e = err_new(
			ERR_USAGE, "--check is of one rank's launches, and %s is a set", x->file);
	return e ? err_cure(e, "Choose a rank with --rank") : NULL;
}

static struct err *report_rank(struct tool_report *x, struct found *d, const struct rank *is)
{
	struct about *a = &d->of[d->n];

	*a = (struct about){.x = x, .path = is->file, .last = UINT64_MAX, .rank = is};
	TRY(ranks_open(is, &a->own));
	d->n++;
	TRY(facts_of(a));
	sums_name(x->s, a->r, &a->sums.stats.sums);
	set_stats_add(&d->ranks, is->rank, &a->sums.stats, set_time, is);
	a->r = a->own;
	return NULL;
}

static struct err *report_set(struct tool_report *x, struct found *d)
{
	d->of = xcalloc(x->set->n + 1, sizeof *d->of);
	for (unsigned i = 0; i < x->set->n; i++)
		TRY(report_rank(x, d, &x->set->r[i]));
	set_stats_end(&d->ranks);
	facts_of_set(&d->together, &d->ranks);
	return NULL;
}

/* Of a set whose ranks are not all shown: the trace that is, in place of the set. */
static struct err *open_set(struct tool_report *x, bool *ret_all)
{
	const bool other = x->other && ranks_is(x->other);

	*ret_all = false;
	if (!ranks_is(x->file) && !other && x->rank == ALL_RANKS)
		return NULL;
	if (!ranks_is(x->file) && !other)
		return err_cure(err_new(ERR_USAGE, "%s is one rank's trace, not a set", x->file),
			"Leave --rank away, or make a set with \"tsdb merge\"");
	TRY(can_show_set(x));
	TRY(ranks_load(&x->set, x->file));
	*ret_all = x->rank == ALL_RANKS;
	return *ret_all ? NULL : ranks_choose(x->set, x->rank, &x->file);
}

/* --- writing --- */

static struct report_trace as_written(const struct about *a)
{
	struct report_trace t = {.path = a->path,
		.r = a->r,
		.facts = &a->facts,
		.know = make_facts,
		.kernel = kernel_name,
		.arg = (void *)a,
		.first = a->first,
		.last = a->last};

	if (a->rank) {
		t.rank = a->rank->rank;
		t.time = set_time;
		t.clock = a->rank;
	}
	return t;
}

static struct err *write_html(struct tool_report *x, struct found *d, FILE *to)
{
	const bool set = d->n && d->of[0].rank;
	struct report_trace *t = xcalloc(d->n + 1, sizeof *t);
	struct report_ask ask = {.t = t,
		.n = d->n,
		.pairs = x->other ? &x->pairs : NULL,
		.set = set ? x->set->path : NULL,
		.together = set ? &d->together : NULL,
		.symbols = session_symbols(x->s),
		.cancelled = cancelled,
		.arg = x,
		.interrupt = &interrupt_flag};
	struct report_result r;
	struct err *e;

	for (unsigned i = 0; i < d->n; i++)
		t[i] = as_written(&d->of[i]);
	e = report_write(&ask, to, &r);
	free(t);
	if (!e)
		fprintf(stderr,
			"%" PRIu64 " command%s, %" PRIu64 " bytes: it opens in any browser.\n",
			r.commands, r.commands == 1 ? "" : "s", r.bytes);
	return e;
}

/* Of a set: what the ranks have in common, then each of them. */
static void put_set(const struct tool_report *x, const struct found *d, struct buf *b)
{
	struct facts_rank *ranks;

	if (x->as != AS_JSON) {
		forms[x->as].print(b, &d->together, x->set->path);
		for (unsigned i = 0; i < d->n; i++) {
			buf_byte(b, '\n');
			forms[x->as].print(b, &d->of[i].facts, d->of[i].path);
		}
		return;
	}
	ranks = xcalloc(d->n + 1, sizeof *ranks);
	for (unsigned i = 0; i < d->n; i++)
		ranks[i] = (struct facts_rank){d->of[i].rank->rank, &d->of[i].facts, d->of[i].path};
	facts_set_json(b, &d->together, x->set->path, ranks, d->n);
	free(ranks);
}

static struct err *write_text(const struct tool_report *x, const struct found *d, FILE *to)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	TRY(make_facts(&d->of[0], NULL));
	if (d->of[0].rank)
		put_set(x, d, &b);
	else
		forms[x->as].print(&b, &d->of[0].facts, x->file);
	if (x->as == AS_JSON)
		buf_byte(&b, '\n');
	if (fwrite(b.data, 1, b.len, to) != b.len || fflush(to))
		e = err_sys(errno, "cannot write the report");
	buf_free(&b);
	return e;
}

struct written {
	struct tool_report *x;
	struct found *d;
};

static struct err *write_to(void *arg, FILE *to)
{
	const struct written *w = arg;

	return w->x->as == AS_HTML ? write_html(w->x, w->d, to) : write_text(w->x, w->d, to);
}

/* HTML goes to a file named after the trace unless one is named; text to standard output. */
static struct err *write_out(struct tool_report *x, struct found *d)
{
	const char *base = file_name_of(x->file), *dot = strrchr(base, '.');
	char *path;
	struct err *e;

	if (x->output ? !strcmp(x->output, "-") : x->as != AS_HTML)
		return write_to(&(struct written){x, d}, stdout);
	path = x->output ? xstrdup(x->output)
			 : xasprintf("%.*s.%s",
				   dot && dot != base ? (int)(dot - base) : (int)strlen(base), base,
				   forms[x->as].suffix);
	e = file_put(path, write_to, &(struct written){x, d});
	if (!e)
		fprintf(stderr, "Written to %s.\n", path);
	free(path);
	return e;
}

static struct err *report_traces(struct tool_report *x, struct found *d)
{
	struct about *a, *b;

	d->of = xcalloc(2, sizeof *d->of);
	a = &d->of[0];
	b = &d->of[1];
	d->n = x->other ? 2 : 1;
	*a = (struct about){.x = x, .path = x->file, .first = x->first, .last = x->last};
	*b = (struct about){.x = x, .path = x->other, .last = UINT64_MAX};
	if (x->other) {
		TRY(compare_both(x, &d->changes));
		TRY(facts_of(b));
		b->r = x->b.r; /* the session's trace is going to be a */
	}
	a->changes = x->other ? &d->changes : NULL;
	return about_begin(a); /* its facts are made when they are needed */
}

static struct err *report(struct tool_report *x, struct found *d)
{
	bool all;

	TRY(open_set(x, &all));
	TRY(all ? report_set(x, d) : report_traces(x, d));
	out_progress_end(x->s->out);
	return write_out(x, d);
}

static void found_free(struct found *d)
{
	for (unsigned i = 0; i < d->n; i++)
		about_free(&d->of[i]);
	free(d->of);
	compare_free(&d->changes);
	set_stats_free(&d->ranks);
	facts_free(&d->together);
}

int tool_report(struct session *s, int argc, char **argv)
{
	struct tool_report x = {.s = s, .last = UINT64_MAX, .rank = ALL_RANKS, .exact = EXACT_AUTO};
	struct found d = {0};
	struct err *e = take_words(&x, argc, argv);

	if (!e)
		e = report(&x, &d);
	out_progress_end(s->out);
	found_free(&d);
	diff_trace_close(&x.a);
	diff_trace_close(&x.b);
	check_read_free(&x.checked);
	ranks_free(x.set);
	free(x.pairs.a);
	free(x.pairs.b);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
