/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: stream capture and graphs. How a graph was built (captured, or node by node) is not
 * recorded: when it is instantiated, its nodes are listed with what they will do, and with the
 * nodes they depend on.
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/memory/discover.h"
#include "capture/cuda/cuda-api.h"
#include "capture/objects/ids.h"
#include "capture/cuda/graph-nodes.h"
#include "capture/core/thread.h"

/* --- capture --- */

void exit_begin_capture(struct call *c)
{
	if (c->cmd.result)
		return;
	atomic_fetch_add(&calls_captures, 1);
	if (discover_watched())
		ids_capture_begun(c->stream);
}

/* Ending an invalidated capture returns an error, but ends it. CUDA_ERROR_ILLEGAL_STATE: there was
 * no capture. */
void exit_end_capture(struct call *c)
{
	const cuStreamEndCapture_params *p = c->params;
	int32_t n = atomic_load(&calls_captures);
	while (c->cmd.result != CUDA_ERROR_ILLEGAL_STATE && n > 0 &&
		!atomic_compare_exchange_weak(&calls_captures, &n, n - 1))
		;
	if (c->cmd.result || !p->phGraph || !*p->phGraph)
		return;
	c->cmd.u.capture_end.new_graph =
		ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraph));
	c->cmd.u.capture_end.handle = H(*p->phGraph);
}

/* --- graphs --- */

void enter_graph_create(struct call *c)
{
	c->cmd.u.graph_create.new_graph = c->cmd.u.graph_create.clone_of = SBT_NO_ID;
}

uint32_t graph_id(struct thread *t, CUgraph handle)
{
	uint32_t id = ids_number(&ids.graphs, H(handle));
	if (id != SBT_NO_ID || !handle)
		return id;
	spin_lock(&ids.first_sight);
	id = ids_number(&ids.graphs, H(handle));
	if (id == SBT_NO_ID) {
		struct sbt_cmd cmd = {.kind = SBT_GRAPH_CREATE};
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

void exit_graph_clone(struct call *c)
{
	const cuGraphClone_params *p = c->params;
	exit_graph_create(c);
	if (!c->cmd.result && p->phGraphClone)
		graph_copy_origins(p->originalGraph, *p->phGraphClone);
}

void exit_graph_create(struct call *c) /* both: phGraph comes first */
{
	const cuGraphCreate_params *p = c->params;
	if (c->cmd.result || !p->phGraph)
		return;
	c->cmd.u.graph_create.new_graph =
		ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraph));
	c->cmd.u.graph_create.handle = H(*p->phGraph);
}

void enter_graph_destroy(struct call *c) /* a graph, or an executable one: the handle comes first */
{
	const CUgraph handle = ((const cuGraphDestroy_params *)c->params)->hGraph;
	const uint32_t id = ids_drop(&ids.graphs, H(handle));
	if (id != SBT_NO_ID && strcmp(c->row->name, "cuGraphDestroy") == 0)
		graph_forget_origins(handle);
	c->cmd.u.graph_destroy.dead_graph = id;
	c->skip = id == SBT_NO_ID;
}

void exit_graph_destroy(struct call *c)
{
	graph_drop_table(c->t, c->cmd.u.graph_destroy.dead_graph);
}

/* An executable graph from before the agent came: the driver has no call that describes its nodes,
 * so its launches are recorded by their effect. */
static void old_exec(struct call *c, uint64_t handle)
{
	static struct map opaque; /* id + 1 -> 1 */
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_INSTANTIATE};
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
	call_objects(c, OBJECT_CALL_graph_launch);
	if (discover_watched())
		old_exec(c, H(p->hGraph));
	const struct graph_table *t = graph_table((uint32_t)c->cmd.u.graph_launch.exec);
	c->opaque |= t && t->opaque;
}

static void instantiate(struct call *c, CUgraph graph, uint64_t flags)
{
	struct sbt_cmd_graph_instantiate *g = &c->cmd.u.graph_instantiate;
	const uint32_t id = graph_id(c->t, graph);
	if (graph)
		g->nodes = graph_publish(c, graph, id);
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
	if (c->cmd.result || !p->phGraphExec) {
		graph_drop_pending(c->t);
		return;
	}
	c->cmd.u.graph_instantiate.new_exec =
		ids_new_number(&ids.graphs, &ids.next_graph, H(*p->phGraphExec));
	c->cmd.u.graph_instantiate.handle = H(*p->phGraphExec);
	graph_keep_pending(c->t, (uint32_t)c->cmd.u.graph_instantiate.new_exec);
	if (c->cmd.u.graph_instantiate.inst_flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		record_unreplayable(c->t, "launches of a graph from the device");
}

/* --- nodes by calls --- */

void enter_graph_add(struct call *c) /* all: phGraphNode and hGraph come first */
{
	const cuGraphAddKernelNode_v2_params *p = c->params;
	c->cmd.u.graph_add.graph = graph_id(c->t, p->hGraph);
	c->cmd.u.graph_add.type = SBT_NODE_OTHER;
}

/* A program may give a node a kernel of a library: the driver makes a function of it, and loads its
 * code, within the call. */
static void note_function(struct call *c, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS k = {0};
	if (cuda.cuGraphKernelNodeGetParams_v2 &&
		!OWN(cuda.cuGraphKernelNodeGetParams_v2(node, &k)) && k.kern)
		call_kernel_function(c, k.kern, k.func);
}

void exit_graph_add(struct call *c)
{
	const cuGraphAddKernelNode_v2_params *p = c->params;
	if (c->cmd.result || !p->phGraphNode)
		return;
	c->cmd.u.graph_add.handle = H(*p->phGraphNode);
	c->cmd.u.graph_add.type = graph_node_type(*p->phGraphNode);
	graph_note_origin(H(*p->phGraphNode), &c->cmd);
	if (c->cmd.u.graph_add.type == SBT_NODE_KERNEL)
		note_function(c, *p->phGraphNode);
	CUgraph child;
	if (strcmp(c->row->name, "cuGraphAddChildGraphNode") == 0 &&
		cuda.cuGraphChildGraphNodeGetGraph &&
		!OWN(cuda.cuGraphChildGraphNodeGetGraph(*p->phGraphNode, &child)))
		graph_copy_origins(
			((const cuGraphAddChildGraphNode_params *)c->params)->childGraph, child);
}
