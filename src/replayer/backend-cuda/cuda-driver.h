/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this drawer share: the functions of the CUDA driver, looked up by name in the
 * libcuda.so.1 that the replayer opens (NVIDIA's or the software GPU's), and the operations of
 * src/replayer/backend.h made of them. An optional function may be NULL: then struct
 * backend_library's `can` lacks the bit of the operation that needs it.
 */
#ifndef REPLAYER_CUDA_DRIVER_H
#define REPLAYER_CUDA_DRIVER_H

#include <cuda.h>
#include "gpucode/hash-kernel.h"
#include "replayer/backend.h"

/* clang-format off */
#define CUDA_FUNCTIONS(REQUIRED, OPTIONAL) \
	REQUIRED(cuInit) \
	REQUIRED(cuGetErrorName) \
	REQUIRED(cuDriverGetVersion) \
	REQUIRED(cuDeviceGet) \
	REQUIRED(cuDeviceGetCount) \
	REQUIRED(cuDeviceGetName) \
	REQUIRED(cuDeviceGetAttribute) \
	OPTIONAL(cuDeviceCanAccessPeer) \
	OPTIONAL(cuCtxEnablePeerAccess) \
	REQUIRED(cuDevicePrimaryCtxRetain) \
	REQUIRED(cuCtxSetCurrent) \
	REQUIRED(cuCtxSynchronize) \
	REQUIRED(cuCtxSetLimit) \
	REQUIRED(cuCtxGetLimit) \
	REQUIRED(cuMemAlloc_v2) \
	REQUIRED(cuMemFree_v2) \
	REQUIRED(cuMemGetInfo_v2) \
	REQUIRED(cuMemHostAlloc) \
	REQUIRED(cuMemFreeHost) \
	REQUIRED(cuMemHostRegister_v2) \
	REQUIRED(cuMemHostGetDevicePointer_v2) \
	REQUIRED(cuMemcpyHtoDAsync_v2) \
	REQUIRED(cuMemcpyDtoHAsync_v2) \
	REQUIRED(cuMemcpyDtoDAsync_v2) \
	REQUIRED(cuMemcpyAsync) \
	REQUIRED(cuMemcpy3DAsync_v2) \
	REQUIRED(cuMemsetD8Async) \
	REQUIRED(cuMemsetD16Async) \
	REQUIRED(cuMemsetD32Async) \
	REQUIRED(cuMemsetD2D8Async) \
	REQUIRED(cuMemsetD2D16Async) \
	REQUIRED(cuMemsetD2D32Async) \
	REQUIRED(cuModuleLoadData) \
	REQUIRED(cuModuleUnload) \
	REQUIRED(cuModuleGetFunction) \
	REQUIRED(cuModuleGetGlobal_v2) \
	REQUIRED(cuFuncSetAttribute) \
	REQUIRED(cuLaunchKernel) \
	REQUIRED(cuStreamCreateWithPriority) \
	REQUIRED(cuStreamDestroy_v2) \
	REQUIRED(cuStreamSynchronize) \
	REQUIRED(cuStreamWaitEvent) \
	REQUIRED(cuEventCreate) \
	REQUIRED(cuEventDestroy_v2) \
	REQUIRED(cuEventRecord) \
	REQUIRED(cuEventQuery) \
	REQUIRED(cuEventSynchronize) \
	OPTIONAL(cuEventElapsedTime) \
	REQUIRED(cuGraphCreate) \
	REQUIRED(cuGraphDestroy) \
	REQUIRED(cuGraphAddKernelNode_v2) \
	REQUIRED(cuGraphAddMemcpyNode) \
	REQUIRED(cuGraphAddMemsetNode) \
	REQUIRED(cuGraphAddEmptyNode) \
	REQUIRED(cuGraphAddChildGraphNode) \
	REQUIRED(cuGraphInstantiateWithFlags) \
	REQUIRED(cuGraphLaunch) \
	REQUIRED(cuGraphExecDestroy) \
	OPTIONAL(cuGraphAddEventRecordNode) \
	OPTIONAL(cuGraphKernelNodeSetAttribute) \
	OPTIONAL(cuGraphAddEventWaitNode) \
	OPTIONAL(cuFuncGetParamInfo) \
	OPTIONAL(cuLaunchKernelEx) \
	OPTIONAL(cuLaunchCooperativeKernel) \
	OPTIONAL(cuStreamWriteValue32_v2) \
	OPTIONAL(cuStreamWriteValue64_v2) \
	OPTIONAL(cuMemAddressReserve) \
	OPTIONAL(cuMemAddressFree) \
	OPTIONAL(cuMemGetAllocationGranularity) \
	OPTIONAL(cuMemCreate) \
	OPTIONAL(cuMemRelease) \
	OPTIONAL(cuMemMap) \
	OPTIONAL(cuMemSetAccess) \
	OPTIONAL(cuArray3DCreate_v2) \
	OPTIONAL(cuArrayDestroy) \
	OPTIONAL(cuTexObjectCreate) \
	OPTIONAL(cuTexObjectDestroy) \
	OPTIONAL(cuSurfObjectCreate) \
	OPTIONAL(cuSurfObjectDestroy)

/* clang-format on */
struct cuda_functions {
#define FUNCTION(name) __typeof__(&name) name;
	CUDA_FUNCTIONS(FUNCTION, FUNCTION)
#undef FUNCTION
};

/* One process has one driver. Whole pages, so that they can be made read-only. */
#define CUDA_TABLE_PAGE 4096
extern struct cuda_tables {
	_Alignas(CUDA_TABLE_PAGE) struct cuda_functions call;
	struct hash_kernel_driver hash;
} cuda_tables;
#define CU (cuda_tables.call)

/* Converts the result r of function `call` for the replayer. */
struct gpu_result cuda_failed(CUresult r, const char *call);
static inline struct gpu_result cuda_result(CUresult r, const char *call)
{
	return r == CUDA_SUCCESS ? (struct gpu_result){GPU_OK, 0, call} : cuda_failed(r, call);
}

/* Makes the descriptor of a copy or a copy node. */
CUDA_MEMCPY3D cuda_copy_of(const struct gpu_rows *dst, const struct gpu_rows *src);
/* A launch's parameters in the form of its `extra` argument. */
struct cuda_args {
	size_t n;
	void *extra[5];
};
void cuda_args_of(struct cuda_args *ret, const struct gpu_launch *l);

/* Every operation but open, which is defined beside the table. */
/* clang-format off */
#define CUDA_OPERATIONS(OP) \
	OP(start) \
	OP(result_name) OP(result_is_fault) OP(context_limit) \
	OP(context_limit_is) \
	OP(driver_version) \
	OP(device_count) OP(device_get) OP(device_name) OP(device_sees) \
	OP(context_open) OP(context_enter) OP(context_open_to) OP(context_finish) \
	OP(mem_alloc) OP(mem_free) OP(mem_info) \
	OP(host_alloc) OP(host_free) OP(host_register) \
	OP(mem_grain) OP(mem_reserve) OP(mem_unreserve) OP(mem_map) \
	OP(copy_to_device) OP(copy_to_host) OP(copy_on_device) \
	OP(copy) OP(copy_rows) \
	OP(fill) OP(fill_rows) \
	OP(array_create) OP(array_destroy) OP(array_copy) \
	OP(texture_create) OP(texture_destroy) \
	OP(code_load) OP(code_unload) OP(code_kernel) OP(code_global) \
	OP(kernel_param) OP(kernel_max_shared) OP(kernel_any_cluster) OP(kernel_attribute) \
	OP(launch) \
	OP(stream_create) OP(stream_destroy) OP(stream_finish) OP(stream_wait) \
	OP(stream_write) \
	OP(event_create) OP(event_destroy) OP(event_record) OP(event_query) OP(event_finish) \
	OP(event_elapsed) \
	OP(graph_create) OP(graph_destroy) OP(graph_add_kernel) OP(graph_add_copy) \
	OP(graph_add_fill) OP(graph_add_empty) OP(graph_add_child) OP(graph_add_record) \
	OP(graph_add_wait) OP(graph_instantiate) OP(graph_launch) OP(graph_exec_destroy) \
	OP(hash_open) OP(hash_on_host) OP(hash_ranges) OP(hash_pages) OP(hash_changed) \
	OP(hash_replace) OP(hash_settle)
/* clang-format on */
#define CUDA_DECLARATION(op) __typeof__(*((struct backend *)NULL)->op) cuda_##op;
CUDA_OPERATIONS(CUDA_DECLARATION)
#undef CUDA_DECLARATION

#endif
