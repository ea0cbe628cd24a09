/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles the text of a condition into postfix operations, see expr.h. Precedence climbing over a
 * table. The one odd thing: a name right after `FIELD ==` or `!=` is looked up among the values of
 * that field's enumeration first, so that `scope == stream` means the scope and not the stream.
 */
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sbt/expr.h"
#include "sbt/fields.h"

#define NESTING_MAX 48
#define NAME_MAX_LEN 63
#define NO_HINT (-1)
#define HINT_KIND (-2)	    /* names of kinds */
#define ARG_BYTES_MAX 32768 /* more than a launch has */

struct parser {
	struct sbt_expr *e;
	const char *p;
	char *why;
	size_t why_size;
	unsigned nesting;
	size_t ntext;
	int hint; /* enum sbt_type that the next name is looked up in first */
};

static bool parse_binary(struct parser *p, unsigned min);

static bool fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (p->why_size)
		vsnprintf(p->why, p->why_size, fmt, ap);
	va_end(ap);
	return false;
}

static bool emit(struct parser *p, struct sbt_op op)
{
	if (p->e->n == SBT_EXPR_MAX)
		return fail(p, "the condition is too long: at most %d operands and operators",
			SBT_EXPR_MAX);
	p->e->ops[p->e->n++] = op;
	return true;
}

static void skip_space(struct parser *p)
{
	while (*p->p == ' ' || *p->p == '\t')
		p->p++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* --- numbers --- */

static bool emit_integer(struct parser *p, uint64_t v)
{
	return emit(p, (struct sbt_op){.op = SBT_OP_CONST,
			       .type = v > INT64_MAX ? SBT_V_UNSIGNED : SBT_V_SIGNED,
			       .value = v});
}

static bool emit_double(struct parser *p)
{
	struct sbt_op op = {.op = SBT_OP_CONST, .type = SBT_V_FLOAT};
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;
	double f;

	if (!c)
		return fail(p, "out of memory");
	f = strtod_l(p->p, &end, c);
	freelocale(c);
	p->p = end;
	if (*p->p == 'f')
		p->p++;
	if (is_name(*p->p) || *p->p == '.')
		return fail(p, "\"%.20s\" after a number", p->p);
	memcpy(&op.value, &f, sizeof f);
	return emit(p, op);
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* A run of digits that is followed by '.', or by an exponent, is a floating number. */
static bool looks_floating(const char *s)
{
	while (is_digit(*s))
		s++;
	return *s == '.' || *s == 'e' || *s == 'E';
}

static bool parse_number(struct parser *p)
{
	uint64_t v = 0;
	unsigned base = 10, shift = 0;

	if (p->p[0] == '0' && (p->p[1] == 'x' || p->p[1] == 'X')) {
		base = 16;
		p->p += 2;
		if (digit_value(*p->p) >= 16)
			return fail(p, "no hexadecimal digits after 0x");
	} else if (looks_floating(p->p)) {
		return emit_double(p);
	}
	for (; digit_value(*p->p) < (int)base; p->p++)
		if (__builtin_mul_overflow(v, base, &v) ||
			__builtin_add_overflow(v, (uint64_t)digit_value(*p->p), &v))
			return fail(p, "a number does not fit in 64 bits");
	if (*p->p == 'K')
		shift = 10;
	else if (*p->p == 'M')
		shift = 20;
	else if (*p->p == 'G')
		shift = 30;
	p->p += shift != 0;
	if (v << shift >> shift != v)
		return fail(p, "a number does not fit in 64 bits");
	if (is_name(*p->p))
		return fail(p, "\"%.20s\" after a number; the suffixes are K, M and G", p->p);
	return emit_integer(p, v << shift);
}

/* --- names --- */

/* The value called name of one enumeration. */
static bool enum_value(enum sbt_type type, const char *name, uint64_t *ret)
{
	const char *s;

	for (uint64_t v = 0; (s = sbt_enum_name(type, v)) != NULL; v++)
		if (strcmp(s, name) == 0) {
			*ret = v;
			return true;
		}
	return false;
}

/* A name out of any enumeration: found, and the same number in each that has it. */
static bool any_enum_value(struct parser *p, const char *name, uint64_t *ret, bool *ret_ambiguous)
{
	bool found = false;
	uint64_t v;

	*ret_ambiguous = false;
	for (int t = SBT_T_ENUM_COPY; t <= SBT_T_ENUM_NODE; t++) {
		if (!enum_value((enum sbt_type)t, name, &v))
			continue;
		*ret_ambiguous |= found && v != *ret;
		*ret = v;
		found = true;
	}
	return found;
}

/* The field: of the kind compiled for, else of the first kind that has one, else a common one. */
static bool find_field(
	struct parser *p, const char *name, struct sbt_op *ret, const struct sbt_field **ret_field)
{
	unsigned first = p->e->kind ? p->e->kind : 1,
		 last = p->e->kind ? p->e->kind : SBT_KIND_END - 1;

	*ret = (struct sbt_op){.op = SBT_OP_FIELD};
	for (unsigned i = 0; sbt_common_fields[i].name; i++)
		if (strcmp(sbt_common_fields[i].name, name) == 0) {
			ret->index = (uint16_t)i;
			*ret_field = &sbt_common_fields[i];
			return true;
		}
	for (unsigned k = first; k <= last; k++) {
		const struct sbt_field *f = sbt_field(k, name);

		if (f) {
			ret->kind = k;
			ret->index = (uint16_t)(f - sbt_kind(k)->fields);
			*ret_field = f;
			return true;
		}
	}
	return false;
}

static bool unknown_name(struct parser *p, const char *name)
{
	const struct sbt_kind_desc *d = sbt_kind(p->e->kind);
	char list[512] = "";
	size_t len = 0;

	if (!d)
		return fail(p, "no command has a field \"%s\"", name);
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		if (sbt_type_is_blob(f->type) || len + strlen(f->name) + 3 > sizeof list)
			continue;
		len += (size_t)snprintf(
			list + len, sizeof list - len, "%s%s", len ? ", " : "", f->name);
	}
	return fail(p, "%s has no field \"%s\"; it has %s, and seq, thread, ctx, result, host_ns",
		d->name, name, list);
}

static const struct {
	const char *name;
	enum sbt_view view;
} views[] = {
	{"f32", SBT_VIEW_F32},
	{"f64", SBT_VIEW_F64},
	{"s8", SBT_VIEW_S8},
	{"s16", SBT_VIEW_S16},
	{"s32", SBT_VIEW_S32},
	{"s64", SBT_VIEW_S64},
	{"u8", SBT_VIEW_U8},
	{"u16", SBT_VIEW_U16},
	{"u32", SBT_VIEW_U32},
	{"u64", SBT_VIEW_U64},
};

/* Whether name is argN; its number. */
static bool is_arg(const char *name, unsigned *ret)
{
	unsigned v = 0;

	if (strncmp(name, "arg", 3) != 0 || !is_digit(name[3]))
		return false;
	for (name += 3; is_digit(*name) && v < 100000; name++)
		v = v * 10 + (unsigned)(*name - '0');
	*ret = v;
	return !*name;
}

static bool read_name(struct parser *p, char *name)
{
	size_t n = 0;

	while (is_name(p->p[n]))
		n++;
	if (n > NAME_MAX_LEN)
		return fail(p, "no field has a name as long as \"%.20s...\"", p->p);
	memcpy(name, p->p, n);
	name[n] = 0;
	p->p += n;
	return true;
}

/* "[8]" behind an argument: a byte of it. */
static bool parse_offset(struct parser *p, uint64_t *ret)
{
	uint64_t v = 0;
	const char *from = ++p->p;

	while (is_digit(*p->p) && v < ARG_BYTES_MAX)
		v = v * 10 + (unsigned)(*p->p++ - '0');
	if (p->p == from || *p->p != ']' || v >= ARG_BYTES_MAX)
		return fail(p, "an argument's byte is a number below %d in [ ], as in arg0[8].f32",
			ARG_BYTES_MAX);
	p->p++;
	*ret = v;
	return true;
}

static bool parse_arg(struct parser *p, unsigned index)
{
	struct sbt_op op = {.op = SBT_OP_ARG, .index = (uint16_t)index};
	char name[NAME_MAX_LEN + 1];

	if (index > 4095)
		return fail(p, "a kernel has no argument %u", index);
	if (p->e->kind && p->e->kind != SBT_LAUNCH)
		return fail(
			p, "only a launch has arguments, %s has none", sbt_kind(p->e->kind)->name);
	if (*p->p == '[' && !parse_offset(p, &op.value))
		return false;
	if (*p->p != '.')
		return emit(p, op);
	p->p++;
	if (!read_name(p, name))
		return false;
	for (unsigned i = 0; i < sizeof views / sizeof *views; i++)
		if (strcmp(views[i].name, name) == 0) {
			op.type = (uint8_t)views[i].view;
			return emit(p, op);
		}
	return fail(p,
		"an argument has no view \"%s\"; there are f32, f64, s8, s16, s32, s64, u8, u16, u32, u64",
		name);
}

/* --- Python frames --- */

static const struct {
	const char *name;
	enum sbt_python what;
} python_names[] = {{"pyfunc", SBT_PY_FUNC}, {"pyfile", SBT_PY_FILE}, {"pystack", SBT_PY_STACK},
	{"pyline", SBT_PY_LINE}};

/* A text in quotes, into the expression's texts; \ takes the next character as it is. */
static bool parse_text(struct parser *p, uint16_t *ret)
{
	const char quote = *p->p;

	if (quote != '"' && quote != '\'')
		return fail(p, "a text in \"\" is expected at \"%.20s\"", p->p);
	*ret = (uint16_t)p->ntext;
	for (p->p++; *p->p != quote; p->p++) {
		if (*p->p == '\\' && p->p[1])
			p->p++;
		if (!*p->p)
			return fail(p, "a text lacks its closing %c", quote);
		if (p->ntext + 2 > SBT_EXPR_TEXT)
			return fail(p, "the condition's texts are too long: at most %d bytes",
				SBT_EXPR_TEXT - 1);
		p->e->text[p->ntext++] = *p->p;
	}
	p->p++;
	if (p->ntext + 1 > SBT_EXPR_TEXT)
		return fail(p, "the condition's texts are too long: at most %d bytes",
			SBT_EXPR_TEXT - 1);
	p->e->text[p->ntext++] = 0;
	return true;
}

/* pyfunc == "forward" is one operand. */
static bool parse_python(struct parser *p, const char *name, enum sbt_python what)
{
	static const struct {
		char text[3];
		uint8_t flags;
	} compare[] = {{"==", 0}, {"!=", SBT_TEXT_NOT}, {"=~", SBT_TEXT_GLOB},
		{"!~", SBT_TEXT_GLOB | SBT_TEXT_NOT}};
	struct sbt_op op = {.op = SBT_OP_PYTHON, .type = (uint8_t)what};

	if (what == SBT_PY_LINE)
		return emit(p, op);
	skip_space(p);
	for (unsigned i = 0; i < sizeof compare / sizeof *compare; i++)
		if (strncmp(p->p, compare[i].text, 2) == 0) {
			op.value = compare[i].flags;
			p->p += 2;
			skip_space(p);
			return parse_text(p, &op.index) && emit(p, op);
		}
	return fail(p, "%s is a text: compare it, as in %s == \"forward\" or %s =~ \"for*\"", name,
		name, name);
}

static bool parse_name(struct parser *p, int hint)
{
	char name[NAME_MAX_LEN + 1];
	const struct sbt_field *f;
	struct sbt_op op;
	bool ambiguous;
	unsigned arg;
	uint64_t v = 0;

	if (!read_name(p, name))
		return false;
	for (unsigned i = 0; i < sizeof python_names / sizeof *python_names; i++)
		if (strcmp(name, python_names[i].name) == 0)
			return parse_python(p, name, python_names[i].what);
	if (hint >= 0 && enum_value((enum sbt_type)hint, name, &v))
		return emit_integer(p, v);
	if (hint == HINT_KIND && sbt_kind_by_name(name))
		return emit_integer(p, sbt_kind_by_name(name));
	if (find_field(p, name, &op, &f)) {
		if (sbt_type_is_blob(f->type))
			return fail(p, "\"%s\" is not a number, so a condition cannot use it%s",
				name, strcmp(name, "args") == 0 ? "; arg0, arg1, ... can" : "");
		return emit(p, op);
	}
	if (is_arg(name, &arg))
		return parse_arg(p, arg);
	if (!any_enum_value(p, name, &v, &ambiguous))
		return unknown_name(p, name);
	if (ambiguous)
		return fail(
			p, "\"%s\" means several things here; write it right after FIELD ==", name);
	return emit_integer(p, v);
}

/* --- operators --- */

static bool parse_operand(struct parser *p)
{
	int hint = p->hint;

	p->hint = NO_HINT;
	skip_space(p);
	if (is_digit(*p->p) || (*p->p == '.' && is_digit(p->p[1])))
		return *p->p == '.' ? emit_double(p) : parse_number(p);
	if (is_name(*p->p))
		return parse_name(p, hint);
	if (*p->p == '(') {
		p->p++;
		if (!parse_binary(p, 1))
			return false;
		skip_space(p);
		if (*p->p != ')')
			return fail(p,
				*p->p ? "missing ) before \"%.20s\"" : "missing ) at the end%.0s",
				p->p);
		p->p++;
		return true;
	}
	if (!*p->p)
		return fail(p, "the condition ends where a value is expected");
	if (*p->p == '"' || *p->p == '\'')
		return fail(p,
			"a text can only stand behind pyfunc, pyfile or pystack and ==, !=, =~ or !~");
	return fail(p, "a value is expected at \"%.20s\"", p->p);
}

static bool parse_unary(struct parser *p)
{
	static const char signs[] = "!~-+";
	static const uint8_t ops[] = {SBT_OP_NOT, SBT_OP_INVERT, SBT_OP_NEGATE, SBT_OP_NONE};
	const char *sign;
	bool ok;

	skip_space(p);
	sign = *p->p ? strchr(signs, *p->p) : NULL;
	if (++p->nesting > NESTING_MAX)
		return fail(p, "the condition is nested too deeply");
	if (!sign) {
		ok = parse_operand(p);
	} else {
		p->hint = NO_HINT;
		p->p++;
		ok = parse_unary(p);
		if (ok && ops[sign - signs] != SBT_OP_NONE)
			ok = emit(p, (struct sbt_op){.op = ops[sign - signs]});
	}
	p->nesting--;
	return ok;
}

/* Longer spellings first. Precedence as in C, 1 binds least. */
static const struct operator
{
	char text[3];
	uint8_t op, precedence;
}
operators[] = {
	{"||", SBT_OP_OROR, 1},
	{"&&", SBT_OP_ANDAND, 2},
	{"==", SBT_OP_EQ, 6},
	{"!=", SBT_OP_NE, 6},
	{"<=", SBT_OP_LE, 7},
	{">=", SBT_OP_GE, 7},
	{"<<", SBT_OP_SHL, 8},
	{">>", SBT_OP_SHR, 8},
	{"|", SBT_OP_OR, 3},
	{"^", SBT_OP_XOR, 4},
	{"&", SBT_OP_AND, 5},
	{"<", SBT_OP_LT, 7},
	{">", SBT_OP_GT, 7},
	{"+", SBT_OP_ADD, 9},
	{"-", SBT_OP_SUB, 9},
	{"*", SBT_OP_MUL, 10},
	{"/", SBT_OP_DIV, 10},
	{"%", SBT_OP_MOD, 10},
};

static const struct operator* peek_operator(struct parser *p)
{
	skip_space(p);
	for (unsigned i = 0; i < sizeof operators / sizeof *operators; i++)
		if (strncmp(p->p, operators[i].text, strlen(operators[i].text)) == 0)
			return &operators[i];
	return NULL;
}

/* What a name after == may mean, from the operand just emitted as the one operation at index first.
 */
static int hint_from(const struct parser *p, unsigned first, const struct operator* o)
{
	const struct sbt_op *op = &p->e->ops[first];
	enum sbt_type type;

	if ((o->op != SBT_OP_EQ && o->op != SBT_OP_NE) || p->e->n != first + 1 ||
		op->op != SBT_OP_FIELD)
		return NO_HINT;
	if (!op->kind)
		return strcmp(sbt_common_fields[op->index].name, "kind") == 0 ? HINT_KIND : NO_HINT;
	type = sbt_kind(op->kind)->fields[op->index].type;
	return type >= SBT_T_ENUM_COPY ? (int)type : NO_HINT;
}

static bool parse_binary(struct parser *p, unsigned min)
{
	unsigned first = p->e->n;
	const struct operator* o;

	if (!parse_unary(p))
		return false;
	while ((o = peek_operator(p)) != NULL && o->precedence >= min) {
		p->p += strlen(o->text);
		p->hint = hint_from(p, first, o);
		if (!parse_binary(p, o->precedence + 1u) || !emit(p, (struct sbt_op){.op = o->op}))
			return false;
	}
	return true;
}

bool sbt_expr_compile(
	struct sbt_expr *ret, unsigned kind, const char *text, char *why, size_t why_size)
{
	struct parser p = {.e = ret, .p = text, .why = why, .why_size = why_size, .hint = NO_HINT};

	memset(ret, 0, sizeof *ret);
	if (kind && !sbt_kind(kind))
		return fail(&p, "there is no command kind %u", kind);
	ret->kind = kind;
	skip_space(&p);
	if (!*p.p)
		return fail(&p, "the condition is empty");
	if (!parse_binary(&p, 1))
		goto bad;
	skip_space(&p);
	if (!*p.p)
		return true;
	if (*p.p == '=')
		fail(&p, "= is not an operator; to compare, write ==");
	else
		fail(&p, "an operator is expected at \"%.20s\"", p.p);
bad:
	memset(ret, 0, sizeof *ret);
	return false;
}
