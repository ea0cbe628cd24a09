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

/* Each device says whether it is the software GPU. */
static void devices_that_are_soft(void **arg)
{
	struct state *s = state_new();
	struct sbt_cmd soft = cmd_device(2, 1, "TraceSmith");
	json_t *j;

	soft.u.device.soft = 1;
	apply(s, cmd_device(1, 0, "H200"));
	apply(s, soft);
	j = json_of(s, STATE_VIEW_DEVICES);
	assert_int_equal(json_array_size(j), 2);
	assert_true(json_is_false(json_object_get(json_array_get(j, 0), "soft")));
	assert_true(json_is_true(json_object_get(json_array_get(j, 1), "soft")));
	json_decref(j);
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

/* --- what is said of an object in words --- */

static struct sbt_cmd before(struct sbt_cmd c)
{
	c.flags |= SBT_F_BEFORE;
	return c;
}

static void words_of_streams(void **arg)
{
	struct state *s = state_new();
	struct sbt_cmd c;

	assert_string_equal(state_status_name(STATE_IDLE), "Idle");
	assert_string_equal(state_status_name((enum state_status)4), "?"); /* there are four */
	apply(s, before(cmd_ctx_create(1, 0, 0)));
	c = cmd_stream_create(2, 1, 0);
	c.u.stream_create.per_thread = 1;
	apply(s, c);
	apply(s, before(cmd_stream_create(3, 2, SBT_STREAM_UNKNOWN)));
	apply(s, cmd_stream_create(4, 3, 1));
	apply(s, cmd_capture_begin(5, 3));
	apply(s, cmd_stream_create(6, 4, 0));
	apply(s, cmd_fill(7, 4, 0x1000, 8));
	apply(s, cmd_stream_destroy(8, 4));
	c = cmd_any(9, SBT_BATCH);
	c.u.batch.stream = 1;
	c.u.batch.is_wait = 1;
	apply(s, c);
	assert_prints(s, STATE_VIEW_STREAMS,
		"Stream  Context  Kind                         Status   Head  Pending  Submitted  Finished  Waiting for\n"
		"     0        0  default, from before         Idle        -        0          0         0\n"
		"     1        0  per-thread                   Waiting    #9        1          1         0  a value in memory\n"
		"     2        0  kind not known, from before  Idle        -        0          0         0\n"
		"     3        0  non-blocking, capturing      Idle        -        0          0         0\n"
		"     4        0  blocking, destroyed          Running    #7        1          1         0\n");
	state_free(s);
}

static void words_of_events(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_event_create(8, 0);

	c.u.event_create.event_flags = 7;
	apply(s, c);
	apply(s, before(cmd_event_create(9, 1)));
	apply(s, cmd_event_create(10, 2));
	apply(s, cmd_launch(11, 1, 0));
	apply(s, cmd_event_record(12, 1, 2));
	apply(s, cmd_event_destroy(13, 2));
	apply(s, cmd_event_create(14, 3));
	apply(s, cmd_event_record(15, 3, 3));
	apply(s, cmd_sync_stream(16, 3));
	apply(s, cmd_sync_end(17, 16));
	assert_prints(s, STATE_VIEW_EVENTS,
		"Event  State                          Record  Stream  Records  Waits  Flags\n"
		"    0  Never recorded                      -       -        0      0  blocking sync, no timing, interprocess\n"
		"    1  Not recorded since the attach       -       -        0      0\n"
		"    2  Pending, destroyed                #12       1        1      0\n"
		"    3  Complete                          #15       3        1      0\n");
	state_free(s);
}

static void words_of_other_objects(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_ctx_create(8, 1, 5);

	c.u.ctx_create.primary = 0;
	apply(s, before(c));
	apply(s, cmd_ctx_destroy(9, 1));
	assert_prints(s, STATE_VIEW_CONTEXTS,
		"Context  Device  Kind                             Default  Streams  Allocations  Bytes  Handle\n"
		"      0       0  primary                                0        4            0      0  0xc000\n"
		"      1       0  created, from before, destroyed        5        0            0      0  0xc001\n");
	apply(s, before(cmd_module_load(10, 0)));
	c = cmd_module_load(11, 1);
	c.u.module_load.is_library = 1;
	apply(s, c);
	c = cmd_any(12, SBT_MODULE_UNLOAD);
	c.u.module_unload.dead_module = 1;
	apply(s, c);
	assert_prints(s, STATE_VIEW_MODULES,
		"Module  Kind                 Context  Loaded  Kernels  Bytes    Code\n"
		"     0  module, from before        0     #10        0   4096  0xabcd\n"
		"     1  library, unloaded          -     #11        0   4096  0xabcd\n");
	c = cmd_any(13, SBT_GRAPH_CREATE);
	c.u.graph_create.new_graph = 0;
	c.u.graph_create.clone_of = SBT_NO_ID;
	apply(s, before(c));
	apply(s, cmd_graph_instantiate(14, 1, 0));
	apply(s, cmd_graph_launch(15, 1, 1));
	apply(s, cmd_graph_destroy(16, 1));
	assert_prints(s, STATE_VIEW_GRAPHS,
		"Graph  Kind                   Source  Nodes  Launches  Last\n"
		"    0  graph, from before          -      0         0     -\n"
		"    1  executable, destroyed       0      0         1   #15\n");
	state_free(s);
}

static void words_of_memory(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_alloc(8, 0x1000, 64);

	apply(s, before(c));
	apply(s, cmd_alloc(9, 0x2000, 64));
	c = cmd_launch(10, 1, 0); /* of which nothing is known but its arguments */
	c.u.launch.args = (struct sbt_blob){(const uint64_t[]){0x2000}, 8};
	apply(s, c);
	assert_prints(s, STATE_VIEW_ALLOCS,
		"Address  Bytes  Memory  Allocated  Last writer\n"
		" 0x1000     64  device     before\n"
		" 0x2000     64  device         #9  #10 perhaps\n");
	state_free(s);
}

static void the_attach(void **arg)
{
	struct state *s = state_new();
	struct buf b = BUF_INIT;
	struct sbt_cmd c = cmd_any(1, SBT_ATTACH);

	apply(s, c);
	apply(s, before(cmd_alloc(2, 0x1000, 2))); /* what was found is records of its own */
	c = cmd_any(3, SBT_ATTACH);
	c.u.attach.what = 1;
	c.u.attach.probed = UINT64_C(3) << 29;
	c.u.attach.took = 2500000;
	c.u.attach.missed = 4;
	apply(s, c);
	c = cmd_any(4, SBT_ATTACH);
	c.u.attach.what = 2;
	c.u.attach.module = SBT_NO_ID;
	c.u.attach.text = cmd_blob("first");
	apply(s, c);
	state_print(&b, s, STATE_VIEW_ALL, 0);
	assert_non_null(strstr(buf_cstr(&b),
		"\nAttached to a running process at #1: 1 allocation, 2 bytes, found; commands before are not known\n"
		"1.5 GiB of addresses were looked through in 2.5 ms\n"
		"4 places where memory may be were given up: calls that allocate were under way all the time\n"
		"Not known: first\n"));
	c.seq = 5;
	c.u.attach.text = cmd_blob("second\n");
	apply(s, c);
	buf_clear(&b);
	state_print(&b, s, STATE_VIEW_ALL, 0);
	assert_non_null(strstr(buf_cstr(&b), "\nNot known, the last of several: second?\n"));
	buf_free(&b);
	state_free(s);
}

/* --- one of two devices --- */

static struct state *two_devices(void)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_ctx_create(9, 1, 9);

	apply(s, cmd_device(8, 1, "Second"));
	c.u.ctx_create.device = 1;
	apply(s, c);
	apply(s, cmd_alloc(10, 0x1000, 8));
	for (unsigned i = 0; i < 4; i++) { /* host memory belongs to no device */
		static const enum sbt_mem kinds[] = {
			SBT_MEM_DEVICE, SBT_MEM_PINNED, SBT_MEM_REGISTERED, SBT_MEM_MANAGED};

		c = cmd_alloc(11 + i, 0x2000 + 0x1000 * i, 8);
		c.ctx = 1;
		c.u.alloc.device = 1;
		c.u.alloc.mem = kinds[i];
		apply(s, c);
	}
	return s;
}

static void a_device(void **arg)
{
	struct state *s = two_devices();
	struct buf b = BUF_INIT;
	json_t *j;

	assert_true(state_print_device(&b, s, 1, 0));
	assert_null(strstr(buf_cstr(&b), "Soft"));
	assert_non_null(strstr(buf_cstr(&b),
		"Second  9.0  132  17179869184         0       0       0      0       0            2     16    16\n"
		"\nContexts\n"
		"Context  Device  Kind     Default  Streams  Allocations  Bytes  Handle\n"
		"      1       1  primary        9        1            4     32  0xc001\n"
		"\nStreams\n"
		"Stream  Context  Kind     Status  Head  Pending  Submitted  Finished\n"
		"     9        1  default  Idle       -        0          0         0\n"
		"\nAllocations\n"
		"Address  Bytes  Memory   Device  Context  Allocated  Last writer\n"
		" 0x2000      8  device        1        1        #11\n"
		" 0x5000      8  managed       1        1        #14\n"));
	buf_clear(&b);
	assert_true(state_json_device(&b, s, 0));
	j = parse(&b);
	assert_int_equal(json_object_size(j), 4);
	assert_int_equal(json_array_size(json_object_get(j, "device_list")), 1);
	assert_int_equal(json_array_size(json_object_get(j, "context_list")), 1);
	assert_int_equal(json_array_size(json_object_get(j, "stream_list")), 4);
	assert_int_equal(json_array_size(json_object_get(j, "allocation_list")), 1);
	json_decref(j);
	assert_false(state_print_device(&b, s, 2, 0));
	assert_false(state_json_device(&b, s, 2));
	assert_int_equal(b.len, 0);
	state_free(s);
	buf_free(&b);
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
		cmocka_unit_test(devices_that_are_soft),
		cmocka_unit_test(one_stream),
		cmocka_unit_test(long_queue),
		cmocka_unit_test(json),
		cmocka_unit_test(words_of_streams),
		cmocka_unit_test(words_of_events),
		cmocka_unit_test(words_of_other_objects),
		cmocka_unit_test(words_of_memory),
		cmocka_unit_test(the_attach),
		cmocka_unit_test(a_device),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
