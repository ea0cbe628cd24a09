/* SPDX-License-Identifier: Apache-2.0
 *
 * What a list of races has in it: which pairs are one, the surer of two, where the list ends, and
 * the host's changes.
 */
#include "order-test.h"
#include "sbt/cmd-pack.h"

#define BIG UINT64_C(0x10000000)

static struct order_races found(const struct order_options *o)
{
	struct order_races x;

	ok(order_races(&x, end_once(), o));
	return x;
}

static uint64_t fill_of(uint32_t stack, uint64_t stream, uint64_t at, uint64_t n)
{
	struct sbt_cmd c = cmd_fill(seq, stream, at, n);

	c.stack = stack;
	return add(c);
}

static void sync_all(void)
{
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
}

/* The same places are passed twice: as many races, each counted twice. */
static void test_many_places(void **unused)
{
	const uint32_t n = 600; /* the table of places grows twice */
	uint64_t first = 0, second = 0;

	(void)unused;
	begin();
	for (unsigned k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < n; i++) {
			const uint64_t at = fill_of(1 + i, 1, A + 4 * i, 4);

			first = i || k ? first : at;
		}
		for (uint32_t i = 0; i < n; i++) {
			const uint64_t at = fill_of(1 + i, 2, A + 4 * i, 4);

			second = i || k ? second : at;
		}
		sync_all();
	}
	struct order_races x = races_found();

	assert_int_equal(x.n, n);
	assert_int_equal(x.more, 0);
	assert_int_equal(x.commands, seq - 1);
	for (uint32_t i = 0; i < n; i++) {
		race_is(&x, i, first + i, second + i);
		assert_int_equal(x.r[i].count, 2);
		assert_int_equal(x.r[i].last_b, second + 2 * n + 2 + i);
		assert_int_equal(x.r[i].addr, A + 4 * i);
		assert_int_equal(x.r[i].size, 4);
	}
	races_over(&x);
}

static void test_a_list_has_an_end(void **unused)
{
	(void)unused;
	begin();
	add(cmd_alloc(seq, BIG, 0x10000));
	const uint64_t a = fill(1, BIG, 0x10000);

	for (uint64_t i = 0; i < ORDER_RACES_MAX + 3; i++)
		fill(2, BIG + 2 * i, 1);
	struct order_races x = races_found();

	assert_int_equal(x.n, ORDER_RACES_MAX);
	assert_int_equal(x.more, 3);
	race_is(&x, 0, a, a + 1);
	race_is(&x, ORDER_RACES_MAX - 1, a, a + ORDER_RACES_MAX);
	races_over(&x);
}

static uint64_t wait_for_a_value(uint64_t stream)
{
	struct sbt_cmd c = {.kind = SBT_BATCH, .seq = seq};

	c.u.batch = (struct sbt_cmd_batch){
		.stream = stream, .is_wait = true, .addr = B, .value = 1, .elem = 4, .op_flags = 1};
	return add(c);
}

/* Behind a wait for a value that nothing known has written a race is in doubt. Of two passes the
 * one without a doubt is kept, and both are counted. */
static void test_the_surer_of_two_is_kept(void **unused)
{
	(void)unused;
	for (unsigned doubt = 0; doubt < 2; doubt++) { /* in that pass */
		uint64_t a[2], b[2];

		begin();
		for (unsigned k = 0; k < 2; k++) {
			if (k == doubt)
				wait_for_a_value(2);
			a[k] = fill_of(7, 1, A + 64 * k, 64);
			b[k] = fill_of(8, 2, A + 64 * k, 32);
			sync_all();
		}
		struct order_races x = races_found();
		const unsigned sure = !doubt;

		assert_int_equal(x.n, 1);
		race_is(&x, 0, a[sure], b[sure]);
		assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
		assert_int_equal(x.r[0].early, 0);
		assert_int_equal(x.r[0].addr, A + 64 * sure);
		assert_int_equal(x.r[0].count, 2);
		assert_int_equal(x.r[0].last_b, b[1]);
		races_over(&x);
	}
}

struct pair {
	uint64_t a, b;
	unsigned n;
};

static void note(void *arg, const struct order_party *a, const struct order_party *b)
{
	struct pair *p = arg;

	p->a = a->seq;
	p->b = b->seq;
	p->n++;
}

/* What a wait for a value holds runs behind later commands; a race names the lower number first. */
static void test_one_that_came_late_is_named_by_its_number(void **unused)
{
	struct pair each = {0};
	struct sbt_cmd c;

	(void)unused;
	begin();
	wait_for_a_value(2);
	const uint64_t late = fill(2, A, 16), other = fill(3, A, 16);

	c = (struct sbt_cmd){.kind = SBT_BATCH, .seq = seq};
	c.u.batch = (struct sbt_cmd_batch){.stream = 1, .addr = B, .value = 1, .elem = 4};
	add(c);
	const struct order_options o = {.first = 1, .last = seq, .each = note, .each_arg = &each};
	struct order_races x = found(&o);

	assert_int_equal(x.n, 1);
	race_is(&x, 0, late, other);
	assert_int_equal(x.r[0].a.stream, 2);
	assert_int_equal(x.r[0].b.stream, 3);
	assert_int_equal(each.n, 1);
	assert_int_equal(each.a, late);
	assert_int_equal(each.b, other);
	races_over(&x);
}

/* The newest 1,024 stream-ordered frees are remembered. */
static void test_freed_memory_is_remembered_for_a_while(void **unused)
{
	const uint64_t n = 1025;
	struct sbt_cmd c;

	(void)unused;
	begin();
	for (uint64_t i = 0; i < n; i++) {
		c = cmd_alloc(seq, BIG + 256 * i, 256);
		c.u.alloc.stream = 1;
		add(c);
		c = cmd_free(seq, BIG + 256 * i);
		c.u.free.stream = 1;
		add(c);
	}
	fill(1, BIG, 16); /* of the oldest nothing is known any more */
	const uint64_t use = fill(1, BIG + 256, 16), last = fill(1, BIG + 256 * n - 1, 1);
	struct order_races x = races_found();

	assert_int_equal(x.n, 2);
	race_is(&x, 0, FIRST + 3, use);
	assert_int_equal(x.r[0].alloc, BIG + 256);
	assert_int_equal(x.r[0].alloc_size, 256);
	assert_int_equal(x.r[0].a.how, ORDER_DEATH);
	race_is(&x, 1, FIRST + 2 * n - 1, last);
	races_over(&x);
}

/* --- the host --- */

static bool knows_nothing(void *arg, uint64_t at, struct order_accesses *l)
{
	(void)arg;
	(void)at;
	(void)l;
	return false;
}

/* Changes before commands that are not there, of host functions, and in a part behind them. */
static void test_which_of_the_hosts_changes_count(void **unused)
{
	(void)unused;
	begin();
	const uint64_t copy = add(cmd_copy(seq, 1, SBT_COPY_H2D, A, H, 256, true));
	const uint64_t gone = seq++, at = fill(2, B, 16), later = fill(2, B, 16);
	const struct order_change changes[] = {{.seq = gone, .addr = H, .end = H + 8},
		{.seq = at, .addr = H + 16, .end = H + 24},
		{.seq = at, .addr = H + 32, .end = H + 40, .by = copy},
		{.seq = later, .addr = H + 48, .end = H + 56, .doubt = 1}};
	const struct order_source src = {
		.accesses = knows_nothing, .changes = changes, .nchanges = 4};
	const struct order_options o = {
		.first = 1, .last = seq, .source = &src, .pairs_apart = true};
	struct order_races x = found(&o);

	assert_int_equal(x.n, 2);
	race_is(&x, 0, copy, at);
	assert_int_equal(x.r[0].tier, ORDER_CERTAIN);
	assert_int_equal(x.r[0].b.stream, SBT_NO_ID);
	assert_int_equal(x.r[0].b.kernel, SBT_NO_ID);
	assert_int_equal(x.r[0].addr, H + 16);
	race_is(&x, 1, copy, later);
	assert_int_equal(x.r[1].tier, ORDER_POSSIBLE); /* or a copy's that delivered other bytes */
	assert_int_equal(x.r[1].addr, H + 48);
	races_over(&x);
}

/* What a possible race is about is dropped where a certain one of the same commands is known. */
static void test_a_weaker_race_of_the_same_commands_is_dropped(void **unused)
{
	(void)unused;
	for (unsigned same = 0; same < 2; same++) {
		begin();
		const uint64_t a = fill(1, A + 64, 16);

		if (!same)
			fill(1, A + 128, 16);
		f(2, A + 64);
		struct order_races x = races_found();

		assert_int_equal(x.n, 1 + !same);
		race_is(&x, 0, a, seq - 1);
		assert_int_equal(x.r[0].tier, ORDER_LIKELY);
		if (!same) {
			race_is(&x, 1, a + 1, seq - 1);
			assert_int_equal(x.r[1].tier, ORDER_POSSIBLE);
		}
		races_over(&x);
	}
}

static void test_launches_of_which_nothing_is_known(void **unused)
{
	(void)unused;
	begin();
	add(cmd_launch(seq, 1, 0));  /* without arguments */
	add(cmd_launch(seq, 1, 77)); /* no such kernel */
	f(1, A);
	struct order_races x = races_found();

	assert_int_equal(x.n, 0);
	assert_int_equal(x.unknown, 2);
	assert_int_equal(x.early, 0);
	assert_int_equal(x.by_attribute, 0);
	races_over(&x);
}

/* --- graphs --- */

static void graph_of_a_fill(uint64_t graph, uint64_t exec, uint64_t at)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_fill(0, SBT_NO_ID, at, 16), create;

	create = cmd_any(seq, SBT_GRAPH_CREATE);
	create.u.graph_create.new_graph = graph;
	create.u.graph_create.clone_of = SBT_NO_ID;
	add(create);
	sbt_pack(packed, &c);
	add(cmd_graph_node(seq, graph, 0, SBT_NODE_FILL, SBT_NO_ID, packed, sbt_pack_size(&c)));
	add(cmd_graph_node(seq, graph, 1, SBT_NODE_FILL, SBT_NO_ID, packed, sbt_pack_size(&c)));
	add(cmd_graph_instantiate(seq, exec, graph));
}

/* Two nodes of each graph race: told once for each, however many launches and graphs there are. */
static void test_each_graph_is_judged_once(void **unused)
{
	static const uint64_t execs[] = {1, 63, 64, 200};
	uint64_t launches[4];

	(void)unused;
	begin();
	for (uint64_t i = 0; i < 4; i++)
		graph_of_a_fill(10 + i, execs[i], A + 64 * i);
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < 4; i++) {
			const uint64_t at = add(cmd_graph_launch(seq, 1, execs[i]));

			launches[i] = k ? launches[i] : at;
		}
	struct order_races x = races_found();

	assert_int_equal(x.n, 4);
	for (unsigned i = 0; i < 4; i++) {
		race_is(&x, i, launches[i], launches[i]);
		assert_int_equal(x.r[i].a.node, 0);
		assert_int_equal(x.r[i].b.node, 1);
		assert_int_equal(x.r[i].a.stream, 1);
		assert_int_equal(x.r[i].addr, A + 64 * i);
		assert_int_equal(x.r[i].size, 16);
		assert_int_equal(x.r[i].alloc, A);
		assert_int_equal(x.r[i].count, 1);
	}
	races_over(&x);
}

/* Launches of graphs that nothing is ordered with. */
static void test_launches_of_graphs_are_suspect(void **unused)
{
	static const uint64_t execs[] = {1, 63, 64, 200};
	uint64_t first = 0;

	(void)unused;
	begin();
	for (uint64_t i = 0; i < 4; i++)
		graph_of_a_fill(10 + i, execs[i], A + 64 * i);
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t at = add(cmd_graph_launch(seq, 1, execs[i]));

		first = i ? first : at;
	}
	fill(2, A, 64 * 4);
	const struct order_options o = {.first = 1, .last = seq};
	struct order_suspects x;

	ok(order_suspects(&x, end_once(), &o));
	assert_int_equal(x.launches, 4);
	assert_int_equal(x.n, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(x.seq[i], first + i);
	order_suspects_free(&x);
	test_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_places),
		cmocka_unit_test(test_a_list_has_an_end),
		cmocka_unit_test(test_the_surer_of_two_is_kept),
		cmocka_unit_test(test_one_that_came_late_is_named_by_its_number),
		cmocka_unit_test(test_freed_memory_is_remembered_for_a_while),
		cmocka_unit_test(test_which_of_the_hosts_changes_count),
		cmocka_unit_test(test_a_weaker_race_of_the_same_commands_is_dropped),
		cmocka_unit_test(test_launches_of_which_nothing_is_known),
		cmocka_unit_test(test_each_graph_is_judged_once),
		cmocka_unit_test(test_launches_of_graphs_are_suspect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
