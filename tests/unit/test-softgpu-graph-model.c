/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that grow, shrink and are rewired by chance, against a matrix of their edges: what every
 * call about nodes and edges answers, into lists that are too short and too long, too; clones; and
 * that what runs is in the order of the edges.
 */
#include "softgpu-test.h"

#include <string.h>

#define MAX 12

static unsigned seed = 3;
static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 9) % n;
}

static struct model {
	CUgraph g;
	CUgraphNode node[MAX]; /* NULL: there is none */
	bool edge[MAX][MAX];   /* from, to */
} m;

/* What the host functions of the nodes do. */
static unsigned ran[MAX], nran;
static void note(void *data)
{
	ran[nran++] = (unsigned)(uintptr_t)data;
}

static bool reaches(unsigned from, unsigned to)
{
	if (from == to)
		return true;
	for (unsigned k = 0; k < MAX; k++)
		if (m.edge[from][k] && reaches(k, to))
			return true;
	return false;
}

static unsigned number_of(CUgraphNode n)
{
	for (unsigned k = 0; k < MAX; k++)
		if (n && m.node[k] == n)
			return k;
	fail_msg("a node that is not there");
	return 0;
}

static unsigned count(const bool *set)
{
	unsigned n = 0;

	for (unsigned k = 0; k < MAX; k++)
		n += set[k];
	return n;
}

/* A list as a call gave it, of *n with room for `room`, is this set, or a part of it. */
static void is_set(CUgraphNode *list, size_t n, size_t room, const bool *set)
{
	bool seen[MAX] = {false};
	const unsigned all = count(set);

	assert_int_equal(n, all < room ? all : room);
	for (size_t k = 0; k < n; k++) {
		const unsigned i = number_of(list[k]);

		assert_true(set[i] && !seen[i]);
		seen[i] = true;
	}
	for (size_t k = all; k < room; k++)
		assert_null(list[k]); /* "the remaining entries will be set to NULL" */
}

static void check_nodes(void)
{
	bool there[MAX], roots[MAX];
	CUgraphNode list[MAX + 2];
	size_t n = 77;

	for (unsigned k = 0; k < MAX; k++) {
		there[k] = roots[k] = m.node[k] != NULL;
		for (unsigned j = 0; j < MAX; j++)
			roots[k] &= !m.edge[j][k];
	}
	OK(cuGraphGetNodes(m.g, NULL, &n));
	assert_int_equal(n, count(there));
	OK(cuGraphGetRootNodes(m.g, NULL, &n));
	assert_int_equal(n, count(roots));
	for (size_t room = 0; room < MAX + 2; room += 1 + rnd(4)) {
		memset(list, 0xee, sizeof list);
		n = room;
		OK(cuGraphGetNodes(m.g, list, &n));
		is_set(list, n, room, there);
		memset(list, 0xee, sizeof list);
		n = room;
		OK(cuGraphGetRootNodes(m.g, list, &n));
		is_set(list, n, room, roots);
	}
}

static void check_neighbours(void)
{
	CUgraphNode list[MAX + 2];
	size_t n;

	for (unsigned k = 0; k < MAX; k++) {
		bool before[MAX];
		const size_t room = rnd(MAX + 2);

		if (!m.node[k])
			continue;
		for (unsigned j = 0; j < MAX; j++)
			before[j] = m.edge[j][k];
		OK(cuGraphNodeGetDependencies(m.node[k], NULL, NULL, &n));
		assert_int_equal(n, count(before));
		OK(cuGraphNodeGetDependentNodes(m.node[k], NULL, NULL, &n));
		assert_int_equal(n, count(m.edge[k]));
		n = room;
		OK(cuGraphNodeGetDependencies(m.node[k], list, NULL, &n));
		is_set(list, n, room, before);
		n = room;
		OK(cuGraphNodeGetDependentNodes(m.node[k], list, NULL, &n));
		is_set(list, n, room, m.edge[k]);
	}
}

static void check_edges(CUgraph g, bool mapped)
{
	CUgraphNode from[MAX * MAX], to[MAX * MAX];
	bool seen[MAX][MAX] = {{false}};
	size_t all = 0, n = 77;
	const size_t room = rnd(MAX * MAX);

	for (unsigned k = 0; k < MAX; k++)
		all += count(m.edge[k]);
	OK(cuGraphGetEdges(g, NULL, NULL, NULL, &n));
	assert_int_equal(n, all);
	if (!mapped)
		return;
	n = room;
	OK(cuGraphGetEdges(g, from, to, NULL, &n));
	assert_int_equal(n, all < room ? all : room);
	for (size_t k = 0; k < n; k++) {
		const unsigned i = number_of(from[k]), j = number_of(to[k]);

		assert_true(m.edge[i][j] && !seen[i][j]);
		seen[i][j] = true;
	}
	for (size_t k = all; k < room; k++)
		assert_true(!from[k] && !to[k]);
}

/* Each node once, and behind all that it depends on. */
static void check_run(CUgraph g)
{
	unsigned at[MAX], want = 0;
	CUgraphExec x;

	OK(cuGraphInstantiate(&x, g, 0));
	nran = 0;
	OK(cuGraphLaunch(x, NULL));
	OK(cuStreamSynchronize(NULL));
	for (unsigned k = 0; k < MAX; k++)
		at[k] = MAX;
	for (unsigned k = 0; k < nran; k++) {
		assert_int_equal(at[ran[k]], MAX);
		at[ran[k]] = k;
	}
	for (unsigned k = 0; k < MAX; k++) {
		want += m.node[k] != NULL;
		assert_int_equal(at[k] < MAX, m.node[k] != NULL);
		for (unsigned j = 0; j < MAX; j++)
			assert_true(!m.edge[k][j] || at[k] < at[j]);
	}
	assert_int_equal(nran, want);
	OK(cuGraphExecDestroy(x));
}

static void check_clone(void)
{
	CUgraphNode n;
	CUgraph c;

	OK(cuGraphClone(&c, m.g));
	check_edges(c, false);
	for (unsigned k = 0; k < MAX; k++)
		if (m.node[k]) {
			CUDA_HOST_NODE_PARAMS p;
			size_t a, b;

			OK(cuGraphNodeFindInClone(&n, m.node[k], c));
			assert_ptr_not_equal(n, m.node[k]);
			OK(cuGraphHostNodeGetParams(n, &p));
			assert_int_equal((uintptr_t)p.userData, k);
			OK(cuGraphNodeGetDependencies(n, NULL, NULL, &a));
			OK(cuGraphNodeGetDependencies(m.node[k], NULL, NULL, &b));
			assert_int_equal(a, b);
		}
	check_run(c);
	OK(cuGraphDestroy(c));
}

static void add_node(void)
{
	CUgraphNode deps[MAX];
	CUDA_HOST_NODE_PARAMS p = {.fn = note};
	unsigned k = 0, n = 0;

	while (k < MAX && m.node[k])
		k++;
	if (k == MAX)
		return;
	for (unsigned j = 0; j < MAX; j++)
		if (m.node[j] && !rnd(4)) {
			m.edge[j][k] = true;
			deps[n++] = m.node[j];
		}
	p.userData = (void *)(uintptr_t)k;
	OK(cuGraphAddHostNode(&m.node[k], m.g, n ? deps : NULL, n, &p));
}

static void rewire(void)
{
	const unsigned a = rnd(MAX), b = rnd(MAX);

	if (!m.node[a] || !m.node[b] || a == b)
		return;
	if (m.edge[a][b]) {
		if (rnd(3) == 0) { /* an edge that is there is not made again */
			IS(cuGraphAddDependencies(m.g, &m.node[a], &m.node[b], NULL, 1),
				INVALID_VALUE);
			return;
		}
		OK(cuGraphRemoveDependencies(m.g, &m.node[a], &m.node[b], NULL, 1));
		m.edge[a][b] = false;
	} else if (!reaches(b, a)) {
		OK(cuGraphAddDependencies(m.g, &m.node[a], &m.node[b], NULL, 1));
		m.edge[a][b] = true;
	}
}

static void remove_node(void)
{
	const unsigned k = rnd(MAX);

	if (!m.node[k])
		return;
	OK(cuGraphDestroyNode(m.node[k]));
	m.node[k] = NULL;
	for (unsigned j = 0; j < MAX; j++)
		m.edge[j][k] = m.edge[k][j] = false;
}

static void test_model(void **state)
{
	OK(cuGraphCreate(&m.g, 0));
	for (unsigned round = 0; round < 400; round++) {
		const unsigned what = rnd(8);

		if (what < 3)
			add_node();
		else if (what < 7)
			rewire();
		else
			remove_node();
		check_nodes();
		check_neighbours();
		check_edges(m.g, true);
		if (round % 5 == 0)
			check_run(m.g);
		if (round % 10 == 0)
			check_clone();
	}
	OK(cuGraphDestroy(m.g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};

	return cmocka_run_group_tests_name(
		"softgpu-graph-model", tests, softgpu_start, softgpu_stop);
}
