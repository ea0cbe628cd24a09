/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of a replay through the engine, without a shell, and who wrote to memory. What must come
 * out is counted in the trace itself.
 */
#include "base/file.h"
#include "engine/breakpoints.h"
#include "engine/microscope.h"
#include "engine/replay-moves.h"
#include "engine/who-wrote.h"
#include "sbt/sbt.h"
#include "engine-test.h"

static char *trace;

/* What pipeline_ptx did, from the trace: the launches are of `scale` and `accumulate` by turns. */
struct run {
	uint64_t launch[2 * CHUNKS];
	unsigned n;
	uint64_t first; /* command of the trace */
	uint64_t sum;	/* address that the first fill sets to 0 */
};

static void read_run(struct sbt_reader *r, struct run *ret)
{
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;

	*ret = (struct run){.first = sbt_reader_first_seq(r)};
	must(sbt_cursor_open(&cur, r));
	for (;;) {
		must(sbt_cursor_next(cur, &c));
		if (!c)
			break;
		if (c->kind == SBT_LAUNCH) {
			assert_true(ret->n < 2 * CHUNKS);
			ret->launch[ret->n++] = c->seq;
		}
		if (c->kind == SBT_FILL && !ret->sum)
			ret->sum = c->u.fill.dst;
	}
	sbt_cursor_close(cur);
	assert_int_equal(ret->n, 2 * CHUNKS);
	assert_int_not_equal(ret->sum, 0);
}

static void from_breakpoint_to_breakpoint(void **state)
{
	struct engine en = {0};
	struct breakpoint *bp;
	struct replay_move m;
	struct run run;

	open_replay(&en, trace);
	read_run(en.trace.reader, &run);
	must(breakpoints_add(en.breaks, "kernel accumulate", false, &bp));
	for (unsigned i = 0; i < CHUNKS; i++) {
		must(replay_move_run(&en, false, &m));
		assert_int_equal(m.stop.why, REPLAY_BREAKPOINT);
		assert_int_equal(m.stop.breakpoint, bp->id);
		assert_int_equal(m.stop.seq, run.launch[2 * i + 1]);
		assert_false(m.in_graph);
	}
	must(replay_move_run(&en, false, &m));
	assert_int_equal(m.stop.why, REPLAY_END);
	must(replay_move_run(&en, true, &m));
	assert_int_equal(m.stop.why, REPLAY_BREAKPOINT);
	assert_int_equal(m.stop.seq, run.launch[2 * CHUNKS - 1]);
	engine_deinit(&en);
}

static void steps(void **state)
{
	struct engine en = {0};
	struct replay_move m;
	struct run run;

	open_replay(&en, trace);
	read_run(en.trace.reader, &run);
	must(replay_move_steps(&en, 5, false, true, &m));
	assert_int_equal(m.stop.why, REPLAY_STEPPED);
	assert_int_equal(m.stop.seq, run.first + 4);
	must(replay_move_steps(&en, 2, true, false, &m));
	assert_int_equal(m.stop.seq, run.first + 2);
	assert_int_equal(replay_seq(en.trace.replay), run.first + 2);
	engine_deinit(&en);
}

static void writers(void **state)
{
	struct engine en = {0};
	struct replay_stop stop;
	struct who_wrote w;
	struct run run;

	open_replay(&en, trace);
	read_run(en.trace.reader, &run);
	must(replay_goto(en.trace.replay, run.launch[4], &stop));
	must(who_wrote(&en, run.sum, 4, &w)); /* launch[4] is of scale: that of accumulate before */
	assert_int_equal(w.writer.seq, run.launch[3]);
	assert_true(w.writer.changed);
	assert_int_equal(w.step, 0);
	assert_int_equal(replay_seq(en.trace.replay), run.launch[4]);
	engine_deinit(&en);
}

/* Line 37 of examples/ptx/pipeline.ptx is an instruction of scale, which 16 blocks execute. */
static void inside_kernels(void **state)
{
	struct engine en = {0};
	struct breakpoint *bp;
	struct replay_move m;
	struct soft_stop t;
	struct run run;

	open_replay(&en, trace);
	read_run(en.trace.reader, &run);
	must(breakpoints_add(en.breaks, "ptx scale:37 if %ctaid.x == 3", false, &bp));
	must(replay_move_run(&en, false, &m));
	assert_true(m.in_launch);
	assert_int_equal(m.launch.seq, run.launch[0]);
	assert_int_equal(m.launch.why, SOFT_WHY_POINT);
	assert_int_equal(m.launch.id, bp->id);
	assert_int_equal(m.launch.line, 37);
	assert_int_equal(m.launch.block[0], 3);
	assert_non_null(microscope_stop(&en));
	must(microscope_go(&en, SOFT_STEP, 2, &t));
	assert_int_equal(t.line, 39);
	breakpoints_delete(en.breaks, bp);
	must(microscope_go(&en, SOFT_RUN, 0, &t));
	assert_int_equal(t.state, SOFT_ENDED);
	assert_null(microscope_stop(&en));
	assert_int_equal(replay_seq(en.trace.replay), run.launch[0]);
	engine_deinit(&en);
}

/* A launch in which the condition never holds is no stop, and no hit. */
static void a_condition_that_never_holds(void **state)
{
	struct engine en = {0};
	struct breakpoint *bp;
	struct replay_move m;

	open_replay(&en, trace);
	must(breakpoints_add(en.breaks, "ptx scale:37 if %ctaid.x == 16", false, &bp));
	must(replay_move_run(&en, false, &m));
	assert_false(m.in_launch);
	assert_int_equal(m.stop.why, REPLAY_END);
	must(replay_move_run(&en, true, &m));
	assert_false(m.in_launch);
	assert_int_equal(m.stop.why, REPLAY_BEGIN);
	assert_int_equal(bp->hits, 0);
	engine_deinit(&en);
}

static int make_folder(void **state)
{
	trace = in_new_folder("a.sbt");
	return !trace;
}

static int remove_folder(void **state)
{
	free(trace);
	file_remove_all(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_breakpoint_to_breakpoint),
		cmocka_unit_test(steps),
		cmocka_unit_test(writers),
		cmocka_unit_test(inside_kernels),
		cmocka_unit_test(a_condition_that_never_holds),
	};

	return engine_test_begin() ? cmocka_run_group_tests(tests, make_folder, remove_folder) : 1;
}
