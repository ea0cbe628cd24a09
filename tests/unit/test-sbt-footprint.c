/* SPDX-License-Identifier: Apache-2.0
 *
 * Footprints against a copy done by hand: byte after byte, in 128 bits, by the rules of the CUDA
 * driver API for CUDA_MEMCPY3D (a row begins at base + z * pitch * height + y * pitch + x; a pitch
 * of 0 is the width, a height of 0 the copy's), not by the formulas of footprint.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds.h"
#include "sbt/footprint.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

typedef unsigned __int128 wide;

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Mostly small; sometimes a number at which sums and products wrap. */
static uint64_t awkward(unsigned small)
{
	static const uint64_t edge[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2,
		UINT64_MAX / 2 + 1, 1ull << 32, (1ull << 32) - 1, 1ull << 62};

	return rnd() % 16 ? rnd() % small : edge[rnd() % (sizeof edge / sizeof *edge)];
}

#define BASE 100u
#define SPAN 4096u

/* What the device would touch: marks, from BASE on. False: no device does that, or it is too large
 * to be played. */
static bool play(const struct sbt_cmd_copy *u, uint8_t *marks, bool *ret_large)
{
	const wide pitch = u->dst_pitch ? u->dst_pitch : u->width,
		   slice = u->dst_slice ? u->dst_slice : pitch * u->height;

	*ret_large = false;
	if ((wide)u->width * u->height > UINT64_MAX ||
		(wide)u->width * u->height * u->depth != u->size)
		return false;
	if (!u->size)
		return true;
	if ((u->height > 1 || u->depth > 1) && pitch < u->width)
		return false;
	if (u->depth > 1 && (slice < pitch * u->height || slice % pitch))
		return false;
	if (u->depth > SPAN || u->height > SPAN || u->width > SPAN ||
		pitch * u->height * u->depth > SPAN || slice * u->depth > SPAN) {
		*ret_large = true;
		return true;
	}
	for (uint64_t z = 0; z < u->depth; z++)
		for (uint64_t y = 0; y < u->height; y++)
			for (uint64_t x = 0; x < u->width; x++)
				marks[(uint64_t)(z * slice + y * pitch + x)] = 1;
	return true;
}

/* The same, by a descriptor made of the rows: what replayer-copy.c gives the driver. */
static void play_descriptor(const struct sbt_rows *r, uint8_t *marks)
{
	const uint64_t rows = r->depth > 1 ? r->slice / r->pitch : r->height;

	for (uint64_t z = 0; z < r->depth; z++)
		for (uint64_t y = 0; y < r->height; y++)
			for (uint64_t x = 0; x < r->width; x++)
				marks[z * r->pitch * rows + y * r->pitch + x] = 1;
}

static void rows_are(const struct sbt_rows *r, const uint8_t *marks)
{
	static uint8_t again[2 * SPAN];
	uint64_t end = 0;

	for (uint64_t i = 0; i < SPAN; i++)
		if (marks[i])
			end = i + 1;
	assert_true(sbt_rows_size(r) == end);
	memset(again, 0, sizeof again);
	play_descriptor(r, again);
	assert_memory_equal(again, marks, SPAN);
	for (unsigned n = 0; n < 64; n++) {
		const uint64_t at = rnd() % (end + 8), size = rnd() % 12;
		bool want = false;

		for (uint64_t i = at; i < at + size && i < SPAN; i++)
			want |= marks[i] != 0;
		assert_int_equal(sbt_rows_meet(r, BASE + at, size), want);
	}
	assert_false(sbt_rows_meet(r, 0, BASE));
	assert_int_equal(sbt_rows_meet(r, 0, UINT64_MAX), end != 0);
	assert_false(sbt_rows_meet(r, BASE + end, UINT64_MAX));
}

static void test_rows_of_copies(void **unused)
{
	static uint8_t marks[2 * SPAN];
	unsigned good = 0, deep = 0;

	(void)unused;
	for (unsigned i = 0; i < 100000; i++) {
		struct sbt_cmd_copy u = {.dst = BASE,
			.src = BASE,
			.width = 1 + awkward(9),
			.height = awkward(5),
			.depth = awkward(4),
			.dst_pitch = awkward(14)};
		struct sbt_rows r;
		bool large;

		u.dst_slice = rnd() % 4 ? u.dst_pitch * (rnd() % 8) : awkward(60);
		u.size = rnd() % 8 ? u.width * u.height * u.depth : awkward(200);
		if (!u.width)
			continue;
		memset(marks, 0, sizeof marks);
		const bool possible = play(&u, marks, &large);
		const char *bad = sbt_rows_of_copy(&r, &u, true);

		if (!possible)
			assert_non_null(bad);
		if (bad) {
			assert_true(!possible || large);
			assert_true(sbt_rows_size(&r) == 0 && !sbt_rows_meet(&r, 0, UINT64_MAX));
		} else if (large) {
			assert_true((wide)r.addr + sbt_rows_size(&r) - 1 <= UINT64_MAX);
		} else {
			rows_are(&r, marks);
			good++;
			deep += u.depth > 1 && u.height > 1;
		}
	}
	assert_true(good > 10000 && deep > 1000);
}

/* The recorded source is asked for its own pitch and slice, and without a width a copy is flat. */
static void test_sides(void **unused)
{
	struct sbt_cmd_copy u = {.dst = 1000,
		.src = 2000,
		.size = 24,
		.width = 4,
		.height = 3,
		.depth = 2,
		.dst_pitch = 10,
		.dst_slice = 100,
		.src_pitch = 5};
	struct sbt_rows r;

	(void)unused;
	assert_null(sbt_rows_of_copy(&r, &u, false));
	assert_true(r.addr == 2000 && r.pitch == 5 && r.slice == 15 && sbt_rows_size(&r) == 29);
	assert_null(sbt_rows_of_copy(&r, &u, true));
	assert_true(r.addr == 1000 && sbt_rows_size(&r) == 124);
	u.width = 0;
	assert_null(sbt_rows_of_copy(&r, &u, true));
	assert_true(sbt_rows_size(&r) == 24);
	u.dst = UINT64_MAX - 23;
	assert_null(sbt_rows_of_copy(&r, &u, true));
	u.dst++;
	assert_non_null(sbt_rows_of_copy(&r, &u, true));
}

/* The attack: what is checked (1,023 bytes) was not what was copied (256 KiB). */
static void test_a_slice_within_a_slice(void **unused)
{
	struct sbt_cmd_copy u = {.dst = BASE,
		.size = 128 * 4 * 512,
		.width = 128,
		.height = 4,
		.depth = 512,
		.dst_pitch = 128,
		.dst_slice = 1,
		.src_pitch = 128,
		.src_slice = 512};
	struct sbt_rows r;

	(void)unused;
	assert_non_null(sbt_rows_of_copy(&r, &u, true));
	assert_null(sbt_rows_of_copy(&r, &u, false));
	u.dst_slice = 512;
	assert_null(sbt_rows_of_copy(&r, &u, true));
	assert_true(sbt_rows_size(&r) == 128 * 4 * 512);
}

static void test_rows_of_fills(void **unused)
{
	struct sbt_cmd_fill u = {
		.dst = BASE, .size = 24, .elem = 4, .width = 3, .height = 2, .dst_pitch = 20};
	struct sbt_rows r;

	(void)unused;
	assert_null(sbt_rows_of_fill(&r, &u));
	assert_true(sbt_rows_size(&r) == 32 && r.width == 12);
	assert_true(sbt_rows_meet(&r, BASE + 11, 1) && !sbt_rows_meet(&r, BASE + 12, 8) &&
		    sbt_rows_meet(&r, BASE + 31, 1) && !sbt_rows_meet(&r, BASE + 32, 1));
	u.dst_pitch = 8; /* less than a row */
	assert_non_null(sbt_rows_of_fill(&r, &u));
	u.dst_pitch = 0; /* without gaps */
	assert_null(sbt_rows_of_fill(&r, &u));
	assert_true(sbt_rows_size(&r) == 24);
	u.width = UINT64_MAX / 4 + 2; /* 4 bytes modulo 2^64 */
	u.height = 6;
	assert_non_null(sbt_rows_of_fill(&r, &u));
	u.width = 0;
	assert_null(sbt_rows_of_fill(&r, &u));
	u.size = 23;
	assert_non_null(sbt_rows_of_fill(&r, &u));
	u.size = 24;
	u.elem = 3;
	assert_non_null(sbt_rows_of_fill(&r, &u));
}

/* Drivers' sides: every byte that CUDA_MEMCPY3D's formula touches, and its 0s. */
static void test_drivers_sides(void **unused)
{
	uint64_t addr, pitch, slice;

	(void)unused;
	sbt_side_rows(
		&(struct sbt_side){.base = 1000, .x = 3, .y = 2, .z = 1, .pitch = 32, .height = 10},
		8, 4, &addr, &pitch, &slice);
	assert_true(addr == 1000 + 320 + 64 + 3 && pitch == 32 && slice == 320);
	sbt_side_rows(&(struct sbt_side){.base = 1000, .z = 1, .height = 10}, 8, 4, &addr, &pitch,
		&slice);
	assert_true(addr == 1000 + 80 && pitch == 8 && slice == 80);
	sbt_side_rows(
		&(struct sbt_side){.base = 1000, .y = 1, .z = 1}, 8, 4, &addr, &pitch, &slice);
	assert_true(addr == 1000 + 40 + 8 && pitch == 8 && slice == 40);
	sbt_side_rows(&(struct sbt_side){.base = 1000, .x = 4, .y = 1, .z = 2, .height = 10}, 32, 4,
		&addr, &pitch, &slice);
	assert_true(addr == 1000 + 760 && pitch == 36 && slice == 360); /* as an H200 has it */
	sbt_side_rows(&(struct sbt_side){.base = 1000, .x = 4, .y = 1, .z = 2, .pitch = 64}, 32, 4,
		&addr, &pitch, &slice);
	assert_true(addr == 1000 + 708 && pitch == 64 && slice == 320); /* likewise */
}

/* --- kinds --- */

#define TELLS_BYTES (SBT_READS | SBT_WRITES | SBT_UPDATES | SBT_ALLOCATES | SBT_FREES)

/* Kinds of work that only wait their turn: hints. None yet. */
static const unsigned idle[] = {0};

static bool is_idle(unsigned kind)
{
	for (unsigned i = 0; i < sizeof idle / sizeof *idle; i++)
		if (kind == idle[i])
			return true;
	return false;
}

/* A command of a kind, all of whose numbers are 4: flat copies and fills of 4 bytes, values of 4
 * bytes, ids. */
static struct sbt_cmd plain(unsigned kind)
{
	struct sbt_cmd c = cmd_any(1, kind);

	for (const struct sbt_field *f = sbt_kind(kind)->fields; f->name; f++)
		if (!sbt_type_is_blob(f->type) && strcmp(f->name, "width") != 0)
			sbt_set(&c, f, f->type == SBT_T_BOOL ? 0 : 4);
	return c;
}

static void test_every_kind(void **unused)
{
	struct sbt_footprint f;

	(void)unused;
	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		const struct sbt_kind_desc *d = sbt_kind(k);

		if (!d)
			continue;
		struct sbt_cmd c = plain(k);

		sbt_footprint(&f, &c);
		assert_int_equal(d->does, sbt_kind_does(k));
		assert_int_equal(
			f.does & SBT_DOES_UNKNOWN, k == SBT_UNREPLAYABLE ? SBT_DOES_UNKNOWN : 0);
		/* Work does something; what says that it touches bytes has them. */
		if (d->cls == SBT_CLASS_WORK && !(f.does & SBT_QUEUED))
			fail_msg(
				"%s is work and not queued: its DOES in commands.def lacks SBT_QUEUED",
				d->name);
		if (d->cls == SBT_CLASS_WORK && f.does == SBT_QUEUED && !is_idle(k))
			fail_msg(
				"%s is work that does nothing: say in its DOES in commands.def what it does, or add it to idle[] here",
				d->name);
		if ((f.n != 0) != ((d->does & TELLS_BYTES) != 0))
			fail_msg(
				"%s: its DOES in commands.def and its row of bytes[] in src/sbt/cmd/footprint.c disagree whether it tells bytes",
				d->name);
		for (unsigned i = 0; i < f.n; i++)
			assert_true(
				f.touch[i].how & d->does && sbt_rows_meet(&f.touch[i].rows, 4, 1));
		/* A queue needs a stream. */
		assert_true(!(d->does & SBT_QUEUED) || sbt_stream_offset(k));
		assert_int_equal(sbt_stream_offset(k),
			sbt_field(k, "stream") ? sbt_field(k, "stream")->offset : 0);
		c.result = 1;
		sbt_footprint(&f, &c);
		assert_true(!f.does && !f.n);
		c.result = 0;
		c.flags = SBT_F_GRAPH;
		sbt_footprint(&f, &c);
		assert_true(!f.does && !f.n);
		sbt_footprint_when_run(&f, &c);
		assert_int_equal(f.n != 0, (d->does & TELLS_BYTES) != 0);
	}
	assert_int_equal(sbt_kind_does(0), SBT_DOES_UNKNOWN);
	assert_int_equal(sbt_kind_does(SBT_KIND_END), SBT_DOES_UNKNOWN);
}

/* Of these, and no others, does a replay keep the order. */
static void test_which_kinds_take_turns(void **unused)
{
	(void)unused;
	for (unsigned k = 0; k <= SBT_KIND_END; k++)
		assert_int_equal(
			sbt_kind_takes_turn(k), k == SBT_LAUNCH || k == SBT_COPY || k == SBT_FILL ||
							k == SBT_GRAPH_LAUNCH || k == SBT_BATCH);
}

static void test_what_two_kinds_do(void **unused)
{
	struct sbt_cmd c = plain(SBT_COPY);
	struct sbt_footprint f;

	(void)unused;
	c.u.copy.dir = SBT_COPY_H2D;
	sbt_footprint(&f, &c);
	assert_int_equal(f.n, 2);
	assert_true(f.touch[0].how == SBT_READS && f.touch[0].host_side &&
		    f.touch[1].how == SBT_WRITES && !f.touch[1].host_side);
	c.u.copy.dir = SBT_COPY_D2H;
	sbt_footprint(&f, &c);
	assert_true(!f.touch[0].host_side && f.touch[1].host_side);
	for (unsigned k = 1; k < SBT_KIND_END; k++) { /* copies alone touch memory of no call */
		struct sbt_cmd other;

		if (!sbt_kind(k) || k == SBT_COPY)
			continue;
		other = plain(k);
		sbt_footprint(&f, &other);
		for (unsigned i = 0; i < f.n; i++)
			assert_false(f.touch[i].host_side);
	}
	c.u.copy.dir = 77; /* unknown directions are any */
	sbt_footprint(&f, &c);
	assert_true(f.touch[0].host_side && f.touch[1].host_side);
	c = plain(SBT_BATCH);
	sbt_footprint(&f, &c);
	assert_true(f.does & SBT_SIGNALS && !(f.does & SBT_WAITS));
	c.u.batch.is_wait = 1;
	sbt_footprint(&f, &c);
	assert_true(f.does & SBT_WAITS && !(f.does & SBT_SIGNALS));
	assert_true(f.n == 1 && sbt_rows_size(&f.touch[0].rows) == 4);
	for (unsigned elem = 0; elem <= 8; elem += 4) { /* 0: from traces that did not say it */
		c.u.batch.elem = elem;
		c.u.batch.addr = 0x1000;
		sbt_footprint_when_run(&f, &c);
		assert_int_equal(f.n, 1);
		assert_int_equal(f.touch[0].rows.addr, 0x1000);
		assert_int_equal(f.touch[0].rows.width, elem == 8 ? 8 : 4);
		assert_int_equal(f.touch[0].how, SBT_UPDATES);
	}
	c.u.batch.elem = 8;
	c.u.batch.addr = UINT64_MAX - 6;
	sbt_footprint(&f, &c);
	assert_true(f.does & SBT_DOES_UNKNOWN);
	c = plain(SBT_ALLOC);
	c.u.alloc.size = UINT64_MAX;
	sbt_footprint(&f, &c);
	assert_true(f.does & SBT_DOES_UNKNOWN);
}

/* --- graphs --- */

struct graphs {
	struct {
		unsigned n;
		struct sbt_footprint_node node[8];
	} graph[4];
	unsigned found, unknown, waits, kernels, writes;
};

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	struct graphs *g = arg;

	if (graph >= 4 || i >= g->graph[graph].n)
		return false;
	*ret = g->graph[graph].node[i];
	return true;
}

static void a_find(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct graphs *g = arg;

	assert_non_null(c);
	g->found++;
	g->unknown += (f->does & SBT_DOES_UNKNOWN) != 0;
	g->waits += (f->does & SBT_WAITS) != 0;
	g->kernels += (f->does & SBT_RUNS_KERNEL) != 0;
	g->writes += (f->does & SBT_WRITES) != 0;
	assert_true(f->in_graph);
}

static struct sbt_footprint_node packed(void *to, enum sbt_node type, const struct sbt_cmd *c)
{
	sbt_pack(to, c);
	return (struct sbt_footprint_node){type, {to, sbt_pack_size(c)}};
}

static struct graphs walk(struct graphs g, uint64_t exec)
{
	const struct sbt_footprint_walk w = {a_node, a_find, &g};
	struct sbt_cmd c = plain(SBT_GRAPH_LAUNCH);

	c.u.graph_launch.exec = exec;
	sbt_footprint_each(&c, &w);
	return g;
}

static void test_graphs(void **unused)
{
	static uint64_t room[6][64];
	struct sbt_cmd kernel = plain(SBT_LAUNCH), fill = plain(SBT_FILL),
		       child = plain(SBT_GRAPH_LAUNCH);
	struct graphs g = {0}, r;

	(void)unused;
	/* Graph 0: a kernel, an empty node, a wait, and graph 1, which fills. Graph 2 contains
	 * itself, eight times. Graph 3 cannot be read. */
	child.u.graph_launch.exec = 1;
	g.graph[0].n = 4;
	g.graph[0].node[0] = packed(room[0], SBT_NODE_KERNEL, &kernel);
	g.graph[0].node[1] = (struct sbt_footprint_node){.type = SBT_NODE_EMPTY};
	g.graph[0].node[2] = (struct sbt_footprint_node){.type = SBT_NODE_WAIT_EVENT};
	g.graph[0].node[3] = packed(room[1], SBT_NODE_GRAPH, &child);
	g.graph[1].n = 1;
	g.graph[1].node[0] = packed(room[2], SBT_NODE_FILL, &fill);
	child.u.graph_launch.exec = 2;
	g.graph[2].n = 8;
	for (unsigned i = 0; i < 8; i++)
		g.graph[2].node[i] = packed(room[3], SBT_NODE_GRAPH, &child);
	g.graph[3].n = 3;
	g.graph[3].node[0] = (struct sbt_footprint_node){.type = SBT_NODE_OTHER};
	g.graph[3].node[2] = packed(room[4], SBT_NODE_OTHER, &fill); /* whatever comes with it */
	g.graph[3].node[1] =
		(struct sbt_footprint_node){.type = SBT_NODE_COPY, .payload = {"short", 5}};
	r = walk(g, 0);
	assert_true(r.found == 3 && r.kernels == 1 && r.waits == 1 && r.writes == 1 && !r.unknown);
	r = walk(g, 2);
	assert_true(r.unknown && r.unknown == r.found && r.found <= 2u << 20);
	r = walk(g, 3);
	assert_true(r.unknown == 3 && r.found == 3 && !r.writes);
	r = walk(g, 9); /* nobody saw what is in it */
	assert_true(r.unknown == 1 && r.found == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_of_copies),
		cmocka_unit_test(test_sides),
		cmocka_unit_test(test_a_slice_within_a_slice),
		cmocka_unit_test(test_rows_of_fills),
		cmocka_unit_test(test_drivers_sides),
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_which_kinds_take_turns),
		cmocka_unit_test(test_what_two_kinds_do),
		cmocka_unit_test(test_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
