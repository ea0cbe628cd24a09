/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser and the evaluator of expressions about a lane, see lane-expr.h. The surprise: compiled
 * code is a list for a stack, and both sides of && and || are evaluated, so what the one does not
 * need may be bad.
 */
#include "softcore/lane-expr.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op_kind {
	X_NAME = LANE_NAME,
	X_INT,
	X_FLOAT,
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
	struct lane_expr *x;
	const struct lane_names *names;
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

static struct lane_op *emit(struct parser *q, enum op_kind kind)
{
	struct lane_op *o;

	if (q->x->n == LANE_OPS)
		fail(q, "the expression is too long");
	o = &q->x->op[q->x->n++];
	*o = (struct lane_op){.kind = (uint8_t)kind};
	return o;
}

static void blanks(struct parser *q)
{
	q->p += strspn(q->p, " \t");
}

/* --- operands --- */
size_t lane_word(const char *p)
{
	size_t n = *p == '%';

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' ||
		(n && p[n] == '.' && *p == '%' && isalpha((unsigned char)p[n + 1])))
		n++;
	return n;
}

size_t lane_builtin(const char *p, enum lane_builtin *ret, unsigned *ret_axis)
{
	static const char *const names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

	*ret_axis = 0;
	*ret = LANE_LANE;
	if (lane_word(p) == 4 && !strncmp(p, "lane", 4))
		return 4;
	for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		const size_t n = strlen(names[k]);

		if (!strncmp(p, names[k], n) && p[n] == '.' && p[n + 1] >= 'x' && p[n + 1] <= 'z' &&
			lane_word(p + n + 1) == 1) {
			*ret = (enum lane_builtin)k;
			*ret_axis = (unsigned)(p[n + 1] - 'x');
			return n + 2;
		}
	}
	return 0;
}

static const struct {
	const char *name;
	uint8_t bits;
} types[LANE_TYPES] = {{"u8", 8}, {"s8", 8}, {"u16", 16}, {"s16", 16}, {"u32", 32}, {"s32", 32},
	{"u64", 64}, {"s64", 64}, {"f32", 32}, {"f64", 64}};

static void binary(struct parser *q, unsigned level);

/* `f32[ADDRESS]` and `f32(X)`: true if that is here. */
static bool typed(struct parser *q)
{
	const size_t n = lane_word(q->p);
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
		emit(q, open == '[' ? X_LOAD : X_CAST)->type = (uint8_t)k;
		return true;
	}
	return false;
}

static void name(struct parser *q, bool address)
{
	struct lane_op o = {0};
	size_t n;

	if (!address && typed(q))
		return;
	n = q->names ? q->names->find(q->names->arg, q->p, address, &o) : 0;
	if (n) {
		struct lane_op *to = emit(q, X_NAME);

		*to = o;
		to->kind = X_NAME;
		q->p += n;
		return;
	}
	n = lane_word(q->p);
	if (*q->p == '%')
		fail(q, "there is no register %.*s here", (int)(n < 60 ? n : 60), q->p);
	fail(q, "there is no variable %.*s in %s", (int)(n < 60 ? n : 60), q->p,
		q->names ? q->names->where : "this");
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
		enum op_kind kind;
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
		q->p++;
		name(q, true);
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
		name(q, false);
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
		emit(q, (enum op_kind)operators[k].kind);
	}
}

const char *lane_compile(
	struct lane_expr *x, const struct lane_names *names, const char *text, char *why, size_t n)
{
	struct parser q = {.x = x, .names = names, .p = text, .why = why, .n = n};

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
static double as_float(const struct lane_value *v)
{
	return v->is_float ? v->f : (double)v->i;
}

bool lane_is_true(const struct lane_value *v)
{
	return v->is_float ? v->f != 0 : v->i != 0;
}

static int64_t as_int(const struct lane_value *v)
{
	if (!v->is_float)
		return v->i;
	return v->f > -9.2e18 && v->f < 9.2e18 ? (int64_t)v->f : 0;
}

static struct lane_value float_op(unsigned kind, double a, double b)
{
	struct lane_value v = {0};

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

static struct lane_value two_good(
	unsigned kind, const struct lane_value *a, const struct lane_value *b)
{
	if (kind == X_LAND || kind == X_LOR)
		return (struct lane_value){.i = kind == X_LAND
							? lane_is_true(a) && lane_is_true(b)
							: lane_is_true(a) || lane_is_true(b)};
	if ((a->is_float || b->is_float) && kind != X_MOD && kind != X_SHL && kind != X_SHR &&
		kind < X_AND)
		return float_op(kind, as_float(a), as_float(b));
	return (struct lane_value){.i = int_op(kind, as_int(a), as_int(b))};
}

/* What && and || do not need may be bad. */
static struct lane_value two(unsigned kind, const struct lane_value *a, const struct lane_value *b)
{
	struct lane_value v = two_good(kind, a, b);
	const bool enough = !a->bad && ((kind == X_LAND && !lane_is_true(a)) ||
					       (kind == X_LOR && lane_is_true(a)));

	v.bad = !enough && (a->bad || b->bad);
	return v;
}

static struct lane_value one_good(unsigned kind, const struct lane_value *a)
{
	if (kind == X_NOT)
		return (struct lane_value){.i = !lane_is_true(a)};
	if (kind == X_NEG && a->is_float)
		return (struct lane_value){.is_float = true, .f = -a->f};
	return (struct lane_value){.i = kind == X_NEG ? (int64_t)(0 - (uint64_t)a->i) : ~as_int(a)};
}

static struct lane_value one(unsigned kind, const struct lane_value *a)
{
	struct lane_value v = one_good(kind, a);

	v.bad = a->bad;
	return v;
}

struct lane_value lane_of_bits(uint64_t u, enum lane_type type)
{
	const unsigned bits = types[type].bits;
	float f;
	double d;

	if (type == LANE_F32) {
		memcpy(&f, &u, sizeof(f));
		return (struct lane_value){.is_float = true, .f = (double)f};
	}
	if (type == LANE_F64) {
		memcpy(&d, &u, sizeof(d));
		return (struct lane_value){.is_float = true, .f = d};
	}
	if (bits < 64 && types[type].name[0] == 'u')
		u &= (1ull << bits) - 1;
	else if (bits < 64)
		u = (uint64_t)((int64_t)(u << (64 - bits)) >> (64 - bits));
	return (struct lane_value){.i = (int64_t)u};
}

static struct lane_value load(const struct lane_op *o, const struct lane_reader *r, unsigned lane,
	const struct lane_value *a)
{
	const unsigned n = types[o->type].bits / 8;
	const uint8_t *p =
		a->bad || a->is_float ? NULL : r->memory(r->arg, lane, (uint64_t)a->i, n);
	uint64_t u = 0;

	if (!p)
		return (struct lane_value){.bad = true};
	memcpy(&u, p, n);
	return lane_of_bits(u, (enum lane_type)o->type);
}

static struct lane_value cast(const struct lane_op *o, const struct lane_value *a)
{
	struct lane_value v;

	if (o->type == LANE_F32)
		v = (struct lane_value){.is_float = true, .f = (double)(float)as_float(a)};
	else if (o->type == LANE_F64)
		v = (struct lane_value){.is_float = true, .f = as_float(a)};
	else
		v = lane_of_bits((uint64_t)as_int(a), (enum lane_type)o->type);
	v.bad = a->bad;
	return v;
}

static struct lane_value leaf(const struct lane_op *o, const struct lane_reader *r, unsigned lane)
{
	if (o->kind == X_NAME)
		return r->name(r->arg, o, lane);
	if (o->kind == X_FLOAT)
		return (struct lane_value){.is_float = true, .f = o->f};
	return (struct lane_value){.i = o->i};
}

struct lane_value lane_eval(const struct lane_expr *x, const struct lane_reader *r, unsigned lane)
{
	struct lane_value stack[LANE_OPS];
	unsigned n = 0;

	for (unsigned k = 0; k < x->n; k++) {
		const struct lane_op *o = &x->op[k];
		if (o->kind <= X_FLOAT) {
			stack[n++] = leaf(o, r, lane);
		} else if (o->kind == X_LOAD) {
			stack[n - 1] = load(o, r, lane, &stack[n - 1]);
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

void lane_declare(enum lane_type type, struct soft_value *ret)
{
	snprintf(ret->declared, sizeof(ret->declared), "%s", types[type].name);
	ret->bytes = types[type].bits / 8;
	ret->type = type >= LANE_F32		 ? SOFT_FLOAT
		    : types[type].name[0] == 'u' ? SOFT_UINT
						 : SOFT_INT;
}

void lane_type(const struct lane_expr *x, const struct lane_reader *r, struct soft_value *ret,
	int *ret_space)
{
	const struct lane_op *last = &x->op[x->n - 1];

	*ret_space = -1;
	ret->type = SOFT_INT;
	ret->bytes = 8;
	for (unsigned k = 0; k < x->n; k++)
		if (x->op[k].kind == X_NAME && x->op[k].is_address)
			*ret_space = x->op[k].space;
	if (last->kind == X_CAST || last->kind == X_LOAD) {
		*ret_space = -1;
		lane_declare((enum lane_type)last->type, ret);
	} else if (x->n == 1 && last->kind == X_NAME) {
		r->declare(last, ret);
	}
}

uint64_t lane_bits(const struct lane_value *v, const struct soft_value *type)
{
	const float f = (float)v->f;
	uint32_t u32;
	uint64_t u;

	if (type->type != SOFT_FLOAT)
		return type->bytes == 0 || type->bytes >= 8
			       ? (uint64_t)v->i
			       : (uint64_t)v->i & ((1ull << 8 * type->bytes) - 1);
	memcpy(&u32, &f, sizeof(u32));
	memcpy(&u, &v->f, sizeof(u));
	return type->bytes == 4 ? u32 : u;
}
