/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program through the engine, without a shell: starts, stops and ends as values, steps
 * that do not block, and a recording. Needs the software GPU for what uses a GPU.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "base/file.h"
#include "engine/breakpoints.h"
#include "sbt/sbt.h"
#include "engine-test.h"

/* What the hooks were given. */
struct seen {
	unsigned captured, attached, other, failed;
	uint64_t commands, first, last;
};

static void note(void *arg, struct engine *en, const struct live_note *n)
{
	struct seen *seen = arg;

	if (n->kind == LIVE_NOTE_ATTACHED) {
		seen->attached++;
		return;
	}
	if (n->kind != LIVE_NOTE_CAPTURED) {
		seen->other++;
		return;
	}
	seen->captured++;
	seen->commands = n->captured->commands;
	seen->first = n->captured->first;
	seen->last = n->captured->last;
}

static void failed(void *arg, struct engine *en, struct err *e)
{
	((struct seen *)arg)->failed++;
	err_free(e);
}

static void start(struct engine *en, struct seen *seen, const char *program, char *const *args)
{
	const struct redirect quiet = {.out = "/dev/null", .err = "/dev/null"};

	must(settings_assign(&en->set, SET_GPU, "soft"));
	en->hooks = (struct engine_hooks){.arg = seen, .live_note = note, .live_failed = failed};
	must(live_file(en, program, args));
	must(live_launch(en, &quiet));
	assert_int_equal(en->live.doing, LIVE_STANDS);
}

/* Lets the program run to its next stop, by steps that do not wait. */
static void run(struct engine *en, struct live_stop *stop)
{
	must(live_continue(en));
	do
		must(live_step(en, 0, stop));
	while (stop->why == STOP_NONE);
	assert_int_equal(en->live.doing, LIVE_STANDS);
}

static void needs_soft(void)
{
	free(example());
}

/* --- programs without GPU calls --- */

static void ends(const char *script, enum stop_reason why, int status, int sig)
{
	char *args[] = {(char *)"-c", (char *)script, NULL};
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;

	engine_init(&en);
	start(&en, &seen, "sh", args);
	const pid_t pid = en.live.pid;
	run(&en, &stop);
	if (why == STOP_KILLED && stop.why == STOP_SIGNAL) {
		assert_int_equal(stop.signal, sig); /* before it is delivered */
		assert_non_null(en.live.inf);
		run(&en, &stop);
	}
	assert_int_equal(stop.why, why);
	assert_int_equal(stop.pid, pid);
	assert_int_equal(stop.status, status);
	assert_int_equal(stop.signal, sig);
	assert_null(en.live.inf);
	assert_int_equal(en.live.exit_code, why == STOP_EXITED ? status : -1);
	assert_int_equal(en.live.exit_signal, sig);
	engine_deinit(&en);
	assert_int_equal(seen.failed, 0);
}

static void ends_are_values(void **state)
{
	needs_soft();
	ends("exit 0", STOP_EXITED, 0, 0);
	ends("exit 3", STOP_EXITED, 3, 0);
	ends("kill -KILL $$", STOP_KILLED, 0, SIGKILL);
	ends("kill -SEGV $$", STOP_KILLED, 0, SIGSEGV);
}

static void steps_do_not_block(void **state)
{
	char *args[] = {(char *)"3600", NULL};
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;
	struct err *e;

	needs_soft();
	engine_init(&en);
	start(&en, &seen, "sleep", args);
	e = live_step(&en, 0, &stop);
	assert_non_null(e); /* it does not run yet */
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	must(live_continue(&en));
	must(live_step(&en, 0, &stop));
	assert_int_equal(stop.why, STOP_NONE);
	e = live_continue(&en); /* it runs */
	assert_non_null(e);
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	must(live_step(&en, 30, &stop));
	assert_int_equal(stop.why, STOP_NONE);
	live_interrupt(&en);
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, STOP_INTERRUPTED);
	assert_int_equal(en.live.doing, LIVE_STANDS);
	must(live_continue(&en));
	*en.cancel = true; /* the other way to say it */
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, STOP_INTERRUPTED);
	assert_false(*en.cancel);
	must(live_kill(&en));
	assert_null(en.live.inf);
	e = live_continue(&en);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	engine_deinit(&en);
}

/* --- programs with --- */

static void stops_at_breakpoints(void **state)
{
	char *program = example(), *none[] = {NULL};
	struct engine en = {0};
	struct seen seen = {0};
	struct breakpoint *bp, *once;
	struct live_stop stop;
	uint64_t last = 0;

	engine_init(&en);
	must(breakpoints_add(en.breaks, "kernel scale", false, &bp));
	must(breakpoints_add(en.breaks, "alloc", true, &once));
	const int id = bp->id, once_id = once->id;
	start(&en, &seen, program, none);
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_BREAKPOINT);
	assert_int_equal(stop.breakpoint, once_id);
	assert_true(stop.temporary);
	assert_null(breakpoints_by_id(en.breaks, once_id));
	for (unsigned i = 0; i < CHUNKS; i++) {
		run(&en, &stop);
		assert_int_equal(stop.why, STOP_BREAKPOINT);
		assert_int_equal(stop.breakpoint, id);
		assert_false(stop.temporary);
		assert_true(en.live.at_cmd);
		assert_int_equal(en.live.cmd.kind, SBT_LAUNCH);
		assert_int_equal(en.live.cmd.seq, stop.seq);
		assert_true(stop.seq > last);
		last = stop.seq;
	}
	must(live_next(&en));
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, STOP_STEP);
	assert_int_equal(en.live.cmd.kind, SBT_EVENT_RECORD); /* of `loaded`, see pipeline_ptx.c */
	assert_int_equal(stop.seq, last + 1);
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_EXITED);
	assert_int_equal(stop.status, 0);
	assert_int_equal(bp->hits, CHUNKS);
	engine_deinit(&en);
	assert_int_equal(seen.failed, 0);
	free(program);
}

static unsigned launches_in(struct sbt_reader *r)
{
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;
	unsigned n = 0;

	must(sbt_cursor_open(&cur, r));
	for (;;) {
		must(sbt_cursor_next(cur, &c));
		if (!c)
			break;
		n += c->kind == SBT_LAUNCH;
	}
	sbt_cursor_close(cur);
	return n;
}

static void records(void **state)
{
	char *program = example(), *none[] = {NULL}, *path;
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;

	path = xasprintf("%s/a.sbt", dir);
	engine_init(&en);
	en.live.recording = true;
	must(capture_begin(&en, RECORDER_ALL));
	en.live.plan.path = xstrdup(path);
	must(capture_arm_plan(&en));
	start(&en, &seen, program, none);
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_EXITED);
	assert_int_equal(stop.status, 0);
	assert_int_equal(seen.captured, 1);
	assert_int_equal(seen.other, 0);
	assert_int_equal(seen.failed, 0);
	assert_string_equal(en.live.plan.made, path);
	must(engine_open(&en, path));
	assert_int_equal(sbt_reader_count(en.trace.reader), seen.commands);
	assert_int_equal(launches_in(en.trace.reader), 2 * CHUNKS);
	assert_null(sbt_reader_damage(en.trace.reader));
	engine_deinit(&en);
	free(path);
	free(program);
}

/* A window that the program stops behind, then a capture that is stopped by hand. */
static void windows_and_stops(void **state)
{
	char *program = example(), *none[] = {NULL};
	struct engine en = {0};
	struct seen seen = {0};
	struct breakpoint *bp;
	struct live_stop stop;
	uint64_t first;

	engine_init(&en);
	must(settings_assign(&en.set, SET_MEMORY, "touched"));
	must(capture_begin(&en, RECORDER_WINDOW));
	en.live.plan.window_kind = TSDB_WINDOW_KERNEL;
	en.live.plan.glob = xstrdup("scale");
	en.live.plan.count = 2;
	en.live.plan.path = xasprintf("%s/window.sbt", dir);
	must(capture_arm_plan(&en));
	start(&en, &seen, program, none);
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_WINDOW_CLOSED);
	assert_false(stop.goes_on);
	assert_int_equal(seen.captured, 1);
	assert_true(seen.first && seen.first < seen.last);
	must(engine_open(&en, en.live.plan.made));
	assert_int_equal(launches_in(en.trace.reader), 3); /* scale, accumulate, scale */
	engine_close(&en);
	assert_int_equal(en.live.plan.mode, RECORDER_OFF); /* a plan is one capture */

	must(breakpoints_add(en.breaks, "kernel scale", false, &bp));
	must(live_rearm(&en));
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_BREAKPOINT);
	first = stop.seq;
	must(capture_begin(&en, RECORDER_ALL));
	en.live.plan.path = xasprintf("%s/by-hand.sbt", dir);
	must(capture_arm_plan(&en));
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_BREAKPOINT);
	must(capture_stop(&en));
	assert_int_equal(en.live.doing, LIVE_ENDING_WINDOW);
	do
		must(live_step(&en, 0, &stop));
	while (stop.why == STOP_NONE);
	assert_int_equal(stop.why, STOP_SERVED);
	assert_int_equal(en.live.doing, LIVE_STANDS);
	assert_true(en.live.at_cmd); /* where it was */
	assert_int_equal(seen.captured, 2);
	assert_int_equal(seen.first, first);
	assert_true(seen.last < en.live.cmd.seq);
	breakpoints_delete(en.breaks, bp);
	must(live_rearm(&en));
	run(&en, &stop);
	assert_int_equal(stop.why, STOP_EXITED);
	assert_int_equal(stop.status, 0);
	assert_int_equal(seen.failed, 0);
	engine_deinit(&en);
	free(program);
}

/* A process that is attached to lives on; one that is none is refused. */
static void attaches(void **state)
{
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;
	char number[32];
	struct err *e;
	int status;
	pid_t pid;

	needs_soft();
	pid = fork();
	if (!pid) {
		execlp("sleep", "sleep", "3600", (char *)NULL);
		_exit(1);
	}
	snprintf(number, sizeof number, "%d", (int)pid);
	engine_init(&en);
	en.hooks = (struct engine_hooks){.arg = &seen, .live_note = note, .live_failed = failed};
	e = live_attach(&en, "no such program", false);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	must(live_attach(&en, number, false));
	assert_int_equal(seen.attached, 1);
	assert_int_equal(en.live.pid, pid);
	assert_string_equal(en.set.string[SET_ARGS], "3600");
	must(live_continue(&en));
	must(live_step(&en, 0, &stop));
	assert_int_equal(stop.why, STOP_NONE);
	live_interrupt(&en);
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, STOP_INTERRUPTED);
	must(live_detach(&en));
	assert_null(en.live.inf);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(seen.failed, 0);
	engine_deinit(&en);
}

/* Two programs at a time: engines share nothing. */
static void two_engines(void **state)
{
	char *args[2][3] = {{(char *)"-c", (char *)"exit 4", NULL},
		{(char *)"-c", (char *)"kill -TERM $$", NULL}};
	struct engine en[2];
	struct seen seen[2];
	struct live_stop stop;

	needs_soft();
	memset(en, 0, sizeof en);
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < 2; i++) {
		engine_init(&en[i]);
		start(&en[i], &seen[i], "sh", args[i]);
	}
	assert_int_not_equal(en[0].live.pid, en[1].live.pid);
	run(&en[1], &stop);
	assert_int_equal(stop.why, STOP_KILLED);
	assert_int_equal(stop.signal, SIGTERM);
	assert_non_null(en[0].live.inf);
	run(&en[0], &stop);
	assert_int_equal(stop.why, STOP_EXITED);
	assert_int_equal(stop.status, 4);
	engine_deinit(&en[0]);
	engine_deinit(&en[1]);
}

static int make_folder(void **state)
{
	return !mkdtemp(dir);
}

static int remove_folder(void **state)
{
	file_remove_all(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_values),
		cmocka_unit_test(steps_do_not_block),
		cmocka_unit_test(stops_at_breakpoints),
		cmocka_unit_test(records),
		cmocka_unit_test(windows_and_stops),
		cmocka_unit_test(attaches),
		cmocka_unit_test(two_engines),
	};

	return engine_test_begin() ? cmocka_run_group_tests(tests, make_folder, remove_folder) : 1;
}
