/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: stream capture and graphs. How a graph was built (captured, or node by node) is not recorded: when it is
 * instantiated, its nodes are listed with what they will do, and with the nodes they depend on.
 */
#include <cupti.h>
#include <string.h>
#include "capture/calls.h"
#include "capture/discover.h"
#include "capture/driver.h"
#include "capture/ids.h"
#include "capture/kernel.h"
#include "capture/payload.h"
#include "capture/thread.h"

#define H(handle) ((uint64_t)(uintptr_t)(handle))
#define NODES_MAX (1u << 20)
#define CHILD_DEPTH_MAX 8

/* ---- capture ---------------------------------------------------------------------------------------------------------- */

static void begin(struct call *c, CUstream stream, CUstreamCaptureMode mode)
{
	c->cmd.flags |= SBT_F_GRAPH;
	c->cmd.u.capture_begin.stream = call_stream(c, stream);
	c->cmd.u.capture_begin.mode = mode == CU_STREAM_CAPTURE_MODE_GLOBAL	  ? SBT_CAPTURE_GLOBAL :
				      mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? SBT_CAPTURE_THREAD :
										    SBT_CAPTURE_RELAXED;
}

void enter_begin_capture_v1(struct call *c)
{
	begin(c, ((const cuStreamBeginCapture_params *)c->params)->hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

void enter_begin_capture(struct call *c)
{
	const cuStreamBeginCapture_v2_params *p = c->params;
	begin(c, p->hStream, p->mode);
}

void enter_begin_capture_to(struct call *c)
{
	const cuStreamBeginCaptureToGraph_params *p = c->params;
	begin(c, p->hStream, p->mode);
}

void exit_begin_capture(struct call *c)
{
	if (!c->cmd.result)
		atomic_fetch_add(&calls_captures, 1);
}

void enter_end_capture(struct call *c)
{
	const cuStreamEndCapture_params *p = c->params;
	c->cmd.flags |= SBT_F_GRAPH;
	c->cmd.u.capture_end.stream = call_stream(c, p->hStream);
	c->cmd.u.capture_end.new_graph = SBT_NO_ID;
}

/* An invalidated capture ends with an error, and has ended. CUDA_ERROR_ILLEGAL_STATE: there was none. */
void exit_end_capture(struct call *c)
{
	const cuStreamEndCapture_params *p = c->params;
	int32_t n = atomic_load(&calls_captures);
	while (c->cmd.result != CUDA_ERROR_ILLEGAL_STATE && n > 0 && !atomic_compare_exchange_weak(&calls_captures, &n, n - 1))
		;
	if (c->cmd.result || !p->phGraph || !*p->phGraph)
		return;
	c->cmd.u.capture_end.new_graph = ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraph));
	c->cmd.u.capture_end.handle = H(*p->phGraph);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------------- */

void enter_graph_create(struct call *c)
{
	c->cmd.u.graph_create.new_graph = c->cmd.u.graph_create.clone_of = SBT_NO_ID;
}

static uint32_t graph_id(struct thread *t, CUgraph handle)
{
	uint32_t id = ids_number(&ids.graphs, H(handle));
	if (id != SBT_NO_ID || !handle)
		return id;
	spin_lock(&ids.first_sight);
	id = ids_number(&ids.graphs, H(handle));
	if (id == SBT_NO_ID) {
		struct sbt_cmd cmd = { .kind = SBT_GRAPH_CREATE };
		id = ids_new_number(&ids.graphs, &ids.next_graph, H(handle));
		cmd.u.graph_create.new_graph = id;
		cmd.u.graph_create.clone_of = SBT_NO_ID;
		cmd.u.graph_create.handle = H(handle);
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	return id;
}

void enter_graph_clone(struct call *c)
{
	const cuGraphClone_params *p = c->params;
	c->cmd.u.graph_create.new_graph = SBT_NO_ID;
	c->cmd.u.graph_create.clone_of = graph_id(c->t, p->originalGraph);
}

void exit_graph_create(struct call *c) /* both: phGraph comes first */
{
	const cuGraphCreate_params *p = c->params;
	if (c->cmd.result || !p->phGraph)
		return;
	c->cmd.u.graph_create.new_graph = ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraph));
	c->cmd.u.graph_create.handle = H(*p->phGraph);
}

void enter_graph_destroy(struct call *c) /* a graph, or an executable one: the handle comes first */
{
	const uint32_t id = ids_drop(&ids.graphs, H(((const cuGraphDestroy_params *)c->params)->hGraph));
	c->cmd.u.graph_destroy.dead_graph = id;
	c->skip = id == SBT_NO_ID;
}

/* An executable graph from before the agent came: no call of the driver's tells what its nodes are, so its launches are recorded by their
 * effect. */
static void old_exec(struct call *c, uint64_t handle)
{
	static struct map opaque; /* id + 1 -> 1 */
	struct sbt_cmd cmd = { .kind = SBT_GRAPH_INSTANTIATE };
	uint64_t id = c->cmd.u.graph_launch.exec;
	if (id == SBT_NO_ID && handle) {
		spin_lock(&ids.first_sight);
		id = ids_number(&ids.graphs, handle);
		if (id == SBT_NO_ID) {
			id = ids_new_number(&ids.graphs, &ids.next_graph, handle);
			(void)map_put(&opaque, id + 1, 1);
			cmd.u.graph_instantiate.new_exec = id;
			cmd.u.graph_instantiate.graph = SBT_NO_ID;
			cmd.u.graph_instantiate.handle = handle;
			record_now(c->t, &cmd, SBT_F_SYNTHETIC);
		}
		spin_unlock(&ids.first_sight);
		c->cmd.u.graph_launch.exec = id;
	}
	c->opaque = map_get(&opaque, id + 1) != 0;
}

void enter_graph_launch(struct call *c)
{
	const cuGraphLaunch_params *p = c->params;
	c->cmd.u.graph_launch.stream = call_stream(c, p->hStream);
	c->cmd.u.graph_launch.exec = ids_number(&ids.graphs, H(p->hGraph));
	if (discover_watched())
		old_exec(c, H(p->hGraph));
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------------- */

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
	*s = (struct nodes){ 0 };
	if (!driver.cuGraphGetNodes || OWN(driver.cuGraphGetNodes(graph, NULL, &s->n)) || s->n > NODES_MAX)
		return false;
	const size_t n = s->n + 1; /* one more, so that nothing is empty */
	for (s->slots = 16; s->slots < 2 * n; s->slots *= 2)
		;
	s->bytes = TSDB_RECORD_MAX + n * (2 * sizeof(CUgraphNode) + sizeof(CUgraphEdgeData) + 4) + s->slots * 4;
	uint8_t *at = agent_map(s->bytes);
	if (!at)
		return false;
	s->payload = at;
	s->node = (CUgraphNode *)(void *)(at += TSDB_RECORD_MAX);
	s->deps = (CUgraphNode *)(void *)(at += n * sizeof(CUgraphNode));
	s->edges = (CUgraphEdgeData *)(void *)(at += n * sizeof(CUgraphNode));
	s->dep_numbers = (uint32_t *)(void *)(at += n * sizeof(CUgraphEdgeData));
	s->slot = (uint32_t *)(void *)(at + n * 4);
	if (s->n && OWN(driver.cuGraphGetNodes(graph, s->node, &s->n)))
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
	if (driver.cuGraphNodeGetDependencies_v2)
		r = OWN(driver.cuGraphNodeGetDependencies_v2(node, s->deps, s->edges, &n));
	else if (driver.graph_node_get_dependencies_v1)
		r = OWN(driver.graph_node_get_dependencies_v1(node, s->deps, &n));
	else
		r = CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; !r && i < n && i < s->n; i++) {
		const uint32_t number = number_of(s, s->deps[i]);
		if (number != SBT_NO_ID)
			s->dep_numbers[known++] = number;
	}
	return (struct sbt_blob){ s->dep_numbers, known * 4 };
}

static void kernel_payload(struct call *n, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = { 0 };
	struct sbt_cmd_launch *l = &n->cmd.u.launch;
	n->cmd.kind = 0;
	if (!driver.cuGraphKernelNodeGetParams_v2 || OWN(driver.cuGraphKernelNodeGetParams_v2(node, &p)))
		return;
	n->kernel = kernel_get(n->t, n->ctx, p.func ? p.func : (CUfunction)p.kern);
	if (!n->kernel)
		return;
	n->cmd.kind = SBT_LAUNCH;
	l->stream = SBT_NO_ID;
	l->kernel = n->kernel->id;
	l->grid_x = p.gridDimX;
	l->grid_y = p.gridDimY;
	l->grid_z = p.gridDimZ;
	l->block_x = p.blockDimX;
	l->block_y = p.blockDimY;
	l->block_z = p.blockDimZ;
	l->shared = p.sharedMemBytes;
	const int64_t bytes = kernel_gather(n->kernel, p.kernelParams, p.extra, n->t->args, sizeof(n->t->args));
	if (bytes >= 0)
		l->args = (struct sbt_blob){ n->t->args, (uint64_t)bytes };
}

static void copy_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMCPY3D m = { 0 };
	if (!driver.cuGraphMemcpyNodeGetParams || OWN(driver.cuGraphMemcpyNodeGetParams(node, &m)))
		return;
	n->cmd.kind = SBT_COPY;
	call_copy_3d(n, &m, CU_STREAM_LEGACY);
	if (n->cmd.kind == SBT_COPY) {
		n->cmd.u.copy.stream = SBT_NO_ID;
		n->cmd.u.copy.async = 1;
		payload_graph_copy(n->t, &n->cmd.u.copy);
	}
}

static void fill_payload(struct call *n, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = { 0 };
	struct sbt_cmd_fill *f = &n->cmd.u.fill;
	if (!driver.cuGraphMemsetNodeGetParams || OWN(driver.cuGraphMemsetNodeGetParams(node, &p)))
		return;
	n->cmd.kind = SBT_FILL;
	f->stream = SBT_NO_ID;
	f->dst = p.dst;
	f->value = p.value;
	f->elem = p.elementSize;
	f->size = p.width * p.height * p.elementSize;
	f->async = 1;
	if (p.height > 1) {
		f->width = p.width;
		f->height = p.height;
		f->dst_pitch = p.pitch;
	}
}

static void host_payload(struct call *n, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS p = { 0 };
	if (!driver.cuGraphHostNodeGetParams || OWN(driver.cuGraphHostNodeGetParams(node, &p)))
		return;
	n->cmd.kind = SBT_HOST_FUNC;
	n->cmd.u.host_func.stream = SBT_NO_ID;
	n->cmd.u.host_func.fn = H(p.fn);
	n->cmd.u.host_func.user_data = H(p.userData);
}

static void event_payload(struct call *n, CUgraphNode node, bool wait)
{
	CUevent event = NULL;
	if (wait && driver.cuGraphEventWaitNodeGetEvent && !OWN(driver.cuGraphEventWaitNodeGetEvent(node, &event))) {
		n->cmd.kind = SBT_STREAM_WAIT;
		n->cmd.u.stream_wait.stream = SBT_NO_ID;
		n->cmd.u.stream_wait.event = ids_event(n->t, event);
	} else if (!wait && driver.cuGraphEventRecordNodeGetEvent && !OWN(driver.cuGraphEventRecordNodeGetEvent(node, &event))) {
		n->cmd.kind = SBT_EVENT_RECORD;
		n->cmd.u.event_record.stream = SBT_NO_ID;
		n->cmd.u.event_record.event = ids_event(n->t, event);
	}
}

static void publish_nodes(struct call *c, CUgraph graph, uint32_t id, unsigned depth);

/* The payload of a child graph's node is a launch of that graph; its own nodes have gone out before. */
static void child_payload(struct call *n, CUgraphNode node, unsigned depth)
{
	CUgraph child = NULL;
	if (depth == CHILD_DEPTH_MAX || !driver.cuGraphChildGraphNodeGetGraph ||
		OWN(driver.cuGraphChildGraphNodeGetGraph(node, &child)))
		return;
	const uint32_t id = graph_id(n->t, child);
	publish_nodes(n, child, id, depth + 1);
	n->cmd.kind = SBT_GRAPH_LAUNCH;
	n->cmd.u.graph_launch.stream = SBT_NO_ID;
	n->cmd.u.graph_launch.exec = id;
}

/* Fills n->cmd with what the node does (kind 0: cannot be told); what sort of node it is. */
static enum sbt_node payload_of(struct call *n, CUgraphNode node, CUgraphNodeType type, unsigned depth)
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

static void publish_node(struct call *c, struct nodes *s, size_t i, uint32_t id, unsigned depth)
{
	static const struct call_row row = { "graph node", CALL_HANDLED, CALL_ASYNC, 0, NULL, NULL };
	struct call n = { .row = &row, .t = c->t, .ctx = c->ctx };
	struct sbt_cmd cmd = { .kind = SBT_GRAPH_NODE };
	CUgraphNodeType type = (CUgraphNodeType)-1;
	if (driver.cuGraphNodeGetType)
		(void)OWN(driver.cuGraphNodeGetType(s->node[i], &type));
	cmd.u.graph_node.graph = id;
	cmd.u.graph_node.node = i;
	cmd.u.graph_node.type = payload_of(&n, s->node[i], type, depth);
	cmd.u.graph_node.deps = deps_of(s, s->node[i]);
	cmd.u.graph_node.kernel = n.kernel ? n.kernel->id : SBT_NO_ID;
	const size_t size = n.cmd.kind ? sbt_pack_size(&n.cmd) : 0;
	if (size && size <= TSDB_RECORD_MAX - 4096) {
		n.cmd.ctx = call_ctx_id(c);
		n.cmd.flags = SBT_F_GRAPH;
		sbt_pack(s->payload, &n.cmd);
		cmd.u.graph_node.payload = (struct sbt_blob){ s->payload, size };
	}
	record_now(c->t, &cmd, SBT_F_SYNTHETIC | SBT_F_GRAPH);
	if (cmd.u.graph_node.type == SBT_NODE_OTHER)
		record_unreplayable(c->t, "a graph node of a type that no command kind describes");
}

static void publish_nodes(struct call *c, CUgraph graph, uint32_t id, unsigned depth)
{
	struct nodes s;
	if (!get_nodes(&s, graph)) {
		record_unreplayable(c->t, "a graph whose nodes cannot be listed");
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		publish_node(c, &s, i, id, depth);
	agent_unmap(s.payload, s.bytes);
}

static void instantiate(struct call *c, CUgraph graph, uint64_t flags)
{
	struct sbt_cmd_graph_instantiate *g = &c->cmd.u.graph_instantiate;
	const uint32_t id = graph_id(c->t, graph);
	c->t->graph_copies = NULL;
	if (graph)
		publish_nodes(c, graph, id, 0);
	g->new_exec = SBT_NO_ID;
	g->graph = id;
	g->inst_flags = flags;
}

void enter_instantiate_v1(struct call *c) /* cuGraphInstantiate of CUDA 10, cuGraphInstantiate_v2 */
{
	instantiate(c, ((const cuGraphInstantiate_v2_params *)c->params)->hGraph, 0);
}

void enter_instantiate(struct call *c)
{
	const cuGraphInstantiateWithFlags_params *p = c->params;
	instantiate(c, p->hGraph, p->flags);
}

void enter_instantiate_params(struct call *c)
{
	const cuGraphInstantiateWithParams_params *p = c->params;
	instantiate(c, p->hGraph, p->instantiateParams ? p->instantiateParams->flags : 0);
}

void exit_instantiate(struct call *c) /* all: phGraphExec comes first */
{
	const cuGraphInstantiateWithFlags_params *p = c->params;
	if (c->cmd.result || !p->phGraphExec)
		return;
	c->cmd.u.graph_instantiate.new_exec = ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraphExec));
	c->cmd.u.graph_instantiate.handle = H(*p->phGraphExec);
	payload_graph_ready(c->t, c->cmd.u.graph_instantiate.new_exec);
}
