/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a set as tables and as JSON, see stats-set.h. A rank's trace is open while its
 * figures are made.
 */
#include "shell/figures/stats-set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/figures/stats-text.h"
#include "shell/figures/sums-text.h"

#define RANKS_ALL 32 /* jobs of so many ranks show all */

/* --- making --- */

static uint64_t set_time(const void *rank, uint64_t ns)
{
	return ranks_time(rank, ns);
}

static struct err *take_rank(
	struct set_view *v, struct session *s, unsigned i, const struct set_ask *ask)
{
	const struct stats_ask want = {0, UINT64_MAX, ask->cancelled, ask->arg};
	const struct rank *is = &v->set->r[i];
	struct sbt_reader *reader;
	struct stats st;
	struct err *e;

	TRY(ranks_open(is, &reader));
	e = stats_make(&st, reader, &want);
	if (!e) {
		if (ask->json)
			stats_put(&v->own[i], s, reader, &st, ask->top);
		else
			sums_name(s, reader, &st.sums);
		set_stats_add(&v->all, is->rank, &st, set_time, is);
		stats_free(&st);
	}
	sbt_reader_close(reader);
	return e;
}

struct err *set_view_make(
	struct set_view *ret, struct session *s, const struct ranks *set, const struct set_ask *ask)
{
	struct err *e = NULL;

	*ret = (struct set_view){.set = set, .own = xcalloc(set->n + 1, sizeof *ret->own)};
	for (unsigned i = 0; i < set->n && !e; i++)
		e = take_rank(ret, s, i, ask);
	if (e)
		set_view_free(ret);
	else
		set_stats_end(&ret->all);
	return e;
}

void set_view_free(struct set_view *v)
{
	for (unsigned i = 0; v->own && i < v->set->n; i++)
		buf_free(&v->own[i]);
	free(v->own);
	set_stats_free(&v->all);
	*v = (struct set_view){0};
}

/* --- tables --- */

struct rank_row {
	const struct set_rank *r;
	uint64_t rank, work;
	uint64_t begin_ns; /* of the set */
	const char *host;
};

static const struct set_rank *rank_of(const void *row)
{
	return ((const struct rank_row *)row)->r;
}

#define USE(fn, m)                                                                                 \
	static void fn(struct buf *out, const void *row)                                           \
	{                                                                                          \
		if (set_rank_used(rank_of(row)))                                                   \
			sums_put_ms(out, rank_of(row)->m);                                         \
	}
USE(busy_cell, busy_ns)
USE(kernel_cell, kernel_ns)
USE(copy_cell, copy_ns)
USE(overlap_cell, overlap_ns)
USE(idle_cell, idle_ns)
USE(late_cell, late_ns)

static void from_cell(struct buf *out, const void *row)
{
	const struct rank_row *x = row;

	if (x->r->commands)
		sums_put_ms(out, x->r->begin_ns - x->begin_ns);
}

static void to_cell(struct buf *out, const void *row)
{
	const struct rank_row *x = row;

	if (x->r->commands)
		sums_put_ms(out, x->r->end_ns - x->begin_ns);
}

static void waits_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, rank_of(row)->waits_ns);
}

static void share_cell(struct buf *out, const void *row)
{
	const struct set_rank *r = rank_of(row);

	if (set_rank_used(r))
		buf_printf(out, "%.1f", sums_share(r->busy_ns, r->span_ns));
}

static void memory_cell(struct buf *out, const void *row)
{
	if (rank_of(row)->allocated_most)
		buf_printf(out, "%" PRIu64, rank_of(row)->allocated_most);
}

static const struct column rank_columns[] = {
	{"Rank", {.type = JS_UINT, JS_MEMBER(rank_row, rank)}, NULL, false, false},
	{"Work", {.type = JS_UINT, JS_MEMBER(rank_row, work)}, NULL, false, false},
	SUMS_CALC("From/ms", from_cell), SUMS_CALC("To/ms", to_cell),
	SUMS_CALC("Busy/ms", busy_cell), SUMS_CALC("Busy/%", share_cell),
	SUMS_CALC("Kernels/ms", kernel_cell), SUMS_CALC("Copies/ms", copy_cell),
	SUMS_CALC("Both/ms", overlap_cell), SUMS_CALC("Idle/ms", idle_cell),
	SUMS_CALC("Host late/ms", late_cell), SUMS_CALC("Host waits/ms", waits_cell),
	SUMS_CALC("Memory", memory_cell),
	{"On", {.type = JS_TEXT, JS_MEMBER(rank_row, host)}, NULL, false, false}, SUMS_END};

static void time_cell(struct buf *out, const void *row)
{
	const struct set_row *r = row;

	if (r->timed)
		sums_put_ms(out, r->time_ns);
}

static void put_extreme(struct buf *out, const struct set_row *r, uint64_t ns, uint64_t rank)
{
	if (r->timed && r->ranks > 1)
		buf_printf(out, "%.3f (%" PRIu64 ")", (double)ns / 1e6, rank);
}

static void least_cell(struct buf *out, const void *row)
{
	const struct set_row *r = row;

	put_extreme(out, r, r->least_ns, r->least_rank);
}

static void most_cell(struct buf *out, const void *row)
{
	const struct set_row *r = row;

	put_extreme(out, r, r->most_ns, r->most_rank);
}

#define ONLY_JSON(js_field)                                                                        \
	{                                                                                          \
		NULL, js_field, NULL, false, false                                                 \
	}
static const struct column row_columns[] = {{"Ranks", JS(UINT, set_row, ranks), NULL, false, false},
	{"Count", JS(UINT, set_row, count), NULL, false, false}, SUMS_CALC("Time/ms", time_cell),
	SUMS_CALC("Least/ms (rank)", least_cell), SUMS_CALC("Most/ms (rank)", most_cell),
	{"Bytes", JS(UINT, set_row, bytes), NULL, false, true},
	{"What", JS(TEXT, set_row, name), NULL, false, false}, ONLY_JSON(JS(UINT, set_row, timed)),
	ONLY_JSON(JS_AS("gpu_ns", UINT, set_row, time_ns)), ONLY_JSON(JS(UINT, set_row, least_ns)),
	ONLY_JSON(JS(UINT, set_row, least_rank)), ONLY_JSON(JS(UINT, set_row, most_ns)),
	ONLY_JSON(JS(UINT, set_row, most_rank)), {NULL, {.type = JS_END}, NULL, false, false}};
TABLE_OBJECT(row_columns, "sums_over_ranks", sizeof(struct set_row));

static void outlier_time_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct set_outlier *)row)->time_ns);
}

static void outlier_usual_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct set_outlier *)row)->usual_ns);
}

static void print_rows(
	struct session *s, const char *title, const struct set_rows *rows, uint64_t top)
{
	const size_t n = top && rows->n > top ? (size_t)top : rows->n;

	sums_table(s, title, row_columns, rows->v, sizeof *rows->v, n);
	if (n < rows->n)
		out_printf(s->out, "and %zu more (--top 0 shows all)\n", rows->n - n);
}

static bool stands_out(const struct set_stats *x, uint64_t rank)
{
	for (size_t i = 0; i < x->outliers.n; i++)
		if (x->outliers.v[i].rank == rank)
			return true;
	return false;
}

/* Of a large job those ranks first that are unlike the others, and then `top` others. */
static void print_ranks(struct session *s, const struct set_view *v, uint64_t top)
{
	const struct set_stats *x = &v->all;
	const bool large = top && x->n > RANKS_ALL;
	struct rank_row *rows = xcalloc(x->n + 1, sizeof *rows);
	unsigned n = 0;

	for (unsigned others = 0; others < 2; others++) {
		uint64_t left = large && (others || !x->outliers.n) ? top : UINT64_MAX;

		for (unsigned i = 0; i < x->n && left; i++) {
			if ((large ? !stands_out(x, x->r[i].rank) : 1) != others)
				continue;
			rows[n++] = (struct rank_row){&x->r[i], x->r[i].rank, x->r[i].work,
				x->begin_ns, v->set->r[i].host};
			left--;
		}
	}
	sums_table(s, "Ranks", rank_columns, rows, sizeof *rows, n);
	if (n < x->n)
		out_printf(s->out, "and %u more (--top 0 shows all)\n", x->n - n);
	free(rows);
}

static const struct column outlier_columns[] = {
	{"Rank", JS(UINT, set_outlier, rank), NULL, false, false},
	SUMS_CALC("Time/ms", outlier_time_cell), SUMS_CALC("Usual/ms", outlier_usual_cell),
	{"Count", JS(UINT, set_outlier, count), NULL, false, false},
	{"Usual", JS(UINT, set_outlier, usual_count), NULL, false, false},
	{"What", JS(TEXT, set_outlier, name), NULL, false, false},
	ONLY_JSON(JS_AS("gpu_ns", UINT, set_outlier, time_ns)),
	ONLY_JSON(JS(UINT, set_outlier, usual_ns)), {NULL, {.type = JS_END}, NULL, false, false}};
TABLE_OBJECT(outlier_columns, "unlike_rank", sizeof(struct set_outlier));

static void print_outliers(struct session *s, const struct set_outliers *o, uint64_t top)
{
	const size_t n = top && o->n > top ? (size_t)top : o->n;

	if (!o->n)
		return;
	sums_table(s, "Unlike the other ranks", outlier_columns, o->v, sizeof *o->v, n);
	if (n < o->n)
		out_printf(s->out, "and %zu more (--top 0 shows all)\n", o->n - n);
}

static void print_unknown(struct session *s, const struct set_stats *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		if (!set_rank_used(&x->r[i]))
			out_printf(s->out,
				"How busy the devices of rank %" PRIu64 " were is not known: %s.\n",
				x->r[i].rank,
				x->r[i].known.times ? stats_no_order : stats_no_times);
	}
}

void set_view_print(struct session *s, const struct set_view *v, uint64_t top)
{
	const struct set_stats *x = &v->all;

	out_printf(s->out,
		"%u rank%s, %" PRIu64 " commands, %.3f ms on the set's clock; %" PRIu64
		" launches, copies and fills, ",
		x->n, x->n == 1 ? "" : "s", x->commands, (double)(x->end_ns - x->begin_ns) / 1e6,
		x->work);
	if (x->timed == x->work)
		out_str(s->out, "all with GPU times.\n");
	else
		out_printf(s->out, "%" PRIu64 " of them with GPU times.\n", x->timed);
	print_outliers(s, &x->outliers, top);
	print_ranks(s, v, top);
	print_unknown(s, x);
	print_rows(s, "By kernel, all ranks", &x->kernels, top);
	print_rows(s, "By call site, all ranks", &x->sites, top);
	print_rows(s, "By NVTX range, all ranks", &x->ranges, top);
}

/* --- JSON --- */

struct rank_json {
	uint64_t rank, begin_ns, end_ns;
	const char *host, *file;
	struct buf stats;
};
struct set_json {
	const char *path;
	struct set_stats is;
	struct rank_json *ranks;
	size_t nranks;
};

static void put_rows(struct buf *out, const void *member)
{
	const struct set_rows *rows = member;

	table_json(out, &row_columns_object, rows->v, sizeof *rows->v, rows->n);
}

static void put_outliers(struct buf *out, const void *member)
{
	const struct set_outliers *o = member;

	table_json(out, &outlier_columns_object, o->v, sizeof *o->v, o->n);
}

JS_DEFINE(rank_json_object, "rank_stats", rank_json, JS(UINT, rank_json, rank),
	JS(TEXT, rank_json, host, file), JS(UINT, rank_json, begin_ns, end_ns),
	JS_BY("stats", rank_json, stats, js_raw, "stats"));
JS_DEFINE(set_json_object, "set_stats", set_json, JS_AS("set", TEXT, set_json, path),
	JS_IN(UINT, set_json, is, commands, work, timed, begin_ns, end_ns),
	JS_LIST_OF("rank_list", set_json, ranks, nranks, rank_json_object),
	JS_BY("unlike", set_json, is.outliers, put_outliers, "[unlike_rank]"),
	JS_BY("by_kernel", set_json, is.kernels, put_rows, "[sums_over_ranks]"),
	JS_BY("by_site", set_json, is.sites, put_rows, "[sums_over_ranks]"),
	JS_BY("by_range", set_json, is.ranges, put_rows, "[sums_over_ranks]"));

void set_view_json(struct session *s, const struct set_view *x)
{
	struct set_json v = {.path = x->set->path, .is = x->all, .nranks = x->all.n};
	struct buf b = BUF_INIT;

	v.ranks = xcalloc(v.nranks + 1, sizeof *v.ranks);
	for (size_t i = 0; i < v.nranks; i++) {
		const struct set_rank *r = &x->all.r[i];
		const struct rank *is = &x->set->r[i];

		v.ranks[i] = (struct rank_json){
			r->rank, r->begin_ns, r->end_ns, is->host, is->file, x->own[i]};
	}
	js_put(&b, &set_json_object, &v);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	free(v.ranks);
}
