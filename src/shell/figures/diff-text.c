/* SPDX-License-Identifier: Apache-2.0
 *
 * Two traces side by side, see diff-text.h: the first difference with both stacks, then all of
 * them, then times.
 */
#include "shell/figures/diff-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text-table.h"
#include "shell/figures/sums-text.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

struct side_row {
	struct compare_side is;
	char *command, *place; /* of the first; heap; NULL: none */
	struct stack stack;    /* of the first difference alone */
	const struct stack *shown;
};
struct diff_row {
	enum compare_what what;
	uint64_t count;
	struct side_row a, b;
	const struct side_row *in_a, *in_b; /* NULL: that trace does not have it */
};
struct time_row {
	struct compare_time is;
	const char *name;
	int64_t change_ns;
	uint64_t of_ns; /* all matched time in A */
};
struct site_row {
	struct compare_site is;
	const char *name;
	char *place; /* heap */
	int64_t change_ns;
};
struct stream_pair {
	uint32_t a, b;
};
struct diff_view {
	const struct compare *c;
	struct compare is;
	bool same;
	struct diff_row *rows;
	struct time_row *times;
	struct stream_pair *streams;
	size_t nrows, ntimes, nstreams;
	uint64_t unlisted;
	const struct diff_row *first;
	const struct diff_step *step_a, *step_b; /* NULL: ranges are compared */
	struct site_row *sites;			 /* with the paragraph */
	size_t nsites;
	const char *why; /* NULL: it was not asked for */
	const struct diff_runs *runs;
	char *numeric; /* the object numeric_diff, as text; heap */
};

/* --- making the rows --- */

static struct err *make_side(struct session *s, const struct diff_trace *t,
	const struct compare_side *is, bool first, struct side_row *ret)
{
	const struct shown_names names = {s, t->st};
	struct buf b = BUF_INIT;
	uint32_t stack;

	*ret = (struct side_row){.is = *is};
	if (!is->count)
		return NULL;
	TRY(shown_cmd(&names, t->r, is->first, false, &b, &stack));
	(void)buf_cstr(&b);
	ret->command = buf_steal(&b);
	if (stack)
		ret->place = sums_site(s, t->r, stack, &t->kernels);
	if (first && stack) {
		TRY(stack_recorded(s, t->r, stack, &ret->stack));
		ret->shown = &ret->stack;
	}
	return NULL;
}

static struct err *make_rows(struct session *s, const struct diff_show *d, struct diff_view *v)
{
	const struct compare *c = v->c;

	v->nrows = d->top && c->n > d->top ? d->top : c->n;
	v->unlisted = c->n - v->nrows + c->more;
	v->rows = xcalloc(v->nrows + 1, sizeof *v->rows);
	for (size_t i = 0; i < v->nrows; i++) {
		struct diff_row *row = &v->rows[i];
		const struct compare_difference *x = &c->d[i];

		row->what = x->what;
		row->count = x->a.count > x->b.count ? x->a.count : x->b.count;
		TRY(make_side(s, &d->a, &x->a, !i, &row->a));
		TRY(make_side(s, &d->b, &x->b, !i, &row->b));
		row->in_a = x->a.count ? &row->a : NULL;
		row->in_b = x->b.count ? &row->b : NULL;
	}
	v->first = v->nrows ? v->rows : NULL;
	return NULL;
}

static void make_times(struct session *s, const struct diff_show *d, struct diff_view *v)
{
	const struct compare *c = v->c;

	v->ntimes = d->runs ? 0 : d->top && c->ntimes > d->top ? d->top : c->ntimes;
	v->times = xcalloc(v->ntimes + 1, sizeof *v->times);
	for (size_t i = 0; i < v->ntimes; i++) {
		const struct compare_time *t = &c->times[i];

		v->times[i] = (struct time_row){*t, kernel_shown_name(s, t->name),
			(int64_t)(t->b_ns - t->a_ns), c->a_matched_ns};
	}
}

static void make_sites(struct session *s, const struct diff_show *d, struct diff_view *v)
{
	const struct compare *c = v->c;

	v->nsites = d->top && c->nsites > d->top ? d->top : c->nsites;
	v->sites = xcalloc(v->nsites + 1, sizeof *v->sites);
	for (size_t i = 0; i < v->nsites; i++) {
		const struct compare_site *x = &c->sites[i];
		const struct diff_trace *t = x->a_count ? &d->a : &d->b;

		v->sites[i] = (struct site_row){*x, kernel_shown_name(s, x->name),
			sums_site(s, t->r, x->a_count ? x->stack_a : x->stack_b, &t->kernels),
			(int64_t)(x->b_ns - x->a_ns)};
	}
}

static void make_streams(struct diff_view *v)
{
	v->nstreams = v->c->nstreams;
	v->streams = xcalloc(v->nstreams + 1, sizeof *v->streams);
	for (size_t i = 0; i < v->nstreams; i++)
		v->streams[i] =
			(struct stream_pair){v->c->streams[2 * i], v->c->streams[2 * i + 1]};
}

static void side_free(struct side_row *row)
{
	free(row->command);
	free(row->place);
	stack_free(&row->stack);
}

static void view_free(struct diff_view *v)
{
	for (size_t i = 0; i < v->nrows; i++) {
		side_free(&v->rows[i].a);
		side_free(&v->rows[i].b);
	}
	free(v->rows);
	for (size_t i = 0; i < v->nsites; i++)
		free(v->sites[i].place);
	free(v->sites);
	free(v->times);
	free(v->streams);
	free(v->numeric);
}

/* --- JSON --- */

static const char *what_name(uint64_t what)
{
	return compare_what_name((enum compare_what)what);
}

static void put_stack(struct buf *out, const void *stack)
{
	stack_json(out, *(const struct stack *const *)stack);
}

JS_DEFINE(side_object, "diff_side", side_row, JS_AS("first_seq", SEQ, side_row, is.first),
	JS_AS("last_seq", SEQ, side_row, is.last), JS_IN(UINT, side_row, is, count),
	JS_IN(ID, side_row, is, stream), JS_AS("command_text", TEXT, side_row, command),
	JS_AS("call_site", TEXT, side_row, place), JS_AS("behind_seq", SEQ, side_row, is.before),
	JS_MAYBE_BY("frames", side_row, shown, put_stack, "[frame]"));
JS_DEFINE(row_object, "trace_difference", diff_row,
	{.name = "difference", .type = JS_NAMED, JS_MEMBER(diff_row, what), .named = what_name},
	JS(UINT, diff_row, count), JS_OF("in_a", POINTER, diff_row, in_a, side_object),
	JS_OF("in_b", POINTER, diff_row, in_b, side_object));
JS_DEFINE(time_object, "time_difference", time_row, JS(TEXT, time_row, name),
	JS_IN(UINT, time_row, is, count, a_ns, b_ns), JS(INT, time_row, change_ns),
	JS_IN(BOOL, time_row, is, noise), JS_IN(SEQ, time_row, is, first_a, first_b));
JS_DEFINE(site_object, "site_difference", site_row, JS(TEXT, site_row, name),
	JS_AS("call_site", TEXT, site_row, place),
	JS_IN(UINT, site_row, is, a_count, b_count, a_ns, b_ns), JS(INT, site_row, change_ns),
	JS_IN(BOOL, site_row, is, noise), JS_IN(SEQ, site_row, is, first_a, first_b));
JS_DEFINE(stream_pair_object, "stream_pair", stream_pair, JS_AS("stream_a", ID, stream_pair, a),
	JS_AS("stream_b", ID, stream_pair, b));
static void put_numeric(struct buf *out, const void *text)
{
	buf_str(out, *(char *const *)text);
}

static const char *by_name(uint64_t by)
{
	return compare_steps_name((enum compare_steps_by)by);
}

JS_DEFINE(step_object, "diff_step", diff_step, JS_AS("number", UINT, diff_step, is.number),
	JS_AS("steps", UINT, diff_step, of), JS_AS("first_seq", SEQ, diff_step, is.first),
	JS_AS("last_seq", SEQ, diff_step, is.last), JS_AS("work", UINT, diff_step, is.work),
	{.name = "steps_by", .type = JS_NAMED, JS_MEMBER(diff_step, by), .named = by_name},
	JS_AS("range_name", TEXT, diff_step, name));
JS_DEFINE(diff_object, "trace_diff", diff_view, JS(BOOL, diff_view, same),
	JS_OF("step_a", POINTER, diff_view, step_a, step_object),
	JS_OF("step_b", POINTER, diff_view, step_b, step_object),
	JS_IN(UINT, diff_view, is, a_commands, b_commands, matched),
	JS_AS("removed", UINT, diff_view, is.by_what[COMPARE_REMOVED]),
	JS_AS("inserted", UINT, diff_view, is.by_what[COMPARE_INSERTED]),
	JS_AS("replaced", UINT, diff_view, is.by_what[COMPARE_REPLACED]),
	JS_AS("reshaped", UINT, diff_view, is.by_what[COMPARE_RESHAPED]),
	JS_AS("reordered", UINT, diff_view, is.by_what[COMPARE_REORDERED]),
	JS_AS("other_stream", UINT, diff_view, is.by_what[COMPARE_MOVED]),
	JS_AS("wait_gone", UINT, diff_view, is.by_what[COMPARE_WAIT_GONE]),
	JS_AS("wait_added", UINT, diff_view, is.by_what[COMPARE_WAIT_ADDED]),
	JS_AS("wait_other", UINT, diff_view, is.by_what[COMPARE_WAIT_OTHER]),
	JS_IN(BOOL, diff_view, is, observed, coarse),
	JS_LIST_OF("difference_list", diff_view, rows, nrows, row_object),
	JS(UINT, diff_view, unlisted),
	JS_LIST_OF("stream_pairs", diff_view, streams, nstreams, stream_pair_object),
	JS_AS("times_known", BOOL, diff_view, is.timed),
	JS_IN(UINT, diff_view, is, a_matched_ns, b_matched_ns, a_only_ns, b_only_ns, a_span_ns),
	JS_IN(UINT, diff_view, is, b_span_ns),
	JS_LIST_OF("time_list", diff_view, times, ntimes, time_object),
	JS_MAYBE("explanation", TEXT, diff_view, why),
	JS_LIST_OF("site_list", diff_view, sites, nsites, site_object),
	JS_MAYBE_BY("runs", diff_view, runs, diff_runs_json, "runs_diff"),
	JS_MAYBE_BY("numbers", diff_view, numeric, put_numeric, "numeric_diff"));

static void put_json(struct session *s, const struct diff_view *v)
{
	struct buf b = BUF_INIT;

	js_put(&b, &diff_object, v);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

/* --- text --- */

static const char *sentence(enum compare_what what)
{
	static const char *const texts[COMPARE_WHATS] = {"only A has", "only B has",
		"B has another command in its place", "the same with another shape",
		"it comes elsewhere in B", "it is on another stream in B", "only A waits",
		"only B waits", "it waits for another point in B"};

	return texts[what];
}

static void print_side(struct session *s, const char *which, const struct side_row *row)
{
	struct buf b = BUF_INIT;

	if (!row->is.count) {
		out_printf(s->out, "  %s: nothing", which);
	} else {
		out_printf(s->out, "  %s: %s", which, row->command);
		if (row->is.count > 1)
			out_printf(s->out, " and %" PRIu64 " more, up to #%" PRIu64,
				row->is.count - 1, row->is.last);
	}
	if (row->is.before)
		out_printf(s->out, ", behind #%" PRIu64 "\n", row->is.before);
	else
		out_str(s->out, ", at the beginning\n");
	if (row->shown)
		stack_print_brief(&b, row->shown, "      ", 6);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

static void print_first(struct session *s, const struct diff_view *v)
{
	out_printf(s->out, "\nThe first difference: %s\n", sentence(v->first->what));
	print_side(s, "A", &v->first->a);
	print_side(s, "B", &v->first->b);
}

static void put_range(struct buf *out, const struct side_row *r)
{
	if (r->is.count == 1)
		buf_printf(out, "#%" PRIu64, r->is.first);
	else if (r->is.count)
		buf_printf(out, "#%" PRIu64 "-#%" PRIu64, r->is.first, r->is.last);
	else
		buf_byte(out, '-');
}

static void a_cell(struct buf *out, const void *row)
{
	put_range(out, &((const struct diff_row *)row)->a);
}

static void b_cell(struct buf *out, const void *row)
{
	put_range(out, &((const struct diff_row *)row)->b);
}

static void how_cell(struct buf *out, const void *row)
{
	buf_str(out, compare_what_name(((const struct diff_row *)row)->what));
}

/* A command's text without its number. */
static const char *bare(const char *command)
{
	const char *p = strchr(command, ' ');

	return *command == '#' && p ? p + 1 : command;
}

static void what_cell(struct buf *out, const void *row)
{
	const struct diff_row *r = row;
	const struct side_row *one = r->in_a ? r->in_a : r->in_b;

	buf_str(out, bare(one->command));
	if (r->in_a && r->in_b && strcmp(bare(r->a.command), bare(r->b.command)) != 0)
		buf_printf(out, " -> %s", bare(r->b.command));
	if (r->count > 1)
		buf_printf(out, " and %" PRIu64 " more", r->count - 1);
	if (one->place)
		buf_printf(out, ", %s", one->place);
}

#define RIGHT(title, fn)                                                                           \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, true, false                                          \
	}
static const struct column diff_columns[] = {SUMS_LEFT("A", a_cell), SUMS_LEFT("B", b_cell),
	SUMS_LEFT("How", how_cell), SUMS_LEFT("What", what_cell), SUMS_END};

static void a_time_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct time_row *)row)->is.a_ns);
}

static void b_time_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct time_row *)row)->is.b_ns);
}

static void change_cell(struct buf *out, const void *row)
{
	buf_printf(out, "%+.3f", (double)((const struct time_row *)row)->change_ns / 1e6);
}

static void noise_cell(struct buf *out, const void *row)
{
	const struct time_row *r = row;

	buf_str(out, r->is.count < 2 ? "one pair" : r->is.noise ? "noise" : "");
}

static const struct column time_columns[] = {
	{"Pairs", {.type = JS_UINT, JS_MEMBER(time_row, is.count)}, NULL, false, false},
	RIGHT("A/ms", a_time_cell), RIGHT("B/ms", b_time_cell), RIGHT("Change", change_cell),
	{"First", {.type = JS_SEQ, JS_MEMBER(time_row, is.first_a)}, NULL, false, false},
	SUMS_LEFT("", noise_cell),
	{"What", {.type = JS_TEXT, JS_MEMBER(time_row, name)}, NULL, false, false}, SUMS_END};

static void print_times(struct session *s, const struct diff_view *v)
{
	const struct compare *c = v->c;
	const double a = (double)(c->a_matched_ns + c->a_only_ns) / 1e6,
		     b = (double)(c->b_matched_ns + c->b_only_ns) / 1e6;

	out_printf(s->out,
		"\nGPU time: A %.3f ms, B %.3f ms, %+.3f; of it in what both have %+.3f, what only A has %.3f, what only B has %.3f.\n"
		"From the first command to the last end: A %.3f ms, B %.3f ms.\n",
		a, b, b - a, ((double)c->b_matched_ns - (double)c->a_matched_ns) / 1e6,
		(double)c->a_only_ns / 1e6, (double)c->b_only_ns / 1e6, (double)c->a_span_ns / 1e6,
		(double)c->b_span_ns / 1e6);
	if (v->ntimes)
		sums_table(s, "What both have, the largest change first", time_columns, v->times,
			sizeof *v->times, v->ntimes);
}

static void print_counts(struct session *s, const struct compare *c)
{
	const char *sep = " ";

	out_str(s->out, "Different:");
	for (unsigned i = 0; i < COMPARE_WHATS; i++) {
		if (!c->by_what[i])
			continue;
		out_printf(s->out, "%s%" PRIu64 " %s", sep, c->by_what[i],
			compare_what_name((enum compare_what)i));
		sep = ", ";
	}
	out_str(s->out, ".\n");
}

static void print_step(struct session *s, const char *which, const struct diff_step *step)
{
	static const char *const by[COMPARE_STEPS_BYS] = {
		"NVTX ranges", "launches of a graph", "host waits"};

	if (!step)
		return;
	out_printf(s->out, "Step %" PRIu64 " of %s, of %" PRIu64 " by %s", step->is.number, which,
		step->of, by[step->by]);
	if (step->name)
		out_printf(s->out, " \"%s\"", step->name);
	out_printf(s->out, ": #%" PRIu64 "-#%" PRIu64 ", %" PRIu64 " commands of work.\n",
		step->is.first, step->is.last, step->is.work);
}

static void print_diff(struct session *s, const struct diff_show *d, const struct diff_view *v)
{
	const struct compare *c = v->c;

	out_printf(s->out,
		"A is %s, %" PRIu64 " commands; B is %s, %" PRIu64 "; %" PRIu64 " are in both.\n",
		d->a.path, c->a_commands, d->b.path, c->b_commands, c->matched);
	print_step(s, "A", v->step_a);
	print_step(s, "B", v->step_b);
	if (v->same)
		out_printf(s->out, "They are the same: the same commands in the same order%s.\n",
			c->observed ? "" : ", with the same waits");
	else
		print_counts(s, c);
	if (c->observed)
		out_str(s->out,
			"One of them was observed or imported: events, waits of streams, host functions and nodes of graphs are not compared.\n");
	if (c->coarse)
		out_str(s->out,
			"They differ so much that the list may be longer than it had to be.\n");
	if (v->why)
		out_printf(s->out, "\n%s\n", v->why);
	if (v->first)
		print_first(s, v);
	if (v->nrows > 1 || v->unlisted)
		sums_table(s, "Differences", diff_columns, v->rows, sizeof *v->rows, v->nrows);
	if (v->unlisted)
		out_printf(s->out, "and %" PRIu64 " more%s\n", v->unlisted,
			c->more ? "" : " (--top 0 shows all)");
	if (d->runs)
		diff_runs_print(s, d->runs, d->top);
	else if (d->time)
		print_times(s, v);
}

struct err *diff_print(struct session *s, const struct compare *c, const struct diff_show *d)
{
	struct diff_view v = {.c = c,
		.is = *c,
		.same = compare_same(c),
		.why = d->why,
		.runs = d->runs,
		.step_a = d->step_a,
		.step_b = d->step_b};
	struct err *e = make_rows(s, d, &v);

	if (!e) {
		if (d->time || d->json)
			make_times(s, d, &v);
		make_streams(&v);
		if (d->json && d->why)
			make_sites(s, d, &v);
		if (d->json && d->numeric)
			e = numeric_json(s, d, &v.numeric);
	}
	if (!e && d->json)
		put_json(s, &v);
	else if (!e)
		print_diff(s, d, &v);
	if (!e && !d->json && d->numeric)
		e = numeric_print(s, d);
	view_free(&v);
	return e;
}
