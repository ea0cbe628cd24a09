/* SPDX-License-Identifier: Apache-2.0
 *
 * Small traces for the tests of src/order. All begin alike: context 0 with legacy default stream 0,
 * streams 1 and 2 non-blocking, 3 and 4 blocking; kernel 0 f(p); event 0 and 1; allocations A, B;
 * pinned memory H. Seqs 1 to 12; FIRST is 13.
 */
#ifndef TESTS_ORDER_TEST_H
#define TESTS_ORDER_TEST_H

#include "random-trace.h"
#include "order/order.h"
#include "sbt/memory.h"

#define FIRST 13
#define A UINT64_C(0x100000)
#define B UINT64_C(0x200000)
#define H UINT64_C(0x800000)
#define SIZE UINT64_C(0x1000)

static uint64_t seq;
static struct trace_maker t;

TEST_FN uint64_t add(struct sbt_cmd c)
{
	assert_int_equal(c.seq, seq);
	trace_add(&t, c);
	return seq++;
}

TEST_FN void begin(void)
{
	static const uint32_t params[] = {0, 8};
	struct sbt_cmd pinned;

	seq = 1;
	trace_begin(&t, 5);
	add(cmd_ctx_create(seq, 0, 0));
	add(cmd_stream_create(seq, 1, 1));
	add(cmd_stream_create(seq, 2, 1));
	add(cmd_stream_create(seq, 3, 0));
	add(cmd_stream_create(seq, 4, 0));
	add(cmd_module_load(seq, 5));
	add(cmd_kernel_def(seq, 0, 5, "f", params, 1));
	add(cmd_event_create(seq, 0));
	add(cmd_event_create(seq, 1));
	add(cmd_alloc(seq, A, SIZE));
	add(cmd_alloc(seq, B, SIZE));
	pinned = cmd_alloc(seq, H, SIZE);
	pinned.u.alloc.mem = SBT_MEM_PINNED;
	add(pinned);
}

TEST_FN uint64_t fill(uint64_t stream, uint64_t at, uint64_t n)
{
	return add(cmd_fill(seq, stream, at, n));
}

TEST_FN uint64_t f(uint64_t stream, uint64_t p)
{
	struct sbt_cmd c = cmd_launch(seq, stream, 0);

	c.u.launch.args = (struct sbt_blob){&p, 8};
	return add(c);
}

TEST_FN uint64_t record(uint64_t stream, uint64_t event)
{
	return add(cmd_event_record(seq, stream, event));
}

TEST_FN uint64_t wait_for(uint64_t stream, uint64_t event)
{
	return add(cmd_stream_wait(seq, stream, event));
}

/* A piece of the window's memory; its command is written later or was. */
TEST_FN void piece(
	uint64_t at, enum sbt_memory_role role, uint64_t addr, const char *bytes, size_t n)
{
	const struct sbt_memory m = {.seq = at,
		.role = role,
		.addr = addr,
		.size = n,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint32_t id;

	ok(sbt_writer_memory(t.w, &m, &id));
	ok(sbt_writer_memory_bytes(t.w, id, bytes, n));
}

struct pieces {
	struct sbt_memory m[8];
	size_t n;
};

TEST_FN struct err *list_piece(void *arg, const struct sbt_memory *m)
{
	struct pieces *p = arg;

	assert_true(p->n < 8);
	p->m[p->n++] = *m;
	return NULL;
}

TEST_FN struct order *graph_of(struct sbt_reader *r, bool apart)
{
	const struct order_options o = {.first = 1, .last = seq, .threads_apart = apart};
	struct order *g;

	ok(order_open(&g, r, &o));
	return g;
}

TEST_FN struct order_races races_of(struct sbt_reader *r)
{
	const struct order_options o = {.first = 1, .last = seq};
	struct order_races races;

	ok(order_races(&races, r, &o));
	return races;
}

/* ---- of the trace made so far, once in a test ---- */

static struct sbt_reader *made;

TEST_FN struct sbt_reader *end_once(void)
{
	if (!made)
		made = trace_end(&t);
	return made;
}

TEST_FN void test_over(void)
{
	sbt_reader_close(made);
	made = NULL;
}

TEST_FN struct order *graph_made(bool apart)
{
	return graph_of(end_once(), apart);
}

TEST_FN struct order_races races_found(void)
{
	return races_of(end_once());
}

TEST_FN void graph_over(struct order *g)
{
	order_close(g);
	test_over();
}

TEST_FN void races_over(struct order_races *x)
{
	order_races_free(x);
	test_over();
}

TEST_FN void race_is(const struct order_races *x, size_t i, uint64_t a, uint64_t b)
{
	assert_true(i < x->n);
	assert_int_equal(x->r[i].a.seq, a);
	assert_int_equal(x->r[i].b.seq, b);
}

#endif
