/* SPDX-License-Identifier: Apache-2.0
 *
 * What tsdb diff --numeric found, as text and as JSON: the origin with both commands, then a line
 * for each of the others.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "numeric/numeric.h"
#include "replay/values.h"
#include "shell/figures/diff-text.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

/* --- JSON --- */

struct place_row {
	struct numeric_place is;
	const char *type;	       /* NULL: not known */
	char value_a[32], value_b[32]; /* of the largest difference; empty: no type */
};
struct finding_row {
	struct numeric_finding is;
	char *command_a, *command_b; /* heap */
	uint64_t param;
	const char *matters; /* NULL: it was not asked for */
	struct place_row *places;
	size_t nplaces;
};
struct numeric_view {
	struct numeric is;
	bool same;
	struct finding_row *rows, *origin; /* origin: one of rows, or NULL */
	struct place_row *start;
	size_t nrows, nstart;
	uint64_t unlisted, not_within;
};

static const char *kind_name(uint64_t kind)
{
	return numeric_kind_name((enum numeric_kind)kind);
}

static const char *proof_name(uint64_t proof)
{
	return numeric_proof_name((enum numeric_proof)proof);
}

JS_DEFINE(place_object, "numeric_place", place_row, JS_AS("addr_a", HEX, place_row, is.addr_a),
	JS_AS("addr_b", HEX, place_row, is.addr_b), JS_AS("size", UINT, place_row, is.size),
	JS_AS("global", TEXT, place_row, is.name), JS_AS("alloc_a", SEQ, place_row, is.alloc_a),
	JS_AS("alloc_b", SEQ, place_row, is.alloc_b), JS_AS("bytes", UINT, place_row, is.bytes),
	JS_AS("first_offset", UINT, place_row, is.first), JS_AS("type", TEXT, place_row, type),
	JS_AS("elements", UINT, place_row, is.elements),
	JS_AS("of_elements", UINT, place_row, is.compared),
	JS_AS("largest", REAL, place_row, is.largest),
	JS_AS("relative", REAL, place_row, is.relative), JS_AS("ulp", REAL, place_row, is.ulp),
	JS_AS("at_offset", UINT, place_row, is.at), JS_AS("value_a", CHARS, place_row, value_a),
	JS_AS("value_b", CHARS, place_row, value_b), JS_AS("nan_a", UINT, place_row, is.nan_a),
	JS_AS("nan_b", UINT, place_row, is.nan_b), JS_AS("spread", REAL, place_row, is.spread),
	JS_AS("spread_ulp", REAL, place_row, is.spread_ulp));
JS_DEFINE(finding_object, "numeric_finding", finding_row,
	{.name = "kind", .type = JS_NAMED, JS_MEMBER(finding_row, is.kind), .named = kind_name},
	JS_AS("seq_a", SEQ, finding_row, is.a), JS_AS("seq_b", SEQ, finding_row, is.b),
	JS_AS("command_a", TEXT, finding_row, command_a),
	JS_AS("command_b", TEXT, finding_row, command_b),
	JS_AS("from_a", SEQ, finding_row, is.from_a), JS_AS("from_b", SEQ, finding_row, is.from_b),
	JS_AS("input_bytes", UINT, finding_row, is.input_bytes),
	JS_AS("argument_offset", ID, finding_row, is.param),
	{.name = "swapped",
		.type = JS_NAMED,
		JS_MEMBER(finding_row, is.proof),
		.named = proof_name},
	JS_AS("swap_failed", TEXT, finding_row, is.why_not),
	JS_AS("same_code", BOOL, finding_row, is.code_same),
	JS_AS("own_largest", REAL, finding_row, is.own),
	JS_AS("own_ulp", REAL, finding_row, is.own_ulp), JS(TEXT, finding_row, matters),
	JS_LIST_OF("memory_list", finding_row, places, nplaces, place_object));
JS_DEFINE(numeric_object, "numeric_diff", numeric_view, JS(BOOL, numeric_view, same),
	JS_IN(BOOL, numeric_view, is, exact, interrupted),
	JS_AS("compared_pairs", UINT, numeric_view, is.pairs),
	JS_AS("same_pairs", UINT, numeric_view, is.same),
	JS_AS("absorbed_pairs", UINT, numeric_view, is.absorbed),
	JS_AS("origins", UINT, numeric_view, is.by_kind[NUMERIC_ORIGIN]),
	JS_AS("other_arguments", UINT, numeric_view, is.by_kind[NUMERIC_ARGUMENTS]),
	JS_AS("other_host_data", UINT, numeric_view, is.by_kind[NUMERIC_HOST]),
	JS_AS("other_structure", UINT, numeric_view, is.by_kind[NUMERIC_STRUCTURE]),
	JS_AS("heirs", UINT, numeric_view, is.by_kind[NUMERIC_HEIR]),
	JS_AS("from_start", UINT, numeric_view, is.by_kind[NUMERIC_START]),
	JS_AS("unsteady", UINT, numeric_view, is.by_kind[NUMERIC_UNSTEADY]),
	JS_AS("unsure", UINT, numeric_view, is.by_kind[NUMERIC_UNSURE]),
	JS_AS("spread_seeds", UINT, numeric_view, is.seeds),
	JS_AS("moved_elements", UINT, numeric_view, is.moved),
	JS_AS("not_within", UINT, numeric_view, not_within),
	JS_AS("pointer_words", UINT, numeric_view, is.pointers),
	JS_AS("pairs_outside", UINT, numeric_view, is.left.outside),
	JS_AS("pairs_kept_back", UINT, numeric_view, is.left.kept_back),
	JS_AS("pairs_unknown", UINT, numeric_view, is.left.unknown),
	JS_AS("areas_unpaired", UINT, numeric_view, is.left.unpaired),
	JS_AS("more_windows_a", UINT, numeric_view, is.left.windows_a),
	JS_AS("more_windows_b", UINT, numeric_view, is.left.windows_b),
	JS_AS("alone_a", UINT, numeric_view, is.left.alone_a),
	JS_AS("alone_b", UINT, numeric_view, is.left.alone_b),
	JS_OF("first_cause", POINTER, numeric_view, origin, finding_object),
	JS_LIST_OF("finding_list", numeric_view, rows, nrows, finding_object),
	JS(UINT, numeric_view, unlisted),
	JS_LIST_OF("start_list", numeric_view, start, nstart, place_object));

/* --- rows --- */

static void put_value(char *dst, size_t n, enum replayer_as as, uint64_t bits)
{
	static const int digits[REPLAYER_AS_END] = {[REPLAYER_AS_F32] = 9,
		[REPLAYER_AS_F64] = 17,
		[REPLAYER_AS_F16] = 5,
		[REPLAYER_AS_BF16] = 4};

	if (digits[as])
		snprintf(dst, n, "%.*g", digits[as], value_of(bits, as));
	else
		snprintf(dst, n, "%" PRId64, value_signed(bits, as));
}

static struct place_row *make_places(const struct numeric_place *p, size_t n)
{
	struct place_row *rows = xcalloc(n + 1, sizeof *rows);

	for (size_t i = 0; i < n; i++) {
		rows[i].is = p[i];
		if (p[i].as == REPLAYER_AS_AUTO || !p[i].elements)
			continue;
		rows[i].type = value_types[p[i].as].name;
		put_value(rows[i].value_a, sizeof rows[i].value_a, p[i].as, p[i].a);
		put_value(rows[i].value_b, sizeof rows[i].value_b, p[i].as, p[i].b);
	}
	return rows;
}

static struct err *command_text(
	struct session *s, const struct diff_trace *t, uint64_t seq, char **ret)
{
	const struct shown_names names = {s, t->st};
	struct buf b = BUF_INIT;
	uint32_t stack;

	TRY(shown_cmd(&names, t->r, seq, false, &b, &stack));
	(void)buf_cstr(&b);
	*ret = buf_steal(&b);
	return NULL;
}

static struct err *make_view(struct session *s, const struct diff_show *d, struct numeric_view *v)
{
	const struct numeric *n = d->numeric;
	const struct numeric_finding *origin = numeric_origin(n);

	*v = (struct numeric_view){
		.is = *n, .same = numeric_same(n), .not_within = numeric_not_within(n)};
	v->nrows = d->top && n->n > d->top ? d->top : n->n;
	v->nstart = d->top && n->nstart > d->top ? d->top : n->nstart;
	for (unsigned k = 0; k < NUMERIC_KINDS; k++)
		v->unlisted += n->by_kind[k];
	v->unlisted -= v->nrows;
	v->start = make_places(n->start, v->nstart);
	v->rows = xcalloc(v->nrows + 2, sizeof *v->rows);
	for (size_t i = 0; i <= v->nrows; i++) {
		const bool last = i == v->nrows;
		struct finding_row *row = &v->rows[i];

		if (last && !origin)
			break;
		row->is = last ? *origin : n->f[i];
		row->matters = numeric_matters_name(row->is.matters);
		row->nplaces = row->is.nplaces;
		row->places = make_places(row->is.places, row->nplaces);
		TRY(command_text(s, &d->a, row->is.a, &row->command_a));
		TRY(command_text(s, &d->b, row->is.b, &row->command_b));
		if (last)
			v->origin = row;
	}
	return NULL;
}

static void view_free(struct numeric_view *v)
{
	for (size_t i = 0; v->rows && i <= v->nrows; i++) {
		free(v->rows[i].command_a);
		free(v->rows[i].command_b);
		free(v->rows[i].places);
	}
	free(v->rows);
	free(v->start);
}

struct err *numeric_json(struct session *s, const struct diff_show *d, char **ret)
{
	struct numeric_view v;
	struct err *e = make_view(s, d, &v);
	struct buf b = BUF_INIT;

	if (!e)
		js_put(&b, &numeric_object, &v);
	view_free(&v);
	if (e)
		return e;
	(void)buf_cstr(&b);
	*ret = buf_steal(&b);
	return NULL;
}

/* --- text --- */

static const char *sentence(enum numeric_kind kind)
{
	static const char *const texts[NUMERIC_KINDS] = {
		"it read the same in both, and wrote other bytes",
		"the program passes other arguments", "the program gives other data",
		"it reads what was written by a command that the other trace does not have",
		"it read what differed already", "it read what differed when the windows began",
		"not deterministic: executed again it differs from itself",
		"it wrote other bytes; whether it read the same is not known"};

	return texts[kind];
}

static void print_place(struct session *s, const struct place_row *p)
{
	const struct numeric_place *is = &p->is;

	if (is->name)
		out_printf(s->out, "    global %s", is->name);
	else
		out_printf(s->out, "    0x%" PRIx64 " in A, 0x%" PRIx64 " in B", is->addr_a,
			is->addr_b);
	out_printf(s->out, " (%" PRIu64 " bytes): %" PRIu64 " bytes differ, the first at +%" PRIu64,
		is->size, is->bytes, is->first);
	if (!p->type) {
		out_str(s->out, "\n");
		return;
	}
	out_printf(s->out, "\n      %" PRIu64 " of %" PRIu64 " %s, at most by %.6g, relative %.3g",
		is->elements, is->compared, p->type, is->largest, is->relative);
	if (value_types[is->as].is_float)
		out_printf(s->out, ", %.0f ULP", is->ulp);
	out_printf(s->out, "; the largest is element %" PRIu64 ": %s in A, %s in B\n",
		is->at / value_types[is->as].bytes, p->value_a, p->value_b);
	if (is->nan_a || is->nan_b)
		out_printf(s->out, "      NaN in A alone: %" PRIu64 ", in B alone: %" PRIu64 "\n",
			is->nan_a, is->nan_b);
}

static void print_swap(struct session *s, const struct numeric_finding *f)
{
	if (f->proof == NUMERIC_STAYS)
		out_str(s->out,
			"  Proved: given A's inputs, B's command still does not give A's result.\n");
	else if (f->proof == NUMERIC_GOES)
		out_printf(s->out, "  %s, B's command gives A's result.\n",
			f->kind == NUMERIC_ARGUMENTS ? "Proved: given A's arguments"
						     : "Given A's inputs");
	else if (f->proof == NUMERIC_CANNOT)
		out_printf(s->out, "  Not proved by a swap of inputs: %s.\n", f->why_not);
	else
		out_str(s->out, "  Not proved by a swap of inputs: that is done with launches.\n");
}

static void print_matters(struct session *s, const struct numeric_finding *f)
{
	static const char *const says[] = {"",
		"Whether it matters is not known: it is two to four times what A's own result moves by when its inputs move by one ULP, has no type of float, or depends on inputs that have none",
		"It does not matter: when its inputs move by one ULP A's own result moves as far, or half as far",
		"It matters: when its inputs move by one ULP A's own result moves less than a quarter as far"};

	if (!f->matters)
		return;
	out_printf(s->out, "  %s.\n", says[f->matters]);
	for (size_t i = 0; i < f->nplaces; i++)
		if (value_types[f->places[i].as].is_float && f->places[i].as != REPLAYER_AS_AUTO)
			out_printf(s->out, "    0x%" PRIx64 ": at most by %.6g, %.0f ULP\n",
				f->places[i].addr_a, f->places[i].spread, f->places[i].spread_ulp);
}

static void print_writers(struct session *s, const struct numeric_finding *f)
{
	if (!f->from_a && !f->from_b)
		return;
	out_str(s->out, "  What differs was written ");
	if (f->from_a)
		out_printf(s->out, "by #%" PRIu64 " in A", f->from_a);
	else
		out_str(s->out, "by nothing in A's window");
	if (f->from_b)
		out_printf(s->out, ", by #%" PRIu64 " in B\n", f->from_b);
	else
		out_str(s->out, ", by nothing in B's window\n");
}

/* Where reads are not known: the writers are launches that changed bytes, and copies are none of
 * them. */
static void print_unexplained(struct session *s, const struct finding_row *r)
{
	const struct numeric_finding *f = &r->is;

	out_printf(s->out,
		"\nWhere the numbers part is not known: each pair that differs may have read what differed before it. The first of them:\n  A: %s\n  B: %s\n",
		r->command_a, r->command_b);
	out_str(s->out, "  Memory that its arguments point to differed before it");
	if (f->from_a)
		out_printf(
			s->out, "; in A #%" PRIu64 " was the last launch to change it", f->from_a);
	if (f->from_b)
		out_printf(
			s->out, "; in B #%" PRIu64 " was the last launch to change it", f->from_b);
	out_str(s->out, ".\n");
	print_swap(s, f);
	out_str(s->out,
		"  The software GPU knows what kernels read: --on soft, if it can run the window.\n");
}

/* alone: it is the only finding. */
static void print_origin(struct session *s, const struct finding_row *r, bool alone)
{
	const struct numeric_finding *f = &r->is;

	out_printf(s->out, "\nWhere the numbers part: %s\n  A: %s\n  B: %s\n", sentence(f->kind),
		r->command_a, r->command_b);
	print_writers(s, f);
	if (f->param != UINT32_MAX)
		out_printf(s->out, "  Arguments differ from byte %u on.\n", f->param);
	else if (f->kind == NUMERIC_ORIGIN && f->code_same)
		out_str(s->out, "  Both launches are of the same code.\n");
	for (size_t i = 0; i < r->nplaces; i++)
		print_place(s, &r->places[i]);
	print_swap(s, f);
	print_matters(s, f);
	if (alone)
		out_str(s->out, "  No pair behind it differs.\n");
}

static void print_rows(struct session *s, const struct numeric_view *v)
{
	out_str(s->out, "\nPairs whose results differ:\n");
	for (size_t i = 0; i < v->nrows; i++) {
		const struct finding_row *r = &v->rows[i];

		out_printf(s->out, "  %s: %s", numeric_kind_name(r->is.kind), r->command_a);
		if (r->is.b != r->is.a)
			out_printf(s->out, ", #%" PRIu64 " in B", r->is.b);
		if (r->is.kind == NUMERIC_HEIR && r->is.from_a)
			out_printf(s->out, ", of #%" PRIu64, r->is.from_a);
		if (r->is.kind == NUMERIC_UNSTEADY)
			out_printf(s->out, ", by %.6g from itself", r->is.own);
		if (r->matters)
			out_printf(s->out, ", matters: %s", r->matters);
		out_str(s->out, "\n");
	}
	if (v->unlisted)
		out_printf(s->out, "and %" PRIu64 " more\n", v->unlisted);
}

static void print_count(struct session *s, uint64_t n, const char *what)
{
	if (n)
		out_printf(s->out, "  %" PRIu64 " %s\n", n, what);
}

static void print_left(struct session *s, const struct numeric *n)
{
	const struct numeric_left *l = &n->left;

	if (!l->outside && !l->kept_back && !l->unknown && !l->alone_a && !l->alone_b &&
		!l->windows_a && !l->windows_b && !n->interrupted)
		return;
	out_str(s->out, "Not compared, or not wholly:\n");
	print_count(s, l->outside, "pairs that do not lie in both windows");
	print_count(s, l->kept_back, "pairs that a wait for a value keeps back");
	print_count(s, l->unknown, "pairs that touch memory which has no counterpart");
	print_count(s, l->windows_a, "further windows of A");
	print_count(s, l->windows_b, "further windows of B");
	print_count(s, l->alone_a, "commands that A alone has");
	print_count(s, l->alone_b, "commands that B alone has");
	if (n->interrupted)
		out_printf(s->out, "  all pairs behind #%" PRIu64 ": it was interrupted\n",
			n->reached);
}

static void print_first_unexplained(struct session *s, const struct numeric_view *v)
{
	const struct numeric_finding *f = numeric_unexplained(&v->is);

	for (size_t i = 0; f && i < v->nrows; i++)
		if (v->rows[i].is.a == f->a)
			print_unexplained(s, &v->rows[i]);
}

static void print_view(struct session *s, const struct numeric_view *v)
{
	const struct numeric *n = &v->is;

	out_printf(s->out,
		"\nNumbers: #%" PRIu64 "-#%" PRIu64 " of A on %s, #%" PRIu64 "-#%" PRIu64
		" of B on %s; %" PRIu64 " pairs executed and compared, %" PRIu64 " the same.\n",
		n->first_a, n->last_a, n->device_a, n->first_b, n->last_b, n->device_b, n->pairs,
		n->same);
	if (!n->exact)
		out_str(s->out,
			"What kernels read is not known on this device: all memory that arguments point to counts as read.\n");
	if (n->seeds)
		out_printf(s->out,
			"A was executed %u times more with %" PRIu64
			" floats of its inputs moved by one ULP each.\n",
			n->seeds, n->moved);
	if (n->pointers)
		out_printf(s->out,
			"%" PRIu64
			" differing words were addresses of the same memory: no difference.\n",
			n->pointers);
	if (n->absorbed)
		out_printf(s->out, "%" PRIu64 " pairs read what differs and gave the same.\n",
			n->absorbed);
	print_left(s, n);
	for (size_t i = 0; i < v->nstart; i++) {
		if (!i)
			out_str(s->out, "Memory that differs when the windows begin:\n");
		print_place(s, &v->start[i]);
	}
	if (v->same)
		out_str(s->out, n->by_kind[NUMERIC_UNSTEADY]
					? "Nothing differs but what is not deterministic.\n"
					: "The numbers are the same.\n");
	if (v->origin)
		print_origin(s, v->origin, v->nrows == 1 && !v->unlisted);
	else
		print_first_unexplained(s, v);
	if (v->nrows)
		print_rows(s, v);
}

struct err *numeric_print(struct session *s, const struct diff_show *d)
{
	struct numeric_view v;
	struct err *e = make_view(s, d, &v);

	if (!e)
		print_view(s, &v);
	view_free(&v);
	return e;
}
