/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking into a process with cuda-gdb: tests/unit/fake-cuda-gdb speaks as it does, traces the
 * process meanwhile, and does what it is told to do wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "engine/engine.h"
#include "engine/why.h"
#include "engine/why/debugger.h"

static pid_t pid; /* of a process that sleeps */
static char log_path[] = "/tmp/tsdb-inside-XXXXXX";

static void fake(const char *how)
{
	const int fd = open(log_path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	close(fd);
	setenv("FAKE_CUDA_GDB", how, 1);
}

static bool is_traced(void)
{
	char path[64], line[128];
	bool traced = true;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid:\t", 11))
			traced = atoi(line + 11) != 0;
	fclose(f);
	return traced;
}

/* A graph with a thread that waits for the device, looked into. */
static struct why *looked(const char *how, uint32_t *ret_thread)
{
	struct engine *en = calloc(1, sizeof(*en));
	struct why *w = why_new();

	engine_init(en);
	fake(how);
	*ret_thread = why_node(w, WHY_THREAD, pid, (uint64_t)pid, "host thread 1");
	why_at(w, *ret_thread)->root = true;
	assert_false(why_wants_inside(w));
	why_at(w, *ret_thread)->at_device = true;
	assert_true(why_wants_inside(w));
	assert_true(why_can_look_inside());
	why_look_inside(en, w);
	assert_false(is_traced());
	engine_deinit(en);
	free(en);
	return w;
}

static enum why_verdict verdict(struct why *w)
{
	struct why_answer a;

	why_judge(w, &a);
	return a.verdict;
}

/* The node that the first edge of `node` leads to. */
static const struct why_node *next(const struct why *w, uint32_t node, uint32_t *ret)
{
	const struct why_edge *e = why_edge_at(w, why_next(w, node, WHY_NONE));

	*ret = e ? e->to : WHY_NONE;
	return why_at(w, *ret);
}

static void a_kernel_that_waits(void **state)
{
	uint32_t thread, kernel, value;
	struct why *w = looked("well", &thread);
	const struct why_node *k = next(w, thread, &kernel), *v = next(w, kernel, &value);

	(void)state;
	assert_non_null(k);
	assert_int_equal(k->kind, WHY_COMMAND);
	assert_string_equal(k->name, "wait_flag<<<64,32>>>");
	assert_string_equal(k->where, "all 64 lanes at app.cu:17");
	assert_string_equal(k->does,
		"runs; all 64 lanes at app.cu:17, reading in a loop 4 bytes at "
		"0x7fd4d3e00004 (now 5); 2 of its 64 blocks are there");
	assert_int_equal(k->moved, WHY_MOVED_UNKNOWN);
	assert_non_null(v);
	assert_int_equal(v->kind, WHY_VALUE);
	assert_int_equal(v->id, 0x7fd4d3e00004);
	assert_false(why_wants_inside(w));	/* it is known now */
	assert_int_equal(verdict(w), WHY_OPEN); /* a copy that nobody sees may write there */
	why_free(w);
}

static void kernels_that_move(void **state)
{
	static const char *const hows[] = {"moves", "changes"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t thread, kernel;
		struct why *w = looked(hows[i], &thread);

		assert_int_equal(next(w, thread, &kernel)->moved, WHY_MOVED);
		assert_int_equal(verdict(w), WHY_SLOW);
		why_free(w);
	}
}

static void a_kernel_that_ends_between(void **state)
{
	uint32_t thread;
	struct why *w = looked("ends", &thread);

	(void)state;
	assert_int_equal(why_next(w, thread, WHY_NONE), WHY_NONE);
	assert_int_equal(verdict(w), WHY_SLOW);
	why_free(w);
}

static void no_kernel(void **state)
{
	uint32_t thread;
	struct why *w = looked("empty", &thread);

	(void)state;
	assert_non_null(strstr(why_note_at(w, 0), "none of its kernels runs"));
	assert_int_equal(verdict(w), WHY_OPEN);
	why_free(w);
}

static void what_goes_wrong_is_said(void **state)
{
	static const struct {
		const char *how, *said;
	} rows[] = {{"refuses", "could not attach to process"}, {"dies", "cuda-gdb ended"}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t thread;
		struct why *w = looked(rows[i].how, &thread);

		assert_non_null(strstr(why_note_at(w, 0), rows[i].said));
		assert_int_equal(why_next(w, thread, WHY_NONE), WHY_NONE);
		why_free(w);
	}
}

static void a_refusal_in_its_own_words(void **state)
{
	struct debugger_seen seen;
	struct err *e;

	(void)state;
	fake("refuses");
	e = debugger_look(pid, &debugger_limits, &seen);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "ptrace: Operation not permitted."));
	err_free(e);
}

static void more_text_than_is_kept(void **state)
{
	uint32_t thread, kernel;
	struct why *w = looked("long", &thread);

	(void)state;
	assert_string_equal(next(w, thread, &kernel)->where, "all 64 lanes at app.cu:17");
	why_free(w);
}

/* It is waited for: it has let go of the process only at its end. */
static void one_that_ends_slowly(void **state)
{
	uint32_t thread;

	(void)state;
	why_free(looked("lingers", &thread));
}

/* It is asked to end when it does not answer: the process is let go of. */
static void one_that_does_not_answer(void **state)
{
	static const struct debugger_limits limits = {.answer_ms = 300, .end_ms = 300};
	struct debugger_seen seen;
	struct err *e;

	(void)state;
	fake("deaf");
	e = debugger_look(pid, &limits, &seen);
	assert_non_null(e);
	assert_string_equal(e->what, "cuda-gdb did not answer");
	err_free(e);
	assert_false(is_traced());
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* it is collected; the process lives */
}

static void a_process_that_is_debugged(void **state)
{
	struct debugger_seen seen;
	struct err *e;
	char self[32];

	(void)state;
	fake("well");
	snprintf(self, sizeof(self), "by process %d", (int)getpid());
	assert_int_equal((int)ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	e = debugger_look(pid, &debugger_limits, &seen);
	assert_non_null(e);
	assert_non_null(strstr(e->what, self));
	err_free(e);
	/* a tracer leaves a process that is stopped */
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, NULL, __WALL), pid);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
}

static void none_is_there(void **state)
{
	struct debugger_seen seen;
	char *was = strdup(getenv("TSDB_CUDA_GDB"));
	struct err *e;

	(void)state;
	setenv("TSDB_CUDA_GDB", "/nonexistent", 1);
	assert_false(why_can_look_inside());
	e = debugger_look(pid, &debugger_limits, &seen);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_UNSUPPORTED);
	assert_non_null(e->cure);
	err_free(e);
	setenv("TSDB_CUDA_GDB", was, 1);
	free(was);
}

static int begin(void **state)
{
	char *path;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	path = xasprintf("%s/tests/unit/fake-cuda-gdb",
		getenv("TSDB_SRC") ? getenv("TSDB_SRC") : getenv("srcdir"));
	setenv("TSDB_CUDA_GDB", path, 1);
	free(path);
	close(mkstemp(log_path));
	setenv("FAKE_CUDA_GDB_LOG", log_path, 1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid < 0;
}

static int end(void **state)
{
	(void)state;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(log_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_that_waits),
		cmocka_unit_test(kernels_that_move),
		cmocka_unit_test(a_kernel_that_ends_between),
		cmocka_unit_test(no_kernel),
		cmocka_unit_test(what_goes_wrong_is_said),
		cmocka_unit_test(a_refusal_in_its_own_words),
		cmocka_unit_test(more_text_than_is_kept),
		cmocka_unit_test(one_that_ends_slowly),
		cmocka_unit_test(one_that_does_not_answer),
		cmocka_unit_test(a_process_that_is_debugged),
		cmocka_unit_test(none_is_there),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, begin, end);
}
