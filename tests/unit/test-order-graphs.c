/* SPDX-License-Identifier: Apache-2.0
 *
 * Races between the nodes of a graph against the definition: of random graphs, with a set for each
 * node of those that are over when it begins.
 */
#include "order-test.h"
#include "order/races/graph-races.h"
#include "order/races/ledger.h"
#include "sbt/cmd-pack.h"

#define NODES 90 /* more than a word has bits */

struct one {
	uint32_t deps[4];
	unsigned ndeps;
	bool kernel, early;
	uint64_t write, write_end; /* a fill or a copy */
	uint64_t read, read_end;
	uint64_t pointer; /* a kernel was given it: to anything of its allocation */
	bool over[NODES], hoped[NODES];
};

static struct one one[NODES];
static unsigned n;

/* Numbers of nodes need not be their places. */
static uint32_t number_of(unsigned i)
{
	return 1000 - 3 * i;
}

static void add_node(unsigned i)
{
	struct one *o = &one[i];
	struct sbt_cmd c = o->kernel	 ? cmd_launch(1, 0, 0)
			   : o->read_end ? cmd_copy(1, 0, SBT_COPY_D2D, o->write, o->read,
						   o->write_end - o->write, true)
					 : cmd_fill(1, 0, o->write, o->write_end - o->write);
	uint64_t packed[64];
	uint32_t deps[4];

	c.flags |= SBT_F_GRAPH;
	if (o->kernel) {
		c.u.launch.args = (struct sbt_blob){&o->pointer, 8};
		c.u.launch.launch_attrs = o->early ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0;
	}
	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	c = cmd_graph_node(seq, 0, number_of(i),
		o->kernel     ? SBT_NODE_KERNEL
		: o->read_end ? SBT_NODE_COPY
			      : SBT_NODE_FILL,
		o->kernel ? 0 : SBT_NO_ID, packed, sbt_pack_size(&c));
	for (unsigned k = 0; k < o->ndeps; k++)
		deps[k] = number_of(o->deps[k]);
	c.u.graph_node.deps = (struct sbt_blob){deps, o->ndeps * sizeof *deps};
	add(c);
}

static void unite(bool *to, const bool *from)
{
	for (unsigned i = 0; i < n; i++)
		to[i] |= from[i];
}

/* rank: places in an order in which a node comes behind those that it depends on. */
static void some_graph(struct random_cmds *dice)
{
	unsigned rank[NODES];

	n = 3 + (unsigned)random_below(dice, NODES - 3);
	memset(one, 0, sizeof one);
	for (unsigned i = 0; i < n; i++)
		rank[i] = i;
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = (unsigned)random_below(dice, n), was = rank[i];

		rank[i] = rank[k];
		rank[k] = was;
	}
	for (unsigned i = 0; i < n; i++) {
		struct one *o = &one[rank[i]];

		o->ndeps = i ? (unsigned)random_below(dice, 3) : 0;
		for (unsigned k = 0; k < o->ndeps; k++)
			o->deps[k] = rank[i - 1 - random_below(dice, i < 6 ? i : 6)];
		o->kernel = !random_below(dice, 3);
		o->early = o->kernel && random_below(dice, 2);
		o->pointer = (random_below(dice, 2) ? A : B) + 8 * random_below(dice, 40);
		o->write = (random_below(dice, 2) ? A : B) + 8 * random_below(dice, 400);
		o->write_end = o->write + 8 + 8 * random_below(dice, 20);
		if (!o->kernel && random_below(dice, 2)) {
			o->read = B + 8 * random_below(dice, 400);
			o->read_end = o->read + (o->write_end - o->write);
		}
		for (unsigned k = 0; k < o->ndeps; k++) {
			const struct one *d = &one[o->deps[k]];

			unite(o->over, d->over);
			unite(o->hoped, d->hoped);
			o->hoped[o->deps[k]] = true;
			if (!o->early || !d->kernel)
				o->over[o->deps[k]] = true;
		}
	}
}

/* ---- what two nodes have in common ---------------------------------------- */

static bool meet(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return a < b_end && b < a_end;
}

static uint64_t alloc_of(uint64_t at)
{
	return at >= B ? B : A;
}

/* The surest that can be said of the two; -1: they do not conflict. */
static int tier_with_kernel(const struct one *k, const struct one *o)
{
	const uint64_t at = alloc_of(k->pointer);

	if (o->kernel) /* either may write what both were given */
		return alloc_of(o->pointer) == at ? ORDER_POSSIBLE : -1;
	if (meet(k->pointer, k->pointer + 1, o->write, o->write_end))
		return ORDER_LIKELY;
	if (meet(at, at + SIZE, o->write, o->write_end))
		return ORDER_POSSIBLE;
	return o->read_end && meet(at, at + SIZE, o->read, o->read_end) ? ORDER_POSSIBLE : -1;
}

static int tier_of(const struct one *a, const struct one *b)
{
	if (a->kernel)
		return tier_with_kernel(a, b);
	if (b->kernel)
		return tier_with_kernel(b, a);
	return meet(a->write, a->write_end, b->write, b->write_end) ||
			       meet(a->write, a->write_end, b->read, b->read_end) ||
			       meet(a->read, a->read_end, b->write, b->write_end)
		       ? ORDER_CERTAIN
		       : -1;
}

static bool seen[NODES][NODES];

static void one_race(void *unused, const struct nodes_race *r)
{
	const unsigned a = (1000 - r->a.node) / 3, b = (1000 - r->b.node) / 3;
	int tier;

	(void)unused;
	assert_true(a != b && a < n && b < n);
	assert_false(seen[a][b] || seen[b][a]);
	seen[a][b] = seen[b][a] = true;
	assert_false(one[a].over[b] || one[b].over[a]);
	assert_int_equal(r->early, one[a].hoped[b] || one[b].hoped[a]);
	tier = tier_of(&one[a], &one[b]);
	assert_true(tier >= 0);
	assert_int_equal(r->tier, r->early ? ORDER_POSSIBLE : tier);
	assert_int_equal(r->a.kernel, one[a].kernel ? 0 : SBT_NO_ID);
	assert_int_equal(r->b.kind, one[b].kernel     ? SBT_LAUNCH
				    : one[b].read_end ? SBT_COPY
						      : SBT_FILL);
	assert_true(r->addr < r->end);
}

static void test_races_of_nodes_are_by_the_definition(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct random_cmds dice = {.x = seed * 104729};
		struct sbt_cmd graph;
		struct sbt_reader *r;
		struct state *s;

		begin();
		graph = cmd_any(seq, SBT_GRAPH_CREATE);
		graph.u.graph_create.clone_of = SBT_NO_ID;
		add(graph);
		some_graph(&dice);
		for (unsigned i = 0; i < n; i++)
			add_node(i);
		add(cmd_graph_instantiate(seq, 1, 0));
		r = trace_end(&t);
		ok(state_at(&s, r, seq - 1));
		memset(seen, 0, sizeof seen);
		assert_true(nodes_races(s, 1, NULL, one_race, NULL));
		for (unsigned b = 0; b < n; b++)
			for (unsigned a = 0; a < b; a++)
				if (!one[a].over[b] && !one[b].over[a] &&
					tier_of(&one[a], &one[b]) >= 0 && !seen[a][b])
					fail_msg("seed %u: nodes %u and %u", (unsigned)seed,
						number_of(a), number_of(b));
		assert_false(nodes_races(s, 7, NULL, one_race, NULL)); /* there is no such graph */
		state_free(s);
		sbt_reader_close(r);
	}
}

/* ---- the whole launch is known to the byte ---------------------------------------- */

static struct nodes_race only;
static unsigned nonly;

static void keep_race(void *unused, const struct nodes_race *r)
{
	(void)unused;
	only = *r;
	nonly++;
}

/* A fill of A + 0 .. 64 and a kernel that was given A, with no order. What the launch writes there
 * besides is the kernel's. */
static void test_what_nobody_else_did_is_the_kernels(void **unused)
{
	static const struct {
		struct order_access all;
		bool races;
		uint64_t addr, end;
	} rows[] = {
		{{A + 64, A + 128, ORDER_WRITE}, false, 0, 0},	      /* beside the fill */
		{{A + 32, A + 40, ORDER_READ}, true, A + 32, A + 40}, /* a fill does not read */
		{{A + 60, A + 80, ORDER_READ}, true, A + 60, A + 64},
		{{A + 63, A + 64, ORDER_ATOMIC}, true, A + 63, A + 64},
		{{A + 64, A + 65, ORDER_ATOMIC}, false, 0, 0},
		{{B, B + 64, ORDER_WRITE}, false, 0, 0}, /* nobody's that is known */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct order_access all = rows[i].all;
		const struct order_accesses l = {.a = &all, .n = 1};
		struct sbt_cmd graph;
		struct sbt_reader *r;
		struct state *s;

		begin();
		graph = cmd_any(seq, SBT_GRAPH_CREATE);
		graph.u.graph_create.clone_of = SBT_NO_ID;
		add(graph);
		memset(one, 0, sizeof one);
		one[0] = (struct one){.write = A, .write_end = A + 64};
		one[1] = (struct one){.kernel = true, .pointer = A + 256};
		n = 2;
		add_node(0);
		add_node(1);
		add(cmd_graph_instantiate(seq, 1, 0));
		r = trace_end(&t);
		ok(state_at(&s, r, seq - 1));
		nonly = 0;
		assert_true(nodes_races(s, 1, &l, keep_race, NULL));
		if (nonly != rows[i].races)
			fail_msg("row %zu: %u races", i, nonly);
		if (rows[i].races) {
			assert_int_equal(only.tier, ORDER_LIKELY);
			assert_int_equal(only.addr, rows[i].addr);
			assert_int_equal(only.end, rows[i].end);
			assert_int_equal(only.a.node, number_of(1)); /* the lower number first */
			assert_int_equal(only.a.how, all.how);
		}
		/* of which something is not known, it says nothing new */
		const struct order_accesses part = {.a = &all, .n = 1, .unknown = true};
		nonly = 0;
		assert_true(nodes_races(s, 1, &part, keep_race, NULL));
		assert_int_equal(nonly, 1);
		assert_int_equal(only.tier, ORDER_POSSIBLE);
		state_free(s);
		sbt_reader_close(r);
	}
}

/* Rows of a copy are ranges of their own, up to 4096 of a node; then what lies between them may be
 * touched, too. rows: of each side. Returns how many races a fill of [at, at + 8) has with it. */
static unsigned races_with_rows(unsigned rows, uint64_t at)
{
	struct sbt_cmd c = cmd_copy(1, 0, SBT_COPY_D2D, A, B, 16 * rows, true), graph;
	struct sbt_reader *r;
	struct state *s;
	uint64_t packed[64];

	begin();
	graph = cmd_any(seq, SBT_GRAPH_CREATE);
	graph.u.graph_create.clone_of = SBT_NO_ID;
	add(graph);
	c.flags |= SBT_F_GRAPH;
	c.u.copy.width = 16;
	c.u.copy.height = rows;
	c.u.copy.depth = 1;
	c.u.copy.dst_pitch = c.u.copy.src_pitch = 32;
	assert_true(sbt_pack_size(&c) <= sizeof packed);
	sbt_pack(packed, &c);
	c = cmd_graph_node(seq, 0, 1, SBT_NODE_COPY, SBT_NO_ID, packed, sbt_pack_size(&c));
	add(c);
	memset(one, 0, sizeof one);
	one[0] = (struct one){.write = at, .write_end = at + 8};
	add_node(0);
	add(cmd_graph_instantiate(seq, 1, 0));
	r = trace_end(&t);
	ok(state_at(&s, r, seq - 1));
	nonly = 0;
	assert_true(nodes_races(s, 1, NULL, keep_race, NULL));
	state_free(s);
	sbt_reader_close(r);
	return nonly;
}

static void test_rows_of_a_node(void **unused)
{
	static const struct {
		unsigned row, at; /* row 9999: the last one */
		bool touched, between;
	} rows[] = {{0, 0, true, false}, {0, 8, true, false}, {0, 16, false, true},
		{1, 0, true, false}, {1000, 16, false, true}, {1000, 24, false, true},
		{9999, 8, true, false}, {9999, 16, false, false}};

	(void)unused;
	for (unsigned n_rows = 2048; n_rows <= 2049; n_rows++)
		for (unsigned i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
			const unsigned k = i / 2,
				       row = rows[k].row == 9999 ? n_rows - 1 : rows[k].row;
			const bool each = n_rows == 2048,
				   races = rows[k].touched || (!each && rows[k].between);

			if (races_with_rows(n_rows, (i % 2 ? A : B) + 32 * row + rows[k].at) !=
				races)
				fail_msg("%u rows, row %u of the table", n_rows, k);
			if (races)
				assert_int_equal(only.tier, each ? ORDER_CERTAIN : ORDER_POSSIBLE);
		}
}

/* ---- the same, byte by byte, of random launches ---------------------------------------- */

#define CELL 8u
#define CELLS ((unsigned)(SIZE / CELL)) /* of an allocation; there are two */
#define ALLS 12

static struct order_access all_of[ALLS];
static unsigned nall;

/* What a node may have done to a cell, flags by enum order_how: [0] by its record, [1] concluded
 * from the whole launch. */
static unsigned char did[NODES][2 * CELLS][2];

static uint64_t addr_of(unsigned cell)
{
	return cell < CELLS ? A + (uint64_t)cell * CELL : B + (uint64_t)(cell - CELLS) * CELL;
}

static bool covers(uint64_t addr, uint64_t end, unsigned cell)
{
	return addr <= addr_of(cell) && addr_of(cell) < end;
}

/* Whether a copy or a fill of the graph did that to the cell. */
static bool explained(unsigned cell, enum order_how how)
{
	for (unsigned i = 0; i < n; i++) {
		const struct one *o = &one[i];

		if (!o->kernel &&
			((how == ORDER_WRITE && covers(o->write, o->write_end, cell)) ||
				(how == ORDER_READ && covers(o->read, o->read_end, cell))))
			return true;
	}
	return false;
}

static bool is_alone(unsigned i)
{
	for (unsigned k = 0; k < n; k++)
		if (k != i && one[k].kernel && alloc_of(one[k].pointer) == alloc_of(one[i].pointer))
			return false;
	return true;
}

static void kernel_did(unsigned i, unsigned cell, bool known)
{
	const struct one *o = &one[i];

	if (alloc_of(o->pointer) != alloc_of(addr_of(cell)))
		return;
	if (covers(o->pointer & ~UINT64_C(7), (o->pointer & ~UINT64_C(7)) + CELL, cell))
		did[i][cell][0] |= 1u << ORDER_POINTS;
	if (!known)
		did[i][cell][0] |= 1u << ORDER_MAYBE;
	for (unsigned k = 0; k < nall && known; k++) {
		const struct order_access *a = &all_of[k];

		if (!covers(a->addr, a->end, cell))
			continue;
		if (is_alone(i) && !explained(cell, a->how))
			did[i][cell][1] |= 1u << a->how;
		else
			did[i][cell][0] |= 1u << ORDER_MAYBE;
	}
}

static void what_each_did(bool known)
{
	memset(did, 0, sizeof did);
	for (unsigned i = 0; i < n; i++)
		for (unsigned cell = 0; cell < 2 * CELLS; cell++) {
			if (one[i].kernel) {
				kernel_did(i, cell, known);
				continue;
			}
			if (covers(one[i].write, one[i].write_end, cell))
				did[i][cell][0] |= 1u << ORDER_WRITE;
			if (covers(one[i].read, one[i].read_end, cell))
				did[i][cell][0] |= 1u << ORDER_READ;
		}
}

/* The surest that two nodes do to each other in a cell; -1: nothing. */
static int tier_in(unsigned a, unsigned b, unsigned cell)
{
	int best = -1;

	if (!(did[a][cell][0] | did[a][cell][1]) || !(did[b][cell][0] | did[b][cell][1]))
		return -1;
	for (unsigned x = 0; x < 2u * ORDER_HOWS; x++)
		for (unsigned y = 0; y < 2u * ORDER_HOWS; y++) {
			const unsigned hx = x % ORDER_HOWS, hy = y % ORDER_HOWS;
			const bool dx = x >= ORDER_HOWS, dy = y >= ORDER_HOWS;
			int tier = ORDER_CERTAIN;

			if (!(did[a][cell][dx] >> hx & 1) || !(did[b][cell][dy] >> hy & 1) ||
				!ledger_conflict(hx, hy))
				continue;
			if (hx == ORDER_MAYBE || hy == ORDER_MAYBE)
				tier = ORDER_POSSIBLE;
			else if (hx == ORDER_POINTS || hy == ORDER_POINTS || dx || dy)
				tier = ORDER_LIKELY;
			if (best < 0 || tier < best)
				best = tier;
		}
	return best;
}

static int best_tier(unsigned a, unsigned b)
{
	int best = -1;

	for (unsigned cell = 0; cell < 2 * CELLS; cell++) {
		const int tier = tier_in(a, b, cell);

		if (tier >= 0 && (best < 0 || tier < best))
			best = tier;
	}
	return best;
}

static void exact_race(void *known, const struct nodes_race *r)
{
	const unsigned a = (1000 - r->a.node) / 3, b = (1000 - r->b.node) / 3;
	const int tier = best_tier(a, b);
	unsigned cells = 0;

	assert_false(seen[a][b] || seen[b][a]);
	seen[a][b] = seen[b][a] = true;
	assert_true(tier >= 0 && ledger_conflict(r->a.how, r->b.how));
	assert_int_equal(r->tier, r->early ? ORDER_POSSIBLE : tier);
	assert_true(r->addr < r->end);
	for (unsigned cell = 0; cell < 2 * CELLS; cell++)
		if (addr_of(cell) < r->end && r->addr < addr_of(cell) + CELL) {
			const bool other =
				did[a][cell][0] >> r->a.how & 1 || did[a][cell][1] >> r->a.how & 1;

			cells++;
			assert_int_equal(tier_in(a, b, cell), tier);
			assert_true(other);
			assert_true(
				did[b][cell][0] >> r->b.how & 1 || did[b][cell][1] >> r->b.how & 1);
		}
	assert_true(cells > 0);
	(void)known;
}

static void some_launch(struct random_cmds *dice)
{
	nall = (unsigned)random_below(dice, ALLS + 1);
	for (unsigned k = 0; k < nall; k++) {
		const uint64_t in = random_below(dice, 2) ? A : B,
			       at = random_below(dice, 3) ? CELL * random_below(dice, CELLS - 64)
							  : 0;

		all_of[k].addr = in + at;
		all_of[k].end = in + at + CELL * (1 + random_below(dice, at ? 60 : CELLS));
		all_of[k].how = random_below(dice, 3); /* a read, a write or an atomic */
	}
}

static void test_of_a_launch_that_is_known(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 80; seed++) {
		struct random_cmds dice = {.x = seed * 7901};
		struct sbt_cmd graph;
		struct sbt_reader *r;
		struct state *s;
		const struct order_accesses l = {.a = all_of, .n = (some_launch(&dice), nall)};
		const bool known = seed % 8 != 0;

		begin();
		graph = cmd_any(seq, SBT_GRAPH_CREATE);
		graph.u.graph_create.clone_of = SBT_NO_ID;
		add(graph);
		some_graph(&dice);
		n = n > 14 ? 3 + n % 12 : n; /* few kernels, so that some are alone */
		for (unsigned i = 0; i < n; i++) {
			struct one *o = &one[i];

			o->kernel &= seed % 3 || i % 2;
			o->early &= o->kernel;
			if (o->kernel)
				o->write_end = o->write = o->read_end = o->read = 0;
			o->ndeps = 0;
			memset(o->over, 0, sizeof o->over);
			memset(o->hoped, 0, sizeof o->hoped);
		}
		for (unsigned i = 0; i < n; i++)
			add_node(i);
		add(cmd_graph_instantiate(seq, 1, 0));
		r = trace_end(&t);
		ok(state_at(&s, r, seq - 1));
		memset(seen, 0, sizeof seen);
		what_each_did(known);
		assert_true(nodes_races(s, 1, known ? &l : NULL, exact_race, NULL));
		for (unsigned b = 0; b < n; b++)
			for (unsigned a = 0; a < b; a++)
				if (best_tier(a, b) >= 0 && !seen[a][b])
					fail_msg("seed %u: nodes %u and %u", (unsigned)seed,
						number_of(a), number_of(b));
		state_free(s);
		sbt_reader_close(r);
	}
}

/* A graph of fills of A, with node `odd` among them (NULL payload: nothing is known of it). */
static unsigned races_with(const struct order_accesses *all, enum sbt_node type,
	const struct sbt_cmd *payload, const uint32_t *deps, unsigned ndeps)
{
	uint64_t packed[64];
	struct sbt_cmd c;
	struct sbt_reader *r;
	struct state *s;

	begin();
	c = cmd_any(seq, SBT_GRAPH_CREATE);
	c.u.graph_create.clone_of = SBT_NO_ID;
	add(c);
	memset(one, 0, sizeof one);
	one[0] = (struct one){.write = A, .write_end = A + 64};
	one[1] = (struct one){.kernel = true, .pointer = A + 256};
	n = 2;
	add_node(0);
	add_node(1);
	if (payload)
		sbt_pack(packed, payload);
	c = cmd_graph_node(
		seq, 0, 5, type, SBT_NO_ID, packed, payload ? sbt_pack_size(payload) : 0);
	c.u.graph_node.deps = (struct sbt_blob){deps, ndeps * sizeof *deps};
	add(c);
	add(cmd_graph_instantiate(seq, 1, 0));
	r = trace_end(&t);
	ok(state_at(&s, r, seq - 1));
	nonly = 0;
	assert_true(nodes_races(s, 1, all, keep_race, NULL));
	state_free(s);
	sbt_reader_close(r);
	return nonly;
}

/* A kernel of which not even the arguments are known may have done anything: nothing is concluded
 * from the launch. A host function, or a node that touches nothing, takes no part. */
static void test_nodes_that_say_nothing(void **unused)
{
	struct order_access beside = {A + 64, A + 128, ORDER_WRITE};
	const struct order_accesses all = {.a = &beside, .n = 1};
	struct order_access may[2] = {
		{A + 64, A + 128, ORDER_WRITE}, {A + 64, A + 128, ORDER_MAYBE}};
	const struct order_accesses vague = {.a = may, .n = 2};
	struct sbt_cmd blind = cmd_launch(1, 0, 77), host = cmd_host_func(1, 0),
		       fill_b = cmd_fill(1, 0, B, 8), fill_a = cmd_fill(1, 0, A + 8, 8);
	const uint32_t strange[] = {4711, 5, 1000, 997};

	(void)unused;
	assert_int_equal(races_with(&all, SBT_NODE_EMPTY, NULL, NULL, 0), 0);
	assert_int_equal(races_with(&all, SBT_NODE_OTHER, NULL, NULL, 0), 0);
	assert_int_equal(races_with(&all, SBT_NODE_HOST, &host, NULL, 0), 0);
	assert_int_equal(races_with(&all, SBT_NODE_KERNEL, NULL, NULL, 0), 1);
	assert_int_equal(races_with(&all, SBT_NODE_KERNEL, &blind, NULL, 0), 1);
	assert_int_equal(races_with(&vague, SBT_NODE_EMPTY, NULL, NULL, 0), 1);
	assert_int_equal(races_with(&all, SBT_NODE_OTHER, &fill_a, NULL, 0), 0);
	assert_int_equal(races_with(&all, SBT_NODE_FILL, &fill_b, NULL, 0), 0);
	assert_int_equal(races_with(&all, SBT_NODE_FILL, &fill_a, NULL, 0), 1);
	/* of its dependencies one is no node, and one is itself */
	assert_int_equal(races_with(&all, SBT_NODE_FILL, &fill_a, strange, 2), 1);
	assert_int_equal(races_with(&all, SBT_NODE_FILL, &fill_a, strange, 4), 0);
}

/* A chain, listed so that each pass learns one more step. Its beginning names what is no node. */
static void test_a_chain_from_its_end(void **unused)
{
	struct sbt_cmd graph;
	struct sbt_reader *r;
	struct state *s;

	(void)unused;
	begin();
	graph = cmd_any(seq, SBT_GRAPH_CREATE);
	graph.u.graph_create.clone_of = SBT_NO_ID;
	add(graph);
	memset(one, 0, sizeof one);
	n = NODES;
	for (unsigned i = 0; i < n; i++) {
		one[i] = (struct one){.write = A, .write_end = A + 8, .ndeps = 1};
		one[i].deps[0] = i + 1;
		add_node(i);
	}
	add(cmd_graph_instantiate(seq, 1, 0));
	r = trace_end(&t);
	ok(state_at(&s, r, seq - 1));
	nonly = 0;
	assert_true(nodes_races(s, 1, NULL, keep_race, NULL));
	assert_int_equal(nonly, 0);
	state_free(s);
	sbt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_races_of_nodes_are_by_the_definition),
		cmocka_unit_test(test_what_nobody_else_did_is_the_kernels),
		cmocka_unit_test(test_rows_of_a_node),
		cmocka_unit_test(test_of_a_launch_that_is_known),
		cmocka_unit_test(test_nodes_that_say_nothing),
		cmocka_unit_test(test_a_chain_from_its_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
