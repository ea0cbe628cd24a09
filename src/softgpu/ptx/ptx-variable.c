/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX variables: types, dimensions, initial values, and declarations of registers.
 */
#include "softgpu/ptx/ptx-parse.h"
#include "base/checked.h"

#include <string.h>

#define MAX_VAR_BYTES (1ull << 32)

static unsigned parse_type(struct ptx_parse *p)
{
	for (unsigned t = 1; t < T_COUNT; t++)
		if (ptx_accept_dot(p, ptx_type_name[t]))
			return t;
	ptx_unexpected(p, "a type");
	return 0;
}

static bool is_type(const struct ptx_parse *p)
{
	for (unsigned t = 1; t < T_COUNT; t++)
		if (ptx_is_dot(p, ptx_type_name[t]))
			return true;
	return false;
}

static size_t parse_align(struct ptx_parse *p)
{
	uint64_t a = ptx_expect_int(p);

	if (!a || a & (a - 1) || a > 1 << 20)
		ptx_fail(p, p->lx.t.line, "alignment %llu is not a small power of two",
			(unsigned long long)a);
	return a;
}

static struct ptx_init *add_init(
	struct ptx_parse *p, struct ptx_variable *v, size_t off, unsigned size)
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
	uint64_t v = ptx_expect_int(p);

	return (int64_t)(minus ? 0 - v : v);
}

static void init_whole(struct ptx_init *i, uint64_t value, unsigned type)
{
	const double d = (double)(int64_t)value;
	const float f = (float)d;

	i->value = type == T_f64 || type == T_f32 ? 0 : value;
	if (type == T_f64)
		memcpy(&i->value, &d, sizeof d);
	else if (type == T_f32)
		memcpy(&i->value, &f, sizeof f);
}

/* t: 1.5, or a float's bits. */
static void init_float(struct ptx_parse *p, struct ptx_init *i, const struct ptx_token *t,
	bool minus, unsigned type)
{
	const uint32_t bits = (uint32_t)t->value;
	double d;
	float f;

	if (t->kind == TK_F32) {
		memcpy(&f, &bits, sizeof f);
		d = f;
	} else {
		memcpy(&d, &t->value, sizeof d);
	}
	d = minus ? -d : d;
	if (type == T_f64 || type == T_b64 || type == T_u64) {
		memcpy(&i->value, &d, sizeof d);
	} else if (type == T_f32 || type == T_b32 || type == T_u32) {
		f = (float)d;
		memcpy(&i->value, &f, sizeof f);
		if (t->kind == TK_F32)
			i->value = bits ^ (minus ? 0x80000000u : 0);
	} else {
		ptx_fail(p, t->line, "a floating-point value for a .%s", ptx_type_name[type]);
	}
}

/* name, name+4, generic(name)+4; t is the first of it and was read. */
static void init_address(struct ptx_parse *p, struct ptx_init *i, struct ptx_token t)
{
	const bool paren = ptx_tok_is(&t, TK_IDENT, "generic") && ptx_accept(p, '(');
	struct ptx_sym *y;

	if (paren) {
		i->generic = true;
		t = ptx_expect_ident(p);
	}
	y = ptx_lookup(p, t.s, t.n);
	if (!y || (y->kind != SY_VAR && y->kind != SY_FUNC))
		ptx_fail(p, t.line, "'%.*s' is not declared", (int)t.n, t.s);
	if (paren)
		ptx_expect(p, ')');
	if (y->kind == SY_VAR && y->var->space != SP_GLOBAL && y->var->space != SP_CONST)
		ptx_fail(p, t.line, "the address of '%.*s' as an initial value is not implemented",
			(int)t.n, t.s);
	if (i->size != 8)
		ptx_fail(p, t.line, "an address needs 64 bits");
	i->reloc = y->kind == SY_VAR ? RL_VAR : RL_FUNC;
	i->sym = y->kind == SY_VAR ? (void *)y->var : (void *)y->fn;
	if (ptx_accept(p, '+') || ptx_punct(p, '-'))
		i->value = (uint64_t)signed_int(p);
}

/* A number or an address: 5, -5, 0f3F800000, 1.5, name, name+4, generic(name)+4. */
static void parse_scalar_init(
	struct ptx_parse *p, struct ptx_variable *v, size_t off, unsigned type)
{
	if (type == T_b128)
		ptx_fail(p, p->lx.t.line, "initial values of .b128 are not implemented");
	struct ptx_init *i = add_init(p, v, off, ptx_type_bytes(type));
	const bool minus = ptx_accept(p, '-');
	const struct ptx_token t = p->lx.t;

	if (t.kind == TK_INT) {
		ptx_next(p);
		init_whole(i, minus ? 0 - t.value : t.value, type);
	} else if (t.kind == TK_F64 || t.kind == TK_F32) {
		ptx_next(p);
		init_float(p, i, &t, minus, type);
	} else if (t.kind == TK_IDENT && !minus) {
		ptx_next(p);
		init_address(p, i, t);
	} else {
		ptx_unexpected(p, "an initial value");
	}
}

/* Where element n of one level begins, and that it is no further than any variable reaches. */
static size_t element_at(struct ptx_parse *p, size_t off, size_t n, size_t stride)
{
	size_t at;

	if (ckd_mul(&at, n, stride) || ckd_add(&at, at, off) || at > MAX_VAR_BYTES)
		ptx_fail(p, p->lx.t.line, "more initial values than a variable can hold");
	return at;
}

static size_t parse_init(struct ptx_parse *p, struct ptx_variable *v, const struct ptx_dims *ds,
	unsigned level, size_t off, unsigned type)
{
	size_t stride = ptx_type_bytes(type), n = 0;
	bool open = ds->open && !level;

	if (level == ds->n) {
		ptx_accept(p, '{') ? (parse_scalar_init(p, v, off, type), ptx_expect(p, '}'))
				   : parse_scalar_init(p, v, off, type);
		return 1;
	}
	for (unsigned k = level + 1; k < ds->n; k++)
		if (ckd_mul(&stride, stride, ds->d[k]) || stride > MAX_VAR_BYTES)
			ptx_fail(p, p->lx.t.line, "an array this large is not possible");
	if (p->lx.t.kind == TK_STRING && level + 1 == ds->n && ptx_type_bits[type] == 8) {
		if (!open && p->lx.t.n > ds->d[level])
			ptx_fail(p, p->lx.t.line, "a string of %zu bytes for an array of %llu",
				p->lx.t.n, (unsigned long long)ds->d[level]);
		for (; n < p->lx.t.n; n++)
			add_init(p, v, element_at(p, off, n, 1), 1)->value =
				(unsigned char)p->lx.t.s[n];
		ptx_next(p);
		return n + 1;
	}
	ptx_expect(p, '{');
	while (!ptx_punct(p, '}')) {
		if (!open && n >= ds->d[level])
			ptx_fail(p, p->lx.t.line, "more initial values than elements");
		parse_init(p, v, ds, level + 1, element_at(p, off, n, stride), type);
		n++;
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, '}');
	return n;
}

/* [4][2], [] ; returns the number of elements, 0 for an open first dimension. */
uint64_t ptx_parse_dims(struct ptx_parse *p, struct ptx_dims *ds)
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
			ds->d[ds->n++] = ptx_expect_int(p);
			if (__builtin_mul_overflow(total, ds->d[ds->n - 1], &total) ||
				total > MAX_VAR_BYTES)
				ptx_fail(p, p->lx.t.line, "an array this large is not possible");
		}
		ptx_expect(p, ']');
	}
	return ds->open ? 0 : total;
}

void ptx_parse_attrs(struct ptx_parse *p, struct ptx_attrs *a)
{
	if (p->lx.t.glued &&
		ptx_accept(p, '[')) { /* .const[2]: a bank of old; all are one memory */
		ptx_expect_int(p);
		ptx_expect(p, ']');
	}
	while (!is_type(p)) {
		if (ptx_accept_dot(p, "align"))
			a->align = parse_align(p);
		else if (ptx_accept_dot(p, "v2"))
			a->vec = 2;
		else if (ptx_accept_dot(p, "v4"))
			a->vec = 4;
		else if (ptx_accept_dot(p, "attribute")) {
			ptx_expect(p, '(');
			while (!ptx_accept(p, ')') && p->lx.t.kind != TK_EOF)
				ptx_next(p);
		} else if (ptx_is_dot(p, "texref") || ptx_is_dot(p, "samplerref") ||
			   ptx_is_dot(p, "surfref"))
			ptx_fail(p, p->lx.t.line,
				"texture and surface references are not implemented: use texture and surface objects");
		else
			ptx_unexpected(p, "a type that is implemented");
	}
	a->type = parse_type(p);
	if (a->type >= T_pred)
		ptx_fail(p, p->lx.t.line, "a variable of type .%s is not implemented",
			ptx_type_name[a->type]);
	/* nvcc writes `.u64 .ptr .global .align 4 name` for kernel parameters */
	if (ptx_accept_dot(p, "ptr")) {
		while (p->lx.t.kind == TK_DOT) {
			if (ptx_accept_dot(p, "align"))
				parse_align(p);
			else
				ptx_next(p);
		}
	}
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
	*at = ptx_align_up(*at, v->align);
	v->addr = *at;
	*at += v->size;
	if (*at > MAX_VAR_BYTES)
		ptx_fail(p, p->lx.t.line, "too much memory in '%s'", v->name);
}

void ptx_note_variable(struct ptx_parse *p, struct ptx_variable *v)
{
	struct ptx_function *fn = p->fn;
	struct ptx_module *m = p->m;

	if (fn) {
		fn->vars = ptx_grow(m, fn->vars, fn->nvars, &fn->capvars, sizeof(*fn->vars));
		fn->vars[fn->nvars++] = v;
	} else if (v->space == SP_SHARED) {
		m->shared = ptx_grow(m, m->shared, m->nshared, &m->capshared, sizeof(*m->shared));
		m->shared[m->nshared++] = v;
	}
}

/* The variable that a declaration names: a new one, or (*again) one that is extern until now. */
static struct ptx_variable *declared(
	struct ptx_parse *p, struct ptx_token t, enum ptx_space space, bool is_extern, bool *again)
{
	struct ptx_sym *y = ptx_lookup(p, t.s, t.n);
	struct ptx_variable *v;

	*again = y && y->kind == SY_VAR && y->depth == p->depth && y->var->is_extern;
	if (*again)
		return y->var;
	y = ptx_declare(p, t.s, t.n, SY_VAR);
	v = y->var = ptx_alloc(p->m, sizeof(*v));
	v->name = y->name;
	v->is_extern = is_extern;
	v->space = (uint8_t)space;
	v->in_kernel = p->fn && p->fn->is_entry;
	return v;
}

/* `= {...}`. Returns how many elements the outermost dimension got. */
static size_t parse_inits(
	struct ptx_parse *p, struct ptx_variable *v, struct ptx_dims ds, const struct ptx_attrs *a)
{
	unsigned line = p->lx.t.line;

	if (v->space != SP_GLOBAL && v->space != SP_CONST)
		ptx_fail(p, line, "only .global and .const variables have initial values");
	if (a->is_extern)
		ptx_fail(p, line, "'%s' is extern and has initial values", v->name);
	if (a->vec) { /* a vector is one more dimension */
		if (ds.n == 8)
			ptx_fail(p, line, "more than 8 dimensions");
		ds.d[ds.n++] = a->vec;
	}
	return parse_init(p, v, &ds, 0, 0, a->type);
}

/* n elements of the dimensions behind the first, or of all. */
static size_t variable_size(struct ptx_parse *p, const struct ptx_dims *ds, uint64_t n, size_t elem)
{
	size_t size;
	bool over = ckd_mul(&size, n, elem);

	for (unsigned k = 1; ds->open && k < ds->n; k++)
		over |= ckd_mul(&size, size, ds->d[k]);
	if (over || size > MAX_VAR_BYTES)
		ptx_fail(p, p->lx.t.line, "a variable this large is not possible");
	return size;
}

/* What one declaration says of a variable's memory. */
struct shape {
	size_t size, align;
	bool open, dynamic; /* open: of as many elements as another declaration says */
};

/* The first declaration, or another of an extern variable: what kernels were compiled for stays
 * true. */
static void set_shape(struct ptx_parse *p, struct ptx_variable *v, enum ptx_space space, bool again,
	const struct shape *s)
{
	bool placed = space == SP_SHARED && !s->dynamic; /* by its first declaration, in which
							    place_variable() saw its alignment */

	if (again && (v->space != space || v->dynamic != s->dynamic ||
			     (!v->open && !s->open && v->size != s->size) ||
			     (placed && s->align > v->align)))
		ptx_fail(p, p->lx.t.line, "'%s' is declared differently before", v->name);
	if (v->align < s->align)
		v->align = s->align;
	if (again && s->open)
		return;
	v->size = s->size;
	v->open = s->open;
	v->dynamic = s->dynamic;
}

bool ptx_init_fits(const struct ptx_variable *v, const struct ptx_init *i)
{
	return range_within(i->off, i->size, 0, v->size);
}

static void keep_variable(struct ptx_parse *p, struct ptx_variable *v)
{
	struct ptx_module *m = p->m;

	place_variable(p, v);
	ptx_note_variable(p, v);
	if (v->space != SP_GLOBAL && v->space != SP_CONST)
		return;
	m->pub = ptx_grow(m, m->pub, m->npub, &m->cappub, sizeof(*m->pub));
	m->pub[m->npub++] = v;
}

static void parse_declarator(struct ptx_parse *p, enum ptx_space space, const struct ptx_attrs *a)
{
	struct ptx_token t = ptx_expect_ident(p);
	size_t elem = ptx_type_bytes(a->type) * (a->vec ? a->vec : 1);
	bool again;
	struct ptx_variable *v = declared(p, t, space, a->is_extern, &again);
	struct ptx_dims ds;
	uint64_t n = ptx_parse_dims(p, &ds);
	struct shape s = {.align = a->align ? a->align : elem, .open = ds.open};

	if (ptx_accept(p, '=')) {
		size_t got = parse_inits(p, v, ds, a);
		n = ds.open ? got : n;
		s.open = false;
	}
	s.size = variable_size(p, &ds, n, elem);
	s.dynamic = space == SP_SHARED && a->is_extern && !s.size;
	set_shape(p, v, space, again, &s);
	v->is_extern &= a->is_extern;
	v->visible |= a->visible;
	for (size_t k = 0; k < v->ninits; k++)
		if (!ptx_init_fits(v, &v->inits[k]))
			ptx_fail(p, t.line, "an initial value of '%s' lies outside of it", v->name);
	if (!again)
		keep_variable(p, v);
}

void ptx_parse_variable(struct ptx_parse *p, enum ptx_space space, struct ptx_attrs a)
{
	ptx_parse_attrs(p, &a);
	do
		parse_declarator(p, space, &a);
	while (ptx_accept(p, ','));
	ptx_expect(p, ';');
}

void ptx_parse_reg(struct ptx_parse *p)
{
	unsigned type;

	if (ptx_is_dot(p, "v2") || ptx_is_dot(p, "v4"))
		ptx_fail(p, p->lx.t.line, "vector registers are not implemented");
	type = parse_type(p);
	if (type > T_pred)
		ptx_fail(p, p->lx.t.line, "registers of type .%s are not implemented",
			ptx_type_name[type]);
	do {
		struct ptx_token t = ptx_expect_ident(p);
		uint64_t count = 1;
		bool range = ptx_accept(p, '<');
		if (range) {
			count = ptx_expect_int(p);
			ptx_expect(p, '>');
			if (count > 1 << 20)
				ptx_fail(p, t.line, "too many registers");
		}
		struct ptx_sym *y = ptx_declare(p, t.s, t.n, range ? SY_RANGE : SY_REG);
		y->type = (uint8_t)type;
		y->count = (uint32_t)count;
		y->off = ptx_alloc(p->m, (count ? count : 1) * sizeof(*y->off));
		for (uint64_t k = 0; k < count; k++)
			y->off[k] = NO_REG;
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
}
