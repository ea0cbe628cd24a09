// SPDX-License-Identifier: Apache-2.0
//
// Handlers: stream capture and graphs. How a graph was built is not recorded: when it is
// instantiated, its nodes are listed with what they will do (objects/graph-publish.h).
#include "capture/core/driver.h"
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/memory/discover.h"
#include "capture/objects/graph-change.h"
#include "capture/objects/ids.h"

/* --- capture --- */

void hip_begin_capture(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamBeginCapture)) *p =
		HIP_ARGS(c, hipStreamBeginCapture);
	static const uint8_t modes[] = {[hipStreamCaptureModeGlobal] = SBT_CAPTURE_GLOBAL,
		[hipStreamCaptureModeThreadLocal] = SBT_CAPTURE_THREAD,
		[hipStreamCaptureModeRelaxed] = SBT_CAPTURE_RELAXED};

	c->cmd.u.capture_begin.stream = call_stream(c, H(p->stream));
	c->cmd.u.capture_begin.mode =
		(unsigned)p->mode < sizeof(modes) ? modes[p->mode] : SBT_CAPTURE_GLOBAL;
}

void hip_begin_capture_exit(struct call *c)
{
	if (c->cmd.result)
		return;
	atomic_fetch_add(&calls_captures, 1);
	if (discover_watched())
		ids_capture_begun(c->stream);
}

void hip_end_capture(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamEndCapture)) *p = HIP_ARGS(c, hipStreamEndCapture);

	c->cmd.u.capture_end.stream = call_stream(c, H(p->stream));
	c->cmd.u.capture_end.new_graph = SBT_NO_ID;
}

/* Ending an invalidated capture returns an error, but ends it. */
void hip_end_capture_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamEndCapture)) *p = HIP_ARGS(c, hipStreamEndCapture);
	int32_t n = atomic_load(&calls_captures);

	while (c->cmd.result != hipErrorIllegalState && n > 0 &&
		!atomic_compare_exchange_weak(&calls_captures, &n, n - 1))
		;
	if (c->cmd.result || !p->pGraph || !*p->pGraph)
		return;
	c->cmd.u.capture_end.new_graph =
		ids_new_number(&ids.graphs, &ids.next_graph, H(*p->pGraph));
	c->cmd.u.capture_end.handle = H(*p->pGraph);
}

/* --- graphs --- */

void hip_graph_create(struct call *c)
{
	c->cmd.u.graph_create.new_graph = c->cmd.u.graph_create.clone_of = SBT_NO_ID;
}

void hip_graph_create_exit(struct call *c) /* both: the graph comes first */
{
	const hipGraph_t *to = HIP_ARGS(c, hipGraphCreate)->pGraph;

	if (c->cmd.result || !to)
		return;
	c->cmd.u.graph_create.new_graph = ids_new_number(&ids.graphs, &ids.next_graph, H(*to));
	c->cmd.u.graph_create.handle = H(*to);
}

void hip_graph_clone(struct call *c)
{
	c->cmd.u.graph_create.new_graph = SBT_NO_ID;
	c->cmd.u.graph_create.clone_of =
		graph_id(c->t, H(HIP_ARGS(c, hipGraphClone)->originalGraph));
}

void hip_graph_clone_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphClone)) *p = HIP_ARGS(c, hipGraphClone);

	hip_graph_create_exit(c);
	if (!c->cmd.result && p->pGraphClone)
		graph_copy_origins(H(p->originalGraph), H(*p->pGraphClone));
}

static void destroy(struct call *c, uint64_t handle)
{
	const uint32_t id = ids_drop(&ids.graphs, handle);

	c->cmd.u.graph_destroy.dead_graph = id;
	c->skip = id == SBT_NO_ID;
}

/* Only of a graph that is known: HIP takes any number for one. */
void hip_graph_destroy(struct call *c)
{
	const uint64_t graph = H(HIP_ARGS(c, hipGraphDestroy)->graph);

	if (ids_number(&ids.graphs, graph) != SBT_NO_ID)
		graph_forget_origins(graph);
	destroy(c, graph);
}

void hip_graph_exec_destroy(struct call *c)
{
	destroy(c, H(HIP_ARGS(c, hipGraphExecDestroy)->graphExec));
}

void hip_graph_exec_destroyed(struct call *c)
{
	graph_drop_table(c->t, (uint32_t)c->cmd.u.graph_destroy.dead_graph);
}

void hip_instantiate(struct call *c)
{
	graph_instantiate(c, H(HIP_ARGS(c, hipGraphInstantiate)->graph), 0);
}

void hip_instantiate_flags(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphInstantiateWithFlags)) *p =
		HIP_ARGS(c, hipGraphInstantiateWithFlags);

	graph_instantiate(c, H(p->graph), p->flags);
}

void hip_instantiate_exit(struct call *c) /* both: the executable graph comes first */
{
	const hipGraphExec_t *to = HIP_ARGS(c, hipGraphInstantiate)->pGraphExec;

	graph_instantiated(c, c->cmd.result || !to ? 0 : H(*to));
}

void hip_instantiate_flags_exit(struct call *c)
{
	hip_instantiate_exit(c);
}

void hip_graph_launch(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphLaunch)) *p = HIP_ARGS(c, hipGraphLaunch);

	c->cmd.u.graph_launch.stream = call_stream(c, H(p->stream));
	c->cmd.u.graph_launch.exec = ids_number(&ids.graphs, H(p->graphExec));
	graph_launched(c, H(p->graphExec));
}

/* --- nodes by calls --- */

void hip_node_add(struct call *c) /* all: the node and the graph come first */
{
	c->cmd.u.graph_add.graph = graph_id(c->t, H(HIP_ARGS(c, hipGraphAddKernelNode)->graph));
	c->cmd.u.graph_add.type = SBT_NODE_OTHER;
}

/* The new node; 0: there is none. */
static uint64_t added(struct call *c)
{
	const hipGraphNode_t *to = HIP_ARGS(c, hipGraphAddKernelNode)->pGraphNode;

	if (c->cmd.result || !to)
		return 0;
	c->cmd.u.graph_add.handle = H(*to);
	c->cmd.u.graph_add.type = driver->graphs->type(H(*to));
	graph_note_origin(H(*to), &c->cmd);
	return H(*to);
}

void hip_node_added(struct call *c)
{
	(void)added(c);
}

/* The node has a copy of the child graph. */
void hip_node_added_child(struct call *c)
{
	const uint64_t node = added(c);
	const uint64_t copy = node ? driver->graphs->child(node) : 0;

	if (copy)
		graph_copy_origins(H(HIP_ARGS(c, hipGraphAddChildGraphNode)->childGraph), copy);
}

/* What a call says of a flat copy, in each of the forms that HIP has. */
#define COPY_1D(p) hip_node_copy(&n, H((p)->dst), H((p)->src), (p)->count, (p)->kind)
#define COPY_TO(p)                                                                                 \
	hip_node_copy_symbol(&n, (p)->symbol, (p)->offset, true, H((p)->src), (p)->count, (p)->kind)
#define COPY_FROM(p)                                                                               \
	hip_node_copy_symbol(                                                                      \
		&n, (p)->symbol, (p)->offset, false, H((p)->dst), (p)->count, (p)->kind)

#define ADDED(handler, name, copy)                                                                 \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		struct call n = {.row = c->row, .t = c->t, .ctx = c->ctx};                         \
		const uint64_t node = added(c);                                                    \
		if (!node)                                                                         \
			return;                                                                    \
		copy(HIP_ARGS(c, name));                                                           \
		hip_node_note_copy(node, &n.cmd);                                                  \
	}
ADDED(hip_node_added_1d, hipGraphAddMemcpyNode1D, COPY_1D)
ADDED(hip_node_added_to_symbol, hipGraphAddMemcpyNodeToSymbol, COPY_TO)
ADDED(hip_node_added_from_symbol, hipGraphAddMemcpyNodeFromSymbol, COPY_FROM)
#undef ADDED

void hip_node_set(struct call *c)
{
	c->skip = true; /* only remembered, for when the graph is instantiated */
}

#define SET(handler, name, copy)                                                                   \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		struct call n = {.row = c->row, .t = c->t, .ctx = c->ctx};                         \
		if (c->cmd.result)                                                                 \
			return;                                                                    \
		copy(HIP_ARGS(c, name));                                                           \
		hip_node_note_copy(H(HIP_ARGS(c, name)->node), &n.cmd);                            \
	}
SET(hip_node_set_1d, hipGraphMemcpyNodeSetParams1D, COPY_1D)
SET(hip_node_set_to_symbol, hipGraphMemcpyNodeSetParamsToSymbol, COPY_TO)
SET(hip_node_set_from_symbol, hipGraphMemcpyNodeSetParamsFromSymbol, COPY_FROM)
#undef SET

void hip_node_destroy(struct call *c)
{
	const uint64_t node = H(HIP_ARGS(c, hipGraphDestroyNode)->node);

	c->skip = true;
	graph_forget_origin(node);
	hip_node_gone(node);
}

/* --- changes of executable graphs (objects/graph-change.h) --- */

/* All of these: the executable graph and the node come first. */
#define EXEC_AND_NODE(c) HIP_ARGS(c, hipGraphExecKernelNodeSetParams)

void hip_exec_node(struct call *c)
{
	graph_change_enter(c, H(EXEC_AND_NODE(c)->hGraphExec), H(EXEC_AND_NODE(c)->node));
}

/* what(p): fills x.n; p: the call's arguments. */
#define CHANGED(handler, name, what)                                                               \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		struct graph_change x;                                                             \
		if (!graph_change_node(c, H(EXEC_AND_NODE(c)->node), &x))                          \
			return;                                                                    \
		what(HIP_ARGS(c, name));                                                           \
		graph_change_send(c, &x);                                                          \
	}
#define KERNEL(p) hip_node_kernel(&x.n, (p)->pNodeParams)
#define ROWS(p) hip_node_copy_3d(&x.n, (p)->pNodeParams)
#define FLAT(p) hip_node_copy(&x.n, H((p)->dst), H((p)->src), (p)->count, (p)->kind)
#define TO(p)                                                                                      \
	hip_node_copy_symbol(                                                                      \
		&x.n, (p)->symbol, (p)->offset, true, H((p)->src), (p)->count, (p)->kind)
#define FROM(p)                                                                                    \
	hip_node_copy_symbol(                                                                      \
		&x.n, (p)->symbol, (p)->offset, false, H((p)->dst), (p)->count, (p)->kind)
#define FILL(p) hip_node_fill(&x.n, (p)->pNodeParams)
#define HOST(p) graph_host_payload(&x.n, H((p)->pNodeParams->fn), H((p)->pNodeParams->userData))
#define RECORD(p) graph_event_payload(&x.n, H((p)->event), false)
#define WAIT(p) graph_event_payload(&x.n, H((p)->event), true)
CHANGED(hip_exec_kernel, hipGraphExecKernelNodeSetParams, KERNEL)
CHANGED(hip_exec_3d, hipGraphExecMemcpyNodeSetParams, ROWS)
CHANGED(hip_exec_1d, hipGraphExecMemcpyNodeSetParams1D, FLAT)
CHANGED(hip_exec_to_symbol, hipGraphExecMemcpyNodeSetParamsToSymbol, TO)
CHANGED(hip_exec_from_symbol, hipGraphExecMemcpyNodeSetParamsFromSymbol, FROM)
CHANGED(hip_exec_fill, hipGraphExecMemsetNodeSetParams, FILL)
CHANGED(hip_exec_host, hipGraphExecHostNodeSetParams, HOST)
CHANGED(hip_exec_record, hipGraphExecEventRecordNodeSetEvent, RECORD)
CHANGED(hip_exec_wait, hipGraphExecEventWaitNodeSetEvent, WAIT)

void hip_exec_child(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphExecChildGraphNodeSetParams)) *p =
		HIP_ARGS(c, hipGraphExecChildGraphNodeSetParams);

	graph_change_child_enter(c, H(p->hGraphExec), H(p->node), H(p->childGraph));
}

void hip_exec_child_set(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphExecChildGraphNodeSetParams)) *p =
		HIP_ARGS(c, hipGraphExecChildGraphNodeSetParams);

	graph_change_child(c, H(p->node), H(p->childGraph));
}

void hip_exec_update(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphExecUpdate)) *p = HIP_ARGS(c, hipGraphExecUpdate);

	graph_change_all_enter(c, H(p->hGraphExec), H(p->hGraph));
}

/* HIP 5.2 changes node after node, and stops at the first that it cannot change: those before it
 * are changed then. */
void hip_exec_updated(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphExecUpdate)) *p = HIP_ARGS(c, hipGraphExecUpdate);
	struct graph_table *t = c->cmd.kind == SBT_GRAPH_UPDATE
					? graph_table((uint32_t)c->cmd.u.graph_update.exec)
					: NULL;

	if (c->cmd.result && t && p->updateResult_out &&
		*p->updateResult_out != hipGraphExecUpdateErrorTopologyChanged) {
		t->opaque = true;
		record_unreplayable(
			c->t, "a graph that a failed hipGraphExecUpdate changed in part");
	}
	graph_change_all(c, H(p->hGraph));
}
