/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to the replayer at a time: what is sent, what is taken from the answer, where the
 * device is afterwards, and what a fresh process is told again. The test double's arithmetic is in
 * fake-replayer.h.
 */
#include <fcntl.h>
#include <sys/time.h>
#include "device-test.h"
#include "base/patience.h"
#include "replay/device-kernel.h"
#include "replay/device-node.h"

/* Ends the process between two calls; what follows runs in a fresh one. */
static void fresh(struct device *d)
{
	kill_it(d);
	assert_int_equal(device_pid(d), 0);
}

static struct replayer_figures figures(struct device *d)
{
	struct replayer_figures f;

	ok(device_figures(d, &f));
	return f;
}

static void done(struct sbt_reader *r, struct device *d)
{
	device_close(d);
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

/* begin_small, 8 a graph, 9 and on its nodes, then its executable 1; the window, which begins at
 * first: a copy to A, scale A, the graph launch, scale A. */
static struct sbt_reader *graph_window(unsigned nodes, uint64_t *first)
{
	struct sbt_cmd create = cmd_any(8, SBT_GRAPH_CREATE);
	uint64_t seq = 9;
	struct trace_maker t;

	begin_small(&t, 0);
	create.u.graph_create.clone_of = SBT_NO_ID;
	trace_add(&t, create);
	for (unsigned i = 0; i < nodes; i++)
		trace_add(&t, cmd_graph_node(seq++, 0, i, SBT_NODE_FILL, SBT_NO_ID, NULL, 0));
	trace_add(&t, cmd_graph_instantiate(seq++, 1, 0));
	*first = seq;
	trace_add(&t, cmd_copy(seq++, 0, SBT_COPY_H2D, A, 0x7000000, 64, true));
	add_launch(&t, seq++, 0, 0, A);
	trace_add(&t, cmd_graph_launch(seq++, 0, 1));
	add_launch(&t, seq++, 0, 0, A);
	return end_trace(&t);
}

/* --- opening --- */

static void what_it_says_about_the_window(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "told-11");
	const struct device_info i = device_info(d);

	assert_int_equal(i.first, 8);
	assert_int_equal(i.last, 16);
	assert_int_equal(i.ranges, 2);
	assert_int_equal(i.work, 5);
	assert_int_equal(i.recorded, 6);
	assert_int_equal(i.left_out, 7);
	assert_false(i.overlap);
	assert_int_equal(i.fault.told, 14);
	assert_int_equal(i.fault.first, 11);
	assert_int_equal(i.fault.last, 11);
	assert_int_equal(i.fault.code, 700);
	device_close(d);
	d = open_device(8, 16, "odd-notes");
	assert_string_equal(device_info(d).notes, " [31m a \nb\n"); /* for a terminal */
	done(r, d);
}

/* A failure is the recording's when the command that failed can have caused that one. */
static void fails_as_recorded(void **arg)
{
	static const struct {
		const char *temper;
		bool as_recorded;
	} rows[] = {{"told-11", true}, {"told-10", false}, {"told-12", false}, {NULL, false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_reader *r = small(FAKE_FAULT); /* #11 */
		struct device *d = open_device(8, 16, rows[i].temper);

		assert_false(device_failed_as_recorded(d));
		ok(device_seek(d, 10));
		fails(device_execute(d, 11, true), ERR_INFERIOR);
		assert_int_equal(device_culprit(d, NULL), 11);
		assert_int_equal(device_failed_as_recorded(d), rows[i].as_recorded);
		ok(device_write(d, B, &(uint8_t){1}, 1)); /* it goes on before that command */
		assert_int_equal(byte_at(d, B), 1);
		assert_int_equal(device_seq(d), 10);
		done(r, d);
	}
}

static struct {
	unsigned calls;
	enum device_doing doing;
	uint64_t seq;
} seen;

static void see(void *arg, const struct device_progress *p)
{
	assert_ptr_equal(arg, &seen);
	seen.calls++;
	seen.doing = p->doing;
	seen.seq = p->seq;
}

static void seen_is(enum device_doing doing, uint64_t seq)
{
	assert_in_range(seen.calls, 3, 1000);
	assert_int_equal(seen.doing, doing);
	assert_int_equal(seen.seq, seq);
	seen.calls = 0;
}

/* While a call waits: here until its time is over. */
static void what_it_does_meanwhile(void **arg)
{
	struct sbt_reader *r = small(FAKE_HANG); /* #11 */
	struct device_options o = {.replayer = fake_path,
		.trace = trace_path,
		.first = 8,
		.last = 16,
		.timeout_s = 1,
		.progress = see,
		.progress_arg = &seen};
	struct device *d;

	setenv("TSDB_FAKE_REPLAYER", "silent-open", 1);
	fails(device_open(&d, &o), ERR_INFERIOR);
	seen_is(DEVICE_OPENING, 7);
	unsetenv("TSDB_FAKE_REPLAYER");
	ok(device_open(&d, &o));
	ok(device_seek(d, 10));
	seen.calls = 0;
	fails(device_execute(d, 11, true), ERR_INFERIOR);
	seen_is(DEVICE_EXECUTING, 10);
	fails(device_seek(d, 14), ERR_INFERIOR);
	seen_is(DEVICE_GOING, 14);
	done(r, d);
}

/* The replayer reads nothing of the user's. */
static void its_standard_input(void **arg)
{
	struct sbt_reader *r = small(0);
	const int keep = dup(0);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[0], 0), 0);
	struct device *d = open_device(8, 16, "stdin");

	assert_int_equal(dup2(keep, 0), 0);
	assert_string_equal(device_info(d).notes, "/dev/null");
	close(ends[0]);
	close(ends[1]);
	close(keep);
	done(r, d);
}

/* More than a socket holds, to a process that does not read. */
static void it_does_not_listen(void **arg)
{
	static const uint8_t much[4 << 20];
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "deaf");
	const pid_t pid = device_pid(d);
	const uint64_t begin = now_ms();

	fails_with(device_write(d, A, much, sizeof much), ERR_INFERIOR, "no answer", NULL);
	assert_in_range(now_ms() - begin, 900, 20000);
	assert_false(alive(pid));
	assert_int_equal(device_pid(d), 0);
	done(r, d);
}

/* One that died between two calls says so at the next one, whichever that is, and no command is to
 * blame. */
static void died_at_rest(void **arg)
{
	for (unsigned way = 0; way < 3; way++) {
		struct sbt_reader *r = small(0);
		struct device *d = open_device(8, 16, NULL);
		siginfo_t i;

		ok(device_seek(d, 9));
		kill(device_pid(d), SIGKILL);
		assert_int_equal(waitid(P_PID, (id_t)device_pid(d), &i, WEXITED | WNOWAIT), 0);
		struct err *e = way == 0   ? device_seek(d, 12)
				: way == 1 ? device_execute(d, 10, true)
					   : device_run(d, 12, 0, 0, NULL);

		assert_non_null(e);
		assert_int_equal(e->code, ERR_INFERIOR);
		assert_non_null(strstr(e->what, "signal 9"));
		assert_string_equal(e->cure, "the next command starts it again");
		err_free(e);
		uint64_t blamed = 9;

		assert_int_equal(device_culprit(d, &blamed), 0);
		assert_int_equal(blamed, 0);
		assert_int_equal(device_seq(d), 9);
		assert_int_equal(byte_at(d, A), 217);
		done(r, d);
	}
}

static unsigned descriptors(void)
{
	unsigned n = 0;

	for (int i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

/* However it ends, and however often. */
static void no_descriptor_is_left(void **arg)
{
	static const char *const tempers[] = {NULL, "die-open", "bad-type", "half-reply"};
	struct sbt_reader *r = small(FAKE_CRASH);
	const unsigned before = descriptors();

	for (unsigned i = 0; i < 4; i++) {
		struct device *d;
		struct err *e = try_open(&d, 8, 16, tempers[i]);

		for (unsigned k = 0; !e && k < 3; k++) {
			err_free(device_read(d, A, &(uint8_t){0}, 1));
			err_free(device_execute(d, 10, true));
			err_free(device_execute(d, 11, true));
			err_free(device_seek(d, 8));
		}
		assert_int_equal(e != NULL, i == 1);
		err_free(e);
		device_close(d);
		assert_int_equal(descriptors(), before);
	}
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

/* What is there needs no seek: after opening, on the way, and step by step in a graph launch. */
static void nothing_is_sought_twice(void **arg)
{
	uint64_t first;
	struct sbt_reader *r = graph_window(3, &first);
	struct device *d = open_device(first, first + 3, NULL);
	uint32_t steps;

	(void)byte_at(d, A);
	assert_int_equal(figures(d).run_ns, 0);
	ok(device_execute(d, first, true));
	ok(device_run(d, first + 1, 0, 0, NULL));
	ok(device_seek(d, first + 1));
	assert_int_equal(figures(d).run_ns, 0);
	for (uint32_t step = 0; step <= 3; step++)
		ok(device_node(d, first + 2, step, &steps));
	(void)byte_at(d, A);
	assert_int_equal(figures(d).run_ns, 0);
	ok(device_seek(d, first));
	assert_int_equal(figures(d).run_ns, 1);
	(void)byte_at(d, A);
	assert_int_equal(figures(d).run_ns, 1);
	done(r, d);
}

/* --- waits for a value --- */

static void what_is_kept_back(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "keeps");
	uint64_t wait = 1, n = 1;

	ok(device_kept(d, 10, &wait, &n));
	assert_int_equal(wait, 9);
	assert_int_equal(n, 2);
	ok(device_kept(d, 11, &wait, NULL));
	assert_int_equal(wait, 0);
	done(r, d);
}

/* A question about the present point leaves the launch that was looked into. */
static void what_is_kept_back_leaves_a_launch(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "keeps");
	const struct soft_stop *stop;
	uint64_t wait;

	ok(device_seek(d, 12));
	ok(device_kernel(d, 13, &stop));
	assert_non_null(device_kernel_stop(d));
	assert_int_equal(device_seq(d), 12);
	ok(device_kept(d, 10, &wait, NULL));
	assert_int_equal(wait, 9);
	assert_null(device_kernel_stop(d));
	assert_int_equal(device_seq(d), 12);
	done(r, d);
}

/* What was given back is empty, so that it can be given back again. */
static void given_back_twice(void **arg)
{
	static const struct device_ordered no_order;
	static const struct device_checked no_check;
	struct device_ordered o = {.places = malloc(8), .changes = malloc(8)};
	struct device_checked c = {.rows = malloc(8), .n = 1, .reached = 7};

	o.sums.n = 1;
	o.sums.changes = 1;
	for (unsigned i = 0; i < 2; i++) {
		device_ordered_free(&o);
		assert_memory_equal(&o, &no_order, sizeof o);
		device_checked_free(&c);
		assert_memory_equal(&c, &no_check, sizeof c);
	}
}

/* Only of a hit it is said which command changed the bytes. */
static void what_came_late(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "came-late");
	bool hit;

	assert_int_equal(device_late(d), 0);
	ok(device_run(d, 16, B, 8, &hit)); /* #10 */
	assert_true(hit);
	assert_int_equal(device_seq(d), 10);
	assert_int_equal(device_late(d), 8);
	ok(device_run(d, 16, B + 0x800, 8, &hit));
	assert_false(hit);
	assert_int_equal(device_seq(d), 16);
	assert_int_equal(device_late(d), 0);
	done(r, d);
}

/* --- what it refuses --- */

static void a_run_that_goes_wrong(void **arg)
{
	static const char *const tempers[] = {"run-stuck", "run-beyond", "run-nowhere"};
	struct sbt_reader *r = small(0);

	for (unsigned i = 0; i < 3; i++) {
		struct device *d = open_device(8, 16, tempers[i]);
		bool hit = true;

		fails(device_run(d, 12, B + 0x800, i == 2 ? 8 : 0, &hit), ERR_INFERIOR);
		assert_int_equal(device_pid(d), 0);
		assert_int_equal(device_seq(d), 7);
		assert_false(hit);
		device_close(d);
	}
	struct device *d = open_device(8, 16, NULL);

	fails(device_run(d, 17, 0, 0, NULL), ERR_NOT_FOUND);
	interrupt = true;
	fails(device_run(d, 12, 0, 0, NULL), ERR_INTERRUPTED);
	interrupt = false;
	assert_int_equal(device_seq(d), 7);
	assert_int_not_equal(device_pid(d), 0);
	done(r, d);
}

static void less_than_was_to_be_read(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "short-read");
	uint8_t bytes[8];

	fails_with(device_read(d, A, bytes, 8), ERR_INFERIOR, "a read of 8 bytes with 7", NULL);
	assert_int_equal(device_pid(d), 0);
	done(r, d);
}

static void each_error_has_its_code(void **arg)
{
	static const struct {
		unsigned code;
		enum err_code want;
		bool dead;
	} rows[] = {{REPLAYER_E_OTHER, ERR_STATE, false}, {REPLAYER_E_FAULT, ERR_INFERIOR, true},
		{REPLAYER_E_PLACE, ERR_UNSUPPORTED, true}, {REPLAYER_E_MEMORY, ERR_LIMIT, false},
		{REPLAYER_E_DEVICE, ERR_UNSUPPORTED, false},
		{REPLAYER_E_TRACE, ERR_BAD_TRACE, false}, {REPLAYER_E_TIMEOUT, ERR_INFERIOR, true},
		{REPLAYER_E_REFUSED, ERR_UNSUPPORTED, false},
		{REPLAYER_E_AGAIN, ERR_UNSUPPORTED, true}, {9, ERR_STATE, false}};
	struct sbt_reader *r = small(0);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char temper[16];

		snprintf(temper, sizeof temper, "code-%u", rows[i].code);
		struct device *d = open_device(8, 16, temper);
		struct err *e = device_checkpoint(d);

		assert_non_null(e);
		assert_int_equal(e->code, rows[i].want);
		assert_string_equal(e->what, "a  [m "); /* for a terminal */
		assert_int_equal(device_pid(d) == 0, rows[i].dead);
		assert_int_equal(device_culprit(d, NULL), 0);
		err_free(e);
		device_close(d);
	}
	struct device *d = open_device(8, 16, "mute code-7");

	fails_with(device_checkpoint(d), ERR_UNSUPPORTED, "failed without saying why", NULL);
	done(r, d);
}

/* What waits for a later command of another stream needs streams that overlap. */
static void the_cure_for_too_much_time(void **arg)
{
	struct sbt_reader *r = small(0);

	for (unsigned overlap = 0; overlap < 2; overlap++) {
		struct device *d = open_device(8, 16, "code-6"); /* REPLAYER_E_TIMEOUT */

		if (overlap)
			ok(device_overlap(d, true));
		struct err *e = device_checkpoint(d);

		assert_non_null(e);
		assert_non_null(strstr(e->cure, "set replay timeout"));
		assert_int_equal(strstr(e->cure, "order concurrent") != NULL, !overlap);
		err_free(e);
		device_close(d);
	}
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

/* --- graph launches --- */

static void is_inside(const struct device *d, uint64_t seq, uint32_t step)
{
	uint64_t in;
	uint32_t at;

	assert_int_equal(device_in_graph(d, &in, &at), seq != 0);
	assert_int_equal(in, seq);
	if (seq)
		assert_int_equal(at, step);
}

/* Byte 1 of A, with the copy at #13: 13 * 31 + 1 = 404 = 148; * 5 + 1 = 741 = 229 by #14; 230 by
 * the graph launch, #15; * 5 + 1 = 1151 = 127 by #16. */
static void in_the_middle_of_a_graph_launch(void **arg)
{
	uint64_t first;
	struct sbt_reader *r = graph_window(3, &first);
	struct device *d = open_device(first, first + 3, NULL);
	const uint64_t launch = first + 2;
	struct sbt_hash h;
	const uint8_t one = 1;
	uint32_t steps;

	assert_int_equal(first, 13);
	is_inside(d, 0, 0);
	ok(device_node(d, launch, 1, &steps));
	assert_int_equal(steps, 3);
	is_inside(d, launch, 1);
	assert_int_equal(device_seq(d), launch);
	assert_int_equal(byte_at(d, A + 1), 229);
	ok(device_hash(d, A, 64, &h)); /* looking does not leave it */
	is_inside(d, launch, 1);
	fails(device_write(d, A, &one, 1), ERR_STATE);
	is_inside(d, launch, 1);
	ok(device_node(d, launch, 2, &steps));
	is_inside(d, launch, 2);
	ok(device_node(d, launch, 3, &steps)); /* the last: it is over */
	is_inside(d, 0, 0);
	assert_int_equal(device_seq(d), launch);
	assert_int_equal(byte_at(d, A + 1), 230);
	ok(device_node(d, launch, 0, &steps));
	is_inside(d, launch, 0);
	assert_int_equal(byte_at(d, A + 1), 229);
	ok(device_seek(d, launch + 1));
	is_inside(d, 0, 0);
	assert_int_equal(byte_at(d, A + 1), 127);
	ok(device_node(d, launch, 1, &steps));
	(void)figures(d); /* more than memory: it is behind the launch */
	is_inside(d, 0, 0);
	assert_int_equal(device_seq(d), launch);
	assert_int_equal(byte_at(d, A + 1), 230);
	done(r, d);
}

static void a_graph_launch_that_fails(void **arg)
{
	uint64_t first, launch;
	struct sbt_reader *r = graph_window(3, &first);
	struct device *d = open_device(first, first + 3, "no-node");
	uint32_t steps = 9;

	launch = first + 2;
	ok(device_seek(d, launch + 1));
	fails(device_node(d, launch, 1, &steps), ERR_UNSUPPORTED);
	assert_int_equal(steps, 0);
	is_inside(d, 0, 0);
	assert_int_equal(device_culprit(d, NULL), launch);
	assert_int_equal(device_seq(d), launch - 1);
	assert_int_equal(byte_at(d, A + 1), 229);
	device_close(d);
	d = open_device(first, first + 3, "die-node");
	fails(device_node(d, launch, 1, &steps), ERR_INFERIOR);
	is_inside(d, 0, 0);
	assert_int_equal(device_culprit(d, NULL), launch);
	assert_int_equal(device_seq(d), launch - 1);
	assert_int_equal(byte_at(d, A + 1), 229);
	done(r, d);
}

/* Device and trace have to agree on what a step is. */
static void the_device_counts_the_steps_too(void **arg)
{
	for (unsigned nodes = 2; nodes <= 3; nodes++) {
		uint64_t first;
		struct sbt_reader *r = graph_window(nodes, &first);
		struct device *d = open_device(first, first + 3, NULL);
		struct replay *p = open_replay(r, d);
		struct replay_stop stop;
		uint32_t steps;
		struct err *e = replay_node(p, first + 2, 1, &steps, &stop);

		if (nodes == 3) {
			ok(e);
			is_inside(d, first + 2, 1);
			assert_int_equal(replay_seq(p), first + 2);
		} else {
			fails_with(e, ERR_INFERIOR, "counts 3 steps", "the trace has 2");
		}
		replay_close(p);
		remove_trace(r);
	}
}

/* --- what-ifs --- */

/* Byte 0 of A is 248 * 5 by the copy at #8 and the launch at #9, and what that one adds. */
static void other_code(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);

	ok(device_swap(d, 0, CODE_PTX, "d", 1)); /* 100 */
	assert_true(device_what_if(d));
	ok(device_seek(d, 9));
	assert_int_equal(byte_at(d, A), (uint8_t)(248 * 5 + 100));
	fresh(d);
	assert_int_equal(byte_at(d, A), (uint8_t)(248 * 5 + 100));
	ok(device_seek(d, 8));
	ok(device_swap(d, 0, CODE_PTX, "e", 1));
	ok(device_seek(d, 9));
	assert_int_equal(byte_at(d, A), (uint8_t)(248 * 5 + 101));
	ok(device_swap(d, 3, CODE_PTX, "x", 1)); /* of another kernel */
	fresh(d);
	assert_int_equal(byte_at(d, A), (uint8_t)(248 * 5 + 1)); /* the double knows one swap */
	ok(device_swap(d, 3, CODE_PTX, NULL, 0));
	ok(device_swap(d, 0, CODE_PTX, NULL, 0));
	assert_false(device_what_if(d)); /* as recorded */
	ok(device_seek(d, 8));
	ok(device_seek(d, 9));
	assert_int_equal(byte_at(d, A), (uint8_t)(248 * 5 + 1));
	static const char huge[REPLAYER_MESSAGE_MAX];
	fails(device_swap(d, 0, CODE_PTX, huge, REPLAYER_MESSAGE_MAX / 2 + 1), ERR_LIMIT);
	ok(device_swap(d, 0, CODE_PTX, huge, REPLAYER_MESSAGE_MAX / 2));
	done(r, d);
}

/* It is about launches to come, and no what-if: results that depend on it are the program's. */
static void another_schedule(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct replayer_soft s = {.schedule = 3};

	ok(device_seek(d, 9));
	ok(device_soft(d, &s));
	assert_int_equal(byte_at(d, A), 217); /* not again */
	assert_false(device_what_if(d));
	ok(device_execute(d, 10, true));
	assert_int_equal(byte_at(d, B), 1 + 3);
	fresh(d);
	assert_int_equal(byte_at(d, A), 217 + 3);
	s.schedule = 0;
	ok(device_soft(d, &s)); /* in the place of the first */
	fresh(d);
	assert_int_equal(byte_at(d, A), 217);
	assert_int_equal(byte_at(d, B), 1);
	done(r, d);
}

static void a_part_of_a_graph(void **arg)
{
	uint64_t first;
	struct sbt_reader *r = graph_window(3, &first);
	struct device *d = open_device(first, first + 3, NULL);
	const uint64_t launch = first + 2;

	ok(device_graph_part(d, launch, 7, true));
	assert_true(device_what_if(d));
	ok(device_seek(d, launch));
	assert_int_equal(byte_at(d, A + 1), 229 + 8);
	ok(device_seek(d, launch - 1));
	ok(device_graph_part(d, launch, 7, false)); /* in the place of the first */
	ok(device_seek(d, launch));
	assert_int_equal(byte_at(d, A + 1), 229 + 7);
	fresh(d);
	assert_int_equal(byte_at(d, A + 1), 229 + 7);
	ok(device_seek(d, launch - 1));
	ok(device_graph_part(d, 0, 0, false)); /* all of it again */
	assert_false(device_what_if(d));
	ok(device_seek(d, launch));
	assert_int_equal(byte_at(d, A + 1), 230);
	done(r, d);
}

static void streams_that_overlap(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);

	ok(device_seek(d, 9));
	assert_int_equal(figures(d).room_ns, 0);
	ok(device_overlap(d, true));
	assert_true(device_info(d).overlap);
	assert_int_equal(device_seq(d), 9);
	assert_int_equal(byte_at(d, A), 217);
	assert_int_equal(figures(d).room_ns, 1);
	fresh(d);
	assert_int_equal(figures(d).room_ns, 1);
	ok(device_overlap(d, true)); /* they do */
	ok(device_overlap(d, false));
	assert_false(device_info(d).overlap);
	assert_int_equal(figures(d).room_ns, 0);
	fresh(d);
	assert_int_equal(figures(d).room_ns, 0);
	assert_int_equal(byte_at(d, A), 217);
	done(r, d);
}

/* --- memory --- */

static void checkpoints_and_hashes(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "nopoints");
	struct sbt_hash here, recorded;

	ok(device_seek(d, 9));
	ok(device_checkpoint(d));
	assert_int_equal(figures(d).saved, 1);
	assert_int_equal(figures(d).checkpoints, 1);
	ok(device_hash(d, A, 64, &here));
	ok(device_hash_recorded(d, A, 64, &recorded)); /* the double makes them differ */
	assert_int_equal(here.half[0] ^ recorded.half[0], 1);
	assert_int_equal(here.half[1], recorded.half[1]);
	fails(device_hash_recorded(d, 0x10, 8, &here), ERR_UNSUPPORTED);
	done(r, d);
}

/* --- other orders --- */

static void another_order(void **arg)
{
	static const uint64_t entries[] = {10, 9, 8};
	static const struct order_change changes[] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
	const struct device_order o = {.entries = entries,
		.n = 3,
		.flags = REPLAYER_ORDER_LEARN,
		.changes = changes,
		.nchanges = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_ordered x;

	ok(device_order(d, &o, &x));
	assert_int_equal(x.sums.seq, 16);
	assert_int_equal(x.sums.n, 2);
	assert_int_equal(x.places[0].addr, 10);
	assert_int_equal(x.places[0].size, 8);
	assert_int_equal(x.places[1].addr, REPLAYER_ORDER_LEARN);
	assert_int_equal(x.places[1].size, 16);
	assert_int_equal(x.sums.changes, 1);
	assert_memory_equal(x.changes, changes, sizeof *changes);
	assert_int_equal(x.sums.outputs, 3);
	assert_int_equal(x.sums.outputs_same, 2);
	assert_int_equal(device_seq(d), 16);
	device_ordered_free(&x);
	assert_null(x.places);
	ok(device_order(d, &(struct device_order){.entries = entries, .n = 1}, &x));
	assert_int_equal(x.sums.changes, 0);
	assert_int_equal(x.places[1].addr, 0);
	device_ordered_free(&x);
	done(r, d);
}

static void an_order_has_to_fit_into_a_message(void **arg)
{
	const size_t most = (REPLAYER_MESSAGE_MAX - 4096) / sizeof(uint64_t);
	static const struct order_change change;
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	uint64_t *entries = calloc(most, sizeof *entries);
	struct device_order o = {.entries = entries, .n = most + 1, .changes = &change};
	struct device_ordered x;

	assert_non_null(entries);
	fails(device_order(d, &o, &x), ERR_LIMIT);
	o.n = most;
	ok(device_order(d, &o, &x));
	device_ordered_free(&x);
	o.nchanges = 1;
	fails(device_order(d, &o, &x), ERR_LIMIT);
	free(entries);
	done(r, d);
}

static void less_than_it_says_about_an_order(void **arg)
{
	static const char *const tempers[] = {"order-more", "changes-more"};
	static const uint64_t entries[] = {10};
	static const struct order_change change = {.seq = 1};
	const struct device_order o = {
		.entries = entries, .n = 1, .changes = &change, .nchanges = 1};
	struct sbt_reader *r = small(0);

	for (unsigned i = 0; i < 2; i++) {
		struct device *d = open_device(8, 16, tempers[i]);
		struct device_ordered x;

		/* a change is as long as one place and two thirds of another */
		fails(device_order(
			      d, i ? &o : &(struct device_order){.entries = entries, .n = 1}, &x),
			ERR_INFERIOR);
		assert_int_equal(device_pid(d), 0);
		device_close(d);
	}
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

/* --- checks --- */

static void a_check(void **arg)
{
	struct replayer_check how = {.from = 9, .to = 15, .runs = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_checked c;

	ok(device_check(d, &how, NULL, 0, &c));
	assert_int_equal(c.n, 1);
	assert_int_equal(c.rows[0].seq, 9);
	assert_int_equal(c.checked, 1);
	assert_int_equal(c.left_out, 2);
	assert_int_equal(c.heap, 3);
	assert_int_equal(c.late, 4);
	assert_int_equal(c.outside, 5);
	assert_int_equal(c.reached, 15);
	assert_int_equal(c.end, DEVICE_CHECKED_ALL);
	assert_int_equal(device_seq(d), 15);
	device_checked_free(&c);
	assert_int_equal(figures(d).back, 1); /* its memory was given back */
	how.from = how.to = 8;		      /* the window's ends belong to it */
	ok(device_check(d, &how, NULL, 0, &c));
	device_checked_free(&c);
	how.from = how.to = 16;
	ok(device_check(d, &how, NULL, 0, &c));
	device_checked_free(&c);
	done(r, d);
}

/* What comes in pieces is one list. */
static void a_check_in_pieces(void **arg)
{
	const struct replayer_check how = {.from = 9, .to = 15, .runs = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "check-pieces");
	struct device_checked c;

	ok(device_check(d, &how, NULL, 0, &c));
	assert_int_equal(c.n, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(c.rows[i].seq, 10 + 2 * i);
	assert_int_equal(c.rows[3].seq, 15);
	assert_int_equal(c.checked, 4);
	assert_int_equal(c.left_out, 8);
	assert_int_equal(c.heap, 12);
	assert_int_equal(c.late, 16);
	assert_int_equal(c.outside, 20);
	assert_int_equal(c.reached, 15);
	device_checked_free(&c);
	done(r, d);
}

static void a_check_stays_within_the_window(void **arg)
{
	static const uint64_t rows[][2] = {{7, 9}, {9, 17}, {10, 9}};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_checked c;

	for (unsigned i = 0; i < 3; i++)
		fails(device_check(d,
			      &(struct replayer_check){
				      .from = rows[i][0], .to = rows[i][1], .runs = 2},
			      NULL, 0, &c),
			ERR_NOT_FOUND);
	done(r, d);
}

/* The double executes nothing for a check, so memory is where it began: with other contents for
 * fresh memory that is the window's start. */
static void where_a_check_begins(void **arg)
{
	struct replayer_check how = {.from = 10, .to = 15, .runs = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_checked c;

	ok(device_check(d, &how, NULL, 0, &c));
	device_checked_free(&c);
	assert_int_equal(byte_at(d, A), 217);
	how.perturb = REPLAYER_PERTURB_ALL;
	ok(device_check(d, &how, NULL, 0, &c));
	device_checked_free(&c);
	assert_int_equal(byte_at(d, A), 0);
	done(r, d);
}

/* Ctrl-C and the end of the budget leave what there is so far. */
static void a_check_that_is_cut_short(void **arg)
{
	const struct replayer_check how = {.from = 9, .to = 15, .runs = 2};
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct device_checked c;
	struct patience budget;

	interrupt = true;
	ok(device_check(d, &how, NULL, 0, &c));
	interrupt = false;
	assert_int_equal(c.end, DEVICE_CHECKED_INTERRUPTED);
	assert_int_equal(c.reached, 8);
	assert_int_equal(c.n, 0);
	device_checked_free(&c);
	assert_int_equal(figures(d).back, 1);
	device_budget(d, &budget, 0);
	ok(device_check(d, &how, NULL, 0, &c));
	assert_int_equal(c.end, DEVICE_CHECKED_BUDGET);
	device_checked_free(&c);
	device_budget(d, NULL, 0);
	ok(device_check(d, &how, NULL, 0, &c));
	assert_int_equal(c.end, DEVICE_CHECKED_ALL);
	device_checked_free(&c);
	done(r, d);
}

static void a_check_that_goes_wrong(void **arg)
{
	static const char *const tempers[] = {"check-more", "check-stuck"};
	const struct replayer_check how = {.from = 9, .to = 15, .runs = 2};
	struct sbt_reader *r = small(0);

	for (unsigned i = 0; i < 2; i++) {
		struct device *d = open_device(8, 16, tempers[i]);
		struct device_checked c;

		fails(device_check(d, &how, NULL, 0, &c), ERR_INFERIOR);
		assert_null(c.rows);
		if (!i)
			assert_int_equal(device_pid(d), 0);
		device_close(d);
	}
	unsetenv("TSDB_FAKE_REPLAYER");
	remove_trace(r);
}

static struct err *count_set(void *arg, const struct access_set *a)
{
	assert_int_equal(a->seq, 9 + (*(unsigned *)arg)++);
	return NULL;
}

/* The memory that comparing took is given back, and a budget ends it with an error. */
static void sets_of_what_changed(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	struct patience budget;
	unsigned n = 0;

	ok(device_changed_sets(d, 9, 15, 0, count_set, &n));
	assert_int_equal(n, 7);
	assert_int_equal(device_seq(d), 15);
	assert_int_equal(figures(d).back, 1);
	device_budget(d, &budget, 0);
	fails(device_changed_sets(d, 9, 15, 0, count_set, &n), ERR_LIMIT);
	assert_int_equal(n, 7);
	done(r, d);
}

/* --- a launch under the microscope --- */

static struct device *into_kernel(const char *temper)
{
	struct device *d = open_device(8, 16, temper);
	const struct soft_stop *stop;

	ok(device_kernel(d, 13, &stop));
	return d;
}

static void breakpoints_within_a_launch(void **arg)
{
	static struct soft_point p[SOFT_POINTS_MAX + 1];
	struct sbt_reader *r = small(0);
	struct device *d = into_kernel("points");

	for (unsigned i = 0; i < SOFT_POINTS_MAX; i++)
		p[i].id = 3 * i;
	ok(device_kernel_points(d, p, SOFT_POINTS_MAX));
	for (unsigned i = 0; i < SOFT_POINTS_MAX; i++) {
		assert_int_equal(p[i].id, 3 * i);
		assert_int_equal(p[i].line, 100 + 3 * i);
		assert_int_equal(p[i].size, 200 + 3 * i);
	}
	fails(device_kernel_points(d, p, SOFT_POINTS_MAX + 1), ERR_LIMIT);
	assert_non_null(device_kernel_stop(d));
	done(r, d);
}

static void all_are(const char *text, size_t n, char c)
{
	assert_int_equal(strlen(text), n - 1);
	for (size_t i = 0; i + 1 < n; i++)
		assert_int_equal(text[i], c);
}

/* The strings of one record that is all 'y', all ESC or all DEL. */
static void strings_are(uint32_t what, const void *record, char c)
{
	const struct soft_warp *w = record;
	const struct soft_value *v = record;
	const struct soft_line *l = record;
	const struct soft_function *f = record;
	const struct soft_frame *frame = record;

	if (what == SOFT_ASK_WARPS) {
		all_are(w->text, sizeof w->text, c);
	} else if (what == SOFT_ASK_REGISTERS || what == SOFT_ASK_VALUE) {
		all_are(v->name, sizeof v->name, c);
		all_are(v->declared, sizeof v->declared, c);
	} else if (what == SOFT_ASK_LINES) {
		all_are(l->text, sizeof l->text, c);
		all_are(l->file, sizeof l->file, c);
	} else if (what == SOFT_ASK_FRAMES) {
		all_are(frame->function, sizeof frame->function, c);
		all_are(frame->file, sizeof frame->file, c);
	} else {
		all_are(f->name, sizeof f->name, c);
	}
}

/* Whatever it answers, each string ends and can be shown; bytes of memory stay as they are. */
static void strings_in_answers(void **arg)
{
	static const struct {
		uint32_t what;
		size_t size;
	} rows[] = {{SOFT_ASK_WARPS, sizeof(struct soft_warp)},
		{SOFT_ASK_REGISTERS, sizeof(struct soft_value)},
		{SOFT_ASK_VALUE, sizeof(struct soft_value)},
		{SOFT_ASK_LINES, sizeof(struct soft_line)},
		{SOFT_ASK_FRAMES, sizeof(struct soft_frame)},
		{SOFT_ASK_FUNCTIONS, sizeof(struct soft_function)}};
	static const char shown[] = {'y', ' ', ' '};
	struct sbt_reader *r = small(0);
	struct device *d = into_kernel(NULL);
	struct soft_ask q = {.what = SOFT_ASK_MEMORY, .size = 2};
	void *got;
	size_t n;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (unsigned k = 0; k < 3; k++) {
			q = (struct soft_ask){.what = rows[i].what, .size = k + 1};
			ok(device_kernel_ask(d, &q, rows[i].size, &got, &n));
			assert_int_equal(n, 1);
			strings_are(rows[i].what, got, shown[k]);
			free(got);
		}
	q = (struct soft_ask){.what = SOFT_ASK_MEMORY, .size = 2};
	ok(device_kernel_ask(d, &q, 1, &got, &n));
	assert_int_equal(n, 5);
	assert_memory_equal(got, "\x1b\x1b\x1b\x1b\x1b", 5);
	free(got);
	fails(device_kernel_ask(d, &q, 2, &got, &n), ERR_INFERIOR); /* 5 bytes are no records */
	assert_null(got);
	assert_int_equal(n, 0);
	done(r, d);
}

static void strings_of_a_stop(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = into_kernel("esc-stop");
	const struct soft_stop *t;

	ok(device_kernel_focus(d, (const uint32_t[3]){0}, (const uint32_t[3]){0}, &t));
	all_are(t->kernel, sizeof t->kernel, ' ');
	all_are(t->function, sizeof t->function, ' ');
	all_are(t->file, sizeof t->file, ' ');
	all_are(t->text, sizeof t->text, ' ');
	all_are(t->sentence, sizeof t->sentence, ' ');
	all_are(t->change.file, sizeof t->change.file, ' ');
	all_are(t->change.text, sizeof t->change.text, ' ');
	assert_int_equal(t->change.size, SOFT_BYTES);
	done(r, d);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Signals that come all the time, and interrupt each call of the system that they can. */
static void signals_all_the_time(void **arg)
{
	const struct itimerval often = {{.tv_usec = 300}, {.tv_usec = 300}}, never = {{0}, {0}};
	struct sigaction a = {.sa_handler = nothing}, before;
	struct sbt_reader *r = small(0);
	static uint8_t bytes[FAKE_SIZE];
	struct device *d;
	uint64_t hash;

	assert_int_equal(sigaction(SIGALRM, &a, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (unsigned i = 0; i < 8; i++) {
		d = open_device(8, 16, NULL);
		ok(device_seek(d, 16));
		hash = mem_hash(d);
		ok(device_seek(d, 9));
		assert_int_equal(byte_at(d, A), 217);
		ok(device_run(d, 16, 0, 0, NULL));
		assert_int_equal(mem_hash(d), hash);
		ok(device_read(d, FAKE_BASE, bytes, sizeof bytes));
		ok(device_write(d, A, bytes + (A - FAKE_BASE), 64));
		assert_int_equal(mem_hash(d), hash);
		device_close(d);
	}
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	remove_trace(r);
}

static void a_launch_that_is_refused(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, "no-kernel");
	const struct soft_stop *stop;

	ok(device_seek(d, 9));
	fails(device_kernel(d, 13, &stop), ERR_UNSUPPORTED);
	assert_null(stop);
	assert_null(device_kernel_stop(d));
	assert_int_equal(device_seq(d), 9);
	assert_int_equal(byte_at(d, A), 217);
	done(r, d);
}

/* A process that dies takes the launch with it: the device is where it was before. */
static void a_launch_that_is_lost(void **arg)
{
	struct sbt_reader *r = small(0);
	struct device *d = open_device(8, 16, NULL);
	const struct soft_stop *stop;

	ok(device_seek(d, 9));
	ok(device_kernel(d, 13, &stop));
	assert_int_equal(device_seq(d), 9);
	kill(device_pid(d), SIGKILL);
	fails(device_read(d, A, &(uint8_t){0}, 1), ERR_INFERIOR);
	fails_with(device_kernel_go(d, SOFT_STEP, 1, &stop), ERR_STATE, "was ended", NULL);
	assert_null(stop);
	assert_null(device_kernel_stop(d));
	assert_int_equal(device_seq(d), 9);
	assert_int_equal(byte_at(d, A), 217);
	done(r, d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says_about_the_window),
		cmocka_unit_test(fails_as_recorded),
		cmocka_unit_test(what_it_does_meanwhile),
		cmocka_unit_test(its_standard_input),
		cmocka_unit_test(it_does_not_listen),
		cmocka_unit_test(died_at_rest),
		cmocka_unit_test(no_descriptor_is_left),
		cmocka_unit_test(nothing_is_sought_twice),
		cmocka_unit_test(what_is_kept_back),
		cmocka_unit_test(what_is_kept_back_leaves_a_launch),
		cmocka_unit_test(given_back_twice),
		cmocka_unit_test(what_came_late),
		cmocka_unit_test(a_run_that_goes_wrong),
		cmocka_unit_test(less_than_was_to_be_read),
		cmocka_unit_test(each_error_has_its_code),
		cmocka_unit_test(the_cure_for_too_much_time),
		cmocka_unit_test(in_the_middle_of_a_graph_launch),
		cmocka_unit_test(a_graph_launch_that_fails),
		cmocka_unit_test(the_device_counts_the_steps_too),
		cmocka_unit_test(other_code),
		cmocka_unit_test(another_schedule),
		cmocka_unit_test(a_part_of_a_graph),
		cmocka_unit_test(streams_that_overlap),
		cmocka_unit_test(checkpoints_and_hashes),
		cmocka_unit_test(another_order),
		cmocka_unit_test(an_order_has_to_fit_into_a_message),
		cmocka_unit_test(less_than_it_says_about_an_order),
		cmocka_unit_test(a_check),
		cmocka_unit_test(a_check_in_pieces),
		cmocka_unit_test(a_check_stays_within_the_window),
		cmocka_unit_test(where_a_check_begins),
		cmocka_unit_test(a_check_that_is_cut_short),
		cmocka_unit_test(a_check_that_goes_wrong),
		cmocka_unit_test(sets_of_what_changed),
		cmocka_unit_test(breakpoints_within_a_launch),
		cmocka_unit_test(strings_in_answers),
		cmocka_unit_test(strings_of_a_stop),
		cmocka_unit_test(signals_all_the_time),
		cmocka_unit_test(a_launch_that_is_refused),
		cmocka_unit_test(a_launch_that_is_lost),
	};

	find_fake();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
