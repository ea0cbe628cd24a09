/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's structures of arguments (NAME_params) as gpucode/memory-calls.h takes them: every argument of these calls lies in 8 bytes of its
 * own.
 */
#ifndef CAPTURE_MEMORY_ARGS_H
#define CAPTURE_MEMORY_ARGS_H

#include <cupti.h>
#include <stddef.h>
#include <string.h>
#include "gpucode/memory-calls.h"

#define ARG(type, member, i) _Static_assert(offsetof(type##_params, member) == 8 * (i), "arguments of 8 bytes each")
ARG(cuMemcpyHtoDAsync_v2, hStream, 3);
ARG(cuMemcpyPeerAsync, hStream, 5);
ARG(cuMemcpy2DAsync_v2, hStream, 1);
ARG(cuMemcpy3DAsync_v2, hStream, 1);
ARG(cuMemcpy3DPeerAsync, hStream, 1);
ARG(cuMemsetD8_v2, N, 2);
ARG(cuMemsetD8Async, hStream, 3);
ARG(cuMemsetD32Async, hStream, 3);
ARG(cuMemsetD2D8Async, uc, 2);
ARG(cuMemsetD2D8Async, hStream, 5);
ARG(cuMemsetD2D32Async, hStream, 5);
ARG(cuMemAllocManaged, flags, 2);
ARG(cuMemHostAlloc, Flags, 2);
ARG(cuMemHostRegister_v2, Flags, 2);
ARG(cuMemAllocAsync, hStream, 2);
ARG(cuMemAllocFromPoolAsync, hStream, 3);
ARG(cuMemMap, flags, 4);
ARG(cuMemFreeAsync, hStream, 1);
#undef ARG

/* ret: MEMORY_CALL_ARGS words. */
static inline void memory_args(enum memory_call which, const void *params, uint64_t *ret)
{
	memcpy(ret, params, memory_call_nargs(which) * sizeof(*ret));
}

#endif
