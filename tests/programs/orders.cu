/* SPDX-License-Identifier: Apache-2.0
 *
 * Two streams and what orders them or does not, for `tsdb explore`. Worked out by hand: `orders few` has four orders, and their results are
 * 14 (as submitted), 24, 24 and 39. All other programs but `outputs` have one result whatever the order.
 */
#include "gpu.h"

__global__ void affine(int *x, int times, int plus)
{
	if (!threadIdx.x)
		*x = *x * times + plus;
}

__global__ void take(int *to, const int *from)
{
	if (!threadIdx.x)
		*to = *from;
}

static cudaStream_t s1, s2;
static cudaEvent_t done;

static int *number(int value)
{
	int *n = counter_new();

	CHECK(cudaMemcpy(n, &value, sizeof value, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize()); /* the copy may come after cudaMemcpy() */
	return n;
}

/* Unordered, and the same whatever the order: without such a pair there is nothing to try. */
static void either(int *w)
{
	affine<<<1, 32, 0, s1>>>(w, 1, 2);
	affine<<<1, 32, 0, s2>>>(w, 1, 3);
}

static void few(void)
{
	int *x = number(1);

	affine<<<1, 32, 0, s1>>>(x, 2, 0);
	affine<<<1, 32, 0, s1>>>(x, 1, 1);
	affine<<<1, 32, 0, s1>>>(x, 3, 0);
	affine<<<1, 32, 0, s2>>>(x, 1, 5);
}

/* More pairs than are gone through one by one: 4 times 4. */
static void many(void)
{
	int *x = number(1);

	for (int i = 0; i < 4; i++) {
		affine<<<1, 32, 0, s1>>>(x, 2, 0);
		affine<<<1, 32, 0, s2>>>(x, 1, 5);
	}
}

/* The same event twice: each wait is for the record before it. */
static void events(void)
{
	int *x = number(1), *w = number(0);

	either(w);
	for (int i = 0; i < 3; i++) {
		affine<<<1, 32, 0, s1>>>(x, 2, 1);
		CHECK(cudaEventRecord(done, s1));
		CHECK(cudaStreamWaitEvent(s2, done, 0));
		affine<<<1, 32, 0, s2>>>(x, 3, 0);
		CHECK(cudaEventRecord(done, s2));
		CHECK(cudaStreamWaitEvent(s1, done, 0));
	}
}

/* Memory that is freed on one stream and may be had again on the other: the allocator sees to the order. */
static void reuse(void)
{
	int *a, *b, *x = number(7), *y = number(0), *w = number(0);

	either(w);
	for (int i = 0; i < 3; i++) {
		CHECK(cudaMallocAsync((void **)&a, 4096, s1));
		take<<<1, 32, 0, s1>>>(a, x);
		affine<<<1, 32, 0, s1>>>(a, 2, i);
		take<<<1, 32, 0, s1>>>(x, a);
		CHECK(cudaFreeAsync(a, s1));
		CHECK(cudaMallocAsync((void **)&b, 4096, s2));
		take<<<1, 32, 0, s2>>>(b, y);
		affine<<<1, 32, 0, s2>>>(b, 3, 1);
		take<<<1, 32, 0, s2>>>(y, b);
		CHECK(cudaFreeAsync(b, s2));
	}
}

/* The host changes pinned memory between launches, when nothing runs; the first launch after that has nothing to do with it. */
static void pinned(void)
{
	int *p, *x = number(1), *y = number(0), *z = number(3), *w = number(0);

	CHECK(cudaMallocHost((void **)&p, 4096));
	*p = 10;
	take<<<1, 32, 0, s1>>>(y, p);
	CHECK(cudaDeviceSynchronize());
	*p = 20;
	affine<<<1, 32, 0, s1>>>(z, 5, 0);
	take<<<1, 32, 0, s2>>>(x, p);
	either(w);
}

static void add_three(void *p)
{
	*(int *)p += 3;
}

static void functions(void)
{
	int *p, *x = number(1), *y = number(2), *w = number(0);

	CHECK(cudaMallocHost((void **)&p, 4096));
	*p = 10;
	either(w);
	CHECK(cudaLaunchHostFunc(s1, add_three, p));
	take<<<1, 32, 0, s1>>>(x, p);
	affine<<<1, 32, 0, s2>>>(y, 2, 0);
}

/* Only what the host gets depends on the order. */
static void outputs(void)
{
	int *x = number(1), value;

	affine<<<1, 32, 0, s1>>>(x, 2, 0);
	CHECK(cudaMemcpyAsync(&value, x, sizeof value, cudaMemcpyDeviceToHost, s2));
	CHECK(cudaDeviceSynchronize());
	affine<<<1, 32, 0, s1>>>(x, 0, 9);
}

/* A graph that is given other arguments between two launches. */
static void updates(void)
{
	int *x = number(1), three = 3, four = 4, *y = number(1);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	void *args[] = {&x, &three, &four};
	cudaKernelNodeParams p = {};

	p.func = (void *)affine;
	p.gridDim = dim3(1);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, s1));
	three = 7;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
	affine<<<1, 32, 0, s2>>>(y, 2, 2);
	CHECK(cudaGraphLaunch(exec, s1));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"few", few}, {"many", many}, {"events", events}, {"reuse", reuse}, {"pinned", pinned}, {"functions", functions},
	{"outputs", outputs}, {"updates", updates}};

int main(int argc, char **argv)
{
	CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, argc > 1 ? argv[1] : "few")) {
			/* what goes before is of no concern to the orders */
			CHECK(cudaDeviceSynchronize());
			cases[i].run();
		}
	CHECK(cudaDeviceSynchronize());
	printf("orders: done\n");
	return 0;
}
