/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of the corpus share. Each is one file that begins with RACE(): a function that
 * does the wrong thing, and with `fixed` the right one. The surprise: they are all included into
 * one program, races.cu, which is built in seconds; `races NAME [fixed]` runs one.
 *
 * pause_a_moment() gives unordered work time to be done: alone, most of these programs are right
 * most of the time. That is what makes them hard to find.
 */
#ifndef TESTS_RACES_RACE_H
#define TESTS_RACES_RACE_H

#include "../../examples/check.h"
#include <string.h>
#include <unistd.h>

#define N 2048
#define BYTES (N * sizeof(int))
#define GRID N / 128, 128

/* Both ends are a kernel's name or a kind of command: "copy", "fill", "alloc", "free",
 * "graph_launch", "host". In a kernel: the kernel, and how it is found: "racecheck" or "perturb".
 */
struct race {
	const char *name, *first, *second;
	void (*run)(bool fixed);
	struct race *next;
};
static struct race *race_list;
static inline bool race_add(struct race *r)
{
	r->next = race_list;
	race_list = r;
	return true;
}

#define RACE(name, first, second)                                                                  \
	static void name(bool fixed);                                                              \
	static struct race name##_row = {#name, first, second, name, NULL};                        \
	[[maybe_unused]] static bool name##_added = race_add(&name##_row);                         \
	static void name(bool fixed)

static __global__ void produce(int *out, int v)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = v + threadIdx.x;
}

static __global__ void consume(int *sum, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] = 3 * sum[i] + in[i];
}

static __global__ void both(int *out, const int *a, const int *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = 3 * a[i] + b[i];
}

static inline int *device(void)
{
	int *p;

	CHECK(cudaMalloc(&p, BYTES));
	CHECK(cudaMemset(p, 0, BYTES));
	CHECK(cudaDeviceSynchronize());
	return p;
}

/* Page-locked memory of the host. */
static inline int *pinned(int v)
{
	int *p;

	CHECK(cudaMallocHost(&p, BYTES));
	for (int i = 0; i < N; i++)
		p[i] = v;
	return p;
}

static inline cudaStream_t stream(void)
{
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	return s;
}

static inline cudaEvent_t event(void)
{
	cudaEvent_t e;

	CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	return e;
}

static inline void pause_a_moment(void)
{
	usleep(5000);
}

/* Everything that `to` does from now on comes after everything that `from` was given so far. */
static inline void after(cudaStream_t to, cudaStream_t from)
{
	cudaEvent_t e = event();

	CHECK(cudaEventRecord(e, from));
	CHECK(cudaStreamWaitEvent(to, e, 0));
}

/* The result. */
static inline void show(const int *p)
{
	static int host[N];
	unsigned h = 0;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, p, BYTES, cudaMemcpyDefault));
	for (int v : host)
		h = h * 31 + (unsigned)v;
	printf("%08x\n", h);
}

static inline void race_names(const struct race *r)
{
	if (!r)
		return;
	race_names(r->next);
	printf("%s %s %s\n", r->name, r->first, r->second);
}

static inline int race_main(int argc, char **argv)
{
	if (argc < 2)
		race_names(race_list);
	for (struct race *r = race_list; r && argc > 1; r = r->next) {
		if (!strcmp(r->name, argv[1])) {
			r->run(argc > 2 && !strcmp(argv[2], "fixed"));
			return 0;
		}
	}
	return argc > 1;
}

#endif
