/* SPDX-License-Identifier: Apache-2.0
 *
 * Random programs against what one thread by itself would do: branches and loops that part the
 * lanes, breaks, switches, calls in calls, recursion, early returns and ends, barriers. The model
 * walks the same tree for each thread and knows neither warps nor masks, so whatever the machine
 * does about lanes that part and meet must not show. Under several schedules, and compiled.
 */
#include "counted-handlers.h"

#define NREGS 5
#define NFUNCS 3
#define THREADS 75 /* a block: two warps and a bit */
#define BLOCKS 2

static uint64_t state;
static uint32_t next(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* --- the tree --- */
enum kind { SET, ADD, IF, LOOP, BREAK, SWITCH, CALL, RECURSE, LEAVE, BARRIER, COUNT };
struct node {
	enum kind kind;
	unsigned a, b, c; /* registers */
	uint32_t k;
	struct node *part[4]; /* bodies */
	struct node *next;
};

static struct node nodes[4000];
static unsigned nnodes;

struct place { /* where a statement is */
	unsigned depth, loops;
	unsigned callable; /* functions below this one may be called */
	bool top, in_function;
};

static struct node *body(unsigned n, struct place p);

static enum kind any_kind(struct place p)
{
	const uint32_t what = next(16);

	if (what < 4)
		return next(2) ? SET : ADD;
	if (what < 7 && p.depth)
		return IF;
	if (what < 9 && p.depth && p.loops < 2)
		return LOOP;
	if (what == 9 && p.loops)
		return BREAK;
	if (what == 10 && p.depth)
		return SWITCH;
	if (what == 11 && p.callable)
		return CALL;
	if (what == 12)
		return RECURSE;
	if (what == 13 && next(3) == 0)
		return LEAVE;
	if (what == 14 && p.top)
		return BARRIER;
	return what == 15 ? COUNT : ADD;
}

static struct node *statement(struct place p)
{
	struct node *n = &nodes[nnodes++];

	assert_true(nnodes < sizeof(nodes) / sizeof(nodes[0]) - 1);
	*n = (struct node){.kind = any_kind(p),
		.a = next(NREGS),
		.b = next(NREGS),
		.c = next(NREGS),
		.k = next(1 << 20)};
	p.depth -= p.depth > 0;
	p.top = false;
	if (n->kind == CALL)
		n->k = next(p.callable);
	if (n->kind == IF) {
		n->part[0] = body(1 + next(3), p);
		n->part[1] = next(2) ? body(1 + next(2), p) : NULL;
	} else if (n->kind == SWITCH) {
		for (unsigned k = 0; k < 4; k++)
			n->part[k] = body(1, p);
	} else if (n->kind == LOOP) {
		p.loops++;
		n->part[0] = body(1 + next(4), p);
	}
	return n;
}

static struct node *body(unsigned n, struct place p)
{
	struct node *first = NULL, **at = &first;

	for (; n; n--) {
		*at = statement(p);
		at = &(*at)->next;
	}
	return first;
}

/* --- one thread --- */
enum end { ON, BROKE, LEFT };
struct thread {
	uint32_t counted;
	struct node **functions;
};

static uint32_t recursive(uint32_t n, uint32_t v)
{
	return n & 3 ? recursive((n & 3) - 1, v * 3 + n) ^ n : v;
}

static bool condition(const struct node *n, const uint32_t *x)
{
	return x[n->a] >> (n->k % 7) & 1;
}

static enum end walk(const struct node *n, uint32_t *x, struct thread *t);

static enum end step(const struct node *n, uint32_t *x, struct thread *t)
{
	uint32_t y[NREGS] = {0};
	enum end end = ON;

	switch (n->kind) {
	case SET:
		x[n->a] = x[n->b] * 5 + n->k;
		return ON;
	case ADD:
		x[n->a] = (x[n->a] ^ x[n->b] >> 3) + x[n->c];
		return ON;
	case IF:
		return walk(n->part[!condition(n, x)], x, t);
	case SWITCH:
		return walk(n->part[x[n->a] & 3], x, t);
	case LOOP:
		for (uint32_t turns = x[n->a] & 3; turns && end == ON; turns--)
			end = walk(n->part[0], x, t);
		return end == BROKE ? ON : end;
	case BREAK:
		return condition(n, x) ? BROKE : ON;
	case LEAVE:
		return condition(n, x) && x[n->b] & 2 ? LEFT : ON;
	case CALL:
		y[0] = x[n->a];
		y[1] = x[n->b];
		walk(t->functions[n->k], y, t);
		x[n->c] = y[0];
		return ON;
	case RECURSE:
		x[n->c] = recursive(x[n->a], x[n->b]);
		return ON;
	case COUNT:
		t->counted += x[n->a];
		return ON;
	default:
		return ON;
	}
}

static enum end walk(const struct node *n, uint32_t *x, struct thread *t)
{
	enum end end = ON;

	for (; n && end == ON; n = n->next)
		end = step(n, x, t);
	return end;
}

/* --- the same as text --- */
struct text {
	char s[1 << 18];
	size_t at;
	unsigned labels;
};
#define OUT(...)                                                                                   \
	do {                                                                                       \
		t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__);        \
		assert_true(t->at < sizeof(t->s));                                                 \
	} while (0)

/* in: of a function, or of the kernel; loop: the innermost one's end. */
struct scope {
	bool function;
	unsigned loops, loop;
};

static void write_body(struct text *t, const struct node *n, struct scope s);

static void write_end(struct text *t, bool function)
{
	if (function)
		OUT("st.param.b32 [r], %%x0; ret;\n");
	else
		for (unsigned k = 0; k < NREGS; k++)
			OUT("st.global.u32 [%%out+%u], %%x%u;%s", 4 * k, k,
				k + 1 == NREGS ? " ret;\n" : " ");
}

static void write_condition(struct text *t, const struct node *n)
{
	OUT("shr.u32 %%t0, %%x%u, %u; and.b32 %%t0, %%t0, 1; setp.ne.u32 %%p, %%t0, 0;\n", n->a,
		n->k % 7);
}

static void write_call(struct text *t, const struct node *n, const char *name)
{
	OUT("{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %%x%u; st.param.b32 [b], %%x%u; call (c), %s, (a, b); ld.param.b32 %%x%u, [c]; }\n",
		n->a, n->b, name, n->c);
}

static void write_switch(struct text *t, const struct node *n, struct scope s)
{
	const unsigned at = t->labels;

	t->labels += 5;
	OUT("and.b32 %%t0, %%x%u, 3;\nT%u: .branchtargets L%u, L%u, L%u, L%u;\nbrx.idx %%t0, T%u;\n",
		n->a, at, at, at + 1, at + 2, at + 3, at);
	for (unsigned k = 0; k < 4; k++) {
		OUT("L%u:\n", at + k);
		write_body(t, n->part[k], s);
		OUT("bra L%u;\n", at + 4);
	}
	OUT("L%u:\n", at + 4);
}

static void write_loop(struct text *t, const struct node *n, struct scope s)
{
	const unsigned at = t->labels, d = s.loops;

	t->labels += 2;
	OUT("and.b32 %%n%u, %%x%u, 3;\nL%u: setp.eq.u32 %%p, %%n%u, 0; @%%p bra L%u;\n", d, n->a,
		at, d, at + 1);
	s.loops++;
	s.loop = at + 1;
	write_body(t, n->part[0], s);
	OUT("sub.u32 %%n%u, %%n%u, 1; bra L%u;\nL%u:\n", d, d, at, at + 1);
}

static void write_if(struct text *t, const struct node *n, struct scope s)
{
	const unsigned at = t->labels;

	t->labels += 2;
	write_condition(t, n);
	OUT("@!%%p bra L%u;\n", at);
	write_body(t, n->part[0], s);
	if (n->part[1])
		OUT("bra L%u;\n", at + 1);
	OUT("L%u:\n", at);
	write_body(t, n->part[1], s);
	OUT("L%u:\n", at + 1);
}

static void write_one(struct text *t, const struct node *n, struct scope s)
{
	char name[8];

	switch (n->kind) {
	case SET:
		OUT("mad.lo.u32 %%x%u, %%x%u, 5, %u;\n", n->a, n->b, n->k);
		break;
	case ADD:
		OUT("shr.u32 %%t0, %%x%u, 3; xor.b32 %%t0, %%x%u, %%t0; add.u32 %%x%u, %%t0, %%x%u;\n",
			n->b, n->a, n->a, n->c);
		break;
	case IF:
		write_if(t, n, s);
		break;
	case SWITCH:
		write_switch(t, n, s);
		break;
	case LOOP:
		write_loop(t, n, s);
		break;
	case BREAK:
		write_condition(t, n);
		OUT("@%%p bra L%u;\n", s.loop);
		break;
	case LEAVE:
		write_condition(t, n);
		OUT("and.b32 %%t0, %%x%u, 2; setp.ne.and.u32 %%p, %%t0, 0, %%p; @!%%p bra L%u;\n",
			n->b, t->labels);
		write_end(t, s.function);
		OUT("L%u:\n", t->labels++);
		break;
	case CALL:
		snprintf(name, sizeof(name), "f%u", n->k);
		write_call(t, n, name);
		break;
	case RECURSE:
		write_call(t, n, "again");
		break;
	case BARRIER:
		OUT("bar.sync %u;\n", n->k % 16);
		break;
	case COUNT:
		OUT("red.global.add.u32 [counted], %%x%u;\n", n->a);
	}
}

static void write_body(struct text *t, const struct node *n, struct scope s)
{
	for (; n; n = n->next)
		write_one(t, n, s);
}

#define REGISTERS ".reg .b32 %%x<5>, %%n<4>, %%t<2>; .reg .pred %%p; .reg .b64 %%out, %%in;\n"
static void write_program(struct text *t, struct node **functions, const struct node *kernel)
{
	t->at = t->labels = 0;
	OUT("%s.visible .global .align 4 .u32 counted;\n", PTX_HEAD);
	OUT(".visible .entry take(.param .u64 o) { .reg .b32 %%r; .reg .b64 %%d; ld.param.u64 %%d, [o]; atom.global.exch.b32 %%r, [counted], 0; st.global.u32 [%%d], %%r; ret; }\n"
	    ".func (.param .b32 r) again(.param .b32 a0, .param .b32 b0) {\n" REGISTERS);
	OUT("ld.param.b32 %%x0, [a0]; ld.param.b32 %%x1, [b0]; and.b32 %%x2, %%x0, 3; setp.eq.u32 %%p, %%x2, 0; @%%p bra END;\n"
	    "sub.u32 %%x2, %%x2, 1; mad.lo.u32 %%x1, %%x1, 3, %%x0;\n");
	write_call(t, &(struct node){.a = 2, .b = 1, .c = 1}, "again");
	OUT("xor.b32 %%x1, %%x1, %%x0;\nEND: st.param.b32 [r], %%x1; ret; }\n");
	for (unsigned f = 0; f < NFUNCS; f++) {
		OUT(".func (.param .b32 r) f%u(.param .b32 a0, .param .b32 b0) {\n" REGISTERS, f);
		OUT("ld.param.b32 %%x0, [a0]; ld.param.b32 %%x1, [b0]; mov.u32 %%x2, 0; mov.u32 %%x3, 0; mov.u32 %%x4, 0;\n");
		write_body(t, functions[f], (struct scope){.function = true});
		write_end(t, true);
		OUT("}\n");
	}
	OUT(".visible .entry k(.param .u64 o, .param .u64 i) {\n" REGISTERS
	    "mov.u32 %%t0, %%ctaid.x; mov.u32 %%t1, %%tid.x; mad.lo.u32 %%t0, %%t0, %d, %%t1; mul.lo.u32 %%t0, %%t0, %d;\n"
	    "ld.param.u64 %%out, [o]; ld.param.u64 %%in, [i]; mad.wide.u32 %%out, %%t0, 4, %%out; mad.wide.u32 %%in, %%t0, 4, %%in;\n",
		THREADS, NREGS);
	for (unsigned k = 0; k < NREGS; k++)
		OUT("ld.global.u32 %%x%u, [%%in+%u];\n", k, 4 * k);
	write_body(t, kernel, (struct scope){0});
	write_end(t, false);
	OUT("}\n");
}

/* --- the comparison --- */
#define WORDS (BLOCKS * THREADS * NREGS)
static uint32_t *in, *out;

static void launch(struct ptx_module *m, unsigned seed)
{
	const void *params[] = {out, in};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {BLOCKS, 1, 1},
		.block = {THREADS, 1, 1},
		.params = params};
	struct ptx_fault f;

	if (seed)
		l.schedule = (struct ptx_schedule){.random = true, .seed = seed};
	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
}

/* What was counted since the last call. */
static uint32_t take_counted(struct ptx_module *m)
{
	const void *params[] = {out};

	run(m, "take", 1, 1, params);
	return out[0];
}

static void one_program(unsigned round, unsigned schedules)
{
	static struct text t;
	struct node *functions[NFUNCS], *kernel;
	struct thread model = {.functions = functions};
	static uint32_t want[WORDS];
	struct ptx_module *m;

	state = round * 977 + 5;
	nnodes = 0;
	for (unsigned f = 0; f < NFUNCS; f++)
		functions[f] = body(2 + next(4),
			(struct place){.depth = 2, .callable = f, .in_function = true});
	kernel = body(IS_COMPILED ? 5 : 8 + next(6),
		(struct place){.depth = 3, .callable = NFUNCS, .top = true});
	write_program(&t, functions, kernel);
	for (unsigned k = 0; k < WORDS; k++)
		in[k] = next(3) ? next(1u << 31) : next(16);
	memcpy(want, in, sizeof(want));
	for (unsigned k = 0; k < BLOCKS * THREADS; k++)
		walk(kernel, want + k * NREGS, &model);
	m = load(t.s);
	for (unsigned s = 0; s < schedules; s++) {
		memset(out, 0xee, sizeof(want));
		launch(m, s);
		for (unsigned k = 0; k < WORDS; k++)
			if (out[k] != want[k]) {
				if (getenv("PROGRAM_TEXT"))
					print_message("%s", t.s);
				fail_msg(
					"program %u, schedule %u, thread %u, register %u: %#x, not %#x",
					round, s, k / NREGS, k % NREGS, out[k], want[k]);
			}
		assert_int_equal(take_counted(m), model.counted);
	}
	ptx_free(m);
}

static void test_programs(void **state_)
{
	if (!counted_mode())
		skip();
	for (unsigned round = 0; round < (IS_COMPILED ? 2 : 300); round++)
		one_program(round, IS_COMPILED ? 1 : 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};

	counted_environment();
	in = device(WORDS * 4);
	out = device(WORDS * 4);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
