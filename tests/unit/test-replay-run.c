/* SPDX-License-Identifier: Apache-2.0
 *
 * Running to breakpoints, both ways: kinds, kernel globs, conditions; every match is found, in
 * order, and back again.
 */
#include "random-trace.h"
#include "replay/replay.h"

/* 1 ctx, 2 and 3 kernels at::matmul and relu, then 4.. `n` launches: matmul at every third, relu
 * otherwise; grid_x is the seq; arg0 is seq % 5. */
static struct sbt_reader *launches(uint64_t n, uint64_t keyframe_every)
{
	static const uint32_t params[] = {0, 4};
	struct trace_maker t;

	trace_begin(&t, keyframe_every);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_kernel_def(2, 0, SBT_NO_ID, "_ZN2at6matmulIfEEvPT_", params, 1));
	trace_add(&t, cmd_kernel_def(3, 1, SBT_NO_ID, "relu", params, 1));
	for (uint64_t seq = 4; seq < 4 + n; seq++) {
		struct sbt_cmd c = cmd_launch(seq, 0, seq % 3 != 0);
		uint32_t a = (uint32_t)(seq % 5);

		c.u.launch.grid_x = seq;
		c.u.launch.args = (struct sbt_blob){&a, sizeof a};
		trace_add(&t, c);
	}
	return trace_end(&t);
}

static struct replay_breakpoint when(int id, unsigned kind, const char *glob, const char *cond)
{
	struct replay_breakpoint b = {.id = id, .kind = kind, .glob = glob};
	char why[200];

	if (cond && !sbt_expr_compile(&b.cond, kind, cond, why, sizeof why))
		fail_msg("%s: %s", cond, why);
	return b;
}

#define assert_hit(p, back, bps, n, want_id, want_seq)                                             \
	do {                                                                                       \
		struct replay_stop hit_;                                                           \
		ok(replay_run(p, back, bps, n, NULL, &hit_));                                      \
		assert_int_equal(hit_.why, REPLAY_BREAKPOINT);                                     \
		assert_int_equal(hit_.breakpoint, want_id);                                        \
		assert_int_equal(hit_.seq, want_seq);                                              \
		assert_int_equal(replay_cmd(p)->seq, want_seq);                                    \
	} while (0)

static void kinds_and_globs(void **arg)
{
	struct sbt_reader *r = launches(30, 0);
	struct replay_breakpoint def = when(7, SBT_KERNEL_DEF, NULL, NULL),
				 shortly = when(1, SBT_LAUNCH, "matmul", NULL),
				 qualified = when(2, SBT_LAUNCH, "at::*", NULL),
				 mangled = when(3, 0, "_ZN2at6*", NULL),
				 nothing = when(4, SBT_LAUNCH, "mat", NULL),
				 relu = when(5, 0, "re?u", NULL);
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	assert_hit(p, false, &def, 1, 7, 2);
	assert_hit(p, false, &def, 1, 7, 3);
	assert_hit(p, false, &shortly, 1, 1, 6);
	assert_hit(p, false, &qualified, 1, 2, 9);
	assert_hit(p, false, &mangled, 1, 3, 12);
	assert_hit(p, false, &relu, 1, 5, 13);
	assert_hit(p, true, &shortly, 1, 1, 12);
	assert_hit(p, true, &qualified, 1, 2, 9);
	assert_hit(p, true, &def, 1, 7, 3);
	ok(replay_run(p, false, &nothing, 1, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	assert_int_equal(stop.seq, 33);
	ok(replay_run(p, true, &nothing, 1, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BEGIN);
	assert_int_equal(stop.seq, 0);
	replay_close(p);
	sbt_reader_close(r);
}

/* Which kernels a breakpoint matches is remembered for the first 4096: a later one is asked about
 * each time, and changes nothing that is remembered. */
static void many_kernels(void **arg)
{
	static const uint32_t params[] = {0, 4};
	struct replay_breakpoint bps[] = {when(1, SBT_LAUNCH, "late", NULL),
		when(2, SBT_LAUNCH, "nothing", NULL), when(3, SBT_LAUNCH, "last", NULL)};
	struct trace_maker t;
	struct sbt_reader *r;
	struct replay_stop stop;
	struct replay *p;

	(void)arg;
	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_kernel_def(2, 5, SBT_NO_ID, "early", params, 1));
	trace_add(&t, cmd_kernel_def(3, 4095, SBT_NO_ID, "last", params, 1));
	trace_add(&t, cmd_kernel_def(4, 4096, SBT_NO_ID, "none", params, 1));
	trace_add(&t, cmd_kernel_def(5, 4096 + 5, SBT_NO_ID, "late", params, 1));
	for (uint64_t seq = 6; seq < 18; seq++) {
		static const uint64_t kernels[] = {4101, 5, 4095, 4096};

		trace_add(&t, cmd_launch(seq, 0, kernels[(seq - 6) % 4]));
	}
	r = trace_end(&t);
	ok(replay_open(&p, r, NULL));
	for (uint64_t seq = 6; seq < 18; seq += 4) {
		assert_hit(p, false, bps, 3, 1, seq);
		assert_hit(p, false, bps, 3, 3, seq + 2);
	}
	ok(replay_run(p, false, bps, 3, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	ok(replay_goto(p, 5, &stop));
	ok(replay_run(p, false, bps + 1, 1, NULL, &stop)); /* in one run over all of them */
	assert_int_equal(stop.why, REPLAY_END);
	ok(replay_goto(p, 5, &stop));
	/* the first is asked about kernel 4101 before the second about 5 */
	struct replay_breakpoint two[] = {
		when(1, SBT_LAUNCH, "late", "grid_x == 0"), when(2, SBT_LAUNCH, "nothing", NULL)};
	ok(replay_run(p, false, two, 2, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	replay_close(p);
	sbt_reader_close(r);
}

static void conditions(void **arg)
{
	struct sbt_reader *r = launches(30, 0);
	struct replay_breakpoint bps[] = {
		when(1, SBT_LAUNCH, "matmul", "grid_x > 20 && grid_x % 2 == 0"),
		when(2, SBT_LAUNCH, NULL, "arg0 == 4 && seq > 25")};
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	assert_hit(p, false, bps, 2, 1, 24);
	assert_hit(p, false, bps, 2, 2, 29);
	assert_hit(p, false, bps, 2, 1, 30);
	assert_hit(p, true, bps, 2, 2, 29);
	assert_hit(p, true, bps, 2, 1, 24);
	replay_close(p);
	sbt_reader_close(r);
}

/* In a trace of several blocks: the hits backwards are those forwards, turned round, and the state
 * at each is the same. */
static void there_and_back(void **arg)
{
	struct sbt_reader *r = launches(20000, 3000);
	struct replay_breakpoint bp = when(1, SBT_LAUNCH, "matmul", "grid_x % 1111 == 0"),
				 rare = when(2, SBT_LAUNCH, NULL, "grid_x == 9");
	uint64_t seqs[20], hashes[20];
	struct replay_stop stop;
	struct replay *p;
	unsigned n = 0;

	ok(replay_open(&p, r, NULL));
	for (;;) {
		ok(replay_run(p, false, &bp, 1, NULL, &stop));
		if (stop.why != REPLAY_BREAKPOINT)
			break;
		seqs[n] = stop.seq;
		hashes[n++] = state_hash(replay_state(p));
	}
	assert_int_equal(n, 6); /* 3333, 6666, 9999, 13332, 16665, 19998 */
	assert_int_equal(stop.why, REPLAY_END);
	while (n--) {
		assert_hit(p, true, &bp, 1, 1, seqs[n]);
		assert_true(state_hash(replay_state(p)) == hashes[n]);
		assert_int_equal(seqs[n], 3333 * (n + 1));
	}
	ok(replay_goto(p, 20003, &stop));
	assert_hit(p, true, &rare, 1, 2, 9);
	/* the first blocks backwards are of 1,024 and 2,048: hits at their edges */
	for (unsigned i = 0; i < 6; i++) {
		static const unsigned before[] = {1023, 1024, 1025, 3071, 3072, 3073};
		char cond[64];

		snprintf(cond, sizeof cond, "grid_x == %u", 20003 - before[i]);
		rare = when(3, SBT_LAUNCH, NULL, cond);
		ok(replay_goto(p, 20003, &stop));
		assert_hit(p, true, &rare, 1, 3, 20003 - before[i]);
	}
	replay_close(p);
	sbt_reader_close(r);
}

static void interrupts(void **arg)
{
	struct sbt_reader *r = launches(3000, 0);
	struct replay_breakpoint never = when(1, SBT_FREE, NULL, NULL);
	volatile bool now = true;
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, 2000, &stop));
	ok(replay_run(p, false, &never, 1, &now, &stop));
	assert_int_equal(stop.why, REPLAY_INTERRUPTED);
	assert_int_equal(stop.seq, 2000);
	ok(replay_run(p, true, &never, 1, &now, &stop));
	assert_int_equal(stop.why, REPLAY_INTERRUPTED);
	assert_int_equal(stop.seq, 2000);
	replay_close(p);
	sbt_reader_close(r);
}

/* Runs keep retirements made before where they stop, and undo later ones. */
static void runs_and_retirements(void **arg)
{
	struct sbt_reader *r = launches(30, 0);
	struct replay_breakpoint m = when(1, SBT_LAUNCH, "matmul", NULL);
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	assert_hit(p, false, &m, 1, 1, 6);
	ok(replay_next_stream(p, 0, &stop)); /* retires #4 */
	assert_int_equal(stop.retired, 4);
	assert_hit(p, false, &m, 1, 1, 9);
	assert_stream(replay_state(p), 0, STATE_RUNNING, 5, 5);
	ok(replay_next_stream(p, 0, &stop));
	assert_hit(p, false, &m, 1, 1, 12);
	assert_stream(replay_state(p), 0, STATE_RUNNING, 6, 7);
	assert_hit(p, true, &m, 1, 1, 9);
	assert_stream(replay_state(p), 0, STATE_RUNNING, 5, 5);
	assert_hit(p, true, &m, 1, 1, 6);
	assert_stream(replay_state(p), 0, STATE_RUNNING, 4, 3);
	replay_close(p);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_and_globs),
		cmocka_unit_test(many_kernels),
		cmocka_unit_test(conditions),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(runs_and_retirements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
