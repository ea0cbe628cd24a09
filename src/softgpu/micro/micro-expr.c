/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope's expressions: registers (%r4, %tid.x), variables of the PTX text (their
 * addresses), numbers, and C's operators with C's precedence. Compiled once, since a breakpoint's
 * condition is evaluated for every lane at every pass. Integers are 64 bits, signed; a register of
 * type .bN counts as signed.
 */
#include "softgpu/micro/micro.h"

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
	X_NEG,
	X_NOT,
	X_INV,
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

static void name(struct parser *q)
{
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

static void binary(struct parser *q, unsigned level);

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
	if (*q->p == '(') {
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

static struct micro_value two(
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

static struct micro_value one(unsigned kind, const struct micro_value *a)
{
	if (kind == X_NOT)
		return (struct micro_value){.i = !is_true(a)};
	if (kind == X_NEG && a->is_float)
		return (struct micro_value){.is_float = true, .f = -a->f};
	return (struct micro_value){
		.i = kind == X_NEG ? (int64_t)(0 - (uint64_t)a->i) : ~as_int(a)};
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
		if (o->kind <= X_VAR) {
			stack[n++] = leaf(o, w, frame, lane);
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
	const struct micro_op *o = &x->op[0];

	*ret_space = -1;
	ret->type = SOFT_INT;
	ret->bytes = 8;
	for (unsigned k = 0; k < x->n; k++)
		if (x->op[k].kind == X_VAR)
			*ret_space = x->op[k].space;
	if (x->n == 1 && o->kind == X_REG)
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
