/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves that go a long way: an executor that runs on its own, checkpoints, whole streams.
 */
#include "random-trace.h"
#include "replay/engine/replay-private.h"

/* #1 ctx, #2 and #3 streams 1 and 2, then launches to #n on stream 1 (even numbers) and 2. */
static struct sbt_reader *launches(uint64_t n)
{
	struct trace_maker t;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_stream_create(2, 1, 1));
	trace_add(&t, cmd_stream_create(3, 2, 1));
	for (uint64_t seq = 4; seq <= n; seq++)
		trace_add(&t, cmd_launch(seq, 1 + seq % 2, 0));
	return trace_end(&t);
}

/* --- an executor that runs --- */

struct runner {
	unsigned executes, runs, finishes;
	uint64_t to, sought;	    /* of the last run, and the last seek */
	uint64_t stop_at, fault_at; /* the run is interrupted, or fails, there; 0: not */
	uint64_t first_at_fault;
};

static struct err *run_execute(void *arg, const struct sbt_cmd *c, bool wait)
{
	((struct runner *)arg)->executes++;
	return NULL;
}

static struct err *run_seek(void *arg, uint64_t seq)
{
	((struct runner *)arg)->sought = seq;
	return NULL;
}

static struct err *run_read(void *arg, uint64_t addr, void *dst, size_t n)
{
	memset(dst, 0, n);
	return NULL;
}

static void run_close(void *arg)
{
}

static struct err *run_run(
	void *arg, uint64_t to, uint64_t addr, uint64_t size, uint64_t *ret_seq, bool *hit)
{
	struct runner *x = arg;

	x->runs++;
	x->to = to;
	*hit = false;
	*ret_seq = to;
	if (x->fault_at && x->fault_at <= to)
		return err_new(ERR_INFERIOR, "fault");
	if (!x->stop_at || x->stop_at > to)
		return NULL;
	*ret_seq = x->stop_at;
	return err_new(ERR_INTERRUPTED, "interrupted");
}

static struct err *run_finish(void *arg)
{
	((struct runner *)arg)->finishes++;
	return NULL;
}

static uint64_t run_culprit(void *arg, uint64_t *ret_first)
{
	const struct runner *x = arg;

	*ret_first = x->first_at_fault;
	return x->fault_at;
}

static struct replay *opened(struct sbt_reader *r, struct runner *x)
{
	const struct replay_executor ex = {.arg = x,
		.execute = run_execute,
		.seek = run_seek,
		.read = run_read,
		.close = run_close,
		.run = run_run,
		.finish = run_finish,
		.culprit = run_culprit};
	struct replay *p;

	ok(replay_open(&p, r, x ? &ex : NULL));
	return p;
}

#define assert_stop(p, stop, want_why, want_seq)                                                   \
	do {                                                                                       \
		assert_int_equal((stop).why, want_why);                                            \
		assert_int_equal((stop).seq, want_seq);                                            \
		assert_int_equal(replay_seq(p), want_seq);                                         \
		assert_int_equal(replay_cmd(p)->seq, want_seq);                                    \
		assert_int_equal(totals_of(replay_state(p)).seq, want_seq);                        \
	} while (0)

/* Many steps are one run; few are executed one by one. */
static void many_steps(void **arg)
{
	struct sbt_reader *r = launches(300);
	struct runner x = {0};
	struct replay *p = opened(r, &x);
	struct replay_stop stop;

	ok(replay_step(p, 2, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 2);
	assert_int_equal(x.runs, 0);
	assert_int_equal(x.executes, 2);
	ok(replay_step(p, 100, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 102);
	assert_int_equal(x.runs, 1);
	assert_int_equal(x.to, 102);
	assert_int_equal(x.executes, 2);
	ok(replay_step(p, 1, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 103);
	ok(replay_step(p, 500, &stop));
	assert_stop(p, stop, REPLAY_END, 300);
	assert_int_equal(x.to, 300);
	ok(replay_step(
		p, 500, &stop)); /* there is nothing to run: it waits for what was submitted */
	assert_stop(p, stop, REPLAY_END, 300);
	assert_int_equal(x.runs, 2);
	assert_int_equal(x.finishes, 1);
	replay_close(p);
	sbt_reader_close(r);
}

static void an_interrupted_run(void **arg)
{
	struct sbt_reader *r = launches(300);
	struct runner x = {.stop_at = 150};
	struct replay *p = opened(r, &x);
	struct replay_stop stop;

	ok(replay_step(p, 200, &stop));
	assert_stop(p, stop, REPLAY_INTERRUPTED, 150);
	x.stop_at = 250;
	ok(replay_until(p, 200, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 200);
	ok(replay_until(p, 280, &stop));
	assert_stop(p, stop, REPLAY_INTERRUPTED, 250);
	replay_close(p);
	sbt_reader_close(r);
}

/* The position is right before the command that failed, or the first of those that it may have
 * been. */
static void a_run_that_fails(void **arg)
{
	struct sbt_reader *r = launches(300);
	struct runner x = {.fault_at = 180, .first_at_fault = 180};
	struct replay *p = opened(r, &x);
	struct replay_stop stop;
	struct err *e = replay_step(p, 200, &stop);

	assert_non_null(e);
	assert_int_equal(e->code, ERR_INFERIOR);
	assert_non_null(strstr(e->what, "#180"));
	assert_null(strstr(e->what, "or one from"));
	err_free(e);
	assert_int_equal(replay_seq(p), 179);
	assert_int_equal(replay_cmd(p)->seq, 179);
	x.first_at_fault = 175;
	x.fault_at = 185;
	e = replay_until(p, 290, &stop);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "#185"));
	assert_non_null(strstr(e->what, "or one from #175 on"));
	err_free(e);
	assert_int_equal(replay_seq(p), 174);
	assert_int_equal(replay_cmd(p)->seq, 174);
	replay_close(p);
	sbt_reader_close(r);
}

/* ---- without one ------------------------------------------------------------------------------
 */

static void until(void **arg)
{
	struct sbt_reader *r = launches(300);
	struct replay *p = opened(r, NULL);
	struct replay_stop stop;

	ok(replay_until(p, 100, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 100);
	fails(replay_until(p, 100, &stop), ERR_USAGE);
	fails(replay_until(p, 99, &stop), ERR_USAGE);
	fails(replay_until(p, 301, &stop), ERR_NOT_FOUND);
	assert_int_equal(replay_seq(p), 100);
	ok(replay_next_stream(p, 1, &stop));
	assert_int_equal(stop.retired, 4);
	ok(replay_until(p, 101, &stop)); /* explicit retirements are kept */
	assert_stop(p, stop, REPLAY_STEPPED, 101);
	assert_int_equal(stream_of(replay_state(p), 1).head, 6);
	replay_close(p);
	sbt_reader_close(r);
}

static void whole_streams(void **arg)
{
	struct sbt_reader *r = launches(300);
	struct replay *p = opened(r, NULL);
	struct replay_stop stop;

	fails(replay_finish_stream(p, 1, &stop), ERR_NOT_FOUND); /* there is none yet */
	ok(replay_goto(p, 3, &stop));
	fails(replay_finish_stream(p, 1, &stop), ERR_NOT_FOUND); /* it has nothing to do */
	ok(replay_goto(p, 21, &stop));
	ok(replay_finish_stream(p, 1, &stop));
	assert_stop(p, stop, REPLAY_STEPPED, 21);
	assert_int_equal(stop.retired, 20);
	assert_stream(replay_state(p), 1, STATE_IDLE, 0, 0);
	assert_stream(replay_state(p), 2, STATE_RUNNING, 5, 9);
	fails(replay_finish_stream(p, 9, &stop), ERR_NOT_FOUND);
	ok(replay_reverse_step(p, 1, &stop)); /* it is one move */
	assert_stop(p, stop, REPLAY_STEPPED, 21);
	assert_stream(replay_state(p), 1, STATE_RUNNING, 4, 9);
	replay_close(p);
	sbt_reader_close(r);
}

/* ---- checkpoints --------------------------------------------------------------------------------
 */

static void checkpoints(void **arg)
{
	struct points t = {.n = 0};
	struct state *s = state_new();
	const struct point *q;

	assert_null(points_find(&t, 100, 9));
	assert_null(points_find_index(&t, 100, 9));
	apply(s, cmd_ctx_create(1, 0, 0));
	for (uint64_t seq = 10; seq <= 50; seq += 10) { /* commands 2 to 6 */
		apply(s, cmd_launch(seq, 0, 0));
		points_add(&t, s, 0);
		points_add(&t, s, 0); /* there is one like it */
		points_add(&t, s, 2);
	}
	assert_int_equal(t.n, 10);
	for (unsigned i = 1; i < t.n; i++)
		assert_true(t.p[i - 1].seq < t.p[i].seq ||
			    (t.p[i - 1].seq == t.p[i].seq && t.p[i - 1].nmarks < t.p[i].nmarks));
	assert_null(points_find(&t, 9, 2));
	q = points_find(&t, 10, 2);
	assert_int_equal(q->seq, 10);
	assert_int_equal(q->nmarks, 2);
	q = points_find(&t, 39, 1);
	assert_int_equal(q->seq, 30);
	assert_int_equal(q->nmarks, 0);
	assert_int_equal(totals_of(q->s).seq, 30);
	q = points_find_index(&t, 4, 0);
	assert_int_equal(q->seq, 30);
	assert_int_equal(q->index, 4);
	assert_null(points_find_index(&t, 1, 9));
	points_drop(&t, 40, 2);
	assert_int_equal(t.n, 8);
	points_drop(&t, 40, 1);
	assert_int_equal(t.n, 4);
	assert_int_equal(points_find(&t, 99, 9)->seq, 40);
	points_free(&t);
	assert_int_equal(t.n, 0);
	state_free(s);
}

/* However many are left, there are at most POINTS_MAX; the newest is one of them. */
static void too_many_checkpoints(void **arg)
{
	struct points t = {.n = 0};
	struct state *s = state_new();

	apply(s, cmd_ctx_create(1, 0, 0));
	for (uint64_t seq = 2; seq <= 4 * POINTS_MAX; seq++) {
		apply(s, cmd_launch(seq, 0, 0));
		points_add(&t, s, 0);
		assert_true(t.n <= POINTS_MAX);
		assert_int_equal(t.n, seq - 1 < POINTS_MAX ? seq - 1 : POINTS_MAX);
		assert_int_equal(t.p[t.n - 1].seq, seq);
		for (unsigned i = 1; i < t.n; i++)
			assert_true(t.p[i - 1].seq < t.p[i].seq);
	}
	/* dense where the user is, thin elsewhere */
	assert_true(t.p[t.n - 1].seq - t.p[t.n - 9].seq < t.p[8].seq - t.p[0].seq);
	points_free(&t);
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_steps),
		cmocka_unit_test(an_interrupted_run),
		cmocka_unit_test(a_run_that_fails),
		cmocka_unit_test(until),
		cmocka_unit_test(whole_streams),
		cmocka_unit_test(checkpoints),
		cmocka_unit_test(too_many_checkpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
