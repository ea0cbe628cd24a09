/* SPDX-License-Identifier: Apache-2.0
 *
 * Programmatic dependent launches in small traces, worked out by hand from what the documentation
 * promises (order/early.h). What kernels do is told by a table here, as a replay on the software
 * GPU would tell it.
 */
#include "order-test.h"
#include "order/races/ptx-waits.h"

/* --- what kernels do --- */

#define WAITS 1u /* some thread waits */
#define TRIGGERS 2u
#define TRIGGER_WAITS 4u /* but only after the wait */

static struct told {
	uint64_t seq;
	unsigned flags;
	uint64_t addr; /* 16 bytes there */
	enum order_how how;
	bool before; /* without having waited */
} told[16];
static size_t ntold;

static const struct told *told_of(uint64_t of)
{
	for (size_t i = 0; i < ntold; i++)
		if (told[i].seq == of)
			return &told[i];
	return NULL;
}

static bool accesses(void *arg, uint64_t of, struct order_accesses *l)
{
	const struct told *x = told_of(of);

	(void)arg;
	if (x)
		order_access_add(l, x->addr, x->addr + 16, x->how);
	return x;
}

static bool early(void *arg, uint64_t of, struct order_early *ret, struct order_accesses *before)
{
	const struct told *x = told_of(of);

	(void)arg;
	if (!x)
		return false;
	*ret = (struct order_early){.known = true,
		.waits = x->flags & WAITS,
		.before = x->before,
		.triggers = x->flags & TRIGGERS,
		.trigger_waits = x->flags & TRIGGER_WAITS};
	if (before && x->before)
		order_access_add(before, x->addr, x->addr + 16, x->how);
	return true;
}

static const struct order_source source = {.accesses = accesses, .early = early};

/* A launch on stream 1; is_early: it may begin before the one in front has finished. */
static uint64_t go(bool is_early)
{
	const uint64_t p = A;
	struct sbt_cmd c = cmd_launch(seq, 1, 0);

	c.u.launch.args = (struct sbt_blob){&p, 8};
	c.u.launch.launch_attrs = is_early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	return add(c);
}

static uint64_t kernel(
	bool is_early, unsigned flags, uint64_t addr, enum order_how how, bool before)
{
	told[ntold++] = (struct told){seq, flags, addr, how, before};
	return go(is_early);
}

/* A kernel that writes 16 bytes at A, lets those behind it begin, and begins itself in the usual
 * order. */
static uint64_t producer(void)
{
	return kernel(false, TRIGGERS, A, ORDER_WRITE, true);
}

static void start(void)
{
	begin();
	ntold = 0;
}

static struct order_races found(void)
{
	const struct order_options o = {.first = 1, .last = seq, .source = &source};
	struct order_races r;

	ok(order_races(&r, end_once(), &o));
	return r;
}

static struct order *graph(const struct order_source *src)
{
	const struct order_options o = {.first = 1, .last = seq, .source = src};
	struct order *g;

	ok(order_open(&g, end_once(), &o));
	return g;
}

static void no_races(void)
{
	struct order_races r = found();

	assert_int_equal(r.n, 0);
	assert_int_equal(r.early_unknown, 0);
	order_races_free(&r);
	test_over();
}

static void one_race(uint64_t a, uint64_t b, enum order_tier tier)
{
	struct order_races r = found();

	assert_int_equal(r.n, 1);
	assert_int_equal(r.r[0].a.seq, a);
	assert_int_equal(r.r[0].b.seq, b);
	assert_int_equal(r.r[0].tier, tier);
	assert_true(r.r[0].early & ORDER_EARLY);
	order_races_free(&r);
	test_over();
}

/* --- tests --- */

static void test_without_knowledge_nothing_is_ordered(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = go(false), b = go(true), c = go(false);
	struct order_races r = races_found();
	struct order *g = graph(NULL);
	struct order_step *steps;
	size_t n;

	assert_false(order_before(g, a, b));
	assert_true(order_before(g, a, c));
	assert_true(order_before(g, b, c));
	struct err *e = order_path(g, a, b, &steps, &n);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "not known"));
	err_free(e);
	assert_int_equal(r.early, 1);
	assert_int_equal(r.early_unknown, 1);
	assert_true(r.n > 0);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.r[i].tier, ORDER_POSSIBLE);
	order_races_free(&r);
	graph_over(g);
}

static void test_one_that_waits_first_is_in_order(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer(),
		       b = kernel(true, WAITS | TRIGGERS | TRIGGER_WAITS, A, ORDER_READ, false);
	const uint64_t c = kernel(true, WAITS, A, ORDER_WRITE, false);
	struct order *g = graph(&source);
	struct order_step *steps;
	size_t n;

	assert_true(order_before(g, a, b));
	assert_true(order_before(g, a, c));
	ok(order_path(g, a, c, &steps, &n));
	assert_int_equal(n, 2);
	assert_int_equal(steps[0].edge, ORDER_EDGE_WAITED);
	assert_int_equal(steps[0].from, a);
	assert_int_equal(steps[1].from, b);
	assert_int_equal(steps[1].to, c);
	free(steps);
	order_close(g);
	no_races();
}

static void test_one_that_never_waits_races(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer(), b = kernel(true, 0, A, ORDER_READ, true);

	one_race(a, b, ORDER_CERTAIN);
}

/* What the only race's cure says has to be done in the launches between; and what is said of it. */
static void cured(bool between, uint8_t flags)
{
	struct order_races r = found();
	struct buf cure = BUF_INIT;

	assert_int_equal(r.n, 1);
	assert_int_equal(r.r[0].early & (ORDER_EARLY_BEHIND | ORDER_EARLY_LOOSE), flags);
	order_race_cure(&cure, &r.r[0]);
	assert_int_equal(
		strstr(buf_cstr(&cure), "in the launches between the two") != NULL, between);
	buf_free(&cure);
	order_races_free(&r);
	test_over();
}

static void test_the_cure_names_the_launches_that_lack_the_wait(void **unused)
{
	(void)unused;
	start();
	producer();
	kernel(true, WAITS | TRIGGERS, B, ORDER_WRITE, false);
	kernel(true, 0, A, ORDER_READ, true); /* the only one without */
	cured(false, 0);
	start();
	producer();
	kernel(true, 0, B, ORDER_WRITE, true);
	kernel(true, 0, A, ORDER_READ, true);
	cured(true, ORDER_EARLY_LOOSE);
	start();
	producer();
	kernel(true, 0, B, ORDER_WRITE, true);
	kernel(true, WAITS, A, ORDER_READ, false); /* behind its wait, which is not enough */
	cured(true, ORDER_EARLY_LOOSE | ORDER_EARLY_BEHIND);
	start();
	producer();
	kernel(true, WAITS, A, ORDER_READ, true);
	cured(false, 0);
}

static void test_what_threads_do_that_have_not_waited(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer(), b = kernel(true, WAITS, A, ORDER_READ, true); /* others do */

	one_race(a, b, ORDER_CERTAIN);
	start();
	producer();
	kernel(true, WAITS, B, ORDER_READ, true);
	no_races();
}

static void test_a_launch_that_never_triggers_overlaps_by_the_letter(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = kernel(false, 0, A, ORDER_WRITE, true),
		       b = kernel(true, 0, A, ORDER_READ, true);

	one_race(a, b, ORDER_POSSIBLE);
}

static void test_waiting_for_one_that_did_not_wait(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer();

	kernel(true, 0, B, ORDER_WRITE, true);
	const uint64_t c = kernel(true, WAITS, A, ORDER_READ, false);

	one_race(a, c, ORDER_CERTAIN);
	start();
	producer();
	kernel(true, WAITS, B, ORDER_WRITE, true); /* one thread is enough */
	kernel(true, WAITS, A, ORDER_READ, false);
	no_races();
}

static void test_one_in_the_middle_triggers_before_it_waits(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer();

	kernel(true, WAITS | TRIGGERS, B, ORDER_WRITE, false);
	const uint64_t c = kernel(true, WAITS, A, ORDER_READ, true);

	one_race(a, c, ORDER_CERTAIN);
	start();
	producer();
	kernel(true, WAITS | TRIGGERS | TRIGGER_WAITS, B, ORDER_WRITE, false);
	kernel(true, WAITS, A, ORDER_READ, true); /* begins when the first has finished */
	no_races();
}

static void test_other_work_comes_behind_all_of_them(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer(), b = kernel(true, 0, B, ORDER_WRITE, true),
		       c = fill(1, B, 16);
	const uint64_t d =
		kernel(true, 0, B, ORDER_WRITE, true); /* behind a fill: like any other */
	struct order *g = graph(&source);

	assert_false(order_before(g, a, b));
	assert_true(order_before(g, a, c));
	assert_true(order_before(g, b, c));
	assert_true(order_before(g, c, d));
	order_close(g);
	no_races();
}

static void test_events_and_the_host_see_all_of_them(void **unused)
{
	(void)unused;
	start();
	const uint64_t a = producer(), b = kernel(true, 0, B, ORDER_WRITE, true);

	record(1, 0);
	wait_for(2, 0);
	const uint64_t c = fill(2, B, 16);
	const uint64_t d =
		kernel(true, 0, H, ORDER_WRITE, true); /* an event was recorded in front of it */
	const uint64_t begun = add(cmd_sync_stream(seq, 1));
	add(cmd_sync_end(seq, begun));
	const uint64_t e = fill(4, H, 16);
	struct order *g = graph(&source);

	assert_true(order_before(g, a, c));
	assert_true(order_before(g, b, c));
	assert_false(order_before(g, b, d));
	assert_true(order_before(g, d, e));
	assert_true(order_before(g, b, e));
	order_close(g);
	no_races();
}

/* Which event it was is not in the trace; that there is no order would be as wrong as that there is
 * one. */
static void test_events_by_attribute_leave_doubts(void **unused)
{
	(void)unused;
	start();
	struct sbt_cmd c = cmd_launch(seq, 1, 0);
	const uint64_t p = A, a = seq;

	told[ntold++] = (struct told){seq, 0, A, ORDER_WRITE, false};
	c.u.launch.args = (struct sbt_blob){&p, 8};
	c.u.launch.launch_attrs =
		1u << SBT_ATTR_PROGRAMMATIC_EVENT; /* an old trace: it has no event's number */
	add(c);
	wait_for(2, 1);
	const uint64_t b = fill(2, A, 16);
	struct order_races r = found();

	assert_int_equal(r.n, 1);
	assert_int_equal(r.r[0].a.seq, a);
	assert_int_equal(r.r[0].b.seq, b);
	assert_int_equal(r.r[0].tier, ORDER_POSSIBLE);
	assert_int_equal(r.by_attribute, 1);
	order_races_free(&r);
	test_over();
}

#define K(body)                                                                                          \
	".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p) // {\n{\n.reg .b32 %r<4>;\n" body \
	"\n}\n"
#define WAIT "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define LOAD "ld.global.u32 %r1, [%rd1];\n"
#define PARAM "ld.param.u64 %rd1, [p];\n"

/* Of a text: unknown, or what it does. */
static void says(const char *text, bool known, unsigned flags, bool before)
{
	struct order_early x;

	if (waits_text(text, strlen(text), "k", &x) != known || x.known != known ||
		x.waits != !!(flags & WAITS) || x.triggers != !!(flags & TRIGGERS) ||
		x.trigger_waits != !!(flags & TRIGGER_WAITS) || x.before != before)
		fail_msg("%s: known %d waits %d triggers %d behind it %d before %d", text, x.known,
			x.waits, x.triggers, x.trigger_waits, x.before);
}

static void test_what_code_says(void **unused)
{
	(void)unused;
	says(K(PARAM LOAD "ret;"), true, 0, true);
	says(K(PARAM LOAD TRIGGER "ret;"), true, TRIGGERS, true);
	says(K(PARAM WAIT LOAD "ret;"), true, WAITS | TRIGGER_WAITS, false);
	says(K(PARAM TRIGGER WAIT LOAD "ret;"), true, WAITS | TRIGGERS, false);
	says(K(WAIT TRIGGER LOAD "ret;"), true, WAITS | TRIGGERS | TRIGGER_WAITS, false);
	says(K("{ .loc 1 2 3\n // " LOAD WAIT "@%p1 bra $L;\n" LOAD "$L: ret; }"), true,
		WAITS | TRIGGER_WAITS, false);
	/* both ways wait; one does not; a thread may end without; the wait is for some */
	says(K("@%p1 bra $A;\n" WAIT "bra.uni $B;\n$A:\n" WAIT "$B:\n" LOAD "ret;"), true,
		WAITS | TRIGGER_WAITS, false);
	says(K("@%p1 bra $A;\n" WAIT "$A:\n" LOAD "ret;"), false, 0, false);
	says(K("@%p1 ret;\n" WAIT LOAD "ret;"), false, 0, false);
	says(K("@%p1 " WAIT LOAD "ret;"), false, 0, false);
	says(K("$L:\n" LOAD "@%p1 bra $L;\n" WAIT "ret;"), false, 0, false);
	says(K("$L:\nadd.u32 %r1, %r1, 1;\n@%p1 bra $L;\n" WAIT LOAD "ret;"), true,
		WAITS | TRIGGER_WAITS, false);
	says(K("@%p1 bra $A;\n" TRIGGER "$A:\n" WAIT LOAD "ret;"), false, 0,
		false); /* what is behind it may begin early, or not */
	says(K("call.uni f, ();\n" LOAD "ret;"), false, 0, false);
	says(K("brx.idx %r1, $T;\n" LOAD "ret;"), false, 0, false);
	says(K("cp.async.ca.shared.global [%r1], [%rd1], 4;\n" WAIT "ret;"), false, 0, false);
	says(K("st.shared.u32 [%r1], %r2;\nmbarrier.init.shared.b64 [%r1], 1;\n" WAIT LOAD "ret;"),
		true, WAITS | TRIGGER_WAITS, false);
	says(K("bra $NOWHERE;\n" WAIT), false, 0, false);
	says(".version 8.0\n.target sm_80\n.entry k() { " LOAD "ret; }", false, 0, false);
	says(".version 8.0\n.target sm_90\n.entry kk() { " LOAD "ret; }", false, 0, false);
	says(".target sm_90\n.entry k();\n", false, 0, false);
	says(".target sm_90\n.entry k() {", false, 0, false);
	says(".target sm_90\n.entry k() { {", false, 0, false);
	says("", false, 0, false);
}

/* The same, where the way to a wait, or to an end, is less plain. */
static void test_what_rarer_code_says(void **unused)
{
	(void)unused;
	/* every thread lets others begin before it waits, or it is not known when */
	says(K("add.u32 %r1, %r1, 1;\n" TRIGGER WAIT LOAD "ret;"), true, WAITS | TRIGGERS, false);
	says(K("@%p1 " TRIGGER WAIT LOAD "ret;"), false, 0, false);
	says(K("$L:\n" TRIGGER WAIT LOAD "ret;"), false, 0, false);
	says(K(TRIGGER LOAD "ret;"), true, TRIGGERS, true);
	/* the end of the text is an end of the thread */
	says(K(WAIT LOAD), true, WAITS | TRIGGER_WAITS, false);
	says(K("add.u32 %r1, %r1, 1;"), true, 0, true);
	says(K("@%p1 bra $A;\n" WAIT "$A:\nadd.u32 %r1, %r1, 1;"), false, 0, false);
	says(K("@%p1 exit;\n" WAIT LOAD "ret;"), false, 0, false);
	says(K(WAIT "@%p1 exit;\n" LOAD "ret;"), true, WAITS | TRIGGER_WAITS, false);
	/* a label that is there twice is none */
	says(K("$L:\nadd.u32 %r1, %r1, 1;\n$L:\n@%p1 bra $L;\n" WAIT "ret;"), false, 0, false);
	says(K("$L:\n$LL:\n@%p1 bra $L;\n" WAIT "ret;"), true, WAITS | TRIGGER_WAITS, false);
	/* memory that no other launch sees */
	says(K("ld.shared.u32 %r1, [%r2];\natom.shared.add.u32 %r1, [%r2], 1;\n"
	       "red.shared.add.u32 [%r2], 1;\nst.local.u32 [%r2], %r1;\n" WAIT LOAD "ret;"),
		true, WAITS | TRIGGER_WAITS, false);
	says(K("red.global.add.u32 [%rd1], 1;\n" WAIT "ret;"), false, 0, false);
	says(K("st.global.u32 [%rd1], 1;\n" WAIT "ret;"), false, 0, false);
	/* what is done elsewhere */
	says(K(WAIT "call.uni f, ();\nret;"), false, 0, false);
	says(K("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;\n" WAIT "ret;"),
		false, 0, false);
	/* within braces, and a string of them */
	says(K(".reg .b32 %q;\n{ { mov.u32 %q, {%r1, %r2};\n} }\n" WAIT LOAD "ret;"), true,
		WAITS | TRIGGER_WAITS, false);
	says(".target sm_89\n.entry k() { " WAIT LOAD "ret; }", false, 0, false);
	says(".target sm_100\n.entry k() { " WAIT LOAD "ret; }", true, WAITS | TRIGGER_WAITS,
		false);
	says(".target sm_90a\n.entry k() { " LOAD "ret; }", true, 0, true);
}

/* Kernel f of a trace with these texts. */
static bool kernel_says(const char *const *texts, unsigned n, struct order_early *ret)
{
	struct waits w = {.nknown = 0};
	struct sbt_reader *r;
	struct state *s;
	uint64_t hash;
	bool known, again;

	begin();
	ok(sbt_writer_code(t.w,
		"\x7f"
		"ELF",
		4, CODE_CUBIN, &hash));
	for (unsigned i = 0; i < n; i++)
		ok(sbt_writer_code(t.w, texts[i], strlen(texts[i]), CODE_PTX, &hash));
	r = trace_end(&t);
	ok(state_at(&s, r, seq - 1));
	ok(waits_kernel(&w, r, s, 0, ret, &known));
	ok(waits_kernel(&w, r, s, 0, ret, &again)); /* remembered */
	assert_int_equal(again, known);
	ok(waits_kernel(&w, r, s, 7, &(struct order_early){0}, &again)); /* no such kernel */
	assert_false(again);
	waits_free(&w);
	state_free(s);
	sbt_reader_close(r);
	return known;
}

/* Texts that all say the same count as one, those without the kernel not at all. */
static void test_a_kernel_in_several_texts(void **unused)
{
#define F(target, body) ".version 8.0\n.target " target "\n.visible .entry f()\n{\n" body "\n}\n"
	static const char *const waits = F("sm_90", WAIT LOAD "ret;"),
				 *const also = F("sm_100", WAIT LOAD LOAD "ret;"),
				 *const never = F("sm_90", LOAD "ret;"),
				 *const old = F("sm_80", LOAD "ret;"),
				 *const other = ".target sm_90\n.visible .entry g()\n{\nret;\n}\n";
	struct order_early x;

	(void)unused;
	assert_false(kernel_says(NULL, 0, &x));
	assert_true(kernel_says((const char *const[]){waits}, 1, &x) && x.waits);
	assert_true(kernel_says((const char *const[]){other, waits, also}, 3, &x) && x.waits);
	assert_true(
		kernel_says((const char *const[]){never, other}, 2, &x) && !x.waits && x.before);
	assert_false(kernel_says((const char *const[]){waits, never}, 2, &x));
	assert_false(kernel_says((const char *const[]){never, waits}, 2, &x));
	assert_false(kernel_says((const char *const[]){waits, old}, 2, &x));
	assert_false(kernel_says((const char *const[]){other}, 1, &x));
#undef F
}

static void test_many_that_never_wait(void **unused)
{
	(void)unused;
	start();
	const uint64_t first = go(false);

	for (int i = 0; i < 600; i++)
		go(true);
	const uint64_t last = go(false);
	struct order *g = graph(NULL);

	assert_false(order_before(g, first, first + 1));
	assert_false(order_before(g, first + 1, first + 100));
	for (uint64_t i = first; i < last; i++)
		assert_true(order_before(g, i, last));
	graph_over(g);
}

/* A launch that writes 16 bytes at A and records event 1 when it lets others begin, or when it has
 * begun; then one on stream 2, which waited for that event, that reads there. */
static struct order_races behind_event(
	bool by_trigger, unsigned front, unsigned flags, bool before, uint64_t *a, uint64_t *b)
{
	struct sbt_cmd c;
	const uint64_t p = A;

	start();
	*a = seq;
	told[ntold++] = (struct told){seq, front, A, ORDER_WRITE, false};
	c = cmd_launch(seq, 1, 0);
	c.u.launch.args = (struct sbt_blob){&p, 8};
	c.u.launch.launch_attrs =
		1u << (by_trigger ? SBT_ATTR_PROGRAMMATIC_EVENT : SBT_ATTR_COMPLETION_EVENT);
	*(by_trigger ? &c.u.launch.trigger_event : &c.u.launch.begun_event) = 2;
	add(c);
	wait_for(2, 1);
	*b = seq;
	told[ntold++] = (struct told){seq, flags, A, ORDER_READ, before};
	c = cmd_launch(seq, 2, 0);
	c.u.launch.args = (struct sbt_blob){&p, 8};
	add(c);
	fill(1, A, 16); /* behind the first, and not behind the second */
	return found();
}

static void test_an_event_of_a_launch_is_recorded_before_its_end(void **unused)
{
	static const struct {
		bool by_trigger;
		unsigned front, flags;
		bool before;
		enum order_tier tier; /* 9: no race of the two */
	} rows[] = {
		{true, TRIGGERS, 0, false, ORDER_CERTAIN},
		{true, TRIGGERS, WAITS, false, 9},	       /* every thread waits */
		{true, TRIGGERS, WAITS, true, ORDER_POSSIBLE}, /* some do */
		{true, 0, 0, false, ORDER_POSSIBLE}, /* it never triggers: at its very end only */
		{false, 0, 0, false,
			ORDER_CERTAIN}, /* all blocks have begun, and no more is known */
		{false, 0, WAITS, false, ORDER_POSSIBLE}, /* whether there is anything to wait for
							     is not documented */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t a, b;
		struct order_races r = behind_event(
			rows[i].by_trigger, rows[i].front, rows[i].flags, rows[i].before, &a, &b);
		unsigned seen = 9;

		for (size_t k = 0; k < r.n; k++)
			if (r.r[k].a.seq == a && r.r[k].b.seq == b)
				seen = r.r[k].tier;
		assert_int_equal(seen, rows[i].tier);
		assert_int_equal(r.by_attribute, 0);
		order_races_free(&r);
		test_over();
	}
}

/* What the program had in front of that launch is over when its event fires. */
static void test_what_is_in_front_of_such_a_launch_is_over(void **unused)
{
	(void)unused;
	start();
	const uint64_t first = fill(1, B, 16), p = A;
	struct sbt_cmd c = cmd_launch(seq, 1, 0);
	struct order_races r;

	(void)first;
	told[ntold++] = (struct told){seq, TRIGGERS, A, ORDER_WRITE, false};
	c.u.launch.args = (struct sbt_blob){&p, 8};
	c.u.launch.launch_attrs = 1u << SBT_ATTR_PROGRAMMATIC_EVENT;
	c.u.launch.trigger_event = 2;
	add(c);
	wait_for(2, 1);
	fill(2, B, 16);
	r = found();
	assert_int_equal(r.n, 0);
	order_races_free(&r);
	test_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_knowledge_nothing_is_ordered),
		cmocka_unit_test(test_one_that_waits_first_is_in_order),
		cmocka_unit_test(test_what_code_says),
		cmocka_unit_test(test_what_rarer_code_says),
		cmocka_unit_test(test_a_kernel_in_several_texts),
		cmocka_unit_test(test_the_cure_names_the_launches_that_lack_the_wait),
		cmocka_unit_test(test_one_that_never_waits_races),
		cmocka_unit_test(test_what_threads_do_that_have_not_waited),
		cmocka_unit_test(test_a_launch_that_never_triggers_overlaps_by_the_letter),
		cmocka_unit_test(test_waiting_for_one_that_did_not_wait),
		cmocka_unit_test(test_one_in_the_middle_triggers_before_it_waits),
		cmocka_unit_test(test_other_work_comes_behind_all_of_them),
		cmocka_unit_test(test_events_and_the_host_see_all_of_them),
		cmocka_unit_test(test_events_by_attribute_leave_doubts),
		cmocka_unit_test(test_an_event_of_a_launch_is_recorded_before_its_end),
		cmocka_unit_test(test_what_is_in_front_of_such_a_launch_is_over),
		cmocka_unit_test(test_many_that_never_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
