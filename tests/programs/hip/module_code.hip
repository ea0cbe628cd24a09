// SPDX-License-Identifier: Apache-2.0
//
// Code for modules.hip, loaded from a file.
#include <hip/hip_runtime.h>

extern "C" __global__ void scale(float *v, float by, short n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] *= by;
}
