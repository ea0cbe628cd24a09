/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes steps of graphs, see steps.h. All input comes from a trace and may be hostile: node numbers
 * may be anything, edges may lead nowhere or in circles, a child graph may contain its own parent.
 */
#include "state/steps.h"
#include "base/first-where.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

#include <stdlib.h>
#include <string.h>

/* What has to be over before something that depends on a node may go: the node's step, or the last
 * steps of a child graph. */
struct ends {
	uint32_t first, n; /* in maker.ends */
};

struct maker {
	const struct steps_source *from;
	struct state_steps *to;
	uint32_t path[STEPS_DEPTH_MAX + 1]; /* graphs that we are in */
	size_t cap, cap_deps;
	uint32_t *ends;
	size_t nends, cap_ends;
	uint32_t nread; /* nodes, those of child graphs as often as they come: bounds the work also
			   where there are no steps */
};

/* One graph's nodes while they are put in order. */
struct level {
	struct state_node *node;
	uint32_t n, cap;
	uint32_t *dep;	 /* indices of nodes, all nodes' one after the other */
	size_t *first;	 /* n + 1: where those of a node begin */
	uint32_t *left;	 /* dependencies that have not gone yet */
	uint32_t *users; /* the edges the other way round */
	size_t *first_user;
	uint32_t *heap; /* may go now, the lowest first */
	uint32_t nheap;
	struct ends *ends;
};

/* --- a graph's own order --- */

static void level_free(struct level *l)
{
	free(l->node);
	free(l->dep);
	free(l->first);
	free(l->left);
	free(l->users);
	free(l->first_user);
	free(l->heap);
	free(l->ends);
}

static int by_number(const void *a, const void *b)
{
	const struct state_node *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

static uint32_t index_of(const struct level *l, uint32_t number)
{
	if (number < l->n && l->node[number].node == number)
		return number;
	const uint32_t at = FIRST_WHERE(l->n, i, l->node[i].node >= number);
	return at < l->n && l->node[at].node == number ? at : UINT32_MAX;
}

static struct err *read_nodes(struct maker *m, uint32_t graph, struct level *l)
{
	struct state_node n;
	bool sorted = true;

	for (unsigned i = 0; m->from->node(m->from->arg, graph, i, &n); i++) {
		if (m->nread++ == STEPS_MAX)
			return err_new(ERR_LIMIT,
				"graph %u has, with its child graphs, more than %u nodes",
				m->path[0], STEPS_MAX);
		if (n.type > SBT_NODE_OTHER)
			return err_new(ERR_BAD_TRACE,
				"node %u of graph %u is of type %u, which does not exist", n.node,
				graph, (unsigned)n.type);
		MAKE_ROOM(l->node, l->n, l->cap);
		sorted &= !l->n || l->node[l->n - 1].node < n.node;
		l->node[l->n++] = n;
	}
	if (!sorted)
		qsort(l->node, l->n, sizeof *l->node, by_number);
	for (uint32_t i = 1; i < l->n; i++)
		if (l->node[i].node == l->node[i - 1].node)
			return err_new(
				ERR_BAD_TRACE, "graph %u has two nodes %u", graph, l->node[i].node);
	return NULL;
}

static struct err *read_edges(uint32_t graph, struct level *l)
{
	size_t n = 0;

	l->first = xcalloc((size_t)l->n + 1, sizeof *l->first);
	for (uint32_t i = 0; i < l->n; i++)
		n += l->node[i].deps.len / 4;
	if (n > STEPS_DEPS_MAX)
		return err_new(
			ERR_LIMIT, "graph %u has more than %u dependencies", graph, STEPS_DEPS_MAX);
	l->dep = xcalloc(n + 1, sizeof *l->dep);
	n = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct sbt_blob *deps = &l->node[i].deps;

		l->first[i] = n;
		for (uint64_t at = 0; at + 4 <= deps->len; at += 4) {
			uint32_t number, index;

			memcpy(&number, (const char *)deps->p + at, 4);
			index = index_of(l, number);
			if (index == UINT32_MAX)
				return err_new(ERR_BAD_TRACE,
					"node %u of graph %u depends on node %u, which the graph does not have",
					l->node[i].node, graph, number);
			l->dep[n++] = index;
		}
	}
	l->first[l->n] = n;
	return NULL;
}

static void turn_edges(struct level *l)
{
	const size_t n = l->first[l->n];
	size_t at = 0;

	l->left = xcalloc((size_t)l->n + 1, sizeof *l->left);
	l->users = xcalloc(n + 1, sizeof *l->users);
	l->first_user = xcalloc((size_t)l->n + 2, sizeof *l->first_user);
	for (size_t e = 0; e < n; e++)
		l->first_user[l->dep[e] + 1]++;
	for (uint32_t i = 0; i < l->n; i++) {
		const size_t count = l->first_user[i + 1];

		l->first_user[i] = at;
		at += count;
		l->first_user[i + 1] = at;
		l->left[i] = (uint32_t)(l->first[i + 1] - l->first[i]);
	}
	/* first_user[i] is where the next one goes meanwhile */
	for (uint32_t i = 0; i < l->n; i++)
		for (size_t e = l->first[i]; e < l->first[i + 1]; e++)
			l->users[l->first_user[l->dep[e]]++] = i;
	for (uint32_t i = l->n; i; i--)
		l->first_user[i] = l->first_user[i - 1];
	l->first_user[0] = 0;
}

static void heap_put(struct level *l, uint32_t x)
{
	uint32_t i = l->nheap++;

	for (; i && l->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = x;
}

static uint32_t heap_take(struct level *l)
{
	const uint32_t least = l->heap[0], x = l->heap[--l->nheap];
	uint32_t i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < l->nheap && l->heap[k + 1] < l->heap[k])
			k++;
		if (k >= l->nheap || l->heap[k] >= x)
			break;
		l->heap[i] = l->heap[k];
		i = k;
	}
	l->heap[i] = x;
	return least;
}

/* --- steps --- */

static struct err *put_dep(struct maker *m, uint32_t step)
{
	struct state_steps *t = m->to;

	if (t->ndeps == STEPS_DEPS_MAX)
		return err_new(ERR_LIMIT, "graph %u has more than %u dependencies", m->path[0],
			STEPS_DEPS_MAX);
	MAKE_ROOM(t->deps, t->ndeps, m->cap_deps);
	t->deps[t->ndeps++] = step;
	return NULL;
}

static struct err *put_end(struct maker *m, uint32_t step)
{
	if (m->nends == STEPS_DEPS_MAX)
		return err_new(ERR_LIMIT, "graph %u has more than %u dependencies", m->path[0],
			STEPS_DEPS_MAX);
	MAKE_ROOM(m->ends, m->nends, m->cap_ends);
	m->ends[m->nends++] = step;
	return NULL;
}

/* What node i of l has to wait for, in terms of steps: its own edges, or for a root what the child
 * graph's node waits for. */
static struct err *befores(struct maker *m, const struct level *l, uint32_t i, struct ends outer,
	struct err *(*put)(struct maker *, uint32_t))
{
	for (size_t e = l->first[i]; e < l->first[i + 1]; e++) {
		const struct ends from = l->ends[l->dep[e]];

		for (uint32_t k = 0; k < from.n; k++)
			TRY(put(m, m->ends[from.first + k]));
	}
	for (uint32_t k = 0; l->first[i] == l->first[i + 1] && k < outer.n; k++)
		TRY(put(m, m->ends[outer.first + k]));
	return NULL;
}

static struct err *put_step(
	struct maker *m, const struct level *l, uint32_t i, unsigned depth, struct ends outer)
{
	struct state_steps *t = m->to;
	const size_t first = t->ndeps;

	if (t->n == STEPS_MAX)
		return err_new(ERR_LIMIT, "a launch of graph %u does more than %u things",
			m->path[0], STEPS_MAX);
	MAKE_ROOM(t->step, t->n, m->cap);
	TRY(befores(m, l, i, outer, put_dep));
	/* deps is set when all is there: the array moves; until then ndeps counts */
	t->step[t->n] = (struct state_step){.graph = m->path[depth],
		.node = l->node[i],
		.depth = depth,
		.ndeps = (unsigned)(t->ndeps - first)};
	l->ends[i] = (struct ends){(uint32_t)m->nends, 1};
	return put_end(m, t->n++);
}

static struct err *walk(
	struct maker *m, uint32_t graph, unsigned depth, struct ends outer, struct ends *ret);

static struct err *put_child(
	struct maker *m, const struct level *l, uint32_t i, unsigned depth, struct ends outer)
{
	const struct state_node *n = &l->node[i];
	struct ends before = {(uint32_t)m->nends, 0};
	struct sbt_cmd c;

	if (!n->payload.len || !sbt_unpack(&c, n->payload.p, n->payload.len) ||
		c.kind != SBT_GRAPH_LAUNCH || c.u.graph_launch.exec >= SBT_NO_ID ||
		!m->from->known(m->from->arg, (uint32_t)c.u.graph_launch.exec))
		return err_new(ERR_BAD_TRACE,
			"the child graph that node %u of graph %u is was not recorded", n->node,
			m->path[depth]);
	TRY(befores(m, l, i, outer, put_end));
	before.n = (uint32_t)m->nends - before.first;
	return walk(m, (uint32_t)c.u.graph_launch.exec, depth + 1, before, &l->ends[i]);
}

/* What has to be over when a graph is to be over: nodes that no other waits for. */
static struct err *last_ones(
	struct maker *m, const struct level *l, struct ends outer, struct ends *ret)
{
	const size_t first = m->nends;

	if (!l->n) {
		*ret = outer;
		return NULL;
	}
	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t k = 0; l->first_user[i] == l->first_user[i + 1] && k < l->ends[i].n;
			k++)
			TRY(put_end(m, m->ends[l->ends[i].first + k]));
	*ret = (struct ends){(uint32_t)first, (uint32_t)(m->nends - first)};
	return NULL;
}

static struct err *walk_level(
	struct maker *m, struct level *l, unsigned depth, struct ends outer, struct ends *ret)
{
	TRY(read_nodes(m, m->path[depth], l));
	TRY(read_edges(m->path[depth], l));
	turn_edges(l);
	l->heap = xcalloc((size_t)l->n + 1, sizeof *l->heap);
	l->ends = xcalloc((size_t)l->n + 1, sizeof *l->ends);
	for (uint32_t i = 0; i < l->n; i++)
		if (!l->left[i])
			heap_put(l, i);
	while (l->nheap) {
		const uint32_t i = heap_take(l);

		TRY(l->node[i].type == SBT_NODE_GRAPH ? put_child(m, l, i, depth, outer)
						      : put_step(m, l, i, depth, outer));
		for (size_t e = l->first_user[i]; e < l->first_user[i + 1]; e++)
			if (!--l->left[l->users[e]])
				heap_put(l, l->users[e]);
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (l->left[i])
			return err_new(ERR_BAD_TRACE,
				"the nodes of graph %u depend on one another in a circle, node %u is in it or behind it",
				m->path[depth], l->node[i].node);
	return last_ones(m, l, outer, ret);
}

static struct err *walk(
	struct maker *m, uint32_t graph, unsigned depth, struct ends outer, struct ends *ret)
{
	struct level l = {0};
	struct err *e;

	for (unsigned i = 0; i < depth; i++)
		if (m->path[i] == graph)
			return err_new(ERR_BAD_TRACE, "graph %u is a child of itself", graph);
	if (depth > STEPS_DEPTH_MAX)
		return err_new(ERR_LIMIT, "graph %u has graphs in graphs deeper than %u",
			m->path[0], STEPS_DEPTH_MAX);
	m->path[depth] = graph;
	e = walk_level(m, &l, depth, outer, ret);
	level_free(&l);
	return e;
}

struct err *steps_make(struct state_steps *ret, const struct steps_source *from, uint32_t graph)
{
	struct maker m = {.from = from, .to = ret};
	struct ends last;
	size_t at = 0;
	struct err *e;

	*ret = (struct state_steps){0};
	e = walk(&m, graph, 0, (struct ends){0, 0}, &last);
	free(m.ends);
	if (e) {
		state_steps_free(ret);
		return e;
	}
	for (uint32_t i = 0; i < ret->n; i++) {
		ret->step[i].deps = ret->step[i].ndeps ? ret->deps + at : NULL;
		at += ret->step[i].ndeps;
	}
	return NULL;
}

void state_steps_free(struct state_steps *steps)
{
	free(steps->step);
	free(steps->deps);
	*steps = (struct state_steps){0};
}

/* --- of a state --- */

static bool node_of(void *arg, uint32_t graph, unsigned i, struct state_node *ret)
{
	return state_graph_node(arg, graph, i, ret);
}

static bool is_known(void *arg, uint32_t graph)
{
	struct state_graph g;

	return state_graph_by_id(arg, graph, &g);
}

struct err *state_steps(struct state_steps *ret, const struct state *s, uint32_t graph)
{
	const struct steps_source from = {
		.arg = (void *)(uintptr_t)s, .node = node_of, .known = is_known};

	return steps_make(ret, &from, graph);
}

/* --- looking at them --- */

bool step_works(const struct state_step *step)
{
	const enum sbt_node t = step->node.type;

	return !step->node.disabled && t != SBT_NODE_EMPTY && t != SBT_NODE_HOST;
}

bool step_cmd(const struct state_step *step, struct sbt_cmd *ret)
{
	const struct sbt_blob p = step->node.payload;

	return p.len && sbt_unpack(ret, p.p, p.len);
}

/* What a step's payload has to be. */
static const uint16_t kinds[SBT_NODE_OTHER + 1] = {
	[SBT_NODE_KERNEL] = SBT_LAUNCH,
	[SBT_NODE_COPY] = SBT_COPY,
	[SBT_NODE_FILL] = SBT_FILL,
	[SBT_NODE_HOST] = SBT_HOST_FUNC,
	[SBT_NODE_WAIT_EVENT] = SBT_STREAM_WAIT,
	[SBT_NODE_EVENT_RECORD] = SBT_EVENT_RECORD,
};

struct err *step_as_command(
	const struct state_step *step, const struct sbt_cmd *launch, struct sbt_cmd *ret)
{
	const enum sbt_node type = step->node.type;

	if (type > SBT_NODE_OTHER || !kinds[type])
		return err_new(ERR_UNSUPPORTED,
			"#%llu: node %u of graph %u is of a type that cannot be executed again",
			(unsigned long long)launch->seq, step->node.node, step->graph);
	if (!step_cmd(step, ret) || ret->kind != kinds[type])
		return err_new(ERR_BAD_TRACE,
			"#%llu: what node %u of graph %u does was not recorded",
			(unsigned long long)launch->seq, step->node.node, step->graph);
	sbt_set(ret, sbt_field(ret->kind, "stream"), launch->u.graph_launch.stream);
	ret->seq = launch->seq;
	ret->ctx = launch->ctx;
	ret->thread = launch->thread;
	ret->host_ns = launch->host_ns;
	ret->flags = launch->flags;
	ret->result = 0;
	return NULL;
}

/* In a chain each step waits for the one before it, in any order of that kind. */
bool steps_branch(const struct state_steps *steps)
{
	for (uint32_t i = 1; i < steps->n; i++) {
		bool chained = false;

		for (unsigned k = 0; k < steps->step[i].ndeps; k++)
			chained |= steps->step[i].deps[k] == i - 1;
		if (!chained)
			return true;
	}
	return false;
}

/* --- positions --- */

static bool digits(const char **p, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; ++*p) {
		const unsigned d = (unsigned)(**p - '0');

		if (v > (max - d) / 10)
			return false;
		v = 10 * v + d;
	}
	*ret = v;
	return true;
}

bool step_position(const char *text, uint64_t *ret_seq, uint32_t *ret_step)
{
	const char *p = text + (*text == '#');
	uint64_t step = UINT32_MAX;

	if (!digits(&p, UINT64_MAX, ret_seq))
		return false;
	if (*p == '.') {
		p++;
		if (!digits(&p, STEPS_MAX, &step))
			return false;
	}
	*ret_step = (uint32_t)step;
	return !*p;
}
