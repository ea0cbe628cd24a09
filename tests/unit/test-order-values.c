/* SPDX-License-Identifier: Apache-2.0
 *
 * Which write ends a wait for a value (order/fold/feed.h), case by case: stream 1 writes, stream 2
 * waits and works, and when the host has waited, stream 3 writes what certainly ends the wait.
 */
#include "order-test.h"

/* What is ordered before the work behind the wait. */
enum ends { FIRST_WRITE, LAST_WRITE, IN_DOUBT };

static uint64_t batch(
	uint64_t stream, bool wait, uint64_t addr, uint64_t value, uint64_t elem, uint64_t flags)
{
	struct sbt_cmd c = cmd_any(seq, SBT_BATCH);

	c.u.batch = (struct sbt_cmd_batch){.stream = stream,
		.is_wait = wait,
		.addr = addr,
		.value = value,
		.elem = elem,
		.op_flags = flags};
	return add(c);
}

static uint64_t one_batch(struct sbt_cmd_batch u)
{
	return batch(u.stream, u.is_wait, u.addr, u.value, u.elem, u.op_flags);
}

/* Then the rest of the trace; write: stream 1's. */
static enum ends ends(uint64_t write, struct sbt_cmd_batch wait, bool another)
{
	uint64_t work, begin_sync, last = 0;
	struct order_item it;
	struct order *g;
	bool first_before, last_before;

	one_batch(wait);
	work = fill(2, A, 16);
	begin_sync = add(cmd_sync_stream(seq, 1));
	add(cmd_sync_end(seq, begin_sync));
	if (another)
		last = batch(3, false, wait.addr, wait.value, 8, 0);
	g = graph_made(false);
	first_before = order_before(g, write, work);
	last_before = another && order_before(g, last, work);
	assert_true(order_item(g, work, &it));
	assert_int_equal(it.early & ~ORDER_EARLY_VALUE, 0);
	graph_over(g);
	return it.early	      ? IN_DOUBT
	       : last_before  ? LAST_WRITE
	       : first_before ? FIRST_WRITE
			      : IN_DOUBT;
}

/* Values are followed from the first wait on: one for a word that nothing writes. */
static void begin_with_a_wait(void)
{
	begin();
	batch(4, true, B + 512, 0, 4, 0);
}

static struct sbt_cmd_batch wait_for_value(
	uint64_t addr, uint64_t value, uint64_t elem, uint64_t flags)
{
	return (struct sbt_cmd_batch){.stream = 2,
		.is_wait = 1,
		.addr = addr,
		.value = value,
		.elem = elem,
		.op_flags = flags};
}

/* Driver API, cuMemsetD8 to cuMemsetD32: the value's lowest bytes, again and again. */
static void test_what_a_fill_leaves(void **unused)
{
	static const struct {
		uint64_t dst, size, elem, value, width;
		uint64_t at, want, bytes;
		enum ends ends;
	} rows[] = {
		{B, 64, 1, 0x1a5, 0, B + 8, 0xa5a5a5a5, 4, FIRST_WRITE},
		{B, 64, 1, 0x1a5, 0, B + 8, 0xa5a5a5a5a5a5a5a5, 8, FIRST_WRITE},
		{B, 64, 2, 0x91234, 0, B + 4, 0x12341234, 4, FIRST_WRITE},
		{B, 64, 2, 0x91234, 0, B + 16, 0x1234123412341234, 8, FIRST_WRITE},
		{B, 64, 4, 0x912345678, 0, B, 0x12345678, 4, FIRST_WRITE},
		{B, 64, 4, 0x912345678, 0, B + 56, 0x1234567812345678, 8, FIRST_WRITE},
		{B, 64, 4, 7, 0, B + 60, 7, 4, FIRST_WRITE}, /* up to its last byte */
		{B, 4, 4, 7, 0, B, 7, 4, FIRST_WRITE},	     /* no more than that */
		{B, 64, 4, 7, 0, B + 60, UINT64_C(7) << 32 | 7, 8, IN_DOUBT}, /* half of it */
		{B, 4, 4, 7, 0, B, UINT64_C(7) << 32 | 7, 8, IN_DOUBT},
		{B + 4, 8, 4, 7, 0, B, UINT64_C(7) << 32 | 7, 8, IN_DOUBT}, /* the other half */
		{B + 4, 8, 4, 7, 0, B, 7, 4, LAST_WRITE},		    /* beside it */
		{B + 4, 8, 4, 7, 0, B + 12, 7, 4, LAST_WRITE},
		{B + 3, 8, 1, 7, 0, B, 7, 4, IN_DOUBT},	     /* a byte of it */
		{B + 2, 16, 4, 7, 0, B + 4, 7, 4, IN_DOUBT}, /* it lies across two elements */
		{B + 4, 16, 4, 7, 0, B + 8, 7, 4, FIRST_WRITE},
		{B, 64, 4, 7, 16, B, 7, 4, IN_DOUBT},  /* of rows it is not said */
		{B, 64, 4, 8, 0, B, 7, 4, LAST_WRITE}, /* another value */
		{B, 64, 1, 7, 0, B, 7, 4, LAST_WRITE},
		{B, 64, 2, 7, 0, B, 7, 4, LAST_WRITE},
		{B, 64, 4, 7, 0, B, 7, 8, LAST_WRITE},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_cmd c;
		enum ends found;

		begin_with_a_wait();
		c = cmd_fill(seq, 1, rows[i].dst, rows[i].size);
		c.u.fill.elem = rows[i].elem;
		c.u.fill.value = rows[i].value;
		c.u.fill.width = rows[i].width;
		c.u.fill.height = rows[i].width ? 1 : 0;
		const uint64_t write = add(c);

		found = ends(
			write, wait_for_value(rows[i].at, rows[i].want, rows[i].bytes, 1), true);
		if (found != rows[i].ends)
			fail_msg("row %zu: %d", i, found);
	}
}

static void test_what_a_write_leaves(void **unused)
{
	static const struct {
		uint64_t at, value, elem;
		uint64_t wait_at, want, bytes;
		enum ends ends;
	} rows[] = {{B, 7, 4, B, 7, 4, FIRST_WRITE}, {B, 7, 8, B, 7, 8, FIRST_WRITE},
		{B, 0x900000007, 8, B, 7, 4, FIRST_WRITE}, {B, 7, 4, B, 7, 8, IN_DOUBT},
		{B + 4, 7, 4, B, 7, 8, IN_DOUBT}, {B + 4, 7, 4, B, 7, 4, LAST_WRITE},
		{B, 7, 8, B + 4, 0, 4, IN_DOUBT}, {B, 7, 8, B + 8, 7, 4, LAST_WRITE},
		{B, 8, 4, B, 7, 4, LAST_WRITE}, {B, 0x900000007, 8, B, 7, 8, LAST_WRITE}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum ends found;

		begin_with_a_wait();
		const uint64_t write = batch(1, false, rows[i].at, rows[i].value, rows[i].elem, 0);

		found = ends(write, wait_for_value(rows[i].wait_at, rows[i].want, rows[i].bytes, 1),
			true);
		if (found != rows[i].ends)
			fail_msg("row %zu: %d", i, found);
	}
}

/* A copy from host memory of which the trace has what it held when the copy was called: known, if
 * nothing can have changed the bytes on the way. */
static void test_what_a_copy_leaves(void **unused)
{
	static const struct {
		uint64_t dst, size, width;
		bool async, pageable;
		uint64_t recorded_at, recorded; /* of the source; 0 bytes: nothing recorded */
		uint64_t at, bytes, want;
		enum ends ends;
	} rows[] = {
		{B, 64, 0, false, true, 0, 64, B + 8, 4, 0x0b0a0908, FIRST_WRITE},
		{B, 64, 0, false, true, 0, 64, B + 8, 8, 0x0f0e0d0c0b0a0908, FIRST_WRITE},
		{B, 64, 0, true, true, 0, 64, B + 8, 4, 0x0b0a0908, FIRST_WRITE},
		{B, 64, 0, false, false, 0, 64, B + 8, 4, 0x0b0a0908, FIRST_WRITE},
		{B, 64, 0, true, false, 0, 64, B + 8, 4, 0x0b0a0908, IN_DOUBT},
		{B, 64, 0, false, true, 0, 64, B + 8, 4, 0x0b0a0909, LAST_WRITE},
		{B, 64, 0, false, true, 0, 0, B + 8, 4, 0x0b0a0908, IN_DOUBT},
		{B, 64, 0, false, true, 8, 4, B + 8, 4, 0x0b0a0908, FIRST_WRITE},
		{B, 64, 0, false, true, 8, 4, B + 8, 8, 0x0f0e0d0c0b0a0908, IN_DOUBT},
		{B, 64, 0, false, true, 9, 32, B + 8, 4, 0x0b0a0908, IN_DOUBT},
		{B, 12, 0, false, true, 0, 64, B + 8, 4, 0x0b0a0908, FIRST_WRITE},
		{B, 11, 0, false, true, 0, 64, B + 8, 4, 0x0b0a0908, IN_DOUBT},
		{B, 12, 0, false, true, 0, 64, B + 8, 8, 0x0f0e0d0c0b0a0908, IN_DOUBT},
		{B, 8, 0, false, true, 0, 64, B + 8, 4, 0x0b0a0908, LAST_WRITE},
		{B + 16, 64, 0, false, true, 0, 64, B + 20, 4, 0x07060504, FIRST_WRITE},
		{B, 64, 64, false, true, 0, 64, B + 8, 4, 0x0b0a0908, IN_DOUBT},
	};
	const uint64_t host = UINT64_C(0x7f0000000000);
	char bytes[64];

	(void)unused;
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)i;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_cmd c;
		enum ends found;

		begin_with_a_wait();
		c = cmd_copy(seq, 1, SBT_COPY_H2D, rows[i].dst, host, rows[i].size, rows[i].async);
		c.u.copy.pageable = rows[i].pageable;
		c.u.copy.width = rows[i].width;
		c.u.copy.height = c.u.copy.depth = rows[i].width ? 1 : 0;
		if (rows[i].recorded)
			piece(seq, SBT_MEMORY_INPUT, host + rows[i].recorded_at,
				bytes + rows[i].recorded_at, rows[i].recorded);
		/* not of this copy's source as it is read */
		piece(seq, SBT_MEMORY_HOST, host, bytes, 64);
		const uint64_t write = add(c);

		found = ends(
			write, wait_for_value(rows[i].at, rows[i].want, rows[i].bytes, 1), true);
		if (found != rows[i].ends)
			fail_msg("row %zu: %d", i, found);
	}
}

/* ---- what another copy brought ---------------------------------------- */

enum but {
	NOTHING,
	NO_OTHER_VALUE,
	ANOTHER_AFTER,
	WAITS_DIFFER,
	WAITS_FOR_MORE,
	WAITS_OTHERWISE,
	WAITS_AGAIN,
	A_LAUNCH,
	A_KNOWN_LAUNCH,
	ON_THE_HOST,
	NEVER_TRUE,
	TWO_COPIES,
	BUTS
};

static bool accesses(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg, (void)at, (void)l;
	return true; /* it touches nothing */
}

/* A word that held something else at first, one unknown copy to it, and waits for one value: that
 * is what the copy brought. Not so when anything about that is otherwise. */
static enum ends concluded(enum but but)
{
	const uint64_t at = but == ON_THE_HOST ? H : B;
	/* a bit of none: an AND with 0 is never anything else */
	const struct sbt_cmd_batch wait =
		but == NEVER_TRUE ? wait_for_value(at, 0, 4, 2) : wait_for_value(at, 7, 4, 1);
	const struct order_source source = {.accesses = accesses};
	struct order_options o = {.first = 1};
	struct sbt_cmd_batch again = wait;
	struct order_item it;
	struct order *g;
	uint64_t write, work, other;
	bool before;

	begin();
	if (but != NO_OTHER_VALUE && but != ANOTHER_AFTER)
		fill(1, at, 16); /* zeros */
	if (but == A_LAUNCH || but == A_KNOWN_LAUNCH)
		f(3, A);
	one_batch(wait);
	work = fill(2, A + 64, 16);
	write = add(cmd_copy(seq, 1, SBT_COPY_D2D, at, A, 16, true));
	if (but == TWO_COPIES)
		add(cmd_copy(seq, 1, SBT_COPY_D2D, at, A, 16, true));
	if (but == ANOTHER_AFTER)
		fill(1, at, 16);
	again.value += but == WAITS_DIFFER;
	again.elem += but == WAITS_FOR_MORE ? 4 : 0;
	again.op_flags = but == WAITS_OTHERWISE ? 0 : again.op_flags;
	if (but == WAITS_DIFFER || but == WAITS_FOR_MORE || but == WAITS_OTHERWISE ||
		but == WAITS_AGAIN)
		one_batch(again);
	if (but == WAITS_DIFFER) { /* so that it ends */
		other = add(cmd_sync_stream(seq, 1));
		add(cmd_sync_end(seq, other));
	}
	o.last = seq;
	o.source = but == A_KNOWN_LAUNCH ? &source : NULL;
	ok(order_open(&g, end_once(), &o));
	before = order_before(g, write, work);
	assert_true(order_item(g, work, &it));
	assert_int_equal(it.early, before ? 0 : ORDER_EARLY_VALUE);
	graph_over(g);
	return before ? FIRST_WRITE : IN_DOUBT;
}

static void test_what_all_wait_for(void **unused)
{
	(void)unused;
	for (unsigned but = 0; but < BUTS; but++) {
		const bool known = but == NOTHING || but == WAITS_AGAIN || but == A_KNOWN_LAUNCH;

		if (concluded(but) != (known ? FIRST_WRITE : IN_DOUBT))
			fail_msg("case %u", but);
	}
}

/* ---- work that is kept back was submitted when its call was made ---------------------------- */

/* What the host learned after the call orders nothing: an unknown copy may have ended the wait
 * before that. */
static void test_the_host_knew_less_when_it_submitted(void **unused)
{
	uint64_t work, other, begins;
	struct order *g;

	(void)unused;
	begin_with_a_wait();
	add(cmd_copy(seq, 1, SBT_COPY_D2D, B, A + 256, 16, true));
	one_batch(wait_for_value(B, 7, 4, 1));
	work = fill(2, A, 16);
	other = fill(3, A, 16);
	begins = add(cmd_sync_stream(seq, 3));
	add(cmd_sync_end(seq, begins));
	batch(1, false, B, 7, 4, 0);
	g = graph_made(false);
	assert_false(order_before(g, other, work));
	assert_false(order_before(g, work, other));
	graph_over(g);
}

/* A wait is for the event as it was recorded last before the call (driver API, cuStreamWaitEvent),
 * also where the wait is kept back, or that record. */
static void test_events_recorded_again_behind_work_that_is_kept(void **unused)
{
	(void)unused;
	for (unsigned kept = 0; kept < 2; kept++) { /* whether the first record is kept, too */
		uint64_t first, second, work, after, set;
		struct order *g;

		begin_with_a_wait();
		if (kept)
			one_batch(wait_for_value(B, 7, 4, 1));
		first = fill(kept ? 2 : 1, A, 16);
		record(kept ? 2 : 1, 0);
		if (!kept)
			one_batch(wait_for_value(B, 7, 4, 1));
		wait_for(2, 0);
		work = fill(2, A, 16);
		second = fill(1, A, 16);
		record(1, 0);
		set = batch(3, false, B, 7, 4, 0);
		wait_for(4, 0);
		after = fill(4, A, 16);
		g = graph_made(false);
		assert_true(order_before(g, set, work));
		assert_true(order_before(g, first, work));
		assert_false(order_before(g, second, work));
		assert_true(order_before(g, second, after));
		assert_false(order_before(g, first, after) != !kept);
		graph_over(g);
	}
}

/* The host waits for an event that is recorded again before the kept record runs. */
static void test_the_host_waits_for_a_kept_record(void **unused)
{
	uint64_t first, second, begins, after;
	struct sbt_cmd c;
	struct order *g;

	(void)unused;
	begin_with_a_wait();
	one_batch(wait_for_value(B, 7, 4, 1));
	first = fill(2, A, 16);
	record(2, 0);
	begins = add(cmd_sync_event(seq, 0));
	c = cmd_fill(seq, 1, A, 16);
	c.thread = 2;
	second = add(c);
	c = cmd_event_record(seq, 1, 0);
	c.thread = 2;
	add(c);
	c = cmd_any(seq, SBT_BATCH);
	c.thread = 2;
	c.u.batch = (struct sbt_cmd_batch){.stream = 3, .addr = B, .value = 7, .elem = 4};
	add(c);
	add(cmd_sync_end(seq, begins));
	after = fill(4, A, 16);
	g = graph_made(true);
	assert_true(order_before(g, first, after));
	assert_false(order_before(g, second, after));
	graph_over(g);
}

/* One fill writes more words than the fold looks at: what is behind the first wait is behind
 * the fill, and so is all that follows on its stream. */
static void test_a_fill_of_many_words(void **unused)
{
	uint64_t waits[100], works[100], w;
	struct sbt_cmd fills;
	struct order_item it;
	struct order *g;
	unsigned known = 0;

	(void)unused;
	begin();
	for (unsigned i = 0; i < 100; i++) {
		waits[i] = batch(2, 1, A + 4 * i, 0x01010101, 4, 0);
		works[i] = fill(2, B + 8 * i, 8);
	}
	fills = cmd_fill(seq, 1, A, 400);
	fills.u.fill.value = 1;
	w = add(fills);
	g = graph_made(false);
	for (unsigned i = 0; i < 100; i++) {
		assert_true(order_item(g, works[i], &it));
		known += order_before(g, w, works[i]);
		assert_true(order_before(g, waits[i], works[i]));
	}
	assert_int_equal(known, 100);
	graph_over(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_a_fill_leaves),
		cmocka_unit_test(test_what_a_write_leaves),
		cmocka_unit_test(test_what_a_copy_leaves), cmocka_unit_test(test_what_all_wait_for),
		cmocka_unit_test(test_the_host_knew_less_when_it_submitted),
		cmocka_unit_test(test_events_recorded_again_behind_work_that_is_kept),
		cmocka_unit_test(test_the_host_waits_for_a_kept_record),
		cmocka_unit_test(test_a_fill_of_many_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
