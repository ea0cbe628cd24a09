/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions as PTX, see ptx-emit.h. The surprise: memory is only read where a table of address
 * ranges has the bytes, which a binary search without jumps finds: a lane whose address is not
 * there has no value, and does not end the launch.
 */
#include "gpucode/probe/ptx-emit.h"
#include "gpucode/ptx-probe.h"

#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, VALUES_MAX = 400 };

struct parser {
	struct ptx_emit *m;
	const char *p;
	unsigned depth;
	jmp_buf out;
};

static _Noreturn void __attribute__((format(printf, 2, 3)))
fail(struct parser *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->m->why, sizeof q->m->why, fmt, ap);
	va_end(ap);
	longjmp(q->out, 1);
}

void ptx_emit_line(struct ptx_emit *m, const char *fmt, ...)
{
	va_list ap;

	buf_byte(&m->code, '\t');
	va_start(ap, fmt);
	buf_vprintf(&m->code, fmt, ap);
	va_end(ap);
	buf_str(&m->code, ";\n");
}

#define LINE(...) ptx_emit_line(m, __VA_ARGS__)

static unsigned new_int(struct parser *q)
{
	if (q->m->ints > VALUES_MAX)
		fail(q, "the expression is too long");
	return q->m->ints++;
}

static struct ptx_value int_value(struct parser *q)
{
	return (struct ptx_value){.reg = new_int(q)};
}

static struct ptx_value float_value(struct parser *q)
{
	return (struct ptx_value){.is_float = true, .reg = q->m->floats++};
}

/* --- conversions --- */

static struct ptx_value materialize(struct parser *q, struct ptx_value v)
{
	static const char *const words[] = {[PTX_IN_GLOBAL] = "global",
		[PTX_IN_CONST] = "const",
		[PTX_IN_SHARED] = "shared",
		[PTX_IN_LOCAL] = "local"};
	struct ptx_emit *m = q->m;
	struct ptx_value r;

	if (!v.base)
		return v;
	if (v.base->where == PTX_IN_PARAM)
		fail(q, "the address of a parameter is no value here");
	r = int_value(q);
	r.bad = v.bad;
	LINE("mov.u64 %%tsdb_i%u, %.*s", r.reg, (int)(v.base->name.end - v.base->name.p),
		v.base->name.p);
	LINE("cvta.%s.u64 %%tsdb_i%u, %%tsdb_i%u", words[v.base->where], r.reg, r.reg);
	LINE("add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", r.reg, r.reg, v.reg);
	return r;
}

static struct ptx_value as_float(struct parser *q, struct ptx_value v)
{
	struct ptx_emit *m = q->m;
	struct ptx_value r;

	v = materialize(q, v);
	if (v.is_float)
		return v;
	r = float_value(q);
	r.bad = v.bad;
	LINE("cvt.rn.f64.s64 %%tsdb_f%u, %%tsdb_i%u", r.reg, v.reg);
	return r;
}

/* Values that no integer has, and NaN, are 0. */
static struct ptx_value as_int(struct parser *q, struct ptx_value v)
{
	struct ptx_emit *m = q->m;
	struct ptx_value r;
	unsigned p;

	v = materialize(q, v);
	if (!v.is_float)
		return v;
	r = int_value(q);
	r.bad = v.bad;
	p = m->preds;
	m->preds += 2;
	LINE("setp.gt.f64 %%tsdb_p%u, %%tsdb_f%u, 0d%016" PRIx64, p, v.reg,
		(uint64_t)0xC3DFEB3DD0676600u); /* -9.2e18 */
	LINE("setp.lt.and.f64 %%tsdb_p%u, %%tsdb_f%u, 0d%016" PRIx64 ", %%tsdb_p%u", p + 1, v.reg,
		(uint64_t)0x43DFEB3DD0676600u, p);
	LINE("cvt.rzi.s64.f64 %%tsdb_i%u, %%tsdb_f%u", r.reg, v.reg);
	LINE("selp.b64 %%tsdb_i%u, %%tsdb_i%u, 0, %%tsdb_p%u", r.reg, r.reg, p + 1);
	return r;
}

unsigned ptx_emit_truth(struct ptx_emit *m, const struct ptx_value *v)
{
	const unsigned p = m->preds++;

	if (v->is_float)
		LINE("setp.neu.f64 %%tsdb_p%u, %%tsdb_f%u, 0d0000000000000000", p, v->reg);
	else
		LINE("setp.ne.s64 %%tsdb_p%u, %%tsdb_i%u, 0", p, v->reg);
	return p;
}

static unsigned truth(struct parser *q, struct ptx_value *v)
{
	*v = materialize(q, *v);
	return ptx_emit_truth(q->m, v);
}

static struct ptx_value of_pred(struct parser *q, unsigned p)
{
	struct ptx_emit *m = q->m;
	struct ptx_value r = int_value(q);

	LINE("selp.s64 %%tsdb_i%u, 1, 0, %%tsdb_p%u", r.reg, p);
	return r;
}

/* Where either has no value. */
static unsigned either_bad(struct parser *q, unsigned a, unsigned b)
{
	struct ptx_emit *m = q->m;

	if (!a || !b)
		return a ? a : b;
	LINE("or.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", m->preds, a - 1, b - 1);
	return ++m->preds;
}

/* An integer cut to a type, as a cast to it does. */
static void cut(struct parser *q, unsigned reg, const char *type)
{
	struct ptx_emit *m = q->m;
	const unsigned bits = (unsigned)strtoul(type + 1, NULL, 10);

	if (bits >= 64)
		return;
	LINE("shl.b64 %%tsdb_i%u, %%tsdb_i%u, %u", reg, reg, 64 - bits);
	LINE("shr.%s64 %%tsdb_i%u, %%tsdb_i%u, %u", *type == 'u' ? "u" : "s", reg, reg, 64 - bits);
}

static struct ptx_value cast(struct parser *q, struct ptx_value v, const char *type)
{
	struct ptx_emit *m = q->m;
	struct ptx_value r;

	if (*type != 'f') {
		r = int_value(q);
		v = as_int(q, v);
		LINE("mov.b64 %%tsdb_i%u, %%tsdb_i%u", r.reg, v.reg);
		r.bad = v.bad;
		cut(q, r.reg, type);
		return r;
	}
	v = as_float(q, v);
	if (!strcmp(type, "f64"))
		return v;
	r = float_value(q);
	r.bad = v.bad;
	LINE("cvt.rn.f32.f64 %%tsdb_g, %%tsdb_f%u", v.reg);
	LINE("cvt.f64.f32 %%tsdb_f%u, %%tsdb_g", r.reg);
	return r;
}

/* --- memory --- */

/* 1 + the predicate that says that n bytes at the address in reg are in no range of the table. */
static unsigned not_in_ranges(struct parser *q, unsigned reg, unsigned n)
{
	struct ptx_emit *m = q->m;
	const unsigned at = new_int(q), t = new_int(q), u = new_int(q), p = m->preds;

	m->preds += 3;
	LINE("add.s64 %%tsdb_i%u, %%tsdb_area, %" PRIu64, at, m->ranges_at);
	for (unsigned step = m->ranges / 2; step; step /= 2) {
		LINE("ld.global.u64 %%tsdb_i%u, [%%tsdb_i%u+%u]", t, at, step * 16);
		LINE("setp.le.u64 %%tsdb_p%u, %%tsdb_i%u, %%tsdb_i%u", p, t, reg);
		LINE("@%%tsdb_p%u add.s64 %%tsdb_i%u, %%tsdb_i%u, %u", p, at, at, step * 16);
	}
	LINE("ld.global.u64 %%tsdb_i%u, [%%tsdb_i%u]", t, at);
	LINE("ld.global.u64 %%tsdb_i%u, [%%tsdb_i%u+8]", u, at);
	LINE("setp.lt.u64 %%tsdb_p%u, %%tsdb_i%u, %%tsdb_i%u", p, reg, t);
	LINE("setp.ge.or.u64 %%tsdb_p%u, %%tsdb_i%u, %%tsdb_i%u, %%tsdb_p%u", p + 1, reg, u, p);
	LINE("sub.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", u, u, reg);
	LINE("setp.lt.or.u64 %%tsdb_p%u, %%tsdb_i%u, %u, %%tsdb_p%u", p + 2, u, n, p + 1);
	return p + 3;
}

/* The same for an offset in a variable. */
static unsigned not_in_variable(
	struct parser *q, const struct ptx_decl *d, unsigned reg, unsigned n)
{
	struct ptx_emit *m = q->m;
	const unsigned p = m->preds++;

	if (!d->size)
		fail(q, "the size of %.*s is not known", (int)(d->name.end - d->name.p), d->name.p);
	if (d->size < n)
		fail(q, "%.*s has only %" PRIu64 " bytes", (int)(d->name.end - d->name.p),
			d->name.p, d->size);
	LINE("setp.gt.u64 %%tsdb_p%u, %%tsdb_i%u, %" PRIu64, p, reg, d->size - n);
	return p + 1;
}

static const char *space_of(const struct ptx_value *v)
{
	switch (v->base ? v->base->where : PTX_IN_GLOBAL) {
	case PTX_IN_CONST:
		return "const";
	case PTX_IN_SHARED:
		return "shared";
	case PTX_IN_LOCAL:
		return "local";
	case PTX_IN_PARAM:
		return "param";
	default:
		return "global";
	}
}

static struct ptx_value load(struct parser *q, struct ptx_value a, const char *type)
{
	struct ptx_emit *m = q->m;
	const unsigned n = (unsigned)strtoul(type + 1, NULL, 10) / 8;
	const bool is_float = *type == 'f';
	struct ptx_value r;
	unsigned addr, bad;

	if (a.is_float)
		fail(q, "an address is no floating number");
	bad = a.base ? not_in_variable(q, a.base, a.reg, n) : not_in_ranges(q, a.reg, n);
	bad = either_bad(q, bad, a.bad);
	addr = a.reg;
	if (a.base) {
		addr = new_int(q);
		LINE("mov.u64 %%tsdb_i%u, %.*s", addr, (int)(a.base->name.end - a.base->name.p),
			a.base->name.p);
		LINE("add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", addr, addr, a.reg);
	}
	r = is_float ? float_value(q) : int_value(q);
	r.bad = bad;
	LINE("mov.b64 %s%u, 0", is_float ? "%tsdb_f" : "%tsdb_i", r.reg);
	if (!strcmp(type, "f32")) {
		LINE("mov.f32 %%tsdb_g, 0f00000000");
		LINE("@!%%tsdb_p%u ld.%s.f32 %%tsdb_g, [%%tsdb_i%u]", bad - 1, space_of(&a), addr);
		LINE("cvt.f64.f32 %%tsdb_f%u, %%tsdb_g", r.reg);
	} else {
		LINE("@!%%tsdb_p%u ld.%s.%s %s%u, [%%tsdb_i%u]", bad - 1, space_of(&a), type,
			is_float ? "%tsdb_f" : "%tsdb_i", r.reg, addr);
		if (!is_float)
			cut(q, r.reg, type);
	}
	return r;
}

/* --- operands --- */

static void blanks(struct parser *q)
{
	q->p += strspn(q->p, " \t");
}

static size_t word_length(const char *p)
{
	size_t n = *p == '%';

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' ||
		(n && p[n] == '.' && *p == '%' && isalpha((unsigned char)p[n + 1])))
		n++;
	return n;
}

static void binary(struct parser *q, unsigned level, struct ptx_value *ret);

static bool typed(struct parser *q, struct ptx_value *ret)
{
	/* by enum ptx_print_type */
	static const char *const types[] = {
		"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"};
	const size_t n = word_length(q->p);
	const char open = q->p[n], close = open == '[' ? ']' : ')';
	struct ptx_value v;

	for (unsigned k = 0; k < sizeof types / sizeof *types; k++) {
		if (strlen(types[k]) != n || memcmp(q->p, types[k], n) != 0 ||
			(open != '[' && open != '('))
			continue;
		q->p += n + 1;
		binary(q, 0, &v);
		blanks(q);
		if (*q->p++ != close)
			fail(q, "a bracket is not closed");
		*ret = open == '[' ? load(q, v, types[k]) : cast(q, v, types[k]);
		ret->type = 1 + k;
		return true;
	}
	return false;
}

/* &NAME: offset 0 from it. */
static void generic(struct parser *q, struct ptx_value *ret)
{
	const size_t n = word_length(++q->p);
	const struct ptx_decl *d =
		n ? ptx_scan_find(q->m->scan, q->m->scope, q->m->at, q->p, n) : NULL;
	struct ptx_emit *m = q->m;

	if (!d || d->where == PTX_IN_REGISTER)
		fail(q, "there is no variable %.*s in the PTX", (int)(n < 60 ? n : 60), q->p);
	if (d->where == PTX_IN_PARAM && !m->entry)
		fail(q, "%.*s is a parameter of a function, not of the kernel",
			(int)(n < 60 ? n : 60), q->p);
	*ret = int_value(q);
	ret->base = d;
	LINE("mov.b64 %%tsdb_i%u, 0", ret->reg);
	q->p += n;
}

/* CUDA's names of special registers, and PTX's own. */
static bool special(struct parser *q, struct ptx_value *ret)
{
	static const char *const names[][2] = {{"threadIdx.", "tid."}, {"blockIdx.", "ctaid."},
		{"blockDim.", "ntid."}, {"gridDim.", "nctaid."}};
	struct ptx_emit *m = q->m;
	char name[16] = "";
	size_t n = word_length(q->p);

	if (n == 4 && !strncmp(q->p, "lane", 4))
		strcpy(name, "laneid");
	else if (n == 7 && !strncmp(q->p, "%laneid", 7))
		strcpy(name, "laneid");
	for (unsigned k = 0; k < 4 && !*name; k++)
		for (unsigned j = 0; j < 2 && !*name; j++) {
			const char *at = q->p + j; /* behind the % of PTX's */
			const size_t len = strlen(names[k][j]);

			if ((j && *q->p != '%') || strncmp(at, names[k][j], len) != 0 ||
				at[len] < 'x' || at[len] > 'z' ||
				isalnum((unsigned char)at[len + 1]) || at[len + 1] == '_')
				continue;
			snprintf(name, sizeof name, "%s%c", names[k][1], at[len]);
			n = j + len + 1;
		}
	if (!*name)
		return false;
	*ret = int_value(q);
	LINE("mov.u32 %%tsdb_w, %%%s", name);
	LINE("cvt.u64.u32 %%tsdb_i%u, %%tsdb_w", ret->reg);
	ret->type = 1 + PTX_PRINT_U32;
	q->p += n;
	return true;
}

/* Whether some statement before the place names the register. */
static bool is_set(const struct ptx_emit *m, const char *name, size_t n)
{
	const struct ptx_text before = {m->begin, m->at};
	char word[80];

	if (n >= sizeof word)
		return false;
	memcpy(word, name, n);
	word[n] = 0;
	return ptx_has_name(before, word);
}

static enum ptx_print_type type_of(const char *type, unsigned bits)
{
	if (!strcmp(type, "pred"))
		return PTX_PRINT_BOOL;
	if (*type == 'u')
		return bits == 16 ? PTX_PRINT_U16 : bits == 32 ? PTX_PRINT_U32 : PTX_PRINT_U64;
	return bits == 16 ? PTX_PRINT_S16 : bits == 32 ? PTX_PRINT_S32 : PTX_PRINT_S64;
}

/* The value of a register, by its declared type. */
static void of_register(struct parser *q, const struct ptx_decl *d, const char *name, size_t n,
	struct ptx_value *ret)
{
	struct ptx_emit *m = q->m;
	const char *digits = strpbrk(d->type, "0123456789"), *type = d->type;
	const unsigned bits = digits ? (unsigned)strtoul(digits, NULL, 10) : 0;
	const int len = (int)n;

	if (!is_set(m, name, n))
		fail(q, "%.*s has no value here: nothing before sets it", len, name);
	if (!strcmp(type, "f32") || !strcmp(type, "f64")) {
		*ret = float_value(q);
		ret->type = 1 + (bits == 32 ? PTX_PRINT_F32 : PTX_PRINT_F64);
		LINE("%s %%tsdb_f%u, %.*s", bits == 32 ? "cvt.f64.f32" : "mov.f64", ret->reg, len,
			name);
		return;
	}
	*ret = int_value(q);
	ret->type = 1 + type_of(type, bits);
	if (!strcmp(type, "pred"))
		LINE("selp.s64 %%tsdb_i%u, 1, 0, %.*s", ret->reg, len, name);
	else if (bits == 64)
		LINE("mov.b64 %%tsdb_i%u, %.*s", ret->reg, len, name);
	else if ((bits == 16 || bits == 32) && strchr("bus", *type))
		LINE("cvt.%s64.%s%u %%tsdb_i%u, %.*s", *type == 'u' ? "u" : "s",
			*type == 'u' ? "u" : "s", bits, ret->reg, len, name);
	else
		fail(q, "a register of type %s has no value here", type);
}

static void name(struct parser *q, struct ptx_value *ret)
{
	const struct ptx_decl *d;
	size_t n;

	if (special(q, ret) || typed(q, ret))
		return;
	n = word_length(q->p);
	d = ptx_scan_find(q->m->scan, q->m->scope, q->m->at, q->p, n);
	if (!d && *q->p == '%')
		fail(q, "there is no register %.*s here, or it is none that a changed kernel knows",
			(int)(n < 60 ? n : 60), q->p);
	if (!d)
		fail(q, "there is no variable %.*s in the PTX", (int)(n < 60 ? n : 60), q->p);
	if (d->where != PTX_IN_REGISTER)
		fail(q, "%.*s is the address of a variable: &%.*s", (int)n, q->p, (int)n, q->p);
	of_register(q, d, q->p, n, ret);
	q->p += n;
}

static void number(struct parser *q, struct ptx_value *ret)
{
	struct ptx_emit *m = q->m;
	char *end, *fend;
	const uint64_t v = strtoull(q->p, &end, 0);
	const double f = strtod(q->p, &fend);
	uint64_t bits;

	if (fend > end) {
		*ret = float_value(q);
		memcpy(&bits, &f, sizeof bits);
		LINE("mov.f64 %%tsdb_f%u, 0d%016" PRIx64, ret->reg, bits);
		end = fend;
	} else {
		*ret = int_value(q);
		LINE("mov.b64 %%tsdb_i%u, 0x%" PRIx64, ret->reg, v);
	}
	if (isalnum((unsigned char)*end) || *end == '_')
		fail(q, "\"%.20s\" is no number", q->p);
	q->p = end;
}

static void one(struct parser *q, char op, struct ptx_value *v)
{
	struct ptx_emit *m = q->m;
	struct ptx_value r;

	if (op == '!') {
		const unsigned p = truth(q, v);

		r = int_value(q);
		LINE("selp.s64 %%tsdb_i%u, 0, 1, %%tsdb_p%u", r.reg, p);
	} else if (op == '-' && v->is_float) {
		r = float_value(q);
		LINE("neg.f64 %%tsdb_f%u, %%tsdb_f%u", r.reg, v->reg);
	} else {
		*v = as_int(q, *v);
		r = int_value(q);
		LINE("%s %%tsdb_i%u, %%tsdb_i%u", op == '-' ? "neg.s64" : "not.b64", r.reg, v->reg);
	}
	r.bad = v->bad;
	*v = r;
}

static void unary(struct parser *q, struct ptx_value *ret)
{
	char op;

	if (++q->depth > DEPTH_MAX)
		fail(q, "too many brackets");
	blanks(q);
	op = *q->p;
	if (op && strchr("-!~", op)) {
		q->p++;
		unary(q, ret);
		one(q, op, ret);
	} else if (op == '&') {
		generic(q, ret);
	} else if (op == '(') {
		q->p++;
		binary(q, 0, ret);
		blanks(q);
		if (*q->p++ != ')')
			fail(q, "a bracket is not closed");
	} else if (isdigit((unsigned char)op) || (op == '.' && isdigit((unsigned char)q->p[1]))) {
		number(q, ret);
	} else if (op == '%' || op == '_' || op == '$' || isalpha((unsigned char)op)) {
		name(q, ret);
	} else {
		fail(q,
			op ? "\"%.20s\" is neither a register nor a number"
			   : "the expression ends too soon%s",
			q->p);
	}
	q->depth--;
}

/* --- operators --- */

enum kind { MUL, DIV, MOD, ADD, SUB, SHL, SHR, AND, XOR, OR, COMPARE, LAND, LOR };
static const struct {
	const char *text;
	unsigned level;
	enum kind kind;
	const char *compare, *floats; /* setp's words */
} operators[] = {
	/* the longer ones first */
	{"||", 0, LOR, NULL, NULL},
	{"&&", 1, LAND, NULL, NULL},
	{"==", 5, COMPARE, "eq", "eq"},
	{"!=", 5, COMPARE, "ne", "neu"},
	{"<<", 7, SHL, NULL, NULL},
	{">>", 7, SHR, NULL, NULL},
	{"<=", 6, COMPARE, "le", "le"},
	{">=", 6, COMPARE, "ge", "ge"},
	{"|", 2, OR, NULL, NULL},
	{"^", 3, XOR, NULL, NULL},
	{"&", 4, AND, NULL, NULL},
	{"<", 6, COMPARE, "lt", "lt"},
	{">", 6, COMPARE, "gt", "gt"},
	{"+", 8, ADD, NULL, NULL},
	{"-", 8, SUB, NULL, NULL},
	{"*", 9, MUL, NULL, NULL},
	{"/", 9, DIV, NULL, NULL},
	{"%", 9, MOD, NULL, NULL},
};

static int operator_here(struct parser *q)
{
	blanks(q);
	for (unsigned k = 0; k < sizeof operators / sizeof *operators; k++)
		if (!strncmp(q->p, operators[k].text, strlen(operators[k].text)))
			return (int)k;
	return -1;
}

/* Division by 0 is 0, and by -1 the negative: a GPU's own is not defined there. */
static void divide(struct parser *q, bool rest, unsigned r, unsigned a, unsigned b)
{
	struct ptx_emit *m = q->m;
	const unsigned p = m->preds, d = new_int(q), n = new_int(q);

	m->preds += 3;
	LINE("setp.eq.s64 %%tsdb_p%u, %%tsdb_i%u, 0", p, b);
	LINE("setp.eq.s64 %%tsdb_p%u, %%tsdb_i%u, -1", p + 1, b);
	LINE("or.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", p + 2, p, p + 1);
	LINE("selp.b64 %%tsdb_i%u, 1, %%tsdb_i%u, %%tsdb_p%u", d, b, p + 2);
	LINE("%s.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", rest ? "rem" : "div", r, a, d);
	if (rest) {
		LINE("selp.b64 %%tsdb_i%u, 0, %%tsdb_i%u, %%tsdb_p%u", r, r, p + 2);
		return;
	}
	LINE("neg.s64 %%tsdb_i%u, %%tsdb_i%u", n, a);
	LINE("selp.b64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u, %%tsdb_p%u", r, n, r, p + 1);
	LINE("selp.b64 %%tsdb_i%u, 0, %%tsdb_i%u, %%tsdb_p%u", r, r, p);
}

/* By 64 and more all bits are gone. */
static void shift(struct parser *q, bool left, unsigned r, unsigned a, unsigned b)
{
	struct ptx_emit *m = q->m;
	const unsigned p = m->preds++, t = new_int(q);

	LINE("min.u64 %%tsdb_i%u, %%tsdb_i%u, 63", t, b);
	LINE("cvt.u32.u64 %%tsdb_w, %%tsdb_i%u", t);
	LINE("%s %%tsdb_i%u, %%tsdb_i%u, %%tsdb_w", left ? "shl.b64" : "shr.s64", r, a);
	if (!left)
		return;
	LINE("setp.lt.u64 %%tsdb_p%u, %%tsdb_i%u, 64", p, b);
	LINE("selp.b64 %%tsdb_i%u, %%tsdb_i%u, 0, %%tsdb_p%u", r, r, p);
}

static struct ptx_value of_ints(
	struct parser *q, enum kind kind, const struct ptx_value *a, const struct ptx_value *b)
{
	static const char *const words[] = {[MUL] = "mul.lo.s64",
		[ADD] = "add.s64",
		[SUB] = "sub.s64",
		[AND] = "and.b64",
		[XOR] = "xor.b64",
		[OR] = "or.b64"};
	struct ptx_emit *m = q->m;
	const struct ptx_value x = as_int(q, *a), y = as_int(q, *b);
	struct ptx_value r = int_value(q);

	if (kind == DIV || kind == MOD)
		divide(q, kind == MOD, r.reg, x.reg, y.reg);
	else if (kind == SHL || kind == SHR)
		shift(q, kind == SHL, r.reg, x.reg, y.reg);
	else
		LINE("%s %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", words[kind], r.reg, x.reg, y.reg);
	return r;
}

static struct ptx_value of_floats(
	struct parser *q, enum kind kind, const struct ptx_value *a, const struct ptx_value *b)
{
	static const char *const words[] = {[MUL] = "mul.rn.f64",
		[DIV] = "div.rn.f64",
		[ADD] = "add.rn.f64",
		[SUB] = "sub.rn.f64"};
	struct ptx_emit *m = q->m;
	const struct ptx_value x = as_float(q, *a), y = as_float(q, *b);
	struct ptx_value r = float_value(q);

	LINE("%s %%tsdb_f%u, %%tsdb_f%u, %%tsdb_f%u", words[kind], r.reg, x.reg, y.reg);
	return r;
}

static struct ptx_value compare(
	struct parser *q, int op, const struct ptx_value *a, const struct ptx_value *b)
{
	struct ptx_emit *m = q->m;
	const bool floats = a->is_float || b->is_float;
	const struct ptx_value x = floats ? as_float(q, *a) : materialize(q, *a),
			       y = floats ? as_float(q, *b) : materialize(q, *b);
	const unsigned p = m->preds++;
	const char *reg = floats ? "%tsdb_f" : "%tsdb_i";

	LINE("setp.%s.%s %%tsdb_p%u, %s%u, %s%u",
		floats ? operators[op].floats : operators[op].compare, floats ? "f64" : "s64", p,
		reg, x.reg, reg, y.reg);
	return of_pred(q, p);
}

/* Of && and ||: what the first decides, the second may lack. */
static struct ptx_value logical(
	struct parser *q, bool both, struct ptx_value *a, struct ptx_value *b)
{
	struct ptx_emit *m = q->m;
	const unsigned x = truth(q, a), y = truth(q, b), p = m->preds++;
	struct ptx_value r;

	LINE("%s.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", both ? "and" : "or", p, x, y);
	r = of_pred(q, p);
	if (!a->bad && b->bad) { /* bad where the first does not decide */
		if (both) {
			LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", m->preds, x,
				b->bad - 1);
		} else {
			LINE("not.pred %%tsdb_p%u, %%tsdb_p%u", m->preds, x);
			m->preds++;
			LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", m->preds, m->preds - 1,
				b->bad - 1);
		}
		r.bad = ++m->preds;
	} else if (a->bad && b->bad) {
		/* the first decides only where it has a value */
		const unsigned s = m->preds;

		m->preds += 3;
		if (both)
			LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", s, x, b->bad - 1);
		else
			LINE("not.pred %%tsdb_p%u, %%tsdb_p%u", s + 1, x);
		if (!both)
			LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", s, s + 1, b->bad - 1);
		LINE("or.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", s + 2, s, a->bad - 1);
		r.bad = s + 3;
	} else {
		r.bad = a->bad;
	}
	return r;
}

static struct ptx_value two(struct parser *q, int op, struct ptx_value *a, struct ptx_value *b)
{
	const enum kind kind = operators[op].kind;
	struct ptx_emit *m = q->m;
	struct ptx_value r;

	if (kind == LAND || kind == LOR)
		return logical(q, kind == LAND, a, b);
	if ((kind == ADD || kind == SUB) && a->base && !b->base && !b->is_float) {
		r = int_value(q); /* an offset goes on from the variable */
		LINE("%s.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", kind == ADD ? "add" : "sub",
			r.reg, a->reg, b->reg);
		r.base = a->base;
	} else if (kind == COMPARE) {
		r = compare(q, op, a, b);
	} else if ((a->is_float || b->is_float) && kind <= SUB && kind != MOD) {
		r = of_floats(q, kind, a, b);
	} else {
		r = of_ints(q, kind, a, b);
	}
	r.bad = either_bad(q, a->bad, b->bad);
	return r;
}

static void binary(struct parser *q, unsigned level, struct ptx_value *ret)
{
	struct ptx_value b;
	int k;

	unary(q, ret);
	while ((k = operator_here(q)) >= 0 && operators[k].level >= level) {
		q->p += strlen(operators[k].text);
		binary(q, operators[k].level + 1u, &b);
		*ret = two(q, k, ret, &b);
	}
}

bool ptx_emit_expr(struct ptx_emit *m, const char *text, struct ptx_value *ret)
{
	struct parser q = {.m = m, .p = text};

	if (setjmp(q.out))
		return false;
	binary(&q, 0, ret);
	blanks(&q);
	if (*q.p)
		fail(&q, "\"%.20s\" is too much", q.p);
	*ret = materialize(&q, *ret);
	return true;
}
