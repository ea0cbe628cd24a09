/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX parser: directives, variables, function headers, scopes and names. Instructions are ptx-decode.c's.
 * The surprising thing: registers get room in the frame when they are first used, so `.reg .b32 %r<100000>` costs nothing.
 * Any error ends the load by longjmp; everything allocated belongs to the module.
 */
#include "softgpu/ptx-dec.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_VAR_BYTES (1ull << 32)

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

/* --- memory and errors ------------------------------------------------------------------------------- */
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
static void unexpected(struct ptx_parse *p, const char *wanted)
{
	if (p->lx.t.kind == TK_EOF)
		ptx_fail(p, p->lx.t.line, "the text ends where %s should be", wanted);
	ptx_fail(p, p->lx.t.line, "'%.*s' where %s should be", TOKEN(p), wanted);
}

/* --- tokens ------------------------------------------------------------------------------------------ */
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
		unexpected(p, s);
}

static bool is_dot(const struct ptx_parse *p, const char *s)
{
	return ptx_tok_is(&p->lx.t, TK_DOT, s);
}

static bool accept_dot(struct ptx_parse *p, const char *s)
{
	if (!is_dot(p, s))
		return false;
	ptx_next(p);
	return true;
}

static uint64_t expect_int(struct ptx_parse *p)
{
	uint64_t v = p->lx.t.value;

	if (p->lx.t.kind != TK_INT)
		unexpected(p, "a number");
	ptx_next(p);
	return v;
}

static struct ptx_token expect_ident(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;

	if (t.kind != TK_IDENT)
		unexpected(p, "a name");
	ptx_next(p);
	return t;
}

static char *copy_name(struct ptx_parse *p, const char *s, size_t n)
{
	char *q = ptx_alloc(p->m, n + 1);

	memcpy(q, s, n);
	return q;
}

/* --- names and scopes -------------------------------------------------------------------------------- */
static uint32_t hash_name(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t k = 0; k < n; k++)
		h = (h ^ (unsigned char)s[k]) * 16777619u;
	return h;
}

static struct ptx_sym *find_hashed(struct ptx_parse *p, const char *s, size_t n, uint32_t h)
{
	struct ptx_sym *y = p->bucket[h % 4096];

	for (; y; y = y->next)
		if (y->hash == h && y->len == n && !memcmp(y->name, s, n))
			return y;
	return NULL;
}

struct ptx_sym *ptx_lookup(struct ptx_parse *p, const char *s, size_t n)
{
	return find_hashed(p, s, n, hash_name(s, n));
}

static struct ptx_sym *declare(struct ptx_parse *p, const char *s, size_t n, enum ptx_sym_kind kind)
{
	uint32_t h = hash_name(s, n);
	struct ptx_sym *y = find_hashed(p, s, n, h);

	if (y && y->depth == p->depth && (kind == SY_LABEL || y->kind != SY_FUNC))
		ptx_fail(p, p->lx.t.line, "'%.*s' is declared twice", (int)n, s);
	y = ptx_alloc(p->m, sizeof(*y));
	y->name = copy_name(p, s, n);
	y->len = (uint32_t)n;
	y->hash = h;
	y->depth = p->depth;
	y->kind = kind;
	y->next = p->bucket[h % 4096];
	p->bucket[h % 4096] = y;
	y->older = p->newest;
	p->newest = y;
	return y;
}

static void enter_scope(struct ptx_parse *p)
{
	if (++p->depth > MAX_DEPTH)
		ptx_fail(p, p->lx.t.line, "more than %u scopes inside one another", MAX_DEPTH);
}

/* Branches that name a label of this scope are resolved; the others wait for the scope around it. */
static void leave_scope(struct ptx_parse *p)
{
	unsigned kept = 0;

	for (unsigned k = 0; k < p->nfixes; k++) {
		struct ptx_fix f = p->fixes[k];
		struct ptx_sym *y = f.depth == p->depth ? ptx_lookup(p, f.name, f.len) : NULL;
		if (y && y->kind == SY_LABEL && y->depth == p->depth) {
			if (f.slot)
				*f.slot = y->pc;
			else
				p->fn->insns[f.insn].imm = y->pc;
			continue;
		}
		if (f.depth == p->depth) {
			if (p->depth == 1)
				ptx_fail(p, f.line, "label '%.*s' does not exist", (int)f.len, f.name);
			f.depth--;
		}
		p->fixes[kept++] = f;
	}
	p->nfixes = kept;
	while (p->newest && p->newest->depth == p->depth) {
		p->bucket[p->newest->hash % 4096] = p->newest->next;
		p->newest = p->newest->older;
	}
	p->depth--;
}

void ptx_fix(struct ptx_parse *p, uint32_t insn, uint32_t *slot, const char *name, size_t len, unsigned line)
{
	p->fixes = ptx_grow(p->m, p->fixes, p->nfixes, &p->capfixes, sizeof(*p->fixes));
	p->fixes[p->nfixes++] = (struct ptx_fix){insn, slot, name, (uint32_t)len, p->depth, line};
}

/* --- the frame --------------------------------------------------------------------------------------- */
static int32_t reg_room(struct ptx_parse *p, unsigned type)
{
	struct ptx_function *fn = p->fn;
	uint32_t bytes = ptx_type_bits[type] == 64 ? 256 : 128;
	int32_t off;

	if (type == T_pred) {
		if (p->pred_next == p->pred_end) {
			p->pred_next = (int32_t)fn->reg_bytes;
			p->pred_end = p->pred_next + 128;
			fn->reg_bytes += 128;
		}
		off = p->pred_next;
		p->pred_next += 4;
	} else {
		off = (int32_t)fn->reg_bytes;
		fn->reg_bytes += bytes;
	}
	if (fn->reg_bytes > PTX_FRAME_LIMIT)
		ptx_fail(p, p->lx.t.line, "function %s uses too many registers", fn->name);
	return off;
}

static bool use_reg(struct ptx_parse *p, struct ptx_sym *y, uint32_t k, int32_t *off, uint8_t *type)
{
	if (y->off[k] == NO_REG)
		y->off[k] = reg_room(p, y->type);
	*off = y->off[k];
	*type = y->type;
	return true;
}

bool ptx_reg(struct ptx_parse *p, const char *s, size_t n, int32_t *off, uint8_t *type)
{
	struct ptx_sym *y = ptx_lookup(p, s, n);
	size_t prefix = n;
	uint64_t v = 0;

	if (y)
		return y->kind == SY_REG && use_reg(p, y, 0, off, type);
	while (prefix > 1 && s[prefix - 1] >= '0' && s[prefix - 1] <= '9')
		prefix--;
	if (prefix == n || n - prefix > 8 || (s[prefix] == '0' && n - prefix > 1))
		return false;
	for (size_t k = prefix; k < n; k++)
		v = v * 10 + (uint64_t)(s[k] - '0');
	y = ptx_lookup(p, s, prefix);
	return y && y->kind == SY_RANGE && v < y->count && use_reg(p, y, (uint32_t)v, off, type);
}

int32_t ptx_const_slot(struct ptx_parse *p, unsigned width, uint64_t value, enum ptx_reloc reloc, void *sym)
{
	struct ptx_function *fn = p->fn;
	unsigned n = fn->nconsts;
	struct ptx_const *c;

	for (unsigned k = n > 64 ? n - 64 : 0; k < n; k++) {
		c = &fn->consts[k];
		if (c->width == width && c->value == value && c->reloc == reloc && c->sym == sym)
			return c->off;
	}
	fn->consts = ptx_grow(p->m, fn->consts, n, &fn->capconsts, sizeof(*fn->consts));
	fn->const_bytes += width == 8 ? 256 : 128;
	if (fn->const_bytes > PTX_FRAME_LIMIT)
		ptx_fail(p, p->lx.t.line, "function %s uses too many constants", fn->name);
	c = &fn->consts[fn->nconsts++];
	*c = (struct ptx_const){-(int32_t)fn->const_bytes, (uint8_t)width, (uint8_t)reloc, value, sym};
	return c->off;
}

int32_t ptx_special_slot(struct ptx_parse *p, unsigned sreg, unsigned width, uint64_t add)
{
	struct ptx_function *fn = p->fn;
	struct ptx_special *s;

	for (unsigned k = 0; k < fn->nspecials; k++) {
		s = &fn->specials[k];
		if (s->sreg == sreg && s->width == width && s->add == add)
			return s->off;
	}
	fn->specials = ptx_grow(p->m, fn->specials, fn->nspecials, &fn->capspecials, sizeof(*fn->specials));
	fn->const_bytes += width == 8 ? 256 : 128;
	if (fn->const_bytes > PTX_FRAME_LIMIT || fn->nspecials > 4096)
		ptx_fail(p, p->lx.t.line, "function %s uses too many constants", fn->name);
	s = &fn->specials[fn->nspecials++];
	*s = (struct ptx_special){-(int32_t)fn->const_bytes, (uint8_t)sreg, (uint8_t)width, add};
	return s->off;
}

struct ptx_insn *ptx_emit(struct ptx_parse *p)
{
	struct ptx_function *fn = p->fn;
	struct ptx_insn *i;

	fn->insns = ptx_grow(p->m, fn->insns, fn->ninsns, &fn->cap, sizeof(*fn->insns));
	i = &fn->insns[fn->ninsns++];
	memset(i, 0, sizeof(*i));
	i->pred = NO_REG;
	i->rpc = NO_PC;
	for (unsigned k = 0; k < 6; k++)
		i->o[k] = NO_REG;
	return i;
}

/* --- variables --------------------------------------------------------------------------------------- */
static unsigned parse_type(struct ptx_parse *p)
{
	for (unsigned t = 1; t < T_COUNT; t++)
		if (accept_dot(p, ptx_type_name[t]))
			return t;
	unexpected(p, "a type");
	return 0;
}

static bool is_type(const struct ptx_parse *p)
{
	for (unsigned t = 1; t < T_COUNT; t++)
		if (is_dot(p, ptx_type_name[t]))
			return true;
	return false;
}

static size_t parse_align(struct ptx_parse *p)
{
	uint64_t a = expect_int(p);

	if (!a || a & (a - 1) || a > 1 << 20)
		ptx_fail(p, p->lx.t.line, "alignment %llu is not a small power of two", (unsigned long long)a);
	return a;
}

static struct ptx_init *add_init(struct ptx_parse *p, struct ptx_variable *v, size_t off, unsigned size)
{
	struct ptx_init *i;

	if (v->ninits >= UINT32_MAX / 2)
		ptx_fail(p, p->lx.t.line, "too many initial values");
	unsigned cap = (unsigned)v->capinits;
	v->inits = ptx_grow(p->m, v->inits, (unsigned)v->ninits, &cap, sizeof(*v->inits));
	v->capinits = cap;
	i = &v->inits[v->ninits++];
	*i = (struct ptx_init){.off = off, .size = (uint8_t)size};
	return i;
}

static int64_t signed_int(struct ptx_parse *p)
{
	bool minus = ptx_accept(p, '-');
	uint64_t v = expect_int(p);

	return (int64_t)(minus ? 0 - v : v);
}

/* A number or an address: 5, -5, 0f3F800000, 1.5, name, name+4, generic(name)+4. */
static void parse_scalar_init(struct ptx_parse *p, struct ptx_variable *v, size_t off, unsigned type)
{
	struct ptx_init *i = add_init(p, v, off, ptx_type_bytes(type));
	bool minus = ptx_accept(p, '-');
	struct ptx_token t = p->lx.t;
	struct ptx_sym *y;
	double d;
	float f;

	if (t.kind == TK_INT) {
		ptx_next(p);
		i->value = minus ? 0 - t.value : t.value;
		if (type == T_f64 || type == T_f32) {
			d = (double)(int64_t)i->value;
			f = (float)d;
			i->value = 0;
			memcpy(&i->value, type == T_f64 ? (void *)&d : (void *)&f, type == T_f64 ? 8 : 4);
		}
	} else if (t.kind == TK_F64 || t.kind == TK_F32) {
		ptx_next(p);
		if (t.kind == TK_F32) {
			uint32_t b = (uint32_t)t.value;
			memcpy(&f, &b, 4);
			d = f;
		} else {
			memcpy(&d, &t.value, 8);
		}
		d = minus ? -d : d;
		if (type == T_f64 || type == T_b64 || type == T_u64)
			memcpy(&i->value, &d, 8);
		else if (type == T_f32 || type == T_b32 || type == T_u32) {
			f = (float)d;
			memcpy(&i->value, &f, 4);
			if (t.kind == TK_F32)
				i->value = (uint32_t)t.value ^ (minus ? 0x80000000u : 0);
		} else
			ptx_fail(p, t.line, "a floating-point value for a .%s", ptx_type_name[type]);
	} else if (t.kind == TK_IDENT && !minus) {
		bool paren = false;
		ptx_next(p);
		if (ptx_tok_is(&t, TK_IDENT, "generic") && ptx_accept(p, '(')) {
			i->generic = paren = true;
			t = expect_ident(p);
		}
		y = ptx_lookup(p, t.s, t.n);
		if (!y || (y->kind != SY_VAR && y->kind != SY_FUNC))
			ptx_fail(p, t.line, "'%.*s' is not declared", (int)t.n, t.s);
		if (paren)
			ptx_expect(p, ')');
		if (y->kind == SY_VAR && y->var->space != SP_GLOBAL && y->var->space != SP_CONST)
			ptx_fail(p, t.line, "the address of '%.*s' as an initial value is not implemented", (int)t.n, t.s);
		if (i->size != 8)
			ptx_fail(p, t.line, "an address needs 64 bits");
		i->reloc = y->kind == SY_VAR ? RL_VAR : RL_FUNC;
		i->sym = y->kind == SY_VAR ? (void *)y->var : (void *)y->fn;
		if (ptx_accept(p, '+'))
			i->value = (uint64_t)signed_int(p);
		else if (ptx_punct(p, '-'))
			i->value = (uint64_t)signed_int(p);
	} else {
		unexpected(p, "an initial value");
	}
}

struct dims {
	unsigned n;
	uint64_t d[8];
	bool open; /* the first is [] */
};

static size_t parse_init(struct ptx_parse *p, struct ptx_variable *v, const struct dims *ds, unsigned level, size_t off,
	unsigned type)
{
	size_t stride = ptx_type_bytes(type), n = 0;

	if (level == ds->n) {
		ptx_accept(p, '{') ? (parse_scalar_init(p, v, off, type), ptx_expect(p, '}'))
				   : parse_scalar_init(p, v, off, type);
		return 1;
	}
	for (unsigned k = level + 1; k < ds->n; k++)
		stride *= ds->d[k];
	if (p->lx.t.kind == TK_STRING && level + 1 == ds->n && ptx_type_bits[type] == 8) {
		for (; n < p->lx.t.n; n++)
			add_init(p, v, off + n, 1)->value = (unsigned char)p->lx.t.s[n];
		ptx_next(p);
		return n + 1;
	}
	ptx_expect(p, '{');
	while (!ptx_punct(p, '}')) {
		if (!(ds->open && !level) && n >= ds->d[level])
			ptx_fail(p, p->lx.t.line, "more initial values than elements");
		parse_init(p, v, ds, level + 1, off + n * stride, type);
		n++;
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, '}');
	return n;
}

/* [4][2], [] ; returns the number of elements, 0 for an open first dimension. */
static uint64_t parse_dims(struct ptx_parse *p, struct dims *ds)
{
	uint64_t total = 1;

	memset(ds, 0, sizeof(*ds));
	while (ptx_accept(p, '[')) {
		if (ds->n == 8)
			ptx_fail(p, p->lx.t.line, "more than 8 dimensions");
		if (!ds->n && ptx_punct(p, ']')) {
			ds->open = true;
			ds->d[ds->n++] = 0;
		} else {
			ds->d[ds->n++] = expect_int(p);
			if (__builtin_mul_overflow(total, ds->d[ds->n - 1], &total) || total > MAX_VAR_BYTES)
				ptx_fail(p, p->lx.t.line, "an array this large is not possible");
		}
		ptx_expect(p, ']');
	}
	return ds->open ? 0 : total;
}

struct attrs {
	size_t align;
	unsigned type, vec;
	bool is_extern, visible;
};

static void parse_var_attrs(struct ptx_parse *p, struct attrs *a)
{
	while (!is_type(p)) {
		if (accept_dot(p, "align"))
			a->align = parse_align(p);
		else if (accept_dot(p, "v2"))
			a->vec = 2;
		else if (accept_dot(p, "v4"))
			a->vec = 4;
		else if (accept_dot(p, "attribute")) {
			ptx_expect(p, '(');
			while (!ptx_accept(p, ')') && p->lx.t.kind != TK_EOF)
				ptx_next(p);
		} else
			unexpected(p, "a type that is implemented");
	}
	a->type = parse_type(p);
	if (a->type == T_pred || ptx_type_bits[a->type] > 64)
		ptx_fail(p, p->lx.t.line, "a variable of type .%s is not implemented", ptx_type_name[a->type]);
	/* nvcc writes `.u64 .ptr .global .align 4 name` for kernel parameters */
	if (accept_dot(p, "ptr")) {
		while (p->lx.t.kind == TK_DOT) {
			if (accept_dot(p, "align"))
				parse_align(p);
			else
				ptx_next(p);
		}
	}
}

static size_t align_up(size_t v, size_t a)
{
	return (v + a - 1) / a * a;
}

/* Gives a shared, local or parameter variable its place. */
static void place_variable(struct ptx_parse *p, struct ptx_variable *v)
{
	size_t *at = NULL;

	if (v->space == SP_LOCAL)
		at = &p->fn->local_bytes;
	else if (v->space == SP_SHARED && v->dynamic)
		return;
	else if (v->space == SP_SHARED)
		at = v->in_kernel ? &p->fn->shared_bytes : &p->m->shared_bytes;
	else
		return;
	*at = align_up(*at, v->align);
	v->addr = *at;
	*at += v->size;
	if (*at > MAX_VAR_BYTES)
		ptx_fail(p, p->lx.t.line, "too much memory in '%s'", v->name);
}

static void parse_variable(struct ptx_parse *p, enum ptx_space space, struct attrs a)
{
	parse_var_attrs(p, &a);
	do {
		struct ptx_token t = expect_ident(p);
		struct ptx_sym *y = ptx_lookup(p, t.s, t.n);
		struct ptx_variable *v;
		struct dims ds;
		uint64_t n;
		bool again = y && y->kind == SY_VAR && y->depth == p->depth && y->var->is_extern;

		if (again) { /* an extern declaration, now defined or repeated */
			v = y->var;
			v->is_extern &= a.is_extern;
		} else {
			y = declare(p, t.s, t.n, SY_VAR);
			v = y->var = ptx_alloc(p->m, sizeof(*v));
			v->name = y->name;
			v->is_extern = a.is_extern;
			v->space = (uint8_t)space;
			v->in_kernel = p->fn && p->fn->is_entry;
		}
		v->visible |= a.visible;
		n = parse_dims(p, &ds);
		size_t elem = ptx_type_bytes(a.type) * (a.vec ? a.vec : 1);
		v->align = a.align ? a.align : elem;
		if (ptx_accept(p, '=')) {
			if (space != SP_GLOBAL && space != SP_CONST)
				ptx_fail(p, t.line, "only .global and .const variables have initial values");
			if (a.vec) { /* a vector is one more dimension */
				if (ds.n == 8)
					ptx_fail(p, t.line, "more than 8 dimensions");
				ds.d[ds.n++] = a.vec;
			}
			size_t got = parse_init(p, v, &ds, 0, 0, a.type);
			if (ds.open)
				n = got;
		}
		if (ds.open && ds.n > 1)
			for (unsigned k = 1; k < ds.n - (a.vec && v->ninits ? 1 : 0); k++)
				n *= ds.d[k];
		v->dynamic = space == SP_SHARED && a.is_extern && (ds.open || !n);
		if (__builtin_mul_overflow(n, elem, &v->size) || v->size > MAX_VAR_BYTES)
			ptx_fail(p, t.line, "'%.*s' is too large", (int)t.n, t.s);
		if (!again) {
			place_variable(p, v);
			if (space == SP_GLOBAL || space == SP_CONST) {
				p->m->pub = ptx_grow(p->m, p->m->pub, p->m->npub, &p->m->cappub,
					sizeof(*p->m->pub));
				p->m->pub[p->m->npub++] = v;
			}
		}
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
}

static void parse_reg(struct ptx_parse *p)
{
	unsigned type;

	if (is_dot(p, "v2") || is_dot(p, "v4"))
		ptx_fail(p, p->lx.t.line, "vector registers are not implemented");
	type = parse_type(p);
	if (ptx_type_bits[type] > 64)
		ptx_fail(p, p->lx.t.line, "registers of type .%s are not implemented", ptx_type_name[type]);
	do {
		struct ptx_token t = expect_ident(p);
		uint64_t count = 1;
		bool range = ptx_accept(p, '<');
		if (range) {
			count = expect_int(p);
			ptx_expect(p, '>');
			if (count > 1 << 20)
				ptx_fail(p, t.line, "too many registers");
		}
		struct ptx_sym *y = declare(p, t.s, t.n, range ? SY_RANGE : SY_REG);
		y->type = (uint8_t)type;
		y->count = (uint32_t)count;
		y->off = ptx_alloc(p->m, (count ? count : 1) * sizeof(*y->off));
		for (uint64_t k = 0; k < count; k++)
			y->off[k] = NO_REG;
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
}

/* --- functions --------------------------------------------------------------------------------------- */
struct header {
	struct ptx_formal f[2][256];
	struct ptx_token name[2][256];
	unsigned n[2]; /* 0: results, 1: parameters */
	bool reg;
};

/* There is one, used again for every signature: nobody needs two at a time. */
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
		struct attrs a = {0};
		struct dims ds;
		struct ptx_formal *f;
		uint64_t n;

		if (h->n[which] == 256)
			ptx_fail(p, p->lx.t.line, "more than 256 parameters");
		f = &h->f[which][h->n[which]];
		memset(f, 0, sizeof(*f));
		if (accept_dot(p, "reg"))
			h->reg = true;
		else if (!accept_dot(p, "param"))
			unexpected(p, ".param");
		parse_var_attrs(p, &a);
		h->name[which][h->n[which]].n = 0;
		if (p->lx.t.kind == TK_IDENT)
			h->name[which][h->n[which]] = expect_ident(p);
		n = parse_dims(p, &ds);
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
			at = align_up(at, h->f[w][k].align);
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
	expect_ident(p); /* _ */
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
		names[cap++] = expect_ident(p);
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
	y->table->pc = ptx_alloc(p->m, cap * sizeof(uint32_t));
	y->table->n = cap;
	for (unsigned k = 0; k < cap; k++)
		ptx_fix(p, UINT32_MAX, &y->table->pc[k], copy_name(p, names[k].s, names[k].n), names[k].n, names[k].line);
}

/* .loc 1 12 5 [, function_name $L+4, inlined_at 1 3 4] */
static void parse_loc(struct ptx_parse *p)
{
	for (unsigned k = 0; k < 3; k++)
		expect_int(p);
	while (ptx_accept(p, ',')) {
		struct ptx_token t = expect_ident(p);
		if (ptx_tok_is(&t, TK_IDENT, "function_name")) {
			expect_ident(p);
			if (ptx_accept(p, '+'))
				expect_int(p);
		} else {
			for (unsigned k = 0; k < 3; k++)
				expect_int(p);
		}
	}
}

static void skip_to(struct ptx_parse *p, char c)
{
	while (!ptx_punct(p, c) && p->lx.t.kind != TK_EOF)
		ptx_next(p);
	ptx_expect(p, c);
}

static void define_label(struct ptx_parse *p, struct ptx_token t)
{
	struct ptx_sym *y = ptx_lookup(p, t.s, t.n);

	/* a brx.idx before its .branchtargets has made the name already */
	if (!(y && y->kind == SY_LABEL && y->depth == p->depth && y->table && !y->table->n && is_dot(p, "branchtargets")))
		y = declare(p, t.s, t.n, SY_LABEL);
	y->pc = p->fn->ninsns;
	if (accept_dot(p, "branchtargets"))
		parse_targets(p, y);
	else if (accept_dot(p, "callprototype"))
		parse_prototype(p, y);
	else if (is_dot(p, "calltargets"))
		ptx_fail(p, t.line, ".calltargets is not implemented");
}

static void parse_statement(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;

	if (t.kind == TK_DOT) {
		struct attrs a = {0};
		ptx_next(p);
		if (ptx_tok_is(&t, TK_DOT, "reg"))
			parse_reg(p);
		else if (ptx_tok_is(&t, TK_DOT, "local") || ptx_tok_is(&t, TK_DOT, "param"))
			parse_variable(p, SP_LOCAL, a);
		else if (ptx_tok_is(&t, TK_DOT, "shared"))
			parse_variable(p, SP_SHARED, a);
		else if (ptx_tok_is(&t, TK_DOT, "global"))
			parse_variable(p, SP_GLOBAL, a);
		else if (ptx_tok_is(&t, TK_DOT, "const"))
			parse_variable(p, SP_CONST, a);
		else if (ptx_tok_is(&t, TK_DOT, "loc"))
			parse_loc(p);
		else if (ptx_tok_is(&t, TK_DOT, "pragma"))
			skip_to(p, ';');
		else if (ptx_tok_is(&t, TK_DOT, "extern") && accept_dot(p, "shared")) {
			a.is_extern = true;
			parse_variable(p, SP_SHARED, a);
		} else
			ptx_fail(p, t.line, "directive .%.*s is not known here", (int)(t.n < 60 ? t.n : 60), t.s);
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
			enter_scope(p);
		} else if (ptx_punct(p, '}')) {
			if (p->depth == outer)
				break;
			leave_scope(p);
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
			skip_to(p, ';');
			continue;
		}
		for (unsigned k = 0; k < 3 && p->lx.t.kind == TK_INT; k++) {
			v[k] = expect_int(p);
			if (v[k] > 1 << 20)
				ptx_fail(p, t.line, "%llu in .%.*s", (unsigned long long)v[k], (int)t.n, t.s);
			if (!ptx_accept(p, ','))
				break;
		}
		bool req = ptx_tok_is(&t, TK_DOT, "reqntid");
		if (req || ptx_tok_is(&t, TK_DOT, "maxntid")) {
			uint64_t n = v[0] * v[1] * v[2];
			fn->max_threads = n && n < 1024 ? (unsigned)n : 1024;
			for (unsigned k = 0; req && k < 3; k++)
				fn->req[k] = (unsigned)v[k];
		} else if (!ptx_tok_is(&t, TK_DOT, "minnctapersm") && !ptx_tok_is(&t, TK_DOT, "maxnctapersm") &&
			!ptx_tok_is(&t, TK_DOT, "maxnreg") && !ptx_tok_is(&t, TK_DOT, "noreturn")) {
			ptx_fail(p, t.line, "directive .%.*s is not implemented", (int)(t.n < 60 ? t.n : 60), t.s);
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
			y = declare(p, t->s, t->n, SY_VAR);
			y->var = ptx_alloc(p->m, sizeof(*y->var));
			y->var->name = y->name;
			y->var->space = p->fn->is_entry ? SP_PARAM : SP_LOCAL;
			y->var->size = h->f[w][k].size;
			y->var->align = h->f[w][k].align;
			y->var->addr = h->f[w][k].off;
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

static struct ptx_function *new_function(struct ptx_parse *p, struct ptx_token name, const struct header *h, bool is_entry)
{
	struct ptx_sym *y = declare(p, name.s, name.n, SY_FUNC);
	struct ptx_function *fn = y->fn = ptx_alloc(p->m, sizeof(*fn));
	struct ptx_module *m = p->m;

	fn->m = m;
	fn->name = y->name;
	fn->is_entry = is_entry;
	fn->index = m->nfuncs;
	fn->max_threads = 1024;
	fn->sig.nrets = h->n[0];
	fn->sig.nparams = h->n[1];
	fn->sig.rets = copy_formals(p, h, 0);
	fn->sig.params = copy_formals(p, h, 1);
	fn->reg_params = h->reg;
	if (!strcmp(fn->name, "vprintf") && h->n[0] == 1 && h->n[1] == 2)
		fn->builtin = PB_VPRINTF;
	else if (!strcmp(fn->name, "__assertfail") && h->n[1] == 5)
		fn->builtin = PB_ASSERTFAIL;
	else
		fn->builtin = PB_REFUSED;
	m->funcs = ptx_grow(m, m->funcs, m->nfuncs, &m->capfuncs, sizeof(*m->funcs));
	m->funcs[m->nfuncs++] = fn;
	return fn;
}

static void parse_function(struct ptx_parse *p, bool is_entry, bool is_extern)
{
	static const struct ptx_token none;
	struct header *h = new_header(p);
	struct ptx_function *fn = NULL;
	struct ptx_token name = none;
	struct ptx_sym *y;
	struct ptx_insn *last;
	size_t bytes;

	if (!is_entry) {
		accept_dot(p, "noreturn");
		if (ptx_punct(p, '('))
			parse_formals(p, h, 0);
	}
	name = expect_ident(p);
	if (ptx_punct(p, '('))
		parse_formals(p, h, 1);
	bytes = place_formals(h);
	y = ptx_lookup(p, name.s, name.n);
	if (y && y->kind == SY_FUNC) {
		fn = y->fn;
		if (!same_signature(fn, h))
			ptx_fail(p, name.line, "function %s is declared differently before", fn->name);
	} else {
		fn = new_function(p, name, h, is_entry);
	}
	parse_tuning(p, fn);
	if (is_entry && bytes > 32768)
		ptx_fail(p, name.line, "kernel %s has more than 32764 bytes of parameters", fn->name);
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
		p->m->kernels = ptx_grow(p->m, p->m->kernels, p->m->nkernels, &p->m->capkernels, sizeof(*p->m->kernels));
		p->m->kernels[p->m->nkernels++] = fn;
	} else {
		fn->local_bytes = bytes;
	}
	enter_scope(p);
	declare_formals(p, h);
	parse_body(p);
	leave_scope(p);
	last = ptx_emit(p);
	last->flags = F_CTRL;
	last->arg = C_RET;
	last->name = "ret";
	last->line = p->lx.t.line;
	p->fn = NULL;
	ptx_next(p); /* the closing brace */
	fn->local_bytes = align_up(fn->local_bytes, 16);
}

/* --- the module -------------------------------------------------------------------------------------- */
static void parse_version(struct ptx_parse *p)
{
	struct ptx_token t = p->lx.t;
	unsigned major = 0, minor = 0;
	char text[16];

	if ((t.kind != TK_F64 && t.kind != TK_INT) || t.n > 8)
		unexpected(p, "a version");
	snprintf(text, sizeof(text), "%.*s", (int)t.n, t.s); /* the module's text need not end with a NUL */
	if (sscanf(text, "%u.%u", &major, &minor) < 1)
		unexpected(p, "a version");
	p->m->version = major * 10 + minor;
	ptx_next(p);
}

static void parse_target(struct ptx_parse *p)
{
	do {
		struct ptx_token t = expect_ident(p);
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
			unexpected(p, "'}'");
		ptx_next(p);
	} while (depth);
}

static void parse_file(struct ptx_parse *p)
{
	expect_int(p);
	if (p->lx.t.kind != TK_STRING)
		unexpected(p, "a file name");
	ptx_next(p);
	while (ptx_accept(p, ','))
		expect_int(p);
}

static void parse_toplevel(struct ptx_parse *p)
{
	struct attrs a = {0};
	struct ptx_token t;

	for (;;) {
		t = p->lx.t;
		if (t.kind != TK_DOT)
			unexpected(p, "a directive");
		ptx_next(p);
		if (ptx_tok_is(&t, TK_DOT, "visible") || ptx_tok_is(&t, TK_DOT, "weak") || ptx_tok_is(&t, TK_DOT, "common"))
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
		if (expect_int(p) != 64)
			ptx_fail(p, t.line, "only 64-bit addresses are implemented");
	} else if (ptx_tok_is(&t, TK_DOT, "file"))
		parse_file(p);
	else if (ptx_tok_is(&t, TK_DOT, "loc"))
		parse_loc(p);
	else if (ptx_tok_is(&t, TK_DOT, "section"))
		skip_braces(p);
	else if (ptx_tok_is(&t, TK_DOT, "pragma"))
		skip_to(p, ';');
	else if (ptx_tok_is(&t, TK_DOT, "global"))
		parse_variable(p, SP_GLOBAL, a);
	else if (ptx_tok_is(&t, TK_DOT, "const"))
		parse_variable(p, SP_CONST, a);
	else if (ptx_tok_is(&t, TK_DOT, "shared"))
		parse_variable(p, SP_SHARED, a);
	else if (ptx_tok_is(&t, TK_DOT, "entry"))
		parse_function(p, true, a.is_extern);
	else if (ptx_tok_is(&t, TK_DOT, "func"))
		parse_function(p, false, a.is_extern);
	else
		ptx_fail(p, t.line, "directive .%.*s is not implemented", (int)(t.n < 60 ? t.n : 60), t.s);
}

/* Deepest first: what callees need, and whether a cycle of calls exists. */
static void finish_function(struct ptx_function *fn, unsigned depth)
{
	size_t deepest = 0;

	fn->mark = 1;
	for (unsigned k = 0; k < fn->ncallees; k++) {
		struct ptx_function *c = fn->callees[k];
		if (c->mark == 1 || depth > 256) {
			fn->recursive = true;
			continue;
		}
		if (!c->mark)
			finish_function(c, depth + 1);
		fn->recursive |= c->recursive;
		fn->has_indirect |= c->has_indirect;
		fn->ordered |= c->ordered;
		fn->uses_module_shared |= c->uses_module_shared;
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
		if (!m->funcs[k]->mark)
			finish_function(m->funcs[k], 0);
	for (unsigned k = 0; k < m->nfuncs; k++)
		any |= m->funcs[k]->ordered;
	for (unsigned k = 0; k < m->nfuncs; k++) {
		struct ptx_function *fn = m->funcs[k];
		if (fn->has_indirect) {
			fn->recursive = true;
			fn->uses_module_shared = true;
			fn->ordered |= any;
		}
		/* a cycle may hide the order from a function that was visited inside it */
		if (fn->recursive)
			fn->ordered |= any;
		if (fn->has_body) {
			fn->const_image = ptx_alloc(m, fn->const_bytes);
			ptx_cfg(fn);
		}
	}
}

void ptx_free(struct ptx_module *m)
{
	if (!m)
		return;
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
	jmp_buf nomem;

	if (log_size)
		log[0] = 0;
	if (!p || !m)
		goto bad;
	p->m = m;
	p->log = log;
	p->log_size = log_size;
	m->limit = (64u << 20) + 256 * n;
	m->id = atomic_fetch_add(&ids, 1) + 1;
	m->nomem = &nomem;
	if (setjmp(nomem)) {
		if (log_size)
			snprintf(log, log_size, "line %u: the module needs too much memory", p->lx.t.line);
		goto bad;
	}
	if (setjmp(p->fail))
		goto bad;
	ptx_lex_init(&p->lx, text, n);
	if (p->lx.t.kind == TK_BAD)
		ptx_fail(p, p->lx.t.line, "not a PTX token");
	while (p->lx.t.kind != TK_EOF)
		parse_toplevel(p);
	if (!m->version || !m->target)
		ptx_fail(p, p->lx.t.line, "no .version and .target");
	finish_module(m);
	m->nomem = NULL;
	free(p);
	return m;
bad:
	free(p);
	ptx_free(m);
	return NULL;
}
