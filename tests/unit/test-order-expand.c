/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows with their graph launches taken apart: what the graph orders is ordered by streams and events then, and nothing more; and
 * the engine inside launches, without a device. Graphs that cannot be stay launches, and are refused by a sentence.
 */
#include <unistd.h>
#include "order-test.h"
#include "order/expand.h"
#include "replay/replay.h"

/* Node `node` of graph 0, a fill of 16 bytes at A + 16 * node. */
static void node(uint64_t number, enum sbt_node type, const uint32_t *deps, unsigned ndeps)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_fill(0, SBT_NO_ID, A + 16 * number, 16), n;

	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	n = cmd_graph_node(seq, 0, number, type, SBT_NO_ID, type == SBT_NODE_FILL ? packed : NULL, type == SBT_NODE_FILL ? sbt_pack_size(&c) : 0);
	n.u.graph_node.deps = (struct sbt_blob){deps, ndeps * 4};
	add(n);
}

#define NODE(number, type, ...) \
	node(number, type, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void graph_begins(void)
{
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_CREATE);

	begin();
	c = cmd_any(seq, SBT_GRAPH_CREATE);
	c.u.graph_create.clone_of = SBT_NO_ID;
	add(c);
}

static void graph_ends(void)
{
	add(cmd_graph_instantiate(seq, 1, 0));
}

static struct sbt_reader *expand(struct sbt_reader *r, struct expanded *x)
{
	char path[] = "test-order-expand-XXXXXX.sbt";
	struct sbt_reader *to;
	const int fd = mkstemps(path, 4);

	assert_true(fd >= 0);
	close(fd);
	ok(expand_write(r, 1, seq - 1, path, x));
	ok(sbt_reader_open(&to, path));
	unlink(path);
	return to;
}

/* The new number of a step of a launch. */
static uint64_t of(const struct expanded *x, uint64_t launch, uint32_t step)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->seq[i] == launch && x->step[i] == step && (step || x->n))
			return x->first + i;
	fail_msg("no step %u of #%llu", step, (unsigned long long)launch);
	return 0;
}

static void test_diamond(void **unused)
{
	struct expanded x;
	bool wanted;

	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	NODE(1, SBT_NODE_FILL, 0);
	NODE(2, SBT_NODE_FILL, 0);
	NODE(3, SBT_NODE_FILL, 1, 2);
	graph_ends();
	const uint64_t before = fill(1, B, 16), launch = add(cmd_graph_launch(seq, 1, 1)), other = fill(2, B + 64, 16), after = fill(1, B + 32, 16);
	struct sbt_reader *r = trace_end(&t);

	ok(expand_wanted(r, 1, seq - 1, &wanted));
	assert_true(wanted);
	struct sbt_reader *to = expand(r, &x);
	const struct order_options o = {.first = 1, .last = x.last};
	const uint64_t s1 = of(&x, launch, 1), s2 = of(&x, launch, 2), s3 = of(&x, launch, 3), s4 = of(&x, launch, 4), b = of(&x, before, 0),
		       a = of(&x, after, 0), c = of(&x, other, 0);
	struct order *g;

	ok(order_open(&g, to, &o));
	assert_true(order_before(g, b, s1));
	assert_true(order_before(g, s1, s2) && order_before(g, s1, s3));
	assert_true(order_before(g, s2, s4) && order_before(g, s3, s4));
	assert_false(order_before(g, s2, s3) || order_before(g, s3, s2));
	assert_true(order_before(g, s4, a) && order_before(g, s3, a));
	assert_false(order_before(g, s1, c) || order_before(g, c, s4));
	order_close(g);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* Roots besides the first chain begin behind what was before the launch, and are over before what comes after it. */
static void test_roots(void **unused)
{
	struct expanded x;

	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	node(1, SBT_NODE_FILL, NULL, 0);
	node(2, SBT_NODE_EMPTY, NULL, 0);
	NODE(3, SBT_NODE_FILL, 2);
	graph_ends();
	const uint64_t before = fill(1, B, 16), launch = add(cmd_graph_launch(seq, 1, 1)), again = add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);
	const struct order_options o = {.first = 1, .last = x.last};
	struct order *g;

	ok(order_open(&g, to, &o));
	for (uint32_t k = 1; k <= 4; k++) {
		if (k == 3) /* the empty one is no command */
			continue;
		assert_true(order_before(g, of(&x, before, 0), of(&x, launch, k)));
		for (uint32_t j = 1; j <= 4; j++)
			assert_true(j == 3 || order_before(g, of(&x, launch, k), of(&x, again, j)));
	}
	assert_false(order_before(g, of(&x, launch, 1), of(&x, launch, 2)) || order_before(g, of(&x, launch, 2), of(&x, launch, 4)));
	order_close(g);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

static void test_chains_need_nothing(void **unused)
{
	bool wanted;

	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	NODE(1, SBT_NODE_FILL, 0);
	graph_ends();
	add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t);

	ok(expand_wanted(r, 1, seq - 1, &wanted));
	assert_false(wanted);
	sbt_reader_close(r);
}

/* ---- graphs that cannot be -------------------------------------------------------------------------------------------------------- */

static void refused(uint64_t launch, const char *part)
{
	struct sbt_reader *r = trace_end(&t);
	struct expanded x;
	struct sbt_reader *to = expand(r, &x);
	struct replay_stop stop;
	struct replay *p;
	uint32_t steps;

	assert_int_equal(of(&x, launch, 0), launch); /* it stays a launch */
	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, launch - 1, &stop));
	struct err *e = replay_node(p, launch, 1, &steps, &stop);
	assert_non_null(e);
	if (!strstr(e->what, part))
		fail_msg("\"%s\" does not say \"%s\"", e->what, part);
	err_free(e);
	assert_int_equal(replay_seq(p), launch - 1); /* it stays where it was */
	ok(replay_step(p, 1, &stop));
	replay_close(p);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

static void test_circle(void **unused)
{
	graph_begins();
	NODE(0, SBT_NODE_FILL, 1);
	NODE(1, SBT_NODE_FILL, 0);
	graph_ends();
	refused(add(cmd_graph_launch(seq, 1, 1)), "in a circle");
}

static void test_dangling(void **unused)
{
	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	NODE(1, SBT_NODE_FILL, 7);
	graph_ends();
	refused(add(cmd_graph_launch(seq, 1, 1)), "depends on node 7, which the graph does not have");
}

static void test_unknown_type(void **unused)
{
	graph_begins();
	node(0, (enum sbt_node)200, NULL, 0);
	graph_ends();
	refused(add(cmd_graph_launch(seq, 1, 1)), "of type 200, which does not exist");
}

static void test_child_of_nothing(void **unused)
{
	graph_begins();
	node(0, SBT_NODE_GRAPH, NULL, 0);
	graph_ends();
	refused(add(cmd_graph_launch(seq, 1, 1)), "was not recorded");
}

static void test_no_launch(void **unused)
{
	graph_begins();
	graph_ends();
	refused(fill(1, A, 16), "is no launch of a graph");
}

/* ---- the engine -------------------------------------------------------------------------------------------------------------------- */

static void test_positions_in_a_launch(void **unused)
{
	static const struct replay_breakpoint bp = {.id = 4, .glob = "f", .kind = SBT_LAUNCH, .nodes = true};
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_launch(0, SBT_NO_ID, 0);
	struct replay_stop stop;
	struct replay *p;
	uint32_t steps, step;
	int id;

	sbt_pack(packed, &c);
	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	struct sbt_cmd n = cmd_graph_node(seq, 0, 1, SBT_NODE_KERNEL, 0, packed, sbt_pack_size(&c));
	const uint32_t dep = 0;
	n.u.graph_node.deps = (struct sbt_blob){&dep, 4};
	add(n);
	graph_ends();
	const uint64_t first = add(cmd_graph_launch(seq, 1, 1)), between = fill(1, B, 16), second = add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t);

	ok(replay_open(&p, r, NULL));
	ok(replay_node(p, first, 1, &steps, &stop));
	assert_int_equal(steps, 2);
	assert_int_equal(replay_seq(p), first);
	fails(replay_node(p, first, 3, &steps, &stop), ERR_USAGE);
	ok(replay_match_nodes(p, &bp, 1, 1, UINT32_MAX, false, &step, &id));
	assert_int_equal(id, 4);
	assert_int_equal(step, 2);
	ok(replay_match_nodes(p, &bp, 1, 1, 1, false, &step, &id));
	assert_int_equal(id, 0);
	ok(replay_run(p, false, &bp, 1, NULL, &stop)); /* right before the second launch */
	assert_int_equal(stop.why, REPLAY_BREAKPOINT);
	assert_int_equal(stop.node_seq, second);
	assert_int_equal(stop.node, 2);
	assert_int_equal(replay_seq(p), between);
	ok(replay_goto(p, second, &stop));
	ok(replay_run(p, true, &bp, 1, NULL, &stop));
	assert_int_equal(stop.breakpoint, 4);
	assert_int_equal(stop.node_seq, first);
	replay_close(p);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_diamond), cmocka_unit_test(test_roots), cmocka_unit_test(test_chains_need_nothing),
		cmocka_unit_test(test_circle), cmocka_unit_test(test_dangling), cmocka_unit_test(test_unknown_type), cmocka_unit_test(test_child_of_nothing),
		cmocka_unit_test(test_no_launch), cmocka_unit_test(test_positions_in_a_launch)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
