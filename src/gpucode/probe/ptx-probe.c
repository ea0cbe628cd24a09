/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts code for probes into PTX, see ptx-probe.h. A line's place is before the first statement of a
 * run of statements that come from it, behind the labels that lead there: what jumps there counts,
 * too. Between the arguments of a call and the call nothing may be put: then it is put before the
 * block that the call is in.
 */
#include "gpucode/ptx-probe.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "gpucode/probe/ptx-emit.h"
#include "gpucode/probe/ptx-log.h"
#include "gpucode/probe/ptx-scan.h"

/* Code that is put in somewhere. */
struct patch {
	const char *at;
	unsigned order; /* in which they were made */
	struct buf code;
};
struct patching {
	const struct ptx_scan *scan;
	const struct ptx_probe_table *table;
	struct patch *v;
	unsigned n, cap;
};

/* --- places --- */

/* name is the path, or the end of it from a slash on. */
static bool file_is(struct ptx_text path, const char *name)
{
	const size_t a = (size_t)(path.end - path.p), b = strlen(name);

	return b && a >= b && !memcmp(path.p + a - b, name, b) &&
	       (a == b || path.p[a - b - 1] == '/');
}

static bool counts(const struct ptx_probe *p, const struct ptx_function_at *f)
{
	char *name;
	bool yes;

	if (!f->entry)
		return true;
	name = strndup(f->name.p, (size_t)(f->name.end - f->name.p));
	BUG_ON(!name);
	yes = p->is_kernel(p->arg, name);
	free(name);
	return yes;
}

/* The file of the first line of the first kernel that counts. Kernels that begin in others are
 * refused: each would have a line of its own. */
static struct err *own_file(
	const struct ptx_scan *s, const struct ptx_probe *p, struct ptx_text *ret)
{
	bool found = false;

	*ret = (struct ptx_text){s->text.p, s->text.p};
	for (unsigned i = 0; i < s->nfunctions; i++) {
		const struct ptx_function_at *f = &s->functions[i];
		struct ptx_text file;
		unsigned k = f->first;

		while (k < f->end && !s->statements[k].source)
			k++;
		if (!f->entry || !counts(p, f) || k == f->end)
			continue;
		file = ptx_scan_file(s, s->statements[k].file);
		if (found && file.p != ret->p)
			return err_cure(
				err_new(ERR_UNSUPPORTED,
					"kernels that the probe is in begin in different files"),
				"Say the file: KERNEL:FILE:LINE");
		*ret = file;
		found = true;
	}
	return NULL;
}

static bool is_file(
	const struct ptx_scan *s, uint32_t number, const char *name, struct ptx_text own)
{
	const struct ptx_text path = ptx_scan_file(s, number);

	if (name)
		return file_is(path, name);
	return path.p != path.end && path.end - path.p == own.end - own.p &&
	       !memcmp(path.p, own.p, (size_t)(own.end - own.p));
}

/* The first line from the probe's on that some statement comes from; 0: none. */
static unsigned find_line(const struct ptx_scan *s, const struct ptx_probe *p, struct ptx_text own)
{
	unsigned best = 0;

	for (unsigned i = 0; i < s->nstatements; i++) {
		const struct ptx_statement *t = &s->statements[i];

		if (t->marked && t->source >= p->line && (!best || t->source < best) &&
			is_file(s, t->file, p->file, own))
			best = t->source;
	}
	return best;
}

/* The block with a call that the statement is in, the outermost one; 0: in none. */
static unsigned call_block(const struct ptx_scan *s, const struct ptx_statement *t)
{
	const unsigned body = s->functions[t->function].scope;
	unsigned found = 0;

	for (unsigned k = t->scope; k && k != body; k = s->scopes[k].parent)
		if (s->scopes[k].call && s->scopes[k].parent != body)
			found = k;
	return found;
}

/* --- code --- */

static struct err *cannot(const struct ptx_scan *s, const struct ptx_statement *t, const char *why)
{
	const struct ptx_text f = s->functions[t->function].name;

	return err_new(
		ERR_UNSUPPORTED, "%.*s, line %u: %s", (int)(f.end - f.p), f.p, t->source, why);
}

#define CELL(probe, member)                                                                        \
	((uint64_t)(probe) * sizeof(struct ptx_probe_cell) +                                       \
		offsetof(struct ptx_probe_cell, member))

/* Ands predicates; 0 is true. Returns 1 + a predicate, or 0. */
static unsigned both(struct ptx_emit *m, unsigned a, unsigned b)
{
	if (!a || !b)
		return a ? a : b;
	ptx_emit_line(m, "and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", m->preds, a - 1, b - 1);
	return ++m->preds;
}

static unsigned not(struct ptx_emit * m, unsigned a)
{
	ptx_emit_line(m, "not.pred %%tsdb_p%u, %%tsdb_p%u", m->preds, a - 1);
	return ++m->preds;
}

static void guard(struct ptx_emit *m, unsigned p, const char *rest, uint64_t at)
{
	if (p)
		ptx_emit_line(m, "@%%tsdb_p%u %s [%%tsdb_area+%" PRIu64 "], 1", p - 1, rest, at);
	else
		ptx_emit_line(m, "%s [%%tsdb_area+%" PRIu64 "], 1", rest, at);
}

/* Adds to the bucket of v in lanes of p. */
static void put_bucket(struct ptx_emit *m, unsigned probe, const struct ptx_value *v, unsigned p)
{
	const unsigned a = m->preds, i = m->ints;

	m->preds += 3;
	m->ints += 2;
	if (v->is_float) {
		ptx_emit_line(m, "cvt.rzi.u64.f64 %%tsdb_i%u, %%tsdb_f%u", i, v->reg);
		ptx_emit_line(m, "clz.b64 %%tsdb_w, %%tsdb_i%u", i);
		ptx_emit_line(
			m, "setp.ge.f64 %%tsdb_p%u, %%tsdb_f%u, 0d3FF0000000000000", a, v->reg);
		ptx_emit_line(
			m, "setp.ge.f64 %%tsdb_p%u, %%tsdb_f%u, 0d43DFEB3DD0676600", a + 1, v->reg);
		ptx_emit_line(
			m, "setp.lt.f64 %%tsdb_p%u, %%tsdb_f%u, 0d0000000000000000", a + 2, v->reg);
		ptx_emit_line(m, "sub.u32 %%tsdb_w, 65, %%tsdb_w");
		ptx_emit_line(m, "selp.b32 %%tsdb_w, %%tsdb_w, 1, %%tsdb_p%u", a);
		ptx_emit_line(m, "selp.b32 %%tsdb_w, 65, %%tsdb_w, %%tsdb_p%u", a + 1);
		ptx_emit_line(m, "selp.b32 %%tsdb_w, 0, %%tsdb_w, %%tsdb_p%u", a + 2);
	} else {
		ptx_emit_line(m, "clz.b64 %%tsdb_w, %%tsdb_i%u", v->reg); /* 64 of 0: bucket 1 */
		ptx_emit_line(m, "setp.lt.s64 %%tsdb_p%u, %%tsdb_i%u, 0", a, v->reg);
		ptx_emit_line(m, "sub.u32 %%tsdb_w, 65, %%tsdb_w");
		ptx_emit_line(m, "selp.b32 %%tsdb_w, 0, %%tsdb_w, %%tsdb_p%u", a);
	}
	ptx_emit_line(m, "mul.wide.u32 %%tsdb_i%u, %%tsdb_w, 8", i + 1);
	ptx_emit_line(m, "add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_area", i + 1, i + 1);
	if (p)
		ptx_emit_line(m, "@%%tsdb_p%u red.global.add.u64 [%%tsdb_i%u+%" PRIu64 "], 1",
			p - 1, i + 1, CELL(probe, bucket));
	else
		ptx_emit_line(m, "red.global.add.u64 [%%tsdb_i%u+%" PRIu64 "], 1", i + 1,
			CELL(probe, bucket));
}

/* Appends the value to the probe's log in lanes of p. */
static void put_log(struct ptx_emit *m, unsigned probe, const struct ptx_probe *is,
	const struct ptx_value *v, unsigned p)
{
	const unsigned i = m->ints++, room = m->preds++;
	unsigned q;

	ptx_emit_line(m, "mov.b64 %%tsdb_i%u, -1", i);
	if (p)
		ptx_emit_line(m,
			"@%%tsdb_p%u atom.global.add.u64 %%tsdb_i%u, [%%tsdb_area+%" PRIu64 "], 1",
			p - 1, i, CELL(probe, logged));
	else
		ptx_emit_line(m, "atom.global.add.u64 %%tsdb_i%u, [%%tsdb_area+%" PRIu64 "], 1", i,
			CELL(probe, logged));
	ptx_emit_line(m, "setp.lt.u64 %%tsdb_p%u, %%tsdb_i%u, %" PRIu64, room, i, is->log_room);
	q = both(m, p, room + 1);
	ptx_emit_line(m, "shl.b64 %%tsdb_i%u, %%tsdb_i%u, 3", i, i);
	ptx_emit_line(m, "add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_area", i, i);
	ptx_emit_line(m, "@%%tsdb_p%u st.global.%s [%%tsdb_i%u+%" PRIu64 "], %s%u", q - 1,
		v->is_float ? "f64" : "u64", i, is->log_at, v->is_float ? "%tsdb_f" : "%tsdb_i",
		v->reg);
}

/* Lanes of p are counted by v. */
static void put_counts(struct ptx_emit *m, unsigned probe, const struct ptx_probe *is,
	const struct ptx_value *v, unsigned p)
{
	guard(m, p, "red.global.add.u64", CELL(probe, count));
	if (is->kind == PTX_PROBE_HIST)
		put_bucket(m, probe, v, p);
	else if (is->kind == PTX_PROBE_BY)
		put_log(m, probe, is, v, p);
}

/* NaN is no value. */
static void without_nan(struct ptx_emit *m, struct ptx_value *v)
{
	const unsigned nan = m->preds++;

	if (!v->is_float)
		return;
	ptx_emit_line(m, "setp.nan.f64 %%tsdb_p%u, %%tsdb_f%u, %%tsdb_f%u", nan, v->reg, v->reg);
	if (!v->bad) {
		v->bad = nan + 1;
		return;
	}
	ptx_emit_line(m, "or.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", m->preds, nan, v->bad - 1);
	v->bad = ++m->preds;
}

/* The code of one place. on: 1 + a predicate of the lanes that are there, or 0. */
static bool put_code(struct ptx_emit *m, unsigned probe, struct ptx_probe *is, const char *expr,
	const char *condition, unsigned on)
{
	struct ptx_value v = {0}, c = {0};
	unsigned yes = on, bad = 0;

	if (*condition) {
		if (!ptx_emit_expr(m, condition, &c))
			return false;
		yes = both(m, on, ptx_emit_truth(m, &c) + 1);
		if (c.bad) {
			bad = both(m, on, c.bad);
			guard(m, bad, "red.global.add.u64", CELL(probe, unknown));
			yes = both(m, yes, not(m, c.bad));
		}
	}
	if (is->kind == PTX_PROBE_PRINT) {
		guard(m, yes, "red.global.add.u64", CELL(probe, count));
		return ptx_log_put(m, expr,
			&(struct ptx_log){CELL(is->log_of, logged), is->log_at, is->log_room,
				is->nvalues, probe},
			yes);
	}
	if (is->kind != PTX_PROBE_COUNT) {
		if (!ptx_emit_expr(m, expr, &v))
			return false;
		is->is_float |= v.is_float;
		without_nan(m, &v);
		if (v.bad) {
			guard(m, both(m, yes, v.bad), "red.global.add.u64", CELL(probe, unknown));
			yes = both(m, yes, not(m, v.bad));
		}
	}
	put_counts(m, probe, is, &v, yes);
	return true;
}

static void put_block(struct buf *out, const struct ptx_emit *m)
{
	buf_str(out, "{\n\t.reg .b64 %tsdb_area;\n\t.reg .b32 %tsdb_w;\n\t.reg .f32 %tsdb_g;\n");
	buf_printf(out,
		"\t.reg .b64 %%tsdb_i<%u>;\n\t.reg .f64 %%tsdb_f<%u>;\n\t.reg .pred %%tsdb_p<%u>;\n",
		m->ints + 1, m->floats + 1, m->preds + 1);
	if (m->words)
		buf_printf(out, "\t.reg .b32 %%tsdb_u<%u>;\n", m->words);
	buf_str(out, "\tld.global.u64 %tsdb_area, [" PTX_PROBE_AREA "];\n");
	buf_add(out, m->code.data, m->code.len);
	buf_str(out, "}\n");
}

static struct err *add_patch(struct patching *x, unsigned probe, struct ptx_probe *p, unsigned i)
{
	const struct ptx_scan *s = x->scan;
	const struct ptx_statement *t = &s->statements[i];
	const unsigned block = call_block(s, t);
	struct ptx_emit m = {.scan = s,
		.scope = block ? s->scopes[block].parent : t->scope,
		.begin = s->statements[s->functions[t->function].first].at,
		.at = block ? s->scopes[block].begin : t->at,
		.entry = s->functions[t->function].entry,
		.ranges_at = x->table->at,
		.ranges = x->table->rows};
	const char *expr = "", *condition = "";
	unsigned on = 0;
	struct err *e = NULL;

	if (block && t->at > s->scopes[block].call)
		return cannot(s, t, "it begins between a call and what the call returns");
	if (!p->texts(p->arg, t->line, &expr, &condition))
		return cannot(s, t, "a variable of the source is in no register or memory there");
	if (!m.entry) {
		const unsigned reg = m.ints++;

		ptx_emit_line(&m, "ld.global.u64 %%tsdb_i%u, [%%tsdb_area+%" PRIu64 "]", reg,
			CELL(probe, on));
		ptx_emit_line(&m, "setp.ne.s64 %%tsdb_p%u, %%tsdb_i%u, 0", m.preds, reg);
		on = ++m.preds;
		p->in_function = true;
	}
	if (!put_code(&m, probe, p, expr, condition, on)) {
		e = cannot(s, t, m.why);
	} else {
		MAKE_ROOM(x->v, x->n, x->cap);
		x->v[x->n] = (struct patch){.at = m.at, .order = x->n};
		put_block(&x->v[x->n++].code, &m);
		p->places++;
	}
	buf_free(&m.code);
	return e;
}

static struct err *add_patches(struct patching *x, unsigned probe, struct ptx_probe *p)
{
	const struct ptx_scan *s = x->scan;
	struct ptx_text own = {s->text.p, s->text.p};
	unsigned line;

	if (!p->file)
		TRY(own_file(s, p, &own));
	line = find_line(s, p, own);
	for (unsigned i = 0; line && i < s->nstatements; i++) {
		const struct ptx_statement *t = &s->statements[i];

		if (t->source == line && ptx_scan_begins(s, i) &&
			is_file(s, t->file, p->file, own) && counts(p, &s->functions[t->function]))
			TRY(add_patch(x, probe, p, i));
	}
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
			      : (x->order > y->order) - (x->order < y->order);
}

static void write(struct buf *out, struct patching *x)
{
	const struct ptx_scan *s = x->scan;
	const char *from = s->head;

	buf_add(out, s->text.p, (size_t)(s->head - s->text.p));
	buf_str(out, "\n.visible .global .align 8 .u64 " PTX_PROBE_AREA ";\n");
	qsort(x->v, x->n, sizeof *x->v, by_place);
	for (unsigned i = 0; i < x->n; i++) {
		buf_add(out, from, (size_t)(x->v[i].at - from));
		buf_add(out, x->v[i].code.data, x->v[i].code.len);
		from = x->v[i].at;
	}
	buf_add(out, from, (size_t)(s->text.end - from));
	buf_byte(out, 0);
}

struct err *ptx_probe(struct buf *out, const char *text, size_t n, struct ptx_probe *probes,
	unsigned nprobes, const struct ptx_probe_table *table)
{
	struct ptx_scan s;
	struct patching x = {.scan = &s, .table = table};
	struct err *e = ptx_scan(&s, text, n);

	if (!e && !s.head)
		e = err_new(ERR_UNSUPPORTED, "the PTX does not say that addresses have 64 bits");
	for (unsigned k = 0; !e && k < nprobes; k++)
		if (probes[k].kind == PTX_PROBE_PRINT)
			e = ptx_log_check(&s);
	if (!e && (ptx_has(s.text, PTX_PROBE_AREA) || ptx_has(s.text, "%tsdb_")))
		e = err_new(ERR_UNSUPPORTED, "the PTX has names of tsdb's own");
	for (unsigned k = 0; !e && k < nprobes; k++) {
		e = add_patches(&x, k, &probes[k]);
		probes[k].refused = e != NULL;
	}
	if (!e && x.n)
		write(out, &x);
	for (unsigned i = 0; i < x.n; i++)
		buf_free(&x.v[i].code);
	free(x.v);
	ptx_scan_free(&s);
	return e;
}
