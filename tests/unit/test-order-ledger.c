/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes race, against the definition: two accesses of a common byte, one of them a write,
 * that happens-before does not order. The ledger keeps what later accesses can still race with, in
 * pieces; here every pair is looked at.
 */
#include "order-test.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_races_are_by_the_definition),
		cmocka_unit_test(test_one_race_among_pieces)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
