/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's calls about nodes of graphs, one kind after the other: what a launch then does with
 * memory, what a node answers when it is asked, what a changed node or executable does instead, and
 * the error for an argument that is wrong ("CUDA Runtime API", Graph Management).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locks-held.h"

/* Calls that the headers mark as deprecated must work, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, cudaSuccess)
#define IS(call, code) assert_int_equal(call, cudaError##code)

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
	size_t size, int constant, int global);
void __cudaUnregisterFatBinary(void **handle);

static char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 8 .b8 v[64];\n"
	".visible .entry put(.param .u64 p, .param .u32 n) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p]; ld.param.u32 %r, [n]; st.global.u32 [%d], %r; ret; }\n";
static char symbol, stranger; /* host names of the variable and of nothing */
static void **registered;
static cudaLibrary_t library;
static cudaKernel_t put;
static cudaStream_t stream;
static uint8_t *memory; /* 256 bytes on the device */
static uint8_t host[256], back[256];

static int start(void **state)
{
	registered = __cudaRegisterFatBinary(ptx);
	__cudaRegisterVar(registered, &symbol, NULL, "v", 0, 64, 0, 0);
	OK(cudaSetDevice(0));
	OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryGetKernel(&put, library, "put"));
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc((void **)&memory, 256));
	for (unsigned k = 0; k < 256; k++)
		host[k] = (uint8_t)(k * 7 + 1);
	return 0;
}

static int stop(void **state)
{
	OK(cudaFree(memory));
	OK(cudaStreamDestroy(stream));
	OK(cudaLibraryUnload(library));
	__cudaUnregisterFatBinary(registered);
	__cudaUnregisterFatBinary(registered + 1000); /* of nobody */
	return 0;
}

static cudaGraph_t new_graph(void)
{
	cudaGraph_t g;

	OK(cudaGraphCreate(&g, 0));
	return g;
}

static void launch(cudaGraphExec_t e)
{
	OK(cudaGraphLaunch(e, stream));
	OK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t executable(cudaGraph_t g)
{
	cudaGraphExec_t e;

	OK(cudaGraphInstantiateWithFlags(&e, g, 0));
	return e;
}

static void launch_once(cudaGraph_t g)
{
	cudaGraphExec_t e = executable(g);

	launch(e);
	OK(cudaGraphExecDestroy(e));
}

static void clear(void)
{
	OK(cudaMemset(memory, 0, 256));
	memset(back, 0, sizeof(back));
	OK(cudaMemcpyToSymbol(&symbol, back, 64, 0, cudaMemcpyHostToDevice));
}

/* The variable's bytes are host's at this place, and zeros around them. */
static void variable_has(size_t at, size_t n, const uint8_t *from)
{
	uint8_t want[64] = {0}, got[64];

	memcpy(want + at, from, n);
	OK(cudaMemcpyFromSymbolAsync(got, &symbol, 64, 0, cudaMemcpyDeviceToHost, stream));
	OK(cudaStreamSynchronize(stream));
	assert_memory_equal(got, want, 64);
}

/* --- copies to and from a variable --- */
static void test_to_symbol(void **state)
{
	cudaGraph_t g = new_graph();
	cudaGraphNode_t node;
	cudaGraphExec_t e;

	clear();
	OK(cudaGraphAddMemcpyNodeToSymbol(
		&node, g, NULL, 0, &symbol, host, 16, 8, cudaMemcpyHostToDevice));
	e = executable(g);
	launch(e);
	variable_has(8, 16, host);
	clear();
	OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(
		e, node, &symbol, host + 5, 16, 40, cudaMemcpyHostToDevice));
	launch(e);
	variable_has(40, 16, host + 5);
	clear();
	OK(cudaGraphMemcpyNodeSetParamsToSymbol(
		node, &symbol, host + 9, 4, 60, cudaMemcpyHostToDevice));
	launch_once(g);
	variable_has(60, 4, host + 9);
	IS(cudaGraphAddMemcpyNodeToSymbol(
		   &node, g, NULL, 0, &symbol, host, 16, 49, cudaMemcpyHostToDevice),
		InvalidValue);
	IS(cudaGraphAddMemcpyNodeToSymbol(
		   &node, g, NULL, 0, &stranger, host, 16, 0, cudaMemcpyHostToDevice),
		InvalidSymbol);
	IS(cudaGraphAddMemcpyNodeToSymbol(
		   &node, g, NULL, 0, &symbol, host, 16, 0, cudaMemcpyDeviceToHost),
		InvalidMemcpyDirection);
	IS(cudaGraphMemcpyNodeSetParamsToSymbol(node, &symbol, host, 4, 61, cudaMemcpyHostToDevice),
		InvalidValue);
	IS(cudaGraphExecMemcpyNodeSetParamsToSymbol(
		   e, node, &stranger, host, 4, 0, cudaMemcpyHostToDevice),
		InvalidSymbol);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

static void test_from_symbol(void **state)
{
	cudaGraph_t g = new_graph();
	cudaGraphNode_t node;
	cudaGraphExec_t e;

	clear();
	OK(cudaMemcpyToSymbol(&symbol, host, 64, 0, cudaMemcpyHostToDevice));
	OK(cudaGraphAddMemcpyNodeFromSymbol(
		&node, g, NULL, 0, back, &symbol, 16, 8, cudaMemcpyDeviceToHost));
	e = executable(g);
	launch(e);
	assert_memory_equal(back, host + 8, 16);
	assert_int_equal(back[16], 0);
	OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(
		e, node, back + 32, &symbol, 16, 3, cudaMemcpyDeviceToHost));
	launch(e);
	assert_memory_equal(back + 32, host + 3, 16);
	OK(cudaGraphMemcpyNodeSetParamsFromSymbol(
		node, back + 64, &symbol, 8, 56, cudaMemcpyDeviceToHost));
	launch_once(g);
	assert_memory_equal(back + 64, host + 56, 8);
	IS(cudaGraphAddMemcpyNodeFromSymbol(
		   &node, g, NULL, 0, back, &symbol, 16, 49, cudaMemcpyDeviceToHost),
		InvalidValue);
	IS(cudaGraphMemcpyNodeSetParamsFromSymbol(
		   node, back, &stranger, 8, 0, cudaMemcpyDeviceToHost),
		InvalidSymbol);
	IS(cudaGraphExecMemcpyNodeSetParamsFromSymbol(
		   e, node, back, &symbol, 8, 0, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	IS(cudaMemcpyFromSymbolAsync(back, &symbol, 60, 5, cudaMemcpyDeviceToHost, stream),
		InvalidValue);
	OK(cudaMemcpyFromSymbolAsync(back, &symbol, 0, 64, cudaMemcpyDeviceToHost, stream));
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

/* --- copies --- */
static struct cudaMemcpy3DParms rectangle(void *dst, const void *src, enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){.srcPtr = {(void *)(uintptr_t)src, 16, 16, 4},
		.dstPtr = {dst, 32, 32, 4},
		.srcPos = {2, 1, 0},
		.dstPos = {3, 2, 0},
		.extent = {5, 2, 1},
		.kind = kind};
}

/* Two rows of five bytes of host, in rows of 16, in rows of 32 now. */
static void rectangle_is_there(void)
{
	uint8_t want[256] = {0}, got[256];

	for (unsigned row = 0; row < 2; row++)
		memcpy(want + 32 * (2 + row) + 3, host + 16 * (1 + row) + 2, 5);
	OK(cudaMemcpy(got, memory, 256, cudaMemcpyDeviceToHost));
	assert_memory_equal(got, want, 256);
}

static void test_copies(void **state)
{
	struct cudaMemcpy3DParms p = rectangle(memory, host, cudaMemcpyHostToDevice), q;
	cudaGraph_t g = new_graph();
	cudaGraphNode_t node;
	cudaGraphExec_t e;

	clear();
	OK(cudaGraphAddMemcpyNode(&node, g, NULL, 0, &p));
	e = executable(g);
	launch(e);
	rectangle_is_there();
	memset(&q, 0xee, sizeof(q));
	OK(cudaGraphMemcpyNodeGetParams(node, &q));
	assert_true(q.srcPos.x == 2 && q.srcPos.y == 1 && q.srcPos.z == 0);
	assert_true(q.dstPos.x == 3 && q.dstPos.y == 2 && q.dstPos.z == 0);
	assert_true(q.srcPtr.ptr == host && q.srcPtr.pitch == 16 && q.srcPtr.ysize == 4);
	assert_true(q.dstPtr.ptr == memory && q.dstPtr.pitch == 32 && q.dstPtr.ysize == 4);
	assert_true(q.extent.width == 5 && q.extent.height == 2 && q.extent.depth == 1);
	assert_int_equal(q.kind, cudaMemcpyHostToDevice);
	assert_true(!q.srcArray && !q.dstArray);
	clear();
	OK(cudaGraphExecMemcpyNodeSetParams1D(
		e, node, memory + 4, host + 8, 12, cudaMemcpyHostToDevice));
	launch(e);
	OK(cudaMemcpy(back, memory, 20, cudaMemcpyDeviceToHost));
	assert_memory_equal(back + 4, host + 8, 12);
	assert_true(!back[3] && !back[16]);
	clear();
	OK(cudaGraphExecMemcpyNodeSetParams(e, node, &p));
	launch(e);
	rectangle_is_there();
	OK(cudaGraphMemcpyNodeSetParams1D(node, back, memory, 6, cudaMemcpyDeviceToHost));
	OK(cudaGraphMemcpyNodeGetParams(node, &q));
	assert_int_equal(q.kind, cudaMemcpyDeviceToHost);
	assert_true(q.dstPtr.ptr == back && q.srcPtr.ptr == memory && q.extent.width == 6);
	OK(cudaGraphMemcpyNodeSetParams1D(node, memory, memory + 128, 6, cudaMemcpyDeviceToDevice));
	OK(cudaGraphMemcpyNodeGetParams(node, &q));
	assert_int_equal(q.kind, cudaMemcpyDeviceToDevice);
	OK(cudaGraphMemcpyNodeSetParams1D(node, back, host, 6, cudaMemcpyHostToHost));
	OK(cudaGraphMemcpyNodeGetParams(node, &q));
	assert_int_equal(q.kind, cudaMemcpyHostToHost);
	OK(cudaGraphMemcpyNodeSetParams1D(node, memory, host, 6, cudaMemcpyDefault));
	OK(cudaGraphMemcpyNodeGetParams(node, &q));
	assert_int_equal(q.kind, cudaMemcpyDefault);
	OK(cudaGraphMemcpyNodeSetParams(node, &p));
	clear();
	launch_once(g);
	rectangle_is_there();
	IS(cudaGraphMemcpyNodeGetParams(node, NULL), InvalidValue);
	IS(cudaGraphMemcpyNodeSetParams(node, NULL), InvalidValue);
	IS(cudaGraphExecMemcpyNodeSetParams(e, node, NULL), InvalidValue);
	IS(cudaGraphAddMemcpyNode(&node, g, NULL, 0, NULL), InvalidValue);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

/* A peer's memory is a device's. */
static void test_copies_without_graphs(void **state)
{
	struct cudaMemcpy3DPeerParms p = {.dstPtr = {memory, 32, 32, 4},
		.srcPos = {2, 1, 0},
		.dstPos = {3, 2, 0},
		.extent = {5, 2, 1}};
	void *from;

	OK(cudaMalloc(&from, 64));
	OK(cudaMemcpy(from, host, 64, cudaMemcpyHostToDevice));
	p.srcPtr = (struct cudaPitchedPtr){from, 16, 16, 4};
	clear();
	OK(cudaMemcpy3DPeer(&p));
	rectangle_is_there();
	clear();
	OK(cudaMemcpy3DPeerAsync(&p, stream));
	OK(cudaStreamSynchronize(stream));
	rectangle_is_there();
	OK(cudaFree(from));
	IS(cudaMemcpy3DPeer(NULL), InvalidValue);
	IS(cudaMemcpy3DPeerAsync(NULL, stream), InvalidValue);
	clear();
	OK(cudaMemset2DAsync(memory + 1, 32, 0x5a, 3, 2, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemcpy(back, memory, 256, cudaMemcpyDeviceToHost));
	for (unsigned k = 0; k < 256; k++)
		assert_int_equal(back[k], k < 64 && k % 32 >= 1 && k % 32 < 4 ? 0x5a : 0);
	(void)cudaGetLastError();
}

/* --- fills, host functions, kernels --- */
static void count_up(void *arg)
{
	++*(int *)arg;
}

static void test_fills_and_functions(void **state)
{
	struct cudaMemsetParams fill = {
		.dst = memory, .elementSize = 2, .width = 3, .height = 1, .value = 0x1234};
	int calls[2] = {0};
	struct cudaHostNodeParams h = {.fn = count_up, .userData = &calls[0]}, asked = {0};
	cudaGraph_t g = new_graph();
	cudaGraphNode_t set, fn;
	cudaGraphExec_t e;
	unsigned on = 7;

	clear();
	OK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &fill));
	OK(cudaGraphAddHostNode(&fn, g, &set, 1, &h));
	OK(cudaGraphHostNodeGetParams(fn, &asked));
	assert_true(asked.fn == count_up && asked.userData == &calls[0]);
	e = executable(g);
	launch(e);
	assert_int_equal(calls[0], 1);
	OK(cudaMemcpy(back, memory, 8, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, "\x34\x12\x34\x12\x34\x12\0", 8);
	fill.value = 0x4321;
	OK(cudaGraphExecMemsetNodeSetParams(e, set, &fill));
	h.userData = &calls[1];
	OK(cudaGraphExecHostNodeSetParams(e, fn, &h));
	launch(e);
	assert_true(calls[0] == 1 && calls[1] == 1);
	OK(cudaMemcpy(back, memory, 8, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, "\x21\x43\x21\x43\x21\x43\0", 8);
	OK(cudaGraphHostNodeSetParams(fn, &h));
	launch_once(g);
	assert_true(calls[0] == 1 && calls[1] == 2);
	/* a node that is switched off does nothing */
	OK(cudaGraphNodeGetEnabled(e, set, &on));
	assert_int_equal(on, 1);
	OK(cudaGraphNodeSetEnabled(e, set, 0));
	OK(cudaGraphNodeGetEnabled(e, set, &on));
	assert_int_equal(on, 0);
	clear();
	launch(e);
	OK(cudaMemcpy(back, memory, 2, cudaMemcpyDeviceToHost));
	assert_true(!back[0] && calls[1] == 3);
	IS(cudaGraphHostNodeGetParams(set, &asked), InvalidValue);
	IS(cudaGraphHostNodeSetParams(fn, NULL), InvalidValue);
	IS(cudaGraphExecHostNodeSetParams(e, fn, NULL), InvalidValue);
	IS(cudaGraphExecMemsetNodeSetParams(e, set, NULL), InvalidValue);
	IS(cudaGraphAddHostNode(&fn, g, NULL, 0, NULL), InvalidValue);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

static void test_kernels(void **state)
{
	uint32_t n = 5;
	void *args[] = {&memory, &n};
	struct cudaKernelNodeParams k = {
		.func = put, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
	cudaKernelNodeAttrValue v = {.priority = -3}, got = {0};
	cudaGraph_t g = new_graph();
	cudaGraphNode_t a, b;

	clear();
	OK(cudaGraphAddKernelNode(&a, g, NULL, 0, &k));
	n = 6;
	OK(cudaGraphAddKernelNode(&b, g, &a, 1, &k));
	OK(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, &v));
	OK(cudaGraphKernelNodeGetAttribute(a, cudaLaunchAttributePriority, &got));
	assert_int_equal(got.priority, -3);
	OK(cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributePriority, &got));
	assert_int_equal(got.priority, 0);
	OK(cudaGraphKernelNodeCopyAttributes(b, a));
	OK(cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributePriority, &got));
	assert_int_equal(got.priority, -3);
	launch_once(g);
	OK(cudaMemcpy(back, memory, 4, cudaMemcpyDeviceToHost));
	assert_int_equal(back[0], 6);
	IS(cudaGraphKernelNodeGetAttribute(a, cudaLaunchAttributePriority, NULL), InvalidValue);
	IS(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, NULL), InvalidValue);
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

/* --- edges --- */
static void test_edges(void **state)
{
	cudaGraph_t g = new_graph(), child = new_graph(), copy, inner;
	cudaGraphNode_t a, b, c, k, found[4];
	size_t n = 4;

	OK(cudaGraphAddEmptyNode(&a, g, NULL, 0));
	OK(cudaGraphAddEmptyNode(&b, g, NULL, 0));
	OK(cudaGraphAddEmptyNode(&c, g, &a, 1));
	OK(cudaGraphGetRootNodes(g, found, &n));
	assert_true(n == 2 && found[0] == a && found[1] == b);
	OK(cudaGraphAddDependencies(g, &b, &c, NULL, 1));
	n = 4;
	OK(cudaGraphNodeGetDependencies(c, found, NULL, &n));
	assert_true(n == 2 && found[0] == a && found[1] == b);
	n = 4;
	OK(cudaGraphNodeGetDependentNodes(b, found, NULL, &n));
	assert_true(n == 1 && found[0] == c);
	OK(cudaGraphRemoveDependencies(g, &a, &c, NULL, 1));
	n = 0;
	OK(cudaGraphNodeGetDependencies(c, NULL, NULL, &n));
	assert_int_equal(n, 1);
	OK(cudaGraphClone(&copy, g));
	OK(cudaGraphNodeFindInClone(&k, c, copy));
	n = 4;
	OK(cudaGraphNodeGetDependencies(k, found, NULL, &n));
	assert_int_equal(n, 1);
	assert_true(k != c && found[0] != b);
	OK(cudaGraphDestroyNode(a));
	n = 4;
	OK(cudaGraphGetRootNodes(g, found, &n));
	assert_true(n == 1 && found[0] == b);
	OK(cudaGraphAddEmptyNode(&a, child, NULL, 0));
	OK(cudaGraphAddChildGraphNode(&k, g, &c, 1, child));
	OK(cudaGraphChildGraphNodeGetGraph(k, &inner));
	assert_ptr_not_equal(inner, child); /* a copy */
	n = 0;
	OK(cudaGraphGetNodes(inner, NULL, &n));
	assert_int_equal(n, 1);
	IS(cudaGraphNodeFindInClone(&k, a, copy), InvalidValue);
	IS(cudaGraphGetRootNodes(g, found, NULL), InvalidValue);
	IS(cudaGraphAddDependencies(g, &c, &c, NULL, 1), InvalidValue);
	IS(cudaGraphRemoveDependencies(g, &c, &b, NULL, 1), InvalidValue);
	OK(cudaGraphDestroy(copy));
	OK(cudaGraphDestroy(child));
	OK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

static void test_children(void **state)
{
	struct cudaMemsetParams fill = {
		.dst = memory, .elementSize = 1, .width = 4, .height = 1, .value = 9};
	cudaGraph_t g = new_graph(), child = new_graph();
	cudaGraphNode_t set, node;
	cudaGraphExec_t e;

	clear();
	OK(cudaGraphAddMemsetNode(&set, child, NULL, 0, &fill));
	OK(cudaGraphAddChildGraphNode(&node, g, NULL, 0, child));
	e = executable(g);
	fill.value = 8;
	OK(cudaGraphMemsetNodeSetParams(set, &fill));
	launch(e);
	OK(cudaMemcpy(back, memory, 4, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, "\x9\x9\x9\x9", 4);
	OK(cudaGraphExecChildGraphNodeSetParams(e, node, child));
	launch(e);
	OK(cudaMemcpy(back, memory, 4, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, "\x8\x8\x8\x8", 4);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(child));
	OK(cudaGraphDestroy(g));
}

/* --- events --- */
static void test_events(void **state)
{
	cudaGraph_t g = new_graph();
	cudaEvent_t one, two, got;
	cudaGraphNode_t record, wait;
	cudaGraphExec_t e;

	OK(cudaEventCreate(&one));
	OK(cudaEventCreate(&two));
	OK(cudaGraphAddEventRecordNode(&record, g, NULL, 0, one));
	OK(cudaGraphAddEventWaitNode(&wait, g, &record, 1, one));
	OK(cudaGraphEventRecordNodeGetEvent(record, &got));
	assert_ptr_equal(got, one);
	OK(cudaGraphEventRecordNodeSetEvent(record, two));
	OK(cudaGraphEventRecordNodeGetEvent(record, &got));
	assert_ptr_equal(got, two);
	OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
	assert_ptr_equal(got, one);
	OK(cudaGraphEventWaitNodeSetEvent(wait, two));
	OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
	assert_ptr_equal(got, two);
	e = executable(g);
	OK(cudaGraphExecEventRecordNodeSetEvent(e, record, one));
	OK(cudaGraphExecEventWaitNodeSetEvent(e, wait, one));
	launch(e);
	OK(cudaEventRecordWithFlags(two, stream, cudaEventRecordDefault));
	OK(cudaEventSynchronize(two));
	float ms = -1;
	OK(cudaEventElapsedTime(&ms, one, two)); /* both were recorded */
	assert_true(ms >= 0);
	IS(cudaGraphEventRecordNodeGetEvent(record, NULL), InvalidValue);
	IS(cudaGraphEventWaitNodeGetEvent(record, &got), InvalidValue);
	IS(cudaGraphEventRecordNodeSetEvent(record, NULL), InvalidValue);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	OK(cudaEventDestroy(one));
	OK(cudaEventDestroy(two));
	(void)cudaGetLastError();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_symbol),
		cmocka_unit_test(test_from_symbol),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_copies_without_graphs),
		cmocka_unit_test(test_fills_and_functions),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
