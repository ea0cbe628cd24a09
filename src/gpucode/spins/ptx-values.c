/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-values.h. A register has a value if all instructions that are executed at all give it the
 * same one, in whatever order: so nothing that a loop counts has one. Instructions: PTX ISA 9.0,
 * chapter 9. A form that is not known here gives any value.
 */
#include "gpucode/spins/ptx-values.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"

#define PASSES_MAX 64u
#define PARTS_MAX 10u
#define RESULTS_MAX 512u

/* --- opcodes --- */

/* "ld.volatile.global.u32" as four parts. */
struct parts {
	struct ptx_text part[PARTS_MAX];
	unsigned n; /* more than PARTS_MAX: the rest is left out */
};

static struct parts split(struct ptx_text op)
{
	struct parts p = {.n = 0};

	for (const char *at = op.p; at < op.end; at++, p.n++) {
		const char *dot = memchr(at, '.', (size_t)(op.end - at));
		const char *end = dot ? dot : op.end;

		if (p.n < PARTS_MAX)
			p.part[p.n] = (struct ptx_text){at, end};
		at = end;
	}
	return p;
}

static bool is(struct ptx_text t, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(t.end - t.p) == n && !memcmp(t.p, word, n);
}

static bool has(const struct parts *p, const char *word)
{
	for (unsigned i = 1; i < p->n && i < PARTS_MAX; i++)
		if (is(p->part[i], word))
			return true;
	return false;
}

/* An integer type. */
struct type {
	unsigned bits; /* 0: it is none */
	bool is_signed;
};

static struct type type_of(struct ptx_text t)
{
	static const struct {
		const char *name;
		struct type is;
	} types[] = {
		{"u8", {8, false}},
		{"b8", {8, false}},
		{"s8", {8, true}},
		{"u16", {16, false}},
		{"b16", {16, false}},
		{"s16", {16, true}},
		{"u32", {32, false}},
		{"b32", {32, false}},
		{"s32", {32, true}},
		{"u64", {64, false}},
		{"b64", {64, false}},
		{"s64", {64, true}},
		{"pred", {1, false}},
	};

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (is(t, types[i].name))
			return types[i].is;
	return (struct type){0};
}

static struct type last_type(const struct parts *p)
{
	return p->n && p->n <= PARTS_MAX ? type_of(p->part[p->n - 1]) : (struct type){0};
}

static uint64_t cut(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static int64_t extend(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* --- operands --- */

static const struct flow_value any = {FLOW_ANY, 0};

static struct flow_value with(uint64_t v)
{
	return (struct flow_value){FLOW_VALUE, v};
}

/* "17", "0x11", "17U"; true: it is a whole number. */
static bool read_number(struct ptx_text t, uint64_t *ret)
{
	char text[32] = "", *end;
	const size_t n = (size_t)(t.end - t.p);

	if (!n || n >= sizeof(text) || *t.p < '0' || *t.p > '9')
		return false;
	memcpy(text, t.p, n);
	*ret = strtoull(text, &end, 0);
	return (*end == 'U' && !end[1]) || !*end;
}

/* %tid.x and the like; `first`: of the first lane of a block. */
static struct flow_value special(const struct flow_values *v, struct ptx_text t)
{
	static const char *const names[] = {"%tid.", "%ctaid.", "%ntid.", "%nctaid."};
	const struct ptx_spin_launch *l = v->launch;
	const bool first = v->lane == FLOW_FIRST_LANE;

	if (is(t, "%laneid"))
		return first ? with(0) : any;
	for (unsigned i = 0; i < 4; i++) {
		const size_t n = strlen(names[i]);
		const unsigned axis = (size_t)(t.end - t.p) == n + 1 ? (unsigned)(t.p[n] - 'x') : 3;
		uint64_t count;

		if (axis > 2 || memcmp(t.p, names[i], n) != 0)
			continue;
		count = i % 2 ? l->grid[axis] : l->block[axis];
		if (i >= 2)
			return with(cut(count, 32));
		return count == 1 || (first && i == 0) ? with(0) : any;
	}
	return any;
}

struct flow_value flow_value(const struct flow_values *v, struct ptx_text operand)
{
	struct ptx_text t = {ptx_skip(operand.p, operand.end), operand.end}, word;
	const bool minus = t.p < t.end && *t.p == '-';
	uint64_t number;
	uint32_t name;

	t.p += minus;
	if (t.p >= t.end || !ptx_is_name(*t.p))
		return any; /* a vector, an address, an expression */
	word = flow_word(&t);
	if (ptx_skip(t.p, t.end) != t.end)
		return any;
	if (read_number(word, &number))
		return with(minus ? 0 - number : number);
	if (minus || (*word.p >= '0' && *word.p <= '9'))
		return any;
	if (memchr(word.p, '.', (size_t)(word.end - word.p)) || is(word, "%laneid"))
		return special(v, word);
	return flow_find(v->f, word, &name) && name < v->n && v->f->name[name].param == FLOW_NONE
		       ? v->of[name]
		       : any;
}

struct flow_value flow_guard(const struct flow_values *v, const struct flow_insn *i)
{
	struct flow_value g;

	if (i->guard == FLOW_NONE)
		return with(1);
	g = i->guard < v->n ? v->of[i->guard] : any;
	if (g.known == FLOW_VALUE)
		g.v = cut(g.v, 1) ^ i->negated;
	return g;
}

/* "[%rd1+8]": the word, and what is added. */
static bool split_address(struct ptx_text operand, struct ptx_text *ret, uint64_t *ret_plus)
{
	struct ptx_text t = {ptx_skip(operand.p, operand.end), operand.end};
	uint64_t number = 0;
	bool minus = false;

	if (t.p >= t.end || *t.p != '[')
		return false;
	t.p = ptx_skip(t.p + 1, t.end);
	if (t.p >= t.end || !ptx_is_name(*t.p))
		return false;
	*ret = flow_word(&t);
	for (t.p = ptx_skip(t.p, t.end); t.p < t.end && (*t.p == '+' || *t.p == '-');
		t.p = ptx_skip(t.p + 1, t.end))
		minus |= *t.p == '-';
	if (t.p < t.end && ptx_is_name(*t.p) && !read_number(flow_word(&t), &number))
		return false;
	*ret_plus = minus ? 0 - number : number;
	t.p = ptx_skip(t.p, t.end);
	return t.p + 1 == t.end || (t.p < t.end && ptx_skip(t.p + 1, t.end) == t.end);
}

/* --- memory --- */

/* A parameter of the kernel. */
static struct flow_value load_param(
	const struct flow_values *v, const struct flow_insn *i, struct type type)
{
	const struct ptx_spin_launch *l = v->launch;
	struct ptx_text word;
	uint64_t plus, value = 0;
	uint32_t name, pair[2];
	const uint32_t bytes = type.bits / 8;

	if (i->nargs != 2 || !bytes || !split_address(i->arg[1], &word, &plus) ||
		!flow_find(v->f, word, &name) || v->f->name[name].param == FLOW_NONE ||
		v->f->name[name].param >= l->nparams / sizeof(pair))
		return any;
	memcpy(pair, (const uint8_t *)l->params + v->f->name[name].param * sizeof(pair),
		sizeof(pair));
	if (!range_within(plus, bytes, 0, pair[1]) || !range_within(pair[0], pair[1], 0, l->nargs))
		return any;
	memcpy(&value, (const uint8_t *)l->args + pair[0] + plus, bytes);
	return with(type.is_signed ? (uint64_t)extend(value, type.bits) : value);
}

static bool is_on_chip(const struct parts *p)
{
	static const char *const spaces[] = {"shared", "local", "const", "param", "shared::cta",
		"shared::cluster", "param::entry", "param::func"};

	for (unsigned i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		if (has(p, spaces[i]))
			return true;
	return false;
}

/* A load that reads memory each time. */
static bool reads_anew(const struct parts *p)
{
	return is(p->part[0], "ld") && !is_on_chip(p) && !has(p, "v2") && !has(p, "v4") &&
	       (has(p, "volatile") || has(p, "relaxed") || has(p, "acquire") || has(p, "mmio"));
}

/* Fills in the bytes that an access with this address operand reads. */
static void find_bytes(const struct flow_values *v, const struct flow_insn *i, struct type type,
	struct ptx_spin_read *ret, bool *ret_addr)
{
	struct ptx_text word;
	struct flow_value base;
	uint64_t plus;

	*ret = (struct ptx_spin_read){.bytes = type.bits / 8, .file = i->file, .line = i->line};
	*ret_addr = false;
	if (type.bits < 8 || i->nargs < 2 || !split_address(i->arg[1], &word, &plus))
		return;
	base = flow_value(v, word);
	if (base.known != FLOW_VALUE)
		return;
	ret->addr = base.v + plus;
	*ret_addr = true;
	for (unsigned k = 0; k < v->nknown && !ret->known; k++)
		if (v->known[k].known && v->known[k].addr == ret->addr &&
			v->known[k].bytes == ret->bytes) {
			ret->known = true;
			ret->value = cut(v->known[k].value, type.bits);
		}
}

/* Whether an atomic leaves the value `now` as it is: a read, in fact. */
static bool leaves(const struct flow_values *v, const struct flow_insn *i, const struct parts *p,
	struct type type, uint64_t now)
{
	const struct flow_value a = i->nargs > 2 ? flow_value(v, i->arg[2]) : any,
				b = i->nargs > 3 ? flow_value(v, i->arg[3]) : any;
	const uint64_t x = cut(a.v, type.bits), y = cut(b.v, type.bits);

	if (a.known != FLOW_VALUE)
		return false;
	if (has(p, "cas"))
		return x != now || (b.known == FLOW_VALUE && y == now);
	if (i->nargs != 3)
		return false;
	if (has(p, "exch"))
		return x == now;
	if (has(p, "add"))
		return !x;
	if (has(p, "or"))
		return (now | x) == now;
	if (has(p, "and"))
		return (now & x) == now;
	return has(p, "xor") && !x;
}

static enum flow_access access_atomic(const struct flow_values *v, const struct flow_insn *i,
	const struct parts *p, struct ptx_spin_read *ret, bool *ret_addr)
{
	const struct type type = last_type(p);

	if (type.bits < 8 || is_on_chip(p) || i->nargs > FLOW_ARGS || has(p, "v2") ||
		has(p, "v4") || has(p, "v8"))
		return FLOW_WRITES;
	find_bytes(v, i, type, ret, ret_addr);
	if (!*ret_addr)
		return FLOW_WRITES;
	if (!ret->known)
		return FLOW_READS;
	return leaves(v, i, p, type, ret->value) ? FLOW_READS : FLOW_WRITES;
}

enum flow_access flow_access(const struct flow_values *v, const struct flow_insn *i,
	struct ptx_spin_read *ret, bool *ret_addr)
{
	static const char *const harmless[] = {"ld", "ldu", "prefetch", "prefetchu"};
	const struct parts p = split(i->op);

	*ret = (struct ptx_spin_read){0};
	*ret_addr = false;
	if (is(p.part[0], "atom"))
		return access_atomic(v, i, &p, ret, ret_addr);
	if (reads_anew(&p)) {
		find_bytes(v, i, last_type(&p), ret, ret_addr);
		return FLOW_READS;
	}
	for (unsigned k = 0; k < sizeof(harmless) / sizeof(*harmless); k++)
		if (is(p.part[0], harmless[k]))
			return FLOW_NO_ACCESS;
	for (unsigned k = 0; k < i->nargs && k < FLOW_ARGS; k++) {
		const char *at = ptx_skip(i->arg[k].p, i->arg[k].end);

		if (at < i->arg[k].end && *at == '[')
			return FLOW_WRITES;
	}
	return FLOW_NO_ACCESS;
}

static struct flow_value load(
	const struct flow_values *v, const struct flow_insn *i, const struct parts *p)
{
	const struct type type = last_type(p);
	struct ptx_spin_read r;
	bool addr;

	if (is(p->part[0], "ld") && p->n == 3 &&
		(is(p->part[1], "param") || is(p->part[1], "param::entry")))
		return load_param(v, i, type);
	if (type.bits < 8 || (!is(p->part[0], "atom") && !reads_anew(p)) ||
		flow_access(v, i, &r, &addr) != FLOW_READS || !r.known)
		return any;
	return with(type.is_signed ? (uint64_t)extend(r.value, type.bits) : r.value);
}

/* --- arithmetic --- */

static bool compare(struct ptx_text how, struct type t, uint64_t a, uint64_t b, bool *ret)
{
	const int64_t x = extend(a, t.bits), y = extend(b, t.bits);
	const bool s = t.is_signed;

	if (is(how, "eq"))
		*ret = a == b;
	else if (is(how, "ne"))
		*ret = a != b;
	else if (is(how, "lt") || is(how, "lo"))
		*ret = s ? x < y : a < b;
	else if (is(how, "le") || is(how, "ls"))
		*ret = s ? x <= y : a <= b;
	else if (is(how, "gt") || is(how, "hi"))
		*ret = s ? x > y : a > b;
	else if (is(how, "ge") || is(how, "hs"))
		*ret = s ? x >= y : a >= b;
	else
		return false;
	return true;
}

static struct flow_value shift(bool left, struct type t, uint64_t a, uint64_t by)
{
	if (by >= t.bits)
		return with(!left && t.is_signed && extend(a, t.bits) < 0 ? cut(UINT64_MAX, t.bits)
									  : 0);
	if (left)
		return with(cut(a << by, t.bits));
	return with(t.is_signed ? cut((uint64_t)(extend(a, t.bits) >> by), t.bits) : a >> by);
}

/* Of two numbers, cut to the type. */
static struct flow_value of_two(struct ptx_text op, struct type t, uint64_t a, uint64_t b)
{
	const bool less = t.is_signed ? extend(a, t.bits) < extend(b, t.bits) : a < b;

	if (is(op, "add"))
		return with(cut(a + b, t.bits));
	if (is(op, "sub"))
		return with(cut(a - b, t.bits));
	if (is(op, "and"))
		return with(a & b);
	if (is(op, "or"))
		return with(a | b);
	if (is(op, "xor"))
		return with(a ^ b);
	if (is(op, "min"))
		return with(less ? a : b);
	if (is(op, "max"))
		return with(less ? b : a);
	return any;
}

/* mul and mad; c: what is added. */
static struct flow_value multiply(
	const struct parts *p, struct type t, uint64_t a, uint64_t b, uint64_t c)
{
	if (is(p->part[1], "lo"))
		return with(cut(a * b + c, t.bits));
	if (!is(p->part[1], "wide") || t.bits > 32)
		return any;
	if (t.is_signed)
		return with(cut((uint64_t)(extend(a, t.bits) * extend(b, t.bits)) + c, 2 * t.bits));
	return with(cut(a * b + c, 2 * t.bits));
}

static struct flow_value convert(const struct parts *p, uint64_t a)
{
	const struct type to = type_of(p->part[1]), from = type_of(p->part[2]);

	if (to.bits < 8 || from.bits < 8)
		return any;
	a = cut(a, from.bits);
	return with(cut(from.is_signed ? (uint64_t)extend(a, from.bits) : a, to.bits));
}

/* One source. */
static struct flow_value of_one(const struct parts *p, struct type t, uint64_t a)
{
	const struct ptx_text op = p->part[0];

	if (is(op, "cvta"))
		return p->n <= 4 && has(p, "global") && t.bits == 64 ? with(a) : any;
	if (is(op, "cvt"))
		return p->n == 3 ? convert(p, a) : any;
	if (p->n != 2)
		return any;
	if (is(op, "mov"))
		return with(cut(a, t.bits));
	if (is(op, "not"))
		return with(cut(~a, t.bits));
	if (is(op, "neg"))
		return with(cut(0 - a, t.bits));
	return any;
}

static struct flow_value of_sources(
	const struct parts *p, struct type t, const uint64_t *a, unsigned n)
{
	const uint64_t x = cut(a[0], t.bits), y = n > 1 ? cut(a[1], t.bits) : 0;
	const bool times = p->n == 3 && (is(p->part[0], "mul") || is(p->part[0], "mad"));
	bool holds;

	if (n == 1)
		return of_one(p, t, a[0]);
	if (n == 2 && p->n == 3 && is(p->part[0], "setp"))
		return compare(p->part[1], t, x, y, &holds) ? with(holds) : any;
	if (n == 2 && p->n == 2 && (is(p->part[0], "shl") || is(p->part[0], "shr")))
		return shift(is(p->part[0], "shl"), t, x, cut(a[1], 32));
	if (times && n == (is(p->part[0], "mul") ? 2 : 3))
		return multiply(p, t, x, y, n > 2 ? a[2] : 0);
	if (n == 3 && p->n == 2 && is(p->part[0], "selp"))
		return with(cut(a[2], 1) ? x : y);
	return n == 2 && p->n == 2 ? of_two(p->part[0], t, x, y) : any;
}

/* --- all instructions --- */

static struct flow_value evaluate(const struct flow_values *v, const struct flow_insn *i)
{
	const struct parts p = split(i->op);
	const struct type t = last_type(&p);
	uint64_t source[3];
	unsigned n;

	if (is(p.part[0], "ld") || is(p.part[0], "atom"))
		return load(v, i, &p);
	if (!t.bits || i->nargs < 2 || i->nargs > 4)
		return any;
	for (n = 0; n + 1 < i->nargs; n++) {
		const struct flow_value s = flow_value(v, i->arg[n + 1]);

		if (s.known != FLOW_VALUE)
			return s;
		source[n] = s.v;
	}
	return of_sources(&p, t, source, n);
}

/* The first operand is none that is written. */
static bool has_no_result(struct ptx_text op)
{
	static const char *const none[] = {
		"bra", "ret", "exit", "trap", "nanosleep", "membar", "fence", "bar", "barrier"};

	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++)
		if (ptx_begins(op, none[i]) && !ptx_has(op, ".red"))
			return true;
	return false;
}

unsigned flow_results(struct flow *f, const struct flow_insn *i, uint32_t *ret, unsigned most)
{
	struct ptx_text at = i->nargs ? i->arg[0] : (struct ptx_text){NULL, NULL}, w;
	unsigned n = 0;

	at.p = i->nargs ? ptx_skip(at.p, at.end) : at.p;
	if (at.p == at.end || *at.p == '[' || has_no_result(i->op))
		return 0;
	while (n < most && (w = flow_word(&at), w.p < w.end))
		ret[n++] = flow_name(f, w);
	return n;
}

/* Returns whether more has become known. */
static bool join(struct flow_value *to, struct flow_value by)
{
	if (by.known == FLOW_NOTHING || to->known == FLOW_ANY)
		return false;
	if (to->known == FLOW_NOTHING) {
		*to = by;
		return true;
	}
	if (by.known == FLOW_VALUE && by.v == to->v)
		return false;
	*to = any;
	return true;
}

static bool execute(struct flow_values *v, const struct flow_insn *i)
{
	const struct flow_value guard = flow_guard(v, i);
	uint32_t result[RESULTS_MAX];
	unsigned n;
	bool more = false;

	if (guard.known == FLOW_NOTHING || (guard.known == FLOW_VALUE && !guard.v))
		return false;
	n = flow_results(v->f, i, result, RESULTS_MAX);
	if (n == 1)
		return join(&v->of[result[0]], evaluate(v, i));
	for (unsigned k = 0; k < n; k++)
		more |= join(&v->of[result[k]], any);
	return more;
}

void flow_values_find(struct flow_values *v)
{
	uint32_t result[RESULTS_MAX];
	unsigned pass = 0;
	bool more = true;

	for (uint32_t i = 0; i < v->f->n; i++) /* from here on all names are there */
		if (flow_results(v->f, &v->f->insn[i], result, RESULTS_MAX) == RESULTS_MAX)
			v->f->why = "one of its instructions has too many results";
	v->n = v->f->nnames;
	v->of = xcalloc(v->n + 1, sizeof(*v->of));
	for (; more && pass < PASSES_MAX; pass++) {
		more = false;
		for (uint32_t i = 0; i < v->f->n; i++)
			more |= execute(v, &v->f->insn[i]);
	}
	for (size_t i = 0; i < v->n; i++)
		if (more || v->of[i].known == FLOW_NOTHING) /* or never set at all */
			v->of[i] = any;
}

void flow_values_free(struct flow_values *v)
{
	free(v->of);
	v->of = NULL;
}
