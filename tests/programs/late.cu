/* SPDX-License-Identifier: Apache-2.0
 *
 * late SECONDS [graph] (or until there is a file called "end" in its folder): everything is made in the first moments, and then only used, round after round: memory that only a table in memory names, small
 * allocations beside freed ones, stream-ordered, managed and pinned memory, variables, streams and events; with "graph" an executable graph.
 */
#include "gpu.h"
#include "late.h"
#include <time.h>
#include <unistd.h>

#define PARTS 6
#define N 512

__device__ unsigned rounds, unused[3];
__constant__ unsigned factor[2] = {3, 5};

struct part {
	unsigned *from, *to;
};

__global__ void table_step(const part *parts, unsigned round)
{
	const part p = parts[blockIdx.x];

	p.to[threadIdx.x] += p.from[threadIdx.x] * factor[round & 1] + round;
}

__global__ void swap_step(part *parts)
{
	unsigned *p = parts[threadIdx.x].from;

	parts[threadIdx.x].from = parts[threadIdx.x].to;
	parts[threadIdx.x].to = p;
	if (!threadIdx.x)
		rounds++;
}

__global__ void mixed_step(unsigned *async, unsigned *managed, const unsigned *pinned, const unsigned *small)
{
	async[threadIdx.x] += pinned[threadIdx.x] + managed[threadIdx.x] + small[threadIdx.x & 15] + rounds;
}

struct things {
	part *table, host[PARTS];
	unsigned *async, *managed, *pinned, *small[8], *result;
	cudaStream_t a, b;
	cudaEvent_t ready, done;
	cudaGraphExec_t graph;
};

static void fill(unsigned *device, unsigned seed)
{
	unsigned host[N];

	for (unsigned i = 0; i < N; i++)
		host[i] = i * 2654435761u + seed;
	CHECK(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice));
}

static void make_graph(things *x)
{
	cudaGraph_t g;

	CHECK(cudaStreamBeginCapture(x->a, cudaStreamCaptureModeThreadLocal));
	swap_step<<<1, PARTS, 0, x->a>>>(x->table);
	CHECK(cudaStreamEndCapture(x->a, &g));
	CHECK(cudaGraphInstantiate(&x->graph, g, 0));
	CHECK(cudaGraphDestroy(g));
}

static void make(things *x, bool graph)
{
	int low, high;

	memset(x, 0, sizeof(*x));
	CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
	CHECK(cudaStreamCreateWithPriority(&x->a, cudaStreamNonBlocking, high));
	CHECK(cudaStreamCreateWithFlags(&x->b, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&x->ready, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&x->done, cudaEventDisableTiming));
	for (int i = 0; i < PARTS; i++) {
		CHECK(cudaMalloc(&x->host[i].from, N * sizeof(unsigned)));
		CHECK(cudaMalloc(&x->host[i].to, N * sizeof(unsigned)));
		fill(x->host[i].from, 2 * i);
		fill(x->host[i].to, 2 * i + 1);
	}
	CHECK(cudaMalloc(&x->table, sizeof(x->host)));
	CHECK(cudaMemcpy(x->table, x->host, sizeof(x->host), cudaMemcpyHostToDevice));
	for (int i = 0; i < 8; i++) {
		CHECK(cudaMalloc(&x->small[i], 64));
		CHECK(cudaMemset(x->small[i], i, 64));
	}
	for (int i = 0; i < 7; i++)
		CHECK(cudaFree(x->small[i]));
	CHECK(cudaMallocAsync(&x->async, N * sizeof(unsigned), x->a));
	CHECK(cudaStreamSynchronize(x->a));
	fill(x->async, 77);
	CHECK(cudaMallocManaged(&x->managed, N * sizeof(unsigned)));
	CHECK(cudaMallocHost(&x->pinned, N * sizeof(unsigned)));
	CHECK(cudaMallocHost(&x->result, N * sizeof(unsigned)));
	for (unsigned i = 0; i < N; i++)
		x->managed[i] = x->pinned[i] = i;
	if (graph)
		make_graph(x);
	CHECK(cudaEventRecord(x->done, x->b));
}

static void round_of(things *x, unsigned r)
{
	CHECK(cudaStreamWaitEvent(x->a, x->done, 0));
	table_step<<<PARTS, N, 0, x->a>>>(x->table, r);
	if (x->graph)
		CHECK(cudaGraphLaunch(x->graph, x->a));
	else
		swap_step<<<1, PARTS, 0, x->a>>>(x->table);
	CHECK(cudaEventRecord(x->ready, x->a));
	CHECK(cudaStreamWaitEvent(x->b, x->ready, 0));
	mixed_step<<<1, N, 0, x->b>>>(x->async, x->managed, x->pinned, x->small[7]);
	CHECK(cudaMemcpyAsync(x->result, x->async, N * sizeof(unsigned), cudaMemcpyDeviceToHost, x->b));
	CHECK(cudaEventRecord(x->done, x->b));
	CHECK(cudaStreamSynchronize(x->b));
}

int main(int argc, char **argv)
{
	unsigned r = 0, counted = 0, sum = 0, expected = 0;
	things x;

	make(&x, argc > 2 && !strcmp(argv[2], "graph"));
	printf("late: running\n");
	fflush(stdout);
	late_ready_now();
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	while (time(NULL) < end && access("end", F_OK) != 0) {
		round_of(&x, r++);
		expected += r;
		usleep(500);
	}
	CHECK(cudaMemcpyFromSymbol(&counted, rounds, sizeof(counted)));
	/* element 5: what fill() gave, and in each round twice 5 (pinned and managed), the small one, and the number of rounds so far */
	sum = 5 * 2654435761u + 77 + r * (10 + 0x07070707u) + expected;
	printf("late: %u rounds %s\n", r, counted == r && x.result[5] == sum ? "ok" : "WRONG");
	return counted != r || x.result[5] != sum;
}
