// SPDX-License-Identifier: Apache-2.0
//
// Handlers: stream capture and graphs. Captures, graphs and their launches are recorded; what an
// executable graph's nodes do is not yet, and the trace says so.
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/memory/discover.h"
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
	hip_graph_create(c);
	c->cmd.u.graph_create.clone_of =
		ids_number(&ids.graphs, H(HIP_ARGS(c, hipGraphClone)->originalGraph));
}

void hip_graph_clone_exit(struct call *c)
{
	hip_graph_create_exit(c);
}

static void destroy(struct call *c, uint64_t handle)
{
	const uint32_t id = ids_drop(&ids.graphs, handle);

	c->cmd.u.graph_destroy.dead_graph = id;
	c->skip = id == SBT_NO_ID;
}

void hip_graph_destroy(struct call *c)
{
	destroy(c, H(HIP_ARGS(c, hipGraphDestroy)->graph));
}

void hip_graph_exec_destroy(struct call *c)
{
	destroy(c, H(HIP_ARGS(c, hipGraphExecDestroy)->graphExec));
}

static void instantiate(struct call *c, hipGraph_t graph, uint64_t flags)
{
	struct sbt_cmd_graph_instantiate *g = &c->cmd.u.graph_instantiate;

	g->new_exec = SBT_NO_ID;
	g->graph = ids_number(&ids.graphs, H(graph));
	g->inst_flags = flags;
	record_unreplayable(c->t, "the nodes of a HIP graph");
}

void hip_instantiate(struct call *c)
{
	instantiate(c, HIP_ARGS(c, hipGraphInstantiate)->graph, 0);
}

void hip_instantiate_flags(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGraphInstantiateWithFlags)) *p =
		HIP_ARGS(c, hipGraphInstantiateWithFlags);

	instantiate(c, p->graph, p->flags);
}

void hip_instantiate_exit(struct call *c) /* both: the executable graph comes first */
{
	const hipGraphExec_t *to = HIP_ARGS(c, hipGraphInstantiate)->pGraphExec;

	if (c->cmd.result || !to)
		return;
	c->cmd.u.graph_instantiate.new_exec = ids_new_number(&ids.graphs, &ids.next_graph, H(*to));
	c->cmd.u.graph_instantiate.handle = H(*to);
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
	c->opaque = true; /* its effect on memory is recorded instead of its nodes */
}
