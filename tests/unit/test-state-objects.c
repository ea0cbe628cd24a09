/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations and their last writers, kernels, modules, graphs; and what no sane trace holds.
 */
#include "state-test.h"
#include "sbt/cmd-pack.h"

static struct state_alloc alloc_at(const struct state *s, uint64_t addr)
{
	struct state_alloc a;

	if (!state_alloc_at(s, addr, &a))
		fail_msg("nothing at %#llx", (unsigned long long)addr);
	return a;
}

static void alloc_and_free(void **arg)
{
	struct state *s = state_small();
	struct state_alloc a;
	struct state_device d;

	apply(s, cmd_alloc(8, 0x30000, 0x100));
	apply(s, cmd_alloc(9, 0x10000, 0x1000));
	apply(s, cmd_alloc(10, 0x20000, 0x10));
	assert_true(state_alloc(s, 0, &a));
	assert_int_equal(a.addr, 0x10000);
	assert_true(state_alloc(s, 2, &a));
	assert_int_equal(a.addr, 0x30000);
	assert_int_equal(a.alloc_seq, 8);
	assert_false(state_alloc(s, 3, &a));
	assert_int_equal(alloc_at(s, 0x10fff).addr, 0x10000);
	assert_false(state_alloc_at(s, 0x11000, &a));
	assert_false(state_alloc_at(s, 0xffff, &a));
	assert_true(state_device(s, 0, &d));
	assert_int_equal(d.alloc_count, 3);
	assert_int_equal(d.alloc_bytes, 0x1110);
	apply(s, cmd_free(11, 0x10000));
	assert_false(state_alloc_at(s, 0x10000, &a));
	assert_true(state_device(s, 0, &d));
	assert_int_equal(d.alloc_bytes, 0x110);
	assert_int_equal(d.alloc_peak, 0x1110);
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void odd_memory(void **arg)
{
	struct state *s = state_small();
	struct state_alloc a;

	apply(s, cmd_free(8, 0)); /* cuMemFree(0) is fine */
	assert_int_equal(totals_of(s).oddities, 0);
	apply(s, cmd_free(9, 0x5000));
	assert_int_equal(totals_of(s).oddities, 1);
	assert_non_null(strstr(totals_of(s).last_oddity, "0x5000"));
	apply(s, cmd_alloc(10, 0x5000, 0x100));
	apply(s, cmd_free(11, 0x5010)); /* inside: not freed */
	assert_int_equal(totals_of(s).oddities, 2);
	assert_true(state_alloc_at(s, 0x5000, &a));
	apply(s, cmd_alloc(12, 0x5080, 0x100)); /* overlaps: the old one must be gone */
	assert_int_equal(totals_of(s).oddities, 3);
	assert_false(state_alloc_at(s, 0x5000, &a));
	assert_int_equal(alloc_at(s, 0x5080).alloc_seq, 12);
	apply(s, cmd_alloc(13, UINT64_MAX - 8, 64)); /* wraps */
	apply(s, cmd_alloc(14, 0x9000, 0));
	assert_int_equal(totals_of(s).oddities, 5);
	assert_false(state_alloc(s, 1, &a));
	apply(s, cmd_alloc(15, 0x4f80, 0x100)); /* ends where the next one begins */
	assert_int_equal(totals_of(s).oddities, 5);
	apply(s, cmd_alloc(16, 0x4e00, 0x181)); /* its last byte is the first of #15 */
	assert_int_equal(totals_of(s).oddities, 6);
	assert_int_equal(alloc_at(s, 0x4f80).alloc_seq, 16);
	assert_false(state_alloc_at(s, 0x4f81, &a));
	assert_int_equal(alloc_at(s, 0x5080).alloc_seq, 12);
	assert_int_equal(alloc_at(s, 0x4e00).alloc_seq, 16);
	state_free(s);
}

static void many_allocations(void **arg)
{
	struct state *s = state_small();
	struct state_alloc a;
	uint64_t seq = 8;
	unsigned n = 0;

	/* 5,003 is prime: i * 1,999 visits every slot once, in no order of address */
	for (uint64_t i = 0; i < 5003; i++)
		apply(s, cmd_alloc(seq++, 0x100000 + i * 1999 % 5003 * 0x100, 0x80));
	for (uint64_t i = 0; i < 5003; i += 2)
		apply(s, cmd_free(seq++, 0x100000 + i * 0x100));
	for (uint64_t i = 0; i < 5003; i++)
		assert_int_equal(state_alloc_at(s, 0x100000 + i * 0x100 + 0x7f, &a), i % 2);
	for (uint64_t last = 0; state_alloc(s, n, &a); n++, last = a.addr)
		assert_true(a.addr > last);
	assert_int_equal(n, 2501);
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void last_writer(void **arg)
{
	struct state *s = state_small();
	/* float *out (0, 8), int n (8, 4), struct { float *a, *b; } (16, 16) */
	static const uint32_t params[] = {0, 8, 8, 4, 16, 16};
	struct {
		uint64_t out;
		uint32_t n, pad;
		uint64_t a, b;
	} args = {0x10010, 0x20000, 0, 0x30000, 0x999};
	struct sbt_cmd c;

	apply(s, cmd_kernel_def(8, 2, SBT_NO_ID, "gamma", params, 3));
	apply(s, cmd_alloc(9, 0x10000, 0x100));
	apply(s, cmd_alloc(10, 0x20000, 0x100));
	apply(s, cmd_alloc(11, 0x30000, 0x100));
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 0);
	apply(s, cmd_copy(12, 1, SBT_COPY_H2D, 0x10000, 0x7f00, 16, true));
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 12);
	assert_true(alloc_at(s, 0x10000).writer_certain);
	c = cmd_launch(13, 1, 2);
	c.u.launch.args = (struct sbt_blob){&args, sizeof args};
	apply(s, c);
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 13);
	assert_false(alloc_at(s, 0x10000).writer_certain);
	assert_int_equal(alloc_at(s, 0x20000).last_writer, 0);	/* 4 bytes are no pointer */
	assert_int_equal(alloc_at(s, 0x30000).last_writer, 13); /* within a struct */
	apply(s, cmd_fill(14, 1, 0x20080, 4));
	assert_int_equal(alloc_at(s, 0x20000).last_writer, 14);
	apply(s, cmd_copy(15, 1, SBT_COPY_D2H, 0x7f00, 0x10000, 16, true));
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 13); /* reading writes nothing */
	state_free(s);
}

static struct sbt_cmd texture(uint64_t seq, uint64_t id, uint64_t addr, bool surface)
{
	struct sbt_cmd c = cmd_any(seq, SBT_TEXTURE_CREATE);

	c.u.texture_create = (struct sbt_cmd_texture_create){.new_texture = id,
		.handle = id + 1,
		.surface = surface,
		.addr = addr,
		.size = 0x100,
		.border_a = id << 20};
	return c;
}

static struct sbt_cmd texture_destroy(uint64_t seq, uint64_t id)
{
	struct sbt_cmd c = cmd_any(seq, SBT_TEXTURE_DESTROY);

	c.u.texture_destroy.dead_texture = id;
	return c;
}

static struct sbt_cmd limit(uint64_t seq, uint32_t ctx, uint64_t number, uint64_t value)
{
	struct sbt_cmd c = cmd_any(seq, SBT_CTX_LIMIT);

	c.ctx = ctx;
	c.u.ctx_limit.limit = number;
	c.u.ctx_limit.limit_value = value;
	return c;
}

/* The last value of each; a keyframe has them, and one of a state without them is the older layout.
 */
static void limits(void **arg)
{
	struct state *s = state_small(), *again;
	struct buf b = BUF_INIT;
	struct state_limit l;
	struct sbt_cmd c;

	(void)arg;
	state_encode(s, &b);
	assert_int_equal(b.data[0], 2);
	apply(s, limit(9, 0, 2, 16));
	apply(s, limit(10, 0, 0, 1ull << 63));
	apply(s, limit(11, 0, 2, 64));
	apply(s, limit(12, 0, STATE_LIMITS, 1)); /* unknown: not kept */
	apply(s, limit(13, SBT_NO_ID, 0, 1));
	apply(s, limit(14, UINT32_MAX / STATE_LIMITS, 0, 1));
	buf_clear(&b);
	state_encode(s, &b);
	assert_int_equal(b.data[0], 4);
	ok(state_decode(&again, b.data, b.len));
	assert_int_equal(state_hash(s), state_hash(again));
	assert_true(state_limit(again, 0, &l));
	assert_int_equal(l.limit, 0);
	assert_true(l.value == 1ull << 63);
	assert_true(state_limit(again, 1, &l));
	assert_int_equal(l.limit, 2);
	assert_int_equal(l.value, 64);
	assert_int_equal(l.seq, 11);
	assert_false(state_limit(again, 2, &l));
	c = cmd_any(15, SBT_CTX_DESTROY);
	c.u.ctx_destroy.dead_ctx = 0;
	apply(again, c);
	assert_false(state_limit(again, 0, &l));
	state_free(again);
	state_free(s);
	buf_free(&b);
}

/* Handles are small numbers: a word of 8 bytes is one, a word of 4 is none. */
static void textures(void **arg)
{
	struct state *s = state_small(), *again;
	static const uint32_t params[] = {0, 8, 8, 4};
	const uint64_t args[] = {2, 1};
	struct sbt_cmd c = cmd_launch(13, 1, 2);
	struct state_texture t;
	struct buf b = BUF_INIT;

	apply(s, cmd_kernel_def(8, 2, SBT_NO_ID, "gamma", params, 2));
	apply(s, cmd_alloc(9, 0x10000, 0x100));
	apply(s, cmd_alloc(10, 0x20000, 0x100));
	apply(s, texture(11, 0, 0x10000, true));
	apply(s, texture(12, 1, 0x20000, true));
	c.u.launch.args = (struct sbt_blob){args, 12};
	apply(s, c);
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 0);
	assert_int_equal(alloc_at(s, 0x20000).last_writer, 13);
	assert_false(alloc_at(s, 0x20000).writer_certain);
	apply(s, texture_destroy(14, 1));
	apply(s, texture(15, 2, 0x10000, false));
	assert_int_equal(totals_of(s).oddities, 0);
	state_encode(s, &b);
	ok(state_decode(&again, b.data, b.len));
	assert_int_equal(state_hash(s), state_hash(again));
	assert_true(state_texture(again, 1, &t));
	assert_int_equal(t.id, 2);
	assert_int_equal(t.is->addr, 0x10000);
	assert_int_equal(t.is->border_a, 2 << 20);
	assert_false(state_texture(again, 2, &t));
	apply(again, texture_destroy(16, 1)); /* gone long since */
	apply(again, texture(17, 2, 0, false));
	assert_int_equal(totals_of(again).oddities, 2);
	c = cmd_any(18, SBT_CTX_DESTROY);
	c.u.ctx_destroy.dead_ctx = 0;
	apply(again, c);
	assert_false(state_texture(again, 0, &t));
	state_free(again);
	state_free(s);
	buf_free(&b);
}

static void short_arguments(void **arg)
{
	struct state *s = state_small();
	static const uint32_t params[] = {0xfffffff8u, 8, 8, 0xffffffffu, 0, 8};
	uint64_t out = 0x10000;
	struct sbt_cmd c = cmd_launch(10, 1, 2);

	apply(s, cmd_kernel_def(8, 2, SBT_NO_ID, "gamma", params, 3));
	apply(s, cmd_alloc(9, 0x10000, 0x100));
	c.u.launch.args = (struct sbt_blob){&out, sizeof out};
	apply(s, c); /* two parameters lie outside the buffer */
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 10);
	state_free(s);
}

static void code_that_comes_later(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_module_load(8, 3);
	struct state_module m;

	c.u.module_load.code_hash = c.u.module_load.code_size = 0;
	apply(s, c);
	c = cmd_any(9, SBT_MODULE_CODE);
	c.u.module_code =
		(struct sbt_cmd_module_code){.module = 3, .code_hash = 0x77, .code_size = 12};
	apply(s, c);
	assert_true(state_module(s, 0, &m));
	while (m.id != 3)
		assert_true(state_module(s, m.id + 1, &m));
	assert_int_equal(m.code_hash, 0x77);
	assert_int_equal(m.code_size, 12);
	assert_int_equal(totals_of(s).oddities, 0);
	c.seq = 10;
	c.u.module_code.module = 9; /* never loaded */
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 1);
	state_free(s);
}

static void kernels_and_modules(void **arg)
{
	struct state *s = state_new();
	struct state_kernel k;
	struct state_module m;
	struct sbt_names names;

	apply(s, cmd_module_load(1, 0));
	apply(s, cmd_kernel_def(2, 4, 0, "_ZN2at6matmulIfEEvPT_", NULL, 0));
	assert_true(state_kernel(s, 0, &k));
	assert_int_equal(k.id, 4);
	assert_string_equal(k.name, "_ZN2at6matmulIfEEvPT_");
	assert_string_equal(k.short_name, "at::matmul");
	apply(s, cmd_ctx_create(3, 0, 0));
	apply(s, cmd_launch(4, 0, 4));
	apply(s, cmd_launch(5, 0, 4));
	assert_true(state_kernel_by_id(s, 4, &k));
	assert_int_equal(k.launches, 2);
	assert_int_equal(k.last_launch, 5);
	assert_true(state_module(s, 0, &m));
	assert_int_equal(m.kernels, 1);
	assert_int_equal(m.code_hash, 0xabcd);
	names = state_names(s);
	assert_string_equal(names.kernel(names.arg, 4), "at::matmul");
	assert_null(names.kernel(names.arg, 5));
	apply(s, cmd_launch(6, 0, 77)); /* a kernel nobody defined */
	assert_int_equal(totals_of(s).oddities, 1);
	assert_stream(s, 0, STATE_RUNNING, 4, 3);
	state_free(s);
}

static void captured_work_does_not_queue(void **arg)
{
	struct state *s = state_small();
	struct state_graph g;
	struct state_node n;
	struct sbt_cmd c;
	_Alignas(8) uint8_t packed[1024];
	uint64_t out = 0x10000;
	size_t size;

	apply(s, cmd_alloc(8, 0x10000, 0x100));
	apply(s, cmd_capture_begin(9, 1));
	assert_true(stream_of(s, 1).capturing);
	c = cmd_launch(10, 1, 0);
	c.flags = SBT_F_GRAPH;
	apply(s, c);
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_int_equal(totals_of(s).launches, 0);
	apply(s, cmd_capture_end(11, 1, 0));
	assert_false(stream_of(s, 1).capturing);
	c.u.launch.args = (struct sbt_blob){&out, sizeof out};
	size = sbt_pack_size(&c);
	assert_true(size <= sizeof packed);
	sbt_pack(packed, &c);
	apply(s, cmd_graph_node(12, 0, 0, SBT_NODE_KERNEL, 0, packed, size));
	apply(s, cmd_graph_node(13, 0, 1, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0));
	apply(s, cmd_graph_instantiate(14, 1, 0));
	apply(s, cmd_graph_destroy(15, 0));
	assert_true(state_graph(s, 0, &g));
	assert_int_equal(g.id, 1);
	assert_true(g.is_exec);
	assert_int_equal(g.source, 0);
	assert_int_equal(g.nodes, 2);
	assert_true(state_graph_node(s, 1, 1, &n));
	assert_int_equal(n.type, SBT_NODE_EMPTY);
	apply(s, cmd_graph_launch(16, 1, 1));
	assert_stream(s, 1, STATE_RUNNING, 16, 1);
	assert_int_equal(
		alloc_at(s, 0x10000).last_writer, 16); /* through the kernel node's argument */
	apply(s, cmd_graph_destroy(17, 1));	       /* it runs still */
	assert_true(state_graph(s, 0, &g));
	assert_true(g.destroyed);
	assert_int_equal(g.launches, 1);
	state_retire(s, 16);
	assert_false(state_graph(s, 0, &g));
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void double_life(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_stream_create(8, 1, 0));
	apply(s, cmd_event_destroy(9, 3));
	apply(s, cmd_event_create(10, 3));
	apply(s, cmd_event_create(11, 3));
	apply(s, cmd_launch(12, 3, 0));
	apply(s, cmd_stream_destroy(13, 3));
	apply(s, cmd_stream_destroy(14, 3));
	assert_int_equal(totals_of(s).oddities, 4);
	apply(s, cmd_stream_create(
			 15, 3, 1)); /* lives again: it must not vanish when its work ends */
	state_retire(s, 12);
	assert_stream(s, 3, STATE_IDLE, 0, 0);
	state_free(s);
}

/* A stream takes a row, and a command its place in the queue: a few hundred bytes each. */
static void bytes_grow(void **arg)
{
	struct state *s = state_small();
	const size_t before = state_bytes(s);
	size_t streams;

	for (unsigned i = 0; i < 1000; i++)
		apply(s, cmd_stream_create(8 + i, 100 + i, 0));
	streams = state_bytes(s) - before;
	assert_in_range(streams, 1000 * sizeof(uint64_t), 1000 * 1024);
	for (unsigned i = 0; i < 1000; i++)
		apply(s, cmd_launch(2000 + i, 100, 0));
	assert_in_range(state_bytes(s) - before - streams, 1000 * sizeof(uint64_t), 1000 * 1024);
	state_free(s);
}

static void huge_ids(void **arg)
{
	struct state *s = state_small();
	size_t before = state_bytes(s);

	apply(s, cmd_stream_create(8, 0xfffffffe, 0));
	apply(s, cmd_launch(9, 0xfffffff0, 0xfffffffd));
	apply(s, cmd_event_record(10, 0xfffffffe, 0xfffffffe));
	apply(s, cmd_kernel_def(11, 0xfffffffe, 0xfffffffe, "k", NULL, 0));
	apply(s, cmd_graph_node(12, 0xfffffffe, 0xfffffffe, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0));
	assert_true(state_bytes(s) - before < 65536);
	assert_stream(s, 0xfffffffe, STATE_RUNNING, 10, 1);
	state_free(s);
}

static void impossible_commands(void **arg)
{
	struct state *s = state_small();
	uint64_t hash = state_hash(s);
	struct sbt_cmd c = cmd_any(8, SBT_KIND_END);

	fails(state_apply(s, &c), ERR_BAD_TRACE);
	c.kind = 0;
	fails(state_apply(s, &c), ERR_BAD_TRACE);
	c = cmd_launch(7, 1, 0); /* a seq a second time */
	fails(state_apply(s, &c), ERR_BAD_TRACE);
	c = cmd_launch(8, UINT64_C(1) << 32, 0);
	fails(state_apply(s, &c), ERR_BAD_TRACE);
	c = cmd_event_create(8, SBT_NO_ID);
	fails(state_apply(s, &c), ERR_BAD_TRACE);
	c = cmd_alloc(8, 0x1000, 64);
	c.u.alloc.mem = 256;
	fails(state_apply(s, &c), ERR_BAD_TRACE);
	assert_true(state_hash(s) == hash);
	state_free(s);
}

/* A node that is not known may write anything, after a copy of the same launch, too. */
static void a_node_that_is_not_known_may_write_anything(void **arg)
{
	struct state *s = state_small();
	_Alignas(8) uint8_t packed[1024];
	struct sbt_cmd c = cmd_copy(12, 0, SBT_COPY_H2D, 0x10000, 0x7000000, 0x100, true);
	size_t size;

	apply(s, cmd_alloc(8, 0x10000, 0x100));
	apply(s, cmd_alloc(9, 0x20000, 0x100));
	apply(s, c);
	assert_true(alloc_at(s, 0x10000).writer_certain);
	c.u.copy.stream = SBT_NO_ID;
	c.flags = SBT_F_GRAPH;
	size = sbt_pack_size(&c);
	assert_true(size <= sizeof packed);
	sbt_pack(packed, &c);
	apply(s, cmd_graph_node(13, 1, 0, SBT_NODE_COPY, SBT_NO_ID, packed, size));
	apply(s, cmd_graph_launch(14, 0, 1));
	assert_int_equal(alloc_at(s, 0x10000).last_writer, 14);
	assert_true(alloc_at(s, 0x10000).writer_certain);
	assert_int_equal(alloc_at(s, 0x20000).last_writer, 0);
	apply(s, cmd_graph_node(15, 1, 1, SBT_NODE_OTHER, SBT_NO_ID, NULL, 0));
	apply(s, cmd_graph_launch(16, 0, 1));
	for (uint64_t at = 0x10000; at <= 0x20000; at += 0x10000) {
		assert_int_equal(alloc_at(s, at).last_writer, 16);
		assert_false(alloc_at(s, at).writer_certain);
	}
	state_free(s);
}

/* What a call names has to be there; what is not is an oddity, and nothing else. */
static void names_nothing_has(void **arg)
{
	struct state *s = state_small();
	struct state_module m;
	struct sbt_cmd c;

	apply(s, cmd_module_load(8, 0));
	c = cmd_any(9, SBT_FUNC_ATTR);
	c.u.func_attr.kernel = 1;
	apply(s, c);
	c = cmd_any(10, SBT_GLOBAL_DEF);
	c.u.global_def.module = 0;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 0);
	c = cmd_any(11, SBT_FUNC_ATTR);
	c.u.func_attr.kernel = 7;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 1);
	c = cmd_any(12, SBT_GLOBAL_DEF);
	c.u.global_def.module = 7;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 2);
	c = cmd_any(13, SBT_MODULE_UNLOAD);
	c.u.module_unload.dead_module = 7;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 3);
	assert_true(state_module(s, 0, &m));
	assert_false(m.unloaded);
	c.seq = 14;
	c.u.module_unload.dead_module = 0;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 3);
	assert_true(state_module(s, 0, &m));
	assert_true(m.unloaded);
	c.seq = 15;
	apply(s, c); /* twice */
	assert_int_equal(totals_of(s).oddities, 4);
	state_free(s);
}

/* A graph that is made while it lives, and one whose exec comes from a graph that is not there. */
static void graphs_live_once(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_any(8, SBT_GRAPH_CREATE);

	c.u.graph_create.new_graph = 4;
	c.u.graph_create.clone_of = SBT_NO_ID;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 0);
	c.seq = 9;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 1);
	apply(s, cmd_graph_destroy(10, 4));
	c.seq = 11;
	apply(s, c); /* lives again */
	assert_int_equal(totals_of(s).oddities, 1);
	apply(s, cmd_graph_instantiate(12, 5, 77));
	assert_int_equal(totals_of(s).oddities, 2);
	apply(s, cmd_graph_launch(13, 1, 6));
	assert_int_equal(totals_of(s).oddities, 3);
	apply(s, cmd_graph_destroy(14, 6));
	assert_int_equal(totals_of(s).oddities, 4);
	apply(s, cmd_graph_node(15, 7, 0, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0)); /* of none */
	assert_int_equal(totals_of(s).oddities, 5); /* and then it is there */
	c = cmd_any(16, SBT_GRAPH_UPDATE);
	c.u.graph_update.exec = 99;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 6);
	apply(s, cmd_capture_begin(17, 1));
	apply(s, cmd_capture_begin(18, 1)); /* is capturing */
	assert_int_equal(totals_of(s).oddities, 7);
	apply(s, cmd_capture_end(19, 1, 8));
	assert_int_equal(totals_of(s).oddities, 7);
	apply(s, cmd_capture_end(20, 1, 9)); /* is not */
	assert_int_equal(totals_of(s).oddities, 8);
	state_free(s);
}

static uint32_t current(const struct state *s, uint32_t thread)
{
	struct state_thread t;

	for (unsigned i = 0; state_thread(s, i, &t); i++)
		if (t.thread == thread)
			return t.ctx;
	fail_msg("no thread %u", thread);
	return 0;
}

static struct sbt_cmd on_no_context(struct sbt_cmd c)
{
	c.ctx = SBT_NO_ID;
	return c;
}

/* cuCtxCreate makes its context current, retaining a primary one does not; cuCtxSetCurrent does. */
static void current_contexts(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c;

	apply(s, on_no_context(cmd_ctx_create(8, 1, 8)));
	assert_int_equal(current(s, 1), 0);
	c = on_no_context(cmd_ctx_create(9, 2, 9));
	c.u.ctx_create.primary = 0;
	apply(s, c);
	assert_int_equal(current(s, 1), 2);
	c = on_no_context(
		cmd_ctx_create(10, 3, 10)); /* found by the agent: no call of the thread */
	c.u.ctx_create.primary = 0;
	c.flags |= SBT_F_SYNTHETIC;
	apply(s, c);
	assert_int_equal(current(s, 1), 2);
	c = on_no_context(cmd_any(11, SBT_CTX_SET));
	c.u.ctx_set.new_ctx = 1;
	apply(s, c);
	assert_int_equal(current(s, 1), 1);
	c.seq = 12;
	c.u.ctx_set.new_ctx = SBT_NO_ID;
	apply(s, c);
	assert_int_equal(current(s, 1), SBT_NO_ID);
	assert_int_equal(totals_of(s).oddities, 0);
	c.seq = 13;
	c.u.ctx_set.new_ctx = 77;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 1);
	state_free(s);
}

static void threads_have_names(void **arg)
{
	struct state *s = state_new();
	struct state_thread t;
	struct sbt_cmd c = cmd_any(1, SBT_THREAD);

	c.thread = 4;
	c.u.thread.os_tid = 4321;
	c.u.thread.thread_name = cmd_blob("worker");
	apply(s, c);
	assert_true(state_thread(s, 0, &t));
	assert_int_equal(t.thread, 4);
	assert_int_equal(t.os_tid, 4321);
	assert_int_equal(t.name.len, 6);
	assert_memory_equal(t.name.p, "worker", 6);
	state_free(s);
}

/* Work on no stream, in a context that is not known, or known: then it is its default stream's. */
static void work_on_no_stream(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_launch(8, SBT_NO_ID, 0);

	apply(s, c);
	assert_stream(s, 0, STATE_RUNNING, 8, 1);
	c.seq = 9;
	c.ctx = 7;
	apply(s, c);
	c.seq = 10;
	c.ctx = SBT_NO_ID;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 2);
	assert_int_equal(totals_of(s).pending, 1);
	state_free(s);
}

static bool is_there(const struct state *s, uint64_t addr)
{
	struct state_alloc a;

	return state_alloc_from(s, addr, &a) && a.addr == addr;
}

/* Memory found at an attach: a new allocation may be in the place of one whose free was under way;
 * what was found by mistake is freed by a record of the agent's, unless it is another's by then. */
static void found_memory(void **arg)
{
	struct state *s = state_small();
	struct state_alloc a;
	struct sbt_cmd c = cmd_alloc(8, 0x1000, 64);

	c.flags |= SBT_F_BEFORE;
	apply(s, c);
	apply(s, cmd_alloc(9, 0xff0, 32)); /* over its beginning */
	assert_false(is_there(s, 0x1000));
	assert_true(is_there(s, 0xff0));
	assert_int_equal(totals_of(s).oddities, 0);
	apply(s, cmd_alloc(10, 0x1000, 8)); /* and this one was not found, but allocated */
	assert_int_equal(totals_of(s).oddities, 1);
	assert_false(is_there(s, 0xff0));
	c = cmd_free(11, 0x1000);
	c.flags |= SBT_F_SYNTHETIC;
	apply(s, c);
	assert_true(is_there(s, 0x1000));
	c = cmd_alloc(12, 0x2000, 64);
	c.flags |= SBT_F_BEFORE;
	apply(s, c);
	c = cmd_free(13, 0x2008);
	c.flags |= SBT_F_SYNTHETIC;
	apply(s, c);
	assert_true(is_there(s, 0x2000));
	c.seq = 14;
	c.u.free.addr = 0x2000;
	apply(s, c);
	assert_false(is_there(s, 0x2000));
	assert_int_equal(totals_of(s).oddities, 1);
	assert_true(state_alloc_from(s, 0x1007, &a)); /* within, or the next */
	assert_int_equal(a.addr, 0x1000);
	assert_true(state_alloc_from(s, 0x10, &a));
	assert_int_equal(a.addr, 0x1000);
	assert_false(state_alloc_from(s, 0x1008, &a));
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc_and_free),
		cmocka_unit_test(odd_memory),
		cmocka_unit_test(many_allocations),
		cmocka_unit_test(last_writer),
		cmocka_unit_test(limits),
		cmocka_unit_test(textures),
		cmocka_unit_test(short_arguments),
		cmocka_unit_test(kernels_and_modules),
		cmocka_unit_test(a_node_that_is_not_known_may_write_anything),
		cmocka_unit_test(code_that_comes_later),
		cmocka_unit_test(captured_work_does_not_queue),
		cmocka_unit_test(double_life),
		cmocka_unit_test(names_nothing_has),
		cmocka_unit_test(graphs_live_once),
		cmocka_unit_test(current_contexts),
		cmocka_unit_test(threads_have_names),
		cmocka_unit_test(work_on_no_stream),
		cmocka_unit_test(found_memory),
		cmocka_unit_test(bytes_grow),
		cmocka_unit_test(huge_ids),
		cmocka_unit_test(impossible_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
