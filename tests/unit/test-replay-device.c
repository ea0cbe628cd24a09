/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay on a device that is a test double (fake-replayer.c): every way to a position gives the
 * same state and the same memory; watched memory and writers are found; whatever the replayer does
 * wrong costs the replayer only.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "device-test.h"
#include "replay/device-kernel.h"
#include "replay/device-node.h"
#include "sbt/memory.h"

/* --- a process that behaves --- */

static void opens_and_closes(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_info i = device_info(d);
	pid_t pid = device_pid(d);

	assert_int_equal(i.bytes, FAKE_SIZE);
	assert_int_equal(i.unrepeatable, 1);
	assert_string_equal(i.notes, "#3 host function: not called\n");
	assert_int_equal(device_seq(d), 7);
	assert_true(alive(pid));
	device_close(d);
	assert_false(alive(pid));
	remove_trace(r);
}

/* byte 0 of A: 0 at the start; 8 * 31 = 248 by the copy; * 5 + 1 = 1241 = 217 by scale; 217 * 5 + 1
 * = 62 by kernel 0 at #11. */
static void memory_by_hand(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct replay *p = open_replay(r, d);
	struct replay_stop stop;

	assert_int_equal(byte_at(d, A), 0);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(stop.seq, 8);
	assert_int_equal(byte_at(d, A), 248);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(byte_at(d, A), 217);
	ok(replay_until(p, 14, &stop));
	assert_int_equal(stop.seq, 14);
	assert_int_equal(byte_at(d, A), 62);
	assert_int_equal(byte_at(d, A + 8), 9);
	assert_int_equal(state_hash(replay_state(p)) != 0, 1);
	ok(replay_reverse_step(p, 2, &stop));
	assert_int_equal(stop.seq, 12);
	assert_int_not_equal(byte_at(d, A + 8), 9);
	fails_with(device_read(d, 0x10, &(uint8_t){0}, 1), ERR_UNSUPPORTED,
		"not memory of the window", NULL);
	assert_int_equal(byte_at(d, A), 62);
	fails(replay_until(p, 12, &stop), ERR_USAGE);
	replay_close(p);
	remove_trace(r);
}

/* Every command is executed once on the way forwards, however it is made. */
static void nothing_twice(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "nopoints");
	struct replay *p = open_replay(r, d);
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_FILL};
	struct replayer_figures f;
	struct replay_stop stop;

	ok(replay_step(p, 2, &stop));
	ok(replay_next_stream(p, 1, &stop));
	ok(replay_run(p, false, &bp, 1, NULL, &stop));
	assert_int_equal(stop.seq, 13);
	ok(replay_finish_stream(p, 1, &stop));
	assert_int_equal(stop.retired, 12);
	ok(replay_reverse_step(p, 1, &stop)); /* undoes the retirement only */
	ok(replay_goto(p, 15, &stop));
	ok(replay_until(p, 16, &stop));
	fails(replay_finish_stream(p, 1, &stop), ERR_NOT_FOUND);
	ok(device_figures(d, &f));
	assert_int_equal(f.executed, 9);
	ok(replay_reverse_step(p, 1, &stop));
	ok(device_figures(d, &f));
	assert_int_equal(f.executed, 9 + 8);
	replay_close(p);
	remove_trace(r);
}

/* What was queued has to be waited for before a position counts as reached. */
static void going_to_what_is_queued(void **arg)
{
	struct sbt_reader *r = small(FAKE_FAULT);
	struct device *d = open_device(8, 16, NULL);
	uint64_t seq;
	uint32_t step;

	ok(device_execute(d, 10, true));
	ok(device_execute(d, 11, false)); /* nothing has noticed yet */
	fails(device_seek(d, 11), ERR_INFERIOR);
	assert_int_equal(device_culprit(d, NULL), 11);
	assert_int_equal(device_seq(d), 10);
	ok(device_seek(d, 9));
	assert_false(device_in_graph(d, &seq, &step));
	assert_int_equal(seq, 0);
	fails(device_execute(d, 9, true), ERR_STATE);
	fails(device_execute(d, 7, true), ERR_NOT_FOUND);
	fails(device_execute(d, 17, true), ERR_NOT_FOUND);
	device_close(d);
	remove_trace(r);
}

static void a_window(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(10, 13, NULL);
	struct replay *p = open_replay(r, d);
	struct state *s;
	struct replay_stop stop;

	ok(state_at(&s, r, 9));
	assert_true(state_hash(s) == state_hash(replay_state(p)));
	state_free(s);
	assert_int_equal(replay_seq(p), 0);
	assert_null(replay_cmd(p));
	fails_with(replay_goto(p, 9, &stop), ERR_NOT_FOUND, "#9", "#10 to #13");
	fails_with(replay_goto(p, 14, &stop), ERR_NOT_FOUND, "#14", "#10 to #13");
	fails_with(replay_until(p, 14, &stop), ERR_NOT_FOUND, "#14", "#10 to #13");
	ok(replay_step(p, 10, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	assert_int_equal(stop.seq, 13);
	assert_int_equal(device_seq(d), 13);
	ok(replay_reverse_step(p, 10, &stop));
	assert_int_equal(stop.why, REPLAY_BEGIN);
	assert_int_equal(device_seq(d), 9);
	ok(replay_run(p, false, NULL, 0, NULL, &stop));
	assert_int_equal(stop.seq, 13);
	ok(replay_run(p, true, NULL, 0, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BEGIN);
	ok(replay_goto(p, 11, &stop));
	assert_int_equal(replay_cmd(p)->seq, 11);
	fails_with(device_verify(d, &(struct device_verified){0}), ERR_STATE, "#13", NULL);
	replay_close(p);
	fails(replay_open(&p, r, &(struct replay_executor){.first = 98, .last = 99}),
		ERR_BAD_TRACE);
	/* numbers behind the last command may have been taken by calls that changed nothing */
	d = open_device(10, sbt_reader_last_seq(r) + 1, NULL);
	p = open_replay(r, d);
	ok(replay_goto(p, sbt_reader_last_seq(r) + 1, &stop));
	assert_int_equal(stop.seq, sbt_reader_last_seq(r));
	replay_close(p);
	remove_trace(r);
}

/* ---- what kernels print ---------------------------------------- */

static struct buf heard;

static void hear(void *arg, const char *text, size_t n)
{
	(void)arg;
	buf_add(&heard, text, n);
}

static void heard_is(const char *text)
{
	assert_string_equal(buf_cstr(&heard), text);
	heard.len = 0;
}

static struct device *open_listening(const char *temper)
{
	struct device_options o = {.replayer = fake_path,
		.trace = trace_path,
		.first = 8,
		.last = 16,
		.timeout_s = 10,
		.said = hear};
	struct device *d;

	setenv("TSDB_FAKE_REPLAYER", temper, 1);
	ok(device_open(&d, &o));
	unsetenv("TSDB_FAKE_REPLAYER");
	return d;
}

/* The launches are 9 to 12 and 14. What is executed once more to go back, or to compare, is not
 * printed again. */
static void what_kernels_print(void **arg)
{
	const struct replayer_check how = {.from = 9, .to = 16, .runs = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_listening("prints nopoints");
	struct device_checked c;
	bool hit;

	(void)arg;
	heard_is("");
	ok(device_seek(d, 10));
	heard_is("#9\n#10\n");
	ok(device_run(d, 12, 0, 0, &hit));
	heard_is("#11\n#12\n");
	ok(device_seek(d, 9)); /* from the start */
	heard_is("");
	assert_int_equal(byte_at(d, A), 217);
	heard_is("");
	ok(device_execute(d, 10, true));
	heard_is("#10\n");
	ok(device_check(d, &how, NULL, 0, &c));
	device_checked_free(&c);
	heard_is("");
	ok(device_seek(d, 16));
	device_close(d);
	heard.len = 0;
	/* more than a pipe holds: the replayer waits until it is read */
	d = open_listening("floods");
	ok(device_seek(d, 14));
	assert_int_equal(heard.len, 5 * 6000 * 50);
	device_close(d);
	buf_free(&heard);
	remove_trace(r);
}

/* --- every way to a position --- */

#define WALK 400

static struct sbt_reader *random_window(uint64_t seed, uint64_t *seqs)
{
	struct random_cmds r = {.x = seed, .seq = 1};
	struct trace_maker t;

	trace_begin(&t, 100);
	for (unsigned i = 0; i < WALK; i++) {
		trace_add(&t, random_cmd(&r));
		seqs[i] = totals_of(t.s).seq;
		if (i % 60 == 59)
			r.seq += 5;
	}
	return end_trace(&t);
}

static void move(
	struct replay *p, struct random_cmds *r, const uint64_t *seqs, unsigned first, unsigned n)
{
	struct replay_breakpoint bp = {.id = 1, .kind = 1 + (unsigned)random_below(r, 20)};
	struct replay_watchpoint w = {
		.id = 2, .addr = FAKE_BASE + random_below(r, 64) * 0x1000, .size = 64};
	struct replay_stop stop;
	struct err *e = NULL;

	switch (random_below(r, 8)) {
	case 0:
		e = replay_step(p, 1 + random_below(r, 40), &stop);
		break;
	case 1:
		e = replay_reverse_step(p, 1 + random_below(r, 20), &stop);
		break;
	case 2:
		e = replay_goto(p, seqs[first + random_below(r, n)], &stop);
		break;
	case 3:
		e = replay_run(p, random_below(r, 2), &bp, 1, NULL, &stop);
		break;
	case 4:
		e = replay_until(p, seqs[first + random_below(r, n)], &stop);
		break;
	case 5:
		e = replay_watch(
			p, random_below(r, 2), &w, 1, &bp, random_below(r, 2) ? 1 : 0, NULL, &stop);
		break;
	case 6:
		e = replay_who_wrote(p, w.addr, 8, NULL, &(struct replay_writer){0});
		break;
	default:
		e = replay_reverse_step(p, 1, &stop);
		break;
	}
	if (e && e->code != ERR_NOT_FOUND && e->code != ERR_USAGE)
		fail_msg("%s", e->what);
	err_free(e);
}

static void any_walk(void **arg)
{
	static uint64_t seqs[WALK], state[WALK + 1], mem[WALK + 1];

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct sbt_reader *r = random_window(seed * 77, seqs);
		unsigned first = seed % 2 ? 0 : 130, n = WALK - first - (seed % 2 ? 0 : 40);
		struct device *d = open_device(
			seqs[first], seqs[first + n - 1], seed == 3 ? "always-back" : NULL);
		struct replay *p = open_replay(r, d);
		struct random_cmds dice = {.x = seed};
		struct replay_stop stop;

		for (unsigned i = 0; i <= n; i++) {
			state[i] = state_hash(replay_state(p));
			mem[i] = mem_hash(d);
			ok(replay_step(p, 1, &stop));
		}
		for (unsigned k = 0; k < 120; k++) {
			unsigned i = 0;

			move(p, &dice, seqs, first, n);
			while (replay_seq(p) && seqs[first + i++] != replay_seq(p))
				;
			if (state_hash(replay_state(p)) != state[i] || mem_hash(d) != mem[i])
				fail_msg("seed %d, move %u: not the same at #%d", (int)seed, k,
					(int)replay_seq(p));
			if (k % 40 == 39)
				kill_it(d);
		}
		replay_close(p);
		remove_trace(r);
	}
}

/* --- watching --- */

static void watches(void **arg)
{
	static uint64_t seqs[WALK], changed[WALK];
	struct sbt_reader *r = random_window(5, seqs);
	struct device *d = open_device(seqs[0], seqs[WALK - 1], NULL);
	struct replay *p = open_replay(r, d);
	struct replay_watchpoint w[] = {{.id = 1, .addr = A + 0x3000, .size = 0x8000},
		{.id = 2, .addr = A + 0x19000, .size = 0x9000}};
	struct replay_stop stop;
	struct sbt_hash now, was;
	unsigned n = 0;

	ok(device_hash(d, w[0].addr, w[0].size, &was));
	for (unsigned i = 0; i < WALK; i++) {
		ok(replay_step(p, 1, &stop));
		ok(device_hash(d, w[0].addr, w[0].size, &now));
		if (!sbt_hash_equal(was, now))
			changed[n++] = stop.seq;
		was = now;
	}
	assert_true(n > 5);
	for (unsigned i = n; i--;) {
		ok(replay_watch(p, true, w, 1, NULL, 0, NULL, &stop));
		assert_int_equal(stop.why, REPLAY_WATCHPOINT);
		assert_int_equal(stop.seq, changed[i]);
	}
	ok(replay_watch(p, true, w, 1, NULL, 0, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BEGIN);
	for (unsigned i = 0; i < n; i++) {
		ok(replay_watch(p, false, w, 1, NULL, 0, NULL, &stop));
		assert_int_equal(stop.why, REPLAY_WATCHPOINT);
		assert_int_equal(stop.breakpoint, 1);
		assert_int_equal(stop.seq, changed[i]);
		assert_int_equal(device_seq(d), changed[i]);
	}
	ok(replay_watch(p, false, w, 1, NULL, 0, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	assert_int_equal(stop.seq, seqs[WALK - 1]);
	/* two at a time: the nearer one, and back */
	ok(replay_goto(p, 0, &stop));
	for (uint64_t last = 0, k = 0;; k++, last = stop.seq) {
		ok(replay_watch(p, false, w, 2, NULL, 0, NULL, &stop));
		if (stop.why != REPLAY_WATCHPOINT) {
			assert_true(k > n);
			break;
		}
		assert_true(stop.seq > last);
		if (k % 5 == 4) {
			struct replay_stop back;

			ok(replay_watch(p, true, w, 2, NULL, 0, NULL, &back));
			assert_int_equal(back.seq, last);
			ok(replay_watch(p, false, w, 2, NULL, 0, NULL, &back));
			assert_int_equal(back.seq, stop.seq);
		}
	}
	replay_close(p);
	remove_trace(r);
}

static void watch_and_break(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct replay *p = open_replay(r, d);
	struct replay_watchpoint w = {.id = 7, .addr = B, .size = 4};
	struct replay_breakpoint bp = {.id = 3, .kind = SBT_FILL};
	struct replay_stop stop;

	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t want[] = {10, 12, 13};

		ok(replay_watch(p, false, &w, 1, &bp, 1, NULL, &stop));
		assert_int_equal(stop.seq, want[i]);
		assert_int_equal(stop.breakpoint, i < 2 ? 7 : 3);
	}
	ok(replay_goto(p, 16, &stop));
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t want[] = {13, 12, 10};

		ok(replay_watch(p, true, &w, 1, &bp, 1, NULL, &stop));
		assert_int_equal(stop.seq, want[i]);
	}
	replay_close(p);
	ok(replay_open(&p, r, NULL));
	fails(replay_watch(p, false, &w, 1, NULL, 0, NULL, &stop), ERR_STATE);
	replay_close(p);
	remove_trace(r);
}

static void who_wrote(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct replay *p = open_replay(r, d);
	static const struct {
		uint64_t at, addr, want;
		bool changed;
	} rows[] = {
		{16, A, 11, true},
		{16, A + 8, 13, true},
		{16, A + 15, 13, true},
		{16, A + 16, 11, true},
		{16, B + 63, 12, true},
		{12, A + 8, 11, true},
		{10, A, 9, true},
		{8, A + 63, 8, true},
		{11, B, 10, true},
		{16, A + 64, 0, false},
		{9, B, 0, false},
	};
	struct replay_writer w;
	struct replay_stop stop;

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		ok(replay_goto(p, rows[i].at, &stop));
		if (!rows[i].want) {
			fails_with(replay_who_wrote(p, rows[i].addr, 1, NULL, &w), ERR_NOT_FOUND,
				"nothing", NULL);
			continue;
		}
		ok(replay_who_wrote(p, rows[i].addr, 1, NULL, &w));
		assert_int_equal(w.seq, rows[i].want);
		assert_true(w.certain);
		assert_int_equal(w.changed, rows[i].changed);
		assert_int_equal(replay_seq(p), rows[i].at);
		assert_int_equal(device_seq(d), rows[i].at);
	}
	replay_close(p);
	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, 16, &stop));
	ok(replay_who_wrote(
		p, A + 8, 1, NULL, &w)); /* #14 was given a pointer: it might have written */
	assert_int_equal(w.seq, 14);
	assert_false(w.certain);
	ok(replay_goto(p, 13, &stop));
	ok(replay_who_wrote(p, A + 8, 1, NULL, &w));
	assert_int_equal(w.seq, 13);
	assert_true(w.certain);
	replay_close(p);
	remove_trace(r);
}

static void geometry(void **arg)
{
	struct sbt_cmd c = cmd_copy(1, 0, SBT_COPY_D2D, 1000, 0, 24, true);

	/* rows of 4 bytes at 1000, 1010, 1020; slices at 1000 and 1100 */
	c.u.copy.width = 4;
	c.u.copy.height = 3;
	c.u.copy.depth = 2;
	c.u.copy.dst_pitch = 10;
	c.u.copy.dst_slice = 100;
	assert_true(replay_writes(&c, 1000, 1));
	assert_true(replay_writes(&c, 1003, 1));
	assert_false(replay_writes(&c, 1004, 6));
	assert_true(replay_writes(&c, 1004, 7));
	assert_true(replay_writes(&c, 1023, 1));
	assert_false(replay_writes(&c, 1024, 76));
	assert_true(replay_writes(&c, 1024, 77));
	assert_true(replay_writes(&c, 1123, 50));
	assert_false(replay_writes(&c, 1124, UINT64_MAX));
	assert_false(replay_writes(&c, 999, 1));
	assert_true(replay_writes(&c, 999, UINT64_MAX));
	c.result = 1;
	assert_false(replay_writes(&c, 1000, 1));
	c = cmd_fill(1, 0, 1000, 24);
	c.u.fill.width = 3;
	c.u.fill.elem = 4;
	c.u.fill.height = 2;
	c.u.fill.dst_pitch = 20;
	assert_true(replay_writes(&c, 1011, 1));
	assert_false(replay_writes(&c, 1012, 8));
	assert_true(replay_writes(&c, 1031, 1));
	assert_false(replay_writes(&c, 1032, 1));
}

/* --- what-ifs --- */

static void what_ifs(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct replay *p = open_replay(r, d);
	const uint8_t ten = 10;
	const uint64_t b = B, skip[] = {9, 13};
	struct replay_stop stop;

	assert_false(device_what_if(d));
	ok(replay_goto(p, 8, &stop));
	ok(device_write(d, A, &ten, 1));
	assert_true(device_what_if(d));
	assert_int_equal(byte_at(d, A), 10);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(byte_at(d, A), 51); /* 10 * 5 + 1 */
	ok(replay_goto(p, 0, &stop));
	assert_int_equal(byte_at(d, A), 0);
	ok(replay_goto(p, 9, &stop));
	assert_int_equal(byte_at(d, A), 51);
	kill_it(d); /* and a new process is told again */
	assert_int_equal(byte_at(d, A), 51);
	ok(device_restart(d));
	assert_int_equal(byte_at(d, A), 51);
	/* another argument for #9: it scales B, and A stays as written */
	ok(device_set_arg(d, 9, 0, &b, 8));
	fails_with(device_set_arg(d, 9, 9, &b, 8), ERR_UNSUPPORTED, "no such parameter", NULL);
	fails_with(device_set_arg(d, 99, 0, &b, 8), ERR_NOT_FOUND, NULL, NULL);
	ok(replay_goto(p, 0, &stop));
	ok(replay_goto(p, 9, &stop));
	assert_int_equal(byte_at(d, A), 10);
	assert_int_equal(byte_at(d, B), 1); /* page 1 begins with 0x1000 * 7 = 0 */
	ok(device_skip(d, skip, 2, false));
	ok(device_forget(d));
	ok(replay_goto(p, 0, &stop));
	ok(replay_goto(p, 16, &stop));
	assert_int_equal(byte_at(d, A), 248 * 5 + 1 - 4 * 256); /* #11 only */
	assert_int_not_equal(byte_at(d, A + 8), 9);
	kill_it(d);
	assert_int_equal(byte_at(d, A), 248 * 5 + 1 - 4 * 256);
	ok(device_skip(d, NULL, 0, false));
	assert_false(device_what_if(d));
	ok(replay_goto(p, 0, &stop));
	ok(replay_goto(p, 16, &stop));
	assert_int_equal(byte_at(d, A), 62);
	replay_close(p);
	remove_trace(r);
}

/* --- what goes wrong --- */

/* By whatever way it is reached: the error names the command, the position is before it, and its
 * inputs can be read. */
static void breaks(uint64_t bad, const char *sentence)
{
	for (unsigned way = 0; way < 6; way++) {
		struct sbt_reader *r = small(bad);
		struct device *d = open_device(8, 16, NULL);
		struct replay *p = open_replay(r, d);
		struct replay_watchpoint w = {.id = 1, .addr = B + 0x800, .size = 8};
		struct replay_stop stop;
		pid_t pid = device_pid(d);
		struct err *e;

		switch (way) {
		case 0:
			e = replay_step(p, 8, &stop);
			break;
		case 1:
			e = replay_run(p, false, NULL, 0, NULL, &stop);
			break;
		case 2:
			e = replay_goto(p, 14, &stop);
			break;
		case 3:
			e = replay_until(p, 16, &stop);
			break;
		case 4:
			e = replay_watch(p, false, &w, 1, NULL, 0, NULL, &stop);
			break;
		default:
			ok(replay_step(p, 3, &stop));
			e = replay_step(p, 1, &stop);
			break;
		}
		fails_with(e, ERR_INFERIOR, sentence, "#11 bad<<<");
		assert_int_equal(replay_seq(p), 10);
		assert_false(alive(pid));
		assert_int_equal(byte_at(d, A), 217);
		assert_int_equal(byte_at(d, B), 1);
		assert_int_equal(device_seq(d), 10);
		ok(replay_reverse_step(p, 1, &stop));
		assert_int_equal(byte_at(d, B), 0);
		ok(replay_step(p, 1, &stop));
		fails(replay_step(p, 1, &stop), ERR_INFERIOR);
		assert_int_equal(replay_seq(p), 10);
		replay_close(p);
		remove_trace(r);
	}
}

static void faults(void **arg)
{
	breaks(FAKE_FAULT, "illegal address");
}

static void crashes(void **arg)
{
	breaks(FAKE_CRASH, "signal 11");
}

static void hangs(void **arg)
{
	struct sbt_reader *r = small(FAKE_HANG);
	struct device *d = open_device(8, 16, NULL);
	struct replay *p = open_replay(r, d);
	struct replay_stop stop;
	pid_t pid = device_pid(d);
	uint64_t begin = now_ms();

	fails_with(replay_step(p, 5, &stop), ERR_INFERIOR, "no answer", "from #8 on");
	assert_in_range(now_ms() - begin, 900, 18000);
	assert_false(alive(pid));
	assert_int_equal(replay_seq(p), 0);
	ok(replay_step(p, 3, &stop));
	assert_int_equal(byte_at(d, A), 217);
	fails_with(replay_step(p, 1, &stop), ERR_INFERIOR, "no answer", "#11 bad<<<");
	assert_int_equal(replay_seq(p), 10);
	replay_close(p);
	remove_trace(r);
}

static void *press(void *arg)
{
	usleep(100000);
	interrupt = true;
	return NULL;
}

static void interrupts(void **arg)
{
	struct sbt_reader *r = small(FAKE_HANG);
	struct device_options o = {.replayer = fake_path,
		.trace = trace_path,
		.first = 8,
		.last = 16,
		.timeout_s = 60,
		.interrupt = &interrupt};
	struct replay_stop stop;
	struct device *d;
	struct replay *p;
	pthread_t t;
	pid_t pid;

	unsetenv("TSDB_FAKE_REPLAYER");
	ok(device_open(&d, &o));
	p = open_replay(r, d);
	pid = device_pid(d);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(pthread_create(&t, NULL, press, NULL), 0);
	fails_with(replay_goto(p, 14, &stop), ERR_INTERRUPTED, "interrupted", NULL);
	pthread_join(t, NULL);
	interrupt = false;
	assert_false(alive(pid));
	assert_int_equal(replay_seq(p), 8);
	assert_int_equal(byte_at(d, A), 248);
	/* on the way to a breakpoint it is a stop */
	assert_int_equal(pthread_create(&t, NULL, press, NULL), 0);
	ok(replay_run(p, false, NULL, 0, &interrupt, &stop));
	pthread_join(t, NULL);
	interrupt = false;
	assert_int_equal(stop.why, REPLAY_INTERRUPTED);
	assert_int_equal(stop.seq, replay_seq(p));
	ok(replay_goto(p, 10, &stop));
	assert_int_equal(byte_at(d, A), 217);
	replay_close(p);
	remove_trace(r);
}

static void answers_garbage(void **arg)
{
	static const char *const tempers[] = {
		"bad-type", "bad-size", "bad-short", "half-reply", "hang"};

	for (unsigned i = 0; i < sizeof tempers / sizeof *tempers; i++) {
		struct sbt_reader *r = small(0);
		struct device *d = open_device(8, 16, tempers[i]);
		pid_t pid = device_pid(d);
		uint8_t v;

		fails(device_read(d, A, &v, 1), ERR_INFERIOR);
		assert_int_equal(device_pid(d), 0);
		assert_false(alive(pid));
		unsetenv("TSDB_FAKE_REPLAYER");
		assert_int_equal(byte_at(d, A), 0);
		device_close(d);
		remove_trace(r);
	}
}

/* A replayer that was taken over tries to take tsdb over: what indexes a table there, and where it
 * says that it is. */
static void tells_garbage_about_checks(void **arg)
{
	static const char *const tempers[] = {
		NULL, "odd-type", "first-odd-type", "odd-unwritten", "beyond"};
	const struct replayer_check how = {.from = 9, .to = 16, .runs = 2};

	for (unsigned i = 0; i < sizeof tempers / sizeof *tempers; i++) {
		struct sbt_reader *r = small(0);
		struct device *d = open_device(8, 16, tempers[i]);
		struct device_checked c;
		struct err *e = device_check(d, &how, NULL, 0, &c);

		unsetenv("TSDB_FAKE_REPLAYER");
		if (i) {
			fails(e, ERR_INFERIOR);
			assert_int_equal(device_pid(d), 0);
			assert_true(device_seq(d) <= 16);
		} else {
			ok(e);
			assert_int_equal(c.n, 1);
			device_checked_free(&c);
		}
		device_close(d);
		remove_trace(r);
	}
}

static void kernel_of(
	const char *temper, struct sbt_reader **r, struct device **d, const struct soft_stop **t)
{
	*r = small(0);
	*d = open_device(8, 16, temper);
	ok(device_seek(*d, 13));
	ok(device_kernel(*d, 13, t));
}

static void kernel_done(struct sbt_reader *r, struct device *d)
{
	unsetenv("TSDB_FAKE_REPLAYER");
	assert_null(device_kernel_stop(d));
	ok(device_seek(d, 16));
	assert_int_equal(device_seq(d), 16);
	device_close(d);
	remove_trace(r);
}

/* Whatever it says about a launch: strings end, sizes fit, and a process that is wrong is ended. */
static void tells_garbage_about_launches(void **arg)
{
	const struct soft_ask q = {.what = SOFT_ASK_LINES, .size = 1};
	const struct soft_stop *t;
	struct soft_point p = {.id = 1};
	struct sbt_reader *r;
	struct device *d;
	void *rows;
	size_t n;
	uint8_t before, v;

	kernel_of(NULL, &r, &d, &t);
	assert_ptr_equal(t, device_kernel_stop(d));
	assert_int_equal(strlen(t->kernel), SOFT_NAME - 1);
	assert_int_equal(strlen(t->text), SOFT_TEXT - 1);
	assert_int_equal(strlen(t->change.file), SOFT_FILE - 1);
	assert_int_equal(t->change.size, SOFT_BYTES);
	ok(device_read(d, A, &before, 1)); /* does not leave it */
	assert_non_null(device_kernel_stop(d));
	fails(device_write(d, A, &before, 1), ERR_STATE);
	ok(device_kernel_ask(d, &q, sizeof(struct soft_line), &rows, &n));
	assert_int_equal(n, 1);
	assert_int_equal(strlen(((struct soft_line *)rows)->text), SOFT_TEXT - 1);
	free(rows);
	ok(device_kernel_go(d, SOFT_FINISH, 0, &t));
	assert_int_equal(t->state, SOFT_ENDED);
	assert_int_equal(device_seq(d), 13);
	ok(device_seek(d, 14));
	kernel_done(r, d);
	kernel_of(NULL, &r, &d, &t);
	fails(device_kernel_points(d, &p, 1), ERR_INFERIOR);
	kernel_done(r, d);
	kernel_of("odd", &r, &d, &t);
	fails(device_kernel_ask(d, &q, sizeof(struct soft_line), &rows, &n), ERR_INFERIOR);
	assert_int_equal(device_pid(d), 0);
	fails(device_kernel_go(d, SOFT_STEP, 1, &t), ERR_STATE);
	kernel_done(r, d);
	kernel_of("die-go", &r, &d, &t);
	fails(device_kernel_go(d, SOFT_STEP, 1, &t), ERR_INFERIOR);
	kernel_done(r, d);
	kernel_of("busy", &r, &d, &t);
	interrupt = true;
	ok(device_kernel_go(d, SOFT_STEP, 1, &t));
	interrupt = false;
	assert_int_equal(t->state, SOFT_BUSY);
	ok(device_read(d, A, &v, 1));
	assert_int_equal(device_seq(d), 13); /* where it was before */
	ok(device_seek(d, 12));
	kernel_done(r, d);
	r = small(0);
	d = open_device(8, 16, "short-stop");
	fails(device_kernel(d, 13, &t), ERR_INFERIOR);
	kernel_done(r, d);
}

static void within_a_launch(void **arg)
{
	static const uint32_t block[3] = {1, 2, 3}, thread[3] = {4, 5, 6};
	const struct soft_stop *t;
	struct sbt_reader *r;
	struct device *d;

	(void)arg;
	kernel_of("slices", &r, &d, &t);
	ok(device_kernel_focus(d, block, thread, &t));
	assert_ptr_equal(t, device_kernel_stop(d));
	assert_memory_equal(t->block, block, sizeof block);
	assert_memory_equal(t->thread, thread, sizeof thread);
	assert_string_equal(t->text, " [31m a \xc3\xa9 "); /* for a terminal */
	assert_int_equal(device_seq(d), 13);
	ok(device_kernel_go(d, SOFT_STEP, 1, &t)); /* until it is done, in slices */
	assert_int_equal(t->state, SOFT_ENDED);
	assert_int_equal(device_seq(d), 13);
	ok(device_seek(d, 14));
	kernel_done(r, d);
	/* none is there */
	r = small(0);
	d = open_device(8, 16, NULL);
	ok(device_seek(d, 13));
	assert_null(device_kernel_stop(d));
	fails(device_kernel_focus(d, block, thread, &t), ERR_STATE);
	assert_null(t);
	fails(device_kernel_go(d, SOFT_STEP, 1, &t), ERR_STATE);
	fails(device_kernel_points(d, NULL, 0), ERR_STATE);
	kernel_done(r, d);
}

struct sets {
	uint64_t seqs[16];
	unsigned n;
	bool by_base;
	struct err *stop;
};

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct sets *x = arg;
	const struct soft_access_set *s = &a->set;

	assert_true(x->n < 16);
	x->seqs[x->n++] = a->seq;
	assert_int_equal(a->base, x->by_base ? 3 : SOFT_NO_BASE);
	assert_int_equal(a->cut, a->seq == 9);
	assert_int_equal(s->inexact, a->seq & 1);
	assert_int_equal(s->depends, SOFT_WAITS);
	assert_int_equal(s->n[SOFT_ACCESS_READ], 1);
	assert_int_equal(s->n[SOFT_ACCESS_WRITTEN], 2);
	assert_int_equal(s->n[SOFT_ACCESS_ATOMIC], 0);
	assert_int_equal(s->span[SOFT_ACCESS_READ][0].addr, 16 * a->seq);
	assert_int_equal(s->span[SOFT_ACCESS_READ][0].size, 8);
	assert_int_equal(s->span[SOFT_ACCESS_WRITTEN][0].addr, 32 * a->seq);
	assert_int_equal(s->span[SOFT_ACCESS_WRITTEN][1].addr, 32 * a->seq + 4);
	assert_int_equal(s->span[SOFT_ACCESS_WRITTEN][1].size, 2);
	return x->stop;
}

/* Sets come in pieces, for each command once and in order. */
static void access_sets(void **arg)
{
	static const char *const lies[] = {"sets-stuck", "sets-more", "sets-long"};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct sets x = {.n = 0};

	(void)arg;
	ok(device_access_sets(d, 9, 15, 0, take_set, &x));
	assert_int_equal(x.n, 7);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(x.seqs[i], 9 + i);
	assert_int_equal(device_seq(d), 15);
	x = (struct sets){.by_base = true};
	ok(device_sets_by_base(d, 8, 8, 0, take_set, &x)); /* the window's first */
	assert_int_equal(x.n, 1);
	assert_int_equal(device_seq(d), 8);
	x.by_base = false;
	x.stop = err_new(ERR_LIMIT, "enough");
	fails(device_access_sets(d, 16, 16, 0, take_set, &x), ERR_LIMIT);
	fails(device_access_sets(d, 7, 9, 0, take_set, &x), ERR_NOT_FOUND);
	fails(device_access_sets(d, 9, 17, 0, take_set, &x), ERR_NOT_FOUND);
	fails(device_access_sets(d, 10, 9, 0, take_set, &x), ERR_NOT_FOUND);
	interrupt = true;
	fails(device_access_sets(d, 9, 10, 0, take_set, &x), ERR_INTERRUPTED);
	interrupt = false;
	device_close(d);
	for (unsigned i = 0; i < 3; i++) {
		x = (struct sets){.n = 0};
		d = open_device(8, 16, lies[i]);
		fails(device_access_sets(d, 9, 10, 0, take_set, &x), ERR_INFERIOR);
		assert_int_equal(device_pid(d), 0);
		assert_true(x.n <= 2);
		device_close(d);
	}
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

static void races_and_addressing(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct soft_addressing a;
	struct device_races x;

	(void)arg;
	ok(device_races(d, &x));
	assert_int_equal(x.n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(x.race[i].label, 1 + i);
	assert_int_equal(x.doubts, 5);
	assert_string_equal(x.doubt, "why");
	free(x.race);
	ok(device_addressing(d, 77, &a));
	assert_true(a.known);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.source[0].offset, 77);
	device_close(d);
	d = open_device(8, 16, "races-more"); /* than it sends */
	fails(device_races(d, &x), ERR_INFERIOR);
	assert_null(x.race);
	assert_int_equal(x.n, 0);
	device_close(d);
	d = open_device(8, 16, "odd");
	ok(device_addressing(d, 1, &a));
	assert_int_equal(a.n, SOFT_SOURCES); /* of its table */
	device_close(d);
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* What fails to open leaves neither a process nor a descriptor. */
static void does_not_open(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device_options o = {.replayer = "/nonexistent/tsdb-replayer",
		.trace = trace_path,
		.first = 8,
		.last = 16};
	char mark[] = "/tmp/tsdb-test-XXXXXX";
	struct device *d;
	int fd = mkstemp(mark);

	close(fd);
	unlink(mark);
	const unsigned files = open_files();

	fails_with(device_open(&d, &o), ERR_SYSTEM, "/nonexistent/tsdb-replayer", NULL);
	assert_null(d);
	assert_no_child();
	assert_int_equal(open_files(), files);
	fails_with(try_open(&d, 8, 16, "die-open"), ERR_INFERIOR, "exit status 3", NULL);
	assert_no_child();
	fails_with(try_open(&d, 8, 16, "silent-open"), ERR_INFERIOR, "no answer", NULL);
	assert_no_child();
	fails_with(try_open(&d, 8, 16, "no-room"), ERR_LIMIT, "8 GiB", NULL);
	assert_no_child();
	assert_int_equal(open_files(), files);
	fails_with(try_open(&d, 0, 0, NULL), ERR_INCOMPLETE, "window", NULL);
	setenv("TSDB_FAKE_MARK", mark, 1);
	ok(try_open(&d, 8, 16, "place-once"));
	device_close(d);
	unlink(mark);
	remove_trace(r);
}

/* --- judging --- */

static void verifies(void **arg)
{
	struct trace_maker t;
	struct sbt_memory m = {.seq = 8,
		.role = SBT_MEMORY_END,
		.owner = SBT_MEMORY_ALLOCATION,
		.addr = A,
		.size = 64,
		.module = SBT_NO_ID};
	struct device_verified v;
	struct buf b = BUF_INIT;
	uint8_t want[64];
	struct sbt_reader *r;
	struct device *d;
	uint32_t id;

	begin_small(&t, 0);
	trace_add(&t, cmd_copy(8, 0, SBT_COPY_H2D, A, 0x7000000, 64, true));
	for (unsigned i = 0; i < 64; i++)
		want[i] = (uint8_t)(8 * 31 + i);
	m.hash = sbt_range_hash(want, 64);
	ok(sbt_writer_memory(t.w, &m, &id));
	m.addr = B;
	ok(sbt_writer_memory(t.w, &m, &id));
	r = end_trace(&t);
	d = open_device(8, 8, NULL);
	ok(device_execute(d, 8, false));
	ok(device_verify(d, &v));
	assert_int_equal(v.npieces, 2);
	assert_false(device_verified_ok(&v));
	device_verified_print(&b, &v);
	assert_string_equal(
		buf_cstr(&b), "1 of 2 allocations identical\n  0x101000, 64 bytes, differs");
	buf_free(&b);
	device_verified_free(&v);
	device_close(d);
	remove_trace(r);
}

/* What a verification says: every sentence, and which make it a good one. */
static void what_was_verified(void **arg)
{
	struct replayer_piece pieces[] = {
		{.addr = A, .size = 64, .same = 1, .checked = REPLAYER_CHECKED, .first_page = 0},
		{.addr = B, .size = 100, .checked = REPLAYER_CHECKED, .first_page = 3},
		{.addr = B, .size = 200, .checked = REPLAYER_UNCHECKED},
		{.addr = B, .size = 300, .checked = REPLAYER_OWN},
		{.addr = B, .size = 400, .checked = REPLAYER_CHECKED, .first_page = UINT64_MAX}};
	static const struct {
		struct replayer_verified sums;
		bool ok;
		const char *text;
	} rows[] = {{{.pieces = 3, .same = 3}, true, "3 of 3 allocations identical"},
		{{.pieces = 3, .same = 2}, false, "2 of 3 allocations identical"},
		{{.pieces = 3, .same = 2, .unchecked = 1}, true,
			"2 of 3 allocations identical (1 not compared)"},
		{{.pieces = 3, .same = 1, .unchecked = 1, .own = 1}, true,
			"1 of 3 allocations identical (1 not compared) (1 changed by the program itself, copies to it compared)"},
		{{.pieces = 1, .same = 1, .outputs = 4, .outputs_same = 4}, true,
			"1 of 1 allocations identical, 4 of 4 outputs identical"},
		{{.pieces = 1, .same = 1, .outputs = 4, .outputs_same = 3, .first_output = 9},
			false,
			"1 of 1 allocations identical, 3 of 4 outputs identical\n  #9 is the first output that differs"},
		{{.pieces = 1,
			 .same = 1,
			 .outputs = 4,
			 .outputs_same = 3,
			 .outputs_unknown = 1,
			 .first_unknown = 7},
			true,
			"1 of 1 allocations identical, 3 of 4 outputs identical (1 not compared: the recording could not look in time at what #7 delivered)"},
		{{.pieces = 1,
			 .same = 1,
			 .outputs = 4,
			 .outputs_same = 2,
			 .outputs_unknown = 2,
			 .first_unknown = 7,
			 .forced = 11},
			true,
			"1 of 1 allocations identical, 2 of 4 outputs identical (2 not compared: the recording could not look in time at what #7 delivered, and others)\n"
			"  #11 waits for a value that nothing wrote in this replay: it went on when the program knew that the wait was over"},
		{{.freed = 2, .freed_same = 2}, true, "2 of 2 freed allocations identical"},
		{{.pieces = 1, .same = 1, .freed = 2, .freed_same = 2}, true,
			"1 of 1 allocations identical\n2 of 2 freed allocations identical"},
		{{.outputs = 1, .outputs_same = 1, .freed = 1, .freed_same = 1}, true,
			"0 of 0 allocations identical, 1 of 1 outputs identical\n1 of 1 freed allocations identical"},
		{{.freed = 2,
			 .freed_same = 1,
			 .first_freed = 9,
			 .freed_addr = 0x100,
			 .freed_size = 8},
			false,
			"1 of 2 freed allocations identical\n  #9 frees the first that differs: 0x100, 8 bytes"},
		{{.freed = 11,
			 .freed_same = 1,
			 .freed_own = 1,
			 .freed_mixed = 2,
			 .freed_heap = 3,
			 .freed_unknown = 4},
			true,
			"1 of 11 freed allocations identical (1 changed by the program itself) (2 not compared: both the program and kernels write there) (3 not compared: kernels use the device's own heap, whose addresses are others here) (4 not compared: the device was still at work)"},
		{{.freed = 12,
			 .freed_same = 1,
			 .freed_own = 1,
			 .freed_mixed = 2,
			 .freed_heap = 3,
			 .freed_unknown = 4},
			false,
			"1 of 12 freed allocations identical (1 changed by the program itself) (2 not compared: both the program and kernels write there) (3 not compared: kernels use the device's own heap, whose addresses are others here) (4 not compared: the device was still at work)"},
		{{0}, true, "0 of 0 allocations identical"}};
	struct buf b = BUF_INIT;

	(void)arg;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct device_verified v = {.sums = rows[i].sums};

		assert_int_equal(device_verified_ok(&v), rows[i].ok);
		buf_clear(&b);
		device_verified_print(&b, &v);
		assert_string_equal(buf_cstr(&b), rows[i].text);
	}
	const struct device_verified v = {
		.sums = {.pieces = 5, .same = 1}, .pieces = pieces, .npieces = 5};

	buf_clear(&b);
	device_verified_print(&b, &v);
	char text[200];
	snprintf(text, sizeof text,
		"1 of 5 allocations identical\n  0x101000, 100 bytes, differs from offset %u on\n"
		"  0x101000, 400 bytes, differs",
		3 * (unsigned)SBT_PAGE);
	assert_string_equal(buf_cstr(&b), text);
	buf_free(&b);
}

/* The window's ends belong to it. */
static void ends_of_the_window(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(9, 14, NULL);
	struct replay *p;
	struct replay_stop stop;
	const uint64_t b = B;

	(void)arg;
	fails(device_set_arg(d, 8, 0, &b, 8), ERR_NOT_FOUND);
	ok(device_set_arg(d, 9, 0, &b, 8));
	ok(device_set_arg(d, 14, 0, &b, 8));
	fails(device_set_arg(d, 15, 0, &b, 8), ERR_NOT_FOUND);
	ok(device_forget(d));
	ok(device_execute(d, 9, true));
	ok(device_execute(d, 14, true));
	ok(device_seek(d, 8)); /* before the first one */
	assert_int_equal(device_seq(d), 8);
	ok(device_seek(d, 14));
	fails(device_seek(d, 15), ERR_NOT_FOUND);
	device_close(d);
	d = open_device(16, 16, NULL); /* a window of one command */
	p = open_replay(r, d);
	ok(replay_step(p, 5, &stop));
	assert_int_equal(stop.seq, 16);
	replay_close(p);
	remove_trace(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_and_closes),
		cmocka_unit_test(memory_by_hand),
		cmocka_unit_test(nothing_twice),
		cmocka_unit_test(going_to_what_is_queued),
		cmocka_unit_test(a_window),
		cmocka_unit_test(what_kernels_print),
		cmocka_unit_test(any_walk),
		cmocka_unit_test(watches),
		cmocka_unit_test(watch_and_break),
		cmocka_unit_test(who_wrote),
		cmocka_unit_test(geometry),
		cmocka_unit_test(what_ifs),
		cmocka_unit_test(faults),
		cmocka_unit_test(crashes),
		cmocka_unit_test(hangs),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(answers_garbage),
		cmocka_unit_test(tells_garbage_about_launches),
		cmocka_unit_test(tells_garbage_about_checks),
		cmocka_unit_test(within_a_launch),
		cmocka_unit_test(access_sets),
		cmocka_unit_test(races_and_addressing),
		cmocka_unit_test(does_not_open),
		cmocka_unit_test(verifies),
		cmocka_unit_test(what_was_verified),
		cmocka_unit_test(ends_of_the_window),
	};

	find_fake();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
