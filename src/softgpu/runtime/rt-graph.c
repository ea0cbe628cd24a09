/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture and graphs. The runtime's handles are the driver's, and so are the numbers of
 * every enumeration here, so nearly all of these calls are the driver's call of the same name.
 * Nodes with parameters are in rt-node.c.
 */
#include "softgpu/runtime/rt.h"

#include <stdio.h>

#define SAME_SIZE(ours, drivers) _Static_assert(sizeof(ours) == sizeof(drivers), #ours)

SAME_SIZE(cudaGraphEdgeData, CUgraphEdgeData);
SAME_SIZE(cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_SIZE(cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo);
SAME_SIZE(cudaStreamAttrValue, CUstreamAttrValue);

/* --- capture --- */

RT_FORWARD_PT(cudaStreamBeginCaptureToGraph, v12030, ptsz, v12030,
	(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
		const cudaGraphEdgeData *dependencyData, size_t numDependencies,
		enum cudaStreamCaptureMode mode),
	(stream, graph, dependencies, dependencyData, numDependencies, mode),
	cuStreamBeginCaptureToGraph(rt_stream(stream, def), graph, dependencies,
		(const CUgraphEdgeData *)dependencyData, numDependencies,
		(CUstreamCaptureMode)mode))

RT_FORWARD_PT(cudaStreamBeginCapture, v10000, ptsz, v10000,
	(cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode),
	cuStreamBeginCapture(rt_stream(stream, def), (CUstreamCaptureMode)mode))

RT_FORWARD_PT(cudaStreamEndCapture, v10000, ptsz, v10000,
	(cudaStream_t stream, cudaGraph_t *pGraph), (stream, pGraph),
	cuStreamEndCapture(rt_stream(stream, def), pGraph))

RT_FORWARD_PT(cudaStreamIsCapturing, v10000, ptsz, v10000,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus),
	(stream, pCaptureStatus),
	cuStreamIsCapturing(rt_stream(stream, def), (CUstreamCaptureStatus *)pCaptureStatus))

RT_FORWARD_PT(cudaStreamGetCaptureInfo, v12030, ptsz, v12030,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
		unsigned long long *id_out, cudaGraph_t *graph_out,
		const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
		size_t *numDependencies_out),
	(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
		numDependencies_out),
	cuStreamGetCaptureInfo(rt_stream(stream, def), (CUstreamCaptureStatus *)captureStatus_out,
		(cuuint64_t *)id_out, graph_out, dependencies_out,
		(const CUgraphEdgeData **)edgeData_out, numDependencies_out))

RT_FORWARD_PT(cudaStreamUpdateCaptureDependencies, v12030, ptsz, v12030,
	(cudaStream_t stream, cudaGraphNode_t *dependencies,
		const cudaGraphEdgeData *dependencyData, size_t numDependencies,
		unsigned int flags),
	(stream, dependencies, dependencyData, numDependencies, flags),
	cuStreamUpdateCaptureDependencies(rt_stream(stream, def), dependencies,
		(const CUgraphEdgeData *)dependencyData, numDependencies, flags))

RT_FORWARD(cudaThreadExchangeStreamCaptureMode, v10010, (enum cudaStreamCaptureMode * mode), (mode),
	cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

/* --- graphs --- */

RT_FORWARD(cudaGraphCreate, v10000, (cudaGraph_t * pGraph, unsigned int flags), (pGraph, flags),
	cuGraphCreate(pGraph, flags))

RT_FORWARD(cudaGraphDestroy, v10000, (cudaGraph_t graph), (graph), cuGraphDestroy(graph))

RT_FORWARD(cudaGraphClone, v10000, (cudaGraph_t * pGraphClone, cudaGraph_t originalGraph),
	(pGraphClone, originalGraph), cuGraphClone(pGraphClone, originalGraph))

RT_FORWARD(cudaGraphNodeFindInClone, v10000,
	(cudaGraphNode_t * pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph),
	(pNode, originalNode, clonedGraph),
	cuGraphNodeFindInClone(pNode, originalNode, clonedGraph))

RT_FORWARD(cudaGraphNodeGetType, v10000, (cudaGraphNode_t node, enum cudaGraphNodeType *pType),
	(node, pType), cuGraphNodeGetType(node, (CUgraphNodeType *)pType))

RT_FORWARD(cudaGraphGetNodes, v10000, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes),
	(graph, nodes, numNodes), cuGraphGetNodes(graph, nodes, numNodes))

RT_FORWARD(cudaGraphGetRootNodes, v10000,
	(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes),
	(graph, pRootNodes, pNumRootNodes), cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes))

RT_FORWARD(cudaGraphGetEdges, v12030,
	(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edgeData,
		size_t *numEdges),
	(graph, from, to, edgeData, numEdges),
	cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)edgeData, numEdges))

RT_FORWARD(cudaGraphNodeGetDependencies, v12030,
	(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData,
		size_t *pNumDependencies),
	(node, pDependencies, edgeData, pNumDependencies),
	cuGraphNodeGetDependencies(
		node, pDependencies, (CUgraphEdgeData *)edgeData, pNumDependencies))

RT_FORWARD(cudaGraphNodeGetDependentNodes, v12030,
	(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes, cudaGraphEdgeData *edgeData,
		size_t *pNumDependentNodes),
	(node, pDependentNodes, edgeData, pNumDependentNodes),
	cuGraphNodeGetDependentNodes(
		node, pDependentNodes, (CUgraphEdgeData *)edgeData, pNumDependentNodes))

RT_FORWARD(cudaGraphAddDependencies, v12030,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
		const cudaGraphEdgeData *edgeData, size_t numDependencies),
	(graph, from, to, edgeData, numDependencies),
	cuGraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies))

RT_FORWARD(cudaGraphRemoveDependencies, v12030,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
		const cudaGraphEdgeData *edgeData, size_t numDependencies),
	(graph, from, to, edgeData, numDependencies),
	cuGraphRemoveDependencies(
		graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies))

RT_FORWARD(cudaGraphDestroyNode, v10000, (cudaGraphNode_t node), (node), cuGraphDestroyNode(node))

RT_FORWARD(cudaUserObjectCreate, v11030,
	(cudaUserObject_t * object_out, void *ptr, cudaHostFn_t destroy,
		unsigned int initialRefcount, unsigned int flags),
	(object_out, ptr, destroy, initialRefcount, flags),
	cuUserObjectCreate((CUuserObject *)object_out, ptr, destroy, initialRefcount, flags))
RT_FORWARD(cudaUserObjectRetain, v11030, (cudaUserObject_t object, unsigned int count),
	(object, count), cuUserObjectRetain((CUuserObject)object, count))
RT_FORWARD(cudaUserObjectRelease, v11030, (cudaUserObject_t object, unsigned int count),
	(object, count), cuUserObjectRelease((CUuserObject)object, count))
RT_FORWARD(cudaGraphRetainUserObject, v11030,
	(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
	(graph, object, count, flags),
	cuGraphRetainUserObject(graph, (CUuserObject)object, count, flags))
RT_FORWARD(cudaGraphReleaseUserObject, v11030,
	(cudaGraph_t graph, cudaUserObject_t object, unsigned int count), (graph, object, count),
	cuGraphReleaseUserObject(graph, (CUuserObject)object, count))
RT_FORWARD(cudaGraphExecChildGraphNodeSetParams, v11010,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaGraph_t childGraph),
	(hGraphExec, node, childGraph),
	cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph))
RT_FORWARD(cudaDeviceGraphMemTrim, v11040, (int device), (device), cuDeviceGraphMemTrim(device))
RT_FORWARD(cudaDeviceGetGraphMemAttribute, v11040,
	(int device, enum cudaGraphMemAttributeType attr, void *value), (device, attr, value),
	cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value))
RT_FORWARD(cudaDeviceSetGraphMemAttribute, v11040,
	(int device, enum cudaGraphMemAttributeType attr, void *value), (device, attr, value),
	cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value))
RT_FORWARD(cudaGraphDebugDotPrint, v11030,
	(cudaGraph_t graph, const char *path, unsigned int flags), (graph, path, flags),
	cuGraphDebugDotPrint(graph, path, flags))

/* --- executable graphs --- */

RT_FORWARD(cudaGraphInstantiate, v12000,
	(cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
	(pGraphExec, graph, flags), cuGraphInstantiate(pGraphExec, graph, flags))

RT_FORWARD(cudaGraphInstantiateWithFlags, v11040,
	(cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
	(pGraphExec, graph, flags), cuGraphInstantiate(pGraphExec, graph, flags))

/* The upload stream 0 is the default stream of the caller's kind; the caller's structure keeps what
 * it said. */
static CUresult instantiate(
	cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *p, CUstream def)
{
	cudaStream_t upload;
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	upload = p->uploadStream;
	p->uploadStream = rt_stream(upload, def);
	r = cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)p);
	p->uploadStream = upload;
	return r;
}

RT_FORWARD_PT(cudaGraphInstantiateWithParams, v12000, ptsz, v12000,
	(cudaGraphExec_t * pGraphExec, cudaGraph_t graph,
		cudaGraphInstantiateParams *instantiateParams),
	(pGraphExec, graph, instantiateParams),
	instantiate(pGraphExec, graph, instantiateParams, def))

RT_FORWARD(cudaGraphExecGetFlags, v12000, (cudaGraphExec_t graphExec, unsigned long long *flags),
	(graphExec, flags), cuGraphExecGetFlags(graphExec, (cuuint64_t *)flags))

RT_FORWARD_PT(cudaGraphLaunch, v10000, ptsz, v10000,
	(cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream),
	cuGraphLaunch(graphExec, rt_stream(stream, def)))

RT_FORWARD_PT(cudaGraphUpload, v10000, ptsz, v10000,
	(cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream),
	cuGraphUpload(graphExec, rt_stream(stream, def)))

RT_FORWARD(cudaGraphExecDestroy, v10000, (cudaGraphExec_t graphExec), (graphExec),
	cuGraphExecDestroy(graphExec))

RT_FORWARD(cudaGraphExecUpdate, v10020,
	(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo *resultInfo),
	(hGraphExec, hGraph, resultInfo),
	cuGraphExecUpdate(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo))

RT_FORWARD(cudaGraphNodeSetEnabled, v11060,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled),
	(hGraphExec, hNode, isEnabled), cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled))

RT_FORWARD(cudaGraphNodeGetEnabled, v11060,
	(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled),
	(hGraphExec, hNode, isEnabled), cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled))
