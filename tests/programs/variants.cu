// SPDX-License-Identifier: Apache-2.0
//
// A small pipeline of two streams in four steps, and variants of it, each with one difference in its second step (where
// nothing else is said): what tsdb diff has to find. Usage: variants [VARIANT]
#include <nvtx3/nvToolsExt.h>
#include "gpu.h"

enum { N = 256, STEPS = 4 };

static const char *variant;
static cudaStream_t s, t;
static cudaEvent_t first, second;
static int *x, *y, *host;

__global__ void scale(int *p)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

__global__ void add(int *p, const int *q)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] += q[blockIdx.x * blockDim.x + threadIdx.x];
}

__global__ void square(int *p)
{
	p[threadIdx.x] *= p[threadIdx.x];
}

__global__ void cube(int *p)
{
	p[threadIdx.x] *= p[threadIdx.x] * p[threadIdx.x];
}

__global__ void add_square(int *p, const int *q)
{
	p[threadIdx.x] = (p[threadIdx.x] + q[threadIdx.x]) * (p[threadIdx.x] + q[threadIdx.x]);
}

template <typename T> __global__ void convert(int *p)
{
	p[threadIdx.x] = (int)((T)p[threadIdx.x] / 2);
}

__global__ void spin(int *p, int times)
{
	for (int i = 0; i < times; i++)
		p[threadIdx.x] = p[threadIdx.x] * 3 + 1;
}

static bool is(const char *name)
{
	return variant && !strcmp(variant, name);
}

static void compute(bool now)
{
	if (now && is("fused")) {
		add_square<<<1, 64, 0, t>>>(y, x);
		return;
	}
	if (now && is("order"))
		square<<<1, 32, 0, t>>>(y);
	add<<<now && is("grid") ? 2 : 4, now && is("block") ? 32 : 64, now && is("shared") ? 256 : 0, t>>>(y, x);
	if (now && is("kernel"))
		cube<<<1, 32, 0, t>>>(y);
	else if (!(now && (is("removed") || is("order"))))
		square<<<1, 32, 0, now && is("stream") ? s : t>>>(y);
	if (now && is("extra"))
		square<<<1, 32, 0, t>>>(y);
	if (now && is("extra-copy"))
		CHECK(cudaMemcpyAsync(x, y, 64, cudaMemcpyDeviceToDevice, t));
}

static void step(bool now)
{
	CHECK(cudaMemsetAsync(y, now && is("fill") ? 1 : 0, N * sizeof(int), s));
	CHECK(cudaMemcpyAsync(x, host, N * sizeof(int) / (now && is("copy-size") ? 2 : 1), cudaMemcpyHostToDevice, s));
	if (now && is("record-early"))
		CHECK(cudaEventRecord(first, s));
	scale<<<4, 64, 0, s>>>(x);
	if (!(now && is("record-early")))
		CHECK(cudaEventRecord(first, s));
	if (!(now && is("no-wait")))
		CHECK(cudaStreamWaitEvent(t, first, 0));
	compute(now);
	CHECK(cudaEventRecord(second, t));
	CHECK(cudaStreamWaitEvent(s, now && is("event") ? first : second, 0));
	if (now && is("template"))
		convert<double><<<1, 32, 0, s>>>(y);
	else
		convert<float><<<1, 32, 0, s>>>(y);
	spin<<<1, 32, 0, s>>>(y, is("slow") ? 20000 : 200);
	CHECK(cudaMemcpyAsync(host, y, N * sizeof(int), cudaMemcpyDeviceToHost, s));
	if (now && is("wait-added"))
		CHECK(cudaStreamSynchronize(t));
	if (!(now && is("no-sync")))
		CHECK(cudaStreamSynchronize(s));
}

// A graph of two launches, or of three.
static void graph(void)
{
	cudaGraph_t g;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < (is("graph") ? 3 : 2); i++)
		square<<<1, 32, 0, s>>>(y);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < (is("graphs") ? 4 : 1); i++) {
		CHECK(cudaGraphLaunch(exec, s));
		if (is("graphs"))
			scale<<<i == 2 ? 2 : 4, 64, 0, s>>>(x);
	}
	CHECK(cudaStreamSynchronize(s));
}

// Other ids and addresses: no difference.
static void others(void)
{
	cudaStream_t unused;
	cudaEvent_t event;
	void *p;

	CHECK(cudaStreamCreateWithFlags(&unused, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaMalloc(&p, 100000));
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 && !strcmp(argv[1], "steps-more") ? STEPS + 2 : argc > 1 && !strcmp(argv[1], "steps-less") ? STEPS - 1 : STEPS;

	variant = argc > 1 ? argv[1] : NULL;
	if (is("ids"))
		others();
	other_layout();
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&first, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&second, cudaEventDisableTiming));
	CHECK(cudaMalloc(&x, N * sizeof(*x)));
	CHECK(cudaMalloc(&y, N * sizeof(*y)));
	CHECK(cudaMallocHost(&host, N * sizeof(*host)));
	memset(host, 1, N * sizeof(*host));
	for (int i = 0; i < steps; i++) {
		char name[32];

		snprintf(name, sizeof name, "step %d", i + 10);
		if (is("ranges"))
			nvtxRangePushA(name);
		step(i == 1);
		if (is("ranges"))
			nvtxRangePop();
	}
	graph();
	return 0;
}
