/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX parser: tokens, and the directives of a module. Functions are ptx-function.c's, variables
 * ptx-variable.c's, names ptx-scope.c's, instructions ptx-decode.c's. Any error ends the load by
 * longjmp; everything allocated belongs to the module.
 */
#include "softgpu/ptx/ptx-parse.h"

#include "softgpu/jit/jit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t ptx_type_bits[T_COUNT] = {
#define X(n, b) [T_##n] = b,
	PTX_TYPES(X)
#undef X
};
const char *const ptx_type_name[T_COUNT] = {
#define X(n, b) [T_##n] = #n,
	PTX_TYPES(X)
#undef X
};

/* --- memory and errors --- */
void *ptx_alloc(struct ptx_module *m, size_t n)
{
	void *p = NULL;

	if (n > m->limit || m->total + n + 16 > m->limit)
		longjmp(*m->nomem, 1);
	if (m->nblocks == m->capblocks) {
		size_t cap = m->capblocks ? 2 * m->capblocks : 256;
		void **b = realloc(m->blocks, cap * sizeof(*b));
		if (!b)
			longjmp(*m->nomem, 1);
		m->blocks = b;
		m->capblocks = cap;
	}
	p = calloc(1, n ? n : 1);
	if (!p)
		longjmp(*m->nomem, 1);
	m->blocks[m->nblocks++] = p;
	m->total += n + 16;
	return p;
}

void *ptx_grow(struct ptx_module *m, void *p, unsigned n, unsigned *cap, size_t elem)
{
	void *q;

	if (n < *cap)
		return p;
	*cap = *cap ? 2 * *cap : 8;
	q = ptx_alloc(m, *cap * elem);
	if (n)
		memcpy(q, p, n * elem);
	return q;
}

void ptx_fail(struct ptx_parse *p, unsigned line, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (p->log_size) {
		n = snprintf(p->log, p->log_size, "line %u: ", line);
		if (n > 0 && (size_t)n < p->log_size) {
			va_start(ap, fmt);
			vsnprintf(p->log + n, p->log_size - (size_t)n, fmt, ap);
			va_end(ap);
		}
	}
	longjmp(p->fail, 1);
}

#define TOKEN(p) (int)((p)->lx.t.n < 60 ? (p)->lx.t.n : 60), (p)->lx.t.s
void ptx_unexpected(struct ptx_parse *p, const char *wanted)
{
	if (p->lx.t.kind == TK_EOF)
		ptx_fail(p, p->lx.t.line, "the text ends where %s should be", wanted);
	ptx_fail(p, p->lx.t.line, "'%s%.*s' where %s should be", p->lx.t.kind == TK_DOT ? "." : "",
		TOKEN(p), wanted);
}

/* --- tokens --- */
void ptx_next(struct ptx_parse *p)
{
	ptx_lex_next(&p->lx);
	if (p->lx.t.kind == TK_BAD)
		ptx_fail(p, p->lx.t.line, "not a PTX token: '%.*s'", TOKEN(p));
}

bool ptx_punct(const struct ptx_parse *p, char c)
{
	return p->lx.t.kind == TK_PUNCT && p->lx.t.punct == c;
}

bool ptx_accept(struct ptx_parse *p, char c)
{
	if (!ptx_punct(p, c))
		return false;
	ptx_next(p);
	return true;
}

void ptx_expect(struct ptx_parse *p, char c)
{
	char s[] = "'?'";

	s[1] = c;
	if (!ptx_accept(p, c))
		ptx_unexpected(p, s);
}

bool ptx_is_dot(const struct ptx_parse *p, const char *s)
{
	return ptx_tok_is(&p->lx.t, TK_DOT, s);
}

bool ptx_accept_dot(struct ptx_parse *p, const char *s)
{
	if (!ptx_is_dot(p, s))
		return false;
	ptx_next(p);
	return true;
}

uint64_t ptx_expect_int(struct ptx_parse *p)
{
	uint64_t v = p->lx.t.value;

	if (p->lx.t.kind != TK_INT)
		ptx_unexpected(p, "a number");
	ptx_next(p);
	return v;
}

struct ptx_token ptx_expect_ident(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;

	if (t.kind != TK_IDENT)
		ptx_unexpected(p, "a name");
	ptx_next(p);
	return t;
}

char *ptx_copy_name(struct ptx_parse *p, const char *s, size_t n)
{
	char *q = ptx_alloc(p->m, n + 1);

	memcpy(q, s, n);
	return q;
}

/* --- the module --- */
static void parse_version(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;
	unsigned major = 0, minor = 0;
	char text[16];

	if ((t.kind != TK_F64 && t.kind != TK_INT) || t.n > 8)
		ptx_unexpected(p, "a version");
	snprintf(text, sizeof(text), "%.*s", (int)t.n,
		t.s); /* the module's text need not end with a NUL */
	if (sscanf(text, "%u.%u", &major, &minor) < 1)
		ptx_unexpected(p, "a version");
	p->m->version = major * 10 + minor;
	ptx_next(p);
}

static void parse_target(struct ptx_parse *p)
{
	do {
		struct ptx_token t = ptx_expect_ident(p);
		char text[16];
		snprintf(text, sizeof(text), "%.*s", t.n < 12 ? (int)t.n : 0, t.s);
		if (!memcmp(text, "sm_", 3))
			p->m->target = (unsigned)strtoul(text + 3, NULL, 10);
	} while (ptx_accept(p, ','));
}

static void skip_braces(struct ptx_parse *p)
{
	unsigned depth = 0;

	while (!ptx_punct(p, '{') && p->lx.t.kind != TK_EOF)
		ptx_next(p);
	do {
		if (ptx_punct(p, '{'))
			depth++;
		else if (ptx_punct(p, '}'))
			depth--;
		else if (p->lx.t.kind == TK_EOF)
			ptx_unexpected(p, "'}'");
		ptx_next(p);
	} while (depth);
}

static void parse_file(struct ptx_parse *p)
{
	struct ptx_module *m = p->m;
	uint32_t number = (uint32_t)ptx_expect_int(p);

	if (p->lx.t.kind != TK_STRING)
		ptx_unexpected(p, "a file name");
	m->files = ptx_grow(m, m->files, m->nfiles, &m->capfiles, sizeof(*m->files));
	m->files[m->nfiles++] = (struct ptx_file){number, ptx_copy_name(p, p->lx.t.s, p->lx.t.n)};
	ptx_next(p);
	while (ptx_accept(p, ','))
		ptx_expect_int(p);
}

static struct ptx_function *expect_function(struct ptx_parse *p)
{
	struct ptx_token t = ptx_expect_ident(p);
	struct ptx_sym *y = ptx_lookup(p, t.s, t.n);

	if (!y || y->kind != SY_FUNC || y->fn->is_entry)
		ptx_fail(p, t.line, "'%.*s' is not a function that can be called",
			(int)(t.n < 60 ? t.n : 60), t.s);
	return y->fn;
}

/* .alias name, function; Both were declared before. */
static void parse_alias(struct ptx_parse *p)
{
	struct ptx_function *name = expect_function(p), *fn;
	unsigned line = p->lx.t.line;

	ptx_expect(p, ',');
	fn = expect_function(p);
	ptx_expect(p, ';');
	if (name->has_body || name == fn || fn->alias || name->sig.nparams != fn->sig.nparams ||
		name->sig.nrets != fn->sig.nrets)
		ptx_fail(p, line, "%s cannot be another name of %s", name->name, fn->name);
	for (unsigned k = 0; k < name->sig.nparams + name->sig.nrets; k++) {
		bool ret = k >= name->sig.nparams;
		const struct ptx_formal *a =
			ret ? &name->sig.rets[k - name->sig.nparams] : &name->sig.params[k];
		const struct ptx_formal *b =
			ret ? &fn->sig.rets[k - name->sig.nparams] : &fn->sig.params[k];
		if (a->size != b->size || a->off != b->off)
			ptx_fail(p, line, "%s has other parameters than %s", name->name, fn->name);
	}
	name->alias = fn;
}

static void parse_toplevel(struct ptx_parse *p)
{
	struct ptx_attrs a = {0};
	struct ptx_token t;

	for (;;) {
		t = p->lx.t;
		if (t.kind != TK_DOT)
			ptx_unexpected(p, "a directive");
		ptx_next(p);
		if (ptx_tok_is(&t, TK_DOT, "visible") || ptx_tok_is(&t, TK_DOT, "weak") ||
			ptx_tok_is(&t, TK_DOT, "common"))
			a.visible = true;
		else if (ptx_tok_is(&t, TK_DOT, "extern"))
			a.is_extern = a.visible = true;
		else
			break;
	}
	if (ptx_tok_is(&t, TK_DOT, "version"))
		parse_version(p);
	else if (ptx_tok_is(&t, TK_DOT, "target"))
		parse_target(p);
	else if (ptx_tok_is(&t, TK_DOT, "address_size")) {
		if (ptx_expect_int(p) != 64)
			ptx_fail(p, t.line, "only 64-bit addresses are implemented");
	} else if (ptx_tok_is(&t, TK_DOT, "file"))
		parse_file(p);
	else if (ptx_tok_is(&t, TK_DOT, "loc"))
		ptx_parse_loc(p);
	else if (ptx_tok_is(&t, TK_DOT, "section"))
		skip_braces(p);
	else if (ptx_tok_is(&t, TK_DOT, "pragma"))
		ptx_skip_to(p, ';');
	else if (ptx_tok_is(&t, TK_DOT, "global"))
		ptx_parse_variable(p, SP_GLOBAL, a);
	else if (ptx_tok_is(&t, TK_DOT, "const"))
		ptx_parse_variable(p, SP_CONST, a);
	else if (ptx_tok_is(&t, TK_DOT, "shared"))
		ptx_parse_variable(p, SP_SHARED, a);
	else if (ptx_tok_is(&t, TK_DOT, "alias"))
		parse_alias(p);
	else if (ptx_tok_is(&t, TK_DOT, "entry"))
		ptx_parse_function(p, true, a.is_extern);
	else if (ptx_tok_is(&t, TK_DOT, "func"))
		ptx_parse_function(p, false, a.is_extern);
	else
		ptx_fail(p, t.line, "directive .%.*s is not implemented",
			(int)(t.n < 60 ? t.n : 60), t.s);
}

/* Deepest first: what callees need, and whether a cycle of calls exists. */
static void finish_function(struct ptx_function *fn, unsigned depth)
{
	size_t deepest = 0;

	fn->mark = 1;
	for (unsigned k = 0; k < fn->ncallees; k++) {
		struct ptx_function *c =
			fn->callees[k]->alias ? fn->callees[k]->alias : fn->callees[k];
		if (c->mark == 1 || depth > 256) {
			fn->recursive = true;
			continue;
		}
		if (!c->mark)
			finish_function(c, depth + 1);
		fn->recursive |= c->recursive;
		fn->has_indirect |= c->has_indirect;
		fn->ordered |= c->ordered;
		if (c->stack_bytes > deepest)
			deepest = c->stack_bytes;
	}
	fn->stack_bytes = fn->local_bytes + deepest;
	fn->mark = 2;
}

static void finish_module(struct ptx_module *m)
{
	bool any = false;

	for (unsigned k = 0; k < m->nfuncs; k++)
		if (m->funcs[k]->has_body) { /* first: it finds out what must run in order */
			m->funcs[k]->const_image = ptx_alloc(m, m->funcs[k]->const_bytes);
			ptx_cfg(m->funcs[k]);
		}
	for (unsigned k = 0; k < m->nfuncs; k++)
		if (!m->funcs[k]->mark)
			finish_function(m->funcs[k], 0);
	for (unsigned k = 0; k < m->nfuncs; k++)
		any |= m->funcs[k]->ordered;
	for (unsigned k = 0; k < m->nfuncs; k++) {
		struct ptx_function *fn = m->funcs[k];
		if (fn->has_indirect) {
			fn->recursive = true;
			fn->ordered |= any;
		}
		/* a cycle may hide the order from a function that was visited inside it */
		if (fn->recursive)
			fn->ordered |= any;
	}
}

void ptx_free(struct ptx_module *m)
{
	if (!m)
		return;
	ptx_jit_forget(m);
	for (size_t k = 0; k < m->nblocks; k++)
		free(m->blocks[k]);
	free(m->blocks);
	free(m);
}

struct ptx_module *ptx_load(const char *text, size_t n, char *log, size_t log_size)
{
	static atomic_uint_fast64_t ids;
	struct ptx_parse *volatile p = calloc(1, sizeof(*p));
	struct ptx_module *volatile m = calloc(1, sizeof(*m));
	volatile int why = ENOMEM;
	jmp_buf nomem;

	if (log_size)
		snprintf(log, log_size, "no memory");
	if (!p || !m)
		goto bad;
	if (log_size)
		log[0] = 0;
	p->m = m;
	p->log = log;
	p->log_size = log_size;
	m->limit = (64u << 20) + 256 * n;
	m->id = atomic_fetch_add(&ids, 1) + 1;
	m->nomem = &nomem;
	if (setjmp(nomem)) {
		if (log_size)
			snprintf(log, log_size, "line %u: the module needs too much memory",
				p->lx.t.line);
		goto bad;
	}
	if (setjmp(p->fail)) {
		why = EINVAL;
		goto bad;
	}
	ptx_lex_init(&p->lx, text, n);
	if (p->lx.t.kind == TK_BAD)
		ptx_fail(p, p->lx.t.line, "not a PTX token");
	while (p->lx.t.kind != TK_EOF)
		parse_toplevel(p);
	if (!m->version || !m->target)
		ptx_fail(p, p->lx.t.line, "no .version and .target");
	finish_module(m);
	ptx_place_shared(m);
	m->nomem = NULL;
	free(p);
	return m;
bad:
	free(p);
	ptx_free(m);
	errno = why;
	return NULL;
}
