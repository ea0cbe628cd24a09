/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the graph from a trace and its happens-before. What work waits for comes from its clock: of
 * each stream the last work that is finished before it.
 */
#include "order/critical/critical-graph.h"

#include <stdlib.h>
#include "base/id-table.h"
#include "base/first-where.h"
#include "state/summary.h"

/* Nodes of one lane, in order of seq. */
struct lane_nodes {
	uint32_t *nodes;
	uint32_t n, cap;
	struct clock *clock; /* of its last item; order keeps it */
};
struct thread_now {
	uint32_t last;	  /* node of its last call, plus 1 */
	uint32_t returns; /* node of the work that its last call waited for before it returned,
			   * plus 1 */
	uint32_t prior;	  /* node of the copy that its last call began when all before it was
			   * over, plus 1 */
	uint32_t wait_stack;
};
struct maker {
	struct critical_graph *g;
	const struct order *order;
	struct lane_nodes *lanes;
	uint32_t nlanes;
	struct id_table threads;
	uint32_t last_call;    /* of any thread, plus 1 */
	const struct state *s; /* before the command */
};

/* --- what a node waits for --- */

static void add_pred(
	struct critical_graph *g, struct critical_node *x, uint32_t pred, uint64_t begin)
{
	if (g->nodes[pred].at > begin) {
		g->contradictions++;
		return;
	}
	if (x->npreds == UINT16_MAX)
		return;
	MAKE_ROOM(g->preds, g->npreds, g->cap_preds);
	g->preds[g->npreds++] = pred;
	x->npreds++;
	if (x->tight == CRITICAL_NONE || g->nodes[pred].at > g->nodes[x->tight].at)
		x->tight = pred;
}

/* The last node of the lane whose seq is not above this; CRITICAL_NONE: there is none. */
static uint32_t node_at(const struct critical_graph *g, const struct lane_nodes *l, uint64_t seq)
{
	const size_t at = FIRST_WHERE(l->n, i, g->nodes[l->nodes[i]].seq > seq);

	return at ? l->nodes[at - 1] : CRITICAL_NONE;
}

static struct lane_nodes *lane_of(struct maker *m, uint32_t lane)
{
	if (lane >= m->nlanes) {
		m->lanes = xrealloc(m->lanes, (lane + 1) * sizeof *m->lanes);
		while (m->nlanes <= lane)
			m->lanes[m->nlanes++] = (struct lane_nodes){0};
	}
	return &m->lanes[lane];
}

/* What the item knows to be finished that the item before on its lane did not. */
static void add_clock(
	struct maker *m, struct critical_node *x, const struct order_item *it, uint64_t begin)
{
	struct lane_nodes *own = lane_of(m, it->lane);
	const struct clock *old = own->clock;

	own->clock = it->clock;
	if (it->clock == old)
		return;
	for (uint32_t lane = 0; it->clock && lane < m->nlanes; lane++) {
		const uint32_t index = clock_at(it->clock, lane);
		uint32_t pred;

		if (lane == it->lane || index <= clock_at(old, lane) || !m->lanes[lane].n)
			continue;
		pred = node_at(m->g, &m->lanes[lane], order_seq_on(m->order, lane, index));
		if (pred != CRITICAL_NONE)
			add_pred(m->g, x, pred, begin);
	}
}

static void finish_node(struct critical_graph *g, struct critical_node *x)
{
	const uint64_t from = x->tight == CRITICAL_NONE ? g->begin : g->nodes[x->tight].at;

	if (x->at < from) { /* before the trace's first call: clocks differ */
		g->contradictions++;
		x->at = from;
	}
	x->cost = x->at - from;
	if (x->busy > x->cost)
		x->busy = x->cost;
	MAKE_ROOM(g->nodes, g->n, g->cap);
	g->nodes[g->n++] = *x;
}

static struct critical_node begin_node(
	const struct critical_graph *g, const struct sbt_cmd *c, uint64_t at)
{
	return (struct critical_node){.seq = c->seq,
		.at = at,
		.tight = CRITICAL_NONE,
		.pred = (uint32_t)g->npreds,
		.thread = c->thread,
		.stack = c->stack,
		.stream = SBT_NO_ID};
}

/* --- calls --- */

/* What the thread's last call waited for before it returned. */
static void add_returned(
	struct critical_graph *g, struct critical_node *x, struct thread_now *t, uint64_t at)
{
	const struct critical_node *copy = t->prior ? &g->nodes[t->prior - 1] : NULL;

	if (t->returns && g->nodes[t->returns - 1].at <= at)
		add_pred(g, x, t->returns - 1, at);
	for (uint32_t i = 0; copy && i < copy->npreds; i++)
		if (g->nodes[g->preds[copy->pred + i]].at <= at)
			add_pred(g, x, g->preds[copy->pred + i], at);
	t->returns = t->prior = 0;
}

/* A call of the host at time `at`. */
static void add_call(struct maker *m, struct thread_now *t, const struct sbt_cmd *c, uint64_t at)
{
	struct critical_graph *g = m->g;
	struct critical_node x = begin_node(g, c, at);
	struct order_item it;

	x.what = CRITICAL_HOST;
	if (c->kind == SBT_SYNC)
		t->wait_stack = c->stack;
	if (c->kind == SBT_SYNC_END)
		x.stack = t->wait_stack;
	x.id = x.stack;
	if (t->last)
		add_pred(g, &x, t->last - 1, at);
	else if (m->last_call)
		add_pred(g, &x, m->last_call - 1, at);
	add_returned(g, &x, t, at);
	if (!sbt_cmd_is_work(c) && order_item(m->order, c->seq, &it))
		add_clock(m, &x, &it, at);
	x.waits = x.tight != CRITICAL_NONE && g->nodes[x.tight].what != CRITICAL_HOST;
	finish_node(g, &x);
	t->last = m->last_call = (uint32_t)g->n;
}

/* --- work --- */

static void name_work(struct critical_node *x, const struct sbt_cmd *c)
{
	x->stream = sbt_cmd_stream(c);
	switch (c->kind) {
	case SBT_LAUNCH:
		x->what = CRITICAL_KERNEL;
		x->id = (uint32_t)c->u.launch.kernel;
		break;
	case SBT_GRAPH_LAUNCH:
		x->what = CRITICAL_GRAPH;
		x->id = (uint32_t)c->u.graph_launch.exec;
		break;
	case SBT_COPY:
		x->what = CRITICAL_COPY;
		x->id = c->u.copy.dir < SBT_COPY_ANY ? (uint32_t)c->u.copy.dir : SBT_COPY_ANY;
		break;
	default:
		x->what = CRITICAL_FILL;
	}
}

static void add_work(struct maker *m, struct thread_now *t, const struct sbt_cmd *c)
{
	struct critical_graph *g = m->g;
	struct critical_node x = begin_node(g, c, c->gpu_end_ns);
	enum state_returns how;
	struct order_item it;
	struct lane_nodes *l;

	if (!order_item(m->order, c->seq, &it))
		return;
	name_work(&x, c);
	x.busy = c->gpu_end_ns - c->gpu_start_ns;
	add_pred(g, &x, t->last - 1, c->gpu_start_ns);
	l = lane_of(m, it.lane);
	if (l->n)
		add_pred(g, &x, l->nodes[l->n - 1], c->gpu_start_ns);
	add_clock(m, &x, &it, c->gpu_start_ns);
	finish_node(g, &x);
	MAKE_ROOM(l->nodes, l->n, l->cap);
	l->nodes[l->n++] = (uint32_t)g->n - 1;
	how = state_returns(m->s, c);
	if (how == STATE_RETURNS_DONE)
		t->returns = (uint32_t)g->n;
	else if (how == STATE_RETURNS_PRIOR)
		t->prior = (uint32_t)g->n;
}

/* --- commands --- */

/* Whether the host's call itself is a node: it submits work, waits, or learns something. */
static bool is_call(const struct maker *m, const struct sbt_cmd *c)
{
	struct order_item it;

	if (c->flags & SBT_F_SYNTHETIC || !c->host_ns)
		return false;
	return sbt_cmd_is_work(c) || c->kind == SBT_SYNC || order_item(m->order, c->seq, &it);
}

static struct err *take(struct maker *m, const struct sbt_cmd *c)
{
	const bool work = summary_counts(c),
		   timed = work && c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns;
	struct thread_now *t = id_table_row(&m->threads, c->thread, true);
	uint64_t at = c->host_ns;

	m->g->commands += work;
	m->g->untimed += work && !timed;
	if (!t)
		return NULL;
	if (m->g->n >= UINT32_MAX - 2 || m->g->npreds >= UINT32_MAX - UINT16_MAX)
		return err_new(ERR_LIMIT, "the trace is too long for a critical path");
	if (timed && (!at || at > c->gpu_start_ns))
		at = c->gpu_start_ns;
	if (!timed && !is_call(m, c))
		return NULL;
	if (!m->g->n)
		m->g->begin = at;
	if (at < m->g->begin)
		at = m->g->begin;
	if (t->last && at < m->g->nodes[t->last - 1].at)
		at = m->g->nodes[t->last - 1].at;
	add_call(m, t, c, at);
	if (timed)
		add_work(m, t, c);
	return NULL;
}

/* In the pass that makes order's graph: what a command waits for came before it. */
static struct err *see(
	void *maker, const struct order *order, const struct state *s, const struct sbt_cmd *c)
{
	struct maker *m = maker;

	m->order = order;
	m->s = s;
	return take(m, c);
}

static struct err *read_range(struct maker *m, struct state *s, struct sbt_cursor *cursor,
	const struct order *order, const struct order_options *o)
{
	const uint64_t last = o->last ? o->last : UINT64_MAX;
	const struct sbt_cmd *c;

	for (uint64_t n = 0;; n++) {
		if (!(n & 1023) && o->interrupt && *o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > last)
			return NULL;
		TRY(see(m, order, s, c));
		TRY(state_apply(s, c));
	}
}

/* In a pass of its own, of a graph that is whole. */
static struct err *read_again(struct maker *m, struct sbt_reader *trace, const struct order *order,
	const struct order_options *o)
{
	const uint64_t first = o->first ? o->first : sbt_reader_first_seq(trace);
	struct sbt_cursor *cursor = NULL;
	struct state *s;
	struct err *e;

	TRY(state_at(&s, trace, first ? first - 1 : 0));
	state_without_writers(s);
	e = sbt_cursor_open(&cursor, trace);
	if (!e)
		e = sbt_cursor_seek(cursor, first);
	if (!e)
		e = read_range(m, s, cursor, order, o);
	sbt_cursor_close(cursor);
	state_free(s);
	return e;
}

static void begin_maker(struct maker *m, struct critical_graph *ret)
{
	*ret = (struct critical_graph){0};
	*m = (struct maker){.g = ret, .threads.size = sizeof(struct thread_now)};
}

static void end_maker(struct maker *m)
{
	for (uint32_t i = 0; i < m->nlanes; i++)
		free(m->lanes[i].nodes);
	free(m->lanes);
	free(m->threads.at);
}

struct err *critical_graph_make(
	struct critical_graph *ret, struct sbt_reader *trace, const struct order_options *o)
{
	struct order_options apart = *o;
	struct order *order = NULL;
	struct maker m;
	struct err *e;

	begin_maker(&m, ret);
	apart.threads_apart = true;
	apart.before = see;
	apart.before_arg = &m;
	e = order_open(&order, trace, &apart);
	if (!e && order_waits(order)) { /* some came later than their number */
		end_maker(&m);
		critical_graph_free(ret);
		begin_maker(&m, ret);
		e = read_again(&m, trace, order, o);
	}
	end_maker(&m);
	order_close(order);
	if (e)
		critical_graph_free(ret);
	return e;
}

void critical_graph_free(struct critical_graph *g)
{
	free(g->nodes);
	free(g->preds);
	*g = (struct critical_graph){0};
}
