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
		must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = false}, &m));
		assert_int_equal(m.stop.why, REPLAY_BREAKPOINT);
		assert_int_equal(m.stop.breakpoint, bp->id);
		assert_int_equal(m.stop.seq, run.launch[2 * i + 1]);
		assert_false(m.in_graph);
	}
	must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = false}, &m));
	assert_int_equal(m.stop.why, REPLAY_END);
	must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = true}, &m));
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
	must(replay_move(&en, &(struct move){.how = MOVE_STEPS, .n = 5}, &m));
	assert_int_equal(m.stop.why, REPLAY_STEPPED);
	assert_int_equal(m.stop.seq, run.first + 4);
	must(replay_move(&en, &(struct move){.how = MOVE_COMMANDS, .n = 2, .backwards = true}, &m));
	assert_int_equal(m.stop.seq, run.first + 2);
	assert_int_equal(replay_seq(en.trace.replay), run.first + 2);
	engine_deinit(&en);
}

/* Each kind of move makes one stop, which says where it has ended; one that is refused makes none.
 * run.launch[0] is of scale, whose line 37 has a breakpoint in the last rows. */
static void each_move_is_one_stop(void **state)
{
	struct engine en = {0};
	struct breakpoint *bp;
	struct replay_move m;
	struct run run;

	open_replay(&en, trace);
	read_run(en.trace.reader, &run);
	const uint64_t a = run.launch[0], b = run.launch[1];
	const struct {
		struct move move;
		enum stop_reason reason; /* STOP_NONE: it is refused */
		uint64_t seq;
		bool in_kernel;
	} rows[] = {
		{{.how = MOVE_STEPS, .n = 3}, STOP_STEP, run.first + 2, false},
		{{.how = MOVE_COMMANDS, .n = 1, .backwards = true}, STOP_STEP, run.first + 1,
			false},
		{{.how = MOVE_GOTO, .seq = b}, STOP_STEP, b, false},
		{{.how = MOVE_UNTIL, .seq = a}, STOP_NONE, 0, false},
		{{.how = MOVE_NODE, .seq = b, .step = 1}, STOP_NONE, 0, false},
		{{.how = MOVE_STREAM, .stream = 4711}, STOP_NONE, 0, false},
		{{.how = MOVE_DRAIN, .stream = 4711}, STOP_NONE, 0, false},
		{{.how = MOVE_FOCUS}, STOP_NONE, 0, false},
		{{.how = MOVE_UNTIL_LINE}, STOP_NONE, 0, false},
		{{.how = MOVE_INSIDE, .inside = SOFT_STEP, .n = 1}, STOP_NONE, 0, false},
		{{.how = MOVE_NOWHERE}, STOP_STEP, b, false},
		{{.how = MOVE_GOTO}, STOP_BEGIN, 0, false},
		{{.how = MOVE_STEPS, .n = 1, .backwards = true}, STOP_BEGIN, 0, false},
		{{.how = MOVE_UNTIL, .seq = a}, STOP_STEP, a, false},
		{{.how = MOVE_ENTER}, STOP_KERNEL_BEGIN, a, true},
		{{.how = MOVE_INSIDE, .inside = SOFT_STEP, .n = 1}, STOP_STEP, a, true},
		{{.how = MOVE_FOCUS, .thread = {5}}, STOP_NONE, 0, false}, /* which is no stop */
		{{.how = MOVE_FOCUS, .block = {2}}, STOP_KERNEL_BEGIN, a, true},
		{{.how = MOVE_INSIDE, .inside = SOFT_RUN}, STOP_BREAKPOINT, a, true},
		{{.how = MOVE_INSIDE, .inside = SOFT_FINISH}, STOP_KERNEL_END, a, false},
		{{.how = MOVE_GOTO, .seq = a - 1}, STOP_STEP, a - 1, false},
		{{.how = MOVE_ON}, STOP_BREAKPOINT, a, true},
	};

	must(breakpoints_add(en.breaks, "ptx scale:37", false, &bp));
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct stop was = en.stop;
		struct err *e = replay_move(&en, &rows[i].move, &m);
		const bool refused = rows[i].reason == STOP_NONE;

		if (en.stop.number != was.number + !refused)
			fail_msg("row %u made %d stops: %s", i, (int)(en.stop.number - was.number),
				e ? e->what : "no error");
		err_free(e);
		if (refused) {
			assert_int_equal(en.stop.reason, was.reason);
			continue;
		}
		assert_null(e);
		if (en.stop.reason != rows[i].reason || en.stop.seq != rows[i].seq)
			fail_msg("row %u: %s at #%d, not %s at #%d", i,
				stop_reason_word(en.stop.reason), (int)en.stop.seq,
				stop_reason_word(rows[i].reason), (int)rows[i].seq);
		assert_true(en.stop.replay);
		assert_int_equal(en.stop.in_kernel, rows[i].in_kernel);
		assert_int_equal(
			m.in_launch, rows[i].in_kernel || rows[i].reason == STOP_KERNEL_END);
	}
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
	must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = false}, &m));
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
	must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = false}, &m));
	assert_false(m.in_launch);
	assert_int_equal(m.stop.why, REPLAY_END);
	must(replay_move(&en, &(struct move){.how = MOVE_ON, .backwards = true}, &m));
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
		cmocka_unit_test(each_move_is_one_stop),
		cmocka_unit_test(writers),
		cmocka_unit_test(inside_kernels),
		cmocka_unit_test(a_condition_that_never_holds),
	};

	return engine_test_begin() ? cmocka_run_group_tests(tests, make_folder, remove_folder) : 1;
}
