/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces made to break the process that executes them: a copy whose extent is checked and whose
 * rows are not, sizes at which sums wrap, ids that are cut to 32 bits. Under replay, check and
 * explore each ends with a sentence that names the command, and with an exit status of tsdb's own.
 * The trace is that of replayer-trace.h with the attack at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "replayer-trace.h"
#include "sbt/cmd-pack.h"

/* --- running --- */

/* What `tsdb TOOL trace` prints, and its exit status; 128 and above: a signal. */
static int run_tool(const char *tool, char *text, size_t n)
{
	const char *build = getenv("TSDB_BUILD");
	char line[4096];
	size_t got = 0;

	snprintf(line, sizeof line, "exec %s/tsdb --gpu soft %s %s 2>&1 </dev/null",
		build ? build : ".", tool, trace_path);
	FILE *f = popen(line, "r");

	assert_non_null(f);
	for (size_t more_bytes;
		got < n - 1 && (more_bytes = fread(text + got, 1, n - 1 - got, f)) > 0;)
		got += more_bytes;
	text[got] = '\0';
	const int status = pclose(f);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* All three refuse the trace, and say why; nothing dies. */
static void refused(const char *because)
{
	static const char *const tools[] = {"replay", "check", "explore"};
	static char text[65536];

	for (unsigned i = 0; i < 3; i++) {
		const int status = run_tool(tools[i], text, sizeof text);

		if (status == 0 || status >= 126 || strstr(text, "bug at") ||
			strstr(text, "died") || strstr(text, "ended by signal"))
			fail_msg("tsdb %s ended with status %d:\n%s", tools[i], status, text);
		if (!strstr(text, because))
			fail_msg("tsdb %s does not say \"%s\" but:\n%s", tools[i], because, text);
	}
}

/* It can be executed, and comes out as recorded. */
static void runs(void)
{
	static char text[65536];
	const int status = run_tool("replay", text, sizeof text);

	if (status || !strstr(text, "Verified."))
		fail_msg("tsdb replay ended with status %d:\n%s", status, text);
}

static void make(void (*attack)(struct maker *m))
{
	more = attack;
	make_trace(PLAIN);
	more = NULL;
}

/* --- rows --- */

/* 128 x 4 x 512 bytes, without gaps where the trace does not lie. */
static struct sbt_cmd block(uint64_t seq, unsigned dir, uint64_t dst, uint64_t src)
{
	struct sbt_cmd c = copy(seq, dir, dst, src, 1);

	c.u.copy.width = 128;
	c.u.copy.height = 4;
	c.u.copy.depth = 512;
	c.u.copy.size = 128 * 4 * 512;
	c.u.copy.dst_pitch = c.u.copy.src_pitch = 128;
	c.u.copy.dst_slice = c.u.copy.src_slice = 128 * 4;
	return c;
}

/* By the recorded slices the last of 512 slices of 4 rows ends here. */
#define CLAIMED (511 * 1 + 3 * 128 + 128)

static void to_host(struct maker *m)
{
	static const uint8_t bytes[CLAIMED];
	struct sbt_cmd c = block(29, SBT_COPY_D2H, HOST, A);

	c.u.copy.dst_slice = 1;
	piece(m, 29, SBT_MEMORY_OUTPUT, SBT_MEMORY_ANY, HOST, bytes, sizeof bytes, false);
	put(m, c);
}

static void to_device(struct maker *m)
{
	static const uint8_t bytes[CLAIMED];
	struct sbt_cmd c = block(29, SBT_COPY_H2D, A, HOST);

	c.u.copy.src_slice = 1;
	piece(m, 29, SBT_MEMORY_INPUT, SBT_MEMORY_ANY, HOST, bytes, sizeof bytes, true);
	put(m, c);
}

/* A pitch of 2^63 and a slice of 2^63 + 128: their sums are small numbers. */
static void wrapping(struct maker *m)
{
	static const uint8_t bytes[CLAIMED];
	struct sbt_cmd c = block(29, SBT_COPY_D2H, HOST, A);

	c.u.copy.dst_pitch = 1ull << 63;
	c.u.copy.dst_slice = 0;
	piece(m, 29, SBT_MEMORY_OUTPUT, SBT_MEMORY_ANY, HOST, bytes, sizeof bytes, false);
	put(m, c);
}

static void rows_to_the_host(void **state)
{
	(void)state;
	make(to_host);
	refused("#29: the rows that this copy writes overlap: a slice begins before the one before it ends");
}

static void rows_to_the_device(void **state)
{
	(void)state;
	make(to_device);
	refused("#29: the rows that this copy reads overlap: a slice begins before the one before it ends");
}

static void rows_that_wrap(void **state)
{
	(void)state;
	make(wrapping);
	refused("#29: the rows that this copy writes reach beyond the end of memory");
}

/* No attack: rows with gaps, in slices with gaps, to the device and back; what they bring is worked
 * out here, byte by byte. */
static void good_rows(struct maker *m)
{
	enum {
		WIDTH = 100,
		HEIGHT = 3,
		DEPTH = 4,
		HERE_PITCH = 256,
		HERE_SLICE = 256 * 5,
		OUT_PITCH = 128,
		OUT_SLICE = 128 * 4,
		BACK_PITCH = 112
	};
	static uint8_t in[(DEPTH - 1) * OUT_SLICE + (HEIGHT - 1) * OUT_PITCH + WIDTH];
	static uint8_t back[((DEPTH - 1) * HEIGHT + HEIGHT - 1) * BACK_PITCH +
			    WIDTH]; /* no gaps between slices */
	struct sbt_cmd c = copy(29, SBT_COPY_H2D, A + 8, HOST, 1);

	for (unsigned z = 0; z < DEPTH; z++)
		for (unsigned y = 0; y < HEIGHT; y++)
			for (unsigned b = 0; b < WIDTH; b++) {
				const uint8_t byte = (uint8_t)(z * 71 + y * 31 + b);

				in[z * OUT_SLICE + y * OUT_PITCH + b] = byte;
				((uint8_t *)m->now.a)[8 + z * HERE_SLICE + y * HERE_PITCH + b] =
					byte;
				back[(z * HEIGHT + y) * BACK_PITCH + b] = byte;
			}
	c.u.copy.width = WIDTH;
	c.u.copy.height = HEIGHT;
	c.u.copy.depth = DEPTH;
	c.u.copy.size = WIDTH * HEIGHT * DEPTH;
	c.u.copy.dst_pitch = HERE_PITCH;
	c.u.copy.dst_slice = HERE_SLICE;
	c.u.copy.src_pitch = OUT_PITCH;
	c.u.copy.src_slice = OUT_SLICE;
	piece(m, 29, SBT_MEMORY_INPUT, SBT_MEMORY_ANY, HOST, in, sizeof in, true);
	put(m, c);
	c.seq = 30;
	c.u.copy.dir = SBT_COPY_D2H;
	c.u.copy.dst = HOST;
	c.u.copy.src = A + 8;
	c.u.copy.src_pitch = HERE_PITCH;
	c.u.copy.src_slice = HERE_SLICE;
	c.u.copy.dst_pitch = BACK_PITCH;
	c.u.copy.dst_slice = 0;
	piece(m, 30, SBT_MEMORY_OUTPUT, SBT_MEMORY_ANY, HOST, back, sizeof back, false);
	put(m, c);
}

static void rows_that_are_right(void **state)
{
	(void)state;
	make(good_rows);
	runs();
}

/* --- graphs --- */

/* A graph of one node, launched by #32. */
static void one_node(struct maker *m, enum sbt_node type, const struct sbt_cmd *payload)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_any(29, SBT_GRAPH_CREATE);

	c.u.graph_create = (struct sbt_cmd_graph_create){.new_graph = 14, .clone_of = SBT_NO_ID};
	put(m, c);
	sbt_pack(packed, payload);
	c = cmd_any(30, SBT_GRAPH_NODE);
	c.u.graph_node = (struct sbt_cmd_graph_node){.graph = 14,
		.type = type,
		.kernel = SBT_NO_ID,
		.payload = {packed, sbt_pack_size(payload)}};
	put(m, c);
	c = cmd_any(31, SBT_GRAPH_INSTANTIATE);
	c.u.graph_instantiate = (struct sbt_cmd_graph_instantiate){.new_exec = 15, .graph = 14};
	put(m, c);
	c = cmd_any(32, SBT_GRAPH_LAUNCH);
	c.u.graph_launch.exec = 15;
	put(m, c);
}

static void node_to_host(struct maker *m)
{
	struct sbt_cmd c = block(0, SBT_COPY_D2H, HOST, A);

	c.u.copy.dst_slice = 1;
	one_node(m, SBT_NODE_COPY, &c);
}

static void node_to_device(struct maker *m)
{
	static const uint8_t bytes[CLAIMED];
	struct sbt_cmd c = block(0, SBT_COPY_H2D, A, HOST);

	c.u.copy.src_slice = 1;
	piece(m, 32, SBT_MEMORY_INPUT, SBT_MEMORY_ANY, HOST, bytes, sizeof bytes, true);
	one_node(m, SBT_NODE_COPY, &c);
}

static void node_fills(struct maker *m)
{
	struct sbt_cmd c = cmd_any(0, SBT_FILL);

	c.u.fill = (struct sbt_cmd_fill){.stream = SBT_NO_ID,
		.dst = A,
		.size = 16,
		.value = 1,
		.elem = 4,
		.width = 2,
		.height = 2,
		.dst_pitch = 1ull << 40};
	one_node(m, SBT_NODE_FILL, &c);
}

static void nodes_that_copy_and_fill(void **state)
{
	char why[128];

	(void)state;
	make(node_to_host);
	refused("the rows that a copy of graph 15 writes overlap");
	make(node_to_device);
	refused("the rows that a copy of graph 15 reads overlap");
	make(node_fills);
	snprintf(why, sizeof why, "a graph fills 0x%llx, which is not memory of the window",
		(unsigned long long)A);
	refused(why);
}

/* --- sizes --- */

/* Two rows 2^64 - 3 apart: one byte more than their extent is nothing. */
static void two_to_the_64(struct maker *m)
{
	struct sbt_memory x = {.seq = 29,
		.role = SBT_MEMORY_INPUT,
		.owner = SBT_MEMORY_ANY,
		.addr = 0,
		.size = UINT64_MAX,
		.module = SBT_NO_ID,
		.has_bytes = true};
	struct sbt_cmd c = copy(29, SBT_COPY_H2D, A, 0, 1);
	uint32_t id;

	c.u.copy.width = 1;
	c.u.copy.height = 2;
	c.u.copy.depth = 1;
	c.u.copy.size = 2;
	c.u.copy.dst_pitch = 1;
	c.u.copy.src_pitch = UINT64_MAX - 1;
	ok(sbt_writer_memory(m->w, &x, &id));
	put(m, c);
}

/* 1 TiB between two rows: no host has so much to spare for one copy. */
static void far_apart(struct maker *m)
{
	static const uint8_t bytes[8];
	struct sbt_memory x = {.seq = 29,
		.role = SBT_MEMORY_OUTPUT,
		.owner = SBT_MEMORY_ANY,
		.addr = HOST,
		.size = (1ull << 40) + 4,
		.module = SBT_NO_ID,
		.hash = sbt_range_hash(bytes, 8)};
	struct sbt_cmd c = copy(29, SBT_COPY_D2H, HOST, A, 1);
	uint32_t id;

	c.u.copy.width = 4;
	c.u.copy.height = 2;
	c.u.copy.depth = 1;
	c.u.copy.size = 8;
	c.u.copy.src_pitch = 4;
	c.u.copy.dst_pitch = 1ull << 40;
	ok(sbt_writer_memory(m->w, &x, &id));
	put(m, c);
}

/* Two pieces of 2^63 bytes at the window's start, of which not a byte was recorded: their pages'
 * hashes are 2^52 bytes. */
static void long_starts(struct maker *m)
{
	struct sbt_memory x = {.seq = FIRST,
		.role = SBT_MEMORY_START,
		.owner = SBT_MEMORY_ALLOCATION,
		.addr = 4096,
		.size = 1ull << 63,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint32_t id;

	ok(sbt_writer_memory(m->w, &x, &id));
	x.addr = 8192;
	ok(sbt_writer_memory(m->w, &x, &id));
}

static void sizes_that_wrap(void **state)
{
	(void)state;
	make(long_starts);
	runs(); /* the software GPU needs no such table; another device refuses */
	make(two_to_the_64);
	refused("#29");
	make(far_apart);
	runs();
}

/* --- code --- */

/* Kernel 8, of code that is what the trace calls PTX, is launched by #31. */
static void code_of(struct maker *m, const void *code, size_t n)
{
	struct sbt_cmd c = cmd_any(29, SBT_MODULE_LOAD);
	uint64_t hash;

	ok(sbt_writer_code(m->w, code, n, CODE_PTX, &hash));
	c.u.module_load.new_module = 8;
	c.u.module_load.code_hash = c.u.module_load.ptx_hash = hash;
	put(m, c);
	c = kernel_def(30, 8, "k", hash, NULL, 0);
	c.u.kernel_def.module = 8;
	put(m, c);
	put(m, launch(31, 8, 0, 0, 0));
}

/* What nvcc puts around a fat binary: the address of another place. */
static void wrapper(struct maker *m)
{
	static const uint64_t w[4] = {0x1466243b1, 0x4141414141414141, 0, 0};

	code_of(m, w, sizeof w);
}

/* A fat binary that is 2^40 bytes long, by its own words. */
static void long_fatbin(struct maker *m)
{
	static const uint64_t w[4] = {
		0x00100001ba55ed50, 1ull << 40, 0x0000004001010001, 1ull << 39};

	code_of(m, w, sizeof w);
}

static void short_text(struct maker *m)
{
	code_of(m, ".v", 2);
}

static void code_that_is_something_else(void **state)
{
	(void)state;
	make(wrapper);
	refused("the code of k is no text, and PTX is");
	make(long_fatbin);
	refused("the code of k is no text, and PTX is");
	make(short_text);
	refused("the code of k is no PTX");
}

/* --- shapes --- */

/* The product of the block's dimensions is 2^64 + 32. */
static void block_that_wraps(struct maker *m)
{
	struct sbt_cmd c = launch(29, 1, 0, A, A);

	c.u.launch.block_x = 3649452082;
	c.u.launch.block_y = 2527330632;
	c.u.launch.block_z = 2;
	put(m, c);
}

static void entering(const char *because)
{
	static char text[65536];
	const int status = run_tool(
		"--batch -ex 'replay start --on soft' -ex 'replay enter 29'", text, sizeof text);

	if (status == 0 || status >= 126 || strstr(text, "died") || !strstr(text, because))
		fail_msg("replay enter ended with status %d and does not say \"%s\" but:\n%s",
			status, because, text);
}

static void shapes_that_wrap(void **state)
{
	(void)state;
	make(block_that_wraps);
	entering("a launch of that shape is not possible");
}

/* --- ids --- */

static void module_of_33_bits(struct maker *m)
{
	struct sbt_cmd c = cmd_any(29, SBT_MODULE_LOAD);

	c.u.module_load.new_module = (1ull << 32) + 7;
	c.u.module_load.ptx_hash = 1;
	put(m, c);
}

static void graph_of_33_bits(struct maker *m)
{
	struct sbt_cmd c = cmd_any(29, SBT_GRAPH_CREATE);

	c.u.graph_create =
		(struct sbt_cmd_graph_create){.new_graph = (1ull << 32) + 7, .clone_of = 4};
	put(m, c);
}

static void exec_of_33_bits(struct maker *m)
{
	struct sbt_cmd c = cmd_any(29, SBT_GRAPH_INSTANTIATE);

	c.u.graph_instantiate =
		(struct sbt_cmd_graph_instantiate){.new_exec = (1ull << 32) + 7, .graph = 4};
	put(m, c);
}

static void ids_that_are_cut(void **state)
{
	(void)state;
	make(module_of_33_bits);
	refused("#29");
	make(graph_of_33_bits);
	refused("#29");
	make(exec_of_33_bits);
	refused("#29");
}

static int over(void **state)
{
	(void)state;
	return unlink(trace_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_to_the_host),
		cmocka_unit_test(rows_to_the_device),
		cmocka_unit_test(rows_that_wrap),
		cmocka_unit_test(rows_that_are_right),
		cmocka_unit_test(nodes_that_copy_and_fill),
		cmocka_unit_test(sizes_that_wrap),
		cmocka_unit_test(code_that_is_something_else),
		cmocka_unit_test(shapes_that_wrap),
		cmocka_unit_test(ids_that_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, over);
}
