/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates conditions on commands, see expr.h. Runs in the agent on the inferior's threads and
 * over programs that lie in memory the inferior could overwrite: every index is checked, nothing is
 * allocated, nothing can trap.
 */
#include <string.h>
#include "sbt/expr.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

static struct sbt_value integer(uint64_t u, bool is_signed)
{
	return (struct sbt_value){is_signed ? SBT_V_SIGNED : SBT_V_UNSIGNED, u, 0};
}

static struct sbt_value floating(double f)
{
	return (struct sbt_value){SBT_V_FLOAT, 0, f};
}

static double as_double(struct sbt_value v)
{
	if (v.type == SBT_V_FLOAT)
		return v.f;
	return v.type == SBT_V_SIGNED ? (double)(int64_t)v.u : (double)v.u;
}

static uint64_t as_bits(struct sbt_value v)
{
	if (v.type != SBT_V_FLOAT)
		return v.u;
	if (v.f != v.f)
		return 0;
	if (v.f >= 9223372036854775808.0)
		return INT64_MAX;
	if (v.f < -9223372036854775808.0)
		return (uint64_t)INT64_MIN;
	return (uint64_t)(int64_t)v.f;
}

static bool truth(struct sbt_value v)
{
	return v.type == SBT_V_FLOAT ? v.f != 0 : v.u != 0;
}

/* --- operands --- */

static const struct sbt_field *find_field(const struct sbt_op *op, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d;

	if (!op->kind) {
		for (unsigned i = 0; sbt_common_fields[i].name; i++)
			if (i == op->index)
				return &sbt_common_fields[i];
		return NULL;
	}
	d = sbt_kind(op->kind);
	if (!d || op->index >= d->nfields)
		return NULL;
	return c->kind == op->kind ? &d->fields[op->index]
				   : sbt_field(c->kind, d->fields[op->index].name);
}

static struct sbt_value field_value(const struct sbt_op *op, const struct sbt_cmd *c)
{
	const struct sbt_field *f = find_field(op, c);

	if (!f || sbt_type_is_blob(f->type))
		return integer(0, false);
	return integer(sbt_get(c, f), f->type == SBT_T_INT);
}

/* Copies at most 8 bytes of parameter n, from byte `begin` of it, into ret; how many there were, 0
 * when there is no such parameter. */
static unsigned arg_bytes(uint64_t *ret, unsigned n, uint64_t begin, const struct sbt_cmd *c,
	const struct sbt_blob *params)
{
	const struct sbt_blob *args = &c->u.launch.args;
	uint32_t at[2]; /* offset, size */

	*ret = 0;
	if (c->kind != SBT_LAUNCH || !params || !params->p || !args->p || params->len / 8 <= n)
		return 0;
	memcpy(at, (const char *)params->p + (size_t)n * 8, sizeof at);
	if (at[0] > args->len || at[1] > args->len - at[0])
		return 0;
	if (begin >= at[1])
		return 0;
	at[1] -= (uint32_t)begin;
	if (at[1] > 8)
		at[1] = 8;
	memcpy(ret, (const char *)args->p + at[0] + begin, at[1]);
	return at[1];
}

static struct sbt_value arg_value(
	const struct sbt_op *op, const struct sbt_cmd *c, const struct sbt_blob *params)
{
	uint64_t bits;
	unsigned n = arg_bytes(&bits, op->index, op->value, c, params);
	float f32;
	double f64;

	switch ((enum sbt_view)op->type) {
	case SBT_VIEW_F32:
		memcpy(&f32, &bits, sizeof f32);
		return floating(n >= 4 ? f32 : 0);
	case SBT_VIEW_F64:
		memcpy(&f64, &bits, sizeof f64);
		return floating(n >= 8 ? f64 : 0);
	case SBT_VIEW_S8:
		return integer((uint64_t)(int8_t)bits, true);
	case SBT_VIEW_S16:
		return integer((uint64_t)(int16_t)bits, true);
	case SBT_VIEW_S32:
		return integer((uint64_t)(int32_t)bits, true);
	case SBT_VIEW_S64:
		return integer(bits, true);
	case SBT_VIEW_U8:
		return integer((uint8_t)bits, false);
	case SBT_VIEW_U16:
		return integer((uint16_t)bits, false);
	case SBT_VIEW_U32:
		return integer((uint32_t)bits, false);
	case SBT_VIEW_PLAIN:
	case SBT_VIEW_U64:
	default:
		return integer(bits, false);
	}
}

/* --- operators --- */

static struct sbt_value binary_float(unsigned op, double a, double b)
{
	switch (op) {
	case SBT_OP_EQ:
		return integer(a == b, true);
	case SBT_OP_NE:
		return integer(a != b, true);
	case SBT_OP_LT:
		return integer(a < b, true);
	case SBT_OP_LE:
		return integer(a <= b, true);
	case SBT_OP_GT:
		return integer(a > b, true);
	case SBT_OP_GE:
		return integer(a >= b, true);
	case SBT_OP_ADD:
		return floating(a + b);
	case SBT_OP_SUB:
		return floating(a - b);
	case SBT_OP_MUL:
		return floating(a * b);
	case SBT_OP_DIV:
		return floating(b == 0 ? 0 : a / b);
	default:
		return integer(0, true);
	}
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool want_rest)
{
	if (!b)
		return 0;
	if (!is_signed)
		return want_rest ? a % b : a / b;
	if (b == UINT64_MAX) /* -1: INT64_MIN / -1 traps */
		return want_rest ? 0 : -a;
	return (uint64_t)(want_rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

/* Less than, in the operands' common type */
static bool less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

/* The type of a shift is its left operand's; shifting by 64 or more leaves nothing but the sign. */
static uint64_t shift_right(uint64_t a, uint64_t by, bool is_signed)
{
	if (!is_signed)
		return by > 63 ? 0 : a >> by;
	return (uint64_t)((int64_t)a >> (by > 63 ? 63 : by));
}

static struct sbt_value binary_int(unsigned op, uint64_t a, uint64_t b, bool sa, bool sb)
{
	bool s = sa && sb;

	switch (op) {
	case SBT_OP_OR:
		return integer(a | b, s);
	case SBT_OP_XOR:
		return integer(a ^ b, s);
	case SBT_OP_AND:
		return integer(a & b, s);
	case SBT_OP_EQ:
		return integer(a == b, true);
	case SBT_OP_NE:
		return integer(a != b, true);
	case SBT_OP_LT:
		return integer(less(a, b, s), true);
	case SBT_OP_LE:
		return integer(!less(b, a, s), true);
	case SBT_OP_GT:
		return integer(less(b, a, s), true);
	case SBT_OP_GE:
		return integer(!less(a, b, s), true);
	case SBT_OP_SHL:
		return integer(b > 63 ? 0 : a << b, sa);
	case SBT_OP_SHR:
		return integer(shift_right(a, b, sa), sa);
	case SBT_OP_ADD:
		return integer(a + b, s);
	case SBT_OP_SUB:
		return integer(a - b, s);
	case SBT_OP_MUL:
		return integer(a * b, s);
	case SBT_OP_DIV:
	case SBT_OP_MOD:
		return integer(divide(a, b, s, op == SBT_OP_MOD), s);
	default:
		return integer(0, true);
	}
}

static struct sbt_value binary(unsigned op, struct sbt_value a, struct sbt_value b)
{
	bool both;

	if (op == SBT_OP_OROR || op == SBT_OP_ANDAND) {
		both = truth(a) && truth(b);
		return integer(op == SBT_OP_ANDAND ? both : truth(a) || truth(b), true);
	}
	if ((a.type == SBT_V_FLOAT || b.type == SBT_V_FLOAT) && op != SBT_OP_OR &&
		op != SBT_OP_XOR && op != SBT_OP_AND && op != SBT_OP_SHL && op != SBT_OP_SHR &&
		op != SBT_OP_MOD)
		return binary_float(op, as_double(a), as_double(b));
	return binary_int(
		op, as_bits(a), as_bits(b), a.type != SBT_V_UNSIGNED, b.type != SBT_V_UNSIGNED);
}

static struct sbt_value unary(unsigned op, struct sbt_value v)
{
	switch (op) {
	case SBT_OP_NOT:
		return integer(!truth(v), true);
	case SBT_OP_INVERT:
		return integer(~as_bits(v), v.type != SBT_V_UNSIGNED);
	default:
		return v.type == SBT_V_FLOAT ? floating(-v.f)
					     : integer(-v.u, v.type == SBT_V_SIGNED);
	}
}

static struct sbt_value constant(const struct sbt_op *op)
{
	double f;

	if (op->type != SBT_V_FLOAT)
		return integer(op->value, op->type == SBT_V_SIGNED);
	memcpy(&f, &op->value, sizeof f);
	return floating(f);
}

/* --- Python frames --- */

bool sbt_python_is(enum sbt_python what, const char *text, bool glob, const char *name)
{
	const char between = what == SBT_PY_FILE ? '/' : '.';
	const char *last = strrchr(name, between);
	size_t n = strlen(name), k = strlen(text);

	if (glob)
		return sbt_kernel_glob(text, name, last ? last + 1 : NULL);
	if (k > n || strcmp(name + n - k, text) != 0)
		return false;
	return k == n || (k && name[n - k - 1] == between);
}

static struct sbt_value python_value(
	const struct sbt_expr *e, const struct sbt_op *op, const struct sbt_python_view *view)
{
	const char *text = e->text + (op->index < SBT_EXPR_TEXT ? op->index : SBT_EXPR_TEXT - 1);
	bool yes;

	if (op->type == SBT_PY_LINE)
		return integer(view ? view->answer(view->arg, SBT_PY_LINE, "", false) : 0, true);
	if (op->type > SBT_PY_LINE || !memchr(text, 0, (size_t)(e->text + SBT_EXPR_TEXT - text)))
		return integer(0, true);
	yes = view &&
	      view->answer(view->arg, (enum sbt_python)op->type, text, op->value & SBT_TEXT_GLOB);
	return integer(yes != (op->value & SBT_TEXT_NOT ? true : false), true);
}

bool sbt_expr_asks_python(const struct sbt_expr *e)
{
	for (unsigned i = 0; i < e->n && i < SBT_EXPR_MAX; i++)
		if (e->ops[i].op == SBT_OP_PYTHON)
			return true;
	return false;
}

struct sbt_value sbt_expr_eval_in(const struct sbt_expr *e, const struct sbt_cmd *c,
	const struct sbt_blob *params, const struct sbt_python_view *view)
{
	struct sbt_value stack[SBT_EXPR_MAX];
	unsigned depth = 0, n = e->n < SBT_EXPR_MAX ? e->n : SBT_EXPR_MAX;

	for (unsigned i = 0; i < n; i++) {
		const struct sbt_op *op = &e->ops[i];

		if (op->op == SBT_OP_CONST) {
			stack[depth++] = constant(op);
		} else if (op->op == SBT_OP_FIELD) {
			stack[depth++] = field_value(op, c);
		} else if (op->op == SBT_OP_ARG) {
			stack[depth++] = arg_value(op, c, params);
		} else if (op->op == SBT_OP_PYTHON) {
			stack[depth++] = python_value(e, op, view);
		} else if (op->op >= SBT_OP_NOT && op->op <= SBT_OP_NEGATE && depth >= 1) {
			stack[depth - 1] = unary(op->op, stack[depth - 1]);
		} else if (op->op >= SBT_OP_OROR && op->op <= SBT_OP_MOD && depth >= 2) {
			stack[depth - 2] = binary(op->op, stack[depth - 2], stack[depth - 1]);
			depth--;
		} else {
			return integer(0, true);
		}
	}
	return depth ? stack[depth - 1] : integer(1, true);
}

bool sbt_expr_true_in(const struct sbt_expr *e, const struct sbt_cmd *c,
	const struct sbt_blob *params, const struct sbt_python_view *view)
{
	return truth(sbt_expr_eval_in(e, c, params, view));
}

struct sbt_value sbt_expr_eval(
	const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params)
{
	return sbt_expr_eval_in(e, c, params, NULL);
}

bool sbt_expr_true(const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params)
{
	return truth(sbt_expr_eval(e, c, params));
}

int64_t sbt_expr_value(
	const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params)
{
	return (int64_t)as_bits(sbt_expr_eval(e, c, params));
}
