/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes race, against the definition: two accesses of a common byte, one of them a write,
 * that happens-before does not order. The ledger keeps what later accesses can still race with, in
 * pieces; here every pair is looked at.
 */
#include "order-test.h"
#include "order/races/ledger.h"

#define WORK_MAX 40
#define RANGE 112 /* bytes of A that all work is about */

struct work {
	uint64_t seq, from, to; /* writes A + from to A + to */
	uint64_t read, read_to; /* and reads there; empty: a fill */
};

static struct work work[WORK_MAX];
static unsigned nwork;

static void a_fill(struct random_cmds *dice, uint64_t stream)
{
	const uint64_t from = random_below(dice, RANGE - 1),
		       n = 1 + random_below(dice, RANGE - from);

	work[nwork++] = (struct work){fill(stream, A + from, n), from, from + n, 0, 0};
}

static void sync_all(void)
{
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
}

/* Within A, from one half to the other. */
static void a_copy(struct random_cmds *dice, uint64_t stream)
{
	const uint64_t n = 1 + random_below(dice, RANGE / 2),
		       to = random_below(dice, RANGE / 2 - n + 1),
		       from = RANGE / 2 + random_below(dice, RANGE / 2 - n + 1);
	const uint64_t at = add(cmd_copy(seq, stream, SBT_COPY_D2D, A + to, A + from, n, true));

	work[nwork++] = (struct work){at, to, to + n, from, from + n};
}

static bool meet(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return a < b_end && b < a_end;
}

static bool conflict(const struct work *a, const struct work *b)
{
	return meet(a->from, a->to, b->from, b->to) || meet(a->from, a->to, b->read, b->read_to) ||
	       meet(a->read, a->read_to, b->from, b->to);
}

/* The first command that races with one before it; 0: none. */
static uint64_t first_race(const struct order *g)
{
	for (unsigned b = 0; b < nwork; b++)
		for (unsigned a = 0; a < b; a++)
			if (conflict(&work[a], &work[b]) &&
				!order_before(g, work[a].seq, work[b].seq))
				return work[b].seq;
	return 0;
}

static const struct work *work_of(uint64_t at)
{
	for (unsigned i = 0; i < nwork; i++)
		if (work[i].seq == at)
			return &work[i];
	fail_msg("#%llu is no work", (unsigned long long)at);
	return NULL;
}

/* Every race that is told is one, and no command races before the first that is told. */
static void judge(void)
{
	struct sbt_reader *r = end_once();
	const struct order_options o = {.first = 1, .last = seq, .pairs_apart = true};
	struct order *g = graph_of(r, false);
	struct order_races x;
	uint64_t told = 0;

	ok(order_races(&x, r, &o));
	for (size_t i = 0; i < x.n; i++) {
		const struct work *a = work_of(x.r[i].a.seq), *b = work_of(x.r[i].b.seq);

		assert_true(a->seq < b->seq);
		assert_true(conflict(a, b));
		assert_false(order_before(g, a->seq, b->seq));
		assert_true(
			x.r[i].size && x.r[i].addr >= A && x.r[i].addr + x.r[i].size <= A + RANGE);
		if (!told || b->seq < told)
			told = b->seq;
	}
	assert_int_equal(told, first_race(g));
	order_races_free(&x);
	graph_over(g);
}

/* Streams that now and then wait for one another. */
static void test_races_are_by_the_definition(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct random_cmds dice = {.x = seed * 7919};
		const uint64_t n = 3 + random_below(&dice, WORK_MAX - 3),
			       calm = random_below(&dice, 4);

		begin();
		nwork = 0;
		while (nwork < n) {
			const uint64_t stream = 1 + random_below(&dice, 2);

			for (uint64_t k = 0; k < calm;
				k++) { /* the other stream's work comes before */
				record(3 - stream, 0);
				wait_for(stream, 0);
			}
			if (random_below(&dice, 3))
				a_fill(&dice, stream);
			else
				a_copy(&dice, stream);
			if (random_below(&dice, 12) == 0)
				sync_all();
		}
		judge();
	}
}

/* All is ordered but one pair, whose bytes were written in pieces before. */
static void test_one_race_among_pieces(void **unused)
{
	(void)unused;
	for (uint64_t at = 0; at < RANGE; at += 3) {
		begin();
		nwork = 0;
		for (uint64_t k = 0; k < RANGE; k += 7)
			work[nwork++] = (struct work){fill(1, A + k, 7), k, k + 7, 0, 0};
		record(1, 0);
		wait_for(2, 0);
		work[nwork++] = (struct work){fill(2, A + at, 5), at, at + 5, 0, 0};
		work[nwork++] = (struct work){fill(1, A + 30, 20), 30, 50, 0, 0};
		judge();
	}
}

/* ---- the ledger by itself ---- */

#define KEY 7

struct told {
	uint64_t earlier, now, addr, end;
};
static struct told told[32];
static unsigned ntold;

static void tell(void *arg, const struct ledger_touch *earlier, const struct ledger_touch *now,
	uint64_t addr, uint64_t end)
{
	(void)arg;
	assert_true(ntold < 32);
	told[ntold++] = (struct told){earlier->seq, now->seq, addr, end};
}

/* Command `at`, the item of that index on its lane, which knows what clock says. */
static void touch_knowing(struct ledger *l, struct clock *clock, uint32_t lane, uint64_t at,
	enum order_how how, uint64_t addr, uint64_t end)
{
	const struct order_item it = {
		.seq = at, .lane = lane, .index = (uint32_t)at, .clock = clock};
	const struct ledger_touch now = {
		.seq = at, .lane = lane, .index = (uint32_t)at, .how = (uint16_t)how};

	ledger_touch(l, KEY, &it, &now, addr, end);
}

static void touch(struct ledger *l, uint32_t lane, uint64_t at, enum order_how how, uint64_t addr,
	uint64_t end)
{
	touch_knowing(l, NULL, lane, at, how, addr, end);
}

/* The touches that were told since the last time. */
static void told_are(const struct told *want, unsigned n)
{
	assert_int_equal(ntold, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(told[i].earlier, want[i].earlier);
		assert_int_equal(told[i].now, want[i].now);
		assert_int_equal(told[i].addr, want[i].addr);
		assert_int_equal(told[i].end, want[i].end);
	}
	ntold = 0;
}
#define TOLD(...)                                                                                  \
	told_are((const struct told[]){__VA_ARGS__},                                               \
		sizeof((const struct told[]){__VA_ARGS__}) / sizeof(struct told))
#define NOTHING_TOLD() told_are(NULL, 0)

static bool add_seq(void *arg, const struct ledger_touch *was)
{
	*(uint64_t *)arg += was->seq;
	return false;
}

/* The sum of the seqs remembered of [addr, end), once for each piece. */
static uint64_t remembered(const struct ledger *l, uint64_t key, uint64_t addr, uint64_t end)
{
	uint64_t sum = 0;

	assert_false(ledger_each(l, key, addr, end, add_seq, &sum));
	return sum;
}

static void test_only_common_bytes_conflict(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	touch(l, 1, 1, ORDER_WRITE, 10, 20);
	touch(l, 1, 2, ORDER_WRITE, 30, 40);
	touch(l, 2, 3, ORDER_READ, 20, 30);
	touch(l, 2, 4, ORDER_READ, 0, 10);
	touch(l, 2, 5, ORDER_READ, 40, 41);
	NOTHING_TOLD();
	touch(l, 3, 6, ORDER_READ, 19, 31);
	TOLD({1, 6, 19, 20}, {2, 6, 30, 31});
	touch(l, 4, 7, ORDER_WRITE, 9, 12);
	TOLD({4, 7, 9, 10}, {1, 7, 10, 12});
	ledger_free(l);
}

/* A write goes in place of what it was told with: the next one is told with that write alone, once
 * for all of its bytes. */
static void test_a_write_goes_in_place_of_earlier_ones(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	touch(l, 1, 1, ORDER_WRITE, 10, 20);
	touch(l, 2, 2, ORDER_WRITE, 5, 12);
	TOLD({1, 2, 10, 12});
	touch(l, 3, 3, ORDER_WRITE, 0, 30);
	TOLD({2, 3, 5, 12}, {1, 3, 12, 20});
	touch(l, 4, 4, ORDER_READ, 0, 30);
	TOLD({3, 4, 0, 30});
	ledger_free(l);
}

/* What is left of two accesses by lanes 1 and 2, seen by a write of lane 3: the second one knows
 * the first. */
static void test_what_goes_in_place_of_what_came_before(void **unused)
{
	static const struct {
		enum order_how first, second;
		bool both; /* are remembered */
	} cases[] = {
		{ORDER_READ, ORDER_READ, false},
		{ORDER_READ, ORDER_WRITE, false},
		{ORDER_READ, ORDER_DEATH, false},
		{ORDER_MAYBE, ORDER_BIRTH, false},
		{ORDER_ATOMIC, ORDER_ATOMIC, false},
		{ORDER_MAYBE, ORDER_MAYBE, false},
		{ORDER_WRITE, ORDER_READ, true},
		{ORDER_READ, ORDER_ATOMIC, true},
		{ORDER_READ, ORDER_MAYBE, true},
		{ORDER_WRITE, ORDER_MAYBE, true},
		{ORDER_WRITE, ORDER_ATOMIC, true},
	};
	struct clock *knows = clock_with(NULL, 1, 1);

	(void)unused;
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ledger *l = ledger_new(tell, NULL);

		touch(l, 1, 1, cases[i].first, 0, 8);
		touch_knowing(l, knows, 2, 2, cases[i].second, 0, 8);
		NOTHING_TOLD();
		touch(l, 3, 3, ORDER_WRITE, 0, 8);
		if (cases[i].both)
			TOLD({1, 3, 0, 8}, {2, 3, 0, 8});
		else
			TOLD({2, 3, 0, 8});
		ledger_free(l);
	}
	clock_drop(knows);
}

/* Without an order only a write or a free goes in place of what it is told with. */
static void test_what_goes_in_place_of_what_it_races_with(void **unused)
{
	static const struct {
		enum order_how first, second;
		bool both;
	} cases[] = {
		{ORDER_WRITE, ORDER_WRITE, false},
		{ORDER_READ, ORDER_DEATH, false},
		{ORDER_WRITE, ORDER_READ, true},
		{ORDER_MAYBE, ORDER_MAYBE, true},
		{ORDER_WRITE, ORDER_BIRTH, true},
	};

	(void)unused;
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ledger *l = ledger_new(tell, NULL);

		touch(l, 1, 1, cases[i].first, 0, 8);
		touch(l, 2, 2, cases[i].second, 0, 8);
		TOLD({1, 2, 0, 8});
		touch(l, 3, 3, ORDER_WRITE, 0, 8);
		if (cases[i].both)
			TOLD({1, 3, 0, 8}, {2, 3, 0, 8});
		else
			TOLD({2, 3, 0, 8});
		ledger_free(l);
	}
}

/* One lane's accesses of one kind: the last is enough. */
static void test_a_lanes_last_access_of_a_kind_is_kept(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	touch(l, 1, 1, ORDER_MAYBE, 0, 8);
	touch(l, 1, 2, ORDER_READ, 0, 8);
	touch(l, 2, 3, ORDER_READ, 0, 8);
	TOLD({1, 3, 0, 8});
	touch(l, 2, 4, ORDER_READ, 0, 8);
	TOLD({1, 4, 0, 8});
	touch(l, 3, 5, ORDER_WRITE, 0, 8);
	TOLD({1, 5, 0, 8}, {2, 5, 0, 8}, {4, 5, 0, 8});
	ledger_free(l);
}

/* Freed memory may not be touched later either, but by the command itself. */
static void test_nothing_comes_after_a_free(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	touch(l, 1, 1, ORDER_BIRTH, 0, 8);
	touch(l, 1, 2, ORDER_READ, 0, 8);
	touch(l, 1, 3, ORDER_DEATH, 0, 8);
	touch(l, 1, 3, ORDER_READ, 0, 8);
	NOTHING_TOLD();
	touch(l, 1, 4, ORDER_READ, 0, 8);
	TOLD({3, 4, 0, 8});
	ledger_free(l);
}

/* Pieces with one, and with many touches are cut in the same way. */
static void test_a_piece_is_cut_with_all_that_it_knows(void **unused)
{
	(void)unused;
	for (uint32_t n = 1; n <= 9; n += 4) {
		struct ledger *l = ledger_new(tell, NULL);

		for (uint32_t i = 1; i <= n; i++)
			touch(l, i, i, ORDER_READ, 0, 30);
		NOTHING_TOLD();
		touch(l, 20, 20, ORDER_WRITE, 10, 20);
		assert_int_equal(ntold, n);
		for (uint32_t i = 0; i < n; i++)
			assert_true(told[i].earlier == i + 1 && told[i].addr == 10 &&
				    told[i].end == 20);
		ntold = 0;
		assert_int_equal(remembered(l, KEY, 0, 10), n * (n + 1) / 2);
		assert_int_equal(remembered(l, KEY, 10, 20), 20);
		assert_int_equal(remembered(l, KEY, 20, 30), n * (n + 1) / 2);
		ledger_free(l);
	}
}

static bool is_seq(void *arg, const struct ledger_touch *was)
{
	return was->seq == *(const uint64_t *)arg;
}

static void test_what_is_remembered_of_bytes(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);
	uint64_t want = 2;

	(void)unused;
	assert_int_equal(remembered(l, KEY, 0, 100), 0);
	touch(l, 1, 1, ORDER_WRITE, 10, 20);
	touch(l, 1, 2, ORDER_WRITE, 30, 40);
	touch(l, 1, 4, ORDER_WRITE, 50, 60);
	assert_int_equal(remembered(l, KEY, 0, 100), 7);
	assert_int_equal(remembered(l, KEY, 20, 30), 0);
	assert_int_equal(remembered(l, KEY, 19, 31), 3);
	assert_int_equal(remembered(l, KEY, 20, 31), 2);
	assert_int_equal(remembered(l, KEY, 40, 50), 0);
	assert_int_equal(remembered(l, KEY, 0, 10), 0);
	assert_int_equal(remembered(l, KEY + 1, 0, 100), 0);
	assert_true(ledger_each(l, KEY, 0, 100, is_seq, &want));
	assert_false(ledger_each(l, KEY, 40, 100, is_seq, &want));
	touch(l, 1, 8, ORDER_WRITE, 0, 100); /* what was between the pieces, too */
	assert_int_equal(remembered(l, KEY, 20, 30), 8);
	assert_int_equal(remembered(l, KEY, 0, 1), 8);
	assert_int_equal(remembered(l, KEY, 99, 100), 8);
	assert_int_equal(remembered(l, KEY, 0, 100), 8); /* in one piece */
	ledger_free(l);
}

/* Neighbours that know the same are one piece, and others are not. */
static void test_neighbours_become_one_piece(void **unused)
{
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	touch(l, 1, 1, ORDER_READ, 0, 10);
	touch(l, 1, 1, ORDER_READ, 10, 20);
	assert_int_equal(remembered(l, KEY, 0, 20), 1);
	touch(l, 1, 1, ORDER_READ, 21, 30);
	assert_int_equal(remembered(l, KEY, 0, 30), 2);
	touch(l, 1, 1, ORDER_READ, 20, 21); /* fills the gap */
	assert_int_equal(remembered(l, KEY, 0, 30), 1);
	touch(l, 1, 1, ORDER_WRITE, 30, 40);
	touch(l, 2, 1, ORDER_WRITE, 40, 50);
	touch(l, 2, 2, ORDER_WRITE, 50, 60);
	assert_int_equal(remembered(l, KEY, 0, 60), 1 + 1 + 1 + 2);
	ledger_free(l);
}

static void touch_key(struct ledger *l, uint64_t key, uint64_t at)
{
	const struct order_item it = {.seq = at, .lane = 1, .index = 1};
	const struct ledger_touch now = {.seq = at, .lane = 1, .index = 1, .how = ORDER_WRITE};

	ledger_touch(l, key, &it, &now, 0, 8);
}

static void test_allocations_are_apart_and_can_be_forgotten(void **unused)
{
	const uint64_t n = 3000;
	struct ledger *l = ledger_new(tell, NULL);

	(void)unused;
	ledger_forget(l, 5); /* it is not there */
	for (uint64_t k = 0; k < n; k++) {
		touch_key(l, k, 100 + k);
		if (k % 3 == 1)
			ledger_forget(l, k);
	}
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(remembered(l, k, 0, 8), k % 3 == 1 ? 0 : 100 + k);
	for (uint64_t k = 1; k < n; k += 3) { /* one that is used again is kept */
		touch_key(l, k, 200 + k);
		touch_key(l, n + k, 7);
	}
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(remembered(l, k, 0, 8), k % 3 == 1 ? 200 + k : 100 + k);
	NOTHING_TOLD();
	assert_int_equal(ledger_coarse(l), 0);
	ledger_free(l);
}

static bool keep_touch(void *arg, const struct ledger_touch *was)
{
	struct ledger_touch *kept = arg;

	assert_int_equal(was->how, ORDER_MAYBE);
	assert_true(was->lane == 1 || was->lane == 2);
	assert_int_equal(kept[was->lane].seq, 0);
	kept[was->lane] = *was;
	return false;
}

/* Beyond 16,384 pieces each lane's newest access may have touched all of them. */
static void test_too_many_pieces_become_one(void **unused)
{
	const uint64_t most = 16384, again = 3 * most;
	struct ledger *l = ledger_new(tell, NULL);
	struct ledger_touch kept[3] = {{0}};

	(void)unused;
	for (uint64_t i = 0; i < most; i++)
		touch(l, 1 + i % 2, 10 + i, ORDER_WRITE, 2 * i, 2 * i + 1);
	assert_int_equal(ledger_coarse(l), 0);
	assert_int_equal(remembered(l, KEY, 1, 2), 0);
	touch(l, 1, 5, ORDER_READ, 2 * most, 2 * most + 1); /* older than others of lane 1 */
	assert_int_equal(ledger_coarse(l), 1);
	assert_false(ledger_each(l, KEY, 1, 2, keep_touch, kept));
	assert_int_equal(kept[1].seq, 10 + most - 2);
	assert_int_equal(kept[2].seq, 10 + most - 1);
	assert_int_equal(remembered(l, KEY, 2 * most, 2 * most + 1), kept[1].seq + kept[2].seq);
	assert_int_equal(remembered(l, KEY, 2 * most + 1, 2 * most + 2), 0);
	for (uint64_t i = 0; i < again; i++)
		touch(l, 1, again + i, ORDER_WRITE, 100 * most + 2 * i, 100 * most + 2 * i + 1);
	assert_int_equal(ledger_coarse(l), 1); /* it is the same allocation */
	NOTHING_TOLD();
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_races_are_by_the_definition),
		cmocka_unit_test(test_one_race_among_pieces),
		cmocka_unit_test(test_only_common_bytes_conflict),
		cmocka_unit_test(test_a_write_goes_in_place_of_earlier_ones),
		cmocka_unit_test(test_what_goes_in_place_of_what_came_before),
		cmocka_unit_test(test_what_goes_in_place_of_what_it_races_with),
		cmocka_unit_test(test_a_lanes_last_access_of_a_kind_is_kept),
		cmocka_unit_test(test_nothing_comes_after_a_free),
		cmocka_unit_test(test_a_piece_is_cut_with_all_that_it_knows),
		cmocka_unit_test(test_what_is_remembered_of_bytes),
		cmocka_unit_test(test_neighbours_become_one_piece),
		cmocka_unit_test(test_allocations_are_apart_and_can_be_forgotten),
		cmocka_unit_test(test_too_many_pieces_become_one)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
