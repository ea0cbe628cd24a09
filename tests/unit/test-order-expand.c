/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows with their graph launches taken apart: what the graph orders is ordered by streams and
 * events then, and nothing more; and the engine inside launches, without a device. Graphs that
 * cannot be stay launches, and are refused by a sentence.
 */
#include <unistd.h>
#include "order-test.h"
#include "order/expand.h"
#include "replay/replay.h"
#include "sbt/cmd-pack.h"

/* Node `node` of graph 0, a fill of 16 bytes at A + 16 * node. */
static void node(uint64_t number, enum sbt_node type, const uint32_t *deps, unsigned ndeps)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_fill(0, SBT_NO_ID, A + 16 * number, 16), n;

	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	n = cmd_graph_node(seq, 0, number, type, SBT_NO_ID, type == SBT_NODE_FILL ? packed : NULL,
		type == SBT_NODE_FILL ? sbt_pack_size(&c) : 0);
	n.u.graph_node.deps = (struct sbt_blob){deps, ndeps * 4};
	add(n);
}

#define NODE(number, type, ...)                                                                    \
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

static void sync_all(void)
{
	const uint64_t s = add(cmd_sync_ctx(seq));

	add(cmd_sync_end(seq, s));
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
	const uint64_t before = fill(1, B, 16), launch = add(cmd_graph_launch(seq, 1, 1)),
		       other = fill(2, B + 64, 16), after = fill(1, B + 32, 16);
	struct sbt_reader *r = trace_end(&t);

	ok(expand_wanted(r, 1, seq - 1, &wanted));
	assert_true(wanted);
	struct sbt_reader *to = expand(r, &x);
	const struct order_options o = {.first = 1, .last = x.last};
	const uint64_t s1 = of(&x, launch, 1), s2 = of(&x, launch, 2), s3 = of(&x, launch, 3),
		       s4 = of(&x, launch, 4), b = of(&x, before, 0), a = of(&x, after, 0),
		       c = of(&x, other, 0);
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

/* Random graphs: of two steps one is before the other exactly if a path leads from it. What the
 * window has besides keeps its streams and events for itself. */
static void test_steps_are_ordered_as_paths_are(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_cmds dice = {.x = seed * 7919};
		const unsigned n = 2 + (unsigned)random_below(&dice, 14);
		bool path[16][16] = {{false}};
		uint32_t deps[16][3];
		struct expanded x;
		struct order *g;

		graph_begins();
		for (unsigned i = 0; i < n; i++) {
			const unsigned many = i ? (unsigned)random_below(&dice, 4) : 0;

			for (unsigned k = 0; k < many; k++) {
				const unsigned d = (unsigned)random_below(&dice, i);

				deps[i][k] = d;
				path[i][d] = true;
				for (unsigned j = 0; j < n; j++)
					path[i][j] |= path[d][j];
			}
			node(i, SBT_NODE_FILL, deps[i], many);
		}
		graph_ends();
		const uint64_t launch = add(cmd_graph_launch(seq, 1, 1));

		sync_all();
		record(2, 1);
		const uint64_t fired = fill(2, B, 16);

		wait_for(3, 1);
		const uint64_t waited = fill(3, B, 16), alone = fill(4, B, 16);
		struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);
		const struct order_options o = {.first = 1, .last = x.last};

		ok(order_open(&g, to, &o));
		for (unsigned i = 0; i < n; i++) {
			const uint64_t a = of(&x, launch, i + 1);

			for (unsigned k = 0; k < n; k++)
				assert_int_equal(
					order_before(g, of(&x, launch, k + 1), a), path[i][k]);
			assert_true(order_before(g, a, of(&x, alone, 0)));
		}
		assert_false(order_before(g, of(&x, fired, 0), of(&x, waited, 0)));
		assert_false(order_before(g, of(&x, waited, 0), of(&x, alone, 0)));
		order_close(g);
		expanded_free(&x);
		sbt_reader_close(to);
		sbt_reader_close(r);
	}
}

/* Roots besides the first chain begin behind what was before the launch, and are over before what
 * comes after it. */
/* Where the memory of a window belongs when a launch in it becomes its steps: src/sbt/memory.h says
 * what each role means. */
static void test_memory_of_the_window(void **unused)
{
	static const enum sbt_memory_role roles[] = {SBT_MEMORY_START, SBT_MEMORY_HOST,
		SBT_MEMORY_EFFECT, SBT_MEMORY_HOST, SBT_MEMORY_END, SBT_MEMORY_HOST};
	struct pieces p = {.n = 0};
	struct expanded x;
	char bytes[4];

	graph_begins();
	NODE(0, SBT_NODE_FILL);
	NODE(1, SBT_NODE_FILL, 0);
	graph_ends();
	const uint64_t launch = add(cmd_graph_launch(seq, 1, 1));
	const uint64_t gap = seq++; /* a call that changed nothing */
	const uint64_t after = fill(1, B, 16);
	fill(1, B, 32);
	const uint64_t at[] = {1, launch, launch, after, seq - 1, gap};

	for (size_t i = 0; i < 6; i++)
		piece(at[i], roles[i], A + 64 * i, "abcd", 4);
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);
	const uint64_t want[] = {x.first, of(&x, launch, 1), of(&x, launch, 2), of(&x, after, 0),
		x.last, of(&x, after, 0)};

	ok(sbt_reader_memory(to, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 6);
	for (size_t i = 0; i < 6; i++) {
		const size_t k = (size_t)(p.m[i].addr - A) / 64;

		assert_true(k < 6);
		assert_int_equal(p.m[i].addr, A + 64 * k);
		assert_int_equal(p.m[i].size, 4);
		assert_int_equal(p.m[i].role, roles[k]);
		if (k == 1) { /* before the steps, behind what was before the launch */
			assert_true(p.m[i].seq > of(&x, launch - 1, 0));
			assert_true(p.m[i].seq <= want[k]);
		} else {
			assert_int_equal(p.m[i].seq, want[k]);
		}
		ok(sbt_reader_memory_read(to, &p.m[i], 0, bytes, 4));
		assert_memory_equal(bytes, "abcd", 4);
	}
	sbt_reader_close(to);
	expanded_free(&x);
	sbt_reader_close(r);
}

static void test_roots(void **unused)
{
	struct expanded x;

	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	node(1, SBT_NODE_FILL, NULL, 0);
	node(2, SBT_NODE_EMPTY, NULL, 0);
	NODE(3, SBT_NODE_FILL, 2);
	graph_ends();
	const uint64_t before = fill(1, B, 16), launch = add(cmd_graph_launch(seq, 1, 1)),
		       again = add(cmd_graph_launch(seq, 1, 1));
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
	assert_false(order_before(g, of(&x, launch, 1), of(&x, launch, 2)) ||
		     order_before(g, of(&x, launch, 2), of(&x, launch, 4)));
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

/* Kernel node `number` behind that node, by a programmatic edge. */
static void kernel_behind(uint64_t number, uint64_t front, bool early)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_launch(0, SBT_NO_ID, 0), n;
	const uint32_t dep = (uint32_t)front;

	c.u.launch.launch_attrs = early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	n = cmd_graph_node(seq, 0, number, SBT_NODE_KERNEL, 0, packed, sbt_pack_size(&c));
	if (front != number)
		n.u.graph_node.deps = (struct sbt_blob){&dep, 4};
	add(n);
}

static bool is_early(struct sbt_reader *r, uint64_t at)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	bool early;

	ok(sbt_cursor_open(&cursor, r));
	ok(sbt_cursor_seek(cursor, at));
	ok(sbt_cursor_next(cursor, &c));
	assert_int_equal(c->seq, at);
	early = early_is(c);
	sbt_cursor_close(cursor);
	return early;
}

/* A kernel, one behind it by a programmatic edge, one behind that by a full one; two more behind
 * the first by programmatic ones. */
static void test_programmatic_edges(void **unused)
{
	struct expanded x;
	bool wanted;

	graph_begins();
	kernel_behind(0, 0, false);
	kernel_behind(1, 0, true);
	kernel_behind(2, 1, false);
	graph_ends();
	const uint64_t launch = add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t);

	ok(expand_wanted(r, 1, seq - 1, &wanted));
	assert_true(wanted);
	struct sbt_reader *to = expand(r, &x);
	assert_false(is_early(to, of(&x, launch, 1)));
	assert_true(is_early(to, of(&x, launch, 2)));
	assert_false(is_early(to, of(&x, launch, 3)));
	assert_int_equal(x.nlost, 0);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* Two behind one: the second is on another stream, where an edge can only be a full one. A fill in
 * front is no launch. */
static void test_programmatic_edges_that_are_lost(void **unused)
{
	struct expanded x;

	graph_begins();
	kernel_behind(0, 0, false);
	kernel_behind(1, 0, true);
	kernel_behind(2, 0, true);
	node(3, SBT_NODE_FILL, NULL, 0);
	kernel_behind(4, 3, true);
	graph_ends();
	const uint64_t launch = add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);

	assert_true(is_early(to, of(&x, launch, 2)));
	assert_false(is_early(to, of(&x, launch, 3)));
	assert_false(is_early(to, of(&x, launch, 5)));
	assert_int_equal(x.nlost, 2);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* --- several launches --- */

static void diamond(void)
{
	graph_begins();
	node(0, SBT_NODE_FILL, NULL, 0);
	NODE(1, SBT_NODE_FILL, 0);
	NODE(2, SBT_NODE_FILL, 0);
	NODE(3, SBT_NODE_FILL, 1, 2);
	graph_ends();
}

/* Calls fn for each command that was added. */
static void each_added(
	struct sbt_reader *r, void (*fn)(void *arg, const struct sbt_cmd *c), void *arg)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	ok(sbt_cursor_open(&cursor, r));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c)
			break;
		if (c->flags & SBT_F_SYNTHETIC)
			fn(arg, c);
	}
	sbt_cursor_close(cursor);
}

struct made {
	unsigned streams, events;
	uint64_t least_stream, least_event;
};

static void count_made(void *arg, const struct sbt_cmd *c)
{
	struct made *m = arg;

	if (c->kind == SBT_STREAM_CREATE) {
		m->streams++;
		if (c->u.stream_create.new_stream < m->least_stream)
			m->least_stream = c->u.stream_create.new_stream;
		assert_int_equal(c->u.stream_create.stream_flags, 1); /* non-blocking */
	}
	if (c->kind == SBT_EVENT_CREATE) {
		m->events++;
		if (c->u.event_create.new_event < m->least_event)
			m->least_event = c->u.event_create.new_event;
	}
}

/* Launches on different streams are apart, those on one stream come one after the other, and take
 * the same streams and events: of a diamond one stream, and events for its beginning, and behind
 * the first step and the one on the other stream. */
static void test_launches_on_two_streams(void **unused)
{
	struct made had = {.least_stream = UINT64_MAX, .least_event = UINT64_MAX};
	struct expanded x;
	struct order *g;

	(void)unused;
	diamond();
	const uint64_t one = add(cmd_graph_launch(seq, 1, 1)),
		       two = add(cmd_graph_launch(seq, 2, 1)),
		       again = add(cmd_graph_launch(seq, 1, 1));
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);
	const struct order_options o = {.first = 1, .last = x.last};

	ok(order_open(&g, to, &o));
	for (uint32_t i = 1; i <= 4; i++)
		for (uint32_t k = 1; k <= 4; k++) {
			assert_false(order_before(g, of(&x, one, i), of(&x, two, k)) ||
				     order_before(g, of(&x, two, k), of(&x, one, i)));
			assert_true(order_before(g, of(&x, one, i), of(&x, again, k)));
		}
	each_added(to, count_made, &had);
	assert_int_equal(had.streams, 2);
	assert_int_equal(had.events, 6);
	assert_int_equal(had.least_stream, 5); /* the trace has 0 to 4, and events 0 and 1 */
	assert_int_equal(had.least_event, 2);
	order_close(g);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* Ids that the window names anywhere are not taken. */
static void test_new_ids_are_nobodys(void **unused)
{
	struct made had = {.least_stream = UINT64_MAX, .least_event = UINT64_MAX};
	struct expanded x;

	(void)unused;
	diamond();
	add(cmd_graph_launch(seq, 1, 1));
	add(cmd_stream_create(seq, 70, 1));
	add(cmd_event_create(seq, 90));
	fill(70, B, 16);
	record(70, 90);
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);

	each_added(to, count_made, &had);
	assert_int_equal(had.least_stream, 71);
	assert_int_equal(had.least_event, 91);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* A launch that needs more streams than there may be stays one. */
static void test_as_many_branches_as_there_may_be(void **unused)
{
	(void)unused;
	for (unsigned n = EXPAND_LANES_MAX; n <= EXPAND_LANES_MAX + 1; n++) {
		struct expanded x;
		uint64_t want;

		graph_begins();
		for (unsigned i = 0; i < n; i++)
			node(i, SBT_NODE_FILL, NULL, 0);
		graph_ends();
		const uint64_t launch = add(cmd_graph_launch(seq, 1, 1));
		struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);
		size_t steps = 0;

		for (size_t i = 0; i < x.n; i++)
			steps += x.seq[i] == launch && x.step[i];
		want = n == EXPAND_LANES_MAX ? n : 0;
		assert_int_equal(steps, want);
		if (!want)
			assert_int_equal(of(&x, launch, 0), launch);
		expanded_free(&x);
		sbt_reader_close(to);
		sbt_reader_close(r);
	}
}

/* A part of the trace begins with its state. */
static void test_a_window_in_the_middle(void **unused)
{
	char path[] = "test-order-expand-XXXXXX.sbt";
	struct expanded x;
	struct state *want, *got;
	struct sbt_reader *to;
	const int fd = mkstemps(path, 4);

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	diamond();
	fill(1, B, 16);
	const uint64_t launch = add(cmd_graph_launch(seq, 1, 1)), after = fill(1, B, 32);
	struct sbt_reader *r = trace_end(&t);

	ok(expand_write(r, launch, after, path, &x));
	ok(sbt_reader_open(&to, path));
	unlink(path);
	assert_int_equal(x.first, launch);
	assert_int_equal(x.last, x.first + x.n - 1);
	assert_int_equal(of(&x, after, 0), x.last);
	ok(state_at(&want, r, launch - 1));
	ok(state_at(&got, to, launch - 1));
	assert_true(state_hash(want) == state_hash(got));
	state_free(want);
	state_free(got);
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* --- copies in graphs --- */

static void copy_node(uint64_t number, enum sbt_copy dir, uint64_t dst, uint64_t src)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_copy(0, SBT_NO_ID, dir, dst, src, 16, true), n;
	const uint32_t dep = (uint32_t)number - 1;

	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	n = cmd_graph_node(seq, 0, number, SBT_NODE_COPY, SBT_NO_ID, packed, sbt_pack_size(&c));
	if (number)
		n.u.graph_node.deps = (struct sbt_blob){&dep, 4};
	add(n);
}

/* What a copy read, or delivered, belongs to its own step, by its address. */
static void test_memory_of_copies(void **unused)
{
	struct pieces p = {.n = 0};
	struct expanded x;

	(void)unused;
	graph_begins();
	copy_node(0, SBT_COPY_H2D, A, H);
	copy_node(1, SBT_COPY_H2D, A + 64, H + 64);
	copy_node(2, SBT_COPY_D2H, H + 128, A);
	copy_node(3, SBT_COPY_D2H, H + 192, A + 64);
	graph_ends();
	const uint64_t first = add(cmd_graph_launch(seq, 1, 1)),
		       second = add(cmd_graph_launch(seq, 1, 1));

	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < 4; i++)
			piece(k ? second : first, i < 2 ? SBT_MEMORY_INPUT : SBT_MEMORY_OUTPUT,
				H + 64 * i, "0123456789abcdef", 16);
	struct sbt_reader *r = trace_end(&t), *to = expand(r, &x);

	ok(sbt_reader_memory(to, 0, UINT64_MAX, list_piece, &p));
	assert_int_equal(p.n, 8);
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < 4; i++) {
			unsigned there = 0;

			for (unsigned j = 0; j < 8; j++)
				there += p.m[j].addr == H + 64 * i &&
					 p.m[j].seq == of(&x, k ? second : first, i + 1);
			assert_int_equal(there, 1);
		}
	expanded_free(&x);
	sbt_reader_close(to);
	sbt_reader_close(r);
}

/* --- graphs that cannot be --- */

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
	refused(add(cmd_graph_launch(seq, 1, 1)),
		"depends on node 7, which the graph does not have");
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

/* --- the engine --- */

static void test_positions_in_a_launch(void **unused)
{
	static const struct replay_breakpoint bp = {
		.id = 4, .glob = "f", .kind = SBT_LAUNCH, .nodes = true};
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
	const uint64_t first = add(cmd_graph_launch(seq, 1, 1)), between = fill(1, B, 16),
		       second = add(cmd_graph_launch(seq, 1, 1));
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_diamond),
		cmocka_unit_test(test_steps_are_ordered_as_paths_are), cmocka_unit_test(test_roots),
		cmocka_unit_test(test_memory_of_the_window),
		cmocka_unit_test(test_chains_need_nothing),
		cmocka_unit_test(test_programmatic_edges),
		cmocka_unit_test(test_programmatic_edges_that_are_lost),
		cmocka_unit_test(test_launches_on_two_streams),
		cmocka_unit_test(test_new_ids_are_nobodys),
		cmocka_unit_test(test_as_many_branches_as_there_may_be),
		cmocka_unit_test(test_a_window_in_the_middle),
		cmocka_unit_test(test_memory_of_copies), cmocka_unit_test(test_circle),
		cmocka_unit_test(test_dangling), cmocka_unit_test(test_unknown_type),
		cmocka_unit_test(test_child_of_nothing), cmocka_unit_test(test_no_launch),
		cmocka_unit_test(test_positions_in_a_launch)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
