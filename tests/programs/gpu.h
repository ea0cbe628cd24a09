/* SPDX-License-Identifier: Apache-2.0
 *
 * What the test programs share: a kernel that counts, and a CUDA call that must succeed.
 */
#ifndef TESTS_PROGRAMS_GPU_H
#define TESTS_PROGRAMS_GPU_H

#include "../../examples/check.h"
#include <string.h>
#include <unistd.h>

__global__ void count(int *n, int by)
{
	atomicAdd(n, by);
}

/* A zeroed counter on the device. */
static inline int *counter_new(void)
{
	int *n;

	CHECK(cudaMalloc(&n, sizeof(int)));
	CHECK(cudaMemset(n, 0, sizeof(int)));
	return n;
}

static inline int counter_value(const int *n)
{
	int v;

	CHECK(cudaMemcpy(&v, n, sizeof(int), cudaMemcpyDeviceToHost));
	return v;
}

// With OTHER_LAYOUT in the environment: allocations, a stream and an event that nothing uses, so
// that all addresses and ids are others. No difference for tsdb diff.
__attribute__((unused)) static void other_layout(void)
{
	cudaStream_t stream;
	cudaEvent_t event;
	void *p;

	if (!getenv("OTHER_LAYOUT"))
		return;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaMalloc(&p, 3 << 20));
	CHECK(cudaMalloc(&p, 5000));
}

#endif
