/* SPDX-License-Identifier: Apache-2.0
 *
 * What a function's control flow says about it, on random texts of branches, tables of branches,
 * returns, exits and traps, against the definitions: where the lanes of a branch meet again (its
 * immediate post-dominator: the nearest of the instructions that every way to the end meets), how
 * many registers are live at most, whether one may be read that nothing has written, whether a
 * result depends on other blocks. Each is worked out from single instructions, by searching ways.
 */
#include "ptx-test.h"

#include "softgpu/ptx/ptx-int.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MAX 120	    /* instructions */
#define MAXREGS 480 /* of one kind */
#define NSETS (3 * MAXREGS / 64 + 1)

static uint64_t state;
static uint32_t next(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* --- a program --- */
enum leave { ON, BRANCH, TABLE, RET, EXIT, TRAP };
struct insn {
	const char *form;
	enum leave leave;
	bool guarded, atomic, depends, strong;
	uint32_t guard;
	uint32_t to[4], nto; /* where it may go but for the next one */
	uint32_t uses[8], nuses, defs[4], ndefs;
	uint32_t succ[5], nsucc; /* distinct */
};

static struct insn insns[MAX + 1];
static uint32_t ninsns, nregs, npreds, nwides;

struct text {
	char s[1 << 16];
	size_t at;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

/* R and r: a register of 32 bits that is written, that is read; D and d: of 64; P and p: a
 * predicate. No register is written twice by one instruction, as PTX asks. */
static const struct form {
	const char *text;
	bool atomic;  /* of memory that other blocks see: the first that is written is its result */
	bool depends; /* what such memory holds in the end depends on who is first */
	bool strong;  /* a load of such memory */
} forms[] = {
	{"mov.u32 R, 7;"},
	{"mov.u32 R, %tid.x;"},
	{"mov.u32 R, r;"},
	{"add.u32 R, r, r;"},
	{"mad.lo.u32 R, r, r, r;"},
	{"cvt.u64.u32 D, r;"},
	{"mul.wide.u32 D, r, r;"},
	{"add.u64 D, d, d;"},
	{"setp.lt.u32 P, r, r;"},
	{"setp.lt.u32 P|P, r, r;"},
	{"setp.lt.and.u32 P|P, r, r, !p;"},
	{"not.pred P, p;"},
	{"selp.b32 R, r, r, p;"},
	{"mov.b64 {R, R}, d;"},
	{"mov.b64 {_, R}, d;"},
	{"mov.b64 D, {r, r};"},
	{"ld.global.u32 R, [d];"},
	{"ld.global.v4.u32 {R, R, _, R}, [d+16];"},
	{"ld.shared.u32 R, [r];"},
	{"st.global.u32 [d], r;"},
	{"st.shared.v4.u32 [r], {r, r, r, r};"},
	{"st.global.v2.u64 [d], {d, d};"},
	{"red.global.add.u32 [d], r;"},
	{"atom.shared.add.u32 R, [r], r;"},
	{"ld.volatile.shared.u32 R, [r];"},
	{"ld.volatile.local.u32 R, [r];"},
	{"shfl.sync.up.b32 R|P, r, r, r, r;"},
	{"bar.sync 0;"},
	{"atom.shared.exch.b32 R, [r], r;"},
	{"red.shared.add.f32 [r], 0f3F800000;"},
	{"red.global.max.s32 [d], r;"},
	{"atom.global.add.u32 _, [d], r;"},
	{"atom.global.add.u32 R, [d], r;", .atomic = true},
	{"atom.min.s32 R, [d], r;", .atomic = true},
	{"atom.global.and.b32 R, [d], r;", .atomic = true},
	{"atom.cas.b32 R, [d], r, r;", .depends = true},
	{"atom.global.exch.b32 _, [d], r;", .depends = true},
	{"red.add.f32 [d], 0f3F800000;", .depends = true},
	{"ld.volatile.global.u32 R, [d];", .strong = true},
	{"ld.relaxed.gpu.u32 R, [d];", .strong = true},
	{"ld.acquire.sys.global.u32 R, [d];", .strong = true},
};
#define NPLAIN 31u /* of forms that see no other block */

static uint32_t of_kind(char kind)
{
	switch (kind | 32) {
	case 'r':
		return next(nregs);
	case 'p':
		return MAXREGS + next(npreds);
	default:
		return 2 * MAXREGS + next(nwides);
	}
}

static bool has(const uint32_t *list, uint32_t n, uint32_t reg)
{
	for (uint32_t k = 0; k < n; k++)
		if (list[k] == reg)
			return true;
	return false;
}

/* A register for that letter, written down as read or written. */
static uint32_t operand(struct insn *i, char letter)
{
	uint32_t reg = of_kind(letter);

	if (letter >= 'a') {
		i->uses[i->nuses++] = reg;
	} else {
		while (has(i->defs, i->ndefs, reg))
			reg = of_kind(letter);
		i->defs[i->ndefs++] = reg;
	}
	return reg;
}

static void write_register(struct text *t, uint32_t reg)
{
	OUT("%%%c%u", "rpd"[reg / MAXREGS], reg % MAXREGS);
}

static void write_plain(struct text *t, struct insn *i, const struct form *form)
{
	const char *s = strchr(form->text, ' ');

	i->form = form->text;
	i->atomic = form->atomic;
	i->depends = form->depends;
	i->strong = form->strong;
	OUT("%.*s", (int)(s - form->text), form->text);
	for (; *s; s++) {
		bool alone = s[1] == ',' || s[1] == ';' || s[1] == ']' || s[1] == '}' ||
			     s[1] == '|' || s[1] == '+';
		bool letter = strchr("RrDdPp", *s) && alone && s[-1] != '.' && s[-1] != 't';

		if (letter)
			write_register(t, operand(i, *s));
		else
			OUT("%c", *s);
	}
}

static void write_jump(struct text *t, struct insn *i, uint32_t n, struct text *tables)
{
	i->leave = next(4) ? BRANCH : TABLE;
	i->form = i->leave == BRANCH ? "bra" : "brx.idx";
	i->nto = i->leave == BRANCH ? 1 : 1 + next(4);
	for (uint32_t k = 0; k < i->nto; k++)
		i->to[k] = next(n);
	if (i->leave == BRANCH) {
		OUT("bra L%u;", i->to[0]);
		return;
	}
	i->uses[i->nuses++] = next(nregs);
	OUT("brx.idx %%r%u, T%u;", i->uses[i->nuses - 1], (unsigned)(i - insns));
	t = tables;
	OUT("T%u: .branchtargets", (unsigned)(i - insns));
	for (uint32_t k = 0; k < i->nto; k++)
		OUT("%s L%u", k ? "," : "", i->to[k]);
	OUT(";\n");
}

static void write_insn(struct text *t, uint32_t at, uint32_t n, uint32_t see, struct text *tables)
{
	struct insn *i = &insns[at];
	const uint32_t what = next(20);

	*i = (struct insn){.guarded = next(3) == 0, .guard = MAXREGS + next(npreds)};
	if (what >= 14 && what < 18) /* most branches are of some lanes */
		i->guarded = next(4) != 0;
	OUT("L%u: ", at);
	if (i->guarded) {
		i->uses[i->nuses++] = i->guard;
		OUT("@%s", next(2) ? "!" : "");
		write_register(t, i->guard);
		OUT(" ");
	}
	if (what < 14) {
		write_plain(t, i, &forms[next(see) ? next(NPLAIN) : next(COUNT_OF(forms))]);
	} else if (what < 18) {
		write_jump(t, i, n, tables);
	} else if (what == 18 || next(3)) {
		i->leave = next(2) ? RET : EXIT;
		i->form = i->leave == RET ? "ret" : "exit";
		OUT("%s;", i->form);
	} else {
		i->leave = TRAP;
		i->form = "trap";
		OUT("trap;");
	}
	OUT("\n");
}

static void add_way(struct insn *i, uint32_t to)
{
	if (!has(i->succ, i->nsucc, to))
		i->succ[i->nsucc++] = to;
}

/* n instructions, and the return behind them, which every function has. */
static void write_program(struct text *t, uint32_t n, uint32_t see)
{
	static struct text body, tables;

	body.at = tables.at = 0;
	body.s[0] = tables.s[0] = 0;
	for (uint32_t k = 0; k < n; k++)
		write_insn(&body, k, n, see, &tables);
	insns[n] = (struct insn){.form = "the end", .leave = RET};
	ninsns = n + 1;
	for (uint32_t k = 0; k < n; k++) {
		struct insn *i = &insns[k];

		for (uint32_t j = 0; j < i->nto; j++)
			add_way(i, i->to[j]);
		if (i->leave == ON || i->guarded)
			add_way(i, k + 1);
	}
	t->at = 0;
	OUT(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n.reg .b32 %%r<%u>; .reg .pred %%p<%u>; .reg .b64 %%d<%u>;\n%s%s}\n",
		nregs, npreds, nwides, tables.s, body.s);
	assert_true(t->at < sizeof(t->s) && body.at < sizeof(body.s));
}

/* --- the definitions --- */
/* Marks what can be reached from an instruction without coming to `without`, over `among` alone. */
static void reach(uint32_t from, uint32_t without, const bool *among, bool *seen)
{
	uint32_t stack[MAX + 1], n = 0;

	memset(seen, 0, MAX + 1);
	if (from == without)
		return;
	seen[from] = true;
	stack[n++] = from;
	while (n) {
		const struct insn *i = &insns[stack[--n]];

		for (uint32_t k = 0; k < i->nsucc; k++) {
			const uint32_t to = i->succ[k];

			if (to == without || seen[to] || (among && !among[to]))
				continue;
			seen[to] = true;
			stack[n++] = to;
		}
	}
}

static bool is_end(uint32_t k, enum leave how, const bool *reached)
{
	return reached[k] && insns[k].leave == how && !insns[k].guarded;
}

/* What lanes go to: the returns, or the exits where no return can be reached. Ways that end
 * otherwise count for nothing. */
static enum leave end_of(const bool *reached)
{
	for (uint32_t k = 0; k < ninsns; k++)
		if (is_end(k, RET, reached))
			return RET;
	return EXIT;
}

/* Of the instructions that may come to the end, whether every way from k to it comes to d. */
static bool passes(uint32_t k, uint32_t d, enum leave end, const bool *good, const bool *reached)
{
	bool seen[MAX + 1];

	reach(k, d, good, seen);
	for (uint32_t j = 0; j < ninsns; j++)
		if (seen[j] && is_end(j, end, reached))
			return false;
	return true;
}

static uint32_t meeting_point(uint32_t k, enum leave end, const bool *good, const bool *reached)
{
	bool strict[MAX + 1] = {false};

	if (!good[k])
		return NO_PC;
	for (uint32_t d = 0; d < ninsns; d++)
		strict[d] = d != k && good[d] && passes(k, d, end, good, reached);
	for (uint32_t d = 0; d < ninsns; d++) {
		bool nearest = strict[d];

		for (uint32_t e = 0; nearest && e < ninsns; e++)
			nearest = !strict[e] || e == d || passes(d, e, end, good, reached);
		if (nearest)
			return d;
	}
	return NO_PC;
}

/* The registers that are live in front of each instruction. */
static bool live[MAX + 1][3 * MAXREGS];
static void find_live(void)
{
	memset(live, 0, sizeof(live));
	for (bool more = true; more;) {
		more = false;
		for (uint32_t k = 0; k < ninsns; k++) {
			const struct insn *i = &insns[k];
			bool now[3 * MAXREGS] = {false};

			for (uint32_t s = 0; s < i->nsucc; s++)
				for (uint32_t r = 0; r < 3 * MAXREGS; r++)
					now[r] |= live[i->succ[s]][r];
			for (uint32_t d = 0; !i->guarded && d < i->ndefs; d++)
				now[i->defs[d]] = false;
			for (uint32_t u = 0; u < i->nuses; u++)
				now[i->uses[u]] = true;
			more |= memcmp(now, live[k], sizeof(now)) != 0;
			memcpy(live[k], now, sizeof(now));
		}
	}
}

static uint32_t count(const bool *set)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < 3 * MAXREGS; r++)
		n += set[r];
	return n;
}

static bool is_read(uint32_t reg)
{
	for (uint32_t k = 0; k < ninsns; k++)
		if (has(insns[k].uses, insns[k].nuses, reg))
			return true;
	return false;
}

static bool sees_others(void)
{
	for (uint32_t k = 0; k < ninsns; k++)
		if (insns[k].strong || insns[k].depends ||
			(insns[k].atomic && is_read(insns[k].defs[0])))
			return true;
	return false;
}

/* --- the comparison --- */
static void compare_meetings(const struct ptx_function *fn, const char *text)
{
	bool reached[MAX + 1], good[MAX + 1];
	enum leave end;

	reach(0, NO_PC, NULL, reached);
	end = end_of(reached);
	for (uint32_t k = 0; k < ninsns; k++) {
		bool seen[MAX + 1];

		reach(k, NO_PC, NULL, seen);
		good[k] = false;
		for (uint32_t j = 0; reached[k] && j < ninsns; j++)
			good[k] |= seen[j] && is_end(j, end, reached);
	}
	for (uint32_t k = 0; k < ninsns; k++) {
		uint32_t want = NO_PC;

		if (insns[k].leave != BRANCH && insns[k].leave != TABLE)
			continue;
		want = meeting_point(k, end, good, reached);
		if (fn->insns[k].rpc != want)
			fail_msg("L%u meets at %d, not %d:\n%s", k, (int)fn->insns[k].rpc,
				(int)want, text);
	}
}

static void compare_registers(const struct ptx_function *fn, const char *text)
{
	uint32_t most = 0;

	find_live();
	for (uint32_t k = 0; k < ninsns; k++)
		most = count(live[k]) > most ? count(live[k]) : most;
	most = most < 255 ? most : 255;
	if (fn->regs != most)
		fail_msg("%u registers, not %u:\n%s", fn->regs, most, text);
	if (fn->needs_zero != (count(live[0]) != 0))
		fail_msg("zeroed: %d:\n%s", fn->needs_zero, text);
	if (fn->ordered != sees_others())
		fail_msg("ordered: %d:\n%s", fn->ordered, text);
}

/* --- the operands, as they are visited --- */
struct visits {
	uint32_t uses, defs;
	bool strange; /* a width that no register has */
};

static void visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct visits *v = arg;

	v->strange |= width != 0 && width != 4 && width != 8;
	if (off < 0) /* a constant */
		return;
	v->uses += !def;
	v->defs += def;
}

static void compare_operands(const struct ptx_function *fn, const char *text)
{
	for (uint32_t k = 0; k + 1 < ninsns; k++) {
		struct visits v = {0};

		ptx_visit_operands(&fn->insns[k], visit, &v);
		if (v.uses != insns[k].nuses || v.defs != insns[k].ndefs || v.strange)
			fail_msg("L%u: %u are read, %u written:\n%s", k, v.uses, v.defs, text);
	}
}

static void compare(uint32_t n, uint32_t see)
{
	static struct text text;
	const struct ptx_function *fn;
	struct ptx_module *m;

	write_program(&text, n, see);
	m = load(text.s);
	fn = ptx_kernel_by_name(m, "k");
	assert_int_equal(fn->ninsns, ninsns);
	for (uint32_t k = 0; k < n; k++)
		if (!fn->insns[k].row && !(fn->insns[k].flags & F_CTRL))
			fail_msg("L%u is refused:\n%s", k, text.s);
	compare_operands(fn, text.s);
	compare_meetings(fn, text.s);
	compare_registers(fn, text.s);
	ptx_free(m);
}

static void test_few_registers(void **state_)
{
	state = 1;
	nregs = 6;
	npreds = 4;
	nwides = 4;
	for (unsigned k = 0; k < 700; k++)
		compare(1 + next(24), 6);
}

/* More than a word of a set has. */
static void test_many_registers(void **state_)
{
	state = 2;
	npreds = 20;
	for (unsigned k = 0; k < 40; k++) {
		nregs = 40 + next(60);
		nwides = 10 + next(30);
		compare(60 + next(MAX - 60), 60);
	}
}

/* --- by hand --- */
static struct ptx_module *loaded(const char *text)
{
	char log[256];
	struct ptx_module *m = ptx_load(text, strlen(text), log, sizeof(log));

	if (!m)
		fail_msg("%s", log);
	return m;
}

/* n registers are written, then all are read: a launch can be asked for at most 255. */
static uint32_t regs_of(unsigned n)
{
	static struct text text;
	struct text *t = &text;
	struct ptx_module *m;
	uint32_t ret;

	t->at = 0;
	OUT("%s.visible .entry k() { .reg .b32 %%r<400>;\n", PTX_HEAD);
	for (unsigned k = 0; k < n; k++)
		OUT("mov.u32 %%r%u, %u;\n", k, k);
	for (unsigned k = 1; k < n; k++)
		OUT("add.u32 %%r0, %%r0, %%r%u;\n", k);
	OUT("st.shared.u32 [%%r0], %%r0; ret; }\n");
	m = loaded(t->s);
	ret = ptx_kernel_by_name(m, "k")->regs;
	assert_false(ptx_kernel_by_name(m, "k")->needs_zero);
	ptx_free(m);
	return ret;
}

static void test_most(void **state_)
{
	static const unsigned counts[] = {1, 63, 64, 65, 128, 254, 255, 256, 257, 399};

	for (size_t k = 0; k < COUNT_OF(counts); k++)
		assert_int_equal(regs_of(counts[k]), counts[k] < 255 ? counts[k] : 255);
}

/* So many registers times blocks that nobody counts: the most is assumed, and that all need zeroes.
 */
static void test_too_many(void **state_)
{
	enum { REGS = 9000, BLOCKS = 30000 };
	static char text[REGS * 40 + BLOCKS * 40];
	struct ptx_module *m;
	size_t at = 0;

#define ADD(...) (at += (size_t)snprintf(text + at, sizeof(text) - at, __VA_ARGS__))
	ADD("%s.visible .entry k() { .reg .b32 %%r<%u>; .reg .pred %%p; setp.eq.u32 %%p, 1, 1;\n",
		PTX_HEAD, REGS);
	for (unsigned k = 0; k < REGS; k++)
		ADD("mov.u32 %%r%u, 1;\n", k);
	for (unsigned k = 0; k < BLOCKS; k++)
		ADD("@%%p bra L;\n");
	ADD("L: ret; }\n");
	m = loaded(text);
	assert_int_equal(ptx_kernel_by_name(m, "k")->regs, 255);
	assert_true(ptx_kernel_by_name(m, "k")->needs_zero);
	assert_int_equal(ptx_kernel_by_name(m, "k")->insns[REGS + 1].rpc, REGS + 1 + BLOCKS);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_registers),
		cmocka_unit_test(test_many_registers),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
