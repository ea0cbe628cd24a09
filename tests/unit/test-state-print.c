/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables: columns aligned, none to say so, JSON that a parser takes, whatever names a trace
 * holds.
 */
#include "state-test.h"
#include <jansson.h>

#define assert_prints(s, view, want)                                                               \
	do {                                                                                       \
		struct buf ap_ = BUF_INIT;                                                         \
		state_print(&ap_, s, view, 0);                                                     \
		assert_string_equal(buf_cstr(&ap_), want);                                         \
		buf_free(&ap_);                                                                    \
	} while (0)

static json_t *parse(struct buf *b)
{
	json_error_t why;
	json_t *j = json_loads(buf_cstr(b), JSON_REJECT_DUPLICATES, &why);

	if (!j)
		fail_msg("%s at %d in %s", why.text, why.position, buf_cstr(b));
	buf_free(b);
	return j;
}

static json_t *json_of(const struct state *s, enum state_view view)
{
	struct buf b = BUF_INIT;

	state_json(&b, s, view);
	return parse(&b);
}

/* Two streams wait: one for an event, one for the legacy default stream. */
static struct state *waiting(void)
{
	struct state *s = state_small();

	apply(s, cmd_event_create(8, 4));
	apply(s, cmd_launch(9, 1, 1));
	apply(s, cmd_event_record(10, 1, 4));
	apply(s, cmd_stream_wait(11, 3, 4));
	apply(s, cmd_launch(12, 3, 0));
	apply(s, cmd_launch(13, 0, 0));
	return s;
}

static void nothing(void **arg)
{
	struct state *s = state_new();

	assert_prints(s, STATE_VIEW_STREAMS, "No streams.\n");
	assert_prints(s, STATE_VIEW_EVENTS, "No events.\n");
	assert_prints(s, STATE_VIEW_CONTEXTS, "No contexts.\n");
	assert_prints(s, STATE_VIEW_MODULES, "No modules.\n");
	assert_prints(s, STATE_VIEW_KERNELS, "No kernels.\n");
	assert_prints(s, STATE_VIEW_ALLOCS, "No allocations.\n");
	assert_prints(s, STATE_VIEW_GRAPHS, "No graphs.\n");
	assert_prints(s, STATE_VIEW_DEVICES, "No devices.\n");
	assert_prints(s, STATE_VIEW_THREADS, "No threads.\n");
	state_free(s);
}

static void stream_table(void **arg)
{
	struct state *s = waiting();

	assert_prints(s, STATE_VIEW_STREAMS,
		"Stream  Context  Kind          Status   Head  Pending  Submitted  Finished  Waiting for\n"
		"     0        0  default       Waiting   #13        1          1         0  stream 1 (#10)\n"
		"     1        0  blocking      Running    #9        2          2         0\n"
		"     2        0  blocking      Idle        -        0          0         0\n"
		"     3        0  non-blocking  Waiting   #11        2          2         0  event 4 (#10 on stream 1)\n");
	state_free(s);
}

/* Priorities are shown where there are any, what is waited for where something waits. */
static void columns_with_nothing(void **arg)
{
	struct state *s = state_new();
	struct sbt_cmd c = cmd_stream_create(2, 1, 1);

	apply(s, cmd_ctx_create(1, 0, 0));
	c.u.stream_create.priority = -5;
	apply(s, c);
	assert_prints(s, STATE_VIEW_STREAMS,
		"Stream  Context  Kind          Status  Head  Pending  Submitted  Finished  Priority\n"
		"     0        0  default       Idle       -        0          0         0         0\n"
		"     1        0  non-blocking  Idle       -        0          0         0        -5\n");
	state_free(s);
}

static void other_tables(void **arg)
{
	struct state *s = waiting();

	apply(s, cmd_alloc(14, 0x7f0000000000, 1048576));
	apply(s, cmd_alloc(15, 0x1000, 8));
	apply(s, cmd_fill(16, 2, 0x1000, 8));
	assert_prints(s, STATE_VIEW_EVENTS,
		"Event  State    Record  Stream  Records  Waits  Flags\n"
		"    4  Pending     #10       1        1      1\n");
	assert_prints(s, STATE_VIEW_ALLOCS,
		"       Address    Bytes  Memory  Allocated  Last writer\n"
		"        0x1000        8  device        #15  #16\n"
		"0x7f0000000000  1048576  device        #14\n");
	assert_prints(s, STATE_VIEW_CONTEXTS,
		"Context  Device  Kind     Default  Streams  Allocations    Bytes  Handle\n"
		"      0       0  primary        0        4            2  1048584  0xc000\n");
	state_free(s);
}

/* What does not fit comes below, beside what says which row it is. */
static void narrow_screens(void **arg)
{
	struct state *s = waiting();
	struct buf b = BUF_INIT;

	state_print(&b, s, STATE_VIEW_STREAMS, 73); /* "Finished" would end in column 74 */
	assert_string_equal(buf_cstr(&b),
		"Stream  Context  Kind          Status   Head  Pending  Submitted\n"
		"     0        0  default       Waiting   #13        1          1\n"
		"     1        0  blocking      Running    #9        2          2\n"
		"     2        0  blocking      Idle        -        0          0\n"
		"     3        0  non-blocking  Waiting   #11        2          2\n"
		"\n"
		"Stream  Finished  Waiting for\n"
		"     0         0  stream 1 (#10)\n"
		"     1         0\n"
		"     2         0\n"
		"     3         0  event 4 (#10 on stream 1)\n");
	buf_clear(&b);
	state_print(&b, s, STATE_VIEW_EVENTS,
		1); /* every column beside the first, however narrow the screen */
	assert_string_equal(buf_cstr(&b),
		"Event  State\n    4  Pending\n\nEvent  Record\n    4     #10\n\nEvent  Stream\n    4       1\n\n"
		"Event  Records\n    4        1\n\nEvent  Waits\n    4      1\n\nEvent  Flags\n    4\n");
	buf_free(&b);
	state_free(s);
}

/* Those of a device fit a screen of 80 columns. */
static void devices_in_80_columns(void **arg)
{
	struct state *s = state_new();
	struct buf b = BUF_INIT;
	char *line, *rest;

	apply(s, cmd_device(1, 0, "TraceSmith software GPU"));
	state_print(&b, s, STATE_VIEW_DEVICES, 80);
	assert_non_null(strstr(buf_cstr(&b), "Peak"));
	rest = (char *)b.data;
	while ((line = strsep(&rest, "\n")))
		assert_true(strlen(line) <= 80);
	buf_free(&b);
	state_free(s);
}

static void one_stream(void **arg)
{
	struct state *s = waiting();
	struct buf b = BUF_INIT;
	json_t *j, *queue;

	assert_true(state_print_stream(&b, s, 3));
	assert_string_equal(buf_cstr(&b),
		"Stream 3 (non-blocking), context 0, priority 0, handle 0x5003\n"
		"Waiting at #11 for event 4 (#10 on stream 1)\n"
		"2 submitted, 0 finished, 2 pending\n"
		"  Waiting           #11 stream_wait event 4 stream 3\n"
		"  Dispatch Pending  #12 alpha<<<(64,1,1),(256,1,1)>>> stream 3\n");
	buf_clear(&b);
	assert_true(state_json_stream(&b, s, 3));
	j = parse(&b);
	assert_string_equal(json_string_value(json_object_get(j, "status")), "Waiting");
	assert_int_equal(json_integer_value(json_object_get(j, "wait_event")), 4);
	queue = json_object_get(j, "queue");
	assert_int_equal(json_array_size(queue), 2);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_array_get(queue, 1), "command"), "seq")),
		12);
	json_decref(j);
	assert_false(state_print_stream(&b, s, 99));
	assert_false(state_json_stream(&b, s, 99));
	assert_int_equal(b.len, 0);
	buf_free(&b);
	state_free(s);
}

static void long_queue(void **arg)
{
	struct state *s = state_small();
	struct buf b = BUF_INIT;

	for (uint64_t i = 0; i < STATE_QUEUE_MAX + 3; i++)
		apply(s, cmd_launch(8 + i, 3, 0));
	assert_true(state_print_stream(&b, s, 3));
	assert_non_null(strstr(buf_cstr(&b), "#8 and others after it are too old to be listed\n"));
	assert_non_null(strstr(buf_cstr(&b), "  and 4032 more, the last one #4106\n"));
	buf_free(&b);
	state_free(s);
}

static void json(void **arg)
{
	static const uint32_t params[] = {0, 8, 8, 4};
	static const uint32_t deps[] = {0, 7};
	struct state *s = waiting();
	json_t *j, *row;
	struct sbt_cmd node;

	apply(s, cmd_kernel_def(14, 9, SBT_NO_ID, "_ZN2at6matmulIfEEvPT_", params, 2));
	apply(s, cmd_graph_node(15, 0, 0, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0));
	node = cmd_graph_node(16, 0, 1, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0);
	node.u.graph_node.deps = (struct sbt_blob){deps, sizeof deps};
	apply(s, node);
	for (unsigned v = 0; v < STATE_VIEW_ALL; v++) {
		j = json_of(s, v);
		assert_true(json_is_array(j));
		json_decref(j);
	}
	j = json_of(s, STATE_VIEW_KERNELS);
	row = json_array_get(j, 2);
	assert_string_equal(json_string_value(json_object_get(row, "short_name")), "at::matmul");
	assert_true(json_is_null(json_object_get(row, "module")));
	row = json_array_get(json_object_get(row, "param_list"), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "offset")), 8);
	assert_int_equal(json_integer_value(json_object_get(row, "size")), 4);
	json_decref(j);
	j = json_of(s, STATE_VIEW_ALL);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(j, "summary"), "seq")), 16);
	row = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "graph_list"), 0), "node_list"),
		1);
	row = json_object_get(row, "dep_list");
	assert_int_equal(json_array_size(row), 2);
	assert_int_equal(json_integer_value(json_array_get(row, 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(row, 1)), 7);
	assert_int_equal(json_array_size(json_object_get(j, "stream_list")), 4);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(j, "stream_list"), 0), "handle")),
		"0x0");
	json_decref(j);
	state_free(s);
}

static void hostile_names(void **arg)
{
	struct state *s = state_new();
	struct buf b = BUF_INIT;
	json_t *j;

	apply(s, cmd_device(1, 0, "\x1b[31m \"G\\PU\"\n\xff\xc3\xa9"));
	state_print(&b, s, STATE_VIEW_ALL, 0);
	assert_null(strchr(buf_cstr(&b), 0x1b));
	assert_non_null(strstr(buf_cstr(&b), "?[31m \"G\\PU\"?"));
	j = json_of(s, STATE_VIEW_DEVICES);
	assert_string_equal(json_string_value(json_object_get(json_array_get(j, 0), "name")),
		"\x1b[31m \"G\\PU\"\n\xef\xbf\xbd\xc3\xa9");
	json_decref(j);
	buf_free(&b);
	state_free(s);
}

static void all(void **arg)
{
	struct state *s = waiting();
	struct buf b = BUF_INIT;

	apply(s, cmd_free(14, 0x5000));
	state_print(&b, s, STATE_VIEW_ALL, 0);
	assert_non_null(strstr(buf_cstr(&b),
		"After #14: 14 commands, 3 launches, 0 copies, 0 fills, 0 syncs, 0 failed calls; "
		"5 pending\n1 oddity: #14 free: 0x5000 is not allocated\n"));
	assert_non_null(strstr(buf_cstr(&b), "\n\nStreams\nStream  Context"));
	assert_non_null(strstr(buf_cstr(&b), "\n\nGraphs\nNo graphs.\n"));
	buf_free(&b);
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),
		cmocka_unit_test(stream_table),
		cmocka_unit_test(columns_with_nothing),
		cmocka_unit_test(other_tables),
		cmocka_unit_test(narrow_screens),
		cmocka_unit_test(devices_in_80_columns),
		cmocka_unit_test(one_stream),
		cmocka_unit_test(long_queue),
		cmocka_unit_test(json),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
