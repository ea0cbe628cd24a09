// SPDX-License-Identifier: Apache-2.0
//
// Code for modules.hip, loaded from a file.
#include <hip/hip_runtime.h>

/* Of this file alone: HIP does not find it by its name. */
static __device__ int times;

extern "C" __global__ void scale(float *v, float by, short n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] *= times < 0 ? 0 : by;
	if (!i)
		times = times + 1;
}

/* Each work-item marks its place: no bounds, and none by blockDim either. */
extern "C" __global__ __launch_bounds__(512) void mark_items(unsigned *v, unsigned pitch)
{
	v[(blockIdx.y * 8 + threadIdx.y) * pitch + blockIdx.x * 64 + threadIdx.x] += 1;
}
