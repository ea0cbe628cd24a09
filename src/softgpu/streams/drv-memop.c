/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory operations of streams in batches, and as nodes of graphs; batches of copies; and what a
 * batch of advice about managed memory amounts to here. Single operations are in drv-stream.c.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BATCH 256u /* "CUDA Driver API", cuStreamBatchMemOp: count must be less than this */

static CUresult one_op(const CUstreamBatchMemOpParams *p, struct op *ret)
{
	bool wait = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
		    p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	bool wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
		    p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;

	*ret = (struct op){.kind = OP_NOP};
	switch (p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		/* both structures have the same fields */
		return value_op_check(wait ? OP_WAIT_VALUE : OP_WRITE_VALUE, p->waitValue.address,
			wide ? p->waitValue.value64 : p->waitValue.value, wide ? 8 : 4,
			p->waitValue.flags, ret);
	case CU_STREAM_MEM_OP_BARRIER: /* commands of a stream see one another's writes anyway */
		REQUIRE(p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
		return CUDA_SUCCESS;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: /* CAN_FLUSH_REMOTE_WRITES is 0 */
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult batch_op(
	unsigned n, const CUstreamBatchMemOpParams *params, unsigned flags, struct op *ret)
{
	unsigned i;

	REQUIRE(n && n < MAX_BATCH && params && !flags);
	*ret = (struct op){.kind = OP_BATCH, .batch = {calloc(n, sizeof(struct op)), n}};
	if (!ret->batch.list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 0; i < n; i++) {
		CUresult r = one_op(&params[i], &ret->batch.list[i]);

		if (r != CUDA_SUCCESS) {
			op_release(ret);
			return r;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult batch(
	CUstream h, bool ptds, unsigned n, const CUstreamBatchMemOpParams *params, unsigned flags)
{
	struct stream *s;
	struct op op;

	TRY_CU(stream_resolve(h, ptds, &s));
	TRY_CU(batch_op(n, params, flags, &op));
	return stream_submit(s, &op, NULL, false, true);
}

DRV_STREAM(4, cuStreamBatchMemOp_v2, _ptsz, CUstream, stream, unsigned int, count,
	CUstreamBatchMemOpParams *, paramArray, unsigned int, flags)
{
	return batch(stream, ptds, count, paramArray, flags);
}

/* --- nodes --- */

DRV_DEFINE(5, cuGraphAddBatchMemOpNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(batch_op(nodeParams->count, nodeParams->paramArray, nodeParams->flags, &op));
	return graph_add_node(phGraphNode, hGraph, dependencies, numDependencies,
		CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &op);
}

static CUstreamBatchMemOpParams params_of(const struct op *op)
{
	bool wait = op->kind == OP_WAIT_VALUE, wide = op->value.bytes == 8;
	CUstreamBatchMemOpParams p;

	memset(&p, 0, sizeof(p));
	if (op->kind == OP_NOP) {
		p.operation = CU_STREAM_MEM_OP_BARRIER;
		return p;
	}
	p.waitValue.operation =
		wait   ? wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32
		: wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64
		       : CU_STREAM_MEM_OP_WRITE_VALUE_32;
	p.waitValue.address = op->value.addr;
	p.waitValue.value64 = op->value.value;
	p.waitValue.flags = op->value.flags;
	return p;
}

/* The array belongs to the node and lives as long as it does. */
DRV_DEFINE(2, cuGraphBatchMemOpNodeGetParams, CUgraphNode, hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *,
	nodeParams_out)
{
	CUstreamBatchMemOpParams *list;
	const struct op *ops;
	struct node *n;
	unsigned i, count;

	REQUIRE(nodeParams_out);
	TRY_CU(node_resolve(hNode, &n));
	REQUIRE(n->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
	ops = n->op.kind == OP_BATCH ? n->op.batch.list : &n->op;
	count = n->op.kind == OP_BATCH ? n->op.batch.n : 1;
	list = realloc(n->param_ptrs, count * sizeof(*list));
	if (!list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->param_ptrs = (void **)list;
	for (i = 0; i < count; i++)
		list[i] = params_of(&ops[i]);
	*nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = count, .paramArray = list};
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphBatchMemOpNodeSetParams, CUgraphNode, hNode,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(batch_op(nodeParams->count, nodeParams->paramArray, nodeParams->flags, &op));
	return node_op_replace(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &op);
}

DRV_DEFINE(3, cuGraphExecBatchMemOpNodeSetParams, CUgraphExec, hGraphExec, CUgraphNode, hNode,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *, nodeParams)
{
	struct op op;

	REQUIRE(nodeParams);
	TRY_CU(batch_op(nodeParams->count, nodeParams->paramArray, nodeParams->flags, &op));
	return exec_step_replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &op);
}

/* --- batches of copies: hints about where memory is, and when a source is read, change nothing ---
 */

static CUresult copies(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *idxs, size_t nattrs, size_t *fail, CUstream h, bool ptds)
{
	size_t i;

	REQUIRE(dsts && srcs && sizes && count && attrs && idxs && nattrs && nattrs <= count &&
		!idxs[0]);
	for (i = 0; i < nattrs; i++)
		REQUIRE(attrs[i].srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
			attrs[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
			idxs[i] < count && (!i || idxs[i] > idxs[i - 1]));
	if (!h && !ptds) /* "CUDA Driver API": not the legacy default stream */
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++) {
		CUresult r =
			copy_bytes(dsts[i], SIDE_ANY, srcs[i], SIDE_ANY, sizes[i], h, ptds, true);

		if (r != CUDA_SUCCESS) {
			if (fail)
				*fail = i;
			return r;
		}
	}
	return CUDA_SUCCESS;
}

DRV_STREAM(8, cuMemcpyBatchAsync_v2, _ptsz, CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *,
	sizes, size_t, count, CUmemcpyAttributes *, attrs, size_t *, attrsIdxs, size_t, numAttrs,
	CUstream, hStream)
{
	return copies(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, hStream, ptds);
}

DRV_STREAM(9, cuMemcpyBatchAsync, _ptsz, CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *, sizes,
	size_t, count, CUmemcpyAttributes *, attrs, size_t *, attrsIdxs, size_t, numAttrs, size_t *,
	failIdx, CUstream, hStream)
{
	return copies(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream, ptds);
}

/* --- batches about managed memory: there is one memory, so nothing moves --- */

static CUresult managed(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
	CUstream h, bool ptds)
{
	struct stream *s;
	size_t i;

	REQUIRE(ptrs && sizes && count && !flags);
	TRY_CU(stream_resolve(h, ptds, &s));
	for (i = 0; i < count; i++) {
		const struct mem_range *r = mem_covers(ptrs[i], sizes[i]);

		REQUIRE(sizes[i] && r && r->kind == MEM_MANAGED);
	}
	return CUDA_SUCCESS;
}

static CUresult places(CUmemLocation *locs, size_t *idxs, size_t n, size_t count)
{
	size_t i;

	REQUIRE(locs && idxs && n && n <= count && !idxs[0]);
	for (i = 0; i < n; i++) {
		REQUIRE(idxs[i] < count && (!i || idxs[i] > idxs[i - 1]));
		TRY_CU(location_check(&locs[i]));
	}
	return CUDA_SUCCESS;
}

DRV_STREAM(8, cuMemPrefetchBatchAsync, _ptsz, CUdeviceptr *, dptrs, size_t *, sizes, size_t, count,
	CUmemLocation *, prefetchLocs, size_t *, prefetchLocIdxs, size_t, numPrefetchLocs,
	unsigned long long, flags, CUstream, hStream)
{
	TRY_CU(places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count));
	return managed(dptrs, sizes, count, flags, hStream, ptds);
}

/* What is discarded is undefined from then on: leaving it is one way. */
DRV_STREAM(5, cuMemDiscardBatchAsync, _ptsz, CUdeviceptr *, dptrs, size_t *, sizes, size_t, count,
	unsigned long long, flags, CUstream, hStream)
{
	return managed(dptrs, sizes, count, flags, hStream, ptds);
}

DRV_STREAM(8, cuMemDiscardAndPrefetchBatchAsync, _ptsz, CUdeviceptr *, dptrs, size_t *, sizes,
	size_t, count, CUmemLocation *, prefetchLocs, size_t *, prefetchLocIdxs, size_t,
	numPrefetchLocs, unsigned long long, flags, CUstream, hStream)
{
	TRY_CU(places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count));
	return managed(dptrs, sizes, count, flags, hStream, ptds);
}
