/* SPDX-License-Identifier: Apache-2.0
 *
 * Happens-before and races in small traces, worked out by hand.
 */
#include "order-test.h"
#include "base/buf.h"
#include "order/in-flight.h"
#include "gpucode/code-traits.h"
#include "order/races/polls.h"
#include "sbt/cmd-pack.h"

/* --- order --- */

static uint64_t value(uint64_t stream, bool wait, uint64_t v)
{
	struct sbt_cmd c = {.kind = SBT_BATCH, .seq = seq};

	c.u.batch = (struct sbt_cmd_batch){.stream = stream,
		.is_wait = wait,
		.addr = B,
		.value = v,
		.elem = 4,
		.op_flags = wait};
	return add(c);
}

static void test_a_wait_for_a_value_is_behind_the_write_that_comes_later(void **unused)
{
	(void)unused;
	begin();
	const uint64_t w = value(2, true, 1), c = fill(2, A, 16), a = fill(1, A, 16),
		       set = value(1, false, 1), free_ = fill(3, A, 16);
	struct order *g = graph_made(false);
	struct order_step *steps;
	uint64_t *order;
	size_t n;

	assert_true(order_before(g, a, c));
	assert_false(order_before(g, c, a));
	assert_false(order_before(g, a, free_));
	ok(order_path(g, a, c, &steps, &n));
	assert_int_equal(n, 3);
	assert_int_equal(steps[1].edge, ORDER_EDGE_VALUE);
	assert_int_equal(steps[1].from, set);
	assert_int_equal(steps[1].to, w);
	free(steps);
	ok(order_recorded(g, &order, &n));
	assert_int_equal(n, 5);
	const uint64_t want[] = {
		a, set, w, c, free_}; /* what was kept goes as soon as the value is there */
	assert_memory_equal(order, want, sizeof want);
	assert_true(order_is_legal(g, order, n));
	free(order);
	graph_over(g);
}

static void test_what_waits_for_a_stream_that_waits_for_a_value_is_behind_it(void **unused)
{
	(void)unused;
	begin();
	value(2, true, 1);
	record(2, 0);
	wait_for(3, 0);
	const uint64_t c = fill(3, A, 16), a = fill(1, A, 16);

	value(1, false, 1);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a, c));
	graph_over(g);
}

static void test_one_of_two_writes_is_no_order(void **unused)
{
	(void)unused;
	begin();
	value(2, true, 1);
	const uint64_t c = fill(2, A, 16), a = fill(1, A, 16);

	value(1, false, 1);
	value(3, false, 1);
	struct order *g = graph_made(false);
	struct order_item it;

	assert_false(order_before(g, a, c));
	assert_true(order_item(g, c, &it));
	assert_true(it.early & ORDER_EARLY_VALUE);
	assert_true(order_item(g, a, &it));
	assert_false(it.early & ORDER_EARLY_VALUE);
	graph_over(g);
}

static bool is_doubtful(struct order *g, uint64_t at)
{
	struct order_item it;

	assert_true(order_item(g, at, &it));
	return it.early & ORDER_EARLY_VALUE;
}

/* Whatever ended a wait came before its end: once the host has waited for the whole context, it is
 * no longer in doubt. A wait for the stream, or for another context, says nothing of it. */
static void test_a_doubt_ends_when_the_context_was_waited_for(void **unused)
{
	(void)unused;
	for (unsigned how = 0; how < 6; how++) {
		begin();
		add(cmd_ctx_create(seq, 1, 5));
		value(2, true, 1); /* no write is known */
		const uint64_t behind = fill(2, A, 16);
		struct sbt_cmd c = how == 1 ? cmd_sync_stream(seq, 2) : cmd_sync_ctx(seq);
		const uint64_t s = seq;

		if (how == 2)
			c.ctx = 1;
		if (how < 4) {
			add(c);
			if (how == 3)
				value(2, true, 1); /* within the wait: it does not cover this one */
			c = cmd_sync_end(seq, s);
			c.ctx = how == 2;
			add(c);
		} else if (how == 4) { /* a free waits, too */
			c = cmd_free(seq, B);
			c.u.free.stream = SBT_NO_ID;
			add(c);
		} else { /* and a query that says yes knows as much */
			c = cmd_query_stream(seq, 2, 0);
			c.u.query.scope = SBT_SYNC_CTX;
			add(c);
		}
		const uint64_t later = fill(2, A, 16), other = fill(1, A + 64, 16);
		struct order *g = graph_made(false);

		assert_true(is_doubtful(g, behind));
		assert_int_equal(is_doubtful(g, later), how >= 1 && how <= 3);
		if (how == 0 || how >= 4)
			assert_false(is_doubtful(g, other));
		graph_over(g);
	}
}

/* By turns: the second wait is not for the first write, over which the other stream has written by
 * then. */
/* A fill whose bytes are known not to be the value is no write that a wait may be for. */
static void test_what_a_fill_wrote_is_known(void **unused)
{
	(void)unused;
	for (unsigned odd = 0; odd < 2; odd++) {
		begin();
		struct sbt_cmd c = cmd_fill(seq, 3, B - 16 + 2 * odd, 32);

		c.u.fill.elem = 4;
		c.u.fill.value = 0x10001; /* shifted by half an element, it would be the same */
		value(2, true, 1);
		const uint64_t behind = fill(2, A, 16);

		c.seq = seq;
		add(c);
		const uint64_t set = value(1, false, 1);
		struct order *g = graph_made(false);

		/* not known: either may be what it waited for */
		assert_int_equal(order_before(g, set, behind), !odd);
		graph_over(g);
	}
}

/* A word is set, or set back, by a copy. *ret_read: the command behind the wait; a fill of the
 * producer's is in front of what sets the word. */
static struct order *flag_by_copy(
	bool from_host, uint64_t dst, uint32_t in_front, uint64_t *ret_fill, uint64_t *ret_read)
{
	begin();
	struct sbt_cmd zero = cmd_fill(seq, 1, B, 4);

	zero.u.fill.elem = 4;
	zero.u.fill.value = in_front;
	add(zero);
	value(2, true, 1);
	*ret_read = fill(2, A, 16);
	*ret_fill = fill(1, A, 16);
	struct sbt_cmd c = cmd_copy(seq, 1, from_host ? SBT_COPY_H2D : SBT_COPY_D2D, dst,
		from_host ? 0x7f0000000000 : A + 64, 4, !from_host);

	c.u.copy.pageable = from_host;
	if (from_host)
		piece(seq, SBT_MEMORY_INPUT, c.u.copy.src, "\1\0\0", 4);
	add(c);
	return graph_made(false);
}

static void test_a_flag_that_a_copy_sets(void **unused)
{
	static const struct {
		bool from_host;
		uint64_t dst;
		uint32_t in_front;
		bool ordered;
	} rows[] = {
		{true, B, 0, true}, {false, B, 0, true}, /* nothing else can have */
		{false, B + 8, 0, false},		 /* the host, or nobody */
		{false, B, 1, false},			 /* it was there already */
	};
	uint64_t a, c;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct order *g =
			flag_by_copy(rows[i].from_host, rows[i].dst, rows[i].in_front, &a, &c);

		assert_int_equal(order_before(g, a, c), rows[i].ordered);
		graph_over(g);
	}
}

static void test_a_value_that_a_fill_took_back_ends_no_wait(void **unused)
{
	(void)unused;
	begin();
	value(1, false, 1);
	struct sbt_cmd zero = cmd_fill(seq, 1, B, 4);

	zero.u.fill.elem = 4;
	zero.u.fill.value = 0;
	add(zero);
	value(2, true, 1);
	const uint64_t c = fill(2, A, 16);

	fill(1, A, 16);
	value(1, false, 1);
	struct order *g = graph_made(false);
	struct order_item it;

	assert_true(order_item(g, c, &it));
	assert_true(it.early & ORDER_EARLY_VALUE); /* no race is certain */
	graph_over(g);
}

static void test_a_value_that_was_taken_back_ends_no_wait(void **unused)
{
	(void)unused;
	begin();
	value(2, true, 1);
	const uint64_t first = fill(2, A, 16);

	value(2, false, 0);
	value(2, true, 1);
	const uint64_t second = fill(2, A, 16), a = fill(1, A, 16);

	value(1, false, 1);
	value(1, true, 0);
	const uint64_t b = fill(1, A, 16);

	value(1, false, 1);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a, first));
	assert_true(order_before(g, first, b));
	assert_true(order_before(g, b, second));
	graph_over(g);
}

static void test_streams_that_wait_for_each_other_come_to_an_end(void **unused)
{
	(void)unused;
	begin();
	value(2, true, 1);
	value(2, false, 2);
	value(1, true, 2);
	value(1, false, 1);
	struct order *g = graph_made(false);
	uint64_t *order;
	size_t n;

	ok(order_recorded(g, &order, &n));
	assert_int_equal(n, 4);
	assert_true(order_is_legal(g, order, n));
	free(order);
	graph_over(g);
}

static void test_streams_are_in_order_and_apart(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), b = fill(1, A, 16), c = fill(2, A, 16);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a, b));
	assert_false(order_before(g, b, a));
	assert_false(order_before(g, a, c));
	assert_false(order_before(g, a, a));
	assert_false(order_before(g, 1, a)); /* no work */
	graph_over(g);
}

static void test_a_wait_is_for_the_last_record_before_it(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);
	const uint64_t rec = record(1, 0);
	const uint64_t b = fill(1, A, 16);
	const uint64_t w = wait_for(2, 0);
	const uint64_t c = fill(2, A, 16);

	record(1, 0); /* a record after the wait does not count */
	const uint64_t d = fill(2, A, 16);
	struct order *g = graph_made(false);
	struct order_step *steps;
	size_t n;

	assert_true(order_before(g, a, c));
	assert_false(order_before(g, b, c));
	assert_false(order_before(g, b, d));
	ok(order_path(g, a, c, &steps, &n));
	assert_int_equal(n, 3);
	assert_int_equal(steps[0].from, a);
	assert_int_equal(steps[0].to, rec);
	assert_int_equal(steps[1].edge, ORDER_EDGE_EVENT);
	assert_int_equal(steps[1].from, rec);
	assert_int_equal(steps[1].to, w);
	assert_int_equal(steps[1].via, w);
	assert_int_equal(steps[2].to, c);
	free(steps);
	struct err *e = order_path(g, b, c, &steps, &n);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	assert_non_null(strstr(e->what, "waits for nothing after #14")); /* the record */
	err_free(e);
	graph_over(g);
}

static void test_an_event_carries_what_its_stream_had_waited_for(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);

	record(1, 0);
	wait_for(2, 0);
	record(2, 1);
	wait_for(3, 1);
	const uint64_t c = fill(3, A, 16);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a, c));
	graph_over(g);
}

static void test_the_default_stream_is_a_barrier_for_blocking_ones(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a3 = fill(3, A, 16), a1 = fill(1, A, 16), d = fill(0, A, 16),
		       b4 = fill(4, A, 16), b1 = fill(1, A, 16);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a3, d));
	assert_true(order_before(g, d, b4));
	assert_true(order_before(g, a3, b4));
	assert_false(order_before(g, a1, d)); /* non-blocking */
	assert_false(order_before(g, d, b1));
	graph_over(g);
}

static void test_what_the_host_waited_for_is_before_what_it_submits(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);
	const uint64_t s = add(cmd_sync_stream(seq, 1));
	const uint64_t late = fill(1, B, 16); /* another thread's, within the wait: not covered */

	add(cmd_sync_end(seq, s));
	const uint64_t b = fill(2, A, 16);
	struct order *g = graph_made(false);
	struct order_step *steps;
	size_t n;

	assert_true(order_before(g, a, b));
	assert_false(order_before(g, late, b));
	ok(order_path(g, a, b, &steps, &n));
	assert_int_equal(n, 2);
	assert_int_equal(steps[0].edge, ORDER_EDGE_LEARNED);
	assert_int_equal(steps[1].edge, ORDER_EDGE_HOST);
	free(steps);
	graph_over(g);
}

static void test_waiting_for_the_context_covers_all_its_streams(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), c = fill(3, B, 16);
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
	const uint64_t b = fill(2, A, 16);
	struct order *g = graph_made(false);
	struct order_step *steps;
	size_t n;

	assert_true(order_before(g, a, b));
	assert_true(order_before(g, c, b));
	ok(order_path(g, a, b, &steps, &n));
	assert_int_equal(steps[0].from, a);
	assert_int_equal(steps[n - 1].to, b);
	free(steps);
	graph_over(g);
}

static void test_a_query_that_says_yes_is_a_wait(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);

	add(cmd_query_stream(seq, 1, STATE_NOT_READY));
	const uint64_t b = fill(2, A, 16);

	add(cmd_query_stream(seq, 1, 0));
	const uint64_t c = fill(2, A, 16);
	struct order *g = graph_made(false);

	assert_false(order_before(g, a, b));
	assert_true(order_before(g, a, c));
	graph_over(g);
}

static void test_a_synchronous_copy_to_the_host_is_a_wait(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);
	const uint64_t copy = add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 16, false));
	const uint64_t b = fill(2, A, 16);

	add(cmd_copy(
		seq, 2, SBT_COPY_D2D, B, A, 16, false)); /* the host does not wait for this one */
	const uint64_t c = fill(1, A, 16);
	struct order *g = graph_made(false);

	assert_true(order_before(g, a, b));
	assert_true(order_before(g, copy, b));
	assert_false(order_before(g, b, c));
	graph_over(g);
}

static void test_threads_apart_are_not_ordered_by_their_calls(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);
	const uint64_t s = add(cmd_sync_stream(seq, 1));

	add(cmd_sync_end(seq, s));
	struct sbt_cmd c = cmd_fill(seq, 2, A, 16);

	c.thread = 2;
	const uint64_t b = add(c);
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);

	assert_true(order_before(g, a, b));
	order_close(g);
	g = graph_of(r, true);
	assert_false(order_before(g, a, b));
	order_close(g);
	sbt_reader_close(r);
}

/* --- races --- */

static void test_two_writes_without_an_edge_race(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 64), b = fill(2, A + 32, 64);
	struct order_races x = races_found();
	struct buf cure = BUF_INIT;

	assert_int_equal(x.n, 1);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	assert_int_equal(x.r[0].addr, A + 32);
	assert_int_equal(x.r[0].size, 32);
	assert_int_equal(x.r[0].alloc, A);
	order_race_cure(&cure, &x.r[0]);
	assert_string_equal(buf_cstr(&cure),
		"cuStreamWaitEvent on stream 2 before #14, for an event recorded on stream 1 after #13");
	buf_free(&cure);
	races_over(&x);
}

/* The cure is for the side that can be cured, and names what is to be done there. */
static void test_each_race_has_its_cure(void **unused)
{
	static const struct {
		const char *words[3];
		uint32_t a_stream, b_stream, a_node;
		enum order_how a_how, b_how;
		uint16_t early;
		uint64_t behind;
		enum order_unread unread;
		bool flag;
	} rows[] = {
		{{"cuStreamWaitEvent on stream 2 before #9", "stream 1 after #7"}, 1, 2, SBT_NO_ID,
			ORDER_WRITE, ORDER_WRITE, 0, 0, 0, 0},
		{{"cuStreamWaitEvent on stream 2 before the free #9"}, 1, 2, SBT_NO_ID, ORDER_READ,
			ORDER_DEATH, 0, 0, 0, 0},
		{{"before the allocation #9"}, 1, 2, SBT_NO_ID, ORDER_READ, ORDER_BIRTH, 0, 0, 0,
			0},
		{{"free later: #9 uses", "#7 frees on stream 1"}, 1, 2, SBT_NO_ID, ORDER_DEATH,
			ORDER_READ, 0, 0, 0, 0},
		{{"host's writes before #7", "before #9 on stream 2"}, SBT_NO_ID, 2, SBT_NO_ID,
			ORDER_WRITE, ORDER_READ, 0, 0, 0, 0},
		{{"cuStreamSynchronize on stream 1", "after #7", "before it writes"}, 1, SBT_NO_ID,
			SBT_NO_ID, ORDER_READ, ORDER_WRITE, 0, 0, 0, 0},
		{{"cuStreamSynchronize on stream 1", "after #7", "before it reads"}, 1, SBT_NO_ID,
			SBT_NO_ID, ORDER_WRITE, ORDER_READ, 0, 0, ORDER_ENDED, 0},
		{{"in every thread of #9", "or no programmatic"}, 1, 1, SBT_NO_ID, ORDER_WRITE,
			ORDER_READ, ORDER_EARLY | ORDER_EARLY_BEHIND, 7, 0, 0},
		{{"in every thread of #9", "and in the launches between the two"}, 1, 1, SBT_NO_ID,
			ORDER_WRITE, ORDER_READ, ORDER_EARLY | ORDER_EARLY_BEHIND, 8, 0, 0},
		{{"when what ended the wait for a value comes behind #7", "stream 2 before #9"}, 1,
			2, SBT_NO_ID, ORDER_WRITE, ORDER_READ, ORDER_EARLY_VALUE, 0, 0, 0},
		{{"recorded by cuEventRecord after #7", "on stream 2 before #9"}, 1, 2, SBT_NO_ID,
			ORDER_WRITE, ORDER_READ, ORDER_EARLY_EVENT, 0, 0, 0},
		{{"recorded by cuEventRecord after #7"}, 1, 2, SBT_NO_ID, ORDER_WRITE, ORDER_READ,
			ORDER_EARLY_TRIGGER, 0, 0, 0},
		{{"between nodes 4 and 5"}, 1, 1, 4, ORDER_WRITE, ORDER_READ, 0, 0, 0, 0},
		{{"later one of nodes 4 and 5", "memory, or a full dependency"}, 1, 1, 4,
			ORDER_WRITE, ORDER_READ, ORDER_EARLY | ORDER_EARLY_LOOSE, 7, 0, 0},
		{{"later one of nodes 4 and 5", "in the nodes between the two"}, 1, 1, 4,
			ORDER_WRITE, ORDER_READ, ORDER_EARLY | ORDER_EARLY_LOOSE, 8, 0, 0},
		{{"when the kernel polls", "let the host wait for the kernel"}, 1, SBT_NO_ID,
			SBT_NO_ID, ORDER_READ, ORDER_WRITE, 0, 0, 0, true},
		{{"when the kernel polls", "let the host write before the launch"}, SBT_NO_ID, 1,
			SBT_NO_ID, ORDER_WRITE, ORDER_READ, 0, 0, 0, true},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct order_race r = {.a = {.seq = 7,
						     .stream = rows[i].a_stream,
						     .node = rows[i].a_node,
						     .how = rows[i].a_how},
			.b = {.seq = 9,
				.stream = rows[i].b_stream,
				.node = rows[i].a_node == SBT_NO_ID ? SBT_NO_ID : 5,
				.how = rows[i].b_how},
			.early = rows[i].early,
			.behind = rows[i].behind,
			.unread = rows[i].unread,
			.flag = rows[i].flag};
		struct buf b = BUF_INIT;

		order_race_cure(&b, &r);
		for (unsigned k = 0; k < 3 && rows[i].words[k]; k++)
			if (!strstr(buf_cstr(&b), rows[i].words[k]))
				fail_msg("row %zu: \"%s\" does not say \"%s\"", i, buf_cstr(&b),
					rows[i].words[k]);
		buf_free(&b);
	}
}

static void test_neighbours_do_not_race(void **unused)
{
	(void)unused;
	begin();
	fill(1, A, 64);
	fill(2, A + 64, 64);
	fill(1, A, 32);
	add(cmd_copy(seq, 2, SBT_COPY_D2D, B, A + 64, 64, true));
	struct order_races x = races_found();

	assert_int_equal(x.n, 0);
	races_over(&x);
}

static void test_reads_do_not_race_and_a_later_write_does_with_each(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_D2D, B, A, 64, true));
	const uint64_t b = add(cmd_copy(seq, 2, SBT_COPY_D2D, B + 64, A, 64, true));
	const uint64_t w = fill(3, A, 64);
	struct order_races x = races_found();

	assert_int_equal(x.n, 2);
	race_is(&x, 0, a, w);
	assert_int_equal(x.r[1].a.seq, b);
	assert_int_equal(x.r[1].a.how, ORDER_READ);
	assert_int_equal(x.r[1].b.how, ORDER_WRITE);
	races_over(&x);
}

static void test_a_wait_ends_the_race(void **unused)
{
	(void)unused;
	begin();
	fill(1, A, 64);
	record(1, 0);
	wait_for(2, 0);
	fill(2, A, 64);
	f(2, A);
	struct order_races x = races_found();

	assert_int_equal(x.n, 0);
	races_over(&x);
}

static void test_a_kernel_known_by_its_arguments_is_possible_only(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = f(1, A + 8),
		       b = add(cmd_copy(seq, 2, SBT_COPY_D2D, B, A + 512, 64, true));
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].tier, ORDER_POSSIBLE);
	assert_int_equal(x.r[0].a.seq, a);
	assert_int_equal(x.r[0].a.kernel, 0);
	assert_int_equal(x.r[0].b.seq, b);
	races_over(&x);
}

/* f writes the first 16 bytes behind its argument, and nothing else. */
static bool knows(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	order_access_add(l, A, A + 16, ORDER_WRITE);
	return true;
}

static void test_a_kernel_that_was_given_the_address_is_likely(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = f(1, A + 64);
	const uint64_t b = fill(2, A, 512);

	f(1, B); /* two kernels with the same address may both only read */
	f(2, B);
	struct order_races x = races_found();

	assert_int_equal(x.n, 2);
	assert_int_equal(x.r[0].tier, ORDER_LIKELY);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].addr, A + 64);
	assert_int_equal(x.r[1].tier, ORDER_POSSIBLE);
	assert_int_equal(x.r[1].addr, B);
	races_over(&x);
}

static void test_exact_sets_decide(void **unused)
{
	(void)unused;
	begin();
	f(1, A);
	add(cmd_copy(seq, 2, SBT_COPY_D2D, B, A + 512, 64, true));
	const uint64_t b = add(cmd_copy(seq, 2, SBT_COPY_D2D, B, A + 8, 64, true));
	struct sbt_reader *r = trace_end(&t);
	const struct order_source src = {.accesses = knows};
	const struct order_options o = {.first = 1, .last = seq, .source = &src};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	assert_int_equal(x.r[0].b.seq, b);
	assert_int_equal(x.r[0].addr, A + 8);
	assert_int_equal(x.r[0].size, 8);
	order_races_free(&x);
	sbt_reader_close(r);
}

/* One range over the end of A and the allocation that begins there. */
static bool knows_both(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	order_access_add(l, A + SIZE - 16, A + SIZE + 16, ORDER_WRITE);
	return true;
}

static void test_an_exact_range_reaches_over_two_allocations(void **unused)
{
	(void)unused;
	begin();
	add(cmd_alloc(seq, A + SIZE, SIZE));
	f(1, A);
	const uint64_t b = fill(2, A + SIZE + 8, 64);
	struct sbt_reader *r = trace_end(&t);
	const struct order_source src = {.accesses = knows_both};
	const struct order_options o = {.first = 1, .last = seq, .source = &src};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].b.seq, b);
	assert_int_equal(x.r[0].addr, A + SIZE + 8);
	assert_int_equal(x.r[0].size, 8);
	assert_int_equal(x.r[0].alloc, A + SIZE);
	order_races_free(&x);
	sbt_reader_close(r);
}

static void test_the_same_two_places_are_told_once(void **unused)
{
	(void)unused;
	begin();
	for (unsigned i = 0; i < 5; i++) {
		struct sbt_cmd a = cmd_fill(seq, 1, A, 64), b;

		a.stack = 7;
		add(a);
		b = cmd_fill(seq, 2, A, 64);
		b.stack = 8;
		add(b);
		const uint64_t s = add(cmd_sync_ctx(seq));
		add(cmd_sync_end(seq, s));
	}
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].count, 5);
	assert_int_equal(x.r[0].a.seq, 13);
	races_over(&x);
}

/* What one line of the program did in two ways are two places. */
static void test_other_commands_of_the_same_stack_are_other_places(void **unused)
{
	(void)unused;
	for (unsigned how = 0; how < 4; how++) {
		begin();
		for (unsigned i = 0; i < 2; i++) {
			struct sbt_cmd a = cmd_fill(seq, 1, A, 64), b;

			if (i && how == 1)
				a = cmd_copy(seq, 1, SBT_COPY_D2D, A, A + 512, 64, true);
			if (i && how == 2)
				a.u.fill.stream = 3;
			a.stack = i && how == 3 ? 9 : 7;
			add(a);
			b = cmd_fill(seq, 2, A, 64);
			b.stack = 8;
			add(b);
			const uint64_t s = add(cmd_sync_ctx(seq));
			add(cmd_sync_end(seq, s));
		}
		struct order_races x = races_found();

		assert_int_equal(x.n, how ? 2 : 1);
		assert_int_equal(x.r[0].count, how ? 1 : 2);
		races_over(&x);
	}
}

static void test_use_after_a_stream_ordered_free(void **unused)
{
	(void)unused;
	begin();
	struct sbt_cmd c = cmd_alloc(seq, 0x900000, SIZE);

	c.u.alloc.stream = 1;
	const uint64_t born = add(c);
	const uint64_t early = fill(2, 0x900000, 64); /* may run before the allocation */

	c = cmd_free(seq, 0x900000);
	c.u.free.stream = 1;
	const uint64_t dead = add(c);
	const uint64_t late = fill(1, 0x900000, 64);
	struct order_races x = races_found();

	assert_int_equal(x.n, 3);
	race_is(&x, 0, born, early);
	race_is(&x, 1, early, dead);
	race_is(&x, 2, dead, late);
	races_over(&x);
}

static void test_freed_memory_that_is_allocated_again_is_new(void **unused)
{
	(void)unused;
	begin();
	fill(1, A, 64);
	add(cmd_free(seq, A));
	add(cmd_alloc(seq, A, SIZE));
	const uint64_t b = fill(2, A, 64);
	struct order_races x = races_found();
	struct order *g = graph_made(false);

	assert_true(order_before(g, 13, b)); /* freeing waits */
	order_close(g);
	assert_int_equal(x.n, 0);
	races_over(&x);
}

/* The host changes 64 bytes at addr before the command to come. */
static void host_changes(uint64_t addr)
{
	const struct sbt_memory m = {
		.seq = seq, .role = SBT_MEMORY_HOST, .addr = addr, .size = 64, .module = SBT_NO_ID};
	uint32_t id;

	ok(sbt_writer_memory(t.w, &m, &id));
}

static void test_the_host_changes_memory_that_is_still_being_copied(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_H2D, A, H, 256, true));

	host_changes(H + 64);
	const uint64_t b = add(cmd_copy(seq, 2, SBT_COPY_H2D, B, H, 256, true));
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
	host_changes(H);
	add(cmd_copy(seq, 1, SBT_COPY_H2D, A, H, 256, true));
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].b.stream, SBT_NO_ID);
	assert_int_equal(x.r[0].addr, H + 64);
	races_over(&x);
}

/* The command behind the change allocates: what was changed is no part of the new memory. */
static void test_the_host_changes_memory_before_an_allocation(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_H2D, A, H, 256, true));

	host_changes(H + 64);
	const uint64_t b = add(cmd_alloc(seq, 16 * H, SIZE));
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].b.stream, SBT_NO_ID);
	assert_int_equal(x.r[0].alloc, H);
	races_over(&x);
}

/* Memory of the host as it is now. */
static void look_at(uint64_t at, const void *bytes, uint64_t n)
{
	const struct sbt_memory m = {.seq = seq,
		.role = SBT_MEMORY_HOST,
		.addr = at,
		.size = n,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint32_t id;

	ok(sbt_writer_memory(t.w, &m, &id));
	ok(sbt_writer_memory_bytes(t.w, id, bytes, n));
}

/* All of it changes. */
static void change(uint64_t at, uint64_t n)
{
	static uint8_t value;
	uint8_t bytes[256];

	assert_true(n <= sizeof bytes);
	memset(bytes, ++value, n);
	look_at(at, bytes, n);
}

/* The recording has 256 bytes before two launches; between them the 8 bytes at `at` changed, while
 * those from H + 64 to H + 128 were copied. */
static struct order_races page_races(uint64_t at, bool known_before)
{
	uint8_t bytes[256] = {0};

	begin();
	if (known_before)
		look_at(H, bytes, sizeof bytes);
	f(1, B);
	add(cmd_copy(seq, 2, SBT_COPY_H2D, A, H + 64, 64, true));
	memset(bytes + at, 1, 8);
	look_at(H, bytes, sizeof bytes);
	f(1, B);
	return races_found();
}

static void test_what_changed_in_a_page_is_known_by_its_words(void **unused)
{
	(void)unused;
	for (uint64_t at = 48; at <= 128; at += 8) {
		const bool hit = at >= 64 && at < 128;
		struct order_races x = page_races(at, true);

		assert_int_equal(x.n, hit);
		if (hit) {
			assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
			assert_int_equal(x.r[0].addr, H + at);
			assert_int_equal(x.r[0].size, 8);
		}
		races_over(&x);
		x = page_races(at, false);
		assert_int_equal(x.n, 1);
		assert_int_equal(
			x.r[0].tier, ORDER_POSSIBLE); /* what it held before is not known */
		races_over(&x);
	}
}

/* The host does not wait for a copy into H; the next launch finds H changed: by that copy, most
 * likely. */
static void test_a_change_may_be_a_copys_own(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 256, true));

	change(H, 256);
	const uint64_t b = f(2, B);
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].tier, ORDER_POSSIBLE);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].b.stream, SBT_NO_ID);
	races_over(&x);
}

/* The copy was waited for before the comparison of #launch: what changes after that is the host's,
 * and the copy on stream 2 still reads. */
static void test_what_was_waited_for_explains_no_later_change(void **unused)
{
	(void)unused;
	begin();
	add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 256, true));
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
	change(H, 256);
	f(1, B);
	const uint64_t a = add(cmd_copy(seq, 2, SBT_COPY_H2D, A, H, 64, true));

	change(H, 256);
	const uint64_t b = f(1, B);
	struct order_races x = races_found();

	assert_true(x.n >= 1);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	race_is(&x, 0, a, b);
	assert_int_equal(x.r[0].size, 64);
	assert_true(x.n == 1 || x.r[1].tier == ORDER_POSSIBLE);
	races_over(&x);
}

/* Pages that the device alone changed are not recorded where the pages that the program wrote are
 * known. A copy wrote the page's first words and was waited for; a launch came, and the page was
 * not recorded. Then the host wrote behind those words: what the copy wrote is in the page that is
 * recorded now. It is no change of the host's while a copy on stream 2 reads it. */
static struct order_races rest_of_page_races(uint64_t host_writes_at)
{
	uint8_t bytes[256] = {0};

	begin();
	look_at(H, bytes, sizeof bytes);
	f(1, B);
	add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 64, true));
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
	f(1, B);
	add(cmd_copy(seq, 2, SBT_COPY_H2D, A, H, 128, true));
	memset(bytes, 1, 64);
	memset(bytes + host_writes_at, 2, 16);
	look_at(H, bytes, sizeof bytes);
	f(1, B);
	return races_found();
}

static void test_the_device_wrote_the_rest_of_a_page(void **unused)
{
	(void)unused;
	struct order_races x = rest_of_page_races(128);

	for (size_t i = 0; i < x.n; i++)
		assert_int_equal(x.r[i].tier, ORDER_POSSIBLE);
	races_over(&x);
	x = rest_of_page_races(80);
	assert_true(x.n >= 1);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	assert_int_equal(x.r[0].addr, H + 80);
	races_over(&x);
}

static bool writes_pinned(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	order_access_add(l, H, H + 16, ORDER_WRITE);
	return true;
}

static void test_what_a_kernel_writes_is_not_the_hosts(void **unused)
{
	(void)unused;
	begin();
	f(1, H);
	change(H, 64);
	f(1, H);
	struct sbt_reader *r = trace_end(&t);
	const struct order_source src = {.accesses = writes_pinned};
	const struct order_options o = {.first = 1, .last = seq, .source = &src};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 0);
	order_races_free(&x);
	sbt_reader_close(r);
}

/* --- nodes of a graph --- */

static void node(uint64_t number, enum sbt_node type, struct sbt_cmd what, const uint32_t *deps,
	size_t ndeps)
{
	what.flags |= SBT_F_GRAPH; /* as it is recorded: it went into the graph */
	const size_t n = sbt_pack_size(&what);
	void *packed = xmalloc(n);
	struct sbt_cmd c;

	sbt_pack(packed, &what);
	c = cmd_graph_node(
		seq, 0, number, type, type == SBT_NODE_KERNEL ? 0 : SBT_NO_ID, packed, n);
	c.u.graph_node.deps = (struct sbt_blob){deps, ndeps * sizeof *deps};
	add(c);
	free(packed);
}

/* 10 fills A; 11, after it, copies A to B; 12 runs f(B) and 13 fills the first half of B, both
 * after 10 only. Then it is launched twice. */
static uint64_t the_graph(void)
{
	static const uint32_t ten = 10;
	static const uint64_t b = B;
	struct sbt_cmd k = cmd_launch(1, 0, 0);

	k.u.launch.args = (struct sbt_blob){&b, 8};
	struct sbt_cmd graph = cmd_any(seq, SBT_GRAPH_CREATE);

	graph.u.graph_create.new_graph = 0;
	graph.u.graph_create.clone_of = SBT_NO_ID;
	add(graph);
	node(10, SBT_NODE_FILL, cmd_fill(1, 0, A, SIZE), NULL, 0);
	node(11, SBT_NODE_COPY, cmd_copy(1, 0, SBT_COPY_D2D, B, A, SIZE, true), &ten, 1);
	node(12, SBT_NODE_KERNEL, k, &ten, 1);
	node(13, SBT_NODE_FILL, cmd_fill(1, 0, B, SIZE / 2), &ten, 1);
	add(cmd_graph_instantiate(seq, 1, 0));
	add(cmd_graph_launch(seq, 1, 1));
	return add(cmd_graph_launch(seq, 1, 1)) - 1;
}

static void is_pair(
	const struct order_race *r, uint64_t at, uint32_t a, uint32_t b, enum order_tier tier)
{
	assert_int_equal(r->a.seq, at);
	assert_int_equal(r->b.seq, at);
	assert_int_equal(r->a.node, a);
	assert_int_equal(r->b.node, b);
	assert_int_equal(r->tier, tier);
}

static void test_nodes_without_a_path_race(void **unused)
{
	(void)unused;
	begin();
	const uint64_t at = the_graph();
	struct order_races x = races_found();

	assert_int_equal(x.n, 3);
	is_pair(&x.r[0], at, 11, 13, ORDER_CERTAIN);
	assert_int_equal(x.r[0].addr, B);
	assert_int_equal(x.r[0].size, SIZE / 2);
	assert_int_equal(x.r[0].a.kind, SBT_COPY);
	assert_int_equal(x.r[0].b.kind, SBT_FILL);
	assert_true(
		x.r[1].tier == ORDER_LIKELY && x.r[2].tier == ORDER_LIKELY); /* f(B): with both */
	assert_true(x.r[1].a.kernel == 0 || x.r[1].b.kernel == 0);
	races_over(&x);
}

/* 1 and 2 run f(B), 2 behind a programmatic edge; 3 behind 2 by a full one. */
/* A node that no command kind describes may be one that allocates: the graph's memory may lie where
 * other memory was freed. */
static void test_a_graph_that_allocates_where_memory_was_freed(void **unused)
{
	(void)unused;
	for (int allocates = 0; allocates < 2; allocates++) {
		begin();
		struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_CREATE);

		c.u.graph_create.new_graph = 0;
		c.u.graph_create.clone_of = SBT_NO_ID;
		add(c);
		node(10, SBT_NODE_FILL, cmd_fill(1, 0, 0x900000, SIZE), NULL, 0);
		if (allocates)
			node(11, SBT_NODE_OTHER, cmd_fill(1, 0, 0x900000, SIZE), NULL, 0);
		add(cmd_graph_instantiate(seq, 1, 0));
		c = cmd_alloc(seq, 0x900000, SIZE);
		c.u.alloc.stream = 1;
		add(c);
		c = cmd_free(seq, 0x900000);
		c.u.free.stream = 1;
		const uint64_t dead = add(c);
		const uint64_t late = add(cmd_graph_launch(seq, 1, 1));
		struct order_races x = races_found();

		assert_int_equal(x.n, allocates ? 0 : 1);
		if (!allocates)
			race_is(&x, 0, dead, late);
		races_over(&x);
	}
}

static void programmatic_graph(bool early)
{
	static const uint32_t one = 1, two = 2;
	static const uint64_t b = B;
	struct sbt_cmd k = cmd_launch(1, 0, 0), graph = cmd_any(seq, SBT_GRAPH_CREATE);

	k.u.launch.args = (struct sbt_blob){&b, 8};
	graph.u.graph_create.new_graph = 0;
	graph.u.graph_create.clone_of = SBT_NO_ID;
	add(graph);
	node(1, SBT_NODE_KERNEL, k, NULL, 0);
	k.u.launch.launch_attrs = early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	node(2, SBT_NODE_KERNEL, k, &one, 1);
	k.u.launch.launch_attrs = 0;
	node(3, SBT_NODE_KERNEL, k, &two, 1);
	add(cmd_graph_instantiate(seq, 1, 0));
	add(cmd_graph_launch(seq, 1, 1));
}

/* Whether 2 waits is not known, so neither is whether 1 is before 3; 2 is before 3. */
static void test_a_programmatic_edge_orders_nothing_for_certain(void **unused)
{
	(void)unused;
	begin();
	programmatic_graph(true);
	struct order_races x = races_found();

	assert_true(x.n >= 2);
	assert_int_equal(x.early_edges, x.n);
	for (size_t i = 0; i < x.n; i++) {
		assert_int_equal(x.r[i].tier, ORDER_POSSIBLE);
		assert_int_equal(x.r[i].a.node, 1);
		assert_true(x.r[i].early & ORDER_EARLY_UNKNOWN);
	}
	races_over(&x);
	begin();
	programmatic_graph(false);
	x = races_found();
	assert_int_equal(x.n, 0);
	races_over(&x);
}

/* The launch as a whole: A and B written, A read, and of B the last 16 bytes. */
static bool knows_graph(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	order_access_add(l, A, A + SIZE, ORDER_WRITE);
	order_access_add(l, B, B + SIZE, ORDER_WRITE);
	order_access_add(l, A, A + SIZE, ORDER_READ);
	order_access_add(l, B + SIZE - 16, B + SIZE, ORDER_READ);
	return true;
}

/* Only f was given B and nobody else reads it, so f reads the 16 bytes: that races with the copy,
 * and not with the fill of the other half. Whether it writes nobody knows, since others write all
 * of B. */
static void test_what_only_one_node_can_have_done(void **unused)
{
	(void)unused;
	begin();
	const uint64_t at = the_graph();
	struct sbt_reader *r = trace_end(&t);
	const struct order_source src = {.accesses = knows_graph};
	const struct order_options o = {.first = 1, .last = seq, .source = &src};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_true(x.n >= 2);
	is_pair(&x.r[0], at, 11, 13, ORDER_CERTAIN);
	is_pair(&x.r[1], at, 11, 12, ORDER_LIKELY);
	order_races_free(&x);
	sbt_reader_close(r);
}

static void test_rows_of_a_pitched_copy_are_apart(void **unused)
{
	(void)unused;
	begin();
	struct sbt_cmd c = cmd_copy(seq, 1, SBT_COPY_D2D, A, B, 64, true);

	/* the left and the right half of rows of 32 bytes */
	c.u.copy.width = 16;
	c.u.copy.height = 4;
	c.u.copy.depth = 1;
	c.u.copy.dst_pitch = c.u.copy.src_pitch = 32;
	add(c);
	c = cmd_copy(seq, 2, SBT_COPY_D2D, A + 16, B, 64, true);
	c.u.copy.width = 16;
	c.u.copy.height = 4;
	c.u.copy.depth = 1;
	c.u.copy.dst_pitch = c.u.copy.src_pitch = 32;
	add(c);
	const uint64_t b = fill(2, A + 40, 1); /* the left half of the second row */
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	race_is(&x, 0, 13, b);
	races_over(&x);
}

/* Of more than 65,536 rows what lies between them counts, too, and nothing is certain. */
static void test_very_many_rows_are_one_range(void **unused)
{
	static const struct {
		uint64_t height, depth;
		bool one;
	} how[] = {{2, 3, false}, {65536, 1, false}, {65537, 1, true}, {256, 256, false},
		{256, 257, true}, {3, 65535, true}};
	struct order_accesses l = {.n = 0};
	struct state *s = state_new();

	(void)unused;
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		struct sbt_cmd c = cmd_copy(1, 1, SBT_COPY_D2D, 0x10000000, 0x20000000, 16, true);
		const uint64_t rows = how[i].height * how[i].depth;

		c.u.copy.size = 16 * rows;
		c.u.copy.width = 16;
		c.u.copy.height = how[i].height;
		c.u.copy.depth = how[i].depth;
		c.u.copy.dst_pitch = c.u.copy.src_pitch = 32;
		l.n = 0;
		l.unknown = false;
		order_accesses_of(&l, s, &c);
		assert_int_equal(l.n, how[i].one ? 2 : 2 * rows);
		for (size_t k = 0; k < l.n; k++) {
			assert_int_equal(l.a[k].how == ORDER_MAYBE, how[i].one);
			assert_int_equal(
				l.a[k].end - l.a[k].addr, how[i].one ? 32 * rows - 16 : 16);
		}
	}
	free(l.a);
	state_free(s);
}

/* --- copies that nobody can have read in time --- */

static uint64_t to_host(uint64_t stream)
{
	return add(cmd_copy(seq, stream, SBT_COPY_D2H, H, A, 256, true));
}

static void assert_unread(
	const struct order_race *r, enum order_unread why, uint64_t copy, uint64_t by)
{
	assert_int_equal(r->unread, why);
	assert_int_equal(r->tier, ORDER_POSSIBLE);
	assert_int_equal(r->a.seq, copy);
	assert_int_equal(r->b.seq, by);
	assert_int_equal(r->b.stream, SBT_NO_ID);
	assert_int_equal(r->b.how, ORDER_READ);
	assert_int_equal(r->addr, H);
	assert_int_equal(r->size, 256);
}

static void test_a_copy_is_overwritten_before_anybody_waited(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = to_host(1), b = to_host(1);
	const uint64_t s = add(cmd_sync_stream(seq, 1));

	add(cmd_sync_end(seq, s)); /* b is waited for, and a then is too late */
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	assert_unread(&x.r[0], ORDER_OVERWRITTEN, a, b);
	races_over(&x);
}

/* Only a copy that returns before it has arrived, into memory that the host reads in place, can be
 * read too early; of rows it is not known which bytes are read. */
static void test_which_copies_can_be_read_too_early(void **unused)
{
	enum { REGISTERED = 0xa00000, MANAGED = 0xb00000, NOWHERE = 0xc00000 };
	static const struct {
		enum sbt_copy dir;
		uint64_t dst, width;
		bool async, pageable, found;
	} rows[] = {{SBT_COPY_D2H, H, 0, true, false, true},
		{SBT_COPY_D2H, REGISTERED, 0, true, false, true},
		{SBT_COPY_D2H, H, 0, false, false, false}, {SBT_COPY_D2H, H, 0, true, true, false},
		{SBT_COPY_D2H, H, 64, true, false, false},
		{SBT_COPY_D2H, MANAGED, 0, true, false, false},
		{SBT_COPY_D2H, NOWHERE, 0, true, false, false},
		{SBT_COPY_D2D, H, 0, true, false, false}, {SBT_COPY_ANY, H, 0, true, false, false}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_cmd c;

		begin();
		c = cmd_alloc(seq, REGISTERED, SIZE);
		c.u.alloc.mem = SBT_MEM_REGISTERED;
		add(c);
		c = cmd_alloc(seq, MANAGED, SIZE);
		c.u.alloc.mem = SBT_MEM_MANAGED;
		add(c);
		for (unsigned k = 0; k < 2; k++) {
			c = cmd_copy(seq, 1, rows[i].dir, rows[i].dst, A, 64, rows[i].async);
			c.u.copy.pageable = rows[i].pageable;
			c.u.copy.width = rows[i].width;
			c.u.copy.height = c.u.copy.depth = rows[i].width != 0;
			add(c);
		}
		const uint64_t s = add(cmd_sync_stream(seq, 1));

		add(cmd_sync_end(seq, s));
		struct order_races x = races_found();

		if (x.n != rows[i].found)
			fail_msg("row %zu: %zu found", i, x.n);
		if (x.n)
			assert_int_equal(x.r[0].unread, ORDER_OVERWRITTEN);
		races_over(&x);
	}
}

static void test_a_copy_that_was_waited_for_or_taken_on_is_read(void **unused)
{
	(void)unused;
	begin();
	to_host(1);
	const uint64_t s = add(cmd_sync_stream(seq, 1));

	add(cmd_sync_end(seq, s));
	to_host(1);
	add(cmd_copy(seq, 1, SBT_COPY_H2D, B, H, 16, true)); /* the device reads it */
	to_host(1);
	struct sbt_cmd c = cmd_any(seq, SBT_HOST_FUNC);

	c.u.host_func.stream = 1;
	add(c);
	to_host(1); /* overwrites what the function may have read; then it is left */
	struct sbt_reader *r = trace_end(&t);
	const struct order_options o = {.first = 1, .last = seq}; /* the end of a part is no end */
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 0);
	order_races_free(&x);
	sbt_reader_close(r);
}

static void test_a_copy_is_freed_or_left_before_anybody_waited(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = to_host(1);
	struct sbt_cmd c = cmd_any(seq, SBT_FREE);

	c.u.free.addr = H;
	c.u.free.stream = SBT_NO_ID;
	const uint64_t b = add(c);
	c = cmd_alloc(seq, H, SIZE);
	c.u.alloc.mem = SBT_MEM_PINNED;
	add(c);
	const uint64_t d = to_host(2), e = fill(2, B, 16);
	struct sbt_reader *r = trace_end(&t);
	const struct order_options o = {0};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 2);
	assert_unread(&x.r[0], ORDER_FREED, a, b);
	assert_unread(&x.r[1], ORDER_ENDED, d, e);
	order_races_free(&x);
	sbt_reader_close(r);
}

/* What somebody found out about the host's writes goes before what can be told from the recording.
 */
static bool knows_all(void *arg, uint64_t at)
{
	(void)arg;
	(void)at;
	return true;
}

static bool knows_no_kernel(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	(void)l;
	return false;
}

static void test_what_the_host_wrote_can_be_known(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = to_host(1);

	change(H, 256);
	const uint64_t b = f(2, B);
	struct sbt_reader *r = trace_end(&t);
	const struct order_change its = {.seq = b, .addr = H + 8, .end = H + 16};
	struct order_source src = {.accesses = knows_no_kernel,
		.knows_host = knows_all,
		.changes = &its,
		.nchanges = 1};
	const struct order_options o = {.first = 1, .last = seq, .source = &src};
	struct order_races x;

	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	assert_int_equal(x.r[0].a.seq, a);
	assert_int_equal(x.r[0].addr, H + 8);
	assert_int_equal(x.r[0].size, 8);
	order_races_free(&x);
	src.nchanges = 0; /* all of it the device's, as it was this time */
	ok(order_races(&x, r, &o));
	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].tier, ORDER_POSSIBLE);
	order_races_free(&x);
	sbt_reader_close(r);
}

/* CUDA driver API, "API synchronization behavior": such a copy may return before its bytes have
 * arrived. */
static void test_a_pageable_copy_returns_before_it_has_arrived(void **unused)
{
	static const struct {
		uint64_t size;
		bool strict, returned;
		enum order_tier tier;
		enum order_staged staged;
		uint64_t width, height, depth;
	} rows[] = {{65536, false, true, ORDER_POSSIBLE, ORDER_STAGED_SMALL, 0, 0, 0},
		{65536, true, true, ORDER_CERTAIN, ORDER_STAGED_SMALL, 0, 0, 0},
		{65537, false, true, ORDER_CERTAIN, ORDER_STAGED, 0, 0, 0},
		{65536, false, false, ORDER_CERTAIN, ORDER_NOT_STAGED, 0, 0, 0},
		/* rows have as many bytes as they have, whatever lies between them */
		{65536, false, true, ORDER_POSSIBLE, ORDER_STAGED_SMALL, 256, 256, 1},
		{65792, false, true, ORDER_CERTAIN, ORDER_STAGED, 256, 257, 1},
		{65536, false, true, ORDER_POSSIBLE, ORDER_STAGED_SMALL, 256, 64, 4},
		{66560, false, true, ORDER_CERTAIN, ORDER_STAGED, 256, 65, 4}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin();
		struct sbt_cmd c =
			cmd_copy(seq, 1, SBT_COPY_H2D, A, 0x7f0000000000, rows[i].size, false);

		c.u.copy.pageable = 1;
		c.u.copy.async = !rows[i].returned;
		c.u.copy.width = rows[i].width;
		c.u.copy.height = rows[i].height;
		c.u.copy.depth = rows[i].depth;
		c.u.copy.dst_pitch = c.u.copy.src_pitch = rows[i].height ? 512 : 0;
		const uint64_t a = add(c), b = fill(2, A + 16, 16);
		struct sbt_reader *r = trace_end(&t);
		const struct order_options o = {.first = 1, .last = seq, .strict = rows[i].strict};
		struct order_races x;
		struct order *g;

		ok(order_races(&x, r, &o));
		assert_int_equal(x.n, 1);
		assert_int_equal(x.r[0].a.seq, a);
		assert_int_equal(x.r[0].b.seq, b);
		assert_int_equal(x.r[0].tier, rows[i].tier);
		assert_int_equal(x.r[0].staged, rows[i].staged);
		ok(order_open(&g, r, &o));
		assert_int_equal(order_before(g, a, b), rows[i].tier == ORDER_POSSIBLE);
		order_close(g);
		order_races_free(&x);
		sbt_reader_close(r);
	}
}

/* One look at H, before command look: what was in flight then, as ranges. */
static struct buf flights_at(struct sbt_reader *r, uint64_t look)
{
	const struct order_options o = {.first = 1, .last = seq};
	const struct order_look l = {look, H, H + 256};
	struct buf found = BUF_INIT;

	ok(order_in_flight(&found, r, &o, &l, 1));
	return found;
}

static void test_a_copy_is_in_flight_until_a_wait_for_it_returned(void **unused)
{
	(void)unused;
	begin();
	const uint64_t copy = to_host(1), beside = f(1, B);
	const uint64_t s = add(cmd_sync_stream(seq, 1));
	const uint64_t end = add(cmd_sync_end(seq, s)), after = f(1, B);
	struct sbt_reader *r = trace_end(&t);
	struct buf found = flights_at(r, beside);
	struct order_change c;

	(void)end;
	assert_int_equal(found.len, sizeof c);
	memcpy(&c, found.data, sizeof c);
	assert_int_equal(c.seq, beside);
	assert_int_equal(c.by, copy);
	assert_int_equal(c.addr, H);
	buf_free(&found);
	found = flights_at(r, after);
	assert_int_equal(found.len, 0);
	buf_free(&found);
	sbt_reader_close(r);
}

/* A stream waits for a value that is written later; whoever waits for that stream knows that the
 * write, and what is before it, has happened. */
static void test_a_wait_for_a_value_tells_what_is_over(void **unused)
{
	(void)unused;
	begin();
	value(2, true, 1);
	const uint64_t held = to_host(2), before = f(3, B),
		       copy = add(cmd_copy(seq, 1, SBT_COPY_D2H, H + 64, A, 16, true));
	value(1, false, 1);
	const uint64_t s = add(cmd_sync_stream(seq, 2));
	add(cmd_sync_end(seq, s));
	const uint64_t after = f(3, B);
	struct sbt_reader *r = trace_end(&t);
	struct buf found = flights_at(r, before);
	struct order_change c;

	(void)copy;
	assert_int_equal(found.len, sizeof c);
	memcpy(&c, found.data, sizeof c);
	assert_int_equal(c.by, held); /* nothing says when the value is there */
	buf_free(&found);
	found = flights_at(r, s);
	assert_int_equal(found.len, 2 * sizeof c);
	buf_free(&found);
	found = flights_at(r, after);
	assert_int_equal(found.len, 0);
	buf_free(&found);
	sbt_reader_close(r);
}

static void test_a_later_copy_of_another_thread_may_run_during_the_look(void **unused)
{
	(void)unused;
	begin();
	const uint64_t look = f(1, B);
	struct sbt_cmd c = cmd_copy(seq, 2, SBT_COPY_D2H, H, A, 16, true);

	c.thread = 2;
	const uint64_t copy = add(c);

	add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 16,
		true)); /* of the thread that looked: its look is over */
	struct sbt_reader *r = trace_end(&t);
	struct buf found = flights_at(r, look);
	struct order_change x;

	assert_int_equal(found.len, sizeof x);
	memcpy(&x, found.data, sizeof x);
	assert_int_equal(x.by, copy);
	buf_free(&found);
	sbt_reader_close(r);
}

static bool is_suspect(const struct order_suspects *x, uint64_t at)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->seq[i] == at)
			return true;
	return false;
}

static void test_what_is_ordered_with_all_is_no_suspect(void **unused)
{
	(void)unused;
	begin();
	const uint64_t alone = f(1, A);

	record(1, 0);
	wait_for(2, 0);
	const uint64_t a = f(1, A), b = f(2, B);
	struct sbt_reader *r = trace_end(&t);
	const struct order_options o = {.first = 1, .last = seq};
	struct order_suspects x;

	ok(order_suspects(&x, r, &o));
	assert_int_equal(x.launches, 3);
	assert_int_equal(x.n, 2);
	assert_false(is_suspect(&x, alone));
	assert_true(is_suspect(&x, a) && is_suspect(&x, b));
	assert_false(x.host);
	order_suspects_free(&x);
	sbt_reader_close(r);
}

/* A launch that may begin early overlaps with the one in front of it, and with none before that. */
static void test_a_launch_that_may_begin_early_is_suspect(void **unused)
{
	(void)unused;
	begin();
	const uint64_t first = f(1, A), front = f(1, A), p = A;
	struct sbt_cmd c = cmd_launch(seq, 1, 0);

	c.u.launch.args = (struct sbt_blob){&p, 8};
	c.u.launch.launch_attrs = 1u << SBT_ATTR_PROGRAMMATIC_STREAM;
	const uint64_t early = add(c), behind = f(1, A);
	struct sbt_reader *r = trace_end(&t);
	const struct order_options o = {.first = 1, .last = seq};
	struct order_suspects x;

	ok(order_suspects(&x, r, &o));
	assert_int_equal(x.launches, 4);
	assert_true(is_suspect(&x, front) && is_suspect(&x, early));
	assert_false(is_suspect(&x, first) || is_suspect(&x, behind));
	order_suspects_free(&x);
	sbt_reader_close(r);
}

static void test_page_locked_memory_that_changes_beside_work_is_suspect(void **unused)
{
	(void)unused;
	for (int waits = 0; waits < 2; waits++) {
		begin();
		const uint64_t a = f(1, A);

		if (waits) {
			const uint64_t s = add(cmd_sync_stream(seq, 1));

			add(cmd_sync_end(seq, s));
		}
		change(H, 256);
		f(1, B);
		struct sbt_reader *r = trace_end(&t);
		const struct order_options o = {.first = 1, .last = seq};
		struct order_suspects x;

		ok(order_suspects(&x, r, &o));
		assert_int_equal(x.host, !waits);
		assert_int_equal(is_suspect(&x, a), !waits);
		order_suspects_free(&x);
		sbt_reader_close(r);
	}
}

/* By all pairs. */
static void test_no_suspect_is_overlooked(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sbt_reader *r = trace_random(seed * 104729, 400, 100, 0, NULL, NULL);
		const struct order_options o = {.strict = true};
		struct order_suspects x;
		struct sbt_cursor *cursor;
		const struct sbt_cmd *c;
		struct order *g;
		static uint64_t touching[4096], launch[4096];
		size_t n = 0, launches = 0;

		ok(order_suspects(&x, r, &o));
		ok(order_open(&g, r, &o));
		ok(sbt_cursor_open(&cursor, r));
		for (;;) {
			struct order_item it;

			ok(sbt_cursor_next(cursor, &c));
			if (!c)
				break;
			if (!order_item(g, c->seq, &it) ||
				(c->kind != SBT_LAUNCH && c->kind != SBT_COPY &&
					c->kind != SBT_FILL && c->kind != SBT_GRAPH_LAUNCH))
				continue;
			touching[n++] = c->seq;
			if (c->kind == SBT_LAUNCH)
				launch[launches++] = c->seq;
		}
		for (size_t i = 0; i < launches; i++)
			for (size_t k = 0; k < n; k++)
				if (launch[i] != touching[k] &&
					!order_before(g, launch[i], touching[k]) &&
					!order_before(g, touching[k], launch[i]))
					assert_true(is_suspect(&x, launch[i]));
		sbt_cursor_close(cursor);
		order_close(g);
		order_suspects_free(&x);
		sbt_reader_close(r);
	}
}

/* PTX ISA 9.0, 8.3: strong operations; of the block's own memory they are no flag of somebody
 * else's. */
static void test_which_kernels_poll(void **unused)
{
	static const struct {
		const char *line;
		bool polls;
	} rows[] = {{"ld.volatile.global.u32 %r1, [%rd1];", true},
		{"ld.acquire.sys.global.u32 %r1, [%rd1];", true},
		{"ld.relaxed.sys.u32 %r1, [%rd1];", true},
		{"atom.global.add.u32 %r1, [%rd1], 0;", true},
		{"ld.global.u32 %r1, [%rd1];", false},
		{"ld.volatile.shared.u32 %r1, [%r2];", false},
		{"st.volatile.global.u32 [%rd1], %r1;", false},
		{"atom.shared.add.u32 %r1, [%r2], 1;", false}, {"call.uni other, ();", true}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];

		snprintf(text, sizeof text,
			".visible .func other()\n{\n ld.volatile.u32 %%r1, [%%rd1];\n}\n.visible .entry k_long(.param .u64 p)\n{\n"
			"ld.acquire.gpu.u32 %%r1, [%%rd1];\n}\n.visible .entry k(.param .u64 p)\n{\n\t%s\n\tret;\n}\n",
			rows[i].line);
		if (code_traits_of(text, strlen(text), CODE_PTX, "k").polls != rows[i].polls)
			fail_msg("%s", rows[i].line);
		assert_false(code_traits_of(text, strlen(text), CODE_PTX, "none").there);
	}
}

/* A launch polls when its kernel does, a graph launch when one of its kernels does. */
static void test_which_launches_poll(void **unused)
{
	static const char *const loads[] = {
		"ld.global.u32 %r1, [%rd1];", "ld.acquire.sys.global.u32 %r1, [%rd1];"};

	(void)unused;
	for (unsigned polls = 0; polls < 2; polls++) {
		struct polls p = {.codes.n = 0};
		struct sbt_cmd c;
		struct state *s;
		char text[256];
		uint64_t hash;
		bool yes;

		begin();
		snprintf(text, sizeof text,
			".visible .entry f(.param .u64 p)\n{\n\t%s\n\tret;\n}\n", loads[polls]);
		ok(sbt_writer_code(t.w, text, strlen(text), CODE_PTX, &hash));
		the_graph();
		struct sbt_reader *r = trace_end(&t);

		ok(state_at(&s, r, seq - 1));
		c = cmd_launch(seq, 1, 0);
		ok(polls_launch(&p, r, s, &c, &yes));
		assert_int_equal(yes, polls);
		c = cmd_graph_launch(seq, 1, 1);
		ok(polls_launch(&p, r, s, &c, &yes));
		assert_int_equal(yes, polls);
		c = cmd_fill(seq, 1, A, 16);
		ok(polls_launch(&p, r, s, &c, &yes));
		assert_false(yes);
		polls_free(&p);
		state_free(s);
		sbt_reader_close(r);
	}
}

static void test_any_trace_can_be_judged(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sbt_reader *r = trace_random(seed * 7919, 3000, 500, 0, NULL, NULL);
		const struct order_options o = {.threads_apart = seed & 1};
		struct order_races x;
		struct order *g;
		struct order_item it;

		ok(order_races(&x, r, &o));
		ok(order_open(&g, r, &o));
		/* Every race is between commands that the graph does not order either way. */
		for (size_t i = 0; i < x.n; i++)
			if (x.r[i].a.stream != SBT_NO_ID && x.r[i].b.stream != SBT_NO_ID &&
				x.r[i].a.how != ORDER_DEATH)
				assert_false(order_before(g, x.r[i].a.seq, x.r[i].b.seq));
		for (size_t i = 0; order_item_at(g, i, &it); i++)
			assert_false(order_before(g, it.seq, it.seq));
		order_races_free(&x);
		order_close(g);
		sbt_reader_close(r);
	}
}

struct seen {
	uint64_t before, after, last; /* seqs; last: at which the pass is to end */
	struct order_item items[64];
	bool in[64];
};

static struct err *see_before(
	void *arg, const struct order *o, const struct state *s, const struct sbt_cmd *c)
{
	struct seen *x = arg;
	struct state_alloc a;

	assert_int_equal(c->seq, x->before + 1);
	assert_int_equal(x->after, x->before);
	x->before = c->seq;
	x->in[c->seq] = order_item(o, c->seq, &x->items[c->seq]);
	if (c->kind == SBT_ALLOC)
		assert_false(state_alloc_at(s, c->u.alloc.addr, &a));
	return c->seq == x->last ? err_new(ERR_LIMIT, "enough") : NULL;
}

static struct err *see_after(void *arg, const struct state *s, const struct sbt_cmd *c)
{
	struct seen *x = arg;
	struct state_alloc a;

	assert_int_equal(c->seq, x->before);
	x->after = c->seq;
	if (c->kind == SBT_ALLOC)
		assert_true(state_alloc_at(s, c->u.alloc.addr, &a));
	return NULL;
}

/* Whoever sees the commands in the pass has each once, with its item as it stays. */
static void test_others_see_the_pass(void **state)
{
	struct seen x = {0};
	struct order_options o = {
		.before = see_before, .after = see_after, .before_arg = &x, .after_arg = &x};
	struct sbt_reader *r;
	struct order_item it;
	struct order *g;
	struct err *e;

	(void)state;
	begin();
	f(1, A);
	record(1, 0);
	wait_for(2, 0);
	f(2, A);
	fill(3, B, 16);
	f(4, B);
	r = trace_end(&t);
	ok(order_open(&g, r, &o));
	assert_int_equal(x.before, seq - 1);
	assert_int_equal(x.after, seq - 1);
	assert_false(order_waits(g));
	for (uint64_t i = 1; i < seq; i++) {
		assert_int_equal(order_item(g, i, &it), x.in[i]);
		if (x.in[i])
			assert_memory_equal(&it, &x.items[i], sizeof it);
	}
	assert_true(x.in[FIRST] && x.in[seq - 1] && !x.in[1]);
	assert_int_equal(order_before(g, FIRST, FIRST + 3), true);
	order_close(g);
	x = (struct seen){.last = FIRST + 1};
	e = order_open(&g, r, &o);
	assert_non_null(e);
	assert_string_equal(e->what, "enough");
	assert_int_equal(x.after, FIRST);
	err_free(e);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_see_the_pass),
		cmocka_unit_test(test_a_wait_for_a_value_is_behind_the_write_that_comes_later),
		cmocka_unit_test(test_what_waits_for_a_stream_that_waits_for_a_value_is_behind_it),
		cmocka_unit_test(test_one_of_two_writes_is_no_order),
		cmocka_unit_test(test_a_doubt_ends_when_the_context_was_waited_for),
		cmocka_unit_test(test_what_a_fill_wrote_is_known),
		cmocka_unit_test(test_a_flag_that_a_copy_sets),
		cmocka_unit_test(test_a_value_that_a_fill_took_back_ends_no_wait),
		cmocka_unit_test(test_a_value_that_was_taken_back_ends_no_wait),
		cmocka_unit_test(test_streams_that_wait_for_each_other_come_to_an_end),
		cmocka_unit_test(test_streams_are_in_order_and_apart),
		cmocka_unit_test(test_a_wait_is_for_the_last_record_before_it),
		cmocka_unit_test(test_an_event_carries_what_its_stream_had_waited_for),
		cmocka_unit_test(test_the_default_stream_is_a_barrier_for_blocking_ones),
		cmocka_unit_test(test_what_the_host_waited_for_is_before_what_it_submits),
		cmocka_unit_test(test_waiting_for_the_context_covers_all_its_streams),
		cmocka_unit_test(test_a_query_that_says_yes_is_a_wait),
		cmocka_unit_test(test_a_synchronous_copy_to_the_host_is_a_wait),
		cmocka_unit_test(test_threads_apart_are_not_ordered_by_their_calls),
		cmocka_unit_test(test_two_writes_without_an_edge_race),
		cmocka_unit_test(test_each_race_has_its_cure),
		cmocka_unit_test(test_neighbours_do_not_race),
		cmocka_unit_test(test_reads_do_not_race_and_a_later_write_does_with_each),
		cmocka_unit_test(test_a_wait_ends_the_race),
		cmocka_unit_test(test_a_kernel_known_by_its_arguments_is_possible_only),
		cmocka_unit_test(test_a_kernel_that_was_given_the_address_is_likely),
		cmocka_unit_test(test_exact_sets_decide),
		cmocka_unit_test(test_an_exact_range_reaches_over_two_allocations),
		cmocka_unit_test(test_the_same_two_places_are_told_once),
		cmocka_unit_test(test_other_commands_of_the_same_stack_are_other_places),
		cmocka_unit_test(test_use_after_a_stream_ordered_free),
		cmocka_unit_test(test_a_graph_that_allocates_where_memory_was_freed),
		cmocka_unit_test(test_freed_memory_that_is_allocated_again_is_new),
		cmocka_unit_test(test_the_host_changes_memory_that_is_still_being_copied),
		cmocka_unit_test(test_the_host_changes_memory_before_an_allocation),
		cmocka_unit_test(test_what_changed_in_a_page_is_known_by_its_words),
		cmocka_unit_test(test_a_change_may_be_a_copys_own),
		cmocka_unit_test(test_what_was_waited_for_explains_no_later_change),
		cmocka_unit_test(test_what_a_kernel_writes_is_not_the_hosts),
		cmocka_unit_test(test_the_device_wrote_the_rest_of_a_page),
		cmocka_unit_test(test_nodes_without_a_path_race),
		cmocka_unit_test(test_a_programmatic_edge_orders_nothing_for_certain),
		cmocka_unit_test(test_what_only_one_node_can_have_done),
		cmocka_unit_test(test_rows_of_a_pitched_copy_are_apart),
		cmocka_unit_test(test_very_many_rows_are_one_range),
		cmocka_unit_test(test_a_copy_is_overwritten_before_anybody_waited),
		cmocka_unit_test(test_which_copies_can_be_read_too_early),
		cmocka_unit_test(test_a_copy_that_was_waited_for_or_taken_on_is_read),
		cmocka_unit_test(test_a_copy_is_freed_or_left_before_anybody_waited),
		cmocka_unit_test(test_what_the_host_wrote_can_be_known),
		cmocka_unit_test(test_a_pageable_copy_returns_before_it_has_arrived),
		cmocka_unit_test(test_a_copy_is_in_flight_until_a_wait_for_it_returned),
		cmocka_unit_test(test_a_wait_for_a_value_tells_what_is_over),
		cmocka_unit_test(test_a_later_copy_of_another_thread_may_run_during_the_look),
		cmocka_unit_test(test_what_is_ordered_with_all_is_no_suspect),
		cmocka_unit_test(test_a_launch_that_may_begin_early_is_suspect),
		cmocka_unit_test(test_page_locked_memory_that_changes_beside_work_is_suspect),
		cmocka_unit_test(test_no_suspect_is_overlooked),
		cmocka_unit_test(test_which_kernels_poll),
		cmocka_unit_test(test_which_launches_poll),
		cmocka_unit_test(test_any_trace_can_be_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
