/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces and devices for the tests that execute on the test double, fake-replayer.c.
 */
#ifndef TESTS_DEVICE_TEST_H
#define TESTS_DEVICE_TEST_H

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "random-trace.h"
#include "fake-replayer.h"
#include "replay/device.h"

#define A FAKE_BASE
#define B (FAKE_BASE + 0x1000)

static char trace_path[256], fake_path[4096];
static __attribute__((unused)) volatile bool interrupt;

/* --- traces --- */

/* The file stays until remove_trace(). */
TEST_FN struct sbt_reader *end_trace(struct trace_maker *t)
{
	struct sbt_reader *r;

	ok(sbt_writer_close(t->w));
	state_free(t->s);
	strcpy(trace_path, t->path);
	ok(sbt_reader_open(&r, trace_path));
	return r;
}

TEST_FN void remove_trace(struct sbt_reader *r)
{
	sbt_reader_close(r);
	unlink(trace_path);
}

TEST_FN void add_launch(
	struct trace_maker *t, uint64_t seq, uint64_t stream, uint64_t kernel, uint64_t addr)
{
	struct sbt_cmd c = cmd_launch(seq, stream, kernel);

	c.u.launch.args = (struct sbt_blob){&addr, sizeof addr};
	trace_add(t, c);
}

/* 1 ctx, 2 stream 1, 3 and 4 kernels scale (0) and reads (3), 5 kernel bad, 6 and 7 allocations A
 * and B. */
TEST_FN void begin_small(struct trace_maker *t, uint64_t bad)
{
	static const uint32_t params[] = {0, 8};

	trace_begin(t, 0);
	trace_add(t, cmd_ctx_create(1, 0, 0));
	trace_add(t, cmd_stream_create(2, 1, 1));
	trace_add(t, cmd_kernel_def(3, 0, SBT_NO_ID, "scale", params, 1));
	trace_add(t, cmd_kernel_def(4, 3, SBT_NO_ID, "reads", params, 1));
	trace_add(t, cmd_kernel_def(5, bad, SBT_NO_ID, "bad", params, 1));
	trace_add(t, cmd_alloc(6, A, 0x1000));
	trace_add(t, cmd_alloc(7, B, 0x1000));
}

/* begin_small, then 8 copy to A, 9 scale A, 10 scale B, 11 bad A, 12 scale B, 13 fill A[8..], 14
 * reads A, 15 sync, 16 its end. */
TEST_FN struct sbt_reader *small(uint64_t bad)
{
	struct trace_maker t;
	struct sbt_cmd fill = cmd_fill(13, 0, A + 8, 8);

	begin_small(&t, bad);
	trace_add(&t, cmd_copy(8, 0, SBT_COPY_H2D, A, 0x7000000, 64, true));
	add_launch(&t, 9, 0, 0, A);
	add_launch(&t, 10, 1, 0, B);
	add_launch(&t, 11, 0, bad, A);
	add_launch(&t, 12, 1, 0, B);
	fill.u.fill.value = 9;
	trace_add(&t, fill);
	add_launch(&t, 14, 0, 3, A);
	trace_add(&t, cmd_sync_ctx(15));
	trace_add(&t, cmd_sync_end(16, 15));
	return end_trace(&t);
}

/* --- devices --- */

TEST_FN struct err *try_open(struct device **ret, uint64_t first, uint64_t last, const char *temper)
{
	struct device_options o = {.replayer = fake_path,
		.trace = trace_path,
		.first = first,
		.last = last,
		.timeout_s = 1,
		.interrupt = &interrupt};

	if (temper)
		setenv("TSDB_FAKE_REPLAYER", temper, 1);
	else
		unsetenv("TSDB_FAKE_REPLAYER");
	return device_open(ret, &o);
}

TEST_FN struct device *open_device(uint64_t first, uint64_t last, const char *temper)
{
	struct device *d;

	ok(try_open(&d, first, last, temper));
	return d;
}

TEST_FN struct replay *open_replay(struct sbt_reader *r, struct device *d)
{
	struct replay_executor ex = device_executor(d);
	struct replay *p;

	ok(replay_open(&p, r, &ex));
	return p;
}

TEST_FN uint64_t mem_hash(struct device *d)
{
	struct sbt_hash h;

	ok(device_hash(d, FAKE_BASE, FAKE_SIZE, &h));
	return h.half[0] ^ h.half[1];
}

TEST_FN uint8_t byte_at(struct device *d, uint64_t addr)
{
	uint8_t v;

	ok(device_read(d, addr, &v, 1));
	return v;
}

TEST_FN bool alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* That error, freed; the sentence holds every word (may be NULL). */
TEST_FN void fails_with(struct err *e, enum err_code code, const char *one, const char *two)
{
	assert_non_null(e);
	if (e->code != code || (one && !strstr(e->what, one)) || (two && !strstr(e->what, two)))
		fail_msg("unexpected: %d %s", e->code, e->what);
	err_free(e);
}

/* Somebody kills it, at rest. The next call says so, the one after that goes on. */
TEST_FN void kill_it(struct device *d)
{
	pid_t pid = device_pid(d);
	siginfo_t i;

	if (!pid)
		return;
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &i, WEXITED | WNOWAIT), 0);
	fails_with(device_read(d, A, &(uint8_t){0}, 1), ERR_INFERIOR, "signal 9", NULL);
	assert_int_equal(device_culprit(d, NULL), 0);
}

TEST_FN uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The program is beside the tests. */
TEST_FN void find_fake(void)
{
	const char *build = getenv("TSDB_BUILD");

	snprintf(fake_path, sizeof fake_path, "%s/tests/unit/fake-replayer", build ? build : ".");
}

#endif
