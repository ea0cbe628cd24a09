/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace's work comes to: rows by kernel, by call site and by NVTX range, from small traces
 * whose figures are added up by hand.
 */
#include "random-trace.h"
#include "state/summary.h"

#define ALL                                                                                        \
	{                                                                                          \
		.last = UINT64_MAX                                                                 \
	}

static struct summary_row *row_called(struct summary_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].name && !strcmp(rows->v[i].name, name))
			return &rows->v[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void is(const struct summary_row *r, uint64_t count, uint64_t timed, uint64_t time,
	uint64_t longest, uint64_t bytes, uint64_t first, uint64_t last)
{
	assert_int_equal(r->count, count);
	assert_int_equal(r->timed, timed);
	assert_int_equal(r->time_ns, time);
	assert_int_equal(r->longest_ns, longest);
	assert_int_equal(r->bytes, bytes);
	assert_int_equal(r->first_seq, first);
	assert_int_equal(r->last_seq, last);
}

static struct summary summary_of(struct trace_maker *t, struct summary_ask ask)
{
	struct sbt_reader *r = trace_end(t);
	struct summary s;

	ok(summary_make(&s, r, &ask));
	sbt_reader_close(r);
	return s;
}

/* seqs 1 to 5: a device, a context, streams 0 and 1, kernels 0 and 1 */
static void begin(struct trace_maker *t)
{
	trace_begin(t, 0);
	trace_add(t, cmd_device(1, 0, "Soft"));
	trace_add(t, cmd_ctx_create(2, 0, 0));
	trace_add(t, cmd_stream_create(3, 1, 0));
	trace_add(t, cmd_kernel_def(4, 0, SBT_NO_ID, "alpha", NULL, 0));
	trace_add(t, cmd_kernel_def(5, 1, SBT_NO_ID, "beta", NULL, 0));
}

static void add_timed(
	struct trace_maker *t, struct sbt_cmd c, uint32_t stack, uint64_t start, uint64_t end)
{
	c.stack = stack;
	c.gpu_start_ns = start;
	c.gpu_end_ns = end;
	trace_add(t, c);
}

static void work(struct trace_maker *t)
{
	begin(t);
	add_timed(t, cmd_launch(10, 1, 0), 5, 100, 150);
	add_timed(t, cmd_launch(11, 1, 0), 5, 200, 220);
	add_timed(t, cmd_launch(12, 0, 1), 6, 300, 300); /* takes no time, but was timed */
	add_timed(t, cmd_launch(13, 0, 1), 6, 0, 400);	 /* not timed */
	add_timed(t, cmd_launch(14, 0, 1), 6, 401, 400); /* cannot be */
	add_timed(t, cmd_copy(15, 1, SBT_COPY_H2D, 0x1000, 0x2000, 1000, false), 5, 500, 501);
	add_timed(t, cmd_copy(16, 1, SBT_COPY_D2H, 0x1000, 0x2000, 10, false), 0, 0, 0);
	add_timed(t, cmd_copy(17, 1, SBT_COPY_H2D, 0x1000, 0x2000, 20, false), 0, 600, 700);
	add_timed(t, cmd_fill(18, 1, 0x1000, 7), 0, 800, 803);
	trace_add(t, cmd_host_func(19, 1)); /* is no work of the GPU */
	trace_add(t, cmd_sync_ctx(20));
}

static void by_kernel_and_site(void **state)
{
	struct trace_maker t;
	struct summary s;

	work(&t);
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(s.kernels.n, 5);
	is(row_called(&s.kernels, "alpha"), 2, 2, 70, 50, 0, 10, 11);
	assert_int_equal(row_called(&s.kernels, "alpha")->id, 0);
	is(row_called(&s.kernels, "beta"), 3, 1, 0, 0, 0, 12, 14);
	assert_int_equal(row_called(&s.kernels, "beta")->id, 1);
	is(row_called(&s.kernels, "copy h2d"), 2, 2, 101, 100, 1020, 15, 17);
	assert_int_equal(row_called(&s.kernels, "copy h2d")->id, SBT_NO_ID);
	is(row_called(&s.kernels, "copy d2h"), 1, 0, 0, 0, 10, 16, 16);
	is(row_called(&s.kernels, "fill"), 1, 1, 3, 3, 7, 18, 18);
	assert_int_equal(s.sites.n, 2);
	assert_int_equal(s.sites.v[0].id, 5);
	is(&s.sites.v[0], 3, 3, 71, 50, 1000, 10, 15);
	assert_int_equal(s.sites.v[1].id, 6);
	is(&s.sites.v[1], 3, 1, 0, 0, 0, 12, 14);
	is(&s.all, 9, 6, 174, 100, 1037, 10, 18);
	assert_int_equal(s.all.id, SBT_NO_ID);
	assert_int_equal(s.ranges.n, 0);
	assert_int_equal(s.graphs_unknown, 0);
	assert_int_equal(s.not_kept, 0);
	summary_free(&s);
	assert_null(s.kernels.v);
	assert_int_equal(s.kernels.n, 0);
}

static void a_part(void **state)
{
	struct trace_maker t;
	struct summary s;

	work(&t);
	s = summary_of(&t, (struct summary_ask){.first = 11, .last = 15});
	is(row_called(&s.kernels, "alpha"), 1, 1, 20, 20, 0, 11, 11);
	is(row_called(&s.kernels, "copy h2d"), 1, 1, 1, 1, 1000, 15, 15);
	is(&s.all, 5, 3, 21, 20, 1000, 11, 15);
	summary_free(&s);
}

static void kernels_only(void **state)
{
	struct trace_maker t;
	struct summary s;

	work(&t);
	s = summary_of(&t, (struct summary_ask){.last = UINT64_MAX, .kernels_only = true});
	assert_int_equal(s.kernels.n, 2);
	is(row_called(&s.kernels, "alpha"), 2, 2, 70, 50, 0, 10, 11);
	assert_int_equal(s.sites.n, 0);
	assert_int_equal(s.all.count, 0);
	assert_int_equal(s.not_kept, 0);
	summary_free(&s);
}

/* --- ranges --- */

static struct sbt_cmd range(uint64_t seq, unsigned kind, const char *name, uint32_t thread)
{
	struct sbt_cmd c = cmd_any(seq, SBT_MARK);

	c.thread = thread;
	c.u.mark.mark_kind = kind;
	c.u.mark.text = cmd_blob(name);
	return c;
}

/* A command counts once in each range that is open on its thread, however often it is open. */
static void by_range(void **state)
{
	struct trace_maker t;
	struct summary s;
	struct sbt_cmd c;

	begin(&t);
	trace_add(&t, range(6, 1, "step", 1));
	trace_add(&t, range(7, 1, "inner", 1));
	trace_add(&t, range(8, 1, "step", 1));
	trace_add(&t, range(9, 1, "other", 2));
	trace_add(&t, cmd_launch(10, 1, 0));
	trace_add(&t, range(11, 2, "", 1));
	trace_add(&t, range(12, 2, "", 1));
	trace_add(&t, cmd_fill(13, 1, 0x1000, 8));
	c = cmd_fill(14, 1, 0x1000, 16);
	c.thread = 2;
	trace_add(&t, c);
	trace_add(&t, range(15, 2, "", 1));
	trace_add(&t, cmd_fill(16, 1, 0x1000, 32)); /* in none */
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(s.ranges.n, 3);
	is(row_called(&s.ranges, "step"), 2, 0, 0, 0, 8, 10, 13);
	is(row_called(&s.ranges, "inner"), 1, 0, 0, 0, 0, 10, 10);
	is(row_called(&s.ranges, "other"), 1, 0, 0, 0, 16, 14, 14);
	summary_free(&s);
}

/* --- kernels in graphs --- */

/* Graph 20: alpha twice and beta once; 21 is its executable form. */
static void graph(struct trace_maker *t)
{
	begin(t);
	trace_add(t, cmd_capture_begin(6, 1));
	trace_add(t, cmd_graph_node(7, 20, 0, SBT_NODE_KERNEL, 0, NULL, 0));
	trace_add(t, cmd_graph_node(8, 20, 1, SBT_NODE_KERNEL, 0, NULL, 0));
	trace_add(t, cmd_graph_node(9, 20, 2, SBT_NODE_KERNEL, 1, NULL, 0));
	trace_add(t, cmd_graph_node(10, 20, 3, SBT_NODE_FILL, SBT_NO_ID, NULL, 0));
	trace_add(t, cmd_capture_end(11, 1, 20));
	trace_add(t, cmd_graph_instantiate(12, 21, 20));
}

static void in_graphs(void **state)
{
	struct trace_maker t;
	struct summary s;

	graph(&t);
	trace_add(&t, cmd_graph_launch(13, 1, 21));
	trace_add(&t, cmd_launch(14, 1, 1));
	trace_add(&t, cmd_graph_launch(15, 1, 21));
	trace_add(&t, cmd_graph_launch(16, 1, 21));
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(row_called(&s.kernels, "alpha")->count, 0);
	assert_int_equal(row_called(&s.kernels, "alpha")->in_graphs, 6);
	assert_int_equal(row_called(&s.kernels, "beta")->count, 1);
	assert_int_equal(row_called(&s.kernels, "beta")->in_graphs, 3);
	assert_int_equal(row_called(&s.kernels, "graph_launch")->count, 3);
	assert_int_equal(s.graphs_unknown, 0);
	summary_free(&s);
}

/* A launch counts with the nodes that the graph had then. */
static void graphs_that_change(void **state)
{
	struct trace_maker t;
	struct summary s;
	struct sbt_cmd c;

	graph(&t);
	trace_add(&t, cmd_graph_launch(13, 1, 21));
	trace_add(&t, cmd_graph_launch(14, 1, 21));
	c = cmd_any(15, SBT_GRAPH_UPDATE);
	c.u.graph_update.exec = 21;
	c.u.graph_update.graph = SBT_NO_ID;
	c.u.graph_update.node = 1;
	trace_add(&t, c);
	c = cmd_graph_node(16, 21, 1, SBT_NODE_KERNEL, 0, NULL, 0);
	c.u.graph_node.disabled = 1;
	trace_add(&t, c);
	trace_add(&t, cmd_graph_launch(17, 1, 21));
	trace_add(&t, cmd_graph_destroy(18, 21));
	trace_add(&t, cmd_graph_launch(19, 1, 99)); /* none that is known */
	trace_add(&t, cmd_graph_launch(20, 1, 99));
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(row_called(&s.kernels, "alpha")->in_graphs, 2 * 2 + 1);
	assert_int_equal(row_called(&s.kernels, "beta")->in_graphs, 3);
	assert_int_equal(s.graphs_unknown, 2);
	summary_free(&s);
}

/* More executable graphs than are counted at a time. */
static void many_graphs(void **state)
{
	struct trace_maker t;
	struct summary s;

	graph(&t);
	for (unsigned i = 0; i < 1500; i++)
		trace_add(&t, cmd_graph_instantiate(13 + i, 100 + i, 20));
	for (unsigned i = 0; i < 3000; i++)
		trace_add(&t, cmd_graph_launch(2000 + i, 1, 100 + i % 1500));
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(row_called(&s.kernels, "alpha")->in_graphs, 6000);
	assert_int_equal(row_called(&s.kernels, "beta")->in_graphs, 3000);
	assert_int_equal(s.graphs_unknown, 0);
	summary_free(&s);
}

/* --- limits and ends --- */

static void ids_too_large(void **state)
{
	struct trace_maker t;
	struct summary s;
	struct sbt_cmd c;

	begin(&t);
	trace_add(&t, cmd_launch(10, 1, 0));
	c = cmd_launch(11, 1, 0);
	c.stack = (1 << 22) - 1;
	trace_add(&t, c);
	c.seq = 12;
	c.stack = 1 << 22;
	trace_add(&t, c);
	trace_add(&t, cmd_launch(13, 1, 1 << 22)); /* a kernel that is not known either */
	trace_add(&t, cmd_launch(14, 1, 77));
	s = summary_of(&t, (struct summary_ask)ALL);
	assert_int_equal(s.sites.n, 1);
	assert_int_equal(s.sites.v[0].count, 1);
	assert_int_equal(s.sites.v[0].id, (1 << 22) - 1);
	assert_int_equal(s.not_kept, 2);
	assert_int_equal(row_called(&s.kernels, "kernel 77")->count, 1);
	assert_int_equal(s.all.count, 5);
	summary_free(&s);
}

static bool cancel(void *arg, uint64_t done, uint64_t of)
{
	uint64_t *calls = arg;

	assert_int_equal(of, 140005);
	assert_true(done <= of && done == ++calls[0] * 65536);
	return calls[0] == calls[1];
}

static void it_can_be_ended(void **state)
{
	uint64_t calls[2] = {0, 2};
	struct summary_ask ask = {.last = UINT64_MAX, .cancelled = cancel, .arg = calls};
	struct trace_maker t;
	struct sbt_reader *r;
	struct summary s;

	begin(&t);
	for (unsigned i = 0; i < 140000; i++)
		trace_add(&t, cmd_fill(10 + i, 1, 0x1000, 8));
	r = trace_end(&t);
	fails(summary_make(&s, r, &ask), ERR_INTERRUPTED);
	assert_int_equal(calls[0], 2);
	assert_int_equal(s.kernels.n, 0);
	calls[0] = 0;
	calls[1] = 9;
	ok(summary_make(&s, r, &ask));
	assert_int_equal(calls[0], 2);
	assert_int_equal(s.all.count, 140000);
	summary_free(&s);
	sbt_reader_close(r);
}

/* --- adding and sorting --- */

static void sums(void **state)
{
	struct summary_row none = {0}, r = {0};
	const struct summary_row a = {.count = 2,
					 .in_graphs = 1,
					 .timed = 1,
					 .time_ns = 50,
					 .longest_ns = 50,
					 .bytes = 3,
					 .first_seq = 20,
					 .last_seq = 30},
				 b = {.count = 1,
					 .in_graphs = 4,
					 .timed = 1,
					 .time_ns = 60,
					 .longest_ns = 60,
					 .bytes = 5,
					 .first_seq = 10,
					 .last_seq = 10};

	summary_add(&r, &a);
	is(&r, 2, 1, 50, 50, 3, 20, 30);
	summary_add(&r, &none);
	is(&r, 2, 1, 50, 50, 3, 20, 30);
	summary_add(&r, &b);
	is(&r, 3, 2, 110, 60, 8, 10, 30);
	assert_int_equal(r.in_graphs, 5);
	summary_add(&r, &a);
	is(&r, 5, 3, 160, 60, 11, 10, 30);
}

static void sorted(struct summary_row *v, size_t n, enum summary_sort by, const char *want)
{
	struct summary_rows rows = {v, n};
	char got[8] = "";

	summary_sort(&rows, by);
	for (size_t i = 0; i < n; i++)
		strcat(got, v[i].name);
	assert_string_equal(got, want);
}

/* The largest first; equal ones as they came. */
static void orders(void **state)
{
	struct summary_row v[] = {
		{.name = "a", .time_ns = 5, .count = 1, .in_graphs = 8, .bytes = 2, .first_seq = 4},
		{.name = "b", .time_ns = 7, .count = 9, .bytes = 3, .first_seq = 3},
		{.name = "c", .time_ns = 5, .count = 2, .bytes = 3, .first_seq = 2},
		{.name = "d", .time_ns = 1, .count = 10, .bytes = 1, .first_seq = 1}};

	sorted(v, 4, SUMMARY_BY_TIME, "bcad");
	sorted(v, 4, SUMMARY_BY_COUNT, "dbac");
	sorted(v, 4, SUMMARY_BY_BYTES, "cbad");
	sorted(NULL, 0, SUMMARY_BY_BYTES, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_kernel_and_site),
		cmocka_unit_test(a_part),
		cmocka_unit_test(kernels_only),
		cmocka_unit_test(by_range),
		cmocka_unit_test(in_graphs),
		cmocka_unit_test(graphs_that_change),
		cmocka_unit_test(many_graphs),
		cmocka_unit_test(ids_too_large),
		cmocka_unit_test(it_can_be_ended),
		cmocka_unit_test(sums),
		cmocka_unit_test(orders),
	};

	return cmocka_run_group_tests_name("state-summary", tests, NULL, NULL);
}
