/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver functions that tsdb-replayer calls, looked up by name in the libcuda.so.1 that it opens: the vendor's, or the software GPU.
 * An optional one may be NULL; who calls it looks first.
 */
#ifndef REPLAY_REPLAYER_DRIVER_H
#define REPLAY_REPLAYER_DRIVER_H

#include <cuda.h>
#include <stdbool.h>
#include "err.h"

#define REPLAYER_DRIVER_FUNCTIONS(REQUIRED, OPTIONAL) \
	REQUIRED(cuInit)                              \
	REQUIRED(cuGetErrorName)                      \
	REQUIRED(cuDriverGetVersion)                  \
	REQUIRED(cuDeviceGet)                         \
	REQUIRED(cuDeviceGetCount)                    \
	REQUIRED(cuDeviceGetName)                     \
	REQUIRED(cuDeviceGetAttribute)                \
	OPTIONAL(cuDeviceCanAccessPeer)               \
	OPTIONAL(cuCtxEnablePeerAccess)               \
	REQUIRED(cuDevicePrimaryCtxRetain)            \
	REQUIRED(cuCtxSetCurrent)                     \
	REQUIRED(cuCtxSynchronize)                    \
	REQUIRED(cuMemAlloc_v2)                       \
	REQUIRED(cuMemFree_v2)                        \
	REQUIRED(cuMemGetInfo_v2)                     \
	REQUIRED(cuMemHostAlloc)                      \
	REQUIRED(cuMemFreeHost)                       \
	REQUIRED(cuMemHostRegister_v2)                \
	REQUIRED(cuMemHostGetDevicePointer_v2)        \
	REQUIRED(cuMemcpyHtoDAsync_v2)                \
	REQUIRED(cuMemcpyDtoHAsync_v2)                \
	REQUIRED(cuMemcpyDtoDAsync_v2)                \
	REQUIRED(cuMemcpyAsync)                       \
	REQUIRED(cuMemcpy3DAsync_v2)                  \
	REQUIRED(cuMemsetD8Async)                     \
	REQUIRED(cuMemsetD16Async)                    \
	REQUIRED(cuMemsetD32Async)                    \
	REQUIRED(cuMemsetD2D8Async)                   \
	REQUIRED(cuMemsetD2D16Async)                  \
	REQUIRED(cuMemsetD2D32Async)                  \
	REQUIRED(cuModuleLoadData)                    \
	REQUIRED(cuModuleUnload)                      \
	REQUIRED(cuModuleGetFunction)                 \
	REQUIRED(cuModuleGetGlobal_v2)                \
	REQUIRED(cuFuncSetAttribute)                  \
	REQUIRED(cuLaunchKernel)                      \
	REQUIRED(cuStreamCreateWithPriority)          \
	REQUIRED(cuStreamDestroy_v2)                  \
	REQUIRED(cuStreamSynchronize)                 \
	REQUIRED(cuStreamWaitEvent)                   \
	REQUIRED(cuEventCreate)                       \
	REQUIRED(cuEventDestroy_v2)                   \
	REQUIRED(cuEventRecord)                       \
	REQUIRED(cuEventQuery)                        \
	REQUIRED(cuEventSynchronize)                  \
	OPTIONAL(cuEventElapsedTime)                  \
	REQUIRED(cuGraphCreate)                       \
	REQUIRED(cuGraphDestroy)                      \
	REQUIRED(cuGraphAddKernelNode_v2)             \
	REQUIRED(cuGraphAddMemcpyNode)                \
	REQUIRED(cuGraphAddMemsetNode)                \
	REQUIRED(cuGraphAddEmptyNode)                 \
	REQUIRED(cuGraphAddChildGraphNode)            \
	REQUIRED(cuGraphInstantiateWithFlags)         \
	REQUIRED(cuGraphLaunch)                       \
	REQUIRED(cuGraphExecDestroy)                  \
	OPTIONAL(cuGraphAddEventRecordNode)           \
	OPTIONAL(cuGraphKernelNodeSetAttribute)       \
	OPTIONAL(cuGraphAddEventWaitNode)             \
	OPTIONAL(cuFuncGetParamInfo)                  \
	OPTIONAL(cuLaunchKernelEx)                    \
	OPTIONAL(cuLaunchCooperativeKernel)           \
	OPTIONAL(cuStreamWriteValue32_v2)             \
	OPTIONAL(cuStreamWriteValue64_v2)             \
	OPTIONAL(cuMemAddressReserve)                 \
	OPTIONAL(cuMemAddressFree)                    \
	OPTIONAL(cuMemGetAllocationGranularity)       \
	OPTIONAL(cuMemCreate)                         \
	OPTIONAL(cuMemRelease)                        \
	OPTIONAL(cuMemMap)                            \
	OPTIONAL(cuMemSetAccess)

struct replayer_driver {
#define FUNCTION(name) __typeof__(&name) name;
	REPLAYER_DRIVER_FUNCTIONS(FUNCTION, FUNCTION)
#undef FUNCTION
	void *lib;
	bool soft; /* the software GPU */
};

/* Only loads the library: nothing of it has run yet. ERR_NOT_FOUND: no driver here; ERR_UNSUPPORTED: it lacks a function, which is named. */
struct err *replayer_driver_open(struct replayer_driver *ret) TS_CHECK;

#endif
