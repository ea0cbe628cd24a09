/* SPDX-License-Identifier: Apache-2.0
 *
 * All that ask what a command touches give footprint's answer: races (order), partial replay
 * (plans), "who wrote" (replay). Every kind of work, and thousands of copies and fills of random
 * shapes, zeros and huge numbers among them, byte by byte where it matters: at the ends of rows and
 * between them.
 */
#include "random-trace.h"
#include "order/order.h"
#include "replay/plan/plan-private.h"
#include "replay/replay.h"
#include "sbt/footprint.h"

#define A UINT64_C(0x100000)
#define SIZE UINT64_C(0x100000)
#define MANY 4000u

static uint64_t x = 88172645463325252ull;

static uint64_t rnd(uint64_t below)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % below;
}

static uint64_t awkward(uint64_t small)
{
	static const uint64_t edge[] = {0, UINT64_MAX, 1ull << 63, 1ull << 32};

	return rnd(12) ? rnd(small) : edge[rnd(4)];
}

/* Half of the addresses are allocated; the others are anybody's. */
static uint64_t address(void)
{
	return rnd(2)	? A + rnd(SIZE / 2)
	       : rnd(2) ? 0x7f0000000000 + rnd(4096)
			: UINT64_MAX - rnd(64);
}

static struct sbt_cmd random_copy(uint64_t seq)
{
	struct sbt_cmd c =
		cmd_copy(seq, 0, (enum sbt_copy)rnd(7), address(), address(), rnd(500), true);
	struct sbt_cmd_copy *u = &c.u.copy;

	if (!rnd(3))
		return c;
	u->width = 1 + awkward(40);
	u->height = awkward(6);
	u->depth = awkward(4);
	u->dst_pitch = rnd(4) ? u->width + rnd(9) : awkward(60);
	u->src_pitch = rnd(4) ? u->width + rnd(9) : awkward(60);
	u->dst_slice = rnd(4) ? u->dst_pitch * (u->height + rnd(3)) : awkward(300);
	u->src_slice = rnd(4) ? u->src_pitch * (u->height + rnd(3)) : awkward(300);
	u->size = rnd(9) ? u->width * u->height * u->depth : awkward(100);
	return c;
}

static struct sbt_cmd random_fill(uint64_t seq)
{
	struct sbt_cmd c = cmd_fill(seq, 0, address(), rnd(500));
	struct sbt_cmd_fill *u = &c.u.fill;

	u->elem = rnd(20) ? 1u << rnd(3) : rnd(9);
	u->size = u->size * u->elem;
	if (!rnd(3))
		return c;
	u->width = awkward(40);
	u->height = awkward(6);
	u->dst_pitch = awkward(200);
	u->size = rnd(9) ? u->width * u->height * u->elem : awkward(100);
	return c;
}

/* The n-th kind of work that is neither copy nor fill; from behind the last on: how many there are.
 * Kinds that are no work change no draw. */
static unsigned other_work(unsigned n)
{
	unsigned found = 0;

	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		if (!sbt_kind(k) || sbt_kind(k)->cls != SBT_CLASS_WORK || k == SBT_COPY ||
			k == SBT_FILL)
			continue;
		if (found++ == n)
			return k;
	}
	return found;
}

/* Work of every kind, by turns; most of it copies and fills. */
static struct sbt_cmd a_command(uint64_t seq)
{
	struct sbt_cmd c;
	unsigned kind;

	if (rnd(4))
		return rnd(2) ? random_copy(seq) : random_fill(seq);
	kind = other_work((unsigned)rnd(other_work(SBT_KIND_END)));
	c = cmd_any(seq, kind);
	if (kind == SBT_BATCH)
		c.u.batch = (struct sbt_cmd_batch){
			.is_wait = rnd(2), .addr = address(), .elem = rnd(2) ? 8 : 4};
	return c;
}

/* --- what they say --- */

/* Memory of the program that no call allocated concerns nobody. */
static bool counts(const struct state *s, const struct sbt_touch *t)
{
	struct state_alloc a;

	return !t->host_side || state_alloc_at(s, t->rows.addr, &a);
}

static uint64_t near(const struct sbt_rows *r)
{
	return r->addr + rnd(r->depth) * r->slice + rnd(r->height) * r->pitch +
	       (rnd(2) ? r->width : 0) + rnd(3) - 1;
}

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
static bool has_many_rows(const struct sbt_footprint *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->touch[i].rows.height > 65536 / f->touch[i].rows.depth)
			return true;
	return false;
}

static void order_agrees(
	const struct state *s, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct order_accesses l = {0};

	order_accesses_of(&l, s, c);
	if (!(f->does & (SBT_RUNS_KERNEL | SBT_RUNS_GRAPH))) {
		assert_int_equal(l.unknown, (f->does & (SBT_DOES_UNKNOWN | SBT_CALLS_HOST)) != 0);
		for (unsigned k = 0; k < f->n * 16 && !has_many_rows(f); k++) {
			const uint64_t at = near(&f->touch[k % f->n].rows);
			unsigned want = 0;

			for (unsigned i = 0; i < f->n; i++)
				if (counts(s, &f->touch[i]) &&
					sbt_rows_meet(&f->touch[i].rows, at, 1))
					want |= f->touch[i].how;
			if (at != UINT64_MAX) /* its end has no number in a list */
				assert_int_equal(listed(&l, at), want);
		}
	} else {
		assert_true(l.unknown); /* neither the kernel nor the graph is known */
	}
	free(l.a);
}

static void who_wrote_agrees(const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	for (unsigned k = 0; k < f->n * 16; k++) {
		const uint64_t at = near(&f->touch[k % f->n].rows);
		bool want = false;

		for (unsigned i = 0; i < f->n; i++)
			want |= f->touch[i].how != SBT_READS && !(f->does & SBT_WAITS) &&
				sbt_rows_meet(&f->touch[i].rows, at, 1);
		assert_int_equal(replay_writes(c, at, 1), want);
	}
	if (!f->n)
		assert_false(replay_writes(c, 0, UINT64_MAX));
}

static bool plan_has(
	const struct plan_scan *p, const struct plan_item *it, const struct sbt_touch *t)
{
	const uint64_t addr = t->rows.addr, size = sbt_rows_size(&t->rows),
		       end = size > UINT64_MAX - addr ? UINT64_MAX : addr + size;

	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *have = &p->touches[it->touch + i];

		if (have->addr == addr && have->end == end &&
			have->how & (t->how == SBT_READS ? PLAN_READS : PLAN_WRITES))
			return true;
	}
	return false;
}

static void plan_agrees(const struct plan_scan *p, const struct plan_item *it,
	const struct state *s, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	assert_int_equal(it->seq, c->seq);
	assert_int_equal(it->leavable, (f->does & SBT_CHANGES) != 0);
	assert_int_equal(
		it->everything, (f->does & (SBT_DOES_UNKNOWN | SBT_CALLS_HOST | SBT_RUNS_KERNEL |
						   SBT_RUNS_GRAPH)) != 0);
	assert_int_equal(it->waits_all, c->kind == SBT_BATCH && c->u.batch.is_wait);
	for (unsigned i = 0; i < f->n; i++)
		assert_int_equal(plan_has(p, it, &f->touch[i]),
			counts(s, &f->touch[i]) && !(f->does & SBT_WAITS));
}

static void test_all_agree(void **unused)
{
	static struct sbt_cmd cmds[MANY];
	static struct sbt_footprint prints[MANY];
	struct trace_maker t;
	struct sbt_reader *r;
	struct plan_scan p;
	unsigned of_kind[SBT_KIND_END] = {0}, rows = 0, unknown = 0;
	uint64_t seq = 1;

	trace_begin(&t, 100);
	trace_add(&t, cmd_ctx_create(seq++, 0, 0));
	trace_add(&t, cmd_alloc(seq++, A, SIZE));
	for (unsigned i = 0; i < MANY; i++) {
		cmds[i] = a_command(seq++);
		sbt_footprint(&prints[i], &cmds[i]);
		trace_add(&t, cmds[i]);
		of_kind[cmds[i].kind]++;
		unknown += (prints[i].does & SBT_DOES_UNKNOWN) != 0;
		rows += prints[i].n && prints[i].touch[0].rows.depth > 1;
		order_agrees(t.s, &cmds[i], &prints[i]);
		who_wrote_agrees(&cmds[i], &prints[i]);
	}
	r = trace_end(&t);
	ok(plan_scan(&p, r, 3, seq - 1, seq));
	assert_int_equal(p.n, MANY);
	for (unsigned i = 0; i < MANY; i++)
		plan_agrees(&p, &p.items[i], p.s, &cmds[i], &prints[i]);
	plan_scan_free(&p);
	sbt_reader_close(r);
	assert_true(rows > MANY / 80 && unknown > MANY / 80); /* one in 40, by the odds */
	for (unsigned k = 1; k < SBT_KIND_END; k++)
		assert_true(!sbt_kind(k) || sbt_kind(k)->cls != SBT_CLASS_WORK || of_kind[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
