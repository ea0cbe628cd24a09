/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of a graph as the driver tells them, as records. They are read when the graph is
 * instantiated: what the program does to the graph afterwards does not concern the executable one.
 * The driver lists nodes in an order of its own, so each carries the numbers of those they depend
 * on. Child graphs go out as graphs of their own, a new one each time, for the same reason.
 */
#include "capture/objects/graph-publish.h"

#include <string.h>
#include "capture/core/driver.h"
#include "capture/core/thread.h"
#include "capture/memory/discover.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/objects/map.h"
#include "sbt/cmd-pack.h"

#define NODES_MAX (1u << 20)
#define CHILD_DEPTH_MAX 8

/* One graph's nodes and where each is in the list. */
struct nodes {
	uint64_t *node;
	size_t n;
	uint32_t *slot; /* index + 1 by hash of the handle */
	size_t slots;	/* a power of two */
	uint64_t *deps;
	void *edges;
	uint32_t *dep_numbers;
	bool early;	  /* of the last deps_of(): the node may begin before one has finished */
	uint8_t *payload; /* TSDB_RECORD_MAX bytes */
	size_t bytes;	  /* of the one mapping they are all in */
};

static size_t hash_of(const struct nodes *s, uint64_t node)
{
	return (node * 0x9e3779b97f4a7c15u >> 32) & (s->slots - 1);
}

static uint32_t number_of(const struct nodes *s, uint64_t node)
{
	for (size_t i = hash_of(s, node); s->slot[i]; i = (i + 1) & (s->slots - 1))
		if (s->node[s->slot[i] - 1] == node)
			return s->slot[i] - 1;
	return SBT_NO_ID;
}

/* Takes the room for n nodes. */
static bool take_room(struct nodes *s, size_t n)
{
	for (s->slots = 16; s->slots < 2 * n; s->slots *= 2)
		;
	s->bytes =
		TSDB_RECORD_MAX + n * (2 * sizeof(uint64_t) + GRAPH_EDGE_BYTES + 4) + s->slots * 4;
	uint8_t *at = agent_map(s->bytes);
	if (!at)
		return false;
	s->payload = at;
	s->node = (uint64_t *)(void *)(at += TSDB_RECORD_MAX);
	s->deps = (uint64_t *)(void *)(at += n * sizeof(uint64_t));
	s->edges = at += n * sizeof(uint64_t);
	s->dep_numbers = (uint32_t *)(void *)(at += n * GRAPH_EDGE_BYTES);
	s->slot = (uint32_t *)(void *)(at + n * 4);
	return true;
}

static bool get_nodes(struct nodes *s, uint64_t graph)
{
	*s = (struct nodes){0};
	if (!driver->graphs->nodes(graph, NULL, &s->n) || s->n > NODES_MAX ||
		!take_room(s, s->n + 1)) /* one more, so that nothing is empty */
		return false;
	if (s->n && !driver->graphs->nodes(graph, s->node, &s->n))
		s->n = 0;
	for (size_t k = 0; k < s->n; k++) {
		size_t i = hash_of(s, s->node[k]);
		while (s->slot[i])
			i = (i + 1) & (s->slots - 1);
		s->slot[i] = (uint32_t)k + 1;
	}
	return true;
}

static struct sbt_blob deps_of(struct nodes *s, uint64_t node)
{
	size_t n = s->n, known = 0;
	s->early = false;
	if (!driver->graphs->deps(node, s->deps, s->edges, &n, &s->early))
		n = 0;
	for (size_t i = 0; i < n && i < s->n; i++) {
		const uint32_t number = number_of(s, s->deps[i]);
		if (number != SBT_NO_ID)
			s->dep_numbers[known++] = number;
	}
	return (struct sbt_blob){s->dep_numbers, known * 4};
}

/* ---- where nodes come from ---- */

/* The graph's nodes, with room for *ret_room; NULL: none. */
static uint64_t *list_nodes(uint64_t graph, size_t *ret_n, size_t *ret_room)
{
	size_t n = 0;
	if (!driver->graphs->nodes(graph, NULL, &n) || !n || n > NODES_MAX)
		return NULL;
	uint64_t *node = agent_map(n * sizeof(*node));
	*ret_n = *ret_room = n;
	if (node && !driver->graphs->nodes(graph, node, ret_n))
		*ret_n = 0;
	return node;
}

void graph_forget_origins(uint64_t graph)
{
	size_t n, room;
	uint64_t *node = list_nodes(graph, &n, &room);
	if (!node)
		return;
	for (size_t i = 0; i < n; i++) {
		graph_forget_origin(node[i]);
		if (driver->graphs->gone)
			driver->graphs->gone(node[i]);
	}
	agent_unmap(node, room * sizeof(*node));
}

static void copy_origin(uint64_t from, uint64_t to)
{
	const struct graph_origin *o = graph_origin(from);
	const struct sbt_cmd c = {.seq = o ? o->seq : 0, .stack = o ? o->stack : 0};
	if (o)
		graph_note_origin(to, &c);
	if (driver->graphs->copied)
		driver->graphs->copied(from, to);
}

/* Copies origins if both list nodes of the same types in the same order. */
void graph_copy_origins(uint64_t from, uint64_t to)
{
	size_t n = 0, m = 0, nroom = 0, mroom = 0;
	uint64_t *a = list_nodes(from, &n, &nroom), *b = list_nodes(to, &m, &mroom);
	bool same = a && b && n == m;
	for (size_t i = 0; same && i < n; i++)
		same = driver->graphs->type(a[i]) == driver->graphs->type(b[i]);
	for (size_t i = 0; same && i < n; i++)
		copy_origin(a[i], b[i]);
	if (a)
		agent_unmap(a, nroom * sizeof(*a));
	if (b)
		agent_unmap(b, mroom * sizeof(*b));
}

/* ---- what they do ---- */

void graph_host_payload(struct call *n, uint64_t fn, uint64_t data)
{
	n->cmd.kind = SBT_HOST_FUNC;
	n->cmd.u.host_func.stream = SBT_NO_ID;
	n->cmd.u.host_func.fn = fn;
	n->cmd.u.host_func.user_data = data;
}

void graph_event_payload(struct call *n, uint64_t event, bool wait)
{
	n->cmd.kind = wait ? SBT_STREAM_WAIT : SBT_EVENT_RECORD;
	if (wait) {
		n->cmd.u.stream_wait.stream = SBT_NO_ID;
		n->cmd.u.stream_wait.event = ids_event(n->t, event);
	} else {
		n->cmd.u.event_record.stream = SBT_NO_ID;
		n->cmd.u.event_record.event = ids_event(n->t, event);
	}
}

void graph_child_payload(struct call *n, uint32_t id)
{
	n->cmd.kind = SBT_GRAPH_LAUNCH;
	n->cmd.u.graph_launch.stream = SBT_NO_ID;
	n->cmd.u.graph_launch.exec = id;
}

/* The payload of a child graph's node is a launch of that graph in its present form, whose nodes
 * have been sent. */
static void child_payload(struct call *n, uint64_t node, unsigned depth)
{
	const uint64_t child = depth < CHILD_DEPTH_MAX ? driver->graphs->child(node) : 0;
	if (child)
		graph_child_payload(n, graph_snapshot(n, child, depth + 1));
}

/* ---- records ---- */

void graph_send_node(struct call *c, struct graph_entry *e, const struct call *n,
	const uint8_t *payload, size_t size)
{
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_NODE};
	cmd.u.graph_node.graph = e->graph;
	cmd.u.graph_node.node = e->number;
	cmd.u.graph_node.type = e->type;
	cmd.u.graph_node.deps = (struct sbt_blob){e->deps, e->ndeps * 4ull};
	cmd.u.graph_node.kernel = e->kernel;
	cmd.u.graph_node.payload = (struct sbt_blob){payload, size};
	cmd.u.graph_node.disabled = e->disabled;
	cmd.u.graph_node.origin = e->origin;
	cmd.stack = e->stack;
	record_now(c->t, &cmd, SBT_F_SYNTHETIC | SBT_F_GRAPH);
}

size_t graph_pack(struct call *n, uint8_t *payload)
{
	const size_t size = n->cmd.kind ? sbt_pack_size(&n->cmd) : 0;
	if (!size || size > TSDB_RECORD_MAX - 4096)
		return 0;
	n->cmd.ctx = call_ctx_id(n);
	n->cmd.flags = SBT_F_GRAPH;
	sbt_pack(payload, &n->cmd);
	return size;
}

static void other_payload(struct call *n, uint64_t node)
{
	const char *what = driver->graphs->other(node);
	n->cmd.kind = SBT_UNREPLAYABLE;
	n->cmd.u.unreplayable.call = (struct sbt_blob){what, strlen(what)};
}

static void fill_payload(struct call *n, struct nodes *s, struct graph_entry *e, unsigned depth)
{
	if (e->type == SBT_NODE_GRAPH)
		child_payload(n, e->handle, depth);
	else if (e->type != SBT_NODE_OTHER)
		driver->graphs->payload(n, e->handle, e->type);
	const struct sbt_blob deps = deps_of(s, e->handle);
	if (n->cmd.kind == SBT_LAUNCH && s->early)
		n->cmd.u.launch.launch_attrs |= 1ull << SBT_ATTR_PROGRAMMATIC_STREAM;
	if (n->cmd.kind == SBT_UNREPLAYABLE)
		e->type = SBT_NODE_OTHER;
	else if (e->type == SBT_NODE_OTHER)
		other_payload(n, e->handle);
	e->deps = (uint32_t *)(uintptr_t)deps.p;
	e->ndeps = (uint32_t)(deps.len / 4);
	e->of = n->kernel;
	e->kernel = n->kernel ? n->kernel->id : SBT_NO_ID;
}

static void publish_node(struct call *c, struct nodes *s, size_t i, uint32_t id, unsigned depth)
{
	static const struct call_row row = {"graph node", CALL_HANDLED, CALL_ASYNC, 0, NULL, NULL};
	struct call n = {.row = &row, .t = c->t, .ctx = c->ctx};
	struct graph_entry e = {.handle = s->node[i],
		.graph = id,
		.number = (uint32_t)i,
		.type = driver->graphs->type(s->node[i])};
	const struct graph_origin *o = graph_origin(s->node[i]);
	fill_payload(&n, s, &e, depth);
	e.origin = o ? o->seq : 0;
	e.stack = o ? o->stack : 0;
	const size_t size = graph_pack(&n, s->payload);
	graph_send_node(c, &e, &n, s->payload, size);
	graph_table_add(c->t, &e, depth == 0, s->payload, size);
	if (driver->graphs->memory)
		driver->graphs->memory(c->t, s->node[i]);
	if (e.type == SBT_NODE_OTHER)
		record_unreplayable(c->t, (const char *)n.cmd.u.unreplayable.call.p);
}

static size_t publish_nodes(struct call *c, uint64_t graph, uint32_t id, unsigned depth)
{
	struct nodes s;
	if (!get_nodes(&s, graph)) {
		record_unreplayable(c->t, "a graph whose nodes cannot be listed");
		return 0;
	}
	for (size_t i = 0; i < s.n; i++)
		publish_node(c, &s, i, id, depth);
	agent_unmap(s.payload, s.bytes);
	return s.n;
}

size_t graph_publish(struct call *c, uint64_t graph, uint32_t id)
{
	graph_drop_pending(c->t);
	return publish_nodes(c, graph, id, 0);
}

uint32_t graph_snapshot(struct call *c, uint64_t child, unsigned depth)
{
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_CREATE};
	const uint32_t id = atomic_fetch_add(&ids.next_graph, 1);
	cmd.u.graph_create.new_graph = id;
	cmd.u.graph_create.clone_of = graph_id(c->t, child);
	record_now(c->t, &cmd, SBT_F_SYNTHETIC);
	publish_nodes(c, child, id, depth);
	return id;
}

/* ---- graphs and executable graphs ---- */

static void graph_seen(struct sbt_cmd *cmd, uint32_t id, uint64_t handle)
{
	cmd->kind = SBT_GRAPH_CREATE;
	cmd->u.graph_create.new_graph = id;
	cmd->u.graph_create.clone_of = SBT_NO_ID;
	cmd->u.graph_create.handle = handle;
}

uint32_t graph_id(struct thread *t, uint64_t graph)
{
	return ids_at_first_sight(t, &ids.graphs, &ids.next_graph, graph, graph_seen);
}

void graph_instantiate(struct call *c, uint64_t graph, uint64_t flags)
{
	struct sbt_cmd_graph_instantiate *g = &c->cmd.u.graph_instantiate;
	const uint32_t id = graph_id(c->t, graph);
	if (graph)
		g->nodes = graph_publish(c, graph, id);
	g->new_exec = SBT_NO_ID;
	g->graph = id;
	g->inst_flags = flags;
}

void graph_instantiated(struct call *c, uint64_t exec)
{
	struct sbt_cmd_graph_instantiate *g = &c->cmd.u.graph_instantiate;
	if (!exec) {
		graph_drop_pending(c->t);
		return;
	}
	g->new_exec = ids_new_number(&ids.graphs, &ids.next_graph, exec);
	g->handle = exec;
	graph_keep_pending(c->t, (uint32_t)g->new_exec);
}

static struct map opaque; /* id of an executable graph from before the agent came + 1 -> 1 */

static void introduce_exec(struct call *c, uint64_t exec)
{
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_INSTANTIATE};
	uint64_t id;
	spin_lock(&ids.first_sight);
	id = ids_number(&ids.graphs, exec);
	if (id == SBT_NO_ID) {
		id = ids_new_number(&ids.graphs, &ids.next_graph, exec);
		(void)map_put(&opaque, id + 1, 1);
		cmd.u.graph_instantiate.new_exec = id;
		cmd.u.graph_instantiate.graph = SBT_NO_ID;
		cmd.u.graph_instantiate.handle = exec;
		record_now(c->t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	c->cmd.u.graph_launch.exec = id;
}

void graph_launched(struct call *c, uint64_t exec)
{
	const struct graph_table *t;
	if (discover_watched()) {
		if (c->cmd.u.graph_launch.exec == SBT_NO_ID && exec)
			introduce_exec(c, exec);
		c->opaque = map_get(&opaque, c->cmd.u.graph_launch.exec + 1) != 0;
	}
	t = graph_table((uint32_t)c->cmd.u.graph_launch.exec);
	c->opaque |= t && t->opaque;
}
