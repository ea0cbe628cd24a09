/* SPDX-License-Identifier: Apache-2.0
 *
 * Several traces a side: each is read by itself, so that memory grows with their sums alone, and
 * compared with the first of its side, so that times of other work are not taken for those of one.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"

static bool sums_cancelled(void *arg, uint64_t done, uint64_t of)
{
	struct session *s = arg;

	out_progress(s->out, "reading", done, of);
	return interrupt_flag;
}

/* --- one trace --- */

/* "step () at app.cu:12" without the place in the file: lines shift when a program is changed. */
static char *site_key(const char *name)
{
	const char *at = strstr(name, " at ");

	return at ? xasprintf("%.*s", (int)(at - name), name) : xstrdup(name);
}

static void add_rows(
	struct runs *r, enum runs_by by, bool b, unsigned run, const struct summary_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct summary_row *row = &rows->v[i];
		uint64_t number;
		char *key = by == RUNS_SITE ? site_key(row->name)
			    : by == RUNS_RANGE
				    ? compare_range_name(row->name, strlen(row->name), &number)
				    : xstrdup(row->name);

		if (row->timed)
			runs_add(r,
				&(struct runs_sample){by, key, by == RUNS_RANGE ? key : row->name,
					b, run, row->timed, row->time_ns});
		free(key);
	}
}

static void add_whole(struct runs *r, const struct diff_run *x, unsigned run, uint64_t timed)
{
	struct runs_sample s = {
		RUNS_WHOLE, DIFF_RUNS_TIME, DIFF_RUNS_TIME, x->b, run, timed, x->gpu_ns};

	runs_add(r, &s);
	s.key = s.name = DIFF_RUNS_SPAN;
	s.ns = x->span_ns;
	runs_add(r, &s);
}

static struct err *sum_up(struct session *s, const struct diff_trace *t, struct diff_run *x,
	struct runs *r, unsigned run)
{
	const struct summary_ask ask = {.first = x->range.first,
		.last = x->range.last,
		.cancelled = sums_cancelled,
		.arg = s};
	struct summary sum;

	TRY(summary_make(&sum, t->r, &ask));
	x->gpu_ns = sum.all.time_ns;
	x->untimed = sum.all.count - sum.all.timed;
	if (!sum.all.timed) {
		summary_free(&sum);
		return err_cure(err_new(ERR_INCOMPLETE, "%s has no GPU times", x->path),
			"Record each with tsdb record --timestamps");
	}
	sums_name(s, t->r, &sum);
	add_rows(r, RUNS_KERNEL, x->b, run, &sum.kernels);
	add_rows(r, RUNS_SITE, x->b, run, &sum.sites);
	add_rows(r, RUNS_RANGE, x->b, run, &sum.ranges);
	add_whole(r, x, run, sum.all.timed);
	summary_free(&sum);
	return NULL;
}

static uint64_t count_differences(const struct compare *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < COMPARE_WHATS; i++)
		n += c->by_what[i];
	return n;
}

/* The step of t that is the one of its side's first trace. */
static struct err *find_range(
	const struct diff_runs_ask *x, const struct diff_trace *t, bool b, struct diff_run *ret)
{
	struct diff_step_words w = x->step;
	struct compare_ask ask = *x->ask;
	struct err *e;

	ret->range.first = b ? ask.range_b.first : ask.range_a.first;
	ret->range.last = b ? ask.range_b.last : ask.range_a.last;
	if (!w.has_a && !w.has_b)
		return NULL;
	w.in_a = w.in_b = (struct diff_step){.name = NULL};
	w.by = compare_steps_name(x->step.in_a.by);
	if (b)
		ask.b = t->r;
	else
		ask.a = t->r;
	e = diff_step_find(&w, &ask);
	ret->range = b ? w.in_b.is : w.in_a.is;
	diff_step_free(&w);
	return e;
}

/* Compares a trace with the first of its side. */
static struct err *compare_with_first(struct session *s, const struct diff_runs_ask *x,
	struct diff_trace *first, struct diff_trace *t, struct diff_run *ret)
{
	struct diff_two two = {s, first, t};
	struct compare_ask ask = diff_two_ask(&two);
	struct compare c;

	ask.range_a.first = ret->b ? x->ask->range_b.first : x->ask->range_a.first;
	ask.range_a.last = ret->b ? x->ask->range_b.last : x->ask->range_a.last;
	ask.range_b.first = ret->range.first;
	ask.range_b.last = ret->range.last;
	TRY(compare_run(&c, &ask));
	ret->differences = count_differences(&c);
	ret->span_ns = c.b_span_ns;
	compare_free(&c);
	return NULL;
}

static struct err *read_other(struct session *s, const struct diff_runs_ask *x,
	struct diff_run *run, unsigned number, struct runs *r)
{
	struct diff_trace *first = run->b ? &x->show->b : &x->show->a, t = {.path = run->path};
	struct err *e = diff_trace_open(&t);

	if (!e)
		e = find_range(x, &t, run->b, run);
	if (!e)
		e = compare_with_first(s, x, first, &t, run);
	if (!e)
		e = sum_up(s, &t, run, r, number);
	if (!e)
		run->start_ns = sbt_reader_meta(t.r)->start_ns;
	diff_trace_close(&t);
	return e;
}

static struct err *read_first(
	struct session *s, const struct diff_runs_ask *x, struct diff_run *run, struct runs *r)
{
	const struct diff_trace *t = run->b ? &x->show->b : &x->show->a;

	run->range.first = run->b ? x->ask->range_b.first : x->ask->range_a.first;
	run->range.last = run->b ? x->ask->range_b.last : x->ask->range_a.last;
	run->span_ns = run->b ? x->first->b_span_ns : x->first->a_span_ns;
	run->start_ns = sbt_reader_meta(t->r)->start_ns;
	return sum_up(s, t, run, r, 0);
}

/* --- all of them --- */

/* Whether neither side was recorded wholly before the other. */
static bool are_in_turn(const struct diff_runs *r)
{
	uint64_t first[2] = {UINT64_MAX, UINT64_MAX}, last[2] = {0, 0};

	for (size_t i = 0; i < r->n; i++) {
		const struct diff_run *x = &r->run[i];

		first[x->b] = x->start_ns < first[x->b] ? x->start_ns : first[x->b];
		last[x->b] = x->start_ns > last[x->b] ? x->start_ns : last[x->b];
	}
	return first[0] <= last[1] && first[1] <= last[0];
}

struct err *diff_runs_make(struct session *s, const struct diff_runs_ask *x, struct diff_runs *ret)
{
	struct err *e = NULL;

	ret->n = x->na + x->nb;
	ret->run = xcalloc(ret->n, sizeof *ret->run);
	runs_begin(&ret->is, x->na, x->nb);
	for (size_t i = 0; !e && i < ret->n; i++) {
		struct diff_run *run = &ret->run[i];
		unsigned number;

		run->b = i >= x->na;
		number = (unsigned)i - (run->b ? x->na : 0);
		run->path = (run->b ? x->b : x->a)[number];
		e = number ? read_other(s, x, run, number, &ret->is)
			   : read_first(s, x, run, &ret->is);
	}
	out_progress_end(s->out);
	if (e)
		return e;
	runs_judge(&ret->is);
	ret->in_turn = are_in_turn(ret);
	return NULL;
}

void diff_runs_free(struct diff_runs *r)
{
	runs_free(&r->is);
	free(r->run);
}
