/* SPDX-License-Identifier: Apache-2.0
 *
 * What graph nodes hold: kernels, copies, fills, host functions, child graphs, nothing. Each kind
 * has a way to turn the caller's structure into a command; adding a node, changing it and changing
 * it in an executable graph all use that.
 */
#include "softgpu/memory/array.h"
#include "softgpu/graph/drv-graph.h"

#include <stdlib.h>
#include <string.h>

/* --- structures into commands --- */

static CUresult kernel_op(const CUDA_KERNEL_NODE_PARAMS_v2 *p, struct op *ret)
{
	const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
	const unsigned block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
	struct ctx *c;

	TRY_CU(p->ctx ? ctx_resolve(p->ctx, &c) : ctx_current(&c));
	return func_op(p->func ? p->func : (CUfunction)p->kern, c, grid, block, p->sharedMemBytes,
		false, NULL, p->kernelParams, p->extra, ret);
}

static CUresult kernel_op_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p, struct op *ret)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2 = {
		.func = p->func,
		.gridDimX = p->gridDimX,
		.gridDimY = p->gridDimY,
		.gridDimZ = p->gridDimZ,
		.blockDimX = p->blockDimX,
		.blockDimY = p->blockDimY,
		.blockDimZ = p->blockDimZ,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};

	return kernel_op(&v2, ret);
}

static CUresult copy_op(const CUDA_MEMCPY3D *p, struct op *ret)
{
	*ret = (struct op){.kind = OP_COPY};
	TRY_CU(copy_3d(p, &ret->copy.c));
	if (!ret->copy.c.width || !ret->copy.c.height || !ret->copy.c.depth)
		ret->kind = OP_NOP;
	return CUDA_SUCCESS;
}

static CUresult fill_op(const CUDA_MEMSET_NODE_PARAMS_v1 *p, struct op *ret)
{
	*ret = (struct op){.kind = OP_FILL,
		.fill = {p->dst, p->pitch, p->width, p->height, p->elementSize, p->value}};
	REQUIRE(p->width && p->height);
	return fill_check(&ret->fill);
}

static CUresult host_op(const CUDA_HOST_NODE_PARAMS_v1 *p, struct op *ret)
{
	REQUIRE(p->fn);
	*ret = (struct op){.kind = OP_HOST, .host = {.fn = p->fn, .data = p->userData}};
	return CUDA_SUCCESS;
}

/* --- adding --- */

/* Takes op over. */
static CUresult add(CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n,
	CUgraphNodeType type, struct op *op, struct node **node)
{
	struct graph *g;
	struct node *x;
	CUresult r = graph_resolve(h, &g);
	size_t i;

	if (!ret || (n && !deps))
		r = CUDA_ERROR_INVALID_VALUE;
	for (i = 0; r == CUDA_SUCCESS && i < n; i++)
		if (!obj_alive(OBJ_NODE, deps[i]) || ((struct node *)deps[i])->graph != g)
			r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS) {
		op_release(op);
		return r;
	}
	pthread_mutex_lock(&drv_lock);
	r = node_add(g, type, op, (struct node *const *)deps, n, &x);
	pthread_mutex_unlock(&drv_lock);
	if (r == CUDA_SUCCESS) {
		*ret = (CUgraphNode)x;
		if (node)
			*node = x;
	}
	return r;
}

CUresult graph_add_node(CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n,
	CUgraphNodeType type, struct op *op)
{
	return add(ret, h, deps, n, type, op, NULL);
}

DRV_DEFINE(5, cuGraphAddKernelNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies,
	const CUDA_KERNEL_NODE_PARAMS_v1 *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op_v1(nodeParams, &op));
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		&op, NULL);
}

DRV_DEFINE(5, cuGraphAddKernelNode_v2, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies,
	const CUDA_KERNEL_NODE_PARAMS_v2 *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op(nodeParams, &op));
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		&op, NULL);
}

static CUresult add_copy(
	CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n, const CUDA_MEMCPY3D *p)
{
	struct node *node;
	struct op op;

	REQUIRE(p);
	TRY_CU(copy_op(p, &op));
	TRY_CU(add(ret, h, deps, n, CU_GRAPH_NODE_TYPE_MEMCPY, &op, &node));
	node->copy = *p;
	return CUDA_SUCCESS;
}

DRV_DEFINE(6, cuGraphAddMemcpyNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, const CUDA_MEMCPY3D *,
	copyParams, CUcontext, ctx)
{
	return add_copy(phGraphNode, hGraph, dependencies, numDependencies, copyParams);
}

DRV_DEFINE(6, cuGraphAddMemsetNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, const CUDA_MEMSET_NODE_PARAMS *,
	memsetParams, CUcontext, ctx)
{
	struct op op;

	REQUIRE(memsetParams);
	TRY_CU(fill_op(memsetParams, &op));
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET,
		&op, NULL);
}

DRV_DEFINE(5, cuGraphAddHostNode, CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *,
	dependencies, size_t, numDependencies, const CUDA_HOST_NODE_PARAMS *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(host_op(nodeParams, &op));
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST, &op,
		NULL);
}

DRV_DEFINE(4, cuGraphAddEmptyNode, CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *,
	dependencies, size_t, numDependencies)
{
	struct op op = {.kind = OP_NOP};

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY,
		&op, NULL);
}

static CUresult add_child(
	CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n, CUgraph hchild)
{
	struct op op = {.kind = OP_NOP};
	struct graph *child, *clone;
	struct node *node;
	CUresult r;

	TRY_CU(graph_resolve(hchild, &child));
	REQUIRE(hchild != h);
	if (graph_has_mem(child))
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&drv_lock);
	clone = graph_clone_child(child);
	pthread_mutex_unlock(&drv_lock);
	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = add(ret, h, deps, n, CU_GRAPH_NODE_TYPE_GRAPH, &op, &node);
	if (r == CUDA_SUCCESS) {
		node->child = clone;
		return r;
	}
	pthread_mutex_lock(&drv_lock);
	graph_delete(clone);
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(5, cuGraphAddChildGraphNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, CUgraph, childGraph)
{
	return add_child(phGraphNode, hGraph, dependencies, numDependencies, childGraph);
}

DRV_DEFINE(2, cuGraphChildGraphNodeGetGraph, CUgraphNode, hNode, CUgraph *, phGraph)
{
	struct node *n;

	REQUIRE(phGraph);
	TRY_CU(node_resolve(hNode, &n));
	REQUIRE(n->child);
	*phGraph = (CUgraph)n->child;
	return CUDA_SUCCESS;
}

/* The common form of all kinds. */
static const char *type_name(CUgraphNodeType type)
{
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return "graph nodes that signal or wait for external semaphores";
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return "conditional graph nodes";
	default:
		return "graph nodes of that type";
	}
}

static CUresult any_op(const CUgraphNodeParams *p, struct op *ret)
{
	CUDA_KERNEL_NODE_PARAMS_v2 k;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		k = (CUDA_KERNEL_NODE_PARAMS_v2){
			.func = p->kernel.func,
			.kern = p->kernel.kern,
			.ctx = p->kernel.ctx,
			.gridDimX = p->kernel.gridDimX,
			.gridDimY = p->kernel.gridDimY,
			.gridDimZ = p->kernel.gridDimZ,
			.blockDimX = p->kernel.blockDimX,
			.blockDimY = p->kernel.blockDimY,
			.blockDimZ = p->kernel.blockDimZ,
			.sharedMemBytes = p->kernel.sharedMemBytes,
			.kernelParams = p->kernel.kernelParams,
			.extra = p->kernel.extra,
		};
		return kernel_op(&k, ret);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_op(&p->memcpy.copyParams, ret);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return fill_op((const CUDA_MEMSET_NODE_PARAMS_v1 *)&p->memset, ret);
	case CU_GRAPH_NODE_TYPE_HOST:
		return host_op((const CUDA_HOST_NODE_PARAMS_v1 *)&p->host, ret);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		*ret = (struct op){.kind = OP_NOP};
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_op(OP_EVENT_RECORD, p->eventRecord.event, ret);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return event_op(OP_EVENT_WAIT, p->eventWait.event, ret);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return graph_mem_node_op(&p->alloc.poolProps, p->alloc.bytesize, ret);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return graph_mem_free_op(p->free.dptr, ret);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return batch_op(p->memOp.count, p->memOp.paramArray, p->memOp.flags, ret);
	default:
		drv_say("%s are not supported", type_name(p->type));
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult add_any(
	CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n, CUgraphNodeParams *p)
{
	struct node *node;
	struct op op;

	REQUIRE(p);
	if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return add_child(ret, h, deps, n, p->graph.graph);
	TRY_CU(any_op(p, &op));
	TRY_CU(add(ret, h, deps, n, p->type, &op, &node));
	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		p->alloc.dptr = graph_mem_address(&node->op);
	if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		node->copy = p->memcpy.copyParams;
	return CUDA_SUCCESS;
}

DRV_DEFINE(5, cuGraphAddNode, CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *,
	dependencies, size_t, numDependencies, CUgraphNodeParams *, nodeParams)
{
	return add_any(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

DRV_DEFINE(6, cuGraphAddNode_v2, CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *,
	dependencies, const CUgraphEdgeData *, dependencyData, size_t, numDependencies,
	CUgraphNodeParams *, nodeParams)
{
	CUresult r = CUDA_SUCCESS;
	size_t i;

	for (i = 0; dependencyData && dependencies && nodeParams && i < numDependencies; i++)
		REQUIRE(obj_alive(OBJ_NODE, dependencies[i]) &&
			edge_is_valid((struct node *)dependencies[i], nodeParams->type,
				&dependencyData[i]));
	TRY_CU(add_any(phGraphNode, hGraph, dependencies, numDependencies, nodeParams));
	pthread_mutex_lock(&drv_lock);
	for (i = 0; dependencyData && i < numDependencies && r == CUDA_SUCCESS; i++)
		if (!edge_set((struct node *)*phGraphNode, (struct node *)dependencies[i],
			    &dependencyData[i]))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&drv_lock);
	return r;
}

/* --- reading --- */

static CUresult of_type(CUgraphNode h, CUgraphNodeType type, struct node **ret)
{
	TRY_CU(node_resolve(h, ret));
	REQUIRE((*ret)->type == type);
	return CUDA_SUCCESS;
}

/* The arguments as an array of pointers, valid until the node changes. */
static void **param_ptrs(struct node *n)
{
	const struct ptx_function_info *info = &n->op.kernel.fn->info;
	unsigned i;

	if (n->param_ptrs || !info->nparams)
		return n->param_ptrs;
	n->param_ptrs = calloc(info->nparams, sizeof(void *));
	for (i = 0; n->param_ptrs && i < info->nparams; i++)
		n->param_ptrs[i] = (char *)n->op.kernel.params + info->params[i].offset;
	return n->param_ptrs;
}

DRV_DEFINE(2, cuGraphKernelNodeGetParams_v2, CUgraphNode, hNode, CUDA_KERNEL_NODE_PARAMS_v2 *,
	nodeParams)
{
	struct node *n;

	REQUIRE(nodeParams);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &n));
	*nodeParams = (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = (CUfunction)n->op.kernel.fn,
		.kern = (CUkernel)n->op.kernel.fn->kernel,
		.ctx = (CUcontext)n->op.kernel.fn->module->ctx,
		.gridDimX = n->op.kernel.grid[0],
		.gridDimY = n->op.kernel.grid[1],
		.gridDimZ = n->op.kernel.grid[2],
		.blockDimX = n->op.kernel.block[0],
		.blockDimY = n->op.kernel.block[1],
		.blockDimZ = n->op.kernel.block[2],
		.sharedMemBytes = (unsigned)n->op.kernel.shared,
		.kernelParams = param_ptrs(n),
	};
	return CUDA_SUCCESS;
}

DRV_DEFINE(
	2, cuGraphKernelNodeGetParams, CUgraphNode, hNode, CUDA_KERNEL_NODE_PARAMS_v1 *, nodeParams)
{
	struct node *n;

	REQUIRE(nodeParams);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &n));
	*nodeParams = (CUDA_KERNEL_NODE_PARAMS_v1){
		.func = (CUfunction)n->op.kernel.fn,
		.gridDimX = n->op.kernel.grid[0],
		.gridDimY = n->op.kernel.grid[1],
		.gridDimZ = n->op.kernel.grid[2],
		.blockDimX = n->op.kernel.block[0],
		.blockDimY = n->op.kernel.block[1],
		.blockDimZ = n->op.kernel.block[2],
		.sharedMemBytes = (unsigned)n->op.kernel.shared,
		.kernelParams = param_ptrs(n),
	};
	return CUDA_SUCCESS;
}

/* The array that the address is of, and where in it; false for other memory, and for a row of the
 * copy that does not lie in one of the array's. */
static bool in_array(uint64_t addr, size_t width, CUarray *ret, size_t *x, size_t *y, size_t *z)
{
	struct array *a;

	pthread_mutex_lock(&drv_lock);
	a = array_with(addr);
	if (a && width <= a->image.pitch - (addr - a->image.base) % a->image.pitch) {
		const struct tex_image *m = &a->image;

		*ret = (CUarray)a;
		*x = (addr - m->base) % m->pitch;
		*y = (addr - m->base) % m->slice / m->pitch;
		*z = (addr - m->base) / m->slice;
	} else {
		a = NULL;
	}
	pthread_mutex_unlock(&drv_lock);
	return a;
}

/* A captured copy was never a structure: make one that says the same. */
static CUDA_MEMCPY3D plain_structure(const struct copy *c)
{
	bool dst_host = c->dst_kind == SOFT_MEM_PAGEABLE || c->dst_kind == SOFT_MEM_PINNED;
	bool src_host = c->src_kind == SOFT_MEM_PAGEABLE || c->src_kind == SOFT_MEM_PINNED;

	return (CUDA_MEMCPY3D){
		.dstMemoryType = dst_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = dst_host ? (void *)c->dst : NULL,
		.dstDevice = dst_host ? 0 : c->dst,
		.dstPitch = c->dst_pitch,
		.dstHeight = c->dst_pitch ? c->dst_slice / c->dst_pitch : 0,
		.srcMemoryType = src_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = src_host ? (void *)c->src : NULL,
		.srcDevice = src_host ? 0 : c->src,
		.srcPitch = c->src_pitch,
		.srcHeight = c->src_pitch ? c->src_slice / c->src_pitch : 0,
		.WidthInBytes = c->width,
		.Height = c->height,
		.Depth = c->depth,
	};
}

static CUDA_MEMCPY3D copy_structure(const struct copy *c)
{
	CUDA_MEMCPY3D m = plain_structure(c);

	if (in_array(m.dstDevice, c->width, &m.dstArray, &m.dstXInBytes, &m.dstY, &m.dstZ)) {
		m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		m.dstDevice = 0;
	}
	if (in_array(m.srcDevice, c->width, &m.srcArray, &m.srcXInBytes, &m.srcY, &m.srcZ)) {
		m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		m.srcDevice = 0;
	}
	return m;
}

DRV_DEFINE(2, cuGraphMemcpyNodeGetParams, CUgraphNode, hNode, CUDA_MEMCPY3D *, nodeParams)
{
	struct node *n;

	REQUIRE(nodeParams);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &n));
	*nodeParams = n->copy.srcMemoryType ? n->copy : copy_structure(&n->op.copy.c);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphMemsetNodeGetParams, CUgraphNode, hNode, CUDA_MEMSET_NODE_PARAMS *, nodeParams)
{
	const struct fill *f;
	struct node *n;

	REQUIRE(nodeParams);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &n));
	f = &n->op.fill;
	*nodeParams = (CUDA_MEMSET_NODE_PARAMS){.dst = f->dst,
		.pitch = f->pitch,
		.value = f->value,
		.elementSize = f->elem,
		.width = f->width,
		.height = f->height};
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphHostNodeGetParams, CUgraphNode, hNode, CUDA_HOST_NODE_PARAMS *, nodeParams)
{
	struct node *n;

	REQUIRE(nodeParams);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_HOST, &n));
	*nodeParams = (CUDA_HOST_NODE_PARAMS){.fn = n->op.host.fn, .userData = n->op.host.data};
	return CUDA_SUCCESS;
}

/* --- changing --- */

/* Takes op over. */
static CUresult replace(CUgraphNode h, CUgraphNodeType type, struct op *op, struct node **ret)
{
	CUresult r = of_type(h, type, ret);

	if (r == CUDA_SUCCESS &&
		(type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE))
		r = CUDA_ERROR_NOT_SUPPORTED;
	if (r != CUDA_SUCCESS) {
		op_release(op);
		return r;
	}
	pthread_mutex_lock(&drv_lock);
	op_release(&(*ret)->op);
	free((*ret)->param_ptrs);
	(*ret)->param_ptrs = NULL;
	(*ret)->op = *op;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

CUresult node_op_replace(CUgraphNode h, CUgraphNodeType type, struct op *op)
{
	struct node *n;

	return replace(h, type, op, &n);
}

DRV_DEFINE(2, cuGraphKernelNodeSetParams, CUgraphNode, hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *,
	nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op_v1(nodeParams, &op));
	return replace(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &op, &n);
}

DRV_DEFINE(2, cuGraphKernelNodeSetParams_v2, CUgraphNode, hNode, const CUDA_KERNEL_NODE_PARAMS_v2 *,
	nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op(nodeParams, &op));
	return replace(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &op, &n);
}

DRV_DEFINE(2, cuGraphMemcpyNodeSetParams, CUgraphNode, hNode, const CUDA_MEMCPY3D *, nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(copy_op(nodeParams, &op));
	TRY_CU(replace(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &op, &n));
	n->copy = *nodeParams;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphMemsetNodeSetParams, CUgraphNode, hNode, const CUDA_MEMSET_NODE_PARAMS *,
	nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(fill_op(nodeParams, &op));
	return replace(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &op, &n);
}

DRV_DEFINE(
	2, cuGraphHostNodeSetParams, CUgraphNode, hNode, const CUDA_HOST_NODE_PARAMS *, nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(host_op(nodeParams, &op));
	return replace(hNode, CU_GRAPH_NODE_TYPE_HOST, &op, &n);
}

DRV_DEFINE(2, cuGraphNodeSetParams, CUgraphNode, hNode, CUgraphNodeParams *, nodeParams)
{
	struct node *n;
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(any_op(nodeParams, &op));
	TRY_CU(replace(hNode, nodeParams->type, &op, &n));
	if (nodeParams->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		n->copy = nodeParams->memcpy.copyParams;
	return CUDA_SUCCESS;
}

/* --- changing in executable graphs --- */

DRV_DEFINE(3, cuGraphExecKernelNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_KERNEL_NODE_PARAMS_v1 *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op_v1(nodeParams, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, &op);
}

DRV_DEFINE(3, cuGraphExecKernelNodeSetParams_v2, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_KERNEL_NODE_PARAMS_v2 *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(kernel_op(nodeParams, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, &op);
}

DRV_DEFINE(4, cuGraphExecMemcpyNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_MEMCPY3D *, copyParams, CUcontext, ctx)
{
	struct op op;

	REQUIRE(copyParams);
	TRY_CU(copy_op(copyParams, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &op);
}

DRV_DEFINE(4, cuGraphExecMemsetNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_MEMSET_NODE_PARAMS *, memsetParams, CUcontext, ctx)
{
	struct op op;

	REQUIRE(memsetParams);
	TRY_CU(fill_op(memsetParams, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, &op);
}

DRV_DEFINE(3, cuGraphExecHostNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_HOST_NODE_PARAMS *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(host_op(nodeParams, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, &op);
}

DRV_DEFINE(3, cuGraphExecNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	CUgraphNodeParams *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(any_op(nodeParams, &op));
	return exec_step_replace(hGraphExec, hNode, nodeParams->type, &op);
}

/* --- attributes of kernel nodes: hints, and cooperative --- */

DRV_DEFINE(2, cuGraphKernelNodeCopyAttributes, CUgraphNode, dst, CUgraphNode, src)
{
	struct node *a, *b;

	TRY_CU(of_type(dst, CU_GRAPH_NODE_TYPE_KERNEL, &a));
	TRY_CU(of_type(src, CU_GRAPH_NODE_TYPE_KERNEL, &b));
	a->op.kernel.cooperative = b->op.kernel.cooperative;
	memcpy(a->op.kernel.cluster, b->op.kernel.cluster, sizeof(a->op.kernel.cluster));
	a->op.kernel.priority = b->op.kernel.priority;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphKernelNodeGetAttribute, CUgraphNode, hNode, CUkernelNodeAttrID, attr,
	CUkernelNodeAttrValue *, value_out)
{
	struct node *n;

	REQUIRE(value_out);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &n));
	memset(value_out, 0, sizeof(*value_out));
	if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value_out->cooperative = n->op.kernel.cooperative;
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value_out->priority = n->op.kernel.priority;
	if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		value_out->clusterDim.x = n->op.kernel.cluster[0];
		value_out->clusterDim.y = n->op.kernel.cluster[1];
		value_out->clusterDim.z = n->op.kernel.cluster[2];
	}
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphKernelNodeSetAttribute, CUgraphNode, hNode, CUkernelNodeAttrID, attr,
	const CUkernelNodeAttrValue *, value)
{
	struct node *n;

	REQUIRE(value);
	TRY_CU(of_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &n));
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		n->op.kernel.cooperative = value->cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
		const unsigned asked[3] = {
			value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};

		return func_cluster(
			n->op.kernel.fn, asked, n->op.kernel.grid, n->op.kernel.cluster);
	}
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		n->op.kernel.priority = value->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return CUDA_SUCCESS;
	default:
		drv_say("attribute %d of kernel nodes is not supported", (int)attr);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
