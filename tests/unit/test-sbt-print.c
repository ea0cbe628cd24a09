/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands as text and as JSON. The JSON is read back by jansson, whatever bytes are in the
 * strings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "base/json-put.h"
#include "sbt-make.h"
#include "sbt/fields.h"

static const char *kernel_name(void *arg, uint32_t id)
{
	return id == 3 ? "matmul" : id == 4 ? "a\"b\x1b[31m\xff" : NULL;
}

static const struct sbt_names names = {.kernel = kernel_name};

static void line_is(const struct sbt_cmd *c, const char *expected)
{
	struct buf b = BUF_INIT;

	sbt_print_cmd(&b, c, &names);
	assert_string_equal(buf_cstr(&b), expected);
	buf_free(&b);
}

static struct sbt_cmd cmd(uint64_t seq, enum sbt_kind kind)
{
	return (struct sbt_cmd){.seq = seq, .kind = (uint16_t)kind};
}

static void test_launch_line(void **unused)
{
	struct sbt_cmd c = cmd(143, SBT_LAUNCH);

	c.u.launch = (struct sbt_cmd_launch){.stream = 2,
		.kernel = 3,
		.grid_x = 64,
		.grid_y = 64,
		.grid_z = 1,
		.block_x = 16,
		.block_y = 16,
		.block_z = 1};
	line_is(&c, "#143 matmul<<<(64,64,1),(16,16,1)>>> stream 2");
	c.u.launch.shared = 1024;
	c.u.launch.kernel = 9;
	c.result = 700;
	line_is(&c, "#143 kernel 9<<<(64,64,1),(16,16,1),1024>>> stream 2 = ERROR 700");
	c.u.launch.shared = 0;
	c.u.launch.kernel = 4;
	c.result = 0;
	c.flags = SBT_F_GRAPH;
	line_is(&c, "#143 a\"b\\x1b[31m\\xff<<<(64,64,1),(16,16,1)>>> stream 2 (into a graph)");
}

static void test_other_lines(void **unused)
{
	struct sbt_cmd c = cmd(12, SBT_COPY);

	c.u.copy = (struct sbt_cmd_copy){
		.dir = SBT_COPY_H2D, .dst = 0x302000000, .src = 0x7f0000001000, .size = 4096};
	line_is(&c, "#12 copy h2d 4096 bytes 0x7f0000001000 -> 0x302000000 stream 0");
	c.u.copy.dir = 77;
	line_is(&c, "#12 copy ?77 4096 bytes 0x7f0000001000 -> 0x302000000 stream 0");
	c = cmd(7, SBT_EVENT_RECORD);
	c.u.event_record = (struct sbt_cmd_event_record){.stream = 2, .event = 1};
	line_is(&c, "#7 event_record event 1 stream 2");
	c = cmd(8, SBT_STREAM_WAIT);
	c.u.stream_wait = (struct sbt_cmd_stream_wait){.stream = 3, .event = 1};
	line_is(&c, "#8 stream_wait event 1 stream 3");
	c = cmd(9, SBT_FILL);
	c.u.fill = (struct sbt_cmd_fill){
		.stream = 1, .dst = 0x3000, .size = 16, .value = 0xa, .elem = 1};
	line_is(&c, "#9 fill 16 bytes 0x3000 with 0x0a stream 1");
	c = cmd(10, SBT_SYNC);
	c.u.sync = (struct sbt_cmd_sync){.scope = SBT_SYNC_STREAM, .stream = 2, .event = SBT_NO_ID};
	line_is(&c, "#10 sync stream 2");
	c.u.sync = (struct sbt_cmd_sync){
		.scope = SBT_SYNC_CTX, .stream = SBT_NO_ID, .event = SBT_NO_ID};
	line_is(&c, "#10 sync ctx");
	c = cmd(11, SBT_SYNC_END);
	c.u.sync_end.begin = 10;
	line_is(&c, "#11 sync_end #10");
	c = cmd(13, SBT_ALLOC);
	c.u.alloc = (struct sbt_cmd_alloc){.addr = 0x302000000, .size = 400, .stream = SBT_NO_ID};
	line_is(&c, "#13 alloc device 400 bytes 0x302000000");
	c = cmd(14, SBT_STREAM_CREATE);
	c.u.stream_create = (struct sbt_cmd_stream_create){
		.new_stream = 4, .handle = 0x55, .stream_flags = 1, .priority = (uint64_t)-5};
	line_is(&c, "#14 stream_create stream 4 stream_flags 0x1 priority -5");
	c = cmd(15, SBT_FREE);
	c.u.free = (struct sbt_cmd_free){.addr = 0x302000000, .mem = SBT_MEM_ASYNC, .stream = 2};
	line_is(&c, "#15 free async 0x302000000 stream 2");
	c = cmd(1, SBT_DEVICE);
	c.u.device = (struct sbt_cmd_device){
		.device = 0, .device_name = {"H", 1}, .sm_major = 9, .soft = 1};
	line_is(&c, "#1 device 0 \"H\" sm_major 9 sm_minor 0 sm_count 0 driver_version 0 soft");
	c = cmd(15, SBT_MARK);
	c.u.mark = (struct sbt_cmd_mark){.mark_kind = 1, .text = {"a\"\n\xc2\x9b", 5}};
	line_is(&c, "#15 mark push \"a\\\"\\x0a\\xc2\\x9b\"");
	c = cmd(16, SBT_QUERY);
	c.u.query =
		(struct sbt_cmd_query){.scope = SBT_SYNC_EVENT, .stream = SBT_NO_ID, .event = 6};
	c.result = 600;
	line_is(&c, "#16 query event 6 = not ready");
}

/* What is 0, or none, is not shown; what is there is. */
static void test_lines_with_everything(void **unused)
{
	struct sbt_cmd c = cmd(1, SBT_LAUNCH);

	(void)unused;
	c.u.launch = (struct sbt_cmd_launch){.stream = SBT_NO_ID,
		.kernel = 3,
		.grid_x = 1,
		.grid_y = 2,
		.grid_z = 3,
		.block_x = 4,
		.block_y = 5,
		.block_z = 6,
		.cluster_x = 7,
		.cluster_y = 8,
		.cluster_z = 9,
		.cooperative = 1};
	c.flags = SBT_F_BEFORE;
	line_is(&c,
		"#1 matmul<<<(1,2,3),(4,5,6)>>> cluster (7,8,9) cooperative (was there before the attach)");
	c = cmd(2, SBT_COPY);
	c.u.copy = (struct sbt_cmd_copy){.dir = SBT_COPY_D2D,
		.dst = 0x20,
		.src = 0x10,
		.size = 48,
		.width = 4,
		.height = 6,
		.depth = 2,
		.stream = 3};
	line_is(&c, "#2 copy d2d 48 bytes (4 x 6 x 2) 0x10 -> 0x20 stream 3");
	static const struct {
		uint64_t elem;
		const char *digits;
	} fills[] = {{1, "0x0a"}, {2, "0x000a"}, {4, "0x0000000a"},
		/* no sizes of elements, as a hostile trace may have them */
		{0, "0xa"}, {3, "0x00000a"}, {5, "0x0000000a"}, {8, "0x0000000a"},
		{UINT64_MAX, "0x0000000a"}};
	for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
		char line[80];

		c = cmd(3, SBT_FILL);
		c.u.fill = (struct sbt_cmd_fill){.dst = 0x3000,
			.size = 8,
			.value = 0xa,
			.elem = fills[i].elem,
			.width = 2,
			.height = 4,
			.stream = SBT_NO_ID};
		snprintf(line, sizeof line, "#3 fill 8 bytes (2 x 4) 0x3000 with %s",
			fills[i].digits);
		line_is(&c, line);
	}
	c = cmd(4, SBT_ALLOC);
	c.u.alloc = (struct sbt_cmd_alloc){.addr = 0x40,
		.size = 512,
		.mem = SBT_MEM_MANAGED,
		.pitch = 128,
		.device = 1,
		.stream = 0};
	line_is(&c, "#4 alloc managed 512 bytes 0x40 pitch 128 on device 1 stream 0");
	c = cmd(5, SBT_MARK);
	line_is(&c, "#5 mark");
	c.u.mark.mark_kind = 2;
	line_is(&c, "#5 mark pop");
	c.u.mark.mark_kind = 3;
	line_is(&c, "#5 mark trigger");
	c.u.mark.mark_kind = 4;
	line_is(&c, "#5 mark ?");
	c = cmd(6, SBT_ATTACH);
	c.u.attach.what = SBT_ATTACH_BEGINS;
	line_is(&c, "#6 attached to a running process: what came before is not known");
	c.u.attach = (struct sbt_cmd_attach){.what = SBT_ATTACH_FOUND,
		.contexts = 1,
		.allocations = 2,
		.bytes = 3,
		.probed = 4,
		.step = 5,
		.took = 2500000};
	line_is(&c,
		"#6 attach: found 1 contexts and 2 allocations, 3 bytes, in 4 bytes of address space by steps of 5, 2.5 ms");
	c.u.attach.missed = 6;
	line_is(&c,
		"#6 attach: found 1 contexts and 2 allocations, 3 bytes, in 4 bytes of address space by steps of 5, 2.5 ms; gave up 6 places");
	c = cmd(7, SBT_EVENT_DESTROY);
	c.u.event_destroy.dead_event = 4;
	line_is(&c, "#7 event_destroy event 4");
	c = cmd(17, SBT_GLOBAL_DEF);
	c.u.global_def = (struct sbt_cmd_global_def){
		.module = 2, .global_name = {"g", 1}, .addr = 0x40, .size = 8};
	line_is(&c, "#17 global_def module 2 \"g\" 0x40 8 bytes");
	c = cmd(18, SBT_FUNC_ATTR);
	c.u.func_attr =
		(struct sbt_cmd_func_attr){.kernel = 3, .attr = 8, .attr_value = (uint64_t)-1};
	line_is(&c, "#18 func_attr matmul attr 8 attr_value -1");
	c = cmd(19, SBT_KERNEL_DEF);
	c.u.kernel_def = (struct sbt_cmd_kernel_def){.new_kernel = 3,
		.module = SBT_NO_ID,
		.handle = 5,
		.kernel_name = {"_Z1fv", 5},
		.regs = 32,
		.static_shared = 16,
		.max_threads = 1024,
		.code_hash = 7};
	line_is(&c,
		"#19 kernel_def kernel 3 \"_Z1fv\" regs 32 static_shared 16 max_threads 1024 code_hash 0x7");
	c = cmd(8, 0);
	c.kind = 999;
	line_is(&c, "#8 kind 999");
	c = cmd(9, SBT_QUERY);
	c.u.query =
		(struct sbt_cmd_query){.scope = SBT_SYNC_STREAM, .stream = 1, .event = SBT_NO_ID};
	c.result = 700;
	line_is(&c, "#9 query stream 1 = ERROR 700");
}

static void test_json_launch(void **unused)
{
	uint8_t args[3] = {0x00, 0xab, 0x7f};
	struct sbt_cmd c = {.seq = 5,
		.kind = SBT_LAUNCH,
		.thread = 1,
		.ctx = SBT_NO_ID,
		.stack = 2,
		.corr = 9,
		.host_ns = 1700000000000000001,
		.gpu_start_ns = 10,
		.gpu_end_ns = 20};
	struct buf b = BUF_INIT;

	c.u.launch = (struct sbt_cmd_launch){.stream = 1,
		.kernel = 3,
		.grid_x = 2,
		.grid_y = 1,
		.grid_z = 1,
		.block_x = 32,
		.block_y = 1,
		.block_z = 1,
		.launch_attrs = 6,
		.args = {args, 3}};
	sbt_json_cmd(&b, &c, &names);
	assert_string_equal(buf_cstr(&b),
		"{\"seq\":5,\"kind\":\"launch\",\"flags\":0,\"thread\":1,\"ctx\":null,\"stack\":2,\"result\":0,\"corr\":9,"
		"\"host_ns\":1700000000000000001,\"gpu_start_ns\":10,\"gpu_end_ns\":20,\"stream\":1,\"kernel\":3,\"grid_x\":2,"
		"\"grid_y\":1,\"grid_z\":1,\"block_x\":32,\"block_y\":1,\"block_z\":1,\"shared\":0,\"cooperative\":false,"
		"\"cluster_x\":0,\"cluster_y\":0,\"cluster_z\":0,\"launch_attrs\":\"0x6\",\"args\":\"00ab7f\","
		"\"trigger_event\":0,\"trigger_at_start\":0,\"begun_event\":0,\"last_x\":0,\"last_y\":0,\"last_z\":0,\"kernel_name\":\"matmul\"}");
	buf_free(&b);
}

static void test_json_strings(void **unused)
{
	static const struct {
		const char *text;
		size_t n;
		const char *json;
	} cases[] = {
		{"", 0, "\"\""}, {"a\"\\\n\0b", 6, "\"a\\\"\\\\\\u000a\\u0000b\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
			"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xc2\x85\xc2\xa0\xe2\x80\xa8\x7f", 8,
			"\"\\u0085\xc2\xa0\\u2028\\u007f\""},		/* ends of lines to some */
		{"\xff", 1, "\"\\ufffd\""}, {"\xc3", 1, "\"\\ufffd\""}, /* cut off */
		{"\xc0\xaf", 2, "\"\\ufffd\\ufffd\""},			/* overlong */
		{"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},	/* a surrogate */
		{"\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* past U+10FFFF */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = BUF_INIT;

		js_bytes(&b, cases[i].text, cases[i].n);
		assert_string_equal(buf_cstr(&b), cases[i].json);
		buf_free(&b);
	}
}

/* Every kind, any bytes: one line that jansson reads, with every field in it. */
static void test_json_is_json(void **unused)
{
	char *heap = malloc(4 * 4096);
	uint64_t seed = 77;

	for (unsigned i = 0; i < 2000; i++) {
		struct buf b = BUF_INIT, line = BUF_INIT;
		struct sbt_cmd c;
		json_error_t error;
		json_t *j;

		make_cmd(&c, i + 1, 1 + i % (SBT_KIND_END - 1), &seed, heap);
		sbt_json_cmd(&b, &c, &names);
		j = json_loads(buf_cstr(&b), JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
		if (!j)
			fail_msg("%s in %s", error.text, buf_cstr(&b));
		for (const struct sbt_field *f = sbt_kind(c.kind)->fields; f->name; f++)
			assert_non_null(json_object_get(j, f->name));
		assert_null(memchr(b.data, '\n', b.len));
		sbt_print_cmd(&line, &c, &names);
		for (size_t k = 0; k < line.len; k++)
			assert_true(line.data[k] >= 0x20 && line.data[k] != 0x7f);
		json_decref(j);
		buf_free(&b);
		buf_free(&line);
	}
	free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launch_line),
		cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_lines_with_everything),
		cmocka_unit_test(test_json_launch),
		cmocka_unit_test(test_json_strings),
		cmocka_unit_test(test_json_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
