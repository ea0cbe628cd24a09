/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs, built again from their recorded nodes. Host nodes become empty: the recording holds what
 * they did to memory. A copy between the device and the program's pageable memory uses stand-in
 * host memory, which is filled before a launch and compared after it.
 */
#include "replayer/execute/replayer-copy.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "sbt/cmd-pack.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct build {
	struct rp *rp;
	struct rgraph *exec; /* owns the stand-ins */
	struct gpu_graph *graph;
	struct gpu_node **nodes; /* by index; NULL: not added yet */
	struct gpu_node *last;	 /* the one added last; NULL: none */
	struct gpu_node **deps;
	size_t ndeps;
	unsigned depth;
};

/* device: the address on the device that is copied from or to. */
static struct err *stand_in(struct build *b, uint64_t addr, uint64_t size, uint64_t device,
	bool is_source, uint64_t *ret)
{
	struct rgraph *g = b->exec;
	void *mem;

	for (size_t i = 0; i < g->nstand_ins; i++)
		if (g->stand_ins[i].addr == addr && g->stand_ins[i].size == size &&
			g->stand_ins[i].is_source == is_source &&
			!((g->stand_ins[i].device ^ device) & 7)) {
			*ret = (uint64_t)(uintptr_t)g->stand_ins[i].mem;
			return NULL;
		}
	if (size > IMAGE_MAX)
		return rp_fail(b->rp, REPLAYER_E_REFUSED, b->rp->current,
			"a copy of graph %u has rows over %llu bytes of the host: more than the "
			"%llu GiB that a trace gets there",
			g->id, (unsigned long long)size, IMAGE_MAX >> 30);
	GPU(b->rp, host_alloc, &mem, size);
	memset(mem, 0, size);
	MAKE_ROOM(g->stand_ins, g->nstand_ins, g->cap_stand_ins);
	g->stand_ins[g->nstand_ins++] = (struct rstand_in){addr, size, mem, is_source, device};
	*ret = (uint64_t)(uintptr_t)mem;
	return NULL;
}

/* --- nodes --- */

static struct gpu_node_place node_place(const struct build *b)
{
	return (struct gpu_node_place){
		b->graph, b->deps, b->ndeps, b->rp->devices.d[b->rp->devices.now].ctx};
}

static struct err *empty_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;

	GPU(rp, graph_add_empty, ret, &at);
	return NULL;
}

static struct err *kernel_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;
	struct rkernel *k = objects_kernel(rp, u->kernel);
	struct buf args = BUF_INIT;
	struct gpu_kernel *f;

	if (!k)
		return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			"a graph's kernel is not named in the trace");
	if ((u->cooperative || u->cluster_x) && !(rp->lib.can & GPU_CAN_NODE_LAUNCH_MORE))
		return rp_fail(rp, REPLAYER_E_DEVICE, rp->current,
			"this driver has no cooperative or cluster launches in graphs");
	if (u->last_x || u->last_y || u->last_z)
		return rp_fail(rp, REPLAYER_E_TRACE, rp->current,
			"graph %u has a kernel whose last block is smaller, which no graph can",
			b->exec->id);
	TRY(code_function(rp, k, &f));
	if (u->shared > k->max_shared[rp->devices.now]) {
		k->max_shared[rp->devices.now] = (unsigned)u->shared;
		GPU(rp, kernel_max_shared, f, (int)u->shared);
	}
	struct err *e = execute_args(rp, c, k, &args);
	const struct gpu_launch l = execute_launch_of(u, f, &args);
	if (!e)
		e = rp_gpu(rp, rp->gpu->graph_add_kernel(ret, &at, &l));
	buf_free(&args);
	return e;
}

static struct err *array_in_graph(const struct build *b, const struct sbt_rows *rows)
{
	if (!textures_have(b->rp, rows))
		return NULL;
	return err_cure(
		rp_fail(b->rp, REPLAYER_E_REFUSED, b->rp->current,
			"graph %u copies to or from an array of textures: on this device only all "
			"of its nodes can be executed, one by one",
			b->exec->id),
		"replay on the software GPU, or `--on none`");
}

static struct err *copy_end(
	struct build *b, const struct sbt_cmd_copy *u, bool dst, struct copy_side *ret)
{
	const char *bad = sbt_rows_of_copy(&ret->rows, u, dst);
	const uint64_t extent = sbt_rows_size(&ret->rows);

	if (bad)
		return rp_fail(b->rp, REPLAYER_E_TRACE, b->rp->current,
			"the rows that a copy of graph %u %s %s", b->exec->id,
			dst ? "writes" : "reads", bad);
	TRY(array_in_graph(b, &ret->rows));
	ret->where = extent ? place_find(b->rp, ret->rows.addr, extent, &ret->here) : PLACE_NOWHERE;
	return ret->where == PLACE_NOWHERE && extent
		       ? stand_in(
				 b, ret->rows.addr, extent, dst ? u->src : u->dst, !dst, &ret->here)
		       : NULL;
}

static struct err *copy_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;
	struct copy_side dst, src;

	TRY(copy_end(b, &c->u.copy, true, &dst));
	TRY(copy_end(b, &c->u.copy, false, &src));
	if (!dst.rows.width)
		return empty_node(b, c, ret);
	const struct gpu_rows to = copy_rows_of(&dst), from = copy_rows_of(&src);
	GPU(rp, graph_add_copy, ret, &at, &to, &from);
	return NULL;
}

static struct err *fill_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;
	struct sbt_rows rows;
	uint64_t dst;
	const char *bad = sbt_rows_of_fill(&rows, u);

	if (bad)
		return rp_fail(rp, REPLAYER_E_TRACE, rp->current,
			"the rows that a fill of graph %u writes %s", b->exec->id, bad);
	if (!rows.width)
		return empty_node(b, c, ret);
	if (place_find(rp, rows.addr, sbt_rows_size(&rows), &dst) == PLACE_NOWHERE)
		return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			"a graph fills 0x%llx, which is not memory of the window",
			(unsigned long long)u->dst);
	GPU(rp, graph_add_fill, ret, &at, dst, &rows, (unsigned)u->elem, (unsigned)u->value);
	return NULL;
}

static struct err *build(struct rp *rp, struct rgraph *exec, struct rgraph *g, unsigned depth,
	struct gpu_graph **ret);

static struct err *child_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	struct rp *rp = b->rp;
	const struct gpu_node_place at = node_place(b);
	struct rgraph *child = objects_graph(rp, c->u.graph_launch.exec);
	struct gpu_graph *graph;

	if (!child || b->depth == DEPTH_MAX)
		return rp_fail(
			rp, REPLAYER_E_TRACE, rp->current, "a child graph is not in the trace");
	TRY(build(rp, b->exec, child, b->depth + 1, &graph));
	struct err *e = rp_gpu(rp, rp->gpu->graph_add_child(ret, &at, graph));
	(void)rp->gpu->graph_destroy(graph); /* the node has a copy */
	return e;
}

static struct err *record_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;
	struct gpu_event *event;

	if (!(rp->lib.can & GPU_CAN_NODE_RECORD))
		return rp_fail(rp, REPLAYER_E_DEVICE, rp->current,
			"this driver has no event records in graphs");
	TRY(objects_event(rp, c->u.event_record.event, &event));
	GPU(rp, graph_add_record, ret, &at, event);
	return NULL;
}

static struct err *wait_node(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret)
{
	const struct gpu_node_place at = node_place(b);
	struct rp *rp = b->rp;
	struct gpu_event *event;

	if (!(rp->lib.can & GPU_CAN_NODE_WAIT))
		return rp_fail(rp, REPLAYER_E_DEVICE, rp->current,
			"this driver has no event waits in graphs");
	TRY(objects_event(rp, c->u.stream_wait.event, &event));
	GPU(rp, graph_add_wait, ret, &at, event);
	return NULL;
}

static const struct node_row {
	unsigned kind; /* of the payload; 0: none needed */
	struct err *(*add)(struct build *b, const struct sbt_cmd *c, struct gpu_node **ret);
	const char *name;
} rows[] = {
	[SBT_NODE_KERNEL] = {SBT_LAUNCH, kernel_node, "kernel"},
	[SBT_NODE_COPY] = {SBT_COPY, copy_node, "copy"},
	[SBT_NODE_FILL] = {SBT_FILL, fill_node, "fill"},
	[SBT_NODE_HOST] = {0, empty_node, "host function"},
	[SBT_NODE_GRAPH] = {SBT_GRAPH_LAUNCH, child_node, "child graph"},
	[SBT_NODE_EMPTY] = {0, empty_node, "empty"},
	[SBT_NODE_WAIT_EVENT] = {SBT_STREAM_WAIT, wait_node, "event wait"},
	[SBT_NODE_EVENT_RECORD] = {SBT_EVENT_RECORD, record_node, "event record"},
	[SBT_NODE_OTHER] = {0, NULL, "unknown"},
};

static struct err *add_node(
	struct build *b, uint32_t number, const struct rnode_version *n, struct gpu_node **ret)
{
	const struct node_row *row = (size_t)n->type < sizeof rows / sizeof *rows
					     ? &rows[n->type]
					     : &rows[SBT_NODE_OTHER];
	struct sbt_cmd c = {0};

	if (n->disabled)
		return empty_node(b, &c, ret);
	if (!row->add)
		return rp_fail(b->rp, REPLAYER_E_REFUSED, b->rp->current,
			"node %u of graph %u is of a type that cannot be executed again", number,
			b->exec->id);
	if (row->kind && (!sbt_unpack(&c, n->payload, n->payload_size) || c.kind != row->kind))
		return rp_fail(b->rp, REPLAYER_E_TRACE, b->rp->current,
			"what the %s node %u of graph %u does was not recorded", row->name, number,
			b->exec->id);
	return row->add(b, &c, ret);
}

/* --- graphs --- */

static size_t index_of(const struct rgraph *g, uint32_t node)
{
	if (node < g->nnodes && g->nodes[node].node == node)
		return node;
	for (size_t i = 0; i < g->nnodes; i++)
		if (g->nodes[i].node == node)
			return i;
	return SIZE_MAX;
}

/* Unless streams overlap, a graph's branches do not either: each node also runs behind the one
 * added before it. */
static void put_in_line(struct build *b)
{
	for (size_t i = 0; i < b->ndeps; i++)
		if (b->deps[i] == b->last)
			return;
	if (b->last && !b->rp->turn.overlap)
		b->deps[b->ndeps++] = b->last;
}

/* Returns false while a node that this one depends on has not been added. b->deps has room for one
 * more. */
static bool ready(struct build *b, const struct rgraph *g, const struct rnode_version *n)
{
	b->ndeps = 0;
	for (unsigned i = 0; i < n->ndeps; i++) {
		const size_t at = index_of(g, n->deps[i]);

		if (at == SIZE_MAX || !b->nodes[at])
			return false;
		b->deps[b->ndeps++] = b->nodes[at];
	}
	put_in_line(b);
	return true;
}

/* Marks by index the node at `at` and all nodes that it depends on. */
static void add_dependencies(const struct rgraph *g, uint64_t seq, size_t at, bool *wanted)
{
	bool more = true;

	wanted[at] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < g->nnodes; i++) {
			const struct rnode_version n = objects_node(&g->nodes[i], seq);

			for (unsigned k = 0; wanted[i] && k < n.ndeps; k++) {
				const size_t dep = index_of(g, n.deps[k]);

				if (dep == SIZE_MAX || wanted[dep])
					continue;
				wanted[dep] = more = true;
			}
		}
	}
}

/* The nodes of REPLAYER_GRAPH_PART; NULL: all. */
static struct err *wanted_nodes(struct build *b, const struct rgraph *g, bool **ret)
{
	const struct replayer_graph_part *part = &b->rp->part;

	*ret = NULL;
	if (b->depth || !part->seq || part->seq != b->rp->current)
		return NULL;
	const size_t at = index_of(g, part->node);
	if (at == SIZE_MAX)
		return rp_fail(b->rp, REPLAYER_E_REFUSED, part->seq, "graph %u has no node %u",
			g->id, part->node);
	*ret = xcalloc(g->nnodes + 1, sizeof **ret);
	add_dependencies(g, part->seq, at, *ret);
	(*ret)[at] = part->with;
	return NULL;
}

/* Nodes are recorded in the driver's order, which may not respect dependences. Adds them in the
 * order of state/steps.h: always the first one that is ready. */
static struct err *add_all(struct build *b, const struct rgraph *g, const bool *wanted)
{
	size_t skipped = SIZE_MAX; /* the first one that had to wait */

	for (size_t i = 0; i < g->nnodes || skipped < g->nnodes; i++) {
		if (i >= g->nnodes)
			return rp_fail(b->rp, REPLAYER_E_TRACE, b->rp->current,
				"the nodes of graph %u depend on one another in a circle", g->id);
		if (b->nodes[i] || (wanted && !wanted[i]))
			continue;
		const struct rnode_version v = objects_node(&g->nodes[i], b->rp->current);

		b->deps = xrealloc(b->deps, ((size_t)v.ndeps + 2) * sizeof *b->deps);
		if (!ready(b, g, &v)) {
			skipped = skipped < i ? skipped : i;
			continue;
		}
		TRY(add_node(b, g->nodes[i].node, &v, &b->nodes[i]));
		b->last = b->nodes[i];
		if (skipped < i) { /* it may have waited for this one */
			i = skipped - 1;
			skipped = SIZE_MAX;
		}
	}
	return NULL;
}

static struct err *build(struct rp *rp, struct rgraph *exec, struct rgraph *g, unsigned depth,
	struct gpu_graph **ret)
{
	struct build b = {.rp = rp, .exec = exec, .depth = depth};

	GPU(rp, graph_create, &b.graph);
	b.nodes = xcalloc(g->nnodes + 1, sizeof *b.nodes);
	bool *wanted;
	struct err *e = wanted_nodes(&b, g, &wanted);
	if (!e)
		e = add_all(&b, g, wanted);
	free(wanted);
	free(b.nodes);
	free(b.deps);
	if (e)
		(void)rp->gpu->graph_destroy(b.graph);
	else
		*ret = b.graph;
	return e;
}

/* left: how many more nodes may be looked at, since nested graphs may have too many. */
static bool is_told(
	struct rp *rp, const struct rgraph *g, uint64_t seq, unsigned depth, uint32_t *left)
{
	struct sbt_cmd c;

	for (size_t i = 0; g && depth < DEPTH_MAX && i < g->nnodes; i++) {
		const struct rnode_version v = objects_node(&g->nodes[i], seq);

		if (v.type >= SBT_NODE_OTHER || !*left || !--*left)
			return false;
		if (v.type == SBT_NODE_GRAPH && sbt_unpack(&c, v.payload, v.payload_size) &&
			c.kind == SBT_GRAPH_LAUNCH &&
			!is_told(
				rp, objects_graph(rp, c.u.graph_launch.exec), seq, depth + 1, left))
			return false;
	}
	return true;
}

bool graph_is_told(struct rp *rp, const struct rgraph *g, uint64_t seq)
{
	return is_told(rp, g, seq, 0, &(uint32_t){STEPS_MAX});
}

/* The newest change of a node that a launch by command seq sees. */
static uint64_t version(
	struct rp *rp, const struct rgraph *g, uint64_t seq, unsigned depth, uint32_t *left)
{
	uint64_t newest = 0;
	struct sbt_cmd c;

	for (size_t i = 0; g && depth < DEPTH_MAX && i < g->nnodes && *left && --*left; i++) {
		const struct rnode_version v = objects_node(&g->nodes[i], seq);
		uint64_t child = 0;

		if (v.type == SBT_NODE_GRAPH && sbt_unpack(&c, v.payload, v.payload_size) &&
			c.kind == SBT_GRAPH_LAUNCH)
			child = version(
				rp, objects_graph(rp, c.u.graph_launch.exec), seq, depth + 1, left);
		newest = v.since > newest ? v.since : newest;
		newest = child > newest ? child : newest;
	}
	return newest;
}

struct err *graph_make(struct rp *rp, struct rgraph *g)
{
	const uint64_t now = rp->objects.graphs_change
				     ? version(rp, g, rp->current, 0, &(uint32_t){STEPS_MAX})
				     : 0;

	if (g->exec && g->built == now)
		return NULL;
	if (!(rp->lib.can & GPU_CAN_GRAPHS))
		return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			"#%llu launches graph %u, whose nodes are not recorded",
			(unsigned long long)rp->current, g->id);
	if (g->exec) {
		/* an earlier launch of it may still run and use this host memory */
		TRY(execute_finish(rp));
		graph_unmake(rp, g);
	}
	g->built = now;
	struct state_steps steps; /* fails for an impossible or too large graph */
	TRY(graph_steps(rp, g, rp->current, &steps));
	state_steps_free(&steps);
	struct err *e = build(rp, g, g, 0, &g->graph);
	if (!e)
		e = rp_gpu(rp, rp->gpu->graph_instantiate(&g->exec, g->graph));
	if (e)
		graph_unmake(rp, g);
	return e;
}

void graph_unmake(struct rp *rp, struct rgraph *g)
{
	if (g->exec)
		(void)rp->gpu->graph_exec_destroy(g->exec);
	if (g->graph)
		(void)rp->gpu->graph_destroy(g->graph);
	for (size_t i = 0; i < g->nstand_ins; i++)
		(void)rp->gpu->host_free(g->stand_ins[i].mem);
	g->nstand_ins = 0;
	g->exec = NULL;
	g->graph = NULL;
}

void graph_unmake_all(struct rp *rp)
{
	for (size_t i = 0; i < rp->objects.ngraphs; i++)
		graph_unmake(rp, &rp->objects.graphs[i]);
}

/* --- launches --- */

static struct err *fill_stand_ins(struct rp *rp, struct rgraph *g, uint64_t seq)
{
	bool waited = false;

	for (size_t i = 0; i < g->nstand_ins; i++) {
		const struct rstand_in *s = &g->stand_ins[i];

		if (!s->is_source)
			continue;
		const struct sbt_memory *m = contents_find(rp, seq, SBT_MEMORY_INPUT, s->addr);
		if (!m || !m->has_bytes || m->size > s->size)
			return rp_fail(rp, REPLAYER_E_REFUSED, seq,
				"#%llu: what graph %u copied from 0x%llx was not recorded",
				(unsigned long long)seq, g->id, (unsigned long long)s->addr);
		if (!waited)
			TRY(execute_finish(rp)); /* an earlier launch may still read it */
		waited = true;
		TRY(sbt_reader_memory_read(rp->trace, m, 0, s->mem, m->size));
		moved_to_here(rp, s->device, s->mem, m->size);
	}
	return NULL;
}

/* Where the data is that the graph copied to the program's addr; *ret_device: the device address
 * that it came from, for translating words. */
static const void *delivered(
	struct rp *rp, const struct rgraph *g, uint64_t addr, uint64_t size, uint64_t *ret_device)
{
	uint64_t here;

	*ret_device = addr;
	for (size_t i = 0; i < g->nstand_ins; i++)
		if (!g->stand_ins[i].is_source && g->stand_ins[i].addr == addr &&
			g->stand_ins[i].size >= size) {
			*ret_device = g->stand_ins[i].device;
			return g->stand_ins[i].mem;
		}
	return place_find(rp, addr, size, &here) == PLACE_HOST ? (const void *)(uintptr_t)here
							       : NULL;
}

static struct err *compare_outputs(
	struct rp *rp, const struct rgraph *g, uint64_t seq, struct gpu_stream *stream)
{
	size_t n;
	const struct sbt_memory *m = contents_of(rp, seq, &n);
	uint64_t device;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const void *p = m[i].role == SBT_MEMORY_OUTPUT
					? delivered(rp, g, m[i].addr, m[i].size, &device)
					: NULL;

		if (!p)
			continue;
		if (!any)
			GPU(rp, stream_finish, stream);
		any = true;
		staging_verdict(rp, &m[i], moved_is(rp, device, p, m[i].size, m[i].hash));
	}
	return NULL;
}

/* Makes a graph for this launch alone, and launches it. */
static struct err *launch_part(
	struct rp *rp, struct rgraph *g, uint64_t seq, struct gpu_stream *stream)
{
	TRY(execute_finish(rp));
	graph_unmake(rp, g);
	TRY(graph_make(rp, g));
	TRY(fill_stand_ins(rp, g, seq));
	TRY(textures_before_launch(rp, stream));
	GPU(rp, graph_launch, g->exec, stream);
	TRY(textures_after_launch(rp, stream));
	GPU(rp, stream_finish, stream);
	graph_unmake(rp, g);
	return NULL;
}

struct err *graph_launch(struct rp *rp, const struct sbt_cmd *c)
{
	struct rgraph *g = objects_graph(rp, c->u.graph_launch.exec);
	struct gpu_stream *stream;

	if (!g)
		return rp_fail(rp, REPLAYER_E_TRACE, c->seq,
			"#%llu launches a graph that the trace does not have",
			(unsigned long long)c->seq);
	if (execute_has_effect(rp, c->seq)) /* the recorder says that it cannot be executed again */
		return NULL;
	TRY(objects_stream(rp, c->u.graph_launch.stream, &stream));
	TRY(textures_at(rp, rp->current));
	if (rp->part.seq == c->seq)
		return launch_part(rp, g, c->seq, stream);
	bool done;
	TRY(graph_by_nodes(rp, g, c, &done));
	if (done)
		return NULL;
	TRY(graph_make(rp, g));
	TRY(fill_stand_ins(rp, g, c->seq));
	TRY(textures_before_launch(rp, stream));
	GPU(rp, graph_launch, g->exec, stream);
	TRY(textures_after_launch(rp, stream));
	return compare_outputs(rp, g, c->seq, stream);
}

/* --- steps --- */

struct step_nodes {
	struct rp *rp;
	uint64_t seq;
};

static bool step_node(void *arg, uint32_t graph, unsigned i, struct state_node *ret)
{
	const struct step_nodes *from = arg;
	const struct rgraph *g = objects_graph(from->rp, graph);

	if (!g || i >= g->nnodes)
		return false;
	const struct rnode_version v = objects_node(&g->nodes[i], from->seq);
	*ret = (struct state_node){.node = g->nodes[i].node,
		.kernel = SBT_NO_ID,
		.type = v.type,
		.disabled = v.disabled,
		.deps = {v.deps, (uint64_t)v.ndeps * 4},
		.payload = {v.payload, v.payload_size}};
	return true;
}

static bool step_known(void *arg, uint32_t graph)
{
	const struct step_nodes *from = arg;

	return objects_graph(from->rp, graph) != NULL;
}

struct err *graph_steps(
	struct rp *rp, const struct rgraph *g, uint64_t seq, struct state_steps *ret)
{
	struct step_nodes from = {rp, seq};
	const struct steps_source source = {.arg = &from, .node = step_node, .known = step_known};

	return steps_make(ret, &source, g->id);
}
