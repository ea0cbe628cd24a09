/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program through the engine, without a shell: starts, stops and ends as values, steps
 * that do not block, and a recording. Needs the software GPU for what uses a GPU.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "sbt/sbt.h"
#include "engine-test.h"

/* What the hooks were given. */
struct seen {
	unsigned captured, other, failed;
	uint64_t commands;
};

static void note(void *arg, struct engine *en, const struct live_note *n)
{
	struct seen *seen = arg;

	if (n->kind != LIVE_NOTE_CAPTURED) {
		seen->other++;
		return;
	}
	seen->captured++;
	seen->commands = n->captured->commands;
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
	while (stop->why == LIVE_RUNS);
	assert_int_equal(en->live.doing, LIVE_STANDS);
}

static void needs_soft(void)
{
	free(example());
}

/* --- programs without GPU calls --- */

static void ends(const char *script, enum live_why why, int status, int sig)
{
	char *args[] = {(char *)"-c", (char *)script, NULL};
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;

	engine_init(&en);
	start(&en, &seen, "sh", args);
	const pid_t pid = en.live.pid;
	run(&en, &stop);
	if (why == LIVE_KILLED && stop.why == LIVE_SIGNAL) {
		assert_int_equal(stop.signal, sig); /* before it is delivered */
		assert_non_null(en.live.inf);
		run(&en, &stop);
	}
	assert_int_equal(stop.why, why);
	assert_int_equal(stop.pid, pid);
	assert_int_equal(stop.status, status);
	assert_int_equal(stop.signal, sig);
	assert_null(en.live.inf);
	assert_int_equal(en.live.exit_code, why == LIVE_EXITED ? status : -1);
	assert_int_equal(en.live.exit_signal, sig);
	engine_deinit(&en);
	assert_int_equal(seen.failed, 0);
}

static void ends_are_values(void **state)
{
	needs_soft();
	ends("exit 0", LIVE_EXITED, 0, 0);
	ends("exit 3", LIVE_EXITED, 3, 0);
	ends("kill -KILL $$", LIVE_KILLED, 0, SIGKILL);
	ends("kill -SEGV $$", LIVE_KILLED, 0, SIGSEGV);
}

static void steps_do_not_block(void **state)
{
	char *args[] = {(char *)"3600", NULL};
	volatile bool cancel = false;
	struct engine en = {0};
	struct seen seen = {0};
	struct live_stop stop;
	struct err *e;

	needs_soft();
	engine_init(&en);
	en.cancel = &cancel;
	start(&en, &seen, "sleep", args);
	e = live_step(&en, 0, &stop);
	assert_non_null(e); /* it does not run yet */
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	must(live_continue(&en));
	must(live_step(&en, 0, &stop));
	assert_int_equal(stop.why, LIVE_RUNS);
	must(live_step(&en, 30, &stop));
	assert_int_equal(stop.why, LIVE_RUNS);
	live_interrupt(&en);
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, LIVE_INTERRUPTED);
	assert_int_equal(en.live.doing, LIVE_STANDS);
	must(live_continue(&en));
	cancel = true; /* the other way to say it */
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, LIVE_INTERRUPTED);
	assert_false(cancel);
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
	assert_int_equal(stop.why, LIVE_BREAKPOINT);
	assert_int_equal(stop.breakpoint, once_id);
	assert_true(stop.temporary);
	assert_null(breakpoints_by_id(en.breaks, once_id));
	for (unsigned i = 0; i < CHUNKS; i++) {
		run(&en, &stop);
		assert_int_equal(stop.why, LIVE_BREAKPOINT);
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
	assert_int_equal(stop.why, LIVE_STEPPED);
	assert_int_equal(en.live.cmd.kind, SBT_EVENT_RECORD); /* of `loaded`, see pipeline_ptx.c */
	assert_int_equal(stop.seq, last + 1);
	run(&en, &stop);
	assert_int_equal(stop.why, LIVE_EXITED);
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

	path = in_new_folder("a.sbt");
	assert_non_null(path);
	engine_init(&en);
	en.live.recording = true;
	must(capture_begin(&en, RECORDER_ALL));
	en.live.plan.path = xstrdup(path);
	must(capture_arm_plan(&en));
	start(&en, &seen, program, none);
	run(&en, &stop);
	assert_int_equal(stop.why, LIVE_EXITED);
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
	unlink(path);
	rmdir(dir);
	free(path);
	free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_values),
		cmocka_unit_test(steps_do_not_block),
		cmocka_unit_test(stops_at_breakpoints),
		cmocka_unit_test(records),
	};

	return engine_test_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
