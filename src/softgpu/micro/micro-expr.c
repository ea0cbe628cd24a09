/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope's expressions: registers (%r4, %tid.x), variables of the PTX text (their
 * addresses), numbers, and C's operators with C's precedence. Compiled once, since a breakpoint's
 * condition is evaluated for every lane at every pass. Integers are 64 bits, signed; a register of
 * type .bN counts as signed. `f32[ADDRESS]` reads memory at a generic address, `f32(X)` makes X one
 * of that type, `&NAME` is the generic address of a variable.
 */
#include "softgpu/micro/micro.h"
#include "base/checked.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum micro_op_kind {
	X_INT,
	X_FLOAT,
	X_REG,
	X_SREG,
	X_VAR,
	X_GENERIC, /* the generic address of a variable */
	X_NEG,
	X_NOT,
	X_INV,
	X_LOAD,
	X_CAST,
	X_MUL,
	X_DIV,
	X_MOD,
	X_ADD,
	X_SUB,
	X_SHL,
	X_SHR,
	X_LT,
	X_LE,
	X_GT,
	X_GE,
	X_EQ,
	X_NE,
	X_AND,
	X_XOR,
	X_OR,
	X_LAND,
	X_LOR
};

struct parser {
	struct micro_expr *x;
	const struct ptx_function *fn;
	uint32_t pc;
	const char *p;
	unsigned depth;
	char *why;
	size_t n;
	jmp_buf out;
};

static _Noreturn void __attribute__((format(printf, 2, 3)))
fail(struct parser *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->why, q->n, fmt, ap);
	va_end(ap);
	longjmp(q->out, 1);
}

static struct micro_op *emit(struct parser *q, enum micro_op_kind kind)
{
	struct micro_op *o;

	if (q->x->n == MICRO_OPS)
		fail(q, "the expression is too long");
	o = &q->x->op[q->x->n++];
	*o = (struct micro_op){.kind = (uint8_t)kind};
	return o;
}

static void blanks(struct parser *q)
{
	q->p += strspn(q->p, " \t");
}

/* --- operands --- */
static size_t word_length(const char *p)
{
	size_t n = *p == '%';

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' ||
		(n && p[n] == '.' && *p == '%' && isalpha((unsigned char)p[n + 1])))
		n++;
	return n;
}

static bool special(struct parser *q, const char *name, size_t n)
{
	const int k = ptx_sreg_find(name, n);

	if (k >= 0)
		emit(q, X_SREG)->off = k;
	return k >= 0;
}

/* CUDA's names of special registers; returns the length of the one that p begins with, or 0. */
static size_t builtin(const char *p, const char **ret)
{
	static const struct {
		const char *cuda, *ptx[3];
	} names[] = {{"threadIdx", {"%tid.x", "%tid.y", "%tid.z"}},
		{"blockIdx", {"%ctaid.x", "%ctaid.y", "%ctaid.z"}},
		{"blockDim", {"%ntid.x", "%ntid.y", "%ntid.z"}},
		{"gridDim", {"%nctaid.x", "%nctaid.y", "%nctaid.z"}}};

	if (word_length(p) == 4 && !strncmp(p, "lane", 4)) {
		*ret = "%laneid";
		return 4;
	}
	for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		const size_t n = strlen(names[k].cuda);

		if (!strncmp(p, names[k].cuda, n) && p[n] == '.' && p[n + 1] >= 'x' &&
			p[n + 1] <= 'z' && word_length(p + n + 1) == 1) {
			*ret = names[k].ptx[p[n + 1] - 'x'];
			return n + 2;
		}
	}
	return 0;
}

static const struct {
	const char *name;
	uint8_t type;
} types[] = {{"u8", T_u8}, {"s8", T_s8}, {"u16", T_u16}, {"s16", T_s16}, {"u32", T_u32},
	{"s32", T_s32}, {"u64", T_u64}, {"s64", T_s64}, {"f32", T_f32}, {"f64", T_f64}};

static void binary(struct parser *q, unsigned level);

/* `f32[ADDRESS]` and `f32(X)`: true if that is here. */
static bool typed(struct parser *q)
{
	const size_t n = word_length(q->p);
	const char open = q->p[n], close = open == '[' ? ']' : ')';

	for (unsigned k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
		if (strlen(types[k].name) != n || memcmp(q->p, types[k].name, n) ||
			(open != '[' && open != '('))
			continue;
		q->p += n + 1;
		binary(q, 0);
		blanks(q);
		if (*q->p++ != close)
			fail(q, "a bracket is not closed");
		emit(q, open == '[' ? X_LOAD : X_CAST)->type = types[k].type;
		return true;
	}
	return false;
}

static void generic(struct parser *q)
{
	const size_t n = word_length(++q->p);
	const struct ptx_variable *v = q->fn && n ? micro_var(q->fn, q->p, n) : NULL;

	if (!v)
		fail(q, "there is no variable %.*s in the PTX", (int)(n < 60 ? n : 60), q->p);
	emit(q, X_GENERIC)->var = v;
	q->p += n;
}

static void name(struct parser *q)
{
	const char *known;
	size_t length = builtin(q->p, &known);

	if (length) {
		emit(q, X_SREG)->off = ptx_sreg_find(known, strlen(known));
		q->p += length;
		return;
	}
	if (typed(q))
		return;
	size_t n = word_length(q->p);
	const struct ptx_regname *r = q->fn ? micro_reg(q->fn, q->pc, q->p, n) : NULL;
	const struct ptx_variable *v = r || !q->fn ? NULL : micro_var(q->fn, q->p, n);
	const char *text = q->p;

	q->p += n;
	if (r) {
		struct micro_op *o = emit(q, X_REG);
		o->off = r->off;
		o->type = r->type;
		return;
	}
	if (v) {
		struct micro_op *o = emit(q, X_VAR);
		o->var = v;
		o->space = v->space;
		return;
	}
	if (special(q, text, n))
		return;
	if (*text == '%')
		fail(q, "there is no register %.*s here", (int)(n < 60 ? n : 60), text);
	fail(q, "there is no variable %.*s in the PTX", (int)(n < 60 ? n : 60), text);
}

static void number(struct parser *q)
{
	char *end, *fend;
	uint64_t v = strtoull(q->p, &end, 0);
	double f = strtod(q->p, &fend);

	if (fend > end) {
		emit(q, X_FLOAT)->f = f;
		end = fend;
	} else {
		emit(q, X_INT)->i = (int64_t)v;
	}
	if (isalnum((unsigned char)*end) || *end == '_')
		fail(q, "\"%.20s\" is no number", q->p);
	q->p = end;
}

static void unary(struct parser *q)
{
	static const struct {
		char c;
		enum micro_op_kind kind;
	} ops[] = {{'-', X_NEG}, {'!', X_NOT}, {'~', X_INV}};

	if (++q->depth > 64)
		fail(q, "too many brackets");
	blanks(q);
	for (unsigned k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (*q->p == ops[k].c) {
			q->p++;
			unary(q);
			emit(q, ops[k].kind);
			q->depth--;
			return;
		}
	if (*q->p == '&') {
		generic(q);
	} else if (*q->p == '(') {
		q->p++;
		binary(q, 0);
		blanks(q);
		if (*q->p != ')')
			fail(q, "a bracket is not closed");
		q->p++;
	} else if (isdigit((unsigned char)*q->p) ||
		   (*q->p == '.' && isdigit((unsigned char)q->p[1]))) {
		number(q);
	} else if (*q->p == '%' || *q->p == '_' || *q->p == '$' || isalpha((unsigned char)*q->p)) {
		name(q);
	} else {
		fail(q,
			*q->p ? "\"%.20s\" is neither a register nor a number"
			      : "the expression ends too soon%s",
			q->p);
	}
	q->depth--;
}

/* --- operators, by level --- */
static const struct {
	const char *text;
	uint8_t level, kind;
} operators[] = {
	/* the longer ones first */
	{"||", 0, X_LOR},
	{"&&", 1, X_LAND},
	{"==", 5, X_EQ},
	{"!=", 5, X_NE},
	{"<<", 7, X_SHL},
	{">>", 7, X_SHR},
	{"<=", 6, X_LE},
	{">=", 6, X_GE},
	{"|", 2, X_OR},
	{"^", 3, X_XOR},
	{"&", 4, X_AND},
	{"<", 6, X_LT},
	{">", 6, X_GT},
	{"+", 8, X_ADD},
	{"-", 8, X_SUB},
	{"*", 9, X_MUL},
	{"/", 9, X_DIV},
	{"%", 9, X_MOD},
};

static int operator_here(struct parser *q)
{
	blanks(q);
	for (unsigned k = 0; k < sizeof(operators) / sizeof(operators[0]); k++)
		if (!strncmp(q->p, operators[k].text, strlen(operators[k].text)))
			return (int)k;
	return -1;
}

static void binary(struct parser *q, unsigned level)
{
	int k;

	unary(q);
	while ((k = operator_here(q)) >= 0 && operators[k].level >= level) {
		q->p += strlen(operators[k].text);
		binary(q, operators[k].level + 1u);
		emit(q, (enum micro_op_kind)operators[k].kind);
	}
}

const char *micro_compile(struct micro_expr *x, const struct ptx_function *fn, uint32_t pc,
	const char *text, char *why, size_t n)
{
	struct parser q = {.x = x, .fn = fn, .pc = pc, .p = text, .why = why, .n = n};

	x->n = 0;
	if (setjmp(q.out))
		return q.why;
	binary(&q, 0);
	blanks(&q);
	if (*q.p)
		fail(&q, "\"%.20s\" is too much", q.p);
	return NULL;
}

/* --- values --- */
struct micro_value micro_reg_value(const uint8_t *frame, int32_t off, unsigned type, unsigned lane)
{
	struct micro_value v = {0};
	unsigned bits = ptx_type_bits[type];
	uint64_t u;
	uint32_t u32;

	if (type == T_pred) {
		v.i = *(const u32a *)(frame + off) >> lane & 1;
		return v;
	}
	u = bits == 64 ? ((const u64a *)(frame + off))[lane] : ((const u32a *)(frame + off))[lane];
	if (type == T_f32) {
		u32 = (uint32_t)u;
		v.is_float = true;
		v.f = (double)ptx_u2f(u32);
	} else if (type == T_f64) {
		v.is_float = true;
		v.f = ptx_u2d(u);
	} else if ((type >= T_u8 && type <= T_u64) || bits == 64 || !bits || bits > 64) {
		v.i = (int64_t)(bits < 64 ? u & ((1ull << bits) - 1) : u);
	} else {
		v.i = (int64_t)(u << (64 - bits)) >> (64 - bits);
	}
	return v;
}

static struct micro_value special_value(const struct ptx_warp *w, unsigned sreg, unsigned lane)
{
	struct ptx_special s = {.sreg = (uint8_t)sreg};

	return (struct micro_value){
		.i = (int64_t)(sreg > SR_VOLATILE ? ptx_clock(w, sreg)
						  : ptx_special_value(w, &s, lane))};
}

static double as_float(const struct micro_value *v)
{
	return v->is_float ? v->f : (double)v->i;
}

static bool is_true(const struct micro_value *v)
{
	return v->is_float ? v->f != 0 : v->i != 0;
}

static int64_t as_int(const struct micro_value *v)
{
	if (!v->is_float)
		return v->i;
	return v->f > -9.2e18 && v->f < 9.2e18 ? (int64_t)v->f : 0;
}

static struct micro_value float_op(unsigned kind, double a, double b)
{
	struct micro_value v = {0};

	switch (kind) {
	case X_MUL:
		v.f = a * b;
		break;
	case X_DIV:
		v.f = a / b;
		break;
	case X_ADD:
		v.f = a + b;
		break;
	case X_SUB:
		v.f = a - b;
		break;
	case X_LT:
		v.i = a < b;
		return v;
	case X_LE:
		v.i = a <= b;
		return v;
	case X_GT:
		v.i = a > b;
		return v;
	case X_GE:
		v.i = a >= b;
		return v;
	case X_EQ:
		v.i = a == b;
		return v;
	case X_NE:
		v.i = a != b;
		return v;
	default:
		return v;
	}
	v.is_float = true;
	return v;
}

static int64_t int_op(unsigned kind, int64_t a, int64_t b)
{
	const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;

	switch (kind) {
	case X_MUL:
		return (int64_t)(ua * ub);
	case X_DIV:
		return !b ? 0 : b == -1 ? (int64_t)(0 - ua) : a / b;
	case X_MOD:
		return !b || b == -1 ? 0 : a % b;
	case X_ADD:
		return (int64_t)(ua + ub);
	case X_SUB:
		return (int64_t)(ua - ub);
	case X_SHL:
		return ub < 64 ? (int64_t)(ua << ub) : 0;
	case X_SHR:
		return ub < 64 ? a >> b : a < 0 ? -1 : 0;
	case X_LT:
		return a < b;
	case X_LE:
		return a <= b;
	case X_GT:
		return a > b;
	case X_GE:
		return a >= b;
	case X_EQ:
		return a == b;
	case X_NE:
		return a != b;
	case X_AND:
		return a & b;
	case X_XOR:
		return a ^ b;
	default:
		return a | b;
	}
}

static struct micro_value two_good(
	unsigned kind, const struct micro_value *a, const struct micro_value *b)
{
	if (kind == X_LAND || kind == X_LOR)
		return (struct micro_value){
			.i = kind == X_LAND ? is_true(a) && is_true(b) : is_true(a) || is_true(b)};
	if ((a->is_float || b->is_float) && kind != X_MOD && kind != X_SHL && kind != X_SHR &&
		kind < X_AND)
		return float_op(kind, as_float(a), as_float(b));
	return (struct micro_value){.i = int_op(kind, as_int(a), as_int(b))};
}

/* What && and || do not need may be bad. */
static struct micro_value two(
	unsigned kind, const struct micro_value *a, const struct micro_value *b)
{
	struct micro_value v = two_good(kind, a, b);
	const bool enough =
		!a->bad && ((kind == X_LAND && !is_true(a)) || (kind == X_LOR && is_true(a)));

	v.bad = !enough && (a->bad || b->bad);
	return v;
}

static struct micro_value one_good(unsigned kind, const struct micro_value *a)
{
	if (kind == X_NOT)
		return (struct micro_value){.i = !is_true(a)};
	if (kind == X_NEG && a->is_float)
		return (struct micro_value){.is_float = true, .f = -a->f};
	return (struct micro_value){
		.i = kind == X_NEG ? (int64_t)(0 - (uint64_t)a->i) : ~as_int(a)};
}

static struct micro_value one(unsigned kind, const struct micro_value *a)
{
	struct micro_value v = one_good(kind, a);

	v.bad = a->bad;
	return v;
}

static uint64_t window_of(unsigned space)
{
	return space == SP_SHARED  ? PTX_WIN_SHARED
	       : space == SP_LOCAL ? PTX_WIN_LOCAL
	       : space == SP_PARAM ? PTX_WIN_PARAM
				   : 0;
}

/* The n bytes at a generic address, as the lane sees them; NULL: they are not there. Other blocks'
 * shared memory is not. */
static const uint8_t *memory_at(const struct ptx_warp *w, unsigned lane, uint64_t a, unsigned n)
{
	const struct ptx_cached *c;
	const uint64_t at = (uint32_t)a;

	switch (PTX_WIN(a)) {
	case PTX_WIN_SHARED:
		return range_within(at, n, 0, w->blk->shared_size) ? w->blk->shared + at : NULL;
	case PTX_WIN_LOCAL:
		return range_within(at, n, 0, w->lstride) ? w->local + lane * w->lstride + at
							  : NULL;
	case PTX_WIN_PARAM:
		return range_within(at, n, 0, w->frames[0].fn->param_bytes)
			       ? (const uint8_t *)w->wk->l->params + at
			       : NULL;
	default:
		c = ptx_find_range(w->wk, a);
		return c && c->end - a >= n ? (const uint8_t *)(uintptr_t)a : NULL;
	}
}

static struct micro_value of_bits(uint64_t u, unsigned type)
{
	const unsigned bits = ptx_type_bits[type];

	if (type == T_f32)
		return (struct micro_value){.is_float = true, .f = (double)ptx_u2f((uint32_t)u)};
	if (type == T_f64)
		return (struct micro_value){.is_float = true, .f = ptx_u2d(u)};
	if (bits < 64 && type >= T_u8 && type <= T_u64)
		u &= (1ull << bits) - 1;
	else if (bits < 64)
		u = (uint64_t)((int64_t)(u << (64 - bits)) >> (64 - bits));
	return (struct micro_value){.i = (int64_t)u};
}

static struct micro_value load(const struct micro_op *o, const struct ptx_warp *w, unsigned lane,
	const struct micro_value *a)
{
	const unsigned n = ptx_type_bits[o->type] / 8;
	const uint8_t *p = a->bad || a->is_float ? NULL : memory_at(w, lane, (uint64_t)a->i, n);
	uint64_t u = 0;

	if (!p)
		return (struct micro_value){.bad = true};
	memcpy(&u, p, n);
	return of_bits(u, o->type);
}

static struct micro_value cast(const struct micro_op *o, const struct micro_value *a)
{
	struct micro_value v;

	if (o->type == T_f32)
		v = (struct micro_value){.is_float = true, .f = (double)(float)as_float(a)};
	else if (o->type == T_f64)
		v = (struct micro_value){.is_float = true, .f = as_float(a)};
	else
		v = of_bits((uint64_t)as_int(a), o->type);
	v.bad = a->bad;
	return v;
}

static struct micro_value leaf(
	const struct micro_op *o, const struct ptx_warp *w, unsigned frame, unsigned lane)
{
	switch (o->kind) {
	case X_FLOAT:
		return (struct micro_value){.is_float = true, .f = o->f};
	case X_REG:
		return micro_reg_value(micro_frame(w, frame), o->off, o->type, lane);
	case X_SREG:
		return special_value(w, (unsigned)o->off, lane);
	case X_VAR:
		return (struct micro_value){.i = (int64_t)micro_var_addr(o->var, w, frame)};
	case X_GENERIC:
		return (struct micro_value){.i = (int64_t)(micro_var_addr(o->var, w, frame) +
							   window_of(o->var->space))};
	default:
		return (struct micro_value){.i = o->i};
	}
}

struct micro_value micro_eval(
	const struct micro_expr *x, const struct ptx_warp *w, unsigned frame, unsigned lane)
{
	struct micro_value stack[MICRO_OPS];
	unsigned n = 0;

	for (unsigned k = 0; k < x->n; k++) {
		const struct micro_op *o = &x->op[k];
		if (o->kind <= X_GENERIC) {
			stack[n++] = leaf(o, w, frame, lane);
		} else if (o->kind == X_LOAD) {
			stack[n - 1] = load(o, w, lane, &stack[n - 1]);
		} else if (o->kind == X_CAST) {
			stack[n - 1] = cast(o, &stack[n - 1]);
		} else if (o->kind <= X_INV) {
			stack[n - 1] = one(o->kind, &stack[n - 1]);
		} else {
			n--;
			stack[n - 1] = two(o->kind, &stack[n - 1], &stack[n]);
		}
	}
	return stack[0];
}

/* --- how they are shown --- */
void micro_declare(unsigned type, struct soft_value *ret)
{
	unsigned bits = ptx_type_bits[type];

	snprintf(ret->declared, sizeof(ret->declared), "%.7s",
		ptx_type_name[type] ? ptx_type_name[type] : "");
	ret->bytes = bits < 8 ? 0 : bits / 8;
	ret->type = type == T_pred		     ? SOFT_BOOL
		    : type == T_f32 || type == T_f64 ? SOFT_FLOAT
		    : (type >= T_u8 && type <= T_u64) || type == T_f16 || type == T_bf16 ||
				    type == T_f16x2 || type == T_bf16x2
			    ? SOFT_UINT
			    : SOFT_INT;
}

void micro_type(const struct micro_expr *x, struct soft_value *ret, int *ret_space)
{
	const struct micro_op *o = &x->op[0], *last = &x->op[x->n - 1];

	*ret_space = -1;
	ret->type = SOFT_INT;
	ret->bytes = 8;
	for (unsigned k = 0; k < x->n; k++)
		if (x->op[k].kind == X_VAR || x->op[k].kind == X_GENERIC)
			*ret_space = x->op[k].space;
	if (last->kind == X_CAST || last->kind == X_LOAD)
		*ret_space = -1;
	if (last->kind == X_CAST || last->kind == X_LOAD)
		micro_declare(last->type, ret);
	else if (x->n == 1 && o->kind == X_REG)
		micro_declare(o->type, ret);
	else if (x->n == 1 && o->kind == X_SREG) {
		ret->type = SOFT_UINT;
		ret->bytes = ptx_sregs[o->off].bits / 8;
	}
}

uint64_t micro_bits(const struct micro_value *v, const struct soft_value *type)
{
	if (type->type != SOFT_FLOAT)
		return type->bytes == 0 || type->bytes >= 8
			       ? (uint64_t)v->i
			       : (uint64_t)v->i & ((1ull << 8 * type->bytes) - 1);
	return type->bytes == 4 ? ptx_f2u((float)v->f) : ptx_d2u(v->f);
}
