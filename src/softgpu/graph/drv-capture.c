/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: work that is put into a capturing stream becomes nodes of a graph. A stream joins
 * a capture by waiting for an event that was recorded in it. What the programming guide forbids in
 * between makes the capture invalid, which its end reports.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct capture *captures;
static _Atomic unsigned ncaptures; /* read without the lock: is there any? */
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* --- finding --- */

static struct capture_stream *find(const struct stream *s)
{
	struct capture_stream *cs;

	if (!s->capture)
		return NULL;
	for (cs = s->capture->streams; cs && cs->stream != s; cs = cs->next)
		;
	return cs;
}

struct capture_stream *capture_stream_of(struct stream *s)
{
	return s->capture && !s->capture->invalid ? find(s) : NULL;
}

static bool capture_alive(const struct capture *c, unsigned long long id)
{
	const struct capture *x;

	for (x = captures; x && x != c; x = x->next)
		;
	return x && x->id == id;
}

/* --- joining and ending --- */

CUresult capture_join(struct capture *c, struct stream *s, struct node *const *deps, unsigned ndeps)
{
	struct capture_stream *cs = find(s);
	unsigned i;

	if (!cs) {
		cs = calloc(1, sizeof(*cs));
		if (!cs)
			return CUDA_ERROR_OUT_OF_MEMORY;
		cs->stream = s;
		cs->next = c->streams;
		c->streams = cs;
		s->capture = c;
	}
	for (i = 0; i < ndeps; i++)
		if (!node_list_add(&cs->deps, &cs->ndeps, deps[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* Takes c apart; the graph stays. */
static void capture_free(struct capture *c)
{
	struct capture **at = &captures;
	struct capture_stream *cs;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	ncaptures--;
	while ((cs = c->streams)) {
		c->streams = cs->next;
		if (cs->stream)
			cs->stream->capture = NULL;
		free(cs->deps);
		free(cs);
	}
	free(c);
}

/* Takes the capture's graph away, unless it is the program's. */
static void graph_drop(struct capture *c)
{
	if (c->borrowed)
		c->graph->capturing = false;
	else
		graph_delete(c->graph);
}

/* to: the program's graph, whose nodes `deps` come before the first of the capture; NULL: a new
 * one. */
static CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, struct graph *to,
	struct node *const *deps, unsigned ndeps)
{
	static unsigned long long last_id;
	struct capture *c;
	CUresult r;

	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->borrowed = to != NULL;
	c->graph = to ? to : graph_new();
	if (!c->graph) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->graph->capturing = true;
	c->origin = s;
	c->id = ++last_id;
	c->mode = mode;
	c->owner = pthread_self();
	c->next = captures;
	captures = c;
	ncaptures++;
	r = capture_join(c, s, deps, ndeps);
	if (r != CUDA_SUCCESS) {
		graph_drop(c);
		capture_free(c);
	}
	return r;
}

/* Marks everything that the nodes depend on, themselves included. Edges go to older nodes only, so
 * one pass backwards does. */
static void mark_ancestors(struct graph *g, struct node *const *from, unsigned n)
{
	unsigned i, k;

	for (i = 0; i < g->nnodes; i++)
		g->nodes[i]->order = 0;
	for (i = 0; i < n; i++)
		from[i]->order = 1;
	for (i = g->nnodes; i-- > 0;)
		if (g->nodes[i]->order)
			for (k = 0; k < g->nodes[i]->ndeps; k++)
				g->nodes[i]->deps[k]->order = 1;
}

static bool all_joined(struct capture *c)
{
	const struct capture_stream *origin = find(c->origin), *cs;
	unsigned i;

	mark_ancestors(c->graph, origin->deps, origin->ndeps);
	for (cs = c->streams; cs; cs = cs->next)
		for (i = 0; i < cs->ndeps; i++)
			if (!cs->deps[i]->order)
				return false;
	return true;
}

static CUresult capture_end(struct stream *s, struct graph **ret)
{
	struct capture *c = s->capture;
	CUresult r = CUDA_SUCCESS;

	*ret = NULL;
	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->origin != s) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->owner, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->invalid)
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!all_joined(c))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	c->graph->capturing = false;
	if (r == CUDA_SUCCESS)
		*ret = c->graph;
	else
		graph_drop(c);
	capture_free(c);
	return r;
}

/* --- what the rest of the driver asks --- */

static CUgraphNodeType type_of(const struct op *op)
{
	switch (op->kind) {
	case OP_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case OP_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case OP_FILL:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case OP_HOST:
		return CU_GRAPH_NODE_TYPE_HOST;
	case OP_EVENT_RECORD:
		return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	case OP_EVENT_WAIT:
		return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
	case OP_MEM_ALLOC:
		return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	case OP_MEM_FREE:
		return CU_GRAPH_NODE_TYPE_MEM_FREE;
	default:
		return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	}
}

CUresult capture_add(struct stream *s, struct op *op)
{
	/* programmatic stream serialization: "CUDA Programming Guide", "Use in CUDA Graphs" */
	static const CUgraphEdgeData programmatic = {
		.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
		.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
	const bool early = op->kind == OP_KERNEL && op->kernel.early;
	struct capture_stream *cs = capture_stream_of(s);
	struct graph *child = NULL;
	struct node *n;
	CUresult r;

	if (!cs) {
		op_release(op);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	if (op->kind == OP_NOP) /* only orders, and the stream's order is the capture's already */
		return CUDA_SUCCESS;
	if (op->kind == OP_GRAPH) {
		child = graph_of_exec(op->graph);
		op_release(op);
		*op = (struct op){.kind = OP_NOP};
		if (!child)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r = node_add(s->capture->graph, child ? CU_GRAPH_NODE_TYPE_GRAPH : type_of(op), op,
		cs->deps, cs->ndeps, &n);
	if (r != CUDA_SUCCESS) {
		if (child)
			graph_delete(child);
		return r;
	}
	n->child = child;
	for (unsigned i = 0; early && i < cs->ndeps; i++)
		if (cs->deps[i]->type == CU_GRAPH_NODE_TYPE_KERNEL &&
			!edge_set(n, cs->deps[i], &programmatic))
			return CUDA_ERROR_OUT_OF_MEMORY;
	cs->ndeps = 0;
	return node_list_add(&cs->deps, &cs->ndeps, n) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool capture_forbids(const struct stream *s)
{
	struct capture_stream *cs;
	struct capture *c;

	if (!s->legacy)
		return false;
	for (c = captures; c; c = c->next)
		for (cs = c->streams; cs; cs = cs->next)
			if (cs->stream && cs->stream->ctx == s->ctx &&
				!(cs->stream->flags & CU_STREAM_NON_BLOCKING)) {
				c->invalid = true;
				return true;
			}
	return false;
}

/* The nodes of a stream other than the origin stay: whether they were joined is asked when the
 * capture ends. */
void capture_stream_gone(struct stream *s)
{
	struct capture *c = s->capture;

	if (!c)
		return;
	if (c->origin == s) {
		graph_drop(c);
		capture_free(c);
		return;
	}
	find(s)->stream = NULL;
	s->capture = NULL;
}

bool ctx_has_capture(struct ctx *c)
{
	struct capture *x;
	bool ret = false;

	if (!ncaptures)
		return false;
	pthread_mutex_lock(&drv_lock);
	for (x = captures; x; x = x->next)
		if (x->origin->ctx == c)
			x->invalid = ret = true;
	pthread_mutex_unlock(&drv_lock);
	return ret;
}

void capture_invalidate(struct stream *s)
{
	pthread_mutex_lock(&drv_lock);
	if (s->capture)
		s->capture->invalid = true;
	pthread_mutex_unlock(&drv_lock);
}

CUresult capture_wait(struct stream *s, struct event *e)
{
	bool event_alive = e->capture && capture_alive(e->capture, e->capture_id);

	if (e->capture && !event_alive)
		return s->capture ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_ERROR_CAPTURED_EVENT;
	if (s->capture && s->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!e->capture) {
		if (!e->recorded)
			return CUDA_SUCCESS;
		s->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (e->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy) {
		e->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (s->capture && s->capture != e->capture) {
		s->capture->invalid = true;
		e->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	return capture_join(e->capture, s, e->deps, e->ndeps);
}

/* --- calls --- */

static CUresult begin(CUstream h, bool ptds, CUstreamCaptureMode mode, struct graph *to,
	const CUgraphNode *deps, size_t n)
{
	struct stream *s;
	CUresult r;

	REQUIRE((unsigned)mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
	TRY_CU(stream_resolve(h, ptds, &s));
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&drv_lock);
	r = capture_begin(s, mode, to, (struct node *const *)deps, (unsigned)n);
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_STREAM(2, cuStreamBeginCapture_v2, _ptsz, CUstream, hStream, CUstreamCaptureMode, mode)
{
	return begin(hStream, ptds, mode, NULL, NULL, 0);
}

DRV_STREAM(6, cuStreamBeginCaptureToGraph, _ptsz, CUstream, hStream, CUgraph, hGraph,
	const CUgraphNode *, dependencies, const CUgraphEdgeData *, dependencyData, size_t,
	numDependencies, CUstreamCaptureMode, mode)
{
	struct graph *g;
	size_t i;

	TRY_CU(graph_resolve(hGraph, &g));
	REQUIRE(!g->capturing && !g->is_child && (dependencies || !numDependencies));
	for (i = 0; i < numDependencies; i++)
		REQUIRE(obj_alive(OBJ_NODE, dependencies[i]) &&
			((struct node *)dependencies[i])->graph == g);
	return begin(hStream, ptds, mode, g, dependencies, numDependencies);
}

DRV_STREAM(2, cuStreamEndCapture, _ptsz, CUstream, hStream, CUgraph *, phGraph)
{
	struct graph *g;
	struct stream *s;
	CUresult r;

	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (phGraph)
		*phGraph = NULL;
	pthread_mutex_lock(&drv_lock);
	r = s->capture && !phGraph ? CUDA_ERROR_INVALID_VALUE : capture_end(s, &g);
	pthread_mutex_unlock(&drv_lock);
	if (r == CUDA_SUCCESS)
		*phGraph = (CUgraph)g;
	return r;
}

/* Whether c forbids unsafe calls on a thread whose mode is m. */
static bool forbids(const struct capture *c, CUstreamCaptureMode m)
{
	if (m == CU_STREAM_CAPTURE_MODE_RELAXED || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (pthread_equal(c->owner, pthread_self()))
		return true;
	return m == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_check_unsafe(void)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&drv_lock);
	for (struct capture *c = captures; c; c = c->next) {
		if (!forbids(c, thread_mode))
			continue;
		c->invalid = true;
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&drv_lock);
	return r;
}

static CUstreamCaptureStatus status_of(const struct stream *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

DRV_STREAM(2, cuStreamIsCapturing, _ptsz, CUstream, hStream, CUstreamCaptureStatus *, captureStatus)
{
	struct stream *s;

	REQUIRE(captureStatus);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	*captureStatus = status_of(s);
	return CUDA_SUCCESS;
}

static CUresult info(CUstream h, bool ptds, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *ndeps)
{
	struct capture_stream *cs;
	struct stream *s;

	REQUIRE(status);
	TRY_CU(stream_resolve(h, ptds, &s));
	pthread_mutex_lock(&drv_lock);
	*status = status_of(s);
	cs = capture_stream_of(s);
	if (cs) {
		if (id)
			*id = s->capture->id;
		if (graph)
			*graph = (CUgraph)s->capture->graph;
		if (deps)
			*deps = (const CUgraphNode *)cs->deps;
		if (edges)
			*edges = NULL;
		if (ndeps)
			*ndeps = cs->ndeps;
	}
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_STREAM(3, cuStreamGetCaptureInfo, _ptsz, CUstream, hStream, CUstreamCaptureStatus *,
	captureStatus_out, cuuint64_t *, id_out)
{
	return info(hStream, ptds, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

DRV_STREAM(6, cuStreamGetCaptureInfo_v2, _ptsz, CUstream, hStream, CUstreamCaptureStatus *,
	captureStatus_out, cuuint64_t *, id_out, CUgraph *, graph_out, const CUgraphNode **,
	dependencies_out, size_t *, numDependencies_out)
{
	return info(hStream, ptds, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
		numDependencies_out);
}

DRV_STREAM(7, cuStreamGetCaptureInfo_v3, _ptsz, CUstream, hStream, CUstreamCaptureStatus *,
	captureStatus_out, cuuint64_t *, id_out, CUgraph *, graph_out, const CUgraphNode **,
	dependencies_out, const CUgraphEdgeData **, edgeData_out, size_t *, numDependencies_out)
{
	return info(hStream, ptds, captureStatus_out, id_out, graph_out, dependencies_out,
		edgeData_out, numDependencies_out);
}

static CUresult update(CUstream h, bool ptds, CUgraphNode *deps, size_t n, unsigned flags)
{
	struct capture_stream *cs;
	struct stream *s;
	CUresult r = CUDA_SUCCESS;
	size_t i;

	REQUIRE(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES && (deps || !n));
	TRY_CU(stream_resolve(h, ptds, &s));
	pthread_mutex_lock(&drv_lock);
	cs = capture_stream_of(s);
	if (!cs)
		r = CUDA_ERROR_ILLEGAL_STATE;
	for (i = 0; i < n && r == CUDA_SUCCESS; i++)
		if (!obj_alive(OBJ_NODE, deps[i]) ||
			((struct node *)deps[i])->graph != s->capture->graph)
			r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		cs->ndeps = 0;
	for (i = 0; i < n && r == CUDA_SUCCESS; i++)
		if (!node_list_add(&cs->deps, &cs->ndeps, (struct node *)deps[i]))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_STREAM(4, cuStreamUpdateCaptureDependencies, _ptsz, CUstream, hStream, CUgraphNode *,
	dependencies, size_t, numDependencies, unsigned int, flags)
{
	return update(hStream, ptds, dependencies, numDependencies, flags);
}

DRV_STREAM(5, cuStreamUpdateCaptureDependencies_v2, _ptsz, CUstream, hStream, CUgraphNode *,
	dependencies, const CUgraphEdgeData *, dependencyData, size_t, numDependencies,
	unsigned int, flags)
{
	return update(hStream, ptds, dependencies, numDependencies, flags);
}

DRV_DEFINE(1, cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *, mode)
{
	CUstreamCaptureMode old = thread_mode;

	REQUIRE(mode && (unsigned)*mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
