/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes with parameters. The runtime names a kernel by its host function and a copy by struct
 * cudaMemcpy3DParms; the driver has structures of its own for both. Fills, host functions and
 * allocations look alike on both sides.
 *
 * cudaGraphAddNode and cudaGraphExecNodeSetParams (one structure for every kind of node) go to the
 * call of their kind.
 */
#include "softgpu/runtime/rt.h"

#include <string.h>

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "fill nodes");
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "host nodes");
_Static_assert(
	sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "alloc nodes");

static CUcontext context(void)
{
	CUcontext ctx = NULL;

	cuCtxGetCurrent(&ctx);
	return ctx;
}

/* --- kernels --- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	CUkernel k;

	if (!p)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(p->func, &k));
	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
		.kern = k,
	};
	return cudaSuccess;
}

static cudaError_t kernel_params_back(
	const CUDA_KERNEL_NODE_PARAMS *p, struct cudaKernelNodeParams *ret)
{
	const void *host = rt_kernel_host(p->kern, p->func);

	if (!host)
		return cudaErrorInvalidDeviceFunction;
	*ret = (struct cudaKernelNodeParams){
		.func = (void *)host,
		.gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return cudaSuccess;
}

static cudaError_t add_kernel(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *deps,
	size_t ndeps, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;

	RT_TRY(kernel_params(params, &p));
	return rt_error(cuGraphAddKernelNode(ret, graph, deps, ndeps, &p));
}

static cudaError_t exec_set_kernel(
	cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;

	RT_TRY(kernel_params(params, &p));
	return rt_error(cuGraphExecKernelNodeSetParams(exec, node, &p));
}

RT_API(cudaGraphAddKernelNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams),
	(pGraphNode, graph, pDependencies, numDependencies, pNodeParams))
{
	return add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams);
}

RT_API(cudaGraphKernelNodeGetParams, v10000,
	(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams), (node, pNodeParams))
{
	CUDA_KERNEL_NODE_PARAMS p = {0};

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuGraphKernelNodeGetParams(node, &p)));
	return kernel_params_back(&p, pNodeParams);
}

RT_API(cudaGraphKernelNodeSetParams, v10000,
	(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams), (node, pNodeParams))
{
	CUDA_KERNEL_NODE_PARAMS p;

	RT_TRY(kernel_params(pNodeParams, &p));
	return rt_error(cuGraphKernelNodeSetParams(node, &p));
}

RT_API(cudaGraphExecKernelNodeSetParams, v10010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
		const struct cudaKernelNodeParams *pNodeParams),
	(hGraphExec, node, pNodeParams))
{
	return exec_set_kernel(hGraphExec, node, pNodeParams);
}

/* The runtime's launch attributes are the driver's since CUDA 12. */
_Static_assert(sizeof(cudaKernelNodeAttrValue) == sizeof(CUkernelNodeAttrValue), "attributes");

RT_FORWARD(cudaGraphKernelNodeGetAttribute, v11000,
	(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr, cudaKernelNodeAttrValue *value_out),
	(hNode, attr, value_out),
	cuGraphKernelNodeGetAttribute(
		hNode, (CUkernelNodeAttrID)attr, (CUkernelNodeAttrValue *)value_out))

RT_FORWARD(cudaGraphKernelNodeSetAttribute, v11000,
	(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr, const cudaKernelNodeAttrValue *value),
	(hNode, attr, value),
	cuGraphKernelNodeSetAttribute(
		hNode, (CUkernelNodeAttrID)attr, (const CUkernelNodeAttrValue *)value))

RT_FORWARD(cudaGraphKernelNodeCopyAttributes, v11000, (cudaGraphNode_t hDst, cudaGraphNode_t hSrc),
	(hDst, hSrc), cuGraphKernelNodeCopyAttributes(hDst, hSrc))

/* --- copies --- */

static struct cudaMemcpy3DParms flat(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = {(void *)src, count, count, 1},
		.dstPtr = {dst, count, count, 1},
		.extent = {count, 1, 1},
		.kind = kind,
	};
}

/* host: the side that is not the symbol */
static cudaError_t to_symbol(const void *symbol, const void *host, size_t count, size_t offset,
	enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *ret)
{
	CUdeviceptr d;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyHostToDevice, &d));
	*ret = flat((void *)d, host, count, kind);
	return cudaSuccess;
}

static cudaError_t from_symbol(void *host, const void *symbol, size_t count, size_t offset,
	enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *ret)
{
	CUdeviceptr s;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyDeviceToHost, &s));
	*ret = flat(host, (void *)s, count, kind);
	return cudaSuccess;
}

static cudaError_t add_copy(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *deps,
	size_t ndeps, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(params, &c));
	return rt_error(cuGraphAddMemcpyNode(ret, graph, deps, ndeps, &c, context()));
}

static cudaError_t set_copy(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(params, &c));
	return rt_error(cuGraphMemcpyNodeSetParams(node, &c));
}

static cudaError_t exec_set_copy(
	cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(params, &c));
	return rt_error(cuGraphExecMemcpyNodeSetParams(exec, node, &c, context()));
}

RT_API(cudaGraphAddMemcpyNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, const struct cudaMemcpy3DParms *pCopyParams),
	(pGraphNode, graph, pDependencies, numDependencies, pCopyParams))
{
	return add_copy(pGraphNode, graph, pDependencies, numDependencies, pCopyParams);
}

RT_API(cudaGraphAddMemcpyNode1D, v11010,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, void *dst, const void *src, size_t count,
		enum cudaMemcpyKind kind),
	(pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind))
{
	const struct cudaMemcpy3DParms p = flat(dst, src, count, kind);

	return add_copy(pGraphNode, graph, pDependencies, numDependencies, &p);
}

RT_API(cudaGraphAddMemcpyNodeToSymbol, v11010,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, const void *symbol, const void *src, size_t count,
		size_t offset, enum cudaMemcpyKind kind),
	(pGraphNode, graph, pDependencies, numDependencies, symbol, src, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(to_symbol(symbol, src, count, offset, kind, &p));
	return add_copy(pGraphNode, graph, pDependencies, numDependencies, &p);
}

RT_API(cudaGraphAddMemcpyNodeFromSymbol, v11010,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, void *dst, const void *symbol, size_t count, size_t offset,
		enum cudaMemcpyKind kind),
	(pGraphNode, graph, pDependencies, numDependencies, dst, symbol, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(from_symbol(dst, symbol, count, offset, kind, &p));
	return add_copy(pGraphNode, graph, pDependencies, numDependencies, &p);
}

static enum cudaMemcpyKind kind_of(CUmemorytype src, CUmemorytype dst)
{
	bool from_host = src == CU_MEMORYTYPE_HOST, to_host = dst == CU_MEMORYTYPE_HOST;

	if (src == CU_MEMORYTYPE_UNIFIED || dst == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	return from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
			 : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

RT_API(cudaGraphMemcpyNodeGetParams, v10000,
	(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams), (node, pNodeParams))
{
	CUDA_MEMCPY3D c;
	void *src, *dst;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuGraphMemcpyNodeGetParams(node, &c)));
	src = c.srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)c.srcHost : (void *)c.srcDevice;
	dst = c.dstMemoryType == CU_MEMORYTYPE_HOST ? c.dstHost : (void *)c.dstDevice;
	*pNodeParams = (struct cudaMemcpy3DParms){
		.srcPos = {c.srcXInBytes, c.srcY, c.srcZ},
		.srcPtr = {src, c.srcPitch, c.WidthInBytes, c.srcHeight},
		.dstPos = {c.dstXInBytes, c.dstY, c.dstZ},
		.dstPtr = {dst, c.dstPitch, c.WidthInBytes, c.dstHeight},
		.extent = {c.WidthInBytes, c.Height, c.Depth},
		.kind = kind_of(c.srcMemoryType, c.dstMemoryType),
	};
	return cudaSuccess;
}

RT_API(cudaGraphMemcpyNodeSetParams, v10000,
	(cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams), (node, pNodeParams))
{
	return set_copy(node, pNodeParams);
}

RT_API(cudaGraphMemcpyNodeSetParams1D, v11010,
	(cudaGraphNode_t node, void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	(node, dst, src, count, kind))
{
	const struct cudaMemcpy3DParms p = flat(dst, src, count, kind);

	return set_copy(node, &p);
}

RT_API(cudaGraphMemcpyNodeSetParamsToSymbol, v11010,
	(cudaGraphNode_t node, const void *symbol, const void *src, size_t count, size_t offset,
		enum cudaMemcpyKind kind),
	(node, symbol, src, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(to_symbol(symbol, src, count, offset, kind, &p));
	return set_copy(node, &p);
}

RT_API(cudaGraphMemcpyNodeSetParamsFromSymbol, v11010,
	(cudaGraphNode_t node, void *dst, const void *symbol, size_t count, size_t offset,
		enum cudaMemcpyKind kind),
	(node, dst, symbol, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(from_symbol(dst, symbol, count, offset, kind, &p));
	return set_copy(node, &p);
}

RT_API(cudaGraphExecMemcpyNodeSetParams, v10020,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
		const struct cudaMemcpy3DParms *pNodeParams),
	(hGraphExec, node, pNodeParams))
{
	return exec_set_copy(hGraphExec, node, pNodeParams);
}

RT_API(cudaGraphExecMemcpyNodeSetParams1D, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src, size_t count,
		enum cudaMemcpyKind kind),
	(hGraphExec, node, dst, src, count, kind))
{
	const struct cudaMemcpy3DParms p = flat(dst, src, count, kind);

	return exec_set_copy(hGraphExec, node, &p);
}

RT_API(cudaGraphExecMemcpyNodeSetParamsToSymbol, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const void *symbol, const void *src,
		size_t count, size_t offset, enum cudaMemcpyKind kind),
	(hGraphExec, node, symbol, src, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(to_symbol(symbol, src, count, offset, kind, &p));
	return exec_set_copy(hGraphExec, node, &p);
}

RT_API(cudaGraphExecMemcpyNodeSetParamsFromSymbol, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *symbol,
		size_t count, size_t offset, enum cudaMemcpyKind kind),
	(hGraphExec, node, dst, symbol, count, offset, kind))
{
	struct cudaMemcpy3DParms p;

	RT_TRY(from_symbol(dst, symbol, count, offset, kind, &p));
	return exec_set_copy(hGraphExec, node, &p);
}

/* --- fills, host functions, allocations, graphs, events: the driver's structures under other names
 * --- */

RT_FORWARD(cudaGraphAddMemsetNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, const struct cudaMemsetParams *pMemsetParams),
	(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams),
	cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies,
		(const CUDA_MEMSET_NODE_PARAMS *)pMemsetParams, context()))

RT_FORWARD(cudaGraphMemsetNodeGetParams, v10000,
	(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams), (node, pNodeParams),
	cuGraphMemsetNodeGetParams(node, (CUDA_MEMSET_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphMemsetNodeSetParams, v10000,
	(cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams), (node, pNodeParams),
	cuGraphMemsetNodeSetParams(node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphExecMemsetNodeSetParams, v10020,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
		const struct cudaMemsetParams *pNodeParams),
	(hGraphExec, node, pNodeParams),
	cuGraphExecMemsetNodeSetParams(
		hGraphExec, node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams, context()))

RT_FORWARD(cudaGraphAddHostNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, const struct cudaHostNodeParams *pNodeParams),
	(pGraphNode, graph, pDependencies, numDependencies, pNodeParams),
	cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies,
		(const CUDA_HOST_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphHostNodeGetParams, v10000,
	(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams), (node, pNodeParams),
	cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphHostNodeSetParams, v10000,
	(cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams), (node, pNodeParams),
	cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphExecHostNodeSetParams, v10020,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
		const struct cudaHostNodeParams *pNodeParams),
	(hGraphExec, node, pNodeParams),
	cuGraphExecHostNodeSetParams(hGraphExec, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams))

RT_FORWARD(cudaGraphAddMemAllocNode, v11040,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, struct cudaMemAllocNodeParams *nodeParams),
	(pGraphNode, graph, pDependencies, numDependencies, nodeParams),
	cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
		(CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams))

RT_FORWARD(cudaGraphMemAllocNodeGetParams, v11040,
	(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out), (node, params_out),
	cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out))

RT_FORWARD(cudaGraphAddMemFreeNode, v11040,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, void *dptr),
	(pGraphNode, graph, pDependencies, numDependencies, dptr),
	cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies, (CUdeviceptr)dptr))

RT_FORWARD(cudaGraphMemFreeNodeGetParams, v11040, (cudaGraphNode_t node, void *dptr_out),
	(node, dptr_out), cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)dptr_out))

RT_FORWARD(cudaGraphAddEmptyNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies),
	(pGraphNode, graph, pDependencies, numDependencies),
	cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies))

RT_FORWARD(cudaGraphAddChildGraphNode, v10000,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, cudaGraph_t childGraph),
	(pGraphNode, graph, pDependencies, numDependencies, childGraph),
	cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraph))

RT_FORWARD(cudaGraphChildGraphNodeGetGraph, v10000, (cudaGraphNode_t node, cudaGraph_t *pGraph),
	(node, pGraph), cuGraphChildGraphNodeGetGraph(node, pGraph))

RT_FORWARD(cudaGraphAddEventRecordNode, v11010,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, cudaEvent_t event),
	(pGraphNode, graph, pDependencies, numDependencies, event),
	cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event))

RT_FORWARD(cudaGraphAddEventWaitNode, v11010,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		size_t numDependencies, cudaEvent_t event),
	(pGraphNode, graph, pDependencies, numDependencies, event),
	cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event))

RT_FORWARD(cudaGraphEventRecordNodeGetEvent, v11010, (cudaGraphNode_t node, cudaEvent_t *event_out),
	(node, event_out), cuGraphEventRecordNodeGetEvent(node, event_out))

RT_FORWARD(cudaGraphEventRecordNodeSetEvent, v11010, (cudaGraphNode_t node, cudaEvent_t event),
	(node, event), cuGraphEventRecordNodeSetEvent(node, event))

RT_FORWARD(cudaGraphEventWaitNodeGetEvent, v11010, (cudaGraphNode_t node, cudaEvent_t *event_out),
	(node, event_out), cuGraphEventWaitNodeGetEvent(node, event_out))

RT_FORWARD(cudaGraphEventWaitNodeSetEvent, v11010, (cudaGraphNode_t node, cudaEvent_t event),
	(node, event), cuGraphEventWaitNodeSetEvent(node, event))

RT_FORWARD(cudaGraphExecEventRecordNodeSetEvent, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event),
	(hGraphExec, hNode, event), cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event))

RT_FORWARD(cudaGraphExecEventWaitNodeSetEvent, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event),
	(hGraphExec, hNode, event), cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event))

/* --- any kind of node --- */

static bool plain_edges(const cudaGraphEdgeData *edges, size_t n)
{
	static const cudaGraphEdgeData plain;

	for (size_t i = 0; edges && i < n; i++) {
		if (memcmp(&edges[i], &plain, sizeof plain) != 0)
			return false;
	}
	return true;
}

static struct cudaKernelNodeParams kernel_of(const struct cudaKernelNodeParamsV2 *p)
{
	return (struct cudaKernelNodeParams){
		.func = p->func,
		.gridDim = p->gridDim,
		.blockDim = p->blockDim,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
}

static CUDA_MEMSET_NODE_PARAMS fill_of(const struct cudaMemsetParamsV2 *p)
{
	return (CUDA_MEMSET_NODE_PARAMS){
		.dst = (CUdeviceptr)p->dst,
		.pitch = p->pitch,
		.value = p->value,
		.elementSize = p->elementSize,
		.width = p->width,
		.height = p->height,
	};
}

static cudaError_t add_behind(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *deps,
	const cudaGraphEdgeData *edges, size_t n, const struct cudaGraphNodeParams *p);

RT_API(cudaGraphAddNode, v12030,
	(cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
		const cudaGraphEdgeData *dependencyData, size_t numDependencies,
		struct cudaGraphNodeParams *nodeParams),
	(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams))
{
	const cudaGraphNode_t *d = pDependencies;
	size_t n = numDependencies;
	struct cudaGraphNodeParams *p = nodeParams;
	struct cudaKernelNodeParams k;
	CUDA_MEMSET_NODE_PARAMS f;

	if (!p)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	if (!plain_edges(dependencyData, n))
		return add_behind(pGraphNode, graph, d, dependencyData, n, p);
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		k = kernel_of(&p->kernel);
		return add_kernel(pGraphNode, graph, d, n, &k);
	case cudaGraphNodeTypeMemcpy:
		return add_copy(pGraphNode, graph, d, n, &p->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		f = fill_of(&p->memset);
		return rt_error(cuGraphAddMemsetNode(pGraphNode, graph, d, n, &f, context()));
	case cudaGraphNodeTypeHost:
		return rt_error(cuGraphAddHostNode(pGraphNode, graph, d, n,
			&(CUDA_HOST_NODE_PARAMS){p->host.fn, p->host.userData}));
	case cudaGraphNodeTypeGraph:
		return rt_error(cuGraphAddChildGraphNode(pGraphNode, graph, d, n, p->graph.graph));
	case cudaGraphNodeTypeEmpty:
		return rt_error(cuGraphAddEmptyNode(pGraphNode, graph, d, n));
	case cudaGraphNodeTypeWaitEvent:
		return rt_error(
			cuGraphAddEventWaitNode(pGraphNode, graph, d, n, p->eventWait.event));
	case cudaGraphNodeTypeEventRecord:
		return rt_error(
			cuGraphAddEventRecordNode(pGraphNode, graph, d, n, p->eventRecord.event));
	case cudaGraphNodeTypeMemAlloc:
		return rt_error(cuGraphAddMemAllocNode(
			pGraphNode, graph, d, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc));
	case cudaGraphNodeTypeMemFree:
		return rt_error(
			cuGraphAddMemFreeNode(pGraphNode, graph, d, n, (CUdeviceptr)p->free.dptr));
	default:
		return rt_refuse("cudaGraphAddNode", "this type of node is");
	}
}

RT_API(cudaGraphExecNodeSetParams, v12020,
	(cudaGraphExec_t graphExec, cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams),
	(graphExec, node, nodeParams))
{
	struct cudaGraphNodeParams *p = nodeParams;
	struct cudaKernelNodeParams k;
	CUDA_MEMSET_NODE_PARAMS f;

	if (!p)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		k = kernel_of(&p->kernel);
		return exec_set_kernel(graphExec, node, &k);
	case cudaGraphNodeTypeMemcpy:
		return exec_set_copy(graphExec, node, &p->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		f = fill_of(&p->memset);
		return rt_error(cuGraphExecMemsetNodeSetParams(graphExec, node, &f, context()));
	case cudaGraphNodeTypeHost:
		return rt_error(cuGraphExecHostNodeSetParams(
			graphExec, node, &(CUDA_HOST_NODE_PARAMS){p->host.fn, p->host.userData}));
	default:
		return rt_refuse("cudaGraphExecNodeSetParams", "this type of node is");
	}
}

RT_API(cudaGraphNodeSetParams, v12020,
	(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams), (node, nodeParams))
{
	struct cudaGraphNodeParams *p = nodeParams;
	struct cudaKernelNodeParams k;
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS f;

	if (!p)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		k = kernel_of(&p->kernel);
		RT_TRY(kernel_params(&k, &kernel));
		return rt_error(cuGraphKernelNodeSetParams(node, &kernel));
	case cudaGraphNodeTypeMemcpy:
		return set_copy(node, &p->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		f = fill_of(&p->memset);
		return rt_error(cuGraphMemsetNodeSetParams(node, &f));
	case cudaGraphNodeTypeHost:
		return rt_error(cuGraphHostNodeSetParams(
			node, &(CUDA_HOST_NODE_PARAMS){p->host.fn, p->host.userData}));
	default:
		return rt_refuse("cudaGraphNodeSetParams", "this type of node is");
	}
}

/* Programmatic edges are between kernel nodes. */
static cudaError_t add_behind(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *deps,
	const cudaGraphEdgeData *edges, size_t n, const struct cudaGraphNodeParams *p)
{
	struct cudaKernelNodeParams k = kernel_of(&p->kernel);
	cudaGraphNode_t node;
	cudaError_t r;

	if (p->type != cudaGraphNodeTypeKernel || !ret || !deps)
		return cudaErrorInvalidValue;
	RT_TRY(add_kernel(&node, graph, NULL, 0, &k));
	for (size_t i = 0; i < n; i++) {
		r = rt_error(cuGraphAddDependencies_v2(
			graph, &deps[i], &node, (const CUgraphEdgeData *)&edges[i], 1));
		if (r != cudaSuccess) {
			(void)cuGraphDestroyNode(node);
			return r;
		}
	}
	*ret = node;
	return cudaSuccess;
}
