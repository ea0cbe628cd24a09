/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums as text and JSON, see sums-text.h.
 */
#include "shell/figures/sums-text.h"

#include <stdlib.h>
#include <string.h>
#include "base/text-table.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"

void sums_put_ms(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%.3f", (double)ns / 1e6);
}

static void time_cell(struct buf *out, const void *row)
{
	const struct summary_row *r = row;

	if (r->timed)
		sums_put_ms(out, r->time_ns);
}

static void longest_cell(struct buf *out, const void *row)
{
	const struct summary_row *r = row;

	if (r->timed)
		sums_put_ms(out, r->longest_ns);
}

#define NUMBER(title, m, is_optional)                                                              \
	{                                                                                          \
		title, JS(UINT, summary_row, m), NULL, false, is_optional                          \
	}
#define ONLY_JSON(js_field)                                                                        \
	{                                                                                          \
		NULL, js_field, NULL, false, false                                                 \
	}
/* One description for the text and the JSON of all three tables. */
static const struct column columns[] = {NUMBER("Count", count, false),
	NUMBER("In graphs", in_graphs, true), {"Time/ms", {.type = JS_CALL}, time_cell, true, true},
	{"Longest/ms", {.type = JS_CALL}, longest_cell, true, true}, NUMBER("Bytes", bytes, true),
	{"First", JS(SEQ, summary_row, first_seq), NULL, false, false},
	{"Last", JS(SEQ, summary_row, last_seq), NULL, false, false},
	{"What", JS(TEXT, summary_row, name), NULL, false, false},
	ONLY_JSON(JS(UINT, summary_row, timed)),
	ONLY_JSON(JS_AS("gpu_ns", UINT, summary_row, time_ns)),
	ONLY_JSON(JS(UINT, summary_row, longest_ns)), {NULL, {.type = JS_END}, NULL, false, false}};
TABLE_OBJECT(columns, "sums_of", sizeof(struct summary_row));

/* Whether a frame is the host function of a kernel's name, which launches it. */
static bool is_kernel(
	const struct backtrace_frame *f, const struct summary_rows *kernels, struct session *s)
{
	const char *function = f->sym.function;
	const size_t n = function ? strlen(function) : 0;

	for (size_t i = 0; n && i < kernels->n; i++) {
		const char *name = symbols_demangle(s->symbols, kernels->v[i].name);
		const char *at = strstr(name, function);

		/* a template's whole name has its type in front: "void convert<float>(int*)" */
		if (at && (at == name || at[-1] == ' ') && (!at[n] || at[n] == '('))
			return true;
	}
	return false;
}

/* The frame that a call site is: the innermost Python function, else the innermost function that is
 * no kernel's own and comes from no header of the runtime. */
static unsigned site_frame(
	const struct stack *st, const struct summary_rows *kernels, struct session *s)
{
	unsigned at = 0;

	while (at < st->n && !st->frames[at].python)
		at++;
	if (at < st->n)
		return at;
	for (at = 0; at + 1 < st->n && (is_kernel(&st->frames[at], kernels, s) ||
					       stack_is_runtime_header(&st->frames[at].sym));)
		at++;
	return at;
}

char *sums_site(
	struct session *s, struct sbt_reader *r, uint32_t id, const struct summary_rows *kernels)
{
	struct stack st = {0};
	struct buf b = BUF_INIT;
	struct err *e = stack_recorded(s, r, id, &st);

	if (!e && st.n)
		stack_print_place(&b, &st, site_frame(&st, kernels, s));
	else
		buf_str(&b, "not known");
	err_free(e);
	stack_free(&st);
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct summary_row *)x)->name, ((const struct summary_row *)y)->name);
}

/* Makes one row of those that have the same name. */
static void merge_names(struct summary_rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->v, rows->n, sizeof *rows->v, by_name);
	for (size_t i = 0; i < rows->n; i++) {
		if (n && !strcmp(rows->v[n - 1].name, rows->v[i].name)) {
			summary_add(&rows->v[n - 1], &rows->v[i]);
			free(rows->v[i].name);
		} else {
			rows->v[n++] = rows->v[i];
		}
	}
	rows->n = n;
}

void sums_name(struct session *s, struct sbt_reader *r, struct summary *sum)
{
	for (size_t i = 0; i < sum->sites.n; i++)
		sum->sites.v[i].name = sums_site(s, r, sum->sites.v[i].id, &sum->kernels);
	for (size_t i = 0; i < sum->kernels.n; i++) {
		struct summary_row *row = &sum->kernels.v[i];
		char *shown = xstrdup(kernel_shown_name(s, row->name));

		free(row->name);
		row->name = shown;
	}
	merge_names(&sum->kernels);
	merge_names(&sum->sites);
}

static const struct {
	enum by by;
	const char *title, *json;
} tables[] = {{BY_KERNEL, "By kernel", "by_kernel"}, {BY_SITE, "By call site", "by_site"},
	{BY_RANGE, "By NVTX range", "by_range"}};

static struct summary_rows *rows_of(struct summary *sum, enum by by)
{
	return by == BY_KERNEL ? &sum->kernels : by == BY_SITE ? &sum->sites : &sum->ranges;
}

static void print_rows(struct session *s, const char *title, const struct summary_rows *rows,
	uint64_t most, const char *more)
{
	struct table t = table_begin(columns);
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < rows->n && (!most || i < most); i++)
		table_row(&t, &rows->v[i]);
	table_end(&t, &b, 0);
	if (!rows->n)
		return;
	out_printf(s->out, "\n%s\n", title);
	out_table(s->out, &b);
	if (i < rows->n)
		out_printf(s->out, "and %zu more (%s shows all)\n", rows->n - i, more);
	buf_free(&b);
}

void sums_sort(struct summary *sum, unsigned by, enum summary_sort sort)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (by & tables[i].by)
			summary_sort(rows_of(sum, tables[i].by), sort);
		else
			summary_rows_free(rows_of(sum, tables[i].by));
	}
}

void sums_print(
	struct session *s, struct summary *sum, unsigned by, uint64_t most, const char *more)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (by & tables[i].by)
			print_rows(s, tables[i].title, rows_of(sum, tables[i].by), most, more);
	}
}

static void put_rows(struct buf *out, const void *rows)
{
	const struct summary_rows *r = rows;

	table_json(out, &columns_object, r->v, sizeof *r->v, r->n);
}

JS_DEFINE(summary_object, "work_summary", summary,
	JS_OF("all", OBJECT, summary, all, columns_object),
	JS_BY("by_kernel", summary, kernels, put_rows, "[sums_of]"),
	JS_BY("by_site", summary, sites, put_rows, "[sums_of]"),
	JS_BY("by_range", summary, ranges, put_rows, "[sums_of]"),
	JS(UINT, summary, graphs_unknown, not_kept));

void sums_table(struct session *s, const char *title, const struct column *of, const void *rows,
	size_t size, size_t n)
{
	struct table t = table_begin(of);
	struct buf b = BUF_INIT;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		table_row(&t, (const char *)rows + i * size);
	table_end(&t, &b, 0);
	out_printf(s->out, "\n%s\n", title);
	out_table(s->out, &b);
	buf_free(&b);
}

void sums_json(struct buf *out, const void *sum)
{
	js_put(out, &summary_object, sum);
}
