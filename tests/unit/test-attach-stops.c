/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops: what the inferior does must be what it does without us, whatever we interrupt; and every
 * way in which it can end.
 */
#include "test-attach-common.h"

static struct inferior *launch(char *const *args)
{
	struct launch_options o = {.argv = args, .out = "/dev/null"};
	struct inferior *inf;

	must(inferior_launch(&inf, &o));
	return inf;
}

#define ARGS(...)                                                                                  \
	((char *const[]){(char *)built("tests/programs/attach-inferior"), __VA_ARGS__, NULL})
#define A(s) ((char *)(s))

static unsigned count_threads(struct inferior *inf)
{
	struct inferior_thread t;
	unsigned n = 0;

	while (inferior_thread(inf, n, &t))
		n++;
	return n;
}

/* Interrupts every ms until the program ends; the number of stops. */
static unsigned interrupt_to_end(
	struct inferior *inf, struct inferior_event *ret, unsigned stops_wanted, long every_ms)
{
	unsigned stops = 0;

	must(inferior_resume(inf, false));
	for (;;) {
		must(inferior_wait(inf, stops < stops_wanted ? (int)every_ms : EVENT_MS, ret));
		if (ret->kind == INFERIOR_NONE) {
			inferior_interrupt(inf);
			continue;
		}
		if (ret->kind == INFERIOR_STOP_INTERRUPT) {
			struct inferior_thread t;

			stops++;
			for (unsigned i = 0; inferior_thread(inf, i, &t); i++)
				assert_true(t.pc != 0 ||
					    t.tid == inferior_pid(inf)); /* really stopped */
			must(inferior_resume(inf, false));
			continue;
		}
		if (ret->kind != INFERIOR_FORKED && ret->kind != INFERIOR_EXECED)
			return stops;
	}
}

static struct inferior_event run_on(struct inferior *inf)
{
	if (!inferior_running(inf))
		must(inferior_resume(inf, false));
	return next_event(inf);
}

static void exits(void **state)
{
	struct inferior *inf = launch(ARGS(A("exit"), A("3")));

	assert_exited(run_to_end(inf), 3);
	inferior_free(inf);
}

/* A deadly signal stops first, is passed on, and is what the program dies of. */
static void deadly_signals(void **state)
{
	const int signals[] = {SIGSEGV, SIGABRT, SIGFPE, SIGTERM, SIGUSR1, SIGRTMIN};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		char n[16];
		struct inferior *inf;
		struct inferior_event ev;

		snprintf(n, sizeof(n), "%d", signals[i]);
		inf = launch(ARGS(A("signal"), n));
		ev = run_to_end(inf);
		if (i < 3) {
			assert_int_equal(ev.kind, INFERIOR_STOP_SIGNAL);
			assert_int_equal(ev.signal, signals[i]);
			ev = run_to_end(inf);
		}
		assert_int_equal(ev.kind, INFERIOR_SIGNALLED);
		assert_int_equal(ev.signal, signals[i]);
		inferior_free(inf);
	}
}

static void dropped_signal(void **state)
{
	struct inferior *inf = launch(ARGS(A("signal"), A("6")));
	struct inferior_event ev = run_to_end(inf);

	assert_int_equal(ev.signal, SIGABRT);
	must(inferior_resume(inf, true));
	assert_exited(run_to_end(inf), 99);
	inferior_free(inf);
}

static void rules(void **state)
{
	struct inferior *inf = launch(ARGS(A("signal"), A("10"))); /* SIGUSR1 */

	inferior_handle_signal(inf, SIGUSR1, false, false);
	assert_exited(run_to_end(inf), 99);
	inferior_free(inf);
	inf = launch(ARGS(A("crash")));
	inferior_handle_signal(inf, SIGSEGV, false, true);
	assert_int_equal(run_to_end(inf).kind, INFERIOR_SIGNALLED);
	inferior_free(inf);
}

static void caught_signals(void **state)
{
	struct inferior *inf = launch(ARGS(A("catch")));

	assert_exited(run_to_end(inf), 0);
	inferior_free(inf);
}

static void killed_from_outside(void **state)
{
	struct inferior *inf = launch(ARGS(A("threads"), A("5")));
	struct inferior_event ev;

	must(inferior_resume(inf, false));
	must(inferior_wait(inf, 100, &ev));
	kill(inferior_pid(inf), SIGKILL);
	ev = next_event(inf);
	assert_int_equal(ev.kind, INFERIOR_SIGNALLED);
	assert_int_equal(ev.signal, SIGKILL);
	inferior_free(inf);
	/* while it is stopped */
	inf = launch(ARGS(A("threads"), A("5")));
	must(inferior_resume(inf, false));
	must(inferior_wait(inf, 100, &ev));
	inferior_interrupt(inf);
	assert_int_equal(next_event(inf).kind, INFERIOR_STOP_INTERRUPT);
	kill(inferior_pid(inf), SIGKILL);
	pause_ms(20);
	ev = run_to_end(inf);
	assert_int_equal(ev.kind, INFERIOR_SIGNALLED);
	inferior_free(inf);
}

static void interrupts(void **state)
{
	struct inferior *inf = launch(ARGS(A("threads"), A("7")));
	struct inferior_event ev;
	pid_t pid = inferior_pid(inf);

	must(inferior_resume(inf, false));
	do
		must(inferior_wait(inf, 50, &ev));
	while (count_threads(inf) < 8);
	for (int i = 0; i < 50; i++) {
		inferior_interrupt(inf);
		assert_int_equal(next_event(inf).kind, INFERIOR_STOP_INTERRUPT);
		assert_false(inferior_running(inf));
		assert_int_equal(count_threads(inf), 8);
		must(inferior_resume(inf, false));
	}
	must(inferior_kill(inf));
	assert_false(inferior_alive(inf));
	assert_int_equal(kill(pid, 0), -1);
	must_say(inferior_wait(inf, 0, &ev), "not being run");
	must_say(inferior_resume(inf, false), "not being run");
	inferior_free(inf);
}

static void thread_storm(void **state)
{
	struct inferior *inf = launch(ARGS(A("storm"), A("1600")));
	struct inferior_event ev;
	unsigned stops = interrupt_to_end(inf, &ev, 200, 1);

	assert_exited(ev, 42);
	assert_true(stops >= 20);
	inferior_free(inf);
}

static void system_calls_restart(void **state)
{
	struct inferior *inf = launch(ARGS(A("eintr")));
	struct inferior_event ev;
	unsigned stops = interrupt_to_end(inf, &ev, 100, 2);

	assert_exited(ev, 0);
	assert_true(stops >= 5);
	inferior_free(inf);
}

static void forks(void **state)
{
	struct inferior *inf = launch(ARGS(A("fork")));
	struct inferior_event ev;
	unsigned n = 0;

	must(inferior_resume(inf, false));
	while ((ev = next_event(inf)).kind == INFERIOR_FORKED) {
		assert_true(ev.child > 0 && ev.child != inferior_pid(inf));
		assert_true(inferior_running(inf));
		n++;
	}
	assert_exited(ev, 0);
	assert_int_equal(n, 6);
	inferior_free(inf);
}

static void processes_by_clone(void **state)
{
	struct inferior *inf = launch(ARGS(A("clone")));

	assert_exited(run_to_end(inf), 0);
	inferior_free(inf);
}

static void forks_interrupted(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct inferior *inf = launch(ARGS(A("fork")));
		struct inferior_event ev;

		interrupt_to_end(inf, &ev, 1000, 1);
		assert_exited(ev, 0);
		inferior_free(inf);
	}
}

static void execs(void **state)
{
	static const char *const how[] = {"exec", "exec-thread"};

	for (int i = 0; i < 2; i++) {
		struct inferior *inf = launch(ARGS(
			A(how[i]), A(built("tests/programs/attach-inferior")), A("exit"), A("9")));
		struct inferior_event ev;
		pid_t pid = inferior_pid(inf);

		must(inferior_resume(inf, false));
		ev = next_event(inf);
		if (ev.kind != INFERIOR_EXECED)
			fail_msg("%s: event %d, status %d", how[i], (int)ev.kind, ev.status);
		assert_int_equal(inferior_pid(inf), pid);
		assert_exited(run_to_end(inf), 9);
		inferior_free(inf);
	}
}

static bool is_second_program(struct inferior *inf)
{
	char path[64], *line;
	bool second;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", inferior_pid(inf));
	line = read_file(path);
	second = strcmp(line + strlen(line) + 1, "exec-storm") != 0;
	free(line);
	return second;
}

/* A stop of a thread that another thread's exec has ended is not told any more: not to the new
 * program's account. */
static void exec_meets_stops(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct inferior *inf = launch(ARGS(A("exec-storm"),
			A(built("tests/programs/attach-inferior")), A("exit"), A("9")));
		struct inferior_event ev;

		inferior_handle_signal(inf, SIGUSR1, true, true);
		while ((ev = run_on(inf)).kind == INFERIOR_STOP_SIGNAL)
			assert_false(is_second_program(inf));
		assert_int_equal(ev.kind, INFERIOR_EXECED);
		assert_exited(run_on(inf), 9);
		inferior_free(inf);
	}
}

static void leader_exits_first(void **state)
{
	struct inferior *inf = launch(ARGS(A("leader")));
	struct inferior_event ev;
	unsigned stops = interrupt_to_end(inf, &ev, 5, 40);

	assert_exited(ev, 17);
	assert_true(stops >= 1);
	inferior_free(inf);
}

/* SIGSTOP and SIGCONT from elsewhere have the effect that they have without us, interrupted or not.
 */
static void job_control(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct inferior *inf = launch(ARGS(A("stopself")));
		struct inferior_event ev;

		interrupt_to_end(inf, &ev, i ? 20 : 0, 15);
		assert_exited(ev, 0);
		inferior_free(inf);
	}
}

static void killed_while_stopped(void **state)
{
	struct inferior *inf = launch(ARGS(A("threads"), A("3")));
	struct inferior_event ev;
	pid_t pid = inferior_pid(inf);

	must(inferior_resume(inf, false));
	must(inferior_wait(inf, 50, &ev));
	kill(pid, SIGSTOP);
	must(inferior_wait(inf, 50, &ev));
	assert_int_equal(ev.kind, INFERIOR_NONE);
	inferior_interrupt(inf);
	assert_int_equal(next_event(inf).kind, INFERIOR_STOP_INTERRUPT);
	must(inferior_resume(inf, false));
	kill(pid, SIGCONT);
	must(inferior_wait(inf, 50, &ev));
	must(inferior_kill(inf));
	assert_int_equal(kill(pid, 0), -1);
	inferior_free(inf);
}

static void host_memory(void **state)
{
	struct inferior *inf = launch(ARGS(A("sleep"), A("60000")));
	struct inferior_thread t;
	unsigned char code[16];

	assert_true(inferior_thread(inf, 0, &t));
	assert_true(t.pc != 0);
	must(inferior_read(inf, t.pc, code, sizeof(code)));
	must_say(err_cure(inferior_read(inf, 8, code, 1), "none"), "0x8");
	inferior_free(inf);
}

static void no_agent_no_gpu(void **state)
{
	struct inferior *inf = launch(ARGS(A("sleep"), A("60000")));
	char b[8];

	must_say(inferior_gpu_read(inf, 0x1000, b, sizeof(b), 100),
		"only while the program is stopped at a GPU command");
	inferior_free(inf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits),
		cmocka_unit_test(deadly_signals),
		cmocka_unit_test(dropped_signal),
		cmocka_unit_test(rules),
		cmocka_unit_test(caught_signals),
		cmocka_unit_test(killed_from_outside),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(thread_storm),
		cmocka_unit_test(system_calls_restart),
		cmocka_unit_test(forks),
		cmocka_unit_test(processes_by_clone),
		cmocka_unit_test(forks_interrupted),
		cmocka_unit_test(execs),
		cmocka_unit_test(exec_meets_stops),
		cmocka_unit_test(leader_exits_first),
		cmocka_unit_test(job_control),
		cmocka_unit_test(killed_while_stopped),
		cmocka_unit_test(host_memory),
		cmocka_unit_test(no_agent_no_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
