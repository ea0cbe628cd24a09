/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads that add up a trace for a report: what they find, and that they end early when the
 * report fails or the user interrupts. A thread may end by itself before it is stopped, so that is
 * tried again; one that never ends early fails.
 */
#include "random-trace.h"
#include "shell/figures/report-sums.h"

enum { LAUNCHES = 60000, FIRST = 1000, TRIES = 50 };

static char path[sizeof(((struct trace_maker *)0)->path)];

/* Launches of 10 ns, each 100 ns after the one before, in a file of its own. */
static int write_trace(void **state)
{
	struct trace_maker t;
	struct sbt_cmd c;

	(void)state;
	trace_begin(&t, 0);
	trace_add(&t, cmd_device(1, 0, "Soft"));
	trace_add(&t, cmd_ctx_create(2, 0, 0));
	trace_add(&t, cmd_stream_create(3, 1, 1));
	trace_add(&t, cmd_kernel_def(4, 0, SBT_NO_ID, "alpha", NULL, 0));
	for (uint64_t i = 0; i < LAUNCHES; i++) {
		c = cmd_launch(5 + i, 1, 0);
		c.host_ns = FIRST + 100 * i;
		c.gpu_start_ns = c.host_ns + 20;
		c.gpu_end_ns = c.gpu_start_ns + 10;
		trace_add(&t, c);
	}
	ok(sbt_writer_close(t.w));
	state_free(t.s);
	memcpy(path, t.path, sizeof path);
	return 0;
}

static int remove_trace(void **state)
{
	(void)state;
	return unlink(path);
}

static void both_are_found(void **state)
{
	volatile bool interrupt = false;
	struct report_sums_work *w;
	struct report_sums sums;

	(void)state;
	ok(report_sums_begin(&w, path, 1, 4 + LAUNCHES, &interrupt));
	ok(report_sums_end(w, &sums));
	assert_int_equal(sums.stats.work, LAUNCHES);
	assert_null(sums.no_path);
	assert_int_equal(sums.critical.end_ns - sums.critical.begin_ns, 100 * (LAUNCHES - 1) + 30);
	report_sums_free(&sums);
}

/* Whether a try ended early, by the report or by the user. */
static bool ended_early(bool by_user)
{
	volatile bool interrupt = false;
	struct report_sums_work *w;
	struct report_sums sums;
	struct err *e;
	bool early;

	ok(report_sums_begin(&w, path, 1, 4 + LAUNCHES, &interrupt));
	if (by_user)
		interrupt = true;
	else
		report_sums_stop(w);
	e = report_sums_end(w, &sums);
	early = e;
	if (e)
		assert_int_equal(e->code, ERR_INTERRUPTED);
	else
		report_sums_free(&sums);
	err_free(e);
	return early;
}

static void stop_ends_them(void **state)
{
	int tries = 0;

	(void)state;
	while (tries < TRIES && !ended_early(false))
		tries++;
	assert_true(tries < TRIES);
}

static void an_interrupt_ends_them(void **state)
{
	int tries = 0;

	(void)state;
	while (tries < TRIES && !ended_early(true))
		tries++;
	assert_true(tries < TRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_are_found),
		cmocka_unit_test(stop_ends_them),
		cmocka_unit_test(an_interrupt_ends_them),
	};

	return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
