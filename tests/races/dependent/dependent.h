/* SPDX-License-Identifier: Apache-2.0
 *
 * What the corpus of programmatic dependent launches shares. As in race.h, each program is one file
 * that begins with RACE(), and all are included into one, dependent.cu. Built for sm_90, the first
 * that has griddepcontrol. The surprise: on a GPU most of them are right every time, since the
 * launch in front has ended by then.
 */
#ifndef TESTS_RACES_DEPENDENT_H
#define TESTS_RACES_DEPENDENT_H

#include "../race.h"

/* The launch behind may begin; what comes now may come at the same time. */
static __device__ __forceinline__ void trigger(void)
{
	cudaTriggerProgrammaticLaunchCompletion();
}

/* The launch in front is complete, and its memory visible. */
static __device__ __forceinline__ void wait_for_front(void)
{
	cudaGridDependencySynchronize();
}

static __device__ __forceinline__ int self(void)
{
	return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* The launch that all of them begin with: it lets the next one begin at once. */
static __global__ void produce_late(int *out, int v)
{
	trigger();
	out[self()] = v + (int)threadIdx.x;
}

/* k<<<GRID, 0, s>>>(a...), which may begin before the launch in front has finished. */
template <typename... P, typename... A>
static void dependent(cudaStream_t s, void (*k)(P...), A... a)
{
	cudaLaunchAttribute early = {};
	cudaLaunchConfig_t config = {};

	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(N / 128);
	config.blockDim = dim3(128);
	config.stream = s;
	config.attrs = &early;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, k, P(a)...));
}

#endif
