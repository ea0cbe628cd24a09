/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of a graph as the driver tells them, as records. They are read when the graph is
 * instantiated: what the program does to the graph afterwards does not concern the executable one.
 * The driver lists nodes in an order of its own, so each carries the numbers of those they depend
 * on. Child graphs go out as graphs of their own, a new one each time, for the same reason.
 */
#include "capture/cuda/graph-nodes.h"

#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/cuda/launch-shape.h"
#include "capture/core/thread.h"

#define NODES_MAX (1u << 20)
#define CHILD_DEPTH_MAX 8

/* One graph's nodes and where each is in the list. */
struct nodes {
	CUgraphNode *node;
	size_t n;
	uint32_t *slot; /* index + 1 by hash of the handle */
	size_t slots;	/* a power of two */
	CUgraphNode *deps;
	CUgraphEdgeData *edges;
	uint32_t *dep_numbers;
	uint8_t *payload; /* TSDB_RECORD_MAX bytes */
	size_t bytes;	  /* of the one mapping they are all in */
};

static size_t hash_of(const struct nodes *s, CUgraphNode node)
{
	return (H(node) * 0x9e3779b97f4a7c15u >> 32) & (s->slots - 1);
}

static uint32_t number_of(const struct nodes *s, CUgraphNode node)
{
	for (size_t i = hash_of(s, node); s->slot[i]; i = (i + 1) & (s->slots - 1))
		if (s->node[s->slot[i] - 1] == node)
			return s->slot[i] - 1;
	return SBT_NO_ID;
}

static bool get_nodes(struct nodes *s, CUgraph graph)
{
	*s = (struct nodes){0};
	if (!cuda.cuGraphGetNodes || OWN(cuda.cuGraphGetNodes(graph, NULL, &s->n)) ||
		s->n > NODES_MAX)
		return false;
	const size_t n = s->n + 1; /* one more, so that nothing is empty */
	for (s->slots = 16; s->slots < 2 * n; s->slots *= 2)
		;
	s->bytes = TSDB_RECORD_MAX + n * (2 * sizeof(CUgraphNode) + sizeof(CUgraphEdgeData) + 4) +
		   s->slots * 4;
	uint8_t *at = agent_map(s->bytes);
	if (!at)
		return false;
	s->payload = at;
	s->node = (CUgraphNode *)(void *)(at += TSDB_RECORD_MAX);
	s->deps = (CUgraphNode *)(void *)(at += n * sizeof(CUgraphNode));
	s->edges = (CUgraphEdgeData *)(void *)(at += n * sizeof(CUgraphNode));
	s->dep_numbers = (uint32_t *)(void *)(at += n * sizeof(CUgraphEdgeData));
	s->slot = (uint32_t *)(void *)(at + n * 4);
	if (s->n && OWN(cuda.cuGraphGetNodes(graph, s->node, &s->n)))
		s->n = 0;
	for (size_t k = 0; k < s->n; k++) {
		size_t i = hash_of(s, s->node[k]);
		while (s->slot[i])
			i = (i + 1) & (s->slots - 1);
		s->slot[i] = (uint32_t)k + 1;
	}
	return true;
}

static struct sbt_blob deps_of(struct nodes *s, CUgraphNode node)
{
	size_t n = s->n, known = 0;
	CUresult r;
	if (cuda.cuGraphNodeGetDependencies_v2)
		r = OWN(cuda.cuGraphNodeGetDependencies_v2(node, s->deps, s->edges, &n));
	else if (cuda.graph_node_get_dependencies_v1)
		r = OWN(cuda.graph_node_get_dependencies_v1(node, s->deps, &n));
	else
		r = CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; !r && i < n && i < s->n; i++) {
		const uint32_t number = number_of(s, s->deps[i]);
		if (number != SBT_NO_ID)
			s->dep_numbers[known++] = number;
	}
	return (struct sbt_blob){s->dep_numbers, known * 4};
}

/* Whether one of the dependencies just listed by deps_of() is programmatic: the node may begin
 * before that one has finished. */
static bool begins_early(const struct nodes *s, const struct sbt_blob *deps)
{
	for (size_t i = 0; cuda.cuGraphNodeGetDependencies_v2 && i < deps->len / 4; i++)
		if (s->edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
			return true;
	return false;
}

/* ---- where nodes come from ---- */

/* The graph's nodes, with room for *ret_room; NULL: none. */
static CUgraphNode *list_nodes(CUgraph graph, size_t *ret_n, size_t *ret_room)
{
	size_t n = 0;
	if (!cuda.cuGraphGetNodes || OWN(cuda.cuGraphGetNodes(graph, NULL, &n)) || !n ||
		n > 1u << 20)
		return NULL;
	CUgraphNode *node = agent_map(n * sizeof(*node));
	*ret_n = *ret_room = n;
	if (node && OWN(cuda.cuGraphGetNodes(graph, node, ret_n)))
		*ret_n = 0;
	return node;
}

void graph_forget_origins(CUgraph graph)
{
	size_t n, room;
	CUgraphNode *node = list_nodes(graph, &n, &room);
	if (!node)
		return;
	for (size_t i = 0; i < n; i++)
		graph_forget_origin(H(node[i]));
	agent_unmap(node, room * sizeof(*node));
}

/* Copies origins if both list nodes of the same types in the same order. */
void graph_copy_origins(CUgraph from, CUgraph to)
{
	size_t n = 0, m = 0, nroom = 0, mroom = 0;
	CUgraphNode *a = list_nodes(from, &n, &nroom), *b = list_nodes(to, &m, &mroom);
	bool same = a && b && n == m;
	for (size_t i = 0; same && i < n; i++)
		same = graph_node_type(a[i]) == graph_node_type(b[i]);
	for (size_t i = 0; same && i < n; i++) {
		const struct graph_origin *o = graph_origin(H(a[i]));
		const struct sbt_cmd c = {.seq = o ? o->seq : 0, .stack = o ? o->stack : 0};
		if (o)
			graph_note_origin(H(b[i]), &c);
	}
	if (a)
		agent_unmap(a, nroom * sizeof(*a));
	if (b)
		agent_unmap(b, mroom * sizeof(*b));
}

/* ---- what they do ---- */

void graph_kernel_payload(struct call *n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct sbt_cmd_launch *l = &n->cmd.u.launch;
	n->cmd.kind = 0;
	n->kernel = kernel_get(n->t, n->ctx, p->func ? H(p->func) : H(p->kern));
	if (!n->kernel)
		return;
	n->cmd.kind = SBT_LAUNCH;
	l->stream = SBT_NO_ID;
	l->kernel = n->kernel->id;
	LAUNCH_SHAPE(l, p);
	const int64_t bytes =
		launch_gather(n->kernel, p->kernelParams, p->extra, n->t->args, sizeof(n->t->args));
	if (bytes >= 0)
		l->args = (struct sbt_blob){n->t->args, (uint64_t)bytes};
}

static void kernel_attributes(struct call *n, CUgraphNode node)
{
	static const CUlaunchAttributeID known[] = {
		CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	if (!cuda.cuGraphKernelNodeGetAttribute || n->cmd.kind != SBT_LAUNCH)
		return;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		CUlaunchAttributeValue v = {0};
		if (!OWN(cuda.cuGraphKernelNodeGetAttribute(node, known[i], &v)))
			launch_attribute(&n->cmd.u.launch, known[i], &v);
	}
}

static void kernel_payload(struct call *n, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};
	n->cmd.kind = 0;
	if (!cuda.cuGraphKernelNodeGetParams_v2 ||
		OWN(cuda.cuGraphKernelNodeGetParams_v2(node, &p)))
		return;
	graph_kernel_payload(n, &p);
	kernel_attributes(n, node);
}

void graph_copy_payload(struct call *n, const CUDA_MEMCPY3D *m)
{
	n->cmd.kind = SBT_COPY;
	call_copy_3d(n, m);
	if (n->cmd.kind == SBT_COPY) {
		n->cmd.u.copy.stream = SBT_NO_ID;
		n->cmd.u.copy.async = 1;
	}
}

static void copy_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMCPY3D m = {0};
	if (cuda.cuGraphMemcpyNodeGetParams && !OWN(cuda.cuGraphMemcpyNodeGetParams(node, &m)))
		graph_copy_payload(n, &m);
}

void graph_fill_payload(struct call *n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct sbt_cmd_fill *f = &n->cmd.u.fill;
	n->cmd.kind = SBT_FILL;
	f->stream = SBT_NO_ID;
	f->dst = p->dst;
	f->value = p->value;
	f->elem = p->elementSize;
	f->size = p->width * p->height * p->elementSize;
	f->async = 1;
	if (p->height > 1) {
		f->width = p->width;
		f->height = p->height;
		f->dst_pitch = p->pitch;
	}
}

static void fill_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};
	if (cuda.cuGraphMemsetNodeGetParams && !OWN(cuda.cuGraphMemsetNodeGetParams(node, &p)))
		graph_fill_payload(n, &p);
}

void graph_host_payload(struct call *n, CUhostFn fn, void *data)
{
	n->cmd.kind = SBT_HOST_FUNC;
	n->cmd.u.host_func.stream = SBT_NO_ID;
	n->cmd.u.host_func.fn = H(fn);
	n->cmd.u.host_func.user_data = H(data);
}

static void host_payload(struct call *n, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS p = {0};
	if (cuda.cuGraphHostNodeGetParams && !OWN(cuda.cuGraphHostNodeGetParams(node, &p)))
		graph_host_payload(n, p.fn, p.userData);
}

void graph_event_payload(struct call *n, CUevent event, bool wait)
{
	n->cmd.kind = wait ? SBT_STREAM_WAIT : SBT_EVENT_RECORD;
	if (wait) {
		n->cmd.u.stream_wait.stream = SBT_NO_ID;
		n->cmd.u.stream_wait.event = ids_event(n->t, H(event));
	} else {
		n->cmd.u.event_record.stream = SBT_NO_ID;
		n->cmd.u.event_record.event = ids_event(n->t, H(event));
	}
}

static void event_payload(struct call *n, CUgraphNode node, bool wait)
{
	CUevent event = NULL;
	if (wait ? cuda.cuGraphEventWaitNodeGetEvent &&
				!OWN(cuda.cuGraphEventWaitNodeGetEvent(node, &event))
		 : cuda.cuGraphEventRecordNodeGetEvent &&
				!OWN(cuda.cuGraphEventRecordNodeGetEvent(node, &event)))
		graph_event_payload(n, event, wait);
}

static size_t publish_nodes(struct call *c, CUgraph graph, uint32_t id, unsigned depth);

uint32_t graph_snapshot(struct call *c, CUgraph child, unsigned depth)
{
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_CREATE};
	const uint32_t id = atomic_fetch_add(&ids.next_graph, 1);
	cmd.u.graph_create.new_graph = id;
	cmd.u.graph_create.clone_of = graph_id(c->t, child);
	record_now(c->t, &cmd, SBT_F_SYNTHETIC);
	publish_nodes(c, child, id, depth);
	return id;
}

void graph_child_payload(struct call *n, uint32_t id)
{
	n->cmd.kind = SBT_GRAPH_LAUNCH;
	n->cmd.u.graph_launch.stream = SBT_NO_ID;
	n->cmd.u.graph_launch.exec = id;
}

/* The payload of a child graph's node is a launch of that graph in its present form, whose nodes
 * have been sent. */
static void child_payload(struct call *n, CUgraphNode node, unsigned depth)
{
	CUgraph child = NULL;
	if (depth < CHILD_DEPTH_MAX && cuda.cuGraphChildGraphNodeGetGraph &&
		!OWN(cuda.cuGraphChildGraphNodeGetGraph(node, &child)))
		graph_child_payload(n, graph_snapshot(n, child, depth + 1));
}

/* Fills n->cmd with what the node does (kind 0: not known); returns its type. */
static enum sbt_node payload_of(
	struct call *n, CUgraphNode node, CUgraphNodeType type, unsigned depth)
{
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_payload(n, node);
		return SBT_NODE_KERNEL;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		copy_payload(n, node);
		return SBT_NODE_COPY;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		fill_payload(n, node);
		return SBT_NODE_FILL;
	case CU_GRAPH_NODE_TYPE_HOST:
		host_payload(n, node);
		return SBT_NODE_HOST;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		child_payload(n, node, depth);
		return SBT_NODE_GRAPH;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return SBT_NODE_EMPTY;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		event_payload(n, node, true);
		return SBT_NODE_WAIT_EVENT;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		event_payload(n, node, false);
		return SBT_NODE_EVENT_RECORD;
	default:
		return SBT_NODE_OTHER;
	}
}

enum sbt_node graph_node_type(CUgraphNode node)
{
	static const uint8_t types[] = {[CU_GRAPH_NODE_TYPE_KERNEL] = SBT_NODE_KERNEL,
		[CU_GRAPH_NODE_TYPE_MEMCPY] = SBT_NODE_COPY,
		[CU_GRAPH_NODE_TYPE_MEMSET] = SBT_NODE_FILL,
		[CU_GRAPH_NODE_TYPE_HOST] = SBT_NODE_HOST,
		[CU_GRAPH_NODE_TYPE_GRAPH] = SBT_NODE_GRAPH,
		[CU_GRAPH_NODE_TYPE_EMPTY] = SBT_NODE_EMPTY,
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = SBT_NODE_WAIT_EVENT,
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = SBT_NODE_EVENT_RECORD};
	CUgraphNodeType type;
	if (!cuda.cuGraphNodeGetType || OWN(cuda.cuGraphNodeGetType(node, &type)) ||
		(size_t)type >= sizeof(types))
		return SBT_NODE_OTHER;
	return types[type];
}

/* The driver's name for types that no command kind describes: for the sentence about them. */
static const char *other_type(CUgraphNodeType type)
{
	switch ((int)type) {
	case 8:
	case 9:
		return "a graph node that signals or waits for an external semaphore";
	case 10:
	case 11:
		return "a graph node that allocates or frees memory";
	case 12:
		return "a graph node of stream memory operations";
	case 13:
		return "a conditional graph node";
	default:
		return "a graph node of a type that no command kind describes";
	}
}

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

static void note_memory(struct thread *t, CUgraphNode node, CUgraphNodeType type)
{
	CUDA_MEM_ALLOC_NODE_PARAMS a = {0};
	CUdeviceptr freed = 0;
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && cuda.cuGraphMemAllocNodeGetParams &&
		!OWN(cuda.cuGraphMemAllocNodeGetParams(node, &a)) && a.dptr && a.bytesize)
		graph_table_memory(t, a.dptr, a.bytesize);
	else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && cuda.cuGraphMemFreeNodeGetParams &&
		 !OWN(cuda.cuGraphMemFreeNodeGetParams(node, &freed)) && freed)
		graph_table_memory(t, freed, 0);
}

static void publish_node(struct call *c, struct nodes *s, size_t i, uint32_t id, unsigned depth)
{
	static const struct call_row row = {"graph node", CALL_HANDLED, CALL_ASYNC, 0, NULL, NULL};
	struct call n = {.row = &row, .t = c->t, .ctx = c->ctx};
	struct graph_entry e = {.handle = H(s->node[i]), .graph = id, .number = (uint32_t)i};
	CUgraphNodeType type = (CUgraphNodeType)-1;
	if (cuda.cuGraphNodeGetType)
		(void)OWN(cuda.cuGraphNodeGetType(s->node[i], &type));
	e.type = payload_of(&n, s->node[i], type, depth);
	const struct sbt_blob deps = deps_of(s, s->node[i]);
	if (n.cmd.kind == SBT_LAUNCH && begins_early(s, &deps))
		n.cmd.u.launch.launch_attrs |= 1ull << SBT_ATTR_PROGRAMMATIC_STREAM;
	e.deps = (uint32_t *)(uintptr_t)deps.p;
	e.ndeps = (uint32_t)(deps.len / 4);
	e.of = n.kernel;
	e.kernel = n.kernel ? n.kernel->id : SBT_NO_ID;
	if (e.type == SBT_NODE_OTHER) {
		n.cmd.kind = SBT_UNREPLAYABLE;
		n.cmd.u.unreplayable.call =
			(struct sbt_blob){other_type(type), strlen(other_type(type))};
	}
	const struct graph_origin *o = graph_origin(H(s->node[i]));
	e.origin = o ? o->seq : 0;
	e.stack = o ? o->stack : 0;
	const size_t size = graph_pack(&n, s->payload);
	graph_send_node(c, &e, &n, s->payload, size);
	graph_table_add(c->t, &e, depth == 0, s->payload, size);
	note_memory(c->t, s->node[i], type);
	if (e.type == SBT_NODE_OTHER)
		record_unreplayable(c->t, other_type(type));
}

static size_t publish_nodes(struct call *c, CUgraph graph, uint32_t id, unsigned depth)
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

size_t graph_publish(struct call *c, CUgraph graph, uint32_t id)
{
	graph_drop_pending(c->t);
	return publish_nodes(c, graph, id, 0);
}
