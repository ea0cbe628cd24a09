/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the ranks of a set, see stats-set.h. A rank's trace is open while its figures are made;
 * rows of different ranks are the same when they are shown with the same name.
 */
#include "shell/figures/stats-set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/figures/stats-text.h"
#include "shell/figures/sums-text.h"

/* --- rows that several ranks have --- */

static int row_by_name(const void *x, const void *y)
{
	return strcmp(((const struct set_row *)x)->name, ((const struct set_row *)y)->name);
}

static int row_by_time(const void *x, const void *y)
{
	const struct set_row *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return row_by_name(x, y);
}

/* Takes the names of from's rows. */
static void rows_take(struct set_rows *to, struct summary_rows *from, uint64_t rank)
{
	for (size_t i = 0; i < from->n; i++) {
		struct summary_row *r = &from->v[i];

		MAKE_ROOM(to->v, to->n, to->cap);
		to->v[to->n++] = (struct set_row){r->name, r->count, r->timed, r->time_ns, r->bytes,
			1, r->time_ns, rank, r->time_ns, rank};
		r->name = NULL;
	}
}

static void row_add(struct set_row *a, const struct set_row *b)
{
	if (b->timed && (!a->timed || b->least_ns < a->least_ns)) {
		a->least_ns = b->least_ns;
		a->least_rank = b->least_rank;
	}
	if (b->timed && (!a->timed || b->most_ns > a->most_ns)) {
		a->most_ns = b->most_ns;
		a->most_rank = b->most_rank;
	}
	a->count += b->count;
	a->timed += b->timed;
	a->time_ns += b->time_ns;
	a->bytes += b->bytes;
	a->ranks += b->ranks;
}

static void rows_merge(struct set_rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->v, rows->n, sizeof *rows->v, row_by_name);
	for (size_t i = 0; i < rows->n; i++) {
		if (n && !strcmp(rows->v[n - 1].name, rows->v[i].name)) {
			row_add(&rows->v[n - 1], &rows->v[i]);
			free(rows->v[i].name);
		} else {
			rows->v[n++] = rows->v[i];
		}
	}
	rows->n = n;
	if (n)
		qsort(rows->v, n, sizeof *rows->v, row_by_time);
}

static void rows_free(struct set_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].name);
	free(rows->v);
}

/* --- ranks --- */

static void add_device(struct set_rank *r, const struct stats_device *d)
{
	if (d->allocated_most > r->allocated_most)
		r->allocated_most = d->allocated_most;
	if (!d->timed)
		return;
	r->span_ns += d->end_ns - d->begin_ns;
	r->busy_ns += d->busy_ns;
	r->kernel_ns += d->kernel_ns;
	r->copy_ns += d->copy_ns;
	r->overlap_ns += d->overlap_ns;
	r->idle_ns += d->idle_ns;
	r->late_ns += d->late_ns;
}

static void add_rank(struct set_stats *x, struct set_rank *r, const struct stats *st)
{
	r->known = st->known;
	r->commands = st->commands;
	r->work = st->work;
	r->timed = st->timed;
	r->waits_ns = st->waits.sum;
	for (size_t i = 0; i < st->ndevices; i++)
		add_device(r, &st->devices[i]);
	x->commands += st->commands;
	x->work += st->work;
	x->timed += st->timed;
	if (!st->commands)
		return;
	r->begin_ns = ranks_time(r->is, st->begin_ns);
	r->end_ns = ranks_time(r->is, st->end_ns);
	if (!x->begin_ns || r->begin_ns < x->begin_ns)
		x->begin_ns = r->begin_ns;
	if (r->end_ns > x->end_ns)
		x->end_ns = r->end_ns;
}

static struct err *take_rank(
	struct set_stats *x, struct session *s, const struct rank *is, const struct set_ask *ask)
{
	const struct stats_ask want = {0, UINT64_MAX, ask->cancelled, ask->arg};
	struct set_rank *r = &x->r[x->n];
	struct sbt_reader *reader;
	struct stats st;
	struct err *e;

	TRY(ranks_open(is, &reader));
	e = stats_make(&st, reader, &want);
	if (!e) {
		*r = (struct set_rank){.is = is, .stats = BUF_INIT};
		x->n++;
		add_rank(x, r, &st);
		if (ask->json)
			stats_put(&r->stats, s, reader, &st, ask->top);
		else
			sums_name(s, reader, &st.sums);
		rows_take(&x->kernels, &st.sums.kernels, is->rank);
		rows_take(&x->sites, &st.sums.sites, is->rank);
		rows_take(&x->ranges, &st.sums.ranges, is->rank);
		stats_free(&st);
	}
	sbt_reader_close(reader);
	return e;
}

struct err *set_stats_make(struct set_stats *ret, struct session *s, const struct ranks *set,
	const struct set_ask *ask)
{
	struct err *e = NULL;

	*ret = (struct set_stats){.set = set, .r = xcalloc(set->n + 1, sizeof *ret->r)};
	for (unsigned i = 0; i < set->n && !e; i++)
		e = take_rank(ret, s, &set->r[i], ask);
	if (e) {
		set_stats_free(ret);
		return e;
	}
	rows_merge(&ret->kernels);
	rows_merge(&ret->sites);
	rows_merge(&ret->ranges);
	return NULL;
}

void set_stats_free(struct set_stats *x)
{
	for (unsigned i = 0; i < x->n; i++)
		buf_free(&x->r[i].stats);
	free(x->r);
	rows_free(&x->kernels);
	rows_free(&x->sites);
	rows_free(&x->ranges);
	*x = (struct set_stats){0};
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

static bool has_use(const struct set_rank *r)
{
	return r->known.times && r->known.order;
}

#define USE(fn, m)                                                                                 \
	static void fn(struct buf *out, const void *row)                                           \
	{                                                                                          \
		if (has_use(rank_of(row)))                                                         \
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

	if (has_use(r))
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

static void print_rows(
	struct session *s, const char *title, const struct set_rows *rows, uint64_t top)
{
	const size_t n = top && rows->n > top ? (size_t)top : rows->n;

	sums_table(s, title, row_columns, rows->v, sizeof *rows->v, n);
	if (n < rows->n)
		out_printf(s->out, "and %zu more (--top 0 shows all)\n", rows->n - n);
}

static void print_ranks(struct session *s, const struct set_stats *x)
{
	struct rank_row *rows = xcalloc(x->n + 1, sizeof *rows);

	for (unsigned i = 0; i < x->n; i++)
		rows[i] = (struct rank_row){
			&x->r[i], x->r[i].is->rank, x->r[i].work, x->begin_ns, x->r[i].is->host};
	sums_table(s, "Ranks", rank_columns, rows, sizeof *rows, x->n);
	free(rows);
}

static void print_unknown(struct session *s, const struct set_stats *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		if (!has_use(&x->r[i]))
			out_printf(s->out,
				"How busy the devices of rank %" PRIu64 " were is not known: %s.\n",
				x->r[i].is->rank,
				x->r[i].known.times ? stats_no_order : stats_no_times);
	}
}

void set_stats_print(struct session *s, const struct set_stats *x, uint64_t top)
{
	out_printf(s->out,
		"%u rank%s, %" PRIu64 " commands, %.3f ms on the set's clock; %" PRIu64
		" launches, copies and fills, ",
		x->n, x->n == 1 ? "" : "s", x->commands, (double)(x->end_ns - x->begin_ns) / 1e6,
		x->work);
	if (x->timed == x->work)
		out_str(s->out, "all with GPU times.\n");
	else
		out_printf(s->out, "%" PRIu64 " of them with GPU times.\n", x->timed);
	print_ranks(s, x);
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

JS_DEFINE(rank_json_object, "rank_stats", rank_json, JS(UINT, rank_json, rank),
	JS(TEXT, rank_json, host, file), JS(UINT, rank_json, begin_ns, end_ns),
	JS_BY("stats", rank_json, stats, js_raw, "stats"));
JS_DEFINE(set_json_object, "set_stats", set_json, JS_AS("set", TEXT, set_json, path),
	JS_IN(UINT, set_json, is, commands, work, timed, begin_ns, end_ns),
	JS_LIST_OF("rank_list", set_json, ranks, nranks, rank_json_object),
	JS_BY("by_kernel", set_json, is.kernels, put_rows, "[sums_over_ranks]"),
	JS_BY("by_site", set_json, is.sites, put_rows, "[sums_over_ranks]"),
	JS_BY("by_range", set_json, is.ranges, put_rows, "[sums_over_ranks]"));

void set_stats_json(struct session *s, struct set_stats *x)
{
	struct set_json v = {.path = x->set->path, .is = *x, .nranks = x->n};
	struct buf b = BUF_INIT;

	v.ranks = xcalloc(x->n + 1, sizeof *v.ranks);
	for (unsigned i = 0; i < x->n; i++) {
		const struct set_rank *r = &x->r[i];

		v.ranks[i] = (struct rank_json){
			r->is->rank, r->begin_ns, r->end_ns, r->is->host, r->is->file, r->stats};
	}
	js_put(&b, &set_json_object, &v);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	free(v.ranks);
}
