/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that are hard to get right for whatever asks what a command touches: rows with pitches,
 * heights and slices of 0 or smaller than the rows, numbers so high that sums overflow, ranges that
 * begin in one allocation and end in the next, graphs in graphs. Each kind of commands.def that
 * does something has a row in awk_makers[]; awk_cmd() fails the test for a kind without one.
 */
#ifndef TESTS_AWKWARD_CMDS_H
#define TESTS_AWKWARD_CMDS_H

#include "cmds.h"
#include "sbt/footprint.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

/* Two allocations, the second right behind the first, as a program maps memory for an array that
 * grows, in the units in which it can be mapped; one far away. */
#define AWK_A UINT64_C(0x10000000)
#define AWK_SIZE UINT64_C(0x200000)
#define AWK_B (AWK_A + AWK_SIZE)
#define AWK_FAR UINT64_C(0x40000000)
/* Where commands allocate and free. */
#define AWK_FRESH UINT64_C(0x80000000)

#define AWK_FN static inline __attribute__((unused))

static uint64_t awk_x = 88172645463325252ull;

AWK_FN uint64_t rnd(uint64_t below)
{
	awk_x ^= awk_x << 13;
	awk_x ^= awk_x >> 7;
	awk_x ^= awk_x << 17;
	return awk_x % below;
}

AWK_FN uint64_t awk_number(uint64_t small)
{
	static const uint64_t edge[] = {0, UINT64_MAX, 1ull << 63, 1ull << 32};

	return rnd(12) ? rnd(small) : edge[rnd(4)];
}

/* Most addresses are allocated, and many of those are near the border; the others are of memory
 * that no call allocated. */
AWK_FN uint64_t awk_address(void)
{
	switch (rnd(6)) {
	case 0:
		return 0x7f0000000000 + rnd(4096);
	case 1:
		return UINT64_MAX - rnd(64);
	case 2:
		return AWK_B - rnd(300);
	case 3:
		return AWK_FAR + rnd(AWK_SIZE);
	default:
		return AWK_A + rnd(2 * AWK_SIZE);
	}
}

AWK_FN struct sbt_cmd awk_copy(uint64_t seq)
{
	struct sbt_cmd c = cmd_copy(
		seq, 0, (enum sbt_copy)rnd(7), awk_address(), awk_address(), rnd(500), true);
	struct sbt_cmd_copy *u = &c.u.copy;

	if (!rnd(3))
		return c;
	u->width = 1 + awk_number(40);
	u->height = awk_number(6);
	u->depth = awk_number(4);
	u->dst_pitch = rnd(4) ? u->width + rnd(9) : awk_number(60);
	u->src_pitch = rnd(4) ? u->width + rnd(9) : awk_number(60);
	u->dst_slice = rnd(4) ? u->dst_pitch * (u->height + rnd(3)) : awk_number(300);
	u->src_slice = rnd(4) ? u->src_pitch * (u->height + rnd(3)) : awk_number(300);
	u->size = rnd(9) ? u->width * u->height * u->depth : awk_number(100);
	return c;
}

AWK_FN struct sbt_cmd awk_fill(uint64_t seq)
{
	struct sbt_cmd c = cmd_fill(seq, 0, awk_address(), rnd(500));
	struct sbt_cmd_fill *u = &c.u.fill;

	u->elem = rnd(20) ? 1u << rnd(3) : rnd(9);
	u->size = u->size * u->elem;
	if (!rnd(3))
		return c;
	u->width = awk_number(40);
	u->height = awk_number(6);
	u->dst_pitch = awk_number(200);
	u->size = rnd(9) ? u->width * u->height * u->elem : awk_number(100);
	return c;
}

AWK_FN struct sbt_cmd awk_batch(uint64_t seq)
{
	struct sbt_cmd c = cmd_any(seq, SBT_BATCH);

	c.u.batch = (struct sbt_cmd_batch){.is_wait = rnd(2),
		.addr = rnd(4) ? awk_address() : AWK_B - 4,
		.elem = rnd(2) ? 8 : 4};
	return c;
}

AWK_FN struct sbt_cmd awk_alloc(uint64_t seq)
{
	struct sbt_cmd c =
		cmd_alloc(seq, AWK_FRESH + 4096 * rnd(8), rnd(9) ? 4096 : awk_number(4096));

	c.u.alloc.stream = rnd(2) ? 0 : SBT_NO_ID;
	return c;
}

AWK_FN struct sbt_cmd awk_free(uint64_t seq)
{
	struct sbt_cmd c = cmd_free(seq, AWK_FRESH + 4096 * rnd(8));

	c.u.free.stream = rnd(2) ? 0 : SBT_NO_ID;
	return c;
}

/* Of a kernel that nobody knows. */
AWK_FN struct sbt_cmd awk_launch(uint64_t seq)
{
	return cmd_launch(seq, 0, 77);
}

/* Kinds that only their number says more about. */
#define AWK_PLAIN(NAME, KIND)                                                                      \
	AWK_FN struct sbt_cmd awk_##NAME(uint64_t seq) {                                           \
		return cmd_any(seq, KIND);                                                         \
	}
AWK_PLAIN(event_record, SBT_EVENT_RECORD)
AWK_PLAIN(stream_wait, SBT_STREAM_WAIT)
AWK_PLAIN(sync, SBT_SYNC)
AWK_PLAIN(host_func, SBT_HOST_FUNC)
AWK_PLAIN(unreplayable, SBT_UNREPLAYABLE)

/* --- graphs --- */

/* Graph 1 has one node of each of these and graph 2; graph 2 has fills and copies; graph 3 has a
 * node of no known type and graph 2; graph 4 has no nodes, and graph 5 has itself. */
#define AWK_GRAPHS 5u

AWK_FN struct sbt_cmd awk_graph_launch(uint64_t seq)
{
	return cmd_graph_launch(seq, 0, 1 + rnd(AWK_GRAPHS));
}

struct awk_node {
	unsigned graph, number;
	enum sbt_node type;
	uint64_t payload[64];
	size_t size;
};

AWK_FN void awk_pack(struct awk_node *n, const struct sbt_cmd *c)
{
	n->size = sbt_pack_size(c);
	if (n->size <= sizeof n->payload)
		sbt_pack(n->payload, c);
}

#define AWK_NODES 16u
AWK_FN void awk_nodes(struct awk_node n[AWK_NODES])
{
	static const unsigned inner[] = {2, 2, 5};
	unsigned i = 0, number = 0;
	struct sbt_cmd c;

	memset(n, 0, AWK_NODES * sizeof *n);
	for (; i < 8; i++) {
		n[i].graph = 2;
		n[i].number = i;
		n[i].type = i & 1 ? SBT_NODE_COPY : SBT_NODE_FILL;
		c = i & 1 ? awk_copy(0) : awk_fill(0);
		awk_pack(&n[i], &c);
	}
	for (unsigned k = 0; k < 3; k++, i++) {
		n[i].graph = k == 0 ? 1 : k == 1 ? 3 : 5;
		n[i].type = SBT_NODE_GRAPH;
		c = cmd_graph_launch(0, 0, inner[k]);
		awk_pack(&n[i], &c);
	}
	n[i] = (struct awk_node){3, 1, SBT_NODE_OTHER, {0}, 0};
	i++;
	for (number = 1; i < AWK_NODES; i++, number++) {
		n[i].graph = 1;
		n[i].number = number;
		n[i].type = number == 1	  ? SBT_NODE_FILL
			    : number == 2 ? SBT_NODE_COPY
					  : SBT_NODE_EMPTY;
		c = number == 1 ? cmd_fill(0, 0, AWK_B - 8, 16) : awk_copy(0);
		if (number <= 2)
			awk_pack(&n[i], &c);
	}
}

/* --- every kind --- */

static struct sbt_cmd (*const awk_makers[SBT_KIND_END])(uint64_t seq) = {
	[SBT_COPY] = awk_copy,
	[SBT_FILL] = awk_fill,
	[SBT_BATCH] = awk_batch,
	[SBT_ALLOC] = awk_alloc,
	[SBT_FREE] = awk_free,
	[SBT_LAUNCH] = awk_launch,
	[SBT_GRAPH_LAUNCH] = awk_graph_launch,
	[SBT_EVENT_RECORD] = awk_event_record,
	[SBT_STREAM_WAIT] = awk_stream_wait,
	[SBT_SYNC] = awk_sync,
	[SBT_HOST_FUNC] = awk_host_func,
	[SBT_UNREPLAYABLE] = awk_unreplayable,
};

/* A command of any kind that does something; three of four are copies, fills and values. */
AWK_FN struct sbt_cmd awk_cmd(uint64_t seq)
{
	unsigned kind = 0;

	switch (rnd(8)) {
	case 0:
	case 1:
	case 2:
		return awk_copy(seq);
	case 3:
	case 4:
		return awk_fill(seq);
	case 5:
		return awk_batch(seq);
	}
	while (!sbt_kind(kind) || !(sbt_kind_does(kind) & ~SBT_PASSED))
		kind = (unsigned)rnd(SBT_KIND_END);
	if (!awk_makers[kind])
		fail_msg(
			"%s does something (DOES of commands.def) and has no row in awk_makers[] of tests/unit/awkward-cmds.h",
			sbt_kind(kind)->name);
	return awk_makers[kind](seq);
}

/* --- what footprint says of a command, its nodes included --- */

#define AWK_TOUCHES 64u

struct awk_said {
	unsigned does; /* of all that was found */
	bool waits_all;
	unsigned n;
	struct {
		struct sbt_touch is;
		bool waits; /* it reads a value until it is there */
	} touch[AWK_TOUCHES];
};

AWK_FN void awk_heard(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct awk_said *said = arg;

	said->does |= f->does;
	said->waits_all |= f->does & SBT_WAITS && (f->in_graph || c->kind != SBT_STREAM_WAIT);
	for (unsigned i = 0; i < f->n && said->n < AWK_TOUCHES; i++) {
		said->touch[said->n].is = f->touch[i];
		said->touch[said->n++].waits = (f->does & SBT_WAITS) != 0;
	}
}

/* A byte at the end of a row of r, or beside one. */
AWK_FN uint64_t awk_near(const struct sbt_rows *r)
{
	return r->addr + rnd(r->depth) * r->slice + rnd(r->height) * r->pitch +
	       (rnd(2) ? r->width : 0) + rnd(3) - 1;
}

#endif
