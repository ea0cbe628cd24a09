/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's header by its HIP name.
 */
#include <hip/hip_fp16.h>

/* HIP has none of double. */
static __device__ inline __half __double2half(double x)
{
	return static_cast<_Float16>(x);
}
