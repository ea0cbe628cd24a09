/* SPDX-License-Identifier: Apache-2.0
 *
 * Transitions of graphs and of stream capture.
 */
#include "state/fold/transitions.h"
#include "sbt/fields.h"

/* --- graphs --- */

static struct graph *own_graph(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->graphs, ROW(graph), (uint32_t)id) : NULL;
}

static struct graph *new_graph(
	struct state *s, const struct sbt_cmd *c, uint64_t id, uint64_t source, uint64_t handle)
{
	struct graph *g = own_graph(s, id);

	live(s, c, "graph", id, LIFE_OF(g, destroyed), CREATE);
	if (!g)
		g = table_insert(&s->graphs, ROW(graph), (uint32_t)id);
	g->destroyed = false;
	g->source = (uint32_t)source;
	g->handle = handle;
	g->made = c->seq;
	g->before = c->flags & SBT_F_BEFORE;
	g->stream = SBT_NO_ID;
	return g;
}

/* NULL: no stream is known. */
static struct stream *set_capturing(
	struct state *s, const struct sbt_cmd *c, uint64_t stream, bool on)
{
	struct stream *st = work_stream(s, c, stream);

	if (!st)
		return NULL;
	if (st->capturing == on)
		oddity(s, "#%llu %s: stream %u is %s", SEQ(c), sbt_kind(c->kind)->name, st->id,
			on ? "capturing already" : "not capturing");
	st->capturing = on;
	return st;
}

void on_capture_begin(struct state *s, const struct sbt_cmd *c)
{
	struct stream *st = set_capturing(s, c, c->u.capture_begin.stream, true);

	if (!st)
		return;
	st->capture_seq = c->seq;
	st->capture_mode = (uint8_t)c->u.capture_begin.mode;
}

void on_capture_end(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_capture_end *u = &c->u.capture_end;

	struct stream *st = set_capturing(s, c, u->stream, false);

	if (u->new_graph != SBT_NO_ID && st) {
		const uint64_t first = st->capture_seq;
		const uint8_t mode = st->capture_mode;
		const uint32_t stream = st->id;
		struct graph *g = new_graph(s, c, u->new_graph, SBT_NO_ID, u->handle);

		g->first = first;
		g->mode = mode;
		g->stream = stream;
	}
	if (st)
		st->capture_seq = st->capture_mode = 0;
}

static void copy_nodes(struct graph *dst, const struct graph *src)
{
	if (!src || src == dst)
		return;
	vec_free(&dst->nodes);
	vec_free(&dst->bytes);
	dst->nodes = src->nodes;
	dst->bytes = src->bytes;
	vec_share(&dst->nodes);
	vec_share(&dst->bytes);
}

void on_graph_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_create *u = &c->u.graph_create;
	struct graph *g = new_graph(s, c, u->new_graph, u->clone_of, u->handle);

	if (u->clone_of != SBT_NO_ID)
		copy_nodes(g, own_graph(s, u->clone_of));
}

/* A node that is defined again mostly has the same bytes, which are then not stored twice. */
static void put_node_bytes(struct graph *g, struct str *t, struct sbt_blob b)
{
	if (t->len == b.len && (!b.len || !memcmp(str_get(&g->bytes, *t), b.p, b.len)))
		return;
	vec_own(&g->bytes, 1);
	if (b.len && b.len <= t->len) { /* in place: a program may change a node in every step */
		char *to = (char *)g->bytes.data + t->off;

		memcpy(to, b.p, b.len);
		to[b.len] = '\0';
		t->len = (uint32_t)b.len;
	} else {
		*t = str_put(&g->bytes, b.p, b.len);
	}
}

void on_graph_node(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_node *u = &c->u.graph_node;
	struct graph *g = own_graph(s, u->graph);
	struct node *n;

	live(s, c, "graph", u->graph, LIFE_OF(g, destroyed), USE);
	if (!g)
		g = new_graph(s, c, u->graph, SBT_NO_ID, 0);
	n = table_own(&g->nodes, ROW(node), (uint32_t)u->node); /* written again: it was changed */
	if (!n)
		n = table_insert(&g->nodes, ROW(node), (uint32_t)u->node);
	n->kernel = (uint32_t)u->kernel;
	n->type = (uint8_t)u->type;
	n->origin = u->origin;
	n->stack = c->stack;
	n->disabled = u->disabled != 0;
	put_node_bytes(g, &n->deps, u->deps);
	put_node_bytes(g, &n->payload, u->payload);
}

/* What changes is in the graph_node records that follow; a call that failed has none. */
void on_graph_update(struct state *s, const struct sbt_cmd *c)
{
	struct graph *g = own_graph(s, c->u.graph_update.exec);

	live(s, c, "graph", c->u.graph_update.exec, LIFE_OF(g, destroyed), USE);
	if (!g)
		return;
	g->updates++;
	g->last_update = c->seq;
}

/* Nodes that the graph had when it was instantiated before, and has no more. */
static void drop_nodes(struct graph *g, uint64_t from)
{
	const struct node *n = g->nodes.data;

	while (g->nodes.n && n[g->nodes.n - 1].node >= from) {
		vec_remove(&g->nodes, ROW(node), g->nodes.n - 1);
		n = g->nodes.data;
	}
}

/* An executable graph is what its source was at that moment. */
void on_graph_instantiate(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_instantiate *u = &c->u.graph_instantiate;
	struct graph *g = new_graph(s, c, u->new_exec, u->graph, u->handle),
		     *source = own_graph(s, u->graph);

	g->is_exec = true;
	if (!g->before)
		live(s, c, "graph", u->graph, LIFE_OF(source, destroyed), USE);
	if (source && u->nodes)
		drop_nodes(source, u->nodes);
	copy_nodes(own_graph(s, u->new_exec), source);
}

void on_graph_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct graph *g = own_graph(s, c->u.graph_destroy.dead_graph);

	live(s, c, "graph", c->u.graph_destroy.dead_graph, LIFE_OF(g, destroyed), DESTROY);
	if (!g)
		return;
	g->destroyed = true;
	if (!g->queued)
		graph_drop(s, g);
}

struct writing {
	struct state *s;
	uint64_t seq;
	bool unknown; /* some node may write anything */
};

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	return state_footprint_node(((struct writing *)arg)->s, graph, i, ret);
}

static void wrote_by_node(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct writing *x = arg;
	const struct kernel *k = f->does & SBT_RUNS_KERNEL ? table_find(&x->s->kernels, ROW(kernel),
								     (uint32_t)c->u.launch.kernel)
							   : NULL;

	x->unknown |= (f->does & SBT_DOES_UNKNOWN) != 0;
	if (f->does & SBT_RUNS_KERNEL)
		wrote_args(x->s, x->seq, c->u.launch.args,
			k ? str_blob(&x->s->bytes, k->params) : (struct sbt_blob){0});
	wrote_touches(x->s, x->seq, f);
}

/* What the nodes of a launched graph may write. A node that is not known may write anything, before
 * or after the others. */
static void wrote_by_graph(struct state *s, const struct sbt_cmd *c)
{
	struct writing x = {s, c->seq, false};

	if (!s->allocs.n || s->no_writers)
		return;
	sbt_footprint_each(c, &(struct sbt_footprint_walk){a_node, wrote_by_node, &x});
	if (x.unknown)
		allocs_doubt(&s->allocs, c->seq);
}

void on_graph_launch(struct state *s, const struct sbt_cmd *c)
{
	uint64_t id = c->u.graph_launch.exec;
	struct graph *g = own_graph(s, id);

	live(s, c, "graph", id, LIFE_OF(g, destroyed), USE);
	if (!submit(s, c, c->u.graph_launch.stream, id))
		return;
	g = own_graph(s, id);
	if (!g)
		return;
	g->launches++;
	g->last_launch = c->seq;
	g->queued++;
	wrote_by_graph(s, c);
}
