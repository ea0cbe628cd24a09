/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what check.c found, as text and as JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "replay/values.h"
#include "shell/print/check-print.h"
#include "shell/print/graph.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "shell/trace/trace.h"
#include "state/state.h"

#define FRAMES 5 /* of a stack */

static void print_value(struct buf *out, enum replayer_as as, uint64_t bits)
{
	static const int digits[REPLAYER_AS_END] = {[REPLAYER_AS_F32] = 9,
		[REPLAYER_AS_F64] = 17,
		[REPLAYER_AS_F16] = 5,
		[REPLAYER_AS_BF16] = 4};

	if (digits[as])
		buf_printf(out, "%.*g", digits[as], value_of(bits, as));
	else
		buf_printf(out, "%" PRId64, value_signed(bits, as));
}

static const char *looks_text(enum check_looks l)
{
	static const char *const texts[] = {
		[CHECK_LIKE_ATOMICS] =
			"only last bits differ: it looks like sums made in another order (floating-point atomics)",
		[CHECK_LIKE_A_RACE] = "whole values differ: it looks like a race within the kernel",
		[CHECK_LIKE_NEITHER] = "neither the last bits alone nor mostly whole values differ",
	};

	return texts[l];
}

static void print_place(const struct check_place *p, struct buf *out)
{
	buf_printf(out, "    0x%" PRIx64, p->addr);
	if (p->size)
		buf_printf(out, " (%" PRIu64 " bytes)", p->size);
	if (!p->elements) {
		buf_str(out,
			": something in it was different once, and not when each execution was looked at\n");
		return;
	}
	buf_printf(out, ": %" PRIu64 " %s differ", p->elements, value_types[p->as].name);
	if (value_types[p->as].is_float)
		buf_printf(out, ", by at most %.6g (%.0f ULP)", p->largest, p->steps);
	else
		buf_printf(out, ", by at most %.0f", p->largest);
	buf_printf(out, "; at +%" PRIu64 " ", p->first_differs - p->addr);
	print_value(out, p->as, p->was);
	buf_str(out, ", then ");
	print_value(out, p->as, p->is);
	buf_byte(out, '\n');
}

static void print_cmd(
	struct session *s, const struct state *st, uint64_t seq, struct buf *out, bool stack)
{
	struct stack frames = {0};
	uint32_t id = 0;
	struct err *e = shown_cmd(
		&(struct shown_names){s, st}, s->engine.trace.reader, seq, false, out, &id);

	if (e)
		buf_printf(out, "#%" PRIu64, seq);
	err_free(e);
	buf_byte(out, '\n');
	e = stack ? stack_recorded(s, s->engine.trace.reader, id, &frames) : NULL;
	stack_print_brief(out, &frames, "    ", FRAMES);
	stack_free(&frames);
	err_free(e);
}

/* Whether values that differ were seen. */
static bool is_seen(const struct check_launch *l)
{
	for (size_t i = 0; i < l->nplaces; i++)
		if (l->places[i].elements)
			return true;
	return false;
}

static void print_what_differs(const struct check_launch *l, struct buf *out)
{
	for (size_t i = 0; i < l->nplaces; i++)
		print_place(&l->places[i], out);
	if (l->clock)
		buf_printf(out, "    the kernel reads a clock (%s): its results differ by nature\n",
			l->clock);
	else if (is_seen(l))
		buf_printf(out, "    %s\n", looks_text(l->looks));
}

static void print_launch(struct session *s, const struct state *st, const struct check_result *r,
	const struct check_launch *l, struct buf *out)
{
	if (l->nplaces)
		buf_printf(out,
			"Not deterministic, in %u of %u further executions from the same memory:\n  ",
			l->differing, r->runs - 1);
	else
		buf_str(out, "Its result depends on memory that nobody wrote:\n  ");
	print_cmd(s, st, l->seq, out, true);
	print_what_differs(l, out);
	if (l->shared)
		buf_str(out, "    reads shared memory that nothing in its block has written\n");
}

/* --- findings that are alike --- */

/* What makes two findings one: the kernel, and how its results differ. */
struct finding {
	const char *kernel; /* mangled; NULL: no launch of a kernel, which is like no other */
	bool told;	    /* with another one */
};

static const char *kernel_of(struct session *s, const struct state *st, uint64_t seq)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state_kernel k;
	const char *name = NULL;
	struct err *e = trace_cmd(s->engine.trace.reader, seq, &cursor, &c);

	if (!e && c->kind == SBT_LAUNCH && state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
		name = k.name;
	if (!e)
		sbt_cursor_close(cursor);
	err_free(e);
	return name;
}

static struct finding *find_kernels(
	struct session *s, const struct state *st, const struct check_result *r)
{
	struct finding *f = xcalloc(r->nlaunches + 1, sizeof *f);

	for (size_t i = 0; i < r->nlaunches; i++) {
		if (!r->launches[i].step && !r->launches[i].nodes)
			f[i].kernel = kernel_of(s, st, r->launches[i].seq);
	}
	return f;
}

static bool same_clock(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool are_alike(const struct check_launch *a, const struct check_launch *b)
{
	return !a->nplaces == !b->nplaces && a->shared == b->shared &&
	       same_clock(a->clock, b->clock) && is_seen(a) == is_seen(b) &&
	       (!is_seen(a) || a->looks == b->looks);
}

#define ALIKE_SHOWN 8u

/* Prints the launches whose finding is like that of launch i, and marks them as told. */
static void print_alike(struct session *s, const struct check_result *r, struct finding *f,
	size_t i, struct buf *out)
{
	size_t n = 1;

	for (size_t k = i + 1; f[i].kernel && k < r->nlaunches; k++) {
		if (!f[k].kernel || f[k].told || strcmp(f[k].kernel, f[i].kernel) ||
			!are_alike(&r->launches[i], &r->launches[k]))
			continue;
		f[k].told = true;
		n++;
	}
	if (n == 1)
		return;
	buf_printf(out, "    %zu launches of %s do so: #%" PRIu64, n,
		kernel_shown_name(s, f[i].kernel), r->launches[i].seq);
	n = 1;
	for (size_t k = i + 1; k < r->nlaunches; k++) {
		if (!f[k].told || strcmp(f[k].kernel, f[i].kernel) ||
			!are_alike(&r->launches[i], &r->launches[k]))
			continue;
		if (++n <= ALIKE_SHOWN)
			buf_printf(out, ", #%" PRIu64, r->launches[k].seq);
	}
	if (n > ALIKE_SHOWN)
		buf_printf(out, ", and %zu more", n - ALIKE_SHOWN);
	buf_byte(out, '\n');
}

/* --- nodes of a graph launch --- */

/* The steps of a launch, kept for its next row: the state before a command takes long to make. */
struct nodes {
	uint64_t seq;	  /* 0: none */
	struct state *st; /* before the launch */
	struct sbt_cmd launch;
	struct state_steps steps;
};

static void drop_nodes(struct nodes *n)
{
	state_steps_free(&n->steps);
	state_free(n->st);
	*n = (struct nodes){0};
}

/* Finds a row's step; NULL: the trace does not have it. */
static const struct state_step *find_node(
	struct session *s, const struct check_launch *l, struct nodes *n)
{
	if (n->seq != l->seq) {
		drop_nodes(n);
		n->seq = l->seq;
		struct err *e = graph_launched(&s->engine, l->seq, &n->st, &n->launch);
		if (!e)
			e = state_steps(&n->steps, n->st, (uint32_t)n->launch.u.graph_launch.exec);
		err_free(e);
	}
	return l->step && l->step <= n->steps.n ? &n->steps.step[l->step - 1] : NULL;
}

static void print_node(struct session *s, const struct check_result *r,
	const struct check_launch *l, struct nodes *n, struct buf *out)
{
	const struct state_step *step = find_node(s, l, n);
	struct buf origin = BUF_INIT;

	buf_str(out, "  ");
	if (step)
		graph_print_step(out, n->st, &n->launch, l->step, step, false);
	else
		buf_printf(out, "#%" PRIu64 ".%u", l->seq, l->step);
	buf_printf(out, ", in %u of %u\n", l->differing, r->runs - 1);
	if (step)
		graph_node_origin(&origin, s, s->engine.trace.reader, n->st, &step->node);
	if (origin.len)
		buf_printf(out, "    made by %s\n", buf_cstr(&origin));
	print_what_differs(l, out);
	buf_free(&origin);
}

/* Prints a launch and its nodes, which follow it in the list. *i becomes the index of the last of
 * them. */
static void print_nodes(struct session *s, const struct check_result *r, size_t *i, struct buf *out)
{
	const struct check_launch *l = &r->launches[*i];
	const size_t first = *i + 1;
	struct nodes n = {0};

	if (!l->nodes)
		return;
	for (; *i + 1 < r->nlaunches && r->launches[*i + 1].step; ++*i) {
		if (*i + 1 == first)
			buf_printf(out, "  Of its %u nodes, one by one:\n", l->nodes);
		print_node(s, r, &r->launches[*i + 1], &n, out);
	}
	drop_nodes(&n);
	if (*i + 1 == first)
		buf_printf(out,
			"    each of its %u nodes alone gave the same bytes every time: it may be their order, where the graph leaves it open (see explore)\n",
			l->nodes);
}

static void print_unwritten(
	struct session *s, const struct state *st, const struct unwritten *u, struct buf *out)
{
	buf_str(out, "Its result depends on memory that nobody wrote:\n  ");
	print_cmd(s, st, u->seq, out, true);
	if (!u->bytes)
		buf_printf(out,
			"    reads 0x%" PRIx64 ", +%" PRIu64 " of the allocation #%" PRIu64
			" at 0x%" PRIx64 ", the first such address that matters\n",
			u->read[0].addr, u->read[0].addr - u->alloc, u->alloc_seq, u->alloc);
	else
		buf_printf(out,
			"    reads %" PRIu64 " bytes from 0x%" PRIx64
			" on, of the allocation #%" PRIu64 " at 0x%" PRIx64
			": with zeros there it leaves other bytes than"
			" with 0xff\n",
			u->bytes, u->read[0].addr, u->alloc_seq, u->alloc);
	if (u->count > 1)
		buf_printf(
			out, "    %" PRIu64 " launches of the kernel read such memory\n", u->count);
}

static const char *why_ended(const struct check_result *r)
{
	return r->end == DEVICE_CHECKED_INTERRUPTED
		       ? "it was interrupted"
		       : "the budget is spent (--budget 5m has more, 0 no end)";
}

/* Prints what there was no time for. */
static void print_missed(const struct check_result *r, struct buf *out)
{
	if (r->end)
		buf_printf(out, "Not checked: %" PRIu64 " launch%s from #%" PRIu64 " on: %s.\n",
			r->missed, r->missed == 1 ? "" : "es", r->reached + 1, why_ended(r));
	if (r->passing_unknown)
		buf_str(out, "Not looked for, for lack of time: launches that only pass a "
			     "difference on.\n");
	if (r->unwritten_unknown)
		buf_str(out,
			"Not looked for, for lack of time: reads of memory that nobody wrote.\n");
}

static void print_sum(const struct check_result *r, struct buf *out)
{
	if (!r->checked) {
		buf_printf(out, "No launch of #%" PRIu64 "-#%" PRIu64 " was checked.\n", r->first,
			r->last);
		print_missed(r, out);
		return;
	}
	buf_printf(out,
		"%" PRIu64 " launch%s of #%" PRIu64 "-#%" PRIu64 " executed %u times each: ",
		r->checked, r->checked == 1 ? "" : "es", r->first, r->last, r->runs);
	if (r->nlaunches)
		buf_printf(out, "%zu not deterministic", r->nlaunches - r->nsteps);
	else
		buf_str(out, "all gave the same bytes every time");
	if (r->left_out)
		buf_printf(
			out, " (%" PRIu64 " more pages differ than were looked at)", r->left_out);
	buf_str(out, ".\n");
	print_missed(r, out);
}

void check_print(struct session *s, const struct check_result *r, struct buf *out)
{
	struct state *st = NULL;
	struct finding *f;

	err_free(state_at(&st, s->engine.trace.reader, r->last));
	if (!st)
		st = state_new();
	f = find_kernels(s, st, r);
	for (size_t i = 0; i < r->nlaunches; i++) {
		if (f[i].told)
			continue;
		print_launch(s, st, r, &r->launches[i], out);
		print_alike(s, r, f, i, out);
		print_nodes(s, r, &i, out);
	}
	free(f);
	for (size_t i = 0; i < r->unwritten.n; i++)
		print_unwritten(s, st, &r->unwritten.row[i], out);
	if (r->npassing)
		buf_printf(out,
			"Deterministic, but different in two runs of the window because what they read was:\n");
	for (size_t i = 0; i < r->npassing && i < 20; i++) {
		buf_str(out, "  ");
		print_cmd(s, st, r->passing[i], out, false);
	}
	if (r->npassing > 20)
		buf_printf(out, "  ... and %zu more\n", r->npassing - 20);
	print_sum(r, out);
	if (r->heap)
		buf_printf(out,
			"%" PRIu64
			" launch%s not checked, executed once: what they take from the device's own heap cannot be put back.\n",
			r->heap, r->heap == 1 ? "" : "es");
	if (r->late)
		buf_printf(out,
			"%" PRIu64
			" launch%s not checked: kept back behind a wait for a value that was not written up to there.\n",
			r->late, r->late == 1 ? "" : "es");
	if (r->fault.told)
		buf_printf(out,
			"Not checked from #%" PRIu64
			" on: a command there faulted in the recording (CUDA error %u, reported by #%" PRIu64
			").\n",
			r->fault.first, r->fault.code, r->fault.told);
	if (r->outside)
		buf_str(out,
			"Memory changed that, by its PTX, no launch writes to: since then all memory was compared after each execution.\n");
	state_free(st);
}

static const char *type_name(uint64_t as)
{
	return value_types[as].name;
}

/* ---- JSON
 * --------------------------------------------------------------------------------------------------------------
 */

JS_DEFINE(place_object, "difference", check_place, JS_AS("allocation", HEX, check_place, addr),
	JS(UINT, check_place, size),
	{"type", JS_NAMED, JS_MEMBER(check_place, as), .named = type_name},
	JS(UINT, check_place, elements, bytes), JS(REAL, check_place, largest),
	JS_AS("ulp", REAL, check_place, steps), JS_AS("addr", HEX, check_place, first_differs));

struct whole {
	struct session *s;
	struct check_result r;
	const struct state *st;
	struct nodes *nodes;
	const char *ended_by;
	uint64_t fault_seq;
	bool passing_known, unwritten_known;
};

/* A launch or a step of one. */
struct launch {
	const struct whole *of;
	struct check_launch l;
	uint32_t executions;
	const char *looks_like;
};

static void put_command(struct buf *out, const void *launch)
{
	const struct launch *x = launch;
	const struct state_step *step = x->l.step ? find_node(x->of->s, &x->l, x->of->nodes) : NULL;
	const size_t from = out->len;
	uint32_t id;

	if (step)
		graph_print_step(
			out, x->of->nodes->st, &x->of->nodes->launch, x->l.step, step, true);
	else if (!x->l.step)
		err_free(shown_cmd(&(struct shown_names){x->of->s, x->of->st},
			x->of->s->engine.trace.reader, x->l.seq, true, out, &id));
	buf_str(out, out->len == from ? "null" : "");
}

JS_DEFINE(launch_object, "checked_launch", launch,
	JS_IN(UINT, launch, l, seq, step, nodes, differing), JS(UINT, launch, executions),
	JS(TEXT, launch, looks_like), JS_BY("command", launch, of, put_command, "command or null"),
	JS_AS("unwritten_shared", BOOL, launch, l.shared),
	JS_LIST_OF("places", launch, l.places, l.nplaces, place_object));

static void put_launches(struct buf *out, const void *whole)
{
	static const char *const looks[] = {"atomics", "race", "unclear"};
	const struct whole *w = whole;

	buf_byte(out, '[');
	for (size_t i = 0; i < w->r.nlaunches; i++) {
		const struct check_launch *l = &w->r.launches[i];

		js_add(out, &launch_object,
			&(struct launch){w, *l, w->r.runs - 1,
				!l->nplaces  ? "uninitialised"
				: l->clock   ? "clock"
				: is_seen(l) ? looks[l->looks]
					     : "seen_once"});
	}
	buf_byte(out, ']');
}

struct reader {
	struct launch command; /* of it only the seq is known */
	struct unwritten u;
};
JS_DEFINE(reader_object, "unwritten", reader, JS_IN(UINT, reader, u, seq),
	JS_AS("launches", UINT, reader, u.count), JS_IN(UINT, reader, u, bytes),
	JS_AS("addr", HEX, reader, u.read[0].addr), JS_AS("allocation", HEX, reader, u.alloc),
	JS_BY("command", reader, command, put_command, "command or null"));

static void put_unwritten(struct buf *out, const void *whole)
{
	const struct whole *w = whole;

	buf_byte(out, '[');
	for (size_t i = 0; i < w->r.unwritten.n; i++) {
		const struct unwritten *u = &w->r.unwritten.row[i];

		js_add(out, &reader_object, &(struct reader){{.of = w, .l.seq = u->seq}, *u});
	}
	buf_byte(out, ']');
}

JS_DEFINE(whole_object, "check", whole, JS_AS("first_seq", UINT, whole, r.first),
	JS_AS("last_seq", UINT, whole, r.last), JS_IN(UINT, whole, r, checked),
	JS_AS("executions", UINT, whole, r.runs),
	JS_BY("nondeterministic", whole, s, put_launches, "[checked_launch]"),
	JS_NUMBERS_OF("passing", whole, r.passing, r.npassing),
	JS_BY("unwritten", whole, s, put_unwritten, "[unwritten]"), JS(UINT, whole, fault_seq),
	JS_IN(UINT, whole, r, heap), JS_AS("kept_back", UINT, whole, r.late),
	JS_IN(UINT, whole, r, outside), JS(TEXT, whole, ended_by), JS_IN(UINT, whole, r, reached),
	JS_AS("not_checked", UINT, whole, r.missed),
	JS(BOOL, whole, passing_known, unwritten_known));

void check_json(struct session *s, const struct check_result *r, struct buf *out)
{
	struct nodes n = {0};
	struct state *st = NULL;

	err_free(state_at(&st, s->engine.trace.reader, r->last));
	if (!st)
		st = state_new();
	js_add(out, &whole_object,
		&(struct whole){.s = s,
			.r = *r,
			.st = st,
			.nodes = &n,
			.ended_by = r->end == DEVICE_CHECKED_BUDGET ? "budget"
				    : r->end			    ? "interrupt"
								    : NULL,
			.fault_seq = r->fault.told ? r->fault.first : 0,
			.passing_known = !r->passing_unknown,
			.unwritten_known = !r->unwritten_unknown});
	drop_nodes(&n);
	state_free(st);
}
