/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as steps: their order, child graphs, what depends on what, and graphs that cannot be.
 */
#include "state-test.h"
#include "state/steps.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

/* A graph's nodes as a table; deps are numbers of nodes. */
struct spec {
	uint32_t graph, node;
	enum sbt_node type;
	uint32_t child;
	uint32_t ndeps, deps[4];
};
struct specs {
	const struct spec *s;
	unsigned n;
	uint64_t payload[130][32]; /* of child nodes, by row */
	uint16_t payload_kind;	   /* 0: as it should be */
};

static bool spec_node(void *arg, uint32_t graph, unsigned i, struct state_node *ret)
{
	struct specs *t = arg;

	for (unsigned k = 0; k < t->n; k++) {
		const struct spec *p = &t->s[k];

		if (p->graph != graph || i--)
			continue;
		*ret = (struct state_node){.node = p->node,
			.kernel = SBT_NO_ID,
			.type = p->type,
			.deps = {p->deps, p->ndeps * 4}};
		if (p->type == SBT_NODE_GRAPH && p->child) {
			struct sbt_cmd c = {
				.kind = t->payload_kind ? t->payload_kind : SBT_GRAPH_LAUNCH,
				.u.graph_launch = {.stream = SBT_NO_ID, .exec = p->child}};
			uint64_t *to = t->payload[k];

			assert_true(sbt_pack_size(&c) <= sizeof t->payload[0]);
			sbt_pack(to, &c);
			ret->payload = (struct sbt_blob){to, sbt_pack_size(&c)};
		}
		return true;
	}
	return false;
}

static bool spec_known(void *arg, uint32_t graph)
{
	const struct specs *t = arg;

	for (unsigned k = 0; k < t->n; k++)
		if (t->s[k].graph == graph)
			return true;
	return false;
}

static struct err *make(struct state_steps *ret, struct specs *t, const struct spec *s, unsigned n)
{
	const struct steps_source from = {.arg = t, .node = spec_node, .known = spec_known};

	*t = (struct specs){.s = s, .n = n};
	return steps_make(ret, &from, 1);
}

#define MAKE(ret, t, s) make(ret, t, s, sizeof s / sizeof *(s))

static void is(const struct state_steps *t, uint32_t at, uint32_t graph, uint32_t node,
	unsigned ndeps, const uint32_t *deps)
{
	assert_true(at < t->n);
	assert_int_equal(t->step[at].graph, graph);
	assert_int_equal(t->step[at].node.node, node);
	assert_int_equal(t->step[at].ndeps, ndeps);
	if (ndeps)
		assert_memory_equal(t->step[at].deps, deps, ndeps * sizeof *deps);
}

#define IS(t, at, graph, node, ...)                                                                \
	is(t, at, graph, node, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

/* The lowest number that may go next goes: 2 waits for 3, so the order is 0 1 3 2. */
static void test_order(void **state)
{
	static const struct spec s[] = {{1, 0, SBT_NODE_FILL, 0, 0, {0}},
		{1, 1, SBT_NODE_EMPTY, 0, 1, {0}}, {1, 2, SBT_NODE_KERNEL, 0, 2, {1, 3}},
		{1, 3, SBT_NODE_COPY, 0, 1, {0}}};
	struct state_steps t;
	struct specs specs;

	ok(MAKE(&t, &specs, s));
	assert_int_equal(t.n, 4);
	is(&t, 0, 1, 0, 0, NULL);
	IS(&t, 1, 1, 1, 0);
	IS(&t, 2, 1, 3, 0);
	IS(&t, 3, 1, 2, 1, 2);
	assert_true(steps_branch(&t));
	assert_true(step_works(&t.step[0]));
	assert_false(step_works(&t.step[1]));
	state_steps_free(&t);
	assert_null(t.step);
	assert_int_equal(t.n, 0);
	assert_null(t.deps);
	assert_int_equal(t.ndeps, 0);
	state_steps_free(&t); /* nothing is left to free */
}

/* 0 -> child {5 -> 6, 7} -> 2: the child's roots wait for 0, and 2 for what ends the child, 6
 * and 7. */
static void test_child(void **state)
{
	static const struct spec s[] = {{1, 0, SBT_NODE_FILL, 0, 0, {0}},
		{1, 1, SBT_NODE_GRAPH, 9, 1, {0}}, {1, 2, SBT_NODE_KERNEL, 0, 1, {1}},
		{9, 5, SBT_NODE_KERNEL, 0, 0, {0}}, {9, 6, SBT_NODE_KERNEL, 0, 1, {5}},
		{9, 7, SBT_NODE_KERNEL, 0, 0, {0}}};
	struct state_steps t;
	struct specs specs;

	ok(MAKE(&t, &specs, s));
	assert_int_equal(t.n, 5);
	is(&t, 0, 1, 0, 0, NULL);
	IS(&t, 1, 9, 5, 0);
	IS(&t, 2, 9, 6, 1);
	IS(&t, 3, 9, 7, 0);
	IS(&t, 4, 1, 2, 2, 3);
	assert_int_equal(t.step[3].depth, 1);
	state_steps_free(&t);
}

/* 0 is the child {0, 1}, and 1 waits for it: for both of the child's nodes. */
static void test_child_of_two(void **state)
{
	static const struct spec s[] = {{1, 0, SBT_NODE_GRAPH, 9, 0, {0}},
		{1, 1, SBT_NODE_KERNEL, 0, 1, {0}}, {9, 0, SBT_NODE_KERNEL, 0, 0, {0}},
		{9, 1, SBT_NODE_KERNEL, 0, 0, {0}}};
	struct state_steps t;
	struct specs specs;

	ok(MAKE(&t, &specs, s));
	assert_int_equal(t.n, 3);
	is(&t, 0, 9, 0, 0, NULL);
	is(&t, 1, 9, 1, 0, NULL);
	IS(&t, 2, 1, 1, 0, 1);
	state_steps_free(&t);
}

static void test_chain(void **state)
{
	static const struct spec s[] = {{1, 0, SBT_NODE_FILL, 0, 1, {1}},
		{1, 1, SBT_NODE_FILL, 0, 1, {2}}, {1, 2, SBT_NODE_FILL, 0, 0, {0}}};
	struct state_steps t;
	struct specs specs;

	ok(MAKE(&t, &specs, s));
	is(&t, 0, 1, 2, 0, NULL);
	IS(&t, 1, 1, 1, 0);
	IS(&t, 2, 1, 0, 1);
	assert_false(steps_branch(&t));
	state_steps_free(&t);
}

static void says(struct err *e, const char *part)
{
	assert_non_null(e);
	if (!strstr(e->what, part))
		fail_msg("\"%s\" does not say \"%s\"", e->what, part);
	err_free(e);
}

/* A child node whose record is of no graph's launch. */
static struct err *of_other_kind(struct state_steps *ret, struct specs *t)
{
	static const struct spec child[] = {
		{1, 0, SBT_NODE_GRAPH, 2, 0, {0}}, {2, 0, SBT_NODE_FILL, 0, 0, {0}}};
	const struct steps_source from = {.arg = t, .node = spec_node, .known = spec_known};

	*t = (struct specs){.s = child, .n = 2, .payload_kind = SBT_CAPTURE_END};
	return steps_make(ret, &from, 1);
}

static void test_hostile(void **state)
{
	static const struct spec circle[] = {
		{1, 0, SBT_NODE_FILL, 0, 1, {1}}, {1, 1, SBT_NODE_FILL, 0, 1, {0}}};
	static const struct spec self[] = {{1, 0, SBT_NODE_FILL, 0, 1, {0}}};
	static const struct spec dangling[] = {{1, 0, SBT_NODE_FILL, 0, 1, {17}}};
	static const struct spec unknown[] = {{1, 0, SBT_NODE_OTHER + 1, 0, 0, {0}}};
	static const struct spec twice[] = {
		{1, 4, SBT_NODE_FILL, 0, 0, {0}}, {1, 4, SBT_NODE_FILL, 0, 0, {0}}};
	static const struct spec orphan[] = {{1, 0, SBT_NODE_GRAPH, 8, 0, {0}}};
	static const struct spec empty[] = {{1, 0, SBT_NODE_GRAPH, 0, 0, {0}}};
	static const struct spec mother[] = {
		{1, 0, SBT_NODE_GRAPH, 2, 0, {0}}, {2, 0, SBT_NODE_GRAPH, 1, 0, {0}}};
	struct state_steps t;
	struct specs specs;

	says(MAKE(&t, &specs, circle), "in a circle");
	assert_int_equal(t.n, 0);
	says(MAKE(&t, &specs, self), "in a circle");
	says(MAKE(&t, &specs, dangling), "depends on node 17, which the graph does not have");
	says(MAKE(&t, &specs, unknown), "does not exist");
	says(MAKE(&t, &specs, twice), "two nodes 4");
	says(MAKE(&t, &specs, orphan), "was not recorded");
	says(MAKE(&t, &specs, empty), "was not recorded");
	says(MAKE(&t, &specs, mother), "child of itself");
	says(of_other_kind(&t, &specs), "was not recorded");
}

/* Many children without steps cost time all the same. */
static void test_empty_tree(void **state)
{
	static struct spec s[130];
	struct state_steps t;
	struct specs specs;
	unsigned n = 0;

	for (uint32_t g = 1; g <= 8; g++)
		for (uint32_t k = 0; k < 8; k++)
			s[n++] = (struct spec){
				.graph = g, .node = k, .type = SBT_NODE_GRAPH, .child = g + 1};
	s[n++] = (struct spec){.graph = 9, .node = 0, .type = SBT_NODE_GRAPH, .child = 10};
	s[n++] = (struct spec){.graph = 10, .node = 0, .type = SBT_NODE_EMPTY};
	fails(make(&t, &specs, s, n), ERR_LIMIT);
}

/* A large graph against the rule of steps.h: of the nodes that may go next, the one with the lowest
 * number goes. Nodes are told in any order, and their numbers have holes. */
#define MANY 120
static void test_any_order(void **state)
{
	static struct spec s[MANY];
	bool gone[MANY] = {false};
	uint32_t rank[MANY]; /* the place of each in a random order, which the edges respect */
	uint64_t x = 7;
	struct state_steps t;
	struct specs specs;

	for (uint32_t i = 0; i < MANY; i++)
		rank[i] = i;
	for (uint32_t i = MANY - 1; i; i--) {
		const uint32_t k =
			(uint32_t)((x = x * UINT64_C(6364136223846793005) + 1) >> 33) % i;
		const uint32_t was = rank[i];

		rank[i] = rank[k];
		rank[k] = was;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		const uint32_t id = (i * 7) % MANY; /* 7 and 120 have no common factor */

		s[i] = (struct spec){.graph = 1, .node = 3 * id, .type = SBT_NODE_FILL};
		for (uint32_t k = 0; k < MANY && s[i].ndeps < 4; k++)
			if (rank[k] < rank[id] && rank[k] + 9 > rank[id] && (k + id) % 3 == 0)
				s[i].deps[s[i].ndeps++] = 3 * k;
	}
	ok(make(&t, &specs, s, MANY));
	assert_int_equal(t.n, MANY);
	for (uint32_t at = 0; at < MANY; at++) {
		uint32_t least = UINT32_MAX;

		for (uint32_t i = 0; i < MANY; i++) {
			bool may = !gone[s[i].node / 3];

			for (uint32_t k = 0; k < s[i].ndeps; k++)
				may &= gone[s[i].deps[k] / 3];
			if (may && s[i].node < least)
				least = s[i].node;
		}
		assert_int_equal(t.step[at].node.node, least);
		gone[least / 3] = true;
	}
	state_steps_free(&t);
}

/* Graphs in graphs, one in each: 1 in 2 ... */
static void test_depth(void **state)
{
	static struct spec s[STEPS_DEPTH_MAX + 2];
	struct state_steps t;
	struct specs specs;

	for (uint32_t i = 0; i < STEPS_DEPTH_MAX + 2; i++)
		s[i] = (struct spec){.graph = i + 1, .type = SBT_NODE_GRAPH, .child = i + 2};
	s[STEPS_DEPTH_MAX].type = SBT_NODE_FILL;
	ok(make(&t, &specs, s, STEPS_DEPTH_MAX + 1));
	assert_int_equal(t.n, 1);
	assert_int_equal(t.step[0].depth, STEPS_DEPTH_MAX);
	assert_int_equal(t.step[0].graph, STEPS_DEPTH_MAX + 1);
	state_steps_free(&t);
	s[STEPS_DEPTH_MAX].type = SBT_NODE_GRAPH;
	s[STEPS_DEPTH_MAX + 1].type = SBT_NODE_FILL;
	fails(make(&t, &specs, s, STEPS_DEPTH_MAX + 2), ERR_LIMIT);
}

/* --- steps as commands --- */

static struct state_step packed(enum sbt_node type, const struct sbt_cmd *c, uint64_t *bytes)
{
	struct state_step ret = {.graph = 1, .node = {.node = 2, .type = type}};

	if (c) {
		sbt_pack(bytes, c);
		ret.node.payload = (struct sbt_blob){bytes, sbt_pack_size(c)};
	}
	return ret;
}

static void test_as_command(void **state)
{
	static const struct {
		enum sbt_node type;
		enum sbt_kind kind;
	} rows[] = {{SBT_NODE_KERNEL, SBT_LAUNCH}, {SBT_NODE_COPY, SBT_COPY},
		{SBT_NODE_FILL, SBT_FILL}, {SBT_NODE_HOST, SBT_HOST_FUNC},
		{SBT_NODE_WAIT_EVENT, SBT_STREAM_WAIT}, {SBT_NODE_EVENT_RECORD, SBT_EVENT_RECORD}};
	struct sbt_cmd launch = cmd_graph_launch(77, 5, 1), c, got;
	struct state_step step;
	uint64_t bytes[64];

	launch.ctx = 3;
	launch.thread = 9;
	launch.host_ns = 123456;
	launch.flags = SBT_F_WINDOW;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		c = cmd_any(1, rows[i].kind);
		c.result = 999;
		sbt_set(&c, sbt_field(c.kind, "stream"), 1);
		assert_true(sbt_pack_size(&c) <= sizeof bytes);
		step = packed(rows[i].type, &c, bytes);
		ok(step_as_command(&step, &launch, &got));
		assert_int_equal(got.kind, rows[i].kind);
		assert_int_equal(sbt_get(&got, sbt_field(got.kind, "stream")), 5);
		assert_true(got.seq == 77 && got.ctx == 3 && got.thread == 9);
		assert_true(got.host_ns == 123456 && got.flags == SBT_F_WINDOW && !got.result);
		assert_true(step_cmd(&step, &got));
		step = packed(
			rows[i].type == SBT_NODE_FILL ? SBT_NODE_COPY : SBT_NODE_FILL, &c, bytes);
		fails(step_as_command(&step, &launch, &got), ERR_BAD_TRACE);
		step = packed(rows[i].type, NULL, bytes);
		fails(step_as_command(&step, &launch, &got), ERR_BAD_TRACE);
		assert_false(step_cmd(&step, &got));
	}
	step = packed(SBT_NODE_OTHER, &c, bytes);
	fails(step_as_command(&step, &launch, &got), ERR_UNSUPPORTED);
	step = packed(SBT_NODE_EMPTY, &c, bytes);
	fails(step_as_command(&step, &launch, &got), ERR_UNSUPPORTED);
	step = packed((enum sbt_node)(SBT_NODE_OTHER + 1), &c, bytes);
	fails(step_as_command(&step, &launch, &got), ERR_UNSUPPORTED);
}

static void test_works(void **state)
{
	struct state_step step = {.node = {.type = SBT_NODE_KERNEL}};

	assert_true(step_works(&step));
	step.node.disabled = true;
	assert_false(step_works(&step));
	step.node = (struct state_node){.type = SBT_NODE_HOST};
	assert_false(step_works(&step));
	step.node.type = SBT_NODE_EMPTY;
	assert_false(step_works(&step));
}

static void test_positions(void **state)
{
	uint64_t seq;
	uint32_t step;

	assert_true(step_position("214", &seq, &step));
	assert_int_equal(seq, 214);
	assert_int_equal(step, UINT32_MAX);
	assert_true(step_position("#214.3", &seq, &step));
	assert_int_equal(seq, 214);
	assert_int_equal(step, 3);
	assert_true(step_position("214.0", &seq, &step));
	assert_int_equal(step, 0);
	assert_true(step_position("18446744073709551615.1", &seq, &step));
	assert_false(step_position("18446744073709551616", &seq, &step));
	assert_false(step_position("", &seq, &step));
	assert_false(step_position("#", &seq, &step));
	assert_false(step_position("214.", &seq, &step));
	assert_false(step_position(".3", &seq, &step));
	assert_false(step_position("214.3.1", &seq, &step));
	assert_false(step_position("214.99999999", &seq, &step));
	assert_true(step_position("1.1048576", &seq, &step));
	assert_int_equal(step, STEPS_MAX);
	assert_false(step_position("1.1048577", &seq, &step));
	assert_true(step_position("18446744073709551615", &seq, &step));
	assert_true(seq == UINT64_MAX);
	assert_false(step_position("184467440737095516150", &seq, &step));
	assert_false(step_position("-1", &seq, &step));
}

/* Nodes written again after the graph was instantiated change what was instantiated, or not, as
 * their id says. */
static void test_updates(void **state)
{
	struct state *s = state_new(), *back;
	struct sbt_cmd update = cmd_any(30, SBT_GRAPH_UPDATE), node, inst,
		       begin = cmd_any(3, SBT_CAPTURE_BEGIN), end = cmd_any(9, SBT_CAPTURE_END);
	struct state_graph g;
	struct state_node n;
	struct buf b = BUF_INIT;

	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_stream_create(2, 2, 0));
	begin.u.capture_begin.stream = 2;
	begin.u.capture_begin.mode = SBT_CAPTURE_RELAXED;
	apply(s, begin);
	end.u.capture_end.stream = 2;
	end.u.capture_end.new_graph = 0;
	apply(s, end);
	for (uint32_t i = 0; i < 3; i++) {
		node = cmd_graph_node(10 + i, 0, i, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0);
		node.u.graph_node.origin = 5 + i;
		node.stack = 70 + i;
		apply(s, node);
	}
	inst = cmd_graph_instantiate(20, 1, 0);
	inst.u.graph_instantiate.nodes = 2; /* the third has gone */
	apply(s, inst);
	update.u.graph_update.exec = 1;
	update.u.graph_update.graph = SBT_NO_ID;
	apply(s, update);
	node = cmd_graph_node(31, 1, 1, SBT_NODE_HOST, SBT_NO_ID, NULL, 0);
	node.u.graph_node.disabled = 1;
	apply(s, node);

	state_encode(s, &b);
	ok(state_decode(&back, b.data, b.len));
	assert_int_equal(state_hash(s), state_hash(back));
	assert_true(state_graph_by_id(back, 0, &g));
	assert_int_equal(g.nodes, 2);
	assert_int_equal(g.capture_first, 3);
	assert_int_equal(g.made, 9);
	assert_int_equal(g.capture_stream, 2);
	assert_int_equal(g.capture_mode, SBT_CAPTURE_RELAXED);
	assert_true(state_graph_by_id(back, 1, &g));
	assert_int_equal(g.updates, 1);
	assert_int_equal(g.last_update, 30);
	assert_int_equal(g.made, 20);
	assert_int_equal(g.nodes, 2);
	assert_true(state_graph_node(back, 1, 1, &n));
	assert_int_equal(n.type, SBT_NODE_HOST);
	assert_true(n.disabled);
	assert_true(state_graph_node(back, 0, 1, &n)); /* the graph itself is as it was */
	assert_int_equal(n.type, SBT_NODE_EMPTY);
	assert_int_equal(n.origin, 6);
	assert_int_equal(n.stack, 71);
	assert_false(n.disabled);
	buf_free(&b);
	state_free(back);
	state_free(s);
}

/* A clone keeps what it had; room is used again, and grows. */
static void test_payloads(void **state)
{
	static const char *const payloads[] = {
		"12345678", "abcd", "abcd", "ABCDEFGH", "longer than that", "x"};
	struct state *s = state_new(), *before;
	struct sbt_cmd create = cmd_any(2, SBT_GRAPH_CREATE);
	struct state_node n;

	apply(s, cmd_ctx_create(1, 0, 0));
	create.u.graph_create.new_graph = 0;
	create.u.graph_create.clone_of = SBT_NO_ID;
	apply(s, create);
	apply(s, cmd_graph_node(3, 0, 1, SBT_NODE_KERNEL, SBT_NO_ID, "other", 5));
	for (unsigned i = 0; i < 6; i++) {
		const size_t len = strlen(payloads[i]);

		before = state_clone(s);
		apply(s, cmd_graph_node(4 + i, 0, 0, SBT_NODE_KERNEL, SBT_NO_ID, payloads[i], len));
		assert_true(state_graph_node(s, 0, 0, &n));
		assert_int_equal(n.payload.len, len);
		assert_memory_equal(n.payload.p, payloads[i], len);
		assert_true(state_graph_node(s, 0, 1, &n));
		assert_memory_equal(n.payload.p, "other", 5);
		assert_true(state_graph_node(before, 0, 0, &n));
		if (i)
			assert_memory_equal(n.payload.p, payloads[i - 1], strlen(payloads[i - 1]));
		state_free(before);
	}
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),
		cmocka_unit_test(test_child), cmocka_unit_test(test_child_of_two),
		cmocka_unit_test(test_chain), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_empty_tree), cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_depth), cmocka_unit_test(test_as_command),
		cmocka_unit_test(test_works), cmocka_unit_test(test_positions),
		cmocka_unit_test(test_updates), cmocka_unit_test(test_payloads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
