/* SPDX-License-Identifier: Apache-2.0
 *
 * state_at() against the plain fold, on traces with and without keyframes, with holes in their
 * seqs, damaged; and states at a time.
 */
#include "random-trace.h"

#define COMMANDS 4000

static uint64_t hash_at(struct sbt_reader *r, uint64_t seq)
{
	struct state *s;
	uint64_t h;

	ok(state_at(&s, r, seq));
	h = state_hash(s);
	state_free(s);
	return h;
}

static void check_all_over(uint64_t keyframe_every, uint64_t gap)
{
	static uint64_t seq[COMMANDS + 1], hash[COMMANDS + 1];
	struct sbt_reader *r =
		trace_random(42 + keyframe_every, COMMANDS, keyframe_every, gap, seq, hash);
	struct random_cmds dice = {.x = 17};

	assert_true(hash_at(r, 0) == hash[0]);
	for (unsigned i = 0; i < 150; i++) {
		unsigned k = (unsigned)random_below(&dice, COMMANDS + 1);

		assert_true(hash_at(r, seq[k]) == hash[k]);
		if (k < COMMANDS &&
			seq[k + 1] > seq[k] + 1) /* within a hole: the command before it */
			assert_true(hash_at(r, seq[k] + 1) == hash[k]);
	}
	assert_true(hash_at(r, UINT64_MAX) == hash[COMMANDS]);
	sbt_reader_close(r);
}

static void without_keyframes(void **arg)
{
	check_all_over(0, 0);
}

static void with_keyframes(void **arg)
{
	check_all_over(128, 0);
	check_all_over(1, 0);
}

static void with_holes(void **arg)
{
	check_all_over(300, 1000);
}

/* The last one at or before the seq, not the beginning, which would do, slowly. */
static void the_nearest_keyframe(void **arg)
{
	struct random_cmds rnd = {.x = 5, .seq = 1};
	struct trace_maker t;
	struct sbt_reader *r;
	struct buf b = BUF_INIT;
	struct state *s;

	trace_begin(&t, 0);
	for (unsigned i = 1; i <= 900; i++) {
		trace_add(&t, random_cmd(&rnd));
		if (i % 300)
			continue;
		buf_clear(&b);
		state_encode(t.s, &b);
		ok(sbt_writer_keyframe(t.w, totals_of(t.s).seq, b.data, b.len));
	}
	r = trace_end(&t);
	for (uint64_t seq = 299; seq <= 901; seq++) {
		ok(state_keyframe(&s, r, seq));
		assert_int_equal(totals_of(s).seq, seq / 300 * 300);
		state_free(s);
	}
	buf_free(&b);
	sbt_reader_close(r);
}

/* The second of three keyframes is rubbish: the first one serves. */
static void bad_keyframe(void **arg)
{
	struct random_cmds rnd = {.x = 3, .seq = 1};
	struct trace_maker t;
	struct sbt_reader *r;
	struct buf b = BUF_INIT;
	struct state *s;
	uint64_t want = 0;

	trace_begin(&t, 0);
	for (unsigned i = 1; i <= 900; i++) {
		trace_add(&t, random_cmd(&rnd));
		if (i == 700)
			want = state_hash(t.s);
		if (i % 300)
			continue;
		buf_clear(&b);
		state_encode(t.s, &b);
		ok(sbt_writer_keyframe(t.w, i, b.data, i == 600 ? b.len / 2 : b.len));
	}
	r = trace_end(&t);
	assert_true(hash_at(r, 700) == want);
	for (uint64_t seq = 600; seq < 900; seq += 50) {
		ok(state_keyframe(&s, r, seq));
		assert_int_equal(totals_of(s).seq, 300);
		state_free(s);
	}
	buf_free(&b);
	sbt_reader_close(r);
}

/* A keyframe that holds a later state than its chunk says. */
static void lying_keyframe(void **arg)
{
	struct random_cmds rnd = {.x = 3, .seq = 1}, ahead = rnd;
	struct state *future = state_new();
	struct trace_maker t;
	struct sbt_reader *r;
	struct buf b = BUF_INIT;
	uint64_t want = 0;

	for (unsigned i = 1; i <= 450; i++)
		apply(future, random_cmd(&ahead));
	state_encode(future, &b);
	state_free(future);
	trace_begin(&t, 0);
	for (unsigned i = 1; i <= 500; i++) {
		trace_add(&t, random_cmd(&rnd));
		if (i == 300)
			ok(sbt_writer_keyframe(t.w, i, b.data, b.len));
		if (i == 400)
			want = state_hash(t.s);
	}
	r = trace_end(&t);
	assert_true(hash_at(r, 400) == want);
	buf_free(&b);
	sbt_reader_close(r);
}

/* cmds.h enters command seq at 1 s + seq us. */
#define US(n) (UINT64_C(1000000000) + (n)*1000)

static void at_a_time(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	struct state *s;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_stream_create(2, 1, 1));
	trace_add(&t, cmd_launch(3, 1, 0));
	trace_add(&t, cmd_launch(4, 1, 0));
	trace_add(&t, cmd_launch(5, 0, 0));
	ok(sbt_writer_time(t.w, 3, US(10), US(20)));
	ok(sbt_writer_time(t.w, 4, US(20) + 5, US(30)));
	ok(sbt_writer_time(t.w, 5, US(12), US(50)));
	r = trace_end(&t);

	ok(state_at_time(&s, r, US(0)));
	assert_int_equal(totals_of(s).seq, 0);
	state_free(s);
	ok(state_at_time(&s, r, US(4)));
	assert_int_equal(totals_of(s).seq, 4);
	assert_stream(s, 1, STATE_PENDING, 3, 2);
	state_free(s);
	ok(state_at_time(&s, r, US(11)));
	assert_stream(s, 1, STATE_RUNNING, 3, 2);
	assert_stream(s, 0, STATE_PENDING, 5, 1);
	state_free(s);
	ok(state_at_time(&s, r, US(20)));
	assert_stream(s, 1, STATE_PENDING, 4, 1);
	assert_stream(s, 0, STATE_RUNNING, 5, 1);
	state_free(s);
	ok(state_at_time(&s, r, US(40)));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_stream(s, 0, STATE_RUNNING, 5, 1);
	state_free(s);
	ok(state_at_time(&s, r, US(1000)));
	assert_int_equal(totals_of(s).pending, 0);
	state_free(s);
	sbt_reader_close(r);
}

static void without_times(void **arg)
{
	struct sbt_meta meta = trace_meta;
	struct trace_maker t;
	struct sbt_reader *r;
	struct state *s;

	trace_begin(&t, 0);
	ok(sbt_writer_close(t.w));
	meta.timestamps = false;
	ok(sbt_writer_open(&t.w, t.path, &meta));
	r = trace_end(&t);
	fails(state_at_time(&s, r, US(1)), ERR_INCOMPLETE);
	ok(state_at(&s, r, 5)); /* an empty trace has an empty state */
	assert_int_equal(totals_of(s).commands, 0);
	state_free(s);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_keyframes),
		cmocka_unit_test(with_keyframes),
		cmocka_unit_test(with_holes),
		cmocka_unit_test(the_nearest_keyframe),
		cmocka_unit_test(bad_keyframe),
		cmocka_unit_test(lying_keyframe),
		cmocka_unit_test(at_a_time),
		cmocka_unit_test(without_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
