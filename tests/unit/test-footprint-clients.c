/* SPDX-License-Identifier: Apache-2.0
 *
 * All that ask what a command touches give footprint's answer: races (order), partial replay
 * (plans), "who wrote" (replay), the state's last writers and what a keyframe keeps of them. The
 * commands are those of awkward-cmds.h, byte by byte where it matters: at the ends of rows and
 * between them, and where one allocation ends and the next begins. test-footprint-replayer and
 * test-footprint-agent ask tsdb-replayer and the agent.
 */
#include "random-trace.h"
#include "awkward-cmds.h"
#include "base/checked.h"
#include "order/order.h"
#include "replay/plan/plan-private.h"
#include "replay/replay.h"
#include "sbt/footprint.h"
#include "sbt/fields.h"

#define MANY 6000u

/* Memory of the program that no call allocated concerns nobody. */
static bool counts(const struct state *s, const struct sbt_touch *t)
{
	struct state_alloc a;

	return !t->host_side || state_alloc_at(s, t->rows.addr, &a);
}

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	return state_footprint_node(*(const struct state **)arg, graph, i, ret);
}

struct heard { /* s first: a_node() */
	const struct state *s;
	struct awk_said said;
};

static void found(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	awk_heard(&((struct heard *)arg)->said, c, f);
}

static struct awk_said ask(const struct state *s, const struct sbt_cmd *c)
{
	struct heard h = {.s = s};

	sbt_footprint_each(c, &(struct sbt_footprint_walk){a_node, found, &h});
	assert_true(h.said.n < AWK_TOUCHES);
	return h.said;
}

/* --- races --- */

/* ret: by SBT_READS, SBT_WRITES, SBT_UPDATES, whether one of the list covers the byte. */
static unsigned listed(const struct order_accesses *l, uint64_t at)
{
	unsigned how = 0;

	for (size_t i = 0; i < l->n; i++)
		if (at >= l->a[i].addr && at < l->a[i].end)
			how |= l->a[i].how == ORDER_READ     ? SBT_READS
			       : l->a[i].how == ORDER_WRITE  ? SBT_WRITES
			       : l->a[i].how == ORDER_ATOMIC ? SBT_UPDATES
							     : 0;
	return how;
}

/* More than are listed one by one: nothing between the first and the last is certain. */
static bool has_many_rows(const struct awk_said *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->touch[i].is.rows.height > 65536 / f->touch[i].is.rows.depth)
			return true;
	return false;
}

static void order_agrees(const struct state *s, const struct sbt_cmd *c, const struct awk_said *f)
{
	struct order_accesses l = {0};

	order_accesses_of(&l, s, c);
	assert_int_equal(
		l.unknown, (f->does & (SBT_DOES_UNKNOWN | SBT_CALLS_HOST | SBT_RUNS_KERNEL)) != 0);
	for (unsigned k = 0; k < f->n * 16 && !has_many_rows(f); k++) {
		const uint64_t at = awk_near(&f->touch[k % f->n].is.rows);
		unsigned want = 0;

		for (unsigned i = 0; i < f->n; i++)
			if (counts(s, &f->touch[i].is) &&
				sbt_rows_meet(&f->touch[i].is.rows, at, 1))
				want |= f->touch[i].is.how & (SBT_READS | SBT_WRITES | SBT_UPDATES);
		if (at != UINT64_MAX) /* its end has no number in a list */
			assert_int_equal(listed(&l, at), want);
	}
	free(l.a);
}

/* --- who wrote --- */

static bool writes(const struct awk_said *f, unsigned i)
{
	return f->touch[i].is.how & (SBT_WRITES | SBT_UPDATES) && !f->touch[i].waits;
}

/* The record of a graph launch has no bytes: there the device says what changed. */
static void who_wrote_agrees(const struct sbt_cmd *c, const struct awk_said *f)
{
	for (unsigned k = 0; k < f->n * 16; k++) {
		const uint64_t at = awk_near(&f->touch[k % f->n].is.rows);
		bool want = false;

		for (unsigned i = 0; i < f->n; i++)
			want |= writes(f, i) && sbt_rows_meet(&f->touch[i].is.rows, at, 1) &&
				c->kind != SBT_GRAPH_LAUNCH;
		assert_int_equal(replay_writes(c, at, 1), want);
	}
	if (!f->n)
		assert_false(replay_writes(c, 0, UINT64_MAX));
}

/* --- the state's last writers --- */

/* Before c: what each allocation's writer will be. An unreplayable call is no work: a window
 * records the pages that it changed. */
static unsigned expect_writers(const struct state *s, const struct sbt_cmd *c,
	const struct awk_said *f, struct state_alloc *want, unsigned max)
{
	const bool all = f->does & SBT_DOES_UNKNOWN && c->kind != SBT_UNREPLAYABLE &&
			 !(f->does & (SBT_ALLOCATES | SBT_FREES));
	unsigned n = 0;

	for (; state_alloc(s, n, &want[n]); n++) {
		assert_true(n + 1 < max);
		for (unsigned i = 0; i < f->n; i++)
			if (writes(f, i) &&
				sbt_rows_meet(&f->touch[i].is.rows, want[n].addr, want[n].size)) {
				want[n].last_writer = c->seq;
				want[n].writer_certain = true;
			}
		if (all) {
			want[n].last_writer = c->seq;
			want[n].writer_certain = false;
		}
	}
	return n;
}

static void state_agrees(const struct state *s, const struct state_alloc *want, unsigned n)
{
	struct state_alloc a;

	for (unsigned i = 0; i < n; i++) {
		assert_true(state_alloc(s, i, &a));
		assert_int_equal(a.addr, want[i].addr);
		assert_int_equal(a.last_writer, want[i].last_writer);
		assert_int_equal(a.writer_certain, want[i].writer_certain);
	}
}

static void keyframe_agrees(const struct state *s, const struct state_alloc *want, unsigned n)
{
	struct buf b = BUF_INIT;
	struct state *again;

	state_encode(s, &b);
	ok(state_decode(&again, b.data, b.len));
	state_agrees(again, want, n);
	state_free(again);
	buf_free(&b);
}

/* --- plans --- */

static bool plan_has(const struct plan_scan *p, const struct plan_item *it, uint64_t addr,
	uint64_t end, unsigned how)
{
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *have = &p->touches[it->touch + i];

		if (have->addr == addr && have->end == end && have->how & how)
			return true;
	}
	return false;
}

/* The part in each allocation by itself, as plans go by allocations; what is in none, too, unless
 * it may be the program's own. */
static void plan_has_touch(const struct plan_scan *p, const struct plan_item *it,
	const struct state *s, const struct sbt_touch *t)
{
	const uint64_t end = sat_add(t->rows.addr, sbt_rows_size(&t->rows));
	const unsigned how = t->how == SBT_READS ? PLAN_READS : PLAN_WRITES;
	uint64_t at = t->rows.addr;
	struct state_alloc a;

	for (unsigned i = 0; at < end; i++) {
		const bool more = state_alloc(s, i, &a) && a.addr < end;

		if (more && a.addr + a.size <= at)
			continue;
		if (!t->host_side && (!more || a.addr > at))
			assert_true(plan_has(p, it, at, more ? a.addr : end, how));
		if (!more)
			return;
		at = a.addr > at ? a.addr : at;
		assert_true(
			plan_has(p, it, at, a.addr + a.size < end ? a.addr + a.size : end, how));
		at = a.addr + a.size;
	}
}

static void plan_agrees(const struct plan_scan *p, const struct plan_item *it,
	const struct state *s, const struct sbt_cmd *c, const struct awk_said *f)
{
	assert_int_equal(it->seq, c->seq);
	assert_int_equal(it->leavable, (sbt_kind_does(c->kind) & SBT_CHANGES) != 0);
	assert_int_equal(it->everything,
		(f->does & (SBT_DOES_UNKNOWN | SBT_CALLS_HOST | SBT_RUNS_KERNEL)) != 0);
	assert_int_equal(it->waits_all, f->waits_all);
	for (unsigned i = 0; i < f->n; i++)
		if (!f->touch[i].waits)
			plan_has_touch(p, it, s, &f->touch[i].is);
}

/* --- all of them --- */

static uint64_t add_graphs(struct trace_maker *t, uint64_t seq)
{
	static struct awk_node nodes[AWK_NODES];
	struct sbt_cmd c;

	awk_nodes(nodes);
	for (unsigned i = 1; i <= AWK_GRAPHS; i++) {
		c = cmd_any(seq++, SBT_GRAPH_CREATE);
		c.u.graph_create = (struct sbt_cmd_graph_create){i, SBT_NO_ID, i};
		trace_add(t, c);
	}
	for (unsigned i = 0; i < AWK_NODES; i++)
		trace_add(t, cmd_graph_node(seq++, nodes[i].graph, nodes[i].number, nodes[i].type,
				     SBT_NO_ID, nodes[i].payload, nodes[i].size));
	return seq;
}

/* The plan has the state at its end only: what is allocated must not change before. */
static bool is_planned(const struct sbt_cmd *c)
{
	return c->kind != SBT_ALLOC && c->kind != SBT_FREE;
}

static void test_all_agree(void **unused)
{
	static struct sbt_cmd cmds[MANY];
	static struct awk_said said[MANY];
	static struct state_alloc want[32];
	struct trace_maker t;
	struct sbt_reader *r;
	struct plan_scan p;
	unsigned of_kind[SBT_KIND_END] = {0}, rows = 0, unknown = 0, next = 0;
	uint64_t seq = 1, first;

	trace_begin(&t, 100);
	trace_add(&t, cmd_ctx_create(seq++, 0, 0));
	trace_add(&t, cmd_alloc(seq++, AWK_A, AWK_SIZE));
	trace_add(&t, cmd_alloc(seq++, AWK_B, AWK_SIZE));
	trace_add(&t, cmd_alloc(seq++, AWK_FAR, AWK_SIZE));
	first = seq = add_graphs(&t, seq);
	for (unsigned i = 0; i < MANY; i++) {
		do
			cmds[i] = awk_cmd(seq);
		while (i < MANY / 2 && !is_planned(&cmds[i]));
		seq++;
		said[i] = ask(t.s, &cmds[i]);
		of_kind[cmds[i].kind]++;
		unknown += (said[i].does & SBT_DOES_UNKNOWN) != 0;
		rows += said[i].n && said[i].touch[0].is.rows.depth > 1;
		order_agrees(t.s, &cmds[i], &said[i]);
		who_wrote_agrees(&cmds[i], &said[i]);
		const unsigned n = expect_writers(t.s, &cmds[i], &said[i], want, 32);
		trace_add(&t, cmds[i]);
		if (is_planned(&cmds[i]))
			state_agrees(t.s, want, n);
		if (is_planned(&cmds[i]) && i % 16 == 0)
			keyframe_agrees(t.s, want, n);
	}
	r = trace_end(&t);
	ok(plan_scan(&p, r, first, first + MANY / 2 - 1, first + MANY / 2));
	for (unsigned i = 0; i < MANY / 2; i++)
		if (sbt_cmd_is_work(&cmds[i]))
			plan_agrees(&p, &p.items[next++], p.s, &cmds[i], &said[i]);
	assert_int_equal(p.n, next);
	plan_scan_free(&p);
	sbt_reader_close(r);
	assert_true(rows > MANY / 80 && unknown > MANY / 80); /* one in 40, by the odds */
	for (unsigned k = 1; k < SBT_KIND_END; k++)
		assert_true(!sbt_kind(k) || !(sbt_kind_does(k) & ~SBT_PASSED) || of_kind[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
