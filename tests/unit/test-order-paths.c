/* SPDX-License-Identifier: Apache-2.0
 *
 * Why one command comes before another, or does not: the steps of a path, the words of a refusal,
 * and the picture of the whole graph.
 */
#include "order-test.h"
#include "base/buf.h"

static struct order *g;

static void path_is(uint64_t a, uint64_t b, const struct order_step *want, size_t n)
{
	struct order_step *steps;
	size_t got;

	assert_true(order_before(g, a, b));
	ok(order_path(g, a, b, &steps, &got));
	assert_int_equal(got, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(steps[i].from, want[i].from);
		assert_int_equal(steps[i].to, want[i].to);
		assert_int_equal(steps[i].edge, want[i].edge);
		assert_int_equal(steps[i].via, want[i].via);
		assert_int_equal(steps[i].skipped, want[i].skipped);
	}
	free(steps);
}
#define PATH(a, b, ...)                                                                            \
	path_is(a, b, (const struct order_step[]){__VA_ARGS__},                                    \
		sizeof((const struct order_step[]){__VA_ARGS__}) / sizeof(struct order_step))

static void no_path(uint64_t a, uint64_t b, const char *fmt, ...)
{
	struct order_step *steps;
	size_t n;
	char want[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof want, fmt, ap);
	va_end(ap);
	assert_false(order_before(g, a, b));
	struct err *e = order_path(g, a, b, &steps, &n);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	if (!strstr(e->what, want))
		fail_msg("\"%s\" does not say \"%s\"", e->what, want);
	err_free(e);
}
#define N(x) ((unsigned long long)(x))

static uint64_t sync_end(struct sbt_cmd sync)
{
	const uint64_t s = add(sync);

	return add(cmd_sync_end(seq, s));
}

static void test_what_was_passed_on_a_stream_is_counted(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8), b = fill(1, A, 8);

	fill(1, A, 8);
	const uint64_t d = fill(1, A, 8);

	g = graph_made(false);
	PATH(a, b, {a, b, ORDER_EDGE_STREAM, 0, 0});
	PATH(a, d, {a, d, ORDER_EDGE_STREAM, 0, 2});
	no_path(d, a, "#%llu may begin before #%llu has finished: ", N(a), N(d));
	no_path(a, 5, "#5 is not in the graph");
	no_path(seq, a, "#%llu is not in the graph", N(seq));
	graph_over(g);
}

static void test_a_path_over_an_event(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8);

	fill(1, A, 8);
	const uint64_t r = record(1, 0), late = fill(1, A, 8), w = wait_for(2, 0);

	fill(2, A, 8);
	const uint64_t b = fill(2, A, 8);

	g = graph_made(false);
	PATH(a, b, {a, r, ORDER_EDGE_STREAM, 0, 1}, {r, w, ORDER_EDGE_EVENT, w, 0},
		{w, b, ORDER_EDGE_STREAM, 0, 1});
	no_path(late, b, "of stream 1 it waits for nothing after #%llu", N(r));
	no_path(b, late, "it waits for nothing of stream 2");
	graph_over(g);
}

static void test_paths_over_the_default_stream(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(3, A, 8), d = fill(0, A, 8), b = fill(4, A, 8), c = fill(1, A, 8);

	g = graph_made(false);
	PATH(a, b, {a, d, ORDER_EDGE_DEFAULT, 0, 0}, {d, b, ORDER_EDGE_DEFAULT, 0, 0});
	no_path(d, c, "it waits for nothing of stream 0");
	graph_over(g);
}

static void test_paths_over_the_host(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8), end = sync_end(cmd_sync_stream(seq, 1)),
		       b = fill(2, A, 8), a2 = fill(1, A, 8);

	fill(2, A, 8);
	const uint64_t all = sync_end(cmd_sync_ctx(seq)), c = fill(3, A, 8);

	g = graph_made(false);
	PATH(a, b, {a, end, ORDER_EDGE_LEARNED, 0, 0}, {end, b, ORDER_EDGE_HOST, 0, 0});
	PATH(a2, c, {a2, all, ORDER_EDGE_LEARNED, 0, 0}, {all, c, ORDER_EDGE_HOST, 0, 0});
	no_path(all, b, "what the host did at #%llu is not ordered before it", N(all));
	graph_over(g);
}

/* Of a wait for a whole context no single edge is noted: how far it went on each lane is. */
static void test_a_wait_for_a_context_covers_the_last_of_each_stream(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8), last = fill(1, A, 8), other = fill(2, A, 8),
		       end = sync_end(cmd_sync_ctx(seq)), b = fill(4, A, 8);

	g = graph_made(false);
	PATH(a, b, {a, last, ORDER_EDGE_STREAM, 0, 0}, {last, end, ORDER_EDGE_LEARNED, 0, 0},
		{end, b, ORDER_EDGE_HOST, 0, 0});
	PATH(other, end, {other, end, ORDER_EDGE_LEARNED, 0, 0});
	graph_over(g);
}

/* What the host knows of a synchronous copy is no item of its own: the next wait comes behind. */
static void test_a_path_over_a_synchronous_copy(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = add(cmd_copy(seq, 1, SBT_COPY_D2H, H, A, 64, false)), b = fill(2, A, 8),
		       end = sync_end(cmd_sync_stream(seq, 3)); /* which has no work */

	g = graph_made(false);
	PATH(a, b, {a, b, ORDER_EDGE_HOST, 0, 0});
	PATH(a, end, {a, end, ORDER_EDGE_LEARNED, 0, 0});
	graph_over(g);
}

/* --- launches that may begin early --- */

#define WAITS 1u
#define TRIGGERS 2u
#define UNKNOWN 4u
static unsigned flags[8]; /* of what the launches do, by seq from FIRST on */

static bool early(void *arg, uint64_t of, struct order_early *ret, struct order_accesses *before)
{
	const unsigned x = flags[of - FIRST];

	(void)arg;
	(void)before;
	*ret = (struct order_early){
		.known = !(x & UNKNOWN), .waits = x & WAITS, .triggers = x & TRIGGERS};
	return !(x & UNKNOWN);
}

static uint64_t go(bool is_early, unsigned what)
{
	struct sbt_cmd c = cmd_launch(seq, 1, 0);

	flags[seq - FIRST] = what;
	c.u.launch.launch_attrs = is_early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	return add(c);
}

static struct order *graph_early(bool in_order)
{
	static const struct order_source source = {.early = early};
	const struct order_options o = {
		.first = 1, .last = seq, .source = &source, .early_in_order = in_order};
	struct order *ret;

	ok(order_open(&ret, end_once(), &o));
	return ret;
}

static void test_why_a_launch_is_not_behind_the_one_in_front(void **unused)
{
	static const struct {
		unsigned front, what;
		bool event; /* is recorded between the two */
		const char *why;
	} rows[] = {
		{TRIGGERS, UNKNOWN, false, "before it touches memory is not known"},
		{TRIGGERS, UNKNOWN, true, "before it touches memory is not known"},
		{TRIGGERS, 0, true, "whether they overlap then is not documented"},
		{0, 0, true, "whether they overlap then is not documented"},
		{0, 0, false, "the launch in front never lets it begin"},
		{TRIGGERS, 0, false,
			"it does not wait for it (griddepcontrol.wait) before it touches memory"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin();
		const uint64_t a = go(false, rows[i].front);

		if (rows[i].event)
			record(1, 0);
		const uint64_t b = go(true, rows[i].what);

		g = graph_early(false);
		no_path(a, b,
			"#%llu may begin before #%llu has finished: it is a programmatic dependent launch behind #%llu, and ",
			N(b), N(a), N(a));
		no_path(a, b, "%s", rows[i].why);
		graph_over(g);
	}
}

/* The launch in front began early, too, and did not wait. That it lets no other begin says nothing
 * about those before it. */
static void test_why_a_launch_is_not_behind_one_further_in_front(void **unused)
{
	(void)unused;
	for (unsigned triggers = 0; triggers <= TRIGGERS; triggers += TRIGGERS) {
		begin();
		const uint64_t a = go(false, TRIGGERS), b = go(true, triggers), c = go(true, 0);

		g = graph_early(false);
		no_path(a, c, "behind #%llu, and not each of the launches from there on waits",
			N(b));
		no_path(b, c, triggers ? "before it touches memory" : "never lets it begin");
		graph_over(g);
	}
}

static void test_a_path_over_the_wait_of_a_launch(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = go(false, TRIGGERS), b = go(true, WAITS), c = go(true, WAITS);

	g = graph_early(false);
	PATH(a, b, {a, b, ORDER_EDGE_WAITED, 0, 0});
	PATH(a, c, {a, b, ORDER_EDGE_WAITED, 0, 0}, {b, c, ORDER_EDGE_WAITED, 0, 0});
	graph_over(g);
}

/* What is before a launch is before those that begin when it has begun, and before waits for its
 * own event; what the launch itself does is before those that wait for it. */
static void test_paths_over_a_launchs_beginning(void **unused)
{
	(void)unused;
	begin();
	const uint64_t x = fill(1, A, 8), a = go(false, TRIGGERS), b = go(true, 0);

	g = graph_early(false);
	PATH(x, b, {x, a, ORDER_EDGE_STREAM, 0, 0}, {a, b, ORDER_EDGE_BEGUN, 0, 0});
	graph_over(g);
	begin();
	const uint64_t y = fill(1, A, 8);
	struct sbt_cmd c = cmd_launch(seq, 1, 0);

	flags[seq - FIRST] = TRIGGERS;
	c.u.launch.launch_attrs = 1u << SBT_ATTR_PROGRAMMATIC_EVENT;
	c.u.launch.trigger_event = 2; /* event 1 */
	const uint64_t d = add(c), w = wait_for(2, 1);

	flags[seq - FIRST] = WAITS;
	const uint64_t e = add(cmd_launch(seq, 2, 0));

	g = graph_early(false);
	PATH(y, w, {y, d, ORDER_EDGE_STREAM, 0, 0}, {d, w, ORDER_EDGE_BEGUN, w, 0});
	PATH(d, e, {d, e, ORDER_EDGE_WAITED, 0, 0});
	graph_over(g);
}

/* For orders of whole commands such a launch comes behind the one in front, as others do. */
static void test_launches_that_may_begin_early_can_be_taken_in_order(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = go(false, TRIGGERS), b = go(true, 0);

	g = graph_early(true);
	PATH(a, b, {a, b, ORDER_EDGE_STREAM, 0, 0});
	graph_over(g);
}

/* Which event a launch's attribute records, older traces do not say: for an order of whole commands
 * every wait behind it may be for that one. */
static void test_a_wait_may_be_for_an_event_of_an_attribute(void **unused)
{
	(void)unused;
	for (unsigned in_order = 0; in_order < 2; in_order++) {
		begin();
		const uint64_t early_wait = wait_for(2, 0), before = fill(2, A, 8);
		struct sbt_cmd c = cmd_launch(seq, 1, 0);

		flags[seq - FIRST] = TRIGGERS;
		c.u.launch.launch_attrs = 1u << SBT_ATTR_PROGRAMMATIC_EVENT;
		const uint64_t a = add(c), w = wait_for(2, 0), b = fill(2, A, 8),
			       other = fill(3, A, 8);

		g = graph_early(in_order);
		assert_int_equal(order_before(g, a, b), in_order);
		assert_int_equal(order_before(g, a, w), in_order);
		assert_false(order_before(g, a, other) || order_before(g, a, before) ||
			     order_before(g, a, early_wait));
		graph_over(g);
	}
}

static uint64_t go_on(uint64_t stream, bool is_early)
{
	struct sbt_cmd c = cmd_launch(seq, stream, 0);

	flags[seq - FIRST] = TRIGGERS;
	c.u.launch.launch_attrs = is_early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	return add(c);
}

/* The default stream waits for launches that began early, too, though it knows the one in front. */
static void test_the_default_stream_is_behind_launches_that_began_early(void **unused)
{
	(void)unused;
	begin();
	const uint64_t a = go_on(3, false), d = fill(0, A, 8), b = go_on(3, false),
		       c = go_on(3, true), e = fill(0, A, 8);

	g = graph_early(false);
	assert_true(order_before(g, a, d) && order_before(g, d, b));
	assert_false(order_before(g, b, c));
	assert_true(order_before(g, b, e) && order_before(g, c, e));
	graph_over(g);
}

/* --- values --- */

static uint64_t value(uint64_t stream, bool wait, uint64_t addr)
{
	struct sbt_cmd c = {.kind = SBT_BATCH, .seq = seq};

	c.u.batch = (struct sbt_cmd_batch){
		.stream = stream, .is_wait = wait, .addr = addr, .value = 1, .elem = 4};
	return add(c);
}

/* The newest 256 writes are known: what waits for an older one is in doubt. */
static void test_so_many_values_are_known(void **unused)
{
	const uint64_t n = 257;

	(void)unused;
	for (uint64_t which = 0; which < n; which += which == 1 ? n - 2 : 1) {
		struct order_item it;
		uint64_t write = 0;

		begin();
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t at = value(1, false, A + 8 * i);

			write = i == which ? at : write;
		}
		const uint64_t wait = value(2, true, A + 8 * which);

		g = graph_made(false);
		assert_int_equal(order_before(g, write, wait), which != 0);
		assert_true(order_item(g, wait, &it));
		assert_int_equal(!!(it.early & ORDER_EARLY_VALUE), which == 0);
		graph_over(g);
	}
}

/* Waits for many words, in another order than that of their addresses: each is behind the write to
 * its own word, which comes later. */
static void test_each_wait_is_for_its_own_word(void **unused)
{
	static uint64_t waits[600], writes[600];
	const unsigned n = sizeof waits / sizeof *waits;

	(void)unused;
	begin();
	for (unsigned i = 0; i < n; i++) { /* 0, 2, 4 ... and then 599, 597 ... */
		const unsigned k = i < n / 2 ? 2 * i : 2 * (n - i) - 1;

		waits[k] = value(2, true, A + 4 * k);
	}
	for (unsigned k = 0; k < n; k++)
		writes[k] = value(1, false, A + 4 * k);
	g = graph_made(false);
	for (unsigned k = 0; k < n; k++)
		assert_true(order_before(g, writes[k], waits[k]));
	assert_false(order_before(g, writes[n - 1], waits[0]));
	graph_over(g);
}

/* --- what is in the graph --- */

static void test_items_and_lanes(void **unused)
{
	struct order_item it;
	uint32_t lane, host;

	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8), b = fill(2, A, 8), c = fill(1, A, 8),
		       end = sync_end(cmd_sync_stream(seq, 1));

	add(cmd_copy(seq, 2, SBT_COPY_D2H, H, A, 64, false)); /* the host learns of it, too */
	const uint64_t copy = seq - 1, end2 = sync_end(cmd_sync_stream(seq, 1));

	g = graph_made(false);
	assert_int_equal(order_items(g), 6);
	assert_int_equal(order_lanes(g), 3);
	assert_true(order_item_at(g, 0, &it) && it.seq == a);
	lane = it.lane;
	assert_true(order_item_at(g, 3, &it) && it.seq == end);
	host = it.lane;
	assert_true(order_item_at(g, 5, &it) && it.seq == end2);
	assert_false(order_item_at(g, 6, &it));
	assert_false(order_item(g, end - 1, &it)); /* the wait begins */
	assert_true(order_item(g, c, &it) && it.lane == lane && it.index == 2);
	assert_true(order_item(g, b, &it) && it.lane != lane && it.lane != host);
	assert_int_equal(order_stream_of(g, lane), 1);
	assert_int_equal(order_stream_of(g, it.lane), 2);
	assert_int_equal(order_seq_on(g, it.lane, 2), copy);
	assert_int_equal(order_stream_of(g, host), SBT_NO_ID);
	assert_int_equal(order_stream_of(g, 3), SBT_NO_ID);
	assert_int_equal(order_seq_on(g, lane, 0), 0);
	assert_int_equal(order_seq_on(g, lane, 1), a);
	assert_int_equal(order_seq_on(g, lane, 2), c);
	assert_int_equal(order_seq_on(g, lane, 3), c);
	assert_int_equal(order_seq_on(g, 3, 1), 0);
	assert_int_equal(order_seq_on(g, host, 1), end);
	assert_int_equal(order_seq_on(g, host, 2), end); /* the copy: no item of this lane */
	assert_int_equal(order_seq_on(g, host, 3), end2);
	graph_over(g);
}

static void test_a_range_has_its_own_commands_only(void **unused)
{
	struct order_options o = {0};
	struct order_item it;

	(void)unused;
	begin();
	const uint64_t a = fill(1, A, 8), b = fill(1, A, 8), c = fill(1, A, 8);

	o.first = o.last = b;
	ok(order_open(&g, end_once(), &o));
	assert_int_equal(order_items(g), 1);
	assert_true(order_item(g, b, &it) && it.index == 1);
	order_close(g);
	o.first = o.last = 0; /* all */
	ok(order_open(&g, end_once(), &o));
	assert_int_equal(order_items(g), 3);
	assert_true(order_before(g, a, c));
	graph_over(g);
}

/* The bits above are for what the host changes, and for steps of a graph. */
static void test_numbers_of_commands_have_a_limit(void **unused)
{
	(void)unused;
	for (unsigned over = 0; over < 2; over++) {
		const struct order_options o = {0};

		begin();
		seq = ORDER_STEP_SEQS - 1 + over;
		fill(1, A, 8);
		if (over) {
			fails(order_open(&g, end_once(), &o), ERR_BAD_TRACE);
			test_over();
		} else {
			ok(order_open(&g, end_once(), &o));
			assert_int_equal(order_items(g), 1);
			graph_over(g);
		}
	}
}

/* --- the picture --- */

static void label(void *arg, struct buf *out, uint64_t at)
{
	buf_printf(out, "%s\"%llu\\", (const char *)arg, N(at));
}

#define HEAD                                                                                       \
	"digraph order {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n"

static void test_a_picture_has_a_row_for_each_stream(void **unused)
{
	struct buf b = BUF_INIT;

	(void)unused;
	begin();
	fill(3, A, 8);			   /* 13 */
	record(3, 0);			   /* 14 */
	wait_for(2, 0);			   /* 15 */
	fill(0, A, 8);			   /* 16 */
	sync_end(cmd_sync_stream(seq, 2)); /* 18 */
	fill(1, A, 8);			   /* 19 */
	g = graph_made(false);
	ok(order_dot(&b, g, NULL, NULL));
	assert_string_equal(buf_cstr(&b), HEAD
		"  subgraph cluster_0 {\n    label=\"stream 3\";\n"
		"    n13 [label=\"#13\"];\n    n14 [label=\"#14\"];\n  }\n"
		"  subgraph cluster_1 {\n    label=\"host\";\n    n18 [label=\"#18\"];\n  }\n"
		"  subgraph cluster_2 {\n    label=\"stream 2\";\n    n15 [label=\"#15\"];\n  }\n"
		"  subgraph cluster_3 {\n    label=\"stream 0\";\n    n16 [label=\"#16\"];\n  }\n"
		"  subgraph cluster_4 {\n    label=\"stream 1\";\n    n19 [label=\"#19\"];\n  }\n"
		"  n13 -> n14;\n"
		"  n14 -> n15 [color=red, label=\"event\"];\n"
		"  n14 -> n16 [color=blue];\n"
		"  n15 -> n18 [style=dashed];\n"
		"  n18 -> n19 [style=dotted];\n}\n");
	buf_free(&b);
	graph_over(g);
}

static void test_a_picture_has_the_callers_labels(void **unused)
{
	struct buf b = BUF_INIT;
	char arg[] = "x";

	(void)unused;
	begin();
	fill(1, A, 8);
	g = graph_made(false);
	ok(order_dot(&b, g, label, arg));
	assert_string_equal(buf_cstr(&b), HEAD "  subgraph cluster_0 {\n    label=\"stream 1\";\n"
					       "    n13 [label=\"x\\\"13\\\\\"];\n  }\n}\n");
	buf_free(&b);
	graph_over(g);
}

static void test_a_picture_has_room_for_so_many(void **unused)
{
	struct buf b = BUF_INIT;

	(void)unused;
	for (unsigned over = 0; over < 2; over++) {
		begin();
		for (unsigned i = 0; i < ORDER_DOT_MAX + over; i++)
			fill(1, A, 8);
		g = graph_made(false);
		if (over)
			fails(order_dot(&b, g, NULL, NULL), ERR_LIMIT);
		else
			ok(order_dot(&b, g, NULL, NULL));
		graph_over(g);
	}
	buf_free(&b);
}

static void test_names(void **unused)
{
	static const char *const edges[] = {"stream order", "event wait", "legacy default stream",
		"submitted after", "host waited", "stream memory wait", "begins after it began",
		"griddepcontrol.wait", "?"};
	static const char *const hows[] = {"reads", "writes", "updates atomically", "may touch",
		"was given the address", "allocates", "frees", "?"};
	static const char *const tiers[] = {"certain", "likely", "possible"};

	(void)unused;
	for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++)
		assert_string_equal(order_edge_name(i), edges[i]);
	for (unsigned i = 0; i < sizeof hows / sizeof *hows; i++)
		assert_string_equal(order_how_name(i), hows[i]);
	for (unsigned i = 0; i < sizeof tiers / sizeof *tiers; i++)
		assert_string_equal(order_tier_name(i), tiers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_passed_on_a_stream_is_counted),
		cmocka_unit_test(test_a_path_over_an_event),
		cmocka_unit_test(test_paths_over_the_default_stream),
		cmocka_unit_test(test_paths_over_the_host),
		cmocka_unit_test(test_a_wait_for_a_context_covers_the_last_of_each_stream),
		cmocka_unit_test(test_a_path_over_a_synchronous_copy),
		cmocka_unit_test(test_why_a_launch_is_not_behind_the_one_in_front),
		cmocka_unit_test(test_why_a_launch_is_not_behind_one_further_in_front),
		cmocka_unit_test(test_a_path_over_the_wait_of_a_launch),
		cmocka_unit_test(test_paths_over_a_launchs_beginning),
		cmocka_unit_test(test_launches_that_may_begin_early_can_be_taken_in_order),
		cmocka_unit_test(test_a_wait_may_be_for_an_event_of_an_attribute),
		cmocka_unit_test(test_the_default_stream_is_behind_launches_that_began_early),
		cmocka_unit_test(test_so_many_values_are_known),
		cmocka_unit_test(test_each_wait_is_for_its_own_word),
		cmocka_unit_test(test_items_and_lanes),
		cmocka_unit_test(test_a_range_has_its_own_commands_only),
		cmocka_unit_test(test_numbers_of_commands_have_a_limit),
		cmocka_unit_test(test_a_picture_has_a_row_for_each_stream),
		cmocka_unit_test(test_a_picture_has_the_callers_labels),
		cmocka_unit_test(test_a_picture_has_room_for_so_many),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
