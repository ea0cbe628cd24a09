/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that graphs allocate and free: "CUDA C++ Programming Guide", Graph Memory Nodes. An
 * allocation has its address as soon as its node is made, so the memory is taken then. It is given
 * back when neither the node, nor an executable graph, nor the program can use it any more; the
 * program owns what a launch allocated and did not free. Touching it while no launch has allocated
 * it is not noticed.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FILL_LIMIT (64ull << 20)
#define FILL_BYTE 0xA5

struct graph_mem {
	struct graph_mem *next;
	_Atomic int refs; /* nodes, steps, launches' ops; and one while live */
	uint64_t addr;	  /* 0: its context has gone */
	size_t size;
	struct ctx *ctx;
	int dev;
	bool live; /* a launch allocated it and it is not freed yet; guarded by mems_lock */
};

static struct graph_mem *mems; /* guarded by mems_lock, which is taken inside drv_lock */
static pthread_mutex_t mems_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t used, used_high; /* bytes */

void graph_mem_ref(struct graph_mem *m)
{
	atomic_fetch_add(&m->refs, 1);
}

static void unref_locked(struct graph_mem *m)
{
	struct graph_mem **at;

	if (atomic_fetch_sub(&m->refs, 1) != 1)
		return;
	for (at = &mems; *at != m; at = &(*at)->next)
		;
	*at = m->next;
	used -= m->size;
	if (m->addr)
		mem_free(m->addr);
	free(m);
}

void graph_mem_unref(struct graph_mem *m)
{
	pthread_mutex_lock(&mems_lock);
	unref_locked(m);
	pthread_mutex_unlock(&mems_lock);
}

/* With a reference, or NULL. */
static struct graph_mem *find(uint64_t addr)
{
	struct graph_mem *m;

	pthread_mutex_lock(&mems_lock);
	for (m = mems; m && (!addr || m->addr != addr); m = m->next)
		;
	if (m)
		graph_mem_ref(m);
	pthread_mutex_unlock(&mems_lock);
	return m;
}

static struct graph_mem *mem_new(struct ctx *c, size_t size)
{
	struct graph_mem *m = calloc(1, sizeof(*m));
	const struct mem_range *r =
		m ? mem_alloc_on((unsigned)c->dev, MEM_DEVICE, size, 0, c->uid) : NULL;

	if (!r) {
		free(m);
		return NULL;
	}
	*m = (struct graph_mem){.refs = 1, .addr = r->start, .size = size, .ctx = c, .dev = c->dev};
	pthread_mutex_lock(&mems_lock);
	m->next = mems;
	mems = m;
	used += size;
	if (used > used_high)
		used_high = used;
	pthread_mutex_unlock(&mems_lock);
	return m;
}

CUresult graph_mem_alloc_op(struct ctx *c, size_t size, struct op *ret)
{
	REQUIRE(size);
	*ret = (struct op){.kind = OP_MEM_ALLOC, .mem = mem_new(c, size)};
	if (!ret->mem) {
		ret->kind = OP_NOP;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult graph_mem_free_op(uint64_t addr, struct op *ret)
{
	*ret = (struct op){.kind = OP_MEM_FREE, .mem = find(addr)};
	if (!ret->mem) {
		ret->kind = OP_NOP;
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

uint64_t graph_mem_address(const struct op *op)
{
	return op->mem->addr;
}

void graph_mem_run(const struct op *op)
{
	if (op->kind == OP_MEM_ALLOC && op->mem->addr && op->mem->size <= FILL_LIMIT)
		memset((void *)op->mem->addr, FILL_BYTE, op->mem->size);
}

static bool frees(const struct graph_exec *e, const struct graph_mem *m)
{
	unsigned i;

	for (i = 0; i < e->nsteps; i++)
		if (e->steps[i].op.kind == OP_MEM_FREE && e->steps[i].op.mem == m)
			return true;
	return false;
}

/* What a launch changes, as the program sees it: at the call, for streams order the rest. */
CUresult graph_mem_launch(struct graph_exec *e)
{
	CUresult r = CUDA_SUCCESS;
	unsigned i;

	if (!e->has_mem)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&mems_lock);
	for (i = 0; i < e->nsteps; i++)
		if (e->steps[i].op.kind == OP_MEM_ALLOC && e->steps[i].op.mem->live &&
			!(e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
			r = CUDA_ERROR_INVALID_VALUE;
	for (i = 0; r == CUDA_SUCCESS && i < e->nsteps; i++) {
		struct graph_mem *m = e->steps[i].op.mem;

		if (e->steps[i].op.kind == OP_MEM_ALLOC && !m->live && !frees(e, m)) {
			m->live = true;
			graph_mem_ref(m);
		} else if (e->steps[i].op.kind == OP_MEM_FREE && m->live) {
			m->live = false;
			unref_locked(m);
		}
	}
	pthread_mutex_unlock(&mems_lock);
	return r;
}

/* In stream order: a command keeps the memory until everything before it has run. */
bool graph_mem_forget_async(uint64_t addr, struct stream *s, CUresult *ret)
{
	struct op op = {.kind = OP_MEM_FREE, .mem = find(addr)};

	if (!op.mem)
		return false;
	pthread_mutex_lock(&mems_lock);
	*ret = op.mem->live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (op.mem->live) {
		op.mem->live = false;
		unref_locked(op.mem); /* not the last: op has one */
	}
	pthread_mutex_unlock(&mems_lock);
	if (*ret == CUDA_SUCCESS)
		*ret = stream_submit(s, &op, NULL, false, true);
	else
		graph_mem_unref(op.mem);
	return true;
}

/* The program frees what a launch allocated, after c's work: false when addr is no graph's. */
bool graph_mem_forget(uint64_t addr, struct ctx *c, CUresult *ret)
{
	struct graph_mem *m = find(addr);

	if (!m)
		return false;
	ctx_drain(c);
	pthread_mutex_lock(&mems_lock);
	*ret = m->live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (m->live) {
		m->live = false;
		unref_locked(m);
	}
	unref_locked(m);
	pthread_mutex_unlock(&mems_lock);
	return true;
}

bool graph_has_mem(const struct graph *g)
{
	unsigned i;

	for (i = 0; i < g->nnodes; i++)
		if (g->nodes[i]->op.kind == OP_MEM_ALLOC || g->nodes[i]->op.kind == OP_MEM_FREE)
			return true;
	return false;
}

/* Caller holds drv_lock: the context goes, and its memory with it. */
void graph_mems_delete_of(struct ctx *c)
{
	struct graph_mem *m, *next;

	pthread_mutex_lock(&mems_lock);
	for (m = mems; m; m = next) {
		next = m->next;
		if (m->ctx != c)
			continue;
		mem_free(m->addr); /* graphs that outlive the context must not free what is there
				      later */
		m->addr = 0;
		m->ctx = NULL;
		if (m->live) {
			m->live = false;
			unref_locked(m);
		}
	}
	pthread_mutex_unlock(&mems_lock);
}

/* --- nodes --- */

CUresult graph_mem_node_op(const CUmemPoolProps *pool, size_t size, struct op *ret)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	REQUIRE(pool->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
		pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
	REQUIRE(pool->handleTypes == CU_MEM_HANDLE_TYPE_NONE);
	TRY_CU(device_check(pool->location.id));
	return graph_mem_alloc_op(c, size, ret);
}

DRV_DEFINE(5, cuGraphAddMemAllocNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *,
	nodeParams)
{
	struct op op;
	uint64_t addr;

	REQUIRE(nodeParams);
	TRY_CU(graph_mem_node_op(&nodeParams->poolProps, nodeParams->bytesize, &op));
	addr = op.mem->addr;
	TRY_CU(graph_add_node(phGraphNode, hGraph, dependencies, numDependencies,
		CU_GRAPH_NODE_TYPE_MEM_ALLOC, &op));
	nodeParams->dptr = addr;
	return CUDA_SUCCESS;
}

DRV_DEFINE(5, cuGraphAddMemFreeNode, CUgraphNode *, phGraphNode, CUgraph, hGraph,
	const CUgraphNode *, dependencies, size_t, numDependencies, CUdeviceptr, dptr)
{
	struct op op;

	TRY_CU(graph_mem_free_op(dptr, &op));
	return graph_add_node(phGraphNode, hGraph, dependencies, numDependencies,
		CU_GRAPH_NODE_TYPE_MEM_FREE, &op);
}

DRV_DEFINE(2, cuGraphMemAllocNodeGetParams, CUgraphNode, hNode, CUDA_MEM_ALLOC_NODE_PARAMS *,
	params_out)
{
	struct node *n;

	REQUIRE(params_out);
	TRY_CU(node_resolve(hNode, &n));
	REQUIRE(n->op.kind == OP_MEM_ALLOC);
	*params_out = (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = n->op.mem->dev}},
		.bytesize = n->op.mem->size,
		.dptr = n->op.mem->addr,
	};
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuGraphMemFreeNodeGetParams, CUgraphNode, hNode, CUdeviceptr *, dptr_out)
{
	struct node *n;

	REQUIRE(dptr_out);
	TRY_CU(node_resolve(hNode, &n));
	REQUIRE(n->op.kind == OP_MEM_FREE);
	*dptr_out = n->op.mem->addr;
	return CUDA_SUCCESS;
}

/* --- questions --- */

/* Nothing is kept: what is reserved is what is used. */
DRV_DEFINE(1, cuDeviceGraphMemTrim, CUdevice, device)
{
	return device_check(device);
}

DRV_DEFINE(3, cuDeviceGetGraphMemAttribute, CUdevice, device, CUgraphMem_attribute, attr, void *,
	value)
{
	bool high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
		    attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;

	REQUIRE(value && (unsigned)attr <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
	TRY_CU(device_check(device));
	pthread_mutex_lock(&mems_lock);
	*(cuuint64_t *)value = high ? used_high : used;
	pthread_mutex_unlock(&mems_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuDeviceSetGraphMemAttribute, CUdevice, device, CUgraphMem_attribute, attr, void *,
	value)
{
	REQUIRE(value && (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
				 attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH));
	REQUIRE(*(cuuint64_t *)value == 0);
	TRY_CU(device_check(device));
	pthread_mutex_lock(&mems_lock);
	used_high = used;
	pthread_mutex_unlock(&mems_lock);
	return CUDA_SUCCESS;
}
