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

void enter_graph_clone(struct call *c)
{
	const cuGraphClone_params *p = c->params;
	c->cmd.u.graph_create.new_graph = SBT_NO_ID;
	c->cmd.u.graph_create.clone_of = graph_id(c->t, H(p->originalGraph));
}

void exit_graph_clone(struct call *c)
{
	const cuGraphClone_params *p = c->params;
	exit_graph_create(c);
	if (!c->cmd.result && p->phGraphClone)
		graph_copy_origins(H(p->originalGraph), H(*p->phGraphClone));
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
		graph_forget_origins(H(handle));
	c->cmd.u.graph_destroy.dead_graph = id;
	c->skip = id == SBT_NO_ID;
}

void exit_graph_destroy(struct call *c)
{
	graph_drop_table(c->t, c->cmd.u.graph_destroy.dead_graph);
}

void enter_graph_launch(struct call *c)
{
	call_objects(c, OBJECT_CALL_graph_launch);
	graph_launched(c, H(((const cuGraphLaunch_params *)c->params)->hGraph));
}

void enter_instantiate_v1(struct call *c) /* cuGraphInstantiate of CUDA 10, cuGraphInstantiate_v2 */
{
	graph_instantiate(c, H(((const cuGraphInstantiate_v2_params *)c->params)->hGraph), 0);
}

void enter_instantiate(struct call *c)
{
	const cuGraphInstantiateWithFlags_params *p = c->params;
	graph_instantiate(c, H(p->hGraph), p->flags);
}

void enter_instantiate_params(struct call *c)
{
	const cuGraphInstantiateWithParams_params *p = c->params;
	graph_instantiate(c, H(p->hGraph), p->instantiateParams ? p->instantiateParams->flags : 0);
}

void exit_instantiate(struct call *c) /* all: phGraphExec comes first */
{
	const cuGraphInstantiateWithFlags_params *p = c->params;
	graph_instantiated(c, c->cmd.result || !p->phGraphExec ? 0 : H(*p->phGraphExec));
	if (c->cmd.result)
		return;
	if (c->cmd.u.graph_instantiate.inst_flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		record_unreplayable(c->t, "launches of a graph from the device");
}

/* --- nodes by calls --- */

void enter_graph_add(struct call *c) /* all: phGraphNode and hGraph come first */
{
	const cuGraphAddKernelNode_v2_params *p = c->params;
	c->cmd.u.graph_add.graph = graph_id(c->t, H(p->hGraph));
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
			H(((const cuGraphAddChildGraphNode_params *)c->params)->childGraph),
			H(child));
}
