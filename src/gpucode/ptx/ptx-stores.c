/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-stores.h. For each register, the set of things that its value may be made of, whatever
 * the order of instructions: a loop over the text's instructions until no set grows. The surprise:
 * a 64-bit number that was loaded counts as a pointer until it is multiplied or shifted, as an
 * index is; narrower ones count only once two are put together. Instructions and operands: PTX
 * ISA 9.0, chapter 9.
 */
#include "gpucode/ptx-stores.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "gpucode/traits/ptx-names.h"
#include "gpucode/ptx-text.h"

#define OPERANDS_MAX 24u
#define PASSES_MAX 64u

/* What a value may be made of, besides bases. */
enum {
	LOADED = 1,
	/* 64 bits from memory */ HALF = 2,
	/* narrower bits from memory */ ON_CHIP = 4 /* the address of a local or shared variable */
};

struct taint {
	struct ptx_bases bases;
	unsigned flags;
};

struct word {
	const char *p;
	size_t n;
};

struct operand {
	struct word words[9]; /* registers and names; of a vector, each */
	unsigned n;
	bool address, vector;
	bool indirect; /* address: of a register */
	uint32_t offset;
};

struct instruction {
	struct word opcode;
	struct operand *operands;
	unsigned n;
};

struct name {
	struct taint taint;
	enum { A_REGISTER, A_PARAM, A_SYMBOL, A_VARIABLE /* local or shared */ } kind;
	unsigned param;
};

struct finder {
	struct ptx_stores *out;
	struct instruction *list;
	size_t n, cap;
	struct ptx_names numbers;
	struct name *names; /* by number */
	size_t nnames, cap_names;
	struct taint local, shared; /* what was stored there */
	bool grew;
	bool judging; /* all sets are as large as they get */
};

/* --- names --- */

static bool same(struct word a, const char *b)
{
	return strlen(b) == a.n && !memcmp(a.p, b, a.n);
}

/* Valid until the next call. What is not declared is a register. */
static struct name *name_of(struct finder *f, struct word w)
{
	const uint32_t i = ptx_names_number(&f->numbers, (struct ptx_text){w.p, w.p + w.n});

	if (i == f->nnames) {
		MAKE_ROOM(f->names, f->nnames, f->cap_names);
		f->names[f->nnames++] = (struct name){.kind = A_REGISTER};
	}
	return &f->names[i];
}

static void anywhere(struct finder *f, const char *why)
{
	if (!f->out->anywhere)
		f->out->anywhere = why;
}

static unsigned base_of(struct finder *f, const struct ptx_base *b)
{
	struct ptx_stores *o = f->out;

	for (unsigned i = 0; i < o->nbases; i++) {
		const struct ptx_base *x = &o->bases[i];

		if (b->symbol ? x->symbol && !strcmp(x->symbol, b->symbol)
			      : !x->symbol && x->param == b->param && x->offset == b->offset &&
					x->size == b->size)
			return i;
	}
	if (o->nbases == PTX_BASES_MAX) {
		anywhere(f, "addresses are made of too many parameters");
		return 0;
	}
	o->bases = xrealloc(o->bases, (o->nbases + 1) * sizeof *o->bases);
	o->bases[o->nbases] = *b;
	o->bases[o->nbases].symbol = b->symbol ? xstrdup(b->symbol) : NULL;
	return o->nbases++;
}

/* --- sets --- */

static struct taint with_base(struct finder *f, struct ptx_base b)
{
	struct taint t = {0};
	const unsigned i = base_of(f, &b);

	t.bases.bits[i / 64] = 1ull << i % 64;
	return t;
}

static struct taint with_symbol(struct finder *f, struct word w)
{
	char *s = xmalloc(w.n + 1);

	memcpy(s, w.p, w.n);
	s[w.n] = 0;
	const struct taint t = with_base(f, (struct ptx_base){.symbol = s});
	free(s);
	return t;
}

static struct taint both(struct taint a, const struct taint *b)
{
	for (unsigned i = 0; i < PTX_BASES_MAX / 64; i++)
		a.bases.bits[i] |= b->bases.bits[i];
	a.flags |= b->flags;
	return a;
}

static void grow(struct finder *f, struct taint *t, const struct taint *by)
{
	const struct taint now = both(*t, by);

	f->grew |= memcmp(&now, t, sizeof now) != 0;
	*t = now;
}

/* What a word is as a value. */
static struct taint value_of_word(struct finder *f, struct word w)
{
	struct taint t = {0};

	if (w.p[0] >= '0' && w.p[0] <= '9')
		return t;
	const struct name *x = name_of(f, w);
	switch (x->kind) {
	case A_REGISTER:
		return x->taint;
	case A_PARAM: /* its address: what is loaded by it may be any word of it */
		return with_base(f, (struct ptx_base){.param = x->param, .size = UINT32_MAX});
	case A_SYMBOL:
		return with_symbol(f, w);
	case A_VARIABLE:
		break;
	}
	t.flags = ON_CHIP;
	return t;
}

static struct taint value_of_operand(struct finder *f, const struct operand *o)
{
	struct taint t = {0};

	for (unsigned i = 0; i < o->n; i++) {
		const struct taint one = value_of_word(f, o->words[i]);

		t = both(t, &one);
	}
	return t;
}

static void set(struct finder *f, const struct operand *o, const struct taint *t)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->words[i].p[0] < '0' || o->words[i].p[0] > '9')
			grow(f, &name_of(f, o->words[i])->taint, t);
}

/* --- text --- */

static struct word take_word(const char **p, const char *end)
{
	struct word w = {*p, 0};

	while (*p < end && ptx_is_name(**p))
		++*p;
	w.n = (size_t)(*p - w.p);
	return w;
}

/* One operand, up to a comma or the end of the statement: [a+8], {a, b}, a|b, a, 17, -3,
 * 0f00000000. */
static const char *take_operand(struct operand *o, const char *p, const char *end)
{
	int depth = 0;
	bool plus = false;

	for (p = ptx_skip(p, end); p < end; p = ptx_skip(p, end)) {
		if (*p == ',' && !depth)
			break;
		if (ptx_is_name(*p)) {
			const struct word w = take_word(&p, end);
			const bool number = w.p[0] >= '0' && w.p[0] <= '9';

			if (number && plus && o->address)
				o->offset = (uint32_t)strtoul(w.p, NULL, 0);
			else if (o->n < sizeof o->words / sizeof *o->words && !(number && plus))
				o->words[o->n++] = w;
			o->indirect |= o->address && w.p[0] == '%';
			continue;
		}
		depth += *p == '[' || *p == '{' || *p == '(';
		depth -= *p == ']' || *p == '}' || *p == ')';
		o->address |= *p == '[';
		o->vector |= *p == '{';
		plus = *p == '+' || *p == '-';
		p++;
	}
	return p;
}

static void add_instruction(struct finder *f, struct word opcode, const char *p, const char *end)
{
	struct operand operands[OPERANDS_MAX];
	struct instruction x = {.opcode = opcode};

	for (p = ptx_skip(p, end); p < end && x.n < OPERANDS_MAX; x.n++) {
		operands[x.n] = (struct operand){0};
		p = take_operand(&operands[x.n], p, end);
		p = p < end ? ptx_skip(p + 1, end) : p;
	}
	if (p < end)
		anywhere(f, "an instruction with too many operands");
	x.operands = xmalloc((x.n + 1) * sizeof *x.operands);
	memcpy(x.operands, operands, x.n * sizeof *operands);
	MAKE_ROOM(f->list, f->n, f->cap);
	f->list[f->n++] = x;
}

/* The name that a declaration ends with: "[.attributes] .local .align 8 .b8 name[16]", "... =
 * {...}". */
static void declare(struct finder *f, struct word w, int kind, unsigned param)
{
	struct name *x = name_of(f, w);

	x->kind = kind;
	x->param = param;
}

static void take_declaration(struct finder *f, const char *p, const char *end)
{
	struct word last = {NULL, 0}, w;
	int kind = -1;

	while ((p = ptx_skip(p, end)) < end && *p != '[' && *p != '=' && *p != '<') {
		if (*p == '.') {
			p++;
			w = take_word(&p, end);
			kind = same(w, "local") || same(w, "shared")   ? A_VARIABLE
			       : same(w, "global") || same(w, "const") ? A_SYMBOL
								       : kind;
		} else if (ptx_is_name(*p)) {
			last = take_word(&p, end);
		} else {
			p++;
		}
	}
	if (kind >= 0 && last.n)
		declare(f, last, kind, 0);
}

static bool is_declaration(const char *p, const char *end)
{
	static const char *const known[] = {"reg", "local", "shared", "param", "pragma",
		"branchtargets", "callprototype", "calltargets", "align"};

	p++;
	const struct word w = take_word(&p, end);
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (same(w, known[i]))
			return true;
	return false;
}

static void take_statement(struct finder *f, const char *p, const char *end)
{
	struct word w;

	p = ptx_skip(p, end);
	if (p < end && *p == '@') { /* a predicate */
		for (p++; p < end && (*p == '!' || ptx_is_name(*p));)
			p++;
		p = ptx_skip(p, end);
	}
	if (p >= end)
		return;
	if (*p == '.') {
		if (!is_declaration(p, end))
			anywhere(f, "its code has a directive that is not known");
		take_declaration(f, p, end);
		return;
	}
	w = (struct word){p, 0};
	while (p < end && (ptx_is_name(*p) || *p == '.' || *p == ':'))
		p++;
	w.n = (size_t)(p - w.p);
	add_instruction(f, w, p, end);
}

/* A label, a brace or a statement that ends at a semicolon; braces within a statement (vectors,
 * initial values) belong to it. */
static const char *next_statement(struct finder *f, const char *p, const char *end, int *depth)
{
	const char *from = p = ptx_skip(p, end);
	int inside = 0;

	if (p < end && (*p == '{' || *p == '}')) {
		*depth += *p == '{' ? 1 : -1;
		return p + 1;
	}
	if (end - p > 5 &&
		(!memcmp(p, ".loc", 4) || !memcmp(p, ".file", 5))) { /* for debuggers: a line */
		p = memchr(p, '\n', (size_t)(end - p));
		return p ? p + 1 : end;
	}
	if (p < end && ptx_is_name(*p)) {
		const char *q = p;

		(void)take_word(&q, end);
		if (q < end && *q == ':' && (end - q < 2 || q[1] != ':'))
			return q + 1; /* a label */
	}
	for (; p < end && (*p != ';' || inside > 0); p++)
		inside += (*p == '{') - (*p == '}');
	take_statement(f, from, p);
	return p < end ? p + 1 : end;
}

/* Parameters of the entry; returns the text behind them. */
static const char *take_params(struct finder *f, const char *p, const char *end)
{
	struct word last = {NULL, 0};
	unsigned n = 0;
	int inside = 0;

	for (p = ptx_skip(p, end); p < end && *p != '{' && *p != '('; p = ptx_skip(p + 1, end))
		;
	if (p >= end || *p == '{')
		return p;
	for (p = ptx_skip(p + 1, end); p < end; p = ptx_skip(p, end)) {
		if (*p == ',' || *p == ')') {
			if (last.n)
				declare(f, last, A_PARAM, n++);
			last.n = 0;
			if (*p++ == ')')
				break;
		} else if (ptx_is_name(*p)) {
			const struct word w = take_word(&p, end);

			if (!inside && (w.p[0] < '0' || w.p[0] > '9') && w.p[-1] != '.')
				last = w;
		} else {
			inside += (*p == '[') - (*p == ']');
			p++;
		}
	}
	return p;
}

/* Variables of the module: what is declared outside of functions. */
static void take_module(struct finder *f, const char *p, const char *end)
{
	while (p < end) {
		const char *from = p = ptx_skip(p, end);
		int inside = 0;

		for (; p < end && (*p != ';' || inside > 0); p++) {
			inside += (*p == '{') - (*p == '}');
			if (*p == '}' && !inside && memmem(from, (size_t)(p - from), "(", 1))
				break; /* the end of a function */
			if (*p == '\n' && !inside && from[0] == '.' &&
				(!strncmp(from, ".version", 8) || !strncmp(from, ".target", 7) ||
					!strncmp(from, ".address_size", 13)))
				break;
		}
		if (!memmem(from, (size_t)(p - from), "(", 1))
			take_declaration(f, from, p);
		p = p < end ? p + 1 : end;
	}
}

/* --- what instructions do --- */

/* The opcode is `name`, or begins with it and a dot. */
static bool is_op(const struct instruction *x, const char *name)
{
	const size_t n = strlen(name);

	return x->opcode.n >= n && !memcmp(x->opcode.p, name, n) &&
	       (x->opcode.n == n || x->opcode.p[n] == '.');
}

static bool has_part(const struct instruction *x, const char *part)
{
	return memmem(x->opcode.p, x->opcode.n, part, strlen(part)) != NULL;
}

/* Of the type that it moves. */
static bool is_wide(const struct instruction *x)
{
	static const char *const wide[] = {".u64", ".b64", ".s64", ".f64", ".b128", ".f64x2"};

	for (unsigned i = 0; i < sizeof wide / sizeof *wide; i++)
		if (has_part(x, wide[i]))
			return true;
	return false;
}

static struct taint loaded(const struct instruction *x)
{
	return (struct taint){.flags = is_wide(x) ? LOADED : HALF};
}

static void store_through(struct finder *f, const struct operand *o)
{
	const struct taint t = value_of_operand(f, o);
	struct ptx_stores *s = f->out;
	const struct ptx_bases none = {{0}};

	if (!f->judging)
		return;
	if (t.flags & LOADED)
		anywhere(f, "it stores through an address that may have been loaded from memory");
	else if (!memcmp(&t.bases, &none, sizeof none) && !(t.flags & ON_CHIP))
		anywhere(f, "it stores through an address that is made of no parameter");
	if (!memcmp(&t.bases, &none, sizeof none))
		return;
	for (size_t i = 0; i < s->nstores; i++)
		if (!memcmp(&s->stores[i], &t.bases, sizeof t.bases))
			return;
	s->stores = xrealloc(s->stores, (s->nstores + 1) * sizeof *s->stores);
	s->stores[s->nstores++] = t.bases;
}

static void do_load(struct finder *f, const struct instruction *x)
{
	struct taint t = loaded(x), address;
	const struct operand *from = x->n > 1 ? &x->operands[1] : NULL;
	const bool narrow = !is_wide(x);

	if (!from)
		return;
	address = value_of_operand(f, from);
	if (has_part(x, ".param")) {
		const struct name *p =
			from->n == 1 && !from->indirect ? name_of(f, from->words[0]) : NULL;

		if (p && p->kind != A_PARAM)
			return; /* what a function gave back */
		if (p) {
			const uint32_t lanes = has_part(x, ".v4") ? 4 : has_part(x, ".v2") ? 2 : 1;

			t = narrow && lanes < 2 && !has_part(x, "32")
				    ? (struct taint){0}
				    : with_base(f,
					      (struct ptx_base){.param = p->param,
						      .offset = from->offset & ~7u,
						      .size = has_part(x, ".b128")  ? 16
							      : narrow && lanes < 4 ? 8
										    : 8 * lanes});
		} else {
			t = address; /* of the whole parameter */
		}
	} else if (has_part(x, ".local")) {
		t = f->local;
	} else if (has_part(x, ".shared")) {
		t = f->shared;
	} else if (address.flags & ON_CHIP) { /* generic */
		t = both(t, &f->local);
		t = both(t, &f->shared);
	}
	set(f, &x->operands[0], &t);
}

static void do_store(struct finder *f, const struct instruction *x)
{
	struct taint value = {0};

	if (!x->n || has_part(x, ".param"))
		return;
	for (unsigned i = 1; i < x->n; i++) {
		const struct taint one = value_of_operand(f, &x->operands[i]);

		value = both(value, &one);
	}
	if (has_part(x, ".local")) {
		grow(f, &f->local, &value);
	} else if (has_part(x, ".shared")) {
		grow(f, &f->shared, &value);
	} else {
		if (value_of_operand(f, &x->operands[0]).flags & ON_CHIP) {
			grow(f, &f->local, &value);
			grow(f, &f->shared, &value);
		}
		store_through(f, &x->operands[0]);
	}
}

/* atom, red: the first address; atom's first operand gets what was there. */
static void do_atomic(struct finder *f, const struct instruction *x)
{
	const bool gives = is_op(x, "atom");
	struct taint was = loaded(x);

	if (x->n < (gives ? 2u : 1u))
		return;
	if (has_part(x, ".shared"))
		was = both(was, &f->shared);
	else
		store_through(f, &x->operands[gives]);
	if (gives)
		set(f, &x->operands[0], &was);
	for (unsigned i = 1 + gives; i < x->n && has_part(x, ".shared"); i++) {
		const struct taint v = value_of_operand(f, &x->operands[i]);

		grow(f, &f->shared, &v);
	}
}

/* Copies between spaces: ".global.shared" writes to global memory. */
static void do_async_copy(struct finder *f, const struct instruction *x)
{
	const struct taint any = {.flags = LOADED};

	const bool out = has_part(x, ".global.shared");

	if (out && has_part(x, ".tensor"))
		anywhere(f, "it copies to memory by a tensor map");
	else if (out && x->n)
		store_through(f, &x->operands[0]);
	grow(f, &f->shared, &any);
}

static void do_call(struct finder *f, const struct instruction *x)
{
	static const char *const harmless[] = {"vprintf", "__assertfail"};

	for (unsigned i = 0; i < x->n && i < 2; i++)
		for (unsigned j = 0; x->operands[i].n && j < sizeof harmless / sizeof *harmless;
			j++)
			if (same(x->operands[i].words[0], harmless[j]))
				return;
	anywhere(f, "it calls a function");
}

/* A shift, or a product, that puts a number into the upper half of a word. */
static bool moves_up(const struct instruction *x)
{
	const bool shift = is_op(x, "shl");

	if (x->n < 3 || !(shift || is_op(x, "mul") || is_op(x, "mad")))
		return false;
	for (unsigned i = 1; i < 3; i++) {
		const struct operand *o = &x->operands[i];

		if (o->n == 1 && o->words[0].p[0] >= '0' && o->words[0].p[0] <= '9')
			return strtoull(o->words[0].p, NULL, 0) >= (shift ? 24u : 1u << 24);
	}
	return false;
}

/* Everything that only computes: the first operand is made of the others. */
static void do_compute(struct finder *f, const struct instruction *x)
{
	static const char *const no_pointer[] = {"mul", "shl", "shr", "div", "rem", "bfe", "bfi",
		"popc", "clz", "bfind", "mul24", "cvt.rn", "setp", "set"};
	struct taint t = {0};

	for (unsigned i = 1; i < x->n; i++) {
		struct taint one = value_of_operand(f, &x->operands[i]);

		if ((is_op(x, "mad") || is_op(x, "fma") || is_op(x, "mad24")) && i < 3)
			one.flags = one.flags & LOADED ? (one.flags & ~(unsigned)LOADED) | HALF
						       : one.flags;
		t = both(t, &one);
	}
	for (unsigned i = 0; i < sizeof no_pointer / sizeof *no_pointer; i++)
		if (is_op(x, no_pointer[i]) && t.flags & LOADED)
			t.flags = (t.flags & ~(unsigned)LOADED) | HALF;
	if (t.flags & HALF && (is_op(x, "bfi") || moves_up(x)) && has_part(x, "64"))
		t.flags |= LOADED;
	if (t.flags & HALF &&
		((is_op(x, "mov") && x->n > 1 && x->operands[1].vector && has_part(x, "64")) ||
			is_op(x, "or")))
		t.flags |= has_part(x, "64") ? LOADED : 0;
	if (x->n)
		set(f, &x->operands[0], &t);
}

static const struct {
	const char *op;
	void (*run)(struct finder *,
		const struct instruction *); /* NULL: does nothing to memory or registers */
} table[] = {
	{"ld", do_load},
	{"ldu", do_load},
	{"st", do_store},
	{"atom", do_atomic},
	{"red", do_atomic},
	{"cp", do_async_copy},
	{"call", do_call},
	{"bra", NULL},
	{"brx", NULL},
	{"ret", NULL},
	{"exit", NULL},
	{"trap", NULL},
	{"bar", NULL},
	{"barrier", NULL},
	{"membar", NULL},
	{"fence", NULL},
	{"prefetch", NULL},
	{"prefetchu", NULL},
	{"nanosleep", NULL},
	{"griddepcontrol", NULL},
	{"pmevent", NULL},
	{"applypriority", NULL},
	{"mbarrier", NULL},
	{"stmatrix", NULL},
	{"setmaxnreg", NULL},
	{"elect", NULL},
};

/* Instructions that write to memory in other ways. */
static bool is_strange(const struct instruction *x)
{
	static const char *const ops[] = {"sust", "sured", "multimem", "discard", "tcgen05",
		"tensormap", "alloca", "stackrestore", "clusterlaunchcontrol"};

	for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
		if (is_op(x, ops[i]))
			return true;
	return false;
}

static void run(struct finder *f, const struct instruction *x)
{
	const struct taint half = {.flags = HALF}, wide = {.flags = LOADED};

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (is_op(x, table[i].op)) {
			if (table[i].run)
				table[i].run(f, x);
			return;
		}
	if (is_strange(x)) {
		anywhere(f, "it writes to memory in a way that is not looked into");
	} else if (has_part(x, "wmma.store")) {
		if (x->n && !has_part(x, ".shared"))
			store_through(f, &x->operands[0]);
	} else if (has_part(x, "wmma.load") || is_op(x, "ldmatrix") || is_op(x, "tex") ||
		   is_op(x, "tld4") || is_op(x, "suld")) {
		if (x->n)
			set(f, &x->operands[0], is_wide(x) ? &wide : &half);
	} else {
		do_compute(f, x);
	}
}

void ptx_stores_find(struct ptx_stores *ret, const char *text, size_t n, const char *entry)
{
	struct finder f = {.out = ret};
	const char *end = text + n, *p = ptx_find_entry((struct ptx_text){text, end}, entry);
	int depth = 0;
	unsigned pass = 0;

	*ret = (struct ptx_stores){0};
	if (!p) {
		ret->anywhere = "the code does not have the kernel";
		return;
	}
	take_module(&f, text, end);
	p = take_params(&f, p, end);
	p = memchr(p, '{', (size_t)(end - p));
	do
		p = p ? next_statement(&f, p, end, &depth) : end;
	while (depth > 0 && p < end);
	do {
		f.grew = false;
		for (size_t i = 0; i < f.n && !ret->anywhere; i++)
			run(&f, &f.list[i]);
	} while (f.grew && !ret->anywhere && ++pass < PASSES_MAX);
	if (pass == PASSES_MAX)
		anywhere(&f, "its addresses are too entangled");
	f.judging = true;
	for (size_t i = 0; i < f.n && !ret->anywhere; i++)
		run(&f, &f.list[i]);
	for (size_t i = 0; i < f.n; i++)
		free(f.list[i].operands);
	free(f.list);
	free(f.names);
	ptx_names_free(&f.numbers);
}

void ptx_stores_free(struct ptx_stores *s)
{
	for (unsigned i = 0; i < s->nbases; i++)
		free(s->bases[i].symbol);
	free(s->bases);
	free(s->stores);
	*s = (struct ptx_stores){0};
}
