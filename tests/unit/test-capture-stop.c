/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops, seen from the debugger's side: the agent runs in a traced child, this process is the
 * tracer.
 */
#include "capture-fake.h"
#include "sbt/cmd-pack.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct tsdb_control *control;
static pid_t child;

static int memory = 41;
static bool with_threads;

static void launch(CUfunction f, unsigned block)
{
	uint64_t a = 1, c = 3;
	uint32_t b = 2;
	FAKE(cuLaunchKernel, f, 1, 1, 1, block, 1, 1, 0, NULL, (void *[]){&a, &b, &c}, NULL);
}

#define THREADS 4
static void *launch_in_thread(void *arg)
{
	launch(FAKE_FUNC, 32);
	return NULL;
}

static void program_with_threads(void)
{
	pthread_t t[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, launch_in_thread, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	_exit(memory);
}

/* What the child does: its exit status is the value of memory. */
static void program(void)
{
	CUdeviceptr p = 0x700000001000;
	launch(FAKE_FUNC_2, 32);
	launch(FAKE_FUNC, 32);
	FAKE(cuMemAlloc_v2, &p, 4096);
	launch(FAKE_FUNC, 64);
	launch(FAKE_FUNC, 128);
	FAKE(cuMemFree_v2, p);
	_exit(memory);
}

static int start(void **state)
{
	/* The block outlives fork(): the child adopts it anew. */
	control = fake_start();
	memset(control->ring, 0, sizeof(control->ring));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		agent.live = NULL;
		if (agent_adopt(control))
			_exit(99);
		raise(SIGSTOP);
		if (with_threads)
			program_with_threads();
		program();
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	memset(control->brk, 0, sizeof(control->brk));
	control->breaks = 0;
	return 0;
}

static int stop(void **state)
{
	int status;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}

static void arm(unsigned slot, int id, unsigned kind, const char *glob, const char *cond)
{
	struct tsdb_break *b = &control->brk[slot];
	char why[128];
	b->id = id;
	b->kind = kind;
	strcpy(b->glob, glob);
	if (cond)
		assert_true(sbt_expr_compile(&b->cond, kind, cond, why, sizeof(why)));
	b->enabled = 1;
	control->breaks = slot + 1;
}

static void run_to_stop(void)
{
	int status;
	struct user_regs_struct regs;
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
	assert_int_equal(regs.rip, control->stop_pc + 1);
}

static int run_to_end(void)
{
	int status;
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static struct sbt_cmd stopped_at(void)
{
	struct sbt_cmd cmd;
	assert_true(control->stop.cmd_size != 0);
	assert_int_equal(sbt_unpack(&cmd, control->stop.cmd, control->stop.cmd_size),
		control->stop.cmd_size);
	assert_int_equal(cmd.seq, control->stop.seq);
	return cmd;
}

static void a_glob_stops_before_the_launch(void **state)
{
	arm(0, 7, SBT_LAUNCH, "matmul", NULL);
	run_to_stop();
	assert_int_equal(control->stop.why, STOP_BREAKPOINT);
	assert_int_equal(control->stop.break_id, 7);
	assert_int_equal(control->stop.api_exit, 0);
	assert_int_equal(control->stop.os_tid, child);
	assert_int_equal(stopped_at().u.launch.block_x, 32);
	assert_int_equal(control->brk[0].hits, 1);
	run_to_stop();
	run_to_stop();
	assert_int_equal(control->brk[0].hits, 3);
	assert_int_equal(run_to_end(), 41);
}

static void conditions_and_ignore_counts(void **state)
{
	arm(0, 1, SBT_LAUNCH, "", "block_x >= 64");
	control->brk[0].ignore = 1;
	run_to_stop();
	assert_int_equal(stopped_at().u.launch.block_x, 128);
	assert_int_equal(control->brk[0].hits, 2);
	assert_int_equal(control->brk[0].ignore, 0);
	assert_int_equal(run_to_end(), 41);
}

static void a_temporary_one_stops_once(void **state)
{
	arm(0, 1, SBT_LAUNCH, "mat*", NULL);
	control->brk[0].temporary = 1;
	run_to_stop();
	assert_int_equal(control->brk[0].enabled, 0);
	assert_int_equal(run_to_end(), 41);
}

/* An allocation's address is known when the driver has answered: the stop is then. */
static void an_allocation_stops_after_the_call(void **state)
{
	arm(0, 1, SBT_ALLOC, "", NULL);
	run_to_stop();
	assert_int_equal(control->stop.api_exit, 1);
	assert_int_equal(stopped_at().u.alloc.addr, 0x700000001000);
	assert_int_equal(run_to_end(), 41);
}

/* Before a free the memory can still be looked at. */
static void a_free_stops_before_the_call(void **state)
{
	arm(0, 1, SBT_FREE, "", NULL);
	run_to_stop();
	assert_int_equal(control->stop.api_exit, 0);
	assert_int_equal(stopped_at().u.free.addr, 0x700000001000);
	assert_int_equal(run_to_end(), 41);
}

static void a_changed_glob_counts(void **state)
{
	arm(0, 1, SBT_LAUNCH, "matmul", NULL);
	run_to_stop();
	strcpy(control->brk[0].glob, "nothing");
	assert_int_equal(run_to_end(), 41);
}

static void steps(void **state)
{
	const uint16_t kinds[] = {
		SBT_LAUNCH, SBT_LAUNCH, SBT_ALLOC, SBT_LAUNCH, SBT_LAUNCH, SBT_FREE};
	for (unsigned i = 0; i < 6; i++) {
		control->step = 1;
		run_to_stop();
		assert_int_equal(control->stop.why, STOP_STEP);
		assert_int_equal(stopped_at().kind, kinds[i]);
	}
	assert_int_equal(run_to_end(), 41);
}

static void a_window_ends_with_a_stop(void **state)
{
	strcpy(control->window.glob, "matmul");
	control->window.count = 2;
	control->window.state = TSDB_WINDOW_ARMED;
	control->window.kind = TSDB_WINDOW_KERNEL;
	control->window_stop = 1;
	run_to_stop();
	assert_int_equal(control->stop.why, STOP_WINDOW_CLOSED);
	assert_int_equal(control->stop.api_exit, 1);
	assert_int_equal(stopped_at().u.launch.block_x, 64);
	assert_int_equal(control->window.state, TSDB_WINDOW_DONE);
	assert_int_equal(run_to_end(), 41);
}

/* The agent reads device memory for the debugger, and stays where it is. */
static void requests_are_served(void **state)
{
	arm(0, 1, SBT_LAUNCH, "matmul", NULL);
	control->brk[0].temporary = 1;
	run_to_stop();
	const uint64_t seq = control->stop.seq;
	control->request.addr = (uint64_t)(uintptr_t)&memory;
	control->request.size = sizeof(memory);
	control->request.kind = TSDB_REQ_READ;
	run_to_stop();
	assert_int_equal(control->stop.why, STOP_SERVED);
	assert_int_equal(control->request.result, 0);
	int value;
	memcpy(&value, control->request.data, sizeof(value));
	assert_int_equal(value, 41);
	control->request.kind = 77;
	run_to_stop();
	assert_int_equal(control->request.result, CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(control->stop.seq, seq);
	assert_int_equal(run_to_end(), 41);
}

static int start_threads(void **state)
{
	with_threads = true;
	return start(state);
}

/* The next stop of any thread by the trap, the first one's thread id; 0 when the process has ended.
 */
static pid_t next_trap(void)
{
	int status;
	for (;;) {
		const pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			return 0;
		if (tid == child && (WIFEXITED(status) || WIFSIGNALED(status)))
			return 0;
		if (!WIFSTOPPED(status))
			continue;
		struct user_regs_struct regs;
		if (WSTOPSIG(status) == SIGTRAP && !(status >> 16) &&
			!ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
			regs.rip == control->stop_pc + 1)
			return tid;
		ptrace(PTRACE_CONT, tid, NULL, NULL); /* new threads, their first stops */
	}
}

/* Several threads come to the breakpoint at once; while the first is stopped, the user deletes it:
 * nobody else stops. */
static void a_deleted_one_stops_nobody(void **state)
{
	arm(0, 1, SBT_LAUNCH, "matmul", NULL);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACECLONE), 0);
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	const pid_t tid = next_trap();
	assert_true(tid > 0);
	/* The others are not stopped here: give them time to come, and to wait. */
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	assert_int_equal(control->brk[0].hits, 1);
	control->brk[0].enabled = 0;
	ptrace(PTRACE_CONT, tid, NULL, NULL);
	assert_int_equal(next_trap(), 0);
	assert_int_equal(control->brk[0].hits, 1);
	with_threads = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_glob_stops_before_the_launch, start, stop),
		cmocka_unit_test_setup_teardown(conditions_and_ignore_counts, start, stop),
		cmocka_unit_test_setup_teardown(a_temporary_one_stops_once, start, stop),
		cmocka_unit_test_setup_teardown(an_allocation_stops_after_the_call, start, stop),
		cmocka_unit_test_setup_teardown(a_free_stops_before_the_call, start, stop),
		cmocka_unit_test_setup_teardown(a_changed_glob_counts, start, stop),
		cmocka_unit_test_setup_teardown(steps, start, stop),
		cmocka_unit_test_setup_teardown(a_window_ends_with_a_stop, start, stop),
		cmocka_unit_test_setup_teardown(requests_are_served, start, stop),
		cmocka_unit_test_setup_teardown(a_deleted_one_stops_nobody, start_threads, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
