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
#include "report/report.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"
#include "shell/print/shown-names.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb report FILE [RANGE] [-o FILE|-] [--md] [--json] [--explain] [--exact | --no-exact | --no-races] [--no-sandbox]"

struct tool_report {
	struct session *s;
	const char *file, *output; /* output NULL: none given */
	uint64_t first, last;
	enum report_as { AS_HTML, AS_MARKDOWN, AS_JSON, AS_EVIDENCE } as;
	enum exact_want exact;
	bool no_races;
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
	else if (!word_range(w, &x->first, &x->last))
		return usage("\"%s\" is no range of commands", w);
	return NULL;
}

static struct err *take_words(struct tool_report *x, int argc, char **argv)
{
	static const char *const valued[] = {"-o", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
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
	struct sbt_reader *r;
	struct summary_rows kernels; /* their mangled names, for call sites */
	struct stats stats;
	struct critical_path path;
	struct order_races races;
	char *races_note, *not_path, *not_races; /* heap; not_*: why not */
	bool has_path;
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

static struct err *find_path(struct about *a)
{
	const struct tool_report *x = a->x;
	const struct order_options o = {.first = x->first,
		.last = x->last == UINT64_MAX ? 0 : x->last,
		.interrupt = &interrupt_flag};

	TRY(not_known(critical_path(&a->path, a->r, &o), &a->not_path));
	a->has_path = !a->not_path;
	return NULL;
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

static struct err *find_out(struct about *a)
{
	const struct tool_report *x = a->x;
	const struct stats_ask ask = {x->first, x->last, cancelled, a->x};

	TRY(stats_make(&a->stats, a->r, &ask));
	summary_sort(
		&a->stats.sums.kernels, a->stats.known.times ? SUMMARY_BY_TIME : SUMMARY_BY_COUNT);
	TRY(find_path(a));
	return find_races(a);
}

static struct err *make_facts(struct about *a, const struct state *end, struct facts *ret)
{
	const struct facts_from from = {.r = a->r,
		.end = end,
		.first = a->x->first,
		.last = a->x->last,
		.stats = &a->stats,
		.critical = a->has_path ? &a->path : NULL,
		.not_critical = a->not_path,
		.races = a->not_races ? NULL : &a->races,
		.not_races = a->not_races,
		.races_note = a->races_note,
		.path = a->x->file,
		.kernel = kernel_name,
		.place = place_of,
		.arg = a};

	return facts_make(ret, &from);
}

static void about_free(struct about *a)
{
	summary_rows_free(&a->kernels);
	stats_free(&a->stats);
	if (a->has_path)
		critical_path_free(&a->path);
	order_races_free(&a->races);
	free(a->races_note);
	free(a->not_path);
	free(a->not_races);
}

/* The facts of the session's open trace. */
static struct err *facts_of(struct about *a, struct facts *ret)
{
	const struct state *end;

	a->r = a->x->s->engine.trace.reader;
	TRY(engine_end_state(&a->x->s->engine, &end));
	know_kernels(a, end);
	TRY(find_out(a));
	return make_facts(a, end, ret);
}

/* --- writing --- */

static struct err *write_html(struct about *a, const struct facts *f, FILE *to)
{
	const struct tool_report *x = a->x;
	const struct report_ask ask = {.a = {x->file, a->r, f, kernel_name, a},
		.symbols = session_symbols(x->s),
		.first = x->first,
		.last = x->last,
		.cancelled = cancelled,
		.arg = a->x,
		.interrupt = &interrupt_flag};
	struct report_result r;

	TRY(report_write(&ask, to, &r));
	fprintf(stderr, "%" PRIu64 " commands, %" PRIu64 " bytes: it opens in any browser.\n",
		r.commands, r.bytes);
	return NULL;
}

static struct err *write_text(const struct tool_report *x, const struct facts *f, FILE *to)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	forms[x->as].print(&b, f, x->file);
	if (x->as == AS_JSON)
		buf_byte(&b, '\n');
	if (fwrite(b.data, 1, b.len, to) != b.len || fflush(to))
		e = err_sys(errno, "cannot write the report");
	buf_free(&b);
	return e;
}

static struct err *write_to(struct about *a, const struct facts *f, FILE *to)
{
	return a->x->as == AS_HTML ? write_html(a, f, to) : write_text(a->x, f, to);
}

/* The file is written beside its name and renamed when it is whole. */
static struct err *write_file(struct about *a, const struct facts *f, const char *path)
{
	char *part = xasprintf("%s.part", path);
	FILE *to = NULL;
	struct err *e = file_create(part, &to);

	if (!e) {
		e = write_to(a, f, to);
		e = err_first(e, file_close(to, part));
		if (!e && rename(part, path))
			e = err_sys(errno, "cannot rename %s", part);
		if (e)
			unlink(part);
	}
	free(part);
	return e;
}

/* HTML goes to a file named after the trace unless one is named; text to standard output. */
static struct err *write_out(struct about *a, const struct facts *f)
{
	const struct tool_report *x = a->x;
	const char *base = file_name_of(x->file), *dot = strrchr(base, '.');
	char *path;
	struct err *e;

	if (x->output ? !strcmp(x->output, "-") : x->as != AS_HTML)
		return write_to(a, f, stdout);
	path = x->output ? xstrdup(x->output)
			 : xasprintf("%.*s.%s",
				   dot && dot != base ? (int)(dot - base) : (int)strlen(base), base,
				   forms[x->as].suffix);
	e = write_file(a, f, path);
	if (!e)
		fprintf(stderr, "Written to %s.\n", path);
	free(path);
	return e;
}

int tool_report(struct session *s, int argc, char **argv)
{
	struct tool_report x = {.s = s, .last = UINT64_MAX, .exact = EXACT_AUTO};
	struct about a = {.x = &x};
	struct facts f = {0};
	struct err *e = take_words(&x, argc, argv);

	if (!e)
		e = trace_open(s, x.file);
	if (!e)
		e = facts_of(&a, &f);
	out_progress_end(s->out);
	if (!e)
		e = write_out(&a, &f);
	out_progress_end(s->out);
	facts_free(&f);
	about_free(&a);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
