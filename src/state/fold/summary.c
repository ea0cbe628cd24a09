/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over a trace, see summary.h. Kernels in graph launches: the nodes of an executable graph are
 * counted once for each time that it is changed, and multiplied by its launches since.
 */
#include "state/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/id-table.h"
#include "state/marks.h"
#include "state/steps.h"
#include "sbt/fields.h"

enum { GRAPHS_MAX = 1 << 10 };

/* An executable graph as it is now, and its launches since it became so. */
struct counted_graph {
	uint32_t id;
	uint64_t launches;
};

struct summary_pass {
	struct summary sum;
	const struct summary_ask *ask;
	struct state *st; /* kernels and graphs alone */
	struct marks *marks;
	struct id_table kernels, sites, ranges; /* numbers of rows, plus 1 */
	struct counted_graph graphs[GRAPHS_MAX];
	unsigned ngraphs;
};

/* --- rows --- */

static struct summary_row *add_row(struct summary_rows *rows, uint32_t id)
{
	if (!(rows->n & (rows->n - 1)))
		rows->v = xrealloc(rows->v, (rows->n ? 2 * rows->n : 1) * sizeof *rows->v);
	rows->v[rows->n] = (struct summary_row){.id = id};
	return &rows->v[rows->n++];
}

/* The row of an id, whose number plus 1 is in by; NULL: the id is beyond what is kept. */
static struct summary_row *row_of(struct summary_rows *rows, struct id_table *by, uint64_t id)
{
	uint32_t *at = id_table_row(by, id, true);

	if (!at)
		return NULL;
	if (!*at) {
		add_row(rows, (uint32_t)id);
		*at = (uint32_t)rows->n;
	}
	return &rows->v[*at - 1];
}

void summary_add(struct summary_row *a, const struct summary_row *b)
{
	if (b->count && (!a->count || b->first_seq < a->first_seq))
		a->first_seq = b->first_seq;
	if (b->last_seq > a->last_seq)
		a->last_seq = b->last_seq;
	a->count += b->count;
	a->in_graphs += b->in_graphs;
	a->timed += b->timed;
	a->time_ns += b->time_ns;
	a->bytes += b->bytes;
	if (b->longest_ns > a->longest_ns)
		a->longest_ns = b->longest_ns;
}

static struct summary_row figures(const struct sbt_cmd *c)
{
	struct summary_row f = {.count = 1, .first_seq = c->seq, .last_seq = c->seq};

	if (c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns) {
		f.timed = 1;
		f.time_ns = f.longest_ns = c->gpu_end_ns - c->gpu_start_ns;
	}
	if (c->kind == SBT_COPY)
		f.bytes = c->u.copy.size;
	else if (c->kind == SBT_FILL)
		f.bytes = c->u.fill.size;
	return f;
}

/* --- kernels in graphs --- */

static void count_node(struct summary_pass *p, const struct state_node *node, uint64_t times)
{
	struct summary_row *row;

	if (node->type != SBT_NODE_KERNEL || node->disabled || node->kernel == SBT_NO_ID)
		return;
	row = row_of(&p->sum.kernels, &p->kernels, node->kernel);
	if (row)
		row->in_graphs += times;
}

/* Counts the kernels of a graph's launches, and forgets the launches. */
static void settle(struct summary_pass *p, struct counted_graph *g)
{
	struct state_steps steps;
	struct err *e = g->launches ? state_steps(&steps, p->st, g->id) : NULL;

	if (e) {
		p->sum.graphs_unknown += g->launches;
		err_free(e);
	} else if (g->launches) {
		if (!steps.n)
			p->sum.graphs_unknown += g->launches;
		for (uint32_t i = 0; i < steps.n; i++)
			count_node(p, &steps.step[i].node, g->launches);
		state_steps_free(&steps);
	}
}

static void settle_all(struct summary_pass *p)
{
	for (unsigned i = 0; i < p->ngraphs; i++)
		settle(p, &p->graphs[i]);
	p->ngraphs = 0;
}

static void graph_launched(struct summary_pass *p, const struct sbt_cmd *c)
{
	const uint64_t id = c->u.graph_launch.exec;
	unsigned i = 0;

	while (i < p->ngraphs && p->graphs[i].id != id)
		i++;
	if (i == GRAPHS_MAX) {
		settle_all(p);
		i = 0;
	}
	if (i == p->ngraphs)
		p->graphs[p->ngraphs++] = (struct counted_graph){.id = (uint32_t)id};
	p->graphs[i].launches++;
}

/* Whether the state has to see a command: objects, of which memory does not matter here. */
static bool is_for_state(unsigned kind)
{
	return kind == SBT_CAPTURE_BEGIN ||
	       (sbt_kind(kind)->cls == SBT_CLASS_OBJECT && kind != SBT_ALLOC && kind != SBT_FREE);
}

/* An allocation or a free without its stream, whose queue nothing would empty here. */
static struct err *take_memory(struct summary_pass *p, const struct sbt_cmd *c)
{
	struct sbt_cmd now = *c;

	if (c->kind == SBT_ALLOC)
		now.u.alloc.stream = SBT_NO_ID;
	else
		now.u.free.stream = SBT_NO_ID;
	return state_apply(p->st, &now);
}

static bool changes_graphs(unsigned kind)
{
	return kind == SBT_GRAPH_CREATE || kind == SBT_GRAPH_NODE || kind == SBT_CAPTURE_END ||
	       kind == SBT_GRAPH_INSTANTIATE || kind == SBT_GRAPH_DESTROY ||
	       kind == SBT_GRAPH_UPDATE;
}

/* --- one command --- */

static struct summary_row *named_row(struct summary_pass *p, const char *name)
{
	struct summary_rows *rows = &p->sum.kernels;

	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].id == SBT_NO_ID && !strcmp(rows->v[i].name, name))
			return &rows->v[i];
	}
	add_row(rows, SBT_NO_ID)->name = xstrdup(name);
	return &rows->v[rows->n - 1];
}

/* The row by kernel: other work is called by its kind, a copy with its direction. */
static struct summary_row *kernel_row(struct summary_pass *p, const struct sbt_cmd *c)
{
	const char *dir =
		c->kind == SBT_COPY ? sbt_enum_name(SBT_T_ENUM_COPY, c->u.copy.dir) : NULL;
	char name[64];

	if (c->kind == SBT_LAUNCH)
		return row_of(&p->sum.kernels, &p->kernels, c->u.launch.kernel);
	if (p->ask->kernels_only)
		return NULL;
	snprintf(name, sizeof name, "%s%s%s", sbt_kind(c->kind)->name, dir ? " " : "",
		dir ? dir : "");
	return named_row(p, name);
}

static void add_to(struct summary_pass *p, struct summary_row *row, const struct summary_row *f)
{
	if (row)
		summary_add(row, f);
	else
		p->sum.not_kept += !p->ask->kernels_only;
}

/* Adds it to each range that it is in, once for ranges of one name. */
static void add_to_ranges(struct summary_pass *p, uint32_t thread, const struct summary_row *f)
{
	unsigned n;
	const uint32_t *open = marks_open(p->marks, thread, &n);

	for (unsigned i = 0; i < n; i++) {
		bool again = false;

		for (unsigned k = 0; k < i && !again; k++)
			again = open[k] == open[i];
		if (!again)
			add_to(p, row_of(&p->sum.ranges, &p->ranges, open[i]), f);
	}
}

bool summary_counts(const struct sbt_cmd *c)
{
	return sbt_cmd_is_work(c) && (c->kind == SBT_LAUNCH || c->kind == SBT_COPY ||
					     c->kind == SBT_FILL || c->kind == SBT_GRAPH_LAUNCH);
}

struct err *summary_take(struct summary_pass *p, const struct sbt_cmd *c)
{
	struct summary_row f;

	if (changes_graphs(c->kind))
		settle_all(p);
	if (is_for_state(c->kind))
		TRY(state_apply(p->st, c));
	else if (p->ask->allocations && (c->kind == SBT_ALLOC || c->kind == SBT_FREE))
		TRY(take_memory(p, c));
	marks_see(p->marks, c);
	if (c->seq < p->ask->first || !summary_counts(c))
		return NULL;
	f = figures(c);
	if (c->kind == SBT_GRAPH_LAUNCH)
		graph_launched(p, c);
	add_to(p, kernel_row(p, c), &f);
	if (p->ask->kernels_only)
		return NULL;
	summary_add(&p->sum.all, &f);
	if (c->stack)
		add_to(p, row_of(&p->sum.sites, &p->sites, c->stack), &f);
	add_to_ranges(p, c->thread, &f);
	return NULL;
}

/* --- the pass --- */

/* Kernels by their mangled names: one that several modules have is one row. */
static void name_kernels(struct summary_pass *p)
{
	struct summary_rows *rows = &p->sum.kernels;
	struct state_kernel k;

	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].name)
			continue;
		rows->v[i].name = state_kernel_by_id(p->st, rows->v[i].id, &k)
					  ? xstrdup(k.name)
					  : xasprintf("kernel %u", rows->v[i].id);
	}
	for (size_t i = 0; i < p->sum.ranges.n; i++)
		p->sum.ranges.v[i].name = xstrdup(marks_name(p->marks, p->sum.ranges.v[i].id));
}

struct err *summary_begin(
	struct summary_pass **ret, struct sbt_reader *r, const struct summary_ask *ask)
{
	const uint64_t first = sbt_reader_first_seq(r);
	struct summary_pass *p = xcalloc(1, sizeof *p);
	struct err *e;

	p->sum.all.id = SBT_NO_ID;
	p->ask = ask;
	p->marks = marks_new();
	p->kernels.size = p->sites.size = p->ranges.size = sizeof(uint32_t);
	e = state_keyframe(&p->st, r, first ? first - 1 : 0);
	if (e)
		summary_end(p, NULL);
	else
		*ret = p;
	return e;
}

const struct state *summary_state(const struct summary_pass *p)
{
	return p->st;
}

void summary_end(struct summary_pass *p, struct summary *ret)
{
	if (ret) {
		settle_all(p);
		name_kernels(p);
		*ret = p->sum;
	} else {
		summary_free(&p->sum);
	}
	state_free(p->st);
	marks_free(p->marks);
	free(p->kernels.at);
	free(p->sites.at);
	free(p->ranges.at);
	free(p);
}

static struct err *read_all(struct summary_pass *p, struct sbt_reader *r, struct sbt_cursor *cursor)
{
	const struct summary_ask *a = p->ask;
	const struct sbt_cmd *c;
	uint64_t done = 0;

	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > a->last)
			return NULL;
		TRY(summary_take(p, c));
		if (!(++done & 0xffff) && a->cancelled &&
			a->cancelled(a->arg, done, sbt_reader_count(r)))
			return err_new(ERR_INTERRUPTED, "interrupted");
	}
}

struct err *summary_make(struct summary *ret, struct sbt_reader *r, const struct summary_ask *ask)
{
	struct summary_pass *p;
	struct sbt_cursor *cursor = NULL;
	struct err *e;

	*ret = (struct summary){.all.id = SBT_NO_ID};
	TRY(summary_begin(&p, r, ask));
	e = sbt_cursor_open(&cursor, r);
	if (!e)
		e = read_all(p, r, cursor);
	if (cursor)
		sbt_cursor_close(cursor);
	summary_end(p, e ? NULL : ret);
	return e;
}

void summary_rows_free(struct summary_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].name);
	free(rows->v);
	*rows = (struct summary_rows){0};
}

void summary_free(struct summary *s)
{
	summary_rows_free(&s->kernels);
	summary_rows_free(&s->sites);
	summary_rows_free(&s->ranges);
}

/* --- order --- */

static int compare(const struct summary_row *a, const struct summary_row *b, uint64_t x, uint64_t y)
{
	if (x != y)
		return x < y ? 1 : -1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

static int by_time(const void *x, const void *y)
{
	const struct summary_row *a = x, *b = y;

	return compare(a, b, a->time_ns, b->time_ns);
}

static int by_count(const void *x, const void *y)
{
	const struct summary_row *a = x, *b = y;

	return compare(a, b, a->count + a->in_graphs, b->count + b->in_graphs);
}

static int by_bytes(const void *x, const void *y)
{
	const struct summary_row *a = x, *b = y;

	return compare(a, b, a->bytes, b->bytes);
}

void summary_sort(struct summary_rows *rows, enum summary_sort by)
{
	static int (*const orders[])(const void *, const void *) = {by_time, by_count, by_bytes};

	if (rows->n)
		qsort(rows->v, rows->n, sizeof *rows->v, orders[by]);
}
