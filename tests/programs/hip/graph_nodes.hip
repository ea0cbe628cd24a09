// SPDX-License-Identifier: Apache-2.0
//
// A graph with nodes of every type that HIP 5.2 has but functions of the host, built by calls, and
// every change that HIP 5.2 takes: of the graph before it is instantiated, of what was made from
// it. (It has calls to change a child graph, a copy to a variable, and a whole graph with such
// copies, and they fail.) The argument is module_code.co. Prints what each launch computes.
#include "hip_check.h"

__device__ unsigned word;

__global__ void add(unsigned *v, unsigned by)
{
	v[threadIdx.x] += by;
}

__global__ void add_word(unsigned *v)
{
	v[threadIdx.x] += word;
}

enum { N = 32 };

static unsigned *v, *rows, host[N], square[4][4], seen[2][N];
static hipEvent_t before, after;
static hipStream_t s;

static hipKernelNodeParams kernel(void *f, void **args)
{
	hipKernelNodeParams p = {};

	p.func = f;
	p.gridDim = dim3(1);
	p.blockDim = dim3(N);
	p.kernelParams = args;
	return p;
}

static hipMemsetParams fill(unsigned value)
{
	hipMemsetParams p = {};

	p.dst = v;
	p.value = value;
	p.elementSize = 4;
	p.width = N;
	p.height = 1;
	return p;
}

/* 4 rows of 4 words out of 8 words each, from or to the host's square. */
static hipMemcpy3DParms rectangle(bool to_host)
{
	hipMemcpy3DParms p = {};

	p.extent = make_hipExtent(16, 4, 1);
	p.kind = to_host ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice;
	(to_host ? p.srcPtr : p.dstPtr) = make_hipPitchedPtr(rows, 32, 32, 4);
	(to_host ? p.dstPtr : p.srcPtr) = make_hipPitchedPtr(square, 16, 16, 4);
	return p;
}

static hipGraph_t child(unsigned by)
{
	void *args[] = {&v, &by};
	hipKernelNodeParams p = kernel((void *)add, args);
	hipGraphNode_t node, copied;
	hipGraph_t g;

	HIP(hipGraphCreate(&g, 0));
	HIP(hipGraphAddKernelNode(&node, g, NULL, 0, &p));
	HIP(hipGraphAddMemcpyNode1D(&copied, g, &node, 1, rows, v, 16, hipMemcpyDeviceToDevice));
	return g;
}

struct built {
	hipGraph_t graph, inner;
	hipGraphNode_t wait, fill, to, kernel, module, child, from, there, rows, empty, record;
};

/* v = value, + by, + 1 of the module's kernel, + nested, + the word, which is copied before if that is
 * wanted (HIP 5.2 updates no graph with such a copy); one node behind the other. */
static struct built build(hipFunction_t f, unsigned value, unsigned by, unsigned nested, bool symbols)
{
	struct {
		unsigned *v;
		unsigned pitch;
	} block = {v, 1};
	size_t size = sizeof(block);
	void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 HIP_LAUNCH_PARAM_END};
	void *args[] = {&v, &by}, *one[] = {&v};
	hipKernelNodeParams p = kernel((void *)add, args), q = kernel((void *)add_word, one), m = {};
	hipMemsetParams set = fill(value);
	hipMemcpy3DParms rectangular = rectangle(true);
	hipGraphNode_t gone, word_added;
	struct built b;

	m.func = (void *)f;
	m.gridDim = dim3(1);
	m.blockDim = dim3(8);
	m.extra = extra;
	b.inner = child(nested);
	HIP(hipGraphCreate(&b.graph, 0));
	HIP(hipGraphAddEventWaitNode(&b.wait, b.graph, NULL, 0, before));
	HIP(hipGraphAddMemsetNode(&b.fill, b.graph, &b.wait, 1, &set));
	b.to = b.fill;
	if (symbols)
		HIP(hipGraphAddMemcpyNodeToSymbol(
			&b.to, b.graph, &b.fill, 1, &word, &host[3], 4, 0, hipMemcpyHostToDevice));
	HIP(hipGraphAddKernelNode(&b.kernel, b.graph, &b.to, 1, &p));
	HIP(hipGraphAddKernelNode(&b.module, b.graph, &b.kernel, 1, &m));
	HIP(hipGraphAddChildGraphNode(&b.child, b.graph, &b.module, 1, b.inner));
	HIP(hipGraphAddKernelNode(&word_added, b.graph, &b.child, 1, &q));
	b.from = word_added;
	if (symbols)
		HIP(hipGraphAddMemcpyNodeFromSymbol(&b.from, b.graph, &word_added, 1, &seen[0][1],
			&word, 4, 0, hipMemcpyDeviceToHost));
	HIP(hipGraphAddMemcpyNode1D(
		&gone, b.graph, &b.from, 1, &seen[1][5], v, 4, hipMemcpyDeviceToHost));
	HIP(hipGraphDestroyNode(gone));
	HIP(hipGraphAddMemcpyNode1D(
		&b.there, b.graph, &b.from, 1, &seen[1][4], v, 4, hipMemcpyDeviceToHost));
	HIP(hipGraphMemcpyNodeSetParams1D(b.there, &seen[0][0], v, 4, hipMemcpyDeviceToHost));
	HIP(hipGraphAddMemcpyNode(&b.rows, b.graph, &b.there, 1, &rectangular));
	HIP(hipGraphAddEmptyNode(&b.empty, b.graph, &b.rows, 1));
	HIP(hipGraphAddEventRecordNode(&b.record, b.graph, &b.empty, 1, after));
	return b;
}

static void launch(hipGraphExec_t exec, const char *what)
{
	memset(seen, 255, sizeof(seen));
	memset(square, 255, sizeof(square));
	HIP(hipEventRecord(before, s));
	HIP(hipGraphLaunch(exec, s));
	HIP(hipStreamSynchronize(s));
	printf("%s: %d %d %d %d\n", what, (int)seen[0][0], (int)seen[0][1], (int)seen[1][0],
		(int)square[0][0]);
}

static void changes(hipFunction_t f)
{
	struct built b = build(f, 100, 10, 2, true);
	unsigned by = 50;
	void *args[] = {&v, &by};
	hipKernelNodeParams p = kernel((void *)add, args);
	hipMemsetParams set = fill(5000);
	hipMemcpy3DParms rectangular = rectangle(false);
	hipGraphExec_t exec;

	HIP(hipGraphInstantiate(&exec, b.graph, NULL, NULL, 0));
	launch(exec, "as made");
	HIP(hipGraphKernelNodeSetParams(b.kernel, &p)); /* not of what was made from it */
	launch(exec, "the graph changed");
	HIP(hipGraphExecKernelNodeSetParams(exec, b.kernel, &p));
	launch(exec, "kernel changed");
	HIP(hipGraphExecMemsetNodeSetParams(exec, b.fill, &set));
	launch(exec, "fill changed");
	HIP(hipGraphExecMemcpyNodeSetParams1D(
		exec, b.there, &seen[1][0], v, 4, hipMemcpyDeviceToHost));
	launch(exec, "copy changed");
	if (hipGraphExecMemcpyNodeSetParams(exec, b.rows, &rectangular)) /* its direction may not change from HIP 7 on */
		printf("the other direction is refused\n");
	launch(exec, "rows changed");
	HIP(hipGraphExecDestroy(exec));
	HIP(hipGraphDestroy(b.graph));
}

static void updated(hipFunction_t f)
{
	struct built b = build(f, 100, 10, 2, false), other = build(f, 1000, 20, 4, false);
	hipGraphExecUpdateResult result;
	hipGraphNode_t wrong;
	hipGraphExec_t exec;

	HIP(hipGraphInstantiate(&exec, b.graph, NULL, NULL, 0));
	launch(exec, "another");
	HIP(hipGraphExecUpdate(exec, other.graph, &wrong, &result));
	launch(exec, "all changed");
	if (hipGraphExecUpdate(exec, b.inner, &wrong, &result) == hipSuccess)
		printf("an update that must fail did not\n");
	launch(exec, "nothing changed");
	HIP(hipGraphExecDestroy(exec));
	HIP(hipGraphDestroy(b.graph));
	HIP(hipGraphDestroy(other.graph));
}

/* A graph's clone, with a flat copy that HIP does not describe. */
static void cloned(hipFunction_t f)
{
	struct built b = build(f, 1, 2, 3, true);
	hipGraphExec_t exec;
	hipGraph_t clone;

	HIP(hipGraphClone(&clone, b.graph));
	HIP(hipGraphDestroy(b.graph));
	HIP(hipGraphInstantiateWithFlags(&exec, clone, 0));
	launch(exec, "cloned");
	HIP(hipGraphExecDestroy(exec));
	HIP(hipGraphDestroy(clone));
}

int main(int argc, char **argv)
{
	hipModule_t module;
	hipFunction_t f;

	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < N; i++)
		host[i] = 100000 * i;
	HIP(hipModuleLoad(&module, argv[1]));
	HIP(hipModuleGetFunction(&f, module, "mark_items"));
	HIP(hipStreamCreate(&s));
	HIP(hipEventCreate(&before));
	HIP(hipEventCreate(&after));
	HIP(hipMalloc(&v, N * 4));
	HIP(hipMalloc(&rows, 4 * 32));
	HIP(hipMemset(rows, 0, 4 * 32));
	changes(f);
	updated(f);
	cloned(f);
}
