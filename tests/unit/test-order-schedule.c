/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules: conflicting pairs, other orders, and such an order written as a trace, worked out by
 * hand.
 */
#include "order-test.h"

/* --- schedules --- */

static void assert_order(uint64_t *seqs, size_t n, const uint64_t *want, size_t nwant)
{
	assert_int_equal(n, nwant);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(seqs[i], want[i]);
	free(seqs);
}

#define assert_schedule(seqs, n, ...)                                                              \
	do {                                                                                       \
		const uint64_t want_[] = {__VA_ARGS__};                                            \
		assert_order(seqs, n, want_, sizeof want_ / sizeof *want_);                        \
	} while (0)

static void test_flipping_a_pair_takes_what_it_needs_along(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16); /* 13 */
	const uint64_t c = fill(2, B, 16); /* 14 */
	const uint64_t rec = record(2, 0); /* 15 */
	const uint64_t d = fill(1, B, 64); /* 16 */
	const uint64_t w = wait_for(3, 0); /* 17 */
	const uint64_t b = fill(3, A, 16); /* 18 */
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	uint64_t *seqs;
	size_t n;

	ok(order_recorded(g, &seqs, &n));
	assert_true(order_is_legal(g, seqs, n));
	assert_schedule(seqs, n, a, c, rec, d, w, b);
	ok(order_flip(g, a, b, &seqs, &n));
	assert_true(order_is_legal(g, seqs, n));
	assert_schedule(seqs, n, c, rec, w, b, a, d);
	struct err *e = order_flip(g, c, b, &seqs, &n);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	ok(order_prefer(g, 1, false, &seqs, &n)); /* stream 1 starves */
	assert_schedule(seqs, n, c, rec, w, b, a, d);
	ok(order_prefer(g, 1, true, &seqs, &n));
	assert_schedule(seqs, n, a, d, c, rec, w, b);
	const uint64_t wrong[] = {a, w, rec, c, d, b};
	assert_false(order_is_legal(g, wrong, 6));
	assert_false(order_is_legal(g, wrong, 0));
	order_close(g);
	sbt_reader_close(r);
}

static void test_starts_decide_where_there_is_a_choice(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16); /* 13 */
	const uint64_t b = fill(1, A, 16); /* 14 */
	const uint64_t c = fill(2, A, 16); /* 15 */
	const uint64_t rec = record(2, 0); /* 16 */
	const uint64_t d = fill(2, B, 16); /* 17 */
	const uint64_t w = wait_for(3, 0); /* 18 */
	const uint64_t e = fill(3, A, 16); /* 19: behind c, whatever its time says */
	const struct order_start starts[] = {{a, 100}, {b, 400}, {c, 200}, {d, 500}, {e, 50}};
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	uint64_t *seqs;
	size_t n;

	ok(order_started(g, starts, 5, &seqs, &n));
	assert_true(order_is_legal(g, seqs, n));
	assert_schedule(seqs, n, a, c, rec, w, e, b, d);
	ok(order_started(g, starts, 0, &seqs, &n)); /* nothing known: as submitted */
	assert_schedule(seqs, n, a, b, c, rec, d, w, e);
	order_close(g);
	sbt_reader_close(r);
}

struct pair_list {
	struct order_pair p[64];
	size_t n;
};

static void list_pair(void *arg, const struct order_party *a, const struct order_party *b)
{
	struct pair_list *l = arg;

	assert_true(l->n < 64);
	l->p[l->n++] = (struct order_pair){a->seq, b->seq};
}

static struct pair_list conflicts_of(struct sbt_reader *r, struct order *g, bool *unknown)
{
	struct pair_list l = {.n = 0};
	const struct order_options o = {.first = 1, .last = seq, .each = list_pair, .each_arg = &l};

	ok(order_conflicts(g, r, &o, unknown));
	return l;
}

/* What is behind a wait for a value is ordered behind a command that was submitted later: no
 * pair to turn round. */
static void test_a_wait_for_a_value_orders_backwards(void **unused)
{
	(void)unused;
	begin();
	struct sbt_cmd wait = {.kind = SBT_BATCH, .seq = seq};
	bool unknown;

	wait.u.batch = (struct sbt_cmd_batch){
		.stream = 2, .is_wait = true, .addr = B, .value = 1, .elem = 4, .op_flags = 1};
	add(wait);
	const uint64_t c = fill(2, A, 16);
	fill(1, A, 16);
	struct sbt_cmd set = wait;
	set.seq = seq;
	set.u.batch.stream = 1;
	set.u.batch.is_wait = false;
	add(set);
	const uint64_t free_ = fill(3, A, 4);
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	const struct pair_list l = conflicts_of(r, g, &unknown);

	assert_int_equal(l.n, 2); /* both fills of the other streams against the third's */
	assert_int_equal(l.p[0].before, c);
	assert_int_equal(l.p[0].after, free_);
	assert_int_equal(l.p[1].after, free_);
	order_close(g);
	sbt_reader_close(r);
}

/* A race is told with the last writer alone; whoever turns pairs round needs the ones before it,
 * too. */
static void test_every_pair_is_a_conflict_of_its_own(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), b = fill(1, A, 16), c = fill(1, A, 16),
		       d = fill(2, A, 16);
	fill(2, A + 16, 16);
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	bool unknown;
	const struct pair_list l = conflicts_of(r, g, &unknown);
	uint64_t *seqs;
	size_t n;

	assert_false(unknown);
	assert_int_equal(l.n, 3);
	const uint64_t firsts[] = {a, b, c};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(l.p[i].before, firsts[i]);
		assert_int_equal(l.p[i].after, d);
	}
	/* Of the eight ways to put d before or behind each, four are orders: d's place is first,
	 * second, third or last. */
	unsigned orders = 0;
	for (unsigned ways = 0; ways < 8; ways++) {
		struct order_pair want[3];

		for (unsigned i = 0; i < 3; i++)
			want[i] = ways >> i & 1 ? (struct order_pair){d, firsts[i]}
						: (struct order_pair){firsts[i], d};
		struct err *e = order_with(g, want, 3, &seqs, &n);
		if (e) {
			assert_int_equal(e->code, ERR_NOT_FOUND);
			err_free(e);
			continue;
		}
		orders++;
		assert_true(order_is_legal(g, seqs, n));
		if (ways == 4)
			assert_schedule(seqs, n, a, b, d, c, d + 1);
		else
			free(seqs);
	}
	assert_int_equal(orders, 4);
	order_close(g);
	sbt_reader_close(r);
}

static void test_conflicts_are_neither_ordered_nor_of_other_memory(void **unused)
{
	(void)unused;
	begin();
	struct sbt_cmd c = cmd_alloc(seq, 3 * B, SIZE);
	c.u.alloc.mem = SBT_MEM_ASYNC;
	c.u.alloc.stream = 1;
	add(c);
	fill(1, 3 * B, 16);
	c = cmd_any(seq, SBT_FREE);
	c.u.free.addr = 3 * B;
	c.u.free.stream = 1;
	add(c);
	c = cmd_alloc(seq, 3 * B, SIZE);
	c.u.alloc.mem = SBT_MEM_ASYNC;
	c.u.alloc.stream = 2;
	add(c);
	fill(2, 3 * B, 16); /* the same address, other memory */
	const uint64_t a = fill(1, A, 16);
	record(1, 0);
	wait_for(2, 0);
	fill(2, A, 16); /* ordered */
	const uint64_t b = fill(3, A, 8);
	add(cmd_any(seq, SBT_HOST_FUNC));
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	bool unknown;
	const struct pair_list l = conflicts_of(r, g, &unknown);

	assert_int_equal(l.n, 2); /* both fills of A with stream 3's */
	assert_int_equal(l.p[0].before, a);
	assert_int_equal(l.p[0].after, b);
	assert_int_equal(l.p[1].after, b);
	order_close(g);
	sbt_reader_close(r);
}

/* One range over the end of A and the allocation that begins there. */
static bool over_both(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	order_access_add(l, A + SIZE - 16, A + SIZE + 16, ORDER_READ);
	return true;
}

/* As on a GPU whose allocations lie wall to wall: what is found of the second one must not count as
 * the first one's. */
static void test_a_range_over_two_allocations_conflicts_in_both(void **unused)
{
	(void)unused;
	begin();
	add(cmd_alloc(seq, A + SIZE, SIZE));
	const uint64_t a = fill(1, A + SIZE, 64), b = fill(1, A + 8, 64), c = f(2, A),
		       d = fill(3, A + SIZE - 8, 8);
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	const struct order_source src = {.accesses = over_both};
	struct pair_list l = {.n = 0};
	const struct order_options o = {
		.first = 1, .last = seq, .each = list_pair, .each_arg = &l, .source = &src};
	bool unknown;

	ok(order_conflicts(g, r, &o, &unknown));
	assert_int_equal(l.n, 2);
	assert_int_equal(l.p[0].before, a);
	assert_int_equal(l.p[0].after, c);
	assert_int_equal(l.p[1].before, c);
	assert_int_equal(l.p[1].after, d);
	(void)b;
	order_close(g);
	sbt_reader_close(r);
}

static struct sbt_cmd async(unsigned kind, uint64_t stream)
{
	struct sbt_cmd c = kind == SBT_ALLOC ? cmd_alloc(seq, 3 * B, SIZE) : cmd_any(seq, kind);

	if (kind == SBT_ALLOC) {
		c.u.alloc.mem = SBT_MEM_ASYNC;
		c.u.alloc.stream = stream;
	} else {
		c.u.free.addr = 3 * B;
		c.u.free.stream = stream;
	}
	return c;
}

/* Stream 2 uses memory that stream 1 frees; its next owner's write meets the use only when the free
 * does not wait for that. */
static void next_owner(bool waits, uint64_t *use, uint64_t *dead, uint64_t *write)
{
	begin();
	add(async(SBT_ALLOC, 1));
	record(1, 0);
	wait_for(2, 0);
	*use = fill(2, 3 * B, 16);
	if (waits) {
		record(2, 1);
		wait_for(1, 1);
	}
	*dead = add(async(SBT_FREE, 1));
	add(async(SBT_ALLOC, 1));
	*write = fill(1, 3 * B + 8, 16);
}

static void test_a_late_user_meets_the_next_owner(void **unused)
{
	(void)unused;
	for (unsigned waits = 0; waits < 2; waits++) {
		uint64_t use, dead, write;
		bool unknown;

		next_owner(waits, &use, &dead, &write);
		struct sbt_reader *r = trace_end(&t);
		struct order *g = graph_of(r, false);
		const struct pair_list l = conflicts_of(r, g, &unknown);

		assert_int_equal(l.n, waits ? 0 : 2);
		if (!waits) {
			assert_int_equal(l.p[0].before, use);
			assert_int_equal(l.p[0].after, dead);
			assert_int_equal(l.p[1].before, use);
			assert_int_equal(l.p[1].after, write);
		}
		order_close(g);
		sbt_reader_close(r);
	}
}

/* --- what the host writes --- */

#define HOST(seq) ((seq) | ORDER_HOST)

static uint64_t from_host(uint64_t stream, uint64_t to)
{
	return add(cmd_copy(seq, stream, SBT_COPY_H2D, to, H, 64, true));
}

static void test_the_hosts_changes_are_entries(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = from_host(1, A), b = from_host(2, B), s = add(cmd_sync_stream(seq, 1));
	add(cmd_sync_end(seq, s));
	const uint64_t c = from_host(2, B);
	struct sbt_reader *r = trace_end(&t);
	const struct order_change changes[] = {{.seq = b, .addr = H, .end = H + 8},
		{.seq = b, .addr = H + 16, .end = H + 32}, {.seq = c, .addr = H, .end = H + 4},
		{.seq = c, .addr = H + 8, .end = H + 16, .by = b}};
	struct pair_list l = {.n = 0};
	const struct order_options o = {.first = 1,
		.last = seq,
		.changes = changes,
		.nchanges = 4,
		.each = list_pair,
		.each_arg = &l};
	struct order *g;
	uint64_t *seqs;
	size_t n;
	bool unknown;

	ok(order_open(&g, r, &o));
	ok(order_recorded(g, &seqs, &n));
	assert_true(order_is_legal(g, seqs, n));
	assert_schedule(seqs, n, a, HOST(b), b, HOST(c), c);
	ok(order_flip(g, a, HOST(b), &seqs, &n));
	assert_true(order_is_legal(g, seqs, n));
	assert_schedule(seqs, n, HOST(b), a, b, HOST(c), c);
	ok(order_prefer(
		g, SBT_NO_ID, true, &seqs, &n)); /* the host waits for a before its second change */
	assert_schedule(seqs, n, HOST(b), a, HOST(c), b, c);
	struct err *e = order_flip(g, a, HOST(c), &seqs, &n);
	assert_non_null(e);
	err_free(e);
	const uint64_t wrong[] = {a, b, HOST(b), HOST(c), c};
	assert_false(order_is_legal(g, wrong, 5));
	assert_true(order_before(g, HOST(b), b));
	assert_false(order_before(g, a, HOST(b)));
	ok(order_conflicts(g, r, &o, &unknown));
	/* a and the first change, b and the second; parties of the host have the seq of the command
	 * behind */
	assert_int_equal(l.n, 2);
	assert_int_equal(l.p[0].before, a);
	assert_int_equal(l.p[0].after, b);
	assert_int_equal(l.p[1].before, b);
	assert_int_equal(l.p[1].after, c);
	order_close(g);
	sbt_reader_close(r);
}

/* The copy carried "before"; the host wrote "later" at H + 2, of which 3 bytes count, and now comes
 * first. */
static void test_a_schedule_has_the_hosts_changes_where_they_are(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = from_host(1, A), b = f(2, B);
	const struct order_change change = {.seq = b, .addr = H + 3, .end = H + 6};
	const uint64_t order[] = {HOST(b), a, b};
	struct pieces p = {.n = 0};
	char path[64], bytes[3];

	piece(a, SBT_MEMORY_INPUT, H, "before", 6);
	piece(b, SBT_MEMORY_HOST, H + 2, "later", 5);
	struct sbt_reader *r = trace_end(&t), *again;
	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST,
			.last = b,
			.seqs = order,
			.n = 3,
			.live = true,
			.changes = &change,
			.nchanges = 1},
		path, NULL, NULL));
	ok(sbt_reader_open(&again, path));
	ok(sbt_reader_memory(again, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 1);
	assert_int_equal(p.m[0].role, SBT_MEMORY_HOST);
	assert_int_equal(p.m[0].seq, FIRST); /* a is the first command now */
	assert_int_equal(p.m[0].addr, H + 3);
	assert_int_equal(p.m[0].size, 3);
	ok(sbt_reader_memory_read(again, &p.m[0], 0, bytes, 3));
	assert_memory_equal(bytes, "ate", 3);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

/* What the host wrote before it submitted a command is there for the first, in the new order, of
 * that and all later ones. */
static void test_memory_of_the_host_comes_before_whoever_came_after(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), b = fill(2, B, 16), c = fill(3, A + 64, 16);
	const uint64_t order[] = {c, a, b};
	struct pieces p = {.n = 0};
	char path[64], bytes[3];

	piece(b, SBT_MEMORY_HOST, H, "new", 3);
	struct sbt_reader *r = trace_end(&t), *again;
	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = c, .seqs = order, .n = 3}, path,
		NULL, NULL));
	ok(sbt_reader_open(&again, path));
	ok(sbt_reader_memory(again, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 1);
	assert_int_equal(p.m[0].role, SBT_MEMORY_HOST);
	assert_int_equal(p.m[0].seq, FIRST); /* c came after it, and is the first now */
	ok(sbt_reader_memory_read(again, &p.m[0], 0, bytes, 3));
	assert_memory_equal(bytes, "new", 3);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

static uint64_t new_number(const uint64_t *old, size_t n, uint64_t seq_)
{
	for (size_t i = 0; i < n; i++)
		if (old[i] == seq_)
			return FIRST + i;
	fail_msg("#%llu is not in the new order", (unsigned long long)seq_);
	return 0;
}

/* Memory at the beginning stays there, what a command read goes with it, and what memory is like
 * behind commands, or at the end, is not known of another order. */
static void test_pieces_go_with_their_commands(void **unused)
{
	static const enum sbt_memory_role roles[] = {SBT_MEMORY_START, SBT_MEMORY_INPUT,
		SBT_MEMORY_INPUT, SBT_MEMORY_OUTPUT, SBT_MEMORY_END};
	uint64_t *old, at[5];
	char path[64], bytes[2];
	struct pieces p = {.n = 0};
	size_t n;

	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_H2D, A, H, 8, true)),
		       b = add(cmd_copy(seq, 2, SBT_COPY_H2D, B, H, 8, true)),
		       c = fill(3, A + 64, 16);
	const uint64_t of[] = {a, a, b, b, c}, order[] = {b, c, a};

	for (unsigned i = 0; i < 5; i++)
		piece(of[i], roles[i], H + 16 * i,
			(const char *[]){"st", "ia", "ib", "ou", "en"}[i], 2);
	struct sbt_reader *r = trace_end(&t), *again;

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = c, .seqs = order, .n = 3}, path,
		&old, &n));
	at[0] = FIRST;
	at[1] = new_number(old, n, a);
	at[2] = new_number(old, n, b);
	assert_true(at[2] < at[1]);
	ok(sbt_reader_open(&again, path));
	ok(sbt_reader_memory(again, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		unsigned k = 0;

		while (k < 3 && p.m[k].addr != H + 16 * i)
			k++;
		assert_true(k < 3);
		assert_int_equal(p.m[k].role, roles[i]);
		assert_int_equal(p.m[k].seq, at[i]);
		ok(sbt_reader_memory_read(again, &p.m[k], 0, bytes, 2));
		assert_memory_equal(bytes, i == 0 ? "st" : i == 1 ? "ia" : "ib", 2);
	}
	free(old);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

static void test_poison_is_a_fill(void **unused)
{
	uint64_t use, dead, write;
	char path[64];
	size_t n;

	(void)unused;
	next_owner(false, &use, &dead, &write);
	const uint64_t order[] = {
		FIRST, FIRST + 1, FIRST + 2, dead | ORDER_POISON, use, dead + 1, write};
	struct sbt_reader *r = trace_end(&t), *again;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	uint64_t *old;

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = write, .seqs = order, .n = 7},
		path, &old, &n));
	/* a wait (two records) wherever the stream of work changes, and at the end */
	const uint64_t want[] = {FIRST, FIRST + 1, 0, 0, FIRST + 2, dead, 0, 0, 0, 0, 0, use,
		dead + 1, 0, 0, write, 0, 0};
	assert_order(old, n, want, sizeof want / sizeof *want);
	ok(sbt_reader_open(&again, path));
	ok(sbt_cursor_open(&cursor, again));
	ok(sbt_cursor_seek(cursor, FIRST + 8));
	ok(sbt_cursor_next(cursor, &c));
	assert_int_equal(c->kind, SBT_FILL);
	assert_int_equal(c->u.fill.dst, 3 * B);
	assert_int_equal(c->u.fill.size, SIZE);
	assert_int_equal(c->u.fill.value, 0xff);
	assert_int_equal(c->u.fill.elem, 1);
	assert_int_equal(c->u.fill.stream, 1);
	sbt_cursor_close(cursor);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

/* A launch that is held says so; events that launches record themselves are waited for by nothing
 * in a schedule. What memory holds at the end is what the caller says. */
static void test_a_launch_is_held_and_memory_ends(void **unused)
{
	const uint64_t both = UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_EVENT |
			      UINT64_C(1) << SBT_ATTR_COMPLETION_EVENT,
		       early = UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_STREAM,
		       held = UINT64_C(1) << SBT_ATTR_HELD;
	const struct order_end ends[] = {{A, 64, {{1, 2}}}, {B, 32, {{3, 4}}}};
	struct sbt_cmd c = cmd_launch(FIRST, 1, 0);
	struct pieces p = {.n = 0};
	struct sbt_cursor *cursor;
	const struct sbt_cmd *got;
	char path[64];

	(void)unused;
	begin();
	c.u.launch.launch_attrs = both | early;
	c.u.launch.trigger_event = 1;
	c.u.launch.begun_event = 2;
	const uint64_t a = add(c);

	c = cmd_launch(seq, 1, 0);
	c.u.launch.launch_attrs = early | UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_EVENT;
	const uint64_t b = add(c), order[] = {a | ORDER_POISON, b};
	struct sbt_reader *r = trace_end(&t), *again;

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){
			.first = FIRST, .last = b, .seqs = order, .n = 2, .ends = ends, .nends = 2},
		path, NULL, NULL));
	ok(sbt_reader_open(&again, path));
	ok(sbt_cursor_open(&cursor, again));
	ok(sbt_cursor_seek(cursor, FIRST));
	ok(sbt_cursor_next(cursor, &got));
	assert_int_equal(got->kind, SBT_LAUNCH);
	assert_int_equal(got->u.launch.launch_attrs, early | held);
	assert_int_equal(got->u.launch.trigger_event, 0);
	assert_int_equal(got->u.launch.begun_event, 0);
	ok(sbt_cursor_next(cursor, &got));
	assert_int_equal(got->u.launch.launch_attrs, /* its event has no number: an old trace */
		early | UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_EVENT);
	sbt_cursor_close(cursor);
	ok(sbt_reader_memory(again, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p.m[i].role, SBT_MEMORY_END);
		assert_int_equal(p.m[i].seq, sbt_reader_last_seq(again));
		assert_int_equal(p.m[i].addr, ends[i].addr);
		assert_int_equal(p.m[i].size, ends[i].size);
		assert_true(sbt_hash_equal(p.m[i].hash, ends[i].hash));
	}
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

/* Stacks of all commands, the first and the last, go along. */
static void test_stacks_go_along(void **unused)
{
	(void)unused;
	begin();
	const struct sbt_frame five[] = {{0, 0x500}, {0, 0x501}}, six[] = {{0, 0x600}},
			       seven[] = {{0, 0x700}};
	struct sbt_cmd c = cmd_fill(seq, 1, A, 16);
	const struct sbt_frame *f;
	uint32_t module;
	unsigned n;

	ok(sbt_writer_module(t.w, "/bin/x", "ab", &module));
	ok(sbt_writer_stack(t.w, 5, five, 2));
	ok(sbt_writer_stack(t.w, 6, six, 1));
	ok(sbt_writer_stack(t.w, 7, seven, 1));
	c.stack = 6;
	const uint64_t a = add(c);
	c = cmd_fill(seq, 2, B, 16);
	c.stack = 5;
	const uint64_t b = add(c);
	c = cmd_fill(seq, 1, A, 32);
	c.stack = 6;
	const uint64_t again_six = add(c);
	c = cmd_fill(seq, 1, A, 48);
	c.stack = 7;
	const uint64_t last = add(c), order[] = {a, b, again_six, last};
	struct sbt_reader *r = trace_end(&t), *again;
	char path[64];

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	const struct order_schedule how = {.first = FIRST, .last = last, .seqs = order, .n = 4};

	ok(order_rewrite(r, &how, path, NULL, NULL));
	ok(sbt_reader_open(&again, path));
	assert_string_equal(sbt_reader_module(again, 0)->path, "/bin/x");
	ok(sbt_reader_stack(again, 7, &f, &n));
	assert_int_equal(n, 1);
	assert_int_equal(f[0].offset, 0x700);
	ok(sbt_reader_stack(again, 6, &f, &n));
	assert_int_equal(n, 1);
	assert_int_equal(f[0].offset, 0x600);
	ok(sbt_reader_stack(again, 5, &f, &n));
	assert_int_equal(n, 2);
	assert_int_equal(f[0].offset, 0x500);
	assert_int_equal(f[1].offset, 0x501);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

/* A schedule as a trace: commands are numbered anew, what the host had changed comes before whoever
 * came after it. */
static void test_a_schedule_is_written_as_a_trace(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), b = fill(2, B, 16), c = fill(1, A, 32);
	struct sbt_reader *r = trace_end(&t), *again;
	const uint64_t order[] = {b, a, c}, twice[] = {b, b, c}, alien[] = {b, a, 99};
	uint64_t *old;
	size_t n;
	char path[64];

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = c, .seqs = order, .n = 3}, path,
		&old, &n));
	/* b, wait (two records), a, c, the wait at the end (two) */
	const uint64_t want[] = {b, 0, 0, a, c, 0, 0};
	assert_order(old, n, want, 7);
	ok(sbt_reader_open(&again, path));
	assert_int_equal(sbt_reader_last_seq(again), FIRST + 6);
	uint64_t first, last;
	assert_true(sbt_reader_window(again, 0, &first, &last));
	assert_int_equal(first, FIRST);
	assert_int_equal(last, FIRST + 6);
	sbt_reader_close(again);
	struct err *e = order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = c, .seqs = twice, .n = 3}, path,
		NULL, NULL);
	assert_non_null(e);
	err_free(e);
	e = order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = c, .seqs = alien, .n = 3}, path,
		NULL, NULL);
	assert_non_null(e);
	err_free(e);
	unlink(path);
	sbt_reader_close(r);
}

static uint64_t hash_before(struct sbt_reader *r, uint64_t first)
{
	struct state *s;
	uint64_t hash;

	ok(state_at(&s, r, first - 1));
	hash = state_hash(s);
	state_free(s);
	return hash;
}

/* What there was before the first command goes along, were it one command's. */
static void test_a_schedule_begins_where_its_trace_was(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), b = fill(2, B, 16), order[] = {b, a};
	struct sbt_reader *r = trace_end(&t), *again;
	char path[64];

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	for (uint64_t first = 2; first <= FIRST; first++) {
		struct state *s;

		ok(order_rewrite(r,
			&(struct order_schedule){.first = first, .last = b, .seqs = order, .n = 2},
			path, NULL, NULL));
		ok(sbt_reader_open(&again, path));
		assert_null(sbt_reader_damage(again));
		assert_int_equal(hash_before(again, first), hash_before(r, first));
		s = state_new();
		assert_int_not_equal(hash_before(r, first), state_hash(s));
		state_free(s);
		sbt_reader_close(again);
	}
	unlink(path);
	sbt_reader_close(r);
}

/* Of the recording the work is written, and what it needs; not what it waited for. */
static void test_a_schedule_has_no_waits_of_the_recording(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16), s = add(cmd_sync_stream(seq, 1));

	add(cmd_sync_end(seq, s));
	add(cmd_query_stream(seq, 1, 0));
	const uint64_t event = add(cmd_event_create(seq, 7)), b = fill(1, B, 16);
	struct sbt_reader *r = trace_end(&t), *again;
	const uint64_t order[] = {a, b};
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	unsigned kinds[SBT_KIND_END] = {0};
	uint64_t *old;
	size_t n;
	char path[64];

	snprintf(path, sizeof path, "/tmp/tsdb-order-test-%d.sbt", (int)getpid());
	ok(order_rewrite(r,
		&(struct order_schedule){.first = FIRST, .last = b, .seqs = order, .n = 2}, path,
		&old, &n));
	const uint64_t want[] = {a, event, b, 0, 0};
	assert_order(old, n, want, 5);
	ok(sbt_reader_open(&again, path));
	ok(sbt_cursor_open(&cursor, again));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c)
			break;
		kinds[c->kind] += c->seq >= FIRST;
	}
	assert_int_equal(kinds[SBT_FILL], 2);
	assert_int_equal(kinds[SBT_QUERY], 0);
	assert_int_equal(kinds[SBT_SYNC], 1); /* the one at the end */
	assert_int_equal(kinds[SBT_SYNC_END], 1);
	sbt_cursor_close(cursor);
	sbt_reader_close(again);
	unlink(path);
	sbt_reader_close(r);
}

static void test_no_schedule_passes_the_host(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 16);
	const uint64_t s = add(cmd_sync_stream(seq, 1));
	add(cmd_sync_end(seq, s));
	const uint64_t b = fill(2, A, 16);
	const uint64_t c = add(cmd_copy(seq, 2, SBT_COPY_D2H, H, A, 16, false));
	const uint64_t d = fill(1, A, 16);
	struct sbt_reader *r = trace_end(&t);
	struct order *g = graph_of(r, false);
	uint64_t *seqs;
	size_t n;

	for (uint64_t seed = 0; seed < 20; seed++) {
		ok(order_shuffle(g, seed, &seqs, &n));
		assert_schedule(seqs, n, a, b, c, d);
	}
	order_close(g);
	sbt_reader_close(r);
}

static void test_schedules_of_any_trace_are_legal(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct sbt_reader *r = trace_random(seed * 104729, 500, 100, 0, NULL, NULL);
		const struct order_options o = {0};
		struct order *g;
		uint64_t *seqs;
		size_t n;

		ok(order_open(&g, r, &o));
		for (uint64_t i = 0; i < 5; i++) {
			ok(order_shuffle(g, i, &seqs, &n));
			assert_true(order_is_legal(g, seqs, n));
			free(seqs);
		}
		order_close(g);
		sbt_reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flipping_a_pair_takes_what_it_needs_along),
		cmocka_unit_test(test_starts_decide_where_there_is_a_choice),
		cmocka_unit_test(test_a_wait_for_a_value_orders_backwards),
		cmocka_unit_test(test_every_pair_is_a_conflict_of_its_own),
		cmocka_unit_test(test_conflicts_are_neither_ordered_nor_of_other_memory),
		cmocka_unit_test(test_a_range_over_two_allocations_conflicts_in_both),
		cmocka_unit_test(test_a_late_user_meets_the_next_owner),
		cmocka_unit_test(test_the_hosts_changes_are_entries),
		cmocka_unit_test(test_a_schedule_has_the_hosts_changes_where_they_are),
		cmocka_unit_test(test_memory_of_the_host_comes_before_whoever_came_after),
		cmocka_unit_test(test_pieces_go_with_their_commands),
		cmocka_unit_test(test_poison_is_a_fill),
		cmocka_unit_test(test_a_launch_is_held_and_memory_ends),
		cmocka_unit_test(test_stacks_go_along),
		cmocka_unit_test(test_a_schedule_is_written_as_a_trace),
		cmocka_unit_test(test_a_schedule_begins_where_its_trace_was),
		cmocka_unit_test(test_a_schedule_has_no_waits_of_the_recording),
		cmocka_unit_test(test_no_schedule_passes_the_host),
		cmocka_unit_test(test_schedules_of_any_trace_are_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
