/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver functions that the agent itself calls, looked up by name in the libcuda that the
 * program has loaded. Always called through OWN() (agent.h). Any may be NULL on an older driver,
 * except the REQUIRED ones.
 */
#ifndef CAPTURE_CUDA_API_H
#define CAPTURE_CUDA_API_H

#include <cuda.h>
#include <stdbool.h>

#define DRIVER_FUNCTIONS(REQUIRED, OPTIONAL)                                                       \
	REQUIRED(cuCtxGetDevice)                                                                   \
	REQUIRED(cuCtxGetCurrent)                                                                  \
	REQUIRED(cuDeviceGetCount)                                                                 \
	REQUIRED(cuDeviceGetName)                                                                  \
	REQUIRED(cuDeviceGetAttribute)                                                             \
	REQUIRED(cuDeviceTotalMem_v2)                                                              \
	REQUIRED(cuDriverGetVersion)                                                               \
	REQUIRED(cuStreamCreate)                                                                   \
	REQUIRED(cuStreamSynchronize)                                                              \
	REQUIRED(cuStreamGetFlags)                                                                 \
	REQUIRED(cuMemcpyDtoHAsync_v2)                                                             \
	REQUIRED(cuMemcpyHtoDAsync_v2)                                                             \
	REQUIRED(cuFuncGetAttribute)                                                               \
	REQUIRED(cuPointerGetAttribute)                                                            \
	OPTIONAL(cuMemcpyAsync)                                                                    \
	OPTIONAL(cuGetErrorName)                                                                   \
	OPTIONAL(cuCtxPushCurrent_v2)                                                              \
	OPTIONAL(cuCtxPopCurrent_v2)                                                               \
	OPTIONAL(cuCtxSynchronize)                                                                 \
	OPTIONAL(cuMemGetInfo_v2)                                                                  \
	OPTIONAL(cuMemAlloc_v2)                                                                    \
	OPTIONAL(cuMemFree_v2)                                                                     \
	OPTIONAL(cuMemcpyDtoDAsync_v2)                                                             \
	OPTIONAL(cuMemcpy3DAsync_v2)                                                               \
	OPTIONAL(cuMemGetAccess)                                                                   \
	OPTIONAL(cuMemHostRegister_v2)                                                             \
	OPTIONAL(cuMemHostUnregister)                                                              \
	OPTIONAL(cuStreamDestroy_v2)                                                               \
	OPTIONAL(cuStreamQuery)                                                                    \
	OPTIONAL(cuEventCreate)                                                                    \
	OPTIONAL(cuEventRecord)                                                                    \
	OPTIONAL(cuEventQuery)                                                                     \
	OPTIONAL(cuLaunchHostFunc)                                                                 \
	OPTIONAL(cuModuleGetGlobal_v2)                                                             \
	OPTIONAL(cuLibraryGetGlobal)                                                               \
	OPTIONAL(cuMemRetainAllocationHandle)                                                      \
	OPTIONAL(cuMemRelease)                                                                     \
	OPTIONAL(cuMemImportFromShareableHandle)                                                   \
	OPTIONAL(cuMemAddressReserve)                                                              \
	OPTIONAL(cuMemAddressFree)                                                                 \
	OPTIONAL(cuMemMap)                                                                         \
	OPTIONAL(cuMemUnmap)                                                                       \
	OPTIONAL(cuMemSetAccess)                                                                   \
	OPTIONAL(cuDeviceGetUuid_v2)                                                               \
	OPTIONAL(cuCtxDestroy_v2)                                                                  \
	OPTIONAL(cuModuleLoadData)                                                                 \
	OPTIONAL(cuModuleUnload)                                                                   \
	OPTIONAL(cuModuleGetFunction)                                                              \
	OPTIONAL(cuModuleGetFunctionCount)                                                         \
	OPTIONAL(cuModuleEnumerateFunctions)                                                       \
	OPTIONAL(cuLibraryGetModule)                                                               \
	OPTIONAL(cuStreamGetPriority)                                                              \
	OPTIONAL(cuStreamIsCapturing)                                                              \
	OPTIONAL(cuThreadExchangeStreamCaptureMode)                                                \
	OPTIONAL(cuDevicePrimaryCtxGetState)                                                       \
	OPTIONAL(cuDevicePrimaryCtxRetain)                                                         \
	OPTIONAL(cuDevicePrimaryCtxRelease_v2)                                                     \
	OPTIONAL(cuFuncGetModule)                                                                  \
	OPTIONAL(cuFuncGetName)                                                                    \
	OPTIONAL(cuFuncGetParamInfo)                                                               \
	OPTIONAL(cuKernelGetName)                                                                  \
	OPTIONAL(cuKernelGetFunction)                                                              \
	OPTIONAL(cuKernelGetLibrary)                                                               \
	OPTIONAL(cuKernelGetParamInfo)                                                             \
	OPTIONAL(cuGraphGetNodes)                                                                  \
	OPTIONAL(cuGraphNodeGetType)                                                               \
	OPTIONAL(cuGraphNodeGetDependencies_v2)                                                    \
	OPTIONAL(cuGraphKernelNodeGetParams_v2)                                                    \
	OPTIONAL(cuGraphMemcpyNodeGetParams)                                                       \
	OPTIONAL(cuGraphMemsetNodeGetParams)                                                       \
	OPTIONAL(cuGraphHostNodeGetParams)                                                         \
	OPTIONAL(cuGraphChildGraphNodeGetGraph)                                                    \
	OPTIONAL(cuGraphEventRecordNodeGetEvent)                                                   \
	OPTIONAL(cuGraphEventWaitNodeGetEvent)                                                     \
	OPTIONAL(cuGraphMemAllocNodeGetParams)                                                     \
	OPTIONAL(cuGraphKernelNodeGetAttribute)                                                    \
	OPTIONAL(cuStreamGetCaptureInfo_v3)                                                        \
	OPTIONAL(cuGraphMemFreeNodeGetParams)

/* A handle in the form used by the rest of the agent. */
#define H(handle) ((uint64_t)(uintptr_t)(handle))

struct cuda_api {
#define FUNCTION(name) __typeof__(&name) name;
	DRIVER_FUNCTIONS(FUNCTION, FUNCTION)
#undef FUNCTION
	/* The form before CUDA 12.3, without edge data. */
	CUresult(CUDAAPI *graph_node_get_dependencies_v1)(CUgraphNode, CUgraphNode *, size_t *);
	/* The form without affinity and other parameters, which newer headers do not declare. */
	CUresult(CUDAAPI *ctx_create_v2)(CUcontext *, unsigned, CUdevice);
	/* cuStreamGetCaptureInfo_v2: the newer form also returns edges. */
	CUresult(CUDAAPI *stream_capture_info)(CUstream, CUstreamCaptureStatus *, cuuint64_t *,
		CUgraph *, const CUgraphNode **, size_t *);
	bool soft;	   /* the software GPU */
	void *lib;	   /* its handle, for dlsym() */
	char folder[1024]; /* its folder, with a final slash */
};
extern struct cuda_api cuda;

/* Fills `cuda` from the libcuda in this process. Returns 0; -ENOENT if there is none; -ENOSYS if a
 * required function is missing. */
int cuda_open(void);

#endif
