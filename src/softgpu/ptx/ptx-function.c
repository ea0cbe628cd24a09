/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX functions: headers, parameters, prototypes, bodies statement by statement.
 */
#include "softgpu/ptx/ptx-parse.h"

#include <string.h>

struct header {
	struct ptx_formal f[2][256];
	struct ptx_token name[2][256];
	unsigned n[2]; /* 0: results, 1: parameters */
	bool reg;
};

/* There is one, used for every signature in turn: no two are needed at a time. */
static struct header *new_header(struct ptx_parse *p)
{
	if (!p->header)
		p->header = ptx_alloc(p->m, sizeof(*p->header));
	p->header->n[0] = p->header->n[1] = 0;
	p->header->reg = false;
	return p->header;
}

/* ( .param .b32 a, .param .align 4 .b8 b[12] ) */
static void parse_formals(struct ptx_parse *p, struct header *h, unsigned which)
{
	ptx_expect(p, '(');
	while (!ptx_punct(p, ')')) {
		struct ptx_attrs a = {0};
		struct ptx_dims ds;
		struct ptx_formal *f;
		uint64_t n;

		if (h->n[which] == 256)
			ptx_fail(p, p->lx.t.line, "more than 256 parameters");
		f = &h->f[which][h->n[which]];
		memset(f, 0, sizeof(*f));
		if (ptx_accept_dot(p, "reg"))
			h->reg = true;
		else if (!ptx_accept_dot(p, "param"))
			ptx_unexpected(p, ".param");
		ptx_parse_attrs(p, &a);
		h->name[which][h->n[which]].n = 0;
		if (p->lx.t.kind == TK_IDENT)
			h->name[which][h->n[which]] = ptx_expect_ident(p);
		n = ptx_parse_dims(p, &ds);
		f->size = ptx_type_bytes(a.type) * (a.vec ? a.vec : 1) * n;
		f->align = a.align ? a.align : ptx_type_bytes(a.type) * (a.vec ? a.vec : 1);
		if (f->size > 1 << 20)
			ptx_fail(p, p->lx.t.line, "parameter too large");
		h->n[which]++;
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, ')');
}

/* Gives every parameter its offset; returns the bytes of all. */
static size_t place_formals(struct header *h)
{
	size_t at = 0;

	for (unsigned w = 0; w < 2; w++)
		for (unsigned k = 0; k < h->n[w]; k++) {
			at = ptx_align_up(at, h->f[w][k].align);
			h->f[w][k].off = (uint32_t)at;
			at += h->f[w][k].size;
		}
	return at;
}

static struct ptx_formal *copy_formals(struct ptx_parse *p, const struct header *h, unsigned which)
{
	struct ptx_formal *f = ptx_alloc(p->m, (h->n[which] + 1) * sizeof(*f));

	memcpy(f, h->f[which], h->n[which] * sizeof(*f));
	return f;
}

static bool same_signature(const struct ptx_function *fn, const struct header *h)
{
	if (fn->sig.nrets != h->n[0] || fn->sig.nparams != h->n[1])
		return false;
	for (unsigned w = 0; w < 2; w++)
		for (unsigned k = 0; k < h->n[w]; k++) {
			const struct ptx_formal *f = w ? &fn->sig.params[k] : &fn->sig.rets[k];
			if (f->size != h->f[w][k].size || f->off != h->f[w][k].off)
				return false;
		}
	return true;
}

static void parse_prototype(struct ptx_parse *p, struct ptx_sym *y)
{
	struct header *h = new_header(p);

	if (ptx_punct(p, '('))
		parse_formals(p, h, 0);
	ptx_expect_ident(p); /* _ */
	if (ptx_punct(p, '('))
		parse_formals(p, h, 1);
	if (h->reg)
		ptx_fail(p, p->lx.t.line, "register parameters are not implemented");
	while (p->lx.t.kind == TK_DOT) /* .noreturn */
		ptx_next(p);
	ptx_expect(p, ';');
	place_formals(h);
	y->kind = SY_PROTO;
	y->proto = ptx_alloc(p->m, sizeof(*y->proto));
	y->proto->nrets = h->n[0];
	y->proto->nparams = h->n[1];
	y->proto->rets = copy_formals(p, h, 0);
	y->proto->params = copy_formals(p, h, 1);
}

static void parse_targets(struct ptx_parse *p, struct ptx_sym *y)
{
	unsigned cap = 0;

	y->table = y->table ? y->table : ptx_alloc(p->m, sizeof(*y->table));
	struct ptx_token names[256];
	do {
		if (cap == 256)
			ptx_fail(p, p->lx.t.line, "more than 256 branch targets");
		names[cap++] = ptx_expect_ident(p);
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
	y->table->pc = ptx_alloc(p->m, cap * sizeof(uint32_t));
	y->table->n = cap;
	for (unsigned k = 0; k < cap; k++)
		ptx_fix(p, UINT32_MAX, &y->table->pc[k], ptx_copy_name(p, names[k].s, names[k].n),
			names[k].n, names[k].line);
}

static void note_loc(struct ptx_parse *p, uint32_t file, uint32_t line)
{
	struct ptx_function *fn = p->fn;

	if (!fn)
		return;
	if (!fn->nlocs || fn->locs[fn->nlocs - 1].pc != fn->ninsns) {
		fn->locs = ptx_grow(p->m, fn->locs, fn->nlocs, &fn->caplocs, sizeof(*fn->locs));
		fn->nlocs++;
	}
	fn->locs[fn->nlocs - 1] = (struct ptx_loc){fn->ninsns, file, line};
}

/* .calltargets f, g, ...;  All have one signature, which is what a call needs; which of them it is,
 * the call finds out. */
static void parse_call_targets(struct ptx_parse *p, struct ptx_sym *y)
{
	y->kind = SY_PROTO;
	y->proto = NULL;
	do {
		struct ptx_token t = ptx_expect_ident(p);
		struct ptx_sym *f = ptx_lookup(p, t.s, t.n);
		if (!f || f->kind != SY_FUNC || f->fn->is_entry || f->fn->reg_params)
			ptx_fail(p, t.line, "'%.*s' is not a function that can be called",
				(int)(t.n < 60 ? t.n : 60), t.s);
		if (!y->proto)
			y->proto = &f->fn->sig;
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
}

/* .loc 1 12 5 [, function_name $L+4, inlined_at 1 3 4] */
void ptx_parse_loc(struct ptx_parse *p)
{
	uint64_t at[3];

	for (unsigned k = 0; k < 3; k++)
		at[k] = ptx_expect_int(p);
	note_loc(p, (uint32_t)at[0], (uint32_t)at[1]);
	while (ptx_accept(p, ',')) {
		struct ptx_token t = ptx_expect_ident(p);
		if (ptx_tok_is(&t, TK_IDENT, "function_name")) {
			ptx_expect_ident(p);
			if (ptx_accept(p, '+'))
				ptx_expect_int(p);
		} else {
			for (unsigned k = 0; k < 3; k++)
				ptx_expect_int(p);
		}
	}
}

void ptx_skip_to(struct ptx_parse *p, char c)
{
	while (!ptx_punct(p, c) && p->lx.t.kind != TK_EOF)
		ptx_next(p);
	ptx_expect(p, c);
}

static void define_label(struct ptx_parse *p, struct ptx_token t)
{
	struct ptx_sym *y = ptx_lookup(p, t.s, t.n);

	/* a brx.idx before its .branchtargets has made the name already */
	if (!(y && y->kind == SY_LABEL && y->depth == p->depth && y->table && !y->table->n &&
		    ptx_is_dot(p, "branchtargets")))
		y = ptx_declare(p, t.s, t.n, SY_LABEL);
	y->pc = p->fn->ninsns;
	if (ptx_accept_dot(p, "branchtargets"))
		parse_targets(p, y);
	else if (ptx_accept_dot(p, "callprototype"))
		parse_prototype(p, y);
	else if (ptx_accept_dot(p, "calltargets"))
		parse_call_targets(p, y);
}

static void parse_statement(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;

	if (t.kind == TK_DOT) {
		struct ptx_attrs a = {0};
		ptx_next(p);
		if (ptx_tok_is(&t, TK_DOT, "reg"))
			ptx_parse_reg(p);
		else if (ptx_tok_is(&t, TK_DOT, "local") || ptx_tok_is(&t, TK_DOT, "param"))
			ptx_parse_variable(p, SP_LOCAL, a);
		else if (ptx_tok_is(&t, TK_DOT, "shared"))
			ptx_parse_variable(p, SP_SHARED, a);
		else if (ptx_tok_is(&t, TK_DOT, "global"))
			ptx_parse_variable(p, SP_GLOBAL, a);
		else if (ptx_tok_is(&t, TK_DOT, "const"))
			ptx_parse_variable(p, SP_CONST, a);
		else if (ptx_tok_is(&t, TK_DOT, "loc"))
			ptx_parse_loc(p);
		else if (ptx_tok_is(&t, TK_DOT, "pragma"))
			ptx_skip_to(p, ';');
		else if (ptx_tok_is(&t, TK_DOT, "extern") && ptx_accept_dot(p, "shared")) {
			a.is_extern = true;
			ptx_parse_variable(p, SP_SHARED, a);
		} else
			ptx_fail(p, t.line, "directive .%.*s is not known here",
				(int)(t.n < 60 ? t.n : 60), t.s);
		return;
	}
	if (t.kind == TK_IDENT) {
		struct ptx_lex save = p->lx;
		ptx_next(p);
		if (ptx_accept(p, ':')) {
			define_label(p, t);
			return;
		}
		p->lx = save;
	}
	ptx_decode(p);
}

static void parse_body(struct ptx_parse *p)
{
	unsigned outer = p->depth;

	ptx_expect(p, '{');
	for (;;) {
		if (ptx_accept(p, '{')) {
			ptx_enter_scope(p);
		} else if (ptx_punct(p, '}')) {
			if (p->depth == outer)
				break;
			ptx_leave_scope(p);
			ptx_next(p);
		} else if (p->lx.t.kind == TK_EOF) {
			ptx_fail(p, p->lx.t.line, "the text ends inside function %s", p->fn->name);
		} else if (!ptx_accept(p, ';')) {
			parse_statement(p);
		}
	}
}

static void parse_tuning(struct ptx_parse *p, struct ptx_function *fn)
{
	while (p->lx.t.kind == TK_DOT) {
		struct ptx_token t = p->lx.t;
		uint64_t v[3] = {1, 1, 1};
		ptx_next(p);
		if (ptx_tok_is(&t, TK_DOT, "pragma")) {
			ptx_skip_to(p, ';');
			continue;
		}
		for (unsigned k = 0; k < 3 && p->lx.t.kind == TK_INT; k++) {
			v[k] = ptx_expect_int(p);
			if (v[k] > 1 << 20)
				ptx_fail(p, t.line, "%llu in .%.*s", (unsigned long long)v[k],
					(int)t.n, t.s);
			if (!ptx_accept(p, ','))
				break;
		}
		bool req = ptx_tok_is(&t, TK_DOT, "reqntid");
		if (req || ptx_tok_is(&t, TK_DOT, "maxntid")) {
			uint64_t n = v[0] * v[1] * v[2];
			fn->max_threads = n && n < 1024 ? (unsigned)n : 1024;
			for (unsigned k = 0; req && k < 3; k++)
				fn->req[k] = (unsigned)v[k];
		} else if (ptx_tok_is(&t, TK_DOT, "reqnctapercluster")) {
			if (!v[0] || !v[1] || !v[2] || v[0] * v[1] * v[2] > 16)
				ptx_fail(p, t.line, "a cluster of this size");
			for (unsigned k = 0; k < 3; k++)
				fn->cluster[k] = (unsigned)v[k];
		} else if (ptx_tok_is(&t, TK_DOT, "explicitcluster")) {
			fn->explicit_cluster = true;
		} else if (!ptx_tok_is(&t, TK_DOT, "maxclusterrank") &&
			   !ptx_tok_is(&t, TK_DOT, "blocksareclusters") &&
			   !ptx_tok_is(&t, TK_DOT, "minnctapersm") &&
			   !ptx_tok_is(&t, TK_DOT, "maxnctapersm") &&
			   !ptx_tok_is(&t, TK_DOT, "maxnreg") &&
			   !ptx_tok_is(&t, TK_DOT, "noreturn")) {
			ptx_fail(p, t.line, "directive .%.*s is not implemented",
				(int)(t.n < 60 ? t.n : 60), t.s);
		}
	}
}

static void declare_formals(struct ptx_parse *p, const struct header *h)
{
	for (unsigned w = 0; w < 2; w++)
		for (unsigned k = 0; k < h->n[w]; k++) {
			const struct ptx_token *t = &h->name[w][k];
			struct ptx_sym *y;
			if (!t->n)
				continue;
			y = ptx_declare(p, t->s, t->n, SY_VAR);
			y->var = ptx_alloc(p->m, sizeof(*y->var));
			y->var->name = y->name;
			y->var->space = p->fn->is_entry ? SP_PARAM : SP_LOCAL;
			y->var->size = h->f[w][k].size;
			y->var->align = h->f[w][k].align;
			y->var->addr = h->f[w][k].off;
			ptx_note_variable(p, y->var);
		}
}

static void fill_params(struct ptx_parse *p, struct ptx_function *fn)
{
	fn->params = ptx_alloc(p->m, (fn->sig.nparams + 1) * sizeof(*fn->params));
	for (unsigned k = 0; k < fn->sig.nparams; k++) {
		const struct ptx_formal *f = &fn->sig.params[k];
		fn->params[k] = (struct ptx_param){f->off, f->size, f->align};
	}
}

static struct ptx_function *new_function(
	struct ptx_parse *p, struct ptx_token name, const struct header *h, bool is_entry)
{
	struct ptx_sym *y = ptx_declare(p, name.s, name.n, SY_FUNC);
	struct ptx_function *fn = y->fn = ptx_alloc(p->m, sizeof(*fn));
	struct ptx_module *m = p->m;

	fn->m = m;
	fn->name = y->name;
	fn->is_entry = is_entry;
	fn->index = m->nfuncs;
	fn->max_threads = 1024;
	fn->alloca_reg = NO_REG;
	fn->sig.nrets = h->n[0];
	fn->sig.nparams = h->n[1];
	fn->sig.rets = copy_formals(p, h, 0);
	fn->sig.params = copy_formals(p, h, 1);
	fn->reg_params = h->reg;
	if (!strcmp(fn->name, "vprintf") && h->n[0] == 1 && h->n[1] == 2)
		fn->builtin = PB_VPRINTF;
	else if (!strcmp(fn->name, "__assertfail") && h->n[1] == 5)
		fn->builtin = PB_ASSERTFAIL;
	else if (!strcmp(fn->name, "malloc") && h->n[0] == 1 && h->n[1] == 1 &&
		 h->f[0][0].size == 8 && h->f[1][0].size == 8)
		fn->builtin = PB_MALLOC;
	else if (!strcmp(fn->name, "free") && !h->n[0] && h->n[1] == 1 && h->f[1][0].size == 8)
		fn->builtin = PB_FREE;
	else
		fn->builtin = PB_REFUSED;
	m->funcs = ptx_grow(m, m->funcs, m->nfuncs, &m->capfuncs, sizeof(*m->funcs));
	m->funcs[m->nfuncs++] = fn;
	return fn;
}

/* The body, from behind its brace on, with the return that its end is. */
static void parse_braced(struct ptx_parse *p, struct ptx_function *fn, struct header *h)
{
	struct ptx_insn *last;

	ptx_enter_scope(p);
	declare_formals(p, h);
	parse_body(p);
	ptx_leave_scope(p);
	last = ptx_emit(p);
	last->flags = F_CTRL;
	last->arg = C_RET;
	last->name = "ret";
	last->line = p->lx.t.line;
	p->fn = NULL;
	ptx_next(p); /* the closing brace */
	fn->local_bytes = ptx_align_up(fn->local_bytes, 16);
}

void ptx_parse_function(struct ptx_parse *p, bool is_entry, bool is_extern)
{
	static const struct ptx_token none;
	struct header *h = new_header(p);
	struct ptx_function *fn = NULL;
	struct ptx_token name = none;
	struct ptx_sym *y;
	size_t bytes;

	if (!is_entry) {
		ptx_accept_dot(p, "noreturn");
		if (ptx_punct(p, '('))
			parse_formals(p, h, 0);
	}
	name = ptx_expect_ident(p);
	if (ptx_punct(p, '('))
		parse_formals(p, h, 1);
	bytes = place_formals(h);
	y = ptx_lookup(p, name.s, name.n);
	if (y && y->kind == SY_FUNC) {
		fn = y->fn;
		if (fn->is_entry != is_entry || !same_signature(fn, h))
			ptx_fail(p, name.line, "function %s is declared differently before",
				fn->name);
	} else {
		fn = new_function(p, name, h, is_entry);
	}
	parse_tuning(p, fn);
	if (is_entry && bytes > 32768)
		ptx_fail(p, name.line, "kernel %s has more than 32764 bytes of parameters",
			fn->name);
	if (ptx_accept(p, ';') || !ptx_punct(p, '{'))
		return;
	if (fn->has_body)
		ptx_fail(p, name.line, "function %s is defined twice", fn->name);
	fn->has_body = true;
	fn->builtin = PB_NONE;
	p->fn = fn;
	p->pred_next = p->pred_end = 0;
	if (is_entry) {
		fn->param_bytes = bytes;
		fill_params(p, fn);
		p->m->kernels = ptx_grow(p->m, p->m->kernels, p->m->nkernels, &p->m->capkernels,
			sizeof(*p->m->kernels));
		p->m->kernels[p->m->nkernels++] = fn;
	} else {
		fn->local_bytes = bytes;
	}
	parse_braced(p, fn, h);
}
