/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves: any walk ends in the state that going there directly gives. One stream alone. The
 * executor's door, with an executor that writes down what it is asked.
 */
#include "random-trace.h"
#include "replay/replay.h"

#define COMMANDS 3000

static struct replay *opened(struct sbt_reader *r)
{
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	return p;
}

#define assert_stop(stop, want_why, want_seq)                                                      \
	do {                                                                                       \
		assert_int_equal((stop).why, want_why);                                            \
		assert_int_equal((stop).seq, want_seq);                                            \
	} while (0)

static void steps(void **arg)
{
	struct sbt_reader *r = trace_random(5, 10, 0, 0, NULL, NULL);
	struct replay *p = opened(r);
	struct replay_stop stop;

	assert_int_equal(replay_seq(p), 0);
	assert_null(replay_cmd(p));
	ok(replay_reverse_step(p, 1, &stop));
	assert_stop(stop, REPLAY_BEGIN, 0);
	ok(replay_step(p, 1, &stop));
	assert_stop(stop, REPLAY_STEPPED, 1);
	assert_int_equal(replay_cmd(p)->seq, 1);
	ok(replay_step(p, 4, &stop));
	assert_stop(stop, REPLAY_STEPPED, 5);
	ok(replay_step(p, 100, &stop));
	assert_stop(stop, REPLAY_END, 10);
	assert_int_equal(replay_cmd(p)->seq, 10);
	ok(replay_step(p, 1, &stop));
	assert_stop(stop, REPLAY_END, 10);
	assert_int_equal(replay_cmd(p)->seq, 10);
	ok(replay_reverse_step(p, 1, &stop));
	assert_stop(stop, REPLAY_STEPPED, 9);
	assert_int_equal(replay_cmd(p)->seq, 9);
	ok(replay_reverse_step(p, 3, &stop));
	assert_stop(stop, REPLAY_STEPPED, 6);
	ok(replay_reverse_step(p, 100, &stop));
	assert_stop(stop, REPLAY_BEGIN, 0);
	assert_null(replay_cmd(p));
	assert_int_equal(totals_of(replay_state(p)).commands, 0);
	replay_close(p);
	sbt_reader_close(r);
}

static void goto_seq(void **arg)
{
	struct sbt_reader *r =
		trace_random(5, 100, 0, 1000, NULL, NULL); /* 1 to 50, 1051 to 1100 */
	struct replay *p = opened(r);
	struct replay_stop stop;
	struct err *e;

	ok(replay_goto(p, 1060, &stop));
	assert_stop(stop, REPLAY_STEPPED, 1060);
	e = replay_goto(p, 60, &stop);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	assert_non_null(strstr(e->what, "#60"));
	assert_non_null(strstr(e->what, "#1 to #1100"));
	err_free(e);
	assert_int_equal(replay_seq(p), 1060); /* it stayed, and goes on from there */
	assert_int_equal(replay_cmd(p)->seq, 1060);
	ok(replay_step(p, 1, &stop));
	assert_stop(stop, REPLAY_STEPPED, 1061);
	fails(replay_goto(p, 5000, &stop), ERR_NOT_FOUND);
	ok(replay_goto(p, 1051, &stop));
	ok(replay_reverse_step(p, 1, &stop)); /* across the hole */
	assert_stop(stop, REPLAY_STEPPED, 50);
	ok(replay_goto(p, 0, &stop));
	assert_stop(stop, REPLAY_BEGIN, 0);
	replay_close(p);
	sbt_reader_close(r);
}

static void empty_trace(void **arg)
{
	struct sbt_reader *r = trace_random(5, 0, 0, 0, NULL, NULL);
	struct replay *p = opened(r);
	struct replay_stop stop;

	ok(replay_step(p, 1, &stop));
	assert_stop(stop, REPLAY_END, 0);
	ok(replay_run(p, true, NULL, 0, NULL, &stop));
	assert_stop(stop, REPLAY_BEGIN, 0);
	ok(replay_run(p, false, NULL, 0, NULL, &stop));
	assert_stop(stop, REPLAY_END, 0);
	fails(replay_goto(p, 1, &stop), ERR_NOT_FOUND);
	fails(replay_next_stream(p, 1, &stop), ERR_NOT_FOUND);
	replay_close(p);
	sbt_reader_close(r);
}

/* Without explicit retirements the state is that of the plain fold, whatever the way. */
static void any_walk(void **arg)
{
	static uint64_t seq[COMMANDS + 1], hash[COMMANDS + 1];
	static const uint64_t every[] = {0, 200, 1000}, gap[] = {0, 500, 0};

	for (unsigned t = 0; t < 3; t++) {
		struct sbt_reader *r = trace_random(11 + t, COMMANDS, every[t], gap[t], seq, hash);
		struct random_cmds dice = {.x = 23 + t};
		struct replay *p = opened(r);
		struct replay_stop stop;
		uint64_t at = 0;

		for (unsigned i = 0; i < 400; i++) {
			uint64_t n = 1 + random_below(&dice, random_below(&dice, 5) ? 9 : 700);

			switch (random_below(&dice, 3)) {
			case 0:
				ok(replay_step(p, n, &stop));
				at = at + n > COMMANDS ? COMMANDS : at + n;
				break;
			case 1:
				ok(replay_reverse_step(p, n, &stop));
				at = at < n ? 0 : at - n;
				break;
			default:
				if (i % 4)
					continue;
				at = random_below(&dice, COMMANDS + 1);
				ok(replay_goto(p, seq[at], &stop));
			}
			assert_int_equal(replay_seq(p), seq[at]);
			assert_int_equal(stop.seq, seq[at]);
			if (at)
				assert_int_equal(replay_cmd(p)->seq, seq[at]);
			else
				assert_null(replay_cmd(p));
			assert_true(state_hash(replay_state(p)) == hash[at]);
		}
		replay_close(p);
		sbt_reader_close(r);
	}
}

/* One byte of the file inverted. */
static void spoil(const char *path, uint64_t where)
{
	FILE *f = fopen(path, "r+b");
	int was;

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)where, SEEK_SET), 0);
	was = fgetc(f);
	assert_int_equal(fseek(f, (long)where, SEEK_SET), 0);
	fputc(was ^ 0xff, f);
	fclose(f);
}

/* Whether the state at seq, reached in whatever way, is what state_at() says. */
static void assert_as_state_at(struct sbt_reader *r, const struct replay *p)
{
	struct state *s;

	ok(state_at(&s, r, replay_seq(p)));
	assert_true(state_hash(s) == state_hash(replay_state(p)));
	state_free(s);
}

/* Commands are lost in the middle: stepping across the hole, on from there and back again agrees
 * with seeking. */
static void damaged(void **arg)
{
	unsigned holes = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct random_cmds rnd = {.x = seed * 613, .seq = 1}, dice = {.x = seed};
		struct trace_maker t;
		struct sbt_reader *r;
		struct replay_stop stop;
		struct replay *p;

		trace_begin(&t, 200);
		for (unsigned i = 1; i <= 1500; i++) {
			trace_add(&t, random_cmd(&rnd));
			if (i % 60 == 0)
				ok(sbt_writer_flush(t.w));
		}
		ok(sbt_writer_close(t.w));
		state_free(t.s);
		ok(sbt_reader_open(&r, t.path));
		spoil(t.path, sbt_reader_size(r) / 8 + random_below(&dice, sbt_reader_size(r) / 2));
		sbt_reader_close(r);
		ok(sbt_reader_open(&r, t.path));
		unlink(t.path);
		p = opened(r);
		do {
			uint64_t before = replay_seq(p);

			ok(replay_step(p, 1, &stop));
			holes += stop.seq > before + 1;
			if (stop.seq > before + 1 || stop.seq % 40 == 0)
				assert_as_state_at(r, p);
		} while (stop.why != REPLAY_END);
		for (unsigned i = 0; i < 40; i++) {
			ok(replay_reverse_step(p, 1 + random_below(&dice, 60), &stop));
			assert_as_state_at(r, p);
		}
		replay_close(p);
		sbt_reader_close(r);
	}
	assert_true(holes >= 4); /* the others hit keyframes or headers */
}

/* With explicit retirements: what is done is written down, what is undone is crossed out again, and
 * now and then the list is played to a fresh engine, which must agree. */
struct history {
	unsigned n;
	uint32_t move[COMMANDS *
		      2]; /* SBT_NO_ID: one step; else the stream whose head was retired */
};

static uint64_t played(struct sbt_reader *r, const struct history *h)
{
	struct replay *p = opened(r);
	struct replay_stop stop;
	uint64_t hash;

	for (unsigned i = 0; i < h->n; i++)
		if (h->move[i] == SBT_NO_ID)
			ok(replay_step(p, 1, &stop));
		else
			ok(replay_next_stream(p, h->move[i], &stop));
	hash = state_hash(replay_state(p));
	replay_close(p);
	return hash;
}

static void try_next_stream(struct replay *p, struct history *h, uint32_t stream)
{
	struct state_stream st;
	struct replay_stop stop;

	if (!state_stream_by_id(replay_state(p), stream, &st) || st.status != STATE_RUNNING)
		return;
	ok(replay_next_stream(p, stream, &stop));
	assert_int_equal(stop.retired, st.head);
	h->move[h->n++] = stream;
}

static void any_walk_with_retirements(void **arg)
{
	static struct history h;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct sbt_reader *r =
			trace_random(seed * 31, COMMANDS, seed % 2 ? 100 : 0, 0, NULL, NULL);
		struct random_cmds dice = {.x = seed * 1009};
		struct replay *p = opened(r);
		struct replay_stop stop;

		h.n = 0;
		for (unsigned i = 0; i < 600; i++) {
			uint64_t n = 1 + random_below(&dice, random_below(&dice, 9) ? 5 : 700);

			if (replay_seq(p) + 800 > COMMANDS || i % 40 == 39) {
				n = random_below(&dice, COMMANDS - 800);
				ok(replay_goto(p, n, &stop)); /* forgets the retirements */
				for (h.n = 0; h.n < n; h.n++)
					h.move[h.n] = SBT_NO_ID;
				continue;
			}
			switch (random_below(&dice, 5)) {
			case 0:
			case 1:
				for (uint64_t k = 0; k < n; k++)
					h.move[h.n++] = SBT_NO_ID;
				ok(replay_step(p, n, &stop));
				assert_int_equal(stop.why, REPLAY_STEPPED);
				break;
			case 2:
				ok(replay_reverse_step(p, n, &stop));
				h.n -= h.n < n ? h.n : (unsigned)n;
				break;
			default:
				try_next_stream(p, &h, (uint32_t)random_below(&dice, 6));
			}
			if (i % 8 == 0)
				assert_true(state_hash(replay_state(p)) == played(r, &h));
		}
		assert_true(state_hash(replay_state(p)) == played(r, &h));
		replay_close(p);
		sbt_reader_close(r);
	}
}

/* 1-4 set up, 5 and 6 work on stream 1 with a record, 7 and 8 on stream 2, which waits for it, 9 a
 * synchronous copy on stream 2, 10 a launch on stream 1. */
static struct sbt_reader *two_streams(void)
{
	struct trace_maker t;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_stream_create(2, 1, 1));
	trace_add(&t, cmd_stream_create(3, 2, 1));
	trace_add(&t, cmd_event_create(4, 7));
	trace_add(&t, cmd_launch(5, 1, 0));
	trace_add(&t, cmd_event_record(6, 1, 7));
	trace_add(&t, cmd_stream_wait(7, 2, 7));
	trace_add(&t, cmd_launch(8, 2, 0));
	trace_add(&t, cmd_copy(9, 2, SBT_COPY_D2H, 0x10, 0x1000, 64, false));
	trace_add(&t, cmd_launch(10, 1, 0));
	return trace_end(&t);
}

static void one_stream(void **arg)
{
	struct sbt_reader *r = two_streams();
	struct replay *p = opened(r);
	struct replay_stop stop;
	struct err *e;

	ok(replay_next_stream(
		p, 1, &stop)); /* submits up to the first work of stream 1, and retires that */
	assert_stop(stop, REPLAY_STEPPED, 5);
	assert_int_equal(stop.retired, 5);
	assert_stream(replay_state(p), 1, STATE_IDLE, 0, 0);
	e = replay_next_stream(p, 2, &stop);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_STATE);
	assert_string_equal(
		e->what, "stream 2 waits at #7 for event 7, recorded by #6 on stream 1");
	err_free(e);
	assert_int_equal(replay_seq(p), 5); /* as if it had not been tried */
	assert_stream(replay_state(p), 1, STATE_IDLE, 0, 0);
	ok(replay_next_stream(p, 1, &stop));
	assert_stop(stop, REPLAY_STEPPED, 6);
	assert_int_equal(stop.retired, 6);
	assert_true(event_of(replay_state(p), 7).complete);
	ok(replay_next_stream(p, 2, &stop));
	assert_stop(stop, REPLAY_STEPPED, 7);
	ok(replay_next_stream(p, 2, &stop));
	assert_stop(stop, REPLAY_STEPPED, 8);
	ok(replay_next_stream(p, 2, &stop));
	assert_stop(stop, REPLAY_STEPPED, 9); /* finished as soon as it was submitted */
	assert_int_equal(stop.retired, 9);
	e = replay_next_stream(p, 2, &stop);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	assert_int_equal(replay_seq(p), 9);
	/* back again, move by move */
	ok(replay_reverse_step(p, 1, &stop)); /* #9 */
	assert_stop(stop, REPLAY_STEPPED, 8);
	assert_stream(replay_state(p), 2, STATE_IDLE, 0, 0);
	ok(replay_reverse_step(p, 1, &stop)); /* the retirement of #8 */
	assert_stop(stop, REPLAY_STEPPED, 8);
	assert_stream(replay_state(p), 2, STATE_RUNNING, 8, 1);
	ok(replay_reverse_step(p, 4, &stop)); /* #8, retirement of #7, #7, retirement of #6 */
	assert_stop(stop, REPLAY_STEPPED, 6);
	assert_stream(replay_state(p), 1, STATE_RUNNING, 6, 1);
	ok(replay_goto(p, 6, &stop)); /* forgets that of #5 too */
	assert_stream(replay_state(p), 1, STATE_RUNNING, 5, 2);
	replay_close(p);
	sbt_reader_close(r);
}

/* Retirements that were undone leave no trace in the checkpoints that later moves start from. */
static void undone_retirements(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	struct replay_stop stop;
	struct replay *p;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_stream_create(2, 1, 1));
	trace_add(&t, cmd_stream_create(3, 2, 1));
	for (uint64_t seq = 4; seq <= 2000; seq++)
		trace_add(&t,
			cmd_launch(seq, 1 + seq % 2, 0)); /* stream 1 has the even ones, from #4 */
	r = trace_end(&t);
	p = opened(r);
	ok(replay_goto(p, 1000, &stop));
	ok(replay_next_stream(p, 1, &stop));
	assert_int_equal(stop.retired, 4);
	ok(replay_step(p, 300, &stop));
	ok(replay_reverse_step(
		p, 100, &stop)); /* leaves a checkpoint at 1136 in which #4 is retired */
	assert_stop(stop, REPLAY_STEPPED, 1200);
	assert_int_equal(stream_of(replay_state(p), 1).head, 6);
	ok(replay_goto(p, 500, &stop));
	assert_int_equal(stream_of(replay_state(p), 1).head, 4);
	ok(replay_step(p, 700, &stop));
	ok(replay_next_stream(p, 2, &stop));
	assert_int_equal(stop.retired, 5);
	ok(replay_step(p, 10, &stop));
	ok(replay_reverse_step(p, 5, &stop));
	assert_stop(stop, REPLAY_STEPPED, 1205);
	assert_int_equal(stream_of(replay_state(p), 1).head, 4);
	assert_int_equal(stream_of(replay_state(p), 2).head, 7);
	replay_close(p);
	sbt_reader_close(r);
}

/* --- the executor --- */

struct recorder {
	char log[512];
	size_t len;
	uint64_t fail_at; /* execute fails at this seq, seek to it as well */
	bool closed;
};

static void note(struct recorder *x, const char *what, uint64_t seq, const char *more)
{
	x->len += (size_t)snprintf(x->log + x->len, sizeof x->log - x->len, "%s%llu%s ", what,
		(unsigned long long)seq, more);
}

static struct err *fake_execute(void *arg, const struct sbt_cmd *c, bool wait)
{
	struct recorder *x = arg;

	note(x, "x", c->seq, wait ? "w" : "");
	return c->seq == x->fail_at ? err_new(ERR_INFERIOR, "fault") : NULL;
}

static struct err *fake_seek(void *arg, uint64_t seq)
{
	struct recorder *x = arg;

	note(x, "s", seq, "");
	return seq == x->fail_at ? err_new(ERR_INFERIOR, "fault") : NULL;
}

static struct err *fake_read(void *arg, uint64_t addr, void *dst, size_t n)
{
	memset(dst, 0, n);
	return NULL;
}

static void fake_close(void *arg)
{
	((struct recorder *)arg)->closed = true;
}

#define assert_log(x, want)                                                                        \
	do {                                                                                       \
		assert_string_equal((x).log, want);                                                \
		(x).len = 0;                                                                       \
		(x).log[0] = 0;                                                                    \
	} while (0)

static void executor(void **arg)
{
	struct sbt_reader *r = two_streams();
	struct recorder x = {.len = 0};
	const struct replay_executor ex = {.arg = &x,
		.execute = fake_execute,
		.seek = fake_seek,
		.read = fake_read,
		.close = fake_close};
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_STREAM_WAIT};
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, r, &ex));
	ok(replay_step(p, 3, &stop));
	assert_log(x, "x1 x2 x3w ");
	ok(replay_reverse_step(p, 1, &stop));
	assert_log(x, "s2 ");
	ok(replay_next_stream(p, 1, &stop));
	assert_log(x, "x3 x4 x5 ");
	ok(replay_run(p, false, &bp, 1, NULL, &stop));
	assert_log(x, "x6 x7w ");
	ok(replay_goto(p, 9, &stop));
	assert_log(x, "s9 ");
	ok(replay_run(p, true, &bp, 1, NULL, &stop));
	assert_stop(stop, REPLAY_BREAKPOINT, 7);
	assert_log(x, "s7 ");
	/* a command that faults: the position stays before it */
	x.fail_at = 9;
	fails(replay_step(p, 3, &stop), ERR_INFERIOR);
	assert_log(x, "x8 x9 ");
	assert_int_equal(replay_seq(p), 8);
	assert_int_equal(replay_cmd(p)->seq, 8);
	assert_stream(replay_state(p), 2, STATE_WAITING, 7, 2);
	fails(replay_goto(p, 9, &stop), ERR_INFERIOR);
	assert_log(x, "s9 ");
	assert_int_equal(replay_seq(p), 8);
	x.fail_at = 0;
	ok(replay_step(p, 5, &stop));
	assert_stop(stop, REPLAY_END, 10);
	assert_log(x, "x9 x10w ");
	replay_close(p);
	assert_true(x.closed);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(goto_seq),
		cmocka_unit_test(empty_trace),
		cmocka_unit_test(any_walk),
		cmocka_unit_test(damaged),
		cmocka_unit_test(any_walk_with_retirements),
		cmocka_unit_test(one_stream),
		cmocka_unit_test(undone_retirements),
		cmocka_unit_test(executor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
