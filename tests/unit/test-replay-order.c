/* SPDX-License-Identifier: Apache-2.0
 *
 * The same bytes every time: programs that race on purpose are recorded, and walked through at
 * random. Whatever way leads to a position, in whatever session, its memory has the hash that it
 * had at the first visit. TSDB_TEST_GPU=real does the same on a machine's GPU.
 */
#include <unistd.h>
#include "order/order.h"
#include "random-cmds.h"
#include "replay-recorded.h"
#include "replay/device-node.h"

#define WALKS 200u	/* of all programs together */
#define MOVES 8u	/* of a walk */
#define PER_SESSION 10u /* walks */
#define COMMANDS 512u

struct visits {
	const char *program;
	uint64_t seqs[COMMANDS + 1], hash[COMMANDS + 1];
	bool seen[COMMANDS + 1];
	unsigned n, again; /* again: visits of a position that was seen before */
};

static unsigned index_of(const struct visits *v, uint64_t seq)
{
	for (unsigned i = 0; i < v->n; i++)
		if (v->seqs[i] == seq)
			return i;
	fail_msg("%s: no position #%d", v->program, (int)seq);
	return 0;
}

static void visit(struct visits *v, const struct run *x, unsigned walk)
{
	const unsigned i = index_of(v, replay_seq(x->p));
	const uint64_t hash = mem_hash(x);

	if (v->seen[i] && v->hash[i] != hash)
		fail_msg("%s, walk %u: other memory at #%d", v->program, walk,
			(int)replay_seq(x->p));
	v->again += v->seen[i];
	v->seen[i] = true;
	v->hash[i] = hash;
}

static void list_positions(struct visits *v, const struct run *x)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	v->seqs[v->n++] = 0; /* before the first */
	ok(sbt_cursor_open(&cursor, x->r));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > x->last)
			break;
		assert_true(v->n <= COMMANDS);
		if (c->seq >= x->first)
			v->seqs[v->n++] = c->seq;
	}
	sbt_cursor_close(cursor);
}

static void move(const struct visits *v, struct run *x, struct random_cmds *dice)
{
	struct replay_stop stop;
	struct err *e;

	switch (random_below(dice, 6)) {
	case 0:
		e = replay_step(x->p, 1 + random_below(dice, 12), &stop);
		break;
	case 1:
		e = replay_reverse_step(x->p, 1 + random_below(dice, 4), &stop);
		break;
	case 2:
		e = replay_until(x->p, v->seqs[random_below(dice, v->n)], &stop);
		break;
	case 3: /* a checkpoint to go back to, where there is room */
		e = device_checkpoint(x->d);
		break;
	default:
		e = replay_goto(x->p, v->seqs[random_below(dice, v->n)], &stop);
	}
	if (e && e->code != ERR_USAGE) /* the beginning has nothing before it */
		fail_msg("%s", e->what);
	err_free(e);
}

static void walks(const char *program, unsigned n, uint64_t seed)
{
	struct visits v = {.program = program};
	struct random_cmds dice = {.x = seed};
	struct run x;

	record(program);
	for (unsigned w = 0; w < n; w++) {
		struct replay_stop stop;

		if (w % PER_SESSION == 0)
			x = open_trace(0);
		if (!w)
			list_positions(&v, &x);
		if (w % PER_SESSION == PER_SESSION / 2)
			ok(device_restart(x.d));
		for (unsigned m = 0; m < MOVES; m++) {
			move(&v, &x, &dice);
			visit(&v, &x, w);
		}
		ok(replay_goto(x.p, x.last, &stop));
		visit(&v, &x, w);
		if (w % PER_SESSION == PER_SESSION - 1 || w + 1 == n)
			end_run(&x);
	}
	unlink(trace_path);
	assert_true(v.again > n);
}

static void walks_of_mixed_races(void **arg)
{
	walks("tests/programs/mixed_races", WALKS - 80, 1);
}

static void walks_of_race_demo(void **arg)
{
	walks("race_demo", 40, 2);
}

static void walks_of_reuse(void **arg)
{
	walks("tests/programs/reuse", 40, 3);
}

/* The steps through a graph launch, and the launch as one command, are one order. */
static void graph_steps_are_the_launch(void **arg)
{
	struct run x = open_run("tests/programs/mixed_races");
	uint64_t seqs[COMMANDS];
	unsigned n = 0, looked = 0;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct replay_stop stop;

	ok(sbt_cursor_open(&cursor, x.r));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > x.last || n == COMMANDS)
			break;
		if (c->seq >= x.first && c->kind == SBT_GRAPH_LAUNCH)
			seqs[n++] = c->seq;
	}
	sbt_cursor_close(cursor);
	for (unsigned i = 0; i < n; i++) {
		uint32_t steps;

		ok(replay_goto(x.p, seqs[i], &stop));
		const uint64_t whole = mem_hash(&x);
		ok(device_node(x.d, seqs[i], 0, &steps));
		ok(device_node(x.d, seqs[i], steps, &steps));
		if (mem_hash(&x) != whole)
			fail_msg("#%d leaves other memory in steps", (int)seqs[i]);
		looked += steps >= 3;
	}
	assert_int_equal(looked, 4);
	close_run(&x);
}

/* What explore calls the recorded order is the one that a replay executes. */
static void explore_means_the_same_order(void **arg)
{
	struct run x = open_run("tests/programs/mixed_races");
	const struct order_options o = {.first = x.first, .last = x.last};
	struct device_ordered ordered;
	struct device_order how = {0};
	struct replay_stop stop;
	struct order *order;
	uint64_t *entries;

	ok(replay_goto(x.p, x.last, &stop));
	const uint64_t replayed = mem_hash(&x);
	ok(order_open(&order, x.r, &o));
	ok(order_recorded(order, &entries, &how.n));
	for (size_t i = 1; i < how.n; i++)
		assert_true(entries[i - 1] < entries[i]);
	how.entries = entries;
	ok(device_order(x.d, &how, &ordered));
	assert_true(mem_hash(&x) == replayed);
	device_ordered_free(&ordered);
	free(entries);
	order_close(order);
	close_run(&x);
}

/* Switching to streams that overlap and back leaves nothing of what they did. */
static void fixed_again(void **arg)
{
	struct run x = open_run("tests/programs/mixed_races");
	struct replay_stop stop;

	ok(replay_goto(x.p, x.last, &stop));
	const uint64_t end = mem_hash(&x);
	ok(device_overlap(x.d, true));
	ok(replay_goto(x.p, 0, &stop));
	ok(replay_goto(x.p, x.last, &stop));
	ok(device_overlap(x.d, false));
	assert_true(mem_hash(&x) == end);
	ok(replay_reverse_step(x.p, 1, &stop));
	ok(replay_step(x.p, 1, &stop));
	assert_true(mem_hash(&x) == end);
	close_run(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_of_mixed_races),
		cmocka_unit_test(walks_of_race_demo),
		cmocka_unit_test(walks_of_reuse),
		cmocka_unit_test(graph_steps_are_the_launch),
		cmocka_unit_test(explore_means_the_same_order),
		cmocka_unit_test(fixed_again),
	};
	const char *build = getenv("TSDB_BUILD");

	snprintf(recorded_in, sizeof recorded_in, "%s", build ? build : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
