/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine at graph launches, and at commands that the trace has lost: wherever a move ends or
 * fails, the position's command is the one that was submitted last, and the next step is the one
 * after it.
 */
#include <sys/stat.h>
#include "random-trace.h"
#include "replay/engine/replay-private.h"
#include "sbt/cmd-pack.h"

/* #1 ctx, #2 kernel, #3 to #5 a graph with the steps fill and kernel, #6 its executable; then 7..
 * `n` commands: a graph launch at every tenth seq, a launch of nothing known otherwise. */
static struct sbt_reader *graph_launches(uint64_t n)
{
	static const uint32_t params[] = {0, 4};
	const struct sbt_cmd launch = cmd_launch(0, SBT_NO_ID, 0);
	struct sbt_cmd create = cmd_any(3, SBT_GRAPH_CREATE);
	static uint64_t packed[64];
	struct trace_maker t;

	create.u.graph_create.clone_of = SBT_NO_ID;
	assert_true(sbt_pack_size(&launch) <= sizeof packed);
	sbt_pack(packed, &launch);
	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_kernel_def(2, 0, SBT_NO_ID, "relu", params, 1));
	trace_add(&t, create);
	trace_add(&t, cmd_graph_node(4, 0, 0, SBT_NODE_FILL, SBT_NO_ID, NULL, 0));
	trace_add(&t, cmd_graph_node(5, 0, 1, SBT_NODE_KERNEL, 0, packed, sbt_pack_size(&launch)));
	trace_add(&t, cmd_graph_instantiate(6, 1, 0));
	for (uint64_t seq = 7; seq < 7 + n; seq++)
		trace_add(&t, seq % 10 ? cmd_launch(seq, 0, 9) : cmd_graph_launch(seq, 0, 1));
	return trace_end(&t);
}

/* The position is seq, its command is known, and the next step is the next command. */
static void assert_at(struct replay *p, uint64_t seq)
{
	struct replay_stop stop;

	assert_int_equal(replay_seq(p), seq);
	assert_non_null(replay_cmd(p));
	assert_int_equal(replay_cmd(p)->seq, seq);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(stop.seq, seq + 1);
	assert_int_equal(replay_cmd(p)->seq, seq + 1);
}

static void into_a_launch(void **arg)
{
	struct sbt_reader *r = graph_launches(60);
	struct replay_stop stop;
	struct replay *p;
	uint32_t steps;

	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, 20, &stop));
	ok(replay_node(p, 20, 1, &steps, &stop)); /* it is there already */
	assert_int_equal(steps, 2);
	assert_int_equal(stop.seq, 20);
	assert_at(p, 20);
	ok(replay_node(p, 40, 2, &steps, &stop)); /* far ahead */
	assert_int_equal(steps, 2);
	assert_at(p, 40);
	ok(replay_node(p, 10, 0, &steps, &stop)); /* back */
	assert_at(p, 10);
	replay_close(p);
	sbt_reader_close(r);
}

/* What fails leaves the position where it was, and the engine knows where that is. */
static void not_into_a_launch(void **arg)
{
	struct sbt_reader *r = graph_launches(60);
	struct replay_stop stop;
	struct replay *p;
	uint32_t steps;

	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, 15, &stop));
	fails(replay_node(p, 40, 3, &steps, &stop), ERR_USAGE);
	assert_at(p, 15);
	fails(replay_node(p, 33, 1, &steps, &stop), ERR_NOT_FOUND); /* no graph launch */
	assert_at(p, 16);
	fails(replay_node(p, 0, 1, &steps, &stop), ERR_NOT_FOUND);
	assert_at(p, 17);
	fails(replay_node(p, 5000, 1, &steps, &stop), ERR_NOT_FOUND);
	assert_at(p, 18);
	replay_close(p);
	sbt_reader_close(r);
}

static void step_breakpoints(void **arg)
{
	struct sbt_reader *r = graph_launches(60);
	struct replay_breakpoint relu = {
		.id = 4, .kind = SBT_LAUNCH, .glob = "relu", .nodes = true};
	struct replay_breakpoint other = {
		.id = 5, .kind = SBT_LAUNCH, .glob = "gelu", .nodes = true};
	struct replay_stop stop;
	struct replay *p;
	uint32_t step;
	int id;

	ok(replay_open(&p, r, NULL));
	ok(replay_run(p, false, &relu, 1, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BREAKPOINT);
	assert_int_equal(stop.breakpoint, 4);
	assert_int_equal(stop.node_seq, 10);
	assert_int_equal(stop.node, 2);
	assert_at(p, 9); /* the launch comes next */
	ok(replay_goto(p, 35, &stop));
	ok(replay_run(p, true, &relu, 1, NULL, &stop));
	assert_int_equal(stop.node_seq, 30);
	assert_int_equal(stop.node, 2);
	assert_at(p, 30);
	ok(replay_run(p, true, &other, 1, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BEGIN);
	assert_int_equal(stop.seq, 0);
	ok(replay_goto(p, 30, &stop));
	ok(replay_match_nodes(p, &relu, 1, 1, 2, false, &step, &id));
	assert_int_equal(id, 4);
	assert_int_equal(step, 2);
	ok(replay_match_nodes(p, &relu, 1, 1, 1, false, &step, &id));
	assert_int_equal(id, 0); /* the first step is the fill */
	assert_at(p, 30);
	ok(replay_match_nodes(p, &relu, 1, 1, 2, false, &step, &id));
	assert_int_equal(id, 0); /* #31 launches no graph */
	replay_close(p);
	sbt_reader_close(r);
}

/* Steps are looked up in kernels and graphs: only successful calls that make or change these count.
 */
static void what_a_scan_learns(void **arg)
{
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		const bool wanted = kind == SBT_KERNEL_DEF || kind == SBT_CAPTURE_END ||
				    kind == SBT_GRAPH_CREATE || kind == SBT_GRAPH_NODE ||
				    kind == SBT_GRAPH_INSTANTIATE || kind == SBT_GRAPH_UPDATE;
		struct sbt_cmd c = {.seq = 1, .kind = kind};

		assert_int_equal(nodes_learn(&c), wanted);
		c.result = 1;
		assert_false(nodes_learn(&c));
	}
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* One byte of the file inverted. */
static void spoil(const char *path, uint64_t where)
{
	FILE *f = fopen(path, "r+b");
	int was;

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)where, SEEK_SET), 0);
	was = fgetc(f);
	assert_int_equal(fseek(f, (long)where, SEEK_SET), 0);
	fputc(was ^ 0xff, f);
	fclose(f);
}

static void add_launches(struct trace_maker *t, uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		trace_add(t, cmd_launch(seq, 0, 0));
	ok(sbt_writer_flush(t->w));
}

/* #1 ctx, then launches to #7000. There is a keyframe at #6000, and #5901 to #6000 are lost. */
static struct sbt_reader *lost_keyframe_command(void)
{
	struct buf b = BUF_INIT;
	struct trace_maker t;
	struct sbt_reader *r;
	uint64_t from, to;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	add_launches(&t, 2, 5900);
	from = size_of(t.path);
	add_launches(&t, 5901, 6000);
	to = size_of(t.path);
	state_encode(t.s, &b);
	ok(sbt_writer_keyframe(t.w, 6000, b.data, b.len));
	buf_free(&b);
	add_launches(&t, 6001, 7000);
	ok(sbt_writer_close(t.w));
	state_free(t.s);
	assert_true(to > from);
	spoil(t.path, to - 1);
	ok(sbt_reader_open(&r, t.path));
	unlink(t.path);
	return r;
}

/* The keyframe knows the state after a lost command: a position without a command, and steps go on
 * from it. */
static void keyframe_of_a_lost_command(void **arg)
{
	struct sbt_reader *r = lost_keyframe_command();
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	ok(replay_goto(p, 6001, &stop));
	assert_int_equal(replay_cmd(p)->seq, 6001);
	ok(replay_reverse_step(p, 1, &stop));
	assert_int_equal(stop.seq, 6000);
	assert_null(replay_cmd(p));
	assert_int_equal(totals_of(replay_state(p)).seq, 6000);
	ok(replay_step(p, 1, &stop));
	assert_int_equal(stop.seq, 6001);
	assert_int_equal(replay_cmd(p)->seq, 6001);
	assert_int_equal(totals_of(replay_state(p)).commands, 6001);
	ok(replay_goto(p, 5900, &stop)); /* and across the hole */
	ok(replay_step(p, 1, &stop));
	assert_int_equal(stop.seq, 6001);
	assert_int_equal(totals_of(replay_state(p)).commands, 6001);
	replay_close(p);
	sbt_reader_close(r);
}

/* --- graphs that change between launches, against a list of what each launch ran --- */

enum { COLOURS = 3, EXECS = 3, HISTORY = 400 };
static const char *const colours[COLOURS] = {"red", "green", "blue"};

struct ran {
	uint64_t seq; /* of the launch; steps: the kernel, COLOURS: left out */
	unsigned step[2];
};
struct history {
	struct random_cmds random;
	struct trace_maker t;
	uint64_t seq, graphs;
	uint64_t id[EXECS];
	unsigned step[EXECS][2];
	struct ran ran[HISTORY];
	unsigned nran;
};

static void put_node(struct history *h, uint64_t graph, unsigned node, unsigned colour, bool off)
{
	const struct sbt_cmd launch = cmd_launch(0, SBT_NO_ID, colour);
	static uint64_t packed[64];
	struct sbt_cmd c;

	assert_true(sbt_pack_size(&launch) <= sizeof packed);
	sbt_pack(packed, &launch);
	c = cmd_graph_node(
		++h->seq, graph, node, SBT_NODE_KERNEL, colour, packed, sbt_pack_size(&launch));
	c.u.graph_node.disabled = off;
	trace_add(&h->t, c);
}

/* The executable graph k is one of another graph from now on. */
static void make(struct history *h, unsigned k)
{
	struct sbt_cmd create = cmd_any(++h->seq, SBT_GRAPH_CREATE);
	const uint64_t graph = h->graphs++;

	create.u.graph_create.new_graph = graph;
	create.u.graph_create.clone_of = SBT_NO_ID;
	trace_add(&h->t, create);
	for (unsigned node = 0; node < 2; node++) {
		h->step[k][node] = random_below(&h->random, COLOURS);
		put_node(h, graph, node, h->step[k][node], false);
	}
	if (h->id[k])
		trace_add(&h->t, cmd_graph_destroy(++h->seq, h->id[k]));
	h->id[k] = h->graphs++;
	trace_add(&h->t, cmd_graph_instantiate(++h->seq, h->id[k], graph));
}

static void change(struct history *h, unsigned k)
{
	struct sbt_cmd c = cmd_any(++h->seq, SBT_GRAPH_UPDATE);
	const unsigned node = random_below(&h->random, 2),
		       colour = random_below(&h->random, COLOURS);
	const bool off = !random_below(&h->random, 3);

	c.u.graph_update.exec = h->id[k];
	c.u.graph_update.graph = SBT_NO_ID;
	c.u.graph_update.node = node;
	trace_add(&h->t, c);
	put_node(h, h->id[k], node, colour, off);
	h->step[k][node] = off ? COLOURS : colour;
}

static struct sbt_reader *changing_graphs(struct history *h)
{
	static const uint32_t params[] = {0, 4};

	trace_begin(&h->t, 97);
	trace_add(&h->t, cmd_ctx_create(1, 0, 0));
	for (unsigned i = 0; i < COLOURS; i++)
		trace_add(&h->t, cmd_kernel_def(2 + i, i, SBT_NO_ID, colours[i], params, 1));
	h->seq = 1 + COLOURS;
	h->graphs = 1;
	for (unsigned k = 0; k < EXECS; k++)
		make(h, k);
	while (h->nran < HISTORY) {
		const unsigned k = random_below(&h->random, EXECS),
			       what = random_below(&h->random, 10);

		if (what == 0) {
			make(h, k);
		} else if (what < 3) {
			change(h, k);
		} else if (what == 3) {
			trace_add(
				&h->t, cmd_launch(++h->seq, 0, random_below(&h->random, COLOURS)));
		} else {
			struct ran *r = &h->ran[h->nran++];

			*r = (struct ran){++h->seq, {h->step[k][0], h->step[k][1]}};
			trace_add(&h->t, cmd_graph_launch(r->seq, 0, h->id[k]));
		}
	}
	trace_add(&h->t, cmd_host_func(++h->seq, 0));
	return trace_end(&h->t);
}

static void steps_of_graphs_that_change(void **arg)
{
	static struct history h;

	for (unsigned seed = 1; seed < 4; seed++) {
		struct sbt_reader *reader;
		struct replay_stop stop;
		struct replay *p;

		h = (struct history){.random = {.x = seed, .seq = 1}};
		reader = changing_graphs(&h);
		ok(replay_open(&p, reader, NULL));
		for (unsigned colour = 0; colour < COLOURS; colour++) {
			const struct replay_breakpoint b = {.id = 4,
				.kind = SBT_LAUNCH,
				.glob = colours[colour],
				.nodes = true};

			ok(replay_goto(p, 0, &stop));
			for (unsigned i = 0; i < h.nran; i++) {
				const struct ran *r = &h.ran[i];

				if (r->step[0] != colour && r->step[1] != colour)
					continue;
				do { /* launches of their own stop, too */
					ok(replay_run(p, false, &b, 1, NULL, &stop));
					assert_int_equal(stop.why, REPLAY_BREAKPOINT);
				} while (!stop.node_seq);
				assert_int_equal(stop.node_seq, r->seq);
				assert_int_equal(stop.node, r->step[0] == colour ? 1 : 2);
				assert_int_equal(replay_seq(p), r->seq - 1);
				ok(replay_goto(p, r->seq, &stop));
			}
			ok(replay_goto(p, h.seq, &stop));
			for (unsigned i = h.nran; i-- > 0;) {
				const struct ran *r = &h.ran[i];

				if (r->step[0] != colour && r->step[1] != colour)
					continue;
				do {
					ok(replay_run(p, true, &b, 1, NULL, &stop));
					assert_int_equal(stop.why, REPLAY_BREAKPOINT);
				} while (!stop.node_seq);
				assert_int_equal(stop.node_seq, r->seq);
				assert_int_equal(stop.node, r->step[1] == colour ? 2 : 1);
				ok(replay_goto(p, r->seq, &stop));
			}
		}
		replay_close(p);
		sbt_reader_close(reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(into_a_launch),
		cmocka_unit_test(not_into_a_launch),
		cmocka_unit_test(step_breakpoints),
		cmocka_unit_test(what_a_scan_learns),
		cmocka_unit_test(keyframe_of_a_lost_command),
		cmocka_unit_test(steps_of_graphs_that_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
