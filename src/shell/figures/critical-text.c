/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path as text and JSON: the parts of it, with the places in the program that they
 * come from, what they would gain, and what nearly is on it.
 */
#include "shell/figures/critical-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text-table.h"
#include "shell/figures/sums-text.h"
#include "shell/print/shown-names.h"
#include "state/state.h"
#include "sbt/fields.h"

struct part_row {
	struct critical_part is;
	uint64_t rank, of_ns;		  /* from 1; the length of the path */
	char *name, *place, *next;	  /* heap; NULL: none, or not asked */
	const struct critical_part *gain; /* NULL: not asked */
};
struct step_row {
	struct critical_step is;
	uint64_t ns;
	char *name, *place; /* heap */
};
struct critical_view {
	const struct critical_path *p;
	struct critical_path is;
	uint64_t length_ns, kernels_ns, copies_ns;
	struct part_row *parts, *beside;
	struct step_row *steps; /* the longest, in order of time */
	size_t nparts, nbeside, nsteps;
};

/* --- names --- */

struct namer {
	struct session *s;
	struct sbt_reader *r;
	const struct state *st;
	struct summary_rows kernels; /* none */
};

static char *name_of(struct namer *n, enum critical_what what, uint32_t id, uint32_t stack)
{
	struct state_kernel k;

	switch (what) {
	case CRITICAL_KERNEL:
		return state_kernel_by_id(n->st, id, &k) ? xstrdup(kernel_shown_name(n->s, k.name))
							 : xasprintf("kernel %u", id);
	case CRITICAL_GRAPH:
		return xasprintf("graph %u", id);
	case CRITICAL_COPY:
		return xasprintf("copy %s", sbt_enum_name(SBT_T_ENUM_COPY, id));
	case CRITICAL_FILL:
		return xstrdup("fill");
	case CRITICAL_HOST:
		return sums_site(n->s, n->r, what == CRITICAL_HOST ? id : stack, &n->kernels);
	default:
		return xstrdup("between submission and beginning");
	}
}

/* Kernels by their mangled names, so that their host functions are no places. */
static void namer_init(struct namer *n)
{
	struct state_kernel k;
	unsigned i;

	for (i = 0; state_kernel(n->st, i, &k); i++)
		;
	n->kernels.v = xcalloc(i + 1, sizeof *n->kernels.v);
	for (i = 0; state_kernel(n->st, i, &k); i++)
		n->kernels.v[n->kernels.n++].name = xstrdup(k.name);
}

/* --- rows --- */

static char *place_of(struct namer *n, enum critical_what what, uint32_t stack)
{
	if (what == CRITICAL_STARTING || what == CRITICAL_HOST || !stack)
		return NULL;
	return sums_site(n->s, n->r, stack, &n->kernels);
}

static struct part_row part_row(
	struct namer *n, const struct critical_part *p, size_t i, bool asked)
{
	struct part_row row = {.is = *p, .rank = i + 1};

	row.name = name_of(n, p->what, p->id, p->stack);
	row.place = place_of(n, p->what, p->stack);
	if (asked && p->next < CRITICAL_WHATS)
		row.next = name_of(n, p->next, p->next_id, p->next_id);
	return row;
}

static void make_parts(struct critical_view *v, struct namer *n, uint64_t top)
{
	const struct critical_path *p = v->p;

	v->parts = xcalloc(p->non + 1, sizeof *v->parts);
	v->beside = xcalloc(p->nparts + 1, sizeof *v->beside);
	for (size_t i = 0; i < p->non && (!top || i < top); i++) {
		struct part_row *row = &v->parts[v->nparts++];

		*row = part_row(n, &p->parts[i], i, i < CRITICAL_ASKED);
		row->of_ns = v->length_ns;
		row->gain = i < CRITICAL_ASKED ? &row->is : NULL;
	}
	for (size_t i = 0; i < p->nparts && (!top || v->nbeside < top); i++)
		if (p->parts[i].beside && !p->parts[i].on_ns)
			v->beside[v->nbeside++] = part_row(n, &p->parts[i], i, false);
}

static int longer(const void *x, const void *y)
{
	const struct critical_step *a = *(const struct critical_step *const *)x,
				   *b = *(const struct critical_step *const *)y;
	const uint64_t m = a->to_ns - a->from_ns, n = b->to_ns - b->from_ns;

	return m != n ? (m < n) - (m > n) : (a > b) - (a < b);
}

static int by_place(const void *x, const void *y)
{
	const struct critical_step *a = *(const struct critical_step *const *)x,
				   *b = *(const struct critical_step *const *)y;

	return (a > b) - (a < b);
}

static void make_steps(struct critical_view *v, struct namer *n, uint64_t top)
{
	const struct critical_path *p = v->p;
	const struct critical_step **order = xcalloc(p->nsteps + 1, sizeof *order);

	for (size_t i = 0; i < p->nsteps; i++)
		order[i] = &p->steps[i];
	v->nsteps = top && p->nsteps > top ? top : p->nsteps;
	if (v->nsteps < p->nsteps) {
		qsort(order, p->nsteps, sizeof *order, longer);
		qsort(order, v->nsteps, sizeof *order, by_place);
	}
	v->steps = xcalloc(v->nsteps + 1, sizeof *v->steps);
	for (size_t i = 0; i < v->nsteps; i++) {
		const struct critical_step *x = order[i];

		v->steps[i] = (struct step_row){*x, x->to_ns - x->from_ns,
			name_of(n, x->what, x->id, x->stack), place_of(n, x->what, x->stack)};
	}
	free(order);
}

static void free_parts(struct part_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].name);
		free(rows[i].place);
		free(rows[i].next);
	}
	free(rows);
}

static void view_free(struct critical_view *v)
{
	free_parts(v->parts, v->nparts);
	free_parts(v->beside, v->nbeside);
	for (size_t i = 0; i < v->nsteps; i++) {
		free(v->steps[i].name);
		free(v->steps[i].place);
	}
	free(v->steps);
}

/* --- JSON --- */

static const char *what_name(uint64_t what)
{
	static const char *const names[] = {"kernel", "graph", "copy", "fill", "host", "starting"};

	return what < sizeof names / sizeof *names ? names[what] : NULL;
}

#define NAMED(n, T, m)                                                                             \
	{                                                                                          \
		.name = n, .type = JS_NAMED, JS_MEMBER(T, m), .named = what_name                   \
	}
JS_DEFINE(gain_object, "gain", critical_part, JS(UINT, critical_part, gain_ns));
JS_DEFINE(part_object, "critical_part", part_row, NAMED("part", part_row, is.what),
	JS(TEXT, part_row, name), JS_AS("call_site", TEXT, part_row, place),
	JS_AS("path_ns", UINT, part_row, is.on_ns), JS_AS("count", UINT, part_row, is.on_count),
	JS_IN(SEQ, part_row, is, longest_seq), JS_IN(UINT, part_row, is, longest_ns),
	JS_OF("gain", POINTER, part_row, gain, gain_object), JS_AS("then", TEXT, part_row, next));
JS_DEFINE(beside_object, "critical_beside", part_row, NAMED("part", part_row, is.what),
	JS(TEXT, part_row, name), JS_AS("call_site", TEXT, part_row, place),
	JS_AS("count", UINT, part_row, is.beside), JS_IN(UINT, part_row, is, slack_ns),
	JS_IN(SEQ, part_row, is, slack_seq));
JS_DEFINE(step_object, "critical_step", step_row, NAMED("part", step_row, is.what),
	JS(TEXT, step_row, name), JS_AS("call_site", TEXT, step_row, place),
	JS_IN(SEQ, step_row, is, seq), JS_IN(ID, step_row, is, stream),
	JS_IN(UINT, step_row, is, thread), JS_AS("begin_ns", UINT, step_row, is.from_ns),
	JS_AS("end_ns", UINT, step_row, is.to_ns));
JS_DEFINE(critical_object, "critical_path", critical_view,
	JS_IN(UINT, critical_view, is, begin_ns, end_ns),
	JS(UINT, critical_view, length_ns, kernels_ns, copies_ns),
	JS_AS("host_part_ns", UINT, critical_view, is.by_what[CRITICAL_HOST]),
	JS_AS("starting_ns", UINT, critical_view, is.by_what[CRITICAL_STARTING]),
	JS_LIST_OF("part_list", critical_view, parts, nparts, part_object),
	JS_LIST_OF("beside_list", critical_view, beside, nbeside, beside_object),
	JS_LIST_OF("longest_steps", critical_view, steps, nsteps, step_object),
	JS_AS("work", UINT, critical_view, is.commands),
	JS_IN(UINT, critical_view, is, untimed, contradictions));

static void put_json(struct session *s, const struct critical_view *v)
{
	struct buf b = BUF_INIT;

	js_put(&b, &critical_object, v);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

/* --- text --- */

static void share_cell(struct buf *out, const void *row)
{
	const struct part_row *r = row;

	buf_printf(out, "%.1f", sums_share(r->is.on_ns, r->of_ns));
}

static void on_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct part_row *)row)->is.on_ns);
}

static void gain_cell(struct buf *out, const void *row)
{
	const struct part_row *r = row;

	if (r->gain)
		sums_put_ms(out, r->is.gain_ns);
}

static void slack_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct part_row *)row)->is.slack_ns);
}

static void step_cell(struct buf *out, const void *row)
{
	sums_put_ms(out, ((const struct step_row *)row)->ns);
}

static void put_what(struct buf *out, enum critical_what what, const char *name, const char *place)
{
	buf_printf(out, "%s%s%s%s", what == CRITICAL_HOST ? "host, on its way to " : "", name,
		place ? ", " : "", place ? place : "");
}

static void part_cell(struct buf *out, const void *row)
{
	const struct part_row *r = row;

	put_what(out, r->is.what, r->name, r->place);
}

static void step_what_cell(struct buf *out, const void *row)
{
	const struct step_row *r = row;

	put_what(out, r->is.what, r->name, r->place);
}

#define MEMBER(title, t, T, m)                                                                     \
	{                                                                                          \
		title, {.type = JS_##t, JS_MEMBER(T, m)}, NULL, false, false                       \
	}
static const struct column part_columns[] = {SUMS_CALC("%", share_cell),
	SUMS_CALC("Time/ms", on_cell), MEMBER("Count", UINT, part_row, is.on_count),
	SUMS_CALC("Gain/ms", gain_cell), MEMBER("Longest", SEQ, part_row, is.longest_seq),
	SUMS_LEFT("What", part_cell), SUMS_END};
static const struct column beside_columns[] = {SUMS_CALC("Slack/ms", slack_cell),
	MEMBER("At", SEQ, part_row, is.slack_seq), MEMBER("Count", UINT, part_row, is.beside),
	SUMS_LEFT("What", part_cell), SUMS_END};
static const struct column step_columns[] = {MEMBER("Command", SEQ, step_row, is.seq),
	MEMBER("Stream", ID, step_row, is.stream), SUMS_CALC("Time/ms", step_cell),
	SUMS_LEFT("What", step_what_cell), SUMS_END};

/* The sentence that most people want. */
static void print_answer(struct session *s, const struct critical_view *v)
{
	const struct part_row *r = v->parts;
	struct buf b = BUF_INIT;

	if (!v->nparts)
		return;
	part_cell(&b, r);
	out_printf(s->out, "It is mostly %s: %.1f %%, %.3f ms.\n", buf_cstr(&b),
		sums_share(r->is.on_ns, v->length_ns), (double)r->is.on_ns / 1e6);
	out_printf(s->out, "If that took no time, the run would be %.3f ms shorter",
		(double)r->is.gain_ns / 1e6);
	if (r->next)
		out_printf(s->out, ", and the path would mostly be %s%s",
			r->is.next == CRITICAL_HOST ? "the host, on its way to " : "", r->next);
	out_str(s->out, ".\n");
	buf_free(&b);
}

static void print_path(struct session *s, const struct critical_view *v)
{
	const struct critical_path *p = v->p;

	out_printf(s->out,
		"The critical path is %.3f ms long: kernels and graphs %.3f, copies and fills %.3f, the host %.3f, between submission and beginning %.3f.\n",
		(double)v->length_ns / 1e6, (double)v->kernels_ns / 1e6, (double)v->copies_ns / 1e6,
		(double)p->by_what[CRITICAL_HOST] / 1e6,
		(double)p->by_what[CRITICAL_STARTING] / 1e6);
	print_answer(s, v);
	if (p->untimed)
		out_printf(s->out,
			"%" PRIu64 " of %" PRIu64
			" launches, copies and fills have no GPU times and are not in it.\n",
			p->untimed, p->commands);
	if (p->contradictions)
		out_printf(s->out,
			"%" PRIu64
			" times contradict the order of the program (clocks differ, or work overlaps): those waits are left out.\n",
			p->contradictions);
	sums_table(s, "On it", part_columns, v->parts, sizeof *v->parts, v->nparts);
	sums_table(s, "Beside it: how much longer each could be before it is on it", beside_columns,
		v->beside, sizeof *v->beside, v->nbeside);
	sums_table(s, v->nsteps < p->nsteps ? "Its longest steps" : "Its steps", step_columns,
		v->steps, sizeof *v->steps, v->nsteps);
}

struct err *critical_print(struct session *s, struct sbt_reader *r, const struct critical_path *p,
	uint64_t top, bool json)
{
	struct critical_view v = {.p = p, .is = *p, .length_ns = p->end_ns - p->begin_ns};
	struct namer n = {.s = s, .r = r};

	TRY(engine_end_state(&s->engine, &n.st));
	namer_init(&n);
	v.kernels_ns = p->by_what[CRITICAL_KERNEL] + p->by_what[CRITICAL_GRAPH];
	v.copies_ns = p->by_what[CRITICAL_COPY] + p->by_what[CRITICAL_FILL];
	make_parts(&v, &n, top);
	make_steps(&v, &n, top);
	if (json)
		put_json(s, &v);
	else
		print_path(s, &v);
	view_free(&v);
	summary_rows_free(&n.kernels);
	return NULL;
}

void critical_pole(struct buf *out, struct session *s, struct sbt_reader *r, const struct state *st,
	const struct critical_path *p)
{
	struct namer n = {.s = s, .r = r, .st = st};
	struct part_row row;

	if (!p->non)
		return;
	namer_init(&n);
	row = part_row(&n, &p->parts[0], 0, false);
	buf_str(out, ", mostly ");
	part_cell(out, &row);
	buf_printf(out, ": %.1f %% of it", sums_share(row.is.on_ns, p->end_ns - p->begin_ns));
	free(row.name);
	free(row.place);
	free(row.next);
	summary_rows_free(&n.kernels);
}
