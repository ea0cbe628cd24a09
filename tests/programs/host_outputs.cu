// SPDX-License-Identifier: Apache-2.0
//
// Copies to the host whose destination a host function changes, or the program frees, before it waits for the device: `host_outputs CASE`. The cases in -twin do the same
// work and leave the bytes alone until they have waited.
#include "gpu.h"
#include <stdlib.h>
#include <sys/mman.h>

#define WORDS 65536
#define BYTES (WORDS * sizeof(int))

struct work {
	cudaStream_t a, b;
	int *device, *host;
	volatile int go, flag;
	bool change;
};

__global__ void fill(int *p, int n, int by)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		p[i] = i * by + 1;
}

static void in_stream(void *arg)
{
	struct work *w = (struct work *)arg;
	if (w->change)
		memset(w->host, 0, BYTES);
	w->flag = 1;
}

static void await_go(void *arg)
{
	const struct work *w = (const struct work *)arg;
	while (!w->go)
		usleep(100);
}

// Before go, the copy is on its way.
static void copy_down(struct work *w)
{
	if (!w->go)
		CHECK(cudaLaunchHostFunc(w->a, await_go, w));
	fill<<<1, 32, 0, w->a>>>(w->device, WORDS, 3);
	CHECK(cudaMemcpyAsync(w->host, w->device, BYTES, cudaMemcpyDeviceToHost, w->a));
}

static void wait_for_flag(struct work *w)
{
	w->go = 1;
	while (!w->flag)
		usleep(100);
	w->flag = 0;
}

// Orders b behind a.
static void join(struct work *w)
{
	cudaEvent_t e;
	CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	CHECK(cudaEventRecord(e, w->a));
	CHECK(cudaStreamWaitEvent(w->b, e, 0));
	CHECK(cudaEventDestroy(e));
}

static void freed(struct work *w, bool twin)
{
	copy_down(w);
	CHECK(cudaLaunchHostFunc(w->a, in_stream, w));
	w->go = 1;
	if (twin)
		CHECK(cudaStreamSynchronize(w->a));
	wait_for_flag(w);
	CHECK(cudaFreeHost(w->host));
}

// The flag comes from a stream that was ordered behind the copy's.
static void freed_by_event(struct work *w, bool twin)
{
	copy_down(w);
	join(w);
	CHECK(cudaLaunchHostFunc(w->b, in_stream, w));
	w->go = 1;
	if (twin)
		CHECK(cudaStreamSynchronize(w->a));
	wait_for_flag(w);
	CHECK(cudaFreeHost(w->host));
}

// The free comes while the device works, and waits for it.
static void freed_under_way(struct work *w, bool twin)
{
	w->go = 1;
	for (int i = 0; i < 100; i++)
		fill<<<1, 32, 0, w->a>>>(w->device, WORDS, i);
	copy_down(w);
	if (twin)
		CHECK(cudaStreamSynchronize(w->a));
	CHECK(cudaFreeHost(w->host));
}

static void changed(struct work *w, bool twin)
{
	w->change = !twin;
	copy_down(w);
	CHECK(cudaLaunchHostFunc(w->a, in_stream, w));
	wait_for_flag(w);
	CHECK(cudaStreamSynchronize(w->a));
	memset(w->host, 0, BYTES);
}

static void changed_by_event(struct work *w, bool twin)
{
	w->change = !twin;
	copy_down(w);
	join(w);
	CHECK(cudaLaunchHostFunc(w->b, in_stream, w));
	wait_for_flag(w);
	CHECK(cudaStreamSynchronize(w->b));
}

static void in_graph(struct work *w, bool twin)
{
	cudaGraph_t g;
	cudaGraphExec_t exec;
	w->change = !twin;
	w->go = 1;
	CHECK(cudaStreamBeginCapture(w->a, cudaStreamCaptureModeThreadLocal));
	copy_down(w);
	CHECK(cudaLaunchHostFunc(w->a, in_stream, w));
	CHECK(cudaStreamEndCapture(w->a, &g));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	CHECK(cudaGraphLaunch(exec, w->a));
	CHECK(cudaGraphLaunch(exec, w->a));
	CHECK(cudaStreamSynchronize(w->a));
}

// No call of CUDA's says that the memory cannot be read.
static void hidden(struct work *w, bool twin)
{
	int *p = (int *)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->host = p;
	CHECK(cudaHostRegister(p, BYTES, cudaHostRegisterDefault));
	copy_down(w);
	join(w);
	CHECK(cudaLaunchHostFunc(w->b, in_stream, w));
	w->go = 1;
	if (twin)
		CHECK(cudaStreamSynchronize(w->a));
	wait_for_flag(w);
	mprotect(p, BYTES, PROT_NONE);
	CHECK(cudaDeviceSynchronize());
	mprotect(p, BYTES, PROT_READ | PROT_WRITE);
}

// Nothing is left to compare with.
static void nothing_left(struct work *w, bool twin)
{
	int *first = w->host;
	hidden(w, twin);
	CHECK(cudaHostUnregister(w->host));
	CHECK(cudaFreeHost(first));
	CHECK(cudaFree(w->device));
}

static const struct {
	const char *name;
	void (*run)(struct work *w, bool twin);
} cases[] = {
	{"freed", freed}, {"freed-by-event", freed_by_event}, {"freed-under-way", freed_under_way}, {"changed", changed},
	{"changed-by-event", changed_by_event}, {"graph", in_graph},
	{"hidden", hidden}, {"nothing-left", nothing_left},
};

int main(int argc, char **argv)
{
	static struct work w;
	const char *name = argc > 1 ? argv[1] : "";
	const char *tail = strstr(name, "-twin");
	const size_t n = tail ? (size_t)(tail - name) : strlen(name);
	CHECK(cudaStreamCreateWithFlags(&w.a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&w.b, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&w.device, BYTES));
	CHECK(cudaHostAlloc(&w.host, BYTES, cudaHostAllocDefault));
	fill<<<1, 32>>>(w.device, WORDS, 2); // code is loaded at a first launch, which may wait for all work
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strlen(cases[i].name) == n && !strncmp(cases[i].name, name, n)) {
			cases[i].run(&w, tail);
			CHECK(cudaDeviceSynchronize());
			printf("fine\n");
			return 0;
		}
	fprintf(stderr, "host_outputs: no such case\n");
	return 2;
}
