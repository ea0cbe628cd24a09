/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb-replayer's two questions about a command are answered as footprint.h does: which allocations
 * must be here (replayer-touched.c), and which pages a command can have changed (replayer-reach.c).
 * The commands are those of awkward-cmds.h. The graphs, kernels and contents of a window are the
 * fakes below; a launch's kernel is not known.
 */
#include "random-trace.h"
#include "awkward-cmds.h"
#include "base/checked.h"
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"
#include "sbt/fields.h"

#define MANY 4000u

static struct rgraph graphs[AWK_GRAPHS + 1];

/* --- what the two files ask others --- */

struct rgraph *objects_graph(struct rp *rp, uint64_t id)
{
	return id && id <= AWK_GRAPHS ? &graphs[id] : NULL;
}

struct rkernel *objects_kernel(struct rp *rp, uint64_t id)
{
	return NULL;
}

uint64_t code_ptx(struct rp *rp, const struct rkernel *k)
{
	return 0;
}

const struct sbt_memory *contents_of(const struct rp *rp, uint64_t seq, size_t *ret_n)
{
	*ret_n = 0;
	return NULL;
}

void watchdog_on(struct rp *rp, uint64_t seq)
{
}

void window_note(struct rp *rp, bool once, const char *fmt, ...)
{
}

/* --- a window --- */

static struct wanted allocs[] = {
	{.addr = AWK_A, .size = AWK_SIZE}, {.addr = AWK_B, .size = AWK_SIZE},
	{.addr = AWK_FAR, .size = AWK_SIZE},
	{.addr = AWK_FAR + 4 * AWK_SIZE, .size = SBT_PAGE}, /* touched by what may touch anything */
};
#define ALLOCS (sizeof allocs / sizeof *allocs)

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	const struct rgraph *g = objects_graph(NULL, graph);

	if (!g || i >= g->nnodes)
		return false;
	*ret = (struct sbt_footprint_node){g->nodes[i].versions[0].type,
		{g->nodes[i].versions[0].payload, g->nodes[i].versions[0].payload_size}};
	return true;
}

static struct awk_said ask(const struct sbt_cmd *c)
{
	struct awk_said said = {0};

	sbt_footprint_each(c, &(struct sbt_footprint_walk){a_node, awk_heard, &said});
	assert_true(said.n < AWK_TOUCHES);
	return said;
}

static void make_graphs(void)
{
	static struct awk_node nodes[AWK_NODES];

	awk_nodes(nodes);
	for (unsigned i = 0; i < AWK_NODES; i++) {
		struct rgraph *g = &graphs[nodes[i].graph];
		struct rnode *n;

		g->nodes = xrealloc(g->nodes, (g->nnodes + 1) * sizeof *g->nodes);
		n = &g->nodes[g->nnodes++];
		*n = (struct rnode){.node = nodes[i].number, .nversions = 1};
		n->versions = xcalloc(1, sizeof *n->versions);
		n->versions[0].type = nodes[i].type;
		n->versions[0].payload = (uint8_t *)nodes[i].payload;
		n->versions[0].payload_size = nodes[i].size;
	}
}

static void free_graphs(void)
{
	for (unsigned i = 1; i <= AWK_GRAPHS; i++) {
		for (size_t k = 0; k < graphs[i].nnodes; k++)
			free(graphs[i].nodes[k].versions);
		free(graphs[i].nodes);
	}
}

/* --- which allocations must be here --- */

static bool range_meets(const struct sbt_rows *r, const struct wanted *w)
{
	return r->addr < w->addr + w->size && sat_add(r->addr, sbt_rows_size(r)) > w->addr;
}

/* The gaps between rows count, too. An unreplayable call is not executed, nor is a host function:
 * their recorded effects are contents. */
static void touched_agrees(struct rp *rp, const struct sbt_cmd *c, const struct awk_said *f)
{
	const bool all = f->does & SBT_DOES_UNKNOWN && c->kind != SBT_UNREPLAYABLE;

	rp->first = rp->last = c->seq;
	ok(touched_find(rp));
	for (unsigned k = 0; k < ALLOCS; k++) {
		bool want = all;

		for (unsigned i = 0; i < f->n; i++)
			want |= f->touch[i].is.how & (SBT_READS | SBT_WRITES | SBT_UPDATES) &&
				range_meets(&f->touch[i].is.rows, &allocs[k]);
		assert_int_equal(allocs[k].touched, want);
	}
}

/* --- which pages can have changed --- */

static bool reached(const struct reach *r, uint64_t page)
{
	for (unsigned i = 0; i < r->n; i++)
		if (page >= r->run[i].first && page <= r->run[i].last)
			return true;
	return r->all;
}

/* A graph launch, whatever its nodes, counts as everything here. */
static void reach_agrees(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, const struct awk_said *f)
{
	const bool all = f->does & (SBT_DOES_UNKNOWN | SBT_CALLS_HOST | SBT_RUNS_KERNEL) ||
			 c->kind == SBT_GRAPH_LAUNCH;
	struct reach r = {0};

	ok(reach_command(rp, k, c, &r));
	assert_int_equal(r.all, all);
	for (size_t a = 0; a < k->nareas; a++)
		for (uint64_t p = 0; p < allocs[a].size / SBT_PAGE; p++) {
			const struct wanted page = {
				.addr = allocs[a].addr + p * SBT_PAGE, .size = SBT_PAGE};
			bool want = all;

			for (unsigned i = 0; i < f->n; i++)
				want |= f->touch[i].is.how &
						(SBT_WRITES | SBT_UPDATES | SBT_ALLOCATES) &&
					range_meets(&f->touch[i].is.rows, &page);
			assert_int_equal(reached(&r, k->areas[a].page + p), want);
		}
}

/* --- all of them --- */

static void make_areas(struct checking *k, struct area areas[ALLOCS])
{
	*k = (struct checking){.areas = areas, .nareas = ALLOCS};
	for (unsigned i = 0; i < ALLOCS; i++) {
		areas[i] = (struct area){.here = allocs[i].addr,
			.recorded = allocs[i].addr,
			.size = allocs[i].size,
			.page = k->npages};
		k->npages += allocs[i].size / SBT_PAGE;
	}
}

static void test_all_agree(void **unused)
{
	static struct sbt_cmd cmds[MANY];
	static struct rp rp;
	struct checking k;
	struct area areas[ALLOCS];
	struct trace_maker t;
	unsigned of_kind[SBT_KIND_END] = {0};

	make_graphs();
	make_areas(&k, areas);
	trace_begin(&t, 0);
	for (unsigned i = 0; i < MANY; i++) {
		cmds[i] = awk_cmd(i + 1);
		of_kind[cmds[i].kind]++;
		ok(sbt_writer_cmd(t.w, &cmds[i]));
	}
	rp.trace = trace_end(&t);
	rp.place.wanted = allocs;
	rp.place.nwanted = ALLOCS;
	ok(sbt_cursor_open(&rp.cursor, rp.trace));
	for (unsigned i = 0; i < MANY; i++) {
		const struct awk_said said = ask(&cmds[i]);

		touched_agrees(&rp, &cmds[i], &said);
		reach_agrees(&rp, &k, &cmds[i], &said);
	}
	sbt_cursor_close(rp.cursor);
	sbt_reader_close(rp.trace);
	free_graphs();
	for (unsigned i = 1; i < SBT_KIND_END; i++)
		assert_true(!sbt_kind(i) || !(sbt_kind_does(i) & ~SBT_PASSED) || of_kind[i]);
}

/* A number that is no kind may touch everything. */
static void test_no_kind(void **unused)
{
	struct checking k = {0};
	struct reach r = {0};
	struct rp rp = {0};
	struct sbt_cmd c = cmd_any(1, SBT_KIND_END);

	ok(reach_command(&rp, &k, &c, &r));
	assert_true(r.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_agree),
		cmocka_unit_test(test_no_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
