/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-stores.h. For each register: the parameters that an address in it may be made of, those
 * that its bits were loaded through, and the types of the instructions that made it; a loop over
 * the text's instructions until no set grows. The surprise: nvcc moves floats in untyped registers
 * (ld.global.b32), so a load's type is most often that of the instruction that uses it. Types of
 * operands: PTX ISA 9.0, 9.7.
 */
#include "gpucode/ptx-stores.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "gpucode/traits/ptx-names.h"
#include "gpucode/ptx-text.h"

enum { NAMES_MAX = 20, PASSES_MAX = 32, TYPES_MAX = 6, WIDTHS = 3 /* 16, 32, 64 bits */ };

struct operand {
	struct ptx_text name[9];
	unsigned n;
};
struct statement {
	struct ptx_text op;
	struct operand v[6];
	unsigned n;
	unsigned type[TYPES_MAX], bits[TYPES_MAX]; /* of the opcode's suffixes */
	unsigned ntypes;
};
struct reg {
	uint64_t address;      /* parameters, by number */
	uint64_t from[WIDTHS]; /* loaded through, by the load's width */
	unsigned types;
};
struct reader {
	struct ptx_types *ret;
	struct ptx_text params[PTX_TYPES_PARAMS];
	unsigned nparams;
	struct statement *list;
	size_t n, cap;
	struct ptx_names names;
	struct reg *regs; /* by number of the name */
	size_t nregs, cap_regs;
	unsigned shared; /* types stored to memory that no parameter points to */
	bool grew;
};

static bool is(struct ptx_text t, const char *word)
{
	return ptx_text_length(t) == strlen(word) && !memcmp(t.p, word, strlen(word));
}

/* --- registers --- */

/* Valid until the next call. */
static struct reg *reg_of(struct reader *r, struct ptx_text name)
{
	const uint32_t i = ptx_names_number(&r->names, name);

	if (i == r->nregs) {
		MAKE_ROOM(r->regs, r->nregs, r->cap_regs);
		r->regs[r->nregs++] = (struct reg){0};
	}
	return &r->regs[i];
}

static void grow(struct reader *r, struct operand *to, const struct reg *by)
{
	for (unsigned i = 0; i < to->n; i++) {
		struct reg *x = reg_of(r, to->name[i]), was = *x;

		x->address |= by->address;
		x->types |= by->types;
		for (unsigned w = 0; w < WIDTHS; w++)
			x->from[w] |= by->from[w];
		r->grew |= memcmp(&was, x, sizeof was) != 0;
	}
}

static struct reg joined(struct reader *r, const struct statement *s, unsigned first)
{
	struct reg all = {.address = 0};

	for (unsigned k = first; k < s->n; k++)
		for (unsigned i = 0; i < s->v[k].n; i++) {
			const struct reg *x = reg_of(r, s->v[k].name[i]);

			all.address |= x->address;
			all.types |= x->types;
			for (unsigned w = 0; w < WIDTHS; w++)
				all.from[w] |= x->from[w];
		}
	return all;
}

/* --- text --- */

static void take_types(struct statement *s)
{
	static const struct {
		const char *name;
		unsigned type, bits;
	} names[] = {{"f16", PTX_F16, 16}, {"f16x2", PTX_F16, 32}, {"bf16", PTX_BF16, 16},
		{"bf16x2", PTX_BF16, 32}, {"f32", PTX_F32, 32}, {"f32x2", PTX_F32, 64},
		{"tf32", PTX_F32, 32}, {"f64", PTX_F64, 64}, {"s8", PTX_INTEGER, 8},
		{"u8", PTX_INTEGER, 8}, {"s16", PTX_INTEGER, 16}, {"u16", PTX_INTEGER, 16},
		{"s32", PTX_INTEGER, 32}, {"u32", PTX_INTEGER, 32}, {"s64", PTX_INTEGER, 64},
		{"u64", PTX_INTEGER, 64}, {"b8", 0, 8}, {"b16", 0, 16}, {"b32", 0, 32},
		{"b64", 0, 64}};
	const char *p = s->op.p;

	while (p < s->op.end && s->ntypes < TYPES_MAX) {
		const char *dot = memchr(p, '.', (size_t)(s->op.end - p));
		const struct ptx_text part = {p, dot ? dot : s->op.end};

		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			if (!is(part, names[i].name))
				continue;
			s->type[s->ntypes] = names[i].type;
			s->bits[s->ntypes++] = names[i].bits;
			break;
		}
		p = part.end + 1;
	}
}

static const char *take_operand(struct operand *o, const char *p, const char *end)
{
	int depth = 0;

	for (p = ptx_skip(p, end); p < end; p = ptx_skip(p, end)) {
		if (*p == ',' && !depth)
			break;
		if (ptx_is_name(*p)) {
			const char *from = p;

			while (p < end && ptx_is_name(*p))
				p++;
			if ((*from < '0' || *from > '9') && o->n < 9)
				o->name[o->n++] = (struct ptx_text){from, p};
			continue;
		}
		depth += *p == '[' || *p == '{' || *p == '(';
		depth -= *p == ']' || *p == '}' || *p == ')';
		p++;
	}
	return p;
}

static void take_statement(struct reader *r, const char *p, const char *end)
{
	struct statement s = {.n = 0};

	p = ptx_skip(p, end);
	while (p < end && (*p == '{' || *p == '}'))
		p = ptx_skip(p + 1, end);
	if (p < end && *p == '@')
		for (p++; p < end && (*p == '!' || ptx_is_name(*p)); p++)
			;
	p = ptx_skip(p, end);
	if (p >= end || *p == '.')
		return;
	s.op.p = p;
	while (p < end && (ptx_is_name(*p) || *p == '.' || *p == ':'))
		p++;
	s.op.end = p;
	for (p = ptx_skip(p, end); p < end && s.n < sizeof s.v / sizeof *s.v; s.n++) {
		p = take_operand(&s.v[s.n], p, end);
		p = p < end ? p + 1 : p;
	}
	take_types(&s);
	MAKE_ROOM(r->list, r->n, r->cap);
	r->list[r->n++] = s;
}

/* A label's end, or where a line for debuggers ends; p if there is none there. */
static const char *skip_line(const char *p, const char *end)
{
	const char *q = p;

	if (end - p > 5 && (!memcmp(p, ".loc", 4) || !memcmp(p, ".file", 5))) {
		p = memchr(p, '\n', (size_t)(end - p));
		return p ? p + 1 : end;
	}
	while (q < end && ptx_is_name(*q))
		q++;
	return q > p && q < end && *q == ':' && (end - q < 2 || q[1] != ':') ? q + 1 : p;
}

static void take_body(struct reader *r, struct ptx_text body)
{
	const char *p = body.p;

	while ((p = ptx_skip(p, body.end)) < body.end) {
		const char *to = skip_line(p, body.end);

		if (to != p) {
			p = to;
			continue;
		}
		if (*p == '{' || *p == '}') {
			p++;
			continue;
		}
		to = memchr(p, ';', (size_t)(body.end - p));
		to = to ? to : body.end;
		take_statement(r, p, to);
		p = to < body.end ? to + 1 : to;
	}
}

/* The names of the entry's parameters, from behind its name on. */
static void take_params(struct reader *r, const char *p, const char *end)
{
	struct ptx_text last = {NULL, NULL};

	p = p < end ? memchr(p, '(', (size_t)(end - p)) : NULL;
	for (p = p ? ptx_skip(p + 1, end) : end; p < end; p = ptx_skip(p, end)) {
		if (*p == ',' || *p == ')') {
			if (last.p && r->nparams < PTX_TYPES_PARAMS)
				r->params[r->nparams++] = last;
			last.p = NULL;
			if (*p++ == ')')
				return;
		} else if (*p == '[') { /* a size */
			const char *close = memchr(p, ']', (size_t)(end - p));

			p = close ? close + 1 : end;
		} else if (ptx_is_name(*p)) {
			const char *from = p;

			while (p < end && ptx_is_name(*p))
				p++;
			if (from[-1] != '.' && (*from < '0' || *from > '9'))
				last = (struct ptx_text){from, p};
		} else {
			p++;
		}
	}
}

/* --- what instructions say --- */

/* Whether a value of that many bits may be of these types. */
static unsigned fitting(unsigned types, unsigned bits)
{
	const unsigned fits = bits == 16   ? PTX_F16 | PTX_BF16
			      : bits == 32 ? PTX_F16 | PTX_BF16 | PTX_F32 | PTX_INTEGER
			      : bits == 64 ? PTX_F16 | PTX_BF16 | PTX_F32 | PTX_F64 | PTX_INTEGER
					   : 0;

	return types & fits;
}

static void note(unsigned *table, uint64_t params, unsigned types)
{
	for (unsigned i = 0; params; i++, params >>= 1)
		if (params & 1)
			table[i] |= types;
}

/* A register is used as a number of this type and so many bits. */
static void used_as(struct reader *r, const struct operand *o, unsigned type, unsigned bits)
{
	for (unsigned i = 0; type && i < o->n; i++) {
		const struct reg *x = reg_of(r, o->name[i]);

		for (unsigned w = 0; w < WIDTHS; w++) {
			const unsigned width = 16u << w;

			/* two halves may be loaded at once, never a half of a number */
			if (width >= bits && (width == bits || type != PTX_INTEGER))
				note(r->ret->loads, x->from[w], fitting(type, width));
		}
	}
}

static unsigned width_index(unsigned bits)
{
	return bits == 16 ? 0 : bits == 32 ? 1 : bits == 64 ? 2 : WIDTHS;
}

static bool begins(const struct statement *s, const char *word)
{
	return ptx_begins(s->op, word);
}

static bool elsewhere(const struct statement *s)
{
	return ptx_has(s->op, ".shared") || ptx_has(s->op, ".local");
}

static void do_load(struct reader *r, struct statement *s)
{
	struct reg got = {.address = 0}, at;

	if (s->n < 2 || !s->ntypes)
		return;
	if (ptx_has(s->op, ".param")) {
		for (unsigned i = 0; s->bits[0] == 64 && i < r->nparams; i++)
			if (s->v[1].n && ptx_text_same(s->v[1].name[0], r->params[i]))
				got.address |= UINT64_C(1) << i;
		grow(r, &s->v[0], &got);
		return;
	}
	at = joined(r, s, 1);
	if (elsewhere(s)) {
		got.types = r->shared;
	} else if (s->type[0] & PTX_FLOATS) {
		note(r->ret->loads, at.address, s->type[0]);
		got.types = s->type[0];
	}
	if (!elsewhere(s) && width_index(s->bits[0]) < WIDTHS)
		got.from[width_index(s->bits[0])] = at.address;
	grow(r, &s->v[0], &got);
}

static void do_store(struct reader *r, struct statement *s)
{
	const struct operand none = {.n = 0};
	struct statement value = *s;
	struct reg what, at;
	unsigned types;

	if (s->n < 2 || !s->ntypes || ptx_has(s->op, ".param"))
		return;
	value.v[0] = none;
	what = joined(r, &value, 1);
	types = s->type[0] & PTX_FLOATS ? s->type[0] : fitting(what.types, s->bits[0]);
	if (elsewhere(s)) {
		r->grew |= (r->shared | types) != r->shared;
		r->shared |= types;
		return;
	}
	value = *s;
	value.n = 1;
	at = joined(r, &value, 0);
	note(r->ret->stores, at.address, types);
}

static void do_atomic(struct reader *r, struct statement *s)
{
	const unsigned address = begins(s, "atom");
	struct statement where = *s;
	unsigned types;

	if (s->n <= address || !s->ntypes || elsewhere(s))
		return;
	types = s->type[0];
	where.v[0] = s->v[address];
	where.n = 1;
	const struct reg at = joined(r, &where, 0);
	note(r->ret->stores, at.address, types);
	note(r->ret->loads, at.address, types);
	if (address)
		grow(r, &s->v[0], &(struct reg){.types = types});
}

/* Instructions that pass bits on. */
static bool moves(const struct statement *s)
{
	static const char *const ops[] = {"mov", "selp", "shfl", "prmt", "and", "or", "xor", "shl",
		"shr", "cvta", "bfi", "bfe", "slct", "lop3", "redux", "movmatrix"};

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (begins(s, ops[i]))
			return true;
	return false;
}

static void do_compute(struct reader *r, struct statement *s)
{
	const bool cvt = begins(s, "cvt"), mma = begins(s, "mma") || begins(s, "wmma"),
		   set = begins(s, "setp") || begins(s, "testp");
	struct reg all = joined(r, s, 1), got = {.address = all.address};

	for (unsigned k = 1; k < s->n; k++) {
		const unsigned t = cvt ? 1 : mma ? k : 0;

		if (t < s->ntypes)
			used_as(r, &s->v[k], s->type[t], s->bits[t]);
	}
	if (!set && s->ntypes)
		got.types = s->type[0];
	if (moves(s)) {
		got.types = (got.types & PTX_FLOATS) | all.types;
		memcpy(got.from, all.from, sizeof got.from);
	}
	if (s->n)
		grow(r, &s->v[0], &got);
}

static void run(struct reader *r, struct statement *s)
{
	if (begins(s, "ld") || begins(s, "ldu"))
		do_load(r, s);
	else if (begins(s, "st") || begins(s, "wmma.store"))
		do_store(r, s);
	else if (begins(s, "atom") || begins(s, "red"))
		do_atomic(r, s);
	else if (begins(s, "wmma.load"))
		do_load(r, s);
	else if (!begins(s, "call") && !begins(s, "bra"))
		do_compute(r, s);
}

bool ptx_types_find(struct ptx_types *ret, const char *text, size_t n, const char *entry)
{
	const struct ptx_text all = {text, text + n};
	struct reader r = {.ret = ret};
	struct ptx_text body;
	const char *name = ptx_find_entry(all, entry);

	if (!name || !ptx_body(all, entry, &body))
		return false;
	*ret = (struct ptx_types){.stores = {0}};
	take_params(&r, name, all.end);
	take_body(&r, body);
	for (unsigned pass = 0; pass < PASSES_MAX && (!pass || r.grew); pass++) {
		r.grew = false;
		for (size_t i = 0; i < r.n; i++)
			run(&r, &r.list[i]);
	}
	free(r.list);
	free(r.regs);
	ptx_names_free(&r.names);
	return true;
}
