/* SPDX-License-Identifier: Apache-2.0
 *
 * What the PTX of random kernels says (ptx-waits.h, polls.h), against sets of statements that a
 * thread can come to, grown until nothing is added.
 */
#include "order-test.h"
#include "gpucode/code-traits.h"
#include "order/races/polls.h"
#include "order/races/ptx-waits.h"

#define STATEMENTS 14
#define LABELS 4

enum is { PLAIN, LABEL, WAIT, TRIGGER, ACCESS, JUMP, RETURN, STRANGE };
struct statement {
	enum is is;
	bool predicated;
	unsigned to; /* number of a label */
};

static struct random_cmds dice;
static struct statement program[STATEMENTS];
static unsigned n;
static struct buf text;

static unsigned below(unsigned max)
{
	return (unsigned)random_below(&dice, max);
}

#define ONE_OF(...)                                                                                \
	({                                                                                         \
		static const char *const of_[] = {__VA_ARGS__};                                    \
		of_[below(sizeof of_ / sizeof *of_)];                                              \
	})

/* ---- texts ---------------------------------------- */

/* What no thread executes. */
static void decorate(void)
{
	if (below(2))
		buf_str(&text, ONE_OF("\t", "\n", " // griddepcontrol.wait; {\n", "/* ret; } */ ",
				       ".loc 1 22 3\n", ".reg .b32 %r<9>;\n", ".file 1 \"a.cu\"\n",
				       ".shared .b8 x[4] = {1, 2, 3, 4};\n", "{ }",
				       "{ .reg .pred %q; }\n", ".pragma \"nounroll\";\n"));
}

static void statement_text(const struct statement *s)
{
	decorate();
	if (s->predicated)
		buf_str(&text, ONE_OF("@%p1 ", "@!%p2 ", "@%p1\t", "@%p1 /* if */ "));
	switch (s->is) {
	case PLAIN:
		buf_str(&text,
			ONE_OF("add.u32 %r1, %r1, 1;", "mov.b64 {%r1, %r2}, %rd1;",
				"ld.param.u64 %rd1, [p];", "st.shared.v2.u32 [%r1], {%r2, %r3};",
				"ld.local.u32 %r1, [%rd2];", "atom.shared.add.u32 %r1, [%r2], 1;",
				"red.shared.add.u32 [%r2], 1;", "bar.sync 0;",
				"setp.eq.u32 %p1, %r1, 0;", "fence.proxy.alias;"));
		break;
	case LABEL:
		buf_printf(&text, "$L_%u:", s->to);
		break;
	case WAIT:
		buf_str(&text, "griddepcontrol.wait;");
		break;
	case TRIGGER:
		buf_str(&text, "griddepcontrol.launch_dependents;");
		break;
	case ACCESS:
		buf_str(&text,
			ONE_OF("ld.global.u32 %r1, [%rd1];", "st.v2.u32 [%rd1], {%r1, %r2};",
				"atom.global.add.u32 %r1, [%rd1], 1;", "red.add.u32 [%rd1], 1;",
				"cp.async.ca.shared.global [%r1], [%rd1], 4;",
				"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];"));
		break;
	case JUMP:
		buf_printf(&text, "bra%s $L_%u;", ONE_OF("", ".uni"), s->to);
		break;
	case RETURN:
		buf_str(&text, ONE_OF("ret;", "exit;", "ret.uni;"));
		break;
	case STRANGE:
		buf_str(&text, ONE_OF("call.uni f, ();", "brx.idx %r1, $T;",
				       "tcgen05.wait::ld.sync.aligned;"));
		break;
	}
}

static void some_program(void)
{
	static const enum is mostly[] = {
		PLAIN, PLAIN, LABEL, WAIT, TRIGGER, ACCESS, JUMP, RETURN, PLAIN, LABEL, JUMP, WAIT};
	const bool calm = below(2); /* no accesses in front of a wait, mostly */

	n = below(STATEMENTS);
	for (unsigned i = 0; i < n; i++) {
		struct statement *s = &program[i];

		*s = (struct statement){.is = mostly[below(12)], .to = below(LABELS)};
		if (s->is == ACCESS && calm && i < n / 2)
			s->is = PLAIN;
		if (s->is == LABEL)
			s->to = i % LABELS; /* each comes once, or not at all; later ones again */
		if (s->is == LABEL && i >= LABELS && below(4))
			s->is = PLAIN;
		s->predicated = s->is != LABEL && !below(3);
		if (!below(60))
			s->is = STRANGE;
	}
	if (calm && n && below(2))
		program[0] = (struct statement){.is = below(3) ? WAIT : TRIGGER};
	buf_clear(&text);
	buf_str(&text, ".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p)\n{\n");
	for (unsigned i = 0; i < n; i++)
		statement_text(&program[i]);
	decorate();
}

/* ---- what they say ---------------------------------------- */

static bool there(enum is is)
{
	for (unsigned i = 0; i < n; i++)
		if (program[i].is == is)
			return true;
	return false;
}

/* The statement that label is; n: none, or more than one. */
static unsigned target(unsigned label)
{
	unsigned at = n;

	for (unsigned i = 0; i < n; i++)
		if (program[i].is == LABEL && program[i].to == label) {
			if (at < n)
				return n;
			at = i;
		}
	return at;
}

/* Statements that a thread may come to before it has waited; [n]: the body's end. False: it cannot
 * be said. */
static bool can_come_to(bool *ret)
{
	bool more = true;

	memset(ret, 0, (STATEMENTS + 1) * sizeof *ret);
	ret[0] = true;
	while (more) {
		more = false;
		for (unsigned i = 0; i < n; i++) {
			const struct statement *s = &program[i];
			const bool on = s->predicated ||
					(s->is != WAIT && s->is != JUMP && s->is != RETURN);
			const unsigned to = s->is == JUMP ? target(s->to) : i;

			if (!ret[i])
				continue;
			if (to == n)
				return false;
			more |= !ret[to] || (on && !ret[i + 1]);
			ret[to] = true;
			ret[i + 1] |= on;
		}
	}
	return true;
}

/* Whether all threads trigger, whatever they do then. */
static bool begins_with_a_trigger(void)
{
	unsigned i = 0;

	while (i < n && !program[i].predicated &&
		(program[i].is == PLAIN || program[i].is == ACCESS))
		i++;
	return i < n && program[i].is == TRIGGER && !program[i].predicated;
}

static struct order_early as_it_is(void)
{
	struct order_early x = {.code = true, .known = true, .triggers = there(TRIGGER)};
	bool may[STATEMENTS + 1], ends, early_access = false, early_trigger = false;

	if (!n || there(STRANGE) || !can_come_to(may))
		return (struct order_early){0};
	if (!there(WAIT)) {
		x.before = true;
		return x;
	}
	ends = may[n];
	for (unsigned i = 0; i < n; i++) {
		ends |= may[i] && program[i].is == RETURN;
		early_access |= may[i] && program[i].is == ACCESS;
		early_trigger |= may[i] && program[i].is == TRIGGER;
	}
	x.waits = true;
	x.trigger_waits = !early_trigger;
	return ends || early_access || (early_trigger && !begins_with_a_trigger())
		       ? (struct order_early){0}
		       : x;
}

static bool alike(const struct order_early *a, const struct order_early *b)
{
	return a->code == b->code && a->known == b->known && a->waits == b->waits &&
	       a->before == b->before && a->triggers == b->triggers &&
	       a->trigger_waits == b->trigger_waits;
}

static void test_random_kernels(void **unused)
{
	unsigned known = 0, waits = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct order_early x, want;
		size_t open;

		dice = (struct random_cmds){.x = seed * 48271};
		some_program();
		open = text.len;
		buf_str(&text, "}\n");
		if (below(4) == 0)
			buf_str(&text,
				".visible .entry other() { griddepcontrol.wait; call.uni f; }\n");
		want = as_it_is();
		known += want.known;
		waits += want.waits;
		if (waits_text((const char *)text.data, text.len, "k", &x) != want.known ||
			!alike(&x, &want))
			fail_msg("seed %u: known %d %d, waits %d %d, before %d %d: %.*s",
				(unsigned)seed, x.known, want.known, x.waits, want.waits, x.before,
				want.before, (int)text.len, (const char *)text.data);
		/* a body that does not end says nothing */
		assert_false(
			waits_text((const char *)text.data, below((unsigned)open + 1), "k", &x));
		assert_false(x.known || x.code || x.waits || x.before || x.triggers);
	}
	assert_true(known > 2000 && waits > 500 && known - waits > 500);
	buf_free(&text);
}

static void test_which_targets_say_anything(void **unused)
{
	static const struct {
		const char *target;
		bool known;
	} rows[] = {{".target sm_90\n", true}, {".target sm_90a\n", true},
		{".target sm_100\n", true}, {".target sm_89\n", false}, {".target sm_9\n", false},
		{".target sm_", false}, {"", false}, {"// .target\n.target sm_120, debug\n", true}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char s[200];
		struct order_early x;

		snprintf(s, sizeof s, "%s.entry k() { ret; }", rows[i].target);
		if (waits_text(s, strlen(s), "k", &x) != rows[i].known)
			fail_msg("%s", rows[i].target);
	}
}

/* ---- the kernels of a trace ---------------------------------------- */

#define BODY(name, what) ".version 8.0\n.target sm_90\n.entry " name "() {\n" what "ret; }\n"
#define ORDERLY "griddepcontrol.wait;\n"
#define LOUD "griddepcontrol.launch_dependents;\n"

/* Kernels 0 to 5: f, which begin() makes, then of that module a to e. Three texts of PTX: that say
 * the same of a, different things of b, and one of them nothing of c. */
static struct sbt_reader *trace_of_kernels(struct state **ret)
{
	static const char one_text[] =
		BODY("a", ORDERLY) BODY("b", ORDERLY) BODY("c", ORDERLY) BODY("d", ""),
			  another[] = BODY("a", ORDERLY) BODY("b", LOUD) BODY("c", "call.uni f;\n"),
			  same[] = BODY("a", ORDERLY "add.u32 %r1, %r1, 1;\n");
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	uint64_t hash;

	begin();
	for (unsigned i = 0; i < 5; i++)
		add(cmd_kernel_def(seq, i + 1, 5, names[i], NULL, 0));
	add(cmd_kernel_def(seq, 200, 5, "d", NULL, 0));
	ok(sbt_writer_code(t.w, "d griddepcontrol", 16, CODE_UNKNOWN, &hash));
	ok(sbt_writer_code(t.w, one_text, strlen(one_text), CODE_PTX, &hash));
	ok(sbt_writer_code(t.w, another, strlen(another), CODE_PTX, &hash));
	ok(sbt_writer_code(t.w, "", 0, CODE_PTX, &hash));
	ok(sbt_writer_code(t.w, same, strlen(same), CODE_PTX, &hash));
	struct sbt_reader *r = trace_end(&t);

	ok(state_at(ret, r, seq - 1));
	return r;
}

static void test_kernels_of_a_trace(void **unused)
{
	static const struct {
		uint64_t id;
		bool known, waits;
	} rows[] = {{1, true, true}, {2, false, false}, {3, false, false}, {4, true, false},
		{5, false, false}, {0, false, false}, {77, false, false}, {200, true, false},
		{UINT64_C(1) << 24, false, false}, {UINT64_MAX, false, false}};
	const size_t count = sizeof rows / sizeof *rows;
	struct state *s;
	struct sbt_reader *r = trace_of_kernels(&s);

	(void)unused;
	for (unsigned backwards = 0; backwards < 2; backwards++) {
		struct waits w = {0};

		for (size_t k = 0; k < 2 * count; k++) { /* asked twice, the same is said */
			const size_t i = backwards ? count - 1 - k % count : k % count;
			struct order_early x;
			bool known;

			ok(waits_kernel(&w, r, s, rows[i].id, &x, &known));
			if (known != rows[i].known || x.known != known ||
				x.waits != rows[i].waits || x.triggers)
				fail_msg("row %zu", i);
		}
		waits_free(&w);
		assert_null(w.known);
		assert_int_equal(w.nknown, 0);
	}
	state_free(s);
	sbt_reader_close(r);
}

/* ---- polling ---------------------------------------- */

/* PTX ISA 9.0, "Memory Consistency Model": strong reads of memory that others write, too. */
static void test_random_texts_that_poll(void **unused)
{
	static const struct {
		const char *line;
		bool strong, calls;
	} rows[] = {{"ld.volatile.global.u32 %r1, [%rd1];", true, false},
		{"ld.acquire.sys.u32 %r1, [%rd1];", true, false},
		{"ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd1];", true, false},
		{"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", true, false},
		{"atom.cas.b32 %r1, [%rd1], 0, 1;", true, false},
		{"ld.global.u32 %r1, [%rd1];", false, false}, {"ld.u32 %r1, [%rd1];", false, false},
		{"ld.volatile.shared.u32 %r1, [%r2];", false, false},
		{"ld.volatile.local.u32 %r1, [%rd2];", false, false},
		{"ld.volatile.param.u32 %r1, [p];", false, false},
		{"st.volatile.global.u32 [%rd1], %r1;", false, false},
		{"red.relaxed.gpu.global.add.u32 [%rd1], 1;", false, false},
		{"atom.shared.cas.b32 %r1, [%r2], 0, 1;", false, false},
		{"mov.u32 %r1, %tid.x;", false, false}, {"call.uni f, ();", false, true},
		{"call (%r1), f, (%r2);", false, true}, {"add.u32 %r1, %r1, 1;", false, false},
		{"bar.sync 0;", false, false}, {"call_count.x %r1;", false, false}};
	unsigned yes = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		static const char *const names[] = {"a", "k", "kk"};
		bool strong[3] = {false}, calls = false;

		dice = (struct random_cmds){.x = seed * 69621};
		buf_clear(&text);
		for (unsigned i = 0; i < 3; i++) {
			buf_printf(&text, ".visible .%s %s()\n{\n",
				i == 1 ? "entry" : ONE_OF("entry", "func"), names[i]);
			for (unsigned k = below(6); k--;) {
				const unsigned at = below(3) ? 5 + below(14)
							     : below(sizeof rows / sizeof *rows);

				buf_printf(&text, "%s%s%s", ONE_OF("\t", "", "@%p1 "),
					rows[at].line, ONE_OF("\n", "", " \n"));
				strong[i] |= rows[at].strong;
				calls |= i == 1 && rows[at].calls;
			}
			buf_str(&text, "}\n");
		}
		const bool want = strong[1] || (calls && (strong[0] || strong[2]));

		yes += want;
		if (code_traits_of(text.data, text.len, CODE_PTX, "k").polls != want)
			fail_msg("seed %u, not %d: %.*s", (unsigned)seed, want, (int)text.len,
				(const char *)text.data);
		assert_false(code_traits_of(text.data, text.len, CODE_PTX, "none").there);
	}
	assert_true(yes > 500 && yes < 2500);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_kernels),
		cmocka_unit_test(test_which_targets_say_anything),
		cmocka_unit_test(test_kernels_of_a_trace),
		cmocka_unit_test(test_random_texts_that_poll)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
