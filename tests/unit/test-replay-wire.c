/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of the replayer against a replayer that answers wrongly (scripted-replayer.h), at any
 * message and in any way: what the client says, and that it goes on rightly afterwards. What each
 * answer may claim is test-replay-answers.c.
 */
#include "scripted-replayer.h"
#include "base/patience.h"

/* One request of any kind. *ret_type: the message that it is about. */
static struct err *ask(struct device *d, struct memory *m, unsigned which, uint32_t *ret_type)
{
	static const uint64_t skips[3] = {FIRST, FIRST + 1, FIRST + 2};
	const uint64_t at = device_seq(d);
	struct replayer_figures f;
	struct sbt_hash h;
	uint64_t wait, n, to;
	struct err *e;
	uint8_t v = (uint8_t)(1 + random_below(&dice, 200));

	switch (which) {
	case 0:
		*ret_type = REPLAYER_SEEK;
		return device_seek(d, FIRST - 1 + random_below(&dice, LAST - FIRST + 2));
	case 1:
		*ret_type = REPLAYER_EXECUTE;
		return at < LAST ? device_execute(d, at + 1, true) : NULL;
	case 2:
		*ret_type = REPLAYER_RUN;
		to = at + random_below(&dice, 900);
		return device_run(d, to < LAST ? to : LAST, 0, 0, NULL);
	case 3:
		*ret_type = REPLAYER_READ;
		return device_read(d, ADDR, &v, 1);
	case 4:
		*ret_type = REPLAYER_HASH;
		return device_hash(d, ADDR, 8, &h);
	case 5:
		*ret_type = REPLAYER_WRITE;
		e = device_write(d, ADDR + 4000 + v, &v, 1);
		if (!e)
			add_edit(m, REPLAYER_WRITE, device_seq(d), ADDR + 4000 + v, 1, v);
		return e;
	case 6:
		*ret_type = REPLAYER_ARG;
		to = FIRST + random_below(&dice, LAST - FIRST);
		e = device_set_arg(d, to, 0, &v, 1);
		if (!e)
			add_edit(m, REPLAYER_ARG, to, 0, 0, v);
		return e;
	case 7:
		*ret_type = REPLAYER_SKIP;
		n = random_below(&dice, 4);
		e = device_skip(d, skips, (uint32_t)n, false);
		m->skip = e ? m->skip : n;
		return e;
	case 8:
		*ret_type = REPLAYER_SOFT;
		e = device_soft(d, &(struct replayer_soft){.seed = v});
		m->soft = e ? m->soft : v;
		return e;
	case 9:
		*ret_type = REPLAYER_CHECKPOINT;
		return device_checkpoint(d);
	case 10:
		*ret_type = REPLAYER_KEPT;
		e = device_kept(d, at, &wait, &n);
		if (!e)
			assert_int_equal(wait, device_seq(d));
		return e;
	case 11:
		*ret_type = REPLAYER_FIGURES;
		return device_figures(d, &f);
	case 12:
		*ret_type = REPLAYER_OVERLAP;
		return device_overlap(d, !device_info(d).overlap);
	case 13:
		*ret_type = REPLAYER_OPEN;
		return device_restart(d);
	default: /* not waited for: what goes wrong is noticed later */
		*ret_type = REPLAYER_EXECUTE;
		return at < LAST ? device_execute(d, at + 1, false) : NULL;
	}
}
#define ASKS 15

/* Each kind of request with each kind of answer, here and at a SEEK on the way to it. */
static void any_answer(void **arg)
{
	const unsigned before = descriptors();

	for (unsigned which = 0; which < ASKS - 1; which++)
		for (unsigned how = SHORT; how < HOWS; how++) {
			struct device *d = open_it();
			struct memory m = {0};
			uint32_t type;
			struct err *e;

			ok(device_seek(d, 200));
			ok(device_write(d, ADDR + 4100, &(uint8_t){77}, 1));
			add_edit(&m, REPLAYER_WRITE, 200, ADDR + 4100, 1, 77);
			ok(device_seek(d, 150 + how));
			struct random_cmds was = dice;
			struct memory scratch = m;

			err_free(ask(d, &scratch, which, &type)); /* which type it is */
			dice = was;
			m = scratch;
			go_wrong(type, 0, how);
			e = ask(d, &m, which, &type);
			if (wire->fired && how != LONG && how != SHORT && how != PLACE &&
				how != AGAIN && how != LEAVES && how != ON_WAY && !e)
				fail_msg("request %u, answer %u: no error", which, how);
			if (e && how == EXITS_9 && !strstr(e->what, "exit status 9"))
				fail_msg("request %u: %s", which, e->what);
			if (e && how == EXITS && !strstr(e->what, "exit status 0"))
				fail_msg("request %u: %s", which, e->what);
			if (e && how == CLOSES && !strstr(e->what, "closed its socket"))
				fail_msg("request %u: %s", which, e->what);
			if (e && how == SILENT)
				assert_non_null(strstr(e->what, "no answer"));
			if (e && how == REFUSES && which != 13)
				assert_true(device_pid(d) != 0);
			names_commands(e);
			err_free(e);
			assert_in_range(device_seq(d), FIRST - 1, LAST);
			is_right(d, &m);
			ok(device_seek(d, 199));
			is_right(d, &m);
			ok(device_seek(d, 200));
			is_right(d, &m);
			device_close(d);
			assert_int_equal(descriptors(), before);
		}
}

/* It ends by itself after an answer: the next call says how, the one after it goes on. */
static void leaves_at_rest(void **arg)
{
	for (unsigned which = 0; which < 12; which++) {
		struct device *d = open_it();
		struct memory m = {0};
		uint32_t type;
		siginfo_t i;
		struct err *e;

		ok(device_seek(d, 200));
		go_wrong(REPLAYER_READ, 0, LEAVES);
		ok(device_read(d, ADDR, &(uint8_t){0}, 1));
		assert_int_equal(waitid(P_PID, (id_t)device_pid(d), &i, WEXITED | WNOWAIT), 0);
		behave();
		e = ask(d, &m, which, &type);
		if (!e || !strstr(e->what, "exit status 0"))
			fail_msg("request %u: %s", which, e ? e->what : "no error");
		assert_int_equal(device_seq(d), 200);
		err_free(e);
		is_right(d, &m);
		assert_int_equal(device_seq(d), 200);
		device_close(d);
	}
}

static void walk(struct device *d, unsigned steps, bool wrong)
{
	struct memory m = {0};
	uint32_t type;

	for (unsigned i = 0; i < steps; i++) {
		const uint64_t at = device_seq(d);
		static const uint32_t types[] = {REPLAYER_OPEN, REPLAYER_SEEK, REPLAYER_RUN,
			REPLAYER_READ, REPLAYER_WRITE, REPLAYER_ARG, REPLAYER_SKIP, REPLAYER_SOFT};
		const unsigned which = (unsigned)random_below(&dice, ASKS);
		struct err *e;

		if (wrong && random_below(&dice, 2))
			go_wrong(types[random_below(&dice, 8)], (unsigned)random_below(&dice, 3),
				(enum how)random_below(&dice, HOWS));
		e = ask(d, &m, which, &type);
		if (e && !wire->fired)
			fail_msg("request %u failed: %s", which, e->what);
		names_commands(e);
		err_free(e);
		if (which > 2 && which < 13 && !wire->fired)
			assert_int_equal(device_seq(d), at);
		if (random_below(&dice, 3) || wire->fired || which == 14)
			is_right(d, &m); /* what is noticed late is told here */
	}
}

static void walks(void **arg)
{
	const unsigned before = descriptors();

	for (unsigned round = 0; round < 12; round++) {
		struct device *d = open_it();

		choppy = round % 3 == 0;
		walk(d, 60, round > 1);
		choppy = false;
		device_close(d);
		assert_int_equal(descriptors(), before);
	}
}

/* --- what is asked --- */

static void asked_is(const uint32_t *types, unsigned n)
{
	for (unsigned i = 0; i < n && i < wire->n; i++)
		if (wire->asked[i].type != types[i])
			fail_msg("request %u is %u, not %u", i, wire->asked[i].type, types[i]);
	assert_int_equal(wire->n, n);
	wire->n = 0;
}

#define ASKED(...)                                                                                 \
	asked_is((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* More than a message holds goes in pieces of half a message. */
static void large_reads_and_writes(void **arg)
{
	const size_t n = (20u << 20) + 5, piece = 8u << 20;
	uint8_t *p = malloc(n);
	struct device *d = open_it();
	struct memory m = {.pos = FIRST - 1};

	wire->n = 0;
	ok(device_read(d, ADDR, p, n));
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte_at(&m, ADDR + i))
			fail_msg("byte %zu", i);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(wire->asked[i].word[0], ADDR + i * piece);
		assert_int_equal(wire->asked[i].word[1], i < 2 ? piece : n - 2 * piece);
	}
	ASKED(REPLAYER_READ, REPLAYER_READ, REPLAYER_READ);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(3 + i / 4096); /* as byte_at() has it */
	ok(device_write(d, ADDR, p, n));
	for (unsigned i = 0; i < 3; i++) {
		const size_t size = i < 2 ? piece : n - 2 * piece;

		assert_int_equal(wire->asked[i].word[0], ADDR + i * piece);
		assert_int_equal(wire->asked[i].word[1], size);
		assert_int_equal(wire->asked[i].size, sizeof(struct replayer_range) + size);
	}
	ASKED(REPLAYER_WRITE, REPLAYER_WRITE, REPLAYER_WRITE);
	memset(p, 0, n);
	ok(device_read(d, ADDR, p, n));
	for (size_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)(3 + i / 4096))
			fail_msg("byte %zu", i);
	ok(device_seek(d, FIRST));
	device_close(d);
	free(p);
}

/* Nothing is asked that is known, and what a fresh process is told is all of it, in order. */
static void only_what_is_needed(void **arg)
{
	struct device *d = open_it();
	struct replayer_figures f;
	uint8_t v = 1;

	ASKED(REPLAYER_OPEN);
	assert_int_equal(wire->spawned, 1);
	ok(device_seek(d, FIRST - 1));
	ok(device_finish(d));
	ok(device_run(d, FIRST - 1, 0, 0, NULL));
	ok(device_figures(d, &f));
	ASKED(REPLAYER_FIGURES);
	ok(device_seek(d, 200));
	ok(device_seek(d, 200));
	ok(device_read(d, ADDR, &v, 1));
	ASKED(REPLAYER_SEEK, REPLAYER_READ);
	ok(device_execute(d, 201, false));
	ok(device_execute(d, 202, false));
	ok(device_finish(d));
	ok(device_finish(d));
	ASKED(REPLAYER_EXECUTE, REPLAYER_EXECUTE, REPLAYER_RUN);
	ok(device_execute(d, 203, true));
	ok(device_finish(d));
	ok(device_seek(d, 203));
	ASKED(REPLAYER_EXECUTE);
	ok(device_execute(d, 204, false));
	ok(device_read(d, ADDR, &v, 1)); /* waits for it */
	ok(device_finish(d));
	ASKED(REPLAYER_EXECUTE, REPLAYER_READ);
	ok(device_write(d, ADDR, &v, 1));
	ok(device_set_arg(d, 300, 0, &v, 1));
	ok(device_skip(d, (const uint64_t[]){150}, 1, true));
	ok(device_skip(d, (const uint64_t[]){151}, 1, true));
	assert_true(device_what_if(d));
	ok(device_figures(d, &f));
	ASKED(REPLAYER_WRITE, REPLAYER_ARG, REPLAYER_SKIP, REPLAYER_SKIP, REPLAYER_FIGURES);
	ok(device_restart(d));
	assert_int_equal(wire->asked[1].word[0], 204);
	assert_int_equal(wire->asked[5].word[0], 204);
	ASKED(REPLAYER_OPEN, REPLAYER_SEEK, REPLAYER_WRITE, REPLAYER_ARG, REPLAYER_SKIP,
		REPLAYER_SEEK);
	ok(device_forget(d));
	ok(device_skip(d, NULL, 0, false));
	assert_false(device_what_if(d));
	ASKED(REPLAYER_SEEK, REPLAYER_ARG, REPLAYER_SEEK, REPLAYER_SKIP);
	ok(device_restart(d));
	ASKED(REPLAYER_OPEN);
	device_close(d);
}

/* A replayer that refuses to go into a launch, at once or after a fresh start, may have moved. */
static void a_launch_that_is_refused(void **arg)
{
	const struct soft_stop *stop;
	struct device *d = open_it();
	uint8_t v;

	ok(device_seek(d, 200));
	for (unsigned again = 0; again < 2; again++) {
		wire->n = 0;
		go_wrong(REPLAYER_KERNEL, 0, REFUSES);
		if (again) {
			go_wrong(REPLAYER_KERNEL, 0, AGAIN);
			wire->next = REFUSES;
		}
		struct err *e = device_kernel(d, 201, &stop);

		assert_non_null(e);
		assert_int_equal(e->code, ERR_UNSUPPORTED);
		err_free(e);
		assert_int_equal(device_seq(d), 200);
		ok(device_read(d, ADDR, &v, 1));
		if (again)
			ASKED(REPLAYER_KERNEL, REPLAYER_OPEN, REPLAYER_SEEK, REPLAYER_KERNEL,
				REPLAYER_SEEK, REPLAYER_READ);
		else
			ASKED(REPLAYER_KERNEL, REPLAYER_SEEK, REPLAYER_READ);
	}
	device_close(d);
}

/* Probes go into every fresh process before the trace is opened; what says nothing is 0. */
static void probes_first(void **arg)
{
	struct soft_probe probes[2];
	struct device_options o = {.replayer = "/proc/self/exe",
		.trace = "none",
		.first = FIRST,
		.last = LAST,
		.probes = probes,
		.nprobes = 2};
	struct device *d;
	uint64_t hash;

	memset(wire, 0, sizeof *wire);
	memset(probes, 'p', sizeof probes);
	ok(device_open(&d, &o));
	assert_int_equal(wire->asked[0].size, sizeof(struct replayer_none) + sizeof probes);
	assert_int_equal(wire->asked[0].word[0], 0);
	assert_int_equal(wire->asked[0].word[1], 0x7070707070707070);
	hash = wire->asked[0].hash;
	ASKED(REPLAYER_PROBES, REPLAYER_OPEN);
	memset(probes, 'q', sizeof probes); /* they were copied */
	ok(device_restart(d));
	assert_int_equal(wire->asked[0].hash, hash);
	ASKED(REPLAYER_PROBES, REPLAYER_OPEN);
	device_close(d);
}

/* Whether a process may have another layout: containers forbid it. */
static bool may_have_layouts(void)
{
	const int was = personality(0xffffffff);
	const bool may = was != -1 && personality((unsigned long)was | ADDR_COMPAT_LAYOUT) != -1;

	if (may)
		personality((unsigned long)was);
	return may;
}

/* Four processes are tried when memory cannot be placed: two with one layout, two with another. */
static void placing_is_tried_again(void **arg)
{
	const bool layouts = may_have_layouts();
	struct device *d = NULL;

	memset(wire, 0, sizeof *wire);
	for (unsigned n = 1; n <= 5; n++) {
		const char right[] = {(char)('0' + n), 0}; /* the first in which there is room */
		struct err *e;

		wire->spawned = 0;
		setenv("TSDB_WIRE_PLACES", right, 1);
		e = try_open(&d);
		assert_int_equal(wire->spawned, n < 4 ? n : 4);
		assert_int_equal(e == NULL, n <= 4);
		for (unsigned i = 0; layouts && i < wire->spawned; i++)
			assert_int_equal((wire->layout[i] & ADDR_COMPAT_LAYOUT) != 0, i < 2);
		err_free(e);
		if (n <= 4)
			device_close(d);
	}
	unsetenv("TSDB_WIRE_PLACES");
}

/* --- time --- */

/* A process that does not answer gets its time, after Ctrl-C three seconds. */
static void silence(void **arg)
{
	struct device *d = open_it();
	struct patience budget;
	uint64_t begin;
	struct err *e;

	go_wrong(REPLAYER_READ, 0, SILENT);
	begin = now_ms();
	e = device_read(d, ADDR, &(uint8_t){0}, 1);
	assert_int_equal(e->code, ERR_INFERIOR);
	assert_in_range(now_ms() - begin, 18000, 120000);
	err_free(e);
	behave();
	for (unsigned way = 0; way < 2; way++) {
		ok(device_seek(d, 200));
		go_wrong(REPLAYER_READ, 0, SILENT);
		interrupt = way == 0;
		if (way)
			device_budget(d, &budget, 100000000);
		begin = now_ms();
		e = device_read(d, ADDR, &(uint8_t){0}, 1);
		assert_non_null(e);
		assert_int_equal(e->code, way ? ERR_LIMIT : ERR_INTERRUPTED);
		assert_in_range(now_ms() - begin, 2900, 17000);
		assert_int_equal(device_pid(d), 0);
		assert_int_equal(device_culprit(d, NULL), 0);
		err_free(e);
		interrupt = false;
		device_budget(d, NULL, 0);
		behave();
	}
	/* a budget that is not spent ends nothing */
	ok(device_seek(d, 200));
	device_budget(d, &budget, UINT64_C(3600000000000));
	go_wrong(REPLAYER_READ, 0, SILENT);
	begin = now_ms();
	e = device_read(d, ADDR, &(uint8_t){0}, 1);
	assert_int_equal(e->code, ERR_INFERIOR);
	assert_in_range(now_ms() - begin, 18000, 120000);
	err_free(e);
	behave();
	device_close(d);
}

/* --- system calls that fail --- */

/* Each of them, once: an error, nothing is left, and the next try opens. */
static void calls_that_fail(void **arg)
{
	const unsigned before = descriptors();
	unsigned failed = 0;

	memset(wire, 0, sizeof *wire);
	for (unsigned n = 1; n < 8; n++) {
		struct device *d = NULL;
		struct err *e;

		calls_until = n;
		e = try_open(&d);
		failed += e != NULL;
		if (!e)
			device_close(d);
		err_free(e);
		calls_until = 0;
		assert_int_equal(descriptors(), before);
	}
	assert_int_equal(failed, 4); /* a socket pair, two pipes, a process */
	struct device *d = open_it();

	for (unsigned n = 1; n <= 4; n++) {
		struct err *e;

		ok(device_seek(d, 200));
		kill(device_pid(d), SIGKILL);
		err_free(device_read(d, ADDR, &(uint8_t){0}, 1));
		calls_until = n;
		e = device_read(d, ADDR, &(uint8_t){0}, 1);
		assert_non_null(e);
		assert_int_equal(device_pid(d), 0);
		err_free(e);
		calls_until = 0;
		is_right(d, &(struct memory){0});
	}
	device_close(d);
	assert_int_equal(descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_answer),
		cmocka_unit_test(leaves_at_rest),
		cmocka_unit_test(walks),
		cmocka_unit_test(large_reads_and_writes),
		cmocka_unit_test(only_what_is_needed),
		cmocka_unit_test(a_launch_that_is_refused),
		cmocka_unit_test(probes_first),
		cmocka_unit_test(placing_is_tried_again),
		cmocka_unit_test(silence),
		cmocka_unit_test(calls_that_fail),
	};

	return scripted_main(tests, sizeof tests / sizeof *tests);
}
