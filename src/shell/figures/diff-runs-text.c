/* SPDX-License-Identifier: Apache-2.0
 *
 * Several traces a side as text and as JSON: tables of medians with their spread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "base/text-table.h"
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"

struct runs_line {
	struct runs_row is;
	uint64_t na, nb;
};
struct runs_view {
	struct diff_runs is;
	uint64_t na, nb, slower, faster, noise, not_known;
	double alpha;
	bool decided;
	struct runs_line *lines;
	size_t nlines;
	struct diff_run *runs;
	size_t nruns;
};

static const char *by_name(uint64_t by)
{
	return runs_by_name((enum runs_by)by);
}

static const char *verdict_name(uint64_t v)
{
	return runs_verdict_name((enum runs_verdict)v);
}

JS_DEFINE(line_object, "runs_row", runs_line,
	{.name = "rows_by", .type = JS_NAMED, JS_MEMBER(runs_line, is.by), .named = by_name},
	JS_AS("name", TEXT, runs_line, is.name), JS_AS("a_count", UINT, runs_line, is.a.count),
	JS_AS("b_count", UINT, runs_line, is.b.count),
	JS_AS("a_count_varies", BOOL, runs_line, is.a.count_varies),
	JS_AS("b_count_varies", BOOL, runs_line, is.b.count_varies),
	JS_AS("a_median_ns", REAL, runs_line, is.a.median_ns),
	JS_AS("b_median_ns", REAL, runs_line, is.b.median_ns),
	JS_NUMBERS_OF("a_run_ns", runs_line, is.a.ns, na),
	JS_NUMBERS_OF("b_run_ns", runs_line, is.b.ns, nb), JS_AS("p", REAL, runs_line, is.p),
	{.name = "change",
		.type = JS_NAMED,
		JS_MEMBER(runs_line, is.verdict),
		.named = verdict_name});
JS_DEFINE(run_object, "diff_run", diff_run, JS_AS("file", TEXT, diff_run, path),
	JS_AS("of_b", BOOL, diff_run, b), JS_AS("first_seq", SEQ, diff_run, range.first),
	JS_AS("other_commands", UINT, diff_run, differences), JS(UINT, diff_run, gpu_ns, span_ns),
	JS(UINT, diff_run, untimed));
JS_DEFINE(runs_object, "runs_diff", runs_view, JS_AS("a_runs", UINT, runs_view, na),
	JS_AS("b_runs", UINT, runs_view, nb), JS_IN(BOOL, runs_view, is, control, in_turn),
	JS(BOOL, runs_view, decided), JS(REAL, runs_view, alpha),
	JS_AS("least_p", REAL, runs_view, is.is.least_p),
	JS_AS("kernels_slower", UINT, runs_view, slower),
	JS_AS("kernels_faster", UINT, runs_view, faster),
	JS_AS("kernels_noise", UINT, runs_view, noise),
	JS_AS("kernels_not_known", UINT, runs_view, not_known),
	JS_LIST_OF("run_list", runs_view, runs, nruns, run_object),
	JS_LIST_OF("row_list", runs_view, lines, nlines, line_object));

static struct runs_view make_view(const struct diff_runs *r)
{
	const uint64_t *kernels = r->is.by_verdict[RUNS_KERNEL];
	struct runs_view v = {.is = *r,
		.na = r->is.na,
		.nb = r->is.nb,
		.slower = kernels[RUNS_SLOWER],
		.faster = kernels[RUNS_FASTER],
		.noise = kernels[RUNS_NOISE],
		.not_known = kernels[RUNS_NOT_KNOWN],
		.alpha = RUNS_ALPHA,
		.decided = runs_decide(&r->is),
		.nlines = r->is.n,
		.runs = r->run,
		.nruns = r->n};

	v.lines = xcalloc(r->is.n + 1, sizeof *v.lines);
	for (size_t i = 0; i < r->is.n; i++)
		v.lines[i] = (struct runs_line){r->is.row[i], v.na, v.nb};
	return v;
}

void diff_runs_json(struct buf *out, const void *r)
{
	struct runs_view v = make_view(*(const struct diff_runs *const *)r);

	js_put(out, &runs_object, &v);
	free(v.lines);
}

/* --- text --- */

static void put_side(struct buf *out, const struct runs_side *s)
{
	const double up = (double)s->high_ns - s->median_ns,
		     down = s->median_ns - (double)s->low_ns;

	buf_printf(out, "%.3f", s->median_ns / 1e6);
	if (s->median_ns > 0)
		buf_printf(out, " ±%.1f %%", 100 * (up > down ? up : down) / s->median_ns);
}

static void a_cell(struct buf *out, const void *row)
{
	put_side(out, &((const struct runs_line *)row)->is.a);
}

static void b_cell(struct buf *out, const void *row)
{
	put_side(out, &((const struct runs_line *)row)->is.b);
}

static void change_cell(struct buf *out, const void *row)
{
	const struct runs_row *r = &((const struct runs_line *)row)->is;

	if (r->a.median_ns > 0)
		buf_printf(
			out, "%+.1f %%", 100 * (r->b.median_ns - r->a.median_ns) / r->a.median_ns);
	else
		buf_str(out, "-");
}

static void p_cell(struct buf *out, const void *row)
{
	buf_printf(out, "%.2g", ((const struct runs_line *)row)->is.p);
}

static void verdict_cell(struct buf *out, const void *row)
{
	buf_str(out, runs_verdict_name(((const struct runs_line *)row)->is.verdict));
}

static void put_count(struct buf *out, const struct runs_side *s)
{
	buf_printf(out, "%s%" PRIu64, s->count_varies ? "about " : "", s->count);
}

static void count_cell(struct buf *out, const void *row)
{
	const struct runs_row *r = &((const struct runs_line *)row)->is;

	put_count(out, &r->a);
	if (r->a.count == r->b.count && !r->a.count_varies && !r->b.count_varies)
		return;
	buf_str(out, ", ");
	put_count(out, &r->b);
}

#define RIGHT(title, fn)                                                                           \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, true, false                                          \
	}
static const struct column columns[] = {RIGHT("A/ms", a_cell), RIGHT("B/ms", b_cell),
	RIGHT("Change", change_cell), RIGHT("p", p_cell), SUMS_LEFT("B is", verdict_cell),
	RIGHT("Count", count_cell),
	{"What", {.type = JS_TEXT, JS_MEMBER(runs_line, is.name)}, NULL, false, false}, SUMS_END};

static void print_head(struct session *s, const struct diff_runs *r)
{
	if (r->control)
		out_printf(s->out,
			"\nControl: one side against itself, its odd runs (A, %u) and its even runs (B, %u).\n",
			r->is.na, r->is.nb);
	else
		out_printf(s->out, "\nRuns: %u of A, %u of B.\n", r->is.na, r->is.nb);
	out_printf(s->out,
		"Medians, each with how far the furthest run is from it. Slower or faster: Mann and Whitney's test, p at most %g over the rows of a table.\n",
		RUNS_ALPHA);
	if (!runs_decide(&r->is))
		out_printf(s->out,
			"So few runs cannot tell a difference from chance, however large: their least p is %.2g. Record at least %u of each.\n",
			r->is.least_p, runs_fewest(1));
	if (!r->in_turn)
		out_str(s->out,
			"All runs of one side are older than those of the other: had the machine become slower meanwhile, it would look the same. Record them in turn.\n");
}

static void print_runs(struct session *s, const struct diff_runs *r)
{
	const char *first = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct diff_run *x = &r->run[i];

		if (!i || x->b != r->run[i - 1].b)
			first = x->path;
		if (x->differences)
			out_printf(s->out,
				"%s differs from %s in %" PRIu64
				" commands: its times are of other work.\n",
				x->path, first, x->differences);
		if (x->untimed)
			out_printf(s->out, "%s has no GPU times of %" PRIu64 " commands of work.\n",
				x->path, x->untimed);
	}
}

void diff_runs_print(struct session *s, const struct diff_runs *r, uint64_t top)
{
	static const char *const titles[RUNS_BYS] = {
		"In all", "By kernel", "By call site", "By NVTX range, numbers in its name aside"};
	struct runs_view v = make_view(r);

	print_head(s, r);
	print_runs(s, r);
	for (size_t i = 0, end; i < v.nlines; i = end) {
		size_t n;

		for (end = i; end < v.nlines && v.lines[end].is.by == v.lines[i].is.by;)
			end++;
		n = top && end - i > top ? top : end - i;
		sums_table(s, titles[v.lines[i].is.by], columns, &v.lines[i], sizeof *v.lines, n);
		if (n < end - i)
			out_printf(s->out, "and %zu more (--top 0 shows all)\n", end - i - n);
		if (v.decided && r->is.by_verdict[v.lines[i].is.by][RUNS_NOT_KNOWN])
			out_printf(s->out,
				"Not known: among %zu rows chance gives one like it. %u runs of each can tell one of them.\n",
				end - i, runs_fewest(end - i));
	}
	free(v.lines);
}
