/* SPDX-License-Identifier: Apache-2.0
 *
 * The inferior with an agent: stops, requests and the draining of rings, against an agent of our
 * own making that also misbehaves (tests/programs/attach-agent.c).
 */
#include "test-attach-common.h"

#define A(s) ((char *)(s))
#define ARGS(...) ((char *const[]){(char *)built("tests/programs/attach-agent"), __VA_ARGS__, NULL})

static struct inferior *launch(char *const *args, uint32_t ring_bytes)
{
	struct launch_options o = {
		.argv = args, .agent = "/nowhere/libtsdb-agent.so", .ring_bytes = ring_bytes};
	struct inferior *inf;

	must(inferior_launch(&inf, &o));
	return inf;
}

struct count {
	uint64_t commands, stacks, last_seq;
	uint32_t stack_ids[16];
	unsigned nstacks;
};

static void drain(struct inferior *inf, bool final, struct count *c)
{
	struct drain_item it;

	for (;;) {
		must(drain_next(inf, final, &it));
		if (it.kind == DRAIN_NONE)
			return;
		if (it.kind == DRAIN_STACK && c->nstacks < 16)
			c->stack_ids[c->nstacks++] = it.stack;
		if (it.kind != DRAIN_CMD)
			continue;
		assert_true(it.cmd.seq > c->last_seq);
		c->last_seq = it.cmd.seq;
		c->commands++;
		if (it.cmd.stack) {
			bool defined = false;

			for (unsigned i = 0; i < c->nstacks; i++)
				defined |= c->stack_ids[i] == it.cmd.stack;
			assert_true(defined);
			c->stacks++;
		}
	}
}

static struct inferior_event drain_to_end(struct inferior *inf, struct count *c)
{
	struct inferior_event ev;

	must(inferior_resume(inf, false));
	do {
		must(inferior_wait(inf, 1, &ev));
		drain(inf, false, c);
	} while (inferior_alive(inf));
	drain(inf, true, c);
	return ev;
}

/* ---- draining ---- */

static void commands_of_threads(void **state)
{
	static const int threads[] = {1, 2, 8, 300};
	static const int each[] = {20000, 20000, 5000, 50};

	for (int i = 0; i < 4; i++) {
		char t[16], n[16];
		struct inferior *inf;
		struct count c = {0};

		snprintf(t, sizeof(t), "%d", threads[i]);
		snprintf(n, sizeof(n), "%d", each[i]);
		inf = launch(ARGS(A("commands"), t, n), 2 * TSDB_RECORD_MAX);
		assert_exited(drain_to_end(inf, &c), 0);
		assert_int_equal(c.commands, threads[i] * each[i]);
		assert_int_equal(c.last_seq, threads[i] * each[i]);
		assert_int_equal(drain_lost(inf, NULL), 0);
		assert_null(drain_warning(inf));
		inferior_free(inf);
	}
}

static void thread_that_vanishes(void **state)
{
	struct inferior *inf = launch(ARGS(A("vanish"), A("2"), A("20000")), 2 * TSDB_RECORD_MAX);
	struct count c = {0};

	assert_exited(drain_to_end(inf, &c), 0);
	assert_int_equal(c.commands, 40001);
	inferior_free(inf);
}

static void call_that_takes_long(void **state)
{
	struct inferior *inf = launch(ARGS(A("slow"), A("20000")), 2 * TSDB_RECORD_MAX);
	struct count c = {0};

	assert_exited(drain_to_end(inf, &c), 0);
	assert_int_equal(c.commands, 20001);
	assert_int_equal(drain_lost(inf, NULL), 0);
	inferior_free(inf);
}

static void killed_in_a_call(void **state)
{
	struct inferior *inf = launch(ARGS(A("killed")), 0);
	struct count c = {0};
	struct inferior_event ev = drain_to_end(inf, &c);

	assert_int_equal(ev.kind, INFERIOR_SIGNALLED);
	assert_int_equal(ev.signal, SIGKILL);
	assert_int_equal(c.commands, 100);
	inferior_free(inf);
}

/* Stack ids of the program before and after an exec do not mix. */
static void program_that_execs(void **state)
{
	struct inferior *inf = launch(ARGS(A("exec"), A("again")), 0);
	struct count c = {0};

	assert_exited(drain_to_end(inf, &c), 0);
	assert_int_equal(c.commands, 20);
	assert_int_equal(c.stacks, 20);
	assert_int_equal(c.nstacks, 2);
	assert_int_not_equal(c.stack_ids[0], c.stack_ids[1]);
	inferior_free(inf);
}

/* A damaged ring is told of and costs that ring; the others go on. */
static void damaged_rings(void **state)
{
	for (int how = 0; how < 12; how++) {
		char n[16];
		struct inferior *inf;
		struct count c = {0};
		const char *w;

		snprintf(n, sizeof(n), "%d", how);
		inf = launch(ARGS(A("scribble"), n), 0);
		assert_exited(drain_to_end(inf, &c), 0);
		assert_true(c.commands >= 100);
		w = drain_warning(inf);
		if (how != 11 ||
			w) { /* 11: seen before anything was read, an empty ring is no damage */
			if (!w)
				fail_msg("damage %d went unnoticed", how);
			assert_non_null(strstr(w, "GPU thread"));
			assert_true(drain_lost(inf, NULL) >= 1);
		}
		inferior_free(inf);
	}
}

static void rage(void **state)
{
	for (int seed = 1; seed <= 8; seed++) {
		char n[16];
		struct inferior *inf;
		struct drain_item it;
		struct inferior_event ev;

		snprintf(n, sizeof(n), "%d", seed);
		inf = launch(ARGS(A("rage"), n), 2 * TSDB_RECORD_MAX);
		must(inferior_resume(inf, false));
		do {
			must(inferior_wait(inf, 1, &ev));
			for (int i = 0; i < 10000; i++) {
				must(drain_next(inf, false, &it));
				if (it.kind == DRAIN_NONE)
					break;
			}
		} while (inferior_alive(inf));
		do
			must(drain_next(inf, true, &it));
		while (it.kind != DRAIN_NONE);
		inferior_free(inf);
	}
}

/* ---- stops ---- */

static void stops_at_commands(void **state)
{
	struct inferior *inf = launch(ARGS(A("stops"), A("200"), A("3")), 0);
	struct tsdb_control *ctl = inferior_control(inf);
	struct inferior_event ev;

	for (int i = 1; i <= 200; i++) {
		must(inferior_resume(inf, false));
		ev = next_event(inf);
		assert_int_equal(ev.kind, INFERIOR_STOP_AGENT);
		assert_int_equal(ev.tid, (int)ctl->stop.os_tid);
		assert_int_equal(ctl->stop.break_id, i);
		assert_int_equal(ctl->stop.seq, i);
	}
	assert_exited(run_to_end(inf), 0);
	inferior_free(inf);
}

static void threads_that_stop_at_once(void **state)
{
	struct inferior *inf = launch(ARGS(A("race")), 0);
	struct inferior_event ev;
	unsigned n = 0;

	while ((ev = run_to_end(inf)).kind == INFERIOR_STOP_AGENT)
		n++;
	assert_exited(ev, 0);
	assert_int_equal(n, 400);
	inferior_free(inf);
}

static void requests(void **state)
{
	struct inferior *inf = launch(ARGS(A("serve"), A("well")), 0);
	struct tsdb_control *ctl = inferior_control(inf);
	static uint8_t b[300000];

	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	must(inferior_gpu_read(inf, 0x1000000, b, sizeof(b), 5000));
	for (size_t i = 0; i < sizeof(b); i++)
		assert_int_equal(b[i], (uint8_t)(i * 7));
	must(inferior_gpu_read(inf, 0x1000004, b, 3, 5000));
	assert_int_equal(b[0], 28);
	assert_int_equal(b[1], 35);
	assert_int_equal(b[2], 42);
	must_say(inferior_gpu_read(inf, 0x10, b, 8, 5000), "0x10 (CUresult 1)");
	must(inferior_gpu_sync(inf, 1, 5000));
	assert_int_equal(ctl->stop.why, STOP_BREAKPOINT);
	assert_int_equal(ctl->stop.break_id, 1);
	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	assert_int_equal(ctl->stop.why, STOP_STEP);
	assert_exited(run_to_end(inf), 12);
	inferior_free(inf);
}

static void request_that_hangs(void **state)
{
	struct inferior *inf = launch(ARGS(A("serve"), A("hang")), 0);
	struct tsdb_control *ctl = inferior_control(inf);
	uint8_t b[8];

	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	must_say(inferior_gpu_sync(inf, 1, 100), "did not answer within 100 ms");
	assert_false(inferior_running(inf));
	must_say(inferior_gpu_read(inf, 0x1000000, b, 8, 100),
		"only while the program is stopped at a GPU command");
	/* The late answer is not taken for a stop. */
	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	assert_int_equal(ctl->stop.why, STOP_STEP);
	assert_true(inferior_alive(inf));
	inferior_free(inf);
}

static void request_that_crashes(void **state)
{
	struct inferior *inf = launch(ARGS(A("serve"), A("crash")), 0);
	struct err *e;
	uint8_t b[8];

	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	e = inferior_gpu_read(inf, 0x1000000, b, 8, 5000);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "Segmentation fault"));
	err_free(e);
	assert_int_equal(run_to_end(inf).signal, SIGSEGV);
	assert_int_equal(run_to_end(inf).kind, INFERIOR_SIGNALLED);
	inferior_free(inf);
}

static void request_that_exits(void **state)
{
	struct inferior *inf = launch(ARGS(A("serve"), A("exit")), 0);
	struct err *e;
	uint8_t b[8];

	assert_int_equal(run_to_end(inf).kind, INFERIOR_STOP_AGENT);
	e = inferior_gpu_read(inf, 0x1000000, b, 8, 5000);
	assert_non_null(e);
	err_free(e);
	assert_exited(run_to_end(inf), 55);
	inferior_free(inf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_of_threads),
		cmocka_unit_test(thread_that_vanishes),
		cmocka_unit_test(call_that_takes_long),
		cmocka_unit_test(killed_in_a_call),
		cmocka_unit_test(program_that_execs),
		cmocka_unit_test(damaged_rings),
		cmocka_unit_test(rage),
		cmocka_unit_test(stops_at_commands),
		cmocka_unit_test(threads_that_stop_at_once),
		cmocka_unit_test(requests),
		cmocka_unit_test(request_that_hangs),
		cmocka_unit_test(request_that_crashes),
		cmocka_unit_test(request_that_exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
