/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff of two sets: ranks are paired by their numbers, and each pair is compared as two traces
 * are. A row for each rank, then the first rank that differs as a whole.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "base/text-table.h"
#include "engine/ranks.h"
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"
#include "shell/print/shown-names.h"

struct rank_row {
	uint64_t rank;
	bool in_a_set, in_b_set; /* that set has it */
	struct compare is;
	uint64_t different; /* commands */
	uint64_t a_ns, b_ns;
	int64_t change_ns;
	char *first; /* the first difference; heap; NULL: none */
	bool holds;
};
struct ranks_view {
	const char *file_a, *file_b;
	bool same;
	struct rank_row *rows;
	size_t n;
	struct ranks *a, *b;
	size_t first; /* the row of the first rank that differs; n: none does */
	uint64_t differing;
};

struct err *diff_rank_path(const char *file, uint64_t rank, char **ret)
{
	struct ranks *set;
	const char *path;
	struct err *e;

	TRY(ranks_load(&set, file));
	e = ranks_choose(set, rank, &path);
	if (!e)
		*ret = xstrdup(path);
	ranks_free(set);
	return e;
}

/* --- rows --- */

static int by_rank(const void *px, const void *py)
{
	const struct rank_row *x = px, *y = py;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void make_rows(struct ranks_view *v)
{
	v->rows = xcalloc(v->a->n + v->b->n + 1, sizeof *v->rows);
	for (unsigned i = 0; i < v->a->n; i++)
		v->rows[v->n++] = (struct rank_row){.rank = v->a->r[i].rank,
			.in_a_set = true,
			.in_b_set = ranks_find(v->b, v->a->r[i].rank) != NULL};
	for (unsigned i = 0; i < v->b->n; i++)
		if (!ranks_find(v->a, v->b->r[i].rank))
			v->rows[v->n++] =
				(struct rank_row){.rank = v->b->r[i].rank, .in_b_set = true};
	if (v->n)
		qsort(v->rows, v->n, sizeof *v->rows, by_rank);
}

/* "replaced: #21 gemm<<<...>>>" */
static struct err *name_first(
	struct session *s, const struct diff_two *two, const struct compare *c, char **ret)
{
	const struct compare_difference *d = c->n ? &c->d[0] : NULL;
	const struct diff_trace *t = d && d->a.count ? two->a : two->b;
	const struct shown_names names = {s, t->st};
	struct buf b = BUF_INIT;
	uint32_t stack;

	if (!d)
		return NULL;
	buf_printf(&b, "%s: ", compare_what_name(d->what));
	TRY(shown_cmd(&names, t->r, d->a.count ? d->a.first : d->b.first, false, &b, &stack));
	(void)buf_cstr(&b);
	*ret = buf_steal(&b);
	return NULL;
}

static struct err *open_pair(const struct ranks_view *v, uint64_t rank, struct diff_two *two)
{
	char *path[2];

	TRY(diff_rank_path(v->file_a, rank, &path[0]));
	two->a->path = path[0];
	TRY(diff_rank_path(v->file_b, rank, &path[1]));
	two->b->path = path[1];
	TRY(diff_trace_open(two->a));
	return diff_trace_open(two->b);
}

static void close_pair(struct diff_two *two)
{
	diff_trace_close(two->a);
	diff_trace_close(two->b);
	free((char *)two->a->path);
	free((char *)two->b->path);
}

static struct err *fill_row(struct session *s, const struct diff_ranks_ask *x,
	const struct diff_two *two, struct compare *c, struct rank_row *row)
{
	const struct diff_facts facts = {.c = c};

	row->is = *c;
	for (unsigned i = 0; i < COMPARE_WHATS; i++)
		row->different += c->by_what[i];
	row->a_ns = c->a_matched_ns + c->a_only_ns;
	row->b_ns = c->b_matched_ns + c->b_only_ns;
	row->change_ns = (int64_t)(row->b_ns - row->a_ns);
	row->holds = compare_same(c);
	TRY(name_first(s, two, c, &row->first));
	if (x->time && !c->timed)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"--time needs GPU times, and rank %" PRIu64 " has none", row->rank),
			"Record each with tsdb record --timestamps");
	return x->assertion ? diff_assert(&facts, x->assertion, &row->holds) : NULL;
}

/* Compares one rank. show: prints it as two traces are. */
static struct err *compare_rank(struct session *s, const struct diff_ranks_ask *x,
	const struct ranks_view *v, struct rank_row *row, bool show)
{
	struct diff_show d = {.top = x->top, .time = x->time};
	struct diff_two two = {s, &d.a, &d.b};
	struct compare c = {0};
	struct err *e = open_pair(v, row->rank, &two);

	if (!e) {
		const struct compare_ask ask = diff_two_ask(&two);

		e = compare_run(&c, &ask);
		out_progress_end(s->out);
	}
	if (!e)
		e = show ? diff_print(s, &c, &d) : fill_row(s, x, &two, &c, row);
	compare_free(&c);
	close_pair(&two);
	return e;
}

/* --- JSON --- */

JS_DEFINE(rank_object, "rank_difference", rank_row, JS(UINT, rank_row, rank),
	JS(BOOL, rank_row, in_a_set), JS(BOOL, rank_row, in_b_set),
	JS_IN(UINT, rank_row, is, a_commands, b_commands, matched),
	JS_AS("different_commands", UINT, rank_row, different),
	JS_AS("times_known", BOOL, rank_row, is.timed), JS(UINT, rank_row, a_ns, b_ns),
	JS(INT, rank_row, change_ns), JS_AS("first_difference", TEXT, rank_row, first));
JS_DEFINE(set_object, "set_diff", ranks_view, JS(BOOL, ranks_view, same),
	JS_LIST_OF("rank_differences", ranks_view, rows, n, rank_object));

/* --- text --- */

static void rank_cell(struct buf *out, const void *row)
{
	buf_printf(out, "%" PRIu64, ((const struct rank_row *)row)->rank);
}

static void a_cell(struct buf *out, const void *row)
{
	if (((const struct rank_row *)row)->is.timed)
		sums_put_ms(out, ((const struct rank_row *)row)->a_ns);
}

static void b_cell(struct buf *out, const void *row)
{
	if (((const struct rank_row *)row)->is.timed)
		sums_put_ms(out, ((const struct rank_row *)row)->b_ns);
}

static void change_cell(struct buf *out, const void *row)
{
	if (((const struct rank_row *)row)->is.timed)
		buf_printf(out, "%+.3f", (double)((const struct rank_row *)row)->change_ns / 1e6);
}

static void first_cell(struct buf *out, const void *row)
{
	const struct rank_row *r = row;

	buf_str(out, !r->in_a_set   ? "only B has this rank"
		     : !r->in_b_set ? "only A has this rank"
		     : r->first	    ? r->first
				    : "the same");
}

#define NUMBER(title, m)                                                                           \
	{                                                                                          \
		title, {.type = JS_UINT, JS_MEMBER(rank_row, m)}, NULL, false, false               \
	}
static const struct column columns[] = {{"Rank", {.type = JS_CALL}, rank_cell, true, false},
	NUMBER("A", is.a_commands), NUMBER("B", is.b_commands), NUMBER("In both", is.matched),
	NUMBER("Different", different), SUMS_CALC("A/ms", a_cell), SUMS_CALC("B/ms", b_cell),
	SUMS_CALC("Change", change_cell), SUMS_LEFT("First difference", first_cell), SUMS_END};

static struct err *print_ranks(
	struct session *s, const struct diff_ranks_ask *x, const struct ranks_view *v)
{
	out_printf(s->out, "A is %s, %u ranks; B is %s, %u.\n", x->a, v->a->n, x->b, v->b->n);
	if (!v->differing)
		out_str(s->out, "All ranks are the same: the same commands in the same order.\n");
	else
		out_printf(s->out, "%" PRIu64 " of %zu ranks differ.\n", v->differing, v->n);
	sums_table(s, "By rank", columns, v->rows, sizeof *v->rows, v->n);
	if (v->first == v->n)
		return NULL;
	out_printf(s->out, "\nRank %" PRIu64 ", the first that differs:\n", v->rows[v->first].rank);
	return compare_rank(s, x, v, &v->rows[v->first], true);
}

/* --- all of it --- */

static struct err *compare_all(
	struct session *s, const struct diff_ranks_ask *x, struct ranks_view *v)
{
	v->same = true;
	v->first = v->n;
	for (size_t i = 0; i < v->n; i++) {
		struct rank_row *row = &v->rows[i];

		if (row->in_a_set && row->in_b_set)
			TRY(compare_rank(s, x, v, row, false));
		v->same = v->same && row->holds;
		if (!row->different && row->in_a_set && row->in_b_set)
			continue;
		v->differing++;
		if (v->first == v->n && row->in_a_set && row->in_b_set)
			v->first = i;
	}
	return NULL;
}

static struct err *show(
	struct session *s, const struct diff_ranks_ask *x, const struct ranks_view *v)
{
	struct buf b = BUF_INIT;

	if (!x->json) {
		TRY(print_ranks(s, x, v));
		if (x->assertion)
			out_printf(s->out, "\n%s, of each rank: %s\n", x->assertion,
				v->same ? "holds" : "does not hold");
		return NULL;
	}
	js_put(&b, &set_object, v);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

struct err *diff_ranks(struct session *s, const struct diff_ranks_ask *x, bool *ret_same)
{
	struct ranks_view v = {.file_a = x->a, .file_b = x->b};
	struct err *e = ranks_load(&v.a, x->a);

	if (!e)
		e = ranks_load(&v.b, x->b);
	if (!e) {
		make_rows(&v);
		e = compare_all(s, x, &v);
	}
	if (!e)
		e = show(s, x, &v);
	*ret_same = !e && v.same;
	for (size_t i = 0; i < v.n; i++)
		free(v.rows[i].first);
	free(v.rows);
	ranks_free(v.a);
	ranks_free(v.b);
	return e;
}
